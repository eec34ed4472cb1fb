// Where a facet of a wall is nearest to a point, in the frame of the wall; the twin of src/model/wall/facet.rs.
// What imports this declares `geometry`, imports what reads it, and knows `params`.

fn facet_at(index: u32) -> Facet {
    return read_facet(params.facet_start + 4u * index);
}

fn node_at(index: u32) -> Node {
    return read_node(params.node_start + 2u * index);
}

fn sample_at(index: u32) -> f32 {
    return bitcast<f32>(geometry[params.sample_start + (index >> 2u)][index & 3u]);
}

// Gap between a wall and a sphere that flies at a velocity within which they are looked at closely, m.
fn wall_margin(velocity: vec3<f32>) -> f32 {
    return max(params.touch_margin, params.foresight * length(velocity));
}

// How a point lies to a facet.
struct Closest {
    // m; negative behind a facet that has a front.
    distance: f32,
    // Unit vector from the facet to the point; behind a facet that has a front, to the front.
    normal: vec3<f32>,
}

// The distance of a facet that is not felt.
const FAR: f32 = 1e30;

fn far() -> Closest {
    return Closest(FAR, vec3<f32>(0.0, 1.0, 0.0));
}

// The point of the facet that is nearest.
fn nearest_point(closest: Closest, point: vec3<f32>) -> vec3<f32> {
    return point - closest.distance * closest.normal;
}

// Kinds of facets that there are, a bit for each: the compiler leaves out the others.
override FACET_KINDS: u32 = 0xffffffffu;

fn is_kind(facet: Facet, kind: u32) -> bool {
    return ((FACET_KINDS >> kind) & 1u) == 1u && facet.kind == kind;
}

fn closest(facet: Facet, point: vec3<f32>, depth: f32) -> Closest {
    if is_kind(facet, PLANE) {
        return face(dot(facet.a, point), facet.a, facet.side, FAR);
    }
    if is_kind(facet, RECTANGLE) {
        return rectangle(facet, point, depth);
    }
    if is_kind(facet, TRIANGLE) {
        return triangle(facet, point, depth);
    }
    if is_kind(facet, REVOLVED) {
        return revolved(facet, point, depth);
    }
    if is_kind(facet, BALL) {
        let distance = length(point);
        let normal = unit(point, distance, vec3<f32>(0.0, 1.0, 0.0));
        return face(distance - facet.a.x, normal, facet.side, depth);
    }
    if is_kind(facet, TORUS) {
        let out = outwards(point);
        let from_ring = point - facet.a.x * out;
        let distance = length(from_ring);
        return face(distance - facet.a.y, unit(from_ring, distance, out), facet.side, depth);
    }
    if is_kind(facet, SAMPLED) {
        return sampled(facet, point, depth);
    }
    return far();
}

// Distance of a point from a facet, from whichever side that is felt.
fn distance_from(facet: Facet, point: vec3<f32>) -> f32 {
    var either = facet;
    either.side = select(BOTH_SIDES, facet.side, facet.kind == PLANE);
    return closest(either, point, 0.0).distance;
}

// A point above the inside of a facet.
fn face(height: f32, normal: vec3<f32>, side: u32, depth: f32) -> Closest {
    let turned = side == BACK || (side == BOTH_SIDES && height < 0.0);
    let sign = select(1.0, -1.0, turned);
    if sign * height < -depth {
        return far();
    }
    return Closest(sign * height, sign * normal);
}

// What rounding may do to a point in a wall's frame, as a part of its coordinates.
const ROUNDING: f32 = 5e-7;

// The square of a tangent so small that a distance along the normal and one that is a little beside it round
// to the same number.
const STEEP: f32 = 2e-7;

// A point that is nearest to the rim of a facet: `way` is from there to the point. If it is so little beside
// the facet that rounding hides it, it is above: at an edge of two facets in one plane, which are then equally
// near, the normal is theirs.
fn rim(
    way: vec3<f32>, normal: vec3<f32>, side: u32, point: vec3<f32>, depth: f32,
) -> Closest {
    let height = dot(way, normal);
    let beside = way - height * normal;
    let hidden = max(STEEP * height * height, ROUNDING * ROUNDING * dot(point, point));
    if dot(beside, beside) <= hidden {
        return face(height, normal, side, depth);
    }
    if (side == FRONT && height < 0.0) || (side == BACK && height > 0.0) {
        return far();
    }
    let distance = length(way);
    return Closest(distance, unit(way, distance, normal));
}

fn unit(way: vec3<f32>, size: f32, other: vec3<f32>) -> vec3<f32> {
    if size > 0.0 {
        return way / size;
    }
    return other;
}

fn rectangle(facet: Facet, point: vec3<f32>, depth: f32) -> Closest {
    let normal = cross(facet.b, facet.c);
    let from_center = point - facet.a;
    let place = vec2<f32>(dot(from_center, facet.b), dot(from_center, facet.c));
    let inside = clamp(place, -facet.d.xy, facet.d.xy);
    if all(inside == place) {
        return face(dot(from_center, normal), normal, facet.side, depth);
    }
    return rim(from_center - inside.x * facet.b - inside.y * facet.c, normal, facet.side, point, depth);
}

