"""Work for executors, in a module that workers can import."""

from __future__ import annotations

import os
from typing import Any

POISON = 42


def doubled(task: bytes, shared: Any, stop: Any) -> list[int]:
    return [2 * number for number in task]


def dying(task: bytes, shared: Any, stop: Any) -> list[int]:
    if POISON in task:
        os._exit(1)
    return doubled(task, shared, stop)


def full(task: bytes, shared: Any, stop: Any) -> list[int]:
    if POISON in task:
        raise OSError(28, "No space left on device")
    return doubled(task, shared, stop)


def late(task: bytes, shared: Any, stop: Any) -> list[int]:
    raise TimeoutError(f"too late for {list(task)}")


class OddError(Exception):
    """An exception that cannot be made from what it pickles."""

    def __init__(self, one: str, two: str) -> None:
        super().__init__(f"{one} and {two}")


def odd(task: bytes, shared: Any, stop: Any) -> list[int]:
    raise OddError("salt", "pepper")
