"""What the live probe costs: throughput of the query it watches, and processor time of the driver, JVM included.

One query on a local cluster of one worker: 50 tasks that make rows (the source `rate-micro-batch`, batches of one
size) and wait a millisecond for each, a shuffle, 50 tasks that take them: 100 tasks a batch. It runs batch after batch,
and the waiting is such that this is about one batch a second. While it runs, the probe is attached and detached in
turn, segment by segment, in the order on-off-off-on so that a drift of the machine falls on both alike. A pair is two
segments side by side, one of each kind.

* Loss of throughput: a segment's figure is the mean time from one trigger to the next, from the query's own reports,
  without the batch during which the probe came or went. Loss = 1 - off / on.
* Driver CPU: the processor time, user and system, that /proc counts for this Python process and for its JVM over the
  same segment, divided by its length. Added = on - off, in per cent of one core.

What is reported is the mean of the middle 80 % of the pairs, since single batches are hit by things of the machine,
with a 95 % interval from 10,000 bootstrap samples of the pairs.

Before anything counts, small jobs fill Spark's status store to its limits (1,000 jobs, stages and SQL executions), as
in an application that has run for long: a full store is what makes questions to it dear.

    make bench-probe            (or: python benchmarks/probe.py --pairs 50 --channels)

`--channels` instead compares ways to get at the figures of one finished batch, each asked over and over: processor time
of the driver for each.
"""

import argparse
import os
import random
import statistics
import sys
import tempfile
import time
import urllib.request
from collections.abc import Sequence
from datetime import datetime
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
from pyspark.sql import SparkSession

from headgate.formats.eventlog.streaming import Progress
from headgate.spark.internals.status_store import StatusStore
from headgate.spark.live_batches import LiveBatches
from headgate.spark.local_cluster import LocalCluster
from headgate.spark.probe import Probe
from verdicts import exit_code, verdict

TASKS = 100
TICKS = os.sysconf("SC_CLK_TCK")
SAMPLES = 10_000
# By default a map task opens a file for each of the 50 partitions: most of the batch would be that.
SETTINGS = {"spark.ui.port": "0", "spark.shuffle.sort.bypassMergeThreshold": "1"}
LIMIT = 3.0
"""Per cent, of throughput and of a core."""


class Interval(NamedTuple):
    """A trimmed mean and where it may lie."""

    low: float
    middle: float
    high: float

    def __str__(self) -> str:
        return f"{self.middle:+.2f} % (95 % interval {self.low:+.2f} to {self.high:+.2f})"


def trimmed_mean(values: Sequence[float]) -> float:
    """The mean without the highest and the lowest tenth."""
    cut = len(values) // 10
    return statistics.fmean(sorted(values)[cut : len(values) - cut])


