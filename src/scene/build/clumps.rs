//! From shapes to clumps.

use std::collections::{BTreeMap, HashMap};
use std::fmt;

use glam::{DMat3, DQuat, DVec3};

use super::super::PROGRESS;
use super::super::error::{Problem, exact, rounded};
use super::super::files::Folder;
use super::super::format::{self, Inertia, MassProperties, SceneFile, Volume};
use super::MAX_SPHERES_OF_SHAPE;
use super::check::{Check, Names, Sign, rounded_list, vector};
use crate::model::clump::shapes;
use crate::model::clump::{self, Clump, ClumpSphere, FINEST, Fit, Fitted, MAX_FITTED, Unphysical};

/// Kinds of shapes, as a file gives their spheres.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Sphere,
    Cube,
    Tetrahedron,
    Rod,
    Torus,
    Box,
    Mesh,
    Spheres,
    Parts,
}

impl Kind {
    const ALL: [Kind; 9] = [
        Kind::Sphere,
        Kind::Cube,
        Kind::Tetrahedron,
        Kind::Rod,
        Kind::Torus,
        Kind::Box,
        Kind::Mesh,
        Kind::Spheres,
        Kind::Parts,
    ];

    fn keyword(self) -> &'static str {
        match self {
            Kind::Sphere => "sphere",
            Kind::Cube => "cube",
            Kind::Tetrahedron => "tetrahedron",
            Kind::Rod => "rod",
            Kind::Torus => "torus",
            Kind::Box => "box",
            Kind::Mesh => "mesh",
            Kind::Spheres => "spheres",
            Kind::Parts => "parts",
        }
    }
}

/// Whether a density is one; of one that is not, there is a problem already.
fn fits(density: f64) -> bool {
    density > 0.0 && density <= f64::from(f32::MAX)
}

/// A shape before it is made ready: in its own axes.
#[derive(Clone)]
struct Draft {
    spheres: Vec<ClumpSphere>,
    /// Material of each sphere.
    materials: Vec<usize>,
    /// Parts from which its mass adds up.
    portions: Vec<Portion>,
}

/// A part of one material, or one whose mass does not depend on a material.
#[derive(Clone)]
struct Portion {
    material: Option<usize>,
    properties: clump::MassProperties,
}

impl Draft {
    fn properties(&self) -> clump::MassProperties {
        let mut portions = self.portions.iter().map(|portion| portion.properties);
        let first = portions.next().expect("a shape has a mass");
        portions.fold(first, |whole, portion| whole.and(&portion))
    }

    /// This shape made of one material; `densities` are those of all, kg/m³.
    fn of(&self, material: usize, densities: &[f64]) -> Draft {
        let other = |portion: &Portion| match portion.material {
            Some(before) => Portion {
                material: Some(material),
                properties: portion
                    .properties
                    .denser(densities[material] / densities[before]),
            },
            None => portion.clone(),
        };
        Draft {
            spheres: self.spheres.clone(),
            materials: vec![material; self.spheres.len()],
            portions: self.portions.iter().map(other).collect(),
        }
    }

    /// This shape, turned about its origin and moved.
    fn moved(&self, orientation: DQuat, position: DVec3) -> Draft {
        let sphere = |sphere: &ClumpSphere| ClumpSphere {
            center: position + orientation * sphere.center,
            radius: sphere.radius,
        };
        let portion = |portion: &Portion| Portion {
            material: portion.material,
            properties: portion.properties.moved(orientation, position),
        };
        Draft {
            spheres: self.spheres.iter().map(sphere).collect(),
            materials: self.materials.clone(),
            portions: self.portions.iter().map(portion).collect(),
        }
    }
}

/// All shapes of a scene, in the order of the file; after them, those that bodies have of another material.
pub(super) struct Shapes {
    /// None for each that is wrong.
    pub clumps: Vec<Option<Clump>>,
    drafts: Vec<Option<Draft>>,
    densities: Vec<f64>,
    /// Indices of the shapes of another material, by shape and material.
    variants: HashMap<(usize, usize), usize>,
}

