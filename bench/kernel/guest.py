"""What bench/run-kernel does inside a machine of the testbed. Prints JSON.

guest.py DIRECTORY JOB: the directory has the modules and plug-ins, the job is JSON.
"""

import ctypes
import json
import os
import re
import statistics
import subprocess
import sys
import time
from pathlib import Path

FINIT_MODULE = 313  # the system call's number on x86-64
COST = Path("/proc/gentle_cost")
PKTGEN = Path("/proc/net/pktgen")

states: dict[str, str] = {}


def load_module(path: Path) -> None:
    with path.open("rb") as module:
        libc = ctypes.CDLL(None, use_errno=True)
        if libc.syscall(FINIT_MODULE, module.fileno(), b"", 0) != 0:
            sys.exit(f"{path}: {os.strerror(ctypes.get_errno())}")


def batch(program: str, lines: list[str]) -> None:
    """Commands of ip or tc, all in one process."""
    done = subprocess.run([program, "-batch", "-"], input="\n".join(lines) + "\n", text=True, capture_output=True)
    if done.returncode != 0:
        sys.exit(f"{program}: {done.stderr}{done.stdout}")


def bring(device: str, state: str) -> None:
    """Brings a device up or down, unless it is."""
    if states.get(device, "down") != state:
        batch("ip", [f"link set {device} {state}"])
        states[device] = state


def measure(device: str, way: str, unit: str, packets: int, hashless: bool) -> dict[str, int]:
    """Asks the module; the answer is a number by name."""
    bring(device, "down" if way == "queue" else "up")
    COST.write_text(f"{device} {way} {unit} {packets}{' hashless' * hashless}\n")
    return {name: int(number) for name, number in (line.rsplit(" ", 1) for line in COST.read_text().splitlines())}


def pktgen(device: str, packets: int) -> dict[str, int]:
    """The same, by pktgen's own account."""
    bring(device, "up")
    (PKTGEN / "kpktgend_0").write_text("rem_device_all\n")
    (PKTGEN / "kpktgend_0").write_text(f"add_device {device}\n")
    for setting in [f"count {packets}", "pkt_size 1514", "delay 0", "xmit_mode queue_xmit", "dst 192.0.2.1"]:
        (PKTGEN / device).write_text(f"{setting}\n")
    (PKTGEN / "pgctrl").write_text("start\n")
    text = (PKTGEN / device).read_text()
    (PKTGEN / "kpktgend_0").write_text("rem_device_all\n")
    result = re.search(r"Result: OK: (\d+)\(.*\) usec, (\d+) ", text)
    if not result or int(result[2]) != packets:
        sys.exit(f"pktgen did not do what it was asked for:\n{text}")
    return {"packets": packets, "nanoseconds": int(result[1]) * 1000}


def adding(device: str, scheme: str) -> list[str]:
    """Lines of tc that add a scheme: the root and, after semicolons, qdiscs of its classes."""
    root, *children = scheme.split("; ")
    return [f"qdisc add dev {device} root handle 1: {root}", *(f"qdisc add dev {device} parent 1:{child}" for child in children)]


def free_bytes() -> int:
    # What the allocator keeps for later is free too.
    for cache in Path("/sys/kernel/slab").glob("kmalloc*/shrink"):
        cache.write_text("1\n")
    return 1024 * int(re.search(r"^MemFree: *(\d+)", Path("/proc/meminfo").read_text(), re.MULTILINE)[1])


def memory(schemes: dict[str, str], instances: int) -> dict[str, float]:
    """Bytes that one instance of each takes, from what many take."""
    devices = [f"many{number}" for number in range(instances)]
    batch("ip", [f"link add {device} type dummy" for device in devices])
    taken: dict[str, list[float]] = {name: [] for name in schemes}
    # Meanwhile the kernel's caches grow or shrink now and then.
    for _ in range(5):
        for name, scheme in schemes.items():
            before = free_bytes()
            batch("tc", [line for device in devices for line in adding(device, scheme)])
            taken[name].append((before - free_bytes()) / instances)
            batch("tc", [f"qdisc del dev {device} root" for device in devices])
            # They are freed after a grace period.
            time.sleep(1)
    batch("ip", [f"link del {device}" for device in devices])
    return {name: statistics.median(samples) for name, samples in taken.items()}


def main() -> None:
    directory, job = Path(sys.argv[1]), json.loads(sys.argv[2])
    os.environ["TC_LIB_DIR"] = str(directory / "tc")
    for module in [*sorted(directory.glob("sch_*.ko")), directory / "testing/cost/gentle_cost.ko"]:
        load_module(module)
    # Nobody but the benchmark sends on the devices.
    Path("/proc/sys/net/ipv6/conf/default/disable_ipv6").write_text("1\n")
    devices = {name: f"cost{number}" for number, name in enumerate(job["schemes"])}
    batch("ip", [f"link add {device} type dummy" for device in devices.values()])
    batch("tc", [line for name, scheme in job["schemes"].items() for line in adding(devices[name], scheme)])

    results = {name: {} for name in devices}
    for _ in range(job["rounds"]):
        for name, device in devices.items():
            for way, unit, packets, hashless in job["measure"]:
                if way == "pktgen":
                    measured = pktgen(device, packets)
                else:
                    measured = measure(device, way, unit, packets, hashless)
                results[name].setdefault(f"{way} {unit}{' hashless' * hashless}", []).append(measured)
    if job["instances"]:
        for name, taken in memory(job["schemes"], job["instances"]).items():
            results[name]["memory"] = taken
    json.dump(results, sys.stdout)


main()
