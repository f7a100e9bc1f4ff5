"""Comparisons on a real Linux kernel in virtual time (``docs/concepts/testbed.md``). Linux only.

A machine is user-mode Linux: Linux as an ordinary process, whose clock skips idle time. It needs no rights, and what
else runs on the computer does not disturb it. ::

    gentle.testbed.build()
    gentle.testbed.compare("real", ["pfifo limit=50", "fq_codel"], duration="100s")
    gentle.sweep({"load": [0.7, 0.9]}, ["pfifo limit=50", "fq_codel"], backend="testbed")
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import Any

from gentle import _arguments, _core
from gentle._progress import Report, reported
from gentle.comparison import Comparison, check_parts, seed_list
from gentle.queue import prepared
from gentle.scenario import resolved
from gentle.store import Store, records


def _check_system() -> None:
    if sys.platform != "linux":
        raise _core.Error(
            f"the testbed runs on Linux only, and this is {sys.platform}; gentle.compare simulates anywhere"
        )


@dataclass(frozen=True)
class Machines:
    """Settings of the testbed's machines.

    Parameters
    ----------
    modules
        Folder ``kernel`` of gentle's source: its modules run the schemes that Linux does not have. By default those are
        built from parts of Linux where that is possible.
    memory_mib
        Memory of each machine, MiB.
    time_limit_s
        Time after which a machine is stopped, seconds.
    """

    modules: str | PathLike[str] | None = None
    memory_mib: int = 512
    time_limit_s: float = 600.0

    def __post_init__(self) -> None:
        _check_system()

    @property
    def guest(self) -> tuple[str, list[str]]:
        """The program of a machine: this interpreter, alone with `gentle._guest`."""
        script = str(Path(__file__).with_name("_guest.py"))
        if any(letter.isspace() for letter in script):
            raise _core.Error(f"{script}: a machine's kernel takes no path with spaces; install gentle-net elsewhere")
        return os.path.realpath(sys.executable), ["-I", "-S", "-B", script]


def build(source: str | PathLike[str] | None = None, *, progress: Report | bool | None = None) -> str:
    """Build the testbed's kernel, once for a user, and return its version.

    It takes some ten minutes and a compiler; ``docs/concepts/testbed.md`` lists the tools. A kernel that has been built is taken
    as it is.

    Parameters
    ----------
    source
        Source of Linux, an archive or a folder; by default the distribution's.
    progress
        Callable that is given the completed fraction of a stage, or whether to show a bar; by default where somebody
        watches.
    """
    _check_system()
    _arguments.check(source=source)
    with reported(progress, "building Linux") as report:
        version, _ = _core.testbed_build(Path(source) if source is not None else None, report)
    return version


def compare(
    traffic: Any = "real",
    schemes: Iterable[str] = (),
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
    modules: str | PathLike[str] | None = None,
    memory_mib: int = 512,
    time_limit_s: float = 600.0,
    keep: str | PathLike[str] | None = None,
    store: str | PathLike[str] | Store | None = None,
    progress: Report | bool | None = None,
) -> Comparison:
    """Measure the same traffic under several queue schemes on Linux, as `gentle.compare` simulates it.

    A machine boots for each scheme and seed. What differs from the scenario is among the comparison's assumptions.

    Parameters
    ----------
    traffic, rate, up_rate, load, duration, profile, tcp, seeds, bins, reference, harm
        As in `gentle.compare`.
    schemes
        Schemes with their options; by default those of the scenario. Queues in Python run in the simulator only.
    threads
        Number of machines at a time; by default one per core.
    modules
        Folder ``kernel`` of gentle's source: its modules run the schemes that Linux does not have. By default those are
        built from parts of Linux where that is possible.
    memory_mib
        Memory of each machine, MiB.
    time_limit_s
        Time after which a machine is stopped, seconds.
    keep
        Folder for packets, connections and commands of each run that is made; not with ``harm``.
    store
        As in `gentle.compare`.
    progress
        Callable that is given the completed fraction, or whether to show a bar; by default where somebody watches.
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
        threads=threads,
        harm=harm,
        modules=modules,
        keep=keep,
        memory_mib=memory_mib,
        time_limit_s=time_limit_s,
    )
    machines = Machines(modules, memory_mib, time_limit_s)
    scenario = resolved(traffic, rate=rate, up_rate=up_rate, load=load, duration=duration, profile=profile, tcp=tcp)
    check_parts(scenario, harm)
    with reported(progress, f"measuring under {scenario.name}") as report:
        made = _core.testbed_compare(
            scenario,
            prepared(schemes),
            seed_list(seeds),
            list(bins),
            reference,
            harm,
            threads,
            machines,
            Path(keep) if keep is not None else None,
            records(store),
            report,
        )
    return Comparison(made)
