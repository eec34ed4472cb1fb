//! Fills, and the bodies that they make.

use std::fmt;

use glam::DVec3;

use super::super::error::{Problem, exact, rounded};
use super::super::format::{self, FillOrientation, Placement, Range, SceneFile, Table};
use super::MAX_SPHERES;
use super::check::{Check, Names, Sign, vector};
use super::clumps::Shapes;
use crate::model::ModelBody;
use crate::model::clump::Clump;
use crate::model::error::gigabytes;
use crate::model::packing::fill::{self, FillError, Occupied};
use crate::model::wall::Probe;
use crate::simulation::memory;

impl Check {
    /// The fills that are right.
    pub(super) fn fills(
        &mut self,
        file: &SceneFile,
        names: &Names,
        materials: &Names,
        groups: &Names,
        shapes: &mut Shapes,
    ) -> Vec<fill::Fill> {
        let counts: Vec<f64> = shapes
            .clumps
            .iter()
            .map(|clump| clump.as_ref().map_or(0, |clump| clump.spheres.len()) as f64)
            .collect();
        let spheres_of = |shape: usize| counts[shape];
        let listed = file.bodies.iter().filter_map(|body| names.get(&body.shape));
        let mut total: f64 = listed.map(spheres_of).sum();
        let scene = format!("a scene of at most {MAX_SPHERES} spheres");
        if total > MAX_SPHERES as f64 {
            let found = format!("bodies of {} spheres", rounded(total));
            self.problem("bodies", found, &scene);
        }
        let mut fills = Vec::new();
        let memory = memory::available().unwrap_or(u64::MAX);
        for (index, fill) in file.fills.iter().enumerate() {
            let path = format!("fills[{index}]");
            let before = self.problems.len();
            let mix = self.mix(&path, &fill.shapes, names);
            let region = self.range(format_args!("{path}.region"), &fill.region, true);
            let (placement, orientation) = (
                self.placement(&path, fill),
                self.turned(&path, &fill.orientation),
            );
            let sizes = self.sizes(&path, fill.sizes.as_ref());
            let velocity = self.velocities(format_args!("{path}.velocity"), &fill.velocity);
            let angular_velocity = self.velocities(
                format_args!("{path}.angular_velocity"),
                &fill.angular_velocity,
            );
            let quantities = self.quantities(&path, fill.quantities());
            let group = self.group(&path, fill.group.as_ref(), groups);
            let weights: f64 = mix.iter().map(|(_, weight)| weight).sum();
            let spheres: f64 = mix
                .iter()
                .map(|&(shape, weight)| spheres_of(shape) * weight / weights)
                .sum();
            let count = fill.count as f64;
            let spheres = count * spheres.max(1.0);
            total += spheres;
            if fill.count == 0 {
                let path = format_args!("{path}.count");
                self.problem(path, "0", "a number of bodies, 1 or more");
            } else if total > MAX_SPHERES as f64 {
                self.problem(
                    format_args!("{path}.count"),
                    format!("{} bodies of {} spheres", fill.count, rounded(spheres)),
                    &scene,
                );
            } else if total > memory::FEW as f64 && total * memory::PREPARED as f64 > memory as f64
            {
                self.problems.push(
                    Problem::new(
                        format_args!("{path}.count"),
                        format!(
                            "{} bodies, with which the scene has {} spheres, which take {} to place",
                            fill.count,
                            rounded(total),
                            gigabytes((total * memory::PREPARED as f64) as u64)
                        ),
                        format!(
                            "spheres that fit into the memory that this machine has left, {}",
                            gigabytes(memory)
                        ),
                    )
                    .help("take fewer bodies, or a larger machine"),
                );
            }
            if self.problems.len() > before {
                continue;
            }
            let material = fill.material.as_ref();
            let mix = self.mix_of_material(&path, mix, material, materials, shapes);
            if self.problems.len() > before {
                continue;
            }
            if let (Some(region), Some(orientation)) = (region, orientation) {
                fills.push(fill::Fill {
                    count: fill.count as usize,
                    shapes: mix,
                    sizes,
                    placement,
                    min: region.0,
                    max: region.1,
                    orientation,
                    velocity,
                    angular_velocity,
                    group,
                    quantities,
                    seed: fill.seed,
                });
            }
        }
        fills
    }

    /// The shapes of a mix that are right, with their weights.
    pub(super) fn mix(
        &mut self,
        path: &str,
        shapes: &Table<f64>,
        names: &Names,
    ) -> Vec<(usize, f64)> {
        if shapes.0.is_empty() {
            self.problem(
                format_args!("{path}.shapes"),
                "no shapes",
                "at least one with its weight, such as {\"ball\": 1}",
            );
        }
        let mix = shapes.0.iter().filter_map(|(name, weight)| {
            let path = format!("{path}.shapes.{name}");
            let fits = self.number(&path, *weight, "a weight", Sign::Positive);
            let shape = self.resolve(&path, name, names)?;
            fits.then_some((shape, *weight))
        });
        mix.collect()
    }

    /// How the bodies of a fill or an inlet are turned.
    pub(super) fn turned(
        &mut self,
        path: &str,
        orientation: &FillOrientation,
    ) -> Option<fill::Orientation> {
        match orientation {
            FillOrientation::Random => Some(fill::Orientation::Random),
            FillOrientation::Fixed(quaternion) => self
                .quaternion(format_args!("{path}.orientation"), quaternion)
                .map(fill::Orientation::Fixed),
        }
    }

