//! A scene made by a program, with typed values and handles instead of JSON and names.

use std::path::{Path, PathBuf};

use glam::{DQuat, DVec2, DVec3};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use super::files::Folder;
use super::format::{
    self, Contact, Drag, Fill, Force, Group, Inlet, List, Material, Outlet, Pair, SceneFile, Shape,
    Spring, Table, Wall,
};
use super::placed::Places;
use super::{Disk, Files, Scene, SceneError, build};
use crate::model::handle::{
    BodyHandle, ForceHandle, GroupHandle, MaterialHandle, ShapeHandle, WallHandle,
};
use crate::simulation::bodies::NewBody;

/// A scene that a program puts together.
///
/// Each part that is added gives back a handle, which names it in later calls, and in the simulation that comes of it.
/// Whatever a scene file can say can be said here: the methods are for the usual things, and [`SceneBuilder::file`] is
/// for all others.
///
/// ```
/// use rockfall::glam::DVec3;
/// use rockfall::scene::SceneBuilder;
/// use rockfall::scene::format::{Contact, Material, Shape, Wall};
/// use rockfall::{Backend, NewBody, Options, Simulation};
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let mut scene = SceneBuilder::new("three balls");
/// let stone = scene.material("stone", Material::new(2500.0).friction(0.5).restitution(0.5));
/// let ball = scene.shape("ball", Shape::sphere(0.05), stone);
/// scene.wall("floor", Wall::plane(DVec3::Y), stone);
/// scene.contact(Contact::hooke(1e5));
/// for level in 1..4 {
///     scene.body(NewBody::new(ball, DVec3::new(0.0, 0.2 * f64::from(level), 0.0)));
/// }
/// let options = Options { backend: Backend::Cpu, ..Options::default() };
/// let mut simulation = Simulation::new(scene.build()?.model, &options)?;
/// simulation.run_until(1.0)?;
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug)]
pub struct SceneBuilder {
    file: SceneFile,
    folder: PathBuf,
}

/// End of a spring.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum SpringEnd {
    /// At a point of a body, in the axes of its shape, m.
    Body(BodyHandle, DVec3),
    /// At a point of the world, m.
    World(DVec3),
}

impl SceneBuilder {
    /// A scene with nothing in it.
    pub fn new(name: &str) -> SceneBuilder {
        let mut file: SceneFile =
            of(json!({ "version": 1, "materials": {}, "shapes": {}, "bodies": [] }));
        file.name = Some(name.to_owned());
        SceneBuilder {
            file,
            folder: PathBuf::new(),
        }
    }

    /// Looks for files that the scene names in `folder`, instead of in the current one.
    pub fn files_in(&mut self, folder: &Path) -> &mut SceneBuilder {
        folder.clone_into(&mut self.folder);
        self
    }

    /// The scene as a file has it, to change what no method changes.
    pub fn file(&mut self) -> &mut SceneFile {
        &mut self.file
    }

    /// Adds a material.
    pub fn material(&mut self, name: &str, material: Material) -> MaterialHandle {
        self.file.materials.0.push((name.to_owned(), material));
        MaterialHandle::from_index(self.file.materials.0.len() - 1)
    }

    /// Sets how two materials touch, where their mean is not meant.
    pub fn pair(&mut self, a: MaterialHandle, b: MaterialHandle, pair: Pair) -> &mut SceneBuilder {
        let between = List([a, b].map(|own| self.material_name(own)));
        self.file.pairs.push(Pair { between, ..pair });
        self
    }

    /// Adds a shape of one material. What no body, fill or inlet has is there to be
    /// [spawned](crate::Simulation::spawn).
    pub fn shape(&mut self, name: &str, shape: Shape, material: MaterialHandle) -> ShapeHandle {
        let material = Some(self.material_name(material));
        let shape = Shape { material, ..shape };
        self.file.shapes.0.push((name.to_owned(), shape));
        ShapeHandle::from_index(self.file.shapes.0.len() - 1)
    }

    /// Adds a group of bodies.
    pub fn group(&mut self, name: &str, group: Group) -> GroupHandle {
        self.file.groups.0.push((name.to_owned(), group));
        // The first group is that of the bodies that are in no other.
        GroupHandle::from_index(self.file.groups.0.len())
    }

