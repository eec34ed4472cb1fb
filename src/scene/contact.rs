//! From materials to contact parameters: mixing rules, dashpots, stiffnesses and the time step.
//!
//! A contact of the normal model `hooke` is a linear spring k and dashpot c between two bodies of effective mass m. With the
//! damping ratio zeta = c / (2 sqrt(k m)) it lasts t_c = pi / sqrt(k/m - (c/2m)²), and ends at
//! overlap 0 with e = exp(-c t_c / 2m) = exp(-pi zeta / sqrt(1 - zeta²)) of its speed; solved for
//! zeta, this is [`damping_ratio`]. Tsuji's dashpot gives Hertz's contact the same e of the same zeta.

use std::collections::{BTreeMap, BTreeSet};
use std::f64::consts::PI;

use glam::DVec3;

use super::error::{Problem, exact, rounded};
use super::format;
use crate::model::bodies::Visit;
use crate::model::bond;
use crate::model::clump::{Clump, turning};
use crate::model::wall::Wall;
use crate::model::{Cohesion, ContactModel, Law, Model, PairLaw, Rolling};

/// Largest overlap that the stiffness is derived from unless the scene says otherwise, as a fraction
/// of the smallest radius.
pub const MAX_OVERLAP: f64 = 0.01;
/// Tangential over normal stiffness unless the scene says otherwise: with it, a solid sphere's
/// tangential and normal oscillations take the same time in a contact, for 1/m + r²/(2/5 m r²) = 7/2 1/m.
pub const TANGENTIAL_RATIO: f64 = 2.0 / 7.0;
/// Tangential over normal stiffness of the normal model `impulse`, and of its dashpots: together, spring and dashpot
/// stop the sliding of a solid sphere in one step.
pub const IMPULSE_TANGENTIAL_RATIO: f64 = 1.0 / 7.0;
/// Longest time step of the normal model `impulse` that is derived, as a part of sqrt(R/g).
const PART_OF_FALL: f64 = 0.01;
/// The part of the smallest radius that the fastest body comes in such a time step.
const PART_OF_RADIUS: f64 = 0.1;
/// Substeps where neither gravity nor speed say how many.
const SUBSTEPS: u32 = 8;
/// Substeps that are derived at most.
const MOST_SUBSTEPS: f64 = 10_000.0;
/// Time that all of them take unless the scene says otherwise, s.
const FRAME: f64 = 1.0 / 60.0;
/// Largest ratio of a time step to the derived one without a warning.
const LONG: f64 = 3.0;
/// Time steps in the shortest contact.
pub const STEPS_PER_CONTACT: f64 = 50.0;
/// Part of the Rayleigh time that a derived time step may have.
pub const PART_OF_RAYLEIGH_TIME: f64 = 0.2;
/// Part of the Rayleigh time above which a given time step draws a warning.
const LARGEST_PART_OF_RAYLEIGH_TIME: f64 = 0.4;
/// Steps in the shortest contact below which a given time step draws a warning.
const FEWEST_STEPS_PER_CONTACT: f64 = 20.0;
/// Steps in a run of bodies that cannot touch each other.
const STEPS_WITHOUT_CONTACT: f64 = 1000.0;
/// Angle that the fastest body of such a run may turn by in a step, rad.
const TURN_WITHOUT_CONTACT: f64 = 0.01;
/// Cosine of the slope from which a plane is a wall, which stops no fall.
const WALL: f64 = 1e-3;

/// Damping ratio of a dashpot that leaves the fraction `restitution` (0 to 1) of the closing speed:
/// zeta = -ln e / sqrt(pi² + ln² e), and its limit, 1, for e = 0.
pub fn damping_ratio(restitution: f64) -> f64 {
    if restitution <= 0.0 {
        return 1.0;
    }
    let log = libm::log(restitution.min(1.0));
    -log / (PI * PI + log * log).sqrt()
}

/// The fraction of the closing speed that a dashpot of a damping ratio leaves, where it may pull at the
/// end: the inverse of [`damping_ratio`].
pub fn restitution(damping_ratio: f64) -> f64 {
    if damping_ratio >= 1.0 {
        return 0.0;
    }
    libm::exp(-PI * damping_ratio / (1.0 - damping_ratio * damping_ratio).sqrt())
}

/// The longest time step (s) at which all contacts of a model are stable, as the check of scenes has it;
/// `None` if nothing can touch, or contacts are as stiff as the time step allows.
pub fn stable_time_step(model: &Model) -> Option<f64> {
    if model.contact.law == Law::Impulse {
        return None;
    }
    let encounters = Encounters::among(
        model.materials.len(),
        &model.shapes,
        &model.walls,
        &|act| model.bodies.visit(act),
        model.gravity,
    );
    let of_bonds = model.bonds.survey().limit;
    let of_bonds = of_bonds.map(|limit| bond::STABLE_STEPS * limit.seconds);
    let of_contacts = encounters.limits(&model.contact, &model.pairs);
    let both = of_contacts
        .map(|limits| limits.stable)
        .into_iter()
        .chain(of_bonds);
    both.reduce(f64::min)
}

/// Returns the duration, s, of a contact of two bodies of the effective mass `mass` (kg), with a spring of
/// `stiffness` (N/m) and a dashpot of `damping` (N s/m): t_c = pi / sqrt(k/m - (c/2m)²).
///
/// At most 2 pi sqrt(m/k), twice the time without damping: from critical damping on, a contact has no
/// end, and its fastest part is what a time step must resolve.
pub fn contact_time(stiffness: f64, mass: f64, damping: f64) -> f64 {
    let longest = 2.0 * PI * (mass / stiffness).sqrt();
    let decay = 0.5 * damping / mass;
    let frequency_squared = stiffness / mass - decay * decay;
    if frequency_squared > 0.0 {
        longest.min(PI / frequency_squared.sqrt())
    } else {
        longest
    }
}

