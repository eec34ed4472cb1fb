"""Rockfall: massive piles of rigid bodies, on any GPU and on CPUs, by the discrete element method (DEM).

    import rockfall

    scene = rockfall.load("scenes/pile.json")      # or rockfall.Scene("mine"), put together in Python
    world = scene.world(backend="cpu")             # "auto", "cpu", "gpu" or "reference"
    for frame in world.run(seconds=1.5, every=0.1):
        print(frame.time, world.positions[:, 1].max())
    world.picture()                                # shows itself in a notebook

What there is:

- `load`, `Scene`: scenes, the same in Python as in JSON. `Scene.save` writes the file, `Scene.world` starts it.
- `World`: a simulation that you drive: steps, bodies, walls, arrays, questions, events, pictures, checkpoints.
- `Body`, `Wall`: one body of a world, to be read, pushed and taken away; a wall, to be driven.
- `read`: the folder of a run on disk. `resume`: goes on with one.
- `Picture`, `Film`: arrays of pixels that show themselves in a notebook.
- Exceptions: `SceneError` (a ValueError), `BodyGoneError` (a LookupError), and `RockfallError` (a RuntimeError) with
  `RunawayError`, `DeviceError` and `CancelledError`; otherwise ValueError, FileNotFoundError and OSError.

Units are SI (m, kg, s, N, rad), y is up unless gravity says otherwise, quaternions are x, y, z, w. Vectors are anything
of three numbers, and come back as numpy arrays.
"""

from ._core import (
    BodyGoneError,
    CancelledError,
    DeviceError,
    RockfallError,
    RunawayError,
    SceneError,
    __version__,
)
from .picture import Film, Picture
from .run import Run, read
from .scene import Name, Scene, load, schema
from .world import BOND, CONTACT, Body, Event, Frame, Nearest, RayHit, Recording, Wall, World, resume

__all__ = [
    "BOND",
    "CONTACT",
    "Body",
    "BodyGoneError",
    "CancelledError",
    "DeviceError",
    "Event",
    "Film",
    "Frame",
    "Name",
    "Nearest",
    "Picture",
    "RayHit",
    "Recording",
    "RockfallError",
    "Run",
    "RunawayError",
    "Scene",
    "SceneError",
    "Wall",
    "World",
    "__version__",
    "load",
    "read",
    "resume",
    "schema",
]
