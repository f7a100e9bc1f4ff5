// The worker that answers questions, as promises.
import { equip } from "./module";
import type { Answer, Catalog, Description, Edit, History, Question, Setup, Standing } from "./protocol";

const worker = new Worker(new URL("./questions.worker.ts", import.meta.url), { type: "module" });
equip(worker);
const open = new Map<number, { resolve: (value: unknown) => void; reject: (error: Error) => void }>();
let last = 0;
let trial: { id: number; show: (standing: Standing) => void; fail: (message: string) => void } | undefined;

worker.addEventListener("message", ({ data }: MessageEvent<Answer>) => {
  if (trial && data.id === trial.id) {
    if (data.standing) trial.show(data.standing);
    else if (data.error) trial.fail(data.error);
    return;
  }
  const waiting = open.get(data.id);
  open.delete(data.id);
  if (data.error) waiting?.reject(new Error(data.error));
  else waiting?.resolve(data.value);
});

type Rest<T> = T extends unknown ? Omit<T, "id"> : never;

function ask<T>(question: Rest<Question>): Promise<T> {
  const id = (last += 1);
  return new Promise<T>((resolve, reject) => {
    open.set(id, { resolve: resolve as (value: unknown) => void, reject });
    worker.postMessage({ ...question, id });
  });
}

export const catalog = () => ask<Catalog>({ ask: "catalog" });
export const describe = (setup: Setup) => ask<Description>({ ask: "describe", setup });
export const file = (setup: Setup) => ask<string>({ ask: "file", setup });
export const scheme = (text: string) => ask<string>({ ask: "scheme", scheme: text });
export const withBuffer = (text: string, packets: number) => ask<string | undefined>({ ask: "buffer", scheme: text, packets });
/** The life of the first connection. */
export const life = (setup: Setup, text: string, edits: Edit[]) => ask<History>({ ask: "life", setup, scheme: text, edits });
export const record = (setup: Setup, text: string, seed: number) => ask<string>({ ask: "record", setup, scheme: text, seed });

/** Ignores the current trial from now on. */
export function stopTrial() {
  trial = undefined;
  worker.postMessage({ id: (last += 1), ask: "stop" } satisfies Question);
}

/** Runs seed after seed of both schemes in the background; an earlier trial ends. */
export function startTrial(setup: Setup, schemes: [string, string], seed: number, show: (standing: Standing) => void, fail: (message: string) => void) {
  const id = (last += 1);
  trial = { id, show, fail };
  worker.postMessage({ id, ask: "trial", setup, schemes, seed } satisfies Question);
}
