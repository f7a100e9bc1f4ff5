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
    """The files with an ending in a directory: ``DIR/runs/*.parquet``, as ``gentle sweep --store DIR`` has them."""

    def __init__(self, directory: str | PathLike[str], below: str = "runs", ending: str = ".parquet") -> None:
        self.folder = Path(directory) / below
        self.ending = ending
        self.folder.mkdir(parents=True, exist_ok=True)

    def names(self) -> list[str]:
        """Return the names of all files, sorted."""
        paths = self.folder.rglob(f"*{self.ending}")
        return sorted(path.relative_to(self.folder).as_posix() for path in paths if not path.name.startswith("."))

    def get(self, name: str) -> bytes:
        """Return the content of a file."""
        return (self.folder / name).read_bytes()

    def put(self, name: str, content: bytes) -> None:
        """Write a file whole: under another name first, on the disk before it gets its own."""
        target = self.folder / name
        target.parent.mkdir(parents=True, exist_ok=True)
        handle, path = tempfile.mkstemp(prefix=".", suffix=".part", dir=target.parent)
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(content)
                file.flush()
                os.fsync(file.fileno())
            Path(path).replace(target)
        except BaseException:
            Path(path).unlink(missing_ok=True)
            raise


OBJECTS = {"abfs", "abfss", "adl", "az", "gcs", "gs", "memory", "oci", "oss", "r2", "s3", "s3a"}
"""Protocols of object stores, whose files appear when they are complete."""


class Remote:
    """The files with an ending at a URL that fsspec opens: ``s3://bucket/sweep``."""

    def __init__(
        self, url: str, options: dict[str, Any] | None = None, below: str = "runs", ending: str = ".parquet"
    ) -> None:
        try:
            import fsspec  # type: ignore[import-untyped]
        except ImportError as error:
            message = f"{url}: a store that is no directory needs fsspec; pip install fsspec"
            raise _core.InvalidInput(message) from error
        self.files, root = fsspec.url_to_fs(url, **(options or {}))
        self.folder = f"{root.rstrip('/')}/{below}".rstrip("/")
        self.ending = ending
        self.files.makedirs(self.folder, exist_ok=True)

    def names(self) -> list[str]:
        """Return the names of all files, sorted."""
        self.files.invalidate_cache(self.folder)
        names = (path[len(self.folder) + 1 :] for path in self.files.find(self.folder))
        return sorted(name for name in names if name.endswith(self.ending) and not name.split("/")[-1].startswith("."))

    def get(self, name: str) -> bytes:
        """Return the content of a file."""
        return bytes(self.files.cat_file(f"{self.folder}/{name}"))

    def put(self, name: str, content: bytes) -> None:
        """Write a file whole: object stores do so, elsewhere it is written under another name first."""
        protocols = self.files.protocol
        protocols = {protocols} if isinstance(protocols, str) else set(protocols)
        target = f"{self.folder}/{name}"
        if protocols & OBJECTS:
            self.files.pipe_file(target, content)
            return
        parent = target.rsplit("/", 1)[0]
        self.files.makedirs(parent, exist_ok=True)
        part = f"{parent}/.{os.urandom(8).hex()}.part"
        self.files.pipe_file(part, content)
        self.files.mv(part, target)


class Temporary(Folder):
    """A directory that is removed with this object."""

    def __init__(self, below: str = "runs", ending: str = ".parquet") -> None:
        self._directory = tempfile.TemporaryDirectory(prefix="gentle-", ignore_cleanup_errors=True)
        super().__init__(self._directory.name, below, ending)


def opened(store: str | PathLike[str] | Store | None, below: str = "runs", ending: str = ".parquet") -> Store:
    """Return the store that ``store`` names; ``None`` is one for as long as its results are used."""
    match store:
        case None:
            return Temporary(below, ending)
        case str() if "://" in store:
            return Remote(store, below=below, ending=ending)
        case str() | PathLike():
            return Folder(store, below, ending)
        case _:
            return store
