"""Sweeps: the same comparison at many points of a grid, on any executor."""

from __future__ import annotations

import json
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from html import escape
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gentle import _arguments, _core, _restore, executors, maps, testbed
from gentle._progress import Report, reported
from gentle.comparison import HEADLINE
from gentle.scenario import Scenario, table_columns
from gentle.store import Remote, Store, Temporary, contents, opened, place, save

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from xarray import Dataset


def sweep(
    grid: Any,
    schemes: Sequence[str] | None = None,
    seeds: int | Sequence[int] | None = None,
    *,
    traffic: Any = None,
    executor: Any = None,
    store: str | PathLike[str] | Store | None = None,
    until_ci: float | None = None,
    metric: str | None = None,
    max_seeds: int | None = None,
    bins: Sequence[int] | None = None,
    connections: bool | None = None,
    backend: str | testbed.Machines = "simulator",
    progress: Report | bool | None = None,
) -> Sweep:
    """Run a grid of scenarios, schemes and seeds. The executor and the deaths of workers do not affect the result.

    Parameters
    ----------
    grid
        A grid file (``docs/reference/sweeps.md``); a mapping with its keys; a mapping of axes, such as
        ``{"rate": ["1mbit", "10mbit"], "load": {"from": 0.5, "to": 1.2, "steps": 8}}``; or an iterable of points (or a
        function that returns one): scenarios, or pairs of a scenario and its coordinates. A DataFrame gives a point per
        row and an axis per column.
    schemes, seeds, traffic, bins
        Override the grid: schemes, the number of seeds or the seeds, the base scenario, and the upper ends of the
        ranges of connection sizes in segments.
    executor
        ``None`` or a number for threads of this process, which release the interpreter's lock: no processes are
        started, and nothing is copied. Also a ``concurrent.futures`` executor, a ``dask.distributed`` client, the
        module ``ray``, or an object with the methods of `gentle.executors.Executor`.
    store
        A directory, or a URL that fsspec opens, for the results. Stored runs are reused, so the same call resumes an
        interrupted sweep, and a changed grid runs only the new points. By default results are stored as long as the
        returned object exists.
    until_ci, metric, max_seeds
        Add seeds to each scheme at each point until the half-width of the 95 % confidence interval of the mean of
        ``metric`` is below this fraction of the mean, or there are ``max_seeds``.
    connections
        Also store a row per connection of each run, in ``connections/*.parquet`` of the store, which must then be a
        directory or a URL.
    backend
        ``"simulator"``; ``"testbed"`` for Linux in virtual time, one machine per run (`gentle.testbed`); or
        `gentle.testbed.Machines` with other settings. Every worker needs the kernel: `gentle.testbed.build`.
    progress
        Callable that receives the completed fraction, or whether to show a bar; by default in notebooks and terminals.

    Examples
    --------
    >>> result = sweep({"load": [0.7, 0.9], "duration": "5s"}, ["pfifo limit=50", "spa"], seeds=2)
    >>> result
    <gentle.Sweep of 8 runs at 2 points>
    >>> result.table.column_names[19:21]
    ['duration', 'load']
    """
    given = {
        "traffic": traffic,
        "schemes": schemes,
        "seeds": seeds,
        "bins": bins,
        "until_ci": until_ci,
        "metric": metric,
        "max_seeds": max_seeds,
        "connections": connections,
    }
    _check(schemes, seeds, bins, until_ci, metric, max_seeds)
    machines = machines_of(backend)
    plan = planned(grid, {key: _plain(value) for key, value in given.items() if value is not None}, machines)
    for warning in plan.warnings:
        warnings.warn(warning, stacklevel=2)
    results, details = opened(store), _details(store, plan)
    at = place(results)
    complete = None if details is None else set(details.names())
    names = [name for name in results.names() if complete is None or name in complete]
    for name, content in contents(results, names):
        plan.add(at + name, content)
    if foreign := plan.foreign():
        warnings.warn(f"ignored {foreign} runs in the store that another build of gentle made", stacklevel=2)

    # Workers reach an object store as the client does, and many write at a time. A directory may be the client's alone.
    is_shared = isinstance(results, Remote) and results.is_of_objects
    shared = Shared(plan.inputs, machines, results if is_shared else None, details if is_shared else None)

    def keep(name: str, made: tuple[bytes, bytes | None]) -> None:
        runs, connections = made
        if not is_shared:
            _write(name, runs, connections, results, details)
        plan.add(at + name, runs)

    with reported(progress, "sweep") as report, executors.using(executor) as workers:
        _make(plan, keep, shared, workers, report)
    return Sweep(plan, results)


