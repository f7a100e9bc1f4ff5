"""Sweeps: the same bytes on every executor, whatever workers die."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from statistics import NormalDist
from typing import Any

import gentle
import polars as pl
import pytest
from cluster import Cluster
from gentle import executors
from gentle.store import Folder, Remote

GRID: dict[str, Any] = {
    "traffic": "short",
    "schemes": ["pfifo limit=20", "codel"],
    "seeds": 3,
    "axes": {
        "duration": "20s",
        "load": ["70%", "110%"],
        "rate": {"from": "1mbit", "to": "4mbit", "steps": 3, "log": True},
    },
}
"""Six points, 36 runs in a few batches."""

LONG = {**GRID, "seeds": 40}
"""480 runs in a dozen batches and more: enough to disturb."""


def saved(result: gentle.Sweep, folder: Path) -> bytes:
    """Return the table as CSV."""
    path = folder / f"{os.urandom(4).hex()}.csv"
    result.save(path)
    return path.read_bytes()


@pytest.fixture(scope="session")
def expected(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """Return the table of `GRID` as one thread makes it."""
    folder = tmp_path_factory.mktemp("expected")
    return saved(gentle.sweep(GRID, executor=1, store=folder), folder)


@pytest.fixture(scope="session")
def long(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """Return the table of `LONG`."""
    folder = tmp_path_factory.mktemp("long")
    return saved(gentle.sweep(LONG), folder)


def test_the_command_makes_the_same_bytes(command: Callable[..., str], expected: bytes, tmp_path: Path) -> None:
    """A store of the command is one of the package, and the other way round."""
    grid = tmp_path / "grid.toml"
    axes = "\n".join(
        [
            'duration = "20s"',
            'load = ["70%", "110%"]',
            'rate = { from = "1mbit", to = "4mbit", steps = 3, log = true }',
        ]
    )
    grid.write_text(f'traffic = "short"\nschemes = ["pfifo limit=20", "codel"]\nseeds = 3\n[axes]\n{axes}\n')
    store, csv, parquet = (str(tmp_path / name) for name in ("store", "x.csv", "x.parquet"))
    printed = command("sweep", str(grid), "--store", store, "--csv", csv, "--parquet", parquet, "--json", "-q")
    assert json.loads(printed)["made"] == 36
    assert Path(csv).read_bytes() == expected
    result = gentle.sweep(grid, store=store)
    assert saved(result, tmp_path) == expected
    result.save(tmp_path / "y.parquet")
    assert (tmp_path / "y.parquet").read_bytes() == Path(parquet).read_bytes()
    again = command("sweep", str(grid), "--store", store, "--json", "-q")
    assert json.loads(again)["made"] == 0


def test_tables_of_many_kinds(tmp_path: Path) -> None:
    """The table goes to Polars and DuckDB, and so do the files of the store."""
    import duckdb

    result = gentle.sweep(GRID, store=tmp_path)
    assert repr(result) == "<gentle.Sweep of 36 runs at 6 points>"
    assert "36 runs at 6 points" in result._repr_html_()
    frame = pl.DataFrame(result)
    assert frame.shape[0] == len(result) == 36
    assert frame["rate"].to_list()[:6] == [1e6] * 6
    assert frame["rate"].unique().sort().to_list() == [1e6, 2e6, 4e6]
    assert frame["load"].unique().sort().to_list() == [0.7, 1.1]
    assert frame["key"].n_unique() == 36
    # A second grid in the same store, with other axes.
    gentle.sweep({"hosts.initial_rto": ["1s", "3s"], "duration": "5s"}, ["codel"], 1, store=tmp_path)
    query = f"SELECT DISTINCT ON (key) * FROM read_parquet('{tmp_path}/runs/*.parquet', union_by_name=true)"
    rows = duckdb.sql(query).pl()
    assert rows.shape[0] == 38
    assert rows["hosts.initial_rto"].drop_nulls().sort().to_list() == [1.0, 3.0]
    joined = rows.join(frame, on="key", suffix="_of_table")
    assert joined.shape[0] == 36
    for name in ("loss.syn", "response_time_s.mean", "load"):
        assert joined[name].to_list() == joined[f"{name}_of_table"].to_list()


def test_a_comparison_is_a_sweep_of_one_point() -> None:
    """The results of a run equal the results of `gentle.compare`."""
    schemes = ["pfifo limit=50", "spa"]
    swept = pl.DataFrame(gentle.sweep({"duration": "10s", "rate": "5mbit"}, schemes, seeds=[3, 9]))
    compared = pl.DataFrame(gentle.compare("real", schemes, duration="10s", rate="5mbit", seeds=[3, 9]))
    for name in compared.columns:
        assert swept[name].to_list() == compared[name].to_list(), name


HOUSEHOLD: dict[str, Any] = {
    "duration": "10s",
    "link": {"down": {"rate": "4mbit", "delay": "20ms"}, "up": {"rate": "1mbit", "delay": "20ms"}},
    "workload": [
        {"kind": "voice"},
        {"kind": "pages", "users": 2, "pages": 4, "think": "2s"},
        {"kind": "poisson", "gap": "50ms", "size": {"zipf": 1.7, "max": 100}},
    ],
}
"""A call and pages in addition to connections."""


def test_applications_have_the_values_of_a_comparison() -> None:
    """Columns of applications are the rows of `Comparison.applications`."""
    schemes = ["pfifo limit=50", "fq_codel"]
    swept = pl.DataFrame(gentle.sweep({"rate": ["1mbit", "8mbit"]}, schemes, 2, traffic=HOUSEHOLD))
    for rate in (1, 8):
        compared = gentle.compare(HOUSEHOLD, schemes, rate=f"{rate}mbit", seeds=2)
        rows = pl.DataFrame(compared.applications)
        for row in rows.iter_rows(named=True):
            at = swept.filter(rate=rate * 1e6, scheme=row["scheme"], seed=row["seed"])
            for metric in rows.columns[5:]:
                assert at[f"{row['application']}.{metric}"].item() == row[metric], metric
        assert rows["delay_s.p99"].drop_nulls().len() == 4
        assert rows["transaction_s.p95"].drop_nulls().len() > 0


def half_width(values: pl.Series) -> float:
    """Return a lower bound of the relative half-width of an interval: with a quantile of the normal distribution."""
    n = len(values)
    return NormalDist().inv_cdf(0.975) * (1 + 4.3 / n) * values.std() / n**0.5 / values.mean()


def test_seeds_until_a_number_of_an_application_is_certain() -> None:
    """The rule holds for columns of applications too."""
    metric = "voice.delay_s.p99"
    result = gentle.sweep(
        {"rate": ["1mbit", "8mbit"]}, ["codel"], 3, traffic=HOUSEHOLD, until_ci=0.1, metric=metric, max_seeds=12
    )
    frame = pl.DataFrame(result)
    assert len(frame) > 6
    for _, group in frame.group_by("rate"):
        assert half_width(group[metric]) <= 0.1 or len(group) == 12
    with pytest.raises(gentle.Error, match=r"did you mean 'voice\.delay_s\.p99'"):
        gentle.sweep({"rate": "1mbit"}, ["codel"], 3, traffic=HOUSEHOLD, until_ci=0.1, metric="vice.delay_s.p99")


def test_executors_of_the_standard_library(expected: bytes, tmp_path: Path) -> None:
    """Threads and processes make the same bytes."""
    with ThreadPoolExecutor(3) as pool:
        assert saved(gentle.sweep(GRID, executor=pool), tmp_path) == expected
    with ProcessPoolExecutor(2, mp_context=get_context("spawn")) as pool:
        assert saved(gentle.sweep(GRID, executor=pool), tmp_path) == expected
    assert saved(gentle.sweep(GRID, executor=2), tmp_path) == expected


def test_a_pool_that_breaks_says_how_to_go_on(tmp_path: Path, long: bytes) -> None:
    """A killed process breaks a pool of processes; complete results stay, and another executor resumes."""
    store = tmp_path / "store"

    def kill() -> None:
        while not (store / "runs").exists() or len(Folder(store).names()) < 2:
            time.sleep(0.01)
        os.kill(next(iter(pool._processes)), signal.SIGKILL)

    with ProcessPoolExecutor(2, mp_context=get_context("spawn")) as pool:
        killer = threading.Thread(target=kill)
        killer.start()
        with pytest.raises(gentle.Error, match="to resume"):
            gentle.sweep(LONG, executor=pool, store=store)
        killer.join()
    done = len(Folder(store).names())
    assert done >= 2
    assert saved(gentle.sweep(LONG, store=store), tmp_path) == long


def test_other_threads_run_meanwhile() -> None:
    """Runs do not hold the interpreter's lock."""
    counted = 0
    ended = threading.Event()

    def count() -> None:
        nonlocal counted
        while not ended.is_set():
            counted += 1
            time.sleep(0.001)

    thread = threading.Thread(target=count)
    thread.start()
    gentle.sweep({"duration": "1000s"}, ["codel"], 4, executor=1)
    ended.set()
    thread.join()
    assert counted > 20


