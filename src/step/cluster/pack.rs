//! Dense fills that all ranks pack together, and bodies of fills of which each rank has a share.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;

use glam::{DQuat, DVec3, IVec3};

use super::Ranks;
use super::bytes::{Reader, Writer};
use super::search::{Ask, threads};
use super::start::Pieces;
use crate::model::bodies::{Brought, ContactList, Holder, Piece, Share};
use crate::model::bonds::SomeBonds;
use crate::model::clump::Clump;
use crate::model::forces::{Drag, Group};
use crate::model::packing::made::{MadeFill, Sites};
use crate::model::packing::overlap::team::Team;
use crate::model::packing::overlap::{Harmless, Unrelaxed, World, overlaps_of};
use crate::model::packing::pack::Packing;
use crate::model::packing::search::RandomSites;
use crate::model::packing::slab::bare;
use crate::model::wall::{Distance, Mesh, Pose, Probe, Shape, Side, Wall};
use crate::model::{Bodies, ContactHistory, Domain, ModelBody};

/// Bodies, or spheres with their contacts, that a rank sends to rank 0 at a time.
const SHOWN: u32 = 1 << 14;

/// Parts of a share that rank 0 may ask for: its bodies, or a list of its contacts.
#[derive(Clone, Copy)]
enum Part {
    Bodies,
    Contacts(ContactList),
}

impl Part {
    const ALL: [Part; 4] = [
        Part::Bodies,
        Part::Contacts(ContactList::Ends),
        Part::Contacts(ContactList::Entries),
        Part::Contacts(ContactList::Elements),
    ];

    fn number(self) -> u32 {
        match self {
            Part::Bodies => 0,
            Part::Contacts(list) => 1 + list as u32,
        }
    }
}

/// Bodies and bonds of which this rank has a share, by the numbers of these.
#[derive(Default)]
pub(super) struct Shares {
    pub bodies: BTreeMap<u64, Arc<Share>>,
    pub bonds: BTreeMap<u64, SomeBonds>,
}

/// Bodies that a rank has of those of which all ranks have shares, by the numbers of these.
pub(super) type OwnShares<'a> = BTreeMap<u64, &'a Share>;
/// Bonds, in the same way.
pub(super) type OwnBonds<'a> = BTreeMap<u64, &'a SomeBonds>;

impl Shares {
    pub fn own_bodies(&self) -> OwnShares<'_> {
        let shares = self.bodies.iter();
        shares.map(|(number, own)| (*number, &**own)).collect()
    }

    pub fn own_bonds(&self) -> OwnBonds<'_> {
        let shares = self.bonds.iter();
        shares.map(|(number, own)| (*number, own)).collect()
    }
}

/// Shares of rank 0 of the bodies of a model.
pub(super) fn shares_of(bodies: &Bodies) -> OwnShares<'_> {
    let shares = bodies.pieces().into_iter().filter_map(|piece| match piece {
        Piece::Shared(shared) => Some((shared.holder.number(), shared.holder.own())),
        _ => None,
    });
    shares.collect()
}

/// Lists of rank 0 of the bodies of a model: one for each piece, empty for all that is no list.
pub(super) fn lists_of(bodies: &Bodies) -> Vec<&[ModelBody]> {
    let lists = bodies.pieces().into_iter().map(|piece| match piece {
        Piece::List(list) => list,
        Piece::Fill(_) | Piece::Shared(_) => &[],
    });
    lists.collect()
}

/// The ranks as a team.
pub(super) struct Together<'a>(pub &'a dyn Ranks);

impl Team for Together<'_> {
    fn rank(&self) -> usize {
        self.0.rank()
    }

    fn count(&self) -> usize {
        self.0.count()
    }

    fn all_to_all(&self, messages: Vec<Vec<u8>>) -> Vec<Vec<u8>> {
        self.0.all_to_all(messages)
    }

    fn sum(&self, numbers: &mut [i64]) {
        self.0.sum(numbers);
    }

    fn maximum(&self, numbers: &mut [i64]) {
        self.0.maximum(numbers);
    }
}

