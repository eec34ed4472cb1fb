//! Models, devices and random numbers for tests.

#![allow(dead_code, reason = "each test binary uses a part of it")]

use std::path::{Path, PathBuf};
use std::sync::Mutex;

use glam::{DQuat, DVec2, DVec3};
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};

use rockfall::internals::bond::{BondLaw, Bonds, Healing, bonds};
use rockfall::internals::clump::{Clump, ClumpSphere, summed_spheres};
use rockfall::internals::heat::{Heat, Thermal};
use rockfall::model::forces::{AppliedForce, Drag, End, Group, Spring, Water, Wave};
use rockfall::model::wall::motion::Rotation;
use rockfall::model::wall::{Drift, Dynamic, Motion, Pose, RigidWall, Servo, Shape, Side, Wall};
use rockfall::model::{
    Cohesion, ContactModel, Domain, Integrator, Law, Model, ModelBody, PairLaw, Rolling,
};
use rockfall::state::trace::{Sample, Trace};
use rockfall::step::gpu::{Adapter, Context};
use rockfall::{Backend, Options, Simulation, scene};

/// A file or a folder of the repository.
pub fn own(path: &str) -> PathBuf {
    let package = Path::new(env!("CARGO_MANIFEST_DIR"));
    package.ancestors().nth(2).unwrap().join(path)
}

/// The device of a GPU test, on a real GPU or on the software adapter that the test command installs. There is no third
/// case: without either, the tests fail and say why.
///
/// Tests that run at the same time have a device each: one device takes its work one dispatch after the other, and tests
/// with few bodies leave most of a machine idle. A test that ends leaves its device to the next.
pub fn device() -> &'static Context {
    static FREE: Mutex<Vec<&'static Context>> = Mutex::new(Vec::new());
    struct Lease(&'static Context);
    impl Drop for Lease {
        fn drop(&mut self) {
            FREE.lock().unwrap().push(self.0);
        }
    }
    thread_local! {
        static LEASE: Lease = {
            let free = FREE.lock().unwrap().pop();
            Lease(free.unwrap_or_else(|| Box::leak(Box::new(open()))))
        };
    }
    LEASE.with(|lease| lease.0)
}

/// Opens a device of its own for a test that counts what is compiled for it.
pub fn open() -> Context {
    let wanted = std::env::var("ROCKFALL_TEST_ADAPTER").ok();
    let adapter = match &wanted {
        Some(text) => Adapter::choose(Some(text)),
        None => Adapter::choose(None).or_else(|_| Adapter::choose(Some("software"))),
    };
    let adapter = adapter.unwrap_or_else(|error| {
        panic!("the GPU tests need an adapter: {error}; `cargo xtask test` installs one")
    });
    // With no more than any adapter has, so that nothing relies on more; and a software one goes the way of a GPU.
    adapter.open_least().unwrap().taken_for_software(false)
}

/// Options that open a device of its own on the adapter of [`device`].
pub fn gpu_options() -> Options {
    let wanted = std::env::var("ROCKFALL_TEST_ADAPTER").ok();
    let software = || {
        Adapter::choose(None)
            .is_err()
            .then(|| "software".to_owned())
    };
    Options {
        backend: Backend::Gpu,
        adapter: wanted.or_else(software),
        ..Options::default()
    }
}

/// Random numbers for test models.
pub struct Random(ChaCha8Rng);

impl Random {
    pub fn new(seed: u64) -> Random {
        Random(ChaCha8Rng::seed_from_u64(seed))
    }

    pub fn below(&mut self, end: u64) -> u64 {
        self.0.next_u64() % end
    }

    pub fn range(&mut self, min: f64, max: f64) -> f64 {
        min + (max - min) * (self.0.next_u64() >> 11) as f64 / (1_u64 << 53) as f64
    }

    pub fn vector(&mut self, half: f64) -> DVec3 {
        DVec3::from_array(std::array::from_fn(|_| self.range(-half, half)))
    }

