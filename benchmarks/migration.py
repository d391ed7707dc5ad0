"""What moving state does to the batches of a running query, by strategy; beside it a restart, and Spark left alone.

A maximum by key over rows of a kilobyte that does not compress: so many keys that the state has the size asked for, in
16 bins. It is filled first; then every batch updates a few keys of each bin, and their output waits, so that a batch
takes about 2 s with the state on two executors of one slot. Four executors are there and warm all the time; what
migrates is the state: from two of them to all four, and back.

For each strategy: the longest batch from the first step until all bins are where they should be, less the longest that
as many batches have without it (on the two executors, just before growing or just after shrinking, as the mean over all
choices of so many from eight: of eight batches one is always long, whatever moves); batches and seconds that took;
bins that changed their executor from one batch to the next, by where tasks ran, beside the fewest that must for an even
share each; and what those bins' files in the checkpoint come to. Executors let go of bins that they no longer hold
within 15 s here, instead of a minute, and a migration begins no sooner than that after the one before: so a bin that
comes back is loaded like any other. Both ways, in several rounds; what is judged is the median of each way. Beside
them, in the same run:

* one bin by itself: how much longer its task takes that has to load it, over all bins that `fluid` moves. It should add
  no more than 1.3 times that to a batch; and for comparison a few bins that move while nothing else does;
* stop and restart, in the same application, which is still warm: the query is drained and started again with all bins
  to be loaded; what that adds to a batch is the time without results, less a normal batch;
* Spark left alone: two executors, two more join, the scheduler's own patience (3 s), no placement: the time of the
  stage with state before and after.

    make bench-migration            (or: python benchmarks/migration.py --megabytes 200)
"""

import argparse
import math
import re
import shutil
import statistics
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from operator import mul
from pathlib import Path
from typing import NamedTuple

import numpy as np
from pyspark.sql import SparkSession
from pyspark.sql import functions as f

from batch_time_picture import Panel, picture
from headgate.control.actions import SetExecutors, SpreadBins
from headgate.control.events import ActionFailed
from headgate.formats.checkpoint.folders import LocalFolders
from headgate.formats.checkpoint.reader import read_state
from headgate.model.bins import homes, task_seconds
from headgate.model.microbatch import Executor, MicroBatch
from headgate.model.migration import STRATEGIES, Strategy
from headgate.model.placement import Bin, placement
from headgate.spark.engine import SparkEngine
from headgate.spark.internals.queries import end_after_this_batch
from headgate.spark.local_cluster import LocalCluster
from headgate.spark.state_store_settings import ROCKSDB
from headgate.workloads.load import Constant
from headgate.workloads.sentences import SentencesSource
from headgate.workloads.throttle import throttle
from noise import noise
from verdicts import exit_code, verdict

BINS = 16
FEW, MANY = 2, 4
ROW = 1000
"""Bytes of a value."""
FILLING = 50_000
"""Rows of a batch while the state is filled."""
UPDATED = 40
"""Keys of each bin that a batch changes."""
UPDATED_KEYS = UPDATED * BINS
WAIT = 0.0018
"""Seconds for each of them: 8 bins of 40 on one slot are 0.6 s, beside what 8 tasks with state take anyway."""
NORMAL = 8
"""Batches that tell what is normal."""
SINGLE = 3
"""Bins that are moved by themselves."""
AROUND = 3
"""Batches before a migration that a picture shows."""
LETTING_GO = 15.0
"""Seconds after which an executor has closed what it no longer holds."""
RESTARTS = 3
CHANCE = 0.3
"""Seconds by which the longest of a few batches differs with nothing moving."""
USUAL, APART = 2.0, 0.2
"""Seconds of a normal batch, and the part by which it may differ."""


