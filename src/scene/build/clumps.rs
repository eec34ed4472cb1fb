//! From shapes to clumps.

use std::fmt;

use glam::DMat3;

use super::super::error::{Problem, rounded};
use super::super::format::{self, Inertia, MassProperties, SceneFile, Volume};
use super::super::shapes;
use super::MAX_SPHERES_OF_SHAPE;
use super::check::{Check, Names, Sign, rounded_list, vector};
use crate::clump::{self, Clump, ClumpSphere, Unphysical};

impl Check {
    /// The shapes; None for each that is wrong.
    pub(super) fn shapes(&mut self, file: &SceneFile, materials: &Names) -> Vec<Option<Clump>> {
        let clumps = file.shapes.0.iter().map(|(name, shape)| {
            let before = self.problems.len();
            let path = format!("shapes.{name}");
            let spheres = self.spheres(&path, shape);
            let material =
                self.resolve(format_args!("{path}.material"), &shape.material, materials);
            let given = self.given_mass(&path, shape);
            let (spheres, material) = (spheres?, material?);
            let density = file.materials.0[material].1.density;
            let density_fits = density > 0.0 && density <= f64::from(f32::MAX);
            if self.problems.len() > before || !density_fits {
                return None;
            }
            let properties = match (&shape.mass_properties, given) {
                (_, Some(given)) => given,
                (MassProperties::Computed(Volume::Union), None) => {
                    clump::union_of_spheres(&spheres, density)
                }
                _ => clump::summed_spheres(&spheres, density),
            };
            self.clump(&path, name, material, &spheres, properties)
        });
        clumps.collect()
    }

    /// A shape whose numbers are right, if single precision can hold what follows from them.
    fn clump(
        &mut self,
        path: &str,
        name: &str,
        material: usize,
        spheres: &[ClumpSphere],
        properties: clump::MassProperties,
    ) -> Option<Clump> {
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
        let clump = Clump::new(name, material, spheres, properties);
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

    fn spheres(&mut self, path: &str, shape: &format::Shape) -> Option<Vec<ClumpSphere>> {
        let forms = [
            ("sphere", shape.sphere.is_some()),
            ("cube", shape.cube.is_some()),
            ("tetrahedron", shape.tetrahedron.is_some()),
            ("rod", shape.rod.is_some()),
            ("torus", shape.torus.is_some()),
            ("spheres", shape.spheres.is_some()),
        ];
        let given: Vec<String> = forms
            .iter()
            .filter(|(_, given)| *given)
            .map(|(form, _)| format!("{form:?}"))
            .collect();
        if given.len() != 1 {
            let found = match given.as_slice() {
                [] => "none of them".into(),
                _ => given.join(" and "),
            };
            self.problem(
                path,
                found,
                "exactly one of \"sphere\", \"cube\", \"tetrahedron\", \"rod\", \"torus\" and \"spheres\"",
            );
            return None;
        }
        if let Some(sphere) = &shape.sphere {
            self.length(format_args!("{path}.sphere.radius"), sphere.radius)
                .then(|| shapes::sphere(sphere.radius))
        } else if let Some(cube) = &shape.cube {
            self.lattice(format_args!("{path}.cube"), cube, shapes::cube, |n| {
                n * n * n
            })
        } else if let Some(tetrahedron) = &shape.tetrahedron {
            self.lattice(
                format_args!("{path}.tetrahedron"),
                tetrahedron,
                shapes::tetrahedron,
                |n| n * (n + 1) * (n + 2) / 6,
            )
        } else if let Some(rod) = &shape.rod {
            self.lattice(format_args!("{path}.rod"), rod, shapes::rod, |n| n)
        } else if let Some(torus) = &shape.torus {
            let path = format_args!("{path}.torus");
            self.torus(path, torus)
        } else {
            let spheres = shape.spheres.as_deref().unwrap_or_default();
            self.listed_spheres(&format!("{path}.spheres"), spheres)
        }
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
        let MassProperties::Given(given) = &shape.mass_properties else {
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
