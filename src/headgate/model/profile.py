"""A query's profile: what its batches together say about each operator, and about the driver.

The first batches of a run are left out: they start JVMs and Python workers and load state, and say nothing about the
next ones. Fixed cost and cost per record are told apart only where batches of different size were seen; where they
were not, the profile says so instead of guessing.
"""

from collections.abc import Sequence

import msgspec
import numpy as np

from headgate.model.columns import Bools, Floats
from headgate.model.microbatch import MicroBatch

WARM_UP = 3
"""Batches of a run that are not counted, where there are enough others."""
_LEAST_SPREAD = 1.25
"""How many times the smallest batch the largest must be for a line through them to mean anything."""
_MOST_PAIRS = 200


class Cost(msgspec.Struct, frozen=True):
    """A figure with the range in which the middle half of the evidence lies."""

    value: float
    low: float
    high: float


class OperatorProfile(msgspec.Struct, frozen=True):
    """One operator over the batches counted; per batch unless it says otherwise. Seconds."""

    name: str
    stateful: bool
    tasks: int
    records_in: float
    records_out: float
    fan_out: float | None
    """Rows that its busiest plan node put out for each record that came in: what partial aggregation hides."""
    busy: float
    """Slot time that its tasks held."""
    useful: float
    cpu: float
    largest_share: float
    """Part of the records that the largest partition had."""
    largest_partition: int
    bytes_spilled: float
    fixed_cost: Cost | None
    """Slot time of a task without records; None where batches of one size cannot tell."""
    record_cost: Cost | None


class QueryProfile(msgspec.Struct, frozen=True):
    """One query."""

    query: str
    name: str
    batches: int
    counted: int
    seconds: float
    """Median time of a batch."""
    records: float
    """Records of a batch, over all sources: mean, as everything about operators is."""
    records_per_second: float
    driver: float
    """Median time of a batch in which no task ran."""
    attempts_lost: int
    operators: tuple[OperatorProfile, ...]


def profiles(batches: Sequence[MicroBatch]) -> tuple[QueryProfile, ...]:
    """A profile of each query, in order of first appearance."""
    of_query: dict[str, list[MicroBatch]] = {}
    for batch in batches:
        of_query.setdefault(batch.query, []).append(batch)
    return tuple(_profile(query, seen) for query, seen in of_query.items())


def _profile(query: str, seen: Sequence[MicroBatch]) -> QueryProfile:
    counted = _warm(seen)
    seconds = np.array([batch.duration / 1000 for batch in counted])
    records = np.array([batch.input_rows for batch in counted], np.float64)
    # The batch with the most operators first: it has them in their order; others may lack some.
    fullest = sorted(counted, key=lambda batch: -len(batch.dataflow.operators))
    names = dict.fromkeys(name for batch in fullest for name in batch.dataflow.ids)
    return QueryProfile(
        query,
        counted[-1].name,
        len(seen),
        len(counted),
        float(np.median(seconds)),
        float(records.mean()),
        float(records.sum() / seconds.sum()) if seconds.sum() else 0.0,
        float(np.median([_driver_seconds(batch) for batch in counted])),
        sum(batch.attempts_lost for batch in seen),
        tuple(_operator(name, counted) for name in names),
    )


def _warm(seen: Sequence[MicroBatch]) -> list[MicroBatch]:
    """Without the first batches of each run, if that leaves any."""
    place: dict[str, int] = {}
    warm = []
    for batch in seen:
        place[batch.run] = place.get(batch.run, 0) + 1
        if place[batch.run] > WARM_UP:
            warm.append(batch)
    return warm or list(seen)


def _driver_seconds(batch: MicroBatch) -> float:
    """Time of the batch that no task covers: the union of the tasks' intervals, taken from the whole."""
    order = np.argsort(batch.tasks.launched, kind="stable")
    launched, finished = batch.tasks.launched[order], batch.tasks.finished[order]
    ended_before = np.concatenate(([launched[0]], np.maximum.accumulate(finished)[:-1]))
    covered = np.maximum(finished - np.maximum(launched, ended_before), 0).sum()
    return max(0.0, (batch.duration - float(covered)) / 1000)


