use glam::IVec3;
use naga::valid::{Capabilities, ModuleInfo, ValidationFlags, Validator};

use super::shaders::{Choice, Shader};
use crate::model::error::{Error, Result};
use crate::state::layout::{Params, SphereSource};

/// Kind of a step: whether it may build lists, and what the one before has done for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Kind {
    /// It may build the neighbour lists.
    Builds,
    /// It may not.
    Keeps,
    /// It may not, and its spheres are posed already or read by nobody.
    Posed,
}

/// All that the code of an entry point depends on.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Variant {
    pub name: &'static str,
    file: Shader,
    spheres: SphereSource,
    /// The text of a custom contact law.
    pub law: Option<String>,
    /// Values of its pipeline constants: features of the scene, so that the driver's compiler leaves out what others need.
    constants: [(&'static str, u32); 9],
}

impl Variant {
    pub fn new(
        name: &'static str,
        file: Shader,
        kind: Kind,
        params: &Params,
        law: Option<&str>,
    ) -> Variant {
        Variant {
            name,
            file,
            spheres: params.sphere_source(),
            law: law.map(str::to_owned),
            constants: [
                ("LAW", params.law),
                ("HISTORY_VALUES", params.history_values),
                ("ONE_MATERIAL", (params.material_count == 1).into()),
                ("FACET_KINDS", params.facet_kinds),
                ("PERIODIC", (params.period != IVec3::ZERO).into()),
                ("DEFORMS", params.deforms),
                ("GHOSTS", params.ghosts),
                ("MAY_BUILD", (kind == Kind::Builds).into()),
                ("DECIDES", (kind == Kind::Posed).into()),
            ],
        }
    }
}

/// An entry point of the passes as this engine gives it to wgpu, for tools that ask compilers about it.
#[doc(hidden)]
pub struct EntryPoint {
    /// Its name.
    pub name: &'static str,
    /// Its file, checked.
    pub module: naga::Module,
    /// Findings of naga about that.
    pub info: ModuleInfo,
    /// The values of its pipeline constants.
    pub constants: Vec<(&'static str, f64)>,
    pub(super) source: String,
}

impl EntryPoint {
    pub(super) fn new(variant: &Variant) -> Result<EntryPoint> {
        let (name, file, spheres) = (variant.name, variant.file, variant.spheres);
        let law = variant.law.as_deref();
        let source = Choice { law, spheres }.source(file);
        let wrong = |message: String| Error::Shader {
            name: file.name(),
            message,
        };
        let module = naga::front::wgsl::parse_str(&source)
            .map_err(|error| wrong(error.emit_to_string(&source)))?;
        let info = Validator::new(ValidationFlags::all(), Capabilities::empty())
            .validate(&module)
            .map_err(|error| wrong(error.emit_to_string(&source)))?;
        if module.entry_points.iter().all(|entry| entry.name != name) {
            return Err(wrong(format!("there is no entry point `{name}`")));
        }
        let constants = variant.constants.into_iter();
        let constants = constants
            .filter(|&(wanted, _)| {
                let mut own = module.overrides.iter();
                own.any(|(_, own)| own.name.as_deref() == Some(wanted))
            })
            .map(|(name, value)| (name, value.into()))
            .collect();
        Ok(EntryPoint {
            name,
            module,
            info,
            constants,
            source,
        })
    }

    /// The variables that it uses.
    pub fn variables(&self) -> impl Iterator<Item = &naga::GlobalVariable> {
        let mut entries = self.module.entry_points.iter();
        let index = entries.position(|entry| entry.name == self.name);
        let uses = index.map(|index| self.info.get_entry_point(index));
        let all = self.module.global_variables.iter();
        all.filter(move |(handle, _)| uses.is_some_and(|uses| !uses[*handle].is_empty()))
            .map(|(_, variable)| variable)
    }
}
