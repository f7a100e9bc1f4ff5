// A film of both pictures, to show to somebody else: ten seconds of the run from the moment shown.
import { save } from "./dom";
import { moment } from "./format";
import type { Player } from "./player";
import type { Stage } from "./stage";

/** Length in seconds, and pictures in a second. */
export const SECONDS = 10;
const RATE = 30;
const [WIDTH, HEIGHT] = [1280, 720];

/** Formats that browsers record, the most widely played first. */
const FORMATS = ["video/webm;codecs=vp9", "video/webm;codecs=vp8", "video/webm", "video/mp4"];

const format = () => FORMATS.find((type) => "MediaRecorder" in window && MediaRecorder.isTypeSupported(type));

/** Whether this browser can record. */
export const canRecord = () => format() !== undefined && "captureStream" in HTMLCanvasElement.prototype;

/** Both pictures above each other, with their names. */
function compose(g: CanvasRenderingContext2D, stages: Stage[], names: string[], now: number, style: CSSStyleDeclaration) {
  g.fillStyle = style.backgroundColor;
  g.fillRect(0, 0, WIDTH, HEIGHT);
  g.textBaseline = "alphabetic";
  const each = (HEIGHT - 60) / 2;
  stages.forEach(({ canvas }, index) => {
    const top = 20 + index * each;
    g.font = "600 26px system-ui, sans-serif";
    g.fillStyle = style.color;
    g.textAlign = "left";
    g.fillText(names[index], 30, top + 26);
    const scale = Math.min((WIDTH - 60) / canvas.width, (each - 44) / canvas.height);
    g.drawImage(canvas, (WIDTH - canvas.width * scale) / 2, top + 38, canvas.width * scale, canvas.height * scale);
  });
  g.font = "18px system-ui, sans-serif";
  g.fillText(moment(now), 30, HEIGHT - 18);
  g.textAlign = "right";
  g.fillText("gentle lab", WIDTH - 30, HEIGHT - 18);
}

/** Plays and records; then the moment at which it began is shown again. `progress` receives the seconds recorded. */
export async function record(player: Player, stages: Stage[], names: string[], progress: (seconds: number) => void): Promise<Blob> {
  const type = format();
  const canvas = document.createElement("canvas");
  [canvas.width, canvas.height] = [WIDTH, HEIGHT];
  const g = canvas.getContext("2d");
  if (!type || !g) throw new Error("This browser cannot record.");
  const recorder = new MediaRecorder(canvas.captureStream(RATE), { mimeType: type, videoBitsPerSecond: 4e6 });
  const parts: Blob[] = [];
  recorder.addEventListener("dataavailable", ({ data }) => parts.push(data));
  const stopped = new Promise((resolve) => recorder.addEventListener("stop", resolve));
  const style = getComputedStyle(document.body);
  const began = player.now;
  compose(g, stages, names, began, style);
  const running = new Promise((resolve) => recorder.addEventListener("start", resolve));
  recorder.start(1000);
  await running;
  player.play(true);
  const started = performance.now();
  await new Promise<void>((resolve) => {
    const frame = () => {
      const seconds = (performance.now() - started) / 1000;
      compose(g, stages, names, player.now, style);
      progress(seconds);
      if (seconds < SECONDS) requestAnimationFrame(frame);
      else resolve();
    };
    requestAnimationFrame(frame);
  });
  recorder.stop();
  await stopped;
  player.play(false);
  player.goTo(began);
  return new Blob(parts, { type: type.split(";")[0] });
}

export const saveFilm = (film: Blob) => save(`gentle-lab.${film.type === "video/mp4" ? "mp4" : "webm"}`, film);
