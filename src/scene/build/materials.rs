//! Settings, materials and pairs of materials.

use std::collections::{HashMap, HashSet};

use super::super::contact::{self, COEFFICIENTS};
use super::super::error::{Problem, exact};
use super::super::format::{self, Contact, NormalModel, Rolling, SceneFile};
use super::MAX_MATERIALS;
use super::check::{Check, Names, Sign, written};
use super::clumps::Shapes;
use super::usage::used_shapes;

/// Fields beyond friction and dashpot that both materials and pairs may have.
struct Resistances<'a> {
    /// Values of [`COEFFICIENTS`].
    coefficients: [Option<f64>; COEFFICIENTS.len()],
    rolling: Option<Rolling>,
    cohesion: Option<&'a format::Cohesion>,
}

impl<'a> From<&'a format::Material> for Resistances<'a> {
    fn from(material: &'a format::Material) -> Self {
        Self {
            coefficients: COEFFICIENTS.map(|coefficient| (coefficient.of_material)(material)),
            rolling: material.rolling,
            cohesion: material.cohesion.as_ref(),
        }
    }
}

impl<'a> From<&'a format::Pair> for Resistances<'a> {
    fn from(pair: &'a format::Pair) -> Self {
        Self {
            coefficients: COEFFICIENTS.map(|coefficient| (coefficient.of_pair)(pair)),
            rolling: pair.rolling,
            cohesion: pair.cohesion.as_ref(),
        }
    }
}

impl Check {
    pub(super) fn settings(&mut self, file: &SceneFile) {
        self.vector("gravity", &file.gravity, "an acceleration, m/s²");
        self.gravity_table(file);
        self.number("duration", file.duration, "a time, s", Sign::NotNegative);
        let from_file = file.bodies.len() + file.fills.len() + file.inlets.len();
        if from_file == 0 && file.start.is_none() && file.spawn.is_empty() {
            self.problem(
                "bodies",
                "neither bodies nor fills nor inlets",
                "at least one body, under \"bodies\" or \"fills\", or an inlet",
            );
        }
    }

    fn gravity_table(&mut self, file: &SceneFile) {
        let Some(rows) = &file.gravity_table else {
            return;
        };
        if rows.is_empty() {
            self.problem(
                "gravity_table",
                "no rows",
                "at least one, such as [0, 0, -9.81, 0]",
            );
        }
        let mut before = f64::NEG_INFINITY;
        for (index, row) in rows.iter().enumerate() {
            let path = format!("gravity_table[{index}]");
            let [time, components @ ..] = row.0;
            self.number(
                format_args!("{path}[0]"),
                time,
                "a time, s",
                Sign::NotNegative,
            );
            for (axis, component) in (1..).zip(components) {
                let path = format_args!("{path}[{axis}]");
                self.number(path, component, "an acceleration, m/s²", Sign::Any);
            }
            if time <= before {
                let expected =
                    format!("a time after that of the row before, {} (s)", exact(before));
                self.problem(format_args!("{path}[0]"), exact(time), expected);
            }
            before = time;
        }
        for (index, stage) in file.stages.iter().enumerate() {
            if stage.gravity.is_some() {
                let path = format_args!("stages[{index}].gravity");
                let expected = "none, since the scene has a \"gravity_table\"";
                self.problem(path, "a gravity of its own", expected);
            }
        }
    }

