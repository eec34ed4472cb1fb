//! Planes and other walls.

use std::cmp::Ordering;
use std::collections::HashMap;
use std::f64::consts::PI;
use std::io;
use std::sync::Arc;

use glam::{DQuat, DVec2, DVec3};

use super::super::error::{Problem, exact, rounded};
use super::super::files::{Folder, neighbour};
use super::super::format::{self, SceneFile};
use super::check::{Check, Names, Sign, list, vector};
use crate::model::clump::Clump;
use crate::model::wall::Wear;
use crate::model::wall::distance::MAX_SAMPLES;
use crate::model::wall::motion::{Key, Rotation, Swing};
use crate::model::wall::{
    Distance, Drift, Dynamic, Mesh, MeshFormat, MeshMistake, Motion, Pose, RigidWall, Servo, Shape,
    Side, Wall,
};
use crate::state::layout::MAX_WALLS;

/// The fields of a wall that say what it looks like.
const KINDS: [&str; 10] = [
    "plane",
    "rectangle",
    "disc",
    "box",
    "sphere",
    "cylinder",
    "cone",
    "torus",
    "mesh",
    "signed_distance",
];

/// Ratio of the size of a mesh to that of the largest sphere, or the inverse, beyond which its unit is in doubt.
const EXTREME: f64 = 1000.0;

impl Check {
    /// The walls that are right: the planes, then all others.
    pub(super) fn walls(
        &mut self,
        file: &SceneFile,
        materials: &Names,
        folder: Folder,
        shapes: &[Option<Clump>],
    ) -> Vec<Wall> {
        let spheres = shapes.iter().flatten().flat_map(|clump| &clump.spheres);
        let largest = spheres.map(|sphere| sphere.radius).fold(0.0, f64::max);
        let count = file.planes.len() + file.walls.len();
        if count > MAX_WALLS {
            self.problem(
                if file.walls.is_empty() {
                    "planes"
                } else {
                    "walls"
                },
                format!("{count} planes and other walls"),
                format!("at most {MAX_WALLS}"),
            );
        }
        let mut walls = Vec::new();
        for (index, plane) in file.planes.iter().enumerate() {
            walls.extend(self.plane(index, plane, materials));
        }
        let mut named = HashMap::new();
        for (index, wall) in file.walls.iter().enumerate() {
            walls.extend(self.wall(index, wall, materials, folder, largest));
            if let Some(name) = &wall.name
                && let Some(first) = named.insert(name, index)
            {
                self.problem(
                    format_args!("walls[{index}].name"),
                    format!("{name:?}, the name of walls[{first}]"),
                    "a name that no other wall has, to tell them apart in results",
                );
            }
        }
        walls
    }

    fn plane(&mut self, index: usize, plane: &format::Plane, materials: &Names) -> Option<Wall> {
        let path = format!("planes[{index}]");
        self.vector(
            format_args!("{path}.point"),
            &plane.point,
            "a coordinate, m",
        );
        let normal = self.direction(format_args!("{path}.normal"), &plane.normal, "a normal");
        let material = self.resolve(format_args!("{path}.material"), &plane.material, materials);
        Some(Wall {
            name: path,
            ..Wall::plane(vector(&plane.point), normal?, material?)
        })
    }

