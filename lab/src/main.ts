// The page: two sessions over the same time, the controls, and what is shown of them.
import "./style.css";
import * as address from "./address";
import type { Scene } from "./address";
import * as capture from "./capture";
import * as commands from "./commands";
import { show as showConnection } from "./connection";
import { choices, Slider } from "./controls";
import { count, moment, percent, rateText, time } from "./format";
import { Plots } from "./plots";
import type { Captured, Catalog, Change, Description, Standing } from "./protocol";
import * as questions from "./questions";
import { Side, SHAPES, SYN_ACK } from "./side";
import { colorsOf, drawShape, Stage } from "./stage";
import { STORIES } from "./stories";

const $ = <T extends HTMLElement>(selector: string, within: ParentNode = document) => {
  const found = within.querySelector<T>(selector);
  if (!found) throw new Error(`The page lacks ${selector}.`);
  return found;
};

/** Packets a second of real time beyond which single ones are not shown. */
const MOST_PACKETS = 9_000;
/** Real seconds that the sessions are ahead of the moment shown. */
const AHEAD = 0.25;
/** Milliseconds between two updates of plots, and of numbers. */
const PLOT_EVERY = 400;
const NUMBERS_EVERY = 150;

/** Most connections of a capture that the page runs: their list goes to every worker. */
const MOST_CONNECTIONS = 200_000;

/** Seconds of a scenario that the page repeats with many seeds. */
const LONGEST_TRIAL = 3_600;

const calm = matchMedia("(prefers-reduced-motion: reduce)");
const articles = [...document.querySelectorAll<HTMLElement>(".side")];
const sides: [Side, Side] = [new Side(), new Side()];
const stages = sides.map((side, index) => new Stage($("canvas", articles[index]), side));
const plots = new Plots($("#plots"));

let catalog: Catalog;
let scene: Scene;
let description: Description | undefined;
let standing: Standing | undefined;
let now = 0;
let furthest = 0;
let speed = 0.2;
let playing = false;
let lastFrame = 0;
let plotted = 0;
let counted = 0;
let curvesAsked = 0;
let trialTimer = 0;
let reading: capture.Reading | undefined;
let captures: File[] = [];
let captured: Captured | undefined;
/** Whether a hand holds the slider of the moment. */
let dragging = false;

// ---- what is shown -------------------------------------------------------------------------------------------------

function complain(message: string | undefined) {
  const error = $("#error");
  error.hidden = !message;
  error.textContent = message ?? "";
}

const label = (index: number) => (index === 0 ? scene.a : scene.b);

function details(): boolean {
  const packets = ((description?.rate_bps ?? 1e6) / 12_000) * 2 * speed;
  return packets <= MOST_PACKETS;
}

function numbers() {
  sides.forEach((side, index) => {
    const sums = side.snapshot?.sums;
    if (!sums) return;
    const [shorts, shortSum] = sums.short;
    const [sojourn, left] = sums.sojourn;
    const list: [string, string, boolean][] = [
      ["SYNs and SYN/ACKs lost", sums.handshakes_offered ? percent(sums.handshakes_dropped / sums.handshakes_offered) : "–", sums.handshakes_dropped > 0],
      ["mean response time, up to 3 segments", shorts ? time(shortSum / shorts) : "–", false],
      ["mean time in the queue", left ? time(sojourn / left) : "–", false],
      ["connections completed", count(sums.completed), false],
    ];
    const dl = $(".numbers", articles[index]);
    dl.replaceChildren(...list.map(([name, value, bad]) => {
      const row = document.createElement("div");
      const dd = document.createElement("dd");
      dd.textContent = value;
      if (bad) dd.className = "bad";
      const dt = document.createElement("dt");
      dt.textContent = name;
      row.append(dt, dd);
      return row;
    }));
    drops(side, articles[index]);
  });
}

