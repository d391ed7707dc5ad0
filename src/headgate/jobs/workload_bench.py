"""Queries of a workload, one after the other on a cluster of their own, and how each did.

What counts begins after a warm-up and is whole batches: throughput is what they read, by the time from the end of the
batch before them to the end of the last. So it is what the query sustains, not its best batch; and of a query that
falls behind its load, whose batches grow, it is what it does, not what came.
"""

import bisect
import json
import shutil
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence

import msgspec
import numpy as np
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession
from pyspark.sql.streaming.query import StreamingQuery

from headgate.jobs.bench_result import FLINK_PER_CORE, BenchPlan, Measured, Percentiles
from headgate.model.errors import InputError, did_you_mean, in_brief
from headgate.model.microbatch import MicroBatch
from headgate.spark.local_cluster import LocalCluster
from headgate.spark.probe import Probe
from headgate.spark.state_store_settings import ROCKSDB
from headgate.workloads.load import Load, load_from_text
from headgate.workloads.query import Query
from headgate.workloads.registry import WORKLOADS, Workload

_MEMORY = "2g"
_ROOM = "4g"
_POINTS = 20
"""Of each batch: records whose age is taken, evenly from its first to its last."""
_MILLION = 1e6
_KEEPS_UP = 0.9
"""Of the load: a query that reads less falls behind. Clearly less than 1, because batches are not all of one length."""
_PATIENCE = 120.0
"""Seconds beyond those that were given, for a query that is slow."""


def chosen(workload: str, names: Sequence[str]) -> tuple[str, ...]:
    """Queries by their names, or by their numbers alone; all of them where none are named.

    >>> chosen("nexmark", ["1", "q5"])
    ('q1', 'q5')
    """
    queries = WORKLOADS[workload].queries
    found: dict[str, None] = {}
    for name in names:
        full = f"q{name}" if name[:1].isdecimal() else name
        if full not in queries:
            raise InputError(f"{workload} has no query {name}{did_you_mean(full, queries)}")
        found[full] = None
    return tuple(found) or tuple(queries)


def source_options(workload: str, load: str | None, seconds: float, given: Mapping[str, str]) -> dict[str, str]:
    """Those that are given; and where there is a load, event time as fast as that is on average, unless they say more.

    So ten seconds of a window are about ten of the wall's, however high the load.

    >>> source_options("nexmark", "step(100 -> 300 @ 10s)", 20.0, {"padding": "false"})
    {'event_rate': '200', 'padding': 'false'}
    """
    if load is None or seconds <= 0 or "event_rate" not in WORKLOADS[workload].source.known:
        return dict(given)
    mean = load_from_text(load).records(seconds) / seconds
    return ({"event_rate": f"{mean:.10g}"} if mean > 0 else {}) | dict(given)


def run_bench(plan: BenchPlan, told: Callable[[str], None]) -> Iterator[Measured]:
    """Each query, as soon as it is done; one that fails is told, and the others go on."""
    workload = WORKLOADS[plan.workload]
    load = load_from_text(plan.load) if plan.load is not None else None
    with (
        tempfile.TemporaryDirectory(prefix="headgate-bench-") as folder,
        LocalCluster(workers=1, slots=plan.slots, memory=_ROOM, folder=f"{folder}/cluster", late=True) as cluster,
    ):
        spark = cluster.session(
            f"bench {plan.workload}",
            cores=plan.slots,
            memory=_MEMORY,
            conf={
                **ROCKSDB,
                "spark.sql.shuffle.partitions": str(plan.slots),
                "spark.executor.extraJavaOptions": "",  # throughput: all that the JVM has, not a small start
                "spark.ui.enabled": "false",
                "spark.sql.session.timeZone": "UTC",
            },
        )
        spark.sparkContext.setLogLevel("OFF")
        spark.dataSource.register(workload.source)
        try:
            for name in plan.queries:
                told(f"{name}: {plan.warm_up:g} s to warm up, then {plan.seconds:g} s")
                query = workload.queries[name]
                try:
                    ran = _run(plan, workload, query, cluster, spark, f"{folder}/{name}")
                except (InputError, PySparkException) as problem:
                    told(f"{name}: {in_brief(problem)}")
                else:
                    yield measured(plan, query, load, ran)
        finally:
            spark.stop()


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


