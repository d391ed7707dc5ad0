"""One step of the controller: what happened, what is known after it, what is to be done, and why.

    step(state, event, settings, policy) -> Step(state, actions, said)

A plan goes through three stations: asked for (an action went out), arrived (the executors are there), judged (warm
batches on them were compared with the prediction). Only then is the next one thought of. What is desired, requested
and observed are three things: `state.desired`, the plan under way, `state.executors`.

Growing is quick: a need that holds for `agreeing` decisions is followed in one step. Shrinking is slow: to the highest
need of `down_stretch` seconds, and never to a number that was not enough at this rate before.
"""

import statistics
from collections.abc import Sequence
from typing import NamedTuple

from msgspec.structs import replace

from headgate.control.actions import Action, Restart, SetExecutors, SpreadBins
from headgate.control.events import ActionFailed, BatchSeen, ClusterSeen, Command, Event, Tick
from headgate.control.guards import (
    GUARDS,
    HOUR,
    evidence_needed,
    falling_behind,
    off_period,
    paused,
    stale,
    warm_on_present_pool,
)
from headgate.control.remembered import worth_remembering
from headgate.control.said import (
    Arrived,
    AsPredicted,
    Bounded,
    Failed,
    GoingOn,
    Held,
    Ignored,
    Lost,
    MovingState,
    NotHelping,
    OffPrediction,
    OtherBins,
    Planned,
    Proposed,
    Restarting,
    Said,
    Short,
    Stale,
    Steady,
    Undone,
    Unjudged,
)
from headgate.control.sane import problem_with
from headgate.control.settings import Settings
from headgate.control.state import Decided, Plan, State, TooFew, Useless
from headgate.model.arrivals import arrivals, lately
from headgate.model.bins import homes
from headgate.model.microbatch import MicroBatch
from headgate.model.objective import stricter
from headgate.policies.pool import Evidence, PoolAnswer, PoolPolicy

_RECENT = 3
_FAR_MORE = 1.25
_LEAVING = 10
"""So many times the usual patience, for executors that leave."""
_JUDGED = 5
"""Batches by which a plan is judged, the last ones."""
_ENOUGH = 2
"""So many batches to which records came at one rate say what the rate is."""
_WORSE = 1.2
"""A plan that makes batches so many times as long has made things worse …"""
_MORE_PER_RECORD = 1.1
"""… if each record takes more time as well: in larger batches it takes less."""


class Expected(NamedTuple):
    """What a policy expects after its answer was followed: the longest batch of all queries, and their records."""

    seconds: float
    records: float


def _expected(answers: Sequence[PoolAnswer]) -> Expected | None:
    seconds = [answer.expected.batch.value for answer in answers if answer.expected and answer.expected.batch]
    return Expected(max(seconds), sum(answer.records for answer in answers)) if seconds else None


class Step(NamedTuple):
    """The outcome of one event."""

    state: State
    actions: tuple[Action, ...] = ()
    said: tuple[Said, ...] = ()

    def then(self, more: "Step") -> "Step":
        """One after the other."""
        return Step(more.state, self.actions + more.actions, self.said + more.said)


def step(state: State, event: Event, settings: Settings, policy: PoolPolicy) -> Step:
    """Take one event in."""
    match event:
        case BatchSeen():
            return _batch_seen(state, event, settings, policy)
        case ClusterSeen():
            return _cluster_seen(state, event, settings)
        case Tick():
            return _tick(state, event.at, settings)
        case ActionFailed():
            return _failed(state, event, settings)
        case Command():
            return _command(state, event, settings)


# Events.


def _batch_seen(state: State, event: BatchSeen, settings: Settings, policy: PoolPolicy) -> Step:
    batch, before = event.batch, state.batches.get(event.batch.query, ())
    problem = problem_with(batch, before[-1] if before else None)
    if problem is not None:
        return _warn(state, Ignored(problem))
    kept = worth_remembering((*before, batch))
    changes = tuple(at for at in state.changes if at > event.at - HOUR)
    heard = {**state.heard, batch.query: event.at}
    heard = {query: at for query, at in heard.items() if at > event.at - settings.forgotten}
    known = {query: seen for query, seen in {**state.batches, batch.query: kept}.items() if query in heard}
    triggers = state.triggers if event.trigger is None else {**state.triggers, batch.query: event.trigger}
    state = replace(state, batches=known, triggers=triggers, heard=heard, warned=frozenset(), changes=changes)
    judged = _judge(state, event.at, settings)
    return judged.then(_consider(judged.state, event.at, settings, policy))


