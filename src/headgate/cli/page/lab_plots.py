"""The pictures of the lab: the load, slots over time of each policy, and cost against lateness."""

from collections.abc import Sequence

from headgate.cli.page.markup import Markup, joined
from headgate.cli.page.scales import Scale, short
from headgate.cli.page.svg import dot, drawing, line, marks, path, rectangle, rungs, text
from headgate.lab.cell import Outcome
from headgate.lab.summary import OURS, Row, by_regret, front

_WIDE, _HIGH = 960.0, 190.0
_PANEL_WIDE, _PANEL_HIGH = 312.0, 148.0
_LEFT, _RIGHT, _TOP, _FOOT = 48.0, 12.0, 22.0, 26.0
_LEAST_LATE = 1e-5
"""What is late for less than this part of the time is drawn here, on the left edge of a logarithmic axis."""


def load_plot(outcome: Outcome) -> Markup:
    """Records per second over time."""
    x = Scale(0.0, outcome.hours, _LEFT, _WIDE - _RIGHT)
    y = Scale(0.0, 1.08 * max(outcome.rates), _HIGH - _FOOT, _TOP)
    points = [(x.at(at), y.at(rate)) for at, rate in _over_time(outcome, outcome.rates)]
    return drawing(
        _WIDE, _HIGH, f"records per second of {outcome.load}",
        rungs(y, _LEFT, _WIDE - _RIGHT),
        path([(x.start, y.start), *points, (points[-1][0], y.start)], "records", closed=True),
        marks(x, _HIGH - _FOOT, x.ticks(9), _hours),
        text(_LEFT, 12, "records per second", "note"),
    )  # fmt: skip


def slots_plot(outcome: Outcome, row: Row, most: float, bound: float) -> Markup:
    """Slots that were there over those that would just do; below it in colour when results were too old."""
    x = Scale(0.0, outcome.hours, _LEFT - 14, _PANEL_WIDE - _RIGHT)
    y = Scale(0.0, most, _PANEL_HIGH - _FOOT, _TOP)
    least = [(x.at(at), y.at(value)) for at, value in _over_time(outcome, outcome.least)]
    there = [(x.at(at), y.at(value)) for at, value in _over_time(outcome, outcome.slots)]
    wide = (x.end - x.start) / len(outcome.ages)
    late = [
        rectangle(x.start + place * wide, y.start, wide + 0.3, 4, "share accent")
        for place, age in enumerate(outcome.ages)
        if age > bound * 1.001
    ]
    beyond = "" if row.regret is None else f"{row.regret:+.1%}, "
    heading = f"{outcome.policy}: {beyond}late {row.late_time:.2%}"
    return drawing(
        _PANEL_WIDE, _PANEL_HIGH, f"slots of {outcome.policy} over time",
        rungs(y, x.start, x.end, about=3),
        path([(x.start, y.start), *least, (least[-1][0], y.start)], "records", closed=True),
        path(there, "curve need" if outcome.policy == OURS else "curve"),
        marks(x, _PANEL_HIGH - _FOOT, x.ticks(4), _hours),
        joined(*late),
        text(x.start, 12, heading, "accent" if outcome.policy == OURS else "name"),
    )  # fmt: skip


def cost_plot(rows: Sequence[Row]) -> Markup:
    """Cost over lateness, a dot a policy, and the front that nobody is below and left of."""
    high = 400.0
    shown = by_regret(rows)
    if not shown:
        return drawing(
            _WIDE,
            _TOP,
            "cost against lateness",
            text(_LEFT, 12, "no regret is known: the oracle failed or paid nothing, or every policy failed", "note"),
        )
    x = Scale(_LEAST_LATE, 1.0, _LEFT + 10, _WIDE - 120, log=True)
    y = Scale(shown[0][0] - 0.05, shown[-1][0] + 0.1, high - 40, _TOP)
    best = [(x.at(row.late_time), y.at(beyond)) for beyond, row in front(rows)]
    labels, taken = [], list[tuple[float, float]]()
    for beyond, row in shown:
        at, level = x.at(row.late_time), y.at(beyond)
        while any(abs(at - other) < 70 and abs(level - below) < 12 for other, below in taken):
            level -= 12  # names that would cover each other are put above each other
        taken.append((at, level))
        told = f"{row.policy}: {beyond:+.1%}, late {row.late_time:.3%} of the time"
        labels.append(
            joined(
                dot(x.at(row.late_time), y.at(beyond), 4.5, "share accent" if row.policy == OURS else "step", told),
                text(at + 8, level + 4, row.policy, "accent" if row.policy == OURS else None),
            )
        )
    return drawing(
        _WIDE, high, "cost against lateness",
        rungs(y, x.start, x.end, about=6, label=lambda value: f"{value:+.0%}"),
        marks(x, high - 40, [1e-5, 1e-4, 1e-3, 1e-2, 1e-1, 1.0], _part),
        path(best, "curve other") if len(best) > 1 else joined(),
        line(x.at(0.01), _TOP, x.at(0.01), high - 40, "deadline"),
        *labels,
        text(_LEFT, 12, "cost beyond the oracle's", "note"),
        text(x.end, high - 6, "part of the time that is late (logarithmic)", "note", anchor="end"),
    )  # fmt: skip


def _over_time(outcome: Outcome, values: Sequence[float]) -> list[tuple[float, float]]:
    step = outcome.hours / len(values)
    return [((place + 0.5) * step, value) for place, value in enumerate(values)]


def _part(value: float) -> str:
    return "never" if value <= _LEAST_LATE else f"{100 * value:.10g} %"


def _hours(value: float) -> str:
    return f"{short(value)} h"
