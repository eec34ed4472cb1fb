//! Bonds between bodies.

use super::super::error::{Problem, exact, rounded};
use super::super::format::{NormalModel, SceneFile};
use super::check::{Check, Names, Sign};
use super::smallest_radius;
use crate::model::bond::{BondLaw, Healing, STABLE_STEPS, bonds};
use crate::model::bonds::{Bonds, Limit};
use crate::model::clump::Clump;
use crate::model::packing::slab::Searchers;
use crate::model::{Bodies, Domain};

/// Shear modulus over Young's modulus where none is given: that of Poisson's ratio 1/4.
const SHEAR: f64 = 0.4;

impl Check {
    /// The laws of bonds of the scene.
    pub(super) fn bond_laws(
        &mut self,
        file: &SceneFile,
        materials: &Names,
        groups: &Names,
    ) -> Vec<BondLaw> {
        if file.contact.normal == NormalModel::Impulse && !file.bonds.is_empty() {
            let problem = Problem::new(
                "bonds",
                "bonds",
                "nothing with the normal model \"impulse\", whose steps are too long to follow them",
            );
            self.problems
                .push(problem.help("take the normal model \"hooke\" or \"hertz\""));
        }
        let mut laws = Vec::new();
        for (index, bonds) in file.bonds.iter().enumerate() {
            let path = format!("bonds[{index}]");
            let before = self.problems.len();
            let mut number = |field: &str, number: Option<f64>, what: &str, sign: Sign| {
                if let Some(number) = number {
                    self.number(format_args!("{path}.{field}"), number, what, sign);
                }
            };
            let (some, none) = (Sign::Positive, Sign::NotNegative);
            number("gap", bonds.gap, "a length, m", none);
            number("radius_factor", Some(bonds.radius_factor), "a factor", some);
            number(
                "young_modulus",
                Some(bonds.young_modulus),
                "a modulus, Pa",
                some,
            );
            number("shear_modulus", bonds.shear_modulus, "a modulus, Pa", none);
            number("bending", Some(bonds.bending), "a factor", none);
            number("twisting", Some(bonds.twisting), "a factor", none);
            number(
                "tensile_strength",
                bonds.tensile_strength,
                "a strength, Pa",
                some,
            );
            number(
                "shear_strength",
                bonds.shear_strength,
                "a strength, Pa",
                some,
            );
            number(
                "weibull_modulus",
                bonds.weibull_modulus,
                "a Weibull modulus",
                some,
            );
            number("damping", Some(bonds.damping), "a damping ratio", none);
            let healing = bonds.healing;
            let distance = healing.map(|healing| healing.distance);
            number("healing.distance", distance, "a gap, m", none);
            let time = healing.map(|healing| healing.time);
            number("healing.time", time, "a time, s", some);
            if bonds.tensile_strength.is_none() && bonds.shear_strength.is_none() {
                for (field, given, what) in [
                    (
                        "weibull_modulus",
                        bonds.weibull_modulus.is_some(),
                        "a spread of strengths",
                    ),
                    ("healing", healing.is_some(), "healing"),
                ] {
                    if given {
                        self.problem(
                            format_args!("{path}.{field}"),
                            format!("{what} of bonds that do not break"),
                            "\"tensile_strength\" or \"shear_strength\" with it",
                        );
                    }
                }
            }
            let mut resolve = |field: &str, list: &[String; 2], names: &Names| {
                let mut resolved = [0; 2];
                for (end, name) in list.iter().enumerate() {
                    let path = format_args!("{path}.{field}[{end}]");
                    resolved[end] = self.resolve(path, name, names).unwrap_or(0);
                }
                resolved
            };
            let between = resolve("between", &bonds.between.0, materials);
            // The first group is that of bodies that are in no other.
            let groups = bonds
                .groups
                .as_ref()
                .map(|list| resolve("groups", &list.0, groups).map(|group| group + 1));
            if self.problems.len() > before {
                continue;
            }
            laws.push(BondLaw {
                materials: between,
                groups,
                gap: bonds.gap,
                radius_factor: bonds.radius_factor,
                young_modulus: bonds.young_modulus,
                shear_modulus: bonds.shear_modulus.unwrap_or(SHEAR * bonds.young_modulus),
                bending: bonds.bending,
                twisting: bonds.twisting,
                tensile_strength: bonds.tensile_strength.unwrap_or(f64::INFINITY),
                shear_strength: bonds.shear_strength.unwrap_or(f64::INFINITY),
                weibull_modulus: bonds.weibull_modulus,
                damping: bonds.damping,
                seed: bonds.seed,
                healing: healing.map(|healing| Healing {
                    distance: healing.distance,
                    time: healing.time,
                }),
            });
        }
        laws
    }

