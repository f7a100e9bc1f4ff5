// Opening the page of gentle lab, and going about in it.
import { expect, test as base } from "./open.mjs";

export const ADDRESS = process.env.LAB;
export const DIST = process.env.LAB_DIST;

/** A test with `lab(hash)`, which opens the page; it then may say nothing on the console and load nothing from elsewhere. */
export const test = base.extend({
  lab: async ({ page }, use) => {
    const trouble = [];
    let origin = ADDRESS;
    page.on("console", (message) => trouble.push(`console: ${message.text()}`));
    page.on("pageerror", (error) => trouble.push(`error: ${error.message}`));
    page.on("request", (request) => {
      if (!request.url().startsWith(origin) && !/^(data|blob):/.test(request.url())) trouble.push(`request: ${request.url()}`);
    });
    await use(async (hash = "#story=hang", address = ADDRESS) => {
      origin = address;
      await page.goto(address + hash);
      await page.waitForFunction(() => window.gentle?.state().sides.length === 2);
    });
    expect(trouble).toEqual([]);
  },
});

export const state = (page) => page.evaluate(() => window.gentle.state());

/** Pauses once the run that is being opened, which may begin to play, is there. */
export const pause = async (page) => {
  await page.waitForFunction(() => !window.gentle.state().opening);
  if ((await state(page)).playing) await page.locator("#play").click();
};

/** Goes to a moment and stays there. */
export async function goTo(page, seconds) {
  await pause(page);
  await page.locator("#moment").evaluate((slider, value) => {
    slider.value = String(value);
    slider.dispatchEvent(new Event("change"));
  }, seconds);
  await page.waitForFunction((value) => window.gentle.state().sides.every((side) => Math.abs(side.now_s - value) < 1e-6), seconds);
}

/** Waits until the verdict stands; drawing would take time from the runs that it needs. */
export async function verdict(page) {
  await pause(page);
  await expect(page.locator("#trial-state")).toContainText("done", { timeout: 1_000_000 });
}

export { expect };
