"""Folders of runs, checkpoints and pictures on disk."""

import importlib.util
import json
import shutil

import numpy
import pytest
from conftest import HAS_ADAPTER, program, software, start

import rockfall

needs_adapter = pytest.mark.skipif(not HAS_ADAPTER, reason="nothing draws here")
needs_ffmpeg = pytest.mark.skipif(shutil.which("ffmpeg") is None, reason="ffmpeg is not installed")


@pytest.fixture
def scene(bowl):
    bowl.fill("ball", count=20, min=(-0.3, 0.06, -0.3), max=(0.3, 1, 0.3), seed=1)
    return bowl


def test_a_run_is_written_and_read(scene, tmp_path):
    world = start(scene)
    frames = list(world.run(seconds=0.1, every=0.02, out=tmp_path / "out"))
    run = rockfall.read(tmp_path / "out")
    assert run.record["status"] == "finished" and run.summary["state_hash"] == world.state_hash
    assert run.steps() == [0] + [frame.steps for frame in frames]
    assert run.vectors("position") == pytest.approx(world.positions)
    assert run.statistics()["time_s"][-1] == pytest.approx(0.1)
    assert run.scene["name"] == "bowl"
    with pytest.raises(ValueError, match="found no state of step 7"):
        run.state(step=7)
    with pytest.raises(ValueError, match="found no states of spheres"):
        run.state("spheres")
    with pytest.raises(FileExistsError, match="already has a run"):
        world.record(tmp_path / "out")
    with pytest.raises(FileNotFoundError, match="run.json"):
        rockfall.read(tmp_path)


def test_files_are_read_without_the_compiled_part(scene, tmp_path):
    list(start(scene).run(seconds=0.02, every=0.02, out=tmp_path / "out"))
    spec = importlib.util.spec_from_file_location("alone", rockfall.run.__file__)
    alone = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(alone)
    run = alone.Run(tmp_path / "out")
    assert (run.vectors("position") == rockfall.read(tmp_path / "out").vectors("position")).all()
    with pytest.raises(ImportError, match="open the run with rockfall.read"):
        run.measure()


def test_collisions_are_counted_and_read(scene, tmp_path):
    world = start(scene)
    with pytest.raises(ValueError, match="does not ask for collisions"):
        world.collisions()
    scene.set(measure={"collisions": True})
    world = start(scene)
    list(world.run(seconds=0.4, every=0.1, out=tmp_path / "out"))
    spectra = world.collisions()
    kept = rockfall.read(tmp_path / "out").collisions()
    assert set(spectra) == set(kept) == {"impact_speed_m_per_s", "dissipated_energy_J"}
    for quantity, classes in spectra.items():
        assert (classes["from"] < classes["to"]).all() and classes["collisions"].sum() >= 20
        assert (kept[quantity] == classes).all()
    run = rockfall.read(tmp_path / "out")
    averages = run.measure(window=0.2)
    assert averages["time_s"] == pytest.approx([0.05, 0.25, 0.4])
    early, late = run.totals(end=0.2)["collisions"], run.totals(start=0.2)["collisions"]
    counts = [sum(row["collisions"] for row in part["impact_speed_m_per_s"]) for part in (early, late)]
    assert averages["collisions"][0] == counts[0] and sum(averages["collisions"]) == sum(counts)
    assert sum(counts) == spectra["impact_speed_m_per_s"]["collisions"].sum()
    assert run.totals()["residence"] is None
    with pytest.raises(ValueError, match="window: found 0, expected a time greater than 0"):
        run.measure(window=0)
    total = spectra["impact_speed_m_per_s"]["dissipated_J"].sum()
    energy = world.energy()
    assert 0 < total <= (energy["damping"] + energy["friction"]) * (1 + 1e-6)


def test_a_kept_run_is_measured(scene, tmp_path):
    world = start(scene)
    with world.record(tmp_path / "out", seconds=0.4, every=0.2, states=["bodies", "contacts"]):
        world.run_for(0.4)
    run = rockfall.read(tmp_path / "out")
    measures = run.measure(mixing="mass", slope=((0, 1, 0), (1, 0, 0)))
    now = world.measure()
    assert measures["time_s"] == pytest.approx([0, 0.2, 0.4])
    assert measures["coordination"][-1] == pytest.approx(now["coordination"])
    assert {"lacey_index", "slope_degrees"} <= set(measures)
    assert "lacey_index" not in run.measure()
    with pytest.raises(ValueError, match="expected mass, volume, or a shape or material of the scene"):
        run.measure(mixing="bal")

    grid = ((2, 3, 4), (-1, -1, -1), (1, 2, 1), 1.0)
    fields = run.fields(*grid, start=0.4)
    present = world.fields(*grid)
    assert set(fields) == set(present) and fields["velocity"].shape == (2, 3, 4, 3)
    assert fields["density"] == pytest.approx(present["density"], rel=1e-5)
    with pytest.raises(ValueError, match="found no state from 1 to inf s"):
        run.fields(*grid, start=1.0)


def test_a_run_is_a_table_of_pandas(scene, tmp_path):
    pandas = pytest.importorskip("pandas")
    world = start(scene)
    with world.record(tmp_path / "out", seconds=0.02, states=["bodies", "contacts"]):
        world.run_for(0.02)
    table = rockfall.read(tmp_path / "out").table()
    assert isinstance(table, pandas.DataFrame) and len(table) == 20 and "position_y" in table
    assert len(rockfall.read(tmp_path / "out").table("statistics")) > 5


