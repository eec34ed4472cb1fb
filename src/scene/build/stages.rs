//! Stages of a run.

use std::collections::BTreeMap;

use super::super::contact::{self, Encounters};
use super::super::error::Problem;
use super::super::format::{self, SceneFile};
use super::check::{Check, Names, Sign, named, vector};
use crate::model::flow::{Inflow, Rate};
use crate::model::stage::{End, Stage, Until};
use crate::model::wall::{Dynamic, Motion, Wall};
use crate::model::{Model, PairLaw};
use crate::state;

/// For each stage, what its contact laws follow from, if it changes them.
pub(super) type StagedSurfaces = Vec<Option<Surfaces>>;

/// Materials, and pairs of them with the indices of both.
#[derive(Clone)]
pub(super) struct Surfaces {
    materials: Vec<(String, format::Material)>,
    pairs: Vec<(usize, usize, format::Pair)>,
}

impl Surfaces {
    fn pairs(&self) -> impl Iterator<Item = (usize, usize, &format::Pair)> {
        self.pairs.iter().map(|(a, b, pair)| (*a, *b, pair))
    }
}

impl Check {
    /// The stages but for the laws of pairs; walls that come to move are given a motion at rest.
    pub(super) fn stages(
        &mut self,
        file: &SceneFile,
        materials: &Names,
        pairs: &[(usize, usize, &format::Pair)],
        walls: &mut [Wall],
    ) -> (Vec<Stage>, StagedSurfaces) {
        let names: Vec<String> = walls.iter().map(|wall| wall.name.clone()).collect();
        let names = Names::new("wall", names.iter().map(String::as_str));
        let inlets: Vec<String> = (0..)
            .zip(&file.inlets)
            .map(|(index, inlet)| named(inlet.name.as_ref(), "inlet", index))
            .collect();
        let inlets = Names::new("inlet", inlets.iter().map(String::as_str));
        let mut surfaces = Surfaces {
            materials: file.materials.0.clone(),
            pairs: pairs
                .iter()
                .map(|&(a, b, own)| (a, b, own.clone()))
                .collect(),
        };
        let mut staged_surfaces = Vec::new();
        let mut stages = Vec::new();
        for (index, stage) in file.stages.iter().enumerate() {
            let path = format!("stages[{index}]");
            let is_last = index + 1 == file.stages.len();
            let end = self.end_of_stage(&path, stage, is_last, &names);
            if index == 0 {
                self.unchanged(&path, stage);
            }
            let gravity = stage.gravity.as_ref().map(|gravity| {
                let path = format_args!("{path}.gravity");
                self.vector(path, gravity, "an acceleration, m/s²");
                vector(gravity)
            });
            let deform = stage.deform.map(|deform| {
                let path = format!("{path}.deform");
                self.deform(&path, &deform)
            });
            self.change_surfaces(&path, file, stage, materials, &mut surfaces);
            let changes = !stage.materials.is_empty() || !stage.pairs.is_empty();
            staged_surfaces.push(changes.then(|| surfaces.clone()));
            stages.push(Stage {
                name: stage.name.clone().unwrap_or_else(|| path.clone()),
                end,
                gravity,
                walls: self.walls_of_stage(&path, stage, &names, walls),
                inlets: self.inlets_of_stage(&path, file, stage, &inlets),
                motions: self.motions_of_stage(&path, stage, &names, walls),
                pairs: Vec::new(),
                deform,
            });
        }
        self.comings_and_goings(&stages, walls);
        for (index, stage) in stages.iter().enumerate() {
            if let Some(Until::Touched(wall)) = stage.end.and_then(|end| end.until)
                && !walls[wall].works()
            {
                let found = format!("{:?}, a wall that never moves", walls[wall].name);
                let path = format!("stages[{index}].until.touched");
                self.problem(path, found, "one that moves in some stage, or under load");
            }
        }
        (stages, staged_surfaces)
    }

