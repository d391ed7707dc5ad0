"""Prediction against reality: batch times on 2, 4 and 8 executors, predicted from a run on 1, then run.

Four pipelines, each in batches of one size, 16 tasks in the stage that matters:

* stateless: a map that waits 37.5 ms for each record;
* stateful: a count by key whose output waits 75 ms for each record, its state spread evenly over the executors;
* pinned: the same, but all state sits on the first executor and stays there when others join;
* cpu: a map that computes. Up to the real cores it should scale; beyond them nobody can know until it was tried, so
  the prediction for 8 executors is made once more after the outcome on 4.

Every size is a new application on a local cluster that runs for a minute at least: an executor compiles its code while
it runs, and eight of them do so on the same cores. Its batches are read from its event log. Predicted is from all but
the first three of the run on 1; measured are the last five of each size.
Beside Headgate's prediction stand work divided by slots (W/C, slot time) and DS2 for slots that all operators share
(useful time divided by slots): the same runs, the same batches.

    make bench-capacity                     (or: python benchmarks/capacity.py --pipelines stateless,cpu --batches 6)
"""

import argparse
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming.query import StreamingQuery

from headgate.formats.eventlog.batches import WANTED, read_batches
from headgate.formats.eventlog.reader import read_events
from headgate.model.bins import homes
from headgate.model.capacity import Capacity, Pool, Setting
from headgate.model.learned_capacity import capacity
from headgate.model.microbatch import MicroBatch
from headgate.model.warm import WARM_UP, warm
from headgate.spark.internals.executors import active_executors
from headgate.spark.internals.state_stores import place_bin, state_stores
from headgate.spark.local_cluster import LocalCluster
from headgate.spark.state_store_settings import ROCKSDB
from headgate.workloads.load import Constant
from headgate.workloads.sentences import SentencesSource
from headgate.workloads.throttle import throttle
from verdicts import exit_code, verdict

TASKS = 16
SIZES = (1, 2, 4, 8)
MEASURED = 5
AT_LEAST = 60.0
"""Seconds that a run lasts at the least."""
PLACED = 3
"""Batches after which bins are placed."""


def sentences(spark: SparkSession, rows: int, **options: str) -> DataFrame:
    """Batches of so many rows, one after the other."""
    reader = spark.readStream.format("sentences").option("load", str(Constant(1e6)))
    reader = reader.option("rows_per_batch", str(rows)).option("partitions", str(TASKS)).option("words", "1")
    for name, value in options.items():
        reader = reader.option(name, value)
    return reader.load()


def stateless(spark: SparkSession) -> DataFrame:
    """40 records a task, 37.5 ms each."""
    return sentences(spark, 40 * TASKS).mapInArrow(throttle(0.0375), "number bigint, sentence string, key bigint")


def stateful(spark: SparkSession) -> DataFrame:
    """About 20 keys a bin, each in every batch, 75 ms each."""
    counts = sentences(spark, 4000, keys=str(20 * TASKS), partitions="4").groupBy("key").count()
    return counts.mapInArrow(throttle(0.075), "key bigint, count bigint")


def cpu(spark: SparkSession) -> DataFrame:
    """About half a second of computing a task."""

    def burn(batches):  # type: ignore[no-untyped-def]
        for batch in batches:
            for _ in range(batch.num_rows):
                sum(range(400_000))
            yield batch

    return sentences(spark, 40 * TASKS).mapInArrow(burn, "number bigint, sentence string, key bigint")


class Pipeline(NamedTuple):
    """A query to measure."""

    build: Callable[[SparkSession], DataFrame]
    conf: dict[str, str]
    spread: bool = False
    """Bins are placed evenly before the batches that count."""
    sizes: tuple[int, ...] = SIZES


