//! Overlaps of bodies at the start: finds them, and moves the bodies apart.

mod grid;
mod relax;
pub(crate) mod team;

use std::cmp::Ordering;
use std::ops::ControlFlow;

use glam::{DMat3, DVec3};

use crate::math::parallel::prelude::*;
use crate::model::clump::Clump;
use crate::model::forces::Group;
use crate::model::wall::Probe;
use crate::model::{Domain, ModelBody};

pub use grid::{GridSphere, SphereGrid};
pub(crate) use relax::relax_part;
pub use relax::{RELAX_SWEEPS, RELAX_TOLERANCE, Unrelaxed, relax};
use team::{Numbered, Team, Tiling, swap};

/// Largest number of spheres that one sphere is paired with.
///
/// A sphere of a packing touches about a dozen spheres of its size or larger. If many more overlap, the scene is wrong anyway,
/// and a list of all pairs of a large heap in one place would take forever.
const CROWD: usize = 64;

/// Partner of a body that overlaps: another body or a wall.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Partner {
    /// Another body, by its index, which is larger than that of the first.
    Body(usize),
    /// A wall, by its index.
    Wall(usize),
}

/// An overlap of a body with another body or a wall: that of the deepest pair of spheres, or of the sphere deepest in the wall.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Overlap {
    /// Index of the body.
    pub body: usize,
    /// The other body, or the wall.
    pub partner: Partner,
    /// Depth of the overlap, m.
    pub depth: f64,
    /// Depth over the smaller radius; more than 2 for a sphere that is wholly behind a wall.
    pub fraction: f64,
}

/// Bodies and walls that come from another run: overlaps among them do no harm.
#[derive(Clone, Copy)]
pub(crate) struct Harmless<'a> {
    /// Number of these bodies, the first of all.
    pub bodies: usize,
    /// Which of the walls that are there at the start.
    pub walls: &'a [bool],
}

impl Harmless<'_> {
    pub fn has(&self, overlap: &Overlap) -> bool {
        overlap.body < self.bodies
            && match overlap.partner {
                Partner::Body(other) => other < self.bodies,
                Partner::Wall(wall) => self.walls[wall],
            }
    }
}

/// Surroundings of bodies: their shapes, walls and domain.
#[derive(Clone, Copy)]
pub struct World<'a> {
    /// Shapes of all bodies.
    pub shapes: &'a [Clump],
    /// Groups of bodies, which may ignore each other; empty if all bodies touch each other.
    pub groups: &'a [Group],
    /// Walls.
    pub walls: &'a [Probe],
    /// Periodic box, if there is one.
    pub domain: Option<&'a Domain>,
}

impl World<'_> {
    /// Whether an overlap of two bodies matters: they are not both fixed, and do not ignore each other.
    fn collide(&self, a: &ModelBody, b: &ModelBody) -> bool {
        let ignores = |group: &Group| group.ignores >> b.group & 1 == 1;
        !(a.fixed && b.fixed || self.groups.get(a.group).is_some_and(ignores))
    }
}

/// Finds the overlaps of bodies with each other and with walls that are deeper than `tolerance` times the smaller radius.
///
/// There is one overlap for each two partners. The overlap with the largest fraction comes first; equal ones are in the order of
/// their bodies.
///
/// Overlaps of two fixed bodies, of a fixed body with a wall, and of two bodies that ignore each other do no harm, and are left
/// out. In a periodic domain, whose sides must be at least two of the largest diameters, the images of bodies count. For each
/// sphere at most 64 others are looked at.
pub fn overlaps(bodies: &[ModelBody], world: World, tolerance: f64) -> Vec<Overlap> {
    overlaps_among(&bodies.iter().collect::<Vec<_>>(), world, tolerance)
}

fn overlaps_among(bodies: &[&ModelBody], world: World, tolerance: f64) -> Vec<Overlap> {
    let spheres = Spheres::of(bodies, world, &[]);
    let indices: Vec<usize> = (0..bodies.len()).collect();
    sorted(find(&spheres, bodies, world, &indices, tolerance))
}

