// Numbers with units, as the command writes them.

const number = (value: number, digits: number) =>
  Number(value.toPrecision(digits)).toLocaleString("en", { maximumSignificantDigits: digits });

/** A time of so many seconds: 12 ms, 1.3 s. */
export function time(seconds: number | null | undefined): string {
  if (seconds === null || seconds === undefined || !Number.isFinite(seconds)) return "–";
  if (seconds === 0) return "0 s";
  if (Math.abs(seconds) < 0.001) return `${number(seconds * 1e6, 3)} µs`;
  if (Math.abs(seconds) < 1) return `${number(seconds * 1e3, 3)} ms`;
  return `${number(seconds, 3)} s`;
}

export function percent(fraction: number | null | undefined): string {
  if (fraction === null || fraction === undefined || !Number.isFinite(fraction)) return "–";
  const value = fraction * 100;
  if (value === 0) return "0 %";
  return `${number(value, value < 10 ? 2 : 3)} %`;
}

/** Bits per second as the command reads and writes them: 2.4mbit. */
export function rateText(bits: number): string {
  if (bits >= 1e9 && bits % 1e6 === 0) return `${bits / 1e9}gbit`;
  if (bits >= 1e6 && bits % 1e3 === 0) return `${bits / 1e6}mbit`;
  if (bits % 1e3 === 0) return `${bits / 1e3}kbit`;
  return `${Math.round(bits)}bit`;
}

/** Bits per second for readers: 2.4 Mb/s. */
export function rate(bits: number): string {
  if (bits >= 1e9) return `${number(bits / 1e9, 3)} Gb/s`;
  if (bits >= 1e6) return `${number(bits / 1e6, 3)} Mb/s`;
  return `${number(bits / 1e3, 3)} kb/s`;
}

/** A moment of the run: 0:12.345. */
export function moment(seconds: number): string {
  const whole = Math.floor(seconds);
  const hours = Math.floor(whole / 3600);
  const minutes = Math.floor(whole / 60) % 60;
  const rest = (whole % 60).toString().padStart(2, "0");
  const thousandths = Math.floor((seconds - whole) * 1000).toString().padStart(3, "0");
  const start = hours ? `${hours}:${minutes.toString().padStart(2, "0")}` : `${minutes}`;
  return `${start}:${rest}.${thousandths}`;
}

export const count = (value: number) => value.toLocaleString("en");

/** A count with its noun: 1 packet, 2,000 packets. */
export const plural = (value: number, one: string, several: string) => `${count(value)} ${value === 1 ? one : several}`;

const CAUSES: Record<string, string> = {
  tail: "queue full", early: "before it was full", aqm: "queued too long", "push-out": "pushed out", overlimit: "over the limit",
  "ack-filter": "ACK filter", loss: "lost on the link", request: "by you",
};

/** Reason of a drop in words. */
export const causeWords = (cause: string | null | undefined) => CAUSES[cause ?? ""] ?? cause ?? "";