# A task whose bin lives elsewhere waits for its home longer than any batch takes: placement stays what it was.
AT_HOME = {"spark.locality.wait": "120s"}
PIPELINES = {
    "stateless": Pipeline(stateless, {}),
    "stateful": Pipeline(stateful, AT_HOME, spread=True),
    "pinned": Pipeline(stateful, AT_HOME, sizes=(1, 4)),  # every size takes as long: one more is enough
    "cpu": Pipeline(cpu, {}),
}


class Run(NamedTuple):
    """What one size gave."""

    executors: int
    batches: list[MicroBatch]

    @property
    def counted(self) -> list[MicroBatch]:
        """Without the cold ones."""
        return warm(self.batches)

    @property
    def seconds(self) -> float:
        """Median time of the last batches."""
        return statistics.median(batch.duration / 1000 for batch in self.batches[-MEASURED:])


def run(cluster: LocalCluster, name: str, executors: int, batches: int, folder: Path) -> Run:
    """Run a pipeline on so many executors of one slot and read its log."""
    pipeline = PIPELINES[name]
    logs = folder / "logs"
    logs.mkdir(exist_ok=True)
    spark = cluster.session(
        f"{name} on {executors}",
        executors=executors,
        cores=1,
        memory="512m",
        conf={
            "spark.eventLog.enabled": "true",
            "spark.eventLog.dir": logs.as_uri(),
            "spark.eventLog.rolling.enabled": "false",
            "spark.sql.shuffle.partitions": str(TASKS),
            **ROCKSDB,
            "spark.ui.enabled": "false",
            **pipeline.conf,
        },
    )
    spark.sparkContext.setLogLevel("OFF")
    spark.dataSource.register(SentencesSource)
    app = spark.sparkContext.applicationId
    try:
        query = (
            pipeline.build(spark).writeStream.format("noop").outputMode("update").queryName(name)
            .option("checkpointLocation", str(folder / app)).start()
        )  # fmt: skip
        if pipeline is PIPELINES["pinned"] or pipeline.spread:
            place_bins(spark, query, evenly=pipeline.spread)
        began = time.monotonic()
        wait_for(query, batches)
        while time.monotonic() < began + AT_LEAST:
            wait_for(query, query.lastProgress.batchId + 2)
        query.stop()
    finally:
        spark.stop()
    (log,) = (path for path in logs.iterdir() if app in path.name)
    return Run(executors, list(read_batches(read_events(str(log), wanted=WANTED))))


def place_bins(spark: SparkSession, query: StreamingQuery, *, evenly: bool) -> None:
    """After each of the first batches, say where each bin lives: in turn, or all on the first executor.

    More than once, since the next batch has begun by then: a bin that it opens elsewhere says that it lives there.
    """
    for batch in range(PLACED):
        wait_for(query, batch + 1)
        there = active_executors(spark)
        for stores in state_stores(spark, query):
            for partition in range(stores.partitions):
                home = there[partition % len(there) if evenly else 0]
                place_bin(spark, query, stores, partition, home.host, home.id)


def wait_for(query: StreamingQuery, batches: int) -> None:
    """Until so many batches are over."""
    while query.lastProgress is None or query.lastProgress.batchId + 1 < batches:
        if query.awaitTermination(0.2):
            raise SystemExit(f"the query ended: {query.exception()}")


def work_over_slots(one: Run, slots: int) -> float:
    """W/C: slot time of a batch divided by the slots."""
    return statistics.median(float(batch.tasks.occupied_seconds.sum()) for batch in one.counted) / slots


def ds2(one: Run, slots: int) -> float:
    """Useful time of a batch divided by the slots."""
    return statistics.median(float(batch.tasks.useful_seconds.sum()) for batch in one.counted) / slots


def setting(name: str, executors: int) -> Setting:
    """What is asked: so many executors, with state where the pipeline has it."""
    return Setting(pool=Pool((1,) * executors), spread_bins=PIPELINES[name].spread)


def off(predicted: float, measured: float) -> float:
    """By how much a prediction is off."""
    return predicted / measured - 1


