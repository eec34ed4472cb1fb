//! Groups of bodies, and what acts on bodies besides contacts.

use std::f64::consts::PI;

use glam::DVec3;

use super::super::error::{Problem, exact, rounded};
use super::super::format::{self, Axes, NormalModel, SceneFile};
use super::check::{Check, NAMED, Names, Sign, list, named, vector};
use crate::model::ModelBody;
use crate::model::bodies::Listed;
use crate::model::clump::Clump;
use crate::model::forces::{AppliedForce, Drag, End, Group, Sleep, Spring, Water, Wave};
use crate::state::layout::{MAX_GROUPS, MAX_WAVES};

/// A time step is at most this part of the time sqrt(m/k) of a spring.
const PART_OF_SPRING: f64 = 0.2;

/// Names of bodies, and where these are in the model.
pub(super) struct NamedBodies<'a> {
    pub(super) names: Names<'a>,
    /// Indices into the model's bodies, in the order of the names.
    pub(super) indices: Vec<usize>,
}

impl<'a> NamedBodies<'a> {
    /// `before` bodies come from another run, and have no names.
    pub(super) fn new(file: &'a SceneFile, before: usize) -> Self {
        let named = || {
            let bodies = file.bodies.iter().enumerate();
            bodies.filter_map(|(index, body)| Some((index, body.name.as_deref()?)))
        };
        NamedBodies {
            names: Names::new(NAMED, named().map(|(_, name)| name)),
            indices: named().map(|(index, _)| before + index).collect(),
        }
    }

    /// Ids and names of those that are fixed or kinematic, but for the names that a builder gives.
    pub(super) fn held(&self, file: &SceneFile) -> Vec<(u64, String)> {
        let all = self.indices.iter().zip(&self.names.list);
        let bodies = file.bodies.iter().filter(|body| body.name.is_some());
        let held = all.zip(bodies).filter(|((_, name), body)| {
            let given = name
                .strip_prefix("body ")
                .is_some_and(|rest| rest.parse::<u64>().is_ok());
            (body.fixed || body.kinematic) && !given
        });
        held.map(|((index, name), _)| (*index as u64, (*name).to_owned()))
            .collect()
    }
}

impl Check {
    /// The groups of the scene; the first is that of all bodies that name none.
    pub(super) fn groups(&mut self, file: &SceneFile, names: &Names) -> Vec<Group> {
        let drag = self.drag("drag", &file.drag);
        let mut groups = vec![Group {
            drag,
            ..Group::default()
        }];
        if file.groups.0.len() >= MAX_GROUPS {
            self.problem(
                "groups",
                format!("{} groups", file.groups.0.len()),
                format!("at most {}", MAX_GROUPS - 1),
            );
            return groups;
        }
        for (name, group) in &file.groups.0 {
            let path = format!("groups.{name}");
            if let Some(gravity) = &group.gravity {
                let path = format_args!("{path}.gravity");
                self.vector(path, gravity, "an acceleration, m/s²");
            }
            let own = match &group.drag {
                Some(own) => self.drag(&format!("{path}.drag"), own),
                None => drag,
            };
            groups.push(Group {
                name: name.clone(),
                gravity: group.gravity.as_ref().map(vector),
                ignores: 0,
                drag: own,
            });
        }
        for (index, (name, group)) in file.groups.0.iter().enumerate() {
            for (k, other) in group.ignores.iter().enumerate() {
                let path = format_args!("groups.{name}.ignores[{k}]");
                if let Some(other) = self.resolve(path, other, names) {
                    groups[index + 1].ignores |= 1 << (other + 1);
                    groups[other + 1].ignores |= 1 << (index + 1);
                }
            }
        }
        groups
    }

    /// The index of a group, if one is named; that of the first one if none is.
    pub(super) fn group(&mut self, path: &str, name: Option<&String>, names: &Names) -> usize {
        let group = name.and_then(|name| self.resolve(format_args!("{path}.group"), name, names));
        group.map_or(0, |group| group + 1)
    }

