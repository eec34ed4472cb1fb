//! Walls as the engines have them, and those that move by prescription.

use super::grid::{Grid, radii};
use super::layout::*;
use super::pairs::power_of_two;
use super::{State, world_inertia};
use crate::math::grid::{FRACTION, wrap};
use crate::math::rotation;
use crate::model::steps::StepTimes;
use crate::model::wall::{self, Dynamic};
use crate::model::{Law, Model};
use bytemuck::cast_slice;
use glam::{DQuat, DVec3, DVec4, IVec3, UVec4, Vec3};

/// The walls that move by prescription, and the grid in which they do.
#[doc(hidden)]
#[derive(Clone, Debug, Default, PartialEq)]
pub struct KinematicWalls {
    pub(super) walls: Vec<KinematicWall>,
    /// Poses of walls in steps to come, for those who have none of the walls: the number of the first of these
    /// steps, and all walls for each.
    pub(super) given: (u64, Vec<Vec<WallPose>>),
    /// s.
    pub(super) time_step: f64,
    /// See [`State::earlier`], s.
    pub(super) earlier: f64,
    pub(super) origin: DVec3,
    pub(super) cell_size: DVec3,
    pub(super) period: IVec3,
}

#[derive(Clone, Debug, PartialEq)]
pub(super) struct KinematicWall {
    /// Index of the wall.
    index: usize,
    /// The wall, as it is at the start.
    wall: wall::Wall,
    /// Its anchor in its own frame, m.
    anchor: DVec3,
}

impl KinematicWalls {
    /// Counts the walls.
    pub fn len(&self) -> usize {
        let (_, given) = &self.given;
        self.walls.len() + given.first().map_or(0, Vec::len)
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Whether the wall `index` is one of them.
    pub(crate) fn moves(&self, index: usize) -> bool {
        self.walls.iter().any(|moved| moved.index == index)
    }

    pub(super) fn set_time_step(&mut self, time_step: f64, earlier: f64) {
        (self.time_step, self.earlier) = (time_step, earlier);
    }

    /// Returns the poses of the walls in the step that comes after `steps` steps.
    pub fn poses(&self, steps: u64) -> impl Iterator<Item = WallPose> + '_ {
        let (first, given) = &self.given;
        let step = steps.checked_sub(*first);
        let given = step.and_then(|step| given.get(step as usize));
        let given = given.map_or(&[][..], Vec::as_slice);
        let own = self.exact_poses(steps).map(WallPose::from);
        own.chain(given.iter().copied())
    }

    /// Walls that are where somebody else has worked out for the steps from `first` on.
    pub(crate) fn given(first: u64, poses: Vec<Vec<WallPose>>) -> KinematicWalls {
        KinematicWalls {
            given: (first, poses),
            ..KinematicWalls::default()
        }
    }

    /// Poses of the kinematic walls after `steps` steps, in double precision.
    pub(crate) fn exact_poses(&self, steps: u64) -> impl Iterator<Item = ExactPose> + '_ {
        self.walls.iter().map(move |moved| self.pose(moved, steps))
    }

    fn pose(&self, moved: &KinematicWall, steps: u64) -> ExactPose {
        let at = |steps: u64| moved.wall.at(self.earlier + steps as f64 * self.time_step);
        let (before, now) = (at(steps.saturating_sub(1)), at(steps));
        let arm = now.pose.orientation * moved.anchor;
        let cells = (now.pose.position + arm - self.origin) / self.cell_size;
        ExactPose {
            cell: wrap(cells.floor().as_ivec3(), self.period),
            wall: moved.index as u32,
            offset: (cells - cells.floor()) * self.cell_size,
            way: moved.wall.way(&before.pose, &now.pose),
            orientation: now.pose.orientation,
            velocity: now.velocity + now.angular_velocity.cross(arm),
            angular_velocity: now.angular_velocity,
        }
    }
}

/// See [`WallPose`].
pub(crate) struct ExactPose {
    pub cell: IVec3,
    pub wall: u32,
    pub offset: DVec3,
    pub way: f64,
    pub orientation: DQuat,
    pub velocity: DVec3,
    pub angular_velocity: DVec3,
}

