"""The page in Firefox, whose WebGPU is wgpu and whose compiler of shaders naga: a third one beside those of Chromium and the program.

`cargo xtask test --web` runs this where Firefox is installed; where that offers no WebGPU, it is skipped. Firefox is driven by
WebDriver BiDi (https://w3c.github.io/webdriver-bidi/), which it speaks itself. ROCKFALL_FIREFOX is the browser.
"""

import base64
import itertools
import json
import os
import re
import shutil
import subprocess
import tempfile
import time
import unittest

from websockets.sync.client import connect

from common import BALL, SEEN, ServedPage

# Where WebGPU is not yet switched on for the system, it is there all the same.
SETTINGS = """
user_pref("dom.webgpu.enabled", true);
user_pref("gfx.webgpu.ignore-blocklist", true);
user_pref("remote.active-protocols", 3);
"""

# A software adapter on two cores is slow.
PATIENCE = 300


@unittest.skipUnless(os.environ.get("ROCKFALL_FIREFOX"), "there is no Firefox")
class Firefox(ServedPage):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.profile = tempfile.mkdtemp()
        with open(f"{cls.profile}/user.js", "w") as file:
            file.write(SETTINGS)
        cls.log = f"{cls.profile}/log"
        command = [os.environ["ROCKFALL_FIREFOX"], "--headless", "--no-remote", "--profile", cls.profile]
        command += ["--remote-debugging-port", "0", "about:blank"]
        with open(cls.log, "w") as log:
            environment = {**os.environ, "HOME": cls.profile}
            cls.browser = subprocess.Popen(command, stdout=log, stderr=log, env=environment)
        cls.numbers = itertools.count(1)
        cls.socket = connect(f"{cls.listening()}/session", max_size=1 << 28, open_timeout=60)
        cls.call("session.new", capabilities={})
        cls.tab = cls.call("browsingContext.getTree")["contexts"][0]["context"]

    @classmethod
    def listening(cls):
        """Where it listens, which it says when it does."""
        for _ in range(300):
            with open(cls.log) as log:
                said = re.search(r"WebDriver BiDi listening on (ws://\S+)", log.read())
            if said:
                return said[1]
            time.sleep(0.2)
        raise AssertionError("Firefox does not listen")

    @classmethod
    def tearDownClass(cls):
        cls.socket.close()
        cls.browser.terminate()
        cls.browser.wait()
        super().tearDownClass()
        shutil.rmtree(cls.profile, ignore_errors=True)

    @classmethod
    def call(cls, method, **params):
        number = next(cls.numbers)
        cls.socket.send(json.dumps({"id": number, "method": method, "params": params}))
        while True:
            answer = json.loads(cls.socket.recv(timeout=PATIENCE))
            if answer.get("id") == number:
                if answer["type"] == "error":
                    raise AssertionError(f"{method}: {answer['message']}")
                return answer["result"]

    @classmethod
    def evaluate(cls, expression):
        """The value of an expression, through JSON."""
        text = f"Promise.resolve({expression}).then((value) => JSON.stringify(value ?? null))"
        answer = cls.call("script.evaluate", expression=text, target={"context": cls.tab}, awaitPromise=True)
        if answer["type"] == "exception":
            raise AssertionError(answer["exceptionDetails"]["text"])
        return json.loads(answer["result"]["value"])

    def wait(self, expression):
        end = time.monotonic() + PATIENCE
        while not self.evaluate(expression):
            said = self.evaluate("document.querySelector('#message')?.textContent ?? ''")
            self.assertNotIn("did not start", said)
            self.assertLess(time.monotonic(), end, f"{expression}; {said}")
            time.sleep(0.2)

    def open(self, fragment):
        self.call("browsingContext.navigate", context=self.tab, url="about:blank", wait="complete")
        self.call("browsingContext.navigate", context=self.tab, url=self.address + fragment, wait="complete")
        if not self.evaluate("navigator.gpu ? navigator.gpu.requestAdapter().then((own) => own !== null) : false"):
            self.skipTest("Firefox offers no WebGPU here")
        self.wait("document.querySelector('#message').hidden")
        self.wait("rockfall.simulation.status().frames > 1")

    def test_scenes_come_out_as_in_the_program(self):
        self.open("#scene=stack")
        for scene in ["stack", "water", "heat", "shaker"]:
            with self.subTest(scene):
                self.evaluate(f"location.hash = 'scene={scene}'")
                self.wait(f"rockfall.scene().path === '{scene}.json'")
                self.wait("rockfall.built() && rockfall.simulation.status().bodies === rockfall.built().count")
                self.evaluate("rockfall.simulation.pause()")
                self.evaluate("rockfall.simulation.reset()")
                summary = self.evaluate("rockfall.simulation.step(200)")
                positions = self.evaluate("rockfall.simulation.positions().then((all) => [...all])")
                self.assert_as_in_the_program(scene, 200, summary, positions)
        picture = self.call("browsingContext.captureScreenshot", context=self.tab)["data"]
        (SEEN / "firefox.png").write_bytes(base64.b64decode(picture))

    def test_a_scene_is_edited_wrongly_and_rightly(self):
        self.open("#scene=stack")
        edit = """((text) => {
            const field = document.querySelector("#text");
            field.value = text;
            field.dispatchEvent(new InputEvent("input"));
        })(%s)"""
        self.evaluate(edit % json.dumps(BALL.replace('"radius": ', '"radius": -')))
        self.wait("document.querySelector('#problems').textContent.includes('expected a length greater than 0')")
        self.evaluate(edit % json.dumps(BALL))
        self.wait("rockfall.built()?.count === 1")
        self.evaluate("document.querySelector('#run').click()")
        self.wait("rockfall.simulation.status().bodies === 1")

    def test_every_shader_is_right_to_the_compiler_of_the_browser(self):
        self.open("#scene=stack")
        said = self.evaluate(
            """(async () => {
                const { shaders } = await import("./rockfall_web.js");
                const device = await (await navigator.gpu.requestAdapter()).requestDevice();
                const said = [];
                for (const [name, code] of JSON.parse(shaders())) {
                    const { messages } = await device.createShaderModule({ code }).getCompilationInfo();
                    said.push(...messages.map(({ type, lineNum, message }) => `${name}:${lineNum}: ${type}: ${message}`));
                }
                device.destroy();
                return said;
            })()"""
        )
        self.assertEqual(said, [])


if __name__ == "__main__":
    unittest.main()
