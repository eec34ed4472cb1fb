//! Looks at a periodic box that deforms: its stress, and the rates until the next look.

use std::sync::Arc;

use glam::{DMat3, DVec3};

use super::Simulation;
use super::network::Partner;
use crate::model::Model;
use crate::model::deform::{Deformation, LOOK};
use crate::model::error::{Error, Result};
use crate::state::{Field, State, least_period};
use crate::step::Patience;

impl Simulation {
    /// How far the periodic box has deformed at the last look at it, and its stress then; None of one that never does.
    pub fn deformation(&self) -> Option<&Deformation> {
        self.state.traffic.deformation.as_ref()
    }

    /// The number of steps after which the host looks at the box next.
    pub(super) fn next_deformation(&self) -> Option<u64> {
        self.state.traffic.deformation?;
        Some((self.steps / LOOK + 1) * LOOK)
    }

    /// Looks at the box, if it is time to: at the start, every [`LOOK`] steps, and where a stage `begins`.
    pub(super) async fn deform(&mut self, patience: Patience, begins: bool) -> Result<()> {
        let Some(mut now) = self.state.traffic.deformation else {
            return Ok(());
        };
        let waits = now.step == self.steps || !self.steps.is_multiple_of(LOOK);
        if waits && !begins {
            return Ok(());
        }
        self.fetch_contacts_by(patience).await?;
        let before = now.power();
        let time = (self.steps - now.step) as f64 * self.model.time_step;
        now.advance(self.steps - now.step, self.model.time_step);
        now.set_stress(flux(&self.model, &self.state));
        now.work += 0.5 * (before + now.power()) * time;
        now.drive(&self.model.deform);
        let turns = now.turns();
        if turns != 0.0 {
            self.state.untilt(&now, turns as i32);
            now.tilt -= turns * now.sides[now.flow] / now.sides[now.gradient];
        }
        self.state.traffic.deformation = Some(now);
        self.state.set_deformation(&self.model, &now, self.steps);
        self.set_sides(&now)?;
        self.engine.write_params(&self.state);
        if turns != 0.0 {
            self.engine.write(&[Field::Bodies], &self.state);
            self.engine.write_stale(&self.state);
        }
        Ok(())
    }

    /// Has the model's domain be as long as the box is now.
    fn set_sides(&mut self, now: &Deformation) -> Result<()> {
        let model = Arc::make_mut(&mut self.model);
        // What a box has become follows from what it was.
        model.stages.keep_hash(model.hash());
        let least = least_period(model);
        let Some(domain) = &mut model.domain else {
            return Ok(());
        };
        for (axis, name) in ['x', 'y', 'z'].into_iter().enumerate() {
            if !domain.periodic[axis] {
                continue;
            }
            domain.max[axis] = domain.min[axis] + now.sides[axis];
            if now.sides[axis] < least {
                return Err(Error::NarrowDomain {
                    axis: name,
                    length: now.sides[axis],
                    least,
                });
            }
        }
        Ok(())
    }

    /// Has the box be as a state has it that was restored after `steps` steps.
    pub(super) fn restore_deformation(&mut self) {
        let Some(now) = self.state.traffic.deformation else {
            return;
        };
        // That of the last step: what was fetched is of it.
        let last = self.steps.saturating_sub(1).max(now.step);
        self.state.set_deformation(&self.model, &now, last);
        // It was as long before.
        let _ = self.set_sides(&now);
    }
}

/// The sum of the flux of momentum, m v v, and of forces times branch vectors, − F d, J: over the volume, it is the stress, where
/// compression is positive.
fn flux(model: &Model, state: &State) -> DMat3 {
    let outer = |a: DVec3, b: DVec3| DMat3::from_cols(a * b.x, a * b.y, a * b.z);
    let mut sum = DMat3::ZERO;
    for (body, identity) in state.bodies.iter().zip(&state.identities) {
        let velocity = body.velocity.as_dvec3();
        sum += model.shapes[identity.shape].mass * outer(velocity, velocity);
    }
    let way = |from: u32, to: u32| {
        let [from, to] = [from, to].map(|body| state.position(&state.bodies[body as usize]));
        state.nearest(to - from)
    };
    for contact in super::network::contacts(state) {
        if let Partner::Sphere { body, .. } = contact.partner {
            sum -= outer(contact.force, way(contact.body, body));
        }
    }
    for bond in state.bonded().filter(|bond| bond.broken.is_none()) {
        let [from, to] = bond.ends;
        sum -= outer(bond.force, to - from);
    }
    sum
}
