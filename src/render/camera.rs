//! Cameras: the point and direction from which a picture is taken.

use glam::{DQuat, DVec3};

/// Largest tilt of a camera: at the poles, its upward direction is undefined.
const STEEPEST: f64 = 1.55;

/// A box along the axes of the world.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Bounds {
    /// Corner with the smallest coordinates, m.
    pub min: DVec3,
    /// Corner with the largest coordinates, m.
    pub max: DVec3,
}

impl Bounds {
    /// The box around a ball.
    pub fn of_ball(center: DVec3, radius: f64) -> Bounds {
        Bounds {
            min: center - radius,
            max: center + radius,
        }
    }

    /// The smallest box that contains both boxes.
    pub fn union(self, other: Bounds) -> Bounds {
        Bounds {
            min: self.min.min(other.min),
            max: self.max.max(other.max),
        }
    }

    /// The part of the box that is within `reach` (m) of the middle of another box along each axis; `None` if there is none.
    pub fn near(self, other: Bounds, reach: f64) -> Option<Bounds> {
        let min = self.min.max(other.center() - reach);
        let max = self.max.min(other.center() + reach);
        min.cmple(max).all().then_some(Bounds { min, max })
    }

    /// The middle of the box, m.
    pub fn center(self) -> DVec3 {
        0.5 * (self.min + self.max)
    }

    /// Half the diagonal of the box, m.
    pub fn radius(self) -> f64 {
        0.5 * (self.max - self.min).length()
    }

    /// The eight corners of the box, m. Bit k of the index tells whether a corner has the larger coordinate along axis k.
    pub fn corners(self) -> [DVec3; 8] {
        std::array::from_fn(|corner| {
            DVec3::from_array(std::array::from_fn(|axis| {
                if corner >> axis & 1 == 1 {
                    self.max[axis]
                } else {
                    self.min[axis]
                }
            }))
        })
    }
}

/// A camera that orbits a point.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Camera {
    /// Point that the camera looks at, m.
    pub target: DVec3,
    /// Distance of the camera from the target, m.
    pub distance: f64,
    /// Unit vector that points up.
    pub zenith: DVec3,
    /// Angle around the target, rad: from z towards x if y is up, from -y towards x if z is up.
    pub around: f64,
    /// Angle above the target, rad.
    pub above: f64,
    /// Angle between the upper and the lower edge of the picture, rad.
    pub field_of_view: f64,
}

impl Default for Camera {
    fn default() -> Self {
        Camera {
            target: DVec3::ZERO,
            distance: 1.0,
            zenith: DVec3::Y,
            around: 30_f64.to_radians(),
            above: 20_f64.to_radians(),
            field_of_view: 35_f64.to_radians(),
        }
    }
}

/// The axes of a camera: unit vectors.
#[doc(hidden)]
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Axes {
    /// Unit vector to the right in the picture.
    pub right: DVec3,
    /// Unit vector that points up in the picture.
    pub up: DVec3,
    /// Unit vector into the picture.
    pub forward: DVec3,
}

impl Camera {
    /// A camera at `eye` (m) that looks at `target` (m), with y up.
    pub fn at(eye: DVec3, target: DVec3) -> Camera {
        Camera::upright(eye, target, DVec3::Y)
    }

    /// A camera at `eye` (m) that looks at `target` (m), with the unit vector `zenith` up.
    pub fn upright(eye: DVec3, target: DVec3, zenith: DVec3) -> Camera {
        let way = turn(zenith).conjugate() * (eye - target);
        let distance = way.length();
        Camera {
            target,
            distance,
            zenith,
            around: way.x.atan2(way.z),
            above: (way.y / distance).asin().clamp(-STEEPEST, STEEPEST),
            ..Camera::default()
        }
    }

    /// The axes of the camera.
    #[doc(hidden)]
    pub fn axes(&self) -> Axes {
        let (sin_around, cos_around) = self.around.sin_cos();
        let (sin_above, cos_above) = self.above.clamp(-STEEPEST, STEEPEST).sin_cos();
        let back = DVec3::new(sin_around * cos_above, sin_above, cos_around * cos_above);
        let right = DVec3::new(cos_around, 0.0, -sin_around);
        let turn = turn(self.zenith);
        let (back, right) = (turn * back, turn * right);
        Axes {
            right,
            up: back.cross(right),
            forward: -back,
        }
    }

    /// Position of the camera, m.
    pub fn eye(&self) -> DVec3 {
        self.target - self.distance * self.axes().forward
    }

