//! Walls: surfaces that bodies touch and that are no bodies.
//!
//! A [`Wall`] has a [`Shape`] in its own frame and a [`Pose`] that puts it into the world; kinematic and dynamic walls move. For
//! the engines a wall consists of facets, which are convex or smooth, in a tree of boxes.

pub(crate) mod distance;
pub(crate) mod dynamic;
pub(crate) mod facet;
pub(crate) mod mesh;
pub mod motion;
mod probe;
pub(crate) mod solid;
mod surface;
pub(crate) mod tree;
mod wear;

use std::sync::Arc;

use glam::{DQuat, DVec2, DVec3, Vec2, Vec3};
use xxhash_rust::xxh3::xxh3_64;

pub use distance::Distance;
pub use dynamic::{Drift, Dynamic, RigidWall, Servo};
use facet::{BACK, BALL, BOTH_SIDES, FRONT, Facet, PLANE, RECTANGLE, REVOLVED, TORUS};
pub use mesh::{Mesh, MeshFormat, MeshMistake};
pub use motion::{Motion, Moving};
pub use probe::Probe;
pub use surface::Surface;
use tree::Bounds;
pub use wear::Wear;

/// A wall: a surface that bodies touch and that is no body, such as a plane or a cylinder.
#[doc(hidden)]
#[derive(Clone, Debug, PartialEq)]
pub struct Wall {
    /// Name in reports.
    pub name: String,
    /// Shape, in the wall's own frame.
    pub shape: Shape,
    /// Side of the surface that bodies touch.
    pub side: Side,
    /// Index of the material.
    pub material: usize,
    /// Pose at the start.
    pub pose: Pose,
    /// Motion of a kinematic wall.
    pub motion: Option<Motion>,
    /// Drive of a dynamic wall, which has no `motion`.
    pub dynamic: Option<Dynamic>,
    /// Velocity of a belt that runs over the surface, in the wall's own frame, m/s.
    pub belt: DVec3,
    /// Law by which bodies wear the wall, if they do; only for meshes.
    pub wear: Option<Wear>,
}

/// A pose: position and orientation of a frame.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Pose {
    /// Origin of the frame in the world, m.
    pub position: DVec3,
    /// Rotation from the frame to the world.
    pub orientation: DQuat,
}

impl Default for Pose {
    fn default() -> Pose {
        Pose {
            position: DVec3::ZERO,
            orientation: DQuat::IDENTITY,
        }
    }
}

impl Pose {
    /// Converts a point (m) of the frame to the world, m.
    pub fn place(&self, point: DVec3) -> DVec3 {
        self.position + self.orientation * point
    }
}

/// Side of a wall's surface that bodies touch.
///
/// From the other side the wall is felt only up to the radius of a sphere behind the surface; a plane is felt at any depth.
#[doc(hidden)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Side {
    /// Bodies touch both sides.
    #[default]
    Both,
    /// Bodies touch the side to which the normals point: the outside of a closed surface.
    Front,
    /// Bodies touch the other side: the inside of a closed surface.
    Back,
}

/// Shape of a wall in its own frame. Normals of closed shapes point outwards.
#[doc(hidden)]
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Shape {
    /// An infinite plane through the origin.
    Plane {
        /// Unit normal.
        normal: DVec3,
    },
    /// A rectangle about the origin, across y.
    Rectangle {
        /// Lengths along x and z, m.
        size: DVec2,
    },
    /// A disc about the origin, across y.
    Disc {
        /// Radius, m.
        radius: f64,
        /// Radius of a hole in its middle, m; 0 if there is none.
        hole: f64,
    },
    /// A box about the origin.
    Box {
        /// Lengths of its sides, m.
        size: DVec3,
    },
    /// A sphere about the origin.
    Sphere {
        /// Radius, m.
        radius: f64,
    },
    /// A truncated cone about the y axis; with equal radii a cylinder.
    Cone {
        /// Radius at the lower end, at -height/2, m.
        bottom: f64,
        /// Radius at the upper end, at height/2, m.
        top: f64,
        /// Height, m; infinite for an endless cylinder.
        height: f64,
        /// Whether discs close its ends.
        closed: bool,
    },
    /// A torus about the y axis.
    Torus {
        /// Radius of the circle in the middle of the tube, m.
        ring: f64,
        /// Radius of the tube, m.
        tube: f64,
    },
    /// A triangle mesh.
    Mesh(Arc<Mesh>),
    /// Sampled signed distances from a watertight mesh.
    Sampled(Arc<Distance>),
}