/** The last drops as buttons, for whoever cannot hit a packet that falls. */
function drops(side: Side, article: HTMLElement) {
  const list = $("ol", article);
  const past = side.drops.filter((drop) => drop.at <= now && drop.connection >= 0);
  // SYNs are what the page is about; they stay longer.
  const recent = [...past.filter((drop) => drop.shape <= SYN_ACK).slice(-3), ...past.filter((drop) => drop.shape > SYN_ACK).slice(-2)];
  const latest = [...new Set(recent)].toSorted((a, b) => b.at - a.at);
  const key = latest.map((drop) => `${drop.at} ${drop.connection}`).join();
  if (list.dataset.key === key) return;
  list.dataset.key = key;
  const focused = document.activeElement instanceof HTMLElement && list.contains(document.activeElement) ? document.activeElement.dataset.drop : undefined;
  list.replaceChildren(...latest.map((drop) => {
    const item = document.createElement("li");
    const button = document.createElement("button");
    button.type = "button";
    const name = `${drop.again ? "retransmitted " : ""}${SHAPES[drop.shape]}`;
    button.textContent = `${moment(drop.at)} ${name} of connection ${drop.connection} (${catalog.causes[drop.cause]})`;
    button.className = drop.shape <= SYN_ACK ? "handshake" : "";
    button.dataset.drop = `${drop.at} ${drop.connection}`;
    button.dataset.connection = String(drop.connection);
    item.append(button);
    return item;
  }));
  if (focused) list.querySelector<HTMLElement>(`[data-drop="${focused}"]`)?.focus();
}

/** What the picture shows, in words. */
function spoken(): string {
  return sides.map((side, index) => {
    const snapshot = side.snapshot;
    if (!snapshot) return "";
    const waits = side.waits.size;
    return `${label(index)}: ${snapshot.backlog[0][0]} packets wait, ${snapshot.sums.handshakes_dropped} of ${snapshot.sums.handshakes_offered} SYNs and SYN/ACKs were dropped, ${waits} ${waits === 1 ? "connection waits" : "connections wait"} for a timeout.`;
  }).join(" ");
}

function say() {
  $("#spoken").textContent = `At ${moment(now)}. ${spoken()}`;
}

function showTime() {
  const slider = $<HTMLInputElement>("#moment");
  const end = sides[0].snapshot?.end_s ?? 1000;
  slider.max = String(end);
  if (dragging) return;
  slider.value = String(now);
  slider.setAttribute("aria-valuetext", moment(now));
  $("#now").textContent = `${moment(now)} of ${moment(end).replace(/\.000$/, "")}`;
}

function showSpeed() {
  const text = speed >= 10 ? `${Math.round(speed)}` : `${Number(speed.toPrecision(2))}`;
  $("#speed-text").textContent = `${text} × real time`;
  $("#speed").setAttribute("aria-valuetext", `${text} times real time`);
  $<HTMLInputElement>("#speed").value = String(Math.log10(speed));
}

function showPlaying() {
  $("#play-text").textContent = playing ? "Pause" : "Play";
  ($("#play").firstElementChild as HTMLElement).textContent = playing ? "❚❚" : "▶";
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
  const seeds = Math.max(5, standing?.seeds ?? 5);
  $("#compare").textContent = commands.compare(scene, seeds);
  $("#check").textContent = commands.check(scene, seeds);
  $("#needs-file").textContent = scene.flows ? "The commands read flows.csv, the list of connections that you chose or that gentle analyze --flows flows.csv writes; the address of the page does not contain it."
    : commands.needsFile(scene) ? "The commands read lab.toml:" : "As a file, to change and to keep:";
  for (const id of ["#copy-toml", "#save-toml"]) $(id).hidden = Boolean(scene.flows);
  optionTables();
  void address.write(scene).then((text) => history.replaceState(null, "", `#${text}`));
}

function optionTables() {
  const tables = [scene.a, scene.b].map((text) => {
    const scheme = catalog.schemes.find((scheme) => scheme.name === text.split(" ")[0]);
    const scroll = document.createElement("div");
    scroll.className = "scroll";
    scroll.tabIndex = 0;
    scroll.setAttribute("role", "region");
    scroll.setAttribute("aria-label", `Options of ${scheme?.name}`);
    const table = document.createElement("table");
    const caption = table.createCaption();
    caption.textContent = `${scheme?.name}: ${scheme?.source}`;
    const head = table.createTHead().insertRow();
    for (const name of ["option", "default", "meaning"]) {
      const cell = document.createElement("th");
      cell.scope = "col";
      cell.textContent = name;
      head.append(cell);
    }
    const body = table.createTBody();
    for (const option of scheme?.options ?? []) {
      const row = body.insertRow();
      const name = document.createElement("th");
      name.scope = "row";
      name.textContent = option.name;
      row.append(name);
      row.insertCell().textContent = option.default ?? "unset";
      row.insertCell().textContent = `${option.help} (${option.accepts})`;
    }
    scroll.append(table);
    return scroll;
  });
  $("#options .tables").replaceChildren(...tables);
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
  $("#traffic-text").textContent = `starts anew; ${description.workloads.length === 1 ? description.workloads[0] : `${description.workloads.length} kinds of traffic`}`;
  plots.setInitialRto(description.initial_rto_s);
}

