"""A policy for pools without a controller around it: each answer is followed at once, within bounds.

This is how a policy that brings its own timing is compared with others. Headgate's own policies answer what is needed
now and leave the timing to the controller; alone they would follow every batch.
"""

from typing import Any

from headgate.model.objective import Objective
from headgate.policies.pool import Evidence, PoolPolicy


def followed(
    policy: PoolPolicy, memory: Any, evidence: Evidence, objective: Objective, now: float, *, least: int, most: int
) -> tuple[Any, int]:
    """The executors the policy itself would have now, between least and most; and what it remembers.

    >>> from headgate.model.microbatch import Executor
    >>> from headgate.model.objective import KeepUp
    >>> from headgate.policies.static import Static
    >>> there = Evidence((), (Executor("0", "host", 2),), slots_each=2)
    >>> followed(Static(), None, there, KeepUp(), 0.0, least=2, most=8)
    (None, 2)
    """
    memory, answer = policy.size(memory, evidence, objective, now)
    return memory, min(max(answer.executors, least), most)
