"""Running queries: their interval, and an end at a batch's boundary."""

import time
from collections.abc import Callable
from typing import Any

from py4j.protocol import Py4JError
from pyspark.sql import SparkSession
from pyspark.sql.streaming.query import StreamingQuery

from headgate.spark.internals.driver import driver_jvm

_GOOD_MOMENT = 5.0
"""Seconds to wait for a moment in which to end a query, once what it had begun is committed."""


def trigger_seconds(query: StreamingQuery) -> float | None:
    """The fixed interval of a query; None where batches begin as soon as possible.

    Needs: `StreamExecution.trigger` and `ProcessingTimeTrigger.intervalMs` of the JVM.
    """
    trigger = query._jsq.streamingQuery().trigger()
    if trigger.getClass().getSimpleName() != "ProcessingTimeTrigger":
        return None
    milliseconds = int(trigger.intervalMs())
    return milliseconds / 1000 if milliseconds > 0 else None


def queries_of_the_application(spark: SparkSession) -> tuple[str, ...] | None:
    """Ids of all that run, of every session; None where this Spark does not tell.

    Needs: `SharedState.activeStreamingQueries` of the JVM. `spark.streams.active` knows those of one session.
    """
    try:
        listed = str(spark._jsparkSession.sharedState().activeStreamingQueries().keySet().toString())
    except Py4JError:
        return None
    return tuple(sorted(one for one in listed.strip("[]").split(", ") if one))


def end_after_this_batch(
    spark: SparkSession, query: StreamingQuery, at_once: Callable[[], bool] = lambda: False
) -> None:
    """Let the batch under way be the last: it is committed, and none begins after it.

    Needs: `StreamExecution.state` of the JVM, whose value `TERMINATED` is what the query looks at between batches.

    It looks at it in one more place: when a batch is planned and its offsets are written, but no task has run; then it
    stops right there, and leaves a batch that is not committed (`unfinished_batch`). So the word is given while tasks
    run, or while it waits for its next trigger; which leaves a moment of bad luck that is a thousand times shorter.
    A query that has only just started has neither, and may have a batch to repeat that another left behind: that one
    is waited for, as long as `at_once` does not say otherwise; then nothing is done here.
    """
    state = query._jsq.streamingQuery().state()
    # By the class of the present value: the package has moved between versions.
    there = str(state.get().getClass().getName()).rpartition(".")[0]
    ended = driver_jvm(spark).java.lang.Class.forName(f"{there}.TERMINATED$").getField("MODULE$").get(None)
    tracker, group = spark._jsc.sc().statusTracker(), str(query.runId)
    first, deadline = unfinished_batch(query), time.monotonic() + _GOOD_MOMENT
    while query.isActive:
        if at_once():
            return
        if _tasks_run(tracker, group):
            break
        # Looked at twice: to ask the logs takes its time where they are far away.
        if _waits(query) and unfinished_batch(query) is None and _waits(query):
            break
        if time.monotonic() > deadline and (first is None or unfinished_batch(query) != first):
            break
        time.sleep(0.002)
    state.set(ended)


def _waits(query: StreamingQuery) -> bool:
    """Whether no batch is under way; nor is there one before the first."""
    return not query._jsq.status().isTriggerActive()


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


def unfinished_batch(query: StreamingQuery) -> int | None:
    """The batch that a query has begun and not committed; one that has ended leaves it to the next start.

    Needs: `StreamExecution.offsetLog` and `commitLog` of the JVM.
    """
    execution = query._jsq.streamingQuery()
    begun, committed = execution.offsetLog().getLatestBatchId(), execution.commitLog().getLatestBatchId()
    # Of a query that runs, more may have been committed since the first look.
    over = not begun.isDefined() or (committed.isDefined() and committed.get() >= begun.get())
    return None if over else int(begun.get())


def left_uncommitted(query: StreamingQuery) -> bool:
    """Whether there is one."""
    return unfinished_batch(query) is not None
