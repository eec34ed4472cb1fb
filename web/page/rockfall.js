// Rockfall for a page: scenes are built beside the page, and simulated and drawn on the GPU of whoever looks.
import init, { Viewer } from "./rockfall_web.js";

let module = null;

/** The module, compiled once for the page and its worker. */
async function compile() {
  const response = await fetch(new URL("./rockfall_web_bg.wasm", import.meta.url));
  if (!response.ok) throw new Error(`rockfall_web_bg.wasm: ${response.status} ${response.statusText}`);
  // Some servers know no type for it.
  const isTold = response.headers.get("content-type")?.startsWith("application/wasm");
  return isTold ? WebAssembly.compileStreaming(response) : WebAssembly.compile(await response.arrayBuffer());
}

const compiled = () => (module ??= compile());

let worker = null;
let giveUp = null;

/** What is told of a scene, `{ path, files }`, with where its bodies start; null if another is to be built before this one is. */
export async function build({ path, files }) {
  giveUp?.(null);
  const module = await compiled();
  giveUp?.(null);
  return new Promise((resolve, reject) => {
    const own = (worker ??= new Worker(new URL("./worker.js", import.meta.url), { type: "module" }));
    const end = (finish, value, isOver) => {
      giveUp = null;
      if (isOver) {
        own.terminate();
        worker = null;
      }
      finish(value);
    };
    giveUp = (value) => end(resolve, value, true);
    own.onmessage = ({ data: { told, bodies } }) => end(resolve, { ...JSON.parse(told), bodies }, false);
    own.onerror = (event) => end(reject, new Error(event.message || "the scene cannot be built here"), true);
    own.postMessage({ module, path, files });
  });
}

const bytes = (content) => (typeof content === "string" ? new TextEncoder().encode(content) : content);

/** A scene as it may be given: its text, what that says as an object, or its file among others. */
function read(scene) {
  if (scene.files instanceof Map) return scene;
  const text = typeof scene === "string" ? scene : JSON.stringify(scene);
  return { path: "scene.json", files: new Map([["scene.json", bytes(text)]]) };
}

let simulation = null;

class Simulation {
  #viewer;
  #pictures = [];

  constructor(canvas, { playing, panel, deliver }) {
    this.canvas = canvas;
    this.#viewer = new Viewer(canvas, playing, panel, (name, png) => {
      const waiting = this.#pictures.shift();
      if (waiting) waiting(new Blob([png], { type: "image/png" }));
      else deliver?.(name, png);
    });
  }

  async show(scene, { keepCamera = false, built = null } = {}) {
    const { path, files } = read(scene);
    const told = built ?? (await build({ path, files }));
    if (!told) return;
    if (told.problems.length) {
      throw new Error(told.problems.map(({ file, line, sentence }) => `${file}, line ${line}: ${sentence}`).join("\n"));
    }
    await this.#viewer.show(path, files, keepCamera, told.bodies, told.notes);
  }

  async step(steps = 1) {
    return JSON.parse(await this.#viewer.step(steps));
  }

  positions() {
    return this.#viewer.positions();
  }

  async state() {
    return new TextDecoder().decode(await this.#viewer.state());
  }

  picture() {
    return new Promise((resolve) => {
      this.#pictures.push(resolve);
      this.#viewer.picture();
    });
  }

  play() {
    this.#viewer.play(true);
  }

  pause() {
    this.#viewer.play(false);
  }

  panel(shown) {
    this.#viewer.panel(shown);
  }

  reset() {
    this.#viewer.reset();
  }

  status() {
    return JSON.parse(this.#viewer.status());
  }
}

/** A viewer on a canvas, without a scene yet. */
export async function open(canvas, { playing = false, panel = false, deliver = null } = {}) {
  if (simulation) throw new Error("this page already has a simulation; show() gives it another scene");
  await init({ module_or_path: await compiled() });
  simulation = new Simulation(canvas, { playing, panel, deliver });
  return simulation;
}

/** A simulation of a scene, on a canvas. */
export async function load(canvas, scene, options = {}) {
  const opened = simulation?.canvas === canvas ? simulation : await open(canvas, options);
  await opened.show(scene);
  return opened;
}