def test_an_interrupted_sweep_goes_on(tmp_path: Path, long: bytes) -> None:
    """Ctrl-C raises within a second, and loses only what was under way."""
    program = (
        "import gentle, json, sys\n"
        "print('ready', flush=True)\n"
        "gentle.sweep(json.loads(sys.argv[1]), store=sys.argv[2], executor=1)\n"
    )
    arguments = [sys.executable, "-c", program, json.dumps(LONG), str(tmp_path)]
    child = subprocess.Popen(arguments, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert child.stdout
    child.stdout.readline()
    while len(Folder(tmp_path).names()) < 2:
        time.sleep(0.01)
    child.send_signal(signal.SIGINT)
    began = time.monotonic()
    _, said = child.communicate()
    assert time.monotonic() - began < 5
    assert b"KeyboardInterrupt" in said
    before = len(Folder(tmp_path).names())
    assert before >= 2
    assert saved(gentle.sweep(LONG, store=tmp_path), tmp_path) == long


def test_stores(expected: bytes, tmp_path: Path) -> None:
    """An object store and a URL of a directory have the files that a directory has."""
    pytest.importorskip("fsspec")
    directory = tmp_path / "directory"
    assert saved(gentle.sweep(GRID, store=directory), tmp_path) == expected
    for url in (f"memory://{os.urandom(4).hex()}", f"file://{tmp_path}/url"):
        assert saved(gentle.sweep(GRID, store=url), tmp_path) == expected
        store = Remote(url)
        assert store.names() == Folder(directory).names()
        for name in store.names():
            assert store.get(name) == Folder(directory).get(name)
        assert saved(gentle.sweep(GRID, store=url, executor=executors.Threads(1)), tmp_path) == expected


def test_a_damaged_store_says_what_to_do(tmp_path: Path) -> None:
    """A file that is no result is named."""
    Folder(tmp_path).put("x.parquet", b"no parquet")
    with pytest.raises(gentle.Error, match=r"x\.parquet: .*remove it"):
        gentle.sweep(GRID, store=tmp_path)


def test_scenarios_made_by_a_function(tmp_path: Path) -> None:
    """A generator of scenarios with labels is a grid."""

    def points() -> Iterator[tuple[gentle.Scenario, dict[str, Any]]]:
        for delay in (10, 100):
            scenario = gentle.Scenario("short")
            scenario.duration = "5s"
            scenario.hosts.profile = "linux-7.2"
            scenario.link.down.delay = f"{delay}ms"
            yield scenario, {"delay": f"{delay}ms", "note": f"n{delay}"}

    listed = pl.DataFrame(gentle.sweep(points, ["codel"], 2, store=tmp_path))
    assert listed["delay"].to_list() == [0.01, 0.01, 0.1, 0.1]
    assert listed["note"].to_list() == ["n10", "n10", "n100", "n100"]
    axes = {"duration": ["5s"], "link.down.delay": ["10ms", "100ms"]}
    # The scale of the warm-up differs between the key and the option of `gentle compare`, but `short` has none.
    grid = pl.DataFrame(gentle.sweep({"axes": axes}, ["codel"], 2, traffic="short", store=tmp_path))
    assert grid["key"].to_list() == listed["key"].to_list()


def test_a_flow_list_is_shared_with_the_workers(tmp_path: Path, expected: bytes) -> None:
    """Flows travel once, separately from the batches."""
    lines = "\n".join(f"{i / 50},{1000 + 997 * i % 40000}" for i in range(500))
    (tmp_path / "flows.csv").write_text(f"start_s,bytes\n{lines}\n")
    (tmp_path / "grid.toml").write_text(
        'traffic = "flows.csv"\nschemes = ["codel", "pfifo"]\nseeds = 2\n[axes]\nrate = ["2mbit", "9mbit"]\n'
    )
    shares: list[int] = []

    class Counting(executors.Threads):
        def share(self, inputs: Any) -> Any:
            shares.append(sum(map(len, inputs.inputs.values())))
            return super().share(inputs)

        def submit(self, work: executors.Work, task: bytes, shared: Any) -> Any:
            assert b"997" not in task
            return super().submit(work, task, shared)

    result = gentle.sweep(tmp_path / "grid.toml", executor=Counting(2))
    assert shares == [(tmp_path / "flows.csv").stat().st_size]
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        other = gentle.sweep(tmp_path / "grid.toml", executor=pool)
    assert saved(result, tmp_path) == saved(other, tmp_path)
    assert saved(result, tmp_path) != expected


def test_lost_batches_are_submitted_again(expected: bytes, tmp_path: Path) -> None:
    """Losses of the executor do not show; a batch that is always lost ends the sweep."""

    class Losing(executors.Threads):
        def __init__(self, losses: int) -> None:
            super().__init__(2)
            self.losses = losses

        def result(self, future: Any) -> Any:
            if self.losses:
                self.losses -= 1
                raise executors.LostError("gone")
            return super().result(future)

    assert saved(gentle.sweep(GRID, executor=Losing(5)), tmp_path) == expected
    with pytest.raises(gentle.Error, match="was lost 8 times"):
        gentle.sweep(GRID, executor=Losing(10**6))


def test_seeds_until_the_interval_is_narrow(tmp_path: Path) -> None:
    """More seeds where they are needed, the same on every executor and after a stop."""
    grid = {"traffic": "short", "axes": {"duration": "10s", "load": [0.3, 1.2]}}

    def swept(most: int, **rest: Any) -> gentle.Sweep:
        return gentle.sweep(grid, ["codel"], 3, until_ci=0.05, metric="utilization", max_seeds=most, **rest)

    whole = swept(40, executor=1)
    assert 6 < len(whole) < 80
    part = swept(5, store=tmp_path)
    assert len(part) <= 10
    assert saved(swept(40, store=tmp_path), tmp_path) == saved(whole, tmp_path)
    frame = pl.DataFrame(whole)
    for (_, _), group in frame.group_by("load", "scheme"):
        assert half_width(group["utilization"]) <= 0.05 or len(group) == 40


def test_labelled_arrays_and_maps(tmp_path: Path) -> None:
    """Arrays have an axis for each that varies, and maps draw them."""
    result = gentle.sweep({**GRID, "schemes": ["pfifo limit=3", "codel", "codel target=50ms"]})
    data = result.to_xarray()
    assert dict(data.sizes) == {"load": 2, "rate": 3, "scheme": 3, "seed": 3}
    frame = pl.DataFrame(result)
    one = frame.filter(rate=2e6, load=1.1, scheme="codel", seed=2)["loss.all"].item()
    assert float(data["loss.all"].sel(rate=2e6, load=1.1, scheme="codel", seed=2)) == one
    result.plot("queue_delay_s.mean").savefig(tmp_path / "heat.png")
    result.plot_best("queue_delay_s.mean").savefig(tmp_path / "best.png")
    assert (tmp_path / "heat.png").stat().st_size > 10_000
    from gentle.maps import NONE, winners

    won = winners(data, "queue_delay_s.mean")
    assert won.shape == (2, 3)
    # Three packets are always less than CoDel lets stand; in overload three seeds differ too much to tell.
    assert set(won.sel(load=0.7).values) == {0}
    # Of equal schemes none is best.
    twin = data.assign_coords(scheme=["a", "b", "c"]).isel(scheme=[0, 0])
    assert set(winners(twin, "loss.all").values.flat) == {NONE}
    with pytest.raises(gentle.InvalidInput, match="expected one of: load, rate"):
        result.plot("loss.all", x="delay")
    with pytest.raises(gentle.InvalidInput, match="no column 'loss'"):
        result.plot("loss")


def test_mistakes_are_exceptions_with_sentences(tmp_path: Path) -> None:
    """Mistakes are found before the first run."""
    for grid, sentence in (
        ({"rate": ["1mbit", "fast"]}, "rate: 'fast' does not begin with a number"),
        ({"seeds": 0, "axes": {}}, "seeds: invalid value 0"),
        ({"schemes": ["cdel"], "axes": {}}, "did you mean 'codel'"),
        (tmp_path / "none.toml", "cannot be read"),
        (7, "expected a grid file"),
    ):
        with pytest.raises(gentle.InvalidInput, match=sentence):
            gentle.sweep(grid)
    with pytest.raises(gentle.InvalidInput, match="executor: 'dask' is not an executor"):
        gentle.sweep(GRID, executor="dask")
    with pytest.raises(gentle.InvalidInput, match=r"backend: 'kernel' is not a backend; expected \"simulator\""):
        gentle.sweep(GRID, backend="kernel")
    with pytest.raises(gentle.InvalidInput, match="connections: written only to a store"):
        gentle.sweep(GRID, connections=True)


def test_connections_beside_runs(expected: bytes, tmp_path: Path) -> None:
    """Each connection is in the store, whichever worker made its run."""
    with ProcessPoolExecutor(2, get_context("spawn")) as pool:
        result = gentle.sweep(GRID, executor=pool, store=tmp_path / "processes", connections=True)
    assert saved(result, tmp_path) == expected
    again = gentle.sweep(GRID, store=tmp_path / "threads", connections=True, executor=1)
    assert saved(again, tmp_path) == expected

    def connections(store: str) -> pl.DataFrame:
        return pl.read_parquet(tmp_path / store / "connections/*.parquet").sort("key", "connection")

    rows = connections("processes")
    assert rows.equals(connections("threads"))
    runs = pl.DataFrame(result).select("key", "connections", "response_time_s.mean").sort("key")
    means = rows.group_by("key").agg(pl.len(), pl.col("response_time_s").mean()).sort("key")
    assert means["len"].cast(pl.Float64).equals(runs["connections"])
    assert means["response_time_s"].to_list() == pytest.approx(runs["response_time_s.mean"].to_list())


# Dask: a scheduler and workers in separate processes, over TCP.


def test_dask(client: Any, expected: bytes, tmp_path: Path) -> None:
    """A cluster makes the same bytes, and refuses batches of another version."""
    assert saved(gentle.sweep(GRID, executor=client), tmp_path) == expected
    flows = {"start_s": [0.0, 0.1, 0.3], "bytes": [10_000, 2_000_000, 3_000]}
    (tmp_path / "flows.csv").write_text("start_s,bytes\n" + "\n".join(map("{},{}".format, *flows.values())))
    (tmp_path / "grid.toml").write_text('traffic = "flows.csv"\nseeds = 2\n[axes]\nrate = ["2mbit", "9mbit"]\n')
    grid = tmp_path / "grid.toml"
    assert saved(gentle.sweep(grid, executor=client), tmp_path) == saved(gentle.sweep(grid), tmp_path)

    class Older(executors.Dask):
        def submit(self, work: executors.Work, task: bytes, shared: Any) -> Any:
            version = f'"version":"{gentle.__version__}"'.encode()
            assert version in task
            return super().submit(work, task.replace(version, b'"version":"0.0.9"'), shared)

    with pytest.raises(gentle.Error, match=r"made by gentle 0\.0\.9 .*install one version everywhere"):
        gentle.sweep(GRID, executor=Older(client))


def test_a_comparison_on_dask(client: Any, tmp_path: Path) -> None:
    """A comparison has the same numbers on a cluster as here, with a store and without, and with parts alone."""
    call = {"duration": "4s", "workload": [{"kind": "voice"}, {"kind": "long"}]}
    link = {"down": {"rate": "5mbit", "delay": "20ms"}, "up": {"rate": "1mbit", "delay": "20ms"}}
    arguments = ({**call, "link": link}, ["pfifo limit=50", "spa"])

    def compared(**given: Any) -> str:
        return gentle.compare(*arguments, seeds=2, harm=True, **given).to_json()

    here = compared()
    reached: list[float] = []
    assert compared(executor=client, store=tmp_path, progress=reached.append) == here
    assert reached[-1] == 1.0
    records = {path: path.stat().st_mtime_ns for path in (tmp_path / "records").iterdir()}
    # The call and the download together, and the call alone.
    assert len(records) == 2 * 2 * 2
    missing, _ = records.popitem()
    missing.unlink()
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        assert compared(executor=pool, store=tmp_path) == here
    assert missing.exists()
    assert all(path.stat().st_mtime_ns == made for path, made in records.items())
    assert compared(executor=client) == here

    class Fifo:
        def enqueue(self, packet: Any, now: float) -> None: ...

        def dequeue(self, now: float) -> Any: ...

    with pytest.raises(gentle.InvalidInput, match="executor: 'Fifo' is a queue in Python"):
        gentle.compare("short", ["spa", Fifo], executor=client)
    with pytest.raises(gentle.InvalidInput, match="expected either threads or executor"):
        gentle.compare("short", ["spa"], executor=client, threads=2)
    with pytest.raises(gentle.InvalidInput, match="expected an executor, or threads=2"):
        gentle.compare("short", ["spa"], executor=2)


def test_dask_with_a_killed_worker(cluster: Cluster, client: Any, long: bytes, tmp_path: Path) -> None:
    """The runs of a worker that is killed are made by another."""
    store = tmp_path / "store"
    victim = cluster.processes[1]

    def kill() -> None:
        while not (store / "runs").exists() or len(Folder(store).names()) < 3:
            time.sleep(0.01)
        victim.kill()

    killer = threading.Thread(target=kill)
    killer.start()
    assert saved(gentle.sweep(LONG, executor=client, store=store), tmp_path) == long
    killer.join()
    assert victim.wait() == -signal.SIGKILL
    assert len(client.nthreads()) == 1


def test_dask_with_a_restarted_scheduler(cluster: Cluster, client: Any, long: bytes, tmp_path: Path) -> None:
    """A scheduler that is killed and restarted loses all state; the sweep continues."""
    store = tmp_path / "store"
    at_restart: list[int] = []

    def restart() -> None:
        while not (store / "runs").exists() or len(Folder(store).names()) < 3:
            time.sleep(0.01)
        cluster.scheduler.kill()
        cluster.scheduler.wait()
        at_restart.append(len(Folder(store).names()))
        cluster.start_scheduler()
        # Workers of a scheduler that is gone end.
        cluster.start_worker()
        cluster.start_worker()

    restarter = threading.Thread(target=restart)
    restarter.start()
    assert saved(gentle.sweep(LONG, executor=client, store=store), tmp_path) == long
    restarter.join()
    assert at_restart[0] < len(Folder(store).names())


def test_ray(expected: bytes, tmp_path: Path) -> None:
    """The adapter asks of Ray what it has; with the real one where it is installed."""
    try:
        import ray
    except ImportError:
        ray = _Ray()
    else:
        ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False)
    try:
        assert saved(gentle.sweep(GRID, executor=executors.Ray(ray)), tmp_path) == expected
    finally:
        if hasattr(ray, "shutdown"):
            ray.shutdown()


class _Ray:
    """The part of Ray's interface that the adapter uses, over threads; the first task is lost with its worker."""

    class exceptions:  # noqa: N801
        class RayError(Exception):
            pass

        class RayTaskError(RayError):
            pass

    def __init__(self) -> None:
        self.pool = ThreadPoolExecutor(2)
        self.lost = 1

    def cluster_resources(self) -> dict[str, float]:
        return {"CPU": 2.0}

    def put(self, value: Any) -> Any:
        return value

    def remote(self, *, max_retries: int) -> Any:
        pool = self.pool
        assert max_retries == 0, "deaths of workers are counted by gentle"

        class Remote:
            def __init__(self, function: Any) -> None:
                self.function = function

            def remote(self, *arguments: Any) -> Any:
                return pool.submit(self.function, *arguments)

        return Remote

    def wait(self, futures: list[Any], *, num_returns: int, timeout: float) -> tuple[list[Any], list[Any]]:
        from concurrent.futures import FIRST_COMPLETED, wait

        done, rest = wait(futures, timeout, FIRST_COMPLETED)
        return list(done)[:num_returns], list(rest)

    def get(self, future: Any) -> Any:
        if self.lost:
            self.lost -= 1
            raise self.exceptions.RayError("the worker died")
        return future.result()
