//! Inlets, outlets and probes.

use std::sync::Arc;

use glam::DVec3;

use super::super::error::{Problem, exact};
use super::super::files::Folder;
use super::super::format::{self, Outside, Probe, SceneFile, Sizes};
use super::check::{Check, Names, Sign, named, vector};
use super::clumps::Shapes;
use crate::model::flow::{self, Face, Inflow, Inlet, Outlet, Place, Rate, Region};
use crate::model::packing::fill::{Fill, Placement};

/// Time steps from one look to the next unless the scene says otherwise.
const LOOK_EVERY: u64 = 200;
/// Classes that a distribution of sizes is divided into.
const CLASSES: u32 = 32;
/// Deviations at which a distribution is cut off unless the scene says otherwise.
const CUT: f64 = 3.0;

impl Check {
    pub(super) fn inlets(
        &mut self,
        file: &SceneFile,
        names: &Names,
        materials: &Names,
        groups: &Names,
        folder: Folder,
        shapes: &mut Shapes,
    ) -> Vec<Inlet> {
        let mut inlets = Vec::new();
        for (index, inlet) in file.inlets.iter().enumerate() {
            let path = format!("inlets[{index}]");
            let before = self.problems.len();
            let flows = self.flows(&path, file, inlet, index);
            let mix = self.mix(&path, &inlet.shapes, names);
            let material = inlet.material.as_ref();
            let mix = self.mix_of_material(&path, mix, material, materials, shapes);
            let sizes = self.sizes(&path, inlet.sizes.as_ref());
            let place = self.place_of_inlet(&path, inlet, folder);
            let orientation = self.turned(&path, &inlet.orientation);
            let velocity = self.velocities(format_args!("{path}.velocity"), &inlet.velocity);
            let angular_velocity = self.velocities(
                format_args!("{path}.angular_velocity"),
                &inlet.angular_velocity,
            );
            let quantities = self.quantities(&path, inlet.quantities());
            let group = self.group(&path, inlet.group.as_ref(), groups);
            if inlet.count == Some(0) {
                self.problem(
                    format_args!("{path}.count"),
                    "0",
                    "a number of bodies, 1 or more",
                );
            }
            if let Some(mass) = inlet.mass {
                let path = format_args!("{path}.mass");
                self.number(path, mass, "a mass, kg", Sign::Positive);
            }
            let (Some(flows), Some((min, max, face)), Some(orientation)) =
                (flows, place, orientation)
            else {
                continue;
            };
            if face.is_none() && (0..3).filter(|&axis| min[axis] == max[axis]).count() > 1 {
                self.problem(
                    format_args!("{path}.region"),
                    "a line or a point",
                    "a box, or a face: a box without width along one axis",
                );
            }
            let field = match face {
                Some(_) => "mesh",
                None => "region",
            };
            self.in_domain(&format!("{path}.{field}"), file, min, max);
            if self.problems.len() > before {
                continue;
            }
            inlets.push(Inlet {
                name: named(inlet.name.as_ref(), "inlet", index),
                fill: Fill {
                    count: 0,
                    wanted: None,
                    shapes: mix,
                    sizes,
                    placement: Placement::Random,
                    min,
                    max,
                    face,
                    orientation,
                    velocity,
                    angular_velocity,
                    group,
                    quantities,
                    seed: inlet.seed,
                },
                flows,
                most: inlet.count.unwrap_or(u64::MAX),
                most_mass: inlet.mass.unwrap_or(f64::INFINITY),
            });
        }
        inlets
    }

    /// Corners of the box in which bodies of an inlet come in, and the triangles on which, if it has some.
    fn place_of_inlet(
        &mut self,
        path: &str,
        inlet: &format::Inlet,
        folder: Folder,
    ) -> Option<(DVec3, DVec3, Option<Arc<Face>>)> {
        match (&inlet.region, &inlet.mesh) {
            (Some(region), None) => {
                let (min, max) = self.range(format_args!("{path}.region"), region, false)?;
                Some((min, max, None))
            }
            (None, Some(mesh)) => {
                let path = format!("{path}.mesh");
                let read = self.mesh(&path, &mesh.file, (mesh.scale, mesh.units), folder)?;
                let corners = read.triangles.iter().map(|own| read.corners(*own));
                let Some(face) = Face::new(corners) else {
                    self.problem(
                        format_args!("{path}.file"),
                        format!("triangles without any area in {:?}", mesh.file),
                        "at least one triangle with an area",
                    );
                    return None;
                };
                let (min, max) = face.bounds();
                Some((min, max, Some(Arc::new(face))))
            }
            (region, mesh) => {
                let given = [region.is_some(), mesh.is_some()];
                self.not_one(path, &given, "either \"region\" or \"mesh\"");
                None
            }
        }
    }

