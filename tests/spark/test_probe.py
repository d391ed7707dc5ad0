"""The live probe beside the event log: two ways of looking at one run, and one answer."""

import threading
import time

import msgspec
import pytest

from headgate.formats.eventlog.batches import WANTED, read_batches
from headgate.formats.eventlog.reader import read_events
from headgate.formats.eventlog.streaming import Progress
from headgate.model.errors import InputError
from headgate.spark.internals.status_store import StatusStore
from headgate.spark.live_batches import LiveBatches
from headgate.spark.probe import Probe
from headgate.spark.probe_notes import BatchesNotTaken, PlanUnknown, RowsLost
from headgate.workloads.load import Constant
from headgate.workloads.throttle import throttle
from same_batches import differences

BATCHES = 3
PROVIDER = "spark.sql.streaming.stateStore.providerClass"
ROCKSDB = "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"


def sentences(spark, rows=200):
    return (
        spark.readStream.format("sentences").option("load", str(Constant(1e6))).option("words", "5")
        .option("keys", "50").option("rows_per_batch", str(rows)).load()
    )  # fmt: skip


def count_by_key(spark):
    """Stateful, with a stage that takes 1 ms a record."""
    schema = "number bigint, sentence string, key bigint"
    return sentences(spark).mapInArrow(throttle(0.001), schema).groupBy("key").count().writeStream.format("noop")


def repartitioned(spark):
    """Stateless: adaptive execution, and a shuffle of a given width."""
    return sentences(spark).repartition(3, "key").filter("key > 1").writeStream.format("noop")


def joined(spark):
    """Two sources of one kind, whose sides look alike but for their columns."""
    left, right = sentences(spark, 60), sentences(spark, 40).selectExpr("number as id", "key as other")
    return left.join(right, left.number == right.id).writeStream.format("noop")


def twice(spark):
    """Two actions in foreachBatch, one with a description of the user's own, one that ends in a single task."""

    def act(frame, number):
        with acting:
            if not enough.is_set():
                frame.sparkSession.sparkContext.setJobDescription("a title of my own")
                frame.repartition(2).write.format("noop").mode("overwrite").save()
                frame.groupBy("key").count().collect()

    return sentences(spark).writeStream.foreachBatch(act)


acting, enough = threading.Lock(), threading.Event()
SHAPES = {"count_by_key": count_by_key, "repartitioned": repartitioned, "joined": joined, "twice": twice}


@pytest.fixture(scope="module")
def both_ways(spark, event_logs, tmp_path_factory):
    """All shapes side by side: query name -> batches seen by the probe, and the same from the log."""
    folder = tmp_path_factory.mktemp("checkpoints")
    seen = {name: {} for name in SHAPES}

    def started(name, mode="append"):
        writer = SHAPES[name](spark).queryName(name).outputMode(mode)
        return writer.option("checkpointLocation", str(folder / name)).start()

    with Probe(spark) as probe:
        queries = [started("repartitioned"), started("joined"), started("twice")]
        spark.conf.set(PROVIDER, ROCKSDB)
        queries.append(started("count_by_key", "update"))
        spark.conf.unset(PROVIDER)
        deadline = time.monotonic() + 240  # on a machine that does much else a first batch takes a minute
        while min(map(len, seen.values())) < BATCHES and time.monotonic() < deadline:
            if batch := probe.take(timeout=1):
                seen[batch.name][batch.number] = batch
        state = [(query.name, query.status, query.exception()) for query in queries]
        with acting:  # interrupted by the end of its query, a function makes Spark write pages to standard error
            enough.set()
        for query in queries:
            query.stop()
        notes = probe.notes
    assert {type(note) for note in notes} <= {RowsLost}  # rare, and Spark's own doing: see there
    lost = {(note.query, note.number) for note in notes}
    assert min(map(len, seen.values())) >= BATCHES, state
    (log,) = (path for path in event_logs.iterdir() if spark.sparkContext.applicationId in path.name)
    return seen, from_log(log, seen), lost


