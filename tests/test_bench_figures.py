"""What `headgate bench` makes of batches: the arithmetic, by hand, without Spark."""

import json
from itertools import accumulate, pairwise

import pytest
from msgspec.structs import replace

from batches import Op, batch
from headgate.jobs.bench_figures import Ran, measured
from headgate.jobs.bench_result import BenchPlan
from headgate.model.microbatch import SourceRead
from headgate.workloads.load import Constant, Step
from headgate.workloads.query import Query

BEGAN = 1_800_000_000
"""When the stream began, by the wall's clock."""
PLAN = BenchPlan("nexmark", ("q1",), slots=2)
QUERY = Query("q1", "what it asks", lambda stream: stream)


def batch_of(second, lasting, first, last, number=0):
    """One that begins so many seconds after the stream and reads events from the first up to the last."""
    start, end = (json.dumps({"number": number, "began": BEGAN}) for number in (first, last))
    read = SourceRead("nexmark", start, end, end, last - first, 0.0)
    began, duration = round((BEGAN + second) * 1000), round(lasting * 1000)
    return replace(batch({"a": Op([1])}), began=began, duration=duration, sources=(read,), number=number)


def figures(load, batches, plan=PLAN, cpu=1.0, processors=8):
    return measured(plan, QUERY, load, Ran(batches[0], batches[1:], cpu_seconds=cpu), processors)


def test_a_query_that_falls_behind_its_load_is_measured_by_what_it_does():
    # 1,000 events a second come and it does 500: each batch takes all that came and lasts twice as long as the last.
    batches = [batch_of(2, 4, 0, 2000), batch_of(6, 8, 2000, 6000), batch_of(14, 16, 6000, 14000)]
    found = figures(Constant(1000), batches, cpu=6.0)
    assert (found.events, found.seconds, found.events_per_second) == (12_000, 24.0, 500.0)
    assert (found.asked_per_second, found.falls_behind) == (1000.0, True)
    assert found.cpu_seconds_per_million == 500.0
    # The first event has waited for 2 s at second 2, for 4 s at 6 and for 8 s at 14: half a second more each second.
    assert found.later_each_second == pytest.approx(0.5, abs=0.001)


def test_a_query_that_keeps_up_reads_what_comes():
    batches = [batch_of(at, 0.4, 1000 * (at - 1), 1000 * at) for at in range(1, 12)]
    found = figures(Constant(1000), batches)
    assert (found.events, found.seconds, found.events_per_second) == (10_000, 10.0, 1000.0)
    assert not found.falls_behind
    # Events of a batch were due evenly over the second before it began: the youngest is as old as the batch is long.
    assert 0.4 <= found.freshness.p50 <= 1.4


def test_a_query_that_reads_nineteen_of_twenty_events_falls_behind_though_a_limit_keeps_its_batches_alike():
    batches = [batch_of(at, 1, 950 * (at - 1), 950 * at) for at in range(1, 32)]
    found = figures(Constant(1000), batches)
    assert (found.events_per_second, found.asked_per_second) == (950.0, 1000.0)
    assert found.later_each_second == pytest.approx(0.05, abs=0.001)
    assert found.falls_behind


def test_a_query_that_reads_nineteen_of_twenty_events_falls_behind_by_batches_that_grow():
    # Each takes all that came while the one before ran, and 20/19 of its time.
    triggers = list(accumulate((20 / 19) ** number for number in range(20)))
    batches = [
        batch_of(at, following - at, round(1000 * before), round(1000 * at))
        for (before, at), (_, following) in pairwise(pairwise([0.0, *triggers]))
    ]
    found = figures(Constant(1000), batches)
    assert found.later_each_second == pytest.approx(0.05, abs=0.002)
    assert found.falls_behind


