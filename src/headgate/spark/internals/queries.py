"""Running queries: their interval, and an end at a batch's boundary."""

from pyspark.sql import SparkSession
from pyspark.sql.streaming.query import StreamingQuery

from headgate.spark.internals.driver import driver_jvm


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
    """
    state = query._jsq.streamingQuery().state()
    # By the class of the present value: the package has moved between versions.
    there = str(state.get().getClass().getName()).rpartition(".")[0]
    ended = driver_jvm(spark).java.lang.Class.forName(f"{there}.TERMINATED$").getField("MODULE$").get(None)
    state.set(ended)