    fn motions_of_stage(
        &mut self,
        path: &str,
        stage: &format::Stage,
        names: &Names,
        walls: &mut [Wall],
    ) -> Vec<(usize, Motion)> {
        let mut motions = Vec::new();
        for (name, motion) in &stage.motions.0 {
            let path = format!("{path}.motions.{name}");
            let Some(wall) = self.resolve(&path, name, names) else {
                continue;
            };
            let own = &mut walls[wall];
            let motion = self.motion(&path, motion, &own.pose);
            match &own.dynamic {
                Some(Dynamic::Servo(_)) => self.drifts(&path, &motion, own),
                Some(Dynamic::Body(_)) => {
                    self.problem(
                        path,
                        "a wall that forces move",
                        "a wall that stands still, has a \"motion\" or is pressed by a \"servo\"",
                    );
                    continue;
                }
                None => _ = own.motion.get_or_insert_with(Motion::at_rest),
            }
            motions.push((wall, motion));
        }
        motions
    }

    /// Walls that come (`true`) and go (`false`).
    fn walls_of_stage(
        &mut self,
        path: &str,
        stage: &format::Stage,
        names: &Names,
        walls: &[Wall],
    ) -> Vec<(usize, bool)> {
        let lists = [
            ("add_walls", &stage.add_walls, true),
            ("remove_walls", &stage.remove_walls, false),
        ];
        let mut changed = Vec::new();
        for (field, list, comes) in lists {
            for (index, name) in list.iter().enumerate() {
                let path = format!("{path}.{field}[{index}]");
                let Some(wall) = self.resolve(&path, name, names) else {
                    continue;
                };
                if let Some(Dynamic::Body(_)) = walls[wall].dynamic {
                    self.problem(
                        path,
                        format!("{name:?}, a wall that forces move"),
                        "a wall that stands still, has a \"motion\" or is pressed by a \"servo\"",
                    );
                    continue;
                }
                changed.push((wall, comes));
            }
        }
        changed
    }

    /// Refuses walls that come where they are, and that go where they are not.
    fn comings_and_goings(&mut self, stages: &[Stage], walls: &[Wall]) {
        let mut there = BTreeMap::new();
        for (index, stage) in stages.iter().enumerate() {
            for (wall, comes) in &stage.walls {
                if there.insert(*wall, *comes) == Some(*comes) {
                    let (field, state, other) = match comes {
                        true => ("add_walls", "there", "remove_walls"),
                        false => ("remove_walls", "gone", "add_walls"),
                    };
                    self.problem(
                        format_args!("stages[{index}].{field}"),
                        format!("{:?}, which is {state} already", walls[*wall].name),
                        format!("a wall that an earlier stage names in {other:?}, or none does"),
                    );
                }
            }
        }
    }

    /// New flows of inlets; `None` for one that is closed.
    fn inlets_of_stage(
        &mut self,
        path: &str,
        file: &SceneFile,
        stage: &format::Stage,
        names: &Names,
    ) -> Vec<(usize, Option<Inflow>)> {
        let mut changed = Vec::new();
        for (name, flow) in &stage.inlets.0 {
            let path = format!("{path}.inlets.{name}");
            let Some(inlet) = self.resolve(&path, name, names) else {
                continue;
            };
            if *flow == format::Inflow::default() {
                changed.push((inlet, None));
                continue;
            }
            let rates = (flow.rate, flow.mass_rate);
            let start = flow.start.unwrap_or(0.0);
            let Some(flow) = self.inflow(&path, rates, start, flow.end) else {
                continue;
            };
            let first = first_rate(file, inlet, name);
            if matches!(flow.rate, Rate::Mass(_)) != (first == "mass_rate") {
                let other = if first == "rate" { "mass_rate" } else { "rate" };
                self.problem(
                    format_args!("{path}.{other}"),
                    "a rate of another kind than this inlet has before",
                    format!("{first:?}, since an inlet has rates of one kind"),
                );
            }
            changed.push((inlet, Some(flow)));
        }
        changed
    }

