"""Whether a query keeps up with its input, how much it can carry, and the least executors that would do.

One figure decides: `carries`, the records per second that batches can take without an end to it. B(n) is the predicted
time of a batch of n records, T the fixed interval at which batches begin, N the most records that one may take:

* with a limit: `N / max(T, B(N))`, the largest batches one after the other;
* with an interval alone: the rate L at which a batch of L T records just ends before the next, `B(L T) = T`; where even
  the smallest takes longer, as without one;
* as soon as possible: one over what a further record adds to a batch. A batch takes what came while the one before
  ran, `T = B(L T)`; that settles only if a record costs less time than it took to come.

Utilisation is the rate over what is carried. Batches that overrun their interval follow one another as soon as
possible: such a query may keep up all the same, only not in time. Freshness is `T + B`, or twice B without an interval,
once nothing is waiting.
"""

from collections.abc import Callable
from typing import NamedTuple

import msgspec

from headgate.model.arrivals import Arrivals
from headgate.model.capacity import AS_MEASURED, Capacity, Pool, Prediction, Setting
from headgate.model.line import Figure

_LONGEST = 24 * 3600.0
"""A batch that would take longer than a day is one that never ends."""
_TOLD = 0.005
"""Half a per cent is less than any of this can tell."""


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
    carries: float
    """Records per second that it can carry: in time, where batches have an interval that any of them can hold."""
    utilisation: float
    """Part of what it can carry; above 1 it overruns its interval or falls behind. It may overrun below 1, too, if no
    batch is short enough for the interval."""
    batch: Figure | None
    """Predicted time of a batch; None where batches would grow without end."""
    records: float | None
    """Records of such a batch."""
    freshness: float | None
    """Seconds from arrival to result, at the worst, once nothing is waiting; None where it would grow without end."""
    keeps_up: bool
    in_time: bool
    """Batches end before the next is due; always so where they begin as soon as possible."""
    fresh_enough: bool
    unseen: bool
    """More tasks at once than were ever seen: slower if they get in each other's way."""

    @property
    def good(self) -> bool:
        """Whether it is all that was asked."""
        return self.keeps_up and self.in_time and self.fresh_enough

    def drained_after(self, waiting: int) -> float | None:
        """Seconds until what waits is gone; None if it never is."""
        spare = self.carries - self.rate
        return waiting / spare if spare > _TOLD * self.rate else None


def prospect(capacity: Capacity, come: Arrivals, wish: Wish, setting: Setting = AS_MEASURED) -> Prospect:
    """How the query would fare in this setting."""
    asked = _Asked(capacity, come, setting)
    fate = _fate(asked, wish)
    said, carries = fate.batch, asked.carries()
    return Prospect(
        wish.rate,
        (setting.pool or capacity.pool).total,
        carries,
        wish.rate / carries if carries > 0 else float("inf"),
        said.batch if said is not None else None,
        min(wish.rate * fate.interval, come.limit or float("inf")) if said is not None else None,
        fate.freshness,
        fate.keeps_up,
        fate.in_time,
        fate.fresh_enough(wish),
        said.unseen if said is not None else False,
    )


