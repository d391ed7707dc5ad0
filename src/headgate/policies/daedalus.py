"""The `daedalus` policy: learn what a worker can do from throughput against CPU, and size for the forecast.

    capacity of a worker = line of (throughput per worker) on (share the busiest worker was busy), taken at a share of 1
    forecast             = the highest rate from now on for 900 s
    recovery(m)          = backlog / (m capacity - forecast)
    answer               = the least m with m capacity > forecast and recovery(m) <= 600 s
    nothing within 180 s of a rescale

Evaluated at the busiest worker, skew is in it: what is spread unevenly is full when its hottest part is.

Source: Pfister et al., "Daedalus" (ICPE'24).
Changed: CPU is the share of time a worker was busy. The forecast is the straight line through the last quarter of an
hour, which the original falls back on, instead of ARIMA. The line of the regression is learned for workers whatever
their number; until there are shares to tell a line from (a spread of a tenth), it goes through zero.
Its timing is its own (asked once a minute); Headgate's controller adds its guards when it runs it.
"""

import math
from typing import ClassVar

import msgspec

from headgate.model.dataflow import MAX_INSTANCES
from headgate.model.objective import Objective
from headgate.model.rounding import at_least_one
from headgate.model.signals import Signals
from headgate.policies.each import EachByItself

_SPREAD = 0.1
"""Standard deviation of shares from which on they tell a line."""


_TREND = 5
"""Rates, a minute each, from which on they tell a trend."""


class Sums(msgspec.Struct, frozen=True):
    """All that least squares need of points (x, y): how many, their sums and sums of products."""

    n: float = 0.0
    x: float = 0.0
    y: float = 0.0
    xx: float = 0.0
    xy: float = 0.0

    def with_point(self, x: float, y: float) -> "Sums":
        """One more."""
        return Sums(self.n + 1, self.x + x, self.y + y, self.xx + x * x, self.xy + x * y)

    @property
    def variance(self) -> float:
        """How far the x spread."""
        return self.xx / self.n - (self.x / self.n) ** 2

    def on_the_line(self, x: float) -> float:
        """The line through the points, at x; their mean where they do not spread at all."""
        slope = (self.xy / self.n - self.x * self.y / self.n**2) / self.variance if self.variance > 0 else 0.0
        return self.y / self.n + slope * (x - self.x / self.n)


def full_rate(worker: Sums) -> float | None:
    """What a worker takes that is busy all the time; None where nothing was seen of it.

    >>> full_rate(Sums().with_point(0.25, 30.0).with_point(0.75, 50.0))
    60.0
    >>> full_rate(Sums().with_point(0.5, 30.0))
    60.0
    """
    if not worker.xx:
        return None
    return worker.on_the_line(1.0) if worker.variance >= _SPREAD**2 else worker.xy / worker.xx


class Learned(msgspec.Struct, frozen=True):
    """The regression, the rates of the last quarter of an hour, and when it last looked and was rescaled."""

    worker: Sums = Sums()
    rates: tuple[tuple[float, float], ...] = ()
    looked: float | None = None
    instances: int | None = None
    rescaled: float | None = None


def forecast(rates: tuple[tuple[float, float], ...], ahead: float) -> float:
    """The highest value of the straight line through these (when, rate) from the last of them on, or that last rate.

    A line through a step is below it for minutes; what comes now is to be carried all the same. A few minutes tell no
    trend of a quarter of an hour: then it is the highest rate that was seen.

    >>> minutes = tuple((60.0 * k, 100.0 + 10 * k) for k in range(6))
    >>> forecast(minutes, 600.0), forecast(minutes[:3], 600.0)
    (250.0, 120.0)
    """
    if len(rates) < _TREND:
        return max(rate for _, rate in rates)
    first = rates[0][0]
    sums = Sums()
    for at, rate in rates:
        sums = sums.with_point(at - first, rate)
    now = rates[-1][0] - first
    return max(rates[-1][1], sums.on_the_line(now), sums.on_the_line(now + ahead))


def scale_out(each: float, rate: float, backlog: float, recovery: float) -> int:
    """The least number whose capacity is above the rate and that works off the backlog in time.

    >>> [scale_out(100.0, rate, backlog, 600.0) for rate, backlog in ((350.0, 0.0), (400.0, 0.0), (350.0, 60000.0))]
    [4, 5, 5]
    """
    keeps_up = math.floor(min(rate / each * (1 + 1e-12), MAX_INSTANCES - 1)) + 1
    return max(keeps_up, at_least_one((rate + backlog / recovery) / each))


class Daedalus(EachByItself, frozen=True):
    """Seconds."""

    needs: ClassVar[tuple[str, ...]] = ("taken", "came", "busiest", "waiting")

    period: float = 60.0
    ahead: float = 900.0
    recovery: float = 600.0
    rest: float = 180.0
    remembers: float = 900.0

    @property
    def name(self) -> str:
        """`daedalus`."""
        return "daedalus"

    def fresh(self) -> Learned:
        """Nothing learned."""
        return Learned()

    def answer(self, memory: Learned, seen: Signals, objective: Objective | None, now: float) -> tuple[Learned, int]:
        """Once a minute, unless it was rescaled just now."""
        del objective
        n = seen.instances
        rescaled = now if memory.instances is not None and memory.instances != n else memory.rescaled
        memory = msgspec.structs.replace(memory, instances=n, rescaled=rescaled)
        if (
            seen.busiest is None
            or seen.taken is None
            or (memory.looked is not None and now - memory.looked < self.period)
        ):
            return memory, n
        came = seen.came if seen.came is not None else seen.taken
        rates = (*(one for one in memory.rates if one[0] > now - self.remembers), (now, came))
        worker = memory.worker.with_point(seen.busiest, seen.taken / n) if seen.busiest > 0 else memory.worker
        memory = Learned(worker, rates, now, n, rescaled)
        each = full_rate(worker)
        if each is None or each <= 0 or (rescaled is not None and now - rescaled < self.rest):
            return memory, n
        expected = forecast(rates, self.ahead)
        return memory, max(1, scale_out(each, expected, seen.waiting or 0.0, self.recovery))
