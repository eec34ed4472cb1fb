//! Model of a simulation: [`crate::scene`] builds it, and the engines start from it.
//!
//! Everything here is in `f64` and in SI units; [`crate::state::State`] turns it into the buffers that the engines work on.

pub(crate) mod bodies;
pub(crate) mod bond;
pub(crate) mod bonds;
pub(crate) mod clump;
pub mod deform;
pub mod error;
pub mod flow;
pub mod forces;
pub(crate) mod gravity;
pub mod handle;
pub(crate) mod heat;
pub(crate) mod packing;
pub(crate) mod pull;
pub mod quantity;
pub(crate) mod stage;
pub(crate) mod steps;
pub mod view;
pub mod wall;

use std::fmt::{self, Write};
use std::ops::Range;
use std::path::PathBuf;

use bytemuck::{bytes_of, cast_slice};
use glam::{DQuat, DVec3, Vec4};
use xxhash_rust::xxh3::Xxh3;

#[doc(hidden)]
pub use crate::model::bodies::Bodies;
use crate::model::bodies::{ContactList, Piece, Shared};
use crate::model::bonds::Bonds;
use crate::model::clump::Clump;
use crate::model::deform::Deform;
use crate::model::flow::{Breakage, Flow};
use crate::model::forces::{Forces, Sleep};
use crate::model::gravity::GravityTable;
use crate::model::heat::Heat;
use crate::model::packing::made::MadeFill;
use crate::model::quantity::{QUANTITIES, Quantities};
use crate::model::stage::Stages;
use crate::model::view::SceneView;
use crate::model::wall::Wall;

/// Integrator: the method that advances the state of a body.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Integrator {
    /// Velocity first, then position with the new velocity (symplectic, the default).
    SemiImplicit,
    /// Position with the old velocity (forward Euler). It gains energy, and exists only to show that.
    Explicit,
}

/// Contact law: a normal model with a tangential model.
#[doc(hidden)]
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Law {
    /// Linear spring and dashpot along the normal; viscous force across it, without a contact history.
    HookeViscous,
    /// Linear spring and dashpot along the normal; tangential spring with a contact history.
    HookeHistory,
    /// Hertz's spring along the normal, Mindlin's spring across it, with a contact history.
    HertzMindlin,
    /// Soft contacts that stop approaching surfaces within one step, however long the step is; with a contact history.
    Impulse,
    /// A custom law in WGSL; on the GPU engine only.
    Custom(CustomLaw),
}

impl Law {
    /// Name of the law: those of its normal and its tangential model.
    pub fn name(&self) -> &'static str {
        match self {
            Law::HookeViscous => "hooke/viscous",
            Law::HookeHistory => "hooke/history",
            Law::HertzMindlin => "hertz/mindlin",
            Law::Impulse => "impulse",
            Law::Custom(_) => "custom",
        }
    }

    /// The custom law, if it is one.
    #[doc(hidden)]
    pub fn custom(&self) -> Option<&CustomLaw> {
        match self {
            Law::Custom(law) => Some(law),
            Law::HookeViscous | Law::HookeHistory | Law::HertzMindlin | Law::Impulse => None,
        }
    }

    /// Checks that the CPU engine has this law.
    ///
    /// # Errors
    /// If it does not, because the law is custom.
    #[doc(hidden)]
    pub fn check_on_cpu(&self) -> crate::model::error::Result<()> {
        match self.custom() {
            Some(law) => Err(crate::Error::CustomLaw {
                file: law.file.display().to_string(),
            }),
            None => Ok(()),
        }
    }
}

/// A custom contact law.
#[doc(hidden)]
#[derive(Clone, Debug, PartialEq)]
pub struct CustomLaw {
    /// The file of the law, as error messages name it.
    pub file: PathBuf,
    /// The text of that file, in WGSL.
    pub source: String,
    /// Largest gap between two surfaces at which the law still acts, m.
    pub range: f64,
}

/// Settings that all contacts of a scene share.
#[doc(hidden)]
#[derive(Clone, Debug, PartialEq)]
pub struct ContactModel {
    /// Contact law.
    pub law: Law,
    /// Whether the normal dashpot is limited so that spring and dashpot together never pull.
    pub limit_damping: bool,
    /// Tangential dashpot as a fraction of the normal one, in laws with a contact history.
    pub tangential_damping: f64,
    /// Whether [`Law::HertzMindlin`] rescales the tangential displacement (Thornton, Cummins and Cleary 2013).
    ///
    /// Then the tangential spring keeps its force while the overlap grows, and its displacement while the overlap shrinks.
    /// Otherwise it always keeps its displacement.
    pub rescales: bool,
}

