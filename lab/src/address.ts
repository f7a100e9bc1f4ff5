// The address of the page is the scenario.
import type { Setup } from "./protocol";

/** Everything that a link to the page describes. */
export interface Scene extends Setup {
  seed: number;
  a: string;
  b: string;
}

export const FIRST: Scene = { traffic: "real", profile: "linux-7.2", seed: 1, a: "pfifo limit=50", b: "spa" };

const TEXTS = ["traffic", "rate", "up_rate", "load", "rtt", "duration", "profile", "a", "b"] as const;

const base64 = (bytes: Uint8Array) =>
  btoa(Array.from(bytes, (byte) => String.fromCharCode(byte)).join("")).replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");

function bytes(text: string): Uint8Array<ArrayBuffer> {
  const raw = atob(text.replaceAll("-", "+").replaceAll("_", "/"));
  return Uint8Array.from(raw, (letter) => letter.charCodeAt(0));
}

/** Longest scenario in an address, bytes: twenty times the longest of the papers. A short address can stand for gigabytes. */
const LONGEST = 1_000_000;

async function through(data: Uint8Array<ArrayBuffer>, stream: CompressionStream | DecompressionStream): Promise<Uint8Array> {
  const output = new Blob([data]).stream().pipeThrough(stream as ReadableWritablePair<Uint8Array<ArrayBuffer>, Uint8Array<ArrayBuffer>>);
  const parts: Uint8Array<ArrayBuffer>[] = [];
  let length = 0;
  for (const reader = output.getReader(); ; ) {
    const { done, value } = await reader.read();
    if (done) break;
    length += value.length;
    if (length > LONGEST) {
      await reader.cancel();
      throw new TooLong();
    }
    parts.push(value);
  }
  return new Uint8Array(await new Blob(parts).arrayBuffer());
}

class TooLong extends Error {
  constructor() {
    super(`The scenario in the address is longer than ${LONGEST.toLocaleString("en")} bytes. Ask for the file, and open it here.`);
  }
}

/** The part of the address after `#`. */
export async function write(scene: Scene): Promise<string> {
  const parts = new URLSearchParams();
  for (const key of TEXTS) {
    const value = scene[key];
    if (value && !(scene.toml && key === "traffic")) parts.set(key, value);
  }
  parts.set("seed", String(scene.seed));
  if (scene.toml) parts.set("toml", base64(await through(new TextEncoder().encode(scene.toml), new CompressionStream("deflate-raw"))));
  return parts.toString();
}

/** The scene that an address describes. Missing values are as in the first scene. */
export async function read(hash: string): Promise<Scene> {
  const parts = new URLSearchParams(hash.replace(/^#/, ""));
  const scene: Scene = { ...FIRST };
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
      scene.toml = new TextDecoder().decode(await through(bytes(packed), new DecompressionStream("deflate-raw")));
    } catch (error) {
      if (error instanceof TooLong) throw error;
      throw new Error("The scenario in the address is damaged: the link was probably cut. Ask for the whole link.");
    }
  }
  return scene;
}

/** The part of a scene that is a setup. */
export function setupOf(scene: Scene): Setup {
  const { traffic, toml, flows, rate, up_rate, load, rtt, duration, profile } = scene;
  return { traffic, toml, flows, rate, up_rate, load, rtt, duration, profile };
}
