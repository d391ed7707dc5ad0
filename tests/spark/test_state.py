"""State that is moved and rewritten stays what it is; `make verify-state` does it for every kind of operator."""

import os
import re
import shutil
import signal
import threading
import time

import pytest
from pyspark.sql import functions as f

from campaigns.rewrite_crashes import contents, drained, finished, images_of, taken_back
from campaigns.state import KEYS, KINDS, Kind, Trial, source
from headgate.formats.checkpoint.folders import LocalFolders
from headgate.formats.checkpoint.reader import read_state
from headgate.formats.checkpoint.undoing import take_back
from headgate.model.errors import HeadgateError, InputError
from headgate.spark import rewriting
from headgate.spark.internals import repartition
from headgate.spark.internals.default_file_system import refuse_if_elsewhere
from headgate.spark.internals.hadoop_folders import HadoopFolders
from headgate.spark.rewriting import rewrite
from headgate.spark.state_digest import digests, with_rows
from headgate.spark.state_store_settings import ROCKSDB


@pytest.fixture
def rocksdb(spark):
    """The session with RocksDB for a while."""
    before = {name: spark.conf.get(name, None) for name in ROCKSDB}
    for name, value in ROCKSDB.items():
        spark.conf.set(name, value)
    yield spark
    for name, value in before.items():
        if value is None:
            spark.conf.unset(name)
        else:
            spark.conf.set(name, value)


def test_a_count_that_is_moved_rewritten_and_handed_on_is_exact_key_for_key(rocksdb, tmp_path):
    done = Trial(rocksdb, KINDS["aggregation"], str(tmp_path / "checkpoint")).go_through([7], stretches=1)
    assert (done.keys, done.rewrites, done.removals) == (KEYS, 1, 2)
    assert done.moves >= 8


@pytest.fixture
def counted(rocksdb, tmp_path):
    """A checkpoint of a count, at rest; after so many rows every key was there."""
    rows = drained(rocksdb, KINDS["aggregation"], tmp_path / "checkpoint", batches=4)
    while len(KINDS["aggregation"].truth(*rows)) < KEYS:
        rows = drained(rocksdb, KINDS["aggregation"], tmp_path / "checkpoint")
    return tmp_path / "checkpoint"


def test_rows_are_counted_bin_by_bin_and_by_any_file_system_of_spark(rocksdb, counted):
    here = read_state(LocalFolders(str(counted)))
    there = read_state(HadoopFolders(rocksdb, counted.as_uri()))
    assert [one.bins for one in here.operators] == [one.bins for one in there.operators]
    shown = with_rows(here, digests(rocksdb, here))
    assert shown.rows == sum(one.rows for one in shown.operators[0].bins) == KEYS


def test_rows_are_counted_where_values_are_maps_of_which_spark_has_no_hash(spark, tmp_path):
    rows = spark.readStream.format("rate-micro-batch").option("rowsPerBatch", 10).load()
    by_key = rows.groupBy((f.col("value") % 3).alias("key")).agg(f.first(f.create_map(f.lit("a"), f.col("value"))))
    writer = by_key.writeStream.outputMode("update").format("noop").option("checkpointLocation", str(tmp_path))
    query = writer.start()
    while query.lastProgress is None:
        time.sleep(0.1)
    query.stop()
    state = read_state(LocalFolders(str(tmp_path)))
    assert state.provider == "in-memory"
    assert with_rows(state, digests(spark, state, summed=False)).rows == 3


def test_bins_in_each_others_place_are_noticed_though_rows_and_sum_are_the_same(rocksdb, counted):
    def held(checkpoint):
        (told,) = digests(rocksdb, read_state(LocalFolders(str(checkpoint))))
        return told

    mixed_up = counted.with_name("mixed-up")
    shutil.copytree(counted, mixed_up)
    for old, new in (("1", "aside"), ("2", "1"), ("aside", "2")):  # bin 0 also holds what describes them all
        (mixed_up / "state" / "0" / old).rename(mixed_up / "state" / "0" / new)
    right, wrong = held(counted), held(mixed_up)
    assert (wrong.rows, wrong.checksum) == (right.rows, right.checksum)
    assert (right.misplaced, wrong.misplaced) == (0, sum(right.rows_in_bins[1:3]))
    assert wrong.misplaced > 0


