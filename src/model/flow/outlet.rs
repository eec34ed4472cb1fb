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
