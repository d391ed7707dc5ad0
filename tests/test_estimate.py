import numpy as np
import pytest

from headgate import Dataflow, Estimate, InputError, Observation, estimate
from headgate.model.objective import KeepUp
from headgate.model.overrides import OBSERVED, with_output_rates, with_processing_rates
from headgate.model.reasons import (
    IdleInstances,
    InstancesCountedAsZero,
    InstancesInferred,
    OutputRateGiven,
    ProcessingRateGiven,
    RatesNotFinite,
    RateWithoutEffect,
)
from headgate.policies.registry import POLICIES, policy

FLOW = Dataflow.of({"lines": 1, "split": 4, "count": 1}, [("lines", "split"), ("split", "count")])


def observed(split, count=((100.0, 0.0),), lines=((0.0, 80.0),)):
    """Rows of (true processing, true output); observed rates are half of the true ones."""
    rows = [("lines", *r) for r in lines] + [("split", *r) for r in split] + [("count", *r) for r in count]
    p, o = np.array([r[1] for r in rows]), np.array([r[2] for r in rows])
    return Observation.of_rates(
        FLOW, operator=[r[0] for r in rows], instance=np.arange(len(rows)),
        true_processing=p, true_output=o,
        observed_processing=np.where(np.isfinite(p), p / 2, 0), observed_output=np.where(np.isfinite(o), o / 2, 0),
    )  # fmt: skip


def split_rates(seen):
    at = seen.dataflow.position("split")
    return seen.true_processing[at], seen.true_output[at]


def test_rates_are_summed_over_instances():
    seen = estimate(observed([(10, 70), (12, 84), (8, 56), (10, 70)]))
    assert split_rates(seen) == (40, 280)
    assert seen.observed_processing[1] == 20
    assert seen.reasons == ()


def test_instances_that_did_not_report_are_taken_to_be_like_those_that_did():
    seen = estimate(observed([(10, 70), (14, 98)]))
    assert split_rates(seen) == (48, 336)  # 24 and 168 over two, so twice that over four
    assert seen.reasons == (InstancesInferred("split", reported=2, instances=4),)


def test_instances_that_did_not_report_count_as_zero_if_that_is_asked_for():
    seen = estimate(observed([(10, 70), (14, 98)]), missing="zero")
    assert split_rates(seen) == (24, 168)
    assert seen.reasons == (InstancesCountedAsZero("split", reported=2, instances=4),)


@pytest.mark.parametrize("odd", [float("nan"), float("inf")])
def test_a_rate_that_is_no_number_is_an_instance_that_did_not_report(odd):
    seen = estimate(observed([(10, 70), (odd, odd), (14, 98), (12, 84)]))
    assert split_rates(seen) == (48, 336)  # 36 and 252 over three
    assert seen.reasons == (RatesNotFinite("split", 1), InstancesInferred("split", 3, 4))


def test_an_idle_instance_says_nothing_about_its_speed():
    seen = estimate(observed([(10, 70), (0, 0), (14, 98), (12, 84)]))
    assert split_rates(seen) == (48, 336)
    assert seen.reasons == (IdleInstances("split", 1), InstancesInferred("split", 3, 4))


def test_an_idle_instance_counts_as_zero_if_that_is_asked_for():
    seen = estimate(observed([(10, 70), (0, 0), (14, 98), (12, 84)]), idle="zero")
    assert split_rates(seen) == (36, 252)
    assert seen.reasons == (InstancesCountedAsZero("split", 3, 4),)


def test_an_operator_of_which_nothing_is_usable_is_unknown():
    seen = estimate(observed([(0, 0), (float("nan"), 5), (0, 0), (0, 0)]))
    assert seen.known.tolist() == [True, False, True]


def test_an_operator_that_never_reported_is_unknown():
    assert estimate(observed([])).known.tolist() == [True, False, True]


def test_what_a_source_processes_and_a_sink_emits_cannot_spoil_them():
    nan = float("nan")
    seen = estimate(observed([(10, 70)] * 4, lines=[(nan, 80)], count=[(100, nan)]))
    assert seen.known.all()
    assert seen.reasons == ()
    assert seen.true_output[0] == 80
    assert seen.true_processing[2] == 100


