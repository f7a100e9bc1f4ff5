"""Draws scenarios: a family and a number give a scenario file, and for each seed the flow lists that it replays."""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from files import write

# ---- limits of what is drawn ------------------------------------------------------------------------------------------

RATES = (1e6, 10e9)
RTTS = (0.002, 0.3)
LOADS = (0.1, 1.5)
# Bits that a run may carry, and bounds of its duration in seconds and round trips. The lower bounds win.
BUDGET = 1.5e9
DURATIONS = (2.0, 120.0)
ROUND_TRIPS = 20
# Connections of a flow list.
CONNECTIONS = 20_000
# Bytes of Ethernet per packet, and of IPv4, TCP with timestamps and Ethernet per segment.
ETHERNET = 14
HEADERS = 20 + 32 + ETHERNET
# Applications whose flows send at less than this rate on the wire, bits per second: a call sends 86 kb/s.
SMALL_RATES = ("voice", "game", "dns")
SMALL_RATE = 100e3
# Upper ends of the size classes of the judgement, in segments, and their names.
CLASSES = ((3, "1-3"), (10, "4-10"), (100, "11-100"), (math.inf, "over 100"))


# ---- scenario files ---------------------------------------------------------------------------------------------------


def toml(value: object) -> str:
    """A TOML value."""
    if isinstance(value, str):
        return f'"{value}"'
    if isinstance(value, (list, tuple)):
        return f"[{', '.join(toml(item) for item in value)}]"
    if isinstance(value, dict):
        return f"{{ {', '.join(f'{key} = {toml(item)}' for key, item in value.items())} }}"
    return f"{value:.6g}" if isinstance(value, float) else str(value)


def time(seconds: float) -> str:
    return f"{1e6 * seconds:.0f}us"


def bits(rate: float) -> str:
    return f"{rate:.0f}bit"


# Sizes in segments, drawn one at a time.
Sizes = Callable[[random.Random], float]


@dataclass
class FlowList:
    """Connections that the seeds draw: at random times, or in bursts."""

    name: str
    sizes: Sizes
    # Bytes on the wire for each second, and the times between which connections start.
    rate: float
    until: float
    largest: int
    mss: int
    # Connections that start together, and the time over which they do.
    burst: int
    spread: float

    def lists(self, rng: random.Random) -> dict[str, list[tuple[float, int]]]:
        """Start times and bytes of payload, by size class."""
        found: dict[str, list[tuple[float, int]]] = {name: [] for _, name in CLASSES}
        left = self.rate * self.until
        while left > 0:
            begin = rng.uniform(0, self.until)
            for _ in range(self.burst):
                segments = min(max(1, math.ceil(self.sizes(rng))), self.largest)
                name = next(name for end, name in CLASSES if segments <= end)
                found[name].append((begin + rng.uniform(0, self.spread), segments * self.mss))
                left -= segments * (self.mss + HEADERS)
        return {name: sorted(flows) for name, flows in found.items()}


