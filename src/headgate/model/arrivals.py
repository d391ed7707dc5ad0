"""How records come to a query: at what rate, in batches cut by what, and how many are waiting.

All of it is read from the batches themselves. A log does not say which trigger a query has: batches that begin at
even distances, with rest between them, have a fixed interval; batches without rest follow one another as soon as
possible, and batches of one size to the record are cut by an admission limit.
"""

from collections.abc import Iterator, Sequence

import msgspec
import numpy as np

from headgate.model.microbatch import MicroBatch, SourceRead
from headgate.model.once import once_a_batch

_LEAST_REST = 0.03
"""Share of the time between two batches that must be rest for the trigger to be a fixed interval."""
_LEAST_BATCHES = 3
_MOST_LATELY = 12
_ALIKE = 0.2
"""Rates of two batches that differ by less are the same, but for noise."""


class Arrivals(msgspec.Struct, frozen=True):
    """How records come in. Seconds, records per second."""

    rate: float
    """Records that arrived per second: those taken, and those by which what waits has grown."""
    taken: float
    """Records that were taken per second."""
    interval: float
    """Time from one batch to the next, median."""
    trigger: float | None
    """The fixed interval at which batches begin; None where they follow one another as soon as possible."""
    limit: int | None
    """The most records a batch may take, where batches ran into one."""
    waiting: int | None
    """Records that were there and not taken, at the last batch; None where sources do not tell."""


def arrivals(batches: Sequence[MicroBatch], before: Sequence[MicroBatch] = ()) -> Arrivals:
    """Of consecutive batches of one query; a restart in between is bridged.

    `before` are earlier batches, which may have kept an interval that these no longer do: batches that take longer
    than their interval follow one another without rest, and nothing in them shows that there is one.
    """
    took = [batch.input_rows for batch in batches]
    waiting = [left_behind(batch) for batch in batches]
    gaps, taken, grown = [], 0, 0
    for place, gap, _ in _gaps(batches):
        gaps.append(gap)
        taken += took[place]
        now, before_it = waiting[place], waiting[place - 1]
        if now is not None and before_it is not None:
            grown += now - before_it
    if gaps:
        elapsed, interval = sum(gaps), float(np.median(gaps))
    else:  # a single batch, or none next to another: its own time is all there is
        taken, elapsed = sum(took), max(sum(batch.duration for batch in batches) / 1000, 1e-3)
        interval = elapsed / max(1, len(batches))
    trigger = _trigger([*before, *batches])
    return Arrivals(
        max(taken + grown, 0) / elapsed,
        taken / elapsed,
        interval,
        trigger,
        _limit(took, waiting) or _limit(*_last_of([*before, *batches])),
        waiting[-1] if waiting else None,
    )


def lately(batches: Sequence[MicroBatch]) -> Sequence[MicroBatch]:
    """The last batches, as far back as records came at the rate at which they came to the last of them.

    After a change of load these are few, and only they say what comes now; without one they are many, and noise in
    each of them counts for little.
    """
    last = batches[-_MOST_LATELY:]
    came = rates(last)
    if not came:
        return last
    # Of a batch that follows on none, nobody knows since when its records came.
    end = first = max(came)
    while first in came and abs(came[first] - came[end]) <= _ALIKE * max(came[end], 1e-9):
        first -= 1
    return last[first : end + 1]


def rates(batches: Sequence[MicroBatch]) -> dict[int, float]:
    """Records a second that came to each batch that follows on another, by its place."""
    waiting = [left_behind(batch) for batch in batches]
    came = {}
    for place, gap, _ in _gaps(batches):
        now, before = waiting[place], waiting[place - 1]
        grown = now - before if now is not None and before is not None else 0
        came[place] = (batches[place].input_rows + grown) / gap
    return came


def _gaps(batches: Sequence[MicroBatch]) -> Iterator[tuple[int, float, float]]:
    """For each batch that follows on another: its place, the time since that one began, and the rest in it."""
    for place in range(1, len(batches)):
        before, batch = batches[place - 1], batches[place]
        gap = (batch.began - before.began) / 1000
        if batch.run == before.run and batch.number == before.number + 1 and gap > 0:
            yield place, gap, gap - before.duration / 1000


def _trigger(batches: Sequence[MicroBatch]) -> float | None:
    """The interval of those batches that rested. Spark fires a moment late: a few milliseconds are rounded away."""
    all_gaps = [(gap, rest) for _, gap, rest in _gaps(batches)]
    rested = [gap for gap, rest in all_gaps if rest > max(_LEAST_REST * gap, 0.02)]
    if len(rested) < _LEAST_BATCHES - 1:
        return None
    middle = float(np.median(rested))
    # Rests of any length are waits for data, not for the clock; the fewer rested, the closer they must agree.
    apart = 0.1 if len(rested) >= 0.5 * len(all_gaps) else 0.02
    if np.median(np.abs(np.array(rested) - middle)) > apart * middle:
        return None
    rounded = round(middle / 0.05) * 0.05
    return round(rounded, 2) if abs(rounded - middle) <= max(0.02, 0.01 * middle) else middle


def _last_of(batches: Sequence[MicroBatch]) -> tuple[list[int], list[int | None]]:
    few = batches[-_LEAST_BATCHES:]
    return [batch.input_rows for batch in few], [left_behind(batch) for batch in few]


def _limit(took: Sequence[int], waiting: Sequence[int | None]) -> int | None:
    """Batches of one size to the record, none of which emptied what was waiting."""
    same = len(took) >= _LEAST_BATCHES and took[0] > 0 and len(set(took)) == 1
    return took[0] if same and all(left is not None and left > 0 for left in waiting) else None


@once_a_batch
def left_behind(batch: MicroBatch) -> int | None:
    """Records that all sources had beyond what the batch took; None if one of them does not say."""
    left = [_left(source) for source in batch.sources]
    return sum(one for one in left if one is not None) if left and None not in left else None


def _left(source: SourceRead) -> int | None:
    """Records that a source had beyond what the batch took; None where its offsets do not count records.

    They do if from start to end is as far as the rows that were read: so for Kafka, not so for files or tables.
    """
    if source.start and records_between(source.start, source.end) != source.rows:
        return None
    return records_between(source.end, source.latest)


def records_between(end: str, latest: str) -> int | None:
    """How far two offsets are apart: the differences of the whole numbers in them, added up.

    Kafka counts records per partition, other sources in one number, and some count files or versions.

    >>> records_between('{"topic":{"0":10,"1":20}}', '{"topic":{"0":15,"1":20}}')
    5
    >>> records_between("7", "9"), records_between("", "9")
    (2, None)
    """
    try:
        here, there = dict(_numbers(end)), dict(_numbers(latest))
    except (msgspec.MsgspecError, RecursionError):
        return None
    if not here or here.keys() != there.keys():
        return None
    return max(0, sum(there[path] - here[path] for path in here))


def _numbers(offset: str) -> Iterator[tuple[tuple[str, ...], int]]:
    """The whole numbers in an offset, each by its path."""
    todo: list[tuple[tuple[str, ...], object]] = [((), msgspec.json.decode(offset))] if offset else []
    while todo:
        path, value = todo.pop()
        if isinstance(value, dict):
            todo.extend(((*path, str(key)), inner) for key, inner in value.items())
        elif isinstance(value, int) and not isinstance(value, bool):
            yield path, value
