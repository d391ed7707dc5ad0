"""The `dstreams` policy: the rule Spark had for DStreams and never got for Structured Streaming.

    r = mean of batch time / batch interval over 60 s
    r >= 0.9  ->  n + max(round(r), 1)
    r <= 0.3  ->  n - 1

Source: Spark's streaming `ExecutorAllocationManager` (defaults of spark.streaming.dynamicAllocation.*).
Changed: a query that takes batches as soon as possible has no interval; half of the freshness that is asked for
stands in for it (results are at most two batches old), and where none is asked for it stays as it is. For pools only.
Its 60 s are its own; Headgate's controller adds its guards when it runs it.
"""

import math
from typing import ClassVar

import msgspec

from headgate.model.errors import InputError
from headgate.model.objective import Freshness, Objective
from headgate.policies.each import as_memory
from headgate.policies.pool import Evidence, PoolAnswer


class Last(msgspec.Struct, frozen=True):
    """When it last looked, and how many it then wanted."""

    looked: float | None = None
    wanted: int | None = None


def change(ratio: float, *, up: float = 0.9, down: float = 0.3) -> int:
    """By how many executors.

    >>> change(0.95), change(2.6), change(0.5), change(0.3)
    (1, 3, 0, -1)
    """
    if ratio >= up:
        return max(math.floor(ratio + 0.5), 1)  # Java rounds halves up
    return -1 if ratio <= down else 0


class DStreams(msgspec.Struct, frozen=True):
    """Seconds, shares of the interval."""

    needs: ClassVar[tuple[str, ...]] = ("batch time", "interval")

    every: float = 60.0
    up: float = 0.9
    down: float = 0.3

    def __post_init__(self) -> None:
        """Refuse thresholds that overlap."""
        if not 0 <= self.down < self.up:
            raise InputError(f"down {self.down} and up {self.up}: give the lower one first, from 0 up")

    @property
    def name(self) -> str:
        """The name its answers carry."""
        return "dstreams"

    def start(self) -> Last:
        """It has not looked yet."""
        return Last()

    def size(self, memory: Last, evidence: Evidence, objective: Objective, now: float) -> tuple[Last, PoolAnswer]:
        """Every minute, by the batches of that minute."""
        memory = as_memory(memory, Last)
        there = max(1, len(evidence.executors))
        looked = now if memory.looked is None else memory.looked
        kept = memory.wanted or there
        if now - looked < self.every:
            return Last(looked, kept), PoolAnswer(self.name, kept)
        interval = evidence.trigger
        if interval is None and isinstance(objective, Freshness):
            interval = float(objective.within) / 2
        took = []
        for batch in reversed(evidence.batches):
            if batch.began + batch.duration <= 1000 * looked:
                break
            took.append(batch.duration / 1000)
        if not interval or not took:
            return Last(now, kept), PoolAnswer(self.name, kept)
        wanted = max(1, there + change(sum(took) / len(took) / interval, up=self.up, down=self.down))
        return Last(now, wanted), PoolAnswer(self.name, wanted)
