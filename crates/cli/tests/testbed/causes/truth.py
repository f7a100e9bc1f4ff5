"""Fate of every handshake, by comparison of what the hosts sent with what arrived."""

import socket
import struct
from bisect import bisect_left
from collections import defaultdict
from dataclasses import dataclass, field
from typing import Any

from capture import Packet

FIN, SYN, RST, PSH, ACK = 1, 2, 4, 8, 16
# Devices by the names of their points, in order from client to server.
POINTS = {"client": "c0", "router-left": "r0", "router-right": "r1", "server": "s0"}
# Hosts answer within this time, in which their answer waits for other packets on the link.
AT_ONCE = 50_000_000
# An acknowledgement of data can be delayed.
DELAYED_ACK = 300_000_000


@dataclass(eq=False)
class Segment:
    """TCP segment at one point."""

    time: int
    up: bool
    source: str
    source_port: int
    target: str
    target_port: int
    seq: int
    ack: int
    flags: int
    length: int
    options: bytes
    identification: int
    # Time at each later point that the segment passed.
    seen: dict[str, int] = field(default_factory=dict)

    @property
    def signature(self) -> tuple[Any, ...]:
        """Equal at all points, and seldom equal for two segments."""
        return (self.up, self.seq, self.ack, self.flags, self.length, self.options, self.identification)

    @property
    def key(self) -> tuple[Any, ...]:
        """Addresses and ports from the sender's view."""
        return (self.source, self.source_port, self.target, self.target_port)

    @property
    def back(self) -> tuple[Any, ...]:
        """Addresses and ports of an answer."""
        return (self.target, self.target_port, self.source, self.source_port)


@dataclass
class IcmpError:
    """ICMP error with the addresses and ports that it quotes."""

    time: int
    kind: int
    code: int
    key: tuple[Any, ...]


def parse(packet: Packet, *, up: bool) -> Segment | IcmpError | None:
    """TCP segment or ICMP error in a frame."""
    data = packet.data
    kind = data[12:14]
    if kind == b"\x08\x00":
        return parse_ip(packet, data[14:], packet.length - 14, up=up)
    if kind == b"\x86\xdd":
        return parse_ip(packet, data[14:], packet.length - 14, up=up)
    return None


def parse_ip(packet: Packet, data: bytes, length: int, *, up: bool) -> Segment | IcmpError | None:
    """TCP segment or ICMP error in a packet of IPv4 or IPv6."""
    if data[0] >> 4 == 4:
        header = (data[0] & 15) * 4
        protocol, identification = data[9], int.from_bytes(data[4:6], "big")
        source, target = socket.inet_ntoa(data[12:16]), socket.inet_ntoa(data[16:20])
        length = int.from_bytes(data[2:4], "big")
    else:
        header, protocol, identification = 40, data[6], 0
        source = socket.inet_ntop(socket.AF_INET6, data[8:24])
        target = socket.inet_ntop(socket.AF_INET6, data[24:40])
        length = 40 + int.from_bytes(data[4:6], "big")
    body = data[header:]
    if protocol == 6 and len(body) >= 20:
        source_port, target_port, seq, ack, flags = struct.unpack_from("!HHIIH", body)
        offset = (flags >> 12) * 4
        return Segment(
            packet.nanoseconds,
            up,
            source,
            source_port,
            target,
            target_port,
            seq,
            ack,
            flags & 0x1FF,
            length - header - offset,
            bytes(body[20:offset]),
            identification,
        )
    if protocol in (1, 58) and len(body) >= 8 and (body[0] == 3 if protocol == 1 else body[0] in (1, 3)):
        quoted = body[8:]
        skip = (quoted[0] & 15) * 4 if quoted[0] >> 4 == 4 else 40
        ports = struct.unpack_from("!HH", quoted, skip) if len(quoted) >= skip + 4 else (0, 0)
        size, start = (4, 12) if quoted[0] >> 4 == 4 else (16, 8)
        version = socket.AF_INET if size == 4 else socket.AF_INET6
        quoted_source = socket.inet_ntop(version, quoted[start : start + size])
        quoted_target = socket.inet_ntop(version, quoted[start + size : start + 2 * size])
        return IcmpError(packet.nanoseconds, body[0], body[1], (quoted_source, ports[0], quoted_target, ports[1]))
    return None


