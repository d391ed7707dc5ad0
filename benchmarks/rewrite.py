"""How long it takes to cut the state of a stopped query into another number of bins, phase by phase, by size.

State of some sizes (a maximum by key over values of a kilobyte) is made by a query in 16 bins, which is then drained;
the rewrite goes to 24 bins and back, in the same session with two executors of one slot. For each: rows and megabytes a
second of the rewrite itself, every phase, and what was expected beforehand (`model/rewrite.py`, whose figures come from
here). Linear would be the same speed at every size.

    make bench-rewrite              (or: python benchmarks/rewrite.py --megabytes 20,100)
"""

import argparse
import tempfile

from pyspark.sql import SparkSession
from pyspark.sql import functions as f

from headgate.formats.checkpoint.folders import LocalFolders
from headgate.formats.checkpoint.reader import read_state
from headgate.spark.internals.queries import end_after_this_batch, left_uncommitted
from headgate.spark.local_cluster import LocalCluster
from headgate.spark.rewriting import rewrite
from headgate.spark.state_store_settings import ROCKSDB

BINS, OTHER = 16, 24
ROWS = 50_000
"""Of a batch, each of a kilobyte."""
LIMIT = 0.3
"""Part of the time by which the estimate may be off."""


def filled(spark: SparkSession, megabytes: int, folder: str) -> None:
    """A checkpoint with so much state, at rest."""
    rows = spark.readStream.format("rate-micro-batch").option("rowsPerBatch", str(ROWS))
    kept = rows.option("numPartitions", "2").load().select(
        "value", f.rpad(f.sha2(f.col("value").cast("string"), 512), 1000, "x").alias("text")
    )  # fmt: skip
    writer = kept.groupBy("value").agg(f.max("text")).writeStream.outputMode("update").format("noop")
    query = writer.option("checkpointLocation", folder).start()
    while query.lastProgress is None or (query.lastProgress["batchId"] + 1) * ROWS < megabytes * 1000:
        query.awaitTermination(1)
    end_after_this_batch(spark, query)
    query.awaitTermination()
    if left_uncommitted(query):
        raise SystemExit("the query was drained in the middle of a batch; try again")


def main() -> None:
    """All sizes."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--megabytes", default="20,100,400", help="sizes of the state")
    given = parser.parse_args()
    with LocalCluster(workers=1, slots=2, memory="4g") as cluster:
        conf = {"spark.sql.shuffle.partitions": str(BINS), **ROCKSDB, "spark.ui.enabled": "false"}
        spark = cluster.session("rewrite", executors=2, memory="1g", conf=conf)
        spark.sparkContext.setLogLevel("OFF")
        with tempfile.TemporaryDirectory() as warm:  # the first one of a session is slow
            filled(spark, 1, warm + "/checkpoint")
            rewrite(spark, warm + "/checkpoint", OTHER)
        worst = 0.0
        for megabytes in map(int, given.megabytes.split(",")):
            with tempfile.TemporaryDirectory() as folder:
                checkpoint = folder + "/checkpoint"
                filled(spark, megabytes, checkpoint)
                size = read_state(LocalFolders(checkpoint)).bytes
                for bins in (OTHER, BINS):
                    done = rewrite(spark, checkpoint, bins, keep_backup=False)
                    took = next(phase.seconds for phase in done.phases if phase.name == "rewrite")
                    off = done.expected / took - 1
                    worst = max(worst, abs(off))
                    phases = ", ".join(f"{phase.name} {phase.seconds:.1f} s" for phase in done.phases)
                    print(
                        f"{size / 1e6:5.0f} MB, {done.rows:,} rows, {done.before} -> {done.bins}: {took:5.1f} s, "
                        f"{size / 1e6 / took:5.1f} MB/s, {done.rows / took:,.0f} rows/s; "
                        f"expected {done.expected:.1f} s ({off:+.0%}); {phases}",
                        flush=True,
                    )
        spark.stop()
    print(f"every estimate within {LIMIT:.0%}: {'met' if worst <= LIMIT else 'MISSED'}")


if __name__ == "__main__":
    main()
