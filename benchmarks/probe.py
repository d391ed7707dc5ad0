"""What the live probe costs: throughput of the query it watches, and processor time of the driver, JVM included.

One query on a local cluster of one worker: 50 tasks that make rows (the source `rate-micro-batch`, batches of one
size), a shuffle, 50 tasks that take them: 100 tasks a batch. While it runs, the probe is attached and detached in turn,
segment by segment, in the order on-off-off-on so that a drift of the machine falls on both alike. A pair is two
segments side by side, one of each kind; what is reported is the median over the pairs, with a 95 % interval from
10,000 bootstrap samples of the pairs.

* Loss of throughput: the query runs batch after batch. A segment's figure is the mean time from one trigger to the
  next, from the query's own reports, without the batch during which the probe came or went. Loss = 1 - off / on.
* Driver CPU: the query has a trigger of one second. A segment's figure is the processor time, user and system, that
  /proc counts for this Python process and for its JVM, divided by the segment's length. Added = on - off, in per cent
  of one core.

The throughput part comes first and fills Spark's status store to its limits (1,000 jobs and stages), as in an
application that has run for long: a full store is what makes questions to it dear.

Times of batches vary more than processor time does: of the former twice as many pairs are taken.

    make bench-probe            (or: python benchmarks/probe.py --pairs 20 --channels)

`--channels` instead compares ways to get at the figures of one finished batch, each asked over and over: processor time
of the driver for each.
"""

import argparse
import itertools
import os
import random
import statistics
import tempfile
import time
import urllib.request
from collections.abc import Callable, Sequence
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

TASKS = 100
TICKS = os.sysconf("SC_CLK_TCK")
SAMPLES = 10_000
# By default a map task opens a file for each of the 50 partitions: most of the batch would be that.
SETTINGS = {"spark.ui.port": "0", "spark.shuffle.sort.bypassMergeThreshold": "1"}
LIMIT = 3.0
"""Per cent, of throughput and of a core."""


class Interval(NamedTuple):
    """A median and where it may lie."""

    low: float
    median: float
    high: float

    def __str__(self) -> str:
        return f"{self.median:+.2f} % (95 % interval {self.low:+.2f} to {self.high:+.2f})"


