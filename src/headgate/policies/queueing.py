"""The `queueing` policy: an open Jackson network of M/M/k queues, one an operator.

    v_i      visits of operator i for each record that enters: demand_i / what sources emit
    T_i(k)   = 1/mu_i + C(k, l_i/mu_i) / (k mu_i - l_i)          Erlang C: the chance to have to wait
    start    k_i = floor(l_i / mu_i) + 1                          the least that is stable
    then     one instance more to the operator with the largest v_i (T_i(k_i) - T_i(k_i + 1)), until
             sum v_i T_i <= target, or the budget is spent

l_i is the demand when everything upstream keeps up (DS2's), mu_i the true rate of one instance. The target is the
freshness that is asked for; without one the least that is stable is the answer.

Source: Fu et al., "DRS" (ICDCS'15), as in POLICIES.md; the original's 32-bit factorial breaks from k = 13, so Erlang C
is computed in log space by the recursion of Erlang B. Where arrivals or service are not exponential the wait is
multiplied by `variation` = (ca2 + cs2) / 2.
Changed: asked once a minute; a target below the bare service times is said to be out of reach instead of looked for for
ever. Fault on Spark: a record's own wait says nothing about batches, their fixed cost or the driver.
Its period is its own; Headgate's controller adds its guards when it runs it.
"""

import heapq
import math
from collections.abc import Sequence
from typing import ClassVar, NamedTuple

import msgspec

from headgate.model.dataflow import MAX_INSTANCES
from headgate.model.decision import Decision, Sizing
from headgate.model.estimate import Estimate
from headgate.model.objective import Freshness, KeepUp, Objective
from headgate.model.reasons import Note, Reason
from headgate.policies.ds2 import Ds2

_MANY = 10_000
"""With so many servers nobody waits who is served at all; they are not counted one by one."""


class Station(NamedTuple):
    """One queue: arrivals per second, what one server serves per second, visits of a record."""

    arrivals: float
    service: float
    visits: float = 1.0


def log_inverse_erlang_b(servers: int, offered: float) -> float:
    """The logarithm of one over the chance that all servers are busy, where those who find them so leave.

    1/B(0) = 1;  1/B(k) = 1 + k/a 1/B(k-1)
    """
    value = 0.0
    for k in range(1, servers + 1):
        value = _next(value, k, offered)
    return value


def _next(log_inverse: float, k: int, offered: float) -> float:
    step = math.log(k / offered) + log_inverse
    return step + math.log1p(math.exp(-step)) if step > 0 else math.log1p(math.exp(step))


def erlang_c(servers: int, offered: float) -> float:
    """The chance to have to wait, with `offered` = arrivals / service rate of one server.

    >>> round(erlang_c(1, 0.5), 12), round(erlang_c(2, 1.0), 12)
    (0.5, 0.333333333333)
    """
    if offered <= 0:
        return 0.0
    if servers <= offered:
        return 1.0
    return _waits(log_inverse_erlang_b(servers, offered), servers, offered)


def _waits(log_inverse: float, servers: int, offered: float) -> float:
    blocked = math.exp(-log_inverse)
    use = offered / servers
    return blocked / (1 - use * (1 - blocked))


def sojourn(station: Station, servers: int, waits: float, variation: float = 1.0) -> float:
    """Seconds a record spends at a station, of which so many records wait."""
    spare = servers * station.service - station.arrivals
    return 1 / station.service + variation * waits / spare if spare > 0 else math.inf


def allocated(
    stations: Sequence[Station], target: float | None, budget: int | None = None, variation: float = 1.0
) -> list[int]:
    """Servers of each station.

    >>> allocated([Station(10.0, 4.0)], target=None), allocated([Station(10.0, 4.0)], target=0.31)
    ([3], [4])
    """
    servers = [math.floor(min(one.arrivals / one.service * (1 + 1e-12), MAX_INSTANCES - 1)) + 1 for one in stations]
    if target is None or sum(one.visits / one.service for one in stations) >= target or max(servers) > _MANY:
        return servers
    offered = [one.arrivals / one.service for one in stations]
    logs = [
        log_inverse_erlang_b(k, a) if a > 0 else math.inf for k, a in zip(servers, offered, strict=True)
    ]  # fmt: skip

    def spent(at: int, k: int, log_inverse: float) -> float:
        waits = _waits(log_inverse, k, offered[at]) if offered[at] > 0 else 0.0
        return stations[at].visits * sojourn(stations[at], k, waits, variation)

    def further(at: int) -> tuple[float, int, float, float]:
        """By how much one server more shortens the whole; the largest first."""
        k = servers[at] + 1
        log_inverse = _next(logs[at], k, offered[at]) if offered[at] > 0 else math.inf
        then = spent(at, k, log_inverse)
        return then - times[at], at, then, log_inverse

    times = [spent(at, k, logs[at]) for at, k in enumerate(servers)]
    best = [further(at) for at in range(len(stations))]
    heapq.heapify(best)
    left = math.inf if budget is None else budget - sum(servers)
    while sum(times) > target and left > 0 and max(servers) < _MANY:
        _, at, times[at], logs[at] = heapq.heappop(best)
        servers[at] += 1
        left -= 1
        heapq.heappush(best, further(at))
    return servers


class Asked(msgspec.Struct, frozen=True):
    """When it was last asked."""

    at: float | None = None


class Queueing(msgspec.Struct, frozen=True):
    """Seconds; `budget` in instances of all operators."""

    needs: ClassVar[tuple[str, ...]] = ("taken", "busy", "came")

    period: float = 60.0
    variation: float = 1.0
    budget: int | None = None

    @property
    def name(self) -> str:
        """`queueing`."""
        return "queueing"

    def start(self) -> Asked:
        """Not asked yet."""
        return Asked()

    def decide(self, memory: Asked, estimate: Estimate, objective: Objective, now: float) -> tuple[Asked, Decision]:
        """Servers for every station, once a period."""
        if memory.at is not None and now - memory.at < self.period:
            return memory, Decision.resize(self.name, estimate, {})
        headroom = objective.headroom if isinstance(objective, KeepUp) else 0.0
        target = float(objective.within) if isinstance(objective, Freshness) else None
        _, sized = Ds2().decide(None, estimate, KeepUp(), now)
        enters = sum(one.output or 0.0 for one in sized.sizings if one.source) or 1.0
        known = [one for one in sized.sizings if not one.source and one.true_rate and one.demand is not None]
        stations = [_station(one, headroom, enters) for one in known]
        servers = allocated(stations, target, self.budget, self.variation) if stations else []
        answers = {one.operator: count for one, count in zip(known, servers, strict=True)}
        reasons: tuple[Reason, ...] = ()
        bare = sum(one.visits / one.service for one in stations)
        if target is not None and bare >= target:
            reasons = (Note(f"{target:g} s are out of reach: service alone takes {bare:.3g} s"),)
        return Asked(now), Decision.resize(self.name, estimate, answers, reasons)


def _station(sizing: Sizing, headroom: float, enters: float) -> Station:
    demand, rate = sizing.demand or 0.0, max((sizing.true_rate or 0.0) / sizing.now, 1e-300)
    return Station(min(demand * (1 + headroom), 1e300), rate, min(demand / enters, 1e300))
