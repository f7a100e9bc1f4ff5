// What the buttons of the pages do.
import { readFileSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { beside, expect, findings, pages, picture, test } from "./open.mjs";

async function download(page, button) {
  // Chromium drops what a page wants to save beyond ten files a second (kBurstDownloadLimit), and says nothing.
  await page.waitForTimeout(120);
  const [download] = await Promise.all([page.waitForEvent("download"), button.click()]);
  return { name: download.suggestedFilename(), bytes: await readFile(await download.path()) };
}

/** The text of an SVG file, which no other program has to know a style sheet for. */
async function svg(page, figure) {
  const { name, bytes } = await download(page, figure.getByRole("button", { name: "SVG" }));
  expect(name).toMatch(/^[a-z0-9-]+\.svg$/);
  return bytes.toString("utf8");
}

for (const name of pages) {
  test(`every chart of ${name} can be saved`, async ({ page, visit }) => {
    await visit(name);
    for (const figure of await page.locator("figure:has(svg[role=img])").all()) {
      const text = await svg(page, figure);
      const caption = await figure.locator("figcaption").evaluate((c) => c.firstChild.textContent.trim());
      const drawn = await page.evaluate((text) => {
        const file = new DOMParser().parseFromString(text, "image/svg+xml");
        const shapes = file.querySelectorAll("path, polyline, polygon, rect, line, circle");
        return { mistakes: file.querySelectorAll("parsererror").length, shapes: shapes.length, words: file.documentElement.textContent };
      }, text);
      expect(drawn.mistakes).toBe(0);
      expect(drawn.shapes).toBeGreaterThan(3);
      expect(drawn.words).toContain(caption);
      expect(text).not.toMatch(/var\(|light-dark|currentColor|class=|<style|href=/);
      const png = await download(page, figure.getByRole("button", { name: "PNG" }));
      expect(png.name).toMatch(/\.png$/);
      expect(png.bytes.subarray(1, 4).toString()).toBe("PNG");
      const [width, height] = [png.bytes.readUInt32BE(16), png.bytes.readUInt32BE(20)];
      const size = text.match(/width="([\d.]+)" height="([\d.]+)" viewBox/);
      expect([width, height]).toEqual([3 * size[1], 3 * size[2]]);
    }
  });

  test(`the results of ${name} can be saved`, async ({ page, visit }) => {
    await visit(name);
    const json = await download(page, page.getByRole("button", { name: "JSON of all results" }));
    const embedded = await page.evaluate(() => JSON.parse(document.getElementById("data").textContent));
    expect(JSON.parse(json.bytes.toString("utf8"))).toEqual(embedded);
    for (const button of await page.getByRole("button", { name: "CSV of the table" }).all()) {
      const { bytes } = await download(page, button);
      const lines = bytes.toString("utf8").trimEnd().split("\r\n");
      const rows = await button.evaluate((b) => b.parentElement.previousElementSibling.querySelectorAll("tr").length);
      expect(lines.length).toBe(rows);
    }
  });
}

test("the picture in the README: the first screens of a comparison", async ({ page, visit }) => {
  await page.setViewportSize({ width: 1200, height: 1420 });
  await page.emulateMedia({ colorScheme: "light" });
  await visit(process.env.UPDATE_DOCS ? "defaults" : "compare");
  await expect(page.locator("#headline svg").first()).toBeVisible();
  await picture(page, "compare.png");
});

test("the results of a comparison are the file that --csv writes", async ({ page, visit }) => {
  await visit("compare");
  const csv = await download(page, page.getByRole("button", { name: "CSV of all results" }));
  expect(csv.bytes.toString("utf8")).toBe(beside("compare.csv"));
});

test("a page says how it was made, and the command can be copied", async ({ page, visit }) => {
  await visit("compare");
  const command = await page.locator(".origin code").innerText();
  expect(command).toBe("gentle compare --duration 30s --seeds 3");
  await expect(page.locator(".origin")).toContainText("2026-01-02 03:04 UTC");
  await page.locator(".origin").getByRole("button", { name: "Copy" }).click();
  await expect(page.locator(".origin").getByRole("button", { name: "Copied" })).toBeVisible();
  expect(await page.evaluate(() => navigator.clipboard.readText())).toBe(command);
  await expect(page.locator(".kicker")).toContainText("gentle compare");
  await visit("sim");
  await expect(page.locator(".kicker")).toContainText("gentle sim");
});

test("the table of a comparison sorts by every column", async ({ page, visit }) => {
  await visit("compare");
  const table = page.locator("#numbers ~ .table table");
  const asked = await table.locator("tbody th").allInnerTexts();
  const heads = await table.locator("thead th").count();
  for (let column = 1; column < heads; column += 1) {
    const sort = table.locator("thead th").nth(column).getByRole("button").first();
    await expect(sort).toHaveAccessibleName(/\S+ \S+/);
    for (const [order, sign] of [["ascending", 1], ["descending", -1]]) {
      // By keyboard: while the table scrolls sideways on a busy machine, a click can land on the column beside.
      await sort.press("Enter");
      await expect(table.locator("thead th").nth(column)).toHaveAttribute("aria-sort", order);
      const keys = await table.locator(`tbody td:nth-child(${column + 1})`).evaluateAll((cells) => cells.map((c) => c.dataset.key));
      const numbers = keys.filter((key) => key !== "").map(Number);
      expect(numbers).toEqual([...numbers].sort((a, b) => sign * (a - b)));
      // What was not measured comes last.
      expect(keys.slice(numbers.length).every((key) => key === "")).toBe(true);
    }
  }
  await table.locator("thead th").first().getByRole("button").first().click();
  expect(await table.locator("tbody th").allInnerTexts()).toEqual(asked);
});

test("the headline chart leads, sorted", async ({ page, visit }) => {
  await visit("compare");
  const order = await page.locator("#headline [data-mark='y-axis tick label'] text").allTextContents();
  const fastest = await page.evaluate(() => {
    const { results } = JSON.parse(document.getElementById("data").textContent);
    return results.toSorted((a, b) => a.response_time_by_size[0].mean_s - b.response_time_by_size[0].mean_s).map((r) => r.label);
  });
  expect(order.length).toBe(fastest.length);
  // A long label ends in "…".
  order.forEach((label, i) => expect(fastest[i].startsWith(label.replace("…", ""))).toBe(true));
  const first = await page.locator("figure").first().boundingBox();
  expect(first.y).toBeLessThan(1400);
});

test("the longest bar of the headline chart is the slowest scheme", async ({ page, visit }) => {
  await visit("compare");
  const widths = await page.locator("#headline [data-mark=bar] :is(path, rect)").evaluateAll((bars) => bars.map((bar) => bar.getBoundingClientRect().width));
  expect(widths.length).toBeGreaterThan(2);
  expect(widths).toEqual([...widths].sort((a, b) => a - b));
  // What it shows is in its name too.
  await expect(page.locator("#headline svg[role=img]")).toHaveAccessibleName(/: from .+ to .+/);
});

test("a scheme has the same colour on every page", async ({ page, visit }) => {
  const color = async (name, scheme) => {
    await visit(name);
    const buttons = page.locator("#legend button").filter({ has: page.locator("svg") });
    const labels = await buttons.allInnerTexts();
    const at = labels.findIndex((label) => label.trim().split(" ")[0] === scheme);
    return buttons.nth(at).locator("line").evaluate((line) => line.style.stroke);
  };
  for (const scheme of ["pfifo", "fq_codel"]) expect(await color("compare", scheme)).toBe(await color("groups", scheme));
  // Two schemes of one page that have the same colour differ in dash or symbol.
  await visit("compare");
  const looks = await page.locator("#legend button svg").evaluateAll((samples) =>
    samples.map((s) => [s.querySelector("line").style.stroke, s.querySelector("line").getAttribute("stroke-dasharray"), s.querySelector("path").getAttribute("d")].join()),
  );
  expect(new Set(looks).size).toBe(looks.length);
});

test("a scheme has its colour and mark of the palette", async ({ page, visit }) => {
  const palette = JSON.parse(readFileSync(new URL("../../../report/assets/palette.json", import.meta.url), "utf8"));
  await visit("compare");
  const results = await page.evaluate(() => JSON.parse(document.getElementById("data").textContent).results.map((r) => r.scheme));
  const lines = await page.locator("#legend button line").evaluateAll((lines) => lines.map((line) => line.style.stroke));
  expect(lines).toEqual(results.map((scheme) => `var(--color-${palette.schemes.find((look) => look.name === scheme).color})`));
  const marks = await page.locator("#legend button path").evaluateAll((marks) => marks.map((mark) => mark.getAttribute("d")));
  const names = results.map((scheme) => palette.schemes.find((look) => look.name === scheme).mark);
  expect(marks).toEqual(await page.evaluate((names) => names.map((name) => d3.symbol(d3[`symbol${name[0].toUpperCase()}${name.slice(1)}`], 36)()), names));
  // A theme changes no hue: the charts of both refer to the colours by name.
  const bars = () => page.locator("#headline [data-mark=bar] :is(path, rect)").evaluateAll((bars) => bars.map((bar) => bar.getAttribute("fill")));
  const light = await bars();
  await page.locator("#theme").click();
  await page.locator("#theme").click();
  expect(await bars()).toEqual(light);
});

test("terms and heads of tables open an explanation, by keyboard too", async ({ page, visit }) => {
  for (const name of pages) {
    await visit(name);
    const broken = await page.evaluate(() =>
      [...document.querySelectorAll("[popovertarget]")].map((button) => button.getAttribute("popovertarget")).filter((id) => document.querySelectorAll(`[popover][id="${id}"]`).length !== 1),
    );
    expect(broken, name).toEqual([]);
  }
  await visit("compare");
  const term = page.locator(".answer .term").first();
  await term.focus();
  await page.keyboard.press("Enter");
  const explanation = page.locator(`#${await term.getAttribute("popovertarget")}`);
  await expect(explanation).toBeVisible();
  const { x, width } = await explanation.boundingBox();
  expect(x).toBeGreaterThanOrEqual(0);
  expect(x + width).toBeLessThanOrEqual(1400);
  expect(await findings(page)).toEqual([]);
  await page.keyboard.press("Escape");
  await expect(explanation).toBeHidden();
  const about = page.locator("#numbers ~ .table thead").getByRole("button", { name: "About response, mean" });
  await about.click();
  await expect(page.locator("[popover]:popover-open")).toContainText("from the first SYN");
});

test("a mix of applications opens with the delays that people notice", async ({ page, visit }) => {
  await visit("home");
  await expect(page.locator(".answer")).toContainText(/web pages load within .*video calls freeze .*game packets arrive within/);
  const captions = await page.locator("main section").first().locator("figcaption").evaluateAll((all) => all.map((c) => c.firstChild.textContent));
  expect(captions.slice(0, 3)).toEqual(["Web pages", "Video calls", "Games"]);
  for (const image of await page.locator("[data-path] svg[role=img]").all()) await expect(image).toHaveAccessibleName(/: from .+ to .+/);
  // Ranges differ, so each chart has its own scale.
  const ticks = await page.locator("[data-path]").evaluateAll((all) => all.map((place) => place.querySelector("[data-mark='x-axis tick label']").textContent));
  expect(new Set(ticks).size).toBeGreaterThan(1);
});

test("an interval that leaves its chart ends in an arrow at the edge", async ({ page, visit }) => {
  await visit("home");
  // Two seeds give intervals that are larger than any value.
  expect(await page.locator("[data-path] [data-mark=dot] path").count()).toBeGreaterThan(0);
  const beyond = await page.locator("[data-path] svg[role=img]").evaluateAll((images) =>
    images.flatMap((image) => {
      const [left, right] = image.scale("x").range;
      const frame = image.getBoundingClientRect();
      const ends = [...image.querySelectorAll("[data-mark=rule] line")].map((line) => line.getBoundingClientRect());
      return ends.filter((end) => end.left < frame.left + left - 2 || end.right > frame.left + right + 2).map((end) => [end.left, end.right]);
    }),
  );
  expect(beyond).toEqual([]);
});

test("each queue over time has its own scale", async ({ page, visit }) => {
  await visit("compare");
  const images = page.locator("#queue-time svg[role=img]");
  expect(await images.count()).toBe(await page.locator("#legend button[aria-pressed=true]").count());
  const tops = await images.evaluateAll((all) => all.map((image) => [...image.querySelectorAll("[data-mark='y-axis tick label'] text")].at(-1).textContent));
  expect(new Set(tops).size).toBeGreaterThan(1);
});

test("charts are drawn for paper, with explanations of columns below the tables", async ({ page, visit }) => {
  for (const name of ["compare", "home", "lossy", "model"]) {
    await visit(name);
    await page.emulateMedia({ media: "print" });
    await page.evaluate(() => dispatchEvent(new Event("beforeprint")));
    const widths = await page.locator("figure svg[role=img]").evaluateAll((images) => images.map((image) => image.width.baseVal.value));
    for (const width of widths) expect([306, 650]).toContain(width);
    const about = page.locator(".of-column").first();
    if (await about.count()) await expect(about).toBeVisible();
    await expect(page.locator("[popover]:not(.of-column)").first()).toBeHidden();
    await page.evaluate(() => dispatchEvent(new Event("afterprint")));
    await page.emulateMedia({ media: "screen" });
    await expect(page.locator(".tools").first()).toBeVisible();
  }
});

test("the charts of the model look as before", async ({ page, visit }) => {
  for (const colorScheme of ["light", "dark"]) {
    await page.emulateMedia({ colorScheme });
    await visit("model");
    for (const chart of ["response", "increase"]) {
      await expect(page.locator(`#${chart} svg[role=img]`)).toHaveScreenshot(`model-${chart}-${colorScheme}.png`, { maxDiffPixelRatio: 0.04 });
    }
  }
});

test("the legend hides no chart on a low window, and print has no hints for the pointer", async ({ page, visit }) => {
  await visit("compare");
  const position = () => page.locator("#legend").evaluate((legend) => getComputedStyle(legend).position);
  expect(await position()).toBe("sticky");
  await page.setViewportSize({ width: 700, height: 450 });
  expect(await position()).toBe("static");
  await page.emulateMedia({ media: "print" });
  for (const hint of await page.locator(".interactive, .cue, .readout, .tools, .origin button").all()) await expect(hint).toBeHidden();
});

test("a drag enlarges a chart, and a button gives the whole back", async ({ page, visit }) => {
  await visit("compare");
  const chart = page.locator("#response-ccdf");
  const ticks = () => chart.locator("[data-mark='x-axis tick label'] text").allTextContents();
  const whole = await ticks();
  await chart.scrollIntoViewIfNeeded();
  const { x, y, width, height } = await chart.locator("svg[role=img]").boundingBox();
  await page.mouse.move(x + width * 0.5, y + height / 2);
  await page.mouse.down();
  await page.mouse.move(x + width * 0.8, y + height / 2, { steps: 4 });
  await page.mouse.up();
  await expect.poll(ticks).not.toEqual(whole);
  await chart.getByRole("button", { name: "Whole range" }).click();
  expect(await ticks()).toEqual(whole);
});

test("a line follows the pointer through all images of a chart", async ({ page, visit }) => {
  await visit("lossy");
  const chart = page.locator("[data-chart=timeline]");
  const images = chart.locator("svg[role=img]");
  await images.nth(1).scrollIntoViewIfNeeded();
  const { x, y, width, height } = await images.nth(1).boundingBox();
  await page.mouse.move(x + width / 2, y + height / 2);
  await expect(chart.locator(".readout")).toContainText(/From .* on: .*attempts/);
  const places = await chart.locator(".crosshair").evaluateAll((lines) => lines.map((l) => `${l.getAttribute("visibility")} ${l.getAttribute("x1")}`));
  expect(places.length).toBe(await images.count());
  expect(new Set(places).size).toBe(1);
  expect(places[0]).toMatch(/^visible/);
});

test("lines have their names where it is clear whose they are", async ({ page, visit }) => {
  await visit("compare");
  const names = page.locator("#response-ccdf [data-mark=name] text");
  const chosen = await page.locator("#legend button[aria-pressed=true]").allTextContents();
  const found = await names.allTextContents();
  expect(found.length).toBeGreaterThan(1);
  expect(chosen.map((name) => name.trim())).toEqual(expect.arrayContaining(found));
  const boxes = await names.evaluateAll((all) => all.map((name) => name.getBoundingClientRect().toJSON()));
  for (const [i, a] of boxes.entries()) {
    for (const b of boxes.slice(i + 1)) {
      expect(a.left < b.right && b.left < a.right && a.top < b.bottom && b.top < a.bottom, `${found[i]} covers another name`).toBe(false);
    }
  }
  await page.locator("#legend").getByRole("button", { name: "none" }).click();
  await expect(names).toHaveCount(0);
  await page.locator("#legend").getByRole("button", { name: "pfifo" }).first().click();
  await expect(names).toHaveCount(1);
});

test("schemes can be chosen, and the theme", async ({ page, visit }) => {
  await visit("compare");
  const lines = () => page.locator("#response-ccdf [data-mark=line] path").count();
  await page.locator("#legend").getByRole("button", { name: "none" }).click();
  expect(await lines()).toBe(0);
  await page.locator("#legend").getByRole("button", { name: "pfifo" }).first().click();
  expect(await lines()).toBe(1);
  const ground = () => page.evaluate(() => getComputedStyle(document.body).backgroundColor);
  const grounds = [await ground()];
  for (const theme of ["light", "dark", "automatic"]) {
    await page.locator("#theme").click();
    await expect(page.locator("#theme")).toHaveText(`Theme: ${theme}`);
    grounds.push(await ground());
  }
  expect(grounds[1]).not.toEqual(grounds[2]);
  expect(grounds[3]).toEqual(grounds[0]);
  expect(await findings(page)).toEqual([]);
});

test("a reproduced figure leads to its claims, with verdicts in words", async ({ page, visit }) => {
  await visit("spa-2018");
  await page.getByRole("navigation").getByRole("link", { name: "fig3" }).click();
  await expect(page.locator("#fig3 h2")).toBeInViewport();
  const verdicts = await page.locator(".claims td:last-child").allInnerTexts();
  expect(verdicts.length).toBeGreaterThan(0);
  for (const verdict of verdicts) expect(verdict).toMatch(/^[✓≈✗?–] (agrees|agrees in order|undecided|differs|not published)$/);
  const names = await page.locator("#fig3 svg[role=img]").evaluateAll((images) => images.map((i) => i.getAttribute("aria-label")));
  expect(names.length).toBeGreaterThan(0);
  for (const name of names) expect(name).toMatch(/^fig3, /);
});

test("labels of a reproduced figure stay within it", async ({ page, visit }) => {
  await visit("spa-2018");
  for (const image of await page.locator("svg.figure").all()) {
    const beyond = await image.evaluate((svg) => {
      const frame = svg.getBoundingClientRect();
      return [...svg.querySelectorAll("text")]
        .filter((text) => {
          const box = text.getBoundingClientRect();
          return box.left < frame.left - 1 || box.right > frame.right + 1 || box.top < frame.top - 1 || box.bottom > frame.bottom + 1;
        })
        .map((text) => text.textContent.trim());
    });
    expect(beyond).toEqual([]);
  }
});
