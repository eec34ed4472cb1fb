"""Tests of the tools, and of the files of a run as other programs read them.

`cargo xtask test --long` runs them, in an environment of Python that it makes. ROCKFALL names the program.
"""

import json
import os
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

import numpy
import pandas
import trimesh
import vtk
from pxr import Usd, UsdGeom
from vtk.util.numpy_support import vtk_to_numpy

from plot_run import profile
from read_run import Run

TOOLS = Path(__file__).resolve().parent
ROCKFALL = os.environ.get("ROCKFALL", "rockfall")


def rockfall(folder, *arguments):
    """Runs the program in a folder; it must succeed."""
    subprocess.run([ROCKFALL, *arguments], cwd=folder, check=True, capture_output=True)


def tool(name, *arguments, code=0):
    """Runs a tool, which must end with a code, and returns what it says."""
    done = subprocess.run(
        [sys.executable, TOOLS / name, *arguments], capture_output=True, text=True, check=False
    )
    assert done.returncode == code, (name, arguments, done.stdout, done.stderr)
    return done.stdout + done.stderr


def read_vtk(path):
    """A VTK file, read by vtk: points, and arrays by name."""
    reader = vtk.vtkXMLPolyDataReader()
    reader.SetFileName(str(path))
    reader.Update()
    assert reader.GetErrorCode() == 0, path
    return reader.GetOutput()


def arrays(data):
    """The arrays of point or cell data."""
    names = [data.GetArrayName(index) for index in range(data.GetNumberOfArrays())]
    return {name: vtk_to_numpy(data.GetArray(name)) for name in names}


