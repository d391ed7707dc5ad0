"""What `capacity` learns of sub-linear operators saves rescales; in short (`make bench-curves` looks at every pair)."""

import csv
import statistics

import pytest

from headgate.policies.operator_capacity import expected, least, sized, with_size
from headgate.policies.registry import policy
from headgate.simulation.record_job import RecordOperator
from headgate.simulation.settling import pairs, settle


def ended(name, operator, most, stride, **settings):
    every = list(pairs(operator, most))[::stride]
    return [(pair, settle(policy(name, **settings), operator, pair)) for pair in every]


def mean(runs):
    return statistics.mean(run.rescales for _, run in runs)


def test_on_a_linear_operator_ds2_takes_one_step_and_capacity_at_most_two():
    linear = RecordOperator("map", each=100.0)
    assert max(run.rescales for _, run in ended("ds2", linear, 12, 7)) == 1
    assert max(run.rescales for _, run in ended("capacity", linear, 12, 7)) == 2


def test_on_an_operator_whose_instances_get_in_each_others_way_capacity_takes_fewer_steps_than_ds2(reference):
    with (reference / "curves/conttune_op2_pa.csv").open() as file:
        points = [(int(row["parallelism"]), float(row["processing_ability_rec_s"])) for row in csv.DictReader(file)]
    crowd = RecordOperator("map", curve=tuple(points))
    ours, theirs = ended("capacity", crowd, 25, 11), ended("ds2", crowd, 25, 11)
    assert mean(ours) < mean(theirs) - 0.3
    assert sum(run.rescales <= 2 for _, run in ours) >= 0.85 * len(ours)
    for pair, run in ours:
        assert run.at_rest
        assert crowd.capacity(run.instances) >= pair.rate


@pytest.mark.parametrize("name", ["ds2", "conttune", "capacity"])
def test_every_one_of_them_comes_to_rest_where_it_is_enough(name):
    settings = {"period": 0.0} if name == "conttune" else {}
    crowd = RecordOperator("map", curve=tuple((n, 100.0 * n**0.75) for n in range(1, 21)))
    for pair, run in ended(name, crowd, 20, 29, **settings):
        assert run.at_rest
        assert crowd.capacity(run.instances) >= pair.rate


def test_a_power_goes_through_the_sizes_that_were_seen():
    seen = ((1, 100.0), (4, 200.0), (16, 300.0))
    assert expected(seen, 2) == pytest.approx(100 * 2**0.5)
    assert expected(seen, 4) == pytest.approx(200)
    assert expected(seen, 64) == pytest.approx(450)  # 1.5 times for four times as many, once more


def test_what_was_seen_to_be_too_few_or_enough_is_known_for_certain():
    seen = ((4, 400.0), (5, 410.0), (8, 700.0))
    assert least(seen, 420.0, most=20) == 6
    assert least(seen, 405.0, most=20) == 5
    assert sized(seen, 5, 650.0)[0] == 8


def test_one_instance_is_not_worth_a_pause_but_two_are():
    seen = tuple((n, 100.0 * n) for n in (6, 7, 8))
    assert sized(seen, 8, 690.0)[0] == 8
    assert sized(seen, 8, 590.0)[0] == 6
    assert sized(((2, 200.0),), 2, 90.0)[0] == 1


def test_where_more_did_no_better_it_stays_with_the_best_and_says_so():
    answer, said = sized(((2, 200.0), (4, 210.0), (8, 150.0)), 8, 500.0)
    assert answer == 4
    assert said == "more instances did no better than these"


def test_a_record_that_costs_more_than_before_costs_more_at_every_size():
    assert with_size(((2, 200.0), (4, 300.0)), 2, 100.0) == ((2, 100.0), (4, 150.0))
    assert with_size(((2, 200.0), (4, 300.0)), 2, 195.0) == ((2, 195.0), (4, 300.0))  # noise
