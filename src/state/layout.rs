//! Every struct that both engines share, once.
//!
//! The shaders' structs and constants are made of these: what a shader imports as `layout` is [`WGSL`]. Of each
//! struct, `tests/it/shaders.rs` has naga say where its fields lie on the GPU; it is where they lie here. All of them
//! are multiples of 16 bytes, as WGSL asks of structs with a `vec3`. A [`Sphere`], which contacts read at random, is
//! 64 bytes: one line of a cache.
//!
//! Units are SI. A point is a cell of the grid (`cell`) and a place in it (`offset`). Overlaps are
//! 1e-3 to 1e-5 of a radius, so a plain `f32` coordinate would be too coarse a few hundred radii
//! away from the origin; differences of (cell, offset) pairs are as fine there as anywhere. The
//! offset of a sphere is in metres.
//!
//! What a body adds up over a run is kept in integers: its offset is a 32-bit fraction of a cell,
//! and the components of its orientation are in units of 2⁻³⁰. What it moves and turns in a step is
//! often less than an `f32` of that size resolves, and the rounding of millions of steps adds up.

use std::sync::LazyLock;

use bytemuck::{Pod, Zeroable};
use glam::{IVec3, IVec4, UVec3, Vec2, Vec3, Vec4};

pub use super::history::History;
pub use super::pairs::Pair;
use crate::math::wgsl::{Atomic, Layout, shared_constants, shared_structs};
pub use crate::model::wall::facet::{
    BACK, BALL, BOTH_SIDES, FRONT, Facet, PLANE, RECTANGLE, REVOLVED, SAMPLED, TORUS, TRIANGLE,
};
pub use crate::model::wall::tree::Node;

/// Every struct that the shaders share with the host.
#[doc(hidden)]
pub const STRUCTS: [Layout; 22] = [
    Params::LAYOUT,
    Body::LAYOUT,
    BodyProperties::LAYOUT,
    Member::LAYOUT,
    BallKind::LAYOUT,
    Group::LAYOUT,
    Action::LAYOUT,
    BodyForce::LAYOUT,
    BodyHeat::LAYOUT,
    Bond::LAYOUT,
    BodyBonds::LAYOUT,
    Sphere::LAYOUT,
    SphereLoad::LAYOUT,
    SummedLoad::LAYOUT,
    Wall::LAYOUT,
    WallPose::LAYOUT,
    DynamicWall::LAYOUT,
    Facet::LAYOUT,
    Node::LAYOUT,
    Pair::LAYOUT,
    History::LAYOUT,
    Stats::LAYOUT,
];

/// The structs of this module in WGSL, for shaders of one's own that read the buffers of a simulation (see
/// [`GpuEngine::buffer`](crate::step::gpu::GpuEngine::buffer)).
pub static WGSL: LazyLock<String> = LazyLock::new(|| STRUCTS.iter().map(Layout::wgsl).collect());

/// Functions in WGSL that read what [`State::geometry`](super::State::geometry) has.
pub(crate) static GEOMETRY: LazyLock<String> = LazyLock::new(|| {
    let structs = [Pair::LAYOUT, Facet::LAYOUT, Node::LAYOUT];
    structs.map(|layout| layout.reader("geometry")).concat()
});

/// [`Action::source`] of what the caller applies.
#[doc(hidden)]
pub const APPLIED: u32 = u32::MAX;

/// Functions in WGSL that read and write the history of a contact in [`State::history`](super::State::history).
pub(crate) static HISTORY: LazyLock<String> =
    LazyLock::new(|| History::LAYOUT.partial("history", "HISTORY_VALUES"));

