"""The oracle finds what trying everything finds, and late means what the page says."""

from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as some

from headgate.lab.oracle import Prices, cheapest, oracle
from headgate.lab.punctuality import Deadline, deadline, lateness
from headgate.lab.truth import needs
from headgate.model.errors import InputError
from headgate.model.objective import CatchUp, Freshness, KeepUp
from headgate.simulation.virtual_job import VirtualJob, VirtualOperator

MAP = VirtualOperator("map", 4, fixed=0.0, per_record=0.1)
JOB = VirtualJob((MAP,), driver=0.0, trigger=10.0)


def by_trying_everything(good, slack, pauses, prices, start):
    """Cost and late steps of the best of all schedules: fewest late steps' weight first, then cost."""
    best = None
    steps, sizes = good.shape
    for chosen in product(range(1, sizes + 1), repeat=steps):
        cost, late, before = 0.0, 0.0, start
        for step, size in enumerate(chosen):
            cost += prices.step * size + prices.added * max(0, size - before) + prices.change * (size != before)
            late += good[step, size - 1] if good[step, size - 1] > 1 else 0.0
            late += 1.0 if pauses[before - 1, size - 1] > slack[step, size - 1] else 0.0
            before = size
        if best is None or (round(late, 6), cost) < (round(best[0], 6), best[1]):
            best = (late, cost)
    return best[1]


@settings(max_examples=150, deadline=None)
@given(some.data())
def test_it_is_the_best_of_all_schedules(data):
    steps, sizes = data.draw(some.integers(1, 5)), data.draw(some.integers(1, 4))
    figure = some.integers(0, 30).map(lambda tenths: tenths / 10)

    def table(rows, columns):
        return np.array([[data.draw(figure) for _ in range(columns)] for _ in range(rows)])

    good, slack, paused = table(steps, sizes), table(steps, sizes), table(sizes, sizes)
    np.fill_diagonal(paused, 0.0)
    prices = Prices(10.0, data.draw(some.sampled_from([0.0, 4.0, 25.0])), data.draw(some.sampled_from([0.0, 7.0])))
    start = data.draw(some.integers(1, sizes))
    found = cheapest(good, slack, paused, prices, start)
    assert found.cost == pytest.approx(by_trying_everything(good, slack, paused, prices, start))


def test_it_grows_ahead_of_need_where_the_first_batch_after_is_slow():
    # The second size is needed from step 2 on. Its first batch takes 3 s more, and there is room for that up to step 1.
    good = np.array([[0.5, 0.2], [0.9, 0.5], [1.5, 0.9]])
    slack = np.array([[5.0, 5.0], [1.0, 4.0], [-5.0, 1.0]])
    paused = np.array([[0.0, 3.0], [0.0, 0.0]])
    assert cheapest(good, slack, paused, Prices(10.0, 0.0), start=1).sizes.tolist() == [1, 2, 2]


def test_it_does_not_go_back_and_forth_where_that_costs_more_than_staying():
    good = np.array([[1.5, 0.9], [0.9, 0.5], [1.5, 0.9]])
    free, dear = (
        cheapest(good, np.ones((3, 2)), np.zeros((2, 2)), Prices(10.0, added), start=2) for added in (5.0, 15.0)
    )
    assert free.sizes.tolist() == [2, 1, 2]
    assert dear.sizes.tolist() == [2, 2, 2]


def test_where_nothing_is_enough_it_says_how_often_and_takes_the_most():
    found = cheapest(np.array([[3.0, 1.5]]), np.ones((1, 2)), np.zeros((2, 2)), Prices(10.0, 0.0), start=1)
    assert (found.sizes.tolist(), found.late) == ([2], 1)


def test_the_least_size_at_every_moment_is_by_the_job_s_own_arithmetic():
    # 0.1 s a record, 10 s batches: 100 records/s are 100 s of work, 4 partitions of 25 s: no number of slots will do.
    # 10/s: 10 s of work, in four tasks of 2.5 s: one slot just does. 15/s: 3.75 s each, two slots (7.5 s).
    def least(rate, headroom=0.0):
        asked = needs(JOB, lambda at: rate * at, 60.0, deadline(KeepUp(headroom), JOB), most=6, each=1)
        return set(asked.least.tolist())

    assert (least(10), least(15), least(100)) == ({1}, {2}, {6})
    assert least(10, headroom=0.2) == {2}


