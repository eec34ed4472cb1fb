//! Machines that fail or lack something: devices that are lost or small, disks that are full, runs of days.

use std::ops::ControlFlow;

use crate::common::{device, gpu_options};
use crate::output::{Place, heap};
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};
use rockfall::output::{Record, RunFolder, RunSummary};
use rockfall::simulation::checkpoint::Checkpoint;
use rockfall::simulation::observe::Observer;
use rockfall::step::gpu::Context;
use rockfall::{Error, Simulation, scene, wgpu};
use serde_json::{Value, json};

/// Destroys the device of a simulation after some steps, each once.
struct Breaker(Vec<u64>);

impl Observer for Breaker {
    fn next(&self, step: u64) -> u64 {
        let later = self.0.iter().filter(|at| **at > step);
        later.min().copied().unwrap_or(u64::MAX)
    }

    fn observe(&mut self, simulation: &mut Simulation) -> rockfall::error::Result<ControlFlow<()>> {
        let now = simulation.steps();
        if let Some(index) = self.0.iter().position(|at| *at == now) {
            self.0.remove(index);
            simulation.gpu().unwrap().context().device.destroy();
        }
        Ok(ControlFlow::Continue(()))
    }
}

/// Runs a heap with checkpoints at each 400th of 1500 steps, whose device is lost at some of them; returns from which steps it
/// went on, what came of it, and the hash of its state.
fn run_with_losses(
    place: &Place,
    name: &str,
    losses: &[u64],
) -> (Vec<u64>, Result<ControlFlow<()>, Error>, Option<u64>) {
    let scene = scene::load(&place.0.path().join("scene.json")).unwrap();
    let options = gpu_options();
    let mut simulation = Simulation::new(scene.model.clone(), &options).unwrap();
    let record = Record::new(&simulation, &options, Vec::new(), 1500);
    let path = place.0.path().join(name);
    let mut folder = RunFolder::create(&path, &scene, record, &mut simulation).unwrap();
    let canceller = simulation.canceller();
    let mut from = Vec::new();
    let mut breaker = Breaker(losses.to_vec());
    let outcome = folder.run(
        &scene,
        &mut simulation,
        &options,
        &mut [&mut breaker],
        |error, now| {
            assert!(matches!(error, Error::Lost { .. }), "{error}");
            from.push(now.steps());
        },
    );
    let hash = outcome.is_ok().then(|| {
        let summary = simulation.summary().unwrap();
        summary.state_hash
    });
    if outcome.is_ok() {
        // Who could end its steps before still can.
        canceller.cancel();
        let error = simulation.step(10).unwrap_err();
        assert!(matches!(error, Error::Cancelled { .. }), "{error}");
    }
    folder.wait().unwrap();
    (from, outcome, hash)
}

fn checkpointed_heap() -> Place {
    let mut scene = heap();
    scene["output"] = json!({
        "every": { "steps": 500 }, "statistics_every": { "steps": 100 }, "checkpoint_every": { "steps": 400 },
    });
    Place::with(&scene)
}

#[test]
fn a_run_goes_on_by_itself_when_its_device_is_lost() {
    let place = checkpointed_heap();
    let (_, outcome, whole) = run_with_losses(&place, "whole", &[]);
    assert!(outcome.is_ok());
    // Before the first checkpoint, after the second, and in the very step of one.
    let (from, outcome, hash) = run_with_losses(&place, "lost", &[250, 950, 1200]);
    assert!(outcome.is_ok(), "{outcome:?}");
    assert_eq!(from[..2], [0, 800], "{from:?}");
    assert!([800, 1200].contains(&from[2]), "{from:?}");
    assert_eq!(hash, whole);
    // In the last step.
    let (late, outcome, hash) = run_with_losses(&place, "late", &[1500]);
    assert!(outcome.is_ok(), "{outcome:?}");
    assert_eq!((late, hash), (vec![1200], whole));
    // Each row once, and each part of the run.
    let rows = |name: &str| -> Vec<String> {
        let text = std::fs::read_to_string(place.0.path().join(name).join("statistics.csv"));
        let text = text.unwrap();
        let cells = text
            .lines()
            .map(|row| row.split(',').next().unwrap().to_owned());
        cells.collect()
    };
    assert_eq!(rows("lost"), rows("whole"));
    let record = place.json("lost/run.json");
    let parts: Vec<u64> = record["parts"]
        .as_array()
        .unwrap()
        .iter()
        .map(|part| part["from_step"].as_u64().unwrap())
        .collect();
    assert_eq!(parts, [0, from[0], from[1], from[2]]);
}

