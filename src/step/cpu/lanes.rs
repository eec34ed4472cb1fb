//! Many elements at a time: what turns structs into arrays of their values, and back.
//!
//! Formulas are written for one element, in scalars. Put into a loop over arrays with one value for
//! each element, and inlined into it without a branch that is left, they become vector instructions,
//! as wide as the machine has them: the compiler sees to that. Vectors round as scalars do, and
//! nothing is summed across lanes: the bits are the same on every machine.

use std::ops::Range;

use bytemuck::{Pod, Zeroable, cast, cast_ref};
use glam::{Mat4, Vec3, Vec4};

use crate::math::each::{Each, for_each_pair};

/// Elements in a batch: a multiple of the lanes of any machine, few enough for its first cache.
pub const LANES: usize = 128;

/// Four values for each element, value by value: as vectors want them.
#[derive(Clone, Copy, Debug, Zeroable)]
#[repr(C, align(64))]
pub struct Soa4<const COUNT: usize = LANES>(pub [[f32; COUNT]; 4]);

/// Elements that stand side by side: as many as fit into the vectors of the machines that have the widest.
pub const WIDTH: usize = 16;

/// [`WIDTH`] elements of 64 bytes each, value by value.
pub type Soa16 = [Soa4<WIDTH>; 4];

/// Whether this processor has what the functions of `avx512` need, and the build is not one without it.
///
/// AVX-512VL includes AVX-512F, and one question is asked faster than two: it stands in the innermost loops.
#[cfg(target_arch = "x86_64")]
#[inline(always)]
fn has_avx512() -> bool {
    cfg!(simd = "avx512") && is_x86_feature_detected!("avx512vl")
}

/// Takes over elements that lie anywhere.
#[inline(always)]
pub fn gather<'a, T: Pod>(soa: &mut Soa16, element: impl Fn(usize) -> &'a T) {
    #[cfg(target_arch = "x86_64")]
    if has_avx512() {
        // SAFETY: this processor has what the function needs.
        return unsafe { avx512::read(&mut soa.each_mut(), 0, element) };
    }
    for lane in (0..WIDTH).step_by(4) {
        let a: &[[f32; 4]; 4] = cast_ref(element(lane));
        let b: &[[f32; 4]; 4] = cast_ref(element(lane + 1));
        let c: &[[f32; 4]; 4] = cast_ref(element(lane + 2));
        let d: &[[f32; 4]; 4] = cast_ref(element(lane + 3));
        for (row, columns) in soa.iter_mut().enumerate() {
            let four = [a[row], b[row], c[row], d[row]];
            columns.set_four(lane, four.each(Vec4::from_array));
        }
    }
}

/// Takes over four rows of each element, from row `row` on: what [`Soa4::read`] does with each of them.
#[cfg_attr(not(target_arch = "x86_64"), expect(unused_mut))]
#[inline(always)]
pub fn read_four<const COUNT: usize, const N: usize>(
    mut columns: [&mut Soa4<COUNT>; 4],
    elements: &[[[f32; 4]; N]],
    row: usize,
) {
    #[cfg(target_arch = "x86_64")]
    if elements.len().is_multiple_of(WIDTH) && has_avx512() {
        for (group, elements) in elements.as_chunks::<WIDTH>().0.iter().enumerate() {
            let element = |lane: usize| elements[lane][row..].first_chunk::<4>().unwrap();
            // SAFETY: this processor has what the function needs.
            unsafe { avx512::read(&mut columns, group * WIDTH, element) };
        }
        return;
    }
    for (k, columns) in columns.into_iter().enumerate() {
        columns.read(elements, row + k);
    }
}

/// Gives each element four rows, from row `row` on: what [`Soa4::write`] does with each of them.
#[inline(always)]
pub fn write_four<const COUNT: usize, const N: usize>(
    columns: [&Soa4<COUNT>; 4],
    elements: &mut [[[f32; 4]; N]],
    row: usize,
) {
    #[cfg(target_arch = "x86_64")]
    if elements.len().is_multiple_of(WIDTH) && has_avx512() {
        for (group, elements) in elements.as_chunks_mut::<WIDTH>().0.iter_mut().enumerate() {
            // SAFETY: this processor has what the function needs.
            let rows = unsafe { avx512::rows(columns, group * WIDTH) };
            for_each_pair(elements, &rows, |element, own| {
                *element[row..].first_chunk_mut().unwrap() = *own;
            });
        }
        return;
    }
    for (k, columns) in columns.into_iter().enumerate() {
        columns.write(elements, row + k);
    }
}

