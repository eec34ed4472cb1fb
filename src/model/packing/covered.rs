//! Places that bodies leave no further body of a class.

use glam::{DVec3, IVec3};

use super::occupied::TOUCH;
use crate::model::clump::ClumpSphere;

/// Cubes of a region that are so near to placed spheres that a body with its centre of mass in one of them overlaps.
///
/// One look into it refuses most tries in a crowded region.
pub(super) struct Covered {
    min: DVec3,
    /// Number of cubes along each axis.
    counts: IVec3,
    cubes_per_metre: f64,
    /// Radius of a ball about the centre of mass that is within the body, however it is turned, m.
    core: f64,
    /// Whether each cube is covered, row upon row along x.
    bits: Vec<u64>,
}

impl Covered {
    /// Number of cubes across the core of a body.
    const ACROSS: f64 = 4.0;
    /// Memory for each body at most, bytes.
    const EACH: f64 = 64.0;

    /// Radius of a ball about the centre of mass that is within a body of these spheres, m; not above 0 if there is none.
    fn core(spheres: &[ClumpSphere]) -> f64 {
        let inner = spheres.iter().map(|sphere| {
            let deepest = sphere.radius - sphere.center.length();
            // What touches does not overlap.
            deepest - 1e3 * TOUCH * sphere.radius
        });
        inner.fold(0.0, f64::max)
    }

    /// Cubes for so many bodies of these spheres, none of which is covered; `None` if they do not help, or take too much memory.
    pub fn new(spheres: &[ClumpSphere], [min, max]: [DVec3; 2], bodies: usize) -> Option<Covered> {
        let core = Covered::core(spheres);
        let cubes_per_metre = 0.5 * Covered::ACROSS / core;
        let counts = ((max - min) * cubes_per_metre).ceil().max(DVec3::ONE);
        let bytes = counts.element_product() / 8.0;
        if core <= 0.0 || bytes > Covered::EACH * bodies as f64 {
            return None;
        }
        Some(Covered {
            min,
            counts: counts.as_ivec3(),
            cubes_per_metre,
            core,
            bits: vec![0; (counts.element_product() as usize).div_ceil(64)],
        })
    }

    /// Number of the first cube of a row along x.
    fn row(&self, y: i32, z: i32) -> usize {
        (z as usize * self.counts.y as usize + y as usize) * self.counts.x as usize
    }

    /// Covers the cubes that a placed sphere leaves no body.
    pub fn add(&mut self, sphere: &ClumpSphere) {
        let reach = (sphere.radius + self.core) * self.cubes_per_metre;
        let center = (sphere.center - self.min) * self.cubes_per_metre;
        let last = self.counts - 1;
        let low = (center - reach).floor().as_ivec3().max(IVec3::ZERO);
        let high = (center + reach).floor().as_ivec3().min(last);
        // Distance of the farther side of a cube from the centre.
        let far = |cube: i32, center: f64| (f64::from(cube) + 0.5 - center).abs() + 0.5;
        for z in low.z..=high.z {
            for y in low.y..=high.y {
                let (y_far, z_far) = (far(y, center.y), far(z, center.z));
                let rest = reach * reach - y_far * y_far - z_far * z_far;
                if rest <= 0.0 {
                    continue;
                }
                let half = rest.sqrt();
                let first = ((center.x - half).ceil() as i32).max(0);
                let end = ((center.x + half).floor() as i32).min(self.counts.x);
                let row = self.row(y, z);
                for x in first..end {
                    let cube = row + x as usize;
                    self.bits[cube / 64] |= 1 << (cube % 64);
                }
            }
        }
    }

    /// Whether a body with its centre of mass at this point of the region overlaps a placed sphere for sure.
    pub fn has(&self, point: DVec3) -> bool {
        let cube = ((point - self.min) * self.cubes_per_metre).as_ivec3();
        let cube = cube.clamp(IVec3::ZERO, self.counts - 1);
        let cube = self.row(cube.y, cube.z) + cube.x as usize;
        self.bits[cube / 64] >> (cube % 64) & 1 == 1
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::packing::overlap::tests::random;

    #[test]
    fn nearly_all_places_that_are_taken_are_covered_and_no_free_one_is() {
        let mut random = random(5);
        let mut point = || DVec3::new(random(), random(), random()) * 1.4 - 0.2;
        // A body of two spheres; about its centre of mass, a ball of 0.05 m is within it, however it is turned.
        let body = [-0.02, 0.02].map(|x| ClumpSphere {
            center: DVec3::X * x,
            radius: 0.07,
        });
        let mut covered = Covered::new(&body, [DVec3::ZERO, DVec3::ONE], 1000).expect("cubes");
        let spheres: Vec<ClumpSphere> = [0.05, 0.1, 0.2]
            .map(|radius| ClumpSphere {
                center: point(),
                radius,
            })
            .to_vec();
        spheres.iter().for_each(|sphere| covered.add(sphere));
        let (mut taken, mut found) = (0, 0);
        for _ in 0..20_000 {
            let place = point().clamp(DVec3::ZERO, DVec3::ONE);
            let near = |sphere: &ClumpSphere| place.distance(sphere.center) < 0.05 + sphere.radius;
            let is_taken = spheres.iter().any(near);
            assert!(is_taken || !covered.has(place), "{place}");
            taken += u32::from(is_taken);
            found += u32::from(covered.has(place));
        }
        assert!(taken > 500 && 3 * found > 2 * taken, "{found} of {taken}");
    }

    #[test]
    fn cubes_are_left_out_where_they_do_not_help() {
        let sphere = |x: f64, radius| ClumpSphere {
            center: DVec3::X * x,
            radius,
        };
        let region = [DVec3::ZERO, DVec3::ONE];
        let is_made =
            |spheres: &[ClumpSphere], bodies| Covered::new(spheres, region, bodies).is_some();
        assert!(is_made(&[sphere(0.0, 0.1)], 100));
        // No ball about the centre of mass is within it.
        assert!(!is_made(&[sphere(-0.1, 0.1), sphere(0.1, 0.1)], 100));
        // Far more cubes than bodies.
        assert!(!is_made(&[sphere(0.0, 0.001)], 100));
    }
}
