//! From what the user wrote to a [`Model`]: checks everything, says all that is wrong at once, places
//! the fills, and derives stiffness and time step.

mod bodies;
mod bonds;
mod breakage;
mod check;
mod clumps;
mod deform;
mod domain;
mod explosions;
mod fills;
mod flow;
mod forces;
mod from_file;
mod heat;
mod law;
mod materials;
mod measure;
mod output;
mod overlaps;
mod stages;
mod start;
mod usage;
mod view;
mod walls;

use super::Scene;
use super::contact::{self, Encounters};
use super::error::{Problem, exact, rounded};
use super::files::Folder;
use super::format::{self, SceneFile};
use super::placed::Places;
use crate::model::bodies::Visit;
use crate::model::clump::Clump;
use crate::model::flow::Flow;
use crate::model::forces::Forces;
use crate::model::gravity::GravityTable;
use crate::model::packing::fill::Wanted;
use crate::model::packing::overlap::{Harmless, World};
use crate::model::stage::Stages;
use crate::model::steps::StepTimes;
use crate::model::wall::Probe;
use crate::model::{Integrator, Law, Model, ModelBody, PairLaw};
use check::{Check, Names, Sign, vector};
use forces::NamedBodies;
use overlaps::Kept;
use start::Next;
pub(super) use usage::unused_shapes;

/// Spheres that a scene may have: one bit of their 32-bit indices tells walls from them in neighbour lists.
pub const MAX_SPHERES: u64 = 2_000_000_000;
/// Spheres that a shape may have.
pub const MAX_SPHERES_OF_SHAPE: u64 = 100_000;
/// Materials that a scene may have; the pair table has its square.
pub const MAX_MATERIALS: usize = 1024;
/// Overlap at the start, as a fraction of the smaller radius, from which it is too deep.
pub const DEEP_OVERLAP: f64 = 0.05;
/// Steps of a run from which on there is a warning: a day and more on most machines.
const MANY_STEPS: f64 = 1e9;
/// Places farther from the origin than this times the largest radius have no grid cell.
pub const MAX_DISTANCE: f64 = 1e9;