@dataclass
class Scenario:
    """A link and its traffic. Groups that begin with `attacker` are not judged; those with `slow` send less than a fair share."""

    family: str
    number: int
    rate: float
    rtts: tuple[float, float]
    duration: float
    hosts: Mapping[str, object] = field(default_factory=dict)
    up: float = 0.25
    changes: list[tuple[float, float]] = field(default_factory=list)
    workloads: list[dict[str, object]] = field(default_factory=list)
    lists: list[FlowList] = field(default_factory=list)
    drain: float = 120.0

    @property
    def name(self) -> str:
        return f"{self.family}-{self.number}"

    @property
    def mss(self) -> int:
        mss = self.hosts.get("mss", 1448)
        assert isinstance(mss, int)
        return mss

    @property
    def warmup(self) -> float:
        return self.duration / 6

    def rtt(self) -> list[str] | str:
        low, high = self.rtts
        return [time(low), time(high)] if high > low else time(low)

    def add(self, kind: str, **keys: object) -> None:
        """Adds a workload; times and rates are text with units."""
        keys.setdefault("rtt", self.rtt())
        if kind in ("long", "web", "poisson", "replay"):
            keys.setdefault("initiator", "receiver")
        self.workloads.append({"kind": kind, **{key: value for key, value in keys.items() if value is not None}})

    def name_slow(self) -> None:
        """Names calls, games and lookups as slow where they send less than a fair share, whatever the others do."""
        floods = any(workload["kind"] == "syn_flood" for workload in self.workloads)
        if self.lists or self.changes or floods:
            # Nobody knows the number of flows, or the rate.
            return
        counts = ("flows", "users", "sessions", "calls", "players")
        flows = sum(max(int(str(workload.get(key, 1))) for key in counts) for workload in self.workloads)
        for workload in self.workloads:
            if workload["kind"] in SMALL_RATES and "tunnel" not in workload and self.rate * min(1, self.up) / flows > SMALL_RATE:
                workload["group"] = f"slow {workload['group']}"

    def connections(self, name: str, sizes: Sizes, load: float, mean: float, burst: int = 1, spread: float = 0.0) -> None:
        """Adds a flow list with that part of the link's rate; `mean` estimates the mean size in segments."""
        rate = load * self.rate / 8
        wire = self.mss + HEADERS
        # So many connections that a list has at most CONNECTIONS: the arrivals end early.
        until = min(self.duration, CONNECTIONS * mean * wire / rate)
        self.duration = max(until, DURATIONS[0], ROUND_TRIPS * self.rtts[1] / 2)
        largest = max(4, int(rate * self.duration / wire / 10))
        self.lists.append(FlowList(name, sizes, rate, self.duration, largest, self.mss, burst, spread))

    def text(self, files: dict[str, str]) -> str:
        """The scenario file, with a flow list for each group of `files`."""
        delay = time(max(self.rtts[0] / 4, 1e-6))
        lines = [
            f'title = "{self.name}"',
            'source = "drawn by evaluation/traffic.py"',
            f'duration = "{self.duration:.3f}s"',
            f'warmup = "{self.warmup:.3f}s"',
            f'drain = "{self.drain:.0f}s"',
            "",
            "[hosts]",
            *(f"{key} = {toml(value)}" for key, value in {"profile": "linux-7.2", **self.hosts}.items()),
            "",
            "[link.down]",
            f'rate = "{bits(self.rate)}"',
            f'delay = "{delay}"',
            'qdisc = "fq_codel"',
        ]
        if self.changes:
            changes = [{"at": time(at), "rate": bits(rate)} for at, rate in self.changes]
            lines.append(f"changes = {toml(changes)}")
        lines += ["", "[link.up]", f'rate = "{bits(self.up * self.rate)}"', f'delay = "{delay}"', 'qdisc = "as down"']
        replays: list[dict[str, object]] = [
            {"kind": "replay", "file": file, "group": group, "initiator": "receiver", "rtt": self.rtt()}
            for group, file in files.items()
        ]
        for workload in [*self.workloads, *replays]:
            lines += ["", "[[workload]]", *(f"{key} = {toml(value)}" for key, value in workload.items())]
        return "\n".join(lines) + "\n"

    def write(self, folder: Path, seed: int) -> Path:
        """Writes the scenario file and its flow lists for a seed."""
        folder.mkdir(parents=True, exist_ok=True)
        stem = f"{self.name}-seed-{seed}" if self.lists else self.name
        files: dict[str, str] = {}
        for flows in self.lists:
            rng = random.Random(f"{self.name} {flows.name} {seed}")
            for group, connections in flows.lists(rng).items():
                if not connections:
                    continue
                label = f"{flows.name} {group}".strip()
                path = folder / f"{stem}-{label.replace(' ', '-')}.csv"
                write(path, "start_s,bytes\n" + "".join(f"{start:.6f},{size}\n" for start, size in connections))
                files[label] = path.name
        path = folder / f"{stem}.toml"
        write(path, self.text(files))
        return path


# ---- draws ------------------------------------------------------------------------------------------------------------


