//! The buffers of a simulation, as structs of arrays.
//!
//! The CPU engine works on a [`State`]; the GPU engine holds one buffer for each [`Field`] of it,
//! with the same bytes.

use std::ops::Range;

use bytemuck::{cast_slice, cast_slice_mut};
use glam::{DMat3, DQuat, DVec3, DVec4, IVec3, UVec4, Vec2, Vec3, Vec4};
use serde::{Deserialize, Serialize};

use crate::clump::{Clump, union_of_spheres};
use crate::cpu::Spare;
use crate::flow::Traffic;
use crate::forces::{End, Water};
use crate::grid::{FRACTION, wrap};
use crate::layout::{
    ANCHOR, Action, Body, BodyForce, BodyProperties, CUSTOM, EXPLICIT, Facet, Group, HERTZ, HOOKE,
    LINEAR, Load, LoadedWall, MAX_GROUPS, MAX_WALLS, MAX_WAVES, Member, NO_WALL, Node, PUSH, Pair,
    Params, ROLLING_CONSTANT, ROLLING_SPRING, SAMPLED, SEMI_IMPLICIT, SPHERES_OF_STRIPE, SPRING,
    Sphere, SphereLoad, Stats, THRUST, WALL, WALL_DIGITS, Wall, WallPose,
};
use crate::model::{
    Cohesion, Integrator, Law, Model, ModelBody, PairLaw, Remembered, Rolling, nearest_image,
};
use crate::pull::Pull;
use crate::rotation::{self, Quaternion};
use crate::wall::{self, Loaded};

/// Skin of the neighbour lists of fast bodies as a fraction of the smallest radius, beside the range of cohesion. A
/// thicker one makes longer lists, a thinner one has them built more often.
const SKIN: f64 = 0.3;

/// The same for others: in a pile that has come to rest few bodies still move, and those that do not need no room
/// to.
const SLOW_SKIN: f64 = 0.1;

/// Steps for which the skin of a body that is not fast lasts at least: about as long as that of the fastest
/// does in a pile that has come to rest.
const SLOW_STEPS: f64 = 80.0;

/// A cell is this much larger than the largest diameter and the skin, so that rounding of an offset
/// to the border of its cell cannot hide a neighbour.
const CELL_MARGIN: f64 = 1.001;

/// Gap within which surfaces are looked at closely, as a fraction of the smallest radius. Two spheres may come nearer
/// by what their skins have more than this before the lists are built again, so the lists have all that are as close.
const TOUCH_MARGIN: f64 = 0.02;

/// Entries of the neighbour lists that there is room for at the start, for each sphere; the lists
/// grow as they need.
const NEIGHBOURS: usize = 8;

/// Slices of spheres whose lists the GPU builds one after the other, at most: the more of them, the less room
/// is needed for old lists.
pub(crate) const SLICES: u32 = 16;

/// Least spheres of a slice: enough to keep a device busy.
const LEAST_SLICE: usize = 1 << 16;

/// Cells of the coarsest grid that a periodic box has at least along a periodic axis, so that a
/// sphere meets each cell around it once, and of two images of a sphere at most one.
const LEAST_PERIOD: f64 = 3.0;

/// Cells of the finest grid that a periodic box has at most along an axis: sums of a few such numbers
/// fit into 32 bits.
const MOST_PERIOD: u32 = 1 << 28;

/// All buffers of a simulation.
#[derive(Clone, Debug, PartialEq)]
pub struct State {
    /// Where cell (0, 0, 0) starts, m: the lower side of a periodic box, and 0 along the other axes.
    pub origin: DVec3,
    /// Who each body is; `body_count` elements.
    pub identities: Vec<Identity>,
    /// What the contacts of bodies dissipated that are no longer there.
    pub gone: Dissipated,
    /// What has come in, gone out and passed.
    pub traffic: Traffic,
    /// Simulated time before the first step, as if all steps had been as long as the next one will be, s:
    /// 0 unless the time step was changed.
    pub earlier: f64,
    /// What holds for the whole run.
    pub params: Params,
    /// The walls that move by prescription.
    pub movers: Movers,
    /// The anchor of each wall in its own frame, m: forces and distances are reckoned from there.
    pub anchors: Vec<DVec3>,
    /// What the bodies of each kind have in common; see [`Body::kind`].
    pub properties: Vec<BodyProperties>,
    /// The spheres of each shape.
    pub members: Vec<Member>,
    /// Pair table; `material_count²` elements.
    pub pairs: Vec<Pair>,
    /// Groups of bodies; [`MAX_GROUPS`] elements.
    pub groups: Vec<Group>,
    /// Springs and pushes, in the order of the bodies on which they act; `action_count` elements.
    pub actions: Vec<Action>,
    /// Volume of each shape over that of its spheres one by one, if there is water.
    pub displacements: Vec<f32>,
    /// What does not change of the walls: the pair table as it is against walls, facets, the nodes of
    /// their trees, and samples of signed distances, one after the other; see [`State::facets`] and so
    /// on.
    pub geometry: Vec<UVec4>,

    /// State of each body: the input and the outcome of a step.
    pub bodies: Vec<Body>,
    /// State of each wall, the same; [`MAX_WALLS`] elements, `wall_count` of them in use.
    pub walls: Vec<Wall>,
    /// Walls that move under load; at least one element.
    pub loaded_walls: Vec<LoadedWall>,

    /// `pose`: where each sphere is and how it moves.
    pub spheres: Vec<Sphere>,
    /// `bin`: hash bucket of each sphere.
    pub buckets: Vec<u32>,
    /// `bin`: place of each sphere among those of its bucket, in no particular order.
    pub slots: Vec<u32>,
    /// `bin`: number of spheres in each bucket; `scan`: where each bucket starts.
    /// `bucket_count + 1` elements; the last is 0 after `bin`, `sphere_count` after `scan`.
    pub bucket_starts: Vec<u32>,
    /// `scatter`, in between: sphere indices by bucket, in no particular order inside it.
    pub unsorted: Vec<u32>,
    /// `scatter`: sphere indices by bucket and, inside a bucket, by index.
    pub sorted: Vec<u32>,
    /// `neighbours`: where the list of each sphere starts in `neighbours`; `sphere_count + 1`
    /// elements.
    pub neighbour_starts: Vec<u32>,
    /// `neighbours`: indices of the spheres that each sphere may touch, in increasing order, then
    /// those of facets of walls with the bit [`WALL`]; `neighbour_capacity`
    /// elements.
    pub neighbours: Vec<u32>,
    /// `contacts`, `walls`: what the contact of each entry of `neighbours` remembers, see
    /// [`Memory`](crate::contact::Memory); `neighbour_capacity * memory_size` elements, at least one.
    pub memory: Vec<Vec4>,
    /// `contacts`, `walls`: what contacts do to each sphere.
    pub sphere_loads: Vec<SphereLoad>,
    /// `walls`: what contacts do to each wall, in digits; `stripes` times [`WALL_DIGITS`] for each wall,
    /// at least one element. See [`crate::wall::load`].
    pub wall_sums: Vec<i32>,
    /// `integrate`: the same in newtons, if it is asked for; at least one element. Torques are about the
    /// anchor.
    pub wall_loads: Vec<Load>,
    /// `forces`: what acts on each body besides contacts and gravity; `body_count` elements, or none if nothing
    /// does.
    pub body_forces: Vec<BodyForce>,
    /// What was gathered over the run; one element.
    pub stats: Vec<Stats>,

