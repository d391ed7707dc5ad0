"""Where a controller could get stuck, forget a person's word, or act on a query that is gone."""

import msgspec
import pytest

from headgate.control.actions import Layout, Restart, SetExecutors, SpreadBins, StopAsking
from headgate.control.events import ActionFailed, BatchSeen, ClusterSeen, Command, Tick
from headgate.control.reducer import step
from headgate.control.said import AsPredicted, DidNotHelp, Failed, Short, Undone, Unjudged
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
    assert actions == [StopAsking(1)]  # nobody lets them go after that, to have them asked for again


def test_executors_that_do_not_come_are_one():
    _, actions, said = after(under_way(1, 3), Tick(SETTINGS.patience + 1))
    assert said == [Short(3, 1)]
    assert actions == [StopAsking(1)]  # what was asked for is taken back; who is there stays


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


def there(*ids):
    return tuple(Executor(id, "host", 1) for id in ids)


def test_state_is_spread_over_an_executor_that_takes_the_place_of_one_that_was_lost():
    judging = under_way(2, 2, arrived=1.0, plans=4)
    state = msgspec.structs.replace(judging, executors=there("0", "1"), batches={"virtual": stateful_batches()})
    state, actions, said = after(state, ClusterSeen(2.0, there("0")), ClusterSeen(3.0, there("0", "7")))
    assert actions == [SpreadBins(5, "virtual")]
    assert [str(one) for one in said] == [
        "plan 5: executor 7 joined, which no plan waits for; state is spread over all executors"
    ]
    assert after(state, ClusterSeen(4.0, there("0", "7")))[1:] == ([], [])


def test_executors_that_a_plan_waits_for_or_that_were_there_first_are_no_strangers():
    kept = {"virtual": stateful_batches()}
    waiting = msgspec.structs.replace(under_way(1, 3), executors=there("0"), batches=kept)
    assert after(waiting, ClusterSeen(1.0, there("0", "1")))[1] == []
    assert after(State(batches=kept), ClusterSeen(1.0, there("0", "1")))[1] == []


def test_state_is_not_touched_for_a_stranger_where_only_advice_is_wanted_or_all_is_paused():
    state = State(executors=there("0"), batches={"virtual": stateful_batches()})
    joined = ClusterSeen(1.0, there("0", "1"))
    assert after(state, joined)[1] == [SpreadBins(1, "virtual")]
    assert after(state, joined, settings=msgspec.structs.replace(SETTINGS, mode="advise"))[1] == []
    paused, actions, _ = after(msgspec.structs.replace(state, paused=True), joined)
    assert actions == []
    _, actions, _ = after(paused, Command(2.0, "resume"), ClusterSeen(3.0, there("0", "1")))
    assert actions == [SpreadBins(1, "virtual")]


def test_executors_that_came_where_more_were_asked_for_get_their_share_of_the_state():
    waiting = msgspec.structs.replace(
        under_way(1, 3, plans=1), executors=there("0"), batches={"virtual": stateful_batches()}
    )
    late = SETTINGS.patience + 1
    _, actions, _ = after(waiting, ClusterSeen(1.0, there("0", "1")), Tick(late), ClusterSeen(late, there("0", "1")))
    assert actions == [StopAsking(1), SpreadBins(2, "virtual")]


def test_state_is_not_spread_while_the_query_is_being_started_again_but_afterwards():
    state = State(executors=there("0"), batches={"virtual": stateful_batches()})
    restarting, _, _ = after(state, Command(1.0, "restart", layout=Layout({"parse": 6})))
    restarting, actions, _ = after(restarting, ClusterSeen(2.0, there("0", "1")))
    assert actions == []
    over = msgspec.structs.replace(restarting, restarting=None)
    assert after(over, ClusterSeen(3.0, there("0", "1")))[1] == [SpreadBins(2, "virtual")]


