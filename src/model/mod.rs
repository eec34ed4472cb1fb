//! A scene made ready: what [`crate::scene`] builds and both engines start from.
//!
//! Everything here is in `f64` and in SI units; [`crate::state::State`] turns it into the buffers
//! that the engines work on.

pub mod bond;
pub mod clump;
pub mod deform;
pub mod error;
pub mod flow;
pub mod forces;
pub mod gravity;
pub mod handle;
pub mod heat;
pub mod packing;
#[doc(hidden)]
pub mod pull;
pub mod quantity;
mod shared;
pub mod stage;
pub mod view;
pub mod wall;

use std::fmt::{self, Write};
use std::path::PathBuf;

use bytemuck::{bytes_of, cast_slice};
use glam::{DQuat, DVec3, Vec4};
use xxhash_rust::xxh3::Xxh3;

use crate::model::bond::Bond;
use crate::model::clump::Clump;
use crate::model::deform::Deform;
use crate::model::flow::{Breakage, Flow};
use crate::model::forces::{Forces, Sleep};
use crate::model::gravity::GravityTable;
use crate::model::heat::Heat;
use crate::model::quantity::{QUANTITIES, Quantities};
pub use crate::model::shared::Shared;
use crate::model::stage::Stages;
use crate::model::view::SceneView;
use crate::model::wall::Wall;

/// How a body's state is advanced.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Integrator {
    /// Velocity first, then position with the new velocity (symplectic, the default).
    SemiImplicit,
    /// Position with the old velocity (forward Euler); it gains energy, and is there to show that.
    Explicit,
}

/// How bodies touch.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Law {
    /// Spring and dashpot along the normal; viscous across it, without a history.
    HookeViscous,
    /// Spring and dashpot along the normal; a tangential spring with a history.
    HookeHistory,
    /// Hertz's spring along the normal, Mindlin's across, with a history.
    HertzMindlin,
    /// Soft contacts that stop what comes together within a step, however long that is; with a history.
    Impulse,
    /// A custom law, in WGSL; on the GPU engine only.
    Custom(CustomLaw),
}

impl Law {
    /// Its name: the models of the normal and of the tangential force.
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
    pub fn custom(&self) -> Option<&CustomLaw> {
        match self {
            Law::Custom(law) => Some(law),
            Law::HookeViscous | Law::HookeHistory | Law::HertzMindlin | Law::Impulse => None,
        }
    }

    /// # Errors
    /// If it is one that the CPU engine does not have.
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
#[derive(Clone, Debug, PartialEq)]
pub struct CustomLaw {
    /// The file that it stands in, as errors name it.
    pub file: PathBuf,
    /// The text of that file.
    pub source: String,
    /// Largest gap between two surfaces at which it still acts, m.
    pub range: f64,
}

/// Settings that all contacts of a scene share.
#[derive(Clone, Debug, PartialEq)]
pub struct ContactModel {
    /// Contact law.
    pub law: Law,
    /// Whether the dashpot is limited so that spring and dashpot together never pull.
    pub limit_damping: bool,
    /// Tangential dashpot as a fraction of the normal one; of the laws with a history.
    pub tangential_damping: f64,
    /// Whether the tangential springs of the law [`Law::HertzMindlin`] keep their force while the overlap grows, and their
    /// elongation while it shrinks (Thornton, Cummins and Cleary 2013), instead of their elongation always.
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

/// Resistance to rolling.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Rolling {
    /// A constant torque against the relative spin.
    #[default]
    Constant,
    /// A torsional spring with a history, which yields at the same torque.
    Spring,
}

/// Attraction of surfaces.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[non_exhaustive]
pub enum Cohesion {
    /// None.
    #[default]
    None,
    /// A constant force while the surfaces overlap or are closer than a range.
    Constant {
        /// N.
        force: f64,
        /// m.
        range: f64,
    },
    /// Adhesion of surfaces that have touched, after Johnson, Kendall and Roberts: it takes the force
    /// 3/2 pi w R to part them.
    SurfaceEnergy(
        /// Work of adhesion w, J/m².
        f64,
    ),
}

/// Contact parameters of a pair of materials: the first is that of the sphere, the second that of
/// the other sphere or of a wall.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct PairLaw {
    /// Normal stiffness, N/m; of the normal model `hertz` 4/3 E*, Pa, with 1/E* = (1-nu_a²)/E_a + (1-nu_b²)/E_b. Of the law
    /// `impulse` that of its stiffest contact: each contact has its own.
    pub stiffness: f64,
    /// Normal stiffness of the first material on a wall of the second: with 1/E* = (1-nu_a²)/E_a for the normal model `hertz` if walls
    /// of that material are rigid, else equal to `stiffness`.
    pub wall_stiffness: f64,
    /// Tangential over normal stiffness. Of the normal model `hertz`, where both are tangents:
    /// 8 G* sqrt(R d) / (2 E* sqrt(R d)) = 4 G*/E*, with 1/G* = (2-nu_a)/G_a + (2-nu_b)/G_b.
    pub tangential_ratio: f64,
    /// Tangential over normal stiffness of the first material on a wall.
    pub wall_tangential_ratio: f64,
    /// Damping ratio of the normal dashpot, from the coefficient of restitution.
    pub damping_ratio: f64,
    /// Normal dashpot given directly, N s/m; added to that of the damping ratio.
    pub damping: f64,
    /// Coefficient of restitution, of the normal model `impulse`; others have it as a dashpot.
    pub restitution: f64,
    /// Coefficient of friction.
    pub friction: f64,
    /// Coefficient of rolling friction: the torque is at most this times R times the normal force, R
    /// the radius on a wall, R1 R2/(R1 + R2) for two spheres.
    pub rolling_friction: f64,
    /// How rolling is resisted.
    pub rolling: Rolling,
    /// Coefficient of twisting friction: the torque about the normal is at most this times R times the
    /// normal force.
    pub twisting_friction: f64,
    /// Attraction.
    pub cohesion: Cohesion,
}

