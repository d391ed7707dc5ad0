"""What became of a plan: whether it is over, and what it did beside what it should have done."""

import statistics

from msgspec.structs import replace

from headgate.control.actions import SetExecutors
from headgate.control.guards import evidence_needed, off_period, paused, warm_on_present_pool
from headgate.control.said import AsPredicted, DidNotHelp, OffPrediction, Said, Undone
from headgate.control.settings import Settings
from headgate.control.state import Plan, State, Useless
from headgate.control.step import Step
from headgate.model.arrivals import arrivals, lately
from headgate.model.bins import homes
from headgate.model.learned_capacity import capacity
from headgate.model.limits import Limit, TooFewSlots, limits
from headgate.model.microbatch import MicroBatch
from headgate.model.profile import profile

_JUDGED = 5
"""Batches by which a plan is judged, the last ones."""
_WORSE = 1.2
"""A plan that makes batches so many times as long has made things worse …"""
_MORE_PER_RECORD = 1.1
"""… if each record takes more time as well: in larger batches it takes less."""
_SHORTER = 0.03
"""A plan that makes batches shorter by less than this part has not helped …"""
_OF_WHAT_COULD_BE = 0.25
"""… or by less than this part of what it could: one executor more, where there are sixteen, is six per cent at best."""
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
        useless = _remembered(state, now, settings, Useless(now, plan.before, plan.executors))
        back = Plan(state.plans + 1, now, plan.executors, plan.before, None, measured, 0.0, records, undoes=True)
        state = replace(state, plan=back, plans=back.id, desired=plan.before, useless=useless, unjudged=None)
        undone = Undone(plan.id, plan.took_before, measured, plan.before)
        return Step(state, (SetExecutors(back.id, plan.before),), (undone,))
    said: tuple[Said, ...] = ()
    weighing = recent and _counts(plan) and not plan.weighed and len(state.executors or ()) == plan.executors
    if weighing and _warm(state, settings, least=_JUDGED):
        weighing, plan = False, replace(plan, weighed=True)
        before = plan.took_before * records / plan.records_before
        if _no_help(plan, before, measured, records):
            step = Useless(now, plan.before, plan.executors, "did not help", rate(state))
            state = replace(state, useless=_remembered(state, now, settings, step))
            said = (DidNotHelp(plan.id, before, measured, _what_limits(state)),)
    if plan.expected is None or not _alike(records, plan.records):
        # Nothing was predicted, or for batches of another size: those come once a backlog is worked off.
        return Step(replace(state, unjudged=plan if plan.expected is not None or weighing else None), (), said)
    kind = AsPredicted if abs(measured / plan.expected - 1) <= settings.tolerance else OffPrediction
    left = replace(plan, expected=None) if weighing else None
    return Step(replace(state, unjudged=left), (), (*said, kind(plan.id, plan.expected, measured)))


def _remembered(state: State, now: float, settings: Settings, step: Useless) -> tuple[Useless, ...]:
    """Steps that are of no use, this one among them, as far as that is still believed."""
    others = (one for one in state.useless if one.at > now - settings.believed)
    return (*(one for one in others if (one.before, one.executors) != (step.before, step.executors)), step)


def _what_limits(state: State) -> Limit:
    """What holds the longest batches back: executors do not."""
    longest = max(state.live.values(), key=lambda seen: statistics.median(one.duration for one in _last(seen)))
    found = limits(profile(longest), capacity(longest))
    return next((one.limit for one in found if not isinstance(one.limit, TooFewSlots)), found[0].limit)


def _counts(plan: Plan) -> bool:
    """More executors by the controller's own decision, and batches before it to compare with.

    One that a person wanted, that undoes another or that gets back who was lost is there for another reason.
    """
    own = not plan.undoes and not plan.told
    return own and plan.executors > plan.before and plan.took_before > 0 and plan.records_before > 0


def _made_worse(plan: Plan, measured: float, records: float) -> bool:
    """More executors, and yet longer batches, and not because there is more in them."""
    if not _counts(plan) or not records:
        return False
    per_record = (measured / records) / (plan.took_before / plan.records_before)
    return measured > _WORSE * plan.took_before and per_record > _MORE_PER_RECORD


def _no_help(plan: Plan, before: float, measured: float, records: float) -> bool:
    """As many records take next to no less than they took before.

    In larger batches a record costs less, whoever is there: if it does not, executors have not helped for sure. In
    smaller ones it costs more, and nothing can be said.
    """
    if records < (1 - _ALIKE) * plan.records_before:
        return False
    at_best = 1 - plan.before / plan.executors
    return measured > (1 - min(_SHORTER, _OF_WHAT_COULD_BE * at_best)) * before


def _warm(state: State, settings: Settings, least: int = 0) -> bool:
    """Whether there are enough warm batches on the executors that are there now, of every query that runs."""
    now = {executor.id for executor in state.executors or ()}
    plan = state.plan or state.unjudged
    since = plan.arrived if plan is not None and plan.arrived is not None else 0.0
    lately = [seen for query, seen in state.live.items() if state.heard.get(query, 0.0) >= since]
    return bool(lately) and all(
        warm_on_present_pool(seen) >= max(least, evidence_needed(seen, settings))
        and (not seen[-1].executors or now == {executor.id for executor in seen[-1].executors})
        for seen in lately
    )


def _state_at_rest(state: State, settings: Settings) -> bool:
    """Whether no bin has moved for as many batches as are looked at: a batch in which some were loaded says little."""
    return all(
        homes(one) == homes(seen[-1])
        for seen in state.live.values()
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
        (statistics.median(one.duration / 1000 for one in _last(seen)) for seen in state.live.values()), default=0.0
    )


def records_a_batch(state: State) -> float:
    """Records of such a batch, over all queries."""
    return sum(statistics.median(one.input_rows for one in _last(seen)) for seen in state.live.values())


def rate(state: State) -> float:
    """Records that come per second now, over all queries."""
    return sum(arrivals(lately(seen)).rate for seen in state.live.values())


def _last(seen: tuple[MicroBatch, ...]) -> tuple[MicroBatch, ...]:
    return seen[-min(_JUDGED, max(1, warm_on_present_pool(seen))) :]


def _alike(one: float, other: float) -> bool:
    return abs(one - other) <= _ALIKE * max(one, other)
