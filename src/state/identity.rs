//! Identities of the bodies of a state.

use std::collections::HashMap;
use std::ops::{Index, Range};

use super::population::take_out;
use crate::model::ModelBody;

/// Identity of a body.
#[doc(hidden)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Identity {
    /// The number by which it is known: that of its place at the start, and further ones for bodies that
    /// came later. No two bodies of a run have the same.
    pub id: u64,
    /// Index of its shape in [`Model::shapes`](crate::model::Model::shapes).
    pub shape: usize,
    /// Whether it is fixed.
    pub fixed: bool,
    /// Index of its group in [`Forces::groups`](crate::model::forces::Forces::groups).
    pub group: usize,
}

impl Identity {
    /// Identity of a body of the model.
    pub(crate) fn of(id: u64, body: &ModelBody) -> Identity {
        Identity {
            id,
            shape: body.shape,
            fixed: body.fixed,
            group: body.group,
        }
    }
}

/// Identity of a body, but for its id.
#[doc(hidden)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Traits {
    /// See [`Identity::shape`].
    pub shape: usize,
    /// See [`Identity::fixed`].
    pub fixed: bool,
    /// See [`Identity::group`].
    pub group: usize,
}

/// Identities of bodies, with ascending ids.
///
/// They take no memory as long as bodies that are all alike are numbered one after the other, and 4 bytes a body where they are not all
/// alike; ids of which some are left out take 8.
#[doc(hidden)]
#[derive(Clone, Debug, Default)]
pub struct Identities {
    count: usize,
    /// The first id.
    first: u64,
    /// All ids; none if each follows from the one before.
    ids: Vec<u64>,
    /// All traits that bodies have had, and the place of each.
    traits: Vec<Traits>,
    places: HashMap<Traits, u32>,
    /// Which of these each body has; none if all have the first.
    traits_of: Vec<u32>,
}

impl Identities {
    /// Returns the number of bodies.
    pub fn len(&self) -> usize {
        self.count
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// The id of a body.
    ///
    /// # Panics
    /// If there is no such body.
    pub fn id(&self, body: usize) -> u64 {
        assert!(body < self.count, "there are {} bodies", self.count);
        self.ids
            .get(body)
            .copied()
            .unwrap_or(self.first + body as u64)
    }

    /// The identity of a body.
    ///
    /// # Panics
    /// If there is no such body.
    pub fn at(&self, body: usize) -> Identity {
        let Traits {
            shape,
            fixed,
            group,
        } = self[body];
        Identity {
            id: self.id(body),
            shape,
            fixed,
            group,
        }
    }

    /// The identity of the last body.
    pub fn last(&self) -> Option<Identity> {
        self.count.checked_sub(1).map(|last| self.at(last))
    }

    /// The place of the body with an id, if there is one.
    pub fn find(&self, id: u64) -> Option<usize> {
        if !self.ids.is_empty() {
            return self.ids.binary_search(&id).ok();
        }
        let place = id.checked_sub(self.first)?;
        (place < self.count as u64).then_some(place as usize)
    }

    /// All of them, in order.
    pub fn iter(&self) -> Iter<'_> {
        Iter {
            all: self,
            left: 0..self.count,
        }
    }

    /// Adds one, whose id is larger than all others.
    pub(crate) fn push(&mut self, own: Identity) {
        if self.count == 0 {
            self.first = own.id;
        }
        if !self.ids.is_empty() || own.id != self.first + self.count as u64 {
            self.list_ids();
            self.ids.push(own.id);
        }
        let place = self.place_of(Traits {
            shape: own.shape,
            fixed: own.fixed,
            group: own.group,
        });
        if !self.traits_of.is_empty() || place > 0 {
            self.list_traits();
            self.traits_of.push(place);
        }
        self.count += 1;
    }

    /// Changes one but for its id.
    pub(crate) fn change(&mut self, body: usize, change: impl FnOnce(&mut Traits)) {
        let mut own = self[body];
        change(&mut own);
        let place = self.place_of(own);
        self.list_traits();
        self.traits_of[body] = place;
    }

    /// Some of them, one after the other.
    pub(crate) fn part(&self, bodies: Range<usize>) -> Identities {
        Identities {
            count: bodies.len(),
            first: self.first + bodies.start as u64,
            ids: self.ids.get(bodies.clone()).unwrap_or(&[]).to_vec(),
            traits: self.traits.clone(),
            places: self.places.clone(),
            traits_of: self.traits_of.get(bodies).unwrap_or(&[]).to_vec(),
        }
    }

