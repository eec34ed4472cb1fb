//! Arrays, value by value, in the innermost loops.

use bytemuck::Zeroable;

/// An [`array::map`] that is inlined wherever it is called.
///
/// The compiler inlines that of the standard library only where both are compiled together. Loops of the CPU engine call it for
/// every lane, and become vectors only without a call.
pub trait Each<T, const N: usize> {
    /// Results of a function for each value.
    fn each<U: Zeroable + Copy>(self, of: impl Fn(T) -> U) -> [U; N];
}

impl<T: Copy, const N: usize> Each<T, N> for [T; N] {
    #[inline(always)]
    fn each<U: Zeroable + Copy>(self, of: impl Fn(T) -> U) -> [U; N] {
        let mut results = [U::zeroed(); N];
        for (result, value) in results.iter_mut().zip(self) {
            *result = of(value);
        }
        results
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_function_is_applied_to_each_value() {
        assert_eq!([1, 2, 3].each(|value| 0.5 * value as f32), [0.5, 1.0, 1.5]);
    }
}
