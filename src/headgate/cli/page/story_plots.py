"""The plots of a controller's story: executors, and of each query its records, its batch times and what waits."""

from collections.abc import Sequence
from statistics import fmean

from headgate.cli.page.markup import Markup
from headgate.cli.page.scales import Scale
from headgate.cli.page.story_frame import BOTTOM, LEFT, RIGHT, WIDTH, Frame, area, curve, height, thinned
from headgate.cli.page.svg import Point, line, path, rectangle, seconds, text
from headgate.model.objective import Freshness
from headgate.runtime.chronicle import Line
from headgate.runtime.timeline import BatchPoint, Level, Timeline, spans

_CUT, _ABOVE_MOST = 3.0, 1.3
"""A few long batches would flatten the rest: they are cut off at so many times the interval, or at so many times what
nine of ten batches take, whichever is more."""

EXECUTORS_KEY = (("records", "there"), ("c0", "desired"), ("share accent", "needed, as the policy sees it"))
RATES_KEY = (("c0", "came in"), ("c3", "processed, while a batch runs"))


def executors_plot(story: Timeline, frame: Frame) -> tuple[Markup, str]:
    """What was there, what was asked for and what was needed."""
    levels = (*story.there, *story.desired, *story.needed)
    y = height(max((level.executors or 0 for level in levels), default=0))
    drawn = frame.plot(
        "executors over time",
        y,
        *_filled(story.there, story.last, frame.x, y),
        *_stepped(story.needed, story.last, frame.x, y, "curve need"),
        *_stepped(story.desired, story.last, frame.x, y, "curve"),
        tick=lambda value: f"{value:g}" if value == int(value) else "",
    )
    said = "Dots on the time axis are decisions: point at one to read it."
    return drawn, said if story.needed else f"{said} What the policy needed was not written down."


def rates_plot(query: str, points: Sequence[BatchPoint], frame: Frame) -> tuple[Markup, str]:
    """How fast records came, and how fast batches worked them off."""
    came = thinned([(point.at, point.came) for point in points if point.came is not None], fmean)
    processed = thinned([(point.at, point.processed) for point in points], fmean)
    y = height(max((value for _, value in (*came.points, *processed.points)), default=0.0))
    drawn = frame.plot(
        f"records per second of {query}",
        y,
        *curve(processed.points, frame.x, y, "curve other"),
        *curve(came.points, frame.x, y, "curve"),
    )
    return drawn, _said_of(processed.each, "their average")


def times_plot(query: str, points: Sequence[BatchPoint], story: Timeline, frame: Frame) -> tuple[Markup, str]:
    """How long batches took, beside what they may and what was predicted."""
    took = thinned([(point.at, point.seconds) for point in points], max)
    target = _target(points, story)
    longest = max(value for _, value in took.points)
    outcomes = _predictions(story.lines)
    most = max(longest, target[0] if target else 0.0, *(predicted for _, _, predicted in outcomes))
    limit = most if target is None else max(_CUT * target[0], _ABOVE_MOST * _nine_of_ten(points))
    cut = most > limit
    y = height(limit / 1.12 if cut else most)
    shapes = curve(took.points, frame.x, y, "curve")
    if target is not None:
        at = y.at(target[0])
        shapes.append(line(LEFT, at, WIDTH - RIGHT, at, "deadline"))
        shapes.append(text(WIDTH - RIGHT, at - 5, f"{target[1]} {seconds(target[0])}", "note", anchor="end"))
    for begins, ends, predicted in outcomes:
        left, told = frame.x.at(begins), f"{predicted:.2f} s predicted"
        wide = max(frame.x.at(ends) - left, 6)
        shapes.append(rectangle(left, y.at(predicted) - 1, wide, 2, "share accent", told=told))
    said = [_said_of(took.each, "the longest of them")]
    if outcomes:
        said.append("Short thick lines: what was predicted for a plan, from the plan to its outcome.")
    if cut:
        said.append(f"Cut off at {seconds(round(y.high, 1))}: the longest took {seconds(round(longest, 1))}.")
    return frame.plot(f"batch times of {query}", y, *shapes, tick=seconds), " ".join(filter(None, said))


def waiting_plot(query: str, points: Sequence[BatchPoint], frame: Frame) -> tuple[Markup, str] | None:
    """Records that wait; None where sources do not tell, or none ever did."""
    known = [(point.at, float(point.waiting)) for point in points if point.waiting is not None]
    if not any(value for _, value in known):
        return None
    waiting = thinned(known, max)
    y = height(max(value for _, value in waiting.points))
    drawn = frame.plot(f"records waiting for {query}", y, *area(waiting.points, frame.x, y, "records"))
    return drawn, _said_of(waiting.each, "the most of them")


def _target(points: Sequence[BatchPoint], story: Timeline) -> tuple[float, str] | None:
    """The batch time that is wanted, where there is one, and what it is called."""
    triggers = [point.trigger for point in points if point.trigger is not None]
    if triggers:
        return triggers[-1], "trigger interval"
    objective = story.began[-1].settings.objective if story.began else None
    if isinstance(objective, Freshness):
        return float(objective.within) / 2, "half of the freshness wanted"
    return None


def _nine_of_ten(points: Sequence[BatchPoint]) -> float:
    """Seconds that nine of ten batches do not exceed; one of a few that sticks out is none of them."""
    return sorted(point.seconds for point in points)[(len(points) - 1) * 9 // 10]


def _predictions(lines: Sequence[Line]) -> list[tuple[float, float, float]]:
    """Of each plan with an outcome: when it began, when it was judged, seconds predicted."""
    began = {one.plan: one.at for one in reversed(lines) if one.kind == "decision" and one.predicted is not None}
    return [
        (began[one.plan], one.at, one.predicted)
        for one in lines
        if one.kind == "outcome" and one.predicted is not None and one.plan in began
    ]


def _said_of(each: int, how: str) -> str:
    return f"Each point stands for {each:,} batches in a row: {how}." if each > 1 else ""


# Steps.


def _corners(span: Sequence[tuple[float, float, int]], x: Scale, y: Scale) -> list[Point]:
    return [(x.at(at), y.at(executors)) for begins, ends, executors in span for at in (begins, ends)]


def _stepped(levels: Sequence[Level], until: float, x: Scale, y: Scale, class_: str) -> list[Markup]:
    return [path(_corners(span, x, y), class_) for span in spans(levels, until)]


def _filled(levels: Sequence[Level], until: float, x: Scale, y: Scale) -> list[Markup]:
    shapes = []
    for span in spans(levels, until):
        corners = _corners(span, x, y)
        shapes.append(path([(corners[0][0], BOTTOM), *corners, (corners[-1][0], BOTTOM)], "records", closed=True))
    return shapes
