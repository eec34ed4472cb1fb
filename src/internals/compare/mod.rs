//! Differences between two states of one model: one engine beside the other.

mod engines;

pub use engines::{
    Comparison, Divergence, HORIZON, Moment, Nearer, PassComparison, Statistic,
    TRAJECTORY_TOLERANCE, compare, compare_from, statistical_tolerance,
};

use std::collections::HashMap;

use glam::{DVec3, Vec3, Vec4};
use serde::Serialize;

use crate::model::wall::facet::distance;
use crate::state::grid::{extent, from_wall};
use crate::state::layout::{
    Body, BodyForce, Bond, HERTZ_MINDLIN, SphereLoad, SummedLoad, WALL, WALL_DIGITS,
};
use crate::state::{State, body_orientation};
use crate::step::Pass;
use crate::step::wall_load::{carried, load};
use crate::step::wall_run::orientation_of;

/// A quantity in which two states may differ.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Difference {
    /// Name of the quantity that is compared.
    pub quantity: &'static str,
    /// Largest difference: for integers the number of elements that differ, for positions as a
    /// fraction of a cell, for orientations in radians, for all else as a fraction of the largest
    /// value (or of what counts as one, where all values are small).
    #[serde(rename = "difference")]
    pub value: f64,
    /// The value up to which the two count as equal.
    pub tolerance: f64,
}

impl Difference {
    /// Whether the two states count as different. A difference that is not a number does.
    pub fn is_beyond_tolerance(&self) -> bool {
        self.value.is_nan() || self.value > self.tolerance
    }
}

/// Tolerance of what one pass computes in `f32` from the same input: some tens of roundings.
pub const PASS_TOLERANCE: f64 = 1e-5;

/// Tolerance of forces from the same input. The overlap is a small difference of large numbers,
/// so its rounding is larger relative to it.
pub const FORCE_TOLERANCE: f64 = 1e-4;

/// Tolerance of heat flows: they go with the square root of the overlap, the rounding of which shows most where spheres
/// just touch.
const HEAT_TOLERANCE: f64 = 5e-3;

/// The overlap, as a fraction of a cell, whose force counts as a large one: the rounding of an
/// overlap is some 1e-7 of a cell however small it is, which must be less than
/// [`FORCE_TOLERANCE`] of it.
const LARGE_OVERLAP: f64 = 1e-2;

/// One sphere in so many may count a contact that the other engine does not: rounding decides
/// whether spheres touch that just do. Such contacts carry no force to speak of; one that does shows
/// in the forces.
const SPHERES_PER_GRAZING_CONTACT: usize = 10_000;

