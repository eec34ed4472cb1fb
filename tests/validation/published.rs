//! Set-ups of the literature, with the numbers that were measured or simulated there.

use glam::DVec2;
use rockfall::Simulation;
use rockfall::model::Model;
use rockfall::model::wall::Shape;
use serde_json::{Value, json};

use crate::motion::line;
use crate::table::{Engine, Quantity, absolute, at_least, at_most, relative};
use crate::theory::{G, sphere_mass};

/// A model with its bodies where those of a simulation are now, without their contact histories.
fn as_now(simulation: &mut Simulation) -> Model {
    let mut model = simulation.model().clone();
    for (body, now) in model.bodies.iter_mut().zip(simulation.bodies().unwrap()) {
        body.position = now.position;
        body.velocity = now.velocity;
        body.angular_velocity = now.angular_velocity;
    }
    model
}

/// The model of a scene after `time` (s) on the CPU engine.
fn settled(scene: &Value, time: f64) -> Model {
    let mut simulation = Engine::Cpu.start(scene);
    simulation
        .step((time / simulation.model().time_step) as u64)
        .unwrap();
    as_now(&mut simulation)
}

/// Takes all motion from the bodies of a model.
fn stop(model: &mut Model) {
    for body in &mut model.bodies {
        (body.velocity, body.angular_velocity) = Default::default();
    }
}

/// Takes away the walls whose names start so.
fn open(model: &mut Model, name: &str) {
    let before = model.walls.len();
    model.walls.retain(|wall| !wall.name.starts_with(name));
    assert!(model.walls.len() < before);
}

/// Time at which a rising series of (time, value) reaches `value`.
fn reached(series: &[(f64, f64)], value: f64) -> f64 {
    let above = series.iter().position(|point| point.1 >= value).unwrap();
    let [(t0, v0), (t1, v1)] = [series[above - 1], series[above]];
    t0 + (value - v0) / (v1 - v0) * (t1 - t0)
}

/// The hopper of Anand et al. 2008 with an angle of 90°: a slab with a slot in its flat bottom.
pub fn flat_hopper(engine: Engine) -> Vec<Quantity> {
    let (diameter, depth, half, slot) = (2.24e-3, 5.6e-3, 62.72e-3, 12.544e-3);
    let glass = json!({ "density": 2500, "restitution": 0.94, "friction": 0.2, "rolling_friction": 0.09,
                        "young_modulus": 1e6, "poisson_ratio": 0.3 });
    let floor = |name: &str, from: f64, to: f64| {
        json!({ "name": name, "material": "wall", "rectangle": { "size": [to - from, 2.0 * depth] },
                "position": [0.5 * (from + to), 0, 0.5 * depth] })
    };
    let scene = json!({
        "version": 1,
        "contact": { "normal": "hertz", "tangential": "mindlin", "time_step": 2e-5 },
        "materials": { "glass": glass, "wall": glass },
        "pairs": [ { "between": ["glass", "wall"], "restitution": 0.9 } ],
        "shapes": { "ball": { "sphere": { "radius": 0.5 * diameter }, "material": "glass" } },
        "domain": { "min": [-0.07, -1, 0], "max": [0.07, 1, depth], "periodic": [false, false, true] },
        "planes": [ { "point": [-half, 0, 0], "normal": [1, 0, 0], "material": "wall" },
                    { "point": [half, 0, 0], "normal": [-1, 0, 0], "material": "wall" },
                    { "point": [0, -0.162, 0], "normal": [0, 1, 0], "material": "wall" } ],
        "walls": [ floor("left", -half, -slot), floor("right", slot, half), floor("gate", -slot, slot) ],
        "fills": [ { "count": 6790, "shapes": { "ball": 1 }, "spacing": 1.04 * diameter, "jitter": 0.02 * diameter,
                     "region": { "min": [-half, 0, 0], "max": [half, 0.3, depth] } } ],
    });
    let mut bed = settled(&scene, 0.6);
    open(&mut bed, "gate");
    let every = (0.02 / bed.time_step).round() as u64;
    let grams = 1e3 * sphere_mass(2500.0, 0.5 * diameter);
    let mut simulation = engine.start_model(bed);
    let out: Vec<(f64, f64)> = (0..44)
        .map(|_| {
            simulation.step(every).unwrap();
            let bodies = simulation.bodies().unwrap();
            let below = bodies.iter().filter(|body| body.position.y < 0.0).count();
            (simulation.time(), grams * below as f64)
        })
        .collect();
    let steady: Vec<_> = out
        .iter()
        .copied()
        .filter(|point| (5.0..65.0).contains(&point.1))
        .collect();
    vec![
        absolute("mass flow, g/s", 86.0, line(&steady).1, 8.0),
        absolute("until 40 g are out, s", 0.5, reached(&out, 40.0), 0.05),
    ]
}

