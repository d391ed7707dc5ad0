"""Spark's own rewrite of the state of a stopped query, which is not public yet."""

import subprocess
import threading
import time
from collections.abc import Callable, Collection
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from pyspark import InheritableThread

from headgate.model.errors import HeadgateError, in_brief

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_GROUP = "headgate-rewrite"
_PATIENCE = 60.0
"""Seconds for a rewrite that has failed or is not wanted any more to come to its end."""
_GLANCE = 0.1
_ENDING = 10.0
"""Seconds for a process that no longer answers to be gone."""
_NEWS = 10.0
"""Seconds between two words on how far it is."""


class StillWritingError(HeadgateError):
    """A rewrite has failed, and tasks of it may still write."""


def can_repartition(spark: "SparkSession") -> bool:
    """Whether this Spark has it (4.2)."""
    return hasattr(type(spark), "_streamingCheckpointManager")


def repartition(
    spark: "SparkSession", checkpoint: str, bins: int, going: Callable[[int], object] = lambda _: None
) -> None:
    """Write the state of a checkpoint anew, in so many bins; one that was cut short goes on.

    Where it takes long, `going` is told now and then how many tasks are done: each store is read by one for each bin
    there was, and written by one for each bin there will be.

    Where it fails or is interrupted nothing of it runs any more when the error is raised (or else it is a
    `StillWritingError`): what wrote a file after the rewrite was taken back would put it into the next batch's state.

    Needs: `SparkSession._streamingCheckpointManager`, the status tracker, and `runningTasksByExecutors` of the JVM's
    scheduler of tasks: what the tracker says of executors is some moments old, and shows busy ones as idle.
    """
    failed: list[Exception] = []
    tracker = spark._jsc.sc().statusTracker()
    earlier = frozenset(tracker.getJobIdsForGroup(_GROUP))
    # Not the thread itself: Python 3.11 takes a thread for ended if whoever waits for it is interrupted.
    over = threading.Event()

    def call() -> None:
        try:
            spark.sparkContext.setJobGroup(_GROUP, "rewriting state", interruptOnCancel=True)
            spark._streamingCheckpointManager.repartition(checkpoint, bins)
        except Exception as problem:
            failed.append(problem)
        finally:
            over.set()

    # On a thread of its own, since an interrupt ends only this side of a call: the JVM goes on, and starts a job for
    # each store, until that thread is over.
    rewriting = InheritableThread(target=call, name="headgate-rewrite", daemon=True)
    try:
        rewriting.start()
        while not over.wait(_NEWS):
            with suppress(Exception):  # whoever looks on must not disturb
                going(_tasks_done(tracker, earlier))
    except BaseException as problem:
        _wait_out(spark, over, problem)
        raise
    if failed:
        _wait_out(spark, over, failed[0])
        raise failed[0]


def _wait_out(spark: "SparkSession", over: threading.Event, problem: BaseException) -> None:
    """Cancel whatever it starts until it is over and no task of it runs; to be interrupted once is enough."""
    deadline = time.monotonic() + _PATIENCE
    while time.monotonic() <= deadline:
        try:
            if over.is_set() and not _tasks_run(spark):
                return
            spark.sparkContext.cancelJobGroup(_GROUP)
            time.sleep(_GLANCE)
        except KeyboardInterrupt:
            continue
        except Exception:
            if _ended_with_its_tasks(spark):
                return
            break  # nobody is left to ask, and executors are processes of their own
    raise StillWritingError(in_brief(problem)) from problem


def _ended_with_its_tasks(spark: "SparkSession") -> bool:
    """Whether tasks ran within the driver's JVM, and that is over."""
    context = spark.sparkContext
    process = getattr(context._gateway, "proc", None)
    if process is None or str(context.master).partition("[")[0] != "local":
        return False
    with suppress(subprocess.TimeoutExpired):  # its connections are gone a moment before it is
        process.wait(_ENDING)
    return process.poll() is not None


def _tasks_done(tracker: Any, earlier: Collection[int]) -> int:
    """Of the jobs that are not of earlier rewrites; what the tracker has forgotten counts as nothing."""
    jobs = [tracker.getJobInfo(id) for id in tracker.getJobIdsForGroup(_GROUP) if id not in earlier]
    stages = {id for job in jobs if job.isDefined() for id in job.get().stageIds()}
    known = [tracker.getStageInfo(id) for id in stages]
    return sum(stage.get().numCompletedTasks() for stage in known if stage.isDefined())


def _tasks_run(spark: "SparkSession") -> bool:
    """Of any job: a cancelled job is gone before its last task is."""
    running = spark._jsc.sc().taskScheduler().runningTasksByExecutors().valuesIterator()
    while running.hasNext():
        if int(running.next()) > 0:
            return True
    return False
