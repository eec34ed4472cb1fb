// The contacts among which a body shares its mass, with the normal model `impulse`; the twin of functions in
// src/state/layout.rs.

// From `Body::still`: as a number.
fn shares_of(still: u32, landing: u32) -> f32 {
    let counted = (still & SHARES) >> SHARES_SHIFT;
    return f32(select(counted, UNCOUNTED_SHARES * landing, counted == 0u));
}

// What those bits become after a step in which a body had so many contacts.
fn shared_after(still: u32, landing: u32, contacts: u32, step: u32) -> u32 {
    let before = (still & SHARES) >> SHARES_SHIFT;
    let slower = before - select(0u, 1u, before > 0u && step % SHARE_STEPS == 0u);
    let wanted = select(contacts, landing, contacts == 0u);
    return min(max(wanted, slower), SHARES >> SHARES_SHIFT) << SHARES_SHIFT;
}
