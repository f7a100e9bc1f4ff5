"""The example of a search: options of a scheme under the traffic that is worst for them."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import gentle
import optuna
import pytest
from gentle.store import Folder

EXAMPLE = Path(__file__).parents[1] / "examples" / "worst_traffic.py"


def test_a_search_finds_what_its_runs_say(tmp_path: Path) -> None:
    """The worst point equals the table's, the search is deterministic, and a second search repeats no run."""
    found = importlib.util.spec_from_file_location("worst_traffic", EXAMPLE)
    assert found
    assert found.loader
    example = importlib.util.module_from_spec(found)
    found.loader.exec_module(example)
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    grid = {"duration": "10s", "load": [0.6, 1.2]}
    study = example.search(4, grid, 2, str(tmp_path))
    assert study.trials[0].user_attrs["scheme"] == "codel target=5.0ms interval=100ms"
    assert study.best_value == min(trial.value for trial in study.trials)
    files = Folder(tmp_path).names()
    again = example.search(4, grid, 2, str(tmp_path))
    assert [trial.value for trial in again.trials] == [trial.value for trial in study.trials]
    assert Folder(tmp_path).names() == files
    table = gentle.sweep(grid, ["codel target=5ms interval=100ms"], 2).to_xarray([example.METRIC])
    means = table[example.METRIC].mean("seed")
    assert study.trials[0].value == pytest.approx(float(means.max()))
