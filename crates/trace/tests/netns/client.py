"""The programs on the client, one thread a case. Arguments: the server's IPv4 and IPv6 addresses."""

import socket
import struct
import sys
import threading

sys.dont_write_bytecode = True
from cases import CASES, PORTS, Case

REUSED_PORT = 4000
# Nobody listens there, and no case uses it.
CLOSED_PORT = 4001
RESET_AT_CLOSE = struct.pack("ii", 1, 0)

failures: list[str] = []


def connection(case: Case, server: str, resets: bool) -> None:
    family = socket.AF_INET6 if case.ipv6 else socket.AF_INET
    with socket.socket(family, socket.SOCK_STREAM) as end:
        if case.retries is not None:
            end.setsockopt(socket.IPPROTO_TCP, socket.TCP_SYNCNT, case.retries)
        if resets:
            end.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, RESET_AT_CLOSE)
        if case.does == "reuse":
            end.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            end.bind(("", REUSED_PORT))
        end.connect((server, PORTS[case.name]))
        if case.does != "download":
            end.sendall(bytes(case.bytes))
        if case.does != "abort":
            if case.does != "download":
                end.shutdown(socket.SHUT_WR)
            while end.recv(65_536):
                pass


def play(case: Case, server: str) -> None:
    try:
        # The last of the connections that share a port may wait in TIME-WAIT, the others must not.
        for number in range(3 if case.does == "reuse" else 1):
            connection(case, server, resets=case.does in ("reuse", "abort"))
    except OSError as error:
        if case.does != "connect":
            failures.append(f"{case.name}: {error}")
    else:
        if case.does == "connect":
            failures.append(f"{case.name}: the connection was not meant to come about")


def meet(server: str) -> None:
    """Lets everybody on the way find their neighbours, which would delay the first packets of the cases."""
    try:
        socket.create_connection((server, CLOSED_PORT)).close()
    except ConnectionRefusedError:
        pass


def main() -> None:
    addresses = sys.argv[1:3]
    for address in addresses:
        meet(address)
    threads = [threading.Thread(target=play, args=(case, addresses[case.ipv6])) for case in CASES]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if failures:
        sys.exit("\n".join(failures))


if __name__ == "__main__":
    main()
