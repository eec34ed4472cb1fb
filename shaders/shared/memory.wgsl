// What contacts remember, by places of the entries of the neighbour lists. What imports this declares `memory`.

// Elements of `memory` for each entry of the lists.
override MEMORY_SIZE: u32 = 0u;

fn recall(place: u32) -> Memory {
    var recalled: Memory;
    if MEMORY_SIZE > 0u {
        recalled.slip = memory[MEMORY_SIZE * place];
    }
    if MEMORY_SIZE > 1u {
        recalled.roll = memory[MEMORY_SIZE * place + 1u];
    }
    return recalled;
}

fn remember(place: u32, remembered: Memory) {
    if MEMORY_SIZE > 0u {
        memory[MEMORY_SIZE * place] = remembered.slip;
    }
    if MEMORY_SIZE > 1u {
        memory[MEMORY_SIZE * place + 1u] = remembered.roll;
    }
}

fn is_empty(remembered: Memory) -> bool {
    return all(remembered.slip == vec4<f32>()) && all(remembered.roll == vec4<f32>());
}

// Kahan's summation: x the sum, y what rounding has left out of it.
fn plus(sum: vec2<f32>, addend: f32, zero: u32) -> vec2<f32> {
    let term = addend + sum.y;
    let total = opaque(sum.x + term, zero);
    return vec2<f32>(total, term - (total - sum.x));
}
