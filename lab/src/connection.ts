// The life of one connection: a time–sequence diagram with its drops and timeouts, and their cost.
import { scaleLinear } from "d3-scale";
import { axes } from "./axes";
import { paragraph, scrollingTable } from "./dom";
import { count, time } from "./format";
import { element, tools } from "./svg";
import type { History, Moment } from "./protocol";

const NAMES: Record<Moment["kind"], string> = { syn: "SYN", "syn/ack": "SYN/ACK", data: "data", ack: "ACK", fin: "FIN" };

/** Events of the connection, in sentences. */
export function words(history: History, number: number, scheme: string): string[] {
  const sentences: string[] = [];
  const size = history.segments ? `${count(history.segments)} ${history.segments === 1 ? "segment" : "segments"}` : "an unlimited transfer";
  const outcome = history.outcome === "completed" && history.response_s !== null ? `It was complete after ${time(history.response_s)}.`
    : history.outcome === "failed" ? "TCP aborted it." : "It had not ended two minutes after the moment shown.";
  sentences.push(`Connection ${number} under ${scheme}: ${size}. ${outcome}`);
  const drops = history.moments.filter((moment) => moment.dropped_s !== null && moment.kind !== "ack");
  const costly = drops.filter((moment) => moment.cost_s !== null);
  for (const drop of costly.toSorted((a, b) => (b.cost_s ?? 0) - (a.cost_s ?? 0)).slice(0, 3)) {
    const timeout = history.timers.some(([at]) => Math.abs(at - drop.at_s - (drop.cost_s ?? 0)) < 0.05);
    const why = timeout ? "when its retransmission timer ran out" : "after duplicate acknowledgments had reported the loss";
    sentences.push(`A ${NAMES[drop.kind]} was dropped (${drop.cause}); it was sent again ${time(drop.cost_s)} later, ${why}.`);
  }
  if (drops.length > 3) sentences.push(`In all, ${count(drops.length)} of its packets were dropped.`);
  if (!drops.length) sentences.push("None of its packets was dropped.");
  const lost = drops.find((drop) => drop.kind === "syn" || drop.kind === "syn/ack");
  if (lost?.cost_s) {
    sentences.push("A host cannot detect the loss of its first packet sooner: it has no round-trip time yet, so it waits for the initial timeout of one second or more.");
  }
  return sentences;
}

