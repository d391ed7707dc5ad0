"""Stages that ran, and the query's report -> one micro-batch. The last step of both ways of looking at Spark.

A stage becomes an operator by the fragment of the plan it carried out. Whoever knows which stages, tasks and
fragments belong together (the event log by accumulators, the live probe by stage numbers in metrics) puts them here.
"""

import re
import struct
from collections.abc import Iterable, Sequence
from datetime import datetime
from functools import lru_cache
from itertools import chain
from operator import attrgetter, gt
from typing import NamedTuple

import msgspec
import numpy as np
import numpy.typing as npt
from msgspec import Raw
from msgspec.structs import astuple

from headgate.formats.eventlog.plans import Fragment
from headgate.formats.eventlog.streaming import Progress, Source
from headgate.model.columns import read_only
from headgate.model.dataflow import Dataflow, Edge, Operator
from headgate.model.microbatch import Executor, KeptState, MicroBatch, NodeOutput, SourceRead, Tasks

MOST_BELIEVED = 2**53 - 1
"""The largest figure that is believed: float64 cannot tell larger ones from their neighbours."""
_HIGHEST_BYTE, _NEXT_BYTE = b"\0", bytes(range(32))
"""Those of a figure that is believed, when it has eight."""
_EIGHT_BYTES = np.dtype("<i8")
_SHORT = 1024
"""Text that is remembered is shorter: a long one would be kept for good."""


class TaskRow(msgspec.Struct, frozen=True, gc=False):
    """What the attempt that counted measured; milliseconds, but for `cpu_ns`."""

    executor: str
    partition: int
    launched: int
    finished: int
    deserialising: int
    running: int
    serialising: int
    fetch_wait: int
    gc: int
    cpu_ns: int
    records_in: int
    records_out: int
    bytes_spilled: int

    @property
    def believable(self) -> bool:
        """Whether all its figures can be true."""
        _, *figures = astuple(self)
        return min(figures) >= 0 and max(figures) <= MOST_BELIEVED and 0 < self.launched <= self.finished


class RanStage(msgspec.Struct, eq=False, gc=False):
    """A stage of one batch, filled while the batch runs."""

    id: int
    parents: tuple[int, ...]
    execution: int = -1
    """The SQL execution whose plan it carries out a part of; a batch may have several, with the same plan."""
    planned: int = 0
    """How many tasks it was to have; 0 where that is not known."""
    root: int = -1
    """The execution of the batch itself, where that one is only an action inside it."""
    over: bool = False
    """Whether its end was seen."""
    fragment: Fragment | None = None
    counters: tuple[int, ...] = ()
    """The accumulators that the rows of its fragment are counted with."""
    rows: dict[int, int] = {}
    """Accumulator -> rows, over all tasks."""
    tasks: dict[int, TaskRow] = {}
    """Partition -> what its successful attempt measured."""
    lost: int = 0
    implausible: int = 0
    """Tasks that were left out because they say what cannot be true."""

    def leave_out_implausible_tasks(self) -> None:
        """And count them."""
        believed = {partition: row for partition, row in self.tasks.items() if row.believable}
        self.implausible += len(self.tasks) - len(believed)
        self.tasks = believed


def micro_batch(progress: Progress, stages: Iterable[RanStage], executors: Sequence[Executor]) -> MicroBatch | None:
    """The batch this report is about; None if nothing ran for it (a batch without data). Executors are in order.

    Tasks that say what cannot be true are taken out of their stages.
    """
    ran = sorted([stage for stage in stages if stage.tasks], key=attrgetter("id"))
    if not ran:
        return None
    shape = _shape(_kinds(ran))
    tasks = _columns(shape.operator, [ran[place] for place in shape.upstream_first])
    if tasks is None:
        for stage in ran:
            stage.leave_out_implausible_tasks()
        return micro_batch(progress, ran, executors)
    return MicroBatch(
        progress.id,
        progress.run_id,
        progress.name or progress.id,
        progress.batch_id,
        milliseconds(progress.timestamp),
        progress.batch_duration or (progress.duration_ms or {}).get("triggerExecution", 0),
        progress.duration_ms or {},
        progress.input_rows,
        shape.dataflow,
        shape.stateful,
        tasks,
        {name: _node_outputs(stage) for name, stage in zip(shape.names, ran, strict=True)},
        sum([stage.lost for stage in ran]),
        tuple([_source(source) for source in progress.sources]),
        _state(progress, ran, shape.names) if progress.state_operators else (),
        tuple(executors),
        shape.reading,
        shape.writing,
        _emitted(progress),
    )


