"""Spark's own rewrite of the state of a stopped query, which is not public yet."""

import time
from typing import TYPE_CHECKING, Any

from headgate.model.errors import HeadgateError, in_brief

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_GROUP = "headgate-rewrite"
_PATIENCE = 60.0
"""Seconds for the tasks of a rewrite that has failed to come to their end."""


class StillWritingError(HeadgateError):
    """A rewrite has failed, and tasks of it may still write."""


def can_repartition(spark: "SparkSession") -> bool:
    """Whether this Spark has it (4.2)."""
    return hasattr(type(spark), "_streamingCheckpointManager")


def repartition(spark: "SparkSession", checkpoint: str, bins: int) -> None:
    """Write the state of a checkpoint anew, in so many bins; one that was cut short goes on.

    Where it fails no task of it runs any more when the error is raised (or else it is a `StillWritingError`): one that
    wrote a file after the rewrite was taken back would put it into the next batch's state.

    Needs: `SparkSession._streamingCheckpointManager`, and the status tracker.
    """
    context = spark.sparkContext
    context.setJobGroup(_GROUP, "rewriting state", interruptOnCancel=True)
    try:
        spark._streamingCheckpointManager.repartition(checkpoint, bins)
    except (Exception, KeyboardInterrupt) as problem:
        context.cancelJobGroup(_GROUP)
        deadline = time.monotonic() + _PATIENCE
        while _tasks_run(spark._jsc.sc().statusTracker()):
            if time.monotonic() > deadline:
                raise StillWritingError(in_brief(problem)) from problem
            time.sleep(0.1)
        raise
    finally:
        for name in ("spark.jobGroup.id", "spark.job.description", "spark.job.interruptOnCancel"):
            context.setLocalProperty(name, None)  # type: ignore[arg-type]


def _tasks_run(tracker: Any) -> bool:
    """Of any job: a cancelled job is gone before its last task is."""
    return any(one.numRunningTasks() > 0 for one in tracker.getExecutorInfos())
