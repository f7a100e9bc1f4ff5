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

/** Shows a word on a button for a while. */
function flash(button: HTMLElement, word: string) {
  button.dataset.name ??= button.textContent ?? "";
  button.textContent = word;
  setTimeout(() => (button.textContent = button.dataset.name ?? ""), 2_500);
}

/**
 * Copies a text, and says so on the button. Pages from plain http have no clipboard: there the browser's older command
 * copies, or, if that fails too, the reader does.
 */
export async function copy(button: HTMLElement, text: string) {
  try {
    await navigator.clipboard.writeText(text);
    return flash(button, "Copied");
  } catch {
    const field = document.createElement("input");
    field.readOnly = true;
    field.className = "copy";
    field.value = text;
    field.setAttribute("aria-label", "Text to copy");
    button.after(field);
    field.select();
    if (document.execCommand("copy")) {
      field.remove();
      button.focus();
      return flash(button, "Copied");
    }
    flash(button, "Press Ctrl+C");
    field.addEventListener("blur", () => field.remove());
  }
}