    /// Refuses an inlet whose region, written at `path` and from `min` to `max`, has nothing in common with the domain.
    fn in_domain(&mut self, path: &str, file: &SceneFile, min: DVec3, max: DVec3) {
        let Some(domain) = &file.domain else {
            return;
        };
        for (axis, name) in ["x", "y", "z"].into_iter().enumerate() {
            let (low, high) = (domain.min.0[axis], domain.max.0[axis]);
            if min[axis] > high || max[axis] < low {
                self.problem(
                    path,
                    format!(
                        "{} to {} along {name}, which is outside of the domain",
                        exact(min[axis]),
                        exact(max[axis])
                    ),
                    format!(
                        "a region within {} to {} along {name}",
                        exact(low),
                        exact(high)
                    ),
                );
                return;
            }
        }
    }

    /// The flow of an inlet from the start of the run on; none if a stage opens it.
    fn flows(
        &mut self,
        path: &str,
        file: &SceneFile,
        inlet: &format::Inlet,
        index: usize,
    ) -> Option<Vec<Inflow>> {
        let name = named(inlet.name.as_ref(), "inlet", index);
        let staged = |stage: &format::Stage| stage.inlets.names().any(|other| other == name);
        let rates = (inlet.rate, inlet.mass_rate);
        let closed = rates == (None, None) && inlet.start == 0.0 && inlet.end.is_none();
        if closed && file.stages.iter().any(staged) {
            return Some(Vec::new());
        }
        let flow = self.inflow(path, rates, inlet.start, inlet.end)?;
        Some(vec![flow])
    }

    /// A flow through an inlet: its `rate` or `mass_rate`, and when it starts and ends, s.
    pub(super) fn inflow(
        &mut self,
        path: &str,
        rates: (Option<f64>, Option<f64>),
        start: f64,
        end: Option<f64>,
    ) -> Option<Inflow> {
        let time = format_args!("{path}.start");
        self.number(time, start, "a time, s", Sign::NotNegative);
        if let Some(end) = end.filter(|end| *end <= start || !end.is_finite()) {
            self.problem(
                format_args!("{path}.end"),
                exact(end),
                format!("a time after \"start\", which is {} (s)", exact(start)),
            );
        }
        let rate = match rates {
            (Some(rate), None) => {
                let path = format_args!("{path}.rate");
                let what = "a number of bodies per second, 1/s";
                let fits = self.number(path, rate, what, Sign::Positive);
                fits.then_some(Rate::Bodies(rate))
            }
            (None, Some(rate)) => {
                let path = format_args!("{path}.mass_rate");
                let fits = self.number(path, rate, "a mass per second, kg/s", Sign::Positive);
                fits.then_some(Rate::Mass(rate))
            }
            (rate, _) => {
                let found = if rate.is_some() { "both" } else { "neither" };
                self.problem(path, found, "either \"rate\" or \"mass_rate\"");
                None
            }
        };
        Some(Inflow {
            rate: rate?,
            start,
            end: end.unwrap_or(f64::INFINITY),
        })
    }

    pub(super) fn outlets(&mut self, file: &SceneFile) -> Vec<Outlet> {
        let mut outlets = Vec::new();
        for (index, outlet) in file.outlets.iter().enumerate() {
            let path = format!("outlets[{index}]");
            let place = match (&outlet.inside, &outlet.outside) {
                (Some(region), None) => self
                    .range(format_args!("{path}.inside"), region, true)
                    .map(|(min, max)| Place::Inside(min, max)),
                (None, Some(Outside::Box(region))) => self
                    .range(format_args!("{path}.outside"), region, true)
                    .map(|(min, max)| Place::Outside(min, max)),
                (None, Some(Outside::Domain)) => {
                    self.outside_of_domain(&format!("{path}.outside"), file)
                }
                (inside, _) => {
                    let found = if inside.is_some() { "both" } else { "neither" };
                    self.problem(&path, found, "either \"inside\" or \"outside\"");
                    None
                }
            };
            outlets.extend(place.map(|place| Outlet {
                name: named(outlet.name.as_ref(), "outlet", index),
                place,
            }));
        }
        outlets
    }

