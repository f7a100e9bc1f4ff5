// One side of the page: a session of the simulator in a separate worker.
import { Lab } from "./wasm/gentle_lab.js";
import { serve } from "./serve";
import type { Order, Report, Snapshot } from "./protocol";

/** Simulator steps between two looks at the clock. */
const STEPS = 20_000;
/** Milliseconds of computing after which partial results are shown. */
const PATIENCE = 40;
/** Seconds before a moment from which packets are shown, so that packets in flight are included. */
const RUN_UP = 3;

let lab: Lab | undefined;

function report(message: Report, transfer: Transferable[] = []) {
  postMessage(message, { transfer });
}

function state(run: number, curves: boolean) {
  if (!lab) return;
  const events = lab.events();
  const snapshot = JSON.parse(lab.snapshot(curves)) as Snapshot;
  report({ type: "state", run, events, snapshot }, [events.buffer]);
}

function obey(order: Order) {
  switch (order.type) {
    case "open":
      lab?.free();
      lab = undefined;
      lab = new Lab(JSON.stringify(order.setup), order.scheme, BigInt(order.seed));
      state(order.run, true);
      break;
    case "advance": {
      lab?.details(order.details);
      const deadline = performance.now() + PATIENCE;
      while (lab && !lab.advance(order.until, STEPS) && performance.now() < deadline);
      state(order.run, order.curves);
      break;
    }
    case "back":
      if (!lab) break;
      lab.details(false);
      lab.back(order.moment);
      while (!lab.advance(Math.max(0, order.moment - RUN_UP), STEPS));
      lab.details(true);
      while (!lab.advance(order.moment, STEPS));
      state(order.run, true);
      break;
    case "change": {
      const change = order.change;
      if ("rate" in change) lab?.rate(false, BigInt(Math.round(change.rate)));
      else if ("upRate" in change) lab?.rate(true, BigInt(Math.round(change.upRate)));
      else if ("load" in change) lab?.load(change.load);
      else lab?.buffer(change.buffer);
      break;
    }
    case "history":
      if (lab) report({ type: "history", run: order.run, connection: order.connection, history: JSON.parse(lab.history(order.connection)) });
      break;
  }
}

serve(obey, (order, message) => report({ type: "error", run: order.run, message }));