    pub fn orientation(&mut self) -> DQuat {
        loop {
            let [x, y, z, w] = std::array::from_fn(|_| self.range(-1.0, 1.0));
            let quaternion = DQuat::from_xyzw(x, y, z, w);
            if (0.01..1.0).contains(&quaternion.length_squared()) {
                return quaternion.normalize();
            }
        }
    }
}

/// A clump of `count` spheres of radius 0.5 to 1, at random around the origin.
pub fn random_clump(random: &mut Random, count: usize, material: usize) -> Clump {
    let spread = 0.7 * (count as f64).cbrt() - 0.6;
    let spheres: Vec<ClumpSphere> = (0..count)
        .map(|_| ClumpSphere {
            center: random.vector(spread),
            radius: random.range(0.5, 1.0),
        })
        .collect();
    Clump::new(
        format!("clump of {count}"),
        material,
        &spheres,
        summed_spheres(&spheres, 1000.0),
    )
}

/// A crowd of overlapping bodies of 1 to 8 spheres (and one of 500 where there is room), `spheres`
/// spheres in all, around `center`, of two materials, with two planes, some of them fixed, all of
/// them moving and turning.
pub fn crowd(spheres: usize, center: DVec3, seed: u64) -> Model {
    let mut random = Random::new(seed);
    let mut shapes: Vec<Clump> = (1..=8)
        .map(|count| random_clump(&mut random, count, count % 2))
        .collect();
    shapes.push(random_clump(&mut random, 500, 0));
    // About one and a half sphere volumes a sphere: everything overlaps something.
    let half = 0.5 * (4.0 * spheres as f64).cbrt();
    let mut bodies = Vec::new();
    let mut left = spheres;
    while left > 0 {
        let shape = if left >= 1000 && bodies.len() == 3 {
            8
        } else {
            (random.below(8) as usize).min(left - 1)
        };
        left -= shapes[shape].spheres.len();
        let fixed = random.below(10) == 0;
        let moving = f64::from(u8::from(!fixed));
        bodies.push(ModelBody {
            shape,
            position: center + random.vector(half),
            orientation: random.orientation(),
            velocity: moving * random.vector(2.0),
            angular_velocity: moving * random.vector(5.0),
            fixed,
            ..ModelBody::default()
        });
    }
    let law = |stiffness: f64, friction: f64| PairLaw {
        stiffness,
        damping_ratio: 0.2,
        damping: 3.0,
        wall_stiffness: stiffness,
        tangential_ratio: 2.0 / 7.0,
        wall_tangential_ratio: 2.0 / 7.0,
        friction,
        ..PairLaw::default()
    };
    Model {
        flow: rockfall::model::flow::Flow::default(),
        forces: rockfall::model::forces::Forces::default(),
        sleep: None,
        heat: None,
        bonds: Bonds::default(),
        stages: Default::default(),
        wall_groups: Vec::new(),
        view: rockfall::model::view::SceneView::default(),
        history: None,
        domain: None,
        deform: Default::default(),
        breakage: Vec::new(),
        breakage_names: Vec::new(),
        held: Vec::new(),
        gravity_table: Default::default(),
        contact: ContactModel::default(),
        name: "crowd".to_owned(),
        gravity: DVec3::new(0.5, -9.81, 0.1),
        duration: 1.0,
        time_step: 1e-4,
        integrator: Integrator::SemiImplicit,
        materials: vec!["stone".to_owned(), "steel".to_owned()],
        pairs: vec![law(1e6, 0.5), law(2e6, 0.4), law(2e6, 0.4), law(3e6, 0.1)],
        shapes,
        walls: vec![
            Wall::plane(center - DVec3::Y * half * 0.8, DVec3::Y, 0),
            Wall::plane(
                center - DVec3::new(0.5, 0.3, -0.2).normalize() * half,
                DVec3::new(0.5, 0.3, -0.2).normalize(),
                1,
            ),
        ],
        bodies: bodies.into(),
    }
}

