"""The controller over hours and days, on a virtual Spark: what it does, how often, and what it says."""

from collections import Counter

import msgspec
import numpy as np
import pytest

from headgate.control.events import ActionFailed, BatchSeen, ClusterSeen, Command, Tick
from headgate.control.reducer import step
from headgate.control.said import AsPredicted, DidNotHelp, Lost, Planned, Proposed, Short, Undone, WaitingUntold
from headgate.control.settings import Period, Settings
from headgate.control.state import State
from headgate.model.objective import CatchUp, Freshness, KeepUp
from headgate.policies.capacity import CapacityPolicy
from headgate.policies.pool import Evidence, PoolAnswer
from headgate.policies.shared_slots import SharedSlots
from headgate.policies.static import Static
from headgate.simulation.closed_loop import closed_loop
from headgate.simulation.virtual_spark import VirtualJob, VirtualOperator, VirtualSpark

HOUR, DAY = 3600.0, 86400.0

# A map of 16 tasks (0.1 s and 4 ms a record) and a count of 8 bins; every 10 s. At 250 records/s a batch has 2,500:
# 11.6 s of map, 0.8 + 1.25 s of count, 0.3 s of driver. Two executors 7.2 s, one 14 s.
JOB = VirtualJob(
    (
        VirtualOperator("map", 16, fixed=0.1, per_record=0.004),
        VirtualOperator("count", 8, fixed=0.1, per_record=0.0005, feeders=(0,), stateful=True),
    ),
    trigger=10.0,
    noise=0.1,
)
SETTINGS = Settings(objective=KeepUp(headroom=0.1), most=16)


def constant(rate):
    return lambda at: rate * at


def stepping(before, after, at):
    return lambda now: before * min(now, at) + after * max(0.0, now - at)


def run(job=JOB, arrived=None, settings=SETTINGS, until=2 * HOUR, policy=None, executors=1, **given):
    loop = {key: given.pop(key) for key in ("meddle", "seen") if key in given}
    spark = VirtualSpark(job, arrived or constant(250), executors=executors, **given)
    return closed_loop(spark, settings, policy or CapacityPolicy(), until=until, **loop)


def least(rate, job=JOB, headroom=0.1, most=16):
    """The fewest executors whose batches, run for real on the virtual engine, fit the interval; by trying them all."""
    for executors in range(1, most + 1):
        spark = VirtualSpark(job, constant(rate * (1 + headroom)), executors=executors)
        spark.spread_bins()
        took = [spark.run_batch().duration / 1000 for _ in range(8)][4:]
        if np.median(took) <= job.trigger:
            return executors
    raise AssertionError("no number of executors does it")


@pytest.mark.parametrize(("rate", "start"), [(250, 1), (800, 1), (250, 12), (1200, 3)])
def test_from_under_and_from_over_one_move_leads_to_the_least_that_works(rate, start):
    history = run(arrived=constant(rate), executors=start)
    assert [executors for _, executors in history.moves] == [least(rate)]


def test_a_spike_of_one_batch_moves_nothing():
    def spiked(now):
        return 250 * now + (2000 if now > HOUR else 0)  # what comes in 8 s, all at once

    history = run(arrived=spiked)
    assert len(history.moves) == 1
    assert history.moves[0][0] < HOUR


def test_a_day_of_constant_load_with_noise_is_one_move():
    history = run(until=DAY, job=msgspec.structs.replace(JOB, noise=0.2))
    assert len(history.moves) == 1


def test_a_paused_controller_moves_nothing():
    paused = step(State(), Command(0.0, "pause"), SETTINGS, CapacityPolicy())
    assert paused.state.paused
    assert str(paused.said[0]) == "nothing is changed: paused"