@dataclass
class Draw:
    """Random numbers of a scenario: the rate and the load are spread evenly over the numbers of a family."""

    family: str
    number: int
    budget: float = BUDGET

    def __post_init__(self) -> None:
        self.rng = random.Random(f"{self.family} {self.number}")
        offset = random.Random(self.family)
        self.spread = {name: offset.random() for name in ("rate", "rtt", "load")}

    def even(self, name: str) -> float:
        """A number from 0 to 1, by an additive recurrence (golden ratio and its like) from a random start."""
        step = {"rate": 0.6180339887, "rtt": 0.7548776662, "load": 0.5698402910}[name]
        return (self.spread[name] + step * self.number) % 1.0

    def log(self, low: float, high: float, of: float | None = None) -> float:
        """Log-uniform."""
        part = self.rng.random() if of is None else of
        return float(low * (high / low) ** part)

    def whole(self, low: int, high: int) -> int:
        """A whole number, log-uniform."""
        return min(high, int(self.log(low, high + 1)))

    def load(self, low: float, high: float) -> float:
        return low + (high - low) * self.even("load")

    def senders(self) -> Mapping[str, object]:
        """TCP of the hosts: mostly CUBIC on a current Linux."""
        return self.rng.choice(
            [{}] * 6
            + [
                {"congestion_control": "reno"},
                {"congestion_control": "bbr"},
                {"ecn": "request"},
                {"profile": "linux-3.16"},
                {"profile": "freebsd-9.3"},
                {"congestion_control": "dctcp"},
            ]
        )

    def scenario(
        self,
        rates: tuple[float, float] = RATES,
        rtts: tuple[float, float] = RTTS,
        mixed: bool | None = None,
        hosts: Mapping[str, object] | None = None,
        longest: float = DURATIONS[1],
    ) -> Scenario:
        rate = self.log(*rates, self.even("rate"))
        rtt = self.log(*rtts, self.even("rtt"))
        if mixed is None:
            mixed = self.rng.random() < 0.4
        # Of mixed round-trip times the given one is the longest.
        low = max(RTTS[0], rtt / self.log(3, 20)) if mixed else rtt
        duration = max(min(longest, self.budget / rate), DURATIONS[0], ROUND_TRIPS * rtt)
        up = self.rng.choice([1.0, 0.5, 0.25, 0.2])
        return Scenario(self.family, self.number, rate, (low, rtt), duration, self.senders() if hosts is None else hosts, up)


# ---- sizes, in segments -----------------------------------------------------------------------------------------------


def constant(mean: float) -> Sizes:
    return lambda _: mean


def bimodal(small: float, large: float, part: float) -> Sizes:
    return lambda rng: large if rng.random() < part else small


def weibull(mean: float, shape: float) -> Sizes:
    scale = mean / math.gamma(1 + 1 / shape)
    return lambda rng: rng.weibullvariate(scale, shape)


def lognormal(mean: float, sigma: float) -> Sizes:
    return lambda rng: rng.lognormvariate(math.log(mean) - sigma * sigma / 2, sigma)


def pareto(mean: float, shape: float) -> Sizes:
    return lambda rng: mean * (shape - 1) / shape * rng.paretovariate(shape)


def zipf(exponent: float, largest: int) -> Sizes:
    """Zipf's law, by inversion of its density: exact enough for sizes."""

    def draw(rng: random.Random) -> float:
        power = 1 - exponent
        low, high = 0.5**power, (largest + 0.5) ** power
        return max(1.0, float(round((low + rng.random() * (high - low)) ** (1 / power))))

    return draw


def hyperexponential(mean: float, factor: float) -> Sizes:
    """Most sizes are small, one in ten `factor` times as large."""
    small = mean / (0.9 + 0.1 * factor)
    return lambda rng: rng.expovariate(1 / (small * (factor if rng.random() < 0.1 else 1)))


def gamma(mean: float, shape: float) -> Sizes:
    return lambda rng: rng.gammavariate(shape, mean / shape)