    fn drag(&mut self, path: &str, drag: &format::Drag) -> Drag {
        let linear = format_args!("{path}.linear");
        self.number(linear, drag.linear, "a drag, N s/m", Sign::NotNegative);
        let angular = format_args!("{path}.angular");
        self.number(angular, drag.angular, "a drag, N m s", Sign::NotNegative);
        Drag {
            linear: drag.linear,
            angular: drag.angular,
        }
    }

    /// Whether no two bodies have one name.
    pub(super) fn body_names(&mut self, file: &SceneFile) {
        let mut seen = std::collections::HashMap::new();
        for (index, body) in file.bodies.iter().enumerate() {
            let Some(name) = &body.name else { continue };
            if let Some(first) = seen.insert(name, index) {
                self.problem(
                    format_args!("bodies[{index}].name"),
                    format!("{name:?}, the name of bodies[{first}]"),
                    "a name that no other body has",
                );
            }
        }
    }

    /// Springs between `bodies`, those of the model.
    pub(super) fn springs(
        &mut self,
        file: &SceneFile,
        names: &NamedBodies,
        bodies: Listed,
        shapes: &[Clump],
    ) -> Vec<Spring> {
        let mut springs = Vec::new();
        for (index, spring) in file.springs.iter().enumerate() {
            let path = format!("springs[{index}]");
            let before = self.problems.len();
            for (field, number, what) in [
                ("stiffness", spring.stiffness, "a stiffness, N/m"),
                ("damping", spring.damping, "a dashpot, N s/m"),
                (
                    "rest_length",
                    spring.rest_length.unwrap_or(0.0),
                    "a length, m",
                ),
            ] {
                self.number(
                    format_args!("{path}.{field}"),
                    number,
                    what,
                    Sign::NotNegative,
                );
            }
            let ends = [("from", &spring.from), ("to", &spring.to)].map(|(field, end)| {
                self.end(&format!("{path}.{field}"), end, names, bodies, shapes)
            });
            let [Some(from), Some(to)] = ends else {
                continue;
            };
            let ends = match (from.0, to.0) {
                (End::World(_), End::World(_)) => {
                    self.problem(
                        &path,
                        "two points of the world",
                        "a body at one of its ends",
                    );
                    continue;
                }
                (End::Body { body, .. }, End::Body { body: other, .. }) if body == other => {
                    self.problem(&path, "one body at both ends", "two bodies");
                    continue;
                }
                (End::World(_), _) => [to.0, from.0],
                _ => [from.0, to.0],
            };
            if self.problems.len() == before {
                springs.push(Spring {
                    name: named(spring.name.as_ref(), "spring", index),
                    ends,
                    stiffness: spring.stiffness,
                    damping: spring.damping,
                    rest_length: spring.rest_length.unwrap_or(from.1.distance(to.1)),
                    slack: spring.slack,
                });
            }
        }
        springs
    }

    /// An end of a spring, and where it is in the world.
    fn end(
        &mut self,
        path: &str,
        end: &format::End,
        names: &NamedBodies,
        bodies: Listed,
        shapes: &[Clump],
    ) -> Option<(End, DVec3)> {
        if !self.vector(format_args!("{path}.point"), &end.point, "a coordinate, m") {
            return None;
        }
        let point = vector(&end.point);
        let Some(name) = &end.body else {
            return Some((End::World(point), point));
        };
        let index = self.resolve(format_args!("{path}.body"), name, &names.names)?;
        let body = names.indices[index];
        let ModelBody {
            shape,
            position,
            orientation,
            ..
        } = bodies[body];
        let point = shapes[shape].in_body_frame(point);
        Some((End::Body { body, point }, position + orientation * point))
    }