    fn placement(&mut self, path: &str, fill: &format::Fill) -> fill::Placement {
        let fields = [
            ("spacing", fill.spacing, Sign::Positive),
            ("jitter", fill.jitter, Sign::NotNegative),
        ];
        for (field, length, sign) in fields {
            let Some(length) = length else { continue };
            let path = format_args!("{path}.{field}");
            self.number(path, length, "a length, m", sign);
            if fill.placement == Placement::Random {
                self.problems.push(
                    Problem::new(path, exact(length), "nothing with the placement \"random\"")
                        .help("leave it out, or place on a \"grid\""),
                );
            }
        }
        match fill.placement {
            Placement::Grid => fill::Placement::Grid {
                spacing: fill.spacing,
                jitter: fill.jitter.unwrap_or(0.0),
            },
            Placement::Random => fill::Placement::Random,
        }
    }

    pub(super) fn velocities(&mut self, path: fmt::Arguments, range: &Range) -> (DVec3, DVec3) {
        match range {
            Range::Same(velocity) => {
                self.vector(path, velocity, "a velocity");
                (vector(velocity), vector(velocity))
            }
            Range::Between(region) => self.range(path, region, false).unwrap_or_default(),
        }
    }

    /// Lower and upper bound; with a width along each axis, if `wide`.
    pub(super) fn range(
        &mut self,
        path: fmt::Arguments,
        region: &format::Region,
        wide: bool,
    ) -> Option<(DVec3, DVec3)> {
        let mut fits = self.vector(format_args!("{path}.min"), &region.min, "a number");
        fits &= self.vector(format_args!("{path}.max"), &region.max, "a number");
        for axis in 0..3 {
            let (min, max) = (region.min.0[axis], region.max.0[axis]);
            if min > max || (wide && min == max) {
                fits = false;
                let than = if wide { "greater than" } else { "of at least" };
                self.problem(
                    format_args!("{path}.max[{axis}]"),
                    exact(max),
                    format!("a number {than} min[{axis}], which is {}", exact(min)),
                );
            }
        }
        fits.then(|| (vector(&region.min), vector(&region.max)))
    }

    /// Adds the bodies of the fills.
    pub(super) fn place(
        &mut self,
        mut bodies: Vec<ModelBody>,
        fills: &[fill::Fill],
        shapes: &[Clump],
        walls: &[Probe],
    ) -> Result<Vec<ModelBody>, Vec<Problem>> {
        if fills.is_empty() {
            return Ok(bodies);
        }
        let mut occupied = Occupied::new(shapes);
        for body in &bodies {
            occupied.insert(body, shapes);
        }
        for (index, fill) in fills.iter().enumerate() {
            match fill.place(shapes, &mut occupied, walls) {
                Ok(placed) => bodies.extend(placed),
                Err(error) => return Err(vec![unplaced(index, &error)]),
            }
        }
        Ok(bodies)
    }
}

fn unplaced(index: usize, error: &FillError) -> Problem {
    let path = format!("fills[{index}]");
    match error {
        FillError::RegionTooSmall {
            shape,
            axis,
            room,
            needed,
        } => Problem::new(
            format_args!("{path}.region"),
            format!("{} m along {axis}", rounded(*room)),
            format!("{} m or more, to hold a whole {shape:?}", rounded(*needed)),
        )
        .help("widen the region or take a smaller shape"),
        FillError::SpacingTooSmall { spacing, least } => Problem::new(
            format_args!("{path}.spacing"),
            exact(*spacing),
            format!(
                "{} m or more, the diameter of the smallest sphere of the mix",
                rounded(*least)
            ),
        )
        .help("take a larger spacing, or leave it out"),
        FillError::GridFull {
            placed,
            count,
            sites: [x, y, z],
            blocked,
            pitch,
        } => Problem::new(
            format_args!("{path}.region"),
            format!(
                "a grid of {x} x {y} x {z} places, {} m apart, of which {blocked} were taken by other \
                 bodies or walls",
                rounded(*pitch)
            ),
            format!("room for {count} bodies; there was for {placed}"),
        )
        .help("enlarge the region, or reduce \"count\" or \"spacing\""),
        FillError::Walled {
            placed,
            count,
            blocked,
        } => Problem::new(
            format_args!("{path}.region"),
            format!(
                "a region nearly all of which is inside or behind walls: {blocked} places were, and {placed} of \
                 {count} bodies have one"
            ),
            "a region about as large as the room for bodies",
        )
        .help("narrow the region to where bodies can be"),
        FillError::Crowded {
            placed,
            count,
            shape,
            tries,
            region_volume,
            sphere_volume,
        } => Problem::new(
            format_args!("{path}.region"),
            format!(
                "no place for a {shape:?} in {tries} tries after {placed} bodies; the spheres of all \
                 would fill {} % of the region",
                rounded(100.0 * sphere_volume / region_volume)
            ),
            format!("room for {count} bodies"),
        )
        .help("enlarge the region, reduce \"count\", or place on a \"grid\""),
        FillError::NoMix | FillError::EmptyRegion { .. } => {
            Problem::new(path, error.to_string(), "bodies and room for them")
        }
    }
}