    fn wall(
        &mut self,
        index: usize,
        wall: &format::Wall,
        materials: &Names,
        folder: Folder,
        largest: f64,
    ) -> Option<Wall> {
        let path = format!("walls[{index}]");
        let before = self.problems.len();
        let shape = self.wall_shape(&path, wall, folder, largest);
        let material = self.resolve(format_args!("{path}.material"), &wall.material, materials);
        self.vector(
            format_args!("{path}.position"),
            &wall.position,
            "a coordinate, m",
        );
        let orientation = self.orientation(
            &path,
            "wall",
            wall.orientation.as_ref(),
            wall.axis.as_ref(),
            wall.angle,
        );
        let pose = Pose {
            position: vector(&wall.position),
            orientation: orientation?,
        };
        let motion = wall.motion.as_ref().map(|motion| {
            let path = format!("{path}.motion");
            self.motion(&path, motion, &pose)
        });
        let turn = pose.orientation;
        let dynamic = shape
            .as_ref()
            .and_then(|shape| self.dynamic(&path, wall, shape, turn));
        let belt = self.optional_vector(
            format_args!("{path}.surface_velocity"),
            wall.surface_velocity.as_ref(),
            "a velocity, m/s",
        );
        let side = match (&wall.plane, wall.side) {
            (Some(_), None) => Side::Front,
            (Some(_), Some(_)) => {
                self.problems.push(
                    Problem::new(
                        format_args!("{path}.side"),
                        "a side of a plane",
                        "none: bodies touch it from the side to which its normal points",
                    )
                    .help("turn the normal round, or take a rectangle"),
                );
                return None;
            }
            (None, side) => match side.unwrap_or_default() {
                format::Side::Both => Side::Both,
                format::Side::Outside => Side::Front,
                format::Side::Inside => Side::Back,
            },
        };
        let wear = self.wear(&path, wall);
        if self.problems.len() > before {
            return None;
        }
        let mut wall = Wall {
            name: wall.name.clone().unwrap_or_else(|| path.clone()),
            shape: shape?,
            side,
            material: material?,
            pose,
            motion,
            dynamic,
            belt,
            wear,
        };
        self.endless(&path, &wall)?;
        if let Some(Dynamic::Servo(mut servo)) = wall.dynamic
            && let Some(motion) = wall.motion.take()
        {
            self.drifts(&format!("{path}.motion"), &motion, &wall);
            servo.drift = Some(Drift::of(&motion));
            wall.dynamic = Some(Dynamic::Servo(servo));
        }
        Some(wall)
    }

    /// Returns the wear of a wall by bodies, if they wear it.
    fn wear(&mut self, path: &str, wall: &format::Wall) -> Option<Wear> {
        let wear = wall.wear.as_ref()?;
        let path = format!("{path}.wear");
        if wall.mesh.is_none() {
            let expected = "none: only the triangles of a \"mesh\" wear";
            self.problem(&path, "wear of a wall that is no mesh", expected);
        }
        let what = "a volume per force and sliding distance, 1/Pa";
        match (wear.archard, wear.finnie) {
            (Some(own), None) => self
                .number(format_args!("{path}.archard"), own, what, Sign::Positive)
                .then_some(Wear::Archard(own)),
            (None, Some(own)) => self
                .number(format_args!("{path}.finnie"), own, what, Sign::Positive)
                .then_some(Wear::Finnie(own)),
            (archard, finnie) => {
                let given = [archard.is_some(), finnie.is_some()];
                self.not_one(&path, &given, "one of \"archard\" and \"finnie\"");
                None
            }
        }
    }

    /// A vector that may be left out, and then is 0.
    fn optional_vector(
        &mut self,
        path: std::fmt::Arguments,
        given: Option<&format::Vector>,
        what: &str,
    ) -> DVec3 {
        given.map_or(DVec3::ZERO, |given| {
            self.vector(path, given, what);
            vector(given)
        })
    }

