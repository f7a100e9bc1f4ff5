"""Scenarios can be changed at any depth, copied and kept; tables of flows are as strict as flow lists."""

from __future__ import annotations

import copy
import pickle
from datetime import UTC, datetime
from typing import Any

import gentle
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

VOICE = {"kind": "voice"}


def kinds(scenario: gentle.Scenario) -> list[str]:
    return [workload["kind"] for workload in scenario.to_dict()["workload"]]


def test_lists_of_tables_change_in_place() -> None:
    scenario = gentle.Scenario("real")
    before = kinds(scenario)
    scenario.workload.append(VOICE)
    assert kinds(scenario) == [*before, "voice"]
    assert scenario.workload[-1].kind == "voice"
    scenario.check()
    scenario.workload.insert(0, {"kind": "long"})
    scenario.workload[0].kind = "pages"
    scenario.workload[0]["users"] = 2
    scenario.workload += [VOICE, gentle.Scenario({"kind": "long"})]
    assert kinds(scenario) == ["pages", *before, "voice", "voice", "long"]
    del scenario.workload[0]
    scenario.workload.pop()
    scenario.workload[-1] = {"kind": "long"}
    scenario.workload.extend([VOICE])
    assert kinds(scenario) == [*before, "voice", "long", "voice"]
    assert scenario.workload == scenario.to_dict()["workload"]
    assert [item.kind for item in scenario.workload[-2:]] == ["long", "voice"]
    scenario.workload[-1:] = []
    scenario.workload.reverse()
    assert kinds(scenario) == ["long", "voice", *before[::-1]]
    scenario.workload.clear()
    scenario.workload.append(VOICE)
    assert kinds(scenario) == ["voice"]
    assert repr(scenario.workload) == "[{'kind': 'voice'}]"


def test_tables_of_two_scenarios_are_their_own() -> None:
    one, two = gentle.Scenario("real"), gentle.Scenario("real")
    two.link = one.link
    two.link.down.rate = "1mbit"
    two.workload = one.workload
    two.workload.append(VOICE)
    assert one.link.down.rate == "2.4mbit"
    assert len(one.workload) == len(two.workload) - 1


def test_a_misspelt_key_is_an_error() -> None:
    scenario = gentle.Scenario("real")
    with pytest.raises(AttributeError, match="no key 'lnk'; there are: "):
        _ = scenario.lnk
    with pytest.raises(AttributeError, match="no key 'lnk'"):
        del scenario.lnk
    scenario.workload.append({"knd": "voice"})
    with pytest.raises(gentle.InvalidInput, match=r"^real: workload\[1\]: missing 'kind'"):
        scenario.check()


@pytest.mark.parametrize("part", ["link", "hosts", "workload", None])
def test_parts_are_copied_and_pickled(part: str | None) -> None:
    scenario = gentle.Scenario("real")
    thing = getattr(scenario, part) if part else scenario
    for copied in (copy.copy(thing), copy.deepcopy(thing), pickle.loads(pickle.dumps(thing))):
        assert copied == thing
        assert type(copied) is type(thing)
        if part == "link":
            copied.down.rate = "1mbit"
            assert scenario.link.down.rate == "2.4mbit"
        if part == "hosts":
            assert copied.initial_rto == thing.initial_rto


FLOWS: dict[str, list[Any]] = {"start_s": [0.0, 0.1, 0.3], "bytes": [10_000, 617, 3_000], "rtt_s": [0.05, None, 0.1]}


@pytest.mark.parametrize("made", [dict, pl.DataFrame, pd.DataFrame, pa.table])
def test_a_misspelt_column_of_flows_is_an_error(made: Any) -> None:
    for wrong, right in (("rtt", "rtt_s"), ("dir", "direction"), ("initator", "initiator")):
        values: list[Any] = [0.05, 0.05, 0.05] if wrong == "rtt" else ["up", "up", "down"]
        table = made(
            {**FLOWS, wrong: values} if wrong != "rtt" else {"start_s": [0, 1, 2], "bytes": [9, 9, 9], "rtt": values}
        )
        with pytest.raises(gentle.InvalidInput, match=rf"flows: unknown column '{wrong}'.*{right}"):
            gentle.compare(table, ["codel"], seeds=1)


def test_whole_floats_are_bytes() -> None:
    """What pandas makes of a column with a gap, or of a merge."""
    expected = gentle.compare(FLOWS, ["codel"], seeds=1).data
    for values in ([1e4, 617.0, 3e3], np.array([1e4, 617, 3e3], dtype=np.float32), pd.Series([1e4, 617.0, 3e3])):
        assert gentle.compare({**FLOWS, "bytes": values}, ["codel"], seeds=1).data == expected
    assert gentle.compare(pd.DataFrame(FLOWS).astype({"bytes": float}), ["codel"], seeds=1).data == expected


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"bytes": [10_000, 617.5, 3_000]}, r"^flows: row 1: bytes: invalid value '617\.5': expected a whole number"),
        ({"bytes": [10_000, 617, None]}, r"^flows: row 2: bytes: invalid value"),
        ({"rtt_s": [0.05, None, -1.0]}, r"^flows: row 2: rtt_s: invalid value '-1\.0'"),
        ({"start_s": [1.7e9, 1.7e9, 1.7e9]}, r"row 0: start_s: .*subtract the first start from times since 1970"),
        ({"start_s": [datetime.now(UTC)] * 3}, r"row 0: start_s: .* is not a number of seconds; subtract the first"),
        ({"direction": ["up", "#1", "down"]}, r"row 1: direction: invalid value '#1': expected down or up"),
        ({"start_s": ["#1", 1, 2]}, r"row 0: start_s: invalid value '#1'"),
        ({"bytes": 1000}, r"flows: bytes: 1000 is not a column; expected a list"),
        ({"bytes": [1]}, r"flows: expected columns of the same length"),
    ],
)
def test_mistakes_in_flows_name_row_and_column(change: dict[str, Any], sentence: str) -> None:
    with pytest.raises(gentle.InvalidInput, match=sentence):
        gentle.compare({**FLOWS, **change}, ["codel"], seeds=1)


@pytest.mark.parametrize("thing", [pd.DataFrame(FLOWS)["bytes"], 7, None, [FLOWS], b"real"])
def test_what_is_no_traffic(thing: Any) -> None:
    with pytest.raises(gentle.InvalidInput, match="is not a table; expected a DataFrame"):
        gentle.compare(thing, ["codel"], seeds=1)