class Bench:
    """A query with state of some size, and an engine to move it."""

    def __init__(self, spark: SparkSession, megabytes: int) -> None:
        self.spark, self.keys, self.rows = spark, megabytes * 1000, FILLING
        self.folder = tempfile.mkdtemp()
        self.batches: list[MicroBatch] = []
        self.told: list[str] = []
        self.moved_at = -math.inf
        self.start()

    def start(self) -> None:
        """The query, under way; again, too."""
        rows = (
            self.spark.readStream.format("sentences").option("load", str(Constant(1e7)))
            .option("rows_per_batch", str(self.rows)).option("partitions", str(MANY)).option("words", "1").load()
        )  # fmt: skip
        # First every key once, in order; from then on a few keys over and over.
        key = f.when(f.col("number") < self.keys, f.col("number")).otherwise(f.col("number") % UPDATED_KEYS)
        kept = rows.select(key.alias("key")).select("key", noise(f.col("key"), ROW).alias("value"))
        largest = kept.groupBy("key").agg(f.max("value").alias("value"))
        # Whether a key is one of the few is asked of what is kept: asked of the key itself, Spark would keep no other.
        of_kept = f.when(f.length("value") > 0, f.col("key")).otherwise(UPDATED_KEYS)
        slow = largest.where(of_kept < UPDATED_KEYS).select("key").mapInArrow(throttle(WAIT), "key bigint")
        writer = slow.writeStream.outputMode("update").format("noop").queryName("migrating")
        self.query = writer.option("checkpointLocation", self.folder).start()
        self.engine = SparkEngine(self.spark, self.query).start()

    def stop(self) -> None:
        """End it; its state may be large, and nobody reads it any more."""
        self.engine.stop()
        self.query.stop()
        shutil.rmtree(self.folder, ignore_errors=True)

    def look(self) -> None:
        """Take in what there is."""
        self.batches += [seen.batch for seen in self.engine.seen(0.2)]
        for told in self.engine.happened():
            if isinstance(told, ActionFailed):
                raise SystemExit(f"failed: {told.why}")
            self.told.append(told.what)
        if not self.query.isActive:
            raise SystemExit(f"the query ended: {self.query.exception()}")

    def until(self, holds: Callable[[], bool]) -> None:
        """Wait for it."""
        while not holds():
            self.look()

    def more(self, batches: int) -> list[MicroBatch]:
        """So many further batches."""
        before = len(self.batches)
        self.until(lambda: len(self.batches) >= before + batches)
        return self.batches[before:]

    def fill(self) -> None:
        """Until every key is there; from then on batches are small."""
        self.until(lambda: bool(self.batches) and (self.batches[-1].number + 1) * FILLING >= self.keys)
        self.drain()
        self.rows = UPDATED_KEYS
        self.start()
        self.more(4)

    def drain(self) -> None:
        """End it after the batch that runs."""
        end_after_this_batch(self.spark, self.query)
        self.query.awaitTermination()
        self.engine.stop()

    def normal(self) -> list[float]:
        """Seconds of some batches."""
        return [batch.duration / 1000 for batch in self.more(NORMAL)]

    def moved(self, strategy: Strategy, to: dict[int, str]) -> list[MicroBatch]:
        """Move these; the batches from the first step until all are there."""
        self.until(lambda: time.monotonic() > self.moved_at + 1.5 * LETTING_GO)
        before, told = len(self.batches), len(self.told)
        self.engine.carry_out(SpreadBins(1, str(self.query.id), strategy, to))
        self.until(lambda: any(re.search("bins? of", one) for one in self.told[told:]))
        if not any(" moved" in one for one in self.told[told:]):
            raise SystemExit(f"bins did not move: {self.told[told:]}")
        self.moved_at = time.monotonic()
        return self.batches[before:]


class Migrated(NamedTuple):
    """What a migration did."""

    strategy: str
    executors: int
    """It went to so many."""
    adds: float
    """Seconds, to the longest batch."""
    batches: int
    seconds: float
    bins: int
    """Moves, by where tasks ran."""
    least: int
    bytes: int
    """Of the files of those bins."""
    loads: list[float]
    """Seconds by which the task of each bin that moved took longer the first time."""
    shown: list[tuple[float, float]]
    """When a batch ended, in seconds from the first step on, and how long it took; some from before, too."""


