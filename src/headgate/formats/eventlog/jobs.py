"""Events of jobs and their stages. A micro-batch is one job or several; its batch id is in the job's properties.

Which part of the plan a stage carries out is known by what its tasks count, so its RDDs are skipped unread.
"""

import msgspec
from msgspec import Raw, field


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
