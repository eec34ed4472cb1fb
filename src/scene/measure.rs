//! Measures that a scene asks for, and what ends its run, ready to be used.

use std::ops::ControlFlow;

use glam::DVec3;
use pollster::block_on;

use super::Scene;
use super::format;
use crate::model::Model;
use crate::model::error::Result;
use crate::model::stage::{LOOK, Until};
use crate::simulation::Simulation;
use crate::simulation::analysis::fields::{Fields, Grid};
use crate::simulation::analysis::plan::{MixingPlan, Plan, Property, SlopePlan};
use crate::simulation::observe::Observer;

use crate::state::Field;
use crate::step::Patience;

fn vector(vector: &format::Vector) -> DVec3 {
    DVec3::from_array(vector.0)
}

impl format::Measure {
    /// The measures of each moment of a run of `model`.
    #[doc(hidden)]
    pub fn plan(&self, model: &Model) -> Plan {
        Plan {
            mixing: self.mixing.as_ref().map(|mixing| MixingPlan {
                property: match (&mixing.shape, &mixing.material, mixing.property) {
                    (Some(name), _, _) => Property::shapes_named(model, name),
                    (_, Some(name), _) => {
                        let named = |own: &String| own == name;
                        let index = model.materials.iter().position(named);
                        Property::Material(index.unwrap_or(usize::MAX))
                    }
                    (_, _, Some(format::Property::Volume)) => Property::Volume,
                    _ => Property::Mass,
                },
                side: mixing.cell,
            }),
            slope: self.slope.as_ref().map(|slope| SlopePlan {
                up: slope.up.as_ref().map_or(DVec3::Y, vector),
                along: vector(&slope.along),
            }),
        }
    }
}

impl format::Fields {
    /// Fields of no moment yet.
    ///
    /// # Errors
    /// As [`Fields::new`].
    pub fn start(&self) -> std::result::Result<Fields, String> {
        let grid = Grid {
            min: vector(&self.region.min),
            max: vector(&self.region.max),
            cells: self.cells.0.map(|count| count as usize),
        };
        Fields::new(grid, self.width)
    }
}

/// Ends a run when what its scene says under `until` comes to pass.
pub struct Ending {
    until: format::RunUntil,
    /// The wall whose power is looked at.
    wall: Option<usize>,
    /// Since when nothing has been too fast, s.
    at_rest_since: Option<f64>,
    /// Ends of windows of the power: time (s) and work so far (J).
    windows: Vec<(f64, f64)>,
    reached: Option<String>,
}

impl Ending {
    /// Returns the ending of a scene, if it says what ends its run.
    pub fn of(scene: &Scene) -> Option<Ending> {
        let until = scene.file.until.clone()?;
        let walls = &scene.model.walls;
        let named = until.steady.as_ref().map(|steady| steady.wall.as_str());
        Some(Ending {
            wall: named.and_then(|name| walls.iter().position(|wall| wall.name == name)),
            until,
            at_rest_since: None,
            windows: Vec::new(),
            reached: None,
        })
    }

    /// Condition that has come to pass, as a sentence about it goes on after "the run has ended: ".
    pub fn reached(&self) -> Option<&str> {
        self.reached.as_deref()
    }

    fn look(&mut self, simulation: &mut Simulation) -> Result<Option<String>> {
        let time = simulation.time();
        let until = &self.until;
        if let Some(steady) = &until.steady
            && let Some(wall) = self.wall
        {
            let due = self
                .windows
                .last()
                .is_none_or(|(last, _)| time - last >= steady.window);
            if due {
                simulation.fetch(&[Field::WallLoads])?;
                let own = &simulation.on_host().wall_loads[wall];
                let work = f64::from(own.work) + f64::from(own.work_rest);
                self.windows.push((time, work));
            }
        }
        if until.not_before.is_some_and(|not_before| time < not_before) {
            return Ok(None);
        }
        if let Some(wanted) = until.mass_out {
            let outlets = simulation.on_host().traffic.outlets.iter();
            let taken: f64 = outlets.map(|amount| amount.mass).sum();
            if taken >= wanted {
                return Ok(Some(format!("{taken} kg have gone out")));
            }
        }
        if let Some(steady) = &until.steady
            && let [.., (t0, w0), (t1, w1), (t2, w2)] = self.windows[..]
        {
            let (before, now) = ((w1 - w0) / (t1 - t0), (w2 - w1) / (t2 - t1));
            if now != 0.0 && (now - before).abs() <= steady.within * now.abs() {
                return Ok(Some(format!(
                    "the power of {} is steady, {now} W",
                    steady.wall
                )));
            }
        }
        let at_rest = match (until.speed_below, until.kinetic_energy_below) {
            (None, None) => return Ok(None),
            (speed, energy) => {
                if let Some(most) = speed
                    && block_on(simulation.largest_speed(Patience::Block))? < most
                {
                    Some((Until::SpeedBelow(most), "no body is faster than", "m/s"))
                } else if let Some(most) = energy
                    && block_on(simulation.kinetic_energy(Patience::Block))? < most
                {
                    let what = "the kinetic energy is less than";
                    Some((Until::KineticEnergyBelow(most), what, "J"))
                } else {
                    None
                }
            }
        };
        let Some((rest, what, unit)) = at_rest else {
            self.at_rest_since = None;
            return Ok(None);
        };
        let since = *self.at_rest_since.get_or_insert(time);
        // What has just been let go, or turns back at the top of its flight, looks as if it were at rest.
        let model = simulation.model();
        let wait = (2.0 * rest.time_of_fall(model)).max(LOOK as f64 * model.time_step);
        let limit = match rest {
            Until::SpeedBelow(limit) | Until::KineticEnergyBelow(limit) => limit,
            Until::Touched(_) => return Ok(None),
        };
        Ok((time - since >= wait).then(|| format!("{what} {limit} {unit}")))
    }
}

impl Observer for Ending {
    fn next(&self, step: u64) -> u64 {
        (step / LOOK + 1) * LOOK
    }

    fn observe(&mut self, simulation: &mut Simulation) -> Result<ControlFlow<()>> {
        self.reached = self.look(simulation)?;
        Ok(match self.reached {
            Some(_) => ControlFlow::Break(()),
            None => ControlFlow::Continue(()),
        })
    }
}
