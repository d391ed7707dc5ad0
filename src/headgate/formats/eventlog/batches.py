"""Events -> micro-batches: which stages, tasks and reports belong to one batch of one query.

A job carries the ids of its query and batch; a stage belongs to the job that first planned it; a task to its stage. The
query's own report closes the batch. A stage is matched with a fragment of the plan by the accumulators its tasks
update, which holds for joins, unions and adaptive execution alike, where order and numbers do not. Rows are read from
the stage's end, which has the totals: once a stage instead of once a task.
"""

from collections.abc import Iterable, Iterator

from headgate.formats.eventlog.accumulables import accumulator_totals, accumulator_updates
from headgate.formats.eventlog.application import EnvironmentUpdate, ExecutorAdded, ExecutorRemoved
from headgate.formats.eventlog.events import Event
from headgate.formats.eventlog.jobs import JobStart, StageCompleted
from headgate.formats.eventlog.plans import Fragment, fragments
from headgate.formats.eventlog.sql import (
    DriverAccumUpdates,
    SQLAdaptiveExecutionUpdate,
    SQLExecutionEnd,
    SQLExecutionStart,
)
from headgate.formats.eventlog.streaming import Progress, QueryProgress
from headgate.formats.eventlog.tasks import TaskEnd
from headgate.formats.ran_stages import RanStage, TaskRow, micro_batch
from headgate.model.microbatch import Executor, MicroBatch

WANTED: frozenset[type[Event]] = frozenset(
    {
        EnvironmentUpdate,
        ExecutorAdded,
        ExecutorRemoved,
        JobStart,
        StageCompleted,
        TaskEnd,
        QueryProgress,
        SQLExecutionStart,
        SQLAdaptiveExecutionUpdate,
        SQLExecutionEnd,
        DriverAccumUpdates,
    }
)
"""The events this needs; `read_events(path, wanted=WANTED)` skips the rest."""

_Key = tuple[str, int]


def read_batches(events: Iterable[Event]) -> Iterator[MicroBatch]:
    """The batches of all queries in these events, each when its report comes."""
    assembly = _Assembly()
    for event in events:
        if isinstance(event, TaskEnd):
            assembly.task(event)
        elif isinstance(event, QueryProgress):
            batch = assembly.close(event.progress)
            if batch is not None:
                yield batch
        elif isinstance(event, JobStart):
            assembly.job(event)
        elif isinstance(event, StageCompleted):
            assembly.stage_over(event)
        elif isinstance(event, SQLExecutionStart | SQLAdaptiveExecutionUpdate):
            if event.plan is not None:
                assembly.plans[event.execution_id] = fragments(event.plan)
        elif isinstance(event, DriverAccumUpdates):
            assembly.counted_on_driver(event)
        elif isinstance(event, SQLExecutionEnd):
            assembly.plans.pop(event.execution_id, None)
        elif isinstance(event, EnvironmentUpdate | ExecutorAdded | ExecutorRemoved):
            assembly.cluster(event)


