#!/usr/bin/env python3
"""Run three scenes with Rockfall and with LAMMPS from the same input, and plot both.

Oblique impacts of pairs, a hopper that empties, a drum. Writes one plot and a table in Markdown.
LAMMPS is `apt-get install lammps` on Debian and Ubuntu.
"""

import argparse
import json
import math
import subprocess
import sys
import tempfile
from pathlib import Path

import matplotlib
import numpy
from matplotlib.figure import Figure

from read_run import Run

GRAVITY = 9.81


def gamma(restitution, stiffness, mass):
    """A dashpot over the effective mass, 1/s: 2 zeta sqrt(k/m), zeta = -ln e/sqrt(pi² + ln² e)."""
    log = math.log(restitution)
    return -2 * log / math.hypot(math.pi, log) * math.sqrt(stiffness / mass)


def vectors(state, name):
    """Three columns of a state of bodies as an array."""
    return numpy.stack([state[f"{name}_{axis}"] for axis in "xyz"], axis=1)


def run(command, folder):
    """Runs a command in a folder; it must succeed."""
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        sys.exit(f"error: {' '.join(map(str, command))}:\n{done.stdout[-2000:]}\n{done.stderr[-2000:]}")


def read_dump(file):
    """The states in a dump of LAMMPS or LIGGGHTS: arrays by atom and column, without the column of the numbers of atoms."""
    states = []
    lines = iter(file.read_text().splitlines())
    for line in lines:
        if line.startswith("ITEM: NUMBER"):
            count = int(next(lines))
        if line.startswith("ITEM: ATOMS"):
            rows = numpy.array([next(lines).split() for _ in range(count)], dtype=float)
            states.append(rows[rows[:, 0].argsort(), 1:])
    return states


class Programs:
    """The two programs, and a folder for their files."""

    def __init__(self, arguments, folder):
        self.arguments = arguments
        self.folder = Path(folder)

    def rockfall(self, name, scene, every):
        """Runs a scene, with a state of the bodies every so many steps; returns its `Run`."""
        (self.folder / f"{name}.json").write_text(json.dumps(scene))
        command = [Path(self.arguments.rockfall).resolve(), "run", f"{name}.json", "--backend", self.arguments.backend]
        if self.arguments.threads:
            command += ["--threads", str(self.arguments.threads)]
        command += ["--out", name, "--every", str(every), "--states", "bodies", "--vtk", "none"]
        run(command, self.folder)
        return Run(self.folder / name)

    def lammps(self, name, deck):
        """Runs a deck; returns what it dumped to `name.dump`, see `read_dump`."""
        (self.folder / f"{name}.in").write_text(deck)
        command = [self.arguments.lammps, "-log", "none", "-in", f"{name}.in"]
        if self.arguments.ranks > 1:
            command = ["mpirun", "--allow-run-as-root", "--bind-to", "none", "-np", str(self.arguments.ranks), *command]
        run(command, self.folder)
        return read_dump(self.folder / f"{name}.dump")


def data_file(positions, velocities, spins, diameter, density, box):
    """A data file of LAMMPS, of `atom_style sphere`."""
    lines = ["start", "", f"{len(positions)} atoms", "1 atom types", ""]
    lines += [f"{low:.9g} {high:.9g} {axis}lo {axis}hi" for axis, (low, high) in zip("xyz", box)]
    lines += ["", "Atoms # sphere", ""]
    row = "{} 1 {} {} {:.17g} {:.17g} {:.17g}"
    lines += [row.format(k + 1, diameter, density, *place) for k, place in enumerate(positions)]
    lines += ["", "Velocities", ""]
    both = enumerate(zip(velocities, spins))
    lines += ["{} {:.9g} {:.9g} {:.9g} {:.9g} {:.9g} {:.9g}".format(k + 1, *v, *w) for k, (v, w) in both]
    return "\n".join(lines) + "\n"


def start(programs, name, run):
    """The last state of a run as bodies for either program: a CSV file, and what LAMMPS gets."""
    state = run.state()
    position, velocity, spin = (vectors(state, what) for what in ["position", "velocity", "angular_velocity"])
    table = numpy.concatenate([position, velocity, spin], axis=1)
    header = "x,y,z,vx,vy,vz,omegax,omegay,omegaz"
    numpy.savetxt(programs.folder / f"{name}.csv", table, delimiter=",", header=header, comments="", fmt="%.17g")
    return position, velocity, spin


# Oblique impacts of pairs.

BALL = {"radius": 0.01, "density": 2500, "young": 5e7, "poisson": 0.3, "restitution": 0.8, "friction": 0.3}


