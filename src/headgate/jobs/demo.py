"""The demonstration: a word count on a real cluster on this machine, under a load that rises and falls.

One executor to begin with, and a splitter that waits 25 ms for every sentence, so that two real cores are enough for
eight slots. The load needs one executor at first, then about four, then half of that. What must come of it: one move
up, the backlog gone, one move down, and in the end every count exactly what the generator says.
"""

import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming.query import StreamingQuery

from headgate.control.actions import SetExecutors
from headgate.jobs.attach import attach
from headgate.model.errors import HeadgateError, InputError
from headgate.model.microbatch import MicroBatch
from headgate.model.objective import KeepUp
from headgate.runtime.entries import Carried, Entry, Intent, Seen
from headgate.spark.internals.queries import end_after_this_batch
from headgate.spark.local_cluster import LocalCluster
from headgate.spark.state_store_settings import ROCKSDB
from headgate.workloads.load import Load, Step
from headgate.workloads.sentences import SentencesSource, Text
from headgate.workloads.throttle import throttle

SECONDS_PER_SENTENCE = 0.025
TRIGGER = 4
PARTITIONS = 8
BINS = 4
MOST = 8
WORDS = 10
VOCABULARY = 1000
OBJECTIVE = KeepUp(headroom=0.2)
# Shorter than the defaults, which are for jobs that run for weeks.
DOWN_STRETCH, COOL_DOWN, ANEW = 25.0, 10.0, 30.0
CHECKPOINT, JOURNAL = "checkpoint", "journal.db"
"""In the folder of a demonstration."""


class Stage(NamedTuple):
    """A stretch of the demonstration."""

    until: float
    """Seconds after the query began."""
    rate: float
    """Sentences per second."""
    least: int
    """The fewest executors that meet the objective, by hand: a fifth more than `rate` for 4 s, 25 ms each, in 8 tasks
    that cost about 0.08 s more; 0.1 s for each bin, 0.2 s of the driver. At 90 a second a task waits for 1.35 s: three
    waves on 3 executors are 4.05 s, too long whatever the rest costs; two waves on 4 are 2.9 s. At 40 it takes 0.68 s:
    5.4 s on 1, four waves on 2 are 2.7 s."""


STAGES = (Stage(30.0, 10.0, least=1), Stage(120.0, 90.0, least=4), Stage(205.0, 40.0, least=2))


def load() -> Load:
    """10 sentences a second, then 90, then 40."""
    first, second, third = STAGES
    return Step(first.rate, second.rate, at=first.until, then=((second.until, third.rate),))


def split(batch: pa.RecordBatch) -> pa.RecordBatch:
    """Sentences into words."""
    words = pc.list_flatten(pc.split_pattern(batch.column("sentence"), " "))
    return pa.RecordBatch.from_arrays([words], names=["word"])


def word_count(spark: SparkSession) -> DataFrame:
    """How often each word came."""
    sentences = (
        spark.readStream.format("sentences").option("load", str(load())).option("partitions", str(PARTITIONS))
        .option("words", str(WORDS)).option("vocabulary", str(VOCABULARY)).load()
    )  # fmt: skip
    return sentences.mapInArrow(throttle(SECONDS_PER_SENTENCE, split), "word string").groupBy("word").count()


class Outcome(NamedTuple):
    """What came of a demonstration."""

    sentences: int
    counts: Mapping[str, int]
    moves: tuple[tuple[float, int], ...]
    """Seconds after the beginning, and the executors that were asked for."""
    batches: tuple[MicroBatch, ...]
    journal: Path
    began: float
    """When the query began, in seconds since 1970."""

    @property
    def exact(self) -> bool:
        """Whether every count is what the generator says, without Spark."""
        text = Text(words=WORDS, vocabulary=VOCABULARY, keys=1, hot=0.0)
        return dict(self.counts) == text.word_counts(self.sentences)


def refuse_used(folder: Path) -> None:
    """A folder of a demonstration before this one: it would go on with that one's sentences, and not end."""
    for left in (CHECKPOINT, JOURNAL):
        if (folder / left).exists():
            raise InputError(f"{folder} has a {left} of an earlier demonstration; name a new folder, or an empty one")


def demonstrate(
    folder: Path, *, policy: str = "capacity", watch: Callable[[Entry | Seen], object] = lambda _: None
) -> Outcome:
    """Run it; takes under four minutes. The journal and the cluster's logs stay in the folder.

    `watch` is handed what the controller writes, and a note at each change of the load.
    """
    refuse_used(folder)
    counts: dict[str, int] = {}
    moves: list[tuple[float, int]] = []
    batches: list[MicroBatch] = []
    journal = folder / JOURNAL

    def keep(changed: DataFrame, number: int) -> None:
        del number  # counts are totals: a batch that comes twice changes nothing
        counts.update((row["word"], row["count"]) for row in changed.collect())

    def look(entry: Entry | Seen) -> None:
        if isinstance(entry, Seen):
            batches.append(entry.batch)
        elif isinstance(entry, Intent) and isinstance(entry.action, SetExecutors):
            moves.append((entry.at - began, entry.action.executors))
        watch(entry)

    with LocalCluster(workers=1, slots=MOST, memory="8g", folder=folder / "cluster", late=True) as cluster:
        spark = cluster.session("headgate demo", executors=1, memory="512m", most=MOST, conf=CONF)
        spark.sparkContext.setLogLevel("OFF")
        spark.dataSource.register(SentencesSource)
        try:
            writer = word_count(spark).writeStream.foreachBatch(keep).outputMode("update").queryName("word count")
            writer = writer.option("checkpointLocation", str(folder / CHECKPOINT))
            began = time.time()
            query = writer.trigger(processingTime=f"{TRIGGER} seconds").start()
            scaler = attach(
                spark,
                query,
                objective=OBJECTIVE,
                executors=(1, MOST),
                policy=policy,
                journal=journal,
                watch=look,
                down_stretch=DOWN_STRETCH,
                cool_down=COOL_DOWN,
                anew=ANEW,
            )
            with scaler:
                for stage in STAGES:
                    begun = "the query has begun: " if stage is STAGES[0] else ""
                    watch(Carried(time.time(), 0, f"{begun}{stage.rate:g} sentences a second from now on"))
                    _wait(query, began + stage.until)
            end_after_this_batch(spark, query)
            query.awaitTermination()
            sentences = _taken(query)
        finally:
            spark.stop()
    return Outcome(sentences, counts, tuple(moves), tuple(batches), journal, began)


CONF = {
    "spark.sql.shuffle.partitions": str(BINS),
    **ROCKSDB,
    "spark.ui.enabled": "false",
}


def _wait(query: StreamingQuery, until: float) -> None:
    while time.time() < until:
        if query.awaitTermination(1):
            raise HeadgateError(f"the query ended before its time: {query.exception()}")


def _taken(query: StreamingQuery) -> int:
    """Sentences that all batches took, by the offset where the last one ended."""
    last: Any = query.lastProgress
    return int(msgspec.json.decode(last.sources[0].endOffset)["number"])
