"""Causes of slow and failed handshakes: one function for each, which prepares a scene."""

from collections.abc import Callable
from typing import Any

from network import family
from resolver import TIMEOUTS, Resolution
from scene import Facts, Scene
from traffic import Plan


def lost_handshake(facts: Facts) -> bool:
    """Whether a SYN or SYN/ACK was lost, or the ACK with effect."""
    return bool(
        facts["syns_lost"]
        or facts["syn_acks_lost"]
        or facts["syn_acks_for_lost_ack"]
        or (facts["acks_lost"] and facts["acks_lost"] == facts["acks"])
    )


def clean(scene: Scene) -> None:
    """Nothing is wrong."""
    scene.workload()
    scene.needed = 0


def random_loss(scene: Scene) -> None:
    """Packets are lost on a wire, whatever the load."""
    draw = scene.draw
    directions = draw.choice([["up"], ["down"], ["up", "down"]])
    bursty = draw.random() < 0.35
    share = round(draw.uniform(1, 20), 1)
    if bursty:
        good = round(draw.uniform(0.5, 6), 2)
        bad = round(draw.uniform(10, 60), 1)
        loss = f"loss gemodel {good}% {bad}% {draw.choice([60, 80, 100])}% {draw.choice([0, 0.5])}%"
    else:
        loss = f"loss random {share}%"
    ports = []
    for direction in directions:
        port = draw.choice(["a1", "b1"] if direction == "up" else ["a0", "b0"])
        scene.network.netem[port] += f" {loss}"
        ports.append(port)
    scene.workload(scale=0.5)
    scene.affected = lost_handshake
    scene.parameters.update(loss=loss, lossy_ports=ports)


