//! Statistics over time: the columns of `statistics.csv`, taken while the simulation runs, or read from the run that is shown.

use std::path::Path;
use std::time::Duration;

use web_time::Instant;

use super::PATIENCE;
use crate::math::parallel::prelude::*;
use crate::model::Model;
use crate::model::error::Result;
use crate::output::{RunFolder, Statistics};
use crate::simulation::Simulation;
use crate::state::{Field, body_orientation};

/// Most points of a curve; then every second one is dropped.
const MOST: usize = 2000;

/// Part of the time that statistics may take.
const PART: f64 = 0.005;

/// Columns that take the bodies alone.
const PLAIN: [&str; 4] = [
    "kinetic_energy_J",
    "gravitational_energy_J",
    "mean_speed_m_per_s",
    "fastest_m_per_s",
];

/// Columns that are shown at first.
const FIRST: [&str; 3] = [PLAIN[0], PLAIN[2], PLAIN[3]];

/// Endings of the names of columns, and the units that they stand for.
const UNITS: [(&str, &str); 9] = [
    ("_m_per_s", "m/s"),
    ("_of_radius", "of the radius"),
    ("_Nm", "N m"),
    ("_kg", "kg"),
    ("_J", "J"),
    ("_N", "N"),
    ("_W", "W"),
    ("_m", "m"),
    ("_s", "s"),
];

/// A column, with its name as people read it.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Column {
    /// Name in `statistics.csv`.
    pub key: String,
    pub name: String,
    /// Unit; empty for numbers.
    pub unit: &'static str,
    /// Whether it is plotted.
    pub shown: bool,
}

impl Column {
    fn new(key: String) -> Column {
        let ending = UNITS.iter().find(|(ending, _)| key.ends_with(ending));
        let (stem, unit) = match ending {
            Some((ending, unit)) => (&key[..key.len() - ending.len()], *unit),
            None => (key.as_str(), ""),
        };
        Column {
            name: stem.replace('_', " "),
            unit,
            shown: FIRST.contains(&key.as_str()),
            key,
        }
    }
}

/// Statistics of a moment.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Moment {
    /// Simulated time, s.
    pub time: f64,
    /// A value for each column; not a number where it was not taken.
    pub values: Vec<f64>,
}

/// Figures of the run so far.
#[derive(Debug)]
pub(super) struct History {
    pub columns: Vec<Column>,
    pub moments: Vec<Moment>,
    /// Whether the panel shows what takes the contacts, besides what it plots.
    pub is_looked_into: bool,
    /// Whether it is that of a run that was kept.
    is_kept: bool,
    /// Steps of the simulation when the last one was taken.
    steps: Option<u64>,
    next: Instant,
    /// Every how many of the moments that are taken one is kept.
    every: u32,
    taken: u32,
}

impl History {
    pub fn new(model: &Model) -> History {
        let all = Statistics::columns(model).into_iter();
        let rest = all.filter(|key| is_of_contacts(key));
        let plain = PLAIN.map(str::to_owned).into_iter();
        History {
            columns: plain.chain(rest).map(Column::new).collect(),
            moments: Vec::new(),
            is_looked_into: false,
            is_kept: false,
            steps: None,
            next: Instant::now(),
            every: 1,
            taken: 0,
        }
    }

    /// The history of a run in a folder, or nothing, if it has none.
    pub fn of_run(path: &Path, model: &Model) -> History {
        let history = History::new(model);
        let Ok(mut file) = csv::Reader::from_path(path.join(RunFolder::STATISTICS)) else {
            return History {
                is_kept: true,
                ..history
            };
        };
        let keys: Vec<String> = match file.headers() {
            Ok(keys) => keys.iter().map(str::to_owned).collect(),
            Err(_) => Vec::new(),
        };
        let time = keys.iter().position(|key| key == "time_s").unwrap_or(0);
        let chosen: Vec<usize> = (0..keys.len())
            .filter(|&index| PLAIN.contains(&keys[index].as_str()) || is_of_contacts(&keys[index]))
            .collect();
        let rows = file.records().flatten().map(|row| {
            let number = |index: usize| {
                let cell = row.get(index).and_then(|cell| cell.parse().ok());
                cell.unwrap_or(f64::NAN)
            };
            Moment {
                time: number(time),
                values: chosen.iter().map(|&index| number(index)).collect(),
            }
        });
        let moments: Vec<Moment> = rows.collect();
        let apart = moments.len().div_ceil(MOST).max(1);
        History {
            moments: moments.into_iter().step_by(apart).collect(),
            columns: chosen
                .iter()
                .map(|&index| Column::new(keys[index].clone()))
                .collect(),
            is_kept: true,
            ..history
        }
    }

    /// Columns as they are, with nothing in them yet; those of a kept run stay.
    pub fn start_again(&mut self, model: &Model) {
        if !self.is_kept {
            *self = History {
                columns: std::mem::take(&mut self.columns),
                ..History::new(model)
            };
        }
    }

    /// The last moment up to a time, s.
    pub fn at(&self, time: f64) -> Option<&Moment> {
        let slack = 1e-9 * time.abs();
        let after = self
            .moments
            .partition_point(|moment| moment.time <= time + slack);
        self.moments[..after].last().or(self.moments.first())
    }

