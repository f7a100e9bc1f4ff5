"""Comparisons: the same numbers as the command, as tables and in notebooks."""

from __future__ import annotations

import json
import pickle
import signal
import threading
import time
from pathlib import Path

import gentle
import pytest
from conftest import without_command

SCHEMES = ["pfifo limit=50", "codel", "spa"]


@pytest.fixture(scope="module")
def comparison() -> gentle.Comparison:
    return gentle.compare("real", SCHEMES, duration="30s", seeds=3)


def test_numbers_are_those_of_the_command(comparison: gentle.Comparison, command) -> None:
    args = [f"--scheme={scheme}" for scheme in SCHEMES]
    printed = command("compare", "--traffic=real", "--duration=30s", "--seeds=3", "--json", *args)
    assert comparison.to_json() + "\n" == without_command(printed)
    assert json.loads(comparison.to_json()) == comparison.data


def test_runs_are_a_table_that_libraries_take(comparison: gentle.Comparison) -> None:
    import duckdb
    import pandas as pd
    import polars as pl
    import pyarrow as pa

    frame = pl.DataFrame(comparison)
    assert frame.shape == (9, len(comparison.runs.column_names))
    table = pa.table(comparison)
    assert table.column("scheme").to_pylist() == [s for s in comparison.schemes for _ in range(3)]
    assert table.column("seed").to_pylist() == [1, 2, 3] * 3
    means = frame.group_by("scheme", maintain_order=True).agg(pl.col("loss.all").mean())
    expected = [comparison.result(scheme)["loss"]["all"] for scheme in comparison.schemes]
    assert means["loss.all"].to_list() == pytest.approx(expected)
    assert list(pd.DataFrame.from_arrow(comparison)["seed"]) == [1, 2, 3] * 3
    assert duckdb.sql("select count(*), min(seed) from comparison").fetchall() == [(9, 1)]


def test_without_applications_their_table_is_empty(comparison: gentle.Comparison) -> None:
    import polars as pl

    frame = pl.DataFrame(comparison.applications)
    assert frame.is_empty()
    assert frame.columns[:5] == ["scheme", "scheme_name", "application", "kind", "seed"]
    assert "delay_s.p99" in frame.columns


FAMILY = """
duration = "20s"
[link.down]
rate = "5mbit"
delay = "20ms"
[link.up]
rate = "1mbit"
delay = "20ms"
[[workload]]
kind = "voice"
[[workload]]
kind = "long"
[[workload]]
kind = "video_call"
direction = "up"
[[workload]]
kind = "poisson"
gap = "500ms"
size = { zipf = 2.0, max = 100 }
group = "web"
"""
"""A scenario with two applications, one of which is measured by two numbers, and a group of connections."""


def test_harm_is_that_of_the_command(command, tmp_path: Path) -> None:
    import polars as pl

    file = tmp_path / "family.toml"
    file.write_text(FAMILY)
    told: list[float] = []
    harmed = gentle.compare(file, ["pfifo limit=100", "fq_codel"], seeds=2, harm=True, progress=told.append)
    args = ["--scheme=pfifo limit=100", "--scheme=fq_codel", "--seeds=2", "--harm", "--json", "--quiet"]
    printed = json.loads(command("compare", f"--traffic={file}", *args))
    assert harmed.data["results"] == printed["results"]
    assert all(0 <= fraction <= 1 for fraction in told)
    frame = pl.DataFrame(harmed.harm)
    assert frame.columns == ["scheme", "scheme_name", "part", "kind", "number", "seed", "harm"]
    numbers = ["delay_s.p99", "delay_s.p99", "goodput_bps.mean", "response_time_s.mean"]
    of_fifo = frame.filter(scheme_name="pfifo", seed=2)
    assert of_fifo["number"].to_list() == numbers
    assert of_fifo["part"].to_list() == ["voice", "video_call", "video_call", "web"]
    assert of_fifo["kind"].to_list() == ["voice", "video_call", "video_call", None]
    for scheme in harmed.schemes:
        rows = frame.filter(scheme=scheme)["harm"].to_list()
        assert rows == [value for of in harmed.result(scheme)["harm"] for value in of["values"]]
    # Without it nothing runs alone, and the other results are the same.
    plain = gentle.compare(file, ["pfifo limit=100", "fq_codel"], seeds=2)
    assert len(plain.harm) == 0
    assert plain.harm.column_names == frame.columns
    assert pl.DataFrame(plain).equals(pl.DataFrame(harmed))
    with pytest.warns(UserWarning, match="no part to run alone"):
        gentle.compare("short", ["codel"], duration="1s", seeds=1, harm=True)


def test_no_library_copies_the_table(comparison: gentle.Comparison) -> None:
    import pandas as pd
    import polars as pl
    import pyarrow as pa

    def address(column: pa.ChunkedArray) -> int:
        return column.chunk(0).buffers()[1].address

    table = pa.table(comparison)
    for name in ("seed", "loss.all"):
        expected = address(table[name])
        assert address(pa.table(comparison)[name]) == expected
        assert pl.DataFrame(comparison)[name].to_numpy().__array_interface__["data"][0] == expected
        frame = table.to_pandas(types_mapper=pd.ArrowDtype)
        assert address(frame[name].array.__arrow_array__()) == expected


