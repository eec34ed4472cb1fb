//! What can be changed while a simulation runs.

use std::sync::Arc;

use glam::DVec3;

use super::Simulation;
use crate::error::{Error, Result};
use crate::model::forces::{Drag, Push};
use crate::model::pull::Pull;
use crate::model::{Model, PairLaw};
use crate::simulation::snapshot::BodyState;
use crate::state::layout::{PUSH, THRUST};
use crate::state::{self, Field};

impl Simulation {
    /// Sets the acceleration of gravity, m/s².
    ///
    /// # Errors
    /// If it is not finite.
    pub fn set_gravity(&mut self, gravity: DVec3) -> Result<()> {
        if !gravity.is_finite() {
            return Err(Error::Tuned(format!(
                "gravity cannot be {gravity}; three numbers are expected, m/s²"
            )));
        }
        self.model_mut().gravity = gravity;
        self.state.params.gravity = gravity.as_vec3();
        self.set_groups();
        self.upload_params();
        Ok(())
    }

    /// Sets the drag of all bodies, but of those in groups that have another than the first.
    ///
    /// # Errors
    /// If a number makes no sense, or the device is lost or has no memory left.
    pub fn set_drag(&mut self, drag: Drag) -> Result<()> {
        let sane = |number: f64| number >= 0.0 && number.is_finite();
        if !(sane(drag.linear) && sane(drag.angular)) {
            return Err(Error::Tuned(format!(
                "drag cannot be {} N s/m and {} N m s; numbers from 0 on are expected",
                drag.linear, drag.angular
            )));
        }
        let groups = &mut self.model_mut().forces.groups;
        let before = groups[0].drag;
        for group in groups.iter_mut().filter(|group| group.drag == before) {
            group.drag = drag;
        }
        self.set_groups();
        if self.state.params.forces == 1 {
            return Ok(());
        }
        self.fetch(&Field::ALL)?;
        self.state.start_forces();
        self.restart()
    }

    /// Has a force that is bound to a key act, or not: those of [`Forces::pushes`](crate::model::forces::Forces::pushes) with this key. Returns whether
    /// there is any.
    pub fn set_key(&mut self, key: char, down: bool) -> bool {
        let model = Arc::clone(&self.model);
        let bound = |push: &Push| push.key.is_some_and(|own| own.eq_ignore_ascii_case(&key));
        let mut found = false;
        for action in &mut self.state.actions {
            let push = matches!(action.kind, PUSH | THRUST);
            if push && bound(&model.forces.pushes[action.source as usize]) {
                action.acts = down.into();
                found = true;
            }
        }
        if found {
            self.engine.write(&[Field::Actions], &self.state);
        }
        found
    }

    /// Wakes all bodies that sleep.
    ///
    /// # Errors
    /// If the device is lost.
    pub fn wake(&mut self) -> Result<()> {
        if self.state.params.sleep_steps == 0 {
            return Ok(());
        }
        self.fetch(&[Field::Bodies])?;
        for body in &mut self.state.bodies {
            body.still = 0;
        }
        self.engine.write(&[Field::Bodies], &self.state);
        Ok(())
    }

    fn set_groups(&mut self) {
        self.state.groups = state::groups(&self.model);
        self.engine.write(&[Field::Groups], &self.state);
    }

    /// Sets the time step, s. Simulated time goes on from where it is. Whether the step is stable is
    /// for the caller to see: [`stable_time_step`](crate::scene::contact::stable_time_step).
    ///
    /// # Errors
    /// If it is not greater than 0.
    pub fn set_time_step(&mut self, time_step: f64) -> Result<()> {
        if !(time_step > 0.0 && time_step.is_finite()) {
            return Err(Error::Tuned(format!(
                "the time step cannot be {time_step} s; a time greater than 0 is expected"
            )));
        }
        let time = self.time();
        self.model_mut().time_step = time_step;
        let earlier = time - self.steps as f64 * time_step;
        self.state.set_time_step(time_step, earlier);
        self.upload_params();
        Ok(())
    }

    /// Sets how two materials, given by their indices, touch.
    ///
    /// # Errors
    /// If one of them does not exist, a number makes no sense, or the contacts would have to
    /// remember more, or act farther away, than those with which the simulation was started.
    pub fn set_pair(&mut self, a: usize, b: usize, law: PairLaw) -> Result<()> {
        let count = self.model.materials.len();
        if a >= count || b >= count {
            return Err(Error::Tuned(format!(
                "there are no materials {a} and {b}; the scene has {count}, numbered from 0"
            )));
        }
        let sane = |number: f64| number >= 0.0 && number.is_finite();
        if let Some((name, wrong)) = law.numbers().find(|(_, number)| !sane(*number)) {
            return Err(Error::Tuned(format!(
                "a contact cannot have the {} {wrong}; a number from 0 on is expected",
                name.replace('_', " ")
            )));
        }
        let mut model = Model::clone(&self.model);
        model.pairs[a * count + b] = law;
        model.pairs[b * count + a] = law;
        if !self.state.holds(&model) {
            return Err(Error::Tuned(
                "contacts cannot come to remember more, nor to act farther away, while a simulation \
                 runs: rolling springs and cohesion must be in the scene from the start"
                    .to_owned(),
            ));
        }
        self.state.set_pairs(state::pairs(&model));
        self.model = Arc::new(model);
        self.engine
            .write(&[Field::Pairs, Field::Geometry], &self.state);
        self.wake()
    }