/// Returns the duration, s, of a contact of two spheres of the effective mass `mass` (kg) and radius `radius` (m)
/// by Hertz's law, with the effective modulus E* `modulus` (Pa), if they close at `speed` (m/s) and nothing is damped:
/// t_c = 2.87 (m²/(R E*² v))^(1/5); infinite at rest. Johnson, Contact Mechanics (1985), section 11.4.
pub fn hertz_contact_time(modulus: f64, radius: f64, mass: f64, speed: f64) -> f64 {
    let ratio = mass / modulus;
    2.87 * libm::pow(ratio * (ratio / (radius * speed)), 0.2)
}

/// Their largest overlap, m, as 1/2 m v² = 8/15 E* sqrt(R) d^(5/2) gives it:
/// d = (15/16 m v²/(E* sqrt(R)))^(2/5).
pub fn hertz_largest_overlap(modulus: f64, radius: f64, mass: f64, speed: f64) -> f64 {
    let energy = 0.9375 * mass * speed * speed;
    libm::pow(energy / (modulus * radius.sqrt()), 0.4)
}

/// Returns the time, s, that a Rayleigh wave takes around half of a sphere of `radius` (m):
/// pi R sqrt(rho/G) / (0.1631 nu + 0.8766), with G = E/(2 (1 + nu)).
pub fn rayleigh_time(radius: f64, density: f64, modulus: f64, poisson_ratio: f64) -> f64 {
    let shear_modulus = modulus / (2.0 * (1.0 + poisson_ratio));
    PI * radius * (density / shear_modulus).sqrt() / (0.1631 * poisson_ratio + 0.8766)
}

/// The least mass that a push along the normal of a contact can meet, kg, since it turns the body too:
/// 1/m_c = 1/m + max (c x n) I⁻¹ (c x n) over the centres c of the spheres and all directions n.
#[doc(hidden)]
pub fn contact_mass(clump: &Clump) -> f64 {
    let turning = clump
        .spheres
        .iter()
        .map(|s| turning(clump.inertia, s.center));
    1.0 / (1.0 / clump.mass + turning.fold(0.0, f64::max))
}

/// No more than the least mass that a push along the surface of a body can meet, kg:
/// 1/m_t = 1/m + max (p x f) I⁻¹ (p x f) over the points p of the surfaces of the spheres and all
/// directions f. With p = c + r n, the root of that form is at most that of the form of c, plus r over
/// the root of the least moment of inertia; both are equal for a single sphere.
#[doc(hidden)]
pub fn shear_mass(clump: &Clump) -> f64 {
    let easiest = clump.inertia.min_element();
    let turning = clump.spheres.iter().map(|sphere| {
        let root = turning(clump.inertia, sphere.center).sqrt() + sphere.radius / easiest.sqrt();
        root * root
    });
    1.0 / (1.0 / clump.mass + turning.fold(0.0, f64::max))
}

/// A coefficient of contacts with a history: a material may have it (0 if not), a pair of materials may have another
/// than the geometric mean of the two.
pub(super) struct Coefficient {
    /// Its name in scene files.
    pub name: &'static str,
    /// Words for it in messages.
    pub what: &'static str,
    pub of_material: fn(&format::Material) -> Option<f64>,
    pub of_pair: fn(&format::Pair) -> Option<f64>,
    of_law: fn(&mut PairLaw) -> &mut f64,
}

/// A [`Coefficient`] whose fields have the same name everywhere.
macro_rules! coefficient {
    ($name:ident, $what:literal) => {
        Coefficient {
            name: stringify!($name),
            what: $what,
            of_material: |material| material.$name,
            of_pair: |pair| pair.$name,
            of_law: |law| &mut law.$name,
        }
    };
}

/// All that there are.
pub(super) const COEFFICIENTS: [Coefficient; 2] = [
    coefficient!(rolling_friction, "a coefficient of rolling friction"),
    coefficient!(twisting_friction, "a coefficient of twisting friction"),
];

/// Parameters of each pair of materials, row by row, still without stiffness.
///
/// Pairs not given mix: restitution and friction of each kind by the geometric mean, damping by the
/// arithmetic mean; of a restitution and a damping, half of each dashpot; cohesion by [`mix_cohesion`].
pub(super) fn mix(
    materials: &[&format::Material],
    given: &[(usize, usize, &format::Pair)],
) -> Vec<PairLaw> {
    let count = materials.len();
    let mut pairs = Vec::with_capacity(count * count);
    for a in materials {
        for b in materials {
            let (damping_ratio, damping) = mix_dashpots(a, b);
            let restitutions = a.restitution.zip(b.restitution);
            let mut law = PairLaw {
                restitution: restitutions.map_or(0.0, |(a, b)| geometric_mean(a, b)),
                damping_ratio,
                damping,
                friction: geometric_mean(a.friction, b.friction),
                cohesion: mix_cohesion(
                    cohesion(a.cohesion.as_ref()),
                    cohesion(b.cohesion.as_ref()),
                )
                .unwrap_or_default(),
                ..PairLaw::default()
            };
            for coefficient in &COEFFICIENTS {
                let [a, b] = [a, b].map(|of| (coefficient.of_material)(of).unwrap_or(0.0));
                *(coefficient.of_law)(&mut law) = geometric_mean(a, b);
            }
            let rolling = match [a.rolling, b.rolling].map(Option::unwrap_or_default) {
                [format::Rolling::None, _] | [_, format::Rolling::None] => format::Rolling::None,
                [format::Rolling::Constant, format::Rolling::Constant] => format::Rolling::Constant,
                _ => format::Rolling::Spring,
            };
            set_rolling(&mut law, rolling);
            pairs.push(law);
        }
    }
    for &(a, b, pair) in given {
        for index in [a * count + b, b * count + a] {
            let law = &mut pairs[index];
            if let Some(restitution) = pair.restitution {
                (law.damping_ratio, law.damping) = (damping_ratio(restitution), 0.0);
                law.restitution = restitution;
            }
            if let Some(damping) = pair.damping {
                (law.damping_ratio, law.damping) = (0.0, damping);
            }
            if let Some(friction) = pair.friction {
                law.friction = friction;
            }
            for coefficient in &COEFFICIENTS {
                if let Some(number) = (coefficient.of_pair)(pair) {
                    *(coefficient.of_law)(law) = number;
                }
            }
            if let Some(rolling) = pair.rolling {
                set_rolling(law, rolling);
            }
            if pair.cohesion.is_some() {
                law.cohesion = cohesion(pair.cohesion.as_ref());
            }
        }
    }
    pairs
}

