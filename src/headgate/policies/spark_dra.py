"""The `spark-dra` policy: Spark's dynamic allocation, made for batch jobs.

    tasks pending for 1 s        ->  1 executor more, after each further second 2, 4, 8 … more,
                                     never more than all tasks that run or wait would fill
    executor without task, 60 s  ->  removed

Source: Spark's `ExecutorAllocationManager` (defaults of spark.dynamicAllocation.*).
Changed: the original looks at the scheduler ten times a second, this at a batch that is over. Tasks of a stage were
pending from its first launch to its last; each stage begins again with one, as the original does once nothing
is pending. What the executors it adds during a batch would have done to that very batch is not known. How long an
executor has been idle is told by when its last task ended, or else by when it was first seen. Where a minute passes
between two batches, all that were idle then are gone when the second begins, which is found out when it is over.
For pools only.
Fault: micro-batches that follow each other wake every executor within a minute, so it grows and does not shrink; with
longer gaps it lets all go in each of them.
Its timing is its own; Headgate's controller adds its guards when it runs it.
"""

from collections.abc import Mapping
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
    batch: tuple[str, int] | None = None
    """The same batch by run and number: what follows on it shows whether one was missed."""
    idle_since: Mapping[str, int] = {}
    """By executor of that batch, when its last task ended, or when it was first seen; in milliseconds.

    The batches that are shown do not reach back far enough: forty of one second are less than a minute.
    """


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
        last, idle_since = memory.batch, memory.idle_since
        for batch in reversed(news):
            idle_since = _still_there(batch, idle_since if last == (batch.run, batch.number - 1) else {})
            gone = _idle(idle_since, batch.began, self.idle)
            if gone:
                wanted = max(1, len(idle_since) - gone)
            for stage in _stages(batch):
                needed = -(-stage.tasks // max(1, evidence.slots_each))
                wanted = ramped(wanted, stage.pending, needed, backlog=self.backlog, again=self.again)
            idle_since = {id: _ended(batch).get(id, since) for id, since in idle_since.items()}
            last = batch.run, batch.number
        idle = _idle(idle_since, news[0].began + news[0].duration, self.idle) if news else 0
        if idle:  # of those that are there: more may be wanted than a cluster gives
            wanted = max(1, there - idle)
        seen = evidence.batches[-1].began if evidence.batches else memory.seen
        return Target(wanted, seen, last, idle_since), PoolAnswer(self.name, wanted)


class _Stage(NamedTuple):
    tasks: int
    pending: float


@once_a_batch
def _stages(batch: MicroBatch) -> tuple[_Stage, ...]:
    """Tasks of each stage, and the seconds for which some of them were pending, in the order in which stages began."""
    operator, launched = batch.tasks.operator, batch.tasks.launched
    if not operator.size:
        return ()
    count = np.bincount(operator)
    first = np.full(count.size, np.iinfo(np.int64).max)
    last = np.zeros(count.size, np.int64)
    np.minimum.at(first, operator, launched)
    np.maximum.at(last, operator, launched)
    order = [at for at in np.argsort(first, kind="stable").tolist() if count[at]]
    return tuple(_Stage(int(count[at]), float(last[at] - first[at]) / 1000) for at in order)


@once_a_batch
def _ended(batch: MicroBatch) -> dict[str, int]:
    """When the last task of each executor ended that had any."""
    ended: dict[str, int] = {}
    for id, at in zip(batch.tasks.executor, batch.tasks.finished.tolist(), strict=True):
        ended[id] = max(at, ended.get(id, at))
    return ended


def _still_there(batch: MicroBatch, idle_since: Mapping[str, int]) -> dict[str, int]:
    """Since when the executors of this batch have been idle when it begins; of new ones nobody knows more than that."""
    return {executor.id: idle_since.get(executor.id, batch.began) for executor in batch.executors}


def _idle(idle_since: Mapping[str, int], at: int, idle: float) -> int:
    """How many of them have had no task for so long by then."""
    return sum(at - since >= 1000 * idle for since in idle_since.values())