impl Default for ContactModel {
    fn default() -> Self {
        Self {
            law: Law::HookeViscous,
            limit_damping: false,
            tangential_damping: 0.5,
            rescales: false,
        }
    }
}

/// Model of rolling friction.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Rolling {
    /// A constant torque against the relative spin.
    #[default]
    Constant,
    /// A rolling spring with a contact history, which yields at the same torque.
    Spring,
}

/// Cohesion: attraction of surfaces.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[non_exhaustive]
pub enum Cohesion {
    /// No attraction.
    #[default]
    None,
    /// A constant force while the surfaces overlap or their gap is within a range.
    Constant {
        /// Force, N.
        force: f64,
        /// Range, m.
        range: f64,
    },
    /// Adhesion of surfaces that have touched, after Johnson, Kendall and Roberts, with the pull-off force 3/2 pi w R.
    SurfaceEnergy(
        /// Work of adhesion w, J/m².
        f64,
    ),
}

/// Contact parameters of a pair of materials.
///
/// The first material, a, is that of the sphere. The second, b, is that of the other sphere or of a wall.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct PairLaw {
    /// Normal stiffness, N/m.
    ///
    /// For the normal model `hertz` it is 4/3 E*, Pa, with 1/E* = (1-nu_a²)/E_a + (1-nu_b²)/E_b. For `impulse`, where each
    /// contact has a stiffness of its own, it is that of the stiffest contact.
    pub stiffness: f64,
    /// Normal stiffness of the first material on a wall of the second, in the unit of `stiffness`.
    ///
    /// For the normal model `hertz` with rigid walls of that material, 1/E* = (1-nu_a²)/E_a; otherwise it equals `stiffness`.
    pub wall_stiffness: f64,
    /// Tangential stiffness over normal stiffness.
    ///
    /// For the normal model `hertz`, both are the slopes of the forces: 8 G* sqrt(R d) / (2 E* sqrt(R d)) = 4 G*/E*, with
    /// 1/G* = (2-nu_a)/G_a + (2-nu_b)/G_b.
    pub tangential_ratio: f64,
    /// Tangential stiffness over normal stiffness of the first material on a wall of the second.
    pub wall_tangential_ratio: f64,
    /// Damping ratio of the normal dashpot, from the coefficient of restitution.
    pub damping_ratio: f64,
    /// Normal dashpot given directly, N s/m; added to that of the damping ratio.
    pub damping: f64,
    /// Coefficient of restitution, for the normal model `impulse`; other normal models use `damping_ratio`.
    pub restitution: f64,
    /// Coefficient of friction.
    pub friction: f64,
    /// Coefficient of rolling friction: the largest torque over R times the normal force. R is R1 R2/(R1 + R2) for two spheres,
    /// and the radius of the sphere on a wall.
    pub rolling_friction: f64,
    /// Model of rolling friction.
    pub rolling: Rolling,
    /// Coefficient of twisting friction: the largest torque about the normal over R times the normal force.
    pub twisting_friction: f64,
    /// Attraction.
    pub cohesion: Cohesion,
}

impl PairLaw {
    /// Names and values of all numbers except those of cohesion; none of them may be negative.
    #[doc(hidden)]
    pub fn numbers(&self) -> impl Iterator<Item = (&'static str, f64)> {
        // One list gives both names and fields.
        macro_rules! numbers {
            ($($name:ident),* $(,)?) => {{
                let PairLaw { $($name,)* rolling: _, cohesion: _ } = *self;
                [$((stringify!($name), $name)),*]
            }};
        }
        let numbers = numbers![
            stiffness,
            wall_stiffness,
            tangential_ratio,
            wall_tangential_ratio,
            damping_ratio,
            damping,
            restitution,
            friction,
            rolling_friction,
            twisting_friction,
        ];
        numbers.into_iter()
    }

