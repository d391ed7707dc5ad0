"""What is to be done: the policies' answers, taken carefully.

Growing is quick: a need that holds for `agreeing` decisions is followed in one step. Shrinking is slow: to the highest
need of `down_stretch` seconds, and never to a number that was not enough at this rate before.
"""

import statistics
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, TypeAlias

from msgspec.structs import replace

from headgate.control.actions import SetExecutors
from headgate.control.guards import BLIND, GUARDS, falling_behind, lacking_evidence, silent_for_long
from headgate.control.outcomes import rate, records_a_batch, took
from headgate.control.said import Bounded, Held, NotHelping, OtherPartitions, Planned, Proposed, Said, Steady
from headgate.control.settings import Settings
from headgate.control.state import Decided, Plan, State, TooFew
from headgate.control.step import Step
from headgate.model.arrivals import arrivals, lately
from headgate.model.microbatch import MicroBatch
from headgate.model.objective import Objective, stricter
from headgate.model.reasons import many
from headgate.policies.pool import Evidence, PoolAnswer, PoolPolicy

_RECENT = 3
_FAR_MORE = 1.25
_ENOUGH = 2
"""So many batches to which records came at one rate say what the rate is."""
_Batches: TypeAlias = Mapping[str, tuple[MicroBatch, ...]]
"""Of some queries, oldest first."""


class Expected(NamedTuple):
    """What a policy expects after its answer was followed: the longest batch of all queries, and their records."""

    seconds: float
    records: float


def _expected(answers: Sequence[PoolAnswer]) -> Expected | None:
    seconds = [answer.expected.batch.value for answer in answers if answer.expected and answer.expected.batch]
    return Expected(max(seconds), sum(answer.records for answer in answers)) if seconds else None


def consider(state: State, now: float, settings: Settings, policy: PoolPolicy) -> Step:
    """What is needed now, unless a guard objects; and what follows from it."""
    for guard in GUARDS:
        objection = guard(state, now, settings)
        if objection is not None:
            return Step(replace(state, needs=()) if guard in BLIND else state, (), (objection,))
    lacking = lacking_evidence(state, settings)
    asked = {query: seen for query, seen in state.live.items() if query not in lacking}
    state, answers, need = _ask(state, asked, now, settings, policy)
    there = len(state.executors or ())
    target = min(max(need, settings.least), settings.most)
    if lacking and target <= there:  # what the others need is enough to grow for, and not to shrink or to rest
        return Step(state, (), (next(iter(lacking.values())),))
    said: list[Said] = [Bounded(need, target)] if target != need else []
    said.extend(NotHelping(answer.limit.limit) for answer in answers if answer.limit is not None)
    state, advised = _other_partitions(state, answers, settings)
    said.extend(advised)
    needs = (*_within(state.needs, now - settings.down_stretch), (now, target))
    if state.proposal != target:  # advice holds only while what it was derived from holds
        state = replace(state, proposal=None)
    state = replace(state, needs=needs, asking_up=state.asking_up + 1 if target > there else 0)
    expected = _expected(answers)
    if target > there:
        return Step(state, (), tuple(said)).then(_up(state, now, target, expected, settings))
    if target < there:
        why_not = _unknown_need(state, now, settings)
        if why_not:
            return Step(state, (), (*said, Held(f"{many(target, 'executor')} would do, but {why_not}")))
        return Step(state, (), tuple(said)).then(_down(state, now, target, expected, settings))
    return Step(replace(state, proposal=None), (), (*said, Steady(there)))


def _other_partitions(
    state: State, answers: Sequence[PoolAnswer], settings: Settings
) -> tuple[State, tuple[Said, ...]]:
    """Advice about partitions that helps within the bounds, once for each number of them."""
    given = (one.within(settings.least, settings.most) for answer in answers for one in answer.partitions)
    advice = tuple(one for one in given if one is not None)
    numbers = tuple((one.of, one.partitions) for one in advice)
    if numbers == state.partitions_advised:
        return state, ()
    return replace(state, partitions_advised=numbers), tuple(OtherPartitions(one) for one in advice)


def _within(needs: tuple[tuple[float, int], ...], since: float) -> tuple[tuple[float, int], ...]:
    """Those since then, and the last one before: that is how it was when the time began."""
    before = [one for one in needs if one[0] <= since]
    return (*before[-1:], *(one for one in needs if one[0] > since))


def _unknown_need(state: State, now: float, settings: Settings) -> str:
    """Whose need is not known, in words: whoever does not speak may need what he has."""
    if state.unheard:
        several = f"{len(state.unheard)} queries run here of which"
        return f"{several if len(state.unheard) > 1 else 'a query runs here of which'} no batch was seen"
    silent = silent_for_long(state, now, settings.stale)
    return f"{state.batches[silent[0]][-1].name or silent[0]} is silent" if silent else ""


