//! Relaxing: it moves overlapping bodies apart.

use std::ops::Range;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use bytemuck::{Pod, Zeroable};
use glam::DVec3;
use thiserror::Error;

use super::team::{Alone, InTile, Numbered, Record, Team, Tiling, swap, to_first};
use super::{Overlap, Spheres, World, deepest_of, for_each_pair, overlaps_of, spheres_of};
use crate::math::display::Rounded;
use crate::math::parallel::prelude::*;
use crate::model::ModelBody;

/// Largest overlap that relaxing leaves, as a fraction of the smaller radius.
pub const RELAX_TOLERANCE: f64 = 1e-3;
/// Number of sweeps over all overlaps after which relaxing gives up.
pub const RELAX_SWEEPS: usize = 2000;

/// Number of sweeps of a round. The first one of a round unlocks clumps, and neighbours are searched between rounds.
const ROUND: usize = 16;
/// Gap up to which two spheres count as neighbours, as a fraction of the smaller radius.
pub(super) const MARGIN: f64 = 0.2;
/// Overlap above which a pair counts as locked in some sweeps, as a fraction of the smaller radius.
const UNLOCK_DEPTH: f64 = 0.2;
/// Distance of centres below which they give no direction, as a fraction of the sum of the radii.
const COINCIDENT: f64 = 1e-6;
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
    let numbered = (0..).zip(bodies.iter());
    let numbered = numbered.map(|(number, body)| Numbered {
        number,
        body: *body,
    });
    let mut part: Vec<Numbered> = numbered.collect();
    let sweeps = relax_part(&mut part, world, tolerance, max_sweeps, &Alone);
    let (mut moved, mut largest_move) = (0, 0.0f64);
    for (body, own) in bodies.iter_mut().zip(&part) {
        let distance = own.body.position.distance(body.position);
        moved += usize::from(distance > 0.0);
        largest_move = largest_move.max(distance);
        body.position = own.body.position;
    }
    Ok(RelaxReport {
        sweeps: sweeps?,
        moved,
        largest_move,
    })
}

/// Does as [`relax`] with the bodies of several processes, of which this one has a `part`, in the order of their numbers: afterwards that of
/// a slab of space. Returns the number of sweeps.
///
/// # Errors
///
/// As [`relax`], on all of them.
pub(crate) fn relax_part(
    part: &mut Vec<Numbered>,
    world: World,
    tolerance: f64,
    max_sweeps: usize,
    team: &impl Team,
) -> Result<usize, Unrelaxed> {
    // The aim is a little below the tolerance, because the final check may round differently.
    let allowed = 0.9 * tolerance;
    let mut sweeps = 0;
    let mut rounds = 0;
    let mut crowd = Crowd::of(part, world, team);
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
            crowd.give(part);
            let left = overlaps_of(part, world, tolerance, team);
            match deepest_of(&left, team) {
                None => return Ok(sweeps),
                Some((remaining, worst)) => {
                    return Err(Unrelaxed {
                        sweeps,
                        remaining,
                        worst,
                    });
                }
            }
        }
        if !moving || crowd.is_out_of_date() {
            crowd.give(part);
            crowd = Crowd::of(part, world, team);
        }
    }
}

/// Bodies that are moved apart, and the pairs of their spheres that overlap or may soon do so.
///
/// Space is cut into cubic tiles, each of which has the pairs of its bodies. A pair moves no body that is further than half a side
/// from the tile, so tiles that are two apart never move the same one. Such tiles have the same colour, one of eight, and are
/// taken side by side, colour after colour. So the outcome does not depend on the number of threads. A tile near which nothing
/// has moved is passed over.
///
/// Of several processes, each has a slab of tiles, and copies of the bodies beside it. After each colour it tells the processes beside it
/// where the bodies are now that it has moved in the two layers of tiles at their border. So the outcome does not depend on the number of
/// processes, either.
struct Crowd<'a, T> {
    world: World<'a>,
    team: &'a T,
    /// The bodies, tile by tile, and copies of those of other processes.
    movers: Vec<Mover>,
    members: Vec<Member>,
    tiles: Vec<Tile>,
    /// Tiles of this process.
    own: Range<u32>,
    /// Its tiles of each colour.
    colours: [Vec<u32>; 8],
    /// Pairs that reach too far for a tile, and those across a seam of a periodic domain.
    far: Vec<Pair>,
    /// The bodies of such pairs of several processes, which have none in `far`.
    far_bodies: Option<FarBodies<'a>>,
    /// Processes beside this one, and the movers in the two layers at the border to each.
    borders: Vec<(usize, Range<usize>)>,
    /// Displacement of a body beyond which pairs may be missing, m.
    slack: f64,
    /// Number of sweeps so far.
    sweeps: u32,
    /// Number of times that movers were sent to other processes.
    sent: u32,
}

