"""The `spark-dra` policy: Spark's dynamic allocation, made for batch jobs.

    tasks pending for 1 s        ->  1 executor more, after each further second 2, 4, 8 … more,
                                     never more than all tasks that run or wait would fill
    executor without task, 60 s  ->  removed

Source: Spark's `ExecutorAllocationManager` (defaults of spark.dynamicAllocation.*).
Changed: the original looks at the scheduler ten times a second, this at a batch that is over. Tasks of a stage were
pending from its first launch to its last; each stage begins again with one, as the original does once nothing
is pending. What the executors it adds during a batch would have done to that very batch is not known. For pools only.
Fault: every micro-batch wakes every executor within a minute, so it grows and does not shrink.
Its timing is its own; Headgate's controller adds its guards when it runs it.
"""

from collections.abc import Sequence
from typing import ClassVar, NamedTuple

import msgspec
import numpy as np

from headgate.model.microbatch import MicroBatch
from headgate.model.objective import Objective
from headgate.model.once import once_a_batch
from headgate.policies.each import as_memory
from headgate.policies.pool import Evidence, PoolAnswer

_MOST_ROUNDS = 32
"""More doublings than any cluster has executors."""


class Target(msgspec.Struct, frozen=True):
    """Executors it wants, and the batch it last looked at, by when it began."""

    executors: int | None = None
    seen: int | None = None


def ramped(executors: int, pending: float, needed: int, *, backlog: float = 1.0, again: float = 1.0) -> int:
    """How many it wants after tasks were pending for so many seconds, where `needed` would run all of them at once.

    >>> [ramped(2, seconds, 100) for seconds in (0.5, 1.0, 2.0, 3.5)], ramped(2, 60.0, 10), ramped(8, 60.0, 5)
    ([2, 3, 5, 9], 10, 8)
    """
    rounds = 0 if pending < backlog else 1 + int((pending - backlog) / again)
    grown = executors + (1 << min(rounds, _MOST_ROUNDS)) - 1
    return max(executors, min(grown, needed))


class SparkDra(msgspec.Struct, frozen=True):
    """Seconds."""

    needs: ClassVar[tuple[str, ...]] = ("pending tasks", "idle executors")

    backlog: float = 1.0
    """schedulerBacklogTimeout"""
    again: float = 1.0
    """sustainedSchedulerBacklogTimeout"""
    idle: float = 60.0
    """executorIdleTimeout"""

    @property
    def name(self) -> str:
        """The name its answers carry."""
        return "spark-dra"

    def start(self) -> Target:
        """It wants what is there."""
        return Target()

    def size(self, memory: Target, evidence: Evidence, objective: Objective, now: float) -> tuple[Target, PoolAnswer]:
        """By what was pending and who was idle in the batches since it last looked."""
        del objective, now
        memory = as_memory(memory, Target)
        there = max(1, len(evidence.executors))
        wanted = memory.executors or there
        news: list[MicroBatch] = []
        for batch in reversed(evidence.batches):
            if memory.seen is not None and batch.began <= memory.seen:
                break
            news.append(batch)
        for batch in reversed(news):
            for stage in _stages(batch):
                needed = -(-stage.tasks // max(1, evidence.slots_each))
                wanted = ramped(wanted, stage.pending, needed, backlog=self.backlog, again=self.again)
        if news:
            wanted = max(1, wanted - _idle(evidence.batches, self.idle))
        seen = evidence.batches[-1].began if evidence.batches else memory.seen
        return Target(wanted, seen), PoolAnswer(self.name, wanted)


class _Stage(NamedTuple):
    tasks: int
    pending: float


@once_a_batch
def _stages(batch: MicroBatch) -> tuple[_Stage, ...]:
    """Tasks of each stage, and the seconds for which some of them were pending, in the order in which stages began."""
    tasks = batch.tasks
    stages = []
    for operator in np.unique(tasks.operator).tolist():
        launched = tasks.launched[tasks.operator == operator]
        first = int(launched.min())
        stages.append((first, _Stage(launched.size, (int(launched.max()) - first) / 1000)))
    return tuple(stage for _, stage in sorted(stages, key=lambda one: one[0]))


@once_a_batch
def _used(batch: MicroBatch) -> frozenset[str]:
    return frozenset(batch.tasks.executor)


def _idle(batches: Sequence[MicroBatch], idle: float) -> int:
    """Executors that were there and had no task for so long."""
    last = batches[-1]
    since = last.began + last.duration - 1000 * idle
    left = {executor.id for executor in last.executors}
    for batch in reversed(batches):
        if not left or batch.began + batch.duration < since:
            return len(left)
        left -= _used(batch)
        left &= {executor.id for executor in batch.executors} if left else left
    return 0  # the batches do not reach back far enough to tell
