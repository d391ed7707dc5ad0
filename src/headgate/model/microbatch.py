"""One micro-batch of a streaming query, as it ran: its operators (stages), its tasks as columns, its driver's time.

Both ways of looking at Spark, the event log and the running application, lead to this value; from here on nobody
knows which it was. Times are in milliseconds, as Spark reports them.
"""

from collections.abc import Mapping
from functools import cached_property

import msgspec
import numpy as np
import numpy.typing as npt

from headgate.model.columns import Floats, Ints, read_only
from headgate.model.dataflow import Dataflow
from headgate.model.observation import Counters, Observation


class NodeOutput(msgspec.Struct, frozen=True, gc=False):
    """Rows that one plan node inside an operator put out: what shuffle records do not show."""

    node: str
    rows: int


class SourceRead(msgspec.Struct, frozen=True, gc=False):
    """What a batch took from one source. Offsets are each source's own affair: text, empty where there is none."""

    description: str
    start: str
    end: str
    latest: str
    """What was there to take when the batch began; beyond `end` where a limit held the batch back."""
    rows: int
    rows_per_second: float
    """Rows that came in for each second since the batch before; NaN where Spark could not tell."""


class KeptState(msgspec.Struct, frozen=True, gc=False):
    """What one stateful node of the plan keeps and what the batch spent on it, over all its partitions."""

    operator: str
    """The operator of the dataflow it belongs to; empty where no plan says."""
    kind: str
    """What Spark calls the node: stateStoreSave, symmetricHashJoin, dedupe, …"""
    rows: int
    bytes: int
    rows_updated: int
    rows_removed: int
    partitions: int
    updating: int
    removing: int
    committing: int
    """Milliseconds, added up over tasks."""
    provider: Mapping[str, int]
    """The state store's own figures, by its own names."""
    stores: int = 0
    """State stores over all partitions: one each, but four for a join (values and counts, left and right)."""

    @property
    def stored_bytes(self) -> int:
        """What it takes up on disk where the store tells (RocksDB), else in memory.

        What Spark calls its memory is, of RocksDB, that of caches and buffers, whatever the size of the state.
        """
        return self.provider.get("rocksdbSstFileSize") or self.bytes


class Executor(msgspec.Struct, frozen=True, gc=False):
    """An executor that was there when the batch ended, and how many tasks it takes at a time."""

    id: str
    host: str
    slots: int


class Processors(msgspec.Struct, frozen=True, gc=False):
    """Of the one machine that all executors run on."""

    count: int
    busy: float
    """Seconds of processor time that it spent from the end of the batch before to the end of this one, without the
    driver's own: that of executors with all their threads, of Python workers, and of whatever else runs there."""


class Tasks(msgspec.Struct, frozen=True, eq=False, gc=False):
    """The tasks whose results counted, one row each; attempts that failed or came second are not among them."""

    operator: npt.NDArray[np.int32]
    """Position of its operator in the dataflow."""
    partition: Ints
    executor: tuple[str, ...]
    launched: Ints
    finished: Ints
    deserialising: Ints
    running: Ints
    serialising: Ints
    fetch_wait: Ints
    gc: Ints
    cpu_ns: Ints
    records_in: Ints
    records_out: Ints
    bytes_spilled: Ints

    @property
    def useful_seconds(self) -> Floats:
        """Time spent on records: deserialising, running and serialising, less waiting for the shuffle."""
        useful = self.deserialising + self.running + self.serialising - self.fetch_wait
        return _seconds(useful)

    @property
    def occupied_seconds(self) -> Floats:
        """Time the task held its slot."""
        return _seconds(self.finished - self.launched)


def _seconds(milliseconds: Ints) -> Floats:
    seconds: Floats = np.maximum(milliseconds, 0) / 1000.0
    return seconds


class MicroBatch(msgspec.Struct, frozen=True, eq=False, dict=True):
    """A batch that is over. Beside its fields it has room for what is worked out of it once (`once`)."""

    query: str
    """The query's id: the same after a restart."""
    run: str
    """The run's id: another after each restart."""
    name: str
    number: int
    began: int
    """When its trigger fired, in milliseconds since 1970."""
    duration: int
    phases: Mapping[str, int]
    """The driver's own account: addBatch, queryPlanning, walCommit, …"""
    input_rows: int
    dataflow: Dataflow
    """One operator a stage; as many instances as it had tasks."""
    stateful: frozenset[str]
    tasks: Tasks
    nodes: Mapping[str, tuple[NodeOutput, ...]]
    """Operator -> rows put out by its plan nodes, upstream first."""
    attempts_lost: int
    """Attempts that failed, were killed or came second: time that bought nothing."""
    sources: tuple[SourceRead, ...] = ()
    state: tuple[KeptState, ...] = ()
    executors: tuple[Executor, ...] = ()
    """In order of their ids; empty where the channel does not say."""
    reading: frozenset[str] = frozenset()
    """Operators that took records from a source of the stream. Not each operator without an input: a table that is
    joined with the stream has none either, and in a batch without data nobody reads."""
    writing: frozenset[str] = frozenset()
    """Operators that ended in the sink; with `foreachBatch`, one for each action."""
    emitted: int | None = None
    """Rows that the sink took; None where it does not say."""
    processors: Processors | None = None
    """Known only live, and only where all executors share a machine with the driver."""

    @cached_property
    def slots(self) -> int:
        """Tasks that could run at a time; 0 where it is not known."""
        return sum(executor.slots for executor in self.executors)

    def observation(self) -> Observation:
        """What DS2 would see: records and useful time per instance, over the time of the batch."""
        tasks = self.tasks
        wall = np.full(tasks.operator.size, self.duration / 1000)
        return Observation(
            self.dataflow,
            tasks.operator,
            tasks.partition,
            Counters(
                read_only(tasks.records_in.astype(np.float64)),
                read_only(tasks.records_out.astype(np.float64)),
                read_only(tasks.useful_seconds),
                read_only(tasks.fetch_wait / 1000),
                read_only(wall),
            ),
            self.began / 1000,
        )
