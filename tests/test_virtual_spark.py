"""The virtual Spark does what it says: every effect by hand calculation, chance by seed, and cost by the task."""

import time

import numpy as np
import pytest
from msgspec.structs import replace

from headgate.control.actions import Layout, Restart
from headgate.model.errors import InputError
from headgate.simulation.batch_arithmetic import BatchArithmetic
from headgate.simulation.virtual_engine import VirtualEngine
from headgate.simulation.virtual_spark import VirtualJob, VirtualOperator, VirtualSpark

MAP = VirtualOperator("map", 4, fixed=0.5, per_record=0.01)
COUNT = VirtualOperator("count", 4, fixed=1.0, per_record=0.0, feeders=(0,), stateful=True)


def spark(job, rate=40.0, **given):
    return VirtualSpark(job, lambda at: rate * at, **given)


def batches(virtual, count):
    return [virtual.run_batch() for _ in range(count)]


def test_a_batch_takes_its_driver_time_by_batch_and_by_task_and_the_makespan_of_its_stages():
    # 400 records in 10 s, 100 a task: 0.5 + 1 s each, two waves on two slots; the driver 0.3 s and 4 x 0.05 s.
    job = VirtualJob((MAP,), driver=0.3, driver_per_task=0.05, trigger=10.0)
    assert batches(spark(job, executors=2), 3)[-1].duration == pytest.approx(3500, abs=1)


def test_records_follow_the_shares_of_partitions():
    skewed = replace(MAP, shares=(0.7, 0.1, 0.1, 0.1))
    assert BatchArithmetic(VirtualJob((skewed,))).records(1000).tolist() == [700, 100, 100, 100]


def test_output_that_saturates_levels_off_at_its_distinct_keys():
    words = replace(MAP, selectivity=10.0, distinct=50.0)
    arithmetic = BatchArithmetic(VirtualJob((words, replace(COUNT, partitions=1))))
    # 4 tasks of n records each put out 50 (1 - exp(-10 n / 50)): nearly 10 n while n is small, 50 when it is large.
    assert arithmetic.records(4).tolist()[4:] == [int(4 * 50 * (1 - np.exp(-0.2)))]
    assert arithmetic.records(4000).tolist()[4:] == [200]
    assert arithmetic.put_out(np.full(5, 1000)).tolist()[:4] == [50] * 4


def test_costs_drift_over_the_day():
    job = VirtualJob((MAP,), drift=0.5, drift_period=400.0)
    arithmetic = BatchArithmetic(job)
    sizes = arithmetic.records(400)
    at = {moment: arithmetic.seconds(sizes, 4, moment)[0] for moment in (0.0, 100.0, 300.0)}
    assert at == pytest.approx({0.0: 1.5, 100.0: 2.25, 300.0: 0.75})


@pytest.mark.parametrize(
    ("job", "operator"),
    [(VirtualJob((MAP,), cores=2), MAP), (VirtualJob((replace(MAP, contention=((2, 1.0), (4, 2.0))),)), MAP)],
)
def test_tasks_beyond_the_cores_slow_each_other_down(job, operator):
    arithmetic = BatchArithmetic(job)
    sizes = arithmetic.records(400)
    assert arithmetic.seconds(sizes, 2)[0] == pytest.approx(1.5)
    assert arithmetic.seconds(sizes, 4)[0] == pytest.approx(3.0)
    assert arithmetic.seconds(sizes, 64)[0] == pytest.approx(3.0)  # it has no more than four tasks


def test_stragglers_take_as_many_times_as_long_and_are_as_many_as_said():
    job = VirtualJob((replace(MAP, partitions=2000),), stragglers=0.1, straggling=4.0, trigger=10.0)
    took = spark(job, rate=4000.0, executors=2000).run_batch
    took()
    seconds = took().tasks.occupied_seconds
    assert set(np.round(seconds / seconds.min()).tolist()) == {1.0, 4.0}
    assert np.mean(seconds > 2 * seconds.min()) == pytest.approx(0.1, abs=0.03)


