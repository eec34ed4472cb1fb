"""A settled pile of equal spheres in an open box, timed once with NVIDIA Warp.

usage: python warp_dem.py PILE DEVICE WARM STEPS

PILE is what `cargo peers` writes, DEVICE is "cpu" or a CUDA device such as "cuda:0"; WARM steps are
untimed, STEPS are timed. The contact law is Rockfall's `hooke`: spring and dashpot along the normal,
and across it a spring with a history, a dashpot, and Coulomb's cap on both. Each sphere has a list of
its neighbours and a spring for each of them, which a new list takes over from the old one. Lists are
built from Warp's hash grid every so many steps, and afterwards it is checked that no sphere had moved
too far for that.
"""

import json
import sys
import time

import numpy as np
import warp as wp

PLANES = wp.constant(5)
SLOTS = wp.constant(24)  # Equal spheres have at most 12 that touch them, and some are near.
STEPS_PER_LIST = 10
SKIN = 0.1  # of the radius


@wp.struct
class Law:
    radius: float
    mass: float
    stiffness: float
    tangential_stiffness: float
    pair_gamma: float  # dashpot over effective mass, 1/s
    wall_gamma: float
    tangential_damping: float
    friction: float
    gravity: wp.vec3
    dt: float


@wp.struct
class Touch:
    force: wp.vec3
    spring: wp.vec3


@wp.func
def touch(law: Law, overlap: float, n: wp.vec3, dashpot: float, slip: wp.vec3, spring: wp.vec3):
    """Force on this sphere; n points to it, slip is its velocity against the partner at the contact."""
    approach = wp.dot(slip, n)
    across = slip - approach * n
    normal = law.stiffness * overlap - dashpot * approach
    # The spring stays in the plane of contact and keeps its length as that turns.
    held = wp.length(spring)
    spring = spring - wp.dot(spring, n) * n
    flat = wp.length(spring)
    if flat > 0.0:
        spring = spring * (held / flat)
    spring += across * law.dt
    damping = law.tangential_damping * dashpot
    shear = -law.tangential_stiffness * spring - damping * across
    size = wp.length(shear)
    cap = law.friction * wp.max(normal, 0.0)
    if size > cap:
        shear = shear * (cap / size)
        spring = -(shear + damping * across) / law.tangential_stiffness
    out = Touch()
    out.force = normal * n + shear
    out.spring = spring
    return out


@wp.kernel
def build_lists(
    grid: wp.uint64,
    x: wp.array(dtype=wp.vec3),
    reach: float,
    old_count: wp.array(dtype=int),
    old_partner: wp.array2d(dtype=int),
    old_spring: wp.array2d(dtype=wp.vec3),
    count: wp.array(dtype=int),
    partner: wp.array2d(dtype=int),
    spring: wp.array2d(dtype=wp.vec3),
    x_listed: wp.array(dtype=wp.vec3),
    most: wp.array(dtype=int),
):
    i = wp.hash_grid_point_id(grid, wp.tid())
    xi = x[i]
    found = int(0)
    for j in wp.hash_grid_query(grid, xi, reach):
        if j != i and wp.length_sq(xi - x[j]) < reach * reach:
            if found < SLOTS:
                kept = wp.vec3()
                for slot in range(old_count[i]):
                    if old_partner[slot, i] == j:
                        kept = old_spring[slot, i]
                partner[found, i] = j
                spring[found, i] = kept
            found += 1
    if found > most[0]:
        wp.atomic_max(most, 0, found)
    count[i] = wp.min(found, SLOTS)
    x_listed[i] = xi