/// Sets how rolling is resisted; if it is not, there is no rolling friction.
fn set_rolling(law: &mut PairLaw, rolling: format::Rolling) {
    law.rolling = match rolling {
        format::Rolling::Constant => Rolling::Constant,
        format::Rolling::Spring | format::Rolling::None => Rolling::Spring,
    };
    if rolling == format::Rolling::None {
        law.rolling_friction = 0.0;
    }
}

/// Puts the settings of all contacts in place of those that follow from the materials of each pair.
pub(super) fn override_pairs(contact: &format::Contact, laws: &mut [PairLaw]) {
    for law in laws {
        if contact.elastic {
            *law = law.elastic();
        }
        if contact.is_frictionless() {
            law.friction = 0.0;
        }
    }
}

/// Damping ratio and directly given damping, N s/m.
fn mix_dashpots(a: &format::Material, b: &format::Material) -> (f64, f64) {
    match (a.restitution, b.restitution) {
        (Some(a), Some(b)) => (damping_ratio(geometric_mean(a, b)), 0.0),
        (ratio_a, ratio_b) => {
            let ratio = |restitution: Option<f64>| restitution.map_or(0.0, damping_ratio);
            let damping = |material: &format::Material| material.damping.unwrap_or(0.0);
            (
                0.5 * (ratio(ratio_a) + ratio(ratio_b)),
                0.5 * (damping(a) + damping(b)),
            )
        }
    }
}

/// Cohesion as it is written; without any work or force, it is none.
pub(super) fn cohesion(written: Option<&format::Cohesion>) -> Cohesion {
    let (work, force, range) = match written {
        None => return Cohesion::None,
        Some(format::Cohesion::Work(work)) => (*work, 0.0, 0.0),
        Some(format::Cohesion::Named(named)) => (
            named.surface_energy.unwrap_or(0.0),
            named.force.unwrap_or(0.0),
            named.range.unwrap_or(0.0),
        ),
    };
    if work > 0.0 {
        Cohesion::SurfaceEnergy(work)
    } else if force > 0.0 {
        Cohesion::Constant { force, range }
    } else {
        Cohesion::None
    }
}

/// Cohesion of two materials: the geometric mean of the works of adhesion, or of the forces with the
/// arithmetic mean of the ranges; none where one of them has none. None of these if their kinds differ.
pub(super) fn mix_cohesion(a: Cohesion, b: Cohesion) -> Option<Cohesion> {
    match (a, b) {
        (Cohesion::None, _) | (_, Cohesion::None) => Some(Cohesion::None),
        (Cohesion::SurfaceEnergy(a), Cohesion::SurfaceEnergy(b)) => {
            Some(Cohesion::SurfaceEnergy(geometric_mean(a, b)))
        }
        (
            Cohesion::Constant { force, range },
            Cohesion::Constant {
                force: other_force,
                range: other_range,
            },
        ) => Some(Cohesion::Constant {
            force: geometric_mean(force, other_force),
            range: 0.5 * (range + other_range),
        }),
        _ => None,
    }
}

/// sqrt(a b), and exactly a where both are equal.
fn geometric_mean(a: f64, b: f64) -> f64 {
    if a == b { a } else { (a * b).sqrt() }
}

/// Pairs that can touch at the start of a scene, and how fast.
pub(super) struct Encounters {
    /// Number of materials.
    materials: usize,
    /// Smallest radius of the spheres of each material, m; infinite if there are none.
    radii: Vec<f64>,
    /// One for each two kinds of things that can touch.
    list: Vec<Encounter>,
    /// Fastest closing speed to be expected, m/s.
    speed: f64,
    /// Largest angular speed of a body at the start, rad/s.
    spin: f64,
    /// Whether walls of each material are rigid, by the normal model `hertz`.
    rigid: Vec<bool>,
    /// The shortest Rayleigh time of the smallest spheres of each material whose elastic constants are
    /// known, s, and that material.
    rayleigh: Option<(f64, usize)>,
}

/// Two kinds of things that can touch, one of which moves.
struct Encounter {
    /// Material of the one that moves.
    first: usize,
    /// Material of the other.
    second: usize,
    /// Whether the other is a wall.
    wall: bool,
    /// Effective mass of a central contact, kg.
    mass: f64,
    /// Effective mass of the contact that meets the least, kg.
    contact_mass: f64,
    /// Effective mass of the push along the surface that meets the least, kg.
    shear_mass: f64,
    /// Largest effective radius R1 R2/(R1 + R2), m.
    radius: f64,
    /// Contacts that there are where flat sides meet.
    flat: usize,
}

/// Bodies of one shape, where they are of one material.
struct Kind {
    shape: usize,
    material: usize,
    mass: f64,
    contact_mass: f64,
    shear_mass: f64,
    /// Largest radius of its spheres of that material, m.
    radius: f64,
    /// Spheres that it lies on where it lies flat; see [`lies_on`].
    flat: usize,
    moving: usize,
}

