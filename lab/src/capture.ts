// Captures, read by a worker that ends afterwards, which frees its memory.
import { equip } from "./module";
import type { Captured, CaptureOrder, CaptureReport } from "./protocol";

export interface Reading {
  captured: Promise<Captured>;
  /** Ends it; `captured` is then never settled. */
  stop: () => void;
}

/** Analyses captures as one trace. */
export function read(order: CaptureOrder, progress: (fraction: number) => void): Reading {
  const worker = new Worker(new URL("./capture.worker.ts", import.meta.url), { type: "module" });
  const captured = new Promise<Captured>((resolve, reject) => {
    worker.addEventListener("message", ({ data }: MessageEvent<CaptureReport>) => {
      if (data.type === "progress") return progress(data.size ? data.read / data.size : 0);
      worker.terminate();
      if (data.type === "captured") resolve(data.captured);
      else reject(new Error(data.message));
    });
    worker.addEventListener("error", (event) => {
      worker.terminate();
      reject(new Error(`The analysis ended: ${event.message}. gentle analyze can do more with the file.`));
    });
  });
  equip(worker);
  worker.postMessage(order);
  return { captured, stop: () => worker.terminate() };
}
