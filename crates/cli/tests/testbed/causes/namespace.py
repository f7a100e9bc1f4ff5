"""Network namespaces, kernel settings and the programs `ip`, `tc` and `nft`."""

import ctypes
import os
import socket
import struct
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from fcntl import ioctl
from pathlib import Path

LIBC = ctypes.CDLL(None, use_errno=True)
CLONE_NEWNET = 0x40000000
SIOCETHTOOL = 0x8946
# Commands of the ioctl that turn off: checksums of sent packets, scatter-gather, TSO, GSO, GRO.
OFFLOADS = [0x17, 0x19, 0x1F, 0x24, 0x2C]


class Namespace:
    """Network namespace that exists as long as this object and its sockets."""

    def __init__(self, *, new: bool = True) -> None:
        """Make a namespace, or take the current one."""
        if not new:
            self.fd = os.open("/proc/self/ns/net", os.O_RDONLY)
            return
        before = os.open("/proc/self/ns/net", os.O_RDONLY)
        check(LIBC.unshare(CLONE_NEWNET))
        self.fd = os.open("/proc/self/ns/net", os.O_RDONLY)
        check(LIBC.setns(before, CLONE_NEWNET))
        os.close(before)

    @property
    def path(self) -> str:
        """Name under which `ip` finds the namespace."""
        return f"/proc/{os.getpid()}/fd/{self.fd}"

    @contextmanager
    def entered(self) -> Iterator[None]:
        """Execute the body in the namespace."""
        before = os.open("/proc/self/ns/net", os.O_RDONLY)
        check(LIBC.setns(self.fd, CLONE_NEWNET))
        try:
            yield
        finally:
            check(LIBC.setns(before, CLONE_NEWNET))
            os.close(before)

    def run(self, program: list[str], script: str) -> None:
        """Run a program in the namespace with a script as its standard input."""
        with self.entered():
            done = subprocess.run(program, input=script, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            raise RuntimeError(f"{program}: {done.stderr}\n{script}")

    def ip(self, lines: list[str], version: int = 0) -> None:
        """Execute commands of `ip`, which guesses the version of IP if it is 0."""
        if lines:
            self.run(["ip", *([f"-{version}"] if version else []), "-batch", "-"], "\n".join(lines) + "\n")

    def tc(self, lines: list[str]) -> None:
        """Execute commands of `tc`."""
        if lines:
            self.run(["tc", "-batch", "-"], "\n".join(lines) + "\n")

    def nft(self, lines: list[str]) -> None:
        """Execute commands of `nft`."""
        if lines:
            self.run(["nft", "-f", "-"], "\n".join(lines) + "\n")

    def sysctl(self, values: dict[str, int | str]) -> None:
        """Set values below `/proc/sys/net`."""
        with self.entered():
            for name, value in values.items():
                Path(f"/proc/sys/net/{name}").write_text(str(value))

    def without_offloads(self, device: str) -> None:
        """Let every segment of a device be a packet with a complete checksum."""
        with self.entered(), socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
            for command in OFFLOADS:
                value = ctypes.create_string_buffer(struct.pack("II", command, 0))
                request = struct.pack("16sQ16x", device.encode(), ctypes.addressof(value))
                ioctl(sock, SIOCETHTOOL, request)

    def close(self) -> None:
        """Release the namespace."""
        os.close(self.fd)


def check(result: int) -> None:
    """Raise the error of a call of the C library."""
    if result != 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
