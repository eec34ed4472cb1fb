//! Dense fills: bodies grow, and are moved apart as they do.
//!
//! The method is that of Lubachevsky and Stillinger (1990), but without time. Bodies start so small that they find places at
//! random, and grow step by step. After each step, bodies that overlap are [moved apart](fn@super::overlap::relax).

use std::f64::consts::PI;

use glam::DVec3;

use super::fill::{Fill, FillError, Occupied, Together, Wanted, volume};
use super::overlap::team::{Alone, Numbered, Team, share_out, swap, to_first};
use super::overlap::{
    Overlap, Partner, RELAX_SWEEPS, RELAX_TOLERANCE, Unrelaxed, World, overlaps_of, relax_part,
    sorted,
};
use super::slab::Searchers;
use crate::model::ModelBody;
use crate::model::bodies::{Piece, Shared, Visit};
use crate::model::clump::Clump;
use crate::model::wall::{Probe, Wall};

/// Solid fraction that a fill with as many bodies as fit aims at: that of spheres packed at random (Scott and Kilgour 1969).
pub const DENSEST: f64 = 0.64;
/// Fraction of the room in which the balls around the small bodies find places at random quickly.
const THIN: f64 = 0.2;
/// Number of steps of growth.
const STEPS: i32 = 8;
/// Number of sweeps that move bodies apart after each step of growth but the last.
const SWEEPS: usize = 200;
/// Fraction of the bodies that is left out at a time, in a fill with as many bodies as fit.
const LEFT_OUT: f64 = 0.02;

impl Fill {
    /// Makes a dense packing of bodies around `others`, which are there before and stay.
    ///
    /// A sphere sticks out of the region by at most [`RELAX_TOLERANCE`] times its radius, and its overlaps with other bodies and
    /// with the walls of `world` are limited likewise. If the region spans a periodic domain along an axis, bodies have
    /// neighbours across its faces.
    ///
    /// # Errors
    /// A [`FillError`] says why the bodies cannot be packed.
    pub fn pack(&self, others: &[ModelBody], world: World) -> Result<Vec<ModelBody>, FillError> {
        let walls = self.walls(world);
        let others = self.near(&|act| others.iter().for_each(act), world);
        let packing = self.packing(&others, world, &walls, None)?;
        let packed = packing
            .run(&Alone)
            .map_err(|left| self.jammed(world, &left))?;
        Ok(packed.into_iter().map(|own| own.body).collect())
    }

    /// Does as [`Fill::pack`] with several processes, each of which then has a share of the bodies. Whoever visits `others` shows all that
    /// are there before.
    ///
    /// # Errors
    /// As [`Fill::pack`].
    #[cfg(feature = "scene")]
    pub(crate) fn pack_together(
        &self,
        others: Visit,
        world: World,
        searchers: &dyn Searchers,
    ) -> Result<Shared, FillError> {
        let walls = self.walls(world);
        let others = self.near(others, world);
        let packing = self.packing(&others, world, &walls, Some(searchers))?;
        let packed = searchers.pack(&packing);
        packed.map_err(|left| self.jammed(world, &left))
    }

    /// Finds those of some bodies that may be in the way.
    fn near(&self, others: Visit, world: World) -> Vec<ModelBody> {
        let mut near = Vec::new();
        others(&mut |body| {
            if world.domain.is_some() || self.may_meet(body, world.shapes) {
                near.push(*body);
            }
        });
        near
    }

    /// Walls, and the faces of the region.
    fn walls(&self, world: World) -> Vec<Probe> {
        let mut walls = world.walls.to_vec();
        walls.extend(self.faces(world));
        walls
    }

    /// Mean of a number of the shapes of the mix.
    fn mean(&self, world: World, of: impl Fn(&Clump) -> f64) -> f64 {
        let total: f64 = self.shapes.iter().map(|(_, weight)| weight).sum();
        let weighed = self.shapes.iter();
        let weighed = weighed.map(|&(shape, weight)| of(&world.shapes[shape]) * weight);
        weighed.sum::<f64>() / total
    }

