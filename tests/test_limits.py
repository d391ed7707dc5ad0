"""The limit is named: each slow job by what makes it slow."""

import msgspec
import pytest

from batches import Op, batches
from headgate.model.learned_capacity import capacity
from headgate.model.limits import (
    AdmissionLimit,
    Balanced,
    Crowded,
    Driver,
    Placement,
    Skew,
    SlowSink,
    SlowSource,
    TooFewPartitions,
    TooFewSlots,
    TooFewSourcePartitions,
    limits,
)
from headgate.model.microbatch import Processors
from headgate.model.profile import profile


def first(operators, **given):
    seen = batches(8, operators, **given)
    return limits(profile(seen), capacity(seen))[0]


def test_many_tasks_on_few_slots_want_slots():
    found = first({"map": Op([100] * 16)}, slots=(2, 2))
    assert found.limit == TooFewSlots("map", 4, 16, pytest.approx(0.1))
    assert found.gain == pytest.approx(0.8 / 1.9)  # four waves of 0.4 s become two; the driver's 0.3 s stay


def test_slots_that_would_share_processors_which_have_no_time_left_are_not_what_is_wanted():
    # 8 at once on two processors, and all of a task is computing: 16 at once would take twice as long each.
    seen = batches(8, {"map": Op([100] * 16, cpu=1 / 4)}, slots=(2,) * 4)
    busy = [msgspec.structs.replace(one, processors=Processors(2, 1.6)) for one in seen]
    found = limits(profile(busy), capacity(busy))[0]
    assert found.limit == Crowded("map", 8, 2)
    assert "another machine does" in str(found.limit)
    assert limits(profile(seen), capacity(seen))[0].limit == TooFewSlots("map", 8, 16, pytest.approx(0.25))


def test_one_partition_with_most_records_is_skew_and_not_a_want_of_slots():
    found = first({"map": Op([10] * 4), "count": Op([700, 100, 100, 100], feeders=("map",))}, slots=(4,))
    assert found.limit == Skew("count", 0, 0.7, 0.25)


def test_a_stage_with_fewer_tasks_than_slots_wants_partitions():
    found = first({"map": Op([10] * 8), "count": Op([400, 400], feeders=("map",))}, slots=(4, 4))
    assert found.limit == TooFewPartitions("count", 2, 8)


def test_a_source_read_by_fewer_tasks_than_slots_wants_source_partitions():
    found = first({"scan": Op([1000]), "count": Op([10] * 8, feeders=("scan",))}, slots=(4, 4))
    assert found.limit == TooFewSourcePartitions("scan", 1, 8)


def test_state_on_one_of_four_executors_is_a_matter_of_placement():
    count = Op([100] * 8, homes=["0"] * 8, state=(1000, 50_000), feeders=("map",))
    found = first({"map": Op([10] * 8), "count": count}, slots=(1,) * 4)
    assert found.limit == Placement("count", 8, 1, 4)
    assert "more executors do not help until bins are spread" in str(found.limit)


@pytest.mark.parametrize(
    ("phases", "named", "saved"),
    [
        ({"latestOffset": 4000, "addBatch": 600, "triggerExecution": 5000}, SlowSource(4.0, "latestOffset"), 4.0),
        ({"latestOffset": 10, "addBatch": 5380, "triggerExecution": 5400}, SlowSink(pytest.approx(4.99)), 4.99),
        (
            {"queryPlanning": 2400, "walCommit": 1600, "addBatch": 1400},
            Driver(5.0, pytest.approx(5.4), "queryPlanning", 2.4),
            5.0,
        ),
    ],
)
def test_time_in_which_no_task_runs_is_told_by_the_phase_that_has_it(phases, named, saved):
    found = first({"map": Op([100] * 4)}, slots=(4,), driver=5000, phases=phases)
    assert found.limit == named
    # A source or a sink that took no time would save its own time, not all in which no task ran.
    assert found.gain == pytest.approx(saved / 5.4)


def test_batches_cut_too_small_are_an_admission_limit():
    found = first({"map": Op([4, 16, 4, 16], fixed=2000, per_record=1)}, slots=(4,), waiting=500)
    assert found.limit == AdmissionLimit(40)
    assert found.gain == pytest.approx(0.5, abs=0.01)  # twice the records in next to the same time


def test_state_that_is_spread_wants_slots_when_there_are_more_bins_than_slots():
    count = Op([100] * 16, homes=[str(n % 2) for n in range(16)], state=(1000, 50_000), feeders=("map",))
    found = first({"map": Op([10] * 4), "count": count}, slots=(2, 2))
    assert found.limit == TooFewSlots("count", 4, 16, pytest.approx(0.1))


def test_a_limit_that_leaves_time_to_spare_comes_first():
    found = first({"map": Op([100] * 16)}, slots=(2, 2), waiting=5000, every=4000)
    assert found.limit == AdmissionLimit(1600)


def test_where_nothing_stands_out_it_says_so():
    found = first({"map": Op([1000] * 4)}, slots=(4,), driver=100)
    assert found.limit == Balanced()
