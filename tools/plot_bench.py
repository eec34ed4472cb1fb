#!/usr/bin/env python3
"""Plot results of `rockfall bench --json` with matplotlib: speed over size, and the time of each pass."""

import argparse
import json
import sys

import matplotlib


def measurements(paths):
    """All scenes of some files: dicts as `rockfall bench --json` writes them."""
    scenes = []
    for path in paths:
        try:
            with open(path, encoding="utf-8") as file:
                found = json.load(file)
        except (OSError, ValueError) as error:
            raise ValueError(f"{path}: found {error}, expected a file that `rockfall bench --json` has written")
        if not isinstance(found, dict) or not found.get("scenes"):
            raise ValueError(f"{path}: found no scenes, expected a file that `rockfall bench --json` has written")
        scenes.extend(found["scenes"])
    return sorted(scenes, key=lambda scene: scene["spheres"])


def plot_speed(scenes, axes):
    """Sphere-steps per second over the number of spheres: median, slowest and fastest repeat."""
    for adapter in dict.fromkeys(scene["adapter"] for scene in scenes):
        own = [scene for scene in scenes if scene["adapter"] == adapter]
        speeds = [scene["sphere_steps_per_s"] for scene in own]
        medians = [speed["median"] for speed in speeds]
        spread = [
            [speed["median"] - speed["min"] for speed in speeds],
            [speed["max"] - speed["median"] for speed in speeds],
        ]
        spheres = [scene["spheres"] for scene in own]
        axes.errorbar(spheres, medians, spread, fmt="o", capsize=3, label=adapter)
        for scene, median in zip(own, medians):
            axes.annotate(
                scene["scene"], (scene["spheres"], median), (4, 6), textcoords="offset points", size="small"
            )
    axes.set(xscale="log", yscale="log", xlabel="spheres", ylabel="sphere-steps per second")
    axes.margins(0.25)
    axes.grid(which="both", alpha=0.3)
    axes.legend()


def plot_passes(scenes, axes):
    """Time of each pass for a sphere and a step, one upon the other."""
    timed = [scene for scene in scenes if scene["passes"]]
    labels = [f"{scene['scene']}\n{scene['backend']}" for scene in timed]
    tops = [0.0] * len(timed)
    axes.set_prop_cycle(color=matplotlib.colormaps["Paired"].colors)
    for name in dict.fromkeys(of_pass["pass"] for scene in timed for of_pass in scene["passes"]):
        ms = [sum(of["ms"] for of in scene["passes"] if of["pass"] == name) for scene in timed]
        times = [1e6 * time / scene["spheres"] for time, scene in zip(ms, timed)]
        axes.bar(range(len(timed)), times, bottom=tops, label=name)
        tops = [top + time for top, time in zip(tops, times)]
    axes.set_xticks(range(len(timed)), labels)
    axes.set(ylabel="time of a sphere and step (ns)")
    if timed:
        axes.legend(loc="center left", bbox_to_anchor=(1, 0.5))


def main():
    parser = argparse.ArgumentParser(
        description="Plot what `rockfall bench --json` has measured: speed over size, and the time of each pass.",
        epilog="Example: plot_bench.py benches/results/*/bench-*.json --out speed.svg",
    )
    parser.add_argument("files", nargs="+", metavar="FILE", help="file that `rockfall bench --json` has written")
    parser.add_argument("--out", metavar="FILE", help="picture to write (.png, .svg, .pdf); without it, a window")
    arguments = parser.parse_args()
    if arguments.out:
        matplotlib.use("Agg")
    from matplotlib import pyplot

    try:
        scenes = measurements(arguments.files)
    except ValueError as error:
        sys.exit(f"error: {error}")
    figure = pyplot.figure(figsize=(12, 5), layout="constrained")
    speed, passes = figure.subplots(1, 2)
    plot_speed(scenes, speed)
    plot_passes(scenes, passes)
    if arguments.out:
        figure.savefig(arguments.out, dpi=150)
    else:
        pyplot.show()


if __name__ == "__main__":
    main()
