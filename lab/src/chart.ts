// A plot as SVG with the page's colours: lines of both sides over linear or logarithmic axes.
import { scaleLinear, scaleLog } from "d3-scale";
import { curveStepAfter, line } from "d3-shape";
import { axes } from "./axes";
import { element, tools } from "./svg";

export interface Line {
  key: "a" | "b";
  label: string;
  points: [number, number | null][];
}

export interface Options {
  id: string;
  title: string;
  note: string;
  x: { label: string; log?: boolean; min?: number; max?: number; tick: (value: number) => string };
  y: { label: string; log?: boolean; min?: number; max?: number; least?: number; tick: (value: number) => string };
  steps?: boolean;
  dots?: boolean;
  /** An upright line with a name. */
  mark?: { at: number; label: string };
}

const HEIGHT = 230;
const MARGIN = { top: 12, right: 16, bottom: 40, left: 56 };

export class Chart {
  readonly figure = document.createElement("figure");
  private svg = element("svg", { role: "img" });
  private lines: Line[] = [];
  private summary = "";

  constructor(private options: Options) {
    const caption = document.createElement("figcaption");
    caption.textContent = options.title;
    const note = document.createElement("p");
    note.className = "hint";
    note.textContent = options.note;
    this.figure.id = options.id;
    this.figure.append(caption, note, this.svg, tools(() => this.svg, options.id, options.title));
    new ResizeObserver(() => this.render()).observe(this.figure);
  }

  /** Shows these lines; `summary` describes them in words. */
  update(lines: Line[], summary: string) {
    this.lines = lines;
    this.summary = summary;
    this.render();
  }

  setMark(mark: Options["mark"]) {
    this.options.mark = mark;
  }

  private render() {
    const { x, y, steps, dots, mark, title } = this.options;
    const width = Math.max(240, this.svg.parentElement?.clientWidth ? this.svg.clientWidth || this.figure.clientWidth - 36 : 400);
    const [left, right, top, bottom] = [MARGIN.left, width - MARGIN.right, MARGIN.top, HEIGHT - MARGIN.bottom];
    const values = this.lines.flatMap((l) => l.points.filter((p): p is [number, number] => p[1] !== null));
    const visible = values.filter(([a, b]) => (!x.log || a > 0) && (!y.log || b > 0));
    const xs = visible.map((p) => p[0]);
    const ys = visible.map((p) => p[1]);
    const least = (list: number[], fallback: number) => list.reduce((a, b) => Math.min(a, b), fallback);
    const most = (list: number[], fallback: number) => list.reduce((a, b) => Math.max(a, b), fallback);
    const xDomain = [x.min ?? least(xs, Infinity), x.max ?? most(xs, x.log ? 1 : 1)];
    if (!Number.isFinite(xDomain[0])) xDomain[0] = x.log ? 0.01 : 0;
    const yDomain = [y.min ?? least(ys, Infinity), y.max ?? Math.max(y.least ?? 0, most(ys, 0)) * (y.log ? 1 : 1.08)];
    if (!Number.isFinite(yDomain[0])) yDomain[0] = y.log ? 0.001 : 0;
    if (yDomain[1] <= yDomain[0]) yDomain[1] = yDomain[0] * 10 || 1;
    if (xDomain[1] <= xDomain[0]) xDomain[1] = xDomain[0] * 10 || 1;
    const sx = (x.log ? scaleLog() : scaleLinear()).domain(xDomain).range([left, right]).clamp(true);
    const sy = (y.log ? scaleLog() : scaleLinear()).domain(yDomain).range([bottom, top]).clamp(true);
    const parts: SVGElement[] = axes(
      { scale: sx, ticks: width < 420 ? 4 : 6, tick: x.tick, label: x.label },
      { scale: sy, ticks: 4, tick: y.tick },
      HEIGHT,
    );
    if (mark && mark.at > xDomain[0] && mark.at < xDomain[1]) {
      parts.push(element("line", { class: "mark", x1: sx(mark.at), x2: sx(mark.at), y1: top, y2: bottom }));
      const end = sx(mark.at) > width * 0.6;
      parts.push(element("text", { class: "axis", x: sx(mark.at) + (end ? -5 : 5), y: top + 10, "text-anchor": end ? "end" : "start" }, mark.label));
    }
    const path = line<[number, number | null]>()
      .defined((p) => p[1] !== null && (!x.log || p[0] > 0) && (!y.log || p[1] > 0))
      .x((p) => sx(p[0]))
      .y((p) => sy(p[1] as number));
    if (steps) path.curve(curveStepAfter);
    for (const l of this.lines) {
      parts.push(element("path", { class: `line ${l.key}`, d: path(l.points) ?? "" }));
      if (dots) for (const p of l.points) if (p[1] !== null) parts.push(element("circle", { class: `dot ${l.key}`, cx: sx(p[0]), cy: sy(p[1]), r: 3 }));
    }
    this.svg.setAttribute("viewBox", `0 0 ${width} ${HEIGHT}`);
    this.svg.setAttribute("height", String(HEIGHT));
    this.svg.setAttribute("aria-label", `${title}. ${this.summary}`);
    this.svg.replaceChildren(...parts);
  }
}
