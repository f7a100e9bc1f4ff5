"""Resolvers that ask for the address of a server before a connection, and DNS servers."""

import select
import socket
from collections.abc import Callable
from dataclasses import dataclass, field
from random import Random
from typing import TYPE_CHECKING, Any

from capture import Packet
from network import family
from traffic import Client, Plan

if TYPE_CHECKING:
    from scene import Scene

A, AAAA = 1, 28
# Timeouts of resolvers, seconds: glibc (with two servers, the second round is as long), musl, Windows.
TIMEOUTS = {"glibc": [5.0, 5.0, 5.0], "musl": [2.5], "windows": [1.0, 1.0, 2.0, 4.0], "short": [1.0, 1.0]}


@dataclass
class Resolution:
    """How clients look names up."""

    kind: str = "glibc"
    # Whether a query that is sent again comes from another port, or has another identification.
    new_port: bool = False
    new_id: bool = False
    # Whether clients ask for both addresses at once.
    pair: bool = False
    servers: int = 1


@dataclass
class DnsServer:
    """How servers answer."""

    # Time until a query is answered.
    think: float = 0.0
    think_share: float = 0.0
    # Share of the second queries of a pair that are not answered.
    pair_loss: float = 0.0
    # Share of the questions that are never answered, and number of the first servers that answer none.
    loss: float = 0.0
    silent: int = 0


@dataclass
class Lookup:
    """Question of a client."""

    client: str
    question: bytes
    servers: list[str]
    # The other question of the pair.
    twin: "Lookup | None" = None
    # Time, identification and server of each query.
    sent: list[tuple[float, bytes, str]] = field(default_factory=list)
    answered: float | None = None


class Resolver:
    """Questions for names before connections."""

    def __init__(self, scene: "Scene", how: Resolution, server: DnsServer) -> None:
        """Start the servers."""
        self.scene, self.how, self.server = scene, how, server
        self.draw: Random = scene.draw
        self.lookups: list[Lookup] = []
        self.last: dict[tuple[str, int], float] = {}
        ends = {version: [addresses[0], addresses[-1]] for version, addresses in scene.servers.items()}
        self.addresses = {version: ends[version][: how.servers] for version in scene.families}
        for addresses in self.addresses.values():
            for number, address in enumerate(addresses):
                with scene.network.spaces["server"].entered():
                    sock = socket.socket(family_of(address), socket.SOCK_DGRAM)
                sock.bind((address, 53))
                sock.setblocking(False)
                scene.sockets.append(sock)
                if number >= server.silent:
                    scene.traffic.watch(sock, select.EPOLLIN, lambda _, sock=sock: self.receive(sock))

    def receive(self, sock: socket.socket) -> None:
        """Answer questions."""
        while True:
            try:
                question, peer = sock.recvfrom(512)
            except BlockingIOError:
                return
            now = self.scene.traffic.now()
            key = (peer[0], peer[1])
            is_second = now - self.last.get(key, -1.0) < 0.05
            self.last[key] = now
            if is_second and self.draw.random() < self.server.pair_loss:
                continue
            if self.server.loss and hash_of(question[:2]) < self.server.loss:
                continue
            header = question[:2] + bytes.fromhex("8180 0001 0001 0000 0000")
            record = bytes.fromhex("c00c 0001 0001 0000003c 0004 c0000201")
            answer = header + question[12:] + record
            if self.draw.random() < self.server.think_share:
                self.scene.traffic.at(now + self.server.think, lambda a=answer, p=peer: send(sock, a, p[:2]))
            else:
                send(sock, answer, peer[:2])

    def resolve(self, plan: Plan) -> None:
        """Ask at the time of a connection, and connect when all answers have come."""
        traffic = self.scene.traffic
        traffic.open += 1
        name = b"host%d" % self.draw.randrange(20)
        encoded = bytes([len(name)]) + name + b"\x07example\x03com\x00"
        kinds = [A, AAAA] if self.how.pair else [A]
        servers = self.addresses[family(plan.client)]
        lookups = [
            Lookup(plan.client, encoded + kind.to_bytes(2, "big") + b"\x00\x01", servers) for kind in kinds
        ]
        if len(lookups) == 2:
            lookups[0].twin, lookups[1].twin = lookups[1], lookups[0]
        ids = {id(lookup): self.draw.randbytes(2) for lookup in lookups}
        timeouts = TIMEOUTS[self.how.kind] if len(servers) == 1 else [*TIMEOUTS[self.how.kind], 5.0]
        state: dict[str, Any] = {"socket": None, "round": 0, "over": False}

        def opened() -> socket.socket:
            if state["socket"] is None or self.how.new_port:
                if state["socket"] is not None:
                    traffic.close(state["socket"])
                sock = socket.socket(family_of(plan.client), socket.SOCK_DGRAM)
                sock.setblocking(False)
                sock.bind((plan.client, 0))
                self.scene.sockets.append(sock)
                traffic.watch(sock, select.EPOLLIN, lambda _: receive(sock))
                state["socket"] = sock
            return state["socket"]

        def ask() -> None:
            if state["over"]:
                return
            number = state["round"]
            state["round"] += 1
            if number > len(timeouts) - 1 + len(servers) - 1:
                end()
                return
            sock = opened()
            server = servers[number % len(servers)]
            # glibc repeats both questions of a pair, and others those without an answer.
            repeats_all = self.how.kind == "glibc"
            for lookup in lookups:
                if lookup.answered is not None and not repeats_all:
                    continue
                lookup.answered = None
                if number and self.how.new_id:
                    ids[id(lookup)] = self.draw.randbytes(2)
                identification = ids[id(lookup)]
                lookup.sent.append((traffic.now(), identification, server))
                header = identification + bytes.fromhex("0100 0001 0000 0000 0000")
                send(sock, header + lookup.question, (server, 53))
            traffic.at(traffic.now() + timeouts[min(number, len(timeouts) - 1)], ask)

        def receive(sock: socket.socket) -> None:
            while sock.fileno() >= 0:
                try:
                    answer = sock.recv(512)
                except OSError:
                    return
                for lookup in lookups:
                    if lookup.sent and answer[:2] == ids[id(lookup)] and lookup.question in answer:
                        lookup.answered = lookup.answered or traffic.now()
                if all(lookup.answered is not None for lookup in lookups):
                    end()
                    traffic.open += 1
                    begin()
                    return

        def end() -> None:
            state["over"] = True
            if state["socket"] is not None:
                traffic.close(state["socket"])
            traffic.open -= 1

        def begin() -> None:
            traffic.open -= 1
            first = min(lookup.sent[0][0] for lookup in lookups)
            facts = {
                "dns_queries": max(len(lookup.sent) for lookup in lookups),
                "dns_s": round(traffic.now() - first, 6),
            }

            def note(client: Client) -> None:
                self.scene.notes[plan.client, client.port] = facts

            plan.start, plan.then = traffic.now(), note
            traffic.connect(plan)

        self.lookups += lookups
        traffic.at(plan.start, ask)

    def truth(self, seen: dict[str, list[Packet]]) -> dict[str, list[dict[str, Any]]]:
        """What a capture at each point can show of every lookup: times of its queries and of its answers."""
        found = {point: messages(packets) for point, packets in seen.items()}
        truth: dict[str, list[dict[str, Any]]] = {point: [] for point in seen}
        for lookup in self.lookups:
            answers = events(lookup, found["client"], answers=True)
            received = min(answers, default=None)
            for point in seen:
                truth[point].append(fate(lookup, found[point], received))
        return truth