@pytest.mark.parametrize("column", ["observed_processing", "observed_output"])
def test_an_observed_rate_that_is_no_number_does_not_spoil_the_true_ones(column):
    rates = {"true_processing": [0, 10, 10, 10, 10, 100], "true_output": [80, 70, 70, 70, 70, 0]}
    observed_rates = {"observed_processing": [0.0, 5, 5, 5, 5, 50], "observed_output": [40.0, 35, 35, 35, 35, 0]}
    observed_rates[column] = [float("nan"), *observed_rates[column][1:]]
    seen = estimate(
        Observation.of_rates(
            FLOW, operator=["lines", *["split"] * 4, "count"], instance=range(6), **rates, **observed_rates
        )
    )
    assert seen.known.all()
    assert seen.reasons == ()
    # Its own is not known, which is not zero; that of the others is what they told.
    told = {"observed_processing": [0, 20, 50], "observed_output": [40, 140, 0]}
    told[column][0] = float("nan")
    np.testing.assert_array_equal(seen.observed_processing, told["observed_processing"])
    np.testing.assert_array_equal(seen.observed_output, told["observed_output"])


def without_observed(operator):
    """Four instances of 10 a second at half of their time; of one operator nobody hears what was observed."""
    nan = float("nan")
    ids = ["lines", *["split"] * 4, "count"]
    halves = [(0.0, 40.0), *[(5.0, 35.0)] * 4, (50.0, 0.0)]
    heard = [(nan, nan) if id == operator else half for id, half in zip(ids, halves, strict=True)]
    return estimate(
        Observation.of_rates(
            FLOW, operator=ids, instance=range(6),
            true_processing=[0, 10, 10, 10, 10, 100], true_output=[80, 70, 70, 70, 70, 0],
            observed_processing=[p for p, _ in heard], observed_output=[o for _, o in heard],
        )
    )  # fmt: skip


def test_what_was_not_observed_of_an_operator_is_none_and_not_idleness():
    seen = without_observed("split").seen(1)
    assert (seen.taken, seen.busy) == (None, None)
    assert (without_observed("lines").seen(1).taken, without_observed("lines").seen(1).busy) == (20, 0.5)
    assert without_observed("lines").seen(0).taken is None


@pytest.mark.parametrize("name", POLICIES)
def test_no_policy_shrinks_an_operator_of_which_nobody_heard_what_it_took(name):
    """It is asked for an hour and a half, longer than any but `managed` waits; DS2's kind go by true rates alone."""
    chosen = policy(name)
    memory, seen = chosen.start(), without_observed("split")
    for minute in range(90):
        memory, decision = chosen.decide(memory, seen, KeepUp(), 60.0 * minute)
        # 80 a second come and 40 can be done: four are too few.
        assert decision.parallelism["split"] >= 4, minute


def test_an_observed_rate_that_nobody_heard_cannot_stand_in_for_a_true_one():
    assert not with_output_rates(without_observed("lines"), {"lines": OBSERVED}).known[0]
    assert not with_processing_rates(without_observed("split"), {"split": OBSERVED}).known[1]


def test_the_observed_rate_of_a_source_may_stand_in_for_a_true_one_that_is_no_number():
    nan = float("nan")
    seen = Observation.of_rates(
        FLOW, operator=["lines", "split"], instance=[0, 0], true_processing=[0, 10], true_output=[nan, 70],
        observed_processing=[0, 5], observed_output=[80, 35],
    )  # fmt: skip
    assert not estimate(seen).known[0]
    given = with_output_rates(estimate(seen), {"lines": OBSERVED})
    assert given.known[0]
    assert given.true_output[0] == 80


def test_a_source_rate_too_large_for_a_float_is_refused():
    flow = Dataflow.of({"lines": 3, "split": 1}, [("lines", "split")])
    with pytest.raises(InputError, match='source rate of operator "lines" times its instances is too large'):
        with_output_rates(Estimate.of_rates(flow, {"lines": (0, 1), "split": (1, 1)}), {"lines": 1.5e308})


