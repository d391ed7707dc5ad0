"""Events of SQL executions: the physical plan a batch runs, and which accumulators its nodes count with.

Adaptive execution replaces the plan while it runs; the last one said is the one that ran.

A streaming query says each plan twice, for the execution of the batch and for the one inside it that does the work. It
is decoded once: see `ExecutionStarts`.
"""

import msgspec
from msgspec import Raw, field
from msgspec.structs import force_setattr


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
    plan: PlanNode | None = field(name="sparkPlanInfo", default=None)
    time: int = 0


class SQLAdaptiveExecutionUpdate(msgspec.Struct, frozen=True, gc=False, rename="camel"):
    """Adaptive execution changed the plan."""

    execution_id: int
    plan: PlanNode | None = field(name="sparkPlanInfo", default=None)


class SQLExecutionEnd(msgspec.Struct, frozen=True, gc=False, rename="camel"):
    """A query is over; an empty error message is Spark's way to say that it went well."""

    execution_id: int
    time: int = 0
    error_message: str | None = None


class DriverAccumUpdates(msgspec.Struct, frozen=True, gc=False, rename="camel"):
    """Figures counted on the driver instead of in tasks: pairs of accumulator id and value."""

    execution_id: int
    updates: tuple[tuple[int, int], ...] = field(name="accumUpdates", default=())


# Where Spark puts the plan. Unescaped quotes cannot stand inside a JSON string, so these are keys for sure.
_BEFORE = b'"sparkPlanInfo":'
_AFTER = b',"time":'
_EXECUTION_START = msgspec.json.Decoder(SQLExecutionStart)
_PLAN = msgspec.json.Decoder(PlanNode)


class ExecutionStarts:
    """Decodes the starts of executions, and a plan that is the same text as the one before not again."""

    def __init__(self) -> None:
        self._text = b""
        self._plan = PlanNode()

    def __call__(self, data: bytes, start: int, end: int) -> SQLExecutionStart:
        """The event in these bytes.

        >>> line = b'{"executionId":4,"sparkPlanInfo":{"nodeName":"Project"},"time":7}'
        >>> decode = ExecutionStarts()
        >>> first, second = decode(line, 0, len(line)), decode(line.replace(b"4", b"5"), 0, len(line))
        >>> second.execution_id, second.plan.node_name, second.plan is first.plan
        (5, 'Project', True)
        """
        opening = data.find(_BEFORE, start, end) + len(_BEFORE)
        closing = data.rfind(_AFTER, opening, end) if opening >= len(_BEFORE) else -1
        if closing < 0:
            return _EXECUTION_START.decode(data[start:end])
        try:
            event = _EXECUTION_START.decode(data[start:opening] + b"{}" + data[closing:end])
            plan = self._decoded(data[opening:closing])
        except msgspec.MsgspecError:
            return _EXECUTION_START.decode(data[start:end])
        if event.plan is None:  # the key is that of something else: the plan's own would have got the empty node
            return _EXECUTION_START.decode(data[start:end])
        force_setattr(event, "plan", plan)
        return event

    def _decoded(self, text: bytes) -> PlanNode:
        if text != self._text:
            self._plan, self._text = _PLAN.decode(text), text
        return self._plan
