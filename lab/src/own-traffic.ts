// The user's own traffic: captures that are analysed in the page, and lists of connections.
import * as capture from "./capture";
import { $, save } from "./dom";
import { count, percent, plural } from "./format";
import type { Captured } from "./protocol";

/** Most connections of a capture that the page runs: their list goes to every worker. */
const MOST_CONNECTIONS = 200_000;

export interface Page {
  /** Runs listed connections, on a link of this rate if given; returns why that is impossible. */
  run: (flows: string, rate?: string) => Promise<string | undefined>;
  /** Brings the current run into view, and plays it. */
  watch: (text: string) => void;
}

/** Shows an error where the file was chosen. */
function complain(place: "capture" | "flows", message: string | undefined) {
  const error = $(`#${place}-error`);
  error.hidden = !message;
  error.textContent = message ?? "";
  if (message) error.scrollIntoView({ block: "nearest" });
}

/** Columns of text that fit into an element, as far as they help. */
function columnsOf(element: HTMLElement): number {
  const ruler = document.createElement("span");
  ruler.textContent = "0".repeat(100);
  element.replaceChildren(ruler);
  const style = getComputedStyle(element);
  const space = element.clientWidth - parseFloat(style.paddingLeft) - parseFloat(style.paddingRight);
  const columns = Math.floor((space * 100) / (ruler.getBoundingClientRect().width || 1));
  element.replaceChildren();
  return Math.min(120, Math.max(40, columns));
}

function summary({ connections, rate, up }: Captured): string {
  if (!connections) return "No connection in it has a beginning, a complete handshake and data, so there is nothing to run.";
  if (connections > MOST_CONNECTIONS) return `It has ${count(connections)} connections to run; the page runs at most ${count(MOST_CONNECTIONS)}. gentle compare --from runs all of them.`;
  const reverse = up < 0.5 ? "" : ` ${percent(up)} of their data goes up, over the reverse link: if the receivers are on your side of the link, enter their addresses above; the data then crosses the link under test.`;
  const what = plural(connections, "connection can run, at its time", "connections can run, each at its time");
  return `${what}, with its size and its round-trip time. A capture does not contain the rate of the link. The run starts with ${rate}, which these connections load to 90 % over the time of the capture.${reverse}`;
}

export class OwnTraffic {
  private reading: capture.Reading | undefined;
  private files: File[] = [];
  private captured: Captured | undefined;

  constructor(private page: Page) {
    $("#flows").addEventListener("change", async () => {
      const file = $<HTMLInputElement>("#flows").files?.[0];
      if (file) complain("flows", await page.run(await file.text()));
    });
    $("#captures").addEventListener("change", () => {
      const files = [...($<HTMLInputElement>("#captures").files ?? [])];
      if (files.length) void this.read(files);
    });
    $("#local").addEventListener("change", () => this.files.length && void this.read(this.files));
    $("#stop-reading").addEventListener("click", () => this.stop());
    $("#run-captured").addEventListener("click", () => void this.run());
    $("#save-flows").addEventListener("click", () => save("flows.csv", new Blob([this.captured?.flows ?? ""], { type: "text/csv" })));
    document.addEventListener("dragover", (event) => {
      if (event.dataTransfer?.types.includes("Files")) event.preventDefault();
    });
    document.addEventListener("drop", (event) => {
      const files = [...(event.dataTransfer?.files ?? [])];
      if (!files.length) return;
      event.preventDefault();
      if (files.length === 1 && files[0].name.endsWith(".csv")) return void files[0].text().then(async (text) => {
        $<HTMLDetailsElement>("#capture").open = true;
        complain("flows", await page.run(text));
      });
      void this.read(files);
      $("#capture").scrollIntoView({ block: "nearest" });
    });
  }

  private stop() {
    this.reading?.stop();
    this.reading = undefined;
    $("#reading").hidden = true;
  }

  /** Analyses these captures as one. */
  private async read(files: File[]) {
    this.stop();
    this.files = files;
    this.captured = undefined;
    complain("capture", undefined);
    $<HTMLDetailsElement>("#capture").open = true;
    const names = files.map((file) => file.name).join(", ");
    const result = $("#captured");
    result.hidden = false;
    const columns = columnsOf($("#analysis"));
    result.hidden = true;
    const bar = $<HTMLProgressElement>("#reading-done");
    bar.value = 0;
    $("#reading").hidden = false;
    const own = capture.read({ files, local: $<HTMLInputElement>("#local").value, columns }, (fraction) => (bar.value = fraction));
    this.reading = own;
    try {
      const found = await own.captured;
      this.captured = found;
      $("#captured-title").textContent = `Output of gentle analyze for ${names}`;
      $("#analysis").textContent = found.text.trim();
      $("#captured-text").textContent = summary(found);
      $("#run-captured").hidden = !found.connections || found.connections > MOST_CONNECTIONS;
      $("#save-flows").hidden = !found.connections;
      result.hidden = false;
      // The verdict is last, as in a terminal, so it is visible first.
      $("#analysis").scrollTop = $("#analysis").scrollHeight;
    } catch (error) {
      complain("capture", (error as Error).message);
    } finally {
      if (this.reading === own) this.stop();
    }
  }

  private async run() {
    if (!this.captured?.connections) return;
    const problem = await this.page.run(this.captured.flows, this.captured.rate);
    complain("capture", problem);
    if (!problem) this.page.watch("The connections of your capture.");
  }
}
