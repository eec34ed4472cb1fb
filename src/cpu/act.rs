use rayon::prelude::*;

use super::contacts::{self, Room, length_of_run};
use super::integrate::{self, LoadsOf, Moved, integrate_some};
use super::walls::{self, Touched};
use crate::state::State;

/// The passes `contacts`, `walls` and `integrate`, in one go: run by run of bodies, so that what one leaves to
/// the next is still in the cache. The same bits come out.
///
/// None of them reads what another run writes: contacts and walls read spheres, which `pose` made, and
/// `integrate` writes bodies.
pub fn act(state: &mut State) {
    if state.bodies.is_empty() {
        // Walls move all the same, and under laws that this engine does not have, too: the GPU engine has it
        // take the steps before the first body comes in.
        integrate::end(state, Moved::default());
        return;
    }
    let contacts = contacts::kernel(state);
    let walls = (state.params.wall_count > 0).then(|| walls::kernel(state));
    let step = integrate::begin(state);
    let size = state.params.memory_size as usize;
    let mut sphere_loads = std::mem::take(&mut state.sphere_loads);
    let mut memory = std::mem::take(&mut state.memory);
    let mut bodies = std::mem::take(&mut state.bodies);
    let mut body_loads = std::mem::take(&mut state.body_loads);

    let length = length_of_run(bodies.len());
    let mut tasks = Vec::new();
    let (mut rest, mut rest_of_memory) = (&mut sphere_loads[..], &mut memory[..]);
    let runs = bodies.chunks_mut(length).zip(body_loads.chunks_mut(length));
    for (run, (bodies, body_loads)) in runs.enumerate() {
        let first = run * length;
        let last = &state.properties[first + bodies.len() - 1];
        let sphere = state.properties[first].first_sphere as usize;
        let end = (last.first_sphere + last.sphere_count) as usize;
        let entries = state.neighbour_starts[end] - state.neighbour_starts[sphere];
        let (loads, own);
        (loads, rest) = rest.split_at_mut(end - sphere);
        (own, rest_of_memory) = rest_of_memory.split_at_mut(entries as usize * size);
        tasks.push((first, sphere, bodies, body_loads, loads, own));
    }
    let shared = &*state;
    let nothing = || (0.0_f32, Touched::default(), Moved::default());
    let (fraction, touched, moved) = tasks
        .into_par_iter()
        .map_init(
            Room::new,
            |room, (first, sphere, bodies, body_loads, loads, memory)| {
                let fraction = room.evaluate(contacts, shared, sphere, loads, memory);
                let touched = walls.map(|walls| walls(shared, sphere, loads, memory));
                let loads_of = LoadsOf {
                    members: &shared.members,
                    loads,
                    first: sphere,
                };
                let range = first..first + bodies.len();
                let forces = match shared.params.forces {
                    0 => &[],
                    _ => &shared.body_forces[range.clone()],
                };
                let properties = &shared.properties[range];
                let moved = integrate_some(
                    &step, loads_of, first, bodies, body_loads, properties, forces,
                );
                (fraction, touched.unwrap_or_default(), moved)
            },
        )
        .reduce(nothing, |a, b| (a.0.max(b.0), a.1.and(b.1), a.2.and(b.2)));
    state.sphere_loads = sphere_loads;
    state.memory = memory;
    state.bodies = bodies;
    state.body_loads = body_loads;
    let largest = &mut state.stats[0].max_overlap_fraction;
    *largest = (*largest).max(fraction.to_bits());
    if walls.is_some() {
        touched.note(state);
    }
    integrate::end(state, moved);
}

#[cfg(test)]
mod tests {
    use crate::cpu::{is_due, run, step};
    use crate::layout::CUSTOM;
    use crate::pass::Pass;
    use crate::scene;
    use crate::state::State;

    /// Clumps and balls of two materials on a floor, two of them on a spring.
    const SCENE: &str = r#"{
        "version": 1,
        "contact": { "law": "hooke", "stiffness": 1e5 },
        "materials": {
            "glass": { "density": 2500, "restitution": 0.5, "friction": 0.5, "rolling_friction": 0.1 },
            "steel": { "density": 7800, "restitution": 0.8, "friction": 0.2 }
        },
        "shapes": {
            "ball": { "sphere": { "radius": 0.02 }, "material": "glass" },
            "cube": { "cube": { "n": 2, "radius": 0.01 }, "material": "steel" }
        },
        "planes": [{ "point": [0, 0, 0], "normal": [0, 1, 0], "material": "glass" }],
        "bodies": [
            { "name": "a", "shape": "ball", "position": [0, 0.5, 0] },
            { "name": "b", "shape": "cube", "position": [0.1, 0.5, 0] }
        ],
        "springs": [{ "from": { "body": "a" }, "to": { "body": "b" }, "stiffness": 100, "length": 0.08 }],
        "fills": [{
            "count": 680, "shapes": { "ball": 1, "cube": 1 }, "seed": 2,
            "region": { "min": [-0.3, 0, -0.3], "max": [0.3, 0.4, 0.3] }
        }]
    }"#;

    #[test]
    fn without_bodies_steps_go_by_under_any_law() {
        let mut model = scene::parse(SCENE, "crowd.json".as_ref()).unwrap().model;
        model.bodies.clear();
        model.forces.springs.clear();
        let mut state = State::new(&model);
        state.params.law = CUSTOM;
        step(&mut state);
        assert_eq!(state.stats[0].steps, 1);
    }

    #[test]
    fn passes_in_one_go_do_what_they_do_one_after_the_other() {
        let mut model = scene::parse(SCENE, "crowd.json".as_ref())
            .unwrap_or_else(|error| panic!("{error}"))
            .model;
        // So that they touch.
        model
            .bodies
            .iter_mut()
            .for_each(|body| body.position *= 0.7);
        let mut together = State::new(&model);
        let mut apart = together.clone();
        for _ in 0..100 {
            step(&mut together);
            for pass in Pass::ALL {
                if is_due(pass, &apart) {
                    run(pass, &mut apart);
                }
            }
        }
        assert!(
            together
                .sphere_loads
                .iter()
                .any(|load| load.wall_contacts() > 0)
        );
        assert!(
            together
                .sphere_loads
                .iter()
                .any(|load| load.sphere_contacts() > 0)
        );
        assert!(together == apart);
    }
}
