use super::grid::settle;
use super::real::Real;
use super::rotation::angular_velocity;
use super::state::{Sphere, State};
use crate::state::layout::{ASLEEP, FAST, GROUP_SHIFT, IMPULSE, shares};

/// Position and velocity of each sphere, from its body; and the word on whether this step builds the neighbour
/// lists.
pub fn pose<R: Real>(state: &mut State<R>) {
    decide(state);
    state.params.deform(state.stats.step);
    for index in 0..state.spheres.len() {
        let own = state.spheres[index].body;
        let body = state.bodies[own as usize];
        let asleep = body.still & ASLEEP;
        let fast = if body.displacement_bound.is_negative() {
            FAST
        } else {
            0
        };
        if asleep != 0 && state.spheres[index].sleeps() {
            continue;
        }
        let (constant, members) = state.kind(&body);
        let member = members[index - body.first_sphere as usize];
        let orientation = body.orientation.quaternion();
        let arm = orientation.rotate(member.center);
        let spin = angular_velocity(orientation, body.angular_momentum, constant.inverse_inertia);
        let center = body.offset.metres(state.params.cell_size) + state.params.upright(arm);
        let (cell, offset) = settle(body.cell, center, &state.params);
        let mut inverse_mass = constant.inverse_mass;
        if state.params.law == IMPULSE && inverse_mass > R::ZERO {
            let shares = R::of(shares(body.still, constant.landing).into());
            inverse_mass = shares * (inverse_mass + member.turning);
        }
        let mut velocity = body.velocity + spin.cross(arm);
        if state.params.deforms == 1 {
            // The body is rigid, and the flow is not.
            velocity -= state.params.flow(arm);
        }
        state.spheres[index] = Sphere {
            offset,
            radius: member.radius,
            cell,
            body: own,
            velocity,
            inverse_mass,
            angular_velocity: spin,
            tags: member.material | constant.group << GROUP_SHIFT | asleep | fast,
        };
    }
}

fn decide<R: Real>(state: &mut State<R>) {
    let stats = &mut state.stats;
    stats.step = stats.steps;
    stats.rebuilding = stats.stale;
    stats.stale = 0;
    stats.rebuilds += stats.rebuilding;
}