def test_a_source_that_emits_nothing_is_known_to_emit_nothing():
    seen = estimate(observed([(10, 70)] * 4, lines=[(0, 0)]))
    assert seen.known[0]
    assert seen.true_output[0] == 0


def test_summed_rates_can_be_given_directly():
    seen = Estimate.of_rates(FLOW, {"lines": (0, 80), "split": (40, 280, 20, 140)})
    assert seen.known.tolist() == [True, True, False]
    assert split_rates(seen) == (40, 280)
    assert seen.observed_output.tolist() == [80, 140, 0]


@pytest.mark.parametrize("odd", [(1,), (1, 2, 3), (1, 2, 3, 4, 5), 7])
def test_summed_rates_are_two_or_four_numbers(odd):
    with pytest.raises(InputError, match=r'rates of operator "lines" are .*; give \(true processing, true output\)'):
        Estimate.of_rates(FLOW, {"lines": odd})


def test_a_reading_of_silence_that_does_not_exist_is_refused():
    with pytest.raises(InputError, match='missing is "bogus"; give infer or zero'):
        estimate(observed([(10, 70)]), missing="bogus")


def test_a_processing_rate_for_a_source_has_no_effect_and_says_so():
    seen = with_processing_rates(estimate(observed([(10, 70)] * 4)), {"lines": 5.0})
    assert seen.reasons == (RateWithoutEffect("lines"),)


def test_the_observed_rate_of_a_source_that_did_not_report_is_not_zero():
    silent = Estimate.of_rates(FLOW, {"split": (40, 280)})
    assert not with_output_rates(silent, {"lines": OBSERVED}).known[0]


def test_a_negative_summed_rate_is_refused():
    with pytest.raises(InputError, match="true output: value -1 of row 0 is negative"):
        Estimate.of_rates(FLOW, {"lines": (0, -1)})


def test_a_given_source_rate_is_per_instance():
    flow = Dataflow.of({"lines": 3, "split": 1}, [("lines", "split")])
    seen = with_output_rates(Estimate.of_rates(flow, {"lines": (0, 80), "split": (1, 1)}), {"lines": 500.0})
    assert seen.true_output[0] == 1500
    assert seen.reasons == (OutputRateGiven("lines", 1500.0, is_source=True),)


def test_minus_one_takes_the_observed_source_rate():
    seen = with_output_rates(estimate(observed([(10, 70)] * 4)), {"lines": OBSERVED})
    assert seen.true_output[0] == 40


def test_a_given_rate_makes_a_silent_source_known():
    silent = Estimate.of_rates(FLOW, {"split": (40, 280)})
    assert with_output_rates(silent, {"lines": 10.0}).known.tolist() == [True, True, False]


def test_a_limit_on_processing_keeps_selectivity():
    seen = with_processing_rates(estimate(observed([(10, 70)] * 4)), {"split": 5.0})
    assert split_rates(seen) == (20, 140)
    assert seen.reasons == (ProcessingRateGiven("split", measured=40.0, rate=20.0),)


def test_a_limit_on_processing_leaves_the_output_as_the_original_does_if_asked():
    seen = with_processing_rates(estimate(observed([(10, 70)] * 4)), {"split": 5.0}, scale_output=False)
    assert split_rates(seen) == (20, 280)


def test_a_limit_above_what_was_measured_changes_nothing():
    seen = with_processing_rates(estimate(observed([(10, 70)] * 4)), {"split": 11.0})
    assert split_rates(seen) == (40, 280)
    assert seen.reasons == ()


@pytest.mark.parametrize("rate", [-2.0, float("nan"), float("inf")])
def test_given_rates_that_cannot_be_are_refused(rate):
    seen = estimate(observed([(10, 70)] * 4))
    with pytest.raises(InputError, match=r'source rate of operator "lines" is .*; give a number from 0 up, or -1'):
        with_output_rates(seen, {"lines": rate})
    with pytest.raises(InputError, match='operator rate of operator "split"'):
        with_processing_rates(seen, {"split": rate})
