"""Comparison of queue schemes in the simulator."""

from __future__ import annotations

import json
import operator
import warnings
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from os import PathLike
from typing import TYPE_CHECKING, Any, Self

from gentle import _arguments, _core
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
    store: str | PathLike[str] | Store | None = None,
    progress: Report | bool | None = None,
) -> Comparison:
    """Simulate the same traffic under several queue schemes.

    Parameters
    ----------
    traffic
        Name of a built-in scenario, a scenario file, a `Scenario`, a mapping with its keys, a flow list (``.csv``), or
        a table of flows (a DataFrame with ``start_s`` and ``bytes``). Hosts of built-in scenarios and flows are those
        of a current Linux unless ``profile`` says otherwise, as in ``gentle compare``.
    schemes
        Schemes with their options, such as ``"codel target=20ms"``, and queues in Python (`CustomQueue`, or a class);
        by default those of the scenario.
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
        Whether each application and each group also runs alone, for `Comparison.harm`: how much the rest of the
        traffic harms it (``docs/concepts/users.md``). Each of them costs as many runs as the comparison.
    threads
        Number of threads; by default one per core. Results do not depend on it.
    store
        A directory, or a URL that fsspec opens, that keeps all runs, as ``gentle compare --store`` does. Those that it
        has are not made again, so that a comparison that was stopped goes on. Stores are combined by copying files.
    progress
        Callable that is given the completed fraction, or whether to show a bar; by default where somebody watches.

    Examples
    --------
    >>> comparison = compare("short", ["pfifo limit=50", "spa"], duration="20s", seeds=2)
    >>> comparison.result("spa")["loss"]["syn"]
    0.0

    >>> # A call beside a transfer that fills the queue: is most of its delay the other's doing?
    >>> link = {"down": {"rate": "5mbit", "delay": "20ms"}, "up": {"rate": "1mbit", "delay": "20ms"}}
    >>> call_and_backup = {"duration": "20s", "link": link, "workload": [{"kind": "voice"}, {"kind": "long"}]}
    >>> beside = compare(call_and_backup, ["pfifo limit=100", "fq_codel"], seeds=2, harm=True)
    >>> [beside.result(scheme)["harm"][0]["harm"]["mean"] > 0.5 for scheme in beside.schemes]
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
    with reported(progress, f"comparing under {scenario.name}") as report:
        made = _core.compare(
            scenario,
            prepared(schemes),
            seed_list(seeds),
            list(bins),
            reference,
            harm,
            threads,
            records(store),
            report,
        )
    return Comparison(made)


def check_parts(scenario: _core.Scenario, harm: bool) -> None:
    """Warn if harm is asked for and the scenario has nothing that can be harmed."""
    if harm and not scenario.parts:
        text = "harm: the scenario has neither applications nor groups, so there is no part to run alone"
        warnings.warn(text, stacklevel=3)


def seed_list(seeds: Any) -> list[int]:
    """Return the seeds that a number of them, or a list, stands for."""
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

    It is a table with a row per scheme and seed for Arrow libraries: ``polars.DataFrame(comparison)``.
    """

    def __init__(self, core: _core.Comparison) -> None:
        self._core = core

    @cached_property
    def data(self) -> dict[str, Any]:
        """All results, as ``gentle compare --json`` prints them (``docs/reference/json.md``)."""
        return dict(json.loads(self._core.json()))

    @classmethod
    def from_json(cls, text: str) -> Self:
        """Read back what `to_json` returned, or ``gentle compare --json`` of this version printed."""
        return cls(_core.Comparison.from_json(text))

    def __reduce__(self) -> tuple[Any, ...]:
        return (Comparison.from_json, (self.to_json(),))

    def to_json(self) -> str:
        """Return all results as JSON: what ``gentle compare --json`` prints, with ``null`` for its ``command``."""
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

        Harm is the fraction of a delay that the others cause, or of a rate that they take away: 0, none, to 1; negative
        if the part does better with the others. ``number`` says what it is measured by (``"delay_s.p99"``); ``kind`` is
        missing for groups of connections.
        """
        return self._core.harm()

    @property
    def schemes(self) -> list[str]:
        """Labels of the schemes, in the order asked for."""
        return [result["label"] for result in self.data["results"]]

    @property
    def seeds(self) -> list[int]:
        """Seeds that all results cover."""
        return list(self.data["seeds"])

    def result(self, scheme: str) -> dict[str, Any]:
        """Return the results of a scheme, by its label, or its name if no other has it."""
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
