"""A graph laid out in columns, left to right: each operator one column after the last of those that feed it.

The usual three steps (Sugiyama): columns by longest path, edges over several columns bent round what lies between
by waypoints, and columns ordered by the middle of their neighbours so that edges cross little.
"""

from collections.abc import Mapping, Sequence
from typing import NamedTuple, TypeAlias

COLUMN, BETWEEN, APART = 204.0, 44.0, 20.0
"""Width of a box, and the room beside and below it; four columns fit on the page."""
_WAYPOINT = 0.0
"""Height of an edge that passes through a column; half the room below a box is left on either side."""
_SWEEPS = 4

Feeders: TypeAlias = Mapping[str, Mapping[str, bool]]
"""Operator -> those that feed it -> whether on the way there are others, left out of the drawing."""


class Waypoint(NamedTuple):
    """Where an edge passes through a column."""

    source: str
    target: str
    column: int


Node: TypeAlias = str | Waypoint


class Route(NamedTuple):
    """An edge: where it goes, in pairs of points that curves lead between."""

    source: str
    target: str
    points: tuple[tuple[float, float], ...]
    through_others: bool


class Layout(NamedTuple):
    """Where everything is; the corner of each box is the upper left."""

    corners: dict[str, tuple[float, float]]
    routes: tuple[Route, ...]
    width: float
    height: float


def without_others(feeders: Mapping[str, Sequence[str]], kept: set[str]) -> Feeders:
    """The graph of those kept: an edge wherever a path leads from one to another past none that is kept.

    >>> without_others({"a": (), "b": ("a",), "c": ("b",)}, {"a", "c"})
    {'a': {}, 'c': {'a': True}}
    """
    before: dict[str, dict[str, bool]] = {}
    for name in sorted(feeders, key=columns(feeders).__getitem__):
        found: dict[str, bool] = {}
        for feeder in feeders[name]:
            passed = {feeder: False} if feeder in kept else dict.fromkeys(before.get(feeder, ()), True)
            found = passed | found if feeder not in kept else found | passed
        before[name] = found
    return {name: _direct(name, before, kept) for name in feeders if name in kept}


def _direct(name: str, before: Mapping[str, Mapping[str, bool]], kept: set[str]) -> dict[str, bool]:
    """Its feeders, less those beyond others that other feeders lead to anyway: one way there is enough to see."""
    upstream: set[str] = set()
    todo = list(before[name])
    while todo:
        further = [up for up in before[todo.pop()] if up not in upstream]
        upstream.update(further)
        todo += further
    return {up: through for up, through in before[name].items() if not (through and up in upstream)}


def columns(feeders: Mapping[str, Sequence[str]] | Feeders) -> dict[str, int]:
    """The column of each: sources are in the first. What runs in a circle is put behind what does not."""
    column: dict[str, int] = {}
    todo = list(feeders)
    while todo:
        left = set(todo)
        ready = [name for name in todo if left.isdisjoint(feeders[name])] or todo[:1]
        for name in ready:
            column[name] = 1 + max((column[up] for up in feeders[name] if up in column), default=-1)
        todo = [name for name in todo if name not in column]
    return column


def layout(feeders: Feeders, heights: Mapping[str, float]) -> Layout:
    """Places for boxes of these heights, and the edges between them."""
    column = columns(feeders)
    edges = [(up, name) for name in feeders for up in feeders[name] if column[up] < column[name]]
    table: list[list[Node]] = [[] for _ in range(1 + max(column.values(), default=0))]
    for name in feeders:
        table[column[name]].append(name)
    steps: list[tuple[Node, Node]] = []
    for source, target in edges:
        stations: list[Node] = [Waypoint(source, target, at) for at in range(column[source] + 1, column[target])]
        for at, station in enumerate(stations, column[source] + 1):
            table[at].append(station)
        steps.extend(zip([source, *stations], [*stations, target], strict=True))
    _order(table, steps)
    tall = [_tall(nodes, heights) for nodes in table]
    height = max(tall, default=0.0)
    corners: dict[Node, tuple[float, float]] = {}
    for at, nodes in enumerate(table):
        y = (height - tall[at]) / 2
        for node in nodes:
            corners[node] = (at * (COLUMN + BETWEEN), y)
            y += _height(node, heights) + APART
    routes = tuple(
        Route(source, target, tuple(_points(source, target, column, corners, heights)), feeders[target][source])
        for source, target in edges
    )
    boxes = {node: corner for node, corner in corners.items() if isinstance(node, str)}
    return Layout(boxes, routes, len(table) * (COLUMN + BETWEEN) - BETWEEN, height)


def _order(table: list[list[Node]], steps: Sequence[tuple[Node, Node]]) -> None:
    """Sort each column by the middle of its neighbours', to and fro."""
    before: dict[Node, list[Node]] = {}
    behind: dict[Node, list[Node]] = {}
    for source, target in steps:
        before.setdefault(target, []).append(source)
        behind.setdefault(source, []).append(target)
    for sweep in range(_SWEEPS):
        neighbours, order = (before, table) if sweep % 2 == 0 else (behind, table[::-1])
        for nodes in order:
            place = {node: at / len(column) for column in table for at, node in enumerate(column)}

            def middle(
                node: Node, place: dict[Node, float] = place, beside: dict[Node, list[Node]] = neighbours
            ) -> float:
                near = beside.get(node)
                return sum(place[one] for one in near) / len(near) if near else place[node]

            nodes.sort(key=middle)


def _height(node: Node, heights: Mapping[str, float]) -> float:
    return heights[node] if isinstance(node, str) else _WAYPOINT


def _tall(nodes: Sequence[Node], heights: Mapping[str, float]) -> float:
    return sum(_height(node, heights) + APART for node in nodes) - APART


def _points(
    source: str,
    target: str,
    column: Mapping[str, int],
    corners: Mapping[Node, tuple[float, float]],
    heights: Mapping[str, float],
) -> list[tuple[float, float]]:
    """Out of a box on its right, straight through waypoints, into a box on its left."""

    def right(node: Node) -> tuple[float, float]:
        x, y = corners[node]
        return x + COLUMN, y + _height(node, heights) / 2

    def left(node: Node) -> tuple[float, float]:
        x, y = corners[node]
        return x, y + _height(node, heights) / 2

    points = [right(source)]
    for at in range(column[source] + 1, column[target]):
        station = Waypoint(source, target, at)
        points += [left(station), right(station)]
    return [*points, left(target)]
