"""A cell on a real cluster, in real time: a job that waits, a load that comes by the clock, a policy in charge.

The same figures as of a virtual run, from what was seen: when batches began and ended, what had come by then, and the
executors that were asked for and there. The least sizes that it is compared with are those of the job's arithmetic.
"""

import tempfile
import time
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

import msgspec
from pyspark.sql import SparkSession
from pyspark.sql.streaming.query import StreamingQuery

from headgate.control.actions import SetExecutors, StopAsking
from headgate.lab.cell import Cell, run_cell
from headgate.lab.outcome import NOTHING, Outcome, Ran, Taken, outcome
from headgate.lab.real_following import FollowedAtOnce, Look, controlled
from headgate.lab.real_job import parts_of, start_real_job
from headgate.model.errors import HeadgateError, in_brief
from headgate.model.microbatch import MicroBatch
from headgate.policies.pool_registry import POOL_POLICIES, pool_policy
from headgate.runtime.entries import Cluster, Entry, Intent, Seen
from headgate.spark.engine import SparkEngine
from headgate.spark.local_cluster import LocalCluster
from headgate.spark.moving import way_of
from headgate.spark.state_store_settings import ROCKSDB
from headgate.workloads.load import Load, due_at
from headgate.workloads.sentences import SentencesSource

_MEMORY = 512
"""Megabytes of an executor."""
_TURN = 0.25
_CONF = {
    "spark.ui.enabled": "false",
    "spark.sql.adaptive.enabled": "false",  # a stage for each operator, also where none keeps state
    **ROCKSDB,
}


class _Offset(msgspec.Struct):
    """Of a generated source."""

    number: int
    began: float


class _Whole(Load, frozen=True):
    """What comes of several sources together, each of which hands out whole records."""

    parts: tuple[Load, ...]

    def records(self, seconds: float) -> float:
        return float(sum(int(part.records(seconds)) for part in self.parts))


class Watched(NamedTuple):
    """What was seen of a run. Seconds since 1970."""

    batches: Sequence[MicroBatch]
    asked: Sequence[tuple[float, int]]
    """When so many executors were asked for."""
    there: Sequence[tuple[float, int]]
    """From when on so many were there."""


def in_real_time(cells: Sequence[Cell]) -> Iterator[Outcome]:
    """One after the other, each on a cluster of its own; the oracle on the virtual Spark."""
    for cell in cells:
        if cell.simulated:
            yield run_cell(cell)
        else:
            yield run_real_cell(cell)


def run_real_cell(cell: Cell) -> Outcome:
    """Run it. What goes wrong once its query runs is an outcome, not an error."""
    by = cell.judged()
    start, most = cell.first(by.asked), cell.settings.most
    with tempfile.TemporaryDirectory(prefix="headgate-lab-") as folder:
        memory = f"{most * 2 * _MEMORY}m"
        with LocalCluster(workers=1, slots=most * cell.slots, memory=memory, folder=folder, late=True) as cluster:
            spark = cluster.session(
                "headgate lab", executors=start, cores=cell.slots, memory=f"{_MEMORY}m", most=most, conf=_CONF
            )
            spark.sparkContext.setLogLevel("OFF")
            spark.dataSource.register(SentencesSource)
            try:
                seen, failed = watched(cell, spark, str(Path(folder) / "checkpoint"))
            finally:
                spark.stop()
    if not seen.batches:
        return outcome(cell.key, cell.policy, cell.seed, NOTHING, by, failed or "no batch came to its end")
    ran = ran_of(seen, parts_of(cell.job.job, cell.load.load), cell.load.lasting, start, cell.slots)
    return outcome(cell.key, cell.policy, cell.seed, ran, by, failed)


def watched(cell: Cell, spark: SparkSession, checkpoint: str) -> tuple[Watched, str]:
    """The query under its policy, for as long as the load lasts; and what went wrong, if anything did."""
    batches: list[MicroBatch] = []
    asked: list[tuple[float, int]] = []
    there: list[tuple[float, int]] = []

    def look(entry: Entry | Seen) -> None:
        if isinstance(entry, Seen):
            batches.append(entry.batch)
        elif isinstance(entry, Intent) and isinstance(entry.action, SetExecutors):
            asked.append((entry.at, entry.action.executors))
        elif isinstance(entry, Intent) and isinstance(entry.action, StopAsking) and there:
            asked.append((entry.at, there[-1][1]))
        elif isinstance(entry, Cluster):
            there.append((entry.at, len(entry.executors)))

    failed = ""
    engine = SparkEngine(spark, way=way_of(cell.settings)).start()  # first: it must not miss a batch
    try:
        query = start_real_job(spark, cell.job.job, cell.load.load, checkpoint)
        try:
            _follow(cell, engine, query, look, batches)
        finally:
            query.stop()
    except Exception as problem:  # a policy's fault, or a query's: the other cells go on
        failed = f"{type(problem).__name__}: {in_brief(problem)}"
    finally:
        engine.stop()
    return Watched(batches, asked, there), failed


