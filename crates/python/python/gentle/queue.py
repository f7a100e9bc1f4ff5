"""Queue disciplines written in Python."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, Protocol

from gentle import _core
from gentle._core import Packet


class Queue(Protocol):
    """A queue discipline in Python: the methods of a class for `gentle.compare`.

    Each run makes a new queue. If ``__init__`` has a parameter ``seed``, it receives a seed for random decisions, which
    depends only on the seed of the run. Times are in seconds since the beginning of the run.
    """

    def enqueue(self, packet: Packet, now: float) -> None:
        """Keep an arriving packet, or drop it with ``packet.drop(reason)``; waiting packets can be dropped too."""

    def dequeue(self, now: float) -> Packet | float | None:
        """Return the next packet to send, ``None`` if none waits, or the earliest time at which one may leave."""


@dataclass(frozen=True)
class CustomQueue:
    """A queue discipline in Python with its name, for `gentle.compare`.

    It runs in the simulator, and is slow: a run of ``real`` with a FIFO of ten lines needs two to three times the
    processor time of ``pfifo``, and runs with queues in Python share one core. An exception in it ends the comparison,
    which raises it again.

    Parameters
    ----------
    name
        Name in results.
    make
        Class, or function without parameters (or with ``seed``), that returns a new queue.

    Examples
    --------
    >>> from collections import deque
    >>> class Fifo:
    ...     def __init__(self, limit=50):
    ...         self.limit = limit
    ...         self.packets = deque()
    ...     def enqueue(self, packet, now):
    ...         if len(self.packets) < self.limit:
    ...             self.packets.append(packet)
    ...         else:
    ...             packet.drop("tail")
    ...     def dequeue(self, now):
    ...         return self.packets.popleft() if self.packets else None
    >>> import gentle
    >>> long = gentle.CustomQueue("long Fifo", lambda: Fifo(limit=500))
    >>> comparison = gentle.compare("real", ["pfifo limit=50", Fifo, long], duration="10s", seeds=1)
    >>> comparison.schemes
    ['pfifo limit=50', 'Fifo', 'long Fifo']
    >>> comparison.result("Fifo")["loss"] == comparison.result("pfifo")["loss"]
    True
    """

    name: str
    make: Callable[..., Queue]


Scheme = str | CustomQueue | Callable[..., Queue]
"""Scheme for `gentle.compare`."""


def prepared(schemes: Iterable[Scheme] | None) -> list[str | _core.CustomQueue]:
    """Return schemes in the form of the compiled module."""
    if schemes is None:
        return []
    if isinstance(schemes, str | CustomQueue) or inspect.isclass(schemes) or not isinstance(schemes, Iterable):
        raise _core.InvalidInput(f"schemes: expected a list; write schemes=[{_named(schemes)}]")
    return [_prepared(scheme) for scheme in schemes]


def _named(scheme: Any) -> str:
    return str(getattr(scheme, "__name__", None) or repr(scheme))


def _prepared(scheme: Any) -> str | _core.CustomQueue:
    if isinstance(scheme, str):
        return scheme
    if not isinstance(scheme, CustomQueue):
        name = getattr(scheme, "name", None) or getattr(scheme, "__name__", None)
        if not callable(scheme):
            raise _core.InvalidInput(
                f"schemes: {scheme!r} is not a scheme; expected a text such as 'codel target=20ms', a class with "
                "enqueue and dequeue, or a gentle.CustomQueue"
            )
        if not isinstance(name, str):
            raise _core.InvalidInput(
                f"schemes: {scheme!r} has no name; expected a class, a function or a gentle.CustomQueue(name, make)"
            )
        scheme = CustomQueue(name, scheme)
    make = scheme.make
    if not isinstance(scheme.name, str):
        raise _core.InvalidInput(f"schemes: {scheme.name!r} is not a name; expected a text")
    if not callable(make):
        raise _core.InvalidInput(f"schemes: {scheme.name}: {make!r} is not callable; expected a class or a function")
    if inspect.isclass(make) and (missing := [name for name in ("enqueue", "dequeue") if not hasattr(make, name)]):
        raise _core.InvalidInput(
            f"schemes: {make.__name__} has no {' and no '.join(missing)}; expected a class with enqueue and dequeue"
        )
    function = make if inspect.isfunction(make) or inspect.isclass(make) else type(make)
    origin = f"{function.__module__}.{function.__qualname__}"
    if _takes_seed(make):
        return _core.CustomQueue(scheme.name, lambda seed: make(seed=seed), origin)
    return _core.CustomQueue(scheme.name, lambda _: make(), origin)


def _takes_seed(make: Callable[..., Queue]) -> bool:
    try:
        return "seed" in inspect.signature(make).parameters
    except ValueError:  # made in C
        return False


def interrupt(thread: int) -> None:
    """Raise ``KeyboardInterrupt`` in the thread with this number, at its next instruction in Python."""
    import ctypes

    ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(thread), ctypes.py_object(KeyboardInterrupt))