impl From<ExactPose> for WallPose {
    fn from(pose: ExactPose) -> WallPose {
        WallPose {
            cell: pose.cell,
            wall: pose.wall,
            offset: pose.offset.as_vec3(),
            way: pose.way as f32,
            orientation: DVec4::from(pose.orientation).as_vec4(),
            velocity: pose.velocity.as_vec3(),
            angular_velocity: pose.angular_velocity.as_vec3(),
            ..WallPose::default()
        }
    }
}

impl State {
    /// Puts a wall to a place, to be looked at: where it moves by itself, it will be elsewhere after the next step.
    pub(crate) fn put_wall(&mut self, index: usize, moving: &wall::Moving) {
        let arm = moving.pose.orientation * self.anchors[index];
        let cell_size = self.params.cell_size.as_dvec3();
        let cells = (moving.pose.position + arm - self.origin) / cell_size;
        let own = &mut self.walls[index];
        own.cell = wrap(cells.floor().as_ivec3(), self.params.period);
        own.offset = ((cells - cells.floor()) * cell_size).as_vec3();
        own.orientation = DVec4::from(moving.pose.orientation).as_vec4();
        own.velocity = (moving.velocity + moving.angular_velocity.cross(arm)).as_vec3();
        own.angular_velocity = moving.angular_velocity.as_vec3();
    }

    /// Number of nodes of the tree of a wall.
    pub(crate) fn nodes_of_wall(&self, index: usize) -> u32 {
        // The next wall begins where this one ends.
        let next = index + 1;
        let end = match next < self.params.wall_count as usize {
            true => self.walls[next].first_node,
            false => self.nodes().len() as u32,
        };
        end - self.walls[index].first_node
    }

    /// Lets bodies touch those walls only that are there in the present stage of `model`. Returns whether that changes a wall.
    pub(crate) fn set_walls_there(&mut self, model: &Model) -> bool {
        let mut changes = false;
        for index in 0..model.walls.len() {
            // A wall without nodes has no facets to find.
            let count = match model.stages.has_wall(index) {
                true => self.nodes_of_wall(index),
                false => 0,
            };
            let before = std::mem::replace(&mut self.walls[index].node_count, count);
            changes |= before != count;
        }
        changes
    }

    /// Has the wall `index` move by prescription from a time (s) on: as `wall`, which is it with another motion.
    pub(crate) fn set_kinematic(&mut self, index: usize, wall: wall::Wall, time: f64) {
        let moving = wall.at(time);
        let anchor = self.anchors[index];
        let arm = moving.pose.orientation * anchor;
        let own = &mut self.walls[index];
        own.velocity = (moving.velocity + moving.angular_velocity.cross(arm)).as_vec3();
        own.angular_velocity = moving.angular_velocity.as_vec3();
        self.params.moving_walls = 1;
        let moved = KinematicWall {
            index,
            wall,
            anchor,
        };
        let kinematic = &mut self.kinematic_walls.walls;
        match kinematic.binary_search_by_key(&index, |moved| moved.index) {
            Ok(place) => kinematic[place] = moved,
            Err(place) => kinematic.insert(place, moved),
        }
    }
}

/// The buffers of [`State`] that are about walls.
pub(super) struct Walls {
    pub(super) walls: Vec<Wall>,
    pub(super) dynamic: Vec<DynamicWall>,
    pub(super) kinematic: Vec<KinematicWall>,
    pub(super) anchors: Vec<DVec3>,
    pub(super) geometry: Vec<UVec4>,
    /// See [`Params::facet_kinds`].
    pub(super) facet_kinds: u32,
    pub(super) facet_start: usize,
    pub(super) node_start: usize,
    pub(super) sample_start: usize,
    pub(super) temperature_start: usize,
    /// A length of the order of the arm of a force on a wall, m: a power of two.
    pub(super) arm: f32,
}

