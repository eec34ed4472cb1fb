// The page around the viewer: scenes from the gallery, the editor, a link or a file; buttons; what is said about speed.
import init, { Viewer, check } from "./rockfall_web.js";
import * as link from "./link.js";

const $ = (id) => document.getElementById(id);
const encoder = new TextEncoder();
const decoder = new TextDecoder();

/** The scene that is edited: the name of its file, and all its files by their paths. */
let scene = { path: "", files: new Map() };
/** The file that the editor shows. */
let shown = "";
let viewer = null;

const say = (sentence) => {
  $("message").textContent = sentence;
  $("message").hidden = !sentence;
};

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
  $("file").replaceChildren(...[...scene.files.keys()].filter(isText).map((path) => new Option(path, path)));
  turn();
}

/** Shows the text of the file that is chosen. */
function turn() {
  $("file").value = shown;
  $("text").value = decoder.decode(scene.files.get(shown));
  $("text").scrollTop = 0;
  judge();
}

/** Says what is wrong with the scene, at its lines. Returns whether it can be run. */
function judge() {
  const said = JSON.parse(check(scene.path, scene.files));
  const wrong = new Set(said.problems.filter(({ file }) => file === shown).map(({ line }) => line));
  const count = $("text").value.split("\n").length;
  const lines = Array.from({ length: count }, (_, index) => {
    const line = document.createElement("span");
    line.textContent = `${index + 1}\n`;
    if (wrong.has(index + 1)) line.className = "wrong";
    return line;
  });
  $("lines").replaceChildren(...lines);
  $("lines").scrollTop = $("text").scrollTop;
  const problems = said.problems.map(({ file, line, sentence }) => {
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
    ? `${said.bodies} bodies, ${said.spheres} spheres`
    : `${problems.length} ${problems.length === 1 ? "problem" : "problems"}`;
  $("run").disabled = !right;
  return right;
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

/** Has the viewer show the scene in the editor. */
function run(keepCamera) {
  if (judge()) viewer.show(scene.path, scene.files, keepCamera);
}

async function open(next) {
  try {
    edit(await next);
    run(false);
    viewer.play(true);
  } catch (error) {
    $("verdict").className = "wrong";
    $("verdict").textContent = error.message;
  }
}

function save(name, type, parts) {
  const anchor = document.createElement("a");
  anchor.href = URL.createObjectURL(new Blob(parts, { type }));
  anchor.download = name;
  anchor.click();
  setTimeout(() => URL.revokeObjectURL(anchor.href), 10_000);
}

async function savePositions() {
  const positions = await viewer.positions();
  const rows = ["x,y,z"];
  for (let at = 0; at < positions.length; at += 3) rows.push(positions.slice(at, at + 3).join(","));
  save(`${scene.path.replace(/\.json$/, "")}.csv`, "text/csv", [rows.join("\n"), "\n"]);
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
  const cards = list.map(({ scene, title, text, picture }) => {
    const card = document.createElement("button");
    if (picture) {
      const image = document.createElement("img");
      image.src = `pictures/${scene}.jpg`;
      image.alt = "";
      image.loading = "lazy";
      card.append(image);
    }
    const small = document.createElement("small");
    small.textContent = text;
    card.append(title, small);
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
  const status = JSON.parse(viewer.status());
  if (status.failure) {
    say(`${status.failure}\n\nReload the page to start again.`);
    return;
  }
  if (status.frames > 1) say("");
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
      (isSecureContext ? "" : "A page has it only over https or from localhost: this one came another way.\n\n") +
      "Chrome and Edge have it from version 113 on, Safari from 26, Firefox from 141 on Windows and 145 on macOS. On Linux, " +
      "Chrome may need chrome://flags/#enable-unsafe-webgpu, and Firefox a nightly version."
    );
  }
  if (!(await navigator.gpu.requestAdapter())) {
    return (
      "This browser has WebGPU, but finds no GPU for it.\n\nSee chrome://gpu or about:support for the reason: often it is an old " +
      "driver, or hardware acceleration that is switched off in the settings."
    );
  }
  return null;
}

async function start() {
  const lacks = await missing();
  if (lacks) return say(lacks);
  await init();
  await gallery();
  let wrong = null;
  try {
    edit(await asked());
  } catch (error) {
    wrong = error;
    edit(await shipped("drum"));
  }
  const narrow = innerWidth < 1100;
  viewer = new Viewer($("canvas"), scene.path, scene.files, true, !narrow, (name, bytes) =>
    save(name, "image/png", [bytes]),
  );
  if (wrong) $("verdict").textContent = `The link leads nowhere: ${wrong.message}`;

  toggle("scenes", "gallery");
  toggle("edit", "editor");
  $("play").onclick = () => viewer.play(!JSON.parse(viewer.status()).playing);
  $("step").onclick = () => viewer.step(1);
  $("reset").onclick = () => viewer.reset();
  $("picture").onclick = () => viewer.picture();
  $("state").onclick = savePositions;
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
    clearTimeout(pause);
    pause = setTimeout(judge, 150);
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
  // For whoever drives the page from outside, a test say.
  window.rockfall = { viewer, check, open, scene: () => scene };
  watch();
}

start().catch((error) => say(`Rockfall did not start: ${error.message ?? error}`));