def test_a_comparison_that_is_interrupted_takes_the_rewrite_back_unless_it_was_compared_before(
    rocksdb, counted, monkeypatch
):
    before, real, asked = contents(counted), rewriting.digests, []

    def interrupted(spark, state):
        asked.append(state.partitions)
        if len(asked) == 2:
            raise KeyboardInterrupt
        return real(spark, state)

    monkeypatch.setattr(rewriting, "digests", interrupted)
    with pytest.raises(HeadgateError, match=r"interrupted; it was taken back, and nothing is lost"):
        rewrite(rocksdb, str(counted), 9)
    assert asked == [4, 9]
    assert contents(counted) == before
    assert not list(counted.parent.glob("*.before-batch-*"))  # its backup is what the checkpoint is again
    asked[:] = [0, 0]
    rewrite(rocksdb, str(counted), 9)
    asked.clear()
    with pytest.raises(KeyboardInterrupt):  # who looks once more, and has enough of it, changes nothing
        rewrite(rocksdb, str(counted), 9)
    assert read_state(LocalFolders(str(counted))).partitions == 9

    def unreadable(spark, state):
        if state.partitions == 9:
            raise RuntimeError("an executor is lost")
        return real(spark, state)

    monkeypatch.setattr(rewriting, "digests", unreadable)
    with pytest.raises(
        HeadgateError, match=r"cannot be read now .*an executor is lost.*it was compared when it was made"
    ):
        rewrite(rocksdb, str(counted), 9)
    assert read_state(LocalFolders(str(counted))).partitions == 9


def test_a_path_is_one_of_this_machine_whatever_the_default_file_system_of_spark_is(rocksdb, counted):
    hadoop = rocksdb._jsc.hadoopConfiguration()
    before = hadoop.get("fs.defaultFS")
    hadoop.set("fs.defaultFS", "hdfs://127.0.0.1:1")
    try:
        with pytest.raises(InputError, match=rf"is on hdfs://127.0.0.1:1 for Spark.*; write file:{counted} or hdfs://"):
            refuse_if_elsewhere(rocksdb, str(counted))
        refuse_if_elsewhere(rocksdb, counted.as_uri())
        assert rewrite(rocksdb, str(counted), 5).rows == KEYS
    finally:
        hadoop.set("fs.defaultFS", before)
    assert read_state(LocalFolders(str(counted))).partitions == 5


def test_a_rewrite_is_taken_back_without_a_trace(rocksdb, counted):
    before = contents(counted)
    done = rewrite(rocksdb, str(counted), 9)
    assert (done.before, done.bins, done.rows, done.done_before) == (4, 9, KEYS, False)
    assert done.backup is not None
    again = rewrite(rocksdb, str(counted), 9)  # nothing is left to do but to compare
    assert (again.batch, again.before, again.bins, again.rows, again.done_before) == (done.batch, 4, 9, KEYS, True)
    assert [phase.name for phase in again.phases] == ["read before", "read after"]
    assert take_back(str(counted)) == 4
    assert contents(counted) == before
    with pytest.raises(InputError, match="no rewrite of state"):
        take_back(str(counted))


def test_a_rewrite_that_is_interrupted_is_over_when_it_is_taken_back(rocksdb, counted):
    def interrupt_as_a_person_would():
        while set(tracker.getJobIdsForGroup("headgate-rewrite")) <= others:
            time.sleep(0.01)
        os.kill(os.getpid(), signal.SIGINT)

    before, tracker = contents(counted), rocksdb.sparkContext.statusTracker()
    others = set(tracker.getJobIdsForGroup("headgate-rewrite"))  # of rewrites before this one
    waiting = threading.Thread(target=interrupt_as_a_person_would)
    waiting.start()
    with pytest.raises(HeadgateError, match=r"interrupted; (it was taken back|nothing was changed)"):
        rewrite(rocksdb, str(counted), 9, keep_backup=False)
    waiting.join()
    time.sleep(1.0)  # for whatever would still write
    assert contents(counted) == before
    assert rewrite(rocksdb, str(counted), 9, keep_backup=False).rows == KEYS