class Trace:
    """Segments that hosts sent, with the points where they were seen, and ICMP errors that the client received."""

    def __init__(self, captures: dict[str, list[Packet]]) -> None:
        """Follow all segments from point to point."""
        self.errors: list[IcmpError] = []
        seen: dict[str, list[Segment]] = {}
        for point, device in POINTS.items():
            up_is_outgoing = point in ("client", "router-right")
            seen[point] = []
            for packet in captures[device]:
                up = packet.outgoing == up_is_outgoing
                parsed = parse(packet, up=up)
                if isinstance(parsed, Segment):
                    seen[point].append(parsed)
                elif parsed is not None and point == "client" and not packet.outgoing:
                    self.errors.append(parsed)
        points = list(POINTS)
        self.sent = [segment for segment in seen["client"] if segment.up]
        self.sent += [segment for segment in seen["server"] if not segment.up]
        self.received = [segment for segment in seen["client"] if not segment.up]
        self.sent.sort(key=lambda segment: segment.time)
        originals: dict[tuple[Any, ...], list[Segment]] = defaultdict(list)
        for segment in self.sent:
            originals[segment.signature].append(segment)
        for point in points:
            arrivals: dict[tuple[Any, ...], list[int]] = defaultdict(list)
            for segment in seen[point]:
                arrivals[segment.signature].append(segment.time)
            for signature, times in arrivals.items():
                assign(originals.get(signature, []), times, point)


def assign(sent: list[Segment], times: list[int], point: str) -> None:
    """Note which of some equal segments arrived at a point."""
    if len(sent) == len(times):
        for segment, time in zip(sent, times, strict=True):
            segment.seen[point] = time
        return
    free = list(sent)
    for time in times:
        index = bisect_left([segment.time for segment in free], time + 1) - 1
        if index >= 0:
            free.pop(index).seen[point] = time


@dataclass
class Handshake:
    """One attempt to open a connection."""

    syns: list[Segment]
    syn_acks: list[Segment] = field(default_factory=list)
    acks: list[Segment] = field(default_factory=list)
    # Other segments of the server that the client received before the handshake was complete.
    answers: list[Segment] = field(default_factory=list)
    errors: list[IcmpError] = field(default_factory=list)
    # Times of the server's segments without SYN.
    replies: list[int] = field(default_factory=list)
    data: dict[str, int] = field(default_factory=lambda: {"up": 0, "down": 0, "up_lost": 0, "down_lost": 0})

    def arrived(self, segments: list[Segment]) -> list[Segment]:
        """Segments that reached the other host."""
        return [segment for segment in segments if ("server" if segment.up else "client") in segment.seen]

    def facts(self) -> dict[str, Any]:
        """Counts that say what happened."""
        syns, syn_acks, acks = self.arrived(self.syns), self.arrived(self.syn_acks), self.arrived(self.acks)
        answered = [self.answer(syn) is not None for syn in syns]
        first_ack = min((ack.seen["server"] for ack in acks), default=None)
        repeated = [answer for answer in self.syn_acks if first_ack is not None and answer.time > first_ack]
        first_syn_ack = min((answer.seen["client"] for answer in syn_acks), default=None)
        own = f"{self.syns[0].target} {self.syns[0].target_port}"
        sent_from = {f"{answer.source} {answer.source_port}" for answer in self.answers if is_syn_ack(answer)}
        established = None
        if first_syn_ack is not None and self.acks and not sent_from - {own}:
            established = first_syn_ack
        resent = self.syns[1:]
        late = [
            syn
            for syn in resent
            if syns and syn_acks and first_syn_ack is not None and syn.time < first_syn_ack and self.explained(syn)
        ]
        return {
            "syns": len(self.syns),
            "syns_lost": len(self.syns) - len(syns),
            "syns_ignored": answered.count(False),
            "syn_acks": len(self.syn_acks),
            "syn_acks_lost": len(self.syn_acks) - len(syn_acks),
            "syn_acks_for_lost_ack": self.for_lost_ack(),
            "syn_acks_after_ack": len(repeated),
            "acks": len(self.acks),
            "acks_lost": len(self.acks) - len(acks),
            "acks_ignored": self.ignored(),
            "replies": len(self.replies),
            "syns_late": len(late),
            "resets": sum(1 for answer in self.answers if answer.flags & RST),
            "challenges": sum(
                1
                for answer in self.answers
                if answer.flags & (RST | SYN | ACK) == ACK and (first_syn_ack is None or answer.time < first_syn_ack)
            ),
            "old_syn_acks": sum(
                1 for answer in self.answers if is_syn_ack(answer) and f"{answer.source} {answer.source_port}" == own
            ),
            "answered_by": sorted(sent_from - {own}),
            "icmp": [f"{error.kind}/{error.code}" for error in self.errors],
            "established": established is not None,
            "connect_s": None if established is None else (established - self.syns[0].time) / 1e9,
        }

    def ignored(self) -> int:
        """Number of first segments with data that arrived, and that the server did not acknowledge."""
        times = [ack.seen["server"] for ack in self.arrived(self.acks) if ack.length]
        return sum(1 for time in times if not any(time <= reply < time + DELAYED_ACK for reply in self.replies))

    def for_lost_ack(self) -> int:
        """Number of SYN/ACKs that a timer of the server sent because all acknowledgements so far had been lost."""
        arrivals = [syn.seen["server"] for syn in self.arrived(self.syns)]
        by_timer = [
            answer for answer in self.syn_acks[1:] if not any(time <= answer.time < time + AT_ONCE for time in arrivals)
        ]
        return sum(
            1
            for answer in by_timer
            if any(ack.time < answer.time and "server" not in ack.seen for ack in self.acks)
            and not any(ack.seen.get("server", answer.time) < answer.time for ack in self.acks)
        )

    def explained(self, syn: Segment) -> bool:
        """Whether the SYN before this one arrived, and so did its answer, so that the retransmission was not needed."""
        before = [other for other in self.syns if other.time < syn.time][-1]
        answer = self.answer(before)
        return answer is not None and "client" in answer.seen

    def answer(self, syn: Segment) -> Segment | None:
        """SYN/ACK that the server sent for a SYN, before another SYN of the attempt arrived."""
        begin = syn.seen.get("server")
        if begin is None:
            return None
        later = [other.seen["server"] for other in self.arrived(self.syns) if other.seen["server"] > begin]
        end = min([begin + AT_ONCE, *later])
        return next((answer for answer in self.syn_acks if begin <= answer.time < end), None)


