"""Events of jobs and their stages. A micro-batch is one job or several; its batch id is in the job's properties.

Which part of the plan a stage carries out is known by what its tasks count, so its RDDs are skipped unread.
"""

import msgspec
from msgspec import Raw, field
from msgspec.structs import force_setattr


class StagePlan(msgspec.Struct, frozen=True, gc=False):
    """A stage as its job intends it; it never runs if its output is still there (a skipped stage)."""

    id: int = field(name="Stage ID")
    attempt: int = field(name="Stage Attempt ID", default=0)
    name: str = field(name="Stage Name", default="")
    tasks: int = field(name="Number of Tasks", default=0)
    parents: tuple[int, ...] = field(name="Parent IDs", default=())


class JobProperties(msgspec.Struct, frozen=True, gc=False):
    """The few of a job's properties that say whose job it is."""

    query_id: str | None = field(name="sql.streaming.queryId", default=None)
    batch_id: str | None = field(name="streaming.sql.batchId", default=None)
    execution_id: str | None = field(name="spark.sql.execution.id", default=None)
    root_execution_id: str | None = field(name="spark.sql.execution.root.id", default=None)
    group_id: str | None = field(name="spark.jobGroup.id", default=None)
    description: str | None = field(name="spark.job.description", default=None)


class JobStart(msgspec.Struct, frozen=True, gc=False):
    """A job was handed to the scheduler."""

    id: int = field(name="Job ID")
    submission_time: int = field(name="Submission Time", default=0)
    stage_ids: tuple[int, ...] = field(name="Stage IDs", default=())
    stages: tuple[StagePlan, ...] = field(name="Stage Infos", default=())
    properties: JobProperties | None = field(name="Properties", default=None)


class JobResult(msgspec.Struct, frozen=True, gc=False):
    """`JobSucceeded` or `JobFailed`."""

    kind: str = field(name="Result", default="")


class JobEnd(msgspec.Struct, frozen=True, gc=False):
    """A job is over, well or not."""

    id: int = field(name="Job ID")
    time: int = field(name="Completion Time", default=0)
    result: JobResult = field(name="Job Result", default=JobResult())


class StageRun(msgspec.Struct, frozen=True, gc=False):
    """One attempt of a stage as it ran; what is not known yet, or never came, is None."""

    id: int = field(name="Stage ID")
    attempt: int = field(name="Stage Attempt ID", default=0)
    tasks: int = field(name="Number of Tasks", default=0)
    parents: tuple[int, ...] = field(name="Parent IDs", default=())
    submission_time: int | None = field(name="Submission Time", default=None)
    completion_time: int | None = field(name="Completion Time", default=None)
    failure_reason: str | None = field(name="Failure Reason", default=None)
    accumulables: Raw = field(name="Accumulables", default=Raw())
    """What its tasks counted, in total."""


class StageSubmitted(msgspec.Struct, frozen=True, gc=False):
    """The tasks of a stage may run from now on."""

    stage: StageRun = field(name="Stage Info")


class StageCompleted(msgspec.Struct, frozen=True, gc=False):
    """A stage is over; with a failure reason if it failed."""

    stage: StageRun = field(name="Stage Info")


# Where Spark puts the RDDs of a stage, half of its event: behind the number of its tasks, before its parents. Unescaped
# quotes cannot stand inside a JSON string, so these are keys for sure; an RDD's own parents follow a text, not a list.
_RDDS = b',"RDD Info":['
_AFTER_RDDS = b'}],"Parent IDs":['
_ACCUMULABLES = b',"Accumulables":['
_AFTER_ACCUMULABLES = b'}],"Resource Profile Id":'
_STAGE_COMPLETED = msgspec.json.Decoder(StageCompleted)


def decode_stage_completed(data: bytes, start: int, end: int) -> StageCompleted:
    """The event in these bytes. What takes up most of it is cut out unread: that is three times as fast.

    What is cut out is therefore not known to be JSON: whoever looks something up in it finds it or does not.

    >>> line = b'{"Stage Info":{"Stage ID":4,"Number of Tasks":2,"RDD Info":[{"RDD ID":1}],"Parent IDs":[3],'
    >>> line += b'"Completion Time":7,"Accumulables":[{"ID":1}],"Resource Profile Id":0}}'
    >>> stage = decode_stage_completed(line, 0, len(line)).stage
    >>> stage.parents, bytes(stage.accumulables)
    ((3,), b'[{"ID":1}]')
    """
    cut = _without_rdds_and_accumulables(data, start, end)
    return _STAGE_COMPLETED.decode(data[start:end]) if cut is None else cut


def _without_rdds_and_accumulables(data: bytes, start: int, end: int) -> StageCompleted | None:
    """The event, if all stands where Spark puts it.

    That is looked for from behind, by brackets: to look for a single byte is by far the fastest, and among accumulables
    there is no other.
    """
    opening = data.rfind(b"[", start, end) + 1 - len(_ACCUMULABLES)
    after_rdds = data.rfind(b"[", start, opening) + 1 - len(_AFTER_RDDS) if opening > start else -1
    rdds = data.find(_RDDS, start, after_rdds) if after_rdds > start else -1
    closing = data.rfind(_AFTER_ACCUMULABLES, opening, end) if rdds >= 0 else -1
    if closing < 0 or not data.startswith(_ACCUMULABLES, opening) or not data.startswith(_AFTER_RDDS, after_rdds):
        return None
    rdds, after_rdds = rdds + len(_RDDS), after_rdds + 1
    opening, closing = opening + len(_ACCUMULABLES), closing + 1
    try:
        event = _STAGE_COMPLETED.decode(data[start:rdds] + data[after_rdds:opening] + data[closing:end])
    except msgspec.MsgspecError:
        return None
    stage = event.stage
    # Something that is asked for may stand among what was cut out, if another program wrote it.
    if bytes(stage.accumulables) != b"[]" or not stage.tasks or stage.completion_time is None:
        return None
    force_setattr(stage, "accumulables", Raw(memoryview(data)[opening - 1 : closing + 1]))
    return event
