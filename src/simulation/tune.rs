//! Changes of a scene's settings while a simulation runs.

use std::sync::Arc;

use glam::DVec3;

use super::Simulation;
use crate::model::error::{Error, Result};
use crate::model::forces::{AppliedForce, Drag};
use crate::model::handle::{MaterialHandle, WallHandle};
use crate::model::pull::Pull;
use crate::model::wall::motion::Rotation;
use crate::model::wall::{Motion, Pose};
use crate::model::{Model, PairLaw};
use crate::simulation::snapshot::{BodyState, WallLoad};
use crate::state::layout::{APPLIED, PUSH, THRUST};
use crate::state::{self, Field};
use crate::step::Patience;

impl Simulation {
    /// Sets the acceleration of gravity, m/s².
    ///
    /// # Errors
    /// If it is not finite.
    pub fn set_gravity(&mut self, gravity: DVec3) -> Result<()> {
        if !gravity.is_finite() {
            return Err(Error::Tuned(format!(
                "gravity cannot be {gravity}; expected three numbers, m/s²"
            )));
        }
        self.model_mut().gravity = gravity;
        self.state.params.gravity = gravity.as_vec3();
        self.set_groups();
        self.upload_params();
        Ok(())
    }

    /// Sets the drag of all bodies, except those in groups with a drag of their own.
    ///
    /// # Errors
    /// If a number makes no sense, or the device is lost or has no memory left.
    pub fn set_drag(&mut self, drag: Drag) -> Result<()> {
        pollster::block_on(self.set_drag_by(Patience::Block, drag))
    }

