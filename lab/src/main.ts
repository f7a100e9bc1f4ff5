// The page: two sessions over the same time, the controls, and their display.
import "./style.css";
import * as address from "./address";
import type { Scene } from "./address";
import { read as readCaptures } from "./capture";
import * as commands from "./commands";
import { show as showConnection } from "./connection";
import { choices, Slider } from "./controls";
import { $, copy, save } from "./dom";
import { moment, rateText } from "./format";
import { showOptions } from "./options";
import { OwnTraffic } from "./own-traffic";
import { Player } from "./player";
import { Plots } from "./plots";
import type { Captured, Catalog, Change, Description, Standing } from "./protocol";
import * as questions from "./questions";
import { showDrops, showNumbers, spoken } from "./readings";
import { Side } from "./side";
import { showLegend, Stage } from "./stage";
import { STORIES } from "./stories";
import { Verdict } from "./verdict";

/** Packets a second of real time beyond which single ones are not shown. */
const MOST_PACKETS = 9_000;
/** Milliseconds between two updates of plots, and of numbers. */
const PLOT_EVERY = 400;
const NUMBERS_EVERY = 150;

const calm = matchMedia("(prefers-reduced-motion: reduce)");
const articles = [article("a"), article("b")];
const sides: [Side, Side] = [new Side(), new Side()];
const stages = sides.map((side, index) => new Stage($("canvas", articles[index]), side));
const plots = new Plots($("#plots"));
const verdict = new Verdict(showScene);

let catalog: Catalog;
let scene: Scene;
let description: Description | undefined;
const player = new Player(sides, details);
let plotted = 0;
let counted = 0;

// ---- what is shown -------------------------------------------------------------------------------------------------

function complain(message: string | undefined) {
  const error = $("#error");
  error.hidden = !message;
  error.textContent = message ?? "";
}

/** The place of a side in the page. */
function article(key: "a" | "b"): HTMLElement {
  const made = ($<HTMLTemplateElement>("#side").content.cloneNode(true) as DocumentFragment).firstElementChild as HTMLElement;
  made.classList.add(key);
  made.setAttribute("aria-labelledby", `name-${key}`);
  $("h2", made).id = `name-${key}`;
  $(".sides").append(made);
  return made;
}

const label = (index: number) => (index === 0 ? scene.a : scene.b);

function details(): boolean {
  const packets = ((description?.rate_bps ?? 1e6) / 12_000) * 2 * player.speed;
  return packets <= MOST_PACKETS;
}

function showReadings() {
  sides.forEach((side, index) => {
    showNumbers(articles[index], side);
    showDrops(articles[index], side.drops, player.now, catalog.causes);
  });
}

function say() {
  $("#spoken").textContent = `At ${moment(player.now)}. ${sides.map((side, index) => spoken(side, label(index))).join(" ")}`;
}

function showScene() {
  articles.forEach((article, index) => {
    $(".name", article).textContent = label(index);
    const [name, ...options] = label(index).split(" ");
    $<HTMLSelectElement>(".scheme", article).value = name;
    $<HTMLInputElement>(".spec", article).value = options.join(" ");
    $(".summary", article).textContent = catalog.schemes.find((scheme) => scheme.name === name)?.summary ?? "";
  });
  $("#chart-key-a").textContent = scene.a;
  $("#chart-key-b").textContent = scene.b;
  $<HTMLInputElement>("#seed").value = String(scene.seed);
  $<HTMLSelectElement>("#traffic").value = scene.toml || scene.flows ? "" : scene.traffic;
  $<HTMLSelectElement>("#profile").value = scene.profile ?? "";
  const seeds = Math.max(5, verdict.standing?.seeds ?? 5);
  $("#compare").textContent = commands.compare(scene, seeds);
  $("#check").textContent = commands.check(scene, seeds);
  $("#needs-file").textContent = scene.flows ? "The commands read flows.csv, the list of connections that you chose or that gentle analyze --flows flows.csv writes; the address of the page does not contain it."
    : commands.needsFile(scene) ? "The commands read lab.toml:" : "As a file, to change and to keep:";
  for (const id of ["#copy-toml", "#save-toml"]) $(id).hidden = Boolean(scene.flows);
  showOptions(catalog, [scene.a, scene.b]);
  void address.write(scene).then((text) => history.replaceState(null, "", `#${text}`));
}

// ---- controls ------------------------------------------------------------------------------------------------------

const logarithmic = { at: (position: number) => 10 ** position, place: (quantity: number) => Math.log10(quantity) };
const rounded = (value: number, digits: number) => Number(value.toPrecision(digits));