shared_constants! {
    /// Threads in a workgroup, of every pass.
    pub const WORKGROUP_SIZE: u32 = 64;

    /// Elements that one workgroup of the scan sums: sixteen for each thread.
    #[doc(hidden)]
    pub const SCAN_BLOCK: u32 = 16 * WORKGROUP_SIZE;

    /// `Params::integrator` of semi-implicit Euler: velocity first, then position with the new velocity.
    #[doc(hidden)]
    pub const SEMI_IMPLICIT: u32 = 0;
    /// `Params::integrator` of explicit (forward) Euler: position with the old velocity.
    #[doc(hidden)]
    pub const EXPLICIT: u32 = 1;

    /// `Params::law` of [`crate::model::Law::HookeViscous`].
    #[doc(hidden)]
    pub const HOOKE_VISCOUS: u32 = 0;
    /// `Params::law` of [`crate::model::Law::HookeHistory`].
    #[doc(hidden)]
    pub const HOOKE_HISTORY: u32 = 1;
    /// `Params::law` of [`crate::model::Law::HertzMindlin`].
    #[doc(hidden)]
    pub const HERTZ_MINDLIN: u32 = 2;
    /// `Params::law` of [`crate::model::Law::Custom`].
    #[doc(hidden)]
    pub const CUSTOM: u32 = 3;
    /// `Params::law` of [`crate::model::Law::Impulse`].
    #[doc(hidden)]
    pub const IMPULSE: u32 = 4;

    /// An entry of a neighbour list is the index of a sphere or, with this bit set, that of a [`Facet`] of a
    /// wall.
    pub const WALL: u32 = 1 << 31;

    /// Walls that a scene may have: together they fit a uniform buffer.
    pub const MAX_WALLS: usize = 256;

    /// Groups of bodies that a scene may have: together they fit a uniform buffer.
    pub const MAX_GROUPS: usize = 32;

    /// Kinds of bodies that a table may have of which the GPU engine derives spheres: together they fit a uniform buffer.
    #[doc(hidden)]
    pub const MAX_KINDS: usize = 256;

    /// Spheres of shapes that such a table may have, likewise.
    #[doc(hidden)]
    pub const MAX_MEMBERS: usize = 1024;

    /// Trains of waves that water may have.
    #[doc(hidden)]
    pub const MAX_WAVES: usize = 4;

    /// The bits of [`Sphere::tags`] that are the index of the material.
    pub const MATERIAL_BITS: u32 = 0xffff;
    /// The bits above those, of [`Sphere::tags`], are the index of the group: from this one on.
    pub const GROUP_SHIFT: u32 = 16;
    /// The bit of [`Sphere::tags`] that is set while the body sleeps.
    pub const ASLEEP: u32 = 1 << 31;
    /// The bits of [`Body::still`] that count contacts, with the law [`IMPULSE`]: from this one on, up to
    /// [`ASLEEP`].
    #[doc(hidden)]
    pub const SHARES_SHIFT: u32 = 20;
    /// All of those bits.
    #[doc(hidden)]
    pub const SHARES: u32 = 0x7ff0_0000;
    /// Contacts among which each sphere with which a body may land shares its mass while they have not been counted.
    #[doc(hidden)]
    pub const UNCOUNTED_SHARES: u32 = 12;
    /// Steps after which a body shares its mass among one contact less, with the law [`IMPULSE`], where some have
    /// ended.
    #[doc(hidden)]
    pub const SHARE_STEPS: u32 = 8;
    /// Bit of `Sphere::tags` of bodies that are fast: see [`Params::fast_displacement`].
    #[doc(hidden)]
    pub const FAST: u32 = 1 << 30;
    /// The bit of [`Sphere::tags`], and, [shifted](GROUP_SHIFT), of [`BodyProperties::group`], of bodies that another rank of a
    /// cluster steps (`step/cluster`). Two such spheres do not meet, nor do they meet walls, and `integrate` leaves their bodies as
    /// they are.
    #[doc(hidden)]
    pub const GHOST: u32 = 1 << 29;
    /// The bit of [`SphereLoad::contacts`] that is set where the load is that of an earlier step, since all that
    /// the sphere may touch sleeps.
    #[doc(hidden)]
    pub const KEPT: u32 = 1 << 31;
    /// The bit of [`SphereLoad::contacts`] that is set where the next load must be a new one, even if the sphere sleeps: it was
    /// awake, near a sphere that was, or touched a wall while walls move. It rests on where things are and not on the
    /// neighbour lists, so bits do not depend on when these are built.
    #[doc(hidden)]
    pub const DISTURBED: u32 = 1 << 30;

    /// `Action::kind`: a spring to a point of another body.
    #[doc(hidden)]
    pub const SPRING: u32 = 0;
    /// `Action::kind`: a spring to a point of the world.
    #[doc(hidden)]
    pub const ANCHOR: u32 = 1;
    /// `Action::kind`: a force and a torque in the axes of the world.
    #[doc(hidden)]
    pub const PUSH: u32 = 2;
    /// `Action::kind`: a force and a torque in the axes of the body.
    #[doc(hidden)]
    pub const THRUST: u32 = 3;

    /// `Bond::broken`: by tension.
    #[doc(hidden)]
    pub const BROKEN_BY_TENSION: u32 = 1;
    /// `Bond::broken`: by shear.
    #[doc(hidden)]
    pub const BROKEN_BY_SHEAR: u32 = 2;

    /// `DynamicWall::wall` of none.
    #[doc(hidden)]
    pub const NO_WALL: u32 = u32::MAX;

    /// Steps for which the GPU engine has the poses of walls that move by prescription; the most that a
    /// submission takes.
    #[doc(hidden)]
    pub const WALL_STEPS: u32 = 1024;

    /// Spheres whose loads on a wall go to the same copy of its sum: few enough that no digit overflows.
    #[doc(hidden)]
    pub const SPHERES_OF_STRIPE: u32 = 8192;

    /// Digits of a sum of loads on a wall: three for each component of force and torque, see
    /// [`crate::step::wall_load`].
    #[doc(hidden)]
    pub const WALL_DIGITS: usize = 18;

    /// `Pair::rolling` of [`crate::model::Rolling::Constant`].
    #[doc(hidden)]
    pub const ROLLING_CONSTANT: u32 = 0;
    /// `Pair::rolling` of [`crate::model::Rolling::Spring`].
    #[doc(hidden)]
    pub const ROLLING_SPRING: u32 = 1;
}

