// Draws the charts of a comparison, from the JSON in the page.
(() => {
  const { results } = JSON.parse(document.getElementById("data").textContent);
  const {
    known, significant, timeUnit, time, percent, interval, fixed, style, centred, tipLook, draw, nothing, logTicks, sortable, themeButton,
    onWidth,
  } = charts;
  const element = (id) => document.getElementById(id);

  // ---- Schemes: a colour, a dash and a symbol each, the same in every chart and, for the common ones, on every page.

  const COMMON = ["pfifo", "bfifo", "red", "codel", "fq_codel", "pie", "redfavor", "spa"];
  const DASHES = ["none", "6 3", "2 3"];
  const SYMBOLS = ["circle", "square", "triangle", "diamond", "star", "wye", "cross", "asterisk"];

  const schemes = results.map((result, index) => ({ index, result, label: result.label }));
  for (const [slot, name] of COMMON.entries()) {
    const scheme = schemes.find((s) => s.result.scheme === name);
    if (scheme) scheme.slot = slot;
  }
  const taken = new Set(schemes.map((s) => s.slot));
  let next = 0;
  for (const scheme of schemes) {
    if (scheme.slot === undefined) {
      while (taken.has(next)) next += 1;
      scheme.slot = next;
      taken.add(next);
    }
    const hue = scheme.slot % COMMON.length;
    // Where hues come round again the later scheme is paler, and dashed.
    scheme.color = scheme.slot < COMMON.length ? `var(--s${hue})` : `color-mix(in oklab, var(--s${hue}) 62%, var(--surface))`;
    scheme.dash = DASHES[Math.floor(scheme.slot / COMMON.length) % DASHES.length];
    scheme.symbol = SYMBOLS[hue];
  }

  const firstChoice = d3.sort(schemes, (s) => s.slot).slice(0, COMMON.length);
  let shown = new Set(firstChoice);
  let highlighted = null;
  const visible = () => schemes.filter((s) => shown.has(s));
  const opacity = (s) => (highlighted === null || highlighted === s ? 1 : 0.15);

  const sizes = (bin) => {
    if (!known(bin.max_segments)) return `more than ${bin.min_segments - 1} segments`;
    if (bin.max_segments === bin.min_segments) return bin.min_segments === 1 ? "1 segment" : `${bin.min_segments} segments`;
    return `${bin.min_segments}–${bin.max_segments} segments`;
  };

  // ---- One row a scheme.

  /** A horizontal chart; `marks` gets the order of the rows and the scale's factor and adds what stands in them. */
  function rowChart(width, { largest, unit, marks, right }) {
    const order = element("sort").checked
      ? d3.sort(schemes, (s) => s.result.response_time_s.mean ?? Infinity)
      : schemes;
    const wanted = d3.max(schemes, (s) => s.label.length) * 6.9 + 12;
    const left = Math.min(wanted, width * 0.4);
    const room = Math.floor((left - 12) / 6.9);
    const ticks = Math.max(2, (width - left - right) / 80);
    const short = (label) => (label.length > room ? `${label.slice(0, room - 1)}…` : label);
    return Plot.plot({
      width,
      height: order.length * 22 + 44,
      marginLeft: left,
      marginRight: right,
      marginTop: 4,
      marginBottom: 40,
      style,
      x: { domain: [0, largest > 0 ? largest : 1] },
      y: { type: "band", domain: order.map((s) => s.index), label: null, padding: 0.3 },
      marks: [
        Plot.gridX({ stroke: "var(--rule)", strokeOpacity: 1, ticks }),
        Plot.axisX({ ticks, tickSize: 0, color: "var(--muted)", label: unit, ...centred }),
        Plot.axisY({ tickSize: 0, tickFormat: (i) => short(schemes[i].label), color: "var(--ink)" }),
        marks,
      ],
    });
  }

  const whisker = (data, options = {}) => {
    const measured = data.filter((d) => known(d.ci95));
    const look = { stroke: "var(--ink)", strokeWidth: 1.25, ...options };
    return [
      Plot.ruleY(measured, { y: "index", x1: "low", x2: "high", ...look }),
      Plot.tickX(measured, { y: "index", x: "low", inset: 4, ...look }),
      Plot.tickX(measured, { y: "index", x: "high", inset: 4, ...look }),
    ];
  };

  const rowTip = (data) => Plot.tip(data, Plot.pointerY({ y: "index", x: "value", title: "title", ...tipLook }));

  const measuredRow = (scheme, value, ci95, factor, title) => ({
    index: scheme.index,
    color: scheme.color,
    value: known(value) ? value * factor : 0,
    ci95,
    low: Math.max(0, (value - ci95) * factor),
    high: (value + (ci95 ?? 0)) * factor,
    title: `${scheme.label}\n${title}`,
  });

  /** Bars of a mean time; where `part` is given it is drawn solid and the rest faint. */
  function timeBars(id, read) {
    draw(element(id), (width) => {
      const all = schemes.map((scheme) => ({ scheme, ...read(scheme.result) }));
      const unit = timeUnit(d3.max(all, (d) => d.mean) ?? 1);
      const data = all.map(({ scheme, mean, ci95, part, tip }) => ({
        ...measuredRow(scheme, mean, ci95, unit.factor, tip),
        part: (part ?? 0) * unit.factor,
        missing: !known(mean),
      }));
      const largest = d3.max(data, (d) => d.high);
      const show = fixed(largest);
      const faint = all.some((d) => d.part !== undefined);
      return rowChart(width, {
        largest,
        unit: unit.name,
        right: 52,
        marks: [
          Plot.barX(data, { y: "index", x: "value", fill: "color", fillOpacity: faint ? 0.32 : 1, rx2: 2 }),
          faint ? Plot.barX(data, { y: "index", x: "part", fill: "color" }) : null,
          whisker(data),
          Plot.text(data, {
            y: "index",
            x: (d) => Math.max(d.value, d.high || 0),
            text: (d) => (d.missing ? "–" : show(d.value)),
            textAnchor: "start",
            dx: 7,
            fill: "var(--muted)",
            fontVariant: "tabular-nums",
          }),
          rowTip(data),
        ],
      });
    });
  }

  function lossDots() {
    draw(element("loss"), (width) => {
      const rows = (read) =>
        schemes.map((scheme) => {
          const { loss, loss_ci95 } = scheme.result;
          const title = ["all", "data", "syn", "synack"]
            .map((kind) => `${{ all: "all packets", data: "data", syn: "SYN", synack: "SYN/ACK" }[kind]}: ${interval(loss[kind], loss_ci95[kind], percent)}`)
            .join("\n");
          return measuredRow(scheme, read(loss), read(loss_ci95), 100, title);
        });
      const present = (read) => (d) => known(read(schemes[d.index].result.loss));
      const packets = rows((l) => l.all);
      const syns = rows((l) => l.syn);
      const between = d3.zip(packets, syns).map(([p, s]) => ({ index: p.index, color: p.color, a: p.value, b: s.value }));
      const show = (l) => (known(l) ? d3.format(".2f")(l * 100) : "–");
      const largest = d3.max([...packets, ...syns], (d) => d.high);
      return rowChart(width, {
        largest,
        unit: "%",
        right: 82,
        marks: [
          Plot.ruleY(between, { y: "index", x1: "a", x2: "b", stroke: "color", strokeOpacity: 0.35, strokeWidth: 3 }),
          whisker(packets.filter(present((l) => l.all)), { strokeOpacity: 0.6 }),
          whisker(syns.filter(present((l) => l.syn)), { strokeOpacity: 0.6 }),
          Plot.dot(packets.filter(present((l) => l.all)), { y: "index", x: "value", fill: "color", r: 4.5 }),
          Plot.dot(syns.filter(present((l) => l.syn)), { y: "index", x: "value", fill: "var(--surface)", stroke: "color", strokeWidth: 2, r: 4.5 }),
          Plot.text(schemes, {
            y: "index",
            frameAnchor: "right",
            textAnchor: "end",
            dx: 80,
            text: ({ result: { loss } }) => `${show(loss.all)} / ${show(loss.syn)}`,
            fill: "var(--muted)",
            fontVariant: "tabular-nums",
          }),
          rowTip(packets),
        ],
      });
    });
  }

  function drawRows() {
    timeBars("response", ({ response_time_s: r, completed, connections }) => ({
      ...r,
      tip: [
        `mean ${interval(r.mean, r.ci95, time)}`,
        `p50 ${time(r.p50)}\np95 ${time(r.p95)}\np99 ${time(r.p99)}`,
        `${d3.format(",")(completed)} of ${d3.format(",")(connections)} completed`,
      ].join("\n"),
    }));
    timeBars("retransmission", ({ retransmission: r, retransmission_ci95: ci }) => ({
      mean: r.delay_mean_s,
      ci95: ci.delay_mean_s,
      part: r.delay_mean_syn_part_s,
      tip: [
        `mean ${interval(r.delay_mean_s, ci.delay_mean_s, time)}`,
        `for SYN, SYN/ACK ${interval(r.delay_mean_syn_part_s, ci.delay_mean_syn_part_s, time)}`,
        `with SYN loss ${time(r.delay_mean_with_syn_loss_s)}\nwithout ${time(r.delay_mean_without_syn_loss_s)}`,
      ].join("\n"),
    }));
    timeBars("rtt", ({ rtt_s: r }) => ({ ...r, tip: `mean ${interval(r.mean, r.ci95, time)}` }));
    lossDots();
  }

  // ---- One line a scheme.

  function lineChart(id, { points, x, y, extra }) {
    draw(element(id), (width) => {
      const series = visible().map((scheme) => ({ scheme, data: points(scheme) })).filter((s) => s.data.length);
      if (!series.length) return nothing(shown.size ? "No observations." : "Choose a scheme above.");
      const everything = series.flatMap((s) => s.data);
      const scaleX = x(everything, width / 70);
      const scaleY = y(everything, 5);
      const axis = { tickSize: 0, color: "var(--muted)" };
      return Plot.plot({
        width,
        height: Math.min(400, Math.max(280, width * 0.62)),
        marginLeft: 58,
        marginRight: 16,
        marginTop: 12,
        marginBottom: 42,
        style,
        x: { type: scaleX.type, domain: scaleX.domain },
        y: { type: scaleY.type, domain: scaleY.domain },
        marks: [
          Plot.gridX(scaleX.ticks, { stroke: "var(--rule)", strokeOpacity: 1 }),
          Plot.gridY(scaleY.ticks, { stroke: "var(--rule)", strokeOpacity: 1 }),
          Plot.axisX(scaleX.ticks, { ...axis, text: scaleX.text, label: scaleX.label, ...centred }),
          Plot.axisY(scaleY.ticks, { ...axis, text: scaleY.text, label: null }),
          series.map(({ scheme, data }) => [
            extra ? extra(scheme, data) : null,
            Plot.line(data, {
              x: "x",
              y: "y",
              stroke: scheme.color,
              strokeWidth: highlighted === scheme ? 3 : 2,
              strokeDasharray: scheme.dash,
              strokeOpacity: opacity(scheme),
              clip: true,
            }),
          ]),
          Plot.tip(everything, Plot.pointer({ x: "x", y: "y", title: "title", maxRadius: 60, ...tipLook })),
        ],
      });
    });
  }

  const linear = (high, options) => ({ type: "linear", domain: [0, high], ticks: d3.ticks(0, high, 5), ...options });
  const logarithmic = (values, room, options) => {
    const domain = d3.extent(values);
    // A single value has no extent.
    if (domain[0] === domain[1]) domain[1] *= 2;
    return { type: "log", domain, ticks: logTicks(domain, room), ...options };
  };
  const shares = () => linear(1, { ticks: d3.ticks(0, 1, 4), text: d3.format(".0%") });
  const cdf = (scheme, curve, what) =>
    curve.map(([value, fraction]) => ({
      x: value,
      y: fraction,
      title: `${scheme.label}\n${percent(fraction)} of ${what}\nwithin ${time(value)}`,
    }));

  function drawLines() {
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
            title: `${scheme.label}\n${sizes(bin)}\n${interval(bin.mean_s, bin.ci95_s, time)}\n${d3.format(",")(bin.n)} connections`,
          })),
      x: (all, room) => logarithmic(all.map((d) => d.x), room, { label: "segments", text: d3.format(",d") }),
      y: (all, room) => logarithmic(all.flatMap((d) => (d.whisker ? [d.low, d.high] : [d.y])), room, { text: time }),
      extra: (scheme, data) => [
        Plot.ruleX(data.filter((d) => d.whisker), { x: "x", y1: "low", y2: "high", stroke: scheme.color, strokeOpacity: 0.4 * opacity(scheme) }),
        Plot.dot(data, { x: "x", y: "y", symbol: scheme.symbol, fill: "var(--surface)", stroke: scheme.color, r: 3, strokeOpacity: opacity(scheme) }),
      ],
    });
    lineChart("response-cdf", {
      points: (scheme) => cdf(scheme, scheme.result.curves.response_time_cdf, "connections").filter((d) => d.x > 0),
      x: (all, room) => logarithmic(all.map((d) => d.x), room, { label: "response time", text: time }),
      y: shares,
    });
    lineChart("queue-cdf", {
      points: (scheme) => cdf(scheme, scheme.result.curves.queue_delay_cdf, "packets"),
      // The longest of a thousand packets would squeeze all others.
      x: (all) => linear(d3.max(all.filter((d) => d.y <= 0.999), (d) => d.x) || 1e-3, { label: "time in the queue", text: time }),
      y: shares,
    });
    queueOverTime();
  }

  function queueOverTime() {
    draw(element("queue-time"), (width) => {
      const some = visible().filter((s) => s.result.curves.queue_over_time.some((p) => known(p.mean_s)));
      if (!some.length) return nothing(shown.size ? "No observations." : "Choose a scheme above.");
      const data = some.flatMap((scheme) =>
        scheme.result.curves.queue_over_time.map((p) => ({
          index: scheme.index,
          t: p.t_s,
          mean: p.mean_s ?? NaN,
          max: p.max_s ?? NaN,
          title: `${scheme.label}\nat ${significant(p.t_s)} s\nmean ${time(p.mean_s)}\nlongest ${time(p.max_s)}`,
        })),
      );
      const high = d3.max(data, (d) => d.max) || 1e-3;
      const times = d3.extent(data, (d) => d.t);
      const color = (rows) => schemes[data[rows[0]].index].color;
      return Plot.plot({
        width,
        // Few schemes share about the height of the two charts beside them.
        height: some.length * Math.max(82, Math.min(width * 0.45, 680 / some.length)) + 62,
        marginLeft: 58,
        marginRight: 16,
        marginTop: 20,
        marginBottom: 42,
        style,
        x: { domain: times },
        y: { domain: [0, high], label: null },
        fy: { domain: some.map((s) => s.index), label: null, axis: null, padding: Math.min(0.36, 0.09 * some.length) },
        marks: [
          Plot.gridY([0, high / 2, high], { stroke: "var(--rule)", strokeOpacity: 1 }),
          Plot.axisX({ ticks: width / 90, tickSize: 0, color: "var(--muted)", label: "seconds", ...centred }),
          Plot.axisY([0, high], { tickSize: 0, color: "var(--muted)", tickFormat: (v) => (v === 0 ? "0" : time(v)) }),
          some.map((scheme) => {
            const own = data.filter((d) => d.index === scheme.index);
            const place = { x: "t", fy: "index" };
            return [
              Plot.areaY(own, { ...place, y1: 0, y2: "max", fill: scheme.color, fillOpacity: 0.2 * opacity(scheme) }),
              Plot.lineY(own, { ...place, y: "mean", stroke: scheme.color, strokeWidth: 1.5, strokeOpacity: opacity(scheme) }),
            ];
          }),
          Plot.text(some, { fy: "index", text: "label", frameAnchor: "top-left", dy: -16, lineWidth: (width - 74) / 12, textOverflow: "ellipsis", fill: "var(--ink)" }),
          Plot.tip(data, Plot.pointerX({ x: "t", y: "mean", fy: "index", title: "title", ...tipLook })),
        ],
      });
    });
  }

  // ---- Choosing schemes.

  function legend() {
    const buttons = schemes.map((scheme) => {
      const button = document.createElement("button");
      button.type = "button";
      const sample = d3.create("svg").attr("viewBox", "0 0 24 10").attr("width", 24).attr("height", 10).attr("aria-hidden", "true");
      sample.append("line").attr("x1", 0).attr("x2", 24).attr("y1", 5).attr("y2", 5)
        .attr("stroke-width", 2.5).attr("stroke-dasharray", scheme.dash).style("stroke", scheme.color);
      sample.append("path").attr("transform", "translate(12,5)").style("fill", "var(--surface)").style("stroke", scheme.color)
        .attr("stroke-width", 1.5).attr("d", d3.symbol(symbolType(scheme.symbol), 36));
      button.append(sample.node(), scheme.label);
      button.addEventListener("click", () => {
        if (!shown.delete(scheme)) shown.add(scheme);
        update();
      });
      const highlight = (on) => () => {
        const wanted = on && shown.has(scheme) ? scheme : null;
        if (wanted !== highlighted) {
          highlighted = wanted;
          drawLines();
        }
      };
      button.addEventListener("mouseenter", highlight(true));
      button.addEventListener("mouseleave", highlight(false));
      return button;
    });
    const choose = (text, choice) => {
      const button = Object.assign(document.createElement("button"), { type: "button", className: "plain", textContent: text });
      button.addEventListener("click", () => {
        shown = new Set(choice);
        update();
      });
      return button;
    };
    const update = () => {
      highlighted = null;
      buttons.forEach((button, i) => button.setAttribute("aria-pressed", shown.has(schemes[i])));
      drawLines();
    };
    const choices = [choose("all", schemes), choose("none", [])];
    if (schemes.length > firstChoice.length) choices.splice(1, 0, choose("selection", firstChoice));
    element("legend").replaceChildren(...buttons, ...(schemes.length > 1 ? choices : []));
    update();
  }

  function symbolType(name) {
    return d3[`symbol${name[0].toUpperCase()}${name.slice(1)}`];
  }

  themeButton();
  if (!results.length) return;
  for (const part of document.querySelectorAll(".scripted")) part.hidden = false;
  document.querySelector(".intervals").hidden = !results.some((r) => known(r.response_time_s.ci95));
  sortable(document.querySelector("table"));
  legend();
  drawRows();
  element("sort").addEventListener("change", drawRows);

  onWidth(() => {
    drawRows();
    drawLines();
  });
})();
