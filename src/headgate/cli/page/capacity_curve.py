"""Predicted batch time against slots: where more of them stop paying, where there are too few, where we stand."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from headgate.cli.page.markup import Markup
from headgate.cli.page.scales import Scale
from headgate.cli.page.svg import dot, drawing, line, marks, path, rectangle, rungs, seconds, text
from headgate.model.arrivals import Arrivals
from headgate.model.capacity import Capacity, Pool, Setting
from headgate.model.inspection import Inspection
from headgate.model.keeping_up import Prospect, Wish, prospect
from headgate.model.line import Figure
from headgate.model.reasons import many

WIDTH = 468.0
_HEIGHT, _LEFT, _RIGHT, _TOP, _BOTTOM = 300.0, 56.0, 16.0, 34.0, 252.0
_FLAT = 1.02
"""Within this of the best, more slots are no longer useful."""
_ALL_OF_THEM = 20
_MUCH_TO_RUN = 15_000
"""What one prediction runs again, in tasks; from here on it is asked for fewer numbers of slots."""


class Step(NamedTuple):
    """So many slots, and how the query would fare on them."""

    slots: int
    fares: Prospect


def steps(one: Inspection, model: Capacity) -> list[Step]:
    """From one slot to about twice as many as are useful, with state spread evenly, at the present rate."""
    come, each = one.profile.arrivals, max(model.pool.slots)
    known: dict[int, Prospect] = {}

    def fares(slots: int) -> Prospect:
        if slots not in known:
            setting = Setting(pool=Pool.of(slots, each), spread_bins=True)
            known[slots] = prospect(model, come, Wish(come.rate), setting)
        return known[slots]

    marked = {model.pool.total, one.least_slots or model.pool.total}
    most = max(*(2 * slots for slots in marked), sum(operator.partitions for operator in model.operators))
    few = _to_run(model) > _MUCH_TO_RUN
    first = [2**power for power in range(0, most.bit_length(), 2 if few else 1) if 2**power < most] + [most]
    times = [(slots, said.batch.value) for slots in first if (said := fares(slots)).batch is not None]
    best = min((took for _, took in times), default=0.0)
    useful = min((slots for slots, took in times if took <= _FLAT * best), default=1)
    end = min(most, 2 * max(useful, *marked))
    tried = ({1, end} if few else _ladder(end)) | marked | {slots for slots in first if slots <= end}
    return [Step(slots, fares(slots)) for slots in sorted(tried)]


def _to_run(model: Capacity) -> int:
    """The effort of a prediction: tasks, and stages that wait for one another."""
    tasks = sum(part.size for replay in model.replays for part in replay.seconds)
    return int(tasks + len(model.replays) * len(model.operators) ** 2 / 8)


def _ladder(end: int) -> set[int]:
    """All of them, or as many as a curve needs."""
    if end <= _ALL_OF_THEM:
        return set(range(1, end + 1))
    return {round(slots) for slots in np.geomspace(1, end, _ALL_OF_THEM).tolist()}


def capacity_curve(one: Inspection, model: Capacity) -> tuple[Markup, str]:
    """The drawing, and what must be said about it."""
    tried = steps(one, model)
    deadline = _deadline(one.profile.arrivals)
    last = tried[-1].slots
    x = Scale(1 if last > _ALL_OF_THEM else 0, last, _LEFT, WIDTH - _RIGHT, log=last > _ALL_OF_THEM)
    y = _times([step.fares.batch for step in tried], one.now.batch, deadline)
    shapes = [*_too_few(tried, x), rungs(y, _LEFT, WIDTH - _RIGHT, about=5, label=seconds), *_curve(tried, x, y)]
    if deadline is not None:
        at = y.at(deadline)
        what = "trigger interval" if one.profile.arrivals.trigger else "records of a batch come in"
        shapes.append(line(_LEFT, at, WIDTH - _RIGHT, at, "deadline"))
        shapes.append(text(WIDTH - _RIGHT, at - 5, f"{what} {seconds(round(deadline, 2))}", "note", anchor="end"))
    shapes += _marked(one, model.pool.total, x, y)
    shapes.append(marks(x, _BOTTOM, _counts(last, log=x.log)))
    shapes.append(text(WIDTH - _RIGHT, _BOTTOM + 36, "slots", "note", anchor="end"))
    drawn = drawing(WIDTH, _HEIGHT, "predicted batch time against slots", *shapes)
    return drawn, _caption(one, tried, max(model.pool.slots))


def _deadline(come: Arrivals) -> float | None:
    """The batch time up to which it keeps up, where there is one."""
    if come.trigger is not None:
        return come.trigger
    return come.limit / come.rate if come.limit is not None and come.rate else None


def _times(batches: Sequence[Figure | None], now: Figure | None, deadline: float | None) -> Scale:
    """From nothing, or in powers where the slowest would hide all others."""
    known = [batch for batch in (*batches, now) if batch is not None]
    high = max([*(batch.high for batch in known), deadline or 0.0, 1e-3])
    low = max(min([*(batch.low for batch in known), high]), 1e-3)
    if high > 12 * low:
        return Scale(low / 1.5, high * 1.2, _BOTTOM, _TOP, log=True)
    return Scale(0, high * 1.1, _BOTTOM, _TOP)


def _too_few(tried: Sequence[Step], x: Scale) -> list[Markup]:
    """The part of the plot where it falls behind."""
    good = next((step.slots for step in tried if step.fares.good), None)
    behind = [step.slots for step in tried if good is None or step.slots < good]
    if not behind:
        return []
    end = x.end if good is None else (x.at(behind[-1]) + x.at(good)) / 2
    shapes = [rectangle(x.start, _TOP, end - x.start, _BOTTOM - _TOP, "gap")]
    if end - x.start > 70:
        shapes.append(text((x.start + end) / 2, _BOTTOM - 8, "falls behind", "note", anchor="middle"))
    return shapes


def _curve(tried: Sequence[Step], x: Scale, y: Scale) -> list[Markup]:
    """The range, then the line through the medians; dashed where it leads to more at once than was seen."""
    shapes: list[Markup] = []
    known = [(step.slots, step.fares.batch, step.fares.unseen) for step in tried if step.fares.batch is not None]
    if not known:
        return []
    upper = [(x.at(slots), y.at(batch.high)) for slots, batch, _ in known]
    lower = [(x.at(slots), y.at(batch.low)) for slots, batch, _ in known]
    shapes.append(path([*upper, *reversed(lower)], "range", closed=True))
    points = [(x.at(slots), y.at(batch.value)) for slots, batch, _ in known]
    first_unseen = next((place for place, (_, _, unseen) in enumerate(known) if unseen), len(known))
    if first_unseen > 1:
        shapes.append(path(points[:first_unseen], "curve"))
    if first_unseen < len(known) and len(known) > 1:
        shapes.append(path(points[max(first_unseen - 1, 0) :], "curve dashed"))
    for slots, batch, unseen in known:
        told = f"{many(slots, 'slot')}: {batch.value:.2f} s ({batch.low:.2f} to {batch.high:.2f})"
        told += ", more at once than was seen" if unseen else ""
        shapes.append(dot(x.at(slots), y.at(batch.value), 2.5, "step", told))
    return shapes


def _marked(one: Inspection, present: int, x: Scale, y: Scale) -> list[Markup]:
    """Where we are, and the least that keep up."""
    shapes = []
    least = one.least_slots
    if least is not None:
        shapes.append(line(x.at(least), _TOP - 4, x.at(least), _BOTTOM, "least"))
        shapes.append(_over(x, least, "least, and now" if least == present else "least", "note accent", 0))
    if least != present:
        shapes.append(line(x.at(present), _TOP - 4, x.at(present), _BOTTOM, "present"))
        close = least is not None and abs(x.at(least) - x.at(present)) < 90
        shapes.append(_over(x, present, "now", "note", 12 if close else 0))
    if one.now.batch is not None:
        told = f"now, {many(present, 'slot')}: {one.now.batch.value:.2f} s"
        shapes.append(dot(x.at(present), y.at(one.now.batch.value), 5, "here", told))
    return shapes


def _over(x: Scale, slots: int, said: str, class_: str, up: float) -> Markup:
    at = x.at(slots)
    anchor = "end" if at > x.end - 40 else "start" if at < x.start + 40 else "middle"
    return text(at, _TOP - 9 - up, f"{said}: {many(slots, 'slot')}", class_, anchor=anchor)


def _counts(last: int, *, log: bool) -> list[float]:
    """Whole numbers of slots."""
    if log:
        powers = range(0, last.bit_length(), 1 if last < 256 else 2)
        return [float(2**power) for power in powers if 2**power <= last]
    return [one for one in Scale(0, last, 0, 1).ticks(8) if one == int(one) and one >= 1]


def _caption(one: Inspection, tried: Sequence[Step], each: int) -> str:
    said = ["At the present rate, with state spread evenly; shaded: the range that nine batches of ten fall in."]
    if one.least_slots is None:
        said.append("No number of executors would keep up: the limit is another.")
    elif each > 1:
        said.append(f"The least is in whole executors of {many(each, 'slot')}.")
    if any(step.fares.batch is not None and step.fares.unseen for step in tried):
        said.append("Dashed: more tasks at once than were seen; if they share cores or a disk it takes longer.")
    return " ".join(said)
