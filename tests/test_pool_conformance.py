"""Every policy for pools keeps every claim; policies with a fault are caught by the claim that is about it."""

import itertools

import pytest

from headgate.policies.pool import PoolAnswer
from headgate.policies.pool_registry import POOL_POLICIES, pool_policy
from headgate.testing import check_pool_policy, pool_claims


@pytest.mark.parametrize("claim", pool_claims(), ids=str)
@pytest.mark.parametrize("name", POOL_POLICIES)
def test_every_policy_for_pools_conforms(name, claim):
    claim.check(lambda: pool_policy(name))


@pytest.mark.parametrize("name", POOL_POLICIES)
def test_a_policy_is_found_by_the_name_its_answers_carry(name):
    assert pool_policy(name).name == name


class Faulty:
    """Leaves everything as it is; subclasses spoil one thing."""

    name = "faulty"

    def start(self):
        return [0]

    def size(self, memory, evidence, objective, now):
        return [memory[0] + 1], PoolAnswer(self.name, self.answer(memory, evidence))

    def answer(self, memory, evidence):
        return len(evidence.executors)


class Moody(Faulty):
    calls = itertools.count(1)

    def answer(self, memory, evidence):
        return next(self.calls)


class Forgetful(Faulty):
    def start(self):
        return (0,)

    def size(self, memory, evidence, objective, now):
        return (memory[0] + 1,), PoolAnswer(self.name, 1 + isinstance(memory, tuple))


class Greedy(Faulty):
    def size(self, memory, evidence, objective, now):
        memory[0] += 1
        return memory, PoolAnswer(self.name, 1)


class Fractional(Faulty):
    def answer(self, memory, evidence):
        return 2.5


class Late(Faulty):
    def answer(self, memory, evidence):
        return 1 + evidence.batches[1].number


class Brittle(Faulty):
    def answer(self, memory, evidence):
        return int(1e18 * (sum(batch.input_rows for batch in evidence.batches) > 1e8)) + 1


@pytest.mark.parametrize(
    ("fault", "caught_by"),
    [
        (Moody, "the same input gives the same answer"),
        (Forgetful, "memory survives json"),
        (Greedy, "what it is handed is not changed"),
        (Fractional, "every answer is a whole number"),
        (Late, "a single batch is enough"),
        (Brittle, "far too many records"),
    ],
)
def test_a_faulty_policy_is_caught(fault, caught_by):
    with pytest.raises(AssertionError, match=caught_by):
        check_pool_policy(fault)


def test_a_policy_that_does_nothing_conforms():
    check_pool_policy(Faulty)
