//! From materials to contact parameters: mixing rules, dashpots, stiffnesses and the time step.
//!
//! A contact is a linear spring k and dashpot c between two bodies of effective mass m. With the
//! damping ratio zeta = c / (2 sqrt(k m)) it lasts t_c = pi / sqrt(k/m - (c/2m)²), and ends at
//! overlap 0 with e = exp(-c t_c / 2m) = exp(-pi zeta / sqrt(1 - zeta²)) of its speed; solved for
//! zeta, this is [`damping_ratio`].

use std::f64::consts::PI;

use glam::DVec3;

use super::error::{Problem, exact, rounded};
use super::format;
use crate::clump::Clump;
use crate::model::{ModelBody, ModelPlane, PairLaw};

/// Largest overlap that the stiffness is derived from unless the scene says otherwise, as a fraction
/// of the smallest radius.
pub const MAX_OVERLAP: f64 = 0.01;
/// Tangential over normal stiffness unless the scene says otherwise: with it, a solid sphere's
/// tangential and normal oscillations take the same time in a contact, for 1/m + r²/(2/5 m r²) = 7/2 1/m.
pub const TANGENTIAL_RATIO: f64 = 2.0 / 7.0;
/// Time steps in the shortest contact.
pub const STEPS_PER_CONTACT: f64 = 50.0;
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

/// How long two bodies of the effective mass `mass` (kg) touch, s, with a spring of `stiffness` (N/m)
/// and a dashpot of `damping` (N s/m): t_c = pi / sqrt(k/m - (c/2m)²).
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

/// The least mass that a push along the normal of a contact can meet, kg, since it turns the body too:
/// 1/m_c = 1/m + max (c x n) I⁻¹ (c x n) over the centres c of the spheres and all directions n.
///
/// That quadratic form of n vanishes along c, so its largest eigenvalue solves a quadratic equation,
/// with the trace of the form and the sum of its principal minors.
pub fn contact_mass(clump: &Clump) -> f64 {
    let inverse = clump.inertia.recip();
    let others = DVec3::new(
        inverse.y * inverse.z,
        inverse.x * inverse.z,
        inverse.x * inverse.y,
    );
    let turning = clump.spheres.iter().map(|sphere| {
        let squares = sphere.center * sphere.center;
        let length_squared = squares.element_sum();
        let trace = inverse.dot(length_squared - squares);
        let minors = length_squared * squares.dot(others);
        0.5 * (trace + (trace * trace - 4.0 * minors).max(0.0).sqrt())
    });
    1.0 / (1.0 / clump.mass + turning.fold(0.0, f64::max))
}

/// Parameters of each pair of materials, row by row, still without stiffness.
///
/// Pairs not given mix: friction and restitution by the geometric mean, damping by the arithmetic
/// mean; of a restitution and a damping, half of each dashpot.
pub(super) fn mix(
    materials: &[&format::Material],
    given: &[(usize, usize, &format::Pair)],
) -> Vec<PairLaw> {
    let count = materials.len();
    let mut pairs = Vec::with_capacity(count * count);
    for a in materials {
        for b in materials {
            let (damping_ratio, damping) = mix_dashpots(a, b);
            pairs.push(PairLaw {
                damping_ratio,
                damping,
                friction: geometric_mean(a.friction, b.friction),
                ..PairLaw::default()
            });
        }
    }
    for &(a, b, pair) in given {
        for index in [a * count + b, b * count + a] {
            let law = &mut pairs[index];
            if let Some(restitution) = pair.restitution {
                (law.damping_ratio, law.damping) = (damping_ratio(restitution), 0.0);
            }
            if let Some(damping) = pair.damping {
                (law.damping_ratio, law.damping) = (0.0, damping);
            }
            if let Some(friction) = pair.friction {
                law.friction = friction;
            }
        }
    }
    pairs
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

/// sqrt(a b), and exactly a where both are equal.
fn geometric_mean(a: f64, b: f64) -> f64 {
    if a == b { a } else { (a * b).sqrt() }
}

/// What can touch what at the start of a scene, and how fast.
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
}

/// Two kinds of things that can touch, one of which moves.
struct Encounter {
    /// Index of the pair of materials.
    pair: usize,
    /// Effective mass of a central contact, kg.
    mass: f64,
    /// Effective mass of the contact that meets the least, kg.
    contact_mass: f64,
}

/// Bodies of one shape.
struct Kind {
    material: usize,
    mass: f64,
    contact_mass: f64,
    moving: usize,
}

