"""Executors of sweeps and analyses: threads of this process, pools of processes, Dask, Ray.

The executors schedule. The client submits a bounded number of tasks at a time, so that its memory does not grow with
the number of tasks, and uses results as they arrive.
"""

from __future__ import annotations

import concurrent.futures
import operator
import os
import pickle
import time
import traceback
from collections import deque
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Any, NoReturn, Protocol

from gentle import _core

TICK = 0.2
"""Seconds after which a wait returns, so that Ctrl-C and lost connections are noticed."""


ATTEMPTS = 8
"""Number of times that a task may be lost before the call fails."""

DEATHS = 8
"""Number of workers that may die with the same task before it is abandoned."""

DEATHS_OF_A_BATCH = 2
"""Number of workers that may die with the same task before it is split or, if it cannot be split, tried alone."""

GIVEN_UP = 8
"""Number of abandoned tasks after which the call fails without trying the rest."""

Work = Callable[[bytes, Any, "_core.Stop | None"], Any]
"""Work on a task and the inputs that all tasks share, on workers: a picklable callable. The flag, if any, stops it."""


class LostError(Exception):
    """A task was lost without an exception of its work: its worker died, or the scheduler was restarted.

    ``deaths`` is the number of workers that died with it, as far as the executor knows.
    """

    def __init__(self, problem: str, deaths: int = 0) -> None:
        super().__init__(problem)
        self.deaths = deaths


class Task(Protocol):
    """Input of one call of the work."""

    @property
    def content(self) -> bytes:
        """Bytes sent to a worker."""

    def __str__(self) -> str:
        """Return a description for messages."""

    def parts(self) -> Sequence[Task]:
        """Return smaller tasks that together do the same; an empty list if it cannot be split."""


@dataclass(frozen=True)
class Outcome:
    """Result or exception of the work, as a value: exceptions of the executor itself stay distinct."""

    result: Any = None
    error: Exception | None = None


@dataclass(frozen=True)
class Attempted:
    """Work that returns an `Outcome` and does not raise."""

    work: Callable[..., Any]

    @property
    def __name__(self) -> str:
        return self.work.__name__

    def __call__(self, task: bytes, shared: Any, stop: _core.Stop | None) -> Outcome:
        """Do the work."""
        try:
            return Outcome(result=self.work(task, shared, stop))
        except Exception as error:
            return Outcome(error=_portable(error))


def _portable(error: Exception) -> Exception:
    """Return a picklable exception; its traceback becomes a note, because tracebacks cannot be pickled."""
    try:
        pickle.loads(pickle.dumps(error))
    except Exception:
        error = _core.Error(f"{type(error).__name__}: {error}").with_traceback(error.__traceback__)
    if not isinstance(error, _core.Error):
        error.add_note("".join(traceback.format_exception(error)))
    return error


class Executor(Protocol):
    """Interface of an executor. Futures are any hashable objects."""

    def slots(self) -> int:
        """Return the number of tasks to keep submitted: a few more than workers."""

    def share(self, inputs: Any) -> Any:
        """Send the common inputs of all tasks to the workers, once; `submit` receives the result."""

    def submit(self, work: Work, task: bytes, shared: Any) -> Any:
        """Return a future for ``work(task, shared, None)`` on a worker, which does not raise. May raise `LostError`."""

    def as_completed(self, futures: Collection[Any]) -> Collection[Any]:
        """Wait for some of the futures, for a second at most, and return the completed futures."""

    def result(self, future: Any) -> Any:
        """Return the result of a completed future. May raise `LostError`."""

    def cancel(self, futures: Collection[Any]) -> None:
        """Cancel futures."""


@dataclass
class _Flight:
    """A task and its history."""

    task: Any
    losses: int = 0
    deaths: int = 0


