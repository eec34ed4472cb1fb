//! Pace of drawing: the fraction of the samples of a picture that fits into a given time.

#[cfg(not(target_family = "wasm"))]
use std::panic::resume_unwind;
#[cfg(not(target_family = "wasm"))]
use std::sync::atomic::{AtomicBool, Ordering};
#[cfg(not(target_family = "wasm"))]
use std::thread;
use std::time::Duration;
#[cfg(not(target_family = "wasm"))]
use std::time::Instant;

use super::Look;
#[cfg(not(target_family = "wasm"))]
use crate::model::error::Result;

/// Fraction of the samples of a picture for which there is time.
///
/// It serves software drivers, whose drawing time grows with the number of samples.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Pace {
    part: f32,
    /// Mean time of the last pictures with this fraction, s.
    took: f64,
    /// Number of these pictures, at most [`REMEMBERED`].
    pictures: u32,
}

/// Number of pictures whose time is remembered: a second of them.
const REMEMBERED: u32 = 10;

/// Least fraction: one sample for 36 pixels.
const LEAST: f32 = 1.0 / 36.0;

impl Default for Pace {
    fn default() -> Pace {
        Pace {
            part: 1.0,
            took: 0.0,
            pictures: 0,
        }
    }
}

impl Pace {
    /// Fraction of the samples that are drawn.
    pub fn part(&self) -> f32 {
        self.part
    }

    /// Reduces a look to the samples for which there is time.
    ///
    /// A pixel gets fewer samples, and ambient light half of its samples. If there are fewer samples than pixels, the picture is
    /// blurred; with far fewer, the ambient light is the same everywhere. Hidden bodies are always left out.
    pub fn of(&self, look: &Look) -> Look {
        /// Samples of a pixel below which ambient light would be only noise.
        const COARSE: f32 = 0.3;
        let full = look.supersampling.max(1);
        let samples = self.part * (full * full) as f32;
        let occlusion_samples = match self.part {
            1.0.. => look.occlusion_samples,
            _ if samples >= COARSE => look.occlusion_samples / 2,
            _ => 0,
        };
        Look {
            supersampling: (samples.sqrt() as u32).clamp(1, full),
            sharpness: samples.sqrt().min(1.0) * look.sharpness,
            occlusion_samples,
            hides: true,
            ..*look
        }
    }

    /// Adapts to a picture that took the time `took` and should take `wanted`; `full` is [`Look::supersampling`] at full pace.
    ///
    /// A part of the time does not depend on the samples, so the pace settles a little lower. Small changes are ignored, so that
    /// pictures look alike: after one picture those below a factor of 1.6, after several those below 1.24. A single picture that
    /// takes far longer than those before it waited for something else.
    pub fn learn(&mut self, took: Duration, wanted: Duration, full: u32) {
        self.pictures = (self.pictures + 1).min(REMEMBERED);
        let pictures = f64::from(self.pictures);
        let took = match self.pictures {
            1 => took.as_secs_f64(),
            _ => took.as_secs_f64().min(2.0 * self.took),
        };
        self.took += (took - self.took) / pictures;
        let factor = wanted.as_secs_f64() / self.took.max(1e-4);
        let least = LEAST / (full * full).max(1) as f32;
        let next = (self.part * factor as f32).clamp(least, 1.0);
        let ignored = 1.2 + 0.4 / pictures as f32;
        if !(1.0 / ignored..ignored).contains(&(next / self.part)) {
            *self = Pace {
                part: next,
                ..Pace::default()
            };
        }
    }
}

/// Wall time that a picture is to take on a software driver beside steps for which there is not enough time.
///
/// It takes about twice as long as alone then, and is to take no more than an eighth of the cores' time in a frame of 100 ms.
pub const BESIDE_STEPS: Duration = Duration::from_millis(24);

/// Time for steps between two pictures of a window.
///
/// It allows sixty pictures a second on a GPU, and ten on a software driver, which shares the cores with the steps. The rest of
/// the 16.7 and 100 ms is for the other work of a frame.
pub fn frame_time(is_software: bool) -> Duration {
    match is_software {
        true => Duration::from_millis(95),
        false => Duration::from_millis(15),
    }
}

