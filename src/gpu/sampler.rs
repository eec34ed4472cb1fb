use std::ops::Range;

use bytemuck::pod_collect_to_vec;

use super::buffers::Buffers;
use super::device::Context;
use crate::error::Result;
use crate::layout::{Body, Load};
use crate::state::{Field, Identity};
use crate::trace::{Sample, Trace};

const BODY: u64 = size_of::<Body>() as u64;
const LOAD: u64 = size_of::<Load>() as u64;

/// Most bytes of samples that wait on the device.
const CAPACITY: u64 = 16 << 20;

/// Copies traced bodies aside on the device, so that a sample does not stop the run.
///
/// A sample holds the states of all traced bodies, then their loads.
pub(super) struct Sampler {
    trace: Trace,
    runs: Vec<Range<u32>>,
    buffer: wgpu::Buffer,
    most: usize,
    steps: Vec<u64>,
}

impl Sampler {
    pub fn new(context: &Context, trace: &Trace) -> Sampler {
        let size = trace.bodies.len().max(1) as u64 * (BODY + LOAD);
        let most = (CAPACITY / size).max(1);
        Sampler {
            runs: runs(&trace.bodies),
            trace: trace.clone(),
            buffer: context.device.create_buffer(&wgpu::BufferDescriptor {
                label: Some("samples"),
                size: most * size,
                usage: wgpu::BufferUsages::COPY_DST | wgpu::BufferUsages::COPY_SRC,
                mapped_at_creation: false,
            }),
            most: most as usize,
            steps: Vec::new(),
        }
    }

    pub fn is_full(&self) -> bool {
        self.steps.len() == self.most
    }

    /// Takes a sample after `step`, if it is one of those to be sampled.
    pub fn sample(&mut self, step: u64, buffers: &Buffers, encoder: &mut wgpu::CommandEncoder) {
        if !step.is_multiple_of(self.trace.every) {
            return;
        }
        let count = self.trace.bodies.len() as u64;
        let mut at = self.steps.len() as u64 * count * (BODY + LOAD);
        for (field, size) in [(Field::Bodies, BODY), (Field::BodyLoads, LOAD)] {
            for run in &self.runs {
                let length = run.len() as u64 * size;
                let start = u64::from(run.start) * size;
                encoder.copy_buffer_to_buffer(
                    buffers.field(field),
                    start,
                    &self.buffer,
                    at,
                    length,
                );
                at += length;
            }
        }
        self.steps.push(step);
    }

    /// Moves the samples of the steps before `next`, which were taken, to the host, and forgets
    /// those of later ones, which were not.
    pub fn drain(&mut self, context: &Context, next: u64, samples: &mut Vec<Sample>) -> Result<()> {
        self.steps.retain(|&step| step < next);
        let count = self.trace.bodies.len();
        let size = count * (BODY + LOAD) as usize;
        let mut bytes = vec![0; self.steps.len() * size];
        context.read(&self.buffer, 0, &mut bytes)?;
        for (&step, sample) in self.steps.iter().zip(bytes.chunks(size.max(1))) {
            let (bodies, loads) = sample.split_at(count * BODY as usize);
            let states: Vec<Body> = pod_collect_to_vec(bodies);
            let loads: Vec<Load> = pod_collect_to_vec(loads);
            for ((&body, &state), &load) in self.trace.bodies.iter().zip(&states).zip(&loads) {
                samples.push(Sample {
                    step,
                    body,
                    identity: Identity::default(),
                    state,
                    load,
                });
            }
        }
        self.steps.clear();
        Ok(())
    }
}

/// Runs of consecutive indices, in the order given: each is one copy.
fn runs(bodies: &[u32]) -> Vec<Range<u32>> {
    let mut runs: Vec<Range<u32>> = Vec::new();
    for &body in bodies {
        match runs.last_mut() {
            Some(run) if run.end == body => run.end += 1,
            _ => runs.push(body..body + 1),
        }
    }
    runs
}
