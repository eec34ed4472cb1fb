//! A body that is pulled: a spring and a dashpot from one of its points to a point of the world, as the
//! mouse does it in the window. The twin of `shaders/shared/pull.wgsl`.

use crate::math::grid::{metres, shortest_way};
use crate::math::rotation::{Quaternion, angular_velocity};
use crate::state::layout::{Body, BodyProperties, Params};

/// The velocity and angular momentum of a body after it was pulled for a time step.
pub(crate) fn pulled(body: Body, properties: &BodyProperties, params: &Params) -> Body {
    let orientation = Quaternion::of(body.orientation);
    let arm = orientation.rotate(params.pull_point);
    let place = metres(body.offset, params.cell_size) + arm;
    let (cells, offset) = (params.pull_cell - body.cell, params.pull_offset - place);
    let way = shortest_way(cells, offset, params.cell_size, params.period);
    let momentum = body.angular_momentum;
    let spin = angular_velocity(orientation, momentum, properties.inverse_inertia);
    let velocity = body.velocity + spin.cross(arm);
    let force = params.pull_stiffness * way - params.pull_damping * velocity;
    let impulse = force * params.time_step;
    Body {
        still: 0,
        velocity: body.velocity + impulse * properties.inverse_mass,
        angular_momentum: momentum + arm.cross(impulse),
        ..body
    }
}
