// The picture of a link: packets that wait in its queue, travel on its wire, and fall out; the reverse link below.
import { plural } from "./format";
import { ACK, DATAGRAM, END, FALL, FLOOD, OLD, type Packet, type Side, SYN, SYN_ACK, YOUNG } from "./side";

/** Contents of the picture in addition to the packets. */
export interface View {
  now: number;
  real: number;
  /** Real seconds since the last picture. */
  passed: number;
  /** Simulated seconds per real second. */
  speed: number;
  /** Whether packets are shown one by one. */
  details: boolean;
  /** Whether they move smoothly. */
  motion: boolean;
  causes: string[];
  initialRto: number;
}

interface Colors {
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

function colorsOf(element: Element): Colors {
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
function drawShape(g: CanvasRenderingContext2D, colors: Colors, shape: number, again: boolean, x: number, y: number, size: number) {
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
  [SYN, false, "SYN: opens a connection"], [SYN_ACK, false, "SYN/ACK: answers it"], [YOUNG, false, "young data"], [OLD, false, "old data"],
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

export class Stage {
  private g: CanvasRenderingContext2D;
  private colors: Colors;
  private width = 0;
  private height = 0;
  /** Packets drawn last, for clicks. */
  private drawn: Packet[] = [];
  /** Most packets seen in the queue, which sets their size. */
  private crowd = 24;

  constructor(private canvas: HTMLCanvasElement, private side: Side) {
    const g = canvas.getContext("2d");
    if (!g) throw new Error("This browser draws no canvas.");
    this.g = g;
    this.colors = colorsOf(canvas.parentElement as Element);
    new ResizeObserver(() => this.fit()).observe(canvas);
    this.fit();
  }

  private fit() {
    const scale = Math.min(window.devicePixelRatio || 1, 2);
    this.width = this.canvas.clientWidth;
    this.height = this.canvas.clientHeight;
    this.canvas.width = Math.round(this.width * scale);
    this.canvas.height = Math.round(this.height * scale);
    this.g.setTransform(scale, 0, 0, scale, 0, 0);
  }

  recolor() {
    this.colors = colorsOf(this.canvas.parentElement as Element);
  }

  reset() {
    this.crowd = 24;
  }

  /** The packet at a point of the canvas. */
  at(x: number, y: number): Packet | undefined {
    let best: Packet | undefined;
    let least = 18;
    for (const packet of this.drawn) {
      const distance = Math.hypot(packet.x - x, packet.y - y);
      if (packet.connection >= 0 && distance < least) [best, least] = [packet, distance];
    }
    return best;
  }

  draw(view: View) {
    const { g, colors, width, height } = this;
    g.clearRect(0, 0, width, height);
    const narrow = width < 460;
    const left = narrow ? 12 : 20;
    const box = { x: width * 0.2, y: 34, w: width * 0.4, h: height * 0.36 };
    const middle = box.y + box.h / 2;
    const gate = box.x + box.w;
    const far = width - left;
    const back = height - 26;

    // The link, its queue, and the reverse link.
    g.lineWidth = 1;
    g.strokeStyle = colors.rule;
    g.fillStyle = colors.rule;
    g.beginPath();
    g.moveTo(left, middle);
    g.lineTo(box.x, middle);
    g.moveTo(left, back);
    g.lineTo(far, back);
    g.stroke();
    g.lineWidth = 3;
    g.beginPath();
    g.moveTo(gate, middle);
    g.lineTo(far, middle);
    g.stroke();
    g.lineWidth = 1.5;
    g.strokeStyle = colors.muted;
    g.beginPath();
    g.moveTo(box.x, box.y);
    g.lineTo(gate, box.y);
    g.lineTo(gate, middle - 9);
    g.moveTo(gate, middle + 9);
    g.lineTo(gate, box.y + box.h);
    g.lineTo(box.x, box.y + box.h);
    g.stroke();
    g.font = "12px system-ui, sans-serif";
    g.fillStyle = colors.muted;
    g.textAlign = "left";
    g.fillText(narrow ? "senders" : "senders →", left, box.y - 12);
    g.textAlign = "center";
    g.fillText("queue", box.x + box.w / 2, box.y - 12);
    g.textAlign = "right";
    g.fillText(narrow ? "receivers" : "link → receivers", far, box.y - 12);
    g.fillText("← reverse link: acknowledgments", far, back - 12);

    this.drawn = [];
    if (view.details) this.drawPackets(view, box, middle, gate, far, back, left);
    else this.drawLevel(box);
    this.drawWaits(view, left, box.y + box.h + 14, narrow);
  }

  private drawPackets(view: View, box: { x: number; y: number; w: number; h: number }, middle: number, gate: number, far: number, back: number, left: number) {
    const { g, colors, side } = this;
    const { now } = view;
    const waiting: Packet[] = [];
    const others: Packet[] = [];
    for (const packet of side.packets.values()) {
      if (packet.offered > now || packet.delivered <= now) continue;
      if (packet.side === 0 && packet.dequeued > now && packet.dropped > now) waiting.push(packet);
      else others.push(packet);
    }
    waiting.sort((a, b) => a.offered - b.offered || a.id - b.id);
    this.crowd = Math.max(this.crowd, waiting.length);
    const cell = Math.max(2, Math.min(20, Math.sqrt((box.w * box.h) / this.crowd) * 0.94));
    const rows = Math.max(1, Math.floor((box.h - 6) / cell));
    const pad = (box.h - rows * cell) / 2;
    // Packets that wait for a moment only have to be in their place by then.
    const ease = view.motion ? 1 - Math.exp(-view.passed * (12 + 45 * view.speed)) : 1;
    const move = (packet: Packet, x: number, y: number, fromX: number, fromY: number, speed = ease) => {
      if (Number.isNaN(packet.x)) [packet.x, packet.y] = view.motion ? [fromX, fromY] : [x, y];
      packet.x += (x - packet.x) * speed;
      packet.y += (y - packet.y) * speed;
    };
    const show = (packet: Packet, size: number) => {
      drawShape(g, colors, packet.shape, packet.again, packet.x, packet.y, size);
      if (packet.marked) {
        g.strokeStyle = colors.ink;
        g.lineWidth = 1;
        g.strokeRect(packet.x - size / 2 - 2, packet.y - size / 2 - 2, size + 4, size + 4);
      }
      this.drawn.push(packet);
    };
    const columns = Math.floor((box.w - 4) / cell);
    waiting.forEach((packet, place) => {
      const column = Math.floor(place / rows);
      // Like a snake: the next place is always adjacent.
      const row = column % 2 ? rows - 1 - (place % rows) : place % rows;
      const x = gate - 5 - (Math.min(column, columns) + 0.5) * cell;
      const y = box.y + box.h - pad - (row + 0.5) * cell;
      move(packet, x, y, view.speed < 0.5 ? left : box.x - 10, middle);
      show(packet, Math.max(2, cell - (cell > 6 ? 3 : 1)));
    });
    const size = Math.max(5, Math.min(14, cell - 2));
    for (const packet of others) {
      if (packet.dropped <= now) {
        if (Number.isNaN(packet.fell)) packet.fell = view.real;
        const fallen = (view.real - packet.fell) / 1000 / FALL;
        if (fallen > 1) continue;
        if (Number.isNaN(packet.x)) [packet.x, packet.y] = packet.side === 0 ? [box.x - 8, middle] : [far - 60, back];
        const handshake = packet.shape <= SYN_ACK;
        const y = packet.y + (view.motion ? fallen * fallen * (this.height * 0.34) : 26);
        g.globalAlpha = 1 - fallen * 0.8;
        const x = packet.x;
        drawShape(g, colors, packet.shape, packet.again, x, y, handshake ? Math.max(size, 13) : size);
        g.strokeStyle = colors.drop;
        g.lineWidth = 2;
        const r = handshake ? 11 : 6;
        g.beginPath();
        g.moveTo(x - r, y - r);
        g.lineTo(x + r, y + r);
        g.moveTo(x + r, y - r);
        g.lineTo(x - r, y + r);
        g.stroke();
        g.fillStyle = handshake ? colors.drop : colors.muted;
        g.font = handshake ? "600 13px system-ui, sans-serif" : "11px system-ui, sans-serif";
        const cause = view.causes[packet.cause] ?? "";
        const text = handshake ? `${packet.shape === SYN ? "SYN" : "SYN/ACK"} dropped (${cause})` : cause;
        g.textAlign = "center";
        const half = g.measureText(text).width / 2;
        g.fillText(text, Math.max(half + 4, Math.min(this.width - half - 4, x)), y + 22);
        g.globalAlpha = 1;
        this.drawn.push({ ...packet, y });
        continue;
      }
      if (packet.side === 1) {
        const end = Number.isFinite(packet.delivered) ? packet.delivered : packet.offered + 0.2;
        const part = Math.min(1, Math.max(0, (now - packet.offered) / Math.max(1e-6, end - packet.offered)));
        packet.x = far - part * (far - left);
        packet.y = back;
        show(packet, packet.shape === ACK ? 9 : 10);
        continue;
      }
      // On the link: the time from its dequeue to its delivery is the way from the gate to the far end.
      const end = Number.isFinite(packet.delivered) ? packet.delivered : packet.dequeued + 0.2;
      const part = Math.min(1, Math.max(0, (now - packet.dequeued) / Math.max(1e-6, end - packet.dequeued)));
      move(packet, gate + part * (far - gate), middle, gate, middle, view.motion ? 1 - Math.exp(-view.passed * 30) : 1);
      show(packet, size);
    }
  }

  /** Too fast for packets: how full the queue is. */
  private drawLevel(box: { x: number; y: number; w: number; h: number }) {
    const { g, colors, side } = this;
    const waiting = side.snapshot?.backlog[0][0] ?? 0;
    this.crowd = Math.max(this.crowd, waiting);
    const part = waiting / this.crowd;
    g.fillStyle = colors.old;
    g.fillRect(box.x + box.w * (1 - part), box.y + 3, box.w * part - 3, box.h - 6);
    g.fillStyle = colors.ink;
    g.font = "600 13px system-ui, sans-serif";
    g.textAlign = "center";
    g.fillText(plural(waiting, "packet", "packets"), box.x + box.w / 2, box.y + box.h + 18);
    g.font = "12px system-ui, sans-serif";
    g.fillStyle = colors.muted;
    g.fillText("Slow down to see packets one by one.", this.width / 2, this.height * 0.72);
  }

  /** A clock for each connection that waits for its first timeout. */
  private drawWaits(view: View, x: number, y: number, narrow: boolean) {
    const { g, colors, side } = this;
    if (!view.details) return;
    const waits = [...side.waits.values()].filter((wait) => wait.since <= view.now);
    if (!waits.length) return;
    g.textAlign = "left";
    g.font = "600 12px system-ui, sans-serif";
    g.fillStyle = colors.drop;
    const radius = 7;
    const shown = waits.slice(0, narrow ? 4 : 7);
    shown.forEach((wait, place) => {
      const cx = x + radius + place * (radius * 2 + 5);
      const cy = y + 24 + radius;
      const part = Math.min(1, (view.now - wait.since) / view.initialRto);
      g.fillStyle = colors.surface;
      g.strokeStyle = colors.drop;
      g.lineWidth = 1.5;
      g.beginPath();
      g.arc(cx, cy, radius, 0, 7);
      g.fill();
      g.stroke();
      g.fillStyle = colors.drop;
      g.beginPath();
      g.moveTo(cx, cy);
      g.arc(cx, cy, radius - 2, -Math.PI / 2, -Math.PI / 2 + part * 2 * Math.PI);
      g.closePath();
      g.fill();
    });
    g.fillText(`${waits.length} ${waits.length === 1 ? "connection waits" : "connections wait"} for a timeout`, x, y + 14);
  }
}
