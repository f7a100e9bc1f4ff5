"""Mistakes are exceptions with the sentences of the command."""

from __future__ import annotations

from typing import Any

import gentle
import numpy as np
import polars as pl
import pytest

SCENARIO = """
duration = "10s"
[link.down]
rate = "1mbit"
delay = "10ms"
qdisk = "codel"
"""


@pytest.mark.parametrize(
    ("call", "args"),
    [
        (lambda: gentle.compare(schemes=["codle"]), ["compare", "--scheme=codle"]),
        (lambda: gentle.compare(schemes=["codel target=5"]), ["compare", "--scheme=codel target=5"]),
        (lambda: gentle.compare(schemes=["pfifo limit"]), ["compare", "--scheme=pfifo limit"]),
        (lambda: gentle.compare(rate="ten"), ["compare", "--rate=ten"]),
        (lambda: gentle.compare(duration="1 fortnight"), ["compare", "--duration=1 fortnight"]),
        (lambda: gentle.compare(tcp={"initial_rtoo": "1s"}), ["compare", "--tcp=initial_rtoo=1s"]),
        (lambda: gentle.compare(tcp={"ecn": "maybe"}), ["compare", "--tcp=ecn=maybe"]),
        (lambda: gentle.compare("own.toml"), ["compare", "--traffic=own.toml"]),
        (lambda: gentle.compare("none.toml"), ["compare", "--traffic=none.toml"]),
        (lambda: gentle.compare("flows.csv"), ["compare", "--traffic=flows.csv"]),
        (lambda: gentle.compare("none.csv"), ["compare", "--traffic=none.csv"]),
        (lambda: gentle.analyze("none.pcap"), ["analyze", "none.pcap"]),
        (lambda: gentle.analyze("own.toml"), ["analyze", "own.toml"]),
        (lambda: gentle.analyze("."), ["analyze", "."]),
        (lambda: gentle.analyze("own.toml", local=["x"]), ["analyze", "own.toml", "--local=x"]),
        (lambda: gentle.replay("empty.pcap"), ["compare", "--from=empty.pcap", "--rate=1mbit"]),
        (lambda: gentle.model(loss=2), ["model", "--loss=2"]),
        (lambda: gentle.reproduce("spa-2018", "fig33"), ["reproduce", "spa-2018", "fig33"]),
        (lambda: gentle.reproduce("spa-2017"), ["reproduce", "spa-2017"]),
    ],
)
def test_sentences_are_those_of_the_command(call, args, refusal, tmp_path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "own.toml").write_text(SCENARIO)
    (tmp_path / "flows.csv").write_text("start_s,bytes\n0.0,many\n")
    (tmp_path / "empty.pcap").write_bytes(bytes.fromhex("d4c3b2a1020004000000000000000000ffff000001000000"))
    with pytest.raises((gentle.Error, gentle.InvalidInput)) as caught:
        call()
    said = str(caught.value)
    expected = refusal(*args)
    # The command names its option where Python names its argument.
    assert said in expected or said.split(": ", 1)[1] in expected, expected


GRID = {"duration": "2s", "load": [0.5, 0.9]}


