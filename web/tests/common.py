"""What the tests of the page in Chromium and in Firefox share: the page's server, and the program that the page is held to."""

import functools
import http.server
import json
import os
import pathlib
import subprocess
import tempfile
import threading
import unittest

PAGE = pathlib.Path(os.environ["ROCKFALL_PAGE"])
ROOT = pathlib.Path(__file__).resolve().parents[2]
SEEN = PAGE.parent / "seen"

BALL = """{
  "version": 1,
  "materials": { "stone": { "density": 2500, "restitution": 0.5, "friction": 0.5 } },
  "shapes": { "ball": { "sphere": { "radius": 0.05 }, "material": "stone" } },
  "contact": { "normal": "hooke", "tangential": "history", "stiffness": 1e5 },
  "planes": [ { "point": [0, 0, 0], "normal": [0, 1, 0], "material": "stone" } ],
  "bodies": [ { "shape": "ball", "position": [0, 0.25, 0] } ]
}
"""


class Quiet(http.server.SimpleHTTPRequestHandler):
    extensions_map = {
        **http.server.SimpleHTTPRequestHandler.extensions_map,
        ".js": "text/javascript",
        ".wasm": "application/wasm",
    }

    def log_message(self, *_):
        pass


def native(scene, steps):
    """The summary of a run on the CPU, and the final state of its bodies."""
    with tempfile.TemporaryDirectory() as folder:
        state = pathlib.Path(folder) / "state.json"
        command = [os.environ["ROCKFALL"], "run", str(ROOT / "scenes" / f"{scene}.json")]
        command += ["--steps", str(steps), "--backend", "cpu", "--json", "--quiet", "--state", str(state)]
        said = subprocess.run(command, check=True, capture_output=True, text=True).stdout
        return json.loads(said), json.loads(state.read_text())


class ServedPage(unittest.TestCase):
    """A test case with a server of the page at `address`."""

    @classmethod
    def setUpClass(cls):
        SEEN.mkdir(exist_ok=True)
        handler = functools.partial(Quiet, directory=str(PAGE))
        cls.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
        threading.Thread(target=cls.server.serve_forever, daemon=True).start()
        cls.address = f"http://127.0.0.1:{cls.server.server_port}/"

    @classmethod
    def tearDownClass(cls):
        cls.server.shutdown()

    def assert_as_in_the_program(self, scene, steps, summary, positions):
        """Holds what the page made of a scene to what the program makes of it."""
        expected, state = native(scene, steps)
        told = {key: expected[key] for key in ("kinetic_energy_j", "contacts", "state_hash") if key in expected}
        print(f"\n{scene}: {summary}\n  program: {told}")
        energy = expected["kinetic_energy_j"]
        self.assertAlmostEqual(summary["kineticEnergy"], energy, delta=1e-4 * energy)
        self.assertAlmostEqual(summary["contacts"], expected["contacts"], delta=2 + 0.002 * expected["contacts"])
        bodies = state["bodies"]
        self.assertEqual(len(positions), 3 * len(bodies))
        off = max(
            abs(own - other)
            for index, body in enumerate(bodies)
            for own, other in zip(positions[3 * index :], body["position"])
        )
        print(f"  positions differ by {off} m at most")
        self.assertLess(off, 1e-4)
