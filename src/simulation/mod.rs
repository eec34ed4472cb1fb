//! A simulation on either engine.

pub mod analysis;
pub mod bodies;
pub mod bulk;
pub mod checkpoint;
#[cfg(feature = "cpu")]
mod clock;
mod collisions;
mod deform;
pub mod events;
mod flow;
pub(crate) mod memory;
pub mod network;
pub mod observe;
pub mod query;
pub mod snapshot;
mod stages;
pub mod summary;
mod timed;
pub(crate) mod totals;
mod tune;
pub mod watch;
mod wear;

pub use flow::Seen;

use std::collections::BTreeMap;
use std::fmt;
use std::ops::ControlFlow;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::model::error::{Error, Result};
use crate::model::flow::Traffic;
use crate::model::wall;
use crate::model::{Model, ModelBody};
use crate::simulation::network::{Network, NetworkContact};
use crate::simulation::snapshot::{BodyState, Snapshot, report};
use crate::simulation::summary::{Energy, Summary};
use crate::state::layout::{Bond, Stats};
use crate::state::trace::{Sample, Trace};
use crate::state::{Bonded, Changed, Field, State, groups, least_period, pairs, quantities, radii};
#[cfg(all(feature = "cpu", feature = "gpu"))]
use crate::step::cluster::{self, ClusterEngine, Ranks, Wanted, WantedGpu};
#[cfg(feature = "cpu")]
use crate::step::cpu::CpuEngine;
#[cfg(feature = "gpu")]
use crate::step::gpu::{Adapter, Context, GpuEngine};
use crate::step::reference::ReferenceEngine;
use crate::step::{Canceller, ClusterCost, Engine, PassTimes, Patience, Source, Work};
#[cfg(feature = "cpu")]
use clock::with_system_clock;
use events::Ears;
use flow::Change;

/// Which engine to use.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Backend {
    /// A real GPU if there is one, else the CPU.
    #[default]
    Auto,
    /// A GPU.
    Gpu,
    /// The CPU.
    Cpu,
    /// The plain reference: one thread, and slow. In single precision it gives the bits of the CPU engine.
    Reference(Precision),
}

/// Precision of the reference.
///
/// Double precision takes the same steps with numbers of 53 bits instead of 24. The host's copy of the state is
/// rounded to single precision, and so are [`Simulation::bodies`], summaries, output and checkpoints. A resumed run
/// starts from these rounded values.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum Precision {
    /// Single precision, as on the other engines.
    #[default]
    Single,
    /// Double precision.
    Double,
}

/// Engine, adapter and threads of a simulation.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Options {
    /// Which engine to use.
    pub backend: Backend,
    /// Part of the name of the adapter to use. Only if it names a software adapter is that one used. With
    /// [`Backend::Auto`], a name asks for the GPU engine.
    pub adapter: Option<String>,
    /// Threads of the CPU engine; all cores by default. On a cluster, those of each rank.
    pub threads: Option<usize>,
    /// The cluster to run on; this process is its rank 0.
    #[cfg(all(feature = "cpu", feature = "gpu"))]
    #[doc(hidden)]
    pub cluster: Option<Cluster>,
}

/// The ranks of a cluster.
#[doc(hidden)]
#[cfg(all(feature = "cpu", feature = "gpu"))]
#[derive(Clone)]
pub struct Cluster(pub Arc<dyn Ranks>);

#[cfg(all(feature = "cpu", feature = "gpu"))]
impl fmt::Debug for Cluster {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        write!(f, "{} ranks", self.0.count())
    }
}

#[cfg(all(feature = "cpu", feature = "gpu"))]
impl PartialEq for Cluster {
    fn eq(&self, other: &Cluster) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

#[cfg(all(feature = "cpu", feature = "gpu"))]
impl Eq for Cluster {}

impl Options {
    /// The adapter to run on; None for the CPU engine.
    #[cfg(feature = "gpu")]
    fn choose_adapter(&self) -> Result<Option<Adapter>> {
        let wanted = self.adapter.as_deref();
        let may_do_without = wanted.is_none() && cfg!(feature = "cpu");
        match self.backend {
            Backend::Cpu | Backend::Reference(_) => Ok(None),
            Backend::Gpu => Adapter::choose(wanted).map(Some),
            Backend::Auto => match Adapter::choose(wanted) {
                Err(_) if may_do_without => Ok(None),
                chosen => chosen.map(Some),
            },
        }
    }