impl PairLaw {
    /// Its numbers by name, which are from 0 on; but those of cohesion.
    pub fn numbers(&self) -> impl Iterator<Item = (&'static str, f64)> {
        // Names and fields, once.
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

    /// An elastic pair: these springs, with nothing that dissipates or attracts.
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

/// A box that is periodic along some axes: what leaves it on one side comes in on the other.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Domain {
    /// Corner with the smallest coordinates, m.
    pub min: DVec3,
    /// Corner with the largest coordinates, m.
    pub max: DVec3,
    /// Along which axes it is periodic. Along the others its bounds mean nothing.
    pub periodic: [bool; 3],
}

impl Domain {
    /// Its sides along the periodic axes, m; 0 along the others.
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

    /// The image of a point in the box, m. A point that is in it stays as it is, to the bit.
    pub fn wrap(&self, point: DVec3) -> DVec3 {
        let period = self.period();
        let boxes = ((point - self.min) / period).floor();
        point - DVec3::select(period.cmpgt(DVec3::ZERO), boxes * period, DVec3::ZERO)
    }

    /// The shortest of the images of a way, m.
    pub fn nearest(&self, way: DVec3) -> DVec3 {
        nearest_image(way, self.period())
    }
}

/// The shortest of the images of a way in a box of the sides `period`, m: 0 along the axes where it is
/// not periodic.
pub(crate) fn nearest_image(way: DVec3, period: DVec3) -> DVec3 {
    let boxes = (way / period).round();
    way - DVec3::select(period.cmpgt(DVec3::ZERO), boxes * period, DVec3::ZERO)
}

/// A body at the start. By default it is at rest in the origin, of the first shape and in no group.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct ModelBody {
    /// Index into [`Model::shapes`].
    pub shape: usize,
    /// Centre of mass, m.
    pub position: DVec3,
    /// World from body frame (the clump's principal frame).
    pub orientation: DQuat,
    /// Velocity of the centre of mass, m/s.
    pub velocity: DVec3,
    /// Angular velocity in the world frame, rad/s.
    pub angular_velocity: DVec3,
    /// A fixed body takes part in contacts and does not move.
    pub fixed: bool,
    /// Index into [`Forces::groups`].
    pub group: usize,
    /// Quantities that it carries besides its motion.
    pub quantities: Quantities,
}

/// A writer that hashes its bytes.
struct Hashed(Xxh3);

impl fmt::Write for Hashed {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        self.0.update(text.as_bytes());
        Ok(())
    }
}

