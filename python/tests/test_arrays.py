"""Arrays: shapes, units, views that stay what they were, contacts."""

import gc

import numpy
import pytest
from conftest import start

import rockfall


@pytest.fixture
def world(bowl, backend):
    bowl.body("ball", (0, 0.0499, 0))
    bowl.body("ball", (0, 0.1498, 0))
    bowl.body("pair", (1, 0.5, 0), orientation=(0, 0, 0.6, 0.8), velocity=(1, 2, 3), angular_velocity=(0, 0, 4))
    return start(bowl, backend)


def test_shapes_and_types(world):
    world.step(1)
    for name, width, kind in [
        ("positions", 3, "f8"),
        ("orientations", 4, "f8"),
        ("velocities", 3, "f4"),
        ("angular_velocities", 3, "f8"),
        ("angular_momenta", 3, "f4"),
        ("forces", 3, "f8"),
        ("torques", 3, "f8"),
    ]:
        array = getattr(world, name)
        assert array.shape == (3, width) and array.dtype == kind, name
    assert world.ids.tolist() == [0, 1, 2] and world.masses.shape == (3,)
    assert world.shapes.tolist() == [0, 0, 1] and world.groups.tolist() == [0, 0, 0]
    assert world.fixed.tolist() == [False] * 3


def test_arrays_say_what_bodies_say(world):
    world.step(50)
    body = world.body(2)
    for name, own in [
        ("positions", body.position),
        ("orientations", body.orientation),
        ("velocities", body.velocity),
        ("angular_velocities", body.angular_velocity),
    ]:
        assert getattr(world, name)[2] == pytest.approx(own, rel=1e-6, abs=1e-6), name
    assert world.masses[2] == body.mass


def test_a_view_is_of_the_engines_memory_and_stays_what_it_was(world, backend):
    velocities = world.velocities
    if backend == "cpu":
        again = world.velocities
        assert velocities.__array_interface__["data"] == again.__array_interface__["data"]
    assert velocities.strides[0] > 3 * velocities.itemsize, "it is no copy"
    assert not velocities.flags.writeable
    with pytest.raises(ValueError):
        velocities[0] = 1
    kept, before = world.velocities, world.velocities.copy()
    world.step(50)
    assert numpy.array_equal(kept, before) and numpy.array_equal(velocities, before)
    assert not numpy.array_equal(world.velocities, before)
    # Memory that has moved to an array is not the engine's any more.
    assert kept.__array_interface__["data"] != world.velocities.__array_interface__["data"]
    world.spawn_many("ball", [(0, k, 0) for k in range(3, 900)])
    world.despawn(world.ids[1:2])
    assert numpy.array_equal(kept, before)
    last = world.velocities
    shown = last.copy()
    del world
    gc.collect()
    assert numpy.array_equal(last, shown) and numpy.array_equal(kept, before)


def test_memory_stays_the_engines_where_no_view_is_kept(bowl):
    bowl.body("ball", (0, 0.5, 0))
    world = start(bowl)
    address = world.velocities.__array_interface__["data"]
    for _ in range(5):
        world.step(10)
        assert world.velocities.__array_interface__["data"] == address


def test_every_setter_leaves_a_view_alone(world):
    body = world.body(2)
    changes = [
        lambda: setattr(body, "velocity", (7, 7, 7)),
        lambda: body.apply_impulse((1, 0, 0)),
        lambda: body.apply_angular_impulse((0, 1, 0)),
        lambda: setattr(body, "position", (0, 9, 0)),
        lambda: setattr(body, "fixed", True),
        lambda: setattr(world, "gravity", (1, 0, 0)),
        lambda: world.restore(world.checkpoint()),
        lambda: world.summary(),
        lambda: world.contacts,
        lambda: world.forces,
    ]
    for change in changes:
        kept = world.velocities
        before = kept.copy()
        change()
        assert numpy.array_equal(kept, before)
        assert numpy.array_equal(world.velocities[2], body.velocity.astype("f4"))


def test_a_copy_is_ones_own(world):
    positions = world.positions
    positions[:] = 0
    assert world.positions[2, 0] == pytest.approx(1)


def test_contacts_are_rows(world):
    world.step(20)
    contacts = world.contacts
    assert contacts.dtype == rockfall.CONTACT
    on_floor = contacts[contacts["wall"] == 0]
    assert 0 in on_floor["body"] and (on_floor["other"] == -1).all()
    between = contacts[contacts["wall"] == -1]
    assert between["body"].tolist() == [0] and between["other"].tolist() == [1]
    assert between["overlap"][0] > 0
    assert between["normal"][0] == pytest.approx([0, 1, 0], abs=1e-3)
    total = numpy.zeros((3, 3))
    numpy.add.at(total, contacts["body"], contacts["force"])
    numpy.add.at(total, between["other"], -between["force"])
    assert total == pytest.approx(world.forces, rel=1e-4, abs=1e-3)


def test_arrays_of_no_bodies_are_empty(bowl):
    bowl.body("ball", (0, 1, 0))
    world = start(bowl)
    world.despawn(world.bodies)
    world.step(5)
    assert world.positions.shape == (0, 3) and world.velocities.shape == (0, 3)
    assert len(world.contacts) == 0 and world.ids.tolist() == []


def test_energy_and_summary(world):
    energy = world.energy()
    assert energy["kinetic"] == pytest.approx(world.summary()["kinetic_energy_j"])
    assert set(energy) == {"kinetic", "gravitational", "elastic", "bonds", "damping", "friction", "drag", "work"}


def test_fields_have_the_mass_and_the_measures_are_those_of_the_packing(world):
    measures = world.measure()
    assert measures["bodies"] == len(world.bodies)
    low, high = world.positions.min(axis=0) - 1, world.positions.max(axis=0) + 1
    cells = (24, 20, 16)
    width = float((high - low).max()) / 12
    # Four widths around all bodies: nothing to speak of is farther out.
    fields = world.fields(cells, low - 12 * width, high + 12 * width, 3 * width)
    assert fields["density"].shape == cells and fields["velocity"].shape == cells + (3,)
    sides = (high - low + 24 * width) / cells
    assert fields["density"].sum() * sides.prod() == pytest.approx(measures["mass_kg"], rel=1e-3)
    with pytest.raises(ValueError, match="expected at least the longest side of a cell"):
        world.fields(cells, low, high, 1e-9)
