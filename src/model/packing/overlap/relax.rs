//! Relaxing: it moves overlapping bodies apart.

use std::ops::Range;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use glam::DVec3;
use thiserror::Error;

use super::{Overlap, Spheres, World, for_each_pair, overlaps, spheres_of};
use crate::math::display::Rounded;
use crate::math::parallel::prelude::*;
use crate::model::ModelBody;
use crate::model::clump::Clump;

/// Largest overlap that relaxing leaves, as a fraction of the smaller radius.
pub const RELAX_TOLERANCE: f64 = 1e-3;
/// Number of sweeps over all overlaps after which relaxing gives up.
pub const RELAX_SWEEPS: usize = 2000;

/// Number of sweeps of a round. The first one of a round unlocks clumps, and neighbours are searched between rounds.
const ROUND: usize = 16;
/// Gap up to which two spheres count as neighbours, as a fraction of the smaller radius.
const MARGIN: f64 = 0.2;
/// Overlap above which a pair counts as locked in some sweeps, as a fraction of the smaller radius.
const UNLOCK_DEPTH: f64 = 0.2;
/// Distance of centres below which they give no direction, as a fraction of the sum of the radii.
const COINCIDENT: f64 = 1e-6;
/// Fraction of the bodies whose neighbours of their own size are in their tile or beside it.
const MOST: f64 = 0.98;
/// Tiles that a thread takes in one go at least.
const LEAST_TILES: usize = 8;

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
    let mut rounds = 0;
    let mut crowd = Crowd::of(bodies, world);
    loop {
        rounds += 1;
        let is_new = crowd.sweeps == 0;
        let mut moving = true;
        let mut in_round = 0;
        while moving && in_round < ROUND {
            let unlock = match in_round {
                // The first round never unlocks, because most pairs come free without it.
                0 if rounds % 8 == 0 => 0.0,
                0 if rounds > 1 => UNLOCK_DEPTH,
                _ => f64::INFINITY,
            };
            moving = crowd.sweep(allowed, unlock);
            in_round += 1;
        }
        sweeps += in_round;
        let settled = !moving && is_new && in_round == 1;
        if settled || sweeps >= max_sweeps {
            crowd.give(bodies);
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
        if !moving || crowd.is_out_of_date() {
            crowd.give(bodies);
            crowd = Crowd::of(bodies, world);
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

/// Bodies that are moved apart, and the pairs of their spheres that overlap or may soon do so.
///
/// Space is cut into cubic tiles, each of which has the pairs of its bodies. A pair moves no body that is further than half a side
/// from the tile, so tiles that are two apart never move the same one. Such tiles have the same colour, one of eight, and are
/// taken side by side, colour after colour. So the outcome does not depend on the number of threads. A tile near which nothing
/// has moved is passed over.
struct Crowd<'a> {
    world: World<'a>,
    /// The bodies, tile by tile.
    movers: Vec<Mover>,
    members: Vec<Member>,
    tiles: Vec<Tile>,
    /// Tiles of each colour.
    colours: [Vec<u32>; 8],
    /// Pairs that reach too far for a tile, and those across a seam of a periodic domain.
    far: Vec<Pair>,
    /// Displacement of a body beyond which pairs may be missing, m.
    slack: f64,
    /// Number of sweeps so far.
    sweeps: u32,
}

/// A body that may be moved.
struct Mover {
    /// Its index among all bodies.
    body: u32,
    tile: u32,
    fixed: bool,
    /// Its spheres.
    members: Range<u32>,
    /// Its place when the pairs were found, m.
    start: DVec3,
    /// Centre of mass, m: the bits of its coordinates. Tiles beside each other move the same bodies, one after the other.
    position: [AtomicU64; 3],
}

impl Mover {
    fn position(&self) -> DVec3 {
        let [x, y, z] = &self.position;
        let number = |own: &AtomicU64| f64::from_bits(own.load(Ordering::Relaxed));
        DVec3::new(number(x), number(y), number(z))
    }

    fn set_position(&self, place: DVec3) {
        let [x, y, z] = &self.position;
        x.store(place.x.to_bits(), Ordering::Relaxed);
        y.store(place.y.to_bits(), Ordering::Relaxed);
        z.store(place.z.to_bits(), Ordering::Relaxed);
    }
}

/// A sphere of a mover.
struct Member {
    mover: u32,
    /// From the centre of mass of the body to that of the sphere, m.
    offset: DVec3,
    radius: f64,
}

/// Two members of different movers.
type Pair = [u32; 2];

/// A cubic part of space.
struct Tile {
    movers: Range<u32>,
    pairs: Vec<Pair>,
    /// The tile itself, and those beside it.
    near: Vec<u32>,
    /// The last sweep that moved a body of the tile; 0 before the first one.
    moved: AtomicU32,
}

impl<'a> Crowd<'a> {
    fn of(bodies: &[ModelBody], world: World<'a>) -> Crowd<'a> {
        let places = in_tiles(bodies, world);
        let sorted: Vec<ModelBody> = places.iter().map(|own| bodies[own.body]).collect();
        let spheres = Spheres::of(&sorted, world);
        let groups = places.chunk_by(|a, b| a.tile == b.tile);
        let mut end = 0;
        let ranges = groups.map(|group| {
            let first = end;
            end += group.len();
            first..end
        });
        let ranges: Vec<Range<usize>> = ranges.collect();
        let corner = |range: &Range<usize>| places[range.start].tile;
        let corners: Vec<[i64; 3]> = ranges.iter().map(corner).collect();
        let found: Vec<(Tile, Vec<Pair>)> = ranges
            .into_par_iter()
            .map(|range| {
                let corner = corner(&range);
                let (mut pairs, mut far) = (Vec::new(), Vec::new());
                for a in range.clone() {
                    for_each_pair(&spheres, &sorted, world, a, MARGIN, |own, _, _, other| {
                        let b = spheres.bodies[other.owner as usize] as usize;
                        let pair = [own, other.owner];
                        match places[b].is_within_reach_of(corner) {
                            true => pairs.push(pair),
                            false => far.push(pair),
                        }
                    });
                }
                let tile = Tile {
                    movers: range.start as u32..range.end as u32,
                    pairs,
                    near: beside(corner, &corners),
                    moved: AtomicU32::new(0),
                };
                (tile, far)
            })
            .collect();
        let mut colours: [Vec<u32>; 8] = Default::default();
        for (index, corner) in corners.iter().enumerate() {
            let [x, y, z] = corner.map(|coordinate| (coordinate & 1) as usize);
            colours[x + 2 * y + 4 * z].push(index as u32);
        }
        let (tiles, far): (Vec<Tile>, Vec<Vec<Pair>>) = found.into_iter().unzip();
        let mut members = Vec::with_capacity(spheres.bodies.len());
        let mut movers = Vec::with_capacity(sorted.len());
        for (tile, own) in (0..).zip(&tiles) {
            for index in own.movers.clone() {
                let body = &sorted[index as usize];
                let first = members.len() as u32;
                let place = body.position;
                let own = spheres_of(body, world.shapes);
                members.extend(own.map(|(center, radius)| Member {
                    mover: index,
                    offset: center - place,
                    radius,
                }));
                movers.push(Mover {
                    body: places[index as usize].body as u32,
                    tile,
                    fixed: body.fixed,
                    members: first..members.len() as u32,
                    start: place,
                    position: place.to_array().map(|own| AtomicU64::new(own.to_bits())),
                });
            }
        }
        let radii = members.iter().map(|member| member.radius);
        Crowd {
            world,
            slack: 0.5 * MARGIN * radii.fold(f64::INFINITY, f64::min),
            movers,
            members,
            tiles,
            colours,
            far: far.concat(),
            sweeps: 0,
        }
    }

    /// Gives bodies the places of the movers.
    fn give(&self, bodies: &mut [ModelBody]) {
        for mover in &self.movers {
            bodies[mover.body as usize].position = mover.position();
        }
    }

    /// Whether bodies have moved so far that pairs may be missing.
    fn is_out_of_date(&self) -> bool {
        let squared = self.slack * self.slack;
        let is_far = |mover: &Mover| mover.position().distance_squared(mover.start) > squared;
        self.movers.iter().any(is_far)
    }

    /// Moves the bodies of all pairs apart, and out of the walls. Returns whether it moved any.
    ///
    /// See [`Crowd::part`] for `allowed` and `unlock`. Sweeps alternate in direction, so that no end of the list is favoured.
    fn sweep(&mut self, allowed: f64, unlock: f64) -> bool {
        self.sweeps += 1;
        let this = &*self;
        let is_forward = this.sweeps % 2 == 1;
        let part = |pair: &Pair| this.part(*pair, allowed, unlock);
        let part_far = || {
            let is_due = |pair: &&Pair| {
                let movers = pair.map(|member| this.members[member as usize].mover);
                let tiles = movers.map(|mover| this.movers[mover as usize].tile);
                tiles.iter().any(|&tile| this.has_moved(tile))
            };
            let far = this.far.iter().filter(is_due);
            far.filter(|pair| part(pair)).count() > 0
        };
        let part_near = |colour: usize| {
            let near = |tile: &u32| {
                let pairs = this.tiles[*tile as usize].pairs.iter();
                match is_forward {
                    true => pairs.filter(|pair| part(pair)).count() > 0,
                    false => pairs.rev().filter(|pair| part(pair)).count() > 0,
                }
            };
            let is_due = |tile: &&u32| {
                let near = &this.tiles[**tile as usize].near;
                near.iter().any(|&tile| this.has_moved(tile))
            };
            let tiles = this.colours[colour].par_iter().with_min_len(LEAST_TILES);
            let tiles = tiles.filter(is_due).map(near);
            tiles.reduce(|| false, |a, b| a || b)
        };
        let mut moving = false;
        for colour in 0..this.colours.len() {
            let colour = match is_forward {
                true => colour,
                false => this.colours.len() - 1 - colour,
            };
            moving |= part_near(colour);
        }
        moving |= part_far();
        moving | this.leave_walls(allowed)
    }

    /// Whether this sweep or the last one has moved a body of a tile; before the first sweep, all have been moved.
    fn has_moved(&self, tile: u32) -> bool {
        self.tiles[tile as usize].moved.load(Ordering::Relaxed) + 1 >= self.sweeps
    }

    fn shift(&self, mover: &Mover, way: DVec3) {
        mover.set_position(mover.position() + way);
        let moved = &self.tiles[mover.tile as usize].moved;
        // Threads share what they only read.
        if moved.load(Ordering::Relaxed) != self.sweeps {
            moved.store(self.sweeps, Ordering::Relaxed);
        }
    }

    /// Moves the two bodies of a pair apart until the spheres just touch, if they overlap by more than `allowed` times the smaller radius.
    ///
    /// Returns whether it moved them. They move along the line of centres of the spheres, or along that of the bodies if the
    /// overlap exceeds `unlock` times the smaller radius.
    fn part(&self, pair: Pair, allowed: f64, unlock: f64) -> bool {
        let (first, second) = (
            &self.members[pair[0] as usize],
            &self.members[pair[1] as usize],
        );
        let (a, b) = (
            &self.movers[first.mover as usize],
            &self.movers[second.mover as usize],
        );
        let mut between_bodies = b.position() - a.position();
        let mut between = between_bodies + (second.offset - first.offset);
        if let Some(domain) = self.world.domain {
            let image = domain.nearest(between) - between;
            between += image;
            between_bodies += image;
        }
        let touching = first.radius + second.radius;
        let smaller = first.radius.min(second.radius);
        let distance_squared = between.length_squared();
        let near = touching - allowed * smaller;
        if distance_squared >= near * near {
            return false;
        }
        let clear = COINCIDENT * touching;
        let distance = distance_squared.sqrt();
        let locked = touching - distance > unlock * smaller;
        let way = if distance > clear && !locked {
            between * ((touching - distance) / distance)
        } else {
            let direction = match between_bodies.length() > clear {
                true => between_bodies.normalize(),
                false => any_direction(a.body, b.body),
            };
            // The distance along `direction` at which the centres are `touching` apart.
            let along = between.dot(direction);
            let push = (along * along + touching * touching - distance_squared).sqrt() - along;
            direction * push
        };
        let (share_a, share_b) = match (a.fixed, b.fixed) {
            (false, false) => (0.5, 0.5),
            (false, true) => (1.0, 0.0),
            (true, _) => (0.0, 1.0),
        };
        self.shift(a, -share_a * way);
        self.shift(b, share_b * way);
        true
    }

    /// Moves bodies that are not fixed out of walls, one wall after another. Returns whether it moved any.
    ///
    /// It moves a body if a sphere is in a wall by more than `allowed` times its radius.
    fn leave_walls(&self, allowed: f64) -> bool {
        let leave = |mover: &Mover| {
            let mut moved = false;
            for wall in self.world.walls {
                let members =
                    &self.members[mover.members.start as usize..mover.members.end as usize];
                let place = mover.position();
                let depth = |member: &Member| {
                    let least = allowed * member.radius;
                    wall.depth(place + member.offset, member.radius, least)
                };
                let deepest = members.iter().filter_map(depth);
                if let Some((depth, out)) = deepest.max_by(|a, b| a.0.total_cmp(&b.0)) {
                    self.shift(mover, out * depth);
                    moved = true;
                }
            }
            moved
        };
        let leave_all = |tile: u32| {
            let movers = self.tiles[tile as usize].movers.clone();
            let movers = self.movers[movers.start as usize..movers.end as usize].iter();
            let free = movers.filter(|mover| !mover.fixed);
            free.filter(|mover| leave(mover)).count() > 0
        };
        (0..self.tiles.len() as u32)
            .into_par_iter()
            .with_min_len(LEAST_TILES)
            .filter(|&tile| self.has_moved(tile))
            .map(leave_all)
            .reduce(|| false, |a, b| a || b)
    }
}

/// A body in its tile.
#[derive(Clone, Copy)]
struct InTile {
    body: usize,
    tile: [i64; 3],
    /// Centre of mass, in sides of a tile.
    place: DVec3,
}

impl InTile {
    /// Whether a pair of the tile at `corner` may move this body.
    fn is_within_reach_of(&self, corner: [i64; 3]) -> bool {
        let [x, y, z] = corner.map(|coordinate| coordinate as f64);
        let from = self.place - DVec3::new(x, y, z);
        from.cmpge(DVec3::splat(-0.5)).all() && from.cmplt(DVec3::splat(1.5)).all()
    }
}

/// Sorts bodies by tiles that are as large as most bodies and their neighbours need it.
fn in_tiles(bodies: &[ModelBody], world: World) -> Vec<InTile> {
    let bounds: Vec<f64> = world.shapes.iter().map(Clump::bounding_radius).collect();
    let mut radii: Vec<f64> = bodies.iter().map(|body| bounds[body.shape]).collect();
    let place = (MOST * radii.len() as f64) as usize;
    let side = match radii.is_empty() {
        true => 1.0,
        false => 2.0 * (2.0 + MARGIN) * *radii.select_nth_unstable_by(place, f64::total_cmp).1,
    };
    let in_tile = |(body, own): (usize, &ModelBody)| {
        let wrapped = world
            .domain
            .map_or(own.position, |domain| domain.wrap(own.position));
        let place = wrapped / side;
        InTile {
            body,
            tile: place.to_array().map(|own| own.floor() as i64),
            place,
        }
    };
    let mut sorted: Vec<InTile> = bodies.iter().enumerate().map(in_tile).collect();
    sorted.par_sort_by(|a, b| (a.tile, a.body).cmp(&(b.tile, b.body)));
    sorted
}

/// Indices of those tiles that are at a corner or beside it, of all tiles in order.
fn beside(corner: [i64; 3], corners: &[[i64; 3]]) -> Vec<u32> {
    let mut near = Vec::with_capacity(27);
    for x in -1..=1 {
        for y in -1..=1 {
            for z in -1..=1 {
                let [i, j, k] = corner;
                let other = [i + x, j + y, k + z];
                near.extend(corners.binary_search(&other).ok().map(|tile| tile as u32));
            }
        }
    }
    near
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

    /// Balls, rods and a boulder in a periodic box of many tiles, which they fill too densely.
    fn many(shapes: &[Clump; 3]) -> Vec<ModelBody> {
        let mut random = random(8);
        let body = |index: usize| match index {
            0 => body(2, DVec3::new(0.1, 0.4, -0.2)),
            _ => random_body(usize::from(index.is_multiple_of(6)), 1.0, &mut random),
        };
        let bodies: Vec<ModelBody> = (0..4000).map(body).collect();
        assert_eq!(bodies[0].shape + 1, shapes.len());
        bodies
    }

    fn of_three_sizes() -> [Clump; 3] {
        [ball(0.03), clump(shapes::rod(2, 0.025, None)), ball(0.2)]
    }

    #[test]
    fn tiles_of_one_colour_move_no_body_together() {
        let shapes = of_three_sizes();
        let bodies = many(&shapes);
        let crowd = Crowd::of(&bodies, world(&shapes, &[], Some(&BOX)));
        let (mut pairs, mut shared) = (crowd.far.len(), 0);
        for colour in &crowd.colours {
            assert!(colour.len() > 8);
            let mut tile_of = vec![None; bodies.len()];
            for &tile in colour {
                let own = &crowd.tiles[tile as usize];
                for member in own.pairs.as_flattened() {
                    let mover = crowd.members[*member as usize].mover;
                    let known = tile_of[mover as usize].replace(tile);
                    assert!(known.is_none_or(|known| known == tile), "{mover}");
                    shared += usize::from(!own.movers.contains(&mover));
                }
                pairs += own.pairs.len();
            }
        }
        // Most pairs have a tile, and many of them lead out of it.
        assert!(
            crowd.far.len() > 50 && crowd.far.len() < pairs / 3,
            "{}",
            crowd.far.len()
        );
        assert!(shared > pairs / 8, "{shared} of {pairs}");
    }

    #[test]
    fn a_tile_near_which_nothing_has_moved_is_passed_over_without_a_loss() {
        let shapes = of_three_sizes();
        let mut bodies = many(&shapes);
        bodies.truncate(1200);
        let floor = [plane(DVec3::NEG_Y * 0.4, DVec3::Y)];
        let world = world(&shapes, &floor, Some(&BOX));
        let mut crowds = [0; 2].map(|_| Crowd::of(&bodies, world));
        let mut passed_over = 0;
        for sweep in 0..60 {
            let unlock = if sweep % ROUND == 0 {
                0.1
            } else {
                f64::INFINITY
            };
            for tile in &mut crowds[1].tiles {
                tile.moved = AtomicU32::new(sweep as u32);
            }
            let moving = crowds
                .each_mut()
                .map(|crowd| crowd.sweep(RELAX_TOLERANCE, unlock));
            assert_eq!(moving[0], moving[1], "sweep {sweep}");
            let next = crowds[0].sweeps + 1;
            let quiet = |tile: &&Tile| tile.moved.load(Ordering::Relaxed) + 1 < next;
            passed_over += crowds[0].tiles.iter().filter(quiet).count();
        }
        let [some, all] = crowds.map(|crowd| {
            let movers = crowd.movers.iter();
            movers.map(Mover::position).collect::<Vec<DVec3>>()
        });
        assert!(some == all);
        assert!(passed_over > 1000, "{passed_over}");
    }

    #[test]
    fn the_outcome_does_not_depend_on_the_number_of_threads() {
        let shapes = of_three_sizes();
        let bodies = many(&shapes);
        let floor = [plane(DVec3::NEG_Y * 0.4, DVec3::Y)];
        let on = |threads| {
            let threads = Threads::start(Some(threads)).expect("threads");
            let mut moved = bodies.clone();
            let world = world(&shapes, &floor, Some(&BOX));
            let report = threads.run(|| relax(&mut moved, world, RELAX_TOLERANCE, RELAX_SWEEPS));
            (moved, report)
        };
        let one = on(1);
        assert!(one == on(2) && one == on(5));
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
        assert!(error.sweeps >= 50 && error.sweeps < 50 + ROUND);
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