    /// [`Simulation::set_drag`], asynchronous.
    pub(crate) async fn set_drag_by(&mut self, patience: Patience, drag: Drag) -> Result<()> {
        let sane = |number: f64| number >= 0.0 && number.is_finite();
        if !(sane(drag.linear) && sane(drag.angular)) {
            return Err(Error::Tuned(format!(
                "drag cannot be {} N s/m and {} N m s; expected numbers of 0 or more",
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
        self.fetch_by(patience, &Field::ALL).await?;
        self.state.start_forces();
        self.restart_by(patience).await
    }

    /// Switches the applied forces of a key on or off: those of
    /// [`Forces::applied`](crate::model::forces::Forces::applied) with this key. Returns whether there are any.
    pub fn set_key(&mut self, key: char, down: bool) -> bool {
        let model = Arc::clone(&self.model);
        let bound =
            |push: &AppliedForce| push.key.is_some_and(|own| own.eq_ignore_ascii_case(&key));
        let mut found = false;
        for action in &mut self.state.actions {
            let push = matches!(action.kind, PUSH | THRUST);
            if push
                && action.source != APPLIED
                && bound(&model.forces.applied[action.source as usize])
            {
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
        pollster::block_on(self.wake_by(Patience::Block))
    }

    pub(super) async fn wake_by(&mut self, patience: Patience) -> Result<()> {
        if self.state.params.sleep_steps == 0 {
            return Ok(());
        }
        let are_awake = self.engine.wake();
        if !are_awake {
            self.fetch_by(patience, &[Field::Bodies]).await?;
        }
        for body in &mut self.state.bodies {
            body.still = 0;
        }
        if !are_awake {
            self.engine.write(&[Field::Bodies], &self.state);
        }
        Ok(())
    }

    fn set_groups(&mut self) {
        self.state.groups = state::groups(&self.model);
        self.engine.write(&[Field::Groups], &self.state);
    }

    /// Sets the time step, s. Simulated time continues. The caller must ensure that the step is stable:
    /// [`stable_time_step`](crate::scene::contact::stable_time_step).
    ///
    /// # Errors
    /// If it is not greater than 0.
    pub fn set_time_step(&mut self, time_step: f64) -> Result<()> {
        if !(time_step > 0.0 && time_step.is_finite()) {
            return Err(Error::Tuned(format!(
                "the time step cannot be {time_step} s; expected a time greater than 0"
            )));
        }
        let time = self.time();
        self.model_mut().time_step = time_step;
        let earlier = time - self.steps as f64 * time_step;
        self.state.set_time_step(time_step, earlier);
        self.set_epoch();
        self.upload_params();
        Ok(())
    }

    /// Sets the contact law of two materials.
    ///
    /// # Errors
    /// If one of them does not exist, a number makes no sense, or the contacts would need more history, or act at a
    /// larger distance, than those at the start.
    pub fn set_pair(&mut self, a: MaterialHandle, b: MaterialHandle, law: PairLaw) -> Result<()> {
        pollster::block_on(self.set_pair_by(Patience::Block, a, b, law))
    }

    /// [`Simulation::set_pair`], asynchronous.
    pub(crate) async fn set_pair_by(
        &mut self,
        patience: Patience,
        a: MaterialHandle,
        b: MaterialHandle,
        law: PairLaw,
    ) -> Result<()> {
        let (a, b) = (a.index(), b.index());
        let count = self.model.materials.len();
        if a >= count || b >= count {
            return Err(Error::Tuned(format!(
                "there are no materials {a} and {b}; the scene has {count}, numbered from 0"
            )));
        }
        let sane = |number: f64| number >= 0.0 && number.is_finite();
        if let Some((name, wrong)) = law.numbers().find(|(_, number)| !sane(*number)) {
            return Err(Error::Tuned(format!(
                "a contact cannot have the {} {wrong}; expected a number of 0 or more",
                name.replace('_', " ")
            )));
        }
        let mut model = Model::clone(&self.model);
        model.stages.forget_hash();
        model.set_pair(a, b, law);
        if !self.state.holds(&model) {
            return Err(Error::Tuned(
                "a running simulation cannot give contacts more history or a longer \
                 range: rolling springs and cohesion must be in the scene from the start"
                    .to_owned(),
            ));
        }
        self.state.set_pairs(state::pairs(&model));
        self.model = Arc::new(model);
        self.engine
            .write(&[Field::Pairs, Field::Geometry], &self.state);
        self.wake_by(patience).await
    }

    /// Sets the temperature of a wall, K; `None` makes it an insulator.
    ///
    /// # Errors
    /// If the wall does not exist, the temperature is not greater than 0, or the scene has no heat.
    pub fn set_wall_temperature(
        &mut self,
        wall: WallHandle,
        temperature: Option<f64>,
    ) -> Result<()> {
        let index = self.check_wall(wall)?;
        if let Some(wrong) = temperature.filter(|t| !(*t > 0.0 && t.is_finite())) {
            return Err(Error::Tuned(format!(
                "a wall cannot have the temperature {wrong} K; expected a number greater than 0"
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

    /// Pulls a body from now on, or none.
    ///
    /// # Errors
    /// If the body does not exist, or a number makes no sense.
    #[doc(hidden)]
    pub fn set_pull(&mut self, pull: Option<Pull>) -> Result<()> {
        if let Some(pull) = pull {
            let count = self.body_count();
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

    /// Displaces a wall by `way`, m, at once and without a velocity.
    ///
    /// # Errors
    /// If the wall does not exist or has a motion, `way` is not finite, or the device is lost.
    pub fn move_wall(&mut self, wall: WallHandle, way: DVec3) -> Result<()> {
        pollster::block_on(self.move_wall_by(Patience::Block, wall, way))
    }

    /// [`Simulation::move_wall`], asynchronous.
    pub(crate) async fn move_wall_by(
        &mut self,
        patience: Patience,
        wall: WallHandle,
        way: DVec3,
    ) -> Result<()> {
        let index = self.check_wall(wall)?;
        if !way.is_finite() {
            return Err(Error::Tuned(format!("a wall cannot be moved by {way}")));
        }
        let wall = &self.model.walls[index];
        if wall.motion.is_some() || wall.dynamic.is_some() {
            return Err(Error::Tuned(format!(
                "the wall {index} ({}) moves by itself, and cannot be moved",
                wall.name
            )));
        }
        self.fetch_by(patience, &[Field::Walls]).await?;
        self.model_mut().walls[index].pose.position += way;
        let size = self.state.params.cell_size.as_dvec3();
        let wall = &mut self.state.walls[index];
        let place = wall.offset.as_dvec3() + way;
        let cells = (place / size).floor();
        wall.cell += cells.as_ivec3();
        wall.offset = (place - cells * size).as_vec3();
        // Spheres that are now near the wall may not have it in their lists.
        self.state.stats[0].stale = 1;
        self.engine.write(&[Field::Walls], &self.state);
        self.engine.write_stale(&self.state);
        self.wake_by(patience).await
    }

    /// Moves a wall at a velocity (m/s) and an angular velocity (rad/s) about the origin of its own frame, from its
    /// present position on. It replaces the wall's motion. A caller may set it before each step, to drive the wall.
    ///
    /// # Errors
    /// If the wall does not exist or is dynamic, or a number is not finite; if the device is lost, or has no memory
    /// left.
    pub fn set_wall_velocity(
        &mut self,
        wall: WallHandle,
        velocity: DVec3,
        angular_velocity: DVec3,
    ) -> Result<()> {
        if !(velocity.is_finite() && angular_velocity.is_finite()) {
            return Err(Error::Tuned(format!(
                "a wall cannot move at {velocity} m/s and turn at {angular_velocity} rad/s; expected finite numbers"
            )));
        }
        let index = self.check_wall(wall)?;
        self.fetch(&[Field::Walls])?;
        let pose = self.state.wall(index).pose;
        let rotation = angular_velocity.try_normalize().map(|axis| Rotation {
            axis,
            center: pose.position,
            speed: angular_velocity.length(),
            ramp: 0.0,
            amplitude: 0.0,
            frequency: 0.0,
            phase: 0.0,
        });
        let motion = Motion {
            velocity,
            rotation,
            start: self.time(),
            end: f64::INFINITY,
            ..Motion::default()
        };
        self.set_motion(index, pose, motion)
    }

    /// Gives a wall the motion `motion`, which replaces its motion in the scene. Times are simulated times.
    ///
    /// # Errors
    /// As [`Simulation::set_wall_velocity`].
    pub fn set_wall_motion(&mut self, wall: WallHandle, motion: Motion) -> Result<()> {
        let index = self.check_wall(wall)?;
        let pose = self.model.walls[index].pose;
        self.set_motion(index, pose, motion)
    }

    fn set_motion(&mut self, index: usize, pose: Pose, motion: Motion) -> Result<()> {
        if self.model.walls[index].dynamic.is_some() {
            return Err(Error::Tuned(format!(
                "the wall {index} ({}) moves under load, and cannot be driven",
                self.model.walls[index].name
            )));
        }
        let wall = &mut self.model_mut().walls[index];
        wall.pose = pose;
        wall.motion = Some(motion);
        let wall = wall.clone();
        // The buffers and passes for moving walls are there only if a wall moved at the start.
        let starts =
            !self.state.kinematic_walls.moves(index) || self.state.params.moving_walls == 0;
        if starts {
            self.fetch(&Field::ALL)?;
        } else {
            self.fetch(&[Field::Walls])?;
        }
        self.state.set_kinematic(index, wall, self.time());
        self.state.stats[0].stale = 1;
        if starts {
            pollster::block_on(self.restart_by(Patience::Block))?;
        } else {
            self.engine.write(&[Field::Walls], &self.state);
            self.upload_params();
            self.engine.write_stale(&self.state);
        }
        self.wake()
    }

    /// Load of contacts on a wall in the last step.
    ///
    /// # Errors
    /// If the wall does not exist, or the device is lost.
    pub fn wall_load(&mut self, wall: WallHandle) -> Result<WallLoad> {
        let index = self.check_wall(wall)?;
        Ok(self.snapshot()?.wall_loads()[index])
    }

    /// The index of a wall.
    pub(super) fn check_wall(&self, wall: WallHandle) -> Result<usize> {
        let (index, count) = (wall.index(), self.model.walls.len());
        if index >= count {
            return Err(Error::Tuned(format!(
                "there is no wall {index}; the scene has {count}, numbered from 0"
            )));
        }
        Ok(index)
    }

    /// Present state of a body.
    ///
    /// # Errors
    /// If it does not exist, or the device is lost.
    pub fn body_at(&mut self, index: u32) -> Result<BodyState> {
        pollster::block_on(self.body_at_by(Patience::Block, index))
    }

    /// [`Simulation::body_at`], asynchronous.
    pub(crate) async fn body_at_by(&mut self, patience: Patience, index: u32) -> Result<BodyState> {
        let count = self.body_count();
        if index as usize >= count {
            return Err(Error::NoSuchBody { body: index, count });
        }
        self.fetch_body(patience, index as usize).await?;
        Ok(self.fetched().body(index as usize))
    }

    fn model_mut(&mut self) -> &mut Model {
        let model = Arc::make_mut(&mut self.model);
        model.stages.forget_hash();
        model
    }

    pub(super) fn upload_params(&mut self) {
        self.engine.write_params(&self.state);
    }
}
