"""Comparisons on a real kernel."""

from __future__ import annotations

import json
import os
import signal
import threading
import time

import gentle
import polars as pl
import pytest
from test_queues import Fifo

SCENARIO = {
    "traffic": "real",
    "schemes": ["pfifo limit=50", "fq_codel"],
    "duration": "5s",
    "seeds": 1,
}


@pytest.fixture(scope="module", autouse=True)
def kernel() -> str:
    """Build the kernel unless that has been done.

    As in the other tests of the testbed, a computer that has no source of Linux passes unless GENTLE_TESTBED=required.
    """
    try:
        return gentle.testbed.build()
    except gentle.Error as error:
        if os.environ.get("GENTLE_TESTBED") == "required":
            raise
        pytest.skip(f"the testbed's kernel cannot be built here: {error}")


def test_results_are_those_of_the_command(kernel, command, tmp_path) -> None:
    comparison = gentle.testbed.compare(**SCENARIO, keep=tmp_path)
    args = [f"--scheme={scheme}" for scheme in SCENARIO["schemes"]]
    printed = command("testbed", "compare", "--traffic=real", "--duration=5s", "--seeds=1", "--json", "--quiet", *args)
    expected, found = json.loads(printed), comparison.data
    assert expected.keys() == found.keys()
    assert expected["scenario"] == found["scenario"]
    # Both have the same connections. Two runs differ in time by some microseconds, two runs of the command as well, and
    # now and then a run drops another packet.
    for theirs, ours in zip(expected["results"], found["results"], strict=True):
        assert theirs.keys() == ours.keys()
        assert (theirs["label"], theirs["connections"]) == (ours["label"], ours["connections"])
        assert ours["response_time_s"]["mean"] == pytest.approx(theirs["response_time_s"]["mean"], rel=0.2)
    assert f"Measured on Linux {kernel} in virtual time" in str(comparison.data["scenario"]["choices"])
    assert comparison.result("pfifo")["connections"] > 0
    assert {path.name for path in (tmp_path / "fq_codel-seed-1").iterdir()} >= {"entry.pcapng", "commands.sh"}


def test_harm_is_that_of_the_command(kernel, command, tmp_path) -> None:
    file = tmp_path / "call.toml"
    links = '[link.down]\nrate = "5mbit"\ndelay = "20ms"\n[link.up]\nrate = "1mbit"\ndelay = "20ms"\n'
    workloads = '[[workload]]\nkind = "voice"\n[[workload]]\nkind = "udp"\nrate = "6mbit"\nstart = "2s"\n'
    file.write_text(f'duration = "10s"\n{links}{workloads}')
    harmed = gentle.testbed.compare(file, ["pfifo limit=50"], seeds=1, harm=True)
    args = [f"--traffic={file}", "--scheme=pfifo limit=50", "--seeds=1", "--harm", "--json", "--quiet"]
    printed = json.loads(command("testbed", "compare", *args))
    (of_call,) = printed["results"][0]["harm"]
    assert of_call["values"][0] > 0.5
    (found,) = harmed.result("pfifo")["harm"]
    assert (found["part"], found["number"]) == (of_call["part"], of_call["number"])
    for state in ("alone", "together", "harm"):
        assert found[state]["mean"] == pytest.approx(of_call[state]["mean"], rel=0.01)
    assert pl.DataFrame(harmed.harm)["harm"].to_list() == found["values"]


def test_a_sweep_is_made_of_comparisons(kernel, tmp_path) -> None:
    grid = {
        "traffic": "real",
        "schemes": SCENARIO["schemes"],
        "seeds": 1,
        "axes": {"duration": "5s", "load": [0.6, 0.9]},
    }
    machines = gentle.testbed.Machines(memory_mib=256)
    result = gentle.sweep(grid, backend=machines, store=tmp_path, connections=True)
    rows = pl.DataFrame(result)
    assert set(rows["backend"]) == {f"Linux {kernel} in virtual time with stock parts"}
    assert f"Measured on Linux {kernel} in virtual time, not simulated." in result.assumptions
    compared = gentle.testbed.compare(**SCENARIO, load=0.9)
    for row in rows.filter(pl.col("load") == 0.9).iter_rows(named=True):
        there = compared.result(row["scheme"])
        assert row["connections"] == there["connections"]
        assert row["response_time_s.mean"] == pytest.approx(there["response_time_s"]["mean"], rel=0.2)
    assert len(pl.read_parquet(tmp_path / "connections/*.parquet")) == rows["connections"].sum()
    # The simulator's runs are different ones; the kernel's are stored already.
    assert gentle.sweep(grid, store=tmp_path).assumptions == []
    before = time.monotonic()
    assert len(gentle.sweep(grid, backend="testbed", store=tmp_path)) == 4
    assert time.monotonic() - before < 5


def test_mistakes_are_told(tmp_path, monkeypatch) -> None:
    with pytest.raises(gentle.InvalidInput, match=r"'Fifo' is a queue in Python, which runs only in the simulator"):
        gentle.testbed.compare(schemes=[Fifo])
    with pytest.raises(gentle.InvalidInput, match="keep: runs of single parts"):
        gentle.testbed.compare("calls", ["pfifo"], harm=True, keep=tmp_path)
    with pytest.raises(gentle.InvalidInput, match="memory_mib"):
        gentle.testbed.compare(memory_mib=1)
    with pytest.raises(gentle.InvalidInput, match="time_limit_s"):
        gentle.testbed.compare(time_limit_s=float("nan"))
    with pytest.raises(gentle.Error, match="had not finished after"):
        gentle.testbed.compare(**SCENARIO, time_limit_s=0.05)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    with pytest.raises(gentle.Error, match=r"gentle\.testbed\.build\(\)"):
        gentle.testbed.compare(**SCENARIO)
    monkeypatch.setattr("sys.platform", "darwin")
    with pytest.raises(gentle.Error, match="needs Linux, and this is darwin"):
        gentle.testbed.compare(**SCENARIO)


def test_ctrl_c_ends_the_machines() -> None:
    timer = threading.Timer(1.0, signal.raise_signal, [signal.SIGINT])
    timer.start()
    before = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        gentle.testbed.compare("real", ["pfifo"], duration="20000s", seeds=1)
    assert time.monotonic() - before < 30
    timer.join()
