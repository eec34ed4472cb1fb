//! Bodies that a caller adds, takes away, reads and sets; events, questions and walls that it drives: on each engine.

use std::time::Duration;

use crate::common::{Random, device, simulate};
use glam::{DQuat, DVec3};
use rockfall::model::Model;
use rockfall::scene::format::{
    Axes, Contact, Fill, Force, Group, Inlet, Material, Outlet, Shape, Wall,
};
use rockfall::scene::{SceneBuilder, SpringEnd};
use rockfall::simulation::Precision;
use rockfall::{
    BodyHandle, Error, Event, ForceHandle, GroupHandle, NewBody, ShapeHandle, Simulation,
    WallHandle,
};

/// Balls and cubes above a floor, with the handles of its parts.
struct Yard {
    scene: SceneBuilder,
    ball: ShapeHandle,
    cube: ShapeHandle,
    floor: WallHandle,
}

fn yard() -> Yard {
    let mut scene = SceneBuilder::new("yard");
    let stone = Material::new(2500.0).friction(0.5).restitution(0.5);
    let stone = scene.material("stone", stone);
    let ball = scene.shape("ball", Shape::sphere(0.05), stone);
    let cube = scene.shape("cube", Shape::cube(2, 0.03), stone);
    let floor = scene.wall("floor", Wall::plane(DVec3::Y), stone);
    scene.contact(Contact::hooke(1e5).with(|contact| contact.time_step = Some(1e-4)));
    Yard {
        scene,
        ball,
        cube,
        floor,
    }
}

/// A heap to be, between four walls: some of each shape, close together.
fn heap(yard: &mut Yard, count: u64, seed: u64) -> Vec<NewBody> {
    let stone = rockfall::MaterialHandle::from_index(0);
    for (name, normal, place) in [
        ("left", DVec3::X, -0.11),
        ("right", DVec3::NEG_X, 0.3),
        ("back", DVec3::Z, -0.11),
        ("front", DVec3::NEG_Z, 0.3),
    ] {
        let side = Wall::plane(normal).at(place * normal.abs());
        yard.scene.wall(name, side, stone);
    }
    let mut random = Random::new(seed);
    (0..count)
        .map(|index| {
            let shape = [yard.ball, yard.cube][index as usize % 2];
            let level = 0.12 + 0.19 * (index / 4) as f64;
            let place = DVec3::new(
                0.19 * (index % 2) as f64,
                level,
                0.19 * (index / 2 % 2) as f64,
            );
            NewBody::new(shape, place + random.vector(0.005))
                .turned(random.orientation())
                .moving(random.vector(0.5))
        })
        .collect()
}

fn model(scene: &SceneBuilder) -> Model {
    scene
        .build()
        .unwrap_or_else(|error| panic!("{error}"))
        .model
}

/// Runs `check` on a simulation of the scene on each engine.
fn on_each(scene: &SceneBuilder, check: impl Fn(Simulation, &str)) {
    check(Simulation::on_cpu(model(scene), Some(2)).unwrap(), "cpu");
    let reference = Simulation::on_reference(model(scene), Precision::Single);
    check(reference.unwrap(), "reference");
    check(Simulation::on_gpu(model(scene), device()).unwrap(), "gpu");
}

fn hash(simulation: &mut Simulation) -> u64 {
    simulation.summary().unwrap().state_hash
}

fn refused<T: std::fmt::Debug>(outcome: Result<T, Error>, sentence: &str) {
    let error = outcome.unwrap_err().to_string();
    assert!(error.contains(sentence), "{error}");
}

