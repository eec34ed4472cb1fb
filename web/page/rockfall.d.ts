/** A scene with the files that it names, by their paths; those of a scene in a folder start with that of the folder. */
export interface Files {
  path: string;
  files: Map<string, Uint8Array>;
}

/** A scene: its text, what that says as an object, or its file with those that it names. */
export type Scene = string | object | Files;

/** Something that is wrong with a scene. */
export interface Problem {
  file: string;
  /** Counted from 1. */
  line: number;
  sentence: string;
}

/** What is told of a scene. */
export interface Built {
  /** Empty if it can be simulated; only then there is the rest. */
  problems: Problem[];
  /** Bodies at the start. */
  count?: number;
  /** Where they start, as `show` takes it. */
  bodies?: Float64Array;
  spheres?: number;
  warnings?: string[];
  notes?: string[];
}

/** The simulation after some steps. */
export interface Summary {
  /** J */
  kineticEnergy: number;
  contacts: number;
  /** kg m/s */
  momentum: [number, number, number];
  /** Largest overlap of the run, as a fraction of the smaller radius. */
  maxOverlap: number;
  stateHash: string;
}

/** How the simulation was when it was drawn last. */
export interface Status {
  frames: number;
  /** s */
  time: number;
  steps: number;
  /** Spheres times steps so far. */
  sphereSteps: number;
  bodies: number;
  spheres: number;
  playing: boolean;
  panel: boolean;
  /** Wall time of a frame, s, and what of it steps and drawing take. */
  frame: number;
  simulation: number;
  drawing: number;
  /** The index of the body that is picked. */
  picked: number | null;
  adapter: string;
  notice: string | null;
  /** Why the simulation is over. */
  failure: string | null;
}

export interface Simulation {
  /** Shows another scene. Fails with the sentences of what is wrong with it; then the scene before stays. */
  show(scene: Scene, options?: { keepCamera?: boolean; built?: Built | null }): Promise<void>;
  /** Pauses, and takes exactly so many steps. */
  step(steps?: number): Promise<Summary>;
  /** The centres of mass of all bodies, m: x, y, z of one after the other. */
  positions(): Promise<Float64Array>;
  /** The state of all bodies as `rockfall run --state` writes it: JSON. */
  state(): Promise<string>;
  /** A picture, as a PNG. */
  picture(): Promise<Blob>;
  play(): void;
  pause(): void;
  /** Shows the panel beside the picture, or not. */
  panel(shown: boolean): void;
  /** Goes back to the start of the scene. */
  reset(): void;
  status(): Status;
}

export interface Options {
  /** Whether the simulation goes on by itself. */
  playing?: boolean;
  /** Whether the panel is shown beside the picture. */
  panel?: boolean;
  /** Takes the pictures that the user saves with a key. */
  deliver?: ((name: string, png: Uint8Array) => void) | null;
}

/** A simulation of a scene, drawn on a canvas; one in a page. */
export function load(canvas: HTMLCanvasElement, scene: Scene, options?: Options): Promise<Simulation>;

/** The same without a scene at first. */
export function open(canvas: HTMLCanvasElement, options?: Options): Promise<Simulation>;

/** Reads and checks a scene on a thread of its own; null if another was asked for before this one was done. */
export function build(scene: Files): Promise<Built | null>;
