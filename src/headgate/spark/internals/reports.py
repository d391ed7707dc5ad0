"""The reports of streaming queries, as their JVM makes them."""

from collections.abc import Callable
from typing import Any

from pyspark.sql import SparkSession

from headgate.spark.internals.driver import driver_jvm


class Reports:
    """Hands on each report of a query as it comes: a callback, as Spark makes it, of one thing to put in a queue.

    Needs: `PythonStreamingQueryListenerWrapper` of the JVM, the door that PySpark's `StreamingQueryListener` uses. That
    one builds a report field by field, some hundred calls to the JVM each; this one hands on the JVM's object, to be
    written as JSON in one call, on a thread that nobody waits for.
    """

    def __init__(
        self, spark: SparkSession, progressed: Callable[[Any], object], ended: Callable[[Any], object]
    ) -> None:
        from pyspark.java_gateway import ensure_callback_server_started  # noqa: PLC0415

        self._progressed, self._ended = progressed, ended
        jvm = driver_jvm(spark)
        ensure_callback_server_started(spark.sparkContext._gateway)  # type: ignore[no-untyped-call]
        self._streams = spark._jsparkSession.streams()
        self._listener = jvm.org.apache.spark.sql.streaming.PythonStreamingQueryListenerWrapper(self)
        self._streams.addListener(self._listener)

    def stop(self) -> None:
        """No more reports from here on."""
        self._streams.removeListener(self._listener)

    def onQueryStarted(self, event: Any) -> None:  # noqa: N802 - Spark's name
        """Nothing to do: a query is known by its first report."""

    def onQueryProgress(self, event: Any) -> None:  # noqa: N802 - Spark's name
        """A batch is over."""
        self._progressed(event)

    def onQueryIdle(self, event: Any) -> None:  # noqa: N802 - Spark's name
        """Nothing to do."""

    def onQueryTerminated(self, event: Any) -> None:  # noqa: N802 - Spark's name
        """A query is over."""
        self._ended(event)

    class Java:
        """What Py4J asks for: the interface this implements."""

        implements = ["org.apache.spark.sql.streaming.PythonStreamingQueryListener"]  # noqa: RUF012 - as Py4J wants it


def run_of(event: Any) -> str:
    """The run an event is about. Needs: `QueryTerminatedEvent.runId`."""
    return str(event.runId().toString())
