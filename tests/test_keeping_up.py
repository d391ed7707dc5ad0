"""Keeping up: the three ways to cut a stream into batches, against answers worked out by hand."""

import pytest

from batches import Op, batch, batches
from headgate.model.arrivals import Arrivals
from headgate.model.capacity import Pool, Setting
from headgate.model.keeping_up import Wish, least_pool, prospect
from headgate.model.learned_capacity import capacity

# Four tasks a batch; 0.1 s and 1 ms a record each, on one slot; driver 0.2 s. B(N) = 0.2 + 0.4 + 0.001 N.
GROWING = [batch({"map": Op([50 + 10 * n] * 4, fixed=100, per_record=1)}, number=n, driver=200) for n in range(12)]
MODEL = capacity(GROWING)


def come(rate, *, trigger=None, limit=None):
    return Arrivals(rate, rate, trigger or 1.0, trigger, limit, None)


def test_a_fixed_interval_is_kept_if_the_batch_of_one_interval_ends_within_it():
    fares = prospect(MODEL, come(200, trigger=2.0), Wish(200))
    assert fares.batch.value == pytest.approx(0.6 + 0.4, rel=0.01)
    assert fares.freshness == pytest.approx(3.0, rel=0.01)
    assert fares.good
    # 0.6 + 0.001 * 2 L = 2: it carries 700 a second in time.
    assert fares.carries == pytest.approx(700, rel=0.01)
    assert fares.utilisation == pytest.approx(200 / 700, rel=0.01)


def test_batches_that_overrun_their_interval_follow_one_another_and_may_keep_up_all_the_same():
    fares = prospect(MODEL, come(200, trigger=2.0), Wish(800))  # 0.6 + 1.6 s in an interval of 2
    assert (fares.keeps_up, fares.in_time, fares.good) == (True, False, False)
    assert fares.batch.value == pytest.approx(3.0, rel=0.01)  # T = 0.6 + 0.8 T
    assert not prospect(MODEL, come(200, trigger=2.0), Wish(1100)).keeps_up


def test_an_interval_shorter_than_the_smallest_batch_is_none():
    fares = prospect(MODEL, come(400, trigger=0.1), Wish(400))
    assert (fares.keeps_up, fares.in_time) == (True, False)
    assert fares.carries == pytest.approx(1000, rel=0.01)  # as without one


def test_as_soon_as_possible_settles_where_a_batch_takes_as_long_as_its_records_took_to_come():
    # T = 0.6 + 0.001 * 400 T: T = 1 s, and results are two batches old.
    fares = prospect(MODEL, come(400), Wish(400))
    assert fares.batch.value == pytest.approx(1.0, rel=0.02)
    assert fares.freshness == pytest.approx(2.0, rel=0.02)
    assert fares.carries == pytest.approx(1000, rel=0.02)  # a record adds a millisecond
    assert fares.utilisation == pytest.approx(0.4, rel=0.02)


def test_as_soon_as_possible_has_no_end_when_records_come_faster_than_they_are_done():
    fares = prospect(MODEL, come(400), Wish(1100))  # one slot does 1,000 records/s
    assert (fares.keeps_up, fares.batch, fares.freshness) == (False, None, None)
    assert fares.utilisation == pytest.approx(1.1, rel=0.01)


def test_under_an_admission_limit_the_largest_batch_must_be_done_before_as_much_has_come():
    # 100 records take 0.7 s, so 142 a second can be carried, whatever the slots could do.
    assert prospect(MODEL, come(140, limit=100), Wish(140)).keeps_up
    fares = prospect(MODEL, come(160, limit=100), Wish(160))
    assert not fares.keeps_up
    assert fares.utilisation == pytest.approx(160 * 0.7 / 100, rel=0.02)


def test_a_limit_and_an_interval_together_allow_one_full_batch_an_interval():
    capped = come(60, trigger=2.0, limit=100)
    fares = prospect(MODEL, capped, Wish(60))
    assert fares.carries == 50  # 100 records every 2 s, though they take 0.7 s
    assert not fares.keeps_up
    assert prospect(MODEL, capped, Wish(45)).keeps_up
    assert prospect(MODEL, capped, Wish(60), Setting(pool=Pool((1,) * 8))).carries == 50


@pytest.mark.parametrize("arrivals", [come(200, trigger=2.0), come(500), come(280, limit=100)])
def test_what_is_carried_does_not_depend_on_what_comes_so_utilisation_rises_with_the_rate(arrivals):
    used = [prospect(MODEL, arrivals, Wish(rate)).utilisation for rate in (10, 100, 200, 400, 900, 3000)]
    assert used == sorted(used)
    assert used[-1] == pytest.approx(300 * used[0])


def test_what_waits_is_worked_off_by_what_is_carried_beyond_what_comes():
    fares = prospect(MODEL, come(400), Wish(400))
    assert fares.drained_after(1200) == pytest.approx(2.0, rel=0.03)  # 600 records/s to spare
    assert prospect(MODEL, come(400), Wish(1100)).drained_after(1200) is None


def test_the_fewest_executors_are_found_and_one_fewer_would_not_do():
    arrivals, wish = come(1500, trigger=2.0), Wish(1500)
    # On n of 4: waves of 0.1 + 0.75 s; 1 executor 3.6 s, 2 executors 1.9 s.
    assert least_pool(MODEL, arrivals, wish) == Pool((1, 1))
    assert not prospect(MODEL, arrivals, wish, Setting(pool=Pool((1,)))).good


def test_where_no_number_of_executors_does_it_there_is_no_answer():
    assert least_pool(MODEL, come(100, trigger=0.25), Wish(100)) is None  # the driver alone takes 0.2 s, a task 0.1


def test_where_more_executors_get_in_each_others_way_the_few_that_do_are_found():
    # Two cores: two at once take as long as one, four at once three times as long.
    def on(slots):
        slow = 1 if slots <= 2 else 3
        return batches(
            6, {"map": Op([100] * 8, fixed=200 * slow, per_record=2 * slow)}, slots=(1,) * slots, run=str(slots)
        )

    taught = capacity([*on(4), *on(1), *on(2)])
    # 8 tasks of 0.4 s and 0.3 s of driver: two executors take 1.9 s, four 2.7 s.
    assert least_pool(taught, come(400, trigger=2.0), Wish(400)) == Pool((1, 1))


def test_a_freshness_bound_needs_more_than_keeping_up_does():
    arrivals = come(400)
    assert least_pool(MODEL, arrivals, Wish(400)) == Pool((1,))
    # On 2: T = 0.2 + 0.2 + 0.0005 * 400 T: 0.5 s, so results are 1 s old.
    assert least_pool(MODEL, arrivals, Wish(400, freshness=1.5)) == Pool((1, 1))


def test_state_is_taken_as_spread_when_the_fewest_executors_are_looked_for():
    pinned = batches(6, {"count": Op([100] * 8, homes=["0"] * 8)})  # 8 tasks of 0.4 s on one executor
    assert least_pool(capacity(pinned), come(400, trigger=2.0), Wish(400)) == Pool((1, 1))