/// The friction angle (degrees) of 500 spheres under a pressure (Pa), while they are compressed further along one axis.
fn friction_angle(engine: Engine, pressure: f64) -> f64 {
    let time_step = 1e-5;
    // A servo that is faster overshoots at the least pressure: in the steps between two looks, it would go farther than
    // the spheres give way elastically.
    let servo = |fastest: f64| json!({ "stress": pressure, "fastest": fastest });
    let region = json!({ "min": [0, 0, 0], "max": [0.1, 0.1, 0.1] });
    let scene = json!({
        "version": 1, "gravity": [0, 0, 0],
        "contact": { "normal": "hertz", "tangential": "mindlin", "time_step": time_step },
        "materials": { "glass": { "density": 2500, "restitution": 0.5, "friction": 0.5,
                                  "young_modulus": 1e8, "poisson_ratio": 0.25 } },
        "shapes": { "ball": { "sphere": { "radius": 0.005 }, "material": "glass" } },
        "domain": { "min": [0, 0, 0], "max": [0.1, 0.1, 0.1], "periodic": [true, true, true] },
        "fills": [ { "count": 500, "shapes": { "ball": 1 }, "sizes": { "uniform": { "min": 0.8, "max": 1.2 } },
                     "region": region } ],
        "deform": { "x": servo(2.0), "y": servo(2.0), "z": servo(2.0) },
        "stages": [
            { "name": "compress", "duration": 0.3 },
            { "name": "shear", "deform": { "x": servo(5.0), "y": servo(5.0), "z": { "strain_rate": -1 } } },
        ],
    });
    let mut bed = Engine::Cpu.start(&scene);
    let steps = |time: f64| (time / time_step).round() as u64;
    bed.step(steps(0.4)).unwrap();
    // From a strain of 0.1 to one of 0.2.
    let mut simulation = engine.go_on(&mut bed);
    let sines = (0..20).map(|_| {
        simulation.step(steps(0.005)).unwrap();
        let stress = simulation.deformation().unwrap().stress;
        let aside = 0.5 * (stress[0][0] + stress[1][1]);
        (stress[2][2] - aside) / (stress[2][2] + aside)
    });
    (sines.sum::<f64>() / 20.0).asin().to_degrees()
}

pub fn triaxial(engine: Engine) -> Vec<Quantity> {
    let pressures = [1e4, 5e4, 2e5];
    let angles = pressures.map(|pressure| friction_angle(engine, pressure));
    let mean = angles.iter().sum::<f64>() / 3.0;
    let mut quantities: Vec<_> = pressures
        .iter()
        .zip(angles)
        .map(|(pressure, angle)| {
            absolute(
                format!("friction angle at {} kPa, degrees", pressure / 1e3),
                25.0,
                angle,
                5.0,
            )
        })
        .collect();
    quantities.push(at_most(
        "largest difference from their mean, degrees",
        3.0,
        angles
            .iter()
            .map(|angle| (angle - mean).abs())
            .fold(0.0, f64::max),
    ));
    quantities
}