def test_state_is_not_moved_by_word_while_the_query_is_being_started_again():
    state = State(executors=executors(2), batches={"virtual": stateful_batches()}, plans=4)
    restarting, _, _ = after(state, Command(1.0, "restart", layout=Layout({"parse": 6})))
    _, actions, said = after(restarting, Command(2.0, "move"))
    assert actions == []
    assert "restart 5 is under way; say it again when that is over" in str(said[0])


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


def test_a_shrink_that_fails_does_not_call_back_who_is_gone():
    state, actions, said = after(under_way(6, 2), ActionFailed(1.0, 1, "executor 5 did not leave"))
    assert (state.plan, state.desired, said) == (None, 2, [Failed(1, "executor 5 did not leave")])
    _, actions, said = after(state, ClusterSeen(2.0, executors(2)))
    assert (actions, said) == ([], [])


def test_bins_that_do_not_move_leave_what_is_wanted_as_it_is():
    state, _, said = after(under_way(4, 4, arrived=0.5, desired=4), ActionFailed(1.0, 1, "no such bin"))
    assert (state.plan.id, state.desired, said) == (1, 4, [Failed(1, "no such bin")])


class ByQuery(msgspec.Struct, frozen=True):
    """So many executors for each query by name; and so many where there must be something to spare."""

    plain: dict[str, int]
    strict: dict[str, int]
    name: str = "by query"

    def start(self):
        return None

    def size(self, memory, evidence, objective, now):
        needs = self.plain if objective == SETTINGS.objective else self.strict
        return memory, PoolAnswer(self.name, needs[evidence.batches[-1].query])


@pytest.mark.parametrize(
    ("plain", "strict", "there", "then"),
    [
        ((2, 2), (3, 3), 4, 4),  # enough, though not with something to spare
        ((3, 1), (5, 1), 4, 4),
        ((1, 1), (1, 2), 4, 3),  # fewer do, with something to spare
        ((1, 1), (3, 3), 4, 4),
        ((4, 2), (5, 3), 4, 6),
    ],
)
def test_what_several_queries_need_is_added_up_before_it_is_compared(plain, strict, there, then):
    policy = ByQuery(dict(zip("ab", plain, strict=True)), dict(zip("ab", strict, strict=True)))
    spark = VirtualSpark(JOB, lambda at: 100 * at, executors=there)
    state, moves = State(), []
    while spark.now < 600:
        batch = spark.run_batch()
        two = [BatchSeen(spark.now, msgspec.structs.replace(batch, query=query, name=query), 10.0) for query in "ab"]
        state, actions, _ = after(state, ClusterSeen(spark.now, spark.executors()), *two, policy=policy)
        for action in actions:
            if isinstance(action, SetExecutors):
                moves.append(action.executors)
                spark.set_executors(action.executors)
    assert moves == ([then] if then != there else [])


def test_nothing_shrinks_while_one_of_several_queries_is_silent():
    spark = VirtualSpark(JOB, lambda at: 100 * at, executors=4)
    state, actions = State(), []
    while spark.now < 120:
        batch = spark.run_batch()
        two = [BatchSeen(spark.now, msgspec.structs.replace(batch, query=query, name=query), 10.0) for query in "ab"]
        state, more, _ = after(state, ClusterSeen(spark.now, spark.executors()), *two, policy=Always(2))
    while spark.now < SETTINGS.forgotten:  # b no longer speaks; a alone would do with one
        batch = msgspec.structs.replace(spark.run_batch(), query="a", name="a")
        state, more, said = after(state, BatchSeen(spark.now, batch, 10.0), policy=Always(1))
        actions += more
    assert actions == []
    assert "b is silent" in str(said[-1])


def spoken(queries, of, policy, until, state=None, spark=None):
    """One of the queries that run speaks every ten seconds; the state, the moves and what was said."""
    spark, state, moves, said = spark or VirtualSpark(JOB, lambda at: 100 * at, executors=4), state or State(), [], []
    while spark.now < until:
        batch = msgspec.structs.replace(spark.run_batch(), query=of, name=of)
        events = ClusterSeen(spark.now, spark.executors(), queries), BatchSeen(spark.now, batch, 10.0), Tick(spark.now)
        state, actions, words = after(state, *events, policy=policy)
        said += words
        for action in actions:
            if isinstance(action, SetExecutors):
                moves.append(action.executors)
                spark.set_executors(action.executors)
    return spark, state, moves, said


