"""Executors of sweeps and analyses: threads of this process, pools of processes, Dask, Ray.

Scheduling is theirs. A bounded number of tasks is with an executor at a time, so that the memory of the client does not
grow with their number, and results are used as they arrive.
"""

from __future__ import annotations

import concurrent.futures
import os
import time
from collections.abc import Callable, Collection, Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED
from contextlib import contextmanager, suppress
from typing import Any, Protocol

from gentle import _core

TICK = 0.2
"""Seconds after which a wait returns, so that Ctrl-C and lost connections are noticed."""


ATTEMPTS = 8
"""Number of times that a task may be lost before the call fails."""

Work = Callable[[bytes, Any, "_core.Stop | None"], Any]
"""What workers do with a task and what all tasks share: a function of a module, which they import. The flag, if there
is one, stops it."""


class LostError(Exception):
    """A task has no result through no fault of its own: its worker died, or the scheduler was restarted."""


class Executor(Protocol):
    """What is asked of an executor. Futures are any hashable objects."""

    def slots(self) -> int:
        """Return the number of tasks to keep submitted: some more than there are workers."""

    def share(self, inputs: Any) -> Any:
        """Send what all tasks need to the workers, once; the result is given to `submit`."""

    def submit(self, work: Work, task: bytes, shared: Any) -> Any:
        """Return a future for ``work(task, shared, None)`` on a worker. May raise `LostError`."""

    def as_completed(self, futures: Collection[Any]) -> Collection[Any]:
        """Wait for some of the futures, for a second at most, and return those that have ended."""

    def result(self, future: Any) -> Any:
        """Return the result of a future that has ended. May raise `LostError`."""

    def cancel(self, futures: Collection[Any]) -> None:
        """Give up futures."""


def drive(
    executor: Executor,
    work: Work,
    inputs: Any,
    tasks: Iterable[tuple[Any, bytes]],
    ended: Callable[[Any, Any], object],
) -> None:
    """Do ``work`` for each of the ``tasks``, pairs of a name and what is sent to a worker.

    ``ended`` is given the name and the result of each. Tasks whose worker dies are submitted again.
    """
    flying: dict[Any, tuple[Any, bytes, int]] = {}
    shared: Any = None
    is_shared = False

    def submit(name: Any, task: bytes, attempt: int) -> None:
        nonlocal shared, is_shared
        while True:
            if attempt > ATTEMPTS:
                raise _core.Error(
                    f"a task was lost {attempt - 1} times: workers die while they run it, perhaps for want of memory; "
                    "complete results are in the store, if there is one"
                )
            try:
                if not is_shared:
                    shared = executor.share(inputs)
                    is_shared = True
                flying[executor.submit(work, task, shared)] = (name, task, attempt)
            except LostError:
                is_shared = False
                attempt += 1
            else:
                return

    following = iter(tasks)
    try:
        while True:
            while len(flying) < executor.slots() and (task := next(following, None)):
                submit(*task, 1)
            if not flying:
                return
            for future in executor.as_completed(list(flying)):
                name, task_bytes, attempt = flying.pop(future)
                try:
                    result = executor.result(future)
                except LostError:
                    # The scheduler may have lost the shared inputs as well.
                    is_shared = False
                    submit(name, task_bytes, attempt + 1)
                    continue
                ended(name, result)
    finally:
        if flying:
            executor.cancel(list(flying))