/// Parts of a scene from which shapes are made.
struct Source<'a> {
    file: &'a SceneFile,
    names: Names<'a>,
    materials: &'a Names<'a>,
    densities: Vec<f64>,
    folder: Folder<'a>,
    /// Drafts of the shapes so far; None where nothing was tried yet.
    drafts: Vec<Option<Option<Draft>>>,
    /// The shapes that are being made, each a part of the one before.
    open: Vec<usize>,
}

impl Check {
    /// The shapes.
    pub(super) fn shapes(&mut self, file: &SceneFile, materials: &Names, folder: Folder) -> Shapes {
        let mut source = Source {
            file,
            names: Names::new("shape", file.shapes.names()),
            materials,
            densities: file.materials.0.iter().map(|(_, m)| m.density).collect(),
            folder,
            drafts: vec![None; file.shapes.0.len()],
            open: Vec::new(),
        };
        let mut clumps = Vec::new();
        for (index, (name, _)) in file.shapes.0.iter().enumerate() {
            let draft = self.draft(index, &mut source);
            clumps
                .push(draft.and_then(|draft| self.clump(&format!("shapes.{name}"), name, &draft)));
        }
        Shapes {
            clumps,
            drafts: source.drafts.into_iter().map(Option::flatten).collect(),
            densities: source.densities,
            variants: HashMap::new(),
        }
    }

    /// The shape `shape`, or that of another material if one is named at `path`.
    pub(super) fn shape_of_material(
        &mut self,
        path: &str,
        shape: Option<usize>,
        material: Option<&String>,
        materials: &Names,
        shapes: &mut Shapes,
    ) -> Option<usize> {
        let Some(name) = material else { return shape };
        let path = format!("{path}.material");
        let material = self.resolve(&path, name, materials)?;
        let shape = shape?;
        let draft = shapes.drafts[shape].as_ref()?;
        let known = shapes.variants.get(&(shape, material)).copied();
        if draft.materials.iter().all(|own| *own == material) || !fits(shapes.densities[material]) {
            return Some(shape);
        }
        if let Some(variant) = known {
            return Some(variant);
        }
        let draft = draft.of(material, &shapes.densities);
        let name = shapes.clumps[shape].as_ref()?.name.clone();
        let clump = self.clump(&path, &name, &draft);
        shapes.clumps.push(clump);
        shapes
            .variants
            .insert((shape, material), shapes.clumps.len() - 1);
        Some(shapes.clumps.len() - 1)
    }

    /// Variants of a mix of shapes in another material.
    pub(super) fn mix_of_material(
        &mut self,
        path: &str,
        mix: Vec<(usize, f64)>,
        material: Option<&String>,
        materials: &Names,
        shapes: &mut Shapes,
    ) -> Vec<(usize, f64)> {
        let before = self.problems.len();
        let mut of_material = Vec::with_capacity(mix.len());
        for (shape, weight) in mix {
            let shape = self.shape_of_material(path, Some(shape), material, materials, shapes);
            of_material.extend(shape.map(|shape| (shape, weight)));
            if self.problems.len() > before {
                break;
            }
        }
        of_material
    }

    /// The draft of a shape, made when it is first asked for; None if it is wrong, or one of its parts is.
    fn draft(&mut self, index: usize, source: &mut Source) -> Option<Draft> {
        if source.drafts[index].is_none() {
            source.open.push(index);
            let draft = self.new_draft(index, source);
            source.open.pop();
            source.drafts[index] = Some(draft);
        }
        source.drafts[index].clone().flatten()
    }