def _cluster_seen(state: State, event: ClusterSeen, settings: Settings) -> Step:
    state = replace(state, executors=event.executors)
    observed = len(event.executors)
    plan = state.plan
    if plan is not None and plan.arrived is None and observed == plan.executors:
        state = replace(state, plan=replace(plan, arrived=event.at))
        spread = tuple(SpreadBins(plan.id, query) for query, seen in state.batches.items() if seen[-1].stateful)
        return Step(state, spread, (Arrived(plan.id, event.at - plan.began),))
    if plan is None and state.desired is not None and observed < state.desired and event.at >= state.short_until:
        if not _may_act(state, event.at, settings):
            return Step(state)
        lost = Lost(state.desired, observed)
        again = Plan(state.plans + 1, event.at, observed, state.desired, None, 0.0, 0.0)
        state = replace(state, plan=again, plans=again.id)
        return Step(state, (SetExecutors(again.id, again.executors),), (lost,))
    return Step(state)


def _tick(state: State, now: float, settings: Settings) -> Step:
    plan = state.plan
    if plan is not None and plan.arrived is not None and now - plan.arrived > settings.judging:
        return Step(replace(state, plan=None, cool_until=now + settings.cool_down), (), (Unjudged(plan.id),))
    observed = len(state.executors or ())
    if plan is not None and plan.arrived is None and plan.executors < plan.before:
        # Nobody is short of executors that are to leave; they wait for the end of batches, however long those take.
        if now - plan.began > _LEAVING * settings.patience:
            state = replace(state, plan=None, desired=observed or plan.before, cool_until=now + settings.cool_down)
            return Step(state, (), (Failed(plan.id, "executors did not leave in time"),))
    elif plan is not None and plan.arrived is None and now - plan.began > settings.patience:
        # What is there is what there is: the plan is over, and no more is asked for until some time has passed.
        state = replace(
            state, plan=None, desired=observed or plan.executors, short_until=now + settings.ask_again,
            cool_until=now + settings.cool_down, asking_up=0, needs=(),
        )  # fmt: skip
        return Step(state, (SetExecutors(plan.id, observed),) if observed else (), (Short(plan.executors, observed),))
    silent = stale(state, now, settings)
    return _warn(state, silent) if isinstance(silent, Stale) else Step(state)


def _failed(state: State, event: ActionFailed, settings: Settings) -> Step:
    if state.plan is None or state.plan.id != event.plan:
        return Step(state, (), (Failed(event.plan, event.why),))
    state = replace(state, plan=None, desired=state.plan.before, cool_until=event.at + settings.cool_down)
    return Step(state, (), (Failed(event.plan, event.why),))


def _command(state: State, event: Command, settings: Settings) -> Step:  # noqa: PLR0911 - one for each word
    if event.word == "pause":
        return Step(replace(state, paused=True), (), (Held("paused"),))
    if event.word == "resume":
        return Step(replace(state, paused=False), (), (GoingOn(),))
    if state.plan is not None and state.plan.arrived is None:
        return Step(state, (), (Held(f"plan {state.plan.id} is under way; say it again when that is over"),))
    if event.word == "restart":
        restart = Restart(state.plans + 1, event.layout)
        return Step(replace(state, plans=restart.plan), (restart,), (Restarting(restart.plan, str(event.layout)),))
    if event.word == "move":
        return _move(state, event)
    wanted = state.proposal if event.word == "approve" else event.executors
    if wanted is None:
        return Step(state, (), (Held("there is nothing to approve"),))
    target = min(max(wanted, settings.least), settings.most)
    if target == len(state.executors or ()):
        return Step(state, (), (Steady(target),))
    return _begin(state, event.at, target, None, settings, told=True)


def _move(state: State, event: Command) -> Step:
    stateful = [query for query, seen in state.batches.items() if seen[-1].stateful]
    if not stateful:
        return Step(state, (), (Held("no query that keeps state was seen yet; there is nothing to move"),))
    if event.bins and len(stateful) > 1:
        return Step(state, (), (Held(f"{len(stateful)} queries keep state; which one's bins are meant is not clear"),))
    plan = state.plans + 1
    moves = tuple(SpreadBins(plan, query, event.strategy, event.bins) for query in stateful)
    return Step(replace(state, plans=plan), moves, (MovingState(plan, event.bins),))


# What is done.