shared_structs! {
    /// Parameters of the whole run; a uniform on the GPU.
    ///
    /// It starts with an integer: llvmpipe makes shaders of their own for some values of the first word, as
    /// often as they are dispatched.
    #[doc(hidden)]
    #[derive(Clone, Copy, Debug, Default, PartialEq)]
    #[cfg_attr(feature = "gpu", derive(encase::ShaderType))]
    pub struct Params {
        /// Number of bodies.
        pub body_count: u32,
        /// Number of spheres of all bodies.
        pub sphere_count: u32,
        /// Number of hash buckets, a power of two.
        pub bucket_count: u32,
        /// Number of walls.
        pub wall_count: u32,
        /// Acceleration of gravity, m/s².
        pub gravity: Vec3,
        /// Time step, s.
        pub time_step: f32,
        /// Sides of a cell of the finest grid, m; the grid of level l has cells of 2^l times that.
        pub cell_size: Vec3,
        /// Number of grid levels; a sphere lives on the finest one whose cells are larger than its
        /// diameter and the skin.
        pub level_count: u32,
        /// Number of cells of the finest grid from one side of a periodic box to the other, a multiple
        /// of those in a cell of the coarsest grid; 0 along axes that are not periodic.
        pub period: IVec3,
        /// Two spheres of fast bodies are neighbours if their surfaces are closer than this, m.
        pub skin: f32,
        /// Skin of two bodies that are not fast, m; the mean of both holds for one of each.
        pub slow_skin: f32,
        /// A body that moves farther than this in a step is fast, m: its skin has to last for many.
        pub fast_displacement: f32,
        /// Least side of a cell of the finest grid, m, and its side along axes that are not
        /// periodic: it decides on which level a sphere lives.
        pub finest: f32,
        /// The lists hold while no displacement bound of a body is larger than this, m: half the skin, less what
        /// rounding may hide. Below 0, the lists are built in every step.
        pub displacement_limit: f32,
        /// Surfaces closer than this, m, are looked at: they may touch at one end of the step.
        pub touch_margin: f32,
        /// Walls that a sphere may come to within this time, s, are looked at, too: a step with the law [`IMPULSE`], which
        /// stops what would pass them; else 0.
        pub foresight: f32,
        /// Number of entries that the neighbour lists have room for.
        pub neighbour_capacity: u32,
        /// On the device, element of `lists` where the ring of their entries starts; else 0.
        pub ring_start: u32,
        /// Number of spheres whose lists the GPU builds at a time.
        pub slice_length: u32,
        /// Number of materials; the pair table has its square.
        pub material_count: u32,
        /// [`SEMI_IMPLICIT`] or [`EXPLICIT`].
        pub integrator: u32,
        /// Contact law: [`HOOKE_VISCOUS`], [`HOOKE_HISTORY`], [`HERTZ_MINDLIN`], [`CUSTOM`] or [`IMPULSE`].
        pub law: u32,
        /// Elements of the history of each contact, see [`History`]; 0 if the law has none.
        pub history_size: u32,
        /// Numbers of that history which the law and its materials use: the first ones. A device keeps these alone.
        pub history_values: u32,
        /// Kinds of facets that there are: a bit for each.
        pub facet_kinds: u32,
        /// 1 if bodies of all kinds are balls, of which there is a table: see [`BallKind`].
        pub balls: u32,
        /// 1 if kinds of bodies and spheres of shapes are few enough for tables: [`MAX_KINDS`] and [`MAX_MEMBERS`].
        pub clumps: u32,
        /// 1 if spring and dashpot together never pull.
        pub limit_damping: u32,
        /// 1 if tangential springs keep their force while an overlap grows, see [`crate::model::ContactModel::rescales`].
        pub rescales: u32,
        /// Tangential dashpot as a fraction of the normal one.
        pub tangential_damping: f32,
        /// 1 if surfaces that are apart may act on each other.
        pub cohesive: u32,
        /// Steps to look ahead for lists that become stale: on the GPU, only some steps may build them.
        pub lookahead: f32,
        /// Element of `geometry` where the facets of the walls start.
        pub facet_start: u32,
        /// Element of `geometry` where the nodes of their trees start.
        pub node_start: u32,
        /// Element of `geometry` where the samples of signed distances start.
        pub sample_start: u32,
        /// 1 if the loads on walls are summed in each step.
        pub wall_loads: u32,
        /// Copies of the sums of loads on walls, so that few threads add to the same one.
        pub stripes: u32,
        /// Unit of a sum of forces on walls, N: a power of two.
        pub force_unit: f32,
        /// Unit of a sum of torques on walls, N m: a power of two.
        pub torque_unit: f32,
        /// The body that is pulled (see [`crate::model::pull::Pull`]), counted from 1; 0 if none is.
        pub pulled: u32,
        /// Stiffness of the spring that pulls it, N/m.
        pub pull_stiffness: f32,
        /// Dashpot beside that, N s/m.
        pub pull_damping: f32,
        /// The point of the body that is pulled, in its principal frame, m.
        pub pull_point: Vec3,
        /// Cell of the point to which it is pulled.
        pub pull_cell: IVec3,
        /// Point to which it is pulled, within its cell, m.
        pub pull_offset: Vec3,
        /// 1 if forces besides those of contacts act on bodies: see the pass `forces`.
        pub forces: u32,
        /// Number of actions on bodies.
        pub action_count: u32,
        /// 1 if bodies are bonded: see the pass `bonds`.
        pub bonds: u32,
        /// Number of ends of bonds, twice that of the bonds.
        pub bond_count: u32,
        /// 1 if bodies have temperatures: see the pass `heat`.
        pub heat: u32,
        /// Element of `geometry` where the temperatures of the walls start.
        pub temperature_start: u32,
        /// Steps for which a body must be at rest to fall asleep; 0 if none does.
        pub sleep_steps: u32,
        /// Speed up to which a body is at rest, m/s, that of the farthest of its spheres.
        pub sleep_speed: f32,
        /// Acceleration that wakes a body, m/s².
        pub wake_acceleration: f32,
        /// 1 if walls move.
        pub moving_walls: u32,
        /// Number of trains of waves; see `waves`.
        pub wave_count: u32,
        /// Density of the water, kg/m³; 0 if there is none.
        pub water_density: f32,
        /// Drag coefficient of spheres in water.
        pub water_drag: f32,
        /// Viscosity of the water, Pa s.
        pub water_viscosity: f32,
        /// Height of the water at rest above cell 0, m.
        pub water_level: f32,
        /// Simulated time before the first step, see [`crate::state::State::earlier`], s.
        pub earlier: f32,
        /// Position of cell 0 along x and z, m: phases of waves are reckoned from the origin of the world.
        pub wave_origin: Vec2,
        /// [`MAX_WAVES`] trains of waves: wave vector along x and z, 1/m, amplitude, m, and angular frequency, rad/s.
        pub waves: [Vec4; 4],
        /// 1 if the periodic box deforms, see [`crate::model::deform`]: then velocities of bodies are those relative to
        /// the mean flow, u = ε x + γ (g·x), and places are those in the box before it was tilted.
        pub deforms: u32,
        /// Rates of strain of the sides of the box, ε, 1/s.
        pub strain_rate: Vec3,
        /// Number of the step from which [`Params::growth`] and [`Params::tilting`] count.
        pub first_step: u32,
        /// Unit vector along the gradient of the shear flow, g; zero if there is none.
        pub gradient: Vec3,
        /// Half of the distance by which two spheres that are no neighbours may come towards each other in a step as the
        /// box deforms, m.
        pub stretch: f32,
        /// Rate of shear along the flow, γ, 1/s.
        pub shear_rate: Vec3,
        /// Sides of a cell in the step [`Params::first_step`], m.
        pub first_cell_size: Vec3,
        /// Growth of a cell's sides in each step after it, m.
        pub growth: Vec3,
        /// Tilt of the box: along the flow, over the height along the gradient.
        pub tilt: Vec3,
        /// Tilt in the step [`Params::first_step`].
        pub first_tilt: Vec3,
        /// Growth of the tilt in each step after it.
        pub tilting: Vec3,
        /// 1 if others step some of the bodies: see [`GHOST`].
        pub ghosts: u32,
    }

    /// The state of a body: all that a step carries over to the next.
    #[repr(C)]
    #[derive(Clone, Copy, Debug, Default, PartialEq, Pod, Zeroable)]
    pub struct Body {
        /// Centre of mass within its cell, in units of 2⁻³² of a cell.
        pub offset: UVec3,
        /// Number of steps for which it has been at rest, as long as bodies may sleep; [`ASLEEP`] while it sleeps.
        /// With the law [`IMPULSE`], [`SHARES`] has the number of contacts among which it shares its mass.
        pub still: u32,
        /// Cell of the centre of mass.
        pub cell: IVec3,
        /// Element of `properties` that says what it is.
        pub kind: u32,
        /// World from body frame (the principal frame), a unit quaternion (x, y, z, w) in units of
        /// 2⁻³⁰.
        pub orientation: IVec4,
        /// Velocity of the centre of mass, m/s.
        pub velocity: Vec3,
        /// Index of its first sphere; the spheres of a body are contiguous.
        pub first_sphere: u32,
        /// Angular momentum about the centre of mass in the world frame, kg m²/s. The angular velocity
        /// follows from it, so a free body keeps it exactly.
        pub angular_momentum: Vec3,
        /// Its size: how far a sphere of the body may have moved since the neighbour lists were built, m, and if its
        /// skin is that of a slow one, what that has less than the thickest. Its sign: negative if the body is fast,
        /// that is, gets a thick skin when the lists are built next.
        pub displacement_bound: f32,
    }
}

