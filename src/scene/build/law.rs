//! The models of contacts and their settings.

use std::io;

use super::super::contact::IMPULSE_TANGENTIAL_RATIO;
use super::super::error::{Problem, exact};
use super::super::files::{Folder, neighbour};
use super::super::format::{self, NormalModel, SceneFile, TangentialModel};
use super::check::{Check, Sign, written};
use crate::model::{self, ContactModel, CustomLaw};
#[cfg(feature = "gpu")]
use crate::step::gpu::shaders::check_law;

/// Steps into which a time step may be divided.
const MAX_SUBSTEPS: u32 = 10_000;

impl Check {
    /// Settings that all contacts share; None if the file of a custom law cannot be read.
    pub(super) fn contact(&mut self, file: &SceneFile, folder: Folder) -> Option<ContactModel> {
        let contact = &file.contact;
        self.contact_numbers(contact);
        self.of_the_models(contact);
        let tangential = contact.tangential_model();
        let law = match contact.normal {
            NormalModel::Hooke if tangential == Some(TangentialModel::History) => {
                model::Law::HookeHistory
            }
            NormalModel::Hooke => model::Law::HookeViscous,
            NormalModel::Hertz => model::Law::HertzMindlin,
            NormalModel::Impulse => model::Law::Impulse,
            NormalModel::Custom if cfg!(feature = "gpu") => {
                model::Law::Custom(self.custom_law(contact, folder)?)
            }
            NormalModel::Custom => {
                let (found, expected) = (
                    "\"custom\"",
                    "a model that this build of Rockfall has: \"hooke\", \"hertz\" or \"impulse\"",
                );
                self.problems.push(
                    Problem::new("contact.normal", found, expected)
                        .help("a law in WGSL needs the feature `gpu`"),
                );
                return None;
            }
        };
        let tangential_damping = if law == model::Law::Impulse {
            // The part that the spring leaves of the force that stops all sliding in a step.
            IMPULSE_TANGENTIAL_RATIO
        } else {
            contact
                .tangential_damping
                .unwrap_or(ContactModel::default().tangential_damping)
        };
        Some(ContactModel {
            law,
            limit_damping: contact.limit_damping == Some(true),
            tangential_damping,
            rescales: tangential == Some(TangentialModel::MindlinRescale),
        })
    }

    fn contact_numbers(&mut self, contact: &format::Contact) {
        if let Some(stiffness) = contact.stiffness {
            let path = "contact.stiffness";
            self.number(path, stiffness, "a stiffness, N/m", Sign::Positive);
            if contact.max_overlap.is_some() {
                self.problem(
                    "contact",
                    "both \"stiffness\" and \"max_overlap\"",
                    "one of them, since either gives the other",
                );
            }
        }
        if let Some(fraction) = contact.max_overlap
            && !(fraction > 0.0 && fraction < 1.0)
        {
            self.problem(
                "contact.max_overlap",
                exact(fraction),
                "a fraction of a radius, greater than 0 and less than 1",
            );
        }
        if let Some(stiffness) = contact.tangential_stiffness {
            let path = "contact.tangential_stiffness";
            self.number(path, stiffness, "a stiffness, N/m", Sign::NotNegative);
        }
        if let Some(damping) = contact.tangential_damping {
            let path = "contact.tangential_damping";
            let what = "a fraction of the normal damping";
            self.number(path, damping, what, Sign::NotNegative);
        }
        if let Some(range) = contact.range {
            self.number("contact.range", range, "a length, m", Sign::NotNegative);
        }
        if let Some(time_step) = contact.time_step {
            let path = "contact.time_step";
            self.number(path, time_step, "a time, s", Sign::Positive);
        }
    }