def interval(values: Sequence[float]) -> Interval:
    """The median of these and its bootstrap interval."""
    draw = random.Random(1)
    medians = sorted(statistics.median(draw.choices(values, k=len(values))) for _ in range(SAMPLES))
    return Interval(medians[SAMPLES // 40], statistics.median(values), medians[-SAMPLES // 40])


def cpu_seconds(process: int) -> float:
    """Processor time a process has had, user and system, all its threads."""
    fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / TICKS


class Bench:
    """A session, a query and a probe that comes and goes."""

    def __init__(self, spark: SparkSession) -> None:
        self.spark = spark
        self.probe = Probe(spark)
        self.jvm = int(spark._jvm.java.lang.ProcessHandle.current().pid())
        self.seen = 0

    def query(self, trigger: str | None) -> Any:
        """The query, under way."""
        half = str(TASKS // 2)
        rows = (
            self.spark.readStream.format("rate-micro-batch").option("rowsPerBatch", "2000")
            .option("numPartitions", half).load()
        )  # fmt: skip
        writer = rows.repartition(TASKS // 2, "value").writeStream.format("noop").queryName("bench")
        writer = writer.option("checkpointLocation", tempfile.mkdtemp())
        return (writer.trigger(processingTime=trigger) if trigger else writer).start()

    def attached(self, on: bool, measure: Callable[[], float]) -> float:
        """Measure with the probe attached or without; its batches are taken and counted."""
        if not on:
            return measure()
        with self.probe:
            figure = measure()
        while self.probe.take() is not None:
            self.seen += 1
        return figure

    def pairs(self, count: int, measure: Callable[[], float]) -> list[tuple[float, float]]:
        """(on, off) for so many pairs, in the order on-off-off-on."""
        found = []
        for number in range(count):
            order = (True, False) if number % 2 == 0 else (False, True)
            figures = {on: self.attached(on, measure) for on in order}
            found.append((figures[True], figures[False]))
            print(".", end="", flush=True)
        print()
        return found

    def driver_cpu(self, seconds: float) -> float:
        """Per cent of a core that the driver takes over so many seconds."""

        def now() -> float:
            return cpu_seconds(os.getpid()) + cpu_seconds(self.jvm)

        began, used = time.perf_counter(), now()
        time.sleep(seconds)
        return 100 * (now() - used) / (time.perf_counter() - began)


def reports(query: Any) -> list[dict[str, Any]]:
    """What the query kept of its own reports, the last hundred; by calls that are cheap."""
    return [msgspec.json.decode(one.json()) for one in query._jsq.recentProgress()]


def last_batch(query: Any) -> int:
    """The number of the last batch that is over; -1 before the first."""
    last = query._jsq.lastProgress()
    return -1 if last is None else int(last.batchId())


def trigger_to_trigger(query: Any, batches: int) -> float:
    """Mean milliseconds from one trigger to the next over so many batches, from the next but one on."""
    first = last_batch(query) + 2
    wait_for_batch(query, first + batches)
    starts = {one["batchId"]: _seconds(one["timestamp"]) for one in reports(query)}
    return 1000 * (starts[first + batches] - starts[first]) / batches


def _seconds(timestamp: str) -> float:
    return datetime.fromisoformat(timestamp).timestamp()


def wait_for_batch(query: Any, number: int) -> None:
    """Until so many batches are over."""
    while last_batch(query) < number:
        if not query.isActive:
            raise SystemExit(f"the query ended: {query.exception()}")
        time.sleep(0.2)


def verdict(value: float) -> str:
    """How a figure stands to what we hold ourselves to."""
    return "met" if value < LIMIT else "MISSED"


def cost(bench: Bench, given: argparse.Namespace) -> None:
    """Both figures."""
    query = bench.query(None)
    wait_for_batch(query, given.warm)
    bench.attached(True, lambda: trigger_to_trigger(query, given.busy))
    print(f"throughput, {given.busy} batches a segment ", end="", flush=True)
    timed = bench.pairs(2 * given.pairs, lambda: trigger_to_trigger(query, given.busy))
    query.stop()
    loss = interval([100 * (1 - off / on) for on, off in timed])
    query = bench.query("1 second")
    wait_for_batch(query, 10)
    print(f"driver CPU, {given.paced:g} s a segment ", end="", flush=True)
    used = bench.pairs(given.pairs, lambda: bench.driver_cpu(given.paced))
    pace = [_seconds(one["timestamp"]) for one in reports(query)]
    query.stop()
    added = interval([on - off for on, off in used])
    batch = statistics.median(off for _, off in timed)
    apart = statistics.median(b - a for a, b in itertools.pairwise(pace))
    print(f"\n{TASKS} tasks a batch; back to back a batch takes {batch:.0f} ms; paced, one began every {apart:.2f} s")
    print(f"the driver itself takes {statistics.median(off for _, off in used):.1f} % of a core without the probe")
    notes = list(map(str, bench.probe.notes))
    print(f"{len(timed)} and {len(used)} pairs; {bench.seen:,} batches seen by the probe, notes: {notes}")
    print(f"loss of throughput: {loss}; upper end under {LIMIT:g} %: {verdict(loss.high)}")
    print(f"added driver CPU:   {added} of a core; upper end under {LIMIT:g} %: {verdict(added.high)}")


def channels(bench: Bench, given: argparse.Namespace) -> None:
    """The same finished batch, asked for in several ways."""
    query = bench.query(None)
    wait_for_batch(query, given.fill)
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


def main() -> None:
    """All of it."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pairs", type=int, default=20, help="for the driver's CPU; for the throughput twice as many")
    parser.add_argument("--busy", type=int, default=6, help="batches a segment, one after the other")
    parser.add_argument("--paced", type=float, default=12.0, help="seconds a segment, one batch a second")
    parser.add_argument("--warm", type=int, default=60, help="batches before anything counts")
    parser.add_argument("--channels", action="store_true", help="compare ways to get at one batch instead")
    parser.add_argument("--fill", type=int, default=500, help="with --channels: batches before, to fill the store")
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


if __name__ == "__main__":
    main()
