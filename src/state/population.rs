//! Bodies of a [`State`] that come and go, and the room that its buffers have.

use super::buffers::Per;
use super::grid::locate;
use super::kinds::{is_kinematic, kind, kinematic_kind};
use super::layout::*;
use super::{Identity, State, world_inertia};
use crate::math::grid::{FRACTION, metres, settle, wrap};
use crate::math::rotation::{self, Quaternion};
use crate::model::clump::Clump;
use crate::model::{ContactHistory, Model, ModelBody};
use bytemuck::{Pod, Zeroable};
use glam::{DVec3, IVec3, UVec3};
use std::ops::Range;

/// Entries of the neighbour lists that there is room for at the start, for each sphere; the lists
/// grow as they need.
const NEIGHBOURS: usize = 8;

/// Slices of spheres whose lists the GPU builds one after the other, at most: the more of them, the less room
/// is needed for old lists.
pub(crate) const SLICES: u32 = 16;

/// Least spheres of a slice: enough to keep a device busy.
const LEAST_SLICE: usize = 1 << 16;

/// Properties with which bodies of a model begin.
#[derive(Clone, Debug, Default)]
pub(crate) struct Moulds {
    pub shapes: Vec<Mould>,
    /// Number of groups of bodies.
    pub groups: usize,
}

/// Properties with which bodies of a shape begin.
#[derive(Clone, Copy, Debug, Default, PartialEq, Pod, Zeroable)]
#[repr(C)]
pub(crate) struct Mould {
    /// Principal moments of inertia, kg m².
    pub inertia: DVec3,
    /// Heat capacity, J/K, if the scene has heat.
    pub heat_capacity: f64,
    pub sphere_count: u32,
    /// See [`BodyForce::displacement`].
    pub displacement: f32,
}

impl Moulds {
    /// Finds those of the bodies of a model, whose state this is.
    pub fn new(model: &Model, state: &State) -> Moulds {
        let capacity = |shape: usize| {
            let heat = model.heat.as_ref();
            heat.map_or(0.0, |heat| heat.capacities[shape])
        };
        let mould = |(shape, clump): (usize, &Clump)| Mould {
            inertia: clump.inertia,
            heat_capacity: capacity(shape),
            sphere_count: clump.spheres.len() as u32,
            displacement: state.displacements.get(shape).copied().unwrap_or(1.0),
        };
        Moulds {
            shapes: model.shapes.iter().enumerate().map(mould).collect(),
            groups: model.forces.groups.len().max(1),
        }
    }
}

impl State {
    /// Adds bodies of `model` with their ids, at the end.
    #[doc(hidden)]
    pub fn extend(&mut self, model: &Model, bodies: impl IntoIterator<Item = (u64, ModelBody)>) {
        let bodies = bodies.into_iter();
        self.reserve(bodies.size_hint().0);
        let moulds = Moulds::new(model, self);
        for (id, body) in bodies {
            self.push(&moulds, id, &body);
        }
        self.fit();
    }

    /// Makes room for so many more bodies, as if each had one sphere.
    pub(super) fn reserve(&mut self, count: usize) {
        self.bodies.reserve(count);
        self.spheres.reserve(count);
    }

    /// Adds a body with its id at the end; the buffers do not [fit](State::fit) then.
    pub(super) fn push(&mut self, moulds: &Moulds, id: u64, body: &ModelBody) {
        self.identities.push(Identity::of(id, body));
        self.push_body(moulds, body);
    }

    /// Adds a body without an identity at the end; the buffers do not [fit](State::fit) then.
    pub(crate) fn push_body(&mut self, moulds: &Moulds, body: &ModelBody) {
        let mould = &moulds.shapes[body.shape];
        let (index, first_sphere) = (self.bodies.len() as u32, self.spheres.len() as u32);
        if self.params.forces == 1 {
            self.body_forces.push(BodyForce {
                displacement: mould.displacement,
                ..BodyForce::default()
            });
        }
        self.push_quantities(mould, body);
        let sphere = Sphere {
            body: index,
            ..Sphere::default()
        };
        let spheres = self.spheres.len() + mould.sphere_count as usize;
        self.spheres.resize(spheres, sphere);
        let (cell, offset) = self.cell_of(body.position);
        let driven = kinematic_kind(moulds, body.shape, body.group);
        let (kind, moments) = match is_kinematic(body) {
            true if (driven as usize) < self.properties.len() => (driven, DVec3::ONE),
            _ => (
                kind(moulds.shapes.len(), body.shape, body.group, body.fixed),
                mould.inertia,
            ),
        };
        let inertia = world_inertia(body.orientation, moments);
        let reach = f64::from(self.properties[kind as usize].reach);
        let speed = body.velocity.length() + body.angular_velocity.length() * reach;
        let fast = speed as f32 * self.params.time_step > self.params.fast_displacement;
        self.bodies.push(Body {
            offset,
            cell,
            kind,
            orientation: rotation::orientation(body.orientation),
            velocity: body.velocity.as_vec3(),
            first_sphere,
            angular_momentum: (inertia * body.angular_velocity).as_vec3(),
            displacement_bound: if fast { -0.0 } else { 0.0 },
            ..Default::default()
        });
    }

