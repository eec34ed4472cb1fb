use glam::DVec3;

/// A probe: a volume or a face in which bodies are measured over time.
#[doc(hidden)]
#[derive(Clone, Debug, PartialEq)]
pub struct Probe {
    /// Name.
    pub name: String,
    /// The volume or face.
    pub region: Region,
}

/// Region of a [`Probe`]. A body is in it if its centre of mass is.
#[doc(hidden)]
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Region {
    /// A box.
    Box {
        /// Corner with the smallest coordinates, m.
        min: DVec3,
        /// Corner with the largest coordinates, m.
        max: DVec3,
    },
    /// A cylinder.
    Cylinder {
        /// Centre of its base, m.
        base: DVec3,
        /// Unit vector along its axis, from the base on.
        axis: DVec3,
        /// Height, m.
        height: f64,
        /// Radius, m.
        radius: f64,
    },
    /// A rectangle across an axis, which is its normal.
    Rectangle {
        /// Corner with the smallest coordinates, m.
        min: DVec3,
        /// Corner with the largest coordinates, m.
        max: DVec3,
        /// Index of the axis: 0, 1 or 2.
        axis: usize,
    },
    /// A disc.
    Disc {
        /// Centre, m.
        center: DVec3,
        /// Unit normal.
        normal: DVec3,
        /// Radius, m.
        radius: f64,
    },
}

impl Region {
    /// Whether the region is a face, which bodies pass, and not a volume, which holds them.
    pub fn is_face(&self) -> bool {
        matches!(self, Region::Rectangle { .. } | Region::Disc { .. })
    }

    /// Whether the region is a volume that holds a point (m); a face holds none.
    pub fn holds(&self, point: DVec3) -> bool {
        match *self {
            Region::Box { min, max } => point.cmpge(min).all() && point.cmple(max).all(),
            Region::Cylinder {
                base,
                axis,
                height,
                radius,
            } => {
                let way = point - base;
                let along = way.dot(axis);
                (0.0..=height).contains(&along)
                    && (way - along * axis).length_squared() <= radius * radius
            }
            Region::Rectangle { .. } | Region::Disc { .. } => false,
        }
    }