    /// An elastic pair: the springs of this one, without dissipation and attraction.
    #[doc(hidden)]
    pub fn elastic(self) -> PairLaw {
        PairLaw {
            stiffness: self.stiffness,
            wall_stiffness: self.wall_stiffness,
            tangential_ratio: self.tangential_ratio,
            wall_tangential_ratio: self.wall_tangential_ratio,
            restitution: 1.0,
            ..PairLaw::default()
        }
    }
}

/// A box that is periodic along some axes: a body that leaves it on one side comes in on the other.
#[doc(hidden)]
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Domain {
    /// Corner with the smallest coordinates, m.
    pub min: DVec3,
    /// Corner with the largest coordinates, m.
    pub max: DVec3,
    /// Whether the box is periodic along each axis. Along axes that are not periodic its corners mean nothing.
    pub periodic: [bool; 3],
}

impl Domain {
    /// Sides of the box along the periodic axes, m; 0 along the others.
    pub fn period(&self) -> DVec3 {
        let side = |axis| {
            if self.periodic[axis] {
                self.max[axis] - self.min[axis]
            } else {
                0.0
            }
        };
        DVec3::from_array(std::array::from_fn(side))
    }

    /// The image of a point (m) in the box, m. A point that is in the box stays as it is, to the bit.
    pub fn wrap(&self, point: DVec3) -> DVec3 {
        let period = self.period();
        let boxes = ((point - self.min) / period).floor();
        point - DVec3::select(period.cmpgt(DVec3::ZERO), boxes * period, DVec3::ZERO)
    }

    /// The shortest image of the vector `way` (m), m.
    pub fn nearest(&self, way: DVec3) -> DVec3 {
        nearest_image(way, self.period())
    }
}

/// The shortest image of the vector `way` (m) in a box with the sides `period` (m), m.
///
/// `period` is 0 along axes that are not periodic.
pub(crate) fn nearest_image(way: DVec3, period: DVec3) -> DVec3 {
    let boxes = (way / period).round();
    way - DVec3::select(period.cmpgt(DVec3::ZERO), boxes * period, DVec3::ZERO)
}

/// A body at the start. By default it is at rest at the origin, of the first shape and in group 0.
#[doc(hidden)]
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct ModelBody {
    /// Index of its shape in [`Model::shapes`].
    pub shape: usize,
    /// Centre of mass, m.
    pub position: DVec3,
    /// Rotation from the body frame (the clump's principal frame) to the world.
    pub orientation: DQuat,
    /// Velocity of the centre of mass, m/s.
    pub velocity: DVec3,
    /// Angular velocity in the world frame, rad/s.
    pub angular_velocity: DVec3,
    /// Whether no force moves the body, though it takes part in contacts. With a velocity it is kinematic.
    pub fixed: bool,
    /// Index of its group in [`Forces::groups`].
    pub group: usize,
    /// Quantities that the body carries besides its motion.
    pub quantities: Quantities,
}

impl ModelBody {
    /// Number of its [`numbers`](ModelBody::numbers).
    pub(crate) const NUMBERS: usize = 16 + QUANTITIES.len();

    /// The body as numbers, for [`ModelBody::from_numbers`].
    pub(crate) fn numbers(&self) -> [f64; ModelBody::NUMBERS] {
        let mut all = [0.0; ModelBody::NUMBERS];
        all[0] = self.shape as f64;
        all[1] = self.group as f64;
        all[2] = f64::from(u8::from(self.fixed));
        all[3..6].copy_from_slice(self.position.as_ref());
        self.orientation.write_to_slice(&mut all[6..]);
        all[10..13].copy_from_slice(self.velocity.as_ref());
        all[13..16].copy_from_slice(self.angular_velocity.as_ref());
        all[16..].copy_from_slice(&self.quantities.array());
        all
    }

    /// The body of which these are the [`numbers`](ModelBody::numbers).
    pub(crate) fn from_numbers(numbers: &[f64; ModelBody::NUMBERS]) -> ModelBody {
        let vector = |at| DVec3::from_slice(&numbers[at..]);
        ModelBody {
            shape: numbers[0] as usize,
            group: numbers[1] as usize,
            fixed: numbers[2] != 0.0,
            position: vector(3),
            orientation: DQuat::from_slice(&numbers[6..]),
            velocity: vector(10),
            angular_velocity: vector(13),
            quantities: std::array::from_fn(|index| numbers[16 + index]).into(),
        }
    }
}