/// A crowd in which all that can act on bodies does: drag, groups, springs, applied forces, water with waves.
pub fn forced_crowd(spheres: usize, center: DVec3, seed: u64) -> Model {
    let mut model = crowd(spheres, center, seed);
    let mut random = Random::new(seed);
    let drag = |linear, angular| Drag { linear, angular };
    model.gravity = DVec3::NEG_Y * 9.81;
    model.forces.groups[0].drag = drag(300.0, 20.0);
    model.forces.groups.push(Group {
        name: "other".to_owned(),
        gravity: Some(DVec3::new(3.0, 1.0, -2.0)),
        ignores: 0b11,
        drag: drag(0.0, 500.0),
    });
    let count = model.bodies.len() as u64;
    for body in &mut model.bodies {
        body.group = random.below(2) as usize;
    }
    for _ in 0..count {
        let end = |random: &mut Random| End::Body {
            body: random.below(count) as usize,
            point: random.vector(1.0),
        };
        let first = end(&mut random);
        let second = match random.below(2) {
            0 => End::World(center + random.vector(5.0)),
            _ => end(&mut random),
        };
        if let (End::Body { body: a, .. }, End::Body { body: b, .. }) = (first, second)
            && a == b
        {
            continue;
        }
        model.forces.springs.push(Spring {
            name: "spring".to_owned(),
            ends: [first, second],
            stiffness: random.range(0.0, 1e4),
            damping: random.range(0.0, 100.0),
            rest_length: random.range(0.0, 5.0),
            slack: random.below(2) == 0,
        });
        model.forces.applied.push(AppliedForce {
            name: "push".to_owned(),
            body: random.below(count) as usize,
            point: random.vector(1.0),
            force: random.vector(1e4),
            torque: random.vector(1e4),
            turns_along: random.below(2) == 0,
            start: 0.0,
            end: random.range(0.0, 1.0),
            key: None,
        });
    }
    let wave = |x: f64, z: f64| Wave::deep_water(DVec3::new(x, 0.0, z), 0.7, 9.81);
    model.forces.water = Some(Water {
        level: center.y + 0.3,
        density: 900.0,
        drag_coefficient: 0.6,
        viscosity: 50.0,
        waves: vec![wave(0.7, 0.2), wave(-0.3, 0.4)],
    });
    model
}

/// Bonds of the spheres of the crowds, by their materials: some that heal soon, weaker ones, and some that never break.
pub fn bond_laws() -> Vec<BondLaw> {
    let law = |materials, strength: f64, healing| BondLaw {
        materials,
        groups: None,
        gap: Some(0.1),
        radius_factor: 0.8,
        young_modulus: 1e6,
        shear_modulus: 4e5,
        bending: 0.7,
        twisting: 1.3,
        tensile_strength: strength,
        shear_strength: 0.6 * strength,
        weibull_modulus: Some(2.0),
        damping: 0.05,
        seed: 7,
        healing,
    };
    let soon = Healing {
        distance: 0.1,
        time: 5e-4,
    };
    vec![
        law([0, 0], 2e4, Some(soon)),
        law([1, 0], 1e4, None),
        law([1, 1], f64::INFINITY, None),
    ]
}

/// Number of bonds of a state that have healed and are whole.
pub fn healed(state: &rockfall::state::State) -> usize {
    let bonds = state.bonded();
    bonds.filter(|bond| bond.healed.is_some()).count()
}

/// A crowd of bodies that are bonded where they touch, and break apart as they move.
pub fn bonded_crowd(spheres: usize, center: DVec3, seed: u64) -> Model {
    let mut model = crowd(spheres, center, seed);
    model.bonds = bonds(&bond_laws(), &model.bodies, &model.shapes, None);
    model
}