/// Surroundings of bodies, as a [`World`] has them.
struct Surroundings {
    shapes: Vec<Clump>,
    groups: Vec<Group>,
    walls: Vec<Probe>,
    domain: Option<Domain>,
}

pub(super) fn write_packing(packing: &Packing, message: &mut Writer) {
    let Packing {
        world,
        others,
        small: _,
        least,
        leaves_out,
    } = packing;
    write_world(world, message);
    let others: Vec<_> = others.iter().map(ModelBody::numbers).collect();
    message.put_all(&others);
    message.put(*least);
    message.put(u32::from(*leaves_out));
}

fn write_world(world: &World, message: &mut Writer) {
    let World {
        shapes,
        groups,
        walls,
        domain,
    } = world;
    message.put(shapes.len() as u64);
    for shape in *shapes {
        message.put_all(&shape.spheres);
    }
    let ignores: Vec<u32> = groups.iter().map(|group| group.ignores).collect();
    message.put_all(&ignores);
    write_domain(*domain, message);
    message.put(walls.len() as u64);
    for wall in *walls {
        write_wall(wall, message);
    }
}

impl Surroundings {
    fn read(message: &mut Reader) -> Surroundings {
        let shapes: u64 = message.take();
        let shapes = (0..shapes).map(|_| bare(message.take_all())).collect();
        let ignores: Vec<u32> = message.take_all();
        let group = |ignores| Group {
            name: String::new(),
            gravity: None,
            ignores,
            drag: Drag::default(),
        };
        let domain = read_domain(message);
        let walls: u64 = message.take();
        let walls = (0..walls).map(|_| read_wall(domain.as_ref(), message));
        Surroundings {
            shapes,
            groups: ignores.into_iter().map(group).collect(),
            walls: walls.collect(),
            domain,
        }
    }

    fn world(&self) -> World<'_> {
        World {
            shapes: &self.shapes,
            groups: &self.groups,
            walls: &self.walls,
            domain: self.domain.as_ref(),
        }
    }
}

pub(super) fn write_domain(domain: Option<&Domain>, message: &mut Writer) {
    message.put(u32::from(domain.is_some()));
    if let Some(Domain { min, max, periodic }) = domain {
        message.put([*min, *max]);
        message.put(periodic.map(u32::from));
    }
}

pub(super) fn read_domain(message: &mut Reader) -> Option<Domain> {
    let has_domain = message.take::<u32>() == 1;
    has_domain.then(|| {
        let [min, max]: [DVec3; 2] = message.take();
        Domain {
            min,
            max,
            periodic: message.take::<[u32; 3]>().map(|own| own == 1),
        }
    })
}

/// Writes what the depth of a sphere in a wall depends on.
fn write_wall(probe: &Probe, message: &mut Writer) {
    let wall = probe.wall();
    message.put_all(probe.name.as_bytes());
    message.put(match wall.side {
        Side::Both => 0u32,
        Side::Front => 1,
        Side::Back => 2,
    });
    for Pose {
        position,
        orientation,
    } in [wall.pose, probe.pose]
    {
        message.put(position);
        message.put(orientation);
    }
    message.put_all(&probe.normal.into_iter().collect::<Vec<DVec3>>());
    let (kind, numbers) = match &wall.shape {
        Shape::Plane { normal } => (0u32, normal.to_array()),
        Shape::Rectangle { size } => (1, [size.x, size.y, 0.0]),
        Shape::Disc { radius, hole } => (2, [*radius, *hole, 0.0]),
        Shape::Box { size } => (3, size.to_array()),
        Shape::Sphere { radius } => (4, [*radius, 0.0, 0.0]),
        Shape::Cone {
            bottom,
            top,
            height,
            closed,
        } => (5 + u32::from(*closed), [*bottom, *top, *height]),
        Shape::Torus { ring, tube } => (7, [*ring, *tube, 0.0]),
        Shape::Mesh(_) => (8, [0.0; 3]),
        Shape::Sampled(distance) => (9, [distance.spacing, 0.0, 0.0]),
    };
    message.put(kind);
    message.put(numbers);
    let write_mesh = |mesh: &Mesh, message: &mut Writer| {
        message.put_all(&mesh.vertices);
        message.put_all(&mesh.triangles);
    };
    match &wall.shape {
        Shape::Mesh(mesh) => write_mesh(mesh, message),
        Shape::Sampled(distance) => {
            write_mesh(&distance.mesh, message);
            message.put(distance.origin);
            message.put(distance.count);
            message.put_all(&distance.samples);
        }
        _ => {}
    }
}

