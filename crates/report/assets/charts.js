// Common parts of the charts of all pages, drawn with Observable Plot. Colours are CSS variables, so that a change of theme
// needs no redrawing. Text is inserted as text nodes only, never as markup.
"use strict";
const charts = (() => {
  // ---- Formatting of numbers.

  const known = (v) => v !== null && v !== undefined;
  const significant = d3.format(",.3~r");
  const DAY = 86_400;
  const YEAR = 365.25 * DAY;
  const timeUnit = (largest) =>
    largest >= 2 * YEAR ? { factor: 1 / YEAR, name: "years" }
      : largest >= 2 * DAY ? { factor: 1 / DAY, name: "days" }
      : largest >= 1 ? { factor: 1, name: "s" }
      : largest >= 1e-3 ? { factor: 1e3, name: "ms" }
      : { factor: 1e6, name: "µs" };
  const time = (seconds) => {
    if (!known(seconds)) return "–";
    const unit = seconds === 0 ? timeUnit(1) : timeUnit(seconds);
    return `${significant(seconds * unit.factor)} ${unit.name}`;
  };
  /** Formats several times in one unit, that of the longest, so that they can be compared. */
  const times = (seconds) => {
    const unit = timeUnit(d3.max(seconds, Math.abs) || 1);
    return seconds.map((s) => (known(s) ? `${significant(s * unit.factor)} ${unit.name}` : "–"));
  };
  const timeWithInterval = (value, ci95) => {
    const [mean, halfWidth] = times([value, ci95]);
    return known(value) && known(ci95) ? `${mean} ± ${halfWidth}` : mean;
  };
  const percent = (fraction) => (known(fraction) ? `${d3.format(".3~r")(fraction * 100)} %` : "–");
  const interval = (value, ci95, show) => (known(value) && known(ci95) ? `${show(value)} ± ${show(ci95)}` : show(value));
  const fixed = (largest) => d3.format(largest >= 100 ? ",.0f" : largest >= 10 ? ".1f" : ".2f");

  // ---- Styles and titles.

  const style = { fontFamily: "inherit", fontSize: "12px", background: "none", overflow: "visible" };
  /** Size, margins and style of a chart with both axes. */
  const frame = (width) => ({
    width,
    height: Math.min(400, Math.max(280, width * 0.62)),
    marginLeft: 58,
    marginRight: 16,
    marginTop: 20,
    marginBottom: 42,
    style,
  });
  const centred = { labelAnchor: "center", labelArrow: "none" };
  const tipLook = { fill: "var(--surface)", stroke: "var(--rule)", fontSize: 12, lineHeight: 1.3, textPadding: 9 };

  /** Title of a chart without its hint; with the name of its capture if there are several. */
  const caption = (figure) => {
    const text = figure.querySelector("figcaption").firstChild.textContent.trim();
    const several = document.querySelectorAll("article").length > 1;
    return several ? `${text}, ${figure.closest("article").querySelector("h1").textContent}` : text;
  };

  // ---- Print: charts are drawn for A4, which has two columns of them, and not scaled to it.

  let printing = false;
  const paperWidth = (place) => (place.closest(".grid") && !place.closest(".wide") ? 306 : 650);
  /** Height of a row of a chart with a row for each scheme. */
  const rowHeight = () => (printing ? 17 : 22);

  /**
   * Draws the chart of `place`: `plot` gets the width, and the range of x that the reader has chosen, if any. With `zoom` a
   * drag over the chart chooses it. `read` gives the text for a place on the x axis, which is shown while a line through all
   * images of the chart follows the pointer. `say` gives what the chart shows in words, for readers who do not see it.
   */
  function draw(place, plot, { zoom = false, read, say } = {}) {
    const drawn = plot(printing ? paperWidth(place) : Math.max(place.clientWidth, 240), place.zoom);
    place.replaceChildren(drawn);
    const images = drawn.matches("svg") ? [drawn] : [...drawn.querySelectorAll(":scope > svg")];
    const said = say?.();
    const name = caption(place.closest("figure")) + (said ? `: ${said}` : "");
    for (const image of images) {
      image.setAttribute("role", "img");
      image.setAttribute("aria-label", image.dataset.part ? `${name}: ${image.dataset.part}` : name);
      // Plot gives its groups labels, which their role does not allow.
      for (const group of image.querySelectorAll("g[aria-label]")) {
        group.dataset.mark = group.getAttribute("aria-label");
        group.removeAttribute("aria-label");
      }
    }
    const again = () => draw(place, plot, { zoom, read, say });
    if (zoom) zoomable(place, images, again);
    if (read && images.length) crosshair(place, images, read);
  }

  // ---- Zoom: a drag selects a range of x; a double click or the button restores the whole range.

  function zoomable(place, images, again) {
    const choose = (range) => {
      place.zoom = range;
      again();
    };
    for (const image of images) {
      const x = image.scale("x");
      const [left, right] = x.range;
      const brush = d3
        .brushX()
        .extent([[Math.min(left, right), 0], [Math.max(left, right), image.height.baseVal.value]])
        // Touch scrolls the page instead.
        .touchable(false)
        .on("end", ({ selection }) => selection && choose(selection.map(x.invert)));
      d3.select(image).append("g").attr("class", "brush").call(brush).on("dblclick", () => choose(undefined));
    }
    if (!place.zoom) return;
    const whole = Object.assign(document.createElement("button"), { type: "button", className: "whole", textContent: "Whole range" });
    whole.addEventListener("click", () => choose(undefined));
    place.prepend(whole);
  }

  // ---- A vertical line through all images of a chart at the pointer.

  function crosshair(place, images, read) {
    const readout = Object.assign(document.createElement("p"), { className: "readout" });
    place.prepend(readout);
    const lines = images.map((image) =>
      d3.select(image).append("line").attr("class", "crosshair").attr("y1", 0).attr("y2", image.height.baseVal.value)
        .style("stroke", "var(--ink)").attr("pointer-events", "none").attr("visibility", "hidden"),
    );
    const hide = () => {
      readout.textContent = "Point at the chart to read values.";
      for (const line of lines) line.attr("visibility", "hidden");
    };
    hide();
    for (const image of images) {
      image.addEventListener("pointermove", (event) => {
        const found = read(image.scale("x").invert(d3.pointer(event, image)[0]));
        if (!found) return hide();
        readout.textContent = found.text;
        lines.forEach((line, i) => {
          const at = images[i].scale("x").apply(found.x);
          line.attr("x1", at).attr("x2", at).attr("visibility", "visible");
        });
      });
      image.addEventListener("pointerleave", hide);
    }
  }

  /** Places `gap` apart at least and as near as possible to `wanted`, which are in order, none before `least`. */
  function apart(wanted, gap, least) {
    const places = [];
    for (const place of wanted) places.push(Math.max(place, (places.at(-1) ?? least - gap) + gap));
    return places;
  }

  const nothing = (text) => {
    const said = Object.assign(document.createElement("p"), { className: "hint", textContent: text });
    said.dataset.empty = "";
    return said;
  };

  /** Round numbers within [low, high], as many per decade as there is room for. */
  function logTicks([low, high], room) {
    const powers = d3.range(Math.floor(Math.log10(low)), Math.ceil(Math.log10(high)) + 1);
    const choices = [[1, 2, 5], [1, 3], [1]].map((steps) =>
      powers.flatMap((power) => steps.map((step) => step * 10 ** power)).filter((t) => t >= low && t <= high),
    );
    return choices.find((ticks) => ticks.length <= room) ?? choices.at(-1);
  }

  // ---- Error bars with an outline in the background colour, visible on light and dark bars.

  /** Range from 0 of an axis for `data` with `value` and `high`: intervals get room as far as they do not dwarf the values. */
  const fromZero = (data) => {
    const largest = d3.max(data, (d) => d.value) || 0;
    const high = Math.min(d3.max(data, (d) => d.high) ?? 0, 1.4 * largest);
    return [0, Math.max(largest, high) || 1];
  };

  /** Error bars from `low` to `high` of `data` with `ci95`, in rows `y`. One that leaves `domain` ends in an arrow at its edge. */
  const whisker = (data, y, [least, most], options = {}) => {
    const measured = data
      .filter((d) => known(d.ci95) && d.high >= least && d.low <= most)
      .map((d) => ({ ...d, from: Math.max(d.low, least), to: Math.min(d.high, most) }));
    const strokes = [
      { stroke: "var(--surface)", strokeWidth: 4 },
      { stroke: "var(--ink)", strokeWidth: 1.25 },
    ];
    const arrow = { y, symbol: "triangle", r: 3.5, fill: "var(--ink)", stroke: "var(--surface)", strokeWidth: 1, ...options };
    return [
      ...strokes.map((stroke) => [
        Plot.ruleY(measured, { y, x1: "from", x2: "to", ...stroke, ...options }),
        Plot.tickX(measured.filter((d) => d.low >= least), { y, x: "low", inset: 4, ...stroke, ...options }),
        Plot.tickX(measured.filter((d) => d.high <= most), { y, x: "high", inset: 4, ...stroke, ...options }),
      ]),
      // Quantities that are never negative have no interval below 0.
      Plot.dot(measured.filter((d) => d.high > most), { ...arrow, x: "to", rotate: 90 }),
    ];
  };

  // ---- Redrawing when the width changes, and for print.

  function onWidth(redraw) {
    let drawn = document.body.clientWidth;
    new ResizeObserver(() => {
      if (document.body.clientWidth === drawn) return;
      drawn = document.body.clientWidth;
      redraw();
    }).observe(document.body);
    for (const [event, paper] of [["beforeprint", true], ["afterprint", false]]) {
      addEventListener(event, () => {
        printing = paper;
        redraw();
      });
    }
  }

  return {
    known, significant, timeUnit, time, times, timeWithInterval, percent, interval, fixed, style, frame, centred, tipLook, caption, draw, nothing,
    logTicks, rowHeight, fromZero, whisker, apart, onWidth,
  };
})();