/// A writer that hashes its bytes.
struct Hashed(Xxh3);

impl fmt::Write for Hashed {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        self.0.update(text.as_bytes());
        Ok(())
    }
}

/// Contact histories that the first bodies bring from another run.
///
/// They are lists for the first spheres, as in [`State`](crate::state::State).
#[doc(hidden)]
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ContactHistory {
    /// Number of elements for each entry.
    pub size: u32,
    /// End of the list of each sphere in `entries`.
    pub ends: Vec<u32>,
    /// The spheres and facets that each sphere touches, in increasing order. Facets of walls come after spheres, and have the bit
    /// [`WALL`](crate::state::layout::WALL).
    pub entries: Vec<u32>,
    /// The contact histories, `size` elements for each of `entries`; see [`History`](crate::state::layout::History).
    pub elements: Vec<Vec4>,
}

impl ContactHistory {
    /// Adds the contacts of the spheres that follow. Their `ends` count from the first entry of all on.
    pub(crate) fn append(&mut self, next: ContactHistory) {
        self.size = next.size;
        self.ends.extend(next.ends);
        self.entries.extend(next.entries);
        self.elements.extend(next.elements);
    }

    /// Places of the entries of some spheres.
    fn entries_of(&self, spheres: Range<usize>) -> Range<usize> {
        let end = |sphere: usize| self.ends[sphere] as usize;
        let all = self.ends.len().checked_sub(1).map_or(0, end);
        let before = all - self.entries.len();
        let place = |sphere: usize| sphere.checked_sub(1).map_or(before, end) - before;
        place(spheres.start)..place(spheres.end)
    }

    /// The contacts of a sphere: `entries`, and the `elements` of all of them; none of a sphere that came later.
    pub(crate) fn of_sphere(&self, sphere: usize) -> (&[u32], &[Vec4]) {
        if sphere >= self.ends.len() {
            return (&[], &[]);
        }
        let own = self.entries_of(sphere..sphere + 1);
        let size = self.size as usize;
        let elements = &self.elements[size * own.start..size * own.end];
        (&self.entries[own], elements)
    }

    /// A list for some spheres, as bytes.
    pub(crate) fn bytes(&self, list: ContactList, spheres: Range<usize>) -> &[u8] {
        let entries = self.entries_of(spheres.clone());
        let size = self.size as usize;
        match list {
            ContactList::Ends => cast_slice(&self.ends[spheres]),
            ContactList::Entries => cast_slice(&self.entries[entries]),
            ContactList::Elements => {
                cast_slice(&self.elements[size * entries.start..size * entries.end])
            }
        }
    }
}

/// Walls whose loads count together.
#[doc(hidden)]
#[derive(Clone, Debug, PartialEq)]
pub struct WallGroup {
    /// Name.
    pub name: String,
    /// Indices of the walls; torques are about the position of the first.
    pub walls: Vec<usize>,
}

