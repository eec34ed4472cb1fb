//! Bodies that overlap at the start.

use super::super::error::{Problem, rounded};
use super::super::format::{InitialOverlap, SceneFile};
use super::DEEP_OVERLAP;
use super::check::Check;
use super::start::Started;
use crate::model::ModelBody;
use crate::model::packing::fill::Fill;
use crate::model::packing::overlap::{self, Harmless, Overlap, Partner, World};
use crate::model::wall::Probe;

/// Bodies from another run, and which overlaps do no harm.
pub(super) struct Kept<'a> {
    pub started: &'a mut Started,
    pub harmless: Harmless<'a>,
}

impl Check {
    pub(super) fn initial_overlap(
        &mut self,
        file: &SceneFile,
        mut bodies: Vec<ModelBody>,
        fills: &[Fill],
        world: World,
        harmless: Harmless,
    ) -> Result<Vec<ModelBody>, Vec<Problem>> {
        let mut deep = overlap::overlaps(&bodies, world, DEEP_OVERLAP);
        deep.retain(|overlap| !harmless.has(overlap));
        if deep.is_empty() {
            return Ok(bodies);
        }
        let counts = [harmless.bodies, file.bodies.len()].into_iter();
        let counts = counts.chain(fills.iter().map(|fill| fill.count));
        let counts: Vec<usize> = counts.collect();
        let describe = |overlap: &Overlap| overlapping(overlap, &counts, world.walls);
        match file.initial_overlap {
            InitialOverlap::Error => return Err(deep.iter().map(describe).collect()),
            InitialOverlap::Relax => {}
            InitialOverlap::Allow => {
                let total: Vec<_> = deep.iter().filter(|deep| deep.fraction >= 1.0).collect();
                if !total.is_empty() {
                    let too_deep = |overlap| Problem {
                        expected: "less than 100 % at the start, even where overlaps are allowed"
                            .into(),
                        ..describe(overlap)
                    };
                    return Err(total.into_iter().map(too_deep).collect());
                }
                let by_depth = |a: &&Overlap, b: &&Overlap| a.fraction.total_cmp(&b.fraction);
                let deepest = deep.iter().max_by(by_depth).map(describe);
                self.notes.extend(deepest.map(|deepest| {
                    format!(
                        "{} overlaps of more than 5 % at the start are allowed; in the deepest, of {}, {}",
                        deep.len(),
                        deepest.path,
                        deepest.found
                    )
                }));
                return Ok(bodies);
            }
        }
        let (tolerance, sweeps) = (overlap::RELAX_TOLERANCE, overlap::RELAX_SWEEPS);
        let report = overlap::relax(&mut bodies, world, tolerance, sweeps).map_err(
            |unrelaxed| {
                let worst = describe(&unrelaxed.worst);
                vec![
                    Problem::new(
                        "initial_overlap",
                        format!(
                            "{} overlaps after {} sweeps of easing bodies apart; in the deepest, of {}, {}",
                            unrelaxed.remaining, unrelaxed.sweeps, worst.path, worst.found
                        ),
                        "room for all bodies",
                    )
                    .help("start with fewer bodies, or farther apart"),
                ]
            },
        )?;
        self.notes.push(format!(
            "{} overlaps eased: {} bodies moved, by at most {} m",
            deep.len(),
            report.moved,
            rounded(report.largest_move)
        ));
        Ok(bodies)
    }
}

/// An overlap as a problem; `counts` are the numbers of bodies from another run, under `bodies`, and in
/// each fill, `walls` those at the start.
fn overlapping(overlap: &Overlap, counts: &[usize], walls: &[Probe]) -> Problem {
    let name = |body: usize| {
        let mut index = body;
        for (source, count) in counts.iter().enumerate() {
            if index < *count {
                return match source {
                    0 => format!("start body {index}"),
                    1 => format!("bodies[{index}]"),
                    _ => format!("fills[{}] body {index}", source - 2),
                };
            }
            index -= count;
        }
        format!("body {body}")
    };
    let partner = match overlap.partner {
        Partner::Body(body) => name(body),
        Partner::Wall(wall) => walls[wall].name.clone(),
    };
    Problem::new(
        name(overlap.body),
        format!(
            "an overlap of {} m ({} % of the smaller radius) with {partner}",
            rounded(overlap.depth),
            rounded(100.0 * overlap.fraction)
        ),
        "at most 5 % at the start",
    )
    .help("move one of them, or write \"initial_overlap\": \"relax\" to ease them apart, or \"allow\" to start with overlaps")
}
