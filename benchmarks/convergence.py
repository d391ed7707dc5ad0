"""Steps to the right size: three pipelines, from too few executors and from too many, by several policies.

Each pipeline mostly waits, so that two real cores are enough for eight slots; every run is a new application on a local
cluster, left alone with its policy for a while. What is reported: the moves it made, the executors it ended with beside
the least that do by trying (`right_size.py`), and moves after it had settled.

* stateless: a map;
* stateful: a count by key in 8 bins;
* join: two streams joined by their number, the output throttled.

`dynamic` is Spark's own dynamic allocation with its shuffle tracking: it needs no external service, adds executors for
waiting tasks and removes idle ones. It has no objective; it is there to be compared with.

    make bench-convergence          (or: python benchmarks/convergence.py --policies capacity --pipelines stateless)
"""

import argparse
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming.query import StreamingQuery

import headgate
from headgate.runtime.entries import Entry, Seen
from headgate.spark.internals.executors import active_executors
from headgate.spark.local_cluster import LocalCluster
from headgate.spark.state_store_settings import ROCKSDB
from headgate.workloads.load import Constant
from headgate.workloads.sentences import SentencesSource
from headgate.workloads.throttle import throttle
from right_size import HEADROOM, MOST, ONE_STEP, SETTLING, SIDES, TRIGGER, Outcome, least_that_does, moves_in
from verdicts import exit_code, verdict

WATCHED, LEAST_WATCHED, SETTLED = 400.0, 120.0, 75.0
"""Seconds that a run lasts; less where nothing has moved for so long after a move, but never less than that.

The first minute is a cold start, in which two cores do not yet tell what the job costs; and fewer executors are asked
for only once they would have done for `down_stretch`.
"""


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
    expected: int
    """Executors, by hand: what is tried first."""
    mode: str = "update"


# With 8 tasks a stage, two executors need four waves, three need three and four need two. Rates lie where one of these
# is clearly too few and the next clearly enough: what is tried is the way there, not which side of an edge noise falls
# on. With the headroom a wave of `stateful` is 2.0 s of the 8 s, beside a second for the state: three do. One of the
# others is 2.6 s and 2.1 s, and the join has two stages of state before it: four.
PIPELINES = {
    "stateless": Pipeline(stateless, 88.0, 4),
    "stateful": Pipeline(stateful, 66.0, 3),
    "join": Pipeline(join, 70.0, 4, "append"),
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


def least(cluster: LocalCluster, pipeline: Pipeline) -> int:
    """Executors that do, by trying."""
    spark = session(cluster, "sweep", MOST)
    try:
        return least_that_does(spark, lambda: start(spark, pipeline, pipeline.rate * (1 + HEADROOM)), pipeline.expected)
    finally:
        spark.stop()


def run(cluster: LocalCluster, pipeline: Pipeline, policy: str, executors: int, journal: Path | None) -> Outcome:
    """Leave a query alone with a policy."""
    if policy == "dynamic":
        return run_dynamic(cluster, pipeline, executors)
    spark = session(cluster, policy, executors)
    entries: list[Entry | Seen] = []
    began = time.time()
    query = start(spark, pipeline, pipeline.rate)
    scaler = headgate.attach(
        spark,
        query,
        objective=headgate.KeepUp(HEADROOM),
        executors=(1, MOST),
        policy=policy,
        journal=journal,
        watch=entries.append,
        **SETTLING,
    )
    with scaler:
        wait(query, lambda: over(began, moves_in(entries, began)))
        there = scaler.executors.observed
    query.stop()
    spark.stop()
    durations = [entry.batch.duration / 1000 for entry in entries if isinstance(entry, Seen)]
    return Outcome(executors, moves_in(entries, began), there, statistics.median(durations[-5:]))


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
    return Outcome(executors, moves, last, took)


def over(began: float, moves: list[tuple[float, int]]) -> bool:
    """Whether a run has been watched for long enough: it has moved and settled, or it does not move.

    A run from under may still be working off what piled up before its move: its figure `batches` is then that of
    batches with a backlog in them, and says nothing of whether the size it ended with keeps up.
    """
    passed = time.time() - began
    settled = bool(moves) and passed - moves[-1][0] >= SETTLED
    return passed >= WATCHED or (settled and passed >= LEAST_WATCHED)


def wait(query: StreamingQuery, ready: Callable[[], bool]) -> None:
    """Until it is; a query that ends is an error."""
    while not ready():
        if query.awaitTermination(1):
            raise SystemExit(f"the query ended: {query.exception()}")


def main() -> int:
    """All of it; 1 where what is wanted of `capacity` was missed."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pipelines", default=",".join(PIPELINES))
    parser.add_argument("--policies", default="capacity,ds2,dynamic")
    parser.add_argument(
        "--repeat",
        type=int,
        default=2,
        help="runs of each pipeline from each side under `capacity`; with --policies capacity and 0, the sweep alone",
    )
    parser.add_argument("--repeat-others", type=int, default=1, help="the same under other policies")
    parser.add_argument(
        "--least", default="", metavar="NAME=N,…", help="what the sweep of a run before found, instead of another one"
    )
    parser.add_argument("--journals", type=Path, metavar="DIR", help="keep the journal of every run here")
    given = parser.parse_args()
    if given.journals is not None:
        given.journals.mkdir(parents=True, exist_ok=True)
    policies = given.policies.split(",")
    known = {name: int(number) for name, _, number in (one.partition("=") for one in given.least.split(",") if one)}
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
            if name in known:
                fewest = known[name]
            else:
                with cluster(f"{name}-sweep") as one:
                    fewest = least(one, pipeline)
            print(f"  least that does: {fewest}{' (given)' if name in known else ''}")
            for number in range(max(given.repeat, given.repeat_others)):
                for side, executors in SIDES.items():
                    for policy in policies:
                        if number >= (given.repeat if policy == "capacity" else given.repeat_others):
                            continue
                        called = f"{name}-{number}-{side}-{policy}"
                        journal = given.journals / f"{called}.db" if given.journals is not None else None
                        with cluster(called) as one:
                            came = run(one, pipeline, policy, executors, journal)
                        steps[policy].append(len(came.moves))
                        turns[policy] += came.turns
                        right[policy] += fewest <= came.executors <= fewest + 1
                        print(
                            f"  {policy:9} from {side:6} {came.way:32} ended with {came.executors}, "
                            f"least {fewest}; batches {came.batch:.2f} s",
                            flush=True,
                        )
    print()
    for policy, taken in steps.items():
        if not taken:
            continue
        print(
            f"{policy}: {len(taken)} runs, {taken.count(1)} in one step, most {max(taken)}; "
            f"{turns[policy]} turned back; {right[policy]} ended with the least or one more"
        )
    taken = steps.get("capacity", [])
    if not taken:
        return 0
    # No run begins where it should be, so one that does not move has not settled.
    held = min(taken) >= 1 and max(taken) <= 2 and taken.count(1) >= len(taken) * ONE_STEP and not turns["capacity"]
    print(verdict("one or two steps each, 10 of 12 in one, none turns back", held))
    return exit_code()


if __name__ == "__main__":
    sys.exit(main())