impl Encounters {
    pub(super) fn new(
        materials: usize,
        shapes: &[Clump],
        planes: &[ModelPlane],
        bodies: &[ModelBody],
        gravity: DVec3,
    ) -> Self {
        let mut moving = vec![0; shapes.len()];
        let mut radii = vec![f64::INFINITY; materials];
        let mut immovable = vec![false; materials];
        for plane in planes {
            immovable[plane.material] = true;
        }
        let mut used = vec![false; shapes.len()];
        for body in bodies {
            used[body.shape] = true;
            if body.fixed {
                immovable[shapes[body.shape].material] = true;
            } else {
                moving[body.shape] += 1;
            }
        }
        for (shape, _) in shapes.iter().zip(&used).filter(|(_, used)| **used) {
            let smallest = shape.spheres.iter().map(|sphere| sphere.radius);
            radii[shape.material] = smallest.fold(radii[shape.material], f64::min);
        }
        let kinds: Vec<Kind> = shapes
            .iter()
            .zip(&moving)
            .filter(|(_, moving)| **moving > 0)
            .map(|(shape, &moving)| Kind {
                material: shape.material,
                mass: shape.mass,
                contact_mass: contact_mass(shape),
                moving,
            })
            .collect();
        Self {
            materials,
            radii,
            list: encounters(&kinds, &immovable),
            speed: closing_speed(shapes, planes, bodies, gravity),
            spin: bodies
                .iter()
                .map(|body| body.angular_velocity.length())
                .fold(0.0, f64::max),
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
        pairs: &mut [PairLaw],
        names: &[String],
    ) -> Result<Vec<String>, Problem> {
        let mut notes = Vec::new();
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
            law.plane_stiffness = stiffness;
            law.tangential_ratio = match contact.tangential_stiffness {
                Some(tangential) if stiffness > 0.0 => tangential / stiffness,
                Some(_) => 0.0,
                None => TANGENTIAL_RATIO,
            };
            law.plane_tangential_ratio = law.tangential_ratio;
        }
        Ok(notes)
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
            masses[encounter.pair] = masses[encounter.pair].max(encounter.mass);
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
        pairs: &[PairLaw],
        names: &[String],
    ) -> Result<TimeStep, Problem> {
        let Some(limits) = self.limits(pairs) else {
            return Ok(self.time_step_without_contact(given, duration));
        };
        let (recommended, reason) = limits.recommended();
        let on = |pair: usize| {
            let (a, b) = (pair / self.materials, pair % self.materials);
            format!("{} on {}", names[a], names[b])
        };
        let (contact, mass) = (on(limits.shortest_pair), rounded(limits.shortest_mass));
        let recommended_s = rounded(recommended);
        let Some(given) = given else {
            let note = match reason {
                Reason::Resolution => format!(
                    "time step {recommended_s} s: t_c/50 of the stiffest contact ({contact}, {mass} kg)"
                ),
                Reason::Stability => format!(
                    "time step {recommended_s} s: half of what is stable, by strong damping or bodies \
                     that are easy to turn ({})",
                    on(limits.stable_pair)
                ),
            };
            return Ok(TimeStep::new(recommended, note));
        };
        let steps = limits.shortest / given;
        if given > limits.stable {
            return Err(Problem::new(
                "contact.time_step",
                format!("{} s", exact(given)),
                format!(
                    "at most {} s, beyond which the contact of {} is unstable",
                    rounded(limits.stable),
                    on(limits.stable_pair)
                ),
            )
            .help(format!(
                "{recommended_s} s is recommended; leave \"time_step\" out to get it"
            )));
        }
        let mut time_step = TimeStep::new(
            given,
            format!(
                "time step {} s: given; t_c/{steps:.0} of the stiffest contact ({contact}, {mass} kg)",
                exact(given)
            ),
        );
        if steps < FEWEST_STEPS_PER_CONTACT {
            time_step.warning = Some(format!(
                "contact.time_step: found {} s, expected at most 1/20 of the shortest contact \
                 ({contact}), which this gives only {steps:.1} steps; {recommended_s} s is recommended",
                exact(given)
            ));
        }
        Ok(time_step)
    }

