// Links, copies and films of gentle lab.
import { readFileSync } from "node:fs";
import path from "node:path";
import { DIST, expect, goTo, pause, state, test } from "./lab.mjs";

const hash = (page) => page.evaluate(() => location.hash);

/** Everything that both canvases show. */
const pictures = (page) => page.evaluate(() => [...document.querySelectorAll(".side canvas")].map((canvas) => canvas.toDataURL()));

test("a link shows the same moment, speed, changes and picture", async ({ page, lab }) => {
  await page.emulateMedia({ reducedMotion: "reduce" });
  await lab("#traffic=real&profile=linux-7.2&a=pfifo+limit%3D50&b=codel&seed=3");
  await goTo(page, 20);
  await page.locator("#buffer").fill("10");
  await page.locator("#buffer").press("Enter");
  await expect(page.locator("#name-a")).toContainText("pfifo limit=10");
  await page.locator("#rate").fill("2mbit");
  await page.locator("#rate").press("Enter");
  await expect.poll(() => hash(page)).toContain("_rate_2000000");
  await page.evaluate(() => window.gentle.speed(0.5));
  await goTo(page, 23.5);
  await page.locator(".kicker .copy-link").click();
  await expect(page.locator(".kicker .copy-link")).toHaveText("Copied");
  const link = await page.evaluate(() => navigator.clipboard.readText());
  expect(link).toContain("t=23.5&speed=0.5");
  const before = await state(page);
  await page.waitForTimeout(500);
  const seen = await pictures(page);
  await page.goto("about:blank");
  await page.goto(link);
  await page.waitForFunction(() => window.gentle?.state().sides.length === 2 && window.gentle.state().sides.every((side) => side.now_s === 23.5));
  const after = await state(page);
  expect(after.sides.map((side) => ({ ...side, curves: undefined }))).toEqual(before.sides.map((side) => ({ ...side, curves: undefined })));
  expect([after.now, after.speed, after.playing]).toEqual([23.5, 0.5, false]);
  await expect.poll(async () => JSON.stringify(await pictures(page)) === JSON.stringify(seen)).toBe(true);
  await expect(page.locator("#rate")).toHaveValue("2mbit");
  await expect(page.locator("#name-a")).toContainText("pfifo limit=10");
});

test("Back and Forward lead through scenes, not through moments", async ({ page, lab }) => {
  await lab("#story=pie");
  await expect.poll(() => hash(page)).toContain("story=pie&t=");
  await pause(page);
  await page.getByRole("button", { name: "A SYN flood" }).click();
  await expect.poll(() => hash(page)).toContain("story=flood&t=");
  await pause(page);
  await goTo(page, 30);
  await page.locator("#seed").fill("4");
  await page.locator("#seed").press("Enter");
  await expect.poll(() => hash(page)).toContain("seed=4");
  await page.goBack();
  await expect.poll(async () => (await state(page)).now).toBe(30);
  expect(await hash(page)).toContain("story=flood&t=30&");
  await expect(page.locator("#seed")).toHaveValue("1");
  await page.goBack();
  await expect(page.locator("#name-a")).toHaveText("pie");
  await page.goForward();
  await expect(page.locator("#name-a")).toHaveText("spa");
});

test("a damaged link is refused in a sentence", async ({ page, lab }) => {
  for (const [number, damaged] of ["toml=abc", "edits=12_buffer", "edits=x_drop_a"].entries()) {
    // Another query makes the browser load the page, which another fragment does not.
    await lab(`?${number}#traffic=real&a=pfifo&b=spa&${damaged}`);
    await expect(page.locator("#error")).toContainText("the link was probably cut");
  }
});

for (const [name, works] of [["the browser's older command copies", true], ["the reader copies", false]]) {
  test(`without a clipboard, as on plain http, ${name}`, async ({ page, lab }) => {
    await page.addInitScript((works) => {
      Object.defineProperty(navigator, "clipboard", { value: undefined });
      if (!works) document.execCommand = () => false;
    }, works);
    await lab("#story=call");
    await pause(page);
    const button = page.locator(".kicker .copy-link");
    await button.click();
    if (works) {
      await page.locator("#toml").evaluate((area) => (area.closest("details").open = true));
      await page.locator("#toml").fill("");
      await page.keyboard.press("Control+V");
      await expect(page.locator("#toml")).toHaveValue(/^http.*#story=call&t=/);
    } else {
      await expect(button).toHaveText("Press Ctrl+C");
      await expect(page.getByLabel("Text to copy")).toHaveValue(/^http.*#story=call&t=/);
      await expect(page.getByLabel("Text to copy")).toBeFocused();
    }
  });
}

test("ten seconds can be saved as a film that plays", async ({ page, lab }) => {
  await lab("#story=hang");
  await pause(page);
  const { now } = await state(page);
  const [download] = await Promise.all([page.waitForEvent("download"), page.locator(".kicker .film").click()]);
  expect(download.suggestedFilename()).toBe("gentle-lab.webm");
  const film = readFileSync(await download.path());
  expect(film.readUInt32BE(0), "EBML").toBe(0x1a45dfa3);
  // The lab's page plays nothing: its policy allows no media.
  const player = await page.context().newPage();
  const played = await player.evaluate(async (bytes) => {
    const video = document.createElement("video");
    video.muted = true;
    video.src = URL.createObjectURL(new Blob([Uint8Array.from(atob(bytes), (c) => c.charCodeAt(0))], { type: "video/webm" }));
    await video.play();
    video.playbackRate = 8;
    await new Promise((resolve, reject) => {
      video.onended = resolve;
      video.onerror = () => reject(new Error("not playable"));
    });
    return [video.videoWidth, video.videoHeight, video.currentTime];
  }, film.toString("base64"));
  await player.close();
  expect(played.slice(0, 2)).toEqual([1280, 720]);
  // A busy machine records fewer pictures.
  expect(played[2]).toBeGreaterThan(1);
  const after = await state(page);
  expect([after.now, after.playing]).toEqual([now, false]);
});

test("previews of links have a title, a text and a picture", async ({ page, lab }) => {
  await lab();
  await expect(page).toHaveTitle("gentle lab: why pages hang for a second");
  const meta = (name) => page.locator(`meta[property="og:${name}"]`).getAttribute("content");
  expect((await meta("title")).length).toBeGreaterThan(20);
  expect((await meta("description")).length).toBeGreaterThan(50);
  const picture = readFileSync(path.join(DIST, await meta("image")));
  expect([picture.readUInt32BE(16), picture.readUInt32BE(20)].map(String)).toEqual([await meta("image:width"), await meta("image:height")]);
});