def drive(
    executor: Executor,
    work: Callable[..., Any],
    inputs: Any,
    tasks: Iterable[Task],
    ended: Callable[[Any, Any], object],
    failed: Callable[[Any, Exception], object] | None = None,
) -> None:
    """Do ``work`` for each of the ``tasks``.

    ``ended`` receives each task and its result. Tasks whose worker dies are submitted again; after another death, in
    parts. ``failed`` receives tasks whose work raised, and the exception; by default it is raised. Tasks that killed
    every worker are abandoned: an error at the end lists them. A worker may have several tasks when it dies, so tasks
    that cannot be split are tried alone before they are abandoned.
    """
    attempted = Attempted(work)
    following = iter(tasks)
    waiting: deque[_Flight] = deque()
    suspects: deque[_Flight] = deque()
    is_alone = False
    flying: dict[Any, _Flight] = {}
    given_up: list[str] = []
    shared: Any = None
    is_shared = False

    def submit(flight: _Flight) -> None:
        nonlocal shared, is_shared
        try:
            if not is_shared:
                shared = executor.share(inputs)
                is_shared = True
            flying[executor.submit(attempted, flight.task.content, shared)] = flight
        except LostError as error:
            lost(flight, error)

    def lost(flight: _Flight, error: LostError) -> None:
        nonlocal is_shared
        # The scheduler may have lost the shared inputs as well.
        is_shared = False
        flight.losses += 1
        flight.deaths += error.deaths
        if flight.deaths >= DEATHS_OF_A_BATCH and (parts := flight.task.parts()):
            waiting.extend(map(_Flight, parts))
        elif flight.deaths >= DEATHS:
            given_up.append(f"{flight.task}: {flight.deaths} workers died running it")
        elif flight.losses >= ATTEMPTS:
            raise _core.Error(
                f"{flight.task}: the task was lost {flight.losses} times; {IN_THE_STORE}; repeat the call to resume"
            ) from error
        elif flight.deaths >= DEATHS_OF_A_BATCH:
            suspects.append(flight)
        else:
            waiting.append(flight)

    try:
        while len(given_up) < GIVEN_UP:
            is_alone = is_alone and bool(flying)
            while not is_alone and len(suspects) < GIVEN_UP and len(flying) < executor.slots():
                if waiting:
                    submit(waiting.popleft())
                elif (task := next(following, None)) is not None:
                    submit(_Flight(task))
                else:
                    break
            if not flying and suspects:
                is_alone = True
                submit(suspects.popleft())
            elif not flying and not waiting:
                break
            for future in executor.as_completed(list(flying)):
                flight = flying.pop(future)
                try:
                    outcome = executor.result(future)
                except LostError as error:
                    lost(flight, error)
                    continue
                if outcome.error is None:
                    ended(flight.task, outcome.result)
                elif failed is not None:
                    failed(flight.task, outcome.error)
                else:
                    raise outcome.error
        if given_up:
            _give_up(given_up)
    finally:
        if flying:
            executor.cancel(list(flying))


IN_THE_STORE = "complete results are in the store, if one is used"


def _give_up(tasks: list[str]) -> NoReturn:
    raise _core.Error(
        "\n".join(
            [
                f"{'1 task' if len(tasks) == 1 else f'{len(tasks)} tasks'} killed every worker, perhaps by running out "
                f"of memory; {IN_THE_STORE}",
                *tasks,
            ]
        )
    )


def cores() -> int:
    """Return the number of processors that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


class Threads:
    """Threads of this process. Runs release the interpreter's lock, so they use all cores without copying anything."""

    def __init__(self, threads: int | None = None) -> None:
        self.threads = threads or cores()
        self._pool = concurrent.futures.ThreadPoolExecutor(self.threads, "gentle")
        self._stop = _core.Stop()

    def slots(self) -> int:
        """Return the number of tasks to keep submitted."""
        return 2 * self.threads

    def share(self, inputs: Any) -> Any:
        """Return the inputs, which threads share anyway."""
        return inputs

    def submit(self, work: Work, task: bytes, shared: Any) -> concurrent.futures.Future[Any]:
        """Return a future of the result of a task."""
        return self._pool.submit(work, task, shared, self._stop)

    def as_completed(self, futures: Collection[Any]) -> Collection[Any]:
        """Return completed futures."""
        return concurrent.futures.wait(futures, TICK, FIRST_COMPLETED).done

    def result(self, future: concurrent.futures.Future[Any]) -> Any:
        """Return the result of a completed future."""
        return future.result()

    def cancel(self, futures: Collection[Any]) -> None:
        """Stop the running tasks."""
        self._stop.set()
        for future in futures:
            future.cancel()
        self._pool.shutdown(wait=True, cancel_futures=True)


class Pool:
    """Any `concurrent.futures.Executor`, such as a ``ProcessPoolExecutor``."""

    def __init__(self, pool: concurrent.futures.Executor) -> None:
        self._pool = pool
        self._workers = getattr(pool, "_max_workers", None) or cores()
        # Threads read the flag; a process would get a copy.
        self._stop = _core.Stop() if isinstance(pool, concurrent.futures.ThreadPoolExecutor) else None

    def slots(self) -> int:
        """Return the number of tasks to keep submitted."""
        return 2 * self._workers + 2

    def share(self, inputs: Any) -> Any:
        """Return the inputs: these executors cannot store them, so each task carries them."""
        return inputs

    def submit(self, work: Work, task: bytes, shared: Any) -> concurrent.futures.Future[Any]:
        """Return a future of the result of a task."""
        try:
            return self._pool.submit(work, task, shared, self._stop)
        except concurrent.futures.BrokenExecutor as error:
            raise broken() from error

    def as_completed(self, futures: Collection[Any]) -> Collection[Any]:
        """Return completed futures."""
        return concurrent.futures.wait(futures, TICK, FIRST_COMPLETED).done

    def result(self, future: concurrent.futures.Future[Any]) -> Any:
        """Return the result of a completed future."""
        try:
            return future.result()
        except concurrent.futures.BrokenExecutor as error:
            raise broken() from error
        except concurrent.futures.CancelledError as error:
            raise LostError("cancelled") from error

    def cancel(self, futures: Collection[Any]) -> None:
        """Cancel futures that have not begun; threads also stop running ones."""
        if self._stop is not None:
            self._stop.set()
        for future in futures:
            future.cancel()


