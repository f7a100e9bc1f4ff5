"""The experiment `regret`: judges schemes by their regret over scenarios that nobody chose. See evaluation/README.md."""

from __future__ import annotations

import argparse
import os
from pathlib import Path

import judge
import report
import traffic
from brief import brief
from results import from_table, read, save, to_table
from runs import HERE, SETS, Runs, scenarios

SCHEMES = ("gentle", "cake")
# Scenarios that are run on Linux, where a run takes a hundred times as long: links of at most 100 Mb/s, one TCP for all hosts.
LINUX = (
    "sizes-9", "elephants-2", "bursts-3", "streams-1", "many-0", "splitters-4", "hopping-1", "calls-3",
    "other-sizes-3", "household-1", "tunnels-2", "two-way-0", "churn-0", "torrents-0", "cases/many300_20",
)  # fmt: skip


def main(words: list[str]) -> bool:
    """The command; whether the results in evaluation/results are new."""
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
        return False
    if options.quick:
        options.number, options.seeds = options.number or 1, options.seeds or 2
    linux = options.on == "linux"
    families = options.families or ",".join(LINUX if linux else [*SETS] if options.quick else [*SETS, "cases"])
    names = scenarios(families.split(","), options.number, options.first_number)
    number = options.seeds or (3 if linux else 5)
    if number < 2 and not options.brief:
        parser.error("--seeds: expected 2 or more, as one seed has no interval")
    seeds = list(range(options.first_seed, options.first_seed + number))
    schemes = options.schemes or list(SCHEMES)
    budget = traffic.BUDGET / (30 if options.quick else 5 if linux else 1)
    runs = Runs(options.store.resolve() / "regret", options.gentle, options.rivals or options.gentle, options.on, budget)
    if options.brief:
        for line in brief(runs, schemes, names, seeds, options.threads):
            print(line)
        return False
    made = runs.all(names, seeds, schemes, options.threads)
    rows = [row for name, measured in made.items() for row in judge.rows(name, measured, schemes)]
    uncertain = {row.scenario for row in rows if judge.is_uncertain(row.to_fq_codel)}
    if options.more and uncertain:
        again = [name for name in names if name in uncertain]
        seeds += range(seeds[-1] + 1, seeds[-1] + 1 + options.more)
        made |= runs.all(again, seeds, schemes, options.threads)
        rows = [row for name, measured in made.items() for row in judge.rows(name, measured, schemes)]
    # As from the file.
    table = to_table(rows, f"{number} to {len(seeds)}" if len(seeds) > number else f"{number}")
    print(report.report(*from_table(table)))
    whole = not (options.quick or options.families or options.schemes or options.number or options.first_number)
    if whole:
        save(table, path)
    return whole
