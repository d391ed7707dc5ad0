"""What `benchmarks/load.py` makes of the moments at which events came: by hand, without a broker and without Spark."""

import numpy as np
import pytest

pytest.importorskip("confluent_kafka")
pytest.importorskip("pyspark")

import load
from headgate.workloads.load import Constant, Step

STEP = Step(2000.0, 6000.0, at=5.0)


def due(count):
    """When the first events of the step are due: event n at n / 2,000 s up to 10,000, then 6,000 a second."""
    numbers = np.arange(1, count + 1)
    return np.where(numbers <= 10_000, numbers / 2000, 5.0 + (numbers - 10_000) / 6000)


def test_what_is_due_when_is_known_to_a_millisecond():
    assert load.due_moments(STEP, 100_000, 20.0) == pytest.approx(due(100_000), abs=0.001)


def test_first_events_that_are_late_do_not_move_the_clock_of_the_others():
    # Connecting took 0.3 s; then all that had waited was there, and the rest in time. By the clock of the first event
    # all others would be 0.3 s early: 0.3 s x 4,000 more events in ten seconds of 20,000 or more.
    came = load.taken_by_broker(np.maximum(due(100_000), 0.3), STEP, 20.0)
    assert came.behind == pytest.approx(0.0, abs=0.001)
    assert load.worst(came, STEP, 20.0) < 0.001


def test_what_is_late_by_the_same_all_the_time_is_told_as_the_delay():
    came = load.taken_by_broker(due(100_000) + 0.25, STEP, 20.0)
    assert came.behind == pytest.approx(0.25, abs=0.001)
    assert load.worst(came, STEP, 20.0) < 0.001


def test_events_that_come_late_count_in_the_ten_seconds_that_they_fell_into():
    # Of 2,000 a second those due from second 8 to 9 come at 9: ten seconds from 8.9 on have 1,800 of 20,000 too many.
    moments = np.arange(1, 40_001) / 2000
    late = np.where((moments > 8) & (moments < 9), 9.0, moments)
    came = load.taken_by_broker(late, Constant(2000.0), 20.0)
    assert load.worst(came, Constant(2000.0), 20.0) == pytest.approx(0.09, abs=0.0005)


def test_nothing_is_expected_after_the_last_event():
    # 18 s of events in 20: no look is later than the last of them.
    came = load.taken_by_broker(np.arange(1, 36_001) / 2000, Constant(2000.0), 20.0)
    assert came.seconds[-1] <= 18
    assert load.worst(came, Constant(2000.0), 20.0) < 0.001


def test_the_longest_gap_is_found_in_the_middle_and_at_the_end():
    every_second = np.arange(1.0, 21.0)
    assert load.longest_gap(every_second, 20.0) == 1.0
    assert load.longest_gap(np.delete(every_second, [6, 7]), 20.0) == 3.0  # nothing at 7 and 8
    assert load.longest_gap(every_second[:15], 20.0) == 5.0  # nothing after 15


def test_too_little_time_is_one_line(capsys):
    with pytest.raises(SystemExit):
        load.main(["--seconds", "11"])
    assert "11 s are too few to see ten of them; give at least 14" in capsys.readouterr().err.splitlines()[-1]
    came = load.Came(np.arange(3.0, 9.0), np.arange(6) * 100.0, behind=0.0)
    with pytest.raises(SystemExit, match="of 20 s no ten after the first 2 were seen whole"):
        load.worst(came, Constant(100.0), 20.0)
