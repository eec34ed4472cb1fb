// Builds scenes beside the page; what it takes and answers is in rockfall.js.
import init, { build } from "./rockfall_web.js";

let ready = null;

onmessage = async ({ data: { module, path, files } }) => {
  ready ??= init({ module_or_path: module });
  await ready;
  const built = build(path, files);
  const { told, bodies } = built;
  built.free();
  postMessage({ told, bodies }, bodies ? [bodies.buffer] : []);
};