#[test]
fn spawned_bodies_are_those_of_a_scene_that_has_them() {
    let mut yard = yard();
    let bodies = heap(&mut yard, 24, 1);
    let empty = yard.scene.clone();
    for body in &bodies {
        yard.scene.body(*body);
    }
    let mut whole = Simulation::on_cpu(model(&yard.scene), Some(1)).unwrap();
    whole.step(4000).unwrap();
    let expected = whole.snapshot().unwrap().network();
    assert!(expected.contacts.len() > 10, "{}", expected.contacts.len());
    on_each(&empty, |mut simulation, engine| {
        let (first, others) = bodies.split_first().unwrap();
        let mut handles = vec![simulation.spawn(*first).unwrap()];
        handles.extend(simulation.spawn_many(others).unwrap());
        assert!(simulation.handles().eq(handles), "{engine}");
        simulation.step(4000).unwrap();
        if engine != "gpu" {
            assert_eq!(
                hash(&mut simulation),
                hash(&mut whole.restarted()),
                "{engine}"
            );
        }
        let network = simulation.network().unwrap();
        assert_eq!(network.contacts.len(), expected.contacts.len(), "{engine}");
    });
}

/// A simulation that the test above compares with, stepped anew.
trait Restarted {
    fn restarted(&self) -> Simulation;
}

impl Restarted for Simulation {
    fn restarted(&self) -> Simulation {
        let mut again = Simulation::on_cpu(self.model().clone(), Some(2)).unwrap();
        again.step(self.steps()).unwrap();
        again
    }
}

/// A body comes and goes before each of a thousand steps, far away, and leaves the others as they are.
#[test]
fn a_thousand_come_and_go() {
    let mut yard = yard();
    for body in heap(&mut yard, 16, 2) {
        yard.scene.body(body);
    }
    on_each(&yard.scene, |mut simulation, engine| {
        let steps = if engine == "gpu" { 200 } else { 1000 };
        let mut alone = Simulation::on_cpu(model(&yard.scene), Some(1)).unwrap();
        alone.step(steps).unwrap();
        let far = NewBody::new(yard.cube, DVec3::new(3.0, 5.0, 3.0));
        let mut last: Option<BodyHandle> = None;
        for _ in 0..steps {
            if let Some(last) = last {
                simulation.despawn(last).unwrap();
                assert!(matches!(
                    simulation.despawn(last),
                    Err(Error::BodyGone { .. })
                ));
            }
            let new = simulation.spawn(far).unwrap();
            assert!(last.is_none_or(|last| last.id() < new.id()), "{engine}");
            last = Some(new);
            simulation.step(1).unwrap();
        }
        simulation.despawn(last.unwrap()).unwrap();
        assert_eq!(simulation.body_count(), 16);
        if engine != "gpu" {
            assert_eq!(hash(&mut simulation), hash(&mut alone), "{engine}");
        }
        let (found, expected) = (simulation.bodies().unwrap(), alone.bodies().unwrap());
        for (found, expected) in found.iter().zip(&expected) {
            let off = found.position.distance(expected.position);
            assert!(off < 1e-4, "{engine}: {off} m");
        }
    });
}

/// Bodies leave the middle of a heap; the others keep the histories of their contacts.
#[test]
fn a_body_taken_from_a_heap_leaves_the_contacts_of_the_others() {
    let mut yard = yard();
    let handles: Vec<_> = heap(&mut yard, 32, 3)
        .into_iter()
        .map(|body| yard.scene.body(body))
        .collect();
    on_each(&yard.scene, |mut simulation, engine| {
        simulation.step(5000).unwrap();
        let gone = [handles[2], handles[7], handles[20]];
        let touches = |simulation: &mut Simulation, without: &[BodyHandle]| {
            let handles: Vec<_> = simulation.handles().collect();
            let network = simulation.network().unwrap();
            let contacts = network.contacts.iter().filter_map(|contact| {
                let one = handles[contact.body as usize];
                let other = match contact.partner {
                    rockfall::Partner::Sphere { body, .. } => Some(handles[body as usize]),
                    rockfall::Partner::Wall(_) => None,
                };
                let stays = |body: BodyHandle| !without.contains(&body);
                let kept = stays(one) && other.is_none_or(stays);
                kept.then_some((
                    one,
                    other,
                    contact.force.to_array(),
                    contact.point.to_array(),
                ))
            });
            contacts.collect::<Vec<_>>()
        };
        let before = touches(&mut simulation, &gone);
        assert!(before.len() > 15, "{engine}: {}", before.len());
        simulation.despawn_many(&gone).unwrap();
        assert_eq!(touches(&mut simulation, &[]), before, "{engine}");
        assert!(matches!(
            simulation.body(gone[1]),
            Err(Error::BodyGone { id: 7 })
        ));
        assert_eq!(simulation.index_of(handles[8]), Some(6));
        simulation.step(100).unwrap();
    });
}

