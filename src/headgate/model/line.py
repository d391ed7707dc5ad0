"""A straight line through measurements, by medians, with its 95 % interval.

The slope is the median over all pairs of points (Theil and Sen): a garbage collection or two pull a least-squares
line, they do not pull a median. Its interval is Sen's, from the variance of Kendall's rank statistic.
"""

from functools import lru_cache
from typing import NamedTuple

import msgspec
import numpy as np

from headgate.model.columns import Bools, Floats, Ints, read_only

_MOST_POINTS = 300
"""Pairs grow with the square; of more points than this, evenly chosen ones are taken."""
_LEAST_SPREAD = 1.25
"""How many times the small values of x the large ones must be for a line to mean anything."""
_LEAST_POINTS = 4
_NINETY_FIVE = 1.96


class Figure(msgspec.Struct, frozen=True):
    """A figure with its 95 % interval."""

    value: float
    low: float
    high: float

    def within(self, least: float) -> "Figure":
        """The same, with nothing below `least`: a cost cannot be negative, whatever the noise says."""
        return Figure(max(self.value, least), max(self.low, least), max(self.high, least))


class Line(NamedTuple):
    """y = base + slope * x."""

    base: Figure
    slope: Figure


def line_through(x: Floats, y: Floats, most_points: int = _MOST_POINTS) -> Line | None:
    """The line, or None where the points cannot tell slope from base. Fewer points are faster, more know it better.

    >>> x = np.array([100.0, 200.0, 300.0, 400.0, 500.0])
    >>> line = line_through(x, 0.2 + 0.002 * x)
    >>> round(line.base.value, 6), round(line.slope.value, 6)
    (0.2, 0.002)
    """
    if x.size > most_points:
        # By x, so that rare large values (a skewed partition) keep their share.
        chosen = np.argsort(x, kind="stable")[np.linspace(0, x.size - 1, most_points).astype(int)]
        x, y = x[chosen], y[chosen]
    if x.size < _LEAST_POINTS or x.max() < _LEAST_SPREAD * max(float(x.min()), 1.0):
        return None
    one, other = _pairs(x.size)
    apart: Bools = np.abs(x[one] - x[other]) >= 0.1 * (x.max() - x.min())
    slopes = np.sort((y[one] - y[other])[apart] / (x[one] - x[other])[apart])
    if slopes.size < _LEAST_POINTS:
        return None
    slope = _middle_with_interval(slopes, _kendall_reach(x.size) * slopes.size / one.size)
    reach = 0.5 * _NINETY_FIVE / np.sqrt(x.size)
    # What is left over at a point is noise in proportion to its size: large ones say little about where it begins.
    base = Figure(
        weighted_median(y - slope.value * x, 1 / np.maximum(x, 1.0)),
        float(np.quantile(y - slope.high * x, max(0.0, 0.5 - reach))),
        float(np.quantile(y - slope.low * x, min(1.0, 0.5 + reach))),
    )
    return Line(base, slope)


@lru_cache(maxsize=4)
def _pairs(points: int) -> tuple[Ints, Ints]:
    """All pairs of so many points, by their places; nobody may write into them."""
    one, other = np.triu_indices(points, 1)
    return read_only(one), read_only(other)


def weighted_median(values: Floats, weights: Floats) -> float:
    """The value with half of the weight on either side.

    >>> weighted_median(np.array([1.0, 2.0, 30.0]), np.array([1.0, 1.0, 0.1]))
    2.0
    """
    order = np.argsort(values, kind="stable")
    up_to = np.cumsum(weights[order])
    below = np.searchsorted(up_to, 0.5 * up_to[-1] * (1 - 1e-12))
    at = values[order]
    if below + 1 < at.size and abs(up_to[below] - 0.5 * up_to[-1]) <= 1e-12 * up_to[-1]:
        return float((at[below] + at[below + 1]) / 2)
    return float(at[below])


def _kendall_reach(points: int) -> float:
    """How many ranks of sorted slopes lie within the 95 % interval, to both sides together."""
    return _NINETY_FIVE * float(np.sqrt(points * (points - 1) * (2 * points + 5) / 18))


def _middle_with_interval(ordered: Floats, ranks: float) -> Figure:
    low = max(0, int((ordered.size - ranks) // 2))
    high = min(ordered.size - 1, ordered.size - 1 - low)
    return Figure(float(np.median(ordered)), float(ordered[low]), float(ordered[high]))
