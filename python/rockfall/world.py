"""Worlds: simulations that a program drives."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any, Callable, Dict, Iterator, List, NamedTuple, Optional, Sequence, Tuple, Union

import numpy

from . import _core
from .picture import Film, Picture
from .run import COLLISIONS, field_arrays

Vector = Union[Sequence[float], numpy.ndarray]
PathLike = Union[str, "os.PathLike[str]"]
Bodies = Union["Body", Sequence[Union["Body", int]], numpy.ndarray]

CONTACT = numpy.dtype(
    [
        ("body", "i8"),
        ("other", "i8"),
        ("wall", "i8"),
        ("overlap", "f8"),
        ("overlap_fraction", "f8"),
        ("point", "f8", (3,)),
        ("normal", "f8", (3,)),
        ("force", "f8", (3,)),
        ("torque", "f8", (3,)),
    ]
)
"""A row of `World.contacts`.

body: number of the body; other: number of the other body, or -1; wall: index of the wall, or -1. overlap: m;
overlap_fraction: overlap over the smaller radius. point: m; normal: unit vector from the body to the other surface.
force: on the body, N; torque: of rolling and twisting resistance on the body, N m.
"""

BOND = numpy.dtype(
    [
        ("body", "i8"),
        ("other", "i8"),
        ("broken", "i8"),
        ("breaks", "i8"),
        ("time", "f8"),
        ("energy", "f8"),
        ("load", "f8"),
        ("tension", "f8"),
        ("shear", "f8"),
        ("place", "f8", (3,)),
        ("force", "f8", (3,)),
        ("moment", "f8", (3,)),
    ]
)
"""A row of `World.bonds`.