    /// An error if the options ask for a GPU.
    #[cfg(not(feature = "gpu"))]
    fn check_without_gpu(&self) -> Result<()> {
        match self.backend {
            Backend::Cpu | Backend::Reference(_) => Ok(()),
            Backend::Auto if self.adapter.is_none() => Ok(()),
            Backend::Auto | Backend::Gpu => Err(Error::NoEngine {
                engine: "GPU",
                feature: "gpu",
            }),
        }
    }
}

/// Number of steps at which the 32-bit step counters of the engines return to 0.
const EPOCH: u64 = 1 << 32;

/// A simulation: a model, the engine that steps it, and the number of steps taken.
pub struct Simulation {
    model: Arc<Model>,
    /// With the CPU engine the state itself, with others the host's copy of it.
    state: State,
    engine: Box<dyn Engine>,
    steps: u64,
    /// Bodies that are sampled, by their ids.
    trace: Option<Trace>,
    samples: Vec<Sample>,
    /// The walls that are there in the present stage; inlets use them to find free space.
    wall_probes: Vec<wall::Probe>,
    /// Meshes that wear; set when first needed.
    worn: Vec<wear::Worn>,
    sphere_steps: u64,
    /// Smallest and largest radius for which the search for contacts was set up, m.
    radii: (f64, f64),
    ears: Ears,
    canceller: Canceller,
    /// The model before stages changed it, if it has stages.
    first_model: Option<Arc<Model>>,
}

impl Simulation {
    /// Starts a simulation of `model`.
    ///
    /// # Errors
    /// If the requested backend is not available, or cannot hold the model.
    ///
    /// # Examples
    /// See the [crate's page](crate).
    pub fn new(model: Model, options: &Options) -> Result<Simulation> {
        #[cfg(all(feature = "cpu", feature = "gpu"))]
        if let Some(Cluster(ranks)) = &options.cluster {
            return Self::on_ranks(model, Arc::clone(ranks), options);
        }
        if let Backend::Reference(precision) = options.backend {
            return Self::on_reference(model, precision);
        }
        #[cfg(feature = "gpu")]
        if let Some(adapter) = options.choose_adapter()? {
            return Self::on_gpu(model, &adapter.open()?);
        }
        #[cfg(not(feature = "gpu"))]
        options.check_without_gpu()?;
        #[cfg(feature = "cpu")]
        return Self::on_cpu(model, options.threads);
        #[cfg(not(feature = "cpu"))]
        {
            drop(model);
            Err(Error::NoEngine {
                engine: "CPU",
                feature: "cpu",
            })
        }
    }

    /// Starts a simulation on the CPU engine, on `threads` threads (all cores if `None`).
    ///
    /// # Errors
    /// If the threads cannot be started, the contact law is a custom one, a periodic domain is too
    /// narrow, or the machine has no memory for the model.
    #[cfg(feature = "cpu")]
    pub fn on_cpu(model: Model, threads: Option<usize>) -> Result<Simulation> {
        has_room(&model)?;
        memory::check(&model, [1, 1])?;
        let engine = CpuEngine::new(&model, threads)?;
        Ok(Self::start(
            State::new(&model),
            model,
            with_system_clock(engine),
        ))
    }

    /// Starts a simulation on the ranks of a cluster. Each rank has the same engine: with [`Backend::Auto`] a GPU if each finds one.
    /// This is rank 0; the others [serve](serve_rank).
    ///
    /// # Errors
    /// As [`Simulation::new`], and if a rank has no GPU where one is wanted.
    #[doc(hidden)]
    #[cfg(all(feature = "cpu", feature = "gpu"))]
    pub fn on_ranks(
        mut model: Model,
        ranks: Arc<dyn Ranks>,
        options: &Options,
    ) -> Result<Simulation> {
        has_room(&model)?;
        memory::check(&model, [ranks.on_this_machine(), ranks.count()])?;
        let law = model.contact.law.custom();
        let gpu = match options.backend {
            Backend::Reference(_) => {
                return Err(Error::NotOnCluster {
                    what: "the reference engine",
                });
            }
            Backend::Cpu => {
                model.contact.law.check_on_cpu()?;
                None
            }
            Backend::Auto | Backend::Gpu => Some(WantedGpu {
                adapter: options.adapter.clone(),
                law: law.map(|law| law.source.clone()),
                optional: options.backend == Backend::Auto
                    && options.adapter.is_none()
                    && law.is_none(),
            }),
        };
        if model.bodies.are_shared() {
            // A checkpoint asks for it each time.
            model.stages.keep_hash(model.hash());
        }
        let threads = options.threads;
        let wanted = Wanted { gpu, threads };
        let (engine, state) = ClusterEngine::new(ranks, wanted, clock::system(), &model)?;
        Ok(Self::start(state, model, engine))
    }

    /// Cost of the steps on a cluster; `None` on one machine.
    pub fn cluster_cost(&mut self) -> Option<ClusterCost> {
        self.engine.cluster_cost()
    }

    /// Whether many processes take the steps, or will.
    pub(crate) fn is_on_cluster(&self) -> bool {
        self.engine.is_cluster()
    }

    /// Has the ranks of a cluster do `work`, which those that serve got as well, if [they have the state](Self::is_spread). Returns
    /// what each of them says.
    pub(crate) fn together(&mut self, work: Work, message: &[u8]) -> Vec<Vec<u8>> {
        self.engine.together(work, message, &self.state)
    }

