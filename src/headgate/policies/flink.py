"""The `flink` policy: the autoscaler of Flink's Kubernetes operator, DS2's industrial successor.

    source target   = max(0, rate taken + growth of the lag);   catch-up = lag / D
    downstream both = sum over edges of upstream's x records out per record in
    true rate       = rate taken / share of time busy (of the busiest instance)
    capacity(u)     = catch-up + target / u + target x restart / D
    factor          = capacity(0.7) / true rate, from 1 - 0.6 up;   new = ceil(factor n)

    acts only where the true rate is below catch-up + target / (u + 0.3), or above
        catch-up + target / (u - 0.3) + target x restart / D
        (while the lag is over 5 minutes: below catch-up + target, and never down)
    looks once a minute, averages over 15 minutes that begin 5 minutes after each rescale; before that it does nothing
    down: after it was wanted for an hour, to the highest that was wanted in it
    what is not measured stays as it is, and what it feeds may grow but not shrink

Defaults: D = catch-up in 30 minutes, restart 5 minutes: a steady job gets 1/0.7 + 5/30 = 1.595 times its target rate.

Source: flink-kubernetes-operator (JobVertexScaler, ScalingMetricEvaluator), whose test vectors are ours too.
Changed: Headgate's records per second come from `Signals`; parallelism is aligned to `partitions` only where they are
given, because executors and instances here have no key groups. True rates as observed while there is a lag count for
what a source feeds, as sources themselves are never resized here. Fault: an hour before it shrinks, and more than half
as much again as is needed, all the time. Its timing is its own; Headgate's controller adds its guards when it runs it.
"""

import math
from collections.abc import Mapping, Sequence
from typing import ClassVar, NamedTuple, TypeAlias

import msgspec

from headgate.model.decision import Decision
from headgate.model.errors import InputError
from headgate.model.estimate import Estimate
from headgate.model.objective import Objective
from headgate.model.reasons import DemandIncomplete, KeptWithoutRates, Note, Reason, number
from headgate.model.rounding import at_least_one

_HELD = 20.0
"""Milliseconds per second of back-pressure that are more than noise."""


class Sample(msgspec.Struct, frozen=True, array_like=True):
    """One look at an operator: records per second, records out for each that is taken, and records of lag."""

    taken: float
    ratio: float
    true: float
    lag: float
    growth: float
    held: bool = False
    """Whether what it feeds held it back."""


class Seen(msgspec.Struct, frozen=True):
    """Since when it has this size; the looks since then; and which operators would have shrunk."""

    instances: Mapping[str, int] = {}
    since: float = 0.0
    looks: tuple[tuple[float, Mapping[str, Sample]], ...] = ()
    smaller: Mapping[str, tuple[float, int]] = {}
    """Since when, and the highest of what was wanted since."""


def capacity(target: float, catch_up: float, use: float, *, restart: float, within: float) -> float:
    """What is to be carried at this use: the rate, what waits, and what will have come during the restart.

    >>> round(capacity(1000.0, 0.0, 0.7, restart=300.0, within=1800.0))
    1595
    """
    restarted = target * restart / within if within > 0 else 0.0
    return catch_up + target / use + restarted


def thresholds(
    target: float, catch_up: float, low: float, high: float, *, restart: float, within: float, behind: bool = False
) -> tuple[float, float]:
    """True rates between which it stays as it is: below the first it grows, above the second it shrinks.

    >>> [round(one) for one in thresholds(700.0, 350.0, 0.7, 0.9, restart=1.0, within=2.0)]
    [1128, 1700]
    """
    if behind:
        return catch_up + target, math.inf
    return catch_up + target / high, capacity(target, catch_up, low, restart=restart, within=within)


