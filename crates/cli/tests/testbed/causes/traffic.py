"""Clients and servers of a network, as one process that waits for all of its sockets."""

import errno
import heapq
import select
import socket
import struct
import time
from collections.abc import Callable
from dataclasses import dataclass, field

from namespace import Namespace

ZEROS = bytes(1 << 16)
TCP_FASTOPEN_CONNECT = 30
IP_BIND_ADDRESS_NO_PORT = 24
# Lengths of request and response, and whether the server closes first.
HEADER = struct.Struct("!QQB")


@dataclass
class Plan:
    """Connection that a client is to open."""

    start: float
    client: str
    server: str
    port: int
    source_port: int = 0
    banner: int = 0
    request: int = 0
    response: int = 0
    # Time between the connection and the request, or the end of a connection without a request.
    hold: float = 0.0
    server_closes: bool = False
    # Close with data unread or unsent, and without waiting for the other side.
    abort: bool = False
    connect_timeout: float = 60.0
    patience: float = 120.0
    fast_open: bool = False
    then: Callable[["Client"], None] | None = None


@dataclass
class Service:
    """Server program behind a port."""

    banner: int = 0
    backlog: int = 4096
    # Time between two calls of accept; 0 accepts at once.
    accept_every: float = 0.0
    defer_accept: int = 0
    fast_open: int = 0
    # Time until a request is answered.
    think: float = 0.0
    # Keep the connection when the client has closed it.
    keep: bool = False


class Traffic:
    """Clients, servers and timers."""

    def __init__(self, client: Namespace, server: Namespace) -> None:
        """Prepare an empty world."""
        self.client, self.server = client, server
        self.epoll = select.epoll()
        self.handlers: dict[int, Callable[[int], None]] = {}
        self.timers: list[tuple[float, int, Callable[[], None]]] = []
        self.count = 0
        self.start = time.monotonic()
        self.clients: list[Client] = []
        self.open = 0
        self.listeners: list[socket.socket] = []
        self.sessions: set[Session] = set()

    def now(self) -> float:
        """Time since the start."""
        return time.monotonic() - self.start

    def at(self, when: float, action: Callable[[], None]) -> None:
        """Execute an action at a time."""
        self.count += 1
        heapq.heappush(self.timers, (when, self.count, action))

    def watch(self, sock: socket.socket, events: int, handler: Callable[[int], None]) -> None:
        """Call the handler on events of a socket."""
        fd = sock.fileno()
        if fd in self.handlers:
            self.epoll.modify(fd, events)
        else:
            self.epoll.register(fd, events)
        self.handlers[fd] = handler

    def close(self, sock: socket.socket) -> None:
        """Close a socket."""
        fd = sock.fileno()
        if fd >= 0 and self.handlers.pop(fd, None):
            self.epoll.unregister(fd)
        sock.close()

    def listen(self, address: str, port: int, service: Service) -> None:
        """Start a server."""
        with self.server.entered():
            sock = socket.socket(socket.AF_INET6 if ":" in address else socket.AF_INET, socket.SOCK_STREAM)
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        sock.bind((address, port))
        if service.defer_accept:
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_DEFER_ACCEPT, service.defer_accept)
        if service.fast_open:
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_FASTOPEN, service.fast_open)
        sock.listen(service.backlog)
        sock.setblocking(False)
        self.listeners.append(sock)
        if service.accept_every:
            self.at(service.accept_every, lambda: self.accept_slowly(sock, service))
        else:
            self.watch(sock, select.EPOLLIN, lambda _: self.accept_all(sock, service))

    def accept_all(self, sock: socket.socket, service: Service) -> None:
        """Accept all connections that wait."""
        while self.accept(sock, service):
            pass

    def accept_slowly(self, sock: socket.socket, service: Service) -> None:
        """Accept one connection, and the next one later."""
        if sock.fileno() < 0:
            return
        self.accept(sock, service)
        self.at(self.now() + service.accept_every, lambda: self.accept_slowly(sock, service))

    def accept(self, sock: socket.socket, service: Service) -> bool:
        """Accept a connection if there is one."""
        try:
            accepted, _ = sock.accept()
        except OSError:
            return False
        Session(self, accepted, service)
        return True

    def connect(self, plan: Plan) -> None:
        """Open a connection at its time."""
        self.open += 1
        self.at(plan.start, lambda: self.clients.append(Client(self, plan)))

    def run(self, limit: float, linger: float, idle: Callable[[], None]) -> None:
        """Execute until all connections have ended and some time has passed; call `idle` once a second."""
        end = None
        next_idle = 0.0
        while True:
            now = self.now()
            if self.open == 0 and end is None:
                end = now + linger
            if now >= min(limit, end if end is not None else limit):
                break
            if now >= next_idle:
                idle()
                next_idle = now + 1
            while self.timers and self.timers[0][0] <= now:
                heapq.heappop(self.timers)[2]()
            wake = min(next_idle, limit, *([self.timers[0][0]] if self.timers else []))
            for fd, events in self.epoll.poll(max(0.0, wake - self.now())):
                if handler := self.handlers.get(fd):
                    handler(events)
        for client in self.clients:
            client.finish("open at the end")
        for session in list(self.sessions):
            session.end()
        for sock in self.listeners:
            self.close(sock)
        self.epoll.close()


