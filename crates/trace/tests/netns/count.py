"""What tshark sees in a capture, by connection attempt; nothing of gentle takes part in it."""

import subprocess
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

FIELDS = {
    "source": "ip.src",
    "source6": "ipv6.src",
    "destination": "ip.dst",
    "destination6": "ipv6.dst",
    "source_port": "tcp.srcport",
    "destination_port": "tcp.dstport",
    "seq": "tcp.seq_raw",
    "ack": "tcp.ack_raw",
    "flags": "tcp.flags",
    "len": "tcp.len",
    "id": "ip.id",
    "tsval": "tcp.options.timestamp.tsval",
    "tsecr": "tcp.options.timestamp.tsecr",
    # It covers the SACK blocks and not the TTL, and so distinguishes segments over IPv6, which has no identification.
    "checksum": "tcp.checksum",
}
FIN, SYN, RST, ACK = 1, 2, 4, 16
WRAP = 1 << 32


@dataclass
class Segment:
    ends: tuple[str, str, int, int]
    seq: int
    ack: int
    flags: int
    len: int
    # Fields that a copy made on the way shares with the packet, and a retransmission does not.
    mark: tuple

    @property
    def back(self) -> tuple[str, str, int, int]:
        source, destination, source_port, destination_port = self.ends
        return destination, source, destination_port, source_port


def segments(file: Path) -> list[Segment]:
    command = ["tshark", "-r", str(file), "-Y", "tcp", "-T", "fields", "-E", "occurrence=f"]
    for name in FIELDS.values():
        command += ["-e", name]
    text = subprocess.run(command, check=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True).stdout
    found = []
    for line in text.splitlines():
        row = dict(zip(FIELDS, line.split("\t"), strict=True))
        ends = (
            row["source"] or row["source6"],
            row["destination"] or row["destination6"],
            int(row["source_port"]),
            int(row["destination_port"]),
        )
        flags = int(row["flags"], 16)
        mark = (row["id"], row["tsval"], row["tsecr"], row["ack"], row["len"], row["checksum"], flags)
        found.append(Segment(ends, int(row["seq"]), int(row["ack"]), flags, int(row["len"]), mark))
    return found


@dataclass
class Counts:
    attempts: int = 0
    successes: int = 0
    duplicate_syn: int = 0
    duplicate_synack: int = 0
    # Segments with data, some of which was seen before; copies aside.
    data_retransmitted: int = 0
    # Segments with data, none of which was seen before, below data that was.
    data_hole_filling: int = 0
    # Segments with FIN and without data when one with FIN was seen before from that end; copies aside.
    fin_retransmitted: int = 0
    # Packets seen twice.
    capture_duplicates: dict = field(default_factory=lambda: {"syn": 0, "synack": 0, "other": 0})
    # Packets by kind (as in cases.KINDS), copies aside: what the router's counters can be held against.
    kinds: Counter = field(default_factory=Counter)


def kinds(segment: Segment, from_client: bool) -> list[str]:
    """The kinds that a segment belongs to."""
    if segment.flags & RST:
        return []
    if segment.flags & SYN:
        return ["synack" if segment.flags & ACK else "syn"]
    found = []
    if segment.len > 0:
        found.append("data" if from_client else "reply")
    elif segment.flags == ACK and from_client:
        found.append("ack")
    if segment.flags & FIN:
        found.append("fin" if from_client else "server_fin")
    return found


def count(found: list[Segment], port: int) -> Counts:
    """Counts segments of connections to `port`."""
    result = Counts()
    syns, synacks, marks, fins = set(), set(), set(), set()
    answers: dict[tuple, int] = {}
    successes = set()
    # Data seen, by direction of a connection: offsets of bytes, few enough to keep them all.
    bytes_seen: dict[tuple, set[int]] = {}
    for segment in found:
        kind = segment.flags & (SYN | ACK)
        mark = (segment.ends, segment.seq, segment.mark)
        copy = mark in marks
        marks.add(mark)
        if copy:
            name = {SYN: "syn", SYN | ACK: "synack"}.get(kind, "other")
            result.capture_duplicates[name] += 1
        else:
            result.kinds.update(kinds(segment, segment.ends[3] == port))
        if kind == SYN:
            key = (segment.ends, segment.seq)
            result.duplicate_syn += key in syns
            syns.add(key)
        elif kind == SYN | ACK:
            key = (segment.ends, segment.seq, segment.ack)
            result.duplicate_synack += key in synacks
            synacks.add(key)
            answers[segment.back, (segment.seq + 1) % WRAP] = (segment.ack - 1) % WRAP
        elif not segment.flags & RST and segment.flags & ACK:
            attempt = (segment.ends, answers.get((segment.ends, segment.ack)))
            if attempt in syns:
                successes.add(attempt)
        if copy or segment.flags & (SYN | RST):
            continue
        if segment.len > 0:
            offsets = set(range(segment.seq, segment.seq + segment.len))
            # Port reuse starts far away, so only near sequence numbers belong to the same connection.
            known = bytes_seen.setdefault(segment.ends, set())
            near = {offset for offset in known if abs(offset - segment.seq) < 1 << 20}
            if offsets & near:
                result.data_retransmitted += 1
            elif near and max(near) > segment.seq:
                result.data_hole_filling += 1
            known |= offsets
        if segment.flags & FIN:
            key = (segment.ends, segment.seq + segment.len)
            result.fin_retransmitted += segment.len == 0 and key in fins
            fins.add(key)
    result.attempts = len(syns)
    result.successes = len(successes)
    return result