/// Spring and dashpot of an encounter at its stiffest.
struct Stiffest {
    /// Normal stiffness, N/m.
    normal: f64,
    /// Stiffness of the tangential spring, N/m; 0 of a law that has none.
    shear: f64,
    /// Normal dashpot, N s/m.
    damping: f64,
    /// Duration of a central contact, s.
    time: f64,
}

impl Encounters {
    pub(super) fn new(
        materials: &[&format::Material],
        rigid: Vec<bool>,
        shapes: &[Clump],
        walls: &[Wall],
        bodies: Visit,
        gravity: DVec3,
    ) -> Self {
        let mut encounters = Self::among(materials.len(), shapes, walls, bodies, gravity);
        encounters.rigid = rigid;
        let rayleigh = materials.iter().zip(&encounters.radii).enumerate();
        let rayleigh = rayleigh.filter_map(|(index, (material, radius))| {
            let (modulus, ratio) = material.young_modulus.zip(material.poisson_ratio)?;
            let time = rayleigh_time(*radius, material.density, modulus, ratio);
            time.is_finite().then_some((time, index))
        });
        encounters.rayleigh = rayleigh.min_by(|a, b| a.0.total_cmp(&b.0));
        encounters
    }

    /// Makes the encounters of a number of materials of which nothing else is known.
    fn among(
        materials: usize,
        shapes: &[Clump],
        walls: &[Wall],
        bodies: Visit,
        gravity: DVec3,
    ) -> Self {
        let mut moving = vec![0; shapes.len()];
        let mut radii = vec![f64::INFINITY; materials];
        let mut obstacles = vec![Obstacles::default(); materials];
        for wall in walls {
            obstacles[wall.material].wall = true;
        }
        let mut used = vec![false; shapes.len()];
        let mut spin: f64 = 0.0;
        bodies(&mut |body| {
            spin = spin.max(body.angular_velocity.length());
            used[body.shape] = true;
            let shape = &shapes[body.shape];
            if body.fixed {
                for (sphere, material) in shape.spheres.iter().zip(&shape.materials) {
                    let largest = &mut obstacles[*material].largest_fixed;
                    *largest = largest.max(sphere.radius);
                }
            } else {
                moving[body.shape] += 1;
            }
        });
        for (shape, _) in shapes.iter().zip(&used).filter(|(_, used)| **used) {
            for (sphere, material) in shape.spheres.iter().zip(&shape.materials) {
                radii[*material] = radii[*material].min(sphere.radius);
            }
        }
        let mut kinds = Vec::new();
        for (index, (shape, &moving)) in shapes.iter().zip(&moving).enumerate() {
            if moving == 0 {
                continue;
            }
            let mut largest = BTreeMap::new();
            for (sphere, material) in shape.spheres.iter().zip(&shape.materials) {
                let radius: &mut f64 = largest.entry(*material).or_default();
                *radius = radius.max(sphere.radius);
            }
            let (contact_mass, shear_mass) = (contact_mass(shape), shear_mass(shape));
            let flat = lies_on(shape);
            kinds.extend(largest.into_iter().map(|(material, radius)| Kind {
                shape: index,
                material,
                mass: shape.mass,
                contact_mass,
                shear_mass,
                radius,
                flat,
                moving,
            }));
        }
        Self {
            materials,
            list: encounters(&kinds, &obstacles),
            speed: closing_speed(shapes, walls, bodies, gravity),
            spin,
            rigid: vec![true; materials],
            rayleigh: None,
            radii,
        }
    }

    /// Whether two things can touch at all.
    pub(super) fn any(&self) -> bool {
        !self.list.is_empty()
    }

    /// Sets the stiffnesses of all pairs, and says what was derived.
    ///
    /// # Errors
    ///
    /// If the stiffness is to be derived and nothing moves.
    pub(super) fn stiffen(
        &self,
        contact: &format::Contact,
        materials: &[&format::Material],
        pairs: &mut [PairLaw],
        names: &[String],
    ) -> Result<Vec<String>, Problem> {
        if contact.normal == format::NormalModel::Impulse {
            for law in pairs {
                law.tangential_ratio = IMPULSE_TANGENTIAL_RATIO;
                law.wall_tangential_ratio = IMPULSE_TANGENTIAL_RATIO;
            }
            return Ok(Vec::new());
        }
        if contact.normal == format::NormalModel::Hertz {
            elastic(materials, &self.rigid, pairs);
            return Ok(self.elastic_notes(pairs, names));
        }
        let mut notes = Vec::new();
        if contact.normal == format::NormalModel::Custom {
            notes.push(
                "the elastic energy of contacts with a custom law is not known: statistics and totals \
                 leave it out"
                    .to_owned(),
            );
        }
        let stiffnesses = match contact.stiffness {
            Some(stiffness) => vec![stiffness; pairs.len()],
            None if self.any() && self.speed == 0.0 => {
                return Err(Problem::new(
                    "contact.stiffness",
                    "nothing",
                    "a stiffness greater than 0 (N/m), since it cannot be derived from the largest \
                     overlap where nothing moves or falls",
                ));
            }
            None => {
                let fraction = contact.max_overlap.unwrap_or(MAX_OVERLAP);
                self.derive_stiffness(fraction, names, &mut notes)
            }
        };
        for (law, stiffness) in pairs.iter_mut().zip(stiffnesses) {
            law.stiffness = stiffness;
            law.wall_stiffness = stiffness;
            law.tangential_ratio = match contact.tangential_stiffness {
                Some(tangential) if stiffness > 0.0 => tangential / stiffness,
                Some(_) => 0.0,
                None => TANGENTIAL_RATIO,
            };
            law.wall_tangential_ratio = law.tangential_ratio;
        }
        Ok(notes)
    }

