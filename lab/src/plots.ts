// The plots that move with the runs.
import { Chart, type Line } from "./chart";
import { percent, time } from "./format";
import type { Curves } from "./protocol";
import type { Side } from "./side";

const seconds = (value: number) => (value >= 1 || value === 0 ? `${Number(value.toPrecision(3))} s` : `${Number((value * 1000).toPrecision(3))} ms`);
const part = (value: number) => `${Number((value * 100).toPrecision(3))} %`;

const overTime = (curves: Curves | undefined, values: (curves: Curves) => (number | null)[]): [number, number | null][] =>
  curves ? values(curves).map((value, index) => [(index + 0.5) * curves.step_s, value]) : [];

const last = (points: [number, number | null][]) => points.findLast((point) => point[1] !== null)?.[1];

export class Plots {
  private sojourn = new Chart({
    id: "sojourn", title: "Time in the queue", note: "Mean time that packets wait before they are sent (sojourn time).",
    x: { label: "time", min: 0, tick: seconds }, y: { label: "sojourn time", min: 0, least: 0.02, tick: seconds },
  });
  private bySize = new Chart({
    id: "by-size", title: "Response time by size", note: "From the first SYN until everything has arrived, by the size of the connection in full packets (segments).",
    x: { label: "segments", log: true, min: 1, max: 2000, tick: (v) => v.toLocaleString("en") }, y: { label: "mean", log: true, tick: seconds }, dots: true,
  });
  private ccdf = new Chart({
    id: "ccdf", title: "Connections that take longer", note: "Share of connections with a response time above the time below. A cliff at the initial timeout comes from lost SYNs.",
    x: { label: "response time", log: true, min: 0.05, max: 20, tick: seconds }, y: { label: "part", log: true, min: 0.001, max: 1, tick: part }, steps: true,
  });
  private loss = new Chart({
    id: "syn-loss", title: "Lost handshakes", note: "Share of arriving SYNs and SYN/ACKs that the queue dropped.",
    x: { label: "time", min: 0, tick: seconds }, y: { label: "loss", min: 0, least: 0.05, tick: part },
  });
  private used = new Chart({
    id: "utilization", title: "Link utilisation", note: "Share of the time in which the link sends.",
    x: { label: "time", min: 0, tick: seconds }, y: { label: "use", min: 0, max: 1, tick: part },
  });

  constructor(parent: HTMLElement) {
    for (const chart of [this.sojourn, this.ccdf, this.bySize, this.loss, this.used]) parent.append(chart.figure);
  }

  setInitialRto(timeout: number) {
    this.ccdf.setMark({ at: timeout, label: `initial timeout, ${time(timeout)}` });
  }

  update(sides: [Side, Side], labels: [string, string]) {
    const keys = ["a", "b"] as const;
    const lines = (points: (curves: Curves) => [number, number | null][]): Line[] =>
      sides.map((side, index) => ({ key: keys[index], label: labels[index], points: side.curves ? points(side.curves) : [] }));
    const latest = (drawn: Line[], format: (value: number | null | undefined) => string) =>
      drawn.map((l) => `${l.label}: ${format(last(l.points))} at last`).join("; ");
    const show = (chart: Chart, drawn: Line[], format: (value: number | null | undefined) => string) => chart.update(drawn, latest(drawn, format));
    show(this.sojourn, lines((c) => overTime(c, (c) => c.sojourn_s)), time);
    show(this.loss, lines((c) => overTime(c, (c) => c.handshake_loss)), percent);
    // The last point is not over yet.
    show(this.used, lines((c) => overTime(c, (c) => c.utilization.slice(0, -1))), percent);
    const bySize = lines((c) => c.by_size.map(([size, mean]) => [size ?? 2000, mean]));
    this.bySize.update(bySize, bySize.map((l) => `${l.label}: ${time(l.points[0]?.[1])} for the shortest, ${time(last(l.points))} for the longest`).join("; "));
    const ccdf = lines((c) => c.ccdf.map(([at, longer]) => [at, longer]));
    const second = (l: Line) => l.points.findLast((p) => p[0] <= 1)?.[1];
    this.ccdf.update(ccdf, ccdf.map((l) => `${l.label}: ${percent(second(l))} take longer than a second`).join("; "));
  }
}
