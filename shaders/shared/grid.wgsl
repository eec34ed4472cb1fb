// The grids: places in them and their spatial hash; the twin of src/math/grid.rs.

// Whether the box may be periodic, and whether it may deform: where not, the compiler leaves out what they need.
override PERIODIC: bool = true;
override DEFORMS: bool = true;

// Cells from one side of the periodic box to the other; 0 along axes that are not periodic.
fn period_of(params: Params) -> vec3<i32> {
    return select(vec3<i32>(0), params.period, PERIODIC);
}

fn deforms(params: Params) -> bool {
    return DEFORMS && params.deforms == 1u;
}

// Level of a sphere: the finest whose cells are larger than its diameter and the skin.
fn level_of(radius: f32, params: Params) -> u32 {
    var level = 0u;
    var size = params.finest;
    while size < 2.0 * radius + params.skin && level + 1u < params.level_count {
        size *= 2.0;
        level += 1u;
    }
    return level;
}

// The cell of a level that holds a cell of the finest grid.
fn cell_at(cell: vec3<i32>, level: u32) -> vec3<i32> {
    return cell >> vec3<u32>(level);
}

// Bucket of a cell of a level. Linear in x, so that the cells of a row lie in adjacent buckets.
fn bucket(cell: vec3<i32>, level: u32, bucket_count: u32) -> u32 {
    let row = bitcast<u32>(cell.y) * HASH_Y + bitcast<u32>(cell.z) * HASH_Z + level * HASH_LEVEL;
    return (bitcast<u32>(cell.x) + row) & (bucket_count - 1u);
}

// Cells of a level in which the neighbours of a sphere lie.
struct Reach {
    first: vec3<i32>,
    last: vec3<i32>,
}

fn reach(sphere: Sphere, level: u32, params: Params) -> Reach {
    let scale = f32(1u << level);
    let size = params.cell_size * scale;
    let home = cell_at(sphere.cell, level);
    let fine = vec3<f32>(sphere.cell - (home << vec3<u32>(level)));
    let place = fine * params.cell_size + sphere.offset;
    // The largest neighbour there has a diameter of the cell less the skin; a little more, so that
    // rounding hides none.
    let reach = sphere.radius + 0.5 * (params.finest * scale) + 0.51 * params.skin;
    // What is this near in a box that deforms, before it was tilted.
    let wide = reach * select(vec3<f32>(1.0), 1.0 + abs(params.tilt), deforms(params));
    let first = home + vec3<i32>(floor((place - wide) / size));
    let last = home + vec3<i32>(floor((place + wide) / size));
    // All around a periodic box, and no further.
    let period = period_of(params) >> vec3<u32>(level);
    let around = first + period - vec3<i32>(1);
    return Reach(first, select(last, min(last, around), period > vec3<i32>(0)));
}

// The image of a cell in the periodic box.
fn wrap(cell: vec3<i32>, period: vec3<i32>) -> vec3<i32> {
    if all(period == vec3<i32>(0)) {
        return cell;
    }
    // Of a negative number, OpenGL leaves open what remains: -1 - cell is none where the cell is one.
    let is_negative = cell < vec3<i32>(0);
    let rest = select(cell, -1 - cell, is_negative) % max(period, vec3<i32>(1));
    let inside = select(rest, period - 1 - rest, is_negative);
    return select(cell, inside, period > vec3<i32>(0));
}

// From one cell in the periodic box to the nearest image of another that is `cells` away.
fn nearest(cells: vec3<i32>, period: vec3<i32>) -> vec3<i32> {
    if all(period == vec3<i32>(0)) {
        return cells;
    }
    let half = period >> vec3<u32>(1u);
    return cells - select(vec3<i32>(0), period, cells > half)
        + select(vec3<i32>(0), period, cells < -half);
}

// From one place in the periodic box to the nearest image of another, m, of which the cell is `cells` away and the offset in it
// `offset` (m).
fn shortest_way(cells: vec3<i32>, offset: vec3<f32>, params: Params) -> vec3<f32> {
    let period = period_of(params);
    var near = nearest(cells, period);
    let so_far = vec3<f32>(near) * params.cell_size + offset;
    if all(period == vec3<i32>(0)) {
        return so_far;
    }
    // Cells alone do not tell which image is nearest in a box of few.
    let half = 0.5 * vec3<f32>(period) * params.cell_size;
    let round = max(period, vec3<i32>(0));
    near -= select(vec3<i32>(0), round, so_far > half) - select(vec3<i32>(0), round, so_far < -half);
    let way = vec3<f32>(near) * params.cell_size + offset;
    if !deforms(params) {
        return way;
    }
    // The same in the box as it is, which is tilted at most by half of its length.
    let sides = vec3<f32>(round) * params.cell_size;
    let now = way + params.tilt * dot(params.gradient, way);
    return now - select(vec3<f32>(0.0), sides, now > half) + select(vec3<f32>(0.0), sides, now < -half);
}

// A way in the box before it was tilted, m, from one in it as it is.
fn upright(way: vec3<f32>, params: Params) -> vec3<f32> {
    if !deforms(params) {
        return way;
    }
    return way - params.tilt * dot(params.gradient, way);
}

// How much faster the mean flow is at the end of a way than at its start, m/s.
fn flow(way: vec3<f32>, params: Params) -> vec3<f32> {
    return params.strain_rate * way + params.shear_rate * dot(params.gradient, way);
}

// From the centre of one sphere to that of another (of its images, the nearest), m.
fn separation(origin: Sphere, target_sphere: Sphere, params: Params) -> vec3<f32> {
    return shortest_way(target_sphere.cell - origin.cell, target_sphere.offset - origin.offset, params);
}

// Moves whole cells from `offset` (m) to `cell`, so that the offset lies within its cell again, and
// the cell in the periodic box.
struct Place {
    cell: vec3<i32>,
    offset: vec3<f32>,
}

fn settle(cell: vec3<i32>, offset: vec3<f32>, cell_size: vec3<f32>, period: vec3<i32>) -> Place {
    let cells = floor(offset / cell_size);
    return Place(wrap(cell + vec3<i32>(cells), period), offset - cells * cell_size);
}

// The unit of a body's offset, as a fraction of a cell.
const FRACTION: f32 = 1.0 / 4294967296.0;

// The largest f32 that an i32 can hold.
const MOST: f32 = 2147483520.0;

// The metres that a body's offset stands for.
fn metres(offset: vec3<u32>, cell_size: vec3<f32>) -> vec3<f32> {
    return vec3<f32>(offset) * (FRACTION * cell_size);
}

struct BodyPlace {
    cell: vec3<i32>,
    offset: vec3<u32>,
}

// A body's cell in the periodic box and its offset after it has moved by `way` (m).
fn travel(
    cell: vec3<i32>,
    offset: vec3<u32>,
    way: vec3<f32>,
    cell_size: vec3<f32>,
    period: vec3<i32>,
    dither: f32,
) -> BodyPlace {
    let cells = way / cell_size;
    let whole = round(cells);
    let part = vec3<i32>(
        clamp(floor((cells - whole) / FRACTION + dither), vec3<f32>(-MOST), vec3<f32>(MOST)));
    let moved = offset + bitcast<vec3<u32>>(part);
    let over = (part > vec3<i32>(0)) & (moved < offset);
    let under = (part < vec3<i32>(0)) & (moved > offset);
    let carry = select(vec3<i32>(0), vec3<i32>(1), over) - select(vec3<i32>(0), vec3<i32>(1), under);
    return BodyPlace(wrap(cell + vec3<i32>(whole) + carry, period), moved);
}
