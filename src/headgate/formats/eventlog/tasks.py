"""The event that makes up most of a log: a task that ended, with what it measured, as far as somebody asks for it.

Four fifths of such a line are accumulables, which nobody needs all of. They are cut out before the line is decoded, and
stay where they are until `accumulables.updated_accumulators` asks which there are. A `TaskEnd` therefore keeps all of
the piece of the log that it was read with: take from it what is needed and let it go.

Milliseconds, but for fields that say `_ns`; bytes.
"""

import msgspec
from msgspec import Raw, field
from msgspec.structs import force_setattr


class TaskEndReason(msgspec.Struct, frozen=True, gc=False):
    """`Success`, or what went wrong: `ExceptionFailure`, `TaskKilled`, `FetchFailed`, `ExecutorLostFailure`, …."""

    kind: str = field(name="Reason", default="")


class TaskInfo(msgspec.Struct, frozen=True, gc=False):
    """Which task, where and when. `partition` is absent (-1) only in logs older than those we know."""

    id: int = field(name="Task ID")
    index: int = field(name="Index", default=0)
    partition: int = field(name="Partition ID", default=-1)
    launch_time: int = field(name="Launch Time", default=0)
    finish_time: int = field(name="Finish Time", default=0)
    executor: str = field(name="Executor ID", default="")
    accumulables: Raw = field(name="Accumulables", default=Raw())


class ShuffleRead(msgspec.Struct, frozen=True, gc=False):
    """What came in through a shuffle."""

    fetch_wait_time: int = field(name="Fetch Wait Time", default=0)
    records: int = field(name="Total Records Read", default=0)


class ShuffleWrite(msgspec.Struct, frozen=True, gc=False):
    """What went out through a shuffle."""

    records: int = field(name="Shuffle Records Written", default=0)


class Input(msgspec.Struct, frozen=True, gc=False):
    """What came in from a source."""

    records: int = field(name="Records Read", default=0)


class Output(msgspec.Struct, frozen=True, gc=False):
    """What went out to a sink that counts it."""

    records: int = field(name="Records Written", default=0)


class TaskMetrics(msgspec.Struct, frozen=True, gc=False):
    """What a task measured of itself. `run_time` includes the time in Python workers, `cpu_time_ns` does not."""

    deserialize_time: int = field(name="Executor Deserialize Time", default=0)
    deserialize_cpu_time_ns: int = field(name="Executor Deserialize CPU Time", default=0)
    run_time: int = field(name="Executor Run Time", default=0)
    cpu_time_ns: int = field(name="Executor CPU Time", default=0)
    gc_time: int = field(name="JVM GC Time", default=0)
    result_serialization_time: int = field(name="Result Serialization Time", default=0)
    memory_bytes_spilled: int = field(name="Memory Bytes Spilled", default=0)
    disk_bytes_spilled: int = field(name="Disk Bytes Spilled", default=0)
    shuffle_read: ShuffleRead = field(name="Shuffle Read Metrics", default=ShuffleRead())
    shuffle_write: ShuffleWrite = field(name="Shuffle Write Metrics", default=ShuffleWrite())
    input: Input = field(name="Input Metrics", default=Input())
    output: Output = field(name="Output Metrics", default=Output())


class TaskEnd(msgspec.Struct, frozen=True, gc=False):
    """One attempt of a task is over. A task that never got to run has no metrics."""

    stage_id: int = field(name="Stage ID")
    info: TaskInfo = field(name="Task Info")
    reason: TaskEndReason = field(name="Task End Reason", default=TaskEndReason())
    metrics: TaskMetrics | None = field(name="Task Metrics", default=None)


# Where Spark puts the accumulables: last in what it says of the task, and behind them figures of the executor, which
# nobody asks for. Unescaped quotes cannot stand inside a JSON string, so these are keys for sure.
_ACCUMULABLES = b',"Accumulables":['
_OF_EXECUTOR = b']},"Task Executor Metrics":{'
_METRICS = b'},"Task Metrics":{'
_LIST = len(_ACCUMULABLES) - 1
_decode = msgspec.json.Decoder(TaskEnd).decode


def decode_task_end(data: bytes, start: int, end: int) -> TaskEnd:
    """The event in these bytes. What is not read now is cut out, which takes half the time of passing over it.

    >>> line = b'{"Stage ID":4,"Task End Reason":{"Reason":"Success"},'
    >>> line += b'"Task Info":{"Task ID":7,"Accumulables":[{"ID":1}]},"Task Executor Metrics":{},'
    >>> line += b'"Task Metrics":{"Executor Run Time":9}}'
    >>> task = decode_task_end(line, 0, len(line))
    >>> task.info.id, bytes(task.info.accumulables), task.metrics.run_time
    (7, b'[{"ID":1}]', 9)
    """
    opening = data.find(_ACCUMULABLES, start, end)
    # Looking for a single byte is by far the fastest, and most lists of accumulables have no other inside.
    closing = data.find(b"]", opening + len(_ACCUMULABLES), end)
    if not data.startswith(_OF_EXECUTOR, closing):
        closing = data.rfind(_OF_EXECUTOR, opening, end)
    metrics = data.find(b"}", closing + len(_OF_EXECUTOR), end)
    if opening < 0 or closing < 0 or not data.startswith(_METRICS, metrics):
        return _decode(data[start:end])
    try:
        task = _decode(data[start:opening] + data[metrics:end])
    except msgspec.MsgspecError:
        return _decode(data[start:end])
    # Something that is asked for may stand among what was cut out, if another program wrote it.
    if task.metrics is None or not task.reason.kind:
        return _decode(data[start:end])
    force_setattr(task.info, "accumulables", Raw(memoryview(data)[opening + _LIST : closing + 1]))
    return task