/// Contact histories of the first bodies at the start, from another run: lists of the first
/// spheres, as those of [`State`](crate::state::State).
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ContactHistory {
    /// Elements of each entry.
    pub size: u32,
    /// Where the list of each of the spheres ends in `entries`.
    pub ends: Vec<u32>,
    /// Whom each sphere touches, in increasing order; facets of walls after spheres, with the
    /// bit [`WALL`](crate::state::layout::WALL).
    pub entries: Vec<u32>,
    /// The histories, see [`History`](crate::state::layout::History); `size` elements for each of `entries`.
    pub elements: Vec<Vec4>,
}

/// All that a simulation needs.
#[derive(Clone, Debug, PartialEq)]
pub struct Model {
    /// Name of the scene.
    pub name: String,
    /// Acceleration of gravity, m/s².
    pub gravity: DVec3,
    /// Gravity over time; it takes the place of `gravity`, if it has any rows.
    pub gravity_table: GravityTable,
    /// Simulated time that a run covers unless told otherwise, s.
    pub duration: f64,
    /// Time step, s.
    pub time_step: f64,
    /// Integrator.
    pub integrator: Integrator,
    /// The periodic box, if there is one.
    pub domain: Option<Domain>,
    /// How it deforms.
    pub deform: Deform,
    /// Settings that all contacts share.
    pub contact: ContactModel,
    /// Names of the materials.
    pub materials: Vec<String>,
    /// Parameters of each pair of materials, row by row: `pairs[a * materials.len() + b]`, which are those of
    /// `pairs[b * materials.len() + a]`, too.
    pub pairs: Vec<PairLaw>,
    /// Shapes.
    pub shapes: Vec<Clump>,
    /// Walls: those of the scene's `planes`, then those of its `walls`.
    pub walls: Vec<Wall>,
    /// Bodies at the start, in the order of the scene: those from another run, those under `bodies`, then each of
    /// the `fills`.
    pub bodies: Shared<ModelBody>,
    /// Ids and names of bodies that are fixed or kinematic: files of results have the loads on them.
    pub held: Vec<(u64, String)>,
    /// Contact histories from another run, if there are any.
    pub history: Option<ContactHistory>,
    /// Inlets, outlets, probes and explosions.
    pub flow: Flow,
    /// Bodies that burst under load.
    pub breakage: Vec<Breakage>,
    /// Names of the rules by which they do.
    pub breakage_names: Vec<String>,
    /// Forces on bodies besides those of contacts and bonds.
    pub forces: Forces,
    /// Bonds between bodies at the start.
    pub bonds: Vec<Bond>,
    /// When bodies sleep, if they do.
    pub sleep: Option<Sleep>,
    /// How bodies hold heat and pass it on, if they do.
    pub heat: Option<Heat>,
    /// The stages of a run.
    pub stages: Stages,
    /// How it asks to be shown.
    pub view: SceneView,
}

impl Model {
    /// Number of spheres of all bodies.
    pub fn sphere_count(&self) -> usize {
        self.bodies
            .iter()
            .map(|body| self.shapes[body.shape].spheres.len())
            .sum()
    }

    /// Whether anything acts on bodies besides contacts and gravity: the pass `forces` runs.
    pub fn forces_act(&self) -> bool {
        self.forces.act() || !self.bonds.is_empty()
    }

    /// Whether the periodic box deforms, in any stage.
    pub fn deforms(&self) -> bool {
        let staged = self.stages.list.iter().any(|stage| stage.deform.is_some());
        staged || self.deform != Deform::default()
    }

    /// Unit vector that points up: as the scene says, else against gravity, else along y.
    pub fn up(&self) -> DVec3 {
        let against = (-self.gravity).try_normalize();
        self.view.up.or(against).unwrap_or(DVec3::Y)
    }

    /// Hash of all that decides the outcome of a simulation (XXH3): of everything but the name, the
    /// duration, how it is shown and where the file of a custom law is.
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
        // What `Debug` writes of a number is enough to tell it from every other.
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
            let _ = write!(hash, "{bonds:?}");
        }
        if !stages.list.is_empty() {
            let _ = write!(hash, "{:?}", stages.list);
        }
        for body in bodies {
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
        }
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
        hash.0.digest()
    }

    /// Number of steps that cover `duration` seconds: the nearest whole number, at least one
    /// unless the duration is zero.
    pub fn steps_for(&self, duration: f64) -> u64 {
        if duration <= 0.0 {
            0
        } else {
            ((duration / self.time_step).round() as u64).max(1)
        }
    }
}
