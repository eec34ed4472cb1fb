//! Groups, springs, applied forces and water, as the engines have them.

use super::grid::Grid;
use super::layout::*;
use super::{State, body_orientation};
use crate::math::grid::wrap;
use crate::model::Model;
use crate::model::forces::{End, Water};
use glam::{DVec3, DVec4, Vec3, Vec4};

/// The groups of a model, as the engines read them.
pub(crate) fn groups(model: &Model) -> Vec<Group> {
    let mut groups = vec![Group::default(); MAX_GROUPS];
    for (group, own) in groups.iter_mut().zip(&model.forces.groups) {
        group.gravity = own.gravity.map_or(Vec3::ZERO, |gravity| {
            gravity.as_vec3() - model.gravity.as_vec3()
        });
        group.ignores = own.ignores;
        group.drag = own.drag.linear as f32;
        group.angular_drag = own.drag.angular as f32;
    }
    groups
}

pub(super) fn waves(water: &Water) -> [Vec4; MAX_WAVES] {
    let wave = |k: usize| water.waves.get(k);
    std::array::from_fn(|k| {
        wave(k).map_or(Vec4::ZERO, |wave| {
            DVec4::new(wave.vector.x, wave.vector.z, wave.amplitude, wave.frequency).as_vec4()
        })
    })
}

/// Springs and applied forces of a model, in the order of the bodies on which they act.
pub(super) fn actions(model: &Model, grid: &Grid) -> Vec<Action> {
    let mut actions = Vec::new();
    for (source, spring) in model.forces.springs.iter().enumerate() {
        let common = Action {
            source: source as u32,
            stiffness: spring.stiffness as f32,
            damping: spring.damping as f32,
            rest_length: spring.rest_length as f32,
            slack: spring.slack.into(),
            end: f32::INFINITY,
            acts: 1,
            ..Action::default()
        };
        let [first, second] = spring.ends;
        for (own, other) in [(first, second), (second, first)] {
            let End::Body { body, point } = own else {
                continue;
            };
            let own = Action {
                body: body as u32,
                point: point.as_vec3(),
                ..common
            };
            actions.push(match other {
                End::Body { body, point } => Action {
                    kind: SPRING,
                    other: body as u32,
                    vector: point.as_vec3(),
                    ..own
                },
                End::World(place) => {
                    let (cell, part) = grid.locate(place);
                    Action {
                        kind: ANCHOR,
                        cell: wrap(cell, grid.period),
                        vector: (part * grid.cell_size.as_dvec3()).as_vec3(),
                        ..own
                    }
                }
            });
        }
    }
    for (source, push) in model.forces.applied.iter().enumerate() {
        actions.push(Action {
            kind: if push.turns_along { THRUST } else { PUSH },
            body: push.body as u32,
            source: source as u32,
            point: push.point.as_vec3(),
            vector: push.force.as_vec3(),
            torque: push.torque.as_vec3(),
            start: push.start as f32,
            end: push.end as f32,
            acts: push.key.is_none().into(),
            ..Action::default()
        });
    }
    actions.sort_by_key(|action| action.body);
    actions
}

/// A spring as it is in a state.
#[doc(hidden)]
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Stretched {
    /// Index into [`Forces::springs`](crate::model::forces::Forces::springs).
    pub spring: usize,
    /// Its ends, m; in a periodic box, the second is the image nearest to the first.
    pub ends: [DVec3; 2],
    /// Energy that it holds, J.
    pub energy: f64,
}

impl State {
    /// The springs that there are.
    #[doc(hidden)]
    pub fn springs(&self) -> impl Iterator<Item = Stretched> + '_ {
        self.springs_between(|body| &self.bodies[body as usize])
    }

    /// Indices of the bodies at the ends of springs, in order.
    pub(crate) fn bodies_at_springs(&self) -> Vec<u32> {
        let ends = |action: &Action| match action.kind {
            SPRING => vec![action.body, action.other],
            ANCHOR => vec![action.body],
            _ => Vec::new(),
        };
        let mut all: Vec<u32> = self.actions.iter().flat_map(ends).collect();
        all.sort_unstable();
        all.dedup();
        all
    }

    /// The springs that there are, of which `body` has the bodies at their ends.
    pub(crate) fn springs_between<'a>(
        &'a self,
        body: impl Fn(u32) -> &'a Body + 'a,
    ) -> impl Iterator<Item = Stretched> + 'a {
        let place = move |index: u32, point: glam::Vec3| {
            let body = body(index);
            self.position(body) + body_orientation(body) * point.as_dvec3()
        };
        self.actions.iter().filter_map(move |action| {
            let to = match action.kind {
                // The end that comes first in the list speaks for both.
                SPRING if action.body > action.other => return None,
                SPRING => place(action.other, action.vector),
                ANCHOR => {
                    let cells = action.cell.as_dvec3() * self.params.cell_size.as_dvec3();
                    self.origin + cells + action.vector.as_dvec3()
                }
                _ => return None,
            };
            let from = place(action.body, action.point);
            let way = self.nearest(to - from);
            let stretch = way.length() - f64::from(action.rest_length);
            let holds = action.slack == 0 || stretch > 0.0;
            let energy = 0.5 * f64::from(action.stiffness) * stretch * stretch;
            Some(Stretched {
                spring: action.source as usize,
                ends: [from, from + way],
                energy: if holds { energy } else { 0.0 },
            })
        })
    }
}
