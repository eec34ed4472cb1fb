//! Processes that move bodies apart together: each has the bodies in a slab of space, and copies of others near it.

use std::ops::Range;

use bytemuck::{Pod, cast_slice, pod_collect_to_vec};
use glam::DVec3;

use super::World;
use super::relax::MARGIN;
use crate::math::parallel::prelude::*;
use crate::model::clump::Clump;
use crate::model::{Domain, ModelBody};

/// Fraction of the bodies whose neighbours of their own size are in their tile or beside it.
const MOST: f64 = 0.98;
/// Layers of tiles of a process at least: no body is then moved by more than two of them.
const LEAST_LAYERS: i64 = 2;

/// Processes that move bodies apart together. All of them call the same methods in the same order.
pub(crate) trait Team: Sync {
    /// Number of this one, from 0.
    fn rank(&self) -> usize;

    /// Number of them.
    fn count(&self) -> usize;

    /// Gives each the message at its place, and returns those of all.
    fn all_to_all(&self, messages: Vec<Vec<u8>>) -> Vec<Vec<u8>>;

    /// The sum of each number over all.
    fn sum(&self, numbers: &mut [i64]);

    /// The largest of each number over all.
    fn maximum(&self, numbers: &mut [i64]);
}

/// A process by itself.
pub(crate) struct Alone;

impl Team for Alone {
    fn rank(&self) -> usize {
        0
    }

    fn count(&self) -> usize {
        1
    }

    fn all_to_all(&self, messages: Vec<Vec<u8>>) -> Vec<Vec<u8>> {
        messages
    }

    fn sum(&self, _: &mut [i64]) {}

    fn maximum(&self, _: &mut [i64]) {}
}

/// Gives each process the list at its place, and returns those of all.
pub(crate) fn swap<T: Pod>(team: &impl Team, lists: &[Vec<T>]) -> Vec<Vec<T>> {
    if team.count() == 1 {
        return lists.to_vec();
    }
    let messages = lists.iter().map(|list| cast_slice(list).to_vec());
    let received = team.all_to_all(messages.collect());
    received.iter().map(|own| pod_collect_to_vec(own)).collect()
}

/// Gives the first process a list of each. The others get empty ones.
pub(crate) fn to_first<T: Pod>(team: &impl Team, own: Vec<T>) -> Vec<Vec<T>> {
    let mut lists = vec![Vec::new(); team.count()];
    lists[0] = own;
    swap(team, &lists)
}

/// A body with its number among those of all processes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Numbered {
    pub number: u32,
    pub body: ModelBody,
}

/// A numbered body, as it is sent.
pub(crate) type Record = [f64; 1 + ModelBody::NUMBERS];

impl Numbered {
    pub fn record(&self) -> Record {
        let mut record = [f64::from(self.number); 1 + ModelBody::NUMBERS];
        record[1..].copy_from_slice(&self.body.numbers());
        record
    }

    pub fn of_record([number, body @ ..]: &Record) -> Numbered {
        Numbered {
            number: *number as u32,
            body: ModelBody::from_numbers(body),
        }
    }
}

/// Gives bodies to the processes that are to have them. Each then has its own in the order of their numbers.
fn give(part: &mut Vec<Numbered>, team: &impl Team, owner: impl Fn(&Numbered) -> usize) {
    /// Number of bodies that a process gives at a time at most, for what is on its way takes memory.
    const GIVEN: usize = 1 << 16;
    if team.count() == 1 {
        return;
    }
    let mut lists = vec![Vec::new(); team.count()];
    let mut come = Vec::new();
    let mut leaving = Vec::new();
    part.retain(|own| {
        let owner = owner(own);
        let stays = owner == team.rank();
        if !stays {
            leaving.push((owner, *own));
        }
        stays
    });
    let mut rounds = [leaving.len().div_ceil(GIVEN) as i64];
    team.maximum(&mut rounds);
    for _ in 0..rounds[0] {
        let rest = leaving.len().saturating_sub(GIVEN);
        for (owner, own) in leaving.drain(rest..) {
            lists[owner].push(own.record());
        }
        let received = swap(team, &lists).into_iter().flatten();
        come.extend(received.map(|record| Numbered::of_record(&record)));
        lists.iter_mut().for_each(Vec::clear);
    }
    part.extend(come);
    part.par_sort_by(|a, b| a.number.cmp(&b.number));
}

/// Gives each process an equal share of all bodies, whose numbers begin with 0 and have no gaps: the first ones to the first process.
pub(crate) fn share_out(part: &mut Vec<Numbered>, team: &impl Team) {
    let mut total = [part.len() as i64];
    team.sum(&mut total);
    let ends = (1..=team.count()).map(|rank| total[0] as usize * rank / team.count());
    let ends: Vec<usize> = ends.collect();
    give(part, team, |own| {
        ends.partition_point(|end| *end <= own.number as usize)
    });
}

