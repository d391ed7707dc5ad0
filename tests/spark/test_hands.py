"""Executors that come and go under a running query: no batch fails, every count stays exact, state goes along."""

import re
import threading
import time
from collections import Counter
from pathlib import Path

import msgspec
import numpy as np
import pyarrow as pa
import pytest

import headgate
from batches import Op
from batches import batch as made_batch
from headgate.control.actions import SetExecutors, SpreadBins
from headgate.control.events import ActionFailed
from headgate.model.bins import homes
from headgate.model.errors import HeadgateError, InputError
from headgate.model.objective import KeepUp
from headgate.spark import warming
from headgate.spark.boundaries import Boundaries
from headgate.spark.engine import SparkEngine
from headgate.spark.internals.capabilities import capabilities
from headgate.spark.internals.executors import (
    ExecutorList,
    active_executors,
    ask_to_leave,
    give_no_more_tasks,
    request_executors,
)
from headgate.spark.internals.queries import end_after_this_batch, trigger_seconds, unfinished_batch
from headgate.spark.warming import warm_executors
from headgate.workloads.load import Constant
from headgate.workloads.sentences import Text

KEYS = 97


class Counting:
    """A count by key that keeps the last count of each, as a sink that is written over would."""

    def __init__(self, spark, folder, rate=400.0, trigger="1 second"):
        self.spark, self.counts = spark, {}
        rows = (
            spark.readStream.format("sentences").option("load", str(Constant(rate)))
            .option("partitions", "4").option("words", "1").option("keys", str(KEYS)).load()
        )  # fmt: skip
        writer = rows.groupBy("key").count().writeStream.outputMode("update").foreachBatch(self.keep)
        writer = writer.queryName("counting").option("checkpointLocation", str(folder))
        self.query = writer.trigger(processingTime=trigger).start()

    def keep(self, changed, number):
        self.counts.update((row["key"], row["count"]) for row in changed.collect())

    def drain(self):
        end_after_this_batch(self.spark, self.query)
        self.query.awaitTermination()
        assert self.query.exception() is None
        return msgspec.json.decode(self.query.lastProgress.sources[0].endOffset)["number"]

    def truth(self, rows):
        text = Text(words=1, vocabulary=1000, keys=KEYS, hot=0.0)
        return dict(Counter(text.key(np.arange(rows, dtype=np.uint64)).tolist()))


class Watched:
    """An engine whose batches and doings are taken as they come."""

    def __init__(self, engine):
        self.engine, self.batches, self.done = engine, [], []

    def until(self, holds, patience=90):
        deadline = time.monotonic() + patience
        while not holds():
            assert time.monotonic() < deadline, f"never so; done: {[getattr(d, 'what', d) for d in self.done]}"
            self.batches += [seen.batch for seen in self.engine.seen(0.2)]
            self.done += self.engine.happened()
            assert not [one for one in self.done if isinstance(one, ActionFailed)]

    def more_batches(self, count):
        wanted = len(self.batches) + count
        self.until(lambda: len(self.batches) >= wanted)


@pytest.fixture
def counting(spark, tmp_path):
    running = Counting(spark, tmp_path / "checkpoint")
    yield running
    running.query.stop()


@pytest.fixture
def watched(spark, counting):
    engine = SparkEngine(spark, counting.query).start()
    yield Watched(engine)
    engine.stop()


def test_an_executor_comes_gets_its_share_of_state_and_leaves_again_while_every_count_stays_exact(
    spark, counting, watched
):
    assert len(active_executors(spark)) == 2
    watched.more_batches(3)
    watched.engine.carry_out(SetExecutors(1, 3))
    watched.until(lambda: len(watched.engine.executors()) == 3)
    new = watched.engine.executors()[-1].id
    watched.engine.carry_out(SpreadBins(1, str(counting.query.id)))
    watched.until(lambda: any("are where they should be" in getattr(one, "what", "") for one in watched.done))
    watched.more_batches(2)
    # 4 bins on 3 executors of 2 slots: by slots 1.33 each, so the new one has one or two of them.
    assert 1 <= Counter(homes(watched.batches[-1]).values())[new] <= 2

    watched.engine.carry_out(SetExecutors(2, 2))
    watched.until(lambda: any("to leave" in getattr(one, "what", "") for one in watched.done))
    watched.until(lambda: len(active_executors(spark)) == 2)
    watched.more_batches(3)

    rows = counting.drain()
    assert counting.counts == counting.truth(rows)
    assert sum(batch.attempts_lost for batch in watched.batches) == 0
    assert [batch.number for batch in watched.batches] == list(
        range(watched.batches[0].number, watched.batches[-1].number + 1)
    )


