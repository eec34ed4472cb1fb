// The page around the viewer: scenes from the gallery, the editor, a link or a file; buttons; what is said about speed.
import * as rockfall from "./rockfall.js";
import * as link from "./link.js";

const $ = (id) => document.getElementById(id);
const encoder = new TextEncoder();
const decoder = new TextDecoder();

/** The scene that is edited: the name of its file, and all its files by their paths. */
let scene = { path: "", files: new Map() };
/** The file that the editor shows. */
let shown = "";
/** What is told of the scene as it is edited; null while it is not known. */
let built = null;
let simulation = null;

const say = (sentence) => {
  $("message").textContent = sentence;
  $("message").hidden = !sentence;
};

/** Says what takes a while, and for how long by now, until it is done. */
let newest = 0;
async function busy(sentence, work) {
  const own = ++newest;
  const start = performance.now();
  const timer = setInterval(() => {
    const seconds = (performance.now() - start) / 1000;
    if (own !== newest) return;
    $("progress").querySelector("span").textContent = `${sentence} … ${seconds.toFixed(1)} s`;
    $("progress").hidden = false;
  }, 100);
  try {
    return await work;
  } finally {
    clearInterval(timer);
    if (own === newest) $("progress").hidden = true;
  }
}

async function fetched(path) {
  const response = await fetch(path);
  if (!response.ok) throw new Error(`${path}: ${response.status} ${response.statusText}`);
  return new Uint8Array(await response.arrayBuffer());
}

/** A scene of the gallery, with the files that it names. */
async function shipped(name) {
  const path = `${name}.json`;
  const bytes = await fetched(`scenes/${path}`);
  const files = new Map([[path, bytes]]);
  for (const [, named] of decoder.decode(bytes).matchAll(/"([\w./-]+\.(?:wgsl|obj|stl|sdf))"/g)) {
    files.set(named, await fetched(`scenes/${named}`));
  }
  return { path, files };
}

/** What the link asks for. */
async function asked() {
  const parts = new URLSearchParams(location.hash.slice(1));
  if (parts.has("z")) return link.unpack(parts.get("z"));
  return shipped(parts.get("scene") ?? "drum");
}

const isText = (path) => !/\.(stl|sdf)$/.test(path);

/** Puts a scene into the editor. */
function edit(next) {
  scene = next;
  shown = scene.path;
  built = null;
  $("file").replaceChildren(...[...scene.files.keys()].filter(isText).map((path) => new Option(path, path)));
  turn();
}

/** Shows the text of the file that is chosen. */
function turn() {
  $("file").value = shown;
  $("text").value = decoder.decode(scene.files.get(shown));
  $("text").scrollTop = 0;
  mark(built?.problems ?? []);
}

/** Numbers the lines, and marks those with problems. */
function mark(problems) {
  const wrong = new Set(problems.filter(({ file }) => file === shown).map(({ line }) => line));
  const count = $("text").value.split("\n").length;
  const lines = Array.from({ length: count }, (_, index) => {
    const line = document.createElement("span");
    line.textContent = `${index + 1}\n`;
    if (wrong.has(index + 1)) line.className = "wrong";
    return line;
  });
  $("lines").replaceChildren(...lines);
  $("lines").scrollTop = $("text").scrollTop;
}

const number = (count, one, more) => `${count} ${count === 1 ? one : more}`;

/** Builds the scene, and says what is wrong with it, at its lines. What it returns is null if another is built by now. */
async function judge() {
  const told = built ?? (await busy(`Building ${scene.path}`, rockfall.build(scene)));
  if (!told) return null;
  built = told;
  mark(told.problems);
  const problems = told.problems.map(({ file, line, sentence }) => {
    const button = document.createElement("button");
    button.textContent = `line ${line}: ${sentence}`;
    button.onclick = () => goTo(file, line);
    const item = document.createElement("li");
    item.append(button);
    return item;
  });
  $("problems").replaceChildren(...problems);
  const right = problems.length === 0;
  $("verdict").className = right ? "" : "wrong";
  $("verdict").textContent = right
    ? `${number(told.count, "body", "bodies")}, ${number(told.spheres, "sphere", "spheres")}`
    : number(problems.length, "problem", "problems");
  $("run").disabled = !right;
  return told;
}