def interval(values: Sequence[float]) -> Interval:
    """The trimmed mean of these and its bootstrap interval."""
    draw = random.Random(1)
    means = sorted(trimmed_mean(draw.choices(values, k=len(values))) for _ in range(SAMPLES))
    return Interval(means[SAMPLES // 40], trimmed_mean(values), means[-SAMPLES // 40])


def cpu_seconds(process: int) -> float:
    """Processor time a process has had, user and system, all its threads."""
    fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / TICKS


class Segment(NamedTuple):
    """What a stretch of batches took."""

    batch: float
    """Milliseconds from one trigger to the next, mean."""
    cpu: float
    """Per cent of a core that the driver took."""


class Bench:
    """A session, a query and a probe that comes and goes."""

    def __init__(self, spark: SparkSession) -> None:
        self.spark = spark
        self.probe = Probe(spark)
        self.jvm = int(spark._jvm.java.lang.ProcessHandle.current().pid())
        self.seen = 0

    def fill_store(self, jobs: int) -> None:
        """Small jobs, until the status store holds as many as it keeps."""
        for _ in range(jobs):
            self.spark.range(0, 1, 1, 1).write.format("noop").mode("overwrite").save()

    def query(self, *, waits: bool) -> Any:
        """The query, under way."""
        half = str(TASKS // 2)
        rows = (
            self.spark.readStream.format("rate-micro-batch").option("rowsPerBatch", "2000")
            .option("numPartitions", half).load()
        )  # fmt: skip
        if waits:
            rows = rows.selectExpr("value", "reflect('java.lang.Thread', 'sleep', 1L) as waited")
        writer = rows.repartition(TASKS // 2, "value").writeStream.format("noop").queryName("bench")
        return writer.option("checkpointLocation", tempfile.mkdtemp()).start()

    def segment(self, query: Any, batches: int) -> Segment:
        """So many batches, from the next but one on; processor time from now until they are over."""
        began, used, first = time.perf_counter(), self.driver_cpu(), last_batch(query) + 2
        wait_for_batch(query, first + batches)
        share = 100 * (self.driver_cpu() - used) / (time.perf_counter() - began)
        starts = {one["batchId"]: datetime.fromisoformat(one["timestamp"]).timestamp() for one in reports(query)}
        return Segment(1000 * (starts[first + batches] - starts[first]) / batches, share)

    def watched(self, query: Any, batches: int) -> Segment:
        """The same with the probe attached; its batches are taken and counted."""
        with self.probe:
            figure = self.segment(query, batches)
        while self.probe.take() is not None:
            self.seen += 1
        return figure

    def pair(self, query: Any, batches: int, *, watched_first: bool) -> tuple[Segment, Segment]:
        """(with the probe, without it)."""
        if watched_first:
            return self.watched(query, batches), self.segment(query, batches)
        without = self.segment(query, batches)
        return self.watched(query, batches), without

    def driver_cpu(self) -> float:
        """Processor time of the driver so far, in seconds."""
        return cpu_seconds(os.getpid()) + cpu_seconds(self.jvm)


def reports(query: Any) -> list[dict[str, Any]]:
    """What the query kept of its own reports, the last hundred; by calls that are cheap."""
    return [msgspec.json.decode(one.json()) for one in query._jsq.recentProgress()]


def last_batch(query: Any) -> int:
    """The number of the last batch that is over; -1 before the first."""
    last = query._jsq.lastProgress()
    return -1 if last is None else int(last.batchId())


def wait_for_batch(query: Any, number: int) -> None:
    """Until so many batches are over."""
    while last_batch(query) < number:
        if not query.isActive:
            raise SystemExit(f"the query ended: {query.exception()}")
        time.sleep(0.2)


def cost(bench: Bench, given: argparse.Namespace) -> None:
    """Both figures."""
    bench.fill_store(given.fill)
    query = bench.query(waits=True)
    wait_for_batch(query, given.warm)
    bench.watched(query, given.batches)
    pairs = []
    for number in range(given.pairs):
        pairs.append(bench.pair(query, given.batches, watched_first=number % 2 == 0))
        print(".", end="", flush=True)
    query.stop()
    batch = statistics.median(off.batch for _, off in pairs)
    print(f"\n{TASKS} tasks a batch; without the probe a batch takes {batch:.0f} ms, and the driver takes ", end="")
    print(f"{statistics.median(off.cpu for _, off in pairs):.1f} % of a core")
    notes = list(map(str, bench.probe.notes))
    print(f"{len(pairs)} pairs of {given.batches} batches; {bench.seen:,} batches seen by the probe, notes: {notes}")
    loss = interval([100 * (1 - off.batch / on.batch) for on, off in pairs])
    print(verdict(f"loss of throughput: {loss}; upper end under {LIMIT:g} %", loss.high < LIMIT))
    added = interval([on.cpu - off.cpu for on, off in pairs])
    print(verdict(f"added driver CPU:   {added} of a core; upper end under {LIMIT:g} %", added.high < LIMIT))


def channels(bench: Bench, given: argparse.Namespace) -> None:
    """The same finished batch, asked for in several ways."""
    query = bench.query(waits=False)
    wait_for_batch(query, given.fill // 2)
    text = query._jsq.lastProgress()
    query.stop()
    time.sleep(2)
    store = StatusStore(bench.spark)
    progress = msgspec.json.decode(store._json.writeValueAsString(text), type=Progress, strict=False)
    context = bench.spark.sparkContext
    base = f"{context.uiWebUrl}/api/v1/applications/{context.applicationId}"
    jobs = [job for job in msgspec.json.decode(store.jobs(0)) if job["info"]["jobGroup"] == progress.run_id]
    mine = [job for job in jobs if f"batch = {progress.batch_id}" in job["info"]["description"]]
    stages = sorted({stage for job in mine for stage in job["info"]["stageIds"]})
    execution = mine[0]["sqlExecutionId"]
    first = mine[0]["info"]["jobId"]

    def ours() -> None:
        reader = LiveBatches(store)
        reader._first_job[progress.run_id] = first
        answer = reader.read(progress)
        if answer is None or answer.batch is None:
            raise SystemExit("the batch could not be read")

    def fetch(path: str) -> None:
        with urllib.request.urlopen(base + path) as answer:
            msgspec.json.decode(answer.read())

    def rest() -> None:
        fetch("/jobs")
        fetch(f"/sql/{execution}?details=true&planDescription=false")
        for stage in stages:
            fetch(f"/stages/{stage}/0?details=true")
        fetch("/executors")

    def tasks_by_id() -> None:
        for stage in stages:
            store._json.writeValueAsString(store._core.taskList(stage, 0, 2**31 - 1))

    def tasks_by_run_time() -> None:
        for stage in stages:
            store.tasks(stage, 0)

    def report_as_pyspark_does() -> None:
        from pyspark.sql.streaming.listener import StreamingQueryProgress  # noqa: PLC0415

        StreamingQueryProgress.fromJObject(text)

    def report_as_json() -> None:
        store._json.writeValueAsString(text)

    print(
        f"{len(jobs):,} jobs in the store, {len(stages)} stages in the batch; milliseconds for each answer, driver CPU"
    )
    print("(Python + JVM) and wall:")
    for way in (ours, rest, tasks_by_run_time, tasks_by_id, report_as_json, report_as_pyspark_does):
        for _ in range(given.repeat):
            way()  # until compiled
        began, used = time.perf_counter(), cpu_seconds(os.getpid()) + cpu_seconds(bench.jvm)
        for _ in range(given.repeat):
            way()
        spent = cpu_seconds(os.getpid()) + cpu_seconds(bench.jvm) - used
        wall = time.perf_counter() - began
        print(f"  {way.__name__:24} {1000 * spent / given.repeat:8.2f} CPU  {1000 * wall / given.repeat:8.2f} wall")


def main() -> int:
    """All of it."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pairs", type=int, default=50)
    parser.add_argument("--batches", type=int, default=5, help="in a segment")
    parser.add_argument("--warm", type=int, default=60, help="batches before anything counts")
    parser.add_argument("--fill", type=int, default=1000, help="jobs in Spark's status store before anything counts")
    parser.add_argument("--channels", action="store_true", help="compare ways to get at one batch instead")
    parser.add_argument("--repeat", type=int, default=100, help="with --channels: how often each way is asked")
    given = parser.parse_args()
    with LocalCluster(workers=1, slots=4) as cluster:
        spark = cluster.session("bench", executors=2, cores=2, conf=SETTINGS)
        spark.sparkContext.setLogLevel("OFF")
        bench = Bench(spark)
        if given.channels:
            channels(bench, given)
        else:
            cost(bench, given)
        spark.stop()
    return exit_code()


if __name__ == "__main__":
    sys.exit(main())
