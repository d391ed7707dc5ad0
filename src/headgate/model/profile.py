"""A query's profile: what its batches together say about each operator, about the driver, and about the state it keeps.

The first batches of a run and after a change of executors are left out (`warm`). Fixed cost and cost per record are
told apart only where tasks of different size were seen; where they were not, the profile says so instead of guessing.
"""

from collections.abc import Sequence

import msgspec
import numpy as np

from headgate.model.arrivals import Arrivals, arrivals
from headgate.model.batch_times import driver_seconds, most_at_once
from headgate.model.cold import ColdStart, cold_start
from headgate.model.columns import Bools
from headgate.model.line import Figure, line_through
from headgate.model.microbatch import Executor, MicroBatch
from headgate.model.warm import on_the_last_pool, warm


class StateProfile(msgspec.Struct, frozen=True):
    """What an operator keeps from batch to batch, over all its bins; seconds a batch, added up over tasks."""

    rows: int
    bytes: int
    bins: int
    updating: float
    committing: float
    bins_on: dict[str, int]
    """Executor -> how many of its bins live there, in the last batch."""


class OperatorProfile(msgspec.Struct, frozen=True):
    """One operator over the batches counted; per batch unless it says otherwise. Seconds."""

    name: str
    feeders: tuple[str, ...]
    """The operators whose output it reads; none for a source."""
    sink: bool
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
    fetch_wait: float
    gc: float
    largest_share: float
    """Part of the records that the largest partition had."""
    largest_partition: int
    bytes_spilled: float
    fixed_cost: Figure | None
    """Slot time of a task without records, with its 95 % interval; None where tasks were too alike to tell."""
    record_cost: Figure | None
    true_rate: float | None
    """Records per second of useful time of one task."""
    state: StateProfile | None


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
    most_records: int
    """Records of the largest batch counted."""
    arrivals: Arrivals
    driver: float
    """Median time of a batch in which no task ran."""
    phases: dict[str, float]
    """Median time of each phase, by the driver's own account."""
    slots: int
    """Tasks that can run at a time; the most that did where nothing says how many can."""
    executors: tuple[Executor, ...]
    attempts_lost: int
    cold: ColdStart | None
    """What new executors cost, where some were seen to start."""
    operators: tuple[OperatorProfile, ...]


def profile(seen: Sequence[MicroBatch]) -> QueryProfile:
    """A profile of one query; of the batches on the pool it had last, which is the one to decide about."""
    counted = on_the_last_pool(warm(seen))
    last = counted[-1]
    # The batch with the most operators first: it has them in their order; others may lack some.
    fullest = sorted(counted, key=lambda batch: -len(batch.dataflow.operators))
    names = dict.fromkeys(name for batch in fullest for name in batch.dataflow.ids)
    phases = dict.fromkeys(phase for batch in counted for phase in batch.phases)
    return QueryProfile(
        last.query,
        last.name,
        len(seen),
        len(counted),
        float(np.median([batch.duration / 1000 for batch in counted])),
        float(np.mean([batch.input_rows for batch in counted])),
        max(batch.input_rows for batch in counted),
        arrivals(counted, before=[batch for batch in seen if batch.number < counted[0].number]),
        float(np.median([driver_seconds(batch) for batch in counted])),
        {phase: float(np.median([batch.phases.get(phase, 0) for batch in counted])) / 1000 for phase in phases},
        last.slots or most_at_once(counted),
        last.executors,
        sum(batch.attempts_lost for batch in seen),
        cold_start(seen),
        tuple(_operator(name, counted) for name in names),
    )


def _operator(name: str, counted: Sequence[MicroBatch]) -> OperatorProfile:
    """Means over all batches counted; one in which the operator did not run had none of it."""
    ran = [batch for batch in counted if name in batch.dataflow.index]
    mine = [batch.tasks.operator == batch.dataflow.index[name] for batch in ran]
    records = [batch.tasks.records_in[rows] for batch, rows in zip(ran, mine, strict=True)]
    occupied = [batch.tasks.occupied_seconds[rows] for batch, rows in zip(ran, mine, strict=True)]
    useful = sum(float(batch.tasks.useful_seconds[rows].sum()) for batch, rows in zip(ran, mine, strict=True))
    came_in = sum(int(part.sum()) for part in records)
    share, partition = _largest(ran, mine)
    put_out = sum(max((node.rows for node in batch.nodes.get(name, ())), default=0) for batch in ran)
    line = line_through(np.concatenate(records).astype(np.float64), np.concatenate(occupied))
    edges = ran[-1].dataflow.edges

    def per_batch(column: str) -> float:
        total = sum(getattr(batch.tasks, column)[rows].sum() for batch, rows in zip(ran, mine, strict=True))
        return float(total) / len(counted)

    return OperatorProfile(
        name,
        tuple(edge.source for edge in edges if edge.target == name),
        all(edge.source != name for edge in edges),
        any(name in batch.stateful for batch in ran),
        int(np.median([part.size for part in records])),
        came_in / len(counted),
        sum(_records_out(batch, name, rows) for batch, rows in zip(ran, mine, strict=True)) / len(counted),
        put_out / came_in if came_in and put_out else None,
        per_batch("occupied_seconds"),
        useful / len(counted),
        per_batch("cpu_ns") / 1e9,
        per_batch("fetch_wait") / 1000,
        per_batch("gc") / 1000,
        share,
        partition,
        per_batch("bytes_spilled"),
        line.base.within(0.0) if line else None,
        line.slope.within(0.0) if line else None,
        came_in / useful if useful else None,
        _state(name, ran),
    )


def _records_out(batch: MicroBatch, name: str, mine: Bools) -> int:
    """What its tasks wrote; of a sink that does not count, what its last plan node put out."""
    written = int(batch.tasks.records_out[mine].sum())
    nodes = batch.nodes.get(name, ())
    return written or (nodes[-1].rows if nodes else 0)


def _state(name: str, ran: Sequence[MicroBatch]) -> StateProfile | None:
    """Rows and bytes as of the last batch; times are means."""
    kept = [[one for one in batch.state if one.operator == name] for batch in ran]
    if not kept[-1]:
        return None
    last = ran[-1]
    bins_on: dict[str, int] = {}
    for row in np.flatnonzero(last.tasks.operator == last.dataflow.index[name]):
        executor = last.tasks.executor[row]
        bins_on[executor] = bins_on.get(executor, 0) + 1
    return StateProfile(
        sum(one.rows for one in kept[-1]),
        sum(one.bytes for one in kept[-1]),
        max(one.partitions for one in kept[-1]),
        sum(one.updating + one.removing for batch in kept for one in batch) / 1000 / len(ran),
        sum(one.committing for batch in kept for one in batch) / 1000 / len(ran),
        bins_on,
    )


def _largest(ran: Sequence[MicroBatch], mine: Sequence[Bools]) -> tuple[float, int]:
    """The largest partition's share of all records, and which it is."""
    totals: dict[int, int] = {}
    for batch, rows in zip(ran, mine, strict=True):
        for partition, records in zip(
            batch.tasks.partition[rows].tolist(), batch.tasks.records_in[rows].tolist(), strict=True
        ):
            totals[partition] = totals.get(partition, 0) + records
    total = sum(totals.values())
    if not total:
        return 0.0, -1
    # Of equally large ones the first, so that the answer does not depend on the order of tasks.
    partition = min(totals, key=lambda one: (-totals[one], one))
    return totals[partition] / total, partition
