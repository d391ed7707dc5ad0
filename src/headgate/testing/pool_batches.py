"""Micro-batches to try pool policies on: one operator, its tasks in waves over the executors."""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from headgate.model.columns import read_only
from headgate.model.dataflow import Dataflow
from headgate.model.microbatch import Executor, MicroBatch, SourceRead, Tasks
from headgate.policies.pool import Evidence


class PoolJob(NamedTuple):
    """A query whose truth is known. Seconds, records per second."""

    rate: float
    fixed: float = 0.1
    per_record: float = 0.0002
    tasks: int = 16
    driver: float = 0.3
    trigger: float | None = 60.0
    slots: int = 1
    tells_offsets: bool = True
    tells_executors: bool = True

    def batch(self, number: int, began: float, records: int, executors: int) -> MicroBatch:
        """Tasks of one size, wave after wave."""
        slots = executors * self.slots
        took = self.fixed + self.per_record * records / self.tasks
        wave, place = np.divmod(np.arange(self.tasks), slots)
        launched = np.round(1000 * (began + wave * took)).astype(np.int64)
        took_ms = np.full(self.tasks, round(1000 * took), np.int64)
        taken = np.diff(np.round(np.linspace(0, records, self.tasks + 1))).astype(np.int64)
        zeros = read_only(np.zeros(self.tasks, np.int64))
        ran_on = tuple(str(at // self.slots) for at in place.tolist())
        tasks = Tasks(
            np.zeros(self.tasks, np.int32), np.arange(self.tasks), ran_on,
            launched, launched + took_ms, zeros, took_ms, zeros, zeros, zeros, zeros, taken, taken, zeros,
        )  # fmt: skip
        duration = round(1000 * (self.driver + -(-self.tasks // slots) * took))
        source = SourceRead("made", "0", str(records), str(records), records, self.rate)
        there = tuple(Executor(str(at), "made", self.slots) for at in range(executors))
        return MicroBatch(
            "made", "run", "made", number, round(1000 * began), duration, {"addBatch": duration}, records,
            Dataflow.of({"map": self.tasks}, []), frozenset(), tasks, {}, 0,
            (source,) if self.tells_offsets else (), (), there if self.tells_executors else (),
        )  # fmt: skip

    def run(self, batches: int, executors: Sequence[int] | int) -> Iterator[tuple[float, Evidence]]:
        """One batch after the other, each with the time at its end and all evidence up to then (the last 40).

        `executors` are those of each batch, the last number for all that follow.
        """
        pools = [executors] if isinstance(executors, int) else list(executors)
        seen: tuple[MicroBatch, ...] = ()
        now, since = 0.0, -(self.trigger or 1.0)
        for number in range(batches):
            pool = pools[min(number, len(pools) - 1)]
            batch = self.batch(number, now, int(self.rate * (now - since)), pool)
            seen = (*seen[-39:], batch)
            since, ended = now, now + batch.duration / 1000
            now = max(ended, since + (self.trigger or 0.0))
            there = tuple(Executor(str(at), "made", self.slots) for at in range(pool))
            yield ended, Evidence(seen, there, self.slots, self.trigger)


def pool_jobs() -> dict[str, PoolJob]:
    """Too small, too large, just right, and everything that may be lacking."""
    return {
        "steady": PoolJob(3000.0),
        "nearly idle": PoolJob(10.0),
        "no input": PoolJob(0.0),
        "as soon as possible": PoolJob(3000.0, trigger=None),
        "two slots each": PoolJob(3000.0, slots=2),
        "offsets not told": PoolJob(3000.0, tells_offsets=False),
        "executors not told": PoolJob(3000.0, tells_executors=False),
    }
