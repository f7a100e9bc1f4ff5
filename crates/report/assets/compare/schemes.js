// The schemes of a comparison, each with a colour, a dash and a symbol that are the same in every chart of the page. Dash and
// symbol distinguish lines whose colours are the same or look the same to the reader.
const schemes = (() => {
  const { known } = charts;
  const comparison = JSON.parse(document.getElementById("data").textContent);
  const { results } = comparison;

  // Colours --s0 to --s7 of page.css.
  const COLORS = 8;
  const DASHES = ["none", "6 3", "2 3"];
  const SYMBOLS = ["circle", "square", "triangle", "diamond", "star", "wye", "cross", "asterisk"];

  const all = results.map((result, index) => ({ index, result, label: result.label }));

  /** The reference, the schemes that may be the best, the first variant of every other scheme, then the rest. */
  const byInterest = (() => {
    const isReference = (s) => s.label === comparison.reference;
    const mayBeBest = (s) => s.result.paired[comparison.headline]?.best ?? false;
    const isFirstVariant = (s) => all.find((other) => other.result.scheme === s.result.scheme) === s;
    return d3.sort(all, (s) => [isReference, mayBeBest, isFirstVariant].findIndex((is) => is(s)) + 1 || 4);
  })();
  for (const [slot, scheme] of byInterest.entries()) {
    // Schemes of the same colour differ in dash and symbol.
    const [round, hue] = [Math.floor(slot / COLORS), slot % COLORS];
    scheme.slot = slot;
    scheme.color = `var(--s${hue})`;
    scheme.dash = DASHES[round % DASHES.length];
    scheme.symbol = SYMBOLS[(hue + 3 * round) % SYMBOLS.length];
  }

  const sizes = (bin) => {
    if (!known(bin.max_segments)) return `more than ${bin.min_segments - 1} segments`;
    if (bin.max_segments === bin.min_segments) return bin.min_segments === 1 ? "1 segment" : `${bin.min_segments} segments`;
    return `${bin.min_segments}–${bin.max_segments} segments`;
  };

  const symbolType = (name) => d3[`symbol${name[0].toUpperCase()}${name.slice(1)}`];

  /** Schemes that the line charts show at first: one for each colour. */
  const firstChoice = byInterest.slice(0, COLORS);

  return { comparison, all, firstChoice, sizes, symbolType };
})();