    fn jammed(&self, world: World, left: &Unrelaxed) -> FillError {
        let room = self.room(world.walls);
        FillError::Jammed {
            count: self.count,
            solid_fraction: self.count as f64 * self.mean(world, volume) / room,
            remaining: left.remaining,
            worst: left.worst.fraction,
        }
    }

    /// Places the small bodies that grow between these `walls`, those of the world and the faces of the region.
    fn packing<'a>(
        &self,
        others: &'a [ModelBody],
        world: World<'a>,
        walls: &'a [Probe],
        searchers: Option<&dyn Searchers>,
    ) -> Result<Packing<'a>, FillError> {
        // At random places, bodies need about as much room as the balls around them, besides that of the bodies that are there.
        let is_inside = |body: &&ModelBody| {
            body.position.cmpge(self.min).all() && body.position.cmple(self.max).all()
        };
        let inside = others.iter().filter(is_inside);
        let taken: f64 = inside.map(|body| volume(&world.shapes[body.shape])).sum();
        let around = self.mean(world, |shape| {
            4.0 / 3.0 * PI * shape.bounding_radius().powi(3)
        });
        let room = self.room(world.walls);
        let crowd = self.count as f64 * around / (room - taken).max(THIN * room);
        let least = libm::cbrt(THIN / crowd).min(1.0);

        let mut small = self.clone();
        for (shape, _) in &mut small.shapes {
            *shape += world.shapes.len();
        }
        let shapes = grown(world.shapes, least);
        let mut occupied = Occupied::new(&shapes);
        for body in others {
            occupied.insert(body, &shapes);
        }
        let small = match searchers {
            None => {
                let all = |_: &ModelBody| true;
                Piece::Fill(small.place_made(&shapes, &mut occupied, world.walls, &all)?)
            }
            Some(searchers) => {
                let together = Together {
                    searchers,
                    before: Vec::new(),
                };
                let small = small.place_together(&shapes, &mut occupied, world.walls, &together)?;
                Piece::Shared(small)
            }
        };
        Ok(Packing {
            world: World { walls, ..world },
            others,
            small,
            least,
            leaves_out: self.wanted == Some(Wanted::All),
        })
    }

    /// The faces of the region, as planes that hold bodies inside.
    ///
    /// Faces across an axis along which the region spans a periodic domain are left out.
    fn faces(&self, world: World) -> Vec<Probe> {
        let period = world.domain.map_or(DVec3::ZERO, |domain| domain.period());
        let mut faces = Vec::new();
        for (axis, normal) in DVec3::AXES.into_iter().enumerate() {
            let length = (self.max - self.min)[axis];
            if period[axis] > 0.0 && length >= period[axis] * (1.0 - 1e-9) {
                continue;
            }
            for (point, normal) in [(self.min, normal), (self.max, -normal)] {
                let mut face = Wall::plane(point, normal, 0);
                face.name = "face of the region".to_owned();
                faces.push(Probe::new(&face, None));
            }
        }
        faces
    }
}

/// All shapes at their full size, and after them the same shapes while they grow.
fn grown(shapes: &[Clump], factor: f64) -> Vec<Clump> {
    let small = shapes.iter().map(|shape| shape.scaled(factor));
    shapes.iter().cloned().chain(small).collect()
}

/// A dense fill whose small bodies have their places, before they grow.
pub(crate) struct Packing<'a> {
    /// The faces of its region are among the walls.
    pub world: World<'a>,
    /// Bodies that are there before, and stay.
    pub others: &'a [ModelBody],
    /// The small bodies, or the part of them that this process has. Their shapes come after those of the world.
    pub small: Piece,
    /// Their size, as a fraction of the full size.
    pub least: f64,
    /// Whether bodies are left out that have no room.
    pub leaves_out: bool,
}