def test_ds2_for_shared_slots_adds_up_useful_time():
    spark = VirtualSpark(msgspec.structs.replace(JOB, noise=0.0), constant(250), executors=2)
    seen = tuple(spark.run_batch() for _ in range(8))
    _, answer = SharedSlots().size(None, Evidence(seen, spark.executors(), 1), KeepUp(), 0.0)
    # 2,500 records in 10 s: 16 x 0.1 + 10 s of map, 8 x 0.1 + 1.25 s of count: 13.65 s of work every 10 s.
    assert answer.need == pytest.approx(1.365, rel=0.01)
    assert answer.executors == 2


def test_a_prediction_that_was_right_is_said_to_be():
    said = Counter(type(one).__name__ for one in run().said)
    assert said["Planned"] == said["AsPredicted"] == 1


def test_an_executor_lost_every_hour_is_asked_for_again_and_nothing_else_changes():
    lost_at = []

    def lose(spark):
        if spark.now // HOUR > len(lost_at):
            lost_at.append(spark.now)
            spark.lose_executor()

    history = run(until=6.5 * HOUR, meddle=lose)
    assert len(lost_at) == 6
    assert sum(isinstance(one, Lost) for one in history.said) == 6
    assert {executors for _, executors in history.moves} == {least(250)}
    assert history.moments[-1].executors == least(250)


def test_where_slots_get_in_each_others_way_it_settles_where_more_would_not_help():
    # Two cores: beyond two tasks at once, each takes as much longer. No number of executors keeps up at this rate.
    crowded = msgspec.structs.replace(JOB, slow=lambda at_once: max(1.0, at_once / 2))
    history = run(job=crowded, arrived=constant(400), until=4 * HOUR)
    assert len(history.moves) <= 4
    assert not [at for at, _ in history.moves if at > HOUR]


@pytest.mark.parametrize(
    "broken",
    [
        {"duration": -5},
        {"duration": 0},
        {"input_rows": -1},
        {"number": 0},
        {"began": -(10**9)},
    ],
)
def test_nonsense_moves_nothing_is_warned_of_once_and_goes_by_itself(broken):
    def seen(batch):
        if 200 <= batch.number < 260:
            return msgspec.structs.replace(batch, **broken)
        return batch

    history = run(seen=seen, executors=4, settings=msgspec.structs.replace(SETTINGS, down_stretch=1000.0))
    during = [one for m in history.moments if 200 <= m.batch.number < 260 for one in m.said]
    assert [type(one).__name__ for one in during].count("Ignored") == 1
    assert not [one for one in during if isinstance(one, Planned)]
    assert history.moments[-1].executors == least(250)


def test_silence_scales_nothing_down_and_is_warned_of_once():
    def seen(batch):
        return None if 60 <= batch.number < 300 else batch

    history = run(seen=seen, executors=8)
    during = [one for m in history.moments if 60 <= m.batch.number < 300 for one in m.said]
    assert [type(one).__name__ for one in during] == ["Stale"]
    assert [executors for at, executors in history.moves if 600 < at < 3000] == []
    assert history.moments[-1].executors == least(250)


def test_bounds_hold_in_both_directions():
    up = run(arrived=constant(1500), settings=msgspec.structs.replace(SETTINGS, most=4))
    assert up.moments[-1].executors == 4
    down = run(arrived=constant(50), executors=6, settings=msgspec.structs.replace(SETTINGS, least=3))
    assert down.moments[-1].executors == 3


def test_advice_changes_nothing_until_it_is_approved():
    settings = msgspec.structs.replace(SETTINGS, mode="advise")
    history = run(arrived=constant(900), settings=settings, until=600.0)
    assert history.moves == []
    proposal = [one for one in history.said if isinstance(one, Proposed)][-1]
    assert proposal.executors == pytest.approx(least(900), abs=1)
    acting = msgspec.structs.replace(SETTINGS, mode="act")
    after = step(history.state, Command(600.0, "approve"), acting, CapacityPolicy())
    assert after.actions[0].executors == proposal.executors


