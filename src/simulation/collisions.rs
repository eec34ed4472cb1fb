//! Contacts between looks: collisions, and the largest force on each body that may burst.

use std::ops::ControlFlow;

use super::Simulation;
use super::network::{NetworkContact, Partner, contacts};
use super::snapshot::Snapshot;
use super::totals::Ends;
use crate::model::error::Result;
use crate::model::flow::Touching;
use crate::state::State;
use crate::step::{Before, Patience};

/// Steps from one look at the forces on bodies that may burst to the next. A contact of a collision lasts some fifty.
const LOOK: u64 = 5;

impl Simulation {
    /// Step count at which contacts are looked at next.
    pub(super) fn next_contacts(&self) -> Option<u64> {
        let model = &self.model;
        let forces = model.breakage.iter().any(|rule| rule.force.is_some());
        let forces = forces.then(|| (self.steps / LOOK + 1) * LOOK);
        match model.flow.collisions {
            true => Some(self.steps + 1),
            false => forces,
        }
    }

    /// Records the contacts of the last step.
    pub(super) async fn note_contacts(&mut self, patience: Patience) -> Result<()> {
        if self.steps.is_multiple_of(LOOK) {
            for (body, force) in self.largest_forces(patience).await?.into_iter().enumerate() {
                let identity = self.state.identities.at(body);
                let rule = self.model.breakage_of(identity.shape);
                if force > 0.0 && rule.is_some_and(|rule| rule.force.is_some()) {
                    let largest = self.state.traffic.peaks.entry(identity.id).or_default();
                    *largest = largest.max(force);
                }
            }
        }
        if self.model.flow.collisions {
            let touching = self.touching(patience).await?;
            self.state.traffic.collisions.follow(touching);
        }
        Ok(())
    }

    async fn touching(&mut self, patience: Patience) -> Result<Vec<Touching>> {
        let mut touching = Vec::new();
        let read = self.for_each_part_with(
            Ends::OfBondsAndContacts,
            patience,
            &Snapshot::CONTACTS,
            |part, before| {
                let contacts = contacts(part.state).filter(|contact| contact.overlap > 0.0);
                touching.extend(contacts.map(|contact| touching_of(part.state, before, &contact)));
                ControlFlow::Continue(())
            },
        );
        read.await?;
        let identities = &self.state.identities;
        let surfaces = touching.iter_mut().flat_map(|own| &mut own.surfaces);
        for (owner, _) in surfaces.filter(|(owner, _)| *owner != Touching::WALL) {
            *owner = identities.id(*owner as usize);
        }
        Ok(touching)
    }

    /// The largest contact force on each body in the last step, N; none if no body bursts by its force.
    pub(super) async fn largest_forces(&mut self, patience: Patience) -> Result<Vec<f64>> {
        let mut rules = self.model.breakage.iter();
        if rules.all(|rule| rule.force.is_none()) {
            return Ok(Vec::new());
        }
        let mut largest = vec![0.0_f64; self.body_count()];
        let read = self.for_each_part_by(patience, &Snapshot::CONTACTS, |part, before| {
            for contact in contacts(part.state) {
                let force = contact.force.length();
                let mut note = |body: u32| {
                    let own = &mut largest[before.body(body) as usize];
                    *own = own.max(force);
                };
                note(contact.body);
                if let Partner::Sphere { body, .. } = contact.partner {
                    note(body);
                }
            }
            ControlFlow::Continue(())
        });
        read.await?;
        Ok(largest)
    }
}

/// A contact of a part, whose bodies have their indices in the whole in place of their ids.
fn touching_of(part: &State, before: &Before, contact: &NetworkContact) -> Touching {
    let of_sphere = |sphere: u32, body: u32| {
        let body = before.body(body);
        let sphere = before.sphere(sphere, part.params.sphere_count);
        let first = before.end(part, body).first_sphere;
        let first = first.wrapping_add(before.spheres);
        (u64::from(body), sphere - first)
    };
    Touching {
        surfaces: [
            of_sphere(contact.sphere, contact.body),
            match contact.partner {
                Partner::Sphere { sphere, body } => of_sphere(sphere, body),
                Partner::Wall(wall) => (Touching::WALL, wall),
            },
        ],
        speed: contact.approach.max(0.0),
        energy: contact.dissipated,
    }
}
