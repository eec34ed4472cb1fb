//! Scenes in code: the same as in a file, field by field.

use std::path::Path;

use super::files::{Disk, Folder};
use super::format::{
    Body, Contact, Cuboid, Drag, Fill, FillOrientation, InitialOverlap, Integrator, Lattice, List,
    Material, Output, Placement, Plane, Range, Region, SceneFile, Shape, Sphere, Table, Vector,
    Version,
};
use super::{Scene, SceneError, build};

impl SceneFile {
    /// A scene without anything in it but what has a default.
    ///
    /// ```
    /// use rockfall::scene::format::{Body, Fill, Material, Plane, SceneFile, Shape};
    ///
    /// let mut scene = SceneFile::new("pile");
    /// scene.duration = 0.5;
    /// scene.contact.max_overlap = Some(0.05);
    /// scene.materials.add("stone", Material::new(2500.0, 0.5, 0.5));
    /// scene.shapes.add("ball", Shape::sphere(0.05, "stone"));
    /// scene.shapes.add("rod", Shape::rod(3, 0.03, "stone"));
    /// scene.planes.push(Plane::new([0.0, 0.0, 0.0], [0.0, 1.0, 0.0], "stone"));
    /// scene.bodies.push(Body::new("rod", [0.0, 0.1, 0.0]));
    /// scene.fills.push(Fill::new(50, [("ball", 1.0)], [-0.5, 0.3, -0.5], [0.5, 1.0, 0.5]));
    /// let scene = scene.build()?;
    /// assert_eq!(scene.model.bodies.len(), 51);
    /// # Ok::<(), rockfall::scene::SceneError>(())
    /// ```
    pub fn new(name: impl Into<String>) -> SceneFile {
        SceneFile {
            schema: None,
            version: Version,
            name: Some(name.into()),
            description: None,
            gravity: super::format::earth(),
            duration: 1.0,
            integrator: Integrator::default(),
            initial_overlap: InitialOverlap::default(),
            domain: None,
            output: Output::default(),
            contact: Contact::default(),
            groups: Table::default(),
            drag: Drag::default(),
            springs: Vec::new(),
            forces: Vec::new(),
            water: None,
            sleep: None,
            materials: Table::default(),
            pairs: Vec::new(),
            shapes: Table::default(),
            planes: Vec::new(),
            walls: Vec::new(),
            start: None,
            bodies: Vec::new(),
            fills: Vec::new(),
            inlets: Vec::new(),
            outlets: Vec::new(),
            probes: Vec::new(),
            explosions: Vec::new(),
            look_every: None,
        }
    }

    /// Checks the scene and makes it ready, as [`parse`](super::parse) does with that of a file. Files that
    /// it names are relative to the current folder.
    ///
    /// # Errors
    ///
    /// Everything that is wrong with it, as far as one thing does not hide another; the name of the scene
    /// stands for that of the file.
    pub fn build(&self) -> Result<Scene, SceneError> {
        let name = self.name.as_deref().unwrap_or("scene");
        let folder = Folder {
            path: Path::new(""),
            files: &Disk,
        };
        build::build(self, name, folder).map_err(|problems| SceneError {
            file: name.into(),
            problems,
        })
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

impl Material {
    /// A material of a density (kg/m³), a coefficient of restitution and one of friction.
    pub fn new(density: f64, restitution: f64, friction: f64) -> Material {
        Material {
            density,
            restitution: Some(restitution),
            friction,
            ..Material::default()
        }
    }
}

impl Shape {
    /// A shape of a material with none of the kinds chosen.
    fn of(material: impl Into<String>) -> Shape {
        Shape {
            sphere: None,
            cube: None,
            tetrahedron: None,
            rod: None,
            torus: None,
            cuboid: None,
            mesh: None,
            spheres: None,
            parts: None,
            material: Some(material.into()),
            mass_properties: None,
        }
    }

    /// One sphere of a radius (m).
    pub fn sphere(radius: f64, material: impl Into<String>) -> Shape {
        Shape {
            sphere: Some(Sphere { radius }),
            ..Shape::of(material)
        }
    }

    /// n x n x n spheres of a radius (m) that touch, on a cubic lattice.
    pub fn cube(n: u32, radius: f64, material: impl Into<String>) -> Shape {
        Shape {
            cube: Some(lattice(n, radius)),
            ..Shape::of(material)
        }
    }

    /// A tetrahedron of spheres of a radius (m) that touch, n along each edge.
    pub fn tetrahedron(n: u32, radius: f64, material: impl Into<String>) -> Shape {
        Shape {
            tetrahedron: Some(lattice(n, radius)),
            ..Shape::of(material)
        }
    }

    /// n spheres of a radius (m) that touch, in a row along x.
    pub fn rod(n: u32, radius: f64, material: impl Into<String>) -> Shape {
        Shape {
            rod: Some(lattice(n, radius)),
            ..Shape::of(material)
        }
    }

    /// A cuboid with sides of the given lengths (m), of spheres of a radius (m) along its faces.
    pub fn cuboid(size: impl Into<Vector>, radius: f64, material: impl Into<String>) -> Shape {
        let cuboid = Cuboid {
            size: size.into(),
            radius,
            spacing: None,
        };
        Shape {
            cuboid: Some(cuboid),
            ..Shape::of(material)
        }
    }

    /// Spheres with their centres and radii (m), in the shape's own axes.
    pub fn spheres(
        spheres: impl IntoIterator<Item = ([f64; 3], f64)>,
        material: impl Into<String>,
    ) -> Shape {
        let sphere = |(center, radius)| super::format::CenteredSphere {
            center: List(center),
            radius,
        };
        Shape {
            spheres: Some(spheres.into_iter().map(sphere).collect()),
            ..Shape::of(material)
        }
    }
}

fn lattice(n: u32, radius: f64) -> Lattice {
    Lattice {
        n,
        radius,
        spacing: None,
    }
}

impl Plane {
    /// A plane through a point (m), with a normal to the side on which bodies live.
    pub fn new(
        point: impl Into<Vector>,
        normal: impl Into<Vector>,
        material: impl Into<String>,
    ) -> Plane {
        Plane {
            point: point.into(),
            normal: normal.into(),
            material: material.into(),
            temperature: None,
        }
    }
}

impl Body {
    /// A body of a shape whose origin is at a place (m), at rest, with the axes of the world.
    pub fn new(shape: impl Into<String>, position: impl Into<Vector>) -> Body {
        Body {
            name: None,
            shape: shape.into(),
            position: position.into(),
            orientation: None,
            axis: None,
            angle: None,
            velocity: List([0.0; 3]),
            angular_velocity: List([0.0; 3]),
            material: None,
            fixed: false,
            group: None,
            temperature: None,
        }
    }
}

impl Fill {
    /// A number of bodies of a mix of shapes, on a grid in the box between two corners (m).
    pub fn new(
        count: u64,
        shapes: impl IntoIterator<Item = (impl Into<String>, f64)>,
        min: impl Into<Vector>,
        max: impl Into<Vector>,
    ) -> Fill {
        let mut mix = Table::default();
        for (shape, weight) in shapes {
            mix.add(shape, weight);
        }
        Fill {
            count,
            shapes: mix,
            material: None,
            placement: Placement::Grid,
            spacing: None,
            jitter: None,
            region: Region {
                min: min.into(),
                max: max.into(),
            },
            sizes: None,
            orientation: FillOrientation::default(),
            velocity: Range::default(),
            angular_velocity: Range::default(),
            group: None,
            seed: 0,
            temperature: None,
        }
    }
}
