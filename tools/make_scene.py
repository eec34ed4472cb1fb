#!/usr/bin/env python3
"""Write scenes for Rockfall. Needs nothing but Python's standard library.

    make_scene.py box --count 5000 > box.json              bodies that fall into a box
    make_scene.py box --count 500 --shapes brick,slab > bricks.json
    make_scene.py sky --count 10000 --shapes all > sky.json
                                                           bodies of all shapes that fall on a floor
    make_scene.py pyramid --layers 12 > pyramid.json       balls laid on each other
    make_scene.py tower --layers 10 > tower.json           boxes on each other
    make_scene.py wall --layers 20 --width 30 > wall.json  a wall of bricks, and a ball that flies at it
    make_scene.py column --count 2000 --out column         a column that is let go, in two stages:
                                                           column/settle.json, then column/collapse.json

tools/README.md says how to write a scene of one's own.
"""

import argparse
import json
import math
import sys
from pathlib import Path
from random import Random

SHAPES = {
    "ball": lambda radius: {"sphere": {"radius": radius}},
    "cube": lambda radius: {"cube": {"n": 2, "radius": radius / 2}},
    "rod": lambda radius: {"rod": {"n": 3, "radius": radius / 2}},
    "tetrahedron": lambda radius: {"tetrahedron": {"n": 2, "radius": radius / 2}},
    "ring": lambda radius: {"torus": {"n": 8, "radius": radius / 3}},
    # Their faces are smooth enough to be stacked.
    "brick": lambda radius: block(radius, 2, 1, 1),
    "slab": lambda radius: block(radius, 1.5, 0.7, 1.5),
}


def block(radius, *sides):
    """A box with sides that are multiples of the diameter."""
    return {
        "box": {
            "size": [round(2 * radius * side, 9) for side in sides],
            "radius": round(0.4 * radius, 9),
            "spacing": round(0.6 * radius, 9),
        }
    }


def base(arguments, name):
    """What all scenes have."""
    return {
        "version": 1,
        "name": name,
        "duration": arguments.duration,
        "contact": {"normal": "hooke", "tangential": "history", "max_overlap": arguments.max_overlap},
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


def sky(arguments):
    """Bodies that fall on a floor and turn as they fall."""
    scene = base(arguments, "sky")
    pitch = 4 * arguments.radius
    half = 0.5 * pitch * max(math.sqrt(arguments.count / 6), 1)
    layers = math.ceil(arguments.count / max(int(2 * half / pitch), 1) ** 2) + 1
    scene["fills"] = [
        {
            **fill(arguments, [-half, arguments.radius, -half], [half, layers * pitch, half]),
            "placement": "grid",
            "spacing": pitch,
            "jitter": 0.2 * arguments.radius,
            "angular_velocity": {"min": [-3, -3, -3], "max": [3, 3, 3]},
        }
    ]
    return {None: scene}


def tower(arguments):
    """Boxes on each other, each a little beside the one below and turned, as one would build it."""
    scene = base(arguments, "tower")
    random = Random(arguments.seed)
    side = 2 * arguments.radius
    scene["shapes"] = {"box": {**block(arguments.radius, 1, 1, 1), "material": "stone"}}
    shift = 0.02 * side
    scene["bodies"] = [
        {
            "shape": "box",
            "position": [random.uniform(-shift, shift), (layer + 0.5) * side, random.uniform(-shift, shift)],
            "axis": [0, 1, 0],
            "angle": random.uniform(-0.05, 0.05),
        }
        for layer in range(arguments.layers)
    ]
    return {None: scene}


def brick_wall(arguments):
    """Bricks in bond, and a heavy ball on its way."""
    scene = base(arguments, "wall")
    height = 2 * arguments.radius
    length = 2 * height
    count = int(arguments.width)
    scene["shapes"] = {
        "brick": {**block(arguments.radius, 2, 1, 1), "material": "stone"},
        "ball": {"sphere": {"radius": 3 * arguments.radius}, "material": "stone"},
    }
    gap = 1.001 * length
    scene["bodies"] = [
        {
            "shape": "brick",
            "position": [(k - 0.5 * count + (0.25 if layer % 2 else 0.75)) * gap, (layer + 0.5) * height, 0],
        }
        for layer in range(arguments.layers)
        for k in range(count)
    ]
    up = max(0.4 * arguments.layers * height, 3 * arguments.radius)
    scene["bodies"].append({"shape": "ball", "position": [0, up, 8 * height], "velocity": [0, 1, -8]})
    return {None: scene}


def column(arguments):
    """A column of bodies between walls, and the same without one of the walls."""
    settle = filled_box(arguments, "settle")
    collapse = {key: value for key, value in settle.items() if key != "fills"}
    collapse["name"] = "collapse"
    collapse["start"] = {"from": "settled"}
    collapse["planes"] = [plane for plane in settle["planes"] if plane["normal"] != [-1, 0, 0]]
    return {"settle.json": settle, "collapse.json": collapse}


KINDS = {
    "box": box,
    "sky": sky,
    "pyramid": pyramid,
    "tower": tower,
    "wall": brick_wall,
    "column": column,
}


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
    names = list(SHAPES) if text == "all" else text.split(",")
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
    parser.add_argument("--layers", type=whole, default=8, help="layers of a pyramid, a tower or a wall [8]")
    parser.add_argument("--width", type=positive, default=10, help="width of a box, a column or a wall, in bodies [10]")
    parser.add_argument("--radius", type=positive, default=0.05, help="radius of a ball, m [0.05]")
    parser.add_argument("--shapes", type=shapes, default=["ball"], help=f"all, or some of {','.join(SHAPES)} [ball]")
    parser.add_argument("--friction", type=float, default=0.5, help="coefficient of friction [0.5]")
    parser.add_argument("--restitution", type=float, default=0.3, help="coefficient of restitution [0.3]")
    parser.add_argument("--max-overlap", type=positive, default=0.05, help="largest overlap, as a fraction of a radius [0.05]")
    parser.add_argument("--duration", type=positive, default=2.0, help="simulated time, s [2]")
    parser.add_argument("--seed", type=int, default=0, help="seed of the positions and orientations [0]")
    parser.add_argument("--out", metavar="PATH", help="file, or for a column a folder [standard output]")
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