def test_what_all_executors_cannot_take_in_time_keeps_them_until_it_is_worked_off():
    # 0.1 s a record on at most two: 200 records in 10 s. For 20 s 40/s come, 400 a batch, then 8/s, 80 a batch: 400
    # wait after the second, and 120 fewer after each of the next: 280, 160, 40, none. One alone would do for 80.
    def spiking(at):
        return 40 * min(at, 20) + 8 * max(0, at - 20)

    aim = deadline(KeepUp(), JOB)
    asked = needs(JOB, spiking, 80.0, aim, most=2, each=1)
    assert asked.least.tolist() == [2, 2, 2, 2, 2, 2, 1, 1]
    assert oracle(asked, aim.batch, Prices(10.0, 0.0), start=1).late == 5  # the sixth finds 120, which two carry


def test_a_limit_without_a_trigger_costs_its_fixed_part_for_every_cut():
    # 100 a batch, 0.1 s a record in four tasks and 1 s of driver: on one 11 s each. In 20 s 20/s bring 400 records,
    # four batches: 44 s on one, (1 + 5) * 4 = 24 on two, (1 + 2.5) * 4 = 14 on four. Three have two rounds like two.
    cut = VirtualJob((MAP,), driver=1.0, limit=100)
    aim = deadline(Freshness("40s"), cut)
    asked = needs(cut, lambda at: 20.0 * at, 40.0, aim, most=4, each=1)
    assert asked.batches[0].tolist() == pytest.approx([44.0, 24.0, 24.0, 14.0], abs=0.3)
    assert set(asked.least.tolist()) == {4}


def test_headroom_is_not_asked_for_beyond_what_a_batch_may_take():
    # 100 a batch, 9 s on one executor (0.09 s each), every 10 s; a fifth more would be 10.8 s.
    limited = VirtualJob((VirtualOperator("map", 1, 0.0, 0.09),), driver=0.0, trigger=10.0, limit=100)
    asked = needs(limited, lambda at: 10.0 * at, 40.0, deadline(KeepUp(0.2), limited), most=4, each=1)
    assert set(asked.least.tolist()) == {1}
    assert asked.with_headroom[:, 0].tolist() == pytest.approx([9.0] * 4, abs=0.1)


def test_a_schedule_for_a_load_follows_it():
    def stepping(at):
        return 8 * min(at, 60) + 30 * max(0, at - 60)

    aim = deadline(KeepUp(), JOB)
    asked = needs(JOB, stepping, 120.0, aim, most=6, each=1)
    found = oracle(asked, aim.batch, Prices(10.0, 20.0), start=1)
    # 30/s are four tasks of 7.5 s: four slots, since two rounds are 15 s.
    assert found.sizes.tolist() == [1] * 6 + [4] * 6
    assert (found.cost, found.late) == (10 * (6 + 24) + 20 * 3, 0)


def test_a_change_costs_what_new_executors_and_bins_that_load_add():
    count = VirtualOperator("count", 4, fixed=1.0, per_record=0.0, feeders=(0,), stateful=True)
    job = VirtualJob((MAP, count), driver=0.0, trigger=10.0, cold=2.0, bin_load=0.5)
    asked = needs(job, lambda at: 0.4 * at, 20.0, deadline(KeepUp(), job), most=2, each=1)
    # From 1 to 2: the new one's first task of the map is 2 s longer, so the old one takes what it would have taken
    # next; of the count it has two bins, 2 s longer for being cold and 0.5 s each for loading. From 2 to 1: two bins.
    assert asked.pauses[1, 0] == pytest.approx(2 * 0.5)
    assert 2.0 + 2 * 0.5 < asked.pauses[0, 1] <= 2 * 2.0 + 2 * 0.5
    assert asked.pauses.diagonal().tolist() == [0.0, 0.0]


def test_what_changes_between_many_executors_cost_is_tried_a_tenth_apart():
    count = VirtualOperator("count", 60, fixed=0.1, per_record=0.0, feeders=(0,), stateful=True)
    job = VirtualJob((MAP, count), driver=0.0, trigger=10.0, cold=2.0, bin_load=0.5)
    aim = deadline(KeepUp(), job)
    few, many = (needs(job, lambda at: 4 * at, 20.0, aim, most=most, each=1).pauses for most in (40, 61))
    assert many.shape == (61, 61)
    assert many[:40, :40].tolist() == few.tolist()
    assert many.diagonal().tolist() == [0.0] * 61
    # Beyond 40 it tries 44, 48, 52, 57 and 61. 60 bins on 61 executors are one each: who is new and has one is cold in
    # that stage, and has it to load.
    assert many[39, 59] == many[39, 60] == pytest.approx(2.0 + 0.5, abs=0.2)
    # 51 and 53 are both nearest to 52: from one to the other is as from 52 to 57, and back as from 57 to 52.
    assert (many[50, 52], many[52, 50]) == (many[51, 56], many[56, 51])
    assert many[50, 52] == pytest.approx(2.0 + 0.5, abs=0.2)


