//! Sums of loads on walls that do not depend on the order of their terms: the same bits with any number of
//! threads, and on a GPU, without atomic floats.
//!
//! A number is split into three integers, its digits: of units of 2⁻¹⁶, 2⁻³² and 2⁻⁴⁸ of a scale that no
//! single contact exceeds by far (`Params::force_unit`). Digits of the same weight are added up. The twin is
//! in `shaders/walls.wgsl` and `shaders/integrate.wgsl`.

use glam::Vec3;

use crate::math::rotation::Quaternion;
use crate::state::layout::{Params, SummedLoad, WALL_DIGITS, Wall};

/// The digits of a force and a torque on a wall.
pub type Digits = [i64; WALL_DIGITS];

/// The weight of a digit over that of the next.
const BASE: f32 = 65536.0;

/// Adds a force (N) and a torque (N m) to `sum`.
pub fn add(sum: &mut Digits, force: Vec3, torque: Vec3, params: &Params) {
    let force = (force / params.force_unit).to_array();
    let torque = (torque / params.torque_unit).to_array();
    for (digits, number) in sum.chunks_exact_mut(3).zip(force.into_iter().chain(torque)) {
        for (sum, digit) in digits.iter_mut().zip(split(number)) {
            *sum += i64::from(digit);
        }
    }
}

/// The digits of a number; they all have its sign. Each step is exact.
fn split(number: f32) -> [i32; 3] {
    let sign = if number < 0.0 { -1.0 } else { 1.0 };
    // What is larger, and what is no number, would not fit; such a run is at its end anyway.
    let mut rest = number.abs().min(MOST);
    std::array::from_fn(|_| {
        rest *= BASE;
        let digit = rest.floor();
        rest -= digit;
        (sign * digit) as i32
    })
}

/// Units that a single contact may have.
const MOST: f32 = 16384.0;

/// The sum as it is kept in [`State::wall_sums`](crate::state::State::wall_sums): carried, so that each digit
/// but the first is from 0 to 65535.
pub fn carried(sum: &Digits) -> [i32; WALL_DIGITS] {
    let mut all = [0; WALL_DIGITS];
    for (all, digits) in all.chunks_exact_mut(3).zip(sum.chunks_exact(3)) {
        let middle = digits[1] + (digits[2] >> 16);
        let first = digits[0] + (middle >> 16);
        all.copy_from_slice(&[
            first as i32,
            (middle & 0xffff) as i32,
            (digits[2] & 0xffff) as i32,
        ]);
    }
    all
}

/// The load that carried digits stand for.
pub fn load(digits: &[i32], params: &Params) -> SummedLoad {
    let number = |component: usize| {
        let digit = |k: usize| digits[3 * component + k] as f32;
        (digit(0) + (digit(1) + digit(2) / BASE) / BASE) / BASE
    };
    SummedLoad {
        force: params.force_unit * Vec3::from_array(std::array::from_fn(number)),
        torque: params.torque_unit * Vec3::from_array(std::array::from_fn(|k| number(k + 3))),
        ..SummedLoad::default()
    }
}

/// The power of a wall, W: what its force and torque do to bodies as it moves, and its belt, which is taken to run along the
/// surface: where it points out of that, as at the ends of a box, the power is not right. Of a wall that is a rigid body, the engines count what the force and the torque on it do instead: the rest
/// is in the energy that it has.
pub fn power(wall: &Wall, load: &SummedLoad) -> f32 {
    let orientation = Quaternion {
        xyz: wall.orientation.truncate(),
        w: wall.orientation.w,
    };
    let surface = wall.velocity + orientation.rotate(wall.belt);
    -(load.force.dot(surface) + load.torque.dot(wall.angular_velocity))
}

#[cfg(all(test, feature = "scene"))]
mod tests {
    use super::*;
    use crate::model::Law;

    fn params() -> Params {
        let model = crate::scene::parse(
            r#"{ "version": 1, "contact": { "stiffness": 1e4 },
                 "materials": { "m": { "density": 1000, "restitution": 0.5, "friction": 0.5 } },
                 "shapes": { "ball": { "sphere": { "radius": 0.1 }, "material": "m" } },
                 "bodies": [ { "shape": "ball" } ] }"#,
            "test.json".as_ref(),
        );
        let model = model.unwrap().model;
        assert_eq!(model.contact.law, Law::HookeViscous);
        crate::state::State::new(&model).params
    }

    #[test]
    fn a_sum_is_that_of_its_terms_whatever_their_sizes_and_order() {
        let params = params();
        let terms: Vec<Vec3> = (0..2000)
            .map(|k| {
                let size = 10_f32.powi(k % 8 - 4);
                size * Vec3::new((k as f32).sin(), (k as f32 * 0.7).cos() - 0.5, 0.3)
            })
            .collect();
        let mut forward = [0; WALL_DIGITS];
        terms
            .iter()
            .for_each(|&term| add(&mut forward, term, -0.1 * term, &params));
        let mut backward = [0; WALL_DIGITS];
        terms
            .iter()
            .rev()
            .for_each(|&term| add(&mut backward, term, -0.1 * term, &params));
        assert_eq!(forward, backward);
        let sum: glam::DVec3 = terms.iter().map(|term| term.as_dvec3()).sum();
        let found = load(&carried(&forward), &params);
        assert!((found.force.as_dvec3() - sum).length() < 1e-6 * sum.length());
        assert!((found.torque.as_dvec3() + 0.1 * sum).length() < 1e-6 * sum.length());
    }
}
