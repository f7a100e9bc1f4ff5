// One side of the page: its session, and the packets of the moment shown.
import { equip } from "./module";
import type { Edit, History, Order, Report, Seen, Setup, Sight, Snapshot } from "./protocol";

/** Numbers in a row of events, and kinds of events (crates/lab/src/event.rs). */
const ROW = 8;
const OFFERED = 0;
const DEQUEUED = 1;
const SENT = 2;
const DROPPED = 3;
const DELIVERED = 4;
const ENDED = 6;
const MARKED = 7;

export const SHAPES = ["SYN", "SYN/ACK", "early data packet", "data packet", "ACK", "FIN", "datagram", "flood SYN"] as const;
export const SYN = 0;
export const SYN_ACK = 1;
export const YOUNG = 2;
export const OLD = 3;
export const ACK = 4;
export const END = 5;
export const DATAGRAM = 6;
export const FLOOD = 7;

/** Seconds of real time for which a dropped packet is seen to fall. */
export const FALL = 1.1;

/** Most packets that are remembered. */
const MOST = 6_000;

export interface Packet {
  id: number;
  shape: number;
  again: boolean;
  side: 0 | 1;
  connection: number;
  bytes: number;
  offered: number;
  dequeued: number;
  sent: number;
  delivered: number;
  dropped: number;
  cause: number;
  marked: boolean;
  /** Where it was drawn last; not a number: nowhere. */
  x: number;
  y: number;
  /** Place in the queue, counted from the gate; −1: none yet. */
  slot: number;
}

export interface Drop {
  at: number;
  side: 0 | 1;
  connection: number;
  shape: number;
  again: boolean;
  cause: number;
}

/** A connection whose SYN or SYN/ACK was dropped and was not sent again so far. */
export interface Wait {
  since: number;
}

export class Side {
  snapshot: Snapshot | undefined;
  /** The latest curves. */
  curves: Snapshot["curves"];
  packets = new Map<number, Packet>();
  drops: Drop[] = [];
  waits = new Map<number, Wait>();
  /** Time up to which events are there, and up to which they were requested. */
  reached = 0;
  target = 0;
  busy = false;
  /** Times of the events that lie ahead of the moment shown. */
  private ahead: number[] = [];
  private worker = new Worker(new URL("./session.worker.ts", import.meta.url), { type: "module" });
  private run = 0;
  private details = true;
  private questions = new Map<number, (answer: unknown) => void>();
  private asked = 0;
  onState: () => void = () => {};
  onError: (message: string) => void = () => {};

  constructor() {
    equip(this.worker);
    this.worker.addEventListener("message", ({ data }: MessageEvent<Report>) => this.hear(data));
    this.worker.addEventListener("error", (event) => this.onError(event.message));
  }

  private send(order: Order) {
    this.worker.postMessage(order);
  }

  private forget() {
    this.packets.clear();
    this.drops = [];
    this.waits.clear();
    this.ahead = [];
    this.reached = this.target = 0;
  }

  open(setup: Setup, scheme: string, seed: number) {
    this.run += 1;
    this.forget();
    this.curves = undefined;
    this.busy = true;
    this.send({ type: "open", run: this.run, setup, scheme, seed });
  }

  advance(until: number, details: boolean, curves: boolean) {
    if (details !== this.details) {
      // The simulator reports nothing more about the packets known so far.
      this.packets.clear();
      this.waits.clear();
      this.details = details;
    }
    this.busy = true;
    this.target = Math.max(this.target, until);
    this.send({ type: "advance", run: this.run, until, details, curves });
  }

  /** Goes back to a moment, with these changes; packets are known so many seconds ahead. */
  back(moment: number, ahead: number, edits: Edit[]) {
    // Earlier requests are obsolete.
    this.run += 1;
    this.forget();
    this.busy = true;
    this.details = true;
    this.target = moment + ahead;
    this.send({ type: "back", run: this.run, moment, ahead, edits });
  }

  /** Replaces the changes, which differ only in what lies ahead. */
  replan(edits: Edit[]) {
    this.send({ type: "replan", run: this.run, edits });
  }

  private ask<T>(order: (id: number) => Order): Promise<T> {
    const id = (this.asked += 1);
    return new Promise((resolve) => {
      this.questions.set(id, resolve as (answer: unknown) => void);
      this.send(order(id));
    });
  }

  history(connection: number) {
    return this.ask<History>((id) => ({ type: "history", run: this.run, id, connection }));
  }

  /** The first time from `after` on at which something is seen; nothing if that never happens. */
  find(sight: Sight, after: number) {
    return this.ask<Seen | undefined>((id) => ({ type: "find", run: this.run, id, sight, after }));
  }

  private hear(report: Report) {
    if (report.type === "answer") {
      this.questions.get(report.id)?.(report.value);
      this.questions.delete(report.id);
      return;
    }
    if (report.run !== this.run) return;
    switch (report.type) {
      case "error":
        this.busy = false;
        this.onError(report.message);
        break;
      case "state":
        this.busy = false;
        this.read(report.events);
        this.snapshot = report.snapshot;
        this.curves = report.snapshot.curves ?? this.curves;
        this.reached = report.snapshot.now_s;
        this.onState();
        break;
    }
  }

  private read(rows: Float64Array) {
    for (let i = 0; i < rows.length; i += ROW) {
      const [kind, at, side, id, connection, shape, bytes, detail] = rows.subarray(i, i + ROW);
      this.ahead.push(at);
      if (kind === OFFERED) {
        const again = shape >= 16;
        const plain = shape & 15;
        this.packets.set(id, {
          id, shape: plain, again, side: side as 0 | 1, connection, bytes, offered: at, dequeued: Infinity, sent: Infinity,
          delivered: Infinity, dropped: Infinity, cause: -1, marked: false, x: NaN, y: NaN, slot: -1,
        });
        if (plain === SYN || plain === SYN_ACK) this.waits.delete(connection);
        continue;
      }
      if (kind === ENDED) {
        this.waits.delete(connection);
        continue;
      }
      const packet = this.packets.get(id);
      if (!packet) continue;
      if (kind === DEQUEUED) packet.dequeued = at;
      else if (kind === SENT) packet.sent = at;
      else if (kind === DELIVERED) packet.delivered = at;
      else if (kind === MARKED) packet.marked = true;
      else if (kind === DROPPED) {
        packet.dropped = at;
        packet.cause = detail;
        this.drops.push({ at, side: packet.side, connection, shape: packet.shape, again: packet.again, cause: detail });
        if (this.drops.length > 200) this.drops.splice(0, 100);
        if (packet.shape <= SYN_ACK) {
          this.waits.set(connection, { since: packet.offered });
          if (this.waits.size > 500) this.waits.delete(this.waits.keys().next().value as number);
        }
      }
    }
  }

  /** The next event after `now`, or nothing if none is known. */
  nextEvent(now: number): number | undefined {
    this.ahead = this.ahead.filter((at) => at > now);
    return this.ahead.length ? this.ahead.reduce((a, b) => Math.min(a, b)) : undefined;
  }

  /** Removes everything that is over at `now`. */
  tidy(now: number, speed: number) {
    for (const [id, packet] of this.packets) {
      const fallen = now - packet.dropped > FALL * speed;
      if (packet.delivered <= now || fallen || this.packets.size > MOST) this.packets.delete(id);
    }
    if (this.ahead.length > 20_000) this.ahead = this.ahead.filter((at) => at > now);
  }
}