body, other: numbers of the two bodies. broken: 0 while the bond holds, 1 if tension broke it, 2 if shear did; breaks: how often it
has broken; time: of its last break or healing, s, or -1. energy: elastic energy, J, now or at the break. load: stress over strength; tension, shear: largest stresses
at the edge of the bond, Pa. place: its middle, m, now or at the break; force, moment: on the body, about the middle, N and N m.
"""


class Event(NamedTuple):
    """Something that happened, see `World.events`."""

    kind: str
    """"contact began", "contact ended", "wall contact began", "wall contact ended", "body entered", "body left", "bond broke" or
    "bond healed"."""
    bodies: Tuple[Body, ...]
    """The two bodies of a contact or a bond, otherwise the one body. A body that has left no longer exists."""
    wall: Optional[str]
    """Name of the wall, for contacts with walls; otherwise None."""


class RayHit(NamedTuple):
    """The point at which a ray meets a body, see `World.cast_ray`."""

    body: Body
    distance: float
    """Distance from the start of the ray, m; 0 if the ray starts inside the body."""
    point: numpy.ndarray
    """Point on the surface of the body, m, shape (3,)."""
    normal: numpy.ndarray
    """Outward unit normal of the surface at that point, shape (3,)."""


class Nearest(NamedTuple):
    """The body nearest to a point, see `World.nearest_body`."""

    body: Body
    distance: float
    """Distance from the point to the surface of the body, m; negative if the point is inside."""
    point: numpy.ndarray
    """Nearest point of that surface, m, shape (3,)."""


class Frame(NamedTuple):
    """A moment of `World.run`, at which you may read and change the world."""

    index: int
    """Number of the frame, counted from 0."""
    time: float
    """Simulated time, s."""
    steps: int
    """Steps taken since the start of the world."""
    world: World


class Body:
    """A body of a world, from `World.spawn` or `World.body`.

    It stands for one body for ever. Once that body has left the world, everything except `id` and `exists` raises BodyGoneError.
    A value that makes no sense raises ValueError, and so does pushing a fixed body.
    """

    __slots__ = ("_world", "id")

    id: int
    """Number of the body; no other body of the world ever gets it."""

    def __init__(self, world: World, id: int):
        self._world = world
        self.id = id

    def __repr__(self) -> str:
        return f"<Body {self.id}>" if self.exists else f"<Body {self.id}, gone>"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Body) and self.id == other.id and self._world is other._world

    def __hash__(self) -> int:
        return hash(self.id)

    def _state(self) -> Dict[str, Any]:
        return self._world._core.body(self.id)

    @property
    def exists(self) -> bool:
        """Whether the body still exists."""
        return self._world._core.index_of(self.id) is not None

    @property
    def index(self) -> int:
        """Current row of the body in the arrays of the world."""
        index = self._world._core.index_of(self.id)
        if index is None:
            self._state()
            raise AssertionError("a body that is not there cannot be read")
        return index

    @property
    def shape(self) -> str:
        """Name of the body's shape."""
        return self._world._names[0][self._state()["shape"]]

    @property
    def mass(self) -> float:
        """Mass, kg."""
        return self._state()["mass"]

    @property
    def position(self) -> numpy.ndarray:
        """Centre of mass, m, shape (3,). Settable: the body moves there at once and keeps its velocities."""
        return numpy.array(self._state()["position"])

    @position.setter
    def position(self, position: Vector) -> None:
        now = self._state()
        way = numpy.array(_vector("position", position)) - now["position"]
        self._world._core.set_pose(self.id, (now["origin"] + way).tolist(), now["orientation"])

    @property
    def origin(self) -> numpy.ndarray:
        """Origin of the shape's own axes, m, shape (3,)."""
        return numpy.array(self._state()["origin"])

    @property
    def orientation(self) -> numpy.ndarray:
        """Rotation from the shape's own axes to the world's: a unit quaternion x, y, z, w, shape (4,). Settable.

        If set, the body turns about its centre of mass at once.
        """
        return numpy.array(self._state()["orientation"])

    @orientation.setter
    def orientation(self, orientation: Vector) -> None:
        now = self._state()
        new = _numbers("orientation", orientation, 4)
        position = numpy.array(now["position"])
        arm = _turned(_conjugate(now["orientation"]), now["origin"] - position)
        self._world._core.set_pose(self.id, (position + _turned(new, arm)).tolist(), new)

    def set_pose(self, origin: Vector, orientation: Vector = (0, 0, 0, 1)) -> None:
        """Sets the origin of the shape's own axes, m, and their orientation, a unit quaternion x, y, z, w."""
        self._world._core.set_pose(self.id, _vector("origin", origin), _numbers("orientation", orientation, 4))

    @property
    def velocity(self) -> numpy.ndarray:
        """Velocity of the centre of mass, m/s, shape (3,). Settable."""
        return numpy.array(self._state()["velocity"])

    @velocity.setter
    def velocity(self, velocity: Vector) -> None:
        self._world._core.set_velocity(self.id, _vector("velocity", velocity))

    @property
    def angular_velocity(self) -> numpy.ndarray:
        """Angular velocity in the axes of the world, rad/s, shape (3,). Settable."""
        return numpy.array(self._state()["angular_velocity"])

    @angular_velocity.setter
    def angular_velocity(self, velocity: Vector) -> None:
        self._world._core.set_angular_velocity(self.id, _vector("angular velocity", velocity))

    @property
    def fixed(self) -> bool:
        """Whether the body is fixed: it takes part in contacts and does not move. Settable: a freed body starts at rest."""
        return self._state()["fixed"]

    @fixed.setter
    def fixed(self, fixed: bool) -> None:
        self._world._core.set_fixed(self.id, fixed)

    @property
    def group(self) -> str:
        """Name of the body's group; bodies in no other group are in "all". Settable."""
        return self._world._names[2][self._world._core.group_of(self.id)]

    @group.setter
    def group(self, group: str) -> None:
        self._world._core.set_group(self.id, self._world._index(2, group))

    @property
    def temperature(self) -> Optional[float]:
        """Temperature, K; None in a scene without heat."""
        return self._state()["temperature"]

    @property
    def asleep(self) -> bool:
        """Whether the body sleeps."""
        return self._world._core.is_asleep(self.id)

    def apply_impulse(self, impulse: Vector, point: Optional[Vector] = None) -> None:
        """Applies an impulse, N s, at a point of the world, m; by default at the centre of mass."""
        at = None if point is None else _vector("point", point)
        self._world._core.apply_impulse(self.id, _vector("impulse", impulse), at)

    def apply_angular_impulse(self, impulse: Vector) -> None:
        """Applies an angular impulse, N m s."""
        self._world._core.apply_angular_impulse(self.id, _vector("angular impulse", impulse))

    def set_force(self, force: Vector = (0, 0, 0), torque: Vector = (0, 0, 0)) -> None:
        """Sets a force (N) and a torque (N m) that act on the body from now on, in the axes of the world.

        They replace those of the last call; zeros end them.
        """
        self._world._core.set_applied_force(self.id, _vector("force", force), _vector("torque", torque))

    def despawn(self) -> None:
        """Removes the body before the next step."""
        self._world.despawn(self)


class Wall:
    """A wall of a world, from `World.wall`.

    Setting a value that makes no sense raises ValueError.
    """

    __slots__ = ("_world", "index", "name")

    index: int
    """Index of the wall, as in `World.contacts`."""
    name: str

    def __init__(self, world: World, index: int, name: str):
        self._world = world
        self.index = index
        self.name = name

    def __repr__(self) -> str:
        return f"<Wall {self.index} {self.name!r}>"

    def _get(self, what: str) -> numpy.ndarray:
        return numpy.array(self._world._core.wall(self.index)[what])

    @property
    def position(self) -> numpy.ndarray:
        """Origin of the wall's own frame, m, shape (3,). Settable, unless the wall moves by itself (ValueError)."""
        return self._get("position")

    @position.setter
    def position(self, position: Vector) -> None:
        way = numpy.array(_vector("position", position)) - self.position
        self._world._core.move_wall(self.index, way.tolist())

    @property
    def orientation(self) -> numpy.ndarray:
        """Rotation from the wall's own frame to the world: a unit quaternion x, y, z, w, shape (4,)."""
        return self._get("orientation")

    @property
    def velocity(self) -> numpy.ndarray:
        """Velocity, m/s, shape (3,). Settable, as by `drive`."""
        return self._get("velocity")

    @velocity.setter
    def velocity(self, velocity: Vector) -> None:
        self.drive(velocity)

    @property
    def angular_velocity(self) -> numpy.ndarray:
        """Angular velocity in the axes of the world, rad/s, shape (3,)."""
        return self._get("angular_velocity")

    def drive(self, velocity: Vector = (0, 0, 0), angular_velocity: Vector = (0, 0, 0)) -> None:
        """Moves the wall from now on at a velocity (m/s) and an angular velocity (rad/s) about its position.

        This replaces its earlier motion. Raises ValueError if forces move the wall.
        """
        self._world._core.set_wall_velocity(
            self.index, _vector("velocity", velocity), _vector("angular velocity", angular_velocity)
        )

    @property
    def force(self) -> numpy.ndarray:
        """Force of the contacts on the wall in the last step, N, shape (3,)."""
        return self._get("force")

    @property
    def torque(self) -> numpy.ndarray:
        """Torque of the contacts on the wall about its position in the last step, N m, shape (3,)."""
        return self._get("torque")

    def set_temperature(self, temperature: Optional[float]) -> None:
        """Sets the temperature, K; with None, the wall conducts nothing. Raises ValueError in a scene without heat."""
        self._world._core.set_wall_temperature(self.index, temperature)