def _check(schemes: Any, seeds: Any, bins: Any, until_ci: Any, metric: Any, max_seeds: Any) -> None:
    _arguments.check(seeds=seeds, bins=bins, until_ci=until_ci, metric=metric, max_seeds=max_seeds)
    if schemes is None:
        return
    if isinstance(schemes, str) or not isinstance(schemes, Iterable):
        raise _core.InvalidInput(f"schemes: {schemes!r} is not a list; expected a list of texts")
    for scheme in schemes:
        if not isinstance(scheme, str):
            raise _core.InvalidInput(
                f"schemes: {scheme!r} is not a text; queues in Python run only in gentle.compare, not in sweeps"
            )


def _details(store: str | PathLike[str] | Store | None, plan: _core.SweepPlan) -> Store | None:
    """Return the store of connections; ``None`` if they are not wanted."""
    if not plan.connections:
        return None
    if not isinstance(store, str | PathLike):
        raise _core.InvalidInput("connections: written only to a store; expected store, a directory or a URL")
    return opened(store, "connections")


def machines_of(backend: str | testbed.Machines) -> testbed.Machines | None:
    """Return the machines of a backend; ``None`` for the simulator."""
    match backend:
        case "simulator":
            return None
        case "testbed":
            return testbed.Machines()
        case testbed.Machines():
            return backend
        case _:
            raise _core.InvalidInput(
                f'backend: {backend!r} is not a backend; expected "simulator", "testbed" or '
                "gentle.testbed.Machines(...)"
            )


def planned(grid: Any, given: dict[str, Any], machines: testbed.Machines | None) -> _core.SweepPlan:
    """Return the plan of a grid; given keys override the grid's."""
    match grid:
        case str() | PathLike() if not given:
            path = Path(grid)
            return _core.SweepPlan.from_toml(str(path), _text(path), path.parent, machines)
        case str() | PathLike():
            import tomllib

            path = Path(grid)
            text = _text(path)
            # Read for errors that name lines of the file.
            _core.SweepPlan.from_toml(str(path), text, path.parent)
            return _from_keys(tomllib.loads(text) | given, machines, str(path), path.parent)
        case Mapping():
            keys = dict(_plain(grid))
            if not keys.keys() & GRID:
                keys = {"axes": keys}
            return _from_keys(keys | given, machines)
        case _ if hasattr(grid, "__arrow_c_stream__") or hasattr(grid, "to_dict"):
            columns = table_columns(grid)
            values = zip(*(_plain(list(column)) for column in columns.values()), strict=True)
            rows = [{"set": dict(zip(columns, row, strict=True))} for row in values]
            return _from_keys({"point": rows, **given}, machines)
        case _:
            points = grid() if callable(grid) else grid
            if isinstance(points, Mapping) or not isinstance(points, Iterable):
                raise _core.InvalidInput(
                    "grid: expected a grid file, a mapping, or an iterable of scenarios or a function that returns one"
                )
            listed: dict[str, Any] = {"point": [_point(point) for point in points]}
            return _from_keys(listed | given, machines)


GRID = {
    *("traffic", "schemes", "seeds", "bins", "connections", "axes", "sample", "point"),
    *("until_ci", "metric", "max_seeds"),
}
"""Keys of a grid file, none of which is a useful axis."""


def _from_keys(
    keys: Mapping[str, Any], machines: testbed.Machines | None, name: str = "grid", folder: Path | None = None
) -> _core.SweepPlan:
    return _core.SweepPlan.from_json(name, json.dumps(keys, default=_number), folder, machines)


def _point(point: Any) -> dict[str, Any]:
    labels: Mapping[str, Any] = {}
    if isinstance(point, tuple):
        point, labels = point
    return {"traffic": _plain(point), "labels": dict(_plain(labels))}


