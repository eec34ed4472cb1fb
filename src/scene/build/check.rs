//! Checks that every part of a scene needs, and the problems, warnings and notes that they find.

use std::collections::HashMap;
use std::fmt::Display;

use glam::{DQuat, DVec3};
use serde::Serialize;

use super::super::error::{Problem, exact, rounded};
use super::super::format::{List, Vector};
use crate::model::Model;
use crate::model::quantity::{QUANTITIES, Quantities};

/// Deviation of a quaternion's length from 1 that draws a warning.
const LENGTH_TOLERANCE: f64 = 1e-3;
/// Warnings that a scene gives.
const WARNINGS: usize = 20;
/// Word for bodies that have a name.
pub(super) const NAMED: &str = "named body";
/// Names that an error lists.
const LISTED: usize = 8;

/// Names that others refer to, and their indices.
pub(super) struct Names<'a> {
    /// Word for the things that they name.
    what: &'static str,
    indices: HashMap<&'a str, usize>,
    pub(super) list: Vec<&'a str>,
}

impl<'a> Names<'a> {
    pub(super) fn new(what: &'static str, names: impl Iterator<Item = &'a str>) -> Self {
        let list: Vec<&str> = names.collect();
        Self {
            what,
            indices: list
                .iter()
                .enumerate()
                .map(|(i, name)| (*name, i))
                .collect(),
            list,
        }
    }

    pub(super) fn get(&self, name: &str) -> Option<usize> {
        self.indices.get(name).copied()
    }
}

/// Collects what is wrong, what is doubtful and what is worth knowing.
#[derive(Default)]
pub(super) struct Check {
    pub(super) problems: Vec<Problem>,
    pub(super) warnings: Vec<String>,
    /// Paths at which the file gives a quantity, and which of [`QUANTITIES`] it is.
    pub(super) given: Vec<(String, usize)>,
    pub(super) notes: Vec<String>,
}

impl Check {
    pub(super) fn problem(
        &mut self,
        path: impl Display,
        found: impl Into<String>,
        expected: impl Into<String>,
    ) {
        self.problems.push(Problem::new(path, found, expected));
    }

    /// A number that single precision can hold; `what` is what it measures, a comma, and its unit.
    pub(super) fn number(
        &mut self,
        path: impl Display,
        number: f64,
        what: &str,
        sign: Sign,
    ) -> bool {
        let (low, words) = match sign {
            Sign::Any => (f64::from(f32::MIN), ""),
            Sign::NotNegative => (0.0, " of 0 or more"),
            Sign::Positive => (f64::from(f32::MIN_POSITIVE), " greater than 0"),
        };
        let high = f64::from(f32::MAX);
        let fits = (low..=high).contains(&number);
        if !fits {
            let size = match number.abs() {
                size if size > high => ", at most 3.4e38 in size",
                size if size > 0.0 && size < low => ", at least 1.2e-38",
                _ => "",
            };
            let (what, unit) = what.split_once(", ").unwrap_or((what, ""));
            let unit = match unit {
                "" => String::new(),
                unit => format!(" ({unit})"),
            };
            self.problem(path, exact(number), format!("{what}{words}{size}{unit}"));
        }
        fits
    }

    /// Three numbers that single precision can hold.
    /// The quantities of bodies, as what stands at `path` gives them.
    pub(super) fn quantities(&mut self, path: &str, given: Quantities<Option<f64>>) -> Quantities {
        for (index, quantity) in QUANTITIES.iter().enumerate() {
            let Some(number) = given.array()[index] else {
                continue;
            };
            let path = format!("{path}.{}", quantity.name);
            let what = format!("a {}, {}", quantity.name.replace('_', " "), quantity.unit);
            let sign = match quantity.is_positive {
                true => Sign::Positive,
                false => Sign::Any,
            };
            self.number(&path, number, &what, sign);
            self.given.push((path, index));
        }
        given.or_default()
    }

    /// Warns of quantities that bodies of the model do not have, though the file gives them.
    pub(super) fn unused_quantities(&mut self, model: &Model) {
        for (path, index) in &self.given {
            let quantity = &QUANTITIES[*index];
            if !(quantity.is_on)(model) {
                let name = quantity.name.replace('_', " ");
                self.warnings.push(format!(
                    "{path}: {}, so nothing has a {name}",
                    quantity.why_off
                ));
            }
        }
    }

    pub(super) fn vector(&mut self, path: impl Display, vector: &Vector, what: &str) -> bool {
        let mut fits = true;
        for (index, component) in vector.0.iter().enumerate() {
            let path = format_args!("{path}[{index}]");
            fits &= self.number(path, *component, what, Sign::Any);
        }
        fits
    }

