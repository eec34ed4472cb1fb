//! What comes into a simulation, what goes out of it, and what passes through.
//!
//! At every [`Flow::every`]th step, before it is taken, the host looks at where bodies are: those in an
//! [`Outlet`] are taken away, [`Inlet`]s bring those that are due, and what passed a face of a [`Probe`]
//! since the look before is counted. When that is follows from the number of the step alone, and what
//! an inlet brings from its seed and from how many it has brought: the same scene gives the same bits,
//! however the steps are divided.
//!
//! An [`Explosion`] does not wait for a look: it happens before its own step.

mod explosion;
mod inlet;
mod outlet;
mod probe;

pub use explosion::Explosion;
pub use inlet::{Inlet, Rate};
pub use outlet::{Outlet, Place};
pub use probe::{Probe, Region, Seen};

use glam::DVec3;
use serde::{Deserialize, Serialize};

use crate::model::{Model, ModelBody};
use crate::state::{State, body_orientation};
use crate::wall;

/// The inlets, outlets and probes of a model.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Flow {
    /// Steps from one look to the next, at least one if there is anything to look at.
    pub every: u64,
    /// Where bodies come in.
    pub inlets: Vec<Inlet>,
    /// Where bodies go out.
    pub outlets: Vec<Outlet>,
    /// What is looked at over time.
    pub probes: Vec<Probe>,
    /// Bodies that burst.
    pub explosions: Vec<Explosion>,
}

impl Flow {
    /// Whether the bodies stay the same, and there is nothing to look at.
    pub fn is_empty(&self) -> bool {
        self.inlets.is_empty()
            && self.outlets.is_empty()
            && self.probes.is_empty()
            && self.explosions.is_empty()
    }

    /// Corners of the regions in which bodies come in, m.
    pub fn corners(&self) -> impl Iterator<Item = DVec3> + Clone {
        let fills = self.inlets.iter().map(|inlet| &inlet.fill);
        fills.flat_map(|fill| [fill.min, fill.max])
    }
}

/// A number of bodies, and their mass.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Amount {
    /// Number of bodies.
    pub bodies: u64,
    /// Mass, kg.
    pub mass: f64,
}

impl Amount {
    fn add(&mut self, mass: f64) {
        self.bodies += 1;
        self.mass += mass;
    }
}

/// What has passed a face.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Passed {
    /// Along the normal.
    pub forward: Amount,
    /// Against it.
    pub backward: Amount,
}

/// What has come and gone so far in a run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Traffic {
    /// What each inlet has brought.
    pub inlets: Vec<Amount>,
    /// What each inlet could not bring at the last look, since there was no room.
    pub waiting: Vec<u64>,
    /// What each outlet has taken away.
    pub outlets: Vec<Amount>,
    /// What has passed each probe that is a face.
    pub passed: Vec<Passed>,
    /// Which of the explosions are over.
    pub exploded: Vec<bool>,
    /// The id of the next body that comes in.
    pub next_id: u64,
    /// The step before which the last look was.
    pub looked: Option<u64>,
    /// Where each body was then, m; only if there are faces.
    #[serde(skip)]
    pub places: Vec<DVec3>,
}

/// What a look comes to.
pub(crate) struct Change {
    /// Which bodies stay.
    pub keep: Vec<bool>,
    /// Bodies that come in, with their ids.
    pub new: Vec<(u64, ModelBody)>,
}

impl Traffic {
    /// Before the first look at a simulation of `model`.
    pub fn new(model: &Model) -> Traffic {
        let Flow {
            inlets,
            outlets,
            probes,
            explosions,
            every: _,
        } = &model.flow;
        Traffic {
            inlets: vec![Amount::default(); inlets.len()],
            waiting: vec![0; inlets.len()],
            outlets: vec![Amount::default(); outlets.len()],
            passed: vec![Passed::default(); probes.len()],
            exploded: vec![false; explosions.len()],
            next_id: model.bodies.len() as u64,
            looked: None,
            places: Vec::new(),
        }
    }

    /// The number of steps after which the next explosion happens.
    pub(crate) fn next_explosion(&self, model: &Model, earlier: f64) -> Option<u64> {
        let explosions = model.flow.explosions.iter().zip(&self.exploded);
        explosions
            .filter(|(_, over)| !**over)
            .map(|(explosion, _)| explosion.step(earlier, model.time_step))
            .min()
    }