def test_a_rewrite_of_which_nobody_wants_to_hear_is_taken_back_and_not_left_uncompared(rocksdb, counted):
    def gone(word):
        if "compared" in word and "now" in word:
            raise BrokenPipeError

    before = contents(counted)
    with pytest.raises(
        HeadgateError, match=r": nobody could be told of the rewrite \(.*\); it was taken back, and noth"
    ):
        rewrite(rocksdb, str(counted), 9, said=gone)
    assert contents(counted) == before


def test_tasks_are_seen_from_the_moment_they_run_to_their_end(rocksdb):
    def wait(rows):
        time.sleep(1.5)
        return rows

    job = threading.Thread(target=rocksdb.sparkContext.parallelize([1], 1).mapPartitions(wait).collect)
    assert not repartition._tasks_run(rocksdb)
    job.start()
    deadline = time.monotonic() + 30
    while not repartition._tasks_run(rocksdb):
        assert time.monotonic() < deadline
    assert job.is_alive()
    job.join()
    while repartition._tasks_run(rocksdb):  # its end reaches the driver's own books a moment later
        assert time.monotonic() < deadline


def test_where_nobody_can_say_whether_tasks_run_they_may(rocksdb, tmp_path, monkeypatch):
    def gone(spark):
        raise ConnectionError("the JVM does not answer")

    monkeypatch.setattr(repartition, "_tasks_run", gone)
    with pytest.raises(repartition.StillWritingError):
        repartition.repartition(rocksdb, str(tmp_path / "no-checkpoint"), 4)


def test_a_rewrite_cut_off_at_any_point_ends_in_the_old_or_the_new_layout(rocksdb, counted):
    images = images_of(counted, lambda: rewrite(rocksdb, str(counted), 7, keep_backup=False))
    states = [read_state(LocalFolders(str(image))) for image in images]
    assert {(state.rewriting, state.partitions) for state in states} >= {(None, 4), (7, 4)}
    middle = [image for image, state in zip(images, states, strict=True) if state.rewriting == 7]
    untouched = contents(images[0])
    for image in middle:
        taken_back(image, untouched)
    for image in (middle[0], middle[-1]):
        finished(rocksdb, KINDS["aggregation"], image)


def test_a_rewrite_that_takes_long_says_how_far_it_is(rocksdb, counted, monkeypatch):
    monkeypatch.setattr(repartition, "_NEWS", 0.05)
    said = []
    rewrite(rocksdb, str(counted), 9, keep_backup=False, going=said.append)
    done = [int(told[1]) for line in said if (told := re.fullmatch(r"rewriting: (\d+) of 13 tasks are done", line))]
    assert done == sorted(done)  # one for each of 4 bins that are read, and of 9 that are written
    assert 0 < max(done) <= 13


def test_a_rewrite_goes_on_where_nobody_listens_to_how_far_it_is(rocksdb, counted, monkeypatch):
    told = []

    def gone(word):
        told.append(word)
        raise BrokenPipeError

    monkeypatch.setattr(repartition, "_NEWS", 0.05)
    assert rewrite(rocksdb, str(counted), 9, keep_backup=False, going=gone).rows == KEYS
    assert told


def test_a_count_without_a_key_is_not_rewritten_from_one_bin_since_its_row_would_be_lost(rocksdb, tmp_path):
    checkpoint = str(tmp_path / "checkpoint")
    before = rocksdb.conf.get("spark.sql.shuffle.partitions")
    rocksdb.conf.set("spark.sql.shuffle.partitions", "1")
    try:
        everything = Kind(lambda spark: source(spark).groupBy().count(), "update", None, None)
        drained(rocksdb, everything, tmp_path / "checkpoint")
    finally:
        rocksdb.conf.set("spark.sql.shuffle.partitions", before)
    with pytest.raises(InputError, match=r"operator 0 \(stateStoreSave\) has no key to cut its state by"):
        rewrite(rocksdb, checkpoint, 4)
    assert read_state(LocalFolders(checkpoint)).partitions == 1