def by_id(executor: Executor) -> tuple[int, str]:
    """The order of executors: that of their numbers, which are text."""
    return len(executor.id), executor.id


class _Kind(msgspec.Struct, frozen=True, gc=False):
    """All of a stage that its place in the dataflow depends on; the same in batch after batch."""

    fragment: Fragment
    tasks: int
    parents: tuple[int, ...]
    """Places of stages, as those below."""
    execution: int
    """The place of the first stage of the same execution."""


_NO_PLAN = Fragment("", False, (), ())


def _kinds(ran: Sequence[RanStage]) -> tuple[_Kind, ...]:
    place_of = {stage.id: place for place, stage in enumerate(ran)}
    executions: dict[int, int] = {}
    return tuple(
        [
            _Kind(
                stage.fragment or _NO_PLAN,
                len(stage.tasks),
                tuple([place_of[id] for id in stage.parents if id in place_of]),
                executions.setdefault(stage.execution, place),
            )
            for place, stage in enumerate(ran)
        ]
    )


class _Shape(NamedTuple):
    """The dataflow that the stages of a batch make up."""

    names: tuple[str, ...]
    """Of the stages, in order of their ids."""
    dataflow: Dataflow
    operator: npt.NDArray[np.int32]
    """The column that says of each instance which operator's it is."""
    upstream_first: tuple[int, ...]
    """The places of the stages in the order of the dataflow's operators."""
    stateful: frozenset[str]
    reading: frozenset[str]
    writing: frozenset[str]


# Batch after batch has the same dataflow, and to check and order it would be much of the work on a small batch.
@lru_cache(maxsize=64)
def _shape(kinds: tuple[_Kind, ...]) -> _Shape:
    names = _names([kind.fragment.name for kind in kinds])
    flow = Dataflow(
        [Operator(name, kind.tasks) for name, kind in zip(names, kinds, strict=True)],
        [Edge(names[up], names[place]) for place in range(len(kinds)) for up in _feeders(place, kinds)],
    )
    place_of = {name: place for place, name in enumerate(names)}
    return _Shape(
        tuple(names),
        flow,
        read_only(np.repeat(np.arange(len(flow.ids), dtype=np.int32), flow.instances)),
        tuple(place_of[id] for id in flow.ids),
        frozenset(name for name, kind in zip(names, kinds, strict=True) if kind.fragment.stateful),
        frozenset(name for name, kind in zip(names, kinds, strict=True) if kind.fragment.reads),
        frozenset(name for name, kind in zip(names, kinds, strict=True) if kind.fragment.writes),
    )


def _emitted(progress: Progress) -> int | None:
    """As the sink says; Spark has -1 for those that do not."""
    rows = progress.sink.num_output_rows if progress.sink is not None else None
    return rows if rows is not None and rows >= 0 else None


def milliseconds(timestamp: str) -> int:
    """Of a timestamp as queries write it; 0 for what is none. Remembered, because a batch's is asked for twice.

    >>> milliseconds("1970-01-01T00:00:01.500Z")
    1500
    """
    return _milliseconds(timestamp) if len(timestamp) < _SHORT else 0


@lru_cache(maxsize=16)
def _milliseconds(timestamp: str) -> int:
    try:
        return round(datetime.fromisoformat(timestamp).timestamp() * 1000)
    except (ValueError, OverflowError):
        return 0


def _names(fragments: Sequence[str]) -> list[str]:
    """Each stage by the name of its fragment; by its place in the batch where no plan is known.

    >>> _names(["scan", "", "scan"])
    ['scan', 'stage 1', 'scan part 2']
    """
    names: dict[str, None] = {}
    parts: dict[str, int] = {}
    for place, fragment in enumerate(fragments):
        plain = name = fragment or f"stage {place}"
        while name in names:  # more than once where a fragment is itself called "… part 2"
            parts[plain] = parts.get(plain, 1) + 1
            name = f"{plain} part {parts[plain]}"
        names[name] = None
    return list(names)


def _feeders(place: int, kinds: Sequence[_Kind]) -> list[int]:
    """The stages that feed a stage: its parents and, where adaptive execution gave those other ids, the plan's.

    Both, because each may lack one: a stage that is skipped has a new id, an exchange that is used again no plan. What
    feeds a stage has a lower id, always: so whatever a damaged log says, there is no circle.
    """
    stage = kinds[place]
    planned = {
        other.fragment.planned_as or other.fragment.name: up  # of several, the last
        for up, other in enumerate(kinds[:place])
        if other.fragment.name and other.execution == stage.execution
    }
    parents = sorted(up for up in stage.parents if up < place)
    return list(dict.fromkeys([*parents, *(planned[name] for name in stage.fragment.inputs if name in planned)]))