def test_on_a_spark_that_cannot_place_bins_they_go_where_slots_are_free_and_executors_still_leave(
    spark, counting, monkeypatch
):
    monkeypatch.setattr("headgate.spark.hands.can_place_bins", lambda _: False)
    engine = SparkEngine(spark, counting.query).start()
    watched = Watched(engine)
    try:
        watched.more_batches(2)
        engine.carry_out(SetExecutors(3, 1))
        watched.until(lambda: any("to leave" in one.what for one in watched.done))
        assert any("cannot place bins of state" in one.what for one in watched.done)
        assert len(active_executors(spark)) == 1
        assert spark._jsc.sc().conf().get("spark.locality.wait.process") == "0s"
        watched.more_batches(2)
        engine.carry_out(SetExecutors(4, 2))
        watched.until(lambda: len(engine.executors()) == 2)
    finally:
        engine.stop()
    assert spark._jsc.sc().conf().get("spark.locality.wait.process", "unset") == "unset"
    rows = counting.drain()
    assert counting.counts == counting.truth(rows)


def test_what_it_did_is_told_step_by_step(spark, counting, watched):
    watched.more_batches(2)
    watched.engine.carry_out(SetExecutors(7, 3))
    watched.until(lambda: len(watched.engine.executors()) == 3)
    watched.engine.carry_out(SetExecutors(8, 2))
    watched.until(lambda: any("to leave" in one.what for one in watched.done))
    watched.until(lambda: len(active_executors(spark)) == 2)
    told = [(one.plan, one.what) for one in watched.done]
    assert told[0] == (7, "asked the cluster for 3 executors in all")
    assert [plan for plan, _ in told] == sorted(plan for plan, _ in told)
    assert any("registered after" in what for plan, what in told if plan == 7)
    assert any(what.startswith("warmed executor") for plan, what in told if plan == 7)


def test_an_executor_that_comes_after_it_was_wanted_is_not_warmed_but_asked_to_leave(spark, counting, watched):
    watched.more_batches(2)
    watched.engine.carry_out(SetExecutors(1, 1))
    watched.until(lambda: len(active_executors(spark)) == 1)
    (stays,) = active_executors(spark)
    # As a cluster does that replaces one which was lost on its way out.
    request_executors(spark, 2)
    watched.until(lambda: any("nobody wants any more" in one.what for one in watched.done))
    (told,) = [one.what for one in watched.done if "nobody wants any more" in one.what]
    watched.until(lambda: [one.id for one in active_executors(spark)] == [stays.id])
    watched.more_batches(3)
    assert [one.id for one in active_executors(spark)] == [stays.id], "nobody came in its place"
    (stranger,) = re.findall(r"^executor (\d+) came", told)
    assert not [one.what for one in watched.done if f"warmed executor {stranger} " in one.what]

    watched.engine.carry_out(SetExecutors(2, 2))
    watched.until(lambda: len(watched.engine.executors()) == 2)
    rows = counting.drain()
    assert counting.counts == counting.truth(rows)


def test_a_newer_wish_does_not_hurry_an_executor_out_of_the_batch_under_way(spark, tmp_path, monkeypatch):
    gate, begun, opened = threading.Event(), threading.Event(), []
    gate.set()

    def keep(rows, number):
        rows.count()  # a batch without a task is none that could be seen
        begun.set()
        assert gate.wait(60)

    rows = spark.readStream.format("rate").load()
    writer = rows.writeStream.foreachBatch(keep).option("checkpointLocation", str(tmp_path))
    query = writer.trigger(processingTime="1 second").start()
    engine = SparkEngine(spark, query).start()
    watched = Watched(engine)

    def give(session, ids):
        give_no_more_tasks(session, ids)
        gate.clear()
        begun.clear()
        assert begun.wait(60)
        engine.carry_out(SetExecutors(2, 2))
        threading.Timer(2.0, gate.set).start()

    def ask(session, ids):
        opened.append(gate.is_set())
        ask_to_leave(session, ids)

    monkeypatch.setattr("headgate.spark.hands.give_no_more_tasks", give)
    monkeypatch.setattr("headgate.spark.hands.ask_to_leave", ask)
    try:
        watched.more_batches(2)
        first, _ = active_executors(spark)
        engine.carry_out(SetExecutors(1, 1))
        watched.until(lambda: opened)
        assert opened == [True]
        there = ExecutorList(spark)
        watched.until(lambda: len(there.active()) == 2 and there.active() == there.listed())
        assert first in there.active()
    finally:
        gate.set()
        engine.stop()
        query.stop()


