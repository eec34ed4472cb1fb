//! What may change of a [`State`] while a simulation runs.

use super::State;
use super::grid::Grid;
use super::layout::*;
use super::pairs::memory_size;
use super::walls::temperatures;
use crate::math::grid::wrap;
use crate::model::Model;
use crate::model::pull::Pull;
use bytemuck::cast_slice;

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

    /// Sets the springs and pushes, which are in the order of the bodies on which they act.
    pub(crate) fn set_actions(&mut self, actions: Vec<Action>) {
        self.params.action_count = actions.len() as u32;
        self.actions = actions;
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

    /// Whether contacts as `model` has them remember no more, and act no farther away, than those that
    /// this state was made for.
    pub(crate) fn holds(&self, model: &Model) -> bool {
        memory_size(model) <= self.params.memory_size
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
        self.movers.set_time_step(time_step, earlier);
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