def test_an_action_that_fails_ends_the_plan_and_says_why():
    state, executors = State(), VirtualSpark(JOB, constant(900)).executors()
    spark = VirtualSpark(JOB, constant(900))
    state = step(state, ClusterSeen(0.0, executors), SETTINGS, CapacityPolicy()).state
    for _ in range(12):
        state, actions, _ = step(state, BatchSeen(spark.now, spark.run_batch()), SETTINGS, CapacityPolicy())
        if actions:
            break
    failed = step(state, ActionFailed(spark.now, state.plan.id, "no such call"), SETTINGS, CapacityPolicy())
    assert failed.state.plan is None
    assert str(failed.said[0]) == "plan 1 could not be carried out: no such call"


def test_the_tick_alone_never_decides():
    assert step(State(), Tick(10.0), SETTINGS, CapacityPolicy()).said == ()


def test_said_predictions_are_close_to_what_came():
    history = run(arrived=constant(800))
    (outcome,) = [one for one in history.said if isinstance(one, AsPredicted)]
    assert outcome.measured == pytest.approx(outcome.expected, rel=0.1)


def test_a_step_is_followed_in_one_move():
    history = run(arrived=stepping(250, 800, at=HOUR), until=3 * HOUR)
    assert [executors for _, executors in history.moves] == [least(250), least(800)]
    assert HOUR < history.moves[1][0] < HOUR + 300


def growing(now):
    """From 250 records/s to 1,450/s in 40 minutes, then level."""
    rising, level = min(now, 2400.0), max(0.0, now - 2400.0)
    return 250 * rising + 0.25 * rising**2 + 1450 * level


def test_a_load_that_grows_for_long_is_followed_in_fewer_moves_by_looking_ahead():
    blind = run(arrived=growing, settings=msgspec.structs.replace(SETTINGS, ahead=0.0), executors=2, until=2400.0)
    ahead = run(arrived=growing, executors=2, until=2400.0)
    assert len(ahead.moves) < len(blind.moves)
    assert ahead.moves[-1][1] >= blind.moves[-1][1]


def test_after_a_load_has_grown_and_is_level_nothing_goes_up_again_that_had_gone_down():
    sizes = [2, *(executors for _, executors in run(arrived=growing, executors=2, until=6 * HOUR).moves)]
    highest = sizes.index(max(sizes))
    assert sizes[: highest + 1] == sorted(sizes[: highest + 1])
    assert sizes[highest:] == sorted(sizes[highest:], reverse=True)


def test_half_the_load_is_followed_in_one_move():
    history = run(arrived=stepping(900, 450, at=HOUR), until=3 * HOUR)
    assert len(history.moves) == 2
    assert least(450) <= history.moves[-1][1] <= least(450) + 1


def test_a_cluster_that_gives_less_is_a_state_with_a_name_and_not_thrashed_for():
    history = run(arrived=constant(1200), until=4 * HOUR, most=5)
    short = [one for one in history.said if isinstance(one, Short)]
    assert {one.observed for one in short} == {5}
    assert "the cluster gives 5; making do with those" in str(short[0])
    assert history.moments[-1].executors == 5
    # Asked again every ten minutes at the most, and taken back each time.
    assert len(short) <= 4 * 6


def test_when_the_cluster_has_room_again_the_rest_is_asked_for():
    def room(spark):
        spark.most = 5 if spark.now < HOUR else 100

    history = run(arrived=constant(800), until=3 * HOUR, most=5, meddle=room, executors=5)
    assert least(800) <= history.moments[-1].executors <= least(800) + 1


@pytest.mark.parametrize("seed", range(3))
def test_at_the_edge_between_two_sizes_it_does_not_swing(seed):
    edge = next(rate for rate in range(250, 2000, 10) if least(rate) < least(rate + 10))
    history = run(arrived=constant(edge), until=DAY / 4, seed=seed)
    assert len(history.moves) <= 3
    assert not [at for at, _ in history.moves if at > 2 * HOUR]


