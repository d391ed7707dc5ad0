"""Events -> micro-batches: which stages, tasks and reports belong to one batch of one query.

A job carries the ids of its query and batch; a stage belongs to the job that first planned it; a task to its stage. The
query's own report closes the batch. A stage is matched with a fragment of the plan by the accumulators its tasks
update, which holds for joins, unions and adaptive execution alike, where order and numbers do not. Rows are read from
the stage's end, which has the totals: once a stage instead of once a task.

No content of a log is ever an error: what cannot be put together is left out and said in `gaps`. Invariant: what is
kept is a few batches of each of some runs, and some plans, however long the log and whatever is missing from it.
"""

from collections import OrderedDict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from operator import attrgetter
from typing import Any

from msgspec import Raw
from msgspec.structs import replace

from headgate.formats.eventlog.accumulables import accumulator_totals
from headgate.formats.eventlog.application import EnvironmentUpdate, ExecutorAdded, ExecutorRemoved
from headgate.formats.eventlog.events import Event
from headgate.formats.eventlog.gaps import (
    BatchesImplausible,
    BatchesIncomplete,
    BatchesUnreported,
    BatchesWithoutTasks,
    FiguresImplausible,
    Gap,
    RowsUnknown,
    RunsFailed,
    StagesUnnamed,
    TasksImplausible,
    TasksMissing,
)
from headgate.formats.eventlog.jobs import JobStart, StageCompleted
from headgate.formats.eventlog.plan_templates import CutPlan, PlanTemplates
from headgate.formats.eventlog.plans import Part, continued
from headgate.formats.eventlog.reader import EventLog
from headgate.formats.eventlog.sql import (
    DriverAccumUpdates,
    SQLAdaptiveExecutionUpdate,
    SQLExecutionEnd,
    SQLExecutionStart,
)
from headgate.formats.eventlog.streaming import Progress, QueryProgress, QueryTerminated, StateOperator
from headgate.formats.eventlog.tasks import TaskEnd
from headgate.formats.ran_stages import MOST_BELIEVED, RanStage, TaskRow, by_id, micro_batch, milliseconds
from headgate.model.errors import said_in_brief
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
        QueryTerminated,
        SQLExecutionStart,
        SQLAdaptiveExecutionUpdate,
        SQLExecutionEnd,
        DriverAccumUpdates,
    }
)
"""The events this needs; `read_events(path, wanted=WANTED)` skips the rest."""

_MOST_OF_A_RUN = 8
"""Batches of one run that wait for their reports: they run one after the other, so there is one, or two."""
_MOST_RUNS = 256
_MOST_PLANS = 1024
_MOST_PLANNED = 20_000
_MOST_CORES = 100_000
"""The most cores of an executor that are believed: what comes later has an entry for each slot."""

_STATE_FIGURES = tuple(
    name for name in StateOperator.__struct_fields__ if name not in ("operator_name", "custom_metrics")
)
_state_figures = attrgetter(*_STATE_FIGURES)


def read_batches(events: Iterable[Event]) -> "Batches":
    """The batches of all queries in these events, each when its report comes."""
    return Batches(events.pieces() if isinstance(events, EventLog) else ([event] for event in events))


class Batches(Iterator[MicroBatch]):
    """The batches, to be gone through once, and what is missing from them so far.

    Events come in pieces, and the batches that one closes are put together in a row: that is faster than in turn.
    """

    def __init__(self, pieces: Iterable[Iterable[Event]]) -> None:
        self._assembly = _Assembly()
        self._batches = self._read(pieces)

    def __iter__(self) -> Iterator[MicroBatch]:
        return self._batches

    def __next__(self) -> MicroBatch:
        return next(self._batches)

    @property
    def gaps(self) -> tuple[Gap, ...]:
        """What is missing; complete once all batches have been taken."""
        return self._assembly.missing.gaps()

    def _read(self, pieces: Iterable[Iterable[Event]]) -> Iterator[MicroBatch]:
        takes = self._assembly.takes().get
        for piece in pieces:
            for event in piece:
                take = takes(type(event))
                if take is not None:
                    take(event)
            yield from self._assembly.closed()
        self._assembly.end()