def test_nothing_shrinks_while_a_query_runs_of_which_no_batch_was_ever_seen():
    spark, state, moves, said = spoken(("a", "b"), "a", Always(1), 600.0)
    assert moves == []
    assert "1 executor would do, but a query runs here of which no batch was seen" in str(said[-1])
    assert "2 queries run here of which" in str(spoken(("a", "b", "c"), "a", Always(1), 300.0)[-1][-1])
    assert spoken(("a",), "a", Always(1), 800.0, state, spark)[2] == [1]


def test_a_query_that_grows_waits_for_no_other():
    # b was seen once, which is not enough to say what it needs; a has all the evidence there need be.
    spark = VirtualSpark(JOB, lambda at: 100 * at, executors=4)
    once = BatchSeen(5.0, msgspec.structs.replace(spark.run_batch(), query="b", name="b"), 3600.0)
    state, _, _ = after(State(), ClusterSeen(5.0, spark.executors(), ("a", "b")), once)
    assert spoken(("a", "b"), "a", Always(6), 300.0, state, spark)[2] == [6]
    fewer = VirtualSpark(JOB, lambda at: 100 * at, executors=4)
    fewer.run_batch()
    _, _, moves, said = spoken(("a", "b"), "a", Always(1), 600.0, state, fewer)
    assert moves == []
    assert str(said[-1]) == "b: 0 of 3 warm batches there; waiting for more before deciding"


def test_a_query_that_has_ended_is_not_counted_any_more():
    policy = ByQuery({"a": 1, "b": 3}, {"a": 1, "b": 3})
    spark = VirtualSpark(JOB, lambda at: 100 * at, executors=4)
    state = State()
    while spark.now < 200:
        batch = spark.run_batch()
        two = [BatchSeen(spark.now, msgspec.structs.replace(batch, query=query, name=query), 10.0) for query in "ab"]
        state, actions, _ = after(state, ClusterSeen(spark.now, spark.executors(), ("a", "b")), *two, policy=policy)
        assert actions == []
    _, _, moves, _ = spoken(("a",), "a", policy, 200.0 + SETTINGS.down_stretch + 60, state, spark)
    assert moves == [1]


def test_a_query_that_runs_and_is_never_seen_is_warned_of_once():
    state, _, said = after(State(), ClusterSeen(0.0, executors(2), ("a",)), Tick(SETTINGS.stale), Tick(100.0))
    assert [str(one) for one in said] == [
        "no batch for 100 s; what is known is too old to act on, everything stays as it is"
    ]
    assert after(state, Tick(200.0))[2] == []


def test_what_was_needed_before_a_pause_does_not_count_after_it():
    spark, state, moves, _ = spoken(None, "a", Always(2), 100.0)
    assert moves == []
    state, _, _ = after(state, Command(spark.now, "pause"))
    spark, state, moves, _ = spoken(None, "a", Always(2), 3600.0, state, spark)
    state, _, _ = after(state, Command(spark.now, "resume"))
    assert moves == []
    assert spoken(None, "a", Always(2), 3600.0 + SETTINGS.down_stretch - 15, state, spark)[2] == []


def test_a_query_with_a_long_interval_is_not_forgotten():
    spark = VirtualSpark(JOB, lambda at: 100 * at, executors=2)
    rare = msgspec.structs.replace(spark.run_batch(), query="rare", name="rare")
    state, _, _ = after(State(), ClusterSeen(spark.now, spark.executors()), BatchSeen(spark.now, rare, 1200.0))
    while spark.now < 2 * SETTINGS.forgotten:
        state, _, _ = after(state, BatchSeen(spark.now, spark.run_batch(), 10.0))
    assert set(state.batches) == {"rare", "virtual"}


