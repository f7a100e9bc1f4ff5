// Draws the charts of analyses from the JSON in the page, at the places that each article has for them.
(() => {
  const { known, time, timeWithInterval, percent, fixed, timeUnit, style, centred, tipLook, draw, nothing, logTicks, fromZero, whisker, onWidth } = charts;
  const analyses = JSON.parse(document.getElementById("data").textContent);
  const count = d3.format(",d");
  const axis = { tickSize: 0, color: "var(--muted)" };
  const grid = { stroke: "var(--rule)", strokeOpacity: 1 };

  // ---- Time between duplicates (handshake-2009, Figs. 1 and 2).

  // Families of standard intervals, a row of labels each, so that neighbours such as 3 s and 4 s do not collide.
  const FAMILIES = [
    { first: 1, name: "1 s and doubled:" },
    { first: 3, name: "3 s and doubled:" },
  ];
  const family = (s) => FAMILIES.findIndex(({ first }) => Number.isInteger(Math.log2(s / first)) && s >= first);
  // Shorter intervals share the first bar: only the capture itself makes copies that fast.
  const SHORTEST_S = 1e-3;
  // Minimum width of a bar, pixels.
  const BAR = 4;

  /** Merges adjacent bins until each is wide enough for a bar. */
  function legible(bins, x) {
    const bars = [];
    for (const bin of bins) {
      const from = Math.max(bin.from_s, SHORTEST_S);
      const to = Math.max(bin.to_s, from * 1.02);
      const last = bars.at(-1);
      if (last && bin.near === last.near && x(from) - x(last.from) < BAR) {
        last.to = Math.max(last.to, to);
        last.count += bin.count;
      } else {
        bars.push({ from, to, count: bin.count, near: bin.near, shortest: bin.from_s < SHORTEST_S });
      }
    }
    for (const bar of bars) {
      const missing = BAR - (x(bar.to) - x(bar.from));
      bar.x1 = x(bar.from) - Math.max(0, missing / 2);
      bar.x2 = x(bar.to) + Math.max(0, missing / 2);
    }
    return bars;
  }

  function intervals(place, { intervals: all }, segment) {
    const { bins, standard, total } = all[segment];
    const say = () => `${count(total)} duplicates, ${count(d3.sum(standard, (s) => s.count ?? 0))} near standard intervals`;
    const near = (s) =>
      standard.find(({ interval_s: nominal }) => Math.abs(s - nominal) <= Math.max(nominal * all.tolerance, all.tolerance_floor_s));
    draw(place, (width) => {
      if (!total) return nothing("No duplicates.");
      // Both histograms share an axis, which covers all intervals with a margin.
      const both = [...all.syn.bins, ...all.synack.bins];
      const shortest = Math.max(SHORTEST_S, d3.min(both, (b) => b.from_s));
      const domain = [shortest / 1.5, Math.max(d3.max(both, (b) => b.to_s), 4 * shortest) * 1.5];
      const margins = { marginLeft: 52, marginRight: 14, marginTop: 54, marginBottom: 42 };
      const x = d3.scaleLog(domain, [margins.marginLeft, width - margins.marginRight]);
      const bars = legible(
        bins.map((bin) => ({ ...bin, near: near((bin.from_s + bin.to_s) / 2) !== undefined })),
        x,
      );
      const highest = d3.max(bars, (b) => b.count);
      const height = (n) => Math.sqrt(n / highest) * 145;
      // Round numbers, from the top down, while there is room between them.
      const ticks = [0];
      for (let power = Math.floor(Math.log10(highest)); power >= 0; power -= 1) {
        for (const n of [5, 2, 1].map((step) => step * 10 ** power)) {
          const above = ticks.length > 1 ? height(ticks.at(-1)) : Infinity;
          if (n <= highest && height(n) > 13 && above - height(n) > 20) ticks.push(n);
        }
      }
      const marks = standard.filter((s) => s.interval_s >= domain[0] && s.interval_s <= domain[1]);
      const rows = marks.map((s) => ({ ...s, row: Math.max(0, family(s.interval_s)) }));
      const title = (b) =>
        `${b.shortest ? `up to ${time(b.to)}` : `${time(b.from)} to ${time(b.to)}`}\n${count(b.count)} of ${count(total)}\n${
          b.near ? `near ${d3.format(".3~g")(near((b.from + b.to) / 2)?.interval_s ?? b.from)} s` : "near no standard interval"
        }`;
      return Plot.plot({
        width,
        height: 250,
        ...margins,
        style,
        x: { type: "log", domain },
        // Square-root scale: sampling noise has the same height on all bars, and a single interval is visible beside a thousand.
        y: { type: "sqrt", domain: [0, highest * 1.08] },
        marks: [
          Plot.gridY(ticks, grid),
          Plot.axisX(logTicks(domain, width / 62), { ...axis, text: time, label: "time since the previous one", ...centred }),
          Plot.axisY(ticks, { ...axis, tickFormat: d3.format(",~s"), label: null }),
          Plot.ruleX(rows, { x: "interval_s", stroke: "var(--near)", strokeDasharray: "2 3", insetTop: -14 }),
          FAMILIES.map(({ name }, row) => [
            Plot.text(rows.filter((s) => s.row === row), {
              x: "interval_s",
              text: (s) => d3.format(".3~g")(s.interval_s),
              frameAnchor: "top",
              dy: -18 - 15 * (FAMILIES.length - 1 - row),
              fill: "var(--near)",
              fontSize: width < 480 ? 10 : 12,
              fontWeight: 600,
            }),
            rows.some((s) => s.row === row)
              ? Plot.text([name], { frameAnchor: "top-left", dy: -24 - 15 * (FAMILIES.length - 1 - row), fill: "var(--muted)" })
              : null,
          ]),
          Plot.rect(bars, {
            x1: (b) => x.invert(b.x1),
            x2: (b) => x.invert(b.x2),
            y1: 0,
            y2: "count",
            fill: (b) => (b.near ? "var(--near)" : "var(--stray)"),
            insetLeft: 0.5,
            insetRight: 0.5,
          }),
          Plot.ruleY([0], { stroke: "var(--muted)" }),
          Plot.tip(bars, Plot.pointerX({ x: (b) => x.invert((b.x1 + b.x2) / 2), y: "count", title, maxRadius: 30, ...tipLook })),
        ],
      });
    }, { say });
  }

  // ---- Timeline: four charts with a common time axis.

  const SPANS = [
    { factor: 1, name: "seconds", upTo: 300 },
    { factor: 1 / 60, name: "minutes", upTo: 3 * 3600 },
    { factor: 1 / 3600, name: "hours", upTo: 3 * 86400 },
    { factor: 1 / 86400, name: "days", upTo: Infinity },
  ];

  function timeline(place, { timeline: { bin_s, bins } }) {
    const span = d3.max(bins, (b) => b.t_s) + bin_s;
    const unit = SPANS.find((s) => span <= s.upTo);
    const from = (b) => b.t_s * unit.factor;
    const to = (b) => (b.t_s + bin_s) * unit.factor;
    const per = `per ${time(bin_s)}`;
    const rows = [
      { name: `connection attempts ${per}`, of: (b) => b.attempts, show: d3.format(",~s"), color: "var(--calm)" },
      { name: `SYNs and SYN/ACKs sent again ${per}`, of: (b) => b.handshake_retransmissions, show: d3.format(",~s"), color: "var(--loss)" },
      { name: `time lost in handshakes ${per}`, of: (b) => b.time_lost_s, show: time, color: "var(--stray)" },
      { name: "throughput, bits per second", of: (b) => (b.wire_bytes * 8) / bin_s, show: d3.format(",.2~s"), color: "var(--near)" },
    ];
    const plot = (width, zoom) => {
      const box = document.createElement("div");
      const domain = zoom ?? [0, span * unit.factor];
      const inside = bins.filter((b) => to(b) > domain[0] && from(b) < domain[1]);
      rows.forEach((row, i) => {
        const last = i === rows.length - 1;
        const high = d3.max(inside, row.of) || 1;
        const image = Plot.plot({
          width,
          height: last ? 122 : 92,
          marginLeft: 58,
          marginRight: 16,
          marginTop: 26,
          marginBottom: last ? 42 : 12,
          style,
          x: { domain, axis: null },
          y: { domain: [0, high] },
          marks: [
            Plot.gridY([0, high / 2, high], grid),
            Plot.axisY([0, high], { ...axis, tickFormat: (v) => (v === 0 ? "0" : row.show(v)), label: null }),
            last ? Plot.axisX({ ...axis, ticks: width / 90, label: `${unit.name} since the first packet`, ...centred }) : null,
            Plot.rect(inside, { x1: from, x2: to, y1: 0, y2: row.of, fill: row.color, clip: true }),
            Plot.text([row.name], { frameAnchor: "top-left", dy: -20, fill: "var(--ink)" }),
          ],
        });
        image.dataset.part = row.name;
        box.append(image);
      });
      return box;
    };
    const read = (x) => {
      const bin = bins.find((b) => from(b) <= x && x < to(b));
      const start = `From ${d3.format(",.3~r")(bin ? from(bin) : x)} ${unit.name} on`;
      if (!bin) return { x, text: `${start}: nothing` };
      const parts = [
        `${count(bin.attempts)} attempts`,
        `${count(bin.handshake_retransmissions)} SYNs and SYN/ACKs sent again`,
        `${time(bin.time_lost_s)} lost`,
        `${count(bin.other_retransmissions)} of ${count(bin.segments)} other segments sent again`,
        `${d3.format(",.3~s")((bin.wire_bytes * 8) / bin_s)}b/s`,
      ];
      return { x: (from(bin) + to(bin)) / 2, text: `${start}: ${parts.join(", ")}` };
    };
    const sum = (of) => d3.sum(bins, of);
    const say = () => `${count(sum((b) => b.attempts))} attempts, ${count(sum((b) => b.handshake_retransmissions))} SYNs and SYN/ACKs sent again, ${time(sum((b) => b.time_lost_s))} lost in ${time(span)}`;
    draw(place, plot, { zoom: true, read, say });
  }

  // ---- Directions (spa-2018, section III).

  /** Horizontal bars, grouped by direction: rows of { group, name, value, ci95, color, title }. */
  function bars(place, groups, { unit, show }) {
    const all = groups.flatMap((group) => group.rows);
    const domain = fromZero(all);
    const largest = d3.greatest(all.filter((row) => !row.missing), (row) => row.value);
    const say = () => (largest ? `at most ${show(largest.value)} ${unit} (${largest.name})` : "no values");
    draw(place, (width) => {
      const left = Math.min(170, Math.max(130, width * 0.3));
      const right = 58;
      const ticks = Math.max(2, (width - left - right) / 80);
      const box = document.createElement("div");
      groups.forEach(({ name, rows }, i) => {
        const last = i === groups.length - 1;
        const image = Plot.plot({
            width,
            height: rows.length * 24 + 26 + (last ? 40 : 8),
            marginLeft: left,
            marginRight: right,
            marginTop: 26,
            marginBottom: last ? 40 : 8,
            style,
            x: { domain, axis: null },
            y: { type: "band", domain: rows.map((r) => r.name), label: null, padding: 0.3 },
            marks: [
              Plot.gridX({ ...grid, ticks }),
              last ? Plot.axisX({ ...axis, ticks, label: unit, ...centred }) : null,
              Plot.axisY({ tickSize: 0, color: "var(--ink)" }),
              Plot.text([name], { frameAnchor: "top-left", dx: -left + 2, dy: -22, fill: "var(--ink)", fontWeight: 600, lineWidth: (width - 10) / 13.5, textOverflow: "ellipsis" }),
              Plot.barX(rows, { y: "name", x: "value", fill: "color", rx2: 2 }),
              whisker(rows, "name", domain),
              Plot.text(rows, {
                y: "name",
                x: (r) => Math.max(r.value, Math.min(r.high, domain[1])),
                text: (r) => (r.missing ? "–" : show(r.value)),
                textAnchor: "start",
                dx: 7,
                fill: "var(--muted)",
                fontVariant: "tabular-nums",
              }),
              Plot.tip(rows, Plot.pointerY({ y: "name", x: "value", title: "title", ...tipLook })),
            ],
          });
        image.dataset.part = name;
        box.append(image);
      });
      return box;
    }, { say });
  }

  const row = (name, value, ci95, factor, color, title) => ({
    name,
    value: (value ?? 0) * factor,
    missing: !known(value),
    ci95,
    low: (value - ci95) * factor,
    high: (value + (ci95 ?? 0)) * factor,
    color,
    title,
  });

  const seen = (analysis) => analysis.directions.filter((d) => d.packets > 0);

  function delay(place, analysis) {
    const kinds = [
      ["all", "all connections", "var(--calm)"],
      ["with_handshake_loss", "with handshake loss", "var(--loss)"],
      ["without_handshake_loss", "without", "var(--near)"],
    ];
    const means = seen(analysis).flatMap((d) => kinds.map(([kind]) => d.retransmission_delay_sum_s.detail[kind]));
    const largest = d3.max(means, (m) => (m.mean ?? 0) + (m.ci95 ?? 0));
    const unit = timeUnit(largest);
    const groups = seen(analysis).map((d) => ({
      name: d.name,
      rows: kinds.map(([kind, name, color]) => {
        const { n, mean, ci95 } = d.retransmission_delay_sum_s.detail[kind];
        return row(name, mean, ci95, unit.factor, color, `${d.name}, ${name}\n${timeWithInterval(mean, ci95)}\n${count(n)} connections`);
      }),
    }));
    bars(place, groups, { unit: unit.name, show: fixed(largest * unit.factor) });
  }

  function probability(place, analysis) {
    const kinds = [
      ["packet_retransmission_probability", "all segments", "var(--calm)"],
      ["syn_retransmission_probability", "SYNs, SYN/ACKs", "var(--loss)"],
    ];
    const groups = seen(analysis).map((d) => ({
      name: d.name,
      rows: kinds.map(([kind, name, color]) =>
        row(name, d[kind], null, 100, color, `${d.name}, ${name}\n${percent(d[kind])} retransmitted\nSYNs and SYN/ACKs are ${percent(d.syn_share_of_retransmissions)} of all retransmissions`),
      ),
    }));
    bars(place, groups, { unit: "%", show: d3.format(".2f") });
  }

  // ---- Placement of the charts.

  const drawers = {
    delay,
    probability,
    timeline,
    "syn-intervals": (place, analysis) => intervals(place, analysis, "syn"),
    "synack-intervals": (place, analysis) => intervals(place, analysis, "synack"),
  };

  function drawAll() {
    analyses.forEach((analysis, i) => {
      for (const place of document.querySelectorAll(`#analysis-${i} [data-chart]`)) drawers[place.dataset.chart](place, analysis);
    });
  }

  tools.themeButton();
  tools.copyButtons();
  for (const part of document.querySelectorAll(".scripted")) part.hidden = false;
  tools.scrollCues();
  tools.downloads("gentle-analyze");
  drawAll();
  onWidth(drawAll);
})();