    /// Adds a wall.
    pub fn wall(&mut self, name: &str, wall: Wall, material: MaterialHandle) -> WallHandle {
        let material = self.material_name(material);
        self.file.walls.push(Wall {
            name: Some(name.to_owned()),
            material,
            ..wall
        });
        WallHandle::from_index(self.file.planes.len() + self.file.walls.len() - 1)
    }

    /// Adds a body. Its handle is that of the simulation, too.
    pub fn body(&mut self, body: NewBody) -> BodyHandle {
        let index = self.file.bodies.len();
        let group = body.group.index().checked_sub(1);
        let name = |index: usize| self.file.groups.0.get(index).map(|(name, _)| name.clone());
        let own = format::Body {
            name: Some(body_name(index)),
            shape: self.shape_name(body.shape),
            position: List(body.position.to_array()),
            orientation: (body.orientation != DQuat::IDENTITY)
                .then(|| List(body.orientation.to_array())),
            velocity: List(body.velocity.to_array()),
            angular_velocity: List(body.angular_velocity.to_array()),
            fixed: body.fixed,
            // What is no group of this scene gets a name that the check refuses.
            group: group.map(|index| name(index).unwrap_or_else(|| format!("group {index}"))),
            ..format::Body::default()
        };
        self.file.bodies.push(own.carrying(body.quantities));
        BodyHandle::from_id(index as u64)
    }

    /// Fills a region with bodies of some shapes, in these proportions.
    pub fn fill(&mut self, shapes: &[(ShapeHandle, f64)], fill: Fill) -> &mut SceneBuilder {
        let shapes = self.mix(shapes);
        self.file.fills.push(Fill { shapes, ..fill });
        self
    }

    /// Adds an inlet for bodies of some shapes, in these proportions.
    pub fn inlet(&mut self, shapes: &[(ShapeHandle, f64)], inlet: Inlet) -> &mut SceneBuilder {
        let shapes = self.mix(shapes);
        self.file.inlets.push(Inlet { shapes, ..inlet });
        self
    }

    /// Adds an outlet.
    pub fn outlet(&mut self, outlet: Outlet) -> &mut SceneBuilder {
        self.file.outlets.push(outlet);
        self
    }

    /// Adds a spring of the stiffness `stiffness` (N/m), the first end of which is at a body. Its length at rest is that at
    /// the start.
    pub fn spring(&mut self, ends: [SpringEnd; 2], stiffness: f64) -> &mut Spring {
        let [from, to] = ends.map(|end| match end {
            SpringEnd::Body(body, point) => {
                json!({ "body": body_name(body.id() as usize), "point": point.to_array() })
            }
            SpringEnd::World(point) => json!({ "point": point.to_array() }),
        });
        let springs = &mut self.file.springs;
        springs.push(of(
            json!({ "from": from, "to": to, "stiffness": stiffness }),
        ));
        springs.last_mut().expect("it has just been added")
    }

    /// Adds a force on a body.
    pub fn force(&mut self, body: BodyHandle, force: Force) -> ForceHandle {
        let body = body_name(body.id() as usize);
        self.file.forces.push(Force { body, ..force });
        ForceHandle::from_index(self.file.forces.len() - 1)
    }

    /// Sets the acceleration of gravity, m/s²; 9.81 downwards without a call.
    pub fn gravity(&mut self, gravity: DVec3) -> &mut SceneBuilder {
        self.file.gravity = List(gravity.to_array());
        self
    }

    /// Sets the drag of all bodies.
    pub fn drag(&mut self, drag: Drag) -> &mut SceneBuilder {
        self.file.drag = drag;
        self
    }

    /// Sets how bodies touch.
    pub fn contact(&mut self, contact: Contact) -> &mut SceneBuilder {
        self.file.contact = contact;
        self
    }

    /// Checks the scene, and makes it ready.
    ///
    /// # Errors
    /// All that is wrong with it, as of a file, by the places that it would have in one.
    pub fn build(&self) -> Result<Scene, SceneError> {
        self.build_with(&Disk)
    }