    /// All but the domain; along an axis where that is periodic, all of it.
    fn outside_of_domain(&mut self, path: &str, file: &SceneFile) -> Option<Place> {
        let Some(domain) = &file.domain else {
            self.problems.push(
                Problem::new(path, "\"domain\" in a scene without one", "a box")
                    .help("give the scene a \"domain\", or write a box here"),
            );
            return None;
        };
        let (mut min, mut max) = (vector(&domain.min), vector(&domain.max));
        for axis in 0..3 {
            if domain.periodic.0[axis] {
                (min[axis], max[axis]) = (f64::NEG_INFINITY, f64::INFINITY);
            } else if min[axis] >= max[axis] {
                self.problem(
                    format_args!("domain.max[{axis}]"),
                    exact(max[axis]),
                    format!(
                        "a number greater than min[{axis}], which is {}",
                        exact(min[axis])
                    ),
                );
                return None;
            }
        }
        Some(Place::Outside(min, max))
    }

    pub(super) fn probes(&mut self, file: &SceneFile) -> Vec<flow::Probe> {
        let mut probes = Vec::new();
        for (index, probe) in file.probes.iter().enumerate() {
            let region = self.region(&format!("probes[{index}]"), probe);
            probes.extend(region.map(|region| flow::Probe {
                name: named(probe.name.as_ref(), "probe", index),
                region,
            }));
        }
        probes
    }

    fn region(&mut self, path: &str, probe: &Probe) -> Option<Region> {
        let Probe {
            name: _,
            cuboid,
            cylinder,
            face,
            disc,
        } = probe;
        match (cuboid, cylinder, face, disc) {
            (Some(region), None, None, None) => {
                let (min, max) = self.range(format_args!("{path}.box"), region, true)?;
                Some(Region::Box { min, max })
            }
            (None, Some(cylinder), None, None) => {
                let path = format!("{path}.cylinder");
                let mut fits = self.vector(
                    format_args!("{path}.base"),
                    &cylinder.base,
                    "a coordinate, m",
                );
                let axis = self.direction(format_args!("{path}.axis"), &cylinder.axis, "an axis");
                fits &= self.length(format_args!("{path}.height"), cylinder.height);
                fits &= self.length(format_args!("{path}.radius"), cylinder.radius);
                let axis = axis.filter(|_| fits)?;
                Some(Region::Cylinder {
                    base: vector(&cylinder.base),
                    axis,
                    height: cylinder.height,
                    radius: cylinder.radius,
                })
            }
            (None, None, Some(region), None) => {
                let (min, max) = self.range(format_args!("{path}.face"), region, false)?;
                let flat: Vec<usize> = (0..3).filter(|&axis| min[axis] == max[axis]).collect();
                let [axis] = flat[..] else {
                    let found = format!("a box without width along {} axes", flat.len());
                    self.problem(
                        format_args!("{path}.face"),
                        found,
                        "one along a single axis",
                    );
                    return None;
                };
                Some(Region::Rectangle { min, max, axis })
            }
            (None, None, None, Some(disc)) => {
                let path = format!("{path}.disc");
                let mut fits = self.vector(
                    format_args!("{path}.center"),
                    &disc.center,
                    "a coordinate, m",
                );
                let normal =
                    self.direction(format_args!("{path}.normal"), &disc.normal, "a normal");
                fits &= self.length(format_args!("{path}.radius"), disc.radius);
                let normal = normal.filter(|_| fits)?;
                Some(Region::Disc {
                    center: vector(&disc.center),
                    normal,
                    radius: disc.radius,
                })
            }
            _ => {
                let given = [
                    cuboid.is_some(),
                    cylinder.is_some(),
                    face.is_some(),
                    disc.is_some(),
                ];
                self.not_one(
                    path,
                    &given,
                    "exactly one of \"box\", \"cylinder\", \"face\" and \"disc\"",
                );
                None
            }
        }
    }

