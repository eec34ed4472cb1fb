//! Messages between ranks.

use std::io;
use std::path::Path;

use bytemuck::{bytes_of, cast_slice, cast_slice_mut};

use crate::step::WriteSeek;

/// The processes that step a scene together, as one of them sees them.
///
/// All of them call the same methods in the same order. Whoever implements this says how a message gets from one rank to
/// another; the rest follows from that, and an implementation that has something faster takes that instead. None of the
/// methods fails: where a rank is lost, all of them end ([`Ranks::abort`]).
pub trait Ranks: Send + Sync {
    /// Number of this one, from 0.
    fn rank(&self) -> usize;

    /// Returns the number of ranks.
    fn count(&self) -> usize;

    /// Returns the number of ranks that share the machine of this one.
    fn on_this_machine(&self) -> usize {
        1
    }

    /// Returns the place of this one among those, from 0.
    fn place_on_this_machine(&self) -> usize {
        0
    }

    /// Sends a message to each of some ranks, and receives one from each of some. No rank is there twice, nor is this one,
    /// and each message is as long as the one who receives it expects.
    fn exchange(&self, sent: &[(usize, &[u8])], received: &mut [(usize, &mut [u8])]);

    /// [`Ranks::exchange`], and work meanwhile, which may call methods of this, too: messages between two ranks come in the order in
    /// which they are sent.
    fn exchange_while(
        &self,
        sent: &[(usize, &[u8])],
        received: &mut [(usize, &mut [u8])],
        work: &mut dyn FnMut(),
    ) {
        self.exchange(sent, received);
        work();
    }

    /// Writes bytes to a place in a file that all ranks see, and that is there. They have reached the disk when this returns.
    ///
    /// # Errors
    /// If the file cannot be written.
    fn write(&self, path: &Path, place: u64, bytes: &[u8]) -> io::Result<()>;

    /// Opens a file that all ranks see, and that is there, to write a part of it.
    ///
    /// # Errors
    /// If it cannot be opened.
    fn open(&self, path: &Path) -> io::Result<Box<dyn WriteSeek>>;

    /// Ends all ranks. Somebody is told why.
    fn abort(&self, reason: &str) -> !;

    /// Gives what rank 0 has to all others.
    fn broadcast(&self, bytes: &mut Vec<u8>) {
        let mut length = [bytes.len() as u64];
        let others = 1..self.count();
        for part in 0..2 {
            let own: &mut [u8] = match part {
                0 => cast_slice_mut(&mut length),
                _ => {
                    bytes.resize(length[0] as usize, 0);
                    bytes
                }
            };
            if self.rank() == 0 {
                let own = &*own;
                let sent: Vec<_> = others.clone().map(|rank| (rank, own)).collect();
                self.exchange(&sent, &mut []);
            } else {
                self.exchange(&[], &mut [(0, own)]);
            }
        }
    }

    /// The largest of each number over all ranks.
    fn maximum(&self, numbers: &mut [i64]) {
        reduce(self, numbers, i64::max);
    }

    /// The sum of each number over all ranks.
    fn sum(&self, numbers: &mut [i64]) {
        reduce(self, numbers, i64::wrapping_add);
    }

    /// The bytes of all ranks, one after the other; each gives as many.
    fn all_gather(&self, own: &[u8]) -> Vec<u8> {
        self.all_to_all(vec![own.to_vec(); self.count()]).concat()
    }

    /// Gives each rank the number that is at its place, and returns those of all.
    fn all_to_all_numbers(&self, numbers: &[u64]) -> Vec<u64> {
        let mut received = numbers.to_vec();
        let own = self.rank();
        let sent = numbers.iter().enumerate();
        let sent = sent.map(|(rank, number)| (rank, bytes_of(number)));
        let sent: Vec<_> = sent.filter(|(rank, _)| *rank != own).collect();
        let to = received.iter_mut().enumerate();
        let to = to.map(|(rank, number)| (rank, bytemuck::bytes_of_mut(number)));
        let mut to: Vec<_> = to.filter(|(rank, _)| *rank != own).collect();
        self.exchange(&sent, &mut to);
        received
    }

    /// Gives each rank the message at its place, and returns those of all. Only messages that are not empty are sent.
    fn all_to_all(&self, messages: Vec<Vec<u8>>) -> Vec<Vec<u8>> {
        let own = self.rank();
        let lengths: Vec<u64> = messages.iter().map(|own| own.len() as u64).collect();
        let lengths = self.all_to_all_numbers(&lengths);
        let mut received: Vec<Vec<u8>> = lengths
            .iter()
            .map(|&length| vec![0; length as usize])
            .collect();
        let is_sent = |rank: usize, bytes: &[u8]| rank != own && !bytes.is_empty();
        let sent = messages.iter().enumerate();
        let sent = sent.map(|(rank, bytes)| (rank, bytes.as_slice()));
        let sent: Vec<_> = sent.filter(|(rank, bytes)| is_sent(*rank, bytes)).collect();
        let to = received.iter_mut().enumerate();
        let to = to.map(|(rank, bytes)| (rank, bytes.as_mut_slice()));
        let mut to: Vec<_> = to.filter(|(rank, bytes)| is_sent(*rank, bytes)).collect();
        self.exchange(&sent, &mut to);
        let mut messages = messages;
        received[own] = std::mem::take(&mut messages[own]);
        received
    }
}

/// Reduces numbers at rank 0, in the order of the ranks, and gives the outcome to all.
fn reduce(ranks: &(impl Ranks + ?Sized), numbers: &mut [i64], and: fn(i64, i64) -> i64) {
    if ranks.rank() > 0 {
        ranks.exchange(&[(0, cast_slice(numbers))], &mut []);
    }
    let others = 1..ranks.count();
    if ranks.rank() == 0 {
        let mut all: Vec<Vec<i64>> = others.clone().map(|_| numbers.to_vec()).collect();
        let received = others.clone().zip(&mut all);
        let received = received.map(|(rank, own)| (rank, cast_slice_mut(own)));
        ranks.exchange(&[], &mut received.collect::<Vec<_>>());
        for other in all {
            let pairs = numbers.iter_mut().zip(other);
            pairs.for_each(|(own, other)| *own = and(*own, other));
        }
        let bytes = cast_slice(numbers);
        let sent: Vec<_> = others.map(|rank| (rank, bytes)).collect();
        ranks.exchange(&sent, &mut []);
    } else {
        ranks.exchange(&[], &mut [(0, cast_slice_mut(numbers))]);
    }
}