def _consider(state: State, now: float, settings: Settings, policy: PoolPolicy) -> Step:
    for guard in GUARDS:
        objection = guard(state, now, settings)
        if objection is not None:
            return Step(state, (), (objection,))
    state, answers = _ask(state, now, settings, policy)
    there = len(state.executors or ())
    need = sum(answer.executors for answer in answers)
    target = min(max(need, settings.least), settings.most)
    said: list[Said] = [Bounded(need, target)] if target != need else []
    said.extend(NotHelping(answer.limit.limit) for answer in answers if answer.limit is not None)
    state, advised = _other_bins(state, answers)
    said.extend(advised)
    needs = (*_within(state.needs, now - settings.down_stretch), (now, target))
    if state.proposal != target:  # advice holds only while what it was derived from holds
        state = replace(state, proposal=None)
    state = replace(state, needs=needs, asking_up=state.asking_up + 1 if target > there else 0)
    expected = _expected(answers)
    if target > there:
        return Step(state, (), tuple(said)).then(_up(state, now, target, expected, settings))
    if target < there:
        return Step(state, (), tuple(said)).then(_down(state, now, target, expected, settings))
    return Step(replace(state, proposal=None), (), (*said, Steady(there)))


def _other_bins(state: State, answers: Sequence[PoolAnswer]) -> tuple[State, tuple[Said, ...]]:
    """Advice about bins, once for each number of them."""
    advice = tuple(answer.rewrite for answer in answers if answer.rewrite is not None)
    numbers = tuple(one.bins for one in advice)
    if numbers == state.bins_advised:
        return state, ()
    return replace(state, bins_advised=numbers), tuple(OtherBins(one) for one in advice)


def _within(needs: tuple[tuple[float, int], ...], since: float) -> tuple[tuple[float, int], ...]:
    """Those since then, and the last one before: that is how it was when the time began."""
    before = [one for one in needs if one[0] <= since]
    return (*before[-1:], *(one for one in needs if one[0] > since))


def _ask(state: State, now: float, settings: Settings, policy: PoolPolicy) -> tuple[State, tuple[PoolAnswer, ...]]:
    """One answer a query. While nothing has changed the last ones stand: asking is what costs most."""
    executors, load = state.executors or (), _load(state)
    last = state.last
    news = any(_unlike_those_before(seen) for seen in state.batches.values())
    if last is not None and last.executors == executors and not _long_ago(last.at, state, now, settings) and not news:
        alike = len(load) == len(last.load) and all(
            abs(one - other) <= settings.alike * max(other, 1e-9) for one, other in zip(load, last.load, strict=True)
        )
        if alike:
            return state, last.answers
    memory, answers = dict(state.memory), []
    each = max((executor.slots for executor in executors), default=0) or settings.slots_each
    for query, seen in state.batches.items():
        evidence = Evidence(seen, executors, each, state.triggers.get(query))
        remembered = memory.get(query, policy.start())
        memory[query], answer = policy.size(remembered, evidence, settings.objective, now)
        if answer.executors < len(executors):
            _, safe = policy.size(remembered, evidence, stricter(settings.objective, settings.down_margin), now)
            answer = safe if safe.executors <= len(executors) else replace(answer, executors=len(executors))
        answers.append(answer)
    decided = Decided(now, executors, load, tuple(answers))
    return replace(state, memory=memory, last=decided), decided.answers


def _long_ago(asked: float, state: State, now: float, settings: Settings) -> bool:
    """Whether it is time to ask again although nothing has changed: there are batches that were not there then."""
    batches = sum(one.began / 1000 >= asked for seen in state.batches.values() for one in seen[-_RECENT:])
    return now - asked >= settings.anew and batches >= _RECENT


def _unlike_those_before(seen: tuple[MicroBatch, ...]) -> bool:
    """Whether the last batch has far more records than the ones before it, or far fewer: the load may have changed."""
    usual = statistics.median(one.input_rows for one in seen[-_RECENT - 1 :])
    return not usual / _FAR_MORE <= seen[-1].input_rows <= usual * _FAR_MORE


def _load(state: State) -> tuple[float, ...]:
    """Records and seconds of a recent batch of each query."""
    return tuple(
        statistics.median(values)
        for seen in state.batches.values()
        for values in ([b.input_rows for b in seen[-_RECENT:]], [b.duration for b in seen[-_RECENT:]])
    )


def _up(state: State, now: float, target: int, expected: Expected | None, settings: Settings) -> Step:
    there = len(state.executors or ())
    if state.asking_up < settings.agreeing and not any(_cannot_wait(seen, settings) for seen in state.batches.values()):
        return Step(state, (), (Held(f"{target} executors asked for once; waiting whether that stays"),))
    if now < state.short_until:
        return Step(state, (), (Held("the cluster gave less than asked; asking again later", state.short_until),))
    if any(
        (one.before, one.executors) == (there, target) and one.at > now - settings.believed for one in state.useless
    ):
        return Step(state, (), (Held(f"{target} executors made things worse before"),))
    others = (one for one in state.too_few if one.executors != there and one.at > now - settings.believed)
    state = replace(state, too_few=(*others, TooFew(now, there, _rate(state))))
    return _begin(state, now, target, expected, settings)