def even(bench: Bench, executors: list[Executor]) -> dict[int, str]:
    """Where bins should be on these, by count, with as few moves as that takes."""
    now = homes(bench.batches[-1])
    return placement([Bin(number) for number in now], now, executors)


def fewest(now: Mapping[int, str], executors: list[Executor]) -> int:
    """Moves without which no even share is possible: what each executor lacks."""
    held = Counter(now.values())
    share = len(now) // len(executors)
    return sum(max(0, share - held[one.id]) for one in executors)


def loaded(before: Mapping[int, str], seen: list[MicroBatch]) -> list[tuple[int, MicroBatch]]:
    """Bins that a batch had elsewhere than the one before it, each as often as that happened, with that batch."""
    moved = []
    for batch in seen:
        now = homes(batch)
        moved += [(number, batch) for number, home in now.items() if before[number] != home]
        before = now
    return moved


def longest_of(count: int, seconds: Sequence[float]) -> float:
    """The longest of so many batches, on average over all ways to choose them.

    >>> longest_of(1, [1.0, 2.0, 6.0]), longest_of(2, [1.0, 2.0, 6.0]), longest_of(9, [1.0, 2.0, 6.0])
    (3.0, 4.666666666666667, 6.0)
    """
    chosen = min(count, len(seconds))
    ways = [math.comb(below, chosen - 1) for below in range(len(seconds))]
    return sum(map(mul, sorted(seconds), ways)) / sum(ways)


def migrate(
    bench: Bench, strategy: Strategy, executors: list[Executor], before: Sequence[float]
) -> tuple[Migrated, Sequence[float]]:
    """To these executors, from wherever it is; `before` are batches just before, and those just after are given."""
    now = homes(bench.batches[-1])
    earlier = bench.batches[-AROUND:]
    tasks = [task_seconds(batch) for batch in bench.batches[-NORMAL:]]
    usually = {number: statistics.median(took[number] for took in tasks) for number in now}
    target = {number: home for number, home in even(bench, executors).items() if now[number] != home}
    seen = bench.moved(strategy, target)
    # Without the batch that ran when it was asked for: nothing moves in its middle.
    seen = seen[next((place for place, batch in enumerate(seen) if loaded(now, [batch])), 0) :]
    moved = loaded(now, seen)
    (operator,) = read_state(LocalFolders(bench.folder)).operators
    size = {one.number: one.bytes for one in operator.bins}
    began = seen[0].began / 1000
    after = bench.normal()
    # On fewer executors a batch is longer anyway, so that is what is normal in between.
    usual = longest_of(len(seen), before if len(executors) == MANY else after)
    done = Migrated(
        strategy,
        len(executors),
        max(batch.duration for batch in seen) / 1000 - usual,
        len(seen),
        sum(batch.duration for batch in seen) / 1000,
        len(moved),
        fewest(now, executors),
        sum(size[number] for number, _ in moved),
        [task_seconds(batch)[number] - usually[number] for number, batch in moved],
        [((one.began + one.duration) / 1000 - began, one.duration / 1000) for one in (*earlier, *seen)],
    )
    return done, after


def one_by_itself(bench: Bench, executors: list[Executor]) -> float:
    """How much longer than usual the task of a bin takes that has to load it: median of some, moved one at a time."""
    added = []
    for number in range(SINGLE):
        usual = statistics.median(task_seconds(batch)[number] for batch in bench.more(NORMAL))
        now = homes(bench.batches[-1])
        other = next(one.id for one in executors if one.id != now[number])
        first = next(batch for batch in bench.moved("fluid", {number: other}) if homes(batch)[number] == other)
        added.append(task_seconds(first)[number] - usual)
        bench.moved("fluid", {number: now[number]})
    return statistics.median(added)


def restarted(bench: Bench) -> float:
    """Seconds that a restart adds to a batch: from the last results before it to the first after it."""
    normal = statistics.median(bench.normal())
    bench.drain()
    last = bench.query.lastProgress
    ended = datetime.fromisoformat(last.timestamp).timestamp() + last.durationMs["triggerExecution"] / 1000
    before = len(bench.batches)
    bench.start()
    bench.more(1)
    first = bench.batches[before]
    return (first.began + first.duration) / 1000 - ended - normal


