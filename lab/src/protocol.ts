// Messages between the page and its workers, and the contents of the simulator's JSON.

/** Traffic and its changes, in the syntax of the options of `gentle compare` (crates/lab/src/setup.rs). */
export interface Setup {
  traffic: string;
  toml?: string;
  flows?: string;
  rate?: string;
  up_rate?: string;
  load?: string;
  rtt?: string;
  duration?: string;
  profile?: string;
}

export interface SchemeOption {
  name: string;
  default: string | null;
  accepts: string;
  help: string;
}

export interface Catalog {
  version: string;
  schemes: { name: string; summary: string; source: string; options: SchemeOption[]; presets: string[] }[];
  scenarios: { name: string; title: string }[];
  profiles: { name: string; summary: string }[];
  causes: string[];
  /** Grades, best first, with the added time in seconds below which they apply. */
  grades: [string, number | null][];
}

/** A scenario as it is run: the values of the controls. */
export interface Description {
  name: string;
  title: string;
  rate_bps: number;
  up_rate_bps: number;
  delay_s: [number, number];
  up_qdisc: string;
  up_as_down: boolean;
  load: number;
  profile: string;
  initial_rto_s: number;
  duration_s: number;
  workloads: string[];
  warnings: string[];
}

export interface Sums {
  handshakes_offered: number;
  handshakes_dropped: number;
  offered: [number, number];
  dropped: [number, number];
  marked: [number, number];
  sent_bytes: [number, number];
  completed: number;
  failed: number;
  response_s: number;
  short: [number, number];
  sojourn: [number, number];
}

export interface Curves {
  step_s: number;
  sojourn_s: (number | null)[];
  longest_s: (number | null)[];
  handshake_loss: (number | null)[];
  utilization: (number | null)[];
  by_size: [number | null, number, number][];
  ccdf: [number, number][];
}

export interface Snapshot {
  now_s: number;
  end_s: number;
  ended: boolean;
  scheme: string;
  backlog: [[number, number], [number, number]];
  open: number;
  sums: Sums;
  curves?: Curves;
}

export interface Moment {
  at_s: number;
  side: 0 | 1;
  kind: "syn" | "syn/ack" | "data" | "ack" | "fin";
  seq: number;
  length: number;
  ack: number | null;
  again: boolean;
  delivered_s: number | null;
  dropped_s: number | null;
  cause: string | null;
  cost_s: number | null;
}

export interface History {
  moments: Moment[];
  timers: [number, boolean][];
  cut: boolean;
  segments: number | null;
  response_s: number | null;
  handshake_s: number | null;
  outcome: "completed" | "failed" | "unfinished" | null;
}

export interface Standing {
  seeds: number;
  done: boolean;
  means_s: (number | null)[];
  handshake_loss: (number | null)[];
  queue_delay_s: (number | null)[];
  difference_s: number | null;
  ci95_s: number | null;
  better: string | null;
  /** Time that the others on the link add to a short connection, by scheme (crates/lab/src/grade.rs). */
  added_s: (number | null)[];
  grades: (string | null)[];
  words: string[];
}

/** A change of a run while it lasts: bits per second, a fraction, packets, or the loss of the next SYN or SYN/ACK
 * (crates/lab/src/plan.rs). */
export type Change = { rate: number } | { up_rate: number } | { load: number } | { buffer: number } | "drop_handshake";

/** A change at a moment, of both sides or of one. */
export interface Edit {
  at: number;
  side?: "a" | "b";
  change: Change;
}

/** Events that can be looked for (crates/lab/src/lookout.rs). */
export type Sight = "handshake" | "handshake-drop" | "fin-overtakes" | "burst-of-drops" | "flood" | "late-datagram";

export interface Seen {
  at_s: number;
  connection: number | null;
}

export type Order =
  | { type: "open"; run: number; setup: Setup; scheme: string; seed: number }
  | { type: "advance"; run: number; until: number; details: boolean; curves: boolean }
  | { type: "back"; run: number; moment: number; ahead: number; edits: Edit[] }
  | { type: "replan"; run: number; edits: Edit[] }
  | { type: "find"; run: number; id: number; sight: Sight; after: number }
  | { type: "history"; run: number; id: number; connection: number };

export type Report =
  | { type: "state"; run: number; events: Float64Array; snapshot: Snapshot }
  | { type: "answer"; run: number; id: number; value: History | Seen | undefined }
  | { type: "error"; run: number; message: string };

export type Question =
  | { id: number; ask: "catalog" | "stop" }
  | { id: number; ask: "describe" | "file"; setup: Setup }
  | { id: number; ask: "scheme"; scheme: string }
  | { id: number; ask: "buffer"; scheme: string; packets: number }
  | { id: number; ask: "record"; setup: Setup; scheme: string; seed: number }
  | { id: number; ask: "life"; setup: Setup; scheme: string; edits: Edit[] }
  | { id: number; ask: "trial"; setup: Setup; schemes: [string, string]; seed: number };

export type Answer = { id: number; value?: unknown; error?: string; standing?: Standing };

/** Contents of captures (crates/lab/src/capture.rs). */
export interface Captured {
  /** Output of `gentle analyze --flows flows.csv`. */
  text: string;
  /** The list of connections that it writes. */
  flows: string;
  connections: number;
  /** Rate of a link that the connections load to 90 %. */
  rate: string | undefined;
  /** Part of their data that goes over the reverse link. */
  up: number;
}

export interface CaptureOrder {
  files: File[];
  /** The addresses behind the link, as the command's --local. */
  local: string;
  /** Width of the text; without it nothing wraps. */
  columns?: number;
}

export type CaptureReport =
  | { type: "progress"; read: number; size: number }
  | { type: "captured"; captured: Captured }
  | { type: "error"; message: string };
