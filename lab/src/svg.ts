// Making SVG, and saving it as a file.
import { save } from "./dom";

const NS = "http://www.w3.org/2000/svg";

/** An element of an SVG. */
export function element<Name extends keyof SVGElementTagNameMap>(
  name: Name, attributes: Record<string, string | number>, text?: string,
): SVGElementTagNameMap[Name] {
  const made = document.createElementNS(NS, name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, String(value));
  if (text !== undefined) made.textContent = text;
  return made;
}

/** The text of an SVG that needs no style sheet. */
function standalone(svg: SVGSVGElement, title: string): string {
  const copy = svg.cloneNode(true) as SVGSVGElement;
  const from = [svg, ...svg.querySelectorAll("*")];
  const to = [copy, ...copy.querySelectorAll("*")];
  from.forEach((source, index) => {
    const style = getComputedStyle(source);
    for (const property of ["fill", "stroke", "stroke-width", "stroke-dasharray", "font-size", "font-family", "font-weight", "text-anchor", "opacity"]) {
      to[index].setAttribute(property, style.getPropertyValue(property));
    }
    to[index].removeAttribute("class");
    to[index].removeAttribute("style");
  });
  const [width, height] = [svg.clientWidth, svg.clientHeight];
  copy.setAttribute("xmlns", NS);
  copy.setAttribute("width", String(width));
  copy.setAttribute("height", String(height + 30));
  copy.setAttribute("viewBox", `0 -30 ${width} ${height + 30}`);
  const style = getComputedStyle(svg.closest("figure, dialog") ?? document.body);
  copy.prepend(
    element("rect", { x: 0, y: -30, width, height: height + 30, fill: style.backgroundColor }),
    element("text", { x: 12, y: -10, fill: style.color, "font-size": 14, "font-weight": 600, "font-family": "sans-serif" }, title),
  );
  return new XMLSerializer().serializeToString(copy);
}

async function png(svg: string): Promise<Blob> {
  const image = new Image();
  image.src = URL.createObjectURL(new Blob([svg], { type: "image/svg+xml" }));
  try {
    await image.decode();
    const canvas = document.createElement("canvas");
    canvas.width = image.width * 2;
    canvas.height = image.height * 2;
    canvas.getContext("2d")?.drawImage(image, 0, 0, canvas.width, canvas.height);
    return await new Promise((resolve, reject) =>
      canvas.toBlob((blob) => (blob ? resolve(blob) : reject(new Error("The picture could not be made."))), "image/png"),
    );
  } finally {
    URL.revokeObjectURL(image.src);
  }
}

/** Buttons that save an image. */
export function tools(svg: () => SVGSVGElement, id: string, title: string): HTMLElement {
  const row = document.createElement("p");
  row.className = "tools";
  const button = (kind: string, make: () => Promise<Blob> | Blob) => {
    const made = document.createElement("button");
    made.type = "button";
    made.textContent = kind.toUpperCase();
    made.setAttribute("aria-label", `Save “${title}” as ${kind.toUpperCase()}`);
    made.addEventListener("click", async () => save(`gentle-${id}.${kind}`, await make()));
    row.append(made);
  };
  button("svg", () => new Blob([standalone(svg(), title)], { type: "image/svg+xml" }));
  button("png", () => png(standalone(svg(), title)));
  return row;
}