    /// Shape of a wall; `largest` is the largest radius of a sphere, m.
    fn wall_shape(
        &mut self,
        path: &str,
        wall: &format::Wall,
        folder: Folder,
        largest: f64,
    ) -> Option<Shape> {
        let given = [
            wall.plane.is_some(),
            wall.rectangle.is_some(),
            wall.disc.is_some(),
            wall.cuboid.is_some(),
            wall.sphere.is_some(),
            wall.cylinder.is_some(),
            wall.cone.is_some(),
            wall.torus.is_some(),
            wall.mesh.is_some(),
            wall.signed_distance.is_some(),
        ];
        let named: Vec<String> = KINDS
            .iter()
            .zip(given)
            .filter(|(_, given)| *given)
            .map(|(kind, _)| format!("{kind:?}"))
            .collect();
        if named.len() != 1 {
            let found = match named.len() {
                0 => "none of the kinds of walls".to_owned(),
                _ => named.join(" and "),
            };
            let kinds = KINDS.map(|kind| format!("{kind:?}")).join(", ");
            self.problem(path, found, format!("exactly one of {kinds}"));
            return None;
        }
        if let Some(plane) = &wall.plane {
            let normal = match &plane.normal {
                Some(normal) => {
                    self.direction(format_args!("{path}.plane.normal"), normal, "a normal")?
                }
                None => DVec3::Y,
            };
            return Some(Shape::Plane { normal });
        }
        if let Some(rectangle) = &wall.rectangle {
            for (axis, side) in rectangle.size.0.iter().enumerate() {
                self.length(format_args!("{path}.rectangle.size[{axis}]"), *side);
            }
            let size = DVec2::from_array(rectangle.size.0);
            return Some(Shape::Rectangle { size });
        }
        if let Some(disc) = &wall.disc {
            let hole = disc.hole.unwrap_or(0.0);
            let path = format!("{path}.disc");
            let mut fits = self.length(format_args!("{path}.radius"), disc.radius);
            fits &= self.number(
                format_args!("{path}.hole"),
                hole,
                "a length, m",
                Sign::NotNegative,
            );
            if fits && hole >= disc.radius {
                self.problem(
                    format_args!("{path}.hole"),
                    exact(hole),
                    format!(
                        "a length less than the radius, which is {} (m)",
                        exact(disc.radius)
                    ),
                );
            }
            return Some(Shape::Disc {
                radius: disc.radius,
                hole,
            });
        }
        if let Some(cuboid) = &wall.cuboid {
            for (axis, side) in cuboid.size.0.iter().enumerate() {
                self.length(format_args!("{path}.box.size[{axis}]"), *side);
            }
            return Some(Shape::Box {
                size: vector(&cuboid.size),
            });
        }
        if let Some(sphere) = &wall.sphere {
            self.length(format_args!("{path}.sphere.radius"), sphere.radius);
            return Some(Shape::Sphere {
                radius: sphere.radius,
            });
        }
        if let Some(cylinder) = &wall.cylinder {
            let path = format!("{path}.cylinder");
            self.length(format_args!("{path}.radius"), cylinder.radius);
            if let Some(height) = cylinder.height {
                self.length(format_args!("{path}.height"), height);
            } else if cylinder.closed == Some(true) {
                self.problem(
                    format_args!("{path}.closed"),
                    "true",
                    "false, since the cylinder has no \"height\" and so no ends",
                );
            }
            return Some(Shape::Cone {
                bottom: cylinder.radius,
                top: cylinder.radius,
                height: cylinder.height.unwrap_or(f64::INFINITY),
                closed: cylinder.closed.unwrap_or(false),
            });
        }
        if let Some(cone) = &wall.cone {
            let path = format!("{path}.cone");
            let radii = [
                ("bottom_radius", cone.bottom_radius),
                ("top_radius", cone.top_radius),
            ];
            for (name, radius) in radii {
                let path = format_args!("{path}.{name}");
                self.number(path, radius, "a length, m", Sign::NotNegative);
            }
            if radii.iter().all(|(_, radius)| *radius == 0.0) {
                self.problem(
                    format_args!("{path}.top_radius"),
                    "0",
                    "a length greater than 0 (m), since bottom_radius is 0",
                );
            }
            self.length(format_args!("{path}.height"), cone.height);
            return Some(Shape::Cone {
                bottom: cone.bottom_radius,
                top: cone.top_radius,
                height: cone.height,
                closed: cone.closed.unwrap_or(false),
            });
        }
        if let Some(mesh) = &wall.mesh {
            let path = format!("{path}.mesh");
            let given = (mesh.scale, mesh.units);
            let mesh = self.mesh(&path, &mesh.file, given, folder)?;
            self.tell_of_mesh(&path, &mesh, given, largest);
            return Some(Shape::Mesh(Arc::new(mesh)));
        }
        if let Some(sampled) = &wall.signed_distance {
            let path = format!("{path}.signed_distance");
            let fits = self.length(format_args!("{path}.spacing"), sampled.spacing);
            let given = (sampled.scale, sampled.units);
            let mesh = self.mesh(&path, &sampled.file, given, folder)?;
            self.tell_of_mesh(&path, &mesh, given, largest);
            if !mesh.is_closed() {
                self.problem(
                    format_args!("{path}.file"),
                    format!("{:?}, which is not closed", sampled.file),
                    "a watertight mesh, in which two triangles share each edge",
                );
                return None;
            }
            // As far as spheres feel it, so that all they feel is sampled.
            let margin = 1.5 * largest + 2.0 * sampled.spacing;
            let count = Distance::sample_count(&mesh, sampled.spacing, margin);
            if fits && count > MAX_SAMPLES {
                self.problem(
                    format_args!("{path}.spacing"),
                    format!("{} m, which makes {count} samples", exact(sampled.spacing)),
                    format!("a spacing that makes at most {MAX_SAMPLES}"),
                );
            }
            if !fits || count > MAX_SAMPLES {
                return None;
            }
            let distance = Distance::new(&Arc::new(mesh), sampled.spacing, margin);
            return Some(Shape::Sampled(Arc::new(distance)));
        }
        let torus = wall.torus.as_ref()?;
        let path = format!("{path}.torus");
        let mut fits = self.length(format_args!("{path}.radius"), torus.radius);
        fits &= self.length(format_args!("{path}.ring_radius"), torus.ring_radius);
        if fits && torus.ring_radius <= torus.radius {
            self.problem(
                format_args!("{path}.ring_radius"),
                exact(torus.ring_radius),
                format!(
                    "a length greater than the radius of the tube, which is {} (m)",
                    exact(torus.radius)
                ),
            );
        }
        Some(Shape::Torus {
            ring: torus.ring_radius,
            tube: torus.radius,
        })
    }