/// Does as [`overlaps`] with the bodies of several processes, and names them by their numbers. Each process returns those of which it has
/// the body, or the first one of two.
pub(crate) fn overlaps_of(
    part: &mut Vec<Numbered>,
    world: World,
    tolerance: f64,
    team: &impl Team,
) -> Vec<Overlap> {
    if team.count() == 1 {
        let bodies: Vec<&ModelBody> = part.iter().map(|own| &own.body).collect();
        return overlaps_among(&bodies, world, tolerance);
    }
    let tiling = Tiling::of(part, world, team);
    tiling.migrate(part, team);
    let halo = tiling.halo(part, 0.0, team);
    let mut all: Vec<&Numbered> = part.iter().chain(&halo).collect();
    all.par_sort_by(|a, b| a.number.cmp(&b.number));
    let bodies: Vec<&ModelBody> = all.iter().map(|own| &own.body).collect();
    let owner = |index: usize| tiling.owner(tiling.place(bodies[index]).tile[0]);
    let own = (0..all.len()).filter(|index| owner(*index) == team.rank());
    let own: Vec<usize> = own.collect();
    let spheres = Spheres::of(&bodies, world, &tiling.counts);
    let mut lists = vec![Vec::new(); team.count()];
    for overlap in find(&spheres, &bodies, world, &own, tolerance) {
        let number = |index: usize| all[index].number as usize;
        let partner = match overlap.partner {
            Partner::Body(index) => Partner::Body(number(index)),
            wall => wall,
        };
        let named = Overlap {
            body: number(overlap.body),
            partner,
            ..overlap
        };
        lists[owner(overlap.body)].push(named.record());
    }
    let found = swap(team, &lists).into_iter().flatten();
    sorted(found.map(|record| Overlap::of_record(&record)).collect())
}

/// Gives each of several processes the bodies in its slab of space, and all that are not farther than a `gap` (m) from them. Returns these,
/// in the order of their numbers, and which of them are in its slab.
#[cfg(all(feature = "cpu", feature = "gpu"))]
pub(crate) fn neighbourhood(
    mut part: Vec<Numbered>,
    world: World,
    gap: f64,
    team: &impl Team,
) -> (Vec<Numbered>, Vec<bool>) {
    let tiling = Tiling::of(&part, world, team);
    tiling.migrate(&mut part, team);
    let halo = tiling.halo(&part, gap, team);
    part.extend(halo);
    part.par_sort_by(|a, b| a.number.cmp(&b.number));
    let owner = |own: &Numbered| tiling.owner(tiling.place(&own.body).tile[0]);
    let is_own = part.iter().map(|own| owner(own) == team.rank()).collect();
    (part, is_own)
}

/// Number of the overlaps of all processes, of which each has a list, and the one that comes first; `None` if there are none.
pub(crate) fn deepest_of(own: &[Overlap], team: &impl Team) -> Option<(usize, Overlap)> {
    let mut count = [own.len() as i64];
    team.sum(&mut count);
    let first: Vec<[u64; 4]> = own.first().map(Overlap::record).into_iter().collect();
    let all = swap(team, &vec![first; team.count()]).into_iter().flatten();
    let all = all.map(|record| Overlap::of_record(&record));
    let first = all.min_by(Overlap::order)?;
    Some((count[0] as usize, first))
}

/// Overlaps that bodies with these indices have with others and with walls.
fn find(
    spheres: &Spheres,
    bodies: &[&ModelBody],
    world: World,
    indices: &[usize],
    tolerance: f64,
) -> Vec<Overlap> {
    let indices = indices.par_iter().with_min_len(64);
    let found = indices.flat_map_iter(|&index| {
        let mut found = Vec::new();
        with_bodies(spheres, bodies, world, index, -tolerance, &mut found);
        with_walls(bodies, world, index, tolerance, &mut found);
        found
    });
    found.collect()
}

/// The deepest overlap of each two partners, the one with the largest fraction first.
pub(crate) fn sorted(mut found: Vec<Overlap>) -> Vec<Overlap> {
    // One type of function, so that there is one sort.
    let orders: [fn(&Overlap, &Overlap) -> Ordering; 2] = [Overlap::by_partners, Overlap::order];
    for by in orders {
        found.par_sort_by(by);
        found.dedup_by_key(|own| (own.body, own.partner));
    }
    found
}