def test_a_step_up_that_a_query_keeps_up_with_is_no_falling_behind():
    # A batch a second that reads all that is due at its trigger; from 100 to 300 a second at second 10. Up to the end
    # of the last batch 0.9 s more at 300 have come than it has read.
    load = Step(100, 300, at=10)
    batches = [batch_of(at, 0.9, int(load.records(at - 1)), int(load.records(at))) for at in range(5, 12)]
    found = figures(load, batches)
    # From trigger 5 to trigger 11: five seconds at 100 and one at 300.
    assert found.asked_per_second == pytest.approx(800 / 6)
    assert found.events_per_second == pytest.approx(800 / 6)
    assert found.later_each_second == pytest.approx(0.0, abs=0.001)
    assert not found.falls_behind


def test_batches_that_are_longer_once_or_after_a_step_are_no_falling_behind():
    # At the higher rate a batch takes 1.3 s instead of 1, for good; and one of them took 3 s.
    load = Step(100, 300, at=21)
    triggers = list(accumulate([1.0] * 12 + [3.0] + [1.0] * 8 + [1.3] * 6))
    batches = [
        batch_of(at, following - at, int(load.records(before)), int(load.records(at)))
        for (before, at), (_, following) in pairwise(pairwise([0.0, *triggers]))
    ]
    assert not figures(load, batches).falls_behind


def test_what_was_asked_is_what_became_due_from_trigger_to_trigger():
    # From second 3 to second 10: three seconds at 100 a second and four at 300; read from second 5 to second 15.
    batches = [batch_of(3, 2, 0, 300), batch_of(5, 5, 300, 500), batch_of(10, 5, 500, 1800)]
    found = figures(Step(100, 300, at=6), batches)
    assert found.asked_per_second == pytest.approx(1500 / 7)
    assert found.events_per_second == 150.0


def test_without_a_load_nothing_is_asked_and_nothing_falls_behind():
    batches = [batch_of(0, 2, 0, 100), batch_of(2, 2, 100, 200), batch_of(5, 2, 200, 300)]
    found = figures(None, batches, cpu=float("nan"))
    assert (found.events_per_second, found.asked_per_second, found.falls_behind) == (40.0, None, False)
    assert (found.freshness, found.cpu_seconds_per_million, found.later_each_second) == (None, None, None)


def test_the_age_is_that_of_events_not_of_batches():
    # At 1,000 a second. The first reads 9,000 events that were due from second 1 to 10 and ends at 11: 1 to 10 s old.
    # The second reads 1,000 due from 10 to 11 and ends at 12: 1 to 2 s old. Of all 10,000, 5,000 are younger than 5 s
    # (4,000 of the first, all of the second), and 9,500 younger than 9.5 s. Ages are taken every 450 events.
    batches = [batch_of(1, 0.5, 0, 1000), batch_of(10, 1, 1000, 10_000), batch_of(11, 1, 10_000, 11_000)]
    age = figures(Constant(1000), batches).freshness
    assert age.p50 == pytest.approx(5.0, abs=0.46)
    assert age.p95 == pytest.approx(9.5, abs=0.46)


def test_a_batch_that_was_not_seen_has_read_its_events_all_the_same():
    # Number 3 was not seen, and read 1,000; number 5 was not seen, and had nothing to read.
    seen = [(1, 0, 1000), (2, 1000, 2000), (4, 3000, 4000), (6, 4000, 5000)]
    found = figures(Constant(1000), [batch_of(number, 0.5, first, last, number) for number, first, last in seen])
    assert (found.events, found.seconds, found.events_per_second) == (4000, 5.0, 800.0)
    assert (found.batches, found.missing) == (3, (3,))


def test_speed_is_also_told_for_each_core_and_beside_what_is_published_of_flink():
    batches = [batch_of(0, 2, 0, 100), batch_of(2, 2, 100, 200), batch_of(5, 2, 200, 300)]
    plan = BenchPlan("nexmark", ("q1",), slots=4)
    found = figures(None, batches, plan)
    assert (found.events_per_second, found.per_core, found.flink_per_core) == (40.0, 10.0, 158_000.0)
    # Four tasks at a time on two processors have two cores between them.
    assert figures(None, batches, plan, processors=2).per_core == 20.0
    assert figures(None, batches, BenchPlan("psm", ("q1",))).flink_per_core is None
