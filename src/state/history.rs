//! Contact history: the one place that says what a contact carries from step to step.

use bytemuck::{Pod, Zeroable, cast};
use glam::{Vec3, Vec4};

use crate::math::wgsl::shared_structs;
use crate::model::{Cohesion, Law, Model, PairLaw, Rolling};

shared_structs! {
    /// Contact history: what a contact carries from step to step, such as the elongations of its springs.
    ///
    /// It is all zero before two surfaces touch and after they part. It is kept in elements of four numbers, and a
    /// scene keeps only the first ones, as many as its law and its materials use: what lies behind them is zero. A
    /// vector starts an element, so a gap before one is filled by numbers whose names start with `_pad`.
    #[doc(hidden)]
    #[repr(C)]
    #[derive(Clone, Copy, Debug, Default, PartialEq, Pod, Zeroable)]
    pub struct History {
        /// Elongation of the tangential spring, m.
        pub tangential_displacement: Vec3,
        /// Elongation of the torsional spring, m.
        pub twisting_displacement: f32,
        /// Elongation of the rolling spring, m.
        pub rolling_displacement: Vec3,
        /// 1 if adhesion holds the surfaces together, else 0.
        pub bonded: f32,
    }
}

impl History {
    /// Factors that turn each number into that of the contact seen from its other side.
    const SIGNS: History = History {
        tangential_displacement: Vec3::NEG_ONE,
        twisting_displacement: 1.0,
        rolling_displacement: Vec3::NEG_ONE,
        bonded: 1.0,
    };

    /// 1 for each number that contacts of a pair of materials use by laws with a history, else 0.
    fn used_by(pair: &PairLaw) -> History {
        let if_so = |used: bool| f32::from(u8::from(used));
        let rolls = pair.rolling == Rolling::Spring && pair.rolling_friction > 0.0;
        let sticks = matches!(pair.cohesion, Cohesion::SurfaceEnergy(energy) if energy > 0.0);
        History {
            tangential_displacement: Vec3::ONE,
            twisting_displacement: if_so(pair.twisting_friction > 0.0),
            rolling_displacement: Vec3::splat(if_so(rolls)),
            bonded: if_so(sticks),
        }
    }

    /// Numbers that contacts without terms beyond spring, dashpot and friction use: the first ones.
    pub(crate) const PLAIN_VALUES: usize = 3;

    /// Numbers that it has.
    pub const VALUES: usize = size_of::<History>() / size_of::<f32>();

    /// Elements that it has.
    pub const ELEMENTS: usize = History::VALUES / 4;

    /// Numbers that each contact of a model uses: the first ones.
    pub(super) fn used(model: &Model) -> u32 {
        let of_pair = |pair: &PairLaw| {
            let used = History::used_by(pair).values();
            let last = used.iter().rposition(|&used| used > 0.0);
            last.map_or(0, |last| last + 1)
        };
        let used = match model.contact.law {
            Law::HookeViscous => 0,
            Law::Custom(_) => History::VALUES,
            Law::HookeHistory | Law::HertzMindlin | Law::Impulse => {
                let of_pairs = model.pairs.iter().map(of_pair).max();
                of_pairs.unwrap_or(History::PLAIN_VALUES)
            }
        };
        used as u32
    }

    /// Elements that each contact of a model keeps.
    pub(super) fn size(model: &Model) -> u32 {
        History::used(model).div_ceil(4)
    }

    /// From its first elements, those of [`State::history`](super::State::history) that belong to an entry.
    pub fn of(elements: &[Vec4]) -> History {
        let mut own = [Vec4::ZERO; History::ELEMENTS];
        own[..elements.len()].copy_from_slice(elements);
        cast(own)
    }

    /// Writes the first elements.
    pub fn write(&self, elements: &mut [Vec4]) {
        let own: [Vec4; History::ELEMENTS] = cast(*self);
        elements.copy_from_slice(&own[..elements.len()]);
    }

    /// Its first elements.
    #[inline(always)]
    pub(crate) fn elements<const SIZE: usize>(&self) -> [Vec4; SIZE] {
        let own: [Vec4; History::ELEMENTS] = cast(*self);
        *own.first_chunk().expect("SIZE is at most ELEMENTS")
    }

    /// Its numbers, one after the other.
    #[inline(always)]
    pub(crate) fn values(&self) -> [f32; History::VALUES] {
        cast(*self)
    }

    /// The history of these numbers.
    #[inline(always)]
    pub(crate) fn of_values(value: impl Fn(usize) -> f32) -> History {
        let mut values = [0.0; History::VALUES];
        for (k, own) in values.iter_mut().enumerate() {
            *own = value(k);
        }
        cast(values)
    }

    /// The history as it is from the other side of the contact.
    #[inline(always)]
    pub(crate) fn reversed(&self) -> History {
        let (own, signs) = (self.values(), History::SIGNS.values());
        History::of_values(|k| signs[k] * own[k])
    }
}

/// Elements that each contact of a model keeps.
pub(crate) fn history_size(model: &Model) -> u32 {
    History::size(model)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_elements_are_kept_and_the_rest_is_zero() {
        let history = History {
            tangential_displacement: Vec3::new(1.0, 2.0, 3.0),
            twisting_displacement: 4.0,
            rolling_displacement: Vec3::new(5.0, 6.0, 7.0),
            bonded: 1.0,
        };
        let mut elements = [Vec4::ZERO; History::ELEMENTS];
        history.write(&mut elements);
        assert_eq!(History::of(&elements), history);
        let first = History::of(&elements[..1]);
        assert_eq!(first.twisting_displacement, 4.0);
        assert_eq!(first.rolling_displacement, Vec3::ZERO);
        assert_eq!(History::of(&[]), History::default());
    }

    #[test]
    fn from_the_other_side_vectors_point_the_other_way() {
        let history = History::of_values(|k| 1.0 + k as f32);
        let reversed = history.reversed();
        assert_eq!(reversed.rolling_displacement, -history.rolling_displacement);
        assert_eq!(reversed.bonded, history.bonded);
        assert_eq!(reversed.reversed(), history);
    }
}
