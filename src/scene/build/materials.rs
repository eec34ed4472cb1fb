//! Settings, materials and pairs of materials.

use std::collections::HashMap;

use super::super::error::exact;
use super::super::format::{self, SceneFile};
use super::MAX_MATERIALS;
use super::check::{Check, Names, Sign};

impl Check {
    pub(super) fn settings(&mut self, file: &SceneFile) {
        self.vector("gravity", &file.gravity, "an acceleration, m/s²");
        self.number("duration", file.duration, "a time, s", Sign::NotNegative);
        let contact = &file.contact;
        if let Some(stiffness) = contact.stiffness {
            let path = "contact.stiffness";
            self.number(path, stiffness, "a stiffness, N/m", Sign::Positive);
            if contact.max_overlap.is_some() {
                self.problem(
                    "contact",
                    "both \"stiffness\" and \"max_overlap\"",
                    "one of them, since either gives the other",
                );
            }
        }
        if let Some(fraction) = contact.max_overlap
            && !(fraction > 0.0 && fraction < 1.0)
        {
            self.problem(
                "contact.max_overlap",
                exact(fraction),
                "a fraction of a radius, greater than 0 and less than 1",
            );
        }
        if let Some(stiffness) = contact.tangential_stiffness {
            let path = "contact.tangential_stiffness";
            self.number(path, stiffness, "a stiffness, N/m", Sign::NotNegative);
        }
        if let Some(time_step) = contact.time_step {
            let path = "contact.time_step";
            self.number(path, time_step, "a time, s", Sign::Positive);
        }
        if file.bodies.is_empty() && file.fills.is_empty() {
            self.problem(
                "bodies",
                "neither bodies nor fills",
                "at least one body, under \"bodies\" or \"fills\"",
            );
        }
    }

    pub(super) fn materials<'a>(&mut self, file: &'a SceneFile) -> Names<'a> {
        let count = file.materials.0.len();
        if count > MAX_MATERIALS {
            self.problem(
                "materials",
                format!("{count} materials"),
                format!("at most {MAX_MATERIALS}"),
            );
        }
        for (name, material) in &file.materials.0 {
            let path = format!("materials.{name}");
            self.number(
                format_args!("{path}.density"),
                material.density,
                "a density, kg/m³",
                Sign::Positive,
            );
            self.contact_values(
                &path,
                material.restitution,
                material.damping,
                Some(material.friction),
            );
            if material.restitution.is_none() && material.damping.is_none() {
                self.problem(
                    path,
                    "neither \"restitution\" nor \"damping\"",
                    "one of them, for the dashpot",
                );
            }
        }
        Names::new("material", file.materials.names())
    }

    fn contact_values(
        &mut self,
        path: &str,
        restitution: Option<f64>,
        damping: Option<f64>,
        friction: Option<f64>,
    ) {
        if let Some(restitution) = restitution
            && !(0.0..=1.0).contains(&restitution)
        {
            self.problem(
                format_args!("{path}.restitution"),
                exact(restitution),
                "a coefficient of restitution from 0 to 1",
            );
        }
        if let Some(damping) = damping {
            let path = format_args!("{path}.damping");
            self.number(path, damping, "a damping, N s/m", Sign::NotNegative);
        }
        if let Some(friction) = friction {
            let path = format_args!("{path}.friction");
            self.number(
                path,
                friction,
                "a coefficient of friction",
                Sign::NotNegative,
            );
        }
        if restitution.is_some() && damping.is_some() {
            self.problem(
                path,
                "both \"restitution\" and \"damping\"",
                "one of them, since either gives the dashpot",
            );
        }
    }

    pub(super) fn pairs<'a>(
        &mut self,
        file: &'a SceneFile,
        materials: &Names,
    ) -> Vec<(usize, usize, &'a format::Pair)> {
        let mut seen = HashMap::new();
        let mut pairs = Vec::new();
        for (index, pair) in file.pairs.iter().enumerate() {
            let path = format!("pairs[{index}]");
            self.contact_values(&path, pair.restitution, pair.damping, pair.friction);
            let mut resolved = [0; 2];
            let mut known = true;
            for (end, name) in pair.between.0.iter().enumerate() {
                let path = format_args!("{path}.between[{end}]");
                match self.resolve(path, name, materials) {
                    Some(material) => resolved[end] = material,
                    None => known = false,
                }
            }
            if !known {
                continue;
            }
            resolved.sort_unstable();
            if let Some(first) = seen.insert(resolved, index) {
                let [a, b] = &pair.between.0;
                self.problem(
                    format_args!("{path}.between"),
                    format!("{a:?} and {b:?}, as in pairs[{first}]"),
                    "each pair once",
                );
            }
            pairs.push((resolved[0], resolved[1], pair));
        }
        pairs
    }
}
