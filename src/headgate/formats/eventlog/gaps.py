"""What is missing from the batches of an event log, and which runs failed: typed values, each a sentence when printed.

A log that lacks events still gives an answer, as far as it goes; these say what that answer is not based on. They are
about batches; `notes.py` is about lines and files.
"""

from typing import TypeAlias

import msgspec


class _Gap(msgspec.Struct, frozen=True, tag_field="kind"):
    """Common shape: a tag in JSON, how many, and `str()` for one sentence."""

    count: int


class BatchesUnreported(_Gap, frozen=True, tag="batches-unreported"):
    """Batches that ran jobs, and whose query said nothing about them."""

    def __str__(self) -> str:
        has, is_ = ("has", "is") if self.count == 1 else ("have", "are")
        why = "failed, or under way when the log ended, or its report is lost"
        return f"{_many(self.count, 'batch')} {has} no report ({why}) and {is_} left out"


class BatchesWithoutTasks(_Gap, frozen=True, tag="batches-without-tasks"):
    """Reports of batches that took records, of which no task is known."""

    def __str__(self) -> str:
        return f"no task in the log for {_many(self.count, 'batch')} with records: left out"


class BatchesIncomplete(_Gap, frozen=True, tag="batches-incomplete"):
    """Batches while which tasks ran of stages that no job in the log has planned."""

    def __str__(self) -> str:
        return f"the start of a job is missing in {_many(self.count, 'batch')}, and with it what it did: left out"


class BatchesImplausible(_Gap, frozen=True, tag="batches-implausible"):
    """Reports with figures below zero or beyond belief."""

    def __str__(self) -> str:
        return f"the report of {_many(self.count, 'batch')} has no time, or figures below 0 or above 2^53: left out"


class TasksImplausible(_Gap, frozen=True, tag="tasks-implausible"):
    """Tasks with figures below zero or beyond belief."""

    def __str__(self) -> str:
        return f"no times, or figures below 0 or above 2^53, in {_many(self.count, 'task')}: left out"


class FiguresImplausible(_Gap, frozen=True, tag="figures-implausible"):
    """Cores of executors, rows of plan nodes and figures of state that cannot be."""

    def __str__(self) -> str:
        return f"{_many(self.count, 'figure')} of executors, plan nodes or state cannot be true: taken as unknown"


class TasksMissing(_Gap, frozen=True, tag="tasks-missing"):
    """Stages of which some tasks are known, and others never ended as far as the log says."""

    stages: int

    def __str__(self) -> str:
        return f"no end of {_many(self.count, 'task')} in {_many(self.stages, 'stage')}: what they did is missing"


class StagesUnnamed(_Gap, frozen=True, tag="stages-unnamed"):
    """Stages that no fragment of a plan could be found for."""

    def __str__(self) -> str:
        they = "it is named by its" if self.count == 1 else "they are named by their"
        return f"no plan for {_many(self.count, 'stage')}: {they} place in the batch"


class RowsUnknown(_Gap, frozen=True, tag="rows-unknown"):
    """Stages whose end is missing, and with it the rows that their plan nodes put out."""

    def __str__(self) -> str:
        return f"no end of {_many(self.count, 'stage')}: rows inside, and so the fan-out, are missing"


class RunsFailed(_Gap, frozen=True, tag="runs-failed"):
    """Runs of queries that ended with an error."""

    last: str
    """What the last one said."""

    def __str__(self) -> str:
        return (
            f"{_many(self.count, 'run')} of a query failed{'' if self.count == 1 else ', the last with'}: {self.last}"
        )


def _many(count: int, what: str) -> str:
    """A number and its noun.

    >>> _many(1, "batch"), _many(2000, "batch")
    ('1 batch', '2,000 batches')
    """
    return f"1 {what}" if count == 1 else f"{count:,} {what}{'es' if what.endswith('ch') else 's'}"


Gap: TypeAlias = (
    BatchesUnreported
    | BatchesWithoutTasks
    | BatchesIncomplete
    | BatchesImplausible
    | TasksImplausible
    | FiguresImplausible
    | TasksMissing
    | StagesUnnamed
    | RowsUnknown
    | RunsFailed
)
