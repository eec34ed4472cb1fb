// import: layout, grid, rotation, render/view, render/ball, render/wall, render/surface, render/quantity

// The colour of each sample, linear: a sun with shadows, light from the sky above and from the ground
// below where it is not kept out.

// Whether a body is picked, and whether the light from all around was looked for (occlusion.wgsl).
override HAS_PICKED: bool = true;
override HAS_OCCLUSION: bool = true;

@group(0) @binding(34) var depths: texture_depth_2d;
@group(0) @binding(35) var occlusion: texture_2d<f32>;
@group(0) @binding(36) var shadow_map: texture_depth_2d;
@group(0) @binding(38) var shadow_sampler: sampler_comparison;
// The colour map, then the colours of things without an order.
@group(0) @binding(39) var<uniform> colours: array<vec4<f32>, COLOURS>;

@vertex
fn shade_everywhere(@builtin(vertex_index) vertex: u32) -> @builtin(position) vec4<f32> {
    return whole_picture(vertex);
}

// A colour from the map, between two of its entries.
fn mapped(value: f32) -> vec3<f32> {
    let place = clamp(value, 0.0, 1.0) * f32(MAP_COLOURS - 1u);
    let first = min(u32(place), MAP_COLOURS - 2u);
    return mix(colours[first].xyz, colours[first + 1u].xyz, place - f32(first));
}

fn listed(index: u32) -> vec3<f32> {
    return colours[MAP_COLOURS + index % LIST_COLOURS].xyz;
}

// A number without pattern from another (PCG: O'Neill 2014, by way of Jarzynski and Olano, "Hash
// Functions for GPU Rendering", 2020).
fn scramble(number: u32) -> u32 {
    let state = number * 747796405u + 2891336453u;
    let word = ((state >> ((state >> 28u) + 4u)) ^ state) * 277803737u;
    return (word >> 22u) ^ word;
}

fn ball_colour(surface: Surface) -> vec3<f32> {
    let body = bodies[surface.body];
    let member = member_at(surface.index, body);
    let constant = properties[body.kind];
    var colour: vec3<f32>;
    switch COLOUR_BY {
        case BY_BODY: {
            let number = scramble(surface.body);
            let light = 0.8 + 0.4 * f32(number >> 16u) / 65535.0;
            colour = listed(number & 0xffffu) * light;
        }
        case BY_SHAPE: {
            colour = listed(constant.shape);
        }
        case BY_MATERIAL: {
            colour = listed(member.material);
        }
        default: {
            return mapped((quantity(surface.index) - view.bottom) / (view.top - view.bottom));
        }
    }
    // A band around single spheres shows how they turn, where they are large enough.
    if constant.sphere_count == 1u {
        let orientation = quaternion(body.orientation);
        let inverse = vec4<f32>(-orientation.xyz, orientation.w);
        let own = rotate(inverse, surface.normal);
        let size = member.radius * 0.5 * view.size.y
            / (length(view.up) * dot(surface.place, view.forward));
        let strength = 0.35 * smoothstep(5.0, 12.0, size);
        let band = smoothstep(0.30, 0.24, abs(own.y));
        colour *= 1.0 - strength * band;
    }
    return colour;
}

// Squares on a plane, which fade where they become too small to be seen.
fn plane_colour(surface: Surface, samples: f32) -> vec3<f32> {
    let colour = wall_looks[planes[surface.index].wall].xyz;
    let plane = planes_here[surface.index];
    let across = tangents(plane.normal);
    let from_point = surface.place - plane.point;
    let place = vec2<f32>(dot(from_point, across.first), dot(from_point, across.second)) / view.tile;
    let square = floor(place);
    let odd = fract(0.5 * (square.x + square.y)) > 0.25;
    let slant = abs(dot(normalize(surface.place), plane.normal));
    let seen = smoothstep(3.0, 12.0, view.tile * samples * max(slant, 0.02));
    let light = colour;
    let dark = colour * vec3<f32>(0.80, 0.82, 0.86);
    let squares = mix(0.5 * (light + dark), select(light, dark, odd), seen);
    return select(squares, colour, view.tile == 0.0);
}

// What is behind all things, times how much it hides, and that.
fn background(way: vec3<f32>) -> vec4<f32> {
    let height = dot(normalize(way), view.zenith);
    let horizon = vec3<f32>(0.72, 0.76, 0.80);
    let zenith = vec3<f32>(0.36, 0.48, 0.64);
    let below = vec3<f32>(0.58, 0.60, 0.62);
    let sky = mix(mix(horizon, zenith, smoothstep(0.0, 0.9, height)), below, smoothstep(0.0, -0.5, height));
    return select(vec4<f32>(sky, 1.0), view.background, view.background.w >= 0.0);
}

// What remains of the light from all around, on average, where that is not looked for.
const TYPICAL: f32 = 0.8;

