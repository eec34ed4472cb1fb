// import: render/view

// The picture from its samples: their mean, as a display wants it.

@group(0) @binding(40) var samples: texture_2d<f32>;
// Samples of a picture that has fewer of them than pixels, as a display wants them.
@group(0) @binding(65) var encoded_samples: texture_2d<f32>;
@group(0) @binding(66) var between: sampler;

@vertex
fn resolve_everywhere(@builtin(vertex_index) vertex: u32) -> @builtin(position) vec4<f32> {
    return whole_picture(vertex);
}

// From linear to what a display wants: the transfer function of sRGB (IEC 61966-2-1).
fn encoded(colour: vec3<f32>) -> vec3<f32> {
    let high = 1.055 * pow(max(colour, vec3<f32>(0.0)), vec3<f32>(1.0 / 2.4)) - 0.055;
    return select(high, 12.92 * colour, colour <= vec3<f32>(0.0031308));
}

// Less than a level of a display, so that slow gradients show no bands (interleaved gradient noise:
// Jimenez, "Next Generation Post Processing in Call of Duty: Advanced Warfare", 2014).
fn dither(pixel: vec2<f32>) -> f32 {
    return (fract(52.9829189 * fract(dot(pixel, vec2<f32>(0.06711056, 0.00583715)))) - 0.5) / 255.0;
}

// A pixel whose colour is `sum`, times how much it hides of what is behind the picture, and that.
fn pixel(sum: vec4<f32>, place: vec2<f32>) -> vec4<f32> {
    let colour = sum.xyz / max(sum.w, 1e-6);
    return vec4<f32>(encoded(colour) + dither(place), sum.w);
}

// A sample, not a pixel: a picture that is blurred because drawing is slow has few samples, and encoding takes long.
@fragment
fn resolve_sample_at(@builtin(position) position: vec4<f32>) -> @location(0) vec4<f32> {
    let colour = textureLoad(samples, vec2<i32>(position.xy), 0);
    return pixel(min(colour, vec4<f32>(1.0)), position.xy);
}

struct Between {
    @builtin(position) position: vec4<f32>,
    // From the upper left corner of the picture, over its size. Of four components: with two, llvmpipe does not see that this
    // shader only enlarges a texture, which it can do several times faster than it runs shaders.
    @location(0) place: vec4<f32>,
}

@vertex
fn resolve_stretched(@builtin(vertex_index) vertex: u32) -> Between {
    let position = whole_picture(vertex);
    return Between(position, vec4<f32>(position.xy * vec2<f32>(0.5, -0.5) + 0.5, 0.0, 0.0));
}

@fragment
fn resolve_between_at(in: Between) -> @location(0) vec4<f32> {
    return textureSample(encoded_samples, between, in.place.xy);
}

@fragment
fn resolve_at(@builtin(position) position: vec4<f32>) -> @location(0) vec4<f32> {
    let first = vec2<u32>(position.xy) * view.supersampling;
    var sum = vec4<f32>(0.0);
    for (var y = 0u; y < view.supersampling; y++) {
        for (var x = 0u; x < view.supersampling; x++) {
            let colour = textureLoad(samples, first + vec2<u32>(x, y), 0);
            // Clamped before the mean is taken, so that edges of what is too bright stay smooth.
            sum += min(colour, vec4<f32>(1.0));
        }
    }
    let count = f32(view.supersampling * view.supersampling);
    return pixel(sum / count, position.xy);
}