    /// Starts a simulation on the reference.
    ///
    /// # Errors
    /// If the contact law is a custom one, a periodic domain is too narrow, or the machine has no memory for the model.
    pub fn on_reference(model: Model, precision: Precision) -> Result<Simulation> {
        has_room(&model)?;
        memory::check(&model, [1, 1])?;
        let state = State::new(&model);
        match precision {
            Precision::Single => {
                let engine = ReferenceEngine::<f32>::new(&model, &state)?;
                Ok(Self::start(state, model, engine))
            }
            Precision::Double => {
                let engine = ReferenceEngine::<f64>::new(&model, &state)?;
                Ok(Self::start(state, model, engine))
            }
        }
    }

    /// Starts a simulation on an open device.
    ///
    /// # Errors
    /// If the device cannot hold the model, or a periodic domain is too narrow.
    #[cfg(feature = "gpu")]
    pub fn on_gpu(model: Model, context: &Context) -> Result<Simulation> {
        pollster::block_on(Self::on_gpu_async(model, context))
    }

    /// [`Simulation::on_gpu`] for callers that cannot block, as in a browser.
    ///
    /// # Errors
    /// As [`Simulation::on_gpu`].
    #[cfg(feature = "gpu")]
    pub async fn on_gpu_async(model: Model, context: &Context) -> Result<Simulation> {
        has_room(&model)?;
        memory::is_counted(&model, 1)?;
        tracing::info!(adapter = context.adapter, "GPU engine");
        let state = State::new(&model);
        let law = model.contact.law.custom();
        let law = law.map(|law| law.source.as_str());
        let engine = GpuEngine::with_law_async(context, &state, law).await?;
        Ok(Self::start(state, model, engine))
    }

    fn start(state: State, model: Model, mut engine: impl Engine + 'static) -> Simulation {
        let canceller = Canceller::default();
        engine.set_canceller(canceller.clone());
        let model = Arc::new(model);
        Simulation {
            radii: radii(&model),
            first_model: (!model.stages.list.is_empty() || model.deforms())
                .then(|| Arc::clone(&model)),
            model,
            state,
            engine: Box::new(engine),
            steps: 0,
            trace: None,
            samples: Vec::new(),
            wall_probes: Vec::new(),
            worn: Vec::new(),
            sphere_steps: 0,
            ears: Ears::default(),
            canceller,
        }
    }

    /// Replaces an engine whose device was lost ([`Error::Lost`]). It opens the same device again, or another one if
    /// `options` leave the choice. The simulation is then at its start; [`Simulation::restore`] takes it back to
    /// where it was. It keeps its [canceller](Simulation::canceller) and its trace.
    ///
    /// # Errors
    /// As [`Simulation::new`].
    pub fn reopen(&mut self, options: &Options) -> Result<()> {
        let first = self.first_model.as_ref().unwrap_or(&self.model);
        let mut new = Simulation::new(Model::clone(first), options)?;
        new.engine.set_canceller(self.canceller.clone());
        self.engine = new.engine;
        self.state = new.state;
        self.model = new.model;
        self.steps = 0;
        self.samples.clear();
        self.aim_again();
        Ok(())
    }

    /// The model.
    pub fn model(&self) -> &Model {
        &self.model
    }

    /// The model, shared.
    pub fn shared_model(&self) -> Arc<Model> {
        Arc::clone(&self.model)
    }

    /// Name of the engine: `"cpu"`, `"gpu"` or `"reference"`.
    pub fn backend(&self) -> &'static str {
        self.engine.name()
    }

    /// Device that it runs on: the adapter, or the CPU with its number of threads.
    pub fn adapter(&self) -> String {
        self.engine.device()
    }

    /// The GPU engine, if the simulation runs on it.
    #[cfg(feature = "gpu")]
    pub fn gpu(&self) -> Option<&GpuEngine> {
        self.engine.as_gpu()
    }

    /// The host's copy of the state: with the CPU engine the state itself, with the GPU engine the buffers that were
    /// last fetched.
    #[doc(hidden)]
    pub fn on_host(&self) -> &State {
        &self.state
    }

    /// Number of steps taken.
    pub fn steps(&self) -> u64 {
        self.steps
    }

    /// Simulated time, s.
    pub fn time(&self) -> f64 {
        self.fetched().time()
    }

    /// Number of bodies now.
    pub fn body_count(&self) -> usize {
        self.state.params.body_count as usize
    }

    /// Number of their spheres.
    pub fn sphere_count(&self) -> usize {
        self.state.params.sphere_count as usize
    }

    /// Spheres times steps, over all steps taken.
    pub fn sphere_steps(&self) -> u64 {
        self.sphere_steps
    }

    /// Size of all buffers of the engine, bytes.
    pub fn memory(&self) -> u64 {
        self.engine.memory(&self.state)
    }

    /// Takes `steps` steps and waits for them.
    ///
    /// # Errors
    /// If a body moves too fast to be followed, if the steps are [cancelled](Simulation::canceller), or if the device
    /// is lost. After a body that is too fast, the simulation stands at the end of that step and takes no more steps
    /// until it is [restored](Simulation::restore).
    pub fn step(&mut self, steps: u64) -> Result<()> {
        pollster::block_on(self.step_by(Patience::Block, steps))
    }