class Files(unittest.TestCase):
    """What a run leaves, as numpy, pandas and vtk read it."""

    @classmethod
    def setUpClass(cls):
        cls.temporary = tempfile.TemporaryDirectory()
        cls.folder = Path(cls.temporary.name)
        scene = cls.folder / "scene.json"
        tool(
            "make_scene.py", "box", "--count", "60", "--width", "3", "--shapes", "ball,rod,cube",
            "--duration", "0.6", "--max-overlap", "0.2", "--out", str(scene),
        )  # fmt: skip
        rockfall(
            cls.folder, "run", "scene.json", "--backend", "cpu", "--out", "run", "--every", "0.25s",
            "--statistics-every", "0.02s", "--states", "bodies,spheres,contacts", "--state", "end.json",
        )  # fmt: skip
        cls.run_folder = Run(cls.folder / "run")
        cls.end = json.loads((cls.folder / "end.json").read_text())

    @classmethod
    def tearDownClass(cls):
        cls.temporary.cleanup()

    def vtk_file(self, kind, step):
        return read_vtk(self.folder / "run" / "vtk" / f"{kind}_{step:012}.vtp")

    def test_states_are_the_state(self):
        run = self.run_folder
        self.assertEqual(len(run.steps()), 4)
        for name in ["position", "origin", "orientation"]:
            expected = [body[name] for body in self.end["bodies"]]
            numpy.testing.assert_array_equal(run.vectors(name), expected)
        for name in ["velocity", "angular_velocity"]:
            expected = numpy.float32([body[name] for body in self.end["bodies"]])
            numpy.testing.assert_array_equal(run.vectors(name), expected)
        names = [run.record["shapes"][shape] for shape in run.state()["shape"]]
        self.assertEqual(names, [body["shape"] for body in self.end["bodies"]])
        mass = run.state()["mass"]
        numpy.testing.assert_array_equal(mass, [body["mass"] for body in self.end["bodies"]])
        self.assertTrue((run.state()["time"] == self.end["time"]).all())
        self.assertEqual(len(run.state("bodies", 0)["body"]), 60)

    def test_pandas_reads_a_state_in_a_line(self):
        step = self.run_folder.steps()[-1]
        file = self.folder / "run" / "states" / f"contacts_{step:012}.npz"
        table = pandas.DataFrame(dict(numpy.load(file)))
        self.assertGreater(len(table), 30)
        size = numpy.sqrt(table.force_x**2 + table.force_y**2 + table.force_z**2)
        numpy.testing.assert_allclose(table.force_size, size, rtol=1e-5)
        statistics = pandas.read_csv(self.folder / "run" / "statistics.csv")
        self.assertEqual(len(table), statistics.contacts.iloc[-1])

    def test_spheres_belong_to_their_bodies(self):
        run = self.run_folder
        bodies, spheres = run.state(), run.state("spheres")
        position, of_body = run.vectors("position", "spheres"), run.vectors("position")
        arm = position - of_body[spheres["body"]]
        turning = numpy.cross(run.vectors("angular_velocity")[spheres["body"]], arm)
        velocity = run.vectors("velocity")[spheres["body"]] + turning
        numpy.testing.assert_allclose(run.vectors("velocity", "spheres"), velocity, atol=1e-5)
        # All shapes are alike on both sides of their centre of mass, so arms cancel.
        sums = numpy.zeros((len(bodies["body"]), 3))
        numpy.add.at(sums, spheres["body"], arm)
        numpy.testing.assert_allclose(sums, 0, atol=1e-7)
        force = numpy.zeros((len(bodies["body"]), 3))
        numpy.add.at(force, spheres["body"], run.vectors("force", "spheres"))
        scale = numpy.abs(force).max()
        numpy.testing.assert_allclose(force, run.vectors("contact_force"), atol=1e-5 * scale)

    def test_vtk_reads_what_the_states_have(self):
        run = self.run_folder
        for step in run.steps():
            for kind in ["bodies", "spheres"]:
                data = self.vtk_file(kind, step)
                state = run.state(kind, step)
                points = vtk_to_numpy(data.GetPoints().GetData())
                numpy.testing.assert_array_equal(points, run.vectors("position", kind, step))
                self.assertEqual(data.GetNumberOfVerts(), len(points))
                for name, values in arrays(data.GetPointData()).items():
                    same = state[name] if name in state else run.vectors(name, kind, step)
                    numpy.testing.assert_array_equal(values, same, err_msg=f"{kind} {name}")
                time = vtk_to_numpy(data.GetFieldData().GetArray("TimeValue"))
                self.assertEqual(time[0], state["time"][0])
            for name in ["velocity", "angular_velocity", "body", "shape", "material", "force"]:
                self.assertIsNotNone(data.GetPointData().GetArray(name), name)
        unit = data.GetPointData().GetArray("velocity").GetInformation()
        self.assertEqual(unit.Get(vtk.vtkDataArray.UNITS_LABEL()), "m/s")

    def test_contacts_are_lines_with_forces(self):
        run = self.run_folder
        step = run.steps()[-1]
        data, state = self.vtk_file("contacts", step), run.state("contacts", step)
        count = len(state["sphere"])
        self.assertEqual(data.GetNumberOfLines(), count)
        ends = vtk_to_numpy(data.GetPoints().GetData()).reshape(count, 2, 3)
        numpy.testing.assert_array_equal(ends[:, 0], run.vectors("from", "contacts", step))
        numpy.testing.assert_array_equal(ends[:, 1], run.vectors("to", "contacts", step))
        cells = arrays(data.GetCellData())
        numpy.testing.assert_array_equal(cells["force"], run.vectors("force", "contacts", step))
        lines = vtk_to_numpy(data.GetLines().GetConnectivityArray())
        numpy.testing.assert_array_equal(lines, numpy.arange(2 * count))
        # A line between two spheres is as long as their radii, less the overlap.
        spheres = run.state("spheres", step)
        both = state["other_sphere"] >= 0
        self.assertGreater(both.sum(), 10)
        radii = spheres["radius"][state["sphere"][both]] + spheres["radius"][state["other_sphere"][both]]
        length = numpy.linalg.norm(ends[both, 1] - ends[both, 0], axis=1)
        numpy.testing.assert_allclose(length, radii - state["overlap"][both], atol=1e-3 * radii.max())
        # Where a wall is touched, it bears what statistics say.
        statistics = run.statistics()
        for wall in range(5):
            bears = -state["force_y"][state["wall"] == wall].sum(dtype=float)
            said = statistics[f"wall_{wall}_force_y_N"][-1]
            self.assertAlmostEqual(bears, said, delta=1e-4 * (1 + abs(said)))

    def test_walls_are_triangles_that_face_the_bodies(self):
        data = self.vtk_file("walls", 0)
        normals = vtk.vtkPolyDataNormals()
        normals.SetInputData(data)
        normals.ConsistencyOff()
        normals.SplittingOff()
        normals.ComputeCellNormalsOn()
        normals.Update()
        found = vtk_to_numpy(normals.GetOutput().GetCellData().GetNormals())
        walls = vtk_to_numpy(data.GetCellData().GetArray("wall"))
        planes = self.run_folder.scene["planes"]
        self.assertEqual(sorted(set(walls)), list(range(len(planes))))
        for wall, normal in zip(walls, found):
            numpy.testing.assert_allclose(normal, planes[wall]["normal"], atol=1e-6)
        self.assertIsNotNone(data.GetPointData().GetArray("velocity"))

    def test_walls_are_where_they_are_at_the_time_of_each_file(self):
        scene = json.loads((self.folder / "scene.json").read_text())
        scene["walls"] = [
            {
                "cylinder": {"radius": 0.2, "height": 1}, "material": "stone", "position": [9, 9, 9],
                "motion": {"rotation": {"axis": [0, 0, 1], "center": [8, 9, 9], "speed": 3}},
            },
            {
                "box": {"size": [1, 2, 3]}, "material": "stone", "position": [-9, 9, 9],
                "motion": {"vibrations": [{"amplitude": [0, 0.1, 0], "frequency": 5}]},
            },
        ]  # fmt: skip
        (self.folder / "moving.json").write_text(json.dumps(scene))
        rockfall(
            self.folder, "run", "moving.json", "--backend", "cpu", "--duration", "0.06", "--every", "0.02s",
            "--vtk", "walls", "--out", "moving",
        )  # fmt: skip
        files = sorted((self.folder / "moving" / "vtk").glob("walls_*.vtp"))
        self.assertGreaterEqual(len(files), 4)
        count = len(scene["planes"])
        start = None
        for file in files:
            data = read_vtk(file)
            points = vtk_to_numpy(data.GetPoints().GetData())
            velocity = vtk_to_numpy(data.GetPointData().GetArray("velocity"))
            time = vtk_to_numpy(data.GetFieldData().GetArray("TimeValue"))[0]
            corners = vtk_to_numpy(data.GetPolys().GetConnectivityArray()).reshape(-1, 3)
            walls = vtk_to_numpy(data.GetCellData().GetArray("wall"))
            drum, box = (numpy.unique(corners[walls == count + wall]) for wall in range(2))
            start = points if start is None else start
            sine, cosine = numpy.sin(3 * time), numpy.cos(3 * time)
            turn = numpy.array([[cosine, -sine, 0], [sine, cosine, 0], [0, 0, 1]])
            arm = (start[drum] - [8, 9, 9]) @ turn.T
            numpy.testing.assert_allclose(points[drum], arm + [8, 9, 9], atol=1e-6)
            numpy.testing.assert_allclose(velocity[drum], numpy.cross([0, 0, 3], arm), atol=1e-5)
            shift = 0.1 * numpy.sin(10 * numpy.pi * time)
            numpy.testing.assert_allclose(points[box], start[box] + [0, shift, 0], atol=1e-6)
            speed = numpy.pi * numpy.cos(10 * numpy.pi * time)
            numpy.testing.assert_allclose(velocity[box], [[0, speed, 0]] * len(box), atol=1e-5)
        self.assertGreater(time, 0.05)

    def test_a_time_series_opens(self):
        for kind in ["bodies", "spheres", "contacts", "walls"]:
            text = (self.folder / "run" / f"{kind}.pvd").read_text()
            parser = vtk.vtkXMLDataParser()
            parser.SetFileName(str(self.folder / "run" / f"{kind}.pvd"))
            self.assertEqual(parser.Parse(), 1)
            collection = parser.GetRootElement().FindNestedElementWithName("Collection")
            sets = [collection.GetNestedElement(i) for i in range(collection.GetNumberOfNestedElements())]
            self.assertEqual(len(sets), 4, text)
            times = [float(item.GetAttribute("timestep")) for item in sets]
            self.assertEqual(times, sorted(times))
            for item in sets:
                self.assertGreater(
                    read_vtk(self.folder / "run" / item.GetAttribute("file")).GetNumberOfPoints(),
                    0 if kind != "contacts" else -1,
                )

    def exported(self, name):
        """The run, exported into a file of this name: its path."""
        rockfall(self.folder, "export", "run", "--to", name)
        return str(self.folder / name)

    def test_usd_has_the_bodies_of_each_state(self):
        run = self.run_folder
        stage = Usd.Stage.Open(self.exported("run.usda"))
        self.assertEqual(UsdGeom.GetStageUpAxis(stage), "Y")
        self.assertEqual(UsdGeom.GetStageMetersPerUnit(stage), 1.0)
        bodies = UsdGeom.PointInstancer(stage.GetPrimAtPath("/Run/Bodies"))
        times = bodies.GetPositionsAttr().GetTimeSamples()
        self.assertEqual(len(times), len(run.steps()))
        for step, time in zip(run.steps(), times):
            found = numpy.array(bodies.GetPositionsAttr().Get(time))
            numpy.testing.assert_allclose(found, run.vectors("origin", "bodies", step), atol=1e-6)
            turned = [[*turn.imaginary, turn.real] for turn in bodies.GetOrientationsAttr().Get(time)]
            expected = run.vectors("orientation", "bodies", step)
            # A rotation has two quaternions, and these are half floats.
            cosines = numpy.abs(numpy.sum(numpy.array(turned) * expected, axis=1))
            numpy.testing.assert_allclose(cosines, 1, atol=2e-3)
        shapes = bodies.GetPrototypesRel().GetTargets()
        self.assertEqual(len(shapes), len(run.record["shapes"]))
        for shape in shapes:
            mesh = UsdGeom.Mesh(stage.GetPrimAtPath(shape))
            self.assertGreater(len(mesh.GetPointsAttr().Get()), 8)

    def test_vtkhdf_has_the_spheres_of_each_state(self):
        run = self.run_folder
        reader = vtk.vtkHDFReader()
        reader.SetFileName(self.exported("run.vtkhdf"))
        reader.UpdateInformation()
        self.assertEqual(reader.GetNumberOfSteps(), len(run.steps()))
        for index, step in enumerate(run.steps()):
            reader.SetStep(index)
            reader.Update()
            data = reader.GetOutputDataObject(0)
            expected = run.vectors("position", "spheres", step)
            found = vtk_to_numpy(data.GetPoints().GetData())[: len(expected)]
            numpy.testing.assert_allclose(found, expected, atol=1e-6)
            self.assertEqual(data.GetNumberOfVerts(), len(expected))

    def test_gltf_has_the_bodies_of_the_last_state(self):
        scene = trimesh.load(self.exported("end.glb"))
        for index, place in enumerate(self.run_folder.vectors("origin")):
            turn, _ = scene.graph[f"body {index}"]
            numpy.testing.assert_allclose(turn[:3, 3], place, atol=1e-6)
        # And the planes of the box.
        self.assertEqual(len(scene.graph.nodes_geometry), len(self.end["bodies"]) + 5)

    def test_statistics_keep_account(self):
        statistics = self.run_folder.statistics()
        self.assertGreaterEqual(len(statistics["time_s"]), 30)
        parts = ["kinetic_energy_J", "gravitational_energy_J", "elastic_energy_J"]
        total = sum(statistics[part] for part in parts)
        numpy.testing.assert_allclose(total, statistics["total_energy_J"], rtol=1e-12)
        gone = statistics["dissipated_damping_J"] + statistics["dissipated_friction_J"]
        self.assertGreater(gone[-1], 0)
        drift = numpy.ptp(total + gone) / numpy.ptp(total)
        self.assertLess(drift, 0.05)

    def test_profiles(self):
        layers = profile(self.run_folder, "y", 4)
        state = self.run_folder.state()
        position = self.run_folder.vectors("position")
        sides = numpy.ptp(position, axis=0)
        mass = (layers["density_kg_m3"] * sides.prod() / 4).sum()
        self.assertAlmostEqual(mass / state["mass"].sum(), 1, delta=1e-9)
        self.assertTrue((layers["middle_m"] > position[:, 1].min()).all())

    def test_plots_and_summaries_of_a_run(self):
        run = str(self.folder / "run")
        for what in ["energy", "coordination", "profile"]:
            picture = self.folder / f"{what}.png"
            tool("plot_run.py", run, what, "--out", str(picture))
            self.assertEqual(picture.read_bytes()[:8], b"\x89PNG\r\n\x1a\n")
            self.assertGreater(picture.stat().st_size, 10_000)
        said = tool("read_run.py", run)
        self.assertIn("bodies: 4 states", said)
        self.assertIn("coordination", said)

    def test_what_is_not_a_run_gets_a_sentence(self):
        for name in ["read_run.py", "plot_run.py"]:
            more = ["energy", "--out", str(self.folder / "x.png")] if name == "plot_run.py" else []
            said = tool(name, str(self.folder / "nothing"), *more, code=1)
            self.assertIn("found no run.json", said)
        with self.assertRaisesRegex(ValueError, "found no state of step 7"):
            self.run_folder.state("bodies", 7)


