// The bar of time: play, pause, step, go back. The sessions run a little ahead of the moment shown.
import { $ } from "./dom";
import { moment } from "./format";
import type { Edit } from "./protocol";
import type { Side } from "./side";

/** Real seconds that the sessions are ahead of the moment shown. */
const AHEAD = 0.25;
/** Real milliseconds between two requests for curves. */
const CURVES_EVERY = 400;

const over = (side: Side) => Boolean(side.snapshot?.ended);

export class Player {
  /** The moment shown, seconds of simulated time. */
  now = 0;
  /** Seconds of simulated time for each of real time. */
  speed = 0.2;
  playing = false;
  private lastTick = 0;
  private curvesAsked = 0;
  /** Whether a hand holds the slider of the moment. */
  private dragging = false;
  /** A moment at which playing stops, and the function called then. */
  private stop: { at: number; then: () => void } | undefined;
  /** Called when playing has stopped, or after a step. */
  onStop: () => void = () => {};
  /** Called when the user has chosen another moment. */
  onSeek: () => void = () => {};
  /** Called when the speed has changed. */
  onSpeed: () => void = () => {};

  /** `details`: whether single packets are shown, at the present speed; `edits`: the changes of a side. */
  constructor(private sides: Side[], private details: () => boolean, private edits: (side: number) => Edit[]) {
    $("#play").addEventListener("click", () => this.play(!this.playing));
    $("#step").addEventListener("click", () => void this.step());
    $("#start").addEventListener("click", () => this.seek(0));
    $("#back").addEventListener("click", () => this.back());
    const slider = $<HTMLInputElement>("#moment");
    slider.addEventListener("input", () => {
      this.dragging = true;
      $("#now").textContent = moment(Number(slider.value));
    });
    slider.addEventListener("change", () => {
      this.dragging = false;
      this.seek(Number(slider.value));
    });
    const speed = $<HTMLInputElement>("#speed");
    speed.addEventListener("input", () => this.setSpeed(10 ** Number(speed.value)));
    document.addEventListener("keydown", (event) => this.key(event));
  }

  private key(event: KeyboardEvent) {
    const target = event.target as HTMLElement;
    if (event.ctrlKey || event.metaKey || event.altKey || target.closest("input, select, textarea, dialog, [role=region]")) return;
    // Space belongs to the element with the focus.
    if (event.key === " " && target.closest("button, summary, a")) return;
    const act = { " ": () => this.play(!this.playing), ArrowRight: () => void this.step(), ArrowLeft: () => this.back(), Home: () => this.seek(0) }[event.key];
    if (!act) return;
    event.preventDefault();
    act();
  }

  play(on: boolean) {
    this.playing = on;
    $("#play-text").textContent = on ? "Pause" : "Play";
    ($("#play").firstElementChild as HTMLElement).textContent = on ? "❚❚" : "▶";
    if (!on) this.onStop();
  }

  setSpeed(speed: number) {
    this.speed = speed;
    const text = speed >= 10 ? `${Math.round(speed)}` : `${Number(speed.toPrecision(2))}`;
    $("#speed-text").textContent = `${text} × real time`;
    $("#speed").setAttribute("aria-valuetext", `${text} times real time`);
    $<HTMLInputElement>("#speed").value = String(Math.log10(speed));
    this.onSpeed();
  }

  /** Shows a moment: the runs are made again up to it. */
  goTo(target: number) {
    this.now = Math.max(0, target);
    this.sides.forEach((_, index) => this.again(index));
    this.show();
  }

  /** Repeats the run of a side up to the moment shown, with its present changes. */
  again(side: number) {
    this.sides[side].back(this.now, AHEAD * this.speed, this.edits(side));
  }

  /** Goes to a moment that the user chose. */
  private seek(target: number) {
    this.stop = undefined;
    this.goTo(target);
    this.onSeek();
  }

  /** Plays up to a moment, or goes there at once, and stops. */
  playUntil(at: number, smoothly: boolean): Promise<void> {
    return new Promise((resolve) => {
      if (!smoothly) {
        this.goTo(at);
        this.play(false);
        return resolve();
      }
      this.stop = { at, then: resolve };
      this.play(true);
    });
  }

  /** Forgets where to stop. */
  release() {
    this.stop = undefined;
  }

  private back() {
    this.seek(this.now - Math.max(0.1, 5 * this.speed));
  }

  show() {
    const slider = $<HTMLInputElement>("#moment");
    const end = this.sides[0].snapshot?.end_s ?? 1000;
    slider.max = String(end);
    if (this.dragging) return;
    slider.value = String(this.now);
    slider.setAttribute("aria-valuetext", moment(this.now));
    $("#now").textContent = `${moment(this.now)} of ${moment(end).replace(/\.000$/, "")}`;
  }

  /** Moves time on, if it plays, to the real time `real` in milliseconds; the real seconds since the last call. */
  tick(real: number): number {
    const passed = Math.min(0.1, (real - this.lastTick) / 1000);
    this.lastTick = real;
    if (this.playing) {
      const known = Math.min(this.reached(), Math.max(...this.sides.map((side) => side.reached)));
      this.now = Math.min(this.now + passed * this.speed, Math.max(this.now, known));
      if (this.stop && this.now >= this.stop.at) {
        const { at, then } = this.stop;
        this.stop = undefined;
        this.now = at;
        this.play(false);
        then();
      } else if (this.sides.every(over) && this.now >= known) this.play(false);
    }
    this.runAhead(real);
    return passed;
  }

  private reached(): number {
    return Math.min(...this.sides.map((side) => (over(side) ? Infinity : side.reached)));
  }

  private runAhead(real: number) {
    if (this.sides.some((side) => side.busy) || this.sides.every(over)) return;
    if (!this.playing && this.reached() >= this.now) return;
    if (this.reached() > this.now + AHEAD * this.speed * 0.6) return;
    const until = this.now + Math.max(AHEAD * this.speed, 0.02);
    const curves = real - this.curvesAsked > CURVES_EVERY;
    if (curves) this.curvesAsked = real;
    for (const side of this.sides) side.advance(until, this.details(), curves);
  }

  /** To the next event of either side. */
  private async step() {
    this.play(false);
    this.stop = undefined;
    for (let tries = 0; tries < 200; tries += 1) {
      const next = this.sides.map((side) => side.nextEvent(this.now)).filter((at) => at !== undefined);
      if (next.length) {
        this.now = Math.min(...next);
        this.show();
        return this.onStop();
      }
      if (this.sides.every(over)) return;
      if (!this.sides.some((side) => side.busy)) {
        const until = Math.max(this.now, Math.min(this.reached(), 1e9)) + 0.02;
        for (const side of this.sides) side.advance(until, true, false);
      }
      await new Promise((resolve) => setTimeout(resolve, 5));
    }
  }
}
