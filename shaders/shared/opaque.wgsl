// Compilers reckon with sums as if they were exact: of (a + b) - a they make b, and what rounding has left
// out is lost. They do not see through a number that has gone through this; `zero` is 0, which only
// the device knows: `stats.halted` in a step that is taken.
fn opaque(number: f32, zero: u32) -> f32 {
    return bitcast<f32>(bitcast<u32>(number) ^ zero);
}
