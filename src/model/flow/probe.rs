use glam::DVec3;

/// A part of space, or a face, that is looked at over time.
#[derive(Clone, Debug, PartialEq)]
pub struct Probe {
    /// Name.
    pub name: String,
    /// Where.
    pub region: Region,
}

/// Where a [`Probe`] looks. Bodies are where their centres of mass are.
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
        /// Direction of its axis, of length 1.
        axis: DVec3,
        /// m.
        height: f64,
        /// m.
        radius: f64,
    },
    /// A rectangle: a box without width along an axis, the direction of which is its normal.
    Rectangle {
        /// Corner with the smallest coordinates, m.
        min: DVec3,
        /// Corner with the largest coordinates, m.
        max: DVec3,
        /// 0, 1 or 2.
        axis: usize,
    },
    /// A disc.
    Disc {
        /// m.
        center: DVec3,
        /// Of length 1.
        normal: DVec3,
        /// m.
        radius: f64,
    },
}

impl Region {
    /// Whether it is a face, which bodies pass, and no volume, which holds them.
    pub fn is_face(&self) -> bool {
        matches!(self, Region::Rectangle { .. } | Region::Disc { .. })
    }

    /// Whether a volume holds a point; a face holds none.
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

    /// Whether a straight way passes a face along its normal (`true`), against it (`false`) or not.
    pub fn passing(&self, from: DVec3, to: DVec3) -> Option<bool> {
        let (center, normal) = match *self {
            Region::Rectangle { min, axis, .. } => (min, DVec3::AXES[axis]),
            Region::Disc { center, normal, .. } => (center, normal),
            Region::Box { .. } | Region::Cylinder { .. } => return None,
        };
        let [before, after] = [from, to].map(|point| (point - center).dot(normal));
        // In the face counts as past it, so that no way is counted twice.
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
        // Past its edge, where the straight way is in the plane of the face.
        assert_eq!(square.passing(at(0.0, 1.0), at(2.1, 3.0)), None);
        assert_eq!(square.passing(at(0.0, 1.0), at(1.9, 3.0)), Some(true));
        // To the face and on: once in all.
        let ways = [(at(0.0, 1.0), at(0.0, 2.0)), (at(0.0, 2.0), at(0.0, 3.0))];
        let passed = ways.map(|(from, to)| square.passing(from, to));
        assert_eq!(passed.iter().flatten().count(), 1);
        // To the face and back.
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
}
