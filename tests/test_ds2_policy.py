import pytest

from headgate import Dataflow, Decision, Edge, Estimate, InputError, KeepUp, decide, policy
from headgate.model.dataflow import MAX_INSTANCES
from headgate.model.reasons import (
    AtLeastOne,
    BeyondCounting,
    Bottleneck,
    DemandIncomplete,
    KeptWithoutRates,
    TargetRateMissed,
    TargetRatioUnknown,
    WithinRounding,
)

CHAIN = [("source", "map"), ("map", "count")]


def chain(rates, now=(1, 1, 1)):
    return Estimate.of_rates(Dataflow.of(dict(zip(("source", "map", "count"), now, strict=True)), CHAIN), rates)


def answer(estimate, **settings):
    return decide(estimate, policy=policy("ds2", **settings))


def test_the_word_count_of_the_paper_needs_ten_and_twenty():
    # 1,000,000 sentences a minute; a splitter does 100,000 a minute and makes 20 words of each; a counter does
    # 1,000,000 words a minute.
    seen = chain({"source": (0, 1e6 / 60), "map": (1e5 / 60, 2e6 / 60), "count": (1e6 / 60, 0)})
    assert decide(seen).parallelism == {"map": 10, "count": 20}


def test_the_example_of_the_lecture_needs_four_and_eight():
    seen = chain({"source": (0, 2000), "map": (1000, 3800), "count": (2930, 0)}, now=(1, 2, 3))
    decision = decide(seen)
    assert decision.parallelism == {"map": 4, "count": 8}
    assert decision.sizing("map").need == 4.0
    assert decision.sizing("count").need == pytest.approx(7600 / (2930 / 3))  # 3800 x 4 / 2 arrive


def test_a_decision_names_the_operator_that_is_furthest_from_keeping_up():
    decision = decide(chain({"source": (0, 2000), "map": (1000, 3800), "count": (2930, 0)}, now=(1, 2, 3)))
    assert decision.bottleneck.operator == "count"  # 7.78 of 3 is worse than 4 of 2
    assert isinstance(decision.reasons[0], Bottleneck)
    assert str(decision.reasons[0]).startswith("count is the bottleneck: it needs 7.782 instances and has 3")


def test_where_everything_keeps_up_there_is_no_bottleneck():
    decision = decide(chain({"source": (0, 10), "map": (100, 100), "count": (100, 0)}))
    assert decision.bottleneck is None
    assert decision.tightest.operator == "map"
    assert decision.reasons == ()


def test_headroom_is_added_before_rounding_up_and_not_passed_downstream():
    # 3.5 x 1.2 = 4.2; downstream sees the demand of 3.5.
    seen = chain({"source": (0, 350), "map": (100, 100), "count": (100, 0)})
    decision = decide(seen, objective=KeepUp(0.2))
    assert decision.parallelism == {"map": 5, "count": 5}
    assert decision.sizing("map").need == 3.5


def test_sources_are_never_resized():
    decision = decide(chain({"source": (0, 350), "map": (100, 100), "count": (100, 0)}, now=(6, 1, 1)))
    assert decision.sizing("source").instances == 6
    assert decision.sizing("source").source


def test_every_edge_carries_the_whole_output_unless_it_has_a_share():
    instances = {"source": 1, "a": 1, "b": 1}
    rates = {"source": (0, 100), "a": (10, 0), "b": (10, 0)}
    whole = Dataflow.of(instances, [("source", "a"), ("source", "b")])
    split = Dataflow.of(instances, [Edge("source", "a", 0.25), Edge("source", "b", 0.75)])
    assert decide(Estimate.of_rates(whole, rates)).parallelism == {"b": 10, "a": 10}
    assert decide(Estimate.of_rates(split, rates)).parallelism == {"b": 8, "a": 3}


def test_an_edge_that_carries_nothing_brings_no_demand():
    flow = Dataflow.of({"source": 1, "a": 2}, [Edge("source", "a", 0.0)])
    decision = decide(Estimate.of_rates(flow, {"source": (0, 100), "a": (10, 0)}))
    assert decision.parallelism == {"a": 1}


