//! Vectors of bodies and the contact network, as lines of a picture.

use std::ops::ControlFlow;

use glam::{DVec3, Vec3};

use super::colour::{linear, map, round_up};
use super::legend::Scale;
use super::{Camera, Line, Lines, Look};
use crate::model::error::Result;
use crate::simulation::Simulation;
use crate::simulation::network::Partner;
use crate::simulation::snapshot::Snapshot;
use crate::simulation::totals::Ends;
use crate::state::layout::Body;
use crate::state::{Field, State};
use crate::step::Patience;

/// Length of an arrow of the value [`Overlay::top`], in typical radii of a body.
const LENGTH: f64 = 4.0;

/// Lines of a picture, and their scale.
#[derive(Clone, Debug, PartialEq)]
pub struct Overlay {
    /// Meaning of the lines.
    pub what: Lines,
    /// The lines themselves.
    pub lines: Vec<Line>,
    /// In a contact network, the value of the last colour, N; otherwise the value of an arrow that is `length` long, m/s or N.
    pub top: f32,
    /// The length of an arrow of the value `top`, m; 0 in a contact network.
    pub length: f64,
}

impl Overlay {
    /// Makes the lines that `look` asks for; `None` if it asks for none. It reads the state part by part.
    ///
    /// `body_radius` is the typical radius of a body, m.
    ///
    /// # Errors
    /// If the device of the simulation is lost.
    pub(super) async fn new(
        patience: Patience,
        simulation: &mut Simulation,
        look: &Look,
        camera: &Camera,
        body_radius: f64,
    ) -> Result<Option<Overlay>> {
        let Some(what) = look.lines else {
            return Ok(None);
        };
        let clip = look.clip.map(|clip| clip.plane(camera.eye()));
        let is_shown = |place: DVec3| clip.is_none_or(|(normal, at)| normal.dot(place) <= at);
        Ok(Some(match what {
            Lines::Contacts => contacts(patience, simulation, look, is_shown).await?,
            Lines::Velocity | Lines::Force => {
                let length = LENGTH * body_radius;
                arrows(patience, simulation, what, is_shown, length).await?
            }
        }))
    }

    /// A sentence on the value of an arrow as long as the bar of a scale; `None` for a contact network.
    pub fn arrow_text(&self, scale: &Scale) -> Option<String> {
        if self.what == Lines::Contacts {
            return None;
        }
        let value = f64::from(self.top) * scale.length / self.length;
        // The eye cannot tell more than two digits.
        let value: f64 = format!("{value:.1e}").parse().unwrap_or(value);
        let (title, unit) = (self.what.title(), self.what.unit());
        Some(format!(
            "{title}: an arrow as long as the bar is {value} {unit}"
        ))
    }
}

/// A round value that about 99 % of the values do not exceed; 1 if all are 0.
fn top(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    let high = values.get(values.len().saturating_sub(1 + values.len() / 100));
    match high {
        Some(&high) if high > 0.0 && high.is_finite() => f64::from(round_up(high as f32)),
        _ => 1.0,
    }
}

/// An arrow at each body, which starts outside the bounding sphere of the body.
async fn arrows(
    patience: Patience,
    simulation: &mut Simulation,
    what: Lines,
    is_shown: impl Fn(DVec3) -> bool,
    length: f64,
) -> Result<Overlay> {
    /// Least length of an arrow that is drawn, as a fraction of `length`.
    const LEAST: f64 = 0.02;
    /// Length and half width of the head, as fractions of the length of the arrow.
    const HEAD: [f64; 2] = [0.25, 0.1];
    type Of = fn(&State, &Body) -> DVec3;
    let (fields, of): (&[Field], Of) = match what {
        Lines::Force => (&[Field::Bodies, Field::SphereLoads], |state, body| {
            state.load(body).force.as_dvec3()
        }),
        _ => (&[Field::Bodies], |_, body| body.velocity.as_dvec3()),
    };
    let shapes = simulation.model().shapes.iter();
    let reach: Vec<f64> = shapes.map(|shape| shape.bounding_radius()).collect();
    let (mut values, mut shown) = (Vec::new(), Vec::new());
    let read = simulation.for_each_part_by(patience, fields, |part, _| {
        let state = part.state;
        for (body, identity) in state.bodies.iter().zip(&state.identities) {
            let (value, center) = (of(state, body), state.position(body));
            values.push(value.length());
            if is_shown(center) {
                shown.push((center, value, reach[identity.shape]));
            }
        }
        ControlFlow::Continue(())
    });
    read.await?;
    let top = top(values);
    let mut lines = Vec::new();
    for (center, value, reach) in shown {
        let long = length * value.length() / top;
        if long < LEAST * length || !long.is_finite() {
            continue;
        }
        let way = value.normalize();
        let start = center + way * reach;
        let end = start + way * long;
        let mut line = |start| {
            lines.push(Line {
                start,
                end,
                colour: Vec3::splat(0.01),
                width: 1.0,
            });
        };
        line(start);
        let (across, up) = way.any_orthonormal_pair();
        for aside in [across, -across, up, -up] {
            line(end - long * (HEAD[0] * way - HEAD[1] * aside));
        }
    }
    Ok(Overlay {
        what,
        lines,
        top: top as f32,
        length,
    })
}

/// The contact network: lines between the centres of bodies that touch, and from the centre of a body to its contact with a wall.
async fn contacts(
    patience: Patience,
    simulation: &mut Simulation,
    look: &Look,
    is_shown: impl Fn(DVec3) -> bool,
) -> Result<Overlay> {
    /// Widths of a contact without force, and of one with the force `top`.
    const WIDTHS: [f64; 2] = [0.4, 4.0];
    let (mut forces, mut shown) = (Vec::new(), Vec::new());
    let fields = Snapshot::fields();
    let ends = Ends::OfBondsAndContacts;
    let read = simulation.for_each_part_with(ends, patience, &fields, |part, before| {
        let state = part.state;
        for contact in part.contacts() {
            let force = contact.force.length();
            forces.push(force);
            if !is_shown(contact.point) {
                continue;
            }
            // In a periodic box, the image of the body that touches at this point.
            let center = |body: u32| {
                let place = state.position(before.end(state, before.body(body)));
                contact.point + state.nearest(place - contact.point)
            };
            let other = match contact.partner {
                Partner::Wall(_) => contact.point,
                Partner::Sphere { body, .. } => center(body),
            };
            shown.push((force, center(contact.body), other));
        }
        ControlFlow::Continue(())
    });
    read.await?;
    let top = top(forces);
    let lines = shown.into_iter().map(|(force, start, end)| {
        let part = (force / top).min(1.0);
        Line {
            start,
            end,
            colour: Vec3::from(map(look.map, part).map(linear)),
            width: (WIDTHS[0] + part * (WIDTHS[1] - WIDTHS[0])) as f32,
        }
    });
    Ok(Overlay {
        what: Lines::Contacts,
        lines: lines.collect(),
        top: top as f32,
        length: 0.0,
    })
}
