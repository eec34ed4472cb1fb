//! Stage of the window: one scene with its simulation, and the renderer that shows it.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use super::history::History;
use super::panel::Wish;
use super::timeline::{Ring, Timeline};
use super::{IN_PAGE, PATIENCE};
use crate::model::error::{Error, Result};
use crate::model::handle::MaterialHandle;
use crate::model::{ContactModel, Model, PairLaw};
use crate::output::{KeptRun, RunFolder};
use crate::render::{Look, Renderer};
use crate::scene::contact::stable_time_step;
use crate::scene::{self, Files as _, Placed, SceneError};
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
    /// Derived values of the scene, and warnings.
    pub notes: Vec<String>,
    pub warnings: Vec<String>,
    /// The longest time step that is stable, s.
    pub stable: Option<f64>,
    /// The model as the scene has it, before anything was tuned.
    pub written: Model,
    start: State,
}

/// Reason why a scene is not on stage.
#[derive(Debug, thiserror::Error)]
pub(super) enum StageError {
    #[error("{0}")]
    Scene(#[from] SceneError),
    #[error("{0}")]
    Simulation(#[from] Error),
}

impl Stage {
    /// Reads a scene, from what was `handed` over or else from the disk, and sets it up. The states to which the timeline goes
    /// back have `memory` bytes.
    pub async fn open(
        path: &Path,
        handed: Option<&Handed>,
        options: &Options,
        context: &Context,
        is_gpu: bool,
        format: wgpu::TextureFormat,
        memory: u64,
    ) -> std::result::Result<Stage, StageError> {
        let scene::Scene {
            model,
            warnings,
            notes,
            ..
        } = match handed {
            Some(Handed { files, placed }) => {
                let text = files.read(path).unwrap_or_default();
                let text = String::from_utf8_lossy(&text);
                match placed {
                    Some(placed) => scene::parse_placed(&text, path, files, placed)?,
                    None => scene::parse_with(&text, path, files)?,
                }
            }
            None if !IN_PAGE && path.is_dir() => scene::load(&path.join(RunFolder::SCENE))?,
            None => scene::load(path)?,
        };
        let written = model.clone();
        if !IN_PAGE && path.is_dir() {
            // What is only shown is on the host, and takes no steps, whatever its law.
            let model = Model {
                contact: ContactModel::default(),
                history: None,
                ..model
            };
            let run = Box::new(KeptRun::open(path, &model)?);
            let mut simulation = Simulation::on_cpu(model, options.threads)?;
            run.show(0, &mut simulation)?;
            let stage = Stage::of(path, simulation, context, format).await?;
            return Ok(Stage {
                notes,
                warnings,
                written,
                history: History::of_run(path, &stage.written),
                timeline: Timeline::Kept { run, shown: 0 },
                ..stage
            });
        }
        // As everywhere: a software adapter computes only if it is asked to by name. A page has the browser's alone.
        let simulation = match options.backend {
            _ if IN_PAGE => Simulation::on_gpu_async(model, context).await?,
            Backend::Reference(precision) => Simulation::on_reference(model, precision)?,
            Backend::Gpu => Simulation::on_gpu_async(model, context).await?,
            Backend::Auto if is_gpu || options.adapter.is_some() => {
                Simulation::on_gpu_async(model, context).await?
            }
            Backend::Auto | Backend::Cpu => Simulation::on_cpu(model, options.threads)?,
        };
        let stage = Stage::of(path, simulation, context, format).await?;
        Ok(Stage {
            notes,
            warnings,
            stable: stable_time_step(&written),
            written,
            timeline: Timeline::Live(Ring::new(memory)),
            ..stage
        })
    }

    async fn of(
        path: &Path,
        mut simulation: Simulation,
        context: &Context,
        format: wgpu::TextureFormat,
    ) -> Result<Stage> {
        let start = simulation.state_by(PATIENCE).await?.clone();
        let mut renderer = Renderer::new(context, &simulation, format)?;
        renderer.update(&simulation)?;
        renderer.survey_by(PATIENCE, &Look::default()).await?;
        Ok(Stage {
            path: path.to_owned(),
            renderer,
            history: History::new(simulation.model()),
            timeline: Timeline::Live(Ring::new(0)),
            notes: Vec::new(),
            warnings: Vec::new(),
            stable: None,
            written: simulation.model().clone(),
            start,
            simulation,
        })
    }

    /// Takes up the scene on another device, after the one before was lost: as it was kept last, and with what was tuned as the scene
    /// has it.
    #[cfg(target_family = "wasm")]
    pub async fn taken_up(self, context: &Context, format: wgpu::TextureFormat) -> Result<Stage> {
        let simulation = Simulation::on_gpu_async(self.written.clone(), context).await?;
        let mut stage = Stage::of(&self.path, simulation, context, format).await?;
        if let Timeline::Live(ring) = &self.timeline {
            ring.hand_over(&mut stage.simulation).await?;
        }
        Ok(Stage {
            history: self.history,
            timeline: self.timeline,
            notes: self.notes,
            warnings: self.warnings,
            stable: stable_time_step(&self.written),
            written: self.written,
            ..stage
        })
    }

    /// Whether it is a run that was kept, which takes no steps.
    pub fn is_kept(&self) -> bool {
        matches!(self.timeline, Timeline::Kept { .. })
    }

    /// Goes to the state that is nearest to a time (s), of those that were kept.
    pub async fn go(&mut self, time: f64) -> Result<()> {
        self.timeline.go(time, &mut self.simulation).await
    }

    /// Keeps the state as it is now, if it is time for that.
    pub async fn keep(&mut self) -> Result<()> {
        match &mut self.timeline {
            Timeline::Live(ring) => ring.follow(&mut self.simulation).await,
            Timeline::Kept { .. } => Ok(()),
        }
    }

    /// Goes back to the start. What was tuned stays as it is.
    pub async fn reset(&mut self) -> Result<()> {
        match &mut self.timeline {
            Timeline::Live(ring) => {
                let start = &self.start;
                self.simulation.restore_by(PATIENCE, start, 0).await?;
                *ring = ring.emptied();
            }
            Timeline::Kept { .. } => self.go(0.0).await?,
        }
        self.history.start_again(self.simulation.model());
        self.renderer.forget();
        Ok(())
    }

    /// Whether gravity acts.
    pub fn has_gravity(&self) -> bool {
        self.simulation.model().gravity != glam::DVec3::ZERO
    }

    /// Gravity switched off, or on as the scene has it (or as it is on Earth, if that has none), m/s².
    pub fn toggled_gravity(&self) -> glam::DVec3 {
        if self.has_gravity() {
            glam::DVec3::ZERO
        } else if self.written.gravity == glam::DVec3::ZERO {
            -9.81 * self.written.up()
        } else {
            self.written.gravity
        }
    }

    /// The wish that undoes another one, if that changes a parameter.
    pub fn undoing(&self, wish: &Wish) -> Option<Wish> {
        let model = self.simulation.model();
        match wish {
            Wish::Gravity(_) => Some(Wish::Gravity(model.gravity)),
            Wish::Drag(_) => Some(Wish::Drag(model.forces.groups[0].drag)),
            Wish::TimeStep(_) => Some(Wish::TimeStep(model.time_step)),
            Wish::Pair(a, b, _) => Some(Wish::Pair(*a, *b, self.pair(*a, *b))),
            Wish::Wall(index, _) => Some(Wish::Wall(*index, self.renderer.scene().wall(*index))),
            _ => None,
        }
    }

    /// The normal of a wall that is a plane.
    pub fn plane_normal(&self, wall: usize) -> Option<glam::DVec3> {
        self.simulation.model().walls.get(wall)?.plane_normal()
    }

    /// Sets the parameters of a pair of materials.
    pub async fn set_pair(&mut self, a: usize, b: usize, law: PairLaw) -> Result<()> {
        let [a, b] = [a, b].map(MaterialHandle::from_index);
        self.simulation.set_pair_by(PATIENCE, a, b, law).await?;
        self.stable = stable_time_step(self.simulation.model());
        Ok(())
    }

    /// The parameters of a pair of materials.
    pub fn pair(&self, a: usize, b: usize) -> PairLaw {
        let model = self.simulation.model();
        model.pairs[a * model.materials.len() + b]
    }
}

/// Files in memory, by their paths.
pub(super) type Files = BTreeMap<PathBuf, Vec<u8>>;

/// Files that a page hands over, for it has no disk.
pub(super) struct Handed {
    pub files: Files,
    /// Bodies of the scene as they start, if that is known already.
    pub placed: Option<Placed>,
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
