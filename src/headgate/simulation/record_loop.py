"""A policy on the record-at-a-time engine: look, decide, resize, and look again. A simulation."""

from typing import Any, NamedTuple

from headgate.model.objective import KeepUp, Objective
from headgate.policies.protocol import Policy
from headgate.simulation.record_engine import RecordEngine


class Looked(NamedTuple):
    """What was there after one look and what it led to."""

    at: float
    instances: dict[str, int]
    lag: float
    rescaled: bool


def record_loop(
    engine: RecordEngine,
    policy: Policy,
    *,
    until: float,
    every: float = 60.0,
    objective: Objective = KeepUp(),  # noqa: B008 - a frozen value
    memory: Any = None,
) -> list[Looked]:
    """Ask a policy for every so many seconds, and follow it at once.

    The measurement that a pause falls into begins when the pause is over, as engines report it.
    """
    remembered, trail = policy.start() if memory is None else memory, []
    while engine.now < until:
        engine.advance(every)
        # Policies that are asked of operators take whatever objective they know.
        remembered, decision = policy.decide(remembered, engine.observe(), objective, engine.now)  # type: ignore[arg-type]
        rescaled = engine.rescale(decision.parallelism)
        trail.append(Looked(engine.now, engine.instances, engine.lag, rescaled))
    return trail
