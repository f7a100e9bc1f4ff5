"""Executors of sweeps: threads of this process, pools of processes, Dask, Ray.

Scheduling is theirs. A sweep keeps a bounded number of batches with an executor, so that the memory of the client does
not grow with the number of runs, and writes results to its store as they arrive.
"""

from __future__ import annotations

import concurrent.futures
import os
import time
from collections.abc import Collection, Mapping
from concurrent.futures import FIRST_COMPLETED
from contextlib import suppress
from typing import Any, Protocol

from gentle import _core

TICK = 0.2
"""Seconds after which a wait returns, so that Ctrl-C and lost connections are noticed."""


class LostError(Exception):
    """A batch has no result through no fault of its own: its worker died, or the scheduler was restarted."""


class Executor(Protocol):
    """What a sweep asks of an executor. Futures are any hashable objects."""

    def slots(self) -> int:
        """Return the number of batches to keep submitted: some more than there are workers."""

    def share(self, inputs: Mapping[str, str]) -> Any:
        """Send what all batches need to the workers, once; the result is given to `submit`."""

    def submit(self, batch: bytes, shared: Any) -> Any:
        """Return a future for ``run(batch, shared)`` on a worker. May raise `LostError`."""

    def as_completed(self, futures: Collection[Any]) -> Collection[Any]:
        """Wait for some of the futures, for a second at most, and return those that have ended."""

    def result(self, future: Any) -> bytes:
        """Return the result of a future that has ended. May raise `LostError`."""

    def cancel(self, futures: Collection[Any]) -> None:
        """Give up futures."""


def run(batch: bytes, inputs: Mapping[str, str] | None = None) -> bytes:
    """Make the runs of a batch and return their Parquet file: what workers do."""
    return _core.run_batch(batch, dict(inputs or {}))


def cores() -> int:
    """Return the number of processors that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


class Threads:
    """Threads of this process. Runs hold no lock of the interpreter, so they use all cores without being copied."""

    def __init__(self, threads: int | None = None) -> None:
        self.threads = threads or cores()
        self._pool = concurrent.futures.ThreadPoolExecutor(self.threads, "gentle-sweep")
        self._stop = _core.Stop()

    def slots(self) -> int:
        """Return the number of batches to keep submitted."""
        return 2 * self.threads

    def share(self, inputs: Mapping[str, str]) -> Mapping[str, str]:
        """Return the inputs: threads share them anyway."""
        return inputs

    def submit(self, batch: bytes, shared: Mapping[str, str]) -> concurrent.futures.Future[bytes]:
        """Return a future of the results of a batch."""
        return self._pool.submit(_core.run_batch, batch, dict(shared), self._stop)

    def as_completed(self, futures: Collection[Any]) -> Collection[Any]:
        """Return futures that have ended."""
        return concurrent.futures.wait(futures, TICK, FIRST_COMPLETED).done

    def result(self, future: concurrent.futures.Future[bytes]) -> bytes:
        """Return the result of a future that has ended."""
        return future.result()

    def cancel(self, futures: Collection[Any]) -> None:
        """Stop the runs under way."""
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
        """Return the number of batches to keep submitted."""
        return 2 * self._workers + 2

    def share(self, inputs: Mapping[str, str]) -> Mapping[str, str]:
        """Return the inputs: these executors have nothing to keep them in, so they go with each batch."""
        return inputs

    def submit(self, batch: bytes, shared: Mapping[str, str]) -> concurrent.futures.Future[bytes]:
        """Return a future of the results of a batch."""
        try:
            return self._pool.submit(run, batch, shared)
        except concurrent.futures.BrokenExecutor as error:
            raise broken() from error

    def as_completed(self, futures: Collection[Any]) -> Collection[Any]:
        """Return futures that have ended."""
        return concurrent.futures.wait(futures, TICK, FIRST_COMPLETED).done

    def result(self, future: concurrent.futures.Future[bytes]) -> bytes:
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
        "a worker process of the executor died, after which it takes no more work; "
        "the complete batches are in the store: call sweep again with a new executor, and it goes on from there"
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
        """Return the number of batches to keep submitted: two for each thread of the cluster, and some more."""
        if time.monotonic() - self._counted > 1.0:
            self._counted = time.monotonic()
            # Where the scheduler is away, `submit` waits for it.
            with suppress(OSError, TimeoutError):
                self._slots = 2 * sum(self._client.nthreads().values()) + 2
        return self._slots

    def share(self, inputs: Mapping[str, str]) -> Any:
        """Scatter the inputs to all workers."""
        if not inputs:
            return None
        return self._patiently(lambda: self._client.scatter(dict(inputs), broadcast=True, hash=False))

    def submit(self, batch: bytes, shared: Any) -> Any:
        """Return a future of the results of a batch."""
        from distributed.client import FutureCancelledError

        self._number += 1
        key = f"gentle-sweep-{os.urandom(8).hex()}-{self._number}"
        try:
            return self._patiently(lambda: self._client.submit(run, batch, shared, key=key, pure=False))
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
                    f"the Dask scheduler at {address} does not answer; the complete batches are in the store: "
                    "call sweep again when it runs, and it goes on from there"
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
            # Those that a restarted scheduler does not know.
            return [future for future in futures if future.status in {"cancelled", "lost"}]

    def result(self, future: Any) -> bytes:
        """Return the result of a future that has ended."""
        from distributed import KilledWorker
        from distributed.client import FutureCancelledError
        from distributed.comm.core import CommClosedError

        try:
            return bytes(future.result(timeout=60))
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
        self._run = ray.remote(run)

    def slots(self) -> int:
        """Return the number of batches to keep submitted."""
        return 2 * int(self._ray.cluster_resources().get("CPU", 1)) + 2

    def share(self, inputs: Mapping[str, str]) -> Any:
        """Put the inputs into the object store."""
        return self._ray.put(dict(inputs))

    def submit(self, batch: bytes, shared: Any) -> Any:
        """Return a reference to the results of a batch."""
        return self._run.remote(batch, shared)

    def as_completed(self, futures: Collection[Any]) -> Collection[Any]:
        """Return references whose results are there."""
        return list(self._ray.wait(list(futures), num_returns=1, timeout=TICK)[0])

    def result(self, future: Any) -> bytes:
        """Return the result of a reference."""
        exceptions = self._ray.exceptions
        try:
            return bytes(self._ray.get(future))
        except exceptions.RayTaskError as error:
            raise error.as_instanceof_cause() from None
        except (exceptions.RayError, OSError) as error:
            raise LostError(str(error)) from error

    def cancel(self, futures: Collection[Any]) -> None:
        """Give up references."""
        for future in futures:
            self._ray.cancel(future, force=True)


def adapted(executor: Any) -> Executor:
    """Return what a sweep asks of an executor, for any that it knows."""
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
