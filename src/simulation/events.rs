//! Events: contacts that begin and end, and bodies that leave.

use std::collections::BTreeSet;

use super::Simulation;
use super::network::Partner;
use crate::model::error::{Error, Result};
use crate::model::handle::{BodyHandle, GroupHandle, WallHandle};
use crate::state::{Field, State};
use crate::step::Patience;

/// Something that happened in a simulation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Event {
    /// Two bodies touch that did not before; the first is the one with the smaller number.
    ContactBegan([BodyHandle; 2]),
    /// Two bodies do not touch any more.
    ContactEnded([BodyHandle; 2]),
    /// A body touches a wall that it did not touch before.
    WallContactBegan(WallHandle, BodyHandle),
    /// A body does not touch a wall any more.
    WallContactEnded(WallHandle, BodyHandle),
    /// A body came in through an inlet, or as a fragment of one that burst.
    BodyEntered(BodyHandle),
    /// A body went out through an outlet, or burst.
    BodyLeft(BodyHandle),
    /// A bond of two bodies broke.
    BondBroke([BodyHandle; 2]),
}

/// What touches.
type Touch = Event;

/// What a caller wants to hear of.
#[derive(Debug, Default)]
pub(super) struct Ears {
    /// Pairs of groups.
    groups: BTreeSet<[GroupHandle; 2]>,
    walls: BTreeSet<WallHandle>,
    flow: bool,
    bonds: bool,
    /// The bonds that were broken at the last look, by their numbers in the model.
    broken: BTreeSet<usize>,
    /// Steps from one look at contacts to the next; 0 for one at the end of each call.
    every: u64,
    /// What touched at the last look.
    touching: BTreeSet<Touch>,
    events: Vec<Event>,
}

impl Ears {
    fn hear_contacts(&self) -> bool {
        !self.groups.is_empty() || !self.walls.is_empty()
    }

    /// The first step after `step` at whose end to look at contacts.
    pub(super) fn next(&self, step: u64) -> Option<u64> {
        ((self.hear_contacts() || self.bonds) && self.every > 0)
            .then(|| (step / self.every + 1) * self.every)
    }

    /// Bodies have come and gone between steps, not by a call of the caller's.
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
    /// From now on, tells of contacts between bodies of two groups, which may be the same: see [`Simulation::events`].
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

    /// From now on, tells of contacts of bodies with a wall: see [`Simulation::events`].
    ///
    /// # Errors
    /// If the wall does not exist.
    pub fn watch_wall(&mut self, wall: WallHandle) -> Result<()> {
        self.check_wall(wall)?;
        self.ears.walls.insert(wall);
        Ok(())
    }

    /// From now on, tells of bodies that inlets, outlets and explosions bring and take.
    pub fn watch_flow(&mut self) {
        self.ears.flow = true;
    }

    /// From now on, tells of bonds that break: see [`Simulation::events`]. When, where and with what energy they did
    /// [`Simulation::bonds`] has.
    pub fn watch_bonds(&mut self) {
        self.ears.bonds = true;
    }

    /// Looks at contacts and bonds at the end of every `steps`th step, besides the end of each call of [`Simulation::step`]; 0, as
    /// at the start, for the latter alone. A contact that begins and ends between two looks is not told of. Each look
    /// costs about as much as a step, and on a GPU the way of the contacts to the host.
    pub fn set_event_interval(&mut self, steps: u64) {
        self.ears.every = steps;
    }

    /// Events since the last call, look by look; of one look, in the order of [`Event`].
    pub fn events(&mut self) -> Vec<Event> {
        std::mem::take(&mut self.ears.events)
    }

    /// Looks at contacts, if somebody wants to know.
    pub(super) async fn listen(&mut self, patience: Patience) -> Result<()> {
        if self.ears.bonds {
            self.listen_to_bonds(patience).await?;
        }
        if !self.ears.hear_contacts() {
            return Ok(());
        }
        self.fetch_contacts_by(patience).await?;
        let identities = &self.state.identities;
        let body = |index: u32| BodyHandle::from_id(identities[index as usize].id);
        let group = |index: u32| GroupHandle::from_index(identities[index as usize].group);
        let ears = &self.ears;
        let heard = self.fetched().contacts().filter_map(|contact| {
            if contact.overlap <= 0.0 {
                return None;
            }
            match contact.partner {
                Partner::Wall(wall) => {
                    let wall = WallHandle::from_index(wall as usize);
                    let own = Event::WallContactBegan(wall, body(contact.body));
                    ears.walls.contains(&wall).then_some(own)
                }
                Partner::Sphere { body: other, .. } => {
                    let pair = [contact.body, other];
                    let groups = pair.map(group);
                    let watched = [groups[0].min(groups[1]), groups[0].max(groups[1])];
                    let bodies = pair.map(body);
                    let bodies = [bodies[0].min(bodies[1]), bodies[0].max(bodies[1])];
                    let own = Event::ContactBegan(bodies);
                    ears.groups.contains(&watched).then_some(own)
                }
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
        if self.state.bonds.is_empty() {
            return Ok(());
        }
        self.fetch_by(patience, &[Field::Bonds]).await?;
        let State {
            bonds, identities, ..
        } = &self.state;
        let body = |index: u32| BodyHandle::from_id(identities[index as usize].id);
        let ears = &mut self.ears;
        for bond in bonds.iter().filter(|bond| bond.broken != 0) {
            if ears.broken.insert(bond.source as usize) {
                let bodies = [body(bond.first), body(bond.second)];
                ears.events.push(Event::BondBroke(bodies));
            }
        }
        Ok(())
    }
}

/// The end of what has begun.
fn ended(touch: &Touch) -> Event {
    match *touch {
        Event::ContactBegan(bodies) => Event::ContactEnded(bodies),
        Event::WallContactBegan(wall, body) => Event::WallContactEnded(wall, body),
        other => other,
    }
}