def _cannot_wait(seen: tuple[MicroBatch, ...], settings: Settings) -> bool:
    """Batches get ever longer, and the rate is known well enough or the next batch would be too long in coming."""
    if not falling_behind(seen):
        return False
    last, before = seen[-1].duration / 1000, seen[-2].duration / 1000
    return len(lately(seen)) > _ENOUGH or last * (last / before) > settings.second_opinion


def _down(state: State, now: float, target: int, expected: Expected | None, settings: Settings) -> Step:
    there = len(state.executors or ())
    highest = max(need for _, need in state.needs)
    since = now - state.needs[0][0]
    if highest >= there or since < 0.9 * settings.down_stretch:
        left = max(0.0, settings.down_stretch - since)
        return Step(state, (), (Held(f"{target} executors would do; fewer only if that stays", now + left),))
    enough = max(highest, _more_than_too_few(state, now, settings))
    if enough >= there:
        return Step(state, (), (Held(f"{highest} executors would do, but were not enough at this rate before"),))
    return _begin(state, now, enough, expected if enough == target else None, settings)


def _more_than_too_few(state: State, now: float, settings: Settings) -> int:
    """The fewest executors of which it is not known that they are not enough at the present rate."""
    rate = _rate(state)
    known = (one for one in state.too_few if one.at > now - settings.believed)
    return max((one.executors + 1 for one in known if rate > one.rate * (1 - settings.well_below)), default=0)


def _rate(state: State) -> float:
    """Records that come per second now, over all queries."""
    return sum(arrivals(lately(seen)).rate for seen in state.batches.values())


def _begin(
    state: State, now: float, target: int, expected: Expected | None, settings: Settings, *, told: bool = False
) -> Step:
    """Begin a plan; or only propose it, where nobody has told us to and advice is all that is wanted."""
    there = len(state.executors or ())
    seconds = expected.seconds if expected else None
    if settings.mode == "advise" and not told:
        changed = state.proposal != target
        return Step(replace(state, proposal=target), (), (Proposed(there, target, seconds),) if changed else ())
    records = expected.records if expected else 0.0
    plan = Plan(state.plans + 1, now, there, target, seconds, _took(state), records, _records(state), told=told)
    changes = (*state.changes, now)
    state = replace(state, plan=plan, unjudged=None, plans=plan.id, desired=target, changes=changes)
    state = replace(state, proposal=None, asking_up=0, needs=())
    return Step(state, (SetExecutors(plan.id, target),), (Planned(plan.id, there, target, seconds),))


def _judge(state: State, now: float, settings: Settings) -> Step:
    """Once warm batches ran on what a plan gave it is over; what it did is said as soon as it can be compared."""
    plan = state.plan
    if plan is not None and plan.arrived is not None and _warm(state, settings) and _state_at_rest(state, settings):
        state = replace(state, plan=None, unjudged=plan, cool_until=now + settings.cool_down)
    plan = state.unjudged
    if plan is None or state.plan is not None or not _warm(state, settings):
        return Step(state)
    measured, records = _took(state), _records(state)
    if _made_worse(plan, measured, records) and _may_act(state, now, settings):
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


def _may_act(state: State, now: float, settings: Settings) -> bool:
    """Whether anything may be done that nobody has said just now."""
    held = paused(state, now, settings) or off_period(state, now, settings)
    return held is None and settings.mode == "act"


def _took(state: State) -> float:
    """The longest of the queries' median batch times, lately and on the executors that are there now."""
    return max(
        (statistics.median(one.duration / 1000 for one in _last(seen)) for seen in state.batches.values()), default=0.0
    )


def _records(state: State) -> float:
    """Records of such a batch, over all queries."""
    return sum(statistics.median(one.input_rows for one in _last(seen)) for seen in state.batches.values())


def _last(seen: tuple[MicroBatch, ...]) -> tuple[MicroBatch, ...]:
    return seen[-min(_JUDGED, max(1, warm_on_present_pool(seen))) :]


def _alike(one: float, other: float) -> bool:
    return abs(one - other) <= 0.15 * max(one, other)


def _warn(state: State, said: Said) -> Step:
    """Say it once, until something that makes sense is heard again."""
    kind = type(said).__name__
    if kind in state.warned:
        return Step(state)
    return Step(replace(state, warned=state.warned | {kind}), (), (said,))
