// Which surface a sample shows: the ray through it is cast once more, at the one thing that it is
// known to meet.

@group(0) @binding(29) var<storage, read> planes: array<Plane>;
@group(0) @binding(33) var things: texture_2d<u32>;

struct Surface {
    kind: u32,
    index: u32,
    // Of a sphere, its body.
    body: u32,
    // From the camera, m.
    place: vec3<f32>,
    normal: vec3<f32>,
}

fn thing_at(pixel: vec2<i32>) -> u32 {
    let last = vec2<i32>(view.size) - 1;
    return textureLoad(things, clamp(pixel, vec2<i32>(0), last), 0).x;
}

fn surface_at(pixel: vec2<i32>) -> Surface {
    let thing = thing_at(pixel);
    let way = normalize(ray(vec2<f32>(pixel) + 0.5));
    var surface: Surface;
    surface.kind = thing >> KIND_SHIFT;
    surface.index = thing & INDEX_MASK;
    surface.body = 0xffffffffu;
    surface.normal = -way;
    if surface.kind == A_SPHERE {
        let ball = ball_at(surface.index);
        surface.place = max(meet(way, ball.center, ball.radius), 0.0) * way;
        surface.normal = normalize(surface.place - ball.center);
        surface.body = ball.body;
    } else if surface.kind == A_PLANE {
        let plane = planes[surface.index];
        let point = from_camera(plane.cell, plane.offset, params);
        surface.place = way * (dot(point, plane.normal) / dot(way, plane.normal));
        surface.normal = plane.normal;
    }
    return surface;
}
