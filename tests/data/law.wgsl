// A law that does nothing: these tests read it, and do not run it.
fn contact_law(contact: Contact, pair: Pair, history: History, params: Params) -> Response {
    return Response();
}
