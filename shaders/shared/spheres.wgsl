// Spheres as `pose` has written them.

@group(0) @binding(6) var<storage, read> spheres: array<Sphere>;

fn sphere_at(index: u32) -> Sphere {
    return spheres[index];
}
