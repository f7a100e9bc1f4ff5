// The schemes of a comparison, each with its colour and symbol, which are the same on every page, and a dash, which
// distinguishes variants of a scheme.
const schemes = (() => {
  const { known } = charts;
  const read = (id) => JSON.parse(document.getElementById(id).textContent);
  const comparison = read("data");
  const looks = new Map(read("palette").map((look) => [look.name, look]));
  const { results } = comparison;

  const DASHES = ["none", "6 3", "2 3", "10 3", "8 3 2 3", "1 2"];
  // A scheme of a later version, whose results this page shows, has the look of another one.
  const lookOf = (result, index) => looks.get(result.scheme) ?? [...looks.values()][index % looks.size];

  const all = results.map((result, index) => {
    const { color, mark } = lookOf(result, index);
    const variant = results.slice(0, index).filter((other) => other.scheme === result.scheme).length;
    return { index, result, label: result.label, color: `var(--color-${color})`, dash: DASHES[variant % DASHES.length], symbol: mark };
  });

  /** The reference, the best schemes, the first variant of every other scheme, then the rest; the faster ones first. */
  const byInterest = (() => {
    const isReference = (s) => s.label === comparison.reference;
    const isBest = (s) => s.result.paired[comparison.headline]?.best ?? false;
    const isFirstVariant = (s) => all.find((other) => other.result.scheme === s.result.scheme) === s;
    const rank = (s) => [isReference, isBest, isFirstVariant].findIndex((is) => is(s)) + 1 || 4;
    const mean = (s) => s.result.response_time_by_size[0]?.mean_s ?? Infinity;
    return d3.sort(all, (a, b) => d3.ascending(rank(a), rank(b)) || d3.ascending(mean(a), mean(b)));
  })();

  const sizes = (bin) => {
    if (!known(bin.max_segments)) return `more than ${bin.min_segments - 1} segments`;
    if (bin.max_segments === bin.min_segments) return bin.min_segments === 1 ? "1 segment" : `${bin.min_segments} segments`;
    return `${bin.min_segments}–${bin.max_segments} segments`;
  };

  const symbolType = (name) => d3[`symbol${name[0].toUpperCase()}${name.slice(1)}`];

  /** Schemes that the line charts show at first: as many as can be told apart. */
  const firstChoice = byInterest.slice(0, 8);

  return { comparison, all, firstChoice, sizes, symbolType };
})();
