// import: render/view

// Straight lines, as wide everywhere, hidden by what is in front of them.

struct Line {
    // Both ends from the camera, m.
    start: vec3<f32>,
    end: vec3<f32>,
    colour: vec3<f32>,
}

@group(0) @binding(41) var<storage, read> lines: array<Line>;

struct LineVertex {
    @builtin(position) position: vec4<f32>,
    @location(0) @interpolate(flat) colour: vec3<f32>,
}

@vertex
fn lines_end(
    @builtin(vertex_index) vertex: u32,
    @builtin(instance_index) index: u32,
) -> LineVertex {
    let line = lines[index];
    var start = line.start;
    var end = line.end;
    // Cut off what is behind the camera, where nothing can be projected.
    let start_away = dot(start, view.forward) - view.near;
    let end_away = dot(end, view.forward) - view.near;
    var out: LineVertex;
    if start_away <= 0.0 && end_away <= 0.0 {
        out.position = vec4<f32>(0.0, 0.0, 0.0, 1.0);
        return out;
    }
    let cut = mix(start, end, start_away / (start_away - end_away));
    if start_away <= 0.0 {
        start = cut;
    } else if end_away <= 0.0 {
        end = cut;
    }
    let first = project(start);
    let last = project(end);
    let way = (last.xy / last.w - first.xy / first.w) * view.size;
    let along = select(vec2<f32>(1.0, 0.0), normalize(way), dot(way, way) > 1e-12);
    let place = corner(vertex);
    let clip = select(first, last, place.x > 0.0);
    let width = view.line_width * f32(view.supersampling) / view.size;
    let aside = place.y * vec2<f32>(-along.y, along.x) * width;
    out.position = clip + vec4<f32>(aside * clip.w, 0.0, 0.0);
    out.colour = line.colour;
    return out;
}

@fragment
fn lines_at(in: LineVertex) -> @location(0) vec4<f32> {
    return vec4<f32>(in.colour, 1.0);
}