    /// Takes a moment, if it is time for one.
    pub async fn follow(&mut self, simulation: &mut Simulation) -> Result<()> {
        let start = Instant::now();
        let is_due = start >= self.next && self.steps != Some(simulation.steps());
        if self.is_kept || !is_due {
            return Ok(());
        }
        self.steps = Some(simulation.steps());
        let shown = self.columns[PLAIN.len()..].iter().any(|own| own.shown);
        let moment = Moment::of(simulation, shown || self.is_looked_into).await?;
        self.taken += 1;
        // Somebody went back in time.
        self.moments.retain(|before| before.time < moment.time);
        if self.taken.is_multiple_of(self.every) || self.moments.is_empty() {
            self.moments.push(moment);
        }
        if self.moments.len() >= MOST {
            let mut index = 0;
            self.moments.retain(|_| {
                index += 1;
                index % 2 == 1
            });
            self.every *= 2;
        }
        let pause = start.elapsed().div_f64(PART);
        self.next = Instant::now() + pause.max(Duration::from_millis(50));
        Ok(())
    }

    /// Has the next look take a moment, as what is shown may take more than before.
    pub fn look_again(&mut self) {
        self.steps = None;
    }
}

/// Whether a column of [`Statistics`] takes the contacts, or more.
fn is_of_contacts(key: &str) -> bool {
    !PLAIN.contains(&key) && !["step", "time_s", "sphere_steps_per_s"].contains(&key)
}

impl Moment {
    /// A moment of a simulation, with `all` columns or only the plain ones.
    pub async fn of(simulation: &mut Simulation, all: bool) -> Result<Moment> {
        if all {
            simulation.fetch_contacts_by(PATIENCE).await?;
        } else {
            simulation.fetch_by(PATIENCE, &[Field::Bodies]).await?;
        }
        let (state, model) = (simulation.on_host(), simulation.model());
        let sums = state
            .bodies
            .par_iter()
            .enumerate()
            .map(|(index, body)| (body, state.identities[index]))
            .filter(|(_, who)| !who.fixed)
            .map(|(body, who)| {
                let clump = &model.shapes[who.shape];
                let speed = body.velocity.as_dvec3().length();
                let momentum = body.angular_momentum.as_dvec3();
                let own = body_orientation(body).conjugate() * momentum;
                let kinetic = 0.5 * (clump.mass * speed * speed + (own / clump.inertia).dot(own));
                let height = model.gravity.dot(state.position(body));
                [kinetic, -clump.mass * height, speed, 1.0, speed]
            })
            .reduce(
                || [0.0; 5],
                |a, b| {
                    let mut sum: [f64; 5] = std::array::from_fn(|k| a[k] + b[k]);
                    sum[4] = a[4].max(b[4]);
                    sum
                },
            );
        let [kinetic, gravitational, speed, count, fastest] = sums;
        let plain = [kinetic, gravitational, speed / count.max(1.0), fastest];
        let keys = Statistics::columns(model);
        let rest: Vec<f64> = match all {
            true => Statistics::new(&simulation.fetched(), 0.0).values,
            false => vec![f64::NAN; keys.len()],
        };
        let rest = keys.iter().zip(rest);
        let rest = rest.filter(|(key, _)| is_of_contacts(key));
        Ok(Moment {
            time: simulation.time(),
            values: plain
                .into_iter()
                .chain(rest.map(|(_, value)| value))
                .collect(),
        })
    }
}

#[cfg(test)]
mod tests {
    use pollster::block_on;

    use super::*;

    fn stack() -> Simulation {
        let scene = crate::scene::load("scenes/stack.json".as_ref()).unwrap();
        Simulation::on_cpu(scene.model, Some(1)).unwrap()
    }

    #[test]
    fn columns_have_names_and_units_and_all_of_them_a_value() {
        let mut simulation = stack();
        let mut history = History::new(simulation.model());
        simulation.step(100).unwrap();
        block_on(history.follow(&mut simulation)).unwrap();
        let values = &history.moments[0].values;
        assert_eq!(values.len(), history.columns.len());
        // What takes contacts is left out while nobody looks at it.
        let known = values.iter().filter(|value| !value.is_nan()).count();
        assert_eq!(known, PLAIN.len());
        history.is_looked_into = true;
        history.look_again();
        history.next = Instant::now();
        block_on(history.follow(&mut simulation)).unwrap();
        let moment = history.at(simulation.time()).unwrap();
        assert!(moment.values.iter().all(|value| !value.is_nan()));
        let column = |key: &str| {
            let columns = history.columns.iter();
            columns.clone().position(|own| own.key == key).unwrap()
        };
        let statistics = Statistics::new(&simulation.snapshot().unwrap(), 0.0);
        let keys = Statistics::columns(simulation.model());
        for key in [
            "kinetic_energy_J",
            "coordination",
            "contacts",
            "wall_0_force_y_N",
        ] {
            let expected = statistics.values[keys.iter().position(|own| own == key).unwrap()];
            let found = moment.values[column(key)];
            let off = (found - expected).abs();
            assert!(off <= 1e-9 * expected.abs(), "{key}: {found}, {expected}");
        }
        let force = &history.columns[column("wall_0_force_y_N")];
        assert_eq!((force.name.as_str(), force.unit), ("wall 0 force y", "N"));
    }
}
