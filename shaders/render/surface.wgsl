// Which surface a sample shows: the ray through it is cast once more, at the one thing that it is
// known to meet.

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
        surface.normal = normal_of(ball, surface.place);
        surface.body = ball.body;
    } else if surface.kind == A_PLANE {
        let plane = planes_here[surface.index];
        surface.place = way * (dot(plane.point, plane.normal) / dot(way, plane.normal));
        surface.normal = plane.normal;
    } else if HAS_TRIANGLES && surface.kind == A_TRIANGLE {
        let triangle = triangles[surface.index];
        let corners = corners_at(triangle);
        let across = cross(corners.b - corners.a, corners.c - corners.a);
        surface.place = way * (dot(corners.a, across) / dot(way, across));
        // Which parts of the whole lie across from each corner: its normals are mixed by these.
        let b = dot(cross(surface.place - corners.a, corners.c - corners.a), across);
        let c = dot(cross(corners.b - corners.a, surface.place - corners.a), across);
        let whole = dot(across, across);
        let own = triangle.normal_a * (whole - b - c) + triangle.normal_b * b + triangle.normal_c * c;
        let normal = normalize(rotate(walls[triangle.wall].orientation, own));
        surface.normal = select(normal, -normal, dot(across, way) > 0.0);
    }
    return surface;
}
