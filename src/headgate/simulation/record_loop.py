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


def look(
    engine: RecordEngine,
    policy: Policy,
    memory: Any,
    seconds: float,
    objective: Objective = KeepUp(),  # noqa: B008 - a frozen value
) -> tuple[Looked, Any]:
    """Let time pass, ask the policy, and follow it at once; and what it remembers."""
    engine.advance(seconds)
    # Policies that are asked of operators take whatever objective they know.
    memory, decision = policy.decide(memory, engine.observe(), objective, engine.now)  # type: ignore[arg-type]
    rescaled = engine.rescale(decision.parallelism)
    return Looked(engine.now, engine.instances, engine.lag, rescaled), memory


def record_loop(
    engine: RecordEngine,
    policy: Policy,
    *,
    until: float,
    every: float = 60.0,
    objective: Objective = KeepUp(),  # noqa: B008 - a frozen value
) -> list[Looked]:
    """Look every so many seconds.

    The measurement that a pause falls into begins when the pause is over, as engines report it.
    """
    memory, trail = policy.start(), []
    while engine.now < until:
        looked, memory = look(engine, policy, memory, every, objective)
        trail.append(looked)
    return trail
