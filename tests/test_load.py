import pytest
from hypothesis import given
from hypothesis import strategies as st

from headgate.model.errors import InputError
from headgate.workloads.load import Constant, Ramp, Sine, Step, load_from_text, load_to_text

rates = st.floats(0, 1e6)
loads = st.one_of(
    st.builds(Constant, rates),
    st.builds(Step, rates, rates, st.floats(0.1, 100)),
    st.builds(Ramp, rates, rates, st.floats(0.1, 100)),
    st.builds(lambda mean, part, period: Sine(mean, mean * part, period), rates, st.floats(0, 1), st.floats(1, 100)),
)


@given(loads, st.floats(0, 200))
def test_records_due_are_the_area_under_the_rate(load, seconds):
    # Midpoints of many thin strips: independent of how the profile adds up.
    strips = 2000
    area = sum(load.rate((i + 0.5) * seconds / strips) for i in range(strips)) * seconds / strips
    assert load.records(seconds) == pytest.approx(area, rel=2e-3, abs=1e-6 + 1e6 * seconds / strips)


@given(loads, st.floats(0, 100), st.floats(0, 100))
def test_records_never_become_fewer(load, first, more):
    assert load.records(first + more) >= load.records(first) - 1e-6 * load.records(first)


@given(loads, loads, st.floats(0, 100))
def test_a_sum_emits_what_its_parts_emit(one, other, seconds):
    assert (one + other).records(seconds) == pytest.approx(one.records(seconds) + other.records(seconds))


@given(loads)
def test_a_profile_survives_being_an_option(load):
    assert load_from_text(load_to_text(load)) == load


def test_what_is_no_profile_is_refused():
    with pytest.raises(InputError, match="cannot be read"):
        load_from_text("fast")
    with pytest.raises(InputError, match="a rate cannot be negative"):
        Sine(10.0, 20.0, 60.0)
    with pytest.raises(InputError, match="period is 0"):
        Sine(10.0, 5.0, 0.0)