class _Plan:
    """The plan of an execution, cut once a stage asks: Spark wraps a batch's execution in one that has no stages."""

    def __init__(self, text: bytes, templates: PlanTemplates) -> None:
        self._text = text
        self._templates = templates
        self._cut: CutPlan | None = None

    def carried_out(self, accumulables: Raw) -> Part | None:
        """The part of it that a task with these accumulables carries out."""
        if self._cut is None:
            self._cut = self._templates.cut(self._text)
        return self._cut.carried_out(accumulables)


_NO_PLAN = _Plan(b"", PlanTemplates())


class _Missing:
    """How much of what is missing."""

    def __init__(self) -> None:
        self.reports = self.tasks_of_batches = self.incomplete = 0
        self.implausible_reports = self.implausible_tasks = self.implausible_figures = 0
        self.failed, self.failed_with = 0, ""
        self.tasks = self.stages_with_missing_tasks = self.names = self.rows = 0

    def look_at(self, stages: Iterable[RanStage]) -> None:
        """Count what the stages of a batch that is closed lack."""
        for stage in stages:
            self.implausible_tasks += stage.implausible
            if stage.tasks:
                lacking = min(stage.planned, MOST_BELIEVED) - len(stage.tasks)
                if lacking > 0:
                    self.tasks += lacking
                    self.stages_with_missing_tasks += 1
                if stage.fragment is None:
                    self.names += 1
                elif not stage.over:
                    self.rows += 1

    def gaps(self) -> tuple[Gap, ...]:
        """Those that there are, the gravest first."""
        found: tuple[Gap, ...] = (
            BatchesUnreported(self.reports),
            BatchesWithoutTasks(self.tasks_of_batches),
            BatchesIncomplete(self.incomplete),
            BatchesImplausible(self.implausible_reports),
            TasksImplausible(self.implausible_tasks),
            FiguresImplausible(self.implausible_figures),
            TasksMissing(self.tasks, self.stages_with_missing_tasks),
            StagesUnnamed(self.names),
            RowsUnknown(self.rows),
            RunsFailed(self.failed, self.failed_with),
        )
        return tuple(gap for gap in found if gap.count)