    /// The bonds of bodies as they start, and the time step that they need.
    pub(super) fn bonds(
        &mut self,
        laws: &[BondLaw],
        bodies: &Bodies,
        shapes: &[Clump],
        domain: Option<&Domain>,
        searchers: Option<&dyn Searchers>,
    ) -> (Bonds, Option<Limit>) {
        if laws.is_empty() {
            return (Bonds::default(), None);
        }
        // Farther away, the pairs would be without number.
        let diameter = 2.0 * smallest_radius(shapes);
        for (index, law) in laws.iter().enumerate() {
            if let Some(gap) = law.gap.filter(|gap| *gap > diameter) {
                self.problem(
                    format_args!("bonds[{index}].gap"),
                    format!("{} m", exact(gap)),
                    format!(
                        "at most the diameter of the smallest sphere, {} m",
                        rounded(diameter)
                    ),
                );
                return (Bonds::default(), None);
            }
        }
        let made = match searchers {
            Some(searchers) if !bodies.is_listed() => searchers.bond(laws, bodies, shapes, domain),
            _ => bonds(laws, bodies, shapes, domain),
        };
        let survey = made.survey();
        for (index, &(count, shortest)) in survey.of_laws.iter().enumerate() {
            match count {
                0 => self.warnings.push(format!(
                    "bonds[{index}]: found no two spheres of these materials that are near enough, expected some; \
                     raise \"gap\""
                )),
                _ => self.notes.push(format!(
                    "bonds[{index}]: made of {count} pairs of spheres, the shortest {} m long",
                    rounded(shortest)
                )),
            }
        }
        if let Some(wrong) = survey.wrong {
            self.problem(
                format_args!("bonds[{}]", wrong.law),
                format!(
                    "a bond of {} N/m and {} N m, {} m thick",
                    rounded(wrong.stiffness),
                    rounded(wrong.bending),
                    rounded(2.0 * wrong.radius)
                ),
                "numbers between 1.2e-38 and 3.4e38, for single precision",
            );
        }
        (made, survey.limit)
    }

    /// A time step that follows all bonds, s, if that needs one that is less than `seconds`; a given one need only be stable.
    pub(super) fn time_step_of_bonds(
        &mut self,
        given: bool,
        seconds: f64,
        of_bonds: Option<Limit>,
    ) -> f64 {
        let Some(Limit {
            seconds: limit,
            law,
            ..
        }) = of_bonds
        else {
            return seconds;
        };
        if given {
            if seconds > STABLE_STEPS * limit {
                self.problems.push(
                    Problem::new(
                        "contact.time_step",
                        format!("{} s", exact(seconds)),
                        format!(
                            "at most {} s, beyond which the bonds of bonds[{}] are unstable",
                            rounded(STABLE_STEPS * limit),
                            law
                        ),
                    )
                    .help(format!(
                        "{} s is recommended; leave \"time_step\" out to get it",
                        rounded(limit)
                    )),
                );
            }
            return seconds;
        }
        if limit < seconds {
            self.notes.push(format!(
                "time step {} s, which the stiffest bonds need",
                rounded(limit)
            ));
        }
        seconds.min(limit)
    }
}
