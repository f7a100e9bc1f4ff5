// Charts with a row for each scheme.
const rowCharts = (() => {
  const { known, time, timeUnit, times, timeWithInterval, percent, interval, fixed, style, centred, tipLook, draw, rowHeight, fromZero, whisker } = charts;
  const { comparison, all } = schemes;
  const element = (id) => document.getElementById(id);

  /** A horizontal chart; `marks` are what stands in the rows, which come in `order`. */
  function rowChart(width, { order, domain, unit, marks, right }) {
    const wanted = d3.max(all, (s) => s.label.length) * 6.9 + 12;
    const left = Math.min(wanted, width * 0.4);
    const room = Math.floor((left - 12) / 6.9);
    const ticks = Math.max(2, (width - left - right) / 80);
    const short = (label) => (label.length > room ? `${label.slice(0, room - 1)}…` : label);
    return Plot.plot({
      width,
      height: order.length * rowHeight() + 44,
      marginLeft: left,
      marginRight: right,
      marginTop: 4,
      marginBottom: 40,
      style,
      x: { domain },
      y: { type: "band", domain: order.map((s) => s.index), label: null, padding: 0.3 },
      marks: [
        Plot.gridX({ stroke: "var(--rule)", strokeOpacity: 1, ticks }),
        Plot.axisX({ ticks, tickSize: 0, color: "var(--muted)", label: unit, ...centred }),
        Plot.axisY({ tickSize: 0, tickFormat: (i) => short(all[i].label), color: "var(--ink)" }),
        marks,
      ],
    });
  }

  const asChosen = () => (element("sort").checked ? d3.sort(all, (s) => s.result.response_time_s.mean ?? Infinity) : all);
  const rowTip = (data) => Plot.tip(data, Plot.pointerY({ y: "index", x: "value", title: "title", ...tipLook }));

  const measuredRow = (scheme, value, ci95, factor, title) => ({
    index: scheme.index,
    color: scheme.color,
    value: known(value) ? value * factor : 0,
    ci95,
    low: (value - ci95) * factor,
    high: (value + (ci95 ?? 0)) * factor,
    title: `${scheme.label}\n${title}`,
  });

  /** The lowest and the highest of `rows`, which have `index`, `value` and `missing`, in words. */
  function extremes(rows, show) {
    const present = rows.filter((row) => !row.missing);
    if (!present.length) return "no values";
    const text = (row) => `${all[row.index].label} ${show(row.value)}`;
    return `from ${text(d3.least(present, (row) => row.value))} to ${text(d3.greatest(present, (row) => row.value))}`;
  }

  /** Interval of a value `by` the ratio to the reference: the interval on which the verdict rests. */
  const against95 = (reference, { factor, factor_ci95: half }, by) =>
    known(reference) && known(factor) && known(half)
      ? { ci95: half, low: (reference / (factor + half)) * by, high: factor > half ? (reference / (factor - half)) * by : Infinity }
      : {};

  // ---- The headline: how long the shortest connections take, and how many times as fast that is as under the reference.

  function headline() {
    const paired = (scheme) => scheme.result.paired[comparison.headline] ?? {};
    const bin = (scheme) => scheme.result.response_time_by_size[0] ?? {};
    const unit = timeUnit(d3.max(all, (s) => bin(s).mean_s) ?? 1);
    const show = fixed(d3.max(all, (s) => bin(s).mean_s) * unit.factor);
    const order = d3.sort(all, (s) => bin(s).mean_s ?? Infinity);
    const of = all.find((scheme) => scheme.label === comparison.reference);
    const rows = order.map((scheme) => {
      const { difference, ci95, factor, factor_ci95, verdict, best, undecided } = paired(scheme);
      const { mean_s: mean, n } = bin(scheme);
      const isReference = scheme === of;
      const [shownDifference, halfWidth] = times([difference, ci95]);
      const against = isReference
        ? "the reference"
        : known(difference)
          ? `${difference > 0 ? "+" : ""}${shownDifference}${known(ci95) ? ` ± ${halfWidth}` : ""} against ${comparison.reference}${known(ci95) && !verdict ? ": may be chance" : ""}`
          : `no pair with ${comparison.reference}`;
      const standing = best ? ["the best, or within 1 % of it"] : undecided ? ["the seeds cannot tell it from the best"] : [];
      const faster = verdict === "better" && factor >= 1.05;
      const text = known(mean) ? show(mean * unit.factor) : "–";
      return {
        ...measuredRow(scheme, mean, null, unit.factor, ""),
        ...against95(bin(of).mean_s, paired(scheme), unit.factor),
        missing: !known(mean),
        text: faster ? `${text} (${factor.toFixed(1)}×)` : text,
        title: [
          scheme.label,
          time(mean),
          against,
          ...(faster ? [`${factor.toFixed(2)}${known(factor_ci95) ? ` ± ${factor_ci95.toFixed(2)}` : ""} times as fast`] : []),
          ...standing,
          `${d3.format(",")(n ?? 0)} connections`,
        ].join("\n"),
      };
    });
    const reference = rows.find((row) => all[row.index] === of && !row.missing);
    const domain = fromZero(rows);
    const plot = (width) =>
      rowChart(width, {
        order,
        domain,
        unit: unit.name,
        right: 96,
        marks: [
          Plot.barX(rows, { y: "index", x: "value", fill: "color", rx2: 2 }),
          reference ? Plot.ruleX([reference.value], { stroke: "var(--ink)", strokeDasharray: "3 3" }) : null,
          whisker(rows, "index", domain),
          Plot.text(rows, {
            y: "index",
            frameAnchor: "right",
            textAnchor: "end",
            dx: 94,
            text: "text",
            fill: "var(--ink)",
            fontVariant: "tabular-nums",
          }),
          rowTip(rows),
        ],
      });
    draw(element("headline"), plot, { say: () => extremes(rows, (value) => `${show(value)} ${unit.name}`) });
  }

  // ---- All connections.

  /** Bars of a mean time; where `part` is given it is drawn solid and the rest faint. */
  function timeBars(id, read) {
    const rows = all.map((scheme) => ({ scheme, ...read(scheme.result) }));
    const unit = timeUnit(d3.max(rows, (d) => d.mean) ?? 1);
    const data = rows.map(({ scheme, mean, ci95, part, tip }) => ({
      ...measuredRow(scheme, mean, ci95, unit.factor, tip),
      part: (part ?? 0) * unit.factor,
      missing: !known(mean),
    }));
    const domain = fromZero(data);
    const show = fixed(domain[1]);
    const faint = rows.some((d) => d.part !== undefined);
    const plot = (width) =>
      rowChart(width, {
        order: asChosen(),
        domain,
        unit: unit.name,
        right: 52,
        marks: [
          Plot.barX(data, { y: "index", x: "value", fill: "color", stroke: faint ? "color" : null, fillOpacity: faint ? 0.25 : 1, rx2: 2 }),
          faint ? Plot.barX(data, { y: "index", x: "part", fill: "color" }) : null,
          whisker(data, "index", domain),
          Plot.text(data, {
            y: "index",
            x: (d) => Math.max(d.value, Math.min(d.high || 0, domain[1])),
            text: (d) => (d.missing ? "–" : show(d.value)),
            textAnchor: "start",
            dx: 7,
            fill: "var(--muted)",
            fontVariant: "tabular-nums",
          }),
          rowTip(data),
        ],
      });
    draw(element(id), plot, { say: () => extremes(data, (value) => `${show(value)} ${unit.name}`) });
  }

  function lossDots() {
    const handshakes = () =>
      all.map(({ index, result: { links: { down: { loss } } } }) => ({ index, value: loss.handshake, missing: !known(loss.handshake) }));
    draw(element("loss"), (width) => {
      const kinds = { all: "all packets", data: "data", handshake: "SYN and SYN/ACK", syn: "SYN", synack: "SYN/ACK" };
      const rows = (read) =>
        all.map((scheme) => {
          const { loss, loss_ci95 } = scheme.result.links.down;
          const title = Object.entries(kinds).map(([kind, name]) => `${name}: ${interval(loss[kind], loss_ci95[kind], percent)}`);
          return measuredRow(scheme, read(loss), read(loss_ci95), 100, title.join("\n"));
        });
      const present = (read) => (d) => known(read(all[d.index].result.links.down.loss));
      const packets = rows((l) => l.all);
      const syns = rows((l) => l.handshake);
      const between = d3.zip(packets, syns).map(([p, s]) => ({ index: p.index, color: p.color, a: p.value, b: s.value }));
      const show = (l) => (known(l) ? d3.format(".2f")(l * 100) : "–");
      const domain = fromZero([...packets, ...syns]);
      return rowChart(width, {
        order: asChosen(),
        domain,
        unit: "%",
        right: 82,
        marks: [
          Plot.ruleY(between, { y: "index", x1: "a", x2: "b", stroke: "color", strokeWidth: 1 }),
          whisker(packets.filter(present((l) => l.all)), "index", domain),
          whisker(syns.filter(present((l) => l.handshake)), "index", domain),
          Plot.dot(packets.filter(present((l) => l.all)), { y: "index", x: "value", fill: "color", r: 4.5 }),
          Plot.dot(syns.filter(present((l) => l.handshake)), { y: "index", x: "value", fill: "var(--surface)", stroke: "color", strokeWidth: 2, r: 4.5 }),
          Plot.text(all, {
            y: "index",
            frameAnchor: "right",
            textAnchor: "end",
            dx: 80,
            text: ({ result: { links: { down: { loss } } } }) => `${show(loss.all)} / ${show(loss.handshake)}`,
            fill: "var(--muted)",
            fontVariant: "tabular-nums",
          }),
          rowTip(packets),
        ],
      });
    }, { say: () => `SYN and SYN/ACK ${extremes(handshakes(), (value) => percent(value))}` });
  }

  function drawRows() {
    headline();
    timeBars("response", ({ response_time_s: r, completed, connections }) => {
      const [mean, ci95, p50, p95, p99] = times([r.mean, r.ci95, r.p50, r.p95, r.p99]);
      return {
        ...r,
        tip: [
          `mean ${mean}${known(r.ci95) ? ` ± ${ci95}` : ""}`,
          `p50 ${p50}\np95 ${p95}\np99 ${p99}`,
          `${d3.format(",")(completed)} of ${d3.format(",")(connections)} completed`,
        ].join("\n"),
      };
    });
    timeBars("retransmission", ({ retransmission: r, retransmission_ci95: ci }) => {
      const [mean, ci95, part, partCi95, withLoss, without] = times([
        r.delay_mean_s, ci.delay_mean_s, r.delay_mean_syn_part_s, ci.delay_mean_syn_part_s, r.delay_mean_with_syn_loss_s,
        r.delay_mean_without_syn_loss_s,
      ]);
      const either = (value, halfWidth, known95) => `${value}${known(known95) ? ` ± ${halfWidth}` : ""}`;
      return {
        mean: r.delay_mean_s,
        ci95: ci.delay_mean_s,
        part: r.delay_mean_syn_part_s,
        tip: [
          `mean ${either(mean, ci95, ci.delay_mean_s)}`,
          `for SYN, SYN/ACK ${either(part, partCi95, ci.delay_mean_syn_part_s)}`,
          `with SYN loss ${withLoss}\nwithout ${without}`,
        ].join("\n"),
      };
    });
    timeBars("rtt", ({ rtt_s: r }) => ({ ...r, tip: `mean ${timeWithInterval(r.mean, r.ci95)}` }));
    lossDots();
  }

  return { drawRows, rowChart, rowTip, against95, extremes, measuredRow };
})();