    /// Room for the CPU engine.
    pub(crate) spare: Spare,
}

/// Who a body is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Identity {
    /// The number by which it is known: that of its place at the start, and further ones for bodies that
    /// came later. No two bodies of a run have the same.
    pub id: u64,
    /// Index of its shape in [`Model::shapes`].
    pub shape: usize,
    /// Whether it is fixed.
    pub fixed: bool,
    /// Index of its group in [`Forces::groups`](crate::forces::Forces::groups).
    pub group: usize,
}

/// Energy that was dissipated, J.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Dissipated {
    /// By dashpots.
    pub damping: f64,
    /// By sliding, rolling and twisting friction.
    pub friction: f64,
    /// By drag, water and the dashpots of springs.
    pub drag: f64,
}

impl Dissipated {
    /// Adds what the contacts of a sphere dissipated.
    pub fn add(&mut self, load: &SphereLoad) {
        self.damping += f64::from(load.damping) + f64::from(load.damping_rest);
        self.friction += f64::from(load.friction) + f64::from(load.friction_rest);
    }

    /// Adds what drag took from a body.
    pub fn add_drag(&mut self, force: &BodyForce) {
        self.drag += f64::from(force.drag) + f64::from(force.drag_rest);
    }
}

/// A buffer of [`State`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs, reason = "each is the field of State of the same name")]
pub enum Field {
    Properties,
    Members,
    Pairs,
    Groups,
    Actions,
    Geometry,
    Bodies,
    Walls,
    LoadedWalls,
    Spheres,
    Buckets,
    Slots,
    BucketStarts,
    Unsorted,
    Sorted,
    NeighbourStarts,
    Neighbours,
    Memory,
    SphereLoads,
    WallSums,
    WallLoads,
    BodyForces,
    Stats,
}

impl Field {
    /// All buffers.
    pub const ALL: [Field; 23] = [
        Field::Properties,
        Field::Members,
        Field::Pairs,
        Field::Groups,
        Field::Actions,
        Field::Geometry,
        Field::Bodies,
        Field::Walls,
        Field::LoadedWalls,
        Field::Spheres,
        Field::Buckets,
        Field::Slots,
        Field::BucketStarts,
        Field::Unsorted,
        Field::Sorted,
        Field::NeighbourStarts,
        Field::Neighbours,
        Field::Memory,
        Field::SphereLoads,
        Field::WallSums,
        Field::WallLoads,
        Field::BodyForces,
        Field::Stats,
    ];

    /// Name of the field of [`State`], and of the variable in the shaders.
    pub fn name(self) -> &'static str {
        match self {
            Field::Properties => "properties",
            Field::Members => "members",
            Field::Pairs => "pairs",
            Field::Groups => "groups",
            Field::Actions => "actions",
            Field::Geometry => "geometry",
            Field::Bodies => "bodies",
            Field::Walls => "walls",
            Field::LoadedWalls => "loaded_walls",
            Field::Spheres => "spheres",
            Field::Buckets => "buckets",
            Field::Slots => "slots",
            Field::BucketStarts => "bucket_starts",
            Field::Unsorted => "unsorted",
            Field::Sorted => "sorted",
            Field::NeighbourStarts => "neighbour_starts",
            Field::Neighbours => "neighbours",
            Field::Memory => "memory",
            Field::SphereLoads => "sphere_loads",
            Field::WallSums => "wall_sums",
            Field::WallLoads => "wall_loads",
            Field::BodyForces => "body_forces",
            Field::Stats => "stats",
        }
    }

    /// Whether a simulation that goes on from here needs the buffer: not if it follows from the model, or
    /// is computed anew whenever the neighbour lists are built.
    pub fn is_carried(self) -> bool {
        !matches!(
            self,
            Field::Properties
                | Field::Members
                | Field::Pairs
                | Field::Groups
                | Field::Geometry
                | Field::WallSums
                | Field::Buckets
                | Field::Slots
                | Field::BucketStarts
                | Field::Unsorted
                | Field::Sorted
        )
    }
}

