// Quotients and roots that are correctly rounded on every adapter, beside the adapter's own: of these WGSL says that they are near, and
// integers, which are exact everywhere, find the nearest number from there. Zero, numbers below 1.2e-38, infinities, and results
// beyond those stay as the adapter has them.

@group(0) @binding(0) var<storage, read> given: array<vec2<f32>>;
@group(0) @binding(1) var<storage, read_write> found: array<f32>;

// By how many units of the last place the adapter's results are made worse, for tests.
override WORSE: i32 = 0;

const HIDDEN: u32 = 0x800000u;

// The 24 bits of a number's mantissa.
fn mantissa(bits: u32) -> u32 {
    return (bits & 0x7fffffu) | HIDDEN;
}

fn exponent(bits: u32) -> u32 {
    return (bits >> 23u) & 0xffu;
}

fn is_normal(bits: u32) -> bool {
    return exponent(bits) > 0u && exponent(bits) < 255u;
}

// The mantissa of a number near the wanted one, whose exponent may be one more or less.
fn candidate(near: f32, wanted: u32) -> u32 {
    let bits = bitcast<u32>(near);
    let own = mantissa(bits);
    let higher = select(own, own << 1u, exponent(bits) > wanted);
    return select(higher, own >> 1u, exponent(bits) < wanted) + bitcast<u32>(WORSE);
}

// `a / b`, which is off by 2.5 units at most.
fn quotient(a: f32, b: f32) -> f32 {
    let near = a / b;
    let above = bitcast<u32>(a);
    let below = bitcast<u32>(b);
    let divisor = mantissa(below);
    let less = select(0u, 1u, mantissa(above) < divisor);
    let power = exponent(above) + 127u - exponent(below) - less;
    if !(is_normal(above) && is_normal(below) && power - 1u < 253u) {
        return near;
    }
    // Modulo 2^32; the true remainder is less.
    var result = candidate(near, power) - 8u;
    var rest = (mantissa(above) << (23u + less)) - result * divisor;
    for (var step = 8u; step > 0u; step >>= 1u) {
        if rest >= step * divisor {
            rest -= step * divisor;
            result += step;
        }
    }
    // A quotient never lies in the middle of two numbers.
    result += select(0u, 1u, 2u * rest > divisor);
    return bitcast<f32>(((above ^ below) & 0x80000000u) | ((power << 23u) + result - HIDDEN));
}

// `sqrt(x)`, which is off by 5 units at most: 2 of `inverseSqrt`, and those of a quotient.
fn root(x: f32) -> f32 {
    let near = sqrt(x);
    let bits = bitcast<u32>(x);
    if !is_normal(bits) || x < 0.0 {
        return near;
    }
    let power = (exponent(bits) + 127u) >> 1u;
    var result = candidate(near, power) - 8u;
    var rest = (mantissa(bits) << (24u - (exponent(bits) & 1u))) - result * result;
    for (var step = 8u; step > 0u; step >>= 1u) {
        let part = step * (2u * result + step);
        if rest >= part {
            rest -= part;
            result += step;
        }
    }
    result += select(0u, 1u, rest > result);
    return bitcast<f32>((power << 23u) + result - HIDDEN);
}

@compute @workgroup_size(64)
fn exact_quotient(@builtin(global_invocation_id) thread: vec3<u32>) {
    if thread.x < arrayLength(&given) {
        found[thread.x] = quotient(given[thread.x].x, given[thread.x].y);
    }
}

@compute @workgroup_size(64)
fn own_quotient(@builtin(global_invocation_id) thread: vec3<u32>) {
    if thread.x < arrayLength(&given) {
        found[thread.x] = given[thread.x].x / given[thread.x].y;
    }
}

@compute @workgroup_size(64)
fn exact_root(@builtin(global_invocation_id) thread: vec3<u32>) {
    if thread.x < arrayLength(&given) {
        found[thread.x] = root(given[thread.x].x);
    }
}

@compute @workgroup_size(64)
fn own_root(@builtin(global_invocation_id) thread: vec3<u32>) {
    if thread.x < arrayLength(&given) {
        found[thread.x] = sqrt(given[thread.x].x);
    }
}
