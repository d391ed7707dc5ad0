"""How many rescales a policy takes from one size of an operator to the right one, on the record-at-a-time engine.

A simulation: the operator follows a curve, the input is constant, and the policy is asked until it leaves things alone.
"""

from collections.abc import Iterator
from typing import Any, NamedTuple

from headgate.policies.protocol import Policy
from headgate.simulation.record_engine import RecordEngine
from headgate.simulation.record_job import RecordJob, RecordOperator, chain
from headgate.simulation.record_loop import look

_LOOK = 10.0
"""Seconds of a look; the input is constant, so longer ones see the same."""
_MOST = 40
"""Looks after which a policy that still moves is said not to settle."""
_AT_REST = 2
"""Looks without a change after which it has settled."""


class Settled(NamedTuple):
    """Where it came to rest."""

    rescales: int
    instances: int
    at_rest: bool
    until: float
    """When that was, in seconds."""
    memory: Any
    """What the policy remembers."""


class Pair(NamedTuple):
    """From `start` instances to a rate for which `target` are the least that are enough."""

    start: int
    target: int
    rate: float


def pairs(operator: RecordOperator, most: int) -> Iterator[Pair]:
    """All of them up to so many instances; the rate is half-way between what one fewer does and what these do.

    >>> list(pairs(RecordOperator("map", each=100.0), 2))
    [Pair(start=1, target=1, rate=50.0), Pair(start=2, target=1, rate=50.0), Pair(start=1, target=2, rate=150.0), \
Pair(start=2, target=2, rate=150.0)]
    """
    before = 0.0
    for target in range(1, most + 1):
        does = operator.capacity(target)
        if does <= before:  # a size that does no more than a smaller one is never the least
            continue
        for start in range(1, most + 1):
            yield Pair(start, target, (before + does) / 2)
        before = does


def settle(policy: Policy, operator: RecordOperator, pair: Pair, after: Settled | None = None) -> Settled:
    """Run it until the policy leaves it alone; with what it remembers of a run before, if there was one.

    >>> from headgate.policies.ds2 import Ds2
    >>> settle(Ds2(), RecordOperator("map", each=100.0), Pair(2, 5, 450.0))
    Settled(rescales=1, instances=5, at_rest=True, until=30.0, memory=None)
    """
    source = RecordOperator("input")
    job = RecordJob((source, operator), chain(source, operator), buffer=1.0, pause=0.0)
    began = 0.0 if after is None else after.until
    engine = RecordEngine(job, {source.name: lambda at: pair.rate * at}, {operator.name: pair.start}, began=began)
    remembered, quiet, looks = policy.start() if after is None else after.memory, 0, 0
    while quiet < _AT_REST and looks < _MOST:
        looked, remembered = look(engine, policy, remembered, _LOOK)
        quiet = 0 if looked.rescaled else quiet + 1
        looks += 1
    return Settled(len(engine.rescales), engine.instances[operator.name], quiet >= _AT_REST, engine.now, remembered)
