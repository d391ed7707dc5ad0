"""State that is moved, rewritten and handed on, under a query that goes on: in the end it is what it should be.

One query of each kind (aggregation, deduplication, session window, join of two streams, two operators with state in
stages of their own, `transformWithState`) goes through stretches. In each: an executor joins, bins move to it and among
all of them by hand, an executor leaves; then the query is drained, its state is rewritten into another number of bins,
and it goes on. In the end the state is read back key by key and compared with what plain Python makes of the same
input.

    make verify-state               (or: python tests/campaigns/state.py --kinds join --stretches 4)
"""

import argparse
import random
import re
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterable
from operator import ge
from typing import Any, NamedTuple

import msgspec
import numpy as np
from pyspark.sql import DataFrame, Row, SparkSession
from pyspark.sql import functions as f
from pyspark.sql.streaming.query import StreamingQuery

from campaigns.sums import adding_up
from headgate.control.actions import Action, SetExecutors, SpreadBins
from headgate.control.events import ActionFailed
from headgate.model.bins import homes
from headgate.model.microbatch import MicroBatch
from headgate.spark.engine import SparkEngine
from headgate.spark.internals.queries import end_after_this_batch, left_uncommitted
from headgate.spark.local_cluster import LocalCluster
from headgate.spark.rewriting import rewrite
from headgate.spark.state_store_settings import ROCKSDB
from headgate.workloads.load import Constant
from headgate.workloads.sentences import SentencesSource, Text

KEYS = 97
RATE = 300.0
BINS = (7, 5, 11, 4)
"""What the state is rewritten into, one after the other: up and down, and primes."""
ENOUGH = (10, 4, 3)
"""Moves, rewrites and removals of executors that a query must go through to the end."""
FEW, MANY = 2, 3
PATIENCE = 120.0
GAP, SESSION = 10, 25
"""Seconds of event time between two rows; of a key they come 97 times as far apart on the whole."""

State = dict[Any, Any]


def source(spark: SparkSession) -> DataFrame:
    """Numbers and keys, with an event time that the number tells."""
    reader = spark.readStream.format("sentences").option("load", str(Constant(RATE)))
    rows = reader.option("partitions", "2").option("words", "1").option("keys", str(KEYS)).load()
    return rows.selectExpr("number", "key", f"timestamp_seconds(number * {GAP}) as at")


def key_of(numbers: Iterable[int]) -> list[int]:
    """The key of each row, from the generator itself."""
    text = Text(words=1, vocabulary=1000, keys=KEYS, hot=0.0)
    return [int(key) for key in text.key(np.array(list(numbers), dtype=np.uint64))]


class Kind(NamedTuple):
    """A query with state, how its state is read back, and what it should be."""

    query: Callable[[SparkSession], DataFrame]
    mode: str
    read: Callable[[SparkSession, str], State]
    truth: Callable[..., State]
    """After so many rows of each source."""


def rows_of(spark: SparkSession, checkpoint: str, **options: str) -> list[Row]:
    """Rows of the state, by Spark's public reader."""
    reader = spark.read.format("statestore").option("path", checkpoint)
    for name, value in options.items():
        reader = reader.option(name, value)
    return reader.load().collect()


def each_once(pairs: Iterable[tuple[Any, Any]]) -> State:
    """As a mapping; a key that is there twice is a fault of its own."""
    found: State = {}
    for key, value in pairs:
        if key in found:
            raise StateError(f"key {key} is in the state twice: {found[key]} and {value}")
        found[key] = value
    return found


def count_by_key(spark: SparkSession) -> DataFrame:
    """Aggregation."""
    return source(spark).groupBy("key").count()


def counts(spark: SparkSession, checkpoint: str) -> State:
    """Key -> count."""
    return each_once((row["key"]["key"], row["value"]["count"]) for row in rows_of(spark, checkpoint))


def true_counts(rows: int, *_: int) -> State:
    """By counting."""
    return dict(Counter(key_of(range(rows))))


