"""List scheduling, against schedules worked out by hand and against bounds that hold for every schedule."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from headgate.model.schedule import Stage, _Run, scheduled


def makespan(*stages, slots):
    return scheduled([Stage(np.array(seconds, float), *rest) for seconds, *rest in stages], slots).makespan


@pytest.mark.parametrize(
    ("seconds", "slots", "takes"),
    [
        ([1, 1, 1, 1], [1], 4),
        ([1, 1, 1, 1], [2], 2),
        ([1, 1, 1, 1], [1, 1, 1], 2),  # a last wave of one
        ([3, 1, 1, 1], [1, 1], 3),
        ([1, 1, 1, 3], [1, 1], 4),  # the long one comes last
        ([], [4], 0),
    ],
)
def test_tasks_go_to_the_first_slot_that_is_free(seconds, slots, takes):
    assert makespan((seconds,), slots=slots) == takes


def test_a_stage_waits_for_all_that_feed_it_and_stages_that_do_not_wait_run_side_by_side():
    #  a (2 s) -> c (1 s) <- b (3 s), two slots
    assert makespan(([2],), ([3],), ([1], (0, 1)), slots=[2]) == 4
    assert makespan(([2],), ([3],), ([1], (0, 1)), slots=[1]) == 6


def test_a_task_with_a_home_waits_for_it_while_other_executors_are_idle():
    assert makespan(([1, 1, 1, 1], (), (0, 0, 0, 0)), slots=[1, 1, 1, 1]) == 4
    assert makespan(([1, 1, 1, 1], (), (0, 1, 2, 3)), slots=[1, 1, 1, 1]) == 1


def test_a_home_that_is_gone_is_anywhere():
    assert makespan(([1, 1], (), (7, 7)), slots=[1, 1]) == 1


def test_a_stage_without_tasks_holds_nobody_up():
    assert makespan(([],), ([1], (0,)), slots=[1]) == 1


def test_the_second_stage_fills_slots_that_the_first_leaves_empty():
    # One long and one short task, then a stage of its own with two: one slot does 4, the other 1 + 2 + 2.
    schedule = scheduled([Stage(np.array([4.0, 1.0])), Stage(np.array([2.0, 2.0]))], [2])
    assert schedule.over == (4, 5)


@given(
    st.lists(st.floats(0.01, 10), min_size=1, max_size=30),
    st.lists(st.integers(1, 4), min_size=1, max_size=5),
)
def test_no_schedule_beats_the_work_or_the_longest_task_and_grahams_bound_holds(seconds, slots):
    total, longest, count = sum(seconds), max(seconds), sum(slots)
    takes = makespan((seconds,), slots=slots)
    assert takes >= max(total / count, longest) - 1e-9
    assert takes <= total / count + longest * (1 - 1 / count) + 1e-9


@given(
    st.lists(st.lists(st.tuples(st.floats(0, 5), st.integers(0, 3)), max_size=12), min_size=1, max_size=4),
    st.lists(st.integers(1, 3), min_size=4, max_size=4),
    st.lists(st.booleans(), min_size=4, max_size=4),
)
def test_the_short_way_for_chains_is_the_schedule_of_the_long_one(chain, slots, with_homes):
    stages = [
        Stage(
            np.array([seconds for seconds, _ in tasks]),
            (place - 1,) if place else (),
            tuple(home for _, home in tasks) if with_homes[place] else (),
        )
        for place, tasks in enumerate(chain)
    ]
    short, long = scheduled(stages, slots), _Run(stages, slots).schedule()
    assert short.over == pytest.approx(long.over)
    assert short.started == long.started
