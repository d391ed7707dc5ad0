"""The capacity of a query: how long its batches would take on other executors, at another size, cut otherwise.

The batches that ran are run again in virtual time: their tasks, with the times they took, are scheduled on the pool
in question (`schedule`), and the time in which no task ran is added. So skew, last waves and noise are in the answer,
as they were in the batch, and the spread over batches is the answer's own spread. What changes is changed task by
task: more records take more time by the operator's cost per record, other partitions take what the fitted line says,
more tasks at once take longer by what was seen of contention.

    occupancy of a task = fixed + per record * records           (fitted line, `line`)
    batch = driver + makespan of its stages on the pool

With no fixed cost, no driver time and even partitions this is the work divided by the slots, which is DS2's answer
for slots that all operators share.
"""

from functools import lru_cache
from operator import mul
from statistics import median
from typing import Self

import msgspec
import numpy as np

from headgate.model.columns import Floats
from headgate.model.contention import Contention
from headgate.model.line import Figure, Line
from headgate.model.schedule import ANYWHERE, Stage, times


class Pool(msgspec.Struct, frozen=True):
    """Executors, by the slots each has.

    >>> Pool.of(slots=8, each=3)
    Pool(slots=(3, 3, 2))
    """

    slots: tuple[int, ...]

    @classmethod
    def of(cls, slots: int, each: int) -> Self:
        """So many slots on executors of one size; the last has what is left."""
        whole, rest = divmod(max(1, slots), max(1, each))
        return cls((each,) * whole + ((rest,) if rest else ()))

    @property
    def total(self) -> int:
        """Tasks that run at a time."""
        return sum(self.slots)


class Setting(msgspec.Struct, frozen=True):
    """What a prediction is asked for; what is None stays as it was measured."""

    pool: Pool | None = None
    records: float | None = None
    """Records of a batch, over all sources."""
    partitions: int | None = None
    """Of every operator behind a shuffle."""
    bins: int | None = None
    """Of every operator with state, whatever `partitions` says."""
    exchanges: int | None = None
    """Of every operator behind a shuffle that has no state, whatever `partitions` says."""
    source_partitions: int | None = None
    """Of every operator that reads a source."""
    spread_bins: bool = False
    """State spread evenly over the executors, instead of where it lies."""
    even: bool = False
    """Every partition with the same number of records: what skew costs, by leaving it out."""
    in_proportion: bool = False
    """Where tasks were too alike to tell fixed cost from cost per record, take it all as cost per record: the reading
    that promises most. Without it the one that promises least is taken."""

    @property
    def most_partitions(self) -> int:
        """The largest number of partitions that is asked for; 0 where none is."""
        return max(self.partitions or 0, self.bins or 0, self.exchanges or 0)


AS_MEASURED = Setting()


class Prediction(msgspec.Struct, frozen=True):
    """Seconds."""

    batch: Figure
    """Median over the batches run again, and the range that holds nine tenths of them."""
    driver: float
    stages: tuple[float, ...]
    """How long each operator took from ready to over, in the order of `Capacity.operators`."""
    unseen: bool
    """More tasks at once than were ever seen: how they slow each other down is not known."""


class OperatorCapacity(msgspec.Struct, frozen=True):
    """What scaling needs to know of an operator."""

    name: str
    feeders: tuple[int, ...]
    stateful: bool
    line: Line | None
    """Slot time of a task against its records; None where they were too alike to tell."""
    growth: float
    """Records out grow with this power of records in: 1 where each brings its own, less where they are combined."""
    contention: Contention
    partitions: int
    source: bool
    """Whether it reads the stream; a table that the stream is joined with is read by an operator that does not."""

    def asked_partitions(self, setting: Setting) -> int | None:
        """How many partitions it is to have; None for as many as it has."""
        if self.source:
            return setting.source_partitions
        return (setting.bins if self.stateful else setting.exchanges) or setting.partitions


class Replay(msgspec.Struct, frozen=True, eq=False):
    """One batch to run again; lists by operator."""

    driver: float
    records: float
    seconds: tuple[Floats, ...]
    taken: tuple[Floats, ...]
    """Records in, one a task."""
    put_out: tuple[float, ...]
    """Records out, over all tasks."""
    homes: tuple[tuple[int, ...], ...]