    /// Steps from one look to the next; 0 if there is nothing to look at.
    pub(super) fn look_every(&mut self, file: &SceneFile, time_step: f64) -> u64 {
        let nothing = file.inlets.is_empty()
            && file.outlets.is_empty()
            && file.probes.is_empty()
            && file.breakage.is_empty();
        match file.look_every {
            Some(every) => {
                if !self.interval("look_every", every) {
                    return 0;
                }
                if nothing {
                    self.warnings.push(
                        "look_every: there are no inlets, outlets, probes or rules of breakage to look at".into(),
                    );
                    return 0;
                }
                let steps = |seconds: f64| ((seconds / time_step).round() as u64).max(1);
                let every = every
                    .steps
                    .unwrap_or_else(|| steps(every.seconds.unwrap_or(0.0)));
                if every as f64 * time_step > file.duration {
                    self.warnings.push(format!(
                        "look_every: it is longer than the duration, {} s, so inlets, outlets and probes act only at the \
                         start",
                        exact(file.duration)
                    ));
                }
                every
            }
            None if nothing => 0,
            // A contact lasts some ten steps.
            None if !file.breakage.is_empty() => LOOK_EVERY.min(10),
            None => LOOK_EVERY,
        }
    }

    /// The sizes of a fill or an inlet: factors, and their weights.
    pub(super) fn sizes(&mut self, path: &str, sizes: Option<&Sizes>) -> Vec<(f64, f64)> {
        let Some(sizes) = sizes else {
            return Vec::new();
        };
        let path = format!("{path}.sizes");
        let Sizes {
            uniform,
            normal,
            log_normal,
            table,
        } = sizes;
        match (uniform, normal, log_normal, table) {
            (Some(uniform), None, None, None) => {
                let path = format!("{path}.uniform");
                if !self.bounds(&path, uniform.min, uniform.max) {
                    return Vec::new();
                }
                classes(|part| uniform.min + part * (uniform.max - uniform.min))
            }
            (None, Some(normal), None, None) => {
                let path = format!("{path}.normal");
                let (mean, deviation) = (normal.mean, normal.deviation);
                let mut fits = self.size(format_args!("{path}.mean"), mean);
                fits &= self.size(format_args!("{path}.deviation"), deviation);
                let min = normal.min.unwrap_or(mean - CUT * deviation);
                let max = normal.max.unwrap_or(mean + CUT * deviation);
                if fits && normal.min.is_none() && min <= 0.0 {
                    fits = false;
                    self.problems.push(
                        Problem::new(
                            &path,
                            format!(
                                "sizes down to {}, three deviations below the mean",
                                exact(min)
                            ),
                            "sizes greater than 0",
                        )
                        .help("give a \"min\", or a smaller \"deviation\""),
                    );
                }
                if !(fits && self.bounds(&path, min, max)) {
                    return Vec::new();
                }
                let [low, high] = [min, max].map(|size| below((size - mean) / deviation));
                classes(|part| mean + deviation * quantile(low + part * (high - low)))
            }
            (None, None, Some(log_normal), None) => {
                let path = format!("{path}.log_normal");
                let (median, deviation) = (log_normal.median, log_normal.deviation);
                let mut fits = self.size(format_args!("{path}.median"), median);
                fits &= self.size(format_args!("{path}.deviation"), deviation);
                let away = |deviations: f64| median * libm::exp(deviations * deviation);
                let min = log_normal.min.unwrap_or_else(|| away(-CUT));
                let max = log_normal.max.unwrap_or_else(|| away(CUT));
                if !(fits && self.bounds(&path, min, max)) {
                    return Vec::new();
                }
                let [low, high] =
                    [min, max].map(|size| below(libm::log(size / median) / deviation));
                classes(|part| away(quantile(low + part * (high - low))))
            }
            (None, None, None, Some(table)) => {
                let path = format!("{path}.table");
                if table.is_empty() {
                    self.problem(&path, "no sizes", "at least one, such as [1, 1]");
                }
                let rows = table.iter().enumerate().filter_map(|(row, pair)| {
                    let [size, weight] = pair.0;
                    let fits = self.size(format_args!("{path}[{row}][0]"), size);
                    let weighs = self.number(
                        format_args!("{path}[{row}][1]"),
                        weight,
                        "a weight",
                        Sign::Positive,
                    );
                    (fits && weighs).then_some((size, weight))
                });
                rows.collect()
            }
            _ => {
                let given = [
                    uniform.is_some(),
                    normal.is_some(),
                    log_normal.is_some(),
                    table.is_some(),
                ];
                self.not_one(
                    &path,
                    &given,
                    "exactly one of \"uniform\", \"normal\", \"log_normal\" and \"table\"",
                );
                Vec::new()
            }
        }
    }

