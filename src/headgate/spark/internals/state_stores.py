"""Where a query's state is: its stores, and the coordinator that says which executor holds each."""

import re
from typing import Any, NamedTuple

from pyspark.sql import SparkSession
from pyspark.sql.streaming.query import StreamingQuery

from headgate.spark.internals.driver import driver_jvm

_OF_A_JOIN = re.compile(r"(left|right)-\w+")


class Stores(NamedTuple):
    """The state stores of one operator: so many partitions, and in each these."""

    operator: int
    partitions: int
    names: tuple[str, ...]


def state_stores(spark: SparkSession, query: StreamingQuery) -> tuple[Stores, ...]:
    """The stores of each stateful operator, from the query's checkpoint; empty before the first batch.

    Needs: `StreamExecution.resolvedCheckpointRoot`, and Hadoop's file systems.
    """
    path = driver_jvm(spark).org.apache.hadoop.fs.Path(_root(query))
    files = path.getFileSystem(spark._jsc.hadoopConfiguration())
    if not files.exists(path):
        return ()
    found = []
    for operator in _folders(files, path):
        if operator.isdigit():
            here = driver_jvm(spark).org.apache.hadoop.fs.Path(path, operator)
            partitions = [name for name in _folders(files, here) if name.isdigit()]
            inside = _folders(files, driver_jvm(spark).org.apache.hadoop.fs.Path(here, "0"))
            names = tuple(name for name in inside if _OF_A_JOIN.fullmatch(name)) or ("default",)
            found.append(Stores(int(operator), len(partitions), names))
    return tuple(sorted(found))


def _folders(files: Any, path: Any) -> list[str]:
    return [str(one.getPath().getName()) for one in files.listStatus(path) if one.isDirectory()]


def checkpoint_of(query: StreamingQuery) -> str:
    """Where it is.

    Needs: `StreamExecution.resolvedCheckpointRoot`.
    """
    return str(query._jsq.streamingQuery().resolvedCheckpointRoot())


def _root(query: StreamingQuery) -> str:
    return f"{checkpoint_of(query)}/state"


def place_bin(
    spark: SparkSession, query: StreamingQuery, stores: Stores, partition: int, host: str, executor: str
) -> None:
    """Say where a bin of state lives: the next batch runs its task there, and loads it there.

    Needs: the state store coordinator of the session, and the query's checkpoint.
    """
    jvm = driver_jvm(spark)
    state = jvm.org.apache.spark.sql.execution.streaming.state
    run = jvm.java.util.UUID.fromString(query.runId)
    nobody = jvm.org.apache.spark.api.python.PythonUtils.toSeq(jvm.java.util.ArrayList())
    coordinator = spark._jsparkSession.sessionState().streamingQueryManager().stateStoreCoordinator()
    for name in stores.names:
        store = state.StateStoreId(_root(query), stores.operator, partition, name)
        coordinator.reportActiveInstance(state.StateStoreProviderId(store, run), host, executor, nobody)


def keep_tasks_at_home(spark: SparkSession, wait: str) -> str | None:
    """Let a task wait so long for the executor that holds its state; returns what it was before, None if unset.

    Needs: the live `SparkConf` of the JVM, which the scheduler reads for every stage. Only the wait for an executor:
    for a host (where shuffled data lies) it stays as it is.
    """
    conf = spark._jsc.sc().conf()
    before = conf.get("spark.locality.wait.process", "")
    conf.set("spark.locality.wait.process", wait)
    return str(before) or None


def wait_as_before(spark: SparkSession, before: str | None) -> None:
    """Undo that. Needs: the same."""
    conf = spark._jsc.sc().conf()
    if before is None:
        conf.remove("spark.locality.wait.process")
    else:
        conf.set("spark.locality.wait.process", before)
