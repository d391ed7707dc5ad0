"""A picture of batch times: a row for each size and way, a panel for each strategy, one scale for all of a row."""

from collections.abc import Sequence
from typing import NamedTuple

from headgate.cli.page.markup import Markup, element
from headgate.cli.page.scales import Scale
from headgate.cli.page.svg import group, line, marks, rectangle, rungs, seconds, text

WIDE, HIGH = 240.0, 150.0
LEFT, ABOVE, BELOW, BETWEEN = 120.0, 34.0, 30.0, 24.0
STYLE = """
svg { background: #ffffff; font: 12px system-ui, "Liberation Sans", sans-serif; }
text { fill: #1c2329; } .tick, .row { fill: #5d6872; } .name, .row { font-weight: 600; }
.rung { stroke: #dde2e6; } .axis { stroke: #9aa5ae; }
.usual { fill: #8a9bab; } .moving { fill: #c2410c; } .began { stroke: #5d6872; stroke-dasharray: 3 3; }
"""


class Panel(NamedTuple):
    """What one strategy did: when batches ended, in seconds from its first step on, and how long they took."""

    name: str
    batches: Sequence[tuple[float, float]]


def picture(rows: Sequence[tuple[str, Sequence[Panel]]]) -> str:
    """As a file of its own; a bar is a batch, as wide as it lasted."""
    width = LEFT + max(len(panels) for _, panels in rows) * (WIDE + BETWEEN)
    height = len(rows) * (ABOVE + HIGH + BELOW)
    drawn = [_row(name, panels, place * (ABOVE + HIGH + BELOW)) for place, (name, panels) in enumerate(rows)]
    label = "batch times while state moves, by size of the state and strategy"
    return element(
        "svg",
        element("style", Markup(STYLE)),
        *drawn,
        xmlns="http://www.w3.org/2000/svg",
        viewBox=f"0 0 {width:g} {height:g}",
        role="img",
        aria_label=label,
    )


def _row(name: str, panels: Sequence[Panel], top: float) -> Markup:
    bottom = top + ABOVE + HIGH
    y = Scale(0, 1.1 * max(took for panel in panels for _, took in panel.batches), bottom, top + ABOVE)
    return group(
        text(8, top + ABOVE + HIGH / 2, name, "row"),
        *(_panel(panel, y, LEFT + place * (WIDE + BETWEEN), first=place == 0) for place, panel in enumerate(panels)),
    )


def _panel(panel: Panel, y: Scale, left: float, *, first: bool) -> Markup:
    x = Scale(panel.batches[0][0] - panel.batches[0][1], panel.batches[-1][0], left, left + WIDE)
    return group(
        text(left, y.end - 10, panel.name, "name"),
        rungs(y, left, left + WIDE, label=seconds if first else lambda _: ""),
        *(
            rectangle(
                x.at(ended - took),
                y.at(took),
                x.at(ended) - x.at(ended - took) - 1,
                y.start - y.at(took),
                "moving" if ended > 0 else "usual",
                told=f"{took:.2f} s",
            )
            for ended, took in panel.batches
        ),
        line(x.at(0), y.end, x.at(0), y.start, "began"),
        marks(x, y.start, x.ticks(4), seconds),
    )
