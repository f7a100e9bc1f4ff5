// Small charts of the number of each application that its users notice, with a scale each.
const noticedCharts = (() => {
  const { known, time, timeUnit, percent, draw, fromZero, whisker } = charts;
  const { comparison, all } = schemes;
  const { rowChart, rowTip, against95, extremes, measuredRow } = rowCharts;

  /** Factor, unit and text of a quantity. */
  const UNITS = {
    Time: (largest) => ({ ...timeUnit(largest), text: time }),
    Share: () => ({ factor: 100, name: "%", text: percent }),
    Frequency: () => ({ factor: 1, name: "a minute", text: d3.format(".2f") }),
  };

  function chart(place) {
    const { path, quantity } = place.dataset;
    const of = (scheme) => path.split(".").reduce((part, key) => part?.[key], scheme.result);
    const largest = d3.max(all, of) ?? 1;
    const unit = (UNITS[quantity] ?? UNITS.Frequency)(largest || 1);
    const reference = all.find((scheme) => scheme.label === comparison.reference);
    const rows = all.map((scheme) => ({
      ...measuredRow(scheme, of(scheme), null, unit.factor, known(of(scheme)) ? unit.text(of(scheme)) : "no observation"),
      ...against95(of(reference ?? all[0]), scheme.result.paired[path] ?? {}, unit.factor),
      missing: !known(of(scheme)),
    }));
    const line = rows.filter((row) => all[row.index] === reference && !row.missing);
    const domain = fromZero(rows);
    const plot = (width) =>
      rowChart(width, {
        order: all,
        domain,
        unit: unit.name,
        right: 84,
        marks: [
          Plot.barX(rows, { y: "index", x: "value", fill: "color", rx2: 2 }),
          Plot.ruleX(line, { x: "value", stroke: "var(--ink)", strokeDasharray: "3 3" }),
          whisker(rows, "index", domain),
          Plot.text(rows, {
            y: "index",
            frameAnchor: "right",
            textAnchor: "end",
            dx: 82,
            text: (d) => (d.missing ? "–" : unit.text(d.value / unit.factor)),
            fill: "var(--ink)",
            fontVariant: "tabular-nums",
          }),
          rowTip(rows),
        ],
      });
    draw(place, plot, { say: () => extremes(rows, (value) => unit.text(value / unit.factor)) });
  }

  return { drawNoticed: () => document.querySelectorAll("[data-path]").forEach(chart) };
})();
