"""client - wire - router - wire - switch - server, each in a separate network namespace.

The first wire leads through a trunk with an 802.1Q tag; the switch has a monitor port that gets what enters and leaves
both of its others, so that it sees every frame twice.
"""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

from cases import ALL, CASES, KINDS, PORTS

HERE = Path(__file__).resolve().parent
SNAPLEN = 128
VLAN = 100
# Of each wire, one way: 20 ms there and back.
DELAY_MS = 5

SERVER_ADDRESSES = ("198.18.2.2", "2001:db8:2::2")

# Where captures are made: namespace, interface.
PLACES = {
    "client": ("client", "eth0"),
    "trunk": ("wires", "trunk0"),
    "router": ("router", "eth0"),
    "any": ("router", "any"),
    "span": ("switch", "probe"),
    "server": ("server", "eth0"),
}

# Both ends of each cable: namespace, interface.
CABLES = [
    (("client", "eth0"), ("wires", "w0")),
    (("wires", "trunk0"), ("wires", "trunk1")),
    (("wires", "w1"), ("router", "eth0")),
    (("router", "eth1"), ("wires", "w2")),
    (("wires", "w3"), ("switch", "port0")),
    (("switch", "port1"), ("server", "eth0")),
    (("switch", "monitor"), ("switch", "probe")),
]

ADDRESSES = [
    ("client", "eth0", "198.18.1.2/24", "2001:db8:1::2/64"),
    ("router", "eth0", "198.18.1.1/24", "2001:db8:1::1/64"),
    ("router", "eth1", "198.18.2.1/24", "2001:db8:2::1/64"),
    ("server", "eth0", "198.18.2.2/24", "2001:db8:2::2/64"),
]

GATEWAYS = [("client", "198.18.1.1", "2001:db8:1::1"), ("server", "198.18.2.1", "2001:db8:2::1")]


def filtered(place: str, expression: str) -> str:
    """A capture filter, applied behind the tag if there is one."""
    return f"vlan and {expression}" if place == "trunk" else expression


def run(*command: str, **options) -> str:
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **options)
    if done.returncode != 0:
        raise RuntimeError(f"{' '.join(command)} failed: {done.stderr.strip() or done.stdout.strip()}")
    return done.stdout


