"""Measures the discharge of a hopper through a hole in its floor, and compares it with the law of Beverloo et al. (1961).

    W = C rho sqrt(g) (D - k d)^(5/2),  C = 0.58, k = 1.5

    python hopper_discharge.py --grains 8000
"""

import argparse

import numpy

import rockfall

GRAIN = 0.01  # m, the diameter
C, K, GRAVITY = 0.58, 1.5, 9.81


def hopper(grains, hole, backend="auto", threads=None):
    """A cylinder full of grains at rest, with a gate below the hole (m) of its floor."""
    radius = 1.25 * hole
    scene = rockfall.Scene("hopper")
    grain = scene.material("grain", density=1300, friction=0.4, restitution=0.3)
    ball = scene.sphere("ball", grain, radius=GRAIN / 2)
    scene.contact(normal="hooke", tangential="history", stiffness=500)
    scene.wall("hopper", grain, cylinder={"radius": radius, "height": 2}, side="inside", position=(0, 1, 0))
    scene.wall("floor", grain, disc={"radius": radius, "hole": hole / 2})
    scene.wall("gate", grain, disc={"radius": 0.6 * hole}, position=(0, -0.0005, 0))
    scene.plane("ground", grain, point=(0, -0.4, 0))
    side = radius / 1.5
    scene.fill(
        ball, count=grains, spacing=1.05 * GRAIN, jitter=0.02 * GRAIN,
        min=(-side, 0, -side), max=(side, 1.9, side),
    )
    world = scene.world(backend, threads=threads)
    world.run_for(0.25)
    return world, radius


def discharge(world, every=0.02, most=0.5):
    """Opens the gate. Returns times (s) and the mass that has left by then (kg), until the fraction `most` has left."""
    world.wall("gate").position = (0, -10, 0)
    times, masses, all_of_it = [], [], world.masses.sum()
    for frame in world.run(seconds=20, every=every):
        below = world.positions[:, 1] < -GRAIN
        times.append(frame.time)
        masses.append(world.masses[below].sum())
        if masses[-1] > most * all_of_it or (len(masses) > 10 and masses[-1] == masses[-10]):
            break
    return numpy.array(times), numpy.array(masses)


def main(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--grains", type=int, default=8000)
    parser.add_argument("--hole", type=float, default=0.07, help="diameter of the hole, m")
    parser.add_argument("--backend", default="auto")
    parser.add_argument("--threads", type=int, help="threads of the CPU engine; use few for few grains")
    options = parser.parse_args(arguments)

    world, radius = hopper(options.grains, options.hole, options.backend, options.threads)
    heights = world.positions[:, 1]
    # The half in the middle: the floor and the surface are looser.
    low, high = numpy.percentile(heights, (20, 70))
    density = 0.5 * world.masses.sum() / (numpy.pi * radius**2 * (high - low))
    times, masses = discharge(world)
    steady = (masses > 0.15 * masses[-1]) & (masses < 0.95 * masses[-1])
    measured = numpy.polyfit(times[steady], masses[steady], 1)[0]
    expected = C * density * numpy.sqrt(GRAVITY) * (options.hole - K * GRAIN) ** 2.5
    print(f"bulk density {density:.0f} kg/m³")
    print(f"flow {measured:.3f} kg/s, {measured / expected:.2f} of Beverloo's {expected:.3f} kg/s")
    return measured, expected


if __name__ == "__main__":
    main()