/// Source of the spheres of the passes `contacts` and `walls` in the GPU engine.
#[doc(hidden)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum SphereSource {
    /// From [`State::spheres`](super::State::spheres), into which they were posed.
    #[default]
    Posed,
    /// From their bodies, all of which are balls, and the table of [`BallKind`]s.
    Balls,
    /// From their bodies, and tables of [`BodyProperties`] and [`Member`]s.
    Clumps,
}

impl Params {
    /// Whether a step of the GPU engine that follows another one needs no pass `pose`: nothing but contacts acts on bodies, nobody
    /// else moves them, the box stays as it is, and spheres are derived, or posed where bodies are moved. For that a body must have
    /// few of them, for one thread has them all.
    pub fn poses_early(&self) -> bool {
        let few = self.sphere_count <= 16 * self.body_count;
        let posed = few || self.derives_spheres();
        posed && self.forces == 0 && self.deforms == 0 && self.ghosts == 0
    }

    /// Returns the source of the spheres of `contacts` and `walls` in the GPU engine.
    pub fn sphere_source(&self) -> SphereSource {
        // Where nothing else reads spheres in a step that keeps its lists, they need not be written.
        let derives = self.heat == 0 && self.deforms == 0;
        match (self.balls, self.clumps) {
            (1, _) if derives => SphereSource::Balls,
            (_, 1) if derives => SphereSource::Clumps,
            _ => SphereSource::Posed,
        }
    }

    /// Whether the GPU engine derives spheres from their bodies where it needs them.
    pub fn derives_spheres(&self) -> bool {
        self.sphere_source() != SphereSource::Posed
    }

    /// Has the box be as it is in the step `step`.
    pub fn deform(&mut self, step: u32) {
        if self.deforms == 0 {
            return;
        }
        let steps = step.wrapping_sub(self.first_step) as f32;
        self.cell_size = self.first_cell_size + self.growth * steps;
        self.tilt = self.first_tilt + self.tilting * steps;
    }

    /// A way or a place in the box as it is, from one in the box before it was tilted, m.
    #[inline(always)]
    pub fn tilted(&self, way: Vec3) -> Vec3 {
        if self.deforms == 0 {
            return way;
        }
        way + self.tilt * self.gradient.dot(way)
    }

    /// Inverse of [`Params::tilted`]: `way` less the tilt.
    #[inline(always)]
    pub fn upright(&self, way: Vec3) -> Vec3 {
        if self.deforms == 0 {
            return way;
        }
        way - self.tilt * self.gradient.dot(way)
    }

    /// Returns the velocity of the mean flow at the end of a way less that at its start, m/s.
    #[inline(always)]
    pub fn flow(&self, way: Vec3) -> Vec3 {
        self.strain_rate * way + self.shear_rate * self.gradient.dot(way)
    }
}

impl Body {
    /// The number of contacts among which it shares its mass with the law [`IMPULSE`].
    #[inline(always)]
    pub(crate) fn shares(&self, landing: u32) -> f32 {
        shares(self.still, landing)
    }

    /// Whether it is fast: see [`Params::fast_displacement`].
    #[inline(always)]
    pub fn is_fast(&self) -> bool {
        self.displacement_bound.is_sign_negative()
    }
}

