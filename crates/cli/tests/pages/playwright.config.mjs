// Every page in the looks that readers have, light and dark, from a phone's width to a large screen's; its buttons in one of them.
import { defineConfig } from "@playwright/test";

const sizes = {
  phone: { width: 390, height: 844 },
  tablet: { width: 768, height: 1024 },
  desktop: { width: 1400, height: 900 },
  wide: { width: 2560, height: 1440 },
  // A desktop's window at a zoom of 200 %.
  zoomed: { width: 700, height: 450 },
};
const look = (name, use) => ({ name, testMatch: "looks.spec.mjs", use });
const looks = Object.entries(sizes).flatMap(([name, viewport]) =>
  ["light", "dark"].map((colorScheme) => look(`${name} ${colorScheme}`, { colorScheme, viewport })),
);
looks.push(look("forced colours", { contextOptions: { forcedColors: "active", reducedMotion: "reduce" }, colorScheme: "dark", viewport: sizes.desktop }));

// Debian's Firefox, over WebDriver BiDi, which needs none of Playwright's changes to the browser.
const firefox = {
  browserName: "firefox",
  channel: "moz-firefox",
  launchOptions: { executablePath: process.env.FIREFOX },
  permissions: [],
  offline: false,
};
for (const [name, colorScheme] of [["phone", "dark"], ["desktop", "light"]]) {
  looks.push(look(`firefox ${name} ${colorScheme}`, { ...firefox, colorScheme, viewport: sizes[name] }));
}

export default defineConfig({
  testDir: ".",
  outputDir: process.env.PAGES_OUTPUT,
  projects: [...looks, { name: "tools", testMatch: "tools.spec.mjs", use: { viewport: sizes.desktop } },
    { name: "lab", testMatch: ["lab.spec.mjs", "capture.spec.mjs", "tour.spec.mjs", "share.spec.mjs"], use: { viewport: sizes.desktop, offline: false } },
    // Over WebDriver BiDi Playwright emulates neither touch nor less motion, and does not see downloads.
    { name: "firefox lab", testMatch: ["tour.spec.mjs", "share.spec.mjs"], grepInvert: /by touch|each story|as a film/, use: { ...firefox, viewport: sizes.desktop } },
    { name: "site", testMatch: "site.spec.mjs", use: { viewport: sizes.desktop, colorScheme: "light", offline: false } }],
  fullyParallel: true,
  workers: 2,
  forbidOnly: true,
  reporter: "line",
  snapshotPathTemplate: "snapshots/{arg}{ext}",
  // Ten times what an idle machine needs: a busy one may be slow.
  timeout: 1_200_000,
  expect: { timeout: 120_000 },
  use: {
    browserName: "chromium",
    // The distribution's own: nothing is downloaded. Playwright runs it without the sandbox, which root may not have.
    launchOptions: { executablePath: process.env.CHROMIUM },
    offline: true,
    permissions: ["clipboard-read", "clipboard-write"],
    acceptDownloads: true,
  },
});
