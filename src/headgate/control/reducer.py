"""One step of the controller: what happened, what is known after it, what is to be done, and why.

    step(state, event, settings, policy) -> Step(state, actions, said)

A plan goes through three stations: asked for (an action went out), arrived (the executors are there), judged (warm
batches on them were compared with the prediction). Only then is the next one thought of. What is desired, requested
and observed are three things: `state.desired`, the plan under way, `state.executors`.

Growing is quick: a need that holds for `agreeing` decisions is followed in one step. Shrinking is slow: to the highest
need of `down_stretch` seconds, and each time a size turned out too small after shrinking to it, twice as slowly.
"""

import statistics
from collections.abc import Sequence
from typing import NamedTuple

from msgspec.structs import replace

from headgate.control.actions import Action, SetExecutors, SpreadBins
from headgate.control.events import ActionFailed, BatchSeen, ClusterSeen, Command, Event, Tick
from headgate.control.guards import GUARDS, HOUR, falling_behind, stale, warm_on_present_pool
from headgate.control.remembered import remembered
from headgate.control.said import (
    Arrived,
    AsPredicted,
    Bounded,
    Failed,
    Held,
    Ignored,
    Lost,
    NotHelping,
    OffPrediction,
    Planned,
    Proposed,
    Said,
    Short,
    Stale,
    Steady,
    Undone,
)
from headgate.control.sane import problem_with
from headgate.control.settings import Settings
from headgate.control.state import Decided, Plan, State
from headgate.model.microbatch import MicroBatch
from headgate.model.objective import stricter
from headgate.policies.pool import Evidence, PoolAnswer, PoolPolicy

_RECENT = 3
_WORSE = 1.2
"""A plan that makes batches so many times as long has made things worse."""


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
    kept = remembered((*before, batch))
    changes = tuple(at for at in state.changes if at > event.at - HOUR)
    known = {**state.batches, batch.query: kept}
    state = replace(state, batches=known, heard=event.at, warned=frozenset(), changes=changes)
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
        if state.paused or settings.mode == "advise":
            return Step(state)
        lost = Lost(state.desired, observed)
        again = Plan(state.plans + 1, event.at, observed, state.desired, None, 0.0, 0.0)
        state = replace(state, plan=again, plans=again.id)
        return Step(state, (SetExecutors(again.id, again.executors),), (lost,))
    return Step(state)


def _tick(state: State, now: float, settings: Settings) -> Step:
    plan = state.plan
    if plan is not None and plan.arrived is None and now - plan.began > settings.patience:
        observed = len(state.executors or ())
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
        return Step(state)
    state = replace(state, plan=None, desired=state.plan.before, cool_until=event.at + settings.cool_down)
    return Step(state, (), (Failed(event.plan, event.why),))


def _command(state: State, event: Command, settings: Settings) -> Step:
    if event.word == "pause":
        return Step(replace(state, paused=True), (), (Held("paused"),))
    if event.word == "resume":
        return Step(replace(state, paused=False))
    wanted = state.proposal if event.word == "approve" else event.executors
    if wanted is None or state.plan is not None:
        return Step(state, (), (Held("there is nothing to approve" if wanted is None else "a plan is under way"),))
    target = min(max(wanted, settings.least), settings.most)
    return _begin(state, event.at, target, None, settings)


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
    stretch = _stretch(state, target, settings)
    needs = (*((at, n) for at, n in state.needs if at > now - stretch), (now, target))
    state = replace(state, needs=needs, asking_up=state.asking_up + 1 if target > there else 0)
    expected = _expected(answers)
    if target > there:
        return Step(state, (), tuple(said)).then(_up(state, now, target, expected, settings))
    if target < there:
        return Step(state, (), tuple(said)).then(_down(state, now, target, stretch, expected, settings))
    return Step(replace(state, proposal=None), (), (*said, Steady(there)))


def _ask(state: State, now: float, settings: Settings, policy: PoolPolicy) -> tuple[State, tuple[PoolAnswer, ...]]:
    """One answer a query. While nothing has changed the last ones stand: asking is what costs most."""
    executors, load = state.executors or (), _load(state)
    last = state.last
    if last is not None and last.executors == executors and now - last.at < settings.anew:
        alike = len(load) == len(last.load) and all(
            abs(one - other) <= settings.alike * max(other, 1e-9) for one, other in zip(load, last.load, strict=True)
        )
        if alike:
            return state, last.answers
    memory, answers = dict(state.memory), []
    each = max((executor.slots for executor in executors), default=0) or settings.slots_each
    for query, seen in state.batches.items():
        evidence, remembered = Evidence(seen, executors, each), memory.get(query, policy.start())
        memory[query], answer = policy.size(remembered, evidence, settings.objective, now)
        if answer.executors < len(executors):
            _, safe = policy.size(remembered, evidence, stricter(settings.objective, settings.down_margin), now)
            answer = safe if safe.executors <= len(executors) else replace(answer, executors=len(executors))
        answers.append(answer)
    decided = Decided(now, executors, load, tuple(answers))
    return replace(state, memory=memory, last=decided), decided.answers


