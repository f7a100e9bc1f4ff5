"""Mistakes are exceptions with the sentences of the command."""

from __future__ import annotations

import gentle
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
