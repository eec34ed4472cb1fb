//! The grids: places in them, and which cells are near; the twin of `shaders/shared/grid.wgsl`.
//!
//! Cells are integers in either precision: what is about them alone is in [`crate::math::grid`].

use glam::IVec3;

use super::real::Real;
use super::state::{Params, Sphere, Wall};
use super::vector::Vector;
use crate::math::grid::{cell_at, nearest, wrap};

/// The place of a body's centre within its cell, as a part of the cell's sides.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Place<R: Real>(pub [R::Part; 3]);

impl<R: Real> Place<R> {
    pub fn metres(self, cell_size: Vector<R>) -> Vector<R> {
        let [x, y, z] = self.0;
        Vector::new(
            R::metres(x, cell_size.x),
            R::metres(y, cell_size.y),
            R::metres(z, cell_size.z),
        )
    }
}

/// A body's cell in the periodic box and its place there after it has moved by `way` (m).
pub fn travel<R: Real>(
    cell: IVec3,
    place: Place<R>,
    way: Vector<R>,
    params: &Params<R>,
    dither: R,
) -> (IVec3, Place<R>) {
    let cells = (way / params.cell_size).array();
    let mut whole = [0; 3];
    let mut parts = place.0;
    for axis in 0..3 {
        (whole[axis], parts[axis]) = R::moved(parts[axis], cells[axis], dither);
    }
    let cell = cell.wrapping_add(IVec3::from_array(whole));
    (wrap(cell, params.period), Place(parts))
}

/// Moves whole cells from `offset` (m) to `cell`, so that the offset lies within its cell again, and the cell in
/// the periodic box.
pub fn settle<R: Real>(cell: IVec3, offset: Vector<R>, params: &Params<R>) -> (IVec3, Vector<R>) {
    let cells = (offset / params.cell_size).floor();
    (
        wrap(cell + cells.integers(), params.period),
        offset - cells * params.cell_size,
    )
}

/// Level of a sphere: the finest whose cells are larger than its diameter and the skin.
pub fn level_of<R: Real>(radius: R, params: &Params<R>) -> u32 {
    let (mut level, mut size) = (0, params.finest);
    while size < R::of(2.0) * radius + params.skin && level + 1 < params.level_count {
        size *= R::of(2.0);
        level += 1;
    }
    level
}

/// Cells of level `level` in which the neighbours of a sphere lie: the first and the last, in each direction.
pub fn reach<R: Real>(sphere: &Sphere<R>, level: u32, params: &Params<R>) -> (IVec3, IVec3) {
    let scale = R::of(f64::from(1_u32 << level));
    let size = params.cell_size * scale;
    let home = cell_at(sphere.cell, level);
    let fine = Vector::of_cells(sphere.cell - (home << level));
    let place = fine * params.cell_size + sphere.offset;
    // The largest neighbour there has a diameter of the cell less the skin; a little more, so that rounding hides
    // none.
    let reach = sphere.radius + R::of(0.5) * (params.finest * scale) + R::of(0.51) * params.skin;
    let mut reach = Vector::splat(reach);
    if params.deforms == 1 {
        // What is this near in the box as it is, before it was tilted.
        reach = reach * (Vector::splat(R::ONE) + params.tilt.abs());
    }
    let first = home + ((place - reach) / size).floor().integers();
    let last = home + ((place + reach) / size).floor().integers();
    // All around a periodic box, and no further.
    let period = params.period >> level;
    let around = first + period - 1;
    let last = IVec3::select(period.cmpgt(IVec3::ZERO), last.min(around), last);
    (first, last)
}

/// Half of the least distance of two spheres that are no neighbours; the sum of both counts: the radius
/// and half of the skin, m.
pub fn extent<R: Real>(sphere: &Sphere<R>, params: &Params<R>) -> R {
    let skin = if sphere.is_fast() {
        params.skin
    } else {
        params.slow_skin
    };
    sphere.radius + R::of(0.5) * skin
}

/// Gap between a sphere and a wall within which they are looked at closely, m.
pub fn wall_margin<R: Real>(sphere: &Sphere<R>, params: &Params<R>) -> R {
    let way = params.foresight * sphere.velocity.length();
    params.touch_margin.max(way)
}

/// A wall is listed for a sphere whose centre is nearer than this, m.
pub fn wall_extent<R: Real>(sphere: &Sphere<R>, params: &Params<R>) -> R {
    let ahead = wall_margin(sphere, params) - params.touch_margin;
    extent(sphere, params) + R::of(0.5) * params.skin + ahead
}

/// From a place to the nearest image of another, m.
pub fn between<R: Real>(
    from: (IVec3, Vector<R>),
    to: (IVec3, Vector<R>),
    params: &Params<R>,
) -> Vector<R> {
    let mut cells = nearest(to.0 - from.0, params.period);
    let way = |cells| Vector::of_cells(cells) * params.cell_size + (to.1 - from.1);
    // Cells alone do not tell which image is nearest in a box of few.
    let (far, sizes) = (way(cells).array(), params.cell_size.array());
    for axis in (0..3).filter(|axis| params.period[*axis] > 0) {
        let half = R::of(0.5 * f64::from(params.period[axis])) * sizes[axis];
        if far[axis] > half {
            cells[axis] -= params.period[axis];
        } else if far[axis] < -half {
            cells[axis] += params.period[axis];
        }
    }
    let upright = way(cells);
    if params.deforms == 0 {
        return upright;
    }
    let mut tilted = params.tilted(upright).array();
    for axis in (0..3).filter(|axis| params.period[*axis] > 0) {
        let side = R::of(params.period[axis].into()) * sizes[axis];
        if tilted[axis] > R::of(0.5) * side {
            tilted[axis] -= side;
        } else if tilted[axis] < -(R::of(0.5) * side) {
            tilted[axis] += side;
        }
    }
    Vector::from(tilted)
}

impl<R: Real> Params<R> {
    /// See [`crate::state::layout::Params::deform`].
    pub fn deform(&mut self, step: u32) {
        if self.deforms == 1 {
            let steps = R::of(step.wrapping_sub(self.first_step).into());
            self.cell_size = self.first_cell_size + self.growth * steps;
            self.tilt = self.first_tilt + self.tilting * steps;
        }
    }

    /// See [`crate::state::layout::Params::tilted`].
    pub fn tilted(&self, way: Vector<R>) -> Vector<R> {
        way + self.tilt * self.gradient.dot(way)
    }

    /// See [`crate::state::layout::Params::upright`].
    pub fn upright(&self, way: Vector<R>) -> Vector<R> {
        if self.deforms == 0 {
            return way;
        }
        way - self.tilt * self.gradient.dot(way)
    }

    /// See [`crate::state::layout::Params::flow`].
    pub fn flow(&self, way: Vector<R>) -> Vector<R> {
        self.strain_rate * way + self.shear_rate * self.gradient.dot(way)
    }
}

/// From the centre of one sphere to that of another, m.
pub fn separation<R: Real>(from: &Sphere<R>, to: &Sphere<R>, params: &Params<R>) -> Vector<R> {
    between((from.cell, from.offset), (to.cell, to.offset), params)
}

/// From the anchor of a wall to the centre of a sphere, m.
pub fn from_wall<R: Real>(sphere: &Sphere<R>, wall: &Wall<R>, params: &Params<R>) -> Vector<R> {
    between(
        (wall.cell, wall.offset),
        (sphere.cell, sphere.offset),
        params,
    )
}
