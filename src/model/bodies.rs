//! Bodies at the start, in a list that copies of a model share.

use std::fmt;
use std::ops::{Deref, DerefMut, Index};
use std::slice::{Iter, IterMut};
use std::sync::{Arc, OnceLock};

use bytemuck::{Pod, pod_collect_to_vec};

use super::packing::made::MadeFill;
use super::{ContactHistory, ModelBody};

/// Bodies at the start, whose copies share memory until one of them changes; it dereferences to a [`Vec`].
///
/// So a scene, its simulation and the folder of its run hold the same millions of bodies once. Those of large fills
/// are made anew, one by one, for whoever [visits](Bodies::visit) them; they take memory only from when somebody
/// asks for all bodies.
#[derive(Clone)]
pub struct Bodies(Arc<Kept>);

/// A list, or what makes it.
enum Kept {
    List(Vec<ModelBody>),
    #[cfg_attr(
        not(any(test, feature = "scene")),
        expect(dead_code, reason = "only scenes have it")
    )]
    Made {
        pieces: Vec<Piece>,
        count: usize,
        list: OnceLock<Vec<ModelBody>>,
    },
}

/// Bodies that follow each other.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Piece<List = Vec<ModelBody>, Fill = MadeFill, All = Shared> {
    List(List),
    /// A fill whose bodies are made when they are wanted.
    Fill(Fill),
    /// Bodies of which each process of a cluster has a share.
    Shared(All),
}

/// Bodies of which each of several processes has a share; those of the first process come first.
#[derive(Clone)]
pub(crate) struct Shared {
    /// Number of bodies and spheres of each share.
    pub counts: Vec<[u32; 2]>,
    /// One of each kind: the bodies are like these but for where they are, how they move and what they carry.
    pub kinds: Vec<ModelBody>,
    /// The contacts that they bring from another run.
    pub contacts: Option<SharedContacts>,
    pub holder: Arc<dyn Holder>,
    pub _others: Others,
}

/// Witness that there may be other processes. A page never has one, so the compiler leaves out all code for them: there is no room for it.
#[derive(Clone, Copy, Debug)]
#[cfg_attr(
    not(all(feature = "cpu", feature = "gpu")),
    expect(dead_code, reason = "only a cluster has several processes")
)]
pub(crate) enum Others {
    #[cfg(not(target_family = "wasm"))]
    MayBe,
}

/// Contact histories that shared bodies bring from another run.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SharedContacts {
    /// Number of elements for each entry.
    pub size: u32,
    /// Number of entries of all processes.
    pub count: u32,
}

/// Bodies in a list that are found by their indices in a model.
#[derive(Clone, Copy)]
pub(crate) struct Listed<'a> {
    /// Number of bodies of the model before the list.
    first: usize,
    pub list: &'a [ModelBody],
}

impl Index<usize> for Listed<'_> {
    type Output = ModelBody;

    fn index(&self, body: usize) -> &ModelBody {
        &self.list[body - self.first]
    }
}

/// Bodies that a process has.
#[derive(Clone)]
pub(crate) struct Share {
    /// A list, or a part of a fill.
    pub bodies: Piece,
    /// The contacts that they bring. The `ends` count from the first entry of all processes on.
    pub contacts: Option<ContactHistory>,
}

/// Some bodies of another run.
pub(crate) struct Brought {
    pub bodies: Vec<ModelBody>,
    /// Number of their spheres.
    pub spheres: u32,
    /// Contacts that they bring, as in a [`Share`].
    pub contacts: Option<ContactHistory>,
}

/// A list of a [`ContactHistory`].
#[derive(Clone, Copy, Debug)]
pub(crate) enum ContactList {
    Ends,
    Entries,
    Elements,
}

impl ContactList {
    pub const ALL: [ContactList; 3] = [
        ContactList::Ends,
        ContactList::Entries,
        ContactList::Elements,
    ];
}

/// Shows bodies to a function, one after the other.
pub(crate) type Visit<'a> = &'a dyn Fn(&mut dyn FnMut(&ModelBody));

/// Process that has a share, and can ask the others for theirs.
pub(crate) trait Holder: Send + Sync {
    /// Number of these shares among all that the processes have.
    fn number(&self) -> u64;

    /// The share of this process.
    fn own(&self) -> &Share;

    /// Calls a function with each body of all processes, in order.
    fn visit(&self, act: &mut dyn FnMut(&ModelBody));

    /// Calls a function with a list of the contacts of all processes, as bytes: with one part after the other.
    fn visit_contacts(&self, list: ContactList, act: &mut dyn FnMut(&[u8]));
}

impl Share {
    /// Bodies without contacts.
    #[cfg(all(feature = "cpu", feature = "gpu"))]
    pub fn of(bodies: Piece) -> Share {
        Share {
            bodies,
            contacts: None,
        }
    }
}

impl Shared {
    /// Number of bodies and spheres of all shares.
    pub fn count(&self) -> [usize; 2] {
        [0, 1].map(|kind| self.counts.iter().map(|own| own[kind] as usize).sum())
    }

