"""The `capacity` policy for operators: DS2 that learns how instances get in each other's way.

DS2 takes the true rate of one instance to be the same whatever their number. Instances that share cores, memory or a
network do less each the more there are; DS2 then needs a step for every correction. This policy remembers what each
size could do, and puts a curve through it:

    X(m) = X(n) (m / n)^p       true rate of m instances
    p    from the two sizes around m that were seen, or the two nearest; between 0 and 1
         0.9 where only one was seen: less than DS2's 1, more than the 0.8 such operators were measured at
    answer = least m with X(m) >= demand (1 + headroom), within what is known for certain:
             more than every smaller size that was seen to be too few, no more than the least that was seen to be enough

On the way up it takes 2 % more than the demand, because a size that is just too few costs another pause. On the way
down one instance is not worth a pause (from four instances on). Never to more than twice what DS2 would ask for; and
where twice as many did no better than what is known, it stays with the best.

Source: ours; the idea of `capacity` (learn contention from outcomes), demand and true rates as in DS2. The universal
scalability law was tried and left: through two sizes it expects far too little beyond them (ContTune's operator, seen
with 1 and 13: 35 for what 25 do), a power of the number does not. What a record costs may change: where a size is seen
again and does another rate, what is remembered of the others is changed in proportion.
"""

import math
from collections.abc import Mapping
from typing import ClassVar

import msgspec

from headgate.model.dataflow import MAX_INSTANCES
from headgate.model.decision import Decision
from headgate.model.estimate import Estimate
from headgate.model.objective import KeepUp, Objective
from headgate.model.reasons import Note, Reason
from headgate.model.rounding import at_least_one
from headgate.policies.ds2 import Ds2

_UNSEEN = 0.9
"""The power with which capacity grows with instances, where only one number of them was seen."""
_TO_SPARE = 0.02
_HANDFUL = 3
"""Of so few instances, one is worth a pause."""
_KEPT = 30
_CHANGED = 0.1
"""A size that does another rate than before, by more than this: what a record costs has changed."""
_NO_LESS = 1 - 1e-9


class Sizes(msgspec.Struct, frozen=True):
    """By operator, (instances, their true rate together), by instances."""

    seen: Mapping[str, tuple[tuple[int, float], ...]] = {}


def with_size(seen: tuple[tuple[int, float], ...], n: int, rate: float) -> tuple[tuple[int, float], ...]:
    """What is known after n instances were seen to do this rate.

    >>> with_size(((2, 200.0), (4, 360.0)), 8, 640.0)
    ((2, 200.0), (4, 360.0), (8, 640.0))
    >>> with_size(((2, 200.0), (4, 360.0)), 4, 180.0)  # everything takes twice as long now
    ((2, 100.0), (4, 180.0))
    """
    known = dict(seen)
    times = rate / known[n] if n in known else 1.0
    if abs(times - 1) <= _CHANGED:
        times = 1.0
    known = {size: value * times for size, value in known.items()}
    known[n] = rate
    nearest = sorted(known, key=lambda size: abs(math.log(size / n)))[:_KEPT]
    return tuple((size, known[size]) for size in sorted(nearest))


def expected(seen: tuple[tuple[int, float], ...], m: int) -> float:
    """The true rate of m instances.

    >>> round(expected(((4, 400.0),), 8), 1), round(expected(((1, 100.0), (4, 200.0)), 9), 1)
    (746.4, 300.0)
    """
    below, above = [one for one in seen if one[0] <= m], [one for one in seen if one[0] > m]
    if len(seen) == 1:
        ((n, rate),) = seen
        return float(rate * (m / n) ** _UNSEEN)
    (n, rate), (other, its_rate) = (
        (below[-1], above[0]) if below and above else (below[-1], below[-2]) if below else (above[0], above[1])
    )
    power = math.log(its_rate / rate) / math.log(other / n)
    return float(rate * (m / n) ** min(1.0, max(0.0, power)))


def least(seen: tuple[tuple[int, float], ...], demand: float, most: int) -> int:
    """The least number that is expected to be enough; `most` where none is.

    >>> least(((1, 100.0), (4, 200.0)), 250.0, most=20)  # the square root: 100 x 6.25^0.5
    7
    """
    enough = min((n for n, rate in seen if rate >= demand * _NO_LESS), default=most)
    too_few = max((n for n, rate in seen if rate < demand * _NO_LESS and n < enough), default=0)
    low, high = too_few, max(enough, too_few + 1)
    while high - low > 1:  # what is expected never falls with the number, between sizes that were seen
        middle = (low + high) // 2
        low, high = (low, middle) if expected(seen, middle) >= demand * _NO_LESS else (middle, high)
    return high


def sized(seen: tuple[tuple[int, float], ...], n: int, demand: float) -> tuple[int, str]:
    """The answer for an operator that has n instances now, and what there is to say."""
    rate = dict(seen)[n]
    if rate >= demand * _NO_LESS:
        fewer = least(seen, demand, n)
        return (n, "") if n - fewer < (2 if n > _HANDFUL else 1) else (fewer, "")
    best, best_rate = max(seen, key=lambda one: one[1])
    if best_rate < demand * _NO_LESS and seen[-1][0] >= 2 * best:
        return best, "more instances did no better than these"
    linear = at_least_one(min(demand / (rate / n), 2.0**53))
    most = min(2 * linear, MAX_INSTANCES)
    known = min((size for size, did in seen if did >= demand * _NO_LESS), default=most)
    return min(least(seen, demand * (1 + _TO_SPARE), most), known), ""


class OperatorCapacity(msgspec.Struct, frozen=True):
    """It has no settings: headroom is the objective's.

    >>> from headgate.model.dataflow import Dataflow
    >>> flow = Dataflow.of({"lines": 1, "split": 2}, [("lines", "split")])
    >>> policy = OperatorCapacity()
    >>> seen = Estimate.of_rates(flow, {"lines": (0, 300), "split": (200, 2000)})
    >>> policy.decide(policy.start(), seen, KeepUp(), now=0.0)[1].parallelism
    {'split': 4}
    """

    needs: ClassVar[tuple[str, ...]] = ()

    @property
    def name(self) -> str:
        """`capacity`."""
        return "capacity"

    def start(self) -> Sizes:
        """Nothing seen."""
        return Sizes()

    def decide(self, memory: Sizes, estimate: Estimate, objective: Objective, now: float) -> tuple[Sizes, Decision]:
        """Every operator, by the sizes it was seen at."""
        headroom = objective.headroom if isinstance(objective, KeepUp) else 0.0
        _, by_rates = Ds2().decide(None, estimate, KeepUp(), now)
        remembered, answers = dict(memory.seen), {}
        reasons: list[Reason] = []
        for one in by_rates.sizings:
            if one.source or not one.true_rate or one.demand is None:
                continue
            seen = with_size(tuple(remembered.get(one.operator, ())), one.now, one.true_rate)
            remembered[one.operator] = seen
            answers[one.operator], note = sized(seen, one.now, one.demand * (1 + headroom))
            if note:
                reasons.append(Note(note, one.operator))
        return Sizes(remembered), Decision.resize(self.name, estimate, answers, tuple(reasons))
