#!/usr/bin/env python3
"""Run the drum of Dosta et al. 2024 with Rockfall, LAMMPS and LIGGGHTS from the same start, and compare mixing and torque.

The start is `paper-dosta-2024/input.txt` of github.com/Collab4exaNBody/exaDEM-benchmark: 30,000 spheres of 1 mm on 8,000 of
2 mm in a drum of 200 mm that turns with 2 rad/s. All moduli are a hundredth of the published ones. Writes a plot and a table
in Markdown. On Debian and Ubuntu: `apt-get install lammps liggghts`.
"""

import argparse
import json
import math
import tempfile
from pathlib import Path

import matplotlib
import numpy
from matplotlib.figure import Figure

from cross_check import read_dump, run, vectors
from read_run import Run

RADIUS, DEPTH, SPEED, GRAVITY = 0.1, 0.06, 2.0, 9.81
RADII, DENSITIES = [0.001, 0.002], [2500, 2000]
POISSON = 0.2
# Of the small spheres, the large ones and the steel drum.
YOUNG = [1e7, 5e6, 2.1e9]
RESTITUTION = [[0.5, 0.45, 0.4], [0.45, 0.4, 0.4], [0.4, 0.4, 0.4]]
FRICTION = [[0.3, 0.2, 0.2], [0.2, 0.4, 0.2], [0.2, 0.2, 0.2]]
STEP = 2e-5
# Steps from one state to the next, and from one torque to the next.
EVERY, OFTEN = 2500, 25
# Side of the cells of the mixing index, m.
CELL = 0.01


def start(file):
    """Kind (0: small, 1: large) and position of each sphere, the middle of the drum at the origin and its axis along y."""
    rows = numpy.loadtxt(file, skiprows=2)
    return (rows[:, 0] == 0).astype(int), rows[:, 1:] - [0.102, 0.032, 0.102]


