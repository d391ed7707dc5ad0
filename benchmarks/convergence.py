"""Steps to the right size: three pipelines, from too few executors and from too many, by several policies.

Each pipeline mostly waits, so that two real cores are enough for eight slots; every run is a new application on a local
cluster, left alone with its policy for a while. What is reported: the moves it made, the executors it ended with beside
the least that do, and moves after it had settled. The least is found by trying: fixed numbers of executors at the same
rate plus the headroom, the fewest whose batches end before the next is due. (So a size that does is enough by the same
rule that the policy is given, measured instead of predicted.)

* stateless: a map;
* stateful: a count by key in 8 bins;
* join: two streams joined by their number, the output throttled.

`dynamic` is Spark's own dynamic allocation with its shuffle tracking: it needs no external service, adds executors for
waiting tasks and removes idle ones. It has no objective; it is there to be compared with.

    make bench-convergence          (or: python benchmarks/convergence.py --policies capacity --pipelines stateless)
"""

import argparse
import itertools
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming.query import StreamingQuery

import headgate
from headgate.control.actions import SetExecutors, SpreadBins
from headgate.model.microbatch import MicroBatch
from headgate.runtime.entries import Entry, Intent, Seen
from headgate.spark.engine import SparkEngine
from headgate.spark.internals.executors import active_executors
from headgate.spark.local_cluster import LocalCluster
from headgate.spark.state_store_settings import ROCKSDB
from headgate.workloads.load import Constant
from headgate.workloads.sentences import SentencesSource
from headgate.workloads.throttle import throttle

MOST = 8
TRIGGER = 8.0
HEADROOM = 0.2
SETTLING = {"down_stretch": 40.0, "cool_down": 10.0, "anew": 30.0}
WATCHED, LEAST_WATCHED, SETTLED = 200.0, 120.0, 75.0
"""Seconds that a run lasts; less where nothing has moved for so long after a move, but never less than that."""
SWEPT = 6
"""Batches of a fixed size that are looked at; the last half counts."""
COLD = 3
"""Batches that may take as long as they like."""
FAR_TOO_LONG = 1.5


def sentences(spark: SparkSession, rate: float, **options: str) -> DataFrame:
    """A source of 8 tasks."""
    reader = spark.readStream.format("sentences").option("load", str(Constant(rate)))
    reader = reader.option("partitions", "8").option("words", "1")
    for name, value in options.items():
        reader = reader.option(name, value)
    return reader.load()


def stateless(spark: SparkSession, rate: float) -> DataFrame:
    """25 ms a record."""
    return sentences(spark, rate).mapInArrow(throttle(0.025), "number bigint, sentence string, key bigint")


def stateful(spark: SparkSession, rate: float) -> DataFrame:
    """25 ms a record, then a count by key."""
    taken = sentences(spark, rate).mapInArrow(throttle(0.025), "number bigint, sentence string, key bigint")
    return taken.groupBy("key").count()


def join(spark: SparkSession, rate: float) -> DataFrame:
    """Two streams, joined by number; 25 ms for each pair."""
    left = sentences(spark, rate).select("number", "key")
    right = sentences(spark, rate).selectExpr("number as other", "sentence")
    both = left.join(right, left.number == right.other).select("number", "key", "sentence")
    return both.mapInArrow(throttle(0.025), "number bigint, key bigint, sentence string")


class Pipeline(NamedTuple):
    """A query and its rate."""

    build: Callable[[SparkSession, float], DataFrame]
    rate: float
    mode: str = "update"


# With 8 tasks a stage, three executors need three waves and four need two. Rates lie where three are clearly too few
# and four clearly enough: what is tried is the way there, not which side of an edge noise falls on.
PIPELINES = {
    "stateless": Pipeline(stateless, 88.0),
    "stateful": Pipeline(stateful, 66.0),
    "join": Pipeline(join, 70.0, "append"),
}


def session(cluster: LocalCluster, name: str, executors: int, extra: dict[str, str] | None = None) -> SparkSession:
    """A new application with so many executors, which may become more."""
    conf = {
        "spark.sql.shuffle.partitions": "8",
        **ROCKSDB,
        "spark.ui.enabled": "false",
        **(extra or {}),
    }
    spark = cluster.session(name, executors=executors, memory="512m", most=MOST, conf=conf)
    spark.sparkContext.setLogLevel("OFF")
    spark.dataSource.register(SentencesSource)
    return spark


