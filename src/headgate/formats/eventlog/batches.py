"""Events -> micro-batches: which stages, tasks and reports belong to one batch of one query.

A job carries the ids of its query and batch; a stage belongs to the job that first planned it; a task to its stage. The
query's own report closes the batch. A stage is matched with a fragment of the plan by the accumulators its tasks
update, which holds for joins, unions and adaptive execution alike, where order and numbers do not.
"""

from collections.abc import Iterable, Iterator

import numpy as np

from headgate.formats.eventlog.accumulables import accumulator_updates
from headgate.formats.eventlog.events import Event
from headgate.formats.eventlog.jobs import JobStart, StagePlan
from headgate.formats.eventlog.plans import Fragment, fragments
from headgate.formats.eventlog.sql import SQLAdaptiveExecutionUpdate, SQLExecutionEnd, SQLExecutionStart
from headgate.formats.eventlog.streaming import Progress, QueryProgress
from headgate.formats.eventlog.tasks import TaskEnd
from headgate.model.columns import Ints, read_only
from headgate.model.dataflow import Dataflow, Edge, Operator
from headgate.model.microbatch import MicroBatch, NodeOutput, Tasks

WANTED: frozenset[type[Event]] = frozenset(
    {JobStart, TaskEnd, QueryProgress, SQLExecutionStart, SQLAdaptiveExecutionUpdate, SQLExecutionEnd}
)
"""The events this needs; `read_events(path, wanted=WANTED)` skips the rest."""

_Key = tuple[str, int]


def read_batches(events: Iterable[Event]) -> Iterator[MicroBatch]:
    """The batches of all queries in these events, each when its report comes."""
    assembly = _Assembly()
    for event in events:
        if isinstance(event, TaskEnd):
            assembly.task(event)
        elif isinstance(event, JobStart):
            assembly.job(event)
        elif isinstance(event, SQLExecutionStart | SQLAdaptiveExecutionUpdate):
            if event.plan is not None:
                assembly.plans[event.execution_id] = fragments(event.plan)
        elif isinstance(event, SQLExecutionEnd):
            assembly.plans.pop(event.execution_id, None)
        elif isinstance(event, QueryProgress):
            batch = assembly.close(event.progress)
            if batch is not None:
                yield batch


class _Stage:
    """A stage while its batch runs."""

    def __init__(self, plan: StagePlan, execution: int) -> None:
        self.plan = plan
        self.execution = execution
        self.fragment: Fragment | None = None
        self.tasks: dict[int, tuple[int | str, ...]] = {}
        """Partition -> what its successful attempt measured."""
        self.rows: dict[int, int] = {}
        """Accumulator -> rows, over all tasks."""
        self.lost = 0


class _Assembly:
    """What is known of batches that are under way. Forgets a batch once it is closed."""

    def __init__(self) -> None:
        self.plans: dict[int, tuple[Fragment, ...]] = {}
        self.stages: dict[int, _Stage] = {}
        self.batches: dict[_Key, list[int]] = {}

    def job(self, event: JobStart) -> None:
        """Note the stages of a job that belongs to a batch; a stage seen before is one that is skipped."""
        properties = event.properties
        if properties is None or properties.batch_id is None or properties.group_id is None:
            return
        if not properties.batch_id.isdigit():
            return
        execution = properties.execution_id or ""
        of_batch = self.batches.setdefault((properties.group_id, int(properties.batch_id)), [])
        for plan in event.stages:
            if plan.id not in self.stages:
                self.stages[plan.id] = _Stage(plan, int(execution) if execution.isdigit() else -1)
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
            stage.fragment = self._fragment_of(stage, event)
        out = 0
        if stage.fragment is not None:
            counted = accumulator_updates(info.accumulables, [node.accumulator for node in stage.fragment.rows])
            for accumulator, rows in counted.items():
                stage.rows[accumulator] = stage.rows.get(accumulator, 0) + rows
            ends = [node.accumulator for node in stage.fragment.rows if node.accumulator in counted]
            out = counted[ends[-1]] if ends else 0
        stage.tasks[partition] = (
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
            metrics.shuffle_write.records or metrics.output.records or out,
            metrics.memory_bytes_spilled + metrics.disk_bytes_spilled,
        )

    def _fragment_of(self, stage: _Stage, event: TaskEnd) -> Fragment | None:
        """The fragment most of whose accumulators this task updated."""
        best, most = None, 0
        for fragment in self.plans.get(stage.execution, ()):
            updated = len(accumulator_updates(event.info.accumulables, fragment.accumulators))
            if updated > most:
                best, most = fragment, updated
        return best

    def close(self, progress: Progress) -> MicroBatch | None:
        """The batch this report is about; None if nothing ran for it (a batch without data)."""
        ran = [self.stages.pop(id) for id in self.batches.pop((progress.run_id, progress.batch_id), ())]
        ran = [stage for stage in ran if stage.tasks]
        if not ran:
            return None
        names = _names(ran)
        by_stage = {stage.plan.id: name for stage, name in zip(ran, names, strict=True)}
        edges = [Edge(up, name) for stage, name in zip(ran, names, strict=True) for up in _feeders(stage, by_stage)]
        flow = Dataflow((Operator(name, len(stage.tasks)) for stage, name in zip(ran, names, strict=True)), edges)
        return MicroBatch(
            progress.id,
            progress.run_id,
            progress.name or progress.id,
            progress.batch_id,
            progress.timestamp,
            progress.batch_duration or (progress.duration_ms or {}).get("triggerExecution", 0),
            progress.duration_ms or {},
            progress.input_rows,
            flow,
            frozenset(by_stage[stage.plan.id] for stage in ran if stage.fragment and stage.fragment.stateful),
            _columns(flow, {by_stage[stage.plan.id]: stage for stage in ran}),
            {by_stage[stage.plan.id]: _node_outputs(stage) for stage in ran},
            sum(stage.lost for stage in ran),
        )


def _feeders(stage: _Stage, by_stage: dict[int, str]) -> list[str]:
    """The operators that feed a stage: its parents and, where adaptive execution gave those other ids, the plan's."""
    parents = [by_stage[up] for up in stage.plan.parents if up in by_stage]
    planned = stage.fragment.inputs if stage.fragment else ()
    return parents or [name for name in planned if name in by_stage.values()]


def _names(stages: list[_Stage]) -> list[str]:
    """Each stage by the name of its fragment; by its place in the batch where no plan is known."""
    names: list[str] = []
    for place, stage in enumerate(stages):
        name = stage.fragment.name if stage.fragment else f"stage {place}"
        same = sum(other == name or other.startswith(f"{name} part ") for other in names)
        names.append(name if not same else f"{name} part {same + 1}")
    return names


def _node_outputs(stage: _Stage) -> tuple[NodeOutput, ...]:
    if stage.fragment is None:
        return ()
    return tuple(
        NodeOutput(node.node, stage.rows[node.accumulator])
        for node in stage.fragment.rows
        if node.accumulator in stage.rows
    )


def _columns(flow: Dataflow, stages: dict[str, _Stage]) -> Tasks:
    rows = [
        (position, *stages[id].tasks[partition])
        for position, id in enumerate(flow.ids)
        for partition in sorted(stages[id].tasks)
    ]

    def column(at: int) -> Ints:
        return read_only(np.array([row[at] for row in rows], np.int64))

    return Tasks(
        read_only(np.array([row[0] for row in rows], np.int32)),
        column(1),
        tuple(str(row[2]) for row in rows),
        *(column(at) for at in range(3, 14)),
    )
