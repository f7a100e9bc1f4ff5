"""Tables of the experiment `regret`: ratios, goals and invariants of each judged scheme, with verdicts."""

from __future__ import annotations

from collections.abc import Callable

import judge
import traffic
from judge import Row
from markdown import table
from paired import SEVERITY, geometric_mean, percentile

# Classes that are listed.
LISTED = 40

SCOPES: dict[str, Callable[[str], bool]] = {
    "train": lambda family: family in traffic.TRAIN,
    "validation": lambda family: family in traffic.VALIDATION,
    "cases": lambda family: family == "cases",
}


def report(rows: list[Row], seeds: str) -> str:
    """All tables, a section for each scheme."""
    schemes = list(dict.fromkeys(row.scheme for row in rows))
    return "\n\n".join([*(section([row for row in rows if row.scheme == scheme]) for scheme in schemes), foot(seeds)])


def page(rows: list[Row], seeds: str) -> str:
    """All tables of `gentle`, and the verdicts on the others."""
    schemes = list(dict.fromkeys(row.scheme for row in rows))
    of = {scheme: [row for row in rows if row.scheme == scheme] for scheme in schemes}
    others = [f"### `{scheme}`\n\n{goals(of[scheme])}" for scheme in schemes if scheme != "gentle"]
    return "\n\n".join([section(of["gentle"]), foot(seeds), *others])


def section(rows: list[Row]) -> str:
    judged = [row for row in rows if row.quantity != judge.UTILIZATION]
    parts = [goals(rows), families(judged), quantities(judged), losses(judged)]
    return "\n\n".join([f"### `{rows[0].scheme}`", *parts])


def foot(seeds: str) -> str:
    return (
        f"Ratios are times that a scheme is worse (goodput and Jain's index inverted), geometric means over {seeds} seeds in pairs. *Worse*: the "
        f"interval lies above 1, and the ratio is at least {judge.MATERIAL}; *failure*: it lies above {judge.FAILURE:.2f}. *Best*: of `fq_codel`, "
        "`cake` and `las`, in each class. Intervals come from Student's t for one class, without correction for their number. Over "
        "few seeds they cover less than the 95 % that they are made for: 84 to 90 % where ratios are skewed."
    )


def factor(value: float) -> str:
    return f"{value:.2f}" if value < 100 else "> 100"


def spread(values: list[float]) -> list[str]:
    """Median, 95th percentile and greatest value."""
    return [factor(percentile(values, part)) for part in (0.5, 0.95, 1)]


def scoped(rows: list[Row]) -> dict[str, list[Row]]:
    found = {scope: [row for row in rows if of(row.family)] for scope, of in SCOPES.items()}
    return {scope: of for scope, of in found.items() if of}


def without(rows: list[Row], fault: Callable[[Row], bool]) -> tuple[int, int]:
    """Scenarios without a fault in any class, and all of them."""
    names = {row.scenario for row in rows}
    return len(names - {row.scenario for row in rows if fault(row)}), len(names)


# ---- tables -----------------------------------------------------------------------------------------------------------


def goals(rows: list[Row]) -> str:
    """Verdicts on the goals and the invariants."""
    scopes = scoped([row for row in rows if row.quantity != judge.UTILIZATION])
    lines = [
        ["no class more than 10 % worse than under `fq_codel`", *(no_failure(of) for of in scopes.values())],
        ["95 % of scenarios: no class worse than under `fq_codel`", *(none_worse(of) for of in scopes.values())],
    ]
    for size in judge.SMALL:
        of_size = {scope: [row for row in of if row.quantity == f"{size}, mean"] for scope, of in scopes.items()}
        lines.append([f"90 % of scenarios: {size} within 5 % of `las`", *(near_las(of) for of in of_size.values())])
    everything = scoped(rows)
    for rule in judge.INVARIANTS:
        attacked = judge.attacked(rows)
        of_rule = {
            scope: [row for row in of if rule.applies(row.name, row.scenario in attacked)] for scope, of in everything.items()
        }
        lines.append([rule.text, *(holds(of_rule[scope], rule.limit) for scope in scopes)])
    return table(["", *scopes], lines)


def no_failure(rows: list[Row]) -> str:
    good, all_of = without(rows, lambda row: judge.is_failure(row.to_fq_codel))
    uncertain = sum(judge.is_uncertain(row.to_fq_codel) for row in rows)
    count = f"; {uncertain} uncertain" if uncertain else ""
    if good == all_of:
        return f"{SEVERITY[1] if uncertain else SEVERITY[0]}: 0 of {len(rows)} classes{count}"
    failed = sum(judge.is_failure(row.to_fq_codel) for row in rows)
    return f"{SEVERITY[2]}: {failed} of {len(rows)} classes, in {all_of - good} of {all_of} scenarios{count}"


