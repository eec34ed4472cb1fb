use glam::IVec3;
use naga::valid::{Capabilities, ModuleInfo, ValidationFlags, Validator};

use super::kernels::{self, Kind, Needs};
use super::shaders::{Choice, Shader};
use crate::model::error::{Error, Result};
use crate::state::layout::Params;
use crate::step::Pass;

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
    /// Returns the entry points of the steps of a scene with these parameters, each of them once: for steps that may
    /// build the neighbour lists, and `pose` for those that may not, too.
    ///
    /// # Errors
    /// If a shader does not compile.
    pub fn all(params: &Params) -> Result<Vec<EntryPoint>> {
        let needs = Needs::of(params, params.moving_walls == 1);
        let mut made: Vec<EntryPoint> = Vec::new();
        let posing = params.poses_early();
        let posing = posing.then(|| kernels::entries_of_posing(needs));
        for entry in Pass::ALL
            .into_iter()
            .flat_map(|pass| kernels::entries(pass, needs))
            .chain(posing.into_iter().flatten().flatten())
        {
            if made.iter().all(|other| other.name != entry.name) {
                let (name, file) = (entry.name, entry.file);
                made.push(EntryPoint::new(name, file, Kind::Builds, params, None)?);
            }
        }
        let pose = Shader::Pass(Pass::Pose);
        made.push(EntryPoint::new("pose", pose, Kind::Keeps, params, None)?);
        Ok(made)
    }

    pub(super) fn new(
        name: &'static str,
        file: Shader,
        kind: Kind,
        params: &Params,
        law: Option<&str>,
    ) -> Result<EntryPoint> {
        let balls = params.finds_balls();
        let source = Choice { law, balls }.source(file);
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
        // What a scene has is known when a pipeline is made: the driver's compiler then leaves out what others need.
        let wanted = [
            ("LAW", params.law),
            ("HISTORY_VALUES", params.history_values),
            ("ONE_MATERIAL", (params.material_count == 1).into()),
            ("FACET_KINDS", params.facet_kinds),
            ("PERIODIC", (params.period != IVec3::ZERO).into()),
            ("DEFORMS", params.deforms),
            ("MAY_BUILD", (kind == Kind::Builds).into()),
            ("DECIDES", (kind == Kind::Posed).into()),
        ];
        let constants = wanted
            .into_iter()
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
