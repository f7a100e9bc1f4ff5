"""Plots with matplotlib, and tables for notebooks."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING, Any

from gentle import _core

if TYPE_CHECKING:
    from collections.abc import Sequence

    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from gentle.comparison import Comparison
    from gentle.prediction import Prediction

COLORS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#56b4e9", "#e69f00", "#000000")
"""Colours that people with any colour vision can distinguish (Okabe and Ito 2008)."""


def _axes(ax: Axes | None) -> Axes:
    if ax is not None:
        return ax
    from matplotlib import pyplot as plt

    return plt.subplots(layout="constrained")[1]


def bars(comparison: Comparison, metric: str, ax: Axes | None) -> Axes:
    """Draw a bar per scheme: the mean over seeds with its 95 % confidence interval."""
    ax = _axes(ax)
    means, intervals = [], []
    for scheme in comparison.schemes:
        series = comparison.result(scheme)["by_seed"]
        found = [entry["values"] for entry in series if entry["name"] == metric]
        if not found:
            known = ", ".join(s["name"] for s in series)
            raise _core.InvalidInput(f"no metric '{metric}'; expected one of: {known}")
        mean, interval = _mean([value for value in found[0] if value is not None])
        means.append(mean)
        intervals.append(interval)
    places = range(len(means))
    ax.barh(places, means, xerr=intervals, color=COLORS[0], capsize=2)
    ax.set_yticks(places, comparison.schemes)
    ax.invert_yaxis()
    ax.set_xlabel(metric)
    return ax


def _mean(values: Sequence[float]) -> tuple[float, float]:
    """Return the mean and the half-width of its 95 % confidence interval (Student's t)."""
    n = len(values)
    if not n:
        return float("nan"), 0.0
    mean = sum(values) / n
    if n == 1:
        return mean, 0.0
    error = (sum((value - mean) ** 2 for value in values) / (n - 1) / n) ** 0.5
    return mean, _QUANTILES.get(n - 1, 1.96) * error


# 97.5 % quantiles of Student's t for up to 30 degrees of freedom; beyond, the normal distribution's is within 4 %.
_QUANTILES = dict(
    enumerate(
        (
            12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228, 2.201, 2.179, 2.160, 2.145, 2.131,
            2.120, 2.110, 2.101, 2.093, 2.086, 2.080, 2.074, 2.069, 2.064, 2.060, 2.056, 2.052, 2.048, 2.045, 2.042,
        ),
        start=1,
    )
)  # fmt: skip


def predicted(prediction: Prediction, ax: Axes | None) -> Axes:
    """Draw predicted response times against size."""
    ax = _axes(ax)
    for color, rto in zip(COLORS[1:], prediction.data["rtos"], strict=False):
        sizes = [size["segments"] for size in rto["sizes"]]
        if rto is prediction.data["rtos"][0]:
            without = [size["without_handshake_loss_s"] for size in rto["sizes"]]
            ax.plot(sizes, without, color=COLORS[0], label="no lost SYN")
        lost = [size["with_one_loss_s"] for size in rto["sizes"]]
        ax.plot(sizes, lost, color=color, label=f"one lost SYN, initial RTO {rto['initial_rto_s']} s")
    ax.set(xscale="log", yscale="log", xlabel="segments", ylabel="response time, s")
    ax.legend()
    return ax


def charts(item: dict[str, Any]) -> Figure:
    """Draw the charts of an item of a reproduced paper, below one another."""
    from matplotlib import pyplot as plt

    found = item.get("charts", [])
    if not found:
        raise _core.InvalidInput(f"{item['id']} has no charts; expected a figure")
    figure, axes = plt.subplots(len(found), squeeze=False, layout="constrained", figsize=(7, 4 * len(found)))
    for ax, chart in zip(axes.flat, found, strict=True):
        (_bars if chart["form"] == "bars" else _curves)(ax, chart)
        ax.set_title(chart["title"])
    return figure


def _label(axis: dict[str, Any]) -> str:
    return f"{axis['label']}, {axis['unit']}" if axis["unit"] else str(axis["label"])


def _curves(ax: Axes, chart: dict[str, Any]) -> None:
    styles = {"line": "-", "steps": "-", "marks": "o-", "points": "o"}
    for color, line in zip(COLORS * 3, chart["lines"], strict=False):
        x = [point["x"] for point in line["points"]]
        y = [point["y"] for point in line["points"]]
        style = "x" if line["published"] else styles[line["draw"]]
        steps = "steps-post" if line["draw"] == "steps" else "default"
        ax.plot(x, y, style, color=color, label=line["label"], drawstyle=steps, markersize=4)
    for axis, scale, label, limits in (
        (chart["x"], ax.set_xscale, ax.set_xlabel, ax.set_xlim),
        (chart["y"], ax.set_yscale, ax.set_ylabel, ax.set_ylim),
    ):
        scale(axis["scale"])
        label(_label(axis))
        if axis["range"]:
            limits(*axis["range"])
    if len(chart["lines"]) > 1:
        ax.legend(fontsize="small")


def _bars(ax: Axes, chart: dict[str, Any]) -> None:
    number = len(chart["series"])
    below = [0.0] * len(chart["categories"])
    for index, (color, series) in enumerate(zip(COLORS * 3, chart["series"], strict=False)):
        values = [estimate["value"] or 0.0 for estimate in series["values"]]
        errors = [estimate["ci95"] or 0.0 for estimate in series["values"]]
        places = list(range(len(values)))
        if chart["stacked"]:
            ax.barh(places, values, left=below, color=color, label=series["label"])
            below = [low + value for low, value in zip(below, values, strict=True)]
        else:
            height = 0.8 / number
            shifted = [place + (index - (number - 1) / 2) * height for place in places]
            ax.barh(shifted, values, height, xerr=errors, color=color, label=series["label"])
    ax.set_yticks(range(len(chart["categories"])), chart["categories"])
    ax.invert_yaxis()
    ax.set_xscale(chart["y"]["scale"])
    ax.set_xlabel(_label(chart["y"]))
    if number > 1:
        ax.legend(fontsize="small")


def table(head: Sequence[str], rows: Sequence[Sequence[object]]) -> str:
    """Return an HTML table; numbers have three significant digits."""
    cells = "".join(f"<th>{escape(text)}</th>" for text in head)
    lines = "".join("<tr>" + "".join(f"<td>{escape(_shown(cell))}</td>" for cell in row) + "</tr>" for row in rows)
    return f"<table><thead><tr>{cells}</tr></thead><tbody>{lines}</tbody></table>"


def text(head: Sequence[str], rows: Sequence[Sequence[object]]) -> str:
    """Return a table for a terminal; numbers have three significant digits."""
    lines = [list(head), *([_shown(cell) for cell in row] for row in rows)]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    padded = (
        [
            cell.rjust(width) if place else cell.ljust(width)
            for place, (cell, width) in enumerate(zip(line, widths, strict=True))
        ]
        for line in lines
    )
    return "\n".join("  ".join(line).rstrip() for line in padded)


def _shown(cell: object) -> str:
    match cell:
        case None:
            return "\N{EN DASH}"
        case float():
            return f"{cell:.3g}"
        case _:
            return str(cell)


def preformatted(text: str) -> str:
    """Return a report for a terminal as HTML."""
    return f"<pre>{escape(text)}</pre>"
