// Reads captures as far as the analysis needs them, so that they need not fit into memory.
import { analyze } from "./wasm/gentle_lab.js";
import { serve } from "./serve";
import type { CaptureOrder, CaptureReport } from "./protocol";

/** Milliseconds between two reports of progress. */
const REPORT_EVERY = 100;

// TypeScript's library for pages does not have it; only workers do.
declare class FileReaderSync {
  readAsArrayBuffer(blob: Blob): ArrayBuffer;
}

const report = (message: CaptureReport) => postMessage(message);

/** Source of the analysis (crates/lab/src/bindings.rs). */
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

function read(order: CaptureOrder) {
  const reached = order.files.map(() => 0);
  const size = order.files.reduce((sum, file) => sum + file.size, 0);
  let reported = performance.now();
  const sources = order.files.map((file, index) => new Source(file, (offset) => {
    reached[index] = offset;
    if (performance.now() - reported < REPORT_EVERY) return;
    reported = performance.now();
    report({ type: "progress", read: reached.reduce((sum, bytes) => sum + bytes), size });
  }));
  const found = analyze(sources, order.local, order.columns);
  report({ type: "captured", captured: { text: found.text(), flows: found.flows(), connections: found.connections(), rate: found.rate(), up: found.up() } });
}

serve(read, (_, message) => report({ type: "error", message }));