/// The facets of a wall, before they are sorted into a tree.
pub(crate) struct Facets {
    /// The facets.
    pub facets: Vec<Facet>,
    /// The box of each facet.
    pub bounds: Vec<Bounds>,
    /// Samples of signed distances; empty for other shapes.
    pub samples: Vec<f32>,
}

impl Wall {
    /// An infinite plane through `point` (m) that holds bodies on the side to which its unit normal points.
    pub fn plane(point: DVec3, normal: DVec3, material: usize) -> Wall {
        Wall {
            name: "plane".to_owned(),
            shape: Shape::Plane { normal },
            side: Side::Front,
            material,
            pose: Pose {
                position: point,
                orientation: DQuat::IDENTITY,
            },
            motion: None,
            dynamic: None,
            belt: DVec3::ZERO,
            wear: None,
        }
    }

    /// Whether the wall may do work on bodies, because it moves or has a belt.
    pub fn works(&self) -> bool {
        self.motion.is_some() || self.dynamic.is_some() || self.belt != DVec3::ZERO
    }

    /// Depth of wear of each triangle, m, from the volume that it has lost, m³; empty for a wall that does not wear.
    pub(crate) fn depths_of_wear(&self, volumes: &[f64]) -> Vec<f64> {
        let Shape::Mesh(mesh) = &self.shape else {
            return Vec::new();
        };
        let depth = |(triangle, volume): (&[u32; 3], &f64)| {
            let [a, b, c] = mesh.corners(*triangle);
            volume / (0.5 * (b - a).cross(c - a).length())
        };
        mesh.triangles.iter().zip(volumes).map(depth).collect()
    }

    /// Hash of the shape and the side.
    pub(crate) fn shape_hash(&self) -> u64 {
        // `Debug` writes enough digits of a number to tell it from every other number.
        xxh3_64(format!("{:?} {:?}", self.shape, self.side).as_bytes())
    }

    /// Unit normal of an infinite plane in the world at the start; `None` for all other shapes.
    pub fn plane_normal(&self) -> Option<DVec3> {
        match self.shape {
            Shape::Plane { normal } => Some(self.pose.orientation * normal),
            _ => None,
        }
    }

    /// Pose and velocities at a time (s), as far as they are known beforehand.
    ///
    /// For a dynamic wall they are those at the start.
    pub fn at(&self, time: f64) -> Moving {
        match &self.motion {
            Some(motion) => motion.at(&self.pose, time),
            None => match self.dynamic {
                Some(Dynamic::Body(body)) => Moving {
                    velocity: body.velocity,
                    angular_velocity: body.angular_velocity,
                    ..Moving::still(self.pose)
                },
                _ => Moving::still(self.pose),
            },
        }
    }

    /// Estimate of the largest speed of the surface, m/s; see [`Motion::top_speed`].
    ///
    /// For a dynamic rigid wall it is the speed at the start.
    pub(crate) fn top_speed(&self) -> f64 {
        let moving = self
            .motion
            .as_ref()
            .map_or(0.0, |motion| motion.top_speed(&self.pose, self.reach()));
        let dynamic = self
            .dynamic
            .map_or(0.0, |dynamic| dynamic.speed(self.reach()));
        moving + dynamic + self.belt.length()
    }

    /// Whether something besides gravity and contacts does work on the wall.
    #[doc(hidden)]
    pub fn is_driven(&self) -> bool {
        let dynamic = self.dynamic.is_some_and(|dynamic| dynamic.is_driven());
        self.motion.is_some() || self.belt != DVec3::ZERO || dynamic
    }

    /// The lowest point of the boxes of its facets at the start, m; `None` for a wall without an end.
    ///
    /// It has the largest coordinate along the unit vector `down`.
    pub(crate) fn lowest(&self, down: DVec3) -> Option<DVec3> {
        let own = self.pose.orientation.conjugate() * down;
        let bounds = self.facets(0).bounds;
        let corners = bounds.iter().map(|(min, max)| {
            let corner = Vec3::select(own.as_vec3().cmpge(Vec3::ZERO), *max, *min);
            corner.as_dvec3()
        });
        let lowest = corners.max_by(|a, b| a.dot(own).total_cmp(&b.dot(own)))?;
        (lowest.abs().max_element() < f64::from(0.5 * ENDLESS)).then(|| self.pose.place(lowest))
    }

