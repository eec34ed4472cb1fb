//! `rockfall measure`.

use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};

use clap::Args;
use glam::DVec3;
use rockfall::error::Error;
use rockfall::model::Model;
use rockfall::output::series::{Flow, Period, Power, ResidenceTimes, Series, Windows};
use rockfall::output::{KeptRun, Rounded, RunFolder, Table, vtk, write_npz};
use rockfall::simulation::analysis::Moment;
use rockfall::simulation::analysis::fields::{Fields, Grid};
use rockfall::simulation::analysis::plan::{MixingPlan, Plan, Property, SlopePlan, mean_diameter};
use serde_json::{Map, Value, json};

use super::failure::{Failure, Outcome};
use super::table::table;
use super::terminal;

/// Measure a kept run: contacts, mixing, slopes, flow, and fields by coarse graining
///
/// DIR is a folder that `rockfall run SCENE --out DIR` has made. The table has a row for each kept state: bodies, coordination
/// number with and without rattlers, clusters, forces, the anisotropy of the fabric; with --mixing also Lacey's index, with
/// --slope also the angle of the free surface. Measures of contacts need states of contacts: run with --states bodies,contacts.
/// Below the table are the mass flows of outlets and faces, fitted to statistics.csv, the times in which nothing flowed, and the
/// mean power of walls that move. If the scene asks for collisions and residence times, lines sum them up, and --json has their
/// spectra. With --window, all of these are columns of the table, too.
///
/// With --fields, the command writes density, solid fraction, velocity, granular temperature and stress on a grid to the file
/// --to, averaged over all states from --from to --until.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct Arguments {
    /// Folder of a run
    #[arg(value_name = "DIR")]
    run: PathBuf,

    /// Leave out states before this time (s)
    #[arg(long, value_name = "TIME", value_parser = super::run::seconds, allow_negative_numbers = true)]
    from: Option<f64>,

    /// Leave out states after this time (s)
    #[arg(long, value_name = "TIME", value_parser = super::run::seconds, allow_negative_numbers = true)]
    until: Option<f64>,

    /// Average over windows of this time (s); walls, outlets and collisions have columns of the table, too
    #[arg(long, value_name = "TIME", value_parser = super::run::seconds)]
    window: Option<f64>,

    /// Measure how well WHAT is mixed: the name of a shape or of a material, `mass` or `volume`
    #[arg(long, value_name = "WHAT")]
    mixing: Option<String>,

    /// Side of the cells in which mixing is measured, m [default: four mean diameters]
    #[arg(long, value_name = "M", requires = "mixing")]
    cell: Option<f64>,

    /// Measure the angle of the free surface: UP points upwards, and the surface may rise ALONG, such as y,x or z,-x
    #[arg(long, value_name = "UP,ALONG", value_parser = slope, allow_hyphen_values = true)]
    slope: Option<SlopePlan>,

    /// Report pauses of the flow that last at least this long (s)
    #[arg(long, value_name = "TIME", default_value = "0.2", value_parser = super::run::seconds)]
    still: f64,

    /// Compute fields on a grid of this many cells along x, y and z; a single cell averages over its axis
    #[arg(long, value_name = "NX,NY,NZ", value_parser = cells, requires = "to")]
    fields: Option<[usize; 3]>,

    /// File for the fields, which ends in .vti (ParaView), .npz (numpy) or .csv
    #[arg(long, value_name = "FILE", requires = "fields")]
    to: Option<PathBuf>,

    /// Width of the Gaussian, m [default: the mean diameter or the longest side of a cell, whichever is larger]
    #[arg(long, value_name = "M", requires = "fields")]
    width: Option<f64>,

    /// Region of the grid, m: the smallest x, y and z, then the largest [default: the bodies, or the periodic box]
    #[arg(long, value_name = "X,Y,Z,X,Y,Z", value_parser = region, requires = "fields", allow_hyphen_values = true)]
    region: Option<[DVec3; 2]>,

    /// Also write the table to FILE as CSV
    #[arg(long, value_name = "FILE")]
    csv: Option<PathBuf>,

    /// Print everything as one JSON object
    #[arg(long)]
    json: bool,
}

