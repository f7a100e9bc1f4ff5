"""Stores of runs: a directory, or any URL that fsspec opens."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from os import PathLike
from pathlib import Path
from typing import Any, Protocol

from gentle import _core


class Store(Protocol):
    """A set of files, each written atomically and never changed."""

    def names(self) -> list[str]:
        """Return the names of all files, sorted."""

    def get(self, name: str) -> bytes:
        """Return the content of a file."""

    def put(self, name: str, content: bytes) -> None:
        """Write a file atomically."""


@contextmanager
def naming(place: str) -> Iterator[None]:
    """Raise errors with a file as a `gentle.Error` that names the file."""
    try:
        yield
    except _core.Error:
        raise
    except Exception as error:
        problem = (error.strerror if isinstance(error, OSError) else None) or str(error) or type(error).__name__
        # fsspec's exception has only the path.
        problem = "No such file or directory" if problem in place else problem
        raise _core.Error(f"{place}: {problem}") from error


def save(path: str | PathLike[str], content: bytes) -> None:
    """Write a file atomically."""
    path = Path(path)
    part = path.with_name(f".{path.name}.part")
    with naming(str(path)):
        try:
            part.write_bytes(content)
            part.replace(path)
        finally:
            part.unlink(missing_ok=True)


class Folder:
    """The files with an extension in a directory: ``DIR/runs/*.parquet``, as for ``gentle sweep --store DIR``."""

    def __init__(self, directory: str | PathLike[str], below: str = "runs", ending: str = ".parquet") -> None:
        self.ending = ending
        with naming(f"store: {directory}"):
            self.folder = Path(directory).expanduser() / below
            self.folder.mkdir(parents=True, exist_ok=True)

    @property
    def place(self) -> str:
        """Prefix of the names of files in messages."""
        return f"{self.folder}/"

    def names(self) -> list[str]:
        """Return the names of all files, sorted."""
        with naming(str(self.folder)):
            paths = list(self.folder.rglob(f"*{self.ending}"))
        return sorted(path.relative_to(self.folder).as_posix() for path in paths if not path.name.startswith("."))

    def get(self, name: str) -> bytes:
        """Return the content of a file."""
        path = self.folder / name
        with naming(str(path)):
            return path.read_bytes()

    def put(self, name: str, content: bytes) -> None:
        """Write a file atomically: under another name, synchronised to disk, then renamed."""
        target = self.folder / name
        with naming(str(target)):
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
"""Protocols of object stores, where files appear only when complete."""


class Remote:
    """The files with an extension at a URL that fsspec opens: ``s3://bucket/sweep``."""

    def __init__(
        self, url: str, options: dict[str, Any] | None = None, below: str = "runs", ending: str = ".parquet"
    ) -> None:
        try:
            import fsspec  # type: ignore[import-untyped]
        except ImportError as error:
            message = f"{url}: a store that is not a directory needs fsspec; pip install fsspec"
            raise _core.InvalidInput(message) from error
        self.place = f"{url.rstrip('/')}/{below}".rstrip("/") + "/"
        self.ending = ending
        with naming(f"store: {url}"):
            self.files, root = fsspec.url_to_fs(url, **(options or {}))
            self.folder = f"{root.rstrip('/')}/{below}".rstrip("/")
            protocols = self.files.protocol
            self.is_of_objects = bool(OBJECTS & ({protocols} if isinstance(protocols, str) else set(protocols)))
            # Object stores have no directories: creating one would create the bucket.
            if not self.is_of_objects:
                self.files.makedirs(self.folder, exist_ok=True)

    def names(self) -> list[str]:
        """Return the names of all files, sorted."""
        with naming(self.place):
            self.files.invalidate_cache(self.folder)
            paths = self._found()
        names = (path[len(self.folder) + 1 :] for path in paths)
        return sorted(name for name in names if name.endswith(self.ending) and not name.split("/")[-1].startswith("."))

    def _found(self) -> list[str]:
        """Return the paths of all files. A missing bucket is an error; a missing folder is not."""
        try:
            return list(self.files.find(self.folder))
        except FileNotFoundError as error:
            if "bucket" in str(error).lower():
                raise
            return []

    def get(self, name: str) -> bytes:
        """Return the content of a file."""
        with naming(self.place + name):
            return bytes(self.files.cat_file(f"{self.folder}/{name}"))

    def put(self, name: str, content: bytes) -> None:
        """Write a file atomically: object stores do so; elsewhere it is written under another name first."""
        target = f"{self.folder}/{name}"
        with naming(self.place + name):
            if self.is_of_objects:
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
    """Return the store named ``store``; for ``None``, one that lives as long as its results."""
    match store:
        case None:
            return Temporary(below, ending)
        case str() if "://" in store:
            return Remote(store, below=below, ending=ending)
        case str() | PathLike() if isinstance(os.fspath(store), str) and os.fspath(store):
            return Folder(store, below, ending)
        case _ if all(callable(getattr(store, name, None)) for name in ("names", "get", "put")):
            return store  # type: ignore[return-value]
        case _:
            raise _core.InvalidInput(
                f"store: {store!r} is not a store; expected a directory, a URL such as s3://bucket/sweep, or an object "
                "with the methods of gentle.store.Store"
            )


def records(store: str | PathLike[str] | Store | None) -> Store | None:
    """Return the store of the records of runs named ``store``; ``None`` if runs are not stored."""
    return None if store is None else opened(store, "records", ".json")


AT_A_TIME = 64
"""Number of files fetched at a time from a remote store: each answer takes tens of milliseconds."""


def contents(store: Store, names: Sequence[str]) -> Iterator[tuple[str, bytes]]:
    """Yield the names and contents of files; a remote store is read many files at a time."""
    if not isinstance(store, Remote):
        yield from ((name, store.get(name)) for name in names)
        return
    for start in range(0, len(names), AT_A_TIME):
        paths = {f"{store.folder}/{name}": name for name in names[start : start + AT_A_TIME]}
        with naming(store.place):
            found = store.files.cat(list(paths))
        yield from ((name, bytes(found[path])) for path, name in paths.items())


def place(store: Store) -> str:
    """Return the prefix of the names of files in messages."""
    return str(getattr(store, "place", ""))
