"""The `conttune` policy: first big enough, then as small as what was seen before allows.

    big    while no size was ever seen to be enough, without causing back-pressure: twice as many
    small  a Gaussian process over (instances -> true rate), per operator, from every size it ever had;
           answer = least n whose mean is the demand or more
           DS2's answer where the nearest size that was seen is farther than 3 from it

What it sees it remembers: the more often a job was resized, the better it knows where to go.

Source: Lian et al., "ContTune" (VLDB'23); it reports 1.29 rescales a tuning, DS2 2.40.
Changed: demand is DS2's, as what reaches an operator under back-pressure says nothing. The process is ours: a Matern
5/2 kernel of length 3 (the distance at which it is no longer believed), its mean a line through zero, a deviation of a
tenth, one part in a thousand of noise. It may step one below what is enough, see that, and come back. Asked once a
minute; Headgate's controller adds its guards when it runs it.
"""

import math
from collections.abc import Mapping, Sequence, Set
from typing import ClassVar

import msgspec
import numpy as np

from headgate.model.columns import Floats
from headgate.model.dataflow import MAX_INSTANCES
from headgate.model.decision import Decision, Sizing
from headgate.model.estimate import Estimate
from headgate.model.objective import KeepUp, Objective
from headgate.model.rounding import at_least_one
from headgate.policies.ds2 import Ds2

_NEAR = 3
"""Instances up to which what was seen of another number is believed."""
_DEVIATION, _NOISE = 0.1, 0.001
"""Of the mean: how far the rate may be off the line, and how exactly it is measured."""
_MOST = 2000
"""Instances up to which numbers are looked at one by one."""
_KEPT = 30
"""Sizes that are remembered, the ones last seen."""


class Points(msgspec.Struct, frozen=True):
    """By operator, (instances, true rate of all of them), the one last seen last."""

    seen: Mapping[str, tuple[tuple[int, float], ...]] = {}
    at: float | None = None
    pressed: Mapping[str, tuple[int, ...]] = {}
    """By operator, the numbers of instances that caused back-pressure when they were last seen."""


def _matern(one: Floats, other: Floats) -> Floats:
    apart = math.sqrt(5) * np.abs(one[:, None] - other[None, :]) / _NEAR
    covariance: Floats = (1 + apart + apart**2 / 3) * np.exp(-apart)
    return covariance


def expected(points: Sequence[tuple[int, float]], counts: Floats) -> Floats:
    """The mean of the process at these numbers of instances.

    >>> expected([(2, 200.0), (4, 400.0)], np.array([3.0, 100.0])).round(6).tolist()
    [300.0, 10000.0]
    """
    n, rate = np.array(points, np.float64).T
    each = float((rate / n).mean())
    # Relative to the line through zero, so that one deviation fits small numbers and large ones.
    off = rate / (each * n) - 1
    covariance = _matern(n, n) * _DEVIATION**2 + np.eye(n.size) * _NOISE**2
    mean: Floats = each * counts * (1 + _DEVIATION**2 * _matern(counts, n) @ np.linalg.solve(covariance, off))
    return mean


def smallest(points: Sequence[tuple[int, float]], demand: float, linear: int) -> int:
    """The least number whose expected rate is enough; `linear` where nothing near was seen.

    >>> smallest([(4, 400.0), (8, 640.0)], 500.0, linear=7)  # 5 is expected to do 480
    6
    """
    numbers = [n for n, _ in points]
    most = max(linear, *numbers)
    if most > _MOST:
        return linear
    counts = np.arange(1, most + _NEAR + 1, dtype=np.float64)
    enough = np.flatnonzero(expected(points, counts) >= demand * (1 - 1e-9))
    if not enough.size:
        return linear
    least = int(enough[0]) + 1
    return least if min(abs(least - n) for n in numbers) <= _NEAR else linear


class ContTune(msgspec.Struct, frozen=True):
    """`noise` in milliseconds per second of back-pressure."""

    needs: ClassVar[tuple[str, ...]] = ("taken", "busy", "came", "pressure")

    noise: float = 20.0
    period: float = 60.0
    """Seconds."""

    @property
    def name(self) -> str:
        """`conttune`."""
        return "conttune"

    def start(self) -> Points:
        """Nothing seen."""
        return Points()

    def decide(self, memory: Points, estimate: Estimate, objective: Objective, now: float) -> tuple[Points, Decision]:
        """Every operator, by all that was ever seen of it."""
        if memory.at is not None and now - memory.at < self.period:
            return memory, Decision.resize(self.name, estimate, {})
        headroom = objective.headroom if isinstance(objective, KeepUp) else 0.0
        _, sized = Ds2().decide(None, estimate, KeepUp(headroom), now)
        answers, seen, pressed = {}, dict(memory.seen), dict(memory.pressed)
        for at, one in enumerate(sized.sizings):
            if one.source or not one.true_rate or one.demand is None:
                continue
            others = (point for point in seen.get(one.operator, ()) if point[0] != one.now)
            points = (*others, (one.now, one.true_rate))[-_KEPT:]
            seen[one.operator] = points
            too_few = {n for n in pressed.get(one.operator, ()) if n != one.now}
            if (estimate.seen(at).pressure or 0.0) > self.noise:
                too_few.add(one.now)
            pressed[one.operator] = tuple(sorted(too_few & {n for n, _ in points}))
            answers[one.operator] = _answer(points, one, one.demand * (1 + headroom), too_few)
        return Points(seen, now, pressed), Decision.resize(self.name, estimate, answers)


def _answer(points: Sequence[tuple[int, float]], one: Sizing, demand: float, pressed: Set[int]) -> int:
    if not any(rate >= demand * (1 - 1e-9) for n, rate in points if n not in pressed):
        return min(2 * one.now, MAX_INSTANCES)
    linear = at_least_one(min(demand / ((one.true_rate or math.inf) / one.now), 2.0**53))
    return smallest(points, demand, linear)
