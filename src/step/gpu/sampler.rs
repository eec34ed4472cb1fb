use std::ops::Range;

use bytemuck::pod_collect_to_vec;

use super::buffers::Buffers;
use crate::state::layout::{Body, Member, SphereLoad};
use crate::state::trace::{Sample, Trace};
use crate::state::{Field, Identity, State, load};

const BODY: u64 = size_of::<Body>() as u64;
const LOAD: u64 = size_of::<SphereLoad>() as u64;

/// Most bytes of samples of a submission, if that holds one at all.
const CAPACITY: u64 = 4 << 20;

/// Copies traced bodies on the device to where the host will read them, so that a sample does not stop the run.
///
/// A sample holds the states of all traced bodies, then the loads of their spheres.
pub(super) struct Sampler {
    trace: Trace,
    /// The bodies and their spheres, as elements of their buffers: each run is one copy.
    bodies: Vec<Range<u32>>,
    spheres: Vec<Range<u32>>,
    /// Members of each body.
    members: Vec<Vec<Member>>,
    /// Size of a sample, bytes.
    size: u64,
    /// Samples that a submission has room for.
    most: u64,
}

impl Sampler {
    pub fn new(trace: &Trace, state: &State) -> Sampler {
        let traced = trace.bodies.iter();
        let traced = traced.map(|&body| &state.bodies[body as usize]);
        let spheres = traced.clone().map(|body| state.spheres_of(body));
        let count = spheres
            .clone()
            .map(|spheres| spheres.len() as u64)
            .sum::<u64>();
        let size = trace.bodies.len() as u64 * BODY + count * LOAD;
        Sampler {
            bodies: runs(trace.bodies.iter().map(|&body| body..body + 1)),
            spheres: runs(spheres.map(|own| own.start as u32..own.end as u32)),
            members: traced.map(|body| state.members_of(body).to_vec()).collect(),
            trace: trace.clone(),
            size,
            most: (CAPACITY / size.max(1)).max(1),
        }
    }

    /// Bytes of a sample.
    pub fn size(&self) -> u64 {
        self.size
    }

    /// Bytes of all samples that a submission has room for.
    pub fn room(&self) -> u64 {
        self.most * self.size
    }

    /// Returns how many of `steps` steps from `first` on have room for their samples, and after which of them one is
    /// taken.
    pub fn plan(&self, first: u64, steps: u64) -> (u64, Vec<u64>) {
        let every = self.trace.every;
        let due = (first..first + steps).filter(|step| step.is_multiple_of(every));
        let due: Vec<u64> = due.take(self.most as usize).collect();
        match due.last() {
            Some(last) if due.len() as u64 == self.most => (last - first + 1, due),
            _ => (steps, due),
        }
    }

    /// Copies a sample to a place of a staging buffer.
    pub fn copy(
        &self,
        buffers: &Buffers,
        encoder: &mut wgpu::CommandEncoder,
        staging: &wgpu::Buffer,
        mut place: u64,
    ) {
        for (field, runs, size) in [
            (Field::Bodies, &self.bodies, BODY),
            (Field::SphereLoads, &self.spheres, LOAD),
        ] {
            for run in runs {
                let length = run.len() as u64 * size;
                let start = u64::from(run.start) * size;
                let from = buffers.field(field);
                encoder.copy_buffer_to_buffer(from, start, staging, place, length);
                place += length;
            }
        }
    }

    /// Takes in the samples of `steps` that were taken: those before `next`.
    pub fn read(&self, steps: &[u64], next: u64, bytes: &[u8], samples: &mut Vec<Sample>) {
        let taken = steps.iter().take_while(|&&step| step < next);
        for (&step, sample) in taken.zip(bytes.chunks(self.size.max(1) as usize)) {
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
