// Every page in the looks that readers have, light and dark, a phone's width and a desktop's; its buttons in one of them.
import { defineConfig } from "@playwright/test";

const sizes = { phone: { width: 390, height: 844 }, desktop: { width: 1400, height: 900 } };
const looks = Object.entries(sizes).flatMap(([name, viewport]) =>
  ["light", "dark"].map((colorScheme) => ({ name: `${name} ${colorScheme}`, testMatch: "looks.spec.mjs", use: { colorScheme, viewport } })),
);

export default defineConfig({
  testDir: ".",
  outputDir: process.env.PAGES_OUTPUT,
  projects: [...looks, { name: "tools", testMatch: "tools.spec.mjs", use: { viewport: sizes.desktop } },
    { name: "lab", testMatch: ["lab.spec.mjs", "capture.spec.mjs", "tour.spec.mjs", "share.spec.mjs"], use: { viewport: sizes.desktop, offline: false } },
    { name: "site", testMatch: "site.spec.mjs", use: { viewport: sizes.desktop, colorScheme: "light", offline: false } }],
  fullyParallel: true,
  workers: 2,
  forbidOnly: true,
  reporter: "line",
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
