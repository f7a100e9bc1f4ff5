// Buttons of all pages: theme, sorting of tables, copying, and files of results, tables and charts.
const tools = (() => {
  const button = (text, name, action) => {
    const made = Object.assign(document.createElement("button"), { type: "button", textContent: text });
    if (name) made.setAttribute("aria-label", name);
    made.addEventListener("click", action);
    return made;
  };

  // ---- Theme: that of the system until the button is used.

  function themeButton() {
    const themes = ["automatic", "light", "dark"];
    const chosen = document.getElementById("theme");
    chosen.hidden = false;
    chosen.addEventListener("click", () => {
      const now = document.documentElement.dataset.theme ?? "automatic";
      const theme = themes[(themes.indexOf(now) + 1) % themes.length];
      document.documentElement.dataset.theme = theme;
      chosen.textContent = `Theme: ${theme}`;
    });
  }

  // ---- Sorting by the column whose head is activated; the first column restores the original order.

  function sortable(table) {
    const body = table.tBodies[0];
    const asked = [...body.rows];
    const heads = [...table.tHead.rows[0].cells];
    heads.forEach((head, column) => {
      const sort = button("", null, () => {
        const falling = head.getAttribute("aria-sort") === "ascending";
        for (const other of heads) other.removeAttribute("aria-sort");
        head.setAttribute("aria-sort", falling ? "descending" : "ascending");
        const key = (row) => {
          const text = row.cells[column].dataset.key;
          return column === 0 ? asked.indexOf(row) : text === "" ? NaN : Number(text);
        };
        // Missing numbers (NaN) are last in both orders.
        const order = (a, b) => Number.isNaN(a) - Number.isNaN(b) || (falling ? b - a : a - b);
        body.append(...asked.toSorted((a, b) => order(key(a), key(b))));
      });
      sort.append(...[...head.childNodes].filter((node) => !node.matches?.(".about")));
      head.prepend(sort);
    });
  }

  // ---- A cue at tables that are wider than the page.

  function scrollCues() {
    for (const region of document.querySelectorAll(".scroll")) {
      const cue = Object.assign(document.createElement("p"), { className: "hint cue", textContent: "Scroll right for more columns." });
      region.before(cue);
      const see = () => {
        cue.hidden = region.scrollLeft + region.clientWidth >= region.scrollWidth - 1;
      };
      region.addEventListener("scroll", see);
      new ResizeObserver(see).observe(region);
      see();
    }
  }

  // ---- Copying.

  function copyButtons() {
    for (const code of document.querySelectorAll("code.copied")) {
      const copy = button("Copy", null, async () => {
        try {
          await navigator.clipboard.writeText(code.textContent);
          copy.textContent = "Copied";
        } catch {
          // Browsers may deny the clipboard to pages from files. The text is selected, so that the user can copy it.
          getSelection().selectAllChildren(code);
        }
      });
      code.after(" ", copy);
    }
  }

  // ---- Files.

  function save(name, type, parts) {
    const link = document.createElement("a");
    link.href = URL.createObjectURL(new Blob(parts, { type }));
    link.download = name;
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 60_000);
  }

  const fileName = (text) => text.toLowerCase().replace(/[^a-z0-9]+/g, "-").replace(/^-|-$/g, "").slice(0, 60);

  /** The table as shown, as CSV (RFC 4180). */
  function csvOf(table) {
    const field = (cell) => {
      const shown = cell.innerText.replace(/\s+/g, " ").trim();
      // A spreadsheet would take it for a formula. A number with a sign and a unit is none.
      const formula = /^[=+\-@]./.test(shown) && !/^[+-][\d.,]+\s?[%µa-z/]*$/i.test(shown);
      const text = formula ? `'${shown}` : shown;
      return /[",]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
    };
    return [...table.rows].map((row) => [...row.cells].map(field).join(",") + "\r\n").join("");
  }

  /** Buttons for the results as JSON and, if the page has it, CSV; for each table as CSV; for each chart as SVG and PNG. */
  function downloads(name) {
    const place = document.getElementById("downloads");
    const element = (id) => document.getElementById(id);
    place.append("Results: ", button("JSON", "JSON of all results", () => save(`${name}.json`, "application/json", [element("data").textContent])));
    if (element("csv")) {
      const csv = JSON.parse(element("csv").textContent);
      place.append(" ", button("CSV", "CSV of all results", () => save(`${name}.csv`, "text/csv", [csv])));
    }
    for (const region of document.querySelectorAll(".scroll")) {
      const table = region.querySelector("table");
      const called = table.caption?.innerText ?? element(region.getAttribute("aria-labelledby")).innerText;
      const row = Object.assign(document.createElement("p"), { className: "tools" });
      row.append(button("CSV", `CSV of the table ${called}: ${table.rows[0].cells[0].innerText}`, () => save(`${fileName(called)}.csv`, "text/csv", [csvOf(table)])));
      region.after(row);
    }
    for (const figure of document.querySelectorAll("figure")) {
      const called = charts.caption(figure);
      const row = Object.assign(document.createElement("p"), { className: "tools" });
      const svg = () => picture.svg(figure);
      row.append(
        button("SVG", `SVG of ${called}`, () => save(`${fileName(called)}.svg`, "image/svg+xml", [svg().text])),
        " ",
        button("PNG", `PNG of ${called}`, async () => save(`${fileName(called)}.png`, "image/png", [await picture.png(svg())])),
      );
      figure.append(row);
    }
  }

  return { themeButton, sortable, scrollCues, copyButtons, downloads };
})();
