"""Calibrates friction: scipy searches for the friction that gives a measured angle of repose.

    python calibrate_friction.py --angle 24
"""

import argparse

import numpy
from scipy.optimize import minimize_scalar

from angle_of_repose import angle, collapse, surface


def main(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--angle", type=float, default=24.0, help="measured angle, degrees")
    parser.add_argument("--layers", type=int, default=12, help="height of the column, diameters")
    parser.add_argument("--length", type=int, default=16, help="length of the column, diameters")
    parser.add_argument("--seeds", type=int, default=2, help="number of columns in each mean")
    parser.add_argument("--most", type=int, default=12, help="largest number of trials")
    parser.add_argument("--backend", default="auto")
    parser.add_argument("--threads", type=int, help="threads of the CPU engine; use few for few grains")
    options = parser.parse_args(arguments)
    trials = []

    def error(friction):
        """Square of the difference between simulated and measured angle, degrees²."""
        angles = [
            angle(surface(collapse(
                friction, layers=options.layers, length=options.length, seed=seed,
                backend=options.backend, threads=options.threads,
            )))
            for seed in range(options.seeds)
        ]
        trials.append((friction, numpy.mean(angles)))
        print(f"friction {friction:.3f}: {trials[-1][1]:.1f} degrees")
        return (trials[-1][1] - options.angle) ** 2

    minimize_scalar(error, bounds=(0.05, 0.9), method="bounded", options={"xatol": 0.02, "maxiter": options.most})
    friction, degrees = min(trials, key=lambda trial: abs(trial[1] - options.angle))
    print(f"friction {friction:.3f} gives {degrees:.1f} degrees, {options.angle} were measured")
    return friction, degrees


if __name__ == "__main__":
    main()