def show(one: Migrated) -> None:
    """A line."""
    print(
        f"  {one.strategy:14} to {one.executors} adds {one.adds:5.2f} s to the longest batch; {one.batches:3} batches, "
        f"{one.seconds:5.1f} s; {one.bins} bins moved (least {one.least}), {one.bytes / 1e6:,.0f} MB",
        flush=True,
    )


def strategies(spark: SparkSession, megabytes: int, rounds: int) -> list[Migrated]:
    """All of them on state of one size, growing and shrinking."""
    bench = Bench(spark, megabytes)
    bench.fill()
    executors = list(bench.engine.executors())[:MANY]
    few = executors[:FEW]
    bench.moved("sudden", even(bench, few))
    bench.more(2)
    kept = read_state(LocalFolders(bench.folder)).bytes / 1e6
    normal = statistics.median(bench.normal())
    print(f"{megabytes} MB of values, {kept:,.0f} MB of files in {BINS} bins")
    say(
        f"a normal batch on {FEW} executors takes {normal:.2f} s, {USUAL:g} s +- {APART:.0%}",
        abs(normal / USUAL - 1) <= APART,
    )
    single = one_by_itself(bench, executors)
    print(f"  to load one bin, while nothing else moves, takes its task {single:.2f} s")
    done: list[Migrated] = []
    usual: Sequence[float] = bench.normal()
    for _ in range(rounds):
        for strategy in STRATEGIES:
            for target in (executors, few):
                one, usual = migrate(bench, strategy, target, usual)
                done.append(one)
                show(one)
            if set(homes(bench.batches[-1]).values()) != {one.id for one in few}:  # hottest-first empties nobody
                bench.moved("sudden", even(bench, few))
                usual = bench.normal()
    times = sorted(restarted(bench) for _ in range(RESTARTS))
    print(f"  stop and restart adds {statistics.median(times):.2f} s to a batch ({times[0]:.2f} to {times[-1]:.2f})")
    bench.stop()
    for size in (MANY, FEW):
        judge([one for one in done if one.executors == size], size)
    even_ones = [one for one in done if one.strategy != "hottest-first"]
    say("no bin moved that need not", all(one.bins == one.least for one in even_ones))
    return done


def judge(ran: Sequence[Migrated], executors: int) -> None:
    """All migrations one way; growing costs next to nothing, which would hide what shrinking does."""
    of = {strategy: [one for one in ran if one.strategy == strategy] for strategy in STRATEGIES}
    adds = {strategy: statistics.median(one.adds for one in of[strategy]) for strategy in STRATEGIES}
    batches = {strategy: sum(one.batches for one in of[strategy]) for strategy in STRATEGIES}
    loads = sorted(load for one in of["fluid"] for load in one.loads)
    one_bin = statistics.median(loads)
    print(f"  to {executors}: {', '.join(_adds(strategy, of[strategy]) for strategy in STRATEGIES)}")
    print(f"  to load one bin takes its task {one_bin:.2f} s ({loads[0]:.2f} to {loads[-1]:.2f}) where fluid moves it")
    fluid, sudden, batched = adds["fluid"], adds["sudden"], adds["batched"]
    say(f"fluid adds {fluid:.2f} s to a batch, at most 1.3 x {one_bin:.2f} s", fluid <= 1.3 * one_bin)
    say(f"and at most half of what sudden adds, {sudden:.2f} s", fluid <= 0.5 * sudden)
    say(f"batched, {batched:.2f} s, in between", fluid <= batched + CHANCE and batched <= sudden + CHANCE)
    say("with fewer batches than fluid", batches["batched"] < batches["fluid"])


def _adds(strategy: Strategy, ran: Sequence[Migrated]) -> str:
    """Median, least and most."""
    adds = sorted(one.adds for one in ran)
    return f"{strategy} adds {statistics.median(adds):.2f} s ({adds[0]:.2f} to {adds[-1]:.2f})"


