//! The engine of a rank, on the CPU or on a GPU.

use super::Ranks;
use super::bytes::{Reader, Writer};
use super::device::Device;
use super::edges::Edges;
use super::post::Post;
use crate::math::parallel::thread_count;
use crate::model::error::Result;
use crate::state::State;
use crate::step::cpu::CpuEngine;
use crate::step::gpu::{Adapter, Context};

/// Engine that each rank is to have.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Wanted {
    /// A GPU, if there is to be one.
    pub gpu: Option<WantedGpu>,
    /// Threads of the CPU engine; as many as the rank has cores for if `None`.
    pub threads: Option<usize>,
}

/// GPU that each rank is to have.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct WantedGpu {
    /// Part of the name of its adapter.
    pub adapter: Option<String>,
    /// WGSL of a custom contact law.
    pub law: Option<String>,
    /// Whether all ranks go without one where a rank has none; else that is an error.
    pub optional: bool,
}

impl Wanted {
    pub(super) fn write(&self, message: &mut Writer) {
        message.put(self.threads.unwrap_or(0) as u64);
        message.put(u32::from(self.gpu.is_some()));
        if let Some(gpu) = &self.gpu {
            message.put(u32::from(gpu.optional));
            for text in [&gpu.adapter, &gpu.law] {
                message.put_all(text.as_deref().unwrap_or_default().as_bytes());
            }
        }
    }

    pub(super) fn read(message: &mut Reader) -> Wanted {
        let threads = message.take::<u64>() as usize;
        let has_gpu = message.take::<u32>() == 1;
        Wanted {
            threads: (threads > 0).then_some(threads),
            gpu: has_gpu.then(|| {
                let optional = message.take::<u32>() == 1;
                let mut text = || {
                    let bytes = message.take_all::<u8>();
                    let text = String::from_utf8_lossy(&bytes).into_owned();
                    Some(text).filter(|text| !text.is_empty())
                };
                WantedGpu {
                    adapter: text(),
                    law: text(),
                    optional,
                }
            }),
        }
    }
}

/// The engine of a rank.
pub(super) enum RankEngine {
    Cpu(Box<CpuEngine>),
    Gpu(Box<Device>),
}

impl Default for RankEngine {
    fn default() -> RankEngine {
        RankEngine::Cpu(Box::default())
    }
}

impl RankEngine {
    /// Begins a scene. All ranks call this, and have the same kind of engine then.
    ///
    /// # Errors
    /// If this rank has no such GPU.
    pub fn begin(&mut self, wanted: &Wanted, post: &Post) -> Result<()> {
        if let Some(gpu) = &wanted.gpu {
            if let RankEngine::Gpu(own) = self
                && own.is_as(gpu)
            {
                own.begin();
                return Ok(());
            }
            let opened = open(gpu, post);
            let mut lacking = [i64::from(opened.is_err())];
            post.ranks.maximum(&mut lacking);
            match opened {
                Ok(context) if lacking[0] == 0 => {
                    *self = RankEngine::Gpu(Box::new(Device::new(context, gpu.clone())));
                    return Ok(());
                }
                Err(error) if !gpu.optional => return Err(error),
                _ => (),
            }
        }
        let ranks = &post.ranks;
        let threads = wanted.threads.unwrap_or_else(|| threads_of(&**ranks));
        let mut engine = match CpuEngine::on(Some(threads)) {
            Ok(engine) => engine,
            Err(error) => ranks.abort(&error.to_string()),
        };
        engine.set_clock(post.clock);
        *self = RankEngine::Cpu(Box::new(engine));
        Ok(())
    }

    /// Takes steps of a part of a scene, beside the other ranks.
    ///
    /// # Errors
    /// If a device is lost or has no memory left.
    pub fn steps(&mut self, state: &mut State, count: u64, edges: &mut Edges) -> Result<()> {
        match self {
            RankEngine::Cpu(engine) => engine.on_threads(|engine| {
                take(engine, state, count, edges)?;
                engine.copy_back(state);
                Ok(())
            }),
            RankEngine::Gpu(device) => {
                device.move_walls(state);
                take(&mut **device, state, count, edges)
            }
        }
    }

    /// Gives the state all that it does not have.
    ///
    /// # Errors
    /// If a device is lost.
    pub fn hold(&mut self, state: &mut State) -> Result<()> {
        match self {
            RankEngine::Cpu(_) => Ok(()),
            RankEngine::Gpu(device) => device.hold(state),
        }
    }

    /// Has the next step begin with what is in the state, which has changed.
    pub fn forget(&mut self) {
        match self {
            RankEngine::Cpu(engine) => engine.forget(),
            RankEngine::Gpu(device) => device.forget(),
        }
    }
}

/// Number of threads of a rank that is not told how many to take.
pub(super) fn threads_of(ranks: &dyn Ranks) -> usize {
    (thread_count() / ranks.on_this_machine()).max(1)
}

fn open(gpu: &WantedGpu, post: &Post) -> Result<Context> {
    let place = post.ranks.place_on_this_machine();
    let adapter = gpu.adapter.as_deref();
    pollster::block_on(Adapter::choose_for(adapter, place))?.open()
}

/// A step of an engine beside others.
pub(super) trait StepBeside {
    /// Gives the state its bodies, of which the next step builds lists.
    ///
    /// # Errors
    /// If a device is lost.
    fn give_bodies(&mut self, state: &mut State) -> Result<()>;

    /// Gives the state all that it does not have; bodies may come and go then.
    ///
    /// # Errors
    /// If a device is lost.
    fn write_back(&mut self, state: &mut State) -> Result<()>;

    /// Takes a step, the last one perhaps.
    ///
    /// # Errors
    /// If a device is lost or has no memory left.
    fn step(&mut self, state: &mut State, is_last: bool, edges: &mut Edges) -> Result<()>;
}

impl StepBeside for CpuEngine {
    fn give_bodies(&mut self, state: &mut State) -> Result<()> {
        CpuEngine::give_bodies(self, state);
        Ok(())
    }

    fn write_back(&mut self, state: &mut State) -> Result<()> {
        CpuEngine::write_back(self, state);
        Ok(())
    }

    fn step(&mut self, state: &mut State, is_last: bool, edges: &mut Edges) -> Result<()> {
        edges.step(self, state, is_last);
        Ok(())
    }
}

/// Takes steps until there are `count` of them, a body is lost or somebody cancels.
fn take(
    engine: &mut impl StepBeside,
    state: &mut State,
    count: u64,
    edges: &mut Edges,
) -> Result<()> {
    let mut taken = 0;
    let mut last = false;
    while taken < count && !last && state.stats[0].runaway == 0 {
        if state.stats[0].stale == 1 {
            engine.give_bodies(state)?;
            if !edges.stays(state) {
                engine.write_back(state)?;
                edges.rebuild(state);
            }
        }
        last = taken + 1 == count || edges.is_cancelled();
        engine.step(state, last, edges)?;
        taken += 1;
    }
    Ok(())
}
