#!/usr/bin/env python3
"""Write scenes for Rockfall. Needs nothing but Python's standard library.

    make_scene.py box --count 5000 > box.json              bodies that fall into a box
    make_scene.py pyramid --layers 12 > pyramid.json       balls laid on each other
    make_scene.py column --count 2000 --out column         a column that is let go, in two stages:
                                                           column/settle.json, then column/collapse.json
"""

import argparse
import json
import math
import sys
from pathlib import Path

SHAPES = {
    "ball": lambda radius: {"sphere": {"radius": radius}},
    "cube": lambda radius: {"cube": {"n": 2, "radius": radius / 2}},
    "rod": lambda radius: {"rod": {"n": 3, "radius": radius / 2}},
    "tetrahedron": lambda radius: {"tetrahedron": {"n": 2, "radius": radius / 2}},
}


def base(arguments, name):
    """What all scenes have."""
    return {
        "version": 1,
        "name": name,
        "duration": arguments.duration,
        "contact": {"law": "hooke", "max_overlap": arguments.max_overlap},
        "materials": {
            "stone": {
                "density": 2500,
                "restitution": arguments.restitution,
                "friction": arguments.friction,
            }
        },
        "shapes": {
            shape: {**SHAPES[shape](arguments.radius), "material": "stone"} for shape in arguments.shapes
        },
        "planes": [{"point": [0, 0, 0], "normal": [0, 1, 0], "material": "stone"}],
    }


def wall(point, normal):
    """A plane."""
    return {"point": point, "normal": normal, "material": "stone"}


def fill(arguments, min_corner, max_corner):
    """The bodies, in a box."""
    return {
        "count": arguments.count,
        "shapes": {shape: 1 for shape in arguments.shapes},
        "placement": "random",
        "region": {"min": min_corner, "max": max_corner},
        "seed": arguments.seed,
    }


def filled_box(arguments, name):
    """A box with bodies above its floor, as wide as `arguments.width` bodies."""
    scene = base(arguments, name)
    # Room enough for bodies to be placed at random.
    pitch = 4 * arguments.radius
    half = 0.5 * arguments.width * pitch
    across = max(int(2 * half / pitch + 1e-9), 1)
    layers = math.ceil(arguments.count / across**2) + 1
    scene["planes"] += [
        wall([-half, 0, 0], [1, 0, 0]),
        wall([half, 0, 0], [-1, 0, 0]),
        wall([0, 0, -half], [0, 0, 1]),
        wall([0, 0, half], [0, 0, -1]),
    ]
    scene["fills"] = [fill(arguments, [-half, 0, -half], [half, layers * pitch, half])]
    return scene


def box(arguments):
    """Bodies that fall into a box."""
    return {None: filled_box(arguments, "box")}


def pyramid(arguments):
    """Balls laid on each other in squares, each layer in the hollows of the one below."""
    arguments.shapes = ["ball"]
    scene = base(arguments, "pyramid")
    radius = arguments.radius
    rise = math.sqrt(2) * radius
    scene["bodies"] = [
        {
            "shape": "ball",
            "position": [
                (2 * i - side + 1) * radius,
                radius + (arguments.layers - side) * rise,
                (2 * k - side + 1) * radius,
            ],
        }
        for side in range(arguments.layers, 0, -1)
        for i in range(side)
        for k in range(side)
    ]
    return {None: scene}


def column(arguments):
    """A column of bodies between walls, and the same without one of the walls."""
    settle = filled_box(arguments, "settle")
    collapse = {key: value for key, value in settle.items() if key != "fills"}
    collapse["name"] = "collapse"
    collapse["start"] = {"from": "settled"}
    collapse["planes"] = [plane for plane in settle["planes"] if plane["normal"] != [-1, 0, 0]]
    return {"settle.json": settle, "collapse.json": collapse}


KINDS = {"box": box, "pyramid": pyramid, "column": column}


def positive(text):
    number = float(text)
    if not (number > 0 and math.isfinite(number)):
        raise argparse.ArgumentTypeError(f"found {text}, expected a number greater than 0")
    return number


def whole(text):
    number = int(text)
    if number < 1:
        raise argparse.ArgumentTypeError(f"found {text}, expected a whole number, 1 or more")
    return number


def shapes(text):
    names = text.split(",")
    for name in names:
        if name not in SHAPES:
            raise argparse.ArgumentTypeError(f"found {name!r}, expected some of {', '.join(SHAPES)}")
    return names


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("kind", choices=KINDS)
    parser.add_argument("--count", type=whole, default=1000, help="number of bodies [1000]")
    parser.add_argument("--layers", type=whole, default=8, help="of a pyramid [8]")
    parser.add_argument("--width", type=positive, default=10, help="of a box or column, in bodies [10]")
    parser.add_argument("--radius", type=positive, default=0.05, help="of a ball, m [0.05]")
    parser.add_argument("--shapes", type=shapes, default=["ball"], help=f"some of {','.join(SHAPES)} [ball]")
    parser.add_argument("--friction", type=float, default=0.5, help="coefficient of friction [0.5]")
    parser.add_argument("--restitution", type=float, default=0.3, help="coefficient of restitution [0.3]")
    parser.add_argument("--max-overlap", type=positive, default=0.05, help="wanted, of a radius [0.05]")
    parser.add_argument("--duration", type=positive, default=2.0, help="simulated time, s [2]")
    parser.add_argument("--seed", type=int, default=0, help="of where and how bodies start [0]")
    parser.add_argument("--out", metavar="PATH", help="file, or folder of a column [standard output]")
    arguments = parser.parse_args()
    scenes = KINDS[arguments.kind](arguments)
    if len(scenes) > 1 and not arguments.out:
        parser.error(f"{arguments.kind}: found no --out, expected a folder for {', '.join(scenes)}")
    for name, scene in scenes.items():
        text = json.dumps(scene, indent=2) + "\n"
        if not arguments.out:
            sys.stdout.write(text)
            continue
        path = Path(arguments.out)
        if name:
            path.mkdir(parents=True, exist_ok=True)
            path = path / name
        path.write_text(text, "utf-8")


if __name__ == "__main__":
    main()