class Capacity(msgspec.Struct, frozen=True, eq=False):
    """A query, ready to be asked."""

    operators: tuple[OperatorCapacity, ...]
    pool: Pool
    """What it runs on now; from the executors there, or else from the most tasks that ran at a time."""
    records: float
    """Records of a batch, median."""
    dispatch: float
    """Time a slot stays empty between two tasks of a stage."""
    replays: tuple[Replay, ...]

    @property
    def crowded(self) -> bool:
        """Whether tasks are known to get in each other's way: fewer at once would take less time each."""
        return any(operator.contention.crowded for operator in self.operators)

    def predict(self, setting: Setting = AS_MEASURED) -> Prediction:
        """How long a batch takes in this setting."""
        pool = setting.pool or self.pool
        slower = self._slower(setting, pool)
        runs = [self._run_again(replay, setting, pool, slower) for replay in self.replays]
        totals = [driver + makespan for driver, makespan, _ in runs]
        return Prediction(
            Figure(median(totals), _quantile(totals, 0.05), _quantile(totals, 0.95)),
            median([driver for driver, _, _ in runs]),
            tuple(median(lasted) for lasted in zip(*(lasted for _, _, lasted in runs), strict=True)),
            any(
                self._at_once(place, setting, pool) > operator.contention.most_at_once
                for place, operator in enumerate(self.operators)
            ),
        )

    def _slower(self, setting: Setting, pool: Pool) -> list[float]:
        """For each operator, how many times as long its tasks would take because of others beside them."""
        return [
            operator.contention.slowdown(self._at_once(place, setting, pool))
            / operator.contention.slowdown(self._at_once(place, AS_MEASURED, self.pool))
            for place, operator in enumerate(self.operators)
        ]

    def _run_again(
        self, replay: Replay, setting: Setting, pool: Pool, slower: list[float]
    ) -> tuple[float, float, tuple[float, ...]]:
        """Driver time, makespan, and time of each stage."""
        factors = self._growth_of_records(replay, setting)
        stages = []
        for place, operator in enumerate(self.operators):
            seconds = self._seconds(place, replay, setting, factors[place])
            if not seconds.size:  # it did not run in that batch
                stages.append(Stage(seconds, operator.feeders))
                continue
            homes = self._homes(place, replay, setting, pool, seconds.size)
            held = np.maximum(seconds * slower[place] + self.dispatch, 0.0)
            stages.append(Stage(held, operator.feeders, homes))
        began, over = times(stages, pool.slots)
        return replay.driver, max(over, default=0.0), tuple(np.subtract(over, began).tolist())

    def _growth_of_records(self, replay: Replay, setting: Setting) -> list[float]:
        """For each operator, how many times the records it took then it would take now."""
        asked = setting.records
        at_source = 1.0 if asked is None or not replay.records else asked / replay.records
        factors: list[float] = []
        for operator in self.operators:
            feeders = operator.feeders
            weights = [replay.put_out[up] for up in feeders]
            if operator.source or not sum(weights):
                factors.append(at_source if operator.source or feeders else 1.0)
            else:
                grown = [factors[up] ** self.operators[up].growth for up in feeders]
                factors.append(sum(map(mul, grown, weights)) / sum(weights))
        return factors

    def _seconds(self, place: int, replay: Replay, setting: Setting, factor: float) -> Floats:
        """Slot time of the tasks of an operator, without contention."""
        operator, seconds, taken = self.operators[place], replay.seconds[place], replay.taken[place]
        partitions = operator.asked_partitions(setting)
        recut = setting.even or (partitions is not None and partitions != seconds.size)
        if not seconds.size or not (recut or factor != 1.0):
            return seconds
        asked = cut_otherwise(taken, partitions or taken.size, even=setting.even) if recut else taken
        asked = asked * factor
        if operator.line is not None:
            fixed, per_record = max(operator.line.base.value, 0.0), max(operator.line.slope.value, 0.0)
            if not recut:  # what the line does not explain stays with its task, in proportion
                explained = fixed + per_record * taken
                return seconds * np.where(
                    explained > 0, (fixed + per_record * asked) / np.maximum(explained, 1e-9), 1.0
                )
            return fixed + per_record * asked
        # Batches too alike to tell. More records take more time in proportion; fewer, or the same in more pieces, take
        # as long as now, unless the hopeful reading is asked for.
        least = 0.0 if setting.in_proportion else 1.0
        if not recut:
            return seconds * max(factor, least)
        middle, records = float(np.mean(seconds)), max(float(np.mean(taken)), 1.0)
        scaled: Floats = middle * np.maximum(asked / records, least)
        return scaled

    def _homes(self, place: int, replay: Replay, setting: Setting, pool: Pool, tasks: int) -> tuple[int, ...]:
        if not self.operators[place].stateful:
            return ()
        if setting.spread_bins or tasks != len(replay.homes[place]):
            return _dealt_out(tasks, len(pool.slots))
        return tuple(home if home < len(pool.slots) else ANYWHERE for home in replay.homes[place])

    def _at_once(self, place: int, setting: Setting, pool: Pool) -> int:
        """How many tasks of an operator run at a time at the most."""
        operator = self.operators[place]
        partitions = operator.asked_partitions(setting) or operator.partitions
        slots = pool.total
        if operator.stateful and not setting.spread_bins:
            held = {home for replay in self.replays for home in replay.homes[place]}
            slots = sum(pool.slots[home] for home in held if 0 <= home < len(pool.slots)) or slots
        return min(partitions, slots)


@lru_cache(maxsize=256)
def _dealt_out(tasks: int, executors: int) -> tuple[int, ...]:
    """Tasks at one executor after the other, in turns."""
    return tuple(task % executors for task in range(tasks))


def _quantile(values: list[float], part: float) -> float:
    """Between the two values it falls between; for a handful of them numpy takes a hundred times as long.

    >>> _quantile([3.0, 1.0, 2.0], 0.25)
    1.5
    """
    ordered = sorted(values)
    place = part * (len(ordered) - 1)
    below = int(place)
    above = min(below + 1, len(ordered) - 1)
    return ordered[below] + (ordered[above] - ordered[below]) * (place - below)


def cut_otherwise(taken: Floats, partitions: int, *, even: bool) -> Floats:
    """The same records in another number of partitions.

    What a partition has beyond the middle one stays together: a hot key cannot be cut.

    >>> cut_otherwise(np.array([10.0, 10.0, 10.0, 50.0]), 8, even=False).tolist()
    [45.0, 5.0, 5.0, 5.0, 5.0, 5.0, 5.0, 5.0]
    """
    total = float(taken.sum())
    if even:
        return np.full(partitions, total / partitions)
    beyond = np.sort(np.maximum(taken - np.median(taken), 0.0))[::-1]
    cut = np.full(partitions, (total - float(beyond.sum())) / partitions)
    kept = min(partitions, beyond.size)
    cut[:kept] += beyond[:kept]
    cut[-1] += float(beyond[kept:].sum())
    return cut
