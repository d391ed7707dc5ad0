"""One batch as a Gantt chart: a row a slot, tasks coloured by operator; the gaps are the driver's time.

Skew is one bar that outlasts the others, a last wave is a few bars behind a full row, placement is rows left empty.
"""

from collections.abc import Mapping, Sequence

from headgate.cli.page.batch_chart import LEFT, RIGHT, WIDTH
from headgate.cli.page.lanes import Lane, Timeline, lanes, timeline
from headgate.cli.page.markup import Markup
from headgate.cli.page.palette import OTHERS
from headgate.cli.page.running import running
from headgate.cli.page.scales import Scale
from headgate.cli.page.svg import drawing, line, marks, rectangle, seconds, text
from headgate.model.batch_times import most_at_once
from headgate.model.microbatch import MicroBatch
from headgate.model.reasons import many

_MOST_ROWS, _MOST_TASKS = 64, 3000
"""Beyond either the rows are added up: how many tasks of each operator ran, from moment to moment."""
_TOP, _BELOW = 22.0, 24.0
_NAMES, _NAME = 96.0, 14
"""Room for the names of executors, in pixels and in characters."""


def gantt(batch: MicroBatch, colour: Mapping[str, str], *, waits_for_driver: bool) -> tuple[Markup, str]:
    """The drawing, and what must be said about it."""
    times, tasks = timeline(batch), batch.tasks.operator.size
    # Decided on what is known before: to find each of many tasks its slot among many takes long, and is not drawn then.
    rows = lanes(batch) if batch.slots <= _MOST_ROWS and tasks <= _MOST_TASKS else []
    added_up = not 0 < len(rows) <= _MOST_ROWS  # more than the slots there are said to be, where more tasks ran at once
    slots = len(rows) or max(batch.slots, most_at_once([batch]))
    left = LEFT if added_up else _NAMES
    x = Scale(0, times.lasted, left, WIDTH - RIGHT)
    if added_up:
        shapes, bottom = running(batch, times, x, _TOP, colour)
    else:
        shapes, bottom = _rows(batch, rows, times, x, colour)
    shapes = [*_gaps(times, x, bottom, accent=waits_for_driver), *shapes, marks(x, bottom, x.ticks(10), seconds)]
    label = f"when each of {tasks:,} tasks of batch {batch.number:,} ran"
    drawn = drawing(WIDTH, bottom + _BELOW, label, *shapes)
    return drawn, _caption(batch, times, slots, added_up=added_up)


def key(names: Sequence[str], colour: Mapping[str, str]) -> list[tuple[str, str]]:
    """Class and name for each colour used; the operators that share the grey share a line."""
    own = [(colour[name], name) for name in names if colour.get(name, OTHERS) != OTHERS]
    others = len(names) - len(own)
    return [*own, (OTHERS, f"{others:,} other operators")] if others else own


def _rows(
    batch: MicroBatch, rows: Sequence[Lane], times: Timeline, x: Scale, colour: Mapping[str, str]
) -> tuple[list[Markup], float]:
    high = 20.0 if len(rows) <= 24 else 11.0
    shapes: list[Markup] = []
    y, before = _TOP, None
    for lane in rows:
        if lane.executor != before:
            y += 6.0 if before is not None else 0.0
            shapes.append(text(x.start - 8, y + high - high / 4, _short_name(lane.executor), "tick", anchor="end"))
            before = lane.executor
        shapes.append(line(x.start, y + high - 1, x.end, y + high - 1, "rung"))
        shapes += [_bar(batch, row, times, x, y, high, colour) for row in lane.rows]
        y += high
    return shapes, y + 4


def _bar(
    batch: MicroBatch, row: int, times: Timeline, x: Scale, y: float, high: float, colour: Mapping[str, str]
) -> Markup:
    name = batch.dataflow.ids[batch.tasks.operator[row]]
    start, end = times.launched[row], times.finished[row]
    told = (
        f"{name}\npartition {batch.tasks.partition[row]:,} on executor {batch.tasks.executor[row]}\n"
        f"{end - start:.2f} s, from {start:.2f} to {end:.2f}\n"
        f"{batch.tasks.records_in[row]:,} records in"
    )
    if out := batch.tasks.records_out[row]:  # 0 also where a sink does not count by task: better not said
        told += f", {out:,} out"
    return rectangle(
        x.at(start), y + 1, x.at(end) - x.at(start), high - 3, f"task fill {colour.get(name, OTHERS)}", told=told
    )


def _gaps(times: Timeline, x: Scale, bottom: float, *, accent: bool) -> list[Markup]:
    """When no task ran; the long ones say how long."""
    shapes = []
    for start, end in times.idle:
        told = f"no task ran for {end - start:.2f} s, from {start:.2f} to {end:.2f}"
        left, width = x.at(start), x.at(end) - x.at(start)
        shapes.append(rectangle(left, _TOP - 4, width, bottom - _TOP + 4, "gap accent" if accent else "gap", told=told))
        if width > 44:
            shapes.append(text(left + width / 2, _TOP - 9, f"{end - start:.2f} s", "note", anchor="middle"))
    return shapes


def _short_name(executor: str) -> str:
    """What fits beside its rows: ids may be long."""
    known = f"executor {executor}"
    if len(known) <= _NAME:
        return known
    return executor if len(executor) <= _NAME else f"…{executor[1 - _NAME :]}"


def _caption(batch: MicroBatch, times: Timeline, rows: int, *, added_up: bool) -> str:
    idle = sum(end - start for start, end in times.idle)
    tasks = batch.tasks.operator.size
    said = (
        f"Batch {batch.number:,}, the one nearest the median: {many(tasks, 'task')} on {many(rows, 'slot')}, "
        f"{idle:.2f} s with no task running (shaded: the driver's time)."
    )
    if added_up:
        return (
            f"{said} Too many to draw one by one: the height is the number of tasks that ran at that moment (drawn "
            f"larger where it could not be seen)."
        )
    return f"{said} A row is a slot, a bar a task; point at one to see which."
