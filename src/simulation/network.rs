//! The contact network: pairs in contact and their forces.

use glam::DVec3;

use crate::state::State;
use crate::state::layout::{
    CUSTOM, HERTZ_MINDLIN, HOOKE_HISTORY, HOOKE_VISCOUS, IMPULSE, Pair, WALL,
};
use crate::step::Before;
use crate::step::contact::{History, Response, before, respond, stored};
use crate::step::geometry::ContactGeometry;

/// All contacts of a state.
#[derive(Clone, Debug, PartialEq)]
pub struct Network {
    /// Each contact once, in the order of its first sphere; a contact of two spheres is listed at the one with the
    /// smaller index. With cohesion, also surfaces that act on each other across a gap.
    pub contacts: Vec<NetworkContact>,
    /// Whether each body is fixed.
    pub fixed: Vec<bool>,
}

/// Two surfaces that touch, or act on each other.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct NetworkContact {
    /// Index of the sphere.
    pub sphere: u32,
    /// Index of its body.
    pub body: u32,
    /// Partner that it touches.
    pub partner: Partner,
    /// Overlap averaged over the step, m; 0 across a gap.
    pub overlap: f64,
    /// Overlap as a fraction of the smaller radius.
    pub overlap_fraction: f64,
    /// Point of contact, m.
    pub point: DVec3,
    /// Unit vector from the sphere to the other surface.
    pub normal: DVec3,
    /// Force on the sphere, N; zero for a custom law, whose forces are not known here.
    pub force: DVec3,
    /// Torque of rolling and twisting resistance on the sphere, N m; zero for a custom law.
    pub torque: DVec3,
    /// Elastic energy, J; zero for a custom law.
    pub stored: f64,
    /// Speed with which the surfaces approach, m/s; negative where they part.
    pub approach: f64,
    /// Energy that dashpots and friction dissipated in the step, J; zero for a custom law.
    pub dissipated: f64,
}

#[cfg(test)]
impl NetworkContact {
    /// A contact of a body of one sphere with a force and no other loads.
    pub(crate) fn of_force(body: u32, partner: Partner, point: DVec3, force: DVec3) -> Self {
        NetworkContact {
            sphere: body,
            body,
            partner,
            overlap: 1e-3,
            overlap_fraction: 1e-3,
            point,
            normal: -force.normalize(),
            force,
            torque: DVec3::ZERO,
            stored: 0.0,
            approach: 0.0,
            dissipated: 0.0,
        }
    }
}

/// Partner of a sphere in a contact.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Partner {
    /// Another sphere.
    Sphere {
        /// Its index.
        sphere: u32,
        /// Index of its body.
        body: u32,
    },
    /// A wall, by its index.
    Wall(u32),
}

impl Network {
    /// The contacts in the last step of `state`.
    pub fn new(state: &State) -> Network {
        Network {
            contacts: contacts(state).collect(),
            fixed: state.identities.iter().map(|body| body.fixed).collect(),
        }
    }

    /// Number of contacts of each body, fixed ones included.
    pub fn degrees(&self) -> Vec<u32> {
        self.graph().degrees()
    }

    /// The coordination number: the mean number of contacts of a body that is not fixed.
    pub fn coordination(&self) -> f64 {
        self.graph().coordination()
    }

    /// The coordination number without rattlers, and the number of rattlers: bodies with fewer than four contacts,
    /// which cannot be held in place, and bodies that only rattlers hold.
    pub fn coordination_without_rattlers(&self) -> (f64, usize) {
        self.graph().coordination_without_rattlers()
    }

    /// Sum of the forces on the wall `wall`, N.
    pub fn force_on_wall(&self, wall: u32) -> DVec3 {
        let on_wall = |contact: &&NetworkContact| contact.partner == Partner::Wall(wall);
        let contacts = self.contacts.iter().filter(on_wall);
        -contacts.map(|contact| contact.force).sum::<DVec3>()
    }

    /// The contacts of surfaces that overlap, without their forces.
    pub(crate) fn graph(&self) -> Graph {
        let mut graph = Graph::new(self.fixed.clone());
        let touching = self.contacts.iter().filter(|contact| contact.touches());
        touching.for_each(|contact| graph.add(contact));
        graph
    }
}