def scaled(n: int, factor: float, *, most: int = 720, partitions: int | None = None) -> int:
    """So many, rounded up to a divisor of the partitions where keys are spread over those.

    >>> scaled(16, 1.5, most=128), scaled(16, 1.5, most=128, partitions=128)
    (24, 32)
    """
    wanted = min(at_least_one(min(n * factor, 2.0**53)), most)
    if partitions is not None:
        for count in range(wanted, partitions // 2 + 1):
            if partitions % count == 0:
                return count
        return min(partitions, most)
    return wanted


def true_rate(by_busy: float, observed: Sequence[float], *, switch: float = 0.15, least: int = 2) -> float:
    """The true rate by busy time, or as it was observed while there was always something to do.

    The latter only where there are enough observations and busy time promises more than they by this part.

    >>> true_rate(350.0, [200.0, 400.0], switch=0.2), true_rate(350.0, [200.0, 400.0], switch=0.1)
    (350.0, 300.0)
    """
    if len(observed) < least:
        return by_busy
    seen = sum(observed) / len(observed)
    return seen if by_busy > seen * (1 + switch) else by_busy


_Look: TypeAlias = tuple[float, Mapping[str, Sample]]
"""When, and the operators that were measured then."""


class _Flow(NamedTuple):
    target: float
    catch_up: float


class Flink(msgspec.Struct, frozen=True):
    """Shares of 1, seconds."""

    needs: ClassVar[tuple[str, ...]] = ("taken", "came", "busiest", "waiting", "growth", "pressure")

    target: float = 0.7
    boundary: float = 0.3
    restart: float = 300.0
    catch_up: float = 1800.0
    """0: what waits, and what will have come during a restart, is left to what there is to spare."""
    period: float = 60.0
    """It looks so often."""
    window: float = 900.0
    stabilisation: float = 300.0
    down_after: float = 3600.0
    most_down: float = 0.6
    most_up: float = 100_000.0
    behind: float = 300.0
    """Lag in seconds from which on it never scales down."""
    lagging: float = 30.0
    """Lag in seconds from which on what is taken is all that can be."""
    partitions: int | None = None

    def __post_init__(self) -> None:
        """Refuse a boundary that leaves nothing."""
        if not 0 < self.target - self.boundary <= self.target:
            raise InputError(f"target {self.target} less boundary {self.boundary} leaves nothing; make it smaller")

    @property
    def name(self) -> str:
        """`flink`."""
        return "flink"

    def start(self) -> Seen:
        """Nothing seen."""
        return Seen()

    def decide(self, memory: Seen, estimate: Estimate, objective: Objective, now: float) -> tuple[Seen, Decision]:
        """Once the averages are there, all operators at once."""
        del objective
        flow = estimate.dataflow
        there = dict(zip(flow.ids, flow.instances.tolist(), strict=True))
        if memory.instances != there:
            memory = Seen(there, now)
        stay = Decision.resize(self.name, estimate, {})
        if now - memory.since < self.stabilisation:
            return memory, stay
        if memory.looks and now - memory.looks[-1][0] < self.period:
            return memory, stay
        looks = tuple(one for one in memory.looks if one[0] > now - self.window)
        if sampled := _sampled(estimate):
            looks = (*looks, (now, sampled))
        memory = msgspec.structs.replace(memory, looks=looks)
        if not looks:
            # An hour in which it was always wanted smaller has no part of which nothing is known.
            unseen = Note(f"nothing was measured in the last {number(self.window)} s: all stays as it is")
            return msgspec.structs.replace(memory, smaller={}), stay.because(unseen)
        if now - memory.since < self.stabilisation + self.window:
            return memory, stay
        wanted, reasons = self._wanted(estimate, looks)
        answers, smaller = {}, {}
        for id, count in wanted.items():
            measured = id in sampled  # averages may still know what this look does not: nobody acts on that
            if count > there[id] and measured:
                answers[id] = count
            elif count < there[id]:
                since, highest = memory.smaller.get(id, (now, count))
                smaller[id] = since, max(highest, count)
                if now - since >= self.down_after and measured:
                    answers[id] = smaller[id][1]
        decision = Decision.resize(self.name, estimate, answers, reasons)
        return msgspec.structs.replace(memory, smaller=smaller), decision

    def _wanted(self, estimate: Estimate, looks: Sequence[_Look]) -> tuple[dict[str, int], tuple[Reason, ...]]:
        """What each operator should have, were it not for the wait before it shrinks; and who is not sized, and why."""
        flow = estimate.dataflow
        samples = {id: [look[id] for _, look in looks if id in look] for id in flow.ids}
        means = {id: _mean(seen) for id, seen in samples.items() if seen}
        # Any source that is behind holds for all: operators need not stand after every source in the order of the flow.
        sources = [id for at, id in enumerate(flow.ids) if flow.is_source[at] and id in means]
        behind = any(samples[id][-1].lag > self.behind * max(means[id].taken, 1e-9) for id in sources)
        flows = [_Flow(0.0, 0.0)] * len(flow.ids)
        # By operator, those that feed it and of which it is not known what they pass on.
        unknown: list[tuple[str, ...]] = [()] * len(flow.ids)
        wanted: dict[str, int] = {}
        reasons: list[Reason] = []
        for at, id in enumerate(flow.ids):
            n, mean = int(flow.instances[at]), means.get(id)
            if mean is None:
                reasons.append(KeptWithoutRates(id, n))
            elif flow.is_source[at]:
                flows[at] = _Flow(max(0.0, mean.taken + mean.growth), self._caught_up(samples[id][-1].lag))
            else:
                feeders = [flow.ids[up] for up in flow.incoming[at] if flow.is_source[up]]
                full = [
                    look[id].taken
                    for _, look in looks
                    if id in look and look[id].taken > 0 and self._lags(look, feeders) and not look[id].held
                ]
                wanted[id] = self._sized(n, flows[at], true_rate(mean.true, full), behind)
                if unknown[at]:
                    wanted[id] = max(n, wanted[id])
                    reasons.append(DemandIncomplete(id, unknown[at]))
            ratio = mean.ratio if mean is not None else 0.0
            passed = _Flow(flows[at].target * ratio, flows[at].catch_up * ratio)
            for target, share in flow.outgoing[at]:
                before = flows[target]
                flows[target] = _Flow(before.target + passed.target * share, before.catch_up + passed.catch_up * share)
                if mean is None or unknown[at]:
                    unknown[target] = (*unknown[target], id)
        return wanted, tuple(reasons)

    def _caught_up(self, lag: float) -> float:
        return lag / self.catch_up if self.catch_up > 0 else 0.0

    def _lags(self, look: Mapping[str, Sample], sources: Sequence[str]) -> bool:
        return any(one.lag > self.lagging * one.taken > 0 for id in sources if (one := look.get(id)) is not None)

    def _sized(self, n: int, flow: _Flow, true: float, behind: bool) -> int:
        times = {"restart": self.restart, "within": self.catch_up}
        low, high = self.target - self.boundary, self.target + self.boundary
        least, most = thresholds(flow.target, flow.catch_up, low, high, behind=behind, **times)
        if true <= 0 or least <= true <= most:
            return n
        factor = capacity(flow.target, flow.catch_up, self.target, **times) / true
        factor = min(max(factor, 1 - self.most_down), 1 + self.most_up)
        return scaled(n, factor, most=2**53, partitions=self.partitions)


def _sampled(estimate: Estimate) -> dict[str, Sample]:
    """One look at every operator that was measured."""
    looks = {}
    flow = estimate.dataflow
    for at, id in enumerate(flow.ids):
        seen = estimate.seen(at)
        if not estimate.known[at] or (flow.is_source[at] and seen.taken is None):
            continue
        taken = seen.taken or 0.0
        if flow.is_source[at]:
            # Without a lag to look at, what a source emits when nothing holds it back is what comes.
            growth = seen.growth if seen.growth is not None else (seen.came or taken) - taken
            looks[id] = Sample(taken, 1.0, 0.0, seen.waiting or 0.0, growth)
        else:
            true, out = float(estimate.true_processing[at]), float(estimate.true_output[at])
            busiest = taken / seen.busiest if seen.busiest and taken else true
            held = any((estimate.seen(target).pressure or 0.0) > _HELD for target, _ in flow.outgoing[at])
            looks[id] = Sample(taken, out / true if true > 0 else 0.0, busiest, 0.0, 0.0, held)
    return looks


def _mean(looks: Sequence[Sample]) -> Sample:
    def mean(values: Sequence[float]) -> float:
        return sum(values) / len(values)

    return Sample(
        mean([one.taken for one in looks]),
        mean([one.ratio for one in looks]),
        mean([one.true for one in looks]),
        0.0,
        mean([one.growth for one in looks]),
    )