    fn new_draft(&mut self, index: usize, source: &mut Source) -> Option<Draft> {
        let (name, shape) = &source.file.shapes.0[index];
        let path = format!("shapes.{name}");
        let before = self.problems.len();
        let kind = self.kind(&path, shape)?;
        let material = match &shape.material {
            Some(material) => {
                let path = format_args!("{path}.material");
                Some(self.resolve(path, material, source.materials)?)
            }
            None if shape.parts.is_some() => None,
            None => {
                self.problem(
                    format_args!("{path}.material"),
                    "nothing",
                    "\"material\", which has no default",
                );
                return None;
            }
        };
        let given = self.given_mass(&path, shape);
        let draft = match (kind, material) {
            (Kind::Parts, material) => {
                let whole = self.parts(&path, shape.parts.as_deref().unwrap_or_default(), source);
                whole.map(|whole| match material {
                    Some(material) if fits(source.densities[material]) => {
                        whole.of(material, &source.densities)
                    }
                    _ => whole,
                })
            }
            (kind, Some(material)) => {
                let density = source.densities[material];
                let made = self.spheres(&path, kind, shape, source.folder, density);
                made.filter(|_| fits(density))
                    .map(|(spheres, properties)| Draft {
                        materials: vec![material; spheres.len()],
                        spheres,
                        portions: vec![Portion {
                            material: Some(material),
                            properties,
                        }],
                    })
            }
            (_, None) => None,
        };
        let mut draft = draft.filter(|_| self.problems.len() == before)?;
        match (&shape.mass_properties, given) {
            (None, _) => {}
            (_, Some(properties)) => {
                draft.portions = vec![Portion {
                    material: None,
                    properties,
                }];
            }
            (Some(MassProperties::Computed(volume)), None) => {
                draft.portions = self.volume(&path, *volume, &draft, source)?;
            }
            (Some(MassProperties::Given(_)), None) => return None,
        }
        Some(draft)
    }

    /// The mass of the spheres themselves.
    fn volume(
        &mut self,
        path: &str,
        volume: Volume,
        draft: &Draft,
        source: &Source,
    ) -> Option<Vec<Portion>> {
        let mut spheres: BTreeMap<usize, Vec<ClumpSphere>> = BTreeMap::new();
        for (sphere, material) in draft.spheres.iter().zip(&draft.materials) {
            spheres.entry(*material).or_default().push(*sphere);
        }
        if volume == Volume::Union && spheres.len() > 1 {
            self.problem(
                format_args!("{path}.mass_properties"),
                format!("the union of spheres of {} materials", spheres.len()),
                "\"spheres\", or parts of one material: what overlaps would be of both",
            );
            return None;
        }
        let portion = |(material, spheres): (usize, Vec<ClumpSphere>)| Portion {
            material: Some(material),
            properties: match volume {
                Volume::Spheres => clump::summed_spheres(&spheres, source.densities[material]),
                Volume::Union => clump::union_of_spheres(&spheres, source.densities[material]),
            },
        };
        Some(spheres.into_iter().map(portion).collect())
    }

    /// Other shapes, put together.
    fn parts(&mut self, path: &str, parts: &[format::Part], source: &mut Source) -> Option<Draft> {
        if parts.is_empty() {
            self.problem(format_args!("{path}.parts"), "no parts", "one or more");
            return None;
        }
        let mut whole = Draft {
            spheres: Vec::new(),
            materials: Vec::new(),
            portions: Vec::new(),
        };
        let mut complete = true;
        for (index, part) in parts.iter().enumerate() {
            let path = format!("{path}.parts[{index}]");
            let shape = self.resolve(format_args!("{path}.shape"), &part.shape, &source.names);
            let position = format_args!("{path}.position");
            let placed = self.vector(position, &part.position, "a coordinate, m");
            let orientation = self.orientation(
                &path,
                "part",
                part.orientation.as_ref(),
                part.axis.as_ref(),
                part.angle,
            );
            if let Some(shape) = shape.filter(|shape| source.open.contains(shape)) {
                let found = if source.open.last() == Some(&shape) {
                    format!("the shape {:?} itself", part.shape)
                } else {
                    format!("the shape {:?}, of which this one is a part", part.shape)
                };
                let expected = "a shape that does not consist of this one";
                self.problem(format_args!("{path}.shape"), found, expected);
                complete = false;
                continue;
            }
            let draft = shape.and_then(|shape| self.draft(shape, source));
            let (Some(draft), Some(orientation), true) = (draft, orientation, placed) else {
                complete = false;
                continue;
            };
            let draft = draft.moved(orientation, vector(&part.position));
            whole.spheres.extend(draft.spheres);
            whole.materials.extend(draft.materials);
            whole.portions.extend(draft.portions);
            if whole.spheres.len() as u64 > MAX_SPHERES_OF_SHAPE {
                self.problem(
                    path,
                    format!(
                        "a part with which there are {} spheres",
                        whole.spheres.len()
                    ),
                    format!("a shape of at most {MAX_SPHERES_OF_SHAPE}"),
                );
                return None;
            }
        }
        complete.then_some(whole)
    }

