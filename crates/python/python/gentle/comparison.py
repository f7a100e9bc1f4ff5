"""Comparison of queue schemes in the simulator."""

from __future__ import annotations

import json
import operator
import warnings
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from os import PathLike
from typing import TYPE_CHECKING, Any, Self

from gentle import _arguments, _core, _runs
from gentle._progress import Report, reported
from gentle.queue import Scheme, prepared
from gentle.scenario import resolved
from gentle.store import Store, records, save

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from xarray import Dataset

HEADLINE = "response_time_by_size.0.mean_s"
"""Mean response time of the smallest connections, which a lost SYN delays most."""


def compare(
    traffic: Any = "real",
    schemes: Iterable[Scheme] = (),
    *,
    rate: str | None = None,
    up_rate: str | None = None,
    load: float | str | None = None,
    duration: str | None = None,
    profile: str | None = None,
    tcp: Mapping[str, Any] | None = None,
    seeds: int | Sequence[int] = 5,
    bins: Sequence[int] = (3, 10, 100),
    reference: str | None = None,
    harm: bool = False,
    threads: int | None = None,
    executor: Any = None,
    store: str | PathLike[str] | Store | None = None,
    progress: Report | bool | None = None,
) -> Comparison:
    """Simulate the same traffic under several queue schemes.

    Parameters
    ----------
    traffic
        Name of a built-in scenario, a scenario file, a `Scenario`, a mapping with its keys, a flow list (``.csv``), or
        a table of flows (a DataFrame with ``start_s`` and ``bytes``). Hosts of built-in scenarios and flows run a
        current Linux unless ``profile`` is given, as in ``gentle compare``.
    schemes
        Schemes with their options, such as ``"codel target=20ms"``, and queues in Python (`CustomQueue`, or a class);
        by default the schemes of the scenario.
    rate, up_rate
        Rate of the link under test and of the reverse link, such as ``"20mbit"``. Arrivals and buffers scale with it.
    load
        Offered load as a fraction of the rate, such as ``0.9`` or ``"90%"``.
    duration
        Length of the arrival process, such as ``"100s"``.
    profile, tcp
        TCP profile of the hosts, and knobs that override it.
    seeds
        Number of seeds, or the seeds.
    bins
        Upper ends of the ranges of connection sizes, in segments.
    reference
        Scheme that the others are compared with; by default the first.
    harm
        Whether to run each application and each group alone as well, for `Comparison.harm`: how much the rest of the
        traffic harms it (``docs/concepts/users.md``). Each of them adds as many runs as the comparison has.
    threads
        Number of threads; by default one per core. It does not affect results.
    executor
        A ``concurrent.futures`` executor, a ``dask.distributed`` client, the module ``ray``, or an object with the
        methods of `gentle.executors.Executor` that makes the runs; by default threads of this process do. It does not
        affect results.
    store
        A directory, or a URL that fsspec opens, that stores all runs, as ``gentle compare --store`` does. Stored runs
        are reused, so the same call resumes an interrupted comparison. Copy files to combine stores.
    progress
        Callable that receives the completed fraction, or whether to show a bar; by default in notebooks and terminals.

    Examples
    --------
    >>> comparison = compare("short", ["pfifo limit=50", "spa"], duration="20s", seeds=2)
    >>> comparison.result("spa")["loss"]["syn"]
    0.0

    >>> # A call together with a transfer that fills the queue: does the transfer cause most of its delay?
    >>> link = {"down": {"rate": "5mbit", "delay": "20ms"}, "up": {"rate": "1mbit", "delay": "20ms"}}
    >>> call_and_backup = {"duration": "20s", "link": link, "workload": [{"kind": "voice"}, {"kind": "long"}]}
    >>> mixed = compare(call_and_backup, ["pfifo limit=100", "fq_codel"], seeds=2, harm=True)
    >>> [mixed.result(scheme)["harm"][0]["harm"]["mean"] > 0.5 for scheme in mixed.schemes]
    [True, False]
    """
    _arguments.check(
        rate=rate,
        up_rate=up_rate,
        load=load,
        duration=duration,
        profile=profile,
        tcp=tcp,
        bins=bins,
        reference=reference,
        harm=harm,
        threads=threads,
    )
    scenario = resolved(traffic, rate=rate, up_rate=up_rate, load=load, duration=duration, profile=profile, tcp=tcp)
    check_parts(scenario, harm)
    queues, numbers, sizes, kept = prepared(schemes), seed_list(seeds), list(bins), records(store)
    with reported(progress, f"comparing under {scenario.name}") as report:
        if executor is not None:
            check_executor(executor, threads)
            kept = _runs.made(scenario, queues, numbers, sizes, harm, kept, executor, report)
            report = None
        made = _core.compare(scenario, queues, numbers, sizes, reference, harm, threads, kept, report)
    return Comparison(made)


def check_executor(executor: Any, threads: int | None) -> None:
    """Reject both an executor and a number of threads, and a number as an executor."""
    if threads is not None:
        raise _core.InvalidInput("threads: they are of this process; expected either threads or executor")
    if isinstance(executor, int):
        raise _core.InvalidInput(f"executor: {executor!r} is a number; expected an executor, or threads={executor!r}")