    pub(super) fn applied(
        &mut self,
        file: &SceneFile,
        names: &NamedBodies,
        bodies: Listed,
        shapes: &[Clump],
    ) -> Vec<AppliedForce> {
        let mut applied = Vec::new();
        for (index, force) in file.forces.iter().enumerate() {
            let path = format!("forces[{index}]");
            let before = self.problems.len();
            let point = force.point.as_ref();
            if let Some(point) = point {
                self.vector(format_args!("{path}.point"), point, "a coordinate, m");
            }
            self.vector(format_args!("{path}.force"), &force.force, "a force, N");
            self.vector(
                format_args!("{path}.torque"),
                &force.torque,
                "a torque, N m",
            );
            let start = format_args!("{path}.start");
            self.number(start, force.start, "a time, s", Sign::NotNegative);
            let late = |end: &f64| *end <= force.start || !end.is_finite();
            if let Some(end) = force.end.filter(late) {
                self.problem(
                    format_args!("{path}.end"),
                    exact(end),
                    format!(
                        "a time after \"start\", which is {} (s)",
                        exact(force.start)
                    ),
                );
            }
            let mut characters = force.key.iter().flat_map(|key| key.chars());
            let key = characters.next();
            if force.key.is_some() && (key.is_none() || characters.next().is_some()) {
                self.problem(
                    format_args!("{path}.key"),
                    format!("{:?}", force.key.as_deref().unwrap_or_default()),
                    "one character, such as \"w\"",
                );
            }
            let body = self.resolve(format_args!("{path}.body"), &force.body, &names.names);
            let Some(body) = body.filter(|_| self.problems.len() == before) else {
                continue;
            };
            let body = names.indices[body];
            let shape = &shapes[bodies[body].shape];
            let turns_along = force.axes == Axes::Body;
            let turned = |given: &format::Vector| match turns_along {
                true => shape.principal_axes.conjugate() * vector(given),
                false => vector(given),
            };
            applied.push(AppliedForce {
                name: named(force.name.as_ref(), "force", index),
                body,
                point: point.map_or(DVec3::ZERO, |point| shape.in_body_frame(vector(point))),
                force: turned(&force.force),
                torque: turned(&force.torque),
                turns_along,
                start: force.start,
                end: force.end.unwrap_or(f64::INFINITY),
                key,
            });
        }
        applied
    }

    pub(super) fn water(&mut self, file: &SceneFile) -> Option<Water> {
        let water = file.water.as_ref()?;
        let before = self.problems.len();
        self.number("water.level", water.level, "a height, m", Sign::Any);
        self.number(
            "water.density",
            water.density,
            "a density, kg/m³",
            Sign::Positive,
        );
        for (path, number, what) in [
            (
                "water.drag_coefficient",
                water.drag_coefficient,
                "a drag coefficient",
            ),
            ("water.viscosity", water.viscosity, "a viscosity, Pa s"),
        ] {
            self.number(path, number, what, Sign::NotNegative);
        }
        let gravity = vector(&file.gravity);
        if gravity.x != 0.0 || gravity.z != 0.0 {
            self.problem(
                "gravity",
                list(&file.gravity.0),
                "gravity along y, since the scene has water, whose surface is level",
            );
        }
        if let Some(domain) = &file.domain
            && domain.periodic.0[1]
        {
            self.problem(
                "domain.periodic[1]",
                "true",
                "false, since the scene has water: a box that is periodic along y has no top for its surface",
            );
        }
        if water.waves.len() > MAX_WAVES {
            self.problem(
                "water.waves",
                format!("{} wave trains", water.waves.len()),
                format!("at most {MAX_WAVES}"),
            );
        }
        let waves = water.waves.iter().enumerate().filter_map(|(index, wave)| {
            self.wave(&format!("water.waves[{index}]"), wave, gravity.length())
        });
        let waves = waves.collect();
        (self.problems.len() == before).then_some(Water {
            level: water.level,
            density: water.density,
            drag_coefficient: water.drag_coefficient,
            viscosity: water.viscosity,
            waves,
        })
    }

