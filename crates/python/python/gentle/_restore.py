"""Results restored by `pickle` and `copy`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from gentle import _core

if TYPE_CHECKING:
    from gentle.analysis import Analysis
    from gentle.store import Store
    from gentle.sweeps import Sweep


def table(columns: Sequence[tuple[str, str, list[Any]]]) -> _core.Table:
    """Return a table of names, types and values."""
    return _core.Table.from_columns(columns)


def scenario(kind: str, arguments: tuple[Any, ...]) -> _core.Scenario:
    """Return the scenario that these arguments made before."""
    if kind == "changed":
        before, changes = arguments
        return before.changed(**changes)  # type: ignore[no-any-return]
    return getattr(_core.Scenario, kind)(*arguments)  # type: ignore[no-any-return]


def analysis(text: str, connections: _core.Table | None) -> Analysis:
    """Return an analysis with its table of connections, if it had one."""
    from gentle.analysis import Analysis

    made = Analysis.from_json(text)
    if connections is not None:
        made.__dict__["connections"] = connections
    return made


class Kept:
    """A store of files in memory."""

    def __init__(self, files: dict[str, bytes]) -> None:
        self.files = files

    def names(self) -> list[str]:
        """Return the names of all files, sorted."""
        return sorted(self.files)

    def get(self, name: str) -> bytes:
        """Return the content of a file."""
        return self.files[name]

    def put(self, name: str, content: bytes) -> None:
        """Keep a file."""
        self.files[name] = content


def sweep(source: tuple[Any, ...], store: Store) -> Sweep:
    """Return the sweep of a grid, with the results of a store."""
    from gentle.store import place
    from gentle.sweeps import Sweep

    plan = _core.SweepPlan.restored(*source)
    for name in store.names():
        plan.add(place(store) + name, store.get(name))
    return Sweep(plan, store)