    /// The effective moduli of what can touch.
    fn elastic_notes(&self, pairs: &[PairLaw], names: &[String]) -> Vec<String> {
        let mut notes = Vec::new();
        let touching: BTreeSet<(usize, bool, Option<usize>)> = self
            .list
            .iter()
            .map(|encounter| {
                let (first, second) = (encounter.first, encounter.second);
                match encounter.wall {
                    true if self.rigid[second] => (first, true, None),
                    true => (first, true, Some(second)),
                    false => (first.min(second), false, Some(first.max(second))),
                }
            })
            .collect();
        for (a, wall, other) in touching {
            // All rigid walls are the same to a sphere.
            let rigid = || self.rigid.iter().position(|rigid| *rigid);
            let b = other.or_else(rigid).unwrap_or(a);
            let pair = &pairs[a * self.materials + b];
            let (stiffness, other) = match (wall, other) {
                (false, _) => (pair.stiffness, names[b].clone()),
                (true, Some(_)) => (pair.wall_stiffness, format!("a wall of {}", names[b])),
                (true, None) => (pair.wall_stiffness, "a rigid wall".to_owned()),
            };
            notes.push(format!(
                "effective modulus {} Pa of {} on {other}",
                rounded(0.75 * stiffness),
                names[a],
            ));
        }
        notes
    }

    /// Index of the pair of materials of an encounter, in the table that has both orders.
    fn pair(&self, encounter: &Encounter) -> usize {
        encounter.first * self.materials + encounter.second
    }

    /// k = m v²/(f R)², the stiffness at which the heaviest two bodies of a pair of materials stop
    /// each other within the fraction f of the smallest radius R, undamped. A pair that cannot touch
    /// gets the largest of the others.
    fn derive_stiffness(
        &self,
        fraction: f64,
        names: &[String],
        notes: &mut Vec<String>,
    ) -> Vec<f64> {
        let mut masses = vec![0.0f64; self.materials * self.materials];
        for encounter in &self.list {
            let (a, b) = (encounter.first, encounter.second);
            let mass = &mut masses[a.min(b) * self.materials + a.max(b)];
            *mass = mass.max(encounter.mass);
        }
        let mut stiffnesses = vec![0.0; masses.len()];
        for a in 0..self.materials {
            for b in a..self.materials {
                let mass = masses[a * self.materials + b];
                if mass > 0.0 {
                    let overlap = fraction * self.radii[a].min(self.radii[b]);
                    let speed_ratio = self.speed / overlap;
                    let stiffness = mass * speed_ratio * speed_ratio;
                    stiffnesses[a * self.materials + b] = stiffness;
                    stiffnesses[b * self.materials + a] = stiffness;
                    notes.push(format!(
                        "stiffness {} N/m of {} on {}: stops {} kg at {} m/s within {} m",
                        rounded(stiffness),
                        names[a],
                        names[b],
                        rounded(mass),
                        rounded(self.speed),
                        rounded(overlap)
                    ));
                }
            }
        }
        let largest = stiffnesses.iter().copied().fold(0.0, f64::max);
        for stiffness in &mut stiffnesses {
            if *stiffness == 0.0 {
                *stiffness = largest;
            }
        }
        stiffnesses
    }

    /// The frame of the normal model `impulse`, s, its number of substeps, and what to say of them; and sets the stiffnesses of
    /// the stiffest contacts of all pairs.
    pub(super) fn substeps(
        &self,
        contact: &format::Contact,
        gravity: DVec3,
        pairs: &mut [PairLaw],
    ) -> (f64, u32, TimeStep) {
        let frame = contact.time_step.unwrap_or(FRAME);
        let radius = self.radii.iter().copied().fold(f64::INFINITY, f64::min);
        let of_gravity = PART_OF_FALL * (radius / gravity.length()).sqrt();
        let of_speed = PART_OF_RADIUS * radius / self.speed;
        let longest = of_gravity.min(of_speed);
        // Whether or not anything can touch yet: a program may put more bodies into a model.
        let derived = if longest.is_finite() {
            // A little less, so that a whole number stays what it is.
            ((frame / longest * (1.0 - 1e-9)).ceil()).clamp(1.0, MOST_SUBSTEPS) as u32
        } else {
            SUBSTEPS
        };
        let substeps = contact.substeps.unwrap_or(derived);
        let seconds = frame / f64::from(substeps);
        let reason = if contact.substeps.is_some() {
            "given"
        } else if !longest.is_finite() {
            "the default, since neither gravity nor a speed sets them"
        } else if of_gravity <= of_speed {
            "a hundredth of sqrt(R/g) of the smallest radius"
        } else {
            "a tenth of the smallest radius at the fastest speed"
        };
        let mut time_step = TimeStep::new(
            seconds,
            format!(
                "time step {} s: {substeps} substeps of {} s; {reason}",
                rounded(seconds),
                rounded(frame)
            ),
        );
        if self.any() && seconds > LONG * longest {
            time_step.warning = Some(format!(
                "contact.substeps: found {substeps}, expected about {derived}: bodies in heaps will overlap \
                 deeply, since contacts are only as stiff as a step allows"
            ));
        }
        self.stiffen_for(seconds, pairs);
        (frame, substeps, time_step)
    }

    /// Sets the stiffnesses of all pairs to those that their stiffest contacts have by the normal model `impulse` with a time step
    /// (s).
    pub(super) fn stiffen_for(&self, seconds: f64, pairs: &mut [PairLaw]) {
        pairs.iter_mut().for_each(|law| law.stiffness = 0.0);
        let stiffest = |encounter: &Encounter| encounter.mass / (seconds * seconds);
        for encounter in &self.list {
            let (a, b) = (encounter.first, encounter.second);
            for index in [a * self.materials + b, b * self.materials + a] {
                let law = &mut pairs[index];
                law.stiffness = law.stiffness.max(stiffest(encounter));
            }
        }
        let largest = pairs.iter().map(|law| law.stiffness).fold(0.0, f64::max);
        for law in pairs {
            if law.stiffness == 0.0 {
                law.stiffness = largest;
            }
            law.wall_stiffness = law.stiffness;
        }
    }