def start(spark: SparkSession, pipeline: Pipeline, rate: float) -> StreamingQuery:
    """The query, under way."""
    writer = pipeline.build(spark, rate).writeStream.format("noop").outputMode(pipeline.mode).queryName("bench")
    writer = writer.option("checkpointLocation", tempfile.mkdtemp())
    return writer.trigger(processingTime=f"{TRIGGER:g} seconds").start()


def least_that_does(cluster: LocalCluster, pipeline: Pipeline) -> int:
    """By trying, in one application: half of what is left to try each time, each with a query of its own."""
    spark = session(cluster, "sweep", MOST)
    too_few, enough = 0, MOST
    while enough - too_few > 1:
        executors = (too_few + enough) // 2
        took = batch_time(spark, pipeline, executors)
        print(f"  {executors} executors: {took:.2f} s a batch", flush=True)
        too_few, enough = (executors, enough) if took > TRIGGER else (too_few, executors)
    spark.stop()
    return enough


def batch_time(spark: SparkSession, pipeline: Pipeline, executors: int) -> float:
    """Median time of a batch on so many executors, with the state spread over them; the first that is far too long."""
    query = start(spark, pipeline, pipeline.rate * (1 + HEADROOM))
    engine = SparkEngine(spark, query).start()
    batches: list[MicroBatch] = []

    def more(count: int) -> None:
        wanted = len(batches) + count
        while len(batches) < wanted:
            batches.extend(seen.batch for seen in engine.seen(1.0))

    def far_too_long() -> bool:
        """It falls behind, and each batch would be longer still."""
        return len(batches) > COLD and batches[-1].duration / 1000 > FAR_TOO_LONG * TRIGGER

    try:
        engine.carry_out(SetExecutors(0, executors))
        while len(engine.executors()) != executors:
            engine.seen(0.5)
        more(2)
        engine.carry_out(SpreadBins(0, batches[-1].query))
        for _ in range(SWEPT):
            more(1)
            if far_too_long():
                return batches[-1].duration / 1000
        return statistics.median(batch.duration / 1000 for batch in batches[-SWEPT // 2 :])
    finally:
        engine.stop()
        query.stop()


class Outcome(NamedTuple):
    """What a run came to."""

    moves: list[tuple[float, int]]
    executors: int
    batch: float
    """Seconds, median of the last batches."""

    def turns(self, first: int) -> int:
        """How often it moved up after it had moved down, or the other way round: settling needs none."""
        sizes = [first, *(count for _, count in self.moves)]
        ups = [after > before for before, after in itertools.pairwise(sizes)]
        return sum(one != other for one, other in itertools.pairwise(ups))


def run(cluster: LocalCluster, pipeline: Pipeline, policy: str, executors: int, journal: Path | None) -> Outcome:
    """Leave a query alone with a policy."""
    if policy == "dynamic":
        return run_dynamic(cluster, pipeline, executors)
    spark = session(cluster, policy, executors)
    moves: list[tuple[float, int]] = []
    batches = []
    began = time.time()

    def look(entry: Entry | Seen) -> None:
        if isinstance(entry, Seen):
            batches.append(entry.batch)
        elif isinstance(entry, Intent) and isinstance(entry.action, SetExecutors):
            moves.append((entry.at - began, entry.action.executors))

    query = start(spark, pipeline, pipeline.rate)
    scaler = headgate.attach(
        spark,
        query,
        objective=headgate.KeepUp(HEADROOM),
        executors=(1, MOST),
        policy=policy,
        journal=journal,
        watch=look,
        **SETTLING,
    )
    with scaler:
        wait(query, lambda: over(began, moves))
        there = scaler.executors.observed
    query.stop()
    spark.stop()
    return Outcome(moves, there, statistics.median(batch.duration / 1000 for batch in batches[-5:]))


def run_dynamic(cluster: LocalCluster, pipeline: Pipeline, executors: int) -> Outcome:
    """Spark's own: moves are what can be seen of it."""
    spark = session(
        cluster,
        "dynamic",
        executors,
        {
            "spark.dynamicAllocation.enabled": "true",
            "spark.dynamicAllocation.shuffleTracking.enabled": "true",
            "spark.dynamicAllocation.minExecutors": "1",
            "spark.dynamicAllocation.initialExecutors": str(executors),
            "spark.dynamicAllocation.maxExecutors": str(MOST),
            "spark.dynamicAllocation.executorIdleTimeout": "20s",
        },
    )
    query = start(spark, pipeline, pipeline.rate)
    moves: list[tuple[float, int]] = []
    began, last = time.time(), len(active_executors(spark))
    while not over(began, moves):
        there = len(active_executors(spark))
        if there != last:
            moves.append((time.time() - began, there))
            last = there
        time.sleep(0.5)
    took = statistics.median(one.durationMs["triggerExecution"] / 1000 for one in query.recentProgress[-5:])
    query.stop()
    spark.stop()
    return Outcome(moves, last, took)


def over(began: float, moves: list[tuple[float, int]]) -> bool:
    """Whether a run has been watched for long enough: it has moved and settled, or it does not move."""
    passed = time.time() - began
    settled = bool(moves) and passed - moves[-1][0] >= SETTLED
    return passed >= WATCHED or (settled and passed >= LEAST_WATCHED)


def wait(query: StreamingQuery, ready: Callable[[], bool]) -> None:
    """Until it is; a query that ends is an error."""
    while not ready():
        if query.awaitTermination(1):
            raise SystemExit(f"the query ended: {query.exception()}")


def main() -> None:
    """All of it."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pipelines", default=",".join(PIPELINES))
    parser.add_argument("--policies", default="capacity,ds2,dynamic")
    parser.add_argument("--repeat", type=int, default=2, help="runs of each pipeline from each side under `capacity`")
    parser.add_argument("--repeat-others", type=int, default=1, help="the same under other policies")
    parser.add_argument("--journals", type=Path, metavar="DIR", help="keep the journal of every run here")
    given = parser.parse_args()
    if given.journals is not None:
        given.journals.mkdir(parents=True, exist_ok=True)
    policies = given.policies.split(",")
    steps: dict[str, list[int]] = {policy: [] for policy in policies}
    right: dict[str, int] = dict.fromkeys(policies, 0)
    turns: dict[str, int] = dict.fromkeys(policies, 0)
    with tempfile.TemporaryDirectory() as folder:

        def cluster(name: str) -> LocalCluster:
            # One for each run: workers that come with the session let it begin with fewer executors than it may have.
            return LocalCluster(workers=1, slots=MOST, memory="8g", folder=Path(folder) / name, late=True)

        for name in given.pipelines.split(","):
            pipeline = PIPELINES[name]
            print(f"{name}, {pipeline.rate:g} records/s every {TRIGGER:g} s, {HEADROOM:.0%} headroom")
            with cluster(f"{name}-sweep") as one:
                least = least_that_does(one, pipeline)
            print(f"  least that does: {least}")
            for number in range(max(given.repeat, given.repeat_others)):
                for side, executors in (("under", 1), ("over", MOST)):
                    for policy in policies:
                        if number >= (given.repeat if policy == "capacity" else given.repeat_others):
                            continue
                        called = f"{name}-{number}-{side}-{policy}"
                        journal = given.journals / f"{called}.db" if given.journals is not None else None
                        with cluster(called) as one:
                            came = run(one, pipeline, policy, executors, journal)
                        steps[policy].append(len(came.moves))
                        turns[policy] += came.turns(executors)
                        right[policy] += least <= came.executors <= least + 1
                        path = " -> ".join([str(executors), *(f"{count} (at {at:.0f} s)" for at, count in came.moves)])
                        print(
                            f"  {policy:9} from {side:6} {path:32} ended with {came.executors}, "
                            f"least {least}; batches {came.batch:.2f} s",
                            flush=True,
                        )
    print()
    for policy in policies:
        taken = steps[policy]
        one_step = sum(count <= 1 for count in taken)
        print(
            f"{policy}: {len(taken)} runs, {one_step} in at most one step, most {max(taken)}; "
            f"{turns[policy]} turned back; {right[policy]} ended with the least or one more"
        )
    if "capacity" in policies:
        taken = steps["capacity"]
        held = max(taken) <= 2 and sum(count <= 1 for count in taken) >= len(taken) * 10 / 12 and not turns["capacity"]
        print(f"at most 2 steps each, 10 of 12 in one, none turns back: {'met' if held else 'MISSED'}")


if __name__ == "__main__":
    main()