    /// The cell of a point (m), and the place in it as [`Body::offset`] has it.
    pub(crate) fn cell_of(&self, point: DVec3) -> (IVec3, UVec3) {
        let Params {
            cell_size, period, ..
        } = self.params;
        let (cell, part) = locate(point, self.origin, cell_size);
        let offset = (part / f64::from(FRACTION)).round().as_uvec3();
        (wrap(cell, period), offset)
    }

    /// Takes bodies away, given by their indices in increasing order, with their spheres and contacts; what these have
    /// dissipated goes to [`State::gone`]. The others keep their order, and their contacts their histories.
    pub fn remove(&mut self, bodies: &[u32]) {
        let spheres = self.spheres_of_all(bodies);
        for own in &spheres {
            for load in &self.sphere_loads[own.clone()] {
                self.gone.add(load);
            }
        }
        if !self.body_forces.is_empty() {
            for &body in bodies {
                self.gone.add_forces(&self.body_forces[body as usize]);
            }
        }
        if !self.body_bonds.is_empty() {
            for &body in bodies {
                self.gone.add_bonds(&self.body_bonds[body as usize]);
            }
        }
        self.remove_contacts(&spheres);
        self.remove_elements(bodies);
    }

    /// Takes the contacts of spheres that go out of the lists, and wakes the others that had them.
    fn remove_contacts(&mut self, leaving: &[Range<usize>]) {
        let places = places(self.spheres.len(), leaving);
        // Both move towards the front, so each is read before it is overwritten.
        let size = self.params.history_size as usize;
        let (mut end, mut kept) = (0, 0);
        for sphere in (0..places.len()).filter(|&sphere| places[sphere] != GONE) {
            let [from, to] = [0, 1].map(|k| self.neighbour_starts[sphere + k] as usize);
            // The start of this list may be overwritten: it was read before.
            self.neighbour_starts[kept] = end as u32;
            for entry in from..to {
                let other = self.neighbours[entry];
                let place = match other & WALL {
                    0 => places[other as usize],
                    _ => other,
                };
                if place == GONE {
                    // What it may have lain on is gone.
                    self.bodies[self.spheres[sphere].body as usize].still = 0;
                    continue;
                }
                self.neighbours[end] = place;
                self.history
                    .copy_within(entry * size..(entry + 1) * size, end * size);
                end += 1;
            }
            kept += 1;
        }
        self.neighbour_starts[kept] = end as u32;
        self.neighbour_starts.truncate(kept + 1);
        self.stats[0].neighbours = end as u32;
    }

    /// Takes the elements of bodies, and of their spheres, out of all buffers but the neighbour lists: all that there is
    /// to do for a copy that has no lists.
    pub(crate) fn remove_elements(&mut self, bodies: &[u32]) {
        let Some(&first) = bodies.first() else {
            return;
        };
        let spheres = self.spheres_of_all(bodies);
        self.take_out_of_buffers(&runs_of(bodies), &spheres);
        self.forget(bodies);
        let first = first as usize;
        let mut next = match self.bodies[..first].last() {
            Some(before) => self.spheres_of(before).end,
            None => 0,
        };
        for index in first..self.bodies.len() {
            self.bodies[index].first_sphere = next as u32;
            let own = self.spheres_of(&self.bodies[index]);
            next = own.end;
            for sphere in &mut self.spheres[own] {
                sphere.body = index as u32;
            }
        }
        self.neighbour_starts.truncate(self.spheres.len() + 1);
        self.fit();
    }

    /// [`State::remove_elements`] of a [free](State::free) copy: so many spheres go with the bodies, and bonds stay as many as there were.
    #[cfg(all(feature = "cpu", feature = "gpu"))]
    pub(crate) fn remove_free(&mut self, bodies: &[u32], spheres: u32) {
        self.forget(bodies);
        let Params {
            body_count,
            sphere_count,
            ..
        } = self.params;
        self.fit_free(body_count - bodies.len() as u32, sphere_count - spheres);
    }

    /// Adds the bodies of another state, which has those alone, at the end of a [free](State::free) copy.
    #[cfg(all(feature = "cpu", feature = "gpu"))]
    pub(crate) fn extend_free(&mut self, new: &State) {
        new.identities
            .iter()
            .for_each(|own| self.identities.push(own));
        let Params {
            body_count,
            sphere_count,
            ..
        } = self.params;
        self.fit_free(
            body_count + new.params.body_count,
            sphere_count + new.params.sphere_count,
        );
    }

