// What the page asks besides its two sessions: schemes and scenarios, and runs in the background.
import init, { Background, catalog, describe, file, record, scheme, with_buffer } from "./wasm/gentle_lab.js";
import wasm from "./wasm/gentle_lab_bg.wasm?url";
import type { Answer, Question, Standing } from "./protocol";

const ready = init({ module_or_path: wasm });
/** The latest trial; another one ends it. */
let latest = 0;

const pause = () => new Promise((resolve) => setTimeout(resolve, 0));

async function trial(question: Question & { ask: "trial" }) {
  latest = question.id;
  const [first, second] = question.schemes;
  const background = new Background(JSON.stringify(question.setup), first, second, BigInt(question.seed));
  try {
    for (;;) {
      await pause();
      if (latest !== question.id) return;
      const text = background.next();
      if (!text) continue;
      const standing = JSON.parse(text) as Standing;
      postMessage({ id: question.id, standing } satisfies Answer);
      if (standing.done) return;
    }
  } finally {
    background.free();
  }
}

function answer(question: Exclude<Question, { ask: "trial" }>): unknown {
  switch (question.ask) {
    case "catalog":
      return JSON.parse(catalog());
    case "stop":
      latest = question.id;
      return undefined;
    case "describe":
      return JSON.parse(describe(JSON.stringify(question.setup)));
    case "file":
      return file(JSON.stringify(question.setup));
    case "scheme":
      return scheme(question.scheme);
    case "buffer":
      return with_buffer(question.scheme, question.packets);
    case "record":
      return record(JSON.stringify(question.setup), question.scheme, BigInt(question.seed));
  }
}

addEventListener("message", async ({ data }: MessageEvent<Question>) => {
  try {
    await ready;
    if (data.ask === "trial") await trial(data);
    else postMessage({ id: data.id, value: answer(data) } satisfies Answer);
  } catch (error) {
    postMessage({ id: data.id, error: error instanceof Error ? error.message : String(error) } satisfies Answer);
  }
});
