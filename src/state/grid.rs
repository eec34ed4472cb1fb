//! The grids of a model, and where spheres and walls are in them; the functions are twins of those of
//! `shaders/shared/grid.wgsl`.

use super::layout::{Params, Sphere, Wall};
use super::pairs::range;
use crate::math::grid::{cell_at, shortest_way, tilted_way};
use crate::model::{Law, Model};
use glam::{DVec3, IVec3, Vec3};

/// Skin of the neighbour lists of fast bodies as a fraction of the smallest radius, beside the range of cohesion. A
/// thicker one makes longer lists, a thinner one has them built more often.
const SKIN: f64 = 0.3;

/// Skin of all other bodies: in a pile that has come to rest few bodies still move, and those that do not need no room
/// to.
const SLOW_SKIN: f64 = 0.1;

/// Skins and touch margin of the normal model `impulse`, whose steps are long: a body comes much farther in each.
const IMPULSE_SKIN: f64 = 0.8;
const IMPULSE_SLOW_SKIN: f64 = 0.25;
const IMPULSE_TOUCH_MARGIN: f64 = 0.1;

/// A cell is this much larger than the largest diameter and the skin, so that rounding of an offset
/// to the border of its cell cannot hide a neighbour.
const CELL_MARGIN: f64 = 1.001;

/// Gap within which surfaces are looked at closely, as a fraction of the smallest radius. Two spheres may come nearer
/// by what their skins have more than this before the lists are built again, so the lists have all that are as close.
const TOUCH_MARGIN: f64 = 0.02;

/// Diameters of the largest sphere, with the range of cohesion, that a periodic box has at least along a periodic axis: of two
/// images of a sphere, another one touches at most the nearest.
const LEAST_PERIOD: f64 = 2.0;

/// Cells of the finest grid that a periodic box has at most along an axis: sums of a few such numbers
/// fit into 32 bits.
const MOST_PERIOD: u32 = 1 << 28;

/// The length that a periodic axis of the domain of `model` has at least, m: two of its largest diameters, and of the ranges
/// in which surfaces act on each other.
pub fn least_period(model: &Model) -> f64 {
    least_length(radii(model).1, range(model))
}

/// Least period, m, for spheres of radii up to `largest` that act on each other across gaps up to `range`, m.
pub(crate) fn least_length(largest: f64, range: f64) -> f64 {
    // Not more than what rounding adds to a length of two diameters.
    (1.0 - 1e-9) * LEAST_PERIOD * (2.0 * largest + range)
}

/// The grids of a model, from the finest on.
pub(super) struct Grid {
    /// See [`Params::finest`].
    pub(super) finest: f32,
    pub(super) level_count: u32,
    pub(super) skin: f32,
    pub(super) slow_skin: f32,
    pub(super) touch_margin: f32,
    pub(super) cell_size: Vec3,
    pub(super) period: IVec3,
    pub(super) origin: DVec3,
}

impl Grid {
    pub(super) fn new(model: &Model) -> Grid {
        // The coarsest grid fits the largest spheres; each finer one has cells half as large, as
        // long as the smallest spheres fit.
        let coarsest = coarsest_cell(model);
        let (smallest, _) = radii(model);
        let (mut finest, mut level_count) = (coarsest, 1);
        while 0.5 * finest >= cell(smallest, skin(model)) {
            finest *= 0.5;
            level_count += 1;
        }

        let finest = finest as f32;
        let mut cell_size = Vec3::splat(finest);
        let (mut period, mut origin) = (IVec3::ZERO, DVec3::ZERO);
        if let Some(domain) = &model.domain {
            for axis in (0..3).filter(|&axis| domain.periodic[axis]) {
                let length = domain.period()[axis];
                let cells = (length / coarsest).floor();
                assert!(
                    length >= least_period(model),
                    "a period of {length} m is less than {} m",
                    least_period(model)
                );
                // A whole number of cells of each grid, so that all of them close.
                let fine = level_count - 1;
                let cells = cells.min(f64::from(MOST_PERIOD >> fine)) as i32;
                period[axis] = cells << fine;
                cell_size[axis] = (length / f64::from(period[axis])) as f32;
                origin[axis] = domain.min[axis];
            }
        }
        Grid {
            finest,
            level_count,
            skin: skin(model) as f32,
            touch_margin: (margins(model).touch * smallest + range(model)) as f32,
            slow_skin: (margins(model).slow_skin * smallest + range(model)) as f32,
            cell_size,
            period,
            origin,
        }
    }

    /// Cell of a point, and its place in it as a fraction of the cell's sides.
    pub(super) fn locate(&self, point: DVec3) -> (IVec3, DVec3) {
        locate(point, self.origin, self.cell_size)
    }
}

/// Cell of a point, and its place in it as a fraction of the cell's sides.
pub(super) fn locate(point: DVec3, origin: DVec3, cell_size: Vec3) -> (IVec3, DVec3) {
    let cells = (point - origin) / cell_size.as_dvec3();
    (cells.floor().as_ivec3(), cells - cells.floor())
}

