//! Vectors of three numbers of either precision.

use std::ops::{Add, AddAssign, Div, Mul, MulAssign, Neg, Sub, SubAssign};

use glam::{DVec3, IVec3, Vec3};

use super::real::Real;

/// A vector.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Vector<R> {
    pub x: R,
    pub y: R,
    pub z: R,
}

impl<R: Real> Vector<R> {
    pub const ZERO: Vector<R> = Vector::new(R::ZERO, R::ZERO, R::ZERO);
    pub const X: Vector<R> = Vector::new(R::ONE, R::ZERO, R::ZERO);
    pub const Y: Vector<R> = Vector::new(R::ZERO, R::ONE, R::ZERO);

    pub const fn new(x: R, y: R, z: R) -> Vector<R> {
        Vector { x, y, z }
    }

    pub fn splat(number: R) -> Vector<R> {
        Vector::new(number, number, number)
    }

    pub fn of(vector: DVec3) -> Vector<R> {
        Vector::new(R::of(vector.x), R::of(vector.y), R::of(vector.z))
    }

    pub fn of_cells(cells: IVec3) -> Vector<R> {
        Vector::of(cells.as_dvec3())
    }

    pub fn exact(self) -> DVec3 {
        DVec3::new(self.x.exact(), self.y.exact(), self.z.exact())
    }

    pub fn rounded(self) -> Vec3 {
        Vec3::new(self.x.rounded(), self.y.rounded(), self.z.rounded())
    }

    pub fn map<T>(self, f: impl Fn(R) -> T) -> [T; 3] {
        [f(self.x), f(self.y), f(self.z)]
    }

    pub fn array(self) -> [R; 3] {
        [self.x, self.y, self.z]
    }

    fn with(self, other: Vector<R>, f: impl Fn(R, R) -> R) -> Vector<R> {
        Vector::new(f(self.x, other.x), f(self.y, other.y), f(self.z, other.z))
    }

    pub fn dot(self, other: Vector<R>) -> R {
        self.x * other.x + self.y * other.y + self.z * other.z
    }

    pub fn cross(self, other: Vector<R>) -> Vector<R> {
        Vector::new(
            self.y * other.z - other.y * self.z,
            self.z * other.x - other.z * self.x,
            self.x * other.y - other.x * self.y,
        )
    }

    pub fn square(self) -> R {
        self.dot(self)
    }

    pub fn length(self) -> R {
        self.square().sqrt()
    }

    pub fn distance(self, other: Vector<R>) -> R {
        (self - other).length()
    }

    pub fn clamp(self, min: Vector<R>, max: Vector<R>) -> Vector<R> {
        self.with(min, R::max).with(max, R::min)
    }

    pub fn floor(self) -> Vector<R> {
        self.map(R::floor).into()
    }

    /// The integers that whole numbers are.
    pub fn integers(self) -> IVec3 {
        IVec3::from_array(self.map(R::integer))
    }

    pub fn abs(self) -> Vector<R> {
        self.map(R::abs).into()
    }

    pub fn is_finite(self) -> bool {
        self.map(R::is_finite) == [true; 3]
    }

    /// `self + term`, for a sum over many steps.
    pub fn plus(self, term: Vector<R>, dither: R) -> Vector<R> {
        self.with(term, |sum, term| sum.plus(term, dither))
    }
}

impl<R> From<[R; 3]> for Vector<R> {
    fn from([x, y, z]: [R; 3]) -> Vector<R> {
        Vector { x, y, z }
    }
}

impl<R: Real> Add for Vector<R> {
    type Output = Vector<R>;
    fn add(self, other: Vector<R>) -> Vector<R> {
        self.with(other, R::add)
    }
}

impl<R: Real> SubAssign for Vector<R> {
    fn sub_assign(&mut self, other: Vector<R>) {
        *self = *self - other;
    }
}

impl<R: Real> AddAssign for Vector<R> {
    fn add_assign(&mut self, other: Vector<R>) {
        *self = *self + other;
    }
}

impl<R: Real> Sub for Vector<R> {
    type Output = Vector<R>;
    fn sub(self, other: Vector<R>) -> Vector<R> {
        self.with(other, R::sub)
    }
}

impl<R: Real> Neg for Vector<R> {
    type Output = Vector<R>;
    fn neg(self) -> Vector<R> {
        self.map(R::neg).into()
    }
}

impl<R: Real> Mul<R> for Vector<R> {
    type Output = Vector<R>;
    fn mul(self, factor: R) -> Vector<R> {
        self.map(|number| number * factor).into()
    }
}

impl<R: Real> MulAssign<R> for Vector<R> {
    fn mul_assign(&mut self, factor: R) {
        *self = *self * factor;
    }
}

impl<R: Real> Mul for Vector<R> {
    type Output = Vector<R>;
    fn mul(self, other: Vector<R>) -> Vector<R> {
        self.with(other, R::mul)
    }
}

impl<R: Real> Div<R> for Vector<R> {
    type Output = Vector<R>;
    fn div(self, divisor: R) -> Vector<R> {
        self.map(|number| number / divisor).into()
    }
}

impl<R: Real> Div for Vector<R> {
    type Output = Vector<R>;
    fn div(self, other: Vector<R>) -> Vector<R> {
        self.with(other, R::div)
    }
}
