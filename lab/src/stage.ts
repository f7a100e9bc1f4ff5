// The picture of a link: packets that wait in its queue, travel on its wire, and fall out; the reverse link below.
import { causeWords, plural } from "./format";
import { type Colors, colorsOf, drawShape } from "./shapes";
import { ACK, FALL, type Packet, type Side, SYN, SYN_ACK } from "./side";

/** Contents of the picture in addition to the packets. */
export interface View {
  now: number;
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

export class Stage {
  private g: CanvasRenderingContext2D;
  private colors: Colors;
  private width = 0;
  private height = 0;
  /** Packets drawn last, for clicks. */
  private drawn: Packet[] = [];
  /** Most packets seen in the queue, which sets their size. */
  private crowd = 24;
  /** The connection whose packets have a ring. */
  followed: number | undefined;

  constructor(readonly canvas: HTMLCanvasElement, private side: Side) {
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
    const { g, width, height } = this;
    g.clearRect(0, 0, width, height);
    const place = placesOf(width, height);
    this.drawLink(place);
    this.drawn = [];
    if (view.details) this.drawPackets(view, place);
    else this.drawLevel(place);
    if (view.details) this.drawWaits(view, place);
  }

  /** The link, its queue, the reverse link, and the hosts at their ends. */
  private drawLink({ box, middle, gate, near, far, back, narrow }: Places) {
    const { g, colors } = this;
    g.lineWidth = 1;
    g.strokeStyle = colors.rule;
    g.beginPath();
    g.moveTo(near, middle);
    g.lineTo(box.x, middle);
    g.moveTo(near, back);
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
    this.drawHost(near - 9, middle, narrow);
    this.drawHost(far + 9, middle, narrow);
    g.font = "12px system-ui, sans-serif";
    g.fillStyle = colors.muted;
    const above = box.y - 8;
    g.textAlign = "left";
    g.fillText("senders", 2, above);
    g.textAlign = "center";
    g.fillText("queue", box.x + box.w / 2, above);
    g.textAlign = "right";
    g.fillText("receivers", this.width - 2, above);
    g.fillText("← acknowledgements (ACKs)", far, back - 9);
  }

  /** A screen with its foot. */
  private drawHost(x: number, y: number, narrow: boolean) {
    const { g, colors } = this;
    const [w, h] = narrow ? [11, 9] : [16, 12];
    g.lineWidth = 1.5;
    g.strokeStyle = colors.muted;
    g.strokeRect(x - w / 2, y - h / 2 - 2, w, h);
    g.beginPath();
    g.moveTo(x - w / 3, y + h / 2 + 1);
    g.lineTo(x + w / 3, y + h / 2 + 1);
    g.stroke();
  }

  /** Gives each waiting packet its place: it keeps it until the column next to the gate is empty, or gaps make a column. */
  private assign(waiting: Packet[], rows: number) {
    let last = -1;
    for (const packet of waiting) last = Math.max(last, packet.slot);
    for (const packet of waiting) if (packet.slot < 0) packet.slot = last += 1;
    let first = Infinity;
    for (const packet of waiting) first = Math.min(first, packet.slot);
    const gaps = last + 1 - waiting.length;
    if (first < rows && gaps < 2 * rows) return;
    // Packets of one column move together: the gate keeps the rows that it has served.
    const served = first < rows ? first : first % rows;
    waiting.toSorted((a, b) => a.slot - b.slot).forEach((packet, place) => (packet.slot = served + place));
  }

