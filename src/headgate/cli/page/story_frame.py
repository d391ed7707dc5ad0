"""The frame of a plot over time: one axis for all plots of a page, decisions marked on each."""

from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import NamedTuple

from headgate.cli.local_time import moment
from headgate.cli.page.markup import Markup
from headgate.cli.page.scales import Scale, short
from headgate.cli.page.svg import Point, dot, drawing, line, marks, path, rungs
from headgate.cli.page.time_axis import time_ticks
from headgate.runtime.chronicle import Line

WIDTH, LEFT, RIGHT = 960.0, 64.0, 16.0
TOP, BOTTOM, BELOW = 18.0, 168.0, 30.0
_MOST_POINTS = 480
"""A point for every second pixel."""


class Frame(NamedTuple):
    """The time that is shown, and what was decided in it."""

    x: Scale
    decisions: Sequence[Line]

    @classmethod
    def of(cls, first: float, last: float, decisions: Sequence[Line]) -> "Frame":
        """From the first batch to the last entry."""
        x = Scale(first, max(last, first + 1.0), LEFT, WIDTH - RIGHT)
        return cls(x, [one for one in decisions if first <= one.at <= last])

    def plot(self, label: str, y: Scale, *shapes: Markup, tick: Callable[[float], str] = short) -> Markup:
        """The drawing: rungs below the shapes, decisions and the time above them."""
        ticks, written = time_ticks(self.x.low, self.x.high)
        marked = [line(at, TOP, at, BOTTOM, "decided") for at in self._places()]
        dots = [
            dot(at, BOTTOM, 3.5, "here", f"{moment(one.at)}\n{sentence(one)}")
            for at, one in zip(self._places(), self.decisions, strict=True)
        ]
        return drawing(
            WIDTH,
            BOTTOM + BELOW,
            label,
            rungs(y, LEFT, WIDTH - RIGHT, label=tick),
            *shapes,
            *marked,
            marks(self.x, BOTTOM, ticks, written),
            *dots,
        )

    def _places(self) -> list[float]:
        return [self.x.at(one.at) for one in self.decisions]


def height(most: float) -> Scale:
    """From nothing to a bit above the highest."""
    return Scale(0, most * 1.12 if most > 0 else 1.0, BOTTOM, TOP)


def sentence(one: Line) -> str:
    """A line of the story, with the plan it is about."""
    return one.what if one.plan is None or one.what.startswith("plan ") else f"plan {one.plan}: {one.what}"


class Thinned(NamedTuple):
    """Values at moments, some of them put together."""

    points: list[tuple[float, float]]
    each: int
    """So many values in a row became one."""


def thinned(values: Sequence[tuple[float, float]], together: Callable[[Sequence[float]], float]) -> Thinned:
    """No more points than can be told apart.

    >>> thinned([(0.0, 1.0), (1.0, 3.0)], max)
    Thinned(points=[(0.0, 1.0), (1.0, 3.0)], each=1)
    """
    each = max(1, -(-len(values) // _MOST_POINTS))
    groups = [values[first : first + each] for first in range(0, len(values), each)]
    return Thinned([(group[-1][0], together([value for _, value in group])) for group in groups], each)


def curve(points: Sequence[tuple[float, float]], x: Scale, y: Scale, class_: str) -> list[Markup]:
    """Through the points; broken where nothing is known for long."""
    return [
        path([(x.at(at), y.at(value)) for at, value in piece], class_) if len(piece) > 1 else _alone(piece[0], x, y)
        for piece in pieces(points)
    ]


def area(points: Sequence[tuple[float, float]], x: Scale, y: Scale, class_: str) -> list[Markup]:
    """From the axis up to the points."""
    shapes = []
    for piece in pieces(points):
        upper: list[Point] = [(x.at(at), y.at(value)) for at, value in piece]
        shapes.append(path([(upper[0][0], y.start), *upper, (upper[-1][0], y.start)], class_, closed=True))
    return shapes


def pieces(points: Sequence[tuple[float, float]]) -> list[list[tuple[float, float]]]:
    """Cut where the time between two points is many times the usual.

    >>> pieces([(0, 5), (1, 5), (2, 5), (90, 5), (91, 5)])
    [[(0, 5), (1, 5), (2, 5)], [(90, 5), (91, 5)]]
    """
    if not points:
        return []
    gaps = sorted(later[0] - one[0] for one, later in pairwise(points))
    usual = gaps[len(gaps) // 2] if gaps else 0.0
    found = [[points[0]]]
    for one, later in pairwise(points):
        if later[0] - one[0] > 20 * usual:
            found.append([])
        found[-1].append(later)
    return found


def _alone(point: tuple[float, float], x: Scale, y: Scale) -> Markup:
    return dot(x.at(point[0]), y.at(point[1]), 2.0, "step")