    fn end_of_stage(
        &mut self,
        path: &str,
        stage: &format::Stage,
        is_last: bool,
        walls: &Names,
    ) -> Option<End> {
        let given = [
            ("duration", stage.duration.is_some()),
            ("until", stage.until.is_some()),
        ];
        if is_last {
            for (field, _) in given.iter().filter(|(_, given)| *given) {
                self.problem(
                    format_args!("{path}.{field}"),
                    "an end of the last stage",
                    "none: it lasts until the \"duration\" of the scene is over",
                );
            }
            return None;
        }
        if given.iter().all(|(_, given)| !given) {
            self.problem(
                path,
                "neither \"duration\" nor \"until\"",
                "one or both of them, to begin the next stage",
            );
        }
        if let Some(duration) = stage.duration {
            let path = format_args!("{path}.duration");
            self.number(path, duration, "a time, s", Sign::Positive);
        }
        let until = stage.until.as_ref().and_then(|until| {
            let path = format!("{path}.until");
            match (
                until.speed_below,
                until.kinetic_energy_below,
                &until.touched,
            ) {
                (Some(speed), None, None) => {
                    let path = format_args!("{path}.speed_below");
                    self.number(path, speed, "a speed, m/s", Sign::Positive);
                    Some(Until::SpeedBelow(speed))
                }
                (None, Some(energy), None) => {
                    let path = format_args!("{path}.kinetic_energy_below");
                    self.number(path, energy, "an energy, J", Sign::Positive);
                    Some(Until::KineticEnergyBelow(energy))
                }
                (None, None, Some(wall)) => self
                    .resolve(format_args!("{path}.touched"), wall, walls)
                    .map(Until::Touched),
                (speed, energy, wall) => {
                    let given = [speed.is_some(), energy.is_some(), wall.is_some()];
                    let expected =
                        "one of \"speed_below\", \"kinetic_energy_below\" and \"touched\"";
                    self.not_one(&path, &given, expected);
                    None
                }
            }
        });
        Some(End {
            after: stage.duration.unwrap_or(f64::INFINITY),
            until,
        })
    }

    /// Refuses changes at the start of the first stage.
    fn unchanged(&mut self, path: &str, stage: &format::Stage) {
        let given = [
            ("gravity", stage.gravity.is_some()),
            ("add_walls", !stage.add_walls.is_empty()),
            ("remove_walls", !stage.remove_walls.is_empty()),
            ("inlets", !stage.inlets.is_empty()),
            ("motions", !stage.motions.is_empty()),
            ("materials", !stage.materials.is_empty()),
            ("pairs", !stage.pairs.is_empty()),
            ("deform", stage.deform.is_some()),
        ];
        for (field, _) in given.iter().filter(|(_, given)| *given) {
            self.problem(
                format_args!("{path}.{field}"),
                "a change at the start of the first stage",
                "none: the scene itself says how it starts",
            );
        }
    }

    /// Makes the changes of materials and pairs at the start of a stage.
    fn change_surfaces(
        &mut self,
        path: &str,
        file: &SceneFile,
        stage: &format::Stage,
        materials: &Names,
        surfaces: &mut Surfaces,
    ) {
        for (name, change) in &stage.materials.0 {
            let path = format!("{path}.materials.{name}");
            if let Some(index) = self.resolve(&path, name, materials) {
                let (_, material) = &mut surfaces.materials[index];
                change_material(material, change);
                self.surface(&path, &file.contact, material);
            }
        }
        let list = format!("{path}.pairs");
        for (a, b, change) in self.listed_pairs(&list, &stage.pairs, &file.contact, materials) {
            let known = |(c, d, _): &&mut (usize, usize, format::Pair)| (*c, *d) == (a, b);
            match surfaces.pairs.iter_mut().find(known) {
                Some((_, _, own)) => change_pair(own, change),
                None => surfaces.pairs.push((a, b, change.clone())),
            }
        }
        if !stage.materials.is_empty() {
            self.kinds_of_cohesion(&list, &surfaces.materials, surfaces.pairs());
        }
    }
}

