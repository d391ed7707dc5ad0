"""What batches together say about a query."""

import numpy as np
import pytest

from headgate.model.dataflow import Dataflow
from headgate.model.microbatch import MicroBatch, NodeOutput, Tasks
from headgate.model.profile import profile as profile_of


def batch(number, records, *, fixed=200, per_record=2, run="r", driver=300, one_slow=0):
    """A batch of one operator whose tasks take `fixed` ms and `per_record` ms for each record, one after the other."""
    ends = np.cumsum([fixed + per_record * n for n in records]) + 1000
    ends[-1] += one_slow
    starts = np.concatenate(([1000], ends[:-1]))
    zeros = np.zeros(len(records), np.int64)
    tasks = Tasks(
        np.zeros(len(records), np.int32), np.arange(len(records)), ("1",) * len(records), starts, ends,
        zeros, ends - starts, zeros, zeros, zeros, zeros, np.array(records), np.array(records), zeros,
    )  # fmt: skip
    return MicroBatch(
        "q", run, "query", number, 0, int(ends[-1] - 1000) + driver, {}, sum(records),
        Dataflow.of({"map": len(records)}, []), frozenset(), tasks,
        {"map": (NodeOutput("scan", sum(records)), NodeOutput("split", 20 * sum(records)))}, 0,
    )  # fmt: skip


def growing(count=10, **costs):
    return [batch(n, [100 + 10 * n, 100 + 10 * n], **costs) for n in range(count)]


def test_fixed_cost_and_cost_per_record_are_found_where_batches_differ_in_size():
    profile = profile_of(growing())
    (operator,) = profile.operators
    assert operator.fixed_cost.value == pytest.approx(0.2)
    assert operator.record_cost.value == pytest.approx(0.002)


def test_a_slow_batch_or_two_do_not_pull_the_line():
    batches = growing(20)
    batches[7], batches[12] = batch(7, [170, 170], one_slow=9000), batch(12, [220, 220], one_slow=9000)
    (operator,) = profile_of(batches).operators
    assert operator.record_cost.value == pytest.approx(0.002, rel=0.05)
    assert operator.fixed_cost.value == pytest.approx(0.2, rel=0.05)


def test_batches_of_one_size_cannot_tell_the_two_apart_and_it_says_so():
    (operator,) = profile_of([batch(n, [100, 100]) for n in range(10)]).operators
    assert operator.fixed_cost is None
    assert operator.record_cost is None


def test_the_first_three_batches_of_each_run_are_left_out():
    cold = [batch(n, [9000], run="first") for n in range(3)] + [batch(n, [9000], run="second") for n in range(3)]
    profile = profile_of([*cold[:3], batch(3, [10], run="first"), *cold[3:], batch(7, [30], run="second")])
    assert (profile.batches, profile.counted) == (8, 2)
    assert profile.records == 20  # of 10 and 30


def test_with_few_batches_all_of_them_count():
    profile = profile_of([batch(0, [10]), batch(1, [10])])
    assert profile.counted == 2


def test_the_largest_partition_is_named_with_its_share():
    (operator,) = profile_of([batch(n, [100, 700, 200]) for n in range(5)]).operators
    assert operator.largest_share == 0.7
    assert operator.largest_partition == 1


def test_fan_out_is_what_the_busiest_node_made_of_each_record():
    (operator,) = profile_of(growing()).operators
    assert operator.fan_out == 20


def test_driver_time_is_the_part_of_a_batch_that_no_task_covers():
    profile = profile_of(growing())
    assert profile.driver == pytest.approx(0.3)
