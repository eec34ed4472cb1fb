//! Warnings of common mistakes, with advice.

use std::ops::ControlFlow;
use std::time::Duration;

use glam::DVec3;

use crate::math::display::Rounded;
use crate::model::error::Result;
use crate::model::wall::Wall;
use crate::model::{Law, Model};
use crate::simulation::Simulation;
use crate::simulation::observe::Observer;
use crate::simulation::snapshot::{BodyState, Snapshot};
use crate::simulation::summary::Energy;
use crate::simulation::totals::Tally;
use crate::state::Field;
use crate::step::Before;

/// Overlap that draws a warning, as a fraction of the smaller radius.
const DEEP: f64 = 0.05;
/// Factor by which a value must grow before it is reported again.
const WORSE: f64 = 4.0;
/// Growth of the energy that draws a warning, as a fraction of the energy at work.
const GROWTH: f64 = 0.05;
/// Distance beyond which a body has left, in lengths of the box around the bodies at the start.
const FAR: f64 = 3.0;
/// The looks take at most one part in this many of the time.
const SHARE: u32 = 100;
/// Least time between two looks.
const PAUSE: Duration = Duration::from_secs(1);
/// Most by which the number of steps from one look to the next grows: the first steps may be quicker than those that follow.
const MOST_GROWTH: f64 = 16.0;

/// An [`Observer`] that warns, through `tracing`, of overlaps of more than 5 % of a radius, of energy that grows
/// although nothing drives the bodies, and of bodies that leave the domain. It repeats a warning when the value has
/// grown fourfold.
///
/// It looks about once a second by its clock, and less often if looks take long.
#[derive(Debug)]
pub struct Watch {
    /// Limits of overlap, energy growth and number of bodies outside; a value beyond its limit is reported.
    limits: [f64; 3],
    energy: Option<Energies>,
    bounds: (DVec3, DVec3),
    /// Whether the next look says nothing.
    is_quiet: bool,
    slice: u64,
    at: u64,
    /// The time since an arbitrary start.
    clock: fn() -> Duration,
    /// Time of the last look.
    since: Duration,
}

/// Energies at earlier looks.
#[derive(Debug)]
struct Energies {
    /// Present and dissipated energy at the first look, J.
    start: f64,
    /// Largest energy at work so far, J.
    most: f64,
    /// Work that lifts each body by its own size, J.
    least: f64,
    /// The gravity that `least` refers to, m/s².
    gravity: DVec3,
}

impl Watch {
    /// Watches a simulation from now on. `clock` gives the time since an arbitrary start.
    pub fn new(simulation: &Simulation, clock: fn() -> Duration) -> Watch {
        // A resumed run does not repeat warnings about overlaps before it.
        let overlap: f64 = f32::from_bits(simulation.stats().max_overlap_fraction).into();
        let deep = match overlap >= DEEP {
            true => WORSE * overlap,
            false => DEEP,
        };
        Watch {
            limits: [deep, GROWTH, 1.0],
            energy: None,
            bounds: bounds(simulation.model()),
            is_quiet: false,
            slice: 1,
            at: simulation.steps() + 1,
            clock,
            since: clock(),
        }
    }

    /// Has the first look say nothing, for a run that is resumed: what there is to say of its state has been said.
    pub fn quiet_at_first(self) -> Watch {
        Watch {
            is_quiet: true,
            ..self
        }
    }

    /// Warnings about a state, one sentence each, with advice.
    pub fn look(&mut self, snapshot: &Snapshot) -> Vec<String> {
        let mut outside = Outside::default();
        outside.add(snapshot, &Before::default(), self.bounds);
        let energy = self.weighs(snapshot).then(|| snapshot.energy());
        self.judge(snapshot, energy, &outside)
    }

    /// Warnings about the present state, as [`Watch::look`] has them.
    ///
    /// # Errors
    /// If the device is lost.
    pub fn look_at(&mut self, simulation: &mut Simulation) -> Result<Vec<String>> {
        if !simulation.is_spread() {
            return Ok(self.look(&simulation.snapshot()?));
        }
        let weighs = self.weighs(&simulation.fetched());
        let mut tally = Tally::new(simulation.model(), simulation.on_host());
        let mut outside = Outside::default();
        let fields = match weighs {
            true => Snapshot::fields_of_totals(),
            false => vec![Field::Bodies],
        };
        let whole = simulation.for_each_part(&fields, |part, before| {
            outside.add(part, before, self.bounds);
            if weighs {
                tally.add(part, before);
            }
            ControlFlow::Continue(())
        })?;
        let energy = weighs.then(|| tally.finish(&whole).energy);
        Ok(self.judge(&whole, energy, &outside))
    }

