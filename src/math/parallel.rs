//! Work on several threads, by rayon under the feature `parallel`; without it, the same calls work through their
//! items one after the other, and no thread is started.

/// Imports of a file that uses `par_iter` and the like.
pub mod prelude {
    #[cfg(not(feature = "parallel"))]
    pub use super::sequential::{IntoParallelIterator, ParallelSlice};
    #[cfg(feature = "parallel")]
    pub use rayon::prelude::*;
}

/// The threads of an engine.
#[derive(Debug)]
pub struct Threads {
    #[cfg(feature = "parallel")]
    pool: rayon::ThreadPool,
}

#[cfg(feature = "parallel")]
impl Threads {
    /// Starts `count` threads, as many as the machine has cores if `None`.
    ///
    /// # Errors
    /// What the system answered.
    pub fn start(count: Option<usize>) -> Result<Threads, String> {
        rayon::ThreadPoolBuilder::new()
            .num_threads(count.unwrap_or(0))
            .build()
            .map(|pool| Threads { pool })
            .map_err(|error| error.to_string())
    }

    /// Number of threads.
    pub fn count(&self) -> usize {
        self.pool.current_num_threads()
    }

    /// Does `work` on these threads.
    pub fn run<T: Send>(&self, work: impl FnOnce() -> T + Send) -> T {
        self.pool.install(work)
    }
}

#[cfg(not(feature = "parallel"))]
impl Threads {
    /// The thread that calls; it cannot be more.
    ///
    /// # Errors
    /// If `count` asks for more.
    pub fn start(count: Option<usize>) -> Result<Threads, String> {
        match count {
            None | Some(0 | 1) => Ok(Threads {}),
            Some(_) => {
                Err("this build of Rockfall has one; build it with the feature `parallel`".into())
            }
        }
    }

    /// Number of threads: 1.
    pub fn count(&self) -> usize {
        1
    }

    /// Does `work`.
    pub fn run<T>(&self, work: impl FnOnce() -> T) -> T {
        work()
    }
}

/// Number of threads that share the work of the caller.
pub fn thread_count() -> usize {
    #[cfg(feature = "parallel")]
    return rayon::current_num_threads();
    #[cfg(not(feature = "parallel"))]
    return 1;
}

/// Sequential stand-ins for what is used of rayon. They compile in any build, so that tests compare the two.
#[cfg(any(test, not(feature = "parallel")))]
#[allow(missing_docs, reason = "rayon documents the methods of these names")]
mod sequential {
    use std::cmp::Ordering;
    use std::iter::{Enumerate, Filter, FlatMap, Map, Zip};
    use std::slice::{Chunks, ChunksMut, Iter, IterMut};

    /// An iterator with the methods of rayon's.
    pub struct Sequence<I>(I);

    impl<I: Iterator> IntoIterator for Sequence<I> {
        type Item = I::Item;
        type IntoIter = I;

        fn into_iter(self) -> I {
            self.0
        }
    }

    /// Things that can be worked through.
    pub trait IntoParallelIterator: IntoIterator + Sized {
        /// Its items.
        fn into_par_iter(self) -> Sequence<Self::IntoIter> {
            Sequence(self.into_iter())
        }
    }

    impl<T: IntoIterator> IntoParallelIterator for T {}

    /// A slice that can be worked through.
    pub trait ParallelSlice<T> {
        fn par_iter(&self) -> Sequence<Iter<'_, T>>;
        fn par_iter_mut(&mut self) -> Sequence<IterMut<'_, T>>;
        fn par_chunks(&self, size: usize) -> Sequence<Chunks<'_, T>>;
        fn par_chunks_mut(&mut self, size: usize) -> Sequence<ChunksMut<'_, T>>;
        fn par_sort_by(&mut self, compare: impl FnMut(&T, &T) -> Ordering);
    }

    impl<T> ParallelSlice<T> for [T] {
        fn par_iter(&self) -> Sequence<Iter<'_, T>> {
            Sequence(self.iter())
        }

