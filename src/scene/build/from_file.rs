//! Bodies from a file.

mod npz;
mod vtk;

use std::collections::HashMap;

use super::super::error::{Problem, exact};
use super::super::files::{Folder, neighbour};
use super::super::format::{BodiesFile, Body, List, SceneFile, Shape, Sphere, Units};

/// Radii that the bodies of a file may have: each is a shape of its own.
const MOST_RADII: usize = 4096;

/// The columns of a file of bodies.
struct Rows {
    names: Vec<String>,
    /// Row by row, with the line of each.
    rows: Vec<(usize, Vec<f64>)>,
    /// Names of what the file has besides, and is no column.
    others: Vec<String>,
}

/// Columns of the components of what has one or more for each row: `position_x` and so on.
fn components(
    name: &str,
    rows: usize,
    components: usize,
    numbers: &[f64],
) -> Vec<(String, Vec<f64>)> {
    let column = |index: usize| -> Vec<f64> {
        (0..rows)
            .map(|row| numbers[row * components + index])
            .collect()
    };
    if components == 1 {
        return vec![(name.to_owned(), column(0))];
    }
    let of = |index: usize| {
        let axis = ["x", "y", "z", "w"]
            .get(index)
            .map(|axis| (*axis).to_owned());
        let axis = axis.unwrap_or_else(|| index.to_string());
        (format!("{name}_{axis}"), column(index))
    };
    (0..components).map(of).collect()
}

/// The scene with the bodies of its file in place of the file, and what to note about them; `None` if it names none.
///
/// # Errors
/// What is wrong with the file.
pub(super) fn expand(
    file: &SceneFile,
    folder: Folder,
) -> Result<Option<(SceneFile, String)>, Vec<Problem>> {
    let Some(from) = &file.bodies.from else {
        return Ok(None);
    };
    let one = |problem: Problem| vec![problem];
    let full = folder.join(&from.file);
    let bytes = folder.files.read(&full).map_err(|error| {
        let found = format!("{:?} ({error})", from.file);
        let problem = Problem::new(
            "bodies.file",
            found,
            "a file of bodies, relative to the folder of the scene",
        );
        one(match neighbour(folder.files, &full) {
            Some(meant) => problem.help(format!("did you mean {}?", meant.display())),
            None => problem,
        })
    })?;
    let wrong = |line: usize, found: String, expected: &str| {
        let place = match line {
            0 => format!("{:?}", from.file),
            line => format!("{:?}, line {line}", from.file),
        };
        one(Problem::new(
            "bodies.file",
            format!("{found} in {place}"),
            expected,
        ))
    };
    let read = if bytes.starts_with(b"PK") {
        npz::read(&bytes)
    } else if vtk::is_vtk(&bytes) {
        vtk::read(&bytes)
    } else {
        match std::str::from_utf8(&bytes) {
            Ok(text) if text.trim_start().starts_with("ITEM:") => dump(text),
            Ok(text) => csv(text),
            Err(_) => Err((
                0,
                "bytes that are not text".to_owned(),
                "CSV, a dump of LAMMPS or LIGGGHTS in text, NPZ, or VTK",
            )),
        }
    };
    let rows = read.map_err(|(line, found, expected)| wrong(line, found, expected))?;
    if rows.rows.is_empty() {
        return Err(wrong(
            0,
            "no body".to_owned(),
            "at least one row of numbers",
        ));
    }
    let mut scene = file.clone();
    let mut bodies = Bodies::new(from, &rows, &mut scene)
        .map_err(|problem| one(Problem::new("bodies", problem.0, problem.1)))?;
    let mut list = Vec::with_capacity(rows.rows.len());
    for (line, row) in &rows.rows {
        let body = bodies
            .body(row)
            .map_err(|(found, expected)| wrong(*line, found, &expected))?;
        list.push(body);
    }
    let note = bodies.note(&rows, list.len());
    scene.bodies.list = list;
    scene.bodies.from = None;
    Ok(Some((scene, note)))
}

