// What a contact does, by the law of the scene. A law of the user's stands in place of this file.
fn contact_law(contact: Contact, pair: Pair, history: History, params: Params) -> Response {
    if LAW == LINEAR {
        return linear(contact, pair);
    }
    return with_history(contact, pair, history, params);
}
