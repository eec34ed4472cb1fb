// The structs of src/layout.rs, where their fields and units are described.

struct Params {
    body_count: u32,
    sphere_count: u32,
    bucket_count: u32,
    wall_count: u32,
    gravity: vec3<f32>,
    time_step: f32,
    cell_size: vec3<f32>,
    level_count: u32,
    period: vec3<i32>,
    skin: f32,
    slow_skin: f32,
    fast_way: f32,
    finest: f32,
    drift_limit: f32,
    touch_margin: f32,
    neighbour_capacity: u32,
    slice_length: u32,
    material_count: u32,
    integrator: u32,
    law: u32,
    memory_size: u32,
    attraction: u32,
    tangential_damping: f32,
    cohesive: u32,
    lookahead: f32,
    facet_start: u32,
    node_start: u32,
    sample_start: u32,
    wall_loads: u32,
    stripes: u32,
    force_unit: f32,
    torque_unit: f32,
    pulled: u32,
    pull_stiffness: f32,
    pull_damping: f32,
    pull_point: vec3<f32>,
    pull_cell: vec3<i32>,
    pull_offset: vec3<f32>,
    forces: u32,
    action_count: u32,
    heat: u32,
    temperature_start: u32,
    sleep_steps: u32,
    sleep_speed: f32,
    wake_acceleration: f32,
    moving_walls: u32,
    wave_count: u32,
    water_density: f32,
    water_drag: f32,
    water_viscosity: f32,
    water_level: f32,
    earlier: f32,
    wave_origin: vec2<f32>,
    waves: array<vec4<f32>, 4>,
}

struct Body {
    offset: vec3<u32>,
    still: u32,
    cell: vec3<i32>,
    kind: u32,
    orientation: vec4<i32>,
    velocity: vec3<f32>,
    first_sphere: u32,
    angular_momentum: vec3<f32>,
    drift: f32,
}

struct BodyProperties {
    inverse_inertia: vec3<f32>,
    inverse_mass: f32,
    first_member: u32,
    sphere_count: u32,
    reach: f32,
    shape: u32,
    group: u32,
}

struct Member {
    center: vec3<f32>,
    radius: f32,
    material: u32,
}

struct Group {
    gravity: vec3<f32>,
    ignores: u32,
    drag: f32,
    angular_drag: f32,
}

struct Action {
    point: vec3<f32>,
    kind: u32,
    vector: vec3<f32>,
    body: u32,
    torque: vec3<f32>,
    other: u32,
    cell: vec3<i32>,
    source: u32,
    stiffness: f32,
    damping: f32,
    length: f32,
    slack: u32,
    start: f32,
    end: f32,
    acts: u32,
}

struct BodyForce {
    force: vec3<f32>,
    drag: f32,
    torque: vec3<f32>,
    drag_rest: f32,
    acceleration: vec3<f32>,
    displacement: f32,
}

struct BodyHeat {
    temperature: f32,
    rest: f32,
    flow: f32,
    inverse_capacity: f32,
}

struct Sphere {
    offset: vec3<f32>,
    radius: f32,
    cell: vec3<i32>,
    body: u32,
    velocity: vec3<f32>,
    inverse_mass: f32,
    angular_velocity: vec3<f32>,
    tags: u32,
}

struct SphereLoad {
    force: vec3<f32>,
    max_overlap: f32,
    torque: vec3<f32>,
    contacts: u32,
    damping: f32,
    damping_rest: f32,
    friction: f32,
    friction_rest: f32,
}

struct Load {
    force: vec3<f32>,
    max_overlap: f32,
    torque: vec3<f32>,
    contacts: u32,
}

struct Wall {
    cell: vec3<i32>,
    material: u32,
    offset: vec3<f32>,
    inverse_mass: f32,
    orientation: vec4<f32>,
    velocity: vec3<f32>,
    first_node: u32,
    angular_velocity: vec3<f32>,
    node_count: u32,
    belt: vec3<f32>,
    drift: f32,
}

struct WallPose {
    cell: vec3<i32>,
    wall: u32,
    offset: vec3<f32>,
    way: f32,
    orientation: vec4<f32>,
    velocity: vec3<f32>,
    angular_velocity: vec3<f32>,
}

struct LoadedWall {
    body: Body,
    inverse_inertia: vec3<f32>,
    inverse_mass: f32,
    rail: vec3<f32>,
    wall: u32,
    axle: vec3<f32>,
    servo_speed: f32,
    force: vec3<f32>,
    servo_force: f32,
    torque: vec3<f32>,
    reach: f32,
}

struct Facet {
    a: vec3<f32>,
    kind: u32,
    b: vec3<f32>,
    wall: u32,
    c: vec3<f32>,
    side: u32,
    d: vec3<f32>,
    first: u32,
}

struct Node {
    min: vec3<f32>,
    skip: u32,
    max: vec3<f32>,
    facets: u32,
}

struct Pair {
    stiffness: f32,
    wall_stiffness: f32,
    tangential_ratio: f32,
    wall_tangential_ratio: f32,
    damping_ratio: f32,
    damping: f32,
    friction: f32,
    rolling_friction: f32,
    rolling: u32,
    twisting_friction: f32,
    cohesion_force: f32,
    cohesion_range: f32,
    surface_energy: f32,
    conductance: f32,
    // A multiple of 16 bytes, as in src/layout.rs.
    _pad0: f32,
    _pad1: f32,
}

struct Stats {
    max_overlap_fraction: atomic<u32>,
    runaway: atomic<u32>,
    stale: atomic<u32>,
    due: atomic<u32>,
    rebuilding: u32,
    full: u32,
    halted: u32,
    neighbours: u32,
    steps: u32,
    step: u32,
    rebuilds: u32,
    first_entry: u32,
}
