use super::contact::{History, contact_law};
use super::real::Real;
use super::state::{Params, State};
use super::vector::Vector;
use super::wall::{FAR, Run, run_at};
use crate::state::layout::{DISTURBED, KEPT, WALL_DIGITS};
use crate::step::wall_load::{Digits, carried};
use crate::step::wall_run::walls_of;

/// Contacts of each sphere with walls, added to those with spheres; and the loads on the walls.
pub fn walls<R: Real>(state: &mut State<R>) {
    let mut sums = vec![[0; WALL_DIGITS]; state.params.wall_count as usize];
    for index in 0..state.spheres.len() {
        let list = state.list(index);
        let facets = walls_of(&state.neighbours[list.clone()]).to_vec();
        let mut load = state.sphere_loads[index];
        let moving = state.params.sleep_steps > 0 && state.params.moving_walls == 1;
        if facets.is_empty() || load.is_kept() && !moving {
            continue;
        }
        let sphere = state.spheres[index];
        let (mut damping, mut friction) = (R::ZERO, R::ZERO);
        let mut largest = R::ZERO;

        let mut first = 0;
        while first < facets.len() {
            let run = run_at(state, &sphere, &facets[first..]);
            let entry = list.end - facets.len() + first;
            let mut history = state.history[entry..entry + run.len()].to_vec();
            let mut orphans = Orphans::gather(&run, &mut history);
            for (at, history) in history.iter_mut().enumerate() {
                let Some(closest) = run.touched(at) else {
                    continue;
                };
                let contact = run.contact(&closest);
                if history.is_empty() {
                    let reach = R::of(INHERITED) * sphere.radius;
                    orphans.hand_over(closest.to(run.place), reach, history);
                }
                let pair = state.pair(sphere.material(), run.wall.material);
                let response = contact_law(&contact, &pair.against_wall(), history, &state.params);
                *history = response.history;
                let arm = contact.normal * sphere.radius;
                load.force += response.force;
                load.torque += arm.cross(response.force) + response.torque;
                damping += response.damping;
                friction += response.friction;
                if state.params.wall_loads == 1 {
                    let lever = run.from_anchor + arm;
                    let torque = lever.cross(response.force) + response.torque;
                    add_loads(
                        &mut sums[run.index],
                        -response.force,
                        -torque,
                        &state.params,
                    );
                }
                let presence = contact.touch.presence;
                if moving && (presence > R::ZERO || response.force != Vector::ZERO) {
                    load.contacts = load.contacts & !KEPT | DISTURBED;
                }
                if presence > R::ZERO {
                    let overlap = contact.touch.mean_overlap;
                    load.max_overlap = load.max_overlap.max(overlap);
                    load.contacts += 1 << 16;
                    largest = largest.max(overlap / sphere.radius);
                }
            }
            first += run.len();
            state.history[entry..entry + history.len()].copy_from_slice(&history);
        }

        load.add_losses(damping, friction);
        state.sphere_loads[index] = load;
        state.note_overlap(largest);
    }
    if state.params.wall_loads == 1 {
        let all = state.wall_sums.chunks_exact_mut(WALL_DIGITS);
        all.zip(&sums)
            .for_each(|(own, sum)| own.copy_from_slice(&carried(sum)));
    }
}

/// A contact that goes over to another facet takes its history along if it goes no farther than this part of
/// the radius.
const INHERITED: f64 = 0.3;

/// Histories of contacts that have ended on their facets, with the points where those are nearest now.
struct Orphans<R: Real>(Vec<(Vector<R>, History<R>)>);

impl<R: Real> Orphans<R> {
    /// Number of contacts to hold: as many as a sphere has with one wall, and more.
    const MOST: usize = 4;

    fn gather(run: &Run<R>, history: &mut [History<R>]) -> Orphans<R> {
        let mut orphans = Vec::new();
        for (at, own) in history.iter_mut().enumerate() {
            if own.is_empty() || run.touched(at).is_some() {
                continue;
            }
            if orphans.len() < Self::MOST {
                orphans.push((run.closest(at).to(run.place), *own));
            }
            *own = History::default();
        }
        Orphans(orphans)
    }

    /// Gives the history of the nearest of those that are not farther than `reach` from `point` to `own`.
    fn hand_over(&mut self, point: Vector<R>, reach: R, own: &mut History<R>) {
        let mut nearest = reach;
        let mut heir = None;
        for (place, history) in &mut self.0 {
            let way = place.distance(point);
            if way < nearest {
                nearest = way;
                heir = Some((place, history));
            }
        }
        if let Some((place, history)) = heir {
            *own = *history;
            *place = Vector::splat(R::of(FAR));
        }
    }
}

/// Adds a force (N) and a torque (N m) to a sum; see [`crate::step::wall_load`].
fn add_loads<R: Real>(sum: &mut Digits, force: Vector<R>, torque: Vector<R>, params: &Params<R>) {
    let force = (force / params.force_unit).array();
    let torque = (torque / params.torque_unit).array();
    for (digits, number) in sum.chunks_exact_mut(3).zip(force.into_iter().chain(torque)) {
        add_load(digits, number);
    }
}

/// Units that a single contact may have.
const MOST_UNITS: f64 = 16384.0;

fn add_load<R: Real>(digits: &mut [i64], number: R) {
    let sign = if number < R::ZERO { -1 } else { 1 };
    let mut rest = number.abs().min(R::of(MOST_UNITS));
    for sum in digits {
        rest *= R::of(65536.0);
        let digit = rest.floor();
        rest -= digit;
        *sum += i64::from(sign * digit.integer());
    }
}