function goTo(file, line) {
  const text = $("text");
  if (shown !== file) {
    shown = file;
    turn();
  }
  const start = text.value.split("\n").slice(0, line - 1).join("\n").length + (line > 1 ? 1 : 0);
  const end = text.value.indexOf("\n", start);
  text.focus();
  text.setSelectionRange(start, end < 0 ? text.value.length : end);
  text.scrollTop = 18 * (line - 5);
}

const complain = (error) => {
  $("verdict").className = "wrong";
  $("verdict").textContent = error.message ?? String(error);
};

/** Shows the scene in the editor. */
async function run(keepCamera) {
  try {
    const told = await judge();
    if (!told || told.problems.length) return;
    await busy(`Showing ${scene.path}`, simulation.show(scene, { keepCamera, built: told }));
  } catch (error) {
    complain(error);
  } finally {
    say("");
  }
}

async function open(next) {
  try {
    edit(await next);
    await run(false);
    simulation.play();
  } catch (error) {
    complain(error);
  }
}

function save(name, type, parts) {
  const anchor = document.createElement("a");
  anchor.href = URL.createObjectURL(new Blob(parts, { type }));
  anchor.download = name;
  anchor.click();
  setTimeout(() => URL.revokeObjectURL(anchor.href), 10_000);
}

async function saveState() {
  save(`${scene.path.replace(/\.json$/, "")}.state.json`, "application/json", [await simulation.state()]);
}

/** The scene among files that were dropped, with the others beside it, in the folders that it names them in. */
async function dropped(list) {
  const files = new Map();
  for (const file of list) files.set(file.name, new Uint8Array(await file.arrayBuffer()));
  const path = [...files.keys()].find((name) => name.endsWith(".json"));
  if (!path) throw new Error("no scene (a file that ends in .json) was dropped");
  for (const [, named] of decoder.decode(files.get(path)).matchAll(/"([\w./-]+\/([\w.-]+))"/g)) {
    const own = files.get(named.split("/").at(-1));
    if (own) files.set(named, own);
  }
  return { path, files };
}

async function gallery() {
  const list = JSON.parse(decoder.decode(await fetched("gallery.json")));
  const cards = list.map(({ scene, title, text }) => {
    const card = document.createElement("button");
    const image = document.createElement("img");
    image.src = `pictures/${scene}.jpg`;
    image.alt = "";
    image.loading = "lazy";
    const small = document.createElement("small");
    small.textContent = text;
    card.append(image, title, small);
    card.dataset.scene = scene;
    card.onclick = () => {
      location.hash = `scene=${scene}`;
    };
    return card;
  });
  $("gallery").replaceChildren(...cards);
}

const toggle = (button, what) => {
  $(button).onclick = () => {
    $(what).hidden = !$(what).hidden;
    $(button).setAttribute("aria-expanded", String(!$(what).hidden));
  };
};

const compact = new Intl.NumberFormat("en", { notation: "compact", maximumSignificantDigits: 3 });

/** What is said about speed, twice a second. */
let before = { at: performance.now(), sphereSteps: 0 };
function watch() {
  const status = simulation.status();
  if (status.failure) {
    say(`${status.failure}\n\nReload the page to start again.`);
    return;
  }
  const now = performance.now();
  const rate = (1000 * (status.sphereSteps - before.sphereSteps)) / (now - before.at);
  before = { at: now, sphereSteps: status.sphereSteps };
  const milliseconds = (time) => `${(1000 * time).toFixed(1)} ms`;
  $("play").textContent = status.playing ? "Pause" : "Play";
  $("speed").textContent =
    `t = ${status.time.toFixed(3)} s · frame ${milliseconds(status.frame)} ` +
    `(simulation ${milliseconds(status.simulation)}, drawing ${milliseconds(status.drawing)}) · ` +
    `${compact.format(Math.max(rate, 0))} sphere-steps/s`;
  setTimeout(watch, 500);
}

