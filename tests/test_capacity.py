"""The capacity model, against batches whose truth is known because they were made to measure."""

import msgspec
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from batches import Op, batch, batches
from headgate.model.capacity import Pool, Setting
from headgate.model.learned_capacity import capacity
from headgate.simulation.virtual_spark import VirtualJob, VirtualOperator, VirtualSpark

EVEN = {"map": Op([100] * 8)}  # 8 tasks of 0.4 s; driver 0.3 s


def predicted(seen, **setting):
    return capacity(seen).predict(Setting(**setting)).batch.value


def test_what_ran_is_reproduced():
    assert predicted(batches(6, EVEN)) == pytest.approx(8 * 0.4 + 0.3)


@pytest.mark.parametrize(("executors", "waves"), [(1, 8), (2, 4), (3, 3), (4, 2), (8, 1), (16, 1)])
def test_tasks_run_in_waves_and_the_driver_does_not_get_faster(executors, waves):
    assert predicted(batches(6, EVEN), pool=Pool((1,) * executors)) == pytest.approx(waves * 0.4 + 0.3)


def test_a_chain_of_stages_adds_up():
    chain = {"map": Op([100] * 4), "count": Op([50] * 2, feeders=("map",), per_record=10)}
    # On 4 slots: 0.4 s, then 0.7 s, and 0.3 s of driver.
    assert predicted(batches(6, chain), pool=Pool((4,))) == pytest.approx(0.4 + 0.7 + 0.3)


def test_a_skewed_partition_is_as_long_as_ever_on_any_number_of_slots():
    skewed = {"count": Op([700, 100, 100, 100])}
    seen = batches(6, skewed)
    assert predicted(seen, pool=Pool((1,) * 64)) == pytest.approx(0.2 + 1.4 + 0.3)
    assert predicted(seen, pool=Pool((4,)), even=True) == pytest.approx(0.2 + 0.5 + 0.3)


def test_state_on_one_executor_makes_further_executors_useless_until_it_is_spread():
    pinned = {"count": Op([100] * 8, homes=["0"] * 8)}
    seen = batches(6, pinned)
    alone = predicted(seen)
    assert predicted(seen, pool=Pool((1,) * 8)) == alone
    assert predicted(seen, pool=Pool((1,) * 8), spread_bins=True) == pytest.approx(0.4 + 0.3)


def test_bins_of_an_executor_that_leaves_run_elsewhere():
    spread = {"count": Op([100] * 4, homes=["0", "1", "2", "3"])}
    seen = batches(6, spread, slots=(1,) * 4)
    assert predicted(seen, pool=Pool((1, 1))) == pytest.approx(2 * 0.4 + 0.3)


def test_another_size_of_batch_costs_the_line_through_what_was_seen():
    growing = batches(12, lambda n: {"map": Op([100 + 10 * n] * 4)})
    # 4 tasks of 500 records: 0.2 + 1.0 s each.
    assert predicted(growing, pool=Pool((1,) * 4), records=2000) == pytest.approx(0.2 + 1.0 + 0.3)


def test_batches_of_one_size_give_the_cautious_answer_for_another():
    seen = batches(6, EVEN)
    assert predicted(seen, records=1600) == pytest.approx(8 * 0.8 + 0.3)  # as if all cost were per record
    assert predicted(seen, records=400) == pytest.approx(8 * 0.4 + 0.3)  # as if all cost were fixed


def test_other_partitions_cost_their_fixed_part_and_keep_a_hot_key_together():
    growing = batches(12, lambda n: {"map": Op([100]), "count": Op([100 + 10 * n] * 4, feeders=("map",))})
    model = capacity(growing)
    count = [400 + 40 * n for n in range(3, 12)]  # records of the batches that count, cut in 8 instead of 4
    expected = np.median([8 * 0.2 + 0.002 * records for records in count]) + 0.4 + 0.3
    assert model.predict(Setting(partitions=8)).batch.value == pytest.approx(expected)


