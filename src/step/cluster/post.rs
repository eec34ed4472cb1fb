//! Messages between ranks, counted and timed.

use std::sync::Arc;
use std::time::Duration;

use super::Ranks;
use crate::step::clock::{Clock, Stopwatch};
use crate::step::wall_load::Digits;

/// Counters of the steps of a rank.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Counts {
    pub steps: u64,
    /// Times that lists were built, and of these, times that ranks looked for owners and ghosts.
    pub lists: u64,
    pub handovers: u64,
    pub bytes: u64,
    pub messages: u64,
    /// Sum over the steps.
    pub ghosts: u64,
    /// Time in which it sent, and waited for others.
    pub communication: Duration,
    /// All of its time.
    pub all: Duration,
}

/// The other ranks, and what has been counted.
pub(super) struct Post {
    pub ranks: Arc<dyn Ranks>,
    pub clock: Option<Clock>,
    pub counts: Counts,
    /// Times the steps.
    watch: Stopwatch,
}

impl Post {
    pub fn new(ranks: Arc<dyn Ranks>, clock: Option<Clock>) -> Post {
        Post {
            ranks,
            clock,
            counts: Counts::default(),
            watch: Stopwatch::start(clock),
        }
    }

    /// Begins steps: what was before them does not count.
    pub fn begin(&mut self) {
        self.watch.lap();
    }

    /// Ends a step.
    pub fn end_step(&mut self) {
        self.counts.all += self.watch.lap();
    }

    pub fn rank(&self) -> usize {
        self.ranks.rank()
    }

    pub fn count(&self) -> usize {
        self.ranks.count()
    }

    /// Has the ranks do something, and times that.
    pub fn timed<T>(&mut self, work: impl FnOnce(&dyn Ranks) -> T) -> T {
        let mut watch = Stopwatch::start(self.clock);
        let result = work(&*self.ranks);
        self.counts.communication += watch.lap();
        result
    }

    /// See [`Ranks::maximum`].
    pub fn maximum(&mut self, numbers: &mut [i64]) {
        self.timed(|ranks| ranks.maximum(numbers));
    }

    /// See [`Ranks::sum`].
    pub fn sum(&mut self, numbers: &mut [i64]) {
        self.timed(|ranks| ranks.sum(numbers));
    }

    /// Sums loads on walls over all ranks.
    pub fn sum_loads(&mut self, loads: &mut [Digits]) {
        self.sum(loads.as_flattened_mut());
    }

    /// Counts messages.
    pub fn count_sent(&mut self, sent: &[(usize, &[u8])]) {
        self.counts.messages += sent.len() as u64;
        self.counts.bytes += sent.iter().map(|(_, own)| own.len() as u64).sum::<u64>();
    }

    /// See [`Ranks::exchange`].
    pub fn exchange(&mut self, sent: &[(usize, &[u8])], received: &mut [(usize, &mut [u8])]) {
        self.count_sent(sent);
        self.timed(|ranks| ranks.exchange(sent, received));
    }

    /// See [`Ranks::all_gather`].
    pub fn all_gather(&mut self, own: &[u8]) -> Vec<u8> {
        self.timed(|ranks| ranks.all_gather(own))
    }

    /// See [`Ranks::all_to_all`].
    pub fn all_to_all(&mut self, messages: Vec<Vec<u8>>) -> Vec<Vec<u8>> {
        let own = self.rank();
        let sent = messages.iter().enumerate();
        for (_, message) in sent.filter(|(rank, message)| *rank != own && !message.is_empty()) {
            self.counts.bytes += message.len() as u64;
            self.counts.messages += 1;
        }
        self.timed(|ranks| ranks.all_to_all(messages))
    }
}
