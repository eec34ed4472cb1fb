// What all threads gather, in one buffer.
struct Gathered {
    stats: Stats,
    // Sums of the loads on walls, in digits: see src/step/wall_load.rs.
    wall_sums: array<atomic<i32>>,
}
