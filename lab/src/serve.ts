// Code that the workers share: orders wait for the simulator, which the page sends (module.ts).
import init from "./wasm/gentle_lab.js";

/** Carries out orders in turn; `refuse` receives the reason for a failure. */
export function serve<Order>(obey: (order: Order) => unknown, refuse: (order: Order, why: string) => void) {
  let settle: (module: WebAssembly.Module | Promise<never>) => void;
  const ready = new Promise<WebAssembly.Module>((resolve) => (settle = resolve)).then((module) => init({ module_or_path: module }));
  addEventListener("message", async ({ data }: MessageEvent<WebAssembly.Module | Error | Order>) => {
    if (data instanceof WebAssembly.Module) return settle(data);
    if (data instanceof Error) return settle(Promise.reject(data));
    try {
      await ready;
      await obey(data);
    } catch (error) {
      refuse(data, error instanceof Error ? error.message : String(error));
    }
  });
}
