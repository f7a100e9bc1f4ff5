"""Data for the tables of `regret`, as a file."""

from __future__ import annotations

import csv
import io
from pathlib import Path

from files import write
from judge import Row
from paired import Estimate

# The table of a file: a line for each scenario and class, a column for each scheme.
Table = list[list[str]]


def to_table(rows: list[Row], seeds: str) -> Table:
    """Rows as a table, with four digits: the ratio to the best, then the ratios to FQ-CoDel and to LAS with their intervals."""
    schemes = list(dict.fromkeys(row.scheme for row in rows))
    lines: dict[tuple[str, str], dict[str, str]] = {}
    for row in rows:
        estimates = [row.to_fq_codel, row.to_las] if row.to_las else [row.to_fq_codel]
        numbers = [row.to_best, *(value for estimate in estimates for value in (estimate.value, estimate.low, estimate.high))]
        lines.setdefault((row.scenario, row.name), {})[row.scheme] = " ".join(f"{value:.4g}" for value in numbers)
    body = [[*names, *(cells.get(scheme, "") for scheme in schemes)] for names, cells in lines.items()]
    return [["scenario", f"class, {seeds} seeds", *schemes], *body]


def from_table(table: Table) -> tuple[list[Row], str]:
    """Rows of a table, and the number of seeds."""
    (_, title, *schemes), *body = table
    rows = []
    for index, scheme in enumerate(schemes):
        for scenario, name, *cells in body:
            if cells[index]:
                to_best, *ratios = (float(number) for number in cells[index].split())
                to_las = Estimate(*ratios[3:]) if ratios[3:] else None
                rows.append(Row(scenario, name, scheme, Estimate(*ratios[:3]), to_best, to_las))
    return rows, title.removeprefix("class, ").removesuffix(" seeds")


def save(table: Table, path: Path) -> None:
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows(table)
    write(path, text.getvalue())


def read(path: Path) -> Table:
    with path.open(newline="") as file:
        return list(csv.reader(file))
