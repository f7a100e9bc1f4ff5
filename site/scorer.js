// Order of search results: guides for one task come first, what only engineers of gentle read comes last.

const RANKS = [
  [/^docs\/(guides|getting-started)\//, 20],
  [/^(README|docs\/index)$/, 10],
  [/^docs\/concepts\//, 10],
  [/^docs\/reference\//, 5],
  [/^docs\/research\//, -5],
  [/^(CHANGELOG|CONTRIBUTING|ARCHITECTURE|SECURITY|THIRD-PARTY|bench\/|evaluation\/|kernel\/|crates\/|notebooks\/)/, -10],
];

// Read by Sphinx (searchtools.js); the other scores are its own.
var Scorer = {
  score: ([page, , , , score]) => score + (RANKS.find(([pages]) => pages.test(page))?.[1] ?? 0),
  objNameMatch: 11,
  objPartialMatch: 6,
  objPrio: { 0: 15, 1: 5, 2: -5 },
  objPrioDefault: 0,
  title: 15,
  partialTitle: 7,
  term: 5,
  partialTerm: 2,
};
