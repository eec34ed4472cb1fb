"""Runs on disk, which `rockfall run --out` and `World.record` write."""

from __future__ import annotations

import csv
import json
import os
import re
from pathlib import Path
from typing import Any, Dict, Iterable, List, Optional, Sequence, Tuple, Union

import numpy

PathLike = Union[str, "os.PathLike[str]"]

# A class of collisions: its ends, the number of collisions in it, and the energy that these dissipated, J.
COLLISIONS = numpy.dtype([("from", "f8"), ("to", "f8"), ("collisions", "u8"), ("dissipated_J", "f8")])


def compiled() -> Any:
    """The compiled part of the package. Whoever reads files alone does without it."""
    try:
        from . import _core
    except ImportError as error:
        raise ImportError("measures and fields need the whole package: open the run with rockfall.read") from error
    return _core


def field_arrays(counts: Tuple[int, ...], found: Iterable[Tuple[str, int, bytes]]) -> Dict[str, numpy.ndarray]:
    """Fields on a grid of `counts` cells as arrays by name. found: name, components and numbers, of which x runs fastest."""
    fields = {}
    for name, components, data in found:
        shape = counts[::-1] + ((components,) if components > 1 else ())
        values = numpy.frombuffer(data, dtype="f8").reshape(shape)
        fields[name] = numpy.moveaxis(values, (2, 1, 0), (0, 1, 2))
    return fields


def read(folder: PathLike) -> Run:
    """Opens the folder of a run.

        run = rockfall.read("out")
        run.state()["position_y"].max()
        run.statistics()["time_s"]

    Raises FileNotFoundError if the folder has no run, and ValueError if another version wrote it.
    """
    return Run(folder)


