"""Rockfall simulates large piles of rigid bodies by the discrete element method (DEM), on GPUs and CPUs.

    import rockfall

    scene = rockfall.load("scenes/pile.json")      # or rockfall.Scene("mine"), built in Python
    world = scene.world(backend="cpu")             # "auto", "cpu", "gpu" or "reference"
    for frame in world.run(seconds=1.5, every=0.1):
        print(frame.time, world.positions[:, 1].max())
    world.picture()                                # a notebook displays it

The package has:

- `load`, `Scene`: scenes, with the same fields in Python as in JSON. `Scene.save` writes a file, `Scene.world` starts a world.
- `World`: a simulation that a program drives: steps, bodies, walls, arrays, queries, events, pictures, checkpoints.
- `Body`: one body of a world, which you can read, push and remove. `Wall`: one wall, which you can drive.
- `read`: opens the folder of a run. `resume`: continues the run in a folder.
- `Picture`, `Film`: arrays of pixels that a notebook displays.
- Exceptions: `SceneError` (a ValueError), `BodyGoneError` (a LookupError), and `RockfallError` (a RuntimeError) with
  `RunawayError`, `DeviceError` and `CancelledError`; otherwise ValueError, FileNotFoundError, FileExistsError and OSError.

Units are SI (m, kg, s, N, rad). y is up unless gravity says otherwise. Quaternions are x, y, z, w. Any sequence of three numbers
is a vector; results are numpy arrays.
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