@pytest.mark.parametrize(
    ("objective", "trigger", "meant"),
    [
        (KeepUp(0.2), 10.0, Deadline(20.0, 10.0, 10.0, 0.2)),
        (CatchUp("5m"), 10.0, Deadline(20.0, 10.0, 10.0, 0.0)),
        (Freshness("15s"), 10.0, Deadline(15.0, 10.0, 5.0, 0.0)),
        (Freshness("60s"), 10.0, Deadline(60.0, 10.0, 10.0, 0.0)),
        (Freshness("6s"), None, Deadline(6.0, 3.0, 3.0, 0.0)),
    ],
)
def test_an_objective_is_a_bound_on_the_age_of_results(objective, trigger, meant):
    assert deadline(objective, VirtualJob((MAP,), trigger=trigger)) == meant


@pytest.mark.parametrize(("objective", "trigger"), [(KeepUp(), None), (Freshness("9s"), 10.0)])
def test_an_objective_that_means_nothing_for_a_job_is_refused(objective, trigger):
    with pytest.raises(InputError):
        deadline(objective, VirtualJob((MAP,), trigger=trigger))


def test_batches_that_end_before_the_next_is_due_are_never_late():
    began = np.arange(10.0, 200.0, 10.0)
    said = lateness(began, began + 9.9, 5 * began, 5 * began, bound=20.0)
    assert (said.time, said.records, round(said.worst, 6)) == (0.0, 0.0, 19.9)


def test_results_do_not_grow_old_while_nothing_comes():
    # 10 a second come until 20 s and from 100 s on; nothing waits from the trigger at 30 s to that at 100 s.
    began, ended = np.array([10.0, 20.0, 100.0, 110.0]), np.array([14.0, 24.0, 100.0, 114.0])
    counts = np.array([100.0, 200.0, 200.0, 300.0])
    said = lateness(began, ended, counts, counts, bound=20.0)
    assert said.ages.tolist() == [14.0, 14.0, 0.0, 14.0]
    assert (said.time, said.records, said.worst) == (0.0, 0.0, 14.0)


def test_records_that_came_before_a_quiet_time_are_late_by_when_they_came():
    # The second batch ends 40 s after the last of its records, and 50 s after the first: all of them are late.
    began, ended = np.array([10.0, 20.0, 100.0]), np.array([14.0, 60.0, 100.0])
    counts = np.array([100.0, 200.0, 200.0])
    said = lateness(began, ended, counts, counts, bound=20.0)
    assert said.records * 200 == pytest.approx(100.0)
    assert said.time * 100 == pytest.approx(60.0 - 30.0)


def test_nothing_is_late_before_the_first_record():
    began, ended, counts = np.array([90.0, 100.0]), np.array([90.0, 104.0]), np.array([0.0, 100.0])
    assert lateness(began, ended, counts, counts, bound=20.0).ages.tolist() == [0.0, 14.0]


def test_what_a_limit_leaves_waiting_is_taken_later():
    """100 records a batch at the most, 0.1 s each on four slots: 2.5 s a batch while more wait."""
    limited = VirtualJob((MAP,), driver=0.0, trigger=10.0, limit=100)
    asked = needs(limited, lambda at: min(25.0 * at, 250.0), 40.0, deadline(KeepUp(), limited), most=4, each=1)
    assert asked.batches[:, 3].tolist() == pytest.approx([2.5, 2.5, 1.25, 0.0], abs=0.1)


def test_time_counts_to_the_end_and_records_by_when_their_results_came():
    # One batch, from 10 s to 50 s, with the 100 records of the first 10 s; the bound is 20 s and the end 30 s. Results
    # are late from 20 s to 30 s; all its records came more than 20 s before 50 s.
    said = lateness(np.array([10.0]), np.array([50.0]), np.array([100.0]), np.array([100.0]), 20.0, until=30.0)
    assert (said.time * 30, said.records, said.worst) == pytest.approx((10.0, 1.0, 30.0))


def test_records_that_a_limit_leaves_waiting_grow_old():
    began = np.array([10.0, 20.0, 30.0])
    # 10 a second come; of the 100, 200, 300 that are there 100, 150 and 200 are taken: covered up to 10, 15 and 20 s.
    said = lateness(began, began + 1, np.array([100.0, 200.0, 300.0]), np.array([100.0, 150.0, 200.0]), bound=12.0)
    assert said.worst == 16.0
    assert said.ages.tolist() == [11.0, 11.0, 16.0]
    assert said.time * 31 == pytest.approx(4.0)
    assert said.records * 200 == pytest.approx(40.0)
