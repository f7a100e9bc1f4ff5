// The page of gentle lab, served by the command, and as plain files under a path.
import { execFileSync } from "node:child_process";
import { mkdirSync, readFileSync, readdirSync, statSync } from "node:fs";
import path from "node:path";
import { gzipSync } from "node:zlib";
import { ADDRESS, DIST, expect, goTo, pause, state, test, verdict } from "./lab.mjs";
import { beside, findings, picture } from "./open.mjs";
import { serve } from "./serve.mjs";

test("it plays, and says which queue is better", async ({ page, lab }) => {
  await lab();
  const before = (await state(page)).now;
  await expect.poll(async () => (await state(page)).now).toBeGreaterThan(before + 0.1);
  await verdict(page);
  await expect(page.locator("#verdict p").first()).toContainText(/spa is [\d.]+ ± [\d.]+ times as fast \(95 % confidence, paired over \d+ seeds\)/);
  await expect(page.locator("#verdict")).toContainText("spa drops 0 %");
});

test("a grade can be copied, and a click away is its formula", async ({ page, lab, context }) => {
  await context.grantPermissions(["clipboard-read", "clipboard-write"]);
  await lab("#traffic=short&profile=linux-7.2&duration=100s&a=pfifo+limit%3D50&b=spa&seed=1");
  await verdict(page);
  const { standing } = await state(page);
  expect(standing.added_s[0]).toBeGreaterThan(standing.added_s[1]);
  for (const [side, name] of ["a", "b"].entries()) {
    const card = page.locator(`#grades .${name}`);
    await expect(card.getByRole("img", { name: `Grade ${standing.grades[side]}` })).toBeVisible();
    await expect(card).toContainText(/\d (ms|s) added to a short connection/);
  }
  await expect(page.locator("#formula p").first()).toBeHidden();
  await page.locator("#formula summary").click();
  await expect(page.locator("#formula p").first()).toContainText("Added time = mean of");
  const limits = await page.locator("#limits tr").allInnerTexts();
  expect(limits.map((row) => row.split(/\s+/)[0])).toEqual(["A+", "A", "B", "C", "D", "F"]);
  expect(await findings(page)).toEqual([]);
  await page.locator("#copy-grades").click();
  await expect(page.locator("#copy-grades")).toHaveText("Copied");
  const text = await page.evaluate(() => navigator.clipboard.readText());
  expect(text).toContain(`pfifo limit=50: ${standing.grades[0]} (`);
  expect(text).toContain(`spa: ${standing.grades[1]} (`);
  expect(text.endsWith(page.url())).toBe(true);
});

test("records of runs are identical to those of the command, for every scheme", async ({ page, lab }) => {
  await lab();
  const expected = JSON.parse(beside("records.json"));
  const names = await page.evaluate(() => window.gentle.schemes());
  for (const { setup, runs } of expected) {
    expect(Object.keys(runs).map((scheme) => scheme.split(" ")[0]).sort()).toEqual([...names].sort());
    for (const [scheme, run] of Object.entries(runs)) {
      const record = await page.evaluate(([setup, scheme]) => window.gentle.record(setup, scheme, 1), [setup, scheme]);
      // Records are long: what is around the first difference says enough.
      const place = [...record].findIndex((letter, at) => letter !== run[at]);
      const around = (text) => (place < 0 ? text.length : text.slice(Math.max(0, place - 60), place + 60));
      expect(around(record), scheme).toEqual(around(run));
    }
  }
});

test("going back shows the same again, changes included", async ({ page, lab }) => {
  await lab("#traffic=real&profile=linux-7.2&a=pfifo+limit%3D50&b=codel&seed=3");
  await pause(page);
  await goTo(page, 20);
  await page.locator("#buffer").fill("10");
  await page.locator("#buffer").press("Enter");
  await expect(page.locator("#name-a")).toContainText("pfifo limit=10");
  await page.evaluate(() => window.gentle.speed(50));
  await page.locator("#play").click();
  await page.waitForFunction(() => window.gentle.state().now > 30);
  await pause(page);
  await goTo(page, 25);
  const first = (await state(page)).sides;
  expect(first[0].scheme).toBe("pfifo limit=10");
  expect(first[0].sums.dropped[0]).toBeGreaterThan(0);
  await goTo(page, 24);
  await goTo(page, 25);
  expect((await state(page)).sides).toEqual(first);
});

