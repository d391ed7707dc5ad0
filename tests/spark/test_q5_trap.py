"""NexMark's q5 as it is often written, with a join of the counts and their maximum: it reads, and never emits."""

import pytest
from pyspark.sql import functions as f

from headgate.cli.inspection_sentences import notes
from headgate.model.inspection import Question, inspection
from headgate.spark.probe import Probe
from headgate.workloads.nexmark.queries.q5 import counts
from workload_streams import ready_for_workloads

ROWS, BATCHES = 10_000, 5
"""20 s of event time: the first windows of ten seconds are long over."""


def joined_with_itself(events):
    each = counts(events)
    most = each.groupBy(f.col("window").alias("of")).agg(f.max("num").alias("most"))
    return each.join(most, f.expr("window = of and num = most")).select("auction", "num")


@pytest.fixture(scope="module")
def ready(spark):
    with ready_for_workloads(spark):
        yield spark


def run(spark, query, folder):
    """How many rows came out, and what there is to say of the query."""
    stream = spark.readStream.format("nexmark").options(
        rows=ROWS, rows_per_batch=ROWS // BATCHES, event_rate=500, partitions=2
    ).load()  # fmt: skip
    writer = query(stream).writeStream.format("noop").option("checkpointLocation", str(folder))
    with Probe(spark) as probe:
        running = writer.trigger(availableNow=True).start()
        assert running.awaitTermination(180)
        batches = list(probe.batches(timeout=5))
    out = sum(progress.sink.numOutputRows for progress in running.recentProgress)
    return out, inspection(batches, Question())


def test_a_join_of_the_counts_with_their_maximum_never_emits_and_inspect_says_so(ready, tmp_path):
    rows, seen = run(ready, joined_with_itself, tmp_path)
    assert rows == 0
    assert seen.silence.rows_now > seen.silence.rows_before
    assert "emitted none, while state of it grew" in " ".join(notes(seen))
