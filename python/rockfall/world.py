"""Worlds: simulations that you drive."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any, Callable, Dict, Iterator, List, NamedTuple, Optional, Sequence, Tuple, Union

import numpy

from . import _core
from .picture import Film, Picture

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

body: number of the body; other: that of the other body, or -1; wall: index of the wall, or -1; overlap: m;
overlap_fraction: of the smaller radius; point: m; normal: unit vector from the body to the other surface; force on the
body: N; torque of rolling and twisting resistance on it: N m.
"""

BOND = numpy.dtype(
    [
        ("body", "i8"),
        ("other", "i8"),
        ("broken", "i8"),
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

body, other: numbers of the two bodies; broken: 0, or 1 if tension broke it and 2 if shear did; time: when, s, or -1; energy:
what it holds, or held when it broke, J; load: stress over strength; tension, shear: the largest stresses at its edge, Pa; place: its
middle, or where it was when it broke, m; force and moment on the body, about the middle: N, N m.
"""


class Event(NamedTuple):
    """Something that happened, see `World.events`."""

    kind: str
    """"contact began", "contact ended", "wall contact began", "wall contact ended", "body entered" or "body left"."""
    bodies: Tuple[Body, ...]
    """The bodies: two of a contact, else one. One that has left is gone."""
    wall: Optional[str]
    """Name of the wall, if there is one."""


class RayHit(NamedTuple):
    """Where a ray meets a body."""

    body: Body
    distance: float
    """From the start of the ray, m; 0 if that is inside."""
    point: numpy.ndarray
    """Where it meets the surface, m."""
    normal: numpy.ndarray
    """Unit normal of the surface there, outwards."""


class Nearest(NamedTuple):
    """A body, and how far away its surface is."""

    body: Body
    distance: float
    """m; below 0 if the point is inside."""
    point: numpy.ndarray
    """The point of its surface that is nearest, m."""


class Frame(NamedTuple):
    """A moment of `World.run`, at which the world may be read and changed."""

    index: int
    """Number of the frame, from 0 on."""
    time: float
    """Simulated time, s."""
    steps: int
    """Steps taken since the start of the world."""
    world: World


class Body:
    """A body of a world, as `World.spawn` and `World.body` give it.

    It stands for one body for ever: once that has left, all but `id` and `exists` raise BodyGoneError.
    """

    __slots__ = ("_world", "id")

    id: int
    """Its number, which no other body of the world ever gets."""

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
        """Whether it is still there."""
        return self._world._core.index_of(self.id) is not None

    @property
    def index(self) -> int:
        """Its row in the arrays of the world, as they are now."""
        index = self._world._core.index_of(self.id)
        if index is None:
            self._state()
            raise AssertionError("a body that is not there cannot be read")
        return index

    @property
    def shape(self) -> str:
        """Name of its shape."""
        return self._world._names[0][self._state()["shape"]]

    @property
    def mass(self) -> float:
        """Mass, kg."""
        return self._state()["mass"]

    @property
    def position(self) -> numpy.ndarray:
        """Centre of mass, m, shape (3,). Settable: the body moves there at once, and keeps its velocities."""
        return numpy.array(self._state()["position"])

    @position.setter
    def position(self, position: Vector) -> None:
        now = self._state()
        way = numpy.array(_vector("position", position)) - now["position"]
        self._world._core.set_pose(self.id, (now["origin"] + way).tolist(), now["orientation"])

    @property
    def origin(self) -> numpy.ndarray:
        """Origin of its shape's own axes, m, shape (3,)."""
        return numpy.array(self._state()["origin"])

    @property
    def orientation(self) -> numpy.ndarray:
        """The world from its shape's own axes: a unit quaternion x, y, z, w. Settable: it turns about its centre of mass."""
        return numpy.array(self._state()["orientation"])

    @orientation.setter
    def orientation(self, orientation: Vector) -> None:
        now = self._state()
        new = _numbers("orientation", orientation, 4)
        position = numpy.array(now["position"])
        arm = _turned(_conjugate(now["orientation"]), now["origin"] - position)
        self._world._core.set_pose(self.id, (position + _turned(new, arm)).tolist(), new)

    def set_pose(self, origin: Vector, orientation: Vector = (0, 0, 0, 1)) -> None:
        """Puts the origin of its shape's own axes somewhere, m, and turns these axes, a unit quaternion x, y, z, w."""
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
        """Whether it takes part in contacts and does not move. Settable: it starts again at rest."""
        return self._state()["fixed"]

    @fixed.setter
    def fixed(self, fixed: bool) -> None:
        self._world._core.set_fixed(self.id, fixed)

    @property
    def group(self) -> str:
        """Name of its group; "all" is that of the bodies in no other. Settable."""
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
        """Whether it sleeps."""
        return self._world._core.is_asleep(self.id)

    def apply_impulse(self, impulse: Vector, point: Optional[Vector] = None) -> None:
        """Gives it an impulse, N s, at a point of the world, m; at its centre of mass by default."""
        at = None if point is None else _vector("point", point)
        self._world._core.apply_impulse(self.id, _vector("impulse", impulse), at)

    def apply_angular_impulse(self, impulse: Vector) -> None:
        """Gives it an angular impulse, N m s."""
        self._world._core.apply_angular_impulse(self.id, _vector("angular impulse", impulse))

    def set_force(self, force: Vector = (0, 0, 0), torque: Vector = (0, 0, 0)) -> None:
        """Sets an applied force (N) and torque (N m), which act on it from now on; zeros remove them."""
        self._world._core.set_applied_force(self.id, _vector("force", force), _vector("torque", torque))

    def despawn(self) -> None:
        """Removes it before the next step."""
        self._world.despawn(self)


class Wall:
    """A wall of a world, as `World.wall` gives it."""

    __slots__ = ("_world", "index", "name")

    index: int
    """Its index, as `World.contacts` has it."""
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
        """Origin of its own frame, m, shape (3,). Settable for a wall that does not move by itself."""
        return self._get("position")

    @position.setter
    def position(self, position: Vector) -> None:
        way = numpy.array(_vector("position", position)) - self.position
        self._world._core.move_wall(self.index, way.tolist())

    @property
    def orientation(self) -> numpy.ndarray:
        """The world from its own frame: a unit quaternion x, y, z, w."""
        return self._get("orientation")

    @property
    def velocity(self) -> numpy.ndarray:
        """Velocity, m/s, shape (3,). Settable: see `drive`."""
        return self._get("velocity")

    @velocity.setter
    def velocity(self, velocity: Vector) -> None:
        self.drive(velocity)

    @property
    def angular_velocity(self) -> numpy.ndarray:
        """Angular velocity in the axes of the world, rad/s, shape (3,)."""
        return self._get("angular_velocity")

    def drive(self, velocity: Vector = (0, 0, 0), angular_velocity: Vector = (0, 0, 0)) -> None:
        """Moves it from now on at a velocity (m/s), and turns it about its origin (rad/s), in place of its earlier motion."""
        self._world._core.set_wall_velocity(
            self.index, _vector("velocity", velocity), _vector("angular velocity", angular_velocity)
        )

    @property
    def force(self) -> numpy.ndarray:
        """Force of the contacts on it in the last step, N, shape (3,)."""
        return self._get("force")

    @property
    def torque(self) -> numpy.ndarray:
        """Torque of the contacts about its position in the last step, N m, shape (3,)."""
        return self._get("torque")

    def set_temperature(self, temperature: Optional[float]) -> None:
        """Sets its temperature, K; with None it conducts nothing."""
        self._world._core.set_wall_temperature(self.index, temperature)


class Recording:
    """The folder that a world is written to, see `World.record`; a `with` block finishes it at its end."""

    def __init__(self, world: World, folder: Path):
        self._world = world
        self.folder = folder

    def __enter__(self) -> Recording:
        return self

    def __exit__(self, *_: object) -> None:
        self.finish()

    def finish(self) -> None:
        """Writes the last state, a checkpoint and the summary, and waits until all is on disk."""
        self._world.finish()


class World:
    """A simulation that you drive; `Scene.world` starts one.

    Arrays have a row for each body, in the order of `ids`. They are copies, but for `velocities` and `angular_momenta`.
    A world that is at work in one thread refuses calls from others with RuntimeError; `cancel` is always heard.
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
        """Name of its engine: "cpu", "gpu" or "reference"."""
        return self._core.backend

    @property
    def adapter(self) -> str:
        """The device that it runs on."""
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
        """Duration of the scene: the simulated time of a run, s."""
        return self._core.duration

    @property
    def time_step(self) -> float:
        """Time step, s. Settable; it is not checked for stability."""
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
        """Number of their spheres."""
        return self._core.sphere_count

    # Steps.

    def step(self, n: int = 1) -> None:
        """Takes n steps, while Python's other threads run. Ctrl-C stops after the current step; the world can continue.

        Raises RunawayError if a body moves too fast to be followed, CancelledError after `cancel`, and DeviceError if the
        GPU is lost.
        """
        if n < 0:
            raise ValueError(f"n: found {n}, expected a number of steps from 0 on")
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
        """Takes steps until a time, s; the last of them ends at the nearest to it. None if it is past."""
        self.step(self._core.steps_until(time))

    def run_for(self, seconds: float) -> None:
        """Takes steps for a time, s."""
        self.run_until(self.time + seconds)

    def run(
        self,
        seconds: Optional[float] = None,
        every: Optional[float] = None,
        out: Optional[PathLike] = None,
    ) -> Iterator[Frame]:
        """Simulates the next `seconds`, and yields a frame `every` so many seconds of simulated time.

            for frame in world.run(seconds=2, every=0.02):
                print(frame.time, world.positions[:, 1].max())

        In between, the world may be read and changed at will. seconds: the duration of the scene by default; every: a
        hundredth of it. out: a folder to write results to, see `record`. Steps are taken as frames are asked for.
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
        """Calls `callback(world)` every so many seconds of simulated time while steps are taken.

        It may read and change the world, but not step it; what it raises ends the steps. Returns a function that ends
        the calls.
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
        """Ends the steps of another thread, or else the next ones, with CancelledError; the world can continue."""
        self._core.cancel()

    # Arrays.

    @property
    def ids(self) -> numpy.ndarray:
        """Numbers of the bodies, int64, shape (n,), increasing; a copy. `World.body` takes one."""
        return numpy.asarray(self._core.ids())

    @property
    def positions(self) -> numpy.ndarray:
        """Centres of mass, m, float64, shape (n, 3); a copy, for engines keep them as cells and offsets."""
        return numpy.asarray(self._core.positions())

    @property
    def orientations(self) -> numpy.ndarray:
        """Orientations, unit quaternions x, y, z, w: the world from the shape's own axes; float64, shape (n, 4); a copy."""
        return numpy.asarray(self._core.orientations())

    @property
    def velocities(self) -> numpy.ndarray:
        """Velocities of the centres of mass, m/s, float32, shape (n, 3), read-only.

        On the CPU engine this is a view of the engine's own memory, without a copy; from a GPU it is one copy. The array
        keeps what it shows: if you still have it when the world goes on, the world moves to other memory.
        """
        return numpy.asarray(self._core.velocities())

    @property
    def angular_momenta(self) -> numpy.ndarray:
        """Angular momenta about the centres of mass, kg m²/s, float32, shape (n, 3), read-only; a view as `velocities`."""
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
        """The contacts of the last step, as a structured array with the fields of `rockfall.CONTACT`; a copy.

            forces = world.contacts["force"]        # N, shape (contacts, 3)
        """
        return numpy.asarray(self._core.contacts()).reshape(-1).view(CONTACT)

    @property
    def bonds(self) -> numpy.ndarray:
        """The bonds, including broken ones, as a structured array with the fields of `rockfall.BOND`; a copy.

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
        """Names of the groups, by their indices; the first is that of the bodies in no other."""
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
        """The body with this number, see `ids`. Raises BodyGoneError if it does not exist."""
        body = Body(self, int(id))
        body._state()
        return body

    def spawn(self, shape: str, position: Vector, **more: Any) -> Body:
        """Adds a body before the next step. position: origin of its shape's own axes, m; for the rest see `spawn_many`."""
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

        positions: origins of the shape's own axes, m, shape (n, 3). orientations: unit quaternions x, y, z, w; velocities:
        m/s; angular_velocities: rad/s: one value for all, or shape (n, 3 or 4). `orientation`, `velocity` and
        `angular_velocity` are other names for these three. group: name of their group. temperature: K.

        Raises ValueError if a number makes no sense, or if the shape is neither in use in the scene nor named under its
        `spawn`: the search for contacts is set up for the sizes of those spheres. No body is added then.
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
        """Sets velocities of several bodies, m/s: one for all, or shape (n, 3). `bodies` is as in `despawn`.

        Raises BodyGoneError if one of them does not exist; no velocity is set then.
        """
        self._core.set_many("velocities", _ids(bodies), _rows("velocities", velocities, 3))

    def set_angular_velocities(self, bodies: Bodies, velocities: Any) -> None:
        """Sets angular velocities of several bodies in the axes of the world, rad/s; see `set_velocities`."""
        self._core.set_many("angular_velocities", _ids(bodies), _rows("angular velocities", velocities, 3))

    def apply_impulses(self, bodies: Bodies, impulses: Any) -> None:
        """Gives several bodies impulses at their centres of mass, N s; see `set_velocities`."""
        self._core.set_many("impulses", _ids(bodies), _rows("impulses", impulses, 3))

    def set_forces(self, bodies: Bodies, forces: Any) -> None:
        """Sets forces that act on several bodies from now on, N, besides all others; zeros end them. See `set_velocities`."""
        self._core.set_many("forces", _ids(bodies), _rows("forces", forces, 3))

    def wake(self) -> None:
        """Wakes all bodies that sleep."""
        self._core.wake()

    # Walls, gravity, drag and materials.

    def wall(self, name: Union[str, int]) -> Wall:
        """A wall by its name, or its index. Raises ValueError if there is none."""
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
        """Acceleration of gravity, m/s², shape (3,). It can be set."""
        return numpy.array(self._core.gravity)

    @gravity.setter
    def gravity(self, gravity: Vector) -> None:
        self._core.gravity = _vector("gravity", gravity)

    def set_drag(self, linear: float = 0.0, angular: float = 0.0) -> None:
        """Sets the drag of all bodies except those in groups with a drag of their own. linear: N s/m; angular: N m s."""
        self._core.set_drag(linear, angular)

    def pair(self, a: str, b: Optional[str] = None) -> Dict[str, float]:
        """Contact law of two materials, or of one with itself: stiffness, friction, damping_ratio, ..., by name."""
        return self._core.pair(self._index(1, a), self._index(1, a if b is None else b))

    def set_pair(self, a: str, b: Optional[str] = None, **numbers: float) -> None:
        """Changes the contact law of two materials, or of one with itself: `set_pair("stone", friction=0.2)`; names as in `pair`."""
        changed = [(name, float(number)) for name, number in numbers.items()]
        self._core.set_pair(self._index(1, a), self._index(1, a if b is None else b), changed)

    # Queries.

    def cast_ray(self, origin: Vector, direction: Vector, reach: float = numpy.inf) -> Optional[RayHit]:
        """The first body that a ray from `origin` (m) along `direction` meets within `reach` (m); None if there is none."""
        hit = self._core.cast_ray(_vector("origin", origin), _vector("direction", direction), reach)
        if hit is None:
            return None
        body, distance, point, normal = hit
        return RayHit(Body(self, body), distance, numpy.array(point), numpy.array(normal))

    def bodies_in_box(self, min: Vector, max: Vector) -> List[Body]:
        """The bodies that overlap the box from `min` to `max`, m."""
        found = self._core.bodies_in_box(_vector("min", min), _vector("max", max))
        return [Body(self, own) for own in found]

    def bodies_in_sphere(self, center: Vector, radius: float) -> List[Body]:
        """The bodies that come within `radius` (m) of `center` (m)."""
        return [Body(self, own) for own in self._core.bodies_in_sphere(_vector("center", center), radius)]

    def nearest_body(self, point: Vector) -> Optional[Nearest]:
        """The body whose surface is nearest to a point, m; None if there are no bodies."""
        found = self._core.nearest_body(_vector("point", point))
        if found is None:
            return None
        return Nearest(Body(self, found[0]), found[1], numpy.array(found[2]))

    # Events.

    def watch_contacts(self, a: str = "all", b: Optional[str] = None) -> None:
        """Reports contacts between the bodies of two groups, or of one, from now on; see `events`."""
        self._core.watch_contacts(self._index(2, a), self._index(2, a if b is None else b))

    def watch_wall(self, wall: str) -> None:
        """Reports contacts of bodies with a wall from now on; see `events`."""
        self._core.watch_wall(self._index(3, wall))

    def watch_flow(self) -> None:
        """Reports bodies that inlets, outlets and explosions add and remove from now on; see `events`."""
        self._core.watch_flow()

    def watch_bonds(self) -> None:
        """Reports bonds that break from now on; see `events`. `bonds` has the time, place and energy of each break."""
        self._core.watch_bonds()

    def set_event_interval(self, steps: int) -> None:
        """Sets how often contacts are checked: every `steps` steps and at the end of each call; 0, the default, for the latter alone.

        A contact that begins and ends between two checks is not reported.
        """
        self._core.set_event_interval(steps)

    def events(self) -> List[Event]:
        """The watched events since the last call, in the order in which they were found."""
        return [
            Event(kind, tuple(Body(self, own) for own in bodies), None if wall is None else self._names[3][wall])
            for kind, bodies, wall in self._core.events()
        ]

    # Results.

    @property
    def state_hash(self) -> str:
        """Hash of the state of all bodies, bit for bit: 16 hexadecimal digits, those that `rockfall run` prints."""
        return self._core.state_hash()

    def energy(self) -> Dict[str, float]:
        """Energies, J, by name: kinetic, gravitational and elastic; those dissipated by damping, friction, drag and bonds; and
        the work of walls and forces."""
        return self._core.energy()

    def measure(self) -> Dict[str, float]:
        """Measures of the present packing, by the columns of `rockfall measure`: coordination with and without rattlers,
        clusters, forces, the anisotropy of the fabric."""
        return self._core.measure()

    def fields(
        self, cells: Tuple[int, int, int], minimum: Vector, maximum: Vector, width: float
    ) -> Dict[str, numpy.ndarray]:
        """Fields by coarse graining (Goldhirsch 2010) in a box of `cells`, by name: density, velocity, temperature, stress.

        Each is an array of the shape `cells`; those of vectors and tensors have one more axis. Along an axis with one cell,
        fields are means over it. `width` (m) is the width of the Gaussian, at least the longest side of a cell. For means
        over time, average the arrays.
        """
        counts = tuple(int(count) for count in cells)
        found = self._core.fields(counts, _vector("minimum", minimum), _vector("maximum", maximum), float(width))
        fields = {}
        for name, components, data in found:
            shape = counts[::-1] + ((components,) if components > 1 else ())
            values = numpy.frombuffer(data, dtype="f8").reshape(shape)
            fields[name] = numpy.moveaxis(values, (2, 1, 0), (0, 1, 2))
        return fields

    def summary(self) -> Dict[str, Any]:
        """The summary of `rockfall run --json`: energies, momenta, contacts, loads on walls, counts of probes, the hash."""
        return json.loads(self._core.summary())

    # Files.

    def save(self, path: PathLike) -> None:
        """Writes the scene that the world was started from, as a scene file, without later changes."""
        from .scene import _moved

        text, folder = self._core.scene()
        path = Path(path)
        data = _moved(json.loads(text), Path(folder), path.parent)
        path.write_text(json.dumps(data, indent=2) + "\n", "utf-8")

    def checkpoint(self, path: Optional[PathLike] = None) -> bytes:
        """The present state, from which `restore` continues with the same bits; `path` also writes it to a file."""
        state = self._core.checkpoint()
        if path is not None:
            Path(path).write_bytes(state)
        return state

    def restore(self, state: Union[bytes, PathLike]) -> None:
        """Takes the world to the state of a checkpoint, or of its file, of the same scene.

        Raises ValueError if it is no checkpoint, is incomplete, or is of another scene; FileNotFoundError if the file does
        not exist.
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

        seconds: planned length of the run; the duration of the scene by default. every: time between states and VTK files,
        s; statistics_every: between rows of statistics; checkpoint_every: between checkpoints. vtk and states: kinds of
        files to write, among "bodies", "spheres", "contacts" and "walls". Defaults are those of the scene.

        Raises FileExistsError if the folder is not empty.
        """
        seconds = self.duration if seconds is None else seconds
        lists = [None if kinds is None else list(kinds) for kinds in (vtk, states)]
        self._core.record(Path(folder), seconds, every, statistics_every, checkpoint_every, *lists)
        return Recording(self, Path(folder))

    def finish(self) -> None:
        """Ends a recording, see `record` and `resume`: writes the last state, a checkpoint and the summary."""
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

        size: width and height, pixels. colour: meaning of colours: body, shape, material, speed, force, overlap, contacts,
        energy, temperature, spin, radius, mass or index. top: value of the last colour. camera: degrees around and above,
        and a zoom. eye and target: points to look from and at instead, m. samples: samples of a pixel along each side, 1 to
        4. plain: without legend and time. lines: arrows of "velocity" or "force", or the network of "contacts" instead of
        the bodies. clip: cut through bodies and walls, such as "x=0". background: "sky", "white", "black" or a colour such as
        "#f0f4f8". ground: look of planes, "tiles", "plain" or "none". adapter: part of the name of the GPU, or of a software
        adapter, that draws for the CPU engine.

        Raises DeviceError if no adapter can draw.
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
        """Runs for `seconds` (the duration of the scene by default) and films it: `Film.save` writes a file.

        fps: frames a second; speed: simulated seconds in a second of the film; for the rest see `picture`. The camera stays
        in one place. The first frame is the present world.
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
    """Resumes the run in a folder that `rockfall run --out` or `World.record` wrote, from its last checkpoint.

        world = rockfall.resume("out")
        world.run_until(world.duration)
        world.finish()

    The world continues from the checkpoint and is recorded into the folder; `finish` ends the recording. seconds: planned
    length of the whole run, if it changes.

    Raises FileNotFoundError if there is no run in the folder.
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