/** Changes the scene while it runs; what the simulator refuses is not changed. */
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
    trialSoon();
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
  trialSoon();
}

/** Starts a changed scene from its beginning, and shows it from the moment shown now. */
async function restart(change: Partial<Scene>, from = now) {
  const next: Scene = { ...scene, ...change };
  try {
    const [a, b] = await Promise.all([questions.scheme(next.a), questions.scheme(next.b)]);
    description = await questions.describe(address.setupOf(next));
    scene = { ...next, a: next.a.includes("published") ? next.a : a, b: next.b.includes("published") ? next.b : b };
  } catch (error) {
    return complain((error as Error).message);
  }
  complain(description.warnings.join(" ") || undefined);
  standing = undefined;
  const setup = address.setupOf(scene);
  sides.forEach((side, index) => {
    side.open(setup, label(index), scene.seed);
    side.back(from);
  });
  stages.forEach((stage) => stage.reset());
  now = from;
  furthest = from;
  showDescription();
  showScene();
  void questions.file(setup).then((text) => ($<HTMLTextAreaElement>("#toml").value = text), () => {});
  trialSoon();
}

// ---- captures ------------------------------------------------------------------------------------------------------

/** Columns of text that fit into an element, as far as they help. */
function columnsOf(element: HTMLElement): number {
  const ruler = document.createElement("span");
  ruler.textContent = "0".repeat(100);
  element.replaceChildren(ruler);
  const style = getComputedStyle(element);
  const space = element.clientWidth - parseFloat(style.paddingLeft) - parseFloat(style.paddingRight);
  const columns = Math.floor((space * 100) / (ruler.getBoundingClientRect().width || 1));
  element.replaceChildren();
  return Math.min(120, Math.max(40, columns));
}

async function readCaptures(files: File[]) {
  reading?.stop();
  captures = files;
  captured = undefined;
  complain(undefined);
  $<HTMLDetailsElement>("#capture").open = true;
  const names = files.map((file) => file.name).join(", ");
  const result = $("#captured");
  result.hidden = false;
  const columns = columnsOf($("#analysis"));
  result.hidden = true;
  const bar = $<HTMLProgressElement>("#reading-done");
  bar.value = 0;
  $("#reading").hidden = false;
  const own = capture.read({ files, local: $<HTMLInputElement>("#local").value, columns }, (fraction) => (bar.value = fraction));
  reading = own;
  try {
    const found = await own.captured;
    captured = found;
    $("#captured-title").textContent = `What gentle analyze says about ${names}`;
    $("#analysis").textContent = found.text.trim();
    $("#captured-text").textContent = capturedText(found);
    $("#run-captured").hidden = !found.connections || found.connections > MOST_CONNECTIONS;
    $("#save-flows").hidden = !found.connections;
    result.hidden = false;
    // The verdict is last, as in a terminal, and so it is seen first.
    $("#analysis").scrollTop = $("#analysis").scrollHeight;
  } catch (error) {
    complain((error as Error).message);
  } finally {
    if (reading === own) {
      reading = undefined;
      $("#reading").hidden = true;
    }
  }
}

function capturedText({ connections, rate, up }: Captured): string {
  if (!connections) return "No connection in it has a beginning, an end to end handshake and data, so there is nothing to run.";
  if (connections > MOST_CONNECTIONS) return `It has ${count(connections)} connections to run; the page runs at most ${count(MOST_CONNECTIONS)}. gentle compare --from runs them all.`;
  const reverse = up < 0.5 ? "" : ` ${percent(up)} of their data goes up, over the reverse link: if the receivers are on your side of the link, say so above, and the data crosses the link under test.`;
  return `${count(connections)} connections can run, each at its time, with its size and its round-trip time. A capture does not tell the rate of the link; ${rate} would be loaded to 90 % over the time of the capture, and is what the run starts with.${reverse}`;
}

/** Runs listed connections, on a link of this rate if there is one. */
const runFlows = (flows: string, rate = scene.rate) =>
  restart({ flows, rate, toml: undefined, traffic: "", up_rate: undefined, load: undefined, rtt: undefined }, 0);

