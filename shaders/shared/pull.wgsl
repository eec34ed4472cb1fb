// A body that is pulled: a spring and a dashpot from one of its points to a point of the world; the
// twin of src/step/pull.rs.

fn pulled(body: Body, constant: BodyProperties, params: Params) -> Body {
    let orientation = quaternion(body.orientation);
    let arm = rotate(orientation, params.pull_point);
    let place = metres(body.offset, params.cell_size) + arm;
    let way = shortest_way(params.pull_cell - body.cell, params.pull_offset - place, params);
    let spin = angular_velocity(orientation, body.angular_momentum, constant.inverse_inertia);
    let velocity = body.velocity + cross(spin, arm);
    let force = params.pull_stiffness * way - params.pull_damping * velocity;
    let impulse = force * params.time_step;
    var after = body;
    after.still = 0u;
    after.velocity += impulse * constant.inverse_mass;
    after.angular_momentum += cross(arm, impulse);
    return after;
}