impl Walls {
    pub(super) fn new(model: &Model, grid: &Grid, pairs: &[Pair]) -> Walls {
        assert!(
            model.walls.len() <= MAX_WALLS,
            "{} walls",
            model.walls.len()
        );
        let center = center_of(model);
        let mut walls = vec![Wall::default(); MAX_WALLS];
        let (mut facets, mut nodes, mut samples) = (Vec::new(), Vec::new(), Vec::new());
        let (mut kinematic, mut anchors, mut dynamic) = (Vec::new(), Vec::new(), Vec::new());
        let mut farthest: f64 = radii(model).1;
        for (index, wall) in model.walls.iter().enumerate() {
            let moving = wall.at(0.0);
            let pose = moving.pose;
            // The point of a plane nearest to the bodies, so that distances to it are exact where they
            // matter.
            let anchor = match wall.shape {
                wall::Shape::Plane { normal } => {
                    let center = pose.orientation.conjugate() * (center - pose.position);
                    center - normal * center.dot(normal)
                }
                _ => DVec3::ZERO,
            };
            let arm = pose.orientation * anchor;
            let (cell, part) = grid.locate(pose.position + arm);
            let mut own = wall.facets(index);
            let tree = wall::tree::tree(&mut own.facets, &own.bounds, facets.len());
            walls[index] = Wall {
                cell: wrap(cell, grid.period),
                material: wall.material as u32,
                offset: (part * grid.cell_size.as_dvec3()).as_vec3(),
                orientation: DVec4::from(pose.orientation).as_vec4(),
                velocity: (moving.velocity + moving.angular_velocity.cross(arm)).as_vec3(),
                first_node: nodes.len() as u32,
                angular_velocity: moving.angular_velocity.as_vec3(),
                node_count: match model.stages.has_wall(index) {
                    true => tree.len() as u32,
                    false => 0,
                },
                belt: wall.belt.as_vec3(),
                inverse_mass: match wall.dynamic {
                    Some(Dynamic::Body(body)) => body.mass.map_or(0.0, f64::recip) as f32,
                    _ => 0.0,
                },
                ..Wall::default()
            };
            for facet in own.facets.iter_mut().filter(|facet| facet.kind == SAMPLED) {
                facet.first += samples.len() as u32;
            }
            facets.extend(own.facets);
            nodes.extend(tree);
            samples.extend(own.samples);
            if wall.motion.is_some() {
                let wall = wall.clone();
                kinematic.push(KinematicWall {
                    index,
                    wall,
                    anchor,
                });
            }
            if let Some(load) = &wall.dynamic {
                let mut own = dynamic_wall(index, wall, load, grid, pose.position + arm);
                if let Dynamic::Servo(servo) = load
                    && model.stages.has_wall(index)
                {
                    own.set_drive(servo.drive(0, StepTimes::new(model.time_step)));
                    walls[index].velocity = own.drift;
                    walls[index].angular_velocity = own.body.angular_momentum;
                }
                dynamic.push(own);
            }
            anchors.push(anchor);
            let reach = wall.reach();
            let reach = if reach.is_finite() {
                reach
            } else {
                let mut farthest: f64 = 0.0;
                model.bodies.visit(|body| {
                    farthest = farthest.max(body.position.distance(pose.position));
                });
                farthest
            };
            farthest = farthest.max(reach);
        }
        let against_walls: Vec<Pair> = pairs.iter().map(|pair| pair.against(true)).collect();
        let mut geometry: Vec<UVec4> = cast_slice(&against_walls).to_vec();
        let facet_start = geometry.len();
        geometry.extend(cast_slice::<Facet, UVec4>(&facets));
        let node_start = geometry.len();
        geometry.extend(cast_slice::<Node, UVec4>(&nodes));
        let sample_start = geometry.len();
        samples.resize(samples.len().next_multiple_of(4), 0.0_f32);
        geometry.extend(
            samples
                .chunks(4)
                .map(|four| UVec4::from_array(std::array::from_fn(|k| four[k].to_bits()))),
        );
        let temperature_start = geometry.len();
        if let Some(heat) = &model.heat {
            geometry.extend(temperatures(&heat.walls));
        }
        if dynamic.is_empty() {
            dynamic.push(DynamicWall {
                wall: NO_WALL,
                ..DynamicWall::default()
            });
        }
        Walls {
            walls,
            dynamic,
            kinematic,
            anchors,
            geometry,
            facet_kinds: facets
                .iter()
                .fold(0, |kinds, facet| kinds | 1 << facet.kind),
            facet_start,
            node_start,
            sample_start,
            temperature_start,
            arm: power_of_two(farthest),
        }
    }
}