def impacts(programs):
    """Balls that hit one another at all angles, by Hertz and Mindlin: speed along the surface and spin afterwards."""
    angles = numpy.radians(numpy.arange(2.5, 87.5, 2.5))
    ball, speed, step = BALL, 1.0, 1e-6
    radius = ball["radius"]
    positions, velocities = [], []
    for index, angle in enumerate(angles):
        aside = 10 * radius * index
        positions += [[aside, 0, 0], [aside, 2.001 * radius, 0]]
        velocities += [[0, 0, 0], [speed * math.sin(angle), -speed * math.cos(angle), 0]]
    scene = {
        "version": 1, "gravity": [0, 0, 0], "duration": 4e-3,
        "contact": {"normal": "hertz", "tangential": "mindlin", "time_step": step},
        "materials": {"m": {"density": ball["density"], "restitution": ball["restitution"], "friction": ball["friction"],
                            "young_modulus": ball["young"], "poisson_ratio": ball["poisson"]}},
        "shapes": {"ball": {"sphere": {"radius": radius}, "material": "m"}},
        "bodies": [{"shape": "ball", "position": p, "velocity": v} for p, v in zip(positions, velocities)],
    }  # fmt: skip
    state = programs.rockfall("impacts", scene, 4000).state()
    own = vectors(state, "velocity")[1::2, 0], vectors(state, "angular_velocity")[1::2, 2]
    box = [(-1, 10), (-1, 1), (-1, 1)]
    zeros = numpy.zeros((len(positions), 3))
    data = data_file(positions, velocities, zeros, 2 * radius, ball["density"], box)
    (programs.folder / "impacts.data").write_text(data)
    model = (
        f"hertz/material {ball['young']} {ball['restitution']} {ball['poisson']} tangential mindlin NULL 0.5 "
        f"{ball['friction']} damping tsuji"
    )
    deck = f"""
units si
atom_style sphere
boundary f f f
newton off
comm_modify vel yes
read_data impacts.data
neighbor {0.3 * radius} bin
timestep {step}
pair_style granular
pair_coeff * * {model}
fix motion all nve/sphere
dump out all custom 4000 impacts.dump id vx vy vz omegax omegay omegaz
dump_modify out format float %.9g
run 4000
"""
    last = programs.lammps("impacts", deck)[-1]
    other = last[1::2, 0], last[1::2, 5]
    degrees = numpy.degrees(angles)
    sine = speed * numpy.sin(angles)
    return degrees, own[0] / sine, other[0] / sine, radius * own[1] / speed, radius * other[1] / speed


# A hopper and a drum, of balls with linear springs.

GRAIN = {"radius": 0.005, "density": 2500, "stiffness": 1e4, "restitution": 0.5, "friction": 0.4}
STEP = 2e-5


def grains(rest):
    """A scene of these balls."""
    return {
        "version": 1,
        "initial_overlap": "allow",
        "contact": {"normal": "hooke", "tangential": "history", "stiffness": GRAIN["stiffness"], "time_step": STEP},
        "materials": {"m": {"density": GRAIN["density"], "restitution": GRAIN["restitution"], "friction": GRAIN["friction"]}},
        "shapes": {"ball": {"sphere": {"radius": GRAIN["radius"]}, "material": "m"}},
        **rest,
    }


def grain_deck(name, boundary, walls, steps, every):
    """A deck of LAMMPS with the same balls, whose `walls` are fixes with the model of a wall for MODEL."""
    mass = 4 / 3 * math.pi * GRAIN["radius"] ** 3 * GRAIN["density"]
    stiffness, friction = GRAIN["stiffness"], GRAIN["friction"]
    pair, wall = (gamma(GRAIN["restitution"], stiffness, part * mass) for part in [0.5, 1.0])

    def model(damping):
        return f"{stiffness} {2 / 7 * stiffness} {damping} {0.5 * damping} {friction} 1"

    return f"""
units si
atom_style sphere
boundary {boundary}
newton off
comm_modify vel yes
read_data {name}.data
neighbor {0.4 * GRAIN['radius']} bin
neigh_modify delay 0 every 1 check yes
timestep {STEP}
pair_style gran/hooke/history {model(pair)}
pair_coeff * *
fix weight all gravity {GRAVITY} vector 0 -1 0
fix motion all nve/sphere
{walls.replace("MODEL", "hooke/history " + model(wall))}
dump out all custom {every} {name}.dump id x y z vx vy vz
dump_modify out format float %.9g
thermo 1000000
run {steps}
"""


