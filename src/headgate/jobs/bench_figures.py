"""What the batches of a query come to: its figures in `headgate bench`. Arithmetic only.

Throughput is what whole batches read, by offsets, in the time from the end of the batch before them to the end of the
last. So it is what the query sustains, not its best batch; and of a query that falls behind its load, whose batches
grow, it is what it does, not what came. A batch that was not seen has moved the offsets all the same.

Whether a query falls behind is no matter of throughput, which is also less than the load where the last batch happens
to be a long one. It falls behind where the first event of a batch has waited longer, when the batch begins, from batch
to batch: where it reads a part p of what comes, by 1 - p of a second each second. That is taken between any two
batches, and of these slopes the median (Theil, Sen), which neither a single long batch nor a load that steps up once
moves by much.
"""

import itertools
import json
from collections.abc import Iterator, Sequence

import msgspec
import numpy as np

from headgate.jobs.bench_result import FLINK_PER_CORE, BenchPlan, Measured, Percentiles
from headgate.model.microbatch import MicroBatch
from headgate.workloads.load import Load, due_at
from headgate.workloads.query import Query

_POINTS = 20
"""Of each batch: records whose age is taken, evenly from its first to its last."""
_MILLION = 1e6
_LATER = 0.02
"""Seconds each second: a query whose events wait longer by more than that falls behind."""
_OF_A_BATCH = 0.25
"""The part of a batch's time that this must come to while it is measured: less is no more than how batches differ."""


class Ran(msgspec.Struct, frozen=True):
    """Batches of a query, and what they cost."""

    before: MicroBatch
    """The last one of the warm-up."""
    batches: list[MicroBatch]
    """Those after it; at least two."""
    cpu_seconds: float
    """From the end of the batch before them to the end of the last."""

    @property
    def seconds(self) -> float:
        """As the processor time: what a batch reads is only read when it ends."""
        return (_ended(self.batches[-1]) - _ended(self.before)) / 1000

    @property
    def events(self) -> int:
        """By offsets: a query that uses the stream twice reads it twice, and Spark counts what was read."""
        return _read_up_to(self.batches[-1]) - _read_up_to(self.before)

    @property
    def missing(self) -> tuple[int, ...]:
        """Numbers of batches between these that were not seen though they read something."""
        return tuple(
            number
            for one, following in itertools.pairwise([self.before, *self.batches])
            if _number(following.sources[0].start) > _number(one.sources[0].end)
            for number in range(one.number + 1, following.number)
        )


def measured(plan: BenchPlan, query: Query, load: Load | None, ran: Ran, processors: int) -> Measured:
    """How a query did, by its batches, on a machine with so many processors."""
    last = ran.batches[-1]
    rate = ran.events / ran.seconds
    cpu = ran.cpu_seconds / max(1, ran.events) * _MILLION
    later = later_each_second(load, ran) if load is not None else None
    return Measured(
        query.name,
        query.asks,
        len(ran.batches),
        ran.events,
        ran.seconds,
        rate,
        _percentiles([batch.duration / 1000 for batch in ran.batches]),
        _freshness(load, ran) if load is not None else None,
        sum(kept.rows for kept in last.state),
        sum(kept.stored_bytes for kept in last.state),
        None if np.isnan(cpu) else cpu,
        _asked(load, ran) if load is not None else None,
        later is not None and _falls_behind(later, ran),
        rate / max(1, min(plan.slots, processors)),
        FLINK_PER_CORE.get(query.name) if plan.workload == "nexmark" else None,
        later,
        ran.missing,
    )


def _asked(load: Load, ran: Ran) -> float:
    """Events a second that became due for these batches: from the trigger of the one before to that of the last."""
    begin, end = _triggered(ran.before), _triggered(ran.batches[-1])
    return (load.records(end) - load.records(begin)) / (end - begin)


def later_each_second(load: Load, ran: Ran) -> float:
    """Seconds that the first event of a batch has waited longer, for each that went by; the median of any two."""
    moments = np.array([_triggered(batch) for batch in (ran.before, *ran.batches)])
    waited = np.array([_waited(load, batch) for batch in (ran.before, *ran.batches)])
    one, other = np.triu_indices(len(moments), k=1)
    return float(np.median((waited[other] - waited[one]) / (moments[other] - moments[one])))


def _falls_behind(later: float, ran: Ran) -> bool:
    usual = float(np.median([batch.duration / 1000 for batch in ran.batches]))
    return later > _LATER and later * ran.seconds > _OF_A_BATCH * usual


def _waited(load: Load, batch: MicroBatch) -> float:
    """Seconds since the first event of a batch was due, when the batch began."""
    moment = _triggered(batch)
    return moment - due_at(load, _number(batch.sources[0].start) + 1, moment)


def _triggered(batch: MicroBatch) -> float:
    """In seconds after the stream began."""
    return batch.began / 1000 - float(json.loads(batch.sources[0].end)["began"])


def _ended(batch: MicroBatch) -> int:
    return batch.began + batch.duration


def _read_up_to(batch: MicroBatch) -> int:
    return max(_number(source.end) for source in batch.sources)


def _number(offset: str) -> int:
    return int(json.loads(offset)["number"]) if offset else 0


def _freshness(load: Load, ran: Ran) -> Percentiles:
    """Of events, not of batches: a large batch counts for as many as it has."""
    ages, weights = zip(*(pair for batch in ran.batches for pair in _ages(batch, load)), strict=True)
    return _percentiles(ages, weights)


def _percentiles(values: Sequence[float], weights: Sequence[float] | None = None) -> Percentiles:
    """Of as many as the weights say; that which so many per cent do not exceed."""
    parts = (50, 95, 99)
    if weights is None:
        return Percentiles(*(float(part) for part in np.percentile(values, parts)))
    found = np.percentile(values, parts, weights=np.array(weights), method="inverted_cdf")
    return Percentiles(*(float(part) for part in found))


def _ages(batch: MicroBatch, load: Load) -> Iterator[tuple[float, float]]:
    """How long before the batch's end some of its records were due, and for how many records each stands."""
    for source in batch.sources:
        start, end = _number(source.start), _number(source.end)
        ended = _ended(batch) / 1000 - json.loads(source.end)["began"]
        for number in np.linspace(start, end, _POINTS, endpoint=False):
            yield ended - due_at(load, float(number) + 1, ended), (end - start) / _POINTS
