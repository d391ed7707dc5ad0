"""The source `sentences`: what it emits is known beforehand, row for row."""

import numpy as np
import pytest

from headgate.workloads.load import Constant
from headgate.workloads.scrambled import mixed
from headgate.workloads.sentences import Text


def emitted(spark, tmp_path, name, **options):
    """Run the source in batches of 500 rows until 2,000 are out, and give them all, by number."""
    stream = spark.readStream.format("sentences").option("load", str(Constant(1e6)))
    for key, value in {"rows_per_batch": 500, "words": 3, "hot": 0.5, **options}.items():
        stream = stream.option(key, str(value))
    query = (
        stream.load().writeStream.format("memory").queryName(name)
        .option("checkpointLocation", str(tmp_path / name)).start()
    )  # fmt: skip
    try:
        while spark.table(name).count() < 2000:
            query.awaitTermination(0.2)
    finally:
        query.stop()
    return spark.table(name).orderBy("number").limit(2000).collect()


def test_rows_are_the_same_on_any_number_of_partitions_and_each_comes_once(spark, tmp_path):
    one, seven = (emitted(spark, tmp_path, f"on_{n}", partitions=n) for n in (1, 7))
    assert [row.number for row in one] == list(range(2000))
    assert one == seven


def test_a_row_is_what_its_number_says(spark, tmp_path):
    rows = emitted(spark, tmp_path, "by_number", partitions=3)
    text = Text(words=3, vocabulary=1000, keys=64, hot=0.5)
    numbers = np.arange(2000, dtype=np.uint64)
    assert [row.sentence for row in rows] == text.sentences(numbers).to_pylist()
    assert [row.key for row in rows] == text.key(numbers).tolist()


def test_the_hot_key_has_its_share_and_the_others_are_even():
    keys = Text(words=1, vocabulary=10, keys=64, hot=0.5).key(np.arange(100_000, dtype=np.uint64))
    counts = np.bincount(keys, minlength=64) / keys.size
    assert counts[0] == pytest.approx(0.5 + 0.5 / 64, abs=0.01)
    assert counts[1:] == pytest.approx(0.5 / 64, abs=0.002)


def test_scrambled_numbers_are_even_in_every_bit():
    values = mixed(np.arange(100_000, dtype=np.uint64), salt=5)
    for bit in range(64):
        share = float(((values >> np.uint64(bit)) & np.uint64(1)).mean())
        assert share == pytest.approx(0.5, abs=0.01)
