//! Bodies that come in, go out and burst between steps, as [`mod@crate::model::flow`] defines it.

use std::collections::BTreeMap;

use glam::{DMat3, DVec3};
use serde::Serialize;

use crate::model::clump::{Clump, MassProperties};
use crate::model::flow::{Explosion, Inlet, Region, Traffic};
use crate::model::wall;
use crate::model::{Model, ModelBody};
use crate::state::{Dissipated, State, body_orientation};
use crate::step::Before;

/// Changes of the bodies after a look.
pub(crate) struct Change {
    /// Indices of the bodies that go, in increasing order.
    pub gone: Vec<u32>,
    /// Bodies that come in, with their ids.
    pub new: Vec<(u64, ModelBody)>,
}

/// A look at all bodies, which may come part by part: who leaves, and what is in the way of those who come.
pub(crate) struct Look<'a> {
    model: &'a Model,
    steps: u64,
    /// s
    time: f64,
    /// Inlets that let bodies in now.
    due: Vec<&'a Inlet>,
    /// Bounding radii of all shapes, m.
    radii: Vec<f64>,
    /// Whether the places of bodies are kept until the next look.
    follows: bool,
    /// Number of bodies so far.
    count: usize,
    gone: Vec<u32>,
    /// Bodies that stay and may be in the way of an inlet that is due.
    near: Vec<ModelBody>,
    /// Centres of mass of all bodies that stay, m, if they are kept.
    places: Vec<DVec3>,
}

/// Bodies of all parts so far whose load has exceeded their strength.
pub(crate) struct Shattering<'a> {
    model: &'a Model,
    /// Largest force on each body of the whole state, N; none if no body bursts by its force.
    largest: Vec<f64>,
    /// Larger forces since the look before, N, by ids.
    peaks: BTreeMap<u64, f64>,
    change: Change,
}

impl Traffic {
    /// Indices of the bodies of `state` that burst before the step after `steps`.
    pub(crate) fn bursting(&self, model: &Model, state: &State, steps: u64) -> Vec<usize> {
        let explosions = model.flow.explosions.iter().zip(&self.exploded);
        let due = explosions.filter(|(explosion, exploded)| {
            !**exploded && explosion.step(state.step_times(model)) <= steps
        });
        let place = |(explosion, _): (&Explosion, _)| state.identities.find(explosion.body);
        due.filter_map(place).collect()
    }

    /// Bursts the bodies of `state` that are due before the step after `steps`. Returns the changes, if any; a body
    /// that has already left changes nothing. Bodies whose elements are elsewhere are `alone`, each in a state of its own.
    pub(crate) fn explode(
        &mut self,
        model: &Model,
        state: &State,
        alone: &BTreeMap<usize, State>,
        steps: u64,
    ) -> Option<Change> {
        let mut change = Change {
            gone: Vec::new(),
            new: Vec::new(),
        };
        for (index, explosion) in model.flow.explosions.iter().enumerate() {
            if self.exploded[index] || explosion.step(state.step_times(model)) > steps {
                continue;
            }
            self.exploded[index] = true;
            let Some(body) = state.identities.find(explosion.body) else {
                continue;
            };
            change.gone.push(body as u32);
            let fragments = match alone.get(&body) {
                Some(own) => explosion.burst(model, own, 0),
                None => explosion.burst(model, state, body),
            };
            change.new.extend((self.next_id..).zip(fragments));
            self.next_id += explosion.fragments.len() as u64;
        }
        if change.new.is_empty() {
            return None;
        }
        change.gone.sort_unstable();
        change.gone.dedup();
        self.follow(&change);
        Some(change)
    }