impl Packing<'_> {
    /// Grows the bodies, and moves them apart meanwhile. Each process of a team returns its share of them, in order.
    ///
    /// # Errors
    /// On all of them, if overlaps are left.
    pub fn run(&self, team: &impl Team) -> Result<Vec<Numbered>, Unrelaxed> {
        let (first, others) = (self.world.shapes.len(), self.others.len() as u32);
        let mut part = self.start(team);
        for step in 1..STEPS {
            let size = libm::pow(self.least, 1.0 - f64::from(step) / f64::from(STEPS));
            let shapes = grown(self.world.shapes, size);
            let world = World {
                shapes: &shapes,
                ..self.world
            };
            // The last step moves apart the bodies that still overlap.
            let _ = relax_part(&mut part, world, 10.0 * RELAX_TOLERANCE, SWEEPS, team);
        }
        for own in part.iter_mut().filter(|own| own.number >= others) {
            own.body.shape -= first;
        }
        let sweeps = match self.leaves_out {
            true => 2 * SWEEPS,
            false => RELAX_SWEEPS,
        };
        while let Err(left) = relax_part(&mut part, self.world, RELAX_TOLERANCE, sweeps, team) {
            let mut count = [part.len() as i64];
            team.sum(&mut count);
            let all = count[0] as usize;
            let count = all - self.others.len();
            let fewer = (LEFT_OUT * count as f64).ceil() as usize;
            if !self.leaves_out || fewer >= count {
                return Err(left);
            }
            self.leave_out(&mut part, fewer, all, team);
        }
        part.retain(|own| own.number >= others);
        part.iter_mut().for_each(|own| own.number -= others);
        share_out(&mut part, team);
        Ok(part)
    }

    /// A share of all bodies.
    fn start(&self, team: &impl Team) -> Vec<Numbered> {
        let others = self.others.len();
        let share = |count: usize| {
            let end = |rank: usize| count * rank / team.count();
            end(team.rank())..end(team.rank() + 1)
        };
        let own = share(others);
        let numbered = |number: usize, body: &ModelBody, fixed: bool| Numbered {
            number: number as u32,
            body: ModelBody { fixed, ..*body },
        };
        let fixed = own.clone().zip(&self.others[own]);
        let fixed = fixed.map(|(number, body)| numbered(number, body, true));
        let mut part: Vec<Numbered> = fixed.collect();
        let Piece::Fill(small) = &self.small else {
            unreachable!("the process has its part of the small bodies");
        };
        let mut number = small.first() as usize;
        let total = small.numbers.count as usize;
        let own = match small.len() == total {
            true => share(total),
            false => number..number + small.len(),
        };
        part.reserve_exact(own.len());
        small.each(&mut |body| {
            if own.contains(&number) {
                part.push(numbered(others + number, body, false));
            }
            number += 1;
        });
        part
    }

    /// Leaves out at most `count` of the bodies that are packed, of so many in all: those of the deepest overlaps. The rest gets the
    /// numbers without gaps.
    fn leave_out(&self, part: &mut Vec<Numbered>, count: usize, all: usize, team: &impl Team) {
        let deepest = overlaps_of(part, self.world, RELAX_TOLERANCE, team);
        let own = self.first_of(deepest, count, all);
        let own = own.iter().map(Overlap::record).collect();
        let found = to_first(team, own).into_iter().flatten();
        let found = sorted(found.map(|record| Overlap::of_record(&record)).collect());
        let gone = self.first_of(found, count, all);
        let mut gone: Vec<u32> = gone.iter().map(|own| later(own) as u32).collect();
        gone.sort_unstable();
        let gone = swap(team, &vec![gone; team.count()]).swap_remove(0);
        part.retain(|own| gone.binary_search(&own.number).is_err());
        for own in part {
            own.number -= gone.partition_point(|number| *number < own.number) as u32;
        }
    }

    /// The first overlaps of so many bodies that are packed.
    fn first_of(&self, mut overlaps: Vec<Overlap>, count: usize, all: usize) -> Vec<Overlap> {
        let mut known = vec![false; all];
        known[..self.others.len()].fill(true);
        overlaps.retain(|overlap| !std::mem::replace(&mut known[later(overlap)], true));
        overlaps.truncate(count);
        overlaps
    }
}