#[test]
fn a_run_whose_device_is_lost_again_and_again_ends_with_a_sentence() {
    let place = checkpointed_heap();
    let (from, outcome, _) = run_with_losses(&place, "run", &[450, 500, 550, 600]);
    assert_eq!(from, [400; 3], "{outcome:?}");
    let sentence = outcome.unwrap_err().to_string();
    assert!(sentence.contains("was lost during the run"), "{sentence}");
    // It can still be resumed, here on another engine.
    place.run("run --resume run --backend cpu");
    assert_eq!(place.json("run/run.json")["status"], "finished");
}

#[test]
fn a_device_that_is_lost_in_the_final_write_leaves_the_last_checkpoint() {
    let place = checkpointed_heap();
    let scene = scene::load(&place.0.path().join("scene.json")).unwrap();
    let options = gpu_options();
    let mut simulation = Simulation::new(scene.model.clone(), &options).unwrap();
    let record = Record::new(&simulation, &options, Vec::new(), 900);
    let path = place.0.path().join("run");
    let mut folder = RunFolder::create(&path, &scene, record, &mut simulation).unwrap();
    let nobody = |_: &Error, _: &Simulation| panic!("nothing is lost yet");
    let ran = folder.run(&scene, &mut simulation, &options, &mut [], nobody);
    assert!(ran.unwrap().is_continue());
    let summary = RunSummary::new(&mut simulation, 0, std::time::Duration::ZERO).unwrap();
    simulation.gpu().unwrap().context().device.destroy();
    let error = folder.finish(&mut simulation, false, summary).unwrap_err();
    assert!(matches!(error, Error::Lost { .. }), "{error}");
    assert_eq!(place.json("run/run.json")["status"], "running");
    let checkpoint = Checkpoint::read(&path.join("run.checkpoint")).unwrap();
    assert_eq!(checkpoint.header.steps, 800);
    place.run("run --resume run --backend cpu");
    assert_eq!(place.json("run/run.json")["status"], "finished");
}

/// A device of the tests' adapter with WebGPU's default limits, but for buffers of `largest` bytes at most, on which at most so
/// many per cent of the memory may be in use.
fn limited(largest: u64, percent: u8) -> Context {
    let instance = wgpu::Instance::new(wgpu::InstanceDescriptor {
        memory_budget_thresholds: wgpu::MemoryBudgetThresholds {
            for_resource_creation: Some(percent),
            for_device_loss: None,
        },
        ..wgpu::InstanceDescriptor::new_without_display_handle()
    });
    let adapters = pollster::block_on(instance.enumerate_adapters(wgpu::Backends::all()));
    let same = |adapter: &wgpu::Adapter| device().adapter.contains(&adapter.get_info().name);
    let adapter = adapters.into_iter().find(same).unwrap();
    let needs = wgpu::DeviceDescriptor {
        required_limits: wgpu::Limits {
            max_buffer_size: largest,
            max_storage_buffer_binding_size: largest,
            ..wgpu::Limits::default()
        },
        ..Context::needs(&adapter)
    };
    let (device, queue) = pollster::block_on(adapter.request_device(&needs)).unwrap();
    Context::of(&adapter, device, queue).unwrap()
}

#[test]
fn what_webgpu_promises_is_enough_and_buffers_that_are_too_small_are_named() {
    let model = || {
        scene::parse(&heap().to_string(), "heap.json".as_ref())
            .unwrap()
            .model
    };
    let hash = |context: &Context| {
        let mut simulation = Simulation::on_gpu(model(), context).unwrap();
        simulation.step(300).unwrap();
        simulation.summary().unwrap().state_hash
    };
    assert_eq!(hash(&limited(64 << 20, 100)), hash(device()));
    let error = Simulation::on_gpu(model(), &limited(4 << 10, 100))
        .err()
        .unwrap();
    assert!(
        matches!(error, Error::TooLarge { .. })
            && error.to_string().contains("allows 4096 at most"),
        "{error}"
    );
}

