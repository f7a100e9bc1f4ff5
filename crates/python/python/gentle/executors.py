"""Executors of sweeps and analyses: threads of this process, pools of processes, Dask, Ray.

Scheduling is theirs. A bounded number of tasks is with an executor at a time, so that the memory of the client does not
grow with their number, and results are used as they arrive.
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
"""Number of workers that may die while they have the same task before it is given up."""

DEATHS_OF_A_BATCH = 2
"""Number of workers that may die while they have the same task before it is split or, if it cannot be, tried alone."""

GIVEN_UP = 8
"""Number of tasks that may be given up before the call fails without trying the rest."""

Work = Callable[[bytes, Any, "_core.Stop | None"], Any]
"""Done with a task, and what all tasks share, on workers: a callable that pickles. The flag, if any, stops it."""


class LostError(Exception):
    """A task has no result, and the work did not raise: its worker died, or the scheduler was restarted.

    ``deaths`` is the number of workers that died while they had it, as far as the executor knows.
    """

    def __init__(self, problem: str, deaths: int = 0) -> None:
        super().__init__(problem)
        self.deaths = deaths


class Task(Protocol):
    """What one call of the work is given."""

    @property
    def content(self) -> bytes:
        """What a worker is sent."""

    def __str__(self) -> str:
        """Return what the task is, for messages."""

    def parts(self) -> Sequence[Task]:
        """Return smaller tasks that do the same together; none if it cannot be split."""


@dataclass(frozen=True)
class Outcome:
    """What the work returned, or raised: as a value, so that an executor's own exceptions are told from it."""

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
    """Return an exception that pickles; where it was raised is a note, because tracebacks do not."""
    try:
        pickle.loads(pickle.dumps(error))
    except Exception:
        error = _core.Error(f"{type(error).__name__}: {error}").with_traceback(error.__traceback__)
    if not isinstance(error, _core.Error):
        error.add_note("".join(traceback.format_exception(error)))
    return error


class Executor(Protocol):
    """What is asked of an executor. Futures are any hashable objects."""

    def slots(self) -> int:
        """Return the number of tasks to keep submitted: some more than there are workers."""

    def share(self, inputs: Any) -> Any:
        """Send what all tasks need to the workers, once; the result is given to `submit`."""

    def submit(self, work: Work, task: bytes, shared: Any) -> Any:
        """Return a future for ``work(task, shared, None)`` on a worker, which does not raise. May raise `LostError`."""

    def as_completed(self, futures: Collection[Any]) -> Collection[Any]:
        """Wait for some of the futures, for a second at most, and return those that have ended."""

    def result(self, future: Any) -> Any:
        """Return the result of a future that has ended. May raise `LostError`."""

    def cancel(self, futures: Collection[Any]) -> None:
        """Give up futures."""


@dataclass
class _Flight:
    """A task, and what has happened to it."""

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

    ``ended`` is given each task and its result. Tasks whose worker dies are submitted again; if it dies again, in
    parts. ``failed`` is given tasks whose work raised, and the exception; by default it is raised. Tasks that killed
    every worker which had them are given up: what they are is raised at the end. A worker may have several tasks
    when it dies, so those that cannot be split are tried alone before they are given up.
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
            given_up.append(f"{flight.task}: {flight.deaths} workers died while they had it")
        elif flight.losses >= ATTEMPTS:
            raise _core.Error(
                f"{flight.task}: the task was lost {flight.losses} times; {IN_THE_STORE}: the same call resumes there"
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


IN_THE_STORE = "complete results are in the store, if there is one"


def _give_up(tasks: list[str]) -> NoReturn:
    raise _core.Error(
        "\n".join(
            [
                f"{'1 task' if len(tasks) == 1 else f'{len(tasks)} tasks'} killed every worker, perhaps for want of "
                f"memory; {IN_THE_STORE}",
                *tasks,
            ]
        )
    )


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
        # Threads read the flag; to a process, it would be another one.
        self._stop = _core.Stop() if isinstance(pool, concurrent.futures.ThreadPoolExecutor) else None

    def slots(self) -> int:
        """Return the number of tasks to keep submitted."""
        return 2 * self._workers + 2

    def share(self, inputs: Any) -> Any:
        """Return the inputs: these executors have nothing to keep them in, so they go with each task."""
        return inputs

    def submit(self, work: Work, task: bytes, shared: Any) -> concurrent.futures.Future[Any]:
        """Return a future of the result of a task."""
        try:
            return self._pool.submit(work, task, shared, self._stop)
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
        """Give up futures that have not begun; threads also stop those under way."""
        if self._stop is not None:
            self._stop.set()
        for future in futures:
            future.cancel()


def broken() -> _core.Error:
    """Return the error of a pool that lost a worker, after which it takes no more work."""
    return _core.Error(
        f"a worker process of the executor died, after which it takes no more work; {IN_THE_STORE}: the same call with "
        "a new executor goes on from there"
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
                    f"the Dask scheduler at {address} does not answer; {IN_THE_STORE}: the same call goes on from "
                    "there when it runs"
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

            def function(task: bytes, shared: Any) -> Any:
                return work(task, shared, None)

            # Without Ray's own retries, each death of a worker is seen.
            self._remote[work] = self._ray.remote(max_retries=0)(function)
        return self._remote[work].remote(task, shared)

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
        except exceptions.RayError as error:
            raise LostError(str(error), deaths=1) from error
        except OSError as error:
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
        f"executor: {executor!r} is none; expected None, a number of threads of 1 or more, a concurrent.futures "
        "executor, a dask.distributed Client, the module ray, or an object with the methods of "
        "gentle.executors.Executor"
    )
