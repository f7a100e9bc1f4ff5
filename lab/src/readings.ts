// Description of a side in numbers and words, next to its picture.
import { $ } from "./dom";
import { causeWords, count, moment, percent, plural, time } from "./format";
import { SHAPES, SYN_ACK, type Drop, type Side } from "./side";

/** The sums of a run, below its picture. */
export function showNumbers(article: HTMLElement, side: Side) {
  const sums = side.snapshot?.sums;
  if (!sums) return;
  const [shorts, shortSum] = sums.short;
  const [sojourn, left] = sums.sojourn;
  const list: [string, string, boolean][] = [
    ["SYNs and SYN/ACKs lost", sums.handshakes_offered ? percent(sums.handshakes_dropped / sums.handshakes_offered) : "–", sums.handshakes_dropped > 0],
    ["mean response time, up to 3 segments", shorts ? time(shortSum / shorts) : "–", false],
    ["mean time in the queue", left ? time(sojourn / left) : "–", false],
    ["connections completed", count(sums.completed), false],
  ];
  $(".numbers", article).replaceChildren(...list.map(([name, value, bad]) => {
    const row = document.createElement("div");
    const dd = document.createElement("dd");
    dd.textContent = value;
    if (bad) dd.className = "bad";
    const dt = document.createElement("dt");
    dt.textContent = name;
    row.append(dt, dd);
    return row;
  }));
}

/** The last drops as buttons, for users who cannot hit a falling packet. */
export function showDrops(article: HTMLElement, drops: Drop[], now: number, causes: string[]) {
  const list = $("ol", article);
  const past = drops.filter((drop) => drop.at <= now && drop.connection >= 0);
  // SYNs are what the page is about; they stay longer.
  const recent = [...past.filter((drop) => drop.shape <= SYN_ACK).slice(-3), ...past.filter((drop) => drop.shape > SYN_ACK).slice(-2)];
  const latest = [...new Set(recent)].toSorted((a, b) => b.at - a.at);
  const key = latest.map((drop) => `${drop.at} ${drop.connection}`).join();
  if (list.dataset.key === key) return;
  list.dataset.key = key;
  const focused = document.activeElement instanceof HTMLElement && list.contains(document.activeElement) ? document.activeElement.dataset.drop : undefined;
  list.replaceChildren(...latest.map((drop) => {
    const item = document.createElement("li");
    const button = document.createElement("button");
    button.type = "button";
    const name = `${drop.again ? "retransmitted " : ""}${SHAPES[drop.shape]}`;
    button.textContent = `${moment(drop.at)} ${name} of connection ${drop.connection} (${causeWords(causes[drop.cause])})`;
    button.className = drop.shape <= SYN_ACK ? "handshake" : "";
    button.dataset.drop = `${drop.at} ${drop.connection}`;
    button.dataset.connection = String(drop.connection);
    item.append(button);
    return item;
  }));
  if (focused) list.querySelector<HTMLElement>(`[data-drop="${focused}"]`)?.focus();
}

/** The picture of a side, in words. */
export function spoken(side: Side, label: string): string {
  const snapshot = side.snapshot;
  if (!snapshot) return "";
  const waits = side.waits.size;
  return `${label}: ${plural(snapshot.backlog[0][0], "packet waits", "packets wait")}, ${snapshot.sums.handshakes_dropped} of ${snapshot.sums.handshakes_offered} SYNs and SYN/ACKs were dropped, ${plural(waits, "connection waits", "connections wait")} for a timeout.`;
}