/// Everything that a simulation starts from.
#[derive(Clone, Debug, PartialEq)]
pub struct Model {
    /// Name of the scene.
    pub name: String,
    /// Acceleration of gravity, m/s².
    pub gravity: DVec3,
    /// Gravity over time; if it has rows, it takes the place of `gravity`.
    #[doc(hidden)]
    pub gravity_table: GravityTable,
    /// Simulated time that a run covers unless told otherwise, s.
    pub duration: f64,
    /// Time step, s.
    pub time_step: f64,
    /// Integrator.
    pub integrator: Integrator,
    /// The periodic box, if there is one.
    #[doc(hidden)]
    pub domain: Option<Domain>,
    /// Deformation of the periodic box.
    #[doc(hidden)]
    pub deform: Deform,
    /// Settings that all contacts share.
    #[doc(hidden)]
    pub contact: ContactModel,
    /// Names of the materials.
    pub materials: Vec<String>,
    /// Parameters of each pair of materials, row by row: `pairs[a * materials.len() + b]` for a sphere of a on a sphere or wall
    /// of b. Only the values for walls may differ from those of `pairs[b * materials.len() + a]`.
    #[doc(hidden)]
    pub pairs: Vec<PairLaw>,
    /// Shapes.
    #[doc(hidden)]
    pub shapes: Vec<Clump>,
    /// Walls: those of the scene's `planes`, then those of its `walls`.
    #[doc(hidden)]
    pub walls: Vec<Wall>,
    /// Groups of walls whose loads files of results also have together.
    #[doc(hidden)]
    pub wall_groups: Vec<WallGroup>,
    /// Bodies at the start, in the order of the scene: those from another run, those under `bodies`, then those of each of the
    /// `fills`.
    #[doc(hidden)]
    pub bodies: Bodies,
    /// Ids and names of fixed and kinematic bodies; files of results have the loads on them.
    #[doc(hidden)]
    pub held: Vec<(u64, String)>,
    /// Contact histories from another run, if there are any. Bodies of which each process of a cluster has a share bring their own.
    #[doc(hidden)]
    pub history: Option<ContactHistory>,
    /// Inlets, outlets, probes and explosions.
    #[doc(hidden)]
    pub flow: Flow,
    /// Bodies that burst under load.
    #[doc(hidden)]
    pub breakage: Vec<Breakage>,
    /// Names of the rules of breakage.
    #[doc(hidden)]
    pub breakage_names: Vec<String>,
    /// Forces on bodies besides those of contacts and bonds.
    #[doc(hidden)]
    pub forces: Forces,
    /// Bonds between bodies at the start.
    #[doc(hidden)]
    pub bonds: Bonds,
    /// Conditions for bodies to sleep and to wake, if they sleep at all.
    #[doc(hidden)]
    pub sleep: Option<Sleep>,
    /// Heat of bodies and walls, if the scene has any.
    #[doc(hidden)]
    pub heat: Option<Heat>,
    /// The stages of a run.
    #[doc(hidden)]
    pub stages: Stages,
    /// Settings of how the scene is shown.
    #[doc(hidden)]
    pub view: SceneView,
}

impl Model {
    /// The rule by which bodies of a shape burst under load, if there is one.
    pub(crate) fn breakage_of(&self, shape: usize) -> Option<&Breakage> {
        let place = self
            .breakage
            .binary_search_by_key(&shape, |rule| rule.shape);
        Some(&self.breakage[place.ok()?])
    }

    /// Sets the contact law of a sphere of material `a` on a sphere or wall of `b`, and the other way round.
    ///
    /// Against walls the two may differ, as rigid walls take the elasticity of the sphere alone: a change of the stiffness or
    /// ratio of one changes the other's in proportion.
    pub(crate) fn set_pair(&mut self, a: usize, b: usize, law: PairLaw) {
        let count = self.materials.len();
        let before = self.pairs[a * count + b];
        let other = self.pairs[b * count + a];
        let in_proportion = |other: f64, before: f64, now: f64| {
            if other == before || before == 0.0 {
                return now;
            }
            other * (now / before)
        };
        self.pairs[b * count + a] = PairLaw {
            wall_stiffness: in_proportion(
                other.wall_stiffness,
                before.wall_stiffness,
                law.wall_stiffness,
            ),
            wall_tangential_ratio: in_proportion(
                other.wall_tangential_ratio,
                before.wall_tangential_ratio,
                law.wall_tangential_ratio,
            ),
            ..law
        };
        self.pairs[a * count + b] = law;
    }

    /// Whether bodies touch each of the walls in the present stage.
    #[doc(hidden)]
    pub fn walls_there(&self) -> Vec<bool> {
        let walls = 0..self.walls.len();
        walls.map(|wall| self.stages.has_wall(wall)).collect()
    }

    /// Number of spheres of all bodies.
    pub fn sphere_count(&self) -> usize {
        let spheres = |shape: usize| self.shapes[shape].spheres.len();
        let count = |piece: &Piece<&[ModelBody], &MadeFill, &Shared>| match piece {
            Piece::List(list) => list.iter().map(|body| spheres(body.shape)).sum::<usize>(),
            Piece::Fill(fill) => {
                let mix = fill.mix.iter();
                mix.map(|own| own.count as usize * spheres(own.shape as usize))
                    .sum()
            }
            Piece::Shared(shared) => shared.count()[1],
        };
        self.bodies.pieces().iter().map(count).sum()
    }

    /// Whether anything acts on bodies besides contacts and gravity, so that the pass `forces` runs.
    #[doc(hidden)]
    pub fn forces_act(&self) -> bool {
        self.forces.act() || !self.bonds.is_empty()
    }

