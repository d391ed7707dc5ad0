"""One batch laid out in time: which task held which slot when, and when no task ran at all.

Spark says on which executor a task ran, not in which of its slots; any slot that was free tells the same story.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from headgate.model.batch_times import NOTED_LATE
from headgate.model.microbatch import MicroBatch


class Lane(NamedTuple):
    """A slot, and the rows of the tasks that it ran, in order."""

    executor: str
    rows: tuple[int, ...]


class Timeline(NamedTuple):
    """Seconds from the beginning of the batch."""

    launched: tuple[float, ...]
    finished: tuple[float, ...]
    lasted: float
    idle: tuple[tuple[float, float], ...]
    """When no task ran."""


def typical(counted: Sequence[MicroBatch]) -> MicroBatch:
    """The batch that took the time nearest to the median; of equally near ones the last."""
    middle = float(np.median([batch.duration for batch in counted]))
    return min(reversed(counted), key=lambda batch: abs(batch.duration - middle))


def timeline(batch: MicroBatch) -> Timeline:
    """From when its trigger fired; from its first task where the two clocks do not agree."""
    tasks = batch.tasks
    first, last = int(tasks.launched.min()), int(tasks.finished.max())
    within = batch.began <= first and last <= batch.began + batch.duration + 1000
    began = batch.began if within else first
    lasted = max(batch.duration, last - began)
    launched, finished = (tasks.launched - began) / 1000, (tasks.finished - began) / 1000
    order = np.argsort(launched, kind="stable")
    idle, covered = [], 0.0
    for start, end in zip(launched[order].tolist(), finished[order].tolist(), strict=True):
        if start > covered:
            idle.append((covered, start))
        covered = max(covered, end)
    if lasted / 1000 > covered:
        idle.append((covered, lasted / 1000))
    return Timeline(tuple(launched.tolist()), tuple(finished.tolist()), lasted / 1000, tuple(idle))


def lanes(batch: MicroBatch) -> list[Lane]:
    """A lane for each slot of each executor, and more where more tasks ran at once than it is said to have."""
    tasks = batch.tasks
    ids = dict.fromkeys([*(executor.id for executor in batch.executors), *tasks.executor])
    rows_of: dict[str, list[int]] = {id: [] for id in ids}
    for row in np.lexsort((tasks.finished, tasks.launched)).tolist():
        rows_of[tasks.executor[row]].append(row)
    slots = {executor.id: executor.slots for executor in batch.executors}
    found = []
    for executor, rows in rows_of.items():
        taken: list[list[int]] = [[] for _ in range(slots.get(executor, 0))]
        for row in rows:
            lane = min(taken, key=lambda one: tasks.finished[one[-1]] if one else -1, default=None)
            if lane is None or (lane and tasks.finished[lane[-1]] > tasks.launched[row] + NOTED_LATE):
                taken.append([row])
            else:
                lane.append(row)
        found += [Lane(executor, tuple(lane)) for lane in taken]
    return found