    /// Bursts the bodies of `state` that are to burst before the step after `steps`. Returns what is to be changed,
    /// if anything: of bodies that are gone by then, nothing.
    pub(crate) fn explode(&mut self, model: &Model, state: &State, steps: u64) -> Option<Change> {
        let mut change = Change {
            keep: vec![true; state.bodies.len()],
            new: Vec::new(),
        };
        for (index, explosion) in model.flow.explosions.iter().enumerate() {
            if self.exploded[index] || explosion.step(state.earlier, model.time_step) > steps {
                continue;
            }
            self.exploded[index] = true;
            let identities = &state.identities;
            let Ok(body) = identities.binary_search_by_key(&explosion.body, |body| body.id) else {
                continue;
            };
            change.keep[body] = false;
            let fragments = explosion.burst(model, state, body);
            change.new.extend((self.next_id..).zip(fragments));
            self.next_id += explosion.fragments.len() as u64;
        }
        if change.new.is_empty() {
            return None;
        }
        if !self.places.is_empty() {
            let kept = self.places.iter().zip(&change.keep);
            let kept = kept.filter_map(|(place, kept)| kept.then_some(*place));
            let new = change.new.iter().map(|(_, body)| body.position);
            self.places = kept.chain(new).collect();
        }
        Some(change)
    }

    /// Looks at the bodies of `state` before the step after `steps`, and counts. Returns what is to be
    /// changed, if anything. `walls` are those of the model, where they are.
    pub(crate) fn look(
        &mut self,
        model: &Model,
        state: &State,
        steps: u64,
        walls: &[wall::Probe],
    ) -> Option<Change> {
        let flow = &model.flow;
        let places: Vec<DVec3> = state
            .bodies
            .iter()
            .map(|body| state.position(body))
            .collect();
        let mass = |body: usize| model.shapes[state.identities[body].shape].mass;
        for (probe, passed) in flow.probes.iter().zip(&mut self.passed) {
            for (body, (before, now)) in self.places.iter().zip(&places).enumerate() {
                // Across a seam, from the image that is nearest to where it is now.
                let before = *now - state.nearest(*now - *before);
                match probe.region.passing(before, *now) {
                    Some(true) => passed.forward.add(mass(body)),
                    Some(false) => passed.backward.add(mass(body)),
                    None => (),
                }
            }
        }

        let mut keep = vec![true; places.len()];
        for (outlet, taken) in flow.outlets.iter().zip(&mut self.outlets) {
            for (body, place) in places.iter().enumerate() {
                let goes = outlet.place.holds(*place) && !state.identities[body].fixed;
                if keep[body] && goes {
                    keep[body] = false;
                    taken.add(mass(body));
                }
            }
        }

        let time = steps as f64 * model.time_step;
        let mut new = Vec::new();
        for (index, inlet) in flow.inlets.iter().enumerate() {
            let brought = &mut self.inlets[index];
            let mut occupied = None;
            self.waiting[index] = 0;
            while let Some(shape) = inlet.next(brought, time, &model.shapes) {
                let occupied = occupied.get_or_insert_with(|| {
                    let kept = (0..places.len()).filter(|&body| keep[body]);
                    let there = kept.map(|body| ModelBody {
                        shape: state.identities[body].shape,
                        position: places[body],
                        orientation: body_orientation(&state.bodies[body]),
                        velocity: DVec3::ZERO,
                        angular_velocity: DVec3::ZERO,
                        fixed: false,
                        group: state.identities[body].group,
                    });
                    let poured = new.iter().map(|(_, body): &(u64, ModelBody)| *body);
                    inlet.occupied(model, there.chain(poured))
                });
                let Some(body) =
                    inlet.place(shape, brought.bodies, steps, &model.shapes, occupied, walls)
                else {
                    self.waiting[index] = inlet.due(brought, time, &model.shapes);
                    break;
                };
                brought.add(model.shapes[shape].mass);
                new.push((self.next_id, body));
                self.next_id += 1;
            }
        }

        self.looked = Some(steps);
        if flow.probes.iter().any(|probe| probe.region.is_face()) {
            let kept = places.iter().zip(&keep).filter(|(_, kept)| **kept);
            let new = new.iter().map(|(_, body)| body.position);
            self.places = kept.map(|(place, _)| *place).chain(new).collect();
        }
        let changes = !new.is_empty() || keep.contains(&false);
        changes.then_some(Change { keep, new })
    }
}