impl NetworkContact {
    /// Whether the surfaces overlap.
    pub(crate) fn touches(&self) -> bool {
        self.overlap > 0.0
    }

    /// A contact of a part of a state, with the indices of the whole; the part has so many spheres.
    pub(crate) fn in_whole(self, before: &Before, spheres: u32) -> NetworkContact {
        NetworkContact {
            sphere: before.sphere(self.sphere, spheres),
            body: before.body(self.body),
            partner: match self.partner {
                Partner::Sphere { sphere, body } => Partner::Sphere {
                    sphere: before.sphere(sphere, spheres),
                    body: before.body(body),
                },
                wall => wall,
            },
            ..self
        }
    }
}

/// Bodies, and which of them touch: all of a [`Network`] that needs no forces, in 8 bytes a contact.
#[derive(Clone, Debug, Default)]
pub(crate) struct Graph {
    /// Whether each body is fixed.
    pub fixed: Vec<bool>,
    /// The bodies of each contact; [`u32::MAX`] is a wall.
    contacts: Vec<[u32; 2]>,
}

impl Graph {
    /// Bodies that touch nothing yet.
    pub fn new(fixed: Vec<bool>) -> Graph {
        Graph {
            fixed,
            contacts: Vec::new(),
        }
    }

    /// Adds a contact.
    pub fn add(&mut self, contact: &NetworkContact) {
        self.contacts.push(match contact.partner {
            Partner::Sphere { body, .. } => [contact.body, body],
            Partner::Wall(_) => [contact.body, u32::MAX],
        });
    }

    /// The contacts: a body, and the other unless that is a wall.
    pub fn contacts(&self) -> impl Iterator<Item = (usize, Option<usize>)> + '_ {
        self.contacts.iter().map(|&[one, other]| {
            let other = (other != u32::MAX).then_some(other as usize);
            (one as usize, other)
        })
    }

    /// See [`Network::degrees`].
    pub fn degrees(&self) -> Vec<u32> {
        self.degrees_among(&vec![true; self.fixed.len()])
    }

    /// See [`Network::coordination`].
    pub fn coordination(&self) -> f64 {
        let free = |body: usize| !self.fixed[body];
        mean(self.degrees().into_iter().enumerate(), free)
    }

    /// See [`Network::coordination_without_rattlers`].
    pub fn coordination_without_rattlers(&self) -> (f64, usize) {
        let mut held = vec![true; self.fixed.len()];
        loop {
            let degrees = self.degrees_among(&held);
            let mut changed = false;
            for (body, degree) in degrees.iter().enumerate() {
                if held[body] && !self.fixed[body] && *degree < 4 {
                    held[body] = false;
                    changed = true;
                }
            }
            if !changed {
                let free = |body: usize| held[body] && !self.fixed[body];
                let rattlers = held.iter().filter(|held| !**held).count();
                return (mean(degrees.into_iter().enumerate(), free), rattlers);
            }
        }
    }

    /// Contacts of each body with walls and with bodies that are `counted`.
    fn degrees_among(&self, counted: &[bool]) -> Vec<u32> {
        let mut degrees = vec![0; counted.len()];
        for (one, other) in self.contacts() {
            match other {
                None => degrees[one] += 1,
                Some(other) if counted[one] && counted[other] => {
                    degrees[one] += 1;
                    degrees[other] += 1;
                }
                Some(_) => (),
            }
        }
        degrees
    }
}

fn mean(degrees: impl Iterator<Item = (usize, u32)>, counts: impl Fn(usize) -> bool) -> f64 {
    let (mut sum, mut number) = (0.0, 0.0);
    for (_, degree) in degrees.filter(|(body, _)| counts(*body)) {
        sum += f64::from(degree);
        number += 1.0;
    }
    if number > 0.0 { sum / number } else { 0.0 }
}

