"""Published papers, reproduced."""

from __future__ import annotations

import json
from functools import cached_property
from os import PathLike
from typing import TYPE_CHECKING, Any, Self

from gentle import _arguments, _core
from gentle._progress import Report, reported
from gentle.store import Store, records

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def papers() -> list[str]:
    """Return the names of the papers for `reproduce`."""
    return _core.papers()


def reproduce(
    paper: str,
    *items: str,
    quick: bool = False,
    store: str | PathLike[str] | Store | None = None,
    progress: Report | bool | None = None,
) -> Reproduction:
    """Recompute figures, tables and claims of a paper, and compare them with the published results.

    Parameters
    ----------
    paper
        Name of the paper: one of `papers()`.
    items
        Names of figures, tables, claims or assumptions; by default everything.
    quick
        Whether to make fewer and shorter runs.
    store
        As in `gentle.compare`: stores the simulated runs.
    progress
        Callable that receives the completed fraction of the runs requested so far, or whether to show a bar.

    Examples
    --------
    >>> reproduction = reproduce("spa-2018", "fig3")
    >>> reproduction.items[0]["kind"]
    'figure'
    """
    _arguments.check(paper=paper, items=items, quick=quick)
    with reported(progress, f"reproducing {paper}") as report:
        made = _core.reproduce(paper, list(items), quick=quick, store=records(store), progress=report)
    return Reproduction(made)


class Reproduction:
    """A reproduced paper. Arrow libraries read it as a table with a row per claim."""

    def __init__(self, text: str) -> None:
        self._text = text
        self.data: dict[str, Any] = json.loads(text)
        """All results, as ``gentle reproduce --json`` prints them (``docs/reference/json.md``)."""

    @classmethod
    def from_json(cls, text: str) -> Self:
        """Read the JSON of `to_json`, or of ``gentle reproduce --json`` of this version."""
        return cls(text)

    def to_json(self) -> str:
        """Return all results as JSON, like ``gentle reproduce --json``."""
        return self._text

    @property
    def items(self) -> list[dict[str, Any]]:
        """Figures and tables, each followed by its claims, then assumptions."""
        return list(self.data["items"])

    def item(self, name: str) -> dict[str, Any]:
        """Return the item with this name."""
        for item in self.items:
            if item["id"] == name:
                return item
        raise _core.InvalidInput(f"no item '{name}'; expected one of: {', '.join(item['id'] for item in self.items)}")

    @cached_property
    def claims(self) -> _core.Table:
        """A row per claim: the published value, ours, and the verdict."""
        claims = [item for item in self.items if item["kind"] == "claim"]
        published = [item["published"] or {} for item in claims]
        return _core.Table.from_pydict(
            {
                "id": [item["id"] for item in claims],
                "claim": [item["title"] for item in claims],
                "value": [entry.get("value") for entry in published],
                "at_least": [entry.get("at_least") for entry in published],
                "at_most": [entry.get("at_most") for entry in published],
                "tolerance": [entry.get("tolerance") for entry in published],
                "unit": [entry.get("unit", "") for entry in published],
                "ours": [item["ours"]["value"] for item in claims],
                "ci95": [item["ours"]["ci95"] for item in claims],
                "verdict": [item["verdict"] for item in claims],
                "reason": [item["reason"] for item in claims],
            }
        )

    def plot(self, name: str) -> Figure:
        """Draw the charts of a figure."""
        from gentle.plots import charts

        return charts(self.item(name))

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        return self.claims.__arrow_c_stream__(requested_schema)

    def __arrow_c_schema__(self) -> object:
        return self.claims.__arrow_c_schema__()

    def __repr__(self) -> str:
        counts = {name.replace("_", " "): n for name, n in self.data["verdicts"].items() if n}
        return f"<gentle.Reproduction of {self.data['paper']}: {counts}>"

    def _repr_html_(self) -> str:
        from gentle.plots import table

        head = ["item", "claim", "ours", "verdict"]
        rows = [
            [item["id"], item["title"], item["ours"]["value"], item["verdict"]]
            for item in self.items
            if item["kind"] == "claim"
        ]
        return table(head, rows)
