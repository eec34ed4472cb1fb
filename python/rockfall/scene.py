"""Scenes, with the same fields in Python as in JSON."""

from __future__ import annotations

import copy
import json
import os
from pathlib import Path
from typing import Any, Dict, Iterable, List, Mapping, Optional, Sequence, Tuple, Union

import numpy

from . import _core
from .world import World

Vector = Union[Sequence[float], numpy.ndarray]
PathLike = Union[str, "os.PathLike[str]"]


class Name(str):
    """The name of a part of a scene; other parts refer to it by this name."""

    def __repr__(self) -> str:
        return f"Name({str(self)!r})"


def load(path: PathLike) -> Scene:
    """Reads a scene file, and checks it.

    Raises FileNotFoundError if there is no such file, and SceneError with a sentence for each thing that is wrong.
    """
    file = Path(path)
    checked = _core.Scene.load(file)
    data = json.loads(file.read_text("utf-8"))
    scene = Scene(checked.name)
    scene.data, scene.file, scene._is_file = data, file, True
    return scene


def schema() -> Dict[str, Any]:
    """The JSON Schema of scene files: each field with its unit, its default and its meaning."""
    return json.loads(_core.schema())


class Scene:
    """A scene built in Python: the fields of a scene file are keywords.

    Keywords have the names, units and defaults of the fields of a scene file, which `schema()` and docs/book/src/scenes.md list;
    what is wrong with them is said by `check`, `save` and `world`, with its place. Each part gives back a handle: its
    name, which later calls take.

        scene = Scene("first")
        stone = scene.material("stone", density=2500, friction=0.5, restitution=0.5)
        ball = scene.sphere("ball", stone, radius=0.05)
        scene.plane("floor", stone)
        scene.fill({ball: 1}, count=100, min=(-1, 0.1, -1), max=(1, 3, 1))
        world = scene.world()

    Attributes:
        data: the scene as a dictionary, as in its file; change here what no method changes.
        file: where the scene is, or would be: files that it names are found relative to its folder.
    """

    data: Dict[str, Any]
    file: Path

    def __init__(
        self,
        name: str,
        *,
        gravity: Optional[Vector] = None,
        duration: Optional[float] = None,
        folder: PathLike = "",
        **fields: Any,
    ):
        """A scene with nothing in it.

        gravity: acceleration, m/s²; (0, -9.81, 0) by default. duration: simulated time of a run, s; 1 by default.
        folder: the folder of files that the scene names. Further keywords are fields of a scene file, such as `domain`.
        """
        self.data = {"version": 1, "name": name, "materials": {}, "shapes": {}}
        self.file = Path(folder) / f"{name}.json"
        self._is_file = False
        self.set(gravity=gravity, duration=duration, **fields)

    def __repr__(self) -> str:
        parts = ", ".join(
            f"{len(self.data[part])} {part}" for part in ("materials", "shapes", "walls") if self.data.get(part)
        )
        return f"<Scene {self.data.get('name', self.file.stem)!r}: {parts}>"

    # What it is made of.

    def set(self, **fields: Any) -> Scene:
        """Sets fields of the scene, such as `gravity`, `domain`, `water` or `sleep`. None leaves a field alone."""
        self.data.update(_given(fields))
        return self

    def material(self, name: str, density: float, **fields: Any) -> Name:
        """Adds a material. density: kg/m³; further fields: friction, restitution, rolling_friction, young_modulus, ..."""
        self.data["materials"][str(name)] = {"density": density, **_given(fields)}
        return Name(name)

    def pair(self, a: str, b: str, **fields: Any) -> Scene:
        """Sets the parameters of contacts between two materials, in place of mixed ones: friction, restitution, ..."""
        self._list("pairs").append({"between": [a, b], **_given(fields)})
        return self

    def shape(self, name: str, material: Optional[str] = None, **fields: Any) -> Name:
        """Adds a shape by the fields of a scene file: `cube={"n": 3, "radius": 0.01}`, `mesh={"file": "stone.obj", ...}`.

        `sphere`, `clump` and `box` are shorter for the usual ones. What no body, fill or inlet has is there to be spawned.
        """
        own = _given(fields)
        if material is not None:
            own["material"] = material
        self.data["shapes"][str(name)] = own
        return Name(name)

    def sphere(self, name: str, material: str, radius: float, **fields: Any) -> Name:
        """Adds a sphere. radius: m."""
        return self.shape(name, material, sphere={"radius": radius}, **fields)

    def clump(self, name: str, material: str, centers: Any, radii: Any, **fields: Any) -> Name:
        """Adds a clump of spheres. centers: m, shape (n, 3); radii: m, one number or shape (n,)."""
        centers = numpy.asarray(centers, dtype=float).reshape(-1, 3)
        radii = numpy.broadcast_to(numpy.asarray(radii, dtype=float), len(centers))
        spheres = [{"center": c.tolist(), "radius": float(r)} for c, r in zip(centers, radii)]
        return self.shape(name, material, spheres=spheres, **fields)

    def box(self, name: str, material: str, size: Vector, radius: float, **fields: Any) -> Name:
        """Adds a box with rounded edges, made of spheres. size: its sides, m; radius: that of the spheres, m."""
        return self.shape(name, material, box={"size": size, "radius": radius}, **fields)

    def group(self, name: str, **fields: Any) -> Name:
        """Adds a group of bodies, which may have its own `gravity`, `drag` and `ignores`."""
        self.data.setdefault("groups", {})[str(name)] = _given(fields)
        return Name(name)

    def wall(self, name: str, material: str, **fields: Any) -> Name:
        """Adds a wall: `cylinder={"radius": 0.3, "height": 0.2}, side="inside"`, `position`, `motion`, ..."""
        self._list("walls").append({"name": name, "material": material, **_given(fields)})
        return Name(name)

    def plane(
        self, name: str, material: str, normal: Vector = (0, 1, 0), point: Vector = (0, 0, 0), **fields: Any
    ) -> Name:
        """Adds an infinite plane. normal: to the side where bodies are; point: on the plane, m."""
        return self.wall(name, material, plane={"normal": normal}, position=point, **fields)

    def body(self, shape: str, position: Vector, **fields: Any) -> int:
        """Adds a body. position: origin of its shape's own axes, m; further fields: orientation, velocity, fixed, ...

        Returns its number in the world that comes of it, for `World.body`.
        """
        bodies = self._list("bodies")
        own = {"name": f"body {len(bodies)}", "shape": shape, "position": position}
        bodies.append({**own, **_given(fields)})
        return len(bodies) - 1

    def fill(
        self,
        shapes: Union[str, Mapping[str, float]],
        count: Optional[int] = None,
        min: Optional[Vector] = None,
        max: Optional[Vector] = None,
        **fields: Any,
    ) -> Scene:
        """Fills a box with bodies. shapes: one, or each with its part in the mix; min and max: corners of the box, m.

        Instead of count: mass (kg), solid_fraction, or placement="packed" for as many as fit.
        """
        own = {"shapes": _mix(shapes), "region": _given({"min": min, "max": max}), **_given({"count": count})}
        self._list("fills").append({**own, **_given(fields)})
        return self

    def inlet(
        self,
        shapes: Union[str, Mapping[str, float]],
        min: Optional[Vector] = None,
        max: Optional[Vector] = None,
        **fields: Any,
    ) -> Scene:
        """Adds an inlet, which brings bodies into a box, or onto a `mesh`. Further fields: rate (1/s) or mass_rate (kg/s), velocity, ..."""
        own: Dict[str, Any] = {"shapes": _mix(shapes)}
        if min is not None or max is not None:
            own["region"] = _given({"min": min, "max": max})
        self._list("inlets").append({**own, **_given(fields)})
        return self

    def outlet(self, **fields: Any) -> Scene:
        """Adds an outlet: `inside={"min": ..., "max": ...}` or `outside=...`."""
        self._list("outlets").append(_given(fields))
        return self

    def probe(self, name: str, **fields: Any) -> Scene:
        """Adds a probe: a region or a face to measure at, `box`, `cylinder`, `face` or `disc`."""
        self._list("probes").append({"name": name, **_given(fields)})
        return self

    def spring(self, body: int, other: Union[int, Vector], stiffness: float, **fields: Any) -> Scene:
        """Adds a spring from a body to another, or to a point of the world, m. stiffness: N/m."""
        to = {"body": f"body {other}"} if isinstance(other, int) else {"point": other}
        own = {"from": {"body": f"body {body}"}, "to": to, "stiffness": stiffness}
        self._list("springs").append({**own, **_given(fields)})
        return self

    def bond(self, a: str, b: Optional[str] = None, *, young_modulus: float, **fields: Any) -> Scene:
        """Bonds spheres of two materials, or of one, that are near each other at the start. young_modulus: Pa.

        Further fields: gap (m), tensile_strength and shear_strength (Pa), weibull_modulus, damping, ...
        """
        own = {"between": [a, a if b is None else b], "young_modulus": young_modulus}
        self._list("bonds").append({**own, **_given(fields)})
        return self

    def force(self, body: int, force: Vector = (0, 0, 0), torque: Vector = (0, 0, 0), **fields: Any) -> Scene:
        """Applies a force (N) and a torque (N m) to a body."""
        own = {"body": f"body {body}", "force": force, "torque": torque}
        self._list("forces").append({**own, **_given(fields)})
        return self

    def contact(self, **fields: Any) -> Scene:
        """Sets how bodies touch: normal ("hooke", "hertz", "impulse" or "custom") and tangential ("none", "viscous", "history",
        "mindlin" or "mindlin-rescale") models, stiffness (N/m) or max_overlap, time_step.

        `contact(normal="custom", file="law.wgsl", stiffness=1e5)` is a law of your own in WGSL, for the GPU engine.
        """
        self.data["contact"] = {**self.data.get("contact", {}), **_given(fields)}
        return self

    # What comes of it.

    def to_dict(self) -> Dict[str, Any]:
        """The scene as its file has it: plain numbers, strings, lists and dictionaries."""
        data = _plain(copy.deepcopy(self.data))
        # A file says itself what is spawned: more would be another scene.
        unused = [] if self._is_file else _unused_shapes(data)
        if unused:
            data["spawn"] = [*data.get("spawn", []), *unused]
        return data

    def check(self) -> Tuple[List[str], List[str]]:
        """Checks the scene: returns warnings, and the values derived (stiffness, time step), a sentence each.

        Raises SceneError with all that is wrong.
        """
        checked = self._ready()
        return checked.warnings, checked.notes

    def save(self, path: PathLike) -> None:
        """Writes the scene as a file for `rockfall.load` and the command line; its `world()` is bit-identical.

        Files that the scene names stay where they are. Raises SceneError if something is wrong with the scene.
        """
        self._ready()
        path = Path(path)
        data = _moved(self.to_dict(), self.file.parent, path.parent)
        path.write_text(json.dumps(data, indent=2) + "\n", "utf-8")

    def world(
        self,
        backend: str = "auto",
        *,
        precision: str = "single",
        adapter: Optional[str] = None,
        threads: Optional[int] = None,
    ) -> World:
        """Starts a world.

        backend: "auto" takes a real GPU if there is one and else the CPU; "gpu"; "cpu"; or "reference", which is plain
        and slow, and alone knows the precision "double". adapter: part of the name of a GPU, or of a software adapter.
        threads: number of threads of the CPU engine, which does not change the results; all cores by default.

        Raises SceneError, or DeviceError if the engine cannot be had.
        """
        return World(self._ready().world(backend, precision, adapter, threads))

    def _ready(self) -> _core.Scene:
        try:
            text = json.dumps(self.to_dict(), allow_nan=False)
        except ValueError as error:
            raise _core.SceneError(
                f"{self.file}: found a number that is not finite or no number at all ({error}), expected numbers"
            ) from None
        return _core.Scene.parse(text, self.file)

    def _list(self, part: str) -> List[Any]:
        return self.data.setdefault(part, [])