/// Bodies of pairs that reach too far for a tile: the first process moves them apart for all.
struct FarBodies<'a> {
    /// Movers of this process among them, in an order that the first one knows.
    own: Vec<u32>,
    /// All of them and their pairs, at the first process.
    crowd: Option<Box<Crowd<'a, Alone>>>,
    /// Movers of that crowd that are those of each process, in the same order.
    of_each: Vec<Vec<u32>>,
}

/// Present place of a mover.
#[derive(Clone, Copy, Pod, Zeroable)]
#[repr(C)]
struct Moved {
    /// Its place in a list that both sides have.
    place: u32,
    /// The last sweep that moved a body of its tile.
    sweep: u32,
    position: DVec3,
}

/// A body that may be moved.
struct Mover {
    /// Its number among all bodies.
    number: u32,
    /// Its index in the part of this process; a copy has none.
    body: u32,
    tile: u32,
    fixed: bool,
    /// Its spheres.
    members: Range<u32>,
    /// Its place when the pairs were found, m.
    start: DVec3,
    /// Centre of mass, m: the bits of its coordinates. Tiles beside each other move the same bodies, one after the other.
    position: [AtomicU64; 3],
    /// Value of [`Crowd::sent`] when it was moved the last time.
    moved: AtomicU32,
}

impl Mover {
    #[inline]
    fn position(&self) -> DVec3 {
        let [x, y, z] = &self.position;
        let number = |own: &AtomicU64| f64::from_bits(own.load(Ordering::Relaxed));
        DVec3::new(number(x), number(y), number(z))
    }

