// The index of a thread among all of a dispatch, which is two-dimensional when it needs more
// workgroups than one dimension may have (see src/step/gpu/dispatch.rs).
fn thread_index(workgroup: vec3<u32>, workgroups: vec3<u32>, local: u32) -> u32 {
    return workgroup_index(workgroup, workgroups) * WORKGROUP_SIZE + local;
}

fn workgroup_index(workgroup: vec3<u32>, workgroups: vec3<u32>) -> u32 {
    return workgroup.y * workgroups.x + workgroup.x;
}
