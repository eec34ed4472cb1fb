"""Worlds: steps, bodies, walls, questions, events; on both engines."""

import os
import signal
import subprocess
import sys
import textwrap
import threading
import time

import numpy
import pytest
from conftest import start

import rockfall


@pytest.fixture
def world(bowl, backend):
    for k in range(5):
        bowl.body("ball", (0.2 * k, 0.05 + 0.1 * k, 0))
    return start(bowl, backend)


def test_steps_and_times(world):
    assert (world.steps, world.time, len(world)) == (0, 0, 5)
    world.step(10)
    world.run_until(0.01)
    assert world.steps == 50 and world.time == pytest.approx(0.01)
    world.run_for(0.01)
    assert world.steps == 100
    world.run_until(0.0)
    assert world.steps == 100
    with pytest.raises(ValueError, match="0 or more"):
        world.step(-1)
    with pytest.raises(ValueError, match="time"):
        world.run_until(float("nan"))


def test_run_gives_frames_between_which_the_world_may_be_changed(world):
    times = []
    for frame in world.run(seconds=0.1, every=0.02):
        times.append(frame.time)
        if frame.index == 1:
            frame.world.spawn("ball", (0, 2, 0))
    assert times == pytest.approx([0.02, 0.04, 0.06, 0.08, 0.1])
    assert len(world) == 6


def test_callbacks_read_and_change_the_world(bowl):
    bowl.body("ball", (0, 0.5, 0))
    world, heights = start(bowl), []

    def look(same):
        heights.append(same.positions[0, 1])
        same.spawn("ball", (len(heights), 0.5, 0))

    end = world.call_every(0.01, look)
    world.run_until(0.05)
    assert len(heights) == 5 and len(world) == 6 and heights == sorted(heights, reverse=True)
    end()
    world.run_until(0.1)
    assert len(heights) == 5 and world.time == pytest.approx(0.1)

    world.call_every(0.01, lambda same: same.step(1))
    with pytest.raises(RuntimeError, match="cannot step"):
        world.step(100)


def test_bodies_come_and_go(world):
    ball = world.spawn("ball", (0, 3, 0), velocity=(1, 0, 0))
    assert ball.id == 5 and ball.exists and ball.index == 5
    assert ball.velocity.tolist() == [1, 0, 0]
    several = world.spawn_many("pair", numpy.array([[0, 4, 0], [0, 5, 0]]), velocities=[[0, -1, 0], [0, -2, 0]])
    assert [own.velocity[1] for own in several] == [-1, -2]
    world.step(5)
    world.despawn(ball)
    assert not ball.exists and several[0].exists and several[0].index == 5
    with pytest.raises(rockfall.BodyGoneError, match="there is no body with the number 5"):
        ball.position
    with pytest.raises(LookupError):
        world.despawn(ball)
    world.despawn([several[0], several[1].id])
    assert world.ids.tolist() == [0, 1, 2, 3, 4]
    assert world.spawn("ball", (0, 3, 0)).id == 8
    world.step(5)


def test_a_thousand_comings_and_goings_leave_a_world_as_it_was(bowl):
    bowl.body("ball", (0, 0.049, 0))
    one, other = start(bowl), start(bowl)
    for k in range(1000):
        far = one.spawn("ball", (10 + k, 10, 0))
        one.despawn(far)
        if k % 100 == 0:
            one.step(10)
            other.step(10)
    assert numpy.array_equal(one.positions, other.positions)


def test_wrong_bodies_are_refused(world):
    with pytest.raises(ValueError, match="there is no shape 'bal'; the scene has 'ball', 'pair'"):
        world.spawn("bal", (0, 0, 0))
    with pytest.raises(ValueError, match="found 2 rows, expected one, or one for each of the 3 bodies"):
        world.spawn_many("ball", numpy.zeros((3, 3)), velocities=numpy.zeros((2, 3)))
    with pytest.raises(ValueError, match=r"shape \(3, 2\), expected \(n, 3\)"):
        world.spawn_many("ball", numpy.zeros((3, 2)))
    with pytest.raises(ValueError, match="position"):
        world.spawn("ball", (0, float("nan"), 0))
    with pytest.raises(ValueError, match="expected 3 numbers"):
        world.spawn("ball", (0, 0))
    with pytest.raises(TypeError, match="colour"):
        world.spawn("ball", (0, 0, 0), colour="red")
    with pytest.raises(rockfall.BodyGoneError):
        world.body(77)
    assert len(world) == 5


