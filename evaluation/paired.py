"""Comparisons of runs with the same seed, with their confidence intervals."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

# 97.5 % quantiles of Student's t distribution for 1 to 30 degrees of freedom.
STUDENT = (
    12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228, 2.201, 2.179, 2.160, 2.145, 2.131,
    2.120, 2.110, 2.101, 2.093, 2.086, 2.080, 2.074, 2.069, 2.064, 2.060, 2.056, 2.052, 2.048, 2.045, 2.042,
)  # fmt: skip


def interval(values: list[float]) -> tuple[float, float]:
    """Mean, and half-width of its 95 % confidence interval (infinite for a single value)."""
    mean = math.fsum(values) / len(values)
    freedom = len(values) - 1
    if freedom == 0:
        return mean, math.inf
    deviation = math.sqrt(math.fsum((value - mean) ** 2 for value in values) / freedom)
    quantile = STUDENT[freedom - 1] if freedom <= len(STUDENT) else 1.96 + 2.4 / freedom
    return mean, quantile * deviation / math.sqrt(len(values))


SEVERITY = ("holds", "not certain", "**does not hold**")


@dataclass(frozen=True)
class Estimate:
    """A paired comparison with its 95 % confidence interval."""

    value: float
    low: float
    high: float

    def __str__(self) -> str:
        def show(value: float) -> str:
            return f"{value:.2f}" if value < 100 else "> 100"

        return f"{show(self.value)} ({show(self.low)} to {show(self.high)})"

    def verdict(self, limit: float) -> str:
        """Whether the quantity is at most `limit`: an interval that includes the limit decides nothing."""
        # All pairs alike: a value equal to the limit is not above it.
        if self.high <= limit:
            return SEVERITY[0]
        return SEVERITY[2] if self.low > limit else SEVERITY[1]


def ratio(pairs: Iterable[tuple[float, float]]) -> Estimate | None:
    """Geometric mean of the ratios of pairs; `None` without pairs that have one."""
    logs = [math.log(a / b) for a, b in pairs if a > 0 and b > 0]
    if not logs:
        return None
    mean, half = interval(logs)
    bound = min(half, 50.0)
    return Estimate(math.exp(mean), math.exp(mean - bound), math.exp(mean + bound))


def geometric_mean(values: Iterable[float]) -> float:
    """Geometric mean of values above 0; NaN without any."""
    logs = [math.log(value) for value in values]
    return math.exp(math.fsum(logs) / len(logs)) if logs else math.nan


def percentile(values: Iterable[float], part: float) -> float:
    """The least of the values that at least this part of them does not exceed."""
    ordered = sorted(values)
    return ordered[max(0, math.ceil(part * len(ordered)) - 1)]


def difference(pairs: Iterable[tuple[float, float]]) -> Estimate | None:
    """Mean of the differences of pairs."""
    values = [a - b for a, b in pairs]
    if not values:
        return None
    mean, half = interval(values)
    return Estimate(mean, mean - half, mean + half)
