//! The pile that all programs get, and how each of them wants to read it.

use std::f64::consts::PI;
use std::fmt::Write;

use serde::{Deserialize, Serialize};

/// A scene, as far as other programs can have it too.
#[derive(Deserialize)]
struct Scene {
    #[serde(default = "standard_gravity")]
    gravity: [f64; 3],
    contact: Contact,
    materials: serde_json::Map<String, serde_json::Value>,
    shapes: serde_json::Map<String, serde_json::Value>,
    planes: Vec<PlaneAt>,
}

/// The tangential model that other programs have, too.
#[derive(Deserialize)]
#[serde(rename_all = "lowercase")]
enum History {
    History,
}

#[derive(Deserialize)]
#[serde(tag = "normal", rename_all = "lowercase", deny_unknown_fields)]
enum Contact {
    Hooke {
        tangential: History,
        stiffness: f64,
        time_step: f64,
        tangential_stiffness: Option<f64>,
        #[serde(default = "half")]
        tangential_damping: f64,
    },
    Impulse {
        time_step: f64,
        substeps: u64,
    },
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Material {
    density: f64,
    restitution: f64,
    friction: f64,
}

#[derive(Deserialize)]
struct Shape {
    sphere: Sphere,
}

#[derive(Deserialize)]
struct Sphere {
    radius: f64,
}

#[derive(Deserialize)]
struct PlaneAt {
    point: [f64; 3],
    normal: [f64; 3],
}

/// Output of `rockfall run --state`, as far as it matters here.
#[derive(Deserialize)]
struct State {
    bodies: Vec<Body>,
}

#[derive(Deserialize)]
struct Body {
    mass: f64,
    position: [f64; 3],
    velocity: [f64; 3],
    angular_velocity: [f64; 3],
}

/// Equal spheres in an open box, y up. SI units.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Pile {
    pub radius: f64,
    pub density: f64,
    pub mass: f64,
    pub restitution: f64,
    pub friction: f64,
    /// m/s², downwards.
    pub gravity: f64,
    #[serde(flatten)]
    pub law: Law,
    pub planes: [Plane; 5],
    pub position: Vec<[f64; 3]>,
    pub velocity: Vec<[f64; 3]>,
    pub spin: Vec<[f64; 3]>,
}

/// Contact law of the spheres.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[serde(untagged)]
pub enum Law {
    Springs(Springs),
    Impulses(Impulses),
}

/// The normal model `hooke` with the tangential model `history`. A dashpot c is given as gamma = c/m_eff, 1/s.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Springs {
    pub stiffness: f64,
    pub tangential_stiffness: f64,
    /// Dashpot between two spheres.
    pub pair_gamma: f64,
    /// Dashpot between a sphere and a wall, whose effective mass is the whole one.
    pub wall_gamma: f64,
    /// The dashpot across the normal, as a fraction of that along it.
    pub tangential_damping: f64,
    pub dt: f64,
}

/// The normal model `impulse`.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Impulses {
    /// Time of a frame, s.
    pub frame: f64,
    /// Rockfall's steps in a frame.
    pub substeps: u64,
}

/// The points x with n · x = offset.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Plane {
    pub normal: [f64; 3],
    pub offset: f64,
}

/// The sides of an open box: towards -y, -x, +x, -z, +z of it.
const NORMALS: [[f64; 3]; 5] = [
    [0.0, 1.0, 0.0],
    [1.0, 0.0, 0.0],
    [-1.0, 0.0, 0.0],
    [0.0, 0.0, 1.0],
    [0.0, 0.0, -1.0],
];

fn standard_gravity() -> [f64; 3] {
    [0.0, -9.81, 0.0]
}

fn half() -> f64 {
    0.5
}

/// Whether a scene has the normal model "impulse".
pub fn has_impulses(scene: &str) -> bool {
    let scene: Option<serde_json::Value> = serde_json::from_str(scene).ok();
    scene.is_some_and(|scene| scene["contact"]["normal"] == "impulse")
}

