"""What a new executor costs, from batches in which executors were new."""

import pytest

from batches import Op, batch
from headgate.model.cold import cold_start


def test_the_first_task_on_an_executor_is_compared_with_the_usual_one():
    # Two tasks of 0.4 s on two executors; in the first batch both take 3.4 s.
    cold = batch({"map": Op([100, 100], fixed=3200)}, slots=(1, 1))
    later = [batch({"map": Op([100, 100])}, number=n, slots=(1, 1)) for n in range(1, 8)]
    start = cold_start([cold, *later])
    assert start.seconds == pytest.approx(3.0)
    assert start.executors == 2


def test_only_the_first_task_of_each_operator_counts():
    slow_then_usual = Op([100, 100, 100])
    slow_then_usual.milliseconds = [3400, 400, 400]
    later = [batch({"map": Op([100] * 3)}, number=n) for n in range(1, 8)]
    assert cold_start([batch({"map": slow_then_usual}), *later]).seconds == pytest.approx(3.0)


def test_without_warm_batches_to_compare_with_there_is_no_answer():
    assert cold_start([batch({"map": Op([100])})]) is None