class Benchmarks(unittest.TestCase):
    """What a benchmark has measured."""

    def test_plots_of_benchmarks(self):
        with tempfile.TemporaryDirectory() as folder:
            measured, picture = Path(folder) / "bench.json", Path(folder) / "bench.png"
            scenes = TOOLS.parent / "scenes"
            command = [ROCKFALL, "bench", "--backend", "cpu", "--json", "--steps", "20", "--repeats", "2"]
            command += ["--settle", "0.01", str(scenes / "pile.json")]
            measured.write_bytes(subprocess.run(command, check=True, capture_output=True).stdout)
            tool("plot_bench.py", str(measured), "--out", str(picture))
            self.assertEqual(picture.read_bytes()[:8], b"\x89PNG\r\n\x1a\n")
            self.assertGreater(picture.stat().st_size, 10_000)
            measured.write_text("{}")
            said = tool("plot_bench.py", str(measured), "--out", str(picture), code=1)
            self.assertIn("bench.json: found no scenes, expected a file that", said)


class Scenes(unittest.TestCase):
    """Scenes that are made are right, and run."""

    def test_every_tool_has_help(self):
        for name in ["read_run.py", "plot_run.py", "plot_bench.py", "make_scene.py"]:
            self.assertIn("usage:", tool(name, "--help"))

    def test_scenes_are_right(self):
        with tempfile.TemporaryDirectory() as folder:
            for arguments in [
                ["box", "--count", "200", "--shapes", "ball,rod,cube,tetrahedron"],
                ["sky", "--count", "50", "--shapes", "all"],
                ["pyramid", "--layers", "4"],
                ["tower", "--layers", "3"],
                ["wall", "--layers", "3", "--width", "4"],
            ]:
                file = f"{folder}/{arguments[0]}.json"
                tool("make_scene.py", *arguments, "--out", file)
                rockfall(folder, "check", file)
            tool("make_scene.py", "box", "--count", "0", code=2)
            tool("make_scene.py", "box", "--shapes", "ball,egg", code=2)
            tool("make_scene.py", "column", code=2)

    def test_a_column_collapses_in_two_stages(self):
        with tempfile.TemporaryDirectory() as folder:
            tool(
                "make_scene.py", "column", "--count", "50", "--width", "2", "--max-overlap", "0.2",
                "--duration", "1.2", "--out", folder,
            )  # fmt: skip
            rockfall(folder, "run", "settle.json", "--backend", "cpu", "--out", "settled")
            rockfall(folder, "run", "collapse.json", "--backend", "cpu", "--out", "collapsed")
            settled, collapsed = Run(f"{folder}/settled"), Run(f"{folder}/collapsed")
            before = settled.vectors("position")
            numpy.testing.assert_allclose(collapsed.vectors("position", step=0), before, atol=1e-9)
            after = collapsed.vectors("position")
            self.assertGreater(after[:, 0].max(), before[:, 0].max() + 0.1)


if __name__ == "__main__":
    unittest.main()