    /// Says what the mesh of a wall is like; and warns if its size is none that spheres of a `largest` radius (m) make sense with,
    /// and the scene says nothing of its unit.
    fn tell_of_mesh(
        &mut self,
        path: &str,
        mesh: &Mesh,
        given: (Option<f64>, Option<format::Units>),
        largest: f64,
    ) {
        let corners = mesh.vertices.iter();
        let (min, max) = corners.fold(
            (DVec3::INFINITY, DVec3::NEG_INFINITY),
            |(min, max), corner| (min.min(*corner), max.max(*corner)),
        );
        let place = |corner: DVec3| {
            let [x, y, z] = corner.to_array().map(rounded);
            format!("{x}, {y}, {z}")
        };
        self.notes.push(format!(
            "{path}: {} triangles from {} to {} m, {}",
            mesh.triangles.len(),
            place(min),
            place(max),
            if mesh.is_closed() { "closed" } else { "open" }
        ));
        let size = (max - min).length();
        let ratio = size / (2.0 * largest);
        let sound = 1.0 / EXTREME..=EXTREME;
        if largest > 0.0 && given == (None, None) && !sound.contains(&ratio) {
            self.warnings.push(format!(
                "{path}: found a mesh of {} m and spheres of {} m or less across; give the unit of the file, such as \
                 \"units\": \"mm\", or \"units\": \"m\" if the size is right",
                rounded(size),
                rounded(2.0 * largest)
            ));
        }
    }