fn read_wall(domain: Option<&Domain>, message: &mut Reader) -> Probe {
    let name: Vec<u8> = message.take_all();
    let side = match message.take::<u32>() {
        0 => Side::Both,
        1 => Side::Front,
        _ => Side::Back,
    };
    let [pose, now] = [(); 2].map(|()| Pose {
        position: message.take(),
        orientation: message.take::<DQuat>(),
    });
    let normal: Vec<DVec3> = message.take_all();
    let kind: u32 = message.take();
    let [x, y, z]: [f64; 3] = message.take();
    let mut mesh = || {
        Arc::new(Mesh {
            vertices: message.take_all(),
            triangles: message.take_all(),
        })
    };
    let shape = match kind {
        0 => Shape::Plane {
            normal: DVec3::new(x, y, z),
        },
        1 => Shape::Rectangle {
            size: glam::DVec2::new(x, y),
        },
        2 => Shape::Disc { radius: x, hole: y },
        3 => Shape::Box {
            size: DVec3::new(x, y, z),
        },
        4 => Shape::Sphere { radius: x },
        5 | 6 => Shape::Cone {
            bottom: x,
            top: y,
            height: z,
            closed: kind == 6,
        },
        7 => Shape::Torus { ring: x, tube: y },
        8 => Shape::Mesh(mesh()),
        _ => {
            let mesh = mesh();
            Shape::Sampled(Arc::new(Distance {
                origin: message.take(),
                spacing: x,
                count: message.take::<IVec3>(),
                samples: message.take_all(),
                mesh,
            }))
        }
    };
    let wall = Wall {
        name: String::from_utf8_lossy(&name).into_owned(),
        shape,
        side,
        pose,
        ..Wall::plane(DVec3::ZERO, DVec3::Y, 0)
    };
    let mut probe = Probe::new(&wall, domain);
    probe.pose = now;
    probe.normal = normal.first().copied();
    probe
}

/// Packs together with all other ranks, given the small bodies of this one. Returns its share, and the number of bodies and spheres of each
/// rank.
pub(super) fn pack(
    ranks: &dyn Ranks,
    small: Piece,
    message: &mut Reader,
) -> Result<(Piece, Vec<[u32; 2]>), Unrelaxed> {
    let surroundings = Surroundings::read(message);
    let others: Vec<[f64; ModelBody::NUMBERS]> = message.take_all();
    let others: Vec<ModelBody> = others.iter().map(ModelBody::from_numbers).collect();
    let packing = Packing {
        world: surroundings.world(),
        others: &others,
        small,
        least: message.take(),
        leaves_out: message.take::<u32>() == 1,
    };
    let share = threads(ranks).run(|| packing.run(&Together(ranks)))?;
    let share: Vec<ModelBody> = share.into_iter().map(|own| own.body).collect();
    let spheres = share.iter();
    let spheres = spheres.map(|body| surroundings.shapes[body.shape].spheres.len());
    let counts = counts(ranks, [share.len(), spheres.sum()]);
    Ok((Piece::List(share), counts))
}