impl State {
    /// The start of a simulation of `model`.
    ///
    /// # Panics
    /// If its domain is narrower than [`least_period`] along a periodic axis.
    pub fn new(model: &Model) -> State {
        let grid = Grid::new(model);
        let Grid {
            finest,
            level_count,
            skin,
            slow_skin,
            touch_margin,
            cell_size,
            period,
            origin,
        } = grid;
        let pairs = pairs(model);
        let walls = Walls::new(model, &grid, &pairs);
        let water = model.forces.water.clone().unwrap_or(Water {
            level: 0.0,
            density: 0.0,
            drag_coefficient: 0.0,
            viscosity: 0.0,
            waves: Vec::new(),
        });
        let (properties, members) = kinds(model);
        let mut state = State {
            origin,
            identities: Vec::new(),
            gone: Dissipated::default(),
            traffic: Traffic::new(model),
            earlier: 0.0,
            params: Params {
                gravity: model.gravity.as_vec3(),
                time_step: model.time_step as f32,
                cell_size,
                level_count,
                period,
                skin,
                slow_skin,
                fast_way: 0.5 * (slow_skin - touch_margin) / SLOW_STEPS as f32,
                drift_limit: 0.499 * (skin - touch_margin),
                touch_margin,
                finest,
                neighbour_capacity: 0,
                slice_length: 0,
                body_count: 0,
                sphere_count: 0,
                bucket_count: 0,
                wall_count: model.walls.len() as u32,
                material_count: model.materials.len() as u32,
                integrator: match model.integrator {
                    Integrator::SemiImplicit => SEMI_IMPLICIT,
                    Integrator::Explicit => EXPLICIT,
                },
                law: match model.contact.law {
                    Law::Linear => LINEAR,
                    Law::Hooke => HOOKE,
                    Law::Hertz => HERTZ,
                    Law::Custom(_) => CUSTOM,
                },
                memory_size: memory_size(model),
                attraction: model.contact.attraction.into(),
                tangential_damping: model.contact.tangential_damping as f32,
                cohesive: (range(model) > 0.0).into(),
                lookahead: 0.0,
                facet_start: walls.facet_start as u32,
                node_start: walls.node_start as u32,
                sample_start: walls.sample_start as u32,
                wall_loads: u32::from(sums_wall_loads(model)),
                stripes: 0,
                force_unit: force_unit(&pairs, model),
                torque_unit: force_unit(&pairs, model) * walls.arm,
                pulled: 0,
                pull_stiffness: 0.0,
                pull_damping: 0.0,
                pull_point: Vec3::ZERO,
                pull_cell: IVec3::ZERO,
                pull_offset: Vec3::ZERO,
                forces: model.forces.act().into(),
                action_count: 0,
                sleep_steps: model.sleep.map_or(0, |sleep| {
                    ((sleep.after / model.time_step).ceil() as u32).max(1)
                }),
                sleep_speed: model.sleep.map_or(0.0, |sleep| sleep.speed as f32),
                wake_acceleration: model.sleep.map_or(0.0, |sleep| sleep.wake as f32),
                moving_walls: model.walls.iter().any(moves).into(),
                wave_count: water.waves.len() as u32,
                water_density: water.density as f32,
                water_drag: water.drag_coefficient as f32,
                water_viscosity: water.viscosity as f32,
                water_level: (water.level - origin.y) as f32,
                earlier: 0.0,
                wave_origin: Vec2::new(origin.x as f32, origin.z as f32),
                waves: waves(&water),
            },
            groups: groups(model),
            actions: Vec::new(),
            displacements: match model.forces.water {
                Some(_) => model.shapes.iter().map(displacement).collect(),
                None => Vec::new(),
            },
            body_forces: Vec::new(),
            pairs,
            geometry: walls.geometry,
            walls: walls.walls,
            loaded_walls: walls.loaded,
            movers: Movers {
                movers: walls.movers,
                time_step: model.time_step,
                earlier: 0.0,
                origin,
                cell_size: cell_size.as_dvec3(),
                period,
            },
            anchors: walls.anchors,
            wall_sums: Vec::new(),
            wall_loads: vec![Load::default(); model.walls.len().max(1)],
            spheres: Vec::new(),
            buckets: Vec::new(),
            slots: Vec::new(),
            bucket_starts: Vec::new(),
            unsorted: Vec::new(),
            sorted: Vec::new(),
            neighbour_starts: vec![0],
            neighbours: Vec::new(),
            memory: Vec::new(),
            sphere_loads: Vec::new(),
            stats: vec![Stats::default()],
            spare: Spare::default(),
            properties,
            members,
            bodies: Vec::new(),
        };
        let new = model.bodies.iter().zip(0..);
        state.extend(model, new.map(|(body, id)| (id, *body)));
        state.set_actions(actions(model, &grid));
        if let Some(remembered) = &model.remembered {
            state.remember(remembered);
        }
        state
    }

    /// Adds bodies of `model` with their ids, at the end.
    pub(crate) fn extend(
        &mut self,
        model: &Model,
        bodies: impl IntoIterator<Item = (u64, ModelBody)>,
    ) {
        for (id, body) in bodies {
            let clump = &model.shapes[body.shape];
            let (index, first_sphere) = (self.bodies.len() as u32, self.spheres.len() as u32);
            self.identities.push(Identity {
                id,
                shape: body.shape,
                fixed: body.fixed,
                group: body.group,
            });
            if self.params.forces == 1 {
                self.body_forces.push(BodyForce {
                    displacement: self.displacements.get(body.shape).copied().unwrap_or(1.0),
                    ..BodyForce::default()
                });
            }
            self.spheres.extend(clump.spheres.iter().map(|_| Sphere {
                body: index,
                ..Sphere::default()
            }));
            let Params {
                cell_size, period, ..
            } = self.params;
            let (cell, part) = locate(body.position, self.origin, cell_size);
            let inertia = world_inertia(body.orientation, clump.inertia);
            let kind = kind(model, body.shape, body.group, body.fixed);
            let reach = f64::from(self.properties[kind as usize].reach);
            let speed = body.velocity.length() + body.angular_velocity.length() * reach;
            let fast = speed as f32 * self.params.time_step > self.params.fast_way;
            self.bodies.push(Body {
                offset: (part / f64::from(FRACTION)).round().as_uvec3(),
                cell: wrap(cell, period),
                kind,
                orientation: rotation::orientation(body.orientation),
                velocity: body.velocity.as_vec3(),
                first_sphere,
                angular_momentum: (inertia * body.angular_velocity).as_vec3(),
                drift: if fast { -0.0 } else { 0.0 },
                ..Default::default()
            });
        }
        self.fit();
    }

    /// Takes away the bodies that are not to `keep`, with their spheres and contacts; what these have
    /// dissipated goes to [`State::gone`]. The others keep their order, and their contacts what they
    /// remember.
    pub(crate) fn retain(&mut self, keep: &[bool]) {
        let kept_sphere: Vec<bool> = self
            .spheres
            .iter()
            .map(|sphere| keep[sphere.body as usize])
            .collect();
        for (load, _) in self
            .sphere_loads
            .iter()
            .zip(&kept_sphere)
            .filter(|(_, kept)| !**kept)
        {
            self.gone.add(load);
        }
        for (force, _) in self
            .body_forces
            .iter()
            .zip(keep)
            .filter(|(_, kept)| !**kept)
        {
            self.gone.add_drag(force);
        }
        let (new_body, new_sphere) = (places(keep), places(&kept_sphere));

        // Both move towards the front, so each is read before it is overwritten.
        let size = self.params.memory_size as usize;
        let (mut end, mut spheres) = (0, 0);
        for sphere in (0..kept_sphere.len()).filter(|&sphere| kept_sphere[sphere]) {
            let [from, to] = [0, 1].map(|k| self.neighbour_starts[sphere + k] as usize);
            // The start of this list may be overwritten: it was read before.
            self.neighbour_starts[spheres] = end as u32;
            for entry in from..to {
                let other = self.neighbours[entry];
                let stays = other & WALL != 0 || kept_sphere[other as usize];
                if stays {
                    self.neighbours[end] = match other & WALL {
                        0 => new_sphere[other as usize],
                        _ => other,
                    };
                    self.memory
                        .copy_within(entry * size..(entry + 1) * size, end * size);
                    end += 1;
                } else {
                    // What it may have lain on is gone.
                    self.bodies[self.spheres[sphere].body as usize].still = 0;
                }
            }
            spheres += 1;
        }
        self.neighbour_starts[spheres] = end as u32;
        self.neighbour_starts.truncate(spheres + 1);
        self.stats[0].neighbours = end as u32;

        retain(&mut self.identities, keep);
        retain(&mut self.bodies, keep);
        if self.params.forces == 1 {
            retain(&mut self.body_forces, keep);
        }
        let stays = |action: &Action| {
            keep[action.body as usize] && (action.kind != SPRING || keep[action.other as usize])
        };
        let mut actions = std::mem::take(&mut self.actions);
        actions.retain(stays);
        for action in &mut actions {
            action.body = new_body[action.body as usize];
            if action.kind == SPRING {
                action.other = new_body[action.other as usize];
            }
        }
        self.set_actions(actions);
        retain(&mut self.spheres, &kept_sphere);
        retain(&mut self.sphere_loads, &kept_sphere);
        for sphere in &mut self.spheres {
            sphere.body = new_body[sphere.body as usize];
        }
        let mut first = 0;
        for body in &mut self.bodies {
            body.first_sphere = first;
            first += self.properties[body.kind as usize].sphere_count;
        }
        self.fit();
    }

