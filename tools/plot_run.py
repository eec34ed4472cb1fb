#!/usr/bin/env python3
"""Plot energy, coordination or profiles of a run, with matplotlib."""

import argparse
import sys

import matplotlib
import numpy

from read_run import Run

AXES = {"x": 0, "y": 1, "z": 2}


def plot_energy(run, figure, _):
    """Where the energy is, over time."""
    statistics = run.statistics()
    axes = figure.subplots()
    for name, label in [
        ("kinetic_energy_J", "kinetic"),
        ("gravitational_energy_J", "gravitational"),
        ("elastic_energy_J", "elastic"),
        ("dissipated_damping_J", "dissipated by dashpots"),
        ("dissipated_friction_J", "dissipated by friction"),
        ("dissipated_drag_J", "dissipated by drag"),
        ("work_J", "work of walls and forces"),
    ]:
        axes.plot(statistics["time_s"], statistics[name], label=label)
    all_of_it = (
        statistics["total_energy_J"]
        + statistics["dissipated_damping_J"]
        + statistics["dissipated_friction_J"]
        + statistics["dissipated_drag_J"]
        - statistics["work_J"]
    )
    axes.plot(statistics["time_s"], all_of_it, "k:", label="all of it, less work")
    axes.set(xlabel="time (s)", ylabel="energy (J)")
    axes.legend()


def plot_coordination(run, figure, _):
    """The mean number of contacts of a body that is not fixed, and the largest overlap, over time."""
    statistics = run.statistics()
    upper, lower = figure.subplots(2, sharex=True)
    upper.plot(statistics["time_s"], statistics["coordination"])
    upper.set(ylabel="contacts of a body")
    lower.plot(statistics["time_s"], 100 * statistics["largest_overlap_so_far_of_radius"])
    lower.set(xlabel="time (s)", ylabel="largest overlap (% of a radius)")


def profile(run, axis, bins, step=None):
    """Means over layers across `axis` ("x", "y" or "z"): a dict of the middles of the layers (m), the bulk
    density (kg/m³, in the box around the bodies), the mean speed (m/s) and the mean number of contacts of
    the bodies whose centre of mass is in the layer (nan where there is none). Fixed bodies do not count.
    """
    state = run.state("bodies", step)
    free = state["fixed"] == 0
    position = numpy.stack([state[f"position_{a}"][free] for a in AXES], axis=1)
    speed = numpy.linalg.norm(
        numpy.stack([state[f"velocity_{a}"][free] for a in AXES], axis=1).astype(float), axis=1
    )
    height = position[:, AXES[axis]]
    edges = numpy.linspace(height.min(), height.max() + 1e-12, bins + 1)
    sides = numpy.delete(numpy.ptp(position, axis=0), AXES[axis])
    volume = sides.prod() * (edges[1] - edges[0])
    count, _ = numpy.histogram(height, edges)
    mean = lambda values: numpy.histogram(height, edges, weights=values)[0] / numpy.where(count, count, numpy.nan)
    mass, _ = numpy.histogram(height, edges, weights=state["mass"][free])
    return {
        "middle_m": 0.5 * (edges[1:] + edges[:-1]),
        "density_kg_m3": mass / volume if volume > 0 else numpy.full(bins, numpy.nan),
        "speed_m_s": mean(speed),
        "contacts": mean(state["contacts"][free].astype(float)),
    }


def plot_profile(run, figure, arguments):
    """Density, speed and contacts over height."""
    layers = profile(run, arguments.axis, arguments.bins, arguments.step)
    panels = figure.subplots(1, 3, sharey=True)
    for panel, (name, label) in zip(
        panels,
        [
            ("density_kg_m3", "bulk density (kg/m³)"),
            ("speed_m_s", "mean speed (m/s)"),
            ("contacts", "contacts of a body"),
        ],
    ):
        panel.plot(layers[name], layers["middle_m"], ".-")
        panel.set(xlabel=label)
    panels[0].set(ylabel=f"{arguments.axis} (m)")


PLOTS = {"energy": plot_energy, "coordination": plot_coordination, "profile": plot_profile}


def main():
    parser = argparse.ArgumentParser(
        description="Plot a run: its energy or coordination over time, or a profile across it.",
        epilog="Example: plot_run.py pile profile --axis y --out profile.png",
    )
    parser.add_argument("folder", help="folder that `rockfall run --out` has made")
    parser.add_argument("what", choices=PLOTS)
    parser.add_argument("--out", metavar="FILE", help="picture to write (.png, .svg, .pdf); without it, a window")
    parser.add_argument("--axis", choices=AXES, default="y", help="upward axis of a profile [y]")
    parser.add_argument("--bins", type=int, default=20, help="number of layers of a profile [20]")
    parser.add_argument("--step", type=int, help="step of the state for a profile [the last]")
    arguments = parser.parse_args()
    if arguments.bins < 1:
        parser.error("--bins: found less than 1, expected a number of layers")
    if arguments.out:
        matplotlib.use("Agg")
    from matplotlib import pyplot

    figure = pyplot.figure(figsize=(9, 5), layout="constrained")
    try:
        run = Run(arguments.folder)
        PLOTS[arguments.what](run, figure, arguments)
    except (OSError, ValueError) as error:
        sys.exit(f"error: {error}")
    figure.suptitle(run.scene.get("name", ""))
    if arguments.out:
        figure.savefig(arguments.out, dpi=150)
    else:
        pyplot.show()


if __name__ == "__main__":
    main()
