"""Events of SQL executions: the physical plan a batch runs, and which accumulators its nodes count with.

Adaptive execution replaces the plan while it runs; the last one said is the one that ran.

A streaming query says each plan twice, for the execution of the batch and for the one inside it that does the work, and
nearly the same in every batch. So a plan stays the bytes of its JSON until somebody asks with `read_plan`.
"""

import msgspec
from msgspec import Raw, field


class PlanMetric(msgspec.Struct, frozen=True, gc=False, rename="camel"):
    """A figure a plan node counts; tasks report it under the accumulator's id."""

    name: str
    accumulator_id: int
    metric_type: str = ""


class PlanNode(msgspec.Struct, frozen=True, gc=False, rename="camel"):
    """A node of the physical plan; its children are its inputs."""

    node_name: str = ""
    simple_string: str = ""
    metrics: tuple[PlanMetric, ...] = ()
    children: tuple["PlanNode", ...] = ()


class SQLExecutionStart(msgspec.Struct, frozen=True, gc=False, rename="camel"):
    """A query, or one batch of a streaming query, begins.

    The description of the plan is kept as the bytes of its JSON string, for the few who want to read it.
    """

    execution_id: int
    root_execution_id: int | None = None
    description: str | None = None
    physical_plan_description: Raw = Raw()
    plan: Raw = field(name="sparkPlanInfo", default=Raw())
    time: int = 0


class SQLAdaptiveExecutionUpdate(msgspec.Struct, frozen=True, gc=False, rename="camel"):
    """Adaptive execution changed the plan."""

    execution_id: int
    plan: Raw = field(name="sparkPlanInfo", default=Raw())


class SQLExecutionEnd(msgspec.Struct, frozen=True, gc=False, rename="camel"):
    """A query is over; an empty error message is Spark's way to say that it went well."""

    execution_id: int
    time: int = 0
    error_message: str | None = None


class DriverAccumUpdates(msgspec.Struct, frozen=True, gc=False, rename="camel"):
    """Figures counted on the driver instead of in tasks: pairs of accumulator id and value."""

    execution_id: int
    updates: tuple[tuple[int, int], ...] = field(name="accumUpdates", default=())


_PLAN = msgspec.json.Decoder(PlanNode | None)


def read_plan(plan: Raw) -> PlanNode | None:
    """The plan in these bytes; None where there is none, or what is there is no plan.

    >>> read_plan(Raw(b'{"nodeName":"Project","children":[]}')).node_name, read_plan(Raw(b'["?"]')), read_plan(Raw())
    ('Project', None, None)
    """
    try:
        return _PLAN.decode(plan) if bytes(plan) else None
    except (msgspec.MsgspecError, ValueError, RecursionError):
        return None