#[test]
fn a_body_is_set_and_read() {
    let mut yard = yard();
    yard.scene.gravity(DVec3::ZERO);
    let [a, b] = [0.5, 1.5].map(|height| {
        yard.scene
            .body(NewBody::new(yard.cube, DVec3::new(0.0, height, 0.0)))
    });
    on_each(&yard.scene, |mut simulation, engine| {
        let near = |found: DVec3, expected: DVec3| {
            let off = found.distance(expected);
            assert!(off < 1e-5, "{engine}: {found}, expected {expected}");
        };
        let velocity = DVec3::new(0.1, 0.2, -0.3);
        let spin = DVec3::new(1.0, -2.0, 0.5);
        simulation.set_velocity(a, velocity).unwrap();
        simulation.set_angular_velocity(a, spin).unwrap();
        simulation.step(1000).unwrap();
        let found = simulation.body(a).unwrap();
        near(found.velocity, velocity);
        near(found.angular_velocity, spin);
        near(found.position, DVec3::new(0.0, 0.5, 0.0) + 0.1 * velocity);
        assert!(found.orientation.angle_between(DQuat::IDENTITY) > 0.1);
        // The other has not moved.
        near(
            simulation.body(b).unwrap().position,
            DVec3::new(0.0, 1.5, 0.0),
        );

        let turn = DQuat::from_rotation_z(0.3);
        simulation
            .set_pose(b, DVec3::new(1.0, 2.0, 3.0), turn)
            .unwrap();
        simulation.step(1).unwrap();
        let found = simulation.body(b).unwrap();
        near(found.origin, DVec3::new(1.0, 2.0, 3.0));
        assert!(found.orientation.angle_between(turn) < 1e-5, "{engine}");

        // An impulse beside the centre: momentum and angular momentum of it, and no more.
        let mass = found.mass;
        let (impulse, arm) = (DVec3::new(0.0, 0.02, 0.0), DVec3::new(0.03, 0.0, 0.0));
        simulation
            .apply_impulse(b, impulse, found.position + arm)
            .unwrap();
        simulation
            .apply_angular_impulse(b, DVec3::Y * 1e-4)
            .unwrap();
        let found = simulation.body(b).unwrap();
        near(found.velocity * mass, impulse);
        let summary = |simulation: &mut Simulation| simulation.summary().unwrap().angular_momentum;
        simulation.set_velocity(a, DVec3::ZERO).unwrap();
        simulation.set_angular_velocity(a, DVec3::ZERO).unwrap();
        let expected = (found.position + arm).cross(impulse) + DVec3::Y * 1e-4;
        near(summary(&mut simulation), expected);

        // A force for a while, and then none.
        simulation.set_velocity(b, DVec3::ZERO).unwrap();
        simulation.set_angular_velocity(b, DVec3::ZERO).unwrap();
        let force = DVec3::new(0.0, 0.0, 5.0);
        for force in [force, 2.0 * force, DVec3::ZERO] {
            simulation.set_applied_force(b, force, DVec3::ZERO).unwrap();
            simulation.step(100).unwrap();
        }
        near(simulation.body(b).unwrap().velocity * mass, 0.03 * force);

        simulation.set_fixed(b, true).unwrap();
        refused(simulation.set_velocity(b, DVec3::X), "is fixed");
        simulation.step(100).unwrap();
        let found = simulation.body(b).unwrap();
        assert!(found.fixed && found.velocity == DVec3::ZERO, "{engine}");
        simulation.set_fixed(b, false).unwrap();
        simulation.set_velocity(b, DVec3::X).unwrap();
        simulation.step(100).unwrap();
        near(simulation.body(b).unwrap().velocity, DVec3::X);
    });
}

