// The address of the page: the scenario, its changes, the moment shown and the speed.
import { MOST } from "./edits";
import { pack, TooLong, unpack } from "./pack";
import type { Edit, Setup } from "./protocol";
import { FIRST, type Scene } from "./scene";
import { STORIES } from "./stories";

/** Everything that a link to the page describes. */
export interface Link {
  /** The scene at the start of the run. */
  scene: Scene;
  /** Changes of the run. */
  edits: Edit[];
  /** The moment shown, seconds; a story without one starts at its next event. */
  moment: number | undefined;
  speed: number | undefined;
}

const TEXTS = ["traffic", "rate", "up_rate", "load", "rtt", "duration", "profile", "a", "b"] as const;

/** Changes as `12.5.buffer.20`, with the side if it is only one: `13.drop.a`. */
function editsText(edits: Edit[]): string {
  return edits.map(({ at, side, change }) => {
    const [kind, value] = change === "drop_handshake" ? ["drop", undefined] : Object.entries(change)[0];
    return [at, kind, value, side].filter((part) => part !== undefined).join("_").replace("up_rate", "up");
  }).join("~");
}

function editOf(text: string): Edit {
  const [at, kind, ...rest] = text.split("_");
  const last = rest.at(-1);
  const side = last === "a" || last === "b" ? last : undefined;
  const value = Number(rest[0]);
  const change = { rate: { rate: value }, up: { up_rate: value }, load: { load: value }, buffer: { buffer: value }, drop: "drop_handshake" as const }[kind];
  if (!at || !Number.isFinite(Number(at)) || !change || (change !== "drop_handshake" && !Number.isFinite(value))) throw new Error("The changes in the address are damaged: the link was probably cut. Ask for the whole link.");
  return { at: Number(at), side, change };
}

const KEYS = [...TEXTS, "toml", "flows", "seed"] as const;

/** The story whose scene this is. */
export const storyOf = (scene: Scene) => STORIES.find((story) => KEYS.every((key) => (scene[key] || undefined) === (story.scene[key] || undefined)));

/** The part of the address after `#`. */
export async function write({ scene, edits, moment, speed }: Link): Promise<string> {
  const parts = new URLSearchParams();
  const story = storyOf(scene);
  if (story) {
    parts.set("story", story.id);
  } else {
    for (const key of TEXTS) {
      const value = scene[key];
      if (value && !(scene.toml && key === "traffic")) parts.set(key, value);
    }
    parts.set("seed", String(scene.seed));
    if (scene.toml) parts.set("toml", await pack(scene.toml));
  }
  if (edits.length) parts.set("edits", editsText(edits));
  if (moment !== undefined) parts.set("t", String(Number(moment.toFixed(4))));
  if (speed !== undefined) parts.set("speed", String(Number(speed.toPrecision(3))));
  return parts.toString();
}

function number(parts: URLSearchParams, key: string, low: number, high: number): number | undefined {
  const value = Number(parts.get(key) || NaN);
  return value >= low && value <= high ? value : undefined;
}

/** Contents of an address. Missing values are as in the first scene. */
export async function read(hash: string): Promise<Link> {
  const parts = new URLSearchParams(hash.replace(/^#/, ""));
  const story = STORIES.find((story) => story.id === parts.get("story"));
  const scene: Scene = { ...(story?.scene ?? FIRST) };
  if (!story) {
    for (const key of TEXTS) {
      const value = parts.get(key);
      if (value) scene[key] = value;
    }
    const seed = Number(parts.get("seed") ?? FIRST.seed);
    scene.seed = Number.isSafeInteger(seed) && seed >= 0 ? seed : FIRST.seed;
    const packed = parts.get("toml");
    if (packed) {
      scene.traffic = "";
      try {
        scene.toml = await unpack(packed);
      } catch (error) {
        if (error instanceof TooLong) throw error;
        throw new Error("The scenario in the address is damaged: the link was probably cut. Ask for the whole link.");
      }
    }
  }
  const edits = (parts.get("edits") ?? "").split("~").filter(Boolean).slice(0, MOST).map(editOf);
  return { scene, edits, moment: number(parts, "t", 0, 86_400), speed: number(parts, "speed", 0.01, 1e6) };
}

/** The part of a scene that is a setup. */
export function setupOf(scene: Scene): Setup {
  const { traffic, toml, flows, rate, up_rate, load, rtt, duration, profile } = scene;
  return { traffic, toml, flows, rate, up_rate, load, rtt, duration, profile };
}