    /// Has the pass `forces` run from now on.
    pub(crate) fn start_forces(&mut self) {
        self.params.forces = 1;
        let one = BodyForce {
            displacement: 1.0,
            ..BodyForce::default()
        };
        self.body_forces = vec![one; self.bodies.len()];
    }

    /// Sets the springs and pushes, which are in the order of the bodies on which they act.
    pub(crate) fn set_actions(&mut self, actions: Vec<Action>) {
        self.params.action_count = actions.len() as u32;
        self.actions = actions;
    }

    /// What bodies of the kind of this one have in common.
    #[inline(always)]
    pub(crate) fn properties_of(&self, body: &Body) -> &BodyProperties {
        &self.properties[body.kind as usize]
    }

    /// The spheres of a body.
    #[inline(always)]
    pub(crate) fn spheres_of(&self, body: &Body) -> Range<usize> {
        let first = body.first_sphere as usize;
        first..first + self.properties_of(body).sphere_count as usize
    }

    /// What its spheres are in their shape.
    pub(crate) fn members_of(&self, body: &Body) -> &[Member] {
        let properties = self.properties_of(body);
        &self.members[properties.first_member as usize..][..properties.sphere_count as usize]
    }

    /// What contacts do to a body, from what they do to its spheres: `body` is it as it is after the step.
    pub fn load(&self, body: &Body) -> Load {
        let loads = &self.sphere_loads[self.spheres_of(body)];
        load(body, self.members_of(body), loads)
    }

    /// Gives all buffers the lengths that go with the numbers of bodies and spheres, and has the
    /// neighbour lists built in the next step. What is added has touched nothing yet.
    fn fit(&mut self) {
        let (bodies, spheres) = (self.bodies.len(), self.spheres.len());
        let buckets = spheres.next_power_of_two();
        self.params.body_count = bodies as u32;
        self.params.sphere_count = spheres as u32;
        self.params.bucket_count = buckets as u32;
        self.sphere_loads.resize(spheres, SphereLoad::default());
        for list in [
            &mut self.buckets,
            &mut self.slots,
            &mut self.unsorted,
            &mut self.sorted,
        ] {
            list.resize(spheres, 0);
        }
        self.bucket_starts.resize(buckets + 1, 0);
        let stripes = spheres.div_ceil(SPHERES_OF_STRIPE as usize).max(1);
        let walls = self.params.wall_count as usize;
        self.params.stripes = stripes as u32;
        self.wall_sums
            .resize((stripes * walls * WALL_DIGITS).max(1), 0);
        let end = self.neighbour_starts.last().copied().unwrap_or(0);
        self.neighbour_starts.resize(spheres + 1, end);
        let capacity = ((NEIGHBOURS * spheres) as u32).max(self.params.neighbour_capacity);
        self.set_neighbour_capacity(capacity);
        self.params.slice_length = spheres.div_ceil(SLICES as usize).max(LEAST_SLICE) as u32;
        self.stats[0].stale = 1;
    }

    /// Starts with lists that remember: the first step builds others, and carries over what these have.
    fn remember(&mut self, remembered: &Remembered) {
        let Remembered {
            size,
            ends,
            entries,
            memory,
        } = remembered;
        if *size != self.params.memory_size {
            return;
        }
        let count = entries.len() as u32;
        self.set_neighbour_capacity(self.params.neighbour_capacity.max(count));
        let (listed, others) = self.neighbour_starts[1..].split_at_mut(ends.len());
        listed.copy_from_slice(ends);
        others.fill(count);
        self.neighbours[..entries.len()].copy_from_slice(entries);
        self.memory[..memory.len()].copy_from_slice(memory);
        self.stats[0].neighbours = count;
    }

    /// Sets the pair table, and the one against walls.
    pub(crate) fn set_pairs(&mut self, pairs: Vec<Pair>) {
        let against_walls: Vec<Pair> = pairs.iter().map(|pair| pair.against(true)).collect();
        self.geometry[..self.params.facet_start as usize]
            .copy_from_slice(cast_slice(&against_walls));
        self.pairs = pairs;
    }

    /// The facets of all walls, those of the first one first.
    pub fn facets(&self) -> &[Facet] {
        let Params {
            facet_start,
            node_start,
            ..
        } = self.params;
        cast_slice(&self.geometry[facet_start as usize..node_start as usize])
    }

    /// The nodes of the trees of all walls; see [`Wall::first_node`].
    pub fn nodes(&self) -> &[Node] {
        let Params {
            node_start,
            sample_start,
            ..
        } = self.params;
        cast_slice(&self.geometry[node_start as usize..sample_start as usize])
    }

    /// The samples of the signed distances of all walls.
    pub fn samples(&self) -> &[f32] {
        cast_slice(&self.geometry[self.params.sample_start as usize..])
    }

    /// Where a wall is, and how it moves.
    pub fn wall(&self, index: usize) -> wall::Moving {
        let wall = &self.walls[index];
        let cells = wall.cell.as_dvec3() * self.params.cell_size.as_dvec3();
        let orientation = DQuat::from_vec4(wall.orientation.as_dvec4()).normalize();
        let angular_velocity = wall.angular_velocity.as_dvec3();
        // The anchor need not be the origin of the wall's frame.
        let arm = orientation * self.anchors[index];
        wall::Moving {
            pose: wall::Pose {
                position: self.origin + cells + wall.offset.as_dvec3() - arm,
                orientation,
            },
            velocity: wall.velocity.as_dvec3() - angular_velocity.cross(arm),
            angular_velocity,
        }
    }

