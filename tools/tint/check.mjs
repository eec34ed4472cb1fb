// Gives every shader to Tint, the compiler of Chromium, and every computation to Dawn as a whole pipeline with each of its
// constants as it is without a scene. Dawn's backend `null` checks all and runs nothing, so no GPU and no driver is needed.
//
//   node check.mjs SHADERS PACKAGE
//
// SHADERS is the file of the test `every_shader_is_put_down`, PACKAGE the folder of the package `webgpu` of npm.

import { readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { pathToFileURL } from "node:url";

const [file, folder] = process.argv.slice(2);
const { create, globals } = await import(pathToFileURL(join(resolve(folder), "index.js")));
Object.assign(globalThis, globals);

// Dawn crashes once this is collected as garbage, so a global variable has it.
globalThis.gpu = create(["backend=null"]);
const adapter = await gpu.requestAdapter();
const device = await adapter.requestDevice();

// What is said against a shader.
async function said({ name, source, computations }) {
  const told = [];
  device.pushErrorScope("validation");
  const module = device.createShaderModule({ code: source });
  const { messages } = await module.getCompilationInfo();
  for (const { type, lineNum, message } of messages) {
    told.push(`${name}, line ${lineNum}: ${type}: ${message}`);
  }
  for (const entryPoint of told.length ? [] : computations) {
    const made = device.createComputePipelineAsync({ layout: "auto", compute: { module, entryPoint } });
    await made.catch((error) => told.push(`${name}, ${entryPoint}: ${error.message}`));
  }
  const error = await device.popErrorScope();
  if (error && !told.length) {
    told.push(`${name}: ${error.message}`);
  }
  return told;
}

// Mistakes, so that they are seen to be told: of a type, and of a pipeline.
const mistakes = [
  { name: "mistake", source: "fn f() -> u32 { return 1.5; }", computations: [] },
  {
    name: "mistake",
    source: "override n: u32 = 0; @compute @workgroup_size(n) fn f() {}",
    computations: ["f"],
  },
];
for (const mistake of mistakes) {
  if ((await said(mistake)).length !== 1) {
    console.error(`nothing is said against ${mistake.source}`);
    process.exit(1);
  }
}

const shaders = JSON.parse(readFileSync(file, "utf8"));
const told = [];
for (const shader of shaders) {
  told.push(...(await said(shader)));
}
device.destroy();
const computations = shaders.reduce((sum, shader) => sum + shader.computations.length, 0);
console.log(`${shaders.length} shaders, ${computations} computations of them as pipelines`);
console.error(told.join("\n"));
process.exit(told.length || computations < 30 ? 1 : 0);