/// Differences between what `pass` wrote to `a` and to `b`.
pub fn differences(pass: Pass, a: &State, b: &State) -> Vec<Difference> {
    match pass {
        Pass::Pose => {
            let places = a
                .spheres
                .iter()
                .zip(&b.spheres)
                .map(|(a_sphere, b_sphere)| {
                    apart(
                        (a_sphere.cell, a_sphere.offset),
                        (b_sphere.cell, b_sphere.offset),
                        a,
                    ) / f64::from(a.params.finest)
                });
            let constant = |state: &State| -> Vec<u32> {
                let words = state.spheres.iter().map(|sphere| {
                    let floats = [sphere.radius, sphere.inverse_mass].map(f32::to_bits);
                    [floats[0], floats[1], sphere.body, sphere.tags]
                });
                words.flatten().collect()
            };
            let pairs = a.spheres.iter().zip(&b.spheres);
            vec![
                float("position", largest(places), PASS_TOLERANCE),
                float(
                    "velocity",
                    relative(pairs.clone().map(|(a, b)| (a.velocity, b.velocity))),
                    PASS_TOLERANCE,
                ),
                float(
                    "angular velocity",
                    relative(pairs.map(|(a, b)| (a.angular_velocity, b.angular_velocity))),
                    PASS_TOLERANCE,
                ),
                exact("radius, body, mass, tags", &constant(a), &constant(b)),
                exact(
                    "rebuilding",
                    &[a.stats[0].rebuilding],
                    &[b.stats[0].rebuilding],
                ),
            ]
        }
        Pass::Bin => vec![
            exact("bucket", &a.buckets, &b.buckets),
            exact("spheres in a bucket", &a.bucket_starts, &b.bucket_starts),
        ],
        Pass::Scan => vec![exact(
            "start of a bucket",
            &a.bucket_starts,
            &b.bucket_starts,
        )],
        Pass::Scatter => vec![exact("sorted spheres", &a.sorted, &b.sorted)],
        Pass::Neighbours => vec![
            Difference {
                quantity: "neighbours",
                value: differing_neighbours(a, b) as f64,
                tolerance: 0.0,
            },
            Difference {
                quantity: "history",
                value: differing_histories(a, b) as f64,
                tolerance: 0.0,
            },
        ],
        Pass::Contacts | Pass::Walls => {
            let fraction = |state: &State| f32::from_bits(state.stats[0].max_overlap_fraction);
            let fraction = (fraction(a) - fraction(b)).abs();
            let contacts = |state: &State| -> Vec<u32> {
                state
                    .sphere_loads
                    .iter()
                    .map(|load| load.contacts)
                    .collect()
            };
            let pushed = |load: &SphereLoad| (load.force, load.torque, load.max_overlap);
            let pairs = a.sphere_loads.iter().zip(&b.sphere_loads);
            let pairs = pairs.map(|(a, b)| (pushed(a), pushed(b)));
            let mut all = loads(a, pairs, large_force(a));
            // A spring stretched by the overlap of a large force.
            let long = LARGE_OVERLAP * f64::from(a.params.finest);
            all.push(float(
                "history",
                relative_to(long, histories(a, b)),
                FORCE_TOLERANCE,
            ));
            let lost = |load: &SphereLoad| Vec3::new(load.damping, load.friction, 0.0);
            let pairs = a.sphere_loads.iter().zip(&b.sphere_loads);
            let lost = relative(pairs.map(|(a, b)| (lost(a), lost(b))));
            all.push(float("dissipated energy", lost, FORCE_TOLERANCE));
            all.push(float(
                "largest overlap so far",
                fraction.into(),
                PASS_TOLERANCE,
            ));
            all.push(Difference {
                tolerance: (a.sphere_loads.len() / SPHERES_PER_GRAZING_CONTACT) as f64,
                ..exact("contacts", &contacts(a), &contacts(b))
            });
            if a.params.wall_loads == 1 {
                let (of_a, of_b) = (summed(a), summed(b));
                let pairs = of_a
                    .iter()
                    .zip(&of_b)
                    .map(|(a, b)| (pushed_wall(a), pushed_wall(b)));
                let [force, torque, _] = loads(a, pairs, large_force(a))
                    .try_into()
                    .unwrap_or_else(|_| unreachable!("loads are forces, torques and overlaps"));
                all.push(Difference {
                    quantity: "force on a wall",
                    ..force
                });
                all.push(Difference {
                    quantity: "torque on a wall",
                    ..torque
                });
            }
            all
        }
        Pass::Heat => {
            let pairs = || a.body_heat.iter().zip(&b.body_heat);
            let along = |number: f32| Vec3::new(number, 0.0, 0.0);
            vec![
                float(
                    "heat flow",
                    relative(pairs().map(|(a, b)| (along(a.flow), along(b.flow)))),
                    HEAT_TOLERANCE,
                ),
                float(
                    "temperature",
                    relative(pairs().map(|(a, b)| (along(a.temperature), along(b.temperature)))),
                    PASS_TOLERANCE,
                ),
            ]
        }
        Pass::Forces => {
            let pairs = || a.body_forces.iter().zip(&b.body_forces);
            let drag = |force: &BodyForce| Vec3::new(force.drag, 0.0, 0.0);
            let [force, torque] = sums_on_bodies(a, b);
            vec![
                force,
                torque,
                float(
                    "acceleration",
                    relative(pairs().map(|(a, b)| (a.acceleration, b.acceleration))),
                    PASS_TOLERANCE,
                ),
                float(
                    "dissipated energy",
                    relative(pairs().map(|(a, b)| (drag(a), drag(b)))),
                    FORCE_TOLERANCE,
                ),
            ]
        }
        Pass::Bonds => {
            let [force, torque] = sums_on_bodies(a, b);
            let own = || a.body_bonds.iter().zip(&b.body_bonds);
            let along = |number: f32| Vec3::new(number, 0.0, 0.0);
            let broken = |state: &State| -> Vec<u32> {
                let of = |bond: &Bond| [bond.broken, bond.breaks, bond.near];
                state.bonds.iter().flat_map(of).collect()
            };
            let ends = |of: fn(&Bond) -> [Vec3; 2]| {
                let pairs = a.bonds.iter().zip(&b.bonds);
                let pairs = pairs.flat_map(|(a, b)| of(a).into_iter().zip(of(b)));
                relative(pairs)
            };
            let arms = |bond: &Bond| [bond.first_arm, bond.second_arm];
            let frames = |bond: &Bond| [bond.first_frame, bond.second_frame].map(Vec4::truncate);
            vec![
                force,
                torque,
                float(
                    "dissipated energy",
                    relative(own().map(|(a, b)| (along(a.taken), along(b.taken)))),
                    FORCE_TOLERANCE,
                ),
                float(
                    "damage",
                    relative(own().map(|(a, b)| (along(a.damage), along(b.damage)))),
                    PASS_TOLERANCE,
                ),
                exact("broken bonds", &broken(a), &broken(b)),
                float("arms of bonds", ends(arms), PASS_TOLERANCE),
                float("frames of bonds", ends(frames), PASS_TOLERANCE),
            ]
        }
        Pass::Integrate => {
            let momenta = a.bodies.iter().zip(&b.bodies);
            let momenta = momenta.map(|(a, b)| (a.angular_momentum, b.angular_momentum));
            // In a pile at rest forces cancel but for rounding, and what they add up to is none.
            let pushes = Pushes::new(a);
            vec![
                float("position", positions(a, b), PASS_TOLERANCE),
                float("orientation", orientations(a, b), PASS_TOLERANCE),
                float("velocity", velocities(a, b, pushes.speed), PASS_TOLERANCE),
                float(
                    "angular momentum",
                    relative_to(pushes.angular_momentum, momenta),
                    PASS_TOLERANCE,
                ),
                float("walls", walls(a, b), PASS_TOLERANCE),
                exact("runaway", &[a.stats[0].runaway], &[b.stats[0].runaway]),
            ]
        }
    }
}

