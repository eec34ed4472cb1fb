//! Changes of a [`State`] that a running simulation allows.

use super::grid::Grid;
use super::kinds::kind;
use super::layout::*;
use super::population::inverse_capacity;
use super::walls::temperatures;
use super::{State, Traits};
use crate::math::grid::wrap;
use crate::math::rotation;
use crate::model::Model;
use crate::model::pull::Pull;
use crate::model::steps::StepTimes;
use bytemuck::cast_slice;
use glam::{DQuat, DVec3, Vec3};

/// Whether contacts as `changed` has them keep no more history, and act no farther away, than those of `model`.
pub(crate) fn needs_no_more(changed: &Model, model: &Model) -> bool {
    History::size(changed) <= History::size(model)
        && Grid::new(changed).skin <= Grid::new(model).skin * (1.0 + f32::EPSILON)
}

impl State {
    /// Has the pass `forces` run from now on.
    pub(crate) fn start_forces(&mut self) {
        self.params.forces = 1;
        let one = BodyForce {
            displacement: 1.0,
            ..BodyForce::default()
        };
        self.body_forces = vec![one; self.bodies.len()];
    }

    /// Sets the springs and applied forces, which are in the order of the bodies on which they act.
    pub(crate) fn set_actions(&mut self, actions: Vec<Action>) {
        self.params.action_count = actions.len() as u32;
        self.actions = actions;
    }

    /// Has a force (N) and a torque (N m) act on the body at `place`, in place of those that did so by the caller's wish;
    /// zeros end them.
    pub(crate) fn apply(&mut self, place: usize, force: Vec3, torque: Vec3) {
        let body = place as u32;
        let mut actions = std::mem::take(&mut self.actions);
        let own = |action: &Action| action.body == body && action.source == APPLIED;
        let found = actions.iter().position(own);
        let end = actions.partition_point(|action| action.body <= body);
        let action = Action {
            kind: PUSH,
            body,
            source: APPLIED,
            vector: force,
            torque,
            start: f32::NEG_INFINITY,
            end: f32::INFINITY,
            acts: 1,
            ..Action::default()
        };
        match (found, force == Vec3::ZERO && torque == Vec3::ZERO) {
            (Some(found), true) => drop(actions.remove(found)),
            (Some(found), false) => actions[found] = action,
            (None, true) => (),
            (None, false) => actions.insert(end, action),
        }
        self.set_actions(actions);
    }

    /// Whether the grid reaches to a point, m.
    pub(crate) fn has_cell(&self, point: DVec3) -> bool {
        let cells = (point - self.origin) / self.params.cell_size.as_dvec3();
        cells.abs().max_element() < f64::from(1 << 30)
    }

    /// Puts the centre of mass of the body at `place` to a point, m, and its principal axes.
    pub(crate) fn set_pose(&mut self, place: usize, position: DVec3, orientation: DQuat) {
        let (cell, offset) = self.cell_of(position);
        let body = &mut self.bodies[place];
        (body.cell, body.offset) = (cell, offset);
        body.orientation = rotation::orientation(orientation);
    }

    /// Makes the body at `place` one of the kind that its identity says.
    pub(crate) fn set_kind(&mut self, model: &Model, place: usize) {
        let Traits {
            shape,
            group,
            fixed,
        } = self.identities[place];
        self.bodies[place].kind = kind(model.shapes.len(), shape, group, fixed);
        if let (Some(heat), Some(own)) = (&model.heat, self.body_heat.get_mut(place)) {
            own.inverse_capacity = inverse_capacity(heat.capacities[shape], fixed);
        }
    }

    /// Sets the pair table, and the one against walls.
    pub(crate) fn set_pairs(&mut self, pairs: Vec<Pair>) {
        let against_walls: Vec<Pair> = pairs.iter().map(|pair| pair.against(true)).collect();
        self.geometry[..self.params.facet_start as usize]
            .copy_from_slice(cast_slice(&against_walls));
        self.pairs = pairs;
    }

    /// Sets the temperatures of all walls, K; those that conduct nothing have none.
    pub(crate) fn set_wall_temperatures(&mut self, walls: &[Option<f64>]) {
        let start = self.params.temperature_start as usize;
        self.geometry[start..].copy_from_slice(&temperatures(walls));
    }

    /// Whether contacts as `model` has them keep no more history, and act no farther away, than those that
    /// this state was made for.
    pub(crate) fn holds(&self, model: &Model) -> bool {
        History::used(model) <= self.params.history_values
            && Grid::new(model).skin <= self.params.skin * (1.0 + f32::EPSILON)
    }

    /// Sets the time step, s, and what was simulated before the first step if all were as long, s.
    pub(crate) fn set_time_step(&mut self, time_step: f64, earlier: f64) {
        let after = self.params.sleep_steps as f32 * self.params.time_step;
        if self.params.sleep_steps > 0 {
            self.params.sleep_steps = ((after / time_step as f32).round() as u32).max(1);
        }
        self.params.time_step = time_step as f32;
        self.params.earlier = earlier as f32;
        self.earlier = earlier;
        self.kinematic_walls.set_time_step(time_step, earlier);
    }

    /// Times of the steps from now on.
    pub(crate) fn step_times(&self, model: &Model) -> StepTimes {
        StepTimes {
            time_step: model.time_step,
            earlier: self.earlier,
        }
    }

    /// Sets the time that the engines' count of steps leaves out, s.
    pub(crate) fn set_left_out(&mut self, left_out: f64) {
        let earlier = self.earlier + left_out;
        self.params.earlier = earlier as f32;
        self.kinematic_walls
            .set_time_step(self.kinematic_walls.time_step, earlier);
    }

    /// Has a body pulled from now on, or none.
    pub(crate) fn set_pull(&mut self, pull: Option<Pull>) {
        let params = &mut self.params;
        params.pulled = 0;
        if let Some(pull) = pull {
            let size = params.cell_size.as_dvec3();
            let from_origin = pull.target - self.origin;
            let cells = (from_origin / size).floor();
            params.pulled = pull.body + 1;
            params.pull_stiffness = pull.stiffness as f32;
            params.pull_damping = pull.damping as f32;
            params.pull_point = pull.point.as_vec3();
            params.pull_cell = wrap(cells.as_ivec3(), params.period);
            params.pull_offset = (from_origin - cells * size).as_vec3();
        }
    }
}