    /// [`State::fit`] of a [free](State::free) copy.
    #[cfg(all(feature = "cpu", feature = "gpu"))]
    fn fit_free(&mut self, bodies: u32, spheres: u32) {
        self.set_counts(bodies, spheres);
        self.stats[0].stale = 1;
        if bodies == 0 {
            self.make_room();
        }
    }

    /// Takes bodies out of all that names them besides the buffers that have elements for each.
    fn forget(&mut self, bodies: &[u32]) {
        self.identities.take_out(&runs_of(bodies));
        let place = |body: u32| {
            let before = bodies.partition_point(|&gone| gone < body);
            (bodies.get(before) != Some(&body)).then_some(body - before as u32)
        };
        let mut actions = std::mem::take(&mut self.actions);
        actions.retain_mut(|action| {
            let other = match action.kind {
                SPRING => place(action.other),
                _ => Some(action.other),
            };
            let (Some(body), Some(other)) = (place(action.body), other) else {
                return false;
            };
            (action.body, action.other) = (body, other);
            true
        });
        self.set_actions(actions);
        if self.bonds.is_empty() {
            return;
        }
        let mut bonds = std::mem::take(&mut self.bonds);
        bonds.retain_mut(|bond| match (place(bond.first), place(bond.second)) {
            (Some(first), Some(second)) => {
                (bond.first, bond.second) = (first, second);
                true
            }
            _ => false,
        });
        self.set_bonds(bonds);
    }

    /// The spheres of bodies that are in increasing order.
    fn spheres_of_all(&self, bodies: &[u32]) -> Vec<Range<usize>> {
        let bodies = bodies.iter().map(|&body| &self.bodies[body as usize]);
        runs(bodies.map(|body| self.spheres_of(body)))
    }

    /// Gives all buffers the lengths that go with the numbers of bodies and spheres, and has the
    /// neighbour lists built in the next step. What is added has touched nothing yet.
    pub(crate) fn fit(&mut self) {
        let spheres = self.spheres.len();
        self.set_counts(self.bodies.len() as u32, spheres as u32);
        // The lists of new spheres are empty.
        let end = self.neighbour_starts.last().copied().unwrap_or(0);
        self.neighbour_starts.resize(spheres + 1, end);
        self.resize_buffers(|_| true);
        self.stats[0].stale = 1;
    }

    /// Sets the numbers of bodies and spheres, and what follows from them.
    pub(crate) fn set_counts(&mut self, bodies: u32, spheres: u32) {
        let params = &mut self.params;
        params.body_count = bodies;
        params.sphere_count = spheres;
        let spheres = spheres as usize;
        params.bucket_count = spheres.next_power_of_two() as u32;
        params.stripes = spheres.div_ceil(SPHERES_OF_STRIPE as usize).max(1) as u32;
        params.neighbour_capacity = params.neighbour_capacity.max((NEIGHBOURS * spheres) as u32);
        params.slice_length = spheres.div_ceil(SLICES as usize).max(LEAST_SLICE) as u32;
    }

    /// Frees the elements of bodies, spheres and lists, but for the identities: they are elsewhere, and their numbers stay.
    #[cfg(all(feature = "cpu", feature = "gpu"))]
    pub(crate) fn free(&mut self) {
        if self.params.body_count > 0 {
            self.free_buffers();
        }
    }

    /// Frees what the search for neighbours makes anew: spheres, buckets, and lists that have no history.
    #[cfg(all(feature = "cpu", feature = "gpu"))]
    pub(crate) fn free_search(&mut self) {
        let search = [&mut self.buckets, &mut self.slots, &mut self.bucket_starts];
        search.into_iter().for_each(|buffer| *buffer = Vec::new());
        (self.unsorted, self.sorted) = (Vec::new(), Vec::new());
        self.spheres = Vec::new();
        if self.params.history_size == 0 {
            self.neighbours = Vec::new();
        }
    }

    /// Whether somebody else has the elements of bodies and spheres: see [`State::free`].
    #[cfg(all(feature = "cpu", feature = "gpu"))]
    pub(crate) fn is_free(&self) -> bool {
        self.bodies.is_empty() && self.params.body_count > 0
    }

    /// Has elements again after [`State::free`], all of them zero.
    pub(crate) fn make_room(&mut self) {
        self.resize_buffers(|_| true);
    }