function runCaptured() {
  if (!captured?.connections) return;
  const { flows, rate } = captured;
  void runFlows(flows, rate).then(() => {
    $<HTMLSelectElement>("#story").value = "-1";
    $("#story-text").textContent = "The connections of your capture.";
    $(".bar").scrollIntoView({ behavior: calm.matches ? "auto" : "smooth" });
    $("#play").focus({ preventScroll: true });
    setPlaying(!calm.matches);
  });
}

function save(text: string, type: string, name: string) {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(new Blob([text], { type }));
  link.download = name;
  link.click();
  URL.revokeObjectURL(link.href);
}

// ---- the trial in the background -----------------------------------------------------------------------------------

function trialSoon() {
  clearTimeout(trialTimer);
  $("#trial-state").textContent = "";
  showGrades(undefined);
  $("#verdict").replaceChildren(paragraph("The first seeds are running."));
  if ((description?.duration_s ?? 0) > LONGEST_TRIAL) {
    $("#verdict").replaceChildren(paragraph(`The scenario lasts ${time(description?.duration_s)}, too long to be repeated in the page. The command below does it.`));
    questions.stopTrial();
    return;
  }
  trialTimer = window.setTimeout(() => {
    questions.startTrial(address.setupOf(scene), [scene.a, scene.b], scene.seed, showStanding, (message) => {
      $("#verdict").replaceChildren(paragraph(message));
    });
  }, 1_200);
}

function paragraph(text: string) {
  const made = document.createElement("p");
  made.textContent = text;
  return made;
}

/** A grade for each side, or nothing where no short connection started. */
function showGrades(found: Standing | undefined) {
  const graded = found?.grades.every((grade) => grade !== null) ?? false;
  $("#grades").hidden = $("#about-grades").hidden = !graded;
  if (!found || !graded) return;
  const cards = found.grades.map((grade, side) => {
    const card = document.createElement("p");
    card.className = side ? "b" : "a";
    const parts = [grade, label(side), `${time(found.added_s[side])} added to a short connection`];
    card.append(...parts.map((text, at) => {
      const part = document.createElement(at ? "span" : "strong");
      part.textContent = text;
      return part;
    }));
    card.firstElementChild?.setAttribute("aria-label", `Grade ${grade}`);
    card.firstElementChild?.setAttribute("role", "img");
    return card;
  });
  $("#grades").replaceChildren(...cards);
}

/** The grades as a line to send to somebody. */
function gradesText(found: Standing) {
  const each = found.grades.map((grade, side) => `${label(side)}: ${grade} (${time(found.added_s[side])} added)`);
  const seeds = found.seeds === 1 ? "1 seed" : `${found.seeds} seeds`;
  return `Short connections under ${description?.title ?? scene.traffic}, ${seeds}. ${each.join("; ")}. ${location.href}`;
}

function showStanding(found: Standing) {
  standing = found;
  showGrades(found.seeds < 2 && !found.done ? undefined : found);
  $("#trial-state").textContent = `${found.seeds} ${found.seeds === 1 ? "seed" : "seeds"}${found.done ? ", done" : " so far"}`;
  // Spoken and read when it is worth it.
  if (found.done || found.seeds === 1 || found.seeds % 4 === 0) {
    $("#verdict").replaceChildren(...(found.seeds < 2 && !found.done ? [paragraph("The first seeds are running.")] : found.words.map(paragraph)));
  }
  if (found.done) showScene();
}

// ---- time ----------------------------------------------------------------------------------------------------------

function goTo(target: number) {
  now = Math.max(0, target);
  for (const side of sides) side.back(now);
  showTime();
}

function setPlaying(on: boolean) {
  playing = on;
  showPlaying();
  if (!on) say();
}

const over = (side: Side) => Boolean(side.snapshot?.ended);
const reached = () => Math.min(...sides.map((side) => (over(side) ? Infinity : side.reached)));

function ask(real: number) {
  if (sides.some((side) => side.busy) || sides.every(over)) return;
  const until = now + Math.max(AHEAD * speed, 0.02);
  if (!playing && reached() >= now) return;
  if (reached() > now + AHEAD * speed * 0.6) return;
  const curves = real - curvesAsked > PLOT_EVERY;
  if (curves) curvesAsked = real;
  for (const side of sides) side.advance(until, details(), curves);
}

/** Milliseconds that the latest pictures took to draw. */
const costs: number[] = [];