class Client:
    """Connection of a client."""

    def __init__(self, traffic: Traffic, plan: Plan) -> None:
        """Send the SYN."""
        self.traffic, self.plan = traffic, plan
        self.started = traffic.now()
        self.connected: float | None = None
        self.ended: float | None = None
        self.result = ""
        self.left = plan.request
        self.expected = plan.banner + plan.response
        self.deadline = 0
        # Sockets are made in the client's namespace, which is the current one of the program.
        self.socket = socket.socket(socket.AF_INET6 if ":" in plan.client else socket.AF_INET, socket.SOCK_STREAM)
        self.socket.setblocking(False)
        if plan.source_port:
            self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        else:
            self.socket.setsockopt(socket.SOL_IP, IP_BIND_ADDRESS_NO_PORT, 1)
        if plan.fast_open:
            self.socket.setsockopt(socket.IPPROTO_TCP, TCP_FASTOPEN_CONNECT, 1)
        self.port = plan.source_port
        try:
            self.socket.bind((plan.client, plan.source_port))
            self.socket.connect((plan.server, plan.port))
        except BlockingIOError:
            pass
        except OSError as error:
            self.finish(errno.errorcode.get(error.errno or 0, "error"))
            return
        traffic.watch(self.socket, select.EPOLLIN | select.EPOLLOUT, self.on_event)
        traffic.at(self.started + plan.connect_timeout, self.give_up_connecting)
        traffic.at(self.started + plan.patience, lambda: self.finish("out of patience"))
        if plan.fast_open:
            # The first write sends the SYN.
            self.on_event(select.EPOLLOUT)
        self.port = self.socket.getsockname()[1] if self.ended is None else self.port

    def give_up_connecting(self) -> None:
        """End an attempt that takes too long."""
        if self.connected is None:
            self.finish("timed out by the application")

    def on_event(self, events: int) -> None:
        """Continue after an event of the socket."""
        if self.ended is not None:
            return
        if self.connected is None and not self.plan.fast_open:
            error = self.socket.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR)
            if error:
                self.finish(errno.errorcode.get(error, str(error)))
                return
            self.connected = self.traffic.now()
            self.port = self.socket.getsockname()[1]
            if self.plan.hold:
                self.traffic.watch(self.socket, select.EPOLLIN, self.on_event)
                self.traffic.at(self.traffic.now() + self.plan.hold, self.request)
                return
            self.request()
            return
        try:
            if events & select.EPOLLOUT and self.left:
                self.send()
            if events & ~select.EPOLLOUT:
                self.receive()
        except OSError as error:
            self.finish(errno.errorcode.get(error.errno or 0, "error"))

    def request(self) -> None:
        """Send the request, or close if there is none."""
        if self.ended is not None:
            return
        try:
            if self.left:
                self.send()
            elif self.expected == 0:
                self.finish("completed")
            else:
                self.traffic.watch(self.socket, select.EPOLLIN, self.on_event)
        except OSError as error:
            self.finish(errno.errorcode.get(error.errno or 0, "error"))

    def send(self) -> None:
        """Send as much of the request as the socket accepts."""
        plan = self.plan
        while self.left:
            data: bytes | memoryview = memoryview(ZEROS)[: self.left]
            if self.left == plan.request:
                head = HEADER.pack(plan.request, plan.response, plan.server_closes)
                data = head + ZEROS[: max(0, min(self.left, len(ZEROS)) - len(head))]
            try:
                self.left -= self.socket.send(data)
            except BlockingIOError:
                break
            except OSError as error:
                if error.errno == errno.EINPROGRESS:
                    break
                raise
        if plan.fast_open and self.connected is None and self.left == 0:
            self.connected = self.traffic.now()
        events = select.EPOLLIN | (select.EPOLLOUT if self.left else 0)
        self.traffic.watch(self.socket, events, self.on_event)
        if not self.left and self.expected == 0:
            self.finish("completed")

    def receive(self) -> None:
        """Read the response."""
        while True:
            try:
                data = self.socket.recv(1 << 16)
            except BlockingIOError:
                return
            self.expected -= len(data)
            if not data:
                self.finish("completed" if self.expected <= 0 else "closed early")
                return
            if self.expected <= 0 and not self.plan.server_closes and not self.left:
                self.finish("completed")
                return

    def finish(self, result: str) -> None:
        """End the connection."""
        if self.ended is not None:
            return
        self.ended = self.traffic.now()
        self.result = result
        if self.plan.abort and self.connected is not None:
            self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.traffic.close(self.socket)
        self.traffic.open -= 1
        if self.plan.then:
            self.plan.then(self)


