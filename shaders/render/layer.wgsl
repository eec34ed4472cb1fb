// import: render/view

// What was painted before, over a picture of the same size.

@group(0) @binding(69) var layer: texture_2d<f32>;

@vertex
fn layer_everywhere(@builtin(vertex_index) vertex: u32) -> @builtin(position) vec4<f32> {
    return whole_picture(vertex);
}

@fragment
fn layer_at(@builtin(position) position: vec4<f32>) -> @location(0) vec4<f32> {
    return textureLoad(layer, vec2<i32>(position.xy), 0);
}