class Run:
    """The folder of a run. Units are SI; names are those in the files.

    Attributes:
        folder: path of the folder.
        record: contents of run.json: versions, options, status, summary.
    """

    folder: Path
    record: Dict[str, Any]

    def __init__(self, folder: PathLike):
        self.folder = Path(folder)
        expected = "expected a folder that `rockfall run --out` or `World.record` has made"
        try:
            text = (self.folder / "run.json").read_text("utf-8")
        except OSError as error:
            raise FileNotFoundError(f"{folder}: found no run.json that can be read ({error}), {expected}") from None
        try:
            self.record = json.loads(text)
        except ValueError as error:
            raise ValueError(f"{folder}: found a run.json that is not JSON ({error}), {expected}") from None
        if self.record.get("version") != 1:
            raise ValueError(
                f"{folder}: found version {self.record.get('version')} of run.json, expected 1; use the version of "
                "Rockfall that wrote it"
            )

    def __repr__(self) -> str:
        return f"<Run {str(self.folder)!r}: {self.record['status']}, {len(self.steps())} states of bodies>"

    @property
    def scene(self) -> Dict[str, Any]:
        """The scene, from scene.json."""
        return json.loads((self.folder / self.record["scene"]).read_text("utf-8"))

    @property
    def summary(self) -> Optional[Dict[str, Any]]:
        """The summary of the run; None if it has not ended."""
        return self.record.get("summary")

    def steps(self, kind: str = "bodies") -> List[int]:
        """Steps of which there is a state of `kind`: bodies, spheres, contacts or bonds."""
        names = (self.folder / "states").glob(f"{kind}_*.npz")
        numbers = (re.fullmatch(rf"{re.escape(kind)}_(\d+)", name.stem) for name in names)
        return sorted(int(number[1]) for number in numbers if number)

    def state(self, kind: str = "bodies", step: Optional[int] = None) -> Dict[str, numpy.ndarray]:
        """The state of `kind` after a step, by default the last one that was kept: arrays by name, one value for each row.

        It also has the scalars `step` and `time`. Raises ValueError if there is no such state.
        """
        steps = self.steps(kind)
        if not steps:
            raise ValueError(f"{self.folder}: found no states of {kind}, expected some; run again with states of {kind}")
        step = steps[-1] if step is None else step
        if step not in steps:
            raise ValueError(f"{self.folder}: found no state of step {step}, expected one of {steps}")
        with numpy.load(self.folder / "states" / f"{kind}_{step:012}.npz") as archive:
            return dict(archive)

    def vectors(self, name: str, kind: str = "bodies", step: Optional[int] = None) -> numpy.ndarray:
        """A vector or a quaternion of each row, such as "position": shape (rows, 3 or 4). Raises ValueError if there is none."""
        state = self.state(kind, step)
        parts = [state[f"{name}_{axis}"] for axis in "xyzw" if f"{name}_{axis}" in state]
        if not parts:
            raise ValueError(f"{self.folder}: found no vector {name!r} among {', '.join(state)}")
        return numpy.stack(parts, axis=1)

    def statistics(self) -> Dict[str, numpy.ndarray]:
        """Columns of statistics.csv: arrays by name, float64, shape (rows,). Each name ends in its unit."""
        with open(self.folder / "statistics.csv", newline="", encoding="utf-8") as file:
            rows = list(csv.reader(file))
        cells = [[float(cell) for cell in row] for row in rows[1:]]
        columns = numpy.array(cells).reshape(-1, len(rows[0]))
        return {name: columns[:, index] for index, name in enumerate(rows[0])}

    def collisions(self) -> Dict[str, numpy.ndarray]:
        """Spectra of collisions, as `World.collisions` gives them. Raises FileNotFoundError if the scene did not ask for them."""
        file = self.folder / "collisions.csv"
        if not file.exists():
            raise FileNotFoundError(
                f'{file}: found no spectra of collisions; a scene with "measure": {{ "collisions": true }} writes them'
            )
        with open(file, newline="", encoding="utf-8") as lines:
            _, *rows = csv.reader(lines)
        # Each measurement writes all that it has counted so far.
        rows = [row[2:] for row in rows if row[0] == rows[-1][0]]
        found: Dict[str, List[Any]] = {"impact_speed_m_per_s": [], "dissipated_energy_J": []}
        for quantity, start, end, count, energy in rows:
            found[quantity].append((float(start), float(end), int(count), float(energy)))
        return {quantity: numpy.array(classes, dtype=COLLISIONS) for quantity, classes in found.items()}

    def measure(
        self,
        mixing: Optional[str] = None,
        cell: Optional[float] = None,
        slope: Optional[Tuple[Sequence[float], Sequence[float]]] = None,
        window: Optional[float] = None,
    ) -> Dict[str, numpy.ndarray]:
        """Measures of each kept state, as `rockfall measure` gives them: arrays by name, float64, shape (states,).

        mixing: a shape, a material, "mass" or "volume", whose mixing is measured in cells of the side `cell` (m; four mean
        diameters by default). slope: the direction that points up, and the one along which the free surface may rise. Numbers of
        which nothing is known are NaN: contacts need `states=["bodies", "contacts"]`. window: a time (s); the arrays then have the
        averages over one such window after the other, and there are powers and torques of walls, mass flows of outlets, collisions and
        residence times as well. Raises ValueError for an unknown `mixing`, or a `window` that is not above 0.
        """
        if window is not None and not window > 0:
            raise ValueError(f"window: found {window}, expected a time greater than 0, s")
        plan = None if mixing is None else (mixing, cell)
        axes = None if slope is None else [[float(part) for part in axis] for axis in slope]
        names, rows = compiled().measure(self.folder, plan, axes, window)
        columns = numpy.array(rows, dtype="f8").reshape(-1, len(names))
        return {name: columns[:, index] for index, name in enumerate(names)}

    def totals(self, start: float = -numpy.inf, end: float = numpy.inf, still: float = 0.2) -> Dict[str, Any]:
        """Results of the time from `start` to `end` (s), as `rockfall measure --json` gives them.

        "flows": mass and fitted rate of each outlet and face, with the pauses of `still` (s) or longer; "walls": work, mean power
        and mean torque of each wall that moves; "collisions" and "residence": spectra, None if the scene did not ask for them.
        Numbers of which nothing is known are None.
        """
        return json.loads(compiled().totals(self.folder, float(start), float(end), float(still)))

    def fields(
        self,
        cells: Tuple[int, int, int],
        minimum: Sequence[float],
        maximum: Sequence[float],
        width: float,
        start: float = -numpy.inf,
        end: float = numpy.inf,
    ) -> Dict[str, numpy.ndarray]:
        """Fields of the kept states from `start` to `end` (s), averaged over time; otherwise as `World.fields`.

        Raises ValueError if the grid or the width makes no sense, or there is no state at these times.
        """
        counts = tuple(int(count) for count in cells)
        corners = ([float(part) for part in corner] for corner in (minimum, maximum))
        found = compiled().fields(self.folder, counts, *corners, float(width), float(start), float(end))
        return field_arrays(counts, found)

    def table(self, kind: str = "bodies", step: Optional[int] = None) -> Any:
        """A pandas.DataFrame of a state, or of "statistics". Raises ImportError if pandas is not installed."""
        import pandas

        rows = self.statistics() if kind == "statistics" else self.state(kind, step)
        time = {"time_s", "step", "time"} & set(rows)
        scalars = {name for name in time if numpy.ndim(rows[name]) == 0}
        return pandas.DataFrame({name: column for name, column in rows.items() if name not in scalars})