    /// [`Simulation::step`] for callers that cannot block, as in a browser: the future is pending while a GPU works.
    /// Outside a browser it asks to be polled again at once. An engine on the CPU takes the steps when it is polled.
    ///
    /// If the future is dropped before it ends, the device may have taken steps that the simulation did not count. In
    /// that case [restore](Simulation::restore) a state.
    ///
    /// # Errors
    /// As [`Simulation::step`].
    pub async fn step_async(&mut self, steps: u64) -> Result<()> {
        self.step_by(Patience::Yield, steps).await
    }

    pub(crate) async fn step_by(&mut self, patience: Patience, steps: u64) -> Result<()> {
        let end = self.steps + steps;
        while self.steps < end {
            let begins = self.enter_stage(patience).await?;
            self.change_in_time(patience).await?;
            self.wear(patience).await?;
            self.deform(patience, begins).await?;
            self.explode(patience).await?;
            self.look(patience).await?;
            let look = match self.model.flow.every {
                0 => end,
                every => (self.steps / every + 1) * every,
            };
            let explosion = self.next_explosion().unwrap_or(end);
            let listen = self.ears.next(self.steps);
            let stage = self.next_stage().unwrap_or(end);
            let listen_at = listen.unwrap_or(end);
            let epoch = (self.steps / EPOCH + 1) * EPOCH;
            let next = look.min(explosion).min(stage).min(listen_at);
            let deformation = self.next_deformation().unwrap_or(end);
            let change = self.next_change().unwrap_or(end);
            let wear = self.next_wear().unwrap_or(end);
            let contacts = self.next_contacts();
            let next = next
                .min(contacts.unwrap_or(end))
                .min(deformation)
                .min(change)
                .min(wear)
                .min(epoch)
                .min(end);
            self.take(patience, next - self.steps).await?;
            if contacts == Some(self.steps) {
                self.note_contacts(patience).await?;
            }
            if listen == Some(self.steps) {
                self.listen(patience).await?;
            }
        }
        if steps > 0 && self.ears.next(end - 1) != Some(end) {
            self.listen(patience).await?;
        }
        Ok(())
    }

    /// Takes steps until `time` (s); the last step ends as near to it as possible. Takes none if `time` is past.
    ///
    /// # Errors
    /// As [`Simulation::step`].
    pub fn run_until(&mut self, time: f64) -> Result<()> {
        let steps = ((time - self.time()) / self.model.time_step).round();
        self.step(steps.max(0.0) as u64)
    }

    /// A handle that ends steps early, from another thread or a signal handler. A call under way returns
    /// [`Error::Cancelled`] after the current step, on a GPU after the submitted ones. The simulation can continue
    /// from there.
    pub fn canceller(&self) -> Canceller {
        self.canceller.clone()
    }

    /// Takes `steps` steps between two looks.
    async fn take(&mut self, patience: Patience, steps: u64) -> Result<()> {
        let after = self.steps;
        let before = self.samples.len();
        let (engine, state, samples) = (&mut self.engine, &mut self.state, &mut self.samples);
        self.steps += match patience {
            Patience::Block => engine.step(state, after, steps, samples)?,
            Patience::Yield => engine.step_async(state, after, steps, samples).await?,
        };
        self.sphere_steps += (self.steps - after) * self.sphere_count() as u64;
        if self.steps > after && self.steps.is_multiple_of(EPOCH) {
            self.set_epoch();
            self.upload_params();
        }
        for sample in &mut self.samples[before..] {
            sample.identity = self.state.identities.at(sample.body as usize);
        }
        match self.stats().runaway {
            0 if self.canceller.take() => Err(Error::Cancelled { step: self.steps }),
            0 => Ok(()),
            body => Err(self.runaway(patience, body as usize - 1).await?),
        }
    }

    /// Tells the engine the part of the simulated time that its step counter omits.
    pub(crate) fn set_epoch(&mut self) {
        let left_out = (self.steps - self.steps % EPOCH) as f64 * self.model.time_step;
        self.state.set_left_out(left_out);
    }

    fn next_explosion(&self) -> Option<u64> {
        self.state
            .traffic
            .next_explosion(&self.model, self.step_times())
    }

    /// Bursts the bodies that are due to burst before the next step.
    async fn explode(&mut self, patience: Patience) -> Result<()> {
        if self.next_explosion().is_none_or(|step| step > self.steps) {
            return Ok(());
        }
        let model = Arc::clone(&self.model);
        let traffic = &self.state.traffic;
        let mut alone = BTreeMap::new();
        for body in traffic.bursting(&model, &self.state, self.steps) {
            if !self.is_spread() {
                self.fetch_body(patience, body).await?;
                continue;
            }
            let (mut part, index) = (self.state.outline(), body as u32);
            self.read_part(index..index + 1, &quantities::BUFFERS, &mut part)?;
            alone.insert(body, part);
        }
        let mut traffic = std::mem::take(&mut self.state.traffic);
        let change = traffic.explode(&model, &self.state, &alone, self.steps);
        self.state.traffic = traffic;
        self.tell(change.as_ref());
        self.change(patience, change).await
    }

