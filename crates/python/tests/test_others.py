"""The model, papers and captures."""

from __future__ import annotations

from pathlib import Path

import gentle
import pytest
from conftest import without_command


def test_the_model_is_that_of_the_command(command) -> None:
    printed = command("model", "--loss=0.05", "--rto=1s", "--segments=10,100", "--json")
    assert gentle.model(loss=0.05, rto=1.0, segments=[10, 100]).to_json() + "\n" == without_command(printed)


def test_the_model_is_a_table_and_a_plot() -> None:
    import polars as pl

    prediction = gentle.model()
    frame = pl.DataFrame(prediction)
    assert frame["initial_rto_s"].unique().to_list() == [1.0, 3.0]
    assert frame["handshake_s"].min() > 0.1
    assert len(prediction.plot().lines) == 3
    with pytest.raises(gentle.InvalidInput, match="backoff"):
        gentle.model(backoff="none")
    with pytest.raises(gentle.InvalidInput, match="loss"):
        gentle.model(loss=2)


def test_a_figure_is_reproduced(command) -> None:
    import polars as pl

    reproduction = gentle.reproduce("spa-2018", "fig3")
    printed = command("reproduce", "spa-2018", "fig3", "--json", "--quiet")
    assert reproduction.to_json() + "\n" == printed
    assert "spa-2018" in gentle.papers()
    claims = pl.DataFrame(reproduction)
    assert set(claims["verdict"]) <= {"agrees", "agrees in order", "differs", "not published"}
    assert len(reproduction.plot("fig3").axes) >= 1
    assert "fig3/" in reproduction._repr_html_()
    with pytest.raises(gentle.InvalidInput, match="did you mean 'fig3'"):
        gentle.reproduce("spa-2018", "fig33")


def test_a_capture_is_analysed(capture: Path, command) -> None:
    import polars as pl

    analysis = gentle.analyze(capture)
    printed = command("analyze", str(capture), "--json")
    assert analysis.to_json() + "\n" == printed
    connections = pl.DataFrame(analysis)
    assert len(connections) == len(analysis.connections) > 0
    assert str(connections["start"].dtype) == "Datetime(time_unit='ns', time_zone='UTC')"
    assert connections["handshake_lost"].sum() > 0
    assert str(analysis) == analysis.report()
    assert repr(analysis) == f"<gentle.Analysis of {capture}>"
    assert all(isinstance(text, str) for text in analysis.warnings)
    assert "<pre>" in analysis._repr_html_()


def test_mistakes_with_captures(tmp_path: Path, capture: Path) -> None:
    with pytest.raises(gentle.Error, match="cannot be read"):
        gentle.analyze(tmp_path / "none.pcap")
    with pytest.raises(gentle.Error, match="directory"):
        gentle.analyze(tmp_path)
    broken = tmp_path / "broken.pcap"
    broken.write_bytes(b"not a capture at all")
    with pytest.raises(gentle.Error, match=r"broken\.pcap"):
        gentle.analyze(broken)
    with pytest.raises(gentle.InvalidInput, match="local"):
        gentle.analyze(capture, local=["somewhere"])
    with pytest.raises(gentle.InvalidInput, match="connections=True"):
        _ = gentle.analyze(capture, connections=False).connections


def test_lists() -> None:
    names = [scheme["name"] for scheme in gentle.schemes()]
    assert {"pfifo", "codel", "spa"} <= set(names)
    profiles = {profile["name"]: profile["knobs"] for profile in gentle.profiles()}
    assert profiles["freebsd-9.3"]["initial_rto"] == "3s"
