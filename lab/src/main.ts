// The page: two sessions over the same time, the controls, and their display.
import "./style.css";
import * as address from "./address";
import { FIRST, type Scene } from "./scene";
import { wireButtons } from "./buttons";
import { read as readCaptures } from "./capture";
import * as commands from "./commands";
import { show as showConnection } from "./connection";
import { choices } from "./controls";
import { $ } from "./dom";
import { applied, MOST, ofSide, withChanges } from "./edits";
import { moment } from "./format";
import { showColors } from "./colors";
import { showOptions } from "./options";
import { showStory, wireMenu } from "./menu";
import { OwnTraffic } from "./own-traffic";
import { Player } from "./player";
import { Plots } from "./plots";
import type { Captured, Catalog, Change, Description, Edit, Standing } from "./protocol";
import { Quantities } from "./quantities";
import * as questions from "./questions";
import { showDrops, showNumbers, spoken } from "./readings";
import { showLegend } from "./shapes";
import { Side } from "./side";
import { Stage } from "./stage";
import { STORIES, type Story } from "./stories";
import { explain } from "./syn";
import { Tour } from "./tour";
import { Verdict } from "./verdict";

/** Packets a second of real time beyond which single ones are not shown. */
const MOST_PACKETS = 9_000;
/** Seconds of real time before an event at which a story starts. */
const RUN_UP = 2;
/** Milliseconds between two updates of plots, of numbers, and of the address while it plays. */
const PLOT_EVERY = 400;
const NUMBERS_EVERY = 150;
const ADDRESS_EVERY = 1_000;

const calm = matchMedia("(prefers-reduced-motion: reduce)");
const articles = [article("a"), article("b")];
const sides: [Side, Side] = [new Side(), new Side()];
const stages = sides.map((side, index) => new Stage($("canvas", articles[index]), side));
const plots = new Plots($("#plots"));
const verdict = new Verdict(() => showScene("replace"));

let catalog: Catalog;
/** The scene at the start of the run, its changes, and the scene with the values that hold now. */
let base: Scene = FIRST;
let edits: Edit[] = [];
let scene: Scene = base;
let description: Description | undefined;
const player = new Player(sides, details, (side) => ofSide(edits, side));
const tour = new Tour({
  player, sides, smooth: () => !calm.matches, explain: () => void explain($("#syn"), !calm.matches),
  open: (scheme, moment) => run({ ...FIRST, a: scheme }, [], moment),
  drop: () => {
    edits = withChanges(edits, player.now, ["drop_handshake"], "a");
    player.again(0);
  },
  follow: (connection) => stages.forEach((stage) => (stage.followed = connection)),
  ended: () => {
    showScene("replace");
    repeat();
  },
}, FIRST.a);
const quantities = new Quantities({ scene: () => scene, description: () => description, change, restart, complain });
let addressed = 0;
/** Scenes that are about to be shown; until then the address is theirs. */
let opening = 0;
let plotted = 0;
let counted = 0;

// ---- what is shown -------------------------------------------------------------------------------------------------

function complain(message: string | undefined) {
  const error = $("#error");
  error.hidden = !message;
  error.textContent = message ?? "";
}

