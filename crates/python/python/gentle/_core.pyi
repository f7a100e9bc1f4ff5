"""Types of the compiled module."""

from collections.abc import Callable, Mapping, Sequence
from os import PathLike

__version__: str

class Error(Exception): ...
class InvalidInput(ValueError): ...

class Table:
    @staticmethod
    def from_pydict(columns: Mapping[str, Sequence[object]]) -> Table: ...
    @property
    def column_names(self) -> list[str]: ...
    @property
    def shape(self) -> tuple[int, int]: ...
    def __len__(self) -> int: ...
    def __arrow_c_schema__(self) -> object: ...
    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object: ...

class Scenario:
    @staticmethod
    def from_toml(file: str, text: str, folder: PathLike[str] | None = None) -> Scenario: ...
    @staticmethod
    def from_json(file: str, json: str, folder: PathLike[str] | None = None) -> Scenario: ...
    @staticmethod
    def from_flows(file: str, csv: str) -> Scenario: ...
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

class Comparison:
    def json(self) -> str: ...
    def runs(self) -> Table: ...
    def text(self, width: int | None = None) -> str: ...
    def html(self) -> str: ...

class Analysis:
    def json(self) -> str: ...
    def connections(self) -> Table: ...
    def text(self, full: bool = False, width: int | None = None) -> str: ...
    def html(self) -> str: ...

def builtin_toml(name: str) -> str: ...
def builtin_names() -> list[str]: ...
def compare(
    scenario: Scenario,
    schemes: Sequence[str],
    seeds: Sequence[int],
    bins: Sequence[int],
    reference: str | None = None,
    threads: int | None = None,
    progress: Callable[[float], object] | None = None,
) -> Comparison: ...
def analyze(
    paths: Sequence[PathLike[str] | str],
    *,
    connections: bool = True,
    local: Sequence[str] | None = None,
    rate: str | None = None,
    inner: bool = False,
    strict: bool = False,
    memory_limit: int | None = None,
    progress: Callable[[float], object] | None = None,
) -> Analysis: ...
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
def reproduce(
    paper: str,
    items: Sequence[str],
    *,
    quick: bool = False,
    progress: Callable[[float], object] | None = None,
) -> str: ...
def papers() -> list[str]: ...
def schemes() -> list[dict[str, object]]:
    """Queue schemes: ``name``, ``summary``, ``source`` and ``options`` of each."""

def profiles() -> list[dict[str, object]]:
    """TCP profiles of end hosts: ``name``, ``summary`` and ``knobs`` of each."""