    /// Warnings about a state, whose elements may be elsewhere, with its energy if it [`weighs`](Watch::weighs) that.
    fn judge(
        &mut self,
        whole: &Snapshot,
        energy: Option<Energy>,
        outside: &Outside,
    ) -> Vec<String> {
        let all = [
            self.overlap(whole),
            energy.and_then(|energy| self.growth(whole, energy)),
            self.outside(whole, outside),
        ];
        let is_quiet = std::mem::take(&mut self.is_quiet);
        let said = all.into_iter().flatten().filter(|_| !is_quiet);
        said.collect()
    }

    fn overlap(&mut self, snapshot: &Snapshot) -> Option<String> {
        let overlap = f32::from_bits(snapshot.state.stats[0].max_overlap_fraction).into();
        let said = self.is_worse(0, overlap);
        said.then(|| {
            let stiffer = match snapshot.model.contact.law {
                Law::HertzMindlin => "raise \"young_modulus\", with the time step that goes with it,",
                Law::Impulse => "raise contact.substeps",
                _ => {
                    "raise contact.stiffness (or lower contact.max_overlap), with the time step that goes with it,"
                }
            };
            format!(
                "by step {}, two surfaces have overlapped by {:.1} % of a radius, more than the 5 % up to \
                 which contacts are small; {stiffer} or start with slower bodies",
                snapshot.steps,
                100.0 * overlap
            )
        })
    }

    /// Whether all of the energy is known, and none that comes or goes.
    fn weighs(&self, snapshot: &Snapshot) -> bool {
        let model = snapshot.model;
        let custom = model.contact.law.custom().is_some();
        let driven = model.walls.iter().any(Wall::is_driven);
        let flow = &model.flow;
        let open = !(flow.inlets.is_empty()
            && flow.outlets.is_empty()
            && flow.explosions.is_empty()
            && model.breakage.is_empty());
        let falls_forever = model.domain.as_ref().is_some_and(|domain| {
            domain.period().cmpgt(DVec3::ZERO).bitmask()
                & model.gravity.cmpne(DVec3::ZERO).bitmask()
                != 0
        });
        let pushed =
            !model.forces.applied.is_empty() || model.forces.water.is_some() || model.deforms();
        !(custom || driven || open || falls_forever || pushed)
    }

    fn growth(&mut self, snapshot: &Snapshot, energy: Energy) -> Option<String> {
        let model = snapshot.model;
        // Energy from the hand in the window or from a change of gravity starts a new account.
        let before = self.energy.as_ref().map(|energies| energies.gravity);
        if snapshot.state.params.pulled > 0 || before.is_some_and(|before| before != model.gravity)
        {
            self.energy = None;
        }
        let gone = energy.damping + energy.friction + energy.drag;
        let all = energy.total() + gone;
        let at_work = energy.kinetic + energy.elastic + gone;
        let energies = self.energy.get_or_insert_with(|| Energies {
            start: all,
            most: at_work,
            least: lifted(model),
            gravity: model.gravity,
        });
        energies.most = energies.most.max(at_work);
        let growth =
            (all - energies.start) / (energies.most + energies.least).max(f64::MIN_POSITIVE);
        let said = self.is_worse(1, growth);
        said.then(|| {
            format!(
                "by step {}, the energy has grown by {:.1} % though nothing drives the \
                 bodies; lower contact.time_step, which is {} s{}",
                snapshot.steps,
                100.0 * growth,
                Rounded(model.time_step),
                match model.integrator {
                    crate::model::Integrator::Explicit =>
                        ", or take the integrator \"semi-implicit\": the explicit one gains energy",
                    crate::model::Integrator::SemiImplicit => "",
                }
            )
        })
    }

