"""The `latency-rule` policy: when results are too late and get later, give the slowest operators more.

    every interval: latency over its bound and still rising: counter + 1, otherwise counter - 1 (from 0 up)
    at 3: act, clear the counter, and pause for six intervals
    act: on the 3 slowest operators. Windows, joins, co-groups: + 2
         others: ceil(input / (throughput / n)), at most 128; where nothing came through: + 2
    a node more (`adds_node`, which decides nothing here): if (memory >= 0.7 or health > 0.5) and estimated downtime
         2 state / 125 MB/s < 180 s, or if health >= 0.7;   health = mean of (heap share + CPU) / 2

Source: a thesis at TU Berlin, whose figures are the tests. The bound is the freshness that is asked for, or `bound`
where none is. Input is DS2's demand: what would reach the operator if nothing held it back.
Changed: the original never clears its flag to act and so acts in every interval once it has; this one clears it. Its
interval is not published; here a minute. Nodes are not added: of heap and processors policies are told nothing here,
and in a pool an instance is a node. With `adds_node` and `downtime` only the figures of the thesis are compared.
Where its formula gives fewer than there are (over 128 of them, or a backlog that is being worked off), they stay. An
operator that took nothing of what came for it is the slowest there is; one for which nothing came is left alone.
Fault: it never gives anything back.
Its timing is its own; Headgate's controller adds its guards when it runs it.
"""

import math
from collections.abc import Mapping
from typing import ClassVar

import msgspec

from headgate.model.decision import Decision
from headgate.model.estimate import Estimate
from headgate.model.objective import Freshness, KeepUp, Objective
from headgate.model.signals import Signals
from headgate.policies.ds2 import Ds2
from headgate.policies.not_yet_done import not_yet_done

_BYTES_PER_SECOND = 125e6
"""A network of one gigabit: state is written and read once."""


class Counted(msgspec.Struct, frozen=True):
    """How often in a row it was too late, the latency before, when it last looked and until when it pauses."""

    times: int = 0
    latency: float | None = None
    looked: float | None = None
    until: float | None = None
    acted: Mapping[str, tuple[int, int]] = {}
    """What it last gave to whom: from how many, to how many."""


def instances(came: float, taken: float, n: int, *, windowed: bool = False, most: int = 128) -> int:
    """What an operator gets.

    >>> instances(386950.418, 178376.65, 12), instances(0.0, 0.0, 12), instances(1.0, 1.0, 12, windowed=True)
    (27, 14, 14)

    It is asked where results are too late, so never for fewer than there are:

    >>> instances(1500.0, 1000.0, 140), instances(500.0, 1000.0, 12)
    (140, 12)
    """
    more = n + 2 if windowed or taken <= 0 else math.ceil(min(most, came / (taken / n)) * (1 - 1e-9))
    return max(n, min(most, more))


def downtime(state_bytes: float) -> float:
    """Seconds that a restart takes: state goes over the network twice.

    >>> round(downtime(1_193_084_155), 1)
    19.1
    """
    return 2 * state_bytes / _BYTES_PER_SECOND


def adds_node(health: float, memory: float, state_bytes: float) -> bool:
    """Whether a node more is worth the restart.

    >>> adds_node(0.525, 0.654, 1_193_084_155), adds_node(0.399, 0.471, 3_491_781_642)
    (True, False)
    """
    return health >= 0.7 or ((memory >= 0.7 or health > 0.5) and downtime(state_bytes) < 180)


class LatencyRule(msgspec.Struct, frozen=True):
    """Seconds; `slowest` in operators."""

    needs: ClassVar[tuple[str, ...]] = ("latency", "came", "taken", "windowed")

    interval: float = 60.0
    bound: float = 60.0
    """Where no freshness is asked for."""
    times: int = 3
    pause: int = 6
    """Intervals."""
    slowest: int = 3
    most: int = 128

    @property
    def name(self) -> str:
        """`latency-rule`."""
        return "latency-rule"

    def start(self) -> Counted:
        """Never too late."""
        return Counted()

    def decide(self, memory: Counted, estimate: Estimate, objective: Objective, now: float) -> tuple[Counted, Decision]:
        """Count, and act at three."""
        flow = estimate.dataflow
        stay = Decision.resize(self.name, estimate, not_yet_done(memory.acted, flow))
        every = {at: estimate.seen(at) for at in range(len(flow.ids)) if not flow.is_source[at]}
        # What took nothing has no true rate, and so is not known; that it took nothing is.
        seen = {flow.ids[at]: one for at, one in every.items() if estimate.known[at] or one.taken == 0}
        latency = _longest(estimate)
        paused = memory.until is not None and now < memory.until
        if latency is None or paused or (memory.looked is not None and now - memory.looked < self.interval):
            return memory, stay
        bound = float(objective.within) if isinstance(objective, Freshness) else self.bound
        late = latency > bound and memory.latency is not None and latency > memory.latency
        times = memory.times + 1 if late else max(0, memory.times - 1)
        if times < self.times:
            return Counted(times, latency, now, memory.until), Decision.resize(self.name, estimate, {})
        _, sized = Ds2().decide(None, estimate, KeepUp(), now)
        answers = self._act(seen, {one.operator: one.demand for one in sized.sizings})
        acted = {id: (seen[id].instances, count) for id, count in answers.items()}
        paused_until = now + self.pause * self.interval
        return Counted(0, None, now, paused_until, acted), Decision.resize(self.name, estimate, answers)

    def _act(self, seen: Mapping[str, Signals], demand: Mapping[str, float | None]) -> dict[str, int]:
        came = {id: demand[id] if one.taken != 0 or demand[id] is not None else one.came for id, one in seen.items()}
        stuck = {id for id, one in seen.items() if one.taken == 0 and came[id]}
        slow = sorted(seen, key=lambda id: -math.inf if id in stuck else -(seen[id].latency or 0.0))[: self.slowest]
        return {
            id: instances(reaches, one.taken or 0.0, one.instances, windowed=one.windowed, most=self.most)
            for id in slow
            if ((one := seen[id]).taken or id in stuck) and (reaches := came[id]) is not None
        }


def _longest(estimate: Estimate) -> float | None:
    """The longest way through the dataflow, in seconds, over operators whose latency is known."""
    flow = estimate.dataflow
    until: list[float] = [0.0] * len(flow.ids)
    known = False
    for at, targets in enumerate(flow.outgoing):
        latency = estimate.seen(at).latency
        known = known or latency is not None
        until[at] += latency or 0.0
        for target, _ in targets:
            until[target] = max(until[target], until[at])
    return max(until) if known else None