def test_an_executor_that_gets_no_more_tasks_stays_until_it_is_asked_to_leave(spark):
    stays, goes = active_executors(spark)
    there = ExecutorList(spark)
    request_executors(spark, 1)
    give_no_more_tasks(spark, [goes.id])

    def where(batches):
        # An executor works in a folder that has its id for a name.
        yield from (pa.RecordBatch.from_pydict({"id": [int(Path.cwd().name)] * len(batch)}) for batch in batches)

    ran = spark.range(0, 16, 1, 16).mapInArrow(where, "id bigint").collect()
    assert {str(row["id"]) for row in ran} == {stays.id}
    time.sleep(4)  # one that has been asked is gone by then
    assert [one.id for one in there.listed()] == [stays.id, goes.id]
    assert there.active() == (stays,)

    ask_to_leave(spark, [goes.id])
    deadline = time.monotonic() + 30
    while there.listed() != (stays,):
        assert time.monotonic() < deadline
        time.sleep(0.1)
    ask_to_leave(spark, [goes.id])  # nobody is there to ask
    request_executors(spark, 2)
    while len(there.active()) != 2:
        assert time.monotonic() < deadline + 60
        time.sleep(0.1)


def test_the_end_of_a_batch_before_is_not_taken_for_that_of_the_one_under_way(spark, tmp_path):
    begun, go_on = threading.Event(), threading.Event()

    def wait(rows, number):
        begun.set()
        assert go_on.wait(60)

    rows = spark.readStream.format("rate").load()
    query = rows.writeStream.foreachBatch(wait).option("checkpointLocation", str(tmp_path)).start()
    try:
        assert begun.wait(60)
        boundaries = Boundaries(lambda: [query], 60)
        waiting = threading.Thread(target=boundaries.let_those_under_way_end, args=(lambda: False,))
        waiting.start()
        ago = made_batch({"read": Op([0])}, began=round(1000 * time.time()) - 2000)  # it took 0.5 s
        boundaries.saw(msgspec.structs.replace(ago, query=str(query.id)))
        waiting.join(1.0)
        assert waiting.is_alive()
        go_on.set()
        waiting.join(10.0)
        assert not waiting.is_alive()
    finally:
        go_on.set()
        query.stop()


def test_warming_starts_a_task_on_every_slot_of_the_executors_named(spark):
    there = active_executors(spark)
    tracker = spark.sparkContext.statusTracker()
    before = set(tracker.getJobIdsForGroup(None))
    warm_executors(spark, there[:1])
    (job, *_) = set(tracker.getJobIdsForGroup(None)) - before
    stage = tracker.getJobInfo(job).stageIds[0]
    assert tracker.getStageInfo(stage).numTasks == there[0].slots


def test_warming_gives_up_where_other_tasks_have_the_slots(spark, monkeypatch):
    monkeypatch.setattr(warming, "_PATIENCE", 2.0)
    there = active_executors(spark)
    slots = sum(executor.slots for executor in there)

    def held(batches):
        for batch in batches:
            time.sleep(8)
            yield batch

    rows = spark.range(0, slots, 1, slots).mapInArrow(held, "id bigint")
    others = threading.Thread(target=lambda: rows.write.format("noop").mode("overwrite").save())
    others.start()
    tracker, deadline = spark.sparkContext.statusTracker(), time.monotonic() + 30
    while not any(tracker.getStageInfo(stage).numActiveTasks == slots for stage in tracker.getActiveStageIds()):
        assert time.monotonic() < deadline
        time.sleep(0.1)
    began = time.monotonic()
    with pytest.raises(HeadgateError, match="other tasks had their slots for 2 s"):
        warm_executors(spark, there)
    assert time.monotonic() - began < 7
    others.join()