    /// The time step, s, given or derived, with a note on where it comes from, and a warning if it is
    /// coarse.
    ///
    /// # Errors
    ///
    /// If the given one is unstable.
    pub(super) fn time_step(
        &self,
        given: Option<f64>,
        duration: f64,
        contact: &ContactModel,
        pairs: &[PairLaw],
        names: &[String],
    ) -> Result<TimeStep, Problem> {
        let Some(limits) = self.limits(contact, pairs) else {
            return Ok(self.time_step_without_contact(given, duration));
        };
        let (recommended, reason) = limits.recommended();
        let on = |encounter: &Encounter| {
            let (a, b) = (encounter.first, encounter.second);
            format!("{} on {}", names[a.min(b)], names[a.max(b)])
        };
        let (stiffest, mass) = (on(limits.shortest_of), rounded(limits.shortest_of.mass));
        let recommended_s = rounded(recommended);
        let flat = |seconds: f64| {
            let (longest, encounter) = limits.flat;
            (seconds > longest).then(|| {
                format!(
                    "contact.time_step: found {} s, expected at most {} s: bodies on their flat sides touch with {} spheres at \
                     once ({}), and so many springs and dashpots together are unstable; take a shorter step, fewer \
                     spheres, or a restitution nearer to 1",
                    rounded(seconds),
                    rounded(longest),
                    encounter.flat,
                    on(encounter)
                )
            })
        };
        let Some(given) = given else {
            let note = match reason {
                Reason::Resolution => format!(
                    "time step {recommended_s} s: t_c/50 of the stiffest contact ({stiffest}, {mass} kg)"
                ),
                Reason::Stability => format!(
                    "time step {recommended_s} s: half of the stability limit, set by {} ({})",
                    limits.unstable_by,
                    on(limits.stable_of)
                ),
                Reason::Waves(material) => format!(
                    "time step {recommended_s} s: {} % of the Rayleigh time of the smallest sphere of {}",
                    100.0 * PART_OF_RAYLEIGH_TIME,
                    names[material]
                ),
            };
            return Ok(TimeStep {
                warning: flat(recommended),
                ..TimeStep::new(recommended, note)
            });
        };
        if given > limits.stable {
            return Err(Problem::new(
                "contact.time_step",
                format!("{} s", exact(given)),
                format!(
                    "at most {} s, beyond which the contact of {} is unstable",
                    rounded(limits.stable),
                    on(limits.stable_of)
                ),
            )
            .help(format!(
                "{recommended_s} s is recommended; leave \"time_step\" out to get it"
            )));
        }
        let steps = limits.shortest / given;
        let given_s = rounded(given);
        let part = match limits.rayleigh {
            Some((time, material)) if steps.is_infinite() => format!(
                "{} % of the Rayleigh time of the smallest sphere of {}",
                rounded(100.0 * given / time),
                names[material]
            ),
            _ => format!("t_c/{steps:.0} of the stiffest contact ({stiffest}, {mass} kg)"),
        };
        let mut time_step = TimeStep::new(given, format!("time step {given_s} s: given; {part}"));
        if steps < FEWEST_STEPS_PER_CONTACT {
            time_step.warning = Some(format!(
                "contact.time_step: found {given_s} s, expected at most 1/20 of the shortest contact \
                 ({stiffest}), which now lasts only {steps:.1} steps; {recommended_s} s is recommended"
            ));
        } else if let Some((time, material)) = limits.rayleigh
            && given > LARGEST_PART_OF_RAYLEIGH_TIME * time
        {
            time_step.warning = Some(format!(
                "contact.time_step: found {given_s} s, expected at most {} % of the Rayleigh time of the \
                 smallest sphere of {}, which is {} s; {recommended_s} s is recommended",
                100.0 * LARGEST_PART_OF_RAYLEIGH_TIME,
                names[material],
                rounded(time)
            ));
        }
        time_step.warning = flat(given).or(time_step.warning);
        Ok(time_step)
    }

    fn time_step_without_contact(&self, given: Option<f64>, duration: f64) -> TimeStep {
        if let Some(given) = given {
            return TimeStep::new(given, format!("time step {} s: given", rounded(given)));
        }
        let duration = if duration > 0.0 { duration } else { 1.0 };
        let of_duration = duration / STEPS_WITHOUT_CONTACT;
        let of_turn = TURN_WITHOUT_CONTACT / self.spin;
        let (seconds, reason) = if of_duration <= of_turn {
            (of_duration, "a thousandth of the duration")
        } else {
            (of_turn, "0.01 rad of the fastest spin")
        };
        let note = format!(
            "time step {} s: {reason}, since nothing can touch",
            rounded(seconds)
        );
        TimeStep::new(seconds, note)
    }