def _given(fields: Mapping[str, Any]) -> Dict[str, Any]:
    """The fields that are not None."""
    return {name: value for name, value in fields.items() if value is not None}


def _mix(shapes: Union[str, Mapping[str, float]]) -> Dict[str, float]:
    return {str(shapes): 1} if isinstance(shapes, str) else {str(k): v for k, v in shapes.items()}


def _plain(value: Any) -> Any:
    """The same in types that JSON has."""
    if isinstance(value, Mapping):
        return {str(name): _plain(own) for name, own in value.items()}
    if isinstance(value, numpy.ndarray):
        return value.tolist()
    if isinstance(value, numpy.generic):
        return value.item()
    if isinstance(value, str):
        return str(value)
    if isinstance(value, os.PathLike):
        return os.fspath(value)
    if isinstance(value, Iterable):
        return [_plain(own) for own in value]
    return value


def _unused_shapes(data: Mapping[str, Any]) -> List[str]:
    """Shapes that nothing in the scene has: they are there to be spawned."""
    used = set(data.get("spawn", []))
    used.update(body.get("shape") for body in data.get("bodies", []))
    for part in ("fills", "inlets"):
        for own in data.get(part, []):
            used.update(own.get("shapes", {}))
    for shape in data.get("shapes", {}).values():
        used.update(part.get("shape") for part in shape.get("parts", []))
    return [name for name in data.get("shapes", {}) if name not in used]


def _moved(data: Dict[str, Any], old: Path, new: Path) -> Dict[str, Any]:
    """The scene in another folder, with the files that it names where they are."""
    if old.resolve() == new.resolve():
        return data
    holders = [(data.get("contact"), "file"), (data.get("start"), "from")]
    for part in [*data.get("walls", []), *data.get("shapes", {}).values()]:
        holders += [(part.get("mesh"), "file"), (part.get("signed_distance"), "file")]
    for holder, key in holders:
        if holder and key in holder and not os.path.isabs(holder[key]):
            holder[key] = Path(os.path.relpath(old / holder[key], new)).as_posix()
    return data