    /// The mesh in a file.
    pub(super) fn mesh(
        &mut self,
        path: &str,
        file: &str,
        (scale, units): (Option<f64>, Option<format::Units>),
        folder: Folder,
    ) -> Option<Mesh> {
        let scale = scale.unwrap_or(1.0) * units.map_or(1.0, format::Units::metres);
        let what = "a factor";
        if !self.number(format_args!("{path}.scale"), scale, what, Sign::Positive) {
            return None;
        }
        let full = folder.join(file);
        let mut is_missing = false;
        let read = MeshFormat::of(&full).and_then(|format| {
            let bytes = folder.files.read(&full).map_err(|error| {
                is_missing = error.kind() == io::ErrorKind::NotFound;
                MeshMistake::unreadable(&error)
            })?;
            Mesh::parse(&bytes, format, scale)
        });
        match read {
            Ok(mesh) => Some(mesh),
            Err(mistake) => {
                let place = match mistake.line {
                    0 => format!("{file:?}"),
                    line => format!("{file:?}, line {line}"),
                };
                let found = format!("{} in {place}", mistake.found);
                let mut problem =
                    Problem::new(format_args!("{path}.file"), found, mistake.expected);
                if is_missing && let Some(meant) = neighbour(folder.files, &full) {
                    problem = problem.help(format!("did you mean {}?", meant.display()));
                }
                self.problems.push(problem);
                None
            }
        }
    }

    /// Force with which a servo presses, N: given, or by its pressure.
    fn force_of_servo(
        &mut self,
        path: &str,
        servo: &format::Servo,
        direction: DVec3,
        shape: &Shape,
        turn: DQuat,
    ) -> Option<f64> {
        match (servo.force, servo.pressure) {
            (Some(force), None) => {
                if servo.area.is_some() {
                    self.problem(
                        format_args!("{path}.area"),
                        "an area together with \"force\"",
                        "none: it goes with a \"pressure\"",
                    );
                }
                Some(force)
            }
            (None, Some(pressure)) => {
                // Both lie across their own y axes.
                let across = (turn * DVec3::Y).dot(direction).abs();
                let area = match (servo.area, shape) {
                    (Some(area), _) => Some(area),
                    (None, Shape::Rectangle { size }) => Some(size.x * size.y * across),
                    (None, Shape::Disc { radius, .. }) => Some(PI * radius * radius * across),
                    _ => None,
                };
                match area.filter(|area| *area > 0.0) {
                    Some(area) => Some(pressure * area),
                    None => {
                        self.problem(
                            format_args!("{path}.area"),
                            "nothing",
                            "an area, m², since the wall is no rectangle or disc across the direction",
                        );
                        None
                    }
                }
            }
            (force, _) => {
                let found = match force {
                    Some(_) => "both \"force\" and \"pressure\"",
                    None => "neither \"force\" nor \"pressure\"",
                };
                self.problem(path, found, "one of them");
                None
            }
        }
    }

