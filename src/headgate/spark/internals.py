"""Everything that touches a private API of Spark, each behind a function that says what it needs from Spark."""

from pyspark.sql import SparkSession
from pyspark.sql.streaming.query import StreamingQuery


def registered_executors(spark: SparkSession) -> int:
    """How many executors have registered with the driver. Needs: `SparkContext.statusTracker` of the JVM."""
    return len(spark.sparkContext._jsc.sc().statusTracker().getExecutorInfos()) - 1  # the driver counts as one


def live_executors(spark: SparkSession) -> list[tuple[str, str]]:
    """Ids and hosts of the executors that are there. Needs: `SparkContext.statusStore` of the JVM."""
    listed = spark.sparkContext._jsc.sc().statusStore().executorList(True)
    found = ((listed.apply(place).id(), listed.apply(place).hostPort()) for place in range(listed.size()))
    return [(id, str(address).rsplit(":", 1)[0]) for id, address in found if id != "driver"]


def place_bin(
    spark: SparkSession, query: StreamingQuery, operator: int, partition: int, host: str, executor: str
) -> None:
    """Say where a bin of state lives: the next batch runs its task there, and loads it there.

    Needs: the state store coordinator of the session, and the query's checkpoint. Only for operators with one store a
    partition.
    """
    jvm = spark.sparkContext._jvm
    state = jvm.org.apache.spark.sql.execution.streaming.state  # type: ignore[union-attr]
    root = query._jsq.streamingQuery().resolvedCheckpointRoot() + "/state"
    store = state.StateStoreId(root, operator, partition, "default")
    provider = state.StateStoreProviderId(store, jvm.java.util.UUID.fromString(query.runId))  # type: ignore[union-attr]
    nobody = jvm.org.apache.spark.api.python.PythonUtils.toSeq(jvm.java.util.ArrayList())  # type: ignore[union-attr]
    manager = spark._jsparkSession.sessionState().streamingQueryManager()
    manager.stateStoreCoordinator().reportActiveInstance(provider, host, executor, nobody)
