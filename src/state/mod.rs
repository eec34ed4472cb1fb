//! The buffers of a simulation, as structs of arrays.
//!
//! The CPU engine works on a [`State`]; the GPU engine holds one buffer for each [`Field`] of it,
//! with the same bytes.

pub(crate) mod bonds;
mod buffers;
mod change;
mod deform;
mod forces;
mod from_model;
pub(crate) mod grid;
mod history;
mod identity;
mod kinds;
pub mod layout;
mod pairs;
mod population;
pub(crate) mod quantities;
pub mod trace;
mod walls;

pub(crate) use bonds::Changed;
pub use bonds::{Bonded, Break, Healed};
pub(crate) use change::needs_no_more;
pub use forces::Stretched;
pub(crate) use forces::groups;
pub use grid::least_period;
pub(crate) use grid::{least_length, radii};
pub(crate) use history::history_size;
pub use identity::{Identities, Identity, Traits};
pub(crate) use pairs::pairs;
pub(crate) use population::{Moulds, SLICES};
pub use walls::KinematicWalls;

use buffers::{Per, buffers};
use population::take_out;
use std::ops::Range;

use bytemuck::cast_slice;
use glam::{DMat3, DQuat, DVec3, UVec4, Vec3, Vec4};
use serde::{Deserialize, Serialize};

use crate::math::grid::FRACTION;
use crate::math::rotation::Quaternion;
use crate::model::flow::Traffic;
use crate::model::nearest_image;
use crate::model::wall::{self};
use crate::state::layout::{
    Action, BallKind, Body, BodyBonds, BodyForce, BodyHeat, BodyProperties, Bond, DynamicWall,
    Facet, Group, Load, Member, Node, Pair, Params, Sphere, SphereLoad, Stats, SummedLoad, Wall,
};