/// The temperatures of walls (K), as `geometry` has them.
pub(super) fn temperatures(walls: &[Option<f64>]) -> Vec<UVec4> {
    let bits = |wall: usize| {
        let temperature = walls.get(wall).copied().flatten();
        (temperature.unwrap_or(-1.0) as f32).to_bits()
    };
    let rows = 0..walls.len().div_ceil(4);
    rows.map(|row| UVec4::from_array(std::array::from_fn(|k| bits(4 * row + k))))
        .collect()
}

/// The start of a wall that moves under load; its anchor is at `place`, m.
pub(super) fn dynamic_wall(
    index: usize,
    wall: &wall::Wall,
    dynamic: &Dynamic,
    grid: &Grid,
    place: DVec3,
) -> DynamicWall {
    let moving = wall.at(0.0);
    let (cell, part) = grid.locate(place);
    let body = Body {
        offset: (part / f64::from(FRACTION)).round().as_uvec3(),
        cell: wrap(cell, grid.period),
        orientation: rotation::orientation(moving.pose.orientation),
        velocity: moving.velocity.as_vec3(),
        ..Body::default()
    };
    let reach = wall.reach();
    let own = DynamicWall {
        wall: index as u32,
        reach: if reach.is_finite() { reach as f32 } else { 0.0 },
        ..DynamicWall::default()
    };
    match dynamic {
        Dynamic::Body(rigid) => {
            let inertia = rigid.inertia_in(moving.pose.orientation);
            let spin = moving.angular_velocity;
            DynamicWall {
                body: Body {
                    angular_momentum: inertia.map_or(Vec3::ZERO, |inertia| {
                        (world_inertia(moving.pose.orientation, inertia) * spin).as_vec3()
                    }),
                    ..body
                },
                inverse_inertia: inertia.map_or(Vec3::ZERO, |inertia| inertia.recip().as_vec3()),
                inverse_mass: rigid.mass.map_or(0.0, f64::recip) as f32,
                rail: rigid.rail.unwrap_or_default().as_vec3(),
                axle: rigid.axle.unwrap_or_default().as_vec3(),
                force: rigid.force.as_vec3(),
                torque: rigid.torque.as_vec3(),
                ..own
            }
        }
        Dynamic::Servo(servo) => DynamicWall {
            body,
            rail: servo.direction.as_vec3(),
            servo_force: servo.force as f32,
            inverse_inertia: Vec3::ONE,
            ..own
        },
    }
}

impl DynamicWall {
    /// Sets the largest speed (m/s) of a servo, and the velocity (m/s) and angular velocity (rad/s) of its wall besides.
    pub(crate) fn set_drive(&mut self, (speed, velocity, spin): (f64, DVec3, DVec3)) {
        self.servo_speed = speed as f32;
        self.drift = velocity.as_vec3();
        self.body.angular_momentum = spin.as_vec3();
    }
}

/// Whether a wall may push or rub what lies still on it.
pub(super) fn moves(wall: &wall::Wall) -> bool {
    wall.works()
}

/// Whether the engines sum the loads on walls in each step: where walls move, for the work that they do, and under a
/// custom law, of which contacts do not tell afterwards what they did.
pub(super) fn sums_wall_loads(model: &Model) -> bool {
    let custom = matches!(model.contact.law, Law::Custom(_));
    model.walls.iter().any(|wall| custom || moves(wall))
}

pub(super) fn center_of(model: &Model) -> DVec3 {
    if model.bodies.is_empty() {
        let corners = model.flow.corners();
        return corners.clone().sum::<DVec3>() / corners.count().max(1) as f64;
    }
    let mut sum = DVec3::ZERO;
    model.bodies.visit(|body| sum += body.position);
    sum / model.bodies.len() as f64
}
