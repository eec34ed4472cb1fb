//! OpenUSD: a kept run as a text file that Blender, Omniverse and others open.

use std::fmt::Display;
use std::io::{self, Write};

use glam::{DQuat, DVec3};

use super::meshes::{colour, shape_mesh};
use crate::model::Model;
use crate::model::error::{Error, Result};
use crate::model::wall::Shape;
use crate::simulation::Simulation;

/// A state of bodies and walls.
struct Frame {
    shapes: Vec<usize>,
    ids: Vec<u64>,
    positions: Vec<DVec3>,
    orientations: Vec<DQuat>,
    velocities: Vec<DVec3>,
    walls: Vec<(DVec3, DQuat)>,
    walls_there: Vec<bool>,
}

/// Writes a run as OpenUSD text (`.usda`), one state a frame: a `PointInstancer` with a prototype for each shape and
/// samples over time of where the bodies are, and a mesh for each wall that has an end, with samples of where it is.
/// `times` (s) are those of the states, and `show` puts `simulation` into one of them.
///
/// Lengths are in metres. The frame rate is that at which the run takes as long as it was simulated.
///
/// # Errors
/// If a state cannot be shown, or `writer` fails.
pub fn write_usd(
    writer: &mut impl Write,
    simulation: &mut Simulation,
    times: &[f64],
    mut show: impl FnMut(usize, &mut Simulation) -> Result<()>,
) -> Result<()> {
    let mut frames = Vec::new();
    for index in 0..times.len() {
        show(index, simulation)?;
        let snapshot = simulation.snapshot()?;
        let bodies: Vec<_> = snapshot.bodies().collect();
        let moving = snapshot.walls().map(|wall| wall.moving.pose);
        frames.push(Frame {
            shapes: bodies.iter().map(|body| body.shape).collect(),
            ids: bodies.iter().map(|body| body.id).collect(),
            positions: bodies.iter().map(|body| body.origin).collect(),
            orientations: bodies.iter().map(|body| body.orientation).collect(),
            velocities: bodies.iter().map(|body| body.velocity).collect(),
            walls: moving
                .map(|pose| (pose.position, pose.orientation))
                .collect(),
            walls_there: snapshot.model.walls_there(),
        });
    }
    let model = simulation.model();
    let written = write(writer, model, times, &frames);
    written.map_err(|error| Error::Other(Box::new(error)))
}

fn write(
    writer: &mut impl Write,
    model: &Model,
    times: &[f64],
    frames: &[Frame],
) -> io::Result<()> {
    let last = frames.len().saturating_sub(1);
    let duration = times.last().unwrap_or(&0.0) - times.first().unwrap_or(&0.0);
    let rate = if duration > 0.0 {
        last as f64 / duration
    } else {
        24.0
    };
    // USD knows y and z; a scene in which something else is up is turned as a whole.
    let up = model.up();
    let axis = if up.dot(DVec3::Z) > 0.999 {
        DVec3::Z
    } else {
        DVec3::Y
    };
    let turn = DQuat::from_rotation_arc(up, axis);
    writeln!(
        writer,
        "#usda 1.0\n(\n    defaultPrim = \"Run\"\n    doc = \"Rockfall {}\"\n    startTimeCode = 0\n    \
         endTimeCode = {last}\n    timeCodesPerSecond = {rate}\n    framesPerSecond = {rate}\n    \
         metersPerUnit = 1\n    upAxis = \"{}\"\n)\n\ndef Xform \"Run\"\n{{\n    \
         quatd xformOp:orient = {}\n    uniform token[] xformOpOrder = [\"xformOp:orient\"]\n",
        env!("CARGO_PKG_VERSION"),
        if axis == DVec3::Z { "Z" } else { "Y" },
        quaternion(turn),
    )?;
    writeln!(writer, "    def PointInstancer \"Bodies\"\n    {{")?;
    let names: Vec<String> = (0..model.shapes.len())
        .map(|index| format!("</Run/Bodies/Shapes/Shape_{index}>"))
        .collect();
    writeln!(writer, "        rel prototypes = [{}]", names.join(", "))?;
    samples(writer, "int[] protoIndices", frames, |frame| {
        list(frame.shapes.iter())
    })?;
    samples(writer, "int64[] ids", frames, |frame| {
        list(frame.ids.iter())
    })?;
    samples(writer, "point3f[] positions", frames, |frame| {
        list(frame.positions.iter().map(|place| vector(*place)))
    })?;
    samples(writer, "quath[] orientations", frames, |frame| {
        list(frame.orientations.iter().map(|turn| quaternion(*turn)))
    })?;
    samples(writer, "vector3f[] velocities", frames, |frame| {
        list(frame.velocities.iter().map(|way| vector(*way)))
    })?;
    writeln!(writer, "\n        def Scope \"Shapes\"\n        {{")?;
    for (index, clump) in model.shapes.iter().enumerate() {
        let mesh = shape_mesh(clump);
        let points = mesh.points.iter().map(|place| vector(place.as_dvec3()));
        let name = format!("Shape_{index}");
        surface(
            writer,
            "            ",
            &name,
            &clump.name,
            points,
            &mesh.triangles,
            (colour(index), 1.0),
            "",
        )?;
    }
    writeln!(writer, "        }}\n    }}")?;
    for (index, wall) in model.walls.iter().enumerate() {
        if matches!(wall.shape, Shape::Plane { .. }) || !wall.reach().is_finite() {
            continue;
        }
        let own = wall.surface(48, 0.0);
        let points = own
            .vertices
            .iter()
            .map(|place| vector(DVec3::from_array(*place)));
        let mut places = Vec::new();
        samples(&mut places, "double3 xformOp:translate", frames, |frame| {
            vector(frame.walls[index].0)
        })?;
        samples(&mut places, "quatd xformOp:orient", frames, |frame| {
            quaternion(frame.walls[index].1)
        })?;
        if frames.iter().any(|frame| !frame.walls_there[index]) {
            samples(&mut places, "token visibility", frames, |frame| {
                let shown = match frame.walls_there[index] {
                    true => "inherited",
                    false => "invisible",
                };
                format!("{shown:?}")
            })?;
        }
        let places = String::from_utf8_lossy(&places).into_owned()
            + "        uniform token[] xformOpOrder = [\"xformOp:translate\", \"xformOp:orient\"]\n";
        let look = ([0.40, 0.46, 0.53], 0.4);
        surface(
            writer,
            "    ",
            &format!("Wall_{index}"),
            &wall.name,
            points,
            &own.triangles,
            look,
            &places,
        )?;
    }
    writeln!(writer, "}}")?;
    writer.flush()
}