def test_records_that_are_combined_before_the_shuffle_grow_more_slowly():
    # 16 times the records give 4 times the distinct keys: a square root, as words in a text do.
    def growing(n):
        scale = 2 ** (n % 5)
        words = Op([100 * scale] * 2, out=[round(100 * scale**0.5)] * 2, per_record=0)
        return {"split": words, "count": Op([round(50 * scale**0.5)] * 4, feeders=("split",), fixed=0, per_record=10)}

    seen = batches(20, growing)
    model = capacity(seen)
    assert model.operators[0].growth == pytest.approx(0.5, abs=0.02)
    # 16 times the smallest batch: 4 times its 50 keys a task, at 10 ms each, one after the other.
    said = model.predict(Setting(records=3200)).batch.value
    assert said == pytest.approx(2 * 0.2 + 4 * 200 * 0.01 + 0.3, rel=0.02)


def test_beyond_what_ran_at_once_it_says_that_contention_is_not_known_and_one_outcome_teaches_it():
    def cpu_bound(slots):  # two cores: more than two at once share them
        slowdown = max(1, slots / 2)
        return {"burn": Op([100] * 8, fixed=200 * slowdown, per_record=2 * slowdown)}

    on = {slots: batches(6, cpu_bound(slots), slots=(1,) * slots, run=f"on {slots}") for slots in (1, 2, 4, 8)}
    before = capacity(on[1]).predict(Setting(pool=Pool((1,) * 8)))
    assert before.unseen
    assert not capacity(on[1]).predict().unseen
    taught = capacity([*on[1], *on[2], *on[4]]).predict(Setting(pool=Pool((1,) * 8)))
    assert taught.batch.value == pytest.approx(on[8][-1].duration / 1000)


def test_a_batch_in_which_an_operator_did_not_run_is_run_again_without_it():
    whole = {"map": Op([100] * 4), "count": Op([50] * 2, feeders=("map",))}
    seen = [batch(whole if n % 2 else {"map": whole["map"]}, number=n) for n in range(10)]
    said = capacity(seen).predict()
    assert said.batch.low < 4 * 0.4 + 0.3 + 0.01
    assert said.batch.high == pytest.approx(4 * 0.4 + 2 * 0.3 + 0.3)


@given(
    st.lists(st.integers(1, 400), min_size=1, max_size=6),
    st.integers(1, 12),
)
def test_without_fixed_cost_driver_or_unevenness_it_is_ds2_for_shared_slots(costs, slots):
    # Operators of 12 tasks with no fixed cost, in a chain; any slots that divide 12 leave no wave half full.
    slots = min((1, 2, 3, 4, 6, 12), key=lambda one: abs(one - slots))
    names = [f"o{place}" for place in range(len(costs))]
    chain = {
        name: Op([10] * 12, fixed=0, per_record=cost, feeders=names[place - 1 : place])
        for place, (name, cost) in enumerate(zip(names, costs, strict=True))
    }
    seen = batches(4, chain, driver=0)
    useful = sum(12 * 10 * cost / 1000 for cost in costs)
    assert predicted(seen, pool=Pool((slots,))) == pytest.approx(useful / slots)


def test_after_a_restart_with_other_partitions_the_batches_before_it_say_nothing_about_the_layout():
    def ran(tasks, run):
        job = VirtualJob((VirtualOperator("parse", tasks, fixed=0.1, per_record=0.004),), trigger=10.0)
        spark = VirtualSpark(job, lambda at: 250 * at, executors=4)
        return [msgspec.structs.replace(spark.run_batch(), run=run) for _ in range(20)]

    before, after = ran(2, "first"), ran(16, "second")
    learned = capacity([*before, *after[:6]])
    assert learned.operators[0].partitions == 16
    # 2,500 records of 4 ms in 16 tasks, 0.1 s more each: 11.6 s on 4 slots are 2.9 s; 2 tasks would take 5.1 s.
    assert learned.predict().batch.value == pytest.approx(2.9, abs=0.5)
