"""Measures Lacey's mixing index over time, of two kinds of grains in a drum that turns.

The index is 0 for grains that lie apart and 1 for a random mixture (Lacey 1954).

    python drum_mixing.py --grains 3000 --out mixing.png
"""

import argparse

import numpy

import rockfall

GRAIN = 0.01  # m, the diameter


def drum(grains, radius, backend="auto", threads=None):
    """A drum about z, with grains at rest."""
    depth = 5 * GRAIN
    scene = rockfall.Scene("drum")
    stone = scene.material("stone", density=2500, friction=0.5, rolling_friction=0.05, restitution=0.3)
    ball = scene.sphere("ball", stone, radius=GRAIN / 2)
    scene.contact(normal="hooke", tangential="history", stiffness=2e3)
    scene.wall(
        "drum", stone, cylinder={"radius": radius, "height": depth, "closed": True}, side="inside",
        axis=(1, 0, 0), angle=numpy.pi / 2,
    )
    side = 0.68 * radius
    scene.fill(
        ball, count=grains, spacing=1.1 * GRAIN, jitter=0.04 * GRAIN,
        min=(-side, -side, -depth / 2), max=(side, side, depth / 2),
    )
    world = scene.world(backend, threads=threads)
    world.run_for(0.2)
    return world


def lacey(positions, is_red, cell):
    """Lacey's index of the cells (sides of `cell`, m) that have five grains or more."""
    cells = numpy.floor(positions[:, :2] / cell).astype(int)
    _, cells = numpy.unique(cells, axis=0, return_inverse=True)
    counts = numpy.bincount(cells.ravel())
    reds = numpy.bincount(cells.ravel(), weights=is_red)
    full = counts >= 5
    parts = reds[full] / counts[full]
    part = is_red.mean()
    apart, mixed = part * (1 - part), part * (1 - part) / counts[full].mean()
    variance = numpy.average((parts - part) ** 2, weights=counts[full])
    return (apart - variance) / (apart - mixed)


def main(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--grains", type=int, default=3000)
    parser.add_argument("--radius", type=float, default=0.15, help="radius of the drum, m")
    parser.add_argument("--speed", type=float, default=3.0, help="angular speed of the drum, rad/s")
    parser.add_argument("--seconds", type=float, default=4.0)
    parser.add_argument("--backend", default="auto")
    parser.add_argument("--threads", type=int, help="threads of the CPU engine; use few for few grains")
    parser.add_argument("--out", default="drum_mixing.png", help="file of the plot")
    options = parser.parse_args(arguments)

    world = drum(options.grains, options.radius, options.backend, options.threads)
    # Those on the right are red.
    x = world.positions[:, 0]
    is_red = x > numpy.median(x)
    world.wall("drum").drive(angular_velocity=(0, 0, options.speed))
    times, indices = [world.time], [lacey(world.positions, is_red, 4 * GRAIN)]
    for frame in world.run(seconds=options.seconds, every=options.seconds / 40):
        times.append(frame.time)
        indices.append(lacey(world.positions, is_red, 4 * GRAIN))
    print(f"Lacey's index: {indices[0]:.2f} at the start, {indices[-1]:.2f} after {options.seconds} s")

    import matplotlib.pyplot as plot

    figure, axes = plot.subplots(layout="constrained")
    axes.plot(times, indices, ".-")
    axes.set(xlabel="time (s)", ylabel="Lacey's mixing index", ylim=(0, 1.05))
    figure.savefig(options.out)
    return numpy.array(indices)


if __name__ == "__main__":
    main()
