//! Cases, what they measure, and the table in `docs/book/src/validation.md`.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::fs;
use std::path::PathBuf;
use std::sync::Mutex;
use std::time::Instant;

use crate::common::own;

use rockfall::Simulation;
use rockfall::model::Model;
use rockfall::simulation::Precision;
use serde_json::Value;

use crate::common::{device, model};

/// Set to have the table written by the cases that run.
const WRITE: &str = "ROCKFALL_WRITE_VALIDATION";

/// Text above the table.
const HEAD: &str = "\
# Numbers that the physics reproduces

Each row is a quantity measured in a run of the engines, held to what theory or a published
benchmark says. `cargo xtask validate` runs all of them and writes this table; `cargo xtask test`
holds the quick ones to their tolerances, `cargo xtask test --long` the others too. The cases are
in `tests/validation/`, with the formulas from which the expected numbers come.

Tolerances in % are relative, others absolute. *At least* and *at most* are bounds. *Not run* are large cases
where the GPU engine has only a software adapter, on which they would take the better part of an hour each.
";

const COLUMNS: &str = "\
| case | quantity | source | expected | got on CPU | got on GPU | tolerance |
|---|---|---|---|---|---|---|
";

/// An engine to run on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Engine {
    Cpu,
    Gpu,
    /// The plain reference in double precision: what the two are compared with, not a column of the table.
    Double,
}

impl Engine {
    /// A simulation of a scene.
    pub fn start(self, scene: &Value) -> Simulation {
        self.start_model(model(&scene.to_string()))
    }

    /// A simulation that goes on where another is: what takes long to come to rest does so on the CPU engine,
    /// which is much faster than a software adapter.
    pub fn go_on(self, from: &mut Simulation) -> Simulation {
        let mut simulation = self.start_model(from.model().clone());
        let steps = from.steps();
        simulation.restore(from.state().unwrap(), steps).unwrap();
        simulation
    }

    /// A simulation of a model.
    pub fn start_model(self, model: Model) -> Simulation {
        match self {
            Engine::Cpu => Simulation::on_cpu(model, None).unwrap(),
            Engine::Gpu => Simulation::on_gpu(model, device()).unwrap(),
            Engine::Double => Simulation::on_reference(model, Precision::Double).unwrap(),
        }
    }
}

/// A set-up whose outcome is known.
pub struct Case {
    pub name: &'static str,
    /// Source of the expected numbers.
    pub source: &'static str,
    pub run: fn(Engine) -> Vec<Quantity>,
    /// Whether it runs on GPUs, but not on a software adapter, on which it takes the better part of an hour.
    pub large: bool,
}

/// Expectation of a quantity.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Expected {
    /// Within a part of the number.
    Relative(f64, f64),
    /// Within a distance of the number.
    Absolute(f64, f64),
    AtMost(f64),
    AtLeast(f64),
}

impl Expected {
    fn holds(self, got: f64) -> bool {
        match self {
            Expected::Relative(number, part) => (got - number).abs() <= part * number.abs(),
            Expected::Absolute(number, distance) => (got - number).abs() <= distance,
            Expected::AtMost(number) => got <= number,
            Expected::AtLeast(number) => got >= number,
        }
    }

    /// A difference as a part of the expected number; nothing if that is 0 or a bound.
    pub fn part_of(self, difference: f64) -> Option<f64> {
        match self {
            Expected::Relative(number, _) | Expected::Absolute(number, _) if number != 0.0 => {
                Some((difference / number).abs())
            }
            _ => None,
        }
    }

    fn cell(self) -> String {
        match self {
            Expected::Relative(number, _) | Expected::Absolute(number, _) => digits(number),
            Expected::AtMost(number) => format!("at most {}", digits(number)),
            Expected::AtLeast(number) => format!("at least {}", digits(number)),
        }
    }

    fn tolerance(self) -> String {
        match self {
            Expected::Relative(_, part) => format!("{} %", digits(100.0 * part)),
            Expected::Absolute(_, distance) => digits(distance),
            Expected::AtMost(_) | Expected::AtLeast(_) => String::new(),
        }
    }
}

/// A quantity of a case.
pub struct Quantity {
    /// Name of the quantity, with its unit.
    pub what: String,
    pub expected: Expected,
    pub got: f64,
}

/// A quantity that is to be within `part` of `expected`.
pub fn relative(what: impl Into<String>, expected: f64, got: f64, part: f64) -> Quantity {
    quantity(what, Expected::Relative(expected, part), got)
}

/// A quantity that is to be nearer to `expected` than `distance`.
pub fn absolute(what: impl Into<String>, expected: f64, got: f64, distance: f64) -> Quantity {
    quantity(what, Expected::Absolute(expected, distance), got)
}

/// A quantity that is to be no larger than `limit`.
pub fn at_most(what: impl Into<String>, limit: f64, got: f64) -> Quantity {
    quantity(what, Expected::AtMost(limit), got)
}

/// A quantity that is to be no smaller than `limit`.
pub fn at_least(what: impl Into<String>, limit: f64, got: f64) -> Quantity {
    quantity(what, Expected::AtLeast(limit), got)
}

fn quantity(what: impl Into<String>, expected: Expected, got: f64) -> Quantity {
    Quantity {
        what: what.into(),
        expected,
        got,
    }
}

