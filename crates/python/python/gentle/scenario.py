"""Scenarios: links, hosts and traffic, as a dictionary with the keys of a scenario file."""

from __future__ import annotations

import csv
import io
import json
import tomllib
import warnings
from collections.abc import Iterable, Iterator, Mapping, MutableMapping, MutableSequence, Sequence
from copy import deepcopy
from os import PathLike
from pathlib import Path
from typing import Any, Self

from gentle import _core

CURRENT_HOSTS = "linux-7.2"
"""Profile of the hosts in built-in scenarios, as in ``gentle compare``."""


class Section(MutableMapping[str, Any]):
    """A table of a scenario. Keys are also attributes: ``scenario.link.down.rate``."""

    __slots__ = ("_data", "_defaults")

    def __init__(self, data: dict[str, Any], defaults: Mapping[str, Any] | None = None) -> None:
        object.__setattr__(self, "_data", data)
        object.__setattr__(self, "_defaults", defaults or {})

    def __getitem__(self, key: str) -> Any:
        return _wrapped(self._data[key])

    def __setitem__(self, key: str, value: Any) -> None:
        self._data[key] = _plain(value)

    def __delitem__(self, key: str) -> None:
        del self._data[key]

    def __iter__(self) -> Iterator[str]:
        return iter(self._data)

    def __len__(self) -> int:
        return len(self._data)

    def __getattr__(self, key: str) -> Any:
        if key.startswith("_"):  # not a key of a scenario; looked up before there is data
            raise AttributeError(key)
        if key in self._data:
            return self[key]
        if key in self._defaults:
            return deepcopy(self._defaults[key])
        raise AttributeError(f"no key '{key}'; there are: {', '.join(dir(self)) or 'none'}")

    def __setattr__(self, key: str, value: Any) -> None:
        self[key] = value

    def __delattr__(self, key: str) -> None:
        if key not in self._data:
            raise AttributeError(f"no key '{key}'; there are: {', '.join(self._data) or 'none'}")
        del self[key]

    def __reduce__(self) -> tuple[Any, ...]:
        return (Section, (deepcopy(self._data), self._defaults))

    def __dir__(self) -> list[str]:
        return sorted({*self._data, *self._defaults})

    def __repr__(self) -> str:
        return repr(self._data)


class Items(MutableSequence[Any]):
    """A list of tables of a scenario; changes apply to the scenario."""

    __slots__ = ("_data",)

    def __init__(self, data: list[Any]) -> None:
        self._data = data

    def __getitem__(self, index: Any) -> Any:
        return _wrapped(self._data[index])

    def __setitem__(self, index: Any, value: Any) -> None:
        self._data[index] = _plain(value) if not isinstance(index, slice) else [_plain(item) for item in value]

    def __delitem__(self, index: Any) -> None:
        del self._data[index]

    def __len__(self) -> int:
        return len(self._data)

    def insert(self, index: int, value: Any) -> None:
        """Insert a value before an index."""
        self._data.insert(index, _plain(value))

    def __add__(self, other: Iterable[Any]) -> Items:
        return Items([*_plain(self), *(_plain(item) for item in other)])

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Items | list) and self._data == _plain(other)

    __hash__ = None  # type: ignore[assignment]

    def __reduce__(self) -> tuple[Any, ...]:
        return (Items, (deepcopy(self._data),))

    def __repr__(self) -> str:
        return repr(self._data)


def _known() -> str:
    return ", ".join(_core.builtin_names())


def _wrapped(value: Any) -> Any:
    match value:
        case dict():
            return Section(value)
        case list() if all(isinstance(item, dict) for item in value):
            return Items(value)
        case _:
            return value


def _plain(value: Any) -> Any:
    match value:
        case Section() | Items():
            return deepcopy(value._data)
        case Mapping():
            return {key: _plain(item) for key, item in value.items()}
        case list() | tuple():
            return [_plain(item) for item in value]
        case _:
            return value


