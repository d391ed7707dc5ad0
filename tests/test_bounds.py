import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headgate import Bounds, Dataflow, Estimate, InputError, KeepUp, decide, policy
from headgate.model.bounds import share_out
from headgate.model.reasons import LoweredToBound, PoolTooSmall, RaisedToBound, TotalLimited, WorkersLimited

FLOW = Dataflow.of({"in": 1, "a": 1, "b": 1}, [("in", "a"), ("a", "b")])
SEEN = Estimate.of_rates(FLOW, {"in": (0, 80), "a": (10, 10), "b": (20, 0)})  # needs 8 and 4


def test_without_bounds_the_answer_is_the_need():
    assert decide(SEEN).parallelism == {"a": 8, "b": 4}


def test_bounds_for_all_and_for_one_each_leave_a_reason():
    decision = decide(SEEN, bounds=Bounds(least=5, of={"a": (1, 6)}))
    assert decision.parallelism == {"a": 6, "b": 5}
    assert LoweredToBound("a", asked=8, bound=6) in decision.reasons
    assert RaisedToBound("b", asked=4, bound=5) in decision.reasons


def test_a_total_is_spread_so_that_the_slowest_is_as_fast_as_it_can_be():
    decision = decide(SEEN, bounds=Bounds(total=6))
    assert decision.parallelism == {"a": 4, "b": 2}
    assert TotalLimited(asked=12, limit=6, share=0.5) in decision.reasons


def test_who_gets_the_odd_one_of_a_total_does_not_depend_on_the_order_of_the_topology():
    answers = []
    for edges in ([("in", "a"), ("in", "b")], [("in", "b"), ("in", "a")]):
        flow = Dataflow.of({"in": 1, "a": 1, "b": 1}, edges)
        seen = Estimate.of_rates(flow, {"in": (0, 10), "a": (1, 0), "b": (1, 0)})
        answers.append(decide(seen, bounds=Bounds(total=11)).parallelism)
    assert answers[0] == answers[1] == {"a": 6, "b": 5}


def test_a_total_between_the_need_and_the_need_with_headroom_is_given_out_whole():
    decision = decide(SEEN, objective=KeepUp(1.0), bounds=Bounds(total=18))  # needs 8 and 4, wants 16 and 8
    assert decision.parallelism == {"a": 12, "b": 6}
    assert decision.reasons[-1] == TotalLimited(asked=24, limit=18, share=1.0)


def test_a_total_that_is_enough_changes_nothing():
    assert decide(SEEN, bounds=Bounds(total=12)) == decide(SEEN)


def test_a_total_that_cannot_hold_the_minimum_is_refused():
    with pytest.raises(
        InputError, match="the total bound \\(--max-total\\) is 5, but the minimum of all 2 operators together is 6"
    ):
        decide(SEEN, bounds=Bounds(least=3, total=5))


def test_a_total_bounds_the_workers_where_operators_share_them():
    decision = decide(SEEN, policy=policy("ds2", shared_workers=True), bounds=Bounds(total=9))
    assert decision.workers == 9
    assert WorkersLimited(asked=12, limit=9, need=12.0) in decision.reasons


@pytest.mark.parametrize(
    ("bounds", "said"),
    [
        ({"least": 0}, "bounds of every operator .*: the minimum is 0; give a whole number from 1 up"),
        ({"least": 4, "most": 3}, "bounds of every operator .*: the maximum 3 is below the minimum 4"),
        ({"of": {"a": (2, 1)}}, "bounds of a: the maximum 1 is below the minimum 2"),
        ({"total": 0}, "the total bound .* is 0; give a whole number from 1 up"),
    ],
)
def test_bounds_that_nothing_can_satisfy_are_refused(bounds, said):
    with pytest.raises(InputError, match=said):
        Bounds(**bounds)


def test_a_bound_on_a_source_or_on_nothing_is_refused():
    with pytest.raises(InputError, match='operator "in" is a source, which is never resized'):
        decide(SEEN, bounds=Bounds(of={"in": (1, 2)}))
    with pytest.raises(InputError, match='operator "c" is not in the topology'):
        decide(SEEN, bounds=Bounds(of={"c": (1, 2)}))


