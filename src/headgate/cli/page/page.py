"""The page itself: per query what is said, the graph, the plots, the table; then what the words mean.

Nothing on it is fetched from anywhere and nothing on it runs: text, drawings and one style sheet, in one file.
"""

from collections.abc import Iterator, Sequence
from importlib.resources import files
from typing import NamedTuple

from headgate.cli import inspection_sentences as say
from headgate.cli.page.batch_chart import batch_chart
from headgate.cli.page.capacity_curve import capacity_curve
from headgate.cli.page.gantt import gantt, key
from headgate.cli.page.graph import graph
from headgate.cli.page.lanes import typical
from headgate.cli.page.legend import WORDS
from headgate.cli.page.markup import Markup, element, joined
from headgate.cli.page.palette import colours
from headgate.cli.page.shares import most_uneven, shares
from headgate.cli.page.svg import drawing, rectangle
from headgate.model.inspection import Inspection
from headgate.model.learned_capacity import capacity
from headgate.model.limits import Balanced, Driver, Skew, SlowSink, SlowSource
from headgate.model.microbatch import MicroBatch
from headgate.model.reasons import number
from headgate.model.warm import on_the_last_pool, warm

_HEAD = Markup(
    '<meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">'
    # Whatever a name in a log might try: a browser takes nothing from elsewhere for this page, and runs nothing in it.
    "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">"
)


class Subject(NamedTuple):
    """A query on the page, and what it is known from."""

    log: str
    inspection: Inspection
    batches: Sequence[MicroBatch]


def page(subjects: Sequence[Subject]) -> str:
    """One HTML file."""
    names = ", ".join(dict.fromkeys(one.inspection.profile.name for one in subjects))
    style = Markup(files("headgate.cli.page").joinpath("page.css").read_text(encoding="utf-8"))
    head = element("head", _HEAD, element("title", f"{names}: headgate inspect"), element("style", style))
    body = element(
        "body",
        element("header", element("h1", "headgate inspect")),
        element("main", *map(_query, subjects), _legend()),
    )
    return f'<!doctype html>\n<html lang="en">{head}{body}</html>'


def _query(subject: Subject) -> Markup:
    one = subject.inspection
    return element(
        "section",
        element("h2", one.profile.name),
        element("div", f"{subject.log}: {say.counted(one.profile)}", class_="log"),
        _tiles(one),
        _limit(one),
        *(element("p", sentence) for sentence in (say.fares(one), say.took(one.profile), say.load(one.profile))),
        *_further(one),
        *_what_if(one),
        *_plots(subject),
        *_table(one),
        class_="query",
    )


def _tiles(one: Inspection) -> Markup:
    """The figures to take in first."""
    now, profile = one.now, one.profile
    tiles = [
        (f"{profile.seconds:.2f} s", "a batch takes (median)"),
        (number(round(profile.arrivals.rate, 1)), "records/s arrive"),
        (f"{profile.slots:,}", "slots now"),
        ("none" if one.least_slots is None else f"{one.least_slots:,}", "slots at least to keep up"),
        (number(float(f"{now.carries:.3g}")), "records/s it can carry" + ("" if now.keeps_up else ": falls behind")),
        ("grows" if now.freshness is None else f"{now.freshness:.1f} s", "age of results at the most"),
    ]
    behind = not now.keeps_up
    return element(
        "div",
        *(
            element("div", element("b", figure), element("span", of), class_=f"tile{' accent' * (behind and at == 4)}")
            for at, (figure, of) in enumerate(tiles)
        ),
        class_="tiles",
    )


def _limit(one: Inspection) -> Markup:
    calm = " calm" if isinstance(one.limits[0].limit, Balanced) else ""
    return element(
        "div",
        element("p", element("b", f"{say.limit_heading(one)}: "), say.findings(one)[0]),
        class_=f"limit-said{calm}",
    )


def _further(one: Inspection) -> Iterator[Markup]:
    said = [
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
    yield _figure(*graph(operators, culprit, colour))
    yield element("h3", "Batches")
    yield _figure(*batch_chart(seen, counted, trigger))
    yield element("h3", "A typical batch")
    batch = typical(counted)
    yield _key(key(batch.dataflow.ids, colour))
    yield _figure(*gantt(batch, colour, waits_for_driver=isinstance(limit, Driver | SlowSink | SlowSource)))
    curve = element("div", element("h3", "Batch time against slots"), _figure(*capacity_curve(one, capacity(seen))))
    uneven = most_uneven(operators)
    if uneven is None:
        yield curve
        return
    skewed = isinstance(limit, Skew) and culprit == uneven.name
    spread = _figure(*shares(uneven, counted, is_limit=skewed))
    yield element("div", curve, element("div", element("h3", "Records by partition"), spread), class_="pair")


def _figure(drawn: Markup, said: str) -> Markup:
    caption = (element("figcaption", said),) if said else ()
    return element("figure", element("div", drawn, class_="scroll"), *caption)


def _key(entries: Sequence[tuple[str, str]]) -> Markup:
    return element("ul", *(element("li", _swatch(colour), name, title=name) for colour, name in entries), class_="key")


def _swatch(colour: str) -> Markup:
    return drawing(11, 11, "", rectangle(0, 0, 11, 11, f"fill {colour}", round_=2))


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


def _legend() -> Markup:
    words = joined(*(joined(element("dt", word), element("dd", meaning)) for word, meaning in WORDS))
    return element("details", element("summary", "What the words mean"), element("dl", words), open="")