/// The number of contacts among which a body shares its mass, from its [`Body::still`] and
/// [`BodyProperties::landing`].
#[inline(always)]
pub(crate) fn shares(still: u32, landing: u32) -> f32 {
    let counted = (still & SHARES) >> SHARES_SHIFT;
    let uncounted = UNCOUNTED_SHARES * landing;
    (if counted == 0 { uncounted } else { counted }) as f32
}

/// The [`SHARES`] after a step in which a body had so many contacts. They grow at once, and shrink slowly: a
/// contact that comes and goes would have all others of the body come and go with it.
#[inline(always)]
pub(crate) fn shared(still: u32, landing: u32, contacts: u32, step: u32) -> u32 {
    let before = (still & SHARES) >> SHARES_SHIFT;
    let slower = before.saturating_sub(u32::from(step.is_multiple_of(SHARE_STEPS)));
    let wanted = if contacts == 0 { landing } else { contacts };
    wanted.max(slower).min(SHARES >> SHARES_SHIFT) << SHARES_SHIFT
}

shared_structs! {
    /// Properties that bodies of one kind have in common: of the same shape, in the same group, and fixed or not.
    #[repr(C)]
    #[derive(Clone, Copy, Debug, Default, PartialEq, Pod, Zeroable)]
    pub struct BodyProperties {
        /// Inverse principal moments of inertia, 1/(kg m²); zero for a fixed body.
        pub inverse_inertia: Vec3,
        /// Inverse mass, 1/kg; zero for a fixed body.
        pub inverse_mass: f32,
        /// Index of the first [`Member`] of its shape; they are contiguous.
        pub first_member: u32,
        /// Number of its spheres.
        pub sphere_count: u32,
        /// Largest distance of a sphere's centre from the centre of mass, m.
        pub reach: f32,
        /// Index of its shape, for pictures.
        pub shape: u32,
        /// Index of its group.
        pub group: u32,
        /// Spheres with which it may land at once: as many as a side of a cube of so many spheres has.
        pub landing: u32,
        /// Zero.
        pub _pad: [u32; 2],
    }

    /// A sphere of a shape.
    #[doc(hidden)]
    #[repr(C)]
    #[derive(Clone, Copy, Debug, Default, PartialEq, Pod, Zeroable)]
    pub struct Member {
        /// Centre in the body frame, m.
        pub center: Vec3,
        /// Radius, m.
        pub radius: f32,
        /// Index of the material.
        pub material: u32,
        /// Compliance with which a push through its centre turns the body, beyond that with which it moves it, 1/kg.
        pub turning: f32,
        /// Zero.
        pub _pad: [u32; 2],
    }

    /// Properties that balls of one kind have in common, in a scene whose bodies are all balls.
    ///
    /// With its body, this is all that a [`Sphere`] is made of. The kinds are those of
    /// [`State::properties`](super::State::properties).
    #[doc(hidden)]
    #[repr(C)]
    #[derive(Clone, Copy, Debug, Default, PartialEq, Pod, Zeroable)]
    pub struct BallKind {
        /// Inverse moment of inertia, 1/(kg m²).
        pub inverse_inertia: f32,
        /// Inverse mass, 1/kg.
        pub inverse_mass: f32,
        /// Radius, m.
        pub radius: f32,
        /// Index of the material and of the group, as in [`Sphere::tags`].
        pub tags: u32,
        /// [`BodyProperties::landing`].
        pub landing: u32,
        /// [`Member::turning`], 1/kg.
        pub turning: f32,
        /// Zero.
        pub _pad: [u32; 2],
    }

    /// A group of bodies.
    #[doc(hidden)]
    #[repr(C)]
    #[derive(Clone, Copy, Debug, Default, PartialEq, Pod, Zeroable)]
    pub struct Group {
        /// Acceleration of gravity in it, less that outside of groups, m/s².
        pub gravity: Vec3,
        /// Groups that it does not touch: a bit for each.
        pub ignores: u32,
        /// Force of drag over velocity, N s/m.
        pub drag: f32,
        /// Torque of drag over angular velocity, N m s.
        pub angular_drag: f32,
        /// Zero.
        pub _pad: [u32; 2],
    }

    /// Force on a body besides contacts, gravity, drag and water: one end of a spring, or an applied force. They lie in the
    /// order of the bodies on which they act.
    #[doc(hidden)]
    #[repr(C)]
    #[derive(Clone, Copy, Debug, Default, PartialEq, Pod, Zeroable)]
    pub struct Action {
        /// The point of the body at which it acts, in its principal frame, m.
        pub point: Vec3,
        /// [`SPRING`], [`ANCHOR`], [`PUSH`] or [`THRUST`].
        pub kind: u32,
        /// The other end: of a [`SPRING`] in the principal frame of the other body, m, of an [`ANCHOR`] within its
        /// cell, m. The force of a push, N.
        pub vector: Vec3,
        /// Index of the body.
        pub body: u32,
        /// Torque of a push, N m.
        pub torque: Vec3,
        /// Index of the other body of a [`SPRING`].
        pub other: u32,
        /// Cell of the other end of an [`ANCHOR`].
        pub cell: IVec3,
        /// Which of the scene's springs or applied forces it is, or [`APPLIED`].
        pub source: u32,
        /// Stiffness of the spring, N/m.
        pub stiffness: f32,
        /// Its dashpot along itself, N s/m.
        pub damping: f32,
        /// Rest length, m.
        pub rest_length: f32,
        /// 1 if it only pulls, as a rope does.
        pub slack: u32,
        /// From when on it acts, s.
        pub start: f32,
        /// Until when it acts, s.
        pub end: f32,
        /// 1 if it acts; a push that is bound to a key does while that is down.
        pub acts: u32,
        /// Zero.
        pub _pad: u32,
    }

    /// Force and torque on a body besides those of contacts and gravity, and what they have taken.
    #[doc(hidden)]
    #[repr(C)]
    #[derive(Clone, Copy, Debug, Default, PartialEq, Pod, Zeroable)]
    pub struct BodyForce {
        /// Force, N.
        pub force: Vec3,
        /// Energy that drag, water's drag and the dashpots of springs have taken since the start, J.
        pub drag: f32,
        /// Torque about the centre of mass, N m.
        pub torque: Vec3,
        /// Rest that rounding has left out of `drag` (Kahan's summation), J.
        pub drag_rest: f32,
        /// Acceleration besides [`Params::gravity`], m/s².
        pub acceleration: Vec3,
        /// Volume of the body over that of its spheres one by one: what it displaces where they overlap.
        pub displacement: f32,
        /// Work of applied forces and of buoyancy on it since the start, J.
        pub work: f32,
        /// Rest that rounding has left out of `work` (Kahan's summation), J.
        pub work_rest: f32,
        /// Zero.
        pub _pad: [u32; 2],
    }

    /// Temperature of a body.
    #[doc(hidden)]
    #[repr(C)]
    #[derive(Clone, Copy, Debug, Default, PartialEq, Pod, Zeroable)]
    pub struct BodyHeat {
        /// Temperature, K.
        pub temperature: f32,
        /// Rest that rounding has left out of it (Kahan's summation), K.
        pub rest: f32,
        /// Heat that flows into the body through its contacts in the step, W.
        pub flow: f32,
        /// Inverse heat capacity, K/J; zero for a fixed body, which keeps its temperature.
        pub inverse_capacity: f32,
    }

    /// An end of a bond: each of its two bodies has a copy of all of it. They lie in the order of these bodies.
    ///
    /// The bond has a frame in each of its bodies. At the start they are one; the x axis points from the first sphere to the
    /// second. What is along that axis and what turns about it comes first in stiffnesses and dashpots.
    #[doc(hidden)]
    #[repr(C)]
    #[derive(Clone, Copy, Debug, Default, PartialEq, Pod, Zeroable)]
    pub struct Bond {
        /// From the centre of mass of the first body to the bond, in its principal frame, m.
        pub first_arm: Vec3,
        /// Index of the first body.
        pub first: u32,
        /// From the centre of the second body, likewise.
        pub second_arm: Vec3,
        /// Index of the second body.
        pub second: u32,
        /// The frame of the bond in the principal frame of the first body, a unit quaternion.
        pub first_frame: Vec4,
        /// The frame of the bond in the principal frame of the second body, likewise.
        pub second_frame: Vec4,
        /// Against stretching and shearing, N/m.
        pub stiffness: Vec3,
        /// The body whose end it is: 0 for the first, 1 for the second.
        pub side: u32,
        /// Against twisting and bending, N m.
        pub turning_stiffness: Vec3,
        /// 0, [`BROKEN_BY_TENSION`] or [`BROKEN_BY_SHEAR`].
        pub broken: u32,
        /// Dashpots against stretching and shearing, N s/m.
        pub damping: Vec3,
        /// 1 over the area of its cross-section, 1/m².
        pub inverse_area: f32,
        /// Dashpots against twisting and bending, N m s.
        pub turning_damping: Vec3,
        /// 1 over its section modulus against bending, 1/m³; against twisting, that is twice as large.
        pub inverse_section: f32,
        /// Tension at which it breaks, Pa.
        pub tensile_strength: f32,
        /// Shear stress at which it breaks, Pa.
        pub shear_strength: f32,
        /// Energy that it held when it broke last, J; 0 once it has healed.
        pub energy: f32,
        /// Time at which it broke or healed last, s.
        pub time: f32,
        /// Place where it broke or healed last, within its cell, m.
        pub offset: Vec3,
        /// The step in which it broke or healed last, counted from 0.
        pub step: u32,
        /// The cell of the place where it broke or healed last.
        pub cell: IVec3,
        /// Index into [`Model::bonds`](crate::model::Model::bonds).
        pub source: u32,
        /// From the centre of the first sphere along the x axis to the end of the arm, m.
        pub first_length: f32,
        /// From the centre of the second sphere against the x axis, likewise.
        pub second_length: f32,
        /// Distance of these centres up to which it heals while it is broken, m; 0 if it stays broken.
        pub healing_reach: f32,
        /// Time for which they have to be as near without interruption, s.
        pub healing_time: f32,
        /// Steps for which they have been so.
        pub near: u32,
        /// Number of times that it has broken.
        pub breaks: u32,
        /// Zero.
        pub _pad: [u32; 2],
    }

    /// Energy and damage of the bonds at a body.
    #[doc(hidden)]
    #[repr(C)]
    #[derive(Clone, Copy, Debug, Default, PartialEq, Pod, Zeroable)]
    pub struct BodyBonds {
        /// Its share of the energy that dashpots of bonds have taken since the start, and of what those held that broke, J.
        pub taken: f32,
        /// Rest that rounding has left out of `taken` (Kahan's summation), J.
        pub taken_rest: f32,
        /// The part of its bonds that is broken.
        pub damage: f32,
        /// Zero.
        pub _pad: u32,
    }

    /// Position and motion of a sphere: all that contacts read of it, in one line of a cache.
    #[repr(C, align(64))]
    #[derive(Clone, Copy, Debug, Default, PartialEq, Pod, Zeroable)]
    pub struct Sphere {
        /// Centre within its cell, m.
        pub offset: Vec3,
        /// Radius, m.
        pub radius: f32,
        /// Cell of the centre.
        pub cell: IVec3,
        /// Index of the body: the only field that `pose` does not write.
        pub body: u32,
        /// Velocity of the centre, m/s.
        pub velocity: Vec3,
        /// Inverse mass of the body, 1/kg; with the law [`IMPULSE`], that of the share of its mass that a contact of the
        /// sphere meets.
        pub inverse_mass: f32,
        /// Angular velocity of the body, rad/s.
        pub angular_velocity: Vec3,
        /// Index of the material ([`MATERIAL_BITS`]) and of the group ([`GROUP_SHIFT`]), and whether the body
        /// sleeps ([`ASLEEP`]) and is fast ([`FAST`]).
        pub tags: u32,
    }
}

