"""Queue disciplines in Python."""

from __future__ import annotations

import json
import random
import signal
import threading
import time
import weakref
from collections import deque

import gentle
import pytest


class Fifo:
    """First in, first out, for 50 packets."""

    limit = 50

    def __init__(self):
        self.packets = deque()

    def enqueue(self, packet, now):
        assert packet.arrived == now
        if len(self.packets) < self.limit:
            self.packets.append(packet)
        else:
            packet.drop("tail")

    def dequeue(self, now):
        assert not self.packets or self.packets[0].arrived <= now
        return self.packets.popleft() if self.packets else None


@pytest.mark.parametrize("threads", [1, 2])
def test_a_fifo_in_python_is_pfifo(threads) -> None:
    schemes = ["pfifo limit=50", Fifo, "codel"]
    comparison = gentle.compare("real", schemes, duration="30s", seeds=3, threads=threads)
    assert comparison.schemes == ["pfifo limit=50", "Fifo", "codel"]
    expected = comparison.result("pfifo")
    assert expected["loss"]["all"] > 0
    found = comparison.result("Fifo")
    assert found["by_seed"] == expected["by_seed"]
    names = {"label", "scheme", "options", "paired"}
    assert {key: found[key] for key in found.keys() - names} == {key: expected[key] for key in expected.keys() - names}
    assert any("Fifo is a queue in Python: " in text for text in comparison.data["scenario"]["choices"])
    assert "Fifo" in str(comparison)
    assert "Fifo" in comparison._core.html()


def test_a_python_queue_can_be_the_reference() -> None:
    comparison = gentle.compare("real", ["codel", Fifo], duration="10s", seeds=1, reference="Fifo")
    assert comparison.data["reference"] == "Fifo"


def test_queues_get_the_seed_of_the_run() -> None:
    made = []

    class Random(Fifo):
        name = "random early drop"

        def __init__(self, seed):
            super().__init__()
            made.append(seed)
            self.random = random.Random(seed)

        def enqueue(self, packet, now):
            if self.random.random() < 0.01:
                packet.drop("early")
            else:
                super().enqueue(packet, now)

    first, second = (gentle.compare("real", [Random], duration="10s", seeds=2) for _ in range(2))
    assert first.schemes == ["random early drop"]
    assert first.data == second.data
    assert len(set(made)) == 2
    assert '"early"' in json.dumps(first.result("random early drop")["drops"])


def test_packets_have_headers_and_take_marks() -> None:
    seen = {"syn": 0, "fin": 0, "data": 0, "marked": 0}
    flows = set()

    class Marking(Fifo):
        def enqueue(self, packet, now):
            packet.rank = now
            seen["syn"] += packet.syn
            seen["fin"] += packet.fin
            seen["data"] += packet.payload > 0
            flows.add(packet.flow)
            assert packet.length >= packet.ip_length > packet.payload
            assert packet.source != packet.destination
            assert packet.ack or packet.syn
            assert not packet.udp
            assert packet.dscp == 0
            assert isinstance(packet.sequence, int)
            super().enqueue(packet, now)

        def dequeue(self, now):
            packet = super().dequeue(now)
            if packet is not None and now - packet.rank > 0.005:
                assert packet.mark() == (packet.ecn == "ce")
                seen["marked"] += packet.ecn == "ce"
            return packet

    comparison = gentle.compare("real", [Marking], duration="20s", seeds=1, tcp={"ecn": "request"})
    assert all(seen.values()), seen
    assert len(flows) > 10
    assert comparison.result("Marking")["marks"] == seen["marked"]


def test_a_queue_may_shape() -> None:
    class Shaper(Fifo):
        """Sends a packet every 20 ms."""

        limit = 1000

        def __init__(self):
            super().__init__()
            self.free = 0.0

        def dequeue(self, now):
            if not self.packets:
                return None
            if now < self.free:
                return self.free
            self.free = now + 0.02
            return self.packets.popleft()

    flows = {"start_s": [0.0], "bytes": [100_000]}
    comparison = gentle.compare(flows, [Shaper, Fifo], rate="10mbit", seeds=1)
    slow, fast = (comparison.result(name)["response_time_s"]["mean"] for name in ("Shaper", "Fifo"))
    assert slow > 69 * 0.02 > fast


