"""Captures by packet sockets with a ring, and files in the format of tcpdump."""

import mmap
import socket
import struct
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from namespace import Namespace

SOL_PACKET = 263
PACKET_RX_RING = 5
PACKET_STATISTICS = 6
PACKET_VERSION = 10
ETH_P_ALL = 3
FRAME = 256
BLOCK = 1 << 16
FRAMES = 1 << 15
# Bytes kept of each packet: headers, and the packet quoted in an ICMPv6 error.
SNAP = 110
ETHERNET, COOKED = 1, 113


@dataclass
class Packet:
    """Packet as captured at one device."""

    nanoseconds: int
    length: int
    data: bytes
    outgoing: bool


class Capture:
    """Capture of one device."""

    def __init__(self, space: Namespace, device: str) -> None:
        """Start the capture."""
        with space.entered():
            self.socket = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 0)
        self.socket.setsockopt(SOL_PACKET, PACKET_VERSION, 1)
        ring = struct.pack("IIII", BLOCK, FRAMES * FRAME // BLOCK, FRAME, FRAMES)
        self.socket.setsockopt(SOL_PACKET, PACKET_RX_RING, ring)
        self.ring = mmap.mmap(self.socket.fileno(), FRAMES * FRAME)
        self.socket.bind((device, ETH_P_ALL))
        self.next = 0
        self.packets: list[Packet] = []

    def drain(self) -> None:
        """Take what has been captured out of the ring."""
        while True:
            base = self.next * FRAME
            status, length, snap, offset = struct.unpack_from("IIIH", self.ring, base)
            if not status & 1:
                return
            seconds, nanoseconds = struct.unpack_from("II", self.ring, base + 16)
            # The socket address behind the header has the type of packet in byte 10; 4 is an outgoing packet.
            outgoing = self.ring[base + 32 + 10] == 4
            start = base + offset
            data = self.ring[start : start + min(snap, SNAP)]
            self.packets.append(Packet(seconds * 10**9 + nanoseconds, length, data, outgoing))
            struct.pack_into("I", self.ring, base, 0)
            self.next = (self.next + 1) % FRAMES

    def stop(self) -> list[Packet]:
        """End the capture, and return its packets."""
        self.drain()
        dropped = struct.unpack("II", self.socket.getsockopt(SOL_PACKET, PACKET_STATISTICS, 8))[1]
        if dropped:
            raise RuntimeError(f"the capture lacks {dropped} packets")
        self.ring.close()
        self.socket.close()
        return self.packets


def merged(captures: Iterable[list[Packet]], *, cable: bool) -> list[Packet]:
    """Packets of several devices in order of time: of the two ends of a cable, or of one host."""
    packets = [packet for capture in captures for packet in capture]
    return sorted(packets, key=lambda packet: (packet.nanoseconds, packet.outgoing != cable))


def pcap(packets: Iterable[Packet], offset: int, link: int = ETHERNET) -> bytes:
    """File with the packets, whose times are later by `offset` nanoseconds."""
    return b"".join(pcap_parts(packets, offset, link))


def pcap_parts(packets: Iterable[Packet], offset: int, link: int) -> Iterator[bytes]:
    """Header of the file and its records."""
    yield struct.pack("<IHHiIII", 0xA1B23C4D, 2, 4, 0, 0, SNAP, link)
    for packet in packets:
        data, length = packet.data, packet.length
        if link == COOKED:
            kind = 4 if packet.outgoing else 0
            data = struct.pack("!HHH8s2s", kind, 1, 6, data[6:12], data[12:14]) + data[14:]
            length += 2
        seconds, nanoseconds = divmod(packet.nanoseconds + offset, 10**9)
        yield struct.pack("<IIII", seconds, nanoseconds, len(data), length)
        yield data
