//! Vectors of bodies and the contact network, as lines of a picture.

use glam::{DVec3, Vec3};

use super::colour::{linear, map, round_up};
use super::legend::Scale;
use super::{Camera, Line, Lines, Look};
use crate::model::Model;
use crate::simulation::network::{Network, Partner};
use crate::state::State;

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
    /// Makes the lines that `look` asks for; `None` if it asks for none.
    ///
    /// All of `state` must be on the host. `body_radius` is the typical radius of a body, m.
    pub fn new(
        state: &State,
        model: &Model,
        look: &Look,
        camera: &Camera,
        body_radius: f64,
    ) -> Option<Overlay> {
        let clip = look.clip.map(|clip| clip.plane(camera.eye()));
        let is_shown = |place: DVec3| clip.is_none_or(|(normal, at)| normal.dot(place) <= at);
        let what = look.lines?;
        Some(match what {
            Lines::Contacts => contacts(state, look, is_shown),
            Lines::Velocity => {
                let of = |body: usize| state.bodies[body].velocity.as_dvec3();
                arrows(state, model, what, of, is_shown, LENGTH * body_radius)
            }
            Lines::Force => {
                let of = |body: usize| state.load(&state.bodies[body]).force.as_dvec3();
                arrows(state, model, what, of, is_shown, LENGTH * body_radius)
            }
        })
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
fn arrows(
    state: &State,
    model: &Model,
    what: Lines,
    of: impl Fn(usize) -> DVec3,
    is_shown: impl Fn(DVec3) -> bool,
    length: f64,
) -> Overlay {
    /// Least length of an arrow that is drawn, as a fraction of `length`.
    const LEAST: f64 = 0.02;
    /// Length and half width of the head, as fractions of the length of the arrow.
    const HEAD: [f64; 2] = [0.25, 0.1];
    let reach: Vec<f64> = model
        .shapes
        .iter()
        .map(|shape| shape.bounding_radius())
        .collect();
    let top = top((0..state.bodies.len())
        .map(|body| of(body).length())
        .collect());
    let mut lines = Vec::new();
    for (index, body) in state.bodies.iter().enumerate() {
        let value = of(index);
        let (long, center) = (length * value.length() / top, state.position(body));
        if long < LEAST * length || !long.is_finite() || !is_shown(center) {
            continue;
        }
        let way = value.normalize();
        let start = center + way * reach[state.identities[index].shape];
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
    Overlay {
        what,
        lines,
        top: top as f32,
        length,
    }
}

/// The contact network: lines between the centres of bodies that touch, and from the centre of a body to its contact with a wall.
fn contacts(state: &State, look: &Look, is_shown: impl Fn(DVec3) -> bool) -> Overlay {
    /// Widths of a contact without force, and of one with the force `top`.
    const WIDTHS: [f64; 2] = [0.4, 4.0];
    let network = Network::new(state).contacts;
    let top = top(network.iter().map(|own| own.force.length()).collect());
    let mut lines = Vec::new();
    for contact in &network {
        if !is_shown(contact.point) {
            continue;
        }
        let part = (contact.force.length() / top).min(1.0);
        let colour = Vec3::from(map(look.map, part).map(linear));
        let width = (WIDTHS[0] + part * (WIDTHS[1] - WIDTHS[0])) as f32;
        // In a periodic box, the image of the body that touches at this point.
        let center = |body: u32| {
            let place = state.position(&state.bodies[body as usize]);
            contact.point + state.nearest(place - contact.point)
        };
        let end = match contact.partner {
            Partner::Wall(_) => contact.point,
            Partner::Sphere { body, .. } => center(body),
        };
        lines.push(Line {
            start: center(contact.body),
            end,
            colour,
            width,
        });
    }
    Overlay {
        what: Lines::Contacts,
        lines,
        top: top as f32,
        length: 0.0,
    }
}
