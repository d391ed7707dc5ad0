"""A journal as figures over time: what came, how long batches took, how many executors there were and should be."""

from collections.abc import Iterable, Sequence

import msgspec

from headgate.control.actions import SetExecutors
from headgate.control.said import Failed, Proposed
from headgate.model.arrivals import arrivals
from headgate.model.microbatch import MicroBatch
from headgate.runtime.chronicle import Line, chronicle
from headgate.runtime.entries import Began, Cluster, Entry, Intent, Needed, Seen, Spoke
from headgate.runtime.watched import watched


class BatchPoint(msgspec.Struct, frozen=True, gc=False):
    """One batch. Seconds, records per second."""

    at: float
    """When it was seen."""
    number: int
    seconds: float
    records: int
    came: float | None
    """Records that arrived per second since the batch before; None where that one was not seen."""
    processed: float
    """Records for each second that the batch took."""
    waiting: int | None
    """Records that were there and not taken; None where sources do not tell."""
    trigger: float | None


class Level(msgspec.Struct, frozen=True, gc=False):
    """So many executors from now on; None: not known from now on."""

    at: float
    executors: int | None


class Timeline(msgspec.Struct, frozen=True):
    """All of a journal that can be drawn."""

    began: tuple[Began, ...]
    batches: dict[str, tuple[BatchPoint, ...]]
    """By name of the query."""
    there: tuple[Level, ...]
    desired: tuple[Level, ...]
    """What was asked for; of an adviser what it advised."""
    needed: tuple[Level, ...]
    """What the policy asked for, before bounds and caution."""
    lines: tuple[Line, ...]
    first: float
    last: float
    watched: float
    """Seconds in which a controller watched: not those in which the job was down."""

    @property
    def points(self) -> list[BatchPoint]:
        """Of all queries."""
        return [point for points in self.batches.values() for point in points]


def timeline(entries: Iterable[Entry | Seen]) -> Timeline | None:
    """Read once, in order; None for a journal without a batch. Of each batch only figures are kept."""
    points: dict[str, list[BatchPoint]] = {}
    before: dict[str, MicroBatch] = {}
    others: list[Entry] = []
    there, desired, needed = list[Level](), list[Level](), list[Level]()
    first = last = until = None
    seconds = 0.0
    for entry, watching in watched(entries):
        if until is not None and (isinstance(entry, Began) or not watching):
            for levels in (there, desired, needed):  # nobody looked from there to here
                levels.append(Level(until, None))
            until = None
        if watching:
            seconds += 0.0 if until is None else max(0.0, entry.at - until)
            until = entry.at
        last = entry.at
        if isinstance(entry, Seen):
            batch = entry.batch
            first = entry.at - batch.duration / 1000 if first is None else first
            points.setdefault(batch.name or batch.query, []).append(_point(entry, before.get(batch.query)))
            before[batch.query] = batch
            continue
        others.append(entry)
        match entry:
            case Cluster():
                there.append(Level(entry.at, len(entry.executors)))
            case Needed():
                needed.append(Level(entry.at, entry.executors))
            case Intent(action=SetExecutors() as action):
                desired.append(Level(entry.at, action.executors))
            case Spoke(said=Proposed() as said):
                desired.append(Level(entry.at, said.executors))
            case Spoke(said=Failed()) if watching:
                desired.append(Level(entry.at, None))
            case _:
                pass
    if first is None or last is None:
        return None
    return Timeline(
        tuple(entry for entry in others if isinstance(entry, Began)),
        {query: tuple(found) for query, found in points.items()},
        tuple(there), tuple(desired), tuple(needed), tuple(chronicle(others)), first, last, seconds,
    )  # fmt: skip


def _point(entry: Seen, before: MicroBatch | None) -> BatchPoint:
    batch = entry.batch
    follows = before is not None and batch.run == before.run and batch.number == before.number + 1
    come = arrivals([before, batch] if before is not None and follows else [batch])
    seconds = batch.duration / 1000
    return BatchPoint(
        entry.at,
        batch.number,
        seconds,
        batch.input_rows,
        come.rate if follows else None,
        batch.input_rows / max(seconds, 1e-3),
        come.waiting,
        entry.trigger,
    )


def spans(levels: Sequence[Level], until: float) -> list[list[tuple[float, float, int]]]:
    """Stretches in which it is known how many there were, each as (from, to, executors) without a gap.

    >>> spans([Level(0.0, 2), Level(5.0, 4), Level(6.0, None), Level(8.0, 1)], 9.0)
    [[(0.0, 5.0, 2), (5.0, 6.0, 4)], [(8.0, 9.0, 1)]]
    """
    found: list[list[tuple[float, float, int]]] = [[]]
    for place, level in enumerate(levels):
        end = levels[place + 1].at if place + 1 < len(levels) else until
        if level.executors is None:
            found.append([])
        else:
            found[-1].append((level.at, end, level.executors))
    return [span for span in found if span]


def executor_hours(levels: Sequence[Level], until: float) -> float:
    """Executors times hours, as far as it is known how many there were.

    >>> executor_hours([Level(0.0, 2), Level(1800.0, 4), Level(3600.0, None), Level(7200.0, 1)], 10800.0)
    4.0
    """
    return sum((end - begin) * executors for span in spans(levels, until) for begin, end, executors in span) / 3600