def uniform(mean: float) -> Sizes:
    return lambda rng: rng.uniform(0, 2 * mean)


# ---- families: train --------------------------------------------------------------------------------------------------


def sizes(draw: Draw) -> Scenario:
    """Connections of one distribution of sizes, at 30 to 150 % load."""
    made = draw.scenario()
    mean = draw.log(8, 300)
    kind = draw.number % 6
    which = (
        constant(mean),
        bimodal(2, mean * 5, 0.1),
        weibull(mean, draw.rng.uniform(0.4, 0.8)),
        lognormal(mean, draw.rng.uniform(1, 2)),
        pareto(mean, draw.rng.uniform(1.05, 2)),
        zipf(draw.rng.uniform(1.3, 2), 6000),
    )[kind]
    if kind == 1:
        mean = 0.9 * 2 + 0.1 * mean * 5
    if kind == 5:
        mean = 20
    made.connections("", which, draw.load(0.3, 1.5), mean)
    return made


def elephants(draw: Draw) -> Scenario:
    """One to three long flows and connections of equal size, at 60 to 95 % load."""
    made = draw.scenario(rates=(2e6, 1e9))
    made.add("long", flows=draw.rng.randint(1, 3), group="elephant")
    mean = draw.whole(2, 100)
    made.connections("mice", constant(mean), draw.load(0.6, 0.95), mean)
    return made


def bursts(draw: Draw) -> Scenario:
    """Page loads of 1 to 100 connections at once, and downloads."""
    made = draw.scenario(rates=(2e6, 300e6), rtts=(0.01, 0.15))
    downloads = draw.rng.randint(0, 4)
    if downloads:
        made.add("long", flows=downloads, group="downloads")
    burst = draw.whole(1, 100)
    mean = draw.log(4, 30)
    made.connections("web", pareto(mean, 1.3), draw.load(0.1, 0.7), mean, burst=burst, spread=draw.log(0.001, 0.05))
    return made


def streams(draw: Draw) -> Scenario:
    """Streams of 1 kb/s to 90 % of the link, and downloads."""
    made = draw.scenario(rates=(1e6, 1e9))
    downloads = draw.whole(1, 10)
    made.add("long", flows=downloads, group="downloads")
    share = made.rate / (downloads + 2)
    for top in (share, 0.9 * made.rate):
        rate = draw.log(1e3, top)
        packet = draw.rng.choice([100, 200, 1200, 1500])
        rate = min(rate, 20_000 * 8 * packet)
        group = "slow stream" if rate < 0.8 * share else "fast stream"
        if rate > packet * 8 * 20 / made.duration:
            made.add("udp", rate=bits(rate), packet=packet, group=f"{group} {len(made.workloads)}")
    return made


def many(draw: Draw) -> Scenario:
    """Two to thousands of equal long flows."""
    flows = int(draw.log(2, 10_000, draw.even("load")))
    # Two full segments a second for each flow at least.
    made = draw.scenario(rates=(max(1e6, 25e3 * flows), max(300e6, 50e3 * flows)), rtts=(0.005, 0.2), mixed=False)
    made.duration = max(made.duration, 40 * made.rtts[1], min(60.0, 3 * draw.budget / made.rate))
    made.add("long", flows=flows, group="equal", start=["0s", time(made.duration / 8)])
    return made


def rtt_mix(draw: Draw) -> Scenario:
    """Long flows with round-trip times of 2 to 300 ms."""
    made = draw.scenario(rates=(2e6, 300e6), rtts=(0.05, 0.3), mixed=False)
    made.rtts = (draw.log(0.002, 0.02), made.rtts[1])
    made.duration = max(made.duration, min(60.0, 2 * draw.budget / made.rate))
    for name, rtt in (("near", made.rtts[0]), ("middle", math.sqrt(made.rtts[0] * made.rtts[1])), ("far", made.rtts[1])):
        made.add("long", flows=draw.whole(1, 6), group=name, rtt=time(rtt))
    return made


