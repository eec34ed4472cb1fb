//! Forces on bodies besides contacts: gravity and drag of groups, springs, applied forces, water.
//!
//! The pass `forces` evaluates all of them. It is left out for a scene that has none of them and no bonds.

use std::f64::consts::PI;

use glam::DVec3;

/// Forces on the bodies of a model besides contacts.
#[doc(hidden)]
#[derive(Clone, Debug, PartialEq)]
pub struct Forces {
    /// Groups of bodies, at most [`MAX_GROUPS`](crate::state::layout::MAX_GROUPS). The first group has all bodies that are in no
    /// other.
    pub groups: Vec<Group>,
    /// Springs.
    pub springs: Vec<Spring>,
    /// Applied forces and torques.
    pub applied: Vec<AppliedForce>,
    /// Water, if there is any.
    pub water: Option<Water>,
}

impl Default for Forces {
    fn default() -> Self {
        Self {
            groups: vec![Group::default()],
            springs: Vec::new(),
            applied: Vec::new(),
            water: None,
        }
    }
}

impl Forces {
    /// Whether any force acts on bodies besides contacts and the gravity of the scene.
    pub fn act(&self) -> bool {
        let own = |group: &Group| group.gravity.is_some() || group.drag != Drag::default();
        self.water.is_some()
            || !self.springs.is_empty()
            || !self.applied.is_empty()
            || self.groups.iter().any(own)
    }
}

/// A group of bodies. Group 0 has all bodies that are in no other.
#[doc(hidden)]
#[derive(Clone, Debug, PartialEq)]
pub struct Group {
    /// Name.
    pub name: String,
    /// Acceleration of gravity, m/s²; with `None` it is that of the [`Model`](crate::model::Model).
    pub gravity: Option<DVec3>,
    /// Groups that this group ignores, a bit for each: their bodies do not touch its bodies. Each of two such groups has the bit
    /// of the other.
    pub ignores: u32,
    /// Drag.
    pub drag: Drag,
}

/// Drag in proportion to velocities: F = -γ v, T = -γ' ω.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Drag {
    /// Force over velocity γ, N s/m.
    pub linear: f64,
    /// Torque over angular velocity γ', N m s.
    pub angular: f64,
}

/// End of a spring.
#[doc(hidden)]
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum End {
    /// A point of a body.
    Body {
        /// Index of the body in [`Model::bodies`](crate::model::Model::bodies).
        body: usize,
        /// The point, in the principal frame of the body, m.
        point: DVec3,
    },
    /// A point of the world, m.
    World(DVec3),
}

/// A spring with a dashpot along it, which pulls its ends together by k (d - L) + c ḋ; d is their distance.
#[doc(hidden)]
#[derive(Clone, Debug, PartialEq)]
pub struct Spring {
    /// Name.
    pub name: String,
    /// The two ends; the first is at a body.
    pub ends: [End; 2],
    /// Stiffness k, N/m.
    pub stiffness: f64,
    /// Dashpot c, N s/m.
    pub damping: f64,
    /// Rest length L, m.
    pub rest_length: f64,
    /// Whether the spring only pulls, as a rope does.
    pub slack: bool,
}

/// An applied force, with a torque, on a body.
#[doc(hidden)]
#[derive(Clone, Debug, PartialEq)]
pub struct AppliedForce {
    /// Name.
    pub name: String,
    /// Index of the body in [`Model::bodies`](crate::model::Model::bodies).
    pub body: usize,
    /// The point at which the force acts, in the principal frame of the body, m.
    pub point: DVec3,
    /// Force, N; in the principal frame of the body if it `turns_along`, else in the world.
    pub force: DVec3,
    /// Torque besides that of the force, N m; in the same axes.
    pub torque: DVec3,
    /// Whether force and torque turn with the body.
    pub turns_along: bool,
    /// Time from which the force acts, s.
    pub start: f64,
    /// Time until which the force acts, s.
    pub end: f64,
    /// Key of the window to which the force is bound, if any: it acts only while the key is down.
    pub key: Option<char>,
}

/// Water that fills all space below a surface.
///
/// The buoyancy of a sphere is the weight of the water that its part below the surface displaces. The drag of a sphere is
/// -½ C ρ π r² |v| v together with Stokes' -6 π μ r v and the torque -8 π μ r³ ω, each times the fraction of its volume below the
/// surface. The surface counts as flat across a sphere. Water does not move, and has no inertia.
#[doc(hidden)]
#[derive(Clone, Debug, PartialEq)]
pub struct Water {
    /// Height of the surface at rest, m.
    pub level: f64,
    /// Density ρ, kg/m³.
    pub density: f64,
    /// Drag coefficient C of a sphere.
    pub drag_coefficient: f64,
    /// Viscosity μ, Pa s.
    pub viscosity: f64,
    /// Trains of waves on the surface.
    pub waves: Vec<Wave>,
}

/// A train of waves, which raises the surface by a sin(k·x - ω t).
#[doc(hidden)]
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Wave {
    /// Wave vector k, 1/m; horizontal.
    pub vector: DVec3,
    /// Amplitude a, m.
    pub amplitude: f64,
    /// Angular frequency ω, rad/s.
    pub frequency: f64,
}

impl Default for Group {
    fn default() -> Self {
        Self {
            name: "all".to_owned(),
            gravity: None,
            ignores: 0,
            drag: Drag::default(),
        }
    }
}

impl Wave {
    /// A train of waves on deep water, ω² = g k (Airy; Lamb, Hydrodynamics, section 229).
    ///
    /// `vector` is the wave vector (1/m), `amplitude` is in m and `gravity` in m/s².
    pub fn deep_water(vector: DVec3, amplitude: f64, gravity: f64) -> Wave {
        Wave {
            vector,
            amplitude,
            frequency: (gravity * vector.length()).sqrt(),
        }
    }

    /// Distance from crest to crest, m.
    pub fn length(&self) -> f64 {
        2.0 * PI / self.vector.length()
    }
}

impl Water {
    /// Height of the surface above or below a point (m) at a time (s), m.
    pub fn height(&self, point: DVec3, time: f64) -> f64 {
        let waves = self
            .waves
            .iter()
            .map(|wave| wave.amplitude * libm::sin(wave.vector.dot(point) - wave.frequency * time));
        self.level + waves.sum::<f64>()
    }
}

/// Conditions for bodies to fall asleep and to wake.
#[doc(hidden)]
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Sleep {
    /// Speed up to which a body is at rest, m/s: the sum of the speed of its centre of mass and that of its surface about it.
    pub speed: f64,
    /// Time for which a body must be at rest to fall asleep, s.
    pub after: f64,
    /// Acceleration above which a body wakes, m/s²: that which contacts and forces together would give it.
    pub wake: f64,
}