    /// The largest distance of a point of the wall from its origin, m; infinite for a wall without an end.
    #[doc(hidden)]
    pub fn reach(&self) -> f64 {
        match &self.shape {
            Shape::Plane { .. } => f64::INFINITY,
            Shape::Rectangle { size } => 0.5 * size.length(),
            Shape::Disc { radius, .. } | Shape::Sphere { radius } => *radius,
            Shape::Box { size } => 0.5 * size.length(),
            Shape::Cone {
                bottom,
                top,
                height,
                ..
            } => DVec2::new(bottom.max(*top), 0.5 * height).length(),
            Shape::Torus { ring, tube } => ring + tube,
            Shape::Mesh(mesh) => mesh.reach(),
            Shape::Sampled(distance) => distance.mesh.reach(),
        }
    }

    /// An upper bound of the distance of a point of the wall from its origin along the unit vector `axis`, m.
    ///
    /// `axis` is in the world, and the wall is in its pose at the start.
    pub(crate) fn extent(&self, axis: DVec3) -> f64 {
        let own = (self.pose.orientation.conjugate() * axis).abs();
        let bounds = self.facets(0).bounds.into_iter();
        let extents = bounds.map(|(min, max)| min.abs().max(max.abs()).as_dvec3().dot(own));
        extents.fold(0.0, f64::max).min(self.reach())
    }

    /// Upper bound of the distance that the surface moves when the wall goes from one pose to another, m.
    ///
    /// A wall that turns about its own axis of symmetry counts as still, because its surface stays where it is. For an infinite
    /// plane only its shift counts.
    pub(crate) fn way(&self, from: &Pose, to: &Pose) -> f64 {
        let shift = to.position - from.position;
        let turned = |axis: DVec3| to.orientation * axis - from.orientation * axis;
        match &self.shape {
            Shape::Plane { normal } => shift.dot(to.orientation * *normal).abs(),
            Shape::Sphere { .. } => shift.length(),
            Shape::Disc { .. } | Shape::Torus { .. } => {
                shift.length() + turned(DVec3::Y).length() * self.reach()
            }
            Shape::Cone { height, .. } if height.is_infinite() => {
                let axis = to.orientation * DVec3::Y;
                (shift - shift.dot(axis) * axis).length()
            }
            Shape::Cone { .. } => shift.length() + turned(DVec3::Y).length() * self.reach(),
            _ => {
                // The chord of the angle between the two orientations.
                let between = from.orientation.conjugate() * to.orientation;
                shift.length() + 2.0 * between.xyz().length() * self.reach()
            }
        }
    }

    /// Whether a point (m) of the wall's frame is inside; `None` if there is no inside at that point.
    ///
    /// An open cylinder or cone has an inside only between its two ends. For a mesh, [`Probe`] finds out.
    pub(crate) fn is_inside(&self, point: DVec3) -> Option<bool> {
        match &self.shape {
            Shape::Plane { .. } | Shape::Rectangle { .. } | Shape::Disc { .. } | Shape::Mesh(_) => {
                None
            }
            Shape::Sampled(distance) => Some(distance.at(point) < 0.0),
            Shape::Box { size } => Some(point.abs().cmplt(0.5 * *size).all()),
            Shape::Sphere { radius } => Some(point.length() < *radius),
            Shape::Cone {
                bottom,
                top,
                height,
                closed,
            } => {
                let part = match height.is_infinite() {
                    true => 0.5,
                    false => 0.5 + point.y / height,
                };
                let between = (0.0..=1.0).contains(&part);
                let within =
                    || DVec2::new(point.x, point.z).length() < bottom + part * (top - bottom);
                (*closed || between).then(|| between && within())
            }
            Shape::Torus { ring, tube } => {
                let out = DVec2::new(point.x, point.z).length() - ring;
                Some(DVec2::new(out, point.y).length() < *tube)
            }
        }
    }

