//! Entry points, compiled for a device, and kept with it.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use super::entry_point::{EntryPoint, Variant};
use crate::model::error::Result;

/// A compiled entry point.
#[derive(Clone)]
pub(super) struct Program {
    pub pipeline: wgpu::ComputePipeline,
    /// Binding and name of each variable that it uses.
    variables: Vec<(u32, String)>,
}

impl Program {
    /// Compiles an entry point. Its buffers have the names of the variables that it uses: the shader's own declarations
    /// are the only list of them.
    fn new(device: &wgpu::Device, variant: &Variant) -> Result<Program> {
        let entry = EntryPoint::new(variant)?;
        let variables: Vec<(u32, String)> = entry
            .variables()
            .filter_map(|variable| Some((variable.binding?.binding, variable.name.clone()?)))
            .collect();
        let checks = wgpu::ShaderRuntimeChecks {
            // A law of the user's may go on for ever.
            force_loop_bounding: variant.law.is_some(),
            ..wgpu::ShaderRuntimeChecks::checked()
        };
        let text = wgpu::ShaderModuleDescriptor {
            label: Some(entry.name),
            source: wgpu::ShaderSource::Wgsl(entry.source.into()),
        };
        // SAFETY: each loop of our shaders counts up or down to a number that it does not change, so it ends; all
        // other checks are made.
        let shader = unsafe { device.create_shader_module_trusted(text, checks) };
        let pipeline = device.create_compute_pipeline(&wgpu::ComputePipelineDescriptor {
            label: Some(entry.name),
            layout: None,
            module: &shader,
            entry_point: Some(entry.name),
            compilation_options: wgpu::PipelineCompilationOptions {
                constants: &entry.constants,
                ..Default::default()
            },
            cache: None,
        });
        Ok(Program {
            pipeline,
            variables,
        })
    }

    /// Its variables bound to the buffers that `by_name` has for them.
    ///
    /// # Panics
    /// If it has none for one of them.
    pub fn bind<'a>(
        &self,
        device: &wgpu::Device,
        by_name: impl Fn(&str) -> Option<wgpu::BufferBinding<'a>>,
    ) -> wgpu::BindGroup {
        let entries: Vec<wgpu::BindGroupEntry> = self
            .variables
            .iter()
            .map(|(binding, name)| {
                let buffer = by_name(name);
                let buffer = buffer.unwrap_or_else(|| panic!("there is no buffer `{name}`"));
                wgpu::BindGroupEntry {
                    binding: *binding,
                    resource: wgpu::BindingResource::Buffer(buffer),
                }
            })
            .collect();
        device.create_bind_group(&wgpu::BindGroupDescriptor {
            label: None,
            layout: &self.pipeline.get_bind_group_layout(0),
            entries: &entries,
        })
    }
}

/// Programs of a device. The next simulation on it starts at once.
#[derive(Default)]
pub(super) struct Programs(Mutex<HashMap<Variant, Program>>);

impl Programs {
    /// The program of a variant, compiled if it is new. Of custom laws, those of one are kept: an edited law is another.
    ///
    /// # Errors
    /// If it does not compile.
    pub fn of(&self, device: &wgpu::Device, variant: Variant) -> Result<Program> {
        let mut made = self.made();
        if let Some(program) = made.get(&variant) {
            return Ok(program.clone());
        }
        let program = Program::new(device, &variant)?;
        if variant.law.is_some() {
            made.retain(|other, _| other.law.is_none() || other.law == variant.law);
        }
        made.insert(variant, program.clone());
        Ok(program)
    }

    pub fn count(&self) -> usize {
        self.made().len()
    }

    fn made(&self) -> MutexGuard<'_, HashMap<Variant, Program>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
