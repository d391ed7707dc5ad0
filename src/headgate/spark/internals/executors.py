"""Executors: which there are, asking for more, letting some go."""

from collections.abc import Sequence

import msgspec
from pyspark.sql import SparkSession

from headgate.model.errors import InputError
from headgate.model.microbatch import Executor
from headgate.spark.internals.driver import driver_jvm
from headgate.spark.internals.status_store import StatusStore

_CLIENT = "org.apache.spark.ExecutorAllocationClient"
BACKEND = "org.apache.spark.scheduler.cluster.CoarseGrainedSchedulerBackend"
EXECUTORS_BY_ID = f"{BACKEND.replace('.', '$')}$$executorDataMap"
"""The name that Scala gives to a field of that class which its inner classes share."""


class _Listed(msgspec.Struct, rename="camel"):
    id: str
    host_port: str
    total_cores: int


def registered_executors(spark: SparkSession) -> int:
    """How many executors have registered with the driver. Needs: `SparkContext.statusTracker` of the JVM."""
    return len(spark.sparkContext._jsc.sc().statusTracker().getExecutorInfos()) - 1  # the driver counts as one


class ExecutorList:
    """The executors of an application, asked for over and over.

    Needs: `SparkContext.statusStore`, and `ExecutorAllocationClient.isExecutorActive` of the scheduler's backend.
    """

    def __init__(self, spark: SparkSession) -> None:
        self._store = StatusStore(spark)
        self._backend = spark._jsc.sc().schedulerBackend()
        self._each = max(1, int(spark.sparkContext.getConf().get("spark.task.cpus") or "1"))

    def listed(self) -> tuple[Executor, ...]:
        """All that are there, in order of their ids; those on their way out are among them until they are gone."""
        found = [
            Executor(one.id, one.host_port.rsplit(":", 1)[0], one.total_cores // self._each)
            for one in msgspec.json.decode(self._store.executors(), type=list[_Listed])
            if one.id != "driver"
        ]
        return tuple(sorted(found, key=lambda one: (len(one.id), one.id)))

    def active(self) -> tuple[Executor, ...]:
        """Those that take tasks."""
        return tuple(one for one in self.listed() if self._backend.isExecutorActive(one.id))


def active_executors(spark: SparkSession) -> tuple[Executor, ...]:
    """The executors that take tasks, asked for once. Needs: what `ExecutorList` needs."""
    return ExecutorList(spark).active()


def why_executors_are_fixed(spark: SparkSession) -> str | None:
    """Why executors cannot be added or removed here, in words; None where they can.

    Needs: nothing. Says what is missing: a cluster, or a scheduler that takes requests.
    """
    jvm = driver_jvm(spark)
    context = spark.sparkContext
    if context.getConf().get("spark.dynamicAllocation.enabled", "false") == "true":
        return (
            "spark.dynamicAllocation.enabled is on, and two cannot size one application; turn it off, or take advice "
            'alone (mode="advise")'
        )
    if not jvm.java.lang.Class.forName(_CLIENT).isInstance(spark._jsc.sc().schedulerBackend()):
        return (
            f"{context.master} has no executors to add or remove; run on a cluster (headgate.spark.LocalCluster is "
            'one on this machine), or take advice alone (mode="advise")'
        )
    return None


def request_executors(spark: SparkSession, total: int) -> None:
    """Ask the cluster for so many executors in all; it takes its time, and may give fewer.

    Needs: `SparkContext.requestTotalExecutors` of the JVM.
    """
    jvm = driver_jvm(spark)
    nowhere = jvm.org.apache.spark.api.python.PythonUtils.toScalaMap(jvm.java.util.HashMap())
    if not spark._jsc.sc().requestTotalExecutors(total, 0, nowhere):
        raise InputError(f"the cluster manager did not take the request for {total} executors")


def leaves_gracefully(spark: SparkSession) -> bool:
    """Whether executors of this application can be decommissioned: they read that setting when they start."""
    return spark.sparkContext.getConf().get("spark.decommission.enabled", "false") == "true"


def give_no_more_tasks(spark: SparkSession, ids: Sequence[str]) -> None:
    """From now on these executors only finish what they run. They stay, and what they hold can be read; for good.

    As if the executors themselves had told the driver that they leave. The total is not changed.

    Needs: `ExecutorAllocationClient.decommissionExecutor`.
    """
    jvm = driver_jvm(spark)
    backend = spark._jsc.sc().schedulerBackend()
    for id in ids:
        why = jvm.org.apache.spark.scheduler.ExecutorDecommissionInfo("headgate needs fewer", jvm.scala.Option.empty())
        backend.decommissionExecutor(id, why, False, True)


def ask_to_leave(spark: SparkSession, ids: Sequence[str]) -> None:
    """Executors that get no more tasks hand over what they hold and end. One that is gone already needs no asking.

    Needs: the executors by id that the scheduler's backend keeps, and `spark.decommission.enabled`.
    """
    backend = spark._jsc.sc().schedulerBackend()
    by_id = getattr(backend, EXECUTORS_BY_ID)()
    messages = driver_jvm(spark).org.apache.spark.scheduler.cluster
    please = getattr(getattr(messages, "CoarseGrainedClusterMessages$DecommissionExecutor$"), "MODULE$")
    for id in ids:
        there = by_id.get(id)  # one look: it may be lost between two
        if there.isDefined():
            there.get().executorEndpoint().send(please)


def kill_executors(spark: SparkSession, ids: Sequence[str]) -> None:
    """End executors at once; what they run is run again elsewhere. Needs: `SparkContext.killExecutors` of the JVM."""
    jvm = driver_jvm(spark)
    listed = jvm.java.util.ArrayList()
    for id in ids:
        listed.add(id)
    spark._jsc.sc().killExecutors(jvm.org.apache.spark.api.python.PythonUtils.toSeq(listed))
