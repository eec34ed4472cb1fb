//! Relaxing: it moves overlapping bodies apart.

use glam::DVec3;
use thiserror::Error;

use super::{Overlap, World, for_each_pair, grid_of, overlaps, spheres_of};
use crate::math::display::Rounded;
use crate::math::parallel::prelude::*;
use crate::model::ModelBody;

/// Largest overlap that relaxing leaves, as a fraction of the smaller radius.
pub const RELAX_TOLERANCE: f64 = 1e-3;
/// Number of sweeps over all overlaps after which relaxing gives up.
pub const RELAX_SWEEPS: usize = 2000;

/// Largest number of sweeps between two searches for neighbours.
const SWEEPS_PER_SEARCH: usize = 16;
/// Gap up to which two spheres count as neighbours, as a fraction of the smaller radius.
const MARGIN: f64 = 0.2;
/// Overlap above which a pair counts as locked in some sweeps, as a fraction of the smaller radius.
const UNLOCK_DEPTH: f64 = 0.2;
/// Distance of centres below which they give no direction, as a fraction of the sum of the radii.
const COINCIDENT: f64 = 1e-6;

/// Report of relaxing: the number of sweeps, and how far bodies were moved.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RelaxReport {
    /// Number of sweeps over all overlaps.
    pub sweeps: usize,
    /// Number of bodies that were moved.
    pub moved: usize,
    /// Largest displacement of a body, m.
    pub largest_move: f64,
}

/// Overlaps that could not be relaxed.
#[derive(Clone, Debug, PartialEq, Error)]
#[error(
    "{remaining} overlaps are left after {sweeps} sweeps of easing bodies apart; the deepest is \
     {:.1} % of the smaller radius ({} m)", 100.0 * worst.fraction, Rounded(worst.depth)
)]
pub struct Unrelaxed {
    /// Number of sweeps over all overlaps.
    pub sweeps: usize,
    /// Number of overlaps deeper than the tolerance.
    pub remaining: usize,
    /// The overlap that is deepest relative to the smaller radius.
    pub worst: Overlap,
}

/// Moves bodies, without turning them, until no overlap exceeds `tolerance` times the smaller radius.
///
/// Overlaps are those of two bodies, and of a body with a wall. Fixed bodies stay where they are, and all velocities stay as they
/// are.
///
/// The method is position projection. Each sweep goes through the overlapping pairs of spheres one after another and moves the
/// two bodies apart along the line of centres; then it moves each body out of the walls. Each body moves by half of the overlap,
/// heavy or light, because a crowd spreads faster that way. Clumps can lock into each other where such pushes cancel. So in some
/// sweeps a pair is pushed along the line between the centres of mass instead, which always parts it. In a periodic domain
/// images part, too.
///
/// # Errors
///
/// [`Unrelaxed`] if overlaps are left after `max_sweeps` or a few more; the bodies are then where the last sweep left them.
pub fn relax(
    bodies: &mut [ModelBody],
    world: World,
    tolerance: f64,
    max_sweeps: usize,
) -> Result<RelaxReport, Unrelaxed> {
    let start: Vec<DVec3> = bodies.iter().map(|body| body.position).collect();
    // The aim is a little below the tolerance, because the final check may round differently.
    let allowed = 0.9 * tolerance;
    let mut sweeps = 0;
    let mut searches = 0;
    loop {
        searches += 1;
        let neighbours = neighbours(bodies, world);
        let mut moving = true;
        let mut since_search = 0;
        while moving && since_search < SWEEPS_PER_SEARCH {
            let unlock = match since_search {
                // The first search never unlocks, because most pairs come free without it.
                0 if searches % 8 == 0 => 0.0,
                0 if searches > 1 => UNLOCK_DEPTH,
                _ => f64::INFINITY,
            };
            let part = |moving, pair: &Pair| pair.part(bodies, allowed, unlock) || moving;
            // Sweeps alternate in direction, so that no end of the list is favoured.
            moving = if since_search % 2 == 0 {
                neighbours.iter().fold(false, part)
            } else {
                neighbours.iter().rev().fold(false, part)
            };
            moving |= leave_walls(bodies, world, allowed);
            since_search += 1;
        }
        sweeps += since_search;
        let settled = !moving && since_search == 1;
        if settled || sweeps >= max_sweeps {
            let left = overlaps(bodies, world, tolerance);
            match left.first() {
                None => break,
                Some(&worst) => {
                    return Err(Unrelaxed {
                        sweeps,
                        remaining: left.len(),
                        worst,
                    });
                }
            }
        }
    }
    let moves = || {
        bodies
            .iter()
            .zip(&start)
            .map(|(body, start)| body.position.distance(*start))
    };
    Ok(RelaxReport {
        sweeps,
        moved: moves().filter(|&distance| distance > 0.0).count(),
        largest_move: moves().fold(0.0, f64::max),
    })
}

