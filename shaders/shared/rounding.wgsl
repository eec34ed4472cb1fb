// Rounding that is right on average; the twin of src/math/rounding.rs, which says why.

// A number from 0 to 1 for each step, as good as random.
fn dither_of(step: u32) -> f32 {
    var bits = step;
    bits = (bits ^ (bits >> 16u)) * 0x85ebca6bu;
    bits = (bits ^ (bits >> 13u)) * 0xc2b2ae35u;
    bits ^= bits >> 16u;
    return f32(bits >> 8u) * (1.0 / 16777216.0);
}

// `sum + addend`, rounded to one of the two nearest numbers.
fn plus(sum: f32, addend: f32, dither: f32, zero: u32) -> f32 {
    let total = opaque(sum + addend, zero);
    // What that has left out, exactly (Knuth's two-sum).
    let own = opaque(total - sum, zero);
    let rest = (sum - (total - own)) + (addend - own);
    let away = (rest > 0.0) == (total > 0.0);
    let bits = bitcast<u32>(total);
    let next = bitcast<f32>(select(bits - 1u, bits + 1u, away));
    return select(total, next, abs(rest) > dither * abs(next - total));
}

fn plus_vector(sum: vec3<f32>, addend: vec3<f32>, dither: f32, zero: u32) -> vec3<f32> {
    return vec3<f32>(
        plus(sum.x, addend.x, dither, zero),
        plus(sum.y, addend.y, dither, zero),
        plus(sum.z, addend.z, dither, zero),
    );
}
