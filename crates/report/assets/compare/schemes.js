// The schemes of a comparison: a colour, a dash and a symbol each, the same in every chart and, for the common ones, on every
// page. Lines are told apart by dash and symbol where colours are not.
const schemes = (() => {
  const { known } = charts;
  const comparison = JSON.parse(document.getElementById("data").textContent);
  const { results } = comparison;

  const COMMON = ["pfifo", "bfifo", "red", "codel", "fq_codel", "pie", "redfavor", "spa"];
  const DASHES = ["none", "6 3", "2 3"];
  const SYMBOLS = ["circle", "square", "triangle", "diamond", "star", "wye", "cross", "asterisk"];

  const all = results.map((result, index) => ({ index, result, label: result.label }));
  for (const [slot, name] of COMMON.entries()) {
    const scheme = all.find((s) => s.result.scheme === name);
    if (scheme) scheme.slot = slot;
  }
  const taken = new Set(all.map((s) => s.slot));
  let next = 0;
  for (const scheme of all) {
    if (scheme.slot === undefined) {
      while (taken.has(next)) next += 1;
      scheme.slot = next;
      taken.add(next);
    }
    // Where colours come round again, dash and symbol are others.
    const [round, hue] = [Math.floor(scheme.slot / COMMON.length), scheme.slot % COMMON.length];
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

  /** Some, of which the charts can show as many at first as there are colours. */
  const firstChoice = d3.sort(all, (s) => s.slot).slice(0, COMMON.length);

  return { comparison, all, firstChoice, sizes, symbolType };
})();
