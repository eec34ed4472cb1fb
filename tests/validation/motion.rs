//! Motion of bodies over a run, from samples.

use glam::DVec3;
use rockfall::{BodyState, Simulation};

use crate::common::trace_of;

/// A body at the end of a step.
pub struct Moment {
    /// s.
    pub time: f64,
    pub body: BodyState,
    /// Sum of the contact forces in the step, N.
    pub force: DVec3,
    /// Number of contacts in the step.
    pub contacts: u32,
}

/// Takes `steps` steps; for each of the first `count` bodies, a moment every `every` steps.
pub fn follow(
    simulation: &mut Simulation,
    count: usize,
    every: u64,
    steps: u64,
) -> Vec<Vec<Moment>> {
    let bodies: Vec<u32> = (0..count as u32).collect();
    let samples = trace_of(simulation, &bodies, every, steps);
    let mut tracks: Vec<Vec<Moment>> = (0..count).map(|_| Vec::new()).collect();
    for sample in &samples {
        tracks[sample.body as usize].push(Moment {
            time: sample.step as f64 * simulation.model().time_step,
            body: simulation.report(sample.body as usize, &sample.state),
            force: sample.load.force.as_dvec3(),
            contacts: sample.load.contacts,
        });
    }
    tracks
}

/// Zero of the straight line through two points.
pub fn zero_between((t0, y0): (f64, f64), (t1, y1): (f64, f64)) -> f64 {
    t0 + (t1 - t0) * y0 / (y0 - y1)
}

/// Times at which a series of (time, value) changes its sign, by linear interpolation.
pub fn crossings(series: &[(f64, f64)]) -> Vec<f64> {
    let changes = series.windows(2).filter(|pair| pair[0].1 * pair[1].1 < 0.0);
    changes.map(|pair| zero_between(pair[0], pair[1])).collect()
}

/// Offset and slope of the straight line of least squares through (x, y).
pub fn line(points: &[(f64, f64)]) -> (f64, f64) {
    let count = points.len() as f64;
    let mean_x = points.iter().map(|p| p.0).sum::<f64>() / count;
    let mean_y = points.iter().map(|p| p.1).sum::<f64>() / count;
    let covariance: f64 = points.iter().map(|p| (p.0 - mean_x) * (p.1 - mean_y)).sum();
    let variance: f64 = points.iter().map(|p| (p.0 - mean_x).powi(2)).sum();
    let slope = covariance / variance;
    (mean_y - slope * mean_x, slope)
}

/// A contact from its first touch to its end.
pub struct Impact {
    /// s.
    pub duration: f64,
    /// Largest overlap, m.
    pub overlap: f64,
    /// Largest force, N.
    pub force: f64,
}

impl Impact {
    /// From the gap between two surfaces at the end of each step (m, negative while they overlap)
    /// and the forces on one of them.
    pub fn new(gaps: &[(f64, f64)], forces: impl Iterator<Item = f64>) -> Impact {
        let ends = crossings(gaps);
        assert_eq!(ends.len(), 2, "they touch once: {ends:?}");
        Impact {
            duration: ends[1] - ends[0],
            overlap: -gaps.iter().map(|&(_, gap)| gap).fold(f64::MAX, f64::min),
            force: forces.fold(0.0, f64::max),
        }
    }

    /// Contact of a ball of `radius` with the plane through the origin that faces up.
    pub fn on_floor(track: &[Moment], radius: f64) -> Impact {
        let gap = |moment: &Moment| (moment.time, moment.body.position.y - radius);
        let gaps: Vec<_> = track.iter().map(gap).collect();
        Impact::new(&gaps, track.iter().map(|moment| moment.force.length()))
    }

    /// Contact of two balls.
    pub fn of_two(one: &[Moment], two: &[Moment], radii: f64) -> Impact {
        let gaps: Vec<_> = one
            .iter()
            .zip(two)
            .map(|(one, two)| {
                let distance = (two.body.position - one.body.position).length();
                (one.time, distance - radii)
            })
            .collect();
        Impact::new(&gaps, one.iter().map(|moment| moment.force.length()))
    }
}
