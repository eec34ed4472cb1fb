// Kahan's summation: x the sum, y what rounding has left out of it.
fn plus(sum: vec2<f32>, addend: f32, zero: u32) -> vec2<f32> {
    let term = addend + sum.y;
    let total = opaque(sum.x + term, zero);
    return vec2<f32>(total, term - (total - sum.x));
}