    fn time_step_without_contact(&self, given: Option<f64>, duration: f64) -> TimeStep {
        if let Some(given) = given {
            return TimeStep::new(given, format!("time step {} s: given", exact(given)));
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
    fn limits(&self, pairs: &[PairLaw]) -> Option<Limits> {
        let mut limits: Option<Limits> = None;
        for encounter in &self.list {
            let law = &pairs[encounter.pair];
            let damping =
                2.0 * law.damping_ratio * (law.stiffness * encounter.mass).sqrt() + law.damping;
            // In a packing, the fastest oscillation is twice as fast as that of one pair, so
            // explicit integration, stable up to 2 over the frequency, is so up to sqrt(m/k).
            let least = encounter.contact_mass;
            let stable = (least / law.stiffness).sqrt().min(least / damping);
            let shortest = contact_time(law.stiffness, encounter.mass, damping);
            let limits = limits.get_or_insert(Limits {
                shortest: f64::INFINITY,
                shortest_pair: encounter.pair,
                shortest_mass: encounter.mass,
                stable: f64::INFINITY,
                stable_pair: encounter.pair,
            });
            if shortest < limits.shortest {
                limits.shortest = shortest;
                limits.shortest_pair = encounter.pair;
                limits.shortest_mass = encounter.mass;
            }
            if stable < limits.stable {
                limits.stable = stable;
                limits.stable_pair = encounter.pair;
            }
        }
        limits
    }
}

/// What the contacts of a scene ask of the time step.
struct Limits {
    /// The shortest central contact, s.
    shortest: f64,
    shortest_pair: usize,
    /// Its effective mass, kg.
    shortest_mass: f64,
    /// The largest stable time step, s, wherever bodies touch.
    stable: f64,
    stable_pair: usize,
}

/// What decides on the time step.
enum Reason {
    Resolution,
    Stability,
}

impl Limits {
    fn recommended(&self) -> (f64, Reason) {
        let resolved = self.shortest / STEPS_PER_CONTACT;
        let stable = 0.5 * self.stable;
        if resolved <= stable {
            (resolved, Reason::Resolution)
        } else {
            (stable, Reason::Stability)
        }
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

fn encounters(kinds: &[Kind], immovable: &[bool]) -> Vec<Encounter> {
    let mut list = Vec::new();
    let materials = immovable.len();
    let mut meet = |a: usize, b: usize, mass: f64, contact_mass: f64| {
        list.push(Encounter {
            pair: a.min(b) * materials + a.max(b),
            mass,
            contact_mass,
        });
    };
    for (index, a) in kinds.iter().enumerate() {
        for (material, _) in immovable.iter().enumerate().filter(|(_, is)| **is) {
            meet(a.material, material, a.mass, a.contact_mass);
        }
        if a.moving > 1 {
            meet(a.material, a.material, 0.5 * a.mass, 0.5 * a.contact_mass);
        }
        for b in &kinds[index + 1..] {
            meet(
                a.material,
                b.material,
                1.0 / (1.0 / a.mass + 1.0 / b.mass),
                1.0 / (1.0 / a.contact_mass + 1.0 / b.contact_mass),
            );
        }
    }
    list
}

/// The fastest closing speed to be expected, m/s: v² = v0² + 2 |g| h.
///
/// v0 is the diagonal of the box of initial velocities, plus the two fastest surface speeds by spin;
/// planes and fixed bodies are at rest. h is how deep a body can fall: straight down onto the first
/// plane, or from the highest body to the lowest.
fn closing_speed(
    shapes: &[Clump],
    planes: &[ModelPlane],
    bodies: &[ModelBody],
    gravity: DVec3,
) -> f64 {
    let bounds: Vec<f64> = shapes.iter().map(Clump::bounding_radius).collect();
    let mut slowest = DVec3::INFINITY;
    let mut fastest = DVec3::NEG_INFINITY;
    let mut surface = [0.0f64; 2];
    if !planes.is_empty() {
        (slowest, fastest) = (DVec3::ZERO, DVec3::ZERO);
    }
    for body in bodies {
        slowest = slowest.min(body.velocity);
        fastest = fastest.max(body.velocity);
        let speed = body.angular_velocity.length() * bounds[body.shape];
        if speed > surface[0] {
            surface = [speed, surface[0]];
        } else if speed > surface[1] {
            surface[1] = speed;
        }
    }
    let initial = (fastest - slowest).max(DVec3::ZERO).length() + surface[0] + surface[1];
    let strength = gravity.length();
    let fall = match gravity.try_normalize() {
        Some(down) => depth_of_fall(planes, bodies, down),
        None => 0.0,
    };
    (initial * initial + 2.0 * strength * fall).sqrt()
}

fn depth_of_fall(planes: &[ModelPlane], bodies: &[ModelBody], down: DVec3) -> f64 {
    let floors: Vec<&ModelPlane> = planes
        .iter()
        .filter(|plane| plane.normal.dot(down) < -WALL)
        .collect();
    let mut onto_plane = 0.0f64;
    let (mut highest, mut lowest) = (f64::INFINITY, f64::NEG_INFINITY);
    for body in bodies {
        let depth = body.position.dot(down);
        lowest = lowest.max(depth);
        if !body.fixed {
            highest = highest.min(depth);
            let first = floors
                .iter()
                .map(|plane| {
                    (plane.point - body.position).dot(plane.normal) / down.dot(plane.normal)
                })
                .fold(f64::INFINITY, f64::min);
            if first.is_finite() {
                onto_plane = onto_plane.max(first);
            }
        }
    }
    onto_plane.max(lowest - highest)
}