    /// Returns the motion of a wall of a shape, turned, under load, if it has any.
    fn dynamic(
        &mut self,
        path: &str,
        wall: &format::Wall,
        shape: &Shape,
        turn: DQuat,
    ) -> Option<Dynamic> {
        let ways = [
            ("motion", wall.motion.is_some()),
            ("rigid_body", wall.rigid_body.is_some()),
            ("servo", wall.servo.is_some()),
        ];
        let given: Vec<&str> = ways.iter().filter(|way| way.1).map(|way| way.0).collect();
        if given.len() > 1 && given != ["motion", "servo"] {
            let named: Vec<String> = given.iter().map(|name| format!("{name:?}")).collect();
            let expected =
                "one of \"motion\", \"rigid_body\" and \"servo\", or a \"motion\" and a \"servo\"";
            self.problem(path, named.join(" and "), expected);
        }
        if let Some(servo) = &wall.servo {
            let path = format!("{path}.servo");
            let direction = self.direction(
                format_args!("{path}.direction"),
                &servo.direction,
                "a direction",
            );
            for (name, number, what) in [
                ("force", servo.force, "a force, N"),
                ("pressure", servo.pressure, "a pressure, Pa"),
                ("area", servo.area, "an area, m²"),
                ("max_speed", Some(servo.max_speed), "a speed, m/s"),
            ] {
                if let Some(number) = number {
                    self.number(format_args!("{path}.{name}"), number, what, Sign::Positive);
                }
            }
            let start = servo.start.unwrap_or(0.0);
            let end = servo.end.unwrap_or(f64::INFINITY);
            self.number(
                format_args!("{path}.start"),
                start,
                "a time, s",
                Sign::NotNegative,
            );
            if end.partial_cmp(&start) != Some(Ordering::Greater)
                || servo.end.is_some_and(f64::is_infinite)
            {
                let expected = format!("a time after \"start\", which is {} (s)", exact(start));
                self.problem(format_args!("{path}.end"), exact(end), expected);
            }
            let direction = direction?;
            let force = self.force_of_servo(&path, servo, direction, shape, turn)?;
            return Some(Dynamic::Servo(Servo {
                direction,
                force,
                max_speed: servo.max_speed,
                start,
                end,
                drift: None,
            }));
        }
        let body = wall.rigid_body.as_ref()?;
        let path = format!("{path}.rigid_body");
        if body.mass.is_none() && body.moments_of_inertia.is_none() {
            self.problem(
                &path,
                "neither \"mass\" nor \"moments_of_inertia\"",
                "one or both of them, so that it moves or turns",
            );
        }
        let needs = [
            ("rail", body.rail.is_some(), "mass", body.mass.is_some()),
            ("force", body.force.is_some(), "mass", body.mass.is_some()),
            (
                "velocity",
                body.velocity.is_some(),
                "mass",
                body.mass.is_some(),
            ),
            (
                "axle",
                body.axle.is_some(),
                "moments_of_inertia",
                body.moments_of_inertia.is_some(),
            ),
            (
                "torque",
                body.torque.is_some(),
                "moments_of_inertia",
                body.moments_of_inertia.is_some(),
            ),
            (
                "angular_velocity",
                body.angular_velocity.is_some(),
                "moments_of_inertia",
                body.moments_of_inertia.is_some(),
            ),
        ];
        for (name, given, other, there) in needs {
            if given && !there {
                self.problem(
                    format_args!("{path}.{name}"),
                    format!("{name:?} without {other:?}"),
                    format!("{other:?} with it"),
                );
            }
        }
        if let Some(mass) = body.mass {
            self.number(
                format_args!("{path}.mass"),
                mass,
                "a mass, kg",
                Sign::Positive,
            );
        }
        if let Some(moments) = &body.moments_of_inertia {
            for (axis, moment) in moments.0.iter().enumerate() {
                let path = format_args!("{path}.moments_of_inertia[{axis}]");
                self.number(path, *moment, "a moment of inertia, kg m2", Sign::Positive);
            }
        }
        let mut axis = |name: &str, given: &Option<format::Vector>, what: &str| {
            let given = given.as_ref()?;
            self.direction(format_args!("{path}.{name}"), given, what)
        };
        let rail = axis("rail", &body.rail, "a direction");
        let axle = axis("axle", &body.axle, "an axis");
        let mut vector = |name: &str, given: &Option<format::Vector>, what: &str| {
            self.optional_vector(format_args!("{path}.{name}"), given.as_ref(), what)
        };
        let force = vector("force", &body.force, "a force, N");
        let torque = vector("torque", &body.torque, "a torque, N m");
        let velocity = vector("velocity", &body.velocity, "a velocity, m/s");
        let angular_velocity = vector(
            "angular_velocity",
            &body.angular_velocity,
            "an angular velocity, rad/s",
        );
        for (name, velocity, along, axis) in [
            ("velocity", velocity, "rail", rail),
            ("angular_velocity", angular_velocity, "axle", axle),
        ] {
            let Some(axis) = axis else {
                continue;
            };
            let across = velocity - velocity.dot(axis) * axis;
            if across.length() > 1e-6 * velocity.length() {
                self.problem(
                    format_args!("{path}.{name}"),
                    list(&velocity.to_array()),
                    format!(
                        "a vector along the {along}, which is {}",
                        list(&axis.to_array())
                    ),
                );
            }
        }
        Some(Dynamic::Body(RigidWall {
            mass: body.mass,
            rail,
            moments: body.moments_of_inertia.as_ref().map(super::check::vector),
            axle,
            force,
            torque,
            velocity,
            angular_velocity,
        }))
    }