def broken() -> _core.Error:
    """Return the error of a pool that lost a worker, and therefore accepts no more work."""
    return _core.Error(
        f"a worker process of the executor died, so it accepts no more work; {IN_THE_STORE}; repeat the call with a "
        "new executor to resume"
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
            # If the scheduler is unreachable, `submit` waits for it.
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
                    f"the Dask scheduler at {address} does not answer; {IN_THE_STORE}; repeat the call when it runs "
                    "again to resume"
                ) from problem
            time.sleep(TICK)

    def as_completed(self, futures: Collection[Any]) -> Collection[Any]:
        """Return completed futures."""
        from distributed import wait
        from distributed.client import FutureCancelledError

        try:
            with self._client.as_current():
                ended = wait(list(futures), timeout=TICK, return_when=FIRST_COMPLETED)  # type: ignore[no-untyped-call]
                return list(ended.done)
        except TimeoutError:
            return []
        except (concurrent.futures.CancelledError, FutureCancelledError):
            # A restarted scheduler has lost earlier futures: they have no results.
            return [future for future in futures if future.status in {"cancelled", "lost"}]

    def result(self, future: Any) -> Any:
        """Return the result of a completed future."""
        from distributed import KilledWorker
        from distributed.client import FutureCancelledError
        from distributed.comm.core import CommClosedError

        try:
            return future.result(timeout=60)
        except KilledWorker as error:
            raise LostError(str(error), deaths=error.allowed_failures + 1) from error
        except (
            concurrent.futures.CancelledError,
            FutureCancelledError,
            CommClosedError,
            TimeoutError,
            OSError,
        ) as error:
            raise LostError(str(error)) from error

    def cancel(self, futures: Collection[Any]) -> None:
        """Cancel futures."""
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

            def function(task: bytes, shared: Any) -> Any:
                return work(task, shared, None)

            # Without Ray's retries, each death of a worker is visible.
            self._remote[work] = self._ray.remote(max_retries=0)(function)
        return self._remote[work].remote(task, shared)

    def as_completed(self, futures: Collection[Any]) -> Collection[Any]:
        """Return completed references."""
        return list(self._ray.wait(list(futures), num_returns=1, timeout=TICK)[0])

    def result(self, future: Any) -> Any:
        """Return the result of a reference."""
        exceptions = self._ray.exceptions
        try:
            return self._ray.get(future)
        except exceptions.RayTaskError as error:
            raise error.as_instanceof_cause() from None
        except exceptions.RayError as error:
            raise LostError(str(error), deaths=1) from error
        except OSError as error:
            raise LostError(str(error)) from error

    def cancel(self, futures: Collection[Any]) -> None:
        """Cancel references."""
        for future in futures:
            self._ray.cancel(future, force=True)


@contextmanager
def using(executor: Any) -> Iterator[Executor]:
    """Yield any of the known executors as an `Executor`; threads created for it end with the context."""
    workers = adapted(executor)
    try:
        yield workers
    finally:
        if isinstance(workers, Threads):
            workers.cancel([])


def adapted(executor: Any) -> Executor:
    """Return any of the known executors as an `Executor`."""
    if executor is None:
        return Threads()
    if isinstance(executor, concurrent.futures.Executor):
        return Pool(executor)
    if type(executor).__module__.startswith("distributed.") and hasattr(executor, "scatter"):
        return Dask(executor)
    if getattr(executor, "__name__", None) == "ray":
        return Ray(executor)
    if all(hasattr(executor, name) for name in ("slots", "share", "submit", "as_completed", "result", "cancel")):
        return executor  # type: ignore[no-any-return]
    with suppress(TypeError):
        if not isinstance(executor, bool) and (threads := operator.index(executor)) > 0:
            return Threads(threads)
    raise _core.InvalidInput(
        f"executor: {executor!r} is not an executor; expected None, a number of threads of 1 or more, a "
        "concurrent.futures executor, a dask.distributed Client, the module ray, or an object with the methods of "
        "gentle.executors.Executor"
    )