    /// A copy without bodies, and what comes with them: spheres, lists, bonds.
    pub(crate) fn outline(&self) -> State {
        let mut outline = State {
            origin: self.origin,
            gone: self.gone,
            traffic: self.traffic.clone(),
            earlier: self.earlier,
            params: self.params,
            kinematic_walls: self.kinematic_walls.clone(),
            anchors: self.anchors.clone(),
            displacements: self.displacements.clone(),
            ..self.buffers_of_model()
        };
        outline.params.neighbour_capacity = 0;
        outline.params.bond_count = 0;
        outline.set_counts(0, 0);
        outline
    }

    /// Starts with lists that have contact histories: the first step builds others, and carries these over.
    pub(super) fn start_with(&mut self, history: &ContactHistory) {
        let ContactHistory {
            ends,
            entries,
            elements,
            ..
        } = history;
        let count = entries.len() as u32;
        self.set_neighbour_capacity(self.params.neighbour_capacity.max(count));
        let (listed, others) = self.neighbour_starts[1..].split_at_mut(ends.len());
        listed.copy_from_slice(ends);
        others.fill(count);
        self.neighbours[..entries.len()].copy_from_slice(entries);
        self.history[..elements.len()].copy_from_slice(elements);
        self.stats[0].neighbours = count;
        self.place_spheres();
    }

    /// Puts the spheres where the first step will find them, for those who ask for the contacts before it.
    pub(crate) fn place_spheres(&mut self) {
        let Params {
            cell_size, period, ..
        } = self.params;
        for (index, body) in self.bodies.iter().enumerate() {
            let own = self.spheres_of(body);
            let properties = *self.properties_of(body);
            let orientation = Quaternion::of(body.orientation);
            let spin = rotation::angular_velocity(
                orientation,
                body.angular_momentum,
                properties.inverse_inertia,
            );
            let home = metres(body.offset, cell_size);
            let members = &self.members[properties.first_member as usize..];
            for (member, sphere) in members.iter().zip(&mut self.spheres[own]) {
                let arm = orientation.rotate(member.center);
                let (cell, offset) = settle(body.cell, home + arm, cell_size, period);
                *sphere = Sphere {
                    offset,
                    radius: member.radius,
                    cell,
                    body: index as u32,
                    velocity: body.velocity + spin.cross(arm),
                    inverse_mass: properties.inverse_mass,
                    angular_velocity: spin,
                    tags: member.material | properties.group << GROUP_SHIFT,
                };
            }
        }
    }

    /// Gives the neighbour lists room for `capacity` entries.
    pub fn set_neighbour_capacity(&mut self, capacity: u32) {
        self.params.neighbour_capacity = capacity;
        self.resize_buffers(|per| matches!(per, Per::Entry | Per::History));
    }

    /// Room to make for neighbour lists that have grown to `count` entries: they will grow again.
    pub fn neighbour_room(count: u32) -> u32 {
        count.saturating_add(count / 4).saturating_add(1024)
    }
}

/// Temperature that a body of a heat capacity (J/K) gains by heat, K/J; a fixed one keeps its own.
pub(super) fn inverse_capacity(capacity: f64, fixed: bool) -> f32 {
    match fixed {
        true => 0.0,
        false => (1.0 / capacity) as f32,
    }
}

/// The place of an element that goes. No sphere has it: it would be that of a wall.
const GONE: u32 = u32::MAX;

/// Returns the new place of each of `count` elements when others leave, [`GONE`] for these.
fn places(count: usize, leaving: &[Range<usize>]) -> Vec<u32> {
    let mut places = Vec::with_capacity(count);
    let mut next = 0;
    for own in leaving {
        let stay = own.start - places.len();
        places.extend(next..next + stay as u32);
        next += stay as u32;
        places.resize(own.end, GONE);
    }
    places.extend(next..next + (count - places.len()) as u32);
    places
}

/// Bodies in increasing order, as ranges.
fn runs_of(bodies: &[u32]) -> Vec<Range<usize>> {
    let bodies = bodies.iter().map(|&body| body as usize);
    runs(bodies.map(|body| body..body + 1))
}

/// Ranges that follow each other are put together.
fn runs(ranges: impl Iterator<Item = Range<usize>>) -> Vec<Range<usize>> {
    let mut runs: Vec<Range<usize>> = Vec::new();
    for own in ranges {
        match runs.last_mut() {
            Some(run) if run.end == own.start => run.end = own.end,
            _ => runs.push(own),
        }
    }
    runs
}

/// Takes ranges of elements out, in increasing order; the others close up.
pub(super) fn take_out<T: Copy>(elements: &mut Vec<T>, leaving: &[Range<usize>]) {
    let Some(first) = leaving.first().filter(|_| !elements.is_empty()) else {
        return;
    };
    let mut end = first.start;
    let starts = leaving.iter().skip(1).map(|own| own.start);
    for (own, next) in leaving.iter().zip(starts.chain([elements.len()])) {
        elements.copy_within(own.end..next, end);
        end += next - own.end;
    }
    elements.truncate(end);
}
