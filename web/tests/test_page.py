"""The page in Chromium, beside the program: `cargo xtask test --web` runs this.

ROCKFALL_PAGE is the folder of the page, ROCKFALL the program, ROCKFALL_SHADERS a file with all shaders, ROCKFALL_CHROMIUM the browser. A software adapter draws and
computes unless ROCKFALL_WEBGPU_ADAPTER names another one, such as "default". Pictures of what the tests saw go to the
folder `seen` beside the page.
"""

import json
import math
import os
import pathlib
import shutil
import socket
import subprocess
import tempfile
import time
import unittest

from playwright.sync_api import sync_playwright

from common import BALL, PAGE, ROOT, SEEN, ServedPage, native

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

# What Tint says against shaders; computations it compiles as far as the driver.
COMPILE = """async (shaders) => {
  const adapter = await navigator.gpu.requestAdapter();
  const device = await adapter.requestDevice();
  const told = [];
  for (const { name, source, computations } of shaders) {
    device.pushErrorScope("validation");
    const module = device.createShaderModule({ code: source });
    const { messages } = await module.getCompilationInfo();
    for (const { type, message, lineNum } of messages) {
      if (type === "error") told.push(`${name}, line ${lineNum}: ${message}`);
    }
    for (const entryPoint of computations) {
      const made = device.createComputePipelineAsync({ layout: "auto", compute: { module, entryPoint } });
      await made.catch((error) => told.push(`${name}, ${entryPoint}: ${error.message}`));
    }
    await device.popErrorScope();
  }
  device.destroy();
  return told;
}"""