/// The dashpot over the effective mass (1/s) with which two bodies of the effective mass `mass` (kg)
/// and a spring of `stiffness` (N/m) rebound with `restitution`: 2 ζ √(k/m), where
/// ζ = -ln e/√(π² + ln² e).
pub fn gamma(restitution: f64, stiffness: f64, mass: f64) -> f64 {
    let log = restitution.ln();
    2.0 * -log / (PI * PI + log * log).sqrt() * (stiffness / mass).sqrt()
}

impl Pile {
    /// The pile of `scene` as it is in `state`, both JSON.
    ///
    /// # Errors
    /// If the scene is none that the other programs can have: one with one material without more
    /// than friction, one shape that is a sphere, the normal model "hooke" with "history", or "impulse", and five planes that are an
    /// open box.
    pub fn read(scene: &str, state: &str) -> Result<Pile, String> {
        let scene: Scene =
            serde_json::from_str(scene).map_err(|error| format!("the scene: {error}"))?;
        let state: State =
            serde_json::from_str(state).map_err(|error| format!("the state: {error}"))?;
        let material: Material = only(&scene.materials, "materials")?;
        let shape: Shape = only(&scene.shapes, "shapes")?;
        let [x, y, z] = scene.gravity;
        if x != 0.0 || z != 0.0 || y > 0.0 {
            return Err(format!(
                "gravity: found {:?}, expected one along -y",
                scene.gravity
            ));
        }
        let Some(first) = state.bodies.first() else {
            return Err("the state: found no bodies".to_owned());
        };
        let mass = first.mass;
        let law = match scene.contact {
            Contact::Hooke {
                stiffness,
                time_step,
                tangential: History::History,
                tangential_stiffness,
                tangential_damping,
            } => {
                let gamma = |effective| gamma(material.restitution, stiffness, effective);
                Law::Springs(Springs {
                    stiffness,
                    tangential_stiffness: tangential_stiffness.unwrap_or(2.0 / 7.0 * stiffness),
                    pair_gamma: gamma(0.5 * mass),
                    wall_gamma: gamma(mass),
                    tangential_damping,
                    dt: time_step,
                })
            }
            Contact::Impulse {
                time_step,
                substeps,
            } => Law::Impulses(Impulses {
                frame: time_step,
                substeps,
            }),
        };
        Ok(Pile {
            radius: shape.sphere.radius,
            density: material.density,
            mass,
            restitution: material.restitution,
            friction: material.friction,
            gravity: -y,
            law,
            planes: open_box(&scene.planes)?,
            position: state.bodies.iter().map(|body| body.position).collect(),
            velocity: state.bodies.iter().map(|body| body.velocity).collect(),
            spin: state
                .bodies
                .iter()
                .map(|body| body.angular_velocity)
                .collect(),
        })
    }

    /// Rockfall's steps in a frame, that is, in what the other programs take in one step.
    pub fn substeps(&self) -> u64 {
        match self.law {
            Law::Springs(_) => 1,
            Law::Impulses(impulses) => impulses.substeps,
        }
    }

    /// The variables of `lammps.in`, but for those of a run.
    pub fn lammps_variables(&self, springs: &Springs) -> Vec<(&'static str, f64)> {
        let [floor, left, right, back, front] = self.planes.map(|plane| plane.offset);
        vec![
            ("ylo", floor),
            ("xlo", left),
            ("xhi", -right),
            ("zlo", back),
            ("zhi", -front),
            ("radius", self.radius),
            ("kn", springs.stiffness),
            ("kt", springs.tangential_stiffness),
            ("pair_gn", springs.pair_gamma),
            ("pair_gt", springs.tangential_damping * springs.pair_gamma),
            ("wall_gn", springs.wall_gamma),
            ("wall_gt", springs.tangential_damping * springs.wall_gamma),
            ("mu", self.friction),
            ("gravity", self.gravity),
            ("dt", springs.dt),
        ]
    }

