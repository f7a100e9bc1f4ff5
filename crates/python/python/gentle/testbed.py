"""Comparisons on a real Linux kernel in virtual time (``docs/concepts/testbed.md``). Linux only.

A machine is user-mode Linux: Linux as an ordinary process, whose clock skips idle time. It needs no privileges, and
other programs on the computer do not disturb it. ::

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

from gentle import _arguments, _core, _runs
from gentle._progress import Report, reported
from gentle.comparison import Comparison, check_executor, check_parts, seed_list
from gentle.queue import prepared
from gentle.scenario import resolved
from gentle.store import Store, records


def _check_system() -> None:
    if sys.platform != "linux":
        raise _core.Error(
            f"the testbed needs Linux, and this is {sys.platform}; gentle.compare simulates on any system"
        )


@dataclass(frozen=True)
class Machines:
    """Settings of the testbed's machines.

    Parameters
    ----------
    modules
        Folder ``kernel`` of gentle's source: its modules implement the schemes that Linux does not have. By default
        such schemes are built from parts of Linux where possible.
    memory_mib
        Memory of each machine, MiB.
    time_limit_s
        Time after which a machine is stopped, in seconds.
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
            raise _core.Error(f"{script}: a machine's kernel accepts no path with spaces; install gentle-net elsewhere")
        return os.path.realpath(sys.executable), ["-I", "-S", "-B", script]


def build(source: str | PathLike[str] | None = None, *, progress: Report | bool | None = None) -> str:
    """Build the testbed's kernel, once for a user, and return its version.

    It takes some ten minutes and needs a compiler; ``docs/concepts/testbed.md`` lists the tools. An existing kernel is
    reused.

    Parameters
    ----------
    source
        Source of Linux, an archive or a folder; by default the distribution's.
    progress
        Callable that receives the completed fraction of a stage, or whether to show a bar; by default in notebooks and
        terminals.
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
    executor: Any = None,
    modules: str | PathLike[str] | None = None,
    memory_mib: int = 512,
    time_limit_s: float = 600.0,
    keep: str | PathLike[str] | None = None,
    store: str | PathLike[str] | Store | None = None,
    progress: Report | bool | None = None,
) -> Comparison:
    """Measure the same traffic under several queue schemes on Linux, as `gentle.compare` does in the simulator.

    A machine boots for each scheme and seed. The comparison's assumptions list differences from the scenario.

    Parameters
    ----------
    traffic, rate, up_rate, load, duration, profile, tcp, seeds, bins, reference, harm
        As in `gentle.compare`.
    schemes
        Schemes with their options; by default the schemes of the scenario. Queues in Python run only in the simulator.
    threads
        Number of machines at a time; by default one per core.
    executor
        As in `gentle.compare`; not with ``keep``. Every worker needs the kernel: `build`.
    modules
        Folder ``kernel`` of gentle's source: its modules implement the schemes that Linux does not have. By default
        such schemes are built from parts of Linux where possible.
    memory_mib
        Memory of each machine, MiB.
    time_limit_s
        Time after which a machine is stopped, in seconds.
    keep
        Folder for the packets, connections and commands of each run; not with ``harm``.
    store
        As in `gentle.compare`.
    progress
        Callable that receives the completed fraction, or whether to show a bar; by default in notebooks and terminals.
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
    queues, numbers, sizes, kept = prepared(schemes), seed_list(seeds), list(bins), records(store)
    folder = Path(keep) if keep is not None else None
    with reported(progress, f"measuring under {scenario.name}") as report:
        if executor is not None:
            check_executor(executor, threads)
            if folder is not None:
                raise _core.InvalidInput("keep: it is a folder of this machine; expected it without executor")
            kept = _runs.made(scenario, queues, numbers, sizes, harm, kept, executor, report, machines)
            report = None
        made = _core.testbed_compare(
            scenario, queues, numbers, sizes, reference, harm, threads, machines, folder, kept, report
        )
    return Comparison(made)
