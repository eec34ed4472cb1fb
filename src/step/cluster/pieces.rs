//! Bodies that others have ghosts of, sent in pieces: each is on its way while the next ones are computed.

use std::time::Duration;

use bytemuck::{cast_slice, cast_slice_mut};

use super::post::Post;
use crate::state::layout::Body;
use crate::step::clock::Stopwatch;
use crate::step::cpu::Slot;

/// A message to or from another rank, of bodies one after the other.
pub(super) struct Message<T> {
    rank: usize,
    /// What these are: their places in the list of all that are sent, or the slots of ghosts.
    places: Vec<T>,
    bodies: Vec<Body>,
}

/// The messages of a piece of a step.
#[derive(Default)]
pub(super) struct Piece {
    sent: Vec<Message<u32>>,
    received: Vec<Message<Slot>>,
}

/// A step that is taken in pieces.
pub(super) trait Pieces {
    /// Takes a piece of the step. Returns all bodies that are sent: those of this piece and of those before as they are after the step.
    fn take(&mut self, piece: usize) -> &[Body];

    /// Ends the step, of which all pieces have been taken.
    fn end(&mut self, post: &mut Post);
}

impl<T: Copy> Message<T> {
    fn new(rank: usize, places: Vec<T>) -> Message<T> {
        let bodies = vec![Body::default(); places.len()];
        Message {
            rank,
            places,
            bodies,
        }
    }

    /// Divides a list of bodies among pieces, given the piece of each; nothing is said where there is nothing.
    fn divide(rank: usize, bodies: &[(T, usize)], pieces: usize) -> Vec<Option<Message<T>>> {
        let of = |piece: usize| {
            let own = bodies.iter().filter(|(_, of)| *of == piece);
            let own: Vec<T> = own.map(|(body, _)| *body).collect();
            (!own.is_empty()).then(|| Message::new(rank, own))
        };
        (0..pieces).map(of).collect()
    }
}

impl Piece {
    /// So many pieces of a step, given bodies to send to other ranks and ghosts of theirs, with the piece of each.
    pub fn divide(
        count: usize,
        sent: &[(usize, Vec<(u32, usize)>)],
        received: &[(usize, Vec<(Slot, usize)>)],
    ) -> Vec<Piece> {
        let mut pieces: Vec<Piece> = (0..count).map(|_| Piece::default()).collect();
        for (rank, bodies) in sent {
            let messages = Message::divide(*rank, bodies, count);
            let messages = pieces.iter_mut().zip(messages);
            messages.for_each(|(piece, message)| piece.sent.extend(message));
        }
        for (rank, ghosts) in received {
            let messages = Message::divide(*rank, ghosts, count);
            let messages = pieces.iter_mut().zip(messages);
            messages.for_each(|(piece, message)| piece.received.extend(message));
        }
        pieces
    }

    /// Adds the ghosts that have come, and where they are.
    pub fn give(&self, slots: &mut Vec<Slot>, ghosts: &mut Vec<Body>) {
        for message in &self.received {
            slots.extend_from_slice(&message.places);
            ghosts.extend_from_slice(&message.bodies);
        }
    }
}

impl Post {
    /// Takes a step from a piece on, and sends the bodies of each as soon as it is done; the ghosts of all of them have come
    /// afterwards.
    ///
    /// Messages between two ranks come in the order in which they are sent, so ranks need not be at the same piece.
    pub fn take_pieces(&mut self, pieces: &mut [Piece], first: usize, step: &mut dyn Pieces) {
        let Some((piece, rest)) = pieces.split_first_mut() else {
            return step.end(self);
        };
        let bodies = step.take(first);
        for message in &mut piece.sent {
            let own = message.bodies.iter_mut().zip(&message.places);
            own.for_each(|(own, &place)| *own = bodies[place as usize]);
        }
        let sent: Vec<(usize, &[u8])> = piece
            .sent
            .iter()
            .map(|message| (message.rank, cast_slice(&message.bodies)))
            .collect();
        let mut received: Vec<(usize, &mut [u8])> = piece
            .received
            .iter_mut()
            .map(|message| (message.rank, cast_slice_mut(&mut message.bodies)))
            .collect();
        self.count_sent(&sent);
        let ranks = self.ranks.clone();
        let mut watch = Stopwatch::start(self.clock);
        let mut meanwhile = Duration::ZERO;
        ranks.exchange_while(&sent, &mut received, &mut || {
            let mut watch = Stopwatch::start(self.clock);
            self.take_pieces(rest, first + 1, step);
            meanwhile += watch.lap();
        });
        self.counts.communication += watch.lap().saturating_sub(meanwhile);
    }
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;
    use std::io;
    use std::path::Path;
    use std::sync::{Arc, Mutex};

