//! Forces on bodies besides contacts: groups with a gravity and a drag of their own, springs, applied forces, water.
//!
//! The pass `forces` evaluates all of it, and is left out where a scene has none of it.

use std::f64::consts::PI;

use glam::DVec3;

/// All of it.
#[derive(Clone, Debug, PartialEq)]
pub struct Forces {
    /// Groups of bodies, at most [`MAX_GROUPS`](crate::state::layout::MAX_GROUPS); the first is that of all bodies that
    /// are in no other.
    pub groups: Vec<Group>,
    /// Springs.
    pub springs: Vec<Spring>,
    /// Forces and torques on bodies.
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

/// A group of bodies. Group 0 is that of all bodies that are in no other.
#[derive(Clone, Debug, PartialEq)]
pub struct Group {
    /// Name.
    pub name: String,
    /// Acceleration of gravity, m/s², if it is not that of the [`Model`](crate::model::Model).
    pub gravity: Option<DVec3>,
    /// Groups whose bodies its bodies do not touch: a bit for each. What one group ignores ignores it.
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

/// Where an end of a spring is.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum End {
    /// At a point of a body, in its principal frame, m.
    Body {
        /// Index into [`Model::bodies`](crate::model::Model::bodies).
        body: usize,
        /// m.
        point: DVec3,
    },
    /// At a point of the world, m.
    World(DVec3),
}

/// A spring with a dashpot along it: it pulls its ends together by k (d - L) + c ḋ, d their distance.
#[derive(Clone, Debug, PartialEq)]
pub struct Spring {
    /// Name.
    pub name: String,
    /// Its ends; the first is at a body.
    pub ends: [End; 2],
    /// Stiffness k, N/m.
    pub stiffness: f64,
    /// Dashpot c, N s/m.
    pub damping: f64,
    /// Rest length L, m.
    pub rest_length: f64,
    /// Whether it only pulls, as a rope does.
    pub slack: bool,
}

/// A force and a torque on a body.
#[derive(Clone, Debug, PartialEq)]
pub struct AppliedForce {
    /// Name.
    pub name: String,
    /// Index into [`Model::bodies`](crate::model::Model::bodies).
    pub body: usize,
    /// The point at which the force acts, in the principal frame of the body, m.
    pub point: DVec3,
    /// Force, N; in the principal frame of the body if it `turns_along`.
    pub force: DVec3,
    /// Torque besides, N m; in the same axes.
    pub torque: DVec3,
    /// Whether force and torque turn with the body.
    pub turns_along: bool,
    /// From when on, s.
    pub start: f64,
    /// Until when, s.
    pub end: f64,
    /// The key of the window that it is bound to, if it is: then it acts only while that is down.
    pub key: Option<char>,
}

/// Water that fills all space below a surface.
///
/// A sphere is pushed up by the weight of the water that the part of it below the surface displaces, and dragged
/// by -½ C ρ π r² |v| v and by Stokes' -6 π μ r v and -8 π μ r³ ω, each times the part of its volume that is
/// below. The surface is taken as flat across a sphere. Water does not move, and has no inertia.
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
    /// Trains of waves that run over it.
    pub waves: Vec<Wave>,
}

/// A train of waves: the surface is higher by a sin(k·x - ω t).
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
    /// Waves on deep water: ω² = g k (Airy; Lamb, Hydrodynamics, section 229).
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
    /// Height of the surface above a point after a time, m.
    pub fn height(&self, point: DVec3, time: f64) -> f64 {
        let waves = self
            .waves
            .iter()
            .map(|wave| wave.amplitude * libm::sin(wave.vector.dot(point) - wave.frequency * time));
        self.level + waves.sum::<f64>()
    }
}

/// When bodies fall asleep, and when they wake.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Sleep {
    /// Speed up to which a body is at rest, m/s: that of its centre and that of its surface about it together.
    pub speed: f64,
    /// Time for which it must be at rest, s.
    pub after: f64,
    /// Acceleration that contacts and forces must add up to for it to wake, m/s².
    pub wake: f64,
}