/// A crowd among walls of every kind, which move by prescription or under load.
pub fn walled_crowd(law: Law, spheres: usize, center: DVec3, seed: u64) -> Model {
    let mut model = crowd_with_history(law, spheres, center, seed);
    let mut random = Random::new(seed);
    let half = 0.5 * (4.0 * spheres as f64).cbrt();
    let shapes = [
        Shape::Rectangle {
            size: DVec2::new(half, 0.7 * half),
        },
        Shape::Disc {
            radius: 0.6 * half,
            hole: 0.2 * half,
        },
        Shape::Box {
            size: DVec3::new(0.5, 0.7, 0.4) * half,
        },
        Shape::Sphere { radius: 0.9 * half },
        Shape::Cone {
            bottom: 0.8 * half,
            top: 0.8 * half,
            height: 1.5 * half,
            closed: true,
        },
        Shape::Cone {
            bottom: 0.2 * half,
            top: 0.7 * half,
            height: half,
            closed: false,
        },
        Shape::Cone {
            bottom: 0.7 * half,
            top: 0.7 * half,
            height: f64::INFINITY,
            closed: false,
        },
        Shape::Torus {
            ring: 0.6 * half,
            tube: 0.2 * half,
        },
    ];
    for (index, shape) in shapes.into_iter().enumerate() {
        let endless = Wall {
            shape: shape.clone(),
            ..Wall::plane(center, DVec3::Y, 0)
        };
        let rotation = Rotation {
            axis: DVec3::Y,
            center,
            speed: random.range(-5.0, 5.0),
            ramp: 0.0,
            amplitude: 0.1,
            frequency: 3.0,
            phase: 0.2,
        };
        let motion = Motion {
            velocity: random.vector(1.0),
            rotation: endless.reach().is_finite().then_some(rotation),
            end: f64::INFINITY,
            ..Motion::default()
        };
        model.walls.push(Wall {
            name: format!("wall {index}"),
            side: [Side::Both, Side::Front, Side::Back][index % 3],
            material: index % 2,
            pose: Pose {
                position: center + random.vector(0.3 * half),
                orientation: random.orientation(),
            },
            motion: (index % 2 == 0).then_some(motion),
            dynamic: match index {
                1 => Some(Dynamic::Servo(Servo {
                    direction: DVec3::Y,
                    force: 1e4,
                    max_speed: 0.5,
                    start: 0.0,
                    end: f64::INFINITY,
                    drift: Some(Drift {
                        velocity: DVec3::new(0.3, 0.0, -0.2),
                        angular_velocity: match endless.reach().is_finite() {
                            true => DVec3::new(0.1, 0.4, 0.0),
                            false => DVec3::ZERO,
                        },
                        start: 0.0,
                        end: f64::INFINITY,
                    }),
                })),
                3 => Some(Dynamic::Body(RigidWall {
                    mass: Some(5e3),
                    rail: Some(DVec3::new(0.6, 0.8, 0.0)),
                    velocity: DVec3::new(0.6, 0.8, 0.0),
                    ..RigidWall::default()
                })),
                5 => Some(Dynamic::Body(RigidWall {
                    mass: Some(3e3),
                    moments: Some(DVec3::new(4e3, 5e3, 6e3)),
                    angular_velocity: DVec3::new(1.0, 0.5, -0.5),
                    ..RigidWall::default()
                })),
                7 => Some(Dynamic::Body(RigidWall {
                    moments: Some(DVec3::new(4e3, 5e3, 6e3)),
                    axle: Some(DVec3::Z),
                    torque: DVec3::Z * 1e3,
                    ..RigidWall::default()
                })),
                _ => None,
            },
            belt: random.vector(0.5),
            ..endless
        });
    }
    model
}

/// A crowd that fills a box which is periodic along some axes, and no cube; with those of its planes
/// that may be there.
pub fn periodic_crowd(spheres: usize, center: DVec3, seed: u64, periodic: [bool; 3]) -> Model {
    let mut model = crowd(spheres, center, seed);
    let side = (4.0 * spheres as f64).cbrt().max(7.5);
    let half = 0.5 * side * DVec3::new(1.0, 1.07, 0.93);
    model.domain = Some(Domain {
        min: center - half,
        max: center + half,
        periodic,
    });
    model.walls.retain(|wall| {
        (0..3).all(|axis| !periodic[axis] || wall.plane_normal().unwrap()[axis] == 0.0)
    });
    model
}

/// A simulation of a scene's text on the CPU.
pub fn simulate(text: &str) -> Simulation {
    Simulation::on_cpu(model(text), None).unwrap()
}

/// Runs `check` on a simulation of a scene's text on each engine.
pub fn on_both(text: &str, check: impl Fn(Simulation, &str)) {
    check(simulate(text), "cpu");
    check(Simulation::on_gpu(model(text), device()).unwrap(), "gpu");
}

