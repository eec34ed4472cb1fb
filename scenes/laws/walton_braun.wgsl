// Balls that dent: the law of Walton and Braun (1986). A contact is loaded along a spring k1 and
// unloaded along a stiffer one, k2, to a dent that stays: the work between the two is lost. The
// coefficient of restitution is sqrt(k1/k2) at any speed.
//
// The contact law is this function. Each step calls it for each contact, once for each side, and it
// returns the force and the torque on *this* side. shaders/shared/contact.wgsl has the structs and
// functions to build on: here `slide`, for friction.
//
// What it returns in `history` comes back in the next step. Only contacts of surfaces that touch keep
// a history, so return zeros when they part; the history is zero when two surfaces meet. Its fields
// are named after Rockfall's own laws (src/state/history.rs), but a custom law may keep anything in
// them. This one keeps the deepest overlap so far, m, in `bonded`.

// Stiffness of unloading over that of loading.
const STIFFER: f32 = 4.0;

fn contact_law(contact: Contact, pair: Pair, history: History, params: Params) -> Response {
    var response: Response;
    if contact.overlap <= 0.0 {
        return response;
    }
    let k1 = pair.stiffness;
    let k2 = STIFFER * k1;
    let deepest = max(history.bonded, contact.overlap);
    let dent = (1.0 - 1.0 / STIFFER) * deepest;
    let push = min(k1 * contact.overlap, max(k2 * (contact.overlap - dent), 0.0));

    let approach = -dot(contact.relative_velocity, contact.normal);
    let slip = contact.relative_velocity + approach * contact.normal;
    let friction = Slider(pair.tangential_ratio * k1, 0.0, pair.friction * push);
    let shear = slide(friction, carried(history.tangential_displacement, contact.normal, 0.0), slip, contact);

    response.force = shear.force - push * contact.normal;
    response.history.tangential_displacement = shear.elongation;
    response.history.bonded = deepest;
    return response;
}
