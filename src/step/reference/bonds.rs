use glam::IVec3;

use super::contacts::add;
use super::forces::Turning;
use super::grid::between;
use super::mirror::{Mirror, mirrors};
use super::real::Real;
use super::rotation::Quaternion;
use super::state::{Body, Params, State};
use super::vector::Vector;
use crate::state::layout::{self, BROKEN_BY_SHEAR, BROKEN_BY_TENSION};

mirrors! {
    Bond {
        first_arm: Vector<R>,
        first: u32,
        second_arm: Vector<R>,
        second: u32,
        first_frame: Quaternion<R>,
        second_frame: Quaternion<R>,
        stiffness: Vector<R>,
        side: u32,
        turning_stiffness: Vector<R>,
        broken: u32,
        damping: Vector<R>,
        inverse_area: R,
        turning_damping: Vector<R>,
        inverse_section: R,
        tensile_strength: R,
        shear_strength: R,
        energy: R,
        time: R,
        offset: Vector<R>,
        step: u32,
        cell: IVec3,
        source: u32,
        first_length: R,
        second_length: R,
        healing_reach: R,
        healing_time: R,
        near: u32,
        breaks: u32,
    }
    BodyBonds {
        taken: R,
        taken_rest: R,
        damage: R,
    }
}

/// Adds what bonds do to each body, besides all that `forces` has summed. Both bodies of a bond reckon it from the first to the
/// second, with the same numbers, so that both copies of it break and heal in the same step.
pub fn bonds<R: Real>(state: &mut State<R>) {
    if state.params.bonds == 0 {
        return;
    }
    let is_fixed = |state: &State<R>, body: u32| {
        let body = &state.bodies[body as usize];
        state.kind(body).0.inverse_mass == R::ZERO
    };
    for index in 0..state.bodies.len() as u32 {
        let fixed = is_fixed(state, index);
        let mut force = Vector::ZERO;
        let mut torque = Vector::ZERO;
        let mut taken = R::ZERO;
        let mut count = 0_u32;
        let mut broken = 0_u32;
        let start = state.bonds.partition_point(|bond| bond.ends()[0] < index);
        for entry in start..state.bonds.len() {
            let bond = state.bonds[entry];
            let is_first = bond.side == 0;
            let [own, other] = bond.ends();
            if own != index {
                break;
            }
            count += 1;
            if bond.broken != 0 {
                if bond.healing_reach > R::ZERO {
                    heal(state, entry);
                }
                broken += u32::from(state.bonds[entry].broken != 0);
                continue;
            }
            let held = hold(state, entry);
            let sign = R::of(if is_first { 1.0 } else { -1.0 });
            force += held.force * sign;
            torque += (held.arm.cross(held.force) + held.moment) * sign;
            // Each body has a half of what the bond takes, but a fixed one.
            let share = if fixed {
                0.0
            } else if is_fixed(state, other) {
                1.0
            } else {
                0.5
            };
            taken += R::of(share) * held.taken;
            if state.bonds[entry].broken != 0 {
                broken += 1;
            }
        }
        if count == 0 {
            continue;
        }
        if !fixed {
            let own = &mut state.body_forces[index as usize];
            own.force += force;
            own.torque += torque;
        }
        let own = &mut state.body_bonds[index as usize];
        add(&mut own.taken, &mut own.taken_rest, taken);
        own.damage = R::of(broken.into()) / R::of(count.into());
    }
}

impl<R: Real> Bond<R> {
    /// The body whose end it is, and the other one.
    fn ends(&self) -> [u32; 2] {
        if self.side == 0 {
            [self.first, self.second]
        } else {
            [self.second, self.first]
        }
    }
}

/// Force and torque of a bond on its first body.
#[derive(Default)]
struct Held<R> {
    force: Vector<R>,
    /// About the middle of the bond.
    moment: Vector<R>,
    /// From the centre of mass of its own body to the middle, m.
    arm: Vector<R>,
    /// Energy that it takes in the step, J.
    taken: R,
}

/// The two bodies of a bond.
fn bodies_of<'a, R: Real>(state: &'a State<R>, bond: &Bond<R>) -> [Turning<'a, R>; 2] {
    [bond.first, bond.second].map(|body| {
        let body = &state.bodies[body as usize];
        Turning::new(body, state.kind(body).0)
    })
}

/// A point of a body at the end of an arm from its centre of mass: the cell of the body, and within it, m.
fn point<R: Real>(body: &Body<R>, arm: Vector<R>, params: &Params<R>) -> (IVec3, Vector<R>) {
    let offset = body.offset.metres(params.cell_size);
    (body.cell, offset + params.upright(arm))
}

/// Notes that a bond breaks or heals in this step, and where: a cell, and a place within it, m.
fn note<R: Real>(state: &mut State<R>, entry: usize, (cell, offset): (IVec3, Vector<R>)) {
    let params = state.params;
    let step = state.stats.step;
    let own = &mut state.bonds[entry];
    own.time = params.earlier + R::of(step.into()) * params.time_step;
    own.step = step;
    own.cell = cell;
    own.offset = offset;
}

/// A turn of the x axis to a unit vector.
///
/// For a vector with a negative x it starts with half a turn about z, because the shortest turn is not defined for -x.
fn from_x_to<R: Real>(along: Vector<R>) -> Quaternion<R> {
    let turn = if along.x < R::ZERO {
        Quaternion {
            xyz: Vector::new(along.z, R::ZERO, R::ONE - along.x),
            w: along.y,
        }
    } else {
        Quaternion {
            xyz: Vector::new(R::ZERO, -along.z, along.y),
            w: R::ONE + along.x,
        }
    };
    turn.normalize()
}

