"""Batch after batch: how long each took, beside the trigger interval, and how many records it had."""

from collections.abc import Sequence

from headgate.cli.page.markup import Markup
from headgate.cli.page.scales import Scale
from headgate.cli.page.svg import drawing, line, marks, rectangle, rungs, seconds, text
from headgate.model.microbatch import MicroBatch

WIDTH, LEFT, RIGHT = 960.0, 64.0, 16.0
_TOP, _TIMES, _BETWEEN, _RECORDS, _BELOW = 16.0, 150.0, 34.0, 60.0, 40.0
_MOST_BARS, _MOST_NUMBERS = 240, 12
_CUT = 2.0
"""Batches not counted that took so many times as long as the longest counted one are cut off: they would flatten it."""


def batch_chart(seen: Sequence[MicroBatch], counted: Sequence[MicroBatch], trigger: float | None) -> tuple[Markup, str]:
    """The drawing, and what must be said about it."""
    each = -(-len(seen) // _MOST_BARS)
    groups = [seen[first : first + each] for first in range(0, len(seen), each)]
    those = {id(batch) for batch in counted}
    top = _top(seen, counted, trigger)
    x = Scale(0, len(groups), LEFT, WIDTH - RIGHT)
    times = Scale(0, top, _TOP + _TIMES, _TOP)
    below = _TOP + _TIMES + _BETWEEN
    most = max(batch.input_rows for batch in seen)
    records = Scale(0, 1.1 * most or 1, below + _RECORDS, below)
    shapes = [rungs(times, LEFT, WIDTH - RIGHT, label=seconds), rungs(records, LEFT, WIDTH - RIGHT, about=3)]
    for place, batches in enumerate(groups):
        pale = "" if any(id(batch) in those for batch in batches) else " pale"
        shapes += _bars(x, times, records, place, batches, pale)
    if trigger is not None:
        at = times.at(trigger)
        shapes.append(line(LEFT, at, WIDTH - RIGHT, at, "deadline"))
        shapes.append(text(WIDTH - RIGHT, at - 5, f"trigger interval {seconds(trigger)}", "note", anchor="end"))
    step = -(-len(groups) // _MOST_NUMBERS)
    middles = [place + 0.5 for place in range(0, len(groups), step)]
    shapes.append(marks(x, below + _RECORDS, middles, lambda place: f"{groups[int(place)][0].number:,}"))
    shapes.append(text(LEFT, below - 8, "records", "note"))
    shapes.append(text(WIDTH - RIGHT, below + _RECORDS + 34, "batch number", "note", anchor="end"))
    drawn = drawing(WIDTH, below + _RECORDS + _BELOW, f"time and records of {len(seen):,} batches", *shapes)
    return drawn, _caption(each, len(seen) - len(counted), max(batch.duration for batch in seen) / 1000 > top)


def _top(seen: Sequence[MicroBatch], counted: Sequence[MicroBatch], trigger: float | None) -> float:
    """The end of the axis of times."""
    of_interest = max(max(batch.duration for batch in counted) / 1000, trigger or 0.0, 1e-3) * 1.12
    longest = max(batch.duration for batch in seen) / 1000
    return of_interest if longest > _CUT * of_interest else max(of_interest, longest * 1.05)


def _bars(x: Scale, times: Scale, records: Scale, place: int, batches: Sequence[MicroBatch], pale: str) -> list[Markup]:
    longest = max(batches, key=lambda batch: batch.duration)
    rows = max(batch.input_rows for batch in batches)
    took = longest.duration / 1000
    left, width = x.at(place), x.at(place + 1) - x.at(place)
    gap = min(width * 0.2, 4.0)
    wide = min(width - gap, 48.0)
    left += (width - wide) / 2
    top = times.at(took)
    told = f"batch {longest.number:,}: {took:.2f} s, {longest.input_rows:,} records"
    shapes = [
        rectangle(left, top, wide, times.start - top, f"batch{pale}", told=told),
        rectangle(left, records.at(rows), wide, records.start - records.at(rows), f"records{pale}", told=told),
    ]
    if took > times.high:  # it goes on beyond the plot: say how far
        shapes.append(text(left + wide / 2, times.end - 4, seconds(round(took, 1)), "note", anchor="middle"))
    return shapes


def _caption(each: int, left_out: int, cut: bool) -> str:
    said = []
    if each > 1:
        said.append(f"Each bar stands for {each:,} batches in a row: the longest time and the most records among them.")
    if left_out:
        said.append(
            "Pale batches are not counted: the first of a run or after executors came or went, or on other slots than "
            "the last."
        )
    if cut:
        said.append("Bars with a figure on top go on beyond the plot.")
    return " ".join(said)