def rockfall(arguments, folder, kind, position):
    """States (positions) and torques on the drum (N m) over time, with Rockfall."""
    names = ["small", "large", "steel"]
    density = [*DENSITIES, 7800]
    material = {
        names[k]: {"density": density[k], "young_modulus": YOUNG[k], "poisson_ratio": POISSON,
                   "restitution": RESTITUTION[k][k], "friction": FRICTION[k][k]}
        for k in range(3)
    }  # fmt: skip
    pairs = [
        {"between": [names[k], names[m]], "restitution": RESTITUTION[k][m], "friction": FRICTION[k][m]}
        for k, m in [(0, 1), (0, 2), (1, 2)]
    ]
    table = numpy.column_stack([kind + 1, position])
    numpy.savetxt(folder / "bed.csv", table, delimiter=",", header="type,x,y,z", comments="", fmt="%.17g")
    scene = {
        "version": 1, "gravity": [0, 0, -GRAVITY], "duration": arguments.time, "initial_overlap": "allow",
        "contact": {"normal": "hertz", "tangential": "mindlin", "time_step": STEP},
        "materials": material, "pairs": pairs,
        "shapes": {names[k]: {"sphere": {"radius": RADII[k]}, "material": names[k]} for k in range(2)},
        "walls": [{"name": "drum", "cylinder": {"radius": RADIUS, "height": DEPTH, "closed": True}, "side": "inside",
                   "material": "steel", "motion": {"rotation": {"axis": [0, 1, 0], "speed": -SPEED}}}],
        "bodies": {"file": "bed.csv", "types": {"1": "small", "2": "large"}},
    }  # fmt: skip
    (folder / "mixer.json").write_text(json.dumps(scene))
    program = Path(arguments.rockfall).resolve()
    options = ["--every", EVERY, "--statistics-every", OFTEN, "--states", "bodies", "--vtk", "none", "--out", "mixer"]
    run([program, "run", "mixer.json", "--backend", arguments.backend, *map(str, options)], folder)
    kept = Run(folder / "mixer")
    states = [vectors(kept.state("bodies", step), "position") for step in kept.steps()]
    torque = kept.statistics()["drum_torque_y_Nm"][1:]
    return states, torque[: len(torque) // 100 * 100].reshape(-1, 100).mean(axis=1)


def data_file(kind, position, types):
    """A data file of LAMMPS or LIGGGHTS, with so many types."""
    sides = [RADIUS + 0.005, 0.5 * DEPTH + 0.003, RADIUS + 0.005]
    lines = ["start", "", f"{len(kind)} atoms", f"{types} atom types", ""]
    lines += [f"{-side} {side} {axis}lo {axis}hi" for axis, side in zip("xyz", sides)]
    lines += ["", "Atoms", ""]
    row = "{} {} {} {} {:.17g} {:.17g} {:.17g}"
    both = enumerate(zip(kind, position))
    lines += [row.format(index + 1, k + 1, 2 * RADII[k], DENSITIES[k], *place) for index, (k, place) in both]
    return "\n".join(lines) + "\n"


def deck(program, rest):
    """A deck, with what both programs understand."""
    return f"""
boundary f f f
newton off
read_data {program}.data
neighbor 0.0005 bin
neigh_modify delay 0
timestep {STEP}
fix weight all gravity {GRAVITY} vector 0 0 -1
fix motion all nve/sphere
{rest}
fix torque all ave/time {OFTEN} 100 {EVERY} v_torque file {program}.torque
dump out all custom {EVERY} {program}.dump id x y z
thermo {EVERY}
"""


def ran(arguments, folder, program, text):
    """Runs a deck; returns states and torques."""
    steps = round(arguments.time / STEP)
    (folder / f"{program}.in").write_text(f"{text}run {steps}\n")
    run([getattr(arguments, program), "-log", "none", "-in", f"{program}.in"], folder)
    return read_dump(folder / f"{program}.dump"), numpy.loadtxt(folder / f"{program}.torque", ndmin=2)[:, 1]


def lammps(arguments, folder, kind, position):
    """As `rockfall`, with LAMMPS: the drum is a region that turns."""

    def model(k, m):
        # LAMMPS takes both sides of a contact to be of one material: that with their effective modulus.
        young = 2 * YOUNG[k] * YOUNG[m] / (YOUNG[k] + YOUNG[m])
        return (
            f"hertz/material {young} {RESTITUTION[k][m]} {POISSON} tangential mindlin NULL 1.0 {FRICTION[k][m]} damping tsuji"
        )

    (folder / "lammps.data").write_text(data_file(kind, position, 2))
    lines = ["pair_style granular"]
    lines += [f"pair_coeff {k + 1} {m + 1} {model(k, m)}" for k, m in [(0, 0), (0, 1), (1, 1)]]
    half = 0.5 * DEPTH
    lines += [
        f"variable angle equal {-SPEED}*step*dt",
        f"region drum cylinder y 0 0 {RADIUS} {-half} {half} side in rotate v_angle 0 0 0 0 1 0",
    ]
    for k in range(2):
        wall = f"w{k + 1}"
        lines += [
            f"group g{k + 1} type {k + 1}",
            f"fix {wall} g{k + 1} wall/gran/region granular {model(k, 2)} region drum contacts",
            f"variable t{k + 1} atom f_{wall}[7]*f_{wall}[2]-f_{wall}[5]*f_{wall}[4]",
            f"compute t{k + 1} g{k + 1} reduce sum v_t{k + 1}",
        ]
    lines += ["variable torque equal -(c_t1+c_t2)"]
    head = "units si\natom_style sphere\ncomm_modify vel yes"
    return ran(arguments, folder, "lammps", head + deck("lammps", "\n".join(lines)))


def can(file):
    """Writes the drum as a mesh: a prism of 200 sides around it."""
    sides = 200
    radius, half = RADIUS / math.cos(math.pi / sides), 0.5 * DEPTH
    rim = [(radius * math.cos(a), radius * math.sin(a)) for a in 2 * math.pi * numpy.arange(sides + 1) / sides]
    triangles = []
    for (x, z), (u, w) in zip(rim, rim[1:]):
        low, high, next_low, next_high = (x, -half, z), (x, half, z), (u, -half, w), (u, half, w)
        triangles += [(low, next_low, next_high), (low, next_high, high)]
        triangles += [((0, -half, 0), low, next_low), ((0, half, 0), next_high, high)]
    lines = ["solid can"]
    for corners in triangles:
        lines += ["facet normal 0 0 0", "outer loop"]
        lines += ["vertex {:.9g} {:.9g} {:.9g}".format(*corner) for corner in corners]
        lines += ["endloop", "endfacet"]
    file.write_text("\n".join([*lines, "endsolid can", ""]))


def liggghts(arguments, folder, kind, position):
    """As `rockfall`, with LIGGGHTS: the drum is a mesh."""
    (folder / "liggghts.data").write_text(data_file(kind, position, 3))
    can(folder / "can.stl")

    def table(name, numbers):
        return " ".join(map(str, [name, "peratomtypepair 3", *numpy.ravel(numbers)]))

    lines = [
        f"fix m1 all property/global youngsModulus peratomtype {' '.join(map(str, YOUNG))}",
        f"fix m2 all property/global poissonsRatio peratomtype {POISSON} {POISSON} {POISSON}",
        f"fix m3 all property/global {table('coefficientRestitution', RESTITUTION)}",
        f"fix m4 all property/global {table('coefficientFriction', FRICTION)}",
        "pair_style gran model hertz tangential history",
        "pair_coeff * *",
        "fix can all mesh/surface/stress file can.stl type 3 curvature 1e-6 reference_point 0 0 0",
        "fix walls all wall/gran model hertz tangential history mesh n_meshes 1 meshes can",
        f"fix turn all move/mesh mesh can rotate origin 0 0 0 axis 0 -1 0 period {2 * math.pi / SPEED}",
        "variable torque equal f_can[5]",
    ]
    head = "hard_particles yes\nunits si\natom_style granular\natom_modify map array\ncommunicate single vel yes"
    return ran(arguments, folder, "liggghts", head + deck("liggghts", "\n".join(lines)))


def mixing(kind, states):
    """Mixing index of each state: 1 - s²/s0², s² the variance of the large spheres' part of the volume over cells across the axis."""
    volume = numpy.array(RADII)[kind] ** 3
    whole = (volume * kind).sum() / volume.sum()
    indices = []
    for position in states:
        cell = numpy.floor((position[:, [0, 2]] + 0.2) / CELL).astype(int)
        index = cell[:, 0] * 1000 + cell[:, 1]
        total = numpy.bincount(index, volume)
        large = numpy.bincount(index, volume * kind)
        used = total > 0
        part = large[used] / total[used]
        variance = (total[used] * (part - whole) ** 2).sum() / total.sum()
        indices.append(1 - variance / (whole * (1 - whole)))
    return numpy.array(indices)


def late(torque):
    """Mean torque after the first half second."""
    return torque[round(0.5 / (STEP * EVERY)) :].mean()


def plot(file, results):
    """Mixing index and torque over time."""
    matplotlib.rcParams["svg.hashsalt"] = "rockfall"
    figure = Figure(figsize=(9, 3.6), layout="constrained")
    left, right = figure.subplots(1, 2)
    for name, (index, torque) in results.items():
        style = "-" if name == "Rockfall" else "."
        left.plot(STEP * EVERY * numpy.arange(len(index)), index, style, label=name)
        right.plot(STEP * EVERY * (numpy.arange(len(torque)) + 0.5), torque, style, label=name)
    left.set(xlabel="time (s)", ylabel="mixing index")
    right.set(xlabel="time (s)", ylabel="torque on the drum (N m)")
    left.legend()
    figure.savefig(file, metadata={"Date": None} if str(file).endswith(".svg") else None)


def table(results):
    """Table of the numbers, in Markdown."""
    count = min(len(index) for index, _ in results.values())
    lines = ["| quantity | " + " | ".join(results) + " |", "|---" * (len(results) + 1) + "|"]
    for state in numpy.linspace(0, count - 1, 6).round().astype(int)[1:]:
        numbers = [f"{index[state]:.4f}" for index, _ in results.values()]
        lines.append(f"| mixing index at {STEP * EVERY * state:.2f} s | " + " | ".join(numbers) + " |")
    numbers = [f"{late(torque[: count - 1]):.4f}" for _, torque in results.values()]
    lines.append("| torque after 0.5 s, mean (N m) | " + " | ".join(numbers) + " |")
    return "\n".join(lines) + "\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("start", help="input.txt of the benchmark")
    parser.add_argument("--time", type=float, default=2.0, help="simulated time, s")
    parser.add_argument("--rockfall", default="target/release/rockfall", help="the program `rockfall`")
    parser.add_argument("--backend", default="cpu", help="engine of Rockfall")
    parser.add_argument("--lammps", default="lmp", help="the program `lmp`")
    parser.add_argument("--liggghts", default="liggghts", help="the program `liggghts`")
    parser.add_argument("--plot", default="docs/book/src/pictures/mixer.svg", help="file of the plot")
    arguments = parser.parse_args()
    kind, position = start(arguments.start)
    results = {}
    with tempfile.TemporaryDirectory() as folder:
        for name, work in [("Rockfall", rockfall), ("LAMMPS", lammps), ("LIGGGHTS", liggghts)]:
            states, torque = work(arguments, Path(folder), kind, position)
            results[name] = mixing(kind, states), torque
    plot(arguments.plot, results)
    print(table(results), end="")


if __name__ == "__main__":
    main()
