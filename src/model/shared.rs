//! Lists that copies of a model share.

use std::fmt;
use std::ops::{Deref, DerefMut};
use std::slice::{Iter, IterMut};
use std::sync::{Arc, OnceLock};

/// A list whose copies share memory until one of them changes; it dereferences to a [`Vec`].
///
/// So a scene, its simulation and the folder of its run hold the same millions of bodies once. A list that follows from a few numbers
/// is made anew, element by element, for whoever [visits](Shared::visit) it; it takes memory only from when somebody
/// asks for all of it.
#[derive(Clone)]
pub struct Shared<T>(Arc<Kept<T>>);

/// A list, or what makes it.
enum Kept<T> {
    List(Vec<T>),
    #[cfg_attr(
        not(any(test, feature = "scene")),
        expect(dead_code, reason = "only scenes have it")
    )]
    Made {
        count: usize,
        make: Box<dyn Make<T>>,
        list: OnceLock<Vec<T>>,
    },
}

/// A maker of the elements of a list, each time the same ones.
pub(crate) trait Make<T>: Send + Sync {
    /// Calls a function with each element, in order.
    fn each(&self, act: &mut dyn FnMut(&T));

    /// An element of each kind: all others are like one of them but for where they are and how they move.
    fn kinds(&self) -> &[T];
}

impl<T> Shared<T> {
    /// A list of `count` elements that are made when they are wanted.
    #[cfg(any(test, feature = "scene"))]
    pub(crate) fn made(count: usize, make: impl Make<T> + 'static) -> Shared<T> {
        Shared(Arc::new(Kept::Made {
            count,
            make: Box::new(make),
            list: OnceLock::new(),
        }))
    }

    /// Whether the elements are in memory.
    #[doc(hidden)]
    pub fn is_listed(&self) -> bool {
        match &*self.0 {
            Kept::List(_) => true,
            Kept::Made { list, .. } => list.get().is_some(),
        }
    }

    /// Number of elements.
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

    /// Calls a function with each element, in order, and takes no memory for them.
    pub fn visit(&self, mut act: impl FnMut(&T)) {
        match &*self.0 {
            Kept::List(list) => list.iter().for_each(act),
            Kept::Made { make, list, .. } => match list.get() {
                Some(list) => list.iter().for_each(act),
                None => make.each(&mut act),
            },
        }
    }
}

impl<T> Shared<T> {
    /// Calls a function with one element of each kind at least; of a list in memory, with each element.
    pub(crate) fn visit_kinds(&self, act: impl FnMut(&T)) {
        match &*self.0 {
            Kept::List(list) => list.iter().for_each(act),
            Kept::Made { make, .. } => make.kinds().iter().for_each(act),
        }
    }
}

impl<T: fmt::Debug + Clone> fmt::Debug for Shared<T> {
    fn fmt(&self, formatter: &mut fmt::Formatter) -> fmt::Result {
        formatter.debug_tuple("Shared").field(&**self).finish()
    }
}

impl<T: PartialEq + Clone> PartialEq for Shared<T> {
    fn eq(&self, other: &Shared<T>) -> bool {
        Arc::ptr_eq(&self.0, &other.0) || **self == **other
    }
}

impl<T> Default for Shared<T> {
    fn default() -> Self {
        Vec::new().into()
    }
}

impl<T> From<Vec<T>> for Shared<T> {
    fn from(list: Vec<T>) -> Self {
        Shared(Arc::new(Kept::List(list)))
    }
}

impl<T> FromIterator<T> for Shared<T> {
    fn from_iter<I: IntoIterator<Item = T>>(elements: I) -> Self {
        Vec::from_iter(elements).into()
    }
}

impl<T: Clone> Deref for Shared<T> {
    type Target = Vec<T>;

    fn deref(&self) -> &Vec<T> {
        match &*self.0 {
            Kept::List(list) => list,
            Kept::Made { count, make, list } => list.get_or_init(|| {
                let mut list = Vec::with_capacity(*count);
                make.each(&mut |element| list.push(element.clone()));
                list
            }),
        }
    }
}

/// A change to a list that is shared copies it first.
impl<T: Clone> DerefMut for Shared<T> {
    fn deref_mut(&mut self) -> &mut Vec<T> {
        if Arc::get_mut(&mut self.0).is_none() || matches!(*self.0, Kept::Made { .. }) {
            *self = Vec::clone(self).into();
        }
        match Arc::get_mut(&mut self.0) {
            Some(Kept::List(list)) => list,
            _ => unreachable!("nobody else has the list"),
        }
    }
}

impl<'a, T: Clone> IntoIterator for &'a Shared<T> {
    type Item = &'a T;
    type IntoIter = Iter<'a, T>;

    fn into_iter(self) -> Iter<'a, T> {
        self.iter()
    }
}

impl<'a, T: Clone> IntoIterator for &'a mut Shared<T> {
    type Item = &'a mut T;
    type IntoIter = IterMut<'a, T>;

    fn into_iter(self) -> IterMut<'a, T> {
        self.iter_mut()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn copies_have_the_same_memory_until_one_changes() {
        let first: Shared<u32> = (0..4).collect();
        let mut second = first.clone();
        assert!(std::ptr::eq(&*first, &*second));
        second[2] = 7;
        assert_eq!((first[2], second[2]), (2, 7));
    }

    /// Squares of the first numbers.
    struct Squares(u32);

    const KINDS: [u32; 2] = [4, 9];

    impl Make<u32> for Squares {
        fn each(&self, act: &mut dyn FnMut(&u32)) {
            (0..self.0).for_each(|k| act(&(k * k)));
        }

        fn kinds(&self) -> &[u32] {
            &KINDS
        }
    }

    #[test]
    fn elements_that_are_made_take_memory_for_who_asks_for_all() {
        let made = Shared::made(5, Squares(5));
        let mut sum = 0;
        made.visit(|square| sum += square);
        assert_eq!((sum, made.len(), made.is_empty()), (30, 5, false));
        made.visit_kinds(|square| sum += square);
        assert_eq!(sum, 43);
        assert!(!made.is_listed());
        let mut other = made.clone();
        assert!(other == made && !made.is_listed());
        other[1] = 7;
        assert_eq!(*made, [0, 1, 4, 9, 16]);
        assert_eq!(*other, [0, 7, 4, 9, 16]);
        assert!(made.is_listed());
        assert_eq!(made, [0, 1, 4, 9, 16].into_iter().collect());
    }
}
