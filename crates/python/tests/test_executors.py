"""What executors do about work that fails and workers that die."""

from __future__ import annotations

import signal
import threading
import time
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from dataclasses import dataclass
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import gentle
import polars as pl
import pytest
import works
from cluster import Cluster
from gentle import executors, sweeps
from works import POISON, doubled, dying, full, late, odd


@dataclass(frozen=True)
class Numbers:
    """A task of numbers, each of which is a part."""

    content: bytes

    def __str__(self) -> str:
        return f"numbers {list(self.content)}"

    def parts(self) -> list[Numbers]:
        return [Numbers(bytes([number])) for number in self.content] if len(self.content) > 1 else []


def driven(executor: Any, work: Any, tasks: list[bytes]) -> list[int]:
    found: list[int] = []
    made = executors.adapted(executor)
    executors.drive(made, work, None, map(Numbers, tasks), lambda _, result: found.extend(result))
    return sorted(found)


BATCHES = [bytes(range(start, start + 20)) for start in range(0, 100, 20)]


@pytest.mark.parametrize("kind", ["threads", "processes", "own"])
def test_errors_of_the_work_are_those_of_the_work(kind: str) -> None:
    """An OSError or TimeoutError of the work is not a dead worker: it is raised at once, unchanged."""

    def call(work: Any) -> list[int]:
        match kind:
            case "threads":
                with ThreadPoolExecutor(2) as pool:
                    return driven(pool, work, BATCHES)
            case "processes":
                with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
                    return driven(pool, work, BATCHES)
            case _:
                return driven(2, work, BATCHES)

    assert call(doubled) == [2 * number for number in range(100)]
    with pytest.raises(OSError, match="No space left on device"):
        call(full)
    with pytest.raises(TimeoutError, match="too late for") as caught:
        call(late)
    assert "in late" in "".join(caught.value.__notes__)
    # As itself where it pickles after all: distributed makes more exceptions do so.
    with pytest.raises((gentle.Error, works.OddError), match="salt and pepper"):
        call(odd)


def test_dask_tells_errors_of_the_work_from_dead_workers(client: Any) -> None:
    for work, error in ((full, OSError), (late, TimeoutError), (odd, (gentle.Error, works.OddError))):
        client.upload_file(str(Path(works.__file__)))
        with pytest.raises(error):
            driven(client, work, BATCHES)


def respawning(cluster: Cluster, deaths: list[int], until: Any) -> None:
    """Keep two workers alive."""
    while not until.is_set():
        for process in [*cluster.processes[1:]]:
            if process.poll() is not None and process.pid not in deaths:
                deaths.append(process.pid)
                cluster.start_worker()
        time.sleep(0.05)


def test_dask_names_the_run_that_kills_workers(cluster: Cluster, client: Any, tmp_path: Path) -> None:
    """A batch that kills its worker is split; the others of it are made, and the one that does it is named."""
    client.upload_file(str(Path(works.__file__)))
    deaths: list[int] = []
    done = threading.Event()
    keeper = threading.Thread(target=respawning, args=(cluster, deaths, done))
    keeper.start()
    found: list[int] = []
    try:
        with pytest.raises(gentle.Error, match=r"1 task killed every worker") as caught:
            executors.drive(
                executors.adapted(client), dying, None, map(Numbers, BATCHES), lambda _, result: found.extend(result)
            )
    finally:
        done.set()
        keeper.join()
    assert "numbers [42]: 8 workers died running it" in str(caught.value)
    assert sorted(found) == [2 * number for number in range(100) if number != POISON]
    assert len(deaths) <= 14


class Deadly(executors.Threads):
    """Threads in which certain tasks kill their worker, as an executor without its own retries reports."""

    def __init__(self, *poison: bytes) -> None:
        super().__init__(2)
        self.poison = poison
        self.deaths = 0
        self.doomed: set[Any] = set()

    def submit(self, work: executors.Work, task: bytes, shared: Any) -> Any:
        future = super().submit(work, task, shared)
        if any(poison in task for poison in self.poison):
            self.doomed.add(future)
        return future

    def result(self, future: Any) -> Any:
        if future in self.doomed:
            self.deaths += 1
            raise executors.LostError("died", deaths=1)
        return super().result(future)


class Shared(executors.Threads):
    """One worker that has all tasks; each that is poison takes the rest with it."""

    def __init__(self) -> None:
        super().__init__(1)
        self.tasks: dict[Any, bytes] = {}
        self.dies = False

    def submit(self, work: executors.Work, task: bytes, shared: Any) -> Any:
        future = super().submit(work, task, shared)
        self.tasks[future] = task
        return future

    def as_completed(self, futures: Any) -> Any:
        self.dies = any(POISON in self.tasks[future] for future in futures)
        return list(futures)

    def result(self, future: Any) -> Any:
        if self.dies:
            raise executors.LostError("died", deaths=4)
        return super().result(future)


