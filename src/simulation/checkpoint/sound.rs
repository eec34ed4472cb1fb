//! Checks of the contents of a checkpoint: a fault of memory or another program can write wrong contents with a right
//! hash.

use std::cell::Cell;

use bytemuck::{Pod, bytes_of};
use glam::{IVec3, IVec4, Vec3, Vec4};
use xxhash_rust::xxh3::xxh3_64;

use super::{
    Checkpoint, FIXED, Fault, GROUP_SHIFT, IDS, PLACES, SHAPE_BITS, SHAPES, group_of, pieces,
};
use crate::model::Model;
use crate::state::layout::{
    APPLIED, Action, BROKEN_BY_SHEAR, Body, BodyBonds, BodyForce, BodyHeat, Bond, DynamicWall,
    History, MATERIAL_BITS, MAX_WALLS, NO_WALL, PUSH, SPRING, Sphere, SphereLoad, Stats,
    SummedLoad, THRUST, WALL, Wall,
};
use crate::state::{Field, State};

/// A value, or the fault.
type Sound<T = ()> = Result<T, Fault>;

/// Largest deviation from 1 of the squared length of a quaternion.
const TURNED: f32 = 0.01;

/// An error unless `right`.
fn expect(right: bool, found: impl FnOnce() -> String) -> Sound {
    if right {
        Ok(())
    } else {
        Err(Fault::Damaged(found()))
    }
}

fn is_unit(square: f32) -> bool {
    (square - 1.0).abs() < TURNED
}

fn is_turn(orientation: IVec4) -> bool {
    is_unit((orientation.as_vec4() / (1_u32 << 30) as f32).length_squared())
}

/// Whether all of the numbers are finite.
fn finite(vectors: &[Vec3], numbers: &[f32]) -> bool {
    vectors.iter().all(|vector| vector.is_finite()) && numbers.iter().all(|n| n.is_finite())
}

/// Whether a cell is so near the origin that differences of two such cells do not overflow.
fn is_near(cell: IVec3) -> bool {
    let far = IVec3::splat(1 << 30);
    (cell.cmplt(far) & cell.cmpgt(-far)).all()
}

fn body_is_sound(body: &Body) -> bool {
    is_turn(body.orientation)
        && is_near(body.cell)
        && finite(&[body.velocity, body.angular_momentum], &[])
        && !body.displacement_bound.is_nan()
}

impl Checkpoint {
    /// Checks that the parts fit each other and that all numbers are finite.
    pub(super) fn is_sound(&self) -> Sound {
        self.header_is_sound()?;
        let spheres = self.bodies_are_sound()?;
        self.spheres_are_sound(spheres)?;
        self.lists_are_sound(spheres)?;
        self.walls_are_sound()?;
        self.actions_are_sound()?;
        self.bonds_are_sound()?;
        self.stats_are_sound()
    }

    /// Checks that a section has one of these numbers of elements.
    fn has<T>(&self, name: &str, counts: &[usize]) -> Sound {
        let (_, bytes) = self.section(name);
        let fits = counts
            .iter()
            .any(|count| count.checked_mul(size_of::<T>()) == Some(bytes));
        expect(fits, || {
            format!("{bytes} bytes of {name}, which are too many or too few")
        })
    }

    /// Checks each element of a section, of which there must be one of these numbers.
    fn each<T: Pod>(&self, name: &str, counts: &[usize], check: impl Fn(&T) -> Sound) -> Sound {
        self.has::<T>(name, counts)?;
        for some in pieces(self.count::<T>(name)) {
            self.some(name, some)?.iter().try_for_each(&check)?;
        }
        Ok(())
    }

