"""A streaming query on a virtual cluster: the batch arithmetic of micro-batches, in virtual time, by seed.

Batches are cut by a trigger or taken as soon as possible, their stages list-scheduled on the executors that are there;
tasks take `fixed + per record * records`, times noise, times what contention does. Executors come after a while, or
not at all; they can be lost. Every batch is the same `MicroBatch` a real one would be, and names its host "virtual".

What is not simulated: the network, memory, garbage collection, speculative and failed attempts, and data itself.
"""

import math
from collections.abc import Callable, Mapping, Sequence

import numpy as np
from msgspec.structs import replace

from headgate.model.columns import Floats, Ints, read_only
from headgate.model.dataflow import Dataflow, Edge, Operator
from headgate.model.errors import InputError, did_you_mean
from headgate.model.microbatch import Executor, MicroBatch, SourceRead, Tasks
from headgate.model.placement import Bin, placement
from headgate.model.schedule import ANYWHERE, Schedule, Stage, in_turns, scheduled
from headgate.simulation.batch_arithmetic import BatchArithmetic
from headgate.simulation.virtual_job import VirtualJob, VirtualOperator

__all__ = ["VirtualJob", "VirtualOperator", "VirtualSpark"]

_LOOKS_EVERY = 0.1
"""Seconds, where there is no trigger and nothing to take."""
_PATIENCE = 1_000_000
"""Triggers in vain after which nothing will ever come."""


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
        losing: float | None = None,
        paid_until: float = math.inf,
        seed: int = 0,
    ) -> None:
        self.arrived, self.slots, self.most, self.joining, self.losing = arrived, slots, most, joining, losing
        self.paid_until = paid_until
        self.now, self.next_trigger = 0.0, 0.0
        self.taken = 0
        self.number = 0
        self.ids = 0
        self.runs = 0
        self.there: list[Executor] = []
        self.coming: list[float] = []
        """When executors that were asked for will be there."""
        self.asked = 0
        self.dice = np.random.default_rng(seed)
        self.homes: dict[str, list[str]] = {}
        """Stateful operator -> the executor of each bin."""
        self.replaced_by = 0.0
        """When an executor that was lost has been replaced, by the cluster itself."""
        self.cold: set[str] = set()
        """Executors that came after the beginning and have run nothing yet."""
        self.moved: dict[str, set[int]] = {}
        """Stateful operator -> bins that find their state elsewhere in the next batch."""
        self.slot_seconds = 0.0
        """Held until now, or until nobody counts any more; an executor is held from the moment it is asked for."""
        self.nothing_waited = 0.0
        """When a trigger last found nothing to take: until then results were complete."""
        self._held_until = self._looked_for_loss = 0.0
        self._known: tuple[Executor, ...] = ()
        self._use(job)
        self.set_executors(executors, at_once=True)

    def _use(self, job: VirtualJob) -> None:
        self.job, self.arithmetic = job, BatchArithmetic(job)
        names = [one.name for one in job.operators]
        edges = [Edge(names[up], one.name) for one in job.operators for up in one.feeders]
        self._flow = Dataflow([Operator(one.name, one.partitions) for one in job.operators], edges)
        self._stateful = frozenset(one.name for one in job.operators if one.stateful)

    # What an engine can be asked to do.

    def stop_asking(self) -> None:
        """Want no more executors than there are, but for a job that has none left."""
        if self.there:
            self.set_executors(len(self.there))

    def set_executors(self, count: int, *, at_once: bool = False) -> None:
        """Have so many; those that are too many leave at once, those that lack come after a while."""
        self._bill()
        self.asked = count
        del self.there[count:]
        self.coming = self.coming[: max(0, count - len(self.there))]
        lacking = min(count, self.most) - len(self.there) - len(self.coming)
        self.coming.extend([self.now + (0.0 if at_once else self.joining)] * max(0, lacking))
        self._join()
        if at_once:
            self.cold.clear()

    def spread_bins(self) -> None:
        """Put bins evenly on the executors that are there; with as few moves as that takes, where moving costs."""
        for operator in self.job.operators:
            if operator.stateful and self.there:
                self.homes[operator.name] = self._spread(operator)

    def _spread(self, operator: VirtualOperator) -> list[str]:
        if not self.job.bin_load:
            return [self.there[number % len(self.there)].id for number in range(operator.partitions)]
        now = dict(enumerate(self.homes.get(operator.name, ())))
        target = placement([Bin(number) for number in range(operator.partitions)], now, self.there)
        self.moved.setdefault(operator.name, set()).update(one for one in now if now[one] != target[one])
        return [target[number] for number in range(operator.partitions)]

    def lose_executor(self) -> None:
        """One is gone; nobody replaces it by itself."""
        self._bill()
        if self.there:
            del self.there[0]

    def restart(self, partitions: Mapping[str, int]) -> None:
        """Stop, cut operators into other numbers of partitions, and start again: a pause and another run.

        Shares of partitions that were known one by one are not known of others: those are even.
        """
        names = [one.name for one in self.job.operators]
        for name, count in partitions.items():
            if name not in names:
                raise InputError(f'there is no operator "{name}"{did_you_mean(name, names)}')
            if count < 1:
                raise InputError(f"{name}={count}: give at least 1 partition")
        cut = tuple(
            replace(one, partitions=partitions[one.name], shares=())
            if partitions.get(one.name, one.partitions) != one.partitions
            else one
            for one in self.job.operators
        )
        self._use(replace(self.job, operators=cut))
        self.now += self.job.restart
        self.runs += 1
        self.number = 0
        self.homes, self.moved = {}, {}

    def executors(self) -> tuple[Executor, ...]:
        """Those that are there now."""
        self._join()
        if len(self._known) != len(self.there) or any(map(_another, self._known, self.there)):
            self._known = tuple(self.there)
        return self._known

    def _join(self) -> None:
        while self.coming and self.coming[0] <= self.now:
            self.coming.pop(0)
            self.there.append(Executor(str(self.ids), "virtual", self.slots))
            self.cold.add(str(self.ids))
            self.ids += 1

    def _bill(self) -> None:
        """Slots are held for the time that went by."""
        held, now = len(self.there) + len(self.coming), min(self.now, self.paid_until)
        self.slot_seconds += max(0.0, now - self._held_until) * held * self.slots
        self._held_until = now

    # Time.

    def run_batch(self) -> MicroBatch:
        """Wait for the trigger and for records, run one batch, and be at its end."""
        if not self.wait(self.now + _PATIENCE * (self.job.trigger or _LOOKS_EVERY)):
            raise RuntimeError("no record came, or no executor")
        began = self.now
        self._perhaps_lose(began)
        job, arithmetic = self.job, self.arithmetic
        if job.trigger is not None:
            self.next_trigger = (math.floor(began / job.trigger + 1e-9) + 1) * job.trigger
        due = int(self.arrived(began))
        end = due if job.limit is None else min(due, self.taken + job.limit)
        records, start, self.taken = end - self.taken, self.taken, end
        executors = self.executors()
        sizes = arithmetic.records(records)
        seconds = self._by_chance(arithmetic.seconds(sizes, len(executors) * self.slots, began))
        homes = [self._places(operator, executors) for operator in job.operators]
        if self.cold or self.moved:
            self._slower_at_first(seconds, homes, executors)
        cuts = arithmetic.cuts
        stages = [
            Stage(seconds[cuts[place] : cuts[place + 1]], operator.feeders, homes[place])
            for place, operator in enumerate(job.operators)
        ]
        schedule = scheduled(stages, [executor.slots for executor in executors])
        for place, operator in enumerate(job.operators):
            if operator.stateful:
                self.homes[operator.name] = [executors[home].id for home in schedule.executor[place]]
        self.now = began + arithmetic.driver() + schedule.makespan
        self._bill()
        self.number += 1
        took = round((self.now - began) * 1000)
        source = SourceRead("virtual", str(start), str(end), str(due), records, records / max(self.now - began, 1e-9))
        return MicroBatch(
            "virtual", f"run {self.runs}" if self.runs else "run", "virtual", self.number - 1, round(began * 1000),
            took, {"addBatch": took}, records, self._flow, self._stateful,
            self._tasks(began, seconds, sizes, schedule, executors), {}, 0, (source,), (), executors,
        )  # fmt: skip

    def wait(self, until: float) -> bool:
        """Until the trigger fires, a record is there and so is an executor: whether a batch can begin by this time.

        If not, it is `until`, and what is there was held up to then.
        """
        # The next trigger is fixed when a batch begins; one that is already past fires at once.
        at = self.now if self.job.trigger is None else max(self.now, self.next_trigger)
        while at <= until + 1e-6:
            self.now = at
            came = int(self.arrived(at)) > self.taken
            if came and self.executors():
                return True
            if not came:
                self.nothing_waited = at
            at += self.job.trigger or _LOOKS_EVERY
            self.next_trigger = at
        self.now = max(self.now, until)
        self._bill()
        return False

    def _perhaps_lose(self, now: float) -> None:
        """One of several executors, at moments that know nothing of each other; the last one stays."""
        since, self._looked_for_loss = now - self._looked_for_loss, now
        if self.losing and len(self.there) > 1 and self.dice.random() < -math.expm1(-since / self.losing):
            self.lose_executor()
            # A cluster starts another one for it, as long as as many are asked for.
            self.replaced_by = now + self.joining
            self.coming.append(self.replaced_by)

    def _by_chance(self, seconds: Floats) -> Floats:
        job = self.job
        if job.noise:
            seconds = seconds * self.dice.lognormal(0.0, job.noise, seconds.size)
        if job.stragglers:
            seconds = np.where(self.dice.random(seconds.size) < job.stragglers, job.straggling * seconds, seconds)
        return seconds

    def _slower_at_first(
        self, seconds: Floats, homes: Sequence[tuple[int, ...]], executors: Sequence[Executor]
    ) -> None:
        """What new executors and bins that moved add to their first tasks.

        A stage that finds all slots free deals its first tasks out in turns, so whose they will be is known.
        """
        cuts, job = self.arithmetic.cuts, self.job
        cold = {place for place, one in enumerate(executors) if one.id in self.cold} if job.cold else set()
        turns = in_turns(tuple(one.slots for one in executors)) if cold else ()
        for place, operator in enumerate(job.operators):
            begin = cuts[place]
            here = homes[place] or turns[: operator.partitions]
            left = dict.fromkeys(cold, self.slots)
            for task, home in enumerate(here):
                if left.get(home):
                    left[home] -= 1
                    seconds[begin + task] += job.cold
            for number in self.moved.get(operator.name, ()):
                seconds[begin + number] += job.bin_load
        self.cold.clear()
        self.moved.clear()

    def _places(self, operator: VirtualOperator, executors: Sequence[Executor]) -> tuple[int, ...]:
        if not operator.stateful or operator.name not in self.homes:
            return ()
        place_of = {executor.id: place for place, executor in enumerate(executors)}
        found = tuple(place_of.get(id, ANYWHERE) for id in self.homes[operator.name])
        if ANYWHERE in found and self.job.bin_load:
            gone = {number for number, home in enumerate(found) if home == ANYWHERE}
            self.moved.setdefault(operator.name, set()).update(gone)
        return found

    def _tasks(
        self, began: float, seconds: Floats, sizes: Ints, schedule: Schedule, executors: Sequence[Executor]
    ) -> Tasks:
        """The columns a real batch would have."""
        arithmetic = self.arithmetic
        launched = np.array([start for one in schedule.started for start in one]) + began
        ids = [executor.id for executor in executors]
        zeros = read_only(np.zeros(sizes.size, np.int64))
        running = _milliseconds(seconds)
        return Tasks(
            arithmetic.operator, arithmetic.partition,
            tuple([ids[place] for one in schedule.executor for place in one]),
            _milliseconds(launched), _milliseconds(launched + seconds), zeros, running, zeros, zeros, zeros,
            zeros, read_only(sizes), read_only(arithmetic.put_out(sizes)), zeros,
        )  # fmt: skip


def _milliseconds(values: Floats) -> Ints:
    return read_only(np.rint(values * 1000).astype(np.int64))


def _another(one: Executor, other: Executor) -> bool:
    return one is not other