def cc_mix(draw: Draw) -> Scenario:
    """Long flows with different congestion controls, and connections of all sizes."""
    made = draw.scenario(rates=(2e6, 300e6), hosts={})
    made.duration = max(made.duration, min(60.0, 2 * draw.budget / made.rate))
    for name in draw.rng.sample(["cubic", "reno", "bbr", "dctcp"], draw.rng.randint(2, 3)):
        made.add("long", flows=draw.whole(1, 4), group=name, tcp={"congestion_control": name})
    made.connections("", pareto(20, 1.3), draw.load(0.1, 0.5), 20)
    return made


def splitters(draw: Draw) -> Scenario:
    """A download in pieces of 14 kB to 1 MB, each a connection, 1 to 64 at a time, and an honest long flow."""
    made = draw.scenario(rates=(5e6, 200e6), rtts=(0.01, 0.1), hosts={})
    made.add("long", flows=draw.rng.randint(1, 2), group="honest", host=0)
    size = int(draw.log(14e3, 1e6, draw.even("load")))
    made.add("pages", users=draw.whole(1, 64), pages=1, think="1ms", document=size, objects=0, group="attacker", host=1)
    return made


def hopping(draw: Draw) -> Scenario:
    """Datagrams with a new port each, at 30 to 130 % of the link, with downloads and a call."""
    made = draw.scenario(rates=(2e6, 200e6), rtts=(0.01, 0.1), hosts={})
    made.add("long", flows=draw.rng.randint(1, 3), group="honest", host=0)
    made.add("voice", group="call", host=2)
    made.add("syn_flood", rate=bits(draw.load(0.3, 1.3) * made.rate), packet=draw.rng.choice([200, 1500]), host=1, rtt=None)
    return made


def floods(draw: Draw) -> Scenario:
    """SYNs at 5 to 60 % of the link, with downloads, connections, lookups and a call."""
    made = draw.scenario(rates=(1e6, 50e6), rtts=(0.01, 0.1), hosts={}, longest=60)
    made.add("long", flows=draw.rng.randint(1, 3), group="honest", host=0)
    made.add("voice", group="call", host=2)
    made.add("dns", gap="500ms", group="lookups", host=2)
    made.add("syn_flood", rate=bits(draw.load(0.05, 0.6) * made.rate), host=1, rtt=None)
    made.connections("web", pareto(12, 1.3), 0.2, 12)
    return made


def calls(draw: Draw) -> Scenario:
    """Calls, a game and lookups, with downloads."""
    made = draw.scenario(rates=(2e6, 100e6), rtts=(0.01, 0.15))
    downloads = draw.whole(1, 12)
    made.add("long", flows=downloads, group="downloads")
    made.add("voice", group="call")
    made.add("game", group="game")
    made.add("dns", gap="1s", group="lookups")
    made.add("video_call", group="video")
    return made


# ---- families: validation ---------------------------------------------------------------------------------------------


def other_sizes(draw: Draw) -> Scenario:
    """Distributions of sizes that train does not have."""
    made = draw.scenario()
    mean = draw.log(8, 300)
    which = (
        hyperexponential(mean, draw.log(10, 100)),
        gamma(mean, draw.rng.uniform(0.2, 0.5)),
        uniform(mean),
        gamma(mean, 4),
    )[draw.number % 4]
    made.connections("", which, draw.load(0.3, 1.4), mean)
    return made


def viewers(draw: Draw) -> Scenario:
    """Viewers of films in chunks, with downloads."""
    made = draw.scenario(rates=(5e6, 300e6), rtts=(0.01, 0.15))
    downloads = draw.rng.randint(0, 4)
    if downloads:
        made.add("long", flows=downloads, group="downloads")
    users = draw.rng.randint(1, 8)
    off = draw.log(1, 6)
    chunk = max(20, int(draw.load(0.2, 0.9) * made.rate * off / users / 8 / 1500))
    made.add("on_off", users=users, size={"segments": chunk}, off=time(off), group="film")
    return made