    /// The bytes of a buffer.
    pub fn bytes(&self, field: Field) -> &[u8] {
        match field {
            Field::Properties => cast_slice(&self.properties),
            Field::Members => cast_slice(&self.members),
            Field::Pairs => cast_slice(&self.pairs),
            Field::Groups => cast_slice(&self.groups),
            Field::Actions => cast_slice(&self.actions),
            Field::Geometry => cast_slice(&self.geometry),
            Field::Bodies => cast_slice(&self.bodies),
            Field::Walls => cast_slice(&self.walls),
            Field::LoadedWalls => cast_slice(&self.loaded_walls),
            Field::Spheres => cast_slice(&self.spheres),
            Field::Buckets => cast_slice(&self.buckets),
            Field::Slots => cast_slice(&self.slots),
            Field::BucketStarts => cast_slice(&self.bucket_starts),
            Field::Unsorted => cast_slice(&self.unsorted),
            Field::Sorted => cast_slice(&self.sorted),
            Field::NeighbourStarts => cast_slice(&self.neighbour_starts),
            Field::Neighbours => cast_slice(&self.neighbours),
            Field::Memory => cast_slice(&self.memory),
            Field::SphereLoads => cast_slice(&self.sphere_loads),
            Field::WallSums => cast_slice(&self.wall_sums),
            Field::WallLoads => cast_slice(&self.wall_loads),
            Field::BodyForces => cast_slice(&self.body_forces),
            Field::Stats => cast_slice(&self.stats),
        }
    }

    /// The bytes of a buffer, to be overwritten.
    pub fn bytes_mut(&mut self, field: Field) -> &mut [u8] {
        match field {
            Field::Properties => cast_slice_mut(&mut self.properties),
            Field::Members => cast_slice_mut(&mut self.members),
            Field::Pairs => cast_slice_mut(&mut self.pairs),
            Field::Groups => cast_slice_mut(&mut self.groups),
            Field::Actions => cast_slice_mut(&mut self.actions),
            Field::Geometry => cast_slice_mut(&mut self.geometry),
            Field::Bodies => cast_slice_mut(&mut self.bodies),
            Field::Walls => cast_slice_mut(&mut self.walls),
            Field::LoadedWalls => cast_slice_mut(&mut self.loaded_walls),
            Field::Spheres => cast_slice_mut(&mut self.spheres),
            Field::Buckets => cast_slice_mut(&mut self.buckets),
            Field::Slots => cast_slice_mut(&mut self.slots),
            Field::BucketStarts => cast_slice_mut(&mut self.bucket_starts),
            Field::Unsorted => cast_slice_mut(&mut self.unsorted),
            Field::Sorted => cast_slice_mut(&mut self.sorted),
            Field::NeighbourStarts => cast_slice_mut(&mut self.neighbour_starts),
            Field::Neighbours => cast_slice_mut(&mut self.neighbours),
            Field::Memory => cast_slice_mut(&mut self.memory),
            Field::SphereLoads => cast_slice_mut(&mut self.sphere_loads),
            Field::WallSums => cast_slice_mut(&mut self.wall_sums),
            Field::WallLoads => cast_slice_mut(&mut self.wall_loads),
            Field::BodyForces => cast_slice_mut(&mut self.body_forces),
            Field::Stats => cast_slice_mut(&mut self.stats),
        }
    }

    /// Size of all buffers, bytes.
    pub fn size(&self) -> u64 {
        Field::ALL
            .iter()
            .map(|&field| self.bytes(field).len() as u64)
            .sum()
    }

    /// Gives the neighbour lists room for `capacity` entries.
    pub fn set_neighbour_capacity(&mut self, capacity: u32) {
        let entries = capacity as usize;
        let memory = entries * self.params.memory_size as usize;
        self.neighbours.resize(entries, 0);
        self.memory.resize(memory.max(1), Vec4::ZERO);
        self.params.neighbour_capacity = capacity;
    }

    /// Room to make for neighbour lists that have grown to `count` entries: they will grow again.
    pub fn neighbour_room(count: u32) -> u32 {
        count.saturating_add(count / 4).saturating_add(1024)
    }

    /// Whether contacts as `model` has them remember no more, and act no farther away, than those that
    /// this state was made for.
    pub(crate) fn holds(&self, model: &Model) -> bool {
        memory_size(model) <= self.params.memory_size
            && Grid::new(model).skin <= self.params.skin * (1.0 + f32::EPSILON)
    }

    /// Sets the time step, s, and what was simulated before the first step if all were as long, s.
    pub(crate) fn set_time_step(&mut self, time_step: f64, earlier: f64) {
        let after = self.params.sleep_steps as f32 * self.params.time_step;
        if self.params.sleep_steps > 0 {
            self.params.sleep_steps = ((after / time_step as f32).round() as u32).max(1);
        }
        self.params.time_step = time_step as f32;
        self.params.earlier = earlier as f32;
        self.earlier = earlier;
        self.movers.set_time_step(time_step, earlier);
    }

    /// Has a body pulled from now on, or none.
    pub(crate) fn set_pull(&mut self, pull: Option<Pull>) {
        let params = &mut self.params;
        params.pulled = 0;
        if let Some(pull) = pull {
            let size = params.cell_size.as_dvec3();
            let from_origin = pull.target - self.origin;
            let cells = (from_origin / size).floor();
            params.pulled = pull.body + 1;
            params.pull_stiffness = pull.stiffness as f32;
            params.pull_damping = pull.damping as f32;
            params.pull_point = pull.point.as_vec3();
            params.pull_cell = wrap(cells.as_ivec3(), params.period);
            params.pull_offset = (from_origin - cells * size).as_vec3();
        }
    }

    /// World position of a sphere's centre, m.
    pub fn place(&self, sphere: &Sphere) -> DVec3 {
        let cells = sphere.cell.as_dvec3() * self.params.cell_size.as_dvec3();
        self.origin + cells + sphere.offset.as_dvec3()
    }

    /// World position of a body's centre of mass, m; in the periodic box, if there is one.
    pub fn position(&self, body: &Body) -> DVec3 {
        let cells = body.cell.as_dvec3() + body.offset.as_dvec3() * f64::from(FRACTION);
        self.origin + cells * self.params.cell_size.as_dvec3()
    }

    /// The shortest of the images of a way, m: that from one place to the nearest image of another,
    /// for the way between the two.
    pub fn nearest(&self, way: DVec3) -> DVec3 {
        let Params {
            cell_size, period, ..
        } = self.params;
        nearest_image(way, period.as_dvec3() * cell_size.as_dvec3())
    }
}

/// The walls that move by prescription, and the grid in which they do.
#[derive(Clone, Debug, PartialEq)]
pub struct Movers {
    movers: Vec<Mover>,
    /// s.
    time_step: f64,
    /// See [`State::earlier`], s.
    earlier: f64,
    origin: DVec3,
    cell_size: DVec3,
    period: IVec3,
}

