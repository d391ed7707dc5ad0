"""Where the time of a batch went, beside its tasks: the driver's own time, empty slots, tasks side by side."""

from collections.abc import Sequence

import numpy as np

from headgate.model.microbatch import MicroBatch
from headgate.model.once import once_a_batch

NOTED_LATE = 50
"""Milliseconds by which the end of a task may be noted late."""


def most_at_once(batches: Sequence[MicroBatch], operator: str | None = None) -> int:
    """The most tasks, of one operator or of all, that ran at a time in any of the batches."""
    most = 1
    for batch in batches:
        tasks = batch.tasks
        mine = np.full(tasks.operator.size, fill_value=True)
        if operator is not None:
            mine = tasks.operator == batch.dataflow.index.get(operator, -1)
        launched, finished = np.sort(tasks.launched[mine]), np.sort(tasks.finished[mine])
        # When a task is launched, those before it that are not finished are running.
        running = np.arange(1, launched.size + 1) - np.searchsorted(finished, launched, side="right")
        most = max(most, int(running.max(initial=1)))
    return most


@once_a_batch
def driver_seconds(batch: MicroBatch) -> float:
    """Time of the batch that no task covers: the union of the tasks' intervals, taken from the whole."""
    order = np.argsort(batch.tasks.launched, kind="stable")
    launched, finished = batch.tasks.launched[order], batch.tasks.finished[order]
    ended_before = np.concatenate(([launched[0]], np.maximum.accumulate(finished)[:-1]))
    covered = np.maximum(finished - np.maximum(launched, ended_before), 0).sum()
    return max(0.0, (batch.duration - float(covered)) / 1000)


@once_a_batch
def dispatch_seconds(batch: MicroBatch) -> float:
    """How long a slot stays empty between two tasks of an operator; median, 0 if untold.

    The first task to end makes room for the first that had to wait, and so on. A few milliseconds below zero are
    possible: the driver hands out a slot before it has noted down the end of the task that left it.
    """
    tasks = batch.tasks
    number = {id: place for place, id in enumerate(dict.fromkeys(tasks.executor))}
    ran_on = np.array([number[id] for id in tasks.executor], dtype=np.int64)
    together = tasks.operator.astype(np.int64) * len(number) + ran_on
    by_launch, by_finish = np.lexsort((tasks.launched, together)), np.lexsort((tasks.finished, together))
    launched, finished = tasks.launched[by_launch], tasks.finished[by_finish]
    # All groups at once, each a stretch of these: there may be as many as tasks.
    begins = np.flatnonzero(np.diff(together[by_launch], prepend=-1))
    sizes = np.diff(begins, append=launched.size)
    shortest = np.minimum.reduceat((tasks.finished - tasks.launched)[by_launch], begins)
    first_end = finished[begins] - np.minimum(NOTED_LATE, 0.1 * shortest)
    at_first = np.maximum(1, np.add.reduceat(launched < np.repeat(first_end, sizes), begins, dtype=np.int64))
    waited = np.arange(launched.size) - np.repeat(begins, sizes) >= np.repeat(at_first, sizes)
    later = np.flatnonzero(waited)
    gaps = launched[later] - finished[later - np.repeat(at_first, sizes)[later]]
    return max(float(np.median(gaps)) / 1000, -NOTED_LATE / 1000) if gaps.size else 0.0
