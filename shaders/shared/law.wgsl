// What a contact does, by the law of the scene. A law of the user's stands in place of this file.
fn contact_law(contact: Contact, pair: Pair, history: History, params: Params) -> Response {
    if LAW == HOOKE_VISCOUS {
        return hooke_viscous(contact, pair);
    }
    var response = with_history(contact, pair, history, params);
    if LAW == IMPULSE {
        // What stops two surfaces is no dashpot: all that an impulse takes is counted as friction.
        response.friction += response.damping;
        response.damping = 0.0;
    }
    return response;
}
