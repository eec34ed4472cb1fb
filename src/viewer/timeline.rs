//! Timeline: the states that a run has kept, or those that the window keeps while a simulation runs.

use std::time::Duration;

use web_time::Instant;

use super::{IN_PAGE, PATIENCE};
use crate::model::error::Result;
use crate::output::KeptRun;
use crate::simulation::Simulation;
use crate::state::State;

/// Part of the time that it may take to keep them.
const PART: f64 = 0.05;

/// Times, and how to get there.
pub(super) enum Timeline {
    /// Times of a simulation that goes on.
    Live(Ring),
    /// Times of a run that was kept, with the one of its states that is shown.
    Kept { run: Box<KeptRun>, shown: usize },
}

impl Timeline {
    /// The first and the last time that can be gone to, s.
    pub fn span(&self, now: f64) -> [f64; 2] {
        match self {
            Timeline::Live(ring) => {
                let first = ring.past.first().map_or(now, |past| past.time);
                let last = ring.past.last().map_or(now, |past| past.time);
                [first.min(now), last.max(now)]
            }
            Timeline::Kept { run, .. } => {
                let moments = run.moments();
                [moments[0].time, moments[moments.len() - 1].time]
            }
        }
    }

    /// Counts the states.
    pub fn len(&self) -> usize {
        match self {
            Timeline::Live(ring) => ring.past.len(),
            Timeline::Kept { run, .. } => run.moments().len(),
        }
    }

    /// Takes a simulation to the state that is nearest to a time, s.
    pub async fn go(&mut self, time: f64, simulation: &mut Simulation) -> Result<()> {
        match self {
            Timeline::Live(ring) => ring.go(time, simulation).await,
            Timeline::Kept { run, shown } => {
                if IN_PAGE {
                    return Ok(());
                }
                let nearest = run.nearest(time);
                if nearest != *shown {
                    run.show(nearest, simulation)?;
                    *shown = nearest;
                }
                Ok(())
            }
        }
    }
}

/// States of a simulation, evenly over its time as far as there is memory.
pub(super) struct Ring {
    past: Vec<Past>,
    /// Time between two of them at least, s.
    apart: f64,
    next: Instant,
    /// Memory that they take at most, bytes.
    most: u64,
}

struct Past {
    steps: u64,
    time: f64,
    state: State,
}

impl Ring {
    /// Without a state, and with at most so many bytes of them.
    pub fn new(most: u64) -> Ring {
        Ring {
            past: Vec::new(),
            apart: 0.0,
            next: Instant::now(),
            most,
        }
    }

    /// The same, without any of its states.
    pub fn emptied(&self) -> Ring {
        Ring::new(self.most)
    }

    /// Keeps the state of a simulation that has gone on, if it is time for that. What was kept of later times is no
    /// longer true.
    pub async fn follow(&mut self, simulation: &mut Simulation) -> Result<()> {
        let start = Instant::now();
        let (steps, now) = (simulation.steps(), simulation.time());
        self.past.retain(|past| past.steps <= steps);
        let is_due = match self.past.last() {
            Some(last) => start >= self.next && last.steps < steps && now - last.time >= self.apart,
            None => true,
        };
        if !is_due {
            return Ok(());
        }
        let state = simulation.state_by(PATIENCE).await?.clone();
        self.past.push(Past {
            steps,
            time: now,
            state,
        });
        self.thin();
        let pause = start.elapsed().div_f64(PART);
        self.next = Instant::now() + pause.max(Duration::from_millis(50));
        Ok(())
    }

    /// Drops every second one while they take too much memory; the first stays.
    fn thin(&mut self) {
        let size = |past: &[Past]| past.iter().map(|past| past.state.size()).sum::<u64>();
        while self.past.len() > 2 && size(&self.past) > self.most {
            let mut index = 0;
            self.past.retain(|_| {
                index += 1;
                index % 2 == 1
            });
            let apart = self.past.windows(2).map(|two| two[1].time - two[0].time);
            self.apart = apart.fold(self.apart, f64::max);
        }
    }

    /// Takes another simulation of the same scene to the state that was kept last, if there is one.
    #[cfg(target_family = "wasm")]
    pub async fn hand_over(&self, simulation: &mut Simulation) -> Result<()> {
        match self.past.last() {
            Some(Past { steps, state, .. }) => simulation.restore_by(PATIENCE, state, *steps).await,
            None => Ok(()),
        }
    }

    async fn go(&self, time: f64, simulation: &mut Simulation) -> Result<()> {
        let off = |past: &&Past| (past.time - time).abs();
        let nearest = self.past.iter().min_by(|a, b| off(a).total_cmp(&off(b)));
        match nearest {
            Some(past) if past.steps != simulation.steps() => {
                let steps = past.steps;
                simulation.restore_by(PATIENCE, &past.state, steps).await
            }
            _ => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use pollster::block_on;

    use super::*;

    #[test]
    fn a_simulation_goes_back_to_what_was_kept_and_on_from_there() {
        let scene = crate::scene::load("scenes/stack.json".as_ref()).unwrap();
        let mut simulation = Simulation::on_cpu(scene.model, Some(1)).unwrap();
        let mut ring = Ring::new(512 << 20);
        let mut hashes = Vec::new();
        for _ in 0..6 {
            ring.next = Instant::now();
            block_on(ring.follow(&mut simulation)).unwrap();
            hashes.push(simulation.summary().unwrap().state_hash);
            simulation.step(50).unwrap();
        }
        assert_eq!(ring.past.len(), 6);
        let time = 100.0 * simulation.model().time_step;
        block_on(ring.go(time, &mut simulation)).unwrap();
        assert_eq!(simulation.steps(), 100);
        assert_eq!(simulation.summary().unwrap().state_hash, hashes[2]);
        simulation.step(50).unwrap();
        assert_eq!(simulation.summary().unwrap().state_hash, hashes[3]);
        // What comes later is forgotten.
        ring.next = Instant::now();
        block_on(ring.follow(&mut simulation)).unwrap();
        assert_eq!(ring.past.last().unwrap().steps, 150);
        // With memory for three, the first is among them, and they lie evenly.
        ring.most = 3 * ring.past[0].state.size();
        for _ in 0..10 {
            simulation.step(50).unwrap();
            ring.next = Instant::now();
            block_on(ring.follow(&mut simulation)).unwrap();
        }
        let steps: Vec<u64> = ring.past.iter().map(|past| past.steps).collect();
        assert!(steps.len() <= 3 && steps[0] == 0, "{steps:?}");
    }
}
