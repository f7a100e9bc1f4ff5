"""Analysis of many captures: a task for each, on any executor."""

from __future__ import annotations

import json
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from os import PathLike
from typing import Any

from gentle import _core, executors
from gentle._progress import Report
from gentle.store import Store, contents, opened

RECORD = ".json.zst"
"""End of the names of records, as ``gentle analyze --record`` has them."""


def record(task: bytes, known: frozenset[str], stop: _core.Stop | None) -> tuple[str, tuple[bytes, bytes] | None]:
    """Analyse the captures of a task, on a worker."""
    return _core.record_captures(task, known, stop)


@dataclass(frozen=True)
class Captures:
    """Captures that are analysed as one: their position among all, and the bytes sent to a worker."""

    position: int
    content: bytes

    def __str__(self) -> str:
        return ", ".join(json.loads(self.content)["paths"])

    def parts(self) -> list[Captures]:
        """Return nothing: captures that continue one another are one trace."""
        return []


def _others(done: int, has_store: bool) -> list[str]:
    """Return the outcome of the other tasks, for a message."""
    match done:
        case 0:
            return []
        case _ if has_store:
            return [f"The records of the others ({done}) are in the store; errors='warn' skips unreadable captures."]
        case _:
            return [f"The others ({done}) could be read; errors='warn' skips unreadable captures."]


def analyze(
    paths: Sequence[str],
    *,
    executor: Any,
    store: str | PathLike[str] | Store | None,
    connections: str | PathLike[str] | Store | None,
    continuing: str,
    errors: str,
    report: Report | None,
    **options: Any,
) -> _core.Analysis:
    """Analyse each capture, or each run of captures that continue one another, separately, and merge the results."""
    payloads = _core.capture_tasks(paths, continuing=continuing, connections=connections is not None, **options)
    records = opened(store, "", RECORD)
    known = {name.removesuffix(RECORD) for name in records.names()}
    tables = None if connections is None else opened(connections, "")
    if tables is not None:
        written = set(tables.names())
        known = {task for task in known if _table(task) in written}
    done: set[str] = set()
    firsts: dict[str, int] = {}
    problems: dict[int, str] = {}
    ended_tasks = 0

    def progressed() -> None:
        nonlocal ended_tasks
        ended_tasks += 1
        if report:
            report(ended_tasks / len(payloads))

    def ended(sent: Captures, result: tuple[str, tuple[bytes, bytes] | None]) -> None:
        task, made = result
        # Of copies of a capture the first counts, whichever ends first: a record has its name.
        if made is not None and sent.position < firsts.get(task, len(payloads)):
            firsts[task] = sent.position
            content, table = made
            # The table first: a record means that its whole task is complete.
            if tables is not None:
                tables.put(_table(task), table)
            records.put(task + RECORD, content)
        done.add(task)
        progressed()

    def failed(sent: Captures, error: Exception) -> None:
        # Errors of one capture; any other error would recur for all of them.
        if not isinstance(error, _core.Error):
            raise error
        problems[sent.position] = str(error)
        progressed()

    sent = (Captures(position, content) for position, content in enumerate(payloads))
    with executors.using(executor) as workers:
        executors.drive(workers, record, frozenset(known), sent, ended, failed)
    if problems and (errors == "raise" or not done):
        raise _core.Error(
            "\n".join([*(problems[position] for position in sorted(problems)), *_others(len(done), store is not None)])
        )
    for position in sorted(problems):
        warnings.warn(f"left out: {problems[position]}", stacklevel=3)
    total = _core.RecordSum()
    for name, content in contents(records, [task + RECORD for task in sorted(done)]):
        total.add(name, content)
    if warning := total.warning():
        warnings.warn(warning, stacklevel=3)
    return total.finish()


def _table(task: str) -> str:
    """Return the name of the table of a task, in a directory named like a Hive partition."""
    return f"task={task}/connections.parquet"