/// Results of an entry point of `tools/isa/src/exact.wgsl` for pairs of numbers.
fn computed(entry: &str, worse: i32, given: &[[f32; 2]]) -> Vec<f32> {
    let Context { device, queue, .. } = device();
    let shader = device.create_shader_module(wgpu::ShaderModuleDescriptor {
        label: None,
        source: wgpu::ShaderSource::Wgsl(include_str!("../../tools/isa/src/exact.wgsl").into()),
    });
    let is_exact = entry.starts_with("exact");
    let constants = [("WORSE", f64::from(worse))];
    let pipeline = device.create_compute_pipeline(&wgpu::ComputePipelineDescriptor {
        label: None,
        layout: None,
        module: &shader,
        entry_point: Some(entry),
        compilation_options: wgpu::PipelineCompilationOptions {
            constants: if is_exact { &constants } else { &[] },
            ..Default::default()
        },
        cache: None,
    });
    let buffer = |size: usize, usage| {
        device.create_buffer(&wgpu::BufferDescriptor {
            label: None,
            size: size as u64,
            usage,
            mapped_at_creation: false,
        })
    };
    use wgpu::BufferUsages as Usages;
    let (from, to) = (size_of_val(given), size_of_val(given) / 2);
    let numbers = buffer(from, Usages::STORAGE | Usages::COPY_DST);
    let found = buffer(to, Usages::STORAGE | Usages::COPY_SRC);
    let staging = buffer(to, Usages::MAP_READ | Usages::COPY_DST);
    queue.write_buffer(&numbers, 0, bytemuck::cast_slice(given));
    let bind_group = device.create_bind_group(&wgpu::BindGroupDescriptor {
        label: None,
        layout: &pipeline.get_bind_group_layout(0),
        entries: &[(0, &numbers), (1, &found)].map(|(binding, buffer)| wgpu::BindGroupEntry {
            binding,
            resource: buffer.as_entire_binding(),
        }),
    });
    let mut encoder = device.create_command_encoder(&Default::default());
    let mut compute = encoder.begin_compute_pass(&Default::default());
    compute.set_pipeline(&pipeline);
    compute.set_bind_group(0, &bind_group, &[]);
    compute.dispatch_workgroups((given.len() as u32).div_ceil(64), 1, 1);
    drop(compute);
    encoder.copy_buffer_to_buffer(&found, 0, &staging, 0, to as u64);
    queue.submit([encoder.finish()]);
    staging.map_async(wgpu::MapMode::Read, .., |outcome| outcome.unwrap());
    device.poll(wgpu::PollType::wait_indefinitely()).unwrap();
    bytemuck::pod_collect_to_vec(&staging.get_mapped_range(..).unwrap())
}

/// Integers find the nearest number from one that is some units of the last place off, as far as WGSL lets an adapter be. Which
/// scenes do not need yet: `docs/book/src/gpu.md` says what it costs.
#[test]
fn quotients_and_roots_can_be_had_correctly_rounded_on_any_adapter() {
    let mut random = ChaCha8Rng::seed_from_u64(1);
    // Of like size, so that most results are normal; and those near the ends of a binade.
    let mut number = || {
        let [exponent, kind, bits] = [126, 4, 1 << 23].map(|most| random.next_u32() % most);
        let mantissa = match kind {
            0 => bits % 4,
            1 => 0x7f_ffff - bits % 4,
            _ => bits,
        };
        f32::from_bits((64 + exponent) << 23 | mantissa)
    };
    let given: Vec<[f32; 2]> = (0..40_000).map(|_| [number(), number()]).collect();
    let quotients: Vec<f32> = given.iter().map(|[a, b]| a / b).collect();
    let roots: Vec<f32> = given.iter().map(|[a, _]| a.sqrt()).collect();
    for worse in [-3, -1, 0, 2, 3] {
        for (entry, expected) in [("exact_quotient", &quotients), ("exact_root", &roots)] {
            let found = computed(entry, worse, &given);
            let pairs = given.iter().zip(expected).zip(&found);
            for ((given, expected), found) in pairs {
                // Beyond those, the adapter's own result stays.
                let is_inside = (1e-37..1e38).contains(expected);
                assert!(
                    !is_inside || expected == found,
                    "{entry} {given:?}: {found:?}, expected {expected:?}, {worse} units off"
                );
            }
        }
    }
}