/// Number of the body that goes if there is no room: of two the later one, because those that are there before stay.
fn later(overlap: &Overlap) -> usize {
    match overlap.partner {
        Partner::Body(other) => other,
        Partner::Wall(_) => overlap.body,
    }
}

#[cfg(test)]
mod tests {
    use glam::DVec3;

    use super::*;
    use crate::model::Domain;
    use crate::model::clump::shapes;
    use crate::model::packing::fill::{Orientation, Placement};
    use crate::model::packing::overlap::team::tests::on_team;
    use crate::model::packing::overlap::tests::{ball, body, clump, world};
    use crate::model::packing::overlap::{self, overlaps};
    use crate::model::quantity::Quantities;

    fn fill(wanted: Option<Wanted>, shapes: &[usize]) -> Fill {
        Fill {
            count: 0,
            wanted,
            shapes: shapes.iter().map(|shape| (*shape, 1.0)).collect(),
            sizes: Vec::new(),
            placement: Placement::Packed,
            min: DVec3::new(0.0, 0.0, -0.5),
            max: DVec3::new(1.0, 1.0, 0.5),
            face: None,
            orientation: Orientation::Random,
            velocity: (DVec3::X, DVec3::X),
            angular_velocity: (DVec3::ZERO, DVec3::ZERO),
            group: 0,
            quantities: Quantities::default(),
            seed: 3,
        }
    }

    /// The bodies, after checks of their overlaps, and the solid fraction of the region.
    fn packed(mut fill: Fill, others: &[ModelBody], world: World) -> (Vec<ModelBody>, f64) {
        fill.settle_count(world.shapes, world.walls);
        let bodies = fill
            .pack(others, world)
            .unwrap_or_else(|error| panic!("{error}"));
        let all: Vec<ModelBody> = others.iter().chain(&bodies).copied().collect();
        assert_eq!(overlaps(&all, world, 1.01 * RELAX_TOLERANCE), []);
        let solid: f64 = bodies
            .iter()
            .map(|body| volume(&world.shapes[body.shape]))
            .sum();
        (bodies, solid / (fill.max - fill.min).element_product())
    }

    fn assert_inside(bodies: &[ModelBody], fill: &Fill, shapes: &[Clump]) {
        for body in bodies {
            for (center, radius) in overlap::spheres_of(body, shapes) {
                let slack = 1.01 * RELAX_TOLERANCE * radius;
                assert!((center - radius).cmpge(fill.min - slack).all(), "{body:?}");
                assert!((center + radius).cmple(fill.max + slack).all(), "{body:?}");
            }
        }
    }

    #[test]
    fn spheres_of_two_sizes_pack_to_a_fraction_that_random_places_never_reach() {
        let shapes = [ball(0.05), ball(0.035)];
        let own = fill(Some(Wanted::SolidFraction(0.55)), &[0, 1]);
        let (bodies, part) = packed(own.clone(), &[], world(&shapes, &[], None));
        assert!((part - 0.55).abs() < 1e-3, "{part}");
        assert_inside(&bodies, &own, &shapes);
        assert!(
            bodies
                .iter()
                .all(|body| body.velocity == DVec3::X && !body.fixed)
        );
        let again = packed(own, &[], world(&shapes, &[], None)).0;
        assert_eq!(bodies, again);
    }

