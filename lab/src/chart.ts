// A plot as SVG that takes its colours from the page: lines of both sides over linear or logarithmic axes.
import { scaleLinear, scaleLog } from "d3-scale";
import { curveStepAfter, line } from "d3-shape";
import { save } from "./dom";

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

const NS = "http://www.w3.org/2000/svg";
const HEIGHT = 230;
const MARGIN = { top: 12, right: 16, bottom: 40, left: 56 };

/** An element of an SVG. */
export function element(name: string, attributes: Record<string, string | number>, text?: string): SVGElement {
  const made = document.createElementNS(NS, name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, String(value));
  if (text !== undefined) made.textContent = text;
  return made;
}

/** The text of an SVG that needs no style sheet. */
export function standalone(svg: SVGSVGElement, title: string): string {
  const copy = svg.cloneNode(true) as SVGSVGElement;
  const from = [svg, ...svg.querySelectorAll("*")];
  const to = [copy, ...copy.querySelectorAll("*")];
  from.forEach((source, index) => {
    const style = getComputedStyle(source);
    for (const property of ["fill", "stroke", "stroke-width", "stroke-dasharray", "font-size", "font-family", "font-weight", "text-anchor", "opacity"]) {
      to[index].setAttribute(property, style.getPropertyValue(property));
    }
    to[index].removeAttribute("class");
    to[index].removeAttribute("style");
  });
  const [width, height] = [svg.clientWidth, svg.clientHeight];
  copy.setAttribute("xmlns", NS);
  copy.setAttribute("width", String(width));
  copy.setAttribute("height", String(height + 30));
  copy.setAttribute("viewBox", `0 -30 ${width} ${height + 30}`);
  const style = getComputedStyle(svg.closest("figure, dialog") ?? document.body);
  copy.prepend(
    element("rect", { x: 0, y: -30, width, height: height + 30, fill: style.backgroundColor }),
    element("text", { x: 12, y: -10, fill: style.color, "font-size": 14, "font-weight": 600, "font-family": "sans-serif" }, title),
  );
  return new XMLSerializer().serializeToString(copy);
}

async function png(svg: string): Promise<Blob> {
  const image = new Image();
  image.src = URL.createObjectURL(new Blob([svg], { type: "image/svg+xml" }));
  try {
    await image.decode();
    const canvas = document.createElement("canvas");
    canvas.width = image.width * 2;
    canvas.height = image.height * 2;
    canvas.getContext("2d")?.drawImage(image, 0, 0, canvas.width, canvas.height);
    return await new Promise((resolve, reject) =>
      canvas.toBlob((blob) => (blob ? resolve(blob) : reject(new Error("The picture could not be made."))), "image/png"),
    );
  } finally {
    URL.revokeObjectURL(image.src);
  }
}

/** Buttons that save an image. */
export function tools(svg: () => SVGSVGElement, id: string, title: string): HTMLElement {
  const row = document.createElement("p");
  row.className = "tools";
  const button = (kind: string, make: () => Promise<Blob> | Blob) => {
    const made = document.createElement("button");
    made.type = "button";
    made.textContent = kind.toUpperCase();
    made.setAttribute("aria-label", `Save “${title}” as ${kind.toUpperCase()}`);
    made.addEventListener("click", async () => save(`gentle-${id}.${kind}`, await make()));
    row.append(made);
  };
  button("svg", () => new Blob([standalone(svg(), title)], { type: "image/svg+xml" }));
  button("png", () => png(standalone(svg(), title)));
  return row;
}

/** Ticks of a logarithmic axis: fewer in a decade, the longer it is. */
function decades([from, to]: number[]): number[] {
  const digits = Math.log10(to / from) < 1.7 ? [1, 2, 5] : [1];
  const found: number[] = [];
  for (let power = Math.floor(Math.log10(from)); power <= Math.ceil(Math.log10(to)); power += 1) {
    for (const digit of digits) found.push(digit * 10 ** power);
  }
  return found.filter((tick) => tick >= from * 0.999 && tick <= to * 1.001);
}

export class Chart {
  readonly figure = document.createElement("figure");
  private svg = element("svg", { role: "img" }) as SVGSVGElement;
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

  /** Shows these lines; `summary` says in words what they show. */
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
    const ticks = (scale: typeof sx, log: boolean | undefined, number: number) =>
      log ? decades(scale.domain()) : scale.ticks(number);
    const parts: SVGElement[] = [];
    for (const t of ticks(sy, y.log, 4)) {
      parts.push(element("line", { class: "grid", x1: left, x2: right, y1: sy(t), y2: sy(t) }));
      parts.push(element("text", { class: "tick", x: left - 8, y: sy(t) + 4, "text-anchor": "end" }, y.tick(t)));
    }
    for (const t of ticks(sx, x.log, width < 420 ? 4 : 6)) {
      parts.push(element("line", { class: "grid", x1: sx(t), x2: sx(t), y1: bottom, y2: bottom + 4 }));
      parts.push(element("text", { class: "tick", x: sx(t), y: bottom + 17, "text-anchor": "middle" }, x.tick(t)));
    }
    parts.push(element("text", { class: "axis", x: right, y: HEIGHT - 6, "text-anchor": "end" }, x.label));
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