#[test]
fn a_force_of_the_scene_has_a_handle() {
    let mut yard = yard();
    yard.scene.gravity(DVec3::ZERO);
    let ice = rockfall::MaterialHandle::from_index(0);
    // The principal axes of a rod along x are not those of its shape.
    let rod = yard.scene.shape("rod", Shape::rod(3, 0.03), ice);
    let turn = DQuat::from_rotation_y(0.7);
    let [a, b] = [0.5, 1.5].map(|height| {
        let body = NewBody::new(rod, DVec3::new(0.0, height, 0.0)).turned(turn);
        yard.scene.body(body)
    });
    let along = Force::new(DVec3::X).with(|force| force.axes = Axes::Body);
    let [of_world, of_body] = [
        yard.scene.force(a, Force::new(DVec3::X)),
        yard.scene.force(b, along),
    ];
    on_each(&yard.scene, |mut simulation, engine| {
        let mass = simulation.body(a).unwrap().mass;
        let force = DVec3::new(0.0, 2.0, 5.0);
        simulation.step(100).unwrap();
        for own in [of_world, of_body] {
            simulation.set_force(own, force, DVec3::ZERO).unwrap();
        }
        simulation.step(100).unwrap();
        let expected = 0.01 * (DVec3::X + force);
        for (body, expected) in [(a, expected), (b, turn * expected)] {
            let found = simulation.body(body).unwrap().velocity * mass;
            let off = found.distance(expected);
            assert!(off < 1e-5, "{engine}: {found}, expected {expected}");
        }
        assert_eq!(simulation.force("force 1"), Some(of_body));
        let unknown = ForceHandle::from_index(2);
        let set = simulation.set_force(unknown, force, DVec3::ZERO);
        refused(set, "there is no applied force 2; the scene has 2");
        let set = simulation.set_force(of_body, DVec3::NAN, DVec3::ZERO);
        refused(set, "expected three numbers");
        simulation.despawn(a).unwrap();
        let set = simulation.set_force(of_world, force, DVec3::ZERO);
        assert!(matches!(set, Err(Error::BodyGone { id: 0 })), "{engine}");
        simulation.set_force(of_body, force, DVec3::ZERO).unwrap();
    });
}

#[test]
fn groups_change_and_ignore() {
    let mut yard = yard();
    yard.scene.gravity(DVec3::ZERO);
    let solid = yard.scene.group("solid", Group::default());
    let ghosts = yard.scene.group(
        "ghosts",
        Group::default().with(|group| group.ignores = vec!["solid".to_owned()]),
    );
    let at = |x: f64| NewBody::new(yard.ball, DVec3::new(x, 1.0, 0.0));
    let still = yard.scene.body(at(0.0).in_group(solid));
    let fast = yard
        .scene
        .body(at(0.3).moving(DVec3::NEG_X).in_group(ghosts));
    on_each(&yard.scene, |mut simulation, engine| {
        simulation.step(6000).unwrap();
        let passed = simulation.body(fast).unwrap();
        assert!((passed.velocity + DVec3::X).length() < 1e-6, "{engine}");
        simulation.set_group(fast, GroupHandle::default()).unwrap();
        simulation.set_velocity(fast, DVec3::X).unwrap();
        simulation.step(4000).unwrap();
        assert!(simulation.body(still).unwrap().velocity.x > 0.1, "{engine}");
        assert_eq!(simulation.group("ghosts"), Some(ghosts));
    });
}

