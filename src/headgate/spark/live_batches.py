"""A query's report, and what the driver's status store knows -> one micro-batch.

The report names run and batch. Jobs of the run carry its id as their group and the batch in their description; each
names its SQL execution, whose plan and metrics say which stage carried out what. The store is fed by a queue of its own
and may lag behind the report: `LiveBatches.read` says so by answering `None`, and is asked again.

Invariant: a batch is given whole or not at all. How many tasks ended, the job knows; tasks the store has let go
(`spark.ui.retainedTasks`) are missed, and the batch is left out with a note.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from headgate.formats.eventlog.plans import parts
from headgate.formats.eventlog.streaming import Progress
from headgate.formats.ran_stages import RanStage, TaskRow, by_id, micro_batch
from headgate.model.microbatch import Executor, MicroBatch
from headgate.spark.internals.status_store import ForgottenError, StatusStore
from headgate.spark.plan_graph import plan_tree
from headgate.spark.probe_notes import BatchLeftOut, JobsOfAnotherGroup, Note, PlanUnknown, RowsLost
from headgate.spark.stage_match import StageScopes, match_stages, rows_of
from headgate.spark.stored import (
    EXECUTION,
    EXECUTIONS,
    EXECUTORS,
    JOBS,
    PLAN,
    STAGE_GRAPH,
    TASKS,
    Execution,
    StageGraph,
    StoredJob,
    StoredMetrics,
    StoredTask,
)

_BATCH = re.compile(r"\bbatch = (\d+|init)\s*$")
_MOST_ATTEMPTS = 8


class Answer(NamedTuple):
    """The batch, if any task ran for it and all of them are known; and what is to be said about it."""

    batch: MicroBatch | None
    notes: tuple[Note, ...] = ()


def left_out(progress: Progress, problem: str) -> Answer:
    """No batch, and why."""
    return Answer(None, (BatchLeftOut(progress.name or progress.id, progress.batch_id, problem),))


class _Sought:
    """A batch none of whose jobs is known: how often its execution was looked for, which it is, and what it ran."""

    def __init__(self, batch: int) -> None:
        self.batch, self.times = batch, 0
        self.root: int | None = None
        self.jobs: set[int] | None = None


class LiveBatches:
    """Reads batches of any number of queries from one driver. Remembers of each run which jobs are done with."""

    def __init__(self, store: StatusStore, cores_per_task: int = 1) -> None:
        self._store, self._cores_per_task = store, cores_per_task
        self._first_job: dict[str, int] = {}
        self._sought: dict[str, _Sought] = {}

    def forget(self, run: str) -> None:
        """A run is over."""
        self._first_job.pop(run, None)
        self._sought.pop(run, None)

    def read(self, progress: Progress) -> Answer | None:
        """The batch this report is about; None if the store does not have all of it yet."""
        run = progress.run_id
        stored = JOBS.decode(self._store.jobs(self._first_job.get(run, 0)))
        jobs = sorted((job for job in stored if job.info.job_group == run), key=lambda job: job.info.job_id)
        executions: dict[int, Execution] = {}
        numbers = self._numbers(jobs, progress.batch_id, executions)
        mine = [job for job, number in zip(jobs, numbers, strict=True) if number == progress.batch_id]
        if not mine:
            return self._without_jobs(progress)
        self._sought.pop(run, None)
        self._look_up(mine, executions)
        wanted = [executions[job.sql_execution_id] for job in mine if job.sql_execution_id in executions]
        roots = [executions[one.root_execution_id] for one in wanted if one.root_execution_id in executions]
        if not all(job.info.ended for job in mine) or not all(one.over for one in (*wanted, *roots)):
            return None
        self._first_job[run] = mine[-1].info.job_id + 1
        try:
            return self._answer(progress, mine, executions)
        except ForgottenError:
            problem = "its stages are no longer in Spark's status store; raise spark.ui.retainedStages"
            return left_out(progress, problem)

    # Which jobs and executions.

    def _numbers(
        self, jobs: Sequence[StoredJob], wanted: int, executions: dict[int, Execution]
    ) -> Sequence[int | None]:
        """The batch of each job of one run, in order; None where it cannot be told. Adds executions it looked up.

        A user may set another description inside foreachBatch. Then what the batch's own execution is called counts,
        which had its name before; where there is none, the batch of the job before it. Batches run one after the other,
        so from the last job back only those down to the wanted batch are looked up: with a run just met there may be a
        thousand before it.
        """
        numbers = [_number(job.info.description) for job in jobs]
        for place in reversed(range(len(jobs))):
            number = numbers[place]
            if number is None:
                self._look_up(jobs[place : place + 1], executions)
                number = numbers[place] = _number_of_root(jobs[place], executions)
            if number is not None and number < wanted:
                break
        for place in range(1, len(jobs)):
            if numbers[place] is None:
                numbers[place] = numbers[place - 1]
        return numbers

    def _look_up(self, jobs: Iterable[StoredJob], found: dict[int, Execution]) -> None:
        """Add the executions of these jobs, and those they are part of, as far as the store has them."""
        todo = sorted({job.sql_execution_id for job in jobs if job.sql_execution_id is not None} - found.keys())
        for id in todo:  # grows while it is gone through
            execution = EXECUTION.decode(self._store.execution(id))
            if execution is not None:
                found[id] = execution
                root = execution.root_execution_id
                if root >= 0 and root not in todo and root not in found:
                    todo.append(root)

    def _without_jobs(self, progress: Progress) -> Answer | None:
        """What to say of a batch none of whose jobs is known: nothing before its own execution is over."""
        sought = self._sought.get(progress.run_id)
        if sought is None or sought.batch != progress.batch_id:
            sought = self._sought[progress.run_id] = _Sought(progress.batch_id)
        if sought.jobs is None and self._is_over(sought, progress):
            executions = EXECUTIONS.decode(self._store.executions())
            sought.jobs = {id for one in executions if one.root_execution_id == sought.root for id in one.jobs}
        ids = sought.jobs
        if ids is None:
            return None
        jobs = [job.info for job in JOBS.decode(self._store.jobs(min(ids))) if job.info.job_id in ids] if ids else []
        groups = {job.job_group for job in jobs}
        if len(jobs) < len(ids) or progress.run_id in groups:  # not all there yet; or they are now, and can be read
            return None
        self._sought.pop(progress.run_id)
        if not ids:
            return Answer(None)
        self._first_job[progress.run_id] = max(ids) + 1
        group = ", ".join(sorted(group or "none" for group in groups))
        return Answer(None, (JobsOfAnotherGroup(progress.name or progress.id, progress.batch_id, group),))

    def _is_over(self, sought: "_Sought", progress: Progress) -> bool:
        """Whether the batch's own execution is. To find it takes all there are: ever less often, and then by its id."""
        if sought.root is None:
            sought.times += 1
            if sought.times & (sought.times - 1):
                return False
            for one in EXECUTIONS.decode(self._store.executions()):
                own = one.root_execution_id == one.execution_id and progress.run_id in (one.description or "")
                if own and _number(one.description) == progress.batch_id:
                    sought.root = one.execution_id
        if sought.root is None:
            return False
        root = EXECUTION.decode(self._store.execution(sought.root))
        return root is not None and root.over

    # From jobs to stages.

    def _answer(self, progress: Progress, jobs: Sequence[StoredJob], executions: Mapping[int, Execution]) -> Answer:
        name, number = progress.name or progress.id, progress.batch_id
        stages: dict[int, RanStage] = {}
        notes: list[Note] = []
        by_execution: dict[int, list[StageScopes]] = {}
        missing = 0
        for job in jobs:
            graphs = [self._graph(id) for id in job.info.stage_ids]
            fresh = [graph for graph in graphs if graph.stage_id not in stages]
            stages.update((stage.id, stage) for stage in self._ran(job, fresh, graphs))
            counted = sum(len(stages[id].tasks) for id in job.info.stage_ids)
            missing += max(0, job.info.num_completed_indices - counted)
            if job.sql_execution_id is not None:
                of_execution = by_execution.setdefault(job.sql_execution_id, [])
                of_execution.extend(StageScopes(graph.stage_id, graph.scopes) for graph in fresh)
        if missing > 0:
            problem = f"{missing:,} of its tasks are no longer in Spark's status store; raise spark.ui.retainedTasks"
            return left_out(progress, problem)
        for id, scopes in by_execution.items():
            ran_here = [scope for scope in scopes if stages[scope.id].tasks]
            if ran_here and not self._name(stages, ran_here, executions.get(id)):
                notes.append(PlanUnknown(name, number))
            if any(_without_its_rows(stages[scope.id]) for scope in ran_here):
                notes.append(RowsLost(name, number))
        batch = micro_batch(progress, stages.values(), sorted(self._executors(), key=by_id))
        if implausible := sum(stage.implausible for stage in stages.values()):
            return left_out(
                progress, f"{implausible:,} of its tasks say what cannot be true, such as an end before the start"
            )
        return Answer(batch, tuple(dict.fromkeys(notes)))

    def _graph(self, stage: int) -> StageGraph:
        return STAGE_GRAPH.decode(self._store.stage_graph(stage))

    def _ran(self, of: StoredJob, fresh: Sequence[StageGraph], graphs: Sequence[StageGraph]) -> list[RanStage]:
        """The stages that this job is the first to plan, with their tasks; those it skipped have none."""
        job, execution = of.info, -1 if of.sql_execution_id is None else of.sql_execution_id
        stages = [RanStage(graph.stage_id, _parents(graph, graphs), execution) for graph in fresh]
        ended = 0
        for attempt in range(_MOST_ATTEMPTS):
            # A stage is attempted again only after something was lost: the job has then counted more attempts of tasks.
            if attempt and ended >= job.attempts_ended:
                break
            for stage in (one for one in stages if one.id not in of.skipped_stages):
                ended += _count(stage, TASKS.decode(self._store.tasks(stage.id, attempt)))
        # A task done again because its output was lost ends twice for the job, once as "resubmitted" without a row.
        ran = [stage for stage in stages if stage.tasks]
        if ran and ended < job.attempts_ended and sum(len(s.tasks) for s in ran) >= job.num_completed_indices:
            ran[0].lost += job.attempts_ended - ended
        return stages

    def _name(self, stages: Mapping[int, RanStage], ran: Sequence[StageScopes], execution: Execution | None) -> bool:
        """Give stages their fragment of the plan, and the rows its nodes put out. False where no plan is known."""
        if execution is None or execution.metric_values is None:
            return False
        try:
            plan = plan_tree(PLAN.decode(self._store.plan(execution.execution_id)))
        except ForgottenError:
            return False
        if plan is None:
            return False
        values = execution.metric_values
        for id, part in match_stages(ran, parts(plan), values).items():
            stages[id].fragment, stages[id].counters = part.fragment, part.counters
            stages[id].rows = _rows(part.counters, values)
        return True

    def _executors(self) -> Iterable[Executor]:
        for one in EXECUTORS.decode(self._store.executors()):
            # The driver is listed too. It has cores only where it runs the tasks itself, and then it is an executor.
            if one.total_cores > 0:
                host, _, _ = one.host_port.rpartition(":")
                yield Executor(one.id, host, one.total_cores // self._cores_per_task)


def _number(description: str | None) -> int | None:
    r"""The batch a description names; -1 for what runs before the first.

    >>> _number("words\nid = 1\nrunId = 2\nbatch = 17"), _number("a title of the user's own")
    (17, None)
    """
    found = _BATCH.search(description or "")
    return None if found is None else -1 if found[1] == "init" else int(found[1])


def _number_of_root(job: StoredJob, executions: Mapping[int, Execution]) -> int | None:
    """The batch that the execution around a job's own names."""
    execution = executions.get(-1 if job.sql_execution_id is None else job.sql_execution_id)
    root = executions.get(execution.root_execution_id) if execution else None
    return _number(root.description) if root else None


def _parents(graph: StageGraph, of_job: Sequence[StageGraph]) -> tuple[int, ...]:
    """The stages of the same job that compute what this one takes in."""
    taken = {edge.from_id for edge in graph.incoming_edges}
    return tuple(other.stage_id for other in of_job if other is not graph and taken & other.rdds)


def _count(stage: RanStage, tasks: Sequence[StoredTask]) -> int:
    """Take the first attempt of each partition that succeeded, and count the others that ended as lost."""
    ended = 0
    for task in sorted(tasks, key=lambda task: (task.finish_time, task.task_id)):
        if task.status not in ("SUCCESS", "FAILED", "KILLED"):
            continue
        ended += 1
        partition = task.partition_id if task.partition_id >= 0 else task.index
        if task.status != "SUCCESS" or task.task_metrics is None or partition in stage.tasks:
            stage.lost += 1
        else:
            stage.tasks[partition] = _row(partition, task, task.task_metrics)
    return ended


def _row(partition: int, task: StoredTask, metrics: StoredMetrics) -> TaskRow:
    return TaskRow(
        task.executor_id,
        partition,
        task.launch_time,
        task.finish_time,
        metrics.executor_deserialize_time,
        metrics.executor_run_time,
        metrics.result_serialization_time,
        metrics.shuffle_read_metrics.fetch_wait_time,
        metrics.jvm_gc_time,
        metrics.executor_cpu_time + metrics.executor_deserialize_cpu_time,
        metrics.shuffle_read_metrics.records_read + metrics.input_metrics.records_read,
        metrics.shuffle_write_metrics.records_written or metrics.output_metrics.records_written,
        metrics.memory_bytes_spilled + metrics.disk_bytes_spilled,
    )


def _without_its_rows(stage: RanStage) -> bool:
    """Whether a stage whose plan counts rows, and which had records, has none: but for a filter that lets none pass."""
    return (
        len(stage.counters) > 0
        and not stage.rows
        and any(task.records_in or task.records_out for task in stage.tasks.values())
    )


def _rows(counters: Iterable[int], values: Mapping[int, str]) -> dict[int, int]:
    """Rows by accumulator. Those that stayed at 0 are left out, as the event log does not name them either."""
    rows = {counter: rows_of(values.get(counter, "")) for counter in counters}
    return {counter: count for counter, count in rows.items() if count}
