//! Arrays and slices, value by value, in the innermost loops.
//!
//! The standard library has `array::map`, `zip`, `copy_from_slice` and the like for this, but the compiler inlines them only where it
//! happens to put them into the unit of their caller. Loops of the CPU engine become vectors only without calls, so they use the
//! functions here, which are always inlined.

use bytemuck::Zeroable;

/// An [`array::map`].
pub trait Each<T, const N: usize> {
    /// Results of a function for each value.
    fn each<U: Zeroable + Copy>(self, of: impl Fn(T) -> U) -> [U; N];
}

impl<T: Copy, const N: usize> Each<T, N> for [T; N] {
    #[inline(always)]
    fn each<U: Zeroable + Copy>(self, of: impl Fn(T) -> U) -> [U; N] {
        let mut results = [U::zeroed(); N];
        for_each_pair(&mut results, &self, |result, value| *result = of(*value));
        results
    }
}

/// A `zip` with a `for_each`: acts on each value of a slice with that of another, until one of them ends.
#[inline(always)]
pub fn for_each_pair<T, U>(values: &mut [T], others: &[U], mut act: impl FnMut(&mut T, &U)) {
    let count = values.len().min(others.len());
    let (values, others) = (&mut values[..count], &others[..count]);
    let mut index = 0;
    while index < count {
        act(&mut values[index], &others[index]);
        index += 1;
    }
}

/// A `copy_from_slice`, for a few large values: copies until one of the slices ends.
#[inline(always)]
pub fn copy<T: Copy>(values: &mut [T], others: &[T]) {
    for_each_pair(values, others, |value, other| *value = *other);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_function_is_applied_to_each_value() {
        assert_eq!([1, 2, 3].each(|value| 0.5 * value as f32), [0.5, 1.0, 1.5]);
    }

    #[test]
    fn pairs_end_with_the_shorter_slice() {
        let mut sums = [1, 2, 3];
        for_each_pair(&mut sums, &[10, 20], |sum, value| *sum += value);
        assert_eq!(sums, [11, 22, 3]);
        copy(&mut sums[1..], &[5, 6, 7]);
        assert_eq!(sums, [11, 5, 6]);
    }
}