    /// A shape whose numbers are right, if single precision can hold what follows from them.
    fn clump(&mut self, path: &str, name: &str, draft: &Draft) -> Option<Clump> {
        let properties = draft.properties();
        // Both engines keep the inverses.
        let range = f64::from(f32::MIN_POSITIVE)..=f64::from(f32::MAX);
        let holds = |number: f64| range.contains(&number) && range.contains(&number.recip());
        let mass = properties.mass;
        let diagonal = properties.inertia.diagonal();
        if !(holds(mass) && diagonal.to_array().into_iter().all(holds)) {
            self.problems.push(
                Problem::new(
                    path,
                    format!(
                        "a mass of {} kg with moments of inertia of {} kg m²",
                        rounded(mass),
                        rounded_list(diagonal)
                    ),
                    "numbers between 1.2e-38 and 8.5e37, for single precision",
                )
                .help("change its radii or the density"),
            );
            return None;
        }
        let clump = Clump::of_materials(name, draft.materials.clone(), &draft.spheres, properties);
        let moments = clump.inertia;
        if !(moments.to_array().into_iter().all(holds)
            && clump.principal_axes.is_finite()
            && clump.center_of_mass.is_finite())
        {
            self.problem(
                path,
                format!(
                    "principal moments of inertia of {} kg m²",
                    rounded_list(moments)
                ),
                "numbers between 1.2e-38 and 8.5e37, for single precision",
            );
            return None;
        }
        Some(clump)
    }

    /// Returns the kind of a shape.
    fn kind(&mut self, path: &str, shape: &format::Shape) -> Option<Kind> {
        let given = [
            shape.sphere.is_some(),
            shape.cube.is_some(),
            shape.tetrahedron.is_some(),
            shape.rod.is_some(),
            shape.torus.is_some(),
            shape.cuboid.is_some(),
            shape.mesh.is_some(),
            shape.spheres.is_some(),
            shape.parts.is_some(),
        ];
        let kinds = Kind::ALL.iter().zip(given);
        let given: Vec<Kind> = kinds
            .filter(|(_, given)| *given)
            .map(|(kind, _)| *kind)
            .collect();
        if let [kind] = given[..] {
            return Some(kind);
        }
        let quoted = |kinds: &[Kind], between: &str| {
            let words: Vec<String> = kinds
                .iter()
                .map(|kind| format!("{:?}", kind.keyword()))
                .collect();
            words.join(between)
        };
        let found = match given.as_slice() {
            [] => "none of them".into(),
            _ => quoted(&given, " and "),
        };
        let (last, others) = Kind::ALL.split_last().expect("there are kinds");
        let others = quoted(others, ", ");
        let expected = format!("exactly one of {others} and {:?}", last.keyword());
        self.problem(path, found, expected);
        None
    }

