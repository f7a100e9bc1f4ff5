// Finding and making the elements of the page, and handing out its contents.

export const $ = <T extends HTMLElement>(selector: string, within: ParentNode = document) => {
  const found = within.querySelector<T>(selector);
  if (!found) throw new Error(`The page lacks ${selector}.`);
  return found;
};

export function paragraph(text: string): HTMLElement {
  const made = document.createElement("p");
  made.textContent = text;
  return made;
}

/** A table with these columns in a region that scrolls, by keys too; `label` is the region's name. */
export function scrollingTable(label: string, columns: string[]): { region: HTMLElement; table: HTMLTableElement } {
  const region = document.createElement("div");
  region.className = "scroll";
  region.tabIndex = 0;
  region.setAttribute("role", "region");
  region.setAttribute("aria-label", label);
  const table = document.createElement("table");
  const head = table.createTHead().insertRow();
  for (const name of columns) {
    const cell = document.createElement("th");
    cell.scope = "col";
    cell.textContent = name;
    head.append(cell);
  }
  table.createTBody();
  region.append(table);
  return { region, table };
}

/** Lets the browser save a file. */
export function save(name: string, blob: Blob) {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(blob);
  link.download = name;
  link.click();
  // Some browsers begin to read it only later.
  setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
}

/** Copies a text, and shows it on the button. */
export async function copy(button: HTMLElement, text: string) {
  await navigator.clipboard.writeText(text);
  const name = button.textContent;
  button.textContent = "Copied";
  setTimeout(() => (button.textContent = name), 1_500);
}
