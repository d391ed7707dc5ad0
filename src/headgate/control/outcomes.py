"""What became of a plan: whether it is over, and what it did beside what it should have done."""

import statistics

from msgspec.structs import replace

from headgate.control.actions import SetExecutors
from headgate.control.guards import evidence_needed, off_period, paused, warm_on_present_pool
from headgate.control.said import AsPredicted, OffPrediction, Undone
from headgate.control.settings import Settings
from headgate.control.state import Plan, State, Useless
from headgate.control.step import Step
from headgate.model.bins import homes
from headgate.model.microbatch import MicroBatch

_JUDGED = 5
"""Batches by which a plan is judged, the last ones."""
_WORSE = 1.2
"""A plan that makes batches so many times as long has made things worse …"""
_MORE_PER_RECORD = 1.1
"""… if each record takes more time as well: in larger batches it takes less."""
_ALIKE = 0.15


def judge(state: State, now: float, settings: Settings) -> Step:
    """Once warm batches ran on what a plan gave it is over; what it did is said as soon as it can be compared."""
    plan = state.plan
    if plan is not None and plan.arrived is not None and _warm(state, settings) and _state_at_rest(state, settings):
        state = replace(state, plan=None, unjudged=plan, cool_until=now + settings.cool_down)
    plan = state.unjudged
    if plan is None or state.plan is not None or not _warm(state, settings):
        return Step(state)
    measured, records = took(state), records_a_batch(state)
    # Long after a plan, what batches take may have any reason.
    recent = plan.arrived is not None and now - plan.arrived <= settings.judging
    if recent and _made_worse(plan, measured, records) and may_act(state, now, settings):
        others = (one for one in state.useless if one.at > now - settings.believed)
        useless = (*others, Useless(now, plan.before, plan.executors))
        back = Plan(state.plans + 1, now, plan.executors, plan.before, None, measured, 0.0, records, undoes=True)
        state = replace(state, plan=back, plans=back.id, desired=plan.before, useless=useless, unjudged=None)
        undone = Undone(plan.id, plan.took_before, measured, plan.before)
        return Step(state, (SetExecutors(back.id, plan.before),), (undone,))
    if plan.expected is None or not _alike(records, plan.records):
        # Nothing was predicted, or for batches of another size: those come once a backlog is worked off.
        return Step(replace(state, unjudged=plan if plan.expected is not None else None))
    kind = AsPredicted if abs(measured / plan.expected - 1) <= settings.tolerance else OffPrediction
    return Step(replace(state, unjudged=None), (), (kind(plan.id, plan.expected, measured),))


def _made_worse(plan: Plan, measured: float, records: float) -> bool:
    """More executors, and yet longer batches, and not because there is more in them."""
    if plan.executors <= plan.before or plan.undoes or plan.told:
        return False
    if not plan.took_before or not plan.records_before or not records:
        return False
    per_record = (measured / records) / (plan.took_before / plan.records_before)
    return measured > _WORSE * plan.took_before and per_record > _MORE_PER_RECORD


def _warm(state: State, settings: Settings) -> bool:
    """Whether there are enough warm batches on the executors that are there now, of every query that runs."""
    now = {executor.id for executor in state.executors or ()}
    plan = state.plan or state.unjudged
    since = plan.arrived if plan is not None and plan.arrived is not None else 0.0
    lately = [seen for query, seen in state.batches.items() if state.heard.get(query, 0.0) >= since]
    return bool(lately) and all(
        warm_on_present_pool(seen) >= evidence_needed(seen, settings)
        and (not seen[-1].executors or now == {executor.id for executor in seen[-1].executors})
        for seen in lately
    )


def _state_at_rest(state: State, settings: Settings) -> bool:
    """Whether no bin has moved for as many batches as are looked at: a batch in which some were loaded says little."""
    return all(
        homes(one) == homes(seen[-1])
        for seen in state.batches.values()
        if seen[-1].stateful
        for one in seen[-settings.evidence :]
        if one.stateful
    )


def may_act(state: State, now: float, settings: Settings) -> bool:
    """Whether anything may be done that nobody has said just now."""
    held = paused(state, now, settings) or off_period(state, now, settings)
    return held is None and settings.mode == "act"


def took(state: State) -> float:
    """The longest of the queries' median batch times, lately and on the executors that are there now."""
    return max(
        (statistics.median(one.duration / 1000 for one in _last(seen)) for seen in state.batches.values()), default=0.0
    )


def records_a_batch(state: State) -> float:
    """Records of such a batch, over all queries."""
    return sum(statistics.median(one.input_rows for one in _last(seen)) for seen in state.batches.values())


def _last(seen: tuple[MicroBatch, ...]) -> tuple[MicroBatch, ...]:
    return seen[-min(_JUDGED, max(1, warm_on_present_pool(seen))) :]


def _alike(one: float, other: float) -> bool:
    return abs(one - other) <= _ALIKE * max(one, other)
