"""Results outlive the interpreter: they pickle, are copied, and are read back from JSON."""

from __future__ import annotations

import copy
import pickle
import re
from pathlib import Path
from typing import Any

import gentle
import polars as pl
import pytest

GRID: dict[str, Any] = {"traffic": "short", "schemes": ["codel"], "seeds": 2, "axes": {"duration": "3s", "load": [0.5]}}


def kept(thing: Any) -> list[Any]:
    return [pickle.loads(pickle.dumps(thing)), copy.copy(thing), copy.deepcopy(thing)]


def undated(page: str) -> str:
    return re.sub(r"20\d\d-\d\d-\d\d[^<\"]*", "", page)


def test_comparisons() -> None:
    traffic = {
        "duration": "10s",
        "link": {"down": {"rate": "2mbit", "delay": "20ms"}, "up": {"rate": "1mbit", "delay": "20ms"}},
        "workload": [{"kind": "voice"}, {"kind": "poisson", "gap": "50ms", "size": {"zipf": 1.7, "max": 100}}],
    }
    for made in (
        gentle.compare("real", ["pfifo limit=5", "codel"], duration="20s", seeds=2),
        gentle.compare(traffic, ["pfifo limit=100", "fq_codel"], seeds=2, harm=True),
    ):
        for again in [*kept(made), gentle.Comparison.from_json(made.to_json())]:
            assert again.to_json() == made.to_json()
            assert str(again) == str(made)
            for table in ("runs", "applications", "harm"):
                assert pl.DataFrame(getattr(again, table)).equals(pl.DataFrame(getattr(made, table)))
            assert undated(again._core.html()) == undated(made._core.html())
    with pytest.raises(gentle.InvalidInput, match="not the JSON of a comparison of this version"):
        gentle.Comparison.from_json("{}")


def test_analyses(capture: Path) -> None:
    made = gentle.analyze(capture)
    for again in kept(made):
        assert again.to_json() == made.to_json()
        assert str(again) == str(made)
        one, two = pl.DataFrame(again), pl.DataFrame(made)
        assert one.schema == two.schema
        assert one.equals(two)
    again = gentle.Analysis.from_json(made.to_json())
    assert again._core.text(True) == made._core.text(True)
    with pytest.raises(gentle.InvalidInput, match="made without connections"):
        _ = pickle.loads(pickle.dumps(again)).connections


def test_sweeps(tmp_path: Path) -> None:
    (tmp_path / "grid.toml").write_text(
        'traffic = "short"\nschemes = ["codel"]\nseeds = 2\n[axes]\nduration = "3s"\nload = [0.5]\n'
    )
    expected = pl.DataFrame(gentle.sweep(GRID))
    for made in (
        gentle.sweep(GRID),
        gentle.sweep(GRID, store=tmp_path / "store"),
        gentle.sweep(GRID, store=f"file://{tmp_path}/store"),
        gentle.sweep(tmp_path / "grid.toml"),
    ):
        for again in kept(made):
            assert pl.DataFrame(again).equals(expected)
            assert repr(again) == repr(made)


def test_scenarios_that_were_checked(capture: Path, tmp_path: Path) -> None:
    """Scenarios of `replay` and `check` are kept with their changes."""
    (tmp_path / "flows.csv").write_text("start_s,bytes\n0.5,70000\n0,3000\n")
    flows = {"start_s": [0.5, 0.0], "bytes": [70_000, 3_000], "direction": ["up", "down"]}
    for made in (
        gentle.replay(capture),
        gentle.Scenario("real").check(),
        gentle.Scenario("short").check().changed(rate="1mbit", load=0.7, tcp={"initial_rto": "2s"}),
        gentle.scenario.from_flows(flows),
        gentle.scenario.resolved(tmp_path / "flows.csv"),
    ):
        expected = gentle.compare(made, ["codel"], rate="2mbit", duration="20s", seeds=1)
        for again in kept(made):
            found = gentle.compare(again, ["codel"], rate="2mbit", duration="20s", seeds=1)
            assert found.to_json() == expected.to_json()
            assert (again.name, again.assumptions, again.warnings) == (made.name, made.assumptions, made.warnings)


def test_predictions_and_reproductions() -> None:
    made = gentle.model(loss=0.01, segments=[10])
    _ = made.sizes
    for again in [*kept(made), gentle.Prediction.from_json(made.to_json())]:
        assert again.data == made.data
        assert pl.DataFrame(again).equals(pl.DataFrame(made))
    reproduction = gentle.reproduce("spa-2018", "fig3")
    _ = reproduction.claims
    for again in [*kept(reproduction), gentle.Reproduction.from_json(reproduction.to_json())]:
        assert again.data == reproduction.data


def test_tables_of_every_type() -> None:
    import pyarrow as pa

    made = gentle.Table.from_pydict({"text": ["a", None], "whole": [1, None], "number": [0.5, None]})
    for again in kept(made):
        assert pa.table(again).equals(pa.table(made))


def test_exceptions() -> None:
    """Both classes have one base, and pickle."""
    assert issubclass(gentle.InvalidInput, gentle.Error)
    assert issubclass(gentle.InvalidInput, ValueError)
    for error in (gentle.Error("one"), gentle.InvalidInput("two")):
        again = pickle.loads(pickle.dumps(error))
        assert type(again) is type(error)
        assert str(again) == str(error)


def test_what_is_printed() -> None:
    assert "codel" in str(gentle.sweep(GRID)).splitlines()[1]
    shown = str(gentle.model(loss=0.01, segments=[10]))
    assert "10" in shown
    assert "RTO" in shown


def test_a_name_of_a_sweep_reads_no_table(monkeypatch) -> None:
    """A million runs have a repr."""
    made = gentle.sweep(GRID)
    monkeypatch.setattr(type(made), "_read", None)
    assert repr(made) == "<gentle.Sweep of 2 runs at 1 points>"
