"""In which steps bins move, and what each is said to cost. Expected values by hand."""

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headgate.model.microbatch import Executor
from headgate.model.migration import STRATEGIES, LoadTime, Route, migration, steps
from headgate.model.placement import Bin, Move, moves, placement

MB = 1_000_000
LOADING = LoadTime(fixed=0.5, per_byte=1e-8, at_once=4)
"""A bin of 50 MB takes a second."""


def executors(count):
    return [Executor(str(number), "localhost", 1) for number in range(count)]


def two_to_four(strategy, allowed=0.0):
    """16 bins of 50 MB on two executors; two more join."""
    bins = [Bin(number, 1.0, 50 * MB) for number in range(16)]
    return migration(bins, placement(bins, {}, executors(2)), executors(4), strategy, LOADING, allowed)


def test_sudden_moves_all_in_one_step_and_each_new_executor_loads_its_four_one_after_the_other():
    plan = two_to_four("sudden")
    assert [len(step.moves) for step in plan.steps] == [8]
    assert plan.longest == pytest.approx(4.0)


def test_fluid_moves_one_bin_a_step_and_each_costs_one_load():
    plan = two_to_four("fluid")
    assert [len(step.moves) for step in plan.steps] == [1] * 8
    assert [step.delay for step in plan.steps] == pytest.approx([1.0] * 8)


def test_batched_moves_a_bin_to_each_new_executor_in_a_step():
    plan = two_to_four("batched", allowed=1.0)
    assert [len(step.moves) for step in plan.steps] == [2] * 4
    assert plan.longest == pytest.approx(1.0)


def test_batched_with_no_time_to_spare_moves_one_bin_a_step():
    assert [len(step.moves) for step in two_to_four("batched", allowed=0.9).steps] == [1] * 8


def test_loads_that_share_a_disk_cannot_be_faster_than_the_disk():
    bins = [Bin(number, 1.0, 50 * MB) for number in range(16)]
    one_at_a_time = LoadTime(fixed=0.5, per_byte=1e-8, at_once=1)
    plan = migration(bins, placement(bins, {}, executors(2)), executors(4), "sudden", one_at_a_time)
    assert plan.longest == pytest.approx(8.0)


def test_hottest_first_relieves_the_executor_that_holds_the_batch_back():
    bins = [Bin(0, 5.0), Bin(1, 5.0), Bin(2, 3.0), Bin(3, 3.0)]
    now = {0: "0", 1: "0", 2: "1", 3: "1"}
    plan = migration(bins, now, executors(4), "hottest-first", LOADING)
    # 10 and 6: a bin of the first goes; then 5, 6 and 5: one of the second; then nothing is gained by moving.
    assert [step.moves[0].source for step in plan.steps] == ["0", "1"]


def test_hottest_first_stops_where_the_busiest_has_nothing_left_to_give():
    bins = [Bin(0, 9.0), Bin(1, 4.0), Bin(2, 4.0)]
    left = [Move(bins[2], "1", "2")]
    slots = {"0": 1, "1": 1, "2": 1}
    # 9 against 8: whatever else moves, the batch waits for the one large bin.
    route = Route(bins, slots, frozenset(slots), "hottest-first", LOADING, allowed=0.0)
    assert list(steps(left, {0: "0", 1: "1", 2: "1"}, route)) == []
    (step,) = steps(left, {1: "1", 2: "1"}, route._replace(bins=bins[1:]))
    assert step.moves == (left[0],)


@pytest.mark.parametrize("allowed", [0.0, 10.0])
@pytest.mark.parametrize("strategy", STRATEGIES)
def test_the_steps_of_ten_thousand_bins_on_a_thousand_executors_are_planned_in_a_second(strategy, allowed):
    bins = [Bin(number, 1.0 + number * 37 % 101, 10 * MB) for number in range(10_000)]
    before = placement(bins, {}, executors(500))
    target = placement(bins, before, executors(1000))
    slots = {one.id: 1 for one in executors(1000)}
    began = time.perf_counter()
    todo = moves(bins, before, target, slots)
    planned = list(steps(todo, before, Route(bins, slots, frozenset(slots), strategy, LOADING, allowed)))
    took = time.perf_counter() - began
    assert took < 1.0
    moved = sum(len(step.moves) for step in planned)
    assert 0 < moved <= len(todo)
    assert strategy == "hottest-first" or moved == len(todo)


def test_whatever_the_strategy_an_executor_that_leaves_is_emptied():
    bins = [Bin(number) for number in range(10)]
    now = {number: "0" if number < 4 else "1" if number < 8 else "2" for number in range(10)}
    for strategy in STRATEGIES:
        plan = migration(bins, now, executors(2), strategy, LOADING, leaving=executors(3)[2:])
        assert {one.bin.number for step in plan.steps for one in step.moves} == {8, 9}


def test_bins_whose_executor_is_gone_are_all_loaded_in_the_first_step_whatever_the_strategy():
    bins = [Bin(number) for number in range(8)]
    now = {number: "gone" if number < 4 else "0" for number in range(8)}
    for strategy in STRATEGIES:
        first = migration(bins, now, executors(2), strategy, LOADING).steps[0]
        assert {one.bin.number for one in first.moves if one.source is None} == {0, 1, 2, 3}


def test_nothing_to_move_is_a_migration_without_steps():
    bins = [Bin(0), Bin(1)]
    for strategy in STRATEGIES:
        plan = migration(bins, {0: "0", 1: "1"}, executors(2), strategy)
        assert (plan.steps, plan.moved, plan.longest) == ((), 0, 0.0)


@given(
    st.lists(st.floats(0.1, 10.0), min_size=1, max_size=40),
    st.integers(1, 6),
    st.integers(1, 6),
    st.sampled_from(["sudden", "fluid", "batched"]),
    st.floats(0.0, 5.0),
)
def test_every_bin_moves_once_to_where_it_should_be_and_no_executor_twice_in_a_batched_step(
    weights, old, new, strategy, allowed
):
    bins = [Bin(number, load, 10 * MB) for number, load in enumerate(weights)]
    before = placement(bins, {}, executors(old))
    after = placement(bins, before, executors(new))
    plan = migration(bins, before, executors(new), strategy, LOADING, allowed)
    moved = [one for step in plan.steps for one in step.moves]
    assert {one.bin.number: one.target for one in moved} == {
        number: home for number, home in after.items() if before[number] != home
    }
    assert len(moved) == plan.moved == len({one.bin.number for one in moved})
    if strategy == "batched":
        for step in plan.steps:
            involved = [id for one in step.moves if one.source is not None for id in (one.source, one.target)]
            assert len(involved) == len(set(involved))


def test_an_executor_that_leaves_gives_its_bins_away_step_by_step():
    bins = [Bin(number, 1.0, 50 * MB) for number in range(8)]
    before = placement(bins, {}, executors(4))
    plan = migration(bins, before, executors(2), "fluid", LOADING, leaving=executors(4)[2:])
    assert [len(step.moves) for step in plan.steps] == [1] * 4
    assert {one.source for step in plan.steps for one in step.moves} == {"2", "3"}
