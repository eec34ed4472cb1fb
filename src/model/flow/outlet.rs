use glam::DVec3;

/// An outlet, which takes away bodies whose centre of mass is in it, unless they are fixed.
#[doc(hidden)]
#[derive(Clone, Debug, PartialEq)]
pub struct Outlet {
    /// Name.
    pub name: String,
    /// The part of space that it takes bodies from.
    pub place: Place,
}

/// A part of space.
#[doc(hidden)]
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Place {
    /// The inside of a box, by its corners with the smallest and the largest coordinates, m.
    Inside(DVec3, DVec3),
    /// The outside of a box, by the same corners, m.
    Outside(DVec3, DVec3),
}

impl Place {
    /// Whether a point (m) is in this part of space.
    pub fn holds(&self, point: DVec3) -> bool {
        let within = |min: DVec3, max: DVec3| point.cmpge(min).all() && point.cmple(max).all();
        match *self {
            Place::Inside(min, max) => within(min, max),
            Place::Outside(min, max) => !within(min, max),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_point_is_inside_or_outside() {
        let (min, max) = (DVec3::ZERO, DVec3::new(1.0, 2.0, 3.0));
        let (inside, outside) = (Place::Inside(min, max), Place::Outside(min, max));
        for (point, within) in [
            (DVec3::new(0.5, 1.0, 2.9), true),
            (min, true),
            (max, true),
            (DVec3::new(0.5, 1.0, 3.1), false),
            (DVec3::new(-0.1, 1.0, 1.0), false),
        ] {
            assert_eq!(inside.holds(point), within, "{point}");
            assert_eq!(outside.holds(point), !within, "{point}");
        }
    }
}