/// Writes what an attribute is at each frame; what is the same at all of them, once.
fn samples(
    writer: &mut impl Write,
    attribute: &str,
    frames: &[Frame],
    value: impl Fn(&Frame) -> String,
) -> io::Result<()> {
    let mut before = String::new();
    writeln!(writer, "        {attribute}.timeSamples = {{")?;
    for (index, frame) in frames.iter().enumerate() {
        let now = value(frame);
        // Between samples that differ, USD goes from one to the other: an equal one ends a rest.
        if index == 0
            || now != before
            || index + 1 == frames.len()
            || value(&frames[index + 1]) != now
        {
            writeln!(writer, "            {index}: {now},")?;
        }
        before = now;
    }
    writeln!(writer, "        }}")
}

#[allow(clippy::too_many_arguments)]
fn surface(
    writer: &mut impl Write,
    indent: &str,
    name: &str,
    title: &str,
    points: impl Iterator<Item = String>,
    triangles: &[[u32; 3]],
    (colour, opacity): ([f32; 3], f32),
    more: &str,
) -> io::Result<()> {
    let title = serde_json::to_string(title).unwrap_or_default();
    let counts = list(triangles.iter().map(|_| 3));
    let corners = list(triangles.iter().flatten());
    let [r, g, b] = colour;
    writeln!(
        writer,
        "{indent}def Mesh \"{name}\" (\n{indent}    displayName = {title}\n{indent})\n{indent}{{\n\
         {indent}    int[] faceVertexCounts = {counts}\n{indent}    int[] faceVertexIndices = {corners}\n\
         {indent}    point3f[] points = {}\n{indent}    uniform token subdivisionScheme = \"none\"\n\
         {indent}    uniform bool doubleSided = {}\n\
         {indent}    color3f[] primvars:displayColor = [({r}, {g}, {b})]\n\
         {indent}    float[] primvars:displayOpacity = [{opacity}]\n{more}{indent}}}",
        list(points),
        u8::from(opacity < 1.0),
    )
}

fn list(values: impl Iterator<Item = impl Display>) -> String {
    let values: Vec<String> = values.map(|value| value.to_string()).collect();
    format!("[{}]", values.join(", "))
}

fn vector(vector: DVec3) -> String {
    let [x, y, z] = vector.as_vec3().to_array();
    format!("({x}, {y}, {z})")
}

/// The real part first, as USD has it.
fn quaternion(turn: DQuat) -> String {
    let [x, y, z, w] = turn.as_quat().to_array();
    format!("({w}, {x}, {y}, {z})")
}
