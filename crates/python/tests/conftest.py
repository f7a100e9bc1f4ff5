"""The command beside the package, and a capture."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable
from pathlib import Path

import matplotlib as mpl
import pytest

mpl.use("Agg")


@pytest.fixture(scope="session")
def command() -> Callable[..., str]:
    """Return a function that calls the command `gentle`, of the same build, and returns what it prints."""
    program = os.environ["GENTLE"]

    def call(*args: str) -> str:
        return subprocess.run([program, *args], check=True, capture_output=True, text=True).stdout

    return call


@pytest.fixture(scope="session")
def capture() -> Path:
    """Return a capture with lost SYNs."""
    return Path(os.environ["GENTLE_CAPTURE"])
