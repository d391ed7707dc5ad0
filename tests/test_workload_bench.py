"""Where `headgate bench` begins to measure and where it ends, and what it gives the source, without Spark."""

import pytest

from batches import Op, batch
from headgate.jobs.workload_bench import batches_for, source_options
from headgate.model.errors import InputError


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


def test_event_time_is_as_fast_as_the_load_unless_its_rate_is_given():
    assert source_options("nexmark", "constant(20k)", 50.0, {}) == {"event_rate": "20000"}
    assert source_options("nexmark", "constant(20k)", 50.0, {"event_rate": "7"}) == {"event_rate": "7"}
    assert source_options("nexmark", None, 50.0, {}) == {}
    assert source_options("nexmark", "constant(0)", 50.0, {}) == {}
