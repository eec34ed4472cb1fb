//! Time to load scenes and to make clumps: `cargo bench --bench setup`.

use std::hint::black_box;
use std::path::{Path, PathBuf};
use std::time::Duration;

use criterion::{Criterion, criterion_group, criterion_main};
use rockfall::glam::DVec3;
use rockfall::internals::clump::{Clump, ClumpSphere, Fit, fit_mesh, union_of_spheres};
use rockfall::model::wall::{Mesh, MeshFormat};
use rockfall::scene;
use rockfall::state::State;

fn file(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("scenes")
        .join(name)
}

/// From the text of a scene to the buffers of an engine.
fn scenes(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("scenes");
    group
        .sample_size(10)
        .measurement_time(Duration::from_secs(5));
    for name in ["bench/cubes_10k.json", "bench/spheres_100k.json"] {
        let file = file(name);
        group.bench_function(format!("{name}: parse and fill"), |bencher| {
            bencher.iter(|| scene::load(&file).unwrap());
        });
        let model = scene::load(&file).unwrap().model;
        group.bench_function(format!("{name}: buffers"), |bencher| {
            bencher.iter(|| State::new(&model));
        });
    }
}

fn clumps(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("clumps");
    group
        .sample_size(10)
        .measurement_time(Duration::from_secs(5));
    let cube: Vec<ClumpSphere> = (0..8)
        .map(|corner| {
            let at = |bit: u32| if corner >> bit & 1 == 1 { 0.4 } else { -0.4 };
            ClumpSphere {
                center: DVec3::new(at(0), at(1), at(2)),
                radius: 0.6,
            }
        })
        .collect();
    group.bench_function("union of 8 spheres", |bencher| {
        bencher.iter(|| union_of_spheres(black_box(&cube), 2500.0));
    });
    group.bench_function("principal frame of 8 spheres", |bencher| {
        let properties = union_of_spheres(&cube, 2500.0);
        bencher.iter(|| Clump::new("cube", 0, black_box(&cube), properties));
    });
    let rock = std::fs::read(file("meshes/rock.obj")).unwrap();
    let mesh = Mesh::parse(&rock, MeshFormat::Obj, 1.0).unwrap();
    group.bench_function("20 spheres in a mesh", |bencher| {
        bencher.iter(|| fit_mesh(black_box(&mesh), Fit::Count(20)));
    });
}

criterion_group!(benches, scenes, clumps);
criterion_main!(benches);