    #[test]
    fn a_periodic_box_is_filled_across_its_seams() {
        let shapes = [ball(0.05)];
        let domain = Domain {
            min: DVec3::new(0.0, 0.0, -0.5),
            max: DVec3::new(1.0, 1.0, 0.5),
            periodic: [true; 3],
        };
        let own = fill(Some(Wanted::SolidFraction(0.6)), &[0]);
        let (_, part) = packed(own, &[], world(&shapes, &[], Some(&domain)));
        assert!((part - 0.6).abs() < 1e-3, "{part}");
    }

    #[test]
    fn as_many_as_fit_around_what_is_there() {
        let shapes = [ball(0.04), ball(0.3), clump(shapes::cube(2, 0.03, None))];
        let boulder = [body(1, DVec3::new(0.5, 0.5, 0.0))];
        let own = fill(Some(Wanted::All), &[0, 2]);
        let (bodies, part) = packed(own.clone(), &boulder, world(&shapes, &[], None));
        assert_inside(&bodies, &own, &shapes);
        // The boulder leaves 0.887 of the room, and a cube of eight balls is half empty itself.
        assert!((0.3..0.45).contains(&part), "{part}");
    }

    #[test]
    fn each_process_gets_its_share_of_what_one_process_packs() {
        let shapes = [ball(0.07), ball(0.3), clump(shapes::cube(2, 0.05, None))];
        let boulder = [body(1, DVec3::new(0.5, 0.5, 0.0))];
        let floor = [overlap::tests::plane(
            DVec3::NEG_Y * 0.1,
            DVec3::new(0.0, 0.8, 0.6),
        )];
        let world = world(&shapes, &floor, None);
        for wanted in [Wanted::All, Wanted::SolidFraction(0.2)] {
            let mut own = fill(Some(wanted), &[0, 2]);
            own.max.x = 2.0;
            own.settle_count(&shapes, &floor);
            let expected = own.pack(&boulder, world).expect("room");
            // Some are left out of as many as fit.
            assert_eq!(expected.len() < own.count, wanted == Wanted::All);
            let walls = own.walls(world);
            let packing = own.packing(&boulder, world, &walls, None).expect("room");
            for count in [1, 2, 3] {
                let shares = on_team(count, |team| packing.run(team).expect("room"));
                let mut found = Vec::new();
                for share in shares {
                    let equal = expected.len() / count;
                    assert!((equal..=equal + 1).contains(&share.len()));
                    for own in share {
                        assert_eq!(own.number as usize, found.len());
                        found.push(own.body);
                    }
                }
                assert!(found == expected, "{count} processes");
            }
        }
    }

    #[test]
    fn all_processes_see_that_there_are_too_many() {
        let shapes = [ball(0.1)];
        let world = world(&shapes, &[], None);
        let mut own = fill(Some(Wanted::SolidFraction(0.75)), &[0]);
        own.settle_count(&shapes, &[]);
        let walls = own.walls(world);
        let packing = own.packing(&[], world, &walls, None).expect("room");
        let expected = packing.run(&Alone).expect_err("too many");
        for left in on_team(3, |team| packing.run(team).expect_err("too many")) {
            assert_eq!(left, expected);
        }
    }

    #[test]
    fn a_mass_is_met_to_half_a_body() {
        let shapes = [ball(0.05), ball(0.04)];
        let mut own = fill(Some(Wanted::Mass(100.0)), &[0, 1]);
        own.settle_count(&shapes, &[]);
        // Each has a mass of 1 kg.
        assert_eq!(own.count, 100);
    }

    #[test]
    fn too_many_say_so() {
        let shapes = [ball(0.1)];
        let mut own = fill(Some(Wanted::SolidFraction(0.75)), &[0]);
        own.settle_count(&shapes, &[]);
        let error = own
            .pack(&[], world(&shapes, &[], None))
            .expect_err("too many");
        assert!(
            matches!(error, FillError::Jammed { count: 179, .. }),
            "{error:?}"
        );
    }
}