type Mistake = (usize, String, &'static str);

fn csv(text: &str) -> Result<Rows, Mistake> {
    let mut lines = (1..).zip(text.lines()).filter(|(_, line)| {
        let line = line.trim();
        !line.is_empty() && !line.starts_with('#')
    });
    let (_, head) = lines.next().ok_or((
        0,
        "nothing".to_owned(),
        "a line of names such as x,y,z,radius, then a line for each body",
    ))?;
    let cells = |line: &str| -> Vec<String> {
        let cells = line.split([',', ';', '\t']);
        cells
            .map(|cell| cell.trim().trim_matches('"').to_owned())
            .collect()
    };
    let names = cells(head);
    if names.iter().any(|name| name.parse::<f64>().is_ok()) {
        return Err((
            1,
            format!("the numbers {head:?}"),
            "a line of names such as x,y,z,radius, before those of numbers",
        ));
    }
    let rows = lines.map(|(number, line)| row(number, cells(line).iter(), names.len()));
    let rows = rows.collect::<Result<_, _>>()?;
    Ok(Rows {
        names,
        rows,
        others: Vec::new(),
    })
}

/// The last state of a dump.
fn dump(text: &str) -> Result<Rows, Mistake> {
    const EXPECTED: &str =
        "a dump with ITEM: NUMBER OF ATOMS and ITEM: ATOMS with names of columns";
    let lines: Vec<&str> = text.lines().collect();
    let atoms = |line: &&str| line.trim_start().starts_with("ITEM: ATOMS");
    let start = lines
        .iter()
        .rposition(atoms)
        .ok_or((0, "no ITEM: ATOMS".to_owned(), EXPECTED))?;
    let names: Vec<String> = lines[start]
        .split_whitespace()
        .skip(2)
        .map(str::to_owned)
        .collect();
    let counted = lines[..start]
        .iter()
        .rposition(|line| line.trim_start().starts_with("ITEM: NUMBER OF ATOMS"))
        .and_then(|at| lines.get(at + 1)?.trim().parse::<usize>().ok())
        .ok_or((start + 1, "no number of atoms".to_owned(), EXPECTED))?;
    let body = lines[start + 1..].iter().take(counted);
    let rows = (start + 2..).zip(body);
    let rows = rows.map(|(number, line)| row(number, line.split_whitespace(), names.len()));
    let rows: Vec<_> = rows.collect::<Result<_, _>>()?;
    if rows.len() < counted {
        return Err((
            lines.len(),
            format!("the end after {} of {counted} atoms", rows.len()),
            "all of them",
        ));
    }
    Ok(Rows {
        names,
        rows,
        others: Vec::new(),
    })
}

fn row(
    line: usize,
    cells: impl Iterator<Item = impl AsRef<str>>,
    count: usize,
) -> Result<(usize, Vec<f64>), Mistake> {
    let mut row = Vec::with_capacity(count);
    for cell in cells {
        // What is no number is told of only where one is needed.
        row.push(cell.as_ref().parse().unwrap_or(f64::NAN));
    }
    match row.len() == count {
        true => Ok((line, row)),
        false => Err((
            line,
            format!("{} columns", row.len()),
            "one for each name of a column",
        )),
    }
}

/// Places of the numbers of a body in a row.
struct Bodies<'a> {
    from: &'a BodiesFile,
    scene: &'a mut SceneFile,
    units: f64,
    position: [usize; 3],
    velocity: Option<[usize; 3]>,
    spin: Option<[usize; 3]>,
    orientation: Option<[usize; 4]>,
    /// Place of the radius, and the factor that makes it one of the number there.
    radius: Option<(usize, f64)>,
    kind: Option<usize>,
    temperature: Option<usize>,
    used: Vec<usize>,
    /// Shapes of a radius, by the name of the shape and the radius.
    sized: HashMap<(String, u64), String>,
}