def test_an_operator_without_demand_keeps_one_instance():
    decision = decide(chain({"source": (0, 0), "map": (100, 100), "count": (100, 0)}, now=(1, 5, 5)))
    assert decision.parallelism == {"map": 1, "count": 1}
    assert decision.reasons == (AtLeastOne("map"), AtLeastOne("count"))


def test_an_operator_without_rates_stays_and_what_it_feeds_does_not_shrink():
    decision = decide(chain({"source": (0, 1000), "count": (100, 0)}, now=(1, 3, 8)))
    assert decision.parallelism == {"map": 3, "count": 8}
    assert decision.reasons == (KeptWithoutRates("map", 3), DemandIncomplete("count", ("map",)))
    assert decision.sizing("map").need is None
    assert decision.sizing("count").demand is None


def test_what_is_known_of_an_incomplete_demand_may_make_an_operator_grow():
    flow = Dataflow.of({"s1": 1, "s2": 1, "join": 2}, [("s1", "join"), ("s2", "join")])
    decision = decide(Estimate.of_rates(flow, {"s1": (0, 1000), "join": (200, 0)}))
    assert decision.parallelism == {"join": 10}  # s1 alone needs 1000 / 100


def test_a_true_rate_too_small_to_be_real_ends_at_what_can_be_counted():
    decision = decide(chain({"source": (0, 1e300), "map": (1e-300, 1e-300), "count": (1, 0)}))
    assert decision.parallelism == {"map": MAX_INSTANCES, "count": MAX_INSTANCES}
    assert BeyondCounting("map", MAX_INSTANCES) in decision.reasons
    assert decision.sizing("map").need is None


def test_the_smallest_float_divided_among_instances_is_not_a_division_by_zero():
    decision = decide(chain({"source": (0, 1), "map": (5e-324, 0), "count": (1, 0)}, now=(1, 9, 1)))
    assert decision.parallelism == {"map": MAX_INSTANCES, "count": 1}


def test_an_integer_within_rounding_is_that_integer_with_a_reason():
    # 0.1 + 0.2 is 0.30000000000000004, so its ratio to 0.1 comes out above 3.
    flow = Dataflow.of({"s1": 1, "s2": 1, "a": 1}, [("s1", "a"), ("s2", "a")])
    seen = Estimate.of_rates(flow, {"s1": (0, 0.1), "s2": (0, 0.2), "a": (0.1, 0)})
    decision = decide(seen)
    assert decision.parallelism == {"a": 3}
    assert WithinRounding("a", 0.30000000000000004 / 0.1, 3) in decision.reasons


def test_the_arithmetic_of_the_original_does_not_forgive_the_last_bit():
    flow = Dataflow.of({"s1": 1, "s2": 1, "a": 1}, [("s1", "a"), ("s2", "a")])
    seen = Estimate.of_rates(flow, {"s1": (0, 0.1), "s2": (0, 0.2), "a": (0.1, 0)})
    assert answer(seen, plain_ceil=True).parallelism == {"a": 4}


def test_a_need_just_above_an_integer_is_not_mistaken_for_it():
    seen = chain({"source": (0, 3.0000000001), "map": (1, 0), "count": (1, 0)})
    assert decide(seen).parallelism["map"] == 4


def with_threshold(observed, threshold, now=(1, 4, 4)):
    rates = {"source": (0, 100, 0, observed), "map": (200, 200), "count": (200, 0)}
    return answer(chain(rates, now=now), threshold=threshold)


def test_if_nothing_grows_and_a_source_falls_short_all_answers_are_multiplied():
    decision = with_threshold(observed=40, threshold=1.2)  # need 2 each; 100 / 40 = 2.5
    assert decision.parallelism == {"map": 5, "count": 5}
    assert decision.reasons[-1] == TargetRateMissed("source", 2.5, 1.2)


def test_a_ratio_equal_to_the_threshold_is_not_above_it():
    assert with_threshold(observed=50, threshold=2.0).parallelism == {"map": 2, "count": 2}