def test_a_run_of_the_command_line_is_read_and_gone_on_with(scene, tmp_path):
    scene.save(tmp_path / "bowl.json")
    program("run", tmp_path / "bowl.json", "--backend", "cpu", "--steps", 300, "--out", tmp_path / "out")
    world = rockfall.resume(tmp_path / "out", seconds=0.1)
    assert world.steps == 300
    world.run_until(0.1)
    world.finish()
    straight = start(scene)
    straight.run_until(0.1)
    assert rockfall.read(tmp_path / "out").summary["state_hash"] == straight.state_hash


def test_a_run_that_is_left_early_is_stopped_and_goes_on(scene, tmp_path):
    world = start(scene)
    for frame in world.run(seconds=0.1, every=0.02, out=tmp_path / "out"):
        if frame.index == 1:
            break
    del frame
    again = rockfall.resume(tmp_path / "out")
    assert rockfall.read(tmp_path / "out").record["status"] == "running"
    assert again.time == pytest.approx(0.04)
    again.run_until(0.1)
    again.finish()
    assert rockfall.read(tmp_path / "out").record["status"] == "finished"
    world.run_until(0.1)
    assert again.state_hash == world.state_hash


def test_what_cannot_be_recorded_is_refused(scene, tmp_path):
    world = start(scene)
    with pytest.raises(ValueError, match="every: found -1, expected a time greater than 0"):
        world.record(tmp_path / "out", every=-1)
    with pytest.raises(ValueError, match='states: found "bodys", expected one of bodies, spheres'):
        world.record(tmp_path / "out", states=["bodys"])
    with pytest.raises(ValueError, match='states: found "walls", expected one of bodies, spheres, contacts, bonds'):
        world.record(tmp_path / "out", states=["walls"])
    with world.record(tmp_path / "out"):
        with pytest.raises(ValueError, match="is being recorded"):
            world.record(tmp_path / "other")


@needs_adapter
def test_a_picture_is_an_array_that_shows_itself(scene, tmp_path):
    world = start(scene)
    world.step(10)
    picture = world.picture(size=(160, 90), colour="speed", adapter=software())
    assert picture.shape == (90, 160, 3) and picture.dtype == numpy.uint8
    assert len(numpy.unique(picture.reshape(-1, 3), axis=0)) > 50
    assert picture._repr_png_().startswith(b"\x89PNG")
    assert picture[:, :, 0]._repr_png_() is None
    picture.save(tmp_path / "picture.png")
    assert (tmp_path / "picture.png").read_bytes() == picture.png()
    with pytest.raises(ValueError, match=".png or .jpg"):
        picture.save(tmp_path / "picture.gif")
    with pytest.raises(ValueError, match='colour: found "red", expected one of body'):
        world.picture(colour="red")
    for argument in ("lines", "clip", "background", "ground"):
        with pytest.raises(ValueError, match=f'{argument}: found "red", expected'):
            world.picture(**{argument: "red"})
    with pytest.raises(ValueError, match="no channel"):
        world.picture(background="transparent")
    look = {"plain": True, "background": "white", "ground": "none", "adapter": software()}
    bodies = world.picture(size=(160, 90), **look)
    assert (bodies[0, 0] == 255).all() and (bodies < 200).any()
    lines = world.picture(size=(160, 90), lines="velocity", **look)
    assert (lines != bodies).any()
    with pytest.raises(ValueError, match="the point at which the camera looks"):
        world.picture(eye=(0, 1, 0), target=(0, 1, 0), adapter=software())


@needs_adapter
@needs_ffmpeg
def test_a_film_shows_itself(scene, tmp_path):
    world = start(scene)
    film = world.film(0.1, fps=50, size=(64, 48), adapter=software(), plain=True)
    assert len(film) == 6 and world.time == pytest.approx(0.1)
    assert film[0].shape == (48, 64, 3) and not numpy.array_equal(film[0], film[5])
    film.save(tmp_path / "film.mp4")
    assert (tmp_path / "film.mp4").stat().st_size > 500
    assert "video/mp4" in film._repr_html_()
    film.save(tmp_path / "film.gif")
    assert (tmp_path / "film.gif").read_bytes().startswith(b"GIF89a")
    with pytest.raises(ValueError, match=".mp4, .webm or .gif"):
        film.save(tmp_path / "film.avi")


@needs_adapter
def test_a_law_of_ones_own_in_wgsl(tmp_path):
    law = """fn contact_law(contact: Contact, pair: Pair, history: History, params: Params) -> Response {
    return with_history(contact, pair, history, params);
}
"""
    (tmp_path / "own.wgsl").write_text(law)

    def bounce(**contact):
        scene = rockfall.Scene("bounce", folder=tmp_path)
        stone = scene.material("stone", density=2600, friction=0.3, restitution=0.8)
        scene.body(scene.sphere("ball", stone, radius=0.05), (0, 0.051, 0), velocity=(1, -1, 0))
        scene.plane("floor", stone)
        scene.contact(stiffness=1e5, time_step=2e-5, **contact)
        world = start(scene, "gpu")
        world.step(1000)
        return world

    own, hooke = bounce(normal="custom", file="own.wgsl"), bounce(normal="hooke", tangential="history")
    assert own.state_hash == hooke.state_hash
    with pytest.raises(ValueError, match="runs on the GPU engine only"):
        scene = rockfall.Scene("cpu", folder=tmp_path)
        stone = scene.material("stone", density=2600, friction=0.3, restitution=0.8)
        scene.body(scene.sphere("ball", stone, radius=0.05), (0, 1, 0))
        scene.contact(normal="custom", file="own.wgsl", stiffness=1e5, time_step=2e-5)
        scene.world("cpu")


def test_record_json_is_json(scene, tmp_path):
    world = start(scene)
    with world.record(tmp_path / "out", seconds=0.01):
        world.run_for(0.01)
    record = json.loads((tmp_path / "out" / "run.json").read_text())
    assert record["parts"][0]["backend"] == "cpu"