    /// None if nothing can touch.
    fn limits(&self, contact: &ContactModel, pairs: &[PairLaw]) -> Option<Limits<'_>> {
        let first = self.list.first()?;
        let mut limits = Limits {
            shortest: f64::INFINITY,
            shortest_of: first,
            stable: f64::INFINITY,
            stable_of: first,
            unstable_by: "",
            rayleigh: self.rayleigh.filter(|_| contact.law == Law::HertzMindlin),
            flat: (f64::INFINITY, first),
        };
        for encounter in &self.list {
            let law = &pairs[self.pair(encounter)];
            let stiffest = self.stiffest(encounter, &contact.law, law);
            if stiffest.time < limits.shortest {
                limits.shortest = stiffest.time;
                limits.shortest_of = encounter;
            }
            let flat = stiffest.stable_for(encounter.flat as f64, encounter.mass);
            if flat < limits.flat.0 {
                limits.flat = (flat, encounter);
            }
            // In a packing, the fastest oscillation is twice as fast as that of one pair, so
            // explicit integration, stable up to 2 over the frequency, is so up to sqrt(m/k).
            let stable = |mass: f64, stiffness: f64, damping: f64| {
                (mass / stiffness).sqrt().min(mass / damping)
            };
            let normal = stable(encounter.contact_mass, stiffest.normal, stiffest.damping);
            let shear_damping = match contact.law {
                Law::HookeViscous => 0.0,
                _ => contact.tangential_damping * stiffest.damping,
            };
            let shear = stable(encounter.shear_mass, stiffest.shear, shear_damping);
            for (seconds, reason) in [
                (normal, "strong damping or bodies that are easy to turn"),
                (shear, "the tangential spring and dashpot"),
            ] {
                if seconds < limits.stable {
                    limits.stable = seconds;
                    limits.stable_of = encounter;
                    limits.unstable_by = reason;
                }
            }
        }
        Some(limits)
    }

    /// Spring and dashpot of an encounter, by Hertz's law at the largest overlap to be expected.
    fn stiffest(&self, encounter: &Encounter, law: &Law, pair: &PairLaw) -> Stiffest {
        let mass = encounter.mass;
        let critical = |stiffness: f64| 2.0 * (stiffness * mass).sqrt();
        if *law == Law::HertzMindlin {
            let (stiffness, ratio) = if encounter.wall {
                (pair.wall_stiffness, pair.wall_tangential_ratio)
            } else {
                (pair.stiffness, pair.tangential_ratio)
            };
            let (modulus, radius) = (0.75 * stiffness, encounter.radius);
            let overlap = hertz_largest_overlap(modulus, radius, mass, self.speed);
            let tangent = 2.0 * modulus * (radius * overlap).sqrt();
            return Stiffest {
                normal: tangent,
                shear: ratio * tangent,
                damping: (5.0f64 / 6.0).sqrt() * pair.damping_ratio * critical(tangent)
                    + pair.damping,
                time: hertz_contact_time(modulus, radius, mass, self.speed),
            };
        }
        let damping = pair.damping_ratio * critical(pair.stiffness) + pair.damping;
        Stiffest {
            normal: pair.stiffness,
            shear: match law {
                Law::HookeViscous => 0.0,
                _ => pair.tangential_ratio * pair.stiffness,
            },
            damping,
            time: contact_time(pair.stiffness, mass, damping),
        }
    }
}

/// Sets the stiffnesses of all pairs by Hertz's and Mindlin's laws; those of a material without elastic
/// constants, which only walls have, stay 0. Walls of some materials are `rigid`.
fn elastic(materials: &[&format::Material], rigid: &[bool], pairs: &mut [PairLaw]) {
    // (1 - nu²)/E and (2 - nu)/G with G = E/(2 (1 + nu)).
    let compliances: Vec<Option<(f64, f64)>> = materials
        .iter()
        .map(|material| {
            let (modulus, nu) = material.young_modulus.zip(material.poisson_ratio)?;
            let normal = (1.0 - nu) * (1.0 + nu) / modulus;
            Some((normal, (2.0 - nu) * 2.0 * (1.0 + nu) / modulus))
        })
        .collect();
    let springs = |(normal, shear): (f64, f64)| (4.0 / 3.0 / normal, 4.0 * normal / shear);
    for (index, pair) in pairs.iter_mut().enumerate() {
        let a = compliances[index / materials.len()];
        let b = compliances[index % materials.len()];
        if let Some(a) = a {
            (pair.wall_stiffness, pair.wall_tangential_ratio) = springs(a);
        }
        if let Some((a, b)) = a.zip(b) {
            (pair.stiffness, pair.tangential_ratio) = springs((a.0 + b.0, a.1 + b.1));
            if !rigid[index % materials.len()] {
                pair.wall_stiffness = pair.stiffness;
                pair.wall_tangential_ratio = pair.tangential_ratio;
            }
        }
    }
}

/// Bounds of the time step that the contacts of a scene ask for.
struct Limits<'a> {
    /// The shortest central contact, s; infinite where nothing moves or falls.
    shortest: f64,
    shortest_of: &'a Encounter,
    /// The largest stable time step, s, wherever bodies touch.
    stable: f64,
    stable_of: &'a Encounter,
    /// The part of the contact that makes it no longer.
    unstable_by: &'static str,
    /// Shortest Rayleigh time, s, and its material, with the normal model `hertz`.
    rayleigh: Option<(f64, usize)>,
    /// The largest stable time step, s, where flat sides meet.
    flat: (f64, &'a Encounter),
}

impl Stiffest {
    /// The largest stable time step, s, of a mass (kg) on `count` such springs and dashpots beside each other.
    fn stable_for(&self, count: f64, mass: f64) -> f64 {
        let frequency = (count * self.normal / mass).sqrt();
        let ratio = 0.5 * count * self.damping / (mass * frequency);
        2.0 / frequency * ((1.0 + ratio * ratio).sqrt() - ratio)
    }
}

/// The most spheres of a shape that touch a plane at once, of the planes across its own axes.
fn lies_on(clump: &Clump) -> usize {
    let along = |axis: DVec3| {
        let ends = || {
            let spheres = clump.spheres.iter();
            spheres.map(move |sphere| (sphere.center.dot(axis) + sphere.radius, sphere.radius))
        };
        let end = ends().map(|(end, _)| end).fold(f64::MIN, f64::max);
        ends()
            .filter(|(own, radius)| end - own < 1e-3 * radius)
            .count()
    };
    let axes = DVec3::AXES.into_iter().flat_map(|axis| [axis, -axis]);
    axes.map(along).max().unwrap_or(1)
}

/// The bound that decides on the time step.
enum Reason {
    Resolution,
    Stability,
    /// Waves through spheres of this material.
    Waves(usize),
}

