//! The GPU of a rank: what its neighbours send and get goes through the host.

use super::edges::Edges;
use super::engine::{StepBeside, WantedGpu};
use crate::model::error::Result;
use crate::state::{Field, State};
use crate::step::Engine;
use crate::step::cpu::CpuEngine;
use crate::step::gpu::{Context, GpuEngine};

/// A GPU with a part of a scene.
pub(super) struct Device {
    context: Context,
    wanted: WantedGpu,
    /// None as long as the part has had no bodies.
    engine: Option<GpuEngine>,
    newest: Newest,
    /// Most entries that the neighbour lists have had.
    entries: u32,
}

/// Which of the host and the device has the newest values.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Newest {
    Host,
    Device,
    Both,
}

impl Device {
    pub fn new(context: Context, wanted: WantedGpu) -> Device {
        Device {
            context,
            wanted,
            engine: None,
            newest: Newest::Host,
            entries: 0,
        }
    }

    /// Whether it is the one that is wanted.
    pub fn is_as(&self, wanted: &WantedGpu) -> bool {
        self.wanted == *wanted
    }

    /// Begins another scene.
    pub fn begin(&mut self) {
        self.engine = None;
        self.newest = Newest::Host;
        self.entries = 0;
    }

    /// Name of the adapter.
    pub fn adapter(&self) -> &str {
        &self.context.adapter
    }

    /// Size of the buffers, bytes.
    pub fn size(&self) -> u64 {
        self.engine.as_ref().map_or(0, GpuEngine::size)
    }

    pub fn forget(&mut self) {
        self.newest = Newest::Host;
    }

    /// Takes over the poses of the walls that move by prescription.
    pub fn move_walls(&mut self, state: &State) {
        if let Some(engine) = &mut self.engine {
            engine.write_params(state);
        }
    }

    /// Gives the state all that it does not have.
    pub fn hold(&mut self, state: &mut State) -> Result<()> {
        if let (Newest::Device, Some(engine)) = (self.newest, &mut self.engine) {
            let mut fields: Vec<Field> = Field::ALL.into();
            fields.retain(|field| field.is_carried() && *field != Field::Stats);
            engine.read(&fields, state)?;
            self.newest = Newest::Both;
        }
        Ok(())
    }

    /// Gives the device all that it does not have.
    fn send(&mut self, state: &mut State, edges: &Edges) -> Result<&mut GpuEngine> {
        let is_new = self.newest == Newest::Host;
        if is_new && state.params.neighbour_capacity < self.entries {
            state.set_neighbour_capacity(State::neighbour_room(self.entries));
        }
        let mut engine = match self.engine.take() {
            Some(mut engine) => {
                if is_new {
                    engine.replace(state)?;
                }
                engine
            }
            None => GpuEngine::with_law(&self.context, state, self.wanted.law.as_deref())?,
        };
        if is_new {
            let mut fields = vec![Field::Bodies];
            if state.params.heat == 1 {
                fields.push(Field::BodyHeat);
            }
            engine.set_exchange(state, &fields, edges.exchanged())?;
        }
        self.newest = Newest::Device;
        Ok(self.engine.insert(engine))
    }
}

impl StepBeside for Device {
    fn give_bodies(&mut self, state: &mut State) -> Result<()> {
        let Some(engine) = &mut self.engine else {
            return Ok(());
        };
        if self.newest == Newest::Device {
            engine.read(&[Field::Bodies], state)?;
        }
        // Lists may be stale on another rank alone.
        engine.write_stale(state);
        Ok(())
    }

    fn write_back(&mut self, state: &mut State) -> Result<()> {
        self.hold(state)?;
        self.forget();
        Ok(())
    }

    fn step(&mut self, state: &mut State, is_last: bool, edges: &mut Edges) -> Result<()> {
        if state.bodies.is_empty() {
            // No thread of the device counts steps then. Walls move.
            let mut engine = CpuEngine::default();
            let (step, _) = engine.begin_beside(state, is_last, &[]);
            step.end(state, engine.decomposition(), &mut |loads| edges.sum(loads));
            edges.send_step(state);
            return Ok(());
        }
        let engine = self.send(state, edges)?;
        engine.step_beside(state, &mut |loads| edges.sum(loads))?;
        edges.send_step(state);
        engine.put_bodies(state);
        self.entries = self.entries.max(state.stats[0].neighbours);
        Ok(())
    }
}
