// Where the entries of the neighbour lists are: in a ring, from `Stats.first_entry` on. What imports this declares
// `neighbours`.

// Place of the first entry; an entry point sets it.
var<private> first_entry: u32;

// Place of an entry.
fn place_of(entry: u32) -> u32 {
    return wrapped(first_entry + entry);
}

// A place that is less than twice the length of the ring, within it.
fn wrapped(place: u32) -> u32 {
    let length = arrayLength(&neighbours);
    return select(place, place - length, place >= length);
}