def household(draw: Draw) -> Scenario:
    """Members of a household with random applications."""
    made = draw.scenario(rates=(2e6, 300e6), rtts=(0.01, 0.1), mixed=False, hosts={})
    made.up = draw.rng.choice([0.1, 0.25, 1.0])
    made.duration = max(made.duration, min(60.0, 2 * draw.budget / made.rate))
    members = {
        "pages": lambda: made.add("pages", users=draw.rng.randint(1, 4), pages=8, think=time(draw.log(2, 20))),
        "film": lambda: made.add("on_off", users=1, size={"segments": max(50, int(made.rate / 12000))}, off="3s", group="film"),
        "call": lambda: made.add("voice", group="call"),
        "video": lambda: made.add("video_call", group="video"),
        "game": lambda: made.add("game", group="game"),
        "lookups": lambda: made.add("dns", gap="500ms", group="lookups"),
        "terminal": lambda: made.add("ssh", sessions=2, group="terminal"),
        "downloads": lambda: made.add("long", flows=draw.rng.randint(1, 3), group="downloads"),
        "backup": lambda: made.add("long", flows=1, direction="up", initiator="sender", group="backup"),
    }
    for name in draw.rng.sample(list(members), draw.rng.randint(5, 9)):
        members[name]()
    return made


def office(draw: Draw) -> Scenario:
    """Many people: pages, calls, terminals, files in both directions."""
    made = draw.scenario(rates=(10e6, 500e6), rtts=(0.005, 0.1), hosts={})
    people = draw.whole(5, 40)
    made.up = draw.rng.choice([0.2, 1.0])
    made.add("pages", users=people, pages=8, think=time(max(2.0, 30e6 * people / made.rate)))
    made.add("voice", calls=max(1, people // 5), group="calls")
    made.add("ssh", sessions=max(1, people // 5), group="terminals")
    made.add("dns", gap="200ms", group="lookups")
    made.add("long", flows=draw.rng.randint(1, 3), group="download")
    made.add("long", flows=draw.rng.randint(1, 2), direction="up", initiator="sender", group="upload")
    made.connections("files", lognormal(100, 1.5), draw.load(0.1, 0.4), 100)
    return made


def tunnels(draw: Draw) -> Scenario:
    """A tunnel with a download, a call and pages, and the same traffic outside it."""
    made = draw.scenario(rates=(5e6, 100e6), rtts=(0.01, 0.1), mixed=False, hosts={})
    for tunnel, where in ((1, "within"), (None, "beside")):
        made.add("long", flows=draw.rng.randint(1, 2), group=f"download {where}", tunnel=tunnel)
        made.add("voice", group=f"call {where}", tunnel=tunnel)
        made.add("pages", users=2, pages=8, think="5s", group=f"pages {where}", tunnel=tunnel)
    return made


def two_way(draw: Draw) -> Scenario:
    """Long flows in both directions, connections and a call."""
    made = draw.scenario(rates=(1e6, 300e6), rtts=(0.005, 0.15))
    made.up = draw.rng.choice([1.0, 0.2, 0.1, 0.05])
    made.add("long", flows=draw.whole(1, 8), group="downloads")
    made.add("long", flows=draw.whole(1, 8), direction="up", initiator="sender", group="uploads")
    made.add("voice", group="call")
    made.connections("", pareto(20, 1.2), draw.load(0.1, 0.5), 20)
    return made


def rate_changes(draw: Draw) -> Scenario:
    """A link that changes its rate, with downloads, connections and a call."""
    made = draw.scenario(rates=(5e6, 100e6), rtts=(0.01, 0.15), hosts={})
    at = 0.0
    while (at := at + draw.log(0.5, 10)) < made.duration:
        made.changes.append((at, made.rate * draw.log(0.2, 1.5)))
    made.add("long", flows=draw.whole(1, 5), group="downloads")
    made.add("voice", group="call")
    made.connections("", pareto(20, 1.3), draw.load(0.1, 0.3), 20)
    return made


def churn(draw: Draw) -> Scenario:
    """Long flows join and leave."""
    made = draw.scenario(rates=(5e6, 100e6), rtts=(0.01, 0.15))
    made.add("long", flows=draw.whole(1, 6), group="old")
    for number in range(draw.rng.randint(2, 6)):
        start = draw.rng.uniform(0.1, 0.8) * made.duration
        stop = min(made.duration, start + draw.rng.uniform(0.1, 0.4) * made.duration)
        made.add("long", flows=draw.whole(1, 8), group=f"new {number}", start=time(start), stop=time(stop))
    return made


def ecn_mix(draw: Draw) -> Scenario:
    """Connections and long flows with ECN, without, and with DCTCP."""
    made = draw.scenario(rates=(5e6, 1e9), rtts=(0.005, 0.1), hosts=draw.rng.choice([{"ecn": "request"}, {"ecn": "accecn"}]))
    made.add("long", flows=draw.whole(1, 4), group="marked")
    made.add("long", flows=draw.whole(1, 4), group="dropped", tcp={"ecn": "off"}, initiator_tcp={"ecn": "off"})
    if draw.rng.random() < 0.5:
        made.add("long", flows=draw.rng.randint(1, 2), group="dctcp", tcp={"congestion_control": "dctcp", "ecn": "accept"})
    made.connections("", pareto(20, 1.3), draw.load(0.1, 0.6), 20)
    return made


def mtu(draw: Draw) -> Scenario:
    """An MTU of 576 or 9,000."""
    mss = (524, 8948)[draw.number % 2]
    made = draw.scenario(rates=((1e6, 100e6), (100e6, 10e9))[draw.number % 2], hosts={"mss": mss})
    made.add("long", flows=draw.whole(1, 4), group="downloads")
    made.connections("", lognormal(30, 1.5), draw.load(0.2, 0.8), 30)
    return made


def unreactive(draw: Draw) -> Scenario:
    """Datagrams that do not react, at 20 to 150 % of the link together, with TCP."""
    made = draw.scenario(rates=(2e6, 200e6), rtts=(0.01, 0.15))
    senders = draw.rng.randint(1, 4)
    rate = draw.load(0.2, 1.5) * made.rate / senders
    for number in range(senders):
        made.add("udp", rate=bits(rate * draw.rng.uniform(0.9, 1.1)), group=f"attacker {number}", host=1)
    made.add("long", flows=draw.whole(1, 4), group="honest", host=0)
    made.add("pages", users=2, pages=8, think="3s", host=2)
    return made


def timers(draw: Draw) -> Scenario:
    """Senders that pause and time their packets, and honest flows."""
    made = draw.scenario(rates=(5e6, 100e6), rtts=(0.01, 0.1), mixed=False, hosts={})
    made.add("long", flows=draw.rng.randint(1, 3), group="honest", host=0)
    made.add("voice", group="call", host=2)
    if draw.number % 2:
        # One flow has every second packet of the link: it sends when one of its packets and one of others have left
        # (sch_cake#145).
        wire = (1500 + ETHERNET) / 1500
        made.add("udp", rate=bits(made.rate / 2 / wire), jitter=0, group="attacker", host=1)
        return made
    off = draw.log(0.02, 3)
    users = draw.whole(1, 8)
    segments = max(4, int(draw.log(0.1, 2) * off * made.rate / 12000 / users))
    made.add("on_off", users=users, size={"segments": segments}, off=time(off), group="attacker pauses", host=1)
    for number in range(draw.whole(1, 16)):
        made.add("udp", rate=bits(made.rate / 32), jitter=0, group=f"attacker {number}", host=1)
    return made


def idle_bursts(draw: Draw) -> Scenario:
    """Connections that are idle and then send a burst, with downloads."""
    made = draw.scenario(rates=(5e6, 200e6), rtts=(0.01, 0.15))
    made.add("long", flows=draw.whole(1, 4), group="downloads")
    size = {"pareto": 1.5, "mean": float(draw.whole(10, 100))}
    made.add("on_off", users=draw.whole(1, 20), size=size, off=time(draw.log(0.3, 5)), group="idle")
    return made


def page_bursts(draw: Draw) -> Scenario:
    """Pages of many connections on a link that is otherwise idle, or has a call only."""
    made = draw.scenario(rates=(2e6, 100e6), rtts=(0.01, 0.15))
    made.add("voice", group="call")
    mean = draw.log(4, 40)
    made.connections("web", lognormal(mean, 1.2), draw.load(0.1, 0.6), mean, burst=draw.whole(6, 100), spread=0.01)
    return made


def torrents(draw: Draw) -> Scenario:
    """Hundreds of flows of one host, and a call, a download and lookups of others."""
    made = draw.scenario(rates=(5e6, 100e6), rtts=(0.02, 0.15), longest=60)
    made.rtts = (made.rtts[1] / 4, made.rtts[1])
    flows = draw.whole(50, 500)
    made.add("long", flows=flows, group="attacker", host=1, start=["0s", time(made.duration / 8)])
    made.add("long", flows=1, group="honest", host=0)
    made.add("voice", group="call", host=2)
    made.add("dns", gap="500ms", group="lookups", host=2)
    return made


TRAIN: dict[str, tuple[Callable[[Draw], Scenario], int]] = {
    "sizes": (sizes, 12),
    "elephants": (elephants, 8),
    "bursts": (bursts, 8),
    "streams": (streams, 6),
    "many": (many, 8),
    "rtt-mix": (rtt_mix, 4),
    "cc-mix": (cc_mix, 4),
    "splitters": (splitters, 8),
    "hopping": (hopping, 4),
    "floods": (floods, 4),
    "calls": (calls, 6),
}

VALIDATION: dict[str, tuple[Callable[[Draw], Scenario], int]] = {
    "other-sizes": (other_sizes, 8),
    "viewers": (viewers, 4),
    "household": (household, 6),
    "office": (office, 4),
    "tunnels": (tunnels, 4),
    "two-way": (two_way, 5),
    "rate-changes": (rate_changes, 4),
    "churn": (churn, 4),
    "ecn-mix": (ecn_mix, 4),
    "mtu": (mtu, 4),
    "unreactive": (unreactive, 4),
    "timers": (timers, 4),
    "idle-bursts": (idle_bursts, 4),
    "page-bursts": (page_bursts, 5),
    "torrents": (torrents, 4),
}

FAMILIES = TRAIN | VALIDATION


def scenario(family: str, number: int, budget: float = BUDGET) -> Scenario:
    """The scenario with this number, always the same; its runs carry some `budget` bits."""
    made = FAMILIES[family][0](Draw(family, number, budget))
    made.name_slow()
    return made


# Flow lists that files in cases/ name, as their authors drew them: the load of the link, and sizes in bytes with their parts.
LISTS = {
    "bimodal_70_0.csv": (0.70, ((0.9, 3_000), (0.1, 400_000))),
    "const200k_95_0.csv": (0.95, ((1.0, 200_000),)),
}


def write_case(case: Path, folder: Path, seed: int) -> Path:
    """Writes a scenario file of cases/ with the flow lists that it names, drawn for a seed on its link of 10 Mb/s for 200 s."""
    folder.mkdir(parents=True, exist_ok=True)
    text = case.read_text()
    path = folder / case.name
    for name, (load, mixture) in LISTS.items():
        if f"../flows/{name}" not in text:
            continue
        rng = random.Random(f"{name} {seed}")
        path = folder / f"{case.stem}-seed-{seed}.toml"
        flows = folder / f"{path.stem}.csv"
        text = text.replace(f"../flows/{name}", flows.name)
        left = load * 10e6 / 8 * 200
        lines = ["start_s,bytes,rtt_s,direction,initiator\n"]
        while left > 0:
            [(_, size)] = rng.choices(mixture, [part for part, _ in mixture])
            left -= size + math.ceil(size / 1448) * HEADERS
            lines.append(f"{rng.uniform(0, 200):.6f},{size},{rng.uniform(0.012, 0.3):.6f},down,receiver\n")
        write(flows, "".join(lines))
    write(path, text)
    return path
