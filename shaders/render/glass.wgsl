// import: layout, grid, rotation, render/view, render/ball, render/wall, render/line

// Walls that one can see through, over what is drawn already: faint surfaces, and their edges.

// Of walls that nothing is said of.
const FAINT: f32 = 0.08;
// The same where they are seen from the side.
const RIM: f32 = 0.30;
const EDGE: f32 = 0.55;
// Of what is worn the deepest.
const WORN: f32 = 0.85;

struct GlassVertex {
    @builtin(position) position: vec4<f32>,
    @location(0) way: vec3<f32>,
    @location(1) normal: vec3<f32>,
    @location(2) @interpolate(flat) wall: u32,
    @location(3) @interpolate(flat) worn: f32,
}

fn no_vertex() -> GlassVertex {
    return GlassVertex(vec4<f32>(0.0, 0.0, 0.0, 1.0), vec3<f32>(0.0), vec3<f32>(0.0), 0u, 0.0);
}

@vertex
fn glass_triangle(
    @builtin(vertex_index) vertex: u32,
    @builtin(instance_index) index: u32,
) -> GlassVertex {
    let triangle = triangles[index];
    let corners = corners_at(triangle);
    if drawn_as(across(corners), corners.a, triangle.side, triangle.wall, -corners.a) != GLASS {
        return no_vertex();
    }
    let own = select(select(triangle.normal_a, triangle.normal_b, vertex == 1u), triangle.normal_c, vertex == 2u);
    let way = nth(corners, vertex);
    let normal = rotate(walls[triangle.wall].orientation, own);
    return GlassVertex(project(way), way, normal, triangle.wall, triangle.worn);
}

fn glass(in: GlassVertex) -> vec4<f32> {
    let look = wall_looks[in.wall];
    let normal = normalize(in.normal);
    let facing = abs(dot(normal, normalize(in.way)));
    let part = select(FAINT + RIM * pow(1.0 - facing, 3.0), look.w, look.w > 0.0 && look.w < 1.0);
    let light = 0.45 + 0.65 * abs(dot(normal, view.to_light));
    return vec4<f32>(worn_colour(look.xyz, in.worn) * light, mix(part, WORN, in.worn));
}

@fragment
fn glass_triangle_at(in: GlassVertex) -> @location(0) vec4<f32> {
    if is_cut(in.way) {
        discard;
    }
    return glass(in);
}

@vertex
fn glass_plane(
    @builtin(vertex_index) vertex: u32,
    @builtin(instance_index) index: u32,
) -> GlassVertex {
    let plane = planes_here[index];
    let look = wall_looks[planes[index].wall].w;
    if !faces_camera(plane) || look <= 0.0 || look >= 1.0 {
        return no_vertex();
    }
    let way = plane_corner(plane, vertex);
    return GlassVertex(project(way), way, plane.normal, planes[index].wall, 0.0);
}

@fragment
fn glass_plane_at(in: GlassVertex) -> @location(0) vec4<f32> {
    if is_behind_a_plane(in.way) {
        discard;
    }
    let colour = glass(in);
    return vec4<f32>(colour.xyz, colour.w * (1.0 - plane_end(in.way, in.normal)));
}

// The edges of what is drawn as glass: those that are sharp or that nothing is beyond, and those of its outline.
@vertex
fn glass_edge(
    @builtin(vertex_index) vertex: u32,
    @builtin(instance_index) index: u32,
) -> LineVertex {
    let edge = edges[index];
    let nothing = LineVertex(vec4<f32>(0.0, 0.0, 0.0, 1.0), vec3<f32>(0.0));
    var start = of_wall(edge.wall, edge.a);
    var end = of_wall(edge.wall, edge.b);
    let orientation = walls[edge.wall].orientation;
    let first = rotate(orientation, edge.first);
    let last = rotate(orientation, edge.last);
    let is_outline = (dot(first, start) < 0.0) != (dot(last, start) < 0.0);
    let is_glass = drawn_as(first, start, edge.side, edge.wall, -start) == GLASS
        || drawn_as(last, start, edge.side, edge.wall, -start) == GLASS;
    if !is_glass || !(is_outline || edge.is_sharp == 1u) {
        return nothing;
    }
    // What the clipping plane leaves of it.
    let start_out = dot(view.clip.xyz, start) - view.clip.w;
    let end_out = dot(view.clip.xyz, end) - view.clip.w;
    if start_out > 0.0 && end_out > 0.0 {
        return nothing;
    }
    let cut = mix(start, end, start_out / (start_out - end_out));
    if start_out > 0.0 {
        start = cut;
    } else if end_out > 0.0 {
        end = cut;
    }
    return line_vertex(start, end, 0.45 * wall_looks[edge.wall].xyz, 1.0, vertex);
}

@fragment
fn glass_edge_at(in: LineVertex) -> @location(0) vec4<f32> {
    return vec4<f32>(in.colour, EDGE);
}