@dataclass(eq=False)
class Session:
    """Connection of a server."""

    traffic: Traffic
    socket: socket.socket
    service: Service
    left: int = field(init=False)
    head: bytes = b""
    received: int = 0
    request: int | None = None
    server_closes: bool = False
    response: int = 0
    answered: bool = False

    def __post_init__(self) -> None:
        """Send the banner."""
        self.left = self.service.banner
        self.socket.setblocking(False)
        self.traffic.sessions.add(self)
        self.traffic.watch(self.socket, select.EPOLLIN | (select.EPOLLOUT if self.left else 0), self.on_event)

    def on_event(self, events: int) -> None:
        """Continue after an event of the socket."""
        try:
            if events & ~select.EPOLLOUT:
                self.receive(events)
            if events & select.EPOLLOUT and self.left:
                self.send()
        except OSError:
            self.end()

    def receive(self, events: int) -> None:
        """Read the request."""
        while self.socket.fileno() >= 0:
            try:
                data = self.socket.recv(1 << 16)
            except BlockingIOError:
                return
            if not data:
                # A reset of a connection that the client has closed is an event that stays.
                if self.service.keep and not events & (select.EPOLLHUP | select.EPOLLERR):
                    self.traffic.watch(self.socket, 0, self.on_event)
                else:
                    self.end()
                return
            self.received += len(data)
            if self.request is None:
                self.head += data[: HEADER.size]
                if len(self.head) >= HEADER.size:
                    self.request, response, closes = HEADER.unpack(self.head[: HEADER.size])
                    self.server_closes = bool(closes)
                    self.response = response
            if self.request is not None and self.received >= self.request:
                self.request = 1 << 62
                if self.service.think:
                    self.traffic.at(self.traffic.now() + self.service.think, self.answer)
                else:
                    self.answer()

    def answer(self) -> None:
        """Begin to send the response."""
        if self.socket.fileno() < 0:
            return
        self.left += self.response
        self.answered = True
        try:
            self.send()
        except OSError:
            self.end()

    def send(self) -> None:
        """Send as much as the socket accepts."""
        while self.left:
            try:
                self.left -= self.socket.send(memoryview(ZEROS)[: self.left])
            except BlockingIOError:
                break
        self.traffic.watch(self.socket, select.EPOLLIN | (select.EPOLLOUT if self.left else 0), self.on_event)
        if not self.left and self.server_closes and self.answered:
            self.end()

    def end(self) -> None:
        """Close the connection."""
        self.traffic.sessions.discard(self)
        self.traffic.close(self.socket)