def is_syn_ack(segment: Segment) -> bool:
    """Whether a segment is a SYN/ACK."""
    return segment.flags & (SYN | ACK) == SYN | ACK


def handshakes(trace: Trace) -> list[Handshake]:
    """Attempts in order of their first SYN."""
    by_number: dict[tuple[int, tuple[Any, ...]], Handshake] = {}
    by_key: dict[tuple[Any, ...], Handshake] = {}
    by_ack: dict[int, Handshake] = {}
    peers: dict[tuple[Any, ...], Handshake] = {}
    found: list[Handshake] = []
    events = [(segment.time, 0, segment) for segment in trace.sent]
    events += [(segment.time, 1, segment) for segment in trace.received]
    for _, received, segment in sorted(events, key=lambda event: event[:2]):
        if segment.up and segment.flags & (SYN | ACK) == SYN:
            number = (segment.seq, segment.key)
            if number not in by_number:
                by_number[number] = Handshake([])
                found.append(by_number[number])
                by_key[segment.key] = by_number[number]
                # Data in a SYN can be acknowledged with it.
                for length in {0, segment.length}:
                    by_ack[(segment.seq + 1 + length) % 2**32] = by_number[number]
            by_number[number].syns.append(segment)
        elif segment.up:
            if attempt := by_key.get(segment.key):
                note_up(attempt, segment)
        elif not received:
            if is_syn_ack(segment) and (attempt := by_ack.get(segment.ack)):
                attempt.syn_acks.append(segment)
                peers[segment.key] = attempt
            elif attempt := peers.get(segment.key):
                attempt.replies.append(segment.time)
                if segment.length:
                    attempt.data["down"] += 1
                    attempt.data["down_lost"] += "client" not in segment.seen
        else:
            attempt = by_key.get(segment.back)
            if is_syn_ack(segment) and (owner := by_ack.get(segment.ack)):
                if owner is not attempt:
                    owner.answers.append(segment)
            elif attempt and not attempt.acks:
                attempt.answers.append(segment)
    for error in trace.errors:
        if attempt := by_key.get(error.key):
            attempt.errors.append(error)
    return found


def note_up(attempt: Handshake, segment: Segment) -> None:
    """Note a segment of the client without SYN."""
    first = attempt.syns[0]
    begin = {(first.seq + 1) % 2**32, (first.seq + 1 + first.length) % 2**32}
    if (
        not segment.flags & RST
        and segment.flags & ACK
        and segment.seq in begin
        and len(attempt.acks) < 16
        and attempt.syn_acks
        and segment.ack == (attempt.syn_acks[-1].seq + 1) % 2**32
    ):
        attempt.acks.append(segment)
    if segment.length:
        attempt.data["up"] += 1
        attempt.data["up_lost"] += "server" not in segment.seen


def describe(attempt: Handshake, offset: int) -> dict[str, Any]:
    """What happened to an attempt, for the file with the truth."""
    first = attempt.syns[0]
    packets = []
    for kind, segments in (("syn", attempt.syns), ("syn-ack", attempt.syn_acks), ("ack", attempt.acks)):
        for segment in segments:
            packets.append(
                {
                    "kind": kind,
                    "time_ns": segment.time + offset,
                    "length": segment.length,
                    "points": [point for point in POINTS if point in segment.seen],
                }
            )
    packets.sort(key=lambda packet: packet["time_ns"])
    return {
        "client": first.source,
        "client_port": first.source_port,
        "server": first.target,
        "server_port": first.target_port,
        "time_ns": first.time + offset,
        **attempt.facts(),
        "data": attempt.data,
        "packets": packets,
    }
