"""The mean that benchmarks of migrations are judged by."""

import math

import pytest

from trimmed_mean import trimmed_mean


def test_a_fifth_of_the_samples_is_left_out_on_each_side_and_pulled_in_for_the_error():
    # Kept are 1.0, 1.2 and 1.2; pulled in the samples are 1.0, 1.0, 1.2, 1.2 and 1.2, whose squares about their mean of
    # 1.12 sum up to 2 x 0.0144 + 3 x 0.0064 = 0.048.
    found = trimmed_mean([1.0, 1.2, 9.0, 1.2, 1.0])
    assert found.value == pytest.approx(3.4 / 3)
    assert found.error == pytest.approx(math.sqrt(0.048 / (3 * 2)))


def test_of_few_samples_none_is_left_out_and_the_error_is_the_usual_one():
    found = trimmed_mean([1.0, 2.0, 3.0, 4.0])
    assert found.value == 2.5
    assert found.error == pytest.approx(math.sqrt((1.5**2 + 0.5**2 + 0.5**2 + 1.5**2) / 3 / 4))


def test_of_one_sample_no_error_is_known_and_of_none_nothing_at_all():
    assert trimmed_mean([3.0]) == (3.0, math.inf)
    nothing = trimmed_mean([])
    assert math.isnan(nothing.value)
    assert nothing.error == math.inf
