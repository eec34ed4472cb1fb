//! Compilations for the contact law of a scene, and for as much contact history as that keeps.

use crate::state::State;
use crate::state::layout::History;

const _: () = assert!(
    History::ELEMENTS <= 4,
    "`with_size` has an arm for each size"
);

/// A size of contact histories, no larger than they get: so that there is no compilation for sizes that no scene has.
pub(super) const fn at_most(size: usize) -> usize {
    if size < History::ELEMENTS {
        size
    } else {
        History::ELEMENTS
    }
}

/// An expression with the number of elements of each contact's history as the constant `$SIZE`, at least 1.
macro_rules! with_size {
    ($size:expr, $SIZE:ident => $value:expr) => {
        match $size {
            0 | 1 => {
                const $SIZE: usize = 1;
                $value
            }
            2 => {
                const $SIZE: usize = $crate::step::cpu::history::at_most(2);
                $value
            }
            3 => {
                const $SIZE: usize = $crate::step::cpu::history::at_most(3);
                $value
            }
            _ => {
                const $SIZE: usize = $crate::step::cpu::history::at_most(4);
                $value
            }
        }
    };
}

/// The compilation of a function `<LAW, PLAIN, SIZE>` for the contact law of a state, which is no custom one.
macro_rules! for_law {
    ($function:ident, $state:expr) => {{
        use $crate::state::layout::{HERTZ_MINDLIN, HOOKE_HISTORY, IMPULSE, HOOKE_VISCOUS};
        use $crate::step::cpu::history::{PLAIN_SIZE, is_plain, with_size};
        let size = $state.params.history_size as usize;
        let plain = is_plain($state) && size == PLAIN_SIZE;
        match $state.params.law {
            HOOKE_VISCOUS => $function::<HOOKE_VISCOUS, true, 0>,
            HOOKE_HISTORY if plain => $function::<HOOKE_HISTORY, true, PLAIN_SIZE>,
            HERTZ_MINDLIN if plain => $function::<HERTZ_MINDLIN, true, PLAIN_SIZE>,
            IMPULSE if plain => $function::<IMPULSE, true, PLAIN_SIZE>,
            HOOKE_HISTORY => with_size!(size, SIZE => $function::<HOOKE_HISTORY, false, SIZE>),
            HERTZ_MINDLIN => with_size!(size, SIZE => $function::<HERTZ_MINDLIN, false, SIZE>),
            IMPULSE => with_size!(size, SIZE => $function::<IMPULSE, false, SIZE>),
            law => panic!("the CPU engine has no contact law {law}"),
        }
    }};
}

pub(super) use {for_law, with_size};

/// Elements of a contact's history where no pair has terms beyond spring, dashpot and friction.
pub(super) const PLAIN_SIZE: usize = History::PLAIN_VALUES.div_ceil(4);

/// Whether no pair has terms beyond spring, dashpot and friction.
pub(super) fn is_plain(state: &State) -> bool {
    state.pairs.iter().all(|pair| *pair == pair.plain())
}

/// Numbers of a contact's history that rows of contacts have: what no term uses is always zero.
pub(super) fn columns_of(state: &State) -> usize {
    columns(state.params.history_size as usize, is_plain(state))
}

/// Numbers that rows have of a history of `size` elements.
#[inline(always)]
pub(super) const fn columns(size: usize, plain: bool) -> usize {
    if plain && size == PLAIN_SIZE {
        History::PLAIN_VALUES
    } else {
        4 * size
    }
}
