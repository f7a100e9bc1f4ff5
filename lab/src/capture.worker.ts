// Reads captures as far as the analysis asks for them, so that they need not fit into memory.
import init, { analyze } from "./wasm/gentle_lab.js";
import wasm from "./wasm/gentle_lab_bg.wasm?url";
import type { CaptureOrder, CaptureReport } from "./protocol";

/** Milliseconds between two reports of progress. */
const REPORT_EVERY = 100;

// TypeScript's library for pages does not have it; only workers do.
declare class FileReaderSync {
  readAsArrayBuffer(blob: Blob): ArrayBuffer;
}

const report = (message: CaptureReport) => postMessage(message);

/** What the analysis reads from (crates/lab/src/bindings.rs). */
class Source {
  private reader = new FileReaderSync();

  constructor(private file: File, private reached: (offset: number) => void) {}

  get name() {
    return this.file.name;
  }

  get size() {
    return this.file.size;
  }

  read(offset: number, space: Uint8Array): number {
    const bytes = new Uint8Array(this.reader.readAsArrayBuffer(this.file.slice(offset, offset + space.length)));
    space.set(bytes);
    this.reached(offset + bytes.length);
    return bytes.length;
  }
}

addEventListener("message", async ({ data }: MessageEvent<CaptureOrder>) => {
  const reached = data.files.map(() => 0);
  const size = data.files.reduce((sum, file) => sum + file.size, 0);
  let reported = performance.now();
  const sources = data.files.map((file, index) => new Source(file, (offset) => {
    reached[index] = offset;
    if (performance.now() - reported < REPORT_EVERY) return;
    reported = performance.now();
    report({ type: "progress", read: reached.reduce((sum, bytes) => sum + bytes), size });
  }));
  try {
    await init({ module_or_path: wasm });
    const found = analyze(sources, data.local, data.columns);
    report({ type: "captured", captured: { text: found.text(), flows: found.flows(), connections: found.connections(), rate: found.rate(), up: found.up() } });
  } catch (error) {
    report({ type: "error", message: error instanceof Error ? error.message : String(error) });
  }
});
