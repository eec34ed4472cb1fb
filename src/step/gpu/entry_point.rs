use glam::IVec3;

use super::checked::CheckedShader;
use super::shaders::{Choice, Shader};
use crate::model::error::Result;
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

/// All that the text of a file of shaders depends on.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Text {
    file: Shader,
    spheres: SphereSource,
    /// The text of a custom contact law.
    pub law: Option<String>,
}

impl Text {
    /// Name of the file.
    pub fn name(&self) -> &'static str {
        self.file.name()
    }

    pub fn checked(&self) -> Result<CheckedShader> {
        let choice = Choice {
            law: self.law.as_deref(),
            spheres: self.spheres,
        };
        CheckedShader::new(self.name(), choice.source(self.file))
    }
}

/// All that the code of an entry point depends on.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Variant {
    pub name: &'static str,
    pub text: Text,
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
            text: Text {
                file,
                spheres: params.sphere_source(),
                law: law.map(str::to_owned),
            },
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

    /// Its constants that its shader has.
    pub fn constants(&self, shader: &CheckedShader) -> Vec<(&'static str, f64)> {
        let all = self.constants.iter();
        shader.constants(all.map(|&(name, value)| (name, value.into())))
    }
}

/// An entry point of the passes as this engine gives it to wgpu, for tools that ask compilers about it.
#[doc(hidden)]
pub struct EntryPoint {
    /// Its name.
    pub name: &'static str,
    /// Its file.
    pub shader: CheckedShader,
    /// The values of its pipeline constants.
    pub constants: Vec<(&'static str, f64)>,
}

impl EntryPoint {
    pub(super) fn new(variant: &Variant) -> Result<EntryPoint> {
        let shader = variant.text.checked()?;
        Ok(EntryPoint {
            name: variant.name,
            constants: variant.constants(&shader),
            shader,
        })
    }
}
