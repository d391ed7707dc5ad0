"""A policy with timing of its own is followed on an engine as it is in the lab's virtual runs."""

import pytest

from headgate.control.actions import SetExecutors, SpreadBins
from headgate.control.events import ActionFailed
from headgate.control.settings import Settings
from headgate.lab.following import followed_at_once
from headgate.lab.real_following import FollowedAtOnce
from headgate.model.objective import KeepUp
from headgate.policies.pool_registry import POOL_POLICIES, pool_policy
from headgate.runtime.entries import Carried, Cluster, Intent, Seen
from headgate.simulation.virtual_engine import VirtualEngine
from headgate.simulation.virtual_job import VirtualJob, VirtualOperator
from headgate.simulation.virtual_spark import VirtualSpark
from headgate.workloads.load import Step

JOB = VirtualJob(
    (
        VirtualOperator("map", 16, 0.05, 0.02),
        VirtualOperator("count", 16, 0.05, 0.01, (0,), stateful=True),
    ),
    trigger=10.0,
)
SETTINGS = Settings(objective=KeepUp(0.2), least=1, most=12)
LOAD = Step(20.0, 120.0, at=600.0, then=((1800.0, 30.0),))
UNTIL = 3600.0


def spark():
    virtual = VirtualSpark(JOB, LOAD.records, executors=2, joining=20.0)
    virtual.spread_bins()
    return virtual


@pytest.mark.parametrize("policy", sorted(name for name, one in POOL_POLICIES.items() if one.own_timing))
def test_on_an_engine_the_same_executors_are_asked_for_at_the_same_batches(policy):
    alone, moves = spark(), []
    asked = alone.asked
    for batch in followed_at_once(alone, pool_policy(policy), SETTINGS, UNTIL):
        if alone.asked != asked:
            asked = alone.asked
            moves.append((batch.number, asked))

    engine, told = VirtualEngine(spark()), []
    follower = FollowedAtOnce(engine, pool_policy(policy), SETTINGS, told.append, clock=lambda: engine.spark.now)
    while engine.spark.now < UNTIL:
        follower.turn(0.0)
    batches, found = 0, []
    for entry in told:
        batches += isinstance(entry, Seen)
        if isinstance(entry, Intent) and isinstance(entry.action, SetExecutors):
            found.append((batches - 1, entry.action.executors))
    assert found == moves
    assert moves or policy == "static"


def test_an_executor_that_is_lost_and_will_be_replaced_is_not_asked_for_again_and_bins_go_where_executors_are():
    engine, told = VirtualEngine(spark()), []
    content = Step(20.0, 20.0, at=600.0)
    engine.spark.arrived = content.records
    follower = FollowedAtOnce(engine, pool_policy("static"), SETTINGS, told.append, clock=lambda: engine.spark.now)
    follower.turn(0.0)
    engine.spark.lose_executor()
    for _ in range(3):
        follower.turn(0.0)
    assert [len(one.executors) for one in told if isinstance(one, Cluster)] == [2, 1]
    assert [type(one.action) for one in told if isinstance(one, Intent)] == [SpreadBins]


class FailsOnce(VirtualEngine):
    """It cannot carry out the first wish for executors, and says so."""

    failed = False

    def carry_out(self, action):
        if isinstance(action, SetExecutors) and not self.failed:
            self.failed = True
            self.carried_nothing = ActionFailed(self.spark.now, action.plan, "the cluster is closed")
            return
        super().carry_out(action)

    def happened(self):
        told, self.carried_nothing = getattr(self, "carried_nothing", None), None
        return [told] if told else super().happened()


def test_what_could_not_be_carried_out_is_asked_for_again_and_told():
    engine, told = FailsOnce(spark()), []
    follower = FollowedAtOnce(engine, pool_policy("threshold"), SETTINGS, told.append, clock=lambda: engine.spark.now)
    while engine.spark.now < 900.0:
        follower.turn(0.0)
    asked = [one.action.executors for one in told if isinstance(one, Intent) and isinstance(one.action, SetExecutors)]
    assert asked[:2] == [3, 3]
    assert "failed: the cluster is closed" in [one.what for one in told if isinstance(one, Carried)]
    assert len(engine.spark.executors()) >= 3