    fn outside(&mut self, snapshot: &Snapshot, outside: &Outside) -> Option<String> {
        let (first, body) = outside.first.as_ref()?;
        let said = self.is_worse(2, outside.count as f64);
        said.then(|| {
            let others = match outside.count {
                1 => String::new(),
                count => format!(", and {} others,", count - 1),
            };
            format!(
                "by step {}, body {first} ({}){others} has left the domain, and is at {:.3} m; add a plane \
                 or a wall below it, or make the domain periodic",
                snapshot.steps, snapshot.model.shapes[body.shape].name, body.position
            )
        })
    }

    /// Whether a value has reached its limit, which then becomes a multiple of the value.
    fn is_worse(&mut self, index: usize, number: f64) -> bool {
        let worse = number >= self.limits[index];
        if worse {
            self.limits[index] = WORSE * number;
        }
        worse
    }
}

/// Bodies outside of where they belong.
#[derive(Default)]
struct Outside {
    count: usize,
    /// Index and state of the first.
    first: Option<(usize, BodyState)>,
}

impl Outside {
    /// Adds those of a part of a state.
    fn add(&mut self, part: &Snapshot, before: &Before, (min, max): (DVec3, DVec3)) {
        for (index, body) in part.state.bodies.iter().enumerate() {
            let position = part.state.position(body);
            if position.cmplt(min).any() || position.cmpgt(max).any() {
                self.count += 1;
                let first = || (index + before.bodies as usize, part.body(index));
                self.first.get_or_insert_with(first);
            }
        }
    }
}

impl Observer for Watch {
    fn next(&self, _: u64) -> u64 {
        self.at
    }

    fn observe(&mut self, simulation: &mut Simulation) -> Result<ControlFlow<()>> {
        let start = (self.clock)();
        let between = start.saturating_sub(self.since);
        for sentence in self.look_at(simulation)? {
            tracing::warn!("{sentence}");
        }
        let pause = PAUSE.max((self.clock)().saturating_sub(start) * SHARE);
        let factor = pause.as_secs_f64() / between.as_secs_f64();
        self.slice = (self.slice as f64 * factor.min(MOST_GROWTH)).max(1.0) as u64;
        self.at = simulation.steps() + self.slice;
        self.since = (self.clock)();
        Ok(ControlFlow::Continue(()))
    }
}

/// The region where bodies belong: along an axis that is not periodic, the domain; without a domain, some lengths of
/// the box around the bodies at the start.
fn bounds(model: &Model) -> (DVec3, DVec3) {
    if let Some(domain) = &model.domain {
        let bound = |open: f64, bounds: DVec3| {
            let along = |axis: usize| {
                if domain.periodic[axis] {
                    open
                } else {
                    bounds[axis]
                }
            };
            DVec3::from_array(std::array::from_fn(along))
        };
        return (
            bound(f64::NEG_INFINITY, domain.min),
            bound(f64::INFINITY, domain.max),
        );
    }
    let (mut min, mut max) = (DVec3::INFINITY, DVec3::NEG_INFINITY);
    let mut widest: f64 = 0.0;
    let reaches: Vec<f64> = model
        .shapes
        .iter()
        .map(|shape| shape.bounding_radius())
        .collect();
    model.bodies.visit(|body| {
        let reach = reaches[body.shape];
        widest = widest.max(reach);
        min = min.min(body.position - reach);
        max = max.max(body.position + reach);
    });
    for corner in model.flow.corners() {
        (min, max) = (min.min(corner), max.max(corner));
    }
    for wall in &model.walls {
        // Of a plane, the point nearest to the bodies, which may come that far; of any other finite wall, all of it.
        let center = 0.5 * (min + max);
        let Some(normal) = wall.plane_normal() else {
            if wall.reach().is_finite() {
                min = min.min(wall.pose.position - wall.reach());
                max = max.max(wall.pose.position + wall.reach());
            }
            continue;
        };
        let foot = center - normal * (center - wall.pose.position).dot(normal);
        if foot.is_finite() {
            min = min.min(foot);
            max = max.max(foot);
        }
    }
    let far = DVec3::splat(FAR * (max - min).length().max(20.0 * widest));
    (min - far, max + far)
}

/// Work that lifts each body by its own size, J.
fn lifted(model: &Model) -> f64 {
    let mut each = 0.0;
    model.bodies.visit(|body| {
        if !body.fixed {
            let clump = &model.shapes[body.shape];
            each += clump.mass * clump.bounding_radius();
        }
    });
    each * model.gravity.length()
}
