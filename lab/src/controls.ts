// Sliders, each with a text: the slider is quick, the text exact, in the syntax of the command.
const byId = (id: string) => document.getElementById(id) as HTMLInputElement;

export interface Quantity {
  id: string;
  /** Between the slider's position and the quantity. */
  at: (position: number) => number;
  place: (quantity: number) => number;
  text: (quantity: number) => string;
}

export class Slider {
  private slider: HTMLInputElement;
  private input: HTMLInputElement;

  /** `change` receives every text that the user has set. */
  constructor(private quantity: Quantity, change: (text: string) => void) {
    this.slider = byId(`${quantity.id}-slider`);
    this.input = byId(quantity.id);
    this.slider.addEventListener("input", () => {
      this.input.value = quantity.text(quantity.at(Number(this.slider.value)));
      this.describe();
    });
    this.slider.addEventListener("change", () => change(this.input.value));
    this.input.addEventListener("change", () => change(this.input.value.trim()));
  }

  private describe() {
    this.slider.setAttribute("aria-valuetext", this.input.value);
  }

  show(quantity: number, text = this.quantity.text(quantity)) {
    this.input.value = text;
    this.slider.value = String(this.quantity.place(quantity));
    this.describe();
  }

  invalid(is: boolean) {
    this.input.setAttribute("aria-invalid", String(is));
  }
}

/** Fills a list of choices. */
export function choices(select: HTMLSelectElement, list: { value: string; text: string }[], chosen: string) {
  select.replaceChildren(...list.map(({ value, text }) => new Option(text, value, false, value === chosen)));
}
