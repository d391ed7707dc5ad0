"""Journals of the real controller on a virtual Spark: what tests of the runtime and of its commands share."""

from headgate.control.settings import Settings
from headgate.model.objective import KeepUp
from headgate.policies.capacity import CapacityPolicy
from headgate.runtime.controller import Controller
from headgate.runtime.journal import Journal
from headgate.simulation.virtual_engine import VirtualEngine
from headgate.simulation.virtual_spark import VirtualJob, VirtualOperator, VirtualSpark

# A map of 8 tasks (0.1 s and 4 ms a record) and a count of 4 bins (0.1 s and 0.5 ms); 0.3 s of driver; every 10 s.
# 600 records/s: 0.8 + 24 s of map, 0.4 + 3 s of count: 14.4 s on two executors, and ever longer; 7.35 s on four.
# 392 records/s: 0.8 + 15.68 s of map, 0.4 + 1.96 s of count: 9.72 s on two executors, which keep up but not with a
# tenth more; 0.3 + 3 x 2.06 + 2 x 0.59 = 7.66 s on three, in three waves of the map and two of the count.
JOB = VirtualJob(
    (
        VirtualOperator("map", 8, fixed=0.1, per_record=0.004),
        VirtualOperator("count", 4, fixed=0.1, per_record=0.0005, feeders=(0,), stateful=True),
    ),
    trigger=10.0,
)
SETTINGS = Settings(objective=KeepUp(headroom=0.1), most=8)


def constant(rate):
    return lambda at: rate * at


def stepping(before, after, at):
    return lambda now: before * min(now, at) + after * max(0.0, now - at)


def virtual(arrived=None, *, executors=2, job=JOB, **given):
    return VirtualEngine(VirtualSpark(job, arrived or constant(600), executors=executors, **given))


def controller(engine, journal=None, settings=SETTINGS, policy=None):
    return Controller(
        engine, settings, policy or CapacityPolicy(), application="app-1", journal=journal, clock=engine.clock
    )


def turn_until(one, at):
    """Batch after batch until this virtual time."""
    while one.engine.clock() < at:
        one.turn()


def written(path, *, until=900.0, arrived=None, settings=SETTINGS, policy=None, executors=2):
    """A whole journal: at 392 records a second from two executors to three, if nothing else is asked for."""
    with Journal(path) as journal:
        one = controller(virtual(arrived or constant(392), executors=executors), journal, settings, policy)
        turn_until(one, until)
        one.end("stopped")
    return path
