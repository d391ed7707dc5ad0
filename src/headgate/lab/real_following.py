"""How a policy's answers are followed on a real Spark: the same two ways as on the virtual one (`following`).

Both are turned over and over by whoever watches, and tell what happens as the entries of a journal.
"""

import time
from collections import defaultdict, deque
from collections.abc import Callable
from typing import Protocol

from headgate.control.actions import SetExecutors, SpreadBins
from headgate.control.events import ActionFailed
from headgate.control.remembered import LAST
from headgate.control.settings import Settings
from headgate.model.microbatch import Executor, MicroBatch
from headgate.policies.bare import followed
from headgate.policies.pool import Evidence, PoolPolicy
from headgate.ports import Engine
from headgate.runtime.controller import Controller
from headgate.runtime.entries import Carried, Cluster, Entry, Intent, Seen

Look = Callable[[Entry | Seen], object]


class Follower(Protocol):
    """Whoever has a policy's answers carried out."""

    def turn(self, wait: float) -> int:
        """Take in what there is; waits so many seconds for a batch. How many there were."""
        ...


def controlled(engine: Engine, policy: PoolPolicy, settings: Settings, look: Look) -> Follower:
    """Under Headgate's controller."""
    return Controller(engine, settings, policy, watch=look)


class FollowedAtOnce:
    """Asked after every batch, and taken at its word; bins are spread whenever the executors have changed."""

    def __init__(
        self,
        engine: Engine,
        policy: PoolPolicy,
        settings: Settings,
        look: Look,
        *,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._engine, self._policy, self._settings, self._look, self._clock = engine, policy, settings, look, clock
        self._memory = policy.start()
        self._seen: dict[str, deque[MicroBatch]] = defaultdict(lambda: deque(maxlen=LAST))
        self._plans = self._sizing = 0
        """Plans so far, and the last one that was about the number of executors."""
        self._asked: int | None = None
        self._arrived = True
        """Whether as many have been there as were asked for last."""
        self._there: tuple[Executor, ...] = ()
        self._spread: tuple[Executor, ...] | None = None
        """Who was there when bins were last spread."""

    def turn(self, wait: float) -> int:
        """Batches first: they ended before this look at the executors."""
        seen = self._engine.seen(wait)
        there = self._engine.executors()
        for told in self._engine.happened():
            if isinstance(told, ActionFailed):
                self._look(Carried(told.at, told.plan, f"failed: {told.why}"))
                if told.plan == self._sizing:  # it has been taken back: what is there is what is asked for
                    self._asked, self._arrived = len(there), True
            else:
                self._look(Carried(told.at, told.plan, told.what))
        if there != self._there:
            self._there = there
            self._look(Cluster(self._clock(), there))
        if self._asked is None and there:
            self._asked, self._spread = len(there), there
        self._arrived = self._arrived or len(there) == self._asked
        for one in seen:
            self._look(Seen(one.at, one.batch, one.trigger))
            self._seen[one.batch.query].append(one.batch)
            self._ask(one.batch.query, one.trigger)
        if there != self._spread:
            self._spread = there
            for query in self._seen:
                self._carry_out(SpreadBins(self._next_plan(), query))
        return len(seen)

    def _ask(self, query: str, trigger: float | None) -> None:
        each = max((one.slots for one in self._there), default=0) or self._settings.slots_each
        evidence = Evidence(tuple(self._seen[query]), self._there, each, trigger)
        self._memory, target = followed(
            self._policy, self._memory, evidence, self._settings.objective, self._clock(),
            least=self._settings.least, most=self._settings.most,
        )  # fmt: skip
        if target == len(self._there) and self._arrived:
            return  # whoever is content with what is there did not mean that one is missing: the cluster replaces it
        if target != self._asked:
            self._asked, self._arrived, self._sizing = target, False, self._next_plan()
            self._carry_out(SetExecutors(self._sizing, target))

    def _next_plan(self) -> int:
        self._plans += 1
        return self._plans

    def _carry_out(self, action: SetExecutors | SpreadBins) -> None:
        self._look(Intent(self._clock(), action))
        self._engine.carry_out(action)