    /// The spheres of a shape that does not consist of others, and its mass properties by its own rule.
    fn spheres(
        &mut self,
        path: &str,
        kind: Kind,
        shape: &format::Shape,
        folder: Folder,
        density: f64,
    ) -> Option<(Vec<ClumpSphere>, clump::MassProperties)> {
        let spheres = match kind {
            Kind::Sphere => {
                let radius = shape.sphere.as_ref()?.radius;
                self.length(format_args!("{path}.sphere.radius"), radius)
                    .then(|| shapes::sphere(radius))
            }
            Kind::Cube => {
                let path = format_args!("{path}.cube");
                self.lattice(path, shape.cube.as_ref()?, shapes::cube, |n| n * n * n)
            }
            Kind::Tetrahedron => {
                let (path, lattice) = (format_args!("{path}.tetrahedron"), &shape.tetrahedron);
                self.lattice(path, lattice.as_ref()?, shapes::tetrahedron, |n| {
                    n * (n + 1) * (n + 2) / 6
                })
            }
            Kind::Rod => {
                let path = format_args!("{path}.rod");
                self.lattice(path, shape.rod.as_ref()?, shapes::rod, |n| n)
            }
            Kind::Torus => self.torus(format_args!("{path}.torus"), shape.torus.as_ref()?),
            Kind::Box => {
                let spheres = self.cuboid(&format!("{path}.box"), shape.cuboid.as_ref()?)?;
                let size = vector(&shape.cuboid.as_ref()?.size);
                return Some((spheres, clump::solid_cuboid(size, density)));
            }
            Kind::Mesh => {
                let path = format!("{path}.mesh");
                return self.fitted(&path, shape.mesh.as_ref()?, folder, density);
            }
            Kind::Spheres => {
                let spheres = shape.spheres.as_deref().unwrap_or_default();
                self.listed_spheres(&format!("{path}.spheres"), spheres)
            }
            Kind::Parts => None,
        };
        let spheres = spheres?;
        // Of a density that is wrong nothing is made.
        let density = if fits(density) { density } else { 1.0 };
        let properties = clump::summed_spheres(&spheres, density);
        Some((spheres, properties))
    }

    fn cuboid(&mut self, path: &str, cuboid: &format::Cuboid) -> Option<Vec<ClumpSphere>> {
        let format::Cuboid {
            size,
            radius,
            spacing,
        } = cuboid;
        let mut right = self.length(format_args!("{path}.radius"), *radius);
        if let Some(spacing) = spacing {
            right &= self.length(format_args!("{path}.spacing"), *spacing);
        }
        for (axis, side) in size.0.iter().enumerate() {
            let path = format_args!("{path}.size[{axis}]");
            right &= self.length(path, *side);
            if right && *side < 2.0 * radius {
                right = false;
                let least = exact(2.0 * radius);
                let expected = format!("a length of at least twice the radius, {least} (m)");
                self.problem(path, exact(*side), expected);
            }
        }
        if !right {
            return None;
        }
        let count = shapes::cuboid_count(vector(size), *radius, *spacing);
        if count > MAX_SPHERES_OF_SHAPE as f64 {
            self.problems.push(
                Problem::new(
                    path,
                    format!("a box of {} spheres", rounded(count)),
                    format!("a shape of at most {MAX_SPHERES_OF_SHAPE}"),
                )
                .help("take a larger radius or spacing"),
            );
            return None;
        }
        Some(shapes::cuboid(vector(size), *radius, *spacing))
    }

