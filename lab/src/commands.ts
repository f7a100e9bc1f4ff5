// The commands that repeat and verify the results of the page.
import type { Scene } from "./scene";

const quoted = (text: string) => (/^[\w./%=-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`);

/** Whether the commands need the scenario file. */
export const needsFile = (scene: Scene) => Boolean(scene.toml || scene.rtt);

function options(scene: Scene): string {
  const list: [string, string | undefined][] = [
    ["--traffic", needsFile(scene) ? "lab.toml" : scene.flows ? "flows.csv" : scene.traffic],
    ["--rate", scene.rate],
    ["--up-rate", scene.up_rate],
    ["--load", scene.load],
    ["--duration", scene.duration],
    ["--profile", scene.profile],
    ["--scheme", scene.a],
    ["--scheme", scene.b],
    ["--first-seed", String(scene.seed)],
  ];
  return list.filter(([, value]) => value).map(([option, value]) => `${option} ${quoted(value as string)}`).join(" ");
}

export const compare = (scene: Scene, seeds: number) => `gentle compare ${options(scene)} --seeds ${seeds}`;
export const check = (scene: Scene, seeds: number) => `gentle testbed check ${options(scene)} --seeds ${seeds}`;
