//! Spheres fitted inside a watertight mesh.
//!
//! Points are spread over the surface. At each point the fit finds the largest sphere that touches the surface there from
//! inside. Such spheres have their centres on the medial axis: large ones are in the middle, small ones in edges and corners.
//! A greedy cover chooses among them. It takes the sphere that comes within a tolerance of the most points that are not covered
//! yet, until all are covered. For a number of spheres, the fit finds the smallest tolerance for which so many suffice.
//!
//! The largest spheres: Ma, Bae and Choi, 3D medial point approximation using nearest neighbors and the normal
//! field, 2012 ("shrinking balls"). The greedy cover: Johnson, Approximation algorithms for combinatorial problems,
//! 1974; Minoux, Accelerated greedy algorithms, 1978.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::fmt;
use std::sync::Arc;

use glam::DVec3;

use super::ClumpSphere;
use crate::math::parallel::prelude::*;
use crate::model::wall::Mesh;
use crate::model::wall::solid::Solid;

/// Goal of a fit: a number of spheres, or a tolerance.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Fit {
    /// At most this number of spheres, with the smallest gap.
    Count(usize),
    /// Largest gap to leave, m, with as many spheres as it takes.
    Tolerance(f64),
}

/// Spheres inside a mesh.
#[derive(Clone, Debug, PartialEq)]
pub struct Fitted {
    /// The spheres, in the axes of the mesh; none if the mesh is too thin to hold any.
    pub spheres: Vec<ClumpSphere>,
    /// The largest distance of a point of the mesh's surface from the nearest sphere, m; infinite without spheres.
    pub gap: f64,
    /// A lower bound of the number of spheres, if a tolerance takes more than [`MAX_FITTED`]; then there are no spheres.
    pub at_least: Option<usize>,
}

/// Largest number of spheres of a fit.
pub const MAX_FITTED: usize = 2_000;

/// The finest tolerance, as a fraction of the size of the mesh: no sphere comes closer to a surface of triangles.
pub const FINEST: f64 = 1e-5;

/// Number of points on the surface: the least, the largest for a number of spheres, and the largest for a tolerance.
const POINTS: (usize, usize, usize) = (600, 8_000, 20_000);
/// Number of places of a first check, which refuses tolerances that are far too fine.
const SAMPLED: usize = 8_000;
/// Number of points for each sphere, if a number of spheres is wanted.
const POINTS_OF_SPHERE: usize = 60;
/// Distance between points, as a fraction of the tolerance.
const SPREAD: f64 = 0.7;
/// Number of points that measure the outcome, for each point of the fit.
const FINER: usize = 4;
/// Fraction of its radius by which the surface may enter a sphere. A smooth surface made of triangles has edges everywhere, and
/// they must not make spheres small.
const FLAT: f64 = 0.02;
/// Largest radius of a sphere that is left out, as a fraction of the size of the mesh.
const TINY: f64 = 1e-3;
/// Number of bisections in the search for the smallest tolerance.
const HALVINGS: usize = 12;
/// Number of rounds that add spheres where the surface is still too far from all of them.
const ROUNDS: usize = 6;

/// Fits spheres inside a watertight `mesh`, whose triangles are anticlockwise seen from outside.
///
/// The same mesh gives the same spheres. They overlap each other and touch the surface from inside, but where triangles meet
/// nearly flat, the surface may enter a sphere by a fiftieth of its radius. A tolerance may be too small to be met; then
/// [`Fitted::gap`] is larger than the tolerance.
pub fn fit_mesh(mesh: &Mesh, wanted: Fit) -> Fitted {
    fit_mesh_telling(mesh, wanted, &|_| ())
}

/// [`fit_mesh`] with reports of its progress, which may take some seconds.
pub fn fit_mesh_telling(mesh: &Mesh, wanted: Fit, tell: &(dyn Fn(Stage) + Sync)) -> Fitted {
    // The mesh is scaled to a box of size 1 about the origin, where single precision suffices.
    let (mut min, mut max) = (DVec3::INFINITY, DVec3::NEG_INFINITY);
    for vertex in &mesh.vertices {
        (min, max) = (min.min(*vertex), max.max(*vertex));
    }
    let (middle, size) = (0.5 * min + 0.5 * max, (max - min).max_element());
    let unit = Arc::new(Mesh {
        vertices: mesh.vertices.iter().map(|v| (*v - middle) / size).collect(),
        triangles: mesh.triangles.clone(),
    });
    let fitting = Fitting {
        solid: Solid::new(unit.clone()),
        mesh: unit,
        tell,
    };
    let fitted = match wanted {
        Fit::Count(count) => fitting.count(count.min(MAX_FITTED)),
        Fit::Tolerance(tolerance) => fitting.tolerance(tolerance / size),
    };
    let whole = |sphere: &ClumpSphere| ClumpSphere {
        center: middle + size * sphere.center,
        radius: size * sphere.radius,
    };
    Fitted {
        spheres: fitted.spheres.iter().map(whole).collect(),
        gap: size * fitted.gap,
        at_least: fitted.at_least,
    }
}

