"""The arithmetic of one batch of a virtual job: records of each task, and how long each holds its slot.

    records of a task = records that reach its operator * its share, in whole records
    seconds of a task = (fixed + per record * records) * contention * drift

Chance, cold executors and moving bins are the engine's; what is here is the job's own truth, which an oracle may know.
All tasks of a batch lie in one array, operator after operator, so that a batch costs a handful of array operations.
"""

import math
from collections.abc import Sequence
from itertools import accumulate

import numpy as np

from headgate.model.columns import Floats, Ints, read_only
from headgate.model.contention import Contention
from headgate.simulation.virtual_job import VirtualJob, VirtualOperator


class BatchArithmetic:
    """A job, made ready to be asked again and again.

    >>> job = VirtualJob((VirtualOperator("map", 2, fixed=1.0, per_record=0.1),))
    >>> BatchArithmetic(job).seconds(BatchArithmetic(job).records(20.0), slots=4).tolist()
    [2.0, 2.0]
    """

    def __init__(self, job: VirtualJob) -> None:
        self.job = job
        lengths = [one.partitions for one in job.operators]
        self.cuts: list[int] = [0, *accumulate(lengths)]
        """Where the tasks of each operator begin, and where the last ones end."""
        self.operator = read_only(np.repeat(np.arange(len(lengths), dtype=np.int32), lengths))
        self.partition = read_only(np.concatenate([np.arange(length) for length in lengths]))
        self._shares = [_shares(one) for one in job.operators]
        self._up_to = np.concatenate([np.cumsum(shares) for shares in self._shares])
        self._firsts = np.array(self.cuts[:-1])
        self._fixed = _by_task([one.fixed for one in job.operators], lengths)
        self._per_record = _by_task([one.per_record for one in job.operators], lengths)
        self.selectivity = _by_task([one.selectivity for one in job.operators], lengths)
        self._distinct = _by_task([one.distinct for one in job.operators], lengths)
        self._saturates = bool(self._distinct.any())
        self._weights = sum(one.weight for one in job.operators if not one.feeders)
        self._slow_at: dict[int, Floats | float] = {}

    def records(self, records: float) -> Ints:
        """Records in, one a task."""
        came = np.array(self._reach(records))
        edges = np.floor(came[self.operator] * self._up_to + 1e-6)
        sizes = edges.copy()
        sizes[1:] -= edges[:-1]
        sizes[self._firsts] = edges[self._firsts]
        whole: Ints = sizes.astype(np.int64)
        return whole

    def put_out(self, sizes: Ints) -> Ints:
        """Records out, one a task."""
        out = sizes * self.selectivity
        if self._saturates:
            most = np.maximum(self._distinct, 1e-9)
            out = np.where(self._distinct > 0, most * -np.expm1(-out / most), out)
        whole: Ints = np.floor(out + 1e-9).astype(np.int64)
        return whole

    def seconds(self, sizes: Ints, slots: int, at: float = 0.0) -> Floats:
        """How long each task holds its slot where so many slots are there, at this time of the day."""
        took: Floats = (self._fixed + self._per_record * sizes) * self._slowdown(slots)
        return took * self.drift(at) if self.job.drift else took

    def drift(self, at: float) -> float:
        """How many times its usual cost everything has at this time."""
        return 1.0 + self.job.drift * math.sin(2 * math.pi * at / self.job.drift_period)

    def driver(self) -> float:
        """Seconds of the driver for a batch."""
        return self.job.driver + self.job.driver_per_task * self.cuts[-1]

    def _reach(self, records: float) -> list[float]:
        """Records that reach each operator."""
        reach: list[float] = []
        out: list[float] = []
        for operator, shares in zip(self.job.operators, self._shares, strict=True):
            read = records * operator.weight / self._weights
            came = sum(out[up] for up in operator.feeders) if operator.feeders else read
            reach.append(came)
            if operator.distinct:
                tasks = operator.distinct * -np.expm1(-came * operator.selectivity * shares / operator.distinct)
                out.append(float(tasks.sum()))
            else:
                out.append(came * operator.selectivity)
        return reach

    def _slowdown(self, slots: int) -> Floats | float:
        """How many times as long tasks take because of those beside them; by operator, since some have few tasks."""
        known = self._slow_at.get(slots)
        if known is None:
            job = self.job
            factors = []
            for one in job.operators:
                at_once = min(one.partitions, slots)
                slow = job.slow(at_once) if job.slow else 1.0
                if job.cores is not None:
                    slow *= max(1.0, at_once / job.cores)
                factors.append(slow * Contention(one.contention).slowdown(at_once))
            known = 1.0 if all(one == 1.0 for one in factors) else np.array(factors)[self.operator]
            self._slow_at[slots] = known
        return known


def _by_task(of_operator: Sequence[float], lengths: Sequence[int]) -> Floats:
    return np.repeat(np.array(of_operator, np.float64), lengths)


def _shares(operator: VirtualOperator) -> Floats:
    """Part of the records of each partition."""
    if operator.shares:
        return np.array(operator.shares) / sum(operator.shares)
    even = np.full(operator.partitions, (1 - operator.hot) / operator.partitions)
    even[0] += operator.hot
    return even