#[test]
fn arrays_have_a_row_for_each_body() {
    let mut yard = yard();
    for body in heap(&mut yard, 12, 4) {
        yard.scene.body(body);
    }
    on_each(&yard.scene, |mut simulation, engine| {
        simulation.step(4000).unwrap();
        let (mut exact, mut single) = (Vec::<[f64; 3]>::new(), Vec::<[f32; 3]>::new());
        let mut turns = Vec::<[f64; 4]>::new();
        let bodies = simulation.bodies().unwrap();
        simulation.positions(&mut exact).unwrap();
        simulation.positions(&mut single).unwrap();
        simulation.orientations(&mut turns).unwrap();
        assert_eq!((exact.len(), single.len(), turns.len()), (12, 12, 12));
        for (index, body) in bodies.iter().enumerate() {
            assert_eq!(DVec3::from_array(exact[index]), body.position, "{engine}");
            let rounded = body.position.as_vec3().to_array();
            assert_eq!(single[index], rounded, "{engine}");
            assert_eq!(turns[index], body.orientation.to_array(), "{engine}");
        }
        simulation.velocities(&mut exact).unwrap();
        assert!(
            bodies
                .iter()
                .zip(&exact)
                .all(|(body, row)| body.velocity.to_array() == *row)
        );
        simulation.angular_velocities(&mut exact).unwrap();
        let spins = bodies.iter().zip(&exact);
        assert!(
            spins
                .clone()
                .all(|(body, row)| body.angular_velocity.to_array() == *row)
        );
        // All contacts are inner ones but those with the floor.
        simulation.contact_forces(&mut exact).unwrap();
        let sum: DVec3 = exact.iter().map(|row| DVec3::from_array(*row)).sum();
        let on_floor = simulation.network().unwrap().force_on_wall(0);
        assert!(on_floor.length() > 1.0, "{engine}: {on_floor}");
        assert!(
            (sum + on_floor).length() < 1e-3 * on_floor.length(),
            "{engine}"
        );
    });
}

#[test]
fn events_tell_of_contacts_and_of_flow() {
    let mut yard = yard();
    yard.scene.gravity(DVec3::ZERO);
    let other = yard.scene.group("other", Group::default());
    let at = |x: f64, y: f64| NewBody::new(yard.ball, DVec3::new(x, y, 0.0));
    let still = yard.scene.body(at(0.0, 1.0));
    let mover = at(0.2, 1.0).moving(DVec3::NEG_X).in_group(other);
    let mover = yard.scene.body(mover);
    let falling = yard.scene.body(at(2.0, 0.1).moving(DVec3::NEG_Y));
    // Not listened to: both are in the group of all.
    yard.scene.body(at(-1.0, 1.0));
    yard.scene.body(at(-1.2, 1.0).moving(DVec3::X));
    on_each(&yard.scene, |mut simulation, engine| {
        simulation
            .watch_contacts(GroupHandle::default(), other)
            .unwrap();
        simulation.watch_wall(yard.floor).unwrap();
        simulation.set_event_interval(2);
        simulation.step(0).unwrap();
        simulation.step(3001).unwrap();
        let events = simulation.events();
        let expected = [
            Event::WallContactBegan(yard.floor, falling),
            Event::WallContactEnded(yard.floor, falling),
            Event::ContactBegan([still, mover]),
            Event::ContactEnded([still, mover]),
        ];
        assert_eq!(events, expected, "{engine}");
        assert!(simulation.events().is_empty());
    });

    let mut flow = yard.scene.clone();
    let (min, max) = (DVec3::new(-0.1, 4.0, -0.1), DVec3::new(0.1, 4.4, 0.1));
    let inlet = Inlet::new(100.0, min, max).with(|inlet| inlet.count = Some(2));
    flow.inlet(&[(yard.ball, 1.0)], inlet);
    let beyond = DVec3::new(1.5, -1.0, -1.0);
    flow.outlet(Outlet::inside(beyond, DVec3::new(3.0, 3.0, 1.0)));
    on_each(&flow, |mut simulation, engine| {
        simulation.watch_flow();
        simulation.step(500).unwrap();
        let events = simulation.events();
        let left = events
            .iter()
            .filter(|event| **event == Event::BodyLeft(falling));
        assert_eq!(left.count(), 1, "{engine}: {events:?}");
        let entered = |event: &&Event| matches!(event, Event::BodyEntered(_));
        assert_eq!(
            events.iter().filter(entered).count(),
            2,
            "{engine}: {events:?}"
        );
    });
}