/// Stage of a fit in progress.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub enum Stage {
    /// The fit looks for spheres that touch the surface at points.
    Touching {
        /// Number of points.
        points: usize,
    },
    /// The fit chooses spheres that cover the surface.
    Choosing {
        /// Number of spheres so far.
        spheres: usize,
        /// Fraction of the surface that they cover, 0 to 1.
        covered: f64,
    },
}

impl fmt::Display for Stage {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        match self {
            Stage::Touching { points } => {
                write!(f, "looking for spheres that touch it at {points} points")
            }
            Stage::Choosing { spheres, covered } => write!(
                f,
                "{spheres} spheres approximate {:.0} % of its surface",
                100.0 * covered
            ),
        }
    }
}

struct Fitting<'a> {
    mesh: Arc<Mesh>,
    solid: Solid,
    tell: &'a (dyn Fn(Stage) + Sync),
}

impl Fitting<'_> {
    fn count(&self, count: usize) -> Fitted {
        let (least, most, _) = POINTS;
        let spread = (POINTS_OF_SPHERE * count).clamp(least, most);
        let points = self.points(spread);
        let spheres = self.touching(&points);
        let places = self.with_edges(&points);
        let farthest = |sphere: &ClumpSphere| {
            let gaps = places.iter().map(|place| gap(sphere, *place));
            gaps.fold(0.0, f64::max)
        };
        let alone: Vec<f64> = spheres.par_iter().map(farthest).collect();
        let Some(best) = (0..alone.len()).min_by(|&a, &b| alone[a].total_cmp(&alone[b])) else {
            return Fitted::nothing();
        };
        let (mut chosen, mut low, mut high) = (vec![best], 0.0, alone[best]);
        for _ in 0..HALVINGS {
            let tolerance = 0.5 * (low + high);
            match cover(&spheres, &places, tolerance, count, self.tell) {
                Ok(fewer) => (chosen, high) = (fewer, tolerance),
                Err(_) => low = tolerance,
            }
        }
        let chosen: Vec<ClumpSphere> = chosen.into_iter().map(|k| spheres[k]).collect();
        self.measured(chosen, spread)
    }

    fn tolerance(&self, tolerance: f64) -> Fitted {
        let (least, _, most) = POINTS;
        let area: f64 = self.areas().sum();
        let wanted = area / (SPREAD * tolerance).powi(2);
        let spread = (wanted.min(most as f64) as usize).max(least);
        let mut points = self.points(spread);
        let mut chosen: Vec<ClumpSphere> = Vec::new();
        let finer = self.points(FINER * spread);
        let all = self.with_edges(&finer);
        let mut best = Fitted::nothing();
        for _ in 0..ROUNDS {
            let spheres = self.touching(&points);
            if chosen.is_empty() {
                // A sample of the places shows sizes that are far too fine without a check of all places.
                let step = all.len().div_ceil(SAMPLED);
                let some: Vec<DVec3> = all.iter().step_by(step).copied().collect();
                let reached = |place: &DVec3| spheres.iter().any(|s| gap(s, *place) <= tolerance);
                let some: Vec<DVec3> = some.into_par_iter().filter(reached).collect();
                let covered = cover(&spheres, &some, tolerance, MAX_FITTED, self.tell);
                if let Err(at_least) = covered {
                    return Fitted::too_many(at_least);
                }
            }
            let far = far_from(&chosen, &all, tolerance);
            // Places that no sphere reaches are left out; they show in the gap.
            let places: Vec<DVec3> = (0..all.len())
                .into_par_iter()
                .filter(|&k| far[k] && spheres.iter().any(|s| gap(s, all[k]) <= tolerance))
                .map(|k| all[k])
                .collect();
            let room = MAX_FITTED - chosen.len();
            match cover(&spheres, &places, tolerance, room, self.tell) {
                Ok(more) => chosen.extend(more.into_iter().map(|k| spheres[k])),
                Err(more) => return Fitted::too_many(more.saturating_add(chosen.len())),
            }
            best = self.measured(chosen.clone(), spread);
            if best.gap <= tolerance {
                break;
            }
            // The next round adds spheres that touch the surface where it is still too far from all of them.
            let far = far_from(&chosen, &all, tolerance);
            points = (0..finer.len())
                .filter(|&k| far[k])
                .map(|k| finer[k])
                .collect();
            if points.is_empty() {
                break;
            }
        }
        best
    }

    fn areas(&self) -> impl Iterator<Item = f64> + '_ {
        self.mesh.triangles.iter().map(|&triangle| {
            let [a, b, c] = self.mesh.corners(triangle);
            0.5 * (b - a).cross(c - a).length()
        })
    }

    /// About `count` points spread evenly over the surface, each with the normal there.
    fn points(&self, count: usize) -> Vec<(DVec3, DVec3)> {
        /// Steps whose multiples fill a square evenly: Roberts, The unreasonable effectiveness of quasirandom sequences, 2018.
        const STEPS: (f64, f64) = (0.754_877_666_246_692_7, 0.569_840_290_998_053_2);
        let share = self.areas().sum::<f64>() / count as f64;
        let mut points = Vec::with_capacity(count + 1);
        let mut passed = 0.0;
        for (&triangle, area) in self.mesh.triangles.iter().zip(self.areas()) {
            passed += area;
            let [a, b, c] = self.mesh.corners(triangle);
            let normal = (b - a).cross(c - a).normalize_or_zero();
            while (points.len() as f64 + 0.5) * share < passed {
                let number = points.len() as f64 + 1.0;
                let (mut u, mut v) = ((number * STEPS.0).fract(), (number * STEPS.1).fract());
                if u + v > 1.0 {
                    (u, v) = (1.0 - u, 1.0 - v);
                }
                points.push((a + u * (b - a) + v * (c - a), normal));
            }
        }
        points
    }

    /// The places of points, with vertices and places along the edges of triangles, where the surface is farthest out.
    ///
    /// Places along edges are about as far from each other as the points. There are at most about as many vertices as points.
    fn with_edges(&self, points: &[(DVec3, DVec3)]) -> Vec<DVec3> {
        let spacing = (self.areas().sum::<f64>() / points.len() as f64).sqrt();
        let step = self.mesh.vertices.len().div_ceil(points.len()).max(1);
        let mut places: Vec<DVec3> = points.iter().map(|(place, _)| *place).collect();
        places.extend(self.mesh.vertices.iter().step_by(step));
        for &triangle in &self.mesh.triangles {
            for side in 0..3 {
                let [from, to] = [side, (side + 1) % 3].map(|corner| triangle[corner]);
                // The other triangle has this edge in the other direction.
                if from < to {
                    let [from, to] = [from, to].map(|corner| self.mesh.vertices[corner as usize]);
                    let count = (from.distance(to) / spacing) as u32;
                    let part = |k: u32| f64::from(k) / f64::from(count + 1);
                    places.extend((1..=count).map(|k| from.lerp(to, part(k))));
                }
            }
        }
        places
    }

    /// The largest spheres inside that touch the surface at the points, the largest first.
    ///
    /// In this order a cover takes the larger of two spheres that serve equally well.
    fn touching(&self, points: &[(DVec3, DVec3)]) -> Vec<ClumpSphere> {
        (self.tell)(Stage::Touching {
            points: points.len(),
        });
        let spheres: Vec<ClumpSphere> = points
            .par_iter()
            .map(|(place, normal)| self.largest(*place, *normal))
            .collect();
        let large = spheres.into_iter().filter(|sphere| sphere.radius > TINY);
        let mut large: Vec<ClumpSphere> = large.collect();
        large.sort_by(|a, b| b.radius.total_cmp(&a.radius));
        large
    }

    /// The largest sphere inside that touches the surface at a place; its radius is 0 if it is too small.
    ///
    /// A sphere that touches at the place shrinks until no point of the surface is in it. Each time, the next sphere goes
    /// through the point that is nearest to the centre.
    fn largest(&self, place: DVec3, normal: DVec3) -> ClumpSphere {
        let mut radius = 1.0;
        loop {
            let center = place - radius * normal;
            let nearest = self.solid.nearest(center);
            let distance = f64::from(nearest.distance);
            let way = place - nearest.to(center.as_vec3()).as_dvec3();
            let smaller = way.length_squared() / (2.0 * normal.dot(way));
            let shrinks = smaller > 0.0 && smaller < radius;
            if distance >= (1.0 - FLAT) * radius || !shrinks || smaller < TINY {
                let inside = distance > TINY && self.solid.contains(center);
                return ClumpSphere {
                    center,
                    radius: if inside { distance.min(radius) } else { 0.0 },
                };
            }
            radius = smaller;
        }
    }

    fn measured(&self, spheres: Vec<ClumpSphere>, spread: usize) -> Fitted {
        let places = self.with_edges(&self.points(FINER * spread));
        let gaps = places
            .par_iter()
            .map(|place| nearest_gap(&spheres, *place).max(0.0));
        // The maximum does not depend on the order of the threads.
        let gap = gaps.reduce(|| 0.0, f64::max);
        Fitted {
            spheres,
            gap,
            at_least: None,
        }
    }
}

