"""A capture as a router makes it."""

from __future__ import annotations

import struct
from collections.abc import Callable
from pathlib import Path


def capture(command: Callable[..., object], folder: Path, duration: str) -> Path:
    """Write a capture with lost SYNs, as a router in front of the queue makes it, and return its path."""
    every = folder / "all.pcapng"
    command("sim", "real", "--scheme=pfifo limit=50", f"--duration={duration}", f"--pcap={every}", "--quiet")
    path = folder / "office.pcapng"
    path.write_bytes(_of_interfaces(every.read_bytes(), {b"down entry", b"up exit"}))
    return path


def _of_interfaces(packets: bytes, names: set[bytes]) -> bytes:
    """Return the pcapng file with packets of the interfaces with these names only."""
    kept = bytearray()
    interfaces: list[bool] = []
    place = 0
    while place < len(packets):
        kind, length = struct.unpack_from("<II", packets, place)
        block = packets[place : place + length]
        if kind == 1:
            interfaces.append(any(name in block for name in names))
            block = _without_description(block)
        if kind != 6 or interfaces[struct.unpack_from("<I", block, 8)[0]]:
            kept += block
        place += length
    return bytes(kept)


def _without_description(block: bytes) -> bytes:
    """Return an interface description block whose if_description, which names the side of a queue, is a comment."""
    changed = bytearray(block)
    place = 16
    while place + 4 <= len(block) - 4:
        code, length = struct.unpack_from("<HH", block, place)
        if code == 3:
            struct.pack_into("<H", changed, place, 1)
        place += 4 + (length + 3) // 4 * 4
    return bytes(changed)
