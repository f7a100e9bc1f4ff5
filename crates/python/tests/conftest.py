"""The command of the same build, and a capture that it makes."""

from __future__ import annotations

import json
import os
import signal
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import matplotlib as mpl
import pytest
import router
from cluster import Cluster

mpl.use("Agg")

# A shell without job control, as in CI, starts background processes with SIGINT ignored, and Python then leaves it so.
signal.signal(signal.SIGINT, signal.default_int_handler)

ROOT = Path(__file__).resolve().parents[3]
"""The repository."""


@pytest.fixture(scope="session")
def command() -> Callable[..., str]:
    """Return a function that calls the command `gentle`, of the same build, and returns what it prints."""
    program = os.environ["GENTLE"]

    def call(*args: str) -> str:
        return subprocess.run([program, *args], check=True, capture_output=True, text=True).stdout

    return call


@pytest.fixture(scope="session")
def refusal() -> Callable[..., str]:
    """Return a function that calls the command with a mistake, and returns its message."""
    program = os.environ["GENTLE"]

    def call(*args: str) -> str:
        done = subprocess.run([program, *args], check=False, capture_output=True, text=True)
        assert done.returncode != 0
        return done.stderr

    return call


@pytest.fixture(scope="session")
def capture(command: Callable[..., str], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a capture with lost SYNs, as a router in front of the queue makes it."""
    return router.capture(command, tmp_path_factory.mktemp("capture"), "60s")


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[Cluster]:
    """Return a cluster with two workers."""
    made = Cluster(tmp_path)
    try:
        made.start_worker()
        made.start_worker()
        yield made
    finally:
        made.end()


@pytest.fixture
def client(cluster: Cluster) -> Iterator[Any]:
    """Return a client of the cluster, when it has its workers."""
    from distributed import Client

    with Client(cluster.address, timeout=60, set_as_default=False) as connected:
        connected.wait_for_workers(2, timeout=60)
        yield connected


def without_command(printed: str) -> str:
    """Return JSON that the command printed with null in place of the command line."""
    line = json.loads(printed)["command"]
    assert line.startswith("gentle ")
    return printed.replace(f'"command":{json.dumps(line, ensure_ascii=False)}', '"command":null', 1)
