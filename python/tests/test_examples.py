"""The examples, at small sizes."""

import importlib
import re
import shlex
import shutil
import sys

import pytest
from conftest import HAS_ADAPTER, REPOSITORY, program

sys.path.insert(0, str(REPOSITORY / "python" / "examples"))
pytest.importorskip("matplotlib")
pytest.importorskip("scipy")

SMALL = ["--layers", "6", "--length", "8", "--backend", "cpu", "--threads", "1"]


def test_angle_of_repose(tmp_path):
    example = importlib.import_module("angle_of_repose")
    degrees = example.main([*SMALL, "--out", str(tmp_path / "plot.png")])
    assert 10 < degrees < 45
    assert (tmp_path / "plot.png").stat().st_size > 5000


def test_hopper_discharge():
    example = importlib.import_module("hopper_discharge")
    small = ["--grains", "800", "--hole", "0.05", "--backend", "cpu", "--threads", "1"]
    measured, expected = example.main(small)
    assert 0.5 < measured / expected < 1.6


def test_drum_mixing(tmp_path):
    example = importlib.import_module("drum_mixing")
    plot = str(tmp_path / "plot.png")
    indices = example.main(
        ["--grains", "200", "--radius", "0.07", "--seconds", "1", "--speed", "8", "--backend", "cpu", "--threads", "1",
         "--out", plot]
    )
    assert indices[0] < 0.5 and indices[-1] > indices[0] + 0.2
    assert (tmp_path / "plot.png").stat().st_size > 5000


def test_calibration():
    example = importlib.import_module("calibrate_friction")
    friction, degrees = example.main([*SMALL, "--angle", "22", "--seeds", "1", "--most", "3"])
    assert 0.05 < friction < 0.9 and abs(degrees - 22) < 8


def blocks(page, language):
    """The blocks of code on a page of the handbook."""
    text = (REPOSITORY / "docs" / "book" / "src" / page).read_text("utf-8")
    return re.findall(rf"^```{re.escape(language)}\n(.*?)^```", text, re.M | re.S)


def execute(code):
    exec(compile("".join(code), "page.py", "exec"), {})  # noqa: S102


def test_the_tutorial_of_the_handbook(capsys):
    code = blocks("tutorials/python.md", "python column.py")
    assert len(code) == 2
    execute(code)
    assert capsys.readouterr().out.count(" s: top at ") == 4


@pytest.mark.skipif(not HAS_ADAPTER, reason="no adapter for pictures")
@pytest.mark.skipif(not shutil.which("ffmpeg"), reason="no ffmpeg for the film")
def test_the_page_about_python(tmp_path, monkeypatch):
    pytest.importorskip("pandas")
    monkeypatch.chdir(tmp_path)
    code = blocks("python.md", "python")
    assert len(code) == 2
    execute(code)
    for name in ["end.png", "fall.mp4"]:
        assert (tmp_path / name).stat().st_size > 5000


def test_the_page_about_sweeps(tmp_path, monkeypatch):
    pytest.importorskip("pandas")
    monkeypatch.chdir(tmp_path)
    [commands] = blocks("how-to/sweep.md", "sh")
    for line in commands.splitlines():
        _, *arguments = shlex.split(line)
        program(*arguments, folder=tmp_path)
    [code] = blocks("how-to/sweep.md", "python")
    execute(code)