impl Limits<'_> {
    fn recommended(&self) -> (f64, Reason) {
        let mut recommended = (self.shortest / STEPS_PER_CONTACT, Reason::Resolution);
        let waves = self
            .rayleigh
            .map(|(time, material)| (PART_OF_RAYLEIGH_TIME * time, Reason::Waves(material)));
        let stable = (0.5 * self.stable, Reason::Stability);
        for limit in [Some(stable), waves].into_iter().flatten() {
            if limit.0 < recommended.0 {
                recommended = limit;
            }
        }
        recommended
    }
}

/// A time step and what to say about it.
pub(super) struct TimeStep {
    pub(super) seconds: f64,
    pub(super) note: String,
    pub(super) warning: Option<String>,
}

impl TimeStep {
    fn new(seconds: f64, note: String) -> Self {
        Self {
            seconds,
            note,
            warning: None,
        }
    }
}

/// Fixed bodies and walls of one material.
#[derive(Clone, Copy, Default)]
struct Obstacles {
    /// Whether there is a wall.
    wall: bool,
    /// Largest radius of the spheres of fixed bodies, m; 0 if there are none.
    largest_fixed: f64,
}

fn encounters(kinds: &[Kind], obstacles: &[Obstacles]) -> Vec<Encounter> {
    let together = |a: f64, b: f64| 1.0 / (1.0 / a + 1.0 / b);
    let mut list = Vec::new();
    for (index, a) in kinds.iter().enumerate() {
        for (material, obstacles) in obstacles.iter().enumerate() {
            let alone = |wall: bool, radius: f64| Encounter {
                first: a.material,
                second: material,
                wall,
                mass: a.mass,
                contact_mass: a.contact_mass,
                shear_mass: a.shear_mass,
                radius,
                flat: a.flat,
            };
            if obstacles.wall {
                list.push(alone(true, a.radius));
            }
            if obstacles.largest_fixed > 0.0 {
                list.push(alone(false, together(a.radius, obstacles.largest_fixed)));
            }
        }
        if a.moving > 1 {
            list.push(Encounter {
                first: a.material,
                second: a.material,
                wall: false,
                mass: 0.5 * a.mass,
                contact_mass: 0.5 * a.contact_mass,
                shear_mass: 0.5 * a.shear_mass,
                radius: 0.5 * a.radius,
                flat: a.flat,
            });
        }
        for b in &kinds[index + 1..] {
            // A body does not touch itself.
            if a.shape == b.shape && a.moving == 1 {
                continue;
            }
            list.push(Encounter {
                first: a.material,
                second: b.material,
                wall: false,
                mass: together(a.mass, b.mass),
                contact_mass: together(a.contact_mass, b.contact_mass),
                shear_mass: together(a.shear_mass, b.shear_mass),
                radius: together(a.radius, b.radius),
                flat: a.flat.min(b.flat),
            });
        }
    }
    list
}

/// The fastest closing speed to be expected, m/s: v² = v0² + 2 |g| h.
///
/// v0 is the diagonal of the box of initial velocities, plus the two fastest surface speeds by spin, plus
/// the fastest speed of a wall; fixed bodies are at rest. h is how deep a body can fall: straight down onto
/// the first plane or, where there is none, to the lowest point of the other walls, or from the highest
/// body to the lowest.
fn closing_speed(shapes: &[Clump], walls: &[Wall], bodies: Visit, gravity: DVec3) -> f64 {
    let bounds: Vec<f64> = shapes.iter().map(Clump::bounding_radius).collect();
    let mut slowest = DVec3::INFINITY;
    let mut fastest = DVec3::NEG_INFINITY;
    let mut surface = [0.0f64; 2];
    if !walls.is_empty() {
        (slowest, fastest) = (DVec3::ZERO, DVec3::ZERO);
    }
    bodies(&mut |body| {
        slowest = slowest.min(body.velocity);
        fastest = fastest.max(body.velocity);
        let speed = body.angular_velocity.length() * bounds[body.shape];
        if speed > surface[0] {
            surface = [speed, surface[0]];
        } else if speed > surface[1] {
            surface[1] = speed;
        }
    });
    let of_walls = walls.iter().map(Wall::top_speed).fold(0.0, f64::max);
    let initial =
        (fastest - slowest).max(DVec3::ZERO).length() + surface[0] + surface[1] + of_walls;
    let strength = gravity.length();
    let fall = match gravity.try_normalize() {
        Some(down) => depth_of_fall(walls, bodies, down),
        None => 0.0,
    };
    (initial * initial + 2.0 * strength * fall).sqrt()
}

fn depth_of_fall(walls: &[Wall], bodies: Visit, down: DVec3) -> f64 {
    let planes = walls
        .iter()
        .filter_map(|wall| Some((wall.pose.position, wall.plane_normal()?)));
    let floors: Vec<(DVec3, DVec3)> = planes
        .filter(|(_, normal)| normal.dot(down) < -WALL)
        .collect();
    let bottom = walls
        .iter()
        .filter_map(|wall| Some(wall.lowest(down)?.dot(down)))
        .fold(f64::NEG_INFINITY, f64::max);
    let mut onto_wall = 0.0f64;
    let (mut highest, mut lowest) = (f64::INFINITY, f64::NEG_INFINITY);
    bodies(&mut |body| {
        let depth = body.position.dot(down);
        lowest = lowest.max(depth);
        if !body.fixed {
            highest = highest.min(depth);
            let first = floors
                .iter()
                .map(|(point, normal)| (point - body.position).dot(*normal) / down.dot(*normal))
                .fold(f64::INFINITY, f64::min);
            let first = if first.is_finite() {
                first
            } else {
                bottom - depth
            };
            onto_wall = onto_wall.max(first);
        }
    });
    onto_wall.max(lowest - highest)
}