    /// A problem: not exactly one of some fields is given.
    pub(super) fn not_one(&mut self, path: &str, given: &[bool], expected: &str) {
        let found = match given.iter().filter(|given| **given).count() {
            0 => "none of them".to_owned(),
            count => format!("{count} of them"),
        };
        self.problem(path, found, expected);
    }

    fn size(&mut self, path: std::fmt::Arguments, size: f64) -> bool {
        self.number(path, size, "a multiple of the shape", Sign::Positive)
    }

    /// Whether two sizes are a lower and an upper bound.
    fn bounds(&mut self, path: &str, min: f64, max: f64) -> bool {
        let mut fits = self.size(format_args!("{path}.min"), min);
        fits &= self.size(format_args!("{path}.max"), max);
        if fits && min >= max {
            fits = false;
            self.problem(
                format_args!("{path}.max"),
                exact(max),
                format!("a size greater than \"min\", which is {}", exact(min)),
            );
        }
        fits
    }
}

/// The size in the middle, by number, of each of many classes of equal probability; `quantile` is the
/// size below which a part of the bodies is.
fn classes(quantile: impl Fn(f64) -> f64) -> Vec<(f64, f64)> {
    let middle = |class| (f64::from(class) + 0.5) / f64::from(CLASSES);
    (0..CLASSES)
        .map(|class| (quantile(middle(class)), 1.0))
        .collect()
}

/// The part of a standard normal distribution that lies below `x`.
fn below(x: f64) -> f64 {
    0.5 * libm::erfc(-x / std::f64::consts::SQRT_2)
}

/// The number below which the part `part` of a standard normal distribution lies: by bisection.
fn quantile(part: f64) -> f64 {
    let (mut low, mut high) = (-40.0, 40.0);
    for _ in 0..100 {
        let middle = 0.5 * (low + high);
        if below(middle) < part {
            low = middle;
        } else {
            high = middle;
        }
    }
    0.5 * (low + high)
}

/// A body that a program adds, of which nothing is known but the shape.
pub(super) fn spawned(shape: usize) -> crate::model::ModelBody {
    crate::model::ModelBody {
        shape,
        ..crate::model::ModelBody::default()
    }
}

/// A body of each kind that inlets bring, as it comes in at its fastest from the highest point: what
/// stiffness and time step must be fit for.
pub(super) fn newcomers(
    inlets: &[Inlet],
    gravity: DVec3,
) -> impl Iterator<Item = crate::model::ModelBody> {
    inlets.iter().flat_map(move |inlet| {
        let Fill {
            min,
            max,
            velocity: (slowest, fastest),
            angular_velocity: (least_spin, most_spin),
            ..
        } = inlet.fill;
        // The corner from which the way down is the longest.
        let position = DVec3::select(gravity.cmpgt(DVec3::ZERO), min, max);
        let larger = |a: DVec3, b: DVec3| DVec3::select(a.abs().cmpgt(b.abs()), a, b);
        inlet
            .fill
            .shapes
            .iter()
            .map(move |(shape, _)| crate::model::ModelBody {
                shape: *shape,
                position,
                velocity: larger(slowest, fastest),
                angular_velocity: larger(least_spin, most_spin),
                quantities: inlet.fill.quantities,
                ..crate::model::ModelBody::default()
            })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_are_those_of_the_tables() {
        assert!(quantile(0.5).abs() < 1e-12);
        assert!((quantile(0.975) - 1.959_963_984_540_054).abs() < 1e-9);
        assert!((quantile(0.1) + 1.281_551_565_544_6).abs() < 1e-9);
        assert!((below(1.0) - 0.841_344_746_068_543).abs() < 1e-12);
    }

    #[test]
    fn classes_have_the_mean_and_the_spread_of_the_distribution() {
        let sizes = classes(|part| 1.0 + 0.1 * quantile(part));
        let count = sizes.len() as f64;
        let mean = sizes.iter().map(|s| s.0).sum::<f64>() / count;
        let variance = sizes.iter().map(|s| (s.0 - mean).powi(2)).sum::<f64>() / count;
        assert!((mean - 1.0).abs() < 1e-9);
        assert!((variance.sqrt() - 0.1).abs() < 0.003, "{}", variance.sqrt());
    }
}