def _follow(cell: Cell, engine: SparkEngine, query: StreamingQuery, look: Look, batches: Sequence[MicroBatch]) -> None:
    policy, settings = pool_policy(cell.policy), cell.settings
    own = POOL_POLICIES[cell.policy].own_timing
    follower = FollowedAtOnce(engine, policy, settings, look) if own else controlled(engine, policy, settings, look)
    started = time.time()
    while time.time() < (_load_began(batches) if batches else started) + cell.load.lasting:
        follower.turn(_TURN)
        if not query.isActive:
            ended = query.exception()
            raise HeadgateError(f"the query ended{'' if ended is None else f': {in_brief(ended)}'}")


def ran_of(seen: Watched, loads: Sequence[Load], lasting: float, start: int, slots: int) -> Ran:
    """What a run comes to, in seconds since its load began; `loads` are those of its sources."""
    zero, load = _load_began(seen.batches), _Whole(tuple(loads))
    taken: list[Taken] = []
    total = 0
    for batch in seen.batches:
        began = max(0.0, batch.began / 1000 - zero)  # the first has begun before its source is asked
        if began >= lasting:
            break
        taken.extend(_quiet(taken, load, total, began))
        # By offsets: a batch that was not seen is counted with the next one.
        before, total = total, sum(_offset(read.end).number for read in batch.sources)
        due = max(load.records(began), total)  # a source is asked a moment after its batch began
        ended = batch.began / 1000 - zero + batch.duration / 1000
        taken.append(Taken(began, ended, due, total - before, len(batch.executors)))
    batches = sum(one.records > 0 for one in taken)
    taken.extend(_quiet(taken, load, total, lasting))
    due, ended = load.records(lasting), taken[-1].ended
    if due > total or lasting > ended:  # what no batch has taken by now is as late as it is by now, at the least
        taken.append(Taken(lasting, max(lasting, ended), max(due, total), max(due - total, 0), taken[-1].executors))
    asked = [(at - zero, count) for at, count in seen.asked if at - zero < lasting]
    there = [(at - zero, count) for at, count in seen.there]
    wanted = [start, *(count for _, count in asked)]
    changes = [at for (at, count), before in zip(asked, wanted, strict=False) if count != before]
    return Ran(taken, batches, slots * _held(asked, there, start, lasting), changes)


def _quiet(before: Sequence[Taken], load: Load, total: int, until: float) -> Iterator[Taken]:
    """The last moment up to now at which everything that had come was taken, if that was after the last batch."""
    ended = before[-1].ended if before else 0.0
    next_one = due_at(load, total + 1, max(until, 1e-3))
    quiet = min(next_one, until)
    if quiet > ended:
        yield Taken(quiet, quiet, total, 0, before[-1].executors if before else 1)


def _held(asked: Sequence[tuple[float, int]], there: Sequence[tuple[float, int]], start: int, lasting: float) -> float:
    """Executor-seconds, each from the moment it was asked for to that at which it was gone.

    >>> _held([(10.0, 3)], [(0.0, 1), (20.0, 3)], start=1, lasting=30.0)
    70.0
    >>> _held([(10.0, 1)], [(0.0, 2), (15.0, 1)], start=2, lasting=30.0)
    45.0
    """
    edges = sorted({0.0, lasting, *(at for at, _ in [*asked, *there] if 0 < at < lasting)})
    return sum((end - at) * max(_at(asked, at, start), _at(there, at, start)) for at, end in pairwise(edges))


def _at(steps: Sequence[tuple[float, int]], moment: float, first: int) -> int:
    place = bisect_right(steps, moment, key=lambda one: one[0])
    return steps[place - 1][1] if place else first


def _load_began(batches: Sequence[MicroBatch]) -> float:
    return min(_offset(read.end).began for read in batches[0].sources)


def _offset(text: str) -> _Offset:
    return msgspec.json.decode(text, type=_Offset)