        fn par_iter_mut(&mut self) -> Sequence<IterMut<'_, T>> {
            Sequence(self.iter_mut())
        }

        fn par_chunks(&self, size: usize) -> Sequence<Chunks<'_, T>> {
            Sequence(self.chunks(size))
        }

        fn par_chunks_mut(&mut self, size: usize) -> Sequence<ChunksMut<'_, T>> {
            Sequence(self.chunks_mut(size))
        }

        fn par_sort_by(&mut self, compare: impl FnMut(&T, &T) -> Ordering) {
            self.sort_by(compare);
        }
    }

    impl<I: Iterator> Sequence<I> {
        pub fn with_min_len(self, _: usize) -> Self {
            self
        }

        pub fn enumerate(self) -> Sequence<Enumerate<I>> {
            Sequence(self.0.enumerate())
        }

        pub fn zip<J: IntoIterator>(self, other: J) -> Sequence<Zip<I, J::IntoIter>> {
            Sequence(self.0.zip(other))
        }

        pub fn filter<F: FnMut(&I::Item) -> bool>(self, keep: F) -> Sequence<Filter<I, F>> {
            Sequence(self.0.filter(keep))
        }

        pub fn map<T, F: FnMut(I::Item) -> T>(self, change: F) -> Sequence<Map<I, F>> {
            Sequence(self.0.map(change))
        }

        pub fn map_init<R, T>(
            self,
            init: impl FnOnce() -> R,
            mut change: impl FnMut(&mut R, I::Item) -> T,
        ) -> Sequence<impl Iterator<Item = T>> {
            let mut room = init();
            self.map(move |item| change(&mut room, item))
        }

        pub fn flat_map_iter<T: IntoIterator, F: FnMut(I::Item) -> T>(
            self,
            change: F,
        ) -> Sequence<FlatMap<I, T, F>> {
            Sequence(self.0.flat_map(change))
        }

        pub fn for_each(self, act: impl FnMut(I::Item)) {
            self.0.for_each(act);
        }

        pub fn reduce(
            self,
            nothing: impl FnOnce() -> I::Item,
            and: impl FnMut(I::Item, I::Item) -> I::Item,
        ) -> I::Item {
            self.0.fold(nothing(), and)
        }

        pub fn collect<C: FromIterator<I::Item>>(self) -> C {
            self.0.collect()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Uses each method once. The two bodies are the same text, with the traits of the one or the other.
    macro_rules! worked_through {
        ($prelude:path) => {{
            use $prelude::*;
            let mut squares: Vec<usize> = (0..1000_usize)
                .into_par_iter()
                .with_min_len(16)
                .map(|k| k * k % 101)
                .filter(|square| square % 3 != 0)
                .flat_map_iter(|square| [square, square + 1])
                .collect();
            squares.par_sort_by(|a, b| (a % 7).cmp(&(b % 7)));
            let (mut sums, length) = (vec![0; squares.len()], squares.len());
            sums.par_chunks_mut(10)
                .zip(squares.par_chunks(10))
                .enumerate()
                .for_each(|(place, (sums, squares))| {
                    let pairs = sums.iter_mut().zip(squares);
                    pairs.for_each(|(sum, square)| *sum = place + square);
                });
            sums.par_iter_mut().for_each(|sum| *sum += 1);
            let most = sums
                .par_iter()
                .map_init(
                    || 0_usize,
                    |room, sum| {
                        *room = *sum;
                        *room
                    },
                )
                .reduce(|| 0, usize::max);
            (squares, sums, length, most)
        }};
    }

    #[test]
    #[cfg(feature = "parallel")]
    fn one_after_the_other_is_as_at_once() {
        let at_once = worked_through!(rayon::prelude);
        assert_eq!(worked_through!(super::sequential), at_once);
        assert!(at_once.3 > 100 && at_once.2 > 1000, "{at_once:?}");
    }

    #[test]
    #[cfg(not(feature = "parallel"))]
    fn without_threads_there_is_one() {
        let found = worked_through!(super::sequential);
        assert!(found.3 > 100 && found.2 > 1000, "{found:?}");
        assert_eq!(thread_count(), 1);
        let threads = Threads::start(None).unwrap();
        assert_eq!(threads.run(|| threads.count()), 1);
        let sentence = Threads::start(Some(4)).unwrap_err();
        assert!(sentence.contains("`parallel`"), "{sentence}");
    }

    #[test]
    #[cfg(feature = "parallel")]
    fn as_many_threads_as_asked_for() {
        let threads = Threads::start(Some(3)).unwrap();
        assert_eq!((threads.count(), threads.run(thread_count)), (3, 3));
    }
}
