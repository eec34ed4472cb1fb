#!/usr/bin/env python3
"""Read the folder of a run, as `rockfall run --out` writes it, with numpy.

As a module:

    from read_run import Run
    run = Run("pile")
    bodies = run.state("bodies")          # the last one; a dict of columns
    print(bodies["position_y"].max())
    time = run.statistics()["time_s"]

`Run` is that of the Python package, which need not be installed.
"""

import argparse
import importlib.util
import sys
from pathlib import Path

SOURCE = Path(__file__).resolve().parent.parent / "python/rockfall/run.py"
SPEC = importlib.util.spec_from_file_location("rockfall_run", SOURCE)
MODULE = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(MODULE)
Run = MODULE.Run

KINDS = ("bodies", "spheres", "contacts")


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
    except (OSError, ValueError) as error:
        sys.exit(f"error: {error}")


if __name__ == "__main__":
    main()
