"""When another number of partitions is worth the pause. Expected values by hand."""

import msgspec
import pytest

from headgate.control.events import BatchSeen, ClusterSeen
from headgate.control.reducer import step
from headgate.control.said import OtherPartitions
from headgate.control.settings import Settings
from headgate.control.state import State
from headgate.model.microbatch import KeptState
from headgate.model.objective import KeepUp
from headgate.policies.capacity import CapacityPolicy
from headgate.policies.pool import Evidence
from headgate.simulation.virtual_spark import VirtualJob, VirtualOperator, VirtualSpark

MB = 1_000_000


def batches(bins, rate, rows=1_000_000, size=100 * MB, executors=2):
    """A count that costs 0.1 s a bin and 4 ms a record, every 10 s; its load has varied, so that both are known."""
    read = VirtualOperator("read", 4, fixed=0.001, per_record=0.0)
    count = VirtualOperator("count", bins, fixed=0.1, per_record=0.004, feeders=(0,), stateful=True)
    job = VirtualJob((read, count), trigger=10.0)
    spark = VirtualSpark(job, lambda at: 0.3 * rate * min(at, 100.0) + rate * max(0.0, at - 100.0), executors=executors)
    spark.spread_bins()
    kept = KeptState(
        "count", "stateStoreSave", rows, size, 0, 0, bins, 0, 0, 0, {"rocksdbSstFileSize": size}, stores=bins
    )
    return tuple(msgspec.structs.replace(spark.run_batch(), state=(kept,)) for _ in range(20))


def advice(seen):
    evidence = Evidence(seen, seen[-1].executors, 1, 10.0)
    found = CapacityPolicy().size(None, evidence, KeepUp(headroom=0.0), 0.0)[1].partitions
    return found[0] if found else None


def test_where_no_number_of_executors_does_more_bins_may():
    # 900 records/s: 36 s of work a batch. In 2 bins 18.1 s each, in 4 bins 9.1 s: four executors do, with a bin each.
    found = advice(batches(bins=2, rate=900))
    assert (found.now, found.partitions, found.executors_now, found.executors_then, found.gain) == (2, 4, None, 4, None)
    # By the figures for a rewrite. To read it, three times: 0.45 s a store, 0.04 s a bin on two slots, 3.1 us a row,
    # 1.6 ns a byte. To write it: 0.12 s a bin on two slots, 3.6 us a row, 4.2 ns a byte. And 10 s to drain and start.
    reading, writing = 0.45 + 4 * 0.04 / 2 + 3.1 + 0.16, 4 * 0.12 / 2 + 3.6 + 0.42
    assert found.pause == pytest.approx(10 + 3 * reading + writing)
    assert (
        "no number of executors that is allowed meets the objective now; the rewrite pauses the query for about 26 s"
        in str(found)
    )


def test_bins_that_let_an_executor_less_do_are_worth_a_short_pause():
    # 600 records/s: 24 s of work. 4 bins of 6.1 s: two on one executor are too long, so 4 executors. 8 bins of 3.1 s:
    # three on one are 9.3 s, so 3 executors do.
    found = advice(batches(bins=4, rate=600, executors=4))
    assert (found.partitions, found.executors_now, found.executors_then) == (8, 4, 3)
    assert found.gain == pytest.approx(24.0)


def test_a_pause_that_costs_more_than_it_gains_is_not_advised():
    # 5 TB take 100,000 s to rewrite, reading included: more than the day in which an executor would be saved.
    assert advice(batches(bins=4, rate=600, executors=4, size=5_000_000 * MB)) is None


def test_state_that_cannot_be_rewritten_is_not_advised_about():
    seen = batches(bins=2, rate=900)
    in_memory = [msgspec.structs.replace(one, provider={}) for one in seen[-1].state]
    assert advice((*seen[:-1], msgspec.structs.replace(seen[-1], state=tuple(in_memory)))) is None


def test_with_bins_enough_nothing_is_advised():
    assert advice(batches(bins=32, rate=600, executors=4)) is None


def batches_without_state(partitions, rate, executors=2):
    """The same work in an operator without state."""
    read = VirtualOperator("read", 4, fixed=0.001, per_record=0.0)
    look_up = VirtualOperator("look up", partitions, fixed=0.1, per_record=0.004, feeders=(0,))
    job = VirtualJob((read, look_up), trigger=10.0)
    spark = VirtualSpark(job, lambda at: 0.3 * rate * min(at, 100.0) + rate * max(0.0, at - 100.0), executors=executors)
    return tuple(spark.run_batch() for _ in range(20))


def test_partitions_of_an_operator_without_state_are_advised_at_the_price_of_a_restart():
    # As above: 2 partitions are too few for any number of executors, with 4 of them four executors do.
    found = advice(batches_without_state(partitions=2, rate=900))
    assert (found.of, found.now, found.partitions, found.executors_then) == ("exchanges", 2, 4, 4)
    assert found.pause == 10.0
    assert str(found).startswith("4 partitions instead of 2 for look up would do with 4 executors: no number")
    assert "the restart pauses the query for about 10 s" in str(found)
    assert "restart EXCHANGE=4" in str(found)


def test_finer_partitions_that_let_an_executor_less_do_are_advised_without_state_as_well():
    found = advice(batches_without_state(partitions=4, rate=600, executors=4))
    assert (found.partitions, found.executors_now, found.executors_then, found.gain) == (8, 4, 3, 24.0)


def test_of_two_ways_to_the_same_number_of_executors_the_one_without_a_rewrite_is_advised():
    # Two operators after one another, 2 partitions each, 18 s of work each at 900 records/s: 9.1 + 9.1 s on two
    # executors. Cut into 4, either of them takes 4.6 s on four executors: 13.7 s in all, which is not enough; at 600
    # records/s it is 6.1 + 6.1 s on two, and 3.1 + 6.1 s on four, whichever of the two was cut.
    read = VirtualOperator("read", 4, fixed=0.001, per_record=0.0)
    look_up = VirtualOperator("look up", 2, fixed=0.1, per_record=0.002, feeders=(0,))
    count = VirtualOperator("count", 2, fixed=0.1, per_record=0.002, feeders=(1,), stateful=True)
    rate = 600

    def arrived(at):
        return 0.3 * rate * min(at, 100.0) + rate * max(0.0, at - 100.0)

    spark = VirtualSpark(VirtualJob((read, look_up, count), trigger=10.0), arrived, executors=2)
    spark.spread_bins()
    kept = KeptState("count", "stateStoreSave", 10, MB, 0, 0, 2, 0, 0, 0, {"rocksdbSstFileSize": MB}, stores=2)
    seen = tuple(msgspec.structs.replace(spark.run_batch(), state=(kept,)) for _ in range(20))
    found = advice(seen)
    assert (found.of, found.partitions, found.executors_now, found.executors_then) == ("exchanges", 4, None, 4)


def advised(most):
    state, said = State(), []
    for batch in batches(bins=2, rate=900):
        at = batch.began / 1000 + 10
        for event in (ClusterSeen(at, batch.executors), BatchSeen(at, batch, 10.0)):
            state, _, words = step(state, event, Settings(objective=KeepUp(headroom=0.0), most=most), CapacityPolicy())
            said += words
    return [one.advice.partitions for one in said if isinstance(one, OtherPartitions)]


def test_the_controller_says_it_once_and_only_if_as_many_executors_are_allowed():
    assert advised(most=4) == [4]
    assert advised(most=3) == []