class WrongAtFirst(msgspec.Struct, frozen=True):
    """Asks for half of what is needed, and expects it to do; from the second plan on it is right."""

    name: str = "wrong at first"

    def start(self):
        return 1

    def size(self, memory, evidence, objective, now):
        _, answer = CapacityPolicy().size(None, evidence, objective, now)
        if memory == len(evidence.executors):  # still where it began
            return memory, msgspec.structs.replace(answer, executors=max(2, answer.executors // 2))
        return memory, answer


def test_a_policy_that_is_wrong_by_half_at_first_ends_settled():
    history = run(arrived=constant(900), policy=WrongAtFirst(), until=3 * HOUR)
    assert [executors for _, executors in history.moves] == [least(900) // 2, pytest.approx(least(900), abs=1)]
    said = Counter(type(one).__name__ for one in history.said)
    assert said["Planned"] == 2


def test_more_executors_that_make_batches_longer_are_given_back_and_not_asked_for_again():
    class Greedy(msgspec.Struct, frozen=True):
        name: str = "greedy"

        def start(self):
            return None

        def size(self, memory, evidence, objective, now):
            return memory, PoolAnswer(self.name, 8)

    # Eight at once, and every task takes six times as long: four times as many, and yet slower than two.
    crowded = msgspec.structs.replace(JOB, slow=lambda at_once: 1.0 if at_once <= 2 else 6.0)
    history = run(job=crowded, policy=Greedy(), executors=2, until=3 * HOUR)
    assert [executors for _, executors in history.moves] == [8, 2]
    assert sum(isinstance(one, Undone) for one in history.said) == 1
    assert "8 executors made things worse before" in str(history.said[-1])


def test_within_an_excluded_period_nothing_moves_and_after_it_everything_is_made_good():
    off = msgspec.structs.replace(SETTINGS, off=(Period(0.0, HOUR),))
    history = run(arrived=constant(400), settings=off, until=2 * HOUR)
    assert history.moves[0][0] >= HOUR
    assert least(400) <= history.moments[-1].executors <= least(400) + 1


def test_a_freshness_bound_needs_more_than_keeping_up():
    fresh = msgspec.structs.replace(SETTINGS, objective=Freshness("14s"))
    # Results within 14 s of a record's arrival: batches of at most 4 s every 10 s; keeping up alone needs 2.
    history = run(settings=fresh)
    last = np.median([m.batch.duration / 1000 for m in history.moments[-20:]])
    assert history.moments[-1].executors > least(250)
    assert last <= 4.0


def test_where_sources_do_not_tell_what_waits_catching_up_is_keeping_up_with_a_fifth_to_spare_and_is_said_so_once():
    # 350 a second: 3,500 are 1.6 + 14 s of map, 0.8 + 1.75 s of count: 9.4 s on two executors, which is just enough.
    # A fifth more, 4,200, are 1.6 + 16.8 s and 0.8 + 2.1 s: 10.95 s on two; on three it is less.
    exact, settings = (
        msgspec.structs.replace(JOB, noise=0.0),
        msgspec.structs.replace(SETTINGS, objective=CatchUp("5m")),
    )
    assert (least(350, exact, headroom=0.0), least(350, exact, headroom=0.2)) == (2, 3)
    history = run(
        exact, constant(350), settings, seen=lambda batch: msgspec.structs.replace(batch, sources=()), until=HOUR
    )
    assert [executors for _, executors in history.moves] == [3]
    (untold,) = [one for one in history.said if isinstance(one, WaitingUntold)]
    assert str(untold) == (
        "virtual: its sources do not tell how much waits; catching up cannot be planned, only keeping up"
    )
    told = run(exact, constant(350), settings, until=HOUR)
    assert not [one for one in told.said if isinstance(one, WaitingUntold)]


class BySize(msgspec.Struct, frozen=True):
    """Eight executors for large batches, two for others; predicts nothing."""

    name: str = "by size"

    def start(self):
        return None

    def size(self, memory, evidence, objective, now):
        return memory, PoolAnswer(self.name, 8 if evidence.batches[-1].input_rows > 2000 else 2)


# A single task, 0.1 s and 2 ms a record, and 0.3 s of driver: 3,000 records take 6.4 s on however many executors.
ONE_TASK = VirtualJob((VirtualOperator("map", 1, fixed=0.1, per_record=0.002),), trigger=10.0)


def up_down_up(rate):
    """300 records a second for an hour, 100 for the next, then this many."""
    return lambda at: 300 * min(at, HOUR) + 100 * min(max(0.0, at - HOUR), HOUR) + rate * max(0.0, at - 2 * HOUR)


def test_what_did_not_help_is_said_and_not_repeated_by_a_policy_that_predicts_nothing_either():
    history = run(ONE_TASK, up_down_up(300), policy=BySize(), executors=2, until=3 * HOUR)
    assert [executors for _, executors in history.moves] == [8, 2]
    (outcome,) = [one for one in history.said if isinstance(one, DidNotHelp)]
    assert (outcome.plan, outcome.before, outcome.after) == (1, pytest.approx(6.4), pytest.approx(6.4))
    assert str(outcome).startswith(
        "plan 1 did not help (as many records took 6.40 s and take 6.40 s); not to be repeated: "
        "too few source partitions: map reads with 1 tasks, 8 could run"
    )
    assert str(history.said[-1]) == "nothing is changed: 8 executors did not help before"


def test_what_did_not_help_is_tried_again_where_far_more_comes():
    # 450 a second are half as much again as when it did not help.
    history = run(ONE_TASK, up_down_up(450), policy=BySize(), executors=2, until=3 * HOUR)
    assert [executors for _, executors in history.moves] == [8, 2, 8]


@pytest.mark.parametrize("seed", range(3))
def test_more_executors_for_a_query_that_kept_up_all_the_time_have_helped_where_batches_are_shorter(seed):
    # 3,000 records are 1.6 + 12 s of map and 0.8 + 1.5 s of count: 8.3 s on two executors, every 10 s; 2.3 s on eight.
    history = run(arrived=up_down_up(300), policy=BySize(), executors=2, until=3 * HOUR, seed=seed)
    assert [executors for _, executors in history.moves] == [8, 2, 8]
    assert not [one for one in history.said if isinstance(one, DidNotHelp)]


@pytest.mark.parametrize("rate", [250, 400, 600, 800, 1200])
def test_what_the_model_asks_for_has_helped(rate):
    history = run(arrived=stepping(rate / 2, rate, at=HOUR), executors=1)
    assert [one for one in history.said if isinstance(one, Planned)]
    assert not [one for one in history.said if isinstance(one, DidNotHelp)]


def test_executors_that_a_person_wanted_or_that_replace_who_was_lost_need_not_help():
    spark, state, said = VirtualSpark(ONE_TASK, constant(300), executors=2), State(), []
    while spark.now < HOUR:
        batch = spark.run_batch()
        if spark.number == 200:
            spark.lose_executor()
        events = [ClusterSeen(spark.now, spark.executors()), BatchSeen(spark.now, batch, 10.0)]
        if spark.number == 20:
            events.append(Command(spark.now, "scale", 8))
        for event in events:
            state, actions, words = step(state, event, SETTINGS, Static())
            said += words
            for action in actions:
                spark.set_executors(action.executors)
    assert [str(one) for one in said if isinstance(one, Planned | Lost)] == [
        "plan 1: 2 -> 8 executors",
        "executors lost: 7 of 8 there; asking for the others again",
    ]
    assert len(spark.executors()) == 8
    assert not [one for one in said if isinstance(one, DidNotHelp)]