    pub(super) fn materials<'a>(&mut self, file: &'a SceneFile) -> Names<'a> {
        let count = file.materials.0.len();
        if count > MAX_MATERIALS {
            self.problem(
                "materials",
                format!("{count} materials"),
                format!("at most {MAX_MATERIALS}"),
            );
        }
        for (name, material) in &file.materials.0 {
            let path = format!("materials.{name}");
            self.number(
                format_args!("{path}.density"),
                material.density,
                "a density, kg/m³",
                Sign::Positive,
            );
            self.surface(&path, &file.contact, material);
            self.elastic_constants(&path, material, file.contact.normal);
            if file.contact.is_frictionless() && material.friction > 0.0 {
                self.warnings.push(format!(
                    "{path}: the tangential model \"none\" does not use \"friction\""
                ));
            }
            if material.restitution.is_none() && material.damping.is_none() {
                self.problem(
                    path,
                    "neither \"restitution\" nor \"damping\"",
                    "one of them, for the dashpot",
                );
            }
        }
        Names::new("material", file.materials.names())
    }

    /// The parameters of contacts other than elasticity.
    pub(super) fn surface(&mut self, path: &str, contact: &Contact, material: &format::Material) {
        self.contact_values(
            path,
            material.restitution,
            material.damping,
            Some(material.friction),
        );
        self.resistances(path, contact, &Resistances::from(material));
    }

    fn elastic_constants(&mut self, path: &str, material: &format::Material, normal: NormalModel) {
        if let Some(modulus) = material.young_modulus {
            let path = format_args!("{path}.young_modulus");
            self.number(path, modulus, "a modulus, Pa", Sign::Positive);
        }
        if let Some(ratio) = material.poisson_ratio
            && !(ratio > -1.0 && ratio <= 0.5)
        {
            self.problem(
                format_args!("{path}.poisson_ratio"),
                exact(ratio),
                "a ratio greater than -1 and at most 0.5",
            );
        }
        let given: Vec<&str> = [
            ("\"young_modulus\"", material.young_modulus),
            ("\"poisson_ratio\"", material.poisson_ratio),
        ]
        .iter()
        .filter(|(_, number)| number.is_some())
        .map(|(field, _)| *field)
        .collect();
        if normal != NormalModel::Hertz && !given.is_empty() {
            self.warnings.push(format!(
                "{path}: the normal model {:?} does not use {}; \"hertz\" does",
                normal.keyword(),
                given.join(" and ")
            ));
        }
    }

    /// The terms that a law with a contact history adds.
    fn resistances(&mut self, path: &str, contact: &Contact, given: &Resistances) {
        for (coefficient, number) in COEFFICIENTS.iter().zip(given.coefficients) {
            if let Some(number) = number {
                let path = format_args!("{path}.{}", coefficient.name);
                self.number(path, number, coefficient.what, Sign::NotNegative);
            }
        }
        if let Some(cohesion) = given.cohesion {
            self.cohesion(&format!("{path}.cohesion"), cohesion);
        }
        let Some(tangential) = contact
            .tangential_model()
            .filter(|_| !contact.has_history())
        else {
            return;
        };
        let names = COEFFICIENTS.map(|coefficient| coefficient.name);
        let numbers = given.coefficients.map(|number| number.map(exact));
        let others = [
            ("rolling", given.rolling.map(written)),
            ("cohesion", given.cohesion.map(written)),
        ];
        for (field, found) in names.into_iter().zip(numbers).chain(others) {
            let Some(found) = found else { continue };
            let expected = format!(
                "nothing with the tangential model {:?}, which has no contact history",
                tangential.keyword()
            );
            self.problems.push(
                Problem::new(format_args!("{path}.{field}"), found, expected)
                    .help("leave it out, or take \"tangential\": \"history\""),
            );
        }
    }

    fn cohesion(&mut self, path: &str, cohesion: &format::Cohesion) {
        let named = match cohesion {
            format::Cohesion::Work(work) => {
                self.number(path, *work, "a work of adhesion, J/m²", Sign::NotNegative);
                return;
            }
            format::Cohesion::Named(named) => named,
        };
        let numbers = [
            (
                "surface_energy",
                named.surface_energy,
                "a work of adhesion, J/m²",
            ),
            ("force", named.force, "a force, N"),
            ("range", named.range, "a length, m"),
        ];
        for (field, number, what) in numbers {
            if let Some(number) = number {
                let path = format_args!("{path}.{field}");
                self.number(path, number, what, Sign::NotNegative);
            }
        }
        let given: Vec<String> = numbers
            .iter()
            .filter(|(_, number, _)| number.is_some())
            .map(|(field, _, _)| format!("{field:?}"))
            .collect();
        let fits = matches!(
            (named.surface_energy, named.force, named.range),
            (Some(_), None, None) | (None, Some(_), Some(_))
        );
        if !fits {
            let found = match given.as_slice() {
                [] => "neither".into(),
                [only] => format!("{only} alone"),
                several => several.join(" and "),
            };
            self.problem(
                path,
                found,
                "\"surface_energy\", or \"force\" and \"range\"",
            );
        }
    }

    fn contact_values(
        &mut self,
        path: &str,
        restitution: Option<f64>,
        damping: Option<f64>,
        friction: Option<f64>,
    ) {
        if let Some(restitution) = restitution
            && !(0.0..=1.0).contains(&restitution)
        {
            self.problem(
                format_args!("{path}.restitution"),
                exact(restitution),
                "a coefficient of restitution from 0 to 1",
            );
        }
        if let Some(damping) = damping {
            let path = format_args!("{path}.damping");
            self.number(path, damping, "a damping, N s/m", Sign::NotNegative);
        }
        if let Some(friction) = friction {
            let path = format_args!("{path}.friction");
            self.number(
                path,
                friction,
                "a coefficient of friction",
                Sign::NotNegative,
            );
        }
        if restitution.is_some() && damping.is_some() {
            self.problem(
                path,
                "both \"restitution\" and \"damping\"",
                "one of them, since either gives the dashpot",
            );
        }
    }

    pub(super) fn pairs<'a>(
        &mut self,
        file: &'a SceneFile,
        materials: &Names,
    ) -> Vec<(usize, usize, &'a format::Pair)> {
        let pairs = self.listed_pairs("pairs", &file.pairs, &file.contact, materials);
        self.kinds_of_cohesion("pairs", &file.materials.0, pairs.iter().copied());
        pairs
    }

    /// The pairs of a list, with the indices of their materials in increasing order.
    pub(super) fn listed_pairs<'a>(
        &mut self,
        list: &str,
        given: &'a [format::Pair],
        contact: &Contact,
        materials: &Names,
    ) -> Vec<(usize, usize, &'a format::Pair)> {
        let mut seen = HashMap::new();
        let mut pairs = Vec::new();
        for (index, pair) in given.iter().enumerate() {
            let path = format!("{list}[{index}]");
            self.contact_values(&path, pair.restitution, pair.damping, pair.friction);
            self.resistances(&path, contact, &Resistances::from(pair));
            let mut resolved = [0; 2];
            let mut known = true;
            for (end, name) in pair.between.0.iter().enumerate() {
                let path = format_args!("{path}.between[{end}]");
                match self.resolve(path, name, materials) {
                    Some(material) => resolved[end] = material,
                    None => known = false,
                }
            }
            if !known {
                continue;
            }
            resolved.sort_unstable();
            if let Some(first) = seen.insert(resolved, index) {
                let [a, b] = &pair.between.0;
                self.problem(
                    format_args!("{path}.between"),
                    format!("{a:?} and {b:?}, as in {list}[{first}]"),
                    "each pair once",
                );
            }
            pairs.push((resolved[0], resolved[1], pair));
        }
        pairs
    }

    /// Kinds of cohesion do not mix: who has both says what comes of it.
    pub(super) fn kinds_of_cohesion<'a>(
        &mut self,
        list: &str,
        materials: &[(String, format::Material)],
        pairs: impl Iterator<Item = (usize, usize, &'a format::Pair)>,
    ) {
        let settled: HashSet<(usize, usize)> = pairs
            .filter(|(_, _, pair)| pair.cohesion.is_some())
            .map(|(a, b, _)| (a, b))
            .collect();
        for (a, (name, material)) in materials.iter().enumerate() {
            for (b, (other_name, other)) in materials.iter().enumerate().skip(a + 1) {
                let mixed = contact::mix_cohesion(
                    contact::cohesion(material.cohesion.as_ref()),
                    contact::cohesion(other.cohesion.as_ref()),
                );
                if mixed.is_none() && !settled.contains(&(a, b)) {
                    self.problem(
                        list,
                        format!(
                            "no cohesion of {name:?} and {other_name:?}, one of which has a surface \
                             energy and the other a constant force"
                        ),
                        format!(
                            "a pair that says how they attract each other, such as {{\"between\": \
                             [{name:?}, {other_name:?}], \"cohesion\": 0}}"
                        ),
                    );
                }
            }
        }
    }

    /// The elastic constants that the law needs, those of the materials of bodies; and whether walls of each material
    /// are rigid.
    pub(super) fn elasticity(
        &mut self,
        file: &SceneFile,
        materials: &Names,
        names: &Names,
        shapes: &Shapes,
    ) -> Vec<bool> {
        let rigid = self.rigid_walls(file, materials);
        if file.contact.normal != NormalModel::Hertz {
            return rigid;
        }
        let used = used_shapes(file, names).chain(file.shapes.0.len()..shapes.clumps.len());
        let of_bodies: HashSet<usize> = used
            .filter_map(|shape| shapes.clumps[shape].as_ref())
            .flat_map(|clump| clump.materials.iter().copied())
            .collect();
        for (index, (name, material)) in file.materials.0.iter().enumerate() {
            if !of_bodies.contains(&index) {
                continue;
            }
            let constants = [
                ("young_modulus", material.young_modulus, "a modulus (Pa)"),
                ("poisson_ratio", material.poisson_ratio, "a ratio"),
            ];
            for (field, constant, what) in constants {
                if constant.is_none() {
                    self.problem(
                        format_args!("materials.{name}.{field}"),
                        "nothing",
                        format!("{what}, which the normal model \"hertz\" needs of the materials of bodies"),
                    );
                }
            }
        }
        rigid
    }

    /// Whether walls of each material are rigid: as the walls say, or else where the elastic constants are not known.
    fn rigid_walls(&mut self, file: &SceneFile, materials: &Names) -> Vec<bool> {
        let known = |material: &format::Material| {
            material.young_modulus.is_some() && material.poisson_ratio.is_some()
        };
        let constants: Vec<bool> = file.materials.0.iter().map(|(_, own)| known(own)).collect();
        let mut rigid: Vec<bool> = constants.iter().map(|known| !known).collect();
        let planes = file
            .planes
            .iter()
            .enumerate()
            .map(|(index, plane)| (format!("planes[{index}]"), &plane.material, plane.rigid));
        let walls = file
            .walls
            .iter()
            .enumerate()
            .map(|(index, wall)| (format!("walls[{index}]"), &wall.material, wall.rigid));
        let mut first: HashMap<usize, (String, bool)> = HashMap::new();
        for (path, name, asked) in planes.chain(walls) {
            let Some(material) = materials.get(name) else {
                continue;
            };
            if file.contact.normal != NormalModel::Hertz {
                if asked.is_some() {
                    self.warnings.push(format!(
                        "{path}: the normal model {:?} does not use \"rigid\"; \"hertz\" does",
                        file.contact.normal.keyword()
                    ));
                }
                continue;
            }
            if asked == Some(false) && !constants[material] {
                self.problem(
                    format_args!("{path}.rigid"),
                    "false",
                    format!(
                        "a material with \"young_modulus\" and \"poisson_ratio\", which {name:?} does not have"
                    ),
                );
            }
            let own = asked.unwrap_or(!constants[material]);
            match first.get(&material) {
                Some((other, theirs)) if *theirs != own => self.problem(
                    format_args!("{path}.rigid"),
                    format!("{own}, but {other} is of the same material, and {theirs}"),
                    "the same for all walls of a material; give the rigid ones a material of their own",
                ),
                Some(_) => (),
                None => {
                    rigid[material] = own;
                    first.insert(material, (path, own));
                }
            }
        }
        rigid
    }
}
