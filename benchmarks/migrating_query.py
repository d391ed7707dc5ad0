"""A query with state of a known size whose bins can be moved: what `migration.py` measures on.

A maximum by key over rows of a kilobyte that does not compress: so many keys that the state has the size asked for, in
16 bins. It is filled first; then every batch updates a few keys of each bin, and their output waits, so that a batch
takes about 2 s with the state on two executors of one slot.

All bins make their snapshots in the same batch, one in `SNAPSHOTS`: flushing all of them, uploading and compacting them
takes longer than what is to be measured. `rested` waits for a stretch without.
"""

import math
import re
import shutil
import tempfile
import time
from collections.abc import Callable, Mapping

from pyspark.sql import SparkSession
from pyspark.sql import functions as f

from headgate.control.actions import SpreadBins
from headgate.control.events import ActionFailed
from headgate.formats.checkpoint.folders import LocalFolders
from headgate.formats.checkpoint.reader import read_state
from headgate.model.microbatch import MicroBatch
from headgate.model.migration import Strategy
from headgate.model.state_files import BinFiles
from headgate.spark.engine import SparkEngine
from headgate.spark.internals.queries import end_after_this_batch
from headgate.spark.local_cluster import LocalCluster
from headgate.spark.state_store_settings import ROCKSDB
from headgate.workloads.load import Constant
from headgate.workloads.sentences import SentencesSource
from headgate.workloads.throttle import throttle
from noise import noise

BINS = 16
ROW = 1000
"""Bytes of a value."""
FILLING = 50_000
"""Rows of a batch while the state is filled."""
UPDATED = 40
"""Keys of each bin that a batch changes."""
UPDATED_KEYS = UPDATED * BINS
WAIT = 0.0018
"""Seconds for each of them: 8 bins of 40 on one slot are 0.6 s, beside what 8 tasks with state take anyway."""
SNAPSHOTS = 150
"""Batches from one snapshot to the next; Spark's own figure is 10. A round of migrations has about as many, so little
time goes by with waiting for the next stretch; a bin that is loaded has so many small changes to apply at the most."""
LETTING_GO = 10.0
"""Seconds after which an executor has closed what it no longer holds; Spark's own figure is a minute."""
READERS = 4
"""Tasks that read the source."""
NORMAL = 8
"""Batches that tell what is normal."""
_PATIENCE = 3
"""Snapshots that are waited for, where each comes at another time than the bins' others."""


def session(cluster: LocalCluster, executors: int, most: int) -> SparkSession:
    """A new application."""
    conf = {"spark.sql.shuffle.partitions": str(BINS), **ROCKSDB, "spark.ui.enabled": "false"}
    conf["spark.sql.streaming.stateStore.maintenanceInterval"] = f"{LETTING_GO:.0f}s"
    conf["spark.sql.streaming.stateStore.minDeltasForSnapshot"] = str(SNAPSHOTS)
    spark = cluster.session("migration", executors=executors, memory="1g", most=most, conf=conf)
    spark.sparkContext.setLogLevel("OFF")
    spark.dataSource.register(SentencesSource)
    return spark


class MigratingQuery:
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
            .option("rows_per_batch", str(self.rows)).option("partitions", str(READERS)).option("words", "1").load()
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

    def let_go(self) -> None:
        """Until executors have closed what they no longer hold: a bin that comes back is then loaded like any other."""
        self.until(lambda: time.monotonic() > self.moved_at + 1.5 * LETTING_GO)

    def move(self, strategy: Strategy, to: Mapping[int, str]) -> list[MicroBatch]:
        """Move these, or all evenly where none is named; the batches from then on until all are there."""
        before, told = len(self.batches), len(self.told)
        self.engine.carry_out(SpreadBins(1, str(self.query.id), strategy, to))
        self.until(lambda: any(re.search("bins? of", one) for one in self.told[told:]))
        if not any(" moved" in one for one in self.told[told:]):
            raise SystemExit(f"bins did not move: {self.told[told:]}")
        self.moved_at = time.monotonic()
        return self.batches[before:]

    def bins(self) -> tuple[BinFiles, ...]:
        """As the files of the checkpoint have them."""
        (operator,) = read_state(LocalFolders(self.folder)).operators
        return operator.bins

    def rested(self, batches: int) -> None:
        """Until so many batches can come without a snapshot in any of them."""
        first = seen = self.batches[-1].number

        def undisturbed() -> bool:
            nonlocal seen
            last = self.batches[-1].number
            if last == seen:
                return False
            seen = last
            if last > first + _PATIENCE * SNAPSHOTS:
                raise SystemExit(f"no {batches} batches in a row came without a snapshot of some bin")
            # What is not uploaded yet does not count, nor does a bin that has none: it makes one at any moment.
            snapshots = [one.snapshot for one in self.bins() if one.snapshot is not None]
            # A batch makes the version after its own number.
            return len(snapshots) == BINS and last + 1 + batches < min(snapshots) + SNAPSHOTS

        self.until(undisturbed)
