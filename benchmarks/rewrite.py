"""How long it takes to cut the state of a stopped query into another number of bins, phase by phase, by size.

State of some sizes (a maximum by key over values of a kilobyte that do not compress, and once over values of a tenth of
that: many small rows) is made by a query in 16 bins, which is then drained; the rewrite goes to 24 bins, in the middle
size also to 96, and back, in the same session with two executors of one slot. For each: rows and megabytes a second of
the rewrite itself, every phase, and what was expected beforehand (`model/rewrite_cost.py`, whose figures come from
runs of this before). Linear: from the middle size to the largest, a megabyte more takes as long as from the smallest to
the middle one, within a half. (A megabyte of what is kept: its files may be twice that, since changes stand beside
snapshots.)

    make bench-rewrite              (or: python benchmarks/rewrite.py --megabytes 10,50,200)
"""

import argparse
import statistics
import sys
import tempfile
from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

from pyspark.sql import SparkSession
from pyspark.sql import functions as f

from headgate.spark.internals.queries import end_after_this_batch, left_uncommitted
from headgate.spark.local_cluster import LocalCluster
from headgate.spark.rewriting import rewrite
from headgate.spark.state_store_settings import ROCKSDB
from noise import noise
from verdicts import exit_code, verdict

BINS, OTHER, MANY = 16, 24, 96
ROWS = 50_000
"""Of a batch."""
WIDE, NARROW = 1000, 100
"""Letters of a value."""
NARROW_MEGABYTES = 50
STRAIGHT = 1.5
LIMIT = 0.3
"""Part of the time by which the estimate may be off."""


def filled(spark: SparkSession, megabytes: int, width: int, folder: str) -> None:
    """A checkpoint with so much state in rows of this width, at rest."""
    rows = spark.readStream.format("rate-micro-batch").option("rowsPerBatch", str(ROWS))
    keys = int(megabytes * 1e6) // width
    # The same keys over and over, so that batches that run until it is drained add nothing.
    key = (f.col("value") % keys).alias("value")
    kept = rows.option("numPartitions", "2").load().select(key).select("value", noise(key, width).alias("text"))
    writer = kept.groupBy("value").agg(f.max("text")).writeStream.outputMode("update").format("noop")
    query = writer.option("checkpointLocation", folder).start()
    while query.lastProgress is None or (query.lastProgress["batchId"] + 1) * ROWS < keys:
        query.awaitTermination(1)
    end_after_this_batch(spark, query)
    query.awaitTermination()
    if left_uncommitted(query):
        raise SystemExit("the query was drained in the middle of a batch; try again")


class Ran(NamedTuple):
    """One rewrite."""

    bytes: int
    """That are kept, in files of whatever size."""
    seconds: float
    expected: float


def rewritten(spark: SparkSession, megabytes: int, width: int, over: Sequence[int] = (OTHER,)) -> list[Ran]:
    """Over these numbers of bins and back, with a line for each."""
    ran = []
    with tempfile.TemporaryDirectory() as folder:
        checkpoint = folder + "/checkpoint"
        filled(spark, megabytes, width, checkpoint)
        for bins in (*over, BINS):
            done = rewrite(spark, checkpoint, bins, keep_backup=False)
            took = next(phase.seconds for phase in done.phases if phase.name == "rewrite")
            ran.append(Ran(done.rows * width, took, done.expected))
            phases = ", ".join(f"{phase.name} {phase.seconds:.1f} s" for phase in done.phases)
            size = done.bytes / 1e6  # of its files, which may be more before the first rewrite than after it
            print(
                f"{size:5.0f} MB, {done.rows:,} rows, {done.before} -> {done.bins}: {took:5.1f} s, "
                f"{size / took:5.1f} MB/s, {done.rows / took:,.0f} rows/s; "
                f"expected {done.expected:.1f} s ({done.expected / took - 1:+.0%}); {phases}",
                flush=True,
            )
    return ran


def linear(small: Sequence[Ran], middle: Sequence[Ran], large: Sequence[Ran]) -> bool:
    """Whether a byte more costs as much from the middle on as up to it."""
    points = [(one[0].bytes, statistics.mean(ran.seconds for ran in one)) for one in (small, middle, large)]
    slopes = [(after[1] - before[1]) / (after[0] - before[0]) for before, after in pairwise(points)]
    print("seconds for a further 100 MB: " + ", then ".join(f"{slope * 1e8:.1f}" for slope in slopes))
    return min(slopes) > 0 and 1 / STRAIGHT <= slopes[1] / slopes[0] <= STRAIGHT


def main() -> int:
    """All sizes."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--megabytes", default="20,100,400", help="sizes of the state, three of them")
    given = parser.parse_args()
    sizes = [int(size) for size in given.megabytes.split(",")]
    if len(sizes) != 3 or sizes != sorted(set(sizes)):
        parser.error("--megabytes: give three sizes, from small to large")
    with LocalCluster(workers=1, slots=2, memory="4g") as cluster:
        conf = {"spark.sql.shuffle.partitions": str(BINS), **ROCKSDB, "spark.ui.enabled": "false"}
        spark = cluster.session("rewrite", executors=2, memory="1g", conf=conf)
        spark.sparkContext.setLogLevel("OFF")
        with tempfile.TemporaryDirectory() as warm:  # the first one of a session is slow
            filled(spark, 1, WIDE, warm + "/checkpoint")
            rewrite(spark, warm + "/checkpoint", OTHER)
        wide = [rewritten(spark, megabytes, WIDE) for megabytes in sizes]
        finely = rewritten(spark, sizes[1], WIDE, over=(MANY,))
        narrow = rewritten(spark, NARROW_MEGABYTES, NARROW)
        spark.stop()
    print(verdict("linear", linear(*wide)))
    close = all(abs(one.expected / one.seconds - 1) <= LIMIT for ran in (*wide, finely, narrow) for one in ran)
    print(verdict(f"every estimate within {LIMIT:.0%}", close))
    return exit_code()


if __name__ == "__main__":
    sys.exit(main())