    /// Builds the scene with the files that it names from where `files` has them.
    ///
    /// # Errors
    /// As [`SceneBuilder::build`].
    pub fn build_with(&self, files: &dyn Files) -> Result<Scene, SceneError> {
        let mut file = self.file.clone();
        file.spawn.extend(build::unused_shapes(&file));
        let name = file.name.clone().unwrap_or_default();
        let folder = Folder {
            path: &self.folder,
            files,
        };
        build::build(&file, &name, folder, Places::Searched(None)).map_err(|problems| SceneError {
            file: PathBuf::from(&name),
            problems,
        })
    }

    fn material_name(&self, material: MaterialHandle) -> String {
        let found = self.file.materials.0.get(material.index());
        name_of(found, "material", material.index())
    }

    fn shape_name(&self, shape: ShapeHandle) -> String {
        let found = self.file.shapes.0.get(shape.index());
        name_of(found, "shape", shape.index())
    }

    fn mix(&self, shapes: &[(ShapeHandle, f64)]) -> Table<f64> {
        let parts = shapes.iter();
        Table(
            parts
                .map(|(shape, part)| (self.shape_name(*shape), *part))
                .collect(),
        )
    }
}

impl<T> Table<T> {
    /// Adds an entry; one of the same name is replaced.
    pub fn add(&mut self, name: impl Into<String>, entry: T) {
        let name = name.into();
        self.0.retain(|(other, _)| *other != name);
        self.0.push((name, entry));
    }
}

impl<T, const N: usize> From<[T; N]> for List<T, N> {
    fn from(values: [T; N]) -> Self {
        List(values)
    }
}

/// The name of a part; what is none of this scene gets one that the check refuses.
fn name_of<T>(found: Option<&(String, T)>, what: &str, index: usize) -> String {
    found.map_or_else(|| format!("{what} {index}"), |(name, _)| name.clone())
}

fn body_name(index: usize) -> String {
    format!("body {index}")
}

/// An object as a file would give it, with the defaults of a file.
fn of<T: DeserializeOwned>(value: Value) -> T {
    // From text, as in a file: another set of deserializers would take long to compile.
    let text = value.to_string();
    serde_path_to_error::deserialize(&mut serde_json::Deserializer::from_str(&text))
        .expect("all that has no default is given")
}

/// The way to set all that no other method does.
macro_rules! with {
    ($($name:ty),*) => {$(
        impl $name {
            /// Changes fields for which there is no method of their own.
            pub fn with(mut self, change: impl FnOnce(&mut Self)) -> Self {
                change(&mut self);
                self
            }
        }
    )*};
}

with!(
    Contact, Fill, Force, Group, Inlet, Material, Outlet, Pair, Shape, Wall
);

impl Material {
    /// A material of a density, kg/m³, without friction.
    pub fn new(density: f64) -> Material {
        Material {
            density,
            ..Material::default()
        }
    }

    /// Sets the coefficient of friction.
    pub fn friction(self, friction: f64) -> Material {
        Material { friction, ..self }
    }

    /// Sets the coefficient of restitution, from 0 to 1.
    pub fn restitution(self, restitution: f64) -> Material {
        Material {
            restitution: Some(restitution),
            ..self
        }
    }

    /// Sets Young's modulus (Pa) and Poisson's ratio, for the normal model `hertz`.
    pub fn elastic(self, young_modulus: f64, poisson_ratio: f64) -> Material {
        Material {
            young_modulus: Some(young_modulus),
            poisson_ratio: Some(poisson_ratio),
            ..self
        }
    }
}

impl Contact {
    /// A linear spring and dashpot of a normal stiffness, N/m, with a tangential spring that has a history.
    pub fn hooke(stiffness: f64) -> Contact {
        Contact {
            normal: format::NormalModel::Hooke,
            tangential: Some(format::TangentialModel::History),
            stiffness: Some(stiffness),
            ..Contact::default()
        }
    }

    /// Impulses, in as long steps as can be.
    pub fn impulse() -> Contact {
        Contact {
            normal: format::NormalModel::Impulse,
            ..Contact::default()
        }
    }

    /// Hertz's spring and Mindlin's, of the elastic moduli of the materials.
    pub fn hertz() -> Contact {
        Contact {
            normal: format::NormalModel::Hertz,
            ..Contact::default()
        }
    }
}

impl Shape {
    /// One sphere of a radius, m.
    pub fn sphere(radius: f64) -> Shape {
        of(json!({ "sphere": { "radius": radius } }))
    }

