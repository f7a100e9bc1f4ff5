// What holds of every page that gentle writes, in every look.
import { faint } from "./contrast.mjs";
import { expect, findings, pages, test } from "./open.mjs";

/** The charts of a page: what each image is called, how large it is, and how much is drawn in it. */
function charts() {
  return [...document.querySelectorAll("figure")].map((figure) => ({
    caption: figure.querySelector("figcaption").firstChild.textContent.trim(),
    empty: figure.querySelector("[data-empty]")?.textContent,
    images: [...figure.querySelectorAll("svg[role=img]")].map((image) => ({
      name: image.getAttribute("aria-label"),
      least: Math.min(image.clientWidth, image.clientHeight),
      shapes: image.querySelectorAll("path, polyline, polygon, rect, line, circle").length,
    })),
  }));
}

for (const name of pages) {
  test(`${name}: width, charts, contrast, axe`, async ({ page, visit }) => {
    await visit(name);
    const [content, window] = await page.evaluate(() => [document.documentElement.scrollWidth, document.documentElement.clientWidth]);
    expect(content, "the page scrolls sideways").toBeLessThanOrEqual(window);

    const drawn = await page.evaluate(charts);
    const images = drawn.flatMap((chart) => chart.images);
    for (const { caption, empty, images } of drawn) expect(empty || images.length, caption).toBeTruthy();
    for (const { name, least, shapes } of images) {
      expect(least, name).toBeGreaterThan(40);
      expect(shapes, name).toBeGreaterThan(2);
    }
    // A tick or gridline outside the domain of its axis is drawn outside the picture.
    const outside = await page.evaluate(() =>
      [...document.querySelectorAll("figure svg[role=img]")].flatMap((image) => {
        const frame = image.getBoundingClientRect();
        const marks = [...image.querySelectorAll("[data-mark*='grid'] line, [data-mark*='tick label'] text, [data-mark=rule] line, [data-mark=tick] line, [data-mark=bar] :is(path, rect)")];
        return marks
          .map((mark) => [mark.textContent, mark.getBoundingClientRect()])
          .filter(([, box]) => box.bottom < frame.top - 2 || box.top > frame.bottom + 2 || box.right < frame.left - 2 || box.left > frame.right + 2)
          .map(([text]) => `${image.getAttribute("aria-label")}: ${text}`);
      }),
    );
    expect(outside).toEqual([]);
    const names = images.map((image) => image.name);
    expect(names.every((name) => name.length >= 4)).toBe(true);
    expect(new Set(names).size, "every image has a name of its own").toBe(names.length);

    // WCAG 2.2, 1.4.11: what is drawn has a contrast of 3:1 to its ground.
    const { found, looked } = await page.evaluate(faint, 3);
    expect(found).toEqual([]);
    if (images.length) expect(looked).toBeGreaterThan(images.length);

    expect(await findings(page)).toEqual([]);
  });
}
