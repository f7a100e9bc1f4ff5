// The options of the two schemes, as tables.
import { $, scrollingTable } from "./dom";
import type { Catalog } from "./protocol";

/** Shows the options of these schemes, each given as a name with options. */
export function showOptions(catalog: Catalog, schemes: string[]) {
  const tables = schemes.map((text) => {
    const scheme = catalog.schemes.find((scheme) => scheme.name === text.split(" ")[0]);
    const { region, table } = scrollingTable(`Options of ${scheme?.name}`, ["option", "default", "meaning"]);
    table.createCaption().textContent = `${scheme?.name}: ${scheme?.source}`;
    for (const option of scheme?.options ?? []) {
      const row = table.tBodies[0].insertRow();
      const name = document.createElement("th");
      name.scope = "row";
      name.textContent = option.name;
      row.append(name);
      row.insertCell().textContent = option.default ?? "unset";
      row.insertCell().textContent = `${option.help} (${option.accepts})`;
    }
    return region;
  });
  $("#options .tables").replaceChildren(...tables);
}
