// Changes of a run while it lasts.
import type { Scene } from "./scene";
import { rateText } from "./format";
import type { Change, Edit } from "./protocol";
import * as questions from "./questions";

/** Most changes of a run. An address holds that many. */
export const MOST = 200;

/** Changes of one side. */
export const ofSide = (edits: Edit[], side: number) => edits.filter((edit) => !edit.side || edit.side === "ab"[side]);

/** The list with changes at a moment, which replace the later ones. */
export const withChanges = (edits: Edit[], at: number, changes: Change[], side?: Edit["side"]): Edit[] =>
  [...edits.filter((edit) => edit.at <= at), ...changes.map((change) => ({ at, side, change }))];

/** The scene with the values that hold after all changes. */
export async function applied(scene: Scene, edits: Edit[]): Promise<Scene> {
  const next = { ...scene };
  for (const { change } of edits) {
    if (change === "drop_handshake") continue;
    if ("rate" in change) next.rate = rateText(change.rate);
    else if ("up_rate" in change) next.up_rate = rateText(change.up_rate);
    else if ("load" in change) next.load = `${Number((change.load * 100).toPrecision(6))}%`;
    else {
      const [a, b] = await Promise.all([next.a, next.b].map((scheme) => questions.withBuffer(scheme, change.buffer)));
      next.a = a ?? next.a;
      next.b = b ?? next.b;
    }
  }
  return next;
}
