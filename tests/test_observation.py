import numpy as np
import pytest

from headgate import Dataflow, InputError, Observation

FLOW = Dataflow.of({"lines": 1, "split": 3}, [("lines", "split")])


def observed(operator=("lines", "split", "split"), instance=(0, 0, 1), **columns):
    rows = len(operator)
    given = dict.fromkeys(
        ("true_processing", "true_output", "observed_processing", "observed_output"), np.arange(rows) + 1.0
    )
    return Observation.of_rates(FLOW, operator=list(operator), instance=instance, **{**given, **columns})


def test_counters_become_rates_per_second_of_useful_and_of_wall_time():
    seen = Observation.of_counters(
        FLOW,
        operator=["lines", "split"],
        instance=[0, 0],
        records_in=[0, 100],
        records_out=[100, 700],
        useful_time=[2.0, 4.0],
        wait_time=[8.0, 6.0],
        wall_time=10.0,
    )
    assert seen.rates.true_processing.tolist() == [0, 25]
    assert seen.rates.true_output.tolist() == [50, 175]
    assert seen.rates.observed_processing.tolist() == [0, 10]
    assert seen.rates.observed_output.tolist() == [10, 70]


def test_no_useful_time_gives_nan_or_infinity_as_engines_report_it():
    seen = Observation.of_counters(
        FLOW, operator=["lines", "split"], instance=[0, 0],
        records_in=[0, 5], records_out=[0, 5], useful_time=0.0, wall_time=1.0,
    )  # fmt: skip
    assert np.isnan(seen.rates.true_output[0])
    assert np.isinf(seen.rates.true_output[1])


def test_rows_are_kept_by_operator_and_instance_whatever_order_they_came_in():
    seen = observed(operator=("split", "lines", "split"), instance=(1, 0, 0), true_output=[10.0, 20.0, 30.0])
    assert seen.operator.tolist() == [0, 1, 1]
    assert seen.instance.tolist() == [0, 0, 1]
    assert seen.rates.true_output.tolist() == [20.0, 30.0, 10.0]


def test_an_instance_that_reports_twice_is_refused():
    with pytest.raises(InputError, match='operator "split": instance 1 reports twice'):
        observed(instance=(0, 1, 1))


def test_more_instances_than_the_topology_has_are_refused():
    with pytest.raises(InputError, match='operator "lines": 2 instances report, the topology says 1'):
        observed(operator=("lines", "lines", "split"), instance=(0, 1, 0))


def test_a_negative_rate_is_refused():
    with pytest.raises(InputError, match="true_output: value -2 of row 1 is negative"):
        observed(true_output=[1.0, -2.0, 1.0])


def test_columns_of_another_length_are_refused():
    with pytest.raises(InputError, match="observed_output: 2 values for 3 instances"):
        observed(observed_output=[1.0, 2.0])
    with pytest.raises(InputError, match="instance: 2 values for 3 rows"):
        observed(instance=[0, 1])


def test_an_unknown_operator_is_refused_with_the_nearest_name():
    with pytest.raises(InputError, match=r'operator "splitt" is not in the topology \(did you mean "split"\?\)'):
        observed(operator=("lines", "splitt", "split"))


def test_instances_may_have_names():
    seen = observed(instance=("x", "worker-b", "worker-a"))
    assert seen.instance.tolist() == ["x", "worker-a", "worker-b"]