/// The contacts of the last step of `state`, one by one, in the order of [`Network::contacts`]. A list of all would
/// take more memory than a large state itself.
pub fn contacts(state: &State) -> impl Iterator<Item = NetworkContact> + Clone {
    (0..state.spheres.len()).flat_map(move |index| {
        let [start, end] = [0, 1].map(|k| state.neighbour_starts[index + k] as usize);
        let once = move |entry: &usize| state.neighbours[*entry] > index as u32;
        (start..end)
            .filter(once)
            .filter_map(move |entry| contact(state, index, entry))
    })
}

/// The contact of sphere `index` with entry `entry` of its list, if there is one.
fn contact(state: &State, index: usize, entry: usize) -> Option<NetworkContact> {
    let other = state.neighbours[entry];
    let (geometry, pair) = ContactGeometry::new(state, index, entry)?;
    let size = state.params.history_size as usize;
    let history = History::of(&state.history[entry * size..(entry + 1) * size]);
    let (response, stored) = match state.params.law {
        HOOKE_VISCOUS => evaluate::<HOOKE_VISCOUS>(state, &geometry, &pair, &history),
        HOOKE_HISTORY => evaluate::<HOOKE_HISTORY>(state, &geometry, &pair, &history),
        HERTZ_MINDLIN => evaluate::<HERTZ_MINDLIN>(state, &geometry, &pair, &history),
        IMPULSE => evaluate::<IMPULSE>(state, &geometry, &pair, &history),
        CUSTOM => (Response::default(), 0.0),
        law => unreachable!("there is no contact law {law}"),
    };
    let touch = geometry.contact.touch;
    if touch.presence == 0.0 && response.force == glam::Vec3::ZERO {
        return None;
    }
    let sphere = &state.spheres[index];
    Some(NetworkContact {
        sphere: index as u32,
        body: sphere.body,
        partner: if other & WALL == 0 {
            Partner::Sphere {
                sphere: other,
                body: state.spheres[other as usize].body,
            }
        } else {
            Partner::Wall(state.facets()[(other & !WALL) as usize].wall)
        },
        overlap: touch.mean_overlap.into(),
        overlap_fraction: f64::from(touch.mean_overlap) / f64::from(geometry.radius),
        point: state.place(sphere) + geometry.arm.as_dvec3(),
        normal: geometry.contact.normal.as_dvec3(),
        force: response.force.as_dvec3(),
        torque: response.torque.as_dvec3(),
        stored: stored.into(),
        approach: -f64::from(
            geometry
                .contact
                .relative_velocity
                .dot(geometry.contact.normal),
        ),
        dissipated: f64::from(response.damping) + f64::from(response.friction),
    })
}

fn evaluate<const LAW: u32>(
    state: &State,
    geometry: &ContactGeometry,
    pair: &Pair,
    history: &History,
) -> (Response, f32) {
    let start = before::<LAW>(&geometry.contact, pair, history, &state.params);
    let response = respond::<LAW>(&geometry.contact, pair, &start, &state.params);
    (response, stored::<LAW>(&geometry.contact, pair, history))
}

/// Histogram: counts of values in intervals of equal width.
#[derive(Clone, Debug, PartialEq, serde::Serialize)]
pub struct Histogram {
    /// Borders of the intervals: one more than there are intervals.
    pub edges: Vec<f64>,
    /// Number of values in each interval. A value on a border counts in the upper interval, the largest value in the
    /// last.
    pub counts: Vec<u64>,
}

impl Histogram {
    /// Sorts `values`, none of them negative, into `bins` intervals from 0 to the largest.
    pub fn new(values: impl Iterator<Item = f64> + Clone, bins: usize) -> Histogram {
        let largest = values.clone().fold(0.0, f64::max);
        let mut histogram = Histogram::empty(largest, bins);
        values.for_each(|value| histogram.add(value));
        histogram
    }

    /// One without values, of which the largest will be `largest`.
    pub(super) fn empty(largest: f64, bins: usize) -> Histogram {
        let edges = (0..=bins).map(|edge| largest * edge as f64 / bins as f64);
        Histogram {
            edges: edges.collect(),
            counts: vec![0; bins],
        }
    }

    /// Adds a value.
    pub(super) fn add(&mut self, value: f64) {
        let bins = self.counts.len();
        let largest = self.edges[bins];
        let bin = (value / largest * bins as f64) as usize;
        self.counts[bin.min(bins - 1)] += 1;
    }
}
