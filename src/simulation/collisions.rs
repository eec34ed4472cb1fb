//! Contacts between looks: collisions, and the largest force on each body that may burst.

use super::Simulation;
use super::network::{NetworkContact, Partner, contacts};
use crate::model::Model;
use crate::model::error::Result;
use crate::model::flow::Touching;
use crate::state::State;
use crate::step::Patience;

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
        self.fetch_contacts_by(patience).await?;
        let mut traffic = std::mem::take(&mut self.state.traffic);
        if self.steps.is_multiple_of(LOOK) {
            for (body, force) in largest_forces(&self.model, &self.state)
                .into_iter()
                .enumerate()
            {
                if force > 0.0 {
                    let largest = traffic.peaks.entry(self.state.identities.id(body));
                    let largest = largest.or_default();
                    *largest = largest.max(force);
                }
            }
        }
        if self.model.flow.collisions {
            let touching = contacts(&self.state).filter(|contact| contact.overlap > 0.0);
            let touching = touching.map(|contact| touching_of(&self.state, &contact));
            traffic.collisions.follow(touching.collect());
        }
        self.state.traffic = traffic;
        Ok(())
    }
}

/// The largest contact force on each body that bursts by its force, N; 0 of others.
pub(super) fn largest_forces(model: &Model, state: &State) -> Vec<f64> {
    let mut largest = vec![0.0_f64; state.bodies.len()];
    let breaks = |body: u32| {
        let shape = state.identities[body as usize].shape;
        let rules = &model.breakage;
        let place = rules.binary_search_by_key(&shape, |rule| rule.shape);
        place.is_ok_and(|place| rules[place].force.is_some())
    };
    if model.breakage.iter().all(|rule| rule.force.is_none()) {
        return largest;
    }
    for contact in contacts(state) {
        let force = contact.force.length();
        let mut note = |body: u32| {
            if breaks(body) {
                let own = &mut largest[body as usize];
                *own = own.max(force);
            }
        };
        note(contact.body);
        if let Partner::Sphere { body, .. } = contact.partner {
            note(body);
        }
    }
    largest
}

fn touching_of(state: &State, contact: &NetworkContact) -> Touching {
    let of_sphere = |sphere: u32, body: u32| {
        let first = state.bodies[body as usize].first_sphere;
        (state.identities.id(body as usize), sphere - first)
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