const sliders = {
  rate: new Slider({ id: "rate", ...logarithmic, text: (bits) => rateText(rounded(bits, 2)) }, (text) => live("rate", text)),
  up: new Slider({ id: "up", ...logarithmic, text: (bits) => rateText(rounded(bits, 2)) }, (text) => live("up_rate", text)),
  buffer: new Slider({ id: "buffer", ...logarithmic, text: (packets) => String(Math.round(packets)) }, (text) => void setBuffer(text)),
  load: new Slider({ id: "load", at: (position) => position, place: (percent) => percent, text: (percent) => `${Math.round(percent)}%` }, (text) => live("load", text)),
  rtt: new Slider({ id: "rtt", ...logarithmic, text: (ms) => `${rounded(ms, 2)}ms` }, (text) => void restart({ rtt: text })),
};

function showDescription() {
  if (!description) return;
  sliders.rate.show(description.rate_bps, scene.rate ?? rateText(description.rate_bps));
  sliders.up.show(description.up_rate_bps, scene.up_rate ?? rateText(description.up_rate_bps));
  sliders.load.show(description.load * 100, scene.load ?? `${Math.round(description.load * 100)}%`);
  const rtt = (description.delay_s[0] + description.delay_s[1]) * 1000;
  sliders.rtt.show(rtt, scene.rtt ?? `${rounded(rtt, 4)}ms`);
  const limit = [scene.a, scene.b].map((text) => Number(/limit=(\d+)(?:p|\b)(?!b)/.exec(text)?.[1])).find((n) => n > 0 && n <= 10_000);
  sliders.buffer.show(limit ?? 1000, limit ? String(limit) : "default");
  $("#traffic-text").textContent = `restarts the run; ${description.workloads.length === 1 ? description.workloads[0] : `${description.workloads.length} kinds of traffic`}`;
  plots.setInitialRto(description.initial_rto_s);
}

/** Changes the scene while it runs; changes that the simulator rejects are not made. */
async function live(key: "rate" | "up_rate" | "load", text: string) {
  const slider = { rate: sliders.rate, up_rate: sliders.up, load: sliders.load }[key];
  const next: Scene = { ...scene, [key]: text };
  try {
    const before = description;
    const after = await questions.describe(address.setupOf(next));
    slider.invalid(false);
    complain(undefined);
    scene = next;
    description = after;
    const changes: Change[] = [];
    if (after.rate_bps !== before?.rate_bps) changes.push({ rate: after.rate_bps });
    if (after.up_rate_bps !== before?.up_rate_bps) changes.push({ upRate: after.up_rate_bps });
    if (key === "load") changes.push({ load: after.load });
    for (const side of sides) changes.forEach((change) => side.change(change));
    showDescription();
    showScene();
    repeat();
  } catch (error) {
    slider.invalid(true);
    complain((error as Error).message);
  }
}

async function setBuffer(text: string) {
  const packets = Number(text);
  if (!Number.isInteger(packets) || packets < 1 || packets > 100_000) {
    sliders.buffer.invalid(true);
    return complain("buffer: expected 1 to 100000 packets");
  }
  sliders.buffer.invalid(false);
  const changed = await Promise.all([scene.a, scene.b].map((scheme) => questions.withBuffer(scheme, packets)));
  complain(changed.some(Boolean) ? undefined : "Neither scheme has a limit in packets or bytes.");
  scene = { ...scene, a: changed[0] ?? scene.a, b: changed[1] ?? scene.b };
  sides.forEach((side, index) => changed[index] && side.change({ buffer: packets }));
  stages.forEach((stage) => stage.reset());
  showDescription();
  showScene();
  repeat();
}

/** Starts a changed scene from its beginning, and shows it from the current moment. */
async function restart(change: Partial<Scene>, from = player.now) {
  const next: Scene = { ...scene, ...change };
  try {
    const [a, b] = await Promise.all([questions.scheme(next.a), questions.scheme(next.b)]);
    description = await questions.describe(address.setupOf(next));
    scene = { ...next, a: next.a.includes("published") ? next.a : a, b: next.b.includes("published") ? next.b : b };
  } catch (error) {
    return complain((error as Error).message);
  }
  complain(description.warnings.join(" ") || undefined);
  verdict.standing = undefined;
  const setup = address.setupOf(scene);
  sides.forEach((side, index) => {
    side.open(setup, label(index), scene.seed);
    side.back(from);
  });
  stages.forEach((stage) => stage.reset());
  player.now = from;
  showDescription();
  showScene();
  void questions.file(setup).then((text) => ($<HTMLTextAreaElement>("#toml").value = text), () => {});
  repeat();
}

