use glam::DVec3;

/// Where bodies go out: those that are not fixed, by their centres of mass.
#[derive(Clone, Debug, PartialEq)]
pub struct Outlet {
    /// Name.
    pub name: String,
    /// Where.
    pub place: Place,
}

/// A part of space.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Place {
    /// A box, by its corners, m.
    Inside(DVec3, DVec3),
    /// All but a box.
    Outside(DVec3, DVec3),
}

impl Place {
    /// Whether a point is in it.
    pub fn holds(&self, point: DVec3) -> bool {
        let within = |min: DVec3, max: DVec3| point.cmpge(min).all() && point.cmple(max).all();
        match *self {
            Place::Inside(min, max) => within(min, max),
            Place::Outside(min, max) => !within(min, max),
        }
    }
}
