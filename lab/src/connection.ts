// One connection under both schemes: time–sequence diagrams over the same time, and the cost of drops.
import { draw, lengthOf } from "./diagram";
import { paragraph, scrollingTable } from "./dom";
import { causeWords, count, plural, time } from "./format";
import { tools } from "./svg";
import type { History, Moment } from "./protocol";

const NAMES: Record<Moment["kind"], string> = { syn: "SYN", "syn/ack": "SYN/ACK", data: "data packet", ack: "ACK", fin: "FIN" };

/** A connection under one scheme. */
export interface Life {
  history: History;
  scheme: string;
  key: "a" | "b";
}

const ending = ({ outcome, response_s }: History) =>
  outcome === "completed" && response_s !== null ? time(response_s) : outcome === "failed" ? "aborted" : "not complete after two minutes";

/** Both results in a sentence. */
export function headline(lives: Life[]): string {
  const size = lives.map(({ history }) => history.segments).find(Boolean);
  const what = size ? plural(size, "packet of data", "packets of data") : "an unlimited transfer";
  return `The same connection, ${what}: ${lives.map(({ history, scheme }) => `${ending(history)} with ${scheme}`).join(", ")}.`;
}

/** Drops of one side, in sentences. */
export function words(history: History): string[] {
  const sentences: string[] = [];
  const drops = history.moments.filter((moment) => moment.dropped_s !== null && moment.kind !== "ack");
  const costly = drops.filter((moment) => moment.cost_s !== null);
  for (const drop of costly.toSorted((a, b) => (b.cost_s ?? 0) - (a.cost_s ?? 0)).slice(0, 3)) {
    const timeout = history.timers.some(([at]) => Math.abs(at - drop.at_s - (drop.cost_s ?? 0)) < 0.05);
    const why = timeout ? "when its retransmission timer ran out" : "after duplicate ACKs had reported the loss";
    sentences.push(`A ${NAMES[drop.kind]} was dropped (${causeWords(drop.cause)}); it was sent again ${time(drop.cost_s)} later, ${why}.`);
  }
  if (drops.length > 3) sentences.push(`In all, ${count(drops.length)} of its packets were dropped.`);
  if (!drops.length) sentences.push("None of its packets was dropped.");
  const lost = drops.find((drop) => drop.kind === "syn" || drop.kind === "syn/ack");
  if (lost?.cost_s) sentences.push("A host cannot notice this loss sooner: it has no round-trip time yet, so it waits for the initial timeout of one second or more.");
  return sentences;
}

/** Every packet, built when it is opened. */
function table(history: History, scheme: string): HTMLElement {
  const details = document.createElement("details");
  const summary = document.createElement("summary");
  summary.textContent = `Every packet with ${scheme}, as a table`;
  details.append(summary);
  details.addEventListener("toggle", () => {
    if (!details.open || details.querySelector("table")) return;
    const start = history.moments[0]?.at_s ?? 0;
    const { region, table } = scrollingTable(`Packets of the connection with ${scheme}`, ["time", "direction", "packet", "bytes", "fate"]);
    for (const m of history.moments.slice(0, 300)) {
      const fate = m.dropped_s !== null ? `dropped (${causeWords(m.cause)})${m.cost_s ? `, sent again ${time(m.cost_s)} later` : ""}`
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

const KEY = "Horizontal: time. Vertical: bytes of the connection. A triangle is a SYN, a diamond a SYN/ACK, a stroke a data packet, all when they reach the queue; retransmissions are violet. A cross is a drop, the shaded time the wait until the packet is sent again, a triangle below the axis an expired timer. The thin line shows the acknowledged bytes.";

/** Opens the dialog of a connection at once, and fills it when both runs have been repeated up to the connection's end. */
export async function show(dialog: HTMLDialogElement, number: number, found: Promise<Life[]>) {
  const content = dialog.querySelector(".content") as HTMLElement;
  const heading = document.createElement("h2");
  heading.id = "connection-title";
  heading.textContent = `Connection ${count(number)}`;
  content.replaceChildren(heading, paragraph("Both runs are repeated to follow this connection …"));
  if (!dialog.open) dialog.showModal();
  const lives = await found;
  // The reader may have opened another one meanwhile.
  if (!heading.isConnected) return;
  const result = paragraph(headline(lives));
  result.className = "result";
  content.replaceChildren(heading, result);
  const width = Math.max(280, content.clientWidth);
  const end = Math.max(...lives.map(({ history }) => lengthOf(history)));
  for (const { history, scheme, key } of lives) {
    const part = document.createElement("section");
    part.className = key;
    const title = document.createElement("h3");
    title.textContent = `${scheme}: ${ending(history)}`;
    const sentences = words(history);
    const svg = draw(history, width, end);
    svg.setAttribute("aria-label", `Time–sequence diagram with ${scheme}. ${sentences.join(" ")}`);
    part.append(title, paragraph(sentences.join(" ")), svg, tools(() => svg, `connection-${number}-${key}`, `Connection ${number} with ${scheme}`), table(history, scheme));
    content.append(part);
  }
  const key = paragraph(KEY);
  key.className = "hint";
  content.append(key);
  dialog.scrollTop = 0;
}
