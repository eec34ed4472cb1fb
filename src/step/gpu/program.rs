//! Entry points, compiled for a device, and kept with it.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::sync::{Mutex, MutexGuard, PoisonError};

use super::checked::CheckedShader;
use super::entry_point::{Text, Variant};
use crate::model::error::Result;

/// A file of shaders, for a device.
struct File {
    shader: CheckedShader,
    module: wgpu::ShaderModule,
}

impl File {
    fn new(device: &wgpu::Device, text: &Text) -> Result<File> {
        let shader = text.checked()?;
        let checks = wgpu::ShaderRuntimeChecks {
            // A law of the user's may go on for ever.
            force_loop_bounding: text.law.is_some(),
            ..wgpu::ShaderRuntimeChecks::checked()
        };
        let descriptor = wgpu::ShaderModuleDescriptor {
            label: Some(text.name()),
            source: shader.source(),
        };
        // SAFETY: each loop of our shaders counts up or down to a number that it does not change, so it ends; all
        // other checks are made.
        let module = unsafe { device.create_shader_module_trusted(descriptor, checks) };
        Ok(File { shader, module })
    }
}

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
    fn new(device: &wgpu::Device, file: &File, variant: &Variant) -> Result<Program> {
        let variables = file.shader.bindings(&[variant.name])?;
        let pipeline = device.create_compute_pipeline(&wgpu::ComputePipelineDescriptor {
            label: Some(variant.name),
            layout: None,
            module: &file.module,
            entry_point: Some(variant.name),
            compilation_options: wgpu::PipelineCompilationOptions {
                constants: &variant.constants(&file.shader),
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
pub(super) struct Programs(Mutex<Made>);

/// Programs, and the files that they are from.
#[derive(Default)]
struct Made {
    files: HashMap<Text, File>,
    programs: HashMap<Variant, Program>,
}

impl Programs {
    /// The program of a variant, compiled if it is new. Of custom laws, those of one are kept: an edited law is another.
    ///
    /// # Errors
    /// If it does not compile.
    pub fn of(&self, device: &wgpu::Device, variant: Variant) -> Result<Program> {
        let Made { files, programs } = &mut *self.made();
        if let Some(program) = programs.get(&variant) {
            return Ok(program.clone());
        }
        let text = &variant.text;
        if text.law.is_some() {
            let is_kept = |other: &Text| other.law.is_none() || other.law == text.law;
            files.retain(|other, _| is_kept(other));
            programs.retain(|other, _| is_kept(&other.text));
        }
        let file = match files.entry(text.clone()) {
            Entry::Occupied(known) => known.into_mut(),
            Entry::Vacant(free) => free.insert(File::new(device, text)?),
        };
        let program = Program::new(device, file, &variant)?;
        programs.insert(variant, program.clone());
        Ok(program)
    }

    pub fn count(&self) -> usize {
        self.made().programs.len()
    }

    fn made(&self) -> MutexGuard<'_, Made> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
