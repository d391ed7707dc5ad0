"""Events of SQL executions: the physical plan a batch runs, and which accumulators its nodes count with.

Adaptive execution replaces the plan while it runs; the last one said is the one that ran.

A streaming query says each plan twice, for the execution of the batch and for the one inside it that does the work, and
nearly the same in every batch. So a plan stays the bytes of its JSON until somebody asks with `read_plan`.
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


# Where Spark puts the plan, and in front of it two long texts: where in the program the query began, and the plan to be
# read by people. Unescaped quotes cannot stand inside a JSON string, so these are keys for sure.
_DETAILS = b',"details":"'
_AFTER_DETAILS = b'","physicalPlanDescription":"'
_AFTER_DESCRIPTION = b'","sparkPlanInfo":'
_BEFORE = b'"sparkPlanInfo":'
_AFTER = b',"time":'
_EMPTY = b',"physicalPlanDescription":"","sparkPlanInfo":{}'
_EXECUTION_START = msgspec.json.Decoder(SQLExecutionStart)


def decode_execution_start(data: bytes, start: int, end: int) -> SQLExecutionStart:
    """The event in these bytes. The plan, three quarters of them, is cut out: to pass over it halves the speed.

    >>> line = b'{"executionId":4,"sparkPlanInfo":{"nodeName":"Project"},"time":7}'
    >>> bytes(decode_execution_start(line, 0, len(line)).plan)
    b'{"nodeName":"Project"}'
    """
    return (
        _without_texts_and_plan(data, start, end)
        or _without_plan(data, start, end)
        or _EXECUTION_START.decode(data[start:end])
    )


def _without_texts_and_plan(data: bytes, start: int, end: int) -> SQLExecutionStart | None:
    """The event, if details, description and plan stand where Spark puts them, and no quote is in either text.

    Where each text ends is then where its first quote is, which is found much faster than read up to.
    """
    details = data.find(_DETAILS, start, end)
    described = data.find(b'"', details + len(_DETAILS), end)
    if details < 0 or not data.startswith(_AFTER_DETAILS, described):
        return None
    described += len(_AFTER_DETAILS)
    planned = data.find(b'"', described, end)
    time = data.rfind(_AFTER, planned, end)
    if time < 0 or not data.startswith(_AFTER_DESCRIPTION, planned):
        return None
    event = _cut(data[start:details] + _EMPTY + data[time:end])
    if event is not None:
        force_setattr(event, "physical_plan_description", Raw(memoryview(data)[described - 1 : planned + 1]))
        force_setattr(event, "plan", Raw(memoryview(data)[planned + len(_AFTER_DESCRIPTION) : time]))
    return event


def _without_plan(data: bytes, start: int, end: int) -> SQLExecutionStart | None:
    """The event, if the plan stands where Spark puts it."""
    opening = data.find(_BEFORE, start, end) + len(_BEFORE)
    closing = data.rfind(_AFTER, opening, end) if opening >= len(_BEFORE) else -1
    event = _cut(data[start:opening] + b"{}" + data[closing:end]) if closing >= 0 else None
    if event is not None:
        force_setattr(event, "plan", Raw(memoryview(data)[opening:closing]))
    return event


def _cut(text: bytes) -> SQLExecutionStart | None:
    """The event with an empty plan; None unless all but the plan is there, so that nothing else was cut out."""
    try:
        event = _EXECUTION_START.decode(text)
    except msgspec.MsgspecError:
        return None
    whole = (
        bytes(event.plan) == b"{}"
        and bytes(event.physical_plan_description) != b""
        and event.description is not None
        and event.root_execution_id is not None
    )
    return event if whole else None


class _WithPlan(msgspec.Struct, frozen=True, gc=False):
    plan: PlanNode | None = field(name="sparkPlanInfo", default=None)


_WITH_PLAN = msgspec.json.Decoder(_WithPlan)


def read_plan(plan: Raw) -> PlanNode | None:
    """The plan in these bytes; None where there is none, or what is there is no plan.

    It is read as a field, because other fields may follow: those that a Spark yet to come puts between plan and time.

    >>> read_plan(Raw(b'{"nodeName":"Project"},"new":1')).node_name, read_plan(Raw(b'["?"]')), read_plan(Raw())
    ('Project', None, None)
    """
    try:
        return _WITH_PLAN.decode(b"{%b%b}" % (_BEFORE, bytes(plan))).plan
    except (msgspec.MsgspecError, ValueError, RecursionError):
        return None