def _operator(name: str, counted: Sequence[MicroBatch]) -> OperatorProfile:
    """Means over all batches counted; one in which the operator did not run had none of it."""
    batches = [batch for batch in counted if name in batch.dataflow.index]
    rows = [batch.tasks.operator == batch.dataflow.index[name] for batch in batches]
    records = [batch.tasks.records_in[mine] for batch, mine in zip(batches, rows, strict=True)]
    occupied = [batch.tasks.occupied_seconds[mine] for batch, mine in zip(batches, rows, strict=True)]
    came_in = float(sum(int(part.sum()) for part in records))
    share, partition = _largest(batches, rows)
    put_out = [max((node.rows for node in batch.nodes.get(name, ())), default=0) for batch in batches]
    fixed, per_record = _costs(
        np.array([float(np.mean(part)) for part in records]), np.array([float(np.mean(part)) for part in occupied])
    )

    def per_batch(values: Sequence[float]) -> float:
        return float(np.sum(values)) / len(counted)

    return OperatorProfile(
        name,
        any(name in batch.stateful for batch in batches),
        int(np.median([len(part) for part in records])),
        came_in / len(counted),
        per_batch([_records_out(batch, name, mine) for batch, mine in zip(batches, rows, strict=True)]),
        sum(put_out) / came_in if came_in and any(put_out) else None,
        per_batch([float(part.sum()) for part in occupied]),
        per_batch([float(b.tasks.useful_seconds[mine].sum()) for b, mine in zip(batches, rows, strict=True)]),
        per_batch([float(b.tasks.cpu_ns[mine].sum()) / 1e9 for b, mine in zip(batches, rows, strict=True)]),
        share,
        partition,
        per_batch([int(batch.tasks.bytes_spilled[mine].sum()) for batch, mine in zip(batches, rows, strict=True)]),
        fixed,
        per_record,
    )


def _records_out(batch: MicroBatch, name: str, mine: Bools) -> int:
    """What its tasks wrote; of a sink that does not count, what its last plan node put out."""
    written = int(batch.tasks.records_out[mine].sum())
    nodes = batch.nodes.get(name, ())
    return written or (nodes[-1].rows if nodes else 0)


def _largest(batches: Sequence[MicroBatch], rows: Sequence[Bools]) -> tuple[float, int]:
    """The largest partition's share of all records, and which it is."""
    totals: dict[int, int] = {}
    for batch, mine in zip(batches, rows, strict=True):
        for partition, records in zip(
            batch.tasks.partition[mine].tolist(), batch.tasks.records_in[mine].tolist(), strict=True
        ):
            totals[partition] = totals.get(partition, 0) + records
    total = sum(totals.values())
    if not total:
        return 0.0, -1
    # Of equally large ones the first, so that the answer does not depend on the order of tasks.
    partition = min(totals, key=lambda one: (-totals[one], one))
    return totals[partition] / total, partition


def _costs(records: Floats, seconds: Floats) -> tuple[Cost | None, Cost | None]:
    """Fixed cost and cost per record of a task, by the median slope over pairs of batches (Theil and Sen).

    A slow batch or two, such as a garbage collection makes, pull a least-squares line; they do not pull a median.
    """
    records, seconds = records[-_MOST_PAIRS:], seconds[-_MOST_PAIRS:]
    if records.size < 3 or records.max() < _LEAST_SPREAD * max(records.min(), 1.0):
        return None, None
    one, other = np.triu_indices(records.size, 1)
    apart = np.abs(records[one] - records[other]) >= 0.1 * records.max()
    slopes = (seconds[one] - seconds[other])[apart] / (records[one] - records[other])[apart]
    if slopes.size < 3:
        return None, None
    slope = float(np.median(slopes))
    bases = seconds - slope * records
    return _cost(bases), _cost(slopes)


def _cost(values: Floats) -> Cost:
    low, middle, high = np.quantile(values, (0.25, 0.5, 0.75)).tolist()
    return Cost(middle, low, high)