    /// Spheres fitted inside a mesh.
    fn fitted(
        &mut self,
        path: &str,
        shape: &format::FittedMesh,
        folder: Folder,
        density: f64,
    ) -> Option<(Vec<ClumpSphere>, clump::MassProperties)> {
        let wanted = match (shape.spheres, shape.tolerance) {
            (Some(count), None) => {
                if count == 0 || count as usize > MAX_FITTED {
                    self.problem(
                        format_args!("{path}.spheres"),
                        count.to_string(),
                        format!("a number of spheres, 1 to {MAX_FITTED}"),
                    );
                    return None;
                }
                Fit::Count(count as usize)
            }
            (None, Some(tolerance)) => {
                if !self.length(format_args!("{path}.tolerance"), tolerance) {
                    return None;
                }
                Fit::Tolerance(tolerance)
            }
            (count, _) => {
                let found = if count.is_some() { "both" } else { "neither" };
                self.problem(path, found, "either \"spheres\" or \"tolerance\"");
                return None;
            }
        };
        let mesh = self.mesh(path, &shape.file, (shape.scale, shape.units), folder)?;
        if !mesh.is_closed() {
            self.problem(
                format_args!("{path}.file"),
                format!("{:?}, which is not closed", shape.file),
                "a watertight mesh, in which two triangles share each edge",
            );
            return None;
        }
        let of_density_1 = clump::inside_of_mesh(&mesh, 1.0);
        if of_density_1.mass <= 0.0 {
            self.problems.push(
                Problem::new(
                    format_args!("{path}.file"),
                    format!("{:?}, which is turned inside out", shape.file),
                    "triangles whose corners are anticlockwise seen from outside",
                )
                .help("turn its faces around where it was made"),
            );
            return None;
        }
        let corners = || mesh.vertices.iter().copied();
        let (min, max) = (corners().reduce(DVec3::min), corners().reduce(DVec3::max));
        let size = max.unwrap_or_default() - min.unwrap_or_default();
        let finest = FINEST * size.max_element();
        if let Fit::Tolerance(tolerance) = wanted
            && tolerance < finest
        {
            self.problem(
                format_args!("{path}.tolerance"),
                format!("{} m", exact(tolerance)),
                format!(
                    "at least {} m, a hundred-thousandth of the mesh: no sphere keeps less",
                    rounded(1.001 * finest)
                ),
            );
            return None;
        }
        let Fitted {
            spheres,
            gap,
            at_least,
        } = clump::fit_mesh_telling(&mesh, wanted, &|stage| {
            tracing::info!(
                target: PROGRESS,
                "{}: fitting spheres to a mesh of {} triangles: {stage}",
                path.trim_end_matches(".mesh"),
                mesh.triangles.len()
            );
        });
        let count = spheres.len();
        if let (Fit::Tolerance(tolerance), Some(at_least)) = (wanted, at_least) {
            let spheres = match at_least {
                usize::MAX => format!("more than {MAX_FITTED} spheres"),
                _ => format!("{at_least} spheres or more"),
            };
            self.problem(
                format_args!("{path}.tolerance"),
                format!("{} m, which takes {spheres}", exact(tolerance)),
                format!("a length that at most {MAX_FITTED} spheres can keep"),
            );
            return None;
        }
        if spheres.is_empty() {
            self.problem(
                format_args!("{path}.file"),
                format!("{:?}, which is too thin to hold a sphere", shape.file),
                "a mesh around some space",
            );
            return None;
        }
        if let Fit::Tolerance(tolerance) = wanted
            && (gap > tolerance || count > MAX_FITTED)
        {
            self.problem(
                format_args!("{path}.tolerance"),
                format!(
                    "{} m, for which {count} spheres are not enough: a gap of {} m remains",
                    exact(tolerance),
                    rounded(gap)
                ),
                format!("a length that at most {MAX_FITTED} spheres can keep"),
            );
            return None;
        }
        let radii = || spheres.iter().map(|sphere| sphere.radius);
        self.notes.push(format!(
            "{}: {count} spheres of radii from {} m to {} m in a mesh of {} triangles; the largest gap between its \
             surface and theirs is {} m",
            path.trim_end_matches(".mesh"),
            rounded(radii().fold(f64::INFINITY, f64::min)),
            rounded(radii().fold(0.0, f64::max)),
            mesh.triangles.len(),
            rounded(gap)
        ));
        Some((spheres, of_density_1.denser(density)))
    }

    fn lattice(
        &mut self,
        path: fmt::Arguments,
        lattice: &format::Lattice,
        generate: fn(usize, f64, Option<f64>) -> Vec<ClumpSphere>,
        count: fn(u128) -> u128,
    ) -> Option<Vec<ClumpSphere>> {
        let mut fits = self.length(format_args!("{path}.radius"), lattice.radius);
        if let Some(spacing) = lattice.spacing {
            fits &= self.length(format_args!("{path}.spacing"), spacing);
        }
        fits &= self.sphere_count(path, lattice.n, 1, count(lattice.n.into()));
        fits.then(|| generate(lattice.n as usize, lattice.radius, lattice.spacing))
    }

    fn torus(&mut self, path: fmt::Arguments, torus: &format::Torus) -> Option<Vec<ClumpSphere>> {
        let mut fits = self.length(format_args!("{path}.radius"), torus.radius);
        if let Some(ring_radius) = torus.ring_radius {
            fits &= self.length(format_args!("{path}.ring_radius"), ring_radius);
        }
        fits &= self.sphere_count(path, torus.n, 2, torus.n.into());
        fits.then(|| shapes::torus(torus.n as usize, torus.radius, torus.ring_radius))
    }

