//! Changes at times known beforehand: gravity by a table, and servos that start and end.

use std::sync::Arc;

use glam::DVec3;

use super::Simulation;
use crate::model::error::Result;
use crate::model::wall::Dynamic;
use crate::state::{self, Field};
use crate::step::Patience;

impl Simulation {
    /// The number of steps after which the next change is due.
    pub(super) fn next_change(&self) -> Option<u64> {
        let times = self.step_times();
        let gravity = self.model.gravity_table.after(self.steps, times);
        let servos = self.servos().flat_map(|(_, servo)| servo.turns(times));
        let servos = servos.filter(|steps| *steps > self.steps);
        gravity.into_iter().chain(servos).min()
    }

    /// The servos, by their indices in [`State::dynamic_walls`](crate::state::State::dynamic_walls).
    fn servos(&self) -> impl Iterator<Item = (usize, crate::model::wall::Servo)> {
        let dynamic = self.model.walls.iter().filter_map(|wall| wall.dynamic);
        dynamic
            .enumerate()
            .filter_map(|(place, dynamic)| match dynamic {
                Dynamic::Servo(servo) => Some((place, servo)),
                Dynamic::Body(_) => None,
            })
    }

    /// Makes the changes that are due before the next step.
    pub(super) async fn change_in_time(&mut self, patience: Patience) -> Result<()> {
        let times = self.step_times();
        if let Some(gravity) = self.model.gravity_table.at(self.steps, times)
            && gravity != self.model.gravity
        {
            self.follow_gravity(patience, gravity).await?;
        }
        let turned = self.servos().filter_map(|(place, servo)| {
            let now = &self.state.dynamic_walls[place];
            let drive = match self.model.stages.has_wall(now.wall as usize) {
                true => servo.drive(self.steps, times),
                false => (0.0, DVec3::ZERO, DVec3::ZERO),
            };
            let mut then = *now;
            then.set_drive(drive);
            (then != *now).then_some((place, drive))
        });
        let turned: Vec<_> = turned.collect();
        if turned.is_empty() {
            return Ok(());
        }
        let fields = [Field::DynamicWalls, Field::Walls];
        self.fetch_by(patience, &fields).await?;
        for (place, drive) in turned {
            let own = &mut self.state.dynamic_walls[place];
            own.set_drive(drive);
            own.body.velocity = own.drift;
            let wall = &mut self.state.walls[own.wall as usize];
            wall.velocity = own.drift;
            wall.angular_velocity = own.body.angular_momentum;
        }
        self.engine.write(&fields, &self.state);
        Ok(())
    }

    /// Sets gravity to the present value of its table. The model keeps its hash, which covers the table.
    async fn follow_gravity(&mut self, patience: Patience, gravity: DVec3) -> Result<()> {
        let hash = self.model.hash();
        let model = Arc::make_mut(&mut self.model);
        model.gravity = gravity;
        model.stages.keep_hash(hash);
        self.state.params.gravity = gravity.as_vec3();
        self.state.groups = state::groups(&self.model);
        self.engine.write(&[Field::Groups], &self.state);
        self.wake_by(patience).await?;
        self.engine.write_params(&self.state);
        Ok(())
    }
}
