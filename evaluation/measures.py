"""Measures of a run that users notice, from a scenario file and an entry of `results` of `gentle compare --json`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

SIZES = ("1-3 segments", "4-10 segments", "11-100 segments", "over 100 segments")
# Groups that begin with this are not measured.
ATTACKER = "attacker"
# Groups that begin with this send less than a fair share.
SLOW = "slow "

# Connections or transactions below which a mean, or a 99th percentile, says nothing.
FEW, FEW_FOR_P99 = 5, 50

# A TOML or JSON object.
Object = dict[str, Any]
# A value of a part of the traffic: part, quantity, value.
Measure = tuple[str, str, float | None]


def measures(scenario: Object, result: Object) -> dict[str, float]:
    """Measures by `PART: QUANTITY`; the part is a group, an application or a link."""
    found = {}
    for part, quantity, value in all_measures(scenario, result):
        if value is not None:
            found[f"{part}: {quantity}"] = value
    return found


def all_measures(scenario: Object, result: Object) -> Iterator[Measure]:
    attacked = is_attacked(scenario)
    yield LINK[attacked], "utilization", result["utilization"]
    groups = {group["group"]: group for group in result["groups"]}
    capacity = {side: result["links"][side]["capacity_bps"] for side in ("down", "up")}
    ended: dict[str, list[Object]] = {}
    for name, kinds, direction in parts(scenario):
        if name.startswith(ATTACKER):
            continue
        group = groups.get(name)
        if kinds & {"poisson", "web", "replay"}:
            ended.setdefault(part_of(name), []).append(group or result)
        link = group and group["links"][direction]
        if link and "long" in kinds:
            yield name, "goodput", link["rate_bps"]["mean"] / capacity[direction]
        if link and "udp" in kinds:
            if name.startswith(SLOW):
                yield name, "packet delay, p99", (link["queue_delay_s"] or {}).get("p99")
                yield name, "packets lost", (link["loss"] or {}).get("mean")
            else:
                yield name, "goodput", link["rate_bps"]["mean"] / capacity[direction]
        if not group and "long" in kinds and direction == "down":
            yield name, "goodput", result["long_goodput_bps"]["mean"] / capacity["down"]
    for part, of in ended.items():
        yield from connections(part, of)
    if scenario_flows(scenario) > 1 and not attacked:
        yield "long flows", "Jain", result["jain_index"]
    for application in result.get("applications", []):
        if not application["application"].startswith(ATTACKER):
            yield from users(application, sum(capacity.values()))


# Names of the link without and with an attacker in the scenario.
LINK = ("link", "attacked link")


def parts(scenario: Object) -> list[tuple[str, set[str], str]]:
    """Groups of a scenario, with the kinds of their workloads and the direction of the first; traffic without a group is `all`."""
    found: dict[str, tuple[set[str], str]] = {}
    for workload in scenario["workload"]:
        kinds, _ = found.setdefault(workload.get("group", "all"), (set(), workload.get("direction", "down")))
        kinds.add(workload["kind"])
    return [(name, kinds, direction) for name, (kinds, direction) in found.items()]


def part_of(group: str) -> str:
    """The part of the traffic that a group belongs to: flow lists have a group for each size class."""
    for size in SIZES:
        name = size.removesuffix(" segments")
        if group == name:
            return "all"
        if group.endswith(f" {name}"):
            return group.removesuffix(f" {name}")
    return group


def is_attacked(scenario: Object) -> bool:
    """Whether the scenario has an attacker: a group whose name says so, or a flood."""
    return any(name.startswith(ATTACKER) or "syn_flood" in kinds for name, kinds, _ in parts(scenario))


def scenario_flows(scenario: Object) -> int:
    """Long flows of the link under test."""
    long = (workload for workload in scenario["workload"] if workload["kind"] == "long")
    return sum(workload.get("flows", 1) for workload in long if workload.get("direction", "down") == "down")


def connections(part: str, groups: list[Object]) -> Iterator[Measure]:
    """Measures of connections that end: by size, and all of a part."""
    for group in groups:
        only = None
        for size, entry in zip(SIZES, group["response_time_by_size"]):
            if entry["n"] >= FEW:
                yield part, f"{size}, mean", entry["mean_s"]
            if entry["n"] + entry["unfinished"] == group["connections"]:
                only = size
        if group["completed"] >= FEW_FOR_P99:
            yield part, f"{only}, p99" if only else "connections, p99", group["response_time_s"]["p99"]
    started = sum(group["connections"] for group in groups)
    if started:
        yield part, "unfinished", sum(group["unfinished"] + group["failed"] for group in groups) / started


def users(application: Object, capacity: float) -> Iterator[Measure]:
    """Measures of an application; `capacity` is the capacity of both links, bits per second."""
    name, kind = application["application"], application["kind"]

    def mean(field: str) -> float | None:
        value: float | None = (application.get(field) or {}).get("mean")
        return value

    if kind in ("pages", "ssh", "on_off", "dns", "ping"):
        done, failed = application["transactions"], application["failed"] + application["unfinished"]
        if done >= FEW:
            yield name, "transactions, mean", mean("transaction_s")
        if done >= FEW_FOR_P99:
            yield name, "transactions, p99", application["transaction_s"]["p99"]
        if done + failed:
            yield name, "transactions failed", failed / (done + failed)
        return
    yield name, "packet delay, p99", (application["delay_s"] or {}).get("p99")
    yield name, "packets lost", mean("useless") if kind == "voice" else mean("loss")
    if kind in ("voice", "video_call"):
        yield name, "time stalled", mean("stalled")
    if kind == "video_call":
        yield name, "frames late", mean("late_frames")
        yield name, "goodput", application["goodput_bps"]["mean"] / capacity
