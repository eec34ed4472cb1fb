use std::ops::Range;

use bytemuck::pod_collect_to_vec;

use super::buffers::Buffers;
use super::device::Context;
use crate::error::Result;
use crate::state::layout::{Body, Member, SphereLoad};
use crate::state::trace::{Sample, Trace};
use crate::state::{Field, Identity, State, load};

const BODY: u64 = size_of::<Body>() as u64;
const LOAD: u64 = size_of::<SphereLoad>() as u64;

/// Most bytes of samples that wait on the device.
const CAPACITY: u64 = 16 << 20;

/// Copies traced bodies aside on the device, so that a sample does not stop the run.
///
/// A sample holds the states of all traced bodies, then the loads of their spheres.
pub(super) struct Sampler {
    trace: Trace,
    /// The bodies and their spheres, as elements of their buffers: each run is one copy.
    bodies: Vec<Range<u32>>,
    spheres: Vec<Range<u32>>,
    /// Of each body.
    members: Vec<Vec<Member>>,
    /// Of a sample, bytes.
    size: u64,
    buffer: wgpu::Buffer,
    most: usize,
    steps: Vec<u64>,
}

impl Sampler {
    pub fn new(context: &Context, trace: &Trace, state: &State) -> Sampler {
        let traced = trace.bodies.iter();
        let traced = traced.map(|&body| &state.bodies[body as usize]);
        let spheres = traced.clone().map(|body| state.spheres_of(body));
        let count = spheres
            .clone()
            .map(|spheres| spheres.len() as u64)
            .sum::<u64>();
        let size = trace.bodies.len() as u64 * BODY + count * LOAD;
        let most = (CAPACITY / size.max(1)).max(1);
        Sampler {
            bodies: runs(trace.bodies.iter().map(|&body| body..body + 1)),
            spheres: runs(spheres.map(|own| own.start as u32..own.end as u32)),
            members: traced.map(|body| state.members_of(body).to_vec()).collect(),
            trace: trace.clone(),
            size,
            buffer: context.device.create_buffer(&wgpu::BufferDescriptor {
                label: Some("samples"),
                size: most * size.max(LOAD),
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
        let mut at = self.steps.len() as u64 * self.size;
        for (field, runs, size) in [
            (Field::Bodies, &self.bodies, BODY),
            (Field::SphereLoads, &self.spheres, LOAD),
        ] {
            for run in runs {
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
        let size = self.size as usize;
        let mut bytes = vec![0; self.steps.len() * size];
        context.read(&self.buffer, 0, &mut bytes)?;
        for (&step, sample) in self.steps.iter().zip(bytes.chunks(size.max(1))) {
            let (bodies, loads) = sample.split_at(self.trace.bodies.len() * BODY as usize);
            let states: Vec<Body> = pod_collect_to_vec(bodies);
            let loads: Vec<SphereLoad> = pod_collect_to_vec(loads);
            let mut rest = &loads[..];
            let traced = self.trace.bodies.iter().zip(&self.members);
            for ((&body, members), &state) in traced.zip(&states) {
                let own;
                (own, rest) = rest.split_at(members.len());
                samples.push(Sample {
                    step,
                    body,
                    identity: Identity::default(),
                    state,
                    load: load(&state, members, own),
                });
            }
        }
        self.steps.clear();
        Ok(())
    }
}

/// Runs that follow each other are put together, in the order given.
fn runs(elements: impl Iterator<Item = Range<u32>>) -> Vec<Range<u32>> {
    let mut runs: Vec<Range<u32>> = Vec::new();
    for own in elements {
        match runs.last_mut() {
            Some(run) if run.end == own.start => run.end = own.end,
            _ => runs.push(own),
        }
    }
    runs
}