def _ask(
    state: State, batches: _Batches, now: float, settings: Settings, policy: PoolPolicy
) -> tuple[State, tuple[PoolAnswer, ...], int]:
    """One answer for each of these queries, and what they need together.

    While nothing has changed the last ones stand: asking is what costs most.
    """
    executors, load, of = state.executors or (), _load(batches), tuple(batches)
    last = state.last
    news = any(_unlike_those_before(seen) for seen in batches.values())
    if (
        last is not None
        and (last.executors, last.queries) == (executors, of)
        and not _long_ago(last.at, batches, now, settings)
        and not news
    ):
        alike = len(load) == len(last.load) and all(
            abs(one - other) <= settings.alike * max(other, 1e-9) for one, other in zip(load, last.load, strict=True)
        )
        if alike:
            return state, last.answers, last.need
    each = max((executor.slots for executor in executors), default=0) or settings.slots_each
    asked = {
        query: (
            state.memory.get(query, policy.start()), Evidence(seen, executors, each, state.triggers.get(query))
        )
        for query, seen in batches.items()
    }  # fmt: skip

    def sized(objective: Objective, ahead: float = 0.0) -> dict[str, tuple[Any, PoolAnswer]]:
        return {
            query: policy.size(memory, replace(evidence, ahead=ahead), objective, now)
            for query, (memory, evidence) in asked.items()
        }

    sizes = sized(settings.objective)
    memory = {**state.memory, **{query: remembered for query, (remembered, _) in sizes.items()}}
    answers = tuple(answer for _, answer in sizes.values())
    need = sum(answer.executors for answer in answers)
    if need > len(executors) and settings.ahead:
        # More, and enough of them for as long as it takes to ask again: each move makes a batch longer.
        answers = tuple(answer for _, answer in sized(settings.objective, settings.ahead).values())
        need = sum(answer.executors for answer in answers)
    if need < len(executors):
        # Fewer only if they do with something to spare; if they do not, what is there is what is needed.
        safe = tuple(answer for _, answer in sized(stricter(settings.objective, settings.down_margin)).values())
        spared = sum(answer.executors for answer in safe)
        answers, need = (safe, spared) if spared <= len(executors) else (answers, len(executors))
    decided = Decided(now, executors, load, answers, need, of)
    return replace(state, memory=memory, last=decided), answers, need


def _long_ago(asked: float, batches: _Batches, now: float, settings: Settings) -> bool:
    """Whether it is time to ask again although nothing has changed: there are batches that were not there then."""
    since = sum(one.began / 1000 >= asked for seen in batches.values() for one in seen[-_RECENT:])
    return now - asked >= settings.anew and since >= _RECENT


def _unlike_those_before(seen: tuple[MicroBatch, ...]) -> bool:
    """Whether the last batch has far more records than the ones before it, or far fewer: the load may have changed."""
    usual = statistics.median(one.input_rows for one in seen[-_RECENT - 1 :])
    return not usual / _FAR_MORE <= seen[-1].input_rows <= usual * _FAR_MORE


def _load(batches: _Batches) -> tuple[float, ...]:
    """Records and seconds of a recent batch of each query."""
    return tuple(
        statistics.median(values)
        for seen in batches.values()
        for values in ([b.input_rows for b in seen[-_RECENT:]], [b.duration for b in seen[-_RECENT:]])
    )


def _up(state: State, now: float, target: int, expected: Expected | None, settings: Settings) -> Step:
    there = len(state.executors or ())
    if state.asking_up < settings.agreeing and not any(_cannot_wait(seen, settings) for seen in state.live.values()):
        return Step(state, (), (Held(f"{target} executors asked for once; waiting whether that stays"),))
    if now < state.short_until:
        return Step(state, (), (Held("the cluster gave less than asked; asking again later", state.short_until),))
    for one in state.useless:
        known = (one.before, one.executors) == (there, target) and one.at > now - settings.believed
        if known and rate(state) <= _FAR_MORE * one.rate:
            return Step(state, (), (Held(f"{target} executors {one.what} before"),))
    others = (one for one in state.too_few if one.executors != there and one.at > now - settings.believed)
    state = replace(state, too_few=(*others, TooFew(now, there, rate(state), _work(state))))
    return begin(state, now, target, expected, settings)


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
        return Step(state, (), (Held(f"{many(target, 'executor')} would do; fewer only if that stays", now + left),))
    enough = max(highest, _more_than_too_few(state, now, settings))
    if enough >= there:
        return Step(state, (), (Held(f"{many(highest, 'executor')} would do, but did not at this rate before"),))
    return begin(state, now, enough, expected if enough == target else None, settings)


def _more_than_too_few(state: State, now: float, settings: Settings) -> int:
    """The fewest executors of which it is not known that they are not enough for what comes now.

    What was not enough is believed no longer where far fewer records come, or where they cost far less. (More work at
    the same rate says nothing new: on more executors tasks get in each other's way.)
    """
    comes, work, part = rate(state), _work(state), 1 - settings.well_below
    known = (one for one in state.too_few if one.at > now - settings.believed)
    return max((one.executors + 1 for one in known if comes > one.rate * part and work > one.work * part), default=0)


def _work(state: State) -> float:
    """Slot-seconds that the records of a second take now, over all queries."""
    return sum(arrivals(lately(seen)).rate * _cost(seen[-_RECENT:]) for seen in state.live.values())


def _cost(batches: Sequence[MicroBatch]) -> float:
    """Slot-seconds of a record."""
    busy = sum(float(batch.tasks.occupied_seconds.sum()) for batch in batches)
    return busy / max(1, sum(batch.input_rows for batch in batches))


def begin(
    state: State, now: float, target: int, expected: Expected | None, settings: Settings, *, told: bool = False
) -> Step:
    """Begin a plan; or only propose it, where nobody has told us to and advice is all that is wanted."""
    there = len(state.executors or ())
    seconds = expected.seconds if expected else None
    if settings.mode == "advise" and not told:
        changed = state.proposal != target
        return Step(replace(state, proposal=target), (), (Proposed(there, target, seconds),) if changed else ())
    records = expected.records if expected else 0.0
    plan = Plan(state.plans + 1, now, there, target, seconds, took(state), records, records_a_batch(state), told=told)
    changes = (*state.changes, now)
    state = replace(state, plan=plan, unjudged=None, plans=plan.id, desired=target, changes=changes)
    state = replace(state, proposal=None, asking_up=0, needs=())
    return Step(state, (SetExecutors(plan.id, target),), (Planned(plan.id, there, target, seconds),))