#[test]
fn a_device_without_memory_left_is_told_in_a_sentence() {
    let context = limited(64 << 20, 0);
    if !context.adapter.contains("Vulkan") {
        eprintln!("ignored: only Vulkan's drivers tell how much memory is left");
        return;
    }
    let model = scene::parse(&heap().to_string(), "heap.json".as_ref())
        .unwrap()
        .model;
    let error = Simulation::on_gpu(model, &context).err().unwrap();
    assert!(
        matches!(error, Error::TooLarge { .. })
            && error.to_string().contains("has no memory left for it"),
        "{error}"
    );
}

/// A floor, and what `more` says of the rest of the scene.
fn floor(more: Value) -> String {
    let mut scene = json!({
        "version": 1, "duration": 0.1,
        "contact": { "normal": "hooke", "tangential": "history", "stiffness": 1e5, "time_step": 5e-5 },
        "materials": { "stone": { "density": 2500, "restitution": 0.1, "friction": 0.5 } },
        "planes": [{ "point": [0, 0, 0], "normal": [0, 1, 0], "material": "stone" }],
    });
    for (field, value) in more.as_object().unwrap() {
        scene[field] = value.clone();
    }
    scene.to_string()
}

/// 10,000 shapes of two spheres each, of which a few are used.
fn ten_thousand_shapes() -> String {
    let rods: serde_json::Map<String, Value> = (0..10_000)
        .map(|index| {
            let radius = 0.01 + 1e-9 * f64::from(index);
            let rod = json!({ "rod": { "n": 2, "radius": radius }, "material": "stone" });
            (format!("rod {index}"), rod)
        })
        .collect();
    let bodies: Vec<Value> = (0..10)
        .map(|index| {
            json!({ "shape": format!("rod {}", 999 * index), "position": [0.1 * f64::from(index), 0.01, 0] })
        })
        .collect();
    floor(json!({ "shapes": rods, "bodies": bodies }))
}

/// Very many bodies, shapes or materials, and what comes of them.
#[test]
fn much_of_anything_is_right_or_refused_on_both_engines() {
    // What lies on the floor presses on it with its weight.
    let lies = |text: &str, height: f64, steps: u64| {
        crate::common::on_both(text, |mut simulation, engine| {
            let weight: f64 = {
                let model = simulation.model();
                let masses = model
                    .bodies
                    .iter()
                    .map(|body| model.shapes[body.shape].mass);
                9.81 * masses.sum::<f64>()
            };
            simulation.step(steps).unwrap();
            for body in simulation.bodies().unwrap() {
                let off = (body.position.y - height).abs();
                assert!(off < 0.01 * height, "{engine}: {body:?}");
            }
            let force = simulation.snapshot().unwrap().wall_loads()[0].force.y;
            assert!(
                (force / -weight - 1.0).abs() < 0.1,
                "{engine}: {force} N of {weight} N"
            );
        });
    };
    // A block of 4,913 spheres.
    let block = |time_step: f64| {
        floor(json!({
            "contact": { "normal": "hooke", "tangential": "history", "stiffness": 1e5, "time_step": time_step },
            "shapes": { "block": { "cube": { "n": 17, "radius": 0.005 }, "material": "stone" } },
            "bodies": [{ "shape": "block", "position": [0, 0.085, 0] }],
        }))
    };
    lies(&block(2e-5), 0.085, 1500);
    // All of a side's springs and dashpots act on the one body.
    let warned = |time_step| {
        let scene = scene::parse(&block(time_step), "block.json".as_ref()).unwrap();
        scene
            .warnings
            .iter()
            .any(|warning| warning.contains("with 289 spheres at once"))
    };
    assert!(warned(5e-5) && !warned(4e-5));
    lies(&ten_thousand_shapes(), 0.01, 1500);
    // Half a million pairs of materials, and more of them than there can be.
    let of_materials = |count: usize| {
        let stone = json!({ "density": 2500, "restitution": 0.1, "friction": 0.5 });
        let materials: serde_json::Map<String, Value> = (0..count)
            .map(|index| (format!("stone {index}"), stone.clone()))
            .collect();
        let last = format!("stone {}", count - 1);
        floor(json!({
            "materials": materials,
            "planes": [{ "point": [0, 0, 0], "normal": [0, 1, 0], "material": "stone 0" }],
            "shapes": { "ball": { "sphere": { "radius": 0.01 }, "material": last } },
            "bodies": [{ "shape": "ball", "position": [0, 0.01, 0] }],
        }))
    };
    lies(&of_materials(1000), 0.01, 400);
    let error = scene::parse(&of_materials(1414), "materials.json".as_ref()).unwrap_err();
    assert!(
        error
            .to_string()
            .contains("found 1414 materials, expected at most 1024"),
        "{error}"
    );
}

