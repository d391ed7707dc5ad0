"""What every policy must do, as claims that can be checked one by one.

Two tiers. For all: a policy is a pure function that answers for every operator, comes to rest, survives JSON and
does not act on what it does not know. For rate-based ones, whose answer is a need in proportion to load over
speed: that it really is in proportion.
"""

from collections.abc import Callable
from itertools import pairwise
from typing import Any

import msgspec

from headgate.model.dataflow import MAX_INSTANCES
from headgate.model.decision import Decision
from headgate.model.estimate import Estimate
from headgate.model.objective import KeepUp
from headgate.policies.protocol import Policy
from headgate.testing.claims import Claim, check_all, claimed, same
from headgate.testing.dataflows import Job, jobs

Make = Callable[[], Policy]

_ROUNDS = 40
_CLOSE = 1e-9


def claims(*, rate_based: bool) -> tuple[Claim[Policy], ...]:
    """All claims that apply: those for every policy and, if asked for, those for rate-based ones."""
    return claimed((*_FOR_ALL, *(_FOR_RATE_BASED if rate_based else ())))


def check_policy(make: Make, *, rate_based: bool) -> None:
    """Check every claim; the error lists all that do not hold.

    >>> from headgate.policies.ds2 import Ds2
    >>> check_policy(Ds2, rate_based=True)
    """
    check_all(claims(rate_based=rate_based), make)


def _ask(policy: Policy, *estimates: Estimate) -> Decision:
    """The last decision of a policy that starts anew and sees these one after the other."""
    memory, decision = policy.start(), None
    for seconds, estimate in enumerate(estimates):
        memory, decision = policy.decide(memory, estimate, KeepUp(), float(seconds))
    if decision is None:
        raise AssertionError("nothing was asked")
    return decision


def _through_json(value: Any) -> Any:
    """As a controller that died and was started again would find it."""
    return msgspec.json.decode(msgspec.json.encode(value), type=type(value))


# For all.


def _the_same_input_gives_the_same_answer(make: Make) -> None:
    for job in jobs():
        same(_ask(make(), job.seen()), _ask(make(), job.seen()), job.name)


def _every_operator_is_answered_once_and_sources_stay_as_they_are(make: Make) -> None:
    for job in jobs():
        decision = _ask(make(), job.seen())
        same(sorted(s.operator for s in decision.sizings), sorted(job.dataflow.ids), job.name)
        for sizing in decision.sizings:
            same(sizing.source, sizing.operator in job.emits, f"{job.name}, {sizing.operator}: is a source")
            if sizing.source:
                same(sizing.instances, sizing.now, f"{job.name}, source {sizing.operator}")


def _no_answer_is_below_one_or_beyond_counting(make: Make) -> None:
    for job in jobs():
        for load in (0.0, 1e-300, 1.0, 1e12, 1e300):
            for speed in (1e-300, 1.0, 1e300):
                for id, count in _ask(make(), job.seen(load=load, speed=speed)).parallelism.items():
                    if not isinstance(count, int) or not 1 <= count <= MAX_INSTANCES:
                        raise AssertionError(f"{job.name}, {id}: {count!r} at load {load:g}, speed {speed:g}")


def _the_order_of_the_input_does_not_matter(make: Make) -> None:
    for job in jobs():
        forwards, backwards = _ask(make(), job.seen()), _ask(make(), job.declared_backwards().seen())
        same(sorted(backwards.parallelism.items()), sorted(forwards.parallelism.items()), job.name)


def _decisions_survive_json(make: Make) -> None:
    for job in jobs():
        decision = _ask(make(), job.seen())
        same(Decision.from_json(decision.to_json()), decision, job.name)


def _memory_survives_json(make: Make) -> None:
    for job in jobs():
        kept, revived = make(), make()
        memory, stored = kept.start(), revived.start()
        for seconds, load in enumerate((1.0, 1.0, 3.0, 0.2, 0.2, 1.0)):
            memory, expected = kept.decide(memory, job.seen(load=load), KeepUp(), float(seconds))
            stored, found = revived.decide(_through_json(stored), job.seen(load=load), KeepUp(), float(seconds))
            revived = make()
            same(found, expected, f"{job.name}, call {seconds}")