    /// A direction from a vector of any length but zero.
    pub(super) fn direction(
        &mut self,
        path: impl Display,
        vector: &Vector,
        what: &str,
    ) -> Option<DVec3> {
        let unit = unit(vector.0).map(|(unit, _)| DVec3::from_array(unit));
        if unit.is_none() {
            self.problem(
                path,
                list(&vector.0),
                format!("{what} of a length other than 0"),
            );
        }
        unit
    }

    /// A rotation from a quaternion of any length but zero.
    pub(super) fn quaternion(
        &mut self,
        path: impl Display,
        quaternion: &List<f64, 4>,
    ) -> Option<DQuat> {
        let Some((unit, length)) = unit(quaternion.0) else {
            self.problem(
                path,
                list(&quaternion.0),
                "a quaternion [x, y, z, w] of a length other than 0; [0, 0, 0, 1] turns nothing",
            );
            return None;
        };
        if (length - 1.0).abs() > LENGTH_TOLERANCE {
            self.warnings.push(format!(
                "{path}: found the quaternion {} of length {}, expected length 1; it was normalised",
                list(&quaternion.0),
                rounded(length)
            ));
        }
        Some(DQuat::from_array(unit))
    }

    /// The index of a name, or a problem.
    pub(super) fn resolve(
        &mut self,
        path: impl Display,
        name: &str,
        names: &Names,
    ) -> Option<usize> {
        let index = names.get(name);
        if index.is_none() {
            let what = names.what;
            let expected = match names.list.as_slice() {
                [] if what == NAMED => "a body with that \"name\"".to_owned(),
                [] => format!("{} from \"{what}s\", which is empty", with_article(what)),
                [only] => format!("{only:?}, the only {what}"),
                list if list.len() > LISTED => format!("one of the {} {what}s", list.len()),
                list => {
                    let quoted: Vec<String> = list.iter().map(|name| format!("{name:?}")).collect();
                    format!("one of the {what}s {}", quoted.join(", "))
                }
            };
            self.problems.push(
                Problem::new(path, format!("the undefined {what} {name:?}"), expected)
                    .did_you_mean(name, names.list.iter().copied()),
            );
        }
        index
    }

    /// The warnings, unless they are too many to read: then the first of them, and how many more.
    pub(super) fn readable_warnings(&mut self) -> Vec<String> {
        let more = self.warnings.len().saturating_sub(WARNINGS);
        if more > 0 {
            self.warnings.truncate(WARNINGS);
            self.warnings.push(format!("and {more} more warnings"));
        }
        std::mem::take(&mut self.warnings)
    }

    pub(super) fn length(&mut self, path: impl Display, length: f64) -> bool {
        self.number(path, length, "a length, m", Sign::Positive)
    }
}

/// Sign that a number may have.
#[derive(Clone, Copy)]
pub(super) enum Sign {
    Any,
    NotNegative,
    Positive,
}

pub(super) fn vector(list: &Vector) -> DVec3 {
    DVec3::from_array(list.0)
}

/// The name of what may have none: then what it is, and its place.
pub(super) fn named(name: Option<&String>, what: &str, index: usize) -> String {
    name.map_or_else(|| format!("{what} {index}"), Clone::clone)
}

/// `a wall`, `an inlet`
fn with_article(what: &str) -> String {
    match what.starts_with(['a', 'e', 'i', 'o', 'u']) {
        true => format!("an {what}"),
        false => format!("a {what}"),
    }
}

/// `[1, 2, 3]`
pub(super) fn list(numbers: &[f64]) -> String {
    let numbers: Vec<String> = numbers.iter().map(|number| exact(*number)).collect();
    format!("[{}]", numbers.join(", "))
}

/// A value as it stands in the file.
pub(super) fn written(value: impl Serialize) -> String {
    serde_json::to_value(value).map_or_else(|error| error.to_string(), |value| value.to_string())
}

pub(super) fn rounded_list(vector: DVec3) -> String {
    let numbers = vector.to_array().map(rounded);
    format!("[{}]", numbers.join(", "))
}

/// A vector divided by its length, and that length; None if it is zero. Scaled first, so that no
/// square overflows or vanishes.
fn unit<const N: usize>(vector: [f64; N]) -> Option<([f64; N], f64)> {
    let scale = vector.iter().map(|x| x.abs()).fold(0.0, f64::max);
    if scale == 0.0 || !scale.is_finite() {
        return None;
    }
    let scaled = vector.map(|x| x / scale);
    let length = scaled.iter().map(|x| x * x).sum::<f64>().sqrt();
    Some((scaled.map(|x| x / length), scale * length))
}
