// Spheres, straight from the state of their bodies: what `pose` computes, at the end of the step.

@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read> properties: array<BodyProperties>;
@group(0) @binding(2) var<storage, read> members: array<Member>;
@group(0) @binding(5) var<storage, read> bodies: array<Body>;
@group(0) @binding(6) var<storage, read> spheres: array<Sphere>;

// A place as seen from the camera, m.
fn from_camera(cell: vec3<i32>, offset: vec3<f32>, params: Params) -> vec3<f32> {
    var place = vec3<f32>(cell - view.camera_cell) * params.cell_size + (offset - view.camera_offset);
    if deforms(params) {
        // Places are those in the box before it was tilted.
        place += params.tilt * dot(params.gradient, vec3<f32>(cell) * params.cell_size + offset);
    }
    return place;
}

struct Ball {
    // From the camera, m.
    center: vec3<f32>,
    radius: f32,
    body: u32,
}

// What a sphere of a body is in its shape.
fn member_at(index: u32, body: Body) -> Member {
    return members[properties[body.kind].first_member + (index - body.first_sphere)];
}

// The centre of mass of a body.
fn center_of(body: Body) -> vec3<f32> {
    return from_camera(body.cell, metres(body.offset, params.cell_size), params);
}

// The radius of the ball that a coarse picture shows in place of a clump with the given centre; 0 where it shows the clump. A ball
// of this radius, m r^2 2/5, has the mass and the mean moment of inertia of the clump.
fn stand_in(kind: u32, center: vec3<f32>) -> f32 {
    let own = properties[kind];
    let inertia = dot(1.0 / max(own.inverse_inertia, vec3<f32>(1e-30)), vec3<f32>(1.0 / 3.0));
    let radius = sqrt(2.5 * inertia * own.inverse_mass);
    let is_small = own.sphere_count > 1u && radius < view.stand_in * dot(center, view.forward);
    return select(0.0, radius, is_small);
}

fn ball_at(index: u32) -> Ball {
    let own = spheres[index].body;
    let body = bodies[own];
    let middle = center_of(body);
    let whole = stand_in(body.kind, middle);
    if whole > 0.0 {
        return Ball(middle, whole, own);
    }
    let member = member_at(index, body);
    let arm = rotate(quaternion(body.orientation), member.center);
    let offset = metres(body.offset, params.cell_size) + upright(arm, params);
    return Ball(from_camera(body.cell, offset, params), member.radius, own);
}

// How far along the unit vector `way` from the camera a sphere is met, or what the clipping plane leaves of it; less
// than 0 if it is missed. The distance of the centre from the ray is taken before squares are: so small spheres far
// away stay round (Haines, Günther and Akenine-Möller, "Precision Improvements for Ray/Sphere Intersection", Ray
// Tracing Gems, chapter 7).
fn meet(way: vec3<f32>, center: vec3<f32>, radius: f32) -> f32 {
    let along = dot(way, center);
    let beside = center - along * way;
    let rest = radius * radius - dot(beside, beside);
    if rest < 0.0 {
        return -1.0;
    }
    let half = sqrt(rest);
    let rise = dot(view.clip.xyz, way);
    if rise * (along - half) <= view.clip.w {
        return along - half;
    }
    // Where it enters it is cut away: the ray may come out of that before it leaves the sphere.
    let cut = view.clip.w / min(rise, -1e-20);
    return select(-1.0, cut, rise < 0.0 && cut > along - half && cut < along + half);
}

// The normal of a sphere where a ray meets it, or that of the clipping plane.
fn normal_of(ball: Ball, place: vec3<f32>) -> vec3<f32> {
    let from_center = place - ball.center;
    let is_inside = length(from_center) < 0.998 * ball.radius;
    return select(normalize(from_center), view.clip.xyz, is_inside);
}