#[test]
fn questions_are_answered_as_by_looking_at_every_sphere() {
    let mut yard = yard();
    for body in heap(&mut yard, 40, 5) {
        yard.scene.body(body);
    }
    let mut simulation = Simulation::on_cpu(model(&yard.scene), Some(1)).unwrap();
    simulation.step(500).unwrap();
    let handles: Vec<_> = simulation.handles().collect();
    let spheres: Vec<(BodyHandle, DVec3, f64)> = {
        let snapshot = simulation.snapshot().unwrap();
        let own = snapshot.spheres();
        own.map(|sphere| (handles[sphere.body], sphere.position, sphere.radius))
            .collect()
    };
    let mut random = Random::new(6);
    let (mut hits, mut inside) = (0, 0);
    for _ in 0..300 {
        let point = DVec3::new(0.06, 0.5, 0.06) + random.vector(0.6);
        let way = random.vector(1.0).normalize();
        let hit = simulation.cast_ray(point, 3.0 * way, 2.0).unwrap();
        // Along the ray in small steps.
        let walked = (0..4000).map(|k| 0.0005 * f64::from(k)).find_map(|along| {
            let place = point + along * way;
            let mut near = spheres
                .iter()
                .filter(|(_, center, radius)| center.distance(place) <= *radius);
            near.next().map(|_| along)
        });
        match (hit, walked) {
            (Some(hit), Some(walked)) => {
                assert!((hit.distance - walked).abs() < 6e-4, "{hit:?}, {walked} m");
                let gap = spheres.iter().filter(|(body, ..)| *body == hit.body);
                let gap = gap.map(|(_, center, radius)| center.distance(hit.point) - radius);
                assert!(gap.fold(f64::INFINITY, f64::min) < 1e-6);
                assert!((hit.normal.length() - 1.0).abs() < 1e-9);
                hits += 1;
            }
            // The walk may pass by a sphere that the ray scratches.
            (Some(_), None) => (),
            (None, walked) => assert_eq!(walked, None),
        }
        let nearest = simulation.nearest_body(point).unwrap().unwrap();
        let gap = |(_, center, radius): &(BodyHandle, DVec3, f64)| center.distance(point) - radius;
        let least = spheres.iter().map(gap).fold(f64::INFINITY, f64::min);
        assert!((nearest.distance - least).abs() < 1e-12);
        let radius = random.range(0.01, 0.3);
        let mut expected: Vec<BodyHandle> = spheres
            .iter()
            .filter(|sphere| gap(sphere) <= radius)
            .map(|sphere| sphere.0)
            .collect();
        expected.dedup();
        inside += expected.len();
        assert_eq!(
            simulation.bodies_in_sphere(point, radius).unwrap(),
            expected
        );
        let half = DVec3::new(0.1, 0.2, 0.05);
        let mut expected: Vec<BodyHandle> = spheres
            .iter()
            .filter(|(_, center, radius)| {
                let from = *center - point;
                (from - from.clamp(-half, half)).length() <= *radius
            })
            .map(|sphere| sphere.0)
            .collect();
        expected.dedup();
        assert_eq!(
            simulation
                .bodies_in_box(point - half, point + half)
                .unwrap(),
            expected
        );
    }
    assert!(hits > 20 && inside > 100, "{hits} hits, {inside} inside");
}

