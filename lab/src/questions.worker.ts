// Requests of the page in addition to its two sessions: schemes and scenarios, and runs in the background.
import { Background, catalog, describe, file, Lab, record, scheme, with_buffer } from "./wasm/gentle_lab.js";
import { serve } from "./serve";
import type { Answer, Question, Standing } from "./protocol";

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
    case "life": {
      const lab = new Lab(JSON.stringify(question.setup), question.scheme, 1n);
      try {
        lab.replan(JSON.stringify(question.edits));
        return JSON.parse(lab.history(0));
      } finally {
        lab.free();
      }
    }
  }
}

serve<Question>(
  (question) => (question.ask === "trial" ? trial(question) : postMessage({ id: question.id, value: answer(question) } satisfies Answer)),
  (question, error) => postMessage({ id: question.id, error } satisfies Answer),
);