const EXAMPLES: &str = "\
Examples:
  rockfall run drum.json --out runs/drum --states bodies,contacts
  rockfall measure runs/drum --mixing pair --slope y,x
      Measure how the pairs mix, and how steep the surface is, over time.
  rockfall measure runs/drum --slope y,x --window 0.5s
      Average the slope, the power of the drum and the rest over each half second.
  rockfall measure runs/drum --from 2s --fields 40,40,1 --to drum.vti
      Compute fields across the drum for ParaView, averaged along its axis and over time from 2 s on.
  rockfall measure runs/silo --fields 1,60,1 --width 0.01 --to profile.csv
      Compute density and stress along y, averaged over the cross-section.";

fn numbers<const N: usize>(text: &str) -> Result<[f64; N], String> {
    let expected = || format!("found {text:?}, expected {N} numbers separated by commas");
    let parsed = text
        .split(',')
        .map(|part| part.trim().parse::<f64>().ok().filter(|x| x.is_finite()));
    let numbers: Option<Vec<f64>> = parsed.collect();
    numbers
        .and_then(|list| list.try_into().ok())
        .ok_or_else(expected)
}

fn cells(text: &str) -> Result<[usize; 3], String> {
    let expected =
        || format!("found {text:?}, expected three whole numbers of 1 or more, such as 40,40,1");
    let numbers = numbers::<3>(text).map_err(|_| expected())?;
    let whole = numbers
        .iter()
        .all(|number| *number >= 1.0 && number.fract() == 0.0 && *number < 1e9);
    if !whole {
        return Err(expected());
    }
    Ok(numbers.map(|number| number as usize))
}

fn region(text: &str) -> Result<[DVec3; 2], String> {
    let [x, y, z, right, top, front] = numbers::<6>(text)?;
    Ok([DVec3::new(x, y, z), DVec3::new(right, top, front)])
}

fn slope(text: &str) -> Result<SlopePlan, String> {
    let expected = || format!("found {text:?}, expected two different axes, such as y,x or z,-x");
    let axis = |text: &str| {
        let (sign, name) = match text.trim().strip_prefix('-') {
            Some(rest) => (-1.0, rest),
            None => (1.0, text.trim()),
        };
        let axis = match name {
            "x" => DVec3::X,
            "y" => DVec3::Y,
            "z" => DVec3::Z,
            _ => return None,
        };
        Some(sign * axis)
    };
    let (up, along) = text.split_once(',').ok_or_else(expected)?;
    let axes = axis(up).zip(axis(along));
    let (up, along) = axes.ok_or_else(expected)?;
    if up.dot(along) != 0.0 {
        return Err(expected());
    }
    Ok(SlopePlan { up, along })
}