impl Overlap {
    /// The order of a list of overlaps of different partners.
    pub(crate) fn order(&self, other: &Overlap) -> Ordering {
        let order = other.fraction.total_cmp(&self.fraction);
        order.then((self.body, self.partner).cmp(&(other.body, other.partner)))
    }

    fn by_partners(&self, other: &Overlap) -> Ordering {
        let order = (self.body, self.partner).cmp(&(other.body, other.partner));
        order.then(other.fraction.total_cmp(&self.fraction))
    }

    /// The overlap as it is sent.
    pub(crate) fn record(&self) -> [u64; 4] {
        let partner = match self.partner {
            Partner::Body(index) => 2 * index as u64,
            Partner::Wall(index) => 2 * index as u64 + 1,
        };
        let numbers = [self.depth, self.fraction].map(f64::to_bits);
        [self.body as u64, partner, numbers[0], numbers[1]]
    }

    pub(crate) fn of_record(&[body, partner, depth, fraction]: &[u64; 4]) -> Overlap {
        let index = (partner / 2) as usize;
        Overlap {
            body: body as usize,
            partner: match partner % 2 {
                0 => Partner::Body(index),
                _ => Partner::Wall(index),
            },
            depth: f64::from_bits(depth),
            fraction: f64::from_bits(fraction),
        }
    }
}

/// The spheres of a body in the world: their centres and radii, m.
pub(super) fn spheres_of<'a>(
    body: &ModelBody,
    shapes: &'a [Clump],
) -> impl Iterator<Item = (DVec3, f64)> + use<'a> {
    let world_from_body = DMat3::from_quat(body.orientation);
    let position = body.position;
    shapes[body.shape]
        .spheres
        .iter()
        .map(move |sphere| (position + world_from_body * sphere.center, sphere.radius))
}

/// The spheres of bodies.
struct Spheres {
    /// Index of the body of each.
    bodies: Vec<u32>,
    /// All of them, each the owner of itself; in a periodic domain, their images in it.
    grid: SphereGrid,
}

impl Spheres {
    /// Finds those of some bodies, of which there are as many as these `counts` of each shape, or no others.
    fn of(bodies: &[&ModelBody], world: World, counts: &[usize]) -> Spheres {
        let World { shapes, domain, .. } = world;
        let radii = shapes
            .iter()
            .flat_map(|clump| clump.spheres.iter().map(|sphere| sphere.radius));
        let mut all = Spheres {
            bodies: Vec::with_capacity(bodies.len()),
            grid: SphereGrid::new(radii),
        };
        for (shape, count) in shapes.iter().zip(counts) {
            for sphere in &shape.spheres {
                all.grid.expect(sphere.radius, *count);
            }
        }
        for (index, body) in bodies.iter().enumerate() {
            for (center, radius) in spheres_of(body, shapes) {
                let image = domain.map_or(center, |domain| domain.wrap(center));
                all.grid.insert(image, radius, all.bodies.len() as u32);
                all.bodies.push(index as u32);
            }
        }
        all
    }
}

/// Calls `visit` for each pair of a sphere of the body `index` and a sphere of another body near it that it collides with: with the
/// index, the centre and the radius of the first one, and with the second one.
///
/// See [`SphereGrid::for_each_near`] for `margin`. In a periodic domain the second sphere is the image in the box, and the first
/// one the image near that.
fn for_each_pair(
    spheres: &Spheres,
    bodies: &[&ModelBody],
    world: World,
    index: usize,
    margin: f64,
    mut visit: impl FnMut(u32, DVec3, f64, &GridSphere),
) {
    let World { shapes, domain, .. } = world;
    let grid = &spheres.grid;
    let first = spheres
        .bodies
        .partition_point(|&body| (body as usize) < index);
    for (own, (center, radius)) in (first as u32..).zip(spheres_of(bodies[index], shapes)) {
        let mut pairs = 0;
        for_each_image(domain, center, grid.reach(radius, margin), |image| {
            grid.for_each_near(image, radius, own, margin, |other| {
                let body = spheres.bodies[other.owner as usize] as usize;
                if body == index || !world.collide(bodies[index], bodies[body]) {
                    return ControlFlow::Continue(());
                }
                visit(own, image, radius, other);
                pairs += 1;
                if pairs < CROWD {
                    ControlFlow::Continue(())
                } else {
                    ControlFlow::Break(())
                }
            });
        });
    }
}