/// Counts the steps for which the spheres of a broken bond have been near each other. After enough of them the bond is whole, and
/// has no force where the spheres are then.
fn heal<R: Real>(state: &mut State<R>, entry: usize) {
    let params = state.params;
    let mut own = state.bonds[entry];
    let bodies = bodies_of(state, &own);
    let arms = [own.first_arm, own.second_arm];
    let frames = [own.first_frame, own.second_frame];
    let lengths = [own.first_length, -own.second_length];
    let centers = [0, 1].map(|side| {
        let from_center = Vector::new(lengths[side], R::ZERO, R::ZERO);
        let center = arms[side] - frames[side].rotate(from_center);
        bodies[side].orientation.rotate(center)
    });
    let [here, there] = [0, 1].map(|side| point(bodies[side].body, centers[side], &params));
    let way = between(here, there, &params);
    let distance = way.length();
    let is_near = distance > R::ZERO && distance <= own.healing_reach;
    own.near = if is_near { own.near + 1 } else { 0 };
    if !is_near || R::of(own.near.into()) * params.time_step < own.healing_time {
        state.bonds[entry] = own;
        return;
    }
    let along = way / distance;
    // The gap may be another than when the bond was made.
    let wider = R::of(0.5) * (distance - (own.first_length + own.second_length));
    own.first_length += wider;
    own.second_length += wider;
    let ends = [
        centers[0] + along * own.first_length,
        centers[1] - along * own.second_length,
    ];
    let backs = [0, 1].map(|side| bodies[side].orientation.conjugate());
    [own.first_arm, own.second_arm] = [0, 1].map(|side| backs[side].rotate(ends[side]));
    let frame = from_x_to(along);
    [own.first_frame, own.second_frame] = backs.map(|back| back.times(frame).normalize());
    own.broken = 0;
    own.near = 0;
    own.energy = R::ZERO;
    state.bonds[entry] = own;
    let (cell, offset) = here;
    note(
        state,
        entry,
        (cell, offset + params.upright(along * own.first_length)),
    );
}

fn hold<R: Real>(state: &mut State<R>, entry: usize) -> Held<R> {
    let params = state.params;
    let bond = state.bonds[entry];
    let [first, second] = bodies_of(state, &bond);
    let first_arm = first.orientation.rotate(bond.first_arm);
    let second_arm = second.orientation.rotate(bond.second_arm);
    let here = point(first.body, first_arm, &params);
    let there = point(second.body, second_arm, &params);
    let way = between(here, there, &params);
    // The frame of the bond is half-way between those that it has in the two bodies.
    let first_frame = first.orientation.times(bond.first_frame);
    let second_frame = second.orientation.times(bond.second_frame);
    let turn = first_frame.conjugate().times(second_frame);
    let sign = R::of(if turn.w < R::ZERO { -1.0 } else { 1.0 });
    let frame = first_frame.plus(sign, second_frame).normalize();
    let stretch = frame.conjugate().rotate(way);
    let bend = turn.xyz * (R::of(2.0) * sign);
    let force = bond.stiffness * stretch;
    let moment = bond.turning_stiffness * bend;
    let half = way * R::of(0.5);
    let first_reach = first_arm + half;
    let second_reach = second_arm - half;

    let bending = (moment.y * moment.y + moment.z * moment.z).sqrt();
    let shearing = (force.y * force.y + force.z * force.z).sqrt();
    let tension = force.x * bond.inverse_area + bending * bond.inverse_section;
    let shear = shearing * bond.inverse_area + moment.x.abs() * (R::of(0.5) * bond.inverse_section);
    let velocity = second.velocity_at(second_reach) - first.velocity_at(first_reach);
    let velocity = if params.deforms == 1 {
        velocity + params.flow(way + first_arm - second_arm)
    } else {
        velocity
    };
    let velocity = frame.conjugate().rotate(velocity);
    let spin = frame.conjugate().rotate(second.spin - first.spin);
    let by_tension = tension > bond.tensile_strength;
    if by_tension || shear > bond.shear_strength {
        // What the springs held where the velocities are: half a step before. The moment is that of the double sine of half
        // an angle, and the energy that of a spring times 2/(1 + its cosine).
        let back = R::of(0.5) * params.time_step;
        let stretched = stretch - velocity * back;
        let bent = bend - spin * back;
        let along = (bond.stiffness * stretched).dot(stretched);
        let about = (bond.turning_stiffness * bent).dot(bent);
        let energy = R::of(0.5) * along + about / (R::ONE + sign * turn.w);
        let own = &mut state.bonds[entry];
        own.broken = if by_tension {
            BROKEN_BY_TENSION
        } else {
            BROKEN_BY_SHEAR
        };
        own.breaks += 1;
        own.energy = energy;
        note(state, entry, (here.0, here.1 + params.upright(half)));
        return Held {
            taken: energy,
            ..Held::default()
        };
    }
    let drag = bond.damping * velocity;
    let brake = bond.turning_damping * spin;
    Held {
        force: frame.rotate(force + drag),
        moment: frame.rotate(moment + brake),
        arm: if bond.side == 0 {
            first_reach
        } else {
            second_reach
        },
        taken: (drag.dot(velocity) + brake.dot(spin)) * params.time_step,
    }
}
