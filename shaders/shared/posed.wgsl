// A sphere of a body at the start of a step. What imports this knows `params`.
//
// All of a body's state that goes in has been rounded to what is stored, so its bits are the same in the pass `pose` and at the
// end of `integrate`.
fn posed(own: u32, body: Body, constant: BodyProperties, member: Member) -> Sphere {
    let asleep = body.still & ASLEEP;
    let fast = select(0u, FAST, (bitcast<u32>(body.displacement_bound) >> 31u) == 1u);
    let orientation = quaternion(body.orientation);
    let arm = rotate(orientation, member.center);
    let spin = angular_velocity(orientation, body.angular_momentum, constant.inverse_inertia);
    let center = metres(body.offset, params.cell_size) + upright(arm, params);
    let place = settle(body.cell, center, params.cell_size, period_of(params));
    var inverse_mass = constant.inverse_mass;
    if params.law == IMPULSE && inverse_mass > 0.0 {
        inverse_mass = shares_of(body.still, constant.landing) * (inverse_mass + member.turning);
    }
    var velocity = body.velocity + cross(spin, arm);
    if deforms(params) {
        // The body is rigid, and the flow is not.
        velocity -= flow(arm, params);
    }
    return Sphere(
        place.offset,
        member.radius,
        place.cell,
        own,
        velocity,
        inverse_mass,
        spin,
        member.material | (constant.group << GROUP_SHIFT) | asleep | fast,
    );
}