/// The kind of the first rate that an inlet has, in the scene or in a stage, as the field that gives it.
fn first_rate(file: &SceneFile, inlet: usize, name: &str) -> &'static str {
    let own = &file.inlets[inlet];
    let flows = file.stages.iter().flat_map(|stage| &stage.inlets.0);
    let staged = flows
        .filter(|(other, _)| other == name)
        .map(|(_, flow)| (flow.rate, flow.mass_rate));
    let mut rates = std::iter::once((own.rate, own.mass_rate)).chain(staged);
    match rates.find(|(rate, mass_rate)| rate.is_some() || mass_rate.is_some()) {
        Some((None, _)) => "mass_rate",
        _ => "rate",
    }
}

/// Sets what a change gives, of the fields that materials and pairs have in common.
macro_rules! set_given {
    ($own:ident, $change:ident) => {
        if $change.restitution.is_some() || $change.damping.is_some() {
            ($own.restitution, $own.damping) = ($change.restitution, $change.damping);
        }
        $own.rolling_friction = $change.rolling_friction.or($own.rolling_friction);
        $own.rolling = $change.rolling.or($own.rolling);
        $own.twisting_friction = $change.twisting_friction.or($own.twisting_friction);
        if $change.cohesion.is_some() {
            $own.cohesion.clone_from(&$change.cohesion);
        }
    };
}

fn change_material(own: &mut format::Material, change: &format::MaterialChange) {
    set_given!(own, change);
    own.friction = change.friction.unwrap_or(own.friction);
}

fn change_pair(own: &mut format::Pair, change: &format::Pair) {
    set_given!(own, change);
    own.friction = change.friction.or(own.friction);
}

/// The laws of pairs that the stages change, those of the scene being `laws`.
pub(super) fn staged_laws(
    file: &SceneFile,
    stages: &mut [Stage],
    staged_surfaces: &StagedSurfaces,
    laws: &[PairLaw],
    encounters: &Encounters,
) -> Result<(), Problem> {
    let names: Vec<String> = file.materials.names().map(String::from).collect();
    let count = names.len();
    let mut before = laws.to_vec();
    for (stage, surfaces) in stages.iter_mut().zip(staged_surfaces) {
        let Some(surfaces) = surfaces else {
            continue;
        };
        let materials: Vec<_> = surfaces.materials.iter().map(|(_, own)| own).collect();
        let pairs: Vec<_> = surfaces.pairs().collect();
        let mut now = contact::mix(&materials, &pairs);
        contact::override_pairs(&file.contact, &mut now);
        encounters.stiffen(&file.contact, &materials, &mut now, &names)?;
        let half = (0..count).flat_map(|a| (a..count).map(move |b| (a, b)));
        let changed = half.filter(|(a, b)| now[a * count + b] != before[a * count + b]);
        stage.pairs = changed.map(|(a, b)| (a, b, now[a * count + b])).collect();
        before = now;
    }
    Ok(())
}

/// Refuses stages whose contacts keep more history, or act farther away, than those of the first.
pub(super) fn check_history(model: &Model) -> Result<(), Vec<Problem>> {
    let mut staged = model.clone();
    for (index, stage) in model.stages.list.iter().enumerate() {
        stage.begin(&mut staged, 0.0);
        if !state::needs_no_more(&staged, model) {
            return Err(vec![
                Problem::new(
                    format_args!("stages[{index}]"),
                    "contacts that keep more history, or act farther away, than those of the scene",
                    "rolling springs and cohesion that the scene has from the start",
                )
                .help("give the pair a small value of the same kind under \"pairs\" of the scene"),
            ]);
        }
    }
    Ok(())
}