def _plain(value: Any) -> Any:
    """Return a value that JSON can express."""
    match value:
        case Scenario():
            return value.to_dict()
        case PathLike():
            return str(value)
        case str() | bool() | int() | float():
            return value
        case Mapping():
            if none := [key for key, item in value.items() if item is None]:
                raise _core.InvalidInput(
                    f"grid: {none[0]}: None is not a value; expected texts, numbers, lists and mappings"
                )
            return {str(key): _plain(item) for key, item in value.items()}
        case range() | list() | tuple() | set() | frozenset():
            return [_plain(item) for item in value]
        case _ if hasattr(value, "tolist"):  # NumPy, pandas
            return value.tolist()
        case _ if hasattr(value, "to_list"):  # Polars
            return value.to_list()
        case _:
            return value


def _number(value: Any) -> Any:
    if hasattr(value, "item"):
        return value.item()
    raise _core.InvalidInput(
        f"grid: {type(value).__name__} is not a value; expected texts, numbers, lists and mappings"
    )


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except OSError as error:
        raise _core.InvalidInput(f"{path}: cannot be read: {error.strerror}; expected a grid file") from error


@dataclass(frozen=True)
class Shared:
    """The part of a sweep that all its batches share."""

    inputs: Mapping[str, str]
    machines: testbed.Machines | None
    runs: Store | None
    """Store into which workers write runs; ``None`` if the client does."""
    connections: Store | None
    """Store into which workers write connections; ``None`` if the client does."""


def make(batch: bytes, shared: Shared, stop: _core.Stop | None) -> tuple[bytes, bytes | None]:
    """Make the runs of a batch, on a worker, and return Parquet files of runs and, unless written, of connections."""
    runs, connections = _core.run_batch(batch, dict(shared.inputs), stop, shared.machines)
    if shared.runs is None:
        return runs, connections
    _write(_core.batch_name(batch), runs, connections, shared.runs, shared.connections)
    return runs, None


def _write(name: str, runs: bytes, connections: bytes | None, results: Store, details: Store | None) -> None:
    """Write the results of a batch. Connections come first, so that stored runs have their connections."""
    if details is not None and connections is not None:
        details.put(name, connections)
    results.put(name, runs)


@dataclass(frozen=True)
class Batch:
    """A batch of runs: the name of its file of results, the bytes sent to a worker, and the number of runs."""

    name: str
    content: bytes
    runs: int

    def __str__(self) -> str:
        return _core.describe_batch(self.content)

    def parts(self) -> list[Batch]:
        """Return each run as a batch; an empty list for a single run."""
        return [Batch(*part) for part in _core.split_batch(self.content)] if self.runs > 1 else []


