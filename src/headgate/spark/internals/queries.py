"""Running queries: their interval, and an end at a batch's boundary."""

import time
from typing import Any

from pyspark.sql import SparkSession
from pyspark.sql.streaming.query import StreamingQuery

from headgate.spark.internals.driver import driver_jvm

_GOOD_MOMENT = 5.0
"""Seconds to wait for a moment in which to end a query."""


def trigger_seconds(query: StreamingQuery) -> float | None:
    """The fixed interval of a query; None where batches begin as soon as possible.

    Needs: `StreamExecution.trigger` and `ProcessingTimeTrigger.intervalMs` of the JVM.
    """
    trigger = query._jsq.streamingQuery().trigger()
    if trigger.getClass().getSimpleName() != "ProcessingTimeTrigger":
        return None
    milliseconds = int(trigger.intervalMs())
    return milliseconds / 1000 if milliseconds > 0 else None


def end_after_this_batch(spark: SparkSession, query: StreamingQuery) -> None:
    """Let the batch under way be the last: it is committed, and none begins after it.

    Needs: `StreamExecution.state` of the JVM, whose value `TERMINATED` is what the query looks at between batches.

    It looks at it in one more place: when a batch is planned and its offsets are written, but no task has run; then it
    stops right there, and leaves a batch that is not committed (`left_uncommitted`). So the word is given while tasks
    run, or while it waits for its next trigger; which leaves a moment of bad luck that is a thousand times shorter.
    """
    state = query._jsq.streamingQuery().state()
    # By the class of the present value: the package has moved between versions.
    there = str(state.get().getClass().getName()).rpartition(".")[0]
    ended = driver_jvm(spark).java.lang.Class.forName(f"{there}.TERMINATED$").getField("MODULE$").get(None)
    tracker, group, deadline = spark._jsc.sc().statusTracker(), str(query.runId), time.monotonic() + _GOOD_MOMENT
    while time.monotonic() < deadline and query.isActive:
        if _tasks_run(tracker, group) or not query._jsq.status().isTriggerActive():
            break
        time.sleep(0.002)
    state.set(ended)


def _tasks_run(tracker: Any, group: str) -> bool:
    """Whether a job of the query is under way, and a stage of it has tasks that run."""
    return any(
        (told := tracker.getStageInfo(stage)).isDefined() and told.get().numActiveTasks() > 0
        for stage in tracker.getActiveStageIds()
    ) and any(
        (job := tracker.getJobInfo(id)).isDefined() and str(job.get().status()) == "RUNNING"
        for id in tracker.getJobIdsForGroup(group)
    )


def has_ended(query: StreamingQuery) -> bool:
    """Whether the last batch of a query is over, after it was told to end.

    Needs: `StreamExecution.queryExecutionThread` of the JVM. Neither `isActive` nor `awaitTermination` with a time
    tells: both go by the word that was given, not by what still runs.
    """
    return not query._jsq.streamingQuery().queryExecutionThread().isAlive()


def left_uncommitted(query: StreamingQuery) -> bool:
    """Whether a query that has ended left a batch that was begun and is not committed; the next start repeats it.

    Needs: `StreamExecution.offsetLog` and `commitLog` of the JVM.
    """
    execution = query._jsq.streamingQuery()
    begun, committed = execution.offsetLog().getLatestBatchId(), execution.commitLog().getLatestBatchId()
    return bool(begun.isDefined() and (not committed.isDefined() or begun.get() != committed.get()))
