"""Tests of the installed package: `cargo xtask test` runs them in an environment of their own.

ROCKFALL names the program, for what it and Python must agree on.
"""

import os
import subprocess
from pathlib import Path

import pytest

import rockfall

REPOSITORY = Path(__file__).resolve().parents[2]
SCENES = REPOSITORY / "scenes"
assert REPOSITORY not in Path(rockfall.__file__).resolve().parents or "site-packages" in rockfall.__file__, (
    "the tests are of the installed package, and not of its source"
)


def software():
    """The adapter for tests of the GPU engine."""
    return os.environ.get("ROCKFALL_TEST_ADAPTER", "llvmpipe")


def has_adapter():
    scene = rockfall.Scene("probe", gravity=(0, 0, 0)).contact(stiffness=1e4, time_step=1e-4)
    ball = scene.sphere("ball", scene.material("m", density=1000, friction=0, restitution=0.5), radius=0.1)
    scene.body(ball, (0, 0, 0))
    try:
        scene.world("gpu", adapter=software())
    except rockfall.DeviceError:
        return False
    return True


HAS_ADAPTER = has_adapter()
GPU = pytest.param("gpu", marks=pytest.mark.skipif(not HAS_ADAPTER, reason="no adapter for the GPU engine"))


@pytest.fixture(params=["cpu", GPU])
def backend(request):
    """Both engines, the GPU's on the software adapter."""
    return request.param


def start(scene, backend="cpu", **options):
    """A world on an engine."""
    if backend == "gpu":
        return scene.world("gpu", adapter=software(), **options)
    return scene.world(backend, threads=2 if backend == "cpu" else None, **options)


def program(*arguments, folder=REPOSITORY):
    """Runs the command line, and returns what it prints."""
    rockfall_program = os.environ.get("ROCKFALL")
    if not rockfall_program:
        pytest.skip("ROCKFALL names no program")
    done = subprocess.run(
        [rockfall_program, *map(str, arguments)], cwd=folder, check=True, capture_output=True, text=True
    )
    return done.stdout


@pytest.fixture
def bowl():
    """A scene in Python: a box without a lid, a floor, two shapes, two groups."""
    scene = rockfall.Scene("bowl", duration=0.2)
    stone = scene.material("stone", density=2500, friction=0.5, restitution=0.3)
    scene.sphere("ball", stone, radius=0.05)
    scene.clump("pair", stone, centers=[(-0.03, 0, 0), (0.03, 0, 0)], radii=0.04)
    scene.group("red")
    scene.plane("floor", stone)
    scene.contact(normal="hooke", tangential="history", stiffness=2e4, time_step=2e-4)
    return scene
