// Texts that name the two sides by their place.

/** On a phone one side is below the other. */
const stacked = matchMedia("(max-width: 600px)");

const BELOW: [RegExp, string][] = [
  [/\bOn the left\b/g, "Above"],
  [/\bon the left\b/g, "above"],
  [/\bOn the right\b/g, "Below"],
  [/\bon the right\b/g, "below"],
  [/\bleft (queue|side)\b/g, "upper $1"],
  [/\bright (queue|side)\b/g, "lower $1"],
];

/** The text, written for sides next to each other, as it holds for the page's width. */
export const placed = (text: string) => (stacked.matches ? BELOW.reduce((text, [found, instead]) => text.replace(found, instead), text) : text);