    /// Removes and adds bodies, if `change` has any.
    async fn change(&mut self, patience: Patience, change: Option<Change>) -> Result<()> {
        let Some(change) = change else {
            return Ok(());
        };
        self.take_away(patience, &change.gone).await?;
        self.bring(patience, change.new).await
    }

    /// Removes bodies, given by their indices in increasing order.
    pub(crate) async fn take_away(&mut self, patience: Patience, bodies: &[u32]) -> Result<()> {
        if bodies.is_empty() {
            return Ok(());
        }
        let (engine, state) = (&mut self.engine, &mut self.state);
        match patience {
            Patience::Block => engine.remove(bodies, state)?,
            Patience::Yield => engine.remove_async(bodies, state).await?,
        }
        self.aim_again();
        Ok(())
    }

    /// Adds bodies with their ids, which are larger than any before, at the end.
    pub(crate) async fn bring(
        &mut self,
        patience: Patience,
        bodies: Vec<(u64, ModelBody)>,
    ) -> Result<()> {
        if bodies.is_empty() {
            return Ok(());
        }
        let (engine, state) = (&mut self.engine, &mut self.state);
        let appended = match patience {
            Patience::Block => engine.append(&self.model, bodies, state),
            Patience::Yield => engine.append_async(&self.model, bodies, state).await,
        };
        self.aim_again();
        appended
    }

    /// Lets bodies in and out, and counts those that passed: before the first step and before each multiple of
    /// [`Flow::every`](crate::model::flow::Flow::every).
    async fn look(&mut self, patience: Patience) -> Result<()> {
        let model = Arc::clone(&self.model);
        let due = model.flow.every > 0 && self.steps.is_multiple_of(model.flow.every);
        if !due || self.state.traffic.looked == Some(self.steps) {
            return Ok(());
        }
        if !model.breakage.is_empty() {
            let change = self.shatter(patience, &model).await?;
            self.tell(change.as_ref());
            self.change(patience, change).await?;
        }
        let mut traffic = std::mem::take(&mut self.state.traffic);
        let time = self.state.step_times(&model).after(self.steps as f64);
        let mut look = traffic.begin_look(&model, self.steps, time);
        let fields = [Field::Bodies, Field::Walls];
        let read = self.for_each_part_by(patience, &fields, |part, _| {
            traffic.look_at(&mut look, part.state);
            ControlFlow::Continue(())
        });
        if let Err(error) = read.await.map(|_| ()) {
            self.state.traffic = traffic;
            return Err(error);
        }
        let there = (0..model.walls.len()).filter(|wall| model.stages.has_wall(*wall));
        if !model.flow.inlets.is_empty() && self.wall_probes.is_empty() {
            let domain = model.domain.as_ref();
            let probe = |index: usize| wall::Probe::new(&model.walls[index], domain);
            self.wall_probes = there.clone().map(probe).collect();
        }
        for (index, probe) in there.zip(&mut self.wall_probes) {
            probe.move_to(self.state.wall(index).pose);
        }
        let change = traffic.end_look(look, &self.state, &self.wall_probes);
        self.state.traffic = traffic;
        self.tell(change.as_ref());
        self.change(patience, change).await
    }

    /// Bursts the bodies whose load has exceeded their strength since the look before.
    async fn shatter(&mut self, patience: Patience, model: &Model) -> Result<Option<Change>> {
        let largest = self.largest_forces(patience).await?;
        let mut traffic = std::mem::take(&mut self.state.traffic);
        let mut shattering = traffic.begin_shattering(model, largest);
        let fields = [
            &[Field::Bodies, Field::SphereLoads],
            &quantities::BUFFERS[..],
        ]
        .concat();
        let read = self.for_each_part_by(patience, &fields, |part, before| {
            traffic.shatter(&mut shattering, part.state, before);
            ControlFlow::Continue(())
        });
        let read = read.await.map(|_| ());
        let change = traffic.end_shattering(shattering);
        self.state.traffic = traffic;
        read.map(|()| change)
    }

    /// Reports bodies that came or left without a call of the caller's.
    fn tell(&mut self, change: Option<&Change>) {
        let Some(change) = change else {
            return;
        };
        let identities = &self.state.identities;
        let gone = change
            .gone
            .iter()
            .map(|index| identities.id(*index as usize));
        let new = change.new.iter().map(|(id, _)| *id);
        self.ears.come_and_go(gone, new);
    }

    /// Gives the engine the host's copy of the state, whose bodies may have changed.
    async fn replace_by(&mut self, patience: Patience) -> Result<()> {
        match patience {
            Patience::Block => self.engine.replace(&self.state)?,
            Patience::Yield => self.engine.replace_async(&self.state).await?,
        }
        self.aim_again();
        Ok(())
    }

    /// Restarts the engine from the host's copy of the state, with the passes that it needs now.
    async fn restart_by(&mut self, patience: Patience) -> Result<()> {
        match patience {
            Patience::Block => self.engine.restart(&self.state)?,
            Patience::Yield => self.engine.restart_async(&self.state).await?,
        }
        self.aim_again();
        Ok(())
    }