/// Space cut into cubic tiles, which are as large as most bodies and their neighbours need it. Each process has a slab of them.
///
/// The first coordinate of a tile is its layer: that along the axis across which the slabs are cut.
pub(super) struct Tiling<'a> {
    side: f64,
    axis: usize,
    domain: Option<&'a Domain>,
    /// First layer of each process but the first.
    cuts: Vec<i64>,
    /// Bounding radius of each shape, m.
    bounds: Vec<f64>,
    /// Number of bodies of each shape, of all processes.
    pub counts: Vec<usize>,
}

/// Place of a body among tiles.
#[derive(Clone, Copy)]
pub(super) struct InTile {
    pub tile: [i64; 3],
    /// Centre of mass, in sides of a tile.
    place: DVec3,
}

impl InTile {
    /// Whether a pair of the tile at `corner` may move this body.
    pub fn is_within_reach_of(&self, corner: [i64; 3]) -> bool {
        let [x, y, z] = corner.map(|coordinate| coordinate as f64);
        let from = self.place - DVec3::new(x, y, z);
        from.cmpge(DVec3::splat(-0.5)).all() && from.cmplt(DVec3::splat(1.5)).all()
    }
}

impl<'a> Tiling<'a> {
    pub fn of(part: &[Numbered], world: World<'a>, team: &impl Team) -> Tiling<'a> {
        let mut counts = vec![0; world.shapes.len()];
        part.iter().for_each(|own| counts[own.body.shape] += 1);
        team.sum(&mut counts);
        let counts: Vec<usize> = counts.into_iter().map(|count| count as usize).collect();
        let bounds: Vec<f64> = world.shapes.iter().map(Clump::bounding_radius).collect();
        let mut tiling = Tiling {
            side: side(&bounds, &counts),
            axis: 0,
            domain: world.domain,
            cuts: Vec::new(),
            bounds,
            counts,
        };
        let mut ends = [i64::MIN; 6];
        for own in part {
            let tile = tiling.place(&own.body).tile;
            for axis in 0..3 {
                ends[axis] = ends[axis].max(tile[axis].saturating_neg());
                ends[3 + axis] = ends[3 + axis].max(tile[axis]);
            }
        }
        team.maximum(&mut ends);
        let ends = [0, 1, 2].map(|axis| [ends[axis].saturating_neg(), ends[3 + axis]]);
        for (axis, [first, last]) in ends.into_iter().enumerate() {
            let [first_so_far, last_so_far] = ends[tiling.axis];
            if last.saturating_sub(first) > last_so_far.saturating_sub(first_so_far) {
                tiling.axis = axis;
            }
        }
        tiling.cut(part, ends[tiling.axis], team);
        tiling
    }

    /// Cuts slabs with equal numbers of bodies, which are in the layers from the first to the last.
    fn cut(&mut self, part: &[Numbered], [first, last]: [i64; 2], team: &impl Team) {
        let count = team.count();
        if count == 1 {
            return;
        }
        let layers = part.iter().map(|own| self.place(&own.body).tile[0]);
        let mut layers: Vec<i64> = layers.collect();
        layers.par_sort_by(i64::cmp);
        let total: usize = self.counts.iter().sum();
        let before = |cut: i64| layers.partition_point(|layer| *layer < cut) as i64;
        let wanted: Vec<i64> = (1..count)
            .map(|rank| (total * rank / count) as i64)
            .collect();
        // Each cut is the first layer before which there are as many bodies as wanted.
        let mut between = vec![[first, last.saturating_add(1)]; count - 1];
        while between.iter().any(|[low, high]| low < high) {
            let middle = |[low, high]: &[i64; 2]| {
                let half = high.wrapping_sub(*low) as u64 / 2;
                low.wrapping_add(half as i64)
            };
            let middles: Vec<i64> = between.iter().map(middle).collect();
            let mut counts: Vec<i64> = middles.iter().map(|middle| before(*middle)).collect();
            team.sum(&mut counts);
            for (index, middle) in middles.into_iter().enumerate() {
                let [low, high] = &mut between[index];
                match counts[index] < wanted[index] {
                    _ if low >= high => {}
                    true => *low = middle + 1,
                    false => *high = middle,
                }
            }
        }
        let mut least = first.saturating_add(LEAST_LAYERS);
        let cuts = between.into_iter().map(|[cut, _]| {
            let cut = cut.max(least);
            least = cut.saturating_add(LEAST_LAYERS);
            cut
        });
        self.cuts = cuts.collect();
    }

    pub fn place(&self, body: &ModelBody) -> InTile {
        let position = self
            .domain
            .map_or(body.position, |domain| domain.wrap(body.position));
        let mut place = (position / self.side).to_array();
        place.rotate_left(self.axis);
        InTile {
            tile: place.map(|own| own.floor() as i64),
            place: place.into(),
        }
    }

    /// The process that has a layer.
    pub fn owner(&self, layer: i64) -> usize {
        self.cuts.partition_point(|cut| *cut <= layer)
    }

    /// Layers of a process; those of the first and the last one have no end outwards.
    pub fn layers(&self, rank: usize) -> Range<i64> {
        let start = rank
            .checked_sub(1)
            .map_or(i64::MIN, |before| self.cuts[before]);
        let end = self.cuts.get(rank).copied().unwrap_or(i64::MAX);
        start..end
    }

    /// Gives each process the bodies in its slab.
    pub fn migrate(&self, part: &mut Vec<Numbered>, team: &impl Team) {
        give(part, team, |own| self.owner(self.place(&own.body).tile[0]));
    }

    /// Copies of bodies of other processes: those that own ones may come to touch, or that are not farther than a `gap` (m) from them, and
    /// all in the layers beside the slab.
    pub fn halo(&self, part: &[Numbered], gap: f64, team: &impl Team) -> Vec<Numbered> {
        if team.count() == 1 {
            return Vec::new();
        }
        let own = part.iter().map(|own| self.bounds[own.body.shape]);
        // The bits of floats that are not negative have the order of the floats.
        let mut largest = vec![0; team.count()];
        largest[team.rank()] = own.fold(0.0, f64::max).to_bits() as i64;
        team.maximum(&mut largest);
        let largest: Vec<f64> = largest
            .into_iter()
            .map(|bits| f64::from_bits(bits as u64))
            .collect();
        let most = largest.iter().fold(0.0, |most: f64, own| most.max(*own));
        let mut lists = vec![Vec::new(); team.count()];
        for own in part {
            let InTile { tile, place } = self.place(&own.body);
            let reach = |other: f64| {
                // Both sides may round.
                let own = (1.0 + MARGIN) * self.bounds[own.body.shape];
                1.001 * (own + other + gap) / self.side
            };
            for at in self.images(place.x, reach(most)) {
                let [low, high] =
                    [at - reach(most), at + reach(most)].map(|end| end.floor() as i64);
                let beside = match at == place.x {
                    true => [tile[0].saturating_sub(1), tile[0].saturating_add(1)],
                    false => [i64::MAX, i64::MIN],
                };
                for rank in self.owner(low.min(beside[0]))..=self.owner(high.max(beside[1])) {
                    let Range { start, end } = self.layers(rank);
                    let nearest = at.clamp(start as f64, end as f64);
                    let is_beside =
                        at == place.x && (start.saturating_sub(1)..=end).contains(&tile[0]);
                    let is_near = is_beside || (at - nearest).abs() <= reach(largest[rank]);
                    if is_near && rank != team.rank() {
                        lists[rank].push(own.record());
                    }
                }
            }
        }
        lists
            .iter_mut()
            .for_each(|list| list.dedup_by_key(|record| record[0].to_bits()));
        let received = swap(team, &lists).into_iter().flatten();
        received
            .map(|record| Numbered::of_record(&record))
            .collect()
    }

    /// A place across the layers and its images that reach into the box, in sides of a tile.
    fn images(&self, at: f64, reach: f64) -> impl Iterator<Item = f64> + use<> {
        let ends = self.domain.map(|domain| {
            let ends = [domain.min, domain.max, domain.period()];
            ends.map(|end| end[self.axis] / self.side)
        });
        let [min, max, period] = ends.unwrap_or_default();
        let images = [at - period, at + period].into_iter();
        let images =
            images.filter(move |image| period > 0.0 && (min - reach..=max + reach).contains(image));
        std::iter::once(at).chain(images)
    }
}

/// Side of a tile for so many bodies of shapes with these bounding radii, m.
fn side(bounds: &[f64], counts: &[usize]) -> f64 {
    let place = (MOST * counts.iter().sum::<usize>() as f64) as usize;
    let are_most = |bound: f64| {
        let smaller = bounds.iter().zip(counts).filter(|(own, _)| **own <= bound);
        smaller.map(|(_, count)| count).sum::<usize>() > place
    };
    let most = bounds.iter().copied().filter(|bound| are_most(*bound));
    most.reduce(f64::min)
        .map_or(1.0, |bound| 2.0 * (2.0 + MARGIN) * bound)
}

#[cfg(test)]
pub(crate) mod tests {
    use std::sync::Mutex;
    use std::sync::mpsc::{Receiver, Sender, channel};
    use std::thread;

