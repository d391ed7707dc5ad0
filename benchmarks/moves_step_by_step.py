"""What each step of a migration adds to its batch, beside a batch with the same bins in the same places.

A step is carried out by itself. The batch in which its bins are loaded, less the one after it, in which nothing is
loaded and everything else is the same, is what the step adds; and the task of each of its bins, taken in the same way,
is what loading that bin takes. The batch after that is one more in which nothing moves, so the difference of these two
is what chance makes of such a difference. The next step is asked for while that one runs.

All of it lies between two snapshots of the state (`MigratingQuery.rested`). What that leaves out: snapshots and uploads
that fall together with a move; and what one step of a migration does to the next, since users' migrations have no batch
in between. The migrations that are drawn and timed beside these are whole ones.
"""

import math
import statistics
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from headgate.model.bins import homes, task_seconds
from headgate.model.microbatch import Executor, MicroBatch
from headgate.model.migration import LoadTime, Strategy, migration
from headgate.model.placement import Bin
from migrating_query import MigratingQuery

A_STEP = 3
"""Batches: with the loads, without, and the one in which the next step is asked for."""
TRIMMED = 0.2
"""The part of the samples that is left out of a mean, on each side."""


class Sample(NamedTuple):
    """One step."""

    adds: float
    """Seconds to its batch."""
    loads: tuple[float, ...]
    """Seconds to the task of each of its bins."""
    chance: float | None
    """Seconds between two batches after it, in which nothing moved; None where the next step was there already."""


class Mean(NamedTuple):
    """Of samples, without the largest and the smallest; and its standard error."""

    value: float
    error: float

    def __str__(self) -> str:
        """In seconds."""
        return f"{self.value:.2f} +- {self.error:.2f} s"


def mean(samples: Sequence[float]) -> Mean:
    """A trimmed one, with its error by the winsorised deviation (Yuen).

    >>> print(mean([1.0, 1.0, 1.2, 1.2, 9.0]))
    1.13 +- 0.08 s
    """
    ordered, count = sorted(samples), len(samples)
    cut = math.floor(TRIMMED * count)
    kept = ordered[cut : count - cut]
    pulled = [min(max(one, kept[0]), kept[-1]) for one in ordered]
    error = statistics.stdev(pulled) / ((1 - 2 * TRIMMED) * math.sqrt(count)) if count > 1 else math.inf
    return Mean(statistics.mean(kept), error)


def step_by_step(
    query: MigratingQuery,
    strategy: Strategy,
    executors: Sequence[Executor],
    leaving: Sequence[Executor],
    loading: LoadTime,
    allowed: float,
) -> list[Sample]:
    """Migrate to these executors; a sample for each step whose bins all came in one batch."""
    bins = [Bin(one.number, bytes=one.bytes) for one in query.bins()]
    now = homes(query.batches[-1])
    planned = migration(bins, now, executors, strategy, loading, allowed, leaving).steps
    query.let_go()
    query.rested(A_STEP * (len(planned) + 1))
    steps = [carried_out(query, {move.bin.number: move.target for move in step.moves}) for step in planned]
    query.more(1)
    found, ends = [], [*(place for place, _ in steps[1:]), len(query.batches)]
    for (place, to), end in zip(steps, ends, strict=True):
        now = homes(query.batches[place])
        if all(now.get(number) == home for number, home in to.items()):
            found.append(sample(query.batches[place:end], to))
    return found


def carried_out(query: MigratingQuery, to: Mapping[int, str]) -> tuple[int, Mapping[int, str]]:
    """Move these bins, and wait for the batch after it; the place of the first batch that had one of them there."""
    before = len(query.batches)
    query.move("sudden", to)
    place = next(
        number
        for number, batch in enumerate(query.batches[before:], before)
        if any(homes(batch).get(moved) == home for moved, home in to.items())
    )
    query.until(lambda: len(query.batches) > place + 1)
    return place, to


def sample(batches: Sequence[MicroBatch], to: Mapping[int, str]) -> Sample:
    """From the batch with the loads on, until the next step."""
    loaded, control, *further = batches
    tasks, usual = task_seconds(loaded), task_seconds(control)
    return Sample(
        seconds(loaded) - seconds(control),
        tuple(tasks[number] - usual[number] for number in to),
        seconds(control) - seconds(further[0]) if further else None,
    )


def seconds(batch: MicroBatch) -> float:
    """That it took."""
    return batch.duration / 1000
