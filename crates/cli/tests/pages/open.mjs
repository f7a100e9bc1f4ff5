// Opening a page, and what every page has to keep to while it is open.
import { expect, test as base } from "@playwright/test";
import { readFileSync, readdirSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import path from "node:path";

/** The folder with the pages, which the test in main.rs has made. */
export const folder = process.env.PAGES;

/** The text of a file beside the pages. */
export const beside = (name) => readFileSync(path.join(folder, name), "utf8");

/** The names of all pages: `compare` for `compare.html`. */
export const pages = readdirSync(folder)
  .filter((file) => file.endsWith(".html"))
  .map((file) => path.basename(file, ".html"));

/** The source of axe, to be run within a page. */
const axe = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");

/** What axe finds wrong, one line for each element; only by these of its rules, if there are any. */
export async function findings(page, ...rules) {
  await page.evaluate(axe);
  const options = { resultTypes: ["violations"], ...(rules.length && { runOnly: rules }) };
  const { violations } = await page.evaluate((options) => window.axe.run(document, options), options);
  return violations.flatMap(({ id, help, nodes }) => nodes.map(({ target, html }) => `${id}: ${help}: ${target} ${html.slice(0, 120)}`));
}

/**
 * Takes a picture of what the page shows, for the manual: with UPDATE_DOCS it replaces the one in docs/images, without it
 * that one must be as large.
 */
export async function picture(page, name) {
  const taken = await page.screenshot();
  const kept = new URL(`../../../../docs/images/${name}`, import.meta.url);
  if (process.env.UPDATE_DOCS) return writeFileSync(kept, taken);
  const size = (png) => [png.readUInt32BE(16), png.readUInt32BE(20)];
  expect(size(taken)).toEqual(size(readFileSync(kept)));
}

/** A test with `visit(name)`, which opens a page; the page then may say nothing on the console and load nothing. */
export const test = base.extend({
  visit: async ({ page }, use) => {
    const trouble = [];
    page.on("console", (message) => trouble.push(`console: ${message.text()}`));
    page.on("pageerror", (error) => trouble.push(`error: ${error.message}`));
    page.on("request", (request) => {
      if (!/^(file|data|blob):/.test(request.url())) trouble.push(`request: ${request.url()}`);
    });
    await use(async (name) => {
      await page.goto(`file://${path.join(folder, name)}.html`);
    });
    expect(trouble).toEqual([]);
  },
});

export { expect };
