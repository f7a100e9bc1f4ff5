// Explanation of a SYN in half a minute: two connections as arrows between two hosts, drawn as they happen.
import { $ } from "./dom";
import { time } from "./format";
import type { History, Moment, Setup } from "./protocol";
import * as questions from "./questions";
import { element } from "./svg";

/** One connection of three packets, on a link with a round-trip time of 200 ms. */
const SETUP: Setup = {
  traffic: "",
  profile: "linux-7.2",
  toml: `duration = "60s"
[link.down]
rate = "10mbit"
delay = "100ms"
[link.up]
rate = "10mbit"
delay = "100ms"
[[workload]]
kind = "poisson"
gap = "10s"
size = { segments = 3 }
`,
};

/** Seconds of real time for each of the sentences. */
const SENTENCE = 6;
const [WIDEST, TOP] = [330, 62];
/** Pixels for a second. */
const SCALE = 215;

const WORDS: Partial<Record<Moment["kind"], string>> = { syn: "SYN: hello?", "syn/ack": "SYN/ACK: hello!", data: "data" };
/** Width of a picture from which the words have room between two arrows. */
const ROOMY = 200;

/** The arrows of a connection, up to a time after its first packet. */
function ladder(history: History, title: string, seconds: number, width: number, height: number): SVGElement[] {
  const start = history.moments[0]?.at_s ?? 0;
  const margin = Math.min(30, width * 0.08);
  const [left, right] = [margin, width - margin];
  const y = (at: number) => TOP + (at - start) * SCALE;
  const parts: SVGElement[] = [
    element("text", { class: "title", x: width / 2, y: 16, "text-anchor": "middle" }, title),
    element("text", { x: 2, y: 36 }, "you"),
    element("text", { x: width - 2, y: 36, "text-anchor": "end" }, "server"),
    element("path", { class: "host", d: `M${left} ${TOP}V${height}M${right} ${TOP}V${height}` }),
  ];
  let said = "";
  for (const m of history.moments) {
    const began = m.at_s - start;
    if (began > seconds) break;
    const opener = m.side === history.moments[0].side;
    const [from, to] = opener ? [left, right] : [right, left];
    const lost = m.dropped_s !== null;
    const whole = lost ? 0.4 : 1;
    const takes = lost ? 0.04 : (m.delivered_s ?? m.at_s + 0.1) - m.at_s;
    const done = Math.min(1, (seconds - began) / takes) * whole;
    const [x2, y2] = [from + (to - from) * done, y(m.at_s) + takes * SCALE * (done / whole)];
    const kind = m.kind === "syn" ? "syn" : m.kind === "syn/ack" ? "synack" : m.kind === "data" ? "data" : "other";
    parts.push(element("line", { class: `arrow ${kind}`, x1: from, y1: y(m.at_s), x2, y2 }));
    if (lost && done === whole) parts.push(element("path", { class: "cross", d: `M${x2 - 7} ${y2 - 7}l14 14M${x2 + 7} ${y2 - 7}l-14 14` }));
    const words = width < ROOMY ? WORDS[m.kind]?.split(":")[0] : WORDS[m.kind];
    if (words && words !== said) {
      said = words;
      parts.push(element("text", { class: kind, x: from + (opener ? 10 : -10), y: y(m.at_s) + (m.kind === "syn" ? -6 : m.kind === "syn/ack" ? 24 : 17), "text-anchor": opener ? "start" : "end" }, lost ? "SYN: lost" : words));
      if (lost) said = "";
    }
    if (lost && m.cost_s) {
      const waited = Math.min(m.cost_s, seconds - began);
      parts.push(element("rect", { class: "wait", x: left - 5, y: y(m.at_s), width: 10, height: waited * SCALE }));
      if (waited > 0.2) parts.push(element("text", { class: "syn", x: left + 12, y: y(m.at_s) + 60 }, `waits ${time(waited)}`));
    }
  }
  return parts;
}

/** Shows the explanation in a dialog; `smooth`: it is drawn as it happens. */
export async function explain(dialog: HTMLDialogElement, smooth: boolean) {
  const [served, dropped] = await Promise.all([questions.life(SETUP, "pfifo", []), questions.life(SETUP, "pfifo", [{ at: 0, change: "drop_handshake" }])]);
  const when = (history: History, find: (m: Moment) => boolean) => (history.moments.find(find)?.at_s ?? 0) - (history.moments[0]?.at_s ?? 0);
  const answer = when(served, (m) => m.kind === "syn/ack");
  const data = when(served, (m) => m.kind === "data");
  const again = when(dropped, (m) => m.again);
  const [short, long] = [served.response_s ?? 0, dropped.response_s ?? 0];
  /** Sentences, each with the times that both connections have reached at its end. */
  const scenes: [string, number, number][] = [
    ["Before a page can load, your computer sends one small packet: a SYN. It asks: may we talk?", answer, -1],
    ["The server answers with a SYN/ACK: yes. Both packets have to arrive before anything else can be sent.", data, -1],
    [`Only now the page itself is sent. It has arrived after ${time(short)}.`, short, -1],
    ["A full queue on the way drops the SYN. Nobody notices: your computer cannot know how long an answer takes, so it waits a whole second.", short, again],
    [`Then it sends the SYN again, and the page opens: ${time(long)} instead of ${time(short)}. A lost data packet costs far less, because the packets after it reveal the loss.`, short, long],
  ];
  const height = TOP + long * SCALE + 14;
  if (!dialog.open) dialog.showModal();
  const width = Math.min(WIDEST, Math.floor($("#syn-pictures", dialog).clientWidth / 2) - 8);
  const svgs = [0, 1].map(() => element("svg", { viewBox: `0 0 ${width} ${height}`, role: "img" }));
  svgs[0].setAttribute("aria-label", `A connection whose SYN arrives: complete after ${time(short)}.`);
  svgs[1].setAttribute("aria-label", `A connection whose SYN is dropped: complete after ${time(long)}.`);
  const list = $("#syn-words", dialog);
  list.replaceChildren(...scenes.map(([sentence]) => {
    const item = document.createElement("li");
    item.textContent = sentence;
    return item;
  }));
  $("#syn-pictures", dialog).replaceChildren(...svgs);
  const draw = (seconds: number) => {
    const at = Math.min(scenes.length - 1, Math.floor(seconds / SENTENCE));
    // The last part of a sentence is for reading it.
    const part = Math.min(1, (seconds / SENTENCE - at) / 0.7);
    const before = at ? scenes[at - 1] : ["", 0, -1] as const;
    const reached = [1, 2].map((side) => {
      const from = Math.max(before[side as 1 | 2], side === 2 && scenes[at][2] < 0 ? -1 : 0);
      return from + (scenes[at][side as 1 | 2] - from) * part;
    });
    svgs[0].replaceChildren(...ladder(served, "The SYN arrives", reached[0], width, height - 6));
    svgs[1].replaceChildren(...(reached[1] < 0 ? [] : ladder(dropped, "The SYN is dropped", reached[1], width, height - 6)));
    [...list.children].forEach((item, index) => item.classList.toggle("now", smooth && index === at));
  };
  if (!smooth) return draw(SENTENCE * scenes.length);
  const started = performance.now();
  const frame = () => {
    if (!dialog.open) return;
    const seconds = (performance.now() - started) / 1000;
    draw(Math.min(seconds, SENTENCE * scenes.length));
    if (seconds < SENTENCE * scenes.length) requestAnimationFrame(frame);
  };
  frame();
}