    fn header_is_sound(&self) -> Sound {
        let header = &self.header;
        let positive = |number: f64| number > 0.0 && number.is_finite();
        expect(positive(header.time_step), || {
            format!("a time step of {} s", header.time_step)
        })?;
        expect(
            header.cell_size.iter().all(|&side| positive(side.into())),
            || format!("cells of {:?} m", header.cell_size),
        )?;
        expect(header.history_size as usize <= History::ELEMENTS, || {
            format!("histories of {} elements", header.history_size)
        })?;
        for shape in &header.shapes {
            let square = shape
                .principal_axes
                .iter()
                .map(|part| part * part)
                .sum::<f64>();
            let right = shape.spheres > 0
                && shape.inertia.into_iter().all(positive)
                && is_unit(square as f32);
            expect(right, || format!("a shape {:?} that cannot be", shape.name))?;
        }
        let facets = header.walls.iter().map(|wall| u64::from(wall.facets));
        let facets = facets.sum::<u64>();
        expect(
            header.walls.len() <= MAX_WALLS && facets < u64::from(WALL),
            || format!("{} walls with {facets} facets", header.walls.len()),
        )
    }

    /// Checks the bodies; returns the number of their spheres.
    fn bodies_are_sound(&self) -> Sound<usize> {
        let count = self.body_count();
        self.has::<u32>(SHAPES, &[count])?;
        self.has::<Body>(Field::Bodies.name(), &[count])?;
        self.has::<u64>(IDS, &[count])?;
        let mut next = 0_usize;
        let mut last_id = None;
        for some in pieces(count) {
            let shapes = self.some::<u32>(SHAPES, some.clone())?;
            let bodies = self.some::<Body>(Field::Bodies.name(), some.clone())?;
            for ((index, body), shape) in some.clone().zip(&bodies).zip(shapes) {
                let own = self.header.shapes.get((shape & SHAPE_BITS) as usize);
                let Some(own) = own else {
                    return Err(Fault::Damaged(format!(
                        "body {index} of shape number {}, where there are {}",
                        shape & SHAPE_BITS,
                        self.header.shapes.len()
                    )));
                };
                // Checkpoints of older versions have no group names.
                let groups = self.header.groups.len();
                expect(groups == 0 || group_of(shape) < groups, || {
                    format!(
                        "body {index} in group number {}, where there are {groups}",
                        (shape & !FIXED) >> GROUP_SHIFT
                    )
                })?;
                expect(body.first_sphere as usize == next, || {
                    format!(
                        "body {index} with its first sphere at {}",
                        body.first_sphere
                    )
                })?;
                expect(body_is_sound(body), || {
                    format!("body {index} with a motion or an orientation that cannot be")
                })?;
                next = next.saturating_add(own.spheres as usize);
            }
            for id in self.some::<u64>(IDS, some)? {
                let rises = last_id.is_none_or(|last| last < id);
                expect(rises && id < self.header.traffic.next_id, || {
                    "bodies whose numbers do not rise".to_owned()
                })?;
                last_id = Some(id);
            }
        }
        self.each(PLACES, &[0, count], |place: &[f64; 3]| {
            expect(place.iter().all(|place| place.is_finite()), || {
                "bodies that were at no place".to_owned()
            })
        })?;
        expect(next < WALL as usize, || format!("{next} spheres"))?;
        self.what_acts_is_sound(count)?;
        Ok(next)
    }

    fn what_acts_is_sound(&self, count: usize) -> Sound {
        self.each(
            Field::BodyForces.name(),
            &[0, count],
            |force: &BodyForce| {
                let vectors = [force.force, force.torque, force.acceleration];
                let numbers = [
                    force.drag,
                    force.drag_rest,
                    force.displacement,
                    force.work,
                    force.work_rest,
                ];
                expect(finite(&vectors, &numbers), || {
                    "a force that is not a number".to_owned()
                })
            },
        )?;
        self.each(Field::BodyHeat.name(), &[0, count], |heat: &BodyHeat| {
            let numbers = [
                heat.temperature,
                heat.rest,
                heat.flow,
                heat.inverse_capacity,
            ];
            expect(finite(&[], &numbers) && heat.temperature >= 0.0, || {
                "a temperature that cannot be".to_owned()
            })
        })
    }

