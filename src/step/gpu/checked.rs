use naga::valid::{Capabilities, ModuleInfo, ValidationFlags, Validator};

use crate::model::error::{Error, Result};

/// A shader that naga has parsed and found right: once, for all that is asked of it.
#[doc(hidden)]
pub struct CheckedShader {
    name: &'static str,
    /// The shader.
    pub module: naga::Module,
    /// Findings of naga about it.
    pub info: ModuleInfo,
    /// Its text, which a browser wants.
    #[cfg(target_family = "wasm")]
    source: String,
}

impl CheckedShader {
    /// Parses and checks the WGSL of a shader with this name.
    ///
    /// # Errors
    /// The first mistake in it.
    pub(crate) fn new(name: &'static str, source: String) -> Result<CheckedShader> {
        let wrong = |message: String| Error::Shader { name, message };
        let module = naga::front::wgsl::parse_str(&source)
            .map_err(|error| wrong(error.emit_to_string(&source)))?;
        let info = Validator::new(ValidationFlags::all(), Capabilities::empty())
            .validate(&module)
            .map_err(|error| wrong(error.emit_to_string(&source)))?;
        Ok(CheckedShader {
            name,
            module,
            info,
            #[cfg(target_family = "wasm")]
            source,
        })
    }

    /// The shader for wgpu.
    pub(crate) fn source(&self) -> wgpu::ShaderSource<'_> {
        #[cfg(target_family = "wasm")]
        return wgpu::ShaderSource::Wgsl(self.source.as_str().into());
        #[cfg(not(target_family = "wasm"))]
        wgpu::ShaderSource::Naga(std::borrow::Cow::Owned(self.module.clone()))
    }

    /// The pipeline constants of the shader among these, with their values.
    pub(crate) fn constants(
        &self,
        known: impl IntoIterator<Item = (&'static str, f64)>,
    ) -> Vec<(&'static str, f64)> {
        let is_own = |wanted: &str| {
            let mut own = self.module.overrides.iter();
            own.any(|(_, own)| own.name.as_deref() == Some(wanted))
        };
        let known = known.into_iter();
        known.filter(|(name, _)| is_own(name)).collect()
    }

    /// The variables that at least one of these entry points uses.
    ///
    /// # Errors
    /// If the shader lacks one of them.
    pub fn variables(&self, entry_points: &[&str]) -> Result<Vec<&naga::GlobalVariable>> {
        let mut places = Vec::new();
        for wanted in entry_points {
            let mut names = self.module.entry_points.iter();
            let place = names.position(|entry| entry.name == *wanted);
            places.push(place.ok_or_else(|| Error::Shader {
                name: self.name,
                message: format!("there is no entry point `{wanted}`"),
            })?);
        }
        let is_used = |handle: naga::Handle<naga::GlobalVariable>| {
            let mut places = places.iter();
            places.any(|&place| !self.info.get_entry_point(place)[handle].is_empty())
        };
        let all = self.module.global_variables.iter();
        let used = all.filter(|(handle, _)| is_used(*handle));
        Ok(used.map(|(_, variable)| variable).collect())
    }

    /// Binding and name of each of the [variables](CheckedShader::variables) that has a binding.
    ///
    /// # Errors
    /// If the shader lacks one of the entry points.
    pub(crate) fn bindings(&self, entry_points: &[&str]) -> Result<Vec<(u32, String)>> {
        let used = self.variables(entry_points)?.into_iter();
        let bound =
            used.filter_map(|variable| Some((variable.binding?.binding, variable.name.clone()?)));
        Ok(bound.collect())
    }
}