    /// Each model has its settings, and no others.
    fn of_the_models(&mut self, contact: &format::Contact) {
        use NormalModel::{Custom, Hertz, Hooke, Impulse};
        const ELASTIC: &str = "\"young_modulus\" and \"poisson_ratio\" of the materials say how stiff \
                               a contact is";
        const FILE: &str = "leave it out, or take the normal model \"custom\"";
        const SUBSTEPS: &str = "leave it out, or take the normal model \"impulse\"";
        self.goes_with_normal(contact);
        self.tangential_settings(contact);
        let without_file: &[NormalModel] = &[Hooke, Hertz, Impulse];
        let fields = [
            (
                "stiffness",
                contact.stiffness.map(exact),
                &[Hertz][..],
                ELASTIC,
            ),
            (
                "max_overlap",
                contact.max_overlap.map(exact),
                &[Hertz],
                ELASTIC,
            ),
            (
                "tangential_stiffness",
                contact.tangential_stiffness.map(exact),
                &[Hertz],
                ELASTIC,
            ),
            (
                "limit_damping",
                contact.limit_damping.map(|limit| limit.to_string()),
                &[Custom],
                "leave it out: the law in \"file\" has its own damping",
            ),
            (
                "file",
                contact.file.as_ref().map(written),
                without_file,
                FILE,
            ),
            ("range", contact.range.map(exact), without_file, FILE),
            (
                "substeps",
                contact.substeps.map(|count| count.to_string()),
                &[Hooke, Hertz, Custom],
                SUBSTEPS,
            ),
            (
                "elastic",
                contact.elastic.then(|| "true".to_owned()),
                &[Impulse],
                "set the restitution of the materials to 1",
            ),
        ];
        self.not_of_impulses(contact);
        for (field, found, models_without, help) in fields {
            if let Some(found) = found.filter(|_| models_without.contains(&contact.normal)) {
                let path = format_args!("contact.{field}");
                let expected = format!(
                    "nothing with the normal model {:?}",
                    contact.normal.keyword()
                );
                self.problems
                    .push(Problem::new(path, found, expected).help(help));
            }
        }
    }

    /// Whether the tangential model is one that the normal model has.
    fn goes_with_normal(&mut self, contact: &format::Contact) {
        let Some(tangential) = contact.tangential else {
            return;
        };
        let normal = contact.normal;
        let models: &[TangentialModel] = match normal {
            NormalModel::Hooke => &[
                TangentialModel::None,
                TangentialModel::Viscous,
                TangentialModel::History,
            ],
            NormalModel::Hertz => &[
                TangentialModel::None,
                TangentialModel::Mindlin,
                TangentialModel::MindlinRescale,
            ],
            NormalModel::Impulse => &[TangentialModel::None, TangentialModel::History],
            NormalModel::Custom => &[],
        };
        if models.contains(&tangential) {
            return;
        }
        let keywords: Vec<String> = models
            .iter()
            .map(|model| format!("{:?}", model.keyword()))
            .collect();
        let expected = match keywords.as_slice() {
            [] => {
                "nothing with the normal model \"custom\", whose file also has the tangential force"
                    .to_owned()
            }
            _ => format!(
                "{} with the normal model {:?}",
                match keywords.as_slice() {
                    [first, second, third] => format!("{first}, {second} or {third}"),
                    others => others.join(" or "),
                },
                normal.keyword()
            ),
        };
        self.problem("contact.tangential", written(tangential), expected);
    }

    /// Settings that the tangential model does not have.
    fn tangential_settings(&mut self, contact: &format::Contact) {
        let Some(tangential) = contact.tangential_model() else {
            return;
        };
        let has_history = contact.has_history();
        let fields = [
            (
                "tangential_stiffness",
                contact.tangential_stiffness.map(exact),
                contact.normal == NormalModel::Hooke && tangential == TangentialModel::None,
            ),
            (
                "tangential_damping",
                contact.tangential_damping.map(exact),
                contact.normal != NormalModel::Impulse
                    && matches!(tangential, TangentialModel::None | TangentialModel::Viscous),
            ),
            (
                "limit_damping",
                contact.limit_damping.map(|limit| limit.to_string()),
                !has_history,
            ),
        ];
        for (field, found, is_refused) in fields {
            if let Some(found) = found.filter(|_| is_refused) {
                let path = format_args!("contact.{field}");
                let expected = format!(
                    "nothing with the tangential model {:?}",
                    tangential.keyword()
                );
                let with = match contact.normal {
                    NormalModel::Hertz => "mindlin",
                    _ => "history",
                };
                let help = format!("leave it out, or take \"tangential\": {with:?}");
                self.problems
                    .push(Problem::new(path, found, expected).help(help));
            }
        }
    }

    /// Refuses stiffness and damping of contacts, which the normal model `impulse` sets by itself.
    fn not_of_impulses(&mut self, contact: &format::Contact) {
        if contact.normal != NormalModel::Impulse {
            return;
        }
        let fields = [
            ("stiffness", contact.stiffness.map(exact)),
            ("max_overlap", contact.max_overlap.map(exact)),
            (
                "tangential_stiffness",
                contact.tangential_stiffness.map(exact),
            ),
            ("tangential_damping", contact.tangential_damping.map(exact)),
            (
                "limit_damping",
                contact.limit_damping.map(|limit| limit.to_string()),
            ),
        ];
        for (field, found) in fields {
            let Some(found) = found else { continue };
            let path = format_args!("contact.{field}");
            let expected = "nothing with the normal model \"impulse\"";
            self.problems.push(Problem::new(path, found, expected).help(
                "its contacts are as stiff as the step allows: raise \"substeps\" for smaller overlaps, \
                 or take the normal model \"hooke\"",
            ));
        }
        if let Some(substeps) = contact.substeps
            && !(1..=MAX_SUBSTEPS).contains(&substeps)
        {
            self.problem(
                "contact.substeps",
                substeps.to_string(),
                format!("a whole number from 1 to {MAX_SUBSTEPS}"),
            );
        }
    }

