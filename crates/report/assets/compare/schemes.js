// The schemes of a comparison, each with a colour, a dash and a symbol that are the same in every chart. The colour of a scheme
// is the same on every page; dash and symbol distinguish schemes, and variants of a scheme, that have the same one.
const schemes = (() => {
  const { known } = charts;
  const read = (id) => JSON.parse(document.getElementById(id).textContent);
  const comparison = read("data");
  const registry = read("registry");
  const { results } = comparison;

  // Colours --s0 to --s7 of page.css. Each round of eight schemes of the registry begins with another colour, so that pfifo,
  // codel, fq_codel, sfq, cake, spa and gentle, which are compared most, have different ones.
  const COLORS = 8;
  const SHIFTS = [0, 5, 3, 0];
  // A round of schemes has one of the first three dashes; a second variant of them has one of the others.
  const DASHES = ["none", "6 3", "2 3", "10 3", "8 3 2 3", "1 2"];
  const SYMBOLS = ["circle", "square", "triangle", "diamond", "star", "wye", "cross", "asterisk"];

  const all = results.map((result, index) => {
    const place = registry.indexOf(result.scheme);
    const slot = place < 0 ? registry.length + index : place;
    const round = Math.floor(slot / COLORS);
    const hue = (slot + SHIFTS[round % SHIFTS.length]) % COLORS;
    const variant = results.slice(0, index).filter((other) => other.scheme === result.scheme).length;
    return {
      index,
      result,
      label: result.label,
      color: `var(--s${hue})`,
      dash: DASHES[(round + 3 * variant) % DASHES.length],
      symbol: SYMBOLS[(hue + 3 * round + 5 * variant) % SYMBOLS.length],
    };
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

  /** Schemes that the line charts show at first: as many as there are colours. */
  const firstChoice = byInterest.slice(0, COLORS);

  return { comparison, all, firstChoice, sizes, symbolType };
})();
