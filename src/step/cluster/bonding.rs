//! Bonds that all ranks find together: each has those whose first body is in its slab of space.

use std::sync::Arc;

use super::Ranks;
use super::bytes::{Reader, Writer};
use super::pack::{OwnShares, Together, read_domain, write_domain};
use super::search::{Ask, threads};
use super::start::Pieces;
use crate::model::bond::{BondLaw, GAP, Healing, pairs};
use crate::model::bonds::{
    Bonds, Limit, Link, LinkHolder, SharedLinks, SomeBonds, Survey, Wrong, digest,
};
use crate::model::clump::Clump;
use crate::model::packing::overlap::{World, neighbourhood};
use crate::model::packing::slab::bare;
use crate::model::{Bodies, Domain, ModelBody};

/// All that a rank needs to find bonds, but for bodies that others have.
struct Job {
    laws: Vec<BondLaw>,
    shapes: Vec<Clump>,
    domain: Option<Domain>,
    pieces: Pieces,
}

pub(super) fn write_bonding(
    laws: &[BondLaw],
    bodies: &Bodies,
    shapes: &[Clump],
    domain: Option<&Domain>,
    message: &mut Writer,
) {
    message.put(laws.len() as u64);
    laws.iter().for_each(|law| write_law(law, message));
    message.put(shapes.len() as u64);
    for shape in shapes {
        message.put_all(&shape.spheres);
        let materials: Vec<u64> = shape.materials.iter().map(|own| *own as u64).collect();
        message.put_all(&materials);
        message.put(shape.mass);
        message.put(shape.inertia);
    }
    write_domain(domain, message);
    Pieces::of(bodies, |_| 0, false).write(message);
}

impl Job {
    fn read(message: &mut Reader) -> Job {
        let laws: u64 = message.take();
        let laws = (0..laws).map(|_| read_law(message)).collect();
        let shapes: u64 = message.take();
        let shapes = (0..shapes).map(|_| {
            let spheres = message.take_all();
            let materials: Vec<u64> = message.take_all();
            Clump {
                materials: materials.into_iter().map(|own| own as usize).collect(),
                mass: message.take(),
                inertia: message.take(),
                ..bare(spheres)
            }
        });
        Job {
            laws,
            shapes: shapes.collect(),
            domain: read_domain(message),
            pieces: Pieces::read(message),
        }
    }
}

fn write_law(law: &BondLaw, message: &mut Writer) {
    let BondLaw {
        materials,
        groups,
        gap,
        radius_factor,
        young_modulus,
        shear_modulus,
        bending,
        twisting,
        tensile_strength,
        shear_strength,
        weibull_modulus,
        damping,
        seed,
        healing,
    } = law;
    let indices = |own: [usize; 2]| own.map(|own| own as u64);
    message.put(indices(*materials));
    message.put_all(groups.map(indices).as_slice());
    message.put_all(gap.as_slice());
    message.put([*radius_factor, *young_modulus, *shear_modulus]);
    message.put([*bending, *twisting, *tensile_strength, *shear_strength]);
    message.put_all(weibull_modulus.as_slice());
    message.put(*damping);
    message.put(*seed);
    let healing = healing.map(|own| [own.distance, own.time]);
    message.put_all(healing.as_slice());
}

fn read_law(message: &mut Reader) -> BondLaw {
    fn option<T: bytemuck::Pod>(message: &mut Reader) -> Option<T> {
        message.take_all::<T>().first().copied()
    }
    let indices = |own: [u64; 2]| own.map(|own| own as usize);
    let materials = indices(message.take());
    let groups = option(message).map(indices);
    let gap = option(message);
    let [radius_factor, young_modulus, shear_modulus] = message.take();
    let [bending, twisting, tensile_strength, shear_strength] = message.take();
    BondLaw {
        materials,
        groups,
        gap,
        radius_factor,
        young_modulus,
        shear_modulus,
        bending,
        twisting,
        tensile_strength,
        shear_strength,
        weibull_modulus: option(message),
        damping: message.take(),
        seed: message.take(),
        healing: option(message).map(|[distance, time]: [f64; 2]| Healing { distance, time }),
    }
}

/// Bonds that a rank has found, and their summary.
pub(super) struct Found {
    pub own: SomeBonds,
    survey: Survey,
    digest: u64,
}

