"""Stores of the results of sweeps: a directory, or any URL that fsspec opens."""

from __future__ import annotations

import os
import tempfile
from os import PathLike
from pathlib import Path
from typing import Any, Protocol

from gentle import _core


class Store(Protocol):
    """A set of files, each written whole and never changed."""

    def names(self) -> list[str]:
        """Return the names of all files, sorted."""

    def get(self, name: str) -> bytes:
        """Return the content of a file."""

    def put(self, name: str, content: bytes) -> None:
        """Write a file whole, or not at all."""


class Folder:
    """A directory: ``DIR/runs/*.parquet``, as ``gentle sweep --store DIR`` has it."""

    def __init__(self, directory: str | PathLike[str]) -> None:
        self.runs = Path(directory) / "runs"
        self.runs.mkdir(parents=True, exist_ok=True)

    def names(self) -> list[str]:
        """Return the names of all files, sorted."""
        return sorted(entry.name for entry in os.scandir(self.runs) if _is_result(entry.name))

    def get(self, name: str) -> bytes:
        """Return the content of a file."""
        return (self.runs / name).read_bytes()

    def put(self, name: str, content: bytes) -> None:
        """Write a file whole: under another name first, on the disk before it gets its own."""
        handle, path = tempfile.mkstemp(prefix=".", suffix=".part", dir=self.runs)
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(content)
                file.flush()
                os.fsync(file.fileno())
            Path(path).replace(self.runs / name)
        except BaseException:
            Path(path).unlink(missing_ok=True)
            raise


OBJECTS = {"abfs", "abfss", "adl", "az", "gcs", "gs", "memory", "oci", "oss", "r2", "s3", "s3a"}
"""Protocols of object stores, whose files appear when they are complete."""


class Remote:
    """A URL that fsspec opens: ``s3://bucket/sweep``."""

    def __init__(self, url: str, options: dict[str, Any] | None = None) -> None:
        try:
            import fsspec  # type: ignore[import-untyped]
        except ImportError as error:
            message = f"{url}: a store that is no directory needs fsspec; pip install fsspec"
            raise _core.InvalidInput(message) from error
        self.files, root = fsspec.url_to_fs(url, **(options or {}))
        self.runs = f"{root.rstrip('/')}/runs"
        self.files.makedirs(self.runs, exist_ok=True)

    def names(self) -> list[str]:
        """Return the names of all files, sorted."""
        self.files.invalidate_cache(self.runs)
        paths = self.files.ls(self.runs, detail=False)
        names = (path.rsplit("/", 1)[-1] for path in paths)
        return sorted(name for name in names if _is_result(name))

    def get(self, name: str) -> bytes:
        """Return the content of a file."""
        return bytes(self.files.cat_file(f"{self.runs}/{name}"))

    def put(self, name: str, content: bytes) -> None:
        """Write a file whole: object stores do so, elsewhere it is written under another name first."""
        protocols = self.files.protocol
        protocols = {protocols} if isinstance(protocols, str) else set(protocols)
        target = f"{self.runs}/{name}"
        if protocols & OBJECTS:
            self.files.pipe_file(target, content)
            return
        part = f"{self.runs}/.{os.urandom(8).hex()}.part"
        self.files.pipe_file(part, content)
        self.files.mv(part, target)


class Temporary(Folder):
    """A directory that is removed with this object."""

    def __init__(self) -> None:
        self._directory = tempfile.TemporaryDirectory(prefix="gentle-sweep-", ignore_cleanup_errors=True)
        super().__init__(self._directory.name)


def opened(store: str | PathLike[str] | Store | None) -> Store:
    """Return the store that ``store`` names; ``None`` is one for as long as its results are used."""
    match store:
        case None:
            return Temporary()
        case str() if "://" in store:
            return Remote(store)
        case str() | PathLike():
            return Folder(store)
        case _:
            return store


def _is_result(name: str) -> bool:
    return name.endswith(".parquet") and not name.startswith(".")