/// Differences between the forces and torques on bodies, besides those of contacts.
fn sums_on_bodies(a: &State, b: &State) -> [Difference; 2] {
    let pairs = || a.body_forces.iter().zip(&b.body_forces);
    [
        float(
            "force",
            relative(pairs().map(|(a, b)| (a.force, b.force))),
            FORCE_TOLERANCE,
        ),
        float(
            "torque",
            relative(pairs().map(|(a, b)| (a.torque, b.torque))),
            FORCE_TOLERANCE,
        ),
    ]
}

/// Difference between the bodies of two states in one quantity.
#[derive(Clone, Debug, PartialEq)]
pub struct Trajectory {
    /// Name of the quantity that is compared.
    pub quantity: &'static str,
    /// The difference of each body, in increasing order: for positions as a fraction of a cell, for
    /// orientations in radians, for all else as a fraction of the largest value (or of what counts
    /// as one, where all values are small).
    pub differences: Vec<f64>,
}

impl Trajectory {
    fn new(quantity: &'static str, differences: impl Iterator<Item = f64>) -> Trajectory {
        let mut differences: Vec<f64> = differences.map(f64::abs).collect();
        differences.sort_by(f64::total_cmp);
        Trajectory {
            quantity,
            differences,
        }
    }

    /// The largest difference; NaN if one is.
    pub fn largest(&self) -> f64 {
        self.differences.last().copied().unwrap_or(0.0)
    }

    /// The largest difference but for one body in a hundred.
    pub fn of_most(&self) -> f64 {
        let count = self.differences.len();
        let last = (count - count / 100).checked_sub(1);
        last.map_or(0.0, |last| self.differences[last])
    }
}