def hash_of(identification: bytes) -> float:
    """Number between 0 and 1 that is the same for each query with an identification."""
    return (int.from_bytes(identification, "big") * 40503 & 0xFFFF) / 0x10000


def fate(lookup: Lookup, found: "Messages", received: float | None) -> dict[str, Any]:
    """What a capture shows of a lookup whose client received an answer at a time."""
    queries, answers = events(lookup, found, answers=False), events(lookup, found, answers=True)
    is_asked_again = received is not None and any(time > received for time in queries)
    if is_asked_again and lookup.twin and 0 < len(events(lookup.twin, found, answers=False)) < len(queries):
        # The resolver repeats both questions of the pair, and an earlier query of the other was lost before this point.
        return {"kind": "slow", "queries": len(queries), "beyond": True}
    if received is not None:
        queries = [time for time in queries if time < received]
        answers = [time for time in answers if time <= received or time < queries[-1] + 5] if queries else []
    kind = "none"
    if queries:
        is_answered = bool(answers) and (received is not None or answers[-1] > queries[-1])
        kind = "unanswered" if not is_answered else "slow" if len(queries) > 1 else "prompt"
    # Whether answers that passed were lost later: then a query under another identification is another question.
    return {"kind": kind, "queries": len(queries), "beyond": kind == "slow" and len(answers) >= len(queries)}


def send(sock: socket.socket, data: bytes, to: tuple[str, int]) -> None:
    """Send a datagram unless the socket has been closed."""
    if sock.fileno() >= 0:
        sock.sendto(data, to)


def family_of(address: str) -> int:
    """Family of a socket."""
    return socket.AF_INET6 if ":" in address else socket.AF_INET


Messages = dict[tuple[str, bytes, bytes], list[tuple[float, bool]]]


def messages(packets: list[Packet]) -> Messages:
    """Times of queries and answers by client, identification and question."""
    found: Messages = {}
    for packet in packets:
        data = packet.data[14:]
        if packet.data[12:14] == b"\x08\x00" and data[9] == 17:
            source, target = (socket.inet_ntoa(data[at : at + 4]) for at in (12, 16))
            body = data[(data[0] & 15) * 4 :]
        elif packet.data[12:14] == b"\x86\xdd" and data[6] == 17:
            source, target = (socket.inet_ntop(socket.AF_INET6, data[at : at + 16]) for at in (8, 24))
            body = data[40:]
        else:
            continue
        ports = int.from_bytes(body[:2], "big"), int.from_bytes(body[2:4], "big")
        if 53 not in ports:
            continue
        payload = body[8:]
        is_answer = ports[0] == 53
        length = payload.index(b"\x00", 12) + 5
        key = (target if is_answer else source, bytes(payload[:2]), bytes(payload[12:length]))
        found.setdefault(key, []).append((packet.nanoseconds / 1e9, is_answer))
    return found


def events(lookup: Lookup, found: Messages, *, answers: bool) -> list[float]:
    """Times of the queries or of the answers of a lookup."""
    keys = {(lookup.client, identification, lookup.question) for _, identification, _ in lookup.sent}
    return sorted(time for key in keys for time, is_answer in found.get(key, []) if is_answer == answers)