def from_log(log, wanted):
    """The same batches from the log, which is written by a queue of its own: waited for."""
    deadline = time.monotonic() + 30
    while True:
        found = {name: {} for name in wanted}
        for batch in read_batches(read_events(str(log), wanted=WANTED)):
            if batch.number in wanted.get(batch.name, ()):
                found[batch.name][batch.number] = batch
        if all(found[name].keys() == wanted[name].keys() for name in wanted) or time.monotonic() > deadline:
            return found
        time.sleep(0.5)


@pytest.mark.parametrize("shape", SHAPES)
def test_a_batch_is_the_same_live_and_from_the_log_in_every_field(both_ways, shape):
    live, logged, lost = both_ways[0][shape], both_ways[1][shape], both_ways[2]
    assert live.keys() == logged.keys()
    unlike = [(number, d) for number in live for d in differences(live[number], logged[number], f"batch {number}")]
    assert [d for number, d in unlike if not ((shape, number) in lost and ".nodes[" in d)] == []
    assert sum((shape, number) not in lost for number in live) > 1


def test_a_given_query_is_watched_alone_and_what_nobody_takes_is_given_up_with_a_note(spark, tmp_path):
    def started(name):
        rows = spark.readStream.format("rate-micro-batch").option("rowsPerBatch", "10").load()
        return (
            rows.writeStream.format("noop").queryName(name).option("checkpointLocation", str(tmp_path / name)).start()
        )

    one, other = started("one"), started("other")
    with Probe(spark, one, keep=2) as probe:
        deadline = time.monotonic() + 120
        while not probe.notes and time.monotonic() < deadline:
            time.sleep(0.2)
        notes = probe.notes
        one.stop(), other.stop()
    kept = list(probe.batches(timeout=0))
    assert [type(note) for note in notes] == [BatchesNotTaken]
    assert [batch.name for batch in kept] == ["one", "one"]
    assert kept[1].number == kept[0].number + 1


def test_a_session_whose_driver_is_elsewhere_is_refused_in_one_line():
    class Remote:  # what Spark Connect has of a classic session: no JVM
        pass

    with pytest.raises(InputError, match="no driver in this process"):
        Probe(Remote())


def test_what_spark_has_let_go_is_said_and_a_batch_in_part_is_never_given(spark, tmp_path):
    rows = spark.readStream.format("rate-micro-batch").option("rowsPerBatch", "10").load()
    query = rows.writeStream.format("noop").option("checkpointLocation", str(tmp_path / "checkpoint")).start()
    while query.lastProgress is None:
        query.awaitTermination(0.2)
    query.stop()
    store = StatusStore(spark)
    progress = msgspec.json.decode(store._json.writeValueAsString(query._jsq.lastProgress()), type=Progress)

    def read():
        return LiveBatches(store).read(progress)

    def let_go(kind, key, numbers="LongStream"):
        keys = getattr(spark._jvm.java.util.stream, numbers).range(key, key + 1).boxed().toList()
        store._entries.removeAllByIndexValues(spark._jvm.java.lang.Class.forName(kind), "__main__", keys)

    while (whole := read()) is None:
        time.sleep(0.1)
    assert (whole.batch.input_rows, whole.notes) == (10, ())
    jobs = [job for job in msgspec.json.decode(store.jobs(0)) if job["info"]["jobGroup"] == progress.run_id]
    (job,) = (job for job in jobs if job["info"]["description"].endswith(f"batch = {progress.batch_id}"))
    (stage,) = job["info"]["stageIds"]
    task = msgspec.json.decode(store.tasks(stage, 0))[0]["taskId"]

    let_go("org.apache.spark.sql.execution.ui.SparkPlanGraphWrapper", job["sqlExecutionId"])
    unnamed = read()
    assert [type(note) for note in unnamed.notes] == [PlanUnknown]
    assert unnamed.batch.dataflow.ids == ("stage 0",)
    let_go("org.apache.spark.status.TaskDataWrapper", task)
    assert (read().batch, ["retainedTasks" in str(note) for note in read().notes]) == (None, [True])
    let_go("org.apache.spark.status.RDDOperationGraphWrapper", stage, "IntStream")
    assert (read().batch, ["retainedStages" in str(note) for note in read().notes]) == (None, [True])