    fn spheres_are_sound(&self, count: usize) -> Sound {
        let bodies = self.body_count();
        self.each(Field::Spheres.name(), &[count], |sphere: &Sphere| {
            let vectors = [sphere.offset, sphere.velocity, sphere.angular_velocity];
            let right = finite(&vectors, &[sphere.radius, sphere.inverse_mass])
                && is_near(sphere.cell)
                && (sphere.body as usize) < bodies;
            expect(right, || "a sphere that cannot be".to_owned())
        })?;
        self.each(Field::SphereLoads.name(), &[count], |load: &SphereLoad| {
            let sums = [
                load.damping,
                load.damping_rest,
                load.friction,
                load.friction_rest,
            ];
            let right = finite(&[load.force, load.torque], &sums) && load.max_overlap.is_finite();
            expect(right, || {
                "a load on a sphere that is not a number".to_owned()
            })
        })
    }

    /// Checks the neighbour lists: each entry is a facet, or a sphere that has this one in its own list.
    fn lists_are_sound(&self, spheres: usize) -> Sound {
        let (starts, entries) = (Field::NeighbourStarts.name(), Field::Neighbours.name());
        self.has::<u32>(starts, &[spheres + 1])?;
        let count = self.count::<u32>(entries);
        let facets = self.header.walls.iter().map(|wall| wall.facets);
        let facets = facets.sum::<u32>();
        let mut end = 0;
        // Of each pair, the list of the sphere of lower index adds a number, and that of the other one takes it away.
        let mut alone = 0_u64;
        for some in pieces(spheres) {
            let starts: Vec<u32> = self.some(starts, some.start..some.end + 1)?;
            let rises = starts.windows(2).all(|pair| pair[0] <= pair[1]);
            end = starts[some.len()] as usize;
            expect(rises && end <= count, || {
                "neighbour lists that start behind their ends".to_owned()
            })?;
            let entries: Vec<u32> = self.some(entries, starts[0] as usize..end)?;
            for (sphere, list) in some.zip(starts.windows(2)) {
                let sphere = sphere as u32;
                let [start, end] = [0, 1].map(|k| (list[k] - starts[0]) as usize);
                let all = &entries[start..end];
                let (own, walls) = all.split_at(all.partition_point(|entry| entry & WALL == 0));
                let right = own.windows(2).all(|pair| pair[0] < pair[1])
                    && own.last().is_none_or(|last| (*last as usize) < spheres)
                    && !own.contains(&sphere)
                    && walls
                        .iter()
                        .all(|entry| entry & WALL != 0 && entry & !WALL < facets);
                expect(right, || {
                    format!("neighbours of sphere {sphere} that cannot be")
                })?;
                for &other in own {
                    let pair = [sphere.min(other), sphere.max(other)];
                    let number = xxh3_64(bytes_of(&pair));
                    alone = match sphere < other {
                        true => alone.wrapping_add(number),
                        false => alone.wrapping_sub(number),
                    };
                }
            }
        }
        expect(alone == 0, || {
            "a sphere that is no neighbour of one of its neighbours".to_owned()
        })?;
        let used = end * self.header.history_size as usize;
        let history = Field::History.name();
        let unfit = || "a contact history that is not a number".to_owned();
        expect(used <= self.count::<Vec4>(history), unfit)?;
        for some in pieces(used) {
            let history: Vec<Vec4> = self.some(history, some)?;
            expect(history.iter().all(|part| part.is_finite()), unfit)?;
        }
        Ok(())
    }

    fn walls_are_sound(&self) -> Sound {
        let count = self.header.walls.len();
        self.has::<Wall>(Field::Walls.name(), &[MAX_WALLS])?;
        let walls = self.elements::<Wall>(Field::Walls.name())?;
        for (index, wall) in walls[..count].iter().enumerate() {
            let vectors = [wall.offset, wall.velocity, wall.angular_velocity, wall.belt];
            let right = finite(&vectors, &[wall.displacement_bound, wall.inverse_mass])
                && is_near(wall.cell)
                && is_unit(wall.orientation.length_squared());
            expect(right, || format!("wall {index} at a place that cannot be"))?;
        }
        for own in self.elements::<DynamicWall>(Field::DynamicWalls.name())? {
            let right = own.wall == NO_WALL
                || (own.wall as usize) < count
                    && body_is_sound(&own.body)
                    && finite(
                        &[
                            own.force,
                            own.torque,
                            own.rail,
                            own.axle,
                            own.inverse_inertia,
                            own.drift,
                        ],
                        &[
                            own.servo_force,
                            own.servo_speed,
                            own.inverse_mass,
                            own.reach,
                        ],
                    );
            expect(right, || "a wall under load that cannot be".to_owned())?;
        }
        for load in self.elements::<SummedLoad>(Field::WallLoads.name())? {
            expect(
                finite(&[load.force, load.torque], &[load.work, load.work_rest]),
                || "a load on a wall that is not a number".to_owned(),
            )?;
        }
        Ok(())
    }

