// The guided minute of gentle lab, losses that the reader requests, and the explanation of a SYN.
import { expect, goTo, pause, state, test } from "./lab.mjs";
import { findings } from "./open.mjs";

const STEPS = ["Play", "Drop this SYN", "Show me", "Change the queue", "Play freely"];

const seconds = (text) => [...text.matchAll(/([\d.]+) (ms|s)\b/g)].map(([, value, unit]) => Number(value) / (unit === "ms" ? 1000 : 1));

/** Takes the tour to its end; `press` presses its button. */
async function take(page, press) {
  const texts = [];
  for (const step of STEPS) {
    const button = page.locator("#tour-next:enabled");
    await expect(button).toHaveText(step);
    texts.push(await page.locator("#tour-text").textContent());
    await press(button, step);
  }
  await expect(page.locator("#tour")).toBeHidden();
  return texts;
}

/** Checks the times that the tour has measured: a SYN that was dropped cost a second, and another queue saved it. */
function expectCure(texts) {
  const [requested, other] = seconds(texts[2]);
  expect(requested).toBeGreaterThan(other + 0.9);
  const [dropped, right] = seconds(texts[3]);
  expect(dropped).toBeGreaterThan(right + 0.9);
  const [cured, before] = seconds(texts[4]);
  expect(before).toBe(dropped);
  expect(cured).toBeLessThan(dropped - 0.9);
}

test("a page without an address begins with the guided minute, by mouse", async ({ page, lab }) => {
  await lab("#");
  const texts = await take(page, async (button, step) => {
    if (step === "Drop this SYN") {
      expect((await state(page)).playing).toBe(false);
      expect(await findings(page)).toEqual([]);
    }
    await button.click();
    if (step === "Drop this SYN") await expect(page.locator(".side.a .drops .handshake").first()).toContainText("(by you)");
  });
  expectCure(texts);
  await expect(page.locator("#name-a")).toHaveText("gentle");
  await expect.poll(async () => (await state(page)).playing).toBe(true);
});

test("the guided minute by keyboard alone", async ({ page, lab }) => {
  await lab("#");
  await page.locator("#tour-next:enabled").focus();
  const texts = await take(page, async (button) => {
    await expect(button).toBeFocused();
    await page.keyboard.press("Enter");
  });
  expectCure(texts);
});

test("the guided minute by touch on a phone, with less motion", async ({ browser, page: { }, lab: { } }) => {
  const context = await browser.newContext({ viewport: { width: 390, height: 844 }, hasTouch: true, isMobile: true, reducedMotion: "reduce", offline: false });
  const page = await context.newPage();
  await page.goto(process.env.LAB);
  const texts = await take(page, async (button) => {
    await expect(page.locator("#tour-text"), "the sides are above each other").not.toContainText(/on the (left|right)\b|(left|right) (queue|side)/i);
    for (const side of ["a", "b"]) await expect(page.locator(`.side.${side} canvas`)).toBeInViewport({ ratio: 1 });
    await button.tap();
  });
  expectCure(texts);
  expect((await state(page)).playing).toBe(false);
  await context.close();
});

test("a change ends the guided minute", async ({ page, lab }) => {
  await lab("#");
  await page.locator("#tour-next:enabled").click();
  await page.locator("#seed").fill("3");
  await page.locator("#seed").press("Enter");
  await expect(page.locator("#tour")).toBeHidden();
  await expect.poll(() => page.evaluate(() => location.hash)).toContain("seed=3");
});

test("each story starts shortly before the event that it promises", async ({ page, lab }) => {
  await page.emulateMedia({ reducedMotion: "reduce" });
  for (const [story, handshakes] of [["home", 0], ["hang", 1], ["pie", 1], ["flood", 0], ["call", 0], ["gsp", 0], ["fin", 0]]) {
    await lab(`#story=${story}`);
    await expect.poll(() => page.evaluate(() => location.hash)).toMatch(new RegExp(`story=${story}&t=\\d+\\.`));
    const start = (await state(page)).now;
    await goTo(page, start);
    const { now, speed, sides } = await state(page);
    const before = sides[0].sums.handshakes_dropped;
    await goTo(page, now + 2.1 * speed);
    const after = (await state(page)).sides[0].sums;
    if (handshakes) expect(after.handshakes_dropped, story).toBeGreaterThan(before);
    if (story === "gsp") expect(after.dropped[0]).toBeGreaterThanOrEqual(sides[0].sums.dropped[0] + 4);
  }
});

test("a SYN is dropped on request on either side, and the link keeps it", async ({ page, lab }) => {
  await lab("#story=hang");
  await pause(page);
  await page.locator(".side.b .drop-syn").click();
  await page.locator("#play").click();
  const drop = page.locator(".side.b .drops button.handshake").first();
  await expect(drop).toContainText("(by you)");
  await pause(page);
  const shown = await drop.textContent();
  await expect.poll(() => page.evaluate(() => location.hash)).toMatch(/edits=[\d.]+_drop_b/);
  await page.reload();
  await page.waitForFunction(() => window.gentle?.state().sides.length === 2);
  await expect(drop).toHaveText(shown);
});

test("a SYN is explained in half a minute, or at once with less motion", async ({ page, lab }) => {
  await lab("#story=hang");
  await page.locator("#explain").click();
  const dialog = page.locator("#syn");
  await expect(dialog.locator("svg").nth(1)).toHaveAttribute("aria-label", /is dropped: complete after 1\.\d+ s/);
  await expect(dialog.locator("li")).toHaveCount(5);
  await expect(dialog.locator("li.now")).toHaveCount(1);
  expect(await findings(page)).toEqual([]);
  await page.keyboard.press("Escape");
  await page.emulateMedia({ reducedMotion: "reduce" });
  await page.locator("#explain").click();
  await expect(dialog.locator("svg").nth(1)).toContainText("waits 1.");
  await expect(dialog.locator("svg").nth(1).locator("line")).not.toHaveCount(0);
});
