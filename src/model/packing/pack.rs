//! Dense fills: bodies that grow while they are eased apart.
//!
//! After Lubachevsky and Stillinger (1990), but that no time passes: bodies that are so small that they find places at
//! random grow step by step, and after each step those that overlap are [eased apart](fn@super::overlap::relax).

use std::f64::consts::PI;

use glam::DVec3;

use super::fill::{Fill, FillError, Occupied, Wanted, volume};
use super::overlap::{self, RELAX_SWEEPS, RELAX_TOLERANCE, World, overlaps, relax};
use crate::model::ModelBody;
use crate::model::clump::Clump;
use crate::model::wall::{Probe, Wall};

/// Part of the room that bodies are tried to take where as many are wanted as fit: that of spheres packed at random
/// (Scott and Kilgour 1969).
pub const DENSEST: f64 = 0.64;
/// Part of the room that the small bodies take, which find places at random quickly.
const THIN: f64 = 0.2;
/// Steps of growth.
const STEPS: i32 = 8;
/// Sweeps that separate bodies after each step of growth but the last; the next step separates the rest.
const SWEEPS: usize = 200;
/// Part of the bodies that are left out at a time where as many are wanted as fit.
const LEFT_OUT: f64 = 0.02;

impl Fill {
    /// Makes the bodies, dense; `others` are there before them, and stay.
    ///
    /// Each body is within the region to [`RELAX_TOLERANCE`] of its radius, as are overlaps with others and with walls,
    /// those of `world`. Across faces of the region that are those of a periodic domain, bodies have neighbours.
    ///
    /// # Errors
    /// A [`FillError`] says why there are no such places.
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
        // At random places, bodies keep as far apart as the balls around them, and from what is there.
        let is_inside = |body: &&ModelBody| {
            body.position.cmpge(self.min).all() && body.position.cmple(self.max).all()
        };
        let inside = others.iter().filter(is_inside);
        let taken: f64 = inside.map(|body| volume(&world.shapes[body.shape])).sum();
        let around = mean(&|shape| 4.0 / 3.0 * PI * shape.bounding_radius().powi(3));
        let crowd = self.count as f64 * around / (room - taken).max(THIN * room);
        let least = libm::cbrt(THIN / crowd).min(1.0);

        // All shapes as they are, and after them as they are while they grow.
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
            // The last step separates the rest.
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

    /// The faces of the region as planes that hold bodies inside, but those of a periodic domain that it spans.
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

/// Leaves out `count` of the bodies from `first` on: those of the deepest overlaps.
fn leave_out(bodies: &mut Vec<ModelBody>, first: usize, count: usize, world: World) {
    let mut gone = vec![false; bodies.len()];
    let deepest = overlaps(bodies, world, RELAX_TOLERANCE).into_iter();
    let own = deepest.flat_map(|overlap| {
        let other = match overlap.partner {
            overlap::Partner::Body(other) => other,
            overlap::Partner::Wall(_) => overlap.body,
        };
        // Of two, the later one: it was placed later, and is the smaller one.
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

    /// The bodies, after checks of the fill's guarantees; and the ratio of their volume to that of the region.
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
        // Beside the boulder there is 0.887 of the room, and a cube of eight balls is half empty itself.
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