@wp.kernel
def contacts(
    law: Law,
    x: wp.array(dtype=wp.vec3),
    v: wp.array(dtype=wp.vec3),
    w: wp.array(dtype=wp.vec3),
    count: wp.array(dtype=int),
    partner: wp.array2d(dtype=int),
    spring: wp.array2d(dtype=wp.vec3),
    plane: wp.array(dtype=wp.vec4),
    wall_spring: wp.array2d(dtype=wp.vec3),
    force: wp.array(dtype=wp.vec3),
    torque: wp.array(dtype=wp.vec3),
    touching: wp.array(dtype=int),
):
    i = wp.tid()
    xi = x[i]
    vi = v[i]
    wi = w[i]
    f = wp.vec3()
    t = wp.vec3()
    touched = int(0)
    dashpot = 0.5 * law.mass * law.pair_gamma
    for slot in range(count[i]):
        j = partner[slot, i]
        d = xi - x[j]
        square = wp.length_sq(d)
        if square < 4.0 * law.radius * law.radius:
            distance = wp.sqrt(square)
            n = d / distance
            slip = vi - v[j] - 0.5 * distance * wp.cross(wi + w[j], n)
            one = touch(law, 2.0 * law.radius - distance, n, dashpot, slip, spring[slot, i])
            spring[slot, i] = one.spring
            f += one.force
            t -= 0.5 * distance * wp.cross(n, one.force)
            touched += 1
        else:
            spring[slot, i] = wp.vec3()
    for p in range(PLANES):
        n = wp.vec3(plane[p][0], plane[p][1], plane[p][2])
        distance = wp.dot(n, xi) - plane[p][3]
        if distance < law.radius:
            slip = vi - distance * wp.cross(wi, n)
            one = touch(law, law.radius - distance, n, law.mass * law.wall_gamma, slip, wall_spring[p, i])
            wall_spring[p, i] = one.spring
            f += one.force
            t -= distance * wp.cross(n, one.force)
            touched += 2  # Pairs are counted twice, once from either side.
        else:
            wall_spring[p, i] = wp.vec3()
    force[i] = f
    torque[i] = t
    touching[i] = touched


@wp.kernel
def integrate(
    law: Law,
    x: wp.array(dtype=wp.vec3),
    v: wp.array(dtype=wp.vec3),
    w: wp.array(dtype=wp.vec3),
    force: wp.array(dtype=wp.vec3),
    torque: wp.array(dtype=wp.vec3),
):
    i = wp.tid()
    velocity = v[i] + (force[i] / law.mass + law.gravity) * law.dt
    v[i] = velocity
    x[i] = x[i] + velocity * law.dt
    w[i] = w[i] + torque[i] * (law.dt / (0.4 * law.mass * law.radius * law.radius))


@wp.kernel
def farthest(x: wp.array(dtype=wp.vec3), x_listed: wp.array(dtype=wp.vec3), moved: wp.array(dtype=float)):
    i = wp.tid()
    distance = wp.length(x[i] - x_listed[i])
    # Few threads pass, so that they do not queue up for one address.
    if distance > moved[0]:
        wp.atomic_max(moved, 0, distance)