impl Fitted {
    fn nothing() -> Fitted {
        Fitted {
            spheres: Vec::new(),
            gap: f64::INFINITY,
            at_least: None,
        }
    }

    fn too_many(at_least: usize) -> Fitted {
        Fitted {
            at_least: Some(at_least),
            ..Fitted::nothing()
        }
    }
}

/// Distance of a place from a sphere; negative inside.
fn gap(sphere: &ClumpSphere, place: DVec3) -> f64 {
    place.distance(sphere.center) - sphere.radius
}

fn nearest_gap(spheres: &[ClumpSphere], place: DVec3) -> f64 {
    let gaps = spheres.iter().map(|sphere| gap(sphere, place));
    gaps.fold(f64::INFINITY, f64::min)
}

fn far_from(spheres: &[ClumpSphere], places: &[DVec3], tolerance: f64) -> Vec<bool> {
    places
        .par_iter()
        .map(|place| nearest_gap(spheres, *place) > tolerance)
        .collect()
}

/// Chooses at most `most` of the `spheres` that together come within `tolerance` of all `places`. Returns their indices.
///
/// # Errors
/// If it takes more: a lower bound of their number, `usize::MAX` if even all spheres do not suffice.
fn cover(
    spheres: &[ClumpSphere],
    places: &[DVec3],
    tolerance: f64,
    most: usize,
    tell: &dyn Fn(Stage),
) -> Result<Vec<usize>, usize> {
    let is_near = |sphere: usize, place: &DVec3| {
        let sphere = &spheres[sphere];
        let reach = sphere.radius + tolerance;
        place.distance_squared(sphere.center) <= reach * reach
    };
    let near = |sphere: usize, left: &[DVec3]| {
        let near = left.iter().filter(|place| is_near(sphere, place));
        near.count()
    };
    let gains: Vec<(usize, Reverse<usize>)> = (0..spheres.len())
        .into_par_iter()
        .map(|sphere| (near(sphere, places), Reverse(sphere)))
        .collect();
    let mut best = BinaryHeap::from(gains);
    let mut left = places.to_vec();
    let mut chosen = Vec::new();
    while !left.is_empty() {
        let (before, Reverse(sphere)) = best.pop().ok_or(usize::MAX)?;
        // No sphere that is left covers more places than the best one did when it was last counted.
        let at_least = chosen.len() + left.len().div_ceil(before.max(1));
        if at_least > most {
            return Err(at_least);
        }
        // The number of places that a sphere adds only ever shrinks, so a sphere that still leads is the best.
        let now = near(sphere, &left);
        if now == 0 {
            continue;
        }
        if now < before
            && best
                .peek()
                .is_some_and(|next| (now, Reverse(sphere)) < *next)
        {
            best.push((now, Reverse(sphere)));
            continue;
        }
        left.retain(|place| !is_near(sphere, place));
        chosen.push(sphere);
        tell(Stage::Choosing {
            spheres: chosen.len(),
            covered: 1.0 - left.len() as f64 / places.len() as f64,
        });
    }
    Ok(chosen)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::wall::mesh::tests::{ball, cuboid};

    /// Checks that no sphere sticks out of a box; returns the largest distance of its surface from the spheres, m.
    fn in_box(fitted: &Fitted, size: DVec3) -> f64 {
        for sphere in &fitted.spheres {
            let out = sphere.center.abs() + sphere.radius - 0.5 * size;
            assert!(out.max_element() < 1e-5, "{sphere:?} sticks out by {out}");
        }
        // The gap is measured independently, on a grid over the faces.
        let mut most: f64 = 0.0;
        for axis in 0..3 {
            for k in 0..400 {
                let mut place = [1.0, 0.0, 0.0];
                place[1] = f64::from(k % 20) / 9.5 - 1.0;
                place[2] = f64::from(k / 20) / 9.5 - 1.0;
                place.rotate_right(axis);
                let place = 0.5 * size * DVec3::from_array(place);
                most = most.max(nearest_gap(&fitted.spheres, place));
            }
        }
        most
    }

    #[test]
    fn one_sphere_in_a_ball_is_the_ball() {
        let fitted = fit_mesh(&ball(2.0, 4), Fit::Count(5));
        let first = fitted.spheres[0];
        assert!(first.center.length() < 0.02, "{first:?}");
        assert!((first.radius - 2.0).abs() < 0.02, "{first:?}");
        assert!(fitted.gap < 0.02, "{}", fitted.gap);
    }

    #[test]
    fn more_spheres_fit_better() {
        let size = DVec3::new(1.0, 0.6, 0.8);
        let mut before = f64::INFINITY;
        for count in [1, 8, 30, 120] {
            let fitted = fit_mesh(&cuboid(size), Fit::Count(count));
            assert!(fitted.spheres.len() <= count);
            assert!(fitted.gap < before, "{count}: {} {before}", fitted.gap);
            let gap = in_box(&fitted, size);
            assert!(gap < 1.05 * fitted.gap, "{gap} {}", fitted.gap);
            before = fitted.gap;
        }
        assert!(before < 0.06, "{before}");
    }

    #[test]
    fn a_tolerance_is_met() {
        let size = DVec3::new(1.0, 0.6, 0.8);
        let fitted = fit_mesh(&cuboid(size), Fit::Tolerance(0.05));
        assert!(fitted.gap <= 0.05, "{}", fitted.gap);
        assert!(fitted.spheres.len() < 300, "{}", fitted.spheres.len());
        let gap = in_box(&fitted, size);
        assert!(gap <= 0.051, "{gap}");
    }

    #[test]
    fn a_fit_tells_how_far_it_is() {
        let told = std::sync::Mutex::new(Vec::new());
        let tell = |stage| told.lock().unwrap().push(stage);
        let mesh = cuboid(DVec3::new(1.0, 0.6, 0.8));
        let fitted = fit_mesh_telling(&mesh, Fit::Tolerance(0.1), &tell);
        let told = told.into_inner().unwrap();
        assert!(matches!(told[0], Stage::Touching { points: 600.. }));
        let most = |stage: &Stage| matches!(*stage, Stage::Choosing { spheres, .. } if spheres > 5);
        assert!(told.iter().any(most) && fitted.spheres.len() > 5);
        let all =
            |stage: &Stage| matches!(*stage, Stage::Choosing { covered, .. } if covered == 1.0);
        assert!(told.iter().any(all));
        assert_eq!(fitted, fit_mesh(&mesh, Fit::Tolerance(0.1)));
    }

    #[test]
    fn a_tolerance_that_takes_too_many_spheres_is_not_worked_on_for_long() {
        let size = DVec3::new(1.0, 0.6, 0.8);
        let mesh = cuboid(size);
        let mut before = MAX_FITTED;
        for tolerance in [2e-3, 1e-3, 1e-9] {
            let fitted = fit_mesh(&mesh, Fit::Tolerance(tolerance));
            let at_least = fitted.at_least.unwrap();
            assert!(
                at_least > MAX_FITTED && at_least + 100 > before,
                "{tolerance}: {at_least}"
            );
            before = at_least;
        }
    }

    #[test]
    fn the_fit_goes_with_the_mesh_and_is_the_same_each_time() {
        let size = DVec3::new(0.3, 0.4, 0.5);
        let mesh = cuboid(size);
        let fitted = fit_mesh(&mesh, Fit::Count(20));
        assert_eq!(fitted, fit_mesh(&mesh, Fit::Count(20)));
        let shift = DVec3::new(100.0, -50.0, 7.0);
        let far = Mesh {
            vertices: mesh.vertices.iter().map(|v| shift + 8.0 * *v).collect(),
            ..mesh.clone()
        };
        let moved = fit_mesh(&far, Fit::Count(20));
        assert!((moved.gap / fitted.gap / 8.0 - 1.0).abs() < 0.01);
        assert_eq!(moved.spheres.len(), fitted.spheres.len());
    }
}
