"""Times calls of the Python package against the command; started by run-python."""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections import deque
from collections.abc import Callable
from typing import Any

import gentle


class Fifo:
    """First in, first out, for 50 packets."""

    def __init__(self) -> None:
        self.packets: deque[gentle.Packet] = deque()

    def enqueue(self, packet: gentle.Packet, now: float) -> None:
        if len(self.packets) < 50:
            self.packets.append(packet)
        else:
            packet.drop("tail")

    def dequeue(self, now: float) -> gentle.Packet | None:
        return self.packets.popleft() if self.packets else None


def cpu_s() -> float:
    """Return the processor time of this process and of children that have ended, which other load hardly changes."""
    times = os.times()
    return times.user + times.system + times.children_user + times.children_system


def wall_s() -> float:
    """Return the time of a clock."""
    return time.perf_counter()


def median_ms(clock: Callable[[], float], repeats: int, batch: int, *calls: Callable[[], object]) -> list[float]:
    """Return the median time of each call over batches, ms. Calls take turns, so that other load meets them alike."""
    times: list[list[float]] = [[] for _ in calls]
    for _ in range(repeats):
        for call, of_call in zip(calls, times, strict=True):
            before = clock()
            for _ in range(batch):
                call()
            of_call.append(1000 * (clock() - before) / batch)
    return [statistics.median(of_call) for of_call in times]


def main() -> None:
    """Print the tables of bench/README.md."""
    program, repeats = sys.argv[1], int(sys.argv[2])

    def command(*args: str) -> Callable[[], object]:
        return lambda: subprocess.run([program, *args], check=True, stdout=subprocess.DEVNULL)

    scenario = {"start_s": [0.0], "bytes": [1000]}
    with tempfile.NamedTemporaryFile("w", suffix=".csv") as flows:
        flows.write("start_s,bytes\n0.0,1000\n")
        flows.flush()
        print("processor time, ms            command  its start   Python   Python over command less start")
        for title, traffic, source, options in (
            ("one connection", flows.name, scenario, {}),
            ("100 s of real", "real", "real", {"duration": "100s"}),
            ("1,000 s of real", "real", "real", {"duration": "1000s"}),
        ):
            args = ["compare", f"--traffic={traffic}", "--scheme=pfifo limit=50", "--seeds=1", "--json", "--quiet"]
            args += [f"--{name}={value}" for name, value in options.items()]

            def call(source: Any = source, options: dict[str, Any] = options) -> str:
                return gentle.compare(source, ["pfifo limit=50"], seeds=1, progress=False, **options).to_json()

            # The clock of the system counts in hundredths of a second.
            batch = 20 if options else 200
            whole, start, python = median_ms(cpu_s, repeats, batch, command(*args), command("--version"), call)
            print(f"{title:26} {whole:10.2f} {start:10.2f} {python:8.2f} {python - (whole - start):+8.2f}")
        [smallest] = median_ms(wall_s, repeats, 1, call_of(scenario))
        print(f"a call that simulates one connection: {smallest:.2f} ms by the clock")
    of_schemes = [call_of("real", scheme) for scheme in ("pfifo limit=50", Fifo)]
    built_in, own = median_ms(cpu_s, 3, 3, *of_schemes)
    print(f"a queue in Python: {own:.0f} ms for 1,000 s of real, {own / built_in:.1f} times pfifo's {built_in:.0f} ms")


def call_of(traffic: Any, scheme: str | type[Fifo] = "pfifo limit=50") -> Callable[[], object]:
    """Return a call that compares one scheme with one seed in one thread."""
    return lambda: gentle.compare(traffic, [scheme], seeds=1, threads=1, progress=False).to_json()


if __name__ == "__main__":
    main()
