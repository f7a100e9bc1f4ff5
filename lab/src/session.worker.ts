// One side of the page: a session of the simulator in a separate worker.
import { Lab } from "./wasm/gentle_lab.js";
import { serve } from "./serve";
import type { Edit, History, Order, Report, Seen, Snapshot } from "./protocol";

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

/** Reports the state, with events up to a later time. */
function state(run: number, curves: boolean, until = 0) {
  if (!lab) return;
  const snapshot = JSON.parse(lab.snapshot(curves)) as Snapshot;
  while (until && !lab.advance(until, STEPS));
  const events = lab.events();
  report({ type: "state", run, events, snapshot }, [events.buffer]);
}

/** Changes as the simulator reads them. */
const plan = (edits: Edit[]) => JSON.stringify(edits.map(({ at, change }) => ({ at, change })));

/** Advances to a moment, and collects events from shortly before it on. */
function show(lab: Lab, moment: number) {
  lab.details(false);
  while (!lab.advance(Math.max(0, moment - RUN_UP), STEPS));
  lab.details(true);
  while (!lab.advance(moment, STEPS));
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
      lab.replan(plan(order.edits));
      lab.back();
      show(lab, order.moment);
      state(order.run, true, order.moment + order.ahead);
      break;
    case "replan":
      lab?.replan(plan(order.edits));
      break;
    case "find": {
      const seen = lab?.find(order.sight, order.after);
      report({ type: "answer", run: order.run, id: order.id, value: seen ? (JSON.parse(seen) as Seen) : undefined });
      break;
    }
    case "history":
      report({ type: "answer", run: order.run, id: order.id, value: lab && (JSON.parse(lab.history(order.connection)) as History) });
      break;
  }
}

serve(obey, (order, message) => report({ type: "error", run: order.run, message }));