    /// Whether the straight way between two points (m) passes the face along its normal, `true`, or against it, `false`.
    ///
    /// Returns `None` if it does not pass, or if the region is a volume.
    pub fn passing(&self, from: DVec3, to: DVec3) -> Option<bool> {
        let (center, normal) = match *self {
            Region::Rectangle { min, axis, .. } => (min, DVec3::AXES[axis]),
            Region::Disc { center, normal, .. } => (center, normal),
            Region::Box { .. } | Region::Cylinder { .. } => return None,
        };
        let [before, after] = [from, to].map(|point| (point - center).dot(normal));
        // A point in the plane of the face counts as past it, so that two ways in a row never count the same passage twice.
        if (before < 0.0) == (after < 0.0) {
            return None;
        }
        let point = from + (to - from) * (before / (before - after));
        let through = match *self {
            Region::Rectangle { min, max, axis } => (0..3)
                .filter(|side| *side != axis)
                .all(|side| (min[side]..=max[side]).contains(&point[side])),
            Region::Disc { center, radius, .. } => {
                point.distance_squared(center) <= radius * radius
            }
            Region::Box { .. } | Region::Cylinder { .. } => false,
        };
        through.then_some(after >= 0.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_way_passes_a_face_once() {
        let square = Region::Rectangle {
            min: DVec3::new(-1.0, 2.0, -1.0),
            max: DVec3::new(1.0, 2.0, 1.0),
            axis: 1,
        };
        let disc = Region::Disc {
            center: DVec3::new(0.0, 2.0, 0.0),
            normal: DVec3::NEG_Y,
            radius: 1.0,
        };
        let at = |x: f64, y: f64| DVec3::new(x, y, 0.0);
        assert_eq!(square.passing(at(0.0, 1.0), at(0.0, 3.0)), Some(true));
        assert_eq!(square.passing(at(0.0, 3.0), at(0.0, 1.0)), Some(false));
        assert_eq!(disc.passing(at(0.0, 1.0), at(0.0, 3.0)), Some(false));
        // The way crosses the plane of the face beyond its edge, and then within it.
        assert_eq!(square.passing(at(0.0, 1.0), at(2.1, 3.0)), None);
        assert_eq!(square.passing(at(0.0, 1.0), at(1.9, 3.0)), Some(true));
        // A way to the face and one onwards pass once in all.
        let ways = [(at(0.0, 1.0), at(0.0, 2.0)), (at(0.0, 2.0), at(0.0, 3.0))];
        let passed = ways.map(|(from, to)| square.passing(from, to));
        assert_eq!(passed.iter().flatten().count(), 1);
        // A way to the face and one back pass it twice.
        let ways = [(at(0.0, 1.0), at(0.0, 2.0)), (at(0.0, 2.0), at(0.0, 1.0))];
        assert_eq!(
            ways.map(|(from, to)| square.passing(from, to)),
            [Some(true), Some(false)]
        );
    }

    #[test]
    fn volumes_hold_what_is_in_them() {
        let cylinder = Region::Cylinder {
            base: DVec3::ZERO,
            axis: DVec3::Y,
            height: 2.0,
            radius: 1.0,
        };
        assert!(cylinder.holds(DVec3::new(0.7, 1.9, 0.7)));
        assert!(!cylinder.holds(DVec3::new(0.8, 1.0, 0.7)));
        assert!(!cylinder.holds(DVec3::new(0.0, 2.1, 0.0)));
        assert!(!cylinder.holds(DVec3::new(0.0, -0.1, 0.0)));
    }

    #[test]
    fn a_way_passes_a_face_off_the_origin_where_it_is() {
        let rectangle = |axis| Region::Rectangle {
            min: DVec3::new(1.0, 2.0, 3.0),
            max: DVec3::new(2.0, 4.0, 6.0) * (DVec3::ONE - DVec3::AXES[axis])
                + DVec3::new(1.0, 2.0, 3.0) * DVec3::AXES[axis],
            axis,
        };
        let middle = DVec3::new(1.5, 3.0, 4.5);
        let corner = DVec3::new(1.0, 2.0, 3.0);
        for axis in 0..3 {
            let along = DVec3::AXES[axis];
            let face = rectangle(axis);
            assert!(face.is_face() && !face.holds(corner));
            let at = |point: DVec3| point * (DVec3::ONE - along) + corner * along;
            // A third of the way before the face.
            let pass =
                |point: DVec3| face.passing(at(point) - 0.1 * along, at(point) + 0.2 * along);
            assert_eq!(pass(middle), Some(true), "axis {axis}");
            assert_eq!(
                pass(corner),
                Some(true),
                "axis {axis}: the edge belongs to it"
            );
            for side in (0..3).filter(|side| *side != axis) {
                assert_eq!(pass(middle + 3.0 * DVec3::AXES[side]), None);
                assert_eq!(pass(middle - 3.0 * DVec3::AXES[side]), None);
            }
        }
        let disc = Region::Disc {
            center: middle,
            normal: DVec3::Y,
            radius: 0.5,
        };
        // Slantwise through the rim, which belongs to it, and just beyond.
        for (x, passes) in [(0.5, Some(true)), (0.51, None), (-0.51, None)] {
            let slant = DVec3::new(0.25, 1.0, 0.0);
            let rim = middle + x * DVec3::X;
            assert_eq!(disc.passing(rim - slant, rim + 3.0 * slant), passes, "{x}");
        }
        let cube = Region::Box {
            min: DVec3::ZERO,
            max: DVec3::ONE,
        };
        assert!(!cube.is_face() && cube.holds(DVec3::ZERO) && cube.holds(DVec3::ONE));
        assert!(!cube.holds(DVec3::new(0.5, 1.1, 0.5)) && !cube.holds(DVec3::new(0.5, 0.5, -0.1)));
        assert_eq!(cube.passing(DVec3::NEG_ONE, DVec3::ONE), None);
    }

    #[test]
    fn a_cylinder_holds_what_is_beside_its_own_axis() {
        let cylinder = Region::Cylinder {
            base: DVec3::new(1.0, 2.0, 3.0),
            axis: DVec3::Y,
            height: 2.0,
            radius: 1.5,
        };
        for (x, y, z, held) in [
            (1.0, 2.0, 3.0, true),
            (1.0, 4.0, 4.5, true),
            (2.4, 3.0, 3.0, true),
            (1.0, 4.1, 3.0, false),
            (2.6, 3.0, 3.0, false),
            (1.0, 1.9, 3.0, false),
        ] {
            assert_eq!(cylinder.holds(DVec3::new(x, y, z)), held, "{x} {y} {z}");
        }
        assert!(!cylinder.is_face());
    }
}
