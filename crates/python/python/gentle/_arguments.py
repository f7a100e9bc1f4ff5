"""Kinds of arguments: a value of another kind raises `gentle.InvalidInput`, which names the argument."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable, Mapping
from os import PathLike
from typing import Any

from gentle import _core

Kind = tuple[Callable[[Any], bool], str]
"""Test for values of the kind, and its description for messages."""


def is_number(value: Any) -> bool:
    """Whether a value is a number, of any library."""
    return not isinstance(value, bool | str | bytes) and hasattr(value, "__float__") and not hasattr(value, "__len__")


def is_whole(value: Any) -> bool:
    """Whether a value is a whole number."""
    try:
        operator.index(value)
    except TypeError:
        return False
    return not isinstance(value, bool)


def _is_text(value: Any) -> bool:
    return isinstance(value, str)


def _is_list(of: Callable[[Any], bool]) -> Callable[[Any], bool]:
    def check(value: Any) -> bool:
        if isinstance(value, str | bytes | Mapping) or not isinstance(value, Iterable):
            return False
        return not hasattr(value, "__len__") or all(map(of, value))

    return check


def _is_path(value: Any) -> bool:
    return isinstance(value, str | PathLike)


TEXT: Kind = (_is_text, "a text")
RATE: Kind = (_is_text, 'a text with a unit, such as "20mbit"')
NUMBER: Kind = (is_number, "a number")
COUNT: Kind = (lambda value: is_whole(value) and value >= 1, "a whole number of 1 or more")
FLAG: Kind = (lambda value: type(value).__name__ in {"bool", "bool_"}, "True or False")
PATH: Kind = (_is_path, "a path")
TEXTS: Kind = (_is_list(_is_text), "a list of texts")

KINDS: dict[str, Kind] = {
    "rate": RATE,
    "up_rate": RATE,
    "duration": (_is_text, 'a text with a unit, such as "100s"'),
    "load": (lambda value: is_number(value) or _is_text(value), 'a fraction of the rate, such as 0.9 or "90%"'),
    "profile": TEXT,
    "tcp": (lambda value: isinstance(value, Mapping), 'a mapping of knobs, such as {"initial_rto": "3s"}'),
    "seeds": (lambda value: is_whole(value) or _is_list(is_whole)(value), "a number of seeds, or a list of seeds"),
    "bins": (_is_list(is_whole), "a list of sizes in segments"),
    "reference": TEXT,
    "harm": FLAG,
    "inner": FLAG,
    "strict": FLAG,
    "quick": FLAG,
    "source": PATH,
    "modules": PATH,
    "keep": PATH,
    "threads": COUNT,
    "memory_limit": COUNT,
    "max_seeds": COUNT,
    "memory_mib": COUNT,
    "time_limit_s": NUMBER,
    "until_ci": NUMBER,
    "metric": TEXT,
    "local": TEXTS,
    "interfaces": TEXTS,
    "continuing": TEXT,
    "paths": (
        lambda value: _is_path(value) or (_is_list(_is_path)(value)),
        "a path of a capture, or a list of paths",
    ),
    "rtt": NUMBER,
    "loss": NUMBER,
    "syn_loss": NUMBER,
    "rto": (lambda value: is_number(value) or _is_list(is_number)(value), "a number of seconds, or a list of them"),
    "segments": (_is_list(is_whole), "a list of sizes in segments"),
    "backoff": TEXT,
    "initial_window": NUMBER,
    "segments_per_ack": NUMBER,
    "paper": TEXT,
    "items": TEXTS,
}
"""Kind of each argument, by its name."""


def check(**arguments: Any) -> None:
    """Raise `gentle.InvalidInput` for the first argument that is not of the kind of its name; ``None`` is allowed."""
    for name, value in arguments.items():
        is_kind, expected = KINDS[name]
        if value is not None and not is_kind(value):
            raise _core.InvalidInput(f"{name}: invalid value {value!r}: expected {expected}")