/// Evangelista et al. 2014, case B1, with larger grains: a bed 0.6 m long and 0.2 m high, whose gate rises by 1 m/s.
pub fn dam_break(engine: Engine) -> Vec<Quantity> {
    let (diameter, depth, length) = (0.01, 0.1, 0.6);
    let grain = json!({ "density": 2560, "restitution": 0.9, "friction": 0.5, "rolling_friction": 0.3,
                        "young_modulus": 1e6, "poisson_ratio": 0.2 });
    let scene = json!({
        "version": 1,
        "contact": { "normal": "hertz", "tangential": "mindlin", "time_step": 1e-4 },
        "materials": { "grain": grain },
        "shapes": { "ball": { "sphere": { "radius": 0.5 * diameter }, "material": "grain" } },
        "domain": { "min": [-0.1, -1, 0], "max": [2, 1, depth], "periodic": [false, false, true] },
        "planes": [ { "point": [0, 0, 0], "normal": [1, 0, 0], "material": "grain" },
                    { "point": [2, 0, 0], "normal": [-1, 0, 0], "material": "grain" },
                    { "point": [0, 0, 0], "normal": [0, 1, 0], "material": "grain" } ],
        "walls": [ { "name": "gate", "rectangle": { "size": [0.5, 2.0 * depth] }, "axis": [0, 0, 1],
                     "angle": std::f64::consts::FRAC_PI_2, "position": [length, 0.25, 0.5 * depth], "material": "grain",
                     "motion": { "velocity": [0, 1, 0], "start": 0.5, "end": 0.9 } } ],
        "fills": [ { "count": 14000, "shapes": { "ball": 1 }, "spacing": 1.03 * diameter, "jitter": 0.01 * diameter,
                     "region": { "min": [0, 0, 0], "max": [length, 0.45, depth] } } ],
    });
    let mut bed = Engine::Cpu.start(&scene);
    let steps = |time: f64| (time / 1e-4) as u64;
    bed.step(steps(0.5)).unwrap();
    let height = |simulation: &mut Simulation, x: f64| {
        let bodies = simulation.bodies().unwrap();
        let near = bodies
            .iter()
            .filter(|body| (body.position.x - x).abs() < 1.5 * diameter);
        let mut tops: Vec<f64> = near.map(|body| body.position.y + 0.5 * diameter).collect();
        tops.sort_by(|a, b| b.total_cmp(a));
        // Of a surface of 3 d by 10 d.
        let tops = &tops[..15.min(tops.len())];
        tops.iter().sum::<f64>() / tops.len() as f64
    };
    let mut simulation = engine.go_on(&mut bed);
    simulation.step(steps(1.5)).unwrap();
    vec![
        absolute(
            "height of the heap at 0.4 m, m",
            0.2,
            height(&mut simulation, 0.4),
            1.5 * diameter,
        ),
        absolute(
            "height of the heap at 0.8 m, m",
            0.025,
            height(&mut simulation, 0.8),
            1.5 * diameter,
        ),
    ]
}

/// A hopper of Myers and Sellers's kind: 3,000 spheres in a slab little more than two diameters thick, above a slot in a flat bottom.
pub fn slots(engine: Engine) -> Vec<Quantity> {
    let (diameter, half, count) = (0.002_f64, 0.04, 3000);
    let depth = 2.1 * diameter;
    let scene = json!({
        "version": 1,
        "contact": { "normal": "hooke", "tangential": "history", "stiffness": 1e3, "time_step": 1e-5 },
        "materials": { "glass": { "density": 2500, "restitution": 0.8, "friction": 0.5 } },
        "shapes": { "ball": { "sphere": { "radius": 0.5 * diameter }, "material": "glass" } },
        "domain": { "min": [-0.1, -1, 0], "max": [0.1, 1, depth], "periodic": [false, false, true] },
        "planes": [ { "point": [-half, 0, 0], "normal": [1, 0, 0], "material": "glass" },
                    { "point": [half, 0, 0], "normal": [-1, 0, 0], "material": "glass" },
                    { "point": [0, -0.16, 0], "normal": [0, 1, 0], "material": "glass" } ],
        "walls": [ { "name": "bottom", "rectangle": { "size": [2.0 * half, 2.0 * depth] },
                     "position": [0, 0, 0.5 * depth], "material": "glass" } ],
        "fills": [ { "count": count, "shapes": { "ball": 1 },
                     "spacing": 1.04 * diameter, "jitter": 0.02 * diameter, "seed": 3,
                     "region": { "min": [-half, 0, 0], "max": [half, 0.25, depth] } } ],
    });
    let bed = settled(&scene, 0.5);
    let mass = |y: f64| 2500.0 * std::f64::consts::PI / 6.0 * diameter.powi(3) * y;
    let heights: Vec<f64> = bed.bodies.iter().map(|body| body.position.y).collect();
    let top = heights.iter().copied().fold(0.0, f64::max);
    let within = heights
        .iter()
        .filter(|y| (0.2 * top..0.8 * top).contains(*y))
        .count();
    let bulk = mass(within as f64) / (0.6 * top * 2.0 * half * depth);

    let flow = |slot: f64| {
        let mut model = bed.clone();
        let bottom = model
            .walls
            .iter()
            .position(|wall| wall.name == "bottom")
            .unwrap();
        let whole = model.walls.remove(bottom);
        for side in [-1.0, 1.0] {
            let mut part = whole.clone();
            let width = half - 0.5 * slot;
            part.shape = Shape::Rectangle {
                size: DVec2::new(width, 2.0 * depth),
            };
            part.pose.position.x = side * 0.5 * (half + 0.5 * slot);
            part.name = format!("bottom {side}");
            model.walls.push(part);
        }
        let every = (0.005 / model.time_step).round() as u64;
        let mut simulation = engine.start_model(model);
        let mut out = Vec::new();
        // While the bed is at least twice as high as the slot is wide, after the flow has gathered.
        loop {
            simulation.step(every).unwrap();
            let bodies = simulation.bodies().unwrap();
            let below = bodies
                .iter()
                .filter(|body| body.position.y < -diameter)
                .count() as f64;
            if below > 0.45 * f64::from(count) || simulation.time() > 2.0 {
                break;
            }
            if below > 0.08 * f64::from(count) {
                out.push((simulation.time(), mass(below)));
            }
        }
        line(&out).1
    };
    let widths = [5.0, 8.0, 12.0, 16.0].map(|width| width * diameter);
    // Without the empty annulus: 1.4 diameters.
    let free = widths.map(|width| width - 1.4 * diameter);
    let flows = widths.map(flow);
    let logarithms: Vec<_> = free
        .iter()
        .zip(flows)
        .map(|(width, flow)| (width.ln(), flow.ln()))
        .collect();
    let coefficients = free
        .iter()
        .zip(flows)
        .map(|(width, flow)| flow / (bulk * G.sqrt() * depth * width.powf(1.5)));
    vec![
        relative(
            "exponent of the width without 1.4 diameters",
            1.5,
            line(&logarithms).1,
            0.1,
        ),
        relative(
            "C, mean of four slots",
            1.03,
            coefficients.sum::<f64>() / 4.0,
            0.15,
        ),
    ]
}