def check_parts(scenario: _core.Scenario, harm: bool) -> None:
    """Warn if harm is requested and the scenario has no parts to harm."""
    if harm and not scenario.parts:
        text = "harm: the scenario has neither applications nor groups, so there is no part to run alone"
        warnings.warn(text, stacklevel=3)


def seed_list(seeds: Any) -> list[int]:
    """Return the seeds for a number of seeds, or for a list."""
    if seeds is None:
        raise _core.InvalidInput("seeds: expected a number of seeds, or a list of seeds")
    _arguments.check(seeds=seeds)
    number = seeds if _arguments.is_whole(seeds) else None
    chosen = [operator.index(seed) for seed in seeds] if number is None else list(range(1, operator.index(number) + 1))
    if wrong := [seed for seed in chosen if not 0 <= seed < 2**64]:
        raise _core.InvalidInput(f"seeds: {wrong[0]} is out of range; expected 0 to 2**64 - 1")
    return chosen


class Comparison:
    """Results of a comparison.

    Arrow libraries read it as a table with a row per scheme and seed: ``polars.DataFrame(comparison)``.
    """

    def __init__(self, core: _core.Comparison) -> None:
        self._core = core

    @cached_property
    def data(self) -> dict[str, Any]:
        """All results, as ``gentle compare --json`` prints them (``docs/reference/json.md``)."""
        return dict(json.loads(self._core.json()))

    @classmethod
    def from_json(cls, text: str) -> Self:
        """Read the JSON of `to_json`, or of ``gentle compare --json`` of this version."""
        return cls(_core.Comparison.from_json(text))

    def __reduce__(self) -> tuple[Any, ...]:
        return (Comparison.from_json, (self.to_json(),))

    def to_json(self) -> str:
        """Return all results as JSON, like ``gentle compare --json``, with ``null`` for its ``command``."""
        return self._core.json()

    @cached_property
    def runs(self) -> _core.Table:
        """A row per scheme and seed, with all scalar results: times in seconds, losses as fractions."""
        return self._core.runs()

    @cached_property
    def applications(self) -> _core.Table:
        """A row per scheme, application and seed with the results of calls, games, pages and lookups; else empty."""
        return self._core.applications()

    @cached_property
    def harm(self) -> _core.Table:
        """A row per scheme, application or group, number and seed, with ``harm=True``; else empty.

        Harm is the share of a delay that the others cause, or the share of a rate that they take: from 0 (none) to 1,
        and negative if the part does better with the others. ``number`` names the measure (``"delay_s.p99"``); ``kind``
        is missing for groups of connections.
        """
        return self._core.harm()

    @property
    def schemes(self) -> list[str]:
        """Labels of the schemes, in the order of the call."""
        return [result["label"] for result in self.data["results"]]

    @property
    def seeds(self) -> list[int]:
        """Seeds that all results cover."""
        return list(self.data["seeds"])

    def result(self, scheme: str) -> dict[str, Any]:
        """Return the results of a scheme, by its label, or by its name if only one scheme has it."""
        results = self.data["results"]
        found = [result for result in results if result["label"] == scheme]
        found = found or [result for result in results if result["scheme"] == scheme]
        if len(found) != 1:
            raise _core.InvalidInput(f"no scheme '{scheme}'; expected one of: {', '.join(self.schemes)}")
        return dict(found[0])

    def to_xarray(self) -> Dataset:
        """Return the scalar results as a data set over ``scheme`` and ``seed``."""
        import xarray

        results = self.data["results"]
        names = [series["name"] for series in results[0]["by_seed"]] if results else []
        values = {
            name: (("scheme", "seed"), [_floats(result["by_seed"][i]["values"]) for result in results])
            for i, name in enumerate(names)
        }
        return xarray.Dataset(values, coords={"scheme": self.schemes, "seed": self.seeds})

    def plot(self, metric: str = HEADLINE, ax: Axes | None = None) -> Axes:
        """Draw a metric per scheme with its 95 % confidence interval over seeds."""
        from gentle.plots import bars

        return bars(self, metric, ax)

    def save(self, path: str | PathLike[str]) -> None:
        """Write the page with tables and plots to a file (HTML)."""
        save(path, self._core.html().encode())

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        return self.runs.__arrow_c_stream__(requested_schema)

    def __arrow_c_schema__(self) -> object:
        return self.runs.__arrow_c_schema__()

    def __str__(self) -> str:
        return self._core.text(100)

    def __repr__(self) -> str:
        return f"<gentle.Comparison of {', '.join(self.schemes)} under {self.data['scenario']['name']}>"

    def _repr_html_(self) -> str:
        from gentle.plots import table

        head = ["scheme", "1st size range, s", "mean, s", "p95, s", "RTT, s", "loss", "SYN loss"]
        rows = [
            [
                result["label"],
                _first(result["response_time_by_size"]),
                result["response_time_s"]["mean"],
                result["response_time_s"]["p95"],
                result["rtt_s"]["mean"],
                result["loss"]["all"],
                result["loss"]["syn"],
            ]
            for result in self.data["results"]
        ]
        return table(head, rows)


def _first(sizes: list[dict[str, Any]]) -> float | None:
    return sizes[0]["mean_s"] if sizes else None


def _floats(values: list[float | None]) -> list[float]:
    return [float("nan") if value is None else value for value in values]
