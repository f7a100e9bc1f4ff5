// A pair of runs.
import type { Setup } from "./protocol";

/** Everything that defines a pair of runs. */
export interface Scene extends Setup {
  seed: number;
  a: string;
  b: string;
}

/** The scene of a page without an address. */
export const FIRST: Scene = { traffic: "real", profile: "linux-7.2", seed: 1, a: "pfifo limit=50", b: "spa" };
