"""What a virtual job really takes, for those who may know: batch times by size, and the least size at every moment.

Chance is averaged over a few throws of the dice, always the same ones. Times are tabulated over records, since a batch
is very nearly a straight line in them, and looked up in between.
"""

from collections.abc import Callable
from functools import lru_cache
from typing import NamedTuple

import msgspec
import numpy as np

from headgate.lab.punctuality import Deadline
from headgate.model.columns import Floats, Ints
from headgate.model.schedule import Stage, times
from headgate.simulation.batch_arithmetic import BatchArithmetic
from headgate.simulation.virtual_job import VirtualJob
from headgate.simulation.virtual_spark import VirtualSpark

_POINTS = 48
_THROWS = 5
_ONE_BY_ONE = 40
"""Executors up to which the pause of a change is tried for every pair; of larger numbers each a tenth apart."""


class TrueTimes:
    """Batch times of a job on 1 to `most` executors of `each` slots."""

    def __init__(self, job: VirtualJob, most: int, each: int, highest: float) -> None:
        self.arithmetic, self.most, self.each = BatchArithmetic(job), most, each
        self.records = np.linspace(0.0, max(highest, 1.0), _POINTS)
        """Of a batch."""
        dice = np.random.default_rng(0)
        tasks = self.arithmetic.cuts[-1]
        self._throws = [_chance(job, tasks, dice) for _ in range(_THROWS if job.noise or job.stragglers else 1)]
        self.makespans = np.array(
            [[self._makespan(records, size) for records in self.records.tolist()] for size in range(1, most + 1)]
        )
        """By size and records, before drift."""

    def _makespan(self, records: float, executors: int) -> float:
        arithmetic = self.arithmetic
        sizes = arithmetic.records(records)
        seconds = arithmetic.seconds(sizes, executors * self.each)
        took = []
        for throw in self._throws:
            tasks = seconds * throw
            stages = [
                Stage(
                    tasks[arithmetic.cuts[place] : arithmetic.cuts[place + 1]],
                    operator.feeders,
                    tuple(number % executors for number in range(operator.partitions)) if operator.stateful else (),
                )
                for place, operator in enumerate(arithmetic.job.operators)
            ]
            took.append(max(times(stages, (self.each,) * executors)[1]))
        return float(np.mean(took))

    def batches(self, records: Floats, at: Floats) -> Floats:
        """Seconds, a row for each batch of so many records at such a time, a column for each size."""
        found = np.stack([np.interp(records, self.records, row) for row in self.makespans], axis=1)
        drift = np.array([self.arithmetic.drift(moment) for moment in at.tolist()])
        seconds: Floats = self.arithmetic.driver() + found * drift[:, None]
        return seconds

    def at_most(self, seconds: float, at: Floats) -> Floats:
        """Records of a batch that takes so long on all the executors there may be, at each of these times."""
        drift = np.array([self.arithmetic.drift(moment) for moment in at.tolist()])
        longer = np.maximum.accumulate(self.makespans[-1])
        most: Floats = np.interp((seconds - self.arithmetic.driver()) / drift, longer, self.records)
        return most

    def in_cuts(self, records: Floats, at: Floats, limit: int) -> Floats:
        """As `batches`, but of so many at the most each, one after the other: seconds of all of them."""
        whole, rest = np.divmod(records, limit)
        full = self.batches(np.full(records.size, float(limit)), at)
        last = np.where(rest[:, None] > 0, self.batches(rest, at), 0.0)
        return whole[:, None] * full + last

    def carries(self, seconds: float) -> tuple[float, ...]:
        """By size, the most records of a batch that takes no longer than this."""
        within = self.arithmetic.driver() + self.makespans <= seconds
        return tuple(float(self.records[row].max(initial=1.0)) for row in within)


def _chance(job: VirtualJob, tasks: int, dice: np.random.Generator) -> Floats:
    throw = dice.lognormal(0.0, job.noise, tasks) if job.noise else np.ones(tasks)
    return np.where(dice.random(tasks) < job.stragglers, job.straggling, 1.0) * throw if job.stragglers else throw


class Needs(NamedTuple):
    """What a load asks of a job, step by step. The records of a step are those of the batch that begins at its end."""

    step: float
    """Seconds."""
    batches: Floats
    """Seconds a batch takes, by step and size."""
    with_headroom: Floats
    """The same with the headroom that is asked for on top."""
    least: Ints
    """The fewest executors that meet the objective; the most there may be where none does."""
    pauses: Floats
    """By executors before and after, how much a change adds to the first batch after it."""