class Page(ServedPage):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.playwright = sync_playwright().start()
        cls.browser = cls.playwright.chromium.launch(
            executable_path=shutil.which(os.environ["ROCKFALL_CHROMIUM"]), args=FLAGS
        )

    @classmethod
    def tearDownClass(cls):
        cls.browser.close()
        cls.playwright.stop()
        super().tearDownClass()

    def open(self, fragment="", size=(1280, 720), before=None, **context):
        """A page that shows a scene; what it asks for and complains of is kept. The script `before` runs before its own."""
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
        if before:
            page.add_init_script(before)
        page.goto(self.address + fragment)
        if fragment.startswith("example"):
            return page
        self.wait(page, "document.querySelector('#message').hidden")
        self.wait(page, "rockfall.simulation.status().frames > 1")
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
            said = page.evaluate("document.querySelector('#message')?.textContent ?? ''")
            self.assertNotIn("did not start", said)
            self.assertLess(time.monotonic(), end, f"{expression}; {said} {self.complaints}")
            time.sleep(0.1)

    def status(self, page):
        return page.evaluate("rockfall.simulation.status()")

    def summary(self, page, steps):
        """What comes of so many steps from the start."""
        page.evaluate("rockfall.simulation.pause()")
        page.evaluate("rockfall.simulation.reset()")
        return page.evaluate("(steps) => rockfall.simulation.step(steps)", steps)

    def test_scenes_come_out_as_in_the_program(self):
        page = self.open("#scene=stack")
        for scene in ["stack", "water", "heat", "shaker", "custom_law"]:
            with self.subTest(scene):
                page.evaluate(f"location.hash = 'scene={scene}'")
                self.wait(page, f"rockfall.scene().path === '{scene}.json'")
                self.wait(page, "rockfall.built() && rockfall.simulation.status().bodies === rockfall.built().count")
                summary = self.summary(page, 200)
                self.assertEqual(self.status(page)["steps"], 200)
                positions = page.evaluate("rockfall.simulation.positions().then((all) => [...all])")
                page.screenshot(path=SEEN / f"{scene}.png", timeout=PATIENCE)
                if scene == "custom_law":
                    # The program has it on a GPU only.
                    self.assertTrue(math.isfinite(summary["kineticEnergy"]))
                    continue
                self.assert_as_in_the_program(scene, 200, summary, positions)
        self.assert_quiet()

    def test_every_shader_compiles(self):
        """By Tint, Chromium's compiler: also what no scene of the page needs."""
        shaders = json.loads(pathlib.Path(os.environ["ROCKFALL_SHADERS"]).read_text())
        # A mistake, so that it is seen to be told.
        wrong = {"name": "wrong", "source": "fn f() -> u32 { return 1.5; }", "computations": []}
        page = self.open("#scene=stack")
        told = page.evaluate(COMPILE, [wrong, *shaders])
        self.assertIn("wrong", told[0])
        self.assertEqual(told[1:], [])
        compiled = sum(len(shader["computations"]) for shader in shaders)
        print(f"\n{len(shaders)} shaders, {compiled} computations of them as pipelines")
        self.assertGreater(compiled, 30)

    def test_what_is_wrong_is_said_at_its_line(self):
        page = self.open("#scene=stack")
        text = page.input_value("#text")
        number = next(index for index, line in enumerate(text.split("\n"), 1) if '"radius"' in line)
        page.fill("#text", text.replace('"radius": ', '"radius": -'))
        page.wait_for_selector("#lines .wrong")
        self.assertEqual(page.text_content("#lines .wrong").strip(), str(number))
        self.assertIn("expected a length greater than 0", page.text_content("#problems"))
        self.assertTrue(page.is_disabled("#run"))
        page.screenshot(path=SEEN / "wrong.png", timeout=PATIENCE)
        before = self.status(page)["bodies"]
        page.fill("#text", BALL.replace("[0, 0.25, 0]", "[0, 0.25 0]"))
        self.wait(page, "document.querySelector('#problems').textContent.includes('line 7')")
        page.fill("#text", BALL)
        page.wait_for_selector("#lines .wrong", state="detached")
        self.assertEqual(self.status(page)["bodies"], before)
        page.click("#run")
        self.wait(page, "rockfall.simulation.status().bodies === 1")
        self.assert_quiet()

    def test_every_shader_is_right_to_the_compiler_of_the_browser(self):
        page = self.open("#scene=stack")
        count, said = page.evaluate(
            """async () => {
                const { shaders } = await import("./rockfall_web.js");
                const device = await (await navigator.gpu.requestAdapter()).requestDevice();
                const all = JSON.parse(shaders());
                const said = [];
                for (const [name, code] of all) {
                    const { messages } = await device.createShaderModule({ code }).getCompilationInfo();
                    said.push(...messages.map(({ type, lineNum, message }) => `${name}:${lineNum}: ${type}: ${message}`));
                }
                device.destroy();
                return [all.length, said];
            }"""
        )
        self.assertGreater(count, 20)
        self.assertEqual(said, [])

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
        page.screenshot(path=SEEN / "law.png", timeout=PATIENCE)
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
        self.wait(page, "rockfall.simulation.status().bodies === 2400")
        self.assertEqual(page.text_content("#problems"), "")
        self.assert_quiet()

    def test_the_command_of_the_handbook_serves_the_page(self):
        handbook = (ROOT / "docs/book/src/browser.md").read_text()
        [command] = [line for line in handbook.split("\n") if "http.server" in line]
        with tempfile.TemporaryDirectory() as folder, socket.socket() as free:
            (pathlib.Path(folder) / "page").symlink_to(PAGE)
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
            free.close()
            # At a port that nobody else has.
            words = [*command.split(), str(port)]
            server = subprocess.Popen(words, cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            self.addCleanup(server.wait)
            self.addCleanup(server.terminate)
            self.address = f"http://127.0.0.1:{port}/"
            for _ in range(100):
                with socket.socket() as probe:
                    if probe.connect_ex(("127.0.0.1", port)) == 0:
                        break
                time.sleep(0.1)
            self.open("#scene=stack")
            self.assert_quiet()

    def test_the_page_as_the_handbook_shows_it(self):
        """Its picture is docs/book/src/pictures/page.jpg, where it is to be put by hand."""
        page = self.open("#scene=drum")
        summary = self.summary(page, 6000)
        self.assertGreater(summary["kineticEnergy"], 0)
        # While it stands still, each pixel is drawn.
        page.wait_for_timeout(3000)
        picture = SEEN / "page.jpg"
        page.screenshot(path=picture, type="jpeg", quality=80, timeout=PATIENCE)
        self.assertLess(picture.stat().st_size, 150_000)
        self.assert_quiet()

    def test_what_is_pasted_is_shown(self):
        page = self.open("#scene=stack")
        page.evaluate(
            """(text) => {
                const clipboardData = new DataTransfer();
                clipboardData.setData("text", text);
                document.body.dispatchEvent(new ClipboardEvent("paste", { clipboardData, bubbles: true }));
            }""",
            BALL,
        )
        self.wait(page, "rockfall.scene().path === 'pasted.json'")
        self.wait(page, "rockfall.simulation.status().bodies === 1")
        self.assertEqual(page.input_value("#text"), BALL)
        self.assert_quiet()

    def test_the_gallery_has_a_picture_of_each_scene(self):
        page = self.open("#scene=stack")
        page.click("#scenes")
        cards = page.evaluate(
            """Promise.all([...document.querySelectorAll("#gallery button")].map(async (card) => {
                const image = card.querySelector("img");
                image.loading = "eager";
                await image.decode();
                return [card.dataset.scene, image.naturalWidth];
            }))"""
        )
        listed = json.loads((PAGE / "gallery.json").read_text())
        self.assertEqual([name for name, _ in cards], [card["scene"] for card in listed])
        for name, width in cards:
            self.assertEqual(width, 340, name)
            self.assertTrue((PAGE / "scenes" / f"{name}.json").is_file(), name)
        self.assertLess(sum(path.stat().st_size for path in (PAGE / "pictures").iterdir()), 200_000)
        page.set_viewport_size({"width": 3200, "height": 720})
        page.wait_for_timeout(500)
        page.locator("#gallery").screenshot(path=SEEN / "gallery.png")
        page.click("[data-scene=springs]")
        self.wait(page, "rockfall.scene().path === 'springs.json' && rockfall.simulation.status().bodies === 9")
        self.assert_quiet()

    def test_a_large_scene_is_built_beside_the_page(self):
        page = self.open("#scene=stack")
        fill = """"fills": [ { "count": 100000, "shapes": { "ball": 1 }, "placement": "random", "seed": 1,
            "region": { "min": [-10, 0, -10], "max": [10, 4, 10] } } ],"""
        large = BALL.replace('"bodies"', fill + ' "bodies"').replace("0.25, 0]", "8, 0]")
        # What is being built is given up for what is written meanwhile. The page writes by itself: a look from outside may come
        # after the building.
        meanwhile = """async ([first, second, patience]) => {
            const [field, progress] = ["#text", "#progress"].map((name) => document.querySelector(name));
            const write = (text) => {
                field.value = text;
                field.dispatchEvent(new InputEvent("input"));
            };
            await new Promise((done, failed) => {
                setTimeout(() => failed(new Error("no progress is shown")), patience);
                new MutationObserver((_, observer) => {
                    if (progress.hidden) return;
                    observer.disconnect();
                    write(second);
                    done();
                }).observe(progress, { attributes: true });
                write(first);
            });
        }"""
        page.evaluate(meanwhile, [large, BALL, PATIENCE])
        self.wait(page, "rockfall.built()?.count === 1")
        self.assertFalse(page.is_disabled("#run"))
        looks = """async (text) => {
            const field = document.querySelector("#text");
            field.value = text;
            field.dispatchEvent(new InputEvent("input"));
            const seen = [];
            for (let look = 0; look < 100000 && rockfall.built()?.count !== 100001; look++) {
                await new Promise((resolve) => setTimeout(resolve, 20));
                if (!document.querySelector("#progress").hidden) seen.push(document.querySelector("#progress").textContent);
            }
            return seen;
        }"""
        # The page has looked around meanwhile, and found it said.
        seen = page.evaluate(looks, large)
        self.assertGreater(len(seen), 3)
        self.assertIn("Building stack.json … 0.", seen[0])
        self.assertGreater(len(set(seen)), 1)
        page.evaluate("rockfall.simulation.pause()")
        page.click("#run")
        self.wait(page, "rockfall.simulation.status().bodies === 100001")
        self.wait(page, "document.querySelector('#progress').hidden")
        page.screenshot(path=SEEN / "large.png", timeout=PATIENCE)
        self.assert_quiet()

    # Keeps the devices, so that they can be lost.
    DEVICES = """
        window.devices = [];
        const request = GPUAdapter.prototype.requestDevice;
        GPUAdapter.prototype.requestDevice = async function (...wanted) {
            const device = await request.apply(this, wanted);
            devices.push(device);
            return device;
        };
    """

    def test_a_device_that_is_lost_is_taken_up_again(self):
        page = self.open("#scene=heat", before=self.DEVICES)
        self.wait(page, "rockfall.simulation.status().steps > 300")
        page.evaluate("devices[0].destroy()")
        self.wait(page, "devices.length === 2 && rockfall.simulation.status().notice?.includes('was lost')")
        status = self.status(page)
        self.assertIsNone(status["failure"])
        self.assertTrue(status["playing"])
        self.assertNotIn("from t = 0.000 s", status["notice"])
        self.wait(page, f"rockfall.simulation.status().steps > {status['steps'] + 20}")
        page.screenshot(path=SEEN / "lost.png", timeout=PATIENCE)
        # It computes as before.
        summary = self.summary(page, 200)
        expected, _ = native("heat", 200)
        self.assertAlmostEqual(
            summary["kineticEnergy"], expected["kinetic_energy_j"], delta=1e-4 * expected["kinetic_energy_j"]
        )
        # One that is lost while nothing moves is missed, too; and there is an end of it.
        for count in (2, 3):
            page.evaluate("devices.at(-1).destroy()")
            self.wait(page, f"devices.length === {count + 1}")
            self.wait(page, "rockfall.simulation.status().bodies === 150")
        page.evaluate("devices.at(-1).destroy()")
        self.wait(page, "document.querySelector('#message').textContent.includes('Reload the page')")
        self.assertIn("was lost", page.text_content("#message"))
        self.assertEqual(page.evaluate("devices.length"), 4)

    def test_bodies_are_picked_and_pulled_by_mouse_and_by_touch(self):
        page = self.open("#scene=stack", has_touch=True)
        page.evaluate("rockfall.simulation.pause()")
        # Alone and at rest, the ball is in the middle of the picture, which is what the panel leaves.
        alone = [line for line in BALL.split("\n") if "planes" not in line]
        page.fill("#text", "\n".join([alone[0], '  "gravity": [0, 0, 0],', *alone[1:]]))
        self.wait(page, "rockfall.built()?.count === 1")
        page.keyboard.press("Control+Enter")
        self.wait(page, "rockfall.simulation.status().bodies === 1")
        page.focus("#canvas")
        # What is picked is what is seen: the picture has to be that of the new camera.
        frames = self.status(page)["frames"]
        page.keyboard.press("f")
        self.wait(page, f"rockfall.simulation.status().frames > {frames}")
        page.wait_for_timeout(1000)
        box = page.locator("#canvas").bounding_box()
        x, y = box["x"] + (box["width"] - 300) / 2, box["y"] + box["height"] / 2
        self.assertIsNone(self.status(page)["picked"])
        page.mouse.click(x, y)
        self.wait(page, "rockfall.simulation.status().picked === 0")
        # No other force acts on it; most of the pull turns it.
        before = page.evaluate("rockfall.simulation.positions().then((all) => [...all])")
        page.focus("#canvas")
        page.keyboard.press("p")
        page.evaluate("rockfall.simulation.play()")
        self.wait(page, "rockfall.simulation.status().playing")
        page.mouse.move(x, y)
        page.mouse.down()
        page.mouse.move(x + 120, y, steps=12)
        moved = "rockfall.simulation.positions().then((all) => Math.hypot(...[0, 1, 2].map((k) => all[k] - %r[k])))"
        self.wait(page, moved % before + ".then((way) => way > 0.002)")
        page.mouse.up()
        page.evaluate("rockfall.simulation.pause()")
        page.screenshot(path=SEEN / "pulled.png", timeout=PATIENCE)
        # A finger turns the camera: the picture is another one.
        page.focus("#canvas")
        page.keyboard.press("v")
        picture = "rockfall.simulation.picture().then((blob) => blob.arrayBuffer()).then((all) => [...new Uint8Array(all)])"
        first = page.evaluate(picture)
        touches = page.context.new_cdp_session(page)
        for kind, way in (("touchStart", 0), ("touchMove", 40), ("touchMove", 80), ("touchEnd", None)):
            points = [] if way is None else [{"x": x - 100 + way, "y": y + 80}]
            touches.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": points})
        page.wait_for_timeout(1000)
        self.assertNotEqual(page.evaluate(picture), first)
        self.assert_quiet()

    def test_the_example_of_the_package_runs(self):
        page = self.open("example.html")
        self.wait(page, "document.querySelector('p').textContent.includes('step')")
        self.wait(page, "'done' in document.querySelector('p').dataset")
        self.assertRegex(page.text_content("p"), r"^step 1000: [0-9.]+ J, mean height 0\.[0-9]+ m$")
        page.screenshot(path=SEEN / "example.png", timeout=PATIENCE)
        self.assert_quiet()
        # What else the package offers, and what it says of a wrong scene.
        package = json.loads((PAGE / "package.json").read_text())
        for file in package["files"]:
            self.assertTrue((PAGE / file).is_file(), file)
        kinds = page.evaluate(
            """async () => {
                const { load, build } = await import("./rockfall.js");
                const canvas = document.querySelector("canvas");
                const wrong = await load(canvas, { version: 1 }).catch((error) => error.message);
                const other = await load(document.createElement("canvas"), "{}").catch((error) => error.message);
                const [ball] = [JSON.parse(await (await fetch("scenes/stack.json")).text())];
                const simulation = await load(canvas, ball);
                const { momentum, stateHash } = await simulation.step(10);
                const positions = await simulation.positions();
                const state = JSON.parse(await simulation.state());
                const picture = await simulation.picture();
                return [wrong, other, momentum.length, stateHash, positions.constructor.name, positions.length,
                    state.bodies.length, picture.type, simulation.status().steps];
            }"""
        )
        wrong, other, momentum, state_hash, *rest = kinds
        self.assertIn("scene.json, line 1: materials: ", wrong)
        self.assertIn("show()", other)
        self.assertEqual(momentum, 3)
        self.assertRegex(state_hash, "^[0-9a-f]{16}$")
        self.assertEqual(rest, ["Float64Array", 15, 5, "image/png", 10])

    def test_the_example_of_the_handbook_runs(self):
        text = (ROOT / "docs/book/src/browser.md").read_text()
        code = text.split("```js\n")[1].split("```")[0]
        package = json.loads((PAGE / "package.json").read_text())
        imports = json.dumps({"imports": {package["name"]: "./rockfall.js"}})
        page = PAGE / "example_of_the_handbook.html"
        page.write_text(
            '<!doctype html><link rel="icon" href="data:,"><canvas style="width: 320px; height: 200px"></canvas>'
            f'<script type="importmap">{imports}</script><script type="module">{code}</script>'
        )
        self.addCleanup(page.unlink)
        scene = PAGE / "drum.json"
        shutil.copy(ROOT / "scenes/drum.json", scene)
        self.addCleanup(scene.unlink)
        page = self.open(page.name, before="console.log = (...said) => { globalThis.said = said; };")
        self.wait(page, "'said' in globalThis")
        summary, positions = page.evaluate("[said[0], said[1].length]")
        self.assertRegex(summary["stateHash"], "^[0-9a-f]{16}$")
        bodies = json.loads((ROOT / "scenes/drum.json").read_text())["fills"][0]["count"]
        self.assertEqual(positions, 3 * bodies)
        self.assert_quiet()

    def test_buttons_keys_and_sizes(self):
        page = self.open("#scene=stack")
        self.wait(page, "rockfall.simulation.status().steps > 0")
        page.click("#play")
        self.wait(page, "!rockfall.simulation.status().playing")
        page.click("#reset")
        self.wait(page, "rockfall.simulation.status().steps === 0")
        page.click("#step")
        self.wait(page, "rockfall.simulation.status().steps === 1")
        page.focus("#canvas")
        page.keyboard.press("s")
        self.wait(page, "rockfall.simulation.status().steps === 2")
        self.assertRegex(
            page.text_content("#speed"),
            r"t = [0-9.]+ s · frame [0-9.]+ ms \(simulation [0-9.]+ ms, drawing [0-9.]+ ms\) · [0-9.KMGTB]+ sphere-steps/s",
        )
        frames = self.status(page)["frames"]
        page.mouse.move(200, 400)
        page.mouse.down()
        page.mouse.move(260, 420)
        page.mouse.up()
        self.wait(page, f"rockfall.simulation.status().frames > {frames}")
        page.set_viewport_size({"width": 390, "height": 780})
        self.wait(page, "document.querySelector('#canvas').width <= 390 * devicePixelRatio")
        # The panel makes room for the picture, and comes back when it is asked to.
        self.wait(page, "!rockfall.simulation.status().panel")
        page.click("#panel")
        self.wait(page, "rockfall.simulation.status().panel")
        page.click("#panel")
        self.wait(page, "!rockfall.simulation.status().panel")
        page.wait_for_timeout(1000)
        page.screenshot(path=SEEN / "small.png", timeout=PATIENCE)
        self.assertFalse(page.evaluate("document.documentElement.scrollWidth > innerWidth"))
        with page.expect_download(timeout=PATIENCE) as saved:
            page.click("#picture")
        picture = pathlib.Path(saved.value.path()).read_bytes()
        (SEEN / "saved.png").write_bytes(picture)
        self.assertTrue(picture.startswith(b"\x89PNG"))
        with page.expect_download(timeout=PATIENCE) as saved:
            page.click("#state")
        state = json.loads(pathlib.Path(saved.value.path()).read_text())
        self.assertEqual(len(state["bodies"]), 5)
        self.assertEqual(len(state["bodies"][0]["velocity"]), 3)
        self.assert_quiet()

    def test_without_webgpu_a_sentence_says_so(self):
        context = self.browser.new_context()
        self.addCleanup(context.close)
        self.complaints = []
        page = context.new_page()
        page.add_init_script("Object.defineProperty(Navigator.prototype, 'gpu', { get: () => undefined })")
        page.goto(self.address)
        self.wait(page, "document.querySelector('#message').textContent.includes('WebGPU')")
        page.screenshot(path=SEEN / "without.png", timeout=PATIENCE)


if __name__ == "__main__":
    unittest.main()