    fn aim_again(&mut self) {
        if let Some(trace) = self.trace.clone() {
            self.aim(&trace);
        }
    }

    /// Makes the engine sample those bodies of `trace` that exist.
    fn aim(&mut self, trace: &Trace) {
        let identities = &self.state.identities;
        let place = |id: &u32| identities.find(u64::from(*id));
        let traced = Trace {
            bodies: trace
                .bodies
                .iter()
                .filter_map(place)
                .map(|place| place as u32)
                .collect(),
            every: trace.every,
        };
        self.engine.set_trace(traced, &self.state);
    }

    /// Counters of the bodies that have come in, gone out and passed so far.
    pub fn traffic(&self) -> &Traffic {
        &self.state.traffic
    }

    /// Readings of the model's probes now; a face has none.
    ///
    /// # Errors
    /// If the device is lost.
    #[doc(hidden)]
    pub fn probe(&mut self) -> Result<Vec<Seen>> {
        let mut seen = vec![Seen::default(); self.model.flow.probes.len()];
        self.for_each_part(&[Field::Bodies], |part, _| {
            for (seen, probe) in seen.iter_mut().zip(&part.model.flow.probes) {
                seen.add(&probe.region, part.model, part.state);
            }
            ControlFlow::Continue(())
        })?;
        Ok(seen.into_iter().map(Seen::mean).collect())
    }

    /// Takes steps and returns the total time of each pass, in the order of [`Pass::ALL`](crate::step::Pass::ALL);
    /// `None` on an adapter without timestamps.
    ///
    /// # Errors
    /// If the device is lost.
    pub fn profile(&mut self, steps: u64) -> Result<Option<PassTimes>> {
        let after = self.steps;
        self.steps += steps;
        self.engine.profile(&mut self.state, after, steps)
    }

    /// Samples some bodies over time from now on; see [`Simulation::take_samples`].
    ///
    /// # Errors
    /// If a body does not exist.
    pub fn set_trace(&mut self, trace: Trace) -> Result<()> {
        let identities = &self.state.identities;
        let there = |id: u32| identities.find(u64::from(id));
        if let Some(&body) = trace.bodies.iter().find(|&&id| there(id).is_none()) {
            let count = identities.len();
            return Err(Error::NoSuchBody { body, count });
        }
        self.aim(&trace);
        self.trace = Some(trace);
        Ok(())
    }

    /// The samples taken since the last call, in the order of steps; within a step, in the order of
    /// [`Trace::bodies`].
    pub fn take_samples(&mut self) -> Vec<Sample> {
        std::mem::take(&mut self.samples)
    }

    /// All buffers as they are now, copied from the device if necessary.
    ///
    /// # Errors
    /// If the device is lost.
    pub fn state(&mut self) -> Result<&State> {
        pollster::block_on(self.state_by(Patience::Block))
    }

    /// [`Simulation::state`], asynchronous.
    pub(crate) async fn state_by(&mut self, patience: Patience) -> Result<&State> {
        self.fetch_by(patience, &Field::ALL).await?;
        Ok(&self.state)
    }

    /// Returns to `state`, which [`Simulation::state`] gave after `steps` steps. Changes by
    /// [`Simulation::set_gravity`] and the like stay.
    ///
    /// # Errors
    /// If the device has no memory for the state.
    pub fn restore(&mut self, state: &State, steps: u64) -> Result<()> {
        pollster::block_on(self.restore_by(Patience::Block, state, steps))
    }

    /// [`Simulation::restore`], asynchronous.
    pub(crate) async fn restore_by(
        &mut self,
        patience: Patience,
        state: &State,
        steps: u64,
    ) -> Result<()> {
        self.resume(state.clone(), steps);
        self.replace_by(patience).await
    }

    /// [`Simulation::restore`] with a state that is [free](State::free), and whose bodies are in a source.
    ///
    /// # Errors
    /// As [`Simulation::restore`].
    pub(crate) fn restore_from(
        &mut self,
        state: State,
        source: Box<dyn Source>,
        steps: u64,
    ) -> Result<()> {
        self.resume(state, steps);
        self.engine.replace_from(&mut self.state, source)?;
        self.aim_again();
        Ok(())
    }

    /// Takes over a state, which may be [free](State::free), after so many steps.
    fn resume(&mut self, state: State, steps: u64) {
        self.state = state;
        self.enter_stages_again(steps);
        if self.state.params.time_step != self.model.time_step as f32 {
            self.state.set_time_step(self.model.time_step, 0.0);
        }
        let last = steps.saturating_sub(1);
        if let Some(gravity) = self.model.gravity_table.at(last, self.step_times()) {
            let hash = self.model.hash();
            let model = Arc::make_mut(&mut self.model);
            model.gravity = gravity;
            model.stages.keep_hash(hash);
        }
        self.state.params.gravity = self.model.gravity.as_vec3();
        self.state.set_pairs(pairs(&self.model));
        self.state.groups = groups(&self.model);
        if let Some(heat) = &self.model.heat {
            self.state.set_wall_temperatures(&heat.walls);
        }
        if self.model.forces.act() && self.state.params.forces == 0 {
            self.state.start_forces();
        }
        self.steps = steps;
        self.restore_deformation();
        self.set_epoch();
    }

