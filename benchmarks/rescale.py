"""What a rescale does to the batches of a running query: executors that join, warmed and not, and executors that leave.

A count by key in 16 bins whose output waits 25 ms for each of about 20 keys a bin, batches of one size one after the
other; two executors of one slot. Each round: two more join, their share of the state follows; then two leave again,
their state moved off before. Rounds with warming and without take turns in one application.

Times are those at which a batch's results were written, from the results themselves: the time of a batch is the time
between two of them. Normal is the median of the batches before (when joining) or of the slower of the two sizes (when
leaving: fewer executors take longer). Beside it, what the slowest batch spent on what: waiting for executors to
register is no part of any batch; what the first tasks on a new executor took longer than usual is.

    make bench-rescale              (or: python benchmarks/rescale.py --rounds 3)
"""

import argparse
import statistics
import sys
import tempfile
import time
from typing import NamedTuple

from pyspark.sql import DataFrame, SparkSession

from headgate.control.actions import SetExecutors, SpreadBins
from headgate.control.events import ActionFailed
from headgate.model.cold import cold_start
from headgate.model.microbatch import MicroBatch
from headgate.ports import Done
from headgate.spark.engine import SparkEngine
from headgate.spark.internals.executors import active_executors
from headgate.spark.local_cluster import LocalCluster
from headgate.spark.state_store_settings import ROCKSDB
from headgate.workloads.load import Constant
from headgate.workloads.sentences import SentencesSource
from headgate.workloads.throttle import throttle
from verdicts import exit_code, verdict

BINS = 16
FEW, MANY = 2, 4
SETTLED = 4
"""Batches between two changes."""
JOIN_LIMIT, LEAVE_LIMIT = 2.0, 1.5
PATIENCE = 300.0


class Bench:
    """A query, an engine to change it, and the times at which results were written."""

    def __init__(self, spark: SparkSession, *, warm: bool) -> None:
        self.spark = spark
        self.written: dict[int, float] = {}
        rows = (
            spark.readStream.format("sentences").option("load", str(Constant(1e6)))
            .option("rows_per_batch", "20000").option("partitions", "4").option("words", "1")
            .option("keys", str(20 * BINS)).load()
        )  # fmt: skip
        counts = rows.groupBy("key").count().mapInArrow(throttle(0.025), "key bigint, count bigint")
        writer = counts.writeStream.outputMode("update").foreachBatch(self.write).queryName("rescaled")
        self.query = writer.option("checkpointLocation", tempfile.mkdtemp()).start()
        self.engine = SparkEngine(spark, self.query, warm=warm).start()
        self.batches: list[MicroBatch] = []
        self.done: list[Done] = []

    def write(self, changed: DataFrame, number: int) -> None:
        """Results, with the time at which they are there."""
        changed.collect()
        self.written[number] = time.time()

    def stop(self) -> None:
        """End it."""
        self.engine.stop()
        self.query.stop()

    def look(self) -> None:
        """Take in what there is."""
        self.batches += [seen.batch for seen in self.engine.seen(0.2)]
        for told in self.engine.happened():
            if isinstance(told, ActionFailed):
                raise SystemExit(f"failed: {told.why}")
            self.done.append(told)
        if not self.query.isActive:
            raise SystemExit(f"the query ended: {self.query.exception()}")

    def more(self, batches: int) -> None:
        """Wait for so many further batches."""
        wanted = len(self.batches) + batches
        while len(self.batches) < wanted:
            self.look()

    def settle(self) -> float:
        """Wait until batches are alike; their median time."""
        self.more(SETTLED)
        first = self.batches[-SETTLED].number
        return statistics.median(self.lasted(number) for number in range(first, first + SETTLED))

    def lasted(self, number: int) -> float:
        """From the results of the batch before to those of this one."""
        return self.written[number] - self.written[number - 1]

    def change(self, plan: int, executors: int) -> "Change":
        """Have so many executors with the state spread over them; what that did to the batches meanwhile."""
        first, told, began = self.batches[-1].number + 1, len(self.done), time.monotonic()
        self.engine.carry_out(SetExecutors(plan, executors))
        while len(self.engine.executors()) != executors or len(active_executors(self.spark)) != executors:
            if time.monotonic() - began > PATIENCE:
                raise SystemExit(f"{executors} executors did not come about within {PATIENCE:.0f} s")
            self.look()
        self.engine.carry_out(SpreadBins(plan, str(self.query.id)))
        self.more(3)
        last = self.batches[-1].number
        slowest = max(range(first, last + 1), key=self.lasted)
        before = [batch for batch in self.batches if batch.number < first]
        during = [batch for batch in self.batches if first <= batch.number <= last]
        cold = cold_start([*before[-8:], *during])
        registered = [one.what for one in self.done[told:] if "registered" in one.what]
        lost = sum(batch.attempts_lost for batch in during)
        return Change(self.lasted(slowest), cold.seconds if cold else 0.0, tuple(registered), lost)