/// Runs the command.
pub fn run(arguments: &Arguments) -> Outcome {
    let kept = open(&arguments.run)?;
    let plan = Plan {
        mixing: arguments.mixing(kept.model())?,
        slope: arguments.slope,
    };
    let (from, until) = (
        arguments.from.unwrap_or(f64::NEG_INFINITY),
        arguments.until.unwrap_or(f64::INFINITY),
    );
    let chosen: Vec<usize> = (0..kept.moments().len())
        .filter(|index| (from..=until).contains(&kept.moments()[*index].time))
        .collect();
    if chosen.is_empty() {
        let [first, last] = [kept.moments().first(), kept.moments().last()];
        let time = |moment: Option<&rockfall::output::KeptMoment>| moment.map_or(0.0, |m| m.time);
        return Err(Failure::Usage(format!(
            "found no state from --from to --until, expected times among those of the states, {} to {} s",
            Rounded(time(first)),
            Rounded(time(last))
        )));
    }
    if let Some(to) = &arguments.to {
        // Before anything is computed.
        format_of(to)?;
    }
    let mut fields = None;
    let mut rows = Vec::new();
    let mut any_contacts = false;
    for index in &chosen {
        let moment = kept.moment(*index)?;
        any_contacts |= moment.contacts.is_some();
        if let Some(cells) = arguments.fields {
            let fields = match &mut fields {
                Some(fields) => fields,
                none => none.insert(arguments.start_fields(&kept, &moment, cells)?),
            };
            fields.add(&moment);
        }
        rows.push(plan.values(&moment));
    }
    if !any_contacts {
        terminal::warn(format_args!(
            "{}: the run has no states of contacts, so contacts and stresses cannot be measured; run its scene again with \
             --states bodies,contacts",
            arguments.run.display()
        ));
    }
    let series = Series::read(&arguments.run, kept.model())?;
    let columns = plan.columns();
    let Windows {
        columns,
        rows,
        periods,
    } = match arguments.window {
        Some(length) if length <= 0.0 => {
            return Err(Failure::Usage(
                "--window: expected a time greater than 0, s".to_owned(),
            ));
        }
        Some(length) => series.windows(&columns, &rows, length, arguments.still),
        None => Windows {
            columns: columns.into_iter().map(str::to_owned).collect(),
            rows,
            periods: Vec::new(),
        },
    };
    if let Some(file) = &arguments.csv {
        write_rows(file, &columns, &rows)?;
    }
    let mut written = None;
    if let (Some(fields), Some(to)) = (&fields, &arguments.to) {
        let last = chosen[chosen.len() - 1];
        let moment = &kept.moments()[last];
        write_fields(to, fields, moment.steps, moment.time)?;
        written = Some(to);
    }
    let whole = series.between(from, until, arguments.still);
    if arguments.json {
        let row = |values: &Vec<f64>| -> Value {
            let cells = columns.iter().zip(values);
            let cells = cells.map(|(name, value)| (name.clone(), number(*value)));
            Value::Object(cells.collect::<Map<String, Value>>())
        };
        return terminal::print_json(&json!({
            "moments": rows.iter().map(row).collect::<Vec<_>>(),
            "flows": whole.flows,
            "walls": whole.walls,
            "collisions": whole.collisions,
            "residence": whole.residence,
            "windows": periods,
            "fields": written.map(|file| file.display().to_string()),
        }));
    }
    print_rows(&columns, &rows)?;
    let lines = whole.flows.iter().map(flow);
    let left = whole.residence.iter().flatten();
    let lines = lines.chain(left.filter(|own| own.bodies > 0).map(residence));
    let lines = lines.chain(whole.walls.iter().map(power));
    for line in lines.chain(collisions(&whole)) {
        terminal::print(line)?;
    }
    if let Some(file) = written {
        terminal::print(format_args!(
            "{} (fields of {} states)",
            file.display(),
            chosen.len()
        ))?;
    }
    Ok(())
}

/// The line that sums up collisions: their number, their energy, and the speeds at which most of it was lost.
fn collisions(period: &Period) -> Option<String> {
    let (count, energy) = period.collided()?;
    let most = period
        .hardest()
        .filter(|class| class.dissipated > 0.0)
        .map(|class| {
            let [from, to] = [class.from, class.to].map(Rounded);
            format!(", most of it at {from} to {to} m/s")
        });
    Some(format!(
        "collisions: {count}, which dissipated {} J{}",
        Rounded(energy),
        most.unwrap_or_default()
    ))
}

/// The line of a flow.
fn flow(flow: &Flow) -> String {
    let mut line = format!("{}: {} kg passed", flow.name, Rounded(flow.mass_kg));
    if !flow.rate_kg_per_s.is_nan() {
        line += &format!(
            ", {} kg/s (standard error {})",
            Rounded(flow.rate_kg_per_s),
            Rounded(flow.error_kg_per_s)
        );
    }
    for (start, end) in &flow.without_flow_s {
        line += &format!("; no flow from {} to {} s", Rounded(*start), Rounded(*end));
    }
    line
}

/// The line of a wall that does work.
fn power(power: &Power) -> String {
    let [x, y, z] = power.torque.map(Rounded);
    format!(
        "{}: {} J of work, {} W on average; mean torque on it {x}, {y}, {z} N m",
        power.name,
        Rounded(power.work),
        Rounded(power.power)
    )
}

/// The line of the residence times at an outlet.
fn residence(own: &ResidenceTimes) -> String {
    format!(
        "{}: {} bodies stayed for {} s on average",
        own.outlet,
        own.bodies,
        Rounded(own.mean_s)
    )
}

fn open(path: &Path) -> Outcome<KeptRun> {
    if !KeptRun::is_one(path) {
        return Err(Failure::Usage(format!(
            "{}: expected the folder of a run, which `rockfall run SCENE --out DIR` makes",
            path.display()
        )));
    }
    let scene = super::load(&path.join(RunFolder::SCENE))?;
    Ok(KeptRun::open(path, &scene.model)?)
}