    /// All bodies as they are now.
    ///
    /// # Errors
    /// If the device is lost.
    pub fn bodies(&mut self) -> Result<Vec<BodyState>> {
        self.fetch(&[&[Field::Bodies], &quantities::BUFFERS[..]].concat())?;
        Ok(self.fetched().bodies().collect())
    }

    /// Reported state of a body: that of its centre of mass, and of the shape's own axes.
    #[doc(hidden)]
    pub fn report(&self, index: usize, body: &crate::state::layout::Body) -> BodyState {
        report(
            &self.model.shapes,
            &self.state,
            index,
            self.state.identities.at(index),
            body,
        )
    }

    /// Reported state of a sampled body, which may have left since.
    #[doc(hidden)]
    pub fn report_sample(&self, sample: &Sample) -> BodyState {
        let index = sample.body as usize;
        report(
            &self.model.shapes,
            &self.state,
            index,
            sample.identity,
            &sample.state,
        )
    }

    /// Energy, momentum, contacts and the hash of the state now.
    ///
    /// # Errors
    /// If the device is lost.
    pub fn summary(&mut self) -> Result<Summary> {
        if self.is_spread() {
            return Ok(self.totals()?.summary);
        }
        pollster::block_on(self.summary_by(Patience::Block))
    }

    /// [`Simulation::summary`], asynchronous.
    pub(crate) async fn summary_by(&mut self, patience: Patience) -> Result<Summary> {
        let fields = [Field::Bodies, Field::SphereLoads, Field::Stats];
        self.fetch_by(patience, &fields).await?;
        Ok(self.fetched().summary())
    }

    /// Energy of the bodies and of their contacts, and the energy dissipated so far.
    ///
    /// # Errors
    /// If the device is lost.
    pub fn energy(&mut self) -> Result<Energy> {
        if self.is_spread() {
            return Ok(self.totals()?.energy);
        }
        self.fetch_contacts()?;
        Ok(self.fetched().energy())
    }

    /// The contacts of the last step with their forces.
    ///
    /// # Errors
    /// If the device is lost.
    pub fn network(&mut self) -> Result<Network> {
        self.fetch_contacts()?;
        Ok(self.fetched().network())
    }

    /// The contacts of [`Simulation::network`], one by one.
    ///
    /// # Errors
    /// If the device is lost.
    pub fn contacts(&mut self) -> Result<impl Iterator<Item = NetworkContact> + Clone> {
        self.fetch_contacts()?;
        Ok(self.fetched().contacts())
    }

