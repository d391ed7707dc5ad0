"""Keeping up: the three ways to cut a stream into batches, against answers worked out by hand."""

import pytest

from batches import Op, batch, batches
from headgate.model.arrivals import Arrivals
from headgate.model.capacity import Pool, Setting
from headgate.model.keeping_up import Wish, headroom, least_pool, prospect
from headgate.model.learned_capacity import capacity

# Four tasks a batch; 0.1 s and 1 ms a record each, on one slot; driver 0.2 s. B(N) = 0.2 + 0.4 + 0.001 N.
GROWING = [batch({"map": Op([50 + 10 * n] * 4, fixed=100, per_record=1)}, number=n, driver=200) for n in range(12)]
MODEL = capacity(GROWING)


def come(rate, *, trigger=None, limit=None):
    return Arrivals(rate, rate, trigger or 1.0, trigger, limit, None)


def test_a_fixed_interval_is_kept_if_the_batch_of_one_interval_ends_within_it():
    fares = prospect(MODEL, come(200, trigger=2.0), Wish(200))
    assert fares.batch.value == pytest.approx(0.6 + 0.4, rel=0.01)
    assert fares.utilisation == pytest.approx(0.5, rel=0.01)
    assert fares.freshness == pytest.approx(3.0, rel=0.01)
    assert fares.good
    assert not prospect(MODEL, come(200, trigger=2.0), Wish(800)).keeps_up  # 0.6 + 1.6 s


def test_as_soon_as_possible_settles_where_a_batch_takes_as_long_as_its_records_took_to_come():
    # T = 0.6 + 0.001 * 400 T: T = 1 s, and results are two batches old.
    fares = prospect(MODEL, come(400), Wish(400))
    assert fares.batch.value == pytest.approx(1.0, rel=0.02)
    assert fares.freshness == pytest.approx(2.0, rel=0.02)
    assert fares.utilisation == pytest.approx(0.4, rel=0.02)


def test_as_soon_as_possible_has_no_end_when_records_come_faster_than_they_are_done():
    fares = prospect(MODEL, come(400), Wish(1100))  # one slot does 1,000 records/s
    assert (fares.keeps_up, fares.batch, fares.freshness) == (False, None, None)
    assert fares.utilisation > 1


def test_under_an_admission_limit_the_largest_batch_must_be_done_before_as_much_has_come():
    # 100 records take 0.7 s, so 142 a second can be carried, whatever the slots could do.
    assert prospect(MODEL, come(140, limit=100), Wish(140)).keeps_up
    fares = prospect(MODEL, come(160, limit=100), Wish(160))
    assert not fares.keeps_up
    assert fares.utilisation == pytest.approx(160 * 0.7 / 100, rel=0.02)


@pytest.mark.parametrize(
    ("arrivals", "carries"),
    [
        (come(200, trigger=2.0), 700 / 200),  # 0.6 + 0.001 * 2 L = 2: L = 700
        (come(500), 1000 / 500),
        (come(280, limit=100), 143 / 280),
    ],
)
def test_headroom_is_how_many_times_the_rate_could_be_carried(arrivals, carries):
    assert headroom(MODEL, arrivals, Wish(arrivals.rate)) == pytest.approx(carries, rel=0.03)


def test_the_fewest_executors_are_found_and_one_fewer_would_not_do():
    arrivals, wish = come(1500, trigger=2.0), Wish(1500)
    # On n of 4: waves of 0.1 + 0.75 s; 1 executor 3.6 s, 2 executors 1.9 s.
    assert least_pool(MODEL, arrivals, wish) == Pool((1, 1))
    assert not prospect(MODEL, arrivals, wish, Setting(pool=Pool((1,)))).good


def test_where_no_number_of_executors_does_it_there_is_no_answer():
    assert least_pool(MODEL, come(100, trigger=0.25), Wish(100)) is None  # the driver alone takes 0.2 s, a task 0.1


def test_a_freshness_bound_needs_more_than_keeping_up_does():
    arrivals = come(400)
    assert least_pool(MODEL, arrivals, Wish(400)) == Pool((1,))
    # On 2: T = 0.2 + 0.2 + 0.0005 * 400 T: 0.5 s, so results are 1 s old.
    assert least_pool(MODEL, arrivals, Wish(400, freshness=1.5)) == Pool((1, 1))


def test_state_is_taken_as_spread_when_the_fewest_executors_are_looked_for():
    pinned = batches(6, {"count": Op([100] * 8, homes=["0"] * 8)})  # 8 tasks of 0.4 s on one executor
    assert least_pool(capacity(pinned), come(400, trigger=2.0), Wish(400)) == Pool((1, 1))
