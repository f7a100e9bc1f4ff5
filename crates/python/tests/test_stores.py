"""Stores: what is damaged is found, what is misspelt makes nothing, and errors name the file."""

from __future__ import annotations

import os
import random
import threading
from pathlib import Path
from typing import Any, ClassVar

import fsspec
import gentle
import pytest
from fsspec.implementations.memory import MemoryFileSystem
from gentle.store import Folder, Remote

GRID: dict[str, Any] = {"traffic": "short", "schemes": ["codel"], "seeds": 2, "axes": {"duration": "3s", "load": [0.5]}}


def test_a_flipped_bit_never_changes_a_result(tmp_path: Path) -> None:
    """Whatever bit of a file is another, the error names the file; also if the end is missing."""
    gentle.sweep(GRID, store=tmp_path)
    (path,) = (tmp_path / "runs").iterdir()
    content = path.read_bytes()
    chosen = random.Random(7)
    damages = [bytearray(content[:size]) for size in chosen.sample(range(len(content)), 20)]
    for bit in chosen.sample(range(8 * len(content)), 100):
        damages.append(bytearray(content))
        damages[-1][bit // 8] ^= 1 << bit % 8
    for damaged in damages:
        path.write_bytes(damaged)
        with pytest.raises(gentle.Error, match=rf"{path}: .*remove it, and its runs are made again"):
            gentle.sweep(GRID, store=tmp_path)


def test_a_file_that_is_replaced_before_the_table_is_read(tmp_path: Path) -> None:
    """The table is read later than the store: it belongs to the sweep, or reading is an error."""
    result = gentle.sweep(GRID, store=tmp_path)
    gentle.sweep({**GRID, "seeds": [8, 9]}, store=tmp_path / "other")
    (path,) = (tmp_path / "runs").iterdir()
    (other,) = (tmp_path / "other" / "runs").iterdir()
    path.write_bytes(other.read_bytes())
    with pytest.raises(gentle.Error, match=rf"{path}: it was replaced"):
        _ = result.table


class Objects(MemoryFileSystem):
    """An object store in which making a folder makes a bucket, which is a mistake."""

    protocol = "s3"
    store: ClassVar[dict[str, Any]] = {}
    pseudo_dirs: ClassVar[list[str]] = [""]
    asked: ClassVar[list[str]] = []
    fetched: ClassVar[list[int]] = []

    @classmethod
    def _strip_protocol(cls, path: str) -> str:
        return MemoryFileSystem._strip_protocol(path.replace("s3://", "memory://"))

    def mkdir(self, path: str, create_parents: bool = True, **rest: Any) -> None:
        raise AssertionError(f"CreateBucket {path}")

    makedirs = mkdir

    def find(self, path: str, *args: Any, **rest: Any) -> Any:
        self._check(path)
        return super().find(path, *args, **rest)

    def cat(self, path: Any, *args: Any, **rest: Any) -> Any:
        Objects.fetched.append(len(path))
        return super().cat(path, *args, **rest)

    def pipe_file(self, path: str, value: bytes, **rest: Any) -> None:
        self._check(path)
        super().pipe_file(path, value, **rest)

    @staticmethod
    def _check(path: str) -> None:
        Objects.asked.append(path)
        if not path.startswith("/bucket/"):
            raise FileNotFoundError("The specified bucket does not exist")


def test_a_misspelt_bucket_is_an_error_and_makes_none(monkeypatch, tmp_path: Path) -> None:
    fsspec.register_implementation("s3", Objects, clobber=True)
    try:
        with pytest.raises(gentle.Error, match=r"s3://bukcet/sweep/runs/: The specified bucket does not exist"):
            gentle.sweep(GRID, store="s3://bukcet/sweep")
        assert len(gentle.sweep(GRID, store="s3://bucket/sweep")) == 2
        more = {**GRID, "seeds": 5}
        assert len(gentle.sweep(more, store="s3://bucket/sweep")) == 5
        # Files of the store are fetched at the same time.
        Objects.fetched.clear()
        assert len(gentle.sweep(more, store="s3://bucket/sweep")) == 5
        assert Objects.fetched == [2]
        # Nothing outside of the prefix is asked for: a role may have rights for it alone.
        assert all(path.startswith(("/bucket/sweep/", "/bukcet/sweep/")) for path in Objects.asked)
    finally:
        fsspec.register_implementation("s3", "s3fs.S3FileSystem", clobber=True)


def test_workers_write_into_an_object_store(monkeypatch, tmp_path: Path) -> None:
    """Threads write results themselves, so that the client does not write one after the other."""
    fsspec.register_implementation("s3", Objects, clobber=True)
    writers: set[str] = set()

    class Watched(Remote):
        def put(self, name: str, content: bytes) -> None:
            writers.add(threading.current_thread().name)
            super().put(name, content)

    monkeypatch.setattr("gentle.store.Remote", Watched)
    try:
        grid = {**GRID, "connections": True}
        made = gentle.sweep(grid, executor=2, store="s3://bucket/written")
        assert writers
        assert all(name.startswith("gentle") for name in writers)
        made.save(tmp_path / "made.parquet")
        gentle.sweep(GRID, store=tmp_path / "local").save(tmp_path / "local.parquet")
        assert (tmp_path / "made.parquet").read_bytes() == (tmp_path / "local.parquet").read_bytes()
        details = Remote("s3://bucket/written", below="connections")
        assert details.names() == Remote("s3://bucket/written").names()
        assert len(gentle.sweep(grid, store="s3://bucket/written")) == 2
    finally:
        fsspec.register_implementation("s3", "s3fs.S3FileSystem", clobber=True)


def test_a_tilde_is_the_home_folder(monkeypatch, tmp_path: Path) -> None:
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.chdir(tmp_path)
    gentle.sweep(GRID, store="~/results")
    assert list((tmp_path / "home/results/runs").iterdir())
    assert not Path("~").exists()


@pytest.mark.parametrize(
    ("store", "sentence"),
    [
        (3, "store: 3 is not a store; expected a directory"),
        ([], "store: .* is not a store"),
        (b"x", "store: b'x' is not a store"),
        ("", "store: '' is not a store"),
        ("/dev/null", "store: /dev/null: Not a directory"),
        ("bad://x", "store: bad://x: Protocol not known"),
    ],
)
def test_what_is_no_store_is_an_error_with_a_sentence(store: Any, sentence: str) -> None:
    with pytest.raises(gentle.Error, match=sentence):
        gentle.sweep(GRID, store=store)


def test_a_store_that_cannot_be_written_names_the_file(tmp_path: Path, monkeypatch) -> None:
    def full(*_: Any) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(gentle.Error, match=rf"{tmp_path}/runs/[0-9a-f]+\.parquet: No space left on device"):
        gentle.sweep(GRID, store=tmp_path)
    assert not list((tmp_path / "runs").iterdir())
    for store in (Folder(tmp_path), Remote(f"file://{tmp_path}")):
        with pytest.raises(gentle.Error, match=r"x\.parquet: No such file"):
            store.get("x.parquet")


SCHEMES = ["pfifo limit=50", "spa"]
"""Schemes of comparisons with a store."""


def compared(seeds: int, store: Any = None) -> str:
    """Return the JSON of a comparison of a few seconds."""
    return gentle.compare("short", SCHEMES, duration="3s", seeds=seeds, store=store).to_json()


def test_a_comparison_goes_on_where_it_was(tmp_path: Path) -> None:
    """Stored runs are reused, from any process, and leave no trace in the results."""
    assert compared(1, tmp_path) == compared(1)
    kept = {path: path.stat().st_mtime_ns for path in (tmp_path / "records").iterdir()}
    assert sorted(path.name.split("-seed-")[0] for path in kept) == ["pfifo-limit-50", "spa"]
    assert compared(3, tmp_path) == compared(3)
    assert len(list((tmp_path / "records").iterdir())) == 6
    assert all(path.stat().st_mtime_ns == made for path, made in kept.items())


def test_a_comparison_in_a_remote_store() -> None:
    """Records are objects, and an object that cannot be read is made again."""
    url = "memory://comparisons"
    assert compared(2, url) == compared(2)
    files = Remote(url, below="records", ending=".json")
    names = files.names()
    assert len(names) == 4
    whole = files.get(names[0])
    files.put(names[0], whole[:-9])
    assert compared(2, url) == compared(2)
    assert files.get(names[0]) == whole


def test_a_queue_in_python_is_not_kept(tmp_path: Path) -> None:
    """Its code is not part of a run's identity."""

    class Fifo:
        def __init__(self) -> None:
            self.packets: list[Any] = []

        def enqueue(self, packet: Any, now: float) -> None:
            self.packets.append(packet)

        def dequeue(self, now: float) -> Any:
            return self.packets.pop(0) if self.packets else None

    with pytest.raises(gentle.InvalidInput, match="store: 'Fifo' is a queue in Python"):
        gentle.compare("short", ["spa", Fifo], duration="3s", seeds=1, store=tmp_path)


def test_papers_share_their_runs(tmp_path: Path) -> None:
    """A reproduction finds its runs again."""
    first = gentle.reproduce("open", "initial-window", quick=True, store=tmp_path)
    kept = {path: path.stat().st_mtime_ns for path in (tmp_path / "records").iterdir()}
    assert kept
    again = gentle.reproduce("open", "initial-window", quick=True, store=tmp_path)
    assert again.to_json() == first.to_json()
    assert {path: path.stat().st_mtime_ns for path in (tmp_path / "records").iterdir()} == kept
