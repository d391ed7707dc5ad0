"""The `mpc` policy: the cheapest three steps ahead, latency and changes priced in; the first of them is taken.

    rate_h  forecast for steps h = 1, 2, 3 (level and trend)
    rho     = (T / n) rate_h / 0.95                 T: seconds one instance needs for a record
    W       = rho / (1 - rho) (ca2 + cs2) / 2  T/n   Kingman's wait
    R       = T + k W                               k: mean of the last three measured / predicted waits
    minimise  sum over h of  alpha exp(R / Rmax) + beta n_h + gamma (n_h - n_(h-1))^2,   alpha 3, beta 0.5, gamma 0.4

Rmax is the freshness that is asked for, or `bound` where none is. The cost is a sum over steps, so the best three are
found by dynamic programming, exactly.

Source: De Matteis and Mencagli, "Keep calm and react with foresight" (PPoPP'16), its strategy Lat-Node.
Changed: the forecast is Holt's (level and trend, 0.5 and 0.2), as any will do; a step is a minute; numbers from half
to twice as many, and up to what keeps up, are looked at; where no wait is finite the instances that lack are the
price, each of them more than anything else can cost.
Its step is its own; Headgate's controller adds its guards when it runs it.
"""

import math
from typing import ClassVar

import msgspec
import numpy as np

from headgate.model.columns import Floats
from headgate.model.dataflow import MAX_INSTANCES
from headgate.model.objective import Freshness, Objective
from headgate.model.signals import Signals
from headgate.policies.each import EachByItself

_STEPS = 3
_KEPT = 3
_FULL = 0.95
"""Share of its time that an instance can be used at all."""
_MOST = 400
"""Numbers of instances looked at."""
_LONGEST = 50.0
"""Latency in bounds from which on the exponential is cut: e^50 is more than anything else can cost."""
_OVERLOAD = math.exp(_LONGEST)
"""Price of one instance's worth of records that are not taken. It is on the scale of the longest latency: beside that a
smaller one is lost in rounding, and all numbers that are too few would cost the same."""


class Foresight(msgspec.Struct, frozen=True):
    """Level and trend of the rate for each step, the last measured over predicted waits, and when that was."""

    level: float | None = None
    trend: float = 0.0
    ratios: tuple[float, ...] = ()
    at: float | None = None


def kingman(rate: float, service: float, n: int, variation: float = 1.0) -> float:
    """The wait for n instances that need `service` seconds for a record; infinite where they are too few.

    >>> round(kingman(95.0, 0.005, 1), 9)  # busy for half of the 0.95 it can be
    0.005
    """
    rho = service / n * rate / _FULL
    return rho / (1 - rho) * variation * service / n if rho < 1 else math.inf


class Mpc(EachByItself, frozen=True):
    """Seconds."""

    needs: ClassVar[tuple[str, ...]] = ("taken", "busy", "came", "latency")

    period: float = 60.0
    """Of a step."""
    bound: float = 60.0
    """The longest latency where no freshness is asked for."""
    alpha: float = 3.0
    beta: float = 0.5
    gamma: float = 0.4
    variation: float = 1.0
    """(ca2 + cs2) / 2; 1 where arrivals and service are exponential."""

    @property
    def name(self) -> str:
        """`mpc`."""
        return "mpc"

    def fresh(self) -> Foresight:
        """Nothing seen."""
        return Foresight()

    def answer(
        self, memory: Foresight, seen: Signals, objective: Objective | None, now: float
    ) -> tuple[Foresight, int]:
        """The first of the best three steps, once a step."""
        each, n = seen.each, seen.instances
        if each is None or not math.isfinite(1 / each) or (memory.at is not None and now - memory.at < self.period):
            return memory, n
        came = seen.came if seen.came is not None else seen.taken or 0.0
        service = 1 / each
        level, trend = _holt(memory, came)
        ratios = memory.ratios
        predicted = kingman(came, service, n, self.variation)
        if seen.latency is not None and 0 < predicted < math.inf:
            measured = max(0.0, seen.latency - service) / predicted
            ratios = (*ratios, min(measured, 1e12))[-_KEPT:]
        k = sum(ratios) / len(ratios) if ratios else 1.0
        longest = float(objective.within) if isinstance(objective, Freshness) else self.bound
        rates = [min(max(0.0, level + h * trend), 1e300) for h in range(1, _STEPS + 1)]
        return Foresight(level, trend, ratios, now), self._best(rates, service, k, longest, n)

    def _best(self, rates: list[float], service: float, k: float, longest: float, n: int) -> int:
        enough = math.ceil(min(max(rates) * service / _FULL, 2.0**53)) + 2
        low = max(1, n // 2)
        high = min(max(2 * n + 2, enough), MAX_INSTANCES)
        even = np.linspace(low, high, min(high - low + 1, _MOST)).astype(np.int64)
        candidates = np.unique(np.append(even, n))
        counts = candidates.astype(np.float64)
        moved = self.gamma * (counts[:, None] - counts[None, :]) ** 2
        ahead = np.zeros(counts.size)
        for rate in reversed(rates[1:]):
            # From each number, the best next one with all that follows it.
            ahead = (moved + (self._price(counts, rate, service, k, longest) + ahead)[None, :]).min(axis=1)
        first = self._price(counts, rates[0], service, k, longest) + ahead + self.gamma * (counts - n) ** 2
        return int(candidates[int(np.argmin(first))])

    def _price(self, counts: Floats, rate: float, service: float, k: float, longest: float) -> Floats:
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            rho = service / counts * rate / _FULL
            wait = np.where(rho < 1, rho / (1 - rho) * self.variation * service / counts, 0.0)
            late = np.exp(np.minimum((service + k * wait) / longest, _LONGEST))
            price: Floats = self.beta * counts + self.alpha * late
            lacking = np.minimum(rate * service / _FULL, 2.0**53) - counts
            full = self.beta * counts + self.alpha * np.exp(_LONGEST) + _OVERLOAD * lacking
            return np.where(rho < 1, price, full)


def _holt(memory: Foresight, rate: float) -> tuple[float, float]:
    """Level and trend after this rate."""
    if memory.level is None:
        return rate, 0.0
    level = 0.5 * rate + 0.5 * (memory.level + memory.trend)
    return level, 0.2 * (level - memory.level) + 0.8 * memory.trend