/** Runs listed connections, on a link of this rate if there is one. */
const runFlows = (flows: string, rate = scene.rate) =>
  restart({ flows, rate, toml: undefined, traffic: "", up_rate: undefined, load: undefined, rtt: undefined }, 0);

function watch(text: string) {
  $<HTMLSelectElement>("#story").value = "-1";
  $("#story-text").textContent = text;
  $(".bar").scrollIntoView({ behavior: calm.matches ? "auto" : "smooth" });
  $("#play").focus({ preventScroll: true });
  player.play(!calm.matches);
}

/** Repeats the scene with many seeds in the background. */
function repeat() {
  if (description) verdict.start({ setup: address.setupOf(scene), schemes: [scene.a, scene.b], seed: scene.seed, description });
}

// ---- pictures ------------------------------------------------------------------------------------------------------

/** Milliseconds that the latest pictures took to draw. */
const costs: number[] = [];

function frame(real: number) {
  const started = performance.now();
  const passed = player.tick(real);
  const view = { now: player.now, real, passed, speed: player.speed, details: details(), motion: !calm.matches, causes: catalog.causes, initialRto: description?.initial_rto_s ?? 1 };
  for (const stage of stages) stage.draw(view);
  for (const side of sides) side.tidy(player.now, real);
  if (real - counted > NUMBERS_EVERY) {
    counted = real;
    showReadings();
    player.show();
    stages.forEach((_, index) => $("canvas", articles[index]).setAttribute("aria-label", `The link under ${label(index)}: a queue, its link, and the reverse link.`));
  }
  if (real - plotted > PLOT_EVERY) {
    plotted = real;
    plots.update(sides, [scene.a, scene.b]);
  }
  costs.push(performance.now() - started);
  if (costs.length > 60) costs.shift();
  requestAnimationFrame(frame);
}

async function openConnection(index: number, connection: number) {
  player.play(false);
  const life = await sides[index].history(connection);
  showConnection($("#connection"), life, connection, label(index));
}

// ---- wiring --------------------------------------------------------------------------------------------------------

function wire() {
  player.onStop = () => {
    showReadings();
    say();
  };
  articles.forEach((article, index) => {
    const spec = $<HTMLInputElement>(".spec", article);
    const select = $<HTMLSelectElement>(".scheme", article);
    const changed = (text: string) => restart(index === 0 ? { a: text } : { b: text });
    select.addEventListener("change", () => void changed(select.value));
    spec.addEventListener("change", () => void changed(`${select.value} ${spec.value}`.trim()));
    const canvas = $<HTMLCanvasElement>("canvas", article);
    canvas.addEventListener("click", (event) => {
      const packet = stages[index].at(event.offsetX, event.offsetY);
      if (packet) void openConnection(index, packet.connection);
    });
    $("ol", article).addEventListener("click", (event) => {
      const button = (event.target as HTMLElement).closest<HTMLElement>("[data-connection]");
      if (button) void openConnection(index, Number(button.dataset.connection));
    });
  });
  $("#traffic").addEventListener("change", () => {
    const traffic = $<HTMLSelectElement>("#traffic").value;
    if (traffic) void restart({ traffic, toml: undefined, flows: undefined, rate: undefined, up_rate: undefined, load: undefined, rtt: undefined });
  });
  $("#profile").addEventListener("change", () => void restart({ profile: $<HTMLSelectElement>("#profile").value }));
  $("#seed").addEventListener("change", () => {
    const seed = $<HTMLInputElement>("#seed");
    if (seed.validity.valid && seed.value) void restart({ seed: Number(seed.value) });
  });
  $("#use-toml").addEventListener("click", () => {
    void restart({ toml: $<HTMLTextAreaElement>("#toml").value, traffic: "", flows: undefined, rate: undefined, up_rate: undefined, load: undefined, rtt: undefined });
  });
  $("#controls").addEventListener("submit", (event) => event.preventDefault());
  $("#story").addEventListener("change", () => tell(Number($<HTMLSelectElement>("#story").value)));
  for (const button of document.querySelectorAll<HTMLElement>("[data-copy]")) {
    button.addEventListener("click", () => void copy(button, $(`#${button.dataset.copy}`).textContent ?? ""));
  }
  $("#copy-link").addEventListener("click", (event) => void copy(event.currentTarget as HTMLElement, location.href));
  const toml = () => questions.file(address.setupOf(scene));
  $("#copy-toml").addEventListener("click", async (event) => {
    const button = event.currentTarget as HTMLElement;
    await copy(button, await toml());
  });
  $("#save-toml").addEventListener("click", async () => {
    save("lab.toml", new Blob([await toml()], { type: "application/toml" }));
  });
  const themes = ["automatic", "light", "dark"];
  $("#theme").addEventListener("click", () => {
    const shown = document.documentElement.dataset.theme ?? "automatic";
    const next = themes[(themes.indexOf(shown) + 1) % themes.length];
    if (next === "automatic") delete document.documentElement.dataset.theme;
    else document.documentElement.dataset.theme = next;
    $("#theme").textContent = `Theme: ${next}`;
    recolor();
  });
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", recolor);
  window.addEventListener("hashchange", () => void fromAddress());
  for (const side of sides) side.onError = complain;
  new OwnTraffic({ run: runFlows, watch, complain });
}

