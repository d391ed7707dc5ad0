"""Whether a query keeps up with its input, how much is left, and the least executors that would do.

Three ways to cut a stream into batches, three conditions (B: predicted batch time, L: records per second):

* fixed interval T: a batch of L T records must be over before the next, `B(L T) <= T`; freshness is `T + B`;
* an admission limit of N records: `B(N) <= N / L`;
* as soon as possible: a batch takes what came while the one before ran, `T = B(L T)`. The fixed point exists only if a
  further record costs less time than it took to come; freshness is twice the fixed point.
"""

from collections.abc import Callable

import msgspec

from headgate.model.arrivals import Arrivals
from headgate.model.capacity import AS_MEASURED, Capacity, Pool, Prediction, Setting
from headgate.model.line import Figure

_LONGEST = 24 * 3600.0
"""A batch that would take longer than a day is one that never ends."""
_SAME = 0.02
"""A batch whose size differs by less than this from the measured ones is one of them."""


class Wish(msgspec.Struct, frozen=True):
    """What is asked of the query."""

    rate: float
    """Records per second, over all sources."""
    freshness: float | None = None
    """The longest time, in seconds, from a record's arrival to its result."""


class Prospect(msgspec.Struct, frozen=True):
    """How the query would fare."""

    rate: float
    slots: int
    batch: Figure | None
    """Predicted time of a batch; None where batches would grow without end."""
    freshness: float | None
    """Seconds from arrival to result, at the worst; None where it would grow without end."""
    utilisation: float
    """Part of what it can carry; above 1 it falls behind."""
    keeps_up: bool
    fresh_enough: bool
    unseen: bool
    """More tasks at once than were ever seen: slower if they get in each other's way."""

    @property
    def good(self) -> bool:
        """Whether it is all that was asked."""
        return self.keeps_up and self.fresh_enough


def prospect(capacity: Capacity, arrivals: Arrivals, wish: Wish, setting: Setting = AS_MEASURED) -> Prospect:
    """How the query would fare in this setting."""
    if arrivals.trigger is not None:
        said = _batch(capacity, setting, wish.rate * arrivals.trigger)
        return _prospect(capacity, setting, wish, said, arrivals.trigger, said.batch.value / arrivals.trigger)
    settled, slope = _settled(lambda seconds: _batch(capacity, setting, wish.rate * seconds), arrivals.interval)
    if arrivals.limit is not None:
        said = _batch(capacity, setting, arrivals.limit)
        used = said.batch.value * wish.rate / arrivals.limit
        at_ease = settled is not None and used <= 1 and settled.batch.value * wish.rate <= arrivals.limit
        said = settled if at_ease and settled is not None else said
        return _prospect(capacity, setting, wish, said, said.batch.value, used)
    if settled is None:
        return _prospect(capacity, setting, wish, None, 0.0, max(slope, 1.01))
    return _prospect(capacity, setting, wish, settled, settled.batch.value, min(max(slope, 0.0), 1.0))


def headroom(capacity: Capacity, arrivals: Arrivals, wish: Wish, setting: Setting = AS_MEASURED) -> float:
    """How many times the rate could be carried; below 1 it falls behind already. Told to one part in a hundred."""

    def carried(times: float) -> bool:
        return prospect(capacity, arrivals, Wish(wish.rate * times, wish.freshness), setting).good

    low, high = (1.0, 2.0) if carried(1.0) else (0.0, 1.0)
    while high < 1024 and low >= 1.0 and carried(high):
        low, high = high, 2 * high
    while high - low > 0.01 * high:
        middle = (low + high) / 2
        low, high = (middle, high) if carried(middle) else (low, middle)
    return low


def least_pool(capacity: Capacity, arrivals: Arrivals, wish: Wish, setting: Setting = AS_MEASURED) -> Pool | None:
    """The fewest executors, of the size there is now and with state spread evenly, that do what is asked.

    None where no number of them does: then something else is the limit.
    """
    each = max(capacity.pool.slots)
    tasks = sum(operator.partitions for operator in capacity.operators)
    most = -(-max(tasks, setting.partitions or 0) // each)

    def pool(executors: int) -> Pool:
        return Pool((each,) * executors)

    def enough(executors: int) -> bool:
        asked = msgspec.structs.replace(setting, pool=pool(executors), spread_bins=True)
        return prospect(capacity, arrivals, wish, asked).good

    if not enough(most):
        return None
    low, high = 0, most
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if enough(middle) else (middle, high)
    return pool(high)


def _batch(capacity: Capacity, setting: Setting, records: float) -> Prediction:
    same = abs(records - capacity.records) <= _SAME * capacity.records
    return capacity.predict(msgspec.structs.replace(setting, records=None if same else records))


def _settled(batch_after: Callable[[float], Prediction], guess: float) -> tuple[Prediction | None, float]:
    """The batch that takes as long as what it processes took to come, and what a further second of records adds to it.

    By secants: batch time is very nearly a straight line in the records, so two or three are enough. The second answer
    is the part of the capacity that is used; None where it is all of it, so that batches grow without end.
    """
    one = max(guess, 1e-3)
    other = 1.5 * one
    took, then = batch_after(one).batch.value, batch_after(other).batch.value
    for _ in range(30):
        slope = (then - took) / (other - one)
        if slope >= 1.0:
            return None, slope
        one, took = other, then
        other = max(1e-3, (took - slope * one) / (1 - slope))
        said = batch_after(other)
        then = said.batch.value
        if abs(then - other) <= 0.005 * other or abs(other - one) <= 1e-6 * other:
            return said, slope
        if other > _LONGEST:
            return None, slope
    return said, slope


def _prospect(
    capacity: Capacity, setting: Setting, wish: Wish, said: Prediction | None, interval: float, used: float
) -> Prospect:
    # Half a percent is less than any of this can tell.
    keeps_up = said is not None and used <= 1.005
    freshness = interval + said.batch.value if said is not None and keeps_up else None
    fresh = wish.freshness is None or (freshness is not None and freshness <= wish.freshness)
    return Prospect(
        wish.rate,
        (setting.pool or capacity.pool).total,
        said.batch if said is not None else None,
        freshness,
        used,
        keeps_up,
        fresh,
        said.unseen if said is not None else False,
    )