def test_a_decision_within_rounding_of_what_there_is_has_no_bottleneck():
    flow = Dataflow.of({"s1": 1, "s2": 1, "s3": 1, "a": 1}, [("s1", "a"), ("s2", "a"), ("s3", "a")])
    decision = decide(Estimate.of_rates(flow, {"s1": (0, 0.1), "s2": (0, 0.1), "s3": (0, 0.1), "a": (0.3, 0)}))
    assert decision.parallelism == {"a": 1}
    assert decision.bottleneck is None


def test_bounds_of_single_operators_mean_nothing_in_a_shared_pool():
    with pytest.raises(InputError, match="have no meaning where all share one pool"):
        decide(SEEN, policy=policy("ds2", shared_workers=True), bounds=Bounds(of={"a": (1, 2)}))


def test_a_pool_raised_to_its_minimum_says_so_and_a_contradiction_is_refused():
    shared = policy("ds2", shared_workers=True)
    decision = decide(SEEN, policy=shared, bounds=Bounds(least=20))
    assert decision.workers == 20
    assert RaisedToBound("workers", asked=12, bound=20) in decision.reasons
    with pytest.raises(InputError, match="below the minimum"):
        decide(SEEN, policy=shared, bounds=Bounds(least=5, total=2))


def test_an_operator_without_rates_keeps_what_it_has_under_a_total():
    flow = Dataflow.of({"in": 1, "a": 2, "b": 1}, [("in", "a"), ("in", "b")])
    decision = decide(Estimate.of_rates(flow, {"in": (0, 80), "b": (10, 0)}), bounds=Bounds(total=6))
    assert decision.parallelism == {"b": 4, "a": 2}
    assert TotalLimited(asked=10, limit=6, share=0.5) in decision.reasons  # b needs 8


def test_windows_agree_if_their_answers_within_bounds_do():
    windows = [Estimate.of_rates(FLOW, {"in": (0, load), "a": (10, 10), "b": (1000, 0)}) for load in (900, 800)]
    assert decide(windows, combine="agree:2").parallelism == {"a": 1, "b": 1}
    assert decide(windows, combine="agree:2", bounds=Bounds(most=4)).parallelism == {"a": 4, "b": 1}


def test_a_pool_that_is_lowered_while_nothing_is_known_to_be_needed_can_still_be_put_in_words():
    flow = Dataflow.of({"in": 6, "a": 6}, [("in", "a")])
    decision = decide(
        Estimate.of_rates(flow, {"in": (0, 80)}), policy=policy("ds2", shared_workers=True), bounds=Bounds(most=3)
    )
    assert decision.workers == 3
    assert "6 workers lowered to the limit of 3" in str(decision.reasons[-1])


def test_a_pool_too_small_is_told_with_what_it_carries():
    decision = decide(SEEN, policy=policy("ds2", shared_workers=True))
    assert PoolTooSmall(workers=1, need=12.0) in decision.reasons
    assert "runs at 8.333 % of its input" in str(decision.reasons[0])


@settings(max_examples=200, deadline=None)
@given(st.lists(st.floats(0.01, 6), min_size=1, max_size=4), st.integers(0, 12))
def test_no_other_way_to_spread_a_total_has_a_faster_slowest_operator(needs, spare):
    need = np.array(needs)
    most = np.ceil(need).astype(int)
    total = min(len(needs) + spare, int(most.sum()))
    given_out = share_out(need, np.ones(len(needs), np.int64), most, total)
    assert given_out.sum() <= total
    assert (given_out >= 1).all()
    assert (given_out <= most).all()
    every_way = itertools.product(*(range(1, top + 1) for top in most.tolist()))
    best = min(max(n / g for n, g in zip(needs, way, strict=True)) for way in every_way if sum(way) <= total)
    assert (need / given_out).max() <= max(best, 1.0) * (1 + 1e-12)