def test_runs_that_share_a_worker_with_a_deadly_one_are_not_blamed() -> None:
    """They are tried alone before they are abandoned."""
    found: list[int] = []
    with pytest.raises(gentle.Error, match=r"1 task killed every worker") as caught:
        executors.drive(Shared(), doubled, None, map(Numbers, BATCHES), lambda _, result: found.extend(result))
    assert f"numbers [{POISON}]: 8 workers died running it" in str(caught.value)
    assert sorted(found) == [2 * number for number in range(100) if number != POISON]


def test_a_sweep_names_the_run_that_kills_workers(tmp_path: Path) -> None:
    """By point, scheme and seed; the other runs are in the store."""
    grid = {
        "traffic": "short",
        "schemes": ["codel", "pie"],
        "seeds": [3, 5],
        "axes": {"duration": "2s", "load": [0.5, 0.9]},
    }
    plan = sweeps.planned(grid, {}, None)
    _, _, _, seconds = plan.survey()
    plan.begin(seconds, 1)
    name, content, runs = plan.next_batch()
    assert runs == 8
    parts = gentle._core.split_batch(content)
    assert [part[2] for part in parts] == [1] * 8
    assert len({part[0] for part in parts} | {name}) == 9
    assert [gentle._core.describe_batch(part[1]) for part in parts][:2] == [
        "duration = 2, load = 0.5, codel, seed 3",
        "duration = 2, load = 0.5, codel, seed 5",
    ]
    assert gentle._core.describe_batch(content) == "duration = 2, load = 0.5, codel, seed 3 and 7 more runs"
    executor = Deadly(b'"seeds":[3,5]', b'"seeds":[5]')
    with pytest.raises(gentle.Error, match="4 tasks killed every worker") as caught:
        gentle.sweep(grid, executor=executor, store=tmp_path)
    lines = str(caught.value).splitlines()[1:]
    assert sorted(lines) == [
        f"duration = 2, load = {load}, {scheme}, seed 5: 8 workers died running it"
        for load in (0.5, 0.9)
        for scheme in ("codel", "pie")
    ]
    frame = pl.DataFrame(gentle.sweep(grid | {"seeds": [3]}, executor=Deadly(), store=tmp_path))
    assert len(frame) == 4


def test_one_bad_capture_does_not_end_the_analysis(capture: Path, tmp_path: Path) -> None:
    """The others are recorded, and all bad ones are named."""
    paths = [tmp_path / name for name in ("a.pcap", "good.pcapng", "b.pcap", "empty.pcap")]
    paths[0].write_text("no capture")
    paths[1].symlink_to(capture)
    paths[2].write_text("no capture either")
    paths[3].write_bytes(b"")
    store = tmp_path / "records"
    with pytest.raises(gentle.Error) as caught:
        gentle.analyze(paths, executor=2, store=store)
    text = str(caught.value)
    assert all(name in text for name in ("a.pcap: ", "b.pcap: ", "empty.pcap: "))
    assert "records of the others (1) are in the store" in text
    assert len(list(store.iterdir())) == 1
    with pytest.warns(UserWarning, match=r"left out: .*(a|b|empty)\.pcap: ") as warned:
        found = gentle.analyze(paths, executor=2, store=store, errors="warn")
    assert len(warned) == 3
    assert all(warning.filename == __file__ for warning in warned)
    assert found.to_json() == gentle.analyze(paths[1], executor=1).to_json()
    with pytest.raises(gentle.Error, match=r"a\.pcap: "):
        gentle.analyze(paths[:1], executor=1, errors="warn")
    with pytest.raises(gentle.InvalidInput, match="errors: 'ignore'; expected raise or warn"):
        gentle.analyze(paths, executor=1, errors="ignore")


def test_ctrl_c_ends_the_work_of_a_pool_of_threads() -> None:
    timer = threading.Timer(0.3, signal.raise_signal, [signal.SIGINT])
    before = time.monotonic()
    timer.start()
    with ThreadPoolExecutor(2) as pool, pytest.raises(KeyboardInterrupt):
        gentle.sweep({"duration": "80000s", "load": [0.5, 0.9]}, ["codel"], 2, executor=pool)
    assert time.monotonic() - before < 20


@pytest.mark.parametrize("executor", [-1, 0, True, 1.5, "2", object()])
def test_what_is_no_executor(executor: Any) -> None:
    with pytest.raises(gentle.InvalidInput, match=r"executor: .* is not an executor; expected None, a number"):
        gentle.sweep({"duration": "1s"}, ["codel"], 1, executor=executor)
