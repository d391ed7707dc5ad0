"""The page itself: per query what is said, the graph, the plots, the table; then what the words mean."""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from headgate.cli import inspection_sentences as say
from headgate.cli.page.batch_chart import batch_chart
from headgate.cli.page.capacity_curve import capacity_curve
from headgate.cli.page.document import captioned, colour_key, document, meanings, tiles
from headgate.cli.page.gantt import gantt, key
from headgate.cli.page.graph import graph
from headgate.cli.page.lanes import typical
from headgate.cli.page.legend import WORDS
from headgate.cli.page.markup import Markup, element
from headgate.cli.page.palette import colours
from headgate.cli.page.shares import most_uneven, shares
from headgate.model.inspection import Inspection
from headgate.model.learned_capacity import capacity
from headgate.model.limits import Balanced, Driver, Skew, SlowSink, SlowSource
from headgate.model.microbatch import MicroBatch
from headgate.model.reasons import number
from headgate.model.warm import on_the_last_pool, warm


class Subject(NamedTuple):
    """A query on the page, and what it is known from."""

    log: str
    inspection: Inspection
    batches: Sequence[MicroBatch]
    notes: Sequence[str] = ()
    """What was odd about the log, or is missing from it."""


def page(subjects: Sequence[Subject]) -> str:
    """One HTML file."""
    names = ", ".join(dict.fromkeys(one.inspection.profile.name for one in subjects))
    return document(names, "headgate inspect", *map(_query, subjects), meanings(WORDS))


def _query(subject: Subject) -> Markup:
    one = subject.inspection
    return element(
        "section",
        element("h2", one.profile.name),
        element("div", f"{subject.log}: {say.counted(one.profile)}", class_="log"),
        _tiles(one),
        _limit(one),
        *(element("p", sentence) for sentence in (say.fares(one), say.took(one.profile), say.load(one.profile))),
        *_further(one, subject.notes),
        *_what_if(one),
        *_plots(subject),
        *_table(one),
        class_="query",
    )


def _tiles(one: Inspection) -> Markup:
    """The figures to take in first."""
    now, profile = one.now, one.profile
    behind = "once nothing waits" if say.piled_up(profile) else "at the most"
    figures = [
        (f"{profile.seconds:.2f} s", "a batch takes (median)"),
        (
            number(round(profile.arrivals.rate, 1)),
            f"records/s {'are taken' if say.untold(profile.arrivals) else 'arrive'}",
        ),
        (f"{profile.slots:,}", "slots now"),
        ("none" if one.least_slots is None else f"{one.least_slots:,}", "slots at least to keep up"),
        (number(float(f"{now.carries:.3g}")), "records/s it can carry" + ("" if now.keeps_up else ": falls behind")),
        ("grows" if now.freshness is None else f"{now.freshness:.1f} s", f"age of results {behind}"),
    ]
    return tiles(figures, accent=None if now.keeps_up else 4)


def _limit(one: Inspection) -> Markup:
    calm = " calm" if isinstance(one.limits[0].limit, Balanced) else ""
    return element(
        "div",
        element("p", element("b", f"{say.limit_heading(one)}: "), say.findings(one)[0]),
        class_=f"limit-said{calm}",
    )


def _further(one: Inspection, of_the_log: Sequence[str]) -> Iterator[Markup]:
    said = [
        *(f"the log: {note}" for note in of_the_log),
        *(f"also: {finding}" for finding in say.findings(one)[1:]),
        *(f"note: {note}" for note in say.notes(one)),
        *say.states(one.profile),
        *say.cold(one.profile),
    ]
    if said:
        yield element("ul", *(element("li", sentence) for sentence in said))


def _what_if(one: Inspection) -> Iterator[Markup]:
    if one.answer is not None:
        answer, *rest = say.what_if(one)
        yield element("h3", "What if")
        yield element("p", element("b", answer))
        yield element("ul", *(element("li", sentence) for sentence in rest))


def _plots(subject: Subject) -> Iterator[Markup]:
    one, seen = subject.inspection, subject.batches
    operators, trigger = one.profile.operators, one.profile.arrivals.trigger
    counted = on_the_last_pool(warm(seen))
    limit = one.limits[0].limit
    culprit = getattr(limit, "operator", None)
    colour = colours(operators)
    yield element("h3", "Operators")
    yield captioned(*graph(operators, culprit, colour))
    yield element("h3", "Batches")
    yield captioned(*batch_chart(seen, counted, trigger))
    yield element("h3", "A typical batch")
    batch = typical(counted)
    yield colour_key(key(batch.dataflow.ids, colour))
    yield captioned(*gantt(batch, colour, waits_for_driver=isinstance(limit, Driver | SlowSink | SlowSource)))
    curve = element("div", element("h3", "Batch time against slots"), captioned(*capacity_curve(one, capacity(seen))))
    uneven = most_uneven(operators)
    if uneven is None:
        yield curve
        return
    skewed = isinstance(limit, Skew) and culprit == uneven.name
    spread = captioned(*shares(uneven, counted, is_limit=skewed))
    yield element("div", curve, element("div", element("h3", "Records by partition"), spread), class_="pair")


def _table(one: Inspection) -> Iterator[Markup]:
    culprit = getattr(one.limits[0].limit, "operator", None)
    rows = [
        element("tr", *(element("td", cell) for cell in say.row(operator)),
                class_="limit" if operator.name == culprit else None)
        for operator in one.profile.operators
    ]  # fmt: skip
    yield element("h3", "All operators")
    heading = element("thead", element("tr", *(element("th", column) for column in say.COLUMNS)))
    yield element("div", element("table", heading, element("tbody", *rows)), class_="scroll")
