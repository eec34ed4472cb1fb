//! Bodies of a [`State`] that come and go, and the room that its buffers have.

use super::buffers::Per;
use super::grid::locate;
use super::kinds::kind;
use super::layout::*;
use super::{Identity, State, world_inertia};
use crate::math::grid::{FRACTION, wrap};
use crate::math::rotation;
use crate::model::heat::Heat;
use crate::model::{ContactHistory, Model, ModelBody};
use glam::{DVec3, IVec3, UVec3};

/// Entries of the neighbour lists that there is room for at the start, for each sphere; the lists
/// grow as they need.
const NEIGHBOURS: usize = 8;

/// Slices of spheres whose lists the GPU builds one after the other, at most: the more of them, the less room
/// is needed for old lists.
pub(crate) const SLICES: u32 = 16;

/// Least spheres of a slice: enough to keep a device busy.
const LEAST_SLICE: usize = 1 << 16;

impl State {
    /// Adds bodies of `model` with their ids, at the end.
    pub(crate) fn extend(
        &mut self,
        model: &Model,
        bodies: impl IntoIterator<Item = (u64, ModelBody)>,
    ) {
        for (id, body) in bodies {
            let clump = &model.shapes[body.shape];
            let (index, first_sphere) = (self.bodies.len() as u32, self.spheres.len() as u32);
            self.identities.push(Identity {
                id,
                shape: body.shape,
                fixed: body.fixed,
                group: body.group,
            });
            if self.params.forces == 1 {
                self.body_forces.push(BodyForce {
                    displacement: self.displacements.get(body.shape).copied().unwrap_or(1.0),
                    ..BodyForce::default()
                });
            }
            self.push_quantities(model, &body);
            self.spheres.extend(clump.spheres.iter().map(|_| Sphere {
                body: index,
                ..Sphere::default()
            }));
            let (cell, offset) = self.cell_of(body.position);
            let inertia = world_inertia(body.orientation, clump.inertia);
            let kind = kind(model, body.shape, body.group, body.fixed);
            let reach = f64::from(self.properties[kind as usize].reach);
            let speed = body.velocity.length() + body.angular_velocity.length() * reach;
            let fast = speed as f32 * self.params.time_step > self.params.fast_way;
            self.bodies.push(Body {
                offset,
                cell,
                kind,
                orientation: rotation::orientation(body.orientation),
                velocity: body.velocity.as_vec3(),
                first_sphere,
                angular_momentum: (inertia * body.angular_velocity).as_vec3(),
                drift: if fast { -0.0 } else { 0.0 },
                ..Default::default()
            });
        }
        self.fit();
    }

    /// The cell of a point (m), and the place in it as [`Body::offset`] has it.
    pub(super) fn cell_of(&self, point: DVec3) -> (IVec3, UVec3) {
        let Params {
            cell_size, period, ..
        } = self.params;
        let (cell, part) = locate(point, self.origin, cell_size);
        let offset = (part / f64::from(FRACTION)).round().as_uvec3();
        (wrap(cell, period), offset)
    }

