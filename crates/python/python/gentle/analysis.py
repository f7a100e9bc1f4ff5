"""Analysis of packet captures."""

from __future__ import annotations

import json
from collections.abc import Sequence
from functools import cached_property
from os import PathLike, fspath
from typing import Any, Self

from gentle import _arguments, _core, _restore, captures
from gentle._progress import Report, reported
from gentle.scenario import CURRENT_HOSTS
from gentle.store import Store, save


def analyze(
    paths: str | PathLike[str] | Sequence[str | PathLike[str]],
    *,
    connections: bool | str | PathLike[str] | None = None,
    local: Sequence[str] = (),
    interfaces: Sequence[str] = (),
    rate: str | None = None,
    inner: bool = False,
    strict: bool = False,
    memory_limit: int | None = None,
    executor: Any = None,
    store: str | PathLike[str] | Store | None = None,
    continuing: str = "name",
    errors: str = "raise",
    progress: Report | bool | None = None,
) -> Analysis:
    """Measure how often connections in captures lost a SYN or SYN/ACK, and the time it cost.

    Parameters
    ----------
    paths
        Captures (pcap or pcapng, compressed or not), analysed as one trace in time order. With ``executor`` or
        ``store``, each capture is a separate task, and the results are merged.
    connections
        Whether to keep a row per connection for `Analysis.connections`, some 300 bytes each; the default without
        ``executor`` and ``store``. With them, a directory or URL for a Parquet file per task; DuckDB, Polars and Dask
        read these files as one table.
    local
        Prefixes on the local side of the link, such as ``"192.0.2.0/24"``.
    interfaces
        Names or numbers of the interfaces of a pcapng file to analyse; by default all, or the entry interfaces of a
        capture written by ``--pcap``.
    rate
        Capacity of the link, for its utilisation.
    inner
        Whether to analyse the packets inside tunnels.
    strict
        Whether a damaged capture is an error; by default it is read as far as possible.
    memory_limit
        Memory for the connections of each task, bytes.
    executor
        Executor of the tasks, as in `gentle.sweep`. Workers open the captures under the given names.
    store
        A directory or URL for one record per task, as written by ``gentle analyze --record``: the same call resumes an
        interrupted job, and ``gentle merge`` combines the records of several jobs.
    continuing
        Which captures are parts of one trace, and therefore one task: ``"name"``, files named like the parts of one
        capture by dumpcap or tcpdump; ``"directory"``; ``"all"``; ``"none"``.
    errors
        With ``executor`` or ``store``, the reaction to unreadable captures after all others are done: ``"raise"`` an
        error that names them, or ``"warn"`` and return the analysis of the others.
    progress
        Callable that receives the completed fraction, or whether to show a bar; by default in notebooks and terminals.
    """
    _check(paths)
    _arguments.check(
        local=local,
        interfaces=interfaces,
        rate=rate,
        inner=inner,
        strict=strict,
        memory_limit=memory_limit,
        continuing=continuing,
    )
    options: dict[str, Any] = {
        "local": list(local),
        "interfaces": list(interfaces),
        "rate": rate,
        "inner": inner,
        "strict": strict,
        "memory_limit": memory_limit,
    }
    if errors not in {"raise", "warn"}:
        raise _core.InvalidInput(f"errors: {errors!r}; expected raise or warn")
    is_place = not isinstance(connections, bool | None)
    if executor is None and store is None:
        if is_place:
            raise _core.InvalidInput(
                "connections: a directory receives a file for each task of an executor or a store; "
                "expected True or False, or an executor or a store as well"
            )
        with reported(progress, "reading captures") as report:
            made = _core.analyze(_paths(paths), connections=connections is not False, progress=report, **options)
        return Analysis(made)
    if connections is True:
        raise _core.InvalidInput("connections: with executor or store, expected a directory or URL for their files")
    with reported(progress, "reading captures") as report:
        made = captures.analyze(
            _paths(paths),
            executor=executor,
            store=store,
            connections=connections or None,
            continuing=continuing,
            errors=errors,
            report=report,
            **options,
        )
    return Analysis(made)


def replay(
    paths: str | PathLike[str] | Sequence[str | PathLike[str]],
    *,
    local: Sequence[str] = (),
    interfaces: Sequence[str] = (),
    inner: bool = False,
    strict: bool = False,
    progress: Report | bool | None = None,
) -> _core.Scenario:
    """Make the scenario that replays the connections of captures, for `gentle.compare` with a ``rate``.

    It equals the scenario of ``gentle compare --from``. Its ``assumptions`` include inferences from the captures.

    Parameters
    ----------
    paths, local, interfaces, inner, strict, progress
        As in `analyze`.
    """
    _check(paths)
    _arguments.check(local=local, interfaces=interfaces, inner=inner, strict=strict)
    with reported(progress, "reading captures") as report:
        made = _core.replay(
            _paths(paths),
            local=list(local),
            interfaces=list(interfaces),
            inner=inner,
            strict=strict,
            progress=report,
        )
    return made.changed(profile=CURRENT_HOSTS)


def _check(paths: Any) -> None:
    _arguments.check(paths=paths)
    if paths is None or (hasattr(paths, "__len__") and not len(paths)):
        raise _core.InvalidInput("paths: expected a path of a capture, or a list of paths")


def _paths(paths: str | PathLike[str] | Sequence[str | PathLike[str]]) -> list[str]:
    return [fspath(path) for path in ([paths] if isinstance(paths, (str, PathLike)) else paths)]


class Analysis:
    """Results of an analysis. Arrow libraries read it as the table of connections."""

    def __init__(self, core: _core.Analysis) -> None:
        self._core = core

    @cached_property
    def data(self) -> dict[str, Any]:
        """All results, as ``gentle analyze --json`` prints them (``docs/reference/json.md``)."""
        return dict(json.loads(self._core.json()))

    @classmethod
    def from_json(cls, text: str) -> Self:
        """Read the JSON of `to_json`, or of ``gentle analyze --json`` of this version; without connections."""
        return cls(_core.Analysis.from_json(text))

    def __reduce__(self) -> tuple[Any, ...]:
        try:
            connections = self.connections
        except _core.InvalidInput:
            connections = None
        return (_restore.analysis, (self.to_json(), connections))

    def to_json(self) -> str:
        """Return all results as JSON, like ``gentle analyze --json``."""
        return self._core.json()

    @cached_property
    def connections(self) -> _core.Table:
        """A row per connection; ``docs/reference/connections.md`` describes the columns."""
        return self._core.connections()

    @property
    def warnings(self) -> list[str]:
        """Warnings about misleading results, then about each capture."""
        of_captures = [text for capture in self.data["captures"] for text in capture["warnings"]]
        return [*(warning["sentence"] for warning in self.data["warnings"]), *of_captures]

    def report(self, *, full: bool = False, width: int = 100) -> str:
        """Return the report that ``gentle analyze`` prints; with ``full``, all tables."""
        return self._core.text(full, width)

    def save(self, path: str | PathLike[str]) -> None:
        """Write the page with tables and plots to a file (HTML)."""
        save(path, self._core.html().encode())

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        return self.connections.__arrow_c_stream__(requested_schema)

    def __arrow_c_schema__(self) -> object:
        return self.connections.__arrow_c_schema__()

    def __str__(self) -> str:
        return self.report()

    def __repr__(self) -> str:
        names = ", ".join(capture["path"] for capture in self.data["captures"])
        return f"<gentle.Analysis of {names}>"

    def _repr_html_(self) -> str:
        from gentle.plots import preformatted

        return preformatted(self.report())
