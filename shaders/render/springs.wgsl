// import: layout, grid, rotation, render/view, render/ball, render/line

// Springs: a zigzag from end to end; a rope is straight.

@group(0) @binding(30) var<storage, read> actions: array<Action>;

// Straight pieces of a spring: at its ends, and from turn to turn.
const PIECES: u32 = SPRING_PIECES;

fn end_of(body: u32, point: vec3<f32>) -> vec3<f32> {
    let own = bodies[body];
    let arm = rotate(quaternion(own.orientation), point);
    return from_camera(own.cell, metres(own.offset, params.cell_size) + arm, params);
}

// The start of a piece, as a part of the way and how far aside of it, in amplitudes.
fn turn_at(piece: u32) -> vec2<f32> {
    if piece == 0u || piece == PIECES {
        return vec2<f32>(select(0.0, 1.0, piece == PIECES), 0.0);
    }
    let part = (f32(piece) - 0.5) / f32(PIECES - 1u);
    let aside = select(1.0, -1.0, (piece & 1u) == 0u);
    return vec2<f32>(part, select(aside, 0.0, piece == 1u || piece == PIECES - 1u));
}

@vertex
fn springs_end(
    @builtin(vertex_index) vertex: u32,
    @builtin(instance_index) index: u32,
) -> LineVertex {
    let action = actions[index / PIECES];
    let piece = index % PIECES;
    // Of a spring between two bodies, one end draws it.
    let drawn = action.kind == ANCHOR || (action.kind == SPRING && action.body < action.other);
    if !drawn {
        return LineVertex(vec4<f32>(0.0, 0.0, 0.0, 1.0), vec3<f32>(0.0));
    }
    let start = end_of(action.body, action.point);
    var end: vec3<f32>;
    if action.kind == SPRING {
        end = end_of(action.other, action.vector);
    } else {
        end = from_camera(action.cell, action.vector, params);
    }
    // To the image that is nearest in a periodic box.
    let period = vec3<f32>(params.period) * params.cell_size;
    let boxes = select(vec3<f32>(0.0), round((end - start) / max(period, vec3<f32>(1e-30))), period > vec3<f32>(0.0));
    let way = end - start - boxes * period;
    let distance = length(way);
    if action.slack == 1u {
        let taut = distance >= action.rest_length;
        let colour = select(vec3<f32>(0.30, 0.26, 0.20), vec3<f32>(0.12, 0.10, 0.07), taut);
        let first = start + way * (f32(piece) / f32(PIECES));
        return line_vertex(first, first + way / f32(PIECES), colour, 1.0, vertex);
    }
    // As wide as a coil of its length at rest would be, across the line of sight.
    let wide = 0.04 * max(action.rest_length, 0.3 * distance);
    let across = cross(way, 0.5 * (start + end));
    let aside = select(vec3<f32>(0.0), wide * normalize(across), dot(across, across) > 0.0);
    let first = turn_at(piece);
    let last = turn_at(piece + 1u);
    let stretch = clamp(4.0 * (distance / max(action.rest_length, 1e-6) - 1.0), -1.0, 1.0);
    let grey = vec3<f32>(0.10, 0.10, 0.11);
    let strained = select(vec3<f32>(0.05, 0.15, 0.6), vec3<f32>(0.6, 0.08, 0.03), stretch > 0.0);
    return line_vertex(
        start + first.x * way + first.y * aside,
        start + last.x * way + last.y * aside,
        mix(grey, strained, abs(stretch)),
        1.0,
        vertex,
    );
}

@fragment
fn springs_at(in: LineVertex) -> @location(0) vec4<f32> {
    return vec4<f32>(in.colour, 1.0);
}
