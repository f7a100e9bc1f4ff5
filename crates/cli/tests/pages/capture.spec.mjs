// Captures in the page of gentle lab.
import { readFileSync } from "node:fs";
import path from "node:path";
import { expect, pause, state, test } from "./lab.mjs";
import { beside, findings, folder } from "./open.mjs";

const ROUTER = path.join(folder, "router.pcapng");

/** Drops a file on the page, as from the system's file manager. */
async function drop(page, file) {
  await page.evaluate(([text, name]) => {
    const bytes = Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));
    const data = new DataTransfer();
    data.items.add(new File([bytes], name));
    document.body.dispatchEvent(new DragEvent("drop", { dataTransfer: data, bubbles: true, cancelable: true }));
  }, [readFileSync(file, "base64"), path.basename(file)]);
}

test("every capture gives what the command prints and writes, or its sentence", async ({ page, lab }) => {
  await lab("#traffic=short");
  await pause(page);
  const input = await page.evaluateHandle(() => Object.assign(document.createElement("input"), { type: "file" }));
  const said = JSON.parse(beside("captures.json"));
  expect(said.length).toBeGreaterThan(50);
  const different = [];
  for (const { path: file, text, flows, error } of said) {
    await input.setInputFiles(file);
    const found = await page.evaluate((input) => window.gentle.analyze([...input.files], "").catch((error) => ({ error: error.message })), input);
    const tool = { ".zst": "zstd", ".xz": "xz" }[path.extname(file)];
    const sentence = tool ? `${path.basename(file)}: not a pcap or pcapng capture: it is compressed with ${tool}, which cannot be read here; decompress it first: ${tool} -d ${path.basename(file)}` : error;
    const wanted = sentence ? { error: sentence } : { text, flows };
    for (const [part, value] of Object.entries(wanted)) {
      if (found[part] !== value) different.push({ file, part, found: found[part] ?? found.error, value });
    }
  }
  expect(different).toEqual([]);
});

test("a button at the top leads to the choice of a capture", async ({ page, lab }) => {
  await lab("#traffic=short");
  await page.getByRole("button", { name: "My capture" }).click();
  await expect(page.locator("#captures")).toBeFocused();
  const visible = () => page.locator("#capture summary").evaluate((summary) => {
    const { left, top } = summary.getBoundingClientRect();
    return summary.contains(document.elementFromPoint(left + 5, top + 5));
  });
  await expect.poll(visible, "the bar does not cover it").toBe(true);
});

test("several captures are one trace", async ({ page, lab }) => {
  await lab("#traffic=short");
  await page.locator("#captures").setInputFiles([ROUTER, ROUTER]);
  await expect(page.locator("#captured-title")).toHaveText("Output of gentle analyze for router.pcapng, router.pcapng");
  const said = JSON.parse(beside("captures.json")).find((capture) => capture.path === ROUTER);
  const packets = Number(/([\d,]+) packets/.exec(said.text)[1].replaceAll(",", ""));
  await expect(page.locator("#analysis")).toContainText(`${(2 * packets).toLocaleString("en")} packets`);
});

test("a dropped capture is analysed, and its connections run as under the command", async ({ page, lab }) => {
  await lab("#traffic=short&a=spa&b=fq_codel&profile=linux-7.2");
  await pause(page);
  await drop(page, ROUTER);
  await expect(page.locator("#captured-title")).toHaveText("Output of gentle analyze for router.pcapng");
  const said = JSON.parse(beside("captures.json")).find((capture) => capture.path === ROUTER);
  await expect(page.locator("#captured-text")).toContainText("100 % of their data goes up, over the reverse link");
  const verdict = said.text.trim().split("\n").at(-1);
  const shown = (await page.locator("#analysis").textContent()).replaceAll(/\s+/g, " ");
  expect(shown).toContain(verdict);
  expect(await findings(page)).toEqual([]);

  await page.locator("#local").fill("10.2.0.0/99");
  await page.locator("#local").press("Enter");
  await expect(page.locator("#capture-error")).toHaveText("my side: '10.2.0.0/99': expected an address or a prefix such as 192.0.2.0/24 or 2001:db8::/32");
  await page.locator("#local").fill("10.2.0.0/16");
  await page.locator("#local").press("Enter");
  await expect(page.locator("#captured-text")).toContainText("The run starts with");
  await expect(page.locator("#captured-text")).not.toContainText("goes up");
  await page.locator("#run-captured").click();
  await expect(page.locator("#load")).toHaveValue(/^9\d%$/);
  await expect.poll(async () => (await state(page)).playing).toBe(true);
  await pause(page);
  await page.locator("#rate").fill("5mbit");
  await page.locator("#rate").press("Enter");
  await expect(page.locator("#compare")).toContainText("--traffic flows.csv --rate 5mbit");
  const runs = JSON.parse(beside("replayed.json"));
  expect(Object.keys(runs).length).toBe(2);
  for (const [scheme, run] of Object.entries(runs)) {
    const record = await page.evaluate((scheme) => window.gentle.record(window.gentle.setup(), scheme, 1), scheme);
    expect(record === run, scheme).toBe(true);
  }
  const download = page.waitForEvent("download");
  await page.locator("#save-flows").click();
  expect(readFileSync(await (await download).path(), "utf8")).toBe(said.flows.replaceAll(",up,sender", ",down,sender"));
});

test("what cannot be read is refused in the command's sentence, and a list of connections runs", async ({ page, lab }) => {
  await lab("#traffic=short");
  await drop(page, path.join(folder, "notes.txt"));
  await expect(page.locator("#capture-error")).toHaveText(/^notes.txt: not a pcap or pcapng capture: it looks like text/);
  await expect(page.locator("#capture-error")).toBeInViewport();
  await expect(page.locator("#captured")).toBeHidden();
  await drop(page, path.join(folder, "flows.csv"));
  await expect(page.locator("#compare")).toContainText("--traffic flows.csv");
  await expect(page.locator("#error")).toBeHidden();
  await page.locator("#flows").setInputFiles({ name: "bad.csv", mimeType: "text/csv", buffer: Buffer.from("start_s,bytes\nnoon,1\n") });
  await expect(page.locator("#flows-error")).toContainText("flow list: flows.csv:2");
  await expect(page.locator("#flows-error")).toBeInViewport();
});

test("on a phone the analysis fits", async ({ page, lab }) => {
  await page.setViewportSize({ width: 390, height: 844 });
  await lab("#traffic=short");
  await drop(page, ROUTER);
  await expect(page.locator("#captured-title")).toBeVisible();
  expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBeLessThanOrEqual(390);
  expect(await findings(page)).toEqual([]);
});