    /// Refuses features that the normal model `impulse` does not have.
    pub(super) fn features_of_impulses(&mut self, file: &SceneFile) {
        if file.contact.normal != NormalModel::Impulse {
            return;
        }
        const LAW: &str = "nothing with the normal model \"impulse\"";
        let mut refuse = |path: String, found: String, help: &str| {
            let problem = Problem::new(path, found, LAW);
            self.problems.push(problem.help(help.to_owned()));
        };
        if file.integrator == format::Integrator::Explicit {
            refuse(
                "integrator".into(),
                "\"explicit\"".into(),
                "leave it out: impulses act on the velocities with which bodies move",
            );
        }
        let damping = "its contacts have no dashpots: give \"restitution\"";
        for (name, material) in &file.materials.0 {
            if let Some(given) = material.damping {
                refuse(format!("materials.{name}.damping"), exact(given), damping);
            }
            if let Some(given) = material.conductivity {
                refuse(
                    format!("materials.{name}.conductivity"),
                    exact(given),
                    "the normal model \"hooke\" or \"hertz\", because heat flows through the area of a stiff contact",
                );
            }
        }
        for (index, pair) in file.pairs.iter().enumerate() {
            if let Some(given) = pair.damping {
                refuse(format!("pairs[{index}].damping"), exact(given), damping);
            }
        }
        for (index, wall) in file.walls.iter().enumerate() {
            if wall.rigid_body.is_some() {
                refuse(
                    format!("walls[{index}].rigid_body"),
                    "a wall that its load moves".into(),
                    "give it a \"motion\" or a \"servo\", or take the normal model \"hooke\"",
                );
            }
        }
    }

    fn custom_law(&mut self, contact: &format::Contact, folder: Folder) -> Option<CustomLaw> {
        let path = "contact.file";
        let Some(name) = &contact.file else {
            self.problem(
                path,
                "nothing",
                "the WGSL file of the normal model \"custom\", such as \"my_law.wgsl\"",
            );
            return None;
        };
        let file = folder.join(name);
        let mut is_missing = false;
        let read = folder.files.read(&file).inspect_err(|error| {
            is_missing = error.kind() == io::ErrorKind::NotFound;
        });
        match read.map_err(unreadable).and_then(text) {
            Ok(source) => {
                #[cfg(feature = "gpu")]
                if let Err(mistake) = check_law(&source) {
                    let place = match mistake.line {
                        0 => file.display().to_string(),
                        line => format!("{}:{line}:{}", file.display(), mistake.column),
                    };
                    let found = format!("{place}: {}", mistake.message);
                    self.problem(path, found, "a contact law in WGSL");
                    return None;
                }
                Some(CustomLaw {
                    file,
                    source,
                    range: contact.range.unwrap_or(0.0),
                })
            }
            Err(reason) => {
                let expected = "a WGSL file, relative to the folder of the scene";
                let mut problem = Problem::new(path, format!("{name:?}, {reason}"), expected);
                let meant = file.with_extension("wgsl");
                if is_missing && let Some(meant) = neighbour(folder.files, &meant) {
                    problem = problem.help(format!("did you mean {}?", meant.display()));
                }
                self.problems.push(problem);
                None
            }
        }
    }
}

/// Says why a file cannot be read.
fn unreadable(error: io::Error) -> String {
    match error.kind() {
        io::ErrorKind::IsADirectory => "a directory".into(),
        io::ErrorKind::NotFound => "which does not exist".into(),
        io::ErrorKind::PermissionDenied => "which may not be read".into(),
        _ => format!("which cannot be read ({error})"),
    }
}

/// The text of a file, or why it is none.
fn text(bytes: Vec<u8>) -> Result<String, String> {
    String::from_utf8(bytes).map_err(|error| {
        let byte = error.utf8_error().valid_up_to();
        format!("whose byte number {byte} is not UTF-8 text")
    })
}