    /// The contacts of all processes.
    pub fn history(&self) -> Option<ContactHistory> {
        fn all<T: Pod>(holder: &dyn Holder, list: ContactList) -> Vec<T> {
            let mut all = Vec::new();
            holder.visit_contacts(list, &mut |some| {
                all.extend(pod_collect_to_vec::<u8, T>(some))
            });
            all
        }
        let own = self.contacts?;
        Some(ContactHistory {
            size: own.size,
            ends: all(&*self.holder, ContactList::Ends),
            entries: all(&*self.holder, ContactList::Entries),
            elements: all(&*self.holder, ContactList::Elements),
        })
    }
}

impl fmt::Debug for Shared {
    fn fmt(&self, formatter: &mut fmt::Formatter) -> fmt::Result {
        let shared = &mut formatter.debug_struct("Shared");
        shared.field("counts", &self.counts).finish_non_exhaustive()
    }
}

impl PartialEq for Shared {
    fn eq(&self, other: &Shared) -> bool {
        self.holder.number() == other.holder.number()
    }
}

impl Piece {
    pub fn len(&self) -> usize {
        match self {
            Piece::List(list) => list.len(),
            Piece::Fill(fill) => fill.len(),
            Piece::Shared(shared) => shared.count()[0],
        }
    }

    pub fn visit(&self, act: &mut dyn FnMut(&ModelBody)) {
        match self {
            Piece::List(list) => list.iter().for_each(act),
            Piece::Fill(fill) => fill.each(act),
            Piece::Shared(shared) => shared.holder.visit(act),
        }
    }
}

impl Bodies {
    /// Bodies of several pieces; those of fills are made when they are wanted.
    #[cfg(any(test, feature = "scene"))]
    pub(crate) fn made(pieces: Vec<Piece>) -> Bodies {
        Bodies(Arc::new(Kept::Made {
            count: pieces.iter().map(Piece::len).sum(),
            pieces,
            list: OnceLock::new(),
        }))
    }

    /// Whether all bodies are in memory.
    #[doc(hidden)]
    pub fn is_listed(&self) -> bool {
        match &*self.0 {
            Kept::List(_) => true,
            Kept::Made { list, .. } => list.get().is_some(),
        }
    }

    /// Whether several processes have the bodies, so that a visit takes messages between them.
    #[cfg(all(feature = "cpu", feature = "gpu"))]
    pub(crate) fn are_shared(&self) -> bool {
        let pieces = self.pieces();
        let mut pieces = pieces.iter();
        !self.is_listed() && pieces.any(|piece| matches!(piece, Piece::Shared(_)))
    }

    /// The bodies that bring contacts from another run, if several processes have them.
    #[inline]
    pub(crate) fn contacts(&self) -> Option<(&Shared, SharedContacts)> {
        let Kept::Made { pieces, .. } = &*self.0 else {
            return None;
        };
        pieces.iter().find_map(|piece| match piece {
            Piece::Shared(shared) => Some((shared, shared.contacts?)),
            _ => None,
        })
    }

    /// Number of bodies.
    pub fn len(&self) -> usize {
        match &*self.0 {
            Kept::List(list) => list.len(),
            Kept::Made { count, .. } => *count,
        }
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Calls a function with each body, in order, and takes no memory for those of fills.
    pub fn visit(&self, mut act: impl FnMut(&ModelBody)) {
        match &*self.0 {
            Kept::List(list) => list.iter().for_each(act),
            Kept::Made { pieces, list, .. } => match list.get() {
                Some(list) => list.iter().for_each(act),
                None => pieces.iter().for_each(|piece| piece.visit(&mut act)),
            },
        }
    }

    /// Calls a function with each body that is in memory, and with one of each kind of the others: these are
    /// like it but for where they are and how they move.
    pub(crate) fn visit_kinds(&self, mut act: impl FnMut(&ModelBody)) {
        for piece in self.pieces() {
            match piece {
                Piece::List(list) => list.iter().for_each(&mut act),
                Piece::Fill(fill) => fill.kinds().for_each(|body| act(&body)),
                Piece::Shared(shared) => shared.kinds.iter().for_each(&mut act),
            }
        }
    }

    /// Bodies before the first of a fill that are in memory; all that have names are among them.
    pub(crate) fn listed(&self) -> Listed<'_> {
        if self.is_listed() {
            return Listed {
                first: 0,
                list: self,
            };
        }
        let mut first = 0;
        for piece in self.pieces() {
            match piece {
                Piece::List(list) => return Listed { first, list },
                Piece::Shared(shared) => first += shared.count()[0],
                Piece::Fill(_) => break,
            }
        }
        Listed { first, list: &[] }
    }

    /// Its pieces, in order.
    pub(crate) fn pieces(&self) -> Vec<Piece<&[ModelBody], &MadeFill, &Shared>> {
        match &*self.0 {
            Kept::List(list) => vec![Piece::List(list)],
            Kept::Made { pieces, .. } => {
                let pieces = pieces.iter().map(|piece| match piece {
                    Piece::List(list) => Piece::List(&list[..]),
                    Piece::Fill(fill) => Piece::Fill(fill),
                    Piece::Shared(shared) => Piece::Shared(shared),
                });
                pieces.collect()
            }
        }
    }
}