    /// Sets the temperature of a wall, K, or has it conduct nothing.
    ///
    /// # Errors
    /// If the wall does not exist, the temperature is not greater than 0, or the scene has no heat.
    pub fn set_wall_temperature(&mut self, index: usize, temperature: Option<f64>) -> Result<()> {
        let count = self.model.walls.len();
        if index >= count {
            return Err(Error::Tuned(format!(
                "there is no wall {index}; the scene has {count}, numbered from 0"
            )));
        }
        if let Some(wrong) = temperature.filter(|t| !(*t > 0.0 && t.is_finite())) {
            return Err(Error::Tuned(format!(
                "a wall cannot have the temperature {wrong} K; a number greater than 0 is expected"
            )));
        }
        let Some(heat) = &mut self.model_mut().heat else {
            return Err(Error::Tuned(
                "a wall has no temperature in a scene without heat: a material must have a conductivity from \
                 the start"
                    .to_owned(),
            ));
        };
        heat.walls[index] = temperature;
        let walls = heat.walls.clone();
        self.state.set_wall_temperatures(&walls);
        self.engine.write(&[Field::Geometry], &self.state);
        Ok(())
    }

    /// From now on, pulls a body, or none.
    ///
    /// # Errors
    /// If the body does not exist, or a number makes no sense.
    pub fn set_pull(&mut self, pull: Option<Pull>) -> Result<()> {
        if let Some(pull) = pull {
            let count = self.state.bodies.len();
            if pull.body as usize >= count {
                return Err(Error::NoSuchBody {
                    body: pull.body,
                    count,
                });
            }
            let sane = |number: f64| number >= 0.0 && number.is_finite();
            if !(sane(pull.stiffness)
                && sane(pull.damping)
                && pull.point.is_finite()
                && pull.target.is_finite())
            {
                return Err(Error::Tuned(format!("a body cannot be pulled by {pull:?}")));
            }
        }
        self.state.set_pull(pull);
        self.upload_params();
        Ok(())
    }

    /// Moves a wall by a way, m. It is somewhere else at once, and has no velocity from that.
    ///
    /// # Errors
    /// If the wall does not exist, or moves by itself, or the way is not finite, or the device is lost.
    pub fn move_wall(&mut self, index: usize, way: DVec3) -> Result<()> {
        let count = self.model.walls.len();
        if index >= count {
            return Err(Error::Tuned(format!(
                "there is no wall {index}; the scene has {count}, numbered from 0"
            )));
        }
        if !way.is_finite() {
            return Err(Error::Tuned(format!("a wall cannot be moved by {way}")));
        }
        let wall = &self.model.walls[index];
        if wall.motion.is_some() || wall.loaded.is_some() {
            return Err(Error::Tuned(format!(
                "the wall {index} ({}) moves by itself, and cannot be moved",
                wall.name
            )));
        }
        self.fetch(&[Field::Walls])?;
        self.model_mut().walls[index].pose.position += way;
        let size = self.state.params.cell_size.as_dvec3();
        let wall = &mut self.state.walls[index];
        let place = wall.offset.as_dvec3() + way;
        let cells = (place / size).floor();
        wall.cell += cells.as_ivec3();
        wall.offset = (place - cells * size).as_vec3();
        // It may be near spheres now that do not have it in their lists.
        self.state.stats[0].stale = 1;
        self.engine.write(&[Field::Walls], &self.state);
        self.engine.write_stale(&self.state);
        self.wake()
    }

    /// A body as it is now.
    ///
    /// # Errors
    /// If it does not exist, or the device is lost.
    pub fn body(&mut self, index: u32) -> Result<BodyState> {
        let count = self.state.bodies.len();
        if index as usize >= count {
            return Err(Error::NoSuchBody { body: index, count });
        }
        self.engine.read_body(index as usize, &mut self.state)?;
        Ok(self.fetched().body(index as usize))
    }

    fn model_mut(&mut self) -> &mut Model {
        Arc::make_mut(&mut self.model)
    }

    fn upload_params(&mut self) {
        self.engine.write_params(&self.state);
    }
}