  private drawPackets(view: View, { box, middle, gate, near, far, back }: Places) {
    const { g, colors, side } = this;
    const { now } = view;
    const waiting: Packet[] = [];
    const others: Packet[] = [];
    const lead = LEAD * view.speed;
    for (const packet of side.packets.values()) {
      if (packet.offered > now + lead || packet.delivered <= now) continue;
      if (packet.offered > now) {
        if (packet.side === 0 && view.motion) others.push(packet);
      } else if (packet.side === 0 && packet.dequeued > now && packet.dropped > now) waiting.push(packet);
      else others.push(packet);
    }
    waiting.sort((a, b) => a.offered - b.offered || a.id - b.id);
    this.crowd = Math.max(this.crowd, waiting.length);
    const cell = Math.max(2, Math.min(20, Math.sqrt((box.w * box.h) / this.crowd) * 0.94));
    const rows = Math.max(1, Math.floor((box.h - 6) / cell));
    const columns = Math.floor((box.w - 4) / cell);
    const pad = (box.h - rows * cell) / 2;
    // Packets that wait for a moment only have to be in their place by then.
    const ease = view.motion ? 1 - Math.exp(-view.passed * (40 + 45 * view.speed)) : 1;
    const show = (packet: Packet, size: number) => {
      drawShape(g, colors, packet.shape, packet.again, packet.x, packet.y, size);
      if (packet.marked) {
        g.strokeStyle = colors.ink;
        g.lineWidth = 1;
        g.strokeRect(packet.x - size / 2 - 2, packet.y - size / 2 - 2, size + 4, size + 4);
      }
      if (packet.connection === this.followed) this.drawRing(packet.x, packet.y);
      this.drawn.push(packet);
    };
    this.assign(waiting, rows);
    for (const packet of waiting) {
      const column = Math.floor(packet.slot / rows);
      const x = gate - 5 - (Math.min(column, columns) + 0.5) * cell;
      const y = box.y + box.h - pad - ((packet.slot % rows) + 0.5) * cell;
      // A packet that was waiting when the picture began is in its place.
      if (Number.isNaN(packet.x)) [packet.x, packet.y] = view.motion && now - packet.offered < 0.1 * view.speed ? [box.x - 8, middle] : [x, y];
      packet.x += (x - packet.x) * ease;
      packet.y += (y - packet.y) * ease;
      const handshake = packet.shape <= SYN_ACK;
      show(packet, Math.max(handshake ? 7 : 2, cell - (cell > 6 ? 3 : 1)));
    }
    const size = Math.max(5, Math.min(14, cell - 2));
    const drops: Packet[] = [];
    for (const packet of others) {
      if (packet.dropped <= now) {
        if (now - packet.dropped <= FALL * view.speed) drops.push(packet);
      } else if (packet.offered > now) {
        const part = (packet.offered - now) / lead;
        packet.x = box.x - 8 - part * (box.x - 8 - near);
        packet.y = middle;
        show(packet, size);
      } else if (packet.side === 1) {
        packet.x = far - part(packet, packet.offered, now) * (far - near);
        packet.y = back;
        show(packet, packet.shape === ACK ? 9 : 10);
      } else {
        // On the link: the time from its dequeue to its delivery is the way from the gate to the far end.
        packet.x = gate + part(packet, packet.dequeued, now) * (far - gate);
        packet.y = middle;
        show(packet, size);
      }
    }
    // SYNs are what the picture is about: they are in front.
    drops.sort((a, b) => b.shape - a.shape || a.dropped - b.dropped);
    for (const packet of drops) this.drawDrop(view, packet, [box.x - 8, packet.side ? back : middle], size);
    const last = drops.at(-1);
    if (last) this.drawReason(view, last, box.y + box.h + 16);
  }

  /** The reason of a drop, below the queue. */
  private drawReason(view: View, packet: Packet, y: number) {
    const { g, colors } = this;
    const handshake = packet.shape <= SYN_ACK;
    const cause = causeWords(view.causes[packet.cause]);
    g.fillStyle = handshake ? colors.drop : colors.muted;
    g.font = handshake ? "600 13px system-ui, sans-serif" : "12px system-ui, sans-serif";
    g.textAlign = "center";
    const text = handshake ? `${packet.shape === SYN ? "SYN" : "SYN/ACK"} dropped: ${cause}` : cause;
    const half = g.measureText(text).width / 2;
    g.fillText(text, Math.max(half + 4, Math.min(this.width - half - 4, packet.x)), packet.side ? packet.y - 22 : y);
  }