def congestion(scene: Scene) -> None:
    """A queue overflows, or drops early."""
    draw = scene.draw
    directions = draw.choice([["up"], ["down"], ["down"], ["up", "down"]])
    rate = draw.choice([300, 600, 1000, 2000, 4000, 8000]) * 1000
    buffer = draw.uniform(0.010, 0.300)
    kinds = ["tbf", "tbf", "netem", "netem", "red", "pie", "codel", "fq_codel"]
    kind = draw.choice(kinds)
    chosen = {}
    for direction in directions:
        port = draw.choice(["a1", "r1", "b1"] if direction == "up" else ["b0", "r0", "a0"])
        # The other direction's answers share no queue with it.
        speed = rate if direction == "down" or directions == ["up"] else max(150_000, rate // 4)
        chosen[port] = (kind, speed)
    scene.delays(scene.rtt, tuple(chosen))
    for port, (kind, speed) in chosen.items():
        scene.network.queues[port] = queue(kind, speed, buffer, draw)
    seconds = min(40.0, 6000 * 12000 / rate)
    scene.duration = draw.uniform(0.5, 1) * seconds
    scene.workload(scale=0.3)
    flows = draw.randint(2, 12)
    total = rate / 8 * scene.duration * draw.uniform(0.9, 1.5)
    for number in range(flows):
        client, server = scene.pair()
        port = draw.choice(scene.ports)
        up = "up" in directions and (directions == ["up"] or number % 2 == 0)
        size = int(total / flows * (0.25 if up and len(directions) == 2 else 1)) + 1000
        sizes = {"request": size, "response": 100} if up else {"request": 300, "response": size}
        scene.plans.append(
            Plan(
                draw.uniform(0, scene.duration * 0.3),
                client,
                server,
                port,
                banner=scene.services[port].banner,
                patience=seconds * 1.5,
                **sizes,
            )
        )
    scene.limit = seconds * 2 + 60
    scene.affected = lost_handshake
    scene.parameters.update(
        queue=kind,
        rate_bps=rate,
        buffer_s=round(buffer, 4),
        bottlenecks=sorted(chosen),
        directions=directions,
        background_flows=flows,
    )


def queue(kind: str, rate: int, buffer: float, draw: Any) -> list[str]:
    """Commands of tc for a bottleneck."""
    size = max(4600, int(rate / 8 * buffer))
    packets = max(3, size // 1500)
    if kind == "netem":
        return [f"qdisc add dev DEV root handle 1: netem rate {rate}bit limit {packets}"]
    if kind == "tbf":
        return [f"qdisc add dev DEV root handle 1: tbf rate {rate}bit burst 1600 limit {size}"]
    lines = [f"qdisc add dev DEV root handle 1: tbf rate {rate}bit burst 1600 limit 10000000"]
    if kind == "red":
        limit = max(30_000, 3 * size)
        high = max(9000, size)
        low = max(3000, high // 3)
        lines.append(
            f"qdisc add dev DEV parent 1:1 handle 10: red limit {limit} min {low} max {high} avpkt 1000 "
            f"burst {low // 1000 + 3} probability {draw.choice([0.02, 0.1, 0.2])} bandwidth {rate}bit"
        )
    elif kind == "pie":
        lines.append(f"qdisc add dev DEV parent 1:1 handle 10: pie limit 1000 target {buffer / 4 * 1000:.0f}ms")
    else:
        lines.append(f"qdisc add dev DEV parent 1:1 handle 10: {kind} limit {max(20, packets)}")
    return lines


def policer(scene: Scene) -> None:
    """A policer drops what exceeds a rate, without a queue."""
    draw = scene.draw
    direction = draw.choice(["up", "down", "down"])
    per_packet = draw.random() < 0.5
    rate = draw.choice([200, 500, 1000, 3000]) * 1000 if per_packet else draw.choice([200, 300, 400]) * 1000
    burst = draw.choice([3, 6, 15, 40]) * 1000
    device = draw.choice(["r1", "b1"] if direction == "up" else ["r0", "a0"])
    tool = "tc" if (device != "r1" and device != "r0") or draw.random() < 0.6 else "nft"
    packets, packet_burst = max(15, rate // 12000), draw.choice([5, 20, 50])
    limit = {
        ("tc", False): f"rate {rate}bit burst {burst}",
        ("tc", True): f"pkts_rate {packets} pkts_burst {packet_burst}",
        ("nft", False): f"{rate // 8} bytes/second burst {burst} bytes",
        ("nft", True): f"{packets}/second burst {packet_burst} packets",
    }[tool, per_packet]
    if tool == "tc":
        # Filters are on clsact, which pedit of the wires shares.
        lines = scene.network.queue_commands("left" if device == "a0" else "right") if device in ("a0", "b1") else []
        lines = [line for line in lines if f"dev {device} " in line]
        if not any("clsact" in line for line in lines):
            lines.append("qdisc add dev DEV clsact")
        lines.append(
            f"filter add dev DEV egress protocol all prio 9 matchall action police {limit} conform-exceed drop"
        )
        # The policer comes last: matchall of an earlier preference ends with `pipe` only within its own actions.
        scene.network.hops["left" if device == "a0" else "right"] = (
            0 if device in ("a0", "b1") else scene.network.hops["left"]
        )
        lines = [line for line in lines if "pedit" not in line]
        scene.network.queues[device] = lines
        scene.parameters["hops"] = dict(scene.network.hops)
    else:
        source = "r0" if direction == "up" else "r1"
        scene.network.router_rules = [
            "chain c { type filter hook forward priority 0;",
            f'iifname "{source}" limit rate over {limit} counter drop;',
            "}",
        ]
    scene.duration = min(scene.duration, 6000 * 12000 / rate)
    scene.workload()
    if not per_packet:
        # Large packets meet an empty bucket, and small ones pass: only a stream of small ones empties it.
        size = draw.choice([60, 120, 172])
        load = min(400.0, rate / 8 / (size + 42)) * draw.uniform(1.1, 3)
        scene.streams.append((direction, size, load))
        scene.parameters.update(datagram_bytes=size, datagrams_per_second=round(load))
    if direction == "up":
        for plan in scene.plans:
            if plan.request and draw.random() < 0.6:
                plan.request, plan.response = max(plan.request, 17) + plan.response, 100
    flows = draw.randint(2, 16)
    total = rate / 8 * scene.duration * draw.uniform(0.7, 1.6)
    for _ in range(flows):
        client, server = scene.pair()
        port = draw.choice(scene.ports)
        size = int(total / flows) + 1000
        sizes = {"request": size, "response": 100} if direction == "up" else {"request": 300, "response": size}
        scene.plans.append(
            Plan(
                draw.uniform(0, scene.duration / 2),
                client,
                server,
                port,
                banner=scene.services[port].banner,
                patience=60,
                **sizes,
            )
        )
    scene.limit = scene.duration + 100
    scene.affected = lost_handshake
    scene.parameters.update(direction=direction, limit=limit, device=device, tool=tool, background_flows=flows)


def syn_limit(scene: Scene) -> None:
    """A firewall limits the number of SYNs per second."""
    draw = scene.draw
    rate, burst = draw.choice([1, 2, 5, 10]), draw.choice([1, 5, 10])
    scene.duration = max(3.0, scene.count / rate / draw.uniform(1.1, 3))
    scene.workload(scale=0.3)
    scene.network.router_rules = [
        "chain c { type filter hook forward priority 0;",
        f"tcp flags & (syn | ack) == syn limit rate over {rate}/second burst {burst} packets counter drop;",
        "}",
    ]
    scene.affected = lost_handshake
    scene.parameters.update(syns_per_second=rate, burst=burst)


def listen_queue(scene: Scene) -> None:
    """The application accepts more slowly than clients connect."""
    draw = scene.draw
    backlog = draw.randint(1, 8)
    every = round(draw.choice([0.05, 0.2, 0.5, 1.0, 2.0]) * draw.uniform(0.7, 1.4), 3)
    slow = draw.sample(scene.ports, draw.randint(1, len(scene.ports)))
    cookies, abort = draw.choice([0, 1, 1, 2]), draw.choice([0, 0, 0, 1])
    for port in slow:
        scene.services[port].backlog = backlog
        scene.services[port].accept_every = every
    scene.network.settings["server"].update(
        {
            "ipv4/tcp_syncookies": cookies,
            "ipv4/tcp_abort_on_overflow": abort,
            "ipv4/tcp_max_syn_backlog": draw.choice([8, 128, 4096]),
        }
    )
    listeners = len(slow) * len(scene.servers[4]) * len(scene.families)
    scene.duration = max(2.0, scene.count * every / listeners / draw.uniform(1.2, 6))
    scene.workload(scale=0.3)
    # Connections that begin within a round trip find room at their SYN, and none at their ACK.
    bursts = draw.choice([0, 0, 1, 3, 6])
    for _ in range(bursts):
        start = draw.uniform(0.1, scene.duration)
        _, server = scene.pair()
        port = draw.choice(slow)
        for _ in range(draw.randint(backlog + 1, backlog + 12)):
            client = draw.choice(scene.clients[family(server)])
            scene.plans.append(
                Plan(start + draw.uniform(0, 0.005), client, server, port, connect_timeout=20, **scene.sizes(port, 0.3))
            )
    scene.affected = lambda facts: bool(
        facts["syns_ignored"]
        or facts["syn_acks_after_ack"]
        or facts["acks_ignored"]
        or (facts["established"] and not facts["replies"])
        or (abort and facts["resets"])
    )
    scene.parameters.update(
        backlog=backlog,
        accept_every_s=every,
        slow_ports=slow,
        bursts=bursts,
        syncookies=cookies,
        abort_on_overflow=abort,
    )


def deferred_accept(scene: Scene) -> None:
    """The server waits for the request (TCP_DEFER_ACCEPT), and clients send it late."""
    draw = scene.draw
    seconds = draw.choice([1, 2, 5, 10, 30])
    deferred = draw.sample(scene.ports, draw.randint(1, len(scene.ports)))
    for port in deferred:
        scene.services[port].defer_accept = seconds
        scene.services[port].banner = 0
    scene.workload(scale=0.3)
    share = draw.uniform(0.2, 1)
    for plan in scene.plans:
        if plan.port in deferred:
            plan.banner = 0
            plan.hold = 0
            if draw.random() < share:
                plan.hold = round(draw.uniform(0.3, 12), 3)
    scene.affected = lambda facts: bool(facts["syn_acks_after_ack"])
    scene.parameters.update(defer_accept_s=seconds, deferred_ports=deferred, late_share=round(share, 2))


def filtered(scene: Scene) -> None:
    """A firewall drops the SYNs or SYN/ACKs of a service, or a connection tracker is full."""
    draw = scene.draw
    variant = draw.choice(["syn", "syn-ack", "conntrack", "conntrack"])
    scene.affected = lost_handshake
    scene.parameters.update(variant=variant)
    if variant == "conntrack":
        full_table(scene)
        return
    scene.workload(scale=0.3)
    port = draw.choice(scene.ports)
    begin = round(draw.uniform(0, 0.7) * scene.duration, 2)
    end = draw.choice([None, round(begin + draw.uniform(2, 15), 2)])
    match = (
        f"tcp dport {port} tcp flags & (syn | ack) == syn"
        if variant == "syn"
        else f"tcp sport {port} tcp flags & (syn | ack) == (syn | ack)"
    )
    scene.network.router_rules = ["chain c { type filter hook forward priority 0; }"]
    rule = [f"add rule inet t c {match} counter drop"]
    scene.actions.append((begin, lambda: scene.network.spaces["router"].nft(rule)))
    if end is not None:
        scene.actions.append((end, lambda: scene.network.spaces["router"].nft(["flush chain inet t c"])))
    scene.parameters.update(port=port, begin_s=begin, end_s=end)


def full_table(scene: Scene) -> None:
    """The table of the router's connection tracker is full of established connections."""
    draw = scene.draw
    size = max(4, int(scene.count * draw.uniform(0.1, 0.5)))
    # Entries of connections that have ended stay for a while.
    linger = draw.choice([1, 3, 10])
    scene.network.settings["router"] = {
        "netfilter/nf_conntrack_tcp_timeout_time_wait": linger,
        "netfilter/nf_conntrack_tcp_timeout_close": 1,
        "netfilter/nf_conntrack_tcp_timeout_last_ack": linger,
        "netfilter/nf_conntrack_tcp_timeout_fin_wait": 2 * linger,
        "netfilter/nf_conntrack_tcp_timeout_close_wait": linger,
    }
    scene.network.router_rules = ["chain c { type filter hook forward priority 0; ct state new counter accept; }"]
    scene.conntrack_max = size
    scene.workload(scale=0.3)
    for plan in scene.plans:
        if plan.request and draw.random() < 0.7:
            plan.hold = round(draw.uniform(0.5, 6), 2)
    scene.parameters.update(table=size, time_wait_s=linger)


def dropped_options(scene: Scene) -> None:
    """A middlebox drops SYNs with an option or flag, and hosts retransmit without it."""
    draw = scene.draw
    kind = draw.choice(["ecn", "ecn", "accecn", "fastopen", "fastopen-data"])
    scene.workload(scale=0.3)
    some = sorted(draw.sample(scene.ports, draw.randint(1, len(scene.ports))))
    client = scene.network.settings["client"]
    client["ipv4/tcp_ecn_fallback"] = 1
    ports = "{ " + ", ".join(str(port) for port in some) + " }"
    if kind in ("ecn", "accecn"):
        client["ipv4/tcp_ecn"] = 1 if kind == "ecn" else 3
        match = "tcp flags & (syn | ack | ecn | cwr) == (syn | ecn | cwr)"
    else:
        client["ipv4/tcp_ecn"] = 2
        client["ipv4/tcp_fastopen"] = 1
        scene.network.settings["server"]["ipv4/tcp_fastopen"] = 3
        for service in scene.services.values():
            service.fast_open = 64
        for plan in scene.plans:
            plan.hold = 0
            if plan.request:
                plan.fast_open = True
        header = 64 if scene.parameters["families"] == [4] else 84
        match = (
            "tcp flags & (syn | ack) == syn tcp option fastopen exists"
            if kind == "fastopen"
            else f"tcp flags & (syn | ack) == syn meta length > {header + 30}"
        )
    scene.network.router_rules = [
        "chain c { type filter hook forward priority 0;",
        f"tcp dport {ports} {match} counter drop;",
        "}",
    ]
    scene.affected = lambda facts: bool(facts["syns_lost"])
    scene.parameters.update(option=kind, dropped_ports=some)


def port_reuse(scene: Scene) -> None:
    """A client uses a port again while the server still has the old connection."""
    draw = scene.draw
    variant = draw.choice(["established", "established-rst-dropped", "half-closed"])
    time_wait = draw.random() < 0.4
    scene.workload(scale=0.2)
    scene.network.router_rules = ["chain c { type filter hook forward priority 0; }"]
    rule = ['add rule inet t c iifname "r0" tcp flags & (fin | rst) != 0 counter drop']
    begin = scene.duration + 5
    scene.network.settings["client"]["ipv4/tcp_fin_timeout"] = 3
    scene.network.settings["client"]["ipv4/tcp_orphan_retries"] = 1
    reused = draw.randint(5, 30)
    old_port = draw.randint(20000, 30000)
    if variant == "half-closed":
        for service in scene.services.values():
            service.keep = True
    for number in range(reused):
        client, server = scene.pair()
        port = draw.choice(scene.ports)
        banner = scene.services[port].banner
        again = begin + 30 + number * draw.uniform(0.05, 0.6)
        source = old_port + number
        first = Plan(
            begin + number * 0.05,
            client,
            server,
            port,
            source,
            banner=banner,
            request=200,
            response=400,
            abort=variant != "half-closed",
            patience=20,
        )
        second = Plan(
            again,
            client,
            server,
            port,
            source,
            banner=banner,
            request=200,
            response=4000,
            connect_timeout=draw.choice([8, 20]),
        )
        scene.plans += [first, second]
    if time_wait:
        for number in range(draw.randint(3, 12)):
            client, server = scene.pair()
            port = draw.choice(scene.ports)
            for start in (begin - 4 + number * 0.05, begin + 20 + number * 0.1):
                scene.plans.append(
                    Plan(
                        start,
                        client,
                        server,
                        port,
                        old_port - 1 - number,
                        request=100,
                        response=300,
                        banner=scene.services[port].banner,
                        server_closes=True,
                    )
                )
    if variant != "half-closed":
        scene.actions.append((begin - 0.5, lambda: scene.network.spaces["router"].nft(rule)))
        if variant == "established":
            scene.actions.append((begin + 29, lambda: scene.network.spaces["router"].nft(["flush chain inet t c"])))
    scene.limit = begin + 120
    scene.affected = lambda facts: bool(facts["challenges"] or facts["old_syn_acks"])
    scene.parameters.update(variant=variant, reused=reused, time_wait=time_wait)


def nat_not_undone(scene: Scene) -> None:
    """A translation of the server's address or port that the answers do not get back."""
    draw = scene.draw
    some = draw.choice(scene.ports)
    kind = draw.choice(["address", "address", "port"])
    rules = ["chain c { type filter hook prerouting priority -300;"]
    for name, version in (("ip", 4), ("ip6", 6)):
        addresses = scene.servers[version]
        public = "198.51.100.200" if version == 4 else "2001:db8:2::200"
        if kind == "address":
            rules.append(f'iifname "r0" {name} daddr {public} {name} daddr set {draw.choice(addresses)};')
        else:
            rules.append(f'iifname "r0" {name} daddr {{ {", ".join(addresses)} }} tcp dport 9000 tcp dport set {some};')
    scene.network.router_rules = [*rules, "}"]
    scene.workload(scale=0.5)
    share = draw.uniform(0.1, 0.7)
    for plan in scene.plans:
        if draw.random() < share:
            if kind == "address":
                plan.server = "198.51.100.200" if family(plan.client) == 4 else "2001:db8:2::200"
            else:
                plan.port = 9000
            plan.connect_timeout = draw.choice([4, 8, 20])
    scene.affected = lambda facts: bool(facts["answered_by"])
    scene.parameters.update(kind=kind, share=round(share, 2))


def seen_twice(scene: Scene) -> None:
    """A router that translates the clients' addresses is captured on both sides, and packets are lost."""
    draw = scene.draw
    rules = ["chain c { type filter hook prerouting priority -300;"]
    for name, version in (("ip", 4), ("ip6", 6)):
        base = "203.0.113." if version == 4 else "2001:db8:3::"
        pairs = [(address, f"{base}{number + 5}") for number, address in enumerate(scene.clients[version])]
        there = ", ".join(f"{inside} : {outside}" for inside, outside in pairs)
        back = ", ".join(f"{outside} : {inside}" for inside, outside in pairs)
        rules.append(f'iifname "r0" {name} saddr set {name} saddr map {{ {there} }};')
        rules.append(f'iifname "r1" {name} daddr set {name} daddr map {{ {back} }};')
    scene.network.router_rules = [*rules, "}"]
    loss = round(draw.uniform(1, 12), 1)
    port = draw.choice(["a1", "b1", "a0", "b0"])
    scene.network.netem[port] += f" loss random {loss}%"
    scene.workload(scale=0.5)
    scene.files["router"] = ["r0", "r1"]
    scene.cooked = draw.random() < 0.5
    scene.affected = lost_handshake
    scene.parameters.update(loss_percent=loss, lossy_ports=[port], cooked=scene.cooked)


def refused(scene: Scene) -> None:
    """Nothing listens on a port."""
    draw = scene.draw
    scene.workload()
    closed = draw.choice([81, 8443, 9200, 6379])
    share = draw.uniform(0.1, 0.6)
    for plan in scene.plans:
        if draw.random() < share:
            plan.port = closed
    scene.affected = lambda facts: facts["server_port"] == closed and facts["resets"] > 0
    scene.parameters.update(port=closed, share=round(share, 2))


def rejected(scene: Scene) -> None:
    """The router rejects connections to a port by an ICMP error."""
    draw = scene.draw
    scene.workload()
    kind = draw.choice(["unreachable", "prohibit"])
    share = draw.uniform(0.1, 0.6)
    for plan in scene.plans:
        if draw.random() < share:
            plan.port = 9100
            plan.connect_timeout = draw.choice([5, 20, 60])
    rule = f"rule add ipproto tcp dport 9100 {kind} priority 100"
    scene.network.rules = {4: [rule], 6: [rule]}
    scene.network.settings["router"] = {"ipv4/icmp_ratelimit": draw.choice([0, 1000]), "ipv4/icmp_msgs_per_sec": 1000}
    scene.affected = lambda facts: facts["server_port"] == 9100 and bool(facts["icmp"])
    scene.parameters.update(kind=kind, port=9100, share=round(share, 2))


def dead_host(scene: Scene) -> None:
    """The server is down: the router gets no answer to its question for the Ethernet address."""
    draw = scene.draw
    scene.workload()
    silent = draw.random() < 0.6
    share = draw.uniform(0.1, 0.6)
    for plan in scene.plans:
        if draw.random() < share:
            plan.server = "198.51.100.77" if family(plan.client) == 4 else "2001:db8:2::77"
            plan.connect_timeout = draw.choice([5, 20, 60])
    if silent:
        scene.network.router_rules = [
            "chain o { type filter hook output priority 0;",
            "meta l4proto icmp drop;",
            "icmpv6 type destination-unreachable drop;",
            "}",
        ]
    scene.affected = lambda facts: facts["server"].endswith(("100.77", "::77"))
    scene.parameters.update(silent=silent, share=round(share, 2))


def late_answer(scene: Scene) -> None:
    """Round trips take longer than the initial timeout, and nothing is lost."""
    draw = scene.draw
    extra = draw.uniform(1.1, 2.5)
    split = draw.choice([0, 1, draw.random()])
    scene.delays(scene.rtt, ("a1", "a0"))
    up, down = extra * split, extra * (1 - split)
    always = draw.random() < 0.6
    side = {"a1": up, "a0": down} if draw.random() < 0.5 else {}
    if not side:
        scene.delays(scene.rtt, ("b1", "b0"))
        side = {"b1": up, "b0": down}
    host = "left" if "a1" in side else "right"
    for port, delay in side.items():
        scene.network.netem[port] = f"delay {delay * 1e6 if always else 100:.0f}us"
    scene.workload(scale=0.2)
    if not always:
        begin = draw.uniform(0.1, 0.4) * scene.duration
        end = begin + draw.uniform(0.2, 0.5) * scene.duration

        def change(factor: float) -> None:
            lines = [
                f"qdisc change dev {port} root netem limit 100000 delay {delay * factor * 1e6 + 100:.0f}us"
                for port, delay in side.items()
            ]
            scene.network.spaces[host].tc(lines)

        scene.actions += [(begin, lambda: change(1)), (end, lambda: change(0))]
    # A SYN can also overtake its predecessors, when the delay ends.
    scene.affected = lambda facts: facts["syns"] > 1 and not facts["syns_lost"] and not facts["syn_acks_lost"]
    scene.parameters.update(extra_s=round(extra, 3), up_s=round(up, 3), down_s=round(down, 3), always=always)


def dns(scene: Scene) -> None:
    """Queries for names, or their answers, are lost, late or missing; the handshakes after them are not."""
    draw = scene.draw
    how = Resolution(
        draw.choice(["glibc", "glibc", "musl", "windows", "short"]),
        new_port=draw.random() < 0.5,
        new_id=draw.random() < 0.3,
        pair=draw.random() < 0.5,
    )
    scene.resolution = how
    kind = draw.choice(["queries", "queries", "answers", "answers", "one-of-two", "late", "silent", "second-server"])
    rate, share = draw.choice([1, 2, 5]), draw.randint(5, 40)
    scene.duration = scene.count / rate / draw.uniform(0.8, 2)
    scene.workload(scale=0.5)
    if kind in ("queries", "answers"):
        port = "dport" if kind == "queries" else "sport"
        rule = f"udp {port} 53 limit rate over {rate}/second burst {draw.choice([1, 1, 5])} packets counter drop;"
        scene.network.router_rules = ["chain c { type filter hook forward priority 0;", rule, "}"]
    elif kind == "one-of-two":
        how.pair = True
        scene.dns_server.pair_loss = share / 100
    elif kind == "late":
        first = TIMEOUTS[how.kind][0]
        scene.dns_server.think, scene.dns_server.think_share = first * draw.uniform(1.1, 1.9), share / 100
    else:
        # Some names are never answered, or only by the second server.
        how.servers = 2
        scene.servers = {version: addresses + extra(version) for version, addresses in scene.servers.items()}
        scene.network.server_addresses = scene.servers[4] + scene.servers[6]
        scene.dns_server.silent = 1
        if kind == "silent":
            scene.dns_server.loss = 0.5
    # glibc repeats both questions of a pair, under the same identifications.
    how.new_id = how.new_id and not (how.kind == "glibc" and how.pair)
    scene.affected = lambda facts: facts.get("dns_queries", 1) > 1
    scene.parameters.update(
        dns=kind, resolver=how.kind, new_port=how.new_port, new_id=how.new_id, pair=how.pair, share=share, rate=rate
    )


def extra(version: int) -> list[str]:
    """Address of a second DNS server."""
    return ["198.51.100.99"] if version == 4 else ["2001:db8:2::99"]


def one_sided(scene: Scene) -> None:
    """The capture has one direction only."""
    scene.direction = scene.draw.choice(["up", "down"])
    scene.workload()
    scene.affected = lambda _: True
    scene.parameters.update(captured=scene.direction)


def copies(scene: Scene) -> None:
    """The capture has each packet twice."""
    scene.files = {"client": ["c0", "a0"], "router": ["r0", "r1"], "server": ["b1", "s0"]}
    scene.cooked = scene.draw.random() < 0.4
    scene.workload()
    scene.affected = lambda _: True
    scene.parameters.update(cooked=scene.cooked)


CAUSES: dict[str, Callable[[Scene], None]] = {
    "clean": clean,
    "random-loss": random_loss,
    "congestion": congestion,
    "policer": policer,
    "syn-limit": syn_limit,
    "listen-queue": listen_queue,
    "deferred-accept": deferred_accept,
    "filtered": filtered,
    "dropped-options": dropped_options,
    "port-reuse": port_reuse,
    "nat-not-undone": nat_not_undone,
    "seen-twice": seen_twice,
    "refused": refused,
    "rejected": rejected,
    "dead-host": dead_host,
    "late-answer": late_answer,
    "dns": dns,
    "one-sided": one_sided,
    "copies": copies,
}
