//! The numbers that the reference reckons with: `f32`, to the bit as the other engines do, or `f64`.

use std::fmt::Debug;
use std::ops::{Add, AddAssign, Div, DivAssign, Mul, MulAssign, Neg, Sub, SubAssign};

use crate::math::{grid, rotation, rounding};

/// A number in single or double precision.
///
/// In single precision, integers hold what a run adds up, and rounding goes up or down as chance has it (see
/// [`state::layout`](crate::state::layout) and [`math::rounding`](crate::math::rounding)). Double precision needs
/// neither. The methods from [`Real::metres`] on are where the two differ.
pub trait Real:
    Copy
    + Debug
    + Default
    + PartialEq
    + PartialOrd
    + Send
    + Sync
    + Add<Output = Self>
    + Sub<Output = Self>
    + Mul<Output = Self>
    + Div<Output = Self>
    + Neg<Output = Self>
    + AddAssign
    + SubAssign
    + MulAssign
    + DivAssign
    + 'static
{
    /// A component of a body's place within its cell, as a part of the cell's side.
    type Part: Copy + Debug + Default + PartialEq + Send + Sync;
    /// A component of a body's orientation.
    type Turn: Copy + Debug + Default + PartialEq + Send + Sync;

    /// The word for its precision.
    const PRECISION: &str;
    /// Zero.
    const ZERO: Self;
    /// One.
    const ONE: Self;
    /// sqrt(5/6), as it is in the contact laws.
    const TSUJI: Self;

    /// The nearest number to `number`.
    fn of(number: f64) -> Self;
    /// The number as the other engines have it.
    fn rounded(self) -> f32;
    /// The number in double precision.
    fn exact(self) -> f64;
    /// `known`, if the number that the other engines have is what it rounds to; else that one.
    fn refined(rounded: f32, known: Self) -> Self;
    /// The integer that a whole number is; 0 where none can hold it.
    fn integer(self) -> i32;
    /// Whether it is a number, and finite.
    fn is_finite(self) -> bool;
    /// Whether its sign is negative; that of zero counts.
    fn is_negative(self) -> bool;
    /// Square root.
    fn sqrt(self) -> Self;
    /// Largest whole number that is not larger.
    fn floor(self) -> Self;
    /// Nearest whole number; halves go away from zero.
    fn round(self) -> Self;
    /// Size.
    fn abs(self) -> Self;

    /// The smaller of two.
    fn min(self, other: Self) -> Self {
        if self < other { self } else { other }
    }

    /// The larger of two.
    fn max(self, other: Self) -> Self {
        if self > other { self } else { other }
    }

    /// The number, or the nearer of two limits if it is not between them.
    fn clamp(self, min: Self, max: Self) -> Self {
        self.max(min).min(max)
    }

    /// The metres that a part of a cell's side (m) is.
    fn metres(part: Self::Part, side: Self) -> Self;
    /// A part after it has moved by `cells` sides of a cell, and how many whole cells it has come to.
    fn moved(part: Self::Part, cells: Self, dither: Self) -> (i32, Self::Part);
    /// The part as the other engines have it.
    fn rounded_part(part: Self::Part) -> u32;
    /// The part that a number from 0 to below 1 is.
    fn part(number: f64) -> Self::Part;
    /// Variant of [`Real::refined`] for a part.
    fn refined_part(rounded: u32, known: Self::Part) -> Self::Part;

    /// The component of a quaternion that a component of an orientation is.
    fn component(turn: Self::Turn) -> Self;
    /// A component of an orientation after a change.
    fn turned(turn: Self::Turn, change: Self, dither: Self) -> Self::Turn;
    /// The component as the other engines have it.
    fn rounded_turn(turn: Self::Turn) -> i32;
    /// The component of an orientation that a component of a quaternion is.
    fn turn(number: f64) -> Self::Turn;
    /// Variant of [`Real::refined`] for a component of an orientation.
    fn refined_turn(rounded: i32, known: Self::Turn) -> Self::Turn;

    /// `self + term`, for a sum over many steps.
    fn plus(self, term: Self, dither: Self) -> Self;
    /// Sine.
    fn sine(angle: Self) -> Self;
}

impl Real for f32 {
    type Part = u32;
    type Turn = i32;

    const PRECISION: &str = "single";
    const ZERO: f32 = 0.0;
    const ONE: f32 = 1.0;
    const TSUJI: f32 = 0.912_870_9;

    fn of(number: f64) -> f32 {
        number as f32
    }
    fn rounded(self) -> f32 {
        self
    }
    fn exact(self) -> f64 {
        self.into()
    }
    fn refined(rounded: f32, _known: f32) -> f32 {
        rounded
    }
    fn integer(self) -> i32 {
        grid::integer(self)
    }
    fn is_finite(self) -> bool {
        self.is_finite()
    }
    fn is_negative(self) -> bool {
        self.is_sign_negative()
    }
    fn sqrt(self) -> f32 {
        self.sqrt()
    }
    fn floor(self) -> f32 {
        self.floor()
    }
    fn round(self) -> f32 {
        self.round()
    }
    fn abs(self) -> f32 {
        self.abs()
    }