#[derive(Clone, Debug, PartialEq)]
struct Mover {
    /// Index of the wall.
    index: usize,
    /// The wall, as it is at the start.
    wall: wall::Wall,
    /// Its anchor in its own frame, m.
    anchor: DVec3,
}

impl Movers {
    /// How many there are.
    pub fn len(&self) -> usize {
        self.movers.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.movers.is_empty()
    }

    fn set_time_step(&mut self, time_step: f64, earlier: f64) {
        (self.time_step, self.earlier) = (time_step, earlier);
    }

    /// Where they are in the step that comes after `steps` steps.
    pub fn poses(&self, steps: u64) -> impl Iterator<Item = WallPose> + '_ {
        self.movers.iter().map(move |mover| self.pose(mover, steps))
    }

    fn pose(&self, mover: &Mover, steps: u64) -> WallPose {
        let at = |steps: u64| mover.wall.at(self.earlier + steps as f64 * self.time_step);
        let (before, now) = (at(steps.saturating_sub(1)), at(steps));
        let arm = now.pose.orientation * mover.anchor;
        let cells = (now.pose.position + arm - self.origin) / self.cell_size;
        WallPose {
            cell: wrap(cells.floor().as_ivec3(), self.period),
            wall: mover.index as u32,
            offset: ((cells - cells.floor()) * self.cell_size).as_vec3(),
            way: mover.wall.way(&before.pose, &now.pose) as f32,
            orientation: DVec4::from(now.pose.orientation).as_vec4(),
            velocity: (now.velocity + now.angular_velocity.cross(arm)).as_vec3(),
            angular_velocity: now.angular_velocity.as_vec3(),
            ..WallPose::default()
        }
    }
}

/// What [`State`] has of the walls.
struct Walls {
    walls: Vec<Wall>,
    loaded: Vec<LoadedWall>,
    movers: Vec<Mover>,
    anchors: Vec<DVec3>,
    geometry: Vec<UVec4>,
    facet_start: usize,
    node_start: usize,
    sample_start: usize,
    /// A length of the order of the arm of a force on a wall, m: a power of two.
    arm: f32,
}

