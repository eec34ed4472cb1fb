"""The page in Chromium, beside the program: `cargo xtask test --web` runs this.

ROCKFALL_PAGE is the folder of the page, ROCKFALL the program, ROCKFALL_CHROMIUM the browser. A software adapter draws and
computes unless ROCKFALL_WEBGPU_ADAPTER names another one, such as "default". Pictures of what the tests saw go to the
folder `seen` beside the page.
"""

import functools
import http.server
import json
import math
import os
import pathlib
import subprocess
import tempfile
import threading
import time
import unittest

from playwright.sync_api import sync_playwright

PAGE = pathlib.Path(os.environ["ROCKFALL_PAGE"])
ROOT = pathlib.Path(__file__).resolve().parents[2]
SEEN = PAGE.parent / "seen"

# A software adapter on two cores is slow, and so is what Chromium does before the first frame.
PATIENCE = 180_000

ADAPTER = os.environ.get("ROCKFALL_WEBGPU_ADAPTER", "swiftshader")
FLAGS = [
    "--no-sandbox",
    "--enable-unsafe-webgpu",
    # Vulkan for the rest of the page, too: else no picture gets from one to the other.
    "--enable-features=Vulkan",
    *(
        [f"--use-{what}={ADAPTER}" for what in ("webgpu-adapter", "vulkan", "angle")]
        if ADAPTER != "default"
        else []
    ),
]

