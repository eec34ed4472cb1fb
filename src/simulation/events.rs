//! Events: contacts that begin and end, and bodies that leave.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::ControlFlow;

use super::Simulation;
use super::network::Partner;
use super::snapshot::Snapshot;
use crate::model::error::{Error, Result};
use crate::model::handle::{BodyHandle, GroupHandle, WallHandle};
use crate::step::Patience;

/// Something that happened in a simulation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Event {
    /// Two bodies that did not touch before touch; the first has the smaller number.
    ContactBegan([BodyHandle; 2]),
    /// Two bodies no longer touch.
    ContactEnded([BodyHandle; 2]),
    /// A body touches a wall that it did not touch before.
    WallContactBegan(WallHandle, BodyHandle),
    /// A body no longer touches a wall.
    WallContactEnded(WallHandle, BodyHandle),
    /// A body came in through an inlet, or as a fragment of one that burst.
    BodyEntered(BodyHandle),
    /// A body went out through an outlet, or burst.
    BodyLeft(BodyHandle),
    /// A bond of two bodies broke.
    BondBroke([BodyHandle; 2]),
    /// A broken bond of two bodies healed.
    BondHealed([BodyHandle; 2]),
}

/// Two things that touch.
type Touch = Event;

/// Events that a caller has asked for.
#[derive(Debug, Default)]
pub(super) struct Ears {
    /// Pairs of groups.
    groups: BTreeSet<[GroupHandle; 2]>,
    walls: BTreeSet<WallHandle>,
    flow: bool,
    bonds: bool,
    /// Number of breaks and healings of bonds up to the last look, by the numbers of the bonds in the model.
    changes: BTreeMap<usize, u64>,
    /// Steps from one look at contacts to the next; 0 for a look only at the end of each call.
    every: u64,
    /// Pairs that touched at the last look.
    touching: BTreeSet<Touch>,
    events: Vec<Event>,
}

impl Ears {
    fn hear_contacts(&self) -> bool {
        !self.groups.is_empty() || !self.walls.is_empty()
    }

    /// The next step after `step` that ends with a look at contacts.
    pub(super) fn next(&self, step: u64) -> Option<u64> {
        ((self.hear_contacts() || self.bonds) && self.every > 0)
            .then(|| (step / self.every + 1) * self.every)
    }

    /// Records bodies that came or left between steps without a call of the caller's.
    pub(super) fn come_and_go(
        &mut self,
        gone: impl Iterator<Item = u64>,
        new: impl Iterator<Item = u64>,
    ) {
        if self.flow {
            let gone = gone.map(|id| Event::BodyLeft(BodyHandle::from_id(id)));
            let new = new.map(|id| Event::BodyEntered(BodyHandle::from_id(id)));
            self.events.extend(gone.chain(new));
        }
    }
}

impl Simulation {
    /// Reports contacts between bodies of two groups (or of one) from now on: see [`Simulation::events`].
    ///
    /// # Errors
    /// If a group does not exist.
    pub fn watch_contacts(&mut self, a: GroupHandle, b: GroupHandle) -> Result<()> {
        let count = self.model.forces.groups.len();
        if let Some(wrong) = [a, b].iter().find(|group| group.index() >= count) {
            return Err(Error::Tuned(format!(
                "there is no group {}; the scene has {count}, numbered from 0",
                wrong.index()
            )));
        }
        self.ears.groups.insert([a.min(b), a.max(b)]);
        Ok(())
    }

    /// Reports contacts of bodies with a wall from now on: see [`Simulation::events`].
    ///
    /// # Errors
    /// If the wall does not exist.
    pub fn watch_wall(&mut self, wall: WallHandle) -> Result<()> {
        self.check_wall(wall)?;
        self.ears.walls.insert(wall);
        Ok(())
    }

    /// Reports bodies that inlets, outlets and explosions add and remove from now on.
    pub fn watch_flow(&mut self) {
        self.ears.flow = true;
    }

    /// Reports bonds that break or heal from now on: see [`Simulation::events`]. [`Simulation::bonds`] has the time and place of the
    /// last change of each, and the energy of its break.
    pub fn watch_bonds(&mut self) {
        self.ears.bonds = true;
    }

