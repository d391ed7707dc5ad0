"""A streaming query on a virtual cluster: the batch arithmetic of micro-batches, in virtual time, by seed.

Batches are cut by a trigger or taken as soon as possible, their stages list-scheduled on the executors that are there;
tasks take `fixed + per record * records`, times noise, times what contention does. Executors come after a while, or
not at all; they can be lost. Every batch is the same `MicroBatch` a real one would be.
"""

import math
from collections.abc import Callable, Sequence

import msgspec
import numpy as np

from headgate.model.columns import Floats, Ints, read_only
from headgate.model.dataflow import Dataflow, Edge, Operator
from headgate.model.microbatch import Executor, MicroBatch, SourceRead, Tasks
from headgate.model.schedule import ANYWHERE, Stage, scheduled


class VirtualOperator(msgspec.Struct, frozen=True):
    """One stage. Seconds."""

    name: str
    partitions: int
    fixed: float
    per_record: float
    feeders: tuple[int, ...] = ()
    selectivity: float = 1.0
    """Records out for each that came in."""
    hot: float = 0.0
    """Share of records that all go to the first partition, beyond its even share."""
    stateful: bool = False


class VirtualJob(msgspec.Struct, frozen=True):
    """A query. Seconds."""

    operators: tuple[VirtualOperator, ...]
    driver: float = 0.3
    trigger: float | None = None
    limit: int | None = None
    noise: float = 0.0
    """Standard deviation of the logarithm of a task's time."""
    slow: Callable[[int], float] | None = None
    """Tasks at once -> how many times as long each takes; None: they do not get in each other's way."""


