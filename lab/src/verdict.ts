// Significance of the difference: seeds in the background, and the resulting grades and verdict.
import { $, copy, paragraph } from "./dom";
import { time } from "./format";
import type { Catalog, Description, Setup, Standing } from "./protocol";
import * as questions from "./questions";

/** Seconds of a scenario that the page repeats with many seeds. */
const LONGEST = 3_600;
/** Milliseconds for which nothing may change before the first seed runs. */
const PATIENCE = 1_200;

const WAITING = "The first seeds are running.";

/** What is repeated. */
export interface Trial {
  setup: Setup;
  schemes: [string, string];
  seed: number;
  description: Description;
}

export class Verdict {
  /** Results of the trial so far. */
  standing: Standing | undefined;
  private trial: Trial | undefined;
  private timer = 0;

  /** `done` hears when a trial has come to its end. */
  constructor(private done: () => void) {
    $("#copy-grades").addEventListener("click", (event) => {
      if (this.standing) void copy(event.currentTarget as HTMLElement, this.gradesText(this.standing));
    });
  }

  /** Shows how grades are computed. */
  showLimits(grades: Catalog["grades"]) {
    $("#limits").replaceChildren(...grades.map(([grade, below]) => {
      const row = document.createElement("tr");
      row.append(...[grade, below === null ? "any" : time(below)].map((text) => {
        const cell = document.createElement("td");
        cell.textContent = text;
        return cell;
      }));
      return row;
    }));
  }

  /** Restarts as soon as nothing has changed for a while. */
  start(trial: Trial) {
    clearTimeout(this.timer);
    this.trial = trial;
    $("#trial-state").textContent = "";
    this.showGrades(undefined);
    this.say(WAITING);
    if (trial.description.duration_s > LONGEST) {
      this.say(`The scenario lasts ${time(trial.description.duration_s)}, too long to repeat it in the page. Use the command below.`);
      questions.stopTrial();
      return;
    }
    this.timer = window.setTimeout(() => {
      questions.startTrial(trial.setup, trial.schemes, trial.seed, (found) => this.show(found), (message) => this.say(message));
    }, PATIENCE);
  }

  private say(...sentences: string[]) {
    $("#verdict").replaceChildren(...sentences.map(paragraph));
  }

  private show(found: Standing) {
    this.standing = found;
    const early = found.seeds < 2 && !found.done;
    this.showGrades(early ? undefined : found);
    $("#trial-state").textContent = `${found.seeds} ${found.seeds === 1 ? "seed" : "seeds"}${found.done ? ", done" : " so far"}`;
    // Announced only when it matters.
    if (found.done || found.seeds === 1 || found.seeds % 4 === 0) this.say(...(early ? [WAITING] : found.words));
    if (found.done) this.done();
  }

  /** A grade for each side, or nothing where no short connection started. */
  private showGrades(found: Standing | undefined) {
    const graded = found?.grades.every((grade) => grade !== null) ?? false;
    $("#grades").hidden = $("#about-grades").hidden = !graded;
    if (!found || !graded) return;
    const cards = found.grades.map((grade, side) => {
      const card = document.createElement("p");
      card.className = side ? "b" : "a";
      const parts = [grade, this.trial?.schemes[side] ?? "", `${time(found.added_s[side])} added to a short connection`];
      card.append(...parts.map((text, at) => {
        const part = document.createElement(at ? "span" : "strong");
        part.textContent = text;
        return part;
      }));
      card.firstElementChild?.setAttribute("aria-label", `Grade ${grade}`);
      card.firstElementChild?.setAttribute("role", "img");
      return card;
    });
    $("#grades").replaceChildren(...cards);
  }

  /** The grades as a line to send to somebody. */
  private gradesText(found: Standing) {
    const each = found.grades.map((grade, side) => `${this.trial?.schemes[side]}: ${grade} (${time(found.added_s[side])} added)`);
    const seeds = found.seeds === 1 ? "1 seed" : `${found.seeds} seeds`;
    return `Short connections under ${this.trial?.description.title}, ${seeds}. ${each.join("; ")}. ${location.href}`;
  }
}