impl<'a> Bodies<'a> {
    fn new(
        from: &'a BodiesFile,
        rows: &Rows,
        scene: &'a mut SceneFile,
    ) -> Result<Bodies<'a>, (String, String)> {
        let mut used = Vec::new();
        let mut find = |names: &[String]| -> Option<usize> {
            let found = rows.names.iter().position(|own| {
                let own = own.to_ascii_lowercase().replace('_', "");
                names.iter().any(|name| name.replace('_', "") == own)
            })?;
            used.push(found);
            Some(found)
        };
        let mut all = |stems: [&str; 3], axes: &[&str]| -> Option<Vec<usize>> {
            axes.iter()
                .map(|axis| find(&stems.map(|stem| format!("{stem}{axis}"))))
                .collect()
        };
        const AXES: [&str; 3] = ["x", "y", "z"];
        let mut three = |stems: [&str; 3]| -> Option<[usize; 3]> {
            all(stems, &AXES).and_then(|list| list.try_into().ok())
        };
        // Of states of our own, in which the position is that of the centre of mass.
        let origin = three(["origin_"; 3]);
        let position = origin.or_else(|| three(["", "position_", "pos_"]));
        let velocity = three(["v", "velocity_", "vel_"]);
        let spin = three(["omega", "angular_velocity_", "w"]);
        let orientation = all(["q", "orientation_", "quat"], &["x", "y", "z", "w"])
            .and_then(|list| list.try_into().ok());
        let mut single = |names: [&str; 2]| find(&names.map(str::to_owned));
        // Of LAMMPS, which do not go back into the box.
        let position = position.or_else(|| {
            let unwrapped = ["xu", "yu", "zu"].map(|name| single([name, name]));
            match unwrapped {
                [Some(x), Some(y), Some(z)] => Some([x, y, z]),
                _ => None,
            }
        });
        let radius = single(["radius", "r"]).map(|at| (at, 1.0));
        let radius = radius.or_else(|| single(["diameter", "d"]).map(|at| (at, 0.5)));
        let kind = single(["type", "kind"]);
        let temperature = single(["temperature", "temp"]);
        let Some(position) = position else {
            return Err((
                format!("the columns {} in {:?}", rows.names.join(", "), from.file),
                "columns x, y and z among them".to_owned(),
            ));
        };
        if from.shape.is_none() && (from.types.0.is_empty() || kind.is_none()) {
            return Err((
                "neither a \"shape\" nor \"types\" with a column `type`".to_owned(),
                "the name of one shape for all bodies, or one for each type".to_owned(),
            ));
        }
        Ok(Bodies {
            units: from.units.map_or(1.0, Units::metres),
            from,
            scene,
            position,
            velocity,
            spin,
            orientation,
            radius,
            kind,
            temperature,
            used,
            sized: HashMap::new(),
        })
    }

    fn body(&mut self, row: &[f64]) -> Result<Body, (String, String)> {
        let number = |at: usize, what: &str| -> Result<f64, (String, String)> {
            let number = row[at];
            match number.is_finite() {
                true => Ok(number),
                false => Err((format!("no number as {what}"), "a number".to_owned())),
            }
        };
        let three = |at: [usize; 3], what: &str, unit: f64| -> Result<_, (String, String)> {
            let mut list = [0.0; 3];
            for (own, at) in list.iter_mut().zip(at) {
                *own = unit * number(at, what)?;
            }
            Ok(List(list))
        };
        let units = self.units;
        let position = three(self.position, "a coordinate", units)?;
        let zero = List([0.0; 3]);
        let velocity = self
            .velocity
            .map_or(Ok(zero), |at| three(at, "a velocity", units))?;
        let spin = self
            .spin
            .map_or(Ok(zero), |at| three(at, "an angular velocity", 1.0))?;
        let orientation = match self.orientation {
            None => None,
            Some(at) => {
                let mut list = [0.0; 4];
                for (own, at) in list.iter_mut().zip(at) {
                    *own = number(at, "a part of a quaternion")?;
                }
                Some(List(list))
            }
        };
        let temperature = match self.temperature {
            None => None,
            Some(at) => Some(number(at, "a temperature")?),
        };
        let radius = match self.radius {
            None => None,
            Some((at, factor)) => Some(units * factor * number(at, "a radius")?),
        };
        let mut shape = self.from.shape.clone();
        if let Some(at) = self.kind
            && !self.from.types.0.is_empty()
        {
            let kind = exact(row[at]);
            let own = self.from.types.0.iter().find(|(name, _)| *name == kind);
            shape = own.map(|(_, name)| name.clone()).or(shape);
            if shape.is_none() {
                let known: Vec<&str> = self.from.types.names().collect();
                return Err((
                    format!("the type {kind}"),
                    format!("one of those in \"types\": {}", known.join(", ")),
                ));
            }
        }
        let mut shape = shape.unwrap_or_default();
        if let Some(radius) = radius {
            shape = self.sized(shape, radius)?;
        }
        let fixed = self.from.fixed;
        Ok(Body {
            shape,
            material: self.from.material.clone(),
            position,
            orientation,
            velocity: if fixed { zero } else { velocity },
            angular_velocity: if fixed { zero } else { spin },
            fixed,
            group: self.from.group.clone(),
            temperature,
            ..Body::default()
        })
    }

    /// The name of a sphere of a radius (m), like the one of a name.
    fn sized(&mut self, name: String, radius: f64) -> Result<String, (String, String)> {
        if let Some(known) = self.sized.get(&(name.clone(), radius.to_bits())) {
            return Ok(known.clone());
        }
        let shapes = &mut self.scene.shapes.0;
        let Some((_, shape)) = shapes.iter().find(|(own, _)| *own == name) else {
            // That there is none is told of the body.
            return Ok(name);
        };
        let Some(sphere) = &shape.sphere else {
            return Err((
                format!("a radius for the shape {name:?}, which is not a single sphere"),
                "a \"sphere\" as the shape, or no column of radii".to_owned(),
            ));
        };
        if radius <= 0.0 {
            return Err((
                format!("the radius {} m", exact(radius)),
                "a length greater than 0 (m)".to_owned(),
            ));
        }
        if self.sized.len() >= MOST_RADII {
            return Err((
                format!("more than {MOST_RADII} different radii"),
                "fewer: round them".to_owned(),
            ));
        }
        let own = match sphere.radius == radius {
            true => name.clone(),
            false => {
                let own = format!("{name} {} m", exact(radius));
                let sized = Shape {
                    sphere: Some(Sphere { radius }),
                    ..shape.clone()
                };
                if !shapes.iter().any(|(other, _)| *other == own) {
                    shapes.push((own.clone(), sized));
                }
                own
            }
        };
        self.sized.insert((name, radius.to_bits()), own.clone());
        Ok(own)
    }

    fn note(&self, rows: &Rows, count: usize) -> String {
        let unused = rows.names.iter().enumerate();
        let unused: Vec<&str> = unused
            .filter(|(index, _)| !self.used.contains(index))
            .map(|(_, name)| name.as_str())
            .chain(rows.others.iter().map(String::as_str))
            .collect();
        let plural = if count == 1 { "body" } else { "bodies" };
        let mut note = format!("bodies: {count} {plural} of {:?}", self.from.file);
        if !unused.is_empty() {
            note += &format!("; without the columns {}", unused.join(", "));
        }
        note
    }
}