/// Wall time of the steps that are taken at a time while a picture is late.
#[cfg(not(target_family = "wasm"))]
const SLICE: Duration = Duration::from_millis(5);

/// Number of steps to take at a time if there is so much time `left` for them, and each takes `step_time` (s).
///
/// None if half a step is too long. All steps at once save what it takes to begin and to end some.
pub fn steps_within(left: Duration, step_time: f64) -> u64 {
    const MOST: f64 = 1e6;
    (left.as_secs_f64() / step_time).round().min(MOST) as u64
}

/// Times at which frames end.
#[cfg(not(target_family = "wasm"))]
#[derive(Clone, Copy, Debug, Default)]
pub struct Beat {
    last: Option<Instant>,
}

#[cfg(not(target_family = "wasm"))]
impl Beat {
    /// End of a frame that starts at `start`. Frames take `length` on average.
    ///
    /// A frame that ended early lends its time to the next one, up to half a length, and one that ended late takes it from there.
    pub fn end(&mut self, start: Instant, length: Duration) -> Instant {
        let next = self.last.unwrap_or(start) + length;
        let end = next.clamp(start + length / 2, start + length * 3 / 2);
        self.last = Some(end);
        end
    }
}

/// Runs `steps` on a thread of its own while `draw` draws. Returns the result of `draw`, and the time that `steps` took.
///
/// `steps` gets a function that returns the time left for steps: until `end`, and at least [`SLICE`] as long as the picture
/// is not drawn.
///
/// # Errors
/// The error of `steps`, in place of their time.
#[cfg(not(target_family = "wasm"))]
pub fn beside<T>(
    steps: impl FnOnce(&dyn Fn() -> Duration) -> Result<()> + Send,
    end: Instant,
    draw: impl FnOnce() -> T,
) -> (T, Result<Duration>) {
    /// Sets its flag when dropped, even after a panic in `draw`; otherwise the steps would never end.
    struct Drawn<'a>(&'a AtomicBool);
    impl Drop for Drawn<'_> {
        fn drop(&mut self) {
            self.0.store(true, Ordering::Release);
        }
    }
    let is_drawn = AtomicBool::new(false);
    thread::scope(|scope| {
        let stepping = scope.spawn(|| {
            let start = Instant::now();
            let left = || {
                let left = end.saturating_duration_since(Instant::now());
                match is_drawn.load(Ordering::Acquire) {
                    true => left,
                    false => left.max(SLICE),
                }
            };
            steps(&left).map(|()| start.elapsed())
        });
        let drawn = {
            let _drawn = Drawn(&is_drawn);
            draw()
        };
        let taken = stepping.join().unwrap_or_else(|panic| resume_unwind(panic));
        (drawn, taken)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The pace after 50 pictures, and the time of the last one, ms.
    ///
    /// A whole picture takes `pixels` (ms) for its samples and `rest` (ms) for all else.
    fn settled(pixels: f32, rest: f32, look: &Look) -> (Pace, f32) {
        let mut pace = Pace::default();
        let mut took = 0.0;
        for _ in 0..50 {
            took = rest + pixels * pace.part();
            let took = Duration::from_secs_f32(1e-3 * took);
            pace.learn(took, Duration::from_millis(40), look.supersampling);
        }
        (pace, took)
    }

    #[test]
    fn what_is_drawn_is_what_there_is_time_for() {
        let look = Look::default();
        let (pace, _) = settled(30.0, 5.0, &look);
        assert_eq!(pace.part(), 1.0);
        let whole = pace.of(&look);
        assert!(whole.hides && whole.occlusion_samples == look.occlusion_samples);
        assert_eq!((whole.supersampling, whole.sharpness), (2, 1.0));

        // With a quarter of the four samples, one sample a pixel is left.
        let (pace, took) = settled(130.0, 5.0, &look);
        let hurried = pace.of(&look);
        assert_eq!((hurried.supersampling, hurried.sharpness), (1, 1.0));
        assert_eq!(hurried.occlusion_samples, look.occlusion_samples / 2);
        assert!(took <= 1.24 * 40.0, "{took}");

        let (pace, took) = settled(1500.0, 10.0, &look);
        let coarse = pace.of(&look);
        assert!((0.16..0.5).contains(&coarse.sharpness), "{coarse:?}");
        assert_eq!(coarse.occlusion_samples, 0);
        assert!(took <= 1.24 * 40.0, "{took}");

        // The fraction has a lower limit.
        let has_least = |pace: Pace, look: &Look| {
            let samples = pace.of(look).sharpness.powi(2);
            (1.0..1.56).contains(&(samples / LEAST * 1.0001))
        };
        let (pace, _) = settled(1500.0, 100.0, &look);
        assert!(has_least(pace, &look));
        let one = Look {
            supersampling: 1,
            ..look
        };
        let (pace, _) = settled(1500.0, 100.0, &one);
        assert!(has_least(pace, &one));
    }

    #[test]
    fn one_slow_picture_changes_nothing_and_several_do() {
        let wanted = Duration::from_millis(40);
        let (mut pace, _) = settled(1000.0, 5.0, &Look::default());
        let before = pace.part();
        let learn = |pace: &mut Pace, times: &[u64]| {
            for ms in times {
                pace.learn(Duration::from_millis(*ms), wanted, 2);
            }
            pace.part() / before
        };
        assert_eq!(learn(&mut pace, &[40; 10]), 1.0);
        assert_eq!(learn(&mut pace, &[400]), 1.0);
        assert_eq!(learn(&mut pace, &[40; 10]), 1.0);
        let part = learn(&mut pace, &[60; 10]);
        assert!((0.3..0.85).contains(&part), "{part}");
        let part = learn(&mut pace, &[600; 4]);
        assert!(part < 0.2, "{part}");
    }

    #[test]
    fn steps_fill_the_time_that_is_left() {
        let within = |ms: u64, step_time: f64| steps_within(Duration::from_millis(ms), step_time);
        assert_eq!(
            [95, 14, 7, 6, 0].map(|ms| within(ms, 0.013)),
            [7, 1, 1, 0, 0]
        );
        assert_eq!(within(1000, 1e-12), 1_000_000);
    }

    #[test]
    fn time_is_left_until_the_end_and_while_a_picture_is_drawn() {
        const LATER: Duration = Duration::from_secs(3600);
        let first_of = |end: Instant| {
            let mut first = Duration::ZERO;
            let (show, shown) = std::sync::mpsc::channel();
            let steps = |left: &dyn Fn() -> Duration| {
                first = left();
                show.send(()).unwrap();
                while left() == SLICE {
                    thread::yield_now();
                }
                Ok(())
            };
            beside(steps, end, || shown.recv().unwrap()).1.unwrap();
            first
        };
        assert_eq!(first_of(Instant::now()), SLICE);
        let left = first_of(Instant::now() + LATER);
        assert!(left > LATER / 2 && left <= LATER, "{left:?}");
    }

    #[test]
    fn frames_take_the_wanted_time_on_average() {
        const LENGTH: Duration = Duration::from_millis(100);
        let start = Instant::now();
        let took = |steps: &[u64]| {
            let (mut beat, mut now) = (Beat::default(), start);
            for step in steps.iter().cycle().take(300) {
                let step = Duration::from_millis(*step);
                let end = beat.end(now, LENGTH);
                // Like `beside`, which takes whole steps.
                now += step;
                while now + step / 2 < end {
                    now += step;
                }
            }
            (now - start).as_secs_f64() / 300.0
        };
        for steps in [&[5][..], &[30], &[70], &[40, 80, 10], &[90, 3]] {
            let mean = took(steps);
            assert!((mean - 0.1).abs() < 0.01, "{steps:?}: {mean} s");
        }
        // Frames that are too long are not made up for at the cost of all others.
        let mut beat = Beat::default();
        beat.end(start, LENGTH);
        let late = start + 10 * LENGTH;
        assert_eq!(beat.end(late, LENGTH), late + LENGTH / 2);
    }
}
