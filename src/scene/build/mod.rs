//! From what the user wrote to a [`Model`]: checks everything, says all that is wrong at once, places
//! the fills, and derives stiffness and time step.

mod bodies;
mod check;
mod clumps;
mod fills;
mod materials;
mod overlaps;
mod usage;

use super::Scene;
use super::contact::{self, Encounters};
use super::error::{Problem, rounded};
use super::format::{self, SceneFile};
use crate::clump::Clump;
use crate::model::{ContactModel, Integrator, Model, PairLaw};
use check::{Check, Names, Sign, vector};

/// Spheres that a scene may have.
pub const MAX_SPHERES: u64 = 50_000_000;
/// Spheres that a shape may have.
pub const MAX_SPHERES_OF_SHAPE: u64 = 100_000;
/// Materials that a scene may have; the pair table has its square.
pub const MAX_MATERIALS: usize = 1024;
/// Overlap at the start, as a fraction of the smaller radius, from which it is too deep.
pub const DEEP_OVERLAP: f64 = 0.05;
/// Places farther from the origin than this times the largest radius have no grid cell.
pub const MAX_DISTANCE: f64 = 1e9;

/// Makes a scene of what the user wrote; `stem` is its name unless it has one.
///
/// # Errors
///
/// All that is wrong with it, as far as one thing does not hide another.
pub(super) fn build(file: &SceneFile, stem: &str) -> Result<Scene, Vec<Problem>> {
    let mut check = Check::default();
    check.settings(file);
    let materials = check.materials(file);
    let pairs = check.pairs(file, &materials);
    let shapes = check.shapes(file, &materials);
    let planes = check.planes(file, &materials);
    let shape_names = Names::new("shape", file.shapes.names());
    let bodies = check.bodies(file, &shape_names, &shapes);
    let fills = check.fills(file, &shape_names, &shapes);
    check.extent(file, &shape_names, &shapes);
    check.unused(file);
    if !check.problems.is_empty() {
        return Err(check.problems);
    }

    let shapes: Vec<Clump> = shapes.into_iter().flatten().collect();
    let bodies = check.place(bodies, &fills, &shapes, &planes)?;
    let bodies = check.initial_overlap(file, bodies, &fills, &shapes, &planes)?;
    if bodies.iter().all(|body| body.fixed) {
        check
            .warnings
            .push("bodies: all of them are fixed, so nothing will move".into());
    }

    let gravity = vector(&file.gravity);
    let names: Vec<String> = file.materials.names().map(String::from).collect();
    let material_list: Vec<&format::Material> = file
        .materials
        .0
        .iter()
        .map(|(_, material)| material)
        .collect();
    let mut laws = contact::mix(&material_list, &pairs);
    let encounters = Encounters::new(names.len(), &shapes, &planes, &bodies, gravity);
    let notes = encounters
        .stiffen(&file.contact, &mut laws, &names)
        .map_err(|problem| vec![problem])?;
    check.notes.extend(notes);
    single_precision(&laws)?;
    let time_step = encounters
        .time_step(file.contact.time_step, file.duration, &laws, &names)
        .map_err(|problem| vec![problem])?;
    check.number(
        "contact.time_step",
        time_step.seconds,
        "a time, s",
        Sign::Positive,
    );
    if !check.problems.is_empty() {
        return Err(check.problems);
    }
    check.notes.push(time_step.note);
    check.warnings.extend(time_step.warning);

    let model = Model {
        name: file.name.clone().unwrap_or_else(|| stem.into()),
        gravity,
        duration: file.duration,
        time_step: time_step.seconds,
        integrator: match file.integrator {
            format::Integrator::SemiImplicit => Integrator::SemiImplicit,
            format::Integrator::Explicit => Integrator::Explicit,
        },
        domain: None,
        contact: ContactModel::default(),
        materials: names,
        pairs: laws,
        shapes,
        planes,
        bodies,
    };
    Ok(Scene {
        model,
        warnings: check.readable_warnings(),
        notes: check.notes,
    })
}

/// Whether single precision can hold the parameters of all pairs.
fn single_precision(laws: &[PairLaw]) -> Result<(), Vec<Problem>> {
    let range = f64::from(f32::MIN_POSITIVE)..=f64::from(f32::MAX);
    let stiffnesses = laws.iter().map(|law| law.stiffness);
    match stiffnesses
        .filter(|k| *k != 0.0)
        .find(|k| !range.contains(k))
    {
        Some(stiffness) => Err(vec![
            Problem::new(
                "contact.stiffness",
                format!("{} N/m as the derived one", rounded(stiffness)),
                "a number between 1.2e-38 and 3.4e38, for single precision",
            )
            .help("give a stiffness, or change masses, radii or speeds"),
        ]),
        None => Ok(()),
    }
}