  private drawRing(x: number, y: number) {
    const { g, colors } = this;
    g.strokeStyle = colors.ink;
    g.lineWidth = 2;
    g.beginPath();
    g.arc(x, y, 13, 0, 7);
    g.stroke();
  }

  /** A packet that falls out. */
  private drawDrop(view: View, packet: Packet, entry: [number, number], size: number) {
    const { g, colors } = this;
    const fallen = (view.now - packet.dropped) / view.speed / FALL;
    const handshake = packet.shape <= SYN_ACK;
    if (Number.isNaN(packet.x)) [packet.x, packet.y] = packet.side === 0 ? entry : [this.width * 0.8, entry[1]];
    const down = view.motion ? fallen ** 2 * this.height * 0.3 : 26;
    const [x, y] = [packet.x, packet.y + down];
    g.globalAlpha = 1 - fallen ** 3 * 0.8;
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
    g.globalAlpha = 1;
    this.drawn.push({ ...packet, y });
  }

  /** Too fast for packets: how full the queue is. */
  private drawLevel({ box }: Places) {
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
  private drawWaits(view: View, { box, back, narrow }: Places) {
    const { g, colors, side } = this;
    const waits = [...side.waits.values()].filter((wait) => wait.since <= view.now);
    if (!waits.length) return;
    // Packets fall to the left of it.
    const [x, y] = [Math.max(168, box.x + 30), (box.y + box.h + back) / 2 - (narrow ? 8 : 10)];
    const radius = narrow ? 7 : 9;
    const shown = waits.slice(0, narrow ? 3 : 6);
    shown.forEach((wait, place) => {
      const cx = x + radius + place * (radius * 2 + 5);
      const part = Math.min(1, (view.now - wait.since) / view.initialRto);
      g.fillStyle = colors.surface;
      g.strokeStyle = colors.drop;
      g.lineWidth = 1.5;
      g.beginPath();
      g.arc(cx, y, radius, 0, 7);
      g.fill();
      g.stroke();
      g.fillStyle = colors.drop;
      g.beginPath();
      g.moveTo(cx, y);
      g.arc(cx, y, radius - 2, -Math.PI / 2, -Math.PI / 2 + part * 2 * Math.PI);
      g.closePath();
      g.fill();
    });
    g.textAlign = "left";
    g.font = "600 13px system-ui, sans-serif";
    g.fillStyle = colors.drop;
    const since = waits.reduce((least, wait) => Math.min(least, wait.since), view.now);
    g.fillText(`${plural(waits.length, "page waits", "pages wait")} ${(view.now - since).toFixed(1)} s`, x + shown.length * (radius * 2 + 5) + 4, y + 5);
  }
}

/** Part of its way that a packet has covered since `from`. */
function part(packet: Packet, from: number, now: number): number {
  const end = Number.isFinite(packet.delivered) ? packet.delivered : from + 0.2;
  return Math.min(1, Math.max(0, (now - from) / Math.max(1e-6, end - from)));
}

/** Seconds of real time for which an arriving packet is seen on its way to the queue. */
const LEAD = 0.2;

interface Places {
  box: { x: number; y: number; w: number; h: number };
  /** Height of the link, and of the reverse link. */
  middle: number;
  back: number;
  /** Where packets leave the queue, and both ends of the link. */
  gate: number;
  near: number;
  far: number;
  narrow: boolean;
}

function placesOf(width: number, height: number): Places {
  const narrow = width < 460;
  const box = { x: width * 0.22, y: narrow ? 24 : 32, w: width * 0.42, h: height * (narrow ? 0.4 : 0.46) };
  const margin = narrow ? 20 : 30;
  return { box, middle: box.y + box.h / 2, back: height - (narrow ? 8 : 16), gate: box.x + box.w, near: margin, far: width - margin, narrow };
}
