"""Results of `headgate bench` as a page: a bar a query."""

from headgate.cli.page.document import captioned, document
from headgate.cli.page.markup import Markup, element
from headgate.cli.page.scales import Scale, short
from headgate.cli.page.svg import drawing, marks, rectangle, text
from headgate.jobs.bench_result import BenchResult

_WIDTH, _LEFT, _RIGHT, _TOP, _ROW, _BAR = 960.0, 90.0, 90.0, 12.0, 26.0, 18.0


def bench_page(result: BenchResult) -> str:
    """One HTML file."""
    plan = result.plan
    rows = [
        element("tr", *(element("td", cell) for cell in (one.query, one.asks, f"{one.events_per_second:,.0f}")))
        for one in result.measured
    ]
    return document(
        "Headgate",
        f"bench {plan.workload}",
        captioned(_bars(result), f"events a second, {plan.in_words}"),
        element("table", *rows),
    )


def _bars(result: BenchResult) -> Markup:
    most = max((one.events_per_second for one in result.measured), default=1.0)
    x = Scale(0, most, _LEFT, _WIDTH - _RIGHT)
    shapes = []
    for place, one in enumerate(result.measured):
        y = _TOP + place * _ROW
        told = f"{one.query}: {one.asks}, {one.events_per_second:,.0f} events/s"
        shapes.append(rectangle(_LEFT, y, x.at(one.events_per_second) - _LEFT, _BAR, "batch", told=told, round_=2))
        shapes.append(text(_LEFT - 8, y + _BAR - 5, one.query, "note", anchor="end"))
        shapes.append(text(x.at(one.events_per_second) + 6, y + _BAR - 5, short(one.events_per_second), "note"))
    bottom = _TOP + len(result.measured) * _ROW
    shapes.append(marks(x, bottom, x.ticks(), short))
    return drawing(_WIDTH, bottom + 30, "events a second of each query", *shapes)