    /// A data file of LAMMPS, of `atom_style sphere`. The region ends at the walls, a radius below
    /// the floor, and ten above the pile.
    pub fn lammps_data(&self) -> String {
        let [floor, left, right, back, front] = self.planes.map(|plane| plane.offset);
        let top = self.position.iter().fold(floor, |top, p| top.max(p[1]));
        let count = self.position.len();
        let mut text = format!(
            "A settled pile, SI units\n\n{count} atoms\n1 atom types\n\n\
             {left} {} xlo xhi\n{} {} ylo yhi\n{back} {} zlo zhi\n\nAtoms # sphere\n\n",
            -right,
            floor - self.radius,
            top + 10.0 * self.radius,
            -front,
        );
        let diameter = 2.0 * self.radius;
        let density = self.density;
        for (index, [x, y, z]) in self.position.iter().enumerate() {
            let id = index + 1;
            writeln!(text, "{id} 1 {diameter} {density} {x} {y} {z}").expect("a string grows");
        }
        text.push_str("\nVelocities\n\n");
        for (index, (v, w)) in self.velocity.iter().zip(&self.spin).enumerate() {
            let id = index + 1;
            let ([vx, vy, vz], [wx, wy, wz]) = (v, w);
            writeln!(text, "{id} {vx} {vy} {vz} {wx} {wy} {wz}").expect("a string grows");
        }
        text
    }
}

/// The only entry of `map`, which is `name` in the scene.
fn only<T: for<'a> Deserialize<'a>>(
    map: &serde_json::Map<String, serde_json::Value>,
    name: &str,
) -> Result<T, String> {
    let mut values = map.iter();
    match (values.next(), values.next()) {
        (Some((key, value)), None) => {
            T::deserialize(value).map_err(|error| format!("{name}.{key}: {error}"))
        }
        _ => Err(format!("{name}: found {}, expected one", map.len())),
    }
}

fn open_box(planes: &[PlaneAt]) -> Result<[Plane; 5], String> {
    let mut sides = [None; 5];
    for plane in planes {
        let side = NORMALS.iter().position(|normal| *normal == plane.normal);
        match side.map(|side| &mut sides[side]) {
            Some(side @ None) => {
                let offset = (0..3).map(|axis| plane.normal[axis] * plane.point[axis]);
                *side = Some(Plane {
                    normal: plane.normal,
                    offset: offset.sum(),
                });
            }
            _ => {
                return Err(format!(
                    "planes: found one with the normal {:?}, expected a floor and four walls",
                    plane.normal
                ));
            }
        }
    }
    match sides {
        [Some(a), Some(b), Some(c), Some(d), Some(e)] => Ok([a, b, c, d, e]),
        _ => Err(format!(
            "planes: found {}, expected a floor and four walls",
            planes.len()
        )),
    }
}

#[cfg(test)]
pub mod tests {
    use super::*;

    pub const SCENE: &str = include_str!("../../../scenes/bench/spheres_10k.json");