function frame(real: number) {
  const started = performance.now();
  const passed = Math.min(0.1, (real - lastFrame) / 1000);
  lastFrame = real;
  if (playing) {
    const known = Math.min(reached(), Math.max(...sides.map((side) => side.reached)));
    now = Math.min(now + passed * speed, Math.max(now, known));
    furthest = Math.max(furthest, now);
    if (sides.every(over) && now >= known) setPlaying(false);
  }
  ask(real);
  const view = { now, real, passed, speed, details: details(), motion: !calm.matches, causes: catalog.causes, initialRto: description?.initial_rto_s ?? 1 };
  for (const stage of stages) stage.draw(view);
  for (const side of sides) side.tidy(now, real);
  if (real - counted > NUMBERS_EVERY) {
    counted = real;
    numbers();
    showTime();
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

/** To the next event of either side. */
async function step() {
  setPlaying(false);
  for (let tries = 0; tries < 200; tries += 1) {
    const next = sides.map((side) => side.nextEvent(now)).filter((at) => at !== undefined);
    if (next.length) {
      now = Math.min(...next);
      numbers();
      showTime();
      return say();
    }
    if (sides.every(over)) return;
    if (!sides.some((side) => side.busy)) {
      const until = Math.max(now, Math.min(reached(), 1e9)) + 0.02;
      for (const side of sides) side.advance(until, true, false);
    }
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
}

async function openConnection(index: number, connection: number) {
  setPlaying(false);
  const life = await sides[index].history(connection);
  showConnection($("#connection"), life, connection, label(index));
}

// ---- wiring --------------------------------------------------------------------------------------------------------

function wire() {
  $("#play").addEventListener("click", () => setPlaying(!playing));
  $("#step").addEventListener("click", () => void step());
  $("#start").addEventListener("click", () => goTo(0));
  $("#back").addEventListener("click", () => goTo(now - Math.max(0.1, 5 * speed)));
  $("#moment").addEventListener("input", () => {
    dragging = true;
    $("#now").textContent = moment(Number($<HTMLInputElement>("#moment").value));
  });
  $("#moment").addEventListener("change", () => {
    dragging = false;
    goTo(Number($<HTMLInputElement>("#moment").value));
  });
  $("#speed").addEventListener("input", () => {
    speed = 10 ** Number($<HTMLInputElement>("#speed").value);
    showSpeed();
  });
  document.addEventListener("keydown", (event) => {
    const target = event.target as HTMLElement;
    if (event.ctrlKey || event.metaKey || event.altKey || target.closest("input, select, textarea, dialog, [role=region]")) return;
    // Space is the key of whatever has the focus.
    if (event.key === " " && target.closest("button, summary, a")) return;
    const act = { " ": () => setPlaying(!playing), ArrowRight: () => void step(), ArrowLeft: () => $("#back").click(), Home: () => goTo(0) }[event.key];
    if (!act) return;
    event.preventDefault();
    act();
  });
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
  $("#flows").addEventListener("change", async () => {
    const file = $<HTMLInputElement>("#flows").files?.[0];
    if (file) await runFlows(await file.text());
  });
  $("#captures").addEventListener("change", () => {
    const files = [...($<HTMLInputElement>("#captures").files ?? [])];
    if (files.length) void readCaptures(files);
  });
  $("#local").addEventListener("change", () => captures.length && void readCaptures(captures));
  $("#stop-reading").addEventListener("click", () => {
    reading?.stop();
    reading = undefined;
    $("#reading").hidden = true;
  });
  $("#run-captured").addEventListener("click", runCaptured);
  $("#save-flows").addEventListener("click", () => save(captured?.flows ?? "", "text/csv", "flows.csv"));
  document.addEventListener("dragover", (event) => {
    if (event.dataTransfer?.types.includes("Files")) event.preventDefault();
  });
  document.addEventListener("drop", (event) => {
    const files = [...(event.dataTransfer?.files ?? [])];
    if (!files.length) return;
    event.preventDefault();
    if (files.length === 1 && files[0].name.endsWith(".csv")) return void files[0].text().then((text) => runFlows(text));
    void readCaptures(files);
    $("#capture").scrollIntoView({ block: "nearest" });
  });
  $("#controls").addEventListener("submit", (event) => event.preventDefault());
  $("#story").addEventListener("change", () => tell(Number($<HTMLSelectElement>("#story").value)));
  for (const button of document.querySelectorAll<HTMLElement>("[data-copy]")) {
    button.addEventListener("click", () => void copy(button, $(`#${button.dataset.copy}`).textContent ?? ""));
  }
  $("#copy-link").addEventListener("click", (event) => void copy(event.currentTarget as HTMLElement, location.href));
  $("#copy-grades").addEventListener("click", (event) => {
    if (standing) void copy(event.currentTarget as HTMLElement, gradesText(standing));
  });
  const toml = () => questions.file(address.setupOf(scene));
  $("#copy-toml").addEventListener("click", async (event) => {
    const button = event.currentTarget as HTMLElement;
    await copy(button, await toml());
  });
  $("#save-toml").addEventListener("click", async () => {
    save(await toml(), "application/toml", "lab.toml");
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
}

async function copy(button: HTMLElement, text: string) {
  await navigator.clipboard.writeText(text);
  const name = button.textContent;
  button.textContent = "Copied";
  setTimeout(() => (button.textContent = name), 1_500);
}

function recolor() {
  stages.forEach((stage) => stage.recolor());
  legend();
}

function legend() {
  const entries: [number, boolean, string][] = [
    [0, false, "SYN: opens a connection"], [1, false, "SYN/ACK: answers it"], [2, false, "young data"], [3, false, "old data"],
    [2, true, "sent again"], [4, false, "ACK: acknowledges"], [5, false, "FIN: ends it"], [6, false, "datagram (UDP)"],
  ];
  const colors = colorsOf(document.body);
  $("#legend").replaceChildren(...entries.map(([shape, again, text]) => {
    const item = document.createElement("li");
    const canvas = document.createElement("canvas");
    canvas.width = canvas.height = 36;
    canvas.setAttribute("aria-hidden", "true");
    const g = canvas.getContext("2d");
    if (g) drawShape(g, colors, shape, again, 18, 18, 24);
    item.append(canvas, text);
    return item;
  }));
}

function tell(index: number) {
  const story = STORIES[index];
  if (!story) return;
  $("#story-text").textContent = story.text;
  speed = story.speed;
  showSpeed();
  scene = { ...story.scene };
  void restart({}, story.from);
  if (!calm.matches) setPlaying(true);
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
  setPlaying(!calm.matches);
}

async function main() {
  catalog = await questions.catalog();
  const schemes = catalog.schemes.map(({ name }) => ({ value: name, text: name }));
  for (const article of articles) choices($(".scheme", article), schemes, "");
  choices($("#traffic"), [{ value: "", text: "a file, below" }, ...catalog.scenarios.map(({ name, title }) => ({ value: name, text: `${name}: ${title}` }))], "");
  $("#limits").replaceChildren(...catalog.grades.map(([grade, below]) => {
    const row = document.createElement("tr");
    row.append(...[grade, below === null ? "any" : time(below)].map((text) => {
      const cell = document.createElement("td");
      cell.textContent = text;
      return cell;
    }));
    return row;
  }));
  choices($("#profile"), [{ value: "", text: "as the scenario says" }, ...catalog.profiles.map(({ name, summary }) => ({ value: name, text: `${name}: ${summary}` }))], "");
  choices($("#story"), [...STORIES.map(({ title }, index) => ({ value: String(index), text: title })), { value: "-1", text: "none: your own" }], "0");
  $("#version").textContent = `gentle ${catalog.version}. Everything is computed in this page; nothing leaves it.`;
  const key = document.createElement("p");
  key.className = "chart-key";
  key.innerHTML = `<span class="a"><i></i><span id="chart-key-a"></span></span><span class="b"><i></i><span id="chart-key-b"></span></span>`;
  $("#plots").before(key);
  wire();
  legend();
  await fromAddress();
  showSpeed();
  showPlaying();
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
  analyze: (files, local) => capture.read({ files, local }, () => {}).captured,
  schemes: () => catalog.schemes.map((scheme) => scheme.name),
  stories: () => STORIES.map((story) => story.id),
  setup: () => address.setupOf(scene),
  costs: () => [...costs],
  state: () => ({
    now, speed, playing, standing,
    sides: sides.map((side) => side.snapshot).filter((snapshot) => snapshot !== undefined),
    known: sides.reduce((sum, side) => sum + side.packets.size, 0),
  }),
  speed: (value) => {
    speed = value;
    showSpeed();
  },
};

main().catch((error: unknown) => complain(`The lab did not start: ${error instanceof Error ? error.message : String(error)}. Browsers of 2024 and later can run it.`));
