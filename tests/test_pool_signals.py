"""What a pool's signals are, worked out by hand from made-up batches."""

import pytest

from batches import Op, batch
from headgate.model.pool_signals import pool_signals
from headgate.testing.pool_batches import PoolJob


def test_utilisation_is_slot_time_used_over_slot_time_there():
    # 16 tasks of 0.1 s + 0.2 ms x 12,000 / 16 = 0.25 s: 4 slot-seconds; 4 executors for 60 s are 240.
    (*_, (_, seen)) = PoolJob(200.0).run(4, 4)
    signals = pool_signals(seen.batches, 4, 1, 60.0)
    assert signals.busy == pytest.approx(4.0 / 240)
    assert signals.came == pytest.approx(200.0)
    assert signals.pressure == 0
    assert signals.waiting == 0
    assert signals.latency == pytest.approx(60 + 0.3 + 4 * 0.25)


def test_a_batch_that_overruns_its_interval_holds_its_input_back():
    # 16 tasks one after the other: 0.3 + 16 x (0.1 + 0.0002 x 360,000 / 16) = 73.9 s where 60 are due.
    ((_, seen),) = PoolJob(6000.0).run(1, 1)
    signals = pool_signals(seen.batches, 1, 1, 60.0)
    assert signals.pressure == pytest.approx(1000 * (1 - 60 / 73.9))
    assert signals.waiting == pytest.approx(signals.came * 13.9)


def test_what_a_limit_leaves_behind_is_backlog_that_grows():
    # Every second 100 are taken and what waits grows by 50.
    seen = [batch({"map": Op([100])}, number=n, began=1000 * n, waiting=50 * n) for n in range(6)]
    signals = pool_signals(seen, 1, 1)
    assert signals.came == pytest.approx(150)
    assert signals.taken == pytest.approx(100)
    assert signals.growth == pytest.approx(50)
    assert signals.waiting == 250
    assert signals.pressure == pytest.approx(1000 * 50 / 150)


def test_batches_as_soon_as_possible_that_double_hold_half_of_their_input_back():
    seen, began = [], 0
    for n in range(5):
        seen.append(batch({"map": Op([100 * 2**n], fixed=0, per_record=10)}, number=n, began=began, driver=0))
        began += seen[-1].duration
    assert pool_signals(seen, 1, 1).pressure == pytest.approx(500)


def test_only_batches_on_the_present_executors_count():
    (*_, (_, seen)) = PoolJob(3000.0, trigger=10.0).run(8, (1, 1, 1, 1, 1, 1, 4))
    # Two batches on four executors; each 16 x (0.1 + 0.0002 x 30,000 / 16) = 7.6 slot-seconds of 40.
    signals = pool_signals(seen.batches, 4, 1, 10.0)
    assert signals.instances == 4
    assert signals.busy == pytest.approx(7.6 / 40)


def test_a_pool_without_batches_says_nothing():
    assert pool_signals((), 3, 1).busy is None
