//! Temperatures, and what materials are to heat.

use std::collections::HashSet;

use super::super::error::rounded;
use super::super::format::SceneFile;
use super::DEEP_OVERLAP;
use super::check::{Check, Names, Sign};
use super::clumps::Shapes;
use super::usage::used_shapes;
use crate::model::ModelBody;
use crate::model::clump::Clump;
use crate::model::heat::{Heat, Thermal};
use crate::model::quantity::Quantities;

/// Whether a scene has heat: one of its materials conducts it.
pub(super) fn is_on(file: &SceneFile) -> bool {
    let mut materials = file.materials.0.iter();
    materials.any(|(_, material)| material.conductivity.is_some())
}

impl Check {
    /// Conductivities, capacities and temperatures that materials and walls give.
    pub(super) fn heat(&mut self, file: &SceneFile, names: &Names, shapes: &Shapes) {
        let used = used_shapes(file, names).chain(file.shapes.0.len()..shapes.clumps.len());
        let of_bodies: HashSet<usize> = used
            .filter_map(|shape| shapes.clumps[shape].as_ref())
            .flat_map(|clump| clump.materials.iter().copied())
            .collect();
        for (index, (name, material)) in file.materials.0.iter().enumerate() {
            let path = format!("materials.{name}");
            if let Some(conductivity) = material.conductivity {
                let path = format_args!("{path}.conductivity");
                let what = "a conductivity, W/(m K)";
                self.number(path, conductivity, what, Sign::NotNegative);
            }
            let path = format!("{path}.heat_capacity");
            match material.heat_capacity {
                Some(capacity) => {
                    let what = "a heat capacity, J/(kg K)";
                    self.number(path, capacity, what, Sign::Positive);
                }
                None if is_on(file) && of_bodies.contains(&index) => {
                    self.problem(
                        path,
                        "nothing",
                        "a heat capacity (J/(kg K)), which the materials of bodies need where one has \
                         a \"conductivity\"",
                    );
                }
                None => (),
            }
        }
        let planes = file.planes.iter().map(|plane| plane.temperature);
        let walls = file.walls.iter().map(|wall| wall.temperature);
        for (index, temperature) in planes.enumerate() {
            self.quantities(&format!("planes[{index}]"), Quantities { temperature });
        }
        for (index, temperature) in walls.enumerate() {
            self.quantities(&format!("walls[{index}]"), Quantities { temperature });
        }
    }

    /// Heat in a scene that is right; `bodies` are some of each kind, and a step takes `time_step` (s).
    pub(super) fn heat_of(
        &mut self,
        file: &SceneFile,
        shapes: &[Clump],
        bodies: impl FnOnce() -> Vec<ModelBody>,
        time_step: f64,
    ) -> Option<Heat> {
        if !is_on(file) {
            return None;
        }
        let materials = file.materials.0.iter();
        let materials: Vec<Thermal> = materials
            .map(|(_, material)| Thermal {
                density: material.density,
                conductivity: material.conductivity.unwrap_or(0.0),
                heat_capacity: material.heat_capacity.unwrap_or(0.0),
            })
            .collect();
        let planes = file.planes.iter().map(|plane| plane.temperature);
        let walls = file.walls.iter().map(|wall| wall.temperature);
        let heat = Heat::new(&materials, shapes, planes.chain(walls).collect());
        let longest = heat.stable_time_step(shapes, &bodies(), DEEP_OVERLAP);
        if time_step > longest {
            self.warnings.push(format!(
                "contact.time_step: found {} s, expected at most {} s, or temperatures may oscillate where a body \
                 has many contacts; raise \"heat_capacity\", lower \"conductivity\", or take a smaller step",
                rounded(time_step),
                rounded(longest)
            ));
        }
        Some(heat)
    }
}
