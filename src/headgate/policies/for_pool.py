"""A policy for operators, applied to the pool of executors of a Spark query.

To such a policy the pool is one operator, fed by one source; its instances are executors, its signals those of
`model.pool_signals`. Executors take time to come. Until a batch ran on them they are told as missing, and an answer
that means "leave it" keeps them wanted; after a while, what has not come is no longer thought to come.

A policy that looks once a period is not asked in between: on the same executors what it said last holds.

The answer is the policy's own, with its own timing. Headgate's controller adds its guards when it runs such a policy:
two decisions that agree before it grows, the highest need of three minutes before it shrinks, a rest after each change.
Whoever wants the policy alone follows each answer as it comes (`bare.followed`).
"""

from functools import lru_cache
from typing import Any

import msgspec
import numpy as np

from headgate.model.columns import read_only
from headgate.model.dataflow import MAX_INSTANCES, Dataflow
from headgate.model.estimate import Estimate
from headgate.model.objective import Objective
from headgate.model.pool_signals import pool_signals
from headgate.model.signals import Signals
from headgate.policies.each import EachByItself, as_memory
from headgate.policies.pool import Evidence, PoolAnswer
from headgate.policies.protocol import Policy

PATIENCE = 120.0
"""Seconds after which executors that were asked for are no longer thought to come."""
_KNOWN, _UNKNOWN = read_only(np.array([True, True])), read_only(np.array([True, False]))
_ROUNDINGS = read_only(np.ones(2, np.int64))


class PoolMemory(msgspec.Struct, frozen=True):
    """What the policy remembers, and what was asked for."""

    own: Any
    asked: int | None = None
    """Executors that were asked for and differ from those a batch was last seen on."""
    asked_at: float = 0.0
    most: int | None = None
    """As many came when more were asked for: what is asked beyond is not thought to come."""
    at: float | None = None
    """When the policy was last asked, on how many executors a batch then ran, and what the answer was."""
    measured: int = 0
    answer: int = 1


class ForPool(msgspec.Struct, frozen=True):
    """A `PoolPolicy` made of a policy for operators."""

    policy: Policy

    @property
    def name(self) -> str:
        """The name its answers carry."""
        return self.policy.name

    @property
    def needs(self) -> tuple[str, ...]:
        """The signals the policy looks at."""
        return tuple(getattr(self.policy, "needs", ()))

    def start(self) -> PoolMemory:
        """Nothing was asked for."""
        return PoolMemory(self._fresh())

    def size(
        self, memory: PoolMemory, evidence: Evidence, objective: Objective, now: float
    ) -> tuple[PoolMemory, PoolAnswer]:
        """What the policy says of the pool."""
        memory = as_memory(memory, PoolMemory)
        there = len(evidence.executors)
        measured = (len(evidence.batches[-1].executors) if evidence.batches else 0) or max(1, there)
        period = getattr(self.policy, "period", 0.0)
        if memory.at is not None and now - memory.at < period and memory.measured == measured:
            return memory, PoolAnswer(self.name, memory.answer)
        memory = _expected(memory, measured, now)
        likely = min(memory.asked or 0, memory.most or MAX_INSTANCES)
        coming = max(0, likely - measured, there - measured)
        seen = pool_signals(evidence.batches, there, evidence.slots_each, evidence.trigger, missing=coming)
        own, answer = self._asked(as_memory(memory.own, type(self._fresh())), seen, objective, now)
        answer = max(1, answer)
        if answer == measured:
            answer += coming
        asked, since = memory.asked, memory.asked_at
        if answer != asked:
            since = now
        asked = None if answer == measured else answer
        memory = PoolMemory(own, asked, since, memory.most, now, measured, answer)
        return memory, PoolAnswer(self.name, answer)

    def _fresh(self) -> Any:
        return self.policy.fresh() if isinstance(self.policy, EachByItself) else self.policy.start()

    def _asked(self, own: Any, seen: Signals, objective: Objective, now: float) -> tuple[Any, int]:
        # A pool is one thing: who sizes things one by one needs no dataflow made up for it.
        if isinstance(self.policy, EachByItself):
            return self.policy.answer(own, seen, objective, now)
        # A policy that is asked of operators takes whatever objective it knows.
        own, decision = self.policy.decide(own, as_dataflow(seen, now), objective, now)  # type: ignore[arg-type]
        return own, decision.parallelism["pool"]


def _expected(memory: PoolMemory, measured: int, now: float) -> PoolMemory:
    """Without what has not come in time."""
    if memory.most is not None and measured > memory.most:
        memory = msgspec.structs.replace(memory, most=None)
    if memory.asked is not None and memory.asked > measured and now - memory.asked_at > PATIENCE:
        memory = msgspec.structs.replace(memory, most=measured)
    return memory


def as_dataflow(seen: Signals, now: float) -> Estimate:
    """A source and the pool it feeds, as a policy for operators would see them.

    >>> pool = as_dataflow(Signals(4, came=390.0, taken=300.0, busy=0.75), now=0.0)
    >>> pool.dataflow.ids, pool.true_processing.tolist(), pool.true_output.tolist()
    (('input', 'pool'), [0.0, 400.0], [390.0, 0.0])
    """
    capacity, came, taken = seen.capacity or 0.0, seen.came or 0.0, seen.taken or 0.0
    source = Signals(1, came=seen.came, taken=seen.taken, waiting=seen.waiting, growth=seen.growth)
    return Estimate(
        _flow(seen.instances),
        _KNOWN if capacity > 0 else _UNKNOWN,
        np.array([0.0, capacity]),
        np.array([came, 0.0]),
        np.array([0.0, taken]),
        np.array([taken, 0.0]),
        _ROUNDINGS,
        at=now,
        signals=(source, seen),
    )


@lru_cache(maxsize=4096)
def _flow(executors: int) -> Dataflow:
    return Dataflow.of({"input": 1, "pool": executors}, [("input", "pool")])