    /// Begins to look for bodies whose load has exceeded their strength since the look before, given the largest force on each body
    /// now, N.
    pub(crate) fn begin_shattering<'a>(
        &mut self,
        model: &'a Model,
        largest: Vec<f64>,
    ) -> Shattering<'a> {
        Shattering {
            model,
            largest,
            peaks: std::mem::take(&mut self.peaks),
            change: Change {
                gone: Vec::new(),
                new: Vec::new(),
            },
        }
    }

    /// Bursts those bodies of a part, after those of the parts before.
    pub(crate) fn shatter(&mut self, all: &mut Shattering, part: &State, before: &Before) {
        let model = all.model;
        for (place, (body, identity)) in part.bodies.iter().zip(&part.identities).enumerate() {
            let Some(rule) = model
                .breakage_of(identity.shape)
                .filter(|_| !identity.fixed)
            else {
                continue;
            };
            let mut taken = Dissipated::default();
            for load in &part.sphere_loads[part.spheres_of(body)] {
                taken.add(load);
            }
            let (id, index) = (identity.id, before.bodies + place as u32);
            let force = all.largest.get(index as usize).copied().unwrap_or(0.0);
            let force = all.peaks.get(&id).map_or(force, |peak| peak.max(force));
            if !rule.breaks(id, force, taken.damping + taken.friction) {
                continue;
            }
            self.broken[rule.rule].add(model.shapes[rule.shape].mass);
            all.change.gone.push(index);
            let fragments = rule.explosion(id).burst(model, part, place);
            all.change.new.extend((self.next_id..).zip(fragments));
            self.next_id += rule.fragments.len() as u64;
        }
    }

    /// Ends the search. Returns the changes, if any.
    pub(crate) fn end_shattering(&mut self, all: Shattering) -> Option<Change> {
        if all.change.gone.is_empty() {
            return None;
        }
        self.follow(&all.change);
        Some(all.change)
    }

    /// Updates the stored positions after a change between two looks.
    pub(crate) fn follow(&mut self, change: &Change) {
        if !self.places.is_empty() {
            let stays = |index: &u32| change.gone.binary_search(index).is_err();
            let kept = (0..).zip(&self.places).filter(|(index, _)| stays(index));
            let new = change.new.iter().map(|(_, body)| body.position);
            self.places = kept.map(|(_, place)| *place).chain(new).collect();
        }
    }

    /// Begins the look before the step after `steps`, at the time `time` (s).
    pub(crate) fn begin_look<'a>(&self, model: &'a Model, steps: u64, time: f64) -> Look<'a> {
        let inlets = model.flow.inlets.iter().zip(&self.inlets);
        let due =
            inlets.filter(|(inlet, brought)| inlet.next(brought, time, &model.shapes).is_some());
        let mut probes = model.flow.probes.iter();
        Look {
            model,
            steps,
            time,
            due: due.map(|(inlet, _)| inlet).collect(),
            radii: model.shapes.iter().map(Clump::bounding_radius).collect(),
            follows: probes.any(|probe| probe.region.is_face()),
            count: 0,
            gone: Vec::new(),
            near: Vec::new(),
            places: Vec::new(),
        }
    }

    /// Adds the bodies of a part to a look, after those of the parts before: counts those that passed, and takes away those in outlets.
    pub(crate) fn look_at(&mut self, look: &mut Look, part: &State) {
        let Look { model, steps, .. } = *look;
        let flow = &model.flow;
        for (body, identity) in part.bodies.iter().zip(part.identities.iter()) {
            let index = look.count;
            look.count += 1;
            let now = part.position(body);
            let mass = model.shapes[identity.shape].mass;
            if let Some(before) = self.places.get(index) {
                for (probe, passed) in flow.probes.iter().zip(&mut self.passed) {
                    // Across a periodic boundary, the image nearest to the present position.
                    let before = now - part.nearest(now - *before);
                    match probe.region.passing(before, now) {
                        Some(true) => passed.forward.add(mass),
                        Some(false) => passed.backward.add(mass),
                        None => (),
                    }
                }
            }
            let mut outlets = flow.outlets.iter();
            let outlet = outlets.position(|outlet| outlet.place.holds(now));
            if let Some(outlet) = outlet.filter(|_| !identity.fixed) {
                look.gone.push(index as u32);
                self.outlets[outlet].add(mass);
                if let Some(before) = self.arrivals.remove(&identity.id) {
                    let stayed = steps.saturating_sub(before) as f64 * model.time_step;
                    self.residence[outlet].add(stayed);
                }
                continue;
            }
            if look.follows {
                look.places.push(now);
            }
            let there = ModelBody {
                shape: identity.shape,
                position: now,
                orientation: body_orientation(body),
                group: identity.group,
                ..ModelBody::default()
            };
            let mut due = look.due.iter();
            if due.any(|inlet| inlet.may_meet(model, &look.radii, &there)) {
                look.near.push(there);
            }
        }
    }

    /// Ends a look at all bodies of `state`, and lets bodies in. Returns the changes, if any. `walls` are the present walls of the model.
    pub(crate) fn end_look(
        &mut self,
        look: Look,
        state: &State,
        walls: &[wall::Probe],
    ) -> Option<Change> {
        let Look {
            model,
            steps,
            time,
            follows,
            count,
            gone,
            near,
            mut places,
            ..
        } = look;
        let flow = &model.flow;
        let mut new = Vec::new();
        for (index, inlet) in flow.inlets.iter().enumerate() {
            let brought = &mut self.inlets[index];
            let mut occupied = None;
            self.waiting[index] = 0;
            while let Some(shape) = inlet.next(brought, time, &model.shapes) {
                let occupied = occupied.get_or_insert_with(|| {
                    let poured = new.iter().map(|(_, body): &(u64, ModelBody)| *body);
                    inlet.occupied(model, near.iter().copied().chain(poured))
                });
                let Some(body) =
                    inlet.place(shape, brought.bodies, steps, &model.shapes, occupied, walls)
                else {
                    self.waiting[index] = inlet.due(brought, time, &model.shapes);
                    break;
                };
                brought.add(model.shapes[shape].mass);
                new.push((self.next_id, body));
                if flow.residence {
                    self.arrivals.insert(self.next_id, steps);
                }
                self.next_id += 1;
            }
        }
        // `arrivals` may also have bodies that burst or that a caller removed.
        if self.arrivals.len() > 2 * (count + new.len()) {
            let there = |id: &u64| {
                state.identities.find(*id).is_some()
                    || new.binary_search_by_key(id, |(new, _)| *new).is_ok()
            };
            self.arrivals.retain(|id, _| there(id));
        }

        self.looked = Some(steps);
        if follows {
            places.extend(new.iter().map(|(_, body)| body.position));
            self.places = places;
        }
        let changes = !new.is_empty() || !gone.is_empty();
        changes.then_some(Change { gone, new })
    }
}

