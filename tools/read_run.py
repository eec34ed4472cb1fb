#!/usr/bin/env python3
"""Read the folder of a run, as `rockfall run --out` writes it, with numpy.

As a module:

    from read_run import Run
    run = Run("pile")
    bodies = run.state("bodies")          # the last one; a dict of columns
    print(bodies["position_y"].max())
    time = run.statistics()["time_s"]
"""

import argparse
import csv
import json
import re
import sys
from pathlib import Path

import numpy

KINDS = ("bodies", "spheres", "contacts")


class Run:
    """The folder of a run. Units are SI; names are those of the files."""

    def __init__(self, folder):
        """Opens `folder`; ValueError if there is no run in it."""
        self.folder = Path(folder)
        try:
            self.record = json.loads((self.folder / "run.json").read_text("utf-8"))
        except (OSError, ValueError) as error:
            raise ValueError(
                f"{folder}: found no run.json that can be read ({error}), expected a folder that "
                "`rockfall run --out` has made"
            ) from error
        if self.record.get("version") != 1:
            raise ValueError(
                f"{folder}: found version {self.record.get('version')} of run.json, expected 1; "
                "take the tools of the version of Rockfall that wrote it"
            )

    @property
    def scene(self):
        """The scene, as scene.json has it."""
        return json.loads((self.folder / self.record["scene"]).read_text("utf-8"))

    def steps(self, kind="bodies"):
        """The steps of which there is a state of `kind`, in order."""
        names = (self.folder / "states").glob(f"{kind}_*.npz")
        return sorted(int(re.fullmatch(rf"{kind}_(\d+)", name.stem)[1]) for name in names)

    def state(self, kind="bodies", step=None):
        """The state of `kind` after `step`, or the last one: a dict of one-dimensional arrays, all of
        one length. `pandas.DataFrame(run.state())` is the same as a table."""
        steps = self.steps(kind)
        if not steps:
            raise ValueError(
                f"{self.folder}: found no states of {kind}, expected some; run again with --states {kind}"
            )
        step = steps[-1] if step is None else step
        if step not in steps:
            raise ValueError(f"{self.folder}: found no state of step {step}, expected one of {steps}")
        with numpy.load(self.folder / "states" / f"{kind}_{step:012}.npz") as archive:
            return dict(archive)

    def vectors(self, name, kind="bodies", step=None):
        """A vector or a quaternion of each row: an array of the shape (rows, 3 or 4)."""
        state = self.state(kind, step)
        parts = [state[f"{name}_{axis}"] for axis in "xyzw" if f"{name}_{axis}" in state]
        if not parts:
            raise ValueError(f"{self.folder}: found no vector {name!r} among {', '.join(state)}")
        return numpy.stack(parts, axis=1)

    def statistics(self):
        """The rows of statistics.csv: a dict of arrays. Each name ends in its unit."""
        with open(self.folder / "statistics.csv", newline="", encoding="utf-8") as file:
            rows = list(csv.reader(file))
        columns = numpy.array([[float(cell) for cell in row] for row in rows[1:]]).reshape(-1, len(rows[0]))
        return {name: columns[:, index] for index, name in enumerate(rows[0])}


def describe(run):
    """What there is in a run, in lines."""
    record, statistics = run.record, run.statistics()
    yield f"{run.scene.get('name')}: {record['status']}, {record['steps']} steps of {record['time_step']} s"
    for kind in KINDS:
        steps = run.steps(kind)
        if steps:
            state = run.state(kind)
            rows = len(next(iter(state.values())))
            yield f"{kind}: {len(steps)} states, steps {steps[0]} to {steps[-1]}, {rows} rows in the last"
            yield "  " + ", ".join(state)
    yield f"statistics: {len(statistics['step'])} rows"
    for name, values in statistics.items():
        if len(values):
            yield f"  {name}: {values[-1]:.6g} at the end, {values.min():.6g} to {values.max():.6g}"


def main():
    parser = argparse.ArgumentParser(
        description="Say what there is in the folder of a run.",
        epilog="Example: read_run.py pile",
    )
    parser.add_argument("folder", help="folder that `rockfall run --out` has made")
    arguments = parser.parse_args()
    try:
        for line in describe(Run(arguments.folder)):
            print(line)
    except ValueError as error:
        sys.exit(f"error: {error}")


if __name__ == "__main__":
    main()
