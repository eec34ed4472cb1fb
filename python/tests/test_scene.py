"""Scenes: Python and JSON are the same, and errors have our sentences."""

import json

import numpy
import pytest
from conftest import SCENES, program, start

import rockfall


def test_the_hash_of_a_scene_file_is_that_of_the_command_line():
    """README's scene, fewer steps."""
    world = start(rockfall.load(SCENES / "pile.json"))
    world.step(300)
    said = json.loads(
        program("run", SCENES / "pile.json", "--backend", "cpu", "--steps", 300, "--json")
    )
    assert world.state_hash == said["state_hash"]
    assert world.summary()["contacts"] == said["contacts"]


def test_a_scene_put_together_in_python_is_the_one_that_it_saves(bowl, tmp_path, backend):
    bowl.fill({"ball": 1, "pair": 2}, count=30, min=(-0.4, 0.1, -0.4), max=(0.4, 1, 0.4), seed=3)
    bowl.body("ball", (0, 1.5, 0), velocity=numpy.array([0.1, -1, 0]), group="red")
    bowl.save(tmp_path / "mine.json")
    world = start(bowl, backend)
    again = start(rockfall.load(tmp_path / "mine.json"), backend)
    world.step(400)
    again.step(400)
    assert world.state_hash == again.state_hash
    world.save(tmp_path / "once_more.json")
    third = start(rockfall.load(tmp_path / "once_more.json"), backend)
    third.step(400)
    assert world.state_hash == third.state_hash
    if backend == "cpu":
        said = program("run", tmp_path / "mine.json", "--backend", "cpu", "--steps", 400, "--json")
        assert json.loads(said)["state_hash"] == world.state_hash


def test_files_that_a_scene_names_are_found_from_where_it_is_saved(tmp_path):
    scene = rockfall.load(SCENES / "mixer.json")
    scene.save(tmp_path / "mixer.json")
    assert len(rockfall.load(tmp_path / "mixer.json").world("cpu")) > 0


def test_a_shape_that_is_only_spawned_is_there(bowl):
    bowl.body("ball", (0, 0.1, 0))
    world = start(bowl)
    pair = world.spawn("pair", (0, 0.5, 0))
    assert pair.shape == "pair"
    assert world.step(10) is None


def test_what_is_wrong_is_said_with_its_place(bowl):
    bowl.body("bal", (0, 1, 0))
    with pytest.raises(rockfall.SceneError) as wrong:
        bowl.world("cpu")
    assert 'bodies[0].shape' in str(wrong.value) and "ball" in str(wrong.value)
    assert isinstance(wrong.value, ValueError)
    bowl.data["bodies"][0]["shape"] = "ball"
    bowl.contact(stiffness=-1)
    with pytest.raises(rockfall.SceneError, match="bowl.json: contact.stiffness: found -1"):
        bowl.check()
    bowl.contact(stiffness=float("nan"))
    with pytest.raises(rockfall.SceneError, match="finite"):
        bowl.check()
    bowl.contact(stiffness=2e4, stifness=1)
    with pytest.raises(rockfall.SceneError, match="stiffness"):
        bowl.check()


def test_comments_and_trailing_commas_are_read(tmp_path):
    text = (SCENES / "bounce.json").read_text("utf-8")
    commented = tmp_path / "bounce.json"
    commented.write_text("// A comment.\n" + text.rstrip()[:-1] + ",\n}\n", "utf-8")
    scene = rockfall.load(commented)
    assert scene.data == json.loads(text)
    assert start(scene).state_hash == start(rockfall.load(SCENES / "bounce.json")).state_hash


def test_a_missing_file_is_a_file_not_found():
    with pytest.raises(FileNotFoundError, match="did you mean .*pile.json"):
        rockfall.load(SCENES / "pil.json")


def test_engines_are_named():
    scene = rockfall.load(SCENES / "bounce.json")
    with pytest.raises(ValueError, match='found "gpuu", expected "auto", "cpu", "gpu" or "reference"'):
        scene.world("gpuu")
    with pytest.raises(rockfall.DeviceError, match="no such adapter at all"):
        scene.world("gpu", adapter="no such adapter at all")
    world = scene.world("reference", precision="double")
    assert world.backend == "reference"


def test_the_schema_is_there():
    assert "materials" in rockfall.schema()["properties"]


def test_notes_say_what_was_derived(bowl):
    bowl.body("ball", (0, 1, 0))
    warnings, notes = bowl.check()
    assert warnings == [] and any("time step" in note for note in notes)