/// Differences in position, orientation, velocity and contact force of the bodies of two states. A
/// speed counts as large if it is that of a fall through a cell.
pub fn trajectories(a: &State, b: &State) -> [Trajectory; 4] {
    let bodies = || a.bodies.iter().zip(&b.bodies);
    let cell = f64::from(a.params.finest);
    let fall = (2.0 * f64::from(a.params.gravity.length()) * cell).sqrt();
    let speed = a.bodies.iter().map(|body| body.velocity);
    let speed = largest(speed.map(|velocity| velocity.as_dvec3().length())).max(fall);
    let force = a.bodies.iter().map(|body| a.load(body).force);
    let force = largest(force.map(|force| force.as_dvec3().length())).max(large_force(a));
    let fraction = move |(a, b): (Vec3, Vec3), large: f64| match a.as_dvec3() - b.as_dvec3() {
        DVec3::ZERO => 0.0,
        difference => difference.length() / large,
    };
    let velocities = bodies().map(|(a, b)| (a.velocity, b.velocity));
    let forces = bodies().map(|(of_a, of_b)| (a.load(of_a).force, b.load(of_b).force));
    [
        Trajectory::new("position", bodies().map(|pair| moved(pair, a))),
        Trajectory::new("orientation", bodies().map(turned)),
        Trajectory::new("velocity", velocities.map(|pair| fraction(pair, speed))),
        Trajectory::new("force", forces.map(|pair| fraction(pair, force))),
    ]
}

/// The force of a large overlap, N.
fn large_force(state: &State) -> f64 {
    let stiffest = state.pairs.iter().map(|pair| pair.stiffness);
    let stiffest = f64::from(stiffest.fold(0.0, f32::max));
    let overlap = LARGE_OVERLAP * f64::from(state.params.finest);
    if state.params.law == HERTZ_MINDLIN {
        let radius = 0.25 * f64::from(state.params.finest);
        return stiffest * (radius * overlap).sqrt() * overlap;
    }
    stiffest * overlap
}

/// The most that one sphere's load does to its body in a step.
#[derive(Default)]
struct Pushes {
    /// Force, N.
    force: f64,
    /// Change of speed, m/s; not less than that of gravity.
    speed: f64,
    /// Change of angular momentum, kg m²/s.
    angular_momentum: f64,
}

impl Pushes {
    fn new(state: &State) -> Pushes {
        let time_step = f64::from(state.params.time_step);
        let mut pushes = Pushes {
            speed: time_step * f64::from(state.params.gravity.length()),
            ..Default::default()
        };
        for body in &state.bodies {
            let inverse_mass = f64::from(state.properties_of(body).inverse_mass);
            let loads = &state.sphere_loads[state.spheres_of(body)];
            for (load, member) in loads.iter().zip(state.members_of(body)) {
                let force = f64::from(load.force.length());
                let torque =
                    f64::from(load.torque.length() + member.center.length() * load.force.length());
                pushes.force = pushes.force.max(force);
                pushes.speed = pushes.speed.max(time_step * force * inverse_mass);
                pushes.angular_momentum = pushes.angular_momentum.max(time_step * torque);
            }
        }
        pushes
    }
}

fn positions(a: &State, b: &State) -> f64 {
    largest(a.bodies.iter().zip(&b.bodies).map(|pair| moved(pair, a)))
}

fn orientations(a: &State, b: &State) -> f64 {
    largest(a.bodies.iter().zip(&b.bodies).map(turned))
}

/// The loads on walls that the sums of a state stand for: of all copies together.
fn summed(state: &State) -> Vec<SummedLoad> {
    let walls = state.params.wall_count as usize;
    let mut sums = vec![[0_i64; WALL_DIGITS]; walls];
    for (k, digits) in state.wall_sums.chunks_exact(WALL_DIGITS).enumerate() {
        let sum = &mut sums[k % walls];
        sum.iter_mut()
            .zip(digits)
            .for_each(|(sum, &digit)| *sum += i64::from(digit));
    }
    sums.iter()
        .map(|sum| load(&carried(sum), &state.params))
        .collect()
}

