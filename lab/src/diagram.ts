// The time–sequence diagram of a connection, with its drops and timeouts.
import { scaleLinear } from "d3-scale";
import { axes } from "./axes";
import { causeWords, time } from "./format";
import { element } from "./svg";
import type { History, Moment } from "./protocol";

const HEIGHT = 210;
const NAMES: Record<Moment["kind"], string> = { syn: "SYN", "syn/ack": "SYN/ACK", data: "data packet", ack: "ACK", fin: "FIN" };

/** Seconds from the first packet to the last arrival. */
export function lengthOf({ moments }: History): number {
  const start = moments[0]?.at_s ?? 0;
  return moments.reduce((last, m) => Math.max(last, m.delivered_s ?? m.at_s), start) - start;
}

/** The mark of a SYN, a triangle, or a SYN/ACK, a diamond. */
function handshake(m: Moment, x: number, y: number): SVGElement {
  const d = m.kind === "syn" ? `M${x - 5} ${y - 6}L${x + 6} ${y}L${x - 5} ${y + 6}Z` : `M${x} ${y - 7}L${x + 7} ${y}L${x} ${y + 7}L${x - 7} ${y}Z`;
  return element("path", { class: m.again ? "again" : m.kind === "syn" ? "handshake" : "answer", d });
}

/** The diagram over this many seconds. */
export function draw(history: History, width: number, seconds: number): SVGSVGElement {
  const [left, right, top, bottom] = [64, width - 14, 16, HEIGHT - 44];
  const svg = element("svg", { viewBox: `0 0 ${width} ${HEIGHT}`, height: HEIGHT, role: "img" });
  const moments = history.moments;
  const start = moments[0]?.at_s ?? 0;
  const sends = [0, 1].map((side) => moments.reduce((sum, m) => sum + (m.side === side ? m.length : 0), 0));
  const data = sends[0] >= sends[1] ? 0 : 1;
  const most = moments.reduce((top, m) => Math.max(top, m.side === data ? m.seq + m.length : 0), 1);
  const sx = scaleLinear().domain([0, seconds || 1]).range([left, right]);
  const sy = scaleLinear().domain([0, most]).range([bottom, top]);
  svg.append(...axes(
    { scale: sx, ticks: width < 500 ? 4 : 8, tick: (t) => (t === 0 ? "0" : time(t)), label: "time since the first packet" },
    { scale: sy, ticks: 3, tick: (t) => (t >= 1000 ? `${t / 1000} kB` : `${t} B`) },
    HEIGHT,
  ));
  // The wait from each drop to the retransmission of the packet.
  const shaded = moments.filter((m) => (m.cost_s ?? 0) > 0.15 && m.kind !== "ack");
  for (const m of shaded) {
    const [from, to] = [sx(m.at_s - start), sx(m.at_s - start + (m.cost_s ?? 0))];
    svg.append(element("rect", { class: "wait", x: from, y: top, width: to - from, height: bottom - top }));
  }
  const longest = shaded.toSorted((a, b) => (b.cost_s ?? 0) - (a.cost_s ?? 0))[0];
  if (longest) {
    const middle = sx(longest.at_s - start + (longest.cost_s ?? 0) / 2);
    svg.append(element("text", { class: "lost", x: Math.max(left + 50, Math.min(right - 50, middle)), y: top + 14, "text-anchor": "middle" }, `waits ${time(longest.cost_s)}`));
  }
  // Acknowledged bytes, as a stairway.
  let path = "";
  for (const m of moments) {
    if (m.side === data || m.ack === null || m.delivered_s === null) continue;
    const [x, y] = [sx(m.delivered_s - start), sy(Math.min(m.ack, most))];
    path += path ? `H${x}V${y}` : `M${x} ${y}`;
  }
  svg.append(element("path", { class: "acked", d: path }));
  const names: SVGElement[] = [];
  /** Right end of the latest label in each of two rows. */
  const ends = [-Infinity, -Infinity];
  for (const m of moments) {
    const x = sx(m.at_s - start);
    const own = m.side === data;
    const y = own ? sy(Math.min(m.seq + m.length / 2, most)) : bottom;
    const lost = m.dropped_s !== null;
    const opens = m.kind === "syn" || m.kind === "syn/ack";
    if (!own && !lost && !opens) continue;
    const title = `${NAMES[m.kind]}${m.again ? " sent again" : ""} at ${time(m.at_s - start)}${lost ? `, dropped (${causeWords(m.cause)})` : ""}`;
    const mark = opens ? handshake(m, x, y)
      : element("line", { class: m.again ? "segment again" : "segment", x1: x, x2: x, y1: Math.min(y - 3, sy(Math.min(m.seq + m.length, most))), y2: Math.max(y + 3, sy(m.seq)) });
    mark.append(element("title", {}, title));
    svg.append(mark);
    if (lost) svg.append(element("path", { class: "cross", d: `M${x - 6} ${y - 6}L${x + 6} ${y + 6}M${x + 6} ${y - 6}L${x - 6} ${y + 6}` }));
    const row = ends.findIndex((end) => end < x);
    if (opens && row >= 0) {
      const name = `${NAMES[m.kind]}${m.again ? " again" : ""}`;
      ends[row] = x + name.length * 8;
      names.push(element("text", { class: "name", x: Math.min(x, right - name.length * 7.5), y: bottom - 12 - 14 * row }, name));
    }
  }
  for (const [at] of history.timers) {
    const x = sx(at - start);
    svg.append(element("path", { class: "timer", d: `M${x} ${bottom}l-5 9h10Z` }));
  }
  svg.append(...names);
  return svg;
}
