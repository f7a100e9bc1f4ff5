"""The experiment `regret`: judges schemes by their regret over scenarios that nobody chose. See evaluation/README.md."""

from __future__ import annotations

import argparse
import csv
import hashlib
import json
import math
import os
import subprocess
import sys
import tomllib
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import judge
import measures
import report
import traffic
from judge import Row
from paired import Estimate

HERE = Path(__file__).resolve().parent
CASES = HERE / "cases"

SCHEMES = ("gentle", "age_prio target=20ms ecn", "cake")
# Scenarios that are run on Linux, where a run takes a hundred times as long: links of at most 100 Mb/s, one TCP for all hosts.
LINUX = (
    "sizes-9", "elephants-2", "bursts-3", "streams-1", "many-0", "splitters-4", "hopping-1", "calls-3",
    "other-sizes-3", "household-1", "tunnels-2", "two-way-0", "churn-0", "torrents-0", "cases/many300_20",
)  # fmt: skip
# Linux does not have them.
IDEALS = ("las", "srpt")
SETS = {"train": traffic.TRAIN, "validation": traffic.VALIDATION}


# ---- scenarios --------------------------------------------------------------------------------------------------------


def cases() -> list[str]:
    return sorted(path.stem for path in CASES.glob("*.toml"))


def scenarios(families: Iterable[str], number: int | None = None, first: int = 0) -> list[str]:
    """Names of scenarios: of each family, or each family of a set, `number` (default: as many as it has) from number `first` on."""
    found = []
    for name in families:
        family, _, index = name.rpartition("-")
        if name == "cases":
            found += [f"cases/{stem}" for stem in cases()]
        elif name in SETS:
            found += scenarios(SETS[name], number, first)
        elif name in traffic.FAMILIES:
            found += [f"{name}-{first + offset}" for offset in range(number or traffic.FAMILIES[name][1])]
        elif (family in traffic.FAMILIES and index.isdecimal()) or name in [f"cases/{stem}" for stem in cases()]:
            found.append(name)
        else:
            raise SystemExit(f"unknown family {name}; expected cases, {', '.join([*SETS, *traffic.FAMILIES])}")
    return list(dict.fromkeys(found))


def all_scenarios() -> list[str]:
    return scenarios([*SETS, "cases"])


def written(name: str, seed: int, folder: Path, budget: float) -> Path:
    """The scenario file with the flow lists of this seed."""
    if name.startswith("cases/"):
        return traffic.write_case(CASES / f"{name.removeprefix('cases/')}.toml", folder, seed)
    family, _, number = name.rpartition("-")
    return traffic.scenario(family, int(number), budget).write(folder, seed)


# ---- runs -------------------------------------------------------------------------------------------------------------