class Pile:
    def __init__(self, pile):
        position = np.array(pile["position"], dtype=np.float32)
        self.n = len(position)
        self.law = law = Law()
        for name in (
            "radius",
            "mass",
            "stiffness",
            "tangential_stiffness",
            "pair_gamma",
            "wall_gamma",
            "tangential_damping",
            "friction",
            "dt",
        ):
            setattr(law, name, pile[name])
        law.gravity = wp.vec3(0.0, -pile["gravity"], 0.0)

        # Spheres that are near in space are near in memory.
        self.reach = (2.0 + SKIN) * law.radius
        cell = np.floor(position / self.reach).astype(int)
        order = np.lexsort((cell[:, 0], cell[:, 1], cell[:, 2]))
        self.x = wp.array(position[order], dtype=wp.vec3)
        self.v = wp.array(np.array(pile["velocity"], dtype=np.float32)[order], dtype=wp.vec3)
        self.w = wp.array(np.array(pile["spin"], dtype=np.float32)[order], dtype=wp.vec3)
        self.plane = wp.array(
            np.array([[*plane["normal"], plane["offset"]] for plane in pile["planes"]], dtype=np.float32), dtype=wp.vec4
        )

        vectors = lambda shape: wp.zeros(shape, dtype=wp.vec3)
        self.force, self.torque = vectors(self.n), vectors(self.n)
        self.touching = wp.zeros(self.n, dtype=int)
        self.wall_spring = vectors((5, self.n))
        self.x_listed = wp.clone(self.x)
        # A list, and the one before it: slot by slot, so that neighbouring threads read what lies side by side.
        self.lists = [
            (wp.zeros(self.n, dtype=int), wp.zeros((24, self.n), dtype=int), vectors((24, self.n))) for _ in range(2)
        ]
        self.moved = wp.zeros(1, dtype=float)
        self.most = wp.zeros(1, dtype=int)
        cells = np.ceil(np.ptp(position, axis=0) / self.reach).astype(int) + 1
        self.grid = wp.HashGrid(*(int(c) for c in cells))
        self.graphs = None

    def list(self):
        wp.launch(farthest, self.n, [self.x, self.x_listed, self.moved])
        self.grid.build(self.x, self.reach)
        self.lists.reverse()
        new, old = self.lists
        wp.launch(build_lists, self.n, [self.grid.id, self.x, self.reach, *old, *new, self.x_listed, self.most])

    def step(self):
        wp.launch(
            contacts,
            self.n,
            [
                *(self.law, self.x, self.v, self.w, *self.lists[0], self.plane),
                *(self.wall_spring, self.force, self.torque, self.touching),
            ],
        )
        wp.launch(integrate, self.n, [self.law, self.x, self.v, self.w, self.force, self.torque])

    def capture(self):
        """On CUDA, the steps with a list become one launch; there are two lists, hence two graphs."""
        self.graphs = {}
        for _ in range(2):
            with wp.ScopedCapture() as capture:
                for _ in range(STEPS_PER_LIST):
                    self.step()
            self.graphs[id(self.lists[0])] = capture.graph
            self.lists.reverse()

    def run(self, steps):
        for _ in range(steps // STEPS_PER_LIST):
            self.list()
            if self.graphs:
                wp.capture_launch(self.graphs[id(self.lists[0])])
            else:
                for _ in range(STEPS_PER_LIST):
                    self.step()
        wp.synchronize()


def main():
    path, device, warm, steps = sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4])
    if warm % STEPS_PER_LIST or steps % STEPS_PER_LIST:
        sys.exit(f"error: the numbers of steps must be multiples of {STEPS_PER_LIST}; found {warm} and {steps}")
    wp.config.quiet = True
    wp.init()
    with open(path) as file:
        data = json.load(file)
    with wp.ScopedDevice(device):
        pile = Pile(data)
        wp.load_module(device=device)
        if wp.get_device().is_cuda:
            pile.capture()
        pile.run(warm)
        start = time.perf_counter()
        pile.run(steps)
        seconds = time.perf_counter() - start
        pile.list()
        moved, most = pile.moved.numpy()[0], pile.most.numpy()[0]
        if moved > 0.5 * SKIN * pile.law.radius:
            sys.exit(f"error: a sphere moved {moved:.2e} m while a list held, and lists allow half of {SKIN} radii")
        if most > 24:
            sys.exit(f"error: a sphere has {most} neighbours, and lists have room for 24")
        v, w = pile.v.numpy().astype(float), pile.w.numpy().astype(float)
        mass, radius = pile.law.mass, pile.law.radius
        energy = 0.5 * mass * np.sum(v**2) + 0.2 * mass * radius**2 * np.sum(w**2)
        print(f"peers: version {wp.config.version}")
        print(f"peers: seconds {seconds:.9g}")
        print(f"peers: contacts {pile.touching.numpy().sum() // 2}")
        print(f"peers: kinetic_energy_j {energy:.9g}")


if __name__ == "__main__":
    main()
