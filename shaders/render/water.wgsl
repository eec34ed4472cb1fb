// import: layout, render/view

// Water, over what is drawn already: its surface, and what is seen through it, the fainter the longer the way.

@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(34) var depths: texture_depth_2d;

@vertex
fn water_everywhere(@builtin(vertex_index) vertex: u32) -> @builtin(position) vec4<f32> {
    return whole_picture(vertex);
}

// Height above cell 0, and its slope along x and z.
fn surface_of_water(point: vec2<f32>) -> vec3<f32> {
    var found = vec3<f32>(params.water_level, 0.0, 0.0);
    for (var k = 0u; k < params.wave_count; k++) {
        let wave = params.waves[k];
        let phase = dot(wave.xy, point) - wave.w * view.time;
        found += wave.z * vec3<f32>(sin(phase), wave.xy * cos(phase));
    }
    return found;
}

@fragment
fn water_at(@builtin(position) position: vec4<f32>) -> @location(0) vec4<f32> {
    let way = ray(position.xy);
    let eye = vec3<f32>(view.camera_cell) * params.cell_size + view.camera_offset
        + vec3<f32>(params.wave_origin.x, 0.0, params.wave_origin.y);
    // How far in front things are: along the middle of the picture, of which `way` goes 1.
    let scene = view.near / max(textureLoad(depths, vec2<i32>(position.xy), 0), 1e-9);
    let above = eye.y - surface_of_water(eye.xz).x;
    // Newton's way to where the ray meets the surface, from where it meets the level.
    var met = max((params.water_level - eye.y) / way.y, 0.0);
    for (var k = 0; k < 8; k++) {
        let point = eye + met * way;
        let surface = surface_of_water(point.xz);
        let rate = way.y - dot(surface.yz, way.xz);
        met = max(met + (surface.x - point.y) / select(rate, -1e-3, abs(rate) < 1e-3), 0.0);
    }
    let point = eye + met * way;
    let surface = surface_of_water(point.xz);
    let meets = met > 0.0 && met < scene && abs(point.y - surface.x) < 0.02 * view.scene_radius;
    let deep = vec3<f32>(0.02, 0.16, 0.22);
    let fade = 1.2 / view.scene_radius;
    if above < 0.0 {
        let path = select(scene, met, meets) * length(way);
        return vec4<f32>(deep, 1.0 - exp(-fade * path));
    }
    if !meets {
        return vec4<f32>(0.0);
    }
    // The sea does not end; its picture does.
    let middle = 0.5 * (view.box_min + view.box_max);
    let outside = length((met * way - middle).xz) / view.scene_radius;
    let there = 1.0 - smoothstep(2.0, 6.0, outside);
    let normal = normalize(vec3<f32>(-surface.y, 1.0, -surface.z));
    let line = normalize(way);
    let facing = clamp(-dot(line, normal), 0.0, 1.0);
    // Schlick's approximation of Fresnel's formulas, for the refractive index 1.33.
    let mirrored = 0.02 + 0.98 * pow(1.0 - facing, 5.0);
    let up = reflect(line, normal).y;
    let sky = mix(vec3<f32>(0.72, 0.76, 0.80), vec3<f32>(0.36, 0.48, 0.64), clamp(up, 0.0, 1.0));
    let half = normalize(view.to_light - line);
    let glint = pow(max(dot(normal, half), 0.0), 200.0);
    let sunlit = deep * (0.6 + 0.8 * max(dot(normal, view.to_light), 0.0));
    let opaque_part = 0.25 + 0.75 * (1.0 - exp(-fade * (scene - met) * length(way)));
    let part = max(mirrored, opaque_part) * there;
    return vec4<f32>(mix(sunlit, sky, mirrored) + glint, part);
}