impl Walls {
    fn new(model: &Model, grid: &Grid, pairs: &[Pair]) -> Walls {
        assert!(
            model.walls.len() <= MAX_WALLS,
            "{} walls",
            model.walls.len()
        );
        let center = center_of(model);
        let mut walls = vec![Wall::default(); MAX_WALLS];
        let (mut facets, mut nodes, mut samples) = (Vec::new(), Vec::new(), Vec::new());
        let (mut movers, mut anchors, mut loaded) = (Vec::new(), Vec::new(), Vec::new());
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
                node_count: tree.len() as u32,
                belt: wall.belt.as_vec3(),
                inverse_mass: match wall.loaded {
                    Some(Loaded::Body(body)) => body.mass.map_or(0.0, f64::recip) as f32,
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
                movers.push(Mover {
                    index,
                    wall,
                    anchor,
                });
            }
            if let Some(load) = &wall.loaded {
                loaded.push(loaded_wall(index, wall, load, grid, pose.position + arm));
            }
            anchors.push(anchor);
            let reach = wall.reach();
            let reach = if reach.is_finite() {
                reach
            } else {
                let far = |body: &crate::model::ModelBody| body.position.distance(pose.position);
                model.bodies.iter().map(far).fold(0.0, f64::max)
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
        if loaded.is_empty() {
            loaded.push(LoadedWall {
                wall: NO_WALL,
                ..LoadedWall::default()
            });
        }
        Walls {
            walls,
            loaded,
            movers,
            anchors,
            geometry,
            facet_start,
            node_start,
            sample_start,
            arm: power_of_two(farthest),
        }
    }
}

/// The start of a wall that moves under load; its anchor is at `place`, m.
fn loaded_wall(
    index: usize,
    wall: &wall::Wall,
    loaded: &Loaded,
    grid: &Grid,
    place: DVec3,
) -> LoadedWall {
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
    let own = LoadedWall {
        wall: index as u32,
        reach: if reach.is_finite() { reach as f32 } else { 0.0 },
        ..LoadedWall::default()
    };
    match loaded {
        Loaded::Body(rigid) => {
            let inertia = rigid.inertia_in(moving.pose.orientation);
            let spin = moving.angular_velocity;
            LoadedWall {
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
        Loaded::Servo(servo) => LoadedWall {
            body,
            rail: servo.direction.as_vec3(),
            servo_speed: servo.max_speed as f32,
            servo_force: servo.force as f32,
            ..own
        },
    }
}

/// Whether a wall may push or rub what lies still on it.
fn moves(wall: &wall::Wall) -> bool {
    wall.motion.is_some() || wall.loaded.is_some() || wall.belt != DVec3::ZERO
}

/// The groups of a model, as the engines read them.
pub(crate) fn groups(model: &Model) -> Vec<Group> {
    let mut groups = vec![Group::default(); MAX_GROUPS];
    for (group, own) in groups.iter_mut().zip(&model.forces.groups) {
        group.gravity = own.gravity.map_or(Vec3::ZERO, |gravity| {
            gravity.as_vec3() - model.gravity.as_vec3()
        });
        group.ignores = own.ignores;
        group.drag = own.drag.linear as f32;
        group.angular_drag = own.drag.angular as f32;
    }
    groups
}

fn waves(water: &Water) -> [Vec4; MAX_WAVES] {
    let wave = |k: usize| water.waves.get(k);
    std::array::from_fn(|k| {
        wave(k).map_or(Vec4::ZERO, |wave| {
            DVec4::new(wave.vector.x, wave.vector.z, wave.amplitude, wave.frequency).as_vec4()
        })
    })
}

/// Volume of a shape over that of its spheres one by one.
fn displacement(clump: &Clump) -> f32 {
    let one_by_one = clump.spheres.iter().map(|sphere| sphere.radius.powi(3));
    let one_by_one = 4.0 / 3.0 * std::f64::consts::PI * one_by_one.sum::<f64>();
    (union_of_spheres(&clump.spheres, 1.0).mass / one_by_one) as f32
}

/// Element of `properties` for bodies of a shape in a group that are fixed or not.
fn kind(model: &Model, shape: usize, group: usize, fixed: bool) -> u32 {
    (2 * (group * model.shapes.len() + shape) + usize::from(fixed)) as u32
}

/// What bodies of each kind have in common, and the spheres of each shape.
fn kinds(model: &Model) -> (Vec<BodyProperties>, Vec<Member>) {
    let (mut shapes, mut members) = (Vec::new(), Vec::new());
    for (shape, clump) in model.shapes.iter().enumerate() {
        let distances = clump.spheres.iter().map(|sphere| sphere.center.length());
        let fixed = BodyProperties {
            first_member: members.len() as u32,
            sphere_count: clump.spheres.len() as u32,
            reach: distances.fold(0.0, f64::max) as f32,
            shape: shape as u32,
            ..BodyProperties::default()
        };
        let free = BodyProperties {
            inverse_inertia: (1.0 / clump.inertia).as_vec3(),
            inverse_mass: (1.0 / clump.mass) as f32,
            ..fixed
        };
        shapes.extend([free, fixed]);
        let spheres = clump.spheres.iter().zip(&clump.materials);
        members.extend(spheres.map(|(sphere, material)| Member {
            center: sphere.center.as_vec3(),
            radius: sphere.radius as f32,
            material: *material as u32,
            ..Member::default()
        }));
    }
    let groups = 0..model.forces.groups.len().max(1) as u32;
    let of_group = |group| {
        let shapes = shapes.iter().copied();
        shapes.map(move |properties| BodyProperties {
            group,
            ..properties
        })
    };
    (groups.flat_map(of_group).collect(), members)
}

/// What contacts do to a body: the sum over its spheres.
#[inline(always)]
pub(crate) fn load(body: &Body, members: &[Member], loads: &[SphereLoad]) -> Load {
    let contacts = |load: &SphereLoad| load.sphere_contacts() + load.wall_contacts();
    if let ([member], [sphere]) = (members, loads)
        && member.center == Vec3::ZERO
    {
        return Load {
            force: sphere.force,
            max_overlap: sphere.max_overlap,
            torque: sphere.torque,
            contacts: contacts(sphere),
        };
    }
    let orientation = Quaternion::of(body.orientation);
    let mut sum = Load::default();
    for (member, sphere) in members.iter().zip(loads) {
        let arm = orientation.rotate(member.center);
        sum.force += sphere.force;
        sum.torque += sphere.torque + arm.cross(sphere.force);
        sum.max_overlap = sum.max_overlap.max(sphere.max_overlap);
        sum.contacts += contacts(sphere);
    }
    sum
}

/// Springs and pushes of a model, in the order of the bodies on which they act.
fn actions(model: &Model, grid: &Grid) -> Vec<Action> {
    let mut actions = Vec::new();
    for (source, spring) in model.forces.springs.iter().enumerate() {
        let common = Action {
            source: source as u32,
            stiffness: spring.stiffness as f32,
            damping: spring.damping as f32,
            length: spring.length as f32,
            slack: spring.slack.into(),
            end: f32::INFINITY,
            acts: 1,
            ..Action::default()
        };
        let [first, second] = spring.ends;
        for (own, other) in [(first, second), (second, first)] {
            let End::Body { body, point } = own else {
                continue;
            };
            let own = Action {
                body: body as u32,
                point: point.as_vec3(),
                ..common
            };
            actions.push(match other {
                End::Body { body, point } => Action {
                    kind: SPRING,
                    other: body as u32,
                    vector: point.as_vec3(),
                    ..own
                },
                End::World(place) => {
                    let (cell, part) = grid.locate(place);
                    Action {
                        kind: ANCHOR,
                        cell: wrap(cell, grid.period),
                        vector: (part * grid.cell_size.as_dvec3()).as_vec3(),
                        ..own
                    }
                }
            });
        }
    }
    for (source, push) in model.forces.pushes.iter().enumerate() {
        actions.push(Action {
            kind: if push.turns_along { THRUST } else { PUSH },
            body: push.body as u32,
            source: source as u32,
            point: push.point.as_vec3(),
            vector: push.force.as_vec3(),
            torque: push.torque.as_vec3(),
            start: push.start as f32,
            end: push.end as f32,
            acts: push.key.is_none().into(),
            ..Action::default()
        });
    }
    actions.sort_by_key(|action| action.body);
    actions
}

/// Whether the engines sum the loads on walls in each step: where they move walls, and under a custom law,
/// of which contacts do not tell afterwards what they did.
fn sums_wall_loads(model: &Model) -> bool {
    let custom = matches!(model.contact.law, Law::Custom(_));
    model
        .walls
        .iter()
        .any(|wall| custom || wall.loaded.is_some())
}

/// A power of two of the size of `number`.
fn power_of_two(number: f64) -> f32 {
    libm::exp2(libm::log2(number.max(1e-30)).ceil()).clamp(1e-30, 1e30) as f32
}

/// The force of a contact that is as deep as the largest radius, N: a power of two.
fn force_unit(pairs: &[Pair], model: &Model) -> f32 {
    let (_, radius) = radii(model);
    let stiffest = pairs
        .iter()
        .map(|pair| pair.wall_stiffness)
        .fold(0.0, f32::max);
    let force = match model.contact.law {
        Law::Hertz => f64::from(stiffest) * radius * radius,
        _ => f64::from(stiffest) * radius,
    };
    power_of_two(force)
}

/// The length that a periodic axis of the domain of `model` has at least, m: a little more than three
/// of its largest diameters.
pub fn least_period(model: &Model) -> f64 {
    let (smallest, largest) = radii(model);
    least_length(smallest, largest, range(model))
}

/// The same for spheres of radii from `smallest` to `largest` that act on each other across gaps up to
/// `range`, m.
pub(crate) fn least_length(smallest: f64, largest: f64, range: f64) -> f64 {
    LEAST_PERIOD * cell(largest, SKIN * smallest + range)
}

/// Angular velocity in the world frame, rad/s, of a body with the principal moments of inertia
/// `inertia` (kg m²): ω = R I⁻¹ Rᵀ L.
pub fn angular_velocity(body: &Body, inertia: DVec3) -> DVec3 {
    let orientation = body_orientation(body);
    let momentum = body.angular_momentum.as_dvec3();
    orientation * ((orientation.conjugate() * momentum) / inertia)
}

/// World from body frame.
pub fn body_orientation(body: &Body) -> DQuat {
    DQuat::from_vec4(body.orientation.as_dvec4()).normalize()
}

/// The pair table of a model, as the engines read it.
pub(crate) fn pairs(model: &Model) -> Vec<Pair> {
    model.pairs.iter().map(pair).collect()
}

/// Parameters of a pair of materials, as the engines read them.
fn pair(law: &PairLaw) -> Pair {
    let mut pair = Pair {
        stiffness: law.stiffness as f32,
        wall_stiffness: law.wall_stiffness as f32,
        tangential_ratio: law.tangential_ratio as f32,
        wall_tangential_ratio: law.wall_tangential_ratio as f32,
        damping_ratio: law.damping_ratio as f32,
        damping: law.damping as f32,
        friction: law.friction as f32,
        rolling_friction: law.rolling_friction as f32,
        rolling: match law.rolling {
            Rolling::Constant => ROLLING_CONSTANT,
            Rolling::Spring => ROLLING_SPRING,
        },
        twisting_friction: law.twisting_friction as f32,
        ..Pair::default()
    };
    match law.cohesion {
        Cohesion::None => (),
        Cohesion::Constant { force, range } => {
            pair.cohesion_force = force as f32;
            pair.cohesion_range = range as f32;
        }
        Cohesion::SurfaceEnergy(energy) => pair.surface_energy = energy as f32,
    }
    pair
}

/// How many `vec4` a contact remembers: none, the tangential and the torsional spring, or those and
/// the rolling spring and whether the surfaces stick.
fn memory_size(model: &Model) -> u32 {
    let second = |pair: &PairLaw| {
        (pair.rolling == Rolling::Spring && pair.rolling_friction > 0.0)
            || matches!(pair.cohesion, Cohesion::SurfaceEnergy(energy) if energy > 0.0)
    };
    match model.contact.law {
        Law::Linear => 0,
        Law::Custom(_) => 2,
        Law::Hooke | Law::Hertz => 1 + u32::from(model.pairs.iter().any(second)),
    }
}

/// The largest gap at which two surfaces act on each other, m.
fn range(model: &Model) -> f64 {
    let (_, radius) = radii(model);
    let of_pair = |pair: &PairLaw| match pair.cohesion {
        Cohesion::None => 0.0,
        Cohesion::Constant { force, range } if force > 0.0 => range,
        Cohesion::Constant { .. } => 0.0,
        Cohesion::SurfaceEnergy(energy) => {
            // Where the normal spring would carry the pull-off force; see `contact::cohesion`.
            let length = |stiffness: f64| {
                let pull_off = 1.5 * std::f64::consts::PI * energy * radius;
                match model.contact.law {
                    _ if stiffness <= 0.0 => 0.0,
                    Law::Hertz => {
                        libm::cbrt(pull_off * pull_off / (stiffness * stiffness * radius))
                    }
                    _ => pull_off / stiffness,
                }
            };
            length(pair.stiffness).max(length(pair.wall_stiffness))
        }
    };
    let of_law = match &model.contact.law {
        Law::Custom(law) => law.range,
        _ => 0.0,
    };
    model.pairs.iter().map(of_pair).fold(of_law, f64::max)
}

/// The grids of a model, from the finest on.
struct Grid {
    /// See [`Params::finest`].
    finest: f32,
    level_count: u32,
    skin: f32,
    slow_skin: f32,
    touch_margin: f32,
    cell_size: Vec3,
    period: IVec3,
    origin: DVec3,
}

impl Grid {
    fn new(model: &Model) -> Grid {
        // The coarsest grid fits the largest spheres; each finer one has cells half as large, as
        // long as the smallest spheres fit.
        let coarsest = coarsest_cell(model);
        let (smallest, _) = radii(model);
        let (mut finest, mut level_count) = (coarsest, 1);
        while 0.5 * finest >= cell(smallest, skin(model)) {
            finest *= 0.5;
            level_count += 1;
        }

        let finest = finest as f32;
        let mut cell_size = Vec3::splat(finest);
        let (mut period, mut origin) = (IVec3::ZERO, DVec3::ZERO);
        if let Some(domain) = &model.domain {
            for axis in (0..3).filter(|&axis| domain.periodic[axis]) {
                let length = domain.period()[axis];
                let cells = (length / coarsest).floor();
                assert!(
                    cells >= LEAST_PERIOD,
                    "a period of {length} m is less than {} m",
                    least_period(model)
                );
                // A whole number of cells of each grid, so that all of them close.
                let fine = level_count - 1;
                let cells = cells.min(f64::from(MOST_PERIOD >> fine)) as i32;
                period[axis] = cells << fine;
                cell_size[axis] = (length / f64::from(period[axis])) as f32;
                origin[axis] = domain.min[axis];
            }
        }
        Grid {
            finest,
            level_count,
            skin: skin(model) as f32,
            touch_margin: (TOUCH_MARGIN * smallest + range(model)) as f32,
            slow_skin: (SLOW_SKIN * smallest + range(model)) as f32,
            cell_size,
            period,
            origin,
        }
    }

    /// Cell of a point, and its place in it as a fraction of the cell's sides.
    fn locate(&self, point: DVec3) -> (IVec3, DVec3) {
        locate(point, self.origin, self.cell_size)
    }
}

/// Cell of a point, and its place in it as a fraction of the cell's sides.
fn locate(point: DVec3, origin: DVec3, cell_size: Vec3) -> (IVec3, DVec3) {
    let cells = (point - origin) / cell_size.as_dvec3();
    (cells.floor().as_ivec3(), cells - cells.floor())
}

/// Where each element goes of those that are kept.
fn places(keep: &[bool]) -> Vec<u32> {
    let mut next = 0;
    keep.iter()
        .map(|&kept| {
            let place = next;
            next += u32::from(kept);
            place
        })
        .collect()
}

fn retain<T>(elements: &mut Vec<T>, keep: &[bool]) {
    let mut keep = keep.iter();
    elements.retain(|_| keep.next().is_some_and(|kept| *kept));
}

/// Smallest and largest radius of the spheres of all bodies, those to come included, m.
fn radii(model: &Model) -> (f64, f64) {
    let poured = model
        .flow
        .inlets
        .iter()
        .flat_map(|inlet| &inlet.fill.shapes);
    let shapes = model
        .bodies
        .iter()
        .map(|body| body.shape)
        .chain(poured.map(|(shape, _)| *shape));
    let spheres = shapes.flat_map(|shape| &model.shapes[shape].spheres);
    spheres.fold((f64::MAX, 0.0), |(smallest, largest), sphere| {
        (smallest.min(sphere.radius), largest.max(sphere.radius))
    })
}

/// Two spheres of fast bodies are neighbours if their surfaces are closer than this, m.
fn skin(model: &Model) -> f64 {
    SKIN * radii(model).0 + range(model)
}

/// Side of a cell that a sphere fits into, m.
fn cell(radius: f64, skin: f64) -> f64 {
    CELL_MARGIN * (2.0 * radius + skin)
}

/// Side of a cell of the coarsest grid, m.
fn coarsest_cell(model: &Model) -> f64 {
    cell(radii(model).1, skin(model))
}

fn world_inertia(orientation: DQuat, inertia: DVec3) -> DMat3 {
    let axes = DMat3::from_quat(orientation);
    axes * DMat3::from_diagonal(inertia) * axes.transpose()
}

fn center_of(model: &Model) -> DVec3 {
    if model.bodies.is_empty() {
        let corners = model.flow.corners();
        return corners.clone().sum::<DVec3>() / corners.count().max(1) as f64;
    }
    let sum: DVec3 = model.bodies.iter().map(|body| body.position).sum();
    sum / model.bodies.len() as f64
}