class Scenario(Section):
    """A scenario that can be read, changed and compared.

    It is made from the name of a built-in scenario, a scenario file, or a mapping with the keys of a scenario file
    (``docs/reference/scenarios.md``). Every key is an attribute. Unset knobs of the hosts' TCP have the profile's
    values.

    >>> scenario = Scenario("real")
    >>> scenario.link.down.rate
    '2.4mbit'
    >>> scenario.hosts.initial_rto
    '3s'
    >>> scenario.link.down.rate = "10mbit"
    >>> scenario.hosts.profile = "linux-7.2"
    >>> scenario.hosts.initial_rto
    '1s'
    >>> scenario.check().name
    'real'

    A mistake raises `gentle.InvalidInput` with the error message of the command:

    >>> scenario.link.down.rate = "ten"
    >>> scenario.check()
    Traceback (most recent call last):
    gentle.InvalidInput: real: link.down.rate: 'ten' does not begin with a number; expected a rate such as \
2.4mbit, 400kbit or 1gbit
    """

    __slots__ = ("_folder", "_name")

    def __init__(self, source: str | PathLike[str] | Mapping[str, Any], name: str | None = None) -> None:
        folder: Path | None = None
        match source:
            case Mapping():
                data = _plain(deepcopy(dict(source)))
                name = name or "scenario"
            case str() if source in _core.builtin_names():
                data = tomllib.loads(_core.builtin_toml(source))
                name = name or source
            case _:
                path = Path(source)
                try:
                    text = path.read_text(encoding="utf-8")
                except OSError as error:
                    known = "" if path.suffix == ".toml" else f"; expected a scenario file, or one of {_known()}"
                    raise _core.InvalidInput(f"{path}: cannot be read: {error.strerror}{known}") from error
                # Parsed for errors that name lines of the file.
                _core.Scenario.from_toml(str(path), text, path.parent)
                data = tomllib.loads(text)
                name = name or path.stem
                folder = path.parent
        super().__init__(data)
        object.__setattr__(self, "_name", name)
        object.__setattr__(self, "_folder", folder)

    @classmethod
    def from_toml(cls, text: str, name: str = "scenario") -> Self:
        """Make a scenario from the text of a scenario file."""
        _core.Scenario.from_toml(name, text)
        return cls(tomllib.loads(text), name)

    @property
    def hosts(self) -> Section:
        """TCP of the end hosts: ``profile``, and any knob of ``gentle profiles``."""
        hosts = self._data.setdefault("hosts", {})
        profile = hosts.get("profile", CURRENT_HOSTS)
        found = (known["knobs"] for known in _core.profiles() if known["name"] == profile)
        return Section(hosts, next(found, {}))

    @hosts.setter
    def hosts(self, value: Mapping[str, Any]) -> None:
        self._data["hosts"] = _plain(value)

    def copy(self) -> Scenario:
        """Return an independent copy."""
        copied = Scenario(self._data, self._name)
        object.__setattr__(copied, "_folder", self._folder)
        return copied

    def to_dict(self) -> dict[str, Any]:
        """Return the keys of the scenario file as plain dictionaries and lists."""
        return deepcopy(self._data)

    def check(self) -> _core.Scenario:
        """Return the valid scenario, or raise `gentle.InvalidInput`."""
        return _core.Scenario.from_json(self._name, json.dumps(self._data), self._folder)

    def __setattr__(self, key: str, value: Any) -> None:
        if isinstance(getattr(type(self), key, None), property):
            object.__setattr__(self, key, value)
        else:
            super().__setattr__(key, value)

    def __repr__(self) -> str:
        return f"Scenario({self._data!r}, name={self._name!r})"

    def __reduce__(self) -> tuple[Any, ...]:
        return (_restored, (self._data, self._name, self._folder))


def _restored(data: dict[str, Any], name: str, folder: Path | None) -> Scenario:
    scenario = Scenario(data, name)
    object.__setattr__(scenario, "_folder", folder)
    return scenario


FLOW_COLUMNS = ("start_s", "bytes", "rtt_s", "direction", "initiator")