class _Assembly:
    """What is known of batches that are under way. Forgets a batch once it is closed, or when it never will be."""

    def __init__(self) -> None:
        self.plans: dict[int, _Plan] = {}
        self.templates = PlanTemplates()
        self.stages: dict[int, RanStage] = {}
        self.runs: dict[str, dict[int, list[int]]] = {}
        """Run -> batch -> its stages; each in order of first appearance."""
        self.planned: OrderedDict[int, None] = OrderedDict()
        """Stages that some job has planned, whoever's, the last ones."""
        self.incomplete: set[tuple[str, int]] = set()
        """Batches that were open while tasks ran that no job in the log has planned: some of it may be theirs."""
        self.orphans = False
        """Whether there were such tasks since the last batch was closed."""
        self.totals: dict[int, int] = {}
        """Accumulator -> what it had come to when a stage last said so."""
        self.on_driver: dict[int, dict[int, int]] = {}
        """Execution -> accumulator -> rows that only the driver counts: those a sink took."""
        self.last_on_driver: DriverAccumUpdates | None = None
        self.executors: dict[str, Executor] = {}
        self.in_order: tuple[Executor, ...] | None = None
        """The same in order of their ids, unless one came or left since."""
        self.cores_per_task = 1
        self.missing = _Missing()
        self.reported: list[tuple[Progress, list[RanStage], tuple[Executor, ...]]] = []
        """Batches that are over, with the executors of that time, until `closed` is asked for them."""

    def takes(self) -> Mapping[type[Event], Callable[[Any], None]]:
        """Who takes which event. A field would keep all from being let go."""
        return {
            QueryProgress: self.report,
            TaskEnd: self.task,
            JobStart: self.job,
            StageCompleted: self.stage_over,
            SQLExecutionStart: self.planned_as,
            SQLAdaptiveExecutionUpdate: self.planned_as,
            SQLExecutionEnd: self.execution_over,
            DriverAccumUpdates: self.counted_on_driver,
            QueryTerminated: self.query_over,
            EnvironmentUpdate: self.settings,
            ExecutorAdded: self.executor_came,
            ExecutorRemoved: self.executor_left,
        }

    def settings(self, event: EnvironmentUpdate) -> None:
        """Note how many cores a task takes."""
        self.cores_per_task = max(1, _whole(event.spark_properties.get("spark.task.cpus", "1")))

    def executor_came(self, event: ExecutorAdded) -> None:
        """Note an executor, and how many tasks it takes."""
        cores = event.info.cores if 0 <= event.info.cores <= _MOST_CORES else 0
        self.missing.implausible_figures += cores != event.info.cores
        self.executors[event.id] = Executor(event.id, event.info.host, cores // self.cores_per_task)
        self.in_order = None

    def executor_left(self, event: ExecutorRemoved) -> None:
        """Forget an executor."""
        self.executors.pop(event.id, None)
        self.in_order = None

    def planned_as(self, event: SQLExecutionStart | SQLAdaptiveExecutionUpdate) -> None:
        """Note the plan of an execution, in place of one it had before."""
        if event.plan:
            # A copy, because what is in the event keeps all that was read with it.
            self.plans[event.execution_id] = _Plan(bytes(event.plan), self.templates)
            if len(self.plans) > _MOST_PLANS:
                del self.plans[next(iter(self.plans))]

    def query_over(self, event: QueryTerminated) -> None:
        """Forget the batches of a run that will not be reported any more."""
        if event.exception:
            self.missing.failed += 1
            self.missing.failed_with = said_in_brief(event.exception)
        self._forget(event.run_id)

    def job(self, event: JobStart) -> None:
        """Note the stages of a job that belongs to a batch; a stage seen before is one that is skipped."""
        for plan in event.stages:
            self.planned[plan.id] = None
        while len(self.planned) > _MOST_PLANNED:
            self.planned.popitem(last=False)
        properties = event.properties
        if properties is None or properties.batch_id is None or properties.group_id is None:
            return
        number, execution, root = map(
            _whole, (properties.batch_id, properties.execution_id or "", properties.root_execution_id or "")
        )
        if number < 0:
            return
        of_batch = self._stages_of(properties.group_id, number)
        for plan in event.stages:
            if plan.id not in self.stages:
                self.stages[plan.id] = RanStage(plan.id, plan.parents, execution, plan.tasks, root)
                of_batch.append(plan.id)

    def _stages_of(self, run: str, number: int) -> list[int]:
        """The stages of a batch, known or new; for a new one, the oldest that nobody will close are let go."""
        if run not in self.runs and len(self.runs) >= _MOST_RUNS:
            self._forget(next(iter(self.runs)))
        batches = self.runs.setdefault(run, {})
        if number not in batches and len(batches) >= _MOST_OF_A_RUN:
            oldest = next(iter(batches))
            self.incomplete.discard((run, oldest))
            self._let_go(batches.pop(oldest))
        if number not in batches and self.orphans:
            self.incomplete.add((run, number))
        return batches.setdefault(number, [])

    def _forget(self, run: str) -> None:
        """A run that is over, and whatever of it has not been reported."""
        for number, stages in self.runs.pop(run, {}).items():
            self.incomplete.discard((run, number))
            self._let_go(stages)

    def _let_go(self, stages: Iterable[int]) -> None:
        """Stages of a batch that has no report; of a batch of which no task ended, nothing is missing."""
        gone = self._take(stages)
        self.missing.reports += any(stage.tasks or stage.lost for stage in gone)

    def end(self) -> None:
        """There are no more events: what is still open stays so."""
        for run in list(self.runs):
            self._forget(run)

    def task(self, event: TaskEnd) -> None:
        """Count the first successful attempt of each partition; the others only as lost."""
        stage = self.stages.get(event.stage_id)
        if stage is None:
            if event.stage_id not in self.planned:
                self._orphan(event.stage_id)
            return
        info, metrics = event.info, event.metrics
        if metrics is None or event.reason.kind != "Success":
            stage.lost += 1
            return
        partition = info.partition if info.partition >= 0 else info.index
        if partition in stage.tasks:
            if stage.tasks[partition].believable:
                stage.lost += 1
                return
            stage.implausible += 1
        if stage.fragment is None and (part := self._part_of(stage, event)):
            stage.fragment, stage.counters = part.fragment, part.counters
        shuffled = metrics.shuffle_read
        stage.tasks[partition] = TaskRow(
            info.executor,
            partition,
            info.launch_time,
            info.finish_time,
            metrics.deserialize_time,
            metrics.run_time,
            metrics.result_serialization_time,
            shuffled.fetch_wait_time,
            metrics.gc_time,
            metrics.cpu_time_ns + metrics.deserialize_cpu_time_ns,
            shuffled.records + metrics.input.records,
            metrics.shuffle_write.records or metrics.output.records,
            metrics.memory_bytes_spilled + metrics.disk_bytes_spilled,
        )

    def _orphan(self, stage: int) -> None:
        """A task of a stage that no job has planned: the job's start is lost, unless it was planned long ago."""
        if len(self.planned) == _MOST_PLANNED and stage < next(iter(self.planned)):
            return
        self.orphans = True
        self.incomplete.update((run, number) for run, batches in self.runs.items() for number in batches)

    def _part_of(self, stage: RanStage, event: TaskEnd) -> Part | None:
        """What a task says that its stage carries out.

        That is a part of its own plan, or of the batch's, or one of the batch's and then one of its own.
        """
        accumulables = event.info.accumulables
        found = self.plans.get(stage.execution, _NO_PLAN).carried_out(accumulables)
        if found is not None and not found.fragment.continues:
            return found
        of_batch = self.plans.get(stage.root) if stage.root != stage.execution else None
        before = of_batch.carried_out(accumulables) if of_batch else None
        if found is None or before is None:
            return found or before
        return continued(before, found)

    def stage_over(self, event: StageCompleted) -> None:
        """Take the rows that the plan nodes of a stage put out."""
        stage = self.stages.get(event.stage.id)
        if stage is None:
            return
        stage.over = True
        for id, total in accumulator_totals(event.stage.accumulables, stage.counters).items():
            # A total goes on where an earlier stage left off: two actions on one batch read the same source.
            stage.rows[id] = stage.rows.get(id, 0) + total - self.totals.get(id, 0)
            self.totals[id] = total

    def counted_on_driver(self, event: DriverAccumUpdates) -> None:
        """Note figures of an execution under way that no task reports."""
        if event.execution_id in self.plans and event != self.last_on_driver:  # a line that is there twice counts once
            self.last_on_driver = event
            counted = self.on_driver.setdefault(event.execution_id, {})
            for accumulator, value in event.updates:
                counted[accumulator] = counted.get(accumulator, 0) + value
            if len(self.on_driver) > _MOST_PLANS:
                del self.on_driver[next(iter(self.on_driver))]

    def execution_over(self, event: SQLExecutionEnd) -> None:
        """Let go of its plan; and of what the driver counted for it, unless a batch under way will ask for that."""
        id = event.execution_id
        self.plans.pop(id, None)
        if id in self.on_driver and not any(stage.execution == id for stage in self.stages.values()):
            del self.on_driver[id]

    def _take(self, ids: Iterable[int]) -> list[RanStage]:
        """Stages of a batch that is over, with what the driver counted for them; nothing is kept of them."""
        stages = [self.stages.pop(id) for id in ids]
        for stage in stages:
            counted = self.on_driver.get(stage.execution, {})
            for counter in stage.counters:
                self.totals.pop(counter, None)
                if counter in counted:
                    stage.rows[counter] = stage.rows.get(counter, 0) + counted[counter]
        for stage in stages:
            self.on_driver.pop(stage.execution, None)
            if stage.rows and not _believable(stage.rows.values()):
                believed = {counter: rows for counter, rows in stage.rows.items() if 0 <= rows <= MOST_BELIEVED}
                self.missing.implausible_figures += len(stage.rows) - len(believed)
                stage.rows = believed
        return stages

    def report(self, event: QueryProgress) -> None:
        """Close the batch this report is about, if anything ran for it; what is known of it is forgotten."""
        progress = event.progress
        batches = self.runs.get(progress.run_id, {})
        stages = self._take(batches.pop(progress.batch_id, ()))
        if not batches:
            self.runs.pop(progress.run_id, None)
        self.orphans = False
        if (progress.run_id, progress.batch_id) in self.incomplete:
            self.incomplete.discard((progress.run_id, progress.batch_id))
            self.missing.incomplete += 1
            return
        rows = (progress.input_rows, *[source.num_input_rows for source in progress.sources])
        told = not progress.timestamp or milliseconds(progress.timestamp) > 0
        if not told or not _believable((*rows, progress.batch_duration, *(progress.duration_ms or {}).values())):
            self.missing.implausible_reports += 1
            return
        wrong = sum(map(_beyond_belief, progress.state_operators))
        if wrong:
            self.missing.implausible_figures += wrong
            progress = replace(progress, state_operators=tuple(map(_believed, progress.state_operators)))
        if self.in_order is None:
            self.in_order = tuple(sorted(self.executors.values(), key=by_id))
        self.reported.append((progress, stages, self.in_order))

    def closed(self) -> list[MicroBatch]:
        """The batches that were closed since this was last asked."""
        batches = []
        for progress, stages, executors in self.reported:
            batch = micro_batch(progress, stages, executors)
            self.missing.look_at(stages)
            if batch is not None:
                batches.append(batch)
            else:
                self.missing.tasks_of_batches += progress.input_rows > 0
        self.reported.clear()
        return batches


def _believable(figures: Collection[int]) -> bool:
    return min(figures) >= 0 and max(figures) <= MOST_BELIEVED


def _beyond_belief(kept: StateOperator) -> int:
    """How many of its figures are. Below 0 are some on purpose: Spark has -1 for what a state store does not count."""
    figures = [*_state_figures(kept), *(kept.custom_metrics or {}).values()]
    if min(figures) >= -MOST_BELIEVED and max(figures) <= MOST_BELIEVED:
        return 0
    return sum(abs(figure) > MOST_BELIEVED for figure in figures)


def _believed(kept: StateOperator) -> StateOperator:
    """The same with 0 for its own figures that are beyond belief, and without those of the state store's.

    >>> _believed(StateOperator("save", 5, commit_time_ms=10**400, custom_metrics={"x": 10**400, "y": -1}))
    ... # doctest: +ELLIPSIS
    StateOperator(operator_name='save', num_rows_total=5, ... commit_time_ms=0, ... custom_metrics={'y': -1})
    """
    wrong = {name: 0 for name in _STATE_FIGURES if abs(getattr(kept, name)) > MOST_BELIEVED}
    custom = {name: figure for name, figure in (kept.custom_metrics or {}).items() if abs(figure) <= MOST_BELIEVED}
    return replace(kept, custom_metrics=custom, **wrong)


def _whole(text: str) -> int:
    """The number that is written there; -1 for what is none, or none that a counter could have reached.

    >>> _whole("12"), _whole(""), _whole("-3"), _whole("9" * 5000)
    (12, -1, -1, -1)
    """
    return int(text) if text.isdecimal() and len(text) < 19 else -1