buffers! {
    /// All buffers of a simulation.
    #[derive(Clone, Debug, Default, PartialEq)]
    pub struct State {
        /// Position at which cell (0, 0, 0) starts, m: the lower side of a periodic box, and 0 along the other axes.
        pub origin: DVec3,
        /// Identity of each body; `body_count` elements.
        #[doc(hidden)]
        pub identities: Identities,
        /// Energy that the contacts of bodies dissipated that are no longer there.
        #[doc(hidden)]
        pub gone: Dissipated,
        /// Counters of what has come in, gone out and passed.
        #[doc(hidden)]
        pub traffic: Traffic,
        /// Simulated time before the first step, as if all steps had been as long as the next one will be, s:
        /// 0 unless the time step was changed.
        #[doc(hidden)]
        pub earlier: f64,
        /// Parameters of the whole run.
        #[doc(hidden)]
        pub params: Params,
        /// The walls that move by prescription.
        #[doc(hidden)]
        pub kinematic_walls: KinematicWalls,
        /// The anchor of each wall in its own frame, m: forces and distances are reckoned from there.
        #[doc(hidden)]
        pub anchors: Vec<DVec3>,
        /// Volume of each shape over that of its spheres one by one, if there is water.
        #[doc(hidden)]
        pub displacements: Vec<f32>,
    }

    /// A buffer of [`State`].
    pub enum Field {
        /// Properties that the bodies of each kind have in common; see [`Body::kind`].
        Properties = properties: BodyProperties, per Model, derived;
        /// The spheres of each shape.
        Members = members: Member, per Model, derived;
        /// Kinds of balls, if bodies of all kinds are balls, as many as `properties`; [`MAX_KINDS`](layout::MAX_KINDS) elements.
        Balls = balls: BallKind, per Model, derived;
        /// Pair table; `material_count²` elements.
        Pairs = pairs: Pair, per Model, derived;
        /// Groups of bodies; [`MAX_GROUPS`](layout::MAX_GROUPS) elements.
        Groups = groups: Group, per Model, derived;
        /// Springs and applied forces, in the order of the bodies on which they act; `action_count` elements.
        Actions = actions: Action, per Model, carried;
        /// Bonds, in the order of the bodies at whose ends they are; `bond_count` elements.
        Bonds = bonds: Bond, per End, carried;
        /// Constants of the walls: the pair table as it is against walls, facets, the nodes of
        /// their trees, samples of signed distances, and, with heat, the temperatures of the walls, one after
        /// the other; see [`State::facets`] and so on.
        Geometry = geometry: UVec4, per Model, derived;

        /// State of each body: the input and the outcome of a step.
        Bodies = bodies: Body, per Body, carried;
        /// State of each wall, the same; [`MAX_WALLS`](layout::MAX_WALLS) elements, `wall_count` of them in use.
        Walls = walls: Wall, per Model, carried;
        /// Walls that move under load; at least one element.
        DynamicWalls = dynamic_walls: DynamicWall, per Model, carried;

        /// `pose`: where each sphere is and how it moves.
        Spheres = spheres: Sphere, per Sphere, carried;
        /// `bin`: hash bucket of each sphere.
        Buckets = buckets: u32, per Sphere, derived;
        /// `bin`: place of each sphere among those of its bucket, in no particular order.
        Slots = slots: u32, per Sphere, derived;
        /// `bin`: number of spheres in each bucket; `scan`: where each bucket starts.
        /// `bucket_count + 1` elements; the last is 0 after `bin`, `sphere_count` after `scan`.
        BucketStarts = bucket_starts: u32, per Bucket, derived;
        /// `scatter`, in between: sphere indices by bucket, in no particular order inside it.
        Unsorted = unsorted: u32, per Sphere, derived;
        /// `scatter`: sphere indices by bucket and, inside a bucket, by index.
        Sorted = sorted: u32, per Sphere, derived;
        /// `neighbours`: where the list of each sphere starts in `neighbours`; `sphere_count + 1`
        /// elements.
        NeighbourStarts = neighbour_starts: u32, per List, carried;
        /// `neighbours`: indices of the spheres that each sphere may touch, in increasing order, then
        /// those of facets of walls with the bit [`WALL`](layout::WALL); `neighbour_capacity`
        /// elements.
        Neighbours = neighbours: u32, per Entry, carried;
        /// `contacts`, `walls`: the history of the contact of each entry of `neighbours`, see
        /// [`History`](layout::History); `neighbour_capacity * history_size` elements, at least one.
        History = history: Vec4, per History, carried;
        /// `contacts`, `walls`: what contacts do to each sphere.
        SphereLoads = sphere_loads: SphereLoad, per Sphere, carried;
        /// `walls`: what contacts do to each wall, in digits; `stripes` times [`WALL_DIGITS`](layout::WALL_DIGITS)
        /// for each wall, at least one element. See `wall_load.rs`.
        WallSums = wall_sums: i32, per WallDigit, derived;
        /// `integrate`: the same in newtons, if it is asked for, and the work of each wall; at least one element.
        /// Torques are about the anchor.
        WallLoads = wall_loads: SummedLoad, per Model, carried;
        /// `forces`: what acts on each body besides contacts and gravity; `body_count` elements, or none if nothing
        /// does.
        BodyForces = body_forces: BodyForce, per BodyUnderForces, carried;
        /// `heat`: temperature of each body; `body_count` elements, or none if the scene has no heat.
        BodyHeat = body_heat: BodyHeat, per BodyWithHeat, carried;
        /// `bonds`: forces, energies and counts of the bonds at each body; `body_count` elements, or none if the scene has no bonds.
        BodyBonds = body_bonds: BodyBonds, per BodyWithBonds, carried;
        /// Counters of the run; one element.
        Stats = stats: Stats, per Model, carried;
    }
}

/// Energy that was dissipated, and work, J.
#[doc(hidden)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Dissipated {
    /// By dashpots.
    pub damping: f64,
    /// By sliding, rolling and twisting friction.
    pub friction: f64,
    /// By drag, water and the dashpots of springs.
    pub drag: f64,
    /// By dashpots of bonds, and by bonds that broke.
    #[serde(default)]
    pub bonds: f64,
    /// Not dissipated: the work of applied forces and of buoyancy.
    #[serde(default)]
    pub work: f64,
}

impl Dissipated {
    /// Adds what the contacts of a sphere dissipated.
    pub fn add(&mut self, load: &SphereLoad) {
        self.damping += f64::from(load.damping) + f64::from(load.damping_rest);
        self.friction += f64::from(load.friction) + f64::from(load.friction_rest);
    }

    /// Adds the share of a body in what its bonds took.
    pub fn add_bonds(&mut self, own: &BodyBonds) {
        self.bonds += f64::from(own.taken) + f64::from(own.taken_rest);
    }

    /// Adds the energy that drag took from a body, and the work of applied forces on it.
    pub fn add_forces(&mut self, force: &BodyForce) {
        self.drag += f64::from(force.drag) + f64::from(force.drag_rest);
        self.work += f64::from(force.work) + f64::from(force.work_rest);
    }
}

impl State {
    /// Size of all buffers, bytes.
    pub fn size(&self) -> u64 {
        Field::ALL
            .iter()
            .map(|&field| self.bytes(field).len() as u64)
            .sum()
    }

    /// Begins a step: it builds the neighbour lists if they are stale, and has the box be as it is then.
    pub(crate) fn begin_step(&mut self) {
        self.stats[0].begin_step();
        self.params.deform(self.stats[0].step);
    }

