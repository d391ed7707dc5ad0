"""Queries of a workload, one after the other on a cluster of their own, and how each did.

What counts begins after a warm-up and is whole batches (`bench_figures.py` says what they come to).
"""

import shutil
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence

from pyspark.errors import PySparkException
from pyspark.sql import SparkSession
from pyspark.sql.streaming.query import StreamingQuery

from headgate.jobs.bench_figures import Ran, measured
from headgate.jobs.bench_result import BenchPlan, Measured
from headgate.model.errors import InputError, did_you_mean, in_brief
from headgate.model.microbatch import MicroBatch
from headgate.spark.host_processors import available
from headgate.spark.local_cluster import LocalCluster
from headgate.spark.probe import Probe
from headgate.spark.state_store_settings import ROCKSDB
from headgate.workloads.load import load_from_text
from headgate.workloads.query import Query
from headgate.workloads.registry import WORKLOADS, Workload

_MEMORY = "2g"
_ROOM = "4g"
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
                    yield measured(plan, query, load, ran, available())
        finally:
            spark.stop()


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
