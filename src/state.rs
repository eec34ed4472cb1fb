//! The buffers of a simulation, as structs of arrays.
//!
//! The CPU engine works on a [`State`]; the GPU engine holds one buffer for each [`Field`] of it,
//! with the same bytes.

use bytemuck::{cast_slice, cast_slice_mut};
use glam::{DMat3, DQuat, DVec3, IVec3, Vec3, Vec4};

use crate::grid::{FRACTION, wrap};
use crate::layout::{
    Body, BodyProperties, CUSTOM, EXPLICIT, HERTZ, HOOKE, LINEAR, Load, Member, Pair, Params,
    Plane, ROLLING_CONSTANT, ROLLING_SPRING, SEMI_IMPLICIT, Sphere, SphereLoad, Stats,
};
use crate::model::{Cohesion, Integrator, Law, Model, PairLaw, Remembered, Rolling, nearest_image};
use crate::pull::Pull;
use crate::rotation;

/// Skin of the neighbour lists as a fraction of the smallest radius, beside the range of cohesion. A
/// thicker one makes longer lists, a thinner one has them built more often.
const SKIN: f64 = 0.2;

/// A cell is this much larger than the largest diameter and the skin, so that rounding of an offset
/// to the border of its cell cannot hide a neighbour.
const CELL_MARGIN: f64 = 1.001;

/// Part of the skin within which surfaces are looked at closely. Two spheres may come nearer by the
/// skin before the lists are built again, so the lists have all that are as close as this.
const TOUCH_MARGIN: f64 = 0.1;

/// Entries of the neighbour lists that there is room for at the start, for each sphere; the lists
/// grow as they need.
const NEIGHBOURS: usize = 12;

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
    /// Simulated time before the first step, as if all steps had been as long as the next one will be, s:
    /// 0 unless the time step was changed.
    pub earlier: f64,
    /// What holds for the whole run.
    pub params: Params,
    /// What each body keeps; `body_count` elements.
    pub properties: Vec<BodyProperties>,
    /// Each sphere in its body; `sphere_count` elements.
    pub members: Vec<Member>,
    /// Planes; at least one element, `plane_count` of them in use.
    pub planes: Vec<Plane>,
    /// Pair table; `material_count²` elements.
    pub pairs: Vec<Pair>,

    /// State of each body: the input and the outcome of a step.
    pub bodies: Vec<Body>,

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
    /// those of planes with the bit [`PLANE`](crate::layout::PLANE); `neighbour_capacity` elements.
    pub neighbours: Vec<u32>,
    /// `contacts`: what the contact of each entry of `neighbours` remembers, see
    /// [`Memory`](crate::contact::Memory); `neighbour_capacity * memory_size` elements, at least one.
    pub memory: Vec<Vec4>,
    /// `contacts`: what contacts do to each sphere.
    pub sphere_loads: Vec<SphereLoad>,
    /// `integrate`: what contacts do to each body.
    pub body_loads: Vec<Load>,
    /// What was gathered over the run; one element.
    pub stats: Vec<Stats>,
}

/// A buffer of [`State`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs, reason = "each is the field of State of the same name")]
pub enum Field {
    Properties,
    Members,
    Planes,
    Pairs,
    Bodies,
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
    BodyLoads,
    Stats,
}

impl Field {
    /// All buffers.
    pub const ALL: [Field; 17] = [
        Field::Properties,
        Field::Members,
        Field::Planes,
        Field::Pairs,
        Field::Bodies,
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
        Field::BodyLoads,
        Field::Stats,
    ];

    /// Name of the field of [`State`], and of the variable in the shaders.
    pub fn name(self) -> &'static str {
        match self {
            Field::Properties => "properties",
            Field::Members => "members",
            Field::Planes => "planes",
            Field::Pairs => "pairs",
            Field::Bodies => "bodies",
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
            Field::BodyLoads => "body_loads",
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
            touch_margin,
            cell_size,
            period,
            origin,
        } = grid;
        let body_count = model.bodies.len();
        let sphere_count = model.sphere_count();
        let bucket_count = sphere_count.next_power_of_two();
        let neighbour_capacity = NEIGHBOURS * sphere_count;

        let mut properties = Vec::with_capacity(body_count);
        let mut members = Vec::with_capacity(sphere_count);
        let mut bodies = Vec::with_capacity(body_count);
        for (index, body) in model.bodies.iter().enumerate() {
            let clump = &model.shapes[body.shape];
            properties.push(BodyProperties {
                inverse_inertia: if body.fixed {
                    glam::Vec3::ZERO
                } else {
                    (1.0 / clump.inertia).as_vec3()
                },
                inverse_mass: if body.fixed {
                    0.0
                } else {
                    (1.0 / clump.mass) as f32
                },
                first_sphere: members.len() as u32,
                sphere_count: clump.spheres.len() as u32,
                reach: clump
                    .spheres
                    .iter()
                    .map(|s| s.center.length())
                    .fold(0.0, f64::max) as f32,
                shape: body.shape as u32,
            });
            members.extend(clump.spheres.iter().map(|sphere| Member {
                center: sphere.center.as_vec3(),
                radius: sphere.radius as f32,
                body: index as u32,
                material: clump.material as u32,
                ..Default::default()
            }));
            let (cell, part) = grid.locate(body.position);
            let cell = wrap(cell, period);
            let offset = (part / f64::from(FRACTION)).round().as_uvec3();
            let inertia = world_inertia(body.orientation, clump.inertia);
            bodies.push(Body {
                offset,
                cell,
                orientation: rotation::orientation(body.orientation),
                velocity: body.velocity.as_vec3(),
                angular_momentum: (inertia * body.angular_velocity).as_vec3(),
                ..Default::default()
            });
        }