/// Two spheres of the bodies `a` and `b`.
#[derive(Clone, Copy, Debug)]
struct Pair {
    a: u32,
    b: u32,
    /// Vector from the sphere of `a` to that of `b`, or to its image, less the vector from body to body, m.
    offset: DVec3,
    /// Vector from the body `b` to its image, m; zero without a periodic domain.
    image: DVec3,
    /// Sum of the radii, m.
    touching: f64,
    /// The smaller radius, m.
    smaller: f64,
}

impl Pair {
    /// Moves the two bodies apart until the spheres just touch, if they overlap by more than `allowed` times the smaller radius.
    ///
    /// Returns whether it moved them. They move along the line of centres of the spheres, or along that of the bodies if the
    /// overlap exceeds `unlock` times the smaller radius.
    fn part(&self, bodies: &mut [ModelBody], allowed: f64, unlock: f64) -> bool {
        let (a, b) = (self.a as usize, self.b as usize);
        let between_bodies = bodies[b].position - bodies[a].position;
        let between = between_bodies + self.offset;
        let between_bodies = between_bodies + self.image;
        let distance_squared = between.length_squared();
        let near = self.touching - allowed * self.smaller;
        if distance_squared >= near * near {
            return false;
        }
        let clear = COINCIDENT * self.touching;
        let distance = distance_squared.sqrt();
        let locked = self.touching - distance > unlock * self.smaller;
        let direction = if distance > clear && !locked {
            between / distance
        } else if between_bodies.length() > clear {
            between_bodies.normalize()
        } else {
            any_direction(self.a, self.b)
        };
        // The distance along `direction` at which the centres are `touching` apart.
        let along = between.dot(direction);
        let push =
            (along * along + self.touching * self.touching - distance_squared).sqrt() - along;
        let (share_a, share_b) = match (bodies[a].fixed, bodies[b].fixed) {
            (false, false) => (0.5, 0.5),
            (false, true) => (1.0, 0.0),
            (true, _) => (0.0, 1.0),
        };
        bodies[a].position -= direction * (push * share_a);
        bodies[b].position += direction * (push * share_b);
        true
    }
}

/// Pairs of spheres that overlap, or may soon do so.
fn neighbours(bodies: &[ModelBody], world: World) -> Vec<Pair> {
    let grid = grid_of(bodies, world);
    let nearest = |way| world.domain.map_or(way, |domain| domain.nearest(way));
    (0..bodies.len())
        .into_par_iter()
        .with_min_len(64)
        .flat_map_iter(|a| {
            let mut pairs = Vec::new();
            for_each_pair(&grid, bodies, world, a, MARGIN, |center, radius, other| {
                let b = other.owner as usize;
                let place_a = center - bodies[a].position;
                let place_b = other.center - bodies[b].position;
                pairs.push(Pair {
                    a: a as u32,
                    b: other.owner,
                    offset: place_b - place_a,
                    image: (place_b - nearest(place_b)) - (place_a - nearest(place_a)),
                    touching: radius + other.radius,
                    smaller: radius.min(other.radius),
                });
            });
            pairs
        })
        .collect()
}

/// Moves bodies that are not fixed out of walls, one wall after another. Returns whether it moved any.
///
/// It moves a body if a sphere is in a wall by more than `allowed` times its radius.
fn leave_walls(bodies: &mut [ModelBody], world: World, allowed: f64) -> bool {
    let World { shapes, walls, .. } = world;
    let leave = |body: &mut ModelBody| {
        let mut moved = false;
        for wall in walls {
            let deepest = spheres_of(body, shapes)
                .filter_map(|(center, radius)| wall.depth(center, radius, allowed * radius))
                .max_by(|a, b| a.0.total_cmp(&b.0));
            if let Some((depth, out)) = deepest {
                body.position += out * depth;
                moved = true;
            }
        }
        moved
    };
    bodies
        .par_iter_mut()
        .with_min_len(64)
        .filter(|body| !body.fixed)
        .map(leave)
        .reduce(|| false, |a, b| a || b)
}