class Change(NamedTuple):
    """What a change did."""

    slowest: float
    cold: float
    """What the first tasks on a new executor took longer than usual, median over executors."""
    registered: tuple[str, ...]
    lost: int
    """Attempts of tasks that failed."""


class Round(NamedTuple):
    """One round."""

    warm: bool
    joining: float
    """Times the normal batch."""
    leaving: float
    few: float
    many: float
    join: Change
    leave: Change
    missed: int
    """Batches that are not in the output."""


def one_round(spark: SparkSession, *, warm: bool) -> Round:
    """Two join, two leave."""
    bench = Bench(spark, warm=warm)
    bench.more(4)
    bench.engine.carry_out(SpreadBins(0, str(bench.query.id)))
    bench.more(3)
    few = bench.settle()
    join = bench.change(1, MANY)
    many = bench.settle()
    leave = bench.change(2, FEW)
    few_again = bench.settle()
    bench.stop()
    numbers = sorted(bench.written)
    missed = len(set(range(numbers[0], numbers[-1] + 1)) - set(numbers))
    return Round(
        warm, join.slowest / few, leave.slowest / max(many, few_again), few, many, join, leave, missed
    )  # fmt: skip


def show(one: Round) -> None:
    """A line for each change."""
    how = "warmed" if one.warm else "cold  "
    print(
        f"{how}  normal {one.few:.2f} s on {FEW}, {one.many:.2f} s on {MANY}; joining: slowest {one.join.slowest:.2f} s"
        f" = {one.joining:.2f} times (first tasks {one.join.cold:.2f} s longer; {'; '.join(one.join.registered)}); "
        f"leaving: slowest {one.leave.slowest:.2f} s = {one.leaving:.2f} times; "
        f"{one.join.lost + one.leave.lost} attempts failed, {one.missed} batches missed",
        flush=True,
    )


def main() -> int:
    """All of it."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=3, help="of each kind")
    given = parser.parse_args()
    rounds = []
    with LocalCluster(workers=1, slots=MANY, memory="4g", late=True) as cluster:
        spark = cluster.session(
            "rescale",
            executors=FEW,
            memory="512m",
            most=MANY,
            conf={
                "spark.sql.shuffle.partitions": str(BINS),
                **ROCKSDB,
                "spark.ui.enabled": "false",
            },
        )
        spark.sparkContext.setLogLevel("OFF")
        spark.dataSource.register(SentencesSource)
        for number in range(2 * given.rounds):
            one = one_round(spark, warm=number % 2 == 0)
            show(one)
            rounds.append(one)
        spark.stop()
    for warm in (True, False):
        mine = [one for one in rounds if one.warm == warm]
        joining = [one.joining for one in mine]
        name = "warmed" if warm else "not warmed"
        print(
            f"{name}: joining {statistics.median(joining):.2f} ({min(joining):.2f} to {max(joining):.2f}) times normal"
        )
    leaving = [one.leaving for one in rounds]
    print(f"leaving {statistics.median(leaving):.2f} ({min(leaving):.2f} to {max(leaving):.2f}) times normal")
    worst = max(one.joining for one in rounds if one.warm)
    print(verdict(f"joining, warmed, at most {JOIN_LIMIT:g} times", worst <= JOIN_LIMIT))
    print(verdict(f"leaving, at most {LEAVE_LIMIT:g} times", max(leaving) <= LEAVE_LIMIT))
    clean = all(one.join.lost + one.leave.lost + one.missed == 0 for one in rounds)
    print(verdict("no batch failed or missed, no attempt lost", clean))
    return exit_code()


if __name__ == "__main__":
    sys.exit(main())