/// Calls `visit` with each image of a point (m) that is in the box or within `reach` (m) of it.
fn for_each_image(domain: Option<&Domain>, point: DVec3, reach: f64, mut visit: impl FnMut(DVec3)) {
    let Some(domain) = domain else {
        return visit(point);
    };
    let (period, inside) = (domain.period(), domain.wrap(point));
    let along = |axis: usize| {
        let (x, length) = (inside[axis], period[axis]);
        let (low, high) = (domain.min[axis] - reach, domain.max[axis] + reach);
        let others = [x - length, x + length].into_iter();
        let others = others.filter(move |image| length > 0.0 && (low..high).contains(image));
        std::iter::once(x).chain(others)
    };
    for z in along(2) {
        for y in along(1) {
            for x in along(0) {
                visit(DVec3::new(x, y, z));
            }
        }
    }
}

fn with_bodies(
    spheres: &Spheres,
    bodies: &[&ModelBody],
    world: World,
    index: usize,
    margin: f64,
    found: &mut Vec<Overlap>,
) {
    for_each_pair(
        spheres,
        bodies,
        world,
        index,
        margin,
        |_, center, radius, other| {
            let depth = radius + other.radius - center.distance(other.center);
            let other_index = spheres.bodies[other.owner as usize] as usize;
            found.push(Overlap {
                body: index.min(other_index),
                partner: Partner::Body(index.max(other_index)),
                depth,
                fraction: depth / radius.min(other.radius),
            });
        },
    );
}