    fn actions_are_sound(&self) -> Sound {
        let bodies = self.body_count();
        let is_body = |index: u32| (index as usize) < bodies;
        let actions = self.elements::<Action>(Field::Actions.name())?;
        for action in &actions {
            let vectors = [action.point, action.vector, action.torque];
            let right = action.kind <= THRUST
                && is_body(action.body)
                && (action.kind != SPRING || is_body(action.other))
                && finite(
                    &vectors,
                    &[action.stiffness, action.damping, action.rest_length],
                )
                && is_near(action.cell)
                && !action.start.is_nan()
                && !action.end.is_nan();
            expect(right, || {
                "a spring or an applied force that cannot be".to_owned()
            })?;
        }
        let in_order = actions.windows(2).all(|pair| pair[0].body <= pair[1].body);
        expect(in_order, || {
            "springs and applied forces out of their order".to_owned()
        })
    }

    fn bonds_are_sound(&self) -> Sound {
        let bodies = self.body_count();
        let ends = self.count::<Bond>(Field::Bonds.name());
        let last = Cell::new(0);
        self.each(Field::Bonds.name(), &[ends], |bond: &Bond| {
            let vectors = [
                bond.first_arm,
                bond.second_arm,
                bond.stiffness,
                bond.turning_stiffness,
                bond.damping,
                bond.turning_damping,
                bond.offset,
            ];
            let numbers = [
                bond.inverse_area,
                bond.inverse_section,
                bond.tensile_strength,
                bond.shear_strength,
                bond.energy,
                bond.time,
                bond.first_length,
                bond.second_length,
                bond.healing_reach,
                bond.healing_time,
            ];
            let right = [bond.first, bond.second]
                .iter()
                .all(|body| (*body as usize) < bodies)
                && bond.side <= 1
                && bond.broken <= BROKEN_BY_SHEAR
                && (bond.broken == 0 || bond.breaks > 0)
                && finite(&vectors, &numbers)
                && is_unit(bond.first_frame.length_squared())
                && is_unit(bond.second_frame.length_squared())
                && is_near(bond.cell);
            expect(right, || "a bond that cannot be".to_owned())?;
            let in_order = last.replace(bond.own()) <= bond.own();
            expect(in_order, || "bonds out of their order".to_owned())
        })?;
        self.each(Field::BodyBonds.name(), &[0, bodies], |own: &BodyBonds| {
            let right = finite(&[], &[own.taken, own.taken_rest, own.damage]);
            expect(right, || {
                "an account of bonds that is not a number".to_owned()
            })
        })
    }

    fn stats_are_sound(&self) -> Sound {
        self.has::<Stats>(Field::Stats.name(), &[1])?;
        let stats = self.elements::<Stats>(Field::Stats.name())?[0];
        let flags = [
            stats.stale,
            stats.due,
            stats.rebuilding,
            stats.full,
            stats.halted,
        ];
        let overlap = f32::from_bits(stats.max_overlap_fraction);
        let room = self.count::<u32>(Field::Neighbours.name());
        let bodies = self.body_count();
        let right = flags.iter().all(|flag| *flag <= 1)
            && stats.runaway as usize <= bodies
            && overlap.is_finite()
            && overlap >= 0.0
            && stats.first_entry == 0
            && stats.near_walls == 0
            && stats.neighbours as usize <= room
            && stats.steps == self.header.steps as u32;
        expect(right, || "sums over the run that cannot be".to_owned())
    }

