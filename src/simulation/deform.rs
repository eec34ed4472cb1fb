//! Looks at a periodic box that deforms: its stress, and the rates until the next look.

use std::ops::ControlFlow;
use std::sync::Arc;

use glam::{DMat3, DVec3};

use super::Simulation;
use super::network::{Partner, contacts};
use super::snapshot::Snapshot;
use super::totals::Ends;
use crate::model::deform::{Deformation, LOOK};
use crate::model::error::{Error, Result};
use crate::state::{Field, least_period};
use crate::step::Patience;

impl Simulation {
    /// Strains and stress of the periodic box at the last look; `None` if it never deforms.
    pub fn deformation(&self) -> Option<&Deformation> {
        self.state.traffic.deformation.as_ref()
    }

    /// The number of steps after which the host next looks at the box.
    pub(super) fn next_deformation(&self) -> Option<u64> {
        self.state.traffic.deformation?;
        Some((self.steps / LOOK + 1) * LOOK)
    }

    /// Looks at the box if a look is due: at the start, every [`LOOK`] steps, and where a stage `begins`.
    pub(super) async fn deform(&mut self, patience: Patience, begins: bool) -> Result<()> {
        let Some(mut now) = self.state.traffic.deformation else {
            return Ok(());
        };
        let waits = now.step == self.steps || !self.steps.is_multiple_of(LOOK);
        if waits && !begins {
            return Ok(());
        }
        let flux = self.flux(patience).await?;
        let before = now.power();
        let time = (self.steps - now.step) as f64 * self.model.time_step;
        now.advance(self.steps - now.step, self.model.time_step);
        now.set_stress(flux);
        now.work += 0.5 * (before + now.power()) * time;
        now.drive(&self.model.deform);
        let turns = now.turns();
        let axes = [now.flow, now.gradient];
        let writes = turns != 0.0 && !self.engine.untilt(axes, turns as i32);
        if writes {
            self.fetch_by(patience, &[Field::Bodies]).await?;
        }
        if turns != 0.0 {
            self.state.untilt(axes, turns as i32);
            now.tilt -= turns * now.sides[now.flow] / now.sides[now.gradient];
        }
        self.state.traffic.deformation = Some(now);
        self.state.set_deformation(&self.model, &now, self.steps);
        self.set_sides(&now)?;
        self.engine.write_params(&self.state);
        if writes {
            self.engine.write(&[Field::Bodies], &self.state);
            self.engine.write_stale(&self.state);
        }
        Ok(())
    }

    /// Sum of the momentum flux, m v v, and of forces times branch vectors, −F d, J. Divided by the volume it is the
    /// stress, positive in compression.
    async fn flux(&mut self, patience: Patience) -> Result<DMat3> {
        let outer = |a: DVec3, b: DVec3| DMat3::from_cols(a * b.x, a * b.y, a * b.z);
        let mut sum = DMat3::ZERO;
        let read = self.for_each_part_by(patience, &[Field::Bodies], |part, _| {
            let Snapshot { model, state, .. } = *part;
            for (body, identity) in state.bodies.iter().zip(&state.identities) {
                let velocity = body.velocity.as_dvec3();
                sum += model.shapes[identity.shape].mass * outer(velocity, velocity);
            }
            ControlFlow::Continue(())
        });
        read.await?;
        let read = self.for_each_part_with(
            Ends::OfBondsAndContacts,
            patience,
            &Snapshot::CONTACTS,
            |part, before| {
                let state = part.state;
                let place = |body: u32| state.position(before.end(state, before.body(body)));
                for contact in contacts(state) {
                    if let Partner::Sphere { body, .. } = contact.partner {
                        let way = state.nearest(place(body) - place(contact.body));
                        sum -= outer(contact.force, way);
                    }
                }
                ControlFlow::Continue(())
            },
        );
        read.await?;
        let of_bonds = self.for_each_bond(patience, |bond| {
            let [from, to] = bond.ends;
            if bond.broken.is_none() {
                sum -= outer(bond.force, to - from);
            }
        });
        of_bonds.await?;
        Ok(sum)
    }

    /// Gives the model's domain the present sides of the box.
    fn set_sides(&mut self, now: &Deformation) -> Result<()> {
        let model = Arc::make_mut(&mut self.model);
        // The present sides follow from the scene, so the hash of the model stays.
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

    /// Gives the box the sides of the state that was restored after `steps` steps.
    pub(super) fn restore_deformation(&mut self) {
        let Some(now) = self.state.traffic.deformation else {
            return;
        };
        // The fetched state is that of the last step, so its deformation is, too.
        let last = self.steps.saturating_sub(1).max(now.step);
        self.state.set_deformation(&self.model, &now, last);
        // The box had these sides before, so they are not too short.
        let _ = self.set_sides(&now);
    }
}
