"""A settled pile of equal spheres in an open box, timed once with Chrono's DEM-Engine.

usage: python dem_engine.py PILE DEVICE WARM STEPS

PILE is what `cargo peers` writes, DEVICE is a CUDA device such as "cuda:0"; WARM steps are untimed, STEPS
are timed. The contact law is Rockfall's `hooke`, as a force model of DEM-Engine's: spring and dashpot along
the normal, and across it a spring with a history, a dashpot, and Coulomb's cap on both. DEM-Engine decides
by itself how often it looks for new contacts.
"""

import json
import sys
import time

import numpy as np

# In CUDA, with the names that DEM-Engine gives to what it knows of a contact: A and B are the two owners,
# B2A the normal from B to A, locCP the contact point in an owner's own axes, ts the time step.
LAW = """
if (overlapDepth > 0) {{
    float3 turningA = cross(ARotVel, locCPA);
    float3 turningB = cross(BRotVel, locCPB);
    applyOriQToVector3(turningA, AOriQ);
    applyOriQToVector3(turningB, BOriQ);
    const float3 velocity = (ALinVel + turningA) - (BLinVel + turningB);
    const float parting = dot(velocity, B2A);
    const float3 slip = velocity - parting * B2A;
    const float mass = AOwnerMass * BOwnerMass / (AOwnerMass + BOwnerMass);
    const float dashpot = {dashpot:.9e}f * sqrtf(mass);
    const float normal = {stiffness:.9e}f * overlapDepth - dashpot * parting;

    float3 spring = make_float3(spring_x, spring_y, spring_z);
    spring -= dot(spring, B2A) * B2A;
    spring += ts * slip;
    const float3 damping = {tangential_damping:.9e}f * dashpot * slip;
    float3 shear = -{tangential_stiffness:.9e}f * spring - damping;
    const float size = length(shear);
    const float cap = {friction:.9e}f * fmaxf(normal, 0.f);
    if (size > cap) {{
        shear = (cap / size) * shear;
        spring = (shear + damping) / -{tangential_stiffness:.9e}f;
    }}
    force += normal * B2A + shear;
    spring_x = spring.x;
    spring_y = spring.y;
    spring_z = spring.z;
}} else {{
    spring_x = 0.f;
    spring_y = 0.f;
    spring_z = 0.f;
}}
"""


def count_contacts(position, radius, planes):
    """Pairs of spheres that overlap, and spheres that overlap with a plane: positions (n, 3), m."""
    touching = sum(int(np.sum(position @ plane["normal"] - plane["offset"] < radius)) for plane in planes)
    diameter = 2 * radius
    cell = np.floor((position - position.min(axis=0)) / diameter).astype(np.int64) + 1
    size = cell.max(axis=0) + 2
    key = (cell[:, 0] * size[1] + cell[:, 1]) * size[2] + cell[:, 2]
    order = np.argsort(key, kind="stable")
    position, key = position[order], key[order]
    index = np.arange(len(key))
    # Half of the cells around each, so that each pair is met once.
    around = [(x, y, z) for x in (-1, 0, 1) for y in (-1, 0, 1) for z in (-1, 0, 1) if (x, y, z) >= (0, 0, 0)]
    for x, y, z in around:
        other = key + (x * size[1] + y) * size[2] + z
        first, end = np.searchsorted(key, other, "left"), np.searchsorted(key, other, "right")
        if (x, y, z) == (0, 0, 0):
            first = index + 1
        while True:
            mine = np.flatnonzero(first < end)
            if len(mine) == 0:
                break
            apart = position[mine] - position[first[mine]]
            touching += int(np.sum(np.einsum("ij,ij->i", apart, apart) < diameter**2))
            first = first + 1
    return touching


def start(pile, device):
    """A solver with the pile in it, and what tracks its spheres."""
    import deme

    solver = deme.DEMSolver([device])
    solver.SetVerbosity("ERROR")
    solver.SetNoForceRecord(True)
    law = {name: pile[name] for name in ("stiffness", "tangential_stiffness", "tangential_damping", "friction")}
    # A pair's dashpot is gamma m/2; of another effective mass, one that goes with its root.
    law["dashpot"] = pile["pair_gamma"] * (0.5 * pile["mass"]) ** 0.5
    model = solver.DefineContactForceModel(LAW.format(**law))
    model.SetMustHaveMatProp({"E"})
    model.SetPerContactWildcards({"spring_x", "spring_y", "spring_z"})
    material = solver.LoadMaterial({"E": 1e7, "nu": 0.3, "CoR": 0.5, "mu": 0.5, "Crr": 0.0})

    position = np.array(pile["position"])
    margin = 20 * pile["radius"]
    low, high = position.min(axis=0) - margin, position.max(axis=0) + margin
    solver.InstructBoxDomainDimension(*[(float(a), float(b)) for a, b in zip(low, high)])
    solver.InstructBoxDomainBoundingBC("none", material)
    for plane in pile["planes"]:
        normal = np.array(plane["normal"])
        solver.AddBCPlane((normal * plane["offset"]).tolist(), normal.tolist(), material)

    sphere = solver.LoadSphereType(pile["mass"], pile["radius"], material)
    spheres = solver.AddClumps(sphere, position.tolist())
    spheres.SetVel(pile["velocity"])
    spheres.SetAngVel(pile["spin"])
    tracker = solver.Track(spheres)
    solver.SetGravitationalAcceleration([0.0, -pile["gravity"], 0.0])
    solver.SetInitTimeStep(pile["dt"])
    solver.Initialize()
    return solver, tracker, deme.__version__


def main():
    path, device, warm, steps = sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4])
    with open(path) as file:
        pile = json.load(file)
    solver, tracker, version = start(pile, int(device.rpartition(":")[2]))
    solver.DoDynamicsThenSync(warm * pile["dt"])
    begin = time.perf_counter()
    solver.DoDynamicsThenSync(steps * pile["dt"])
    seconds = time.perf_counter() - begin
    v, w = np.array(tracker.Velocities()), np.array(tracker.AngularVelocitiesLocal())
    energy = 0.5 * pile["mass"] * np.sum(v**2) + 0.2 * pile["mass"] * pile["radius"] ** 2 * np.sum(w**2)
    contacts = count_contacts(np.array(tracker.Positions(), dtype=float), pile["radius"], pile["planes"])
    print(f"peers: version {version}")
    print(f"peers: seconds {seconds:.9g}")
    print(f"peers: contacts {contacts}")
    print(f"peers: kinetic_energy_j {energy:.9g}")


if __name__ == "__main__":
    main()