test("a step goes to the next packet, by keyboard", async ({ page, lab }) => {
  await lab();
  await pause(page);
  await page.locator("h1").click();
  const moments = [];
  for (let i = 0; i < 5; i += 1) {
    await page.keyboard.press("ArrowRight");
    await page.waitForTimeout(50);
    moments.push((await state(page)).now);
  }
  expect(moments).toEqual([...new Set(moments)].sort((a, b) => a - b));
  await expect(page.locator("#spoken")).toContainText(/packets wait/);
  await page.keyboard.press("Space");
  expect((await state(page)).playing).toBe(true);
});

test("a drop opens its connection, which shows what it cost", async ({ page, lab }) => {
  await lab();
  const drop = page.locator(".side.a .drops button.handshake").first();
  await drop.focus();
  await page.keyboard.press("Enter");
  const dialog = page.locator("dialog[open]");
  await expect(dialog.locator(".result")).toHaveText(/^The same connection, [\d,]+ packets? of data: [\d.]+ m?s with pfifo limit=50, [\d.]+ m?s with spa\.$/);
  await expect(dialog.locator("section")).toHaveCount(2);
  await expect(dialog).toContainText(/A SYN was dropped \(queue full\); it was sent again 1(\.\d+)? s later, when its retransmission timer ran out/);
  await expect(dialog.locator("svg .wait")).not.toHaveCount(0);
  await expect(dialog.locator("section.b svg .handshake")).not.toHaveCount(0);
  await expect(dialog.locator("section.b svg .answer")).not.toHaveCount(0);
  await dialog.locator(".a summary").click();
  await expect(dialog.locator("tbody tr").first()).toContainText("dropped (queue full), sent again");
  expect(await findings(page)).toEqual([]);
  await page.keyboard.press("Escape");
  await expect(dialog).toHaveCount(0);
});

test("a click on a packet opens its connection", async ({ page, lab }) => {
  // With less motion the page waits at the moment that the first story begins with, every packet in its place.
  await page.emulateMedia({ reducedMotion: "reduce" });
  await lab();
  await expect(page.locator("#plots svg[role=img] path.line").first()).toHaveAttribute("d", /L/);
  const canvas = page.locator(".side.a canvas");
  const { width, height } = await canvas.boundingBox();
  // A little before the gate, where a packet waits unless the queue is empty.
  await canvas.click({ position: { x: width * 0.64 - 12, y: 32 + height * 0.46 - 12 } });
  await expect(page.locator("dialog[open]")).toContainText(/Connection \d+/i);
  await expect(page.locator("dialog[open] svg")).not.toHaveCount(0);
});

test("the address is the scenario", async ({ page, lab }) => {
  await lab("#traffic=short&profile=freebsd-9.3&rate=2mbit&load=95%25&rtt=50ms&a=codel&b=fq_codel+target%3D20ms&seed=7");
  await expect(page.locator("#rate")).toHaveValue("2mbit");
  await expect(page.locator("#load")).toHaveValue("95%");
  await expect(page.locator("#compare")).toHaveText(
    "gentle compare --traffic lab.toml --rate 2mbit --load 95% --profile freebsd-9.3 --scheme codel --scheme 'fq_codel target=20ms' --first-seed 7 --seeds 5",
  );
  await pause(page);
  await expect.poll(() => page.evaluate(() => location.hash)).toContain(`t=${Number((await state(page)).now.toFixed(4))}`);
  const written = await page.evaluate(() => location.hash);
  await page.reload();
  await page.waitForFunction(() => window.gentle?.state().sides.length === 2);
  expect(await page.evaluate(() => location.hash)).toBe(written);
  await page.locator("#copy-toml").click();
  await expect(page.locator("#copy-toml")).toHaveText("Copied");
  const toml = await page.evaluate(() => navigator.clipboard.readText());
  expect(toml).toContain("[link.down]");
  expect(toml).toMatch(/delay = "\d+us"/);
});

test("a scenario file runs, and travels in the address", async ({ page, lab }) => {
  await lab();
  await page.locator("#file summary").click();
  const toml = 'duration = "20s"\n[link.down]\nrate = "1mbit"\ndelay = "10ms"\n[link.up]\nrate = "1mbit"\n[[workload]]\nkind = "long"\nflows = 2\n';
  await page.locator("#toml").fill(toml.replace("1mbit", "fast"));
  await page.locator("#use-toml").click();
  await expect(page.locator("#error")).toContainText("lab.toml:3");
  await page.locator("#toml").fill(toml);
  await page.locator("#use-toml").click();
  await expect(page.locator("#error")).toBeHidden();
  await expect(page.locator("#rate")).toHaveValue("1mbit");
  await expect.poll(() => page.evaluate(() => location.hash)).toContain("toml=");
  await page.reload();
  await page.waitForFunction(() => window.gentle?.state().sides.length === 2);
  expect(await page.locator("#toml").inputValue()).toBe(toml);
});