/// Eight values of each element, from the four of each of two columns.
#[inline(always)]
pub fn both(a: &Soa4<WIDTH>, b: &Soa4<WIDTH>) -> [[[f32; 4]; 2]; WIDTH] {
    #[cfg(target_arch = "x86_64")]
    if has_avx512() {
        // SAFETY: this processor has what the function needs.
        return unsafe { avx512::both(a, b) };
    }
    let mut elements = [[[0.0; 4]; 2]; WIDTH];
    a.write(&mut elements, 0);
    b.write(&mut elements, 1);
    elements
}

/// Takes over eight values of each element, the reverse of [`both`].
#[inline(always)]
pub fn read_both([a, b]: [&mut Soa4<WIDTH>; 2], elements: &[[[f32; 4]; 2]; WIDTH]) {
    #[cfg(target_arch = "x86_64")]
    if has_avx512() {
        // SAFETY: this processor has what the function needs.
        let [own, other] = unsafe { avx512::read_both(elements) };
        (*a, *b) = (own, other);
        return;
    }
    a.read(elements, 0);
    b.read(elements, 1);
}

/// Has the processor fetch some elements that are soon needed, if there are any of these indices.
#[inline(always)]
pub fn prefetch<T>(elements: &[T], range: Range<usize>) {
    #[cfg(target_arch = "x86_64")]
    {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        const LINE: usize = 64;
        let [start, end] = [range.start, range.end].each(|index| index * size_of::<T>());
        for offset in (start..end).step_by(LINE) {
            let place = elements.as_ptr().cast::<i8>().wrapping_add(offset);
            // SAFETY: a prefetch reads nothing, and takes any address.
            unsafe { _mm_prefetch::<_MM_HINT_T0>(place) };
        }
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = (elements, range);
}

/// A bit for each of eight marks that is not 0.
#[inline(always)]
pub fn marked(marks: &[u32; 8]) -> u32 {
    #[cfg(target_arch = "x86_64")]
    if has_avx512() {
        // SAFETY: this processor has what the function needs.
        return unsafe { avx512::marked(marks) };
    }
    let bits = (0..8).map(|lane| u32::from(marks[lane] != 0) << lane);
    bits.fold(0, |all, bit| all | bit)
}

/// Writes those of eight values whose bits are set, and then others.
#[inline(always)]
pub fn compress(values: &[u32; 8], bits: u32, some: &mut [u32; 8]) {
    #[cfg(target_arch = "x86_64")]
    if has_avx512() {
        // SAFETY: this processor has what the function needs.
        return unsafe { avx512::compress(values, bits, some) };
    }
    // All are written, each to where it would be, since processors cannot guess which ones these are.
    let mut count = 0;
    for (lane, &value) in values.iter().enumerate() {
        some[count % 8] = value;
        count += (bits >> lane & 1) as usize;
    }
}

/// One of the elements.
#[inline(always)]
pub fn of_lane<T: Pod>(soa: &Soa16, lane: usize) -> T {
    let row = |columns: &Soa4<WIDTH>| {
        let [x, y, z, w] = &columns.0;
        [x[lane], y[lane], z[lane], w[lane]]
    };
    let [a, b, c, d] = soa;
    cast([row(a), row(b), row(c), row(d)])
}

impl<const COUNT: usize> Soa4<COUNT> {
    pub const ZERO: Soa4<COUNT> = Soa4([[0.0; COUNT]; 4]);

    /// Four elements from lane `lane` on.
    #[inline(always)]
    pub fn four(&self, lane: usize) -> [Vec4; 4] {
        let [x, y, z, w] = &self.0;
        let four = |values: &[f32; COUNT]| Vec4::from_slice(&values[lane..lane + 4]);
        let block = Mat4::from_cols(four(x), four(y), four(z), four(w)).transpose();
        [block.x_axis, block.y_axis, block.z_axis, block.w_axis]
    }

    #[inline(always)]
    fn set_four(&mut self, lane: usize, [a, b, c, d]: [Vec4; 4]) {
        let block = Mat4::from_cols(a, b, c, d).transpose();
        let columns = [block.x_axis, block.y_axis, block.z_axis, block.w_axis];
        for_each_pair(&mut self.0, &columns, |values, column| {
            column.write_to_slice(&mut values[lane..lane + 4]);
        });
    }

    /// Takes over row number `row` of each element; no more than [`LANES`] of them.
    #[inline(always)]
    pub fn read<const N: usize>(&mut self, elements: &[[[f32; 4]; N]], row: usize) {
        let (fours, rest) = elements.as_chunks::<4>();
        for (group, four) in fours.iter().enumerate() {
            let [a, b, c, d] = four;
            let four = [a[row], b[row], c[row], d[row]];
            self.set_four(4 * group, four.each(Vec4::from_array));
        }
        for (lane, own) in rest.iter().enumerate() {
            let [x, y, z, w] = own[row];
            self.set(4 * fours.len() + lane, Vec3::new(x, y, z), w);
        }
    }

    /// Gives each element its row number `row`.
    #[inline(always)]
    pub fn write<const N: usize>(&self, elements: &mut [[[f32; 4]; N]], row: usize) {
        let (fours, rest) = elements.as_chunks_mut::<4>();
        let count = 4 * fours.len();
        for (group, four) in fours.iter_mut().enumerate() {
            for_each_pair(four, &self.four(4 * group), |own, values| {
                own[row] = values.to_array();
            });
        }
        for (lane, own) in rest.iter_mut().enumerate() {
            let (vector, scalar) = self.get(count + lane);
            own[row] = vector.extend(scalar).to_array();
        }
    }

    #[inline(always)]
    pub fn get(&self, lane: usize) -> (Vec3, f32) {
        let [x, y, z, w] = &self.0;
        (Vec3::new(x[lane], y[lane], z[lane]), w[lane])
    }

    #[inline(always)]
    pub fn set(&mut self, lane: usize, vector: Vec3, scalar: f32) {
        let [x, y, z, w] = &mut self.0;
        x[lane] = vector.x;
        y[lane] = vector.y;
        z[lane] = vector.z;
        w[lane] = scalar;
    }

    /// The bits of the four values of an element.
    #[inline(always)]
    pub fn bits(&self, lane: usize) -> [u32; 4] {
        let [x, y, z, w] = &self.0;
        [x[lane], y[lane], z[lane], w[lane]].each(f32::to_bits)
    }

    #[inline(always)]
    pub fn set_bits(&mut self, lane: usize, bits: [u32; 4]) {
        for_each_pair(&mut self.0, &bits, |column, bits| {
            column[lane] = f32::from_bits(*bits);
        });
    }
}

/// Sixteen elements at a time, in registers.
#[cfg(target_arch = "x86_64")]
mod avx512 {
    use std::arch::x86_64::*;

    use bytemuck::{Pod, cast};

    use super::{Soa4, WIDTH};
    use crate::math::each::for_each_pair;

    #[target_feature(enable = "avx512f")]
    #[inline]
    pub fn read<'a, T: Pod, const COUNT: usize>(
        columns: &mut [&mut Soa4<COUNT>; 4],
        at: usize,
        element: impl Fn(usize) -> &'a T,
    ) {
        let mut rows = [_mm512_setzero_ps(); WIDTH];
        for (lane, row) in rows.iter_mut().enumerate() {
            *row = cast(*element(lane));
        }
        let transposed = transposed(rows);
        for_each_pair(columns, transposed.as_chunks::<4>().0, |columns, own| {
            for_each_pair(&mut columns.0, own, |values, own| {
                *values[at..].first_chunk_mut::<WIDTH>().unwrap() = cast(*own);
            });
        });
    }

    #[target_feature(enable = "avx512f")]
    #[inline]
    pub fn rows<const COUNT: usize>(
        columns: [&Soa4<COUNT>; 4],
        at: usize,
    ) -> [[[f32; 4]; 4]; WIDTH] {
        let mut values = [_mm512_setzero_ps(); WIDTH];
        for_each_pair(values.as_chunks_mut::<4>().0, &columns, |own, columns| {
            for_each_pair(own, &columns.0, |own, column| {
                *own = cast(*column[at..].first_chunk::<WIDTH>().unwrap());
            });
        });
        cast(transposed(values))
    }

    #[target_feature(enable = "avx512f")]
    #[inline]
    pub fn both(a: &Soa4<WIDTH>, b: &Soa4<WIDTH>) -> [[[f32; 4]; 2]; WIDTH] {
        let (a, b) = (elements_of(a), elements_of(b));
        let mut elements = [[[0.0; 4]; 2]; WIDTH];
        // Quarters of vectors: 0 to 3 of the first, 4 to 7 of the second, twice as many halves.
        let low = _mm512_set_epi64(11, 10, 3, 2, 9, 8, 1, 0);
        let high = _mm512_set_epi64(15, 14, 7, 6, 13, 12, 5, 4);
        for k in 0..4 {
            let (own, other) = (_mm512_castps_pd(a[k]), _mm512_castps_pd(b[k]));
            let halves = [
                _mm512_permutex2var_pd(own, low, other),
                _mm512_permutex2var_pd(own, high, other),
            ];
            let four: [[[f32; 4]; 2]; 4] = cast(halves);
            for (quarter, element) in four.iter().enumerate() {
                elements[4 * quarter + k] = *element;
            }
        }
        elements
    }

    #[target_feature(enable = "avx512f")]
    #[inline]
    pub fn read_both(elements: &[[[f32; 4]; 2]; WIDTH]) -> [Soa4<WIDTH>; 2] {
        let mut own = [_mm512_setzero_ps(); 4];
        let mut other = own;
        for k in 0..4 {
            let low = cast([elements[k], elements[k + 4]]);
            let high = cast([elements[k + 8], elements[k + 12]]);
            own[k] = _mm512_shuffle_f32x4::<0x88>(low, high);
            other[k] = _mm512_shuffle_f32x4::<0xdd>(low, high);
        }
        [columns_of(own), columns_of(other)]
    }

    /// Sixteen elements of four values, in the order of [`fours`].
    #[target_feature(enable = "avx512f")]
    #[inline]
    fn elements_of(columns: &Soa4<WIDTH>) -> [__m512; 4] {
        let [x, y, z, w] = columns.0;
        fours([cast(x), cast(y), cast(z), cast(w)])
    }

    /// The reverse of [`elements_of`].
    #[target_feature(enable = "avx512f")]
    #[inline]
    fn columns_of(elements: [__m512; 4]) -> Soa4<WIDTH> {
        let [x, y, z, w] = fours(elements);
        Soa4([cast(x), cast(y), cast(z), cast(w)])
    }

    #[target_feature(enable = "avx512f,avx512vl")]
    #[inline]
    pub fn marked(marks: &[u32; 8]) -> u32 {
        let marks = cast(*marks);
        u32::from(_mm256_test_epi32_mask(marks, marks))
    }

    #[target_feature(enable = "avx512f,avx512vl")]
    #[inline]
    pub fn compress(values: &[u32; 8], bits: u32, some: &mut [u32; 8]) {
        *some = cast(_mm256_maskz_compress_epi32(bits as u8, cast(*values)));
    }

    /// Four rows of sixteen values to elements of four: those of the first result are elements 0, 4, 8 and 12.
    #[inline]
    #[target_feature(enable = "avx512f")]
    fn fours([a, b, c, d]: [__m512; 4]) -> [__m512; 4] {
        let low = _mm512_castps_pd(_mm512_unpacklo_ps(a, b));
        let high = _mm512_castps_pd(_mm512_unpackhi_ps(a, b));
        let other_low = _mm512_castps_pd(_mm512_unpacklo_ps(c, d));
        let other_high = _mm512_castps_pd(_mm512_unpackhi_ps(c, d));
        [
            _mm512_castpd_ps(_mm512_unpacklo_pd(low, other_low)),
            _mm512_castpd_ps(_mm512_unpackhi_pd(low, other_low)),
            _mm512_castpd_ps(_mm512_unpacklo_pd(high, other_high)),
            _mm512_castpd_ps(_mm512_unpackhi_pd(high, other_high)),
        ]
    }

    /// Rows to columns, or the other way round: in two rounds pairs and fours of values within each quarter of a
    /// vector, then the quarters.
    #[inline]
    #[target_feature(enable = "avx512f")]
    fn transposed(rows: [__m512; 16]) -> [__m512; 16] {
        let mut done = [[_mm512_setzero_ps(); 4]; 4];
        for_each_pair(&mut done, rows.as_chunks::<4>().0, |done, rows| {
            *done = fours(*rows);
        });
        let mut columns = [_mm512_setzero_ps(); 16];
        for k in 0..4 {
            let [a, b, c, d] = [done[0][k], done[1][k], done[2][k], done[3][k]];
            let even = _mm512_shuffle_f32x4::<0x88>(a, b);
            let odd = _mm512_shuffle_f32x4::<0xdd>(a, b);
            let other_even = _mm512_shuffle_f32x4::<0x88>(c, d);
            let other_odd = _mm512_shuffle_f32x4::<0xdd>(c, d);
            columns[k] = _mm512_shuffle_f32x4::<0x88>(even, other_even);
            columns[4 + k] = _mm512_shuffle_f32x4::<0x88>(odd, other_odd);
            columns[8 + k] = _mm512_shuffle_f32x4::<0xdd>(even, other_even);
            columns[12 + k] = _mm512_shuffle_f32x4::<0xdd>(odd, other_odd);
        }
        columns
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Elements of five rows, of which each value says where it is.
    fn elements<const COUNT: usize>() -> [[[f32; 4]; 5]; COUNT] {
        let value = |lane, row, k| (100 * lane + 10 * row + k) as f32;
        std::array::from_fn(|lane| {
            std::array::from_fn(|row| std::array::from_fn(|k| value(lane, row, k)))
        })
    }

    /// Whatever the vectors of the machine are, and for counts that do not fill them.
    #[test]
    fn four_rows_to_columns_and_back() {
        fn holds(elements: &[[[f32; 4]; 5]]) {
            let mut columns = [const { Soa4::<LANES>::ZERO }; 4];
            read_four(columns.each_mut(), elements, 1);
            for (lane, element) in elements.iter().enumerate() {
                for (row, columns) in columns.iter().enumerate() {
                    let own = columns.0.each_ref().map(|values| values[lane]);
                    assert_eq!(own, element[1 + row], "row {row} of lane {lane}");
                }
            }
            let mut written = vec![[[-1.0; 4]; 5]; elements.len()];
            write_four(columns.each_ref(), &mut written, 1);
            for (own, element) in written.iter().zip(elements) {
                assert_eq!(own[0], [-1.0; 4]);
                assert_eq!(own[1..], element[1..]);
            }
        }
        holds(&elements::<LANES>());
        holds(&elements::<{ 2 * WIDTH }>());
        holds(&elements::<{ WIDTH + 5 }>());
    }

    #[test]
    fn elements_from_anywhere_and_eight_values_of_each() {
        let elements = elements::<WIDTH>();
        let four = |lane: usize| elements[WIDTH - 1 - lane][1..].first_chunk::<4>().unwrap();
        let mut soa = [const { Soa4::ZERO }; 4];
        gather(&mut soa, four);
        for lane in 0..WIDTH {
            assert_eq!(of_lane::<[[f32; 4]; 4]>(&soa, lane), *four(lane));
        }
        let both = both(&soa[1], &soa[3]);
        for (lane, own) in both.iter().enumerate() {
            assert_eq!(*own, [four(lane)[1], four(lane)[3]]);
        }
        let mut read = [const { Soa4::ZERO }; 2];
        read_both(read.each_mut(), &both);
        assert_eq!(read[0].0, soa[1].0);
        assert_eq!(read[1].0, soa[3].0);
    }
}
