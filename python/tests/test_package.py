"""The package itself: documentation, types, and what a call costs."""

import inspect
import os
import pydoc
import subprocess
import sys
import time
from pathlib import Path

import pytest
from conftest import start

import rockfall


def public(thing):
    return [name for name in vars(thing) if not name.startswith("_")]


def test_everything_public_is_documented():
    bare = []
    for name in rockfall.__all__:
        thing = getattr(rockfall, name)
        if not inspect.isclass(thing) and not inspect.isfunction(thing):
            continue
        if not (thing.__doc__ or "").strip():
            bare.append(name)
        for member in public(thing) if inspect.isclass(thing) else []:
            own = inspect.getattr_static(thing, member)
            is_code = inspect.isfunction(own) or isinstance(own, (property, classmethod, staticmethod))
            if is_code and not (own.__doc__ or "").strip():
                bare.append(f"{name}.{member}")
    assert bare == []


def test_help_helps():
    text = pydoc.render_doc(rockfall)
    for word in ["load", "Scene", "World", "SceneError", "Units are SI"]:
        assert word in text
    assert "shape (n, 3)" in pydoc.render_doc(rockfall.World)


def test_types_are_there_and_hold(tmp_path):
    pytest.importorskip("mypy")
    assert (Path(rockfall.__file__).parent / "py.typed").exists()
    program = tmp_path / "program.py"
    program.write_text(
        "import numpy\n"
        "import rockfall\n"
        "world = rockfall.load('pile.json').world(backend='cpu')\n"
        "body: rockfall.Body = world.spawn('ball', (0, 1, 0))\n"
        "heights: numpy.ndarray = world.positions[:, 1]\n"
        "for frame in world.run(seconds=1, every=0.1):\n"
        "    time: float = frame.time\n"
        "world.step('ten')  # wrong\n"
    )
    done = subprocess.run(
        [sys.executable, "-m", "mypy", "--cache-dir", str(tmp_path / "cache"), str(program)],
        cwd=tmp_path, capture_output=True, text=True,
    )  # fmt: skip
    errors = [line for line in done.stdout.splitlines() if "error:" in line]
    assert len(errors) == 1 and "program.py:8" in errors[0], done.stdout + done.stderr


def test_the_stub_has_what_the_library_has():
    from rockfall import _core

    stub = (Path(rockfall.__file__).parent / "_core.pyi").read_text()
    for name in ["World", "Scene", "Memory", "Film"]:
        for member in public(getattr(_core, name)):
            assert f"def {member}(" in stub or f"    {member}: " in stub, f"{name}.{member}"


@pytest.mark.skipif("ROCKFALL_TIMED" not in os.environ, reason="`cargo xtask test --long` times")
def test_a_thousand_calls_of_ten_steps_cost_as_one_of_ten_thousand(bowl):
    """By ratio, the best of several in turns."""
    bowl.plane("left", "stone", normal=(1, 0, 0), point=(-0.6, 0, 0))
    bowl.plane("right", "stone", normal=(-1, 0, 0), point=(0.6, 0, 0))
    bowl.plane("back", "stone", normal=(0, 0, 1), point=(0, 0, -0.6))
    bowl.plane("front", "stone", normal=(0, 0, -1), point=(0, 0, 0.6))
    bowl.fill("ball", count=1000, min=(-0.55, 0.06, -0.55), max=(0.55, 3, 0.55), seed=1)
    world = start(bowl)
    world.run_for(1)
    state = world.checkpoint()

    def timed(calls, steps):
        world.restore(state)
        world.step(100)
        began = time.perf_counter()
        for _ in range(calls):
            world.step(steps)
        return time.perf_counter() - began

    one, many = [], []
    for _ in range(4):
        one.append(timed(1, 10_000))
        many.append(timed(1000, 10))
    ratio = min(many) / min(one)
    print(f"1,000 calls of 10 steps cost {ratio:.3f} of one of 10,000 ({min(one):.3f} s)")
    assert ratio < 1.1