/// The number that a formula gives, checked against how it is printed in the literature or was
/// computed by hand: to all digits of `printed`.
pub fn printed(formula: f64, printed: &str) -> f64 {
    let number: f64 = printed.parse().unwrap();
    let digits = printed.rsplit('e').next_back().unwrap();
    let decimals = digits.split_once('.').map_or(0, |(_, part)| part.len());
    let exponent = printed
        .split_once('e')
        .map_or(0, |(_, e)| e.parse().unwrap());
    let last_digit = 10f64.powi(exponent - decimals as i32);
    assert!(
        (formula - number).abs() <= last_digit,
        "the formula gives {formula}, and {printed} was expected"
    );
    formula
}

impl Case {
    /// Runs the case on both engines, writes its rows if asked to, and panics with all that is off.
    pub fn check(&self, all: &[Case]) {
        let timed = |engine: Engine| {
            let start = Instant::now();
            let rows = (self.run)(engine);
            println!("{}: {engine:?} took {:.1?}", self.name, start.elapsed());
            for Quantity {
                what,
                expected,
                got,
            } in &rows
            {
                println!("{engine:?} {}: {what}: {got} of {expected:?}", self.name);
            }
            rows
        };
        let cpu = timed(Engine::Cpu);
        let gpu = (!self.large || !is_software()).then(|| timed(Engine::Gpu));
        let names = |rows: &[Quantity]| -> Vec<String> {
            rows.iter().map(|quantity| quantity.what.clone()).collect()
        };
        let runs = [("CPU", Some(&cpu)), ("GPU", gpu.as_ref())];
        let mut failures = String::new();
        for (engine, rows) in runs {
            let Some(rows) = rows else { continue };
            assert_eq!(names(&cpu), names(rows), "the same quantities on both");
            for Quantity {
                what,
                expected,
                got,
            } in rows
            {
                if !expected.holds(*got) {
                    let line = format!("{engine}: {what}: got {got}, expected {expected:?}\n");
                    failures.push_str(&line);
                }
            }
        }
        if std::env::var_os(WRITE).is_some() {
            write(all, self, &self.rows(&cpu, gpu.as_deref()));
        }
        assert!(failures.is_empty(), "{}\n{failures}", self.name);
    }

    fn rows(&self, cpu: &[Quantity], gpu: Option<&[Quantity]>) -> String {
        let mut text = String::new();
        for (index, row) in cpu.iter().enumerate() {
            writeln!(
                text,
                "| {} | {} | {} | {} | {} | {} | {} |",
                self.name,
                row.what,
                self.source,
                row.expected.cell(),
                digits(row.got),
                gpu.map_or("not run".to_owned(), |rows| digits(rows[index].got)),
                row.expected.tolerance(),
            )
            .unwrap();
        }
        text
    }
}

/// Whether the GPU tests have no GPU.
fn is_software() -> bool {
    device().adapter.contains("software")
}

/// A number to six significant digits.
fn digits(number: f64) -> String {
    if number == 0.0 {
        return "0".to_owned();
    }
    let rounded: f64 = format!("{number:.5e}").parse().unwrap();
    if (1e-3..1e6).contains(&rounded.abs()) {
        rounded.to_string()
    } else {
        format!("{rounded:e}")
    }
}

fn path() -> PathBuf {
    own("docs/book/src/validation.md")
}

/// The name of the case in a row of the table.
fn name_of(row: &str) -> &str {
    row.split('|').nth(1).unwrap_or_default().trim()
}

/// The rows of the table, without its head.
fn rows_of(document: &str) -> impl Iterator<Item = &str> {
    let table = document.split_once(COLUMNS).map_or("", |(_, rows)| rows);
    table.lines()
}

/// Puts the rows of a case in the place of those that the table has of it.
fn write(all: &[Case], case: &Case, rows: &str) {
    static TURN: Mutex<()> = Mutex::new(());
    let _turn = TURN.lock();
    let path = path();
    let old = fs::read_to_string(&path).unwrap_or_default();
    let mut text = format!(
        "{HEAD}\nThe GPU was: {}.\n\n{COLUMNS}",
        device().adapter.trim()
    );
    for other in all {
        if other.name == case.name {
            text.push_str(rows);
        } else {
            for row in rows_of(&old).filter(|row| name_of(row) == other.name) {
                text.push_str(row);
                text.push('\n');
            }
        }
    }
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(&path, text).unwrap();
}

/// Panics unless the table has rows of each case, and of no other. While it is being written, it
/// may.
pub fn check_table(all: &[Case]) {
    if std::env::var_os(WRITE).is_some() {
        return;
    }
    let document = fs::read_to_string(path()).unwrap();
    let written: BTreeSet<&str> = rows_of(&document).map(name_of).collect();
    let run: BTreeSet<&str> = all.iter().map(|case| case.name).collect();
    assert_eq!(written, run, "`cargo xtask validate` writes the table anew");
}

#[test]
fn digits_are_those_that_matter() {
    assert_eq!(digits(0.0), "0");
    assert_eq!(digits(10696.9123), "10696.9");
    assert_eq!(digits(-1.0 / 3.0), "-0.333333");
    assert_eq!(digits(4.034e-5), "4.034e-5");
}

#[test]
fn bounds_hold_on_their_side() {
    assert!(Expected::AtMost(1.0).holds(1.0) && !Expected::AtMost(1.0).holds(1.1));
    assert!(Expected::AtLeast(1.0).holds(1.0) && !Expected::AtLeast(1.0).holds(0.9));
    assert!(Expected::Relative(-2.0, 0.1).holds(-2.1) && !Expected::Relative(-2.0, 0.1).holds(2.0));
    for expected in [
        Expected::AtMost(1.0),
        Expected::AtLeast(1.0),
        Expected::Absolute(0.0, 1.0),
    ] {
        assert!(!expected.holds(f64::NAN), "{expected:?}");
    }
}