def _steady_state_is_a_noop(make: Make) -> None:
    """Under constant load, carrying out each answer, it comes to rest and then leaves things as they are."""
    for job in jobs():
        policy = make()
        memory, trail = policy.start(), [job]
        for round_ in range(_ROUNDS):
            memory, decision = policy.decide(memory, trail[-1].seen(), KeepUp(), 60.0 * round_)
            trail.append(trail[-1].resized(decision.parallelism))
        rest = [dict(zip(j.dataflow.ids, j.dataflow.instances.tolist(), strict=True)) for j in trail[-5:]]
        for later in rest[1:]:
            same(later, rest[0], f"{job.name} still changes after {_ROUNDS} rounds")


def _what_is_not_known_is_not_made_smaller(make: Make) -> None:
    for job in jobs():
        for silent in job.each:
            seen = job.seen(load=0.01)
            known = seen.known.copy()
            known[seen.dataflow.position(silent)] = False
            blind = msgspec.structs.replace(seen, known=known)
            sizing = _ask(make(), blind).sizing(silent)
            if sizing.instances < sizing.now:
                raise AssertionError(f"{job.name}: {silent} has no rates and went {sizing.now} -> {sizing.instances}")


# For rate-based ones.


def _needs(make: Make, job: Job, **conditions: float) -> dict[str, float]:
    needs = {}
    for sizing in _ask(make(), job.seen(**conditions)).sizings:
        if sizing.source:
            continue
        if sizing.need is None:
            raise AssertionError(f"{job.name}: {sizing.operator} has no fractional need")
        needs[sizing.operator] = sizing.need
    return needs


def _in_proportion(make: Make, factor: float, **conditions: float) -> None:
    for job in jobs():
        plain, other = _needs(make, job), _needs(make, job, **conditions)
        for id, need in plain.items():
            if abs(other[id] - factor * need) > _CLOSE * factor * need:
                raise AssertionError(f"{job.name}, {id}: {other[id]} instead of {factor} x {need}")


def _need_is_in_proportion_to_the_source_rates(make: Make) -> None:
    for c in (0.5, 2.0, 10.0, 1000.0):
        _in_proportion(make, c, load=c)


def _need_is_in_inverse_proportion_to_speed(make: Make) -> None:
    for c in (0.5, 2.0, 10.0, 1000.0):
        _in_proportion(make, 1 / c, speed=c)


def _more_demand_never_gives_less(make: Make) -> None:
    loads = (0.0, 0.1, 0.5, 0.9, 1.0, 1.0001, 1.5, 2.0, 3.7, 50.0)
    for job in jobs():
        answers = [_ask(make(), job.seen(load=load)).parallelism for load in loads]
        for less, more in pairwise(answers):
            for id, count in less.items():
                if more[id] < count:
                    raise AssertionError(f"{job.name}, {id}: {count} became {more[id]} with more demand")


def _need_does_not_depend_on_how_many_there_are(make: Make) -> None:
    for job in jobs():
        plain = _needs(make, job)
        for many in (1, 7, 200):
            resized = _needs(make, job.resized(dict.fromkeys(job.each, many)))
            for id, need in plain.items():
                if abs(resized[id] - need) > _CLOSE * need:
                    raise AssertionError(f"{job.name}, {id}: {resized[id]} with {many} instances, {need} before")


def _one_step_is_enough(make: Make) -> None:
    """Where instances add up, the answer after carrying out the answer is the same answer."""
    for job in jobs():
        first = _ask(make(), job.seen()).parallelism
        same(_ask(make(), job.resized(first).seen()).parallelism, first, job.name)


_FOR_ALL = (
    _the_same_input_gives_the_same_answer,
    _every_operator_is_answered_once_and_sources_stay_as_they_are,
    _no_answer_is_below_one_or_beyond_counting,
    _the_order_of_the_input_does_not_matter,
    _decisions_survive_json,
    _memory_survives_json,
    _steady_state_is_a_noop,
    _what_is_not_known_is_not_made_smaller,
)

_FOR_RATE_BASED = (
    _need_is_in_proportion_to_the_source_rates,
    _need_is_in_inverse_proportion_to_speed,
    _more_demand_never_gives_less,
    _need_does_not_depend_on_how_many_there_are,
    _one_step_is_enough,
)