impl Explosion {
    /// Fragments of the body `index`.
    ///
    /// Together they have its momentum, and its angular momentum about the centre of mass. Each starts with the
    /// velocity that its point of the rigid body has, plus a push of the same speed outwards from the centre, less
    /// the mean of all pushes. So the pushes carry no momentum. They carry no angular momentum either: each push is
    /// parallel to its arm, and the arms to which the mean is applied add up to zero.
    pub(super) fn burst(&self, model: &Model, state: &State, index: usize) -> Vec<ModelBody> {
        let body = &state.bodies[index];
        let (place, turn) = (state.position(body), body_orientation(body));
        let fragments = &model.shapes[self.fragments.clone()];
        let whole = fragments
            .iter()
            .map(properties)
            .reduce(|whole, piece| whole.and(&piece))
            .expect("an explosion has fragments");
        let arm = |piece: &Clump| piece.center_of_mass - whole.center_of_mass;
        let outwards = |piece: &Clump| arm(piece).normalize_or_zero();
        let mean: DVec3 = fragments
            .iter()
            .map(|piece| outwards(piece) * (piece.mass / whole.mass))
            .sum();
        let momentum = turn.conjugate() * body.angular_momentum.as_dvec3();
        let spin = whole.inertia.inverse() * momentum;
        let pieces = self.fragments.clone().zip(fragments);
        let bodies = pieces.map(|(shape, piece)| {
            let push = self.speed * (outwards(piece) - mean);
            ModelBody {
                shape,
                position: place + turn * piece.center_of_mass,
                orientation: turn * piece.principal_axes,
                velocity: body.velocity.as_dvec3() + turn * (spin.cross(arm(piece)) + push),
                angular_velocity: turn * spin,
                fixed: false,
                group: state.identities[index].group,
                quantities: state.quantities(index).or_default(),
            }
        });
        bodies.collect()
    }
}

/// Mass properties in the axes in which a shape was made.
fn properties(clump: &Clump) -> MassProperties {
    let axes = DMat3::from_quat(clump.principal_axes);
    MassProperties {
        mass: clump.mass,
        center_of_mass: clump.center_of_mass,
        inertia: axes * DMat3::from_diagonal(clump.inertia) * axes.transpose(),
    }
}

/// Reading of a probe, over the bodies in it that are not fixed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Seen {
    /// Number of bodies in it.
    pub bodies: u64,
    /// Their mass, kg.
    pub mass: f64,
    /// Mean velocity weighted by mass, m/s; 0 without bodies.
    pub velocity: [f64; 3],
}

impl Seen {
    /// Reading of `region`, a volume, now.
    #[doc(hidden)]
    pub fn new(region: &Region, model: &Model, state: &State) -> Seen {
        let mut seen = Seen::default();
        seen.add(region, model, state);
        seen.mean()
    }

    /// Adds the bodies of a part of a state; `velocity` is their momentum, kg m/s, until [`Seen::mean`].
    pub(super) fn add(&mut self, region: &Region, model: &Model, part: &State) {
        let mut momentum = DVec3::from(self.velocity);
        for (body, identity) in part.bodies.iter().zip(&part.identities) {
            if !identity.fixed && region.holds(part.position(body)) {
                let mass = model.shapes[identity.shape].mass;
                self.bodies += 1;
                self.mass += mass;
                momentum += mass * body.velocity.as_dvec3();
            }
        }
        self.velocity = momentum.to_array();
    }

    /// The reading after all parts have been added.
    pub(super) fn mean(mut self) -> Seen {
        if self.bodies > 0 {
            self.velocity = (DVec3::from(self.velocity) / self.mass).to_array();
        }
        self
    }
}