pub(super) fn write_overlapping(
    bodies: &Bodies,
    world: &World,
    tolerance: f64,
    harmless: Harmless,
    message: &mut Writer,
) {
    write_world(world, message);
    message.put(tolerance);
    message.put(harmless.bodies as u64);
    let walls: Vec<u8> = harmless.walls.iter().map(|own| u8::from(*own)).collect();
    message.put_all(&walls);
    Pieces::of(bodies, |_| 0, false).write(message);
}

/// Whether bodies overlap, on all ranks together; rank 0 has the `lists` of bodies.
pub(super) fn overlap(
    ranks: &dyn Ranks,
    message: &mut Reader,
    shares: &OwnShares,
    lists: &[&[ModelBody]],
) -> bool {
    let surroundings = Surroundings::read(message);
    let tolerance = message.take();
    let bodies = message.take::<u64>() as usize;
    let walls: Vec<u8> = message.take_all();
    let walls: Vec<bool> = walls.into_iter().map(|own| own == 1).collect();
    let mut part = Pieces::read(message).own_bodies(ranks, shares, lists);
    let found = threads(ranks).run(|| {
        let world = surroundings.world();
        overlaps_of(&mut part, world, tolerance, &Together(ranks))
    });
    let harmless = Harmless {
        bodies,
        walls: &walls,
    };
    let mut count = [found.iter().filter(|own| !harmless.has(own)).count() as i64];
    ranks.sum(&mut count);
    count[0] > 0
}

/// Number of bodies and spheres of each rank, given those of this one.
pub(super) fn counts(ranks: &dyn Ranks, own: [usize; 2]) -> Vec<[u32; 2]> {
    let own = own.map(|count| count as u32);
    let all = ranks.all_gather(bytemuck::bytes_of(&own));
    bytemuck::pod_collect_to_vec(&all)
}

/// Gives each rank a share of bodies of another run, of which rank 0 has the `next` part in each of so many rounds. Returns the share of this
/// rank, and the number of bodies and spheres of each.
pub(super) fn keep(
    ranks: &dyn Ranks,
    rounds: usize,
    mut next: impl FnMut() -> Option<Brought>,
) -> (Share, Vec<[u32; 2]>) {
    let mut list = Vec::new();
    let mut contacts: Option<ContactHistory> = None;
    let mut spheres = 0;
    for round in 0..rounds {
        let mut messages = vec![Writer::default(); ranks.count()];
        if let Some(part) = next() {
            write_brought(&part, &mut messages[round * ranks.count() / rounds]);
        }
        let messages = messages.into_iter().map(|message| message.0).collect();
        let received = ranks.all_to_all(messages);
        let mut received = Reader(&received[0]);
        if !received.is_empty() {
            let part = read_brought(&mut received);
            list.extend(part.bodies);
            spheres += part.spheres as usize;
            if let Some(own) = part.contacts {
                contacts.get_or_insert_default().append(own);
            }
        }
    }
    let counts = counts(ranks, [list.len(), spheres]);
    let share = Share {
        bodies: Piece::List(list),
        contacts,
    };
    (share, counts)
}

fn write_brought(part: &Brought, message: &mut Writer) {
    let bodies: Vec<_> = part.bodies.iter().map(ModelBody::numbers).collect();
    message.put_all(&bodies);
    message.put(part.spheres);
    message.put(u32::from(part.contacts.is_some()));
    if let Some(own) = &part.contacts {
        message.put(own.size);
        message.put_all(&own.ends);
        message.put_all(&own.entries);
        message.put_all(&own.elements);
    }
}

fn read_brought(message: &mut Reader) -> Brought {
    let bodies: Vec<[f64; ModelBody::NUMBERS]> = message.take_all();
    let [spheres, has_contacts]: [u32; 2] = message.take();
    Brought {
        bodies: bodies.iter().map(ModelBody::from_numbers).collect(),
        spheres,
        contacts: (has_contacts == 1).then(|| ContactHistory {
            size: message.take(),
            ends: message.take_all(),
            entries: message.take_all(),
            elements: message.take_all(),
        }),
    }
}