impl Bond {
    /// Index of the body whose end it is.
    #[inline(always)]
    pub fn own(&self) -> u32 {
        if self.side == 0 {
            self.first
        } else {
            self.second
        }
    }

    /// Index of the body at its other end.
    #[inline(always)]
    pub fn other(&self) -> u32 {
        if self.side == 0 {
            self.second
        } else {
            self.first
        }
    }

    /// Whether it is broken for good, so that nothing looks at its bodies any more.
    pub(crate) fn stays_broken(&self) -> bool {
        self.broken != 0 && self.healing_reach == 0.0
    }

    /// This end of the bond where the bodies at both have other indices.
    pub(crate) fn between(self, own: u32, other: u32) -> Bond {
        let (first, second) = match self.side {
            0 => (own, other),
            _ => (other, own),
        };
        Bond {
            first,
            second,
            ..self
        }
    }
}

impl BodyProperties {
    /// Whether another rank steps bodies of this kind: see [`GHOST`].
    #[inline(always)]
    pub(crate) fn is_ghost(&self) -> bool {
        self.group & (GHOST >> GROUP_SHIFT) != 0
    }
}

impl BodyHeat {
    /// Temperature with what rounding has left out of it, K.
    pub fn exact(&self) -> f64 {
        f64::from(self.temperature) + f64::from(self.rest)
    }
}