test("what cannot be run is refused in a sentence", async ({ page, lab }) => {
  await lab();
  await page.locator(".side.a .spec").fill("limit=many");
  await page.locator(".side.a .spec").press("Enter");
  await expect(page.locator("#error")).toContainText("expected 1 to 1000000");
  await page.locator("#rate").fill("quick");
  await page.locator("#rate").press("Enter");
  await expect(page.locator("#error")).toContainText("rate: ");
  await expect(page.locator("#rate")).toHaveAttribute("aria-invalid", "true");
});

for (const [width, colorScheme] of [[390, "light"], [390, "dark"], [768, "light"], [1400, "light"], [1400, "dark"], [2560, "dark"], [3840, "light"]]) {
  test(`${width} px, ${colorScheme}: width, axe, plots`, async ({ page, lab }) => {
    await page.setViewportSize({ width, height: 900 });
    await page.emulateMedia({ colorScheme, reducedMotion: "reduce" });
    await lab();
    expect((await state(page)).playing, "less motion: it waits").toBe(false);
    await expect(page.locator("#plots svg[role=img] path.line").first()).toHaveAttribute("d", /L/);
    const [content, window] = await page.evaluate(() => [document.documentElement.scrollWidth, document.documentElement.clientWidth]);
    expect(content, "the page scrolls sideways").toBeLessThanOrEqual(window);
    for (const side of ["a", "b"]) await expect(page.locator(`.side.${side} canvas`)).toBeInViewport({ ratio: width < 600 ? 1 : 0.5 });
    for (const details of await page.locator("main details").all()) {
      if (!(await details.evaluate((details) => details.open))) await details.locator("> summary").click();
    }
    expect(await findings(page)).toEqual([]);
  });
}

test("plots can be saved", async ({ page, lab }) => {
  await lab();
  await pause(page);
  for (const kind of ["SVG", "PNG"]) {
    const [download] = await Promise.all([page.waitForEvent("download"), page.locator("#ccdf").getByRole("button", { name: kind }).click()]);
    expect(download.suggestedFilename()).toBe(`gentle-ccdf.${kind.toLowerCase()}`);
    const bytes = readFileSync(await download.path());
    if (kind === "PNG") expect(bytes.subarray(1, 4).toString()).toBe("PNG");
    else expect(bytes.toString()).toContain("Connections that take longer");
  }
});

test("a day of simulated time leaves nothing behind", async ({ page, lab }) => {
  await lab("#traffic=short&rate=200kbit&duration=86400s&a=pfifo&b=spa");
  await page.evaluate(() => window.gentle.speed(1e5));
  const hour = 3600;
  await page.waitForFunction((hour) => window.gentle.state().now > hour, hour);
  const size = () => page.evaluate(() => performance.memory.usedJSHeapSize);
  const early = await size();
  await page.waitForFunction((hour) => window.gentle.state().now > 23 * hour, hour);
  const { known, sides } = await state(page);
  expect(known).toBeLessThan(15_000);
  for (const side of sides) expect(side.sums.completed).toBeGreaterThan(10_000);
  expect(await size()).toBeLessThan(early + 30e6);
});

test("pictures of 20 Mb/s are drawn in time for two a second, on any machine", async ({ page, lab }) => {
  await lab("#traffic=10m&rate=20mbit&a=pfifo+limit%3D400&b=spa");
  await page.evaluate(() => window.gentle.speed(1));
  await page.waitForFunction(() => window.gentle.state().now > 3 && window.gentle.costs().length === 60);
  const costs = await page.evaluate(() => window.gentle.costs());
  // On a busy machine most pictures are interrupted; the quicker ones show what drawing costs.
  const cost = costs.toSorted((a, b) => a - b)[15];
  console.log(`milliseconds for a picture: ${cost}`);
  expect(cost).toBeLessThan(500);
});

/** Shows the first SYN that the left queue drops, while it falls. */
async function showDrop(page) {
  const drop = page.locator(".side.a .drops .handshake").first();
  await expect(drop).toBeVisible({ timeout: 600_000 });
  await pause(page);
  const [minutes, seconds] = (await drop.textContent()).split(" ")[0].split(":").map(Number);
  await goTo(page, minutes * 60 + seconds + 0.1);
  await page.waitForTimeout(500);
}