fn with_walls(
    bodies: &[&ModelBody],
    world: World,
    index: usize,
    tolerance: f64,
    found: &mut Vec<Overlap>,
) {
    let body = bodies[index];
    if body.fixed {
        return;
    }
    for (wall_index, wall) in world.walls.iter().enumerate() {
        for (center, radius) in spheres_of(body, world.shapes) {
            if let Some((depth, _)) = wall.depth(center, radius, tolerance * radius) {
                found.push(Overlap {
                    body: index,
                    partner: Partner::Wall(wall_index),
                    depth,
                    fraction: depth / radius,
                });
            }
        }
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use std::collections::BTreeMap;

    use glam::DQuat;
    use rand_chacha::ChaCha8Rng;
    use rand_chacha::rand_core::{Rng, SeedableRng};

    use super::*;
    use crate::model::clump::ClumpSphere;
    use crate::model::clump::shapes;
    use crate::model::wall::Wall;

    pub fn clump(spheres: Vec<ClumpSphere>) -> Clump {
        Clump {
            name: "shape".into(),
            materials: vec![0; spheres.len()],
            spheres,
            mass: 1.0,
            inertia: DVec3::ONE,
            center_of_mass: DVec3::ZERO,
            principal_axes: DQuat::IDENTITY,
        }
    }

    /// A world in which all bodies touch each other.
    pub fn world<'a>(
        shapes: &'a [Clump],
        walls: &'a [Probe],
        domain: Option<&'a Domain>,
    ) -> World<'a> {
        World {
            shapes,
            groups: &[],
            walls,
            domain,
        }
    }

    pub fn ball(radius: f64) -> Clump {
        clump(shapes::sphere(radius))
    }

    pub fn body(shape: usize, position: DVec3) -> ModelBody {
        ModelBody {
            shape,
            position,
            ..ModelBody::default()
        }
    }

    pub fn plane(point: DVec3, normal: DVec3) -> Probe {
        Probe::new(&Wall::plane(point, normal, 0), None)
    }

    /// A generator of random numbers in [0, 1).
    pub fn random(seed: u8) -> impl FnMut() -> f64 {
        let mut generator = ChaCha8Rng::from_seed([seed; 32]);
        move || (generator.next_u32() >> 8) as f64 / (1 << 24) as f64
    }

    pub fn random_body(shape: usize, size: f64, random: &mut impl FnMut() -> f64) -> ModelBody {
        let mut centered = || random() - 0.5;
        ModelBody {
            orientation: DQuat::from_xyzw(centered(), centered(), centered(), centered())
                .normalize(),
            ..body(shape, size * DVec3::new(centered(), centered(), centered()))
        }
    }

    /// The deepest overlap of each two partners, from all pairs of spheres.
    fn by_brute_force(
        bodies: &[ModelBody],
        shapes: &[Clump],
        walls: &[Probe],
        domain: Option<&Domain>,
        tolerance: f64,
    ) -> BTreeMap<(usize, Partner), (f64, f64)> {
        let mut deepest = BTreeMap::new();
        let mut note = |key, depth: f64, smaller: f64| {
            if depth > tolerance * smaller {
                let worst = deepest.entry(key).or_insert((0.0, 0.0));
                if depth / smaller > worst.1 {
                    *worst = (depth, depth / smaller);
                }
            }
        };
        let way = |way| domain.map_or(way, |domain| domain.nearest(way));
        let spheres: Vec<(usize, DVec3, f64)> = bodies
            .iter()
            .enumerate()
            .flat_map(|(index, body)| {
                shapes[body.shape].spheres.iter().map(move |sphere| {
                    let center = body.position + body.orientation * sphere.center;
                    (index, center, sphere.radius)
                })
            })
            .collect();
        for (i, &(a, center_a, radius_a)) in spheres.iter().enumerate() {
            for &(b, center_b, radius_b) in &spheres[i..] {
                if a != b && !(bodies[a].fixed && bodies[b].fixed) {
                    let depth = radius_a + radius_b - way(center_a - center_b).length();
                    note((a, Partner::Body(b)), depth, radius_a.min(radius_b));
                }
            }
            for (index, plane) in walls.iter().enumerate() {
                if !bodies[a].fixed {
                    let normal = plane.normal.unwrap();
                    let height = normal.dot(center_a) - normal.dot(plane.pose.position);
                    note((a, Partner::Wall(index)), radius_a - height, radius_a);
                }
            }
        }
        deepest
    }

    fn assert_as_by_brute_force(
        bodies: &[ModelBody],
        shapes: &[Clump],
        walls: &[Probe],
        domain: Option<&Domain>,
        tolerance: f64,
    ) -> usize {
        let found = overlaps(bodies, world(shapes, walls, domain), tolerance);
        let expected = by_brute_force(bodies, shapes, walls, domain, tolerance);
        assert_eq!(found.len(), expected.len());
        for overlap in &found {
            let (depth, fraction) = expected[&(overlap.body, overlap.partner)];
            assert!(
                (overlap.depth - depth).abs() < 1e-12,
                "{overlap:?}, {depth}"
            );
            assert!((overlap.fraction - fraction).abs() < 1e-9, "{overlap:?}");
        }
        assert!(found.is_sorted_by(|a, b| a.fraction >= b.fraction));
        found.len()
    }

    #[test]
    fn as_by_brute_force_on_mixed_clumps() {
        let shapes = [
            ball(0.3),
            ball(0.01),
            ball(0.029),
            clump(shapes::rod(5, 0.05, None)),
            clump(shapes::torus(9, 0.02, None)),
            clump(vec![
                ClumpSphere {
                    center: DVec3::new(-0.2, 0.0, 0.0),
                    radius: 0.17,
                },
                ClumpSphere {
                    center: DVec3::new(0.1, 0.0, 0.0),
                    radius: 0.023,
                },
            ]),
        ];
        let planes = [
            plane(DVec3::new(0.0, -0.9, 0.0), DVec3::Y),
            plane(
                DVec3::new(-0.8, 0.3, 0.1),
                DVec3::new(1.0, 0.3, -0.2).normalize(),
            ),
        ];
        let mut random = random(1);
        for size in [2.0, 4.0] {
            let bodies: Vec<ModelBody> = (0..400)
                .map(|index| ModelBody {
                    fixed: index % 5 == 0,
                    ..random_body(index % shapes.len(), size, &mut random)
                })
                .collect();
            for tolerance in [0.0, 0.1, 1.0] {
                let count = assert_as_by_brute_force(&bodies, &shapes, &planes, None, tolerance);
                assert!(count > 10, "{count}");
            }
        }
    }

    #[test]
    fn as_by_brute_force_in_periodic_boxes() {
        let shapes = [
            ball(0.3),
            ball(0.07),
            clump(shapes::rod(5, 0.05, None)),
            clump(shapes::torus(9, 0.02, None)),
        ];
        let mut random = random(7);
        for periodic in [
            [true, false, false],
            [false, true, false],
            [false, false, true],
            [true; 3],
        ] {
            // Some bodies are outside the box, some of them by more than its length.
            let bodies: Vec<ModelBody> = (0..300)
                .map(|index| random_body(index % shapes.len(), 5.0, &mut random))
                .collect();
            let domain = Domain {
                min: DVec3::new(-0.3, 0.2, -1.0),
                max: DVec3::new(1.7, 2.0, 0.9),
                periodic,
            };
            let count = assert_as_by_brute_force(&bodies, &shapes, &[], Some(&domain), 0.0);
            let without = overlaps(&bodies, world(&shapes, &[], None), 0.0).len();
            assert!(count > without + 20, "{count}, {without}");
        }
    }

    #[test]
    fn a_boulder_among_grains() {
        let shapes = [ball(1.0), ball(0.01)];
        let mut random = random(2);
        let mut bodies: Vec<ModelBody> = (0..3000)
            .map(|_| random_body(1, 2.5, &mut random))
            .collect();
        bodies.insert(1000, body(0, DVec3::ZERO));
        let count = assert_as_by_brute_force(&bodies, &shapes, &[], None, 0.0);
        assert!(count > 500, "{count}");
    }

    #[test]
    fn far_from_the_origin() {
        let shapes = [ball(0.5)];
        for offset in [-1e6, 1e9, 1e300] {
            let corner = DVec3::splat(offset);
            let bodies = [body(0, corner), body(0, corner), body(0, -corner)];
            let found = overlaps(&bodies, world(&shapes, &[], None), 0.0);
            assert_eq!(found.len(), 1, "{offset}");
            assert_eq!((found[0].body, found[0].partner), (0, Partner::Body(1)));
            assert_eq!(found[0].depth, 1.0);
        }
    }

    #[test]
    fn touching_is_no_overlap() {
        let shapes = [ball(0.5)];
        let planes = [plane(DVec3::ZERO, DVec3::Y)];
        let bodies = [
            body(0, DVec3::new(0.0, 0.5, 0.0)),
            body(0, DVec3::new(1.0, 0.5, 0.0)),
        ];
        assert_eq!(overlaps(&bodies, world(&shapes, &planes, None), 0.0), []);
    }

    #[test]
    fn fixed_bodies_may_overlap_each_other_and_planes() {
        let shapes = [ball(0.5)];
        let planes = [plane(DVec3::ZERO, DVec3::Y)];
        let fixed = |x| ModelBody {
            fixed: true,
            ..body(0, DVec3::X * x)
        };
        let mut bodies = [fixed(0.0), fixed(0.1)];
        assert_eq!(overlaps(&bodies, world(&shapes, &planes, None), 0.0), []);
        bodies[1].fixed = false;
        let found = overlaps(&bodies, world(&shapes, &planes, None), 0.0);
        let partners: Vec<_> = found.iter().map(|o| (o.body, o.partner)).collect();
        assert_eq!(
            partners,
            [(0, Partner::Body(1)), (1, Partner::Wall(0))],
            "{found:?}"
        );
    }

    #[test]
    fn a_heap_in_one_point_is_found_without_listing_every_pair() {
        let shapes = [ball(0.5)];
        let bodies = vec![body(0, DVec3::ONE); 20_000];
        let found = overlaps(&bodies, world(&shapes, &[], None), 0.1);
        assert!(found.len() >= bodies.len() - 1);
        assert!(found.len() <= bodies.len() * CROWD);
        assert!(found.iter().all(|overlap| overlap.fraction == 2.0));
    }

    #[test]
    #[cfg(feature = "parallel")]
    fn the_list_does_not_depend_on_the_number_of_threads() {
        let shapes = [ball(0.1), clump(shapes::cube(2, 0.05, None))];
        let mut random = random(3);
        let bodies: Vec<ModelBody> = (0..2000)
            .map(|index| random_body(index % 2, 2.5, &mut random))
            .collect();
        let with = |threads| {
            let threads = crate::math::parallel::Threads::start(Some(threads)).expect("threads");
            threads.run(|| overlaps(&bodies, world(&shapes, &[], None), 0.01))
        };
        assert!(with(1).len() > 100);
        assert_eq!(with(1), with(3));
    }
}
