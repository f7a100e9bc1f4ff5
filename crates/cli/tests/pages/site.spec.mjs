// The site that site/build makes, from a plain file server under a path.
import { readdirSync, readFileSync } from "node:fs";
import path from "node:path";
import { expect, findings, folder, test as base } from "./open.mjs";
import { serve } from "./serve.mjs";

const SITE = folder;

/** Every page but the lab, which lab.spec.mjs tests. */
const all = readdirSync(SITE, { recursive: true }).filter((file) => file.endsWith(".html") && !file.startsWith("lab/"));
/** Earlier addresses, which lead elsewhere at once. */
const moved = all.filter((file) => readFileSync(path.join(SITE, file), "utf8").includes('http-equiv="refresh"'));
const pages = all.filter((file) => !moved.includes(file));

/** A test with `open(page)`; the page then may say nothing on the console and load nothing from outside of the site. */
const test = base.extend({
  site: [async ({}, use) => {
    const server = await serve(SITE);
    await use(server.address);
    server.close();
  }, { scope: "worker" }],
  open: async ({ page, site }, use) => {
    const trouble = [];
    page.on("console", (message) => trouble.push(`console: ${message.text()}`));
    page.on("pageerror", (error) => trouble.push(`error: ${error.message}`));
    page.on("response", (response) => {
      if (response.status() !== 200) trouble.push(`${response.status()}: ${response.url()}`);
    });
    page.on("request", (request) => {
      if (!request.url().startsWith(site) && !/^(data|blob):/.test(request.url())) trouble.push(`request: ${request.url()}`);
    });
    await use((name) => page.goto(site + name));
    expect(trouble).toEqual([]);
  },
});

test("all parts of the site are there", () => {
  for (const page of ["index.html", "README.html", "docs/reference/analysis.html", "docs/research/papers/spa-2018.html", "notebooks/compare.html", "reproduce/index.html", "search.html"]) {
    expect(pages).toContain(page);
  }
});

test("links to the first page have a preview", async ({ page, open }) => {
  await open("index.html");
  const meta = (name) => page.locator(`meta[property="og:${name}"]`).getAttribute("content");
  expect((await meta("title")).length).toBeGreaterThan(20);
  await expect(page.locator("link[rel=canonical]")).toHaveAttribute("href", "https://gentle.example/index.html");
  const image = await meta("image");
  expect(image).toMatch(/^https:\/\/gentle\.example\//);
  const picture = readFileSync(path.join(SITE, new URL(image).pathname));
  expect([picture.readUInt32BE(16), picture.readUInt32BE(20)].map(String)).toEqual([await meta("image:width"), await meta("image:height")]);
});

test("earlier addresses lead to the pages", async ({ page, open }) => {
  expect(moved).toContain("docs/analyze.html");
  for (const old of moved) {
    await open(old);
    await page.waitForURL((url) => !url.pathname.endsWith(old));
    await expect(page.locator("h1").first()).not.toHaveText("Moved");
  }
});

/** Runs within a page: what reaches beyond its right edge without a box of its own that scrolls. */
function cutOff() {
  const scrolls = (element) => element.tagName !== "ARTICLE" && (/auto|scroll/.test(getComputedStyle(element).overflowX) || scrolls(element.parentElement));
  const beyond = [...document.querySelectorAll("article[role=main] *")].filter((element) => {
    const { right, width, height } = element.getBoundingClientRect();
    return width > 1 && height > 1 && right > document.documentElement.clientWidth + 1 && !scrolls(element);
  });
  return beyond.map((element) => element.outerHTML.slice(0, 120));
}

for (const name of pages) {
  test(`${name}: width, axe, in light and dark`, async ({ page, open }) => {
    await open(name);
    expect(await findings(page)).toEqual([]);
    await page.setViewportSize({ width: 390, height: 844 });
    await page.emulateMedia({ colorScheme: "dark" });
    const [content, window] = await page.evaluate(() => [document.documentElement.scrollWidth, document.documentElement.clientWidth]);
    expect(content, "the page scrolls sideways").toBeLessThanOrEqual(window);
    expect(await page.evaluate(cutOff)).toEqual([]);
    expect(await findings(page, "color-contrast", "scrollable-region-focusable")).toEqual([]);
  });
}

/** Searches, and goes to the first result. */
async function search(page, words) {
  await page.getByRole("textbox", { name: "Search" }).first().fill(words);
  await page.keyboard.press("Enter");
  await expect(page.locator("#search-results li").first()).toBeVisible();
  expect(await findings(page)).toEqual([]);
  await page.locator("#search-results li a").first().click();
}

test("a search finds a page", async ({ page, open }) => {
  await open("docs/research/papers/gsp-2015.html");
  await search(page, "synchronization");
  await expect(page.locator("h1")).toBeVisible();
});

test("a search finds a page without a server", async ({ page }) => {
  await page.goto(`file://${path.join(SITE, "index.html")}`);
  await search(page, "TCP_DEFER_ACCEPT");
  await expect(page.locator("h1")).toBeVisible();
});

test("the lab and the papers are a click away", async ({ page, open }) => {
  await open("index.html");
  await page.getByRole("main").getByRole("link", { name: "The lab" }).click();
  await page.waitForFunction(() => window.gentle?.state().sides.length === 2);
  await open("docs/guides/papers.html");
  await page.getByRole("link", { name: "The result" }).click();
  await expect(page.getByRole("link", { name: /Virtue of Gentleness/ }).first()).toBeVisible();
});
