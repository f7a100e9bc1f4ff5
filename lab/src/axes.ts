// The axes of a plot: D3 chooses and places the ticks, the style sheet draws them.
import { axisBottom, axisLeft, type AxisScale } from "d3-axis";
import type { ScaleContinuousNumeric } from "d3-scale";
import { select } from "d3-selection";
import { element } from "./svg";

export type Scale = ScaleContinuousNumeric<number, number>;

export interface Axis {
  scale: Scale;
  /** About so many ticks. */
  ticks: number;
  tick: (value: number) => string;
}

/** Both axes, with grid lines across from the upright one, and the name of the other at its end. */
export function axes(x: Axis & { label: string }, y: Axis, height: number): SVGElement[] {
  const [left, right] = x.scale.range();
  const [bottom] = y.scale.range();
  const upright = element("g", { class: "ticks", transform: `translate(${left},0)` });
  select(upright).call(ticks(axisLeft, y).tickSize(left - right));
  const level = element("g", { class: "ticks", transform: `translate(0,${bottom})` });
  select(level).call(ticks(axisBottom, x).tickSize(4));
  return [upright, level, element("text", { class: "axis", x: right, y: height - 6, "text-anchor": "end" }, x.label)];
}

function ticks(axis: typeof axisLeft, { scale, ticks, tick }: Axis) {
  // A logarithmic scale has more ticks than there is room for names: its format leaves out the others.
  const named = scale.tickFormat(ticks, "");
  return axis(scale as AxisScale<number>).ticks(ticks).tickPadding(8).tickSizeOuter(0)
    .tickFormat((value) => (named(value as number) ? tick(value as number) : ""));
}
