"""Where a controller could get stuck, forget a person's word, or act on a query that is gone."""

import msgspec
import pytest

from headgate.control.actions import Layout, Restart, SetExecutors, SpreadBins
from headgate.control.events import ActionFailed, BatchSeen, ClusterSeen, Command, Tick
from headgate.control.reducer import step
from headgate.control.said import Failed, Short, Undone, Unjudged
from headgate.control.settings import Period, Settings
from headgate.control.state import Plan, State
from headgate.model.microbatch import Executor
from headgate.policies.capacity import CapacityPolicy
from headgate.policies.pool import PoolAnswer
from headgate.policies.static import Static
from headgate.simulation.closed_loop import closed_loop
from headgate.simulation.virtual_spark import VirtualJob, VirtualOperator, VirtualSpark

JOB = VirtualJob((VirtualOperator("map", 8, fixed=0.1, per_record=0.004),), trigger=10.0)
SETTINGS = Settings(most=8, down_stretch=60.0)


def executors(count):
    return tuple(Executor(str(n), "host", 1) for n in range(count))


def after(state, *events, settings=SETTINGS, policy=None):
    """The state after these, and all that was done and said."""
    actions, said = [], []
    for event in events:
        state, more, words = step(state, event, settings, policy or Static())
        actions += more
        said += words
    return state, actions, said


def under_way(before, then, arrived=None, **given):
    return State(
        executors=executors(before), plan=Plan(1, 0.0, before, then, None, 5.0, 100.0, 100.0, arrived), **given
    )


def test_executors_that_take_their_time_to_leave_are_no_shortage():
    state, actions, said = after(under_way(3, 1), Tick(SETTINGS.patience + 1))
    assert (actions, said) == ([], [])
    assert state.plan is not None
    state, actions, said = after(state, Tick(20 * SETTINGS.patience))
    assert state.plan is None
    assert [type(one) for one in said] == [Failed]


def test_executors_that_do_not_come_are_one():
    _, actions, said = after(under_way(1, 3), Tick(SETTINGS.patience + 1))
    assert said == [Short(3, 1)]
    assert actions == [SetExecutors(1, 1)]  # what was asked for is taken back


def test_a_plan_that_nothing_can_be_said_about_comes_to_its_end_all_the_same():
    state, _, said = after(under_way(1, 3, arrived=10.0), Tick(10.0 + SETTINGS.judging + 1))
    assert state.plan is None
    assert said == [Unjudged(1)]


def test_a_persons_word_counts_while_a_plan_is_only_being_judged_but_not_before_its_executors_are_there():
    _, actions, said = after(under_way(1, 3), Command(1.0, "scale", 2))
    assert actions == []
    assert "plan 1 is under way" in str(said[0])
    _, actions, _ = after(under_way(3, 3, arrived=1.0, plans=1), Command(2.0, "scale", 2))
    assert actions == [SetExecutors(2, 2)]


def test_advice_is_carried_out_when_it_is_approved_though_acting_was_not_asked_for():
    advising = msgspec.structs.replace(SETTINGS, mode="advise")
    state = State(executors=executors(1), proposal=4)
    _, actions, _ = after(state, Command(1.0, "approve"), settings=advising)
    assert actions == [SetExecutors(1, 4)]


def test_a_restart_is_handed_on_with_what_it_changes():
    _, actions, said = after(State(executors=executors(1)), Command(1.0, "restart", layout=Layout({"parse": 6})))
    assert actions == [Restart(1, Layout({"parse": 6}))]
    assert str(said[0]) == "plan 1: restart with parse=6"


def stateful_batches(count=3):
    job = VirtualJob((VirtualOperator("count", 8, fixed=0.1, per_record=0.004, stateful=True),), trigger=10.0)
    spark = VirtualSpark(job, lambda at: 100 * at, executors=1)
    return tuple(spark.run_batch() for _ in range(count))


def test_state_is_moved_by_word_all_of_it_or_bin_by_bin():
    state = State(executors=executors(2), batches={"virtual": stateful_batches()}, plans=4)
    _, actions, said = after(state, Command(1.0, "move", strategy="fluid"))
    assert actions == [SpreadBins(5, "virtual", "fluid", {})]
    assert str(said[0]) == "plan 5: move all bins to where they are even"
    _, actions, said = after(state, Command(1.0, "move", bins={3: "1", 7: "0"}))
    assert actions == [SpreadBins(5, "virtual", None, {3: "1", 7: "0"})]
    assert str(said[0]) == "plan 5: move bin 3 to executor 1, bin 7 to executor 0"