impl Sphere {
    /// Index of the material.
    #[inline(always)]
    pub fn material(&self) -> u32 {
        self.tags & MATERIAL_BITS
    }

    /// Index of the group.
    #[inline(always)]
    pub fn group(&self) -> u32 {
        (self.tags & !(ASLEEP | FAST | GHOST)) >> GROUP_SHIFT
    }

    /// Whether another rank steps its body: see [`GHOST`].
    #[inline(always)]
    pub(crate) fn is_ghost(&self) -> bool {
        self.tags & GHOST != 0
    }

    /// Whether its body sleeps.
    #[inline(always)]
    pub fn sleeps(&self) -> bool {
        self.tags & ASLEEP != 0
    }

    /// Whether its body is fast: see [`Params::fast_displacement`].
    #[inline(always)]
    pub fn is_fast(&self) -> bool {
        self.tags & FAST != 0
    }
}

shared_structs! {
    /// Load of contacts on a sphere in one step, and what they have dissipated so far.
    #[repr(C)]
    #[derive(Clone, Copy, Debug, Default, PartialEq, Pod, Zeroable)]
    pub struct SphereLoad {
        /// Force, N.
        pub force: Vec3,
        /// Largest overlap of its contacts, m.
        pub max_overlap: f32,
        /// Torque about the centre of the sphere, N m.
        pub torque: Vec3,
        /// Number of contacts: those with spheres in the low 16 bits, those with walls in the 14 above; and
        /// [`KEPT`] and [`DISTURBED`].
        pub contacts: u32,
        /// Its share of the energy that dashpots have dissipated since the start, J.
        pub damping: f32,
        /// Rest that rounding has left out of `damping` (Kahan's summation), J.
        pub damping_rest: f32,
        /// Its share of the energy that friction (sliding, rolling, twisting) has dissipated, J.
        pub friction: f32,
        /// Rest that rounding has left out of `friction`, J.
        pub friction_rest: f32,
    }
}

impl SphereLoad {
    /// Contacts with other spheres.
    pub fn sphere_contacts(&self) -> u32 {
        self.contacts & 0xffff
    }

    /// Contacts with walls.
    pub fn wall_contacts(&self) -> u32 {
        (self.contacts & !(KEPT | DISTURBED)) >> 16
    }

    /// Whether the load is that of an earlier step.
    #[inline(always)]
    pub fn is_kept(&self) -> bool {
        self.contacts & KEPT != 0
    }

    /// Says that a wall acts on the sphere while walls move: the next load is a new one, and this one has changed.
    #[cfg(feature = "cpu")]
    #[inline(always)]
    pub(crate) fn disturb(&mut self) {
        self.contacts = self.contacts & !KEPT | DISTURBED;
    }

    /// Whether the next load must be a new one: see [`DISTURBED`].
    #[inline(always)]
    pub fn is_disturbed(&self) -> bool {
        self.contacts & DISTURBED != 0
    }
}