def digest(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()[:12]


@dataclass
class Runs:
    """Makes runs, and keeps their measures in a folder: a file for each scenario, seed, scheme and program."""

    store: Path
    gentle: Path
    # The program that runs FQ-CoDel, cake and LAS, so that a search that changes another scheme keeps their runs.
    rivals: Path
    on: str = "simulator"
    # Bits of a run.
    budget: float = traffic.BUDGET

    def __post_init__(self) -> None:
        self.digests = {path: digest(path) for path in {self.gentle, self.rivals}}
        self.measure = digest(Path(measures.__file__))
        self.written: dict[tuple[str, int], tuple[Path, measures.Object, str]] = {}

    def program(self, scheme: str) -> Path:
        return self.rivals if scheme in judge.RIVALS else self.gentle

    def scenario(self, name: str, seed: int) -> tuple[Path, measures.Object, str]:
        """The file of a scenario, what is in it, and a digest of it and its flow lists."""
        if (name, seed) not in self.written:
            path = written(name, seed, self.store / f"scenarios-{self.budget:g}", self.budget)
            text = path.read_text()
            scenario = tomllib.loads(text)
            identity = hashlib.sha256(text.encode())
            for workload in scenario["workload"]:
                if workload["kind"] == "replay":
                    identity.update((path.parent / workload["file"]).read_bytes())
            self.written[name, seed] = path, scenario, identity.hexdigest()
        return self.written[name, seed]

    def measured(self, name: str, seed: int, schemes: list[str]) -> dict[str, dict[str, float]]:
        """Measures of a scenario with a seed under each scheme."""
        path, scenario, identity = self.scenario(name, seed)
        kept: dict[str, dict[str, float]] = {}
        missing: dict[Path, dict[str, Path]] = {}
        for scheme in schemes:
            program = self.program(scheme)
            key = hashlib.sha256(f"{identity} {seed} {scheme} {self.measure}".encode()).hexdigest()[:20]
            file = self.store / f"{self.on}-{self.digests[program]}" / f"{key}.json"
            if file.exists():
                kept[scheme] = json.loads(file.read_text())
            else:
                missing.setdefault(program, {})[scheme] = file
        for program, files in missing.items():
            for (scheme, file), result in zip(files.items(), self.run(program, path, seed, list(files))):
                kept[scheme] = measures.measures(scenario, result)
                file.parent.mkdir(parents=True, exist_ok=True)
                beside = file.with_suffix(f".{os.getpid()}")
                beside.write_text(json.dumps({key: float(f"{value:.6g}") for key, value in kept[scheme].items()}))
                beside.replace(file)
        return {scheme: kept[scheme] for scheme in schemes}

    def run(self, program: Path, path: Path, seed: int, schemes: list[str]) -> list[measures.Object]:
        """Results of schemes, in this order."""
        command = [program, *(["testbed"] if self.on == "linux" else []), "compare", "--traffic", path, "--quiet", "--json"]
        command += ["--seeds", "1", "--first-seed", str(seed), "--threads", "1", "--bins", "3,10,100"]
        if self.on == "linux":
            command += ["--modules", HERE.parent / "kernel", "--backing", "native"]
        for scheme in schemes:
            command += ["--scheme", scheme]
        made = subprocess.run([str(word) for word in command], capture_output=True, text=True, check=False)
        if made.returncode:
            raise SystemExit(f"{' '.join(map(str, command))}\n{made.stderr}")
        results: list[measures.Object] = json.loads(made.stdout)["results"]
        if len(results) != len(schemes):
            raise SystemExit(f"{path}: results of {len(results)} schemes instead of {len(schemes)}")
        return results

    def all(self, names: list[str], seeds: list[int], schemes: Iterable[str], threads: int) -> dict[str, dict[str, judge.BySeed]]:
        """Measures by scenario, scheme and seed."""
        schemes = [scheme for scheme in dict.fromkeys([*judge.RIVALS, *schemes]) if self.on == "simulator" or scheme not in IDEALS]
        found: dict[str, dict[str, judge.BySeed]] = {name: {} for name in names}
        with ThreadPoolExecutor(threads) as pool:
            work = [(name, seed) for name in names for seed in seeds]
            made = pool.map(lambda of: self.measured(of[0], of[1], schemes), work)
            for number, ((name, seed), measured) in enumerate(zip(work, made), 1):
                if sys.stderr.isatty():
                    print(f"\r{number} of {len(work)} runs", end="", file=sys.stderr)
                for scheme, values in measured.items():
                    found[name].setdefault(scheme, {})[seed] = values
        return found


# ---- for a search -----------------------------------------------------------------------------------------------------


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
    # Greatest ratio of the invariants' classes to their limit in every seed.
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
            for kind in {kind for values in to.values() for kind in values}:
                logs = [math.log(a / b) for a, b in judge.pairs_of(kind, of, to) if a > 0 and b > 0]
                if not logs:
                    continue
                mean, least = math.exp(math.fsum(logs) / len(logs)), math.exp(min(logs))
                broken += any(least > rule.limit for rule in judge.INVARIANTS if rule.applies(kind, attacked))
                if judge.quantity_of(kind) == "utilization":
                    continue
                ratios.append((mean, least, f"{name} {kind}"))
                if least > judge.FAILURE:
                    failed.add(name)
                if judge.is_small(kind):
                    gains.append(math.log(mean))
        ordered = sorted(mean for mean, *_ in ratios)
        sure = max(ratios, key=lambda item: item[1])
        failures = sum(least > judge.FAILURE for _, least, _ in ratios)
        gain = math.exp(math.fsum(gains) / len(gains)) if gains else math.nan
        p95 = ordered[max(0, math.ceil(0.95 * len(ordered)) - 1)]
        found.append(Brief(scheme, ordered[-1], p95, sure[1], sure[2], failures, len(failed), gain, broken))
    return found


# ---- saved results ----------------------------------------------------------------------------------------------------


# The table of a file: a line for each scenario and class, a column for each scheme.
Table = list[list[str]]


def to_table(rows: list[Row], seeds: int) -> Table:
    """Rows as a table, with four digits: the ratio to the best, then the ratios to FQ-CoDel and to LAS with their intervals."""
    schemes = list(dict.fromkeys(row.scheme for row in rows))
    lines: dict[tuple[str, str], dict[str, str]] = {}
    for row in rows:
        estimates = [row.to_fq_codel, row.to_las] if row.to_las else [row.to_fq_codel]
        numbers = [row.to_best, *(value for estimate in estimates for value in (estimate.value, estimate.low, estimate.high))]
        lines.setdefault((row.scenario, row.name), {})[row.scheme] = " ".join(f"{value:.4g}" for value in numbers)
    body = [[*names, *(cells.get(scheme, "") for scheme in schemes)] for names, cells in lines.items()]
    return [["scenario", f"class, {seeds} seeds", *schemes], *body]


def from_table(table: Table) -> tuple[list[Row], int]:
    """Rows of a table, and the number of seeds."""
    (_, title, *schemes), *body = table
    rows = []
    for index, scheme in enumerate(schemes):
        for scenario, name, *cells in body:
            if cells[index]:
                to_best, *ratios = (float(number) for number in cells[index].split())
                to_las = Estimate(*ratios[3:]) if ratios[3:] else None
                rows.append(Row(scenario, name, scheme, Estimate(*ratios[:3]), to_best, to_las))
    return rows, int(title.split()[1])


def save(table: Table, path: Path) -> None:
    """Writes a table, whole or not at all."""
    beside = path.with_suffix(".new")
    with beside.open("w", newline="") as file:
        csv.writer(file, lineterminator="\n").writerows(table)
    beside.replace(path)


def read(path: Path) -> Table:
    with path.open(newline="") as file:
        return list(csv.reader(file))


# ---- command line -----------------------------------------------------------------------------------------------------


def main(words: list[str]) -> None:
    parser = argparse.ArgumentParser(prog="evaluation/run regret", description=__doc__)
    parser.add_argument("--families", help="train, validation, cases, families or scenarios, with commas between (default: all three sets)")
    parser.add_argument("--schemes", action="append", metavar="SPEC", help=f"scheme to judge; may be repeated (default: {', '.join(SCHEMES)})")
    parser.add_argument("--on", choices=["simulator", "linux"], default="simulator", help="what makes the runs (default: %(default)s)")
    parser.add_argument("--seeds", type=int, help="seeds of each scenario (default: 5; on Linux 3)")
    parser.add_argument("--more", type=int, default=0, metavar="N", help="further seeds of scenarios with an uncertain class (default: 0)")
    parser.add_argument("--first-seed", type=int, default=1, metavar="N")
    parser.add_argument("--number", type=int, metavar="N", help="scenarios of each family (default: 4 to 12)")
    parser.add_argument("--first-number", type=int, default=0, metavar="N", help="number of the first one: others have other scenarios")
    parser.add_argument("--gentle", type=Path, default=HERE.parent / "target/release/gentle", help="the program (default: that of make)")
    parser.add_argument("--rivals", type=Path, help="the program for fq_codel, cake and las, whose runs are then kept (default: --gentle)")
    parser.add_argument("--store", type=Path, default=HERE.parent / "target/evaluation", help="folder of runs (default: target/evaluation)")
    parser.add_argument("--threads", type=int, default=os.cpu_count() or 1, help="runs at a time (default: one per core)")
    how = parser.add_mutually_exclusive_group()
    how.add_argument("--quick", action="store_true", help="short runs, one scenario of each family, two seeds")
    how.add_argument("--brief", action="store_true", help="a line for each scheme in place of the tables, for a search")
    how.add_argument("--tables", action="store_true", help="make no runs, print the tables from evaluation/results")
    options = parser.parse_args(words)
    path = HERE / "results" / f"regret-{options.on}.csv"
    if options.tables:
        print(report.report(*from_table(read(path))))
        return
    if options.quick:
        options.number, options.seeds = options.number or 1, options.seeds or 2
    linux = options.on == "linux"
    families = options.families or ",".join(LINUX if linux else [*SETS] if options.quick else [*SETS, "cases"])
    names = scenarios(families.split(","), options.number, options.first_number)
    number = options.seeds or (3 if linux else 5)
    seeds = list(range(options.first_seed, options.first_seed + number))
    schemes = options.schemes or list(SCHEMES)
    budget = traffic.BUDGET / (30 if options.quick else 5 if linux else 1)
    runs = Runs(options.store.resolve() / "regret", options.gentle, options.rivals or options.gentle, options.on, budget)
    if options.brief:
        for line in brief(runs, schemes, names, seeds, options.threads):
            print(line)
        return
    made = runs.all(names, seeds, schemes, options.threads)
    rows = [row for name, measured in made.items() for row in judge.rows(name, measured, schemes)]
    uncertain = {row.scenario for row in rows if judge.is_uncertain(row.to_fq_codel)}
    if options.more and uncertain:
        again = [name for name in names if name in uncertain]
        seeds += range(seeds[-1] + 1, seeds[-1] + 1 + options.more)
        made |= runs.all(again, seeds, schemes, options.threads)
        rows = [row for name, measured in made.items() for row in judge.rows(name, measured, schemes)]
    # As from the file.
    table = to_table(rows, number)
    print(report.report(*from_table(table)))
    if not (options.quick or options.families or options.schemes or options.number or options.first_number):
        save(table, path)
