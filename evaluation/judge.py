"""Judges schemes by regret: ratios of their measures to other schemes' measures, and verdicts."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from measures import LINK, SIZES, SLOW
from paired import Estimate, ratio

# Differences that no user notices do not count: every value is compared after the floor of its quantity was added to
# it. So a scheme is 10 % worse than another that loses nothing from a loss of 0.1 % on, and with times of some
# milliseconds from another 0.3 ms on; to values far above the floor it makes no difference.
MILLISECONDS = 3e-3
PACKET_DELAY = 10e-3
FRACTION = 0.01
# Of goodput, as a fraction of the link's rate.
SHARE = 0.001

# Worse: the interval lies above 1, and the ratio is at least this.
MATERIAL = 1.02
# More than 10 % worse: the interval lies above this.
FAILURE = 1.10
# 1-3 and 4-10 segments are within 5 % of `las`.
NEAR_LAS = 1.05

SMALL = SIZES[:2]

UTILIZATION = "utilization"
# The class that scenarios with an attacker have.
ATTACKED = f"{LINK[True]}: {UTILIZATION}"

# Values of a class by seed.
BySeed = dict[int, dict[str, float]]


@dataclass(frozen=True)
class Quantity:
    """A compared quantity, with its floor."""

    floor: float
    more: bool = False


QUANTITIES = {
    **{f"{size}, {part}": Quantity(MILLISECONDS) for size in SIZES for part in ("mean", "p99")},
    "connections, p99": Quantity(MILLISECONDS),
    "unfinished": Quantity(FRACTION),
    "transactions, mean": Quantity(MILLISECONDS),
    "transactions, p99": Quantity(MILLISECONDS),
    "transactions failed": Quantity(FRACTION),
    "packet delay, p99": Quantity(PACKET_DELAY),
    "packets lost": Quantity(FRACTION),
    "frames late": Quantity(FRACTION),
    "time stalled": Quantity(FRACTION),
    "goodput": Quantity(SHARE, more=True),
    "Jain": Quantity(0.0, more=True),
    UTILIZATION: Quantity(0.0, more=True),
}


def is_attacked(runs: dict[str, BySeed]) -> bool:
    """Whether measures are of a scenario with an attacker."""
    return any(ATTACKED in values for by_seed in runs.values() for values in by_seed.values())


# ---- comparisons ------------------------------------------------------------------------------------------------------


def quantity_of(name: str) -> str:
    """The quantity of a class `PART: QUANTITY`."""
    return name.rpartition(": ")[2]


def is_small(name: str) -> bool:
    """Whether a class is the mean response time of connections of 1 to 10 segments."""
    return quantity_of(name).removesuffix(", mean") in SMALL


def pairs_of(name: str, of: BySeed, to: BySeed) -> list[tuple[float, float]]:
    """Values of a class with the same seed, with its floor added, the one that should be smaller first."""
    quantity = QUANTITIES[quantity_of(name)]
    seeds = [seed for seed in of if name in of[seed] and name in to.get(seed, {})]
    pairs = [(of[seed][name] + quantity.floor, to[seed][name] + quantity.floor) for seed in seeds]
    return [(b, a) for a, b in pairs] if quantity.more else pairs


def is_worse(estimate: Estimate) -> bool:
    return estimate.low > 1 and estimate.value >= MATERIAL


def is_failure(estimate: Estimate) -> bool:
    return estimate.low > FAILURE


def is_uncertain(estimate: Estimate) -> bool:
    """Whether the ratio is a failure's, but the seeds do not decide."""
    return estimate.low <= FAILURE < estimate.value


@dataclass(frozen=True)
class Row:
    """A class of a scenario under a scheme: how many times worse than others."""

    scenario: str
    name: str
    scheme: str
    to_fq_codel: Estimate
    to_best: float
    # Of connections of 1 to 10 segments.
    to_las: Estimate | None

    @property
    def family(self) -> str:
        return "cases" if self.scenario.startswith("cases/") else re.sub(r"-\d+$", "", self.scenario)

    @property
    def quantity(self) -> str:
        return quantity_of(self.name)


def attacked(rows: Iterable[Row]) -> set[str]:
    """Scenarios with an attacker."""
    return {row.scenario for row in rows if row.name == ATTACKED}


RIVALS = ("fq_codel", "cake", "las")


def rows(scenario: str, runs: dict[str, BySeed], judged: Iterable[str]) -> list[Row]:
    """Rows of a scenario, from the measures of each scheme by seed."""

    def to(scheme: str, other: str, name: str) -> Estimate | None:
        return ratio(pairs_of(name, runs[scheme], runs[other])) if other in runs else None

    names = {name: None for by_seed in runs["fq_codel"].values() for name in by_seed}
    found = []
    for scheme in judged:
        for name in names:
            to_each = {other: estimate for other in RIVALS if (estimate := to(scheme, other, name))}
            if "fq_codel" not in to_each:
                continue
            to_best = max(estimate.value for estimate in to_each.values())
            to_las = to_each.get("las") if is_small(name) else None
            found.append(Row(scenario, name, scheme, to_each["fq_codel"], to_best, to_las))
    return found


# ---- invariants -------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Invariant:
    """A property of every scenario: the ratio to FQ-CoDel of the classes that it applies to is at most `limit`."""

    text: str
    limit: float
    quantities: tuple[str, ...]
    # Only of parts whose name begins with this; only where there is an attacker.
    part: str = ""
    under_attack: bool = False

    def applies(self, name: str, attacked: bool) -> bool:
        """Whether it applies to a class of a scenario with or without an attacker."""
        return quantity_of(name) in self.quantities and name.startswith(self.part) and attacked >= self.under_attack


INVARIANTS = (
    Invariant("utilization at least 0.98 of `fq_codel`'s", 1 / 0.98, (UTILIZATION,)),
    Invariant("Jain's index of long flows at least 0.95 of `fq_codel`'s", 1 / 0.95, ("Jain",)),
    Invariant(
        "a flow below its fair share waits and loses no more than under `fq_codel`",
        FAILURE,
        ("packet delay, p99", "packets lost"),
        part=SLOW,
    ),
    Invariant("an attacker's or splitter's victim gets no less than under `fq_codel`", 1.05, ("goodput",), under_attack=True),
)
