"""From a real run to its profile: a pipeline whose truth is known, and what its log says."""

import json

import pytest

from headgate.workloads.load import Constant, load_to_text
from headgate.workloads.throttle import throttle


@pytest.fixture
def log_of_skewed_run(spark, event_logs, tmp_path):
    """Sentences of 20 words; half of all have one key, by which they are shuffled; each sentence takes 2 ms."""

    def split(batch):  # in here, because executors cannot import this file
        import pyarrow as pa
        import pyarrow.compute as pc

        words = pc.split_pattern(batch.column("sentence"), " ")
        keys = pc.take(batch.column("key"), pc.list_parent_indices(words))
        return pa.RecordBatch.from_arrays([words.flatten(), keys], names=["word", "key"])

    stream = (
        spark.readStream.format("sentences").option("load", load_to_text(Constant(1e6))).option("partitions", "2")
        .option("words", "20").option("keys", "1000").option("hot", "0.5").option("rows_per_batch", "200").load()
    )  # fmt: skip
    words = stream.mapInArrow(throttle(0.002, split), "word string, key bigint").repartition(4, "key")
    query = (
        words.writeStream.format("noop").queryName("skewed")
        .option("checkpointLocation", str(tmp_path / "checkpoint")).start()
    )  # fmt: skip
    while query.lastProgress is None or query.lastProgress.batchId < 5:
        query.awaitTermination(0.5)
    query.stop()
    spark.range(1).count()  # the log is written in order: what came before is in it now
    (log,) = (path for path in event_logs.iterdir() if spark.sparkContext.applicationId in path.name)
    return log


def test_the_log_of_a_real_run_gives_exact_counts_and_the_hot_partition(headgate, log_of_skewed_run):
    ran = headgate("inspect", log_of_skewed_run, "--format", "json")
    assert ran.code == 0
    profile = next(p for p in json.loads(ran.out) if p["name"] == "skewed")
    scan, after_shuffle = profile["operators"]
    assert scan["name"] == "scan -> mapInArrow split"
    assert (scan["tasks"], scan["records_in"], scan["fan_out"], scan["records_out"]) == (2, 200, 20, 4000)
    # It waits 2 ms for each of its 200 records: it cannot have been faster.
    assert scan["useful"] >= 200 * 0.002
    assert (after_shuffle["tasks"], after_shuffle["records_in"]) == (4, 4000)
    # Half of all records, and a quarter of the other half.
    assert after_shuffle["largest_share"] == pytest.approx(0.625, abs=0.05)
