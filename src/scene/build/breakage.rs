//! Bodies that burst under load.

use glam::DVec3;

use super::super::error::{Problem, rounded};
use super::super::format::SceneFile;
use super::DEEP_OVERLAP;
use super::check::{Check, Names, Sign};
use super::explosions::pieces;
use crate::model::clump::{Clump, Fragments, fragments};
use crate::model::flow::Breakage;
use crate::model::{Bodies, ModelBody};

impl Check {
    /// Checks the rules by which bodies burst.
    pub(super) fn breakage(&mut self, file: &SceneFile, names: &Names, shapes: &[Option<Clump>]) {
        let mut used = Vec::new();
        for (index, rule) in file.breakage.iter().enumerate() {
            let path = format!("breakage[{index}]");
            let numbers = [
                ("strength", rule.strength, "a strength, Pa"),
                ("specific_energy", rule.specific_energy, "an energy, J/kg"),
                ("weibull_modulus", rule.weibull_modulus, "a Weibull modulus"),
                (
                    "reference_diameter",
                    rule.reference_diameter,
                    "a diameter, m",
                ),
            ];
            for (field, number, what) in numbers {
                if let Some(number) = number {
                    let path = format_args!("{path}.{field}");
                    self.number(path, number, what, Sign::Positive);
                }
            }
            let speed = format_args!("{path}.speed");
            self.number(speed, rule.speed, "a speed, m/s", Sign::NotNegative);
            if rule.strength.is_none() && rule.specific_energy.is_none() {
                self.problem(
                    &path,
                    "neither \"strength\" nor \"specific_energy\"",
                    "one or both of them: the limits beyond which bodies burst",
                );
            }
            if rule.reference_diameter.is_some() && rule.weibull_modulus.is_none() {
                self.problem(
                    format_args!("{path}.reference_diameter"),
                    "a diameter without a \"weibull_modulus\"",
                    "a \"weibull_modulus\" with it, so that strengths depend on the size",
                );
            }
            let Some(shape) = self.resolve(format!("{path}.shape"), &rule.shape, names) else {
                continue;
            };
            if used.contains(&shape) {
                self.problem(
                    format_args!("{path}.shape"),
                    format!("{:?}, which has a rule already", rule.shape),
                    "each shape once",
                );
            }
            used.push(shape);
            let path = format!("{path}.fragments");
            self.division(&path, &rule.fragments, &rule.shape, shapes[shape].as_ref());
        }
    }
}

/// The rules of a scene without mistakes, for each shape that is one of a rule's in some size or material; the fragments are added
/// to the shapes.
pub(super) fn breakage(
    file: &SceneFile,
    shapes: &mut Vec<Clump>,
) -> Result<Vec<Breakage>, Vec<Problem>> {
    let mut all = Vec::new();
    let count = shapes.len();
    for (rule, own) in file.breakage.iter().enumerate() {
        for shape in 0..count {
            let clump = &shapes[shape];
            if clump.name != own.shape {
                continue;
            }
            let pieces = pieces(clump, &own.fragments, own.seed);
            let Fragments { clumps, overlap } = fragments(clump, &pieces);
            if overlap > DEEP_OVERLAP {
                let found = format!(
                    "{:?}, spheres of which overlap by up to {} % of the smaller radius",
                    own.shape,
                    rounded(100.0 * overlap)
                );
                let expected = "at most 5 % between fragments, or they drive each other apart";
                let path = format_args!("breakage[{rule}].shape");
                return Err(vec![
                    Problem::new(path, found, expected)
                        .help("take a shape whose spheres only touch"),
                ]);
            }
            let cubes = clump.spheres.iter().map(|sphere| sphere.radius.powi(3));
            let diameter = 2.0 * libm::cbrt(cubes.sum::<f64>());
            let weaker = match (own.weibull_modulus, own.reference_diameter) {
                (Some(modulus), Some(reference)) => libm::pow(diameter / reference, -3.0 / modulus),
                _ => 1.0,
            };
            let force = own
                .strength
                .map(|strength| weaker * strength * diameter * diameter);
            let energy = own
                .specific_energy
                .map(|energy| weaker * energy * clump.mass);
            let start = shapes.len();
            shapes.extend(clumps);
            all.push(Breakage {
                shape,
                rule,
                force,
                energy,
                weibull_modulus: own.weibull_modulus,
                seed: own.seed,
                speed: own.speed,
                fragments: start..shapes.len(),
            });
        }
    }
    all.sort_by_key(|rule: &Breakage| rule.shape);
    Ok(all)
}

/// A body of each shape that fragments have, as it may come to fly: what stiffness and time step must be fit for.
pub(super) fn flying(breakage: &[Breakage], bodies: &Bodies) -> Vec<ModelBody> {
    let mut all = Vec::new();
    for rule in breakage {
        let mut fastest = DVec3::ZERO;
        bodies.visit(|body| {
            let is_faster = body.velocity.length_squared() > fastest.length_squared();
            if body.shape == rule.shape && is_faster {
                fastest = body.velocity;
            }
        });
        let velocity = fastest + rule.speed * fastest.normalize_or(DVec3::X);
        all.extend(rule.fragments.clone().map(|shape| ModelBody {
            shape,
            velocity,
            ..ModelBody::default()
        }));
    }
    all
}
