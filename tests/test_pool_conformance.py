"""Every policy for pools keeps every claim; policies with a fault are caught by the claim that is about it."""

import itertools
from pathlib import Path

import pytest

from headgate.control.settings import Settings
from headgate.formats.eventlog.batches import read_batches
from headgate.formats.eventlog.reader import read_events
from headgate.model.objective import Freshness, KeepUp
from headgate.model.pool_signals import pool_signals
from headgate.policies.pool import Evidence, PoolAnswer
from headgate.policies.pool_registry import POOL_POLICIES, pool_policy
from headgate.simulation.closed_loop import closed_loop
from headgate.simulation.virtual_spark import VirtualJob, VirtualOperator, VirtualSpark
from headgate.testing import check_pool_policy, pool_claims


@pytest.mark.parametrize("claim", pool_claims(), ids=str)
@pytest.mark.parametrize("name", POOL_POLICIES)
def test_every_policy_for_pools_conforms(name, claim):
    claim.check(lambda: pool_policy(name))


@pytest.mark.parametrize("name", POOL_POLICIES)
def test_a_policy_is_found_by_the_name_its_answers_carry(name):
    assert pool_policy(name).name == name


@pytest.mark.parametrize("name", POOL_POLICIES)
def test_every_policy_for_pools_says_what_it_needs(name):
    needs = pool_policy(name).needs
    assert isinstance(needs, tuple)
    assert bool(needs) == (name != "static")


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


STEP = VirtualJob(
    (
        VirtualOperator("map", 16, fixed=0.1, per_record=0.004),
        VirtualOperator("count", 8, fixed=0.1, per_record=0.0005, feeders=(0,), stateful=True),
    ),
    trigger=10.0,
    noise=0.1,
)


def stepping(now):
    """From 100 records a second, which one executor carries, to 350, which it does not."""
    return 100 * min(now, 600.0) + 350 * max(0.0, now - 600)


@pytest.mark.parametrize("name", [name for name in POOL_POLICIES if name != "static"])
def test_every_policy_runs_under_headgates_controller_and_follows_a_step_in_time(name):
    """Within half an hour, those too that wait for long: `managed` for fifteen minutes, `flink` for twenty."""
    spark = VirtualSpark(STEP, stepping, executors=1, most=12)
    history = closed_loop(spark, Settings(objective=KeepUp(headroom=0.1), most=12), pool_policy(name), until=2400.0)
    assert history.moments[-1].executors >= 2


NEVER_SHRINKS = {"latency-rule", "spark-dra", "static"}
PATIENT = {"flink", "managed"}  # an hour, six hours


@pytest.mark.parametrize("name", [name for name in POOL_POLICIES if name not in NEVER_SHRINKS | PATIENT])
def test_under_headgates_controller_a_policy_gives_back_what_is_far_too_much(name):
    """The controller wants to hear so for five minutes, so a policy must go on saying it."""
    spark = VirtualSpark(STEP, lambda now: 100 * now, executors=8, most=12)
    history = closed_loop(spark, Settings(objective=KeepUp(headroom=0.1), most=12), pool_policy(name), until=2400.0)
    assert history.moments[-1].executors < 8


@pytest.fixture(scope="module")
def slow_job():
    """Batches of a real run that falls behind, on two executors of which one has most of the state."""
    log = Path(__file__).parents[1] / "examples" / "slow-job" / "slow.zstd"
    return list(read_batches(read_events(str(log))))


def test_the_signals_of_a_real_job_that_falls_behind_say_so(slow_job):
    seen = pool_signals(slow_job, 2, 1)
    assert seen.instances == 2
    assert 0 < seen.busy < seen.busiest < 1
    assert seen.taken < seen.came
    assert seen.waiting > 0
    assert seen.pressure > 20


@pytest.mark.parametrize("name", POOL_POLICIES)
def test_every_policy_answers_on_the_batches_of_a_real_run(name, slow_job):
    chosen = pool_policy(name)
    memory = chosen.start()
    for place, batch in enumerate(slow_job, start=1):
        evidence = Evidence(tuple(slow_job[:place]), batch.executors, 1)
        memory, answer = chosen.size(memory, evidence, Freshness(20.0), (batch.began + batch.duration) / 1000)
        assert 1 <= answer.executors <= 100