    /// Half the height of the picture over the distance from the camera: the tangent of half the field of view.
    pub fn slope(&self) -> f64 {
        (0.5 * self.field_of_view).tan()
    }

    /// Moves the camera so that the box `bounds` (m) fits into a picture whose width over its height is `aspect`.
    pub fn fit(&mut self, bounds: Bounds, aspect: f64) {
        /// Largest fraction of the width and the height of the picture that the box may fill.
        const FILLED: f64 = 0.92;
        self.target = bounds.center();
        let axes = self.axes();
        let half = FILLED * self.slope();
        // A corner at (x, y, z) from the middle is in the picture if |x| <= half aspect (d + z) and |y| <= half (d + z). Here d
        // is the distance, and z points away from the camera.
        let distance = bounds.corners().into_iter().map(|corner| {
            let from_center = corner - self.target;
            let [x, y, z] = [axes.right, axes.up, axes.forward].map(|axis| from_center.dot(axis));
            (x.abs() / (half * aspect)).max(y.abs() / half) - z
        });
        self.distance = distance.fold(1e-6 + bounds.radius(), f64::max);
    }

    /// The direction of the ray through a point of the picture; a unit vector.
    ///
    /// `right` and `up` go from -1 to 1 across the picture; `aspect` is its width over its height.
    pub fn ray(&self, right: f64, up: f64, aspect: f64) -> DVec3 {
        let axes = self.axes();
        let slope = self.slope();
        (axes.forward + right * slope * aspect * axes.right + up * slope * axes.up).normalize()
    }
}

/// The rotation from y to the unit vector `zenith`.
pub(super) fn turn(zenith: DVec3) -> DQuat {
    DQuat::from_rotation_arc(DVec3::Y, zenith)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn axes_are_right_handed_and_look_at_the_target() {
        for (around, above) in [(0.0, 0.0), (1.0, 0.5), (-2.0, -1.2), (3.0, 9.0)] {
            let camera = Camera {
                around,
                above,
                distance: 3.0,
                target: DVec3::new(1.0, 2.0, 3.0),
                ..Camera::default()
            };
            let Axes { right, up, forward } = camera.axes();
            assert!((right.cross(up) + forward).length() < 1e-12);
            assert!(up.y > 0.0, "the picture stands upright");
            assert!((camera.eye() + 3.0 * forward - camera.target).length() < 1e-12);
        }
    }

    #[test]
    fn a_camera_is_where_it_was_put() {
        let (eye, target) = (DVec3::new(3.0, 2.0, -1.0), DVec3::new(0.5, 0.0, 1.0));
        let camera = Camera::at(eye, target);
        assert!((camera.eye() - eye).length() < 1e-12, "{}", camera.eye());
    }

    #[test]
    fn the_picture_stands_upright_whatever_is_up() {
        let (eye, target) = (DVec3::new(3.0, 2.0, -1.0), DVec3::new(0.5, 0.0, 1.0));
        for zenith in [
            DVec3::Z,
            -DVec3::Y,
            DVec3::X,
            DVec3::new(1.0, 2.0, -2.0) / 3.0,
        ] {
            let camera = Camera::upright(eye, target, zenith);
            assert!((camera.eye() - eye).length() < 1e-12, "{}", camera.eye());
            let Axes { right, up, .. } = camera.axes();
            assert!(right.dot(zenith).abs() < 1e-12 && up.dot(zenith) > 0.0);
        }
        // If z is up, the camera stands in front, at a negative y.
        let front = Camera {
            zenith: DVec3::Z,
            around: 0.0,
            above: 0.0,
            ..Camera::default()
        };
        assert!((front.eye() + DVec3::Y).length() < 1e-12, "{}", front.eye());
    }

    #[test]
    fn what_is_fitted_is_in_the_picture_and_fills_it() {
        let bounds = Bounds {
            min: DVec3::new(-1.0, 0.0, -3.0),
            max: DVec3::new(4.0, 2.0, 1.0),
        };
        for aspect in [0.5, 1.0, 2.0] {
            let mut camera = Camera::default();
            camera.fit(bounds, aspect);
            let axes = camera.axes();
            let mut largest = 0.0_f64;
            for corner in bounds.corners() {
                let way = corner - camera.eye();
                let away = way.dot(axes.forward);
                assert!(away > 0.0);
                let right = way.dot(axes.right) / (away * camera.slope() * aspect);
                let up = way.dot(axes.up) / (away * camera.slope());
                largest = largest.max(right.abs()).max(up.abs());
            }
            assert!((0.9..=0.921).contains(&largest), "{aspect}: {largest}");
        }
    }
}