/** Parts of a side that are always open where there is space for them. */
const wide = matchMedia("(min-width: 861px)");
function unfold() {
  for (const part of document.querySelectorAll<HTMLDetailsElement>("details.part")) part.open = wide.matches;
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

/** The address of the moment shown. */
const link = () => address.write({ scene: base, edits, moment: player.now, speed: player.speed });

/** Shows the moment and the speed in the address; nothing else of it has changed. */
function showMoment() {
  if (tour.active || opening || !description) return;
  const known = location.hash;
  void link().then((text) => known === location.hash && history.replaceState(null, "", `#${text}`));
}

/** Shows the scene in the controls and in the address; "push": Back leads to the scene before. */
function showScene(how: "push" | "replace") {
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
  showColors([scene.a, scene.b]);
  showOptions(catalog, [scene.a, scene.b]);
  showStory(tour.active ? undefined : address.storyOf(base));
  if (tour.active) return;
  void link().then((text) => (how === "push" ? history.pushState(null, "", `#${text}`) : history.replaceState(null, "", `#${text}`)));
}

// ---- controls ------------------------------------------------------------------------------------------------------

function showQuantities(description: Description) {
  quantities.show(description);
  plots.setInitialRto(description.initial_rto_s);
}

/** Changes the run from the moment on up to which it was requested. */
async function change(changes: Change[], side?: Edit["side"]) {
  tour.stop();
  const next = withChanges(edits, Math.max(...sides.map((side) => side.target)), changes, side);
  if (next.length > MOST) return complain(`A run can be changed ${MOST} times. Start a new one, for example with another seed.`);
  edits = next;
  sides.forEach((side, index) => side.replan(ofSide(edits, index)));
  if (changes.some((change) => typeof change === "object" && "buffer" in change)) stages.forEach((stage) => stage.reset());
  scene = await applied(base, edits);
  description = await questions.describe(address.setupOf(scene));
  showQuantities(description);
  showScene("push");
  repeat();
}

/** Runs a scene with these changes, and shows it from a moment. */
async function run(next: Scene, changes: Edit[], from: number, how: "push" | "replace" = "replace") {
  try {
    const [a, b] = await Promise.all([questions.scheme(next.a), questions.scheme(next.b)]);
    const named = { ...next, a: next.a.includes("published") ? next.a : a, b: next.b.includes("published") ? next.b : b };
    const current = await applied(named, changes);
    description = await questions.describe(address.setupOf(current));
    [base, edits, scene] = [named, changes, current];
  } catch (error) {
    return complain((error as Error).message);
  }
  complain(description.warnings.join(" ") || undefined);
  verdict.standing = undefined;
  $("#spoken").textContent = "";
  const setup = address.setupOf(base);
  sides.forEach((side, index) => side.open(setup, index ? base.b : base.a, base.seed));
  stages.forEach((stage) => stage.reset());
  player.goTo(from);
  showQuantities(description);
  showScene(how);
  void questions.file(address.setupOf(scene)).then((text) => ($<HTMLTextAreaElement>("#toml").value = text), () => {});
  repeat();
}

/** Starts a changed scene from its beginning, and shows it from the current moment. */
function restart(change: Partial<Scene>, from = player.now) {
  tour.stop();
  return run({ ...scene, ...change }, [], from, "push");
}

/** Runs listed connections, on a link of this rate if there is one; returns why that is impossible. */
async function runFlows(flows: string, rate = scene.rate) {
  await restart({ flows, rate, toml: undefined, traffic: "", up_rate: undefined, load: undefined, rtt: undefined }, 0);
  const problem = scene.flows === flows ? undefined : ($("#error").textContent ?? "");
  if (problem) complain(undefined);
  return problem;
}

function watch(text: string) {
  $("#story-text").textContent = text;
  $(".bar").scrollIntoView({ behavior: calm.matches ? "auto" : "smooth" });
  $("#play").focus({ preventScroll: true });
  player.play(!calm.matches);
}

/** Repeats the scene with many seeds in the background. */
function repeat() {
  // The tour leaves the processor to the pictures.
  if (description && !tour.active) verdict.start({ setup: address.setupOf(scene), schemes: [scene.a, scene.b], seed: scene.seed, description });
}

// ---- pictures ------------------------------------------------------------------------------------------------------

/** Milliseconds that the latest pictures took to draw. */
const costs: number[] = [];

function frame(real: number) {
  const started = performance.now();
  const passed = player.tick(real);
  const view = { now: player.now, passed, speed: player.speed, details: details(), motion: !calm.matches, causes: catalog.causes, initialRto: description?.initial_rto_s ?? 1 };
  for (const stage of stages) stage.draw(view);
  for (const side of sides) side.tidy(player.now, player.speed);
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
  if (player.playing && real - addressed > ADDRESS_EVERY) {
    addressed = real;
    showMoment();
  }
  costs.push(performance.now() - started);
  if (costs.length > 60) costs.shift();
  requestAnimationFrame(frame);
}

/** A connection under both schemes; under one of them if the other run has another connection of this number. */
async function livesOf(index: number, connection: number) {
  const lives = (await Promise.all(sides.map((side) => side.history(connection)))).map((history, side) => ({ history, scheme: label(side), key: "ab"[side] as "a" | "b" }));
  // Load that depends on what a queue did to earlier packets can make the numbers differ: then it is another connection.
  const [a, b] = lives.map(({ history }) => history.moments[0]?.at_s);
  const same = a !== undefined && b !== undefined && Math.abs(a - b) < 1e-6;
  return same ? lives : [lives[index]];
}

function openConnection(index: number, connection: number) {
  player.play(false);
  void showConnection($("#connection"), connection, livesOf(index, connection));
}

// ---- wiring --------------------------------------------------------------------------------------------------------

function wire() {
  player.onStop = () => {
    showReadings();
    say();
    showMoment();
  };
  player.onSeek = () => {
    tour.stop();
    showMoment();
  };
  player.onSpeed = showMoment;
  articles.forEach((article, index) => {
    const spec = $<HTMLInputElement>(".spec", article);
    const select = $<HTMLSelectElement>(".scheme", article);
    const changed = (text: string) => restart(index === 0 ? { a: text } : { b: text });
    select.addEventListener("change", () => void changed(select.value));
    spec.addEventListener("change", () => void changed(`${select.value} ${spec.value}`.trim()));
    const canvas = $<HTMLCanvasElement>("canvas", article);
    canvas.addEventListener("click", (event) => {
      const packet = stages[index].at(event.offsetX, event.offsetY);
      if (packet) openConnection(index, packet.connection);
    });
    $(".drop-syn", article).addEventListener("click", () => {
      $("#spoken").textContent = `The next SYN or SYN/ACK with ${label(index)} will be dropped.`;
      void change(["drop_handshake"], "ab"[index] as "a" | "b");
    });
    $("ol", article).addEventListener("click", (event) => {
      const button = (event.target as HTMLElement).closest<HTMLElement>("[data-connection]");
      if (button) openConnection(index, Number(button.dataset.connection));
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
  wireMenu((story) => void tell(story, "push"));
  wireButtons({ player, stages, names: () => [scene.a, scene.b], link, toml: () => questions.file(address.setupOf(scene)), recolor, complain });
  $("#explain").addEventListener("click", () => void explain($("#syn"), !calm.matches));
  $("#take-tour").addEventListener("click", () => void tour.start());
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", recolor);
  window.addEventListener("hashchange", () => void fromAddress());
  for (const side of sides) side.onError = complain;
  new OwnTraffic({ run: runFlows, watch });
}

function recolor() {
  stages.forEach((stage) => stage.recolor());
  showLegend($("#legend"));
}

/** Starts a story shortly before the event that it is about. */
async function tell(story: Story, how: "push" | "replace") {
  tour.stop();
  opening += 1;
  player.play(false);
  player.setSpeed(story.speed);
  await run(story.scene, [], story.after, how);
  const begin = player.now;
  const seen = await sides[0].find(story.sight, story.after);
  opening -= 1;
  // The moment stays if the user has moved to it or begun to play meanwhile.
  if (!player.playing && player.now === begin) {
    player.goTo(Math.max(0, (seen?.at_s ?? story.after) - RUN_UP * story.speed));
    player.play(!calm.matches);
  }
  showMoment();
}

/** Shows the run of a link. A link to a moment shows that moment. */
async function show({ scene, edits, moment, speed }: address.Link) {
  opening += 1;
  player.play(false);
  if (speed !== undefined) player.setSpeed(speed);
  await run(scene, edits, moment ?? 0);
  opening -= 1;
  if (moment === undefined) player.play(!calm.matches);
}

/** Shows the tour, a story from its next event, or a moment of a run, by the address. */
async function fromAddress() {
  if (location.hash.length < 2) return tour.start();
  tour.stop();
  try {
    const link = await address.read(location.hash);
    const story = address.storyOf(link.scene);
    if (story && link.moment === undefined) await tell(story, "replace");
    else await show(link);
  } catch (error) {
    await show({ scene: FIRST, edits: [], moment: undefined, speed: undefined });
    complain((error as Error).message);
  }
}

async function main() {
  catalog = await questions.catalog();
  const schemes = catalog.schemes.map(({ name }) => ({ value: name, text: name }));
  for (const article of articles) choices($(".scheme", article), schemes, "");
  choices($("#traffic"), [{ value: "", text: "a file, below" }, ...catalog.scenarios.map(({ name, title }) => ({ value: name, text: `${name}: ${title}` }))], "");
  verdict.showLimits(catalog.grades);
  choices($("#profile"), [{ value: "", text: "from the scenario" }, ...catalog.profiles.map(({ name, summary }) => ({ value: name, text: `${name}: ${summary}` }))], "");
  $("#version").textContent = `gentle ${catalog.version}. Everything is computed in this page; nothing leaves it.`;
  const key = document.createElement("p");
  key.className = "chart-key";
  key.innerHTML = `<span class="a"><i></i><span id="chart-key-a"></span></span><span class="b"><i></i><span id="chart-key-b"></span></span>`;
  $("#plots").before(key);
  wire();
  unfold();
  wide.addEventListener("change", unfold);
  showLegend($("#legend"));
  player.setSpeed(player.speed);
  void fromAddress();
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
      state: () => { now: number; speed: number; playing: boolean; opening: boolean; standing: Standing | undefined; sides: (Side["snapshot"] & object)[]; known: number };
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
    now: player.now, speed: player.speed, playing: player.playing, opening: opening > 0, standing: verdict.standing,
    sides: sides.map((side) => side.snapshot).filter((snapshot) => snapshot !== undefined),
    known: sides.reduce((sum, side) => sum + side.packets.size, 0),
  }),
  speed: (value) => player.setSpeed(value),
};

main().catch((error: unknown) => complain(`The lab did not start: ${error instanceof Error ? error.message : String(error)}. Browsers of 2024 and later can run it.`));