impl Arguments {
    fn mixing(&self, model: &Model) -> Outcome<Option<MixingPlan>> {
        let Some(name) = &self.mixing else {
            return Ok(None);
        };
        if self
            .cell
            .is_some_and(|side| !(side.is_finite() && side > 0.0))
        {
            return Err(Failure::Usage(
                "--cell: expected a length greater than 0, m".to_owned(),
            ));
        }
        let property = Property::named(model, name)
            .map_err(|wrong| Failure::Usage(format!("--mixing: {wrong}")))?;
        Ok(Some(MixingPlan {
            property,
            side: self.cell,
        }))
    }

    fn start_fields(&self, kept: &KeptRun, moment: &Moment, cells: [usize; 3]) -> Outcome<Fields> {
        let diameter = mean_diameter(moment);
        let [min, max] = match self.region {
            Some(region) => region,
            None => {
                let Some([min, max]) = moment.bounds() else {
                    return Err(Failure::Usage(
                        "--fields: the first state has no bodies that the grid could enclose; give --region"
                            .to_owned(),
                    ));
                };
                // Mass is not to be lost beyond the edges.
                let (mut min, mut max) = (min - diameter, max + diameter);
                if let Some(domain) = &kept.model().domain {
                    for axis in 0..3 {
                        if domain.periodic[axis] {
                            let end = domain.min[axis] + moment.period[axis];
                            (min[axis], max[axis]) = (domain.min[axis], end);
                        }
                    }
                }
                [min, max]
            }
        };
        let grid = Grid { min, max, cells };
        let spacing = grid.spacing();
        let longest = (0..3)
            .filter(|axis| cells[*axis] > 1)
            .map(|axis| spacing[axis])
            .fold(0.0, f64::max);
        let width = self.width.unwrap_or(diameter.max(longest));
        Fields::new(grid, width).map_err(|wrong| Failure::Usage(format!("--fields: {wrong}")))
    }
}

/// A number, or null where there is none.
fn number(value: f64) -> Value {
    serde_json::Number::from_f64(value).map_or(Value::Null, Value::Number)
}

/// A number for people.
fn cell(value: f64) -> String {
    match value.is_nan() {
        true => "-".to_owned(),
        false => Rounded(value).to_string(),
    }
}

/// Prints a table with a row for each state, without the columns of which nothing is known.
fn print_rows(columns: &[String], rows: &[Vec<f64>]) -> Outcome {
    let known: Vec<usize> = (0..columns.len())
        .filter(|column| rows.iter().any(|row| !row[*column].is_nan()))
        .collect();
    let pick = |cells: Vec<String>| known.iter().map(|column| cells[*column].clone()).collect();
    let mut lines: Vec<Vec<String>> = vec![pick(columns.to_vec())];
    lines.extend(
        rows.iter()
            .map(|row| pick(row.iter().map(|value| cell(*value)).collect())),
    );
    terminal::print(table(&lines))
}

fn write_rows(file: &Path, columns: &[String], rows: &[Vec<f64>]) -> Outcome {
    let mut text = columns.join(",") + "\n";
    for row in rows {
        let cells = row.iter().map(|value| match value.is_nan() {
            true => String::new(),
            false => value.to_string(),
        });
        text += &(cells.collect::<Vec<_>>().join(",") + "\n");
    }
    std::fs::write(file, text).map_err(|error| Error::unwritten(file, &error).into())
}

/// A format of fields.
enum Format {
    Vti,
    Npz,
    Csv,
}

fn format_of(file: &Path) -> Outcome<Format> {
    match file.extension().and_then(|ending| ending.to_str()) {
        Some("vti") => Ok(Format::Vti),
        Some("npz") => Ok(Format::Npz),
        Some("csv") => Ok(Format::Csv),
        _ => Err(Failure::Usage(format!(
            "--to: found the file {}, expected a name that ends in .vti, .npz or .csv",
            file.display()
        ))),
    }
}

fn write_fields(file: &Path, fields: &Fields, steps: u64, time: f64) -> Outcome {
    let format = format_of(file)?;
    let unwritten = |error: std::io::Error| Failure::from(Error::unwritten(file, &error));
    let mut writer = BufWriter::new(File::create(file).map_err(unwritten)?);
    match format {
        Format::Vti => vtk::write_fields(&mut writer, fields, time),
        Format::Npz => write_npz(&mut writer, &Table::fields(fields), steps, time),
        Format::Csv => Table::fields(fields).write_csv(&mut writer),
    }
    .and_then(|()| writer.flush())
    .map_err(unwritten)
}
