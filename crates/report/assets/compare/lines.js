// Charts with a line for each scheme that the reader has chosen.
const lineCharts = (() => {
  const { known, significant, time, times, timeWithInterval, percent, style, frame, centred, tipLook, draw, nothing, logTicks } = charts;
  const { comparison, all, sizes } = schemes;

  /** Schemes that are drawn, and the highlighted one, if any. */
  const choice = { shown: new Set(schemes.firstChoice), highlighted: null };
  const visible = () => all.filter((s) => choice.shown.has(s));
  const opacity = (s) => (choice.highlighted === null || choice.highlighted === s ? 1 : 0.15);
  const empty = () => nothing(choice.shown.size ? "No observations." : "Choose a scheme above.");

  /** `points` and `marked` of each scheme over axes `x` and `y`, functions of all points; `marked` carry the scheme's symbol. */
  function lineChart(id, { points, marked, x, y, extra, above, curve, message }) {
    const plot = (width, zoom) => {
      const series = visible().map((scheme) => ({ scheme, data: points(scheme) })).filter((s) => s.data.length);
      if (!series.length) return empty();
      const everything = series.flatMap((s) => s.data);
      const scaleX = x(everything, width / 70, zoom);
      const scaleY = y(everything, 5);
      const [low, high] = scaleX.domain;
      const inside = everything.filter((d) => d.x >= low && d.x <= high);
      const axis = { tickSize: 0, color: "var(--muted)" };
      const image = Plot.plot({
        ...frame(width),
        x: { type: scaleX.type, domain: scaleX.domain },
        y: { type: scaleY.type, domain: scaleY.domain },
        marks: [
          Plot.gridX(scaleX.ticks, { stroke: "var(--rule)", strokeOpacity: 1 }),
          Plot.gridY(scaleY.ticks, { stroke: "var(--rule)", strokeOpacity: 1 }),
          Plot.axisX(scaleX.ticks, { ...axis, text: scaleX.text, label: scaleX.label, ...centred }),
          Plot.axisY(scaleY.ticks, { ...axis, text: scaleY.text, label: null }),
          above ? above(scaleX.domain) : null,
          series.map(({ scheme, data }) => [
            extra ? extra(scheme, data) : null,
            Plot.line(data, {
              x: "x",
              y: "y",
              curve,
              stroke: scheme.color,
              strokeWidth: choice.highlighted === scheme ? 3 : 2,
              strokeDasharray: scheme.dash,
              strokeOpacity: opacity(scheme),
              clip: true,
            }),
            Plot.dot(marked(data, scheme), {
              x: "x",
              y: "y",
              symbol: scheme.symbol,
              fill: "var(--surface)",
              stroke: scheme.color,
              r: 3.2,
              strokeOpacity: opacity(scheme),
              clip: true,
            }),
          ]),
          Plot.tip(inside, Plot.pointer({ x: "x", y: "y", title: "title", maxRadius: 60, ...tipLook })),
        ],
      });
      lineLabels.add(image, series.map(({ scheme, data }) => ({ name: scheme.label, points: data, opacity: opacity(scheme) })));
      return image;
    };
    const place = document.getElementById(id);
    // Without connections the page has no charts of them.
    if (place) draw(place, plot, { zoom: true, say: () => visible().map((s) => `${s.label} ${message(points(s))}`).join(", ") });
  }

  const linear = (high, zoom, options) => {
    const domain = zoom ?? [0, high];
    return { type: "linear", domain, ticks: d3.ticks(...domain, 5), ...options };
  };
  const logarithmic = (values, room, zoom, options) => {
    const domain = zoom ?? d3.extent(values);
    // A single value has no extent.
    if (domain[0] === domain[1]) domain[1] *= 2;
    let ticks = logTicks(domain, room);
    // Within less than a power of ten.
    if (ticks.length < 2) ticks = d3.ticks(...domain, room);
    return { type: "log", domain, ticks, ...options };
  };

  /** The values that half, and one in a hundred, exceed. */
  const halfAndSlowest = (data) => {
    const above = (share) => time(d3.least(data.filter((d) => d.y <= share), (d) => d.x)?.x);
    return data.length ? `half above ${above(0.5)}, 1 % above ${above(0.01)}` : "no observations";
  };
  const firstAndLast = (data) => (data.length ? `from ${time(data[0].y)} to ${time(data.at(-1).y)}` : "no observations");

  // ---- Complementary distributions on a logarithmic axis, which shows the slowest one in a thousand.

  const longer = (scheme, curve, what) =>
    curve
      .filter(([value, fraction]) => fraction < 1 && value > 0)
      .map(([value, fraction]) => ({
        x: value,
        y: 1 - fraction,
        title: `${scheme.label}\n${percent(1 - fraction)} of ${what}\ntake longer than ${time(value)}`,
      }));
  const shares = (everything) => {
    const low = d3.min(everything, (d) => d.y);
    const ticks = logTicks([low, 1], 5);
    const text = (share) => `${d3.format("~r")(d3.format(".12~f")(share * 100))} %`;
    return { type: "log", domain: [low, 1], ticks, text };
  };
  // Symbols at every half power of ten, each scheme's a little further on, so that they do not hide one another.
  const everyHalfDecade = (data, scheme) =>
    d3
      .groups(data, (d) => Math.floor(-2 * Math.log10(d.y) + scheme.index / 8))
      .map(([, group]) => group[0]);

  /** Lines where the timer of a lost SYN expires. */
  const initialRtos = ([low, high]) => {
    const inside = comparison.scenario.initial_rto_s.filter((rto) => rto >= low && rto <= high);
    return [
      Plot.ruleX(inside, { stroke: "var(--ink)", strokeDasharray: "1 3" }),
      Plot.text(inside, { x: (d) => d, text: (rto) => `initial RTO ${time(rto)}`, frameAnchor: "top", dy: -14, fill: "var(--ink)" }),
    ];
  };

  function drawLines() {
    lineChart("response-ccdf", {
      points: (scheme) => longer(scheme, scheme.result.curves.response_time_cdf, "connections"),
      marked: everyHalfDecade,
      x: (everything, room, zoom) => logarithmic(everything.map((d) => d.x), room, zoom, { label: "response time", text: time }),
      y: shares,
      above: initialRtos,
      message: halfAndSlowest,
    });
    lineChart("by-size", {
      points: (scheme) =>
        scheme.result.curves.response_time_by_size
          .filter((bin) => bin.mean_s > 0)
          .map((bin) => ({
            x: Math.sqrt(bin.min_segments * (bin.max_segments ?? bin.min_segments)),
            y: bin.mean_s,
            low: bin.mean_s - bin.ci95_s,
            high: bin.mean_s + bin.ci95_s,
            // On a logarithmic axis an interval that reaches zero cannot be drawn.
            whisker: known(bin.ci95_s) && bin.ci95_s < bin.mean_s,
            title: `${scheme.label}\n${sizes(bin)}\n${timeWithInterval(bin.mean_s, bin.ci95_s)}\n${d3.format(",")(bin.n)} connections`,
          })),
      marked: (data) => data,
      message: firstAndLast,
      x: (everything, room, zoom) => logarithmic(everything.map((d) => d.x), room, zoom, { label: "segments", text: d3.format(",~r") }),
      y: (everything, room) => logarithmic(everything.flatMap((d) => (d.whisker ? [d.low, d.high] : [d.y])), room, undefined, { text: time }),
      extra: (scheme, data) =>
        Plot.ruleX(data.filter((d) => d.whisker), { x: "x", y1: "low", y2: "high", stroke: scheme.color, strokeOpacity: opacity(scheme), clip: true }),
    });
    lineChart("queue-ccdf", {
      points: (scheme) => longer(scheme, scheme.result.curves.queue_delay_cdf, "packets"),
      marked: everyHalfDecade,
      x: (everything, _, zoom) => linear(d3.max(everything, (d) => d.x) || 1e-3, zoom, { label: "sojourn time", text: time }),
      y: shares,
      message: halfAndSlowest,
    });
    queueOverTime();
  }

  function queueOverTime() {
    const some = visible().filter((s) => s.result.curves.queue_over_time.some((p) => known(p.mean_s)));
    const highest = (scheme) => d3.max(scheme.result.curves.queue_over_time, (p) => p.max_s) || 1e-3;
    const plot = (width, zoom) => {
      if (!some.length) return empty();
      const box = document.createElement("div");
      const domain = zoom ?? d3.extent(slices(some[0]), (p) => p.t_s);
      // With few schemes, the height is about that of the two charts to the left.
      const height = Math.max(76, Math.min(width * 0.4, 620 / some.length));
      some.forEach((scheme, i) => {
        const last = i === some.length - 1;
        const data = slices(scheme).map((p) => ({ t: p.t_s, mean: p.mean_s ?? NaN, max: p.max_s ?? NaN }));
        const [, high] = d3.nice(0, highest(scheme), 2);
        const ticks = d3.ticks(0, high, 2);
        const image = Plot.plot({
          width,
          height: height + (last ? 32 : 0),
          marginLeft: 58,
          marginRight: 16,
          marginTop: 24,
          marginBottom: last ? 42 : 10,
          style,
          x: { domain, axis: null },
          y: { domain: [0, high] },
          marks: [
            Plot.gridY(ticks, { stroke: "var(--rule)", strokeOpacity: 1 }),
            last ? Plot.axisX({ ticks: width / 90, tickSize: 0, color: "var(--muted)", label: "seconds", ...centred }) : null,
            Plot.axisY([ticks[0], ticks.at(-1)], { tickSize: 0, color: "var(--muted)", label: null, tickFormat: (v) => (v === 0 ? "0" : time(v)) }),
            Plot.areaY(data, { x: "t", y1: 0, y2: "max", fill: scheme.color, fillOpacity: 0.2 * opacity(scheme), clip: true }),
            Plot.lineY(data, { x: "t", y: "mean", stroke: scheme.color, strokeWidth: 1.5, strokeOpacity: opacity(scheme), clip: true }),
            Plot.text([scheme.label], { frameAnchor: "top-left", dy: -18, lineWidth: (width - 74) / 12, textOverflow: "ellipsis", fill: "var(--ink)" }),
          ],
        });
        image.dataset.part = `${scheme.label}, at most ${time(highest(scheme))}`;
        box.append(image);
      });
      return box;
    };
    const slices = (scheme) => scheme.result.curves.queue_over_time;
    const read = (t) => {
      const i = d3.bisector((p) => p.t_s).right(slices(some[0]), t) - 1;
      if (i < 0) return null;
      const means = times(some.map((scheme) => slices(scheme)[i]?.mean_s));
      const text = `At ${significant(slices(some[0])[i].t_s)} s: ${some.map((s, k) => `${s.label} ${means[k]}`).join(", ")}`;
      return { x: t, text };
    };
    draw(document.getElementById("queue-time"), plot, { zoom: true, read });
  }

  return { choice, drawLines };
})();