def test_a_body_is_read_and_set(world):
    body = world.spawn("pair", (0, 2, 0), orientation=(0, 0, 0, 1), angular_velocity=(0, 1, 0), group="red")
    assert body.shape == "pair" and body.group == "red" and not body.fixed
    assert body.mass > 0 and body.temperature is None and not body.asleep
    assert body.angular_velocity == pytest.approx([0, 1, 0], abs=1e-5)
    body.position = (1, 2, 3)
    assert body.position == pytest.approx([1, 2, 3]) and body.origin == pytest.approx([1, 2, 3])
    half = numpy.sqrt(0.5)
    body.orientation = (0, 0, half, half)
    assert body.orientation == pytest.approx([0, 0, half, half], abs=1e-6)
    assert body.position == pytest.approx([1, 2, 3])
    body.velocity = numpy.array([1.0, 2.0, 3.0])
    assert body.velocity == pytest.approx([1, 2, 3])
    body.apply_impulse((0, body.mass, 0))
    assert body.velocity == pytest.approx([1, 3, 3])
    body.angular_velocity = (0, 0, 2)
    assert body.angular_velocity == pytest.approx([0, 0, 2], abs=1e-5)
    body.group = "all"
    assert body.group == "all"
    body.fixed = True
    assert body.fixed and body.velocity.tolist() == [0, 0, 0]
    with pytest.raises(ValueError, match="is fixed"):
        body.velocity = (1, 0, 0)
    world.step(10)
    assert body.position == pytest.approx([1, 2, 3])
    body.fixed = False
    world.step(100)
    assert body.position[1] < 2


def test_a_force_lifts_a_body(world):
    body = world.body(4)
    body.set_force((0, 2 * 9.81 * body.mass, 0))
    before = body.position[1]
    world.step(500)
    assert body.position[1] - before == pytest.approx(0.5 * 9.81 * 0.1**2, rel=0.02)


def test_several_bodies_are_set_at_once(world):
    world.gravity = (0, 0, 0)
    world.set_velocities(world.ids, numpy.arange(15).reshape(5, 3))
    assert world.velocities.ravel().tolist() == list(range(15))
    world.set_velocities(world.bodies[:2], (0, 1, 0))
    world.apply_impulses([0, 1], (0, world.masses[0], 0))
    assert world.velocities[:3] == pytest.approx(numpy.array([[0, 2, 0], [0, 2, 0], [6, 7, 8]]))
    world.set_angular_velocities([4], (0, 0, 1))
    assert world.angular_velocities[4] == pytest.approx([0, 0, 1], abs=1e-5)
    with pytest.raises(rockfall.BodyGoneError):
        world.set_velocities([0, 99], (9, 9, 9))
    assert world.velocities[0].tolist() == [0, 2, 0]
    with pytest.raises(ValueError, match="found 3 rows"):
        world.set_velocities([0, 1], numpy.zeros((3, 3)))


def test_gravity_pairs_and_time_step_are_changed(world):
    world.gravity = (0, 0, 0)
    assert world.gravity.tolist() == [0, 0, 0]
    world.set_pair("stone", friction=0.1)
    assert world.pair("stone")["friction"] == 0.1
    with pytest.raises(ValueError, match="no number 'fiction'|no number \"fiction\""):
        world.set_pair("stone", fiction=0.1)
    with pytest.raises(ValueError, match="friction"):
        world.set_pair("stone", friction=-1)
    world.set_drag(linear=1.0)
    world.time_step = 1e-4
    world.step(10)
    assert world.time == pytest.approx(1e-3)


def test_a_wall_is_driven_and_bears_a_load(bowl, backend):
    bowl.wall("plate", "stone", rectangle={"size": [1, 1]}, position=(0, 0.5, 0))
    bowl.body("ball", (0, 0.5495, 0))
    world = start(bowl, backend)
    plate = world.wall("plate")
    world.step(2000)
    weight = 9.81 * world.masses[0]
    assert plate.force == pytest.approx([0, -weight, 0], abs=0.05 * weight)
    plate.drive((0, 1, 0))
    world.step(500)
    assert plate.position == pytest.approx([0, 0.6, 0])
    assert plate.velocity == pytest.approx([0, 1, 0])
    assert world.body(0).position[1] > 0.64
    with pytest.raises(ValueError, match="there is no wall 'plat'; the scene has 'floor', 'plate'"):
        world.wall("plat")
    assert [wall.name for wall in world.walls] == ["floor", "plate"]


def test_questions(world):
    hit = world.cast_ray((0, 3, 0), (0, -1, 0))
    assert hit.body.id == 0 and hit.distance == pytest.approx(2.9) and hit.normal == pytest.approx([0, 1, 0])
    assert world.cast_ray((5, 3, 0), (0, -1, 0)) is None
    assert world.cast_ray((0, 3, 0), (0, -1, 0), reach=1) is None
    assert [own.id for own in world.bodies_in_box((0.3, 0, -1), (0.7, 1, 1))] == [2, 3]
    assert [own.id for own in world.bodies_in_sphere((0.8, 0.45, 0), 0.01)] == [4]
    near = world.nearest_body((0.8, 1, 0))
    assert near.body.id == 4 and near.distance == pytest.approx(0.5)


