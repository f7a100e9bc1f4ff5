// Buttons that hand something out: copies, files, a film; and the theme.
import { $, copy, save } from "./dom";
import { canRecord, record, saveFilm, SECONDS } from "./film";
import type { Player } from "./player";
import type { Stage } from "./stage";

export interface Page {
  player: Player;
  stages: Stage[];
  names: () => string[];
  /** The part of the address after `#`, of the moment shown. */
  link: () => Promise<string>;
  toml: () => Promise<string>;
  recolor: () => void;
  complain: (message: string | undefined) => void;
}

async function film(button: HTMLButtonElement, page: Page) {
  const name = button.textContent;
  button.disabled = true;
  try {
    saveFilm(await record(page.player, page.stages, page.names(), (seconds) => {
      button.textContent = `Recording ${Math.min(SECONDS, Math.floor(seconds))} of ${SECONDS} s`;
    }));
  } catch (error) {
    page.complain((error as Error).message);
  } finally {
    button.disabled = false;
    button.textContent = name;
  }
}

export function wireButtons(page: Page) {
  for (const button of document.querySelectorAll<HTMLElement>("[data-copy]")) {
    button.addEventListener("click", () => void copy(button, $(`#${button.dataset.copy}`).textContent ?? ""));
  }
  for (const button of document.querySelectorAll<HTMLElement>(".copy-link")) {
    button.addEventListener("click", async () => copy(button, `${location.href.split("#")[0]}#${await page.link()}`));
  }
  const toml = $("#copy-toml");
  toml.addEventListener("click", async () => copy(toml, await page.toml()));
  $("#save-toml").addEventListener("click", async () => save("lab.toml", new Blob([await page.toml()], { type: "application/toml" })));
  for (const button of document.querySelectorAll<HTMLButtonElement>(".film")) {
    button.hidden = !canRecord();
    button.addEventListener("click", () => void film(button, page));
  }
  const themes = ["automatic", "light", "dark"];
  $("#theme").addEventListener("click", () => {
    const shown = document.documentElement.dataset.theme ?? "automatic";
    const next = themes[(themes.indexOf(shown) + 1) % themes.length];
    if (next === "automatic") delete document.documentElement.dataset.theme;
    else document.documentElement.dataset.theme = next;
    $("#theme").textContent = `Theme: ${next}`;
    page.recolor();
  });
}