    fn sphere_count(&mut self, path: fmt::Arguments, n: u32, least: u32, count: u128) -> bool {
        let limit = MAX_SPHERES_OF_SHAPE;
        let path = format_args!("{path}.n");
        if n < least {
            self.problem(
                path,
                n.to_string(),
                format!("a number of spheres, {least} or more"),
            );
        } else if count > limit.into() {
            let expected = format!("a shape of at most {limit}");
            self.problem(path, format!("{n}, which makes {count} spheres"), expected);
        }
        n >= least && count <= limit.into()
    }

    fn listed_spheres(
        &mut self,
        path: &str,
        spheres: &[format::CenteredSphere],
    ) -> Option<Vec<ClumpSphere>> {
        let mut fits = true;
        if spheres.is_empty() || spheres.len() as u64 > MAX_SPHERES_OF_SHAPE {
            fits = false;
            self.problem(
                path,
                format!("{} spheres", spheres.len()),
                format!("1 to {MAX_SPHERES_OF_SHAPE}"),
            );
        }
        for (index, sphere) in spheres.iter().enumerate() {
            let center = format_args!("{path}[{index}].center");
            fits &= self.vector(center, &sphere.center, "a coordinate, m");
            fits &= self.length(format_args!("{path}[{index}].radius"), sphere.radius);
        }
        let made = spheres.iter().map(|sphere| ClumpSphere {
            center: vector(&sphere.center),
            radius: sphere.radius,
        });
        fits.then(|| made.collect())
    }

    /// Mass properties as given, if they are; wrong ones only add problems.
    fn given_mass(&mut self, path: &str, shape: &format::Shape) -> Option<clump::MassProperties> {
        let Some(MassProperties::Given(given)) = &shape.mass_properties else {
            return None;
        };
        let path = format!("{path}.mass_properties");
        let mut fits = self.number(
            format_args!("{path}.mass"),
            given.mass,
            "a mass, kg",
            Sign::Positive,
        );
        let center = format_args!("{path}.center_of_mass");
        fits &= self.vector(center, &given.center_of_mass, "a coordinate, m");
        let path = format!("{path}.inertia");
        let what = "a moment of inertia, kg m²";
        let inertia = match &given.inertia {
            Inertia::Diagonal(diagonal) => {
                fits &= self.vector(&path, diagonal, what);
                DMat3::from_diagonal(vector(diagonal))
            }
            Inertia::Tensor(rows) => {
                for (index, row) in rows.0.iter().enumerate() {
                    fits &= self.vector(format_args!("{path}[{index}]"), row, what);
                }
                let [x, y, z] = &rows.0;
                DMat3::from_cols(vector(x), vector(y), vector(z)).transpose()
            }
        };
        if !fits {
            return None;
        }
        let properties = clump::MassProperties {
            mass: given.mass,
            center_of_mass: vector(&given.center_of_mass),
            inertia,
        };
        match properties.check() {
            Ok(()) => return Some(properties),
            Err(Unphysical::Asymmetric(_)) => {
                self.problem(
                    path,
                    "a tensor that is not symmetric",
                    "Ixy = Iyx and so on",
                );
            }
            Err(Unphysical::Triangle(moments)) => self.problems.push(
                Problem::new(
                    path,
                    format!("principal moments of {} kg m²", rounded_list(moments)),
                    "none larger than the sum of the other two, as in every rigid body",
                )
                .help("give the inertia about the centre of mass"),
            ),
            Err(Unphysical::Moments(moments)) => self.problem(
                path,
                format!("principal moments of {} kg m²", rounded_list(moments)),
                "each greater than 0",
            ),
            Err(Unphysical::Mass(_) | Unphysical::NotFinite) => {
                self.problem(path, "numbers too large", "an inertia in kg m²");
            }
        }
        None
    }
}
