#!/usr/bin/env python3
"""Makes the meshes of the scenes: `python3 tools/make_meshes.py [FOLDER]` writes them to scenes/meshes/, or
to another folder.

Standard library only. Lengths in metres; triangles are anticlockwise seen from outside, y is up.
"""

import math
import pathlib
import struct
import sys

FOLDER = pathlib.Path(__file__).resolve().parent.parent / "scenes" / "meshes"


def turned(line, pieces):
    """The triangles of a line of (radius, height) turned about y; its front is to the right of the line."""
    def corner(point, k):
        angle = 2 * math.pi * k / pieces
        return (point[0] * math.cos(angle), point[1], point[0] * math.sin(angle))

    triangles = []
    for low, high in zip(line, line[1:]):
        for k in range(pieces):
            a, b = corner(low, k), corner(low, k + 1)
            c, d = corner(high, k), corner(high, k + 1)
            if low[0] > 0:
                triangles.append((a, c, b))
            if high[0] > 0:
                triangles.append((b, c, d))
    return triangles


def box(low, high):
    """The triangles of a box along the axes."""
    triangles = []
    for axis in range(3):
        for side in (0, 1):
            u, v = (axis + 1) % 3, (axis + 2) % 3
            corners = []
            for i, j in ((0, 0), (1, 0), (1, 1), (0, 1)):
                corner = [0.0] * 3
                corner[axis] = (low, high)[side][axis]
                corner[u] = (low, high)[i][u]
                corner[v] = (low, high)[j][v]
                corners.append(tuple(corner))
            if side == 0:
                corners.reverse()
            a, b, c, d = corners
            triangles += [(a, b, c), (a, c, d)]
    return triangles


def moved(triangles, move):
    return [tuple(move(corner) for corner in triangle) for triangle in triangles]


def about_y(angle):
    cosine, sine = math.cos(angle), math.sin(angle)
    return lambda p: (cosine * p[0] + sine * p[2], p[1], cosine * p[2] - sine * p[0])


def drum(radius=0.15, length=0.12, lifters=8, height=0.02, width=0.012, pieces=64):
    """A drum about y with lifters along its inside; closed, seen from inside."""
    half = length / 2
    shell = turned([(0.0, -half), (radius, -half), (radius, half), (0.0, half)], pieces)
    triangles = [triangle[::-1] for triangle in shell]
    for k in range(lifters):
        lifter = box((radius - height, -half, -width / 2), (radius - 0.0004, half, width / 2))
        triangles += moved(lifter, about_y(2 * math.pi * k / lifters))
    return triangles


def blade(length=0.13, height=0.04, thickness=0.01, pitch=0.7):
    """Two blades on a shaft about y, pitched as those of a propeller."""
    triangles = turned([(0.0, 0.0), (0.012, 0.0), (0.012, 0.2), (0.0, 0.2)], 16)
    arm = box((0.005, -height / 2, -thickness / 2), (length, height / 2, thickness / 2))
    cosine, sine = math.cos(pitch), math.sin(pitch)

    def pitched(p):
        return (p[0], cosine * p[1] - sine * p[2] + 0.042, sine * p[1] + cosine * p[2])

    arm = moved(arm, pitched)
    return triangles + arm + moved(arm, about_y(math.pi))


def ball(times):
    """A ball of radius 1: an octahedron, the faces of which are split `times` times."""
    faces = []
    for x, y, z in ((x, y, z) for x in (1, -1) for y in (1, -1) for z in (1, -1)):
        a, b, c = (x, 0, 0), (0, y, 0), (0, 0, z)
        faces.append((a, b, c) if x * y * z > 0 else (a, c, b))

    def middle(p, q):
        point = [p[k] + q[k] for k in range(3)]
        length = math.sqrt(sum(x * x for x in point))
        return tuple(x / length for x in point)

    for _ in range(times):
        split = []
        for a, b, c in faces:
            ab, bc, ca = middle(a, b), middle(b, c), middle(c, a)
            split += [(a, ab, ca), (ab, b, bc), (ca, bc, c), (ab, bc, ca)]
        faces = split
    return faces


def rock(radius=0.1):
    """A rounded stone: a ball with some waves over it, flatter than wide."""
    def rough(p):
        waves = 0.12 * math.sin(3 * p[0] + 1) + 0.1 * math.sin(4 * p[1] + 2 * p[2]) + 0.06 * math.sin(5 * p[2] - 3 * p[0])
        size = radius * (1 + waves)
        return (1.2 * size * p[0], 0.75 * size * p[1], size * p[2])

    return moved(ball(3), rough)


def ring(radius=0.1, tube=0.035, around=32, across=16):
    """A torus about y."""
    def point(i, j):
        u, v = 2 * math.pi * i / around, 2 * math.pi * j / across
        out = radius + tube * math.cos(v)
        return (out * math.cos(u), tube * math.sin(v), out * math.sin(u))

    triangles = []
    for i in range(around):
        for j in range(across):
            a, b, c, d = point(i, j), point(i + 1, j), point(i + 1, j + 1), point(i, j + 1)
            triangles += [(a, c, b), (a, d, c)]
    return triangles


def star(points=5, outer=0.14, inner=0.06, thickness=0.06):
    """A star, thickest in the middle, that lies in the plane of x and y."""
    rim = []
    for k in range(2 * points):
        angle = math.pi * (k / points + 0.5)
        size = outer if k % 2 == 0 else inner
        rim.append((size * math.cos(angle), size * math.sin(angle), 0.0))
    triangles = []
    for a, b in zip(rim, rim[1:] + rim[:1]):
        triangles += [((0.0, 0.0, thickness), a, b), ((0.0, 0.0, -thickness), b, a)]
    return triangles


def unit(a, b, c):
    u = [b[k] - a[k] for k in range(3)]
    v = [c[k] - a[k] for k in range(3)]
    n = [u[1] * v[2] - u[2] * v[1], u[2] * v[0] - u[0] * v[2], u[0] * v[1] - u[1] * v[0]]
    length = math.sqrt(sum(x * x for x in n))
    return [x / length for x in n]


def write_stl(path, triangles):
    """Binary STL."""
    with open(path, "wb") as file:
        file.write(path.name.encode().ljust(80))
        file.write(struct.pack("<I", len(triangles)))
        for triangle in triangles:
            numbers = unit(*triangle) + [x for corner in triangle for x in corner]
            file.write(struct.pack("<12fH", *numbers, 0))


def write_obj(path, triangles):
    """OBJ, with each vertex once."""
    known = {}
    faces = []
    for triangle in triangles:
        corners = []
        for corner in triangle:
            key = tuple(round(x, 7) + 0.0 for x in corner)
            corners.append(known.setdefault(key, len(known) + 1))
        faces.append(corners)
    with open(path, "w", encoding="ascii", newline="\n") as file:
        file.write(f"# {path.name}, by tools/make_meshes.py\n")
        file.writelines("v {:.7g} {:.7g} {:.7g}\n".format(*vertex) for vertex in known)
        file.writelines("f {} {} {}\n".format(*face) for face in faces)


def main():
    folder = pathlib.Path(sys.argv[1]) if len(sys.argv) > 1 else FOLDER
    folder.mkdir(parents=True, exist_ok=True)
    write_stl(folder / "drum.stl", drum())
    write_obj(folder / "blade.obj", blade())
    write_obj(folder / "rock.obj", rock())
    write_obj(folder / "ring.obj", ring())
    write_obj(folder / "star.obj", star())


if __name__ == "__main__":
    main()
