"""How records come in, from batches alone."""

import msgspec
import pytest

from batches import Op, batch
from headgate.model.arrivals import arrivals, records_between
from headgate.model.microbatch import SourceRead


def query(count, *, every, records=100, waiting=None, late=0):
    """Batches of 0.7 s (one task of 0.4 s, driver 0.3 s) that begin every so many milliseconds."""
    return [
        batch({"map": Op([records])}, number=n, began=n * every + late * (n % 2), waiting=waiting) for n in range(count)
    ]


def test_batches_with_rest_between_them_have_a_fixed_interval():
    come = arrivals(query(6, every=2000, late=3))
    assert come.trigger == 2.0
    assert come.rate == pytest.approx(50, rel=0.01)  # 100 records every 2 s


def test_batches_that_follow_one_another_begin_as_soon_as_possible():
    come = arrivals(query(6, every=700))
    assert come.trigger is None
    assert come.interval == 0.7
    assert come.rate == pytest.approx(100 / 0.7)


def test_what_waits_longer_each_time_has_arrived_as_well():
    growing = [batch({"map": Op([100])}, number=n, began=n * 700, waiting=1000 + 40 * n) for n in range(6)]
    come = arrivals(growing)
    assert come.rate == pytest.approx(140 / 0.7)
    assert come.taken == pytest.approx(100 / 0.7)
    assert come.waiting == 1200


def test_batches_of_one_size_with_more_waiting_ran_into_a_limit():
    assert arrivals(query(6, every=700, waiting=500)).limit == 100
    assert arrivals(query(6, every=700, waiting=0)).limit is None
    both = arrivals(query(6, every=2000, waiting=500))
    assert (both.trigger, both.limit) == (2.0, 100)  # it has time to spare and may not use it


def test_what_waits_is_not_known_where_offsets_do_not_count_records():
    versions = SourceRead("table", '{"version":3}', '{"version":4}', '{"version":9}', 100, 0.0)
    counted = SourceRead("kafka", '{"t":{"0":0}}', '{"t":{"0":100}}', '{"t":{"0":150}}', 100, 0.0)
    one = batch({"map": Op([100])})
    assert arrivals([msgspec.structs.replace(one, sources=(versions,))]).waiting is None
    assert arrivals([msgspec.structs.replace(one, sources=(counted,))]).waiting == 50


def test_a_batch_whose_backlog_is_not_known_does_not_change_the_rate():
    seen = query(6, every=700, waiting=100_000)
    seen[-1] = msgspec.structs.replace(seen[-1], sources=())
    assert arrivals(seen).rate == pytest.approx(100 / 0.7)


def test_an_interval_that_was_kept_before_is_known_when_batches_overrun_it():
    kept = query(5, every=2000)
    overrun = [
        batch({"map": Op([2000])}, number=5 + n, began=10_000 + n * 4500) for n in range(6)
    ]  # 4.2 s of task, 0.3 s of driver
    assert arrivals(overrun).trigger is None
    assert arrivals(overrun, before=kept).trigger == 2.0


def test_rests_of_any_length_are_waits_for_data_and_not_a_clock():
    begins = [0, 1000, 5000, 6100, 9900, 11000, 16000]
    come = arrivals([batch({"map": Op([100])}, number=n, began=at) for n, at in enumerate(begins)])
    assert come.trigger is None


def test_a_single_batch_says_what_it_took():
    come = arrivals(query(1, every=0))
    assert (come.trigger, come.limit) == (None, None)
    assert come.rate == pytest.approx(100 / 0.7)


def test_time_between_two_runs_does_not_count():
    first, second = query(3, every=700), query(3, every=700)
    later = [
        batch({"map": Op([100])}, number=n + 3, began=10_000_000 + n * 700, run="second") for n in range(len(second))
    ]
    assert arrivals([*first, *later]).rate == pytest.approx(100 / 0.7)


@pytest.mark.parametrize(
    ("end", "latest", "apart"),
    [
        ('{"t":{"0":5,"1":7},"u":{"0":1}}', '{"t":{"0":6,"1":9},"u":{"0":1}}', 3),
        ('{"number":4,"began":1.5}', '{"number":9,"began":1.5}', 5),
        ("10", "4", 0),
        ("", "", None),
        ("not json", "4", None),
        ('{"logOffset":3}', '{"other":9}', None),
        ("true", "true", None),
    ],
)
def test_offsets_are_apart_by_the_whole_numbers_in_them(end, latest, apart):
    assert records_between(end, latest) == apart
