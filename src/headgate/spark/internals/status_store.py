"""What the driver knows of its own jobs, tasks and plans: the data behind Spark's web UI."""

from collections.abc import Callable
from typing import Any

from py4j.protocol import Py4JJavaError
from pyspark.sql import SparkSession

from headgate.spark.internals.driver import driver_jvm

# What the JSON of each type does not need to have: most of its bytes, and the time to write, send and read them.
_NOT_WANTED = {
    "org.apache.spark.status.api.v1.TaskData": (
        "accumulatorUpdates attempt errorMessage executorLogs gettingResultTime host resultFetchStart schedulerDelay "
        "speculative taskLocality"
    ),
    "org.apache.spark.status.api.v1.TaskMetrics": "peakExecutionMemory resultSize",
    "org.apache.spark.status.api.v1.InputMetrics": "bytesRead",
    "org.apache.spark.status.api.v1.OutputMetrics": "bytesWritten",
    "org.apache.spark.status.api.v1.ShuffleReadMetrics": (
        "localBlocksFetched localBytesRead remoteBlocksFetched remoteBytesRead remoteBytesReadToDisk "
        "remoteReqsDuration shufflePushReadMetrics"
    ),
    "org.apache.spark.status.api.v1.ShuffleWriteMetrics": "bytesWritten writeTime",
    "org.apache.spark.status.api.v1.JobData": (
        "completionTime jobTags killedTasksSummary name numActiveStages numActiveTasks numCompletedStages "
        "numFailedStages numSkippedStages numSkippedTasks numTasks"
    ),
    "org.apache.spark.status.api.v1.ExecutorSummary": (
        "activeTasks addTime attributes blacklistedInStages completedTasks diskUsed excludedInStages executorLogs "
        "failedTasks isActive isBlacklisted isExcluded maxMemory maxTasks memoryMetrics memoryUsed peakMemoryMetrics "
        "rddBlocks removeReason removeTime resourceProfileId resources totalDuration totalGCTime totalInputBytes "
        "totalShuffleRead totalShuffleWrite totalTasks"
    ),
    "org.apache.spark.sql.execution.ui.SQLExecutionUIData": (
        "details executionStatus metrics modifiedConfigs physicalPlanDescription queryId stages submissionTime"
    ),
    "org.apache.spark.sql.execution.ui.SparkPlanGraph": "allNodes",
    "org.apache.spark.sql.execution.ui.SQLPlanMetric": "metricType",
    "org.apache.spark.ui.scope.RDDOperationNode": "barrier cached callsite name outputDeterministicLevel",
    "org.apache.spark.status.RDDOperationGraphWrapper": "edges outgoingEdges",
}
_MOST_TASKS = 2**31 - 1


class ForgottenError(LookupError):
    """Something that Spark's status store no longer has: it keeps so many of each kind."""


class StatusStore:
    """What the driver knows of its own jobs, tasks and plans: the data behind Spark's web UI, there without it too.

    Needs: `SparkContext.statusStore` and `SharedState.statusStore` of the JVM, and the Jackson that Spark brings along.
    Every answer is JSON, written by the JVM in one call however long it is; what is gone is a `ForgottenError`.

    Views over the store are sorted anew for every question, all that is in it: so tasks are asked for by stage, in
    order of run time, which is the one order Spark keeps apart for each stage (by id it would sort every task of
    every stage it remembers); jobs alone are looked through, a thousand at most.
    """

    def __init__(self, spark: SparkSession) -> None:
        jvm = driver_jvm(spark)
        context = spark._jsc.sc()
        self._core = context.statusStore()
        self._entries = self._core.store()
        self._sql = spark._jsparkSession.sharedState().statusStore()
        self._by_run_time = jvm.org.apache.spark.status.api.v1.TaskSorting.INCREASING_RUNTIME
        self._job = _class(jvm, "org.apache.spark.status.JobDataWrapper")
        self._graph = _class(jvm, "org.apache.spark.status.RDDOperationGraphWrapper")
        self._execution = _class(jvm, "org.apache.spark.sql.execution.ui.SQLExecutionUIData")
        self._json = _mapper(jvm)

    def report(self, event: Any) -> str:
        """The report that an event of `Reports` brings, to the letter as the event log would have it.

        Its own `json` is another text: rates rounded to a digit, and none at all where they are not finite.
        """
        return str(self._json.writeValueAsString(event.progress()))

    def jobs(self, first: int) -> str:
        """All jobs from this id on."""
        return str(self._json.writeValueAsString(self._entries.view(self._job).first(first)))

    def tasks(self, stage: int, attempt: int) -> str:
        """All attempts of tasks of one attempt of a stage."""
        found = self._core.taskList(stage, attempt, 0, _MOST_TASKS, self._by_run_time, None)
        return str(self._json.writeValueAsString(found))

    def stage_graph(self, stage: int) -> str:
        """The RDDs of a stage."""
        return str(self._json.writeValueAsString(_kept(lambda: self._entries.read(self._graph, stage))))

    def execution(self, id: int) -> str:
        """A SQL execution, or `null`."""
        return str(self._json.writeValueAsString(self._sql.execution(id)))

    def executions(self) -> str:
        """All SQL executions: not for every batch."""
        return str(self._json.writeValueAsString(self._entries.view(self._execution)))

    def plan(self, execution: int) -> str:
        """The plan of a SQL execution."""
        return str(self._json.writeValueAsString(_kept(lambda: self._sql.planGraph(execution))))

    def executors(self) -> str:
        """The executors that are there, and the driver."""
        return str(self._json.writeValueAsString(self._core.executorList(True)))


def _kept(ask: Callable[[], Any]) -> Any:
    try:
        return ask()
    except Py4JJavaError as error:
        if error.java_exception.getClass().getName() == "java.util.NoSuchElementException":
            raise ForgottenError from None
        raise


def _class(jvm: Any, name: str) -> Any:
    return jvm.java.lang.Class.forName(name)


def _mapper(jvm: Any) -> Any:
    """A JSON writer of our own, that leaves out what is not wanted."""
    jackson = jvm.com.fasterxml.jackson
    mapper = jackson.databind.ObjectMapper()
    mapper.registerModule(getattr(getattr(jackson.module.scala, "DefaultScalaModule$"), "MODULE$"))
    ignored = getattr(jackson.annotation, "JsonIgnoreProperties$Value")
    for name, fields in _NOT_WANTED.items():
        names = jvm.java.util.HashSet()
        for field in fields.split():
            names.add(field)
        mapper.configOverride(_class(jvm, name)).setIgnorals(ignored.forIgnoredProperties(names))
    return mapper