/// Quantities that Zhou et al. 2002 vary: sliding friction, rolling friction (mm), diameter (mm); of both frictions the first is
/// that between spheres, the second that at walls.
#[derive(Clone, Copy)]
struct Plate {
    sliding: [f64; 2],
    rolling: [f64; 2],
    diameter: f64,
}

impl Plate {
    /// Their fit of the angle of repose, degrees.
    fn published(self) -> f64 {
        let Plate {
            sliding,
            rolling,
            diameter,
        } = self;
        68.61
            * sliding[0].powf(0.27)
            * sliding[1].powf(0.22)
            * rolling[0].powf(0.06)
            * rolling[1].powf(0.12)
            * diameter.powf(-0.2)
    }

    /// The angle (degrees) of the heap that stays on a plate after the walls at its ends have been taken away, mean of both slopes.
    ///
    /// The two other walls are 20 diameters apart, as there: nearer ones make the heap steeper.
    fn angle(self, engine: Engine) -> f64 {
        const HALF: f64 = 30.0;
        const DEPTH: f64 = 20.0;
        const HEIGHT: f64 = 17.0;
        let time_step = 2e-4 * (0.1 * self.diameter);
        // Their torque is the same at any spin, so the heap creeps on; this is long after the last avalanche, s.
        let time = 10.0 * (0.1 * self.diameter).sqrt();
        let d = 1e-3 * self.diameter;
        let (half, depth) = (HALF * d, DEPTH * d);
        // Their rolling friction is a length; ours is a part of the effective radius, which is half the radius for two spheres.
        let [between, at_walls] = [0.25, 0.5].map(|part| part * self.diameter);
        let (between, at_walls) = (self.rolling[0] / between, self.rolling[1] / at_walls);
        let grain = json!({ "density": 2500, "restitution": 0.5, "young_modulus": 1e6, "poisson_ratio": 0.3,
                            "friction": self.sliding[0], "rolling_friction": between, "rolling": "constant" });
        let side = |name: &str, x: f64| {
            json!({ "name": name, "material": "wall", "rectangle": { "size": [40.0 * d, 1.2 * depth] },
                    "axis": [0, 0, 1], "angle": std::f64::consts::FRAC_PI_2, "position": [x, 19.0 * d, 0.5 * depth] })
        };
        let count = 0.58 * 2.0 * HALF * HEIGHT * DEPTH * 6.0 / std::f64::consts::PI;
        let scene = json!({
            "version": 1,
            "contact": { "normal": "hertz", "tangential": "mindlin", "time_step": time_step },
            "materials": { "grain": grain, "wall": grain },
            "pairs": [ { "between": ["grain", "wall"], "friction": self.sliding[1], "rolling_friction": at_walls } ],
            "shapes": { "ball": { "sphere": { "radius": 0.5 * d }, "material": "grain" } },
            "planes": [ { "point": [0, 0, 0], "normal": [0, 0, 1], "material": "wall" },
                        { "point": [0, 0, depth], "normal": [0, 0, -1], "material": "wall" } ],
            "walls": [ { "name": "plate", "material": "wall", "rectangle": { "size": [2.0 * half, 1.2 * depth] },
                         "position": [0, 0, 0.5 * depth] },
                       side("side left", -half), side("side right", half) ],
            "outlets": [ { "name": "below", "outside": { "min": [-2.0 * half, -2.0 * d, -depth], "max": [2.0 * half, 3, 2.0 * depth] } } ],
            "fills": [ { "count": count as u32, "shapes": { "ball": 1 }, "spacing": 1.04 * d, "jitter": 0.02 * d,
                         "region": { "min": [-half, 0, 0], "max": [half, 3, depth] } } ],
        });
        let mut bed = settled(&scene, 0.6);
        open(&mut bed, "side");
        let mut simulation = engine.start_model(bed);
        simulation.step((time / time_step) as u64).unwrap();
        let bodies = simulation.bodies().unwrap();
        let slope = |side: f64| {
            let surface: Vec<_> = (4..12)
                .map(|slice| {
                    let from = 2.0 * d * f64::from(slice);
                    let within = bodies
                        .iter()
                        .filter(|body| (from..from + 2.0 * d).contains(&(side * body.position.x)));
                    let mut heights: Vec<f64> = within.map(|body| body.position.y).collect();
                    heights.sort_by(|a, b| b.total_cmp(a));
                    heights.truncate(15);
                    (from + d, heights.iter().sum::<f64>() / heights.len() as f64)
                })
                .collect();
            (-line(&surface).1).atan().to_degrees()
        };
        0.5 * (slope(-1.0) + slope(1.0))
    }
}

