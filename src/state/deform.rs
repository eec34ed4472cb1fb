//! The periodic box of a state that deforms.

use glam::DVec3;

use super::State;
use crate::math::grid::wrap;
use crate::model::Model;
use crate::model::deform::Deformation;

/// More than what rounding adds to a length.
const ROUNDING: f64 = 1.001;

impl State {
    /// Has the box be, and go on, as `now` has it; the next step is `step`, counted from 0.
    pub(crate) fn set_deformation(&mut self, model: &Model, now: &Deformation, step: u64) {
        let params = &mut self.params;
        let period = params.period.as_dvec3();
        let time_step = model.time_step;
        let mut size = params.cell_size.as_dvec3();
        let mut growth = DVec3::ZERO;
        for axis in (0..3).filter(|axis| params.period[*axis] > 0) {
            size[axis] = now.sides[axis] / period[axis];
            growth[axis] = size[axis] * now.strain_rate[axis] * time_step;
        }
        let flow = DVec3::AXES[now.flow];
        params.deforms = 1;
        let strain_rate = DVec3::from_array(now.strain_rate);
        params.strain_rate = strain_rate.as_vec3();
        params.first_step = now.step as u32;
        params.gradient = DVec3::AXES[now.gradient].as_vec3();
        params.shear_rate = (now.shear_rate * flow).as_vec3();
        params.first_cell_size = size.as_vec3();
        params.growth = growth.as_vec3();
        params.first_tilt = (now.tilt * flow).as_vec3();
        params.tilting = (now.tilting() * time_step * flow).as_vec3();
        let radii = model.shapes.iter().map(|shape| shape.bounding_radius());
        let reach = radii.fold(0.0, f64::max) + 0.5 * f64::from(params.skin);
        let rate = strain_rate.abs().max_element() + now.shear_rate.abs();
        params.stretch = (ROUNDING * rate * time_step * reach) as f32;
        params.deform(step as u32);
    }

    /// Puts bodies where they are in a box that is tilted by so many lengths less, along `flow` for its height along `gradient`: axes.
    pub(crate) fn untilt(&mut self, [flow, gradient]: [usize; 2], turns: i32) {
        let period = self.params.period;
        // In units of 2⁻³² of a cell, in which the box is a whole number of them long.
        let [length, height] = [flow, gradient].map(|axis| i128::from(period[axis]) << 32);
        for body in &mut self.bodies {
            let [along, up] = [flow, gradient]
                .map(|axis| i128::from(body.cell[axis]) << 32 | i128::from(body.offset[axis]));
            let along = (along + i128::from(turns) * length * up / height).rem_euclid(length);
            body.cell[flow] = (along >> 32) as i32;
            body.offset[flow] = along as u32;
            body.cell = wrap(body.cell, period);
        }
        self.stats[0].stale = 1;
    }
}
