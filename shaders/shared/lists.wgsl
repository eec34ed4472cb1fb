// The neighbour lists, in one buffer: where the list of each sphere starts, with room for further spheres; then, with as much
// room each, the spheres that have walls in their lists, in any order, and the body of each sphere; then the entries of all
// lists. These lie in a ring, from `Stats.first_entry` on. What imports this declares `lists`, and knows `params`.

// Place of the first entry; an entry point sets it.
var<private> first_entry: u32;

// The entry at which the list of a sphere starts; it ends where the next one starts.
fn list_start(sphere: u32) -> u32 {
    return lists[sphere];
}

// Place of an entry in the ring.
fn place_of(entry: u32) -> u32 {
    return wrapped(first_entry + entry);
}

// A place that is less than twice the length of the ring, within it.
fn wrapped(place: u32) -> u32 {
    let length = ring_length();
    return select(place, place - length, place >= length);
}

fn ring_length() -> u32 {
    return arrayLength(&lists) - ring_start();
}

// Element of `lists` where the spheres that have walls in their lists start.
fn near_walls_start() -> u32 {
    return params.ring_start / 3u;
}

// Element of `lists` where the bodies of the spheres start.
fn bodies_start() -> u32 {
    return params.ring_start / 3u * 2u;
}

// The body of a sphere.
fn body_of(sphere: u32) -> u32 {
    return lists[bodies_start() + sphere];
}

// Element of `lists` where the ring starts.
fn ring_start() -> u32 {
    return params.ring_start;
}

// What is listed at a place of the ring: a sphere or, with the bit WALL, a facet.
fn listed_at(place: u32) -> u32 {
    return lists[ring_start() + place];
}