    /// Whether the periodic box deforms, in any stage.
    #[doc(hidden)]
    pub fn deforms(&self) -> bool {
        let staged = self.stages.list.iter().any(|stage| stage.deform.is_some());
        staged || self.deform != Deform::default()
    }

    /// Unit vector that points up: that of the scene, or else against gravity, or else along y.
    pub fn up(&self) -> DVec3 {
        let against = (-self.gravity).try_normalize();
        self.view.up.or(against).unwrap_or(DVec3::Y)
    }

    /// Hash (XXH3) of everything that decides the outcome of a simulation.
    ///
    /// It leaves out the name, the duration, the view, the path of a custom law, the names of breakage rules and held bodies,
    /// and groups of walls.
    /// Changes by stages do not change it.
    pub fn hash(&self) -> u64 {
        if let Some(hash) = self.stages.first_hash {
            return hash;
        }
        let Model {
            name: _,
            duration: _,
            view: _,
            gravity,
            gravity_table,
            time_step,
            integrator,
            domain,
            deform,
            contact,
            materials,
            pairs,
            shapes,
            walls,
            wall_groups: _,
            bodies,
            flow,
            breakage,
            breakage_names: _,
            held: _,
            history,
            forces,
            bonds,
            sleep,
            heat,
            stages,
        } = self;
        let mut hash = Hashed(Xxh3::new());
        // `Debug` writes enough digits of a number to tell it from every other number.
        let ContactModel {
            law,
            limit_damping,
            tangential_damping,
            rescales,
        } = contact;
        let law = law
            .custom()
            .map_or((law.name(), 0.0), |law| (law.source.as_str(), law.range));
        let settings = (gravity, time_step, integrator, domain);
        let contact = (law, limit_damping, tangential_damping, materials, pairs);
        let _ = write!(
            hash,
            "{settings:?} {contact:?} {shapes:?} {walls:?} {flow:?} {forces:?} {sleep:?}"
        );
        // Scenes without newer features keep their old hashes.
        if *rescales {
            let _ = write!(hash, "rescales");
        }
        if let Some(heat) = heat {
            let _ = write!(hash, "{heat:?}");
        }
        if !gravity_table.rows.is_empty() {
            let _ = write!(hash, "{gravity_table:?}");
        }
        if *deform != Deform::default() {
            let _ = write!(hash, "{deform:?}");
        }
        if !breakage.is_empty() {
            let _ = write!(hash, "{breakage:?}");
        }
        if !bonds.is_empty() {
            let _ = write!(hash, "{:?} {}", bonds.laws(), bonds.digest());
        }
        if !stages.list.is_empty() {
            let _ = write!(hash, "{:?}", stages.list);
        }
        bodies.visit(|body| {
            let ModelBody {
                shape,
                position,
                orientation,
                velocity,
                angular_velocity,
                fixed,
                group,
                quantities,
            } = body;
            hash.0.update(&(*shape as u64).to_le_bytes());
            hash.0.update(bytes_of(position));
            hash.0.update(bytes_of(orientation));
            hash.0.update(bytes_of(velocity));
            hash.0.update(bytes_of(angular_velocity));
            hash.0.update(&[u8::from(*fixed), *group as u8]);
            for (quantity, number) in QUANTITIES.iter().zip(quantities.array()) {
                if (quantity.is_on)(self) {
                    hash.0.update(&number.to_le_bytes());
                }
            }
        });
        if let Some(ContactHistory {
            size,
            ends,
            entries,
            elements,
        }) = history
        {
            hash.0.update(&size.to_le_bytes());
            hash.0.update(cast_slice(ends));
            hash.0.update(cast_slice(entries));
            hash.0.update(cast_slice(elements));
        }
        if let Some((shared, contacts)) = bodies.contacts() {
            hash.0.update(&contacts.size.to_le_bytes());
            for list in ContactList::ALL {
                let holder = &shared.holder;
                holder.visit_contacts(list, &mut |some| hash.0.update(some));
            }
        }
        hash.0.digest()
    }

    /// Number of steps that cover a `duration` (s): the nearest whole number, but at least one unless the duration is 0 or less.
    pub fn steps_for(&self, duration: f64) -> u64 {
        if duration <= 0.0 {
            0
        } else {
            ((duration / self.time_step).round() as u64).max(1)
        }
    }
}