/// A thousand balls in a bin, whose floor is shaken for ever.
fn bin() -> String {
    json!({
        "version": 1, "duration": 1e4,
        "contact": { "normal": "hooke", "tangential": "history", "stiffness": 1e4, "time_step": 1e-4 },
        "materials": { "stone": { "density": 2500, "restitution": 0.5, "friction": 0.4 } },
        "shapes": { "ball": { "sphere": { "radius": 0.01 }, "material": "stone" } },
        "walls": [{ "box": { "size": [0.22, 0.4, 0.22] }, "side": "inside", "material": "stone",
                    "position": [0, 0.2, 0],
                    "motion": { "vibrations": [{ "amplitude": [0, 0.001, 0], "frequency": 10 }] } }],
        "fills": [{ "count": 1000, "shapes": { "ball": 1 }, "placement": "grid",
                    "region": { "min": [-0.1, 0.01, -0.1], "max": [0.1, 0.39, 0.1] } }],
    })
    .to_string()
}

/// Bytes of memory that this process has.
#[cfg(target_os = "linux")]
fn resident() -> u64 {
    let text = std::fs::read_to_string("/proc/self/statm").unwrap();
    let pages: u64 = text.split(' ').nth(1).unwrap().parse().unwrap();
    4096 * pages
}

/// Takes `steps` steps in ten parts: energy stays within bounds, memory of host and device is what it was after the first part
/// if nothing else goes on in this process, and bodies stay in the bin. Returns the hash of the state.
#[cfg(target_os = "linux")]
fn shake(mut simulation: Simulation, steps: u64, alone: bool) -> u64 {
    let mass: f64 = simulation.bodies().unwrap().len() as f64
        * simulation.model().shapes[simulation.model().bodies[0].shape].mass;
    let mut memory = None;
    for part in 1..=10 {
        simulation.step(steps / 10).unwrap();
        assert_eq!(simulation.steps(), part * (steps / 10));
        let energy = simulation.energy().unwrap();
        // The floor moves with 0.063 m/s; balls that it throws are a few times as fast.
        let speed = (2.0 * energy.kinetic / mass).sqrt();
        assert!(speed < 2.0, "part {part}: {speed} m/s");
        let inside = |body: &rockfall::BodyState| {
            body.position.abs().max_element() < 0.45 && body.position.y > -0.01
        };
        assert!(
            simulation.bodies().unwrap().iter().all(inside),
            "part {part}"
        );
        let now = (simulation.memory(), resident());
        let before: (u64, u64) = *memory.get_or_insert(now);
        if alone {
            assert!(
                now.0 <= before.0 + before.0 / 4 && now.1 < before.1 + (16 << 20),
                "part {part}: {now:?} bytes on the device and the host, {before:?} at first"
            );
        }
    }
    simulation.summary().unwrap().state_hash
}

#[cfg(target_os = "linux")]
#[test]
fn a_run_is_the_same_twice_and_keeps_what_it_has() {
    let model = || crate::common::model(&bin());
    let on_cpu = |threads| Simulation::on_cpu(model(), Some(threads)).unwrap();
    assert_eq!(shake(on_cpu(1), 4000, false), shake(on_cpu(2), 4000, false));
    let on_gpu = || Simulation::on_gpu(model(), device()).unwrap();
    assert_eq!(shake(on_gpu(), 400, false), shake(on_gpu(), 400, false));
}

#[cfg(target_os = "linux")]
#[test]
#[ignore = "ten million steps, twice: an hour"]
fn ten_million_steps_leave_energy_and_memory_as_they_were() {
    let model = || crate::common::model(&bin());
    let on_cpu = |threads| Simulation::on_cpu(model(), Some(threads)).unwrap();
    let steps = 10_000_000;
    assert_eq!(shake(on_cpu(1), steps, true), shake(on_cpu(2), steps, true));
}