class Network:
    """The namespaces, and the processes in them; both end with the `with` block."""

    def __init__(self) -> None:
        self.prefix = f"gentle-{os.getpid()}-"
        self.namespaces: list[str] = []
        self.processes: list[subprocess.Popen] = []

    def __enter__(self) -> "Network":
        try:
            self.build()
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_) -> None:
        for process in self.processes:
            if process.poll() is None:
                process.kill()
                process.wait()
        for name in self.namespaces:
            subprocess.run(["ip", "netns", "del", name])

    def inside(self, host: str, *command: str) -> str:
        return run("ip", "netns", "exec", self.prefix + host, *command)

    def start(self, host: str, *command: str, ready: str) -> subprocess.Popen:
        """Starts a process and waits until it has said `ready`."""
        command = ("ip", "netns", "exec", self.prefix + host, *command)
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        self.processes.append(process)
        said = []
        for line in process.stdout:
            said.append(line)
            if ready in line:
                return process
        raise RuntimeError(f"{' '.join(command)} ended: {''.join(said).strip()}")

    def build(self) -> None:
        for host in sorted({host for cable in CABLES for host, _ in cable}):
            run("ip", "netns", "add", self.prefix + host)
            self.namespaces.append(self.prefix + host)
            self.inside(host, "ip", "link", "set", "lo", "up")
        for (host, interface), (peer_host, peer) in CABLES:
            peer_namespace = self.prefix + peer_host
            ends = ["type", "veth", "peer", "name", peer, "netns", peer_namespace]
            self.inside(host, "ip", "link", "add", "name", interface, *ends)
        for host, interface in (end for cable in CABLES for end in cable):
            # Segments as they go over a wire: none longer than a frame, all with checksums.
            self.inside(host, "ethtool", "-K", interface, "tso", "off", "gso", "off", "gro", "off", "tx", "off")
            self.inside(host, "ip", "link", "set", interface, "up")
        for host, interface, ipv4, ipv6 in ADDRESSES:
            self.inside(host, "ip", "address", "add", ipv4, "dev", interface)
            self.inside(host, "ip", "address", "add", ipv6, "dev", interface, "nodad")
        for host, ipv4, ipv6 in GATEWAYS:
            self.inside(host, "ip", "route", "add", "default", "via", ipv4)
            self.inside(host, "ip", "-6", "route", "add", "default", "via", ipv6)
            # Cases must not learn from each other; an unwanted SYN/ACK is abandoned before the script ends.
            self.inside(host, "sysctl", "-qw", "net.ipv4.tcp_no_metrics_save=1", "net.ipv4.tcp_synack_retries=2")
        forwarding = ["net.ipv4.ip_forward=1", "net.ipv6.conf.all.forwarding=1"]
        self.inside("router", "sysctl", "-qw", *forwarding)
        self.build_switch()
        wires = [f"w0,trunk0,{DELAY_MS},{VLAN}", f"w1,trunk1,0,{VLAN}", f"w2,w3,{DELAY_MS},0"]
        self.start("wires", sys.executable, str(HERE / "wire.py"), *wires, ready="ready")

    def build_switch(self) -> None:
        self.inside("switch", "ip", "link", "add", "bridge", "type", "bridge")
        self.inside("switch", "ip", "link", "set", "bridge", "up")
        for port in ["port0", "port1"]:
            self.inside("switch", "ip", "link", "set", port, "master", "bridge")
            self.inside("switch", "tc", "qdisc", "add", "dev", port, "clsact")
            for side in ["ingress", "egress"]:
                everything = ["protocol", "all", "u32", "match", "u32", "0", "0"]
                mirror = ["action", "mirred", "egress", "mirror", "dev", "monitor"]
                self.inside("switch", "tc", "filter", "add", "dev", port, side, *everything, *mirror)

    def lose(self) -> None:
        """Has the router drop what the cases say."""
        rules = []
        for case in CASES:
            for kind, numbers in case.lost.items():
                chosen = ""
                if numbers != ALL:
                    # Counts only the packets that all before it in the rule have matched.
                    chosen = f"numgen inc mod 1000000 {{ {', '.join(map(str, numbers))} }}"
                match = KINDS[kind].format(PORTS[case.name])
                rules.append(f'{match} {chosen} counter drop comment "{case.name} {kind}"')
        chain = "type filter hook forward priority 0;\n" + "\n".join(rules)
        text = f"table inet gentle {{ chain losses {{ {chain}\n }}\n}}\n"
        run("ip", "netns", "exec", self.prefix + "router", "nft", "-f", "-", input=text)

    def lost(self) -> dict[str, dict[str, int]]:
        """How many packets of each kind the router has dropped, by case."""
        counts: dict[str, dict[str, int]] = {}
        for item in json.loads(self.inside("router", "nft", "-j", "list", "ruleset"))["nftables"]:
            if "rule" in item:
                case, kind = item["rule"]["comment"].split()
                counter = next(part["counter"] for part in item["rule"]["expr"] if "counter" in part)
                counts.setdefault(case, {})[kind] = counter["packets"]
        return counts

    def capture(self, place: str, file: Path) -> subprocess.Popen:
        host, interface = PLACES[place]
        options = ["--immediate-mode", "--packet-buffered", "--time-stamp-precision=nano", "-s", str(SNAPLEN)]
        command = ["tcpdump", "-n", "-i", interface, "-Z", "root", *options, "-w", str(file), filtered(place, "tcp")]
        return self.start(host, *command, ready="listening on")

    def stop(self, process: subprocess.Popen) -> None:
        """Lets a capture write what it has."""
        process.send_signal(signal.SIGINT)
        process.wait()