BALL = """{
  "version": 1,
  "materials": { "stone": { "density": 2500, "restitution": 0.5, "friction": 0.5 } },
  "shapes": { "ball": { "sphere": { "radius": 0.05 }, "material": "stone" } },
  "contact": { "law": "hooke", "stiffness": 1e5 },
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
    """The summary of a run on the CPU, and where the bodies are after it."""
    with tempfile.TemporaryDirectory() as folder:
        state = pathlib.Path(folder) / "state.json"
        command = [os.environ["ROCKFALL"], "run", str(ROOT / "scenes" / f"{scene}.json")]
        command += ["--steps", str(steps), "--backend", "cpu", "--json", "--quiet", "--state", str(state)]
        said = subprocess.run(command, check=True, capture_output=True, text=True).stdout
        return json.loads(said), json.loads(state.read_text())


class Page(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        SEEN.mkdir(exist_ok=True)
        handler = functools.partial(Quiet, directory=str(PAGE))
        cls.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
        threading.Thread(target=cls.server.serve_forever, daemon=True).start()
        cls.address = f"http://127.0.0.1:{cls.server.server_port}/"
        cls.playwright = sync_playwright().start()
        cls.browser = cls.playwright.chromium.launch(
            executable_path=os.environ["ROCKFALL_CHROMIUM"], args=FLAGS
        )

    @classmethod
    def tearDownClass(cls):
        cls.browser.close()
        cls.playwright.stop()
        cls.server.shutdown()

    def open(self, fragment="", size=(1280, 720), **context):
        """A page that shows its first frames; what it asks for and complains of is kept."""
        width, height = size
        self.context = self.browser.new_context(
            viewport={"width": width, "height": height}, accept_downloads=True, **context
        )
        self.addCleanup(self.context.close)
        page = self.context.new_page()
        page.set_default_timeout(PATIENCE)
        self.asked, self.complaints = [], []
        page.on("request", lambda request: self.asked.append(request.url))
        page.on(
            "console",
            lambda message: message.type in ("error", "warning")
            and self.complaints.append(f"{message.type}: {message.text}"),
        )
        page.on("pageerror", lambda error: self.complaints.append(str(error)))
        page.goto(self.address + fragment)
        self.wait(page, "document.querySelector('#message').hidden")
        return page

    def assert_quiet(self):
        # What drives the page reads its pictures, which a software driver remarks upon.
        self.assertEqual([c for c in self.complaints if "ReadPixels" not in c], [])
        for url in self.asked:
            self.assertTrue(url.startswith((self.address, "blob:", "data:")), url)

    def wait(self, page, expression):
        """Until something is so in the page, which itself may evaluate no text."""
        end = time.monotonic() + PATIENCE / 1000
        while not page.evaluate(expression):
            said = page.evaluate("document.querySelector('#message').textContent")
            self.assertNotIn("did not start", said)
            self.assertLess(time.monotonic(), end, f"{expression}; {said} {self.complaints}")
            time.sleep(0.1)

    def status(self, page):
        return json.loads(page.evaluate("rockfall.viewer.status()"))

    def summary(self, page, steps):
        """What comes of so many steps from the start."""
        page.evaluate("rockfall.viewer.play(false)")
        page.evaluate("rockfall.viewer.reset()")
        return json.loads(page.evaluate("(steps) => rockfall.viewer.step(steps)", steps))

    def test_scenes_come_out_as_in_the_program(self):
        page = self.open("#scene=stack")
        for scene in ["stack", "water", "heat", "shaker", "custom_law"]:
            with self.subTest(scene):
                page.evaluate(f"location.hash = 'scene={scene}'")
                self.wait(page, f"rockfall.scene().path === '{scene}.json'")
                count = json.loads(page.evaluate("rockfall.check(rockfall.scene().path, rockfall.scene().files)"))
                self.wait(page, f"JSON.parse(rockfall.viewer.status()).bodies === {count['bodies']}")
                summary = self.summary(page, 200)
                self.assertEqual(self.status(page)["steps"], 200)
                positions = page.evaluate("rockfall.viewer.positions().then((all) => [...all])")
                page.screenshot(path=SEEN / f"{scene}.png")
                if scene == "custom_law":
                    # The program has it on a GPU only.
                    self.assertTrue(math.isfinite(summary["kineticEnergy"]))
                    continue
                expected, state = native(scene, 200)
                told = {key: expected[key] for key in ("kinetic_energy_j", "contacts", "state_hash") if key in expected}
                print(f"\n{scene}: {summary}\n  program: {told}")
                self.assertAlmostEqual(
                    summary["kineticEnergy"], expected["kinetic_energy_j"], delta=1e-4 * expected["kinetic_energy_j"]
                )
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
        self.assert_quiet()

    def test_what_is_wrong_is_said_at_its_line(self):
        page = self.open("#scene=stack")
        text = page.input_value("#text")
        number = next(index for index, line in enumerate(text.split("\n"), 1) if '"radius"' in line)
        page.fill("#text", text.replace('"radius": ', '"radius": -'))
        page.wait_for_selector("#lines .wrong")
        self.assertEqual(page.text_content("#lines .wrong").strip(), str(number))
        self.assertIn("expected a length greater than 0", page.text_content("#problems"))
        self.assertTrue(page.is_disabled("#run"))
        page.screenshot(path=SEEN / "wrong.png")
        before = self.status(page)["bodies"]
        page.fill("#text", BALL.replace("[0, 0.25, 0]", "[0, 0.25 0]"))
        self.wait(page, "document.querySelector('#problems').textContent.includes('line 7')")
        page.fill("#text", BALL)
        page.wait_for_selector("#lines .wrong", state="detached")
        self.assertEqual(self.status(page)["bodies"], before)
        page.click("#run")
        self.wait(page, "JSON.parse(rockfall.viewer.status()).bodies === 1")
        self.assert_quiet()

    def test_a_law_is_edited_with_the_compilers_message(self):
        page = self.open("#scene=custom_law")
        page.select_option("#file", "laws/walton_braun.wgsl")
        text = page.input_value("#text")
        self.assertIn("fn ", text)
        page.fill("#text", text.replace("fn ", "fnord ", 1))
        page.wait_for_selector("#problems li")
        said = page.text_content("#problems")
        self.assertIn("fnord", said)
        number = 1 + text[: text.index("fn ")].count("\n")
        self.assertEqual(page.text_content("#lines .wrong").strip(), str(number))
        page.screenshot(path=SEEN / "law.png")
        page.fill("#text", text)
        page.wait_for_selector("#problems li", state="detached")
        self.assert_quiet()

    def test_a_link_carries_the_scene(self):
        page = self.open("#scene=stack")
        page.fill("#text", BALL)
        self.wait(page, "document.querySelector('#verdict').textContent.startsWith('1 bod')")
        page.click("#link")
        self.wait(page, "location.hash.startsWith('#z=')")
        fragment = page.evaluate("location.hash")
        self.assertLess(len(fragment), 2000)
        other = self.open(fragment)
        self.assertEqual(other.input_value("#text"), BALL)
        self.assertEqual(self.status(other)["bodies"], 1)
        self.assert_quiet()

    def test_files_are_dropped(self):
        page = self.open("#scene=stack")
        mesh = (ROOT / "scenes/meshes/blade.obj").read_text()
        scene = (ROOT / "scenes/mixer.json").read_text()
        page.evaluate(
            """([scene, mesh]) => {
                const files = new DataTransfer();
                files.items.add(new File([scene], "own.json"));
                files.items.add(new File([mesh], "blade.obj"));
                document.body.dispatchEvent(new DragEvent("drop", { dataTransfer: files, bubbles: true, cancelable: true }));
            }""",
            [scene, mesh],
        )
        self.wait(page, "rockfall.scene().path === 'own.json'")
        self.wait(page, "JSON.parse(rockfall.viewer.status()).bodies === 2400")
        self.assertEqual(page.text_content("#problems"), "")
        self.assert_quiet()

    def test_buttons_keys_and_sizes(self):
        page = self.open("#scene=stack")
        self.wait(page, "JSON.parse(rockfall.viewer.status()).steps > 0")
        page.click("#play")
        self.wait(page, "!JSON.parse(rockfall.viewer.status()).playing")
        page.click("#reset")
        self.wait(page, "JSON.parse(rockfall.viewer.status()).steps === 0")
        page.click("#step")
        self.wait(page, "JSON.parse(rockfall.viewer.status()).steps === 1")
        page.focus("#canvas")
        page.keyboard.press("s")
        self.wait(page, "JSON.parse(rockfall.viewer.status()).steps === 2")
        self.assertIn("sphere-steps/s", page.text_content("#speed"))
        frames = self.status(page)["frames"]
        page.mouse.move(200, 400)
        page.mouse.down()
        page.mouse.move(260, 420)
        page.mouse.up()
        self.wait(page, f"JSON.parse(rockfall.viewer.status()).frames > {frames}")
        page.set_viewport_size({"width": 390, "height": 780})
        self.wait(page, "document.querySelector('#canvas').width <= 390 * devicePixelRatio")
        page.wait_for_timeout(1000)
        page.screenshot(path=SEEN / "small.png")
        self.assertFalse(page.evaluate("document.documentElement.scrollWidth > innerWidth"))
        with page.expect_download(timeout=PATIENCE) as saved:
            page.click("#picture")
        picture = pathlib.Path(saved.value.path()).read_bytes()
        (SEEN / "saved.png").write_bytes(picture)
        self.assertTrue(picture.startswith(b"\x89PNG"))
        with page.expect_download(timeout=PATIENCE) as saved:
            page.click("#state")
        rows = pathlib.Path(saved.value.path()).read_text().split("\n")
        self.assertEqual(len(rows), 1 + 5 + 1)
        self.assert_quiet()

    def test_without_webgpu_a_sentence_says_so(self):
        context = self.browser.new_context()
        self.addCleanup(context.close)
        self.complaints = []
        page = context.new_page()
        page.add_init_script("Object.defineProperty(Navigator.prototype, 'gpu', { get: () => undefined })")
        page.goto(self.address)
        self.wait(page, "document.querySelector('#message').textContent.includes('WebGPU')")
        page.screenshot(path=SEEN / "without.png")


if __name__ == "__main__":
    unittest.main()