/// Makes a scene of what the user wrote; `stem` is its name unless it has one, and `folder` that of its
/// file.
///
/// # Errors
///
/// All that is wrong with it, as far as one thing does not hide another.
pub(super) fn build(
    file: &SceneFile,
    stem: &str,
    folder: Folder,
    places: Places,
) -> Result<Scene, Vec<Problem>> {
    let (placed, searchers) = match places {
        Places::Known(placed) => (Some(placed), None),
        // A page has no other process, and no room for code that asks some.
        Places::Searched(_) if cfg!(target_family = "wasm") => (None, None),
        Places::Searched(searchers) => (None, searchers),
    };
    let mut check = Check::default();
    let expanded = from_file::expand(file, folder)?;
    let file = expanded.as_ref().map_or(file, |(file, _)| file);
    check
        .notes
        .extend(expanded.iter().map(|(_, note)| note.clone()));
    check.settings(file);
    let contact = check.contact(file, folder);
    let materials = check.materials(file);
    let pairs = check.pairs(file, &materials);
    let mut shapes = check.shapes(file, &materials, folder);
    let mut walls = check.walls(file, &materials, folder, &shapes.clumps);
    let (stages, staged_surfaces) = check.stages(file, &materials, &pairs, &mut walls);
    let mut stages = Stages::new(stages);
    let shape_names = Names::new("shape", file.shapes.names());
    let group_names = Names::new("group", file.groups.names());
    let groups = check.groups(file, &group_names);
    let bond_laws = check.bond_laws(file, &materials, &group_names);
    check.body_names(file);
    let water = check.water(file);
    let mut started = check.start(
        file,
        folder,
        [&shape_names, &materials, &group_names],
        &mut shapes,
        Next {
            walls: &walls,
            law: contact.as_ref().map(|contact| &contact.law),
            searchers,
        },
    );
    let started_bodies = started.bodies.len();
    let named = NamedBodies::new(file, started_bodies);
    let bodies = check.bodies(file, &shape_names, &materials, &group_names, &mut shapes);
    check.output(file);
    check.measure(file, &shape_names, &materials);
    let wall_groups = check.wall_groups(file, &walls);
    check.run_until(file, &walls);
    let view = check.view(file);
    let mut fills = check.fills(
        file,
        [&shape_names, &materials, &group_names],
        &mut shapes,
        searchers,
    );
    let mut inlets = check.inlets(
        file,
        &shape_names,
        &materials,
        &group_names,
        folder,
        &mut shapes,
    );
    let outlets = check.outlets(file);
    let spawn = check.spawn(file, &shape_names);
    let probes = check.probes(file);
    check.explosions(file, &named, started_bodies, &shape_names, &shapes.clumps);
    check.breakage(file, &shape_names, &shapes.clumps);
    let rigid = check.elasticity(file, &materials, &shape_names, &shapes);
    check.heat(file, &shape_names, &shapes);
    check.features_of_impulses(file);
    let shapes = shapes.clumps;
    check.extent(file, &shape_names, &shapes);
    let materials: Vec<&format::Material> = file.materials.0.iter().map(|(_, m)| m).collect();
    let mut laws = contact::mix(&materials, &pairs);
    contact::override_pairs(&file.contact, &mut laws);
    let domain = check.domain(file, &shape_names, &shapes, &laws, &walls);
    let deform = check.deforms(file, started.has_fixed());
    check.unused(file);
    let (Some(contact), []) = (contact, check.problems.as_slice()) else {
        return Err(check.problems);
    };

    let mut shapes: Vec<Clump> = shapes.into_iter().flatten().collect();
    let inlet_fills = inlets.iter_mut().map(|inlet| &mut inlet.fill);
    for fill in fills.iter_mut().chain(inlet_fills) {
        fill.resize(&mut shapes);
    }
    let there = |index: &usize| stages.has_wall(*index);
    let walls_there: Vec<usize> = (0..walls.len()).filter(there).collect();
    let probe = |index: &usize| Probe::new(&walls[*index], domain.as_ref());
    let wall_probes: Vec<Probe> = walls_there.iter().map(probe).collect();
    let kept = |index: &usize| started.kept_walls.get(*index) == Some(&true);
    let kept_walls: Vec<bool> = walls_there.iter().map(kept).collect();
    for fill in &mut fills {
        fill.settle_count(&shapes, &wall_probes);
    }
    let count = started_bodies + bodies.len() + fills.iter().map(|fill| fill.count).sum::<usize>();
    let open = fills.iter().any(|fill| fill.wanted == Some(Wanted::All));
    let fits = |body: &ModelBody| body.shape < shapes.len() && body.group < groups.len();
    let placed = placed
        .filter(|placed| (open || placed.bodies.len() == count) && placed.bodies.iter().all(fits));
    let bodies = match placed {
        Some(placed) => placed.bodies.clone(),
        None => {
            let world = World {
                shapes: &shapes,
                groups: &groups,
                walls: &wall_probes,
                domain: domain.as_ref(),
            };
            let kept = Kept {
                started: &mut started,
                harmless: Harmless {
                    bodies: started_bodies,
                    walls: &kept_walls,
                },
            };
            check.place(file, kept, bodies, &mut fills, world, searchers)?
        }
    };
    // Nobody below looks at single bodies of a fill that are made when they are wanted.
    let listed = bodies.listed();
    let springs = check.springs(file, &named, listed, &shapes);
    let applied = check.applied(file, &named, listed, &shapes);
    let (bonds, of_bonds) = check.bonds(&bond_laws, &bodies, &shapes, domain.as_ref(), searchers);
    let sleep = check.sleep(file, smallest_radius(&shapes));
    if !check.problems.is_empty() {
        return Err(check.problems);
    }
    let all_fixed = bodies.len() == listed.list.len() && listed.list.iter().all(|body| body.fixed);
    if all_fixed && inlets.is_empty() && spawn.is_empty() {
        check
            .warnings
            .push("bodies: all of them are fixed, so nothing will move".into());
    }

    let gravity_table = GravityTable {
        rows: gravity_rows(file),
    };
    let gravity = gravity_table
        .largest()
        .unwrap_or_else(|| vector(&file.gravity));
    let explosions = explosions::explosions(file, &named, listed, &mut shapes)?;
    let breakage = breakage::breakage(file, &mut shapes)?;
    let names: Vec<String> = file.materials.names().map(String::from).collect();
    let later: Vec<ModelBody> = flow::newcomers(&inlets, gravity)
        .chain(explosions::flying(&explosions, listed))
        .chain(breakage::flying(&breakage, &bodies))
        .chain(spawn.iter().map(|shape| flow::spawned(*shape)))
        .collect();
    let moving: Visit = &|act| {
        bodies.visit(&mut *act);
        later.iter().for_each(act);
    };
    let encounters = Encounters::new(&materials, rigid, &shapes, &walls, moving, gravity);
    let notes = encounters
        .stiffen(&file.contact, &materials, &mut laws, &names)
        .map_err(|problem| vec![problem])?;
    check.notes.extend(notes);
    stages::staged_laws(file, &mut stages.list, &staged_surfaces, &laws, &encounters)
        .map_err(|problem| vec![problem])?;
    let mut frame = None;
    let time_step = if contact.law == Law::Impulse {
        let (seconds, substeps, time_step) = encounters.substeps(&file.contact, gravity, &mut laws);
        frame = Some((seconds, substeps));
        time_step
    } else {
        encounters
            .time_step(
                file.contact.time_step,
                file.duration,
                &contact,
                &laws,
                &names,
            )
            .map_err(|problem| vec![problem])?
    };
    single_precision(&contact.law, &laws)?;
    let given = file.contact.time_step.is_some() && frame.is_none();
    let mut seconds = time_step.seconds;
    if file.contact.elastic && !given {
        // The energy that a collision is off by goes with the square of it.
        seconds *= 0.5;
        check
            .notes
            .push("half of the time step, so that elastic collisions keep the energy".into());
    }
    let mut shorter = check.time_step_of_springs(given, seconds, &springs, listed, &shapes);
    shorter = check.time_step_of_bonds(given, shorter, of_bonds);
    if let Some((whole, substeps)) = &mut frame
        && shorter < seconds
    {
        let needed = (*whole / shorter).ceil().min(1e9) as u32;
        if file.contact.substeps.is_some() {
            check.problem(
                "contact.substeps",
                substeps.to_string(),
                format!("at least {needed}, to follow the stiffest spring"),
            );
        }
        *substeps = needed;
        shorter = *whole / f64::from(needed);
        encounters.stiffen_for(shorter, &mut laws);
    }
    let seconds = shorter;
    if frame.is_some() {
        let staged = stages.list.iter_mut().flat_map(|stage| &mut stage.pairs);
        for (a, b, law) in staged {
            law.stiffness = laws[*a * names.len() + *b].stiffness;
            law.wall_stiffness = law.stiffness;
        }
    }
    check.number("contact.time_step", seconds, "a time, s", Sign::Positive);
    if !check.problems.is_empty() {
        return Err(check.problems);
    }
    let steps = file.duration / seconds;
    if steps > MANY_STEPS {
        check.warnings.push(format!(
            "duration: {} s take {} steps of {} s each; even at 10,000 steps a second, a high speed, this takes {} \
             days; shorten the duration, or find out what makes contact.time_step so short",
            exact(file.duration),
            rounded(steps),
            rounded(seconds),
            rounded(steps / 1e4 / 86_400.0)
        ));
    }
    let all = || {
        let mut all = later.clone();
        bodies.visit_kinds(|body| all.push(*body));
        all
    };
    let heat = check.heat_of(file, &shapes, all, seconds);
    let every = check.look_every(file, seconds);
    if !check.problems.is_empty() {
        return Err(check.problems);
    }
    check.notes.push(time_step.note);
    check.warnings.extend(time_step.warning);

    let model = Model {
        name: file.name.clone().unwrap_or_else(|| stem.into()),
        gravity: gravity_table
            .at(0, StepTimes::new(seconds))
            .unwrap_or(gravity),
        gravity_table,
        duration: file.duration,
        time_step: seconds,
        integrator: match file.integrator {
            format::Integrator::SemiImplicit => Integrator::SemiImplicit,
            format::Integrator::Explicit => Integrator::Explicit,
        },
        domain,
        deform,
        contact,
        materials: names,
        pairs: laws,
        shapes,
        walls,
        wall_groups,
        bodies,
        flow: Flow {
            every,
            inlets,
            outlets,
            probes,
            explosions,
            spawn,
            residence: file
                .measure
                .as_ref()
                .is_some_and(|measure| measure.residence),
            collisions: file
                .measure
                .as_ref()
                .is_some_and(|measure| measure.collisions),
        },
        breakage,
        breakage_names: (0..)
            .zip(&file.breakage)
            .map(|(index, rule)| rule.name.clone().unwrap_or(format!("breakage {index}")))
            .collect(),
        held: named.held(file),
        history: started.history,
        forces: Forces {
            groups,
            springs,
            applied,
            water,
        },
        bonds,
        sleep,
        heat,
        stages,
        view,
    };
    stages::check_history(&model)?;
    check.unused_quantities(&model);
    let mut file = file.clone();
    file.name = Some(model.name.clone());
    file.contact.time_step = Some(model.time_step);
    if let Some((seconds, substeps)) = frame {
        (file.contact.time_step, file.contact.substeps) = (Some(seconds), Some(substeps));
    }
    Ok(Scene {
        model,
        file,
        folder: folder.path.to_owned(),
        warnings: check.readable_warnings(),
        // Some are of where bodies were placed.
        notes: placed.map_or(check.notes, |placed| placed.notes.clone()),
    })
}

