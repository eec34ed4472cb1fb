//! Bonds between bodies, as they are written.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_with::apply;

use super::super::strict::{given, objects};
use super::List;

/// Bonds between spheres of different bodies that are near each other at the start: elastic rods that break.
///
/// A bond is the parallel bond of Potyondy and Cundall (2004): a rod with a round cross-section of radius r, area
/// A = pi r² and second moment I = pi r⁴/4, of the length L from centre to centre. It resists stretching by E A/L, shearing by G A/L,
/// twisting by 2 G I/L and bending by E I/L, without force at the start; and it breaks when the tension at its edge,
/// F/A + M r/I, or the shear stress there, Q/A + T r/2I, exceeds its strength. It stays broken, unless it heals. It acts in addition to the contact of the two
/// spheres, which still push each other where they touch; to have the bond alone, start them a little apart, or put them in
/// a group that ignores itself. Bodies that come in later have no bonds. Not with the normal model "impulse".
#[apply(Option => #[serde(default, deserialize_with = "given", skip_serializing_if = "Option::is_none")])]
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(remote = "Bonds", deny_unknown_fields)]
pub struct Bonds {
    /// The two materials, which may be the same. Where several entries match two spheres, the first of them bonds them.
    pub between: List<String, 2>,
    /// The groups of the two bodies, which may be the same. Default: any.
    pub groups: Option<List<String, 2>>,
    /// Largest gap between the surfaces of two spheres that are bonded at the start, m. At most the diameter
    /// of the smallest sphere. Default: a hundredth of the smaller radius.
    #[schemars(range(min = 0))]
    pub gap: Option<f64>,
    /// Radius of the bond over the smaller radius of the two spheres. Default: 1.
    #[serde(default = "super::one")]
    #[schemars(extend("exclusiveMinimum" = 0))]
    pub radius_factor: f64,
    /// Young's modulus E, Pa.
    #[schemars(extend("exclusiveMinimum" = 0))]
    pub young_modulus: f64,
    /// Shear modulus G, Pa. Default: 0.4 of Young's modulus.
    #[schemars(range(min = 0))]
    pub shear_modulus: Option<f64>,
    /// Factor of the stiffness against bending: 0 for a rope, which does not resist it. Default: 1.
    #[serde(default = "super::one")]
    #[schemars(range(min = 0))]
    pub bending: f64,
    /// Factor of the stiffness against twisting. Default: 1.
    #[serde(default = "super::one")]
    #[schemars(range(min = 0))]
    pub twisting: f64,
    /// Tension at which a bond breaks, Pa. Default: it does not.
    #[schemars(extend("exclusiveMinimum" = 0))]
    pub tensile_strength: Option<f64>,
    /// Shear stress at which a bond breaks, Pa. Default: it does not.
    #[schemars(extend("exclusiveMinimum" = 0))]
    pub shear_strength: Option<f64>,
    /// Weibull modulus m of the strengths: a bond has both of them times x, with P(below x) = 1 - exp(-x^m). Default: all
    /// bonds have exactly the strengths given.
    #[schemars(extend("exclusiveMinimum" = 0))]
    pub weibull_modulus: Option<f64>,
    /// Damping ratio of the dashpots of a bond, for two bodies that it alone holds together: 1 is critical.
    /// Default: 0.
    #[serde(default)]
    #[schemars(range(min = 0))]
    pub damping: f64,
    /// Seed of the random strengths. Default: 0.
    #[serde(default)]
    pub seed: u64,
    /// Healing of bonds that broke. Default: they stay broken.
    pub healing: Option<Healing>,
}

/// Healing of broken bonds: the two spheres grow together again, once they have been near each other for some time.
///
/// It does not matter where on their surfaces they meet. The healed bond has no force where the spheres are at that moment, and the
/// stiffnesses and strengths that it had at first. So it may break again, and heal again.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(remote = "Healing", deny_unknown_fields)]
pub struct Healing {
    /// Largest gap between the surfaces of the two spheres at which they grow together, m. At 0, they have to touch.
    #[schemars(range(min = 0))]
    pub distance: f64,
    /// Time for which the gap has to be no larger than that, without interruption, s.
    #[schemars(extend("exclusiveMinimum" = 0))]
    pub time: f64,
}

objects! {
    Bonds: "an object such as {\"between\": [\"stone\", \"stone\"], \"young_modulus\": 1e9, \"tensile_strength\": 1e7}",
    Healing: "an object such as {\"distance\": 0.00001, \"time\": 0.1}",
}
