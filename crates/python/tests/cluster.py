"""A Dask cluster: a scheduler and workers in separate processes, over TCP."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from pathlib import Path


class Cluster:
    """A scheduler and workers, each a process."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.port = _free_port()
        self.environment = {**os.environ, "DASK_DISTRIBUTED__COMM__TIMEOUTS__CONNECT": "20s"}
        self.processes: list[subprocess.Popen[bytes]] = []
        self.scheduler = self.start_scheduler()

    @property
    def address(self) -> str:
        return f"tcp://127.0.0.1:{self.port}"

    def _start(self, *arguments: str) -> subprocess.Popen[bytes]:
        log = (self.folder / f"{arguments[0]}-{len(self.processes)}.log").open("wb")
        process = subprocess.Popen(
            [sys.executable, "-m", "dask", *arguments],
            env=self.environment, cwd=self.folder, stdout=log, stderr=log,
        )  # fmt: skip
        self.processes.append(process)
        return process

    def start_scheduler(self) -> subprocess.Popen[bytes]:
        return self._start(
            "scheduler", "--host", "127.0.0.1", "--port", str(self.port), "--no-dashboard", "--no-jupyter"
        )

    def start_worker(self) -> subprocess.Popen[bytes]:
        return self._start(
            "worker", self.address, "--nthreads", "1", "--nworkers", "1", "--no-dashboard", "--no-nanny",
            "--host", "127.0.0.1", "--death-timeout", "60", "--memory-limit", "0",
        )  # fmt: skip

    def end(self) -> None:
        for process in self.processes:
            process.kill()
            process.wait()


def _free_port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return int(free.getsockname()[1])