def report(name: str, runs: Sequence[Run]) -> None:
    """The table of one pipeline, and whether it holds."""
    one = runs[0]
    model = capacity(one.batches)
    cpu_share = sum(float(b.tasks.cpu_ns.sum()) / 1e9 for b in one.counted) / sum(
        float(b.tasks.occupied_seconds.sum()) for b in one.counted
    )
    print(f"\n{name}: CPU of the JVM is {cpu_share:.0%} of the time that tasks hold slots", flush=True)
    print(f"{'executors':>9}  {'measured s':>10}  {'predicted s':>22}  {'off':>6}  {'W/C off':>7}  {'DS2 off':>7}")
    errors = {}
    for ran in runs:
        said = model.predict(setting(name, ran.executors))
        errors[ran.executors] = error = off(said.batch.value, ran.seconds)
        print(
            f"{ran.executors:>9}  {ran.seconds:>10.2f}  "
            f"{said.batch.value:>8.2f} ({said.batch.low:.2f} to {said.batch.high:.2f})  {error:>+6.0%}  "
            f"{off(work_over_slots(one, ran.executors), ran.seconds):>+7.0%}  "
            f"{off(ds2(one, ran.executors), ran.seconds):>+7.0%}"
            + ("  more at once than seen: contention not known" if said.unseen else ""),
            flush=True,
        )
    judge(name, runs, model, errors)


def judge(name: str, runs: Sequence[Run], model: Capacity, errors: dict[int, float]) -> None:
    """What we hold ourselves to, for each pipeline."""
    beyond_one = [abs(error) for executors, error in errors.items() if executors > 1]
    if name in ("stateless", "stateful"):
        middle = statistics.median(beyond_one)
        print(verdict(f"  median error {middle:.0%}, at most 15 %", middle <= 0.15))
    elif name == "pinned":
        place = next(place for place, operator in enumerate(model.operators) if operator.stateful)
        said = [model.predict(setting(name, run.executors)).stages[place] for run in runs]
        useless = max(said) / min(said) < 1.05
        print("  the operator with state, predicted s: " + ", ".join(f"{seconds:.2f}" for seconds in said))
        holding = [len(set(homes(batch).values())) for batch in runs[-1].batches[-MEASURED:]]
        print(f"  executors that held state in the batches measured on {runs[-1].executors}: {holding}")
        were = statistics.median(runs[0].seconds / run.seconds for run in runs[1:])
        print(verdict("  says that more executors do not help", useless))
        print(verdict(f"  and they do not ({were:.2f} times as fast)", were < 1.15))
    elif name == "cpu":
        print(verdict(f"  1 to 2 executors off by {abs(errors[2]):.0%}, at most 15 %", abs(errors[2]) <= 0.15))
        *before, last = runs
        taught = capacity([batch for run in before for batch in run.batches])
        error = off(taught.predict(setting(name, last.executors)).batch.value, last.seconds)
        what = f"{last.executors} after the outcome on {before[-1].executors}: off by {error:+.0%}, at most 20 %"
        print(verdict(f"  {what}", abs(error) <= 0.2))


def main() -> int:
    """All of it."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pipelines", default=",".join(PIPELINES))
    parser.add_argument("--batches", type=int, default=WARM_UP + 4, help="batches a run; the first three do not count")
    parser.add_argument("--sizes", default=",".join(map(str, SIZES)), help="executors; the first is predicted from")
    given = parser.parse_args()
    sizes = [int(size) for size in given.sizes.split(",")]
    with tempfile.TemporaryDirectory() as text:
        folder = Path(text)
        with LocalCluster(workers=1, slots=max(sizes), memory="8g", folder=folder / "cluster") as cluster:
            for name in given.pipelines.split(","):
                wanted = [size for size in sizes if size in PIPELINES[name].sizes]
                report(name, [run(cluster, name, size, given.batches, folder) for size in wanted])
    return exit_code()


if __name__ == "__main__":
    sys.exit(main())