    #[inline]
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

impl<'a, T: Team> Crowd<'a, T> {
    /// Finds the pairs of a part, from which bodies first go to the processes that have their slabs.
    fn of(part: &mut Vec<Numbered>, world: World<'a>, team: &'a T) -> Crowd<'a, T> {
        let tiling = Tiling::of(part, world, team);
        tiling.migrate(part, team);
        let halo = tiling.halo(part, 0.0, team);
        let all = part.iter().chain(&halo).zip(0..);
        let all = all.map(|(own, index)| (tiling.place(&own.body), own.number, index));
        let mut places: Vec<(InTile, u32, u32)> = all.collect();
        places.par_sort_by(|a, b| (a.0.tile, a.1).cmp(&(b.0.tile, b.1)));
        let of = |index: u32| {
            let index = index as usize;
            *part.get(index).unwrap_or_else(|| &halo[index - part.len()])
        };
        let sorted: Vec<Numbered> = places.iter().map(|own| of(own.2)).collect();
        let bodies: Vec<&ModelBody> = sorted.iter().map(|own| &own.body).collect();
        let spheres = Spheres::of(&bodies, world, &tiling.counts);
        let groups = places.chunk_by(|a, b| a.0.tile == b.0.tile);
        let mut end = 0;
        let ranges = groups.map(|group| {
            let first = end;
            end += group.len();
            first..end
        });
        let ranges: Vec<Range<usize>> = ranges.collect();
        let corner = |range: &Range<usize>| places[range.start].0.tile;
        let corners: Vec<[i64; 3]> = ranges.iter().map(corner).collect();
        let layers = tiling.layers(team.rank());
        let own = [layers.start, layers.end]
            .map(|end| corners.partition_point(|corner| corner[0] < end) as u32);
        let found: Vec<(Tile, Vec<Pair>)> = ranges
            .into_par_iter()
            .map(|range| {
                let corner = corner(&range);
                let (mut pairs, mut far) = (Vec::new(), Vec::new());
                let is_own = layers.contains(&corner[0]);
                for a in range.clone().filter(|_| is_own) {
                    for_each_pair(&spheres, &bodies, world, a, MARGIN, |own, _, _, other| {
                        let b = spheres.bodies[other.owner as usize] as usize;
                        let pair = [own, other.owner];
                        match places[b].0.is_within_reach_of(corner) {
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
        drop(spheres);
        let mut colours: [Vec<u32>; 8] = Default::default();
        for index in own[0]..own[1] {
            let [x, y, z] = corners[index as usize].map(|coordinate| (coordinate & 1) as usize);
            colours[x + 2 * y + 4 * z].push(index);
        }
        let (tiles, far): (Vec<Tile>, Vec<Vec<Pair>>) = found.into_iter().unzip();
        let border = |rank: usize, cut: i64| {
            let [start, end] = [cut.saturating_sub(1), cut.saturating_add(1)]
                .map(|end| places.partition_point(|(place, ..)| place.tile[0] < end));
            (rank, start..end)
        };
        let before = team.rank().checked_sub(1);
        let after = Some(team.rank() + 1).filter(|rank| *rank < team.count());
        let borders = before.map(|rank| border(rank, layers.start));
        let borders = borders
            .into_iter()
            .chain(after.map(|rank| border(rank, layers.end)));
        let borders: Vec<(usize, Range<usize>)> = borders.collect();
        let mut crowd = Crowd {
            world,
            team,
            movers: Vec::with_capacity(sorted.len()),
            members: Vec::new(),
            own: own[0]..own[1],
            colours,
            far: far.concat(),
            far_bodies: None,
            borders,
            slack: 0.0,
            sweeps: 0,
            sent: 0,
            tiles: Vec::new(),
        };
        for (tile, own) in (0..).zip(&tiles) {
            for index in own.movers.clone() {
                let place = places[index as usize].2;
                let place = Some(place).filter(|place| (*place as usize) < part.len());
                crowd.add(&sorted[index as usize], place, tile);
            }
        }
        crowd.tiles = tiles;
        let mut least = [crowd.least_radius().to_bits() as i64];
        least[0] = -least[0];
        team.maximum(&mut least);
        crowd.slack = 0.5 * MARGIN * f64::from_bits(-least[0] as u64);
        if team.count() > 1 {
            crowd.gather_far(&tiling, &sorted);
        }
        crowd
    }

    /// Adds a mover in a tile.
    fn add(&mut self, own: &Numbered, body: Option<u32>, tile: u32) {
        let first = self.members.len() as u32;
        let place = own.body.position;
        let mover = self.movers.len() as u32;
        let spheres = spheres_of(&own.body, self.world.shapes);
        self.members.extend(spheres.map(|(center, radius)| Member {
            mover,
            offset: center - place,
            radius,
        }));
        self.movers.push(Mover {
            number: own.number,
            body: body.unwrap_or(u32::MAX),
            tile,
            fixed: own.body.fixed,
            members: first..self.members.len() as u32,
            start: place,
            position: place.to_array().map(|own| AtomicU64::new(own.to_bits())),
            moved: AtomicU32::new(u32::MAX),
        });
    }

    /// Movers of this process.
    fn own_movers(&self) -> &[Mover] {
        let tiles = &self.tiles[self.own.start as usize..self.own.end as usize];
        match tiles {
            [] => &[],
            [first, ..] => {
                let last = tiles.last().unwrap_or(first);
                &self.movers[first.movers.start as usize..last.movers.end as usize]
            }
        }
    }

    /// The smallest radius of a sphere of this process, m.
    fn least_radius(&self) -> f64 {
        let own = self.own_movers().iter();
        let members = own.flat_map(|mover| {
            &self.members[mover.members.start as usize..mover.members.end as usize]
        });
        members
            .map(|member| member.radius)
            .fold(f64::INFINITY, f64::min)
    }

    /// Gives the pairs that reach too far for a tile to the first process.
    fn gather_far(&mut self, tiling: &Tiling, sorted: &[Numbered]) {
        let team = self.team;
        let mut count = [self.far.len() as i64];
        team.sum(&mut count);
        if count == [0] {
            return;
        }
        // Two members of a pair: the body of each, and the place of the sphere in it.
        let mut pairs: Vec<[[u32; 2]; 2]> = Vec::new();
        let mut bodies: Vec<u32> = Vec::new();
        for pair in std::mem::take(&mut self.far) {
            pairs.push(pair.map(|member| {
                let mover = self.members[member as usize].mover;
                bodies.push(mover);
                let own = &self.movers[mover as usize];
                [own.number, member - own.members.start]
            }));
        }
        bodies.sort_unstable();
        bodies.dedup();
        let records = bodies.iter().map(|mover| sorted[*mover as usize].record());
        let records: Vec<Vec<Record>> = to_first(team, records.collect());
        let pairs: Vec<[[u32; 2]; 2]> = to_first(team, pairs).concat();
        let mut far_bodies = FarBodies {
            own: Vec::new(),
            crowd: None,
            of_each: vec![Vec::new(); team.count()],
        };
        let mut numbers: Vec<Vec<u32>> = vec![Vec::new(); team.count()];
        if team.rank() == 0 {
            let records = records.iter().flatten().map(Numbered::of_record);
            let mut members: Vec<Numbered> = records.collect();
            members.sort_unstable_by_key(|own| own.number);
            members.dedup_by_key(|own| own.number);
            let mut crowd = Crowd {
                world: self.world,
                team: &Alone,
                movers: Vec::with_capacity(members.len()),
                members: Vec::new(),
                tiles: Vec::with_capacity(members.len()),
                own: 0..members.len() as u32,
                colours: Default::default(),
                far: Vec::new(),
                far_bodies: None,
                borders: Vec::new(),
                slack: 0.0,
                sweeps: 0,
                sent: 0,
            };
            // A tile of its own for each.
            for (place, own) in (0..).zip(&members) {
                crowd.add(own, None, place);
                crowd.tiles.push(Tile {
                    movers: place..place + 1,
                    pairs: Vec::new(),
                    near: Vec::new(),
                    moved: AtomicU32::new(0),
                });
                let owner = tiling.owner(tiling.place(&own.body).tile[0]);
                numbers[owner].push(own.number);
                far_bodies.of_each[owner].push(place);
            }
            let member = |[number, sphere]: [u32; 2]| {
                let place = members.binary_search_by_key(&number, |own| own.number);
                let place = place.expect("each body of a pair is a member");
                crowd.movers[place].members.start + sphere
            };
            crowd.far = pairs.into_iter().map(|pair| pair.map(member)).collect();
            far_bodies.crowd = Some(Box::new(crowd));
        }
        let numbers = swap(team, &numbers).swap_remove(0);
        if !numbers.is_empty() {
            let own = (0..)
                .zip(&self.movers)
                .filter(|(_, own)| own.body != u32::MAX);
            let mut own: Vec<(u32, u32)> = own.map(|(place, own)| (own.number, place)).collect();
            own.sort_unstable();
            let place = |number: &u32| {
                let place = own.binary_search_by_key(number, |own| own.0);
                own[place.expect("the process has its members")].1
            };
            far_bodies.own = numbers.iter().map(place).collect();
        }
        self.far_bodies = Some(far_bodies);
    }

    /// Gives bodies the places of the movers.
    fn give(&self, part: &mut [Numbered]) {
        for mover in self.own_movers() {
            part[mover.body as usize].body.position = mover.position();
        }
    }

    /// Whether bodies have moved so far that pairs may be missing.
    fn is_out_of_date(&self) -> bool {
        let squared = self.slack * self.slack;
        let is_far = |mover: &Mover| mover.position().distance_squared(mover.start) > squared;
        let mut far = [i64::from(self.own_movers().iter().any(is_far))];
        self.team.maximum(&mut far);
        far == [1]
    }

    /// Tells the processes beside this one where the bodies at the borders are that it has moved since it did so the last time.
    fn tell_neighbours(&mut self) {
        if self.team.count() == 1 {
            return;
        }
        let mut lists = vec![Vec::new(); self.team.count()];
        for (rank, border) in &self.borders {
            let moved = (0..).zip(&self.movers[border.clone()]);
            let moved = moved.filter(|(_, mover)| mover.moved.load(Ordering::Relaxed) == self.sent);
            lists[*rank].extend(moved.map(|(place, mover)| self.moved(place, mover)));
        }
        let received = swap(self.team, &lists);
        for (rank, border) in &self.borders {
            let movers = &self.movers[border.clone()];
            for moved in &received[*rank] {
                self.take(&movers[moved.place as usize], moved);
            }
        }
        self.sent += 1;
    }

    fn moved(&self, place: u32, mover: &Mover) -> Moved {
        Moved {
            place,
            sweep: self.tiles[mover.tile as usize]
                .moved
                .load(Ordering::Relaxed),
            position: mover.position(),
        }
    }

    /// Puts a mover where another process has moved it.
    fn take(&self, mover: &Mover, moved: &Moved) {
        mover.set_position(moved.position);
        let tile = &self.tiles[mover.tile as usize].moved;
        tile.fetch_max(moved.sweep, Ordering::Relaxed);
    }

    /// Moves the bodies apart that the first process has gathered. Returns whether it moved any, at the first process.
    fn part_gathered(&mut self, allowed: f64, unlock: f64) -> bool {
        let team = self.team;
        let far_bodies = self.far_bodies.take().filter(|_| team.count() > 1);
        let Some(mut far_bodies) = far_bodies else {
            return false;
        };
        let mover = |place: u32| &self.movers[far_bodies.own[place as usize] as usize];
        let due =
            (0..far_bodies.own.len() as u32).filter(|place| self.has_moved(mover(*place).tile));
        let due = due.map(|place| self.moved(place, mover(place)));
        let received = to_first(team, due.collect());
        let mut lists = vec![Vec::new(); team.count()];
        let mut moving = false;
        if let Some(crowd) = &mut far_bodies.crowd {
            for (own, members) in received.iter().zip(&far_bodies.of_each) {
                for moved in own {
                    let member = &crowd.movers[members[moved.place as usize] as usize];
                    crowd.take(member, moved);
                }
            }
            crowd.sweeps = self.sweeps;
            crowd.sent += 1;
            moving = crowd.part_far(allowed, unlock);
            for (list, members) in lists.iter_mut().zip(&far_bodies.of_each) {
                for (place, member) in (0..).zip(members) {
                    let member = &crowd.movers[*member as usize];
                    if member.moved.load(Ordering::Relaxed) == crowd.sent {
                        list.push(crowd.moved(place, member));
                    }
                }
            }
        }
        for moved in &swap(team, &lists)[0] {
            let mover = mover(moved.place);
            self.take(mover, moved);
            mover.moved.store(self.sent, Ordering::Relaxed);
        }
        self.far_bodies = Some(far_bodies);
        moving
    }

    /// Moves the bodies of all pairs apart, and out of the walls. Returns whether it moved any.
    ///
    /// See [`Crowd::part`] for `allowed` and `unlock`. Sweeps alternate in direction, so that no end of the list is favoured.
    fn sweep(&mut self, allowed: f64, unlock: f64) -> bool {
        self.sweeps += 1;
        let mut moving = false;
        for colour in 0..self.colours.len() {
            let colour = match self.is_forward() {
                true => colour,
                false => self.colours.len() - 1 - colour,
            };
            moving |= self.part_near(colour, allowed, unlock);
            self.tell_neighbours();
        }
        moving |= self.part_far(allowed, unlock);
        moving |= self.part_gathered(allowed, unlock);
        moving |= self.leave_walls(allowed);
        self.tell_neighbours();
        let mut any = [i64::from(moving)];
        self.team.maximum(&mut any);
        any == [1]
    }

    fn is_forward(&self) -> bool {
        self.sweeps % 2 == 1
    }

    /// Moves the bodies of the pairs of all tiles of a colour apart. Returns whether it moved any.
    fn part_near(&self, colour: usize, allowed: f64, unlock: f64) -> bool {
        let is_forward = self.is_forward();
        let near = |tile: &u32| {
            let pairs = self.tiles[*tile as usize].pairs.iter();
            match is_forward {
                true => self.part_all(pairs, allowed, unlock),
                false => self.part_all(pairs.rev(), allowed, unlock),
            }
        };
        let is_due = |tile: &&u32| {
            let near = &self.tiles[**tile as usize].near;
            near.iter().any(|&tile| self.has_moved(tile))
        };
        let tiles = self.colours[colour].par_iter().with_min_len(LEAST_TILES);
        let tiles = tiles.filter(is_due).map(near);
        tiles.reduce(|| false, |a, b| a || b)
    }

    /// Moves the bodies of the pairs apart that reach too far for a tile, one after the other. Returns whether it moved any.
    fn part_far(&self, allowed: f64, unlock: f64) -> bool {
        let is_due = |pair: &&Pair| {
            let movers = pair.map(|member| self.members[member as usize].mover);
            let tiles = movers.map(|mover| self.movers[mover as usize].tile);
            tiles.iter().any(|&tile| self.has_moved(tile))
        };
        self.part_all(self.far.iter().filter(is_due), allowed, unlock)
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
        mover.moved.store(self.sent, Ordering::Relaxed);
    }

    /// Moves the bodies of some pairs apart, one pair after the other. Returns whether it moved any.
    fn part_all<'p>(
        &self,
        pairs: impl Iterator<Item = &'p Pair>,
        allowed: f64,
        unlock: f64,
    ) -> bool {
        let mut moving = false;
        for pair in pairs {
            moving |= self.part(*pair, allowed, unlock);
        }
        moving
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
                false => any_direction(a.number, b.number),
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
            let members = &self.members[mover.members.start as usize..mover.members.end as usize];
            let mut place = mover.position();
            for wall in self.world.walls {
                let mut deepest: Option<(f64, DVec3)> = None;
                for member in members {
                    let least = allowed * member.radius;
                    let found = wall.depth(place + member.offset, member.radius, least);
                    if let Some((depth, _)) = found
                        && deepest.is_none_or(|other| depth >= other.0)
                    {
                        deepest = found;
                    }
                }
                if let Some((depth, out)) = deepest {
                    self.shift(mover, out * depth);
                    place = mover.position();
                    moved = true;
                }
            }
            moved
        };
        let leave_all = |tile: u32| {
            let movers = self.tiles[tile as usize].movers.clone();
            let mut moving = false;
            for mover in &self.movers[movers.start as usize..movers.end as usize] {
                moving |= !mover.fixed && leave(mover);
            }
            moving
        };
        self.own
            .clone()
            .into_par_iter()
            .with_min_len(LEAST_TILES)
            .filter(|&tile| self.has_moved(tile))
            .map(leave_all)
            .reduce(|| false, |a, b| a || b)
    }
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
    use super::super::team::tests::{dealt, on_team};
    use super::*;
    use crate::math::parallel::Threads;
    use crate::model::Domain;
    use crate::model::clump::{Clump, shapes};
    use crate::model::forces::{Drag, Group};
    use crate::model::packing::overlap::tests::{
        ball, body, clump, plane, random, random_body, world,
    };
    use crate::model::packing::overlap::{Partner, overlaps};
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
        let crowd = Crowd::of(
            &mut dealt(&bodies, &Alone),
            world(&shapes, &[], Some(&BOX)),
            &Alone,
        );
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
        let mut crowds = [0; 2].map(|_| Crowd::of(&mut dealt(&bodies, &Alone), world, &Alone));
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
    fn the_outcome_does_not_depend_on_the_number_of_processes() {
        let shapes = of_three_sizes();
        let mut bodies = many(&shapes);
        bodies.truncate(2000);
        let floor = [plane(DVec3::NEG_Y * 0.4, DVec3::Y)];
        // The last one is a row across layers, and no box.
        let wide = |own: &ModelBody| ModelBody {
            position: own.position * DVec3::new(0.3, 1.0, 3.0),
            fixed: own.position.x < -0.45,
            ..*own
        };
        let long: Vec<ModelBody> = bodies.iter().map(wide).collect();
        for (bodies, domain, sweeps) in [
            (&bodies, Some(&BOX), RELAX_SWEEPS),
            (&bodies, Some(&BOX), 20),
            (&long, None, RELAX_SWEEPS),
        ] {
            let world = world(&shapes, &floor, domain);
            let mut expected = bodies.clone();
            let report = relax(&mut expected, world, RELAX_TOLERANCE, sweeps);
            for count in [2, 3, 7] {
                let moved = on_team(count, |team| {
                    let mut part = dealt(bodies, team);
                    let report = relax_part(&mut part, world, RELAX_TOLERANCE, sweeps, team);
                    let largest = overlaps_of(&mut part, world, 0.0, team);
                    (part, report, largest)
                });
                let mut found = vec![ModelBody::default(); bodies.len()];
                let mut overlaps_found = Vec::new();
                for (part, own, largest) in moved {
                    part.iter()
                        .for_each(|own| found[own.number as usize] = own.body);
                    overlaps_found.extend(largest);
                    match (&report, own) {
                        (Ok(report), Ok(sweeps)) => assert_eq!(sweeps, report.sweeps),
                        (Err(expected), Err(own)) => assert_eq!(own, *expected),
                        other => panic!("{other:?}"),
                    }
                }
                assert!(found == expected, "{count} processes");
                overlaps_found.sort_by(Overlap::order);
                assert!(overlaps_found == overlaps(&expected, world, 0.0));
            }
        }
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
