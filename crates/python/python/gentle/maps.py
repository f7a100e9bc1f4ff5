"""Grids of results: labelled arrays and heat maps."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from gentle import _core

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from xarray import DataArray, Dataset

MOST_CELLS = 50_000_000
"""Maximum size of a labelled array: a sample over many axes fills few of its cells."""


def dataset(columns: Mapping[str, Sequence[Any]], axes: Sequence[str], metrics: Sequence[str]) -> Dataset:
    """Return metrics over the axes with several values, ``scheme`` and ``seed``; NaN where there is no run."""
    import numpy as np
    import xarray

    # The options of a scheme are in its label.
    varied = [name for name in axes if not name.startswith("scheme.") and len(set(columns[name])) > 1]
    names = [*varied, "scheme", "seed"]
    coordinates = {name: _levels(columns[name], keep=name == "scheme") for name in names}
    shape = tuple(len(levels) for levels in coordinates.values())
    if int(np.prod(shape, dtype=np.float64)) > MOST_CELLS:
        message = (
            f"the array would have {' x '.join(map(str, shape))} cells; expected a grid, not a sample: use the table"
        )
        raise _core.InvalidInput(message)
    places = []
    for name, levels in coordinates.items():
        index = {level: place for place, level in enumerate(levels)}
        places.append(np.fromiter((index[value] for value in columns[name]), dtype=np.intp))
    arrays = {}
    for metric in metrics:
        array = np.full(shape, np.nan)
        array[tuple(places)] = np.array(columns[metric], dtype=float)
        arrays[metric] = (names, array)
    return xarray.Dataset(arrays, coordinates)


def _levels(values: Sequence[Any], *, keep: bool) -> list[Any]:
    found = list(dict.fromkeys(values))
    if keep:
        return found
    return sorted(found, key=lambda value: (isinstance(value, str), "" if value is None else value))


def by_scheme(columns: Mapping[str, Sequence[Any]], metrics: Sequence[str]) -> dict[str, list[float | int | None]]:
    """Return the number of runs and the means of metrics of each scheme."""
    rows: dict[str, list[int]] = {}
    for row, scheme in enumerate(columns["scheme"]):
        rows.setdefault(scheme, []).append(row)
    means: dict[str, list[float | int | None]] = {}
    for scheme, chosen in rows.items():
        values = [[columns[metric][row] for row in chosen if columns[metric][row] is not None] for metric in metrics]
        means[scheme] = [len(chosen), *(sum(list_) / len(list_) if list_ else None for list_ in values)]
    return means


def _axes_of(array: DataArray, x: str | None, y: str | None) -> tuple[str, str]:
    """Return the axes of a map: as requested, else the two with most values."""
    varied = [str(name) for name in array.dims if name not in {"scheme", "seed"}]
    for name in (x, y):
        if name is not None and name not in varied:
            raise _core.InvalidInput(f"no axis '{name}' with several values; expected one of: {', '.join(varied)}")
    others = sorted((name for name in varied if name not in {x, y}), key=lambda name: -array.sizes[name])
    x = x or (others.pop(0) if others else None)
    y = y or (others.pop(0) if others else None)
    if x is None or y is None or x == y:
        raise _core.InvalidInput("a map needs two axes with several values; expected a grid with at least two")
    return x, y


def heat(data: Dataset, metric: str, x: str | None, y: str | None) -> Figure:
    """Draw a map of the mean of a metric for each scheme, all with one scale."""
    from matplotlib import pyplot as plt

    array = data[metric]
    x, y = _axes_of(array, x, y)
    means = array.mean([name for name in array.dims if name not in {x, y, "scheme"}]).transpose("scheme", y, x)
    schemes = list(means.coords["scheme"].values)
    columns = min(len(schemes), 4)
    rows = -(-len(schemes) // columns)
    figure, panels = plt.subplots(
        rows, columns, squeeze=False, layout="constrained", figsize=(3.2 * columns + 1, 2.6 * rows + 0.6)
    )
    low, high = float(means.min()), float(means.max())
    mesh = None
    for panel, scheme in zip(panels.flat, schemes, strict=False):
        mesh = panel.pcolormesh(means.sel(scheme=scheme).values, vmin=low, vmax=high, cmap="viridis")
        panel.set_title(scheme, fontsize="medium")
        _ticks(panel, means, x, y)
    for panel in list(panels.flat)[len(schemes) :]:
        panel.set_visible(False)
    if mesh is not None:
        figure.colorbar(mesh, ax=panels, label=metric)
    return figure


def _ticks(panel: Axes, array: DataArray, x: str, y: str) -> None:
    """Label the cells: levels are equidistant, whatever their values."""
    for name, ticks, label in ((x, panel.set_xticks, panel.set_xlabel), (y, panel.set_yticks, panel.set_ylabel)):
        levels = array.coords[name].values
        step = -(-len(levels) // 8)
        places = range(0, len(levels), step)
        ticks([place + 0.5 for place in places], [_text(levels[place]) for place in places])
        label(name)


def _text(value: Any) -> str:
    if isinstance(value, str):
        return value
    number = float(value)
    for worth, prefix in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if abs(number) >= worth:
            return f"{number / worth:.3g}{prefix}"
    return f"{number:.3g}"


NONE, MISSING = -1, -2
"""Cells of `winners` without a best scheme, and without runs."""


def winners(data: Dataset, metric: str, *, higher: bool = False) -> DataArray:
    """Return the index of the best scheme over all axes but ``scheme`` and ``seed``.

    As in comparisons, a scheme is best if its mean is lower by more than 1 %, and tests of the seeds' log ratios find
    every other one worse, corrected for the number of tests. Cells are `NONE` without a best scheme, and `MISSING`
    without runs.
    """
    import numpy as np
    from xarray import DataArray

    array = data[metric]
    axes = [str(name) for name in array.dims if name not in {"scheme", "seed"}]
    values = array.transpose(*axes, "scheme", "seed").values.astype(float)
    won = np.full(values.shape[:-2], MISSING)
    for cell in np.ndindex(won.shape):
        if not np.isnan(values[cell]).all():
            index = _core.only_best(values[cell].tolist(), higher)
            won[cell] = NONE if index is None else index
    return DataArray(won, {name: array.coords[name] for name in axes}, axes)


def best(data: Dataset, metric: str, x: str | None, y: str | None, *, higher: bool) -> Figure:
    """Draw the best scheme at each point, a map for each value of the other axes."""
    import itertools

    import numpy as np
    from matplotlib import pyplot as plt
    from matplotlib.colors import BoundaryNorm, ListedColormap
    from matplotlib.patches import Patch

    from gentle.plots import COLORS

    array = data[metric]
    x, y = _axes_of(array, x, y)
    won = winners(data, metric, higher=higher)
    schemes = [str(name) for name in array.coords["scheme"].values]
    others = [str(name) for name in won.dims if name not in {x, y}]
    panels_of = list(itertools.product(*(won.coords[name].values for name in others)))
    columns = min(len(panels_of), 4)
    rows = -(-len(panels_of) // columns)
    figure, panels = plt.subplots(
        rows, columns, squeeze=False, layout="constrained", figsize=(3.0 * columns + 1.6, 2.6 * rows + 0.6)
    )
    colors = ["white", "#d9d9d9", *itertools.islice(itertools.cycle(COLORS), len(schemes))]
    norm = BoundaryNorm(np.arange(MISSING - 0.5, len(schemes) + 0.5), len(colors))
    for panel, values in zip(panels.flat, panels_of, strict=False):
        chosen = won.sel(dict(zip(others, values, strict=True))).transpose(y, x)
        panel.pcolormesh(chosen.values, cmap=ListedColormap(colors), norm=norm, edgecolors="white", linewidth=0.5)
        panel.set_title(
            ", ".join(f"{name} = {_text(v)}" for name, v in zip(others, values, strict=True)), fontsize="small"
        )
        _ticks(panel, won, x, y)
    for panel in list(panels.flat)[len(panels_of) :]:
        panel.set_visible(False)
    seen = {int(cell) for cell in np.unique(won.values)}
    patches = [Patch(color=colors[i + 2], label=name) for i, name in enumerate(schemes) if i in seen]
    if NONE in seen:
        patches.append(Patch(color=colors[1], label="no significant difference"))
    figure.legend(handles=patches, loc="outside right upper", title=f"{'highest' if higher else 'lowest'} {metric}")
    return figure