fn triangle(facet: Facet, point: vec3<f32>, depth: f32) -> Closest {
    let b = facet.b;
    let c = facet.c;
    let d = facet.d;
    let side = facet.side;
    let from_a = point - facet.a;
    let ab = dot(b, from_a);
    let ac = dot(c, from_a);
    if ab <= 0.0 && ac <= 0.0 {
        return rim(from_a, d, side, point, depth);
    }
    let from_b = from_a - b;
    let bb = dot(b, from_b);
    let bc = dot(c, from_b);
    if bb >= 0.0 && bc <= bb {
        return rim(from_b, d, side, point, depth);
    }
    if ab * bc - bb * ac <= 0.0 && ab >= 0.0 && bb <= 0.0 {
        return rim(from_a - ab / (ab - bb) * b, d, side, point, depth);
    }
    let from_c = from_a - c;
    let cb = dot(b, from_c);
    let cc = dot(c, from_c);
    if cc >= 0.0 && cb <= cc {
        return rim(from_c, d, side, point, depth);
    }
    if cb * ac - ab * cc <= 0.0 && ac >= 0.0 && cc <= 0.0 {
        return rim(from_a - ac / (ac - cc) * c, d, side, point, depth);
    }
    if bb * cc - cb * bc <= 0.0 && bc >= bb && cb >= cc {
        let part = (bc - bb) / ((bc - bb) + (cb - cc));
        return rim(from_b - part * (c - b), d, side, point, depth);
    }
    return face(dot(from_a, d), d, side, depth);
}

// Unit vector from the y axis to a point.
fn outwards(point: vec3<f32>) -> vec3<f32> {
    let across = vec3<f32>(point.x, 0.0, point.z);
    return unit(across, length(across), vec3<f32>(1.0, 0.0, 0.0));
}

fn revolved(facet: Facet, point: vec3<f32>, depth: f32) -> Closest {
    let out = outwards(point);
    let place = vec2<f32>(dot(point, out), point.y);
    if facet.d.x == 1.0 {
        return face(place.x - facet.a.x, out, facet.side, depth);
    }
    let along = facet.b.xy - facet.a.xy;
    let size = length(along);
    let normal = vec2<f32>(along.y, -along.x) / size;
    let from_start = place - facet.a.xy;
    let part = dot(from_start, along) / (size * size);
    let turned = normal.x * out + vec3<f32>(0.0, normal.y, 0.0);
    if part >= 0.0 && part <= 1.0 {
        return face(dot(from_start, normal), turned, facet.side, depth);
    }
    let way = from_start - clamp(part, 0.0, 1.0) * along;
    return rim(
        way.x * out + vec3<f32>(0.0, way.y, 0.0), turned, facet.side, point, depth);
}

// Trilinear between the samples, and beyond the grid those of its border and the way to it.
fn sampled(facet: Facet, point: vec3<f32>, depth: f32) -> Closest {
    let spacing = facet.b.x;
    let count = vec3<i32>(facet.c);
    let place = (point - facet.a) / spacing;
    let inside = clamp(place, vec3<f32>(), vec3<f32>(count - vec3<i32>(1)));
    let cell = max(min(vec3<i32>(inside), count - vec3<i32>(2)), vec3<i32>(0));
    let t = inside - vec3<f32>(cell);
    let first = i32(facet.first) + cell.x + count.x * (cell.y + count.y * cell.z);
    var s: array<f32, 8>;
    for (var k = 0; k < 8; k++) {
        let at = (k & 1) + count.x * (((k >> 1u) & 1) + count.y * (k >> 2u));
        s[k] = sample_at(u32(first + at));
    }
    let x = array<f32, 4>(
        mixed(s[0], s[1], t.x), mixed(s[2], s[3], t.x), mixed(s[4], s[5], t.x), mixed(s[6], s[7], t.x));
    let y = vec2<f32>(mixed(x[0], x[1], t.y), mixed(x[2], x[3], t.y));
    let slope = vec3<f32>(
        mixed(
            mixed(s[1] - s[0], s[3] - s[2], t.y),
            mixed(s[5] - s[4], s[7] - s[6], t.y),
            t.z),
        mixed(x[1] - x[0], x[3] - x[2], t.z),
        y.y - y.x,
    );
    let normal = unit(slope, length(slope), vec3<f32>(0.0, 1.0, 0.0));
    let beyond = spacing * length(place - inside);
    return face(mixed(y.x, y.y, t.z) + beyond, normal, facet.side, depth);
}

fn mixed(a: f32, b: f32, t: f32) -> f32 {
    return a + t * (b - a);
}

// From the anchor of a wall (of its images, the nearest) to the centre of a sphere, m.
fn from_wall(sphere: Sphere, wall: Wall) -> vec3<f32> {
    return shortest_way(sphere.cell - wall.cell, sphere.offset - wall.offset, params);
}

// A vector of the world in the frame of a wall.
fn to_wall(wall: Wall, way: vec3<f32>) -> vec3<f32> {
    return rotate(vec4<f32>(-wall.orientation.xyz, wall.orientation.w), way);
}