    use super::*;
    use crate::step::WriteSeek;
    use crate::step::cluster::Ranks;

    /// Two ranks that are one, and what has come to pass in which order.
    struct Mirror(Mutex<Vec<String>>);

    impl Ranks for Mirror {
        fn rank(&self) -> usize {
            0
        }

        fn count(&self) -> usize {
            2
        }

        fn exchange(&self, _: &[(usize, &[u8])], _: &mut [(usize, &mut [u8])]) {
            unreachable!("there is work to do meanwhile");
        }

        fn exchange_while(
            &self,
            sent: &[(usize, &[u8])],
            received: &mut [(usize, &mut [u8])],
            work: &mut dyn FnMut(),
        ) {
            let counts: Vec<usize> = sent
                .iter()
                .map(|(_, bytes)| bytes.len() / size_of::<Body>())
                .collect();
            self.0.lock().unwrap().push(format!("sends {counts:?}"));
            work();
            for ((_, sent), (_, received)) in sent.iter().zip(received) {
                received.copy_from_slice(sent);
            }
            self.0.lock().unwrap().push("receives".to_owned());
        }

        fn write(&self, _: &Path, _: u64, _: &[u8]) -> io::Result<()> {
            unreachable!("nothing is written")
        }

        fn open(&self, _: &Path) -> io::Result<Box<dyn WriteSeek>> {
            unreachable!("nothing is written")
        }

        fn abort(&self, reason: &str) -> ! {
            panic!("{reason}")
        }
    }

    /// A step that numbers the kinds of its bodies by the piece.
    struct Numbered<'a> {
        bodies: [Body; 3],
        ranks: &'a Mirror,
        ended: &'a RefCell<bool>,
    }

    impl Pieces for Numbered<'_> {
        fn take(&mut self, piece: usize) -> &[Body] {
            self.ranks.0.lock().unwrap().push(format!("takes {piece}"));
            self.bodies[piece].kind = 10 + piece as u32;
            &self.bodies
        }

        fn end(&mut self, _: &mut Post) {
            *self.ended.borrow_mut() = true;
            self.ranks.0.lock().unwrap().push("ends".to_owned());
        }
    }

    #[test]
    fn a_piece_is_sent_before_the_next_one_is_taken() {
        let ranks = Arc::new(Mirror(Mutex::default()));
        let mut post = Post::new(ranks.clone(), None);
        // In the first piece there is nothing to send.
        let sent = [(1, vec![(1, 1), (2, 2)])];
        let received = [(1, vec![(Slot::alone(7), 1), (Slot::alone(5), 2)])];
        let mut pieces = Piece::divide(3, &sent, &received);
        let ended = RefCell::default();
        let mut step = Numbered {
            bodies: [Body::default(); 3],
            ranks: &ranks,
            ended: &ended,
        };
        post.take_pieces(&mut pieces, 0, &mut step);
        assert!(*ended.borrow());
        let order = ranks.0.lock().unwrap().join(", ");
        assert_eq!(
            order,
            "takes 0, sends [], takes 1, sends [1], takes 2, sends [1], ends, receives, receives, receives"
        );
        let (mut slots, mut ghosts) = (Vec::new(), Vec::new());
        pieces
            .iter()
            .for_each(|piece| piece.give(&mut slots, &mut ghosts));
        assert_eq!(slots, [7, 5].map(Slot::alone));
        assert_eq!([ghosts[0].kind, ghosts[1].kind], [11, 12]);
        assert_eq!(post.counts.messages, 2);
    }
}
