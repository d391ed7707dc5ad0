"""The graph of operators as a drawing: boxes with figures, edges for shuffles, the limit standing out."""

from collections.abc import Mapping, Sequence

from headgate.cli.page.layers import COLUMN, Route, layout, without_others
from headgate.cli.page.markup import Markup, element, figure
from headgate.cli.page.scales import short
from headgate.cli.page.svg import drawing, group, path, rectangle, text
from headgate.cli.page.wrapping import wrapped
from headgate.model.profile import OperatorProfile
from headgate.model.reasons import many

MOST = 24
"""Of more operators than this the busiest are drawn: more boxes than that show nothing."""
_LINE, _EDGE, _INSIDE = 17.0, 4.0, 14.0
_NAME_LINES, _ROOM = 4, (COLUMN - 34) / 12
"""A name is cut after so many lines; the room for one is in units of the font's size, 12 pixels."""


def graph(operators: Sequence[OperatorProfile], limit: str | None, colour: Mapping[str, str]) -> tuple[Markup, str]:
    """The drawing, and what must be said about it."""
    kept = _kept(operators, limit)
    known = {one.name for one in operators}
    feeders = {one.name: [up for up in one.feeders if up in known] for one in operators}
    boxes = {one.name: _lines(one) for one in operators if one.name in kept}
    heights = {name: _LINE * len(lines) + 2 * _INSIDE - 4 for name, lines in boxes.items()}
    placed = layout(without_others(feeders, kept), heights)
    shapes = [_edge(route) for route in placed.routes]
    for one in operators:
        if one.name in kept:
            x, y = placed.corners[one.name]
            shapes.append(_box(one, x + _EDGE, y + _EDGE, heights[one.name], boxes[one.name], limit, colour[one.name]))
    label = f"{len(kept):,} operators and what feeds them"
    drawn = drawing(placed.width + 2 * _EDGE, placed.height + 2 * _EDGE, label, *shapes, class_="graph")
    return drawn, _caption(len(kept), len(operators))


def _kept(operators: Sequence[OperatorProfile], limit: str | None) -> set[str]:
    """The busiest, and in any case the limit."""
    ranked = sorted(operators, key=lambda one: (one.name != limit, -one.busy))
    return {one.name for one in ranked[:MOST]}


def _caption(drawn: int, there: int) -> str:
    said = "An arrow is a shuffle: what one operator writes, the next reads. Figures are for one batch."
    if drawn == there:
        return said
    return (
        f"{said} Of {there:,} operators the {drawn:,} busiest are drawn; a dashed arrow passes through others, which "
        f"the table below has."
    )


def _lines(one: OperatorProfile) -> list[tuple[str, str]]:
    """Class and text of each line in a box."""
    kinds = [kind for kind, is_one in (("source", not one.feeders), ("stateful", one.stateful), ("sink", one.sink))
             if is_one]  # fmt: skip
    name = wrapped(one.name, _ROOM, _NAME_LINES)
    lines = [("kind", " · ".join(kinds))] if kinds else []
    lines += [("name", line) for line in name]
    lines.append(("", f"{many(one.tasks, 'task')}, {one.busy:,.2f} s busy"))
    lines.append(("", f"{short(round(one.records_in, 1))} in, {short(round(one.records_out, 1))} out"))
    if one.state is not None:
        lines.append(("", f"state: {short(one.state.rows)} rows, {_megabytes(one.state.bytes)}"))
    return lines


def _megabytes(size: int) -> str:
    return f"{size / 1e6:,.1f} MB" if size < 1e9 else f"{size / 1e9:,.1f} GB"


def _box(
    one: OperatorProfile,
    x: float,
    y: float,
    height: float,
    lines: Sequence[tuple[str, str]],
    limit: str | None,
    colour: str,
) -> Markup:
    is_limit = one.name == limit
    shapes = [
        element("title", one.name + (" (the limit)" if is_limit else "")),
        rectangle(x, y, COLUMN, height, "box", round_=6),
        rectangle(x + 8, y + 12, 4, height - 24, f"fill {colour}", round_=2),
    ]
    if is_limit:
        shapes.append(text(x + COLUMN - 12, y + _INSIDE + 10, "the limit", "kind accent", anchor="end"))
    for place, (kind, line) in enumerate(lines):
        shapes.append(text(x + 22, y + _INSIDE + 10 + place * _LINE, line, kind or None))
    return group(*shapes, class_="operator limit" if is_limit else "operator")


def _edge(route: Route) -> Markup:
    """Curves between columns, straight lines through them, and a head."""
    points = [(x + _EDGE, y + _EDGE) for x, y in route.points]
    drawn = f"M{_at(points[0])}"
    for place in range(1, len(points)):
        (x1, y1), (x2, y2) = points[place - 1], points[place]
        between = (x1 + x2) / 2
        drawn += (
            f"L{_at((x2, y2))}" if place % 2 == 0 else f"C{_at((between, y1))} {_at((between, y2))} {_at((x2, y2))}"
        )
    x, y = points[-1]
    return group(
        element("title", f"{route.source} feeds {route.target}{', through others' if route.through_others else ''}"),
        element("path", d=drawn, class_="edge dashed" if route.through_others else "edge"),
        path([(x, y), (x - 7, y - 4), (x - 7, y + 4)], "head", closed=True),
    )


def _at(point: tuple[float, float]) -> str:
    return f"{figure(point[0])} {figure(point[1])}"