def _node_outputs(stage: RanStage) -> tuple[NodeOutput, ...]:
    """What the nodes of a stage put out; one that did not say anything is left out."""
    if stage.fragment is None:
        return ()
    outputs: list[NodeOutput] = []
    said = False
    for (node, again), rows in zip(stage.fragment.rows, map(stage.rows.get, stage.counters), strict=True):
        if rows is None:
            said = said and again
        elif said and again:
            outputs[-1] = NodeOutput(node, max(rows, outputs[-1].rows))
        else:
            outputs.append(NodeOutput(node, rows))
            said = True
    return tuple(outputs)


def _source(source: Source) -> SourceRead:
    rate = source.input_rows_per_second
    return SourceRead(
        _description(source.description or ""),
        _offset_of(source.start_offset),
        _offset_of(source.end_offset),
        _offset_of(source.latest_offset),
        source.num_input_rows,
        float("nan") if rate is None else rate,
    )


def _description(text: str) -> str:
    """What a source calls itself; without the place in memory that Java adds where it has no name.

    >>> _description("org.apache.spark.PythonMicroBatchStream@668ded1e"), _description("KafkaV2[Subscribe[clicks]]")
    ('PythonMicroBatchStream', 'KafkaV2[Subscribe[clicks]]')
    """
    return _nameless(text) if "@" in text and len(text) < _SHORT else text


@lru_cache(maxsize=64)
def _nameless(text: str) -> str:
    nameless = re.fullmatch(r"(?:[\w$]+\.)*([\w$]+)@[0-9a-f]{1,8}", text)
    return nameless[1] if nameless else text


def _offset_of(offset: Raw) -> str:
    """Remembered, because a batch begins where the one before ended."""
    return _short_offset(bytes(offset)) if len(offset) < _SHORT else _offset(bytes(offset))


@lru_cache(maxsize=64)
def _short_offset(offset: bytes) -> str:
    return _offset(offset)


def _offset(offset: bytes) -> str:
    r"""An offset as text. Logs hold it as a JSON string, the API as JSON: both come to the same text here.

    >>> _offset(b'"{\\"number\\": 4}"'), _offset(b'{"number" : 4}'), _offset(b"null")
    ('{"number":4}', '{"number":4}', '')
    """
    try:
        value = msgspec.json.decode(offset) if offset else None
        if isinstance(value, str):
            value = msgspec.json.decode(value)
    except (msgspec.MsgspecError, RecursionError):
        pass  # not JSON but text of the source's own, or broken: the text itself is what there is
    if value is None:
        return ""
    return value if isinstance(value, str) else msgspec.json.encode(value).decode()


def _state(progress: Progress, stages: Sequence[RanStage], names: Sequence[str]) -> tuple[KeptState, ...]:
    operator_of = {
        place: name
        for stage, name in zip(stages, names, strict=True)
        if stage.fragment is not None
        for place in stage.fragment.state
    }
    return tuple(
        [
            KeptState(
                operator_of.get(place, ""),
                kept.operator_name,
                kept.num_rows_total,
                kept.memory_used_bytes,
                kept.num_rows_updated,
                kept.num_rows_removed,
                kept.num_shuffle_partitions,
                kept.all_updates_time_ms,
                kept.all_removals_time_ms,
                kept.commit_time_ms,
                kept.custom_metrics or {},
                kept.num_state_store_instances,
            )
            for place, kept in enumerate(progress.state_operators)
        ]
    )


def _columns(operator: npt.NDArray[np.int32], stages: Iterable[RanStage]) -> Tasks | None:
    """The tasks of these stages; None if one of them says what cannot be true."""
    rows: list[TaskRow] = []
    for stage in stages:
        rows += map(stage.tasks.__getitem__, sorted(stage.tasks))
    executor, *figures = zip(*map(astuple, rows), strict=True)
    # One array for all of them: in a small batch, making arrays takes longer than filling them. And packed, not handed
    # to numpy as numbers: that takes half the time, finds those below zero, and shows those that are too large.
    try:
        packed = struct.pack(f"<{len(rows) * len(figures)}Q", *chain.from_iterable(figures))
    except struct.error:
        return None
    _, launched, finished, *_ = figures
    too_large = packed[7::8].strip(_HIGHEST_BYTE) or packed[6::8].strip(_NEXT_BYTE)
    if too_large or 0 in launched or any(map(gt, launched, finished)):
        return None
    partition, *measured = np.ndarray((len(figures), len(rows)), _EIGHT_BYTES, packed)
    return Tasks(operator, partition, executor, *measured)