    /// Refuses all but a steady motion of a wall that a servo presses.
    pub(super) fn drifts(&mut self, path: &str, motion: &Motion, wall: &Wall) {
        let Some(Dynamic::Servo(servo)) = wall.dynamic else {
            return;
        };
        let expected =
            "a steady \"velocity\" or \"rotation\", which a wall with a \"servo\" may have";
        for (field, given) in [
            ("vibrations", !motion.swings.is_empty()),
            ("keys", !motion.keys.is_empty()),
        ] {
            if given {
                self.problem(path, format!("{field:?}"), expected);
            }
        }
        let along = motion.velocity.dot(servo.direction);
        if along.abs() > 1e-9 * motion.velocity.length() {
            self.problem(
                format_args!("{path}.velocity"),
                format!("{} m/s along the direction of the servo", rounded(along)),
                "a velocity across it",
            );
        }
        let Some(rotation) = &motion.rotation else {
            return;
        };
        let path = format!("{path}.rotation");
        if rotation.amplitude != 0.0 || rotation.ramp != 0.0 {
            self.problem(&path, "\"amplitude\" or \"ramp\"", expected);
        }
        if wall.reach().is_infinite() {
            self.problem(
                &path,
                "a rotation of an endless wall",
                "none where a \"servo\" presses it: take a rectangle or a disc",
            );
        }
        if rotation.center != wall.pose.position {
            self.problem(
                format_args!("{path}.center"),
                "a place beside the wall's position",
                "none, since a wall with a \"servo\" turns about its position",
            );
        }
    }

    pub(super) fn motion(&mut self, path: &str, motion: &format::Motion, start: &Pose) -> Motion {
        let velocity = self.optional_vector(
            format_args!("{path}.velocity"),
            motion.velocity.as_ref(),
            "a velocity, m/s",
        );
        let mut time = |name: &str, time: f64| {
            self.number(
                format_args!("{path}.{name}"),
                time,
                "a time, s",
                Sign::NotNegative,
            );
            time
        };
        let begin = time("start", motion.start.unwrap_or(0.0));
        let end = motion.end.map_or(f64::INFINITY, |end| time("end", end));
        if end <= begin {
            self.problem(
                format_args!("{path}.end"),
                exact(end),
                format!("a time later than the start, which is {} (s)", exact(begin)),
            );
        }
        let vibrations = motion.vibrations.iter().enumerate();
        let swings = vibrations
            .map(|(index, swing)| {
                let path = format!("{path}.vibrations[{index}]");
                self.vector(
                    format_args!("{path}.amplitude"),
                    &swing.amplitude,
                    "a length, m",
                );
                let [phase, ramp] = self.swing(&path, swing.frequency, swing.phase, swing.ramp);
                Swing {
                    amplitude: vector(&swing.amplitude),
                    frequency: swing.frequency,
                    phase,
                    ramp,
                }
            })
            .collect();
        let rotation = motion.rotation.as_ref().and_then(|rotation| {
            let path = format!("{path}.rotation");
            let axis = self.direction(format_args!("{path}.axis"), &rotation.axis, "an axis");
            if let Some(center) = &rotation.center {
                self.vector(format_args!("{path}.center"), center, "a coordinate, m");
            }
            let (speed, amplitude) = (rotation.speed, rotation.amplitude);
            for (name, number, what) in [
                ("speed", speed, "an angular speed, rad/s"),
                ("amplitude", amplitude, "an angle, rad"),
            ] {
                let path = format_args!("{path}.{name}");
                self.number(path, number.unwrap_or(0.0), what, Sign::Any);
            }
            let frequency = rotation.frequency.unwrap_or(0.0);
            let [phase, ramp] = self.swing(&path, frequency, rotation.phase, rotation.ramp);
            Some(Rotation {
                axis: axis?,
                center: rotation.center.as_ref().map_or(start.position, vector),
                speed: speed.unwrap_or(0.0),
                ramp,
                amplitude: amplitude.unwrap_or(0.0),
                frequency,
                phase,
            })
        });
        let mut keys: Vec<Key> = Vec::new();
        for (index, key) in motion.keys.iter().enumerate() {
            let path = format!("{path}.keys[{index}]");
            let what = "a time, s";
            self.number(
                format_args!("{path}.time"),
                key.time,
                what,
                Sign::NotNegative,
            );
            if let Some(before) = keys.last().filter(|before| before.time >= key.time) {
                let expected = format!(
                    "a time after that of the key before it, {} s",
                    exact(before.time)
                );
                self.problem(format_args!("{path}.time"), exact(key.time), expected);
            }
            let mut pose = *start;
            if let Some(position) = &key.position {
                self.vector(format_args!("{path}.position"), position, "a coordinate, m");
                pose.position = vector(position);
            }
            if key.orientation.is_some() || key.axis.is_some() || key.angle.is_some() {
                let orientation = key.orientation.as_ref();
                let turned =
                    self.orientation(&path, "key", orientation, key.axis.as_ref(), key.angle);
                pose.orientation = turned.unwrap_or(pose.orientation);
            }
            keys.push(Key {
                time: key.time,
                pose,
            });
        }
        Motion {
            velocity,
            swings,
            rotation,
            keys,
            start: begin,
            end,
        }
    }