    /// Properties that bodies of the kind of this one have in common.
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

    /// The spheres of its shape that this body has.
    pub(crate) fn members_of(&self, body: &Body) -> &[Member] {
        let properties = self.properties_of(body);
        &self.members[properties.first_member as usize..][..properties.sphere_count as usize]
    }

    /// Load of contacts on a body, from those on its spheres: `body` is it as it is after the step.
    #[doc(hidden)]
    pub fn load(&self, body: &Body) -> Load {
        let loads = &self.sphere_loads[self.spheres_of(body)];
        load(body, self.members_of(body), loads)
    }

    /// The spheres that have walls in their neighbour lists.
    pub(crate) fn near_walls(&self) -> impl Iterator<Item = u32> + '_ {
        let lists = self.neighbour_starts.windows(2).zip(0..);
        let near = lists.filter(|(list, _)| {
            list[1] > list[0] && self.neighbours[list[1] as usize - 1] & layout::WALL != 0
        });
        near.map(|(_, sphere)| sphere)
    }

    /// The facets of all walls, those of the first one first.
    #[doc(hidden)]
    pub fn facets(&self) -> &[Facet] {
        let Params {
            facet_start,
            node_start,
            ..
        } = self.params;
        cast_slice(&self.geometry[facet_start as usize..node_start as usize])
    }

    /// The nodes of the trees of all walls; see [`Wall::first_node`].
    #[doc(hidden)]
    pub fn nodes(&self) -> &[Node] {
        let Params {
            node_start,
            sample_start,
            ..
        } = self.params;
        cast_slice(&self.geometry[node_start as usize..sample_start as usize])
    }

    /// The samples of the signed distances of all walls.
    #[doc(hidden)]
    pub fn samples(&self) -> &[f32] {
        let Params {
            sample_start,
            temperature_start,
            ..
        } = self.params;
        cast_slice(&self.geometry[sample_start as usize..temperature_start as usize])
    }

    /// The temperatures of all walls, K, below 0 of one that conducts nothing; none without heat.
    #[doc(hidden)]
    pub fn wall_temperatures(&self) -> &[f32] {
        cast_slice(&self.geometry[self.params.temperature_start as usize..])
    }

    /// Returns the pose and the motion of a wall.
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

    /// World position of a sphere's centre, m.
    pub fn place(&self, sphere: &Sphere) -> DVec3 {
        let cells = sphere.cell.as_dvec3() * self.params.cell_size.as_dvec3();
        self.origin + self.tilted(cells + sphere.offset.as_dvec3())
    }

    /// World position of a body's centre of mass, m; in the periodic box, if there is one.
    pub fn position(&self, body: &Body) -> DVec3 {
        let cells = body.cell.as_dvec3() + body.offset.as_dvec3() * f64::from(FRACTION);
        self.origin + self.tilted(cells * self.params.cell_size.as_dvec3())
    }

    /// A place from the lower corner of the box on, m, from the one in the box before it was tilted.
    fn tilted(&self, place: DVec3) -> DVec3 {
        let Params {
            deforms,
            tilt,
            gradient,
            ..
        } = &self.params;
        if *deforms == 0 {
            return place;
        }
        place + tilt.as_dvec3() * gradient.as_dvec3().dot(place)
    }

    /// The shortest of the images of a way, m: that from one place to the nearest image of another,
    /// for the way between the two.
    pub fn nearest(&self, way: DVec3) -> DVec3 {
        let Params {
            cell_size, period, ..
        } = self.params;
        let sides = period.as_dvec3() * cell_size.as_dvec3();
        // Who is beyond the top of a tilted box is also shifted along it.
        let height = self.params.gradient.as_dvec3();
        let tall = height.dot(sides);
        let boxes = if tall > 0.0 {
            (height.dot(way) / tall).round()
        } else {
            0.0
        };
        let shift = self.params.tilt.as_dvec3() * (boxes * tall);
        nearest_image(way - shift, sides)
    }
}

/// Force and torque of all contacts on a body: the sum over its spheres.
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
    for (index, sphere) in loads.iter().enumerate() {
        let arm = orientation.rotate(members[index].center);
        sum.force += sphere.force;
        sum.torque += sphere.torque + arm.cross(sphere.force);
        sum.max_overlap = sum.max_overlap.max(sphere.max_overlap);
        sum.contacts += contacts(sphere);
    }
    sum
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

pub(crate) fn world_inertia(orientation: DQuat, inertia: DVec3) -> DMat3 {
    let axes = DMat3::from_quat(orientation);
    axes * DMat3::from_diagonal(inertia) * axes.transpose()
}