def hopper(programs):
    """A slab with a slot of ten diameters: the mass that has left it, over time."""
    radius, half, depth, slot, bottom = GRAIN["radius"], 0.15, 0.05, 0.05, -0.4
    width = half - 0.5 * slot
    shelf = {"material": "m", "rectangle": {"size": [width, 2 * depth]}}
    place = 0.5 * (slot + width)
    sides = {
        "domain": {"min": [-1, -1, 0], "max": [1, 1, depth], "periodic": [False, False, True]},
        "planes": [
            {"point": [-half, 0, 0], "normal": [1, 0, 0], "material": "m"},
            {"point": [half, 0, 0], "normal": [-1, 0, 0], "material": "m"},
            {"point": [0, bottom, 0], "normal": [0, 1, 0], "material": "m"},
        ],
    }
    floor = {"point": [0, 0, 0], "normal": [0, 1, 0], "material": "m"}
    fill = {"count": 4000, "shapes": {"ball": 1}, "spacing": 2.06 * radius, "jitter": 0.04 * radius,
            "region": {"min": [-half, 0, 0], "max": [half, 0.6, depth]}}  # fmt: skip
    settle = grains({**sides, "planes": [*sides["planes"][:2], floor], "fills": [fill], "duration": 0.6})
    position, velocity, spin = start(programs, "bed", programs.rockfall("settle", settle, 30000))
    shelves = [{**shelf, "name": name, "position": [x, 0, 0.5 * depth]} for name, x in [("left", -place), ("right", place)]]
    scene = grains({**sides, "walls": shelves, "bodies": {"file": "bed.csv", "shape": "ball"}, "duration": 1.0})
    every, steps = 1000, 50000
    run = programs.rockfall("hopper", scene, every)
    own = [(run.state("bodies", step)["position_y"] < 0).sum() for step in run.steps()]
    box = [(-half - 0.01, half + 0.01), (bottom - 0.01, 0.6), (0, depth)]
    (programs.folder / "hopper.data").write_text(
        data_file(position, velocity, spin, 2 * radius, GRAIN["density"], box)
    )
    walls = f"""
region left block -1 {-0.5 * slot} -0.002 0 -9 9 side out
region right block {0.5 * slot} 1 -0.002 0 -9 9 side out
fix left all wall/gran/region MODEL region left
fix right all wall/gran/region MODEL region right
fix sides all wall/gran MODEL xplane {-half} {half}
fix bottom all wall/gran MODEL yplane {bottom} NULL
"""
    states = programs.lammps("hopper", grain_deck("hopper", "f f p", walls, steps, every))
    other = [(state[:, 1] < 0).sum() for state in states]
    mass = 4 / 3 * math.pi * radius**3 * GRAIN["density"]
    time = STEP * every * numpy.arange(len(other))
    return time, mass * numpy.array(own), mass * numpy.array(other)


def drum(programs):
    """A drum that starts at rest: centres of mass of the balls of its left and its right half, over time."""
    radius, inner, depth, speed = GRAIN["radius"], 0.12, 0.06, 3.0
    wall = {"name": "drum", "cylinder": {"radius": inner, "height": 1}, "side": "inside", "axis": [1, 0, 0],
            "angle": math.pi / 2, "position": [0, 0, 0.5 * depth], "material": "m"}  # fmt: skip
    ends = [
        {"point": [0, 0, 0], "normal": [0, 0, 1], "material": "m"},
        {"point": [0, 0, depth], "normal": [0, 0, -1], "material": "m"},
    ]
    fill = {"count": 1000, "shapes": {"ball": 1}, "spacing": 2.06 * radius, "jitter": 0.04 * radius,
            "region": {"min": [-0.08, -0.08, 0], "max": [0.08, 0.08, depth]}}  # fmt: skip
    settle = grains({"planes": ends, "walls": [wall], "fills": [fill], "duration": 0.5})
    position, velocity, spin = start(programs, "charge", programs.rockfall("charge", settle, 25000))
    turning = {**wall, "motion": {"rotation": {"axis": [0, 0, 1], "speed": speed}}}
    scene = grains({"planes": ends, "walls": [turning], "bodies": {"file": "charge.csv", "shape": "ball"}, "duration": 2.1})
    every, steps = 1000, 105000
    run = programs.rockfall("drum", scene, every)
    left = position[:, 0] < 0
    half = [left, ~left]
    own = [[vectors(run.state("bodies", step), "position")[part].mean(axis=0)[:2] for part in half] for step in run.steps()]
    box = [(-inner - 0.01, inner + 0.01)] * 2 + [(-0.01, depth + 0.01)]
    (programs.folder / "drum.data").write_text(data_file(position, velocity, spin, 2 * radius, GRAIN["density"], box))
    walls = f"""
variable angle equal {speed}*step*dt
region drum cylinder z 0 0 {inner} INF INF side in rotate v_angle 0 0 0 0 0 1
fix drum all wall/gran/region MODEL region drum
fix ends all wall/gran MODEL zplane 0 {depth}
"""
    states = programs.lammps("drum", grain_deck("drum", "f f f", walls, steps, every))
    other = [[state[part, :2].mean(axis=0) for part in half] for state in states]
    time = STEP * every * numpy.arange(len(other))
    return time, numpy.array(own), numpy.array(other)


