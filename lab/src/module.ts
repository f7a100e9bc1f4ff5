// The simulator as WebAssembly, compiled once for the page and all its workers.
import url from "./wasm/gentle_lab_bg.wasm?url";

/** As it arrives; a server that sends it under another type has it compiled afterwards. */
const module = WebAssembly.compileStreaming(fetch(url)).catch(async () => WebAssembly.compile(await (await fetch(url)).arrayBuffer()));

/** Sends a worker the simulator, or the error of its compilation. Earlier orders wait for it (serve.ts). */
export function equip(worker: Worker) {
  module.then((module) => worker.postMessage(module), (error: Error) => worker.postMessage(error));
}