    /// Phase and ramp of a swing.
    fn swing(
        &mut self,
        path: &str,
        frequency: f64,
        phase: Option<f64>,
        ramp: Option<f64>,
    ) -> [f64; 2] {
        let [phase, ramp] = [phase, ramp].map(|number| number.unwrap_or(0.0));
        for (name, number, what, sign) in [
            (
                "frequency",
                frequency,
                "a frequency, 1/s",
                Sign::NotNegative,
            ),
            ("phase", phase, "an angle, rad", Sign::Any),
            ("ramp", ramp, "a time, s", Sign::NotNegative),
        ] {
            self.number(format_args!("{path}.{name}"), number, what, sign);
        }
        [phase, ramp]
    }

    /// Refuses an endless wall that turns about anything but its own axis: far away, it would move too fast.
    fn endless(&mut self, path: &str, wall: &Wall) -> Option<()> {
        let own = match wall.shape {
            Shape::Plane { normal } => normal,
            Shape::Cone { height, .. } if height.is_infinite() => DVec3::Y,
            _ => return Some(()),
        };
        if let Some(Dynamic::Body(body)) = wall.dynamic
            && body.moments.is_some()
        {
            self.problems.push(
                Problem::new(
                    format_args!("{path}.rigid_body.moments_of_inertia"),
                    "moments of inertia of an endless wall",
                    "none: an endless wall does not turn",
                )
                .help("take a rectangle, a box or a cylinder with a \"height\""),
            );
            return None;
        }
        let Some(motion) = &wall.motion else {
            return Some(());
        };
        let axis = wall.pose.orientation * own;
        let along = |other: DVec3| other.cross(axis).length() < 1e-9;
        let fine = motion.rotation.is_none_or(|rotation| along(rotation.axis))
            && motion
                .keys
                .iter()
                .all(|key| along(key.pose.orientation * own));
        if !fine {
            self.problems.push(
                Problem::new(
                    format_args!("{path}.motion"),
                    "a rotation of an endless wall",
                    "one about its own axis: the normal of a plane, the axis of a cylinder",
                )
                .help("take a rectangle, a box or a cylinder with a \"height\""),
            );
        }
        fine.then_some(())
    }
}
