"""A slow streaming job, on a cluster on this machine; it leaves the event log that the docs look into.

Sentences come at 30 a second, are split into 20 words each, shuffled by customer, and every word is looked up in a
service that takes 4 ms. One customer has half of all sentences. Batches of at most 150
sentences begin every 5 seconds, on 4 slots.

    python examples/slow-job/job.py LOG            slow
    python examples/slow-job/job.py LOG --salted   the same, with the words of a customer spread over partitions
"""

import argparse
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc

from headgate.spark.local_cluster import LocalCluster
from headgate.workloads.load import Constant
from headgate.workloads.sentences import SentencesSource
from headgate.workloads.throttle import throttle


def run(log: Path, *, salted: bool, batches: int) -> None:
    """Run so many batches and copy the log to where it is wanted."""

    def split(sentences: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in sentences:
            words = pc.split_pattern(batch.column("sentence"), " ")
            customers = pc.take(batch.column("key"), pc.list_parent_indices(words))
            yield pa.RecordBatch.from_arrays([words.flatten(), customers], names=["word", "customer"])

    def look_up(words: pa.RecordBatch) -> pa.RecordBatch:
        return words

    with tempfile.TemporaryDirectory() as folder, LocalCluster(slots=4, folder=Path(folder) / "cluster") as cluster:
        logs = Path(folder) / "logs"
        logs.mkdir()
        spark = cluster.session(
            "slow job",
            executors=2,
            cores=2,
            conf={
                "spark.eventLog.enabled": "true",
                "spark.eventLog.dir": logs.as_uri(),
                "spark.eventLog.rolling.enabled": "false",
                "spark.eventLog.compress": "true",
            },
        )
        spark.dataSource.register(SentencesSource)
        reader = spark.readStream.format("sentences").option("load", str(Constant(30)))
        sentences = (
            reader.option("words", "20")
            .option("hot", "0.5")
            .option("keys", "1000")
            .option("rows_per_batch", "150")
            .load()
        )
        words = sentences.mapInArrow(split, "word string, customer bigint")
        keys = ["customer", "word"] if salted else ["customer"]
        found = words.repartition(8, *keys).mapInArrow(throttle(0.004, look_up), "word string, customer bigint")
        query = (
            found.writeStream.format("noop").queryName("look-up").trigger(processingTime="5 seconds")
            .option("checkpointLocation", str(Path(folder) / "checkpoint")).start()
        )  # fmt: skip
        while query.lastProgress is None or query.lastProgress.batchId + 1 < batches:
            query.awaitTermination(0.5)
        query.stop()
        spark.stop()
        shutil.copy(next(logs.iterdir()), log)


def main() -> None:
    """From the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("log", type=Path, help="where the event log goes")
    parser.add_argument("--salted", action="store_true")
    parser.add_argument("--batches", type=int, default=12)
    given = parser.parse_args()
    run(given.log, salted=given.salted, batches=given.batches)


if __name__ == "__main__":
    main()