impl fmt::Debug for Bodies {
    fn fmt(&self, formatter: &mut fmt::Formatter) -> fmt::Result {
        formatter.debug_tuple("Bodies").field(&**self).finish()
    }
}

impl PartialEq for Bodies {
    fn eq(&self, other: &Bodies) -> bool {
        Arc::ptr_eq(&self.0, &other.0) || **self == **other
    }
}

impl Default for Bodies {
    fn default() -> Self {
        Vec::new().into()
    }
}

impl From<Vec<ModelBody>> for Bodies {
    fn from(list: Vec<ModelBody>) -> Self {
        Bodies(Arc::new(Kept::List(list)))
    }
}

impl FromIterator<ModelBody> for Bodies {
    fn from_iter<I: IntoIterator<Item = ModelBody>>(bodies: I) -> Self {
        Vec::from_iter(bodies).into()
    }
}

impl Deref for Bodies {
    type Target = Vec<ModelBody>;

    fn deref(&self) -> &Vec<ModelBody> {
        match &*self.0 {
            Kept::List(list) => list,
            Kept::Made {
                count,
                pieces,
                list,
            } => list.get_or_init(|| {
                let mut list = Vec::with_capacity(*count);
                for piece in pieces {
                    piece.visit(&mut |body| list.push(*body));
                }
                list
            }),
        }
    }
}

/// A change to a list that is shared copies it first.
impl DerefMut for Bodies {
    fn deref_mut(&mut self) -> &mut Vec<ModelBody> {
        if Arc::get_mut(&mut self.0).is_none() || matches!(*self.0, Kept::Made { .. }) {
            *self = Vec::clone(self).into();
        }
        match Arc::get_mut(&mut self.0) {
            Some(Kept::List(list)) => list,
            _ => unreachable!("nobody else has the list"),
        }
    }
}

impl<'a> IntoIterator for &'a Bodies {
    type Item = &'a ModelBody;
    type IntoIter = Iter<'a, ModelBody>;

    fn into_iter(self) -> Iter<'a, ModelBody> {
        self.iter()
    }
}

impl<'a> IntoIterator for &'a mut Bodies {
    type Item = &'a mut ModelBody;
    type IntoIter = IterMut<'a, ModelBody>;

    fn into_iter(self) -> IterMut<'a, ModelBody> {
        self.iter_mut()
    }
}

#[cfg(test)]
mod tests {
    use glam::DVec3;

    use super::*;
    use crate::model::packing::lattice::{GridSites, Lattice};
    use crate::model::packing::made::{Mixed, Numbers, Sites};
    use crate::model::quantity::Quantities;

    fn body(group: usize) -> ModelBody {
        ModelBody {
            group,
            ..ModelBody::default()
        }
    }

    #[test]
    fn copies_have_the_same_memory_until_one_changes() {
        let first: Bodies = (0..4).map(body).collect();
        let mut second = first.clone();
        assert!(std::ptr::eq(&*first, &*second));
        second[2] = body(7);
        assert_eq!((first[2], second[2]), (body(2), body(7)));
    }

    /// Bodies in a row along x.
    fn row(count: u64) -> MadeFill {
        MadeFill {
            numbers: Numbers {
                count,
                group: 5,
                max: DVec3::X * count as f64,
                quantities: Quantities::default().array(),
                ..Numbers::default()
            },
            mix: vec![Mixed {
                weight: 1.0,
                count,
                ..Mixed::default()
            }],
            sites: Sites::Grid(GridSites {
                lattice: Lattice {
                    first: DVec3::ZERO,
                    pitch: 1.0,
                    counts: [count, 1, 1],
                },
                hulls: vec![[DVec3::ZERO; 2]],
                ..GridSites::default()
            }),
        }
    }

    #[test]
    fn bodies_that_are_made_take_memory_for_who_asks_for_all() {
        let list = vec![body(1), body(2)];
        let made = Bodies::made(vec![Piece::List(list.clone()), Piece::Fill(row(3))]);
        let mut sum = 0.0;
        made.visit(|body| sum += body.position.x + body.group as f64);
        assert_eq!((sum, made.len(), made.is_empty()), (21.0, 5, false));
        let mut kinds = Vec::new();
        made.visit_kinds(|body| kinds.push(*body));
        assert_eq!(kinds, [list[0], list[1], body(5)]);
        assert!(!made.is_listed());
        let mut other = made.clone();
        assert!(other == made && !made.is_listed());
        other[1] = body(7);
        assert_eq!((made[1], other[1], other[4]), (body(2), body(7), made[4]));
        assert_eq!(made[4].position, DVec3::X * 2.0);
        assert!(made.is_listed());
        assert_eq!(made, made.iter().copied().collect());
    }
}