def test_grids_plots_and_notebooks(comparison: gentle.Comparison, tmp_path: Path) -> None:
    grid = comparison.to_xarray()
    assert dict(grid.sizes) == {"scheme": 3, "seed": 3}
    spa = grid["loss.syn"].sel(scheme="spa")
    assert float(spa.max()) == 0.0
    axes = comparison.plot()
    assert [label.get_text() for label in axes.get_yticklabels()] == comparison.schemes
    assert comparison._repr_html_().count("<tr>") == 4
    page = tmp_path / "report.html"
    comparison.save(page)
    assert "codel" in page.read_text()
    assert "pfifo limit=50" in str(comparison)
    with pytest.raises(gentle.InvalidInput, match="expected one of"):
        comparison.plot("loss.everything")


def test_every_kind_of_traffic(tmp_path: Path) -> None:
    import polars as pl

    flows = pl.DataFrame({"start_s": [0.0, 0.1, 0.2], "bytes": [1000, 30000, 500], "rtt_s": [0.05, None, 0.1]})
    of_frame = gentle.compare(flows, ["codel"], rate="2mbit", seeds=1)
    assert of_frame.result("codel")["connections"] == 3
    listed = tmp_path / "flows.csv"
    listed.write_text("start_s,bytes,rtt_s\n0.0,1000,0.05\n0.1,30000,\n0.2,500,0.1\n")
    of_file = gentle.compare(listed, ["codel"], rate="2mbit", seeds=1)
    assert of_file.result("codel")["response_time_s"] == of_frame.result("codel")["response_time_s"]
    scenario = gentle.Scenario("short")
    scenario.duration = "20s"
    by_scenario = gentle.compare(scenario, ["codel"], seeds=1)
    by_mapping = gentle.compare(scenario.to_dict(), ["codel"], seeds=1)
    assert by_scenario.result("codel")["loss"] == by_mapping.result("codel")["loss"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"traffic": "reel"}, "expected a scenario file, or one of real"),
        ({"schemes": ["codle"]}, "did you mean 'codel'"),
        ({"schemes": ["codel target=5"]}, "target"),
        ({"rate": "ten"}, "rate: "),
        ({"load": -1.0}, "load: "),
        ({"seeds": []}, "seeds: "),
        ({"bins": [3, 2]}, "bins: "),
        ({"reference": "sfq", "schemes": ["codel"]}, "reference: "),
        ({"tcp": {"initial_rtoo": "1s"}}, "tcp: "),
        ({"traffic": {"duration": "10s"}}, "link"),
        ({"traffic": {"start_s": [0.0]}}, "no column bytes"),
        ({"traffic": 3}, "expected a DataFrame"),
    ],
)
def test_mistakes_are_value_errors_with_a_sentence(arguments: dict[str, object], message: str) -> None:
    with pytest.raises(gentle.InvalidInput, match=message) as caught:
        gentle.compare(**arguments)
    assert isinstance(caught.value, ValueError)


def test_other_threads_run_meanwhile_and_progress_is_told() -> None:
    ticks = 0
    done = threading.Event()

    def tick() -> None:
        nonlocal ticks
        while not done.is_set():
            ticks += 1
            time.sleep(0.001)

    thread = threading.Thread(target=tick)
    thread.start()
    told: list[float] = []
    gentle.compare("real", ["codel", "spa"], duration="1000s", seeds=4, progress=told.append, threads=1)
    done.set()
    thread.join()
    assert ticks > 20
    assert told == sorted(told)
    assert all(0 <= fraction <= 1 for fraction in told)


def test_an_exception_of_progress_stops_the_runs() -> None:
    def fail(_: float) -> None:
        raise RuntimeError("enough")

    before = time.monotonic()
    with pytest.raises(RuntimeError, match="enough"):
        gentle.compare("real", ["codel"], duration="20000s", seeds=8, progress=fail)
    assert time.monotonic() - before < 20


def test_ctrl_c_stops_the_runs() -> None:
    timer = threading.Timer(0.3, signal.raise_signal, [signal.SIGINT])
    timer.start()
    with pytest.raises(KeyboardInterrupt):
        gentle.compare("real", ["codel"], duration="20000s", seeds=8, progress=False)
    timer.join()


def test_scenarios_are_copied_and_pickled() -> None:
    scenario = gentle.Scenario("real")
    other = scenario.copy()
    other.link.down.rate = "10mbit"
    assert scenario.link.down.rate == "2.4mbit"
    restored = pickle.loads(pickle.dumps(other))
    assert restored.to_dict() == other.to_dict()
    assert restored.check().name == "real"
    scenario.workload[0].gap = "100ms"
    assert scenario.to_dict()["workload"][0]["gap"] == "100ms"
    with pytest.raises(AttributeError, match="no key 'lnk'"):
        _ = scenario.lnk
    assert "initial_rto" in dir(scenario.hosts)
