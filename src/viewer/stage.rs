//! What is on stage: one scene with its simulation, and the renderer that shows it.

use std::path::{Path, PathBuf};

use super::history::History;
use super::timeline::{Ring, Timeline};
use crate::error::{Error, Result};
use crate::model::handle::MaterialHandle;
use crate::model::{ContactModel, Model, PairLaw};
use crate::output::{KeptRun, RunFolder};
use crate::render::{Look, Renderer};
use crate::scene::contact::stable_time_step;
use crate::scene::{self, SceneError};
use crate::simulation::{Backend, Options, Simulation};
use crate::state::State;
use crate::step::gpu::Context;

/// A scene on stage.
pub(super) struct Stage {
    pub path: PathBuf,
    pub simulation: Simulation,
    pub renderer: Renderer,
    pub history: History,
    pub timeline: Timeline,
    /// What was derived from the scene, and what is doubtful.
    pub notes: Vec<String>,
    pub warnings: Vec<String>,
    /// The longest time step that is stable, s.
    pub stable: Option<f64>,
    /// The model as the scene has it, before anything was tuned.
    pub written: Model,
    start: State,
}

/// Why a scene is not on stage.
#[derive(Debug, thiserror::Error)]
pub(super) enum StageError {
    #[error("{0}")]
    Scene(#[from] SceneError),
    #[error("{0}")]
    Simulation(#[from] Error),
}

impl Stage {
    /// Reads a scene and sets it up.
    pub fn open(
        path: &Path,
        options: &Options,
        context: &Context,
        is_gpu: bool,
        format: wgpu::TextureFormat,
    ) -> std::result::Result<Stage, StageError> {
        let scene::Scene {
            model,
            warnings,
            notes,
            ..
        } = match path.is_dir() {
            true => scene::load(&path.join(RunFolder::SCENE))?,
            false => scene::load(path)?,
        };
        let written = model.clone();
        if path.is_dir() {
            // What is only shown is on the host, and takes no steps, whatever its law.
            let model = Model {
                contact: ContactModel::default(),
                history: None,
                ..model
            };
            let run = Box::new(KeptRun::open(path, &model)?);
            let mut simulation = Simulation::on_cpu(model, options.threads)?;
            run.show(0, &mut simulation)?;
            return Stage::of(path, simulation, context, format, |stage| Stage {
                notes,
                warnings,
                written,
                timeline: Timeline::Kept { run, shown: 0 },
                ..stage
            });
        }
        // As everywhere: a software adapter computes only if it is asked to by name.
        let simulation = match options.backend {
            Backend::Reference(precision) => Simulation::on_reference(model, precision)?,
            Backend::Gpu => Simulation::on_gpu(model, context)?,
            Backend::Auto if is_gpu || options.adapter.is_some() => {
                Simulation::on_gpu(model, context)?
            }
            Backend::Auto | Backend::Cpu => Simulation::on_cpu(model, options.threads)?,
        };
        Stage::of(path, simulation, context, format, |stage| Stage {
            notes,
            warnings,
            stable: stable_time_step(&written),
            written,
            ..stage
        })
    }

    fn of(
        path: &Path,
        mut simulation: Simulation,
        context: &Context,
        format: wgpu::TextureFormat,
        complete: impl FnOnce(Stage) -> Stage,
    ) -> std::result::Result<Stage, StageError> {
        let start = simulation.state()?.clone();
        let mut renderer = Renderer::new(context, &simulation, format)?;
        renderer.update(&simulation)?;
        renderer.survey(&Look::default())?;
        Ok(complete(Stage {
            path: path.to_owned(),
            renderer,
            history: History::new(),
            timeline: Timeline::Live(Ring::default()),
            notes: Vec::new(),
            warnings: Vec::new(),
            stable: None,
            written: simulation.model().clone(),
            start,
            simulation,
        }))
    }

    /// Whether it is a run that was kept, which takes no steps.
    pub fn is_kept(&self) -> bool {
        matches!(self.timeline, Timeline::Kept { .. })
    }

    /// Goes to the state that is nearest to a time (s), of those that were kept.
    pub fn go(&mut self, time: f64) -> Result<()> {
        self.timeline.go(time, &mut self.simulation)
    }

    /// Keeps the state as it is now, if it is time for that.
    pub fn keep(&mut self) -> Result<()> {
        match &mut self.timeline {
            Timeline::Live(ring) => ring.follow(&mut self.simulation),
            Timeline::Kept { .. } => Ok(()),
        }
    }

    /// Goes back to the start. What was tuned stays as it is.
    pub fn reset(&mut self) -> Result<()> {
        match &mut self.timeline {
            Timeline::Live(ring) => {
                self.simulation.restore(&self.start, 0)?;
                *ring = Ring::default();
            }
            Timeline::Kept { .. } => self.go(0.0)?,
        }
        self.history = History::new();
        self.renderer.forget();
        Ok(())
    }

    /// Whether gravity acts.
    pub fn has_gravity(&self) -> bool {
        self.simulation.model().gravity != glam::DVec3::ZERO
    }

    /// Switches gravity off, or on as the scene has it (or as it is on Earth, if that has none).
    pub fn toggle_gravity(&mut self) -> Result<()> {
        let gravity = if self.has_gravity() {
            glam::DVec3::ZERO
        } else if self.written.gravity == glam::DVec3::ZERO {
            -9.81 * self.written.up()
        } else {
            self.written.gravity
        };
        self.simulation.set_gravity(gravity)
    }

    /// The normal of a wall that is a plane.
    pub fn plane_normal(&self, wall: usize) -> Option<glam::DVec3> {
        self.simulation.model().walls.get(wall)?.plane_normal()
    }

    /// Sets the parameters of a pair of materials.
    pub fn set_pair(&mut self, a: usize, b: usize, law: PairLaw) -> Result<()> {
        self.simulation.set_pair(
            MaterialHandle::from_index(a),
            MaterialHandle::from_index(b),
            law,
        )?;
        self.stable = stable_time_step(self.simulation.model());
        Ok(())
    }

    /// The parameters of a pair of materials.
    pub fn pair(&self, a: usize, b: usize) -> PairLaw {
        let model = self.simulation.model();
        model.pairs[a * model.materials.len() + b]
    }
}

/// The scenes in the folder of one, by name.
pub(super) fn neighbours(scene: &Path) -> Vec<PathBuf> {
    let folder = match scene.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    };
    let Ok(entries) = std::fs::read_dir(folder) else {
        return vec![];
    };
    let mut scenes: Vec<PathBuf> = entries
        .flatten()
        // As the scene itself is named, so that it is found among them.
        .map(|entry| scene.with_file_name(entry.file_name()))
        .filter(|path| path.extension().is_some_and(|ending| ending == "json"))
        .collect();
    scenes.sort();
    scenes
}