function recolor() {
  stages.forEach((stage) => stage.recolor());
  showLegend($("#legend"));
}

function tell(index: number) {
  const story = STORIES[index];
  if (!story) return;
  $("#story-text").textContent = story.text;
  player.setSpeed(story.speed);
  scene = { ...story.scene };
  void restart({}, story.from);
  if (!calm.matches) player.play(true);
}

/** The scene of the address: a story by its name, or a scenario. */
async function fromAddress() {
  const named = STORIES.findIndex((story) => `#story=${story.id}` === location.hash);
  if (named >= 0 || location.hash.length < 2) {
    $<HTMLSelectElement>("#story").value = String(Math.max(0, named));
    return tell(Math.max(0, named));
  }
  try {
    scene = await address.read(location.hash);
  } catch (error) {
    complain((error as Error).message);
    scene = { ...address.FIRST };
  }
  const known = STORIES.findIndex((story) => JSON.stringify(address.setupOf(story.scene)) === JSON.stringify(address.setupOf(scene)) && story.scene.a === scene.a && story.scene.b === scene.b);
  $<HTMLSelectElement>("#story").value = String(known);
  $("#story-text").textContent = STORIES[known]?.text ?? "";
  await restart({}, 0);
  player.play(!calm.matches);
}

async function main() {
  catalog = await questions.catalog();
  const schemes = catalog.schemes.map(({ name }) => ({ value: name, text: name }));
  for (const article of articles) choices($(".scheme", article), schemes, "");
  choices($("#traffic"), [{ value: "", text: "a file, below" }, ...catalog.scenarios.map(({ name, title }) => ({ value: name, text: `${name}: ${title}` }))], "");
  verdict.showLimits(catalog.grades);
  choices($("#profile"), [{ value: "", text: "from the scenario" }, ...catalog.profiles.map(({ name, summary }) => ({ value: name, text: `${name}: ${summary}` }))], "");
  choices($("#story"), [...STORIES.map(({ title }, index) => ({ value: String(index), text: title })), { value: "-1", text: "none: your own" }], "0");
  $("#version").textContent = `gentle ${catalog.version}. Everything is computed in this page; nothing leaves it.`;
  const key = document.createElement("p");
  key.className = "chart-key";
  key.innerHTML = `<span class="a"><i></i><span id="chart-key-a"></span></span><span class="b"><i></i><span id="chart-key-b"></span></span>`;
  $("#plots").before(key);
  wire();
  showLegend($("#legend"));
  player.setSpeed(player.speed);
  await fromAddress();
  requestAnimationFrame(frame);
}

/** For programs that drive the page, as its tests do. */
declare global {
  interface Window {
    gentle: {
      record: typeof questions.record;
      analyze: (files: File[], local: string) => Promise<Captured>;
      schemes: () => string[];
      stories: () => string[];
      setup: () => ReturnType<typeof address.setupOf>;
      costs: () => number[];
      state: () => { now: number; speed: number; playing: boolean; standing: Standing | undefined; sides: (Side["snapshot"] & object)[]; known: number };
      speed: (value: number) => void;
    };
  }
}

window.gentle = {
  record: questions.record,
  analyze: (files, local) => readCaptures({ files, local }, () => {}).captured,
  schemes: () => catalog.schemes.map((scheme) => scheme.name),
  stories: () => STORIES.map((story) => story.id),
  setup: () => address.setupOf(scene),
  costs: () => [...costs],
  state: () => ({
    now: player.now, speed: player.speed, playing: player.playing, standing: verdict.standing,
    sides: sides.map((side) => side.snapshot).filter((snapshot) => snapshot !== undefined),
    known: sides.reduce((sum, side) => sum + side.packets.size, 0),
  }),
  speed: (value) => player.setSpeed(value),
};

main().catch((error: unknown) => complain(`The lab did not start: ${error instanceof Error ? error.message : String(error)}. Browsers of 2024 and later can run it.`));