shared_structs! {
    /// Load of contacts on a body in one step.
    #[doc(hidden)]
    #[repr(C)]
    #[derive(Clone, Copy, Debug, Default, PartialEq, Pod, Zeroable)]
    pub struct Load {
        /// Force, N.
        pub force: Vec3,
        /// Largest overlap of its contacts, m.
        pub max_overlap: f32,
        /// Torque about the centre of mass, N m.
        pub torque: Vec3,
        /// Number of contacts.
        pub contacts: u32,
    }

    /// Load of contacts on a wall, and its work so far.
    #[doc(hidden)]
    #[repr(C)]
    #[derive(Clone, Copy, Debug, Default, PartialEq, Pod, Zeroable)]
    pub struct SummedLoad {
        /// Force, N.
        pub force: Vec3,
        /// Work that it has done since the start, J; see [`crate::step::wall_load::power`].
        pub work: f32,
        /// Torque about the anchor, N m.
        pub torque: Vec3,
        /// Rest that rounding has left out of `work` (Kahan's summation), J.
        pub work_rest: f32,
    }

    /// A wall: where it is and how it moves. What it looks like is in its [`Facet`]s, in its own frame.
    #[repr(C)]
    #[derive(Clone, Copy, Debug, Default, PartialEq, Pod, Zeroable)]
    pub struct Wall {
        /// Cell of its anchor.
        pub cell: IVec3,
        /// Index of the material.
        pub material: u32,
        /// Anchor within its cell, m.
        pub offset: Vec3,
        /// Inverse mass, 1/kg; zero unless it moves under load.
        pub inverse_mass: f32,
        /// World from wall frame, a unit quaternion (x, y, z, w).
        pub orientation: Vec4,
        /// Velocity of the anchor, m/s.
        pub velocity: Vec3,
        /// First of the nodes of its tree.
        pub first_node: u32,
        /// Angular velocity, rad/s.
        pub angular_velocity: Vec3,
        /// Number of nodes of its tree.
        pub node_count: u32,
        /// Velocity of the surface in the wall frame, as that of a belt that runs over it, m/s.
        pub belt: Vec3,
        /// Largest distance that a point of the wall may have moved since the neighbour lists were built, m.
        pub displacement_bound: f32,
    }

    /// Pose and motion of a wall that moves by prescription, in a step.
    #[doc(hidden)]
    #[repr(C)]
    #[derive(Clone, Copy, Debug, Default, PartialEq, Pod, Zeroable)]
    pub struct WallPose {
        /// Cell of its anchor.
        pub cell: IVec3,
        /// Index of the wall.
        pub wall: u32,
        /// Anchor within its cell, m.
        pub offset: Vec3,
        /// Largest distance that a point of it may have moved since the step before, m.
        pub way: f32,
        /// World from wall frame, a unit quaternion (x, y, z, w).
        pub orientation: Vec4,
        /// Velocity of the anchor, m/s.
        pub velocity: Vec3,
        /// Zero.
        pub _pad0: u32,
        /// Angular velocity, rad/s.
        pub angular_velocity: Vec3,
        /// Zero.
        pub _pad1: u32,
    }

    /// A wall that moves under load: as a rigid body of its own, or as a servo.
    #[doc(hidden)]
    #[repr(C)]
    #[derive(Clone, Copy, Debug, Default, PartialEq, Pod, Zeroable)]
    pub struct DynamicWall {
        /// Its state, that of a body whose centre of mass is the anchor.
        pub body: Body,
        /// Inverse moments of inertia about its own axes, 1/(kg m²); zero if it does not turn.
        pub inverse_inertia: Vec3,
        /// Inverse mass, 1/kg; zero if its anchor stays where it is.
        pub inverse_mass: f32,
        /// Unit vector along which it moves; zero if it moves in any direction.
        pub rail: Vec3,
        /// Index of the wall; [`NO_WALL`] if there is none.
        pub wall: u32,
        /// Unit vector about which it turns; zero if it turns about any axis.
        pub axle: Vec3,
        /// Largest speed of a servo, m/s; 0 if it is off.
        pub servo_speed: f32,
        /// Force on it besides gravity and contacts, N.
        pub force: Vec3,
        /// Force with which a servo presses along its rail, N; 0 if it is none.
        pub servo_force: f32,
        /// Torque on it besides that of contacts, N m.
        pub torque: Vec3,
        /// Largest distance of a point of it from the anchor, m.
        pub reach: f32,
        /// Velocity besides that of a servo, m/s. Where a servo's wall turns, it has the angular momentum of unit moments of inertia.
        pub drift: Vec3,
        pub _pad: u32,
    }

    /// Counters that all threads gather over a run.
    #[doc(hidden)]
    #[repr(C)]
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Pod, Zeroable)]
    pub struct Stats {
        /// Bits of the largest overlap so far as a fraction of the smaller radius; the bits of
        /// non-negative floats are ordered as the floats are, so an integer maximum serves.
        pub max_overlap_fraction: Atomic,
        /// One more than the largest index of a body that moved or turned too far in a step to be
        /// followed, or whose velocity is no number; 0 if there is none. If there is one, no further
        /// step is taken.
        pub runaway: Atomic,
        /// 1 if a sphere may have moved out of its skin: no step is taken before the lists are built.
        pub stale: Atomic,
        /// 1 if that may happen before the next step that may build the lists: that one builds them.
        pub due: Atomic,
        /// 1 in a step that builds the lists.
        pub rebuilding: u32,
        /// 1 once the lists had no room: no step is taken until the host has made more.
        pub full: u32,
        /// 1 in a step that is not taken, since the lists are stale or had no room, or a body is lost.
        pub halted: u32,
        /// Number of entries of the neighbour lists when they were last built.
        pub neighbours: u32,
        /// Number of steps taken.
        pub steps: u32,
        /// Number of the step at its start; what rounds as chance would have it, draws from it.
        pub step: u32,
        /// Number of steps that built the lists.
        pub rebuilds: u32,
        /// On the device, place of the first entry of the neighbour lists, which lie in a ring there; else 0.
        pub first_entry: u32,
        /// On the device, number of spheres that have walls in their lists; else 0.
        pub near_walls: Atomic,
        /// Zero.
        pub _pad: [u32; 3],
    }
}

impl Stats {
    /// Begins a step: it builds the neighbour lists if they are stale.
    pub(crate) fn begin_step(&mut self) {
        self.step = self.steps;
        self.rebuilding = self.stale;
        self.stale = 0;
        self.rebuilds = self.rebuilds.wrapping_add(self.rebuilding);
    }
}