    fn wave(&mut self, path: &str, wave: &format::Wave, gravity: f64) -> Option<Wave> {
        let direction = format_args!("{path}.direction");
        if wave.direction.0[1] != 0.0 {
            self.problem(
                direction,
                list(&wave.direction.0),
                "a horizontal direction: 0 along y",
            );
        }
        let direction = self.direction(direction, &wave.direction, "a direction");
        let fits = self.length(format_args!("{path}.wavelength"), wave.wavelength);
        let amplitude = format_args!("{path}.amplitude");
        self.number(amplitude, wave.amplitude, "a length, m", Sign::NotNegative);
        let vector = (2.0 * PI / wave.wavelength) * direction.filter(|_| fits)?;
        match wave.period {
            Some(period) => self
                .number(
                    format_args!("{path}.period"),
                    period,
                    "a time, s",
                    Sign::Positive,
                )
                .then_some(Wave {
                    vector,
                    amplitude: wave.amplitude,
                    frequency: 2.0 * PI / period,
                }),
            None => Some(Wave::deep_water(vector, wave.amplitude, gravity)),
        }
    }

    /// Returns the conditions under which bodies sleep; `radius` is the smallest, m.
    pub(super) fn sleep(&mut self, file: &SceneFile, radius: f64) -> Option<Sleep> {
        let sleep = file.sleep.as_ref()?;
        let gravity = vector(&file.gravity).length();
        let mut value = |field: &str, given: Option<f64>, default: f64, what: &str| {
            let path = format!("sleep.{field}");
            match given {
                Some(number) => self
                    .number(path, number, what, Sign::Positive)
                    .then_some(number),
                None if gravity > 0.0 => Some(default),
                None => {
                    let expected = format!("{what}, since there is no gravity to derive it from");
                    self.problem(path, "nothing", expected);
                    None
                }
            }
        };
        // Contacts of the normal model `impulse` tremble with what gravity adds in a step: bodies move about as fast, and what they
        // do to each other differs from step to step by about their weight.
        let (part, wake) = match file.contact.normal {
            NormalModel::Impulse => (0.03, 0.5),
            _ => (0.01, 0.05),
        };
        let speed = part * (gravity * radius).sqrt();
        let after = 5.0 * (radius / gravity).sqrt();
        let speed = value("speed", sleep.speed, speed, "a speed, m/s");
        let after = value("after", sleep.after, after, "a time, s");
        let wake = value("wake", sleep.wake, wake * gravity, "an acceleration, m/s²");
        Some(Sleep {
            speed: speed?,
            after: after?,
            wake: wake?,
        })
    }

    /// A time step that follows all springs, s, if that needs one that is less than `time_step`.
    pub(super) fn time_step_of_springs(
        &mut self,
        given: bool,
        time_step: f64,
        springs: &[Spring],
        bodies: Listed,
        shapes: &[Clump],
    ) -> f64 {
        let inverse_mass = |end: End| match end {
            End::Body { body, .. } if !bodies[body].fixed => 1.0 / shapes[bodies[body].shape].mass,
            _ => 0.0,
        };
        let mut least = time_step;
        for (index, spring) in springs.iter().enumerate() {
            let inverse: f64 = spring.ends.into_iter().map(inverse_mass).sum();
            let slowest = (spring.stiffness * inverse).sqrt().recip();
            let damped = (spring.damping * inverse).recip();
            let limit = PART_OF_SPRING * slowest.min(damped);
            if limit < time_step && given {
                self.problems.push(
                    Problem::new(
                        "contact.time_step",
                        format!("{} s", exact(time_step)),
                        format!(
                            "at most {} s, to follow springs[{index}] between bodies of their masses",
                            rounded(limit)
                        ),
                    )
                    .help("leave \"time_step\" out to have it derived"),
                );
            }
            least = least.min(limit);
        }
        if least < time_step && !given {
            self.notes.push(format!(
                "time step {} s, which the stiffest spring needs",
                rounded(least)
            ));
        }
        least
    }
}