def from_flows(flows: Any, name: str = "flows") -> _core.Scenario:
    """Return the scenario that replays a table of flows: a DataFrame, an Arrow table, or a mapping of lists.

    Columns are as in a flow list (``docs/reference/scenarios.md``): ``start_s`` and ``bytes``, and optionally
    ``rtt_s``, ``direction`` and ``initiator``.
    """
    columns = table_columns(flows)
    if missing := [key for key in ("start_s", "bytes") if key not in columns]:
        raise _core.InvalidInput(f"{name}: no column {' and '.join(missing)}; expected start_s and bytes")
    names = [key for key in FLOW_COLUMNS if key in columns] + [key for key in columns if key not in FLOW_COLUMNS]
    for key in names:
        if isinstance(columns[key], str | bytes) or not hasattr(columns[key], "__len__"):
            raise _core.InvalidInput(f"{name}: {key}: {columns[key]!r} is not a column; expected a list")
    lengths = {key: len(columns[key]) for key in names}
    if len(set(lengths.values())) > 1:
        raise _core.InvalidInput(f"{name}: expected columns of the same length, not {lengths}")
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n", quoting=csv.QUOTE_NONNUMERIC)
    writer.writerow(map(str, names))
    writer.writerows(zip(*(_cells(name, key, columns[key]) for key in names), strict=True))
    return _core.Scenario.from_flows(name, text.getvalue(), is_table=True)


def _cells(name: str, key: str, values: Sequence[Any]) -> list[Any]:
    """Return the values of a column in the form of a flow list."""
    cells = ["" if _is_missing(value) else value for value in values]
    for row, cell in enumerate(cells):
        if hasattr(cell, "isoformat") or hasattr(cell, "total_seconds"):
            raise _core.InvalidInput(
                f"{name}: row {row}: {key}: {cell} is not a number of seconds; subtract the first start and take the "
                "seconds: (start - start.min()) / timedelta(seconds=1)"
            )
    if key != "bytes":
        return cells
    # Columns with gaps have floats.
    return [int(cell) if hasattr(cell, "is_integer") and cell.is_integer() else cell for cell in cells]


def table_columns(table: Any) -> Mapping[str, Sequence[Any]]:
    """Return the columns of a DataFrame, an Arrow table or a mapping of lists."""
    if isinstance(table, Mapping):
        return table
    try:
        if hasattr(table, "__arrow_c_stream__") and not hasattr(table, "to_dict"):
            import pyarrow

            table = pyarrow.table(table)
        if hasattr(table, "to_pydict"):  # pyarrow
            return dict(table.to_pydict())
        if hasattr(table, "to_dicts"):  # Polars
            return dict(table.to_dict(as_series=False))
        if hasattr(table, "to_dict"):  # pandas
            return dict(table.to_dict("list"))
    except TypeError:  # a Series has methods of these names too
        pass
    kind = type(table).__name__
    raise _core.InvalidInput(f"{kind} is not a table; expected a DataFrame, an Arrow table or a mapping of lists")


def _is_missing(cell: Any) -> bool:
    try:
        return cell is None or bool(cell != cell)  # a NaN differs from itself
    except TypeError:  # pandas.NA compares as itself
        return True


def _fraction(load: str) -> float:
    try:
        return float(load.removesuffix("%")) / 100.0 if load.endswith("%") else float(load)
    except ValueError:
        raise _core.InvalidInput(
            f"load: invalid value {load!r}: expected a fraction of the rate, such as 0.9 or 90%"
        ) from None


def resolved(traffic: Any, **changes: Any) -> _core.Scenario:
    """Return the valid scenario of ``traffic``, with the changes that are not ``None``."""
    builtin = isinstance(traffic, str) and traffic in _core.builtin_names()
    match traffic:
        case _core.Scenario():
            scenario = traffic
        case Scenario():
            scenario = traffic.check()
        case str() | PathLike() if Path(traffic).suffix.lower() == ".csv":
            path = Path(traffic)
            try:
                scenario = _core.Scenario.from_flows(str(path), path.read_text(encoding="utf-8"))
            except OSError as error:
                raise _core.InvalidInput(f"{path}: cannot be read: {error.strerror}") from error
            builtin = True
        case str() | PathLike():
            scenario = Scenario(traffic).check()
        case Mapping() if "start_s" not in traffic:
            scenario = Scenario(traffic).check()
        case _:
            scenario = from_flows(traffic)
            builtin = True
    if builtin and changes.get("profile") is None:
        changes["profile"] = CURRENT_HOSTS
    if isinstance(changes.get("load"), str):
        changes["load"] = _fraction(changes["load"])
    if changes.get("tcp") is not None:
        changes["tcp"] = {knob: str(value) for knob, value in changes["tcp"].items()}
    given = {key: value for key, value in changes.items() if value is not None}
    changed = scenario.changed(**given) if given else scenario
    for text in changed.warnings:
        warnings.warn(text, stacklevel=3)
    return changed
