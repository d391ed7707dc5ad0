import pytest

from headgate import Dataflow, Estimate, InputError, decide, policy
from headgate.model.combination import Combination
from headgate.model.reasons import KeptWithoutRates, ObservationsDisagree
from headgate.policies.ds2 import Ds2

FLOW = Dataflow.of({"in": 1, "a": 2, "b": 2}, [("in", "a"), ("in", "b")])


def seen(*needs_of_a, b=1):
    """Observations in which a needs so many; one instance of either does 1 record a second."""
    return [Estimate.of_rates(FLOW, {"in": (0, need), "a": (2, 0), "b": (2 * need / b, 0)}) for need in needs_of_a]


@pytest.mark.parametrize(
    ("how", "answer"),
    [
        ("last", 4),
        ("median", 4),  # 3 4 4 5 9 in order
        ("maximum", 9),
        ("agree:1", 4),
        ("agree:2", 4),
        ("agree:3", 2),  # 5 4 4 do not agree: stays at 2
    ],
)
def test_several_observations_become_one_answer(how, answer):
    assert decide(seen(9, 3, 5, 4, 4), combine=how).parallelism["a"] == answer


def test_of_an_even_number_the_median_is_the_upper_one_because_it_was_really_seen():
    assert decide(seen(1, 8, 3, 6), combine="median").parallelism["a"] == 6


def test_an_operator_whose_answers_disagree_stays_while_another_may_change():
    decision = decide([*seen(4, b=5), *seen(7, b=5)], combine="agree:2")
    assert decision.parallelism == {"b": 5, "a": 2}
    assert ObservationsDisagree("a", wanted=2, answers=(4, 7)) in decision.reasons


def test_too_few_observations_never_agree():
    assert decide(seen(6, 6), combine="agree:3").parallelism["a"] == 2
    assert decide(seen(6), combine="agree:2").parallelism["a"] == 2


def test_need_and_answer_come_from_the_same_observation():
    sizing = decide(seen(9, 3, 5), combine="median").sizing("a")
    assert (sizing.need, sizing.demand, sizing.instances) == (5.0, 5.0, 5)


def test_reasons_are_those_of_the_windows_that_were_used():
    known, unknown = seen(6), [Estimate.of_rates(FLOW, {"in": (0, 9), "b": (2, 0)})]
    assert decide(known + unknown, combine="maximum").reasons[1:] == ()  # all from the first window
    assert KeptWithoutRates("a", 2) in decide(known + unknown, combine="last").reasons


def test_observations_of_two_dataflows_are_refused():
    other = Dataflow.of({"in": 1, "x": 1}, [("in", "x")])
    with pytest.raises(InputError, match="different dataflows"):
        decide([*seen(3), Estimate.of_rates(other, {"in": (0, 1), "x": (1, 0)})], combine="median")


@pytest.mark.parametrize("odd", [{"a": 1}, 7, "x"])
def test_what_is_no_observation_is_refused(odd):
    with pytest.raises(InputError, match="is no observation"):
        decide([odd])


def test_a_policy_must_be_an_instance_not_a_class():
    with pytest.raises(InputError, match=r"policy is the class Ds2; give an instance of it: Ds2\(\)"):
        decide(seen(3), policy=Ds2)


def test_shared_workers_are_combined_in_the_same_way():
    shared = policy("ds2", shared_workers=True)
    windows = seen(9, 3, 5)  # 10, 4 and 6 workers with the 1 of b
    assert decide(windows, policy=shared, combine="median").workers == 6
    assert decide(windows, policy=shared, combine="maximum").workers == 10
    assert decide(windows, policy=shared, combine="agree:2").workers == 2


@pytest.mark.parametrize("text", ["mean", "agree", "agree:0", "agree:x", "agree:-1", ""])
def test_a_combination_that_does_not_exist_is_refused(text):
    with pytest.raises(InputError, match="give last, median, maximum, agree:K"):
        Combination.parse(text)


def test_no_observations_are_refused():
    with pytest.raises(InputError, match="no observations to decide on"):
        decide([])