def plot(file, results):
    """All three, Rockfall's as lines and LAMMPS' as dots."""
    matplotlib.rcParams["svg.hashsalt"] = "rockfall"
    figure = Figure(figsize=(11, 3.6), layout="constrained")
    left, middle, right = figure.subplots(1, 3)
    degrees, *curves = results["impacts"]
    for label, own, other, colour in [("speed along the surface", *curves[:2], "C0"), ("spin", *curves[2:], "C1")]:
        left.plot(degrees, own, color=colour, label=label)
        left.plot(degrees, other, ".", color=colour)
    left.set(title="oblique impacts", xlabel="angle of incidence (degrees)", ylabel="after over before")
    left.legend()
    time, own, other = results["hopper"]
    middle.plot(time, own, color="C0", label="Rockfall")
    middle.plot(time, other, ".", color="C0", label="LAMMPS")
    middle.set(title="hopper", xlabel="time (s)", ylabel="mass out (kg)")
    middle.legend()
    time, own, other = results["drum"]
    for part, colour in [(0, "C0"), (1, "C1")]:
        right.plot(own[:, part, 0], own[:, part, 1], color=colour, label=["left half", "right half"][part])
        right.plot(other[:, part, 0], other[:, part, 1], ".", markersize=3, color=colour)
    right.set(title="drum", xlabel="x of the centre of mass (m)", ylabel="y (m)")
    right.legend()
    figure.savefig(file, metadata={"Date": None} if str(file).endswith(".svg") else None)


def table(results):
    """Table of the differences, in Markdown."""
    _, v, v_other, w, w_other = results["impacts"]
    time, out, out_other = results["hopper"]
    steady = (out > 0.15 * out[-1]) & (out < 0.7 * out[-1])
    rate, rate_other = (numpy.polyfit(time[steady], curve[steady], 1)[0] for curve in [out, out_other])
    _, centre, centre_other = results["drum"]
    apart = numpy.linalg.norm(centre - centre_other, axis=2)
    late = len(centre) // 2
    mean, mean_other = (curve[late:].mean(axis=(0, 1)) for curve in [centre, centre_other])
    rows = [
        ("oblique impacts", "speed along the surface, largest difference", "", "", f"{abs(v - v_other).max():.2g} of the speed before"),
        ("oblique impacts", "spin, largest difference", "", "", f"{abs(w - w_other).max():.2g} of the speed before over the radius"),
        ("hopper", "mass flow (kg/s)", f"{rate:.4g}", f"{rate_other:.4g}", f"{100 * (rate / rate_other - 1):+.1f} %"),
        ("drum", "centre of mass of all, second half of the time (m)", "{:.5f}, {:.5f}".format(*mean),
         "{:.5f}, {:.5f}".format(*mean_other), f"{numpy.linalg.norm(mean - mean_other):.2g} m"),
        ("drum", "centres of mass of the halves, first quarter of a turn, largest difference", "", "", f"{apart[: len(centre) // 4].max():.2g} m"),
    ]  # fmt: skip
    lines = ["| scene | quantity | Rockfall | LAMMPS | difference |", "|---|---|---|---|---|"]
    return "\n".join(lines + ["| " + " | ".join(row) + " |" for row in rows]) + "\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rockfall", default="target/release/rockfall", help="the program `rockfall`")
    parser.add_argument("--backend", default="cpu", help="engine of Rockfall")
    parser.add_argument("--threads", type=int, help="threads of Rockfall")
    parser.add_argument("--lammps", default="lmp", help="the program `lmp`")
    parser.add_argument("--ranks", type=int, default=1, help="MPI ranks of LAMMPS")
    parser.add_argument("--plot", default="docs/book/src/pictures/cross_check.svg", help="file of the plot")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        programs = Programs(arguments, folder)
        results = {scene.__name__: scene(programs) for scene in [impacts, hopper, drum]}
    plot(arguments.plot, results)
    print(table(results), end="")


if __name__ == "__main__":
    main()