def warmed_up(settings=SETTINGS, policy=None, until=200.0):
    spark = VirtualSpark(JOB, lambda at: 100 * at, executors=2)
    state = State()
    while spark.now < until:
        batch = spark.run_batch()
        events = (ClusterSeen(spark.now, spark.executors()), BatchSeen(spark.now, batch, 10.0))
        state, _, _ = after(state, *events, settings=settings, policy=policy or Always(2))
    return spark, state


def test_a_batch_from_the_future_is_ignored_and_the_next_one_counts():
    spark, state = warmed_up()
    batch = spark.run_batch()
    ahead = msgspec.structs.replace(batch, began=batch.began + 7_200_000)
    state, _, said = after(state, BatchSeen(spark.now, ahead, 10.0))
    assert "ended 120 minutes after it was seen: a clock is wrong" in str(said[0])
    following = spark.run_batch()
    state, _, _ = after(state, BatchSeen(spark.now, following, 10.0))
    assert state.batches["virtual"][-1].number == following.number


def test_a_clock_that_is_set_back_is_said_and_everything_is_gathered_anew():
    spark, state = warmed_up(until=10_000.0)
    batch = spark.run_batch()
    earlier = msgspec.structs.replace(batch, began=batch.began - 8_000_000)
    state, _, said = after(state, BatchSeen(spark.now - 8000.0, earlier, 10.0))
    assert "the clock was set back by 133 minutes" in str(said[0])
    assert [one.number for one in state.batches["virtual"]] == [batch.number]


def test_what_was_needed_before_a_silence_does_not_count_after_it():
    # Two would do, at every look; the stretch of time that must pass lies within the silence.
    settings = msgspec.structs.replace(SETTINGS, down_stretch=300.0)
    spark = VirtualSpark(JOB, lambda at: 100 * at, executors=4)
    state, actions = State(), []
    while spark.now < 1500:
        batch = spark.run_batch()
        events = [ClusterSeen(spark.now, spark.executors())]
        if not 150 < spark.now < 1200:
            events.append(BatchSeen(spark.now, batch, 10.0))
        state, more, _ = after(state, *events, Tick(spark.now), settings=settings, policy=Always(2))
        actions += [(spark.now, action) for action in more]
        if actions:
            break
    assert not actions or actions[0][0] > 1200 + 0.9 * 300


def test_a_plan_is_not_undone_for_what_happens_long_after_it():
    spark, state = warmed_up(policy=Always(2))
    old = Plan(9, 0.0, 1, 2, 1.0, 1.0, 1e9, 1e3, arrived=spark.now - SETTINGS.judging - 1)
    batch = spark.run_batch()
    slow = msgspec.structs.replace(batch, duration=9000)
    state = msgspec.structs.replace(state, unjudged=old)
    for _ in range(6):
        slow = msgspec.structs.replace(slow, number=slow.number + 1)
        state, actions, said = after(state, BatchSeen(spark.now, slow, 10.0), policy=Always(2))
        assert not [one for one in said if isinstance(one, Undone)]
        assert actions == []


def test_while_a_restart_is_under_way_nothing_else_is_begun():
    spark, state = warmed_up(policy=Always(2))
    state, _, _ = after(state, Command(spark.now, "restart", layout=Layout({"parse": 6})))
    last = spark.run_batch()  # the one that is drained
    state, actions, said = after(state, BatchSeen(spark.now, last, 10.0), policy=Always(8))
    assert (actions, str(said[-1])) == ([], "nothing is changed: restart 1 is under way")
    again = msgspec.structs.replace(spark.run_batch(), run="another")
    state, _, _ = after(state, BatchSeen(spark.now, again, 10.0), policy=Always(8))
    assert state.restarting is None


def test_a_restart_that_does_not_come_is_over_as_well():
    spark, state = warmed_up(policy=Always(2))
    state, _, _ = after(state, Command(spark.now, "restart", layout=Layout({"parse": 6})))
    for _ in range(2):
        state, _, _ = after(state, BatchSeen(spark.now, spark.run_batch(), 10.0))
    assert state.restarting is None


