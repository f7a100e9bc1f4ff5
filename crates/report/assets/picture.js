// Export of a chart to a file: its images one below the other, with caption and legend, in the colours of the current theme.
const picture = (() => {
  const NAMESPACE = d3.namespaces.svg;
  const FONT = "Helvetica, Arial, sans-serif";
  const MARGIN = 12;
  // Pixels of the PNG per pixel of the page, sufficient for print at the width of a column.
  const SCALE = 3;

  const node = (name, attributes, text) => {
    const made = document.createElementNS(NAMESPACE, name);
    for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
    if (text !== undefined) made.textContent = text;
    return made;
  };

  const canvas = new OffscreenCanvas(1, 1).getContext("2d", { willReadFrequently: true });

  /** Converts a CSS colour to a hexadecimal colour and an opacity, which programs other than browsers understand. */
  function plainColor(color) {
    canvas.clearRect(0, 0, 1, 1);
    canvas.fillStyle = color;
    canvas.fillRect(0, 0, 1, 1);
    const [r, g, b, alpha] = canvas.getImageData(0, 0, 1, 1).data;
    return { hex: `#${[r, g, b].map((c) => c.toString(16).padStart(2, "0")).join("")}`, opacity: alpha / 255 };
  }

  /** Copies `original` with its styles inlined. */
  function selfContained(original) {
    const copy = original.cloneNode(true);
    const originals = [original, ...original.querySelectorAll("*")];
    const copies = [copy, ...copy.querySelectorAll("*")];
    copies.forEach((element, i) => {
      const style = getComputedStyle(originals[i]);
      for (const property of ["fill", "stroke"]) {
        if (style[property] === "none") {
          element.setAttribute(property, "none");
          continue;
        }
        const { hex, opacity } = plainColor(style[property]);
        element.setAttribute(property, hex);
        if (opacity < 1) element.setAttribute(`${property}-opacity`, opacity * style[`${property}Opacity`]);
      }
      if (element.tagName === "text") element.setAttribute("font-weight", style.fontWeight);
      element.removeAttribute("class");
      element.removeAttribute("style");
      element.removeAttribute("data-mark");
    });
    for (const extra of copy.querySelectorAll("style, [aria-label=tip], [data-mark=tip]")) extra.remove();
    copies.forEach((element, i) => {
      if (originals[i].matches(".brush, .crosshair")) element.remove();
    });
    copy.setAttribute("font-family", FONT);
    copy.setAttribute("font-size", "12");
    return copy;
  }

  /** Draws the selected entries of the legend, in rows; returns their height. */
  function legendRows(into, figure, width, top) {
    if (!figure.closest("section").querySelector("#legend")) return 0;
    let [x, y] = [MARGIN, top];
    for (const choice of document.querySelectorAll('#legend button[aria-pressed="true"]')) {
      const label = choice.textContent;
      const wide = 40 + label.length * 6.6;
      if (x > MARGIN && x + wide > width) [x, y] = [MARGIN, y + 18];
      const sample = selfContained(choice.querySelector("svg"));
      for (const [key, value] of Object.entries({ x, y: y - 9 })) sample.setAttribute(key, value);
      into.append(sample, node("text", { x: x + 29, y, "font-size": 12, fill: plainColor(getComputedStyle(figure).color).hex }, label));
      x += wide;
    }
    return y - top + 18;
  }

  /** Returns the chart of `figure` as the text of an SVG file, with its size. */
  function svg(figure) {
    const images = [...figure.querySelectorAll("svg[role=img]")];
    const width = Math.ceil(Math.max(...images.map((image) => image.width.baseVal.value)) + 2 * MARGIN);
    const ink = plainColor(getComputedStyle(figure).color).hex;
    const all = node("svg", { xmlns: NAMESPACE, "font-family": FONT });
    const ground = node("rect", { width: "100%", fill: plainColor(getComputedStyle(figure).backgroundColor).hex });
    all.append(ground, node("text", { x: MARGIN, y: 24, "font-size": 14, "font-weight": "bold", fill: ink }, charts.caption(figure)));
    let height = 42;
    const hint = figure.querySelector("figcaption small")?.innerText.replace(/\s+/g, " ").trim();
    if (hint) {
      all.append(node("text", { x: MARGIN, y: height, "font-size": 12, fill: ink }, hint));
      height += 20;
    }
    height += legendRows(all, figure, width - MARGIN, height);
    for (const image of images) {
      const copy = selfContained(image);
      copy.setAttribute("x", MARGIN);
      copy.setAttribute("y", height);
      all.append(copy);
      height += image.height.baseVal.value;
    }
    height = Math.ceil(height + MARGIN);
    ground.setAttribute("height", height);
    for (const [key, value] of Object.entries({ width, height, viewBox: `0 0 ${width} ${height}` })) all.setAttribute(key, value);
    return { text: new XMLSerializer().serializeToString(all), width, height };
  }

  /** Returns the chart as the bytes of a PNG file. */
  async function png({ text, width, height }) {
    const image = new Image(width, height);
    image.src = `data:image/svg+xml;charset=utf-8,${encodeURIComponent(text)}`;
    await image.decode();
    const drawing = new OffscreenCanvas(width * SCALE, height * SCALE);
    const context = drawing.getContext("2d");
    context.scale(SCALE, SCALE);
    context.drawImage(image, 0, 0, width, height);
    return drawing.convertToBlob({ type: "image/png" });
  }

  return { svg, png };
})();