/// Shows some of the share of a rank to rank 0, or what the bodies of a fill follow from.
pub(super) fn show(ranks: &dyn Ranks, message: &mut Reader, shares: &Shares) -> Vec<Vec<u8>> {
    let number: u64 = message.take();
    let [rank, part, start, end]: [u32; 4] = message.take();
    let mut messages = vec![Vec::new(); ranks.count()];
    if rank as usize == ranks.rank() {
        let some = start as usize..end as usize;
        messages[0] = shown(&shares.bodies[&number], Part::ALL[part as usize], some);
    }
    ranks.all_to_all(messages)
}

fn shown(share: &Share, part: Part, some: Range<usize>) -> Vec<u8> {
    let mut own = Writer::default();
    match (part, &share.bodies) {
        (Part::Contacts(list), _) => {
            let contacts = share.contacts.as_ref().expect("they bring contacts");
            own.0.extend_from_slice(contacts.bytes(list, some));
        }
        (Part::Bodies, Piece::List(list)) => {
            for body in &list[some] {
                own.put(body.numbers());
            }
        }
        (
            Part::Bodies,
            Piece::Fill(MadeFill {
                sites:
                    Sites::Random(RandomSites {
                        first, done, tries, ..
                    }),
                ..
            }),
        ) => {
            own.put(*first);
            own.put_all(done);
            own.put_all(tries);
        }
        _ => unreachable!("no rank has a share of such bodies"),
    }
    own.0
}

/// A share of rank 0, which can ask the others for theirs.
pub(super) struct Holding {
    pub ranks: Arc<dyn Ranks>,
    pub number: u64,
    pub own: Arc<Share>,
    /// Number of bodies and spheres of each share.
    pub counts: Vec<[u32; 2]>,
}

impl Holder for Holding {
    fn number(&self) -> u64 {
        self.number
    }

    fn own(&self) -> &Share {
        &self.own
    }

    fn visit(&self, act: &mut dyn FnMut(&ModelBody)) {
        self.own.bodies.visit(act);
        for (rank, [count, _]) in (0..).zip(&self.counts).skip(1) {
            match &self.own.bodies {
                Piece::Fill(fill) => self.part(fill, rank, *count).each(act),
                _ => self.ask_all(Part::Bodies, rank, *count, &mut |shown| {
                    let mut shown = Reader(shown);
                    while !shown.is_empty() {
                        act(&ModelBody::from_numbers(&shown.take()));
                    }
                }),
            }
        }
    }

    fn visit_contacts(&self, list: ContactList, act: &mut dyn FnMut(&[u8])) {
        for (rank, [_, spheres]) in (0..).zip(&self.counts) {
            match &self.own.contacts {
                Some(own) if rank == 0 => act(own.bytes(list, 0..*spheres as usize)),
                _ => self.ask_all(Part::Contacts(list), rank, *spheres, act),
            }
        }
    }
}

impl Holding {
    /// Has a rank show a part of its share, some of so many elements at a time.
    fn ask_all(&self, part: Part, rank: u32, count: u32, act: &mut dyn FnMut(&[u8])) {
        for start in (0..count).step_by(SHOWN as usize) {
            act(&self.ask(part, rank, start..count.min(start + SHOWN)));
        }
    }

    fn ask(&self, part: Part, rank: u32, some: Range<u32>) -> Vec<u8> {
        let mut message = Ask::Show.message();
        let before = message.0.len();
        message.put(self.number);
        message.put([rank, part.number(), some.start, some.end]);
        self.ranks.broadcast(&mut message.0);
        let mut rest = Reader(&message.0[before..]);
        let mut shown = show(&*self.ranks, &mut rest, &Shares::default());
        shown.swap_remove(rank as usize)
    }