@pytest.mark.parametrize(
    ("call", "sentence"),
    [
        (lambda: gentle.compare(seeds=5.0), r"^seeds: invalid value 5\.0: expected a number of seeds, or a list"),
        (lambda: gentle.compare(seeds="5"), "^seeds: invalid value '5'"),
        (lambda: gentle.compare(seeds=None), "^seeds: expected a number"),
        (lambda: gentle.compare(seeds=[1, -1]), "^seeds: -1 is out of range"),
        (lambda: gentle.compare(seeds=[1.5]), "^seeds: invalid value"),
        (lambda: gentle.compare(seeds=0), "^seeds: expected one or more"),
        (lambda: gentle.compare(rate=20e6), "^rate: invalid value 20000000.0: expected a text with a unit"),
        (lambda: gentle.compare(duration=10), "^duration: invalid value 10"),
        (lambda: gentle.compare(load="much"), "^load: invalid value 'much': expected a fraction"),
        (lambda: gentle.compare(load=[0.9]), "^load: invalid value"),
        (lambda: gentle.compare(tcp="initial_rto=1s"), "^tcp: invalid value .* expected a mapping"),
        (lambda: gentle.compare(bins=3), "^bins: invalid value 3: expected a list"),
        (lambda: gentle.compare(bins=[3, "4"]), "^bins: invalid value"),
        (lambda: gentle.compare(threads=0), "^threads: invalid value 0: expected a whole number of 1 or more"),
        (lambda: gentle.compare(threads=-1), "^threads: invalid value -1"),
        (lambda: gentle.compare(harm="yes"), "^harm: invalid value 'yes': expected True or False"),
        (lambda: gentle.analyze("x.pcap", strict=1), "^strict: invalid value 1"),
        (lambda: gentle.reproduce("spa-2018", quick="yes"), "^quick: invalid value 'yes'"),
        (lambda: gentle.testbed.compare(keep=3), "^keep: invalid value 3: expected a path"),
        (lambda: gentle.compare(reference=3), "^reference: invalid value 3"),
        (lambda: gentle.analyze(b"x.pcap"), "^paths: invalid value b'x.pcap': expected a path"),
        (lambda: gentle.analyze(None), "^paths: expected a path"),
        (lambda: gentle.analyze([]), "^paths: expected a path"),
        (lambda: gentle.analyze("x.pcap", local="10.0.0.0/8"), "^local: invalid value .*: expected a list of texts"),
        (lambda: gentle.analyze("x.pcap", memory_limit=-5), "^memory_limit: invalid value -5"),
        (lambda: gentle.model(rtt="100ms"), "^rtt: invalid value '100ms': expected a number"),
        (lambda: gentle.model(segments=10), "^segments: invalid value 10"),
        (lambda: gentle.reproduce("spa-2018", 3), r"^items: invalid value \(3,\)"),
        (lambda: gentle.sweep({**GRID, "rate": None}), "^grid: rate: None is not a value"),
        (lambda: gentle.sweep(GRID, [dict]), "^schemes: .* queues in Python run only in gentle.compare"),
        (lambda: gentle.sweep(GRID, "codel"), "^schemes: 'codel' is not a list"),
        (lambda: gentle.sweep(GRID, ["codel"], seeds="3"), "^seeds: invalid value '3'"),
        (lambda: gentle.sweep(GRID, ["codel"], until_ci="2%"), "^until_ci: invalid value '2%': expected a number"),
    ],
)
def test_arguments_of_a_wrong_kind(call: Any, sentence: str) -> None:
    """One base class, and a sentence that names the argument, whatever is given."""
    with pytest.raises(gentle.InvalidInput, match=sentence):
        call()


def test_numbers_of_numpy_are_numbers() -> None:
    made = gentle.compare("short", ["codel"], duration="5s", seeds=np.int64(2), bins=np.array([3, 10]))
    assert made.seeds == [1, 2]
    assert gentle.compare("short", ["codel"], duration="5s", seeds=np.array([7, 9])).seeds == [7, 9]
    loads = [gentle.compare("short", ["codel"], duration="5s", seeds=1, load=load).data for load in (0.9, "90%", "0.9")]
    assert loads[0] == loads[1] == loads[2]
    assert gentle.model(rto=np.array([1.0, 3.0]), segments=np.array([5])).data["rtos"][0]["sizes"][0]["segments"] == 5


def test_axes_and_designs_of_data_frames() -> None:
    """Columns of any library are values of an axis, and a table is a design."""
    import pandas as pd

    expected = pl.DataFrame(gentle.sweep(GRID, ["codel"], 1))
    for values in (pl.Series([0.5, 0.9]), pd.Series([0.5, 0.9]), np.array([0.5, 0.9])):
        assert pl.DataFrame(gentle.sweep({**GRID, "load": values}, ["codel"], 1)).equals(expected)
    design = {"duration": ["2s", "2s"], "load": [0.5, 0.9]}
    for table in (pl.DataFrame(design), pd.DataFrame(design)):
        assert pl.DataFrame(gentle.sweep(table, ["codel"], 1)).equals(expected)


def test_a_page_that_cannot_be_written_is_named(capture, tmp_path) -> None:
    results = [
        gentle.compare("short", ["codel"], duration="5s", seeds=1),
        gentle.analyze(capture),
        gentle.sweep(GRID, ["codel"], 1),
    ]
    for result in results:
        with pytest.raises(gentle.Error, match=rf"^{tmp_path}/none/x\.csv: No such file or directory"):
            result.save(tmp_path / "none/x.csv")


def test_text_from_outside_cannot_act_on_a_terminal(tmp_path) -> None:
    name = "\x1b]0;owned\x07\u202e.pcap"
    with pytest.raises(gentle.Error) as raised:
        gentle.analyze(tmp_path / name)
    assert r"\u{1b}]0;owned\u{7}\u{202e}.pcap" in str(raised.value)