class _Assembly:
    """What is known of batches that are under way. Forgets a batch once it is closed."""

    def __init__(self) -> None:
        self.plans: dict[int, tuple[Fragment, ...]] = {}
        self.stages: dict[int, RanStage] = {}
        self.execution: dict[int, int] = {}
        """Stage -> the SQL execution whose plan it carries out a part of."""
        self.totals: dict[int, int] = {}
        """Accumulator -> what it had come to when a stage last said so."""
        self.on_driver: dict[int, dict[int, int]] = {}
        """Execution -> accumulator -> rows that only the driver counts: those a sink took."""
        self.batches: dict[_Key, list[int]] = {}
        self.executors: dict[str, Executor] = {}
        self.cores_per_task = 1

    def cluster(self, event: EnvironmentUpdate | ExecutorAdded | ExecutorRemoved) -> None:
        """Note executors that come and go, and how many tasks each takes."""
        if isinstance(event, EnvironmentUpdate):
            cores = event.spark_properties.get("spark.task.cpus", "1")
            self.cores_per_task = max(1, int(cores)) if cores.isdecimal() else 1
        elif isinstance(event, ExecutorAdded):
            slots = event.info.cores // self.cores_per_task
            self.executors[event.id] = Executor(event.id, event.info.host, slots)
        else:
            self.executors.pop(event.id, None)

    def job(self, event: JobStart) -> None:
        """Note the stages of a job that belongs to a batch; a stage seen before is one that is skipped."""
        properties = event.properties
        if properties is None or properties.batch_id is None or properties.group_id is None:
            return
        if not properties.batch_id.isdecimal():
            return
        execution = properties.execution_id or ""
        of_batch = self.batches.setdefault((properties.group_id, int(properties.batch_id)), [])
        for plan in event.stages:
            if plan.id not in self.stages:
                self.stages[plan.id] = RanStage(plan.id, plan.parents)
                self.execution[plan.id] = int(execution) if execution.isdecimal() else -1
                of_batch.append(plan.id)

    def task(self, event: TaskEnd) -> None:
        """Count the first successful attempt of each partition; the others only as lost."""
        stage = self.stages.get(event.stage_id)
        if stage is None:
            return
        info, metrics = event.info, event.metrics
        partition = info.partition if info.partition >= 0 else info.index
        if event.reason.kind != "Success" or metrics is None or partition in stage.tasks:
            stage.lost += 1
            return
        if stage.fragment is None:
            stage.fragment = self._fragment_of(event)
        stage.tasks[partition] = TaskRow(
            partition,
            info.executor,
            info.launch_time,
            info.finish_time,
            metrics.deserialize_time,
            metrics.run_time,
            metrics.result_serialization_time,
            metrics.shuffle_read.fetch_wait_time,
            metrics.gc_time,
            metrics.cpu_time_ns + metrics.deserialize_cpu_time_ns,
            metrics.shuffle_read.records + metrics.input.records,
            metrics.shuffle_write.records or metrics.output.records,
            metrics.memory_bytes_spilled + metrics.disk_bytes_spilled,
        )

    def _fragment_of(self, event: TaskEnd) -> Fragment | None:
        """The fragment most of whose accumulators this task updated."""
        best, most = None, 0
        for fragment in self.plans.get(self.execution[event.stage_id], ()):
            updated = len(accumulator_updates(event.info.accumulables, fragment.accumulators))
            if updated > most:
                best, most = fragment, updated
        return best

    def stage_over(self, event: StageCompleted) -> None:
        """Take the rows that the plan nodes of a stage put out."""
        stage = self.stages.get(event.stage.id)
        if stage is not None and stage.fragment is not None:
            ids = [node.accumulator for node in stage.fragment.rows]
            for id, total in accumulator_totals(event.stage.accumulables, ids).items():
                # A total goes on where an earlier stage left off: two actions on one batch read the same source.
                stage.rows[id] = stage.rows.get(id, 0) + total - self.totals.get(id, 0)
                self.totals[id] = total

    def counted_on_driver(self, event: DriverAccumUpdates) -> None:
        """Note figures of an execution under way that no task reports."""
        if event.execution_id in self.plans:
            counted = self.on_driver.setdefault(event.execution_id, {})
            for accumulator, value in event.updates:
                counted[accumulator] = counted.get(accumulator, 0) + value

    def close(self, progress: Progress) -> MicroBatch | None:
        """The batch this report is about, if anything ran for it; what is known of it is forgotten."""
        ids = self.batches.pop((progress.run_id, progress.batch_id), ())
        stages = [self.stages.pop(id) for id in ids]
        executions = [self.execution.pop(id) for id in ids]
        for stage, execution in zip(stages, executions, strict=True):
            for node in stage.fragment.rows if stage.fragment else ():
                self.totals.pop(node.accumulator, None)
                if rows := self.on_driver.get(execution, {}).get(node.accumulator):
                    stage.rows[node.accumulator] = stage.rows.get(node.accumulator, 0) + rows
        for execution in executions:
            self.on_driver.pop(execution, None)
        return micro_batch(progress, stages, self.executors.values())
