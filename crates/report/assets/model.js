// The page of the response-time model: response time, and its increase by a lost SYN, over the size of the transfer.
(() => {
  const { time, percent, frame, centred, tipLook, draw, logTicks, apart } = charts;
  const prediction = JSON.parse(document.getElementById("data").textContent);
  const rto = ({ initial_rto_s }) => `RTO ${time(initial_rto_s)}`;
  const segments = d3.format(",~r");

  /** Lines over sizes: `lines` have `label`, `color`, `dash` and `points` {x, y}. */
  function chart(id, lines, { type, text }) {
    const everything = lines.flatMap((line) => line.points.map((point) => ({ ...point, title: `${line.label}\n${segments(point.x)} segments\n${text(point.y)}` })));
    const plot = (width) => {
      const sizes = d3.extent(everything, (d) => d.x);
      if (sizes[0] === sizes[1]) sizes[1] *= 2;
      const values = type === "log" ? d3.extent(everything, (d) => d.y) : [0, d3.max(everything, (d) => d.y)];
      const ticks = { x: logTicks(sizes, width / 70), y: type === "log" ? logTicks(values, 5) : d3.ticks(...values, 5) };
      const axis = { tickSize: 0, color: "var(--muted)" };
      const { height, marginTop, marginBottom } = frame(width);
      const scale = (type === "log" ? d3.scaleLog : d3.scaleLinear)(values, [height - marginBottom, marginTop]);
      // Each name at the left end of its line, where lines are farthest apart.
      const named = d3.sort(lines, ({ points }) => scale(points[0].y));
      const places = apart(named.map(({ points }) => scale(points[0].y)), 14, marginTop);
      const names = named.map(({ label, color }, i) => ({ label, color, y: scale.invert(places[i]) }));
      const marginLeft = 14 + 6.6 * d3.max(names, (d) => d.label.length);
      return Plot.plot({
        ...frame(width),
        marginLeft,
        marginRight: 56,
        x: { type: "log", domain: sizes },
        y: { type, domain: values },
        marks: [
          Plot.gridX(ticks.x, { stroke: "var(--rule)", strokeOpacity: 1 }),
          Plot.gridY(ticks.y, { stroke: "var(--rule)", strokeOpacity: 1 }),
          Plot.axisX(ticks.x, { ...axis, text: segments, label: "segments", ...centred }),
          Plot.axisY(ticks.y, { ...axis, anchor: "right", text, label: null }),
          lines.map(({ points, color, dash }) => [
            Plot.line(points, { x: "x", y: "y", curve: "monotone-x", stroke: color, strokeWidth: 2, strokeDasharray: dash }),
            Plot.dot(points, { x: "x", y: "y", fill: color, r: 2.5 }),
          ]),
          Plot.text(names, { frameAnchor: "left", y: "y", text: "label", textAnchor: "end", dx: -8, fill: "color" }),
          Plot.tip(everything, Plot.pointer({ x: "x", y: "y", title: "title", maxRadius: 60, ...tipLook })),
        ],
      });
    };
    const say = () => lines.map(({ label, points }) => `${label} from ${text(points[0].y)} to ${text(points.at(-1).y)}`).join(", ");
    draw(document.getElementById(id), plot, { say });
  }

  const over = (of, value) => of.sizes.map((size) => ({ x: size.segments, y: value(size) }));
  const colors = ["cyan", "orange", "purple", "gold", "blue", "teal", "brown"].map((name) => `var(--color-${name})`);
  const color = (i) => colors[i % colors.length];
  function drawAll() {
    const without = { label: "no lost SYN", color: "var(--ink)", dash: "none", points: over(prediction.rtos[0], (size) => size.without_handshake_loss_s) };
    const losses = prediction.rtos.map((of, i) => ({ label: rto(of), color: color(i), dash: "6 3", points: over(of, (size) => size.with_one_loss_s) }));
    chart("response", [without, ...losses], { type: "log", text: time });
    const increases = prediction.rtos.map((of, i) => ({ label: rto(of), color: color(i), dash: "none", points: over(of, (size) => size.increase_by_one_loss) }));
    chart("increase", increases, { type: "linear", text: percent });
  }

  tools.themeButton();
  tools.copyButtons();
  for (const part of document.querySelectorAll(".scripted")) part.hidden = false;
  tools.scrollCues();
  tools.downloads("gentle-model");
  drawAll();
  charts.onWidth(drawAll);
})();