/// Smallest and largest radius of the spheres of all bodies, those to come included, m.
pub(crate) fn radii(model: &Model) -> (f64, f64) {
    let poured = model
        .flow
        .inlets
        .iter()
        .flat_map(|inlet| &inlet.fill.shapes);
    let later = poured.map(|(shape, _)| *shape);
    let later = later.chain(model.flow.spawn.iter().copied());
    let (mut smallest, mut largest) = (f64::MAX, 0.0_f64);
    let mut add = |shape: usize| {
        for sphere in &model.shapes[shape].spheres {
            smallest = smallest.min(sphere.radius);
            largest = largest.max(sphere.radius);
        }
    };
    model.bodies.visit_kinds(|body| add(body.shape));
    later.for_each(add);
    (smallest, largest)
}

/// Two spheres of fast bodies are neighbours if their surfaces are closer than this, m.
pub(super) fn skin(model: &Model) -> f64 {
    margins(model).skin * radii(model).0 + range(model)
}

/// Distances as fractions of the smallest radius.
struct Margins {
    skin: f64,
    slow_skin: f64,
    touch: f64,
}

fn margins(model: &Model) -> Margins {
    match model.contact.law {
        Law::Impulse => Margins {
            skin: IMPULSE_SKIN,
            slow_skin: IMPULSE_SLOW_SKIN,
            touch: IMPULSE_TOUCH_MARGIN,
        },
        _ => Margins {
            skin: SKIN,
            slow_skin: SLOW_SKIN,
            touch: TOUCH_MARGIN,
        },
    }
}

/// Side of a cell that a sphere fits into, m.
pub(super) fn cell(radius: f64, skin: f64) -> f64 {
    CELL_MARGIN * (2.0 * radius + skin)
}

/// Side of a cell of the coarsest grid, m.
pub(super) fn coarsest_cell(model: &Model) -> f64 {
    cell(radii(model).1, skin(model))
}

/// Level of a sphere: the finest whose cells are larger than its diameter and the skin.
#[inline]
pub fn level_of(radius: f32, params: &Params) -> u32 {
    let (mut level, mut size) = (0, params.finest);
    while size < 2.0 * radius + params.skin && level + 1 < params.level_count {
        size *= 2.0;
        level += 1;
    }
    level
}

/// Half of the least distance of two spheres that are no neighbours; the sum of both counts: the radius and
/// half of the skin, m.
#[inline(always)]
pub fn extent(sphere: &Sphere, params: &Params) -> f32 {
    let skin = if sphere.is_fast() {
        params.skin
    } else {
        params.slow_skin
    };
    sphere.radius + 0.5 * skin
}

/// Gap between a sphere and a wall within which they are looked at closely, m.
#[inline(always)]
pub fn wall_margin(sphere: &Sphere, params: &Params) -> f32 {
    let way = params.foresight * sphere.velocity.length();
    params.touch_margin.max(way)
}

/// A wall is listed for a sphere whose centre is nearer than this, m: as far as it may come until the lists are built again, and
/// then be looked at.
#[inline(always)]
pub fn wall_extent(sphere: &Sphere, params: &Params) -> f32 {
    let ahead = wall_margin(sphere, params) - params.touch_margin;
    extent(sphere, params) + 0.5 * params.skin + ahead
}

/// Cells of level `level` in which the neighbours of a sphere lie: the first and the last, in each
/// direction.
#[inline]
pub fn reach(sphere: &Sphere, level: u32, params: &Params) -> (IVec3, IVec3) {
    let scale = (1_u32 << level) as f32;
    let size = params.cell_size * scale;
    let home = cell_at(sphere.cell, level);
    let fine = (sphere.cell - (home << level)).as_vec3();
    let place = fine * params.cell_size + sphere.offset;
    // The largest neighbour there has a diameter of the cell less the skin; a little more, so that
    // rounding hides none.
    let reach = sphere.radius + 0.5 * (params.finest * scale) + 0.51 * params.skin;
    let reach = if params.deforms == 0 {
        Vec3::splat(reach)
    } else {
        // What is this near in the box as it is, before it was tilted.
        reach * (1.0 + params.tilt.abs())
    };
    let first = home + ((place - reach) / size).floor().as_ivec3();
    let last = home + ((place + reach) / size).floor().as_ivec3();
    // All around a periodic box, and no further.
    let period = params.period >> level;
    let around = first + period - 1;
    (
        first,
        IVec3::select(period.cmpgt(IVec3::ZERO), last.min(around), last),
    )
}

/// From the centre of one sphere to that of another (of its images, the nearest), m. Swapping them
/// changes the sign and no bit else, so that a contact is the same from both sides.
#[inline(always)]
pub fn separation(from: &Sphere, to: &Sphere, params: &Params) -> Vec3 {
    way_between(to.cell - from.cell, to.offset - from.offset, params)
}

/// From one place in the periodic box to the nearest image of another, m, of which the cell is `cells` away and the offset in it
/// `offset` (m).
#[inline(always)]
pub fn way_between(cells: IVec3, offset: Vec3, params: &Params) -> Vec3 {
    let Params {
        cell_size, period, ..
    } = *params;
    let way = shortest_way(cells, offset, cell_size, period);
    if params.deforms == 0 {
        return way;
    }
    let sides = period.as_vec3() * cell_size;
    tilted_way(way, sides, params.tilt, params.gradient)
}

/// From the anchor of a wall (of its images, the nearest) to the centre of a sphere, m.
#[inline(always)]
pub fn from_wall(sphere: &Sphere, wall: &Wall, params: &Params) -> Vec3 {
    let offset = sphere.offset - wall.offset;
    shortest_way(
        sphere.cell - wall.cell,
        offset,
        params.cell_size,
        params.period,
    )
}