class Recording:
    """The folder that a world is written to, see `World.record`. The end of a `with` block finishes it."""

    def __init__(self, world: World, folder: Path):
        self._world = world
        self.folder = folder

    def __enter__(self) -> Recording:
        return self

    def __exit__(self, *_: object) -> None:
        self.finish()

    def finish(self) -> None:
        """Writes the last state, a checkpoint and the summary, and waits until everything is on disk."""
        self._world.finish()


class World:
    """A simulation that a program drives; `Scene.world` starts one.

    Arrays have a row for each body, in the order of `ids`. They are copies, except `velocities` and `angular_momenta`.
    While one thread uses a world, calls from other threads raise RuntimeError, except `cancel`.
    """

    def __init__(self, core: _core.World):
        self._core = core
        self._names = core.names()
        self._callbacks: List[Tuple[int, Callable[[World], Any]]] = []
        self._is_calling = False

    def __repr__(self) -> str:
        return f"<World on {self.adapter}: {len(self)} bodies, {self.steps} steps, {self.time:.6g} s>"

    def __len__(self) -> int:
        """Current number of bodies."""
        return self._core.body_count

    # What it is, and how far it has come.

    @property
    def backend(self) -> str:
        """Name of the engine: "cpu", "gpu" or "reference"."""
        return self._core.backend

    @property
    def adapter(self) -> str:
        """Description of the device that the engine runs on."""
        return self._core.adapter

    @property
    def steps(self) -> int:
        """Number of steps taken."""
        return self._core.steps

    @property
    def time(self) -> float:
        """Simulated time, s."""
        return self._core.time

    @property
    def duration(self) -> float:
        """Duration of the scene: the simulated time that a run covers, s."""
        return self._core.duration

    @property
    def time_step(self) -> float:
        """Time step, s. Settable, without a check of stability."""
        return self._core.time_step

    @time_step.setter
    def time_step(self, time_step: float) -> None:
        self._core.time_step = time_step

    @property
    def body_count(self) -> int:
        """Current number of bodies."""
        return self._core.body_count

    @property
    def sphere_count(self) -> int:
        """Current number of spheres."""
        return self._core.sphere_count

    # Steps.

    def step(self, n: int = 1) -> None:
        """Takes n steps while Python's other threads run. Ctrl-C stops after the current step; the world can continue.

        Raises RunawayError if a body moves too fast to be followed, CancelledError after `cancel`, DeviceError if the GPU is
        lost, and ValueError if n is negative.
        """
        if n < 0:
            raise ValueError(f"n: found {n}, expected a number of steps, 0 or more")
        if not self._callbacks:
            self._core.step(n)
            return
        if self._is_calling:
            raise RuntimeError("a callback cannot step the world that calls it")
        end = self.steps + n
        while (now := self.steps) < end:
            due = min((now // every + 1) * every for every, _ in self._callbacks)
            self._core.step(min(due, end) - now)
            self._is_calling = True
            try:
                for every, callback in self._callbacks:
                    if self.steps % every == 0:
                        callback(self)
            finally:
                self._is_calling = False
            if not self._callbacks:
                self._core.step(end - self.steps)

    def run_until(self, time: float) -> None:
        """Takes steps up to the simulated time `time`, s, rounded to whole steps. Takes none if that time is past."""
        self.step(self._core.steps_until(time))

    def run_for(self, seconds: float) -> None:
        """Takes steps for `seconds` of simulated time, rounded to whole steps."""
        self.run_until(self.time + seconds)

    def run(
        self,
        seconds: Optional[float] = None,
        every: Optional[float] = None,
        out: Optional[PathLike] = None,
    ) -> Iterator[Frame]:
        """Simulates the next `seconds`, and yields a frame after each `every` seconds of simulated time.

            for frame in world.run(seconds=2, every=0.02):
                print(frame.time, world.positions[:, 1].max())

        Between frames, you may read and change the world. The steps of a frame are taken when the loop asks for it. seconds: by
        default the duration of the scene; every: by default a hundredth of `seconds`; out: a folder for results, see `record`.

        Raises ValueError if `every` is not greater than 0 or `seconds` is negative, and the errors of `step` and `record`.
        """
        seconds = self.duration if seconds is None else seconds
        every = seconds / 100 if every is None else every
        if not (every > 0 and seconds >= 0):
            raise ValueError(f"found seconds={seconds} and every={every}, expected times greater than 0 (s)")
        return self._frames(seconds, every, out)

    def _frames(self, seconds: float, every: float, out: Optional[PathLike]) -> Iterator[Frame]:
        recording = None if out is None else self.record(out, seconds=seconds, every=every)
        start = self.time
        try:
            for index in range(int(seconds / every + 1e-6)):
                self.run_until(start + (index + 1) * every)
                yield Frame(index, self.time, self.steps, self)
            self.run_until(start + seconds)
        finally:
            if recording is not None:
                recording.finish()

    def call_every(self, seconds: float, callback: Callable[[World], Any]) -> Callable[[], None]:
        """Calls `callback(world)` after each `seconds` of simulated time, while steps are taken.

        The callback may read and change the world, but not step it. An exception in it ends the steps. Returns a function that
        ends the calls. Raises ValueError if `seconds` is not greater than 0.
        """
        every = max(1, round(seconds / self.time_step)) if seconds > 0 else 0
        if not every:
            raise ValueError(f"seconds: found {seconds}, expected a time greater than 0 (s)")
        entry = (every, callback)
        self._callbacks = [*self._callbacks, entry]

        def end() -> None:
            self._callbacks = [other for other in self._callbacks if other is not entry]

        return end

    def cancel(self) -> None:
        """Stops the steps that another thread takes, or else the next ones: they raise CancelledError. The world can continue."""
        self._core.cancel()

    # Arrays.

    @property
    def ids(self) -> numpy.ndarray:
        """Numbers of the bodies, int64, shape (n,), in increasing order; a copy. `World.body` takes one of them."""
        return numpy.asarray(self._core.ids())

    @property
    def positions(self) -> numpy.ndarray:
        """Centres of mass, m, float64, shape (n, 3); a copy, because engines store cells and offsets."""
        return numpy.asarray(self._core.positions())

    @property
    def orientations(self) -> numpy.ndarray:
        """Rotations from the shape's own axes to the world's: unit quaternions x, y, z, w, float64, shape (n, 4); a copy."""
        return numpy.asarray(self._core.orientations())

    @property
    def velocities(self) -> numpy.ndarray:
        """Velocities of the centres of mass, m/s, float32, shape (n, 3), read-only.

        On the CPU engine this is a view of the engine's own memory, without a copy; from a GPU it is one copy. The array never
        changes: if you still hold it when the world continues, the world moves to other memory.
        """
        return numpy.asarray(self._core.velocities())

    @property
    def angular_momenta(self) -> numpy.ndarray:
        """Angular momenta about the centres of mass, kg m²/s, float32, shape (n, 3), read-only; a view like `velocities`."""
        return numpy.asarray(self._core.angular_momenta())

    @property
    def angular_velocities(self) -> numpy.ndarray:
        """Angular velocities in the axes of the world, rad/s, float64, shape (n, 3); a copy."""
        return numpy.asarray(self._core.angular_velocities())

    @property
    def forces(self) -> numpy.ndarray:
        """Forces of the contacts on each body in the last step, N, float64, shape (n, 3); a copy."""
        return numpy.asarray(self._core.forces())

    @property
    def torques(self) -> numpy.ndarray:
        """Torques of the contacts about each centre of mass in the last step, N m, float64, shape (n, 3); a copy."""
        return numpy.asarray(self._core.torques())

    @property
    def masses(self) -> numpy.ndarray:
        """Masses, kg, float64, shape (n,); a copy."""
        return numpy.asarray(self._core.masses())

    @property
    def shapes(self) -> numpy.ndarray:
        """Index of each body's shape in `shape_names`, int64, shape (n,); a copy."""
        return numpy.asarray(self._core.kinds())[:, 0]

    @property
    def groups(self) -> numpy.ndarray:
        """Index of each body's group in `group_names`, int64, shape (n,); a copy."""
        return numpy.asarray(self._core.kinds())[:, 1]

    @property
    def fixed(self) -> numpy.ndarray:
        """Whether each body is fixed, bool, shape (n,); a copy."""
        return numpy.asarray(self._core.kinds())[:, 2] != 0

    @property
    def contacts(self) -> numpy.ndarray:
        """Contacts of the last step: a structured array with the fields of `rockfall.CONTACT`, shape (contacts,); a copy.

            forces = world.contacts["force"]        # N, shape (contacts, 3)
        """
        return numpy.asarray(self._core.contacts()).reshape(-1).view(CONTACT)

    @property
    def bonds(self) -> numpy.ndarray:
        """Bonds, including broken ones: a structured array with the fields of `rockfall.BOND`, shape (bonds,); a copy.

            broken = (world.bonds["broken"] > 0).sum()
        """
        return numpy.asarray(self._core.bonds()).reshape(-1).view(BOND)

    @property
    def shape_names(self) -> List[str]:
        """Names of the shapes, by their indices."""
        return list(self._names[0])

    @property
    def material_names(self) -> List[str]:
        """Names of the materials, by their indices."""
        return list(self._names[1])

    @property
    def group_names(self) -> List[str]:
        """Names of the groups, by their indices; bodies in no other group are in the first."""
        return list(self._names[2])

    @property
    def wall_names(self) -> List[str]:
        """Names of the walls, by their indices."""
        return list(self._names[3])

    # Bodies.

    @property
    def bodies(self) -> List[Body]:
        """The current bodies, in the order of the arrays."""
        return [Body(self, own) for own in self.ids.tolist()]

    def body(self, id: int) -> Body:
        """The body with the number `id`, see `ids`. Raises BodyGoneError if it does not exist."""
        body = Body(self, int(id))
        body._state()
        return body

    def spawn(self, shape: str, position: Vector, **more: Any) -> Body:
        """Adds a body before the next step. position: origin of the shape's own axes, m; further keywords as in `spawn_many`."""
        return self.spawn_many(shape, [_vector("position", position)], **more)[0]

    def spawn_many(
        self,
        shape: str,
        positions: Any,
        *,
        orientations: Any = None,
        velocities: Any = None,
        angular_velocities: Any = None,
        fixed: bool = False,
        group: Optional[str] = None,
        temperature: Optional[float] = None,
        **one: Any,
    ) -> List[Body]:
        """Adds bodies of a shape before the next step. Overlaps with other bodies are not checked.

        positions: origins of the shape's own axes, m, shape (n, 3). orientations: unit quaternions x, y, z, w, shape (n, 4);
        velocities: m/s, shape (n, 3); angular_velocities: rad/s, shape (n, 3). Each of these may be one value for all bodies, and
        has a second name: `orientation`, `velocity`, `angular_velocity`. group: name of their group. temperature: K.

        Raises ValueError if a number makes no sense, if the scene has no such shape or group, if a fixed body has a velocity, or
        if a sphere of the shape is smaller or larger than all those of the scene's first bodies, its inlets and the shapes that
        it names under `spawn`. No body is added then.
        """
        arrays = {"orientation": orientations, "velocity": velocities, "angular_velocity": angular_velocities}
        for name, value in one.items():
            if name not in arrays:
                raise TypeError(f"spawn takes no {name!r}; there are {', '.join(arrays)}, fixed, group and temperature")
            arrays[name] = value
        rows = [
            None if value is None else _rows(name, value, 4 if name == "orientation" else 3)
            for name, value in arrays.items()
        ]
        new = self._core.spawn_many(
            self._index(0, shape),
            _rows("positions", positions, 3),
            *rows,
            fixed,
            0 if group is None else self._index(2, group),
            temperature,
        )
        return [Body(self, own) for own in numpy.asarray(new).tolist()]

    def despawn(self, bodies: Bodies) -> None:
        """Removes bodies before the next step: one, several, or an array of their numbers.

        Raises BodyGoneError if one of them does not exist; no body is removed then.
        """
        self._core.despawn_many(_ids(bodies))

    def set_velocities(self, bodies: Bodies, velocities: Any) -> None:
        """Sets the velocities of several bodies, m/s: one for all, or shape (n, 3). bodies: as in `despawn`.

        Raises BodyGoneError if one of them does not exist; no velocity is set then. Raises ValueError if one of them is fixed.
        """
        self._core.set_many("velocities", _ids(bodies), _rows("velocities", velocities, 3))

    def set_angular_velocities(self, bodies: Bodies, velocities: Any) -> None:
        """Sets the angular velocities of several bodies in the axes of the world, rad/s; see `set_velocities`."""
        self._core.set_many("angular_velocities", _ids(bodies), _rows("angular velocities", velocities, 3))

    def apply_impulses(self, bodies: Bodies, impulses: Any) -> None:
        """Applies impulses to several bodies at their centres of mass, N s; see `set_velocities`."""
        self._core.set_many("impulses", _ids(bodies), _rows("impulses", impulses, 3))

    def set_forces(self, bodies: Bodies, forces: Any) -> None:
        """Sets forces that act on several bodies from now on, N, as `Body.set_force` does; zeros end them. See `set_velocities`."""
        self._core.set_many("forces", _ids(bodies), _rows("forces", forces, 3))

    def wake(self) -> None:
        """Wakes all sleeping bodies."""
        self._core.wake()

    # Walls, gravity, drag and materials.

    def wall(self, name: Union[str, int]) -> Wall:
        """The wall with a name or an index. Raises ValueError if there is none."""
        index = name if isinstance(name, int) else self._index(3, name)
        if not 0 <= index < len(self._names[3]):
            raise ValueError(f"there is no wall {index}; the scene has {len(self._names[3])}, numbered from 0")
        return Wall(self, index, self._names[3][index])

    @property
    def walls(self) -> List[Wall]:
        """All walls."""
        return [self.wall(index) for index in range(len(self._names[3]))]

    @property
    def gravity(self) -> numpy.ndarray:
        """Acceleration of gravity, m/s², shape (3,). Settable."""
        return numpy.array(self._core.gravity)

    @gravity.setter
    def gravity(self, gravity: Vector) -> None:
        self._core.gravity = _vector("gravity", gravity)

    def set_drag(self, linear: float = 0.0, angular: float = 0.0) -> None:
        """Sets the drag of all bodies, except those in groups with a drag of their own. linear: N s/m; angular: N m s."""
        self._core.set_drag(linear, angular)

    def pair(self, a: str, b: Optional[str] = None) -> Dict[str, float]:
        """Coefficients of the contact of two materials, or of one with itself, by name: stiffness, friction, damping_ratio, ..."""
        return self._core.pair(self._index(1, a), self._index(1, a if b is None else b))

    def set_pair(self, a: str, b: Optional[str] = None, **numbers: float) -> None:
        """Changes coefficients of the contact of two materials, or of one with itself: `set_pair("stone", friction=0.2)`.

        The names are those of `pair`. Raises ValueError if there is no such name, a number makes no sense, or contacts would
        need a history or a range that the scene did not have at its start.
        """
        changed = [(name, float(number)) for name, number in numbers.items()]
        self._core.set_pair(self._index(1, a), self._index(1, a if b is None else b), changed)

    # Queries.

    def cast_ray(self, origin: Vector, direction: Vector, reach: float = numpy.inf) -> Optional[RayHit]:
        """The first body that a ray from `origin` (m) along `direction` meets within `reach` (m), or None."""
        hit = self._core.cast_ray(_vector("origin", origin), _vector("direction", direction), reach)
        if hit is None:
            return None
        body, distance, point, normal = hit
        return RayHit(Body(self, body), distance, numpy.array(point), numpy.array(normal))

    def bodies_in_box(self, min: Vector, max: Vector) -> List[Body]:
        """Bodies that overlap the box from `min` to `max`, m."""
        found = self._core.bodies_in_box(_vector("min", min), _vector("max", max))
        return [Body(self, own) for own in found]

    def bodies_in_sphere(self, center: Vector, radius: float) -> List[Body]:
        """Bodies that overlap the sphere of `radius` (m) around `center` (m)."""
        return [Body(self, own) for own in self._core.bodies_in_sphere(_vector("center", center), radius)]

    def nearest_body(self, point: Vector) -> Optional[Nearest]:
        """The body whose surface is nearest to a point, m, or None if there are no bodies."""
        found = self._core.nearest_body(_vector("point", point))
        if found is None:
            return None
        return Nearest(Body(self, found[0]), found[1], numpy.array(found[2]))

    # Events.

    def watch_contacts(self, a: str = "all", b: Optional[str] = None) -> None:
        """Starts to report contacts between the bodies of two groups, or within one; see `events`."""
        self._core.watch_contacts(self._index(2, a), self._index(2, a if b is None else b))

    def watch_wall(self, wall: str) -> None:
        """Starts to report contacts of bodies with a wall; see `events`."""
        self._core.watch_wall(self._index(3, wall))

    def watch_flow(self) -> None:
        """Starts to report bodies that inlets, outlets and explosions add and remove; see `events`."""
        self._core.watch_flow()

    def watch_bonds(self) -> None:
        """Starts to report bonds that break or heal; see `events`. `bonds` has the time of the last change of each, and the place and the
        energy of its break."""
        self._core.watch_bonds()

    def set_event_interval(self, steps: int) -> None:
        """Sets the interval between checks for events: `steps` steps, or 0, the default, for a check only at the end of each call.

        Each call that takes steps also ends with a check. A contact that begins and ends between two checks is not reported; all
        breaks and healings are.
        """
        self._core.set_event_interval(steps)

    def events(self) -> List[Event]:
        """Watched events since the last call, in the order in which they were found."""
        return [
            Event(kind, tuple(Body(self, own) for own in bodies), None if wall is None else self._names[3][wall])
            for kind, bodies, wall in self._core.events()
        ]

    # Results.

    @property
    def state_hash(self) -> str:
        """Hash of the state of all bodies, bit for bit: the 16 hexadecimal digits that `rockfall run` prints."""
        return self._core.state_hash()

    def energy(self) -> Dict[str, float]:
        """Energies, J, by name.

        Present: kinetic, gravitational, elastic. Dissipated so far: damping, friction, drag, bonds. Done by walls, applied forces
        and water: work.
        """
        return self._core.energy()

    def measure(self) -> Dict[str, float]:
        """Measures of the present packing, by name.

        The names are the columns of `rockfall measure`: coordination with and without rattlers, clusters, forces, the anisotropy
        of the fabric, and others.
        """
        return self._core.measure()

    def collisions(self) -> Dict[str, numpy.ndarray]:
        """Spectra of the collisions that have ended so far, by "impact_speed_m_per_s" and by "dissipated_energy_J".

        Each is a structured array with a row for each class: "from" and "to" are its ends (m/s or J), "collisions" is their number,
        and "dissipated_J" the energy that they dissipated. Raises ValueError if the scene has no
        `"measure": { "collisions": true }`.
        """
        return {
            quantity: numpy.array(classes, dtype=COLLISIONS) for quantity, classes in self._core.collisions().items()
        }

    def fields(
        self, cells: Tuple[int, int, int], minimum: Vector, maximum: Vector, width: float
    ) -> Dict[str, numpy.ndarray]:
        """Fields by coarse graining (Goldhirsch 2010) on a grid of `cells`, by name: density, velocity, temperature, stress, ...

        Scalars are arrays of shape `cells`; vectors have one more axis of length 3. minimum, maximum: corners of the grid, m. An
        axis with one cell is averaged over. width: of the Gaussian, m, at least the longest side of a cell. For means over time,
        average the arrays. Raises ValueError if the grid or the width makes no sense.
        """
        counts = tuple(int(count) for count in cells)
        found = self._core.fields(counts, _vector("minimum", minimum), _vector("maximum", maximum), float(width))
        return field_arrays(counts, found)

    def summary(self) -> Dict[str, Any]:
        """Summary, as `rockfall run --json` prints it: energies, momenta, contacts, loads on walls, counts of probes, the hash."""
        return json.loads(self._core.summary())

    # Files.

    def save(self, path: PathLike) -> None:
        """Writes the scene from which the world was started to a scene file, without later changes."""
        from .scene import _moved

        text, folder = self._core.scene()
        path = Path(path)
        data = _moved(json.loads(text), Path(folder), path.parent)
        path.write_text(json.dumps(data, indent=2) + "\n", "utf-8")

    def checkpoint(self, path: Optional[PathLike] = None) -> bytes:
        """The present state, from which `restore` continues with the same bits. Given a path, also writes it to that file."""
        state = self._core.checkpoint()
        if path is not None:
            Path(path).write_bytes(state)
        return state

    def restore(self, state: Union[bytes, PathLike]) -> None:
        """Sets the world to the state of a checkpoint of the same scene: its bytes, or the path of its file.

        Raises ValueError if it is not a checkpoint, is incomplete, or belongs to another scene, and FileNotFoundError if the file
        does not exist.
        """
        is_file = not isinstance(state, (bytes, bytearray, memoryview))
        file = Path(state) if is_file else Path("the checkpoint")
        self._core.restore(file.read_bytes() if is_file else bytes(state), file)

    def record(
        self,
        folder: PathLike,
        seconds: Optional[float] = None,
        *,
        every: Optional[float] = None,
        statistics_every: Optional[float] = None,
        checkpoint_every: Optional[float] = None,
        vtk: Optional[Sequence[str]] = None,
        states: Optional[Sequence[str]] = None,
    ) -> Recording:
        """Writes the world to a folder from now on, as `rockfall run --out` does; `read` and `resume` read it.

            with world.record("out", seconds=2):
                world.run_for(2)

        seconds: planned length of the run, by default the duration of the scene. every: time between states and VTK files, s;
        statistics_every: between rows of statistics, s; checkpoint_every: between checkpoints, s. vtk: kinds of VTK files to
        write, of "bodies", "spheres", "contacts", "bonds" and "walls"; states: kinds of states, of the same without "walls". The
        other defaults are those of `rockfall run --out`.

        Raises FileExistsError if the folder is not empty, and ValueError if the world is being recorded.
        """
        seconds = self.duration if seconds is None else seconds
        lists = [None if kinds is None else list(kinds) for kinds in (vtk, states)]
        self._core.record(Path(folder), seconds, every, statistics_every, checkpoint_every, *lists)
        return Recording(self, Path(folder))

    def finish(self) -> None:
        """Ends a recording (see `record` and `resume`): writes the last state, a checkpoint and the summary."""
        self._core.finish()

    # Pictures.

    def picture(
        self,
        size: Tuple[int, int] = (960, 540),
        *,
        colour: str = "body",
        top: Optional[float] = None,
        camera: Sequence[float] = (30, 20, 1),
        eye: Optional[Vector] = None,
        target: Optional[Vector] = None,
        samples: int = 2,
        plain: bool = False,
        lines: Optional[str] = None,
        clip: Optional[str] = None,
        background: str = "sky",
        ground: str = "tiles",
        adapter: Optional[str] = None,
    ) -> Picture:
        """A picture of the present world: an array, uint8, shape (height, width, 3), which a notebook displays.

        size: width and height, pixels. colour: quantity that the colours show: body, shape, material, speed, force, overlap,
        contacts, energy, temperature, spin, radius, mass, index or damage. top: value at the upper end of the colour scale.
        camera: degrees around and above, and a zoom. eye, target: points to look from and at instead, m. samples: per pixel along
        each side, 1 to 4. plain: leaves out the legend and the time. lines: arrows of "velocity" or "force", or the network of
        "contacts" instead of the bodies. clip: cuts bodies and walls at a plane, such as "x=0". background: "sky", "white",
        "black" or a colour such as "#f0f4f8". ground: look of planes, "tiles", "plain" or "none". adapter: part of the name of the
        adapter that draws for the CPU engine.

        Raises DeviceError if no adapter can draw, and ValueError if an argument makes no sense.
        """
        look = {"lines": lines, "clip": clip, "background": background, "ground": ground}
        wanted = _wanted(size, colour, top, camera, eye, target, samples, plain, **look)
        return numpy.asarray(self._core.picture(wanted, adapter, False)).view(Picture)

    def film(
        self,
        seconds: Optional[float] = None,
        *,
        fps: float = 30.0,
        speed: float = 1.0,
        size: Tuple[int, int] = (640, 360),
        adapter: Optional[str] = None,
        **look: Any,
    ) -> Film:
        """Simulates `seconds`, by default the duration of the scene, and films it; `Film.save` writes a file.

        fps: frames per second; speed: simulated seconds per second of film; further keywords as in `picture`. The camera stays in
        one place. The first frame shows the present world.

        Raises the errors of `step` and `picture`.
        """
        if not (fps > 0 and speed > 0):
            raise ValueError(f"found fps={fps} and speed={speed}, expected numbers greater than 0")
        seconds = self.duration if seconds is None else seconds
        wanted: Optional[Dict[str, Any]] = _wanted(size, **{**_LOOK, **look})
        start, pictures = self.time, []
        for frame in range(int(seconds * fps / speed + 1e-6) + 1):
            self.run_until(start + frame * speed / fps)
            picture = numpy.asarray(self._core.picture(wanted, adapter, wanted is not None))
            pictures.append(picture.view(Picture))
            wanted = None
        return Film(pictures, fps)

    def _index(self, kind: int, name: str) -> int:
        """The index of a shape (0), a material (1), a group (2) or a wall (3)."""
        names = self._names[kind]
        if name in names:
            return names.index(name)
        what = ("shape", "material", "group", "wall")[kind]
        there = ", ".join(repr(own) for own in names[:20]) or "none"
        raise ValueError(f"there is no {what} {str(name)!r}; the scene has {there}")


def resume(folder: PathLike, seconds: Optional[float] = None) -> World:
    """Resumes a run from the last checkpoint in its folder, which `rockfall run --out` or `World.record` wrote.

        world = rockfall.resume("out")
        world.run_until(world.duration)
        world.finish()

    The world is recorded into the same folder; `finish` ends the recording. seconds: planned length of the whole run, if it
    changes.

    Raises FileNotFoundError if the folder has no run, and ValueError if its checkpoint cannot be used.
    """
    return World(_core.World.resume(Path(folder), seconds))


_LOOK: Dict[str, Any] = {
    "colour": "body",
    "top": None,
    "camera": (30, 20, 1),
    "eye": None,
    "target": None,
    "samples": 2,
    "plain": False,
    "lines": None,
    "clip": None,
    "background": "sky",
    "ground": "tiles",
}


def _wanted(
    size: Tuple[int, int],
    colour: str,
    top: Optional[float],
    camera: Sequence[float],
    eye: Optional[Vector],
    target: Optional[Vector],
    samples: int,
    plain: bool,
    lines: Optional[str],
    clip: Optional[str],
    background: str,
    ground: str,
) -> Dict[str, Any]:
    around, above, zoom = (*camera, 1.0) if len(camera) == 2 else camera
    return {
        "size": (int(size[0]), int(size[1])),
        "colour": colour,
        "top": top,
        "camera": (float(around), float(above), float(zoom)),
        "eye": None if eye is None else _vector("eye", eye),
        "target": None if target is None else _vector("target", target),
        "samples": samples,
        "plain": plain,
        "lines": lines,
        "clip": clip,
        "background": background,
        "ground": ground,
    }


def _numbers(name: str, value: Any, count: int) -> List[float]:
    try:
        numbers = [float(number) for number in value]
    except (TypeError, ValueError):
        numbers = []
    if len(numbers) != count:
        raise ValueError(f"{name}: found {value!r}, expected {count} numbers")
    return numbers


def _vector(name: str, value: Any) -> List[float]:
    return _numbers(name, value, 3)


def _ids(bodies: Bodies) -> bytes:
    """The numbers of bodies as bytes."""
    if isinstance(bodies, numpy.ndarray):
        return bodies.astype(numpy.int64).tobytes()
    several = [bodies] if isinstance(bodies, Body) else bodies
    ids = [own.id if isinstance(own, Body) else int(own) for own in several]
    return numpy.array(ids, dtype=numpy.int64).tobytes()


def _rows(name: str, value: Any, count: int) -> bytes:
    """Rows of numbers as bytes."""
    try:
        rows = numpy.asarray(value, dtype=numpy.float64)
    except (TypeError, ValueError) as error:
        raise ValueError(f"{name}: expected numbers of the shape (n, {count}): {error}") from None
    rows = rows[None] if rows.ndim == 1 and rows.size == count else rows
    if rows.size and (rows.ndim != 2 or rows.shape[1] != count):
        raise ValueError(f"{name}: found an array of the shape {rows.shape}, expected (n, {count})")
    return rows.tobytes()


def _conjugate(quaternion: Sequence[float]) -> List[float]:
    x, y, z, w = quaternion
    return [-x, -y, -z, w]


def _turned(quaternion: Sequence[float], vector: Any) -> numpy.ndarray:
    axis, w = numpy.array(quaternion[:3]), quaternion[3]
    across = 2 * numpy.cross(axis, vector)
    return vector + w * across + numpy.cross(axis, across)
