// import: layout, grid, rotation, render/view, render/ball, render/wall

// Where the planes are as seen from the camera: once for the picture, since each of its samples asks for it. One thread a plane.

@group(0) @binding(68) var<storage, read_write> planes_found: array<PlaneHere>;

@compute @workgroup_size(1)
fn planes_from_camera(@builtin(workgroup_id) workgroup: vec3<u32>) {
    let plane = planes[workgroup.x];
    let wall = walls[plane.wall];
    planes_found[workgroup.x] = PlaneHere(
        from_camera(wall.cell, wall.offset, params),
        rotate(wall.orientation, plane.normal),
    );
}