/** The diagram. */
function draw(history: History, width: number): SVGSVGElement {
  const height = 320;
  const [left, right, top, bottom] = [64, width - 14, 16, height - 40];
  const svg = element("svg", { viewBox: `0 0 ${width} ${height}`, height, role: "img" });
  const moments = history.moments;
  const start = moments[0]?.at_s ?? 0;
  const end = moments.reduce((last, m) => Math.max(last, m.delivered_s ?? m.at_s), start) - start;
  const sends = [0, 1].map((side) => moments.reduce((sum, m) => sum + (m.side === side ? m.length : 0), 0));
  const data = sends[0] >= sends[1] ? 0 : 1;
  const most = moments.reduce((top, m) => Math.max(top, m.side === data ? m.seq + m.length : 0), 1);
  const sx = scaleLinear().domain([0, end || 1]).range([left, right]);
  const sy = scaleLinear().domain([0, most]).range([bottom, top]);
  svg.append(...axes(
    { scale: sx, ticks: width < 500 ? 4 : 8, tick: (t) => (t === 0 ? "0" : time(t)), label: "time since the first packet" },
    { scale: sy, ticks: 4, tick: (t) => (t >= 1000 ? `${t / 1000} kB` : `${t} B`) },
    height,
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
    const label = element("text", { class: "lost", x: Math.max(left + 50, Math.min(right - 50, middle)), y: top + 14, "text-anchor": "middle" }, `waits ${time(longest.cost_s)}`);
    svg.append(label);
  }
  // Acknowledgments of the data, as a stairway.
  let path = "";
  for (const m of moments) {
    if (m.side === data || m.ack === null || m.delivered_s === null) continue;
    const [x, y] = [sx(m.delivered_s - start), sy(Math.min(m.ack, most))];
    path += path ? `H${x}V${y}` : `M${x} ${y}`;
  }
  svg.append(element("path", { class: "acked", d: path }));
  for (const m of moments) {
    const x = sx(m.at_s - start);
    const own = m.side === data;
    const y = own ? sy(Math.min(m.seq + m.length / 2, most)) : bottom;
    const lost = m.dropped_s !== null;
    if (!own && !lost && m.kind !== "syn" && m.kind !== "syn/ack") continue;
    const title = `${NAMES[m.kind]}${m.again ? " sent again" : ""} at ${time(m.at_s - start)}${lost ? `, dropped (${m.cause})` : ""}`;
    const mark = m.kind === "syn" || m.kind === "syn/ack"
      ? element("path", { class: m.again ? "again" : "handshake", d: `M${x - 5} ${y - 6}L${x + 6} ${y}L${x - 5} ${y + 6}Z` })
      : element("line", { class: m.again ? "segment again" : "segment", x1: x, x2: x, y1: Math.min(y - 3, sy(Math.min(m.seq + m.length, most))), y2: Math.max(y + 3, sy(m.seq)) });
    mark.append(element("title", {}, title));
    svg.append(mark);
    if (lost) svg.append(element("path", { class: "cross", d: `M${x - 6} ${y - 6}L${x + 6} ${y + 6}M${x + 6} ${y - 6}L${x - 6} ${y + 6}` }));
  }
  for (const [at] of history.timers) {
    const x = sx(at - start);
    svg.append(element("path", { class: "timer", d: `M${x} ${bottom}l-5 9h10Z` }));
  }
  return svg;
}

function table(history: History): HTMLElement {
  const details = document.createElement("details");
  const summary = document.createElement("summary");
  summary.textContent = "Every packet as a table";
  details.append(summary);
  details.addEventListener("toggle", () => {
    if (!details.open || details.querySelector("table")) return;
    const start = history.moments[0]?.at_s ?? 0;
    const { region, table } = scrollingTable("Packets of the connection", ["time", "direction", "packet", "bytes", "fate"]);
    for (const m of history.moments.slice(0, 300)) {
      const fate = m.dropped_s !== null ? `dropped (${m.cause})${m.cost_s ? `, sent again ${time(m.cost_s)} later` : ""}`
        : m.delivered_s !== null ? `arrived after ${time(m.delivered_s - m.at_s)}` : "under way";
      const row = table.tBodies[0].insertRow();
      for (const text of [`${(m.at_s - start).toFixed(4)} s`, m.side === 0 ? "down" : "up", `${NAMES[m.kind]}${m.again ? " again" : ""}`, String(m.length), fate]) {
        row.insertCell().textContent = text;
      }
    }
    details.append(region);
    if (history.moments.length > 300) {
      const rest = paragraph(`The first 300 of ${count(history.moments.length)} packets.`);
      rest.className = "hint";
      details.append(rest);
    }
  });
  return details;
}

/** Shows a connection in a dialog. */
export function show(dialog: HTMLDialogElement, history: History, number: number, scheme: string) {
  const content = dialog.querySelector(".content") as HTMLElement;
  const sentences = words(history, number, scheme);
  const title = `Connection ${number}`;
  const heading = document.createElement("h2");
  heading.id = "connection-title";
  heading.textContent = title;
  content.replaceChildren(heading);
  content.append(...sentences.map(paragraph));
  if (!dialog.open) dialog.showModal();
  const svg = draw(history, Math.max(300, content.clientWidth));
  svg.setAttribute("aria-label", `Time–sequence diagram. ${sentences.join(" ")}`);
  const key = paragraph("Horizontal: time. Vertical: bytes of the connection. A stroke is a data packet on arrival at the queue, a triangle a SYN or SYN/ACK; retransmissions have their own colour. A cross is a drop, the shaded time the wait until the same bytes are sent again, a triangle below the axis an expired timer. The thin line shows the acknowledged bytes.");
  key.className = "hint";
  content.append(svg, tools(() => svg, `connection-${number}`, title), key, table(history));
}