    use super::*;
    use crate::model::packing::overlap::tests::{ball, body, world};

    /// A process that is a thread.
    pub struct Thread {
        rank: usize,
        to: Vec<Sender<Vec<u8>>>,
        from: Vec<Mutex<Receiver<Vec<u8>>>>,
    }

    impl Thread {
        fn reduce(&self, numbers: &mut [i64], and: fn(i64, i64) -> i64) {
            let all = swap(self, &vec![numbers.to_vec(); self.count()]);
            let all = all.into_iter().reduce(|a, b| {
                let pairs = a.into_iter().zip(b);
                pairs.map(|(a, b)| and(a, b)).collect()
            });
            numbers.copy_from_slice(&all.expect("there is one process"));
        }
    }

    impl Team for Thread {
        fn rank(&self) -> usize {
            self.rank
        }

        fn count(&self) -> usize {
            self.to.len()
        }

        fn all_to_all(&self, messages: Vec<Vec<u8>>) -> Vec<Vec<u8>> {
            for (to, message) in self.to.iter().zip(messages) {
                to.send(message).expect("the other thread is there");
            }
            let from = self
                .from
                .iter()
                .map(|from| from.lock().expect("whole").recv());
            from.map(|message| message.expect("the other thread is there"))
                .collect()
        }