    pub const STATE: &str = r#"{"version":1,"time":1,"bodies":[
        {"mass":0.01,"position":[0.1,0.02,-0.1],"velocity":[1,2,3],"angular_velocity":[4,5,6]},
        {"mass":0.01,"position":[0.2,0.5,0],"velocity":[0,-1e-9,0],"angular_velocity":[0,0,0]}]}"#;

    /// Speed after a contact over the speed before, of two bodies with a spring and a dashpot: the
    /// gap x obeys x'' = -k/m x - gamma x'.
    fn rebound(stiffness: f64, mass: f64, gamma: f64) -> f64 {
        let (mut x, mut v) = (0.0, -1.0);
        let dt = 1e-5 * (mass / stiffness).sqrt();
        while x <= 0.0 {
            v -= (stiffness / mass * x + gamma * v) * dt;
            x += v * dt;
        }
        v
    }

    #[test]
    fn gamma_gives_the_restitution() {
        for restitution in [0.2, 0.5, 0.9] {
            let (stiffness, mass) = (13548.0, 0.005);
            let found = rebound(stiffness, mass, gamma(restitution, stiffness, mass));
            assert!((found - restitution).abs() < 1e-4, "{restitution}: {found}");
        }
    }

    #[test]
    fn the_bench_scene_becomes_a_pile() {
        let pile = Pile::read(SCENE, STATE).unwrap();
        assert_eq!(pile.radius, 0.01);
        assert_eq!(pile.gravity, 9.81);
        assert_eq!(pile.planes.map(|plane| plane.normal), NORMALS);
        let offsets = pile.planes.map(|plane| plane.offset);
        assert_eq!(offsets, [0.0, -0.2288, -0.2288, -0.2288, -0.2288]);

        let Law::Springs(springs) = pile.law else {
            panic!("{:?}", pile.law);
        };
        let variables = pile.lammps_variables(&springs);
        let of = |name| {
            variables
                .iter()
                .find(|variable| variable.0 == name)
                .unwrap()
                .1
        };
        assert_eq!((of("xlo"), of("xhi")), (-0.2288, 0.2288));
        assert_eq!((of("kn"), of("kt")), (13548.0, 13548.0 * 2.0 / 7.0));
        // 2 ln 2/t_c, where t_c = π/√(k/m_eff - (gamma/2)²).
        let half = 0.5 * of("pair_gn");
        let contact_time = PI / (13548.0 / 0.005 - half * half).sqrt();
        assert!((of("pair_gn") * contact_time / (2.0 * 2f64.ln()) - 1.0).abs() < 1e-12);
        assert!((of("pair_gn") / of("wall_gn") - 2f64.sqrt()).abs() < 1e-12);
        assert_eq!(of("pair_gt"), 0.5 * of("pair_gn"));
        assert_eq!(of("wall_gt"), 0.5 * of("wall_gn"));
    }

    #[test]
    fn a_frame_of_impulses_has_substeps() {
        let scene = include_str!("../../../scenes/bench/impulse_spheres_100k.json");
        let pile = Pile::read(scene, STATE).unwrap();
        assert_eq!(pile.substeps(), 24);
        let told = serde_json::to_value(&pile).unwrap();
        assert!((told["frame"].as_f64().unwrap() - 1.0 / 60.0).abs() < 1e-12);
        assert_eq!(told["restitution"], 0.5);
    }

    #[test]
    fn lammps_reads_what_rockfall_wrote() {
        let text = Pile::read(SCENE, STATE).unwrap().lammps_data();
        let expected = "A settled pile, SI units\n\n2 atoms\n1 atom types\n\n\
            -0.2288 0.2288 xlo xhi\n-0.01 0.6 ylo yhi\n-0.2288 0.2288 zlo zhi\n\n\
            Atoms # sphere\n\n1 1 0.02 2500 0.1 0.02 -0.1\n2 1 0.02 2500 0.2 0.5 0\n\n\
            Velocities\n\n1 1 2 3 4 5 6\n2 0 -0.000000001 0 0 0 0\n";
        assert_eq!(text, expected);
    }

    #[test]
    fn what_other_programs_cannot_have_is_named() {
        let sentence = |from: &str, to: &str| {
            assert!(SCENE.contains(from));
            Pile::read(&SCENE.replace(from, to), STATE).unwrap_err()
        };
        assert!(sentence("\"hooke\"", "\"hertz\"").contains("hertz"));
        assert!(sentence("\"normal\": [0, 1, 0]", "\"normal\": [1, 0, 0]").contains("planes"));
        let cohesion = sentence("\"friction\"", "\"cohesion\": 1, \"friction\"");
        assert!(cohesion.contains("materials.glass"), "{cohesion}");
        assert!(sentence("\"sphere\"", "\"rod\"").contains("shapes.ball"));
    }
}