fn pushed_wall(load: &SummedLoad) -> Pushed {
    (load.force, load.torque, 0.0)
}

/// The largest difference in where the walls are, as a fraction of a cell, in how they lie, and in how
/// they move, as a fraction of the largest velocity.
fn walls(a: &State, b: &State) -> f64 {
    let count = a.params.wall_count as usize;
    let pairs = || a.walls.iter().zip(&b.walls).take(count);
    let places = pairs().map(|(one, other)| {
        apart((one.cell, one.offset), (other.cell, other.offset), a) / f64::from(a.params.finest)
    });
    let turns = pairs().map(|(a, b)| f64::from((a.orientation - b.orientation).length()));
    let velocities = relative(pairs().map(|(a, b)| (a.velocity, b.velocity)));
    let spins = relative(pairs().map(|(a, b)| (a.angular_velocity, b.angular_velocity)));
    largest(places.chain(turns).chain([velocities, spins]))
}

/// Distance of two bodies of the model of `state` as a fraction of a cell.
fn moved((a, b): (&Body, &Body), state: &State) -> f64 {
    let way = state.nearest(state.position(a) - state.position(b));
    way.length() / f64::from(state.params.finest)
}

/// Angle between two bodies, rad.
fn turned((a, b): (&Body, &Body)) -> f64 {
    let between = body_orientation(a).conjugate() * body_orientation(b);
    2.0 * between.xyz().length()
}

fn velocities(a: &State, b: &State, large: f64) -> f64 {
    relative_to(
        large,
        a.bodies
            .iter()
            .zip(&b.bodies)
            .map(|(a, b)| (a.velocity, b.velocity)),
    )
}

/// Force, torque and overlap; relative to the largest or, if it is larger, to `large_force` and its
/// torque at the radius of the largest sphere, and overlaps to a cell.
/// Force, torque and largest overlap of a sphere or a body.
type Pushed = (Vec3, Vec3, f32);

fn loads(
    state: &State,
    pairs: impl Iterator<Item = (Pushed, Pushed)> + Clone,
    large_force: f64,
) -> Vec<Difference> {
    let large_torque = 0.5 * f64::from(state.params.finest) * large_force;
    let overlaps = pairs
        .clone()
        .map(|(a, b)| f64::from((a.2 - b.2).abs()) / f64::from(state.params.finest));
    vec![
        float(
            "force",
            relative_to(large_force, pairs.clone().map(|(a, b)| (a.0, b.0))),
            FORCE_TOLERANCE,
        ),
        float(
            "torque",
            relative_to(large_torque, pairs.map(|(a, b)| (a.1, b.1))),
            FORCE_TOLERANCE,
        ),
        float("overlap", largest(overlaps), PASS_TOLERANCE),
    ]
}

fn float(quantity: &'static str, value: f64, tolerance: f64) -> Difference {
    Difference {
        quantity,
        value,
        tolerance,
    }
}

fn exact(quantity: &'static str, a: &[u32], b: &[u32]) -> Difference {
    let differing = a.iter().zip(b).filter(|(a, b)| a != b).count() + a.len().abs_diff(b.len());
    Difference {
        quantity,
        value: differing as f64,
        tolerance: 0.0,
    }
}

/// Whether a facet of a wall is at the very edge of the skin of a sphere.
fn at_the_edge_of_facet(state: &State, sphere: usize, facet: u32) -> bool {
    let sphere = &state.spheres[sphere];
    let facet = &state.facets()[facet as usize];
    let wall = &state.walls[facet.wall as usize];
    let from_anchor = from_wall(sphere, wall, &state.params);
    let place = orientation_of(wall).conjugate().rotate(from_anchor);
    let reach = extent(sphere, &state.params) + 0.5 * state.params.skin;
    let rounding = 1e-5 * (reach + from_anchor.length());
    (distance(facet, state.samples(), place) - reach).abs() < rounding
}