#[test]
fn a_wall_is_driven_and_tells_its_load() {
    let mut yard = yard();
    yard.scene.gravity(DVec3::ZERO);
    let stone = rockfall::MaterialHandle::from_index(0);
    let blade = Wall::cuboid(DVec3::splat(0.2)).at(DVec3::new(-1.0, 1.0, 0.0));
    let blade = yard.scene.wall("blade", blade, stone);
    let ball = yard
        .scene
        .body(NewBody::new(yard.ball, DVec3::new(0.0, 1.0, 0.0)));
    on_each(&yard.scene, |mut simulation, engine| {
        let place =
            |simulation: &mut Simulation| simulation.walls().unwrap()[blade.index()].moving.pose;
        simulation.step(10).unwrap();
        simulation
            .set_wall_velocity(blade, DVec3::X, DVec3::ZERO)
            .unwrap();
        simulation.step(1000).unwrap();
        let way = place(&mut simulation).position.x + 1.0;
        assert!((way - 0.1).abs() < 1e-6, "{engine}: {way} m");
        simulation
            .set_wall_velocity(blade, 2.0 * DVec3::X, DVec3::Y)
            .unwrap();
        simulation.step(1000).unwrap();
        let way = place(&mut simulation).position.x + 1.0;
        assert!((way - 0.3).abs() < 1e-6, "{engine}: {way} m");
        let turn = place(&mut simulation).orientation;
        assert!(
            (turn.to_axis_angle().1 - 0.1).abs() < 1e-5,
            "{engine}: {turn}"
        );
        simulation
            .set_wall_velocity(blade, 2.0 * DVec3::X, DVec3::ZERO)
            .unwrap();
        let mut most = 0.0_f64;
        for _ in 0..40 {
            simulation.step(100).unwrap();
            most = most.max(-simulation.wall_load(blade).unwrap().force.x);
        }
        let velocity = simulation.body(ball).unwrap().velocity.x;
        assert!(velocity > 1.5, "{engine}: {velocity} m/s");
        assert!(most >= 0.0, "{engine}: {most} N");
        simulation
            .set_wall_velocity(blade, DVec3::ZERO, DVec3::ZERO)
            .unwrap();
        let before = place(&mut simulation);
        simulation.step(100).unwrap();
        assert_eq!(place(&mut simulation).position, before.position, "{engine}");
    });
}

#[test]
fn what_makes_no_sense_is_refused() {
    let mut yard = yard();
    let boulder = {
        let stone = rockfall::MaterialHandle::from_index(0);
        yard.scene.shape("boulder", Shape::sphere(0.5), stone)
    };
    let body = yard.scene.body(NewBody::new(yard.ball, DVec3::Y));
    // Named by hand, so the boulder is not made ready for.
    let mut file = yard.scene.file().clone();
    file.spawn = vec!["cube".to_owned()];
    let text = serde_json::to_string(&file).unwrap();
    let mut simulation = simulate(&text);
    let at = |shape| NewBody::new(shape, 2.0 * DVec3::Y);
    refused(simulation.spawn(at(boulder)), "under \"spawn\"");
    refused(
        simulation.spawn(at(ShapeHandle::from_index(9))),
        "there is no shape 9",
    );
    let off = |change: fn(&mut NewBody)| {
        let mut body = at(yard.ball);
        change(&mut body);
        body
    };
    let cases = [
        (off(|body| body.position.x = f64::NAN), "position cannot be"),
        (
            off(|body| body.position.x = 1e12),
            "farther from the origin",
        ),
        (
            off(|body| body.velocity.y = f64::INFINITY),
            "velocity cannot be",
        ),
        (
            off(|body| body.orientation = DQuat::from_xyzw(1.0, 1.0, 0.0, 0.0)),
            "unit quaternion",
        ),
        (
            off(|body| body.group = GroupHandle::from_index(3)),
            "there is no group 3",
        ),
        (
            off(|body| body.quantities.temperature = -1.0),
            "the temperature -1 K",
        ),
        (
            off(|body| {
                body.fixed = true;
                body.velocity.x = 1.0;
            }),
            "fixed cannot be added with a velocity",
        ),
    ];
    for (wrong, sentence) in cases {
        refused(simulation.spawn_many(&[at(yard.ball), wrong]), sentence);
        assert_eq!(simulation.body_count(), 1, "{sentence}");
    }
    let stranger = BodyHandle::from_id(77);
    refused(
        simulation.despawn_many(&[body, stranger]),
        "no body with the number 77",
    );
    assert_eq!(simulation.body_count(), 1);
    refused(simulation.set_velocity(stranger, DVec3::X), "number 77");
    refused(
        simulation.apply_impulse(body, DVec3::NAN, DVec3::ZERO),
        "impulse cannot be",
    );
    let wall = WallHandle::from_index(4);
    refused(
        simulation.set_wall_velocity(wall, DVec3::X, DVec3::ZERO),
        "no wall 4",
    );
    refused(simulation.watch_wall(wall), "no wall 4");
    refused(
        simulation.watch_contacts(GroupHandle::default(), GroupHandle::from_index(5)),
        "no group 5",
    );
    simulation.step(10).unwrap();
}

