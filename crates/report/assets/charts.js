// What the charts of all pages have in common, drawn with Observable Plot. Colours are CSS variables, so the theme changes
// without drawing again. Text reaches the page as text nodes only, never as markup.
"use strict";
const charts = (() => {
  // ---- Numbers as text.

  const known = (v) => v !== null && v !== undefined;
  const significant = d3.format(",.3~r");
  const timeUnit = (largest) =>
    largest >= 1 ? { factor: 1, name: "s" } : largest >= 1e-3 ? { factor: 1e3, name: "ms" } : { factor: 1e6, name: "µs" };
  const time = (seconds) => {
    if (!known(seconds)) return "–";
    const unit = seconds === 0 ? timeUnit(1) : timeUnit(seconds);
    return `${significant(seconds * unit.factor)} ${unit.name}`;
  };
  const percent = (fraction) => (known(fraction) ? `${d3.format(".3~r")(fraction * 100)} %` : "–");
  const interval = (value, ci95, show) => (known(value) && known(ci95) ? `${show(value)} ± ${show(ci95)}` : show(value));
  const fixed = (largest) => d3.format(largest >= 100 ? ",.0f" : largest >= 10 ? ".1f" : ".2f");

  // ---- What all charts share.

  const style = { fontFamily: "inherit", fontSize: "12px", background: "none", overflow: "visible" };
  const centred = { labelAnchor: "center", labelArrow: "none" };
  const tipLook = { fill: "var(--surface)", stroke: "var(--rule)", fontSize: 12, lineHeight: 1.3, textPadding: 9 };

  function draw(place, plot) {
    place.replaceChildren(plot(Math.max(place.clientWidth, 240)));
  }

  const nothing = (text) => Object.assign(document.createElement("p"), { className: "hint", textContent: text });

  /** Round numbers within [low, high]: as many to a power of ten as there is room for. */
  function logTicks([low, high], room) {
    const powers = d3.range(Math.floor(Math.log10(low)), Math.ceil(Math.log10(high)) + 1);
    const choices = [[1, 2, 5], [1, 3], [1]].map((steps) =>
      powers.flatMap((power) => steps.map((step) => step * 10 ** power)).filter((t) => t >= low && t <= high),
    );
    return choices.find((ticks) => ticks.length <= room) ?? choices.at(-1);
  }

  // ---- The table sorts by the column whose head is activated; the schemes' column restores the order asked for.

  function sortable(table) {
    const body = table.tBodies[0];
    const asked = [...body.rows];
    [...table.tHead.rows[0].cells].forEach((head, column) => {
      const button = Object.assign(document.createElement("button"), { type: "button" });
      button.append(...head.childNodes);
      head.append(button);
      button.addEventListener("click", () => {
        const falling = head.getAttribute("aria-sort") === "ascending";
        for (const other of table.tHead.rows[0].cells) other.removeAttribute("aria-sort");
        head.setAttribute("aria-sort", falling ? "descending" : "ascending");
        const key = (row) => {
          const text = row.cells[column].dataset.key;
          return column === 0 ? asked.indexOf(row) : text === "" ? NaN : Number(text);
        };
        // d3's orders put NaN, a missing number, last either way.
        body.append(...d3.sort(asked, (a, b) => (falling ? d3.descending : d3.ascending)(key(a), key(b)) || 0));
      });
    });
  }

  // ---- Theme: the reader's system decides until the button does.

  function themeButton() {
    const button = document.getElementById("theme");
    const names = { "": "automatic", light: "light", dark: "dark" };
    button.hidden = false;
    button.addEventListener("click", () => {
      const themes = Object.keys(names);
      const theme = themes[(themes.indexOf(document.documentElement.dataset.theme ?? "") + 1) % themes.length];
      document.documentElement.dataset.theme = theme;
      button.textContent = `Theme: ${names[theme]}`;
    });
  }

  // ---- Charts are drawn for the width they have.

  function onWidth(redraw) {
    let drawn = document.body.clientWidth;
    new ResizeObserver(() => {
      if (document.body.clientWidth === drawn) return;
      drawn = document.body.clientWidth;
      redraw();
    }).observe(document.body);
  }

  return {
    known,
    significant,
    timeUnit,
    time,
    percent,
    interval,
    fixed,
    style,
    centred,
    tipLook,
    draw,
    nothing,
    logTicks,
    sortable,
    themeButton,
    onWidth,
  };
})();
