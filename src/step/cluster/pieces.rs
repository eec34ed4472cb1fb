//! Bodies that others have ghosts of, sent in pieces: each is on its way while the next ones are computed.

use std::time::Duration;

use bytemuck::{bytes_of, bytes_of_mut, cast_slice, cast_slice_mut};

use super::bytes::{Reader, Writer};
use super::post::Post;
use crate::state::layout::Body;
use crate::step::clock::Stopwatch;
use crate::step::cpu::Slot;

/// A message to or from another rank, of bodies one after the other.
pub(super) struct Message<T> {
    rank: usize,
    /// Their places in the list of all that are sent, or the slots of ghosts.
    places: Vec<T>,
    /// The bodies as they were in the last message.
    bodies: Vec<Body>,
}

/// The messages of a piece of a step.
#[derive(Default)]
pub(super) struct Piece {
    sent: Vec<Message<u32>>,
    received: Vec<Message<Slot>>,
}

/// A step that is taken in pieces.
pub(super) trait StepInPieces {
    /// Takes a piece of the step. Returns all bodies that are sent: those of this piece and of those before as they are after the step.
    fn take(&mut self, piece: usize) -> &[Body];

    /// Ends the step, of which all pieces have been taken.
    fn end(&mut self, post: &mut Post);

    /// Whether only those bodies are sent that have changed since the last step: bodies that sleep have not.
    fn sends_changes(&self) -> bool;
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

impl Message<u32> {
    /// Takes over what all bodies that are sent are now.
    fn take_over(&mut self, bodies: &[Body]) {
        let [first, last] = [self.places[0], self.places[self.places.len() - 1]];
        // Places ascend. With two ranks, none is left out between them, and one copy costs less than many.
        if (last - first) as usize == self.places.len() - 1 {
            let own = &bodies[first as usize..=last as usize];
            self.bodies.copy_from_slice(own);
        } else {
            let own = self.bodies.iter_mut().zip(&self.places);
            own.for_each(|(own, &place)| *own = bodies[place as usize]);
        }
    }

    /// Takes over what all bodies that are sent are now. Returns the changes.
    fn update(&mut self, bodies: &[Body]) -> Vec<u8> {
        let mut changes = Writer::default();
        for (index, (own, &place)) in self.bodies.iter_mut().zip(&self.places).enumerate() {
            let now = &bodies[place as usize];
            if bytes_of(own) != bytes_of(now) {
                *own = *now;
                changes.put(index as u32);
                changes.put(*now);
            }
        }
        changes.0
    }
}

impl Message<Slot> {
    /// Takes over changes.
    fn apply(&mut self, changes: &[u8]) {
        let mut changes = Reader(changes);
        while !changes.is_empty() {
            let index: u32 = changes.take();
            self.bodies[index as usize] = changes.take();
        }
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

    /// Calls a function with the ghosts that have come, and where they are, rank by rank.
    pub fn for_each_received(&mut self, mut act: impl FnMut(&[Slot], &mut [Body])) {
        for message in &mut self.received {
            act(&message.places, &mut message.bodies);
        }
    }
}

impl Post {
    /// Takes a step from a piece on, and sends the bodies of each as soon as it is done; the ghosts of all of them have come
    /// afterwards.
    ///
    /// Messages between two ranks come in the order in which they are sent, so ranks need not be at the same piece.
    pub fn take_pieces(&mut self, pieces: &mut [Piece], first: usize, step: &mut dyn StepInPieces) {
        let Some((piece, rest)) = pieces.split_first_mut() else {
            return step.end(self);
        };
        let sends_changes = step.sends_changes();
        let bodies = step.take(first);
        if sends_changes {
            self.send_changes(piece, bodies);
            return self.take_pieces(rest, first + 1, step);
        }
        for message in &mut piece.sent {
            message.take_over(bodies);
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

    /// Sends those bodies of a piece that have changed, and takes those of others; who receives them learns first how many.
    fn send_changes(&mut self, piece: &mut Piece, bodies: &[Body]) {
        let Piece { sent, received } = piece;
        let changes: Vec<(usize, Vec<u8>)> = sent
            .iter_mut()
            .map(|message| (message.rank, message.update(bodies)))
            .collect();
        let lengths: Vec<u64> = changes.iter().map(|(_, own)| own.len() as u64).collect();
        let ranks = changes.iter().map(|(rank, _)| *rank);
        let sent: Vec<(usize, &[u8])> = ranks.zip(lengths.iter().map(bytes_of)).collect();
        let mut come: Vec<u64> = vec![0; received.len()];
        let ranks = received.iter().map(|message| message.rank);
        let to = ranks.zip(come.iter_mut().map(bytes_of_mut));
        self.exchange(&sent, &mut to.collect::<Vec<_>>());

        let sent = changes.iter().map(|(rank, own)| (*rank, &own[..]));
        let sent: Vec<_> = sent.filter(|(_, own)| !own.is_empty()).collect();
        let mut come: Vec<Vec<u8>> = come
            .iter()
            .map(|&length| vec![0; length as usize])
            .collect();
        let ranks = received.iter().map(|message| message.rank);
        let to = ranks.zip(come.iter_mut().map(|own| &mut own[..]));
        let mut to: Vec<_> = to.filter(|(_, own)| !own.is_empty()).collect();
        self.exchange(&sent, &mut to);
        let messages = received.iter_mut().zip(&come);
        messages.for_each(|(message, changes)| message.apply(changes));
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

    impl StepInPieces for Numbered<'_> {
        fn take(&mut self, piece: usize) -> &[Body] {
            self.ranks.0.lock().unwrap().push(format!("takes {piece}"));
            self.bodies[piece].kind = 10 + piece as u32;
            &self.bodies
        }

        fn end(&mut self, _: &mut Post) {
            *self.ended.borrow_mut() = true;
            self.ranks.0.lock().unwrap().push("ends".to_owned());
        }

        fn sends_changes(&self) -> bool {
            false
        }
    }

    #[test]
    fn changes_are_taken_over() {
        let mut bodies = [1, 2, 3].map(|kind| Body {
            kind,
            ..Body::default()
        });
        let mut sent = Message::new(1, vec![2, 0]);
        let mut received = Message::new(0, vec![Slot::alone(5), Slot::alone(4)]);
        let size = size_of::<u32>() + size_of::<Body>();
        for (kind, count) in [(3, 2), (3, 0), (4, 1)] {
            bodies[2].kind = kind;
            // Nobody receives it.
            bodies[1].kind += 1;
            let changes = sent.update(&bodies);
            assert_eq!(changes.len(), count * size);
            received.apply(&changes);
            assert_eq!(received.bodies, [bodies[2], bodies[0]]);
        }
    }

    #[test]
    fn bodies_are_taken_over_from_their_places() {
        let bodies = [0, 1, 2, 3].map(|kind| Body {
            kind,
            ..Body::default()
        });
        for places in [vec![2], vec![1, 2, 3], vec![0, 2, 3]] {
            let mut sent = Message::new(1, places.clone());
            sent.take_over(&bodies);
            let kinds: Vec<u32> = sent.bodies.iter().map(|body| body.kind).collect();
            assert_eq!(kinds, places);
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
        for piece in &mut pieces {
            piece.for_each_received(|own, bodies| {
                slots.extend_from_slice(own);
                ghosts.extend_from_slice(bodies);
            });
        }
        assert_eq!(slots, [7, 5].map(Slot::alone));
        assert_eq!([ghosts[0].kind, ghosts[1].kind], [11, 12]);
        assert_eq!(post.counts.messages, 2);
    }
}
