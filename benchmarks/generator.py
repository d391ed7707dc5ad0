"""How fast the source `nexmark` makes events, on two cores, into nowhere.

    plain       without padding
    full        rows of the size that NexMark's have
    trivial     a source that hands over ready rows of the same bytes, again and again: what Spark and Arrow take alone
    rate        Spark's own `rate-micro-batch`, two columns

Each runs as fast as it is read, in turn and several rounds, on an executor with two cores. The first round does not
count, and of each the first batches do not: what the JVM has not compiled yet says nothing of what a source sustains.

    make bench-generator                (or: python benchmarks/generator.py --rounds 3 --batches 4)
"""

import argparse
import statistics
import tempfile
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession

from headgate.spark.local_cluster import LocalCluster
from headgate.workloads.generated import ROWS_AT_A_TIME, GeneratedSource, Rows, SourceOptions
from headgate.workloads.nexmark.events import SCHEMA, Settings, events
from headgate.workloads.nexmark.source import NexmarkSource
from verdicts import exit_code, verdict

ROWS = 1_000_000
"""Of a batch."""
COLD = 2
MILLION = 1_000_000
LEAST_SHARE = 0.6
"""Of the trivial source's speed, with full-size rows."""


def ready_rows() -> pa.RecordBatch:
    """As many as are handed over at a time."""
    return events(np.arange(ROWS_AT_A_TIME, dtype=np.uint64), Settings())


class Ready:
    """Rows that a task makes once; to send them to it would take longer."""

    def __init__(self) -> None:
        self._rows: pa.RecordBatch | None = None

    def __call__(self, numbers: npt.NDArray[np.uint64]) -> pa.RecordBatch:
        """As many as there are numbers."""
        if self._rows is None:
            self._rows = ready_rows()
        return self._rows.slice(0, numbers.size)


class Trivial(GeneratedSource):
    """The same rows again and again."""

    @classmethod
    def name(cls) -> str:
        """For Spark."""
        return "trivial"

    def schema(self) -> str:
        """As NexMark's."""
        return SCHEMA

    def rows(self, options: SourceOptions) -> Rows:
        """The ready ones."""
        return Ready()


def streams(spark: SparkSession) -> dict[str, DataFrame]:
    """What is compared."""

    def generated(source: str, **options: object) -> DataFrame:
        return spark.readStream.format(source).options(rows_per_batch=ROWS, partitions=2, **options).load()

    return {
        "plain": generated("nexmark", padding="false"),
        "full": generated("nexmark"),
        "trivial": generated("trivial"),
        "rate": spark.readStream.format("rate-micro-batch").options(rowsPerBatch=ROWS, numPartitions=2).load(),
    }


def speed(stream: DataFrame, batches: int) -> float:
    """Events a second, over so many batches after the first ones."""
    with tempfile.TemporaryDirectory() as folder:
        query = stream.writeStream.format("noop").option("checkpointLocation", folder).start()
        try:
            while (query.lastProgress or {"batchId": -1})["batchId"] < COLD + batches:
                if query.awaitTermination(0.2):
                    raise SystemExit("a query ended by itself")
            counted = [one for one in query.recentProgress if one["batchId"] >= COLD][:batches]
        finally:
            query.stop()
    seconds = sum(one["durationMs"]["triggerExecution"] for one in counted) / 1000
    return sum(one["numInputRows"] for one in counted) / seconds


def spread(values: Sequence[float], unit: float = 1.0) -> str:
    """Median, least and most."""
    told = [value / unit for value in (statistics.median(values), min(values), max(values))]
    return "{:.2f} ({:.2f} to {:.2f})".format(*told)


def main() -> int:
    """All of it."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--batches", type=int, default=4, help="of each round, after the first ones")
    given = parser.parse_args()
    reached: dict[str, list[float]] = {}
    with LocalCluster(workers=1, slots=2, memory="3g", late=True) as cluster:
        spark = cluster.session(
            "generator", executors=1, cores=2, conf={"spark.ui.enabled": "false", "spark.executor.extraJavaOptions": ""}
        )
        spark.sparkContext.setLogLevel("OFF")
        spark.dataSource.register(NexmarkSource)
        spark.dataSource.register(Trivial)
        for number in range(given.rounds + 1):
            for name, stream in streams(spark).items():
                found = speed(stream, given.batches)
                if number:
                    reached.setdefault(name, []).append(found)
                called = f"round {number}" if number else "warm-up"
                print(f"{called}  {name:8} {found / MILLION:6.2f} million events/s", flush=True)
        spark.stop()
    size = ready_rows().nbytes / ROWS_AT_A_TIME
    print(f"\n{'':8}  million events/s on 2 cores    (a full row has {size:.0f} bytes)")
    for name, values in reached.items():
        print(f"{name:8}  {spread(values, MILLION)}")
    shares = [ours / theirs for ours, theirs in zip(reached["full"], reached["trivial"], strict=True)]
    print(verdict("plain: at least a million a second", statistics.median(reached["plain"]) >= MILLION))
    near = f"full against trivial, round by round: {spread(shares)}; at least {LEAST_SHARE:g}"
    print(verdict(near, statistics.median(shares) >= LEAST_SHARE))
    return exit_code()


if __name__ == "__main__":
    raise SystemExit(main())
