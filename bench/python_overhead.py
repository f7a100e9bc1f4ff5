"""Times calls of the Python package against the command; started by run-python."""

from __future__ import annotations

import statistics
import subprocess
import sys
import time
from collections import deque
from collections.abc import Callable

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


def median_ms(repeats: int, *calls: Callable[[], object]) -> list[float]:
    """Return the median time of each call, ms. The calls take turns, so that what else runs meets them alike."""
    times: list[list[float]] = [[] for _ in calls]
    for _ in range(repeats):
        for call, of_call in zip(calls, times, strict=True):
            before = time.perf_counter()
            call()
            of_call.append(1000 * (time.perf_counter() - before))
    return [statistics.median(of_call) for of_call in times]


def main() -> None:
    program, repeats = sys.argv[1], int(sys.argv[2])

    def command(*args: str) -> Callable[[], object]:
        return lambda: subprocess.run([program, *args], check=True, stdout=subprocess.DEVNULL)

    print("medians in ms            command  its start   Python  Python over command less start")
    for duration in ("1s", "100s", "1000s"):
        args = ["compare", "--scheme=pfifo limit=50", "--seeds=1", f"--duration={duration}", "--json", "--quiet"]

        def call(duration: str = duration) -> str:
            return gentle.compare("real", ["pfifo limit=50"], duration=duration, seeds=1).to_json()

        whole, start, python = median_ms(repeats, command(*args), command("--version"), call)
        overhead = python - (whole - start)
        print(f"compare, {duration:>5} simulated {whole:8.2f} {start:10.2f} {python:8.2f} {overhead:+8.2f}")
    calls = [lambda scheme=scheme: gentle.compare("real", [scheme], seeds=1, threads=1) for scheme in ("pfifo limit=50", Fifo)]
    built_in, own = median_ms(max(repeats // 5, 3), *calls)
    print(f"a queue in Python: {own:.0f} ms for 1,000 s simulated, {own / built_in:.1f} times pfifo's {built_in:.0f} ms")


if __name__ == "__main__":
    main()
