"""The policy against the exact calculation, on graphs that hypothesis makes up."""

import math
from fractions import Fraction
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from exact import ExactJob, exact_answers, exact_needs
from headgate import Dataflow, Edge, KeepUp, Observation, decide

# Round numbers meet in exact integers again and again; odd ones do not. Both are wanted.
round_rates = st.sampled_from(
    ["0.1", "0.2", "0.3", "0.6", "0.7", "1", "1.1", "3", "7", "10", "30", "70", "100", "2100"]
)
odd_rates = st.integers(1, 10**9).map(lambda n: f"{n}e-3")
rates = st.one_of(round_rates, odd_rates)
shares = st.sampled_from(["1", "1", "1", "0.5", "0.1", "0.3", "2"])


@st.composite
def jobs(draw: st.DrawFn) -> ExactJob:
    size = draw(st.integers(2, 9))
    names = [f"o{i}" for i in range(size)]
    edges = []
    for at in range(1, size):
        inputs = draw(st.sets(st.integers(0, at - 1), max_size=3))
        edges += [(names[up], names[at], draw(shares)) for up in sorted(inputs)]
    if not edges:
        edges = [(names[0], names[1], "1")]
    instances = {name: draw(st.integers(1, 6)) for name in names}
    reported = {name: draw(st.integers(1, instances[name])) for name in names}
    measured = {
        name: [(draw(rates), draw(st.one_of(rates, st.just("0")))) for _ in range(reported[name])] for name in names
    }
    return ExactJob(instances, draw(st.permutations(edges)), measured)


def observed(job: ExactJob) -> Observation:
    flow = Dataflow.of(job.instances, [Edge(up, to, float(share)) for up, to, share in job.edges])
    rows = [(name, at, float(p), float(o)) for name, given in job.rates.items() for at, (p, o) in enumerate(given)]
    return Observation.of_rates(
        flow,
        operator=[row[0] for row in rows],
        instance=[row[1] for row in rows],
        true_processing=[row[2] for row in rows],
        true_output=[row[3] for row in rows],
        observed_processing=1.0,
        observed_output=1.0,
    )


def hair_above(need: Fraction) -> bool:
    """So little above an integer, yet not one, that no calculation in floats could tell."""
    return need != math.floor(need) and need - math.floor(need) < need / 10**12


@settings(max_examples=600, deadline=None)
@given(jobs(), st.sampled_from(["0", "0.1", "0.5", "1"]))
def test_answers_equal_the_exact_calculation(job: ExactJob, headroom: str):
    found = decide(observed(job), objective=KeepUp(float(headroom))).parallelism
    expected = exact_answers(job, headroom)
    needs = exact_needs(job)
    for operator, need in needs.items():
        if not hair_above(need * (1 + Fraction(headroom))):
            assert found[operator] == expected[operator], (operator, need)


@settings(max_examples=300, deadline=None)
@given(jobs())
def test_needs_equal_the_exact_calculation_to_twelve_digits(job: ExactJob):
    decision = decide(observed(job))
    for operator, need in exact_needs(job).items():
        assert decision.sizing(operator).need == pytest.approx(float(need), rel=1e-12)


@settings(max_examples=300, deadline=None)
@given(st.integers(1, 500), st.sampled_from(["0.1", "0.3", "0.7", "1.1", "123.456", "33.3"]), st.integers(1, 40))
def test_a_need_that_is_exactly_an_integer_is_that_integer(times: int, rate: str, instances: int):
    # `times` sources emit what one instance can do: the need is `times`, whatever floats make of it.
    edges = [(f"s{i}", "sink", "1") for i in range(times)]
    job = ExactJob(
        {**{f"s{i}": 1 for i in range(times)}, "sink": instances},
        edges,
        {**{f"s{i}": [("0", rate)] for i in range(times)}, "sink": [(rate, "0")] * instances},
    )
    assert exact_answers(job) == {"sink": times}
    assert decide(observed(job)).parallelism == {"sink": times}


@settings(max_examples=150, deadline=None)
@given(
    st.lists(st.tuples(round_rates, round_rates, st.integers(1, 30)), min_size=1, max_size=60),
    st.sampled_from(["0", "0.1", "0.7"]),
)
def test_rounding_is_allowed_for_however_deep_the_dataflow(stages, headroom):
    # Each stage passes on exactly what arrives, over many instances with odd rates: every need is known exactly.
    names = ["s", *(f"o{i}" for i in range(len(stages)))]
    instances = {"s": 1, **{f"o{i}": n for i, (_, _, n) in enumerate(stages)}}
    rates_of = {"s": [("0", "0.7")], **{f"o{i}": [(p, o)] * n for i, (p, o, n) in enumerate(stages)}}
    job = ExactJob(instances, [(up, to, "1") for up, to in pairwise(names)], rates_of)
    needs = exact_needs(job)
    roundings = 60 + 40 * len(stages)  # more than any need goes through: sums over 30 instances, a few factors a stage
    if max(needs.values()) * roundings > 2**51:
        return  # beyond what floats can count after so many roundings
    found = decide(observed(job), objective=KeepUp(float(headroom))).parallelism
    expected = exact_answers(job, headroom)
    for operator, need in needs.items():
        if not hair_above(need * (1 + Fraction(headroom))):
            assert found[operator] == expected[operator], (operator, need)


@settings(max_examples=100, deadline=None)
@given(jobs(), st.randoms(use_true_random=False))
def test_the_order_of_operators_edges_and_rows_does_not_matter(job: ExactJob, random):
    edges, names = list(job.edges), list(job.instances)
    random.shuffle(edges)
    random.shuffle(names)
    shuffled = ExactJob({n: job.instances[n] for n in names}, edges, {n: job.rates[n] for n in names})
    assert decide(observed(shuffled)).parallelism == decide(observed(job)).parallelism