        fn sum(&self, numbers: &mut [i64]) {
            self.reduce(numbers, |a, b| a + b);
        }

        fn maximum(&self, numbers: &mut [i64]) {
            self.reduce(numbers, i64::max);
        }
    }

    /// Does something on so many processes. Returns what each does.
    pub fn on_team<T: Send>(count: usize, act: impl Fn(&Thread) -> T + Sync) -> Vec<T> {
        let mut threads: Vec<Thread> = (0..count)
            .map(|rank| Thread {
                rank,
                to: Vec::new(),
                from: Vec::new(),
            })
            .collect();
        for from in 0..count {
            for to in 0..count {
                let (sender, receiver) = channel();
                threads[from].to.push(sender);
                threads[to].from.push(Mutex::new(receiver));
            }
        }
        let act = &act;
        thread::scope(|scope| {
            let running = threads.iter().map(|own| scope.spawn(move || act(own)));
            let running: Vec<_> = running.collect();
            let ended = running.into_iter().map(|own| own.join());
            ended.map(|result| result.expect("no panic")).collect()
        })
    }

    /// Each so many-th of some bodies, with their numbers.
    pub fn dealt(bodies: &[ModelBody], team: &impl Team) -> Vec<Numbered> {
        let numbered = (0..).zip(bodies).map(|(number, body)| Numbered {
            number,
            body: *body,
        });
        numbered.skip(team.rank()).step_by(team.count()).collect()
    }

    #[test]
    fn slabs_have_equal_shares_and_all_that_is_near() {
        let shapes = [ball(0.05), ball(0.3)];
        // A row along z, far thinner than a tile, with a boulder in its middle.
        let mut bodies: Vec<ModelBody> = (0..900)
            .map(|index| body(0, DVec3::Z * 0.07 * f64::from(index)))
            .collect();
        bodies.push(body(1, DVec3::new(0.3, 0.0, 30.0)));
        let domain = Domain {
            min: DVec3::new(-1.0, -1.0, -0.2),
            max: DVec3::new(1.0, 1.0, 63.0),
            periodic: [false, false, true],
        };
        let world = world(&shapes, &[], Some(&domain));
        let found = on_team(4, |team| {
            let mut part = dealt(&bodies, team);
            let tiling = Tiling::of(&part, world, team);
            tiling.migrate(&mut part, team);
            (tiling.halo(&part, 0.0, team), part)
        });
        let number_of = |own: &Numbered| own.number as usize;
        for (rank, (halo, part)) in found.iter().enumerate() {
            assert!((210..=240).contains(&part.len()), "{rank}: {}", part.len());
            assert!(part.is_sorted_by_key(number_of));
            let halo: Vec<usize> = halo.iter().map(number_of).collect();
            for own in part.iter().map(number_of) {
                for (other, place) in bodies.iter().enumerate() {
                    let way = domain
                        .nearest(place.position - bodies[own].position)
                        .length();
                    let reach: f64 = [own, other]
                        .map(|index| [0.05, 0.3][bodies[index].shape])
                        .iter()
                        .sum();
                    let is_there =
                        part.iter().any(|own| number_of(own) == other) || halo.contains(&other);
                    assert!(is_there || way > reach, "{rank}: {own}, {other}");
                }
            }
            // Those beside the slab, and those near the boulder.
            assert!(halo.len() < 60, "{rank}: {}", halo.len());
        }
    }
}