#[cfg(target_os = "linux")]
#[test]
#[ignore = "a million steps on a GPU, twice: an hour on a software adapter"]
fn a_million_steps_on_a_device_leave_energy_and_memory_as_they_were() {
    let on_gpu = || Simulation::on_gpu(crate::common::model(&bin()), device()).unwrap();
    let steps = 1_000_000;
    assert_eq!(shake(on_gpu(), steps, true), shake(on_gpu(), steps, true));
}

#[cfg(unix)]
mod disks {
    use std::fs;
    use std::process::{Command, Output};

    use super::*;

    /// Runs the program after these commands of a shell.
    fn run_after(place: &Place, commands: &str, arguments: &str) -> Output {
        let program = place.command(arguments).get_program().to_owned();
        let mut shell = Command::new("sh");
        let line = format!("{commands}; exec \"$0\" {arguments}");
        shell
            .current_dir(place.0.path())
            .args(["-c", &line])
            .arg(program);
        shell.output().unwrap()
    }

    /// Runs the program where files can have `blocks` of 512 bytes at most, which is as a disk that is full.
    fn on_small_disk(place: &Place, blocks: u32, arguments: &str) -> Output {
        let limit = format!("trap '' XFSZ; ulimit -f {blocks}");
        run_after(place, &limit, arguments)
    }

    /// A shape of two spheres takes little memory; once, each took 114 kB.
    #[cfg(target_os = "linux")]
    #[test]
    fn many_shapes_take_little_memory() {
        let place = Place::with(&serde_json::from_str(&ten_thousand_shapes()).unwrap());
        let output = run_after(&place, "ulimit -v 400000", "check scene.json");
        let said = String::from_utf8(output.stderr).unwrap();
        assert!(output.status.success(), "{said}");
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn a_folder_that_takes_no_files_is_refused_before_the_run() {
        let place = Place::with(&heap());
        let said = place.fails(1, "run scene.json --backend cpu --out /proc/run");
        assert!(
            said.contains("/proc/run cannot be ") && !said.contains("panicked"),
            "{said}"
        );
    }

    #[test]
    fn a_disk_that_is_full_ends_a_run_with_a_sentence_and_what_is_there_is_whole() {
        let place = checkpointed_heap();
        // Checkpoints are larger than that, statistics and states are not.
        let output = on_small_disk(
            &place,
            40,
            "run scene.json --backend cpu --threads 1 --out run --vtk none",
        );
        let said = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(1), "{said}");
        assert!(
            said.contains("run.checkpoint cannot be written: ") && !said.contains("panicked"),
            "{said}"
        );
        assert!(!place.0.path().join("run/run.checkpoint").exists());
        // With room again, it goes on as if nothing had happened.
        place.run("run --resume run");
        place.run("run scene.json --backend cpu --threads 1 --out whole --vtk none");
        let hash = |name: &str| place.json(name)["summary"]["state_hash"].clone();
        assert_eq!(hash("run/run.json"), hash("whole/run.json"));
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn a_state_that_a_full_disk_does_not_take_leaves_the_summary() {
        let place = Place::with(&heap());
        let mut command =
            place.command("run scene.json --backend cpu --steps 20 --state /dev/full");
        let output = command.output().unwrap();
        let said = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(1), "{said}");
        assert!(said.contains("/dev/full cannot be written: "), "{said}");
        let summary = String::from_utf8(output.stdout).unwrap();
        assert!(summary.contains("state hash"), "{summary}");
    }

    #[test]
    fn a_folder_that_is_taken_away_ends_a_run_with_a_sentence() {
        let mut scene = heap();
        scene["duration"] = json!(60.0);
        let place = Place::with(&scene);
        let mut command =
            place.command("run scene.json --backend cpu --threads 1 --out run --every 50");
        command.stdout(std::process::Stdio::null());
        command.stderr(std::process::Stdio::piped());
        let child = command.spawn().unwrap();
        let folder = place.0.path().join("run");
        while !folder.join("bodies.pvd").exists() {
            std::thread::sleep(std::time::Duration::from_millis(5));
        }
        while folder.exists() {
            let _ = fs::remove_dir_all(&folder);
        }
        let output = child.wait_with_output().unwrap();
        let said = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(1), "{said}");
        assert!(
            said.contains("cannot be written: ") && !said.contains("panicked"),
            "{said}"
        );
    }
}
