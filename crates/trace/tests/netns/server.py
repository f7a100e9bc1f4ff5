"""The programs on the server: listens for every case that wants it. Runs until it is killed."""

import socket
import sys
import threading

sys.dont_write_bytecode = True
from cases import CASES, PORTS, Case


def serve(listener: socket.socket, case: Case) -> None:
    while True:
        connection, _ = listener.accept()
        with connection:
            try:
                if case.does == "download":
                    connection.sendall(bytes(case.bytes))
                    connection.shutdown(socket.SHUT_WR)
                while connection.recv(65_536):
                    pass
            except ConnectionError:
                # A case in which the client resets.
                pass


def main() -> None:
    for case in CASES:
        if not case.listens:
            continue
        family = socket.AF_INET6 if case.ipv6 else socket.AF_INET
        listener = socket.create_server(("", PORTS[case.name]), family=family)
        threading.Thread(target=serve, args=(listener, case)).start()
    print("ready", flush=True)


if __name__ == "__main__":
    main()