def say(what: str, held: bool) -> None:
    """A line."""
    print("  " + verdict(what, held), flush=True)


def rows_of(done: dict[int, list[Migrated]]) -> list[tuple[str, list[Panel]]]:
    """A row of the picture for each size and way: every strategy that moved something, once."""
    return [
        (
            f"{megabytes:,} MB, to {executors}",
            [
                Panel(one.strategy, one.shown)
                for one in ran[: 2 * len(STRATEGIES)]
                if one.executors == executors and one.bins
            ],
        )
        for megabytes, ran in done.items()
        for executors in (MANY, FEW)
    ]


def stateful_stage(batches: list[MicroBatch]) -> float:
    """Seconds of the stage with state, median."""
    lasted = []
    for batch in batches:
        mine = [batch.dataflow.index[name] for name in batch.stateful]
        rows = np.isin(batch.tasks.operator, mine)
        lasted.append(float(batch.tasks.finished[rows].max() - batch.tasks.launched[rows].min()) / 1000)
    return statistics.median(lasted)


def left_alone(cluster: LocalCluster, megabytes: int) -> None:
    """Two executors join, and nobody places anything; then somebody does."""
    spark = session(cluster, FEW)
    bench = Bench(spark, megabytes)
    bench.fill()
    before, held = stateful_stage(bench.more(NORMAL)), [_shares(bench)]
    bench.engine.carry_out(SetExecutors(1, MANY))
    bench.until(lambda: len(bench.engine.executors()) == MANY)
    alone = stateful_stage(bench.more(2 * NORMAL)[NORMAL:])
    held.append(_shares(bench))
    bench.moved("sudden", even(bench, list(bench.engine.executors())))
    placed = stateful_stage(bench.more(NORMAL))
    held.append(_shares(bench))
    print(
        f"  Spark left alone: the stage with state took {before:.2f} s on {FEW} executors (bins: {held[0]}), "
        f"{alone:.2f} s on {MANY} (bins: {held[1]}; {before / alone:.2f} times as fast); with bins placed "
        f"{placed:.2f} s (bins: {held[2]}; {before / placed:.2f} times)"
    )
    bench.stop()
    spark.stop()


def _shares(bench: Bench) -> str:
    """How many bins each executor has, the most first."""
    return "+".join(str(count) for _, count in Counter(homes(bench.batches[-1]).values()).most_common())


def session(cluster: LocalCluster, executors: int) -> SparkSession:
    """A new application."""
    conf = {"spark.sql.shuffle.partitions": str(BINS), **ROCKSDB, "spark.ui.enabled": "false"}
    conf["spark.sql.streaming.stateStore.maintenanceInterval"] = f"{LETTING_GO:.0f}s"
    spark = cluster.session("migration", executors=executors, memory="1g", most=MANY, conf=conf)
    spark.sparkContext.setLogLevel("OFF")
    spark.dataSource.register(SentencesSource)
    return spark


def main() -> int:
    """All of it."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--megabytes", default="200,1000", help="sizes of the state")
    parser.add_argument("--rounds", type=int, default=3, help="of each strategy, growing and shrinking")
    parser.add_argument("--no-comparison", action="store_true", help="without Spark left alone")
    parser.add_argument("--picture", type=Path, metavar="FILE", help="batch times of every strategy, as SVG")
    given = parser.parse_args()
    done: dict[int, list[Migrated]] = {}
    for megabytes in map(int, given.megabytes.split(",")):
        with LocalCluster(workers=1, slots=MANY, memory="8g", late=True) as cluster:
            began = time.monotonic()
            spark = session(cluster, MANY)
            done[megabytes] = strategies(spark, megabytes, given.rounds)
            spark.stop()
            print(f"  ({time.monotonic() - began:.0f} s)")
        if not given.no_comparison:
            with LocalCluster(workers=1, slots=MANY, memory="8g", late=True) as cluster:
                left_alone(cluster, megabytes)
    if given.picture is not None:
        given.picture.write_text(picture(rows_of(done)), encoding="utf-8")
    return exit_code()


if __name__ == "__main__":
    sys.exit(main())