def test_events(bowl, backend):
    bowl.body("ball", (0, 0.2, 0), velocity=(0, -2, 0))
    bowl.body("ball", (0, 0.05, 0), fixed=True)
    world = start(bowl, backend)
    world.watch_contacts()
    world.watch_wall("floor")
    world.set_event_interval(5)
    world.step(600)
    events = world.events()
    kinds = [event.kind for event in events]
    assert "contact began" in kinds and "contact ended" in kinds
    began = events[kinds.index("contact began")]
    assert [body.id for body in began.bodies] == [0, 1] and began.wall is None
    assert world.events() == []


def test_bonds_break(backend):
    scene = rockfall.Scene("pair", gravity=(0, 0, 0))
    scene.material("glass", density=1000, restitution=0.5, friction=0.3)
    scene.sphere("ball", "glass", radius=0.01)
    scene.contact(normal="hooke", stiffness=1e4)
    scene.body("ball", (0, 0, 0))
    scene.body("ball", (0.0205, 0, 0), velocity=(1, 0, 0))
    scene.body("ball", (0, 0.0205, 0))
    scene.bond("glass", young_modulus=1e7, gap=1e-3, tensile_strength=2e4)
    world = start(scene, backend)
    assert world.bonds.dtype == rockfall.BOND and world.bonds["broken"].tolist() == [0, 0]
    world.watch_bonds()
    world.step(200)
    bonds = world.bonds
    broken = bonds[bonds["broken"] > 0]
    assert broken["body"].tolist() == [0] and broken["other"].tolist() == [1]
    assert broken["time"][0] > 0 and broken["energy"][0] > 0 and bonds["breaks"].tolist() == [1, 0]
    # Dashpots took some, too.
    assert world.energy()["bonds"] >= 0.999 * broken["energy"][0]
    assert [(event.kind, [body.id for body in event.bodies]) for event in world.events()] == [("bond broke", [0, 1])]


def test_a_checkpoint_is_gone_on_from(world, bowl, tmp_path, backend):
    world.step(100)
    state = world.checkpoint(tmp_path / "state.checkpoint")
    world.step(200)
    hash = world.state_hash
    world.restore(state)
    assert world.steps == 100
    world.step(200)
    assert world.state_hash == hash
    world.restore(tmp_path / "state.checkpoint")
    world.step(200)
    assert world.state_hash == hash
    with pytest.raises(ValueError, match="checkpoint"):
        world.restore(state[:-100])
    with pytest.raises(FileNotFoundError):
        world.restore(tmp_path / "no.checkpoint")
    bowl.body("ball", (0, 9, 0))
    with pytest.raises(ValueError, match="expected one of"):
        start(bowl, backend).restore(state)


def test_a_lost_body_is_a_runaway(bowl):
    bowl.body("ball", (0, 1, 0))
    world = start(bowl)
    world.body(0).velocity = (1e30, 0, 0)
    with pytest.raises(rockfall.RunawayError, match="body 0 .ball."):
        world.step(10)
    assert issubclass(rockfall.RunawayError, RuntimeError)


def test_another_thread_cancels(bowl):
    bowl.body("ball", (0, 0.05, 0))
    world = start(bowl)
    refused = []

    def cancel():
        while world_is_idle():
            time.sleep(0.01)
        world.cancel()

    def world_is_idle():
        try:
            world.steps
        except RuntimeError as error:
            refused.append(str(error))
            return False
        return True

    thread = threading.Thread(target=cancel)
    thread.start()
    with pytest.raises(rockfall.CancelledError, match="cancelled after step"):
        world.step(10**9)
    thread.join()
    assert "another thread" in refused[0]
    steps = world.steps
    world.step(3)
    assert world.steps == steps + 3


@pytest.mark.skipif(sys.platform == "win32", reason="signals are those of Unix")
def test_ctrl_c_ends_a_long_call_and_the_world_goes_on():
    # A shell has what it starts in the background ignore Ctrl-C, and so does all that this starts.
    script = """
        import signal
        import rockfall
        signal.signal(signal.SIGINT, signal.default_int_handler)
        scene = rockfall.Scene("ball", gravity=(0, 0, 0)).contact(stiffness=1e4, time_step=1e-4)
        scene.body(scene.sphere("ball", scene.material("m", density=1000, friction=0, restitution=0.5), radius=0.1), (0, 0, 0))
        world = scene.world("cpu", threads=1)
        print("ready", flush=True)
        try:
            world.step(10**10)
        except KeyboardInterrupt:
            steps = world.steps
            world.step(5)
            print("interrupted", 0 < steps < 10**10, world.steps - steps, flush=True)
    """
    child = subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(script)], stdout=subprocess.PIPE, text=True
    )
    assert child.stdout.readline() == "ready\n"
    time.sleep(0.3)
    os.kill(child.pid, signal.SIGINT)
    said, _ = child.communicate(timeout=60)
    assert said == "interrupted True 5\n"


def test_threads_of_python_run_while_a_world_steps(bowl):
    bowl.body("ball", (0, 0.05, 0))
    world, ticks = start(bowl), []
    stepping = threading.Thread(target=lambda: world.step(20_000))
    stepping.start()
    while stepping.is_alive():
        ticks.append(1)
        time.sleep(0.001)
    assert len(ticks) > 3
