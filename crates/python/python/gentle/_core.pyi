"""Types of the compiled module."""

from collections.abc import Callable, Mapping, Sequence, Set
from os import PathLike
from typing import Any

from gentle.store import Store
from gentle.testbed import Machines

__version__: str

class Error(Exception):
    """A failure, such as a damaged capture; `InvalidInput` is a subclass."""

class InvalidInput(Error, ValueError):  # noqa: N818
    """An invalid argument, scheme or scenario."""

class Table:
    """A table of results, which Polars, pandas, DuckDB and pyarrow read without a copy (Arrow PyCapsule interface).

    ``polars.DataFrame(table)``, ``pyarrow.table(table)``.
    """

    @staticmethod
    def from_pydict(columns: Mapping[str, Sequence[object]]) -> Table:
        """Make a table from lists by name."""
    @staticmethod
    def from_columns(columns: Sequence[tuple[str, str, Sequence[object]]]) -> Table:
        """Make a table from the result of `columns`."""
    def columns(self) -> list[tuple[str, str, list[Any]]]:
        """Return name, Arrow type and values of each column; times are nanoseconds since 1970."""
    @property
    def column_names(self) -> list[str]:
        """Names of the columns."""
    @property
    def shape(self) -> tuple[int, int]:
        """Number of rows and columns."""
    def __len__(self) -> int: ...
    def __arrow_c_schema__(self) -> object: ...
    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object: ...

class Scenario:
    @staticmethod
    def from_toml(file: str, text: str, folder: PathLike[str] | None = None) -> Scenario: ...
    @staticmethod
    def from_json(file: str, json: str, folder: PathLike[str] | None = None) -> Scenario: ...
    @staticmethod
    def from_flows(file: str, csv: str, is_table: bool = False) -> Scenario: ...
    @staticmethod
    def from_captures(
        captures: str, flows: Sequence[tuple[Any, ...]], assumptions: Sequence[str], warnings: Sequence[str]
    ) -> Scenario: ...
    def changed(
        self,
        *,
        rate: str | None = None,
        up_rate: str | None = None,
        load: float | None = None,
        duration: str | None = None,
        profile: str | None = None,
        tcp: Mapping[str, str] | None = None,
    ) -> Scenario: ...
    @property
    def name(self) -> str: ...
    @property
    def warnings(self) -> list[str]: ...
    @property
    def assumptions(self) -> list[str]: ...
    @property
    def schemes(self) -> list[str]: ...
    @property
    def parts(self) -> list[str]: ...

class CustomQueue:
    def __init__(self, name: str, make: Callable[[int], object], origin: str) -> None: ...

class Packet:
    """A packet in a queue, with its header fields. Any further attribute can be set."""

    @property
    def length(self) -> int:
        """Length on the link, bytes."""
    @property
    def ip_length(self) -> int:
        """Length of the IP packet, bytes."""
    @property
    def payload(self) -> int:
        """TCP payload, bytes; for a datagram its length."""
    @property
    def flow(self) -> int:
        """Number of the flow: of one direction of a connection, or of a sender of datagrams."""
    @property
    def source(self) -> int:
        """Number of the sending host."""
    @property
    def destination(self) -> int:
        """Number of the receiving host."""
    @property
    def syn(self) -> bool:
        """Whether it is a SYN or SYN/ACK."""
    @property
    def fin(self) -> bool:
        """Whether it has the FIN flag."""
    @property
    def ack(self) -> bool:
        """Whether it has the ACK flag."""
    @property
    def udp(self) -> bool:
        """Whether it is a UDP datagram."""
    @property
    def sequence(self) -> int:
        """TCP sequence number."""
    @property
    def dscp(self) -> int:
        """Differentiated services codepoint."""
    @property
    def ecn(self) -> str:
        """ECN field: ``"not-ect"``, ``"ect0"``, ``"ect1"`` or ``"ce"``."""
    @property
    def arrived(self) -> float:
        """Time at which it arrived at the queue, seconds."""
    def mark(self) -> bool:
        """Mark it with ECN's congestion experienced; false, and no mark, if its hosts do not use ECN."""
    def drop(self, reason: str = "tail") -> None:
        """Drop it, on arrival or later.

        ``reason`` is one of the reasons in results: ``"tail"``, ``"early"``, ``"aqm"``, ``"push-out"``,
        ``"overlimit"``, ``"ack-filter"``.
        """
    def __setattr__(self, name: str, value: Any) -> None: ...
    def __getattr__(self, name: str) -> Any: ...

class Comparison:
    @staticmethod
    def from_json(json: str) -> Comparison: ...
    def json(self) -> str: ...
    def runs(self) -> Table: ...
    def applications(self) -> Table: ...
    def harm(self) -> Table: ...
    def text(self, width: int | None = None) -> str: ...
    def html(self) -> str: ...

class Analysis:
    @staticmethod
    def from_json(json: str) -> Analysis: ...
    def json(self) -> str: ...
    def connections(self) -> Table: ...
    def text(self, full: bool = False, width: int | None = None) -> str: ...
    def html(self) -> str: ...

