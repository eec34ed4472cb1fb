// Bodies that another rank of a cluster steps; the twin of the methods of Sphere and BodyProperties in src/state/layout.rs.

// Whether there are any.
override GHOSTS: bool = true;

fn is_ghost(sphere: Sphere) -> bool {
    return GHOSTS && (sphere.tags & GHOST) != 0u;
}

fn are_ghosts(constant: BodyProperties) -> bool {
    return GHOSTS && (constant.group & (GHOST >> GROUP_SHIFT)) != 0u;
}
