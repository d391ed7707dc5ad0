"""The `capacity` policy: the fewest executors whose predicted batches meet the objective.

    rate to carry = L (1 + headroom)           KeepUp
                    L + Q / D                  CatchUp within D, with Q records waiting
                    L (1 + 0.2)                CatchUp where sources do not tell what waits
                    L, results within F        Freshness
    answer = least n with B(n executors, state spread evenly) good enough     (`keeping_up.least_pool`)

L is the rate of the last batches or, where more executors are asked for and the load grows, the rate it will have
`ahead` seconds later (`model/rising.py`).

Where no number of executors is good enough, the answer is the number beyond which more would not help, and the limit
that explains it is named. Source: DESIGN 5.2; for even work without fixed cost it is DS2 for shared slots.
"""

from functools import lru_cache
from typing import ClassVar

import msgspec

from headgate.model.arrivals import Arrivals, arrivals, lately
from headgate.model.capacity import Capacity, Pool, Setting
from headgate.model.keeping_up import Wish, least_pool, prospect
from headgate.model.learned_capacity import capacity
from headgate.model.limits import limits
from headgate.model.microbatch import MicroBatch
from headgate.model.objective import CatchUp, Freshness, KeepUp, Objective
from headgate.model.profile import profile
from headgate.model.rising import rate_ahead
from headgate.policies.partition_advice import partition_advice
from headgate.policies.pool import Evidence, PoolAnswer, as_it_is

_REPLAYS, _POINTS = 5, 100
"""A controller asks often; it need not know the spread as well as `headgate inspect`."""
_WORTH_IT = 0.03
"""A further executor that shortens a batch by less than this does not help."""
_UNTOLD = KeepUp(headroom=0.2)
"""Catching up where nobody knows what waits: the headroom is all that can work it off."""


class CapacityPolicy(msgspec.Struct, frozen=True):
    """Predicts by running the last batches again; remembers nothing, because batches tell all."""

    needs: ClassVar[tuple[str, ...]] = ("tasks", "records", "interval")

    @property
    def name(self) -> str:
        """The name its answers carry."""
        return "capacity"

    def start(self) -> None:
        """Nothing to remember."""
        return

    def size(self, memory: None, evidence: Evidence, objective: Objective, now: float) -> tuple[None, PoolAnswer]:
        """The fewest executors that do, or the most that help."""
        del now
        if not evidence.batches:
            return memory, as_it_is(self.name, evidence)
        model = _learned(evidence.batches)
        # Costs are learned from all batches there are; the rate is that of the last ones alone.
        recent = lately(evidence.batches)
        come = arrivals(recent, before=[one for one in evidence.batches if one.began < recent[0].began])
        if evidence.trigger is not None:
            come = msgspec.structs.replace(come, trigger=evidence.trigger)
        wish = wanted(objective, come)
        least = least_pool(model, come, wish)
        grown = rate_ahead(evidence.batches, evidence.ahead)
        if least is not None and grown is not None and grown > come.rate:
            # Where no number of executors would do for what is to come, those that do now are as good as any.
            least = least_pool(model, come, wanted(objective, msgspec.structs.replace(come, rate=grown))) or least
        pool = least or _most_that_help(model)
        # What is to be carried is more than what comes; what will be seen is what comes.
        expected = prospect(model, come, Wish(come.rate, wish.freshness), Setting(pool=pool, spread_bins=True))
        interval = come.trigger or (expected.batch.value if expected.batch else 0.0)
        limit = None if least else limits(profile(evidence.batches), model)[0]
        advice = partition_advice(model, come, wish, evidence.batches, least)
        return memory, PoolAnswer(self.name, len(pool.slots), expected, come.rate * interval, limit, partitions=advice)


@lru_cache(maxsize=2)
def _learned(batches: tuple[MicroBatch, ...]) -> Capacity:
    """The model of these very batches; a controller may ask twice, with a margin the second time."""
    return capacity(batches, replays=_REPLAYS, points=_POINTS)


def wanted(objective: Objective, come: Arrivals) -> Wish:
    """What the objective asks of a query whose records come like this.

    >>> wanted(KeepUp(headroom=0.2), Arrivals(100.0, 100.0, 1.0, None, None, 600)).rate
    120.0
    >>> wanted(CatchUp("1m"), Arrivals(100.0, 100.0, 1.0, None, None, 600)).rate
    110.0
    >>> wanted(CatchUp("1m"), Arrivals(100.0, 100.0, 1.0, None, None, None)).rate
    120.0
    """
    if isinstance(objective, CatchUp) and come.waiting is None:
        objective = _UNTOLD
    if isinstance(objective, KeepUp):
        return Wish(come.rate * (1 + objective.headroom))
    if isinstance(objective, CatchUp):
        return Wish(come.rate + (come.waiting or 0) / float(objective.within))
    if isinstance(objective, Freshness):
        return Wish(come.rate, float(objective.within))
    raise TypeError(f"no objective: {objective!r}")


def _most_that_help(model: Capacity) -> Pool:
    """The pool beyond which a further executor shortens a batch by next to nothing."""
    each = max(model.pool.slots)
    most = -(-sum(operator.partitions for operator in model.operators) // each)
    best = model.predict(Setting(pool=Pool((each,) * most), spread_bins=True)).batch.value
    low, high = 0, most
    while high - low > 1:
        middle = (low + high) // 2
        took = model.predict(Setting(pool=Pool((each,) * middle), spread_bins=True)).batch.value
        low, high = (low, middle) if took <= best * (1 + _WORTH_IT) else (middle, high)
    return Pool((each,) * high)
