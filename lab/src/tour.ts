// The guided minute: the reader drops a SYN, sees what that costs, and changes the queue that drops SYNs by itself.
import { $ } from "./dom";
import { time } from "./format";
import { placed } from "./placed";
import type { Player } from "./player";
import type { History } from "./protocol";
import type { Side } from "./side";

/** Simulated seconds per second of real time: to see packets, and to wait. */
const SLOW = 0.2;
const WAITING = 0.4;
/** Seconds of real time before an event at which the picture starts. */
const RUN_UP = 2;
/** Seconds of real time after a drop at which the dropped packet is seen best. */
const SEEN = 0.6;
/** Seconds of the run before it is typical. */
const SETTLED = 20;
/** A queue that drops no SYNs, for the left side. */
export const CURE = "gentle";

/** The page, as far as the tour acts on it. */
export interface Page {
  player: Player;
  sides: [Side, Side];
  /** Starts the first scene with this queue on the left, at a moment. */
  open: (scheme: string, moment: number) => Promise<void>;
  /** Drops the next SYN on the left after the moment shown. */
  drop: () => void;
  /** Marks a connection in both pictures. */
  follow: (connection: number | undefined) => void;
  /** Whether pictures move. */
  smooth: () => boolean;
  explain: () => void;
  /** The tour is over, with or without its end. */
  ended: () => void;
}

/** Thrown where the reader has left the tour. */
class Left extends Error {}

interface Event {
  at: number;
  connection: number;
}

export class Tour {
  active = false;
  private press: (() => void) | undefined;
  private leave: (() => void) | undefined;

  constructor(private page: Page, private plain: string) {
    $("#tour-next").addEventListener("click", () => this.press?.());
    $("#tour-skip").addEventListener("click", () => this.stop());
    $("#tour-explain").addEventListener("click", () => page.explain());
  }

  /** Ends the tour. */
  stop() {
    if (!this.active) return;
    this.active = false;
    document.body.classList.remove("touring");
    $("#tour").hidden = true;
    this.page.follow(undefined);
    this.page.player.release();
    this.leave?.();
    this.page.ended();
  }

  async start() {
    this.stop();
    this.active = true;
    document.body.classList.add("touring");
    $("#tour").hidden = false;
    try {
      await this.steps();
    } catch (error) {
      if (!(error instanceof Left)) throw error;
    }
  }

  /** Shows a step; `button` is what the reader does next, nothing if the picture plays. */
  private say(number: number, text: string, button?: string) {
    $("#tour-step").textContent = `${number} of 5`;
    $("#tour-text").textContent = placed(text);
    const next = $<HTMLButtonElement>("#tour-next");
    const focused = document.activeElement === next || document.activeElement === document.body;
    next.disabled = !button;
    next.textContent = button ?? "Watch …";
    if (button && focused) next.focus({ preventScroll: true });
  }

  /** Waits for the promise, or for the end of the tour. */
  private async until<T>(promise: Promise<T>): Promise<T> {
    const value = await Promise.race([promise, new Promise<never>((_, reject) => (this.leave = () => reject(new Left())))]);
    if (!this.active) throw new Left();
    return value;
  }

  private pressed(): Promise<void> {
    return this.until(new Promise((resolve) => (this.press = resolve)));
  }

  private play(until: number, speed: number): Promise<void> {
    this.page.player.setSpeed(speed);
    return this.until(this.page.player.playUntil(until, this.page.smooth()));
  }

  private lives(connection: number): Promise<[History, History]> {
    return this.until(Promise.all(this.page.sides.map((side) => side.history(connection))) as Promise<[History, History]>);
  }

  /** The next SYN that the left queue drops, of a connection that the right queue serves. */
  private async ownDrop(after: number): Promise<Event | undefined> {
    for (let from = after, tries = 0; tries < 30; tries += 1) {
      const seen = await this.until(this.page.sides[0].find("handshake-drop", from));
      if (!seen) return undefined;
      const [left, right] = await this.lives(seen.connection ?? 0);
      const first = Math.abs((left.moments[0]?.at_s ?? 0) - seen.at_s) < 1e-6;
      if (first && left.moments[0].cost_s && left.response_s && right.response_s && right.response_s < left.response_s - 0.9) return { at: seen.at_s, connection: seen.connection ?? 0 };
      from = seen.at_s + 1e-4;
    }
    return undefined;
  }

  /** The next SYN of a short connection that both queues serve at once. */
  private async wellServed(after: number): Promise<Event | undefined> {
    for (let from = after, tries = 0; tries < 60; tries += 1) {
      const seen = await this.until(this.page.sides[0].find("handshake", from));
      if (!seen) return undefined;
      const lives = await this.lives(seen.connection ?? 0);
      if (lives.every(({ response_s, segments }) => response_s && response_s < 0.6 && segments && segments <= 3)) return { at: seen.at_s, connection: seen.connection ?? 0 };
      from = seen.at_s + 1e-4;
    }
    return undefined;
  }

  private async steps() {
    const { page } = this;
    await this.until(page.open(this.plain, SETTLED));
    const syn = await this.wellServed(SETTLED);
    const own = await this.ownDrop(SETTLED);
    if (!syn || !own) return this.stop();
    const before = syn.at - RUN_UP * SLOW;
    page.player.goTo(before);

    this.say(1, "Two queues, the same pages. Every page starts with one small packet, a SYN: the red triangle. Without it nothing else can be sent.", "Play");
    await this.pressed();
    page.follow(syn.connection);
    this.say(1, "Packets come from the left, wait in the queue, and cross the link. A SYN is on its way.");
    await this.play(syn.at - 0.02 * SLOW, SLOW);

    this.say(2, "Here it is. Be the left queue: drop it, and see what that costs.", "Drop this SYN");
    await this.pressed();
    page.drop();
    const [dropped, served] = await this.lives(syn.connection);
    const again = dropped.moments.find((moment) => moment.kind === "syn" && moment.again)?.at_s ?? syn.at + 1;
    this.say(3, "Dropped. Its sender hears nothing, and can only wait: one whole second. On the right the same SYN got through.");
    await this.play(syn.at + 1.2 * SLOW, SLOW);
    await this.play(again + 0.5 * SLOW, WAITING);

    this.say(3, `Now it is sent again. This page takes ${time(dropped.response_s)}, the same page on the right ${time(served.response_s)}. A plain queue does what you did whenever it is full.`, "Show me");
    await this.pressed();
    await this.until(page.open(this.plain, own.at - RUN_UP * SLOW));
    page.follow(own.connection);
    this.say(4, "Nobody presses a button here. The left queue fills up …");
    await this.play(own.at + SEEN * SLOW, SLOW);
    const [lost, saved] = await this.lives(own.connection);
    this.say(4, `… and drops the SYN that arrives. This page takes ${time(lost.response_s)}, on the right ${time(saved.response_s)}. Give the left side a queue that lets SYNs pass.`, "Change the queue");
    await this.pressed();

    await this.until(page.open(CURE, own.at - RUN_UP * SLOW));
    page.follow(own.connection);
    this.say(5, "The same second again, with another queue on the left.");
    await this.play(own.at + 1.2 * SLOW, SLOW);
    const [cured] = await this.lives(own.connection);
    this.say(5, `Cured: the same page opens after ${time(cured.response_s)} instead of ${time(lost.response_s)}. Now it is your turn: change anything, or choose a story.`, "Play freely");
    await this.pressed();
    this.stop();
    page.player.play(page.smooth());
  }
}
