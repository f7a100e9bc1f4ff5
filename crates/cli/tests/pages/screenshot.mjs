// Takes a picture of the first screens of a page: node screenshot.mjs PAGE.html|ADDRESS PICTURE.png [WIDTH [HEIGHT [light|dark]]]
import { chromium } from "@playwright/test";
import path from "node:path";

const [page, picture, width = 1200, height = 1420, colorScheme = "light"] = process.argv.slice(2);
const browser = await chromium.launch({ executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium" });
const tab = await browser.newPage({ viewport: { width: Number(width), height: Number(height) }, colorScheme });
await tab.goto(page.startsWith("http:") ? page : `file://${path.resolve(page)}`);
// The lab plays until a SYN has been dropped.
if (page.startsWith("http:")) {
  await tab.waitForFunction(() => window.gentle?.state().standing?.done);
  await tab.waitForTimeout(1000);
}
await tab.screenshot({ path: picture });
await browser.close();
