//! Compilations for the contact law of a scene, and how much contact history they have.

use crate::state::State;
use crate::state::layout::{HOOKE_VISCOUS, History};

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

/// The compilation of a function `<LAW, PLAIN>` for the contact law of a state, which is no custom one.
///
/// With `PLAIN`, no pair has terms beyond spring, dashpot and friction.
macro_rules! for_law {
    ($function:ident, $state:expr) => {{
        use $crate::state::layout::{HERTZ_MINDLIN, HOOKE_HISTORY, HOOKE_VISCOUS, IMPULSE};
        let plain = $crate::step::cpu::history::is_plain($state);
        match $state.params.law {
            HOOKE_VISCOUS => $function::<HOOKE_VISCOUS, true>,
            HOOKE_HISTORY if plain => $function::<HOOKE_HISTORY, true>,
            HERTZ_MINDLIN if plain => $function::<HERTZ_MINDLIN, true>,
            IMPULSE if plain => $function::<IMPULSE, true>,
            HOOKE_HISTORY => $function::<HOOKE_HISTORY, false>,
            HERTZ_MINDLIN => $function::<HERTZ_MINDLIN, false>,
            IMPULSE => $function::<IMPULSE, false>,
            law => panic!("the CPU engine has no contact law {law}"),
        }
    }};
}

pub(super) use {for_law, with_size};

/// Elements of a contact's history where no pair has terms beyond spring, dashpot and friction.
const PLAIN_SIZE: usize = History::PLAIN_VALUES.div_ceil(4);

/// Whether no pair has terms beyond spring, dashpot and friction, and contacts keep no history of any.
pub(super) fn is_plain(state: &State) -> bool {
    let size = state.params.history_size as usize;
    size == PLAIN_SIZE && state.pairs.iter().all(|pair| *pair == pair.plain())
}

/// Numbers of a contact's history that rows of contacts have: what no term uses is always zero.
pub(super) fn columns_of(state: &State) -> usize {
    if is_plain(state) {
        History::PLAIN_VALUES
    } else {
        4 * state.params.history_size as usize
    }
}

/// Numbers of a contact's history that a compilation [`for_law`] reads and writes; those beyond what the state keeps are zero.
#[inline(always)]
pub(super) const fn values<const LAW: u32, const PLAIN: bool>() -> usize {
    if LAW == HOOKE_VISCOUS {
        0
    } else if PLAIN {
        History::PLAIN_VALUES
    } else {
        History::VALUES
    }
}

/// Numbers of a contact's history that the state keeps: a constant where compilations [`for_law`] know it.
#[inline(always)]
pub(super) fn columns<const LAW: u32, const PLAIN: bool>(state: &State) -> usize {
    if PLAIN {
        values::<LAW, PLAIN>()
    } else {
        4 * state.params.history_size as usize
    }
}
