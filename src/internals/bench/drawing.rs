//! Pictures that are drawn beside the steps, as the window of `rockfall view` draws them.

use serde::Serialize;

use super::Spread;

/// Pictures to draw.
#[derive(Clone, Debug, PartialEq)]
pub struct Draw {
    /// Width and height, pixels.
    pub size: [u32; 2],
    /// A part of the name of the adapter that draws; the best, if `None`.
    pub adapter: Option<String>,
}

/// Speed of pictures and of the steps beside them.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Drawing {
    /// Adapter that draws, and its driver.
    pub adapter: String,
    /// Width and height, pixels.
    pub size: [u32; 2],
    /// Number of pictures.
    pub frames: usize,
    /// Wall time from one picture to the next, ms.
    pub frame_ms: Spread,
    /// Wall time of drawing, beside the steps, ms.
    pub picture_ms: Spread,
    /// Pictures in a second, on average.
    pub frames_per_s: f64,
    /// Samples that were drawn of those of a whole picture, in the last one.
    pub part: f32,
    /// Bodies that the last one found in sight, if it left out those that others hide.
    pub bodies_in_sight: Option<usize>,
    /// Steps that were taken meanwhile.
    pub steps: u64,
    /// Their speed, as a fraction of that without pictures.
    pub engine_fraction: f64,
}

#[cfg(feature = "render")]
mod run {
    use std::time::{Duration, Instant};

    use pollster::block_on;

    use super::{Draw, Drawing};
    use crate::internals::bench::Spread;
    use crate::model::error::Result;
    use crate::render::pace::{BESIDE_STEPS, Beat, beside, frame_time, steps_within};
    use crate::render::{Camera, Look, Pace, Renderer, target};
    use crate::simulation::Simulation;
    use crate::step::Patience;
    use crate::step::gpu::{Adapter, Context};

    /// Format of pictures on most displays.
    const SHOWN: wgpu::TextureFormat = wgpu::TextureFormat::Bgra8Unorm;

    /// Pictures that are drawn before those that are timed: as long the pace takes to settle.
    const FIRST: usize = 15;

    /// Length of the other repeats. A development build measures nothing, and is only tried.
    const LENGTH: Duration = match cfg!(debug_assertions) {
        true => Duration::from_millis(300),
        false => Duration::from_secs(5),
    };

    /// Draws pictures beside the steps of a simulation, of which one takes `ms_per_step` alone.
    pub fn draw(simulation: &mut Simulation, how: &Draw, ms_per_step: f64) -> Result<Drawing> {
        let (context, is_software) = device(simulation, how)?;
        let model = simulation.shared_model();
        let full = Look::of(&model.view);
        let mut renderer = Renderer::new(&context, simulation, SHOWN)?;
        renderer.update(simulation)?;
        renderer.survey(&full)?;
        let mut camera = Camera {
            zenith: model.up(),
            ..Camera::default()
        };
        let [width, height] = how.size.map(f64::from);
        camera.fit(renderer.frame(false), width / height);
        let target = target(&context, how.size, SHOWN);
        let view = target.create_view(&Default::default());

        let mut pace = Pace::default();
        let mut beat = Beat::default();
        let mut step_time = 1e-3 * ms_per_step;
        let (mut frames, mut pictures) = (Vec::new(), Vec::new());
        let (mut begin, mut first_step) = (Instant::now(), simulation.steps());
        for frame in 0.. {
            let start = Instant::now();
            if frame == FIRST {
                (begin, first_step) = (start, simulation.steps());
            }
            let look = match is_software {
                true => pace.of(&full),
                false => full,
            };
            renderer.update_for(simulation, &look)?;
            let draw = || -> Result<Duration> {
                block_on(renderer.survey_when_due(Patience::Block, &look))?;
                let start = Instant::now();
                renderer.draw(&view, how.size, &camera, &look, &[])?;
                context.wait()?;
                Ok(start.elapsed())
            };
            let steps = |left: &dyn Fn() -> Duration| -> Result<()> {
                let mut count = steps_within(left(), step_time).max(1);
                while count > 0 {
                    let start = Instant::now();
                    simulation.step(count)?;
                    step_time = start.elapsed().as_secs_f64() / count as f64;
                    count = steps_within(left(), step_time);
                }
                Ok(())
            };
            let end = beat.end(start, frame_time(is_software));
            let (drawn, stepped) = beside(steps, end, draw);
            let took = drawn?;
            stepped?;
            // The steps do lag: they are never through.
            pace.learn(took, BESIDE_STEPS, full.supersampling);
            if frame >= FIRST {
                frames.push(start.elapsed());
                pictures.push(took);
                if begin.elapsed() >= LENGTH {
                    break;
                }
            }
        }
        let wall = begin.elapsed().as_secs_f64();
        let steps = simulation.steps() - first_step;
        let ms =
            |times: &[Duration]| Spread::new(times.iter().map(|time| 1e3 * time.as_secs_f64()));
        Ok(Drawing {
            adapter: context.adapter,
            size: how.size,
            frames: frames.len(),
            frame_ms: ms(&frames),
            picture_ms: ms(&pictures),
            frames_per_s: frames.len() as f64 / wall,
            part: if is_software { pace.part() } else { 1.0 },
            bodies_in_sight: renderer.bodies_in_sight()?,
            steps,
            engine_fraction: 1e-3 * ms_per_step * steps as f64 / wall,
        })
    }

    /// The device that draws, and whether that is a software driver.
    fn device(simulation: &Simulation, how: &Draw) -> Result<(Context, bool)> {
        match simulation.gpu() {
            Some(engine) => {
                let context = engine.context().clone();
                let is_software = context.adapter.contains("software");
                Ok((context, is_software))
            }
            None => {
                let adapter = Adapter::to_draw(how.adapter.as_deref())?;
                Ok((adapter.open()?, adapter.is_software()))
            }
        }
    }
}

#[cfg(feature = "render")]
pub(super) use run::draw;
