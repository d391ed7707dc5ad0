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
    gaps: list[int] = []
    tasks = batch.tasks
    number = {id: place for place, id in enumerate(dict.fromkeys(tasks.executor))}
    ran_on = np.array([number[id] for id in tasks.executor], dtype=np.int64)
    together = tasks.operator.astype(np.int64) * len(number) + ran_on
    by_launch, by_finish = np.lexsort((tasks.launched, together)), np.lexsort((tasks.finished, together))
    cuts = np.flatnonzero(np.diff(together[by_launch])) + 1
    for begun, ended in zip(np.split(by_launch, cuts), np.split(by_finish, cuts), strict=True):
        launched, finished = tasks.launched[begun], tasks.finished[ended]
        if launched.size > 1:
            late = min(NOTED_LATE, 0.1 * float(np.min(tasks.finished[begun] - launched)))
            at_first = max(1, int(np.searchsorted(launched, finished[0] - late)))
            gaps.extend((launched[at_first:] - finished[: launched.size - at_first]).tolist())
    return max(float(np.median(gaps)) / 1000, -NOTED_LATE / 1000) if gaps else 0.0