    /// Sets how often contacts and bonds are checked: at the end of every `steps`th step as well as at the end of
    /// each call of [`Simulation::step`]; 0, the value at the start, for the latter alone. A contact that begins and
    /// ends between two checks is not reported; all breaks and healings are. A check costs about as much as a step, and on a GPU also a copy of
    /// the contacts to the host.
    pub fn set_event_interval(&mut self, steps: u64) {
        self.ears.every = steps;
    }

    /// Events since the last call, check by check; within a check, in the order of [`Event`].
    pub fn events(&mut self) -> Vec<Event> {
        std::mem::take(&mut self.ears.events)
    }

    /// Checks contacts, if a caller has asked for them.
    pub(super) async fn listen(&mut self, patience: Patience) -> Result<()> {
        if self.ears.bonds {
            self.listen_to_bonds(patience).await?;
        }
        if !self.ears.hear_contacts() {
            return Ok(());
        }
        let mut touching = Vec::new();
        let read = self.for_each_part_by(patience, &Snapshot::CONTACTS, |part, before| {
            let contacts = part.contacts().filter(|contact| contact.overlap > 0.0);
            touching.extend(contacts.map(|contact| {
                let other = match contact.partner {
                    Partner::Sphere { body, .. } => Ok(before.body(body)),
                    Partner::Wall(wall) => Err(WallHandle::from_index(wall as usize)),
                };
                (before.body(contact.body), other)
            }));
            ControlFlow::Continue(())
        });
        read.await?;
        let identities = &self.state.identities;
        let body = |index: u32| BodyHandle::from_id(identities.id(index as usize));
        let group = |index: u32| GroupHandle::from_index(identities[index as usize].group);
        let ears = &self.ears;
        let heard = touching.into_iter().filter_map(|(own, other)| match other {
            Err(wall) => {
                let began = Event::WallContactBegan(wall, body(own));
                ears.walls.contains(&wall).then_some(began)
            }
            Ok(other) => {
                let pair = [own, other];
                let groups = pair.map(group);
                let watched = [groups[0].min(groups[1]), groups[0].max(groups[1])];
                let bodies = pair.map(body);
                let bodies = [bodies[0].min(bodies[1]), bodies[0].max(bodies[1])];
                let began = Event::ContactBegan(bodies);
                ears.groups.contains(&watched).then_some(began)
            }
        });
        let touching: BTreeSet<Touch> = heard.collect();
        let began = touching.difference(&self.ears.touching).copied();
        let ended = self.ears.touching.difference(&touching).map(ended);
        let mut new: Vec<Event> = began.chain(ended).collect();
        new.sort_unstable();
        self.ears.events.extend(new);
        self.ears.touching = touching;
        Ok(())
    }

    async fn listen_to_bonds(&mut self, patience: Patience) -> Result<()> {
        if self.state.params.bond_count == 0 {
            return Ok(());
        }
        let bonds = self.fetch_changed_bonds(patience).await?;
        let identities = &self.state.identities;
        let body = |index: u32| BodyHandle::from_id(identities.id(index as usize));
        let ears = &mut self.ears;
        for bond in bonds {
            let bodies = [body(bond.first), body(bond.second)];
            // Each break but the last was followed by a healing; and so was that, if the bond is whole.
            let now = 2 * u64::from(bond.breaks) - u64::from(bond.broken != 0);
            let before = ears.changes.insert(bond.source as usize, now);
            let new = (before.unwrap_or(0)..now).map(|change| match change % 2 {
                0 => Event::BondBroke(bodies),
                _ => Event::BondHealed(bodies),
            });
            ears.events.extend(new);
        }
        Ok(())
    }
}

/// The event that ends this contact.
fn ended(touch: &Touch) -> Event {
    match *touch {
        Event::ContactBegan(bodies) => Event::ContactEnded(bodies),
        Event::WallContactBegan(wall, body) => Event::WallContactEnded(wall, body),
        other => other,
    }
}
