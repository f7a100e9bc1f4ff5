"""Runs of a comparison on an executor."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from gentle import _core, executors
from gentle.store import Store, place

if TYPE_CHECKING:
    from gentle import testbed
    from gentle._progress import Report


class Overlay:
    """The records that a call has read or made, in memory, on top of a store."""

    def __init__(self, below: Store | None) -> None:
        self._below = below
        self._files: dict[str, bytes] = {}
        # A store may be empty, and an empty container counts as false.
        self._names = set() if below is None else set(below.names())
        self.place = "" if below is None else place(below)

    def names(self) -> list[str]:
        """Return the names of all files, sorted."""
        return sorted(self._names | self._files.keys())

    def get(self, name: str) -> bytes:
        """Return the content of a file, which is read once."""
        if name not in self._files and self._below is not None:
            self._files[name] = self._below.get(name)
        return self._files[name]

    def put(self, name: str, content: bytes) -> None:
        """Keep a file, in the store as well."""
        if self._below is not None:
            self._below.put(name, content)
        self._files[name] = content


@dataclass(frozen=True)
class Inputs:
    """The part of a comparison that all its runs share."""

    scenario: _core.Scenario
    bins: list[int]
    machines: testbed.Machines | None


@dataclass(frozen=True)
class Run:
    """A run: its content for workers."""

    content: bytes

    def __str__(self) -> str:
        run = json.loads(self.content)
        alone = f", {run['part']} alone" if run["part"] else ""
        return f"{run['scheme']}, seed {run['seed']}{alone}"

    def parts(self) -> Sequence[Run]:
        """Return no parts: a run cannot be split."""
        return []


def make(task: bytes, inputs: Inputs, stop: _core.Stop | None) -> tuple[str, bytes]:
    """Make a run on a worker, and return the name and content of its record."""
    return _core.make_run(task, inputs.scenario, inputs.bins, stop, inputs.machines)


def made(
    scenario: _core.Scenario,
    schemes: Sequence[Any],
    seeds: list[int],
    bins: list[int],
    harm: bool,
    store: Store | None,
    executor: Any,
    report: Report | None,
    machines: testbed.Machines | None = None,
) -> Overlay:
    """Make the runs that a store lacks on an executor, and return the store with all runs."""
    records = Overlay(store)
    tasks = _core.missing_runs(scenario, schemes, seeds, bins, harm, records, machines)
    done = 0

    def ended(_: Run, record: tuple[str, bytes]) -> None:
        nonlocal done
        records.put(*record)
        done += 1
        if report:
            report(done / len(tasks))

    with executors.using(executor) as workers:
        executors.drive(workers, make, Inputs(scenario, bins, machines), map(Run, tasks), ended)
    return records