def test_a_ratio_that_equals_the_threshold_but_for_rounding_is_not_above_it():
    rates = {"source": (0, 4.92, 0, 4.1), "map": (50, 50), "count": (50, 0)}  # 4.92 / 4.1 is 1.2000000000000002
    assert answer(chain(rates), threshold=1.2).parallelism == {"map": 1, "count": 1}
    assert answer(chain(rates), threshold=1.2, plain_ceil=True).parallelism == {"map": 2, "count": 2}


def test_an_integer_within_rounding_of_the_multiplied_answer_is_that_integer_with_a_reason():
    # 0.8 / 0.7 x 7 is 8, and 8.000000000000002 in floats.
    rates = {"source": (0, 0.8, 0, 0.7), "map": (0.8, 0.8), "count": (100, 0)}
    decision = answer(chain(rates, now=(1, 7, 7)), threshold=1.0)
    assert decision.parallelism == {"map": 8, "count": 2}
    assert WithinRounding("map", 0.8 / 0.7 * 7, 8) in decision.reasons


def test_a_threshold_that_nothing_can_reach_leaves_infinite_ratios_alone():
    rates = {"source": (0, 1e300, 0, 1e-300), "map": (1e301, 0), "count": (1, 0)}
    assert answer(chain(rates), threshold=1.0).parallelism == {"map": 1, "count": 1}


def test_if_something_grows_nothing_is_multiplied():
    # One instance of map does 200, so with 1 each nothing grows; a map that does 50 has to.
    rates = {"source": (0, 100, 0, 40), "map": (50, 50), "count": (800, 0)}
    decision = answer(chain(rates, now=(1, 1, 4)), threshold=1.2)
    assert decision.parallelism == {"map": 2, "count": 1}


def test_a_source_that_was_observed_to_emit_nothing_has_no_ratio():
    decision = with_threshold(observed=0, threshold=1.0)
    assert decision.parallelism == {"map": 2, "count": 2}
    assert TargetRatioUnknown("source") in decision.reasons


@pytest.mark.parametrize("threshold", [0.9, float("nan"), -1.0])
def test_a_threshold_below_one_is_refused(threshold):
    with pytest.raises(InputError, match="give a target-rate ratio of 1 or more"):
        policy("ds2", threshold=threshold)


def test_workers_that_all_operators_share_are_the_sum_of_their_needs():
    # 2.5 and 1.25 need 3.75 workers together, not 3 + 2.
    seen = chain({"source": (0, 250), "map": (100, 100), "count": (200, 0)})
    decision = answer(seen, shared_workers=True)
    assert decision.parallelism == {"map": 3, "count": 2}
    assert decision.workers == 4


def test_shared_workers_are_multiplied_with_the_answers_where_a_source_falls_short():
    seen = chain({"source": (0, 100, 0, 25), "map": (110, 0), "count": (100, 0)}, now=(1, 1, 1))
    decision = answer(seen, shared_workers=True, threshold=2.0)
    assert decision.parallelism["map"] == 4
    assert decision.workers == 4


def test_shared_workers_are_not_made_fewer_while_something_is_unknown():
    seen = chain({"source": (0, 50), "count": (200, 0)}, now=(6, 6, 6))
    assert answer(seen, shared_workers=True).workers == 6


def test_a_decision_goes_to_json_and_back_unchanged():
    decision = decide(chain({"source": (0, 1e300), "map": (1e-300, 1e-300), "count": (1, 0)}), objective=KeepUp(0.1))
    assert Decision.from_json(decision.to_json()) == decision
    assert Decision.from_json(decide(chain({"source": (0, 10)})).to_json()) == decide(chain({"source": (0, 10)}))


def test_text_that_is_no_decision_is_refused():
    with pytest.raises(InputError, match="not a decision in JSON"):
        Decision.from_json('{"policy": 3}')


def test_a_headroom_that_is_none_is_refused_by_its_name_alone():
    with pytest.raises(InputError, match=r"^headroom is -1; give a number from 0 to 1,000,000, such as 0\.2$"):
        KeepUp(-1)
