"""What a probe could not see: small typed values, each a sentence when printed."""

from typing import TypeAlias

import msgspec


class _Note(msgspec.Struct, frozen=True, tag_field="kind"):
    """Common shape: a tag in JSON, and `str()` for one sentence."""


class BatchLeftOut(_Note, frozen=True, tag="batch-left-out"):
    """A batch that ran and is not among those given: in part it would be worse than not at all."""

    query: str
    number: int
    problem: str

    def __str__(self) -> str:
        return f"batch {self.number} of query {self.query} is left out: {self.problem}"


class PlanUnknown(_Note, frozen=True, tag="plan-unknown"):
    """A batch whose operators have no names of their own, because Spark has forgotten its plan."""

    query: str
    number: int

    def __str__(self) -> str:
        return (
            f"batch {self.number} of query {self.query}: Spark no longer has its plan, so operators are named by their "
            "order; raise spark.sql.ui.retainedExecutions"
        )


class RowsLost(_Note, frozen=True, tag="rows-lost"):
    """A batch of which Spark's status store has lost the row counts of plan nodes.

    When a SQL execution ends, Spark lets go of what it gathered for stages that no other one needs; of one that begins
    in that very moment it lets go as well. All else is there, and in the event log these counts are, too.
    """

    query: str
    number: int

    def __str__(self) -> str:
        return (
            f"batch {self.number} of query {self.query}: Spark has lost the rows that nodes of its plan put out; the "
            "fan-out inside an operator is not known for it"
        )


class JobsOfAnotherGroup(_Note, frozen=True, tag="jobs-of-another-group"):
    """A batch whose jobs carry a job group that the user set: nothing says then whose they are."""

    query: str
    number: int
    group: str

    def __str__(self) -> str:
        return (
            f"batch {self.number} of query {self.query} is left out: its jobs have the group {self.group} instead of "
            "the run's; set no job group inside foreachBatch"
        )


class ReportsDropped(_Note, frozen=True, tag="reports-dropped"):
    """Reports that came faster than batches could be read: only so many wait."""

    count: int

    def __str__(self) -> str:
        reports = "1 report was" if self.count == 1 else f"{self.count:,} reports were"
        return f"{reports} dropped, the oldest first, because batches came faster than the probe could read them"


class BatchesNotTaken(_Note, frozen=True, tag="batches-not-taken"):
    """Batches that nobody asked for in time: only so many are kept."""

    count: int

    def __str__(self) -> str:
        return f"{self.count:,} batches were given up, the oldest first, because nobody took them"


class ReportUnreadable(_Note, frozen=True, tag="report-unreadable"):
    """Something in Spark's answer was not as known; the batch is lost, the query is not touched."""

    problem: str

    def __str__(self) -> str:
        return f"a report could not be read: {self.problem}"


Note: TypeAlias = (
    BatchLeftOut | PlanUnknown | RowsLost | JobsOfAnotherGroup | ReportsDropped | BatchesNotTaken | ReportUnreadable
)
