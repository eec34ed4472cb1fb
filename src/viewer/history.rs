//! Statistics over time.

use std::time::Duration;

use web_time::Instant;

use super::PATIENCE;
use crate::math::parallel::prelude::*;
use crate::model::error::Result;
use crate::simulation::Simulation;
use crate::state::{Field, angular_velocity, body_orientation};

/// Most points of a curve; then every second one is dropped.
const MOST: usize = 2000;

/// Part of the time that statistics may take.
const PART: f64 = 0.05;

/// Statistics of a moment.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Moment {
    /// Simulated time, s.
    pub time: f64,
    /// Kinetic energy, J.
    pub kinetic: f64,
    /// Energy in the field of gravity, J.
    pub gravitational: f64,
    /// Mean number of contacts of a body that is not fixed.
    pub contacts: f64,
    /// Speed of the fastest body, m/s.
    pub fastest: f64,
    /// Mean speed, m/s.
    pub mean_speed: f64,
}

/// Figures of the run so far.
#[derive(Debug)]
pub(super) struct History {
    pub moments: Vec<Moment>,
    /// Steps of the simulation when the last one was taken.
    steps: Option<u64>,
    next: Instant,
    /// Every how many of the moments that are taken one is kept.
    every: u32,
    taken: u32,
}

impl History {
    pub fn new() -> History {
        History {
            moments: Vec::new(),
            steps: None,
            next: Instant::now(),
            every: 1,
            taken: 0,
        }
    }

    /// The last moment.
    pub fn last(&self) -> Moment {
        self.moments.last().copied().unwrap_or_default()
    }

    /// Takes a moment, if it is time for one.
    pub async fn follow(&mut self, simulation: &mut Simulation) -> Result<()> {
        let start = Instant::now();
        if start < self.next || self.steps == Some(simulation.steps()) {
            return Ok(());
        }
        self.steps = Some(simulation.steps());
        let moment = Moment::of(simulation).await?;
        self.taken += 1;
        // Somebody went back in time.
        self.moments.retain(|before| before.time < moment.time);
        if self.taken.is_multiple_of(self.every) || self.moments.is_empty() {
            self.moments.push(moment);
        }
        if self.moments.len() >= MOST {
            let mut index = 0;
            self.moments.retain(|_| {
                index += 1;
                index % 2 == 1
            });
            self.every *= 2;
        }
        let pause = start.elapsed().div_f64(PART);
        self.next = Instant::now() + pause.max(Duration::from_millis(50));
        Ok(())
    }
}

impl Moment {
    pub async fn of(simulation: &mut Simulation) -> Result<Moment> {
        let fields = [Field::Bodies, Field::SphereLoads];
        simulation.fetch_by(PATIENCE, &fields).await?;
        let (state, model) = (simulation.on_host(), simulation.model());
        let sums = state
            .bodies
            .par_iter()
            .zip(&model.bodies[..])
            .filter(|(_, start)| !start.fixed)
            .map(|(body, start)| {
                let clump = &model.shapes[start.shape];
                let speed = body.velocity.as_dvec3().length();
                let spin = angular_velocity(body, clump.inertia);
                let own = body_orientation(body).conjugate() * spin;
                let kinetic = 0.5 * (clump.mass * speed * speed + (clump.inertia * own).dot(own));
                let height = model.gravity.dot(state.position(body));
                let contacts = f64::from(state.load(body).contacts);
                [kinetic, -clump.mass * height, contacts, speed, 1.0, speed]
            })
            .reduce(
                || [0.0; 6],
                |a, b| {
                    let mut sum: [f64; 6] = std::array::from_fn(|k| a[k] + b[k]);
                    sum[5] = a[5].max(b[5]);
                    sum
                },
            );
        let [kinetic, gravitational, contacts, speed, count, fastest] = sums;
        let count = count.max(1.0);
        Ok(Moment {
            time: simulation.time(),
            kinetic,
            gravitational,
            contacts: contacts / count,
            fastest,
            mean_speed: speed / count,
        })
    }
}