    /// The facets of the wall, which has the index `wall`.
    pub(crate) fn facets(&self, wall: usize) -> Facets {
        let side = match self.side {
            Side::Both => BOTH_SIDES,
            Side::Front => FRONT,
            Side::Back => BACK,
        };
        let blank = Facet {
            wall: wall as u32,
            side,
            ..Facet::default()
        };
        let line = |from: DVec2, to: DVec2| {
            let facet = Facet {
                kind: REVOLVED,
                a: from.as_vec2().extend(0.0),
                b: to.as_vec2().extend(0.0),
                ..blank
            };
            let (low, high) = (from.min(to), from.max(to));
            let corner = |y: f64, sign: f64| DVec3::new(sign * high.x, y, sign * high.x).as_vec3();
            (facet, (corner(low.y, -1.0), corner(high.y, 1.0)))
        };
        let cube = |half: DVec3| (-half.as_vec3(), half.as_vec3());
        let all: Vec<(Facet, Bounds)> = match &self.shape {
            Shape::Plane { normal } => vec![(
                Facet {
                    kind: PLANE,
                    a: normal.as_vec3(),
                    ..blank
                },
                (Vec3::splat(-ENDLESS), Vec3::splat(ENDLESS)),
            )],
            Shape::Rectangle { size } => {
                vec![rectangle(
                    blank,
                    DVec3::ZERO,
                    DVec3::Y,
                    DVec3::new(size.x, 0.0, size.y),
                )]
            }
            Shape::Disc { radius, hole } => {
                vec![line(DVec2::new(*radius, 0.0), DVec2::new(*hole, 0.0))]
            }
            Shape::Box { size } => DVec3::AXES
                .into_iter()
                .flat_map(|axis| [axis, -axis])
                .map(|normal| rectangle(blank, 0.5 * *size * normal, normal, *size))
                .collect(),
            Shape::Sphere { radius } => vec![(
                Facet {
                    kind: BALL,
                    a: Vec3::X * *radius as f32,
                    ..blank
                },
                cube(DVec3::splat(*radius)),
            )],
            Shape::Cone { bottom, height, .. } if height.is_infinite() => {
                let radius = *bottom as f32;
                let corner = Vec3::new(radius, ENDLESS, radius);
                vec![(
                    Facet {
                        kind: REVOLVED,
                        a: Vec3::X * radius,
                        d: Vec3::X,
                        ..blank
                    },
                    (-corner, corner),
                )]
            }
            Shape::Cone {
                bottom,
                top,
                height,
                closed,
            } => {
                let [low, high] = [-0.5, 0.5].map(|part| part * height);
                let (bottom, top) = (DVec2::new(*bottom, low), DVec2::new(*top, high));
                let mut lines = vec![line(bottom, top)];
                if *closed && bottom.x > 0.0 {
                    lines.push(line(DVec2::new(0.0, low), bottom));
                }
                if *closed && top.x > 0.0 {
                    lines.push(line(top, DVec2::new(0.0, high)));
                }
                lines
            }
            Shape::Torus { ring, tube } => vec![(
                Facet {
                    kind: TORUS,
                    a: Vec2::new(*ring as f32, *tube as f32).extend(0.0),
                    ..blank
                },
                cube(DVec3::new(ring + tube, *tube, ring + tube)),
            )],
            Shape::Mesh(mesh) => mesh.facets(blank),
            Shape::Sampled(distance) => vec![(distance.facet(blank), distance.bounds())],
        };
        let (facets, bounds) = all.into_iter().unzip();
        Facets {
            facets,
            bounds,
            samples: match &self.shape {
                Shape::Sampled(distance) => distance.samples.clone(),
                _ => Vec::new(),
            },
        }
    }
}

/// A coordinate (m) beyond all others.
const ENDLESS: f32 = 1e18;

/// A rectangle across an axis, with the unit normal `normal` along that axis and the sides of `size` (m) along the other two.
fn rectangle(blank: Facet, center: DVec3, normal: DVec3, size: DVec3) -> (Facet, Bounds) {
    // With this choice b × c is the normal, whatever its sign.
    let axis = normal.abs();
    let (b, c) = (
        DVec3::new(axis.z, axis.x, axis.y),
        normal.dot(axis) * DVec3::new(axis.y, axis.z, axis.x),
    );
    let [along_b, along_c] = [b, c].map(|side| 0.5 * size.dot(side).abs());
    let half = along_b * b + along_c * c.abs();
    let facet = Facet {
        kind: RECTANGLE,
        a: center.as_vec3(),
        b: b.as_vec3(),
        c: c.as_vec3(),
        d: Vec2::new(along_b as f32, along_c as f32).extend(0.0),
        ..blank
    };
    (
        facet,
        ((center - half).as_vec3(), (center + half).as_vec3()),
    )
}