def _run(
    plan: BenchPlan, workload: Workload, query: Query, cluster: LocalCluster, spark: SparkSession, folder: str
) -> Ran:
    """The batches after the warm-up, and the processor time meanwhile."""
    reader = spark.readStream.format(workload.source.name()).option("partitions", plan.slots)
    if plan.load is not None:
        reader = reader.option("load", plan.load)
    if plan.rows_per_batch is not None:
        reader = reader.option("rows_per_batch", plan.rows_per_batch)
    stream = reader.options(**plan.options).load()
    writer = query.of(stream).writeStream.outputMode(query.mode).option("checkpointLocation", f"{folder}/checkpoint")
    if query.folders:  # files are what such a query is about
        writer = writer.format("parquet").partitionBy(*query.folders).option("path", f"{folder}/files")
    else:
        writer = writer.format("noop")
    running = writer.start()
    try:
        with Probe(spark, running) as probe:
            before = batches_for(running, probe, plan.warm_up, least=1)[-1]
            spent = cluster.processor_seconds()
            counted = batches_for(running, probe, plan.seconds, least=2)
            return Ran(before, counted, cluster.processor_seconds() - spent)
    finally:
        running.stop()
        shutil.rmtree(f"{folder}/files", ignore_errors=True)  # may be large, and nobody reads them


def batches_for(
    running: StreamingQuery, probe: Probe, seconds: float, least: int, clock: Callable[[], float] = time.monotonic
) -> list[MicroBatch]:
    """Those with records, up to the first that ends after so many seconds; later where there would be too few.

    So it returns when a batch has just ended, never in the middle of one.
    """
    seen: list[MicroBatch] = []
    enough = clock() + seconds
    while True:
        batch = probe.take(timeout=0.2)
        if batch is not None and batch.input_rows > 0:
            seen.append(batch)
            if clock() >= enough and len(seen) >= least:
                return seen
        elif not running.isActive:
            raise InputError(f"it has ended by itself: {running.exception() or 'nothing more comes'}")
        elif clock() > enough + _PATIENCE:
            raise InputError(
                f"{len(seen)} batches with records ended in {seconds + _PATIENCE:.0f} s: {least} are needed, and one "
                f"after {seconds:g} s; give more time, or smaller batches by --rows-per-batch"
            )


def measured(plan: BenchPlan, query: Query, load: Load | None, ran: Ran) -> Measured:
    """How a query did, by its batches."""
    last = ran.batches[-1]
    events = sum(map(_events, ran.batches))
    rate = events / ran.seconds
    cpu = ran.cpu_seconds / max(1, events) * _MILLION
    asked = _asked(load, ran) if load is not None else None
    return Measured(
        query.name,
        query.asks,
        len(ran.batches),
        events,
        ran.seconds,
        rate,
        _percentiles([batch.duration / 1000 for batch in ran.batches]),
        _percentiles([age for batch in ran.batches for age in _ages(batch, load)]) if load is not None else None,
        sum(kept.rows for kept in last.state),
        sum(kept.stored_bytes for kept in last.state),
        None if np.isnan(cpu) else cpu,
        asked,
        asked is not None and rate < _KEEPS_UP * asked,
        rate / plan.slots,
        FLINK_PER_CORE.get(query.name) if plan.workload == "nexmark" else None,
    )


def _asked(load: Load, ran: Ran) -> float:
    """Events a second that came by the load meanwhile."""
    last = ran.batches[-1]
    since = json.loads(last.sources[0].end)["began"]
    until = _ended(last) / 1000 - since
    return (load.records(until) - load.records(until - ran.seconds)) / ran.seconds


def _ended(batch: MicroBatch) -> int:
    return batch.began + batch.duration


def _events(batch: MicroBatch) -> int:
    """By offsets: a query that uses the stream twice reads it twice, and Spark counts what was read."""
    return max((_number(source.end) - _number(source.start) for source in batch.sources), default=0)


def _number(offset: str) -> int:
    return int(json.loads(offset)["number"]) if offset else 0


def _percentiles(values: Sequence[float]) -> Percentiles:
    return Percentiles(*(float(part) for part in np.percentile(values, (50, 95, 99))))


def _ages(batch: MicroBatch, load: Load) -> Iterator[float]:
    """How long before the batch's end some of its records were due."""
    for source in batch.sources:
        start, end = json.loads(source.start), json.loads(source.end)
        ended = _ended(batch) / 1000 - start["began"]
        for number in np.linspace(start["number"], end["number"], _POINTS, endpoint=False):
            yield ended - due_at(load, float(number) + 1, ended)


def due_at(load: Load, number: float, latest: float) -> float:
    """The second at which so many records were due, to a millisecond; not after `latest`.

    >>> round(due_at(load_from_text("constant(100)"), 250, 60.0), 2)
    2.5
    """
    milliseconds = range(max(1, round(latest * 1000)))
    return bisect.bisect_left(milliseconds, number, key=lambda moment: load.records(moment / 1000)) / 1000