def _load(state: State) -> tuple[float, ...]:
    """Records and seconds of a recent batch of each query."""
    return tuple(
        statistics.median(values)
        for seen in state.batches.values()
        for values in ([b.input_rows for b in seen[-_RECENT:]], [b.duration for b in seen[-_RECENT:]])
    )


def _up(state: State, now: float, target: int, expected: Expected | None, settings: Settings) -> Step:
    there = len(state.executors or ())
    behind = any(falling_behind(seen) for seen in state.batches.values())
    if state.asking_up < settings.agreeing and not behind:
        return Step(state, (), (Held(f"{target} executors asked for once; waiting whether that stays"),))
    if now < state.short_until:
        return Step(state, (), (Held("the cluster gave less than asked; asking again later", state.short_until),))
    if state.useless.get(target) == there:
        return Step(state, (), (Held(f"{target} executors made things worse before"),))
    returns = {**state.returns, there: state.returns.get(there, 0) + 1} if there in state.returns else state.returns
    return _begin(replace(state, returns=returns), now, target, expected, settings)


def _down(state: State, now: float, target: int, stretch: float, expected: Expected | None, settings: Settings) -> Step:
    there = len(state.executors or ())
    highest = max(need for _, need in state.needs)
    covered = now - state.needs[0][0] >= 0.9 * stretch
    if highest >= there or not covered:
        left = max(0.0, stretch - (now - state.needs[0][0]))
        return Step(state, (), (Held(f"{target} executors would do; fewer only if that stays", now + left),))
    if state.useless.get(highest) == there:
        return Step(state, (), (Held(f"{highest} executors made things worse before"),))
    returns = {**state.returns, highest: state.returns.get(highest, 0)}
    return _begin(replace(state, returns=returns), now, highest, expected if highest == target else None, settings)


def _stretch(state: State, target: int, settings: Settings) -> float:
    """Twice as long for every time that going down to so many was taken back."""
    return settings.down_stretch * 2.0 ** min(state.returns.get(target, 0), 6)


def _begin(state: State, now: float, target: int, expected: Expected | None, settings: Settings) -> Step:
    there = len(state.executors or ())
    seconds = expected.seconds if expected else None
    if settings.mode == "advise":
        changed = state.proposal != target
        return Step(replace(state, proposal=target), (), (Proposed(there, target, seconds),) if changed else ())
    records = expected.records if expected else 0.0
    plan = Plan(state.plans + 1, now, there, target, seconds, _took(state), records, _records(state))
    changes = (*state.changes, now)
    state = replace(state, plan=plan, unjudged=None, plans=plan.id, desired=target, changes=changes)
    state = replace(state, proposal=None, asking_up=0, needs=())
    return Step(state, (SetExecutors(plan.id, target),), (Planned(plan.id, there, target, seconds),))


def _judge(state: State, now: float, settings: Settings) -> Step:
    """Once warm batches ran on what a plan gave it is over; what it did is said as soon as it can be compared."""
    plan = state.plan
    if plan is not None and plan.arrived is not None and _warm(state, settings):
        state = replace(state, plan=None, unjudged=plan, cool_until=now + settings.cool_down)
    plan = state.unjudged
    if plan is None or state.plan is not None or not _warm(state, settings):
        return Step(state)
    measured, records = _took(state), _records(state)
    if _made_worse(plan, measured, records):
        useless = {**state.useless, plan.executors: plan.before}
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
    """More executors, no more records, and yet longer batches."""
    grew = plan.executors > plan.before and not plan.undoes and plan.took_before > 0
    return grew and measured > _WORSE * plan.took_before and records <= 1.1 * plan.records_before


def _warm(state: State, settings: Settings) -> bool:
    return all(warm_on_present_pool(seen) >= settings.evidence for seen in state.batches.values())


def _took(state: State) -> float:
    """The longest of the queries' median batch times, on the executors that are there now."""
    return max(
        (statistics.median(_seconds(seen)) for seen in state.batches.values()),
        default=0.0,
    )


def _seconds(seen: tuple[MicroBatch, ...]) -> list[float]:
    warm = max(1, warm_on_present_pool(seen))
    return [batch.duration / 1000 for batch in seen[-warm:]]


def _records(state: State) -> float:
    """Records of a batch, median of the warm ones, over all queries."""
    return sum(
        statistics.median(batch.input_rows for batch in seen[-max(1, warm_on_present_pool(seen)) :])
        for seen in state.batches.values()
    )


def _alike(one: float, other: float) -> bool:
    return abs(one - other) <= 0.15 * max(one, other)


def _warn(state: State, said: Said) -> Step:
    """Say it once, until something that makes sense is heard again."""
    kind = type(said).__name__
    if kind in state.warned:
        return Step(state)
    return Step(replace(state, warned=state.warned | {kind}), (), (said,))