#[test]
fn steps_are_cancelled_from_another_thread() {
    let mut yard = yard();
    for body in heap(&mut yard, 8, 7) {
        yard.scene.body(body);
    }
    on_each(&yard.scene, |mut simulation, engine| {
        let canceller = simulation.canceller();
        let waiting = std::thread::spawn(move || {
            std::thread::sleep(Duration::from_millis(300));
            canceller.cancel();
        });
        let steps = 1_u64 << 40;
        let Err(Error::Cancelled { step }) = simulation.step(steps) else {
            panic!("{engine} took all of {steps} steps");
        };
        waiting.join().unwrap();
        assert_eq!(step, simulation.steps());
        assert!(step < steps, "{engine}");
        // It goes on, and its steps are those of one that was never cancelled.
        simulation.step(10).unwrap();
        if engine == "cpu" {
            let mut other = Simulation::on_cpu(model(&yard.scene), Some(1)).unwrap();
            other.step(simulation.steps()).unwrap();
            assert_eq!(hash(&mut simulation), hash(&mut other));
        }
    });
}

#[test]
fn a_scene_made_in_code_is_that_of_its_file() {
    let mut yard = yard();
    let stone = rockfall::MaterialHandle::from_index(0);
    let ice = yard
        .scene
        .material("ice", Material::new(900.0).friction(0.05).restitution(0.3));
    let block = yard
        .scene
        .shape("block", Shape::cuboid(DVec3::new(0.2, 0.1, 0.1), 0.02), ice);
    let loose = yard.scene.group("loose", Group::default());
    let first = yard
        .scene
        .body(NewBody::new(block, DVec3::new(0.0, 0.3, 0.0)).in_group(loose));
    let turn = DQuat::from_rotation_y(0.4);
    yard.scene
        .body(NewBody::new(yard.cube, DVec3::new(0.5, 0.3, 0.0)).turned(turn));
    let (min, max) = (DVec3::new(-0.5, 0.6, -0.5), DVec3::new(0.5, 1.4, 0.5));
    yard.scene
        .fill(&[(yard.ball, 2.0), (block, 1.0)], Fill::new(20, min, max));
    let end = [
        SpringEnd::Body(first, DVec3::ZERO),
        SpringEnd::World(DVec3::Y),
    ];
    yard.scene.spring(end, 50.0).damping = 0.1;
    let force = Force::new(DVec3::X).with(|force| force.end = Some(0.1));
    yard.scene.force(first, force);
    let slope = Wall::rectangle(glam::DVec2::splat(2.0))
        .turned(turn)
        .at(DVec3::NEG_Y);
    yard.scene.wall("slope", slope, stone);
    let built = yard.scene.build().unwrap();
    assert_eq!(built.warnings, [""; 0]);
    let text = serde_json::to_string(&built.file).unwrap();
    let read = rockfall::scene::parse(&text, "yard.json".as_ref()).unwrap();
    assert_eq!(read.model, built.model);
    assert_eq!(built.model.walls[1].name, "slope");
    let wrong = NewBody::new(ShapeHandle::from_index(40), DVec3::Y);
    yard.scene.body(wrong);
    let error = yard.scene.build().unwrap_err().to_string();
    assert!(error.contains("bodies[2].shape"), "{error}");
}
