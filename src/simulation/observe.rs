//! Running a simulation with observers.

use std::ops::ControlFlow;

use crate::model::error::{Error, Result};
use crate::simulation::Simulation;

/// Looks at a simulation at chosen steps while [`Simulation::run`] steps it: to write results, show progress, or end
/// the run.
///
/// ```
/// use std::ops::ControlFlow;
/// use rockfall::{Backend, Observer, Options, Simulation, scene};
///
/// /// Ends the run once the first body moves upwards.
/// struct Bounce;
///
/// impl Observer for Bounce {
///     fn next(&self, step: u64) -> u64 {
///         step + 10
///     }
///     fn observe(&mut self, simulation: &mut Simulation) -> rockfall::error::Result<ControlFlow<()>> {
///         Ok(match simulation.snapshot()?.body(0).velocity.y > 0.0 {
///             true => ControlFlow::Break(()),
///             false => ControlFlow::Continue(()),
///         })
///     }
/// }
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let scene = scene::load("scenes/bounce.json".as_ref())?;
/// let options = Options { backend: Backend::Cpu, ..Options::default() };
/// let mut simulation = Simulation::new(scene.model, &options)?;
/// assert!(simulation.run(1_000_000, &mut [&mut Bounce])?.is_break());
/// println!("it bounced before {} s", simulation.time());
/// # Ok(())
/// # }
/// ```
pub trait Observer {
    /// The next step after `step` at whose end to look; `u64::MAX` for none.
    fn next(&self, step: u64) -> u64;

    /// Looks at the end of a step that [`Observer::next`] gave; [`ControlFlow::Break`] ends the run.
    ///
    /// # Errors
    /// An error ends the run, too.
    fn observe(&mut self, simulation: &mut Simulation) -> Result<ControlFlow<()>>;
}

impl Simulation {
    /// Steps until `steps` steps have been taken since the start. Each of `observers` looks at the ends of the steps
    /// that it chose, in this order. Returns whether one of them ended the run; all of them have then looked at its
    /// last step.
    ///
    /// The outcome does not depend on who looks, or when.
    ///
    /// # Errors
    /// As [`Simulation::step`] and [`Observer::observe`].
    pub fn run(
        &mut self,
        steps: u64,
        observers: &mut [&mut dyn Observer],
    ) -> Result<ControlFlow<()>> {
        let mut flow = ControlFlow::Continue(());
        while self.steps() < steps && flow.is_continue() {
            let now = self.steps();
            let wanted: Vec<u64> = observers
                .iter()
                .map(|observer| observer.next(now).max(now + 1))
                .collect();
            let next = wanted.iter().copied().fold(steps, u64::min);
            let stepped = self.step(next - now);
            if let Err(error) = &stepped
                && !matches!(error, Error::Cancelled { .. })
            {
                return stepped.map(|()| flow);
            }
            // A caller that continues after a cancelled step does not reach this step's end again.
            let now = self.steps();
            for (observer, wanted) in observers.iter_mut().zip(wanted) {
                if wanted == now && observer.observe(self)?.is_break() {
                    flow = ControlFlow::Break(());
                }
            }
            stepped?;
        }
        Ok(flow)
    }
}
