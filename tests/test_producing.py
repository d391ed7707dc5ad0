"""How `headgate produce` keeps time, without a broker; tests/spark/test_kafka.py has one."""

import pytest

pytest.importorskip("confluent_kafka")

from headgate.kafka import producing
from headgate.kafka.address import Address
from headgate.kafka.produce_plan import ProducePlan, Progress
from headgate.kafka.producing import Shared, progress, worth_making, write_part

NOWHERE = Address("127.0.0.1:1", "topic")


def test_a_process_is_ready_only_once_a_broker_has_answered(monkeypatch):
    monkeypatch.setattr(producing, "PATIENCE", 0.5)
    shared = Shared(1)
    write_part(ProducePlan("nexmark", NOWHERE, "constant(5)", 10), 0, shared)
    assert list(shared.ready) == [0]
    assert shared.problems.get().startswith("no broker answers")


def test_the_rate_that_came_goes_up_to_when_the_last_event_was_delivered():
    # Two processes began at 100 by their clock; the later one delivered its last event at 160.
    shared = Shared(2)
    shared.began.value = 100.0
    shared.last[:] = [159.5, 160.0]
    shared.delivered[:] = [2900, 3000]
    plan = ProducePlan("nexmark", NOWHERE, "constant(100)", 6000, processes=2)
    assert progress(plan, shared, max(shared.last)) == Progress(seconds=60.0, delivered=5900, due=6000)


@pytest.mark.parametrize("rate", [200, 2000, 4000, 6000, 100_000])
def test_rows_wait_so_shortly_that_any_ten_seconds_are_within_one_per_cent(rate):
    # Looks every 10 ms; what is made by a moment is what was due at the last look that was worth it.
    made, at, last = [(0.0, 0)], 0, 0.0
    for look in range(1, 2501):
        now = look * 0.01
        due = int(rate * now)
        if worth_making(due - at, now - last):
            at, last = due, now
            made.append((now, at))
    assert len(made) > 500  # as often as every 50 ms
    for begin in range(0, 1500, 7):
        first, end = begin * 0.01 + 0.005, begin * 0.01 + 10.005
        came = [max(count for when, count in made if when <= moment) for moment in (first, end)]
        assert came[1] - came[0] == pytest.approx(rate * 10, rel=0.01)


def test_few_rows_are_made_at_a_third_of_the_looks():
    # At 4,000 a second a look every 10 ms finds 40 rows; they wait for 25 ms, so 120 are made at a time.
    at, last, times = 0, 0.0, 0
    for look in range(1, 301):
        now = look / 100
        if worth_making(40 * look - at, now - last):
            at, last, times = 40 * look, now, times + 1
    assert times == 100