def _make(
    plan: _core.SweepPlan,
    keep: Callable[[str, tuple[bytes, bytes | None]], None],
    shared: Shared,
    executor: executors.Executor,
    report: Report | None,
) -> None:
    """Make the missing runs on an executor; ``keep`` receives the results of each batch."""
    while True:
        _, total, missing, seconds = plan.survey()
        if not missing:
            return
        done = total - missing
        plan.begin(seconds, max(executor.slots() // 2, 1))

        def tasks() -> Iterator[Batch]:
            while batch := plan.next_batch():
                yield Batch(*batch)

        def ended(batch: Batch, made: tuple[bytes, bytes | None], total: int = total) -> None:
            nonlocal done
            keep(batch.name, made)
            done += batch.runs
            if report:
                report(done / total)

        executors.drive(executor, make, shared, tasks(), ended)


class Sweep:
    """Results of a sweep: a table with a row per run, in the order of the grid.

    Arrow libraries read it as a table: ``polars.DataFrame(sweep)``. ``docs/reference/sweeps.md`` describes the columns.
    """

    def __init__(self, plan: _core.SweepPlan, store: Store) -> None:
        self._plan = plan
        self._store = store

    def __reduce__(self) -> tuple[Any, ...]:
        store = self._store
        if isinstance(store, Temporary):
            store = _restore.Kept({name: store.get(name) for name in store.names()})
        return (_restore.sweep, (self._plan.source(), store))

    def _read(self, name: str) -> bytes:
        """Return the content of a file of the store, by its full name."""
        return self._store.get(name.removeprefix(place(self._store)))

    @cached_property
    def table(self) -> _core.Table:
        """A row per run: identity, scenario, coordinates on the axes, all scalar results."""
        return self._plan.table(self._read)

    @property
    def assumptions(self) -> list[str]:
        """Differences of runs on the testbed from the scenarios, in sentences."""
        return self._plan.assumptions

    @property
    def axes(self) -> list[str]:
        """Names of the columns of the axes."""
        return self._plan.axes

    @property
    def metrics(self) -> list[str]:
        """Names of the columns of scalar results."""
        names = self.table.column_names
        return names[names.index("seed") + 1 + len(self.axes) :]

    def _columns(self, names: Sequence[str]) -> dict[str, list[Any]]:
        known = self.table.column_names
        for name in names:
            if name not in known:
                raise _core.InvalidInput(f"no column '{name}'; expected one of: {', '.join(known)}")
        return self._plan.columns(self._read, list(names))

    def to_xarray(self, metrics: Sequence[str] | None = None) -> Dataset:
        """Return results over the axes with several values, ``scheme`` and ``seed``; NaN where there is no run."""
        metrics = self.metrics if metrics is None else metrics
        columns = self._columns([*self.axes, "scheme", "seed", *metrics])
        return maps.dataset(columns, self.axes, metrics)

    def plot(self, metric: str = HEADLINE, x: str | None = None, y: str | None = None) -> Figure:
        """Draw a heat map for each scheme: the mean of a metric over seeds and the other axes."""
        return maps.heat(self.to_xarray([metric]), metric, x, y)

    def plot_best(
        self, metric: str = HEADLINE, x: str | None = None, y: str | None = None, *, higher: bool = False
    ) -> Figure:
        """Draw the best scheme at each point: lowest in ``metric``, or highest.

        As in comparisons, a scheme is best where its mean leads by more than 1 %, and tests of the seeds' log ratios
        find every other scheme worse, corrected for the number of tests. Elsewhere the map shows that no difference is
        significant. Further axes besides ``x`` and ``y`` give a map for each of their values.
        """
        return maps.best(self.to_xarray([metric]), metric, x, y, higher=higher)

    def save(self, path: str | PathLike[str]) -> None:
        """Write the table as ``gentle sweep --csv`` or ``--parquet`` does, by the extension of the file."""
        path = Path(path)
        if path.suffix not in {".csv", ".parquet"}:
            raise _core.InvalidInput(f"{path}: expected a file name that ends in .csv or .parquet")
        pieces: list[bytes] = []
        self._plan.export(self._read, pieces.append, path.suffix == ".csv")
        save(path, b"".join(pieces))

    def __len__(self) -> int:
        return self._runs

    @cached_property
    def _runs(self) -> int:
        _, runs, missing, _ = self._plan.survey()
        return runs - missing

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        return self.table.__arrow_c_stream__(requested_schema)

    def __arrow_c_schema__(self) -> object:
        return self.table.__arrow_c_schema__()

    def _means(self) -> tuple[list[str], list[list[Any]]]:
        """Return the head and rows of a table of means by scheme."""
        means = maps.by_scheme(self._columns(["scheme", *SHOWN]), SHOWN)
        return ["scheme", "runs", *SHOWN], [[scheme, *values] for scheme, values in means.items()]

    def __str__(self) -> str:
        from gentle.plots import text

        return f"{text(*self._means())}\n\n{self!r}: means over all of them"

    def __repr__(self) -> str:
        return f"<gentle.Sweep of {len(self)} runs at {self._plan.points} points>"

    def _repr_html_(self) -> str:
        from gentle.plots import table

        head, rows = self._means()
        axes = escape(", ".join(self.axes) or "none")
        text = f"<p>{len(self)} runs at {self._plan.points} points; axes: {axes}</p>"
        return text + table(head, rows)


SHOWN = (HEADLINE, "response_time_s.mean", "queue_delay_s.mean", "loss.handshake")
"""Metrics in a notebook's table: means over all runs of a scheme."""
