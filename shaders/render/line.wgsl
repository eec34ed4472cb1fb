// A straight line, as wide everywhere.

struct LineVertex {
    @builtin(position) position: vec4<f32>,
    @location(0) @interpolate(flat) colour: vec3<f32>,
}

// A corner of the strip that a line is drawn as, `wide` times as wide as others; both ends from the camera, m.
fn line_vertex(first_end: vec3<f32>, last_end: vec3<f32>, colour: vec3<f32>, wide: f32, vertex: u32) -> LineVertex {
    var start = first_end;
    var end = last_end;
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
    let width = wide * view.line_width * f32(max(view.supersampling, 1u)) / view.size;
    let aside = place.y * vec2<f32>(-along.y, along.x) * width;
    out.position = clip + vec4<f32>(aside * clip.w, 0.0, 0.0);
    out.colour = colour;
    return out;
}
