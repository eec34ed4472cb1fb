//! Parts of a scene in use: sizes, distances, and names that nothing uses.

use std::collections::{BTreeSet, HashSet};
use std::fmt;

use super::super::error::{Problem, exact, rounded};
use super::super::format::{SceneFile, Table, Vector};
use super::MAX_DISTANCE;
use super::check::{Check, Names};
use crate::model::clump::Clump;

/// Ratio of the largest to the smallest radius that draws a warning.
const WIDE_RADIUS_RATIO: f64 = 1000.0;
/// Most that it may be: single precision cannot tell the surface of the largest from within the smallest any more.
const MOST_RADIUS_RATIO: f64 = 1e4;

/// Indices of the shapes that bodies and fills have, in increasing order; all of them, if there are bodies
/// from another run, of which the file says no shape.
pub(super) fn used_shapes(file: &SceneFile, names: &Names) -> impl Iterator<Item = usize> {
    let named = file.bodies.iter().map(|body| body.shape.as_str());
    let mixed = mixes(file).flat_map(Table::names);
    let started = file.shapes.names().filter(|_| file.start.is_some());
    let spawned = file.spawn.iter().map(String::as_str);
    let all = named.chain(mixed).chain(started).chain(spawned);
    let used: BTreeSet<usize> = all.filter_map(|n| names.get(n)).collect();
    used.into_iter()
}

/// The mixes of shapes of fills and inlets.
fn mixes(file: &SceneFile) -> impl Iterator<Item = &Table<f64>> {
    let fills = file.fills.iter().map(|fill| &fill.shapes);
    fills.chain(file.inlets.iter().map(|inlet| &inlet.shapes))
}

impl Check {
    /// Sizes and distances of all that is in use.
    pub(super) fn extent(&mut self, file: &SceneFile, names: &Names, shapes: &[Option<Clump>]) {
        let mut smallest = (f64::INFINITY, 0);
        let mut largest = (0.0, 0);
        for index in used_shapes(file, names) {
            for sphere in shapes[index].iter().flat_map(|clump| &clump.spheres) {
                if sphere.radius < smallest.0 {
                    smallest = (sphere.radius, index);
                }
                if sphere.radius > largest.0 {
                    largest = (sphere.radius, index);
                }
            }
        }
        if largest.0 == 0.0 {
            return;
        }
        if largest.0 / smallest.0 > MOST_RADIUS_RATIO * (1.0 + 1e-9) {
            self.problems.push(
                Problem::new(
                    format_args!("shapes.{}", names.list[largest.1]),
                    format!(
                        "the radius {} m, {} times the smallest ({} m, of shapes.{})",
                        exact(largest.0),
                        rounded(largest.0 / smallest.0),
                        exact(smallest.0),
                        names.list[smallest.1],
                    ),
                    format!("at most {MOST_RADIUS_RATIO} times, for single precision"),
                )
                .help("make the large thing a wall, which may have any size"),
            );
        } else if largest.0 / smallest.0 > WIDE_RADIUS_RATIO {
            self.warnings.push(format!(
                "shapes.{}: found the radius {} m, {} times the smallest ({} m, of shapes.{}), \
                 expected at most {WIDE_RADIUS_RATIO} times; the search for contacts will be slow",
                names.list[largest.1],
                exact(largest.0),
                rounded(largest.0 / smallest.0),
                exact(smallest.0),
                names.list[smallest.1],
            ));
        }
        let mut within =
            |path: fmt::Arguments, point: &Vector| self.near(path, &point.0, largest.0);
        for (index, body) in file.bodies.iter().enumerate() {
            within(format_args!("bodies[{index}].position"), &body.position);
        }
        for (index, plane) in file.planes.iter().enumerate() {
            within(format_args!("planes[{index}].point"), &plane.point);
        }
        for (index, wall) in file.walls.iter().enumerate() {
            within(format_args!("walls[{index}].position"), &wall.position);
        }
        let fills = file.fills.iter().map(|fill| &fill.region).enumerate();
        let inlets = (0..).zip(&file.inlets);
        let inlets = inlets.filter_map(|(index, inlet)| Some((index, inlet.region.as_ref()?)));
        let regions = fills.map(|(index, region)| ("fills", index, region));
        for (list, index, region) in
            regions.chain(inlets.map(|(index, region)| ("inlets", index, region)))
        {
            within(format_args!("{list}[{index}].region.min"), &region.min);
            within(format_args!("{list}[{index}].region.max"), &region.max);
        }
    }

    /// Whether coordinates (m) have cells of the grid, the size of which goes with the largest radius.
    pub(super) fn near(&mut self, path: fmt::Arguments, coordinates: &[f64], largest_radius: f64) {
        let limit = MAX_DISTANCE * largest_radius;
        if let Some(far) = coordinates.iter().find(|far| far.abs() > limit) {
            let expected = format!(
                "a coordinate of at most {} m, {MAX_DISTANCE:e} times the largest radius",
                rounded(limit)
            );
            self.problem(path, format!("{} m", exact(*far)), expected);
        }
    }

    pub(super) fn unused(&mut self, file: &SceneFile) {
        let of_shapes = file
            .shapes
            .0
            .iter()
            .filter_map(|(_, shape)| shape.material.as_deref());
        let own = file.bodies.iter().map(|body| &body.material);
        let own = own.chain(file.fills.iter().map(|fill| &fill.material));
        let own = own.chain(file.inlets.iter().map(|inlet| &inlet.material));
        let own = own.filter_map(|own| own.as_deref());
        let of_planes = file.planes.iter().map(|plane| plane.material.as_str());
        let of_walls = file.walls.iter().map(|wall| wall.material.as_str());
        let used = of_shapes.chain(own).chain(of_planes).chain(of_walls);
        let materials: HashSet<&str> = used.collect();
        for name in file.materials.names().filter(|n| !materials.contains(n)) {
            self.warnings.push(format!(
                "materials.{name}: no shape and no wall is of this material"
            ));
        }
        if file.start.is_some() {
            return;
        }
        for name in unused_shapes(file) {
            self.warnings.push(format!(
                "shapes.{name}: no body, no fill and no inlet has this shape, and \"spawn\" does not name it"
            ));
        }
    }

    /// The shapes of which a program adds bodies, by their indices.
    pub(super) fn spawn(&mut self, file: &SceneFile, names: &Names) -> Vec<usize> {
        let shapes = file.spawn.iter().enumerate();
        let found = shapes
            .filter_map(|(index, name)| self.resolve(format_args!("spawn[{index}]"), name, names));
        found.collect()
    }
}

/// The names of the shapes that nothing in the scene has.
pub(in super::super) fn unused_shapes(file: &SceneFile) -> Vec<String> {
    let of_bodies = file.bodies.iter().map(|body| body.shape.as_str());
    let mixed = mixes(file).flat_map(Table::names);
    let spawned = file.spawn.iter().map(String::as_str);
    let parts = file
        .shapes
        .0
        .iter()
        .filter_map(|(_, shape)| shape.parts.as_ref());
    let parts = parts.flatten().map(|part| part.shape.as_str());
    let used: HashSet<&str> = of_bodies.chain(mixed).chain(parts).chain(spawned).collect();
    let unused = file.shapes.names().filter(|name| !used.contains(name));
    unused.map(str::to_owned).collect()
}