@pytest.mark.parametrize(
    ("method", "body", "error", "message"),
    [
        ("enqueue", lambda q, p, now: 1 / 0, ZeroDivisionError, "division"),
        ("enqueue", lambda q, p, now: None, gentle.Error, r"Bad: the queue lost a packet"),
        ("enqueue", lambda q, p, now: q.packets.append(p) is None, gentle.Error, "enqueue returned True"),
        ("enqueue", lambda q, p, now: p.drop("boredom"), gentle.InvalidInput, "not a reason for a drop"),
        ("enqueue", lambda q, p, now: (p.drop(), p.length), gentle.Error, "has left the queue"),
        ("dequeue", lambda q, now: None, gentle.Error, "packets wait"),
        ("dequeue", lambda q, now: bool(q.packets) or None, gentle.Error, "dequeue returned True; expected a packet"),
        ("dequeue", lambda q, now: "packet", gentle.Error, "dequeue returned 'packet'"),
        ("dequeue", lambda q, now: now, gentle.Error, "expected a later time"),
        ("dequeue", lambda q, now: q.packets[0] if q.packets else None, gentle.Error, "not in the queue"),
    ],
)
def test_mistakes_end_the_comparison(method, body, error, message) -> None:
    bad = type("Bad", (Fifo,), {method: body})
    with pytest.raises(error, match=message):
        gentle.compare("real", ["codel", bad], duration="60s", seeds=2)


def test_mistakes_in_schemes_are_told() -> None:
    def unnamed(seed):
        raise ValueError(f"no queue for {seed}")

    with pytest.raises(ValueError, match="no queue for"):
        gentle.compare("real", [unnamed], duration="10s", seeds=1)
    for schemes, message in [
        ([3], "expected a text"),
        ("codel", "expected a list"),
        ([gentle.CustomQueue("pfifo", Fifo)], "is a scheme of gentle"),
        ([gentle.CustomQueue("two\nlines", Fifo)], "on one line"),
        ([Fifo, Fifo], "two queues"),
    ]:
        with pytest.raises(gentle.InvalidInput, match=message):
            gentle.compare("real", schemes, duration="10s", seeds=1)
    import functools

    for schemes, message in [
        (Fifo, r"expected a list; write schemes=\[Fifo\]"),
        (gentle.CustomQueue("long", Fifo), "expected a list"),
        (7, "expected a list"),
        ([functools.partial(Fifo)], "has no name; expected a class"),
        ([dict], "dict has no enqueue and no dequeue"),
        ([int], "int has no enqueue and no dequeue"),
        ([gentle.CustomQueue(3, Fifo)], "3 is not a name"),
        ([gentle.CustomQueue("three", 3)], "3 is not callable"),
    ]:
        with pytest.raises(gentle.InvalidInput, match=message):
            gentle.compare("real", schemes, duration="10s", seeds=1)
    partial = gentle.CustomQueue("partial", functools.partial(Fifo))
    assert gentle.compare("real", [partial], duration="5s", seeds=1).schemes == ["partial"]


def test_ctrl_c_stops_a_python_queue() -> None:
    timer = threading.Timer(0.3, signal.raise_signal, [signal.SIGINT])
    timer.start()
    before = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        gentle.compare("real", [Fifo], duration="100000s", seeds=2)
    assert time.monotonic() - before < 20
    timer.join()


@pytest.mark.parametrize("method", ["__init__", "enqueue", "dequeue"])
@pytest.mark.parametrize("stubborn", [False, True])
def test_ctrl_c_ends_an_endless_loop_of_a_queue(method, stubborn) -> None:
    """The commonest mistake of a scheduler, also where it catches everything."""
    turns = 0

    def endless(*_):
        nonlocal turns
        while True:
            try:
                while True:
                    turns += 1
            except BaseException:
                if not stubborn:
                    raise
                stubborn_turns.append(turns)
                if len(stubborn_turns) > 3:
                    raise

    stubborn_turns = []
    endless_queue = type("Endless", (Fifo,), {method: endless})
    timer = threading.Timer(0.5, signal.raise_signal, [signal.SIGINT])
    timer.start()
    before = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        gentle.compare("real", [endless_queue, "codel"], duration="10s", seeds=2)
    assert time.monotonic() - before < 10
    assert turns
    timer.join()
    # The interpreter and further calls are as before.
    assert gentle.compare("real", [Fifo], duration="5s", seeds=1).schemes == ["Fifo"]


def test_progress_that_raises_ends_an_endless_loop_too() -> None:
    class Endless(Fifo):
        def dequeue(self, now):
            while True:
                pass

    def stop(fraction):
        raise LookupError("enough")

    with pytest.raises(LookupError, match="enough"):
        gentle.compare("real", [Endless], duration="10s", seeds=1, progress=stop)


def test_memory_does_not_grow_with_packets() -> None:
    """Packets that have left are freed, with what a queue has attached to them."""
    alive = weakref.WeakSet()

    class Tag:
        pass

    class Tagging(Fifo):
        most = 0

        def enqueue(self, packet, now):
            packet.tag = Tag()
            alive.add(packet.tag)
            Tagging.most = max(Tagging.most, len(alive))
            super().enqueue(packet, now)

    gentle.compare("real", [Tagging], duration="30s", seeds=1)
    assert 0 < Tagging.most <= Fifo.limit + 2
    assert not alive