def test_a_restart_before_the_first_batch_does_not_hold_everything_for_long():
    spark = VirtualSpark(JOB, lambda at: 100 * at, executors=2)
    state, _, _ = after(State(), ClusterSeen(0.0, spark.executors()), Command(1.0, "restart", layout=Layout({"p": 6})))
    for _ in range(3):
        state, _, _ = after(state, BatchSeen(spark.now, spark.run_batch(), 10.0))
    assert state.restarting is None


def test_a_job_that_has_lost_all_its_executors_goes_on_asking_for_them():
    spark = VirtualSpark(JOB, lambda at: 100 * at, executors=2)
    for _ in range(2):
        spark.lose_executor()
    spark.set_executors(2)
    spark.stop_asking()
    spark.run_batch()
    assert len(spark.executors()) == 2


@pytest.mark.parametrize(
    ("before", "then", "records", "seconds", "said"),
    [
        (2, 4, 1000, 5.0, (5.0, 5.0)),
        (2, 4, 1000, 4.9, (5.0, 4.9)),  # two per cent
        (2, 4, 1000, 4.8, None),  # four per cent
        (2, 4, 1500, 7.4, (7.5, 7.4)),  # half as many records again, and nearly so much longer
        (2, 4, 1500, 7.0, None),  # larger batches, and a record takes less
        (2, 4, 500, 4.0, None),  # smaller batches, in which a record costs more in any case
        (19, 20, 1000, 4.92, None),  # five per cent at the best, of which a quarter is enough
        (19, 20, 1000, 4.96, (5.0, 4.96)),
        (4, 2, 1000, 5.0, None),  # fewer executors are not to help
    ],
)
def test_whether_a_plan_helped_is_told_from_what_as_many_records_took_before(before, then, records, seconds, said):
    # 1,000 records in 5 s before; five warm batches since.
    spark = VirtualSpark(JOB, lambda at: 100 * at, executors=then)
    seen = tuple(
        msgspec.structs.replace(spark.run_batch(), input_rows=records, duration=round(1000 * seconds)) for _ in range(8)
    )
    plan = Plan(1, 0.0, before, then, None, 5.0, 0.0, 1000.0, arrived=5.0)
    state = State(executors=spark.executors(), batches={"virtual": seen[:-1]}, heard={"virtual": 70.0}, unjudged=plan)
    state, _, words = after(state, BatchSeen(spark.now, seen[-1], 10.0))
    assert [(one.before, one.after) for one in words if isinstance(one, DidNotHelp)] == (
        [] if said is None else [pytest.approx(said)]
    )
    assert len(state.useless) == (said is not None)
    assert state.unjudged is None


def test_what_was_as_predicted_is_said_at_once_and_that_it_did_not_help_when_enough_batches_show_it():
    spark = VirtualSpark(JOB, lambda at: 100 * at, executors=4)
    plan = Plan(1, 0.0, 2, 4, 5.0, 5.0, 1000.0, 1000.0, arrived=0.0)
    state, when = State(executors=spark.executors(), unjudged=plan), {}
    for number in range(1, 13):
        batch = msgspec.structs.replace(spark.run_batch(), input_rows=1000, duration=5000)
        state, _, words = after(state, BatchSeen(spark.now, batch, 10.0))
        when |= {type(one): number for one in words if isinstance(one, AsPredicted | DidNotHelp)}
    assert when == {AsPredicted: 6, DidNotHelp: 8}  # three batches are cold


def test_a_plan_of_whose_executors_one_is_lost_is_not_said_to_have_been_no_help():
    spark = VirtualSpark(JOB, lambda at: 100 * at, executors=3)
    plan = Plan(1, 0.0, 2, 4, None, 5.0, 0.0, 1000.0, arrived=0.0)
    state, said = State(executors=spark.executors(), unjudged=plan, paused=True), []
    for _ in range(12):
        batch = msgspec.structs.replace(spark.run_batch(), input_rows=1000, duration=5000)
        state, _, words = after(state, BatchSeen(spark.now, batch, 10.0))
        said += words
    assert not [one for one in said if isinstance(one, DidNotHelp)]
