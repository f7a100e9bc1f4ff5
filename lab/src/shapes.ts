// Packets as shapes, and the legend that explains them.
import { ACK, DATAGRAM, END, FLOOD, OLD, SYN, SYN_ACK, YOUNG } from "./side";

export interface Colors {
  ink: string;
  muted: string;
  rule: string;
  surface: string;
  syn: string;
  synack: string;
  young: string;
  old: string;
  again: string;
  ack: string;
  datagram: string;
  drop: string;
}

const NAMES = ["ink", "muted", "rule", "surface", "syn", "synack", "young", "old", "again", "ack", "datagram", "drop"] as const;

export function colorsOf(element: Element): Colors {
  const style = getComputedStyle(element);
  // A canvas knows no light-dark(): a probe resolves it.
  const probe = document.createElement("span");
  element.append(probe);
  const resolved = NAMES.map((name) => {
    probe.style.color = style.getPropertyValue(`--${name}`);
    return [name, getComputedStyle(probe).color];
  });
  probe.remove();
  return Object.fromEntries(resolved) as unknown as Colors;
}

/** Draws a packet of that shape around a point. */
export function drawShape(g: CanvasRenderingContext2D, colors: Colors, shape: number, again: boolean, x: number, y: number, size: number) {
  const half = size / 2;
  g.beginPath();
  switch (shape) {
    case SYN:
    case FLOOD:
      g.moveTo(x - half, y - half);
      g.lineTo(x + half, y);
      g.lineTo(x - half, y + half);
      g.closePath();
      break;
    case SYN_ACK:
      g.moveTo(x, y - half);
      g.lineTo(x + half, y);
      g.lineTo(x, y + half);
      g.lineTo(x - half, y);
      g.closePath();
      break;
    case ACK:
      g.arc(x, y, Math.max(1.5, size * 0.22), 0, 7);
      break;
    case END:
      g.rect(x - size * 0.14, y - half, size * 0.28, size);
      break;
    case DATAGRAM:
      g.arc(x, y, half * 0.9, 0, 7);
      break;
    default:
      g.rect(x - half, y - half, size, size);
  }
  const fill = shape === SYN ? colors.syn : shape === SYN_ACK ? colors.synack : shape === YOUNG ? colors.young : shape === OLD ? colors.old
    : shape === DATAGRAM ? colors.datagram : colors.ack;
  if (shape === FLOOD) {
    g.strokeStyle = colors.muted;
    g.lineWidth = 1.2;
    g.stroke();
    return;
  }
  g.fillStyle = fill;
  g.fill();
  if (again) {
    g.strokeStyle = colors.again;
    g.lineWidth = Math.max(1.5, size * 0.2);
    g.stroke();
  }
}

/** Meaning of each shape and colour. */
const LEGEND: [number, boolean, string][] = [
  [SYN, false, "SYN: opens a connection"], [SYN_ACK, false, "SYN/ACK: answers it"], [YOUNG, false, "data, first ten packets"], [OLD, false, "later data"],
  [YOUNG, true, "sent again"], [ACK, false, "ACK: acknowledges"], [END, false, "FIN: ends it"], [DATAGRAM, false, "datagram (UDP)"],
];

/** Fills the list that explains the packets, in the colours that hold now. */
export function showLegend(list: HTMLElement) {
  const colors = colorsOf(document.body);
  list.replaceChildren(...LEGEND.map(([shape, again, text]) => {
    const item = document.createElement("li");
    const canvas = document.createElement("canvas");
    canvas.width = canvas.height = 36;
    canvas.setAttribute("aria-hidden", "true");
    const g = canvas.getContext("2d");
    if (g) drawShape(g, colors, shape, again, 18, 18, 24);
    item.append(canvas, text);
    return item;
  }));
}
