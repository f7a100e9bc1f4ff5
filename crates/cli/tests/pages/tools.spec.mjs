// What the buttons of the pages do.
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
    const sort = table.locator("thead th").nth(column).getByRole("button");
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
  await table.locator("thead th").first().getByRole("button").click();
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
