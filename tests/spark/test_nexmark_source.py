"""The source `nexmark` on a real cluster: the events that its numbers say, each once, and an end where one is asked."""

import json
import re

import numpy as np
import pyarrow as pa
import pytest

from headgate.workloads.nexmark.events import Settings, events
from headgate.workloads.nexmark.source import NexmarkSource, bids

ROWS = 3000


@pytest.fixture(scope="module")
def nexmark(spark):
    spark.dataSource.register(NexmarkSource)
    return spark


def all_of(spark, folder, partitions, **options):
    """What there is, in batches of 700 rows, through files."""
    stream = spark.readStream.format("nexmark").option("rows", ROWS).option("partitions", partitions)
    for name, value in {"rows_per_batch": 700, **options}.items():
        stream = stream.option(name, value)
    writer = stream.load().writeStream.format("parquet").option("path", str(folder / "rows"))
    query = writer.option("checkpointLocation", str(folder / "checkpoint")).trigger(availableNow=True).start()
    assert query.awaitTermination(120)
    return spark.read.parquet(str(folder / "rows")).orderBy("number").toArrow(), query


def test_on_any_number_of_partitions_every_event_comes_once_and_is_what_its_number_says(nexmark, tmp_path):
    true = pa.Table.from_batches([events(np.arange(ROWS, dtype=np.uint64), Settings())]).to_pylist()
    for partitions in (1, 3):
        found, query = all_of(nexmark, tmp_path / str(partitions), partitions)
        assert found.to_pylist() == true
        assert [progress.numInputRows for progress in query.recentProgress] == [700, 700, 700, 700, 200]


def test_what_is_due_and_not_read_is_the_backlog(nexmark, tmp_path):
    query = (
        nexmark.readStream.format("nexmark").option("load", "constant(1M)").option("rows_per_batch", 500).load()
        .transform(bids).writeStream.format("noop").option("checkpointLocation", str(tmp_path / "c")).start()
    )  # fmt: skip
    try:
        # A million a second come, so from the second batch on there is always more than one may take.
        while len(query.recentProgress) < 3:
            query.awaitTermination(0.2)
        source = query.recentProgress[2].sources[0]
    finally:
        query.stop()
    assert source.numInputRows == 500
    assert json.loads(source.latestOffset)["number"] > json.loads(source.endOffset)["number"]


@pytest.mark.parametrize(
    ("options", "why"),
    [
        ({"lod": "5k"}, 'there is no option lod (did you mean "load"?)'),
        ({"load": "fast"}, "there is no load fast"),
        ({"padding": "maybe"}, 'option padding is "maybe"; give true or false'),
        ({"hot_auctions": "2"}, "give a number from 0 to 1"),
        ({"partitions": "0"}, "give a whole number from 1 on"),
    ],
)
def test_options_that_make_no_sense_are_refused_by_name(nexmark, tmp_path, options, why):
    def start():
        stream = nexmark.readStream.format("nexmark")
        for name, value in options.items():
            stream = stream.option(name, value)
        query = stream.load().writeStream.format("noop").option("checkpointLocation", str(tmp_path / "c")).start()
        query.awaitTermination(30)

    with pytest.raises(Exception, match=re.escape(why)):
        start()
