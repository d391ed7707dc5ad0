"""Policies that size one thing by its own signals alone: an operator among others, or the whole pool of a Spark query.

Such a policy is one function, `answer`. Here it is asked for each operator of a dataflow, with a memory for each;
`for_pool` asks it for a pool. Sources are never resized, and what is not known stays as it is: the policy is shown such
an operator without signals, so that there is a gap in what it remembers, and its answer is not followed. An operator
that was seen to take nothing has no true rate, but it was measured: how busy it was is known, and it may shrink.
"""

from collections.abc import Mapping
from typing import Any, ClassVar

import msgspec

from headgate.model.dataflow import MAX_INSTANCES
from headgate.model.decision import Decision
from headgate.model.estimate import Estimate
from headgate.model.objective import Objective
from headgate.model.signals import Signals


class EachByItself(msgspec.Struct, frozen=True):
    """What such policies have in common; a `headgate.policies.protocol.Policy`."""

    needs: ClassVar[tuple[str, ...]] = ()
    """The signals it looks at, by the names of `Signals`; without them it leaves things as they are."""

    @property
    def name(self) -> str:
        """The name its decisions carry."""
        raise NotImplementedError

    def fresh(self) -> Any:
        """What it remembers of a thing before it first sees it; JSON can carry it."""
        return None

    def answer(self, memory: Any, seen: Signals, objective: Objective, now: float) -> tuple[Any, int]:
        """So many instances, and what to remember. Whoever would leave things as they are answers `seen.instances`.

        Signals that were not measured are None; patience must not last over a time of which nothing is known.
        """
        raise NotImplementedError

    def start(self) -> dict[str, Any]:
        """A memory for each operator; none yet."""
        return {}

    def decide(
        self, memory: Mapping[str, Any], estimate: Estimate, objective: Objective, now: float
    ) -> tuple[dict[str, Any], Decision]:
        """Ask for every operator by itself."""
        kind = type(self.fresh())
        remembered, answers = {}, {}
        flow = estimate.dataflow
        for at, operator in enumerate(flow.operators):
            if flow.is_source[at]:
                continue
            seen = estimate.seen(at)
            measured = bool(estimate.known[at]) or (seen.taken == 0 and seen.busy is not None)
            before = as_memory(memory[operator.id], kind) if operator.id in memory else self.fresh()
            after, count = self.answer(before, seen if measured else Signals(seen.instances), objective, now)
            remembered[operator.id] = after
            if measured:
                answers[operator.id] = min(max(1, count), MAX_INSTANCES)
        return {**memory, **remembered}, Decision.resize(self.name, estimate, answers)


def as_memory(value: Any, kind: type) -> Any:
    """A memory as the policy knows it: what came back from JSON is made a value of its kind again."""
    if kind is type(None) or type(value) is kind:
        return value
    return msgspec.convert(value, kind)