/// Number of contacts that are in the lists of both states with different histories.
fn differing_histories(a: &State, b: &State) -> usize {
    let size = a.params.history_size as usize;
    let entries = |state: &State, index: usize| -> HashMap<u32, Vec<Vec4>> {
        let list =
            state.neighbour_starts[index] as usize..state.neighbour_starts[index + 1] as usize;
        let history = |entry: usize| state.history[entry * size..(entry + 1) * size].to_vec();
        list.map(|entry| (state.neighbours[entry], history(entry)))
            .collect()
    };
    let differing = |index: usize| {
        let (of_a, of_b) = (entries(a, index), entries(b, index));
        let both = of_a
            .iter()
            .filter_map(|(id, of_a)| Some((of_a, of_b.get(id)?)));
        both.filter(|(a, b)| a != b).count()
    };
    (0..a.spheres.len()).map(differing).sum()
}

/// The histories of the contacts of two states with the same lists.
fn histories<'a>(a: &'a State, b: &'a State) -> impl Iterator<Item = (Vec3, Vec3)> + 'a {
    let entries = a.neighbour_starts[a.spheres.len()] * a.params.history_size;
    let pairs = a.history.iter().zip(&b.history).take(entries as usize);
    pairs.flat_map(|(a, b)| {
        let last = |v: &Vec4| Vec3::new(v.w, 0.0, 0.0);
        [(a.truncate(), b.truncate()), (last(a), last(b))]
    })
}

/// Number of neighbours that one state has and the other has not, and of lists that are out of order
/// or have a neighbour twice. Neighbours at the very edge of the skin, where rounding decides, do
/// not count.
fn differing_neighbours(a: &State, b: &State) -> usize {
    let list = |state: &State, index: usize| -> Vec<u32> {
        let starts = &state.neighbour_starts;
        state.neighbours[starts[index] as usize..starts[index + 1] as usize].to_vec()
    };
    let at_the_edge = |index: usize, other: u32| {
        if other & WALL != 0 {
            return at_the_edge_of_facet(a, index, other & !WALL);
        }
        let (sphere, other) = (&a.spheres[index], &a.spheres[other as usize]);
        let reach = f64::from(extent(sphere, &a.params) + extent(other, &a.params));
        let apart = apart((sphere.cell, sphere.offset), (other.cell, other.offset), a);
        (apart / reach - 1.0).abs() < 1e-5
    };
    let mut count = 0;
    for index in 0..a.spheres.len() {
        let (of_a, of_b) = (list(a, index), list(b, index));
        let only = |list: &[u32], other: &[u32]| {
            let missing = list.iter().filter(|id| !other.contains(id));
            missing.filter(|&&id| !at_the_edge(index, id)).count()
        };
        let unsorted = [&of_a, &of_b]
            .iter()
            .filter(|list| !list.is_sorted_by(|one, next| one < next))
            .count();
        count += only(&of_a, &of_b) + only(&of_b, &of_a) + unsorted;
    }
    count
}

/// Distance of two places, m.
fn apart(a: (glam::IVec3, Vec3), b: (glam::IVec3, Vec3), state: &State) -> f64 {
    let cells = (a.0 - b.0).as_dvec3() * state.params.cell_size.as_dvec3();
    let way = cells + (a.1.as_dvec3() - b.1.as_dvec3());
    state.nearest(way).length()
}

/// Largest difference as a fraction of the largest vector.
fn relative(pairs: impl Iterator<Item = (Vec3, Vec3)>) -> f64 {
    relative_to(0.0, pairs)
}

/// Largest difference as a fraction of the largest vector or, if it is larger, of `large`.
fn relative_to(large: f64, pairs: impl Iterator<Item = (Vec3, Vec3)>) -> f64 {
    let (mut difference, mut scale) = (0.0, large);
    for (a, b) in pairs {
        difference = worse(difference, (a.as_dvec3() - b.as_dvec3()).length());
        scale = worse(scale, a.as_dvec3().length());
    }
    if difference == 0.0 {
        0.0
    } else {
        difference / scale
    }
}

fn largest(values: impl Iterator<Item = f64>) -> f64 {
    values.fold(0.0, worse)
}

/// The larger of two, or NaN if one of them is: `f64::max` would hide it.
fn worse(a: f64, b: f64) -> f64 {
    if a.is_nan() || b.is_nan() {
        f64::NAN
    } else {
        a.max(b)
    }
}