/// Finds bonds together with all other ranks; rank 0 has the `lists` of bodies.
pub(super) fn bond(
    ranks: &dyn Ranks,
    message: &mut Reader,
    shares: &OwnShares,
    lists: &[&[ModelBody]],
) -> Found {
    let Job {
        laws,
        shapes,
        domain,
        pieces,
    } = Job::read(message);
    let domain = domain.as_ref();
    let total = pieces.body_count();
    let part = pieces.own_bodies(ranks, shares, lists);
    let spheres = shapes.iter().flat_map(|shape| &shape.spheres);
    let largest = spheres.fold(0.0, |most: f64, sphere| most.max(sphere.radius));
    let gaps = laws.iter().map(|law| law.gap.unwrap_or(GAP * largest));
    let world = World {
        shapes: &shapes,
        groups: &[],
        walls: &[],
        domain,
    };
    let gap = gaps.fold(0.0, f64::max);
    let (near, is_own) = threads(ranks).run(|| neighbourhood(part, world, gap, &Together(ranks)));
    let numbers: Vec<u32> = near.iter().map(|own| own.number).collect();
    let bodies: Bodies = near.into_iter().map(|own| own.body).collect();
    let mut links = pairs(&laws, &bodies, &shapes, domain);
    let own_end = |link: &Link, side: usize| is_own[link.spheres[side][0] as usize];
    links.retain(|link| own_end(link, 0) || own_end(link, 1));
    let survey = Bonds::new(&laws, links.clone(), &bodies, &shapes, domain)
        .survey_of(|body| is_own[body], |body| numbers[body as usize]);
    links.retain(|link| own_end(link, 0));
    let indices = number_bonds(ranks, &laws, &numbers, total, &mut links);
    let digest = digest(links.iter().zip(&indices).map(|(link, index)| {
        let spheres = whole(link, &numbers);
        (u64::from(*index), Link { spheres, ..*link })
    }));
    Found {
        own: SomeBonds {
            bonds: Bonds::new(&laws, links, &bodies, &shapes, domain),
            bodies: numbers,
            indices,
        },
        survey,
        digest,
    }
}

/// The spheres of a link, with the indices of their bodies among all.
fn whole(link: &Link, numbers: &[u32]) -> [[u32; 2]; 2] {
    link.spheres
        .map(|[body, member]| [numbers[body as usize], member])
}

/// Gives the bonds of this rank their strengths, and returns their indices among all. Each body that is the first of some has its bonds on one
/// rank; `numbers` are the indices of the bodies among these `total` ones.
fn number_bonds(
    ranks: &dyn Ranks,
    laws: &[BondLaw],
    numbers: &[u32],
    total: u32,
    links: &mut [Link],
) -> Vec<u32> {
    let (count, width) = (ranks.count(), laws.len());
    // Each rank adds up the bonds of an equal share of all bodies.
    let owner = |body: u32| (u64::from(body) * count as u64 / u64::from(total)) as usize;
    let of_same_body = |a: &Link, b: &Link| a.spheres[0][0] == b.spheres[0][0];
    let mut asked = vec![Writer::default(); count];
    for group in links.chunk_by(of_same_body) {
        let body = numbers[group[0].spheres[0][0] as usize];
        let mut of_laws = vec![0_u32; width];
        group
            .iter()
            .for_each(|link| of_laws[link.law as usize] += 1);
        let message = &mut asked[owner(body)];
        message.put(body);
        of_laws.into_iter().for_each(|own| message.put(own));
    }
    let asked = asked.into_iter().map(|message| message.0).collect();
    let asked = ranks.all_to_all(asked);
    let before = bonds_before(ranks, width, &asked);
    let answers = ranks.all_to_all(before);
    let mut answers: Vec<Reader> = answers.iter().map(|answer| Reader(answer)).collect();
    let mut indices = Vec::with_capacity(links.len());
    for group in links.chunk_by_mut(of_same_body) {
        let answer = &mut answers[owner(numbers[group[0].spheres[0][0] as usize])];
        let mut next: Vec<u64> = (0..width).map(|_| answer.take()).collect();
        let first: u64 = next.iter().sum();
        for (index, link) in (first..).zip(group) {
            let law = link.law as usize;
            link.strength = laws[law].strength(next[law]);
            next[law] += 1;
            indices.push(index as u32);
        }
    }
    indices
}

/// Counts the bonds of each law before those of each body. Messages have the bodies, and how many bonds of each law they are the first of.
fn bonds_before(ranks: &dyn Ranks, width: usize, asked: &[Vec<u8>]) -> Vec<Vec<u8>> {
    // The bodies, who asked for them, and the numbers of their bonds.
    let mut of_bodies: Vec<(u32, usize, Vec<u32>)> = Vec::new();
    for (rank, message) in asked.iter().enumerate() {
        let mut message = Reader(message);
        while !message.is_empty() {
            let body = message.take();
            let of_laws = (0..width).map(|_| message.take()).collect();
            of_bodies.push((body, rank, of_laws));
        }
    }
    of_bodies.sort_unstable_by_key(|(body, ..)| *body);
    let mut own = vec![0_u64; width];
    let add = |sums: &mut [u64], of_laws: &[u32]| {
        for (sum, own) in sums.iter_mut().zip(of_laws) {
            *sum += u64::from(*own);
        }
    };
    for (.., of_laws) in &of_bodies {
        add(&mut own, of_laws);
    }
    let all = ranks.all_gather(bytemuck::cast_slice(&own));
    let all: Vec<u64> = bytemuck::pod_collect_to_vec(&all);
    let mut before = vec![0; width];
    for own in all.chunks(width).take(ranks.rank()) {
        before
            .iter_mut()
            .zip(own)
            .for_each(|(sum, own)| *sum += own);
    }
    let mut answers = vec![Writer::default(); ranks.count()];
    for (_, rank, of_laws) in of_bodies {
        before.iter().for_each(|own| answers[rank].put(*own));
        add(&mut before, &of_laws);
    }
    answers.into_iter().map(|message| message.0).collect()
}

