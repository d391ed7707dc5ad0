"""The bins of a query as its batches show them: where they live, what they cost, how large they are.

A bin is one partition of a query's state: all stores of all its stateful operators with that number. Where it lives is
where its task ran.
"""

from collections.abc import Mapping, Sequence
from statistics import median

import numpy as np

from headgate.model.microbatch import MicroBatch
from headgate.model.once import once_a_batch
from headgate.model.placement import Bin
from headgate.model.work import work

_ALIKE = 1.5
"""The slowest bin takes so many times as long as the middle one before that means anything."""


@once_a_batch
def whereabouts(batch: MicroBatch) -> Mapping[int, frozenset[str]]:
    """Bin -> the executors its tasks ran on in this batch: several where the stages of two operators do not agree."""
    tasks = batch.tasks
    stateful = np.array([name in batch.stateful for name in batch.dataflow.ids])
    rows = np.flatnonzero(stateful[tasks.operator])
    ran_on = [tasks.executor[row] for row in rows.tolist()]
    alone = {executor: frozenset({executor}) for executor in set(ran_on)}
    found: dict[int, frozenset[str]] = {}
    for number, executor in zip(tasks.partition[rows].tolist(), ran_on, strict=True):
        here = alone[executor]
        there = found.get(number, here)
        found[number] = here if there is here else there | here
    return found


@once_a_batch
def homes(batch: MicroBatch) -> Mapping[int, str]:
    """Bin -> the executor that all its tasks ran on in this batch; a bin in several places has no home."""
    return {number: next(iter(there)) for number, there in whereabouts(batch).items() if len(there) == 1}


def weighed(batches: Sequence[MicroBatch], sizes: Mapping[int, int] | None = None) -> list[Bin]:
    """The bins of a query, each with the time it takes in a batch, from its last batches, and with its bytes.

    Times that differ by no more than chance makes them differ count as one. Bytes are those of `sizes`, or an even part
    of what the batch says of all: no batch tells them apart.
    """
    last = batches[-1]
    seconds: dict[int, list[float]] = {}
    for batch in batches:
        for number, taken in task_seconds(batch).items():
            seconds.setdefault(number, []).append(taken)
    middle = {number: median(seconds[number]) for number in sorted(whereabouts(last))}
    usual = median(middle.values()) if middle else 0.0
    if not usual or max(middle.values()) <= _ALIKE * usual:
        middle = dict.fromkeys(middle, usual or 1.0)
    size, known = sum(kept.stored_bytes for kept in last.state), sizes or {}
    return [Bin(number, load, known.get(number, size // len(middle))) for number, load in middle.items()]


def task_seconds(batch: MicroBatch) -> dict[int, float]:
    """Bin -> time its tasks held a slot in this batch."""
    found: dict[int, float] = {}
    for name in batch.stateful:
        did = work(name, batch)
        for row, seconds in zip(did.rows.tolist(), did.seconds.tolist(), strict=True):
            number = int(batch.tasks.partition[row])
            found[number] = found.get(number, 0.0) + seconds
    return found
