//! Quantities that bodies carry besides their motion, in one table.

use super::{Model, heat};

/// A quantity that each body carries.
#[derive(Clone, Copy, Debug)]
pub struct Quantity {
    /// Name in scenes and in results.
    pub name: &'static str,
    /// Unit.
    pub unit: &'static str,
    /// Value of a body at the start if the scene gives none.
    pub at_start: f64,
    /// Whether values must be greater than 0.
    pub is_positive: bool,
    /// Whether the bodies of a model carry the quantity.
    pub is_on: fn(&Model) -> bool,
    /// Words for the reason why the bodies of a scene do not carry it.
    pub why_off: &'static str,
}

macro_rules! quantities {
    ($($(#[$doc:meta])* $name:ident { $($field:tt)* })*) => {
        /// The quantities of a body; `Quantities<Option<f64>>` if some of them may not be given or known.
        #[derive(Clone, Copy, Debug, PartialEq)]
        pub struct Quantities<T = f64> {
            $($(#[$doc])* pub $name: T,)*
        }

        /// All quantities, in the order of the fields of [`Quantities`].
        pub const QUANTITIES: [Quantity; [$(stringify!($name)),*].len()] =
            [$(Quantity { name: stringify!($name), $($field)* }),*];

        impl<T> Quantities<T> {
            /// The quantities in the order of [`QUANTITIES`].
            pub fn array(self) -> [T; QUANTITIES.len()] {
                [$(self.$name),*]
            }
        }

        impl<T> From<[T; QUANTITIES.len()]> for Quantities<T> {
            fn from([$($name),*]: [T; QUANTITIES.len()]) -> Quantities<T> {
                Quantities { $($name),* }
            }
        }
    };
}

quantities! {
    /// Temperature, K.
    temperature {
        unit: "K",
        at_start: heat::ROOM,
        is_positive: true,
        is_on: |model| model.heat.is_some(),
        why_off: "no material has a \"conductivity\"",
    }
}

impl Default for Quantities {
    fn default() -> Quantities {
        QUANTITIES.map(|quantity| quantity.at_start).into()
    }
}

impl Default for Quantities<Option<f64>> {
    fn default() -> Quantities<Option<f64>> {
        [None; QUANTITIES.len()].into()
    }
}

impl Quantities {
    /// The quantities that differ from the default; `None` for the others.
    pub fn unless_default(self) -> Quantities<Option<f64>> {
        let mut all = [None; QUANTITIES.len()];
        for ((own, number), quantity) in all.iter_mut().zip(self.array()).zip(QUANTITIES) {
            *own = (number != quantity.at_start).then_some(number);
        }
        all.into()
    }
}

impl Quantities<Option<f64>> {
    /// Replaces missing quantities by the default.
    pub fn or_default(self) -> Quantities {
        let mut all = Quantities::default().array();
        for (own, given) in all.iter_mut().zip(self.array()) {
            *own = given.unwrap_or(*own);
        }
        all.into()
    }
}