        let center = center_of(model);
        let mut planes: Vec<Plane> = model
            .planes
            .iter()
            .map(|plane| {
                // The point of the plane nearest to the bodies, so that distances to it are exact
                // where they matter.
                let normal = plane.normal.normalize();
                let point = center - normal * (center - plane.point).dot(normal);
                let (cell, part) = grid.locate(point);
                Plane {
                    offset: (part * cell_size.as_dvec3()).as_vec3(),
                    material: plane.material as u32,
                    cell,
                    normal: normal.as_vec3(),
                    ..Default::default()
                }
            })
            .collect();
        if planes.is_empty() {
            // A storage buffer cannot be empty.
            planes.push(Plane::default());
        }

        let memory_size = memory_size(model);
        let mut state = State {
            origin,
            earlier: 0.0,
            params: Params {
                gravity: model.gravity.as_vec3(),
                time_step: model.time_step as f32,
                cell_size,
                level_count,
                period,
                skin,
                drift_limit: 0.499 * (skin - touch_margin),
                touch_margin,
                finest,
                neighbour_capacity: neighbour_capacity as u32,
                body_count: body_count as u32,
                sphere_count: sphere_count as u32,
                bucket_count: bucket_count as u32,
                plane_count: model.planes.len() as u32,
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
                memory_size,
                attraction: model.contact.attraction.into(),
                tangential_damping: model.contact.tangential_damping as f32,
                cohesive: (range(model) > 0.0).into(),
                lookahead: 0.0,
                pulled: 0,
                pull_stiffness: 0.0,
                pull_damping: 0.0,
                pull_point: Vec3::ZERO,
                pull_cell: IVec3::ZERO,
                pull_offset: Vec3::ZERO,
            },
            pairs: pairs(model),
            spheres: vec![Sphere::default(); sphere_count],
            buckets: vec![0; sphere_count],
            slots: vec![0; sphere_count],
            bucket_starts: vec![0; bucket_count + 1],
            unsorted: vec![0; sphere_count],
            sorted: vec![0; sphere_count],
            neighbour_starts: vec![0; sphere_count + 1],
            neighbours: vec![0; neighbour_capacity],
            // A storage buffer cannot be empty.
            memory: vec![Vec4::ZERO; (neighbour_capacity * memory_size as usize).max(1)],
            sphere_loads: vec![SphereLoad::default(); sphere_count],
            body_loads: vec![Load::default(); body_count],
            stats: vec![Stats {
                stale: 1,
                ..Default::default()
            }],
            properties,
            members,
            planes,
            bodies,
        };
        if let Some(remembered) = &model.remembered {
            state.remember(remembered);
        }
        state
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

    /// The bytes of a buffer.
    pub fn bytes(&self, field: Field) -> &[u8] {
        match field {
            Field::Properties => cast_slice(&self.properties),
            Field::Members => cast_slice(&self.members),
            Field::Planes => cast_slice(&self.planes),
            Field::Pairs => cast_slice(&self.pairs),
            Field::Bodies => cast_slice(&self.bodies),
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
            Field::BodyLoads => cast_slice(&self.body_loads),
            Field::Stats => cast_slice(&self.stats),
        }
    }

    /// The bytes of a buffer, to be overwritten.
    pub fn bytes_mut(&mut self, field: Field) -> &mut [u8] {
        match field {
            Field::Properties => cast_slice_mut(&mut self.properties),
            Field::Members => cast_slice_mut(&mut self.members),
            Field::Planes => cast_slice_mut(&mut self.planes),
            Field::Pairs => cast_slice_mut(&mut self.pairs),
            Field::Bodies => cast_slice_mut(&mut self.bodies),
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
            Field::BodyLoads => cast_slice_mut(&mut self.body_loads),
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
        plane_stiffness: law.plane_stiffness as f32,
        tangential_ratio: law.tangential_ratio as f32,
        plane_tangential_ratio: law.plane_tangential_ratio as f32,
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
            length(pair.stiffness).max(length(pair.plane_stiffness))
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
            touch_margin: (TOUCH_MARGIN * SKIN * smallest + range(model)) as f32,
            cell_size,
            period,
            origin,
        }
    }

    /// Cell of a point, and its place in it as a fraction of the cell's sides.
    fn locate(&self, point: DVec3) -> (IVec3, DVec3) {
        let cells = (point - self.origin) / self.cell_size.as_dvec3();
        (cells.floor().as_ivec3(), cells - cells.floor())
    }
}

/// Smallest and largest radius of the spheres of all bodies, m.
fn radii(model: &Model) -> (f64, f64) {
    let spheres = model
        .bodies
        .iter()
        .flat_map(|body| &model.shapes[body.shape].spheres);
    spheres.fold((f64::MAX, 0.0), |(smallest, largest), sphere| {
        (smallest.min(sphere.radius), largest.max(sphere.radius))
    })
}

/// Two spheres are neighbours if their surfaces are closer than this, m.
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
    let sum: DVec3 = model.bodies.iter().map(|body| body.position).sum();
    sum / model.bodies.len().max(1) as f64
}