/// The crowd between walls of every kind, with heat: bodies of random temperatures, two materials and every second
/// wall conduct it.
pub fn warm_crowd(law: Law, spheres: usize, center: DVec3, seed: u64) -> Model {
    let mut model = walled_crowd(law, spheres, center, seed);
    let mut random = Random::new(seed);
    for body in &mut model.bodies {
        body.quantities.temperature = random.range(250.0, 350.0);
    }
    let thermal = |conductivity, heat_capacity| Thermal {
        density: 1000.0,
        conductivity,
        heat_capacity,
    };
    let walls = (0..model.walls.len()).map(|wall| (wall % 2 == 0).then_some(280.0 + wall as f64));
    model.heat = Some(Heat::new(
        &[thermal(1e4, 1.0), thermal(2e4, 2.0)],
        &model.shapes,
        walls.collect(),
    ));
    model
}

/// A crowd that touches by a law with a contact history and all that can be added to it.
pub fn crowd_with_history(law: Law, spheres: usize, center: DVec3, seed: u64) -> Model {
    let mut model = crowd(spheres, center, seed);
    let count = model.materials.len();
    for (element, pair) in model.pairs.iter_mut().enumerate() {
        // The same for both orders of two materials.
        let index = element / count + element % count;
        if law == Law::HertzMindlin {
            pair.stiffness *= 2.0;
            pair.wall_stiffness *= 3.0;
        }
        if law == Law::Impulse {
            pair.restitution = 0.5;
        }
        pair.rolling_friction = 0.2;
        pair.rolling = if index.is_multiple_of(3) {
            Rolling::Constant
        } else {
            Rolling::Spring
        };
        pair.twisting_friction = 0.1;
        pair.cohesion = match index % 3 {
            0 => Cohesion::Constant {
                force: 100.0,
                range: 0.02,
            },
            1 => Cohesion::SurfaceEnergy(50.0),
            _ => Cohesion::None,
        };
    }
    model.contact.law = law;
    model
}

/// The model of a scene's text.
pub fn model(text: &str) -> Model {
    scene::parse(text, "test.json".as_ref())
        .unwrap_or_else(|error| panic!("{error}"))
        .model
}

/// Takes `steps` steps and returns a sample of each of `bodies` at every `every`th.
pub fn trace_of(
    simulation: &mut Simulation,
    bodies: &[u32],
    every: u64,
    steps: u64,
) -> Vec<Sample> {
    simulation
        .set_trace(Trace {
            bodies: bodies.to_vec(),
            every,
        })
        .unwrap();
    simulation.step(steps).unwrap();
    simulation.take_samples()
}

/// One ball of radius `large` that falls into a heap of `small_count` balls of radius 1, on a floor.
pub fn large_among_small(large: f64, small_count: usize) -> Model {
    let mut model = crowd(1, DVec3::ZERO, 1);
    let ball = |radius: f64| {
        let spheres = [ClumpSphere {
            center: DVec3::ZERO,
            radius,
        }];
        Clump::new("ball", 0, &spheres, summed_spheres(&spheres, 1000.0))
    };
    model.shapes = vec![ball(1.0), ball(large)];
    model.gravity = DVec3::NEG_Y * 9.81;
    model.walls = vec![Wall::plane(DVec3::ZERO, DVec3::Y, 0)];
    let mut random = Random::new(4);
    let side = (small_count as f64).cbrt().ceil() as usize;
    let at = |shape, position| ModelBody {
        shape,
        position,
        ..ModelBody::default()
    };
    model.bodies = (0..small_count)
        .map(|k| {
            let site = [k % side, k / side / side, k / side % side].map(|c| c as f64);
            let center = DVec3::new(0.5, 0.0, 0.5) * (side as f64 - 1.0);
            let place = 1.99 * (DVec3::from_array(site) - center) + DVec3::Y;
            at(0, place + random.vector(0.004))
        })
        .collect();
    let above = 2.0 * (small_count as f64 / side as f64 / side as f64).ceil() + large + 0.1;
    model.bodies.push(at(1, DVec3::new(0.3, above, 0.2)));
    model
}
