// A law that does nothing: these tests read it, and do not run it.
fn contact_law(contact: Contact, pair: Pair, memory: Memory, params: Params) -> Response {
    return Response();
}
