"""Our policies keep every claim; policies with a fault are caught by the claim that is about it."""

import itertools

import msgspec
import pytest

from headgate import Decision
from headgate.model.objective import KeepUp
from headgate.model.signals import Signals
from headgate.policies.ds2 import Ds2
from headgate.policies.flink import Flink
from headgate.policies.registry import POLICIES, policy
from headgate.testing import check_policy, claims
from headgate.testing.dataflows import jobs


@pytest.mark.parametrize("claim", claims(rate_based=True), ids=str)
@pytest.mark.parametrize("settings", [{}, {"plain_ceil": True}, {"shared_workers": True}, {"threshold": 1.5}], ids=str)
def test_ds2_conforms(claim, settings):
    claim.check(lambda: Ds2(**settings))


@pytest.mark.parametrize("claim", claims(rate_based=False), ids=str)
@pytest.mark.parametrize("name", POLICIES)
def test_every_policy_for_operators_conforms(claim, name):
    claim.check(lambda: policy(name))


def as_measured(seen):
    return seen


def without_growth(seen):
    """Sources take half of what comes, and do not tell by how much what waits grows."""
    source = seen.dataflow.is_source
    told = tuple(
        msgspec.structs.replace(one, came=2 * one.taken, growth=None) if source[at] else one
        for at, one in enumerate(seen.signals)
    )
    return msgspec.structs.replace(seen, signals=told)


@pytest.mark.parametrize("told", [as_measured, without_growth])
@pytest.mark.parametrize("name", POLICIES)
def test_a_policy_looks_at_no_signal_that_it_does_not_declare(name, told):
    """With all others taken away its answers are the same."""
    made = policy(name)
    for job in jobs():
        memory, blind_memory = made.start(), made.start()
        for minute in range(30):
            seen = told(job.seen(load=1.0 + minute / 10))
            blind = msgspec.structs.replace(seen, signals=tuple(only(made.needs, one) for one in seen.signals))
            memory, decision = made.decide(memory, seen, KeepUp(), 60.0 * minute)
            blind_memory, other = made.decide(blind_memory, blind, KeepUp(), 60.0 * minute)
            assert other.parallelism == decision.parallelism
            job = job.resized(decision.parallelism)  # noqa: PLW2901 - as carried out


def only(needs, seen):
    return Signals(**{key: getattr(seen, key) for key in {"instances", "missing", *needs}})


def test_a_policy_that_looks_at_more_than_it_declares_is_found_out():
    """Flink's autoscaler without `came`: where no growth is told, the rate at which records come stands in for it."""

    class Secretive(Flink, frozen=True):
        needs = tuple(one for one in Flink.needs if one != "came")

    made = Secretive(window=0.0, stabilisation=0.0)
    seen = without_growth(jobs()[0].seen())
    blind = msgspec.structs.replace(seen, signals=tuple(only(made.needs, one) for one in seen.signals))
    answers = [made.decide(made.start(), shown, KeepUp(), 0.0)[1].parallelism for shown in (seen, blind)]
    assert answers[0] != answers[1]


class Faulty:
    """Keeps everything as it is; subclasses spoil one thing."""

    name = "faulty"

    def start(self):
        return 0

    def answer(self, id, now, calls):
        return now

    def decide(self, memory, estimate, objective, now):
        flow = estimate.dataflow
        sized = [o for o in flow.operators if o.id not in flow.sources]
        counts = {o.id: self.answer(o.id, o.instances, memory) for o in sized}
        return self.remember(memory), Decision.resize(self.name, estimate, counts)

    def remember(self, memory):
        return memory + 1


class Moody(Faulty):
    calls = itertools.count(1)

    def answer(self, id, now, calls):
        return next(self.calls)


class Restless(Faulty):
    def answer(self, id, now, calls):
        return now % 7 + 1


class Alphabetical(Faulty):
    def decide(self, memory, estimate, objective, now):
        last = estimate.dataflow.edges[-1].target
        return memory, Decision.resize(self.name, estimate, {last: 9})


class Forgetful(Faulty):
    def start(self):
        return {0: 0}

    def remember(self, memory):
        return {0: memory[0] + 1}

    def answer(self, id, now, calls):
        return 1 + calls[0]


class Reckless(Faulty):
    def answer(self, id, now, calls):
        return 1


class Silent(Faulty):
    def decide(self, memory, estimate, objective, now):
        decision = Decision.resize(self.name, estimate, {})
        return memory, Decision(self.name, decision.sizings[:-1])


class Huge(Faulty):
    def answer(self, id, now, calls):
        return 2**60


@pytest.mark.parametrize(
    ("fault", "caught_by"),
    [
        (Moody, "the same input gives the same answer"),
        (Restless, "steady state is a noop"),
        (Alphabetical, "the order of the input does not matter"),
        (Forgetful, "memory survives json"),
        (Reckless, "what is not known is not made smaller"),
        (Silent, "every operator is answered once"),
        (Huge, "no answer is below one or beyond counting"),
    ],
)
def test_a_faulty_policy_is_caught(fault, caught_by):
    with pytest.raises(AssertionError, match=caught_by):
        check_policy(fault, rate_based=False)


def test_a_policy_that_does_nothing_passes_the_first_tier_but_is_not_rate_based():
    check_policy(Faulty, rate_based=False)
    with pytest.raises(AssertionError, match="need is in proportion to the source rates"):
        check_policy(Faulty, rate_based=True)


class Sluggish(Ds2, frozen=True):
    """DS2 that looks at what was observed, not at what was possible: the classic mistake."""

    def decide(self, memory, estimate, objective, now):
        mistaken = msgspec.structs.replace(estimate, true_processing=estimate.observed_processing)
        return super().decide(memory, mistaken, objective, now)


def test_a_policy_that_takes_observed_for_true_rates_is_not_rate_based():
    with pytest.raises(AssertionError, match=r"need does not depend on how many there are"):
        check_policy(Sluggish, rate_based=True)
