"""Network of client, router and server, with a wire of its own kernel bridge on each side.

    client c0──a0 wire a1──r0 router r1──b0 wire b1──s0 server

Delay, loss and bottlenecks are on the ports of the wires and on the router, so that captures at client and server have
every packet that these hosts sent.
"""

from dataclasses import dataclass, field
from ipaddress import ip_address

from namespace import Namespace

LINKS = [
    ("client", "c0", "left", "a0"),
    ("left", "a1", "router", "r0"),
    ("router", "r1", "right", "b0"),
    ("right", "b1", "server", "s0"),
]
DEVICES = {device: host for a, b, c, d in LINKS for device, host in ((b, a), (d, c))}
# Devices through which packets pass, in order.
UP = ["a1", "r1", "b1"]
DOWN = ["b0", "r0", "a0"]


@dataclass
class Network:
    """Addresses and properties of a network."""

    client_addresses: list[str]
    server_addresses: list[str]
    # Arguments of netem by port of a wire: `delay 20ms loss 2%`.
    netem: dict[str, str] = field(default_factory=dict)
    # Commands of tc for a device, with `DEV` as its name; replaces netem.
    queues: dict[str, list[str]] = field(default_factory=dict)
    # Routers on each wire, which reduce the TTL.
    hops: dict[str, int] = field(default_factory=lambda: {"left": 0, "right": 0})
    # Settings below /proc/sys/net by host.
    settings: dict[str, dict[str, int | str]] = field(default_factory=dict)
    router_rules: list[str] = field(default_factory=list)
    # Commands of ip for the router by version of IP.
    rules: dict[int, list[str]] = field(default_factory=dict)
    spaces: dict[str, Namespace] = field(default_factory=dict)

    def build(self) -> None:
        """Make namespaces, devices, addresses, routes and queues."""
        names = ["client", "left", "router", "right", "server"]
        self.spaces = {name: Namespace() for name in names}
        for name in names:
            self.spaces[name].sysctl(basic_settings(wire=name in ("left", "right")))
        self.spaces["router"].sysctl({"ipv4/ip_forward": 1, "ipv6/conf/all/forwarding": 1})
        links = []
        for number, (host, device, peer_host, peer) in enumerate(LINKS):
            links.append(
                f"link add {device} address {mac(number, 0)} netns {self.spaces[host].path} type veth "
                f"peer name {peer} address {mac(number, 1)} netns {self.spaces[peer_host].path}"
            )
        self.spaces["client"].ip(links)
        for device, host in DEVICES.items():
            self.spaces[host].without_offloads(device)
        self.spaces["client"].ip(self.host("c0", self.client_addresses, "r0"))
        self.spaces["server"].ip(self.host("s0", self.server_addresses, "r1"))
        for name, ports in (("left", ("a0", "a1")), ("right", ("b0", "b1"))):
            bridge = ["link add br0 type bridge stp_state 0 mcast_snooping 0", "link set br0 up"]
            self.spaces[name].ip(bridge + [f"link set {port} master br0 up" for port in ports])
        self.spaces["router"].ip(self.router())
        for version, lines in self.rules.items():
            self.spaces["router"].ip(lines, version)
        for host, settings in self.settings.items():
            self.spaces[host].sysctl(settings)
        for name in self.spaces:
            self.spaces[name].tc(self.queue_commands(name))
        if self.router_rules:
            table = ["table inet t {", *self.router_rules, "}"]
            self.spaces["router"].nft(table)

    def host(self, device: str, addresses: list[str], gateway: str) -> list[str]:
        """Commands that configure client or server."""
        lines = ["link set lo up", f"link set {device} up"]
        for address in addresses:
            lines.append(
                f"addr add {address}/{64 if ':' in address else 24} dev {device}{' nodad' if ':' in address else ''}"
            )
        for router in gateways(device):
            lines.append(f"neigh add {router} lladdr {mac_of(gateway)} dev {device} nud permanent")
            lines.append(f"route add default via {router} dev {device}")
        return lines

    def router(self) -> list[str]:
        """Commands that configure the router."""
        lines = ["link set lo up", "link set r0 up", "link set r1 up"]
        for device, far, addresses in (("r0", "c0", self.client_addresses), ("r1", "s0", self.server_addresses)):
            for gateway in gateways(far):
                lines.append(
                    f"addr add {gateway}/{64 if ':' in gateway else 24} dev {device}"
                    f"{' nodad' if ':' in gateway else ''}"
                )
            for address in addresses:
                lines.append(f"neigh add {address} lladdr {mac_of(far)} dev {device} nud permanent")
        return lines

    def queue_commands(self, name: str) -> list[str]:
        """Commands of tc for the devices of a wire or of the router."""
        lines = []
        for device, host in DEVICES.items():
            if host != name:
                continue
            if device in self.queues:
                lines += [line.replace("DEV", device) for line in self.queues[device]]
            elif device in self.netem:
                lines.append(f"qdisc add dev {device} root handle 1: netem limit 100000 {self.netem[device]}")
            hops = self.hops.get(name, 0)
            if hops and device in UP + DOWN:
                lines.append(f"qdisc add dev {device} clsact")
                lines.append(
                    f"filter add dev {device} egress protocol ip prio 1 matchall "
                    f"action pedit ex munge ip ttl add {256 - hops} pipe action csum ip4h"
                )
                lines.append(
                    f"filter add dev {device} egress protocol ipv6 prio 2 matchall "
                    f"action pedit ex munge ip6 hoplimit add {256 - hops}"
                )
        return lines

    def close(self) -> None:
        """Release the namespaces."""
        for space in self.spaces.values():
            space.close()


def basic_settings(*, wire: bool) -> dict[str, int | str]:
    """Settings of every namespace: no automatic IPv6 addresses and questions."""
    settings: dict[str, int | str] = {
        "ipv6/conf/default/accept_dad": 0,
        "ipv6/conf/default/autoconf": 0,
        "ipv6/conf/default/accept_ra": 0,
        "ipv6/conf/default/router_solicitations": 0,
        "ipv6/conf/default/addr_gen_mode": 1,
    }
    if wire:
        settings["ipv6/conf/default/disable_ipv6"] = 1
        settings["ipv6/conf/all/disable_ipv6"] = 1
    return settings


def gateways(device: str) -> list[str]:
    """Addresses of the router towards client or server."""
    return ["192.0.2.1", "2001:db8:1::1"] if device == "c0" else ["198.51.100.1", "2001:db8:2::1"]


def mac(link: int, end: int) -> str:
    """Ethernet address of one end of a link."""
    return f"02:00:00:00:{link:02x}:{end:02x}"


def mac_of(device: str) -> str:
    """Ethernet address of a device."""
    for number, (_, first, _, second) in enumerate(LINKS):
        if device in (first, second):
            return mac(number, int(device == second))
    raise KeyError(device)


def family(address: str) -> int:
    """4 or 6."""
    return ip_address(address).version