/// A pseudo-random unit vector that depends on two numbers only.
fn any_direction(a: u32, b: u32) -> DVec3 {
    let mut state = (u64::from(a) << 32) | u64::from(b);
    // SplitMix64 (Steele, Lea and Flood 2014) gives points in a cube; the first one in the unit ball counts.
    let mut next = || {
        state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut bits = state;
        bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (bits ^ (bits >> 31)) as f64 / (u64::MAX as f64) * 2.0 - 1.0
    };
    loop {
        let point = DVec3::new(next(), next(), next());
        let length_squared = point.length_squared();
        if (0.01..=1.0).contains(&length_squared) {
            return point / length_squared.sqrt();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::math::parallel::Threads;
    use crate::model::Domain;
    use crate::model::clump::Clump;
    use crate::model::clump::shapes;
    use crate::model::forces::{Drag, Group};
    use crate::model::packing::overlap::Partner;
    use crate::model::packing::overlap::tests::{
        ball, body, clump, plane, random, random_body, world,
    };
    use crate::model::wall::Probe;

    fn relaxed(
        bodies: &[ModelBody],
        shapes: &[Clump],
        planes: &[Probe],
    ) -> (Vec<ModelBody>, RelaxReport) {
        relaxed_in(None, bodies, shapes, planes)
    }

    fn relaxed_in(
        domain: Option<&Domain>,
        bodies: &[ModelBody],
        shapes: &[Clump],
        planes: &[Probe],
    ) -> (Vec<ModelBody>, RelaxReport) {
        let mut moved = bodies.to_vec();
        let report = relax(
            &mut moved,
            world(shapes, planes, domain),
            RELAX_TOLERANCE,
            RELAX_SWEEPS,
        )
        .unwrap_or_else(|error| panic!("{error}"));
        assert_eq!(
            overlaps(&moved, world(shapes, planes, domain), RELAX_TOLERANCE),
            []
        );
        for (before, after) in bodies.iter().zip(&moved) {
            let allowed = if before.fixed {
                *before
            } else {
                ModelBody {
                    position: after.position,
                    ..*before
                }
            };
            assert_eq!(*after, allowed);
        }
        (moved, report)
    }

    #[test]
    fn two_coincident_balls_part_evenly() {
        let bodies = [body(0, DVec3::ONE), body(0, DVec3::ONE)];
        let (moved, report) = relaxed(&bodies, &[ball(0.1)], &[]);
        let middle = 0.5 * (moved[0].position + moved[1].position);
        assert!(middle.distance(DVec3::ONE) < 1e-12);
        let distance = moved[0].position.distance(moved[1].position);
        assert!((distance - 0.2).abs() < 1e-12);
        assert_eq!(report.moved, 2);
        assert!((report.largest_move - 0.1).abs() < 1e-12);
    }

    #[test]
    fn a_fixed_body_stays_and_others_give_way() {
        let mut bodies = [-0.15, 0.0, 0.15].map(|x| body(0, DVec3::X * x));
        bodies[1].fixed = true;
        bodies[2].velocity = DVec3::Z;
        let (moved, _) = relaxed(&bodies, &[ball(0.1)], &[]);
        assert!(moved[0].position.distance(DVec3::X * -0.2) < 1e-12);
        assert!(moved[2].position.distance(DVec3::X * 0.2) < 1e-12);
    }

    #[test]
    fn bodies_that_ignore_each_other_stay_in_each_other() {
        let group = |name: &str, ignores| Group {
            name: name.into(),
            gravity: None,
            ignores,
            drag: Drag::default(),
        };
        let groups = [group("solid", 0b10), group("ghosts", 0b01)];
        let mut bodies = [0.0, 0.05, 0.1].map(|x| body(0, DVec3::X * x));
        bodies[1].group = 1;
        let shapes = [ball(0.1)];
        let world = World {
            groups: &groups,
            ..world(&shapes, &[], None)
        };
        let found = overlaps(&bodies, world, RELAX_TOLERANCE);
        assert_eq!(found.len(), 1);
        assert_eq!((found[0].body, found[0].partner), (0, Partner::Body(2)));
        relax(&mut bodies, world, RELAX_TOLERANCE, RELAX_SWEEPS).unwrap();
        let expected = [-0.05, 0.05, 0.15];
        for (body, expected) in bodies.iter().zip(expected) {
            assert!((body.position.x - expected).abs() < 1e-12);
        }
    }

    #[test]
    fn a_scene_without_overlap_stays_as_it_is() {
        let bodies = [body(0, DVec3::ZERO), body(0, DVec3::X * 0.19999)];
        let planes = [plane(DVec3::NEG_Y * 0.1, DVec3::Y)];
        let (moved, report) = relaxed(&bodies, &[ball(0.1)], &planes);
        assert_eq!(moved, bodies);
        assert_eq!((report.moved, report.largest_move), (0, 0.0));
    }

    #[test]
    fn balls_in_and_below_the_floor_come_to_its_top() {
        let bodies = [
            body(0, DVec3::new(0.0, 0.02, 0.0)),
            body(0, DVec3::new(1.0, -5.0, 0.0)),
            body(0, DVec3::new(2.0, 3.0, 0.0)),
        ];
        let (moved, report) = relaxed(&bodies, &[ball(0.1)], &[plane(DVec3::ZERO, DVec3::Y)]);
        for (index, height) in [0.1, 0.1, 3.0].into_iter().enumerate() {
            let expected = DVec3::new(index as f64, height, 0.0);
            assert!(moved[index].position.distance(expected) < 1e-12);
        }
        assert_eq!(report.moved, 2);
    }

    #[test]
    fn a_crowd_spreads() {
        let shapes = [
            ball(0.1),
            ball(0.02),
            clump(shapes::cube(2, 0.05, None)),
            clump(shapes::rod(4, 0.03, None)),
        ];
        let floor = [plane(DVec3::ZERO, DVec3::Y)];
        let mut random = random(5);
        let bodies: Vec<ModelBody> = (0..400)
            .map(|index| ModelBody {
                fixed: index % 50 == 0,
                ..random_body(index % shapes.len(), 1.0, &mut random)
            })
            .collect();
        let (first, report) = relaxed(&bodies, &shapes, &floor);
        assert!(report.moved > 200, "{report:?}");
        let single = Threads::start(Some(1)).expect("a thread");
        assert_eq!(single.run(|| relaxed(&bodies, &shapes, &floor)).0, first);
    }

    /// A domain that is periodic along x and z, from -0.5 to 0.5.
    const BOX: Domain = Domain {
        min: DVec3::splat(-0.5),
        max: DVec3::splat(0.5),
        periodic: [true, false, true],
    };

    #[test]
    fn bodies_part_across_the_seam() {
        // The second body is far outside the domain, and its image at -0.55 overlaps the first.
        let bodies = [
            body(0, DVec3::new(-0.45, 0.0, 0.1)),
            body(0, DVec3::new(7.45, 0.0, 0.1)),
        ];
        let (moved, _) = relaxed_in(Some(&BOX), &bodies, &[ball(0.1)], &[]);
        assert!((moved[0].position - DVec3::new(-0.4, 0.0, 0.1)).length() < 1e-12);
        assert!((moved[1].position - DVec3::new(7.4, 0.0, 0.1)).length() < 1e-12);
    }

    #[test]
    fn a_crowd_of_clumps_spreads_in_a_periodic_box() {
        let shapes = [
            ball(0.1),
            clump(shapes::cube(2, 0.05, None)),
            clump(shapes::torus(6, 0.05, None)),
        ];
        let floor = [plane(DVec3::NEG_Y * 0.5, DVec3::Y)];
        let mut random = random(8);
        let bodies: Vec<ModelBody> = (0..150)
            .map(|index| random_body(index % shapes.len(), 1.2, &mut random))
            .collect();
        let (_, report) = relaxed_in(Some(&BOX), &bodies, &shapes, &floor);
        assert!(report.moved > 100, "{report:?}");
    }

    #[test]
    fn a_heap_in_one_point_spreads() {
        relaxed(&vec![body(0, DVec3::ONE); 500], &[ball(0.1)], &[]);
    }

    #[test]
    fn blocks_in_each_other_come_free() {
        // All spheres coincide in pairs; each lies between two of the other block; one lies in the middle of the other block.
        let block = clump(shapes::cube(2, 0.05, None));
        for offset in [DVec3::ZERO, DVec3::X * 0.05, DVec3::splat(0.05)] {
            relaxed(
                &[body(0, DVec3::ZERO), body(0, offset)],
                std::slice::from_ref(&block),
                &[],
            );
        }
    }

    #[test]
    fn rings_locked_into_each_other_come_free() {
        let ring = [clump(shapes::torus(6, 0.05, None))];
        let mut random = random(6);
        for _ in 0..50 {
            let bodies = [0, 0].map(|shape| random_body(shape, 0.15, &mut random));
            relaxed(&bodies, &ring, &[]);
        }
    }

    #[test]
    fn too_narrow_a_gap_is_an_error_that_says_how_deep() {
        let planes = [
            plane(DVec3::ZERO, DVec3::Y),
            plane(DVec3::Y * 0.15, DVec3::NEG_Y),
        ];
        let mut bodies = [body(0, DVec3::Y * 0.1), body(0, DVec3::X * 5.0 + DVec3::Y)];
        let error = relax(
            &mut bodies,
            world(&[ball(0.1)], &planes, None),
            RELAX_TOLERANCE,
            50,
        )
        .expect_err("0.2 m do not fit into 0.15 m");
        assert!(error.sweeps >= 50 && error.sweeps < 50 + SWEEPS_PER_SEARCH);
        assert_eq!(error.remaining, 2);
        // The upper plane comes last in a sweep.
        assert_eq!(error.worst.partner, Partner::Wall(0));
        assert!((error.worst.depth - 0.05).abs() < 1e-12);
        assert!((error.worst.fraction - 0.5).abs() < 1e-12);
        assert!(
            error
                .to_string()
                .contains("50.0 % of the smaller radius (0.05 m)"),
            "{error}"
        );
    }
}
