// Names of the lines of a chart, each where its line is farthest from the others.
const lineLabels = (() => {
  /** Pixels between the points of a line that are looked at, and between the places tried for its name. */
  const STEP = 4;
  const TRIED = 20;
  /** Height of a name, its distance from its line, and the least distance from other lines, so that it is clear whose it is; pixels. */
  const HEIGHT = 12;
  const APART = 5;
  const LEAST = 14;
  const pen = document.createElement("canvas").getContext("2d");

  /** Points every few pixels of the line through `points`. */
  const dense = (points) =>
    d3.pairs(points).flatMap(([[x, y], [nextX, nextY]]) => {
      const n = Math.max(1, Math.ceil(Math.hypot(nextX - x, nextY - y) / STEP));
      return d3.range(n).map((i) => [x + ((nextX - x) * i) / n, y + ((nextY - y) * i) / n]);
    });
  const distance = (box, [x, y]) => Math.hypot(Math.max(box.left - x, 0, x - box.right), Math.max(box.top - y, 0, y - box.bottom));
  const overlap = (a, b) => a.left < b.right + APART && b.left < a.right + APART && a.top < b.bottom && b.top < a.bottom;

  /** Adds the `name` of each of `lines` to a plot, if there is room for it; `points` are in units of the plot's axes. */
  function add(image, lines) {
    const [x, y] = ["x", "y"].map((axis) => image.scale(axis));
    const [left, right] = d3.extent(x.range);
    const [top, bottom] = d3.extent(y.range);
    const isInside = ([x, y]) => x >= left && x <= right && y >= top && y <= bottom;
    const drawn = lines.map((line) => ({ ...line, points: dense(line.points.map((d) => [x.apply(d.x), y.apply(d.y)])).filter(isInside) }));
    pen.font = `12px ${getComputedStyle(document.body).fontFamily}`;
    const names = d3.create("svg:g").attr("data-mark", "name").attr("text-anchor", "start").attr("pointer-events", "none");
    const taken = [];
    for (const line of drawn) {
      const others = drawn.filter((other) => other !== line).flatMap((other) => other.points);
      const width = pen.measureText(line.name).width;
      const places = line.points
        .filter((_, i) => i % (TRIED / STEP) === 0)
        .flatMap(([x, y]) => [x + APART, x - APART - width].flatMap((left) => [y - APART - HEIGHT, y + APART].map((top) => ({ left, top, right: left + width, bottom: top + HEIGHT }))))
        .filter((box) => box.left >= left && box.right <= right && box.top >= top && box.bottom <= bottom)
        .filter((box) => !taken.some((other) => overlap(box, other)) && line.points.every((point) => distance(box, point) > 1))
        .map((box) => ({ box, room: d3.min(others, (point) => distance(box, point)) ?? Infinity }));
      const best = d3.greatest(places, (place) => place.room);
      if (!best || best.room < LEAST) continue;
      taken.push(best.box);
      names.append("text").attr("x", best.box.left).attr("y", best.box.bottom - 2).attr("opacity", line.opacity)
        .style("fill", "var(--ink)").style("stroke", "var(--surface)").style("stroke-width", "3px").style("paint-order", "stroke").text(line.name);
    }
    // Below the tip, which is last.
    image.insertBefore(names.node(), image.lastElementChild);
  }

  return { add };
})();
