//! Time of each pass of the CPU engine on a settled bed of 10,000 spheres: `cargo bench --bench passes`.

use std::path::Path;
use std::time::Duration;

use criterion::{BatchSize, Criterion, criterion_group, criterion_main};
use rockfall::internals::cpu;
use rockfall::simulation::{Backend, Options, Simulation};
use rockfall::state::State;
use rockfall::step::Pass;

/// A bed that has come to rest, where the pass `integrate` has just moved bodies for the last time.
fn settled() -> State {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("scenes/bench/spheres_10k.json");
    let model = rockfall::scene::load(&file).unwrap().model;
    let steps = model.steps_for(model.duration);
    let options = Options {
        backend: Backend::Cpu,
        ..Options::default()
    };
    let mut simulation = Simulation::new(model, &options).unwrap();
    simulation.step(steps).unwrap();
    simulation.state().unwrap().clone()
}

fn passes(criterion: &mut Criterion) {
    let mut state = settled();
    // So that the passes that build neighbour lists have something to do.
    state.stats[0].stale = 1;
    let mut group = criterion.benchmark_group("passes");
    group
        .sample_size(20)
        .measurement_time(Duration::from_secs(3));
    for pass in Pass::ALL {
        group.bench_function(pass.name(), |bencher| {
            bencher.iter_batched_ref(
                || state.clone(),
                |state| cpu::run(pass, state),
                BatchSize::LargeInput,
            );
        });
        cpu::run(pass, &mut state);
    }
}

criterion_group!(benches, passes);
criterion_main!(benches);