def cores() -> int:
    """Return the number of processors that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


class Threads:
    """Threads of this process. Runs hold no lock of the interpreter, so they use all cores without being copied."""

    def __init__(self, threads: int | None = None) -> None:
        self.threads = threads or cores()
        self._pool = concurrent.futures.ThreadPoolExecutor(self.threads, "gentle")
        self._stop = _core.Stop()

    def slots(self) -> int:
        """Return the number of tasks to keep submitted."""
        return 2 * self.threads

    def share(self, inputs: Any) -> Any:
        """Return the inputs: threads share them anyway."""
        return inputs

    def submit(self, work: Work, task: bytes, shared: Any) -> concurrent.futures.Future[Any]:
        """Return a future of the result of a task."""
        return self._pool.submit(work, task, shared, self._stop)

    def as_completed(self, futures: Collection[Any]) -> Collection[Any]:
        """Return futures that have ended."""
        return concurrent.futures.wait(futures, TICK, FIRST_COMPLETED).done

    def result(self, future: concurrent.futures.Future[Any]) -> Any:
        """Return the result of a future that has ended."""
        return future.result()

    def cancel(self, futures: Collection[Any]) -> None:
        """Stop the tasks under way."""
        self._stop.set()
        for future in futures:
            future.cancel()
        self._pool.shutdown(wait=True, cancel_futures=True)


class Pool:
    """Any `concurrent.futures.Executor`, such as a ``ProcessPoolExecutor``."""

    def __init__(self, pool: concurrent.futures.Executor) -> None:
        self._pool = pool
        self._workers = getattr(pool, "_max_workers", None) or cores()

    def slots(self) -> int:
        """Return the number of tasks to keep submitted."""
        return 2 * self._workers + 2

    def share(self, inputs: Any) -> Any:
        """Return the inputs: these executors have nothing to keep them in, so they go with each task."""
        return inputs

    def submit(self, work: Work, task: bytes, shared: Any) -> concurrent.futures.Future[Any]:
        """Return a future of the result of a task."""
        try:
            return self._pool.submit(work, task, shared, None)
        except concurrent.futures.BrokenExecutor as error:
            raise broken() from error

    def as_completed(self, futures: Collection[Any]) -> Collection[Any]:
        """Return futures that have ended."""
        return concurrent.futures.wait(futures, TICK, FIRST_COMPLETED).done

    def result(self, future: concurrent.futures.Future[Any]) -> Any:
        """Return the result of a future that has ended."""
        try:
            return future.result()
        except concurrent.futures.BrokenExecutor as error:
            raise broken() from error
        except concurrent.futures.CancelledError as error:
            raise LostError("cancelled") from error

    def cancel(self, futures: Collection[Any]) -> None:
        """Give up futures that have not begun."""
        for future in futures:
            future.cancel()


def broken() -> _core.Error:
    """Return the error of a pool that lost a worker, after which it takes no more work."""
    return _core.Error(
        "a worker process of the executor died, after which it takes no more work; complete results are in the store, "
        "if there is one: the same call with a new executor goes on from there"
    )


class Dask:
    """A Dask cluster, through its client."""

    RECONNECT = 120.0
    """Seconds to wait for a scheduler that does not answer."""

    def __init__(self, client: Any) -> None:
        self._client = client
        self._counted = 0.0
        self._slots = 4
        self._number = 0

    def slots(self) -> int:
        """Return the number of tasks to keep submitted: two for each thread of the cluster, and some more."""
        if time.monotonic() - self._counted > 1.0:
            self._counted = time.monotonic()
            # Where the scheduler is away, `submit` waits for it.
            with suppress(OSError, TimeoutError):
                self._slots = 2 * sum(self._client.nthreads().values()) + 2
        return self._slots

    def share(self, inputs: Any) -> Any:
        """Scatter the inputs to all workers."""
        if not inputs:
            return inputs
        # A list of one: the parts of a collection would be scattered one by one.
        scatter = self._client.scatter
        return self._patiently(lambda: scatter([inputs], broadcast=True, hash=False)[0])

    def submit(self, work: Work, task: bytes, shared: Any) -> Any:
        """Return a future of the result of a task."""
        from distributed.client import FutureCancelledError

        self._number += 1
        key = f"gentle-{work.__name__}-{os.urandom(8).hex()}-{self._number}"
        try:
            return self._patiently(lambda: self._client.submit(work, task, shared, None, key=key, pure=False))
        except (concurrent.futures.CancelledError, FutureCancelledError) as error:
            raise LostError(str(error)) from error

    def _patiently(self, call: Any) -> Any:
        """Call ``call`` until the scheduler answers."""
        until = time.monotonic() + self.RECONNECT
        while True:
            try:
                if self._client.status == "running":
                    return call()
                problem: Exception | None = None
            except (OSError, TimeoutError) as error:
                problem = error
            if time.monotonic() > until or self._client.status == "closed":
                address = self._client.scheduler.address if self._client.scheduler else "unknown"
                raise _core.Error(
                    f"the Dask scheduler at {address} does not answer; complete results are in the store, if there is "
                    "one: the same call goes on from there when it runs"
                ) from problem
            time.sleep(TICK)

    def as_completed(self, futures: Collection[Any]) -> Collection[Any]:
        """Return futures that have ended."""
        from distributed import wait
        from distributed.client import FutureCancelledError

        try:
            with self._client.as_current():
                ended = wait(list(futures), timeout=TICK, return_when=FIRST_COMPLETED)  # type: ignore[no-untyped-call]
                return list(ended.done)
        except TimeoutError:
            return []
        except (concurrent.futures.CancelledError, FutureCancelledError):
            # A restarted scheduler does not know earlier futures: they have no results.
            return [future for future in futures if future.status in {"cancelled", "lost"}]

    def result(self, future: Any) -> Any:
        """Return the result of a future that has ended."""
        from distributed import KilledWorker
        from distributed.client import FutureCancelledError
        from distributed.comm.core import CommClosedError

        try:
            return future.result(timeout=60)
        except (
            concurrent.futures.CancelledError,
            FutureCancelledError,
            KilledWorker,
            CommClosedError,
            TimeoutError,
            OSError,
        ) as error:
            raise LostError(str(error)) from error

    def cancel(self, futures: Collection[Any]) -> None:
        """Give up futures."""
        self._client.cancel(list(futures), force=True)


class Ray:
    """A Ray cluster, which ``ray.init`` has connected to."""

    def __init__(self, ray: Any) -> None:
        self._ray = ray
        self._remote: dict[Work, Any] = {}

    def slots(self) -> int:
        """Return the number of tasks to keep submitted."""
        return 2 * int(self._ray.cluster_resources().get("CPU", 1)) + 2

    def share(self, inputs: Any) -> Any:
        """Put the inputs into the object store."""
        return self._ray.put(inputs)

    def submit(self, work: Work, task: bytes, shared: Any) -> Any:
        """Return a reference to the result of a task."""
        if work not in self._remote:
            self._remote[work] = self._ray.remote(work)
        return self._remote[work].remote(task, shared, None)

    def as_completed(self, futures: Collection[Any]) -> Collection[Any]:
        """Return references whose results are there."""
        return list(self._ray.wait(list(futures), num_returns=1, timeout=TICK)[0])

    def result(self, future: Any) -> Any:
        """Return the result of a reference."""
        exceptions = self._ray.exceptions
        try:
            return self._ray.get(future)
        except exceptions.RayTaskError as error:
            raise error.as_instanceof_cause() from None
        except (exceptions.RayError, OSError) as error:
            raise LostError(str(error)) from error

    def cancel(self, futures: Collection[Any]) -> None:
        """Give up references."""
        for future in futures:
            self._ray.cancel(future, force=True)


@contextmanager
def using(executor: Any) -> Iterator[Executor]:
    """Return any of the known executors as an `Executor`, for a while; the threads made for it end with it."""
    workers = adapted(executor)
    try:
        yield workers
    finally:
        if isinstance(workers, Threads):
            workers.cancel([])


def adapted(executor: Any) -> Executor:
    """Return any of the known executors as an `Executor`."""
    if executor is None or isinstance(executor, int):
        return Threads(executor)
    if isinstance(executor, concurrent.futures.Executor):
        return Pool(executor)
    if type(executor).__module__.startswith("distributed.") and hasattr(executor, "scatter"):
        return Dask(executor)
    if getattr(executor, "__name__", None) == "ray":
        return Ray(executor)
    if all(hasattr(executor, name) for name in ("slots", "share", "submit", "as_completed", "result", "cancel")):
        return executor  # type: ignore[no-any-return]
    raise _core.InvalidInput(
        f"executor: {type(executor).__name__} is none; expected None, a number of threads, a concurrent.futures "
        "executor, a dask.distributed Client, the module ray, or an object with the methods of "
        "gentle.executors.Executor"
    )