test("the picture in the README: a SYN has been dropped, and the verdict stands", async ({ page, lab }) => {
  await page.setViewportSize({ width: 1280, height: 1000 });
  await lab();
  await showDrop(page);
  await picture(page, "lab.png");
});

test("the picture in previews of links: a SYN is dropped on the left", async ({ page, lab }) => {
  await page.setViewportSize({ width: 1200, height: 630 });
  await lab();
  await showDrop(page);
  await page.addStyleTag({ content: "h1 { font-size: 40px } .kicker button, .lead, .stories, .story, .bar, .choose, .summary, .cause, .drops { display: none }" });
  await page.evaluate(() => document.activeElement.blur());
  await picture(page, "../../lab/public/preview.png");
});

test("it works from plain files under a path, and is small", async ({ page, lab }) => {
  const files = readdirSync(DIST, { recursive: true }).filter((file) => statSync(path.join(DIST, file)).isFile());
  const server = await serve(DIST);
  try {
    await lab("#story=call", server.address);
    await expect(page.locator("#story-text")).toContainText("bufferbloat");
    const compressed = files.reduce((sum, file) => sum + gzipSync(readFileSync(path.join(DIST, file))).length, 0);
    expect(compressed).toBeLessThan(2e6);
  } finally {
    server.close();
  }
});

/** What a story is about, seen in the seconds and fractions of both schemes. */
const STORIES = {
  home: (standing) => {
    const [, pages, otherPages] = standing.words[0].match(/pages load within ([\d.]+) s.* With cake: ([\d.]+) s/);
    expect(Number(otherPages)).toBeLessThan(Number(pages) / 2);
    expect(standing.queue_delay_s[1]).toBeLessThan(standing.queue_delay_s[0] / 10);
  },
  hang: (standing) => {
    expect(standing.better).toBe("spa");
    expect(standing.handshake_loss[0]).toBeGreaterThan(0.01);
    expect(standing.handshake_loss[1]).toBe(0);
  },
  pie: (standing) => {
    expect(standing.better).toBe("spa");
    expect(standing.handshake_loss[0]).toBeGreaterThan(0.05);
  },
  fin: (standing) => expect(standing.handshake_loss).toEqual([0, 0]),
  gsp: (standing) => expect(standing.queue_delay_s[1]).toBeLessThan(standing.queue_delay_s[0] / 2),
  flood: (standing) => {
    expect(standing.better).toBe("fq_codel");
  },
  call: (standing) => expect(standing.queue_delay_s[1]).toBeLessThan(standing.queue_delay_s[0] / 2),
};

test("every story has a test", async ({ page, lab }) => {
  await lab();
  const addresses = await page.evaluate(() => window.gentle.stories());
  expect(addresses).toEqual(Object.keys(STORIES));
});

for (const [story, holds] of Object.entries(STORIES)) {
  test(`the story ${story} shows what the command that stands there says`, async ({ page, lab }, info) => {
    await lab(`#story=${story}`);
    await verdict(page);
    const { standing } = await state(page);
    holds(standing);
    const folder = info.outputPath();
    mkdirSync(folder, { recursive: true });
    const [download] = await Promise.all([page.waitForEvent("download"), page.locator("#save-toml").click()]);
    await download.saveAs(path.join(folder, "lab.toml"));
    const command = (await page.locator("#compare").textContent()).replace(/--seeds \d+$/, `--seeds ${standing.seeds}`);
    expect(command.startsWith("gentle compare ")).toBe(true);
    const said = execFileSync("sh", ["-c", `"$GENTLE" ${command.slice("gentle ".length)} --quiet --json`], { cwd: folder, encoding: "utf8", maxBuffer: 1e9 });
    const { results } = JSON.parse(said);
    expect(results.map((result) => result.response_time_by_size[0].mean_s)).toEqual(standing.means_s);
    expect(results.map((result) => result.links.down.loss.handshake)).toEqual(standing.handshake_loss);
    expect(results.map((result) => result.queue_delay_s.mean)).toEqual(standing.queue_delay_s);
    const { difference, ci95 } = results[1].paired["response_time_by_size.0.mean_s"] ?? { difference: null, ci95: null };
    expect(difference).toBe(standing.difference_s);
    if (standing.ci95_s === null) expect(ci95).toBe(null);
    // The quantile of Student's t takes logarithms, whose last bit differs between the C library and WebAssembly.
    else expect(ci95).toBeCloseTo(standing.ci95_s, 12);
  });
}
