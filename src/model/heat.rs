//! Heat that bodies hold, and pass on through contacts.

use super::ModelBody;
use super::clump::Clump;

/// Temperature of bodies for which a scene gives none, K.
pub const ROOM: f64 = 293.15;

/// Heat in a scene: each body has one temperature, and heat flows through contacts.
///
/// Two bodies that touch exchange the power q = 2 k a ΔT (Batchelor and O'Brien 1977). The radius of the contact is
/// a = sqrt(R δ), as for Hertz's law, with the effective radius R and the overlap δ; it does not depend on the contact law. The
/// conductivity k is the harmonic mean 2 k₁ k₂ / (k₁ + k₂) of those of the materials. Fixed bodies and walls keep their
/// temperature.
#[derive(Clone, Debug, PartialEq)]
pub struct Heat {
    /// Thermal conductivity of each material, W/(m K); 0 for a material that conducts no heat.
    pub conductivities: Vec<f64>,
    /// Heat capacity of a body of each shape, J/K.
    pub capacities: Vec<f64>,
    /// Temperature of each wall, K; a wall without a temperature conducts no heat.
    pub walls: Vec<Option<f64>>,
}

/// Thermal properties of a material.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Thermal {
    /// Density, kg/m³.
    pub density: f64,
    /// Thermal conductivity, W/(m K).
    pub conductivity: f64,
    /// Specific heat capacity, J/(kg K).
    pub heat_capacity: f64,
}

impl Heat {
    /// Heat in bodies of `shapes` made of `materials`, and in `walls` of given temperatures (K).
    ///
    /// In a shape of several materials, the share of each material in the mass is that of its spheres, each counted whole.
    pub fn new(materials: &[Thermal], shapes: &[Clump], walls: Vec<Option<f64>>) -> Heat {
        let capacity = |clump: &Clump| {
            let parts = clump.spheres.iter().zip(&clump.materials);
            let (mut mass, mut capacity) = (0.0, 0.0);
            for (sphere, &material) in parts {
                let own = materials[material];
                let part = own.density * sphere.radius.powi(3);
                mass += part;
                capacity += part * own.heat_capacity;
            }
            clump.mass * capacity / mass
        };
        Heat {
            conductivities: materials.iter().map(|own| own.conductivity).collect(),
            capacities: shapes.iter().map(capacity).collect(),
            walls,
        }
    }

    /// Conductivity of a contact of two materials, W/(m K): the harmonic mean of theirs.
    pub fn conductivity(&self, a: usize, b: usize) -> f64 {
        let [a, b] = [a, b].map(|material| self.conductivities[material]);
        if a == 0.0 || b == 0.0 {
            return 0.0;
        }
        2.0 * a * b / (a + b)
    }

    /// The longest time step (s) in which no temperature overshoots those around it.
    ///
    /// It holds as long as each sphere touches at most twelve others like it, and no overlap exceeds `overlap` (a fraction of
    /// the radius). The temperature of a body follows those around it at the rate (sum of 2 k a) / C, with the heat capacity C.
    /// An explicit step must be shorter than the inverse of that rate.
    pub fn stable_time_step(&self, shapes: &[Clump], bodies: &[ModelBody], overlap: f64) -> f64 {
        const CONTACTS: f64 = 12.0;
        let used = bodies.iter().filter(|body| !body.fixed);
        let mut longest = f64::INFINITY;
        let mut seen = vec![false; shapes.len()];
        for body in used {
            if std::mem::replace(&mut seen[body.shape], true) {
                continue;
            }
            let clump = &shapes[body.shape];
            let spheres = clump.spheres.iter().zip(&clump.materials);
            let conductance = spheres.map(|(sphere, &material)| {
                let width = sphere.radius * (0.5 * overlap).sqrt();
                CONTACTS * 2.0 * self.conductivity(material, material) * width
            });
            let most = conductance.fold(0.0, f64::max);
            longest = longest.min(self.capacities[body.shape] / most);
        }
        longest
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::clump::{ClumpSphere, summed_spheres};
    use glam::DVec3;

    #[test]
    fn a_body_holds_what_its_parts_hold() {
        let spheres = [(0.0, 0.01), (0.1, 0.02)].map(|(x, radius)| ClumpSphere {
            center: DVec3::new(x, 0.0, 0.0),
            radius,
        });
        let of = |density, heat_capacity| Thermal {
            density,
            conductivity: 1.0,
            heat_capacity,
        };
        let materials = [of(1000.0, 500.0), of(2000.0, 100.0)];
        let volume = |radius: f64| 4.0 / 3.0 * std::f64::consts::PI * radius.powi(3);
        let (light, heavy) = (1000.0 * volume(0.01), 2000.0 * volume(0.02));
        let mut properties = summed_spheres(&spheres, 1000.0);
        properties.mass = light + heavy;
        let clump = Clump::of_materials("dumbbell", vec![0, 1], &spheres, properties);
        let heat = Heat::new(&materials, &[clump], Vec::new());
        let expected = 500.0 * light + 100.0 * heavy;
        assert!((heat.capacities[0] / expected - 1.0).abs() < 1e-12);
    }

    #[test]
    fn the_conductivity_of_a_contact_is_the_harmonic_mean() {
        let heat = Heat {
            conductivities: vec![1.0, 3.0, 0.0],
            capacities: Vec::new(),
            walls: Vec::new(),
        };
        assert_eq!(heat.conductivity(0, 1), 1.5);
        assert_eq!(heat.conductivity(1, 1), 3.0);
        assert_eq!(heat.conductivity(1, 2), 0.0);
    }
}
