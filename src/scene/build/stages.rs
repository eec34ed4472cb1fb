//! Stages of a run.

use super::super::contact::{self, Encounters};
use super::super::error::Problem;
use super::super::format::{self, SceneFile};
use super::check::{Check, Names, Sign, vector};
use crate::model::stage::{End, Stage, Until};
use crate::model::wall::{Motion, Wall};
use crate::model::{Model, PairLaw};
use crate::state;

/// Stages whose pairs have no laws yet, beside the pairs that they give: indices of two materials, and what is given.
pub(super) type StagedPairs = Vec<Vec<(usize, usize, format::Pair)>>;

impl Check {
    /// The stages but for the laws of pairs; walls that come to move are given a motion at rest.
    pub(super) fn stages(
        &mut self,
        file: &SceneFile,
        materials: &Names,
        walls: &mut [Wall],
    ) -> (Vec<Stage>, StagedPairs) {
        let names: Vec<String> = walls.iter().map(|wall| wall.name.clone()).collect();
        let names = Names::new("wall", names.iter().map(String::as_str));
        let mut staged_pairs = Vec::new();
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
            let mut motions = Vec::new();
            for (name, motion) in &stage.motions.0 {
                let path = format!("{path}.motions.{name}");
                let Some(wall) = self.resolve(&path, name, &names) else {
                    continue;
                };
                let own = &mut walls[wall];
                if own.dynamic.is_some() {
                    self.problem(
                        path,
                        "a wall that moves under load",
                        "a wall that stands still or has a \"motion\"",
                    );
                    continue;
                }
                let motion = self.motion(&path, motion, &own.pose);
                own.motion.get_or_insert_with(Motion::at_rest);
                motions.push((wall, motion));
            }
            let deform = stage.deform.map(|deform| {
                let path = format!("{path}.deform");
                self.deform(&path, &deform)
            });
            staged_pairs.push(self.staged_pairs(&path, file, stage, materials));
            stages.push(Stage {
                name: stage.name.clone().unwrap_or_else(|| path.clone()),
                end,
                gravity,
                motions,
                pairs: Vec::new(),
                deform,
            });
        }
        for (index, stage) in stages.iter().enumerate() {
            if let Some(Until::Touched(wall)) = stage.end.and_then(|end| end.until)
                && !walls[wall].works()
            {
                let found = format!("{:?}, a wall that never moves", walls[wall].name);
                let path = format!("stages[{index}].until.touched");
                self.problem(path, found, "one that moves in some stage, or under load");
            }
        }
        (stages, staged_pairs)
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
            ("motions", !stage.motions.0.is_empty()),
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

    /// The pairs of a stage, each with what the scene gives of it besides.
    fn staged_pairs(
        &mut self,
        path: &str,
        file: &SceneFile,
        stage: &format::Stage,
        materials: &Names,
    ) -> Vec<(usize, usize, format::Pair)> {
        let list = format!("{path}.pairs");
        let pairs = self.listed_pairs(&list, &stage.pairs, &file.contact, materials);
        let same = |own: &format::Pair, other: &format::Pair| {
            let ([a, b], others) = (&own.between.0, &other.between.0);
            *others == [a.clone(), b.clone()] || *others == [b.clone(), a.clone()]
        };
        pairs
            .into_iter()
            .map(|(a, b, pair)| {
                let before = file.pairs.iter().find(|own| same(own, pair));
                (
                    a,
                    b,
                    before.map_or_else(|| pair.clone(), |own| merged(own, pair)),
                )
            })
            .collect()
    }
}

/// A pair with what another gives of it in place of its own.
fn merged(own: &format::Pair, change: &format::Pair) -> format::Pair {
    let dashpot = change.restitution.is_some() || change.damping.is_some();
    let (restitution, damping) = match dashpot {
        true => (change.restitution, change.damping),
        false => (own.restitution, own.damping),
    };
    format::Pair {
        between: own.between.clone(),
        restitution,
        damping,
        friction: change.friction.or(own.friction),
        rolling_friction: change.rolling_friction.or(own.rolling_friction),
        rolling: change.rolling.or(own.rolling),
        twisting_friction: change.twisting_friction.or(own.twisting_friction),
        cohesion: change.cohesion.clone().or(own.cohesion.clone()),
    }
}

/// The laws of the pairs of stages, which go on from stage to stage.
pub(super) fn staged_laws(
    file: &SceneFile,
    stages: &mut [Stage],
    staged_pairs: &StagedPairs,
    pairs: &[(usize, usize, &format::Pair)],
    encounters: &Encounters,
) -> Result<(), Problem> {
    let materials: Vec<&format::Material> = file.materials.0.iter().map(|(_, m)| m).collect();
    let names: Vec<String> = file.materials.names().map(String::from).collect();
    for (stage, changed) in stages.iter_mut().zip(staged_pairs) {
        if changed.is_empty() {
            continue;
        }
        let kept = pairs.iter().filter(|(a, b, _)| {
            let same = |(c, d, _): &(usize, usize, format::Pair)| (*a, *b) == (*c, *d);
            !changed.iter().any(same)
        });
        let changed: Vec<_> = changed.iter().map(|(a, b, pair)| (*a, *b, pair)).collect();
        let all: Vec<_> = kept.copied().chain(changed.iter().copied()).collect();
        let mut laws = contact::mix(&materials, &all);
        contact::override_pairs(&file.contact, &mut laws);
        encounters.stiffen(&file.contact, &materials, &mut laws, &names)?;
        let law = |a: usize, b: usize| -> PairLaw { laws[a * materials.len() + b] };
        stage.pairs = changed.iter().map(|&(a, b, _)| (a, b, law(a, b))).collect();
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
                    format_args!("stages[{index}].pairs"),
                    "contacts that keep more history, or act farther away, than those of the scene",
                    "rolling springs and cohesion that the scene has from the start",
                )
                .help("give the pair a small value of the same kind under \"pairs\" of the scene"),
            ]);
        }
    }
    Ok(())
}
