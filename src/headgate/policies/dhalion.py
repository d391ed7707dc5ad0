"""The `dhalion` policy: find who causes back-pressure, scale that one, wait, and see.

    b     = back-pressure of the component, ms per second summed over its instances; under 20 is noise; at most 999
    grow  = min(b / (1000 - b), 4)
    new   = ceil(n (1 + grow))
    one component at a time, the most upstream one that causes back-pressure; then wait 180 s
    skew (fastest instance > 1.5 x slowest) and slow instances (longest queue > 20 x shortest, rates even): not scaled
    no back-pressure and empty queues: floor(0.8 n); if that one presses when it is next looked at, after the wait:
        undo, and never again

Source: Floratou et al., "Dhalion" (VLDB'17), and Heron's `ScaleUpResolver`, whose numbers these are; scaling down is of
the paper alone. For a pool, back-pressure is the share of the input that could not be taken in time.
Changed: "never again" is for that size of that component, not for scaling it down at all, which one bad moment
would forbid for ever. A queue counts as empty under a tenth of a second of what is taken.
Its wait is its own; Headgate's controller adds its guards when it runs it.
"""

import math
from collections.abc import Mapping, Sequence
from typing import ClassVar

import msgspec

from headgate.model.decision import Decision
from headgate.model.estimate import Estimate
from headgate.model.objective import Objective
from headgate.model.reasons import Note, Reason
from headgate.model.signals import Signals
from headgate.policies.not_yet_done import not_yet_done

_EMPTY = 0.1
"""Seconds of intake that a queue may hold and still be empty."""


class Acted(msgspec.Struct, frozen=True):
    """When it last acted, on what; which sizes turned out to be too small."""

    at: float | None = None
    on: Mapping[str, tuple[int, int]] = {}
    """The component it last resized: from how many, to how many."""
    too_small: tuple[tuple[str, int], ...] = ()

    @property
    def shrank(self) -> str | None:
        """The component that was last made smaller, if that was the last action."""
        return next((id for id, (was, became) in self.on.items() if became < was), None)


def scaled_up(instances: int, pressure: float, *, most: float = 4.0) -> int:
    """Heron's resolver: from back-pressure in milliseconds per second, summed, to instances.

    >>> scaled_up(2, 500), scaled_up(2, 750), scaled_up(3, 500)
    (4, 8, 6)
    """
    held = min(pressure, 999.0)
    grow = min(held / (1000 - held), most)
    return math.ceil(instances * (1 + grow) * (1 - 1e-9))


class Dhalion(msgspec.Struct, frozen=True):
    """Milliseconds per second, seconds."""

    needs: ClassVar[tuple[str, ...]] = ("pressure", "waiting", "taken", "uneven", "uneven_queues")

    noise: float = 20.0
    most: float = 4.0
    wait: float = 180.0
    skew: float = 1.5
    slow: float = 20.0
    down: float = 0.8
    shrinks: bool = True
    """Whether it scales down at all; Heron's own policy does not."""

    @property
    def name(self) -> str:
        """`dhalion`."""
        return "dhalion"

    def start(self) -> Acted:
        """It has not acted yet."""
        return Acted()

    def decide(self, memory: Acted, estimate: Estimate, objective: Objective, now: float) -> tuple[Acted, Decision]:
        """At most one component another size."""
        del objective
        flow = estimate.dataflow
        answers: dict[str, int] = {}
        reasons: tuple[Reason, ...] = ()
        if memory.at is None or now - memory.at >= self.wait:
            seen = [
                (flow.ids[at], estimate.seen(at))
                for at in range(len(flow.ids))
                if not flow.is_source[at] and estimate.known[at]
            ]
            memory, answers, reasons = self._act(memory, seen, now)
        else:
            answers = not_yet_done(memory.on, flow)
        return memory, Decision.resize(self.name, estimate, answers, reasons)

    def _act(
        self, memory: Acted, seen: Sequence[tuple[str, Signals]], now: float
    ) -> tuple[Acted, dict[str, int], tuple[Reason, ...]]:
        pressed = [(id, one) for id, one in seen if (one.pressure or 0.0) > self.noise]
        there = {id: one.instances for id, one in seen if one.pressure is not None}
        if (shrank := memory.shrank) in there:
            was, became = memory.on[shrank]
            if there[shrank] == became and shrank in dict(pressed):
                undone = Acted(now, {shrank: (became, was)}, (*memory.too_small, (shrank, became)))
                return undone, {shrank: was}, (Note(f"{became} instances were too few: undone", shrank),)
            # It has stood the test, or was not put to it. What presses another day, or elsewhere, is no verdict on it.
            memory = Acted(memory.at, {}, memory.too_small)
        if pressed:
            id, one = pressed[0]
            if one.uneven is not None and one.uneven > self.skew:
                return memory, {}, (Note("records are spread unevenly: more instances do not help", id),)
            if one.uneven_queues is not None and one.uneven_queues > self.slow:
                return memory, {}, (Note("one instance is slow: more of them do not help", id),)
            grown = scaled_up(one.instances, one.pressure or 0.0, most=self.most)
            acted = Acted(now, {id: (one.instances, grown)}, memory.too_small)
            return acted, {id: grown}, (Note("causes back-pressure", id),)
        for id, one in seen if self.shrinks else ():
            fewer = max(1, math.floor(self.down * one.instances * (1 + 1e-9)))
            if fewer < one.instances and _empty(one) and (id, fewer) not in memory.too_small:
                acted = Acted(now, {id: (one.instances, fewer)}, memory.too_small)
                return acted, {id: fewer}, (Note("no back-pressure and nothing waits", id),)
        return memory, {}, ()


def _empty(seen: Signals) -> bool:
    """Of what is not measured nobody knows whether it is empty."""
    known = seen.pressure is not None and seen.waiting is not None and seen.taken is not None
    return known and (seen.waiting or 0.0) <= _EMPTY * (seen.taken or 0.0)
