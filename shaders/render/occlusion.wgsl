// import: layout, grid, rotation, render/view, render/ball, render/wall, render/surface

// How much of the light from all around reaches a surface: less where others are near and in front of
// it. After McGuire, Mara and Luebke, "Scalable Ambient Obscurance" (2012): samples on a spiral in the
// picture, each of which counts by how far it rises above the surface and how near it is.

@group(0) @binding(34) var depths: texture_depth_2d;

// Turns of the spiral; no small fraction of the samples, so that they lie in different directions.
const TURNS: f32 = 5.0;

@vertex
fn occlusion_everywhere(@builtin(vertex_index) vertex: u32) -> @builtin(position) vec4<f32> {
    return whole_picture(vertex);
}

@fragment
fn occlusion_at(@builtin(position) position: vec4<f32>) -> @location(0) f32 {
    let pixel = vec2<i32>(position.xy);
    let surface = surface_at(pixel);
    if surface.kind == NOTHING {
        return 1.0;
    }
    let radius = view.occlusion_radius;
    let away = dot(surface.place, view.forward);
    // Samples to a metre at this distance.
    let scale = 0.5 * view.size.y / (length(view.up) * away);
    let reach = min(radius * scale, 0.15 * view.size.y);
    // Shading of the tile of 4 x 4 samples is averaged later; each starts at another angle.
    let tile = vec2<u32>(pixel) % 4u;
    let start = f32((tile.x * 7u + tile.y * 11u + (tile.x ^ tile.y) * 4u) % 16u) / 16.0;
    let last = vec2<i32>(view.size) - 1;
    var sum = 0.0;
    for (var k = 0u; k < view.occlusion_samples; k++) {
        let part = (f32(k) + 0.5 + 0.4 * start) / f32(view.occlusion_samples);
        let angle = 2.0 * PI * (part * TURNS + start);
        let way = part * reach * vec2<f32>(cos(angle), sin(angle));
        let there = vec2<i32>(position.xy + way);
        if all(there == pixel) {
            continue;
        }
        let depth = textureLoad(depths, clamp(there, vec2<i32>(0), last), 0);
        if depth <= 0.0 {
            continue;
        }
        let place = ray(vec2<f32>(there) + 0.5) * (view.near / depth);
        let rise = place - surface.place;
        let square = dot(rise, rise);
        let near = max(1.0 - square / (radius * radius), 0.0);
        let above = dot(rise, surface.normal) - 0.02 * radius;
        sum += near * near * max(above, 0.0) * inverseSqrt(square + 1e-4 * radius * radius);
    }
    return max(1.0 - 2.4 * sum / f32(view.occlusion_samples), 0.0);
}
