// Spheres derived from their bodies, in a scene of few kinds of bodies. This file takes the place of shared/spheres.wgsl:
// then `spheres` need not be written in each step. What imports this knows `params`, and has the lists at hand.

@group(0) @binding(5) var<storage, read> bodies: array<Body>;
@group(0) @binding(1) var<uniform> properties: array<BodyProperties, MAX_KINDS>;
@group(0) @binding(2) var<uniform> members: array<Member, MAX_MEMBERS>;

fn sphere_at(index: u32) -> Sphere {
    let own = body_of(index);
    let body = bodies[own];
    let constant = properties[body.kind];
    return posed(own, body, constant, members[constant.first_member + (index - body.first_sphere)]);
}