/// The table of gravity over time: times, s, and accelerations, m/s².
fn gravity_rows(file: &SceneFile) -> Vec<(f64, glam::DVec3)> {
    let rows = file.gravity_table.iter().flatten();
    let row = |row: &format::List<f64, 4>| {
        let [time, x, y, z] = row.0;
        (time, glam::DVec3::new(x, y, z))
    };
    rows.map(row).collect()
}

fn smallest_radius(shapes: &[Clump]) -> f64 {
    let spheres = shapes.iter().flat_map(|shape| &shape.spheres);
    spheres
        .map(|sphere| sphere.radius)
        .fold(f64::INFINITY, f64::min)
}

/// Whether single precision can hold the parameters of all pairs.
fn single_precision(law: &Law, pairs: &[PairLaw]) -> Result<(), Vec<Problem>> {
    let range = f64::from(f32::MIN_POSITIVE)..=f64::from(f32::MAX);
    let stiffnesses = pairs
        .iter()
        .flat_map(|pair| [pair.stiffness, pair.wall_stiffness]);
    let Some(stiffness) = stiffnesses
        .filter(|k| *k != 0.0)
        .find(|k| !range.contains(k))
    else {
        return Ok(());
    };
    let expected = "a number between 1.2e-38 and 3.4e38, for single precision";
    let stiffness = rounded(stiffness);
    Err(vec![match law {
        Law::HertzMindlin => Problem::new(
            "materials",
            format!("{stiffness} Pa as 4/3 of an effective modulus"),
            expected,
        )
        .help("change \"young_modulus\" or \"poisson_ratio\""),
        _ => Problem::new(
            "contact.stiffness",
            format!("{stiffness} N/m as the derived one"),
            expected,
        )
        .help("give a stiffness, or change masses, radii or speeds"),
    }])
}
