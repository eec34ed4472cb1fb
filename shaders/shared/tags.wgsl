// What the tags of a sphere say; the twin of the methods of Sphere in src/state/layout.rs.

fn material_of(sphere: Sphere) -> u32 {
    return sphere.tags & MATERIAL_BITS;
}

fn group_of(sphere: Sphere) -> u32 {
    return (sphere.tags & ~(ASLEEP | FAST | GHOST)) >> GROUP_SHIFT;
}

fn sleeps(sphere: Sphere) -> bool {
    return (sphere.tags & ASLEEP) != 0u;
}

fn is_fast(sphere: Sphere) -> bool {
    return (sphere.tags & FAST) != 0u;
}
