//! Steps of a part of a scene, beside those of the other parts.

use super::edges::{Edges, Entry};
use super::pieces::{Piece, StepInPieces};
use super::post::Post;
use crate::state::State;
use crate::state::layout::Body;
use crate::step::cpu::{CpuEngine, Decomposition, FusedStep, MOST_PIECES, Slot};
use crate::step::wall_load::Digits;

impl Edges {
    /// Has bodies sent when the whole step is done.
    pub fn take_in_one_piece(&mut self) {
        let sent = self.sent_in(|_| 0);
        let received = self.received.iter().map(|(rank, ghosts)| {
            let slots = ghosts.iter().map(|&ghost| (Slot::alone(ghost), 0));
            (*rank, slots.collect())
        });
        let received: Vec<_> = received.collect();
        self.pieces = Piece::divide(1, &sent, &received);
    }

    /// Tells the other ranks in which piece of a step each body comes of which they have a ghost, and learns that of the ghosts here.
    /// Who takes a step in fewer pieces than others has the last ones.
    fn agree_on_pieces(&mut self, decomposition: &Decomposition) {
        let first = MOST_PIECES - decomposition.pieces();
        let pieces = decomposition.pieces_of_sent();
        let sent = self.sent_in(|place| first + pieces[place]);
        let messages = sent.iter().map(|(rank, bodies)| {
            let pieces = bodies.iter().map(|(_, piece)| *piece as u8);
            (*rank, pieces.collect())
        });
        let come = self.swap(messages.collect(), size_of::<u8>());
        let received = self.received.iter().zip(&come);
        let received = received.map(|((rank, ghosts), pieces)| {
            let slots = ghosts.iter().map(|&ghost| decomposition.slot_of(ghost));
            let pieces = pieces.iter().copied().map(usize::from);
            (*rank, slots.zip(pieces).collect())
        });
        let received: Vec<_> = received.collect();
        self.pieces = Piece::divide(MOST_PIECES, &sent, &received);
    }

    /// By rank, the places of bodies among all that are sent, and the pieces that `piece_of` has for these places.
    fn sent_in(&self, piece_of: impl Fn(usize) -> usize) -> Vec<(usize, Vec<(u32, usize)>)> {
        let of = |body: &u32| {
            let place = self.sent_bodies.binary_search(body).expect("it is sent");
            (place as u32, piece_of(place))
        };
        let lists = self.sent.iter();
        lists
            .map(|(rank, bodies)| (*rank, bodies.iter().map(of).collect()))
            .collect()
    }

    /// Takes a step with the CPU engine.
    pub fn step(&mut self, engine: &mut CpuEngine, state: &mut State, is_last: bool) {
        let (step, is_new) = engine.begin_beside(state, is_last, &self.sent_bodies);
        let decomposition = engine.decomposition();
        if is_new {
            self.agree_on_pieces(decomposition);
        }
        let mut step = CpuStep {
            state,
            decomposition,
            step: Some(step),
            entries: &self.entries,
            is_cancelled: self.canceller.is_cancelled(),
            marks: Marks::default(),
        };
        self.post.take_pieces(&mut self.pieces, 0, &mut step);
        let marks = step.marks;
        self.end_step(state, decomposition, marks);
    }

    /// Ends a step that a device has taken: sends the bodies, which the state has.
    pub fn send_step(&mut self, state: &mut State) {
        let bodies = self.sent_bodies.iter();
        let mut step = DeviceStep {
            bodies: bodies.map(|&body| state.bodies[body as usize]).collect(),
            sends_changes: state.params.sleep_steps > 0,
            marks: Marks::new(state, &self.entries, self.canceller.is_cancelled()),
        };
        self.post.take_pieces(&mut self.pieces, 0, &mut step);
        let marks = step.marks;
        self.end_step(state, &mut Decomposition::default(), marks);
    }

    /// Sums loads on walls over all ranks.
    pub fn sum(&mut self, loads: &mut [Digits]) {
        self.post.sum_loads(loads);
    }

    /// Ends a step: ghosts are where they have come to on their ranks.
    fn end_step(&mut self, state: &mut State, bodies: &mut Decomposition, marks: Marks) {
        let mut next = state.params;
        next.deform(state.stats[0].steps);
        let mut ghosts = 0;
        for piece in &mut self.pieces {
            piece.for_each_received(|slots, come| {
                ghosts += come.len() as u64;
                bodies.set_bodies(state, &next, slots, come);
            });
        }
        self.swap_heat(state);
        let stats = &mut state.stats[0];
        let Marks([stale, lost, cancelled]) = marks;
        (stats.stale, stats.runaway) = (stale as u32, lost as u32);
        self.ending = cancelled == 1;
        let counts = &mut self.post.counts;
        counts.steps += 1;
        counts.ghosts += ghosts;
        self.post.end_step();
    }
}

/// News of a step for all ranks: whether the lists are stale anywhere, which body is lost, counted from 1 in the whole scene, and
/// whether the steps are to end.
#[derive(Clone, Copy, Default)]
struct Marks([i64; 3]);

impl Marks {
    fn new(state: &State, entries: &[Entry], is_cancelled: bool) -> Marks {
        let stats = &state.stats[0];
        let lost = stats.runaway.checked_sub(1);
        let lost = lost.map_or(0, |body| entries[body as usize].body + 1);
        Marks([stats.stale, lost, is_cancelled.into()].map(i64::from))
    }
}

/// A step of the CPU engine.
struct CpuStep<'a> {
    state: &'a mut State,
    decomposition: &'a mut Decomposition,
    /// None once it has ended.
    step: Option<FusedStep>,
    entries: &'a [Entry],
    is_cancelled: bool,
    marks: Marks,
}

impl StepInPieces for CpuStep<'_> {
    fn take(&mut self, piece: usize) -> &[Body] {
        let first = MOST_PIECES - self.decomposition.pieces();
        if let (Some(step), Some(piece)) = (&mut self.step, piece.checked_sub(first)) {
            step.take(self.state, self.decomposition, piece);
        }
        self.decomposition.sent_bodies()
    }

    fn end(&mut self, post: &mut Post) {
        if let Some(step) = self.step.take() {
            let sum = &mut |loads: &mut [Digits]| post.sum_loads(loads);
            step.end(self.state, self.decomposition, sum);
        }
        self.marks = Marks::new(self.state, self.entries, self.is_cancelled);
        post.maximum(&mut self.marks.0);
    }

    fn sends_changes(&self) -> bool {
        self.state.params.sleep_steps > 0
    }
}

/// A step that a device has taken.
struct DeviceStep {
    bodies: Vec<Body>,
    sends_changes: bool,
    marks: Marks,
}

impl StepInPieces for DeviceStep {
    fn take(&mut self, _: usize) -> &[Body] {
        &self.bodies
    }

    fn end(&mut self, post: &mut Post) {
        post.maximum(&mut self.marks.0);
    }

    fn sends_changes(&self) -> bool {
        self.sends_changes
    }
}
