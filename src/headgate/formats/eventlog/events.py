"""All events Headgate reads, by the name Spark gives them, and a decoder for each.

A decoder builds the fields of its type and skips all others without building anything. Every field that some Spark
from 3.5 to 4.3 may leave out has a default; only what identifies an event is required.
"""

from collections.abc import Callable, Iterable
from typing import TypeAlias

import msgspec

from headgate.formats.eventlog.application import (
    ApplicationEnd,
    ApplicationStart,
    EnvironmentUpdate,
    ExecutorAdded,
    ExecutorRemoved,
    LogStart,
)
from headgate.formats.eventlog.jobs import (
    JobEnd,
    JobStart,
    StageCompleted,
    StageSubmitted,
    decode_stage_completed,
)
from headgate.formats.eventlog.sql import (
    DriverAccumUpdates,
    SQLAdaptiveExecutionUpdate,
    SQLExecutionEnd,
    SQLExecutionStart,
    decode_execution_start,
)
from headgate.formats.eventlog.streaming import QueryIdle, QueryProgress, QueryStarted, QueryTerminated
from headgate.formats.eventlog.tasks import TaskEnd, decode_task_end

Event: TypeAlias = (
    LogStart
    | EnvironmentUpdate
    | ApplicationStart
    | ApplicationEnd
    | ExecutorAdded
    | ExecutorRemoved
    | JobStart
    | JobEnd
    | StageSubmitted
    | StageCompleted
    | TaskEnd
    | SQLExecutionStart
    | SQLAdaptiveExecutionUpdate
    | SQLExecutionEnd
    | DriverAccumUpdates
    | QueryStarted
    | QueryProgress
    | QueryIdle
    | QueryTerminated
)

_CORE = "SparkListener"
_SQL = "org.apache.spark.sql.execution.ui.SparkListener"
_STREAMING = "org.apache.spark.sql.streaming.StreamingQueryListener$"

EVENT_NAMES: dict[type[Event], str] = {
    LogStart: f"{_CORE}LogStart",
    EnvironmentUpdate: f"{_CORE}EnvironmentUpdate",
    ApplicationStart: f"{_CORE}ApplicationStart",
    ApplicationEnd: f"{_CORE}ApplicationEnd",
    ExecutorAdded: f"{_CORE}ExecutorAdded",
    ExecutorRemoved: f"{_CORE}ExecutorRemoved",
    JobStart: f"{_CORE}JobStart",
    JobEnd: f"{_CORE}JobEnd",
    StageSubmitted: f"{_CORE}StageSubmitted",
    StageCompleted: f"{_CORE}StageCompleted",
    TaskEnd: f"{_CORE}TaskEnd",
    SQLExecutionStart: f"{_SQL}SQLExecutionStart",
    SQLAdaptiveExecutionUpdate: f"{_SQL}SQLAdaptiveExecutionUpdate",
    SQLExecutionEnd: f"{_SQL}SQLExecutionEnd",
    DriverAccumUpdates: f"{_SQL}DriverAccumUpdates",
    QueryStarted: f"{_STREAMING}QueryStartedEvent",
    QueryProgress: f"{_STREAMING}QueryProgressEvent",
    QueryIdle: f"{_STREAMING}QueryIdleEvent",
    QueryTerminated: f"{_STREAMING}QueryTerminatedEvent",
}
"""What Spark calls each event in the log."""

EVERY_EVENT: frozenset[type[Event]] = frozenset(EVENT_NAMES)

# Java writes a rate that is no number as the text "NaN" or "Infinity": these are taken for the numbers they mean.
_LAX: frozenset[type[Event]] = frozenset({QueryProgress})


Decode: TypeAlias = Callable[[bytes, int, int], Event]
"""Bytes, where the event begins in them and where it ends -> the event."""

# Events with a large part that nobody needs all of, which is cut out as bytes before the rest is decoded.
_CUT: dict[type[Event], Decode] = {
    TaskEnd: decode_task_end,
    StageCompleted: decode_stage_completed,
    SQLExecutionStart: decode_execution_start,
}


def decoders(wanted: Iterable[type[Event]]) -> dict[bytes, Decode]:
    """For each type, the name that stands in the log and what turns such a line into the event.

    >>> line = b'{"Event":"SparkListenerApplicationEnd","Timestamp":1794787824495,"ExitCode":0}'
    >>> decoders({ApplicationEnd})[b"SparkListenerApplicationEnd"](line, 0, len(line))
    ApplicationEnd(timestamp=1794787824495)
    """
    return {EVENT_NAMES[kind].encode(): _decoder(kind) for kind in wanted}


def _decoder(kind: type[Event]) -> Decode:
    if kind in _CUT:
        return _CUT[kind]
    decode = msgspec.json.Decoder(kind, strict=kind not in _LAX).decode
    return lambda data, start, end: decode(data[start:end])
