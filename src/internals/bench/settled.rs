use std::time::Duration;

use serde::Serialize;

use crate::model::error::Result;
use crate::simulation::Simulation;
use crate::state::layout::SphereLoad;

/// The most energy of a pile at rest; see [`Settled::energy_fraction`].
const AT_REST: f64 = 0.01;

/// State of rest of a scene before it is timed.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Settled {
    /// Steps that it took to settle.
    pub steps: u64,
    /// Simulated time, s.
    pub simulated_s: f64,
    /// Wall time, s.
    pub wall_s: f64,
    /// Kinetic energy per body that is not fixed, J.
    pub kinetic_energy_per_body_j: f64,
    /// Kinetic energy as a fraction of what it takes to lift each body by the radius of its
    /// smallest sphere; `None` without gravity.
    pub energy_fraction: Option<f64>,
    /// Contacts of a sphere, on average.
    pub contacts_per_sphere: f64,
    /// Whether it is at rest: `energy_fraction` is less than a hundredth, and there are contacts.
    pub at_rest: bool,
}

impl Settled {
    /// Figures of `simulation`, whose steps so far took `wall`.
    ///
    /// # Errors
    /// If the device is lost.
    pub(super) fn new(simulation: &mut Simulation, wall: Duration) -> Result<Settled> {
        let (steps, simulated_s) = (simulation.steps(), simulation.time());
        let kinetic_energy = simulation.summary()?.kinetic_energy;
        let loads = &simulation.state()?.sphere_loads;
        let contacts = |load: &SphereLoad| u64::from(load.sphere_contacts() + load.wall_contacts());
        let contacts: u64 = loads.iter().map(contacts).sum();
        let contacts_per_sphere = contacts as f64 / loads.len() as f64;

        let model = simulation.model();
        let movable = model.bodies.iter().filter(|body| !body.fixed);
        let lift: f64 = movable
            .clone()
            .map(|body| {
                let shape = &model.shapes[body.shape];
                let radii = shape.spheres.iter().map(|sphere| sphere.radius);
                shape.mass * model.gravity.length() * radii.fold(f64::INFINITY, f64::min)
            })
            .sum();
        let energy_fraction = (lift > 0.0).then(|| kinetic_energy / lift);
        Ok(Settled {
            steps,
            simulated_s,
            wall_s: wall.as_secs_f64(),
            kinetic_energy_per_body_j: kinetic_energy / movable.count().max(1) as f64,
            energy_fraction,
            contacts_per_sphere,
            at_rest: contacts > 0 && energy_fraction.is_some_and(|fraction| fraction < AT_REST),
        })
    }
}
