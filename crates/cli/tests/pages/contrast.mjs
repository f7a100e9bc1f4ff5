// Contrast of what charts draw.

/** Runs within a page: what its charts draw with less contrast than `least` to their ground, and how much was looked at. */
export function faint(least) {
  const canvas = new OffscreenCanvas(1, 1).getContext("2d", { willReadFrequently: true });
  const rgb = (...layers) => {
    for (const [color, opacity] of layers) {
      canvas.globalAlpha = opacity;
      canvas.fillStyle = color;
      canvas.fillRect(0, 0, 1, 1);
    }
    return [...canvas.getImageData(0, 0, 1, 1).data.slice(0, 3)];
  };
  const luminance = (color) => {
    const [r, g, b] = color.map((c) => (c / 255 <= 0.04045 ? c / 255 / 12.92 : ((c / 255 + 0.055) / 1.055) ** 2.4));
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const contrast = (a, b) => {
    const [light, dark] = [luminance(a), luminance(b)].sort((x, y) => y - x);
    return (light + 0.05) / (dark + 0.05);
  };
  const found = [];
  let looked = 0;
  for (const figure of document.querySelectorAll("figure")) {
    const ground = getComputedStyle(figure).backgroundColor;
    const marks = "[data-mark=line], [data-mark=rule], [data-mark=tick], [data-mark=dot], [data-mark=bar], [data-mark=rect]";
    // Charts of the command itself have no marks with names. Their grid is fainter than what it helps to read.
    const drawn = "svg.figure :is(polyline, polygon, rect, circle):not([stroke='var(--rule)'])";
    for (const shape of figure.querySelectorAll(`svg[role=img] :is(${marks}) :is(path, line, rect, circle), ${drawn}`)) {
      const style = getComputedStyle(shape);
      const paints = [
        [style.stroke, style.strokeOpacity * style.opacity],
        [style.fill, style.fillOpacity * style.opacity],
      ].filter(([color]) => color !== "none");
      // What has the colour of the ground is a gap around something else.
      const own = paints.filter(([color]) => color !== ground);
      if (!own.length) continue;
      looked += 1;
      const best = Math.max(...own.map((paint) => contrast(rgb([ground, 1], paint), rgb([ground, 1]))));
      if (best < least) found.push(`${figure.querySelector("figcaption").firstChild.textContent}: ${shape.outerHTML.slice(0, 160)}: ${best.toFixed(2)}`);
    }
  }
  return { found, looked };
}
