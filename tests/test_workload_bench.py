"""What `headgate bench` makes of batches: where it begins and ends, and the arithmetic, without Spark."""

import json

import pytest
from msgspec.structs import replace

from batches import Op, batch
from headgate.jobs.bench_result import BenchPlan
from headgate.jobs.workload_bench import Ran, batches_for, measured, source_options
from headgate.model.errors import InputError
from headgate.model.microbatch import SourceRead
from headgate.workloads.load import Constant, Step
from headgate.workloads.query import Query

BEGAN = 1_800_000_000
"""When the stream began, by the wall's clock."""
PLAN = BenchPlan("nexmark", ("q1",), slots=2)
QUERY = Query("q1", "what it asks", lambda stream: stream)


class Running:
    isActive = True  # noqa: N815 - Spark's name


class Probe:
    """A batch every so many seconds of a clock that only it moves; some have no records."""

    def __init__(self, every, rows=lambda number: 10):
        self.every, self.rows, self.now, self.given = every, rows, 0.0, 0

    def clock(self):
        return self.now

    def take(self, timeout):
        due = (self.given + 1) * self.every
        if self.now + timeout < due:
            self.now += timeout
            return None
        self.now, self.given = due, self.given + 1
        return batch({"a": Op([self.rows(self.given)])}, number=self.given)


def test_measuring_ends_when_a_batch_does_though_its_time_is_up():
    probe = Probe(every=3.0)
    assert [one.number for one in batches_for(Running(), probe, 10.0, 1, probe.clock)] == [1, 2, 3, 4]
    assert probe.now == 12.0
    assert [one.number for one in batches_for(Running(), probe, 3.0, 1, probe.clock)] == [5]


def test_measuring_goes_on_until_there_are_enough_batches_with_records():
    probe = Probe(every=3.0, rows=lambda number: 10 if number % 2 else 0)
    assert [one.number for one in batches_for(Running(), probe, 1.0, 2, probe.clock)] == [1, 3]


def test_a_batch_that_does_not_end_is_given_up():
    probe = Probe(every=500.0)
    with pytest.raises(InputError, match="0 batches with records ended in 130 s: 2 are needed, and one after 10 s"):
        batches_for(Running(), probe, 10.0, 2, probe.clock)


def batch_of(second, lasting, first, last):
    """One that begins so many seconds after the stream and reads events from the first up to the last."""
    start, end = (json.dumps({"number": number, "began": BEGAN}) for number in (first, last))
    read = SourceRead("nexmark", start, end, end, last - first, 0.0)
    began, duration = round((BEGAN + second) * 1000), round(lasting * 1000)
    return replace(batch({"a": Op([1])}), began=began, duration=duration, sources=(read,))


def test_a_query_that_falls_behind_its_load_is_measured_by_what_it_does():
    # 1,000 events a second come and it does 500: each batch takes all that came and lasts twice as long as the last.
    batches = [batch_of(2, 4, 0, 2000), batch_of(6, 8, 2000, 6000), batch_of(14, 16, 6000, 14000)]
    found = measured(PLAN, QUERY, Constant(1000), Ran(batches[0], batches[1:], cpu_seconds=6.0))
    assert (found.events, found.seconds, found.events_per_second) == (12_000, 24.0, 500.0)
    assert (found.asked_per_second, found.falls_behind) == (1000.0, True)
    assert found.cpu_seconds_per_million == 500.0


def test_a_query_that_keeps_up_reads_what_comes():
    batches = [batch_of(at, 0.4, 1000 * (at - 1), 1000 * at) for at in range(1, 12)]
    found = measured(PLAN, QUERY, Constant(1000), Ran(batches[0], batches[1:], cpu_seconds=1.0))
    assert (found.events, found.seconds, found.events_per_second) == (10_000, 10.0, 1000.0)
    assert not found.falls_behind
    # Events of a batch were due evenly over the second before it began: the youngest is as old as the batch is long.
    assert 0.4 <= found.freshness.p50 <= 1.4


def test_what_was_asked_is_what_came_by_the_load_meanwhile():
    # From second 5 to second 15: five seconds at 100 a second and five at 300.
    batches = [batch_of(3, 2, 0, 300), batch_of(5, 5, 300, 500), batch_of(10, 5, 500, 1000)]
    found = measured(PLAN, QUERY, Step(100, 300, at=10), Ran(batches[0], batches[1:], cpu_seconds=1.0))
    assert found.asked_per_second == 200.0
    assert found.events_per_second == 70.0


def test_without_a_load_nothing_is_asked_and_nothing_falls_behind():
    batches = [batch_of(0, 2, 0, 100), batch_of(2, 2, 100, 200), batch_of(5, 2, 200, 300)]
    found = measured(PLAN, QUERY, None, Ran(batches[0], batches[1:], cpu_seconds=float("nan")))
    assert (found.events_per_second, found.asked_per_second, found.falls_behind) == (40.0, None, False)
    assert (found.freshness, found.cpu_seconds_per_million) == (None, None)


def test_speed_is_also_told_for_each_core_and_beside_what_is_published_of_flink():
    batches = [batch_of(0, 2, 0, 100), batch_of(2, 2, 100, 200), batch_of(5, 2, 200, 300)]
    ran = Ran(batches[0], batches[1:], cpu_seconds=1.0)
    found = measured(BenchPlan("nexmark", ("q1",), slots=4), QUERY, None, ran)
    assert (found.events_per_second, found.per_core, found.flink_per_core) == (40.0, 10.0, 158_000.0)
    assert measured(BenchPlan("psm", ("q1",)), QUERY, None, ran).flink_per_core is None


def test_event_time_is_as_fast_as_the_load_unless_its_rate_is_given():
    assert source_options("nexmark", "constant(20k)", 50.0, {}) == {"event_rate": "20000"}
    assert source_options("nexmark", "constant(20k)", 50.0, {"event_rate": "7"}) == {"event_rate": "7"}
    assert source_options("nexmark", None, 50.0, {}) == {}
    assert source_options("nexmark", "constant(0)", 50.0, {}) == {}
