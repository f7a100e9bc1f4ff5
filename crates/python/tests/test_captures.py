"""Analysis of many captures: the bytes of the command on every executor, whatever workers die."""

from __future__ import annotations

import signal
import threading
import time
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import gentle
import polars as pl
import pytest
from cluster import Cluster
from gentle import executors

RECORD = "*.json.zst"


@pytest.fixture(scope="session")
def captures(command, tmp_path_factory) -> list[Path]:
    """Return eight captures of a minute each, two of which are parts of one by their names."""
    folder = tmp_path_factory.mktemp("captures")
    names = [f"office-{number}.pcap" for number in range(6)]
    names += ["gate_00001_20260131120000.pcapng", "gate_00002_20260131120200.pcapng"]
    for number, name in enumerate(names):
        command(
            "sim", "real", "--scheme=pfifo limit=50", "--duration=60s", f"--load={80 + number}%",
            f"--pcap={folder / name}", "--quiet",
        )  # fmt: skip
    return [folder / name for name in names]


@pytest.fixture(scope="session")
def expected(command, captures, tmp_path_factory) -> str:
    """Return what the command prints of them."""
    folder = tmp_path_factory.mktemp("records")
    printed = command("analyze", *map(str, captures), "--json", "--quiet", f"--record={folder}")
    assert len(list(folder.glob(RECORD))) == 7
    return printed


def analyzed(captures: list[Path], **rest: Any) -> str:
    """Return the JSON of an analysis, as the command ends it."""
    return gentle.analyze(captures, **rest).to_json() + "\n"


@pytest.mark.filterwarnings("ignore:.*have connections in common")
def test_every_executor_has_the_bytes_of_the_command(captures, expected) -> None:
    assert analyzed(captures, executor=1) == expected
    assert analyzed(captures[::-1], executor=2) == expected
    with ProcessPoolExecutor(2, mp_context=get_context("spawn")) as pool:
        assert analyzed(captures, executor=pool) == expected


@pytest.mark.filterwarnings("ignore:.*have connections in common")
def test_a_store_is_one_of_the_command_and_goes_on(command, captures, expected, tmp_path) -> None:
    store, tables = tmp_path / "records", tmp_path / "connections"
    analyzed(captures[:3], store=store, connections=tables)
    first = {path: path.stat().st_mtime_ns for path in store.glob(RECORD)}
    assert len(first) == 3
    assert analyzed(captures, store=store, connections=tables) == expected
    assert {path: path.stat().st_mtime_ns for path in first} == first
    assert command("merge", str(store), "--json") == expected
    # The command also resumes from the store.
    next(iter(first)).unlink()
    assert command("analyze", *map(str, captures), "--json", "--quiet", f"--record={store}") == expected
    # A row for each connection, as in one pass over each capture.
    rows = pl.read_parquet(tables / "*" / "connections.parquet")
    single = [len(gentle.analyze(captures[number]).connections) for number in range(6)]
    assert len(rows) == sum(single) + len(gentle.analyze(captures[6:]).connections)


@pytest.mark.filterwarnings("ignore:.*have connections in common")
def test_records_without_their_table_are_made_again(captures, tmp_path) -> None:
    store, tables = tmp_path / "records", tmp_path / "connections"
    analyzed(captures[:2], store=store)
    analyzed(captures[:2], store=store, connections=tables)
    assert len(list(tables.glob("task=*/connections.parquet"))) == 2


def test_of_copies_the_first_counts_whichever_ends_first(captures, tmp_path) -> None:
    copies = [tmp_path / name for name in ("b.pcap", "a.pcap", "c.pcap")]
    for path in copies:
        path.write_bytes(captures[0].read_bytes())

    class Backwards(executors.Threads):
        def as_completed(self, futures: Any) -> Any:
            ended = super().as_completed(futures)
            return list(futures)[::-1] if len(ended) == len(futures) else []

    found = {analyzed(copies, executor=executor) for executor in (1, 2, Backwards(2))}
    assert len(found) == 1
    assert "b.pcap" in found.pop()


def test_captures_that_continue_one_another_are_one_task(captures, tmp_path) -> None:
    for continuing, tasks in (("name", 7), ("none", 8), ("all", 1), ("directory", 1)):
        made = gentle._core.capture_tasks(captures, continuing=continuing)
        assert len(made) == tasks, continuing
    with pytest.raises(gentle.InvalidInput, match="expected name, directory, all or none"):
        gentle.analyze(captures, executor=1, continuing="some")
    # Among packets with the same time, the first capture's come first.
    assert analyzed(captures, executor=1, continuing="all") == analyzed(sorted(captures))


def test_interfaces_are_chosen_by_name(command, captures) -> None:
    entry = analyzed(captures[6:7], executor=1)
    exit_ = ["down exit", "up exit"]
    printed = command("analyze", str(captures[6]), "--interface=down exit", "--interface=up exit", "--json", "--quiet")
    assert analyzed(captures[6:7], interfaces=exit_) == printed != entry
    assert analyzed(captures[6:7], interfaces=exit_, executor=1) == printed
    with pytest.raises(gentle.Error, match="down exits"):
        gentle.analyze(captures[6], interfaces=["down exits"])


def test_mistakes_are_exceptions_with_sentences(captures, tmp_path) -> None:
    with pytest.raises(gentle.InvalidInput, match="a file for each task"):
        gentle.analyze(captures[0], connections=tmp_path)
    with pytest.raises(gentle.InvalidInput, match="expected a directory or URL"):
        gentle.analyze(captures[0], connections=True, executor=1)
    with pytest.raises(gentle.InvalidInput, match="executor: 'dask' is not an executor"):
        gentle.analyze(captures[0], executor="dask")
    with pytest.raises(gentle.InvalidInput, match="local: expected an address"):
        gentle.analyze(captures[0], executor=1, local=["office"])
    (tmp_path / "no.pcap").write_text("no capture")
    with pytest.raises(gentle.Error, match=r"no\.pcap"):
        gentle.analyze([captures[0], tmp_path / "no.pcap"], executor=1)
    with pytest.raises(gentle.Error, match=r"gone\.pcap"):
        gentle.analyze(tmp_path / "gone.pcap", executor=1)
    with pytest.raises(gentle.InvalidInput, match="made without connections"):
        _ = gentle.analyze(captures[0], executor=1).connections

    class Older(executors.Threads):
        def submit(self, work: executors.Work, task: bytes, shared: Any) -> Any:
            before, engine = task.split(b'"engine":"')
            return super().submit(work, before + b'"engine":"00000000' + engine[8:], shared)

    with pytest.raises(
        gentle.Error, match=r"made by another build of gentle \(engine 00000000\).*install one build everywhere"
    ):
        gentle.analyze(captures[0], executor=Older(1))


@pytest.mark.filterwarnings("ignore:.*have connections in common")
def test_dask_with_a_killed_worker(cluster: Cluster, client: Any, captures, expected, tmp_path) -> None:
    """The captures of a worker that is killed are analysed by another."""
    store = tmp_path / "records"

    def kill() -> None:
        until = time.monotonic() + 30
        while not list(store.glob(RECORD)) and time.monotonic() < until:
            time.sleep(0.001)
        cluster.processes[1].send_signal(signal.SIGKILL)

    killer = threading.Thread(target=kill)
    killer.start()
    found = analyzed(captures, executor=client, store=store)
    killer.join()
    assert found == expected
    assert cluster.processes[1].wait(10) == -signal.SIGKILL