    /// Checks that the bodies and spheres fit a model, whose starting state has their numbers.
    pub(super) fn bodies_fit(&self, state: &State, model: &Model) -> Sound {
        let spheres = self.count::<Sphere>(Field::Spheres.name());
        let materials = state.params.material_count.max(1);
        let mut next = 0;
        for some in pieces(self.body_count()) {
            let bodies = self.some::<Body>(Field::Bodies.name(), some.clone())?;
            let mut made = state.outline();
            made.extend(model, self.model_bodies(some.clone())?);
            let mut own = bodies.iter().zip(&made.bodies);
            let same = own.all(|(own, body)| {
                (own.kind, own.first_sphere) == (body.kind, next + body.first_sphere)
            });
            expect(same, || {
                "bodies of other shapes than those of the scene".to_owned()
            })?;
            let range = next as usize..next as usize + made.spheres.len();
            next = range.end as u32;
            let own = match range.end <= spheres {
                true => self.some::<Sphere>(Field::Spheres.name(), range)?,
                false => Vec::new(),
            };
            let same = own.len() == made.spheres.len()
                && own.iter().zip(&made.spheres).all(|(own, sphere)| {
                    own.body == some.start as u32 + sphere.body
                        && own.tags & MATERIAL_BITS < materials
                });
            expect(same, || {
                "spheres of other bodies than those of the scene".to_owned()
            })?;
        }
        expect(next as usize == spheres, || "spheres of no body".to_owned())
    }

    /// Checks that all but the bodies fits the starting state of a model.
    pub(super) fn fits(&self, state: &State, actions: [usize; 2], bonds: usize) -> Sound {
        let found = &self.header;
        let params = &state.params;
        let deformation = found.traffic.deformation;
        let deforms = deformation.is_some();
        let right = deforms == (params.deforms == 1)
            && deformation.is_none_or(|now| {
                let sides = now.sides.iter().all(|side| *side > 0.0 && side.is_finite());
                sides && now.flow < 3 && now.gradient < 3 && now.step <= found.steps
            });
        expect(right, || "a box that deforms as it cannot".to_owned())?;
        let same_grid = (deforms || found.cell_size == params.cell_size.to_array())
            && found.origin == state.origin.to_array()
            && found.history_size == params.history_size;
        expect(same_grid, || {
            "another grid than that of the scene".to_owned()
        })?;
        let walls = self.elements::<Wall>(Field::Walls.name())?;
        let constant = |wall: &Wall| (wall.material, wall.first_node);
        // Stages add and remove walls.
        let whole = |index: usize| [0, state.nodes_of_wall(index)];
        let known = |(index, wall): (usize, &Wall)| whole(index).contains(&wall.node_count);
        let dynamic = self.elements::<DynamicWall>(Field::DynamicWalls.name())?;
        let same_walls = found.walls.len() == params.wall_count as usize
            && walls
                .iter()
                .map(constant)
                .eq(state.walls.iter().map(constant))
            && walls.iter().take(found.walls.len()).enumerate().all(known)
            && dynamic
                .iter()
                .map(|own| own.wall)
                .eq(state.dynamic_walls.iter().map(|own| own.wall));
        expect(same_walls, || {
            "other walls than those of the scene".to_owned()
        })?;
        let own = self.elements::<Action>(Field::Actions.name())?;
        let known = |action: &Action| {
            let of = actions[usize::from(action.kind >= PUSH)];
            action.source == APPLIED || (action.source as usize) < of
        };
        expect(own.iter().all(known), || {
            "a spring or an applied force that the scene does not have".to_owned()
        })?;
        let ends = self.count::<Bond>(Field::Bonds.name());
        self.each(Field::Bonds.name(), &[ends], |bond: &Bond| {
            expect((bond.source as usize) < bonds, || {
                "a bond that the scene does not have".to_owned()
            })
        })?;
        let (now, then) = (&state.traffic, &found.traffic);
        let same_flow = now.inlets.len() == then.inlets.len()
            && now.waiting.len() == then.waiting.len()
            && now.outlets.len() == then.outlets.len()
            && now.passed.len() == then.passed.len()
            && now.residence.len() == then.residence.len()
            && now
                .worn
                .iter()
                .map(Vec::len)
                .eq(then.worn.iter().map(Vec::len))
            && now.exploded.len() == then.exploded.len();
        expect(same_flow, || {
            "inlets, outlets or probes that the scene does not have".to_owned()
        })
    }
}