def first_of_each(spark: SparkSession) -> DataFrame:
    """Deduplication by a number that comes three times."""
    return source(spark).selectExpr("cast(number / 3 as bigint) as third").dropDuplicates(["third"])


def distinct(spark: SparkSession, checkpoint: str) -> State:
    """What was seen."""
    return each_once((row["key"]["third"], True) for row in rows_of(spark, checkpoint))


def true_distinct(rows: int, *_: int) -> State:
    """By division."""
    return dict.fromkeys((number // 3 for number in range(rows)), True)


def sessions(spark: SparkSession) -> DataFrame:
    """Sessions of a key, none of which ever ends: the watermark is far behind."""
    rows = source(spark).withWatermark("at", "100000 hours")
    return rows.groupBy(f.session_window("at", f"{SESSION * KEYS} seconds"), "key").count()


def kept_sessions(spark: SparkSession, checkpoint: str) -> State:
    """(key, when it began) -> rows in it."""
    values = (row["value"] for row in rows_of(spark, checkpoint))
    return each_once(((one["key"], int(one["session_window"]["start"].timestamp())), one["count"]) for one in values)


def true_sessions(rows: int, *_: int) -> State:
    """Rows of a key in order; a new session where the next is too far off."""
    found: State = {}
    last: dict[int, tuple[int, int]] = {}
    for number, key in enumerate(key_of(range(rows))):
        at = number * GAP
        began, before = last.get(key, (at, at))
        began = at if at - before >= SESSION * KEYS else began
        found[(key, began)] = found.get((key, began), 0) + 1
        last[key] = (began, at)
    return found


def joined(spark: SparkSession) -> DataFrame:
    """Two streams by their number; all rows of both are kept."""
    left = source(spark).selectExpr("number", "key")
    right = source(spark).selectExpr("number as other", "key as second")
    return left.join(right, f.expr("number = other"))


def both_sides(spark: SparkSession, checkpoint: str) -> State:
    """(side, number) -> key."""
    return each_once(
        ((side, row["value"][name]), row["value"][key])
        for side, name, key in (("left", "number", "key"), ("right", "other", "second"))
        for row in rows_of(spark, checkpoint, joinSide=side)
    )


def true_sides(left: int, right: int) -> State:
    """All of them; the two streams need not be equally far."""
    keys = key_of(range(max(left, right)))
    sides = {"left": left, "right": right}
    return {(side, number): keys[number] for side, rows in sides.items() for number in range(rows)}


def summed(spark: SparkSession) -> DataFrame:
    """`transformWithState`: the sum of the numbers of each key."""
    grouped = source(spark).groupBy("key")
    return grouped.transformWithState(adding_up(), "key bigint, total bigint", "update", "none")


def sums(spark: SparkSession, checkpoint: str) -> State:
    """Key -> sum."""
    rows = rows_of(spark, checkpoint, stateVarName="total")
    return each_once((row["key"]["key"], row["value"]["total"]) for row in rows)


def true_sums(rows: int, *_: int) -> State:
    """By adding up."""
    found: Counter[int] = Counter()
    for number, key in enumerate(key_of(range(rows))):
        found[key] += number
    return dict(found)


def counted_once(spark: SparkSession) -> DataFrame:
    """Two operators with state, each in a stage of its own: rows once each, then counted by key."""
    # An hour later: the first row would be of 1970 to the second, where watermarks begin, and count as late.
    rows = source(spark).selectExpr("number", "key", "at + interval 1 hour as at")
    rows = rows.withWatermark("at", "100000 hours").dropDuplicates(["number", "at"])
    return rows.groupBy(f.window("at", "10000 days"), "key").count()


def both_operators(spark: SparkSession, checkpoint: str) -> State:
    """(operator, key or number) -> count, or that it was seen."""
    return each_once(
        ((name, row["key"][column]), value)
        for operator in ("0", "1")
        for row in rows_of(spark, checkpoint, operatorId=operator)
        for name, column, value in [
            ("counted", "key", row["value"]["count"]) if "key" in row["key"] else ("seen", "number", True)
        ]
    )


def true_counted(rows: int, *_: int) -> State:
    """Every number once, and how often each key comes."""
    seen = {("seen", number): True for number in range(rows)}
    return seen | {("counted", key): count for key, count in Counter(key_of(range(rows))).items()}


KINDS = {
    "aggregation": Kind(count_by_key, "update", counts, true_counts),
    "deduplication": Kind(first_of_each, "append", distinct, true_distinct),
    "session": Kind(sessions, "append", kept_sessions, true_sessions),
    "join": Kind(joined, "append", both_sides, true_sides),
    "two-stages": Kind(counted_once, "append", both_operators, true_counted),
    "transform": Kind(summed, "update", sums, true_sums),
}


def rows_taken(query: StreamingQuery) -> list[int]:
    """Rows of each source up to the last batch."""
    return [int(msgspec.json.decode(one.endOffset)["number"]) for one in query.lastProgress.sources]


class StateError(AssertionError):
    """Something that must hold does not."""


class Done(NamedTuple):
    """What a query went through."""

    rows: int
    keys: int
    moves: int
    rewrites: int
    removals: int
    lost: int
    """Attempts of tasks that failed."""


class Trial:
    """One query of one kind."""

    def __init__(self, spark: SparkSession, kind: Kind, checkpoint: str, seed: int = 1) -> None:
        self.spark, self.kind, self.checkpoint = spark, kind, checkpoint
        self.draw = random.Random(seed)
        self.batches: list[MicroBatch] = []
        self.told: list[str] = []
        self.moves = self.rewrites = self.removals = 0

    def go_through(self, bins: Iterable[int], stretches: int) -> Done:
        """All stretches, and what is left in the end; raises `StateError`."""
        for into, _ in zip((*bins, None), range(stretches + 1), strict=False):
            rows = self.stretch()
            if into is not None and self.rewrites < stretches:
                self.rewrites += 1
                rewrite(self.spark, self.checkpoint, into, keep_backup=False)
        kept, truth = self.kind.read(self.spark, self.checkpoint), self.kind.truth(*rows)
        if kept != truth:
            wrong = [key for key in kept.keys() | truth.keys() if kept.get(key) != truth.get(key)]
            some = {key: (kept.get(key), truth.get(key)) for key in sorted(wrong, key=str)[:3]}
            raise StateError(f"{len(wrong)} of {len(truth)} keys are wrong after {rows} rows (is, should be): {some}")
        lost = sum(batch.attempts_lost for batch in self.batches)
        return Done(rows[0], len(truth), self.moves, self.rewrites, self.removals, lost)

    def stretch(self) -> list[int]:
        """An executor joins, bins move, one leaves, the query is drained; rows of each source so far."""
        writer = self.kind.query(self.spark).writeStream.format("noop").outputMode(self.kind.mode)
        writer = writer.option("checkpointLocation", self.checkpoint).trigger(processingTime="1 second")
        query = writer.start()
        engine = SparkEngine(self.spark, query).start()
        try:
            self.more(engine, query, 2)
            self.ask(engine, query, SetExecutors(1, MANY))
            self.until(engine, query, lambda: len(engine.executors()) == MANY, "an executor more")
            self.move(engine, query, SpreadBins(1, str(query.id), "batched"))
            for strategy in ("fluid", "sudden"):
                self.move(engine, query, SpreadBins(1, str(query.id), strategy, self.some_moves(engine)))
            self.ask(engine, query, SetExecutors(2, FEW))
            self.until(engine, query, lambda: len(engine.executors()) == FEW, "an executor less")
            self.removals += 1
            self.more(engine, query, 2)
            end_after_this_batch(self.spark, query)
            query.awaitTermination()
            if left_uncommitted(query):
                raise StateError("the query was drained in the middle of a batch")
            if query.exception() is not None:
                raise StateError(f"the query failed: {query.exception()}")
        finally:
            engine.stop()
            query.stop()
        return rows_taken(query)

    def some_moves(self, engine: SparkEngine) -> dict[int, str]:
        """Two bins, each to an executor it is not on."""
        now, there = homes(self.batches[-1]), [one.id for one in engine.executors()]
        chosen = self.draw.sample(sorted(now), 2)
        return {number: self.draw.choice([id for id in there if id != now[number]]) for number in chosen}

    def move(self, engine: SparkEngine, query: StreamingQuery, action: SpreadBins) -> None:
        """And see that it happened."""
        before = len(self.told)
        self.ask(engine, query, action)
        self.until(engine, query, lambda: any(re.search("bins? of", one) for one in self.told[before:]), "bins to move")
        ended = [one for one in self.told[before:] if re.search("bins? of", one)]
        if not all(" moved" in one for one in ended):
            raise StateError(f"{self.told[before:]}")
        wrong = {number: home for number, home in action.to.items() if homes(self.batches[-1]).get(number) != home}
        if wrong:
            raise StateError(f"bins should be on {wrong}, and are on {homes(self.batches[-1])}")
        self.moves += sum(int(one.split(" ", 1)[0]) for one in ended)

    def ask(self, engine: SparkEngine, query: StreamingQuery, action: Action) -> None:
        """Begin with it."""
        self.look(engine, query)
        engine.carry_out(action)

    def more(self, engine: SparkEngine, query: StreamingQuery, batches: int) -> None:
        """Wait for so many."""
        wanted = len(self.batches) + batches
        self.until(engine, query, lambda: len(self.batches) >= wanted, "batches")

    def until(self, engine: SparkEngine, query: StreamingQuery, holds: Callable[[], bool], what: str) -> None:
        """Wait for it."""
        deadline = time.monotonic() + PATIENCE
        while not holds():
            if time.monotonic() > deadline:
                raise StateError(f"{what} did not come within {PATIENCE:.0f} s; last: {self.told[-3:]}")
            self.look(engine, query)

    def look(self, engine: SparkEngine, query: StreamingQuery) -> None:
        """Take in what there is."""
        self.batches += [seen.batch for seen in engine.seen(0.2)]
        for one in engine.happened():
            if isinstance(one, ActionFailed):
                raise StateError(f"failed: {one.why}")
            self.told.append(one.what)
        if not query.isActive:
            raise StateError(f"the query ended: {query.exception()}")


def main() -> int:
    """Every kind once."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kinds", default=",".join(KINDS))
    parser.add_argument("--stretches", type=int, default=len(BINS))
    given = parser.parse_args()
    failures = 0
    with LocalCluster(workers=1, slots=2 * MANY, memory="4g", late=True) as cluster:
        conf = {"spark.sql.shuffle.partitions": "4", "spark.ui.enabled": "false", **ROCKSDB}
        spark = cluster.session("state", executors=FEW, cores=2, most=MANY, conf=conf)
        spark.sparkContext.setLogLevel("OFF")
        spark.dataSource.register(SentencesSource)
        for name in given.kinds.split(","):
            began = time.monotonic()
            with tempfile.TemporaryDirectory() as folder:
                try:
                    done = Trial(spark, KINDS[name], f"{folder}/checkpoint").go_through(BINS, given.stretches)
                    through = (done.moves, done.rewrites, done.removals)
                    if given.stretches == len(BINS) and not all(map(ge, through, ENOUGH)):
                        raise StateError(f"too little happened: {through} moves, rewrites and removals")
                    said = (
                        f"{done.rows:,} rows, {done.keys:,} keys of state exact; {done.moves} bins moved, "
                        f"{done.rewrites} rewrites, {done.removals} executors removed, {done.lost} attempts lost"
                    )
                except StateError as problem:
                    failures += 1
                    said = f"FAILED: {problem}"
            print(f"{name:14} {time.monotonic() - began:4.0f} s  {said}", flush=True)
        spark.stop()
    print("all exact" if not failures else f"{failures} FAILED")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