    /// A cube of `n` by `n` by `n` spheres of a radius, m.
    pub fn cube(n: u32, radius: f64) -> Shape {
        of(json!({ "cube": { "n": n, "radius": radius } }))
    }

    /// A row of `n` spheres of a radius, m.
    pub fn rod(n: u32, radius: f64) -> Shape {
        of(json!({ "rod": { "n": n, "radius": radius } }))
    }

    /// A box with rounded edges, made of spheres of a radius, m; `size` are its sides, m.
    pub fn cuboid(size: DVec3, radius: f64) -> Shape {
        of(json!({ "box": { "size": size.to_array(), "radius": radius } }))
    }

    /// Spheres, by their centres (m) and radii (m).
    pub fn spheres(spheres: &[(DVec3, f64)]) -> Shape {
        let spheres = spheres.iter();
        let spheres: Vec<Value> = spheres
            .map(|(center, radius)| json!({ "center": center.to_array(), "radius": radius }))
            .collect();
        of(json!({ "spheres": spheres }))
    }

    /// `spheres` spheres fitted inside a watertight mesh, an OBJ or STL file.
    pub fn mesh(file: &str, spheres: u32) -> Shape {
        of(json!({ "mesh": { "file": file, "spheres": spheres } }))
    }
}

impl Wall {
    /// An infinite plane through the origin with the unit normal `normal`, on the side of which bodies are.
    pub fn plane(normal: DVec3) -> Wall {
        of(json!({ "plane": { "normal": normal.to_array() }, "material": "" }))
    }

    /// A rectangle about the origin, across y; `size` are its lengths along x and z, m.
    pub fn rectangle(size: DVec2) -> Wall {
        of(json!({ "rectangle": { "size": size.to_array() }, "material": "" }))
    }

    /// A box about the origin with these sides, m.
    pub fn cuboid(size: DVec3) -> Wall {
        of(json!({ "box": { "size": size.to_array() }, "material": "" }))
    }

    /// A sphere about the origin, m.
    pub fn sphere(radius: f64) -> Wall {
        of(json!({ "sphere": { "radius": radius }, "material": "" }))
    }

    /// A cylinder about the y axis, m.
    pub fn cylinder(radius: f64, height: f64) -> Wall {
        of(json!({ "cylinder": { "radius": radius, "height": height }, "material": "" }))
    }

    /// Triangles of an OBJ or STL file.
    pub fn mesh(file: &str) -> Wall {
        of(json!({ "mesh": { "file": file }, "material": "" }))
    }

    /// Puts the wall at a place, m.
    pub fn at(self, position: DVec3) -> Wall {
        Wall {
            position: List(position.to_array()),
            ..self
        }
    }

    /// Turns the wall.
    pub fn turned(self, orientation: DQuat) -> Wall {
        Wall {
            orientation: Some(List(orientation.to_array())),
            ..self
        }
    }

    /// Has bodies touch one side only.
    pub fn side(self, side: format::Side) -> Wall {
        Wall {
            side: Some(side),
            ..self
        }
    }
}

impl Force {
    /// A force (N) at the centre of mass, in the axes of the world, from the start on.
    pub fn new(force: DVec3) -> Force {
        of(json!({ "body": "", "force": force.to_array() }))
    }

    /// Adds a torque, N m.
    pub fn torque(self, torque: DVec3) -> Force {
        Force {
            torque: List(torque.to_array()),
            ..self
        }
    }
}

impl Fill {
    /// `count` bodies in the box from `min` to `max`, m.
    pub fn new(count: u64, min: DVec3, max: DVec3) -> Fill {
        let region = json!({ "min": min.to_array(), "max": max.to_array() });
        of(json!({ "count": count, "shapes": {}, "region": region }))
    }
}

impl Inlet {
    /// `rate` bodies a second that come in in the box from `min` to `max`, m.
    pub fn new(rate: f64, min: DVec3, max: DVec3) -> Inlet {
        let region = json!({ "min": min.to_array(), "max": max.to_array() });
        of(json!({ "rate": rate, "shapes": {}, "region": region }))
    }
}

impl Outlet {
    /// Bodies go out that are in the box from `min` to `max`, m.
    pub fn inside(min: DVec3, max: DVec3) -> Outlet {
        of(json!({ "inside": { "min": min.to_array(), "max": max.to_array() } }))
    }
}