def test_bins_of_a_query_that_has_run_for_long_are_moved_off_before_an_executor_leaves(spark, counting):
    while counting.query.lastProgress is None or counting.query.lastProgress.batchId < 3:
        time.sleep(0.1)
    engine = SparkEngine(spark, counting.query).start()
    watched = Watched(engine)
    try:
        engine.carry_out(SetExecutors(1, 1))  # before it has seen a batch
        watched.until(lambda: any("to leave" in one.what for one in watched.done))
        watched.until(lambda: len(active_executors(spark)) == 1)
        told = [one.what for one in watched.done]
        (moved,) = [number for number, what in enumerate(told) if "are where they should be" in what]
        assert re.match(r"[1-4] bins? of counting ha(s|ve) moved", told[moved])
        assert told[moved + 1].endswith("to leave")
        engine.carry_out(SetExecutors(2, 2))
        watched.until(lambda: len(active_executors(spark)) == 2)  # without the one that is on its way out
    finally:
        engine.stop()


def test_a_query_is_drained_at_the_end_of_a_batch_and_bins_of_one_that_has_ended_are_not_moved(
    spark, counting, watched
):
    watched.more_batches(3)
    rows = counting.drain()
    assert counting.counts == counting.truth(rows)
    watched.engine.carry_out(SpreadBins(9, str(counting.query.id)))
    deadline = time.monotonic() + 30
    while not (told := watched.engine.happened()):
        assert time.monotonic() < deadline
        time.sleep(0.1)
    assert [(one.plan, one.why) for one in told] == [(9, "the query does not run now; its bins stay where they are")]


def test_a_query_that_is_told_to_end_as_it_starts_first_finishes_the_batch_another_left_begun(spark, tmp_path):
    checkpoint = tmp_path / "checkpoint"
    before = Counting(spark, checkpoint)
    while before.query.lastProgress is None:
        time.sleep(0.1)
    before.drain()
    last = max(int(path.name) for path in (checkpoint / "commits").iterdir() if path.name.isdigit())
    for name in (str(last), f".{last}.crc"):  # as a kill between the two logs leaves it
        (checkpoint / "commits" / name).unlink(missing_ok=True)
    after = Counting(spark, checkpoint)
    assert unfinished_batch(after.query) == last
    after.drain()
    assert unfinished_batch(after.query) is None
    assert (checkpoint / "commits" / str(last)).is_file()


def test_the_interval_of_a_query_is_known(spark, counting):
    assert trigger_seconds(counting.query) == 1.0


def test_everything_headgate_needs_is_there_on_a_cluster(spark):
    assert [one for one in capabilities(spark) if not one.there] == []


def test_attach_takes_away_what_is_not_needed_and_leaves_the_query_alone(spark, tmp_path):
    # Batches of about a second, every four: one executor is enough. Of the other session's query nobody sees a batch.
    counting = Counting(spark, tmp_path / "checkpoint", trigger="4 seconds")
    other = spark.newSession().readStream.format("rate").load().writeStream.format("noop")
    beside = other.option("checkpointLocation", str(tmp_path / "beside")).start()
    with headgate.attach(
        spark, counting.query, objective=KeepUp(0.2), executors=(1, 3), journal=tmp_path / "journal.db",
        evidence=2, down_stretch=3.0, cool_down=1.0, anew=1.0,
    ) as scaler:  # fmt: skip
        deadline = time.monotonic() + 120
        while not any("a query runs here of which no batch was seen" in one.what for one in scaler.said):
            assert time.monotonic() < deadline, scaler.said
            time.sleep(0.2)
        assert scaler.executors.desired is None
        beside.stop()
        while scaler.executors.observed != 1:
            assert time.monotonic() < deadline, scaler.said
            time.sleep(0.2)
        scaler.tell("pause")
        scaler.tell("scale", 2)  # a person's word counts all the same
        while scaler.executors.observed != 2:
            assert time.monotonic() < deadline, scaler.said
            time.sleep(0.2)
        with pytest.raises(InputError, match="has a scaler already"):
            headgate.attach(spark, counting.query, executors=(1, 2)).start()
        with pytest.raises(InputError, match='tell\\("scale 3"\\): give "pause"'):
            scaler.tell("scale 3")
    assert scaler.problem is None
    assert counting.query.isActive
    assert "headgate-scaler" not in {thread.name for thread in threading.enumerate()}
    rows = counting.drain()
    assert counting.counts == counting.truth(rows)


def test_attach_refuses_what_it_does_not_know_in_one_line(spark):
    with pytest.raises(InputError, match=r"attach has no setting coold_own \(did you mean \"cool_down\"\?\)"):
        headgate.attach(spark, coold_own=3)
    with pytest.raises(InputError, match="executors"):
        headgate.attach(spark, executors=(5, 2))
    with pytest.raises(InputError, match="policy"):
        headgate.attach(spark, policy="magic")
