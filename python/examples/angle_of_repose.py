"""Measures the angle of repose: a column of grains stands behind a gate, and collapses when the gate is pulled up.

    python angle_of_repose.py --friction 0.5 --out slope.png
"""

import argparse

import numpy

import rockfall

GRAIN = 0.01  # m, the diameter


def collapse(friction=0.5, rolling_friction=0.05, layers=16, length=20, seed=1, backend="auto", threads=None):
    """Runs the collapse of a column on a rough floor, in a slot that is periodic across; returns the world at rest.

    layers and length: height and length of the column, in diameters.
    """
    width = 5 * GRAIN
    scene = rockfall.Scene("column", domain={
        "min": (0, 0, 0), "max": (1, 1, width), "periodic": (False, False, True)
    })
    stone = scene.material(
        "stone", density=2500, friction=friction, rolling_friction=rolling_friction, restitution=0.3
    )
    grain = scene.sphere("grain", stone, radius=GRAIN / 2)
    scene.contact(normal="hooke", tangential="history", stiffness=2e3)
    scene.plane("floor", stone)
    scene.plane("back", stone, normal=(1, 0, 0))
    scene.plane("gate", stone, normal=(-1, 0, 0), point=(length * GRAIN, 0, 0))
    # Half balls on the floor, so that the lowest layer does not slide.
    for x in range(3 * length):
        for z in range(5):
            scene.body(grain, (GRAIN * (x + 0.5), 0, GRAIN * (z + 0.5)), fixed=True)
    scene.fill(
        grain, count=layers * length * 4, spacing=1.1 * GRAIN, jitter=0.04 * GRAIN, seed=seed,
        min=(0, GRAIN, 0.02 * GRAIN), max=(length * GRAIN, 1, width - 0.02 * GRAIN),
    )
    world = scene.world(backend, threads=threads)
    world.run_for(0.2)
    world.wall("gate").position = (10, 0, 0)
    world.run_for(0.6)
    return world


def surface(world):
    """The surface: middles of slices two diameters wide, and the mean height of their three highest grains, m."""
    x, y, _ = world.positions[~world.fixed].T
    slices = (x / (2 * GRAIN)).astype(int)
    points = []
    for index in numpy.unique(slices):
        highest = numpy.sort(y[slices == index])[-3:]
        if len(highest) == 3:
            points.append(((2 * index + 1) * GRAIN, highest.mean()))
    return numpy.array(points)


def angle(points):
    """Angle of the slope, degrees, without its foot and its top."""
    x, y = points.T
    slope = (y > 0.15 * y.max()) & (y < 0.9 * y.max())
    if slope.sum() < 2:
        slope = numpy.ones(len(y), dtype=bool)
    return numpy.degrees(numpy.arctan(-numpy.polyfit(x[slope], y[slope], 1)[0]))


def main(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--friction", type=float, default=0.5)
    parser.add_argument("--layers", type=int, default=16, help="height of the column, diameters")
    parser.add_argument("--length", type=int, default=20, help="length of the column, diameters")
    parser.add_argument("--backend", default="auto")
    parser.add_argument("--threads", type=int, help="threads of the CPU engine; use few for few grains")
    parser.add_argument("--out", default="angle_of_repose.png", help="file of the plot")
    options = parser.parse_args(arguments)

    world = collapse(
        options.friction, layers=options.layers, length=options.length,
        backend=options.backend, threads=options.threads,
    )
    points = surface(world)
    degrees = angle(points)
    print(f"friction {options.friction}: {degrees:.1f} degrees")

    import matplotlib.pyplot as plot

    figure, axes = plot.subplots(figsize=(8, 4), layout="constrained")
    x, y, _ = world.positions.T
    axes.scatter(x, y, s=6, c=numpy.where(world.fixed, "0.7", "tab:orange"), label="grains")
    axes.plot(*points.T, "k.-", label=f"surface, {degrees:.1f}°")
    axes.set(xlabel="x (m)", ylabel="y (m)", aspect="equal")
    axes.legend()
    figure.savefig(options.out)
    return degrees


if __name__ == "__main__":
    main()
