// Quantities of the scene that change while it runs: rates, load and buffer; and the round-trip time, which restarts it.
import { setupOf } from "./address";
import { Slider } from "./controls";
import { $ } from "./dom";
import { rateText } from "./format";
import type { Change, Description } from "./protocol";
import * as questions from "./questions";
import type { Scene } from "./scene";

export interface Page {
  /** The scene with the values that hold now. */
  scene: () => Scene;
  description: () => Description | undefined;
  change: (changes: Change[]) => Promise<void>;
  restart: (change: Partial<Scene>) => Promise<void>;
  complain: (message: string | undefined) => void;
}

const logarithmic = { at: (position: number) => 10 ** position, place: (quantity: number) => Math.log10(quantity) };
const rounded = (value: number, digits: number) => Number(value.toPrecision(digits));

export class Quantities {
  private rate = new Slider({ id: "rate", ...logarithmic, text: (bits) => rateText(rounded(bits, 2)) }, (text) => void this.live("rate", text));
  private up_rate = new Slider({ id: "up", ...logarithmic, text: (bits) => rateText(rounded(bits, 2)) }, (text) => void this.live("up_rate", text));
  private buffer = new Slider({ id: "buffer", ...logarithmic, text: (packets) => String(Math.round(packets)) }, (text) => void this.setBuffer(text));
  private load = new Slider({ id: "load", at: (position) => position, place: (percent) => percent, text: (percent) => `${Math.round(percent)}%` }, (text) => void this.live("load", text));
  private rtt = new Slider({ id: "rtt", ...logarithmic, text: (ms) => `${rounded(ms, 2)}ms` }, (text) => void this.page.restart({ rtt: text }));

  constructor(private page: Page) {}

  /** Shows the values that hold now. */
  show(description: Description) {
    const scene = this.page.scene();
    this.rate.show(description.rate_bps, scene.rate ?? rateText(description.rate_bps));
    this.up_rate.show(description.up_rate_bps, scene.up_rate ?? rateText(description.up_rate_bps));
    this.load.show(description.load * 100, scene.load ?? `${Math.round(description.load * 100)}%`);
    const rtt = (description.delay_s[0] + description.delay_s[1]) * 1000;
    this.rtt.show(rtt, scene.rtt ?? `${rounded(rtt, 4)}ms`);
    const limit = [scene.a, scene.b].map((text) => Number(/limit=(\d+)(?:p|\b)(?!b)/.exec(text)?.[1])).find((n) => n > 0 && n <= 10_000);
    this.buffer.show(limit ?? 1000, limit ? String(limit) : "default");
    const { workloads } = description;
    $("#traffic-text").textContent = `${workloads.length === 1 ? workloads[0] : `${workloads.length} kinds of traffic`}. Restarts the run.`;
  }

  /** Changes a quantity while it runs; changes that the simulator rejects are not made. */
  private async live(key: "rate" | "up_rate" | "load", text: string) {
    try {
      const before = this.page.description();
      const after = await questions.describe(setupOf({ ...this.page.scene(), [key]: text }));
      this[key].invalid(false);
      this.page.complain(undefined);
      const changes: Change[] = [];
      if (after.rate_bps !== before?.rate_bps) changes.push({ rate: after.rate_bps });
      if (after.up_rate_bps !== before?.up_rate_bps) changes.push({ up_rate: after.up_rate_bps });
      if (key === "load") changes.push({ load: after.load });
      if (changes.length) await this.page.change(changes);
    } catch (error) {
      this[key].invalid(true);
      this.page.complain((error as Error).message);
    }
  }

  private async setBuffer(text: string) {
    const packets = Number(text);
    if (!Number.isInteger(packets) || packets < 1 || packets > 100_000) {
      this.buffer.invalid(true);
      return this.page.complain("buffer: expected 1 to 100000 packets");
    }
    this.buffer.invalid(false);
    const { a, b } = this.page.scene();
    const changed = await Promise.all([a, b].map((scheme) => questions.withBuffer(scheme, packets)));
    if (!changed.some(Boolean)) return this.page.complain("Neither scheme has a limit in packets or bytes.");
    this.page.complain(undefined);
    await this.page.change([{ buffer: packets }]);
  }
}