/// A heap on a plate, and the dependence of its angle on five quantities.
pub fn plate(engine: Engine) -> Vec<Quantity> {
    let first = Plate {
        sliding: [0.4, 0.4],
        rolling: [0.1, 0.2],
        diameter: 10.0,
    };
    type Variation = (&'static str, fn(&mut Plate));
    let varied: [Variation; 5] = [
        ("half of the friction between spheres", |plate| {
            plate.sliding[0] *= 0.5
        }),
        ("half of the friction at walls", |plate| {
            plate.sliding[1] *= 0.5
        }),
        (
            "a quarter of the rolling friction between spheres",
            |plate| plate.rolling[0] *= 0.25,
        ),
        ("a quarter of the rolling friction at walls", |plate| {
            plate.rolling[1] *= 0.25
        }),
        ("twice the diameter", |plate| plate.diameter *= 2.0),
    ];
    let degrees = first.angle(engine);
    let mut quantities = vec![absolute("angle, degrees", first.published(), degrees, 3.0)];
    for (what, vary) in varied {
        let mut plate = first;
        vary(&mut plate);
        let angle = plate.angle(engine);
        quantities.push(absolute(
            format!("{what}: angle, degrees"),
            plate.published(),
            angle,
            3.0,
        ));
        let sense = (plate.published() - first.published()).signum();
        quantities.push(at_least(
            format!(
                "{what}: degrees {}",
                if sense > 0.0 { "more" } else { "less" }
            ),
            0.0,
            sense * (angle - degrees),
        ));
    }
    quantities
}

/// Dosta et al. 2024, case 3, on beds of our own: a steel ball of 20 mm meets 25,000 grains of 2 mm.
///
/// The depth is the same on any bed. The rebound depends on how dense the bed is, so it is the mean of three beds, whose grains were
/// poured with different friction.
pub fn steel_ball(engine: Engine) -> Vec<Quantity> {
    let beds = [0.1, 0.2, 0.3];
    let (mut lowest, mut rebound) = (0.0, 0.0);
    for poured in beds {
        let track = steel_ball_track(engine, poured);
        let deepest = track.iter().map(|point| point.1).fold(0.0, f64::min);
        let late: Vec<_> = track.into_iter().filter(|point| point.0 > 0.05).collect();
        let speed = line(&late).1;
        eprintln!("poured with a friction of {poured}: {deepest} m, {speed} m/s");
        lowest += deepest / beds.len() as f64;
        rebound += speed / beds.len() as f64;
    }
    vec![
        relative("lowest point, m", -0.1384, lowest, 0.05),
        relative("speed from 50 to 60 ms, m/s", 1.42, rebound, 0.05),
    ]
}

/// Times (s) and heights (m) of the ball on a bed that was poured with a coefficient of friction.
///
/// The box, the grains and the fall are those of the paper. Heights are told from where the ball begins to fall there, 150.2431 mm above
/// the floor, with 5 m/s; here it begins above the bed, as fast as it is there. Grains are poured while they are a hundred times softer,
/// so that their steps are ten times longer, and become as stiff as they are in two stages, each of which ends at rest.
fn steel_ball_track(engine: Engine, poured: f64) -> Vec<(f64, f64)> {
    const START: f64 = 0.150_243_1;
    const SPEED: f64 = 5.0;
    let (grain, ball, width, depth) = (1e-3, 1e-2, 0.1, 0.06);
    let plane = |point: [f64; 3], normal: [f64; 3]| json!({ "point": point, "normal": normal, "material": "steel" });
    let (x, z) = (0.5 * width, 0.5 * depth);
    let scene = |young: f64, time_step: f64, friction: f64| {
        json!({
            "version": 1,
            "contact": { "normal": "hertz", "tangential": "mindlin", "time_step": time_step },
            "materials": {
                "glass": { "density": 2500, "restitution": 0.5, "friction": friction, "young_modulus": young,
                           "poisson_ratio": 0.2 },
                "steel": { "density": 7200, "restitution": 0.6, "friction": 0.5, "young_modulus": 210.0 * young,
                           "poisson_ratio": 0.2 } },
            "pairs": [ { "between": ["glass", "steel"], "restitution": 0.4, "friction": f64::min(friction, 0.2) } ],
            "shapes": { "grain": { "sphere": { "radius": grain }, "material": "glass" },
                        "ball": { "sphere": { "radius": ball }, "material": "steel" } },
            "planes": [ plane([0.0, 0.0, 0.0], [0.0, 1.0, 0.0]),
                        plane([-x, 0.0, 0.0], [1.0, 0.0, 0.0]), plane([x, 0.0, 0.0], [-1.0, 0.0, 0.0]),
                        plane([0.0, 0.0, -z], [0.0, 0.0, 1.0]), plane([0.0, 0.0, z], [0.0, 0.0, -1.0]) ],
            "bodies": [ { "shape": "ball", "position": [0, 0.25, 0], "fixed": true } ],
            "fills": [ { "count": 25000, "shapes": { "grain": 1 }, "spacing": 3.5 * grain, "jitter": 0.2 * grain,
                         "velocity": { "min": [-0.3, -0.3, -0.3], "max": [0.3, 0, 0.3] },
                         "region": { "min": [-x, 0, -z], "max": [x, 0.199, z] } } ],
        })
    };
    let mut model = settled(&scene(1e7, 1e-5, poured), 0.4);
    for (young, time_step, time) in [(1e8, 3e-6, 0.03), (1e9, 1e-6, 0.02)] {
        let stiffer = scene(young, time_step, 0.3);
        let bodies = model.bodies;
        model = Engine::Cpu.start(&stiffer).model().clone();
        model.bodies = bodies;
        stop(&mut model);
        let mut simulation = Engine::Cpu.start_model(model);
        simulation.step((time / time_step) as u64).unwrap();
        model = as_now(&mut simulation);
    }
    stop(&mut model);
    let grains = model.bodies.iter().skip(1);
    let top = grains.map(|body| body.position.y).fold(0.0, f64::max) + grain;
    let height = top + ball + 0.1 * grain;
    let speed = (SPEED * SPEED + 2.0 * G * (START - height)).sqrt();
    let begin = (speed - SPEED) / G;
    let first = model.bodies.iter_mut().next().unwrap();
    first.fixed = false;
    first.position.y = height;
    first.velocity.y = -speed;
    let mut simulation = engine.start_model(model);
    let mut track = Vec::new();
    while begin + simulation.time() < 0.06 {
        simulation.step(100).unwrap();
        let body = simulation.bodies().unwrap()[0].position.y;
        track.push((begin + simulation.time(), body - START));
    }
    track
}
