use glam::DVec3;

/// Triangles on which random points are drawn, evenly over their area.
#[doc(hidden)]
#[derive(Clone, Debug, PartialEq)]
pub struct Face {
    /// Corners of each triangle, m.
    triangles: Vec<[DVec3; 3]>,
    /// Area of each triangle together with those before it, as a fraction of the whole area.
    sums: Vec<f64>,
}

impl Face {
    /// A face of the triangles with these corners, m; `None` if they have no area.
    pub fn new(triangles: impl IntoIterator<Item = [DVec3; 3]>) -> Option<Face> {
        let triangles: Vec<[DVec3; 3]> = triangles.into_iter().collect();
        let mut sum = 0.0;
        let mut sums: Vec<f64> = triangles
            .iter()
            .map(|[a, b, c]| {
                sum += (*b - *a).cross(*c - *a).length();
                sum
            })
            .collect();
        if !(sum > 0.0 && sum.is_finite()) {
            return None;
        }
        sums.iter_mut().for_each(|own| *own /= sum);
        Some(Face { triangles, sums })
    }

    /// The box around the face, m: its corners with the smallest and the largest coordinates.
    pub fn bounds(&self) -> (DVec3, DVec3) {
        let corners = self.triangles.iter().flatten();
        corners.fold(
            (DVec3::INFINITY, DVec3::NEG_INFINITY),
            |(min, max), corner| (min.min(*corner), max.max(*corner)),
        )
    }

    /// The point of the face for three numbers from 0 to 1, m. Evenly distributed numbers give evenly distributed points.
    pub fn point(&self, [which, along, across]: [f64; 3]) -> DVec3 {
        let index = self.sums.partition_point(|sum| *sum <= which);
        let [a, b, c] = self.triangles[index.min(self.triangles.len() - 1)];
        // A point in the other half of the parallelogram is turned about the middle, into the triangle.
        let (along, across) = match along + across > 1.0 {
            true => (1.0 - along, 1.0 - across),
            false => (along, across),
        };
        a + along * (b - a) + across * (c - a)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn points_are_everywhere_alike() {
        // A square of two triangles of unequal size, and one without area.
        let (a, b) = (DVec3::ZERO, DVec3::X);
        let (c, d) = (DVec3::new(1.0, 0.0, 1.0), DVec3::new(0.0, 0.0, 1.0));
        let corner = DVec3::new(0.0, 0.0, 0.25);
        let face = Face::new([[a, b, corner], [a, a, a], [corner, b, d], [d, b, c]]).unwrap();
        assert_eq!(face.bounds(), (a, c));
        let mut counts = [0; 16];
        let steps = 24;
        for k in 0..steps * steps * steps {
            let part = |k: usize| ((k % steps) as f64 + 0.5) / steps as f64;
            let point = face.point([part(k), part(k / steps), part(k / (steps * steps))]);
            assert_eq!(point.y, 0.0);
            let [x, z] = [point.x, point.z].map(|along| ((4.0 * along) as usize).min(3));
            counts[4 * x + z] += 1;
        }
        let mean = steps * steps * steps / 16;
        assert!(
            counts
                .iter()
                .all(|own| own * 5 > mean * 4 && own * 5 < mean * 6),
            "{counts:?}"
        );
        assert_eq!(Face::new([[a, b, b]]), None);
    }

    #[test]
    fn a_point_is_where_its_numbers_say() {
        let at = |x: f64, z: f64| DVec3::new(x, 0.0, z);
        let far = at(3.0, 5.0);
        let triangle = [at(1.0, 1.0), at(2.0, 1.0), at(1.0, 4.0)];
        let face = Face::new([triangle, [at(1.0, 1.0), far, at(1.0, 4.0)]]).unwrap();
        assert_eq!(face.bounds(), (at(1.0, 1.0), far));
        assert_eq!(face.point([0.0, 0.25, 0.5]), at(1.25, 2.5));
        // The other half of the parallelogram is turned about its middle.
        assert_eq!(face.point([0.0, 0.75, 0.5]), at(1.25, 2.5));
        // The second triangle is twice as large.
        assert_eq!(face.point([0.33, 0.0, 0.5]), at(1.0, 2.5));
        assert_eq!(face.point([0.34, 0.5, 0.0]), at(2.0, 3.0));
        assert_eq!(face.point([1.0, 0.5, 0.0]), at(2.0, 3.0));
        let endless = at(1e200, 0.0);
        assert_eq!(Face::new([[at(0.0, 0.0), endless, at(0.0, 1e200)]]), None);
    }
}