    /// Takes ranges of them out, in increasing order.
    pub(super) fn take_out(&mut self, leaving: &[Range<usize>]) {
        // The part of a rank has none: rank 0 knows who its bodies are.
        if self.count == 0 {
            return;
        }
        let gone: usize = leaving.iter().map(Range::len).sum();
        let is_end = leaving.len() == 1 && leaving[0].end == self.count;
        if gone > 0 && !is_end {
            self.list_ids();
        }
        if !self.ids.is_empty() {
            take_out(&mut self.ids, leaving);
        }
        if !self.traits_of.is_empty() {
            take_out(&mut self.traits_of, leaving);
        }
        self.count -= gone;
    }

    /// The place of some traits among all.
    fn place_of(&mut self, own: Traits) -> u32 {
        if self.traits.first() == Some(&own) {
            return 0;
        }
        *self.places.entry(own).or_insert_with(|| {
            self.traits.push(own);
            self.traits.len() as u32 - 1
        })
    }

    fn list_ids(&mut self) {
        if self.ids.is_empty() {
            self.ids = (self.first..).take(self.count).collect();
        }
    }

    fn list_traits(&mut self) {
        if self.traits_of.is_empty() {
            self.traits_of = vec![0; self.count];
        }
    }
}

impl Index<usize> for Identities {
    type Output = Traits;

    fn index(&self, body: usize) -> &Traits {
        assert!(body < self.count, "there are {} bodies", self.count);
        let place = self.traits_of.get(body).copied().unwrap_or(0);
        &self.traits[place as usize]
    }
}

impl PartialEq for Identities {
    fn eq(&self, other: &Identities) -> bool {
        self.iter().eq(other)
    }
}

impl<'a> IntoIterator for &'a Identities {
    type Item = Identity;
    type IntoIter = Iter<'a>;

    fn into_iter(self) -> Iter<'a> {
        self.iter()
    }
}

/// Identities one by one.
#[doc(hidden)]
#[derive(Clone, Debug)]
pub struct Iter<'a> {
    all: &'a Identities,
    left: Range<usize>,
}

impl Iterator for Iter<'_> {
    type Item = Identity;

    fn next(&mut self) -> Option<Identity> {
        self.left.next().map(|body| self.all.at(body))
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        self.left.size_hint()
    }
}

impl ExactSizeIterator for Iter<'_> {}

#[cfg(test)]
mod tests {
    use std::slice::from_ref;

    use super::*;

    /// Holds identities to a list after each of some changes.
    #[test]
    fn they_are_as_in_a_list() {
        let of = |id, shape, fixed| Identity {
            id,
            shape,
            fixed,
            group: shape / 2,
        };
        for (shapes, skips) in [(1, false), (1, true), (3, false), (3, true)] {
            let id = |k: u64| if skips && k >= 5 { k + 4 } else { k };
            let mut list: Vec<Identity> = (0..20)
                .map(|k| of(id(k), k as usize % shapes, shapes == 3 && k == 7))
                .collect();
            let mut all = Identities::default();
            list.iter().for_each(|own| all.push(*own));
            let is_as = |all: &Identities, list: &[Identity]| {
                assert!(all.iter().eq(list.iter().copied()), "{all:?}");
                assert_eq!((all.len(), all.last()), (list.len(), list.last().copied()));
                for id in 0..30 {
                    let place = list.iter().position(|own| own.id == id);
                    assert_eq!(all.find(id), place, "{id} in {all:?}");
                }
            };
            is_as(&all, &list);
            assert_eq!(all.ids.is_empty(), !skips);
            assert_eq!(all.traits_of.is_empty(), shapes == 1);
            is_as(&all.part(3..9), &list[3..9]);
            // From the end, then from the middle.
            all.take_out(from_ref(&(17..20)));
            list.truncate(17);
            is_as(&all, &list);
            assert_eq!(all.ids.is_empty(), !skips);
            all.take_out(&[0..2, 6..7]);
            list.remove(6);
            list.drain(..2);
            is_as(&all, &list);
            is_as(&all.part(5..14), &list[5..14]);
            let next = of(40, 1, true);
            all.push(next);
            list.push(next);
            all.change(3, |own| own.fixed = true);
            list[3].fixed = true;
            is_as(&all, &list);
            assert_ne!(all, all.part(1..5));
            all.take_out(from_ref(&(0..15)));
            is_as(&all, &[]);
        }
    }

    #[test]
    fn bodies_after_all_are_gone_have_ids_of_their_own() {
        let mut all = Identities::default();
        let own = |id| Identity {
            id,
            ..Identity::default()
        };
        (0..4).for_each(|id| all.push(own(id)));
        all.take_out(from_ref(&(0..4)));
        all.push(own(7));
        all.push(own(8));
        assert_eq!(all.iter().collect::<Vec<_>>(), [own(7), own(8)]);
    }
}