def none_worse(rows: list[Row]) -> str:
    good, all_of = without(rows, lambda row: judge.is_worse(row.to_fq_codel))
    verdict = SEVERITY[0 if good >= 0.95 * all_of else 2]
    return f"{verdict}: {100 * good / all_of:.0f} % of {all_of}"


def near_las(rows: list[Row]) -> str:
    rows = [row for row in rows if row.to_las]
    if not rows:
        return "–"
    near, all_of = without(rows, lambda row: row.to_las is not None and row.to_las.value > judge.NEAR_LAS)
    possible, _ = without(rows, lambda row: row.to_las is not None and row.to_las.low > judge.NEAR_LAS)
    verdict = SEVERITY[0 if near >= 0.9 * all_of else 1 if possible >= 0.9 * all_of else 2]
    return f"{verdict}: {100 * near / all_of:.0f} % of {all_of}"


def holds(rows: list[Row], limit: float) -> str:
    if not rows:
        return "–"
    verdicts = [row.to_fq_codel.verdict(limit) for row in rows]
    verdict = max(verdicts, key=SEVERITY.index)
    if verdict == SEVERITY[0]:
        return f"{verdict}: {len(rows)} of {len(rows)}"
    worst = max(rows, key=lambda row: row.to_fq_codel.low)
    counts = [(verdicts.count(severity), text) for severity, text in ((SEVERITY[2], "broken"), (SEVERITY[1], "not certain"))]
    shown = ", ".join(f"{count} {text}" for count, text in counts if count)
    return f"{verdict}: {shown} of {len(rows)}; {worst.scenario}: {worst.to_fq_codel}"


def families(rows: list[Row]) -> str:
    """A row for each family, and one for each set of families."""
    names = list(dict.fromkeys(row.family for row in rows))
    groups = {name: [row for row in rows if row.family == name] for name in names}
    groups |= {f"**{scope}**": of for scope, of in scoped(rows).items() if scope != "cases"}
    lines = []
    for name, of in groups.items():
        scenarios = len({row.scenario for row in of})
        small = [row.to_fq_codel.value for row in of if judge.is_small(row.name)]
        gain = factor(geometric_mean(small)) if small else "–"
        good, _ = without(of, lambda row: judge.is_worse(row.to_fq_codel))
        failed = sum(judge.is_failure(row.to_fq_codel) for row in of)
        to_fq_codel, to_best = spread([row.to_fq_codel.value for row in of]), spread([row.to_best for row in of])
        lines.append([name, str(scenarios), str(len(of)), *to_fq_codel, *to_best, f"{good} of {scenarios}", str(failed), gain])
    heading = ["family", "scenarios", "classes", "to `fq_codel`: median", "95 %", "worst", "to the best: median", "95 %", "worst"]
    return table([*heading, "no class worse", "failures", "1–10 segments, mean"], lines)


def quantities(rows: list[Row]) -> str:
    """A row for each quantity, over all scenarios."""
    lines = []
    for quantity in judge.QUANTITIES:
        of = [row for row in rows if row.quantity == quantity]
        if of:
            worse = sum(judge.is_worse(row.to_fq_codel) for row in of)
            failed = sum(judge.is_failure(row.to_fq_codel) for row in of)
            ratios = [*spread([row.to_fq_codel.value for row in of]), *spread([row.to_best for row in of])]
            lines.append([quantity, str(len(of)), *ratios, str(worse), str(failed)])
    heading = ["class", "number", "to `fq_codel`: median", "95 %", "worst", "to the best: median", "95 %", "worst", "worse", "failures"]
    return table(heading, lines)


def losses(rows: list[Row]) -> str:
    """The classes that are worse than under `fq_codel`, or may be failures, the surest first."""
    worse = [row for row in rows if judge.is_worse(row.to_fq_codel) or judge.is_uncertain(row.to_fq_codel)]
    if not worse:
        return "No class is worse or undecided."
    worse.sort(key=lambda row: -row.to_fq_codel.low)
    lines = []
    for row in worse[:LISTED]:
        estimate = str(row.to_fq_codel)
        if judge.is_failure(row.to_fq_codel):
            estimate = f"**{estimate}**"
        elif judge.is_uncertain(row.to_fq_codel):
            estimate += ", undecided"
        lines.append([row.scenario, row.name, estimate])
    rest = f"\n\n{len(worse) - LISTED} more are not listed." if len(worse) > LISTED else ""
    return table(["worse or undecided, **failures** in bold", "class", "to `fq_codel`"], lines) + rest
