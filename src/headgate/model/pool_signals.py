"""The signals of a Spark query's pool, from its last batches: its executors as if they were instances of one operator.

    busy      slot time used / slot time there, from the begin of one batch to that of the next
    came      records taken, and those by which what is left behind has grown, per second in which they came
    taken     records taken, per second that the batches took, or until the next one began
    waiting   records left behind, and those that came after the next batch was due (a batch that overruns)
    pressure  1000 x the share of the input that could not be taken in time: the largest of
                growth of what is left behind / came                  (batches with a limit)
                1 - interval / batch time, where that is above 0      (batches that overrun their interval)
                1 - batch time before / batch time, on average        (batches as soon as possible that get ever longer)
    latency   time in which the records of the last batch came + its time + waiting / came

CPU time is not among them: Spark counts that of its own threads and not that of Python workers, so it would read as
idle what is not. Slot time is what there is too little or too much of.

Only batches of one run on one number of executors, the last ones, are looked at. What is worked out of a batch is
worked out once: this is asked after every batch of simulated days.
"""

from collections.abc import Sequence
from typing import NamedTuple

from headgate.model.arrivals import left_behind
from headgate.model.microbatch import MicroBatch
from headgate.model.once import once_a_batch
from headgate.model.signals import Signals

OVER = 60.0
"""Seconds of batches that are averaged."""


class _Did(NamedTuple):
    """What one batch did."""

    used: float
    """Slot-seconds."""
    most: float
    """Slot-seconds for each slot of the executor that was used most."""
    left: int | None


@once_a_batch
def _did(batch: MicroBatch) -> _Did:
    occupied = batch.tasks.occupied_seconds
    by_executor: dict[str, float] = {}
    for id, seconds in zip(batch.tasks.executor, occupied.tolist(), strict=True):
        by_executor[id] = by_executor.get(id, 0.0) + seconds
    slots = {executor.id: max(1, executor.slots) for executor in batch.executors}
    most = max((used / slots.get(id, 1) for id, used in by_executor.items()), default=0.0)
    return _Did(float(occupied.sum()), most, left_behind(batch))


def pool_signals(
    batches: Sequence[MicroBatch], executors: int, slots_each: int, trigger: float | None = None, *, missing: int = 0
) -> Signals:
    """Of these batches of one query, oldest first; `executors` are there where the batches do not say.

    At least one batch is looked at, however long ago; none at all gives signals that say nothing.
    """
    if not batches:
        return Signals(max(1, executors), missing)
    window, before = _window(batches)
    last = window[-1]
    instances = len(last.executors) or max(1, executors)
    slots = last.slots or instances * max(1, slots_each)
    did = [_did(batch) for batch in window]
    begins = [batch.began for batch in window]
    elapsed = (begins[-1] - begins[0]) / 1000 + _until_the_next(batches, trigger)
    busy = min(1.0, sum(one.used for one in did) / (slots * elapsed))
    busiest = min(1.0, max(busy, sum(one.most for one in did) / elapsed))
    taken = sum(batch.input_rows for batch in window) / elapsed
    came, growth, came_in = _rates(window, before, elapsed)
    overrun = max(0.0, last.duration / 1000 - trigger) if trigger else 0.0
    left = did[-1].left
    waiting = (left or 0) + came * overrun if left is not None or trigger else None
    return Signals(
        instances,
        missing,
        came,
        taken,
        busy,
        busiest,
        _pressure(window, trigger, came, growth),
        waiting,
        _growth(window, trigger, came, growth),
        came_in + last.duration / 1000 + ((left or 0) / came if came > 0 else 0.0),
    )


def _window(batches: Sequence[MicroBatch]) -> tuple[Sequence[MicroBatch], MicroBatch | None]:
    """The last batches that began within the time, on as many executors as the last; and the batch before them."""
    last = batches[-1]
    since, executors = last.began + last.duration - 1000 * OVER, len(last.executors)
    first = len(batches) - 1
    while first > 0:
        batch, after = batches[first - 1], batches[first]
        if batch.began < since or len(batch.executors) != executors or not _follows(after, batch):
            break
        first -= 1
    before = batches[first - 1] if first > 0 and _follows(batches[first], batches[first - 1]) else None
    return batches[first:], before


def _follows(batch: MicroBatch, before: MicroBatch) -> bool:
    return batch.run == before.run and batch.number == before.number + 1 and batch.began > before.began


def _until_the_next(batches: Sequence[MicroBatch], trigger: float | None) -> float:
    """Seconds from the begin of the last batch to that of the next, which nobody has seen: with the rest it will have.

    Without an interval that is the rest there was before it.
    """
    last = batches[-1]
    took = last.duration / 1000
    if trigger:
        return max(took, trigger)
    if len(batches) > 1 and _follows(last, batches[-2]):
        took += max(0.0, (last.began - batches[-2].began - batches[-2].duration) / 1000)
    return max(took, 1e-3)


def _rates(
    window: Sequence[MicroBatch], before: MicroBatch | None, elapsed: float
) -> tuple[float, float | None, float]:
    """Records per second that came and by which what is left behind grew; and the last gap in seconds."""
    first = before or window[0]
    counted = window if before is not None else window[1:]
    if not counted:  # a single batch: nobody knows since when its records came, so its own time is all there is
        return window[0].input_rows / elapsed, None, elapsed
    seconds = (window[-1].began - first.began) / 1000
    taken = sum(batch.input_rows for batch in counted) / seconds
    left, left_before = _did(window[-1]).left, _did(first).left
    growth = (left - left_before) / seconds if left is not None and left_before is not None else None
    previous = counted[-2] if len(counted) > 1 else first
    return max(0.0, taken + (growth or 0.0)), growth, (window[-1].began - previous.began) / 1000


def _growth(window: Sequence[MicroBatch], trigger: float | None, came: float, growth: float | None) -> float | None:
    """Of what is left behind, and of what comes while batches overrun ever longer."""
    if not trigger or len(window) < 2:
        return growth
    seconds = (window[-1].began - window[0].began) / 1000
    late = [max(0.0, batch.duration / 1000 - trigger) for batch in (window[0], window[-1])]
    return (growth or 0.0) + came * (late[1] - late[0]) / seconds


def _pressure(window: Sequence[MicroBatch], trigger: float | None, came: float, growth: float | None) -> float:
    held = growth / came if growth and came > 0 else 0.0
    if trigger:
        took = sum(batch.duration for batch in window) / (1000 * len(window))
        held = max(held, 1 - trigger / took if took > trigger else 0.0)
    elif len(window) > 2 and window[-1].duration > window[0].duration > 0:
        ratio = window[0].duration / window[-1].duration
        held = max(held, 1 - ratio ** (1 / (len(window) - 1)))
    return float(1000 * min(1.0, max(0.0, held)))
