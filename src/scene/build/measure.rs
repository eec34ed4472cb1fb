//! Measures of a run, and conditions that end it.

use super::super::error::exact;
use super::super::format::SceneFile;
use super::check::{Check, Names, Sign};
use crate::model::WallGroup;
use crate::model::wall::Wall;

impl Check {
    /// Measures that a run takes.
    pub(super) fn measure(&mut self, file: &SceneFile, shapes: &Names, materials: &Names) {
        let Some(measure) = &file.measure else {
            return;
        };
        if let Some(interval) = measure.every {
            self.interval("measure.every", interval);
        }
        if measure.residence && (file.inlets.is_empty() || file.outlets.is_empty()) {
            self.problem(
                "measure.residence",
                "true in a scene without both inlets and outlets",
                "false, or at least one of each: it is the time between them",
            );
        }
        if let Some(mixing) = &measure.mixing {
            let path = "measure.mixing";
            let given = [
                mixing.shape.is_some(),
                mixing.material.is_some(),
                mixing.property.is_some(),
            ];
            let given = given.iter().filter(|given| **given).count();
            if given != 1 {
                self.problem(
                    path,
                    format!("{given} of \"shape\", \"material\" and \"property\""),
                    "one of them",
                );
            }
            if let Some(name) = &mixing.shape {
                self.resolve(format_args!("{path}.shape"), name, shapes);
            }
            if let Some(name) = &mixing.material {
                self.resolve(format_args!("{path}.material"), name, materials);
            }
            if let Some(cell) = mixing.cell {
                self.length(format_args!("{path}.cell"), cell);
            }
        }
        if let Some(slope) = &measure.slope {
            let along = self.direction("measure.slope.along", &slope.along, "a direction");
            let up = match &slope.up {
                Some(up) => self.direction("measure.slope.up", up, "a direction"),
                None => Some(glam::DVec3::Y),
            };
            if let Some((along, up)) = along.zip(up)
                && along.cross(up).length() < 1e-9
            {
                self.problem(
                    "measure.slope.along",
                    "the direction upwards",
                    "one across it",
                );
            }
        }
        if let Some(fields) = &measure.fields {
            let path = "measure.fields";
            if let Some(interval) = fields.every {
                self.interval(&format!("{path}.every"), interval);
            }
            let region = self.range(format_args!("{path}.region"), &fields.region, true);
            let width = self.length(format_args!("{path}.width"), fields.width);
            if region.is_some()
                && width
                && let Err(wrong) = fields.start()
            {
                let (found, expected) = wrong
                    .strip_prefix("found ")
                    .and_then(|wrong| wrong.split_once(", expected "))
                    .unwrap_or((&wrong, "a grid"));
                self.problem(path, found, expected);
            }
        }
    }

    /// Conditions that end a run.
    pub(super) fn run_until(&mut self, file: &SceneFile, walls: &[Wall]) {
        let Some(until) = &file.until else {
            return;
        };
        for (field, number, what) in [
            ("speed_below", until.speed_below, "a speed, m/s"),
            (
                "kinetic_energy_below",
                until.kinetic_energy_below,
                "an energy, J",
            ),
            ("mass_out", until.mass_out, "a mass, kg"),
        ] {
            if let Some(number) = number {
                self.number(format_args!("until.{field}"), number, what, Sign::Positive);
            }
        }
        if let Some(time) = until.not_before {
            self.number("until.not_before", time, "a time, s", Sign::NotNegative);
        }
        if until.mass_out.is_some() && file.outlets.is_empty() {
            self.problem(
                "until.mass_out",
                "a mass in a scene without outlets",
                "an outlet under \"outlets\" to take it",
            );
        }
        if let Some(steady) = &until.steady {
            let path = "until.steady";
            for (field, number, what) in [
                ("window", steady.window, "a time, s"),
                ("within", steady.within, "a part"),
            ] {
                self.number(format_args!("{path}.{field}"), number, what, Sign::Positive);
            }
            let found = walls.iter().find(|wall| wall.name == steady.wall);
            match found {
                None if walls.len() == file.planes.len() + file.walls.len() => {
                    self.problem(
                        format_args!("{path}.wall"),
                        format!("the undefined wall {:?}", steady.wall),
                        "the \"name\" of a wall that moves",
                    );
                }
                Some(wall) if !wall.works() => {
                    self.problem(
                        format_args!("{path}.wall"),
                        format!("{:?}, which stands still", steady.wall),
                        "the \"name\" of a wall that moves",
                    );
                }
                _ => (),
            }
        }
        let any = [
            until.speed_below.is_some(),
            until.kinetic_energy_below.is_some(),
            until.mass_out.is_some(),
            until.steady.is_some(),
        ];
        if any == [false; 4] {
            self.problem(
                "until",
                "no condition",
                "\"speed_below\", \"kinetic_energy_below\", \"mass_out\" or \"steady\"",
            );
        }
        if let Some(time) = until.not_before.filter(|time| *time >= file.duration) {
            self.warnings.push(format!(
                "until.not_before: found {} s, which is not before the end of the run",
                exact(time)
            ));
        }
    }

    /// Groups of walls whose loads are summed up.
    pub(super) fn wall_groups(&mut self, file: &SceneFile, walls: &[Wall]) -> Vec<WallGroup> {
        let names: Vec<&str> = walls.iter().map(|wall| wall.name.as_str()).collect();
        let names = Names::new("wall", names.iter().copied());
        let mut groups = Vec::new();
        for (name, members) in &file.wall_groups.0 {
            let path = format!("wall_groups.{name}");
            if names.get(name).is_some() {
                self.problem(
                    &path,
                    "the name of a wall",
                    "another name, to tell them apart",
                );
            }
            if members.is_empty() {
                self.problem(&path, "no wall", "the names of walls");
            }
            let mut own = Vec::new();
            for (index, member) in members.iter().enumerate() {
                let path = format!("{path}[{index}]");
                let Some(wall) = self.resolve(&path, member, &names) else {
                    continue;
                };
                if own.contains(&wall) {
                    self.problem(path, format!("{member:?} again"), "each wall once");
                }
                own.push(wall);
            }
            groups.push(WallGroup {
                name: name.clone(),
                walls: own,
            });
        }
        groups
    }
}
