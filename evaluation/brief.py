"""Schemes in one line each, from few seeds: for a search."""

from __future__ import annotations

from dataclasses import dataclass

import judge
from paired import geometric_mean, percentile
from runs import Runs


@dataclass(frozen=True)
class Brief:
    """A scheme in one line, from few seeds: ratios to FQ-CoDel over classes and scenarios."""

    scheme: str
    # Greatest ratio, 95th percentile; the greatest of which every seed has at least as much.
    worst: float
    p95: float
    sure: float
    where: str
    # Classes that are more than 10 % worse in every seed, and scenarios with such a class.
    failures: int
    failed: int
    # Geometric mean of the ratios of connections of 1 to 10 segments: below 1 is faster.
    gain: float
    # Classes that break an invariant in every seed.
    invariants: int

    def __str__(self) -> str:
        return (
            f"{self.scheme}: worst {self.worst:.2f}, 95 % {self.p95:.2f}, sure {self.sure:.2f} ({self.where}), "
            f"{self.failures} failures in {self.failed} scenarios, {self.invariants} invariants broken, gain {self.gain:.3f}"
        )


def brief(runs: Runs, schemes: list[str], names: list[str], seeds: list[int], threads: int = 1) -> list[Brief]:
    """Each scheme in one line."""
    made = runs.all(names, seeds, schemes, threads)
    found = []
    for scheme in schemes:
        ratios: list[tuple[float, float, str]] = []
        gains: list[float] = []
        broken = 0
        failed = set()
        for name, by_scheme in made.items():
            attacked = judge.is_attacked(by_scheme)
            of, to = by_scheme.get(scheme, {}), by_scheme["fq_codel"]
            for kind in dict.fromkeys(kind for values in to.values() for kind in values):
                by_seed = [a / b for a, b in judge.pairs_of(kind, of, to) if a > 0 and b > 0]
                if not by_seed:
                    continue
                mean, least = geometric_mean(by_seed), min(by_seed)
                broken += any(least > rule.limit for rule in judge.INVARIANTS if rule.applies(kind, attacked))
                if judge.quantity_of(kind) == judge.UTILIZATION:
                    continue
                ratios.append((mean, least, f"{name} {kind}"))
                if least > judge.FAILURE:
                    failed.add(name)
                if judge.is_small(kind):
                    gains.append(mean)
        means = [mean for mean, *_ in ratios]
        sure = max(ratios, key=lambda item: item[1])
        failures = sum(least > judge.FAILURE for _, least, _ in ratios)
        found.append(
            Brief(scheme, max(means), percentile(means, 0.95), sure[1], sure[2], failures, len(failed), geometric_mean(gains), broken)
        )
    return found
