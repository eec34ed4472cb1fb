//! Queries by place: along a ray, in a region, near a point.
//!
//! Each query checks all bodies, and the spheres of those whose bounding sphere may matter. In a periodic box, regions and points
//! use the nearest image of each body. A ray uses no images: it meets a body only at the image whose centre of mass is in the
//! box, and a ray that leaves the box does not come in again on the other side.

use glam::{DMat3, DVec3};

use super::Simulation;
use super::snapshot::Snapshot;
use crate::model::error::Result;
use crate::model::handle::BodyHandle;
use crate::state::{Field, body_orientation};

/// Point at which a ray meets a body.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct RayHit {
    /// The body.
    pub body: BodyHandle,
    /// Distance from the start of the ray, m; 0 if the ray starts inside.
    pub distance: f64,
    /// Point at which the ray meets the surface, m.
    pub point: DVec3,
    /// Unit normal of the surface there, outwards.
    pub normal: DVec3,
}

/// A body and the distance of its surface.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct Nearest {
    /// The body.
    pub body: BodyHandle,
    /// Distance of its surface, m; negative if the point is inside.
    pub distance: f64,
    /// Nearest point of its surface, m.
    pub point: DVec3,
}

/// A ball about a point: a sphere of a body, or all of it.
#[derive(Clone, Copy)]
struct Ball {
    center: DVec3,
    radius: f64,
}

impl Snapshot<'_> {
    fn handle(&self, index: usize) -> BodyHandle {
        BodyHandle::from_id(self.state.identities.id(index))
    }

    /// Bounding sphere of a body.
    fn bounds(&self, index: usize) -> Ball {
        Ball {
            center: self.state.position(&self.state.bodies[index]),
            radius: self.model.shapes[self.state.identities[index].shape].bounding_radius(),
        }
    }

    /// The spheres of a body; its bounding sphere has its centre at `center`.
    fn balls(&self, index: usize, center: DVec3) -> impl Iterator<Item = Ball> + '_ {
        let axes = DMat3::from_quat(body_orientation(&self.state.bodies[index]));
        let clump = &self.model.shapes[self.state.identities[index].shape];
        clump.spheres.iter().map(move |sphere| Ball {
            center: center + axes * sphere.center,
            radius: sphere.radius,
        })
    }

    /// The first body that a ray from `origin` along `direction` meets within `reach`, m.
    pub fn cast_ray(&self, origin: DVec3, direction: DVec3, reach: f64) -> Option<RayHit> {
        let direction = direction.try_normalize()?;
        let mut nearest: Option<RayHit> = None;
        for index in 0..self.state.bodies.len() {
            let limit = nearest.map_or(reach, |hit| hit.distance);
            let bounds = self.bounds(index);
            if !meets(bounds, origin, direction).is_some_and(|distance| distance <= limit) {
                continue;
            }
            for ball in self.balls(index, bounds.center) {
                let limit = nearest.map_or(reach, |hit| hit.distance);
                let Some(distance) = meets(ball, origin, direction) else {
                    continue;
                };
                if distance > limit || nearest.is_some_and(|hit| distance >= hit.distance) {
                    continue;
                }
                let point = origin + distance * direction;
                nearest = Some(RayHit {
                    body: self.handle(index),
                    distance,
                    point,
                    normal: (point - ball.center).normalize_or(-direction),
                });
            }
        }
        nearest
    }

    /// The bodies that overlap the box from `min` to `max`, m.
    pub fn bodies_in_box(&self, min: DVec3, max: DVec3) -> Vec<BodyHandle> {
        let (middle, half) = (0.5 * (min + max), 0.5 * (max - min));
        self.bodies_where(middle, |from_middle, ball| {
            let outside = from_middle - from_middle.clamp(-half, half);
            outside.length() <= ball
        })
    }

    /// The bodies that come within `radius` (m) of `center` (m).
    pub fn bodies_in_sphere(&self, center: DVec3, radius: f64) -> Vec<BodyHandle> {
        self.bodies_where(center, |from_center, ball| {
            from_center.length() <= radius + ball
        })
    }

    /// The bodies with a sphere for which `is_in` holds; it gets the sphere's centre relative to `point`, and its
    /// radius. Bodies whose bounding sphere fails are skipped, so `is_in` must hold for any sphere around one for
    /// which it holds.
    fn bodies_where(&self, point: DVec3, is_in: impl Fn(DVec3, f64) -> bool) -> Vec<BodyHandle> {
        let found = (0..self.state.bodies.len()).filter(|&index| {
            let bounds = self.bounds(index);
            let center = self.state.nearest(bounds.center - point);
            is_in(center, bounds.radius)
                && self
                    .balls(index, center)
                    .any(|ball| is_in(ball.center, ball.radius))
        });
        found.map(|index| self.handle(index)).collect()
    }

    /// The body whose surface is nearest to `point`, m.
    pub fn nearest_body(&self, point: DVec3) -> Option<Nearest> {
        let mut nearest: Option<Nearest> = None;
        for index in 0..self.state.bodies.len() {
            let bounds = self.bounds(index);
            let center = self.state.nearest(bounds.center - point);
            let farther =
                |distance: f64| nearest.is_some_and(|nearest| distance >= nearest.distance);
            if farther(center.length() - bounds.radius) {
                continue;
            }
            for ball in self.balls(index, center) {
                let distance = ball.center.length() - ball.radius;
                if nearest.is_none_or(|nearest| distance < nearest.distance) {
                    let way = ball.center.normalize_or(DVec3::Y);
                    nearest = Some(Nearest {
                        body: self.handle(index),
                        distance,
                        point: point + distance * way,
                    });
                }
            }
        }
        nearest
    }
}

/// Distance along a ray to its entry into a ball; 0 if it starts inside.
fn meets(ball: Ball, origin: DVec3, direction: DVec3) -> Option<f64> {
    let to_center = ball.center - origin;
    let along = to_center.dot(direction);
    let aside = (to_center - along * direction).length_squared();
    let half = ball.radius * ball.radius - aside;
    if half < 0.0 {
        return None;
    }
    let (first, last) = (along - half.sqrt(), along + half.sqrt());
    (last >= 0.0).then(|| first.max(0.0))
}

impl Simulation {
    /// [`Snapshot::cast_ray`] now.
    ///
    /// # Errors
    /// If the device is lost.
    pub fn cast_ray(
        &mut self,
        origin: DVec3,
        direction: DVec3,
        reach: f64,
    ) -> Result<Option<RayHit>> {
        self.fetch(&[Field::Bodies])?;
        Ok(self.fetched().cast_ray(origin, direction, reach))
    }

    /// [`Snapshot::bodies_in_box`] now.
    ///
    /// # Errors
    /// If the device is lost.
    pub fn bodies_in_box(&mut self, min: DVec3, max: DVec3) -> Result<Vec<BodyHandle>> {
        self.fetch(&[Field::Bodies])?;
        Ok(self.fetched().bodies_in_box(min, max))
    }

    /// [`Snapshot::bodies_in_sphere`] now.
    ///
    /// # Errors
    /// If the device is lost.
    pub fn bodies_in_sphere(&mut self, center: DVec3, radius: f64) -> Result<Vec<BodyHandle>> {
        self.fetch(&[Field::Bodies])?;
        Ok(self.fetched().bodies_in_sphere(center, radius))
    }

    /// [`Snapshot::nearest_body`] now.
    ///
    /// # Errors
    /// If the device is lost.
    pub fn nearest_body(&mut self, point: DVec3) -> Result<Option<Nearest>> {
        self.fetch(&[Field::Bodies])?;
        Ok(self.fetched().nearest_body(point))
    }
}
