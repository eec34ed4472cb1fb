//! Dense fills: bodies grow, and are moved apart as they do.
//!
//! The method is that of Lubachevsky and Stillinger (1990), but without time. Bodies start so small that they find places at
//! random, and grow step by step. After each step, bodies that overlap are [moved apart](fn@super::overlap::relax).

use std::f64::consts::PI;

use glam::DVec3;

use super::fill::{Fill, FillError, Occupied, Wanted, volume};
use super::overlap::{self, RELAX_SWEEPS, RELAX_TOLERANCE, World, overlaps, relax};
use crate::model::ModelBody;
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
        let total: f64 = self.shapes.iter().map(|(_, weight)| weight).sum();
        let mix = self.shapes.iter();
        let mean = |of: &dyn Fn(&Clump) -> f64| {
            let weighed = mix
                .clone()
                .map(|&(shape, weight)| of(&world.shapes[shape]) * weight);
            weighed.sum::<f64>() / total
        };
        let room = self.room(world.walls);
        let part = self.count as f64 * mean(&volume) / room;
        // At random places, bodies need about as much room as the balls around them, besides that of the bodies that are there.
        let is_inside = |body: &&ModelBody| {
            body.position.cmpge(self.min).all() && body.position.cmple(self.max).all()
        };
        let inside = others.iter().filter(is_inside);
        let taken: f64 = inside.map(|body| volume(&world.shapes[body.shape])).sum();
        let around = mean(&|shape| 4.0 / 3.0 * PI * shape.bounding_radius().powi(3));
        let crowd = self.count as f64 * around / (room - taken).max(THIN * room);
        let least = libm::cbrt(THIN / crowd).min(1.0);

        // All shapes at their full size, and after them the same shapes while they grow.
        let first = world.shapes.len();
        let grown = |factor: f64| -> Vec<Clump> {
            let small = world.shapes.iter().map(|shape| shape.scaled(factor));
            world.shapes.iter().cloned().chain(small).collect()
        };
        let mut shapes = grown(least);
        let mut small = self.clone();
        small
            .shapes
            .iter_mut()
            .for_each(|(shape, _)| *shape += first);
        let mut occupied = Occupied::new(&shapes);
        others
            .iter()
            .for_each(|body| occupied.insert(body, &shapes));
        let placed = small.place(&shapes, &mut occupied, world.walls)?;

        let mut walls = world.walls.to_vec();
        walls.extend(self.faces(world));
        let mut bodies: Vec<ModelBody> = others.to_vec();
        bodies.iter_mut().for_each(|body| body.fixed = true);
        bodies.extend(placed);
        for step in 1..STEPS {
            shapes = grown(libm::pow(least, 1.0 - f64::from(step) / f64::from(STEPS)));
            let world = World {
                shapes: &shapes,
                walls: &walls,
                ..world
            };
            // The last step moves apart the bodies that still overlap.
            let _ = relax(&mut bodies, world, 10.0 * RELAX_TOLERANCE, SWEEPS);
        }
        for body in &mut bodies[others.len()..] {
            body.shape -= first;
        }
        let last = World {
            walls: &walls,
            ..world
        };
        let sweeps = match self.wanted {
            Some(Wanted::All) => 2 * SWEEPS,
            _ => RELAX_SWEEPS,
        };
        while let Err(unrelaxed) = relax(&mut bodies, last, RELAX_TOLERANCE, sweeps) {
            let count = bodies.len() - others.len();
            let fewer = (LEFT_OUT * count as f64).ceil() as usize;
            if self.wanted != Some(Wanted::All) || fewer >= count {
                return Err(FillError::Jammed {
                    count: self.count,
                    solid_fraction: part,
                    remaining: unrelaxed.remaining,
                    worst: unrelaxed.worst.fraction,
                });
            }
            leave_out(&mut bodies, others.len(), fewer, last);
        }
        Ok(bodies.split_off(others.len()))
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

/// Leaves out at most `count` of the bodies from `first` on: those of the deepest overlaps.
fn leave_out(bodies: &mut Vec<ModelBody>, first: usize, count: usize, world: World) {
    let mut gone = vec![false; bodies.len()];
    let deepest = overlaps(bodies, world, RELAX_TOLERANCE).into_iter();
    let own = deepest.flat_map(|overlap| {
        let other = match overlap.partner {
            overlap::Partner::Body(other) => other,
            overlap::Partner::Wall(_) => overlap.body,
        };
        // Of two bodies the later one goes, because the bodies before `first` stay.
        (other >= first).then_some(other)
    });
    let mut left = count;
    for body in own {
        if left == 0 {
            break;
        }
        left -= usize::from(!gone[body]);
        gone[body] = true;
    }
    let mut index = 0;
    bodies.retain(|_| {
        index += 1;
        !gone[index - 1]
    });
}

#[cfg(test)]
mod tests {
    use glam::DVec3;

    use super::*;
    use crate::model::Domain;
    use crate::model::clump::shapes;
    use crate::model::packing::fill::{Orientation, Placement};
    use crate::model::packing::overlap::tests::{ball, body, clump, world};
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
