"""The line through measurements, and how honest its interval is."""

import numpy as np
import pytest

from headgate.model.line import line_through


def noisy(seed, points=60, base=0.2, slope=0.002, noise=0.02):
    dice = np.random.default_rng(seed)
    x = dice.uniform(50, 500, points)
    return x, base + slope * x + dice.normal(0, noise, points)


def test_nine_intervals_of_ten_hold_the_truth():
    lines = [line_through(*noisy(seed)) for seed in range(200)]
    holds = [line.slope.low <= 0.002 <= line.slope.high for line in lines]
    base_holds = [line.base.low <= 0.2 <= line.base.high for line in lines]
    assert np.mean(holds) >= 0.9
    assert np.mean(base_holds) >= 0.9
    widths = [line.slope.high - line.slope.low for line in lines]
    assert np.median(widths) < 0.0002  # and they say something: a tenth of the slope


def test_one_point_in_six_far_off_does_not_move_it():
    x, y = noisy(1)
    y[::6] += 5
    assert line_through(x, y).slope.value == pytest.approx(0.002, rel=0.1)


@pytest.mark.parametrize("x", [[], [5.0, 6.0], [100.0] * 50, [100.0, 101.0, 102.0, 103.0, 104.0]])
def test_points_that_cannot_tell_give_no_line(x):
    assert line_through(np.array(x), np.array(x)) is None


def test_many_points_are_thinned_without_losing_the_few_large_ones():
    x = np.concatenate((np.full(5000, 100.0) + np.arange(5000) % 7, np.full(40, 3000.0)))
    line = line_through(x, 0.1 + 0.001 * x)
    assert line.slope.value == pytest.approx(0.001)
