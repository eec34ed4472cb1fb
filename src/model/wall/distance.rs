//! Signed distances from watertight meshes, sampled on a grid.

use std::fmt;
use std::sync::Arc;

use glam::{DVec3, IVec3, Vec3};
use xxhash_rust::xxh3::Xxh3;

use super::facet::closest;
use super::facet::{FRONT, Facet, SAMPLED};
use super::mesh::Mesh;
use super::solid::Solid;
use super::tree::Bounds;
use crate::math::parallel::prelude::*;

/// Signed distances from a watertight mesh at the points of a cubic grid. They are negative inside, and trilinear in between.
#[derive(Clone, PartialEq)]
pub struct Distance {
    /// First point of the grid, m.
    pub origin: DVec3,
    /// Distance between neighbouring points, m.
    pub spacing: f64,
    /// Number of points along each axis.
    pub count: IVec3,
    /// Distance at each point, m; the index along x runs fastest.
    pub samples: Vec<f32>,
    /// The mesh that was sampled.
    pub mesh: Arc<Mesh>,
}

impl fmt::Debug for Distance {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut hash = Xxh3::new();
        hash.update(bytemuck::cast_slice(&self.samples));
        let Distance {
            origin,
            spacing,
            count,
            ..
        } = self;
        write!(
            formatter,
            "Distance({origin}, {spacing}, {count}, {:016x})",
            hash.digest()
        )
    }
}

/// Largest number of points of a grid.
pub const MAX_SAMPLES: u64 = 1 << 26;

impl Distance {
    /// Number of points of the grid around a mesh, with a distance of `spacing` (m) and a `margin` (m) on all sides.
    pub fn sample_count(mesh: &Mesh, spacing: f64, margin: f64) -> u64 {
        let (_, count) = grid(mesh, spacing, margin);
        count.as_u64vec3().element_product()
    }

    /// Samples the distance from a watertight mesh at points `spacing` (m) apart, up to `margin` (m) around it.
    pub fn new(mesh: &Arc<Mesh>, spacing: f64, margin: f64) -> Distance {
        let solid = Solid::new(mesh.clone());
        let (origin, count) = grid(mesh, spacing, margin);
        let mut samples = vec![0.0; count.as_u64vec3().element_product() as usize];
        let rows = samples.par_chunks_mut(count.x as usize).enumerate();
        rows.for_each(|(row, samples)| {
            let (y, z) = (row as i32 % count.y, row as i32 / count.y);
            for (x, sample) in (0..).zip(samples) {
                let place = origin + spacing * IVec3::new(x, y, z).as_dvec3();
                let sign = if solid.contains(place) { -1.0 } else { 1.0 };
                *sample = sign * solid.nearest(place).distance;
            }
        });
        Distance {
            origin,
            spacing,
            count,
            samples,
            mesh: mesh.clone(),
        }
    }

    /// The signed distance at a point (m), m.
    pub fn at(&self, point: DVec3) -> f64 {
        let facet = self.facet(Facet {
            side: FRONT,
            ..Facet::default()
        });
        let found = closest(&facet, &self.samples, point.as_vec3(), f32::MAX);
        found.distance.into()
    }

    /// The box of the grid, m.
    pub(crate) fn bounds(&self) -> Bounds {
        let end = self.origin + self.spacing * (self.count - 1).as_dvec3();
        (self.origin.as_vec3(), end.as_vec3())
    }

    /// The facet of these distances; its other fields are those of `blank`.
    pub(crate) fn facet(&self, blank: Facet) -> Facet {
        Facet {
            kind: SAMPLED,
            a: self.origin.as_vec3(),
            b: Vec3::X * self.spacing as f32,
            c: self.count.as_vec3(),
            ..blank
        }
    }
}

/// The first point (m) and the number of points along each axis of the grid around a mesh.
fn grid(mesh: &Mesh, spacing: f64, margin: f64) -> (DVec3, IVec3) {
    let (mut min, mut max) = (DVec3::INFINITY, DVec3::NEG_INFINITY);
    for vertex in &mesh.vertices {
        (min, max) = (min.min(*vertex), max.max(*vertex));
    }
    let origin = min - margin;
    let count = ((max + margin - origin) / spacing).ceil() + 1.0;
    (origin, count.as_ivec3().max(IVec3::splat(2)))
}