    /// All bonds, broken ones included.
    ///
    /// # Errors
    /// If the device is lost.
    pub fn bonds(&mut self) -> Result<impl Iterator<Item = Bonded> + '_> {
        let all = pollster::block_on(self.all_bonds(Patience::Block))?;
        Ok(all.into_iter())
    }

    /// The coordination number: the mean number of contacts of a body that is not fixed.
    ///
    /// # Errors
    /// If the device is lost.
    pub fn coordination(&mut self) -> Result<f64> {
        if self.is_spread() {
            return Ok(self.totals()?.coordination);
        }
        self.fetch(&[Field::SphereLoads])?;
        Ok(self.fetched().coordination())
    }

    /// The host's copy of the state, with the buffers fetched last.
    pub(crate) fn fetched(&self) -> Snapshot<'_> {
        Snapshot {
            model: &self.model,
            state: &self.state,
            steps: self.steps,
        }
    }

    fn fetch_contacts(&mut self) -> Result<()> {
        pollster::block_on(self.fetch_contacts_by(Patience::Block))
    }

    pub(crate) async fn fetch_contacts_by(&mut self, patience: Patience) -> Result<()> {
        self.fetch_by(patience, &Snapshot::fields_of_totals()).await
    }

    /// The buffers that a step carries over to the next, which are all that a run writes: see [`Field::is_carried`].
    pub(crate) fn fetch_carried(&mut self) -> Result<Snapshot<'_>> {
        let carried = Field::ALL.into_iter().filter(|field| field.is_carried());
        self.fetch(&carried.collect::<Vec<_>>())?;
        Ok(self.fetched())
    }

    /// The present state without bodies, and what comes with them: walls above all.
    pub(crate) fn outline(&mut self) -> Result<State> {
        self.fetch(&[Field::Walls, Field::DynamicWalls, Field::WallLoads])?;
        Ok(self.state.outline())
    }

    /// The bonds that have broken at least once, with the ids of their bodies.
    pub(crate) fn changed_bonds(&mut self) -> Result<Vec<(Changed, [u64; 2])>> {
        let bonds = pollster::block_on(self.fetch_changed_bonds(Patience::Block))?;
        let id = |body: usize| self.state.identities.id(body);
        let changed = bonds.iter().map(|bond| self.state.change(bond));
        let changed = changed.map(|own| (own, own.bodies.map(id)));
        Ok(changed.collect())
    }

    /// The bonds that have broken at least once, as the engines have them.
    async fn fetch_changed_bonds(&mut self, patience: Patience) -> Result<Vec<Bond>> {
        if self.is_spread() {
            return Ok(self.engine.read_changed_bonds());
        }
        self.fetch_by(patience, &[Field::Bonds]).await?;
        Ok(self.state.changed_bonds().copied().collect())
    }

    pub(crate) fn fetch(&mut self, fields: &[Field]) -> Result<()> {
        self.engine.read(fields, &mut self.state)
    }

    /// [`Simulation::fetch`], asynchronous.
    pub(crate) async fn fetch_by(&mut self, patience: Patience, fields: &[Field]) -> Result<()> {
        match patience {
            Patience::Block => self.fetch(fields),
            Patience::Yield => self.engine.read_async(fields, &mut self.state).await,
        }
    }

    /// Reads one body; see [`Engine::read_body`].
    pub(crate) async fn fetch_body(&mut self, patience: Patience, body: usize) -> Result<()> {
        match patience {
            Patience::Block => self.engine.read_body(body, &mut self.state),
            Patience::Yield => self.engine.read_body_async(body, &mut self.state).await,
        }
    }

    /// Counters of the run after the last call of [`Simulation::step`].
    #[doc(hidden)]
    pub fn stats(&self) -> Stats {
        self.state.stats[0]
    }

    /// The error that reports a lost body.
    async fn runaway(&mut self, patience: Patience, body: usize) -> Result<Error> {
        self.fetch_by(patience, &[Field::Bodies]).await?;
        let lost = &self.state.bodies[body];
        let finite = lost.velocity.is_finite() && lost.angular_momentum.is_finite();
        Ok(Error::Runaway {
            body,
            shape: self.model.shapes[self.state.identities[body].shape]
                .name
                .clone(),
            step: self.steps,
            how: if finite {
                "moves or turns too fast to be followed: more than 3 rad or a million diameters in a step"
            } else {
                "gets a velocity that is not finite"
            },
        })
    }
}

/// Serves rank 0 of a cluster; all other ranks call this. See [`Simulation::on_ranks`]. `work` is what they may be asked to do together
/// besides.
#[doc(hidden)]
#[cfg(all(feature = "cpu", feature = "gpu"))]
pub fn serve_rank(ranks: Arc<dyn Ranks>, work: Work) {
    cluster::serve(ranks, clock::system(), work);
}

/// Whether the domain is long enough along its periodic axes.
fn has_room(model: &Model) -> Result<()> {
    let Some(domain) = &model.domain else {
        return Ok(());
    };
    let (period, least) = (domain.period(), least_period(model));
    for (axis, name) in ['x', 'y', 'z'].into_iter().enumerate() {
        if domain.periodic[axis] && period[axis] < least {
            return Err(Error::NarrowDomain {
                axis: name,
                length: period[axis],
                least,
            });
        }
    }
    Ok(())
}

#[cfg(all(test, feature = "cpu", feature = "scene"))]
mod tests {
    use super::*;

    /// Balls and cubes that fall on each other and on a sampled slope: enough for several threads.
    const HEAP: &str = r#"{
        "version": 1,
        "materials": { "stone": { "density": 2500, "restitution": 0.5, "friction": 0.5 } },
        "shapes": {
            "ball": { "sphere": { "radius": 0.05 }, "material": "stone" },
            "cube": { "cube": { "n": 2, "radius": 0.03 }, "material": "stone" }
        },
        "contact": { "normal": "hooke", "tangential": "history", "stiffness": 1e5, "time_step": 1e-4 },
        "planes": [
            { "point": [0, 0, 0], "normal": [0.1, 1, 0], "material": "stone" },
            { "point": [1.2, 0, 0], "normal": [-1, 0, 0], "material": "stone" }
        ],
        "fills": [{
            "shapes": { "ball": 1, "cube": 1 }, "count": 600,
            "region": { "min": [-0.8, 0.3, -0.8], "max": [0.8, 1.8, 0.8] }, "velocity": [1, -4, 0]
        }]
    }"#;

    /// A build with the feature `parallel` and one without give the same bits on any number of threads.
    #[test]
    fn same_bits_with_threads_and_without() {
        let threads: &[usize] = match cfg!(feature = "parallel") {
            true => &[1, 3],
            false => &[1],
        };
        for &threads in threads {
            let model = crate::scene::parse(HEAP, "heap.json".as_ref())
                .unwrap()
                .model;
            let mut simulation = Simulation::on_cpu(model, Some(threads)).unwrap();
            simulation.step(2000).unwrap();
            let summary = simulation.summary().unwrap();
            assert!(summary.contacts > 300, "{summary:?}");
            assert_eq!(
                format!("{:016x}", summary.state_hash),
                "ca07464b38501402",
                "{threads} threads"
            );
        }
    }
}
