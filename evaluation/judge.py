"""Judges schemes by regret: measures of a scenario, their ratios to other schemes, and verdicts."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from paired import Estimate, ratio

# A difference that no user notices is none: every value is compared after the floor of its quantity was added to it. So a
# scheme is 10 % worse than another that loses nothing from a loss of 0.1 % on, and with times of some milliseconds from
# another 0.3 ms on; to values far above the floor it makes no difference.
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

# Connections or transactions below which a mean, or a 99th percentile, is not judged.
FEW, FEW_FOR_P99 = 5, 50

SIZES = ("1-3 segments", "4-10 segments", "11-100 segments", "over 100 segments")
SMALL = SIZES[:2]
ATTACKER, SLOW = "attacker", "slow "


@dataclass(frozen=True)
class Quantity:
    """What is compared, with its floor."""

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
    "utilization": Quantity(0.0, more=True),
}


# ---- measures of a run ------------------------------------------------------------------------------------------------


def measures(scenario: dict, result: dict) -> dict[str, float]:
    """What users notice in a run: by `PART: QUANTITY`, from a scenario file and an entry of `results` of `gentle compare --json`."""
    found: dict[str, float] = {}

    def put(part: str, quantity: str, value: float | None) -> None:
        if value is not None:
            found[f"{part}: {quantity}"] = value

    attacked = is_attacked(scenario)
    put("attacked link" if attacked else "link", "utilization", result["utilization"])
    groups = {group["group"]: group for group in result["groups"]}
    capacity = {side: (result["links"][side] or {}).get("capacity_bps") for side in ("down", "up")}
    long_down = 0
    for name, kinds, direction in parts(scenario):
        if name.startswith(ATTACKER):
            continue
        group = groups.get(name)
        if kinds & {"poisson", "web", "replay"}:
            connections(put, name, group or result)
        if group is None:
            continue
        link = group["links"][direction]
        if link is None:
            continue
        if "long" in kinds:
            put(name, "goodput", link["rate_bps"]["mean"] / capacity[direction])
        if "udp" in kinds and name.startswith(SLOW):
            put(name, "packet delay, p99", (link["queue_delay_s"] or {}).get("p99"))
            put(name, "packets lost", (link["loss"] or {}).get("mean"))
        elif "udp" in kinds:
            put(name, "goodput", link["rate_bps"]["mean"] / capacity[direction])
    for workload in scenario.get("workload", []):
        if workload["kind"] == "long" and workload.get("direction", "down") == "down":
            long_down += workload.get("flows", 1)
            if "group" not in workload:
                put("long", "goodput", result["long_goodput_bps"]["mean"] / capacity["down"])
    if long_down > 1 and not attacked:
        put("long flows", "Jain", result["jain_index"])
    for application in result.get("applications", []):
        if not application["application"].startswith(ATTACKER):
            users(put, application, sum(capacity.values()))
    return found


def parts(scenario: dict) -> list[tuple[str, set[str], str]]:
    """Groups of a scenario, with the kinds of their workloads and the direction of the first; what has no group is `all`."""
    found: dict[str, tuple[set[str], str]] = {}
    for workload in scenario.get("workload", []):
        kinds, _ = found.setdefault(workload.get("group", "all"), (set(), workload.get("direction", "down")))
        kinds.add(workload["kind"])
    return [(name, kinds, direction) for name, (kinds, direction) in found.items()]


def is_attacked(scenario: dict) -> bool:
    """Whether the scenario has an attacker: a group whose name says so, or a flood."""
    return any(name.startswith(ATTACKER) or "syn_flood" in kinds for name, kinds, _ in parts(scenario))


def attacked_name(runs: dict[str, BySeed]) -> bool:
    """Whether measures are of a scenario with an attacker."""
    return any("attacked link: utilization" in values for by_seed in runs.values() for values in by_seed.values())


def connections(put, name: str, group: dict) -> None:
    """Measures of connections that end: by size, and all of a group."""
    if not group["connections"]:
        return
    classes = group["response_time_by_size"]
    only = None
    for size, entry in zip(SIZES, classes):
        if entry["n"] >= FEW:
            put(name, f"{size}, mean", entry["mean_s"])
        if entry["n"] + entry["unfinished"] == group["connections"]:
            only = size
    if group["completed"] >= FEW_FOR_P99:
        put(name, f"{only}, p99" if only else "connections, p99", group["response_time_s"]["p99"])
    put(name, "unfinished", (group["unfinished"] + group["failed"]) / group["connections"])


def users(put, application: dict, capacity: float) -> None:
    """Measures of an application."""
    name, kind = application["application"], application["kind"]

    def mean(field: str) -> float | None:
        return (application.get(field) or {}).get("mean")

    if kind in ("pages", "ssh", "on_off", "dns", "ping"):
        done, failed = application["transactions"], application["failed"] + application["unfinished"]
        if done >= FEW:
            put(name, "transactions, mean", mean("transaction_s"))
        if done >= FEW_FOR_P99:
            put(name, "transactions, p99", application["transaction_s"]["p99"])
        if done + failed:
            put(name, "transactions failed", failed / (done + failed))
        return
    put(name, "packet delay, p99", (application["delay_s"] or {}).get("p99"))
    put(name, "packets lost", mean("useless") if kind == "voice" else mean("loss"))
    if kind == "video_call":
        put(name, "frames late", mean("late_frames"))
        put(name, "time stalled", mean("stalled"))
        put(name, "goodput", application["goodput_bps"]["mean"] / capacity)
    if kind == "voice":
        put(name, "time stalled", mean("stalled"))


# ---- comparisons ------------------------------------------------------------------------------------------------------


def quantity_of(name: str) -> str:
    """The quantity of a class `PART: QUANTITY`."""
    return name.rpartition(": ")[2]


# Values of a class by seed.
BySeed = dict[int, dict[str, float]]


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


@dataclass(frozen=True)
class Row:
    """A class of a scenario under a scheme: how many times worse than others."""

    scenario: str
    name: str
    scheme: str
    to_fq_codel: Estimate
    to_best: Estimate
    to_las: Estimate | None

    @property
    def family(self) -> str:
        return family_of(self.scenario)


def family_of(scenario: str) -> str:
    return "cases" if scenario.startswith("cases/") else re.sub(r"-\d+$", "", scenario)


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
            best = max(to_each.values(), key=lambda estimate: estimate.value)
            found.append(Row(scenario, name, scheme, to_each["fq_codel"], best, to_each.get("las")))
    return found


# ---- invariants -------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Invariant:
    """What holds in every scenario: a class's ratio to FQ-CoDel is at most `limit`."""

    text: str
    limit: float

    def applies(self, name: str, attacked: bool) -> bool:
        raise NotImplementedError


class WorkConserving(Invariant):
    def applies(self, name: str, attacked: bool) -> bool:
        return quantity_of(name) == "utilization"


class EqualShares(Invariant):
    def applies(self, name: str, attacked: bool) -> bool:
        return quantity_of(name) == "Jain"


class BelowShare(Invariant):
    def applies(self, name: str, attacked: bool) -> bool:
        return name.startswith(SLOW) and quantity_of(name) in ("packet delay, p99", "packets lost")


class Victim(Invariant):
    def applies(self, name: str, attacked: bool) -> bool:
        return attacked and quantity_of(name) == "goodput"


INVARIANTS = (
    WorkConserving("utilization at least 0.98 of `fq_codel`'s", 1 / 0.98),
    EqualShares("Jain's index of long flows at least 0.95 of `fq_codel`'s", 1 / 0.95),
    BelowShare("a flow below its fair share waits and loses no more than under `fq_codel`", FAILURE),
    Victim("an attacker's or splitter's victim gets no less than under `fq_codel`", 1.05),
)
