"""Which of the private calls Headgate uses this Spark has, and what is done without them.

Found by looking at classes, not by trying: asking a cluster for executors to see whether it can be asked is no way to
find out.
"""

from typing import Any, NamedTuple

from py4j.protocol import Py4JError
from pyspark.sql import SparkSession

from headgate.spark.internals.driver import driver_jvm
from headgate.spark.internals.executors import BACKEND, EXECUTORS_BY_ID, leaves_gracefully, why_executors_are_fixed
from headgate.spark.internals.repartition import can_repartition

_STATE = "org.apache.spark.sql.execution.streaming.state"


class Capability(NamedTuple):
    """One thing that Headgate can do here, or not."""

    what: str
    there: bool
    otherwise: str
    """Why not, or what is done instead; empty where it is there."""


def can_ask_for_executors(spark: SparkSession) -> bool:
    """Whether this Spark has the call that asks for executors."""
    return _has(driver_jvm(spark), "org.apache.spark.SparkContext", "requestTotalExecutors")


def can_decommission(spark: SparkSession) -> bool:
    """Whether this Spark has the calls that have an executor finish what it runs, and leave when it is told to."""
    jvm = driver_jvm(spark)
    return _has(jvm, BACKEND, "decommissionExecutor") and _has(jvm, BACKEND, EXECUTORS_BY_ID)


def can_place_bins(spark: SparkSession) -> bool:
    """Whether this Spark has the call that says where a bin of state lives."""
    return _has(driver_jvm(spark), f"{_STATE}.StateStoreCoordinatorRef", "reportActiveInstance")


def capabilities(spark: SparkSession) -> tuple[Capability, ...]:
    """What can be done with this session, by its Spark and its settings."""
    jvm = driver_jvm(spark)
    fixed = why_executors_are_fixed(spark)
    asks, graceful, places = can_ask_for_executors(spark), can_decommission(spark), can_place_bins(spark)
    drains = any(
        _has(jvm, f"org.apache.spark.sql.execution.streaming.{place}StreamExecution", "state")
        for place in ("runtime.", "")
    )
    measures = _has(jvm, "org.apache.spark.status.AppStatusStore", "taskList")
    return (
        _capability("measure batches live", measures, "read the event log instead"),
        _capability(
            "know every query of the application",
            _has(jvm, "org.apache.spark.sql.internal.SharedState", "activeStreamingQueries"),
            "this Spark has no such call: executors are sized for the queries that are looked after alone",
        ),
        _capability("add and remove executors", asks and fixed is None, fixed or "this Spark has no such call: advise"),
        _capability(
            "let executors leave gracefully",
            graceful and leaves_gracefully(spark),
            "spark.decommission.enabled is off: executors are ended between batches, and what they have cached is lost"
            if graceful
            else "this Spark has no such call: executors are ended between batches, and tasks may run again",
        ),
        _capability(
            "move bins of state",
            places,
            "this Spark has no such call: tasks do not wait for the executor that holds their state, so bins scatter",
        ),
        _capability(
            "rewrite state into another number of bins",
            can_repartition(spark),
            "this Spark has no such call (4.2 has): choose the number before the first batch",
        ),
        _capability(
            "drain a query at the end of a batch",
            drains,
            "this Spark has no such call: `headgate run` cannot restart or end a job here without cutting a batch off",
        ),
    )


def _capability(what: str, there: bool, otherwise: str) -> Capability:
    return Capability(what, there, "" if there else otherwise)


def _has(jvm: Any, name: str, method: str) -> bool:
    """Whether a class has a method of this name, of whatever arguments."""
    try:
        methods = jvm.java.lang.Class.forName(name).getMethods()
    except Py4JError:
        return False
    return any(one.getName() == method for one in methods)
