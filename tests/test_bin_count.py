"""How many bins a new job starts with. Expected values by hand."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headgate.model.bin_count import bins_to_start_with, unevenness


def test_there_are_as_many_bins_as_slots_at_the_least_whatever_they_cost():
    assert bins_to_start_with(least=1, most=10, cores=4, interval=0.1).bins == 40


def test_with_one_size_of_pool_a_bin_for_each_slot_is_even():
    chosen = bins_to_start_with(least=6, most=6, cores=2, interval=10.0)
    assert (chosen.bins, chosen.uneven) == (12, 1.0)
    assert chosen.overhead == pytest.approx(0.1)  # 12 bins of 0.1 s on 12 slots


def test_unevenness_is_the_worst_over_all_sizes():
    # 20 bins: on 6 executors the largest has 4 of 3.33, on 8 it has 3 of 2.5: 1.2 both.
    assert unevenness(20, 1, 8) == pytest.approx(1.2)


def test_bins_of_an_executor_run_in_waves_on_its_cores():
    # 56 bins on 1 to 8 executors of 4 cores: on 5 one has 12, three waves, where even would be 2.8; on 3 one has 19,
    # five waves for 4.67; on 6 ten, three for 2.33, which is the worst. With 32, on 7 one would have 5: two for 1.14.
    assert unevenness(56, 1, 8, cores=4) == pytest.approx(3 * 4 * 6 / 56)
    assert unevenness(32, 1, 8, cores=4) == pytest.approx(2 * 4 * 7 / 32)


@given(st.integers(1, 20), st.integers(0, 60), st.integers(1, 8), st.floats(0.5, 300.0))
def test_what_is_chosen_is_within_bounds_and_no_fewer_would_be_as_even(least, more, cores, interval):
    most = least + more
    chosen = bins_to_start_with(least, most, cores, interval)
    assert most * cores <= chosen.bins <= 8 * most * cores
    fewer = range(most * cores, chosen.bins)
    assert all(unevenness(one, least, most, cores) > min(chosen.uneven, 1.2) for one in fewer)
