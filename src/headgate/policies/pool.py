"""Policies that size the pool of executors all operators of a query share: Spark's kind of parallelism.

    (memory, evidence, objective, now) -> (memory, answer)

Pure, like every policy; the evidence is batches that ran and what is there now.
"""

from typing import Any, Protocol, runtime_checkable

import msgspec

from headgate.model.keeping_up import Prospect
from headgate.model.limits import Finding
from headgate.model.microbatch import Executor, MicroBatch
from headgate.model.objective import Objective
from headgate.policies.partition_advice import PartitionAdvice


class Evidence(msgspec.Struct, frozen=True, eq=False):
    """What is known of one query: its batches, oldest first, and the executors that are there."""

    batches: tuple[MicroBatch, ...]
    executors: tuple[Executor, ...]
    slots_each: int
    """Slots of an executor that would be added."""
    trigger: float | None = None
    """The query's fixed interval in seconds; None where it has none, or where it is to be read from the batches."""
    ahead: float = 0.0
    """Seconds for which the answer should do where the load grows, by a policy that looks at that."""


class PoolAnswer(msgspec.Struct, frozen=True):
    """So many executors, and why."""

    policy: str
    executors: int
    expected: Prospect | None = None
    """What the policy expects of it, where it predicts anything."""
    records: float = 0.0
    """Records of a batch that this is expected for."""
    limit: Finding | None = None
    """What holds the query back, where executors are not the remedy."""
    need: float | None = None
    """The fractional need behind the answer, where there is one."""
    partitions: tuple[PartitionAdvice, ...] = ()
    """Other numbers of partitions, where they are worth a pause."""


def as_it_is(policy: str, evidence: Evidence) -> PoolAnswer:
    """What is there: the answer of a policy that has seen no batch yet.

    >>> as_it_is("mine", Evidence((), (Executor("0", "host", 2), Executor("1", "host", 2)), slots_each=2)).executors
    2
    """
    return PoolAnswer(policy, max(1, len(evidence.executors)))


@runtime_checkable
class PoolPolicy(Protocol):
    """Anything with these three members."""

    @property
    def name(self) -> str:
        """The name its answers carry."""
        ...

    def start(self) -> Any:
        """What it remembers before the first call; JSON can carry it."""
        ...

    def size(self, memory: Any, evidence: Evidence, objective: Objective, now: float) -> tuple[Any, PoolAnswer]:
        """One answer, and what to remember."""
        ...