def builtin_toml(name: str) -> str: ...
def builtin_names() -> list[str]: ...
def compare(
    scenario: Scenario,
    schemes: Sequence[str | CustomQueue],
    seeds: Sequence[int],
    bins: Sequence[int],
    reference: str | None = None,
    harm: bool = False,
    threads: int | None = None,
    store: Store | None = None,
    progress: Callable[[float], object] | None = None,
) -> Comparison: ...
def missing_runs(
    scenario: Scenario,
    schemes: Sequence[str | CustomQueue],
    seeds: Sequence[int],
    bins: Sequence[int],
    harm: bool = False,
    store: Store | None = None,
    machines: Machines | None = None,
) -> list[bytes]: ...
def make_run(
    task: bytes,
    scenario: Scenario,
    bins: Sequence[int],
    stop: Stop | None = None,
    machines: Machines | None = None,
) -> tuple[str, bytes]: ...
def testbed_build(
    source: PathLike[str] | None = None, progress: Callable[[float], object] | None = None
) -> tuple[str, str]: ...
def testbed_compare(
    scenario: Scenario,
    schemes: Sequence[str | CustomQueue],
    seeds: Sequence[int],
    bins: Sequence[int],
    reference: str | None,
    harm: bool,
    threads: int | None,
    machines: Machines,
    keep: PathLike[str] | None,
    store: Store | None = None,
    progress: Callable[[float], object] | None = None,
) -> Comparison: ...
def testbed_guest(arguments: Sequence[str]) -> bool: ...
def analyze(
    paths: Sequence[PathLike[str] | str],
    *,
    connections: bool = True,
    local: Sequence[str] | None = None,
    interfaces: Sequence[str] | None = None,
    rate: str | None = None,
    inner: bool = False,
    strict: bool = False,
    memory_limit: int | None = None,
    progress: Callable[[float], object] | None = None,
) -> Analysis: ...
def replay(
    paths: Sequence[PathLike[str] | str],
    *,
    local: Sequence[str] | None = None,
    interfaces: Sequence[str] | None = None,
    inner: bool = False,
    strict: bool = False,
    progress: Callable[[float], object] | None = None,
) -> Scenario: ...
def predict(
    rtt: float,
    loss: float,
    syn_loss: float | None,
    rto: Sequence[float],
    segments: Sequence[int],
    backoff: str,
    initial_window: float,
    segments_per_ack: float,
) -> str: ...
def prediction_text(json: str, width: int | None = None) -> str: ...
def reproduce(
    paper: str,
    items: Sequence[str],
    *,
    quick: bool = False,
    store: Store | None = None,
    progress: Callable[[float], object] | None = None,
) -> str: ...
def papers() -> list[str]: ...
def schemes() -> list[dict[str, Any]]:
    """Queue schemes: ``name``, ``summary``, ``source`` and ``options`` of each."""

def profiles() -> list[dict[str, Any]]:
    """TCP profiles of end hosts: ``name``, ``summary`` and ``knobs`` of each."""

class RecordSum:
    def __init__(self) -> None: ...
    def add(self, name: str, record: bytes) -> None: ...
    def warning(self) -> str | None: ...
    def finish(self) -> Analysis: ...

def capture_tasks(
    paths: Sequence[PathLike[str] | str],
    *,
    continuing: str = "name",
    connections: bool = False,
    local: Sequence[str] | None = None,
    interfaces: Sequence[str] | None = None,
    rate: str | None = None,
    inner: bool = False,
    strict: bool = False,
    memory_limit: int | None = None,
) -> list[bytes]: ...
def record_captures(
    task: bytes, known: Set[str], stop: Stop | None = None
) -> tuple[str, tuple[bytes, bytes] | None]: ...

class Stop:
    def __init__(self) -> None: ...
    def set(self) -> None: ...

class SweepPlan:
    @staticmethod
    def from_toml(
        file: str, text: str, folder: PathLike[str] | None = None, machines: Machines | None = None
    ) -> SweepPlan: ...
    @staticmethod
    def from_json(
        file: str, json: str, folder: PathLike[str] | None = None, machines: Machines | None = None
    ) -> SweepPlan: ...
    def source(self) -> tuple[str, str, PathLike[str], Machines | None, bool]: ...
    @staticmethod
    def restored(
        file: str, text: str, folder: PathLike[str], machines: Machines | None, is_file: bool
    ) -> SweepPlan: ...
    def add(self, name: str, content: bytes) -> int: ...
    def foreign(self) -> int: ...
    def survey(self) -> tuple[int, int, int, float]: ...
    def begin(self, seconds: float, workers: int) -> None: ...
    def next_batch(self) -> tuple[str, bytes, int] | None: ...
    @property
    def points(self) -> int: ...
    @property
    def inputs(self) -> dict[str, str]: ...
    @property
    def axes(self) -> list[str]: ...
    @property
    def connections(self) -> bool: ...
    @property
    def assumptions(self) -> list[str]: ...
    @property
    def warnings(self) -> list[str]: ...
    def table(self, read: Callable[[str], bytes]) -> Table: ...
    def columns(self, read: Callable[[str], bytes], names: Sequence[str]) -> dict[str, list[Any]]: ...
    def export(self, read: Callable[[str], bytes], write: Callable[[bytes], object], csv: bool) -> None: ...

def run_batch(
    batch: bytes,
    inputs: Mapping[str, str] | None = None,
    stop: Stop | None = None,
    machines: Machines | None = None,
) -> tuple[bytes, bytes | None]: ...
def batch_name(batch: bytes) -> str: ...
def split_batch(batch: bytes) -> list[tuple[str, bytes, int]]: ...
def describe_batch(batch: bytes) -> str: ...
def only_best(schemes: Sequence[Sequence[float]], higher: bool) -> int | None: ...
