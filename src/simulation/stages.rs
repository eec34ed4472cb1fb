//! Stages of a run, entered between steps, as [`mod@crate::model::stage`] defines them.

use std::ops::ControlFlow;
use std::sync::Arc;

use super::Simulation;
use crate::model::Model;
use crate::model::error::Result;
use crate::model::stage::{LOOK, Stage, Until};
use crate::model::steps::StepTimes;
use crate::model::wall;
use crate::state::{self, Field};
use crate::step::Patience;

/// Overlap of a sphere and a wall that comes, as a fraction of the radius, from which on there is a warning.
const DEEP: f64 = 0.05;

impl Simulation {
    /// Index (from 0) and name of the present stage; `None` if the model has no stages.
    pub fn stage(&self) -> Option<(usize, &str)> {
        let stage = self.state.traffic.stages.len();
        let named = self.model.stages.list.get(stage)?;
        Some((stage, &named.name))
    }

    /// Name and start (simulated time, s) of each stage that has begun.
    pub fn stages(&self) -> impl Iterator<Item = (&str, f64)> {
        let names = self
            .model
            .stages
            .list
            .iter()
            .map(|stage| stage.name.as_str());
        let starts = [0]
            .into_iter()
            .chain(self.state.traffic.stages.iter().copied());
        names.zip(starts.map(|steps| self.time_after(steps)))
    }

    /// Simulated time after a number of steps, s.
    fn time_after(&self, steps: u64) -> f64 {
        self.step_times().after(steps as f64)
    }

    /// Times of the steps from now on.
    pub(super) fn step_times(&self) -> StepTimes {
        self.state.step_times(&self.model)
    }

    /// The next number of steps after which the present stage may end.
    pub(super) fn next_stage(&self) -> Option<u64> {
        let stage = &self
            .model
            .stages
            .list
            .get(self.state.traffic.stages.len())?;
        let end = stage.end?;
        let after = self.last_step_of_stage(end.after);
        Some(match end.until {
            Some(_) => after.min((self.steps / LOOK + 1) * LOOK),
            None => after,
        })
    }

    /// The number of steps after which the present stage ends if it lasts `after`, s.
    fn last_step_of_stage(&self, after: f64) -> u64 {
        let start = self.state.traffic.stages.last().copied().unwrap_or(0);
        let steps = (after / self.model.time_step).round();
        start.saturating_add(steps as u64)
    }

    /// Enters the next stage if the present one ends before the next step. Returns whether it did.
    pub(super) async fn enter_stage(&mut self, patience: Patience) -> Result<bool> {
        let before = self.state.traffic.stages.len();
        while self.ends(patience).await? {
            let next = self.state.traffic.stages.len() + 1;
            self.state.traffic.stages.push(self.steps);
            let time = self.time_after(self.steps);
            let model = Arc::clone(&self.model);
            let stage = &model.stages.list[next];
            tracing::info!(stage = stage.name, time, "a stage begins");
            stage.begin(Arc::make_mut(&mut self.model), time);

            self.fetch_by(patience, &[Field::Walls]).await?;
            let mut changed = Vec::new();
            if stage.gravity.is_some() {
                self.state.params.gravity = self.model.gravity.as_vec3();
                self.state.groups = state::groups(&self.model);
                changed.push(Field::Groups);
            }
            for (index, _) in &stage.motions {
                self.set_moving(*index, time);
            }
            self.warn_of_walls(patience, stage).await?;
            let walls_change = self.state.set_walls_there(&self.model);
            self.wall_probes.clear();
            if !stage.motions.is_empty() || walls_change {
                self.state.stats[0].stale = 1;
                changed.push(Field::Walls);
            }
            if !stage.pairs.is_empty() {
                self.state.set_pairs(state::pairs(&self.model));
                changed.extend([Field::Pairs, Field::Geometry]);
            }
            self.wake_by(patience).await?;
            self.engine.write(&changed, &self.state);
            self.engine.write_params(&self.state);
            if changed.contains(&Field::Walls) {
                self.engine.write_stale(&self.state);
            }
        }
        Ok(self.state.traffic.stages.len() > before)
    }

    /// Has a wall whose motion is another from `time` (s) on move so. The drive of a servo follows in time.
    fn set_moving(&mut self, index: usize, time: f64) {
        let wall = &self.model.walls[index];
        if wall.motion.is_some() {
            self.state.set_kinematic(index, wall.clone(), time);
        }
    }

    /// Warns of walls that come where bodies are.
    async fn warn_of_walls(&mut self, patience: Patience, stage: &Stage) -> Result<()> {
        for (index, _) in stage.walls.iter().filter(|(_, comes)| *comes) {
            let domain = self.model.domain.as_ref();
            let mut probe = wall::Probe::new(&self.model.walls[*index], domain);
            probe.move_to(self.state.wall(*index).pose);
            let mut count = 0;
            let read = self.for_each_part_by(patience, &[Field::Bodies], |part, _| {
                let deep = part.spheres().filter(|sphere| {
                    let least = DEEP * sphere.radius;
                    probe.depth(sphere.position, sphere.radius, least).is_some()
                });
                count += deep.count();
                ControlFlow::Continue(())
            });
            read.await?;
            if count > 0 {
                tracing::warn!(
                    stage = stage.name,
                    wall = probe.name,
                    spheres = count,
                    "a wall comes where spheres are, and will push them out"
                );
            }
        }
        Ok(())
    }

    /// Whether the present stage ends before the next step.
    async fn ends(&mut self, patience: Patience) -> Result<bool> {
        let begun = &self.state.traffic.stages;
        let stage = self.model.stages.list.get(begun.len());
        let Some(end) = stage.and_then(|stage| stage.end) else {
            return Ok(false);
        };
        if self.steps >= self.last_step_of_stage(end.after) {
            return Ok(true);
        }
        let lasted = self.steps - begun.last().copied().unwrap_or(0);
        let looked_at = lasted > 0 && self.steps.is_multiple_of(LOOK);
        let Some(until) = end.until.filter(|_| looked_at) else {
            return Ok(false);
        };
        if self.model.time_step * (lasted as f64) < 2.0 * until.time_of_fall(&self.model) {
            return Ok(false);
        }
        Ok(match until {
            Until::SpeedBelow(speed) => self.largest_speed(patience).await? < speed,
            Until::KineticEnergyBelow(energy) => self.kinetic_energy(patience).await? < energy,
            Until::Touched(wall) => {
                self.fetch_by(patience, &[Field::WallLoads]).await?;
                self.state.wall_loads[wall].force != glam::Vec3::ZERO
            }
        })
    }

    /// Returns to the first model, and enters again all stages that had begun after `steps` steps.
    pub(super) fn enter_stages_again(&mut self, steps: u64) {
        let Some(first) = self.first_model.clone() else {
            return;
        };
        if first.stages.list.is_empty() {
            return;
        }
        let mut model = Model::clone(&first);
        let mut moved = Vec::new();
        for (index, start) in self.state.traffic.stages.iter().enumerate() {
            let stage = &first.stages.list[index + 1];
            stage.begin(&mut model, self.time_after(*start));
            moved.extend(stage.motions.iter().map(|(wall, _)| *wall));
        }
        self.model = Arc::new(model);
        for index in moved {
            self.set_moving(index, self.time_after(steps));
        }
        self.state.set_walls_there(&self.model);
        self.wall_probes.clear();
    }
}
