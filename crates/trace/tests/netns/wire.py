"""Wires that take time: what enters at one interface leaves at another so much later. Runs until it is killed.

Arguments: `interface,interface,milliseconds,tag` for each wire; a tag other than 0 is the 802.1Q tag that frames carry
out of the second interface.
It serves where the kernel has neither netem nor VLAN interfaces, and does the same on every kernel.
"""

import heapq
import itertools
import select
import socket
import struct
import sys
import time

ETH_P_ALL = 3
MACS = 12


def opened(interface: str) -> socket.socket:
    packets = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(ETH_P_ALL))
    packets.bind((interface, ETH_P_ALL))
    return packets


def main() -> None:
    exits = {}
    for argument in sys.argv[1:]:
        first, second, delay, tag = argument.split(",")
        a, b = opened(first), opened(second)
        # The kernel takes the tag off before a frame arrives here, so towards the first interface nothing is to do.
        inserted = struct.pack("!HH", 0x8100, int(tag)) if int(tag) else b""
        exits[a] = (b, float(delay) / 1e3, inserted)
        exits[b] = (a, float(delay) / 1e3, b"")
    print("ready", flush=True)
    flying: list = []
    order = itertools.count()
    while True:
        timeout = max(flying[0][0] - time.monotonic(), 0) if flying else None
        for entrance in select.select(list(exits), [], [], timeout)[0]:
            frame, (_, _, kind, _, _) = entrance.recvfrom(65_536)
            if kind == socket.PACKET_OUTGOING:
                continue
            to, delay, tag = exits[entrance]
            whole = frame[:MACS] + tag + frame[MACS:]
            heapq.heappush(flying, (time.monotonic() + delay, next(order), to, whole))
        while flying and flying[0][0] <= time.monotonic():
            _, _, to, frame = heapq.heappop(flying)
            to.send(frame)


if __name__ == "__main__":
    main()