def least_pool(capacity: Capacity, come: Arrivals, wish: Wish, setting: Setting = AS_MEASURED) -> Pool | None:
    """The fewest executors, of the size there is now and with state spread evenly, that do what is asked.

    None where no number of them does: then something else is the limit.
    """
    each = max(capacity.pool.slots)
    tasks = sum(operator.partitions for operator in capacity.operators)
    most = -(-max(tasks, setting.most_partitions) // each)

    def pool(executors: int) -> Pool:
        return Pool((each,) * executors)

    def enough(executors: int) -> bool:
        asked = _Asked(capacity, come, msgspec.structs.replace(setting, pool=pool(executors), spread_bins=True))
        if asked.overruns(wish.rate):  # in what time it would settle then need not be worked out
            return False
        fate = _fate(asked, wish)
        return fate.keeps_up and fate.in_time and fate.fresh_enough(wish)

    # From what is there: it is most often right, or nearly so.
    now = min(most, len(capacity.pool.slots))
    if enough(now):
        least = _downwards(enough, now)
        # Fewer get in each other's way less: where the next fewer does not do, far fewer may.
        while capacity.crowded and (below := _first_below(enough, least - 1)):
            least = _downwards(enough, below)
        return pool(least)
    # Upwards in ever larger steps until one does. More are not always better, since tasks may get in each other's
    # way: where that is known fewer come first, and elsewhere where none above does.
    if capacity.crowded and (below := _first_below(enough, now - 1)):
        return pool(_downwards(enough, below))
    found = _first(enough, now + 1, most) or _first(enough, 1, now - 1)
    return None if found is None else pool(_between(enough, *found))


def _downwards(enough: Callable[[int], bool], enough_at: int) -> int:
    """From a number that does, in ever larger steps for as long as that holds: the fewest."""
    low, high, apart = max(0, enough_at - 1), enough_at, 1
    while low and enough(low):
        apart *= 2
        low, high = max(0, low - apart), low
    return _between(enough, low, high)


def _between(enough: Callable[[int], bool], low: int, high: int) -> int:
    """Between a number that does not do and one that does: the fewest that do."""
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if enough(middle) else (middle, high)
    return high


def _first_below(enough: Callable[[int], bool], most: int) -> int:
    """Downwards in ever smaller steps: the first number that does; 0 if none does."""
    while most and not enough(most):
        most = min(most - 1, most * 4 // 5)
    return most


def _first(enough: Callable[[int], bool], first: int, most: int) -> tuple[int, int] | None:
    """Upwards in ever larger steps: the last number that does not do, and the first that does; None if none does."""
    low, high = first - 1, first
    while high <= most:
        if enough(high):
            return low, high
        if high == most:
            break
        low, high = high, min(most, max(high + 1, high * 5 // 4))
    return None


class _Fate(NamedTuple):
    """What becomes of a query."""

    batch: Prediction | None
    interval: float
    keeps_up: bool
    in_time: bool

    @property
    def freshness(self) -> float | None:
        """Seconds from arrival to result, at the worst."""
        return self.interval + self.batch.batch.value if self.batch is not None and self.keeps_up else None

    def fresh_enough(self, wish: Wish) -> bool:
        """Whether that is within what is asked."""
        return wish.freshness is None or (self.freshness is not None and self.freshness <= wish.freshness)


def _fate(asked: "_Asked", wish: Wish) -> _Fate:
    trigger, limit = asked.come.trigger, asked.come.limit
    batch = asked.settled(wish.rate)
    keeps_up = batch is not None
    if limit is not None:
        keeps_up = wish.rate <= asked.carries() * (1 + _TOLD)
        if not keeps_up or batch is None:
            batch = asked.batch(limit)
    took = batch.batch.value if batch is not None else 0.0
    in_time = trigger is None or (batch is not None and took <= trigger * (1 + _TOLD))
    return _Fate(batch, max(trigger or 0.0, took), keeps_up, in_time)


class _Asked:
    """A capacity in one setting, and how records come."""

    def __init__(self, capacity: Capacity, come: Arrivals, setting: Setting) -> None:
        self.capacity, self.come, self.setting = capacity, come, setting
        self._known: dict[float, Prediction] = {}

    def batch(self, records: float) -> Prediction:
        """The time of a batch of so many records."""
        if records not in self._known:
            self._known[records] = self.capacity.predict(msgspec.structs.replace(self.setting, records=records))
        return self._known[records]

    def settled(self, rate: float) -> Prediction | None:
        """The batch that comes again and again at this rate; None where each is longer than the one before."""
        trigger = self.come.trigger
        if trigger is not None and not self.overruns(rate):
            return self.batch(rate * trigger)
        guess = max(self.come.interval, trigger or 0.0)

        def batch_after(seconds: float) -> Prediction:
            return self.batch(rate * seconds)

        found = _fixed_point(batch_after, guess)
        if found is None and rate < self._without_interval() * (1 - _TOLD):
            found = _further_out(batch_after, guess)
        return found

    def overruns(self, rate: float) -> bool:
        """Whether a batch of what comes in an interval takes longer than that interval."""
        trigger = self.come.trigger
        return trigger is not None and self.batch(rate * trigger).batch.value > trigger * (1 + _TOLD)

    def carries(self) -> float:
        """Records per second that batches can take without an end to it."""
        trigger, limit = self.come.trigger, self.come.limit
        if limit is not None:
            return limit / max(trigger or 0.0, self.batch(limit).batch.value)
        in_interval = self._in(trigger) / trigger if trigger is not None else 0.0
        return in_interval or self._without_interval()

    def _without_interval(self) -> float:
        """One over what a further record adds to a batch, beyond any that was seen: where batches only grow."""
        records = 2 * max(self.capacity.records, 1.0)
        added = self.batch(2 * records).batch.value - self.batch(records).batch.value
        return records / added if added > 1e-9 else float("inf")

    def _in(self, seconds: float) -> float:
        """The records of a batch that takes so long, by secants; 0 where the smallest takes longer."""
        one, other = max(self.capacity.records, 1.0), 2 * max(self.capacity.records, 1.0)
        took, then = self.batch(one).batch.value, self.batch(other).batch.value
        for _ in range(20):
            slope = (then - took) / (other - one)
            if slope <= 1e-12:
                return 0.0
            one, took = other, then
            other = one + (seconds - took) / slope
            if other <= 1e-3 * self.capacity.records:
                return 0.0
            then = self.batch(other).batch.value
            if abs(then - seconds) <= _TOLD * seconds or abs(other - one) <= 1e-6 * other:
                break
        return other


def _further_out(batch_after: Callable[[float], Prediction], guess: float) -> Prediction | None:
    """The same where small batches grow faster than large ones: whole waves of tasks make steps, not a line."""
    low = high = max(guess, 1e-3)
    while batch_after(high).batch.value > high:
        low, high = high, 2 * high
        if high > _LONGEST:
            return None
    while high - low > _TOLD * high:
        middle = (low + high) / 2
        low, high = (middle, high) if batch_after(middle).batch.value > middle else (low, middle)
    return batch_after(high)


def _fixed_point(batch_after: Callable[[float], Prediction], guess: float) -> Prediction | None:
    """The batch that takes as long as what it processes took to come; None if there is none.

    By secants: batch time is very nearly a straight line in the records, so two or three are enough.
    """
    one = max(guess, 1e-3)
    other = 1.5 * one
    took, then = batch_after(one).batch.value, batch_after(other).batch.value
    said = None
    for _ in range(30):
        slope = (then - took) / (other - one)
        if slope >= 1.0:
            return None
        one, took = other, then
        other = max(1e-3, (took - slope * one) / (1 - slope))
        said = batch_after(other)
        then = said.batch.value
        if abs(then - other) <= _TOLD * other or abs(other - one) <= 1e-6 * other:
            return said
        if other > _LONGEST:
            return None
    return said
