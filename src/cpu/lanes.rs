//! Many elements at a time: what turns structs into arrays of their values, and back.
//!
//! Formulas are written for one element, in scalars. Put into a loop over arrays with one value for
//! each element, and inlined into it without a branch that is left, they become vector instructions,
//! as wide as the machine has them: the compiler sees to that. Vectors round as scalars do, and
//! nothing is summed across lanes: the bits are the same on every machine.

use bytemuck::{cast_slice, cast_slice_mut};
use glam::{Mat4, Vec3, Vec4};

/// Elements in a batch: a multiple of the lanes of any machine, few enough for its first cache.
pub const LANES: usize = 128;

/// A value for each element.
pub type Lane = [f32; LANES];

/// Four values for each element, a `Vec4` each: as they lie in memory.
#[derive(Clone)]
#[repr(C, align(64))]
pub struct Rows(pub [Vec4; LANES]);

/// The same, value by value: as vectors want them.
#[derive(Clone)]
#[repr(C, align(64))]
pub struct Columns(pub [Lane; 4]);

impl Rows {
    pub const ZERO: Rows = Rows([Vec4::ZERO; LANES]);

    /// Of the first `lanes` elements, value by value.
    #[inline(always)]
    pub fn transpose(&self, columns: &mut Columns, lanes: usize) {
        columns.read(cast_slice::<_, [[f32; 4]; 1]>(&self.0[..lanes]), 0);
    }
}

impl Columns {
    pub const ZERO: Columns = Columns([[0.0; LANES]; 4]);

    /// Of the first `lanes` elements, as they lie in memory.
    #[inline(always)]
    pub fn transpose(&self, rows: &mut Rows, lanes: usize) {
        self.write(cast_slice_mut::<_, [[f32; 4]; 1]>(&mut rows.0[..lanes]), 0);
    }

    /// Takes over row number `row` of each element; no more than [`LANES`] of them.
    #[inline(always)]
    pub fn read<const N: usize>(&mut self, elements: &[[[f32; 4]; N]], row: usize) {
        let (fours, rest) = elements.as_chunks::<4>();
        let [x, y, z, w] = &mut self.0;
        for (group, four) in fours.iter().enumerate() {
            let [a, b, c, d] = four.each_ref().map(|own| Vec4::from_array(own[row]));
            let block = Mat4::from_cols(a, b, c, d).transpose();
            let at = 4 * group..4 * group + 4;
            block.x_axis.write_to_slice(&mut x[at.clone()]);
            block.y_axis.write_to_slice(&mut y[at.clone()]);
            block.z_axis.write_to_slice(&mut z[at.clone()]);
            block.w_axis.write_to_slice(&mut w[at]);
        }
        for (lane, own) in (4 * fours.len()..).zip(rest) {
            let [x, y, z, w] = own[row];
            self.set(lane, Vec3::new(x, y, z), w);
        }
    }

    /// Gives each element its row number `row`.
    #[inline(always)]
    pub fn write<const N: usize>(&self, elements: &mut [[[f32; 4]; N]], row: usize) {
        let (fours, rest) = elements.as_chunks_mut::<4>();
        let [x, y, z, w] = &self.0;
        for (group, four) in fours.iter_mut().enumerate() {
            let at = 4 * group..4 * group + 4;
            let block = Mat4::from_cols(
                Vec4::from_slice(&x[at.clone()]),
                Vec4::from_slice(&y[at.clone()]),
                Vec4::from_slice(&z[at.clone()]),
                Vec4::from_slice(&w[at]),
            )
            .transpose();
            for (own, values) in four.iter_mut().zip(block.to_cols_array_2d()) {
                own[row] = values;
            }
        }
        for (lane, own) in (4 * fours.len()..).zip(rest) {
            let (vector, scalar) = self.get(lane);
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
        [x[lane], y[lane], z[lane], w[lane]].map(f32::to_bits)
    }

    #[inline(always)]
    pub fn set_bits(&mut self, lane: usize, bits: [u32; 4]) {
        for (column, bits) in self.0.iter_mut().zip(bits) {
            column[lane] = f32::from_bits(bits);
        }
    }
}