async function missing() {
  if (!navigator.gpu) {
    return (
      "Rockfall simulates and draws with WebGPU, which this browser does not offer here.\n\n" +
      (isSecureContext ? "" : "A page may use it only over https or from localhost; this page was loaded in another way.\n\n") +
      "Chrome and Edge offer it from version 113, Safari from 26, Firefox from 141 on Windows and 145 on macOS. On Linux, " +
      "Chrome may need chrome://flags/#enable-unsafe-webgpu, and Firefox a nightly version."
    );
  }
  if (!(await navigator.gpu.requestAdapter())) {
    return (
      "This browser has WebGPU, but finds no GPU for it.\n\nSee chrome://gpu or about:support for the reason, often an old " +
      "driver, or hardware acceleration switched off in the settings."
    );
  }
  return null;
}

async function start() {
  const lacks = await missing();
  if (lacks) return say(lacks);
  await gallery();
  const narrow = matchMedia("(max-width: 1100px)");
  const deliver = (name, png) => save(name, "image/png", [png]);
  simulation = await rockfall.open($("canvas"), { playing: true, panel: !narrow.matches, deliver });
  let wrong = null;
  try {
    edit(await asked());
  } catch (error) {
    wrong = error;
    edit(await shipped("drum"));
  }
  watch();
  run(false).then(() => {
    if (wrong) complain(new Error(`The link cannot be opened: ${wrong.message}`));
  });

  toggle("scenes", "gallery");
  toggle("edit", "editor");
  $("play").onclick = () => (simulation.status().playing ? simulation.pause() : simulation.play());
  $("step").onclick = () => simulation.step();
  $("panel").onclick = () => simulation.panel(!simulation.status().panel);
  narrow.onchange = () => simulation.panel(!narrow.matches);
  $("reset").onclick = () => simulation.reset();
  $("picture").onclick = async () => save(`${scene.path.replace(/\.json$/, "")}.png`, "image/png", [await simulation.picture()]);
  $("state").onclick = saveState;
  $("run").onclick = () => run(true);
  $("link").onclick = async () => {
    const place = new URL(location.href);
    place.hash = `z=${await link.pack(scene)}`;
    history.replaceState(null, "", place);
    await navigator.clipboard?.writeText(place.href).catch(() => {});
  };
  $("file").onchange = () => {
    shown = $("file").value;
    turn();
  };
  let pause = 0;
  $("text").oninput = () => {
    scene.files.set(shown, encoder.encode($("text").value));
    built = null;
    clearTimeout(pause);
    pause = setTimeout(() => judge().catch(complain), 150);
  };
  $("text").onscroll = () => {
    $("lines").scrollTop = $("text").scrollTop;
  };
  $("text").onkeydown = (event) => {
    if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) run(true);
  };
  addEventListener("hashchange", () => open(asked()));
  addEventListener("dragover", (event) => {
    event.preventDefault();
    document.body.classList.add("dropping");
  });
  addEventListener("dragleave", () => document.body.classList.remove("dropping"));
  addEventListener("drop", (event) => {
    event.preventDefault();
    document.body.classList.remove("dropping");
    if (event.dataTransfer.files.length) open(dropped(event.dataTransfer.files));
  });
  addEventListener("paste", (event) => {
    const text = event.clipboardData.getData("text");
    if (event.clipboardData.files.length) open(dropped(event.clipboardData.files));
    else if (event.target !== $("text") && text.trimStart().startsWith("{")) {
      open({ path: "pasted.json", files: new Map([["pasted.json", encoder.encode(text)]]) });
    }
  });
  // For whoever drives the page from outside, a test say.
  window.rockfall = { simulation, build: rockfall.build, scene: () => scene, built: () => built };
}

start().catch((error) => say(`Rockfall did not start: ${error.message ?? error}`));