    /// The part of a fill that a rank has.
    fn part(&self, own: &MadeFill, rank: u32, count: u32) -> MadeFill {
        let shown = self.ask(Part::Bodies, rank, 0..count);
        let mut shown = Reader(&shown);
        let Sites::Random(sites) = &own.sites else {
            unreachable!("no rank has a share of a fill on a grid");
        };
        let sites = RandomSites {
            spheres: sites.spheres.clone(),
            classes: sites.classes.clone(),
            first: shown.take(),
            done: shown.take_all(),
            tries: shown.take_all(),
        };
        MadeFill {
            numbers: own.numbers,
            mix: own.mix.clone(),
            sites: Sites::Random(sites),
        }
    }
}

#[cfg(test)]
mod tests {
    use glam::DVec2;

    use super::*;
    use crate::model::packing::overlap::tests::random;

    /// A wedge on the floor.
    fn wedge() -> Arc<Mesh> {
        let [a, b, c, d] = [DVec3::ZERO, DVec3::X, DVec3::Z, DVec3::new(0.3, 0.9, 0.3)];
        Arc::new(Mesh::new([[a, b, c], [a, d, b], [b, d, c], [c, d, a]]))
    }

    #[test]
    fn walls_are_as_deep_on_all_ranks() {
        let domain = Domain {
            min: DVec3::splat(-1.5),
            max: DVec3::splat(1.5),
            periodic: [true, false, false],
        };
        let cone = |height, closed| Shape::Cone {
            bottom: 0.7,
            top: 0.4,
            height,
            closed,
        };
        let size = DVec3::new(1.0, 0.8, 0.7);
        let shapes = [
            Shape::Plane { normal: DVec3::Y },
            Shape::Rectangle {
                size: DVec2::new(0.9, 1.1),
            },
            Shape::Disc {
                radius: 0.9,
                hole: 0.2,
            },
            Shape::Box { size },
            Shape::Sphere { radius: 0.7 },
            cone(1.1, true),
            cone(1.3, false),
            Shape::Cone {
                bottom: 0.5,
                top: 0.5,
                height: f64::INFINITY,
                closed: false,
            },
            Shape::Torus {
                ring: 0.6,
                tube: 0.3,
            },
            Shape::Mesh(wedge()),
            Shape::Sampled(Arc::new(Distance::new(&wedge(), 0.1, 0.3))),
        ];
        let mut random = random(9);
        for shape in shapes {
            for side in [Side::Both, Side::Front, Side::Back] {
                let wall = Wall {
                    shape: shape.clone(),
                    side,
                    pose: Pose {
                        position: DVec3::new(0.1, -0.2, 0.3),
                        orientation: DQuat::from_xyzw(0.1, 0.7, 0.1, 0.7).normalize(),
                    },
                    ..Wall::plane(DVec3::ZERO, DVec3::Y, 0)
                };
                for domain in [None, Some(&domain)] {
                    let mut wall = Probe::new(&wall, domain);
                    wall.move_to(Pose {
                        position: DVec3::new(0.2, 0.1, 0.0),
                        ..wall.pose
                    });
                    let mut message = Writer::default();
                    write_wall(&wall, &mut message);
                    let mut message = Reader(&message.0);
                    let read = read_wall(domain, &mut message);
                    assert!(message.is_empty());
                    let mut deep = 0;
                    for _ in 0..400 {
                        let point = [(); 3].map(|()| 3.0 * random() - 1.5).into();
                        let depth = wall.depth(point, 0.2, 0.0);
                        assert_eq!(read.depth(point, 0.2, 0.0), depth);
                        deep += usize::from(depth.is_some());
                    }
                    assert!((1..400).contains(&deep), "{shape:?}, {side:?}: {deep}");
                }
            }
        }
    }
}