def test_an_executor_comes_after_a_while_and_its_first_tasks_are_slower():
    job = VirtualJob((MAP,), driver=0.0, trigger=10.0, cold=2.0)
    virtual = spark(job, executors=2, joining=15.0)
    first = batches(virtual, 2)[-1]
    virtual.set_executors(4)
    waiting, cold, warm = batches(virtual, 3)
    # 0.5 + 1 s a task: two waves of two; then one wave of four of which the two new ones take 2 s more; then 1.5 s.
    assert [first.duration, waiting.duration, cold.duration, warm.duration] == [3000, 3000, 3500, 1500]
    assert [len(one.executors) for one in (first, waiting, cold, warm)] == [2, 2, 4, 4]


def test_those_who_are_there_from_the_beginning_are_warm():
    job = VirtualJob((MAP,), driver=0.0, trigger=10.0, cold=2.0)
    assert batches(spark(job, executors=4), 2)[-1].duration == 1500


def test_a_bin_that_moved_loads_its_state_once():
    job = VirtualJob((MAP, COUNT), driver=0.0, trigger=10.0, bin_load=0.7)
    virtual = spark(job, executors=1, joining=0.0)
    before = batches(virtual, 2)[-1]
    virtual.set_executors(2)
    virtual.spread_bins()
    moving, after = batches(virtual, 2)
    # One executor: 4 x 1.5 and 4 x 1 s. Two: 3 s, and 2 s, of which the two bins that moved take 1.4 s more.
    assert [before.duration, moving.duration, after.duration] == [10_000, 6400, 5000]


def test_the_bins_of_an_executor_that_leaves_load_elsewhere():
    job = VirtualJob((MAP, COUNT), driver=0.0, trigger=10.0, bin_load=0.7)
    virtual = spark(job, executors=2)
    virtual.spread_bins()
    batches(virtual, 2)
    virtual.set_executors(1)
    assert [one.duration for one in batches(virtual, 2)] == [6000 + 4000 + 1400, 10_000 + 560]  # 456 records by then


def test_slots_are_held_from_the_moment_they_are_asked_for():
    virtual = spark(VirtualJob((MAP,), driver=0.0, trigger=10.0), executors=2, slots=2, joining=15.0)
    batches(virtual, 2)  # the first record is there after 10 s: this ends at 21.5 s
    assert virtual.now == pytest.approx(21.5)
    assert virtual.slot_seconds == pytest.approx(21.5 * 4)
    virtual.set_executors(3)
    batches(virtual, 1)
    assert virtual.slot_seconds == pytest.approx(21.5 * 4 + (virtual.now - 21.5) * 6)


def test_executors_are_lost_by_chance_and_where_none_comes_for_them_the_last_one_stays():
    virtual = spark(VirtualJob((MAP,), trigger=10.0), executors=8, losing=60.0, joining=1e9)
    batches(virtual, 200)
    assert len(virtual.executors()) == 1


def test_the_cluster_replaces_an_executor_that_was_lost():
    virtual = spark(VirtualJob((MAP,), trigger=10.0), executors=8, losing=60.0, joining=5.0)
    seen = {len(batch.executors) for batch in batches(virtual, 200)}
    assert seen == {7, 8}  # one may be lost as a batch begins, and there is another before the next
    assert virtual.ids > 8


def test_slots_are_not_paid_for_beyond_the_end():
    virtual = spark(VirtualJob((MAP,), trigger=10.0), executors=2, paid_until=12.0)
    batches(virtual, 2)
    assert virtual.now > 12
    assert virtual.slot_seconds == 2 * 12


def test_a_long_time_with_one_executor_does_not_cost_one_as_soon_as_there_are_two():
    # One in 10,000 s on average: within the 10 s since it was last looked at, with a chance of one in a thousand.
    virtual = spark(VirtualJob((MAP,), trigger=10.0), executors=1, losing=1e4, joining=0.0)
    batches(virtual, 10_000)
    virtual.set_executors(2)
    batches(virtual, 2)
    assert len(virtual.executors()) == 2


