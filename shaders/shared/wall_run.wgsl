// The facets of one wall in the list of a sphere, and which of them it touches; the twin of src/step/wall_run.rs. What
// imports this declares `geometry`, `lists` and `walls`, and knows `params`.

// The facets of one wall in the list of a sphere.
struct Run {
    // Entries of the list: the first, and the first that is none.
    start: u32,
    end: u32,
    wall: u32,
    // Of the sphere, m.
    radius: f32,
    // Gap within which it is looked at closely, m.
    margin: f32,
    // From the wall's anchor to the centre of the sphere, m, and the same in the frame of the wall.
    from_anchor: vec3<f32>,
    place: vec3<f32>,
    // What rounding may do to a point, m.
    rounding: f32,
}

const SAME_POINT: f32 = 1e-3;
const SAME_WAY: f32 = 0.966;
const ON_FACET: f32 = 1e-4;

fn wall_of(entry: u32) -> u32 {
    return geometry[params.facet_start + 4u * (listed_at(place_of(entry)) & ~WALL) + 1u].w;
}

// The run that starts at an entry of a list that ends at `end`.
fn run_at(sphere: Sphere, start: u32, end: u32) -> Run {
    let index = wall_of(start);
    var last = start + 1u;
    while last < end && wall_of(last) == index {
        last += 1u;
    }
    let wall = walls[index];
    let from_anchor = from_wall(sphere, wall);
    return Run(
        start, last, index, sphere.radius, wall_margin(sphere.velocity), from_anchor, to_wall(wall, from_anchor),
        ROUNDING * length(from_anchor));
}

fn closest_at(run: Run, entry: u32) -> Closest {
    return closest(facet_at(listed_at(place_of(entry)) & ~WALL), run.place, run.radius);
}

// How the sphere lies to a facet, and whether it may touch it there.
struct Touched {
    closest: Closest,
    touches: bool,
}

fn touched(run: Run, entry: u32) -> Touched {
    let own = closest_at(run, entry);
    let none = Touched(own, false);
    if own.distance >= run.radius + run.margin {
        return none;
    }
    let point = nearest_point(own, run.place);
    for (var other = run.start; other < run.end; other++) {
        if other == entry {
            continue;
        }
        var facet = facet_at(listed_at(place_of(other)) & ~WALL);
        let found = closest(facet, run.place, run.radius);
        let nearer = found.distance < own.distance
            || (found.distance == own.distance && other < entry);
        if !nearer {
            continue;
        }
        if dot(found.normal, own.normal) > SAME_WAY {
            return none;
        }
        let between = distance(nearest_point(found, run.place), point);
        if between <= SAME_POINT * run.radius + run.rounding {
            return none;
        }
        facet.side = BOTH_SIDES;
        let off = closest(facet, point, run.radius).distance;
        if off <= ON_FACET * run.radius + run.rounding {
            return none;
        }
    }
    return Touched(own, true);
}