    fn metres(part: u32, side: f32) -> f32 {
        part as f32 * (grid::FRACTION * side)
    }
    fn moved(part: u32, cells: f32, dither: f32) -> (i32, u32) {
        /// The largest `f32` that an `i32` can hold.
        const MOST: f32 = 2_147_483_520.0;
        let whole = cells.round();
        let rest = ((cells - whole) / grid::FRACTION + dither).floor();
        let rest = grid::integer(Real::clamp(rest, -MOST, MOST));
        let moved = part.wrapping_add_signed(rest);
        let carry = i32::from(rest > 0 && moved < part) - i32::from(rest < 0 && moved > part);
        (grid::integer(whole) + carry, moved)
    }
    fn rounded_part(part: u32) -> u32 {
        part
    }
    fn part(number: f64) -> u32 {
        (number / f64::from(grid::FRACTION)).round() as u32
    }
    fn refined_part(rounded: u32, _known: u32) -> u32 {
        rounded
    }

    fn component(turn: i32) -> f32 {
        turn as f32 * rotation::UNIT
    }
    fn turned(turn: i32, change: f32, dither: f32) -> i32 {
        turn.wrapping_add(grid::integer((change / rotation::UNIT + dither).floor()))
    }
    fn rounded_turn(turn: i32) -> i32 {
        turn
    }
    fn turn(number: f64) -> i32 {
        (number / f64::from(rotation::UNIT)).round() as i32
    }
    fn refined_turn(rounded: i32, _known: i32) -> i32 {
        rounded
    }

    fn plus(self, term: f32, dither: f32) -> f32 {
        rounding::plus(self, term, dither)
    }
    // WGSL's own may be wrong by 2⁻¹¹: Taylor's polynomial about the nearest multiple of π.
    fn sine(angle: f32) -> f32 {
        use std::f32::consts::PI;
        let turns = (angle / PI).round_ties_even();
        let rest = angle - turns * PI;
        let square = rest * rest;
        let even = turns - 2.0 * (0.5 * turns).floor() == 0.0;
        let fifth = 1.0 - square / 110.0;
        let fourth = 1.0 - square / 72.0 * fifth;
        let third = 1.0 - square / 42.0 * fourth;
        let second = 1.0 - square / 20.0 * third;
        let value = rest * (1.0 - square / 6.0 * second);
        if even { value } else { -value }
    }
}

impl Real for f64 {
    type Part = f64;
    type Turn = f64;

    const PRECISION: &str = "double";
    const ZERO: f64 = 0.0;
    const ONE: f64 = 1.0;
    const TSUJI: f64 = 0.912_870_929_175_276_9;

    fn of(number: f64) -> f64 {
        number
    }
    fn rounded(self) -> f32 {
        self as f32
    }
    fn exact(self) -> f64 {
        self
    }
    fn refined(rounded: f32, known: f64) -> f64 {
        // By their bits: zero has a sign.
        if (known as f32).to_bits() == rounded.to_bits() {
            known
        } else {
            rounded.into()
        }
    }
    fn integer(self) -> i32 {
        self as i32
    }
    fn is_finite(self) -> bool {
        self.is_finite()
    }
    fn is_negative(self) -> bool {
        self.is_sign_negative()
    }
    fn sqrt(self) -> f64 {
        self.sqrt()
    }
    fn floor(self) -> f64 {
        self.floor()
    }
    fn round(self) -> f64 {
        self.round()
    }
    fn abs(self) -> f64 {
        self.abs()
    }

    fn metres(part: f64, side: f64) -> f64 {
        part * side
    }
    fn moved(part: f64, cells: f64, _dither: f64) -> (i32, f64) {
        let moved = part + cells;
        let whole = moved.floor();
        (whole as i32, moved - whole)
    }
    fn rounded_part(part: f64) -> u32 {
        <f32 as Real>::part(part)
    }
    fn part(number: f64) -> f64 {
        number
    }
    fn refined_part(rounded: u32, known: f64) -> f64 {
        if <f32 as Real>::part(known) == rounded {
            known
        } else {
            f64::from(rounded) * f64::from(grid::FRACTION)
        }
    }

    fn component(turn: f64) -> f64 {
        turn
    }
    fn turned(turn: f64, change: f64, _dither: f64) -> f64 {
        turn + change
    }
    fn rounded_turn(turn: f64) -> i32 {
        <f32 as Real>::turn(turn)
    }
    fn turn(number: f64) -> f64 {
        number
    }
    fn refined_turn(rounded: i32, known: f64) -> f64 {
        if <f32 as Real>::turn(known) == rounded {
            known
        } else {
            f64::from(rounded) * f64::from(rotation::UNIT)
        }
    }

    fn plus(self, term: f64, _dither: f64) -> f64 {
        self + term
    }
    fn sine(angle: f64) -> f64 {
        libm::sin(angle)
    }
}