def test_bins_are_not_moved_where_there_are_none_or_where_it_is_not_clear_whose():
    _, actions, said = after(State(executors=executors(2)), Command(1.0, "move"))
    assert (actions, "nothing to move" in str(said[0])) == ([], True)
    two = State(executors=executors(2), batches={"one": stateful_batches(), "other": stateful_batches()})
    _, actions, said = after(two, Command(1.0, "move", bins={3: "1"}))
    assert (actions, "2 queries keep state" in str(said[0])) == ([], True)
    _, actions, _ = after(two, Command(1.0, "move"))
    assert [one.query for one in actions] == ["one", "other"]


def test_what_fails_is_said_also_when_no_plan_is_under_way():
    _, _, said = after(State(executors=executors(1)), ActionFailed(1.0, 7, "no such call"))
    assert said == [Failed(7, "no such call")]


@pytest.mark.parametrize("settings", [
    msgspec.structs.replace(SETTINGS, off=(Period(0.0, 1e6),)),
    msgspec.structs.replace(SETTINGS, mode="advise"),
])  # fmt: skip
def test_executors_that_are_lost_are_not_asked_for_where_nothing_may_be_done(settings):
    state = State(executors=executors(3), desired=3)
    _, actions, _ = after(state, ClusterSeen(1.0, executors(2)), settings=settings)
    assert actions == []
    _, actions, _ = after(state, ClusterSeen(1.0, executors(2)))
    assert actions == [SetExecutors(1, 3)]


class Always(msgspec.Struct, frozen=True):
    executors: int
    name: str = "always"

    def start(self):
        return None

    def size(self, memory, evidence, objective, now):
        return memory, PoolAnswer(self.name, self.executors)


def test_what_a_person_wanted_is_not_undone_however_bad_it_is():
    # Eight at once, and every task takes ten times as long.
    crowded = msgspec.structs.replace(JOB, slow=lambda at_once: 1.0 if at_once <= 2 else 10.0)
    spark = VirtualSpark(crowded, lambda at: 100 * at, executors=2)
    state, said = State(), []
    for number in range(40):
        batch = spark.run_batch()
        events = [ClusterSeen(spark.now, spark.executors()), BatchSeen(spark.now, batch, 10.0)]
        if number == 8:
            events.append(Command(spark.now, "scale", 8))
        for event in events:
            state, actions, words = step(state, event, SETTINGS, Static())
            said += words
            for action in actions:
                spark.set_executors(action.executors)
    assert len(spark.executors()) == 8
    assert not [one for one in said if isinstance(one, Undone)]


@pytest.mark.parametrize("trigger", [50.0, 120.0, 400.0])
def test_it_shrinks_whatever_the_interval_of_batches_is(trigger):
    job = msgspec.structs.replace(JOB, trigger=trigger)
    spark = VirtualSpark(job, lambda at: 20 * at, executors=4)
    history = closed_loop(spark, Settings(most=8), CapacityPolicy(), until=40 * trigger)
    assert history.moments[-1].executors == 1


def test_a_query_that_has_gone_is_forgotten_and_no_longer_counts():
    spark = VirtualSpark(JOB, lambda at: 100 * at, executors=2)
    state = State()
    other = msgspec.structs.replace(spark.run_batch(), query="other", name="other")
    state, _, _ = after(state, ClusterSeen(spark.now, spark.executors()), BatchSeen(spark.now, other, 10.0))
    assert set(state.batches) == {"other"}
    while spark.now < SETTINGS.forgotten + 100:
        state, _, _ = after(state, BatchSeen(spark.now, spark.run_batch(), 10.0))
    assert set(state.batches) == {"virtual"}


def test_a_long_interval_is_not_taken_for_silence():
    spark = VirtualSpark(msgspec.structs.replace(JOB, trigger=300.0), lambda at: 10 * at, executors=1)
    state, _, said = after(State(), ClusterSeen(0.0, spark.executors()))
    for _ in range(3):
        batch = spark.run_batch()
        state, _, said = after(state, BatchSeen(spark.now, batch, 300.0))
    _, _, said = after(state, Tick(spark.now + 250.0))
    assert said == []
    _, _, said = after(state, Tick(spark.now + 1000.0))
    assert "no batch for 1000 s" in str(said[0])
