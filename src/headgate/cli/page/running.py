"""How many tasks of each operator ran from moment to moment: a Gantt chart of too many tasks, added up."""

from collections.abc import Mapping

import numpy as np

from headgate.cli.page.lanes import Timeline
from headgate.cli.page.markup import Markup
from headgate.cli.page.palette import OTHERS
from headgate.cli.page.scales import Scale
from headgate.cli.page.svg import path, rungs
from headgate.model.columns import Floats
from headgate.model.microbatch import MicroBatch

_HEIGHT = 200.0
_MOMENTS = 400
_THINNEST = 0.01


def running(
    batch: MicroBatch, times: Timeline, x: Scale, top: float, colour: Mapping[str, str]
) -> tuple[list[Markup], float]:
    """Areas on top of one another, one a colour; and where they end."""
    launched, finished = np.array(times.launched), np.array(times.finished)
    edges = np.linspace(0.0, times.lasted, _MOMENTS + 1)
    classes = [colour.get(name, OTHERS) for name in batch.dataflow.ids]
    layers = {}
    for one in dict.fromkeys(classes):
        mine = np.isin(batch.tasks.operator, [place for place, other in enumerate(classes) if other == one])
        layers[one] = at_once(launched[mine], finished[mine], edges)
    most = max(float(np.sum(list(layers.values()), axis=0).max()), 1.0)
    y = Scale(0, most * 1.05, top + _HEIGHT, top)
    shapes = [rungs(y, x.start, x.end)]
    below = np.zeros(_MOMENTS)
    for one, count in layers.items():
        # A single slow task among thousands is what one looks for: never thinner than can be seen.
        above = below + np.where(count > 0, np.maximum(count, _THINNEST * most), 0.0)
        upper = _steps(above, edges, x, y)
        shapes.append(path([*upper, *reversed(_steps(below, edges, x, y))], f"fill area {one}", closed=True))
        below = above
    return shapes, top + _HEIGHT


def at_once(launched: Floats, finished: Floats, edges: Floats) -> Floats:
    """Tasks that ran, on average over each stretch between two edges: slot time divided by time.

    >>> at_once(np.array([0.0, 0.5]), np.array([1.0, 2.0]), np.array([0.0, 1.0, 2.0])).tolist()
    [1.5, 1.0]
    """
    # Slot time spent before each edge, as the sum over tasks of how much of each lay before it.
    starts, ends = np.sort(launched), np.sort(finished)
    spent = _before(starts, edges) - _before(ends, edges)
    average: Floats = np.diff(spent) / np.diff(edges)
    # Differences of large sums: what rounding leaves is no task.
    average[average < 1e-6] = 0.0
    return average


def _before(moments: Floats, edges: Floats) -> Floats:
    """The sum of (edge - moment) over all moments before it, for each edge."""
    count = np.searchsorted(moments, edges, side="right")
    total: Floats = count * edges - np.concatenate(([0.0], np.cumsum(moments)))[count]
    return total


def _steps(heights: Floats, edges: Floats, x: Scale, y: Scale) -> list[tuple[float, float]]:
    points = []
    for place, height in enumerate(heights.tolist()):
        points += [(x.at(float(edges[place])), y.at(height)), (x.at(float(edges[place + 1])), y.at(height))]
    return points