def test_who_waits_in_vain_waits_to_the_end_and_pays_for_it():
    virtual = VirtualSpark(VirtualJob((MAP,), driver=0.0, trigger=10.0), lambda at: min(40 * at, 400.0), executors=2)
    assert virtual.wait(95.0)
    assert (virtual.now, virtual.run_batch().input_rows) == (10.0, 400)
    assert not virtual.wait(95.0)
    assert (virtual.now, virtual.nothing_waited) == (95.0, 90.0)
    assert virtual.slot_seconds == pytest.approx(2 * 95.0)


def test_triggers_stay_where_they_are_however_often_one_waits():
    virtual = VirtualSpark(VirtualJob((MAP,), trigger=10.0), lambda at: 40 * max(0.0, at - 40.0))
    assert not virtual.wait(17.0)
    assert not virtual.wait(33.0)
    assert virtual.run_batch().began == 50_000


def test_a_restart_is_a_pause_and_another_run_with_other_partitions():
    engine = VirtualEngine(spark(VirtualJob((MAP, COUNT), trigger=10.0, restart=25.0), executors=4))
    engine.seen(0.0)
    before = engine.clock()
    engine.carry_out(Restart(1, Layout({"count": 8})))
    assert engine.clock() == before + 25.0
    after = engine.seen(0.0)[0].batch
    assert (after.run, after.number, after.dataflow.operators[1].instances) == ("run 1", 0, 8)
    with pytest.raises(InputError, match=r"there is no operator .cuont. \(did you mean .count."):
        engine.carry_out(Restart(2, Layout({"cuont": 8})))


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"noise": -1.0}, "noise is -1.0; give a number from 0 up"),
        ({"drift": 1.0}, "stragglers and drift are parts"),
        ({"trigger": 0.0}, "trigger is 0.0; give seconds above 0"),
        ({"operators": ()}, "a job needs at least one operator"),
        ({"operators": (replace(MAP, feeders=(0,)),)}, "operator map: what feeds it must stand before it"),
    ],
)
def test_what_cannot_run_is_refused(given, said):
    with pytest.raises(InputError, match=said):
        VirtualJob(**({"operators": (MAP,)} | given))


def test_the_same_seed_gives_the_same_batches_and_another_gives_others():
    job = VirtualJob((MAP, COUNT), trigger=10.0, noise=0.2, stragglers=0.05, cold=1.0, bin_load=0.1)

    def durations(seed):
        return [one.duration for one in batches(spark(job, executors=3, losing=300.0, seed=seed), 50)]

    assert durations(1) == durations(1) != durations(2)


def test_the_cost_of_a_batch_grows_with_its_tasks():
    def took(tasks):
        job = VirtualJob((replace(MAP, partitions=tasks), replace(COUNT, partitions=tasks)), trigger=10.0, noise=0.1)
        virtual = spark(job, rate=1000.0, executors=64)
        virtual.run_batch()
        best = float("inf")
        for _ in range(5):
            began = time.process_time()
            virtual.run_batch()
            best = min(best, time.process_time() - began)
        return best

    # Sixteen times the tasks take less than three times sixteen times as long; a square would be 256 times.
    assert took(32_000) < 3 * 16 * took(2_000)


def test_ten_thousand_slots_and_a_hundred_operators_are_no_trouble():
    operators = tuple(
        VirtualOperator(f"op {place}", 100, fixed=0.01, per_record=1e-5, feeders=(place - 1,) if place else ())
        for place in range(100)
    )
    virtual = spark(VirtualJob(operators, trigger=10.0, noise=0.1), rate=1e5, executors=625, slots=16)
    began = time.process_time()
    last = batches(virtual, 18)[-1]
    # A twentieth of an hour in a twentieth of 30 s.
    assert time.process_time() - began < 1.5
    assert last.slots == 10_000
    assert last.tasks.operator.size == 10_000