def needs(
    job: VirtualJob, arrived: Callable[[float], float], lasting: float, deadline: Deadline, most: int, each: int
) -> Needs:
    """For every interval of the load."""
    step = deadline.interval
    edges = np.arange(0.0, lasting + step / 2, step)
    due = np.array([arrived(edge) for edge in edges.tolist()])
    came, at = np.diff(due), edges[1:]  # the records of an interval are processed in the batch that begins at its end
    headroom = 1 + deadline.headroom
    known = _true_times(job, most, each, _rounded_up(headroom * float(came.max(initial=1.0))))
    cut = job.limit if job.trigger is None else None
    if cut is None:
        # What all executors together cannot take in time waits for the next batch, as what a limit leaves does.
        can, limit = known.at_most(deadline.batch, at), np.inf if job.limit is None else float(job.limit)
        records, there = _admitted(came, np.minimum(can, limit))
        batches, with_headroom = known.batches(records, at), known.batches(np.minimum(there * headroom, limit), at)
    else:
        # Without a trigger one batch follows another, and a limit cuts what a step brings into several.
        batches, with_headroom = known.in_cuts(came, at, cut), known.in_cuts(came * headroom, at, cut)
    enough = with_headroom <= deadline.batch
    least = np.where(enough.any(axis=1), enough.argmax(axis=1) + 1, most)
    carried = known.carries(deadline.batch / headroom)
    return Needs(step, batches, with_headroom, least, _pauses(job, most, each, carried))


def _admitted(came: Floats, most: Floats) -> tuple[Floats, Floats]:
    """Records of each batch where it takes so many at the most, the rest waiting for the next; and those it found.

    >>> taken, there = _admitted(np.array([250.0, 0.0, 120.0, 0.0]), np.full(4, 100.0))
    >>> taken.tolist(), there.tolist()
    ([100.0, 100.0, 100.0, 70.0], [250.0, 150.0, 170.0, 70.0])
    """
    taken, there, waiting = [], [], 0.0
    for more, can in zip(came.tolist(), most.tolist(), strict=True):
        there.append(waiting + more)
        taken.append(min(can, there[-1]))
        waiting = there[-1] - taken[-1]
    return np.array(taken), np.array(there)


def _rounded_up(value: float) -> float:
    """To a quarter of a power of two, so that loads of like size share a table."""
    power = 2.0 ** np.floor(np.log2(max(value, 1.0)))
    return float(np.ceil(4 * value / power) / 4 * power)


@lru_cache(maxsize=8)
def _true_times(job: VirtualJob, most: int, each: int, highest: float) -> TrueTimes:
    return TrueTimes(job, most, each, highest)


@lru_cache(maxsize=8)
def _pauses(job: VirtualJob, most: int, each: int, carried: tuple[float, ...]) -> Floats:
    """Tried on the virtual Spark itself, with what each size after the change carries, and nothing left to chance."""
    if not (job.cold or job.bin_load):
        return np.zeros((most, most))
    sure = msgspec.structs.replace(job, noise=0.0, stragglers=0.0, drift=0.0, trigger=None, limit=None)
    tried = _tried(most)
    added = np.zeros((len(tried), len(tried)))
    for one, before in enumerate(tried):
        for other, after in enumerate(tried):
            if after != before:
                added[one, other] = _pause(sure, before, after, each, carried[after - 1])
    return added if len(tried) == most else _by_the_nearest(added, np.array(tried))


def _tried(most: int) -> list[int]:
    """Numbers of executors that are tried.

    >>> _tried(50)[38:]
    [39, 40, 44, 48, 50]
    """
    tried = list(range(1, min(most, _ONE_BY_ONE) + 1))
    while tried[-1] < most:
        tried.append(min(most, tried[-1] + tried[-1] // 10))
    return tried


def _by_the_nearest(added: Floats, tried: Ints) -> Floats:
    """For every number of executors what was tried nearest to it; within one of those, as for a step to the next."""
    sizes = np.arange(1, tried[-1] + 1)
    near = np.abs(sizes[:, None] - tried[None, :]).argmin(axis=1)
    found: Floats = added[near[:, None], near[None, :]]
    up, down = added.diagonal(1), added.diagonal(-1)
    within = near[:, None] == near[None, :]
    step = np.minimum(near, len(tried) - 2)[:, None]
    found = np.where(within & (sizes[None, :] > sizes[:, None]), up[step], found)
    return np.where(within & (sizes[None, :] < sizes[:, None]), down[step], found)


def _pause(job: VirtualJob, before: int, after: int, each: int, records: float) -> float:
    due = [1.0]
    virtual = VirtualSpark(job, lambda at: due[0], executors=before, slots=each, joining=0.0)
    virtual.spread_bins()
    virtual.run_batch()
    virtual.set_executors(after)
    virtual.spread_bins()
    took = []
    for _ in range(2):
        due[0] += max(records, 1.0)
        took.append(virtual.run_batch().duration / 1000)
    return max(0.0, took[0] - took[1])