// What remains of the light from all around: the mean of the samples nearby that are as far away.
fn openness(pixel: vec2<i32>) -> f32 {
    if !HAS_OCCLUSION {
        return TYPICAL;
    }
    let last = vec2<i32>(view.size) - 1;
    let here = textureLoad(depths, pixel, 0);
    var sum = 0.0;
    var weights = 0.0;
    for (var y = -2; y < 2; y++) {
        for (var x = -2; x < 2; x++) {
            let there = clamp(pixel + vec2<i32>(x, y), vec2<i32>(0), last);
            let depth = textureLoad(depths, there, 0);
            // Depths are 1/z: their ratio is that of distances.
            let way = view.near * (1.0 / depth - 1.0 / here) / view.occlusion_radius;
            let weight = select(exp2(-32.0 * way * way), 0.0, depth <= 0.0) + 1e-3;
            sum += weight * textureLoad(occlusion, there, 0).x;
            weights += weight;
        }
    }
    return sum / weights;
}

// Which part of the sun is seen from a place: the mean of comparisons around it in the shadow map.
fn sunlit(place: vec3<f32>, normal: vec3<f32>) -> f32 {
    let texel = 2.0 * view.shadow_radius / f32(textureDimensions(shadow_map).x);
    // Off the surface by a little, so that it does not shade itself.
    let lifted = place + normal * (2.0 * texel) + view.to_light * (1.0 * texel);
    let there = in_shadow_map(lifted);
    if any(abs(there.xy) > vec2<f32>(0.99)) {
        return 1.0;
    }
    // What lies behind all that is in the map, such as a floor far below, is shaded by it, too.
    let depth = min(there.z, 1.0);
    let middle = vec2<f32>(0.5 + 0.5 * there.x, 0.5 - 0.5 * there.y);
    let step = 1.25 / f32(textureDimensions(shadow_map).x);
    var sum = 0.0;
    for (var y = -1; y <= 1; y++) {
        for (var x = -1; x <= 1; x++) {
            let way = vec2<f32>(f32(x), f32(y)) * step;
            sum += textureSampleCompareLevel(shadow_map, shadow_sampler, middle + way, depth);
        }
    }
    return sum / 9.0;
}

// Whether a sample lies beside the body that is picked.
fn at_picked(pixel: vec2<i32>, body: u32) -> bool {
    if body == view.picked {
        return false;
    }
    let reach = i32(2u * max(view.supersampling, 1u));
    for (var k = 0; k < 8; k++) {
        let angle = 0.25 * PI * f32(k);
        let way = vec2<i32>(round(f32(reach) * vec2<f32>(cos(angle), sin(angle))));
        let thing = thing_at(pixel + way);
        if (thing >> KIND_SHIFT) == A_SPHERE && spheres[thing & INDEX_MASK].body == view.picked {
            return true;
        }
    }
    return false;
}

@fragment
fn shade_at(@builtin(position) position: vec4<f32>) -> @location(0) vec4<f32> {
    let pixel = vec2<i32>(position.xy);
    let surface = surface_at(pixel);
    let way = ray(position.xy);
    let behind = background(way);
    if HAS_PICKED && at_picked(pixel, surface.body) {
        return vec4<f32>(1.0, 0.45, 0.02, 1.0);
    }
    if surface.kind == NOTHING {
        return behind;
    }
    let normal = surface.normal;
    let samples = 0.5 * view.size.y / (length(view.up) * dot(surface.place, view.forward));
    var colour: vec3<f32>;
    var gloss = 0.0;
    if surface.kind == A_SPHERE {
        colour = ball_colour(surface);
        gloss = 0.10;
        if HAS_PICKED && surface.body == view.picked {
            colour = mix(colour, vec3<f32>(1.0, 0.55, 0.1), 0.35);
        }
    } else if surface.kind == A_PLANE {
        colour = plane_colour(surface, samples / f32(max(view.supersampling, 1u)));
    } else if HAS_TRIANGLES {
        let triangle = triangles[surface.index];
        colour = worn_colour(wall_looks[triangle.wall].xyz, triangle.worn);
        gloss = 0.15;
    }
    let open = openness(pixel);
    let facing = max(dot(normal, view.to_light), 0.0);
    var sun = 0.0;
    if facing > 0.0 {
        sun = facing * sunlit(surface.place, normal);
    }
    let sky = 0.5 + 0.5 * dot(normal, view.zenith);
    let around = mix(vec3<f32>(0.30, 0.29, 0.28), vec3<f32>(0.50, 0.54, 0.60), sky);
    var light = colour * (around * open + sun * vec3<f32>(0.98, 0.94, 0.86));
    let half = normalize(view.to_light - normalize(way));
    light += gloss * sun * pow(max(dot(normal, half), 0.0), 40.0);
    if surface.kind == A_PLANE {
        return mix(vec4<f32>(light, 1.0), behind, plane_end(surface.place, normal));
    }
    return vec4<f32>(light, 1.0);
}