impl Found {
    /// Tells rank 0 what each rank has found.
    pub fn tell(&self, ranks: &dyn Ranks) -> Vec<Vec<u8>> {
        let mut own = Writer::default();
        own.put(self.digest);
        let Survey {
            of_laws,
            wrong,
            limit,
        } = &self.survey;
        let counts: Vec<u64> = of_laws.iter().map(|own| own.0).collect();
        let shortest: Vec<f64> = of_laws.iter().map(|own| own.1).collect();
        own.put_all(&counts);
        own.put_all(&shortest);
        own.put(u32::from(wrong.is_some()));
        if let Some(wrong) = wrong {
            own.put(wrong.spheres);
            own.put(wrong.law as u64);
            own.put([wrong.stiffness, wrong.bending, wrong.radius]);
        }
        own.put(u32::from(limit.is_some()));
        if let Some(limit) = limit {
            own.put(limit.seconds);
            own.put(limit.spheres);
            own.put(limit.law as u64);
        }
        let mut messages = vec![Vec::new(); ranks.count()];
        messages[0] = own.0;
        ranks.all_to_all(messages)
    }
}

fn read_found(message: &mut Reader) -> (u64, Survey) {
    let digest = message.take();
    let counts: Vec<u64> = message.take_all();
    let shortest: Vec<f64> = message.take_all();
    let wrong = (message.take::<u32>() == 1).then(|| {
        let (spheres, law) = (message.take(), message.take::<u64>() as usize);
        let [stiffness, bending, radius] = message.take();
        Wrong {
            spheres,
            law,
            stiffness,
            bending,
            radius,
        }
    });
    let limit = (message.take::<u32>() == 1).then(|| Limit {
        seconds: message.take(),
        spheres: message.take(),
        law: message.take::<u64>() as usize,
    });
    let survey = Survey {
        of_laws: counts.into_iter().zip(shortest).collect(),
        wrong,
        limit,
    };
    (digest, survey)
}

/// Links of all ranks, given what rank 0 and all others have found.
pub(super) fn shared_links(
    ranks: &Arc<dyn Ranks>,
    number: u64,
    own: SomeBonds,
    found: &[Vec<u8>],
) -> SharedLinks {
    let mut survey = Survey::default();
    let mut digest = 0_u64;
    for message in found {
        let (of_rank, others) = read_found(&mut Reader(message));
        digest = digest.wrapping_add(of_rank);
        survey.add(&others);
    }
    SharedLinks {
        survey,
        digest,
        holder: Box::new(Holding {
            ranks: Arc::clone(ranks),
            number,
            own,
        }),
        list: Default::default(),
    }
}

/// Gives rank 0 the links of each rank, with their indices.
pub(super) fn show_links(ranks: &dyn Ranks, own: &SomeBonds) -> Vec<Vec<u8>> {
    let mut message = Writer::default();
    for (link, index) in own.bonds.links().iter().zip(&own.indices) {
        message.put(u64::from(*index));
        let spheres = whole(link, &own.bodies);
        message.put(Link { spheres, ..*link });
    }
    let mut messages = vec![Vec::new(); ranks.count()];
    messages[0] = message.0;
    ranks.all_to_all(messages)
}

/// Bonds of rank 0, which can ask the others for theirs.
struct Holding {
    ranks: Arc<dyn Ranks>,
    number: u64,
    own: SomeBonds,
}

impl LinkHolder for Holding {
    fn number(&self) -> u64 {
        self.number
    }

    fn own(&self) -> &SomeBonds {
        &self.own
    }

    fn all(&self) -> Vec<Link> {
        let mut message = Ask::ShowLinks.message();
        message.put(self.number);
        self.ranks.broadcast(&mut message.0);
        let mut all: Vec<(u64, Link)> = Vec::new();
        for shown in show_links(&*self.ranks, &self.own) {
            let mut shown = Reader(&shown);
            while !shown.is_empty() {
                all.push((shown.take(), shown.take()));
            }
        }
        all.sort_unstable_by_key(|(index, _)| *index);
        all.into_iter().map(|(_, link)| link).collect()
    }
}