class VirtualSpark:
    """The query, its cluster and the time."""

    def __init__(
        self,
        job: VirtualJob,
        arrived: Callable[[float], float],
        *,
        executors: int = 1,
        slots: int = 1,
        most: int = 10_000,
        joining: float = 10.0,
        seed: int = 0,
    ) -> None:
        self.job, self.arrived, self.slots, self.most, self.joining = job, arrived, slots, most, joining
        self.now, self.next_trigger = 0.0, 0.0
        self.taken = 0
        self.number = 0
        self.ids = 0
        self.there: list[Executor] = []
        self.coming: list[float] = []
        """When executors that were asked for will be there."""
        self.asked = 0
        self.dice = np.random.default_rng(seed)
        self.homes: dict[str, list[str]] = {}
        """Stateful operator -> the executor of each bin."""
        self.set_executors(executors, at_once=True)

    # What an engine can be asked to do.

    def stop_asking(self) -> None:
        """Want no more executors than there are, but for a job that has none left."""
        if self.there:
            self.set_executors(len(self.there))

    def set_executors(self, count: int, *, at_once: bool = False) -> None:
        """Have so many; those that are too many leave at once, those that lack come after a while."""
        self.asked = count
        del self.there[count:]
        self.coming = self.coming[: max(0, count - len(self.there))]
        lacking = min(count, self.most) - len(self.there) - len(self.coming)
        self.coming.extend([self.now + (0.0 if at_once else self.joining)] * max(0, lacking))
        self._join()

    def spread_bins(self) -> None:
        """Put bins evenly on the executors that are there."""
        for operator in self.job.operators:
            if operator.stateful and self.there:
                self.homes[operator.name] = [
                    self.there[partition % len(self.there)].id for partition in range(operator.partitions)
                ]

    def lose_executor(self) -> None:
        """One is gone; nobody replaces it by itself."""
        if self.there:
            del self.there[0]

    def executors(self) -> tuple[Executor, ...]:
        """Those that are there now."""
        self._join()
        return tuple(self.there)

    def _join(self) -> None:
        while self.coming and self.coming[0] <= self.now:
            self.coming.pop(0)
            self.there.append(Executor(str(self.ids), "virtual", self.slots))
            self.ids += 1

    # Time.

    def run_batch(self) -> MicroBatch:
        """Wait for the trigger and for records, run one batch, and be at its end."""
        self._wait()
        began = self.now
        if self.job.trigger is not None:
            self.next_trigger = (math.floor(began / self.job.trigger + 1e-9) + 1) * self.job.trigger
        due = int(self.arrived(began))
        end = due if self.job.limit is None else min(due, self.taken + self.job.limit)
        records, start, self.taken = end - self.taken, self.taken, end
        executors = self.executors()
        sizes = self._records(records)
        stages = [
            Stage(self._seconds(place, sizes[place], executors), operator.feeders, self._places(operator, executors))
            for place, operator in enumerate(self.job.operators)
        ]
        schedule = scheduled(stages, [executor.slots for executor in executors])
        for place, operator in enumerate(self.job.operators):
            if operator.stateful:
                self.homes[operator.name] = [executors[home].id for home in schedule.executor[place]]
        self.now = began + self.job.driver + schedule.makespan
        tasks = _tasks(began, stages, schedule.started, schedule.executor, sizes, self.job.operators, executors)
        self.number += 1
        source = SourceRead("virtual", str(start), str(end), str(due), records, records / max(self.now - began, 1e-9))
        return MicroBatch(
            "virtual", "run", "virtual", self.number - 1, round(began * 1000), round((self.now - began) * 1000),
            {"addBatch": round((self.now - began) * 1000)}, records, self._flow(),
            frozenset(one.name for one in self.job.operators if one.stateful), tasks, {}, 0, (source,), (), executors,
        )  # fmt: skip

    def _wait(self) -> None:
        """Until the trigger fires, a record is there and so is an executor."""
        trigger = self.job.trigger
        if trigger is not None:
            # The next trigger is fixed when a batch begins; one that is already past fires at once.
            self.now = max(self.now, self.next_trigger)
        for _ in range(1_000_000):
            if self.executors() and int(self.arrived(self.now)) > self.taken:
                return
            self.now += trigger or 0.1
        raise RuntimeError("no record came, or no executor")

    def _flow(self) -> Dataflow:
        operators = self.job.operators
        edges = [Edge(operators[up].name, one.name) for one in operators for up in one.feeders]
        return Dataflow([Operator(one.name, one.partitions) for one in operators], edges)

    def _records(self, records: int) -> list[Ints]:
        """Records of each task of each operator."""
        put_out: list[float] = []
        sizes = []
        sources = sum(not one.feeders for one in self.job.operators)
        for operator in self.job.operators:
            came = sum(put_out[up] for up in operator.feeders) if operator.feeders else records / sources
            even = np.full(operator.partitions, came * (1 - operator.hot) / operator.partitions)
            even[0] += came * operator.hot
            edges = np.floor(np.cumsum(even) + 1e-6).astype(np.int64)
            sizes.append(np.diff(edges, prepend=0))
            put_out.append(came * operator.selectivity)
        return sizes

    def _seconds(self, place: int, sizes: Ints, executors: Sequence[Executor]) -> Floats:
        operator = self.job.operators[place]
        at_once = min(operator.partitions, sum(executor.slots for executor in executors))
        slow = self.job.slow(at_once) if self.job.slow else 1.0
        seconds: Floats = (operator.fixed + operator.per_record * sizes.astype(np.float64)) * slow
        return seconds * self.dice.lognormal(0.0, self.job.noise, sizes.size) if self.job.noise else seconds

    def _places(self, operator: VirtualOperator, executors: Sequence[Executor]) -> tuple[int, ...]:
        if not operator.stateful or operator.name not in self.homes:
            return ()
        place_of = {executor.id: place for place, executor in enumerate(executors)}
        return tuple(place_of.get(id, ANYWHERE) for id in self.homes[operator.name])


def _tasks(
    began: float,
    stages: Sequence[Stage],
    started: Sequence[Sequence[float]],
    ran_on: Sequence[Sequence[int]],
    sizes: Sequence[Ints],
    operators: Sequence[VirtualOperator],
    executors: Sequence[Executor],
) -> Tasks:
    """The columns a real batch would have."""
    lengths = [len(stage.seconds) for stage in stages]
    launched = np.concatenate([np.array(one) for one in started]) + began
    seconds = np.concatenate([stage.seconds for stage in stages])
    records = np.concatenate(sizes)
    out = np.concatenate([np.floor(n * one.selectivity) for n, one in zip(sizes, operators, strict=True)])
    zeros = np.zeros(records.size, np.int64)

    def milliseconds(values: Floats) -> Ints:
        return read_only(np.round(values * 1000).astype(np.int64))

    return Tasks(
        np.repeat(np.arange(len(stages), dtype=np.int32), lengths),
        np.concatenate([np.arange(length) for length in lengths]),
        tuple(executors[place].id for one in ran_on for place in one),
        milliseconds(launched), milliseconds(launched + seconds), zeros, milliseconds(seconds), zeros, zeros, zeros,
        zeros, records, out.astype(np.int64), zeros,
    )  # fmt: skip
