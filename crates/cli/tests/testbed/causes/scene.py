"""One variant of a cause: what was drawn for it, its network and its traffic."""

import math
import random
import socket
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from capture import COOKED, ETHERNET, Capture, Packet, merged, pcap
from network import Network
from resolver import DnsServer, Resolution, Resolver
from traffic import Plan, Service, Traffic
from truth import Trace, describe, handshakes

# Time of the first packet in the files: 1 January 2026.
EPOCH = 1_767_225_600 * 10**9
PORTS = {80: 0, 443: 0, 8080: 0, 5432: 0, 22: 41, 25: 90, 3306: 78, 993: 60}
TAPS = ["c0", "a0", "r0", "r1", "b1", "s0"]
Facts = dict[str, Any]


@dataclass
class Scene:
    """Variant that is being made."""

    cause: str
    draw: random.Random
    parameters: dict[str, Any] = field(default_factory=dict)
    network: Network = field(init=False)
    services: dict[int, Service] = field(default_factory=dict)
    plans: list[Plan] = field(default_factory=list)
    # Actions of the script, with their times.
    actions: list[tuple[float, Callable[[], None]]] = field(default_factory=list)
    # Streams of datagrams: direction, bytes of payload, datagrams per second.
    streams: list[tuple[str, int, float]] = field(default_factory=list)
    # Devices whose captures are put together in the file of a point.
    files: dict[str, list[str]] = field(default_factory=dict)
    cooked: bool = False
    # Direction kept in files: `up`, `down`, or both.
    direction: str = ""
    limit: float = 200.0
    # Size of the connection tracker's table, if it is to be small.
    conntrack_max: int = 0
    # Whether a handshake was affected by the cause, by its facts.
    affected: Callable[[Facts], bool] = lambda _: False
    # The number of affected handshakes that a variant needs.
    needed: int = 3
    traffic: Traffic = field(init=False)
    sockets: list[socket.socket] = field(default_factory=list)
    # Facts about a handshake that its packets do not show, by address and port of the client.
    notes: dict[tuple[str, int], dict[str, Any]] = field(default_factory=dict)
    # How clients look up the servers' addresses; none if they know them.
    resolution: Resolution | None = None
    dns_server: DnsServer = field(default_factory=DnsServer)
    resolver: Resolver | None = None

    def __post_init__(self) -> None:
        """Draw the network that all causes have in common."""
        draw = self.draw
        families = draw.choice([[4], [4], [6], [4, 6]])
        clients, servers = draw.randint(1, 5), draw.randint(1, 4)
        self.rtt = math.exp(draw.uniform(math.log(0.001), math.log(0.2)))
        self.families = families
        self.clients = {
            4: [f"192.0.2.{10 + 7 * n}" for n in range(clients)],
            6: [f"2001:db8:1::{10 + n:x}" for n in range(clients)],
        }
        self.servers = {
            4: [f"198.51.100.{20 + 11 * n}" for n in range(servers)],
            6: [f"2001:db8:2::{20 + n:x}" for n in range(servers)],
        }
        self.network = Network(self.clients[4] + self.clients[6], self.servers[4] + self.servers[6])
        self.ports = draw.sample(sorted(PORTS), draw.randint(1, 4))
        self.services = {port: Service(banner=PORTS[port]) for port in self.ports}
        for port in self.ports:
            if PORTS[port] == 0 and draw.random() < 0.15:
                self.services[port].banner = draw.choice([20, 120, 1500, 20000])
            if draw.random() < 0.3:
                self.services[port].think = round(draw.uniform(0.001, 0.4), 3)
        self.network.hops = {"left": draw.choice([0, 1, 4, 9]), "right": draw.choice([0, 0, 3, 7])}
        self.delays(self.rtt)
        # Time that hosts and the router need for a packet, and that it takes on their links.
        self.nic = f"rate {draw.choice(['100mbit', '1gbit', '1gbit'])}"
        for device in ("c0", "r0", "r1", "s0"):
            self.network.netem[device] = f"delay {draw.choice([3, 10, 30, 80])}us {self.nic}"
        timestamps = draw.choice([0, 1, 1])
        host = {
            "ipv4/tcp_timestamps": timestamps,
            "ipv4/tcp_sack": 1,
            "ipv4/tcp_ecn": draw.choice([0, 2, 2, 1]),
            "ipv4/tcp_congestion_control": draw.choice(["cubic", "reno"]),
            "ipv4/tcp_syn_linear_timeouts": draw.choice([0, 4, 4]),
            "ipv4/tcp_syn_retries": draw.choice([3, 4, 6]),
            "ipv4/tcp_synack_retries": draw.choice([2, 3, 5]),
            "ipv4/tcp_no_metrics_save": draw.choice([0, 1]),
            "ipv4/tcp_fin_timeout": 60,
            "ipv4/tcp_max_syn_backlog": 4096,
            "core/somaxconn": 4096,
        }
        self.network.settings["client"] = dict(host)
        self.network.settings["server"] = dict(host)
        self.files = {"client": ["c0"], "router": [draw.choice(["r0", "r1"])], "server": ["s0"]}
        self.count = draw.randint(20, 120)
        self.duration = draw.uniform(10, 60)
        self.parameters.update(
            rtt_s=round(self.rtt, 6),
            families=families,
            timestamps=timestamps,
            ecn=host["ipv4/tcp_ecn"],
            linear_timeouts=host["ipv4/tcp_syn_linear_timeouts"],
            connections=self.count,
            duration_s=round(self.duration, 1),
            hops=dict(self.network.hops),
            clients=clients,
            servers=servers,
            ports=self.ports,
            banners={port: service.banner for port, service in self.services.items()},
        )

    def delays(self, rtt: float, busy: tuple[str, ...] = ()) -> None:
        """Distribute the round-trip time to the ports of wires that have no other queue."""
        for ports in (["a1", "b1"], ["b0", "a0"]):
            free = [port for port in ports if port not in busy]
            shares = [self.draw.random() + 0.05 for _ in free]
            for port in ports:
                self.network.netem.pop(port, None)
            for port, share in zip(free, shares, strict=True):
                self.network.netem[port] = f"delay {rtt / 2 * share / sum(shares) * 1e6:.0f}us"

    def pair(self) -> tuple[str, str]:
        """Draw the addresses of a client and of a server."""
        family = self.draw.choice(self.families)
        return self.draw.choice(self.clients[family]), self.draw.choice(self.servers[family])

    def sizes(self, port: int, scale: float = 1.0) -> dict[str, Any]:
        """Draw what a connection transfers."""
        draw = self.draw
        banner = self.services[port].banner if port in self.services else 0
        kind = draw.random()
        sizes: dict[str, Any] = {"banner": banner, "server_closes": draw.random() < 0.4}
        if draw.random() < 0.25:
            sizes["hold"] = round(draw.uniform(0.001, 1.5), 3)
        if kind < 0.2:
            return sizes | {"server_closes": False}
        sizes["request"] = draw.randint(40, 1500)
        sizes["response"] = int(min(400_000, math.exp(draw.gauss(8.5, 1.6))) * scale) + 50
        if kind > 0.9:
            sizes["request"] = int(min(300_000, math.exp(draw.gauss(9.5, 1.5))) * scale) + 40
        return sizes

    def workload(self, scale: float = 1.0, **changes: Any) -> None:
        """Draw the connections of the variant."""
        draw = self.draw
        bursty = draw.random() < 0.4
        starts = sorted(draw.uniform(0.1, self.duration) for _ in range(self.count))
        if bursty:
            centres = [draw.uniform(0.1, self.duration) for _ in range(max(2, self.count // 8))]
            starts = sorted(abs(draw.choice(centres) + draw.gauss(0, 0.05)) + 0.1 for _ in starts)
        for start in starts:
            client, server = self.pair()
            port = draw.choice(self.ports)
            plan = {"connect_timeout": draw.choice([8, 20, 60]), **self.sizes(port, scale), **changes}
            self.plans.append(Plan(round(start, 6), client, server, port, **plan))
        self.parameters["bursty"] = bursty

    def make(self) -> "Made":
        """Build the network, run the traffic, and compare the captures."""
        self.network.build()
        # Ports of a bridge begin to forward up to a second after their link is up, and IPv6 joins its groups.
        time.sleep(4)
        try:
            return self.run()
        finally:
            self.network.close()

    def run(self) -> "Made":
        """Run the traffic in a network that has been built."""
        spaces = self.network.spaces
        wanted = {device for devices in self.files.values() for device in devices} | {"c0", "r0", "r1", "s0"}
        hosts = {"c0": "client", "a0": "left", "r0": "router", "r1": "router", "b1": "right", "s0": "server"}
        with spaces["client"].entered():
            self.traffic = Traffic(spaces["client"], spaces["server"])
            for port, service in self.services.items():
                for address in [a for family in self.families for a in self.servers[family]]:
                    self.traffic.listen(address, port, service)
            captures = {device: Capture(spaces[hosts[device]], device) for device in TAPS if device in wanted}
            if self.resolution:
                self.resolver = Resolver(self, self.resolution, self.dns_server)
            for plan in self.plans:
                if self.resolver:
                    self.resolver.resolve(plan)
                else:
                    self.traffic.connect(plan)
            for direction, size, rate in self.streams:
                self.stream(direction, size, rate)
            for when, action in self.actions:
                self.traffic.at(when, action)

            def drain() -> None:
                for capture in captures.values():
                    capture.drain()

            self.traffic.run(self.limit, self.draw.uniform(0.5, 4), drain)
            for sock in self.sockets:
                sock.close()
            packets = {device: capture.stop() for device, capture in captures.items()}
        return self.result(packets)

    def stream(self, direction: str, size: int, rate: float) -> None:
        """Send datagrams at random times while connections begin."""
        client, server = self.pair()
        ends = {"up": (client, server), "down": (server, client)}[direction]
        hosts = {"up": ("client", "server"), "down": ("server", "client")}[direction]
        kind = socket.AF_INET6 if ":" in client else socket.AF_INET
        sockets = []
        for host, address in zip(hosts, ends, strict=True):
            with self.network.spaces[host].entered():
                sockets.append(socket.socket(kind, socket.SOCK_DGRAM))
            sockets[-1].bind((address, 5004))
            sockets[-1].setblocking(False)
        sender = sockets[0]
        self.sockets += sockets

        def send() -> None:
            sender.sendto(bytes(size), (ends[1], 5004))
            if self.traffic.now() < self.duration:
                self.traffic.at(self.traffic.now() + self.draw.expovariate(rate), send)

        self.traffic.at(0.05, send)

    def result(self, packets: dict[str, list[Packet]]) -> "Made":
        """Files and truth."""
        first = min(capture[0].nanoseconds for capture in packets.values() if capture)
        offset = EPOCH + self.draw.randrange(10**9) - first
        found = []
        for attempt in handshakes(Trace(packets)):
            facts = describe(attempt, offset)
            facts.update(self.notes.get((facts["client"], facts["client_port"]), {}))
            facts["affected"] = self.affected(facts)
            facts["cause"] = self.cause if facts["affected"] else None
            found.append(facts)
        lookups = {}
        if self.resolver:
            lookups = self.resolver.truth({point: packets[devices[0]] for point, devices in self.files.items()})
        files = {}
        for point, devices in self.files.items():
            kept = merged((packets[device] for device in devices), cable=point != "router")
            if self.direction:
                ups = {"c0": True, "r0": False, "r1": True, "s0": False}
                kept = [packet for packet in kept if (packet.outgoing == ups[devices[0]]) == (self.direction == "up")]
            files[point] = pcap(kept, offset, COOKED if self.cooked and len(devices) > 1 else ETHERNET)
        results: dict[str, int] = {}
        for client in self.traffic.clients:
            results[client.result] = results.get(client.result, 0) + 1
        return Made(files, found, results, {device: len(capture) for device, capture in packets.items()}, lookups)


@dataclass
class Made:
    """Captures and truth of a variant."""

    files: dict[str, bytes]
    handshakes: list[Facts]
    results: dict[str, int]
    packets: dict[str, int]
    lookups: dict[str, list[Facts]]

    @property
    def affected(self) -> int:
        """Number of handshakes that the cause affected."""
        return sum(1 for handshake in self.handshakes if handshake["affected"])
