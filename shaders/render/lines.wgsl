// import: render/view, render/line

// Straight lines, hidden by what is in front of them.

struct Line {
    // Both ends from the camera, m.
    start: vec3<f32>,
    width: f32,
    end: vec3<f32>,
    colour: vec3<f32>,
}

@group(0) @binding(41) var<storage, read> lines: array<Line>;

@vertex
fn lines_end(
    @builtin(vertex_index) vertex: u32,
    @builtin(instance_index) index: u32,
) -> LineVertex {
    let line = lines[index];
    return line_vertex(line.start, line.end, line.colour, line.width, vertex);
}

@fragment
fn lines_at(in: LineVertex) -> @location(0) vec4<f32> {
    return vec4<f32>(in.colour, 1.0);
}
