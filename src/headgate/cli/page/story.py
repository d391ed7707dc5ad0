"""The page of a journal: what matters at a glance, plots over one time axis, then the story line by line."""

from collections.abc import Iterator, Sequence

from headgate.cli.local_time import moment
from headgate.cli.page.document import captioned, colour_key, document, meanings, tiles
from headgate.cli.page.markup import Markup, element, joined
from headgate.cli.page.story_frame import Frame, sentence
from headgate.cli.page.story_plots import (
    EXECUTORS_KEY,
    RATES_KEY,
    executors_plot,
    rates_plot,
    times_plot,
    waiting_plot,
)
from headgate.runtime.chronicle import Line, settings_in_words
from headgate.runtime.timeline import BatchPoint, Timeline, executor_hours

_MOST_LINES = 1000

_WORDS = (
    ("there, desired, needed", "executors that are ready for work; that were asked for; that the policy holds to be "
     "right, before bounds and before it waits whether that stays"),
    ("came in", "records that arrived for each second since the batch before: those taken, and those by which what "
     "waits has grown"),
    ("processed", "records of a batch for each second it took: while that is more than comes in, there is rest"),
    ("trigger interval", "batches begin so often; one that takes longer makes the next one late"),
    ("plan", "a change that the policy or a person decided on: of executors (asked for, there, and at last judged by "
     "the batches that ran on them), of where state lives, or a restart"),
    ("predicted, measured", "seconds a batch should take by the plan, and took once it was carried out"),
    ("watched", "how long controllers ran, without the time between two of them; of one that was killed, up to the "
     "last it wrote"),
    ("executor-hours", "executors that were there, times how long, while a controller watched"),
)  # fmt: skip


def story_page(journal: str, story: Timeline) -> str:
    """One HTML file."""
    names = ", ".join(story.batches)
    began = story.began[-1] if story.began else None
    of = "" if began is None or not began.application else f", application {began.application}"
    how = () if began is None else (element("p", f"{began.policy}: {settings_in_words(began.settings)}"),)
    section = element(
        "section",
        element("h2", names),
        element("div", f"{journal}{of}: {moment(story.first)} to {moment(story.last)}", class_="log"),
        _tiles(story),
        *how,
        *_plots(story),
        *_told(story.lines),
        class_="query",
    )
    return document(names, "headgate report", section, meanings(_WORDS))


def _tiles(story: Timeline) -> Markup:
    """The figures to take in first."""
    there = [level.executors for level in story.there if level.executors is not None]
    judged = [line for line in story.lines if line.kind == "outcome" and line.predicted and line.measured]
    off = sorted(abs((line.measured or 0.0) / (line.predicted or 1.0) - 1) for line in judged)
    plans = {line.plan for line in story.lines if line.kind in ("decision", "intent") and line.plan is not None}
    figures = [
        (_lasted(story.watched), "watched"),
        (f"{len(story.points):,}", "batches"),
        (f"{len(plans):,}", "plan" if len(plans) == 1 else "plans"),
        (f"{min(there)} to {max(there)}" if there else "?", "executors"),
        (f"{executor_hours(story.there, story.last):.1f}", "executor-hours"),
        (f"{off[len(off) // 2]:.0%}" if off else "?", "off predicted batch times (median)"),
    ]
    return tiles(figures)


def _lasted(seconds: float) -> str:
    """A stretch of time as people say it."""
    if seconds < 120:
        return f"{seconds:.0f} s"
    if seconds < 7200:
        return f"{seconds / 60:.0f} min"
    return f"{seconds / 3600:.1f} h" if seconds < 172_800 else f"{seconds / 86_400:.1f} days"


def _plots(story: Timeline) -> Iterator[Markup]:
    frame = Frame.of(story.first, story.last, [line for line in story.lines if line.kind == "decision"])
    yield element("h3", "Executors")
    yield colour_key(EXECUTORS_KEY)
    yield captioned(*executors_plot(story, frame))
    for query, points in story.batches.items():
        yield from _query(query, points, story, frame)


def _query(query: str, points: Sequence[BatchPoint], story: Timeline, frame: Frame) -> Iterator[Markup]:
    of = f" of {query}" if len(story.batches) > 1 else ""
    yield element("h3", f"Batch time{of}")
    yield captioned(*times_plot(query, points, story, frame))
    yield element("h3", f"Records per second{of}")
    yield colour_key(RATES_KEY)
    yield captioned(*rates_plot(query, points, frame))
    waiting = waiting_plot(query, points, frame)
    if waiting is not None:
        yield element("h3", f"Records waiting{of}")
        yield captioned(*waiting)


def _told(lines: Sequence[Line]) -> Iterator[Markup]:
    """What was said and done, without the routine; of a long story its end."""
    shown = [line for line in lines if not line.routine]
    yield element("h3", "What was decided and done")
    if len(shown) > _MOST_LINES:
        yield element("p", f"The last {_MOST_LINES:,} of {len(shown):,} lines; headgate history has them all.")
        shown = shown[-_MOST_LINES:]
    yield element("dl", joined(*(joined(element("dt", moment(one.at)), element("dd", _said(one))) for one in shown)))


def _said(one: Line) -> str:
    """With prediction and outcome beside each other, where the sentence itself has not both."""
    if one.kind != "decision" or one.predicted is None:
        return sentence(one)
    measured = "" if one.measured is None else f", measured {one.measured:.2f} s"
    return f"{sentence(one)}; predicted {one.predicted:.2f} s a batch{measured}"