    /// Takes away the bodies that are not to `keep`, with their spheres and contacts; what these have
    /// dissipated goes to [`State::gone`]. The others keep their order, and their contacts their
    /// histories.
    pub(crate) fn retain(&mut self, keep: &[bool]) {
        let kept_sphere: Vec<bool> = self
            .spheres
            .iter()
            .map(|sphere| keep[sphere.body as usize])
            .collect();
        for (load, _) in self
            .sphere_loads
            .iter()
            .zip(&kept_sphere)
            .filter(|(_, kept)| !**kept)
        {
            self.gone.add(load);
        }
        for (force, _) in self
            .body_forces
            .iter()
            .zip(keep)
            .filter(|(_, kept)| !**kept)
        {
            self.gone.add_drag(force);
        }
        let (new_body, new_sphere) = (places(keep), places(&kept_sphere));

        // Both move towards the front, so each is read before it is overwritten.
        let size = self.params.history_size as usize;
        let (mut end, mut spheres) = (0, 0);
        for sphere in (0..kept_sphere.len()).filter(|&sphere| kept_sphere[sphere]) {
            let [from, to] = [0, 1].map(|k| self.neighbour_starts[sphere + k] as usize);
            // The start of this list may be overwritten: it was read before.
            self.neighbour_starts[spheres] = end as u32;
            for entry in from..to {
                let other = self.neighbours[entry];
                let stays = other & WALL != 0 || kept_sphere[other as usize];
                if stays {
                    self.neighbours[end] = match other & WALL {
                        0 => new_sphere[other as usize],
                        _ => other,
                    };
                    self.history
                        .copy_within(entry * size..(entry + 1) * size, end * size);
                    end += 1;
                } else {
                    // What it may have lain on is gone.
                    self.bodies[self.spheres[sphere].body as usize].still = 0;
                }
            }
            spheres += 1;
        }
        self.neighbour_starts[spheres] = end as u32;
        self.neighbour_starts.truncate(spheres + 1);
        self.stats[0].neighbours = end as u32;

        retain(&mut self.identities, keep);
        self.retain_in_buffers(keep, &kept_sphere);
        let stays = |action: &Action| {
            keep[action.body as usize] && (action.kind != SPRING || keep[action.other as usize])
        };
        let mut actions = std::mem::take(&mut self.actions);
        actions.retain(stays);
        for action in &mut actions {
            action.body = new_body[action.body as usize];
            if action.kind == SPRING {
                action.other = new_body[action.other as usize];
            }
        }
        self.set_actions(actions);
        for sphere in &mut self.spheres {
            sphere.body = new_body[sphere.body as usize];
        }
        let mut first = 0;
        for body in &mut self.bodies {
            body.first_sphere = first;
            first += self.properties[body.kind as usize].sphere_count;
        }
        self.fit();
    }

    /// Gives all buffers the lengths that go with the numbers of bodies and spheres, and has the
    /// neighbour lists built in the next step. What is added has touched nothing yet.
    pub(super) fn fit(&mut self) {
        let spheres = self.spheres.len();
        let params = &mut self.params;
        params.body_count = self.bodies.len() as u32;
        params.sphere_count = spheres as u32;
        params.bucket_count = spheres.next_power_of_two() as u32;
        params.stripes = spheres.div_ceil(SPHERES_OF_STRIPE as usize).max(1) as u32;
        params.neighbour_capacity = params.neighbour_capacity.max((NEIGHBOURS * spheres) as u32);
        params.slice_length = spheres.div_ceil(SLICES as usize).max(LEAST_SLICE) as u32;
        // The lists of new spheres are empty.
        let end = self.neighbour_starts.last().copied().unwrap_or(0);
        self.neighbour_starts.resize(spheres + 1, end);
        self.resize_buffers(|_| true);
        self.stats[0].stale = 1;
    }

    /// Starts with lists that have contact histories: the first step builds others, and carries these over.
    pub(super) fn start_with(&mut self, history: &ContactHistory) {
        let ContactHistory {
            size,
            ends,
            entries,
            elements,
        } = history;
        if *size != self.params.history_size {
            return;
        }
        let count = entries.len() as u32;
        self.set_neighbour_capacity(self.params.neighbour_capacity.max(count));
        let (listed, others) = self.neighbour_starts[1..].split_at_mut(ends.len());
        listed.copy_from_slice(ends);
        others.fill(count);
        self.neighbours[..entries.len()].copy_from_slice(entries);
        self.history[..elements.len()].copy_from_slice(elements);
        self.stats[0].neighbours = count;
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

/// What heat does to the temperature of a body, K/J; a fixed one keeps its own.
pub(super) fn inverse_capacity(heat: &Heat, shape: usize, fixed: bool) -> f32 {
    match fixed {
        true => 0.0,
        false => (1.0 / heat.capacities[shape]) as f32,
    }
}

/// Where each element goes of those that are kept.
pub(super) fn places(keep: &[bool]) -> Vec<u32> {
    let mut next = 0;
    keep.iter()
        .map(|&kept| {
            let place = next;
            next += u32::from(kept);
            place
        })
        .collect()
}

pub(super) fn retain<T>(elements: &mut Vec<T>, keep: &[bool]) {
    let mut keep = keep.iter();
    elements.retain(|_| keep.next().is_some_and(|kept| *kept));
}
