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
    """Name of a part of a scene, by which other parts refer to it."""

    def __repr__(self) -> str:
        return f"Name({str(self)!r})"


def load(path: PathLike) -> Scene:
    """Reads a scene file and checks it.

    Raises FileNotFoundError if the file does not exist, and SceneError with a sentence for each mistake.
    """
    file = Path(path)
    checked = _core.Scene.load(file)
    data = json.loads(_core.without_comments(file.read_text("utf-8")))
    scene = Scene(checked.name)
    scene.data, scene.file, scene._is_file = data, file, True
    return scene


def schema() -> Dict[str, Any]:
    """The JSON Schema of scene files: each field with its meaning, its unit and its default."""
    return json.loads(_core.schema())


class Scene:
    """A scene, built in Python or read by `load`; its keywords are the fields of a scene file.

    Keywords have the names, units and defaults of the fields of a scene file; `schema()` and docs/book/src/scenes.md list them.
    `check`, `save` and `world` report mistakes, with their places. Methods that add a part return its name, which later calls
    take.

        scene = Scene("first")
        stone = scene.material("stone", density=2500, friction=0.5, restitution=0.5)
        ball = scene.sphere("ball", stone, radius=0.05)
        scene.plane("floor", stone)
        scene.fill({ball: 1}, count=100, min=(-1, 0.1, -1), max=(1, 3, 1))
        world = scene.world()

    Attributes:
        data: the scene as a dictionary, as in its file; change it directly where no method does.
        file: path of the scene's file, which need not exist; paths in the scene are relative to its folder.
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
        """Makes an empty scene.

        gravity: acceleration, m/s²; by default (0, -9.81, 0). duration: simulated time of a run, s; by default 1. folder: where
        the files are that the scene names. Further keywords are fields of a scene file, such as `domain`.
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

    # Parts.

    def set(self, **fields: Any) -> Scene:
        """Sets fields of the scene, such as `gravity`, `domain`, `water` or `sleep`. None leaves a field as it is."""
        self.data.update(_given(fields))
        return self

    def material(self, name: str, density: float, **fields: Any) -> Name:
        """Adds a material. density: kg/m³; further fields: friction, restitution, rolling_friction, young_modulus, ..."""
        self.data["materials"][str(name)] = {"density": density, **_given(fields)}
        return Name(name)

    def pair(self, a: str, b: str, **fields: Any) -> Scene:
        """Sets coefficients of contacts between two materials, in place of mixed ones: friction, restitution, ..."""
        self._list("pairs").append({"between": [a, b], **_given(fields)})
        return self

    def shape(self, name: str, material: Optional[str] = None, **fields: Any) -> Name:
        """Adds a shape by the fields of a scene file: `cube={"n": 3, "radius": 0.01}`, `mesh={"file": "stone.obj", ...}`.

        `sphere`, `clump` and `box` are shortcuts for common shapes. In a scene built in Python, `World.spawn` also takes shapes
        that no body, fill or inlet uses.
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
        """Adds a box with rounded edges, made of spheres. size: three sides, m; radius: of the spheres, m."""
        return self.shape(name, material, box={"size": size, "radius": radius}, **fields)

    def group(self, name: str, **fields: Any) -> Name:
        """Adds a group of bodies, which may have its own `gravity` and `drag`; `ignores` lists groups that it passes through."""
        self.data.setdefault("groups", {})[str(name)] = _given(fields)
        return Name(name)

    def wall(self, name: str, material: str, **fields: Any) -> Name:
        """Adds a wall: `cylinder={"radius": 0.3, "height": 0.2}, side="inside"`, `position`, `motion`, ..."""
        self._list("walls").append({"name": name, "material": material, **_given(fields)})
        return Name(name)

    def plane(
        self, name: str, material: str, normal: Vector = (0, 1, 0), point: Vector = (0, 0, 0), **fields: Any
    ) -> Name:
        """Adds an infinite plane. normal: points to the side where bodies are; point: on the plane, m."""
        return self.wall(name, material, plane={"normal": normal}, position=point, **fields)

    def body(self, shape: str, position: Vector, **fields: Any) -> int:
        """Adds a body. position: origin of the shape's own axes, m; further fields: orientation, velocity, fixed, ...

        Returns the number that the body gets in a world, for `World.body`.
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
        """Fills a box with bodies. shapes: one, or each with its share of the bodies; min, max: corners of the box, m.

        Instead of `count`: mass (kg) or solid_fraction; with placement="packed" and none of these, as many bodies as fit.
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
        """Adds an inlet, which brings bodies into the box from `min` to `max` (m), or onto a `mesh`.

        shapes: one, or each with its share of the bodies. Further fields: rate (1/s) or mass_rate (kg/s), velocity, ...
        """
        own: Dict[str, Any] = {"shapes": _mix(shapes)}
        if min is not None or max is not None:
            own["region"] = _given({"min": min, "max": max})
        self._list("inlets").append({**own, **_given(fields)})
        return self

    def outlet(self, **fields: Any) -> Scene:
        """Adds an outlet, which removes bodies: `inside={"min": ..., "max": ...}` or `outside=...`."""
        self._list("outlets").append(_given(fields))
        return self

    def probe(self, name: str, **fields: Any) -> Scene:
        """Adds a probe, which counts bodies: in a `box` or a `cylinder`, or through a `face` or a `disc`."""
        self._list("probes").append({"name": name, **_given(fields)})
        return self

    def spring(self, body: int, other: Union[int, Vector], stiffness: float, **fields: Any) -> Scene:
        """Adds a spring from a body to another body, or to a point of the world, m. stiffness: N/m."""
        to = {"body": f"body {other}"} if isinstance(other, int) else {"point": other}
        own = {"from": {"body": f"body {body}"}, "to": to, "stiffness": stiffness}
        self._list("springs").append({**own, **_given(fields)})
        return self

    def bond(self, a: str, b: Optional[str] = None, *, young_modulus: float, **fields: Any) -> Scene:
        """Bonds spheres of two materials, or of one, where they are near each other at the start. young_modulus: Pa.

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
        """Sets the contact law and the time step.

        normal: "hooke", "hertz", "impulse" or "custom". tangential: "none", "viscous", "history", "mindlin" or "mindlin-rescale".
        stiffness: N/m, or max_overlap: as a fraction of the smallest radius. time_step: s. Further fields as in a scene file.

        `contact(normal="custom", file="law.wgsl", stiffness=1e5)` is a custom law in WGSL, for the GPU engine only.
        """
        self.data["contact"] = {**self.data.get("contact", {}), **_given(fields)}
        return self

    # Files and worlds.

    def to_dict(self) -> Dict[str, Any]:
        """The scene as in its file: plain numbers, strings, lists and dictionaries."""
        data = _plain(copy.deepcopy(self.data))
        # A file lists by itself what a program may spawn; a longer list would make another scene.
        unused = [] if self._is_file else _unused_shapes(data)
        if unused:
            data["spawn"] = [*data.get("spawn", []), *unused]
        return data

    def check(self) -> Tuple[List[str], List[str]]:
        """Checks the scene. Returns two lists of sentences: warnings, and derived values such as the time step.

        Raises SceneError with a sentence for each mistake.
        """
        checked = self._ready()
        return checked.warnings, checked.notes

    def save(self, path: PathLike) -> None:
        """Writes a scene file for `rockfall.load` and the command line, which gives the same bits.

        Files that the scene names stay where they are. Raises SceneError if the scene has a mistake.
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

        backend: "auto" is a real GPU if there is one, otherwise the CPU; "gpu"; "cpu"; or "reference", the plain and slow engine.
        precision: "single", or with the reference also "double". adapter: part of the name of a GPU or of a software adapter.
        threads: of the CPU engine, by default all cores; their number does not change the results.

        Raises SceneError if the scene has a mistake, DeviceError if the engine is unavailable, and ValueError if an argument makes
        no sense.
        """
        return World(self._ready().world(backend, precision, adapter, threads))

    def _ready(self) -> _core.Scene:
        try:
            text = json.dumps(self.to_dict(), allow_nan=False)
        except ValueError as error:
            raise _core.SceneError(
                f"{self.file}: found a value that is not a finite number ({error}), expected finite numbers"
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
    """A value converted to types that JSON has."""
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
    """Shapes that nothing in the scene uses: a program may spawn them."""
    used = set(data.get("spawn", []))
    used.update(body.get("shape") for body in data.get("bodies", []))
    for part in ("fills", "inlets"):
        for own in data.get(part, []):
            used.update(own.get("shapes", {}))
    for shape in data.get("shapes", {}).values():
        used.update(part.get("shape") for part in shape.get("parts", []))
    return [name for name in data.get("shapes", {}) if name not in used]


def _moved(data: Dict[str, Any], old: Path, new: Path) -> Dict[str, Any]:
    """The scene moved to another folder, while the files that it names stay where they are."""
    if old.resolve() == new.resolve():
        return data
    holders = [(data.get("contact"), "file"), (data.get("start"), "from")]
    for part in [*data.get("walls", []), *data.get("shapes", {}).values()]:
        holders += [(part.get("mesh"), "file"), (part.get("signed_distance"), "file")]
    for holder, key in holders:
        if holder and key in holder and not os.path.isabs(holder[key]):
            holder[key] = Path(os.path.relpath(old / holder[key], new)).as_posix()
    return data
